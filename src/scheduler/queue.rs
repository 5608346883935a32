//! The scheduling queue: pods to be tried, pods in back-off, pods that wait for something to change.

use std::cmp::Reverse;

use indexmap::{IndexMap, IndexSet};
use priority_queue::PriorityQueue;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::cache::Cache;
use super::event::{ClusterEvent, Events};
use super::framework::Plugin;
use super::plugins::priority_sort::{self, Order};
use super::profile::{Profile, Profiles};
use crate::model::config::{KubeSchedulerConfiguration, KubernetesVersion};
use crate::state::{Pod, PodId, Store};
use crate::units::{SimDuration, SimTime};

/// What keeps a pod in the unschedulable pool: plugins of this profile rejected it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rejected {
    /// The profile's place.
    profile: usize,
    plugins: SmallVec<[&'static str; 2]>,
}

/// Where a pod without a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// To be tried.
    Active,
    /// Rejected, and in back-off.
    Backoff,
    /// In back-off after an error.
    Errors,
    /// A plugin does not let it enter.
    Gated,
    /// In the unschedulable pool, among those that the same plugins rejected.
    Rejected(usize),
    /// Being tried, or bound.
    InFlight,
}

/// What the queue knows of a pod without a node.
#[derive(Clone, Debug)]
struct QueuedPod {
    place: Place,
    order: Order,
    /// When it was added to the queue, or came back from its last failed attempt. Moves within the queue leave it.
    since: SimTime,
    /// Attempts that ended with no node.
    rejections: u32,
    /// Attempts in a row that ended in an error.
    errors: u32,
    /// Attempts that failed.
    failures: u32,
}

/// Back-off of pods that could not be scheduled.
///
/// # Source
/// kube-scheduler, backoff queue. Before 1.34 it grows with every failed attempt; since then errors in a row count, or else rejections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Backoff {
    initial: SimDuration,
    max: SimDuration,
    counts_failures: bool,
}

impl Backoff {
    fn new(configuration: &KubeSchedulerConfiguration, version: KubernetesVersion) -> Self {
        let seconds = |given: Option<i64>, otherwise| SimDuration::from_secs(given.unwrap_or(otherwise).unsigned_abs());
        Self {
            initial: seconds(configuration.pod_initial_backoff_seconds, 1),
            max: seconds(configuration.pod_max_backoff_seconds, 10),
            counts_failures: !version.at_least(34),
        }
    }

    /// The back-off of a pod after its last attempt.
    fn duration(self, pod: &QueuedPod) -> SimDuration {
        let count = match pod.errors {
            _ if self.counts_failures => pod.failures,
            0 => pod.rejections,
            errors => errors,
        };
        // More doublings than a length of time has bits change nothing; a pod may have been tried thousands of times.
        let doubled = |times: u32| {
            let times = times.min(u64::BITS);
            (0..times).fold(self.initial, |span, _| if span >= self.max { span } else { span * 2 })
        };
        if count == 0 { SimDuration::ZERO } else { doubled(count - 1).min(self.max) }
    }

    /// The whole second in which a pod leaves that has waited since its last attempt: its back-off lasts until the second in
    /// which it expires is over.
    fn leaves_at(self, pod: &QueuedPod) -> SimTime {
        (pod.since + self.duration(pod)).floor_to_second() + SimDuration::from_secs(1)
    }
}

/// What the queue asks about when something happens.
#[derive(Clone, Copy)]
pub(super) struct Situation<'a> {
    pub(super) now: SimTime,
    pub(super) store: &'a Store,
    pub(super) cache: &'a Cache,
    pub(super) profiles: &'a Profiles,
    /// Pods that may not enter yet, as room is still being made for them.
    pub(super) is_held: &'a dyn Fn(PodId) -> bool,
}

/// Pods without a node.
///
/// # Source
/// kube-scheduler, scheduling queue. Since 1.33 pods in back-off are taken when nothing else is active, so that an idle
/// scheduler has no back-off but for errors.
///
/// # Differs
/// A cycle takes no time, so nothing happens between the moment a pod is taken and the one at which it comes back.
#[derive(Clone)]
pub(super) struct SchedulingQueue {
    pods: FxHashMap<PodId, QueuedPod>,
    active: PriorityQueue<PodId, Order, FxBuildHasher>,
    /// By the second in which back-off ends.
    backoff: PriorityQueue<PodId, (Reverse<SimTime>, Order), FxBuildHasher>,
    /// By the second in which back-off ends.
    errors: PriorityQueue<PodId, (Reverse<SimTime>, Order), FxBuildHasher>,
    /// The unschedulable pool, by what rejected its pods: an event concerns few of these groups.
    rejected: IndexMap<Rejected, IndexSet<PodId, FxBuildHasher>, FxBuildHasher>,
    durations: Backoff,
    added: u64,
}

