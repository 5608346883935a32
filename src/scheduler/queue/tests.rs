use proptest::prelude::*;

use super::*;
use crate::scheduler::cache_tests;

const START: SimTime = SimTime::ZERO;
const LONGEST: SimDuration = SimDuration::from_secs(300);

fn milliseconds(ms: u64) -> SimTime {
    START + SimDuration::from_millis(ms)
}

/// A queue with what it asks about.
struct Bench {
    queue: SchedulingQueue,
    store: Store,
    cache: Cache,
    profiles: Profiles,
    ids: Vec<PodId>,
}

impl Bench {
    fn new(pods: usize) -> Self {
        let configuration = KubeSchedulerConfiguration::default();
        let version = KubernetesVersion::default();
        let mut table: crate::arena::Table<Pod> = crate::arena::Table::new();
        let pod = cache_tests::pod(0, &cache_tests::specs()[0], false);
        Self {
            queue: SchedulingQueue::new(&configuration, version),
            store: Store::default(),
            cache: Cache::new(version),
            profiles: Profiles::new(&configuration, version),
            ids: (0..pods).map(|_| table.insert(pod.clone())).collect(),
        }
    }

    fn add(&mut self, pod: usize, priority: i32) {
        let mut spec = (*cache_tests::specs()[0]).clone();
        spec.priority = priority;
        let object = cache_tests::pod(0, &spec.into(), false);
        self.queue.add(self.ids[pod], &object, self.profiles.at(0), START, CauseId(1));
    }