impl std::fmt::Debug for SchedulingQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = (self.active.len(), self.backoff.len(), self.errors.len(), self.pods.len());
        write!(f, "SchedulingQueue {counts:?}")
    }
}

impl SchedulingQueue {
    pub(super) fn new(configuration: &KubeSchedulerConfiguration, version: KubernetesVersion) -> Self {
        Self {
            pods: FxHashMap::default(),
            active: PriorityQueue::default(),
            backoff: PriorityQueue::default(),
            errors: PriorityQueue::default(),
            rejected: IndexMap::default(),
            durations: Backoff::new(configuration, version),
            added: 0,
        }
    }

    /// A pod appeared.
    pub(super) fn add(&mut self, id: PodId, pod: &Pod, profile: &Profile, now: SimTime) {
        self.added += 1;
        let order = priority_sort::order(pod.spec.priority, self.added);
        let queued = QueuedPod { place: Place::Gated, order, since: now, rejections: 0, errors: 0, failures: 0 };
        self.pods.insert(id, queued);
        self.enter(id, pod, profile);
    }

    /// PreEnqueue: a pod that every plugin admits is active.
    fn enter(&mut self, id: PodId, pod: &Pod, profile: &Profile) {
        if profile.admits_to_queue(pod) {
            self.put(id, Place::Active);
        }
    }

    /// Takes a pod from where it is to another place; pods come to the unschedulable pool by [`failed`](Self::failed).
    fn put(&mut self, id: PodId, place: Place) {
        let Some(queued) = self.pods.get_mut(&id) else { return };
        let (from, order) = (std::mem::replace(&mut queued.place, place), queued.order);
        let leaves_at = Reverse(self.durations.leaves_at(queued));
        self.take_out(id, from);
        match place {
            Place::Active => drop(self.active.push(id, order)),
            Place::Backoff => drop(self.backoff.push(id, (leaves_at, order))),
            Place::Errors => drop(self.errors.push(id, (leaves_at, order))),
            Place::Rejected(group) => drop(self.rejected[group].insert(id)),
            Place::Gated | Place::InFlight => {}
        }
    }

    fn take_out(&mut self, id: PodId, from: Place) {
        match from {
            Place::Active => drop(self.active.remove(&id)),
            Place::Backoff => drop(self.backoff.remove(&id)),
            Place::Errors => drop(self.errors.remove(&id)),
            Place::Rejected(group) => drop(self.rejected[group].swap_remove(&id)),
            Place::Gated | Place::InFlight => {}
        }
    }

    /// The pod is bound, or gone.
    pub(super) fn remove(&mut self, id: PodId) {
        if let Some(queued) = self.pods.remove(&id) {
            self.take_out(id, queued.place);
        }
    }

    /// Whether the pod waits for anything here.
    pub(super) fn has(&self, id: PodId) -> bool {
        self.pods.get(&id).is_some_and(|queued| queued.place != Place::InFlight)
    }

    pub(super) fn has_next(&self) -> bool {
        !self.active.is_empty() || !self.backoff.is_empty()
    }

    /// The pod to be tried next: an active one, or the one whose back-off ends first.
    pub(super) fn pop(&mut self) -> Option<PodId> {
        let next = self.active.peek().map(|(id, _)| *id).or_else(|| self.backoff.peek().map(|(id, _)| *id))?;
        self.put(next, Place::InFlight);
        Some(next)
    }

    /// No node was feasible. Without plugins that rejected it, it backs off as after an error; returns when that is over.
    pub(super) fn failed(
        &mut self,
        id: PodId,
        profile: &Profile,
        rejectors: &[&'static str],
        now: SimTime,
    ) -> Option<SimTime> {
        if rejectors.is_empty() {
            return self.errored(id, now);
        }
        let queued = self.came_back(id, now)?;
        queued.errors = 0;
        queued.rejections += 1;
        let rejected = Rejected { profile: profile.index, plugins: rejectors.iter().copied().collect() };
        let group = self.rejected.entry(rejected);
        let place = Place::Rejected(group.index());
        group.or_default();
        self.put(id, place);
        None
    }

    /// An attempt ended in an error, such as a refused binding; returns when the pod may be tried again.
    pub(super) fn errored(&mut self, id: PodId, now: SimTime) -> Option<SimTime> {
        let queued = self.came_back(id, now)?;
        queued.errors += 1;
        self.put(id, Place::Errors);
        self.pods.get(&id).map(|queued| self.durations.leaves_at(queued))
    }

    fn came_back(&mut self, id: PodId, now: SimTime) -> Option<&mut QueuedPod> {
        let queued = self.pods.get_mut(&id)?;
        self.added += 1;
        queued.order = priority_sort::order(queued.order.0, self.added);
        queued.since = now;
        queued.failures += 1;
        Some(queued)
    }

    /// The look at each whole second: pods whose back-off has ended are active.
    pub(super) fn flush_backoff(&mut self, now: SimTime) {
        let mut ended: SmallVec<[PodId; 8]> = SmallVec::new();
        for queue in [&mut self.backoff, &mut self.errors] {
            while let Some((id, _)) = queue.pop_if(|_, (Reverse(leaves_at), _)| *leaves_at <= now) {
                ended.push(id);
            }
        }
        for id in ended {
            self.put(id, Place::Active);
        }
    }

    /// Since when the pod has waited that has waited longest for something to change.
    pub(super) fn oldest_unschedulable(&self) -> Option<SimTime> {
        let pods = self.rejected.values().flatten().filter_map(|id| self.pods.get(id));
        pods.map(|queued| queued.since).min()
    }

    /// A pod is to be tried again at once, even if it is in back-off.
    pub(super) fn activate(&mut self, id: PodId) {
        let place = self.pods.get(&id).map(|queued| queued.place);
        if matches!(place, Some(Place::Rejected(_) | Place::Backoff | Place::Errors)) {
            self.put(id, Place::Active);
        }
    }

    /// Out of the pool: into back-off, or among the active if that is over.
    fn requeue(&mut self, id: PodId, now: SimTime) {
        let Some(queued) = self.pods.get(&id) else { return };
        let is_over = self.durations.leaves_at(queued) <= now;
        self.put(id, if is_over { Place::Active } else { Place::Backoff });
    }

    /// A waiting pod was changed: one whose last gate has opened enters; others are moved if a plugin that rejected them
    /// has a hint that the change may help. Pods that are active or in back-off stay where they are.
    pub(super) fn update(&mut self, id: PodId, before: &Pod, pod: &Pod, situation: Situation<'_>) {
        let Some(profile) = situation.profiles.of(pod.spec.scheduler_name) else { return };
        match self.pods.get(&id).map(|queued| queued.place) {
            Some(Place::Gated) => self.enter(id, pod, profile),
            Some(Place::Rejected(group)) => {
                let Some((rejected, _)) = self.rejected.get_index(group) else { return };
                let event = ClusterEvent::Itself { before };
                let hints = QueueingHints::new(rejected, &event, situation);
                if hints.queue(pod) && !(situation.is_held)(id) {
                    self.requeue(id, situation.now);
                }
            }
            _ => {}
        }
    }

    /// Something happened: pods whose rejectors hint that it may help them are tried again. Pods that are held may not enter yet.
    pub(super) fn event(&mut self, event: &ClusterEvent<'_>, situation: Situation<'_>) {
        let waits_longer =
            |id: PodId, than| self.pods.get(&id).is_some_and(|pod| situation.now.saturating_since(pod.since) > than);
        let mut helped: SmallVec<[PodId; 8]> = SmallVec::new();
        for (rejected, pods) in &self.rejected {
            let hints = QueueingHints::new(rejected, event, situation);
            if hints.is_empty() {
                continue;
            }
            let is_helped = |id: PodId| match event {
                ClusterEvent::UnschedulableTimeout(longest) => waits_longer(id, *longest),
                _ => situation.store.pod(id).is_some_and(|pod| hints.queue(pod)),
            };
            helped.extend(pods.iter().copied().filter(|id| is_helped(*id) && !(situation.is_held)(*id)));
        }
        for id in helped {
            self.requeue(id, situation.now);
        }
    }
}

/// What the plugins that rejected pods make of an event. Plugins that did not are not asked.
struct QueueingHints<'a> {
    plugins: SmallVec<[&'a dyn Plugin; 2]>,
    kinds: Events,
    event: &'a ClusterEvent<'a>,
    cache: &'a Cache,
    store: &'a Store,
}

impl<'a> QueueingHints<'a> {
    fn new(rejected: &Rejected, event: &'a ClusterEvent<'a>, situation: Situation<'a>) -> Self {
        let kinds = event.kinds(situation.cache);
        let found = rejected.plugins.iter().filter_map(|name| situation.profiles.at(rejected.profile).find(name));
        let plugins = found.filter(|plugin| plugin.events().matches(kinds)).collect();
        Self { plugins, kinds, event, cache: situation.cache, store: situation.store }
    }