    /// A plugin rejects the pod.
    fn reject(&mut self, pod: usize, plugins: &[&'static str], at: SimTime) -> Option<SimTime> {
        self.queue.put(self.ids[pod], Place::InFlight);
        self.queue.failed(self.ids[pod], self.profiles.at(0), plugins, at)
    }

    fn time_out(&mut self, now: SimTime, is_held: bool) {
        let is_held = |_| is_held;
        let (store, cache, profiles) = (&self.store, &self.cache, &self.profiles);
        let situation = Situation { now, store, cache, profiles, is_held: &is_held, cause: CauseId(2) };
        self.queue.event(&ClusterEvent::UnschedulableTimeout(LONGEST), situation);
    }

    fn update(&mut self, pod: usize, before: &Pod, after: &Pod) {
        let (store, cache, profiles) = (&self.store, &self.cache, &self.profiles);
        let situation = Situation { now: START, store, cache, profiles, is_held: &|_| false, cause: CauseId(3) };
        self.queue.update(self.ids[pod], before, after, situation);
    }

    fn requeue(&mut self, pod: usize, now: SimTime) {
        let (store, cache, profiles) = (&self.store, &self.cache, &self.profiles);
        let situation = Situation { now, store, cache, profiles, is_held: &|_| false, cause: CauseId(4) };
        self.queue.requeue(self.ids[pod], situation);
    }

    fn pop(&mut self) -> Option<usize> {
        Some(self.pop_with_cause()?.0)
    }

    fn pop_with_cause(&mut self) -> Option<(usize, CauseId)> {
        let (id, cause) = self.queue.pop()?;
        Some((self.ids.iter().position(|other| *other == id)?, cause))
    }

    /// Every pod is where its record says, and nowhere else.
    fn check_places(&self) {
        let queue = &self.queue;
        for (id, queued) in &self.ids.iter().filter_map(|id| Some((id, queue.pods.get(id)?))).collect::<Vec<_>>() {
            let group = queue.rejected.values().position(|pods| pods.contains(*id));
            let found = [
                (queue.active.get(*id).is_some(), Place::Active),
                (queue.backoff.get(*id).is_some(), Place::Backoff),
                (queue.errors.get(*id).is_some(), Place::Errors),
                (group.is_some(), Place::Rejected(group.unwrap_or_default())),
            ];
            let places: Vec<Place> = found.iter().filter(|(is_there, _)| *is_there).map(|(_, place)| *place).collect();
            match queued.place {
                Place::Gated | Place::InFlight => assert_eq!(places, []),
                place => assert_eq!(places, [place]),
            }
        }
        let rejected: usize = queue.rejected.values().map(IndexSet::len).sum();
        let placed = queue.active.len() + queue.backoff.len() + queue.errors.len() + rejected;
        let elsewhere = |queued: &&QueuedPod| matches!(queued.place, Place::Gated | Place::InFlight);
        assert_eq!(placed + queue.pods.values().filter(elsewhere).count(), queue.pods.len());
    }
}

#[test]
fn a_pod_is_tried_because_of_what_moved_it_last() {
    let mut bench = Bench::new(2);
    bench.add(0, 0);
    assert_eq!(bench.pop_with_cause(), Some((0, CauseId(1))));
    bench.reject(0, &["NodeResourcesFit"], START);
    bench.time_out(milliseconds(400_000), false);
    assert_eq!(bench.pop_with_cause(), Some((0, CauseId(2))));
    // An error is retried for the reason of the attempt.
    bench.add(1, 0);
    assert_eq!(bench.pop_with_cause(), Some((1, CauseId(1))));
    bench.queue.errored(bench.ids[1], START);
    bench.queue.flush_backoff(milliseconds(60_000));
    assert_eq!(bench.pop_with_cause(), Some((1, CauseId(1))));
}

#[test]
fn a_plugin_that_registers_no_events_waits_for_all_of_them() {
    let mut bench = Bench::new(1);
    bench.add(0, 0);
    bench.reject(0, &["ImageLocality"], START);
    assert_eq!(bench.pop(), None);
    let (store, cache, profiles) = (&bench.store, &bench.cache, &bench.profiles);
    let now = milliseconds(10_000);
    let situation = Situation { now, store, cache, profiles, is_held: &|_| false, cause: CauseId(2) };
    let pod = cache_tests::pod(0, &cache_tests::specs()[0], false);
    bench.queue.update(bench.ids[0], &pod, &pod, situation);
    assert_eq!(bench.pop(), Some(0));
}

#[test]
fn back_off_doubles_up_to_its_maximum() {
    let standard =
        Backoff { initial: SimDuration::from_secs(1), max: SimDuration::from_secs(10), counts_failures: false };
    let check = |backoff: Backoff, (rejections, errors, failures): (u32, u32, u32), seconds: u64| {
        let order = priority_sort::order(0, 1);
        let pod =
            QueuedPod { place: Place::InFlight, order, since: START, rejections, errors, failures, cause: CauseId(1) };
        assert_eq!(backoff.duration(&pod), SimDuration::from_secs(seconds), "{pod:?}");
    };
    for (rejections, seconds) in [0, 1, 2, 4, 8, 10, 10, 10].into_iter().enumerate() {
        check(standard, (rejections as u32, 0, rejections as u32), seconds);
    }
    check(standard, (5, 16, 21), 10);
    check(standard, (5, 1, 6), 1);
    // A pod that has been tried for a year costs no more than a new one.
    check(standard, (0, u32::MAX, u32::MAX), 10);
    check(Backoff { max: SimDuration::ZERO, ..standard }, (3, 0, 3), 0);
    // Before 1.34 errors and rejections add up.
    check(Backoff { counts_failures: true, ..standard }, (2, 1, 3), 4);
    check(Backoff { counts_failures: true, ..standard }, (2, 0, 3), 4);
}

#[test]
fn back_off_ends_when_its_last_second_is_over() {
    let check = |rejected_ms: u64, leaves_ms: u64| {
        let mut bench = Bench::new(1);
        bench.add(0, 0);
        bench.reject(0, &["NodeResourcesFit"], milliseconds(rejected_ms));
        let leaves_at = bench.queue.durations.leaves_at(&bench.queue.pods[&bench.ids[0]]);
        assert_eq!(leaves_at, milliseconds(leaves_ms), "{rejected_ms}");
    };
    check(300, 2_000);
    check(999, 2_000);
    check(1_000, 3_000);
}

#[test]
fn a_flush_takes_those_whose_second_is_over_by_priority() {
    let mut bench = Bench::new(6);
    let at = [9_000, 8_000, 7_001, 7_000, 7_000, 6_000];
    let priority = [1, 1, 2, 1, 2, 1];
    for pod in [5, 3, 4, 2, 1, 0] {
        bench.add(pod, priority[pod]);
        bench.reject(pod, &["NodeResourcesFit"], milliseconds(at[pod]));
    }
    (0..6).for_each(|pod| bench.requeue(pod, START));
    bench.queue.flush_backoff(milliseconds(8_000));
    assert_eq!((bench.queue.active.len(), bench.queue.backoff.len()), (1, 5));
    assert_eq!(bench.pop(), Some(5));
    bench.queue.flush_backoff(milliseconds(9_000));
    // Of those of one second the priority decides, then who was added first.
    assert_eq!([bench.pop(), bench.pop(), bench.pop()], [Some(4), Some(2), Some(3)]);
    assert_eq!(bench.queue.backoff.len(), 2);
}

#[test]
fn an_idle_scheduler_has_no_back_off_but_for_errors() {
    let mut bench = Bench::new(2);
    (0..2).for_each(|pod| bench.add(pod, 0));
    bench.reject(0, &["NodeResourcesFit"], milliseconds(300));
    bench.queue.put(bench.ids[1], Place::InFlight);
    assert_eq!(bench.queue.errored(bench.ids[1], milliseconds(300)), Some(milliseconds(2_000)));
    // Something helps the rejected pod 100 ms later.
    bench.requeue(0, milliseconds(400));
    assert_eq!([bench.pop(), bench.pop()], [Some(0), None]);
    bench.queue.flush_backoff(milliseconds(1_999));
    assert_eq!(bench.pop(), None);
    bench.queue.flush_backoff(milliseconds(2_000));
    assert_eq!(bench.pop(), Some(1));
}

#[test]
fn pods_that_have_waited_longer_than_five_minutes_leave_the_most_important_first() {
    let mut bench = Bench::new(3);
    for (pod, priority, at) in [(0, 1, 0), (1, 5, 0), (2, 9, 1)] {
        bench.add(pod, priority);
        bench.reject(pod, &["NodeResourcesFit"], milliseconds(at));
    }
    assert_eq!(bench.queue.oldest_unschedulable(), Some(START));
    bench.time_out(START + LONGEST, false);
    assert!(!bench.queue.has_next());
    bench.time_out(START + LONGEST + SimDuration::from_nanos(1), false);
    assert_eq!([bench.pop(), bench.pop(), bench.pop()], [Some(1), Some(0), None]);
}

#[test]
fn without_a_rejector_a_failure_counts_as_an_error() {
    let mut bench = Bench::new(1);
    bench.add(0, 0);
    assert_eq!(bench.reject(0, &[], START), Some(milliseconds(2_000)));
    assert!(bench.queue.has(bench.ids[0]) && bench.queue.oldest_unschedulable().is_none());
}

#[test]
fn gated_pods_enter_when_the_last_gate_opens() {
    let gated = |gates: &str| {
        let json = format!(r#"{{"containers":[{{"name":"c"}}],"schedulingGates":{gates}}}"#);
        cache_tests::pod(0, &cache_tests::spec(&json), false)
    };
    let (two, one, none) = (gated(r#"[{"name":"a"},{"name":"b"}]"#), gated(r#"[{"name":"b"}]"#), gated("[]"));
    let mut bench = Bench::new(1);
    bench.queue.add(bench.ids[0], &two, bench.profiles.at(0), START, CauseId(1));
    bench.update(0, &two, &one);
    assert!(!bench.queue.has_next() && bench.queue.has(bench.ids[0]));
    // Time does not open gates.
    bench.time_out(START + LONGEST * 2, false);
    assert!(!bench.queue.has_next());
    bench.update(0, &one, &none);
    assert_eq!(bench.pop(), Some(0));
}

#[test]
fn only_a_change_of_its_own_that_matters_to_its_rejectors_retries_a_pod() {
    let with = |cpu: &str, label: u8| {
        let requests = format!(r#"{{"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"{cpu}"}}}}}}]}}"#);
        cache_tests::pod(label, &cache_tests::spec(&requests), false)
    };
    let mut bench = Bench::new(1);
    bench.add(0, 0);
    bench.reject(0, &["NodeResourcesFit"], START);
    bench.update(0, &with("2", 0), &with("2", 1));
    bench.update(0, &with("2", 0), &with("3", 0));
    assert!(!bench.queue.has_next());
    bench.update(0, &with("2", 0), &with("1", 0));
    assert_eq!(bench.pop(), Some(0));
    // A plugin that did not reject it is not asked.
    bench.reject(0, &["NodeAffinity"], START);
    bench.update(0, &with("2", 0), &with("1", 0));
    assert!(!bench.queue.has_next());
}

#[test]
fn once_back_off_is_over_priority_decides() {
    let mut bench = Bench::new(2);
    for (pod, priority, at) in [(0, 0, 0), (1, 5, 5_000)] {
        bench.add(pod, priority);
        bench.reject(pod, &["NodeResourcesFit"], milliseconds(at));
    }
    (0..2).for_each(|pod| bench.requeue(pod, milliseconds(70_000)));
    assert_eq!([bench.pop(), bench.pop()], [Some(1), Some(0)]);
}

#[test]
fn pods_that_are_held_stay_in_the_pool() {
    let mut bench = Bench::new(1);
    bench.add(0, 0);
    bench.reject(0, &["NodeResourcesFit"], START);
    bench.time_out(START + LONGEST * 2, true);
    assert_eq!(bench.pop(), None);
    bench.queue.activate(bench.ids[0], CauseId(5));
    assert_eq!(bench.pop(), Some(0));
}

/// Something that happens to a queue.
#[derive(Clone, Debug)]
enum Op {
    Add(usize, i32),
    Pop,
    Reject(&'static [&'static str]),
    Err,
    Wait(u64),
    Requeue(usize),
    TimeOut,
    Activate(usize),
    Remove(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let sets: [&[&str]; 3] = [&[], &["NodeResourcesFit"], &["NodeAffinity", "TaintToleration"]];
    prop_oneof![
        3 => (0..8usize, -1..2i32).prop_map(|(pod, priority)| Op::Add(pod, priority)),
        4 => Just(Op::Pop),
        4 => (0..3usize).prop_map(move |set| Op::Reject(sets[set])),
        1 => Just(Op::Err),
        2 => (1..4_000u64).prop_map(Op::Wait),
        3 => (0..8usize).prop_map(Op::Requeue),
        1 => Just(Op::TimeOut),
        1 => (0..8usize).prop_map(Op::Activate),
        1 => (0..8usize).prop_map(Op::Remove),
    ]
}

proptest! {
    #[test]
    fn every_pod_is_in_one_place_and_the_first_in_order_is_next(ops in prop::collection::vec(op(), 1..80)) {
        let mut bench = Bench::new(8);
        let (mut now, mut in_flight) = (START, Vec::new());
        for op in ops {
            match op {
                Op::Add(pod, priority) if !bench.queue.pods.contains_key(&bench.ids[pod]) => bench.add(pod, priority),
                Op::Pop => {
                    let place = |id: &PodId| bench.queue.pods[id].place;
                    let active = bench.ids.iter().filter(|id| bench.queue.pods.contains_key(id));
                    let active = active.filter(|id| place(id) == Place::Active);
                    let best = active.max_by_key(|id| bench.queue.pods[*id].order).copied();
                    let has_backoff = !bench.queue.backoff.is_empty();
                    let popped = bench.queue.pop().map(|(id, _)| id);
                    prop_assert!(best.is_none() || popped == best);
                    prop_assert_eq!(popped.is_some(), best.is_some() || has_backoff);
                    in_flight.extend(popped);
                }
                Op::Reject(plugins) => if let Some(id) = in_flight.pop() {
                    bench.queue.failed(id, bench.profiles.at(0), plugins, now);
                },
                Op::Err => if let Some(id) = in_flight.pop() {
                    bench.queue.errored(id, now);
                },
                Op::Wait(ms) => {
                    now += SimDuration::from_millis(ms);
                    bench.queue.flush_backoff(now);
                    let ends = |id: &PodId| bench.queue.durations.leaves_at(&bench.queue.pods[id]);
                    prop_assert!(bench.queue.backoff.iter().chain(bench.queue.errors.iter()).all(|(id, _)| ends(id) > now));
                }
                Op::Requeue(pod) => {
                    let id = bench.ids[pod];
                    if bench.queue.pods.get(&id).is_some_and(|pod| matches!(pod.place, Place::Rejected(_))) {
                        bench.requeue(pod, now);
                    }
                }
                Op::TimeOut => {
                    now = now + LONGEST + SimDuration::from_secs(1);
                    bench.time_out(now, false);
                    prop_assert!(bench.queue.oldest_unschedulable().is_none());
                }
                Op::Activate(pod) => bench.queue.activate(bench.ids[pod], CauseId(5)),
                Op::Remove(pod) => {
                    bench.queue.remove(bench.ids[pod]);
                    in_flight.retain(|id| *id != bench.ids[pod]);
                }
                Op::Add(..) => {}
            }
            bench.check_places();
        }
    }
}