    /// Whether the event helps nobody whom these plugins rejected.
    fn is_empty(&self) -> bool {
        self.plugins.is_empty() && !matches!(self.event, ClusterEvent::UnschedulableTimeout(_))
    }

    fn queue(&self, pod: &Pod) -> bool {
        // A nomination that is withdrawn makes room for pods of no higher priority.
        let is_above = matches!(self.event, ClusterEvent::PodRemoved { pod: other, was_assigned: false }
            if pod.spec.priority > other.spec.priority);
        let is_helped = |plugin: &&dyn Plugin| {
            plugin.events().always_retry(self.kinds) || plugin.hint(pod, self.event, self.cache, self.store)
        };
        !is_above && self.plugins.iter().any(is_helped)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cache_tests;
    use super::*;

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
            self.queue.add(self.ids[pod], &object, self.profiles.at(0), START);
        }

        /// A plugin rejects the pod.
        fn reject(&mut self, pod: usize, plugins: &[&'static str], at: SimTime) -> Option<SimTime> {
            self.queue.put(self.ids[pod], Place::InFlight);
            self.queue.failed(self.ids[pod], self.profiles.at(0), plugins, at)
        }

        fn time_out(&mut self, now: SimTime, is_held: bool) {
            let is_held = |_| is_held;
            let (store, cache, profiles) = (&self.store, &self.cache, &self.profiles);
            let situation = Situation { now, store, cache, profiles, is_held: &is_held };
            self.queue.event(&ClusterEvent::UnschedulableTimeout(LONGEST), situation);
        }

        fn update(&mut self, pod: usize, before: &Pod, after: &Pod) {
            let (store, cache, profiles) = (&self.store, &self.cache, &self.profiles);
            let situation = Situation { now: START, store, cache, profiles, is_held: &|_| false };
            self.queue.update(self.ids[pod], before, after, situation);
        }

        fn pop(&mut self) -> Option<usize> {
            let id = self.queue.pop()?;
            self.ids.iter().position(|other| *other == id)
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
                let places: Vec<Place> =
                    found.iter().filter(|(is_there, _)| *is_there).map(|(_, place)| *place).collect();
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
    fn back_off_doubles_up_to_its_maximum() {
        let standard =
            Backoff { initial: SimDuration::from_secs(1), max: SimDuration::from_secs(10), counts_failures: false };
        let check = |backoff: Backoff, (rejections, errors, failures): (u32, u32, u32), seconds: u64| {
            let order = priority_sort::order(0, 1);
            let pod = QueuedPod { place: Place::InFlight, order, since: START, rejections, errors, failures };
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
        (0..6).for_each(|pod| bench.queue.requeue(bench.ids[pod], START));
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
        bench.queue.requeue(bench.ids[0], milliseconds(400));
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
        bench.queue.add(bench.ids[0], &two, bench.profiles.at(0), START);
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
        (0..2).for_each(|pod| bench.queue.requeue(bench.ids[pod], milliseconds(70_000)));
        assert_eq!([bench.pop(), bench.pop()], [Some(1), Some(0)]);
    }

    #[test]
    fn pods_that_are_held_stay_in_the_pool() {
        let mut bench = Bench::new(1);
        bench.add(0, 0);
        bench.reject(0, &["NodeResourcesFit"], START);
        bench.time_out(START + LONGEST * 2, true);
        assert_eq!(bench.pop(), None);
        bench.queue.activate(bench.ids[0]);
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
                        let popped = bench.queue.pop();
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
                            bench.queue.requeue(id, now);
                        }
                    }
                    Op::TimeOut => {
                        now = now + LONGEST + SimDuration::from_secs(1);
                        bench.time_out(now, false);
                        prop_assert!(bench.queue.oldest_unschedulable().is_none());
                    }
                    Op::Activate(pod) => bench.queue.activate(bench.ids[pod]),
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
}
