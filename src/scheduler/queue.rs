//! The scheduling queue: pods to be tried, pods in back-off, pods that wait for something to change.

use std::cmp::Reverse;

use indexmap::IndexMap;
use priority_queue::PriorityQueue;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::cache::Cache;
use super::framework::ClusterEvent;
use super::plugins::priority_sort::{self, Order};
use super::profile::Profiles;
use crate::model::config::KubeSchedulerConfiguration;
use crate::state::{Pod, PodId, Store};
use crate::units::{SimDuration, SimTime};

/// Plugins that rejected a pod.
type Rejectors = SmallVec<[&'static str; 2]>;

/// What the queue knows of a pod without a node.
#[derive(Clone, Debug)]
struct QueuedPod {
    order: Order,
    /// When it was added to the queue, or came back from its last failed attempt. Moves within the queue leave it.
    since: SimTime,
    /// Attempts that ended with no node.
    rejections: u32,
    /// Attempts in a row that ended in an error.
    errors: u32,
}

/// A pod in the unschedulable pool.
#[derive(Clone, Debug)]
enum Waiting {
    /// A plugin does not let it enter.
    Gated,
    /// These plugins rejected it.
    Rejected(Rejectors),
}

/// Back-off of pods that could not be scheduled.
///
/// # Source
/// kube-scheduler, backoff queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backoff {
    initial: SimDuration,
    max: SimDuration,
}

impl Backoff {
    fn new(configuration: &KubeSchedulerConfiguration) -> Self {
        let seconds = |given: Option<i64>, otherwise| SimDuration::from_secs(given.unwrap_or(otherwise).unsigned_abs());
        Self {
            initial: seconds(configuration.pod_initial_backoff_seconds, 1),
            max: seconds(configuration.pod_max_backoff_seconds, 10),
        }
    }

    /// The back-off after so many failures; errors count first.
    fn duration(self, rejections: u32, errors: u32) -> SimDuration {
        let count = if errors > 0 { errors } else { rejections };
        let doubled =
            |times: u32| (0..times).fold(self.initial, |span, _| if span >= self.max { span } else { span * 2 });
        if count == 0 { SimDuration::ZERO } else { doubled(count - 1).min(self.max) }
    }

    /// The whole second in which a pod that is put back now leaves, at the next flush: its back-off lasts until the second
    /// in which it expires is over.
    fn leaves_at(self, pod: &QueuedPod, now: SimTime) -> SimTime {
        let expiry = now + self.duration(pod.rejections, pod.errors);
        expiry.floor_to_second() + SimDuration::from_secs(1)
    }
}

/// Pods without a node.
///
/// # Source
/// kube-scheduler, scheduling queue. Since 1.33 pods in back-off are taken when nothing else is active, so that an idle
/// scheduler has no back-off but for errors.
///
/// # Differs
/// A cycle takes no time, so nothing happens while a pod is in flight.
#[derive(Clone)]
pub(super) struct SchedulingQueue {
    active: PriorityQueue<PodId, Order, FxBuildHasher>,
    /// Rejected pods in back-off, by the second in which it ends.
    backoff: PriorityQueue<PodId, (Reverse<SimTime>, Order), FxBuildHasher>,
    /// Pods that met an error, by the second in which their back-off ends.
    errors: PriorityQueue<PodId, (Reverse<SimTime>, Order), FxBuildHasher>,
    unschedulable: IndexMap<PodId, Waiting, FxBuildHasher>,
    pods: FxHashMap<PodId, QueuedPod>,
    durations: Backoff,
    added: u64,
}

impl std::fmt::Debug for SchedulingQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = (self.active.len(), self.backoff.len(), self.unschedulable.len(), self.errors.len());
        write!(f, "SchedulingQueue {counts:?}")
    }
}

impl SchedulingQueue {
    pub(super) fn new(configuration: &KubeSchedulerConfiguration) -> Self {
        Self {
            active: PriorityQueue::default(),
            backoff: PriorityQueue::default(),
            errors: PriorityQueue::default(),
            unschedulable: IndexMap::default(),
            pods: FxHashMap::default(),
            durations: Backoff::new(configuration),
            added: 0,
        }
    }

    fn order(&mut self, priority: i32) -> Order {
        self.added += 1;
        priority_sort::order(priority, self.added)
    }

    /// A pod appeared.
    pub(super) fn add(&mut self, id: PodId, pod: &Pod, now: SimTime, profiles: &Profiles) {
        let order = self.order(pod.spec.priority);
        self.pods.insert(id, QueuedPod { order, since: now, rejections: 0, errors: 0 });
        self.enter(id, pod, profiles);
    }

    /// PreEnqueue: a pod that a plugin does not let in waits in the pool, any other is active.
    fn enter(&mut self, id: PodId, pod: &Pod, profiles: &Profiles) {
        let Some(queued) = self.pods.get(&id) else { return };
        if may_enter(pod, profiles) {
            self.active.push(id, queued.order);
        } else {
            self.unschedulable.insert(id, Waiting::Gated);
        }
    }

    /// A waiting pod was changed: one whose last gate has opened enters; others are moved if a plugin that rejected them
    /// sees hope in the change. Pods that are active or in back-off stay where they are.
    pub(super) fn update(
        &mut self,
        id: PodId,
        (before, pod): (&Pod, &Pod),
        cache: &Cache,
        profiles: &Profiles,
        now: SimTime,
    ) {
        match self.unschedulable.get(&id) {
            Some(Waiting::Gated) if may_enter(pod, profiles) => {
                self.unschedulable.swap_remove(&id);
                self.enter(id, pod, profiles);
            }
            Some(Waiting::Rejected(rejectors))
                if is_hopeful(pod, rejectors, &ClusterEvent::Itself { before }, cache, profiles) =>
            {
                self.requeue(id, now);
            }
            _ => {}
        }
    }

    /// The pod is bound, or gone.
    pub(super) fn remove(&mut self, id: PodId) {
        if self.pods.remove(&id).is_none() {
            return;
        }
        self.active.remove(&id);
        self.backoff.remove(&id);
        self.errors.remove(&id);
        self.unschedulable.swap_remove(&id);
    }

    /// Whether the pod waits for anything here.
    pub(super) fn has(&self, id: PodId) -> bool {
        self.active.get(&id).is_some()
            || self.backoff.get(&id).is_some()
            || self.errors.get(&id).is_some()
            || self.unschedulable.contains_key(&id)
    }

    pub(super) fn has_next(&self) -> bool {
        !self.active.is_empty() || !self.backoff.is_empty()
    }

    /// The pod to be tried next: an active one, or the one whose back-off ends first.
    pub(super) fn pop(&mut self) -> Option<PodId> {
        self.active.pop().map(|(id, _)| id).or_else(|| self.backoff.pop().map(|(id, _)| id))
    }

    /// No node was feasible. Without rejectors there was nobody to reject it, and it backs off as after an error.
    pub(super) fn failed(&mut self, id: PodId, rejectors: &[&'static str], now: SimTime) -> Option<SimTime> {
        if rejectors.is_empty() {
            return self.errored(id, now);
        }
        let order = self.order(self.pods.get(&id)?.order.0);
        let queued = self.pods.get_mut(&id)?;
        (queued.order, queued.since, queued.errors) = (order, now, 0);
        queued.rejections += 1;
        self.unschedulable.insert(id, Waiting::Rejected(rejectors.iter().copied().collect()));
        None
    }

    /// An attempt ended in an error, such as a refused binding; returns when the pod may be tried again.
    pub(super) fn errored(&mut self, id: PodId, now: SimTime) -> Option<SimTime> {
        let order = self.order(self.pods.get(&id)?.order.0);
        let queued = self.pods.get_mut(&id)?;
        (queued.order, queued.since) = (order, now);
        queued.errors += 1;
        let leaves_at = self.durations.leaves_at(queued, now);
        self.errors.push(id, (Reverse(leaves_at), order));
        Some(leaves_at)
    }

    /// The look at each whole second: pods whose back-off has ended are active.
    pub(super) fn flush_backoff(&mut self, now: SimTime) {
        for queue in [&mut self.backoff, &mut self.errors] {
            while queue.peek().is_some_and(|(_, (Reverse(leaves_at), _))| *leaves_at <= now) {
                if let Some((id, (_, order))) = queue.pop() {
                    self.active.push(id, order);
                }
            }
        }
    }

    /// Since when the pod has waited that has waited longest for something to change.
    pub(super) fn oldest_unschedulable(&self) -> Option<SimTime> {
        let rejected = self.unschedulable.iter().filter(|(_, waiting)| matches!(waiting, Waiting::Rejected(_)));
        rejected.filter_map(|(id, _)| self.pods.get(id)).map(|queued| queued.since).min()
    }

    /// Pods that have waited for longer than this are tried again, but for those that are held.
    pub(super) fn flush_unschedulable(&mut self, now: SimTime, longest: SimDuration, is_held: &dyn Fn(PodId) -> bool) {
        let is_due = |id: &PodId| self.pods.get(id).is_some_and(|queued| now.saturating_since(queued.since) > longest);
        let rejected = self.unschedulable.iter().filter(|(_, waiting)| matches!(waiting, Waiting::Rejected(_)));
        let due: Vec<PodId> = rejected.map(|(id, _)| *id).filter(is_due).filter(|id| !is_held(*id)).collect();
        for id in due {
            self.requeue(id, now);
        }
    }

    /// Pods that this says of, and of the plugins that rejected them, are tried again.
    pub(super) fn requeue_those(&mut self, now: SimTime, is_helped: &dyn Fn(PodId, &[&'static str]) -> bool) {
        let is_hopeful = |(id, waiting): &(&PodId, &Waiting)| match waiting {
            Waiting::Rejected(rejectors) => is_helped(**id, rejectors),
            Waiting::Gated => false,
        };
        let hopeful: Vec<PodId> = self.unschedulable.iter().filter(is_hopeful).map(|(id, _)| *id).collect();
        for id in hopeful {
            self.requeue(id, now);
        }
    }

    /// A pod is to be tried again at once, even if it is in back-off.
    pub(super) fn activate(&mut self, id: PodId) {
        let Some(queued) = self.pods.get(&id) else { return };
        let was_rejected = matches!(self.unschedulable.get(&id), Some(Waiting::Rejected(_)));
        if was_rejected {
            self.unschedulable.swap_remove(&id);
        }
        if was_rejected || self.backoff.remove(&id).is_some() || self.errors.remove(&id).is_some() {
            self.active.push(id, queued.order);
        }
    }

    /// Out of the pool: into back-off, or among the active if that is over.
    fn requeue(&mut self, id: PodId, now: SimTime) {
        let Some(queued) = self.pods.get(&id) else { return };
        self.unschedulable.swap_remove(&id);
        let leaves_at = self.durations.leaves_at(queued, queued.since);
        if leaves_at <= now {
            self.active.push(id, queued.order);
        } else {
            self.backoff.push(id, (Reverse(leaves_at), queued.order));
        }
    }

    /// Something changed: pods whose rejectors see hope in it are tried again. Pods that are held may not enter yet.
    pub(super) fn event(
        &mut self,
        event: &ClusterEvent<'_>,
        store: &Store,
        cache: &Cache,
        profiles: &Profiles,
        now: SimTime,
        is_held: &dyn Fn(PodId) -> bool,
    ) {
        // A nomination that is withdrawn makes room for pods of no higher priority.
        let limit = match event {
            ClusterEvent::PodRemoved { pod, was_assigned: false } => pod.spec.priority,
            _ => i32::MAX,
        };
        let hopeful: SmallVec<[PodId; 8]> = self
            .unschedulable
            .iter()
            .filter(|(id, waiting)| {
                let Waiting::Rejected(rejectors) = waiting else { return false };
                let Some(pod) = store.pod(**id) else { return false };
                pod.spec.priority <= limit && is_hopeful(pod, rejectors, event, cache, profiles) && !is_held(**id)
            })
            .map(|(id, _)| *id)
            .collect();
        for id in hopeful {
            self.requeue(id, now);
        }
    }
}

fn may_enter(pod: &Pod, profiles: &Profiles) -> bool {
    profiles.of(pod.spec.scheduler_name).is_none_or(|profile| profile.lets_in(pod))
}

/// Whether a plugin that rejected the pod sees hope in an event. Plugins that did not are not asked.
fn is_hopeful(
    pod: &Pod,
    rejectors: &[&'static str],
    event: &ClusterEvent<'_>,
    cache: &Cache,
    profiles: &Profiles,
) -> bool {
    let Some(profile) = profiles.of(pod.spec.scheduler_name) else { return false };
    let mut plugins = rejectors.iter().filter_map(|name| profile.find(name));
    plugins.any(|plugin| (event.is_taint_update(cache) && plugin.hears_of_taints()) || plugin.hint(pod, event, cache))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { initial: SimDuration::from_secs(1), max: SimDuration::from_secs(10) };

    #[test]
    fn back_off_doubles_up_to_its_maximum() {
        let seconds: Vec<u64> = (0..=7).map(|count| BACKOFF.duration(count, 0).as_nanos() / 1_000_000_000).collect();
        assert_eq!(seconds, [0, 1, 2, 4, 8, 10, 10, 10]);
        assert_eq!(BACKOFF.duration(5, 16), SimDuration::from_secs(10));
        assert_eq!(BACKOFF.duration(5, 1), SimDuration::from_secs(1));
        let none = Backoff { max: SimDuration::ZERO, ..BACKOFF };
        assert_eq!(none.duration(3, 0), SimDuration::ZERO);
    }

    #[test]
    fn back_off_ends_when_its_last_second_is_over() {
        let rejected = QueuedPod { order: (0, Reverse(1)), since: SimTime::ZERO, rejections: 1, errors: 0 };
        let check = |put_back_ms: u64, leaves_s: u64| {
            let at = SimTime::ZERO + SimDuration::from_millis(put_back_ms);
            assert_eq!(
                BACKOFF.leaves_at(&rejected, at),
                SimTime::ZERO + SimDuration::from_secs(leaves_s),
                "{put_back_ms}"
            );
        };
        check(300, 2);
        check(999, 2);
        check(1000, 3);
    }

    /// A queue with pods of these priorities, rejected by a plugin at these milliseconds.
    fn rejected(pods: &[(PodId, i32, u64)]) -> SchedulingQueue {
        let mut queue = SchedulingQueue::new(&KubeSchedulerConfiguration::default());
        for &(id, priority, at_ms) in pods {
            let order = queue.order(priority);
            queue.pods.insert(id, QueuedPod { order, since: SimTime::ZERO, rejections: 0, errors: 0 });
            queue.failed(id, &["NodeResourcesFit"], SimTime::ZERO + SimDuration::from_millis(at_ms));
        }
        queue
    }

    fn ids(count: usize) -> Vec<PodId> {
        let mut table: crate::arena::Table<Pod> = crate::arena::Table::new();
        let pod = super::super::cache_tests::pod(0, &super::super::cache_tests::specs()[0], false);
        (0..count).map(|_| table.insert(pod.clone())).collect()
    }

    #[test]
    fn a_flush_takes_those_whose_second_is_over_by_priority() {
        let ids = ids(6);
        let at = [9_000, 8_000, 7_001, 7_000, 7_000, 6_000];
        let priority = [1, 1, 2, 1, 2, 1];
        let pods: Vec<(PodId, i32, u64)> =
            [5, 3, 4, 2, 1, 0].into_iter().map(|i: usize| (ids[i], priority[i], at[i])).collect();
        let mut queue = rejected(&pods);
        ids.iter().for_each(|&id| queue.requeue(id, SimTime::ZERO));
        queue.flush_backoff(SimTime::ZERO + SimDuration::from_secs(8));
        assert_eq!((queue.active.len(), queue.backoff.len()), (1, 5));
        assert_eq!(queue.pop(), Some(ids[5]));
        queue.flush_backoff(SimTime::ZERO + SimDuration::from_secs(9));
        let taken: Vec<Option<PodId>> = (0..3).map(|_| queue.pop()).collect();
        // Of those of one second the priority decides, then who was added first.
        assert_eq!(taken, [Some(ids[4]), Some(ids[2]), Some(ids[3])]);
        assert_eq!(queue.backoff.len(), 2);
    }

    #[test]
    fn an_idle_scheduler_has_no_back_off_but_for_errors() {
        let ids = ids(2);
        let mut queue = rejected(&[(ids[0], 0, 300), (ids[1], 0, 300)]);
        queue.requeue(ids[0], SimTime::ZERO);
        assert_eq!(queue.pop(), Some(ids[0]));
        assert_eq!(queue.pop(), None);
        let now = SimTime::ZERO + SimDuration::from_millis(300);
        queue.unschedulable.swap_remove(&ids[1]);
        assert_eq!(queue.errored(ids[1], now), Some(SimTime::ZERO + SimDuration::from_secs(2)));
        assert_eq!(queue.pop(), None);
        queue.flush_backoff(SimTime::ZERO + SimDuration::from_secs(2));
        assert_eq!(queue.pop(), Some(ids[1]));
    }

    #[test]
    fn pods_that_have_waited_longer_than_five_minutes_leave_the_most_important_first() {
        let ids = ids(3);
        let longest = SimDuration::from_secs(300);
        let mut queue = rejected(&[(ids[0], 1, 0), (ids[1], 5, 0), (ids[2], 9, 1)]);
        assert_eq!(queue.oldest_unschedulable(), Some(SimTime::ZERO));
        queue.flush_unschedulable(SimTime::ZERO + longest, longest, &|_| false);
        assert_eq!(queue.unschedulable.len(), 3);
        queue.flush_unschedulable(SimTime::ZERO + longest + SimDuration::from_nanos(1), longest, &|_| false);
        assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(ids[1]), Some(ids[0]), None]);
    }

    #[test]
    fn without_a_rejector_a_failure_counts_as_an_error() {
        let ids = ids(1);
        let mut queue = rejected(&[(ids[0], 0, 0)]);
        queue.unschedulable.clear();
        assert!(queue.failed(ids[0], &[], SimTime::ZERO).is_some());
        assert!(queue.has(ids[0]) && queue.unschedulable.is_empty());
    }

    #[test]
    fn gated_pods_enter_when_the_last_gate_opens() {
        let gated = |gates: &str| {
            let json = format!(r#"{{"containers":[{{"name":"c"}}],"schedulingGates":{gates}}}"#);
            super::super::cache_tests::pod(0, &super::super::cache_tests::spec(&json), false)
        };
        let (two, one, none) = (gated(r#"[{"name":"a"},{"name":"b"}]"#), gated(r#"[{"name":"b"}]"#), gated("[]"));
        let id = ids(1)[0];
        let configuration = KubeSchedulerConfiguration::default();
        let mut queue = SchedulingQueue::new(&configuration);
        let (cache, profiles) =
            (Cache::new(crate::model::config::KubernetesVersion::default()), Profiles::new(&configuration));
        queue.add(id, &two, SimTime::ZERO, &profiles);
        queue.update(id, (&two, &one), &cache, &profiles, SimTime::ZERO);
        assert!(!queue.has_next() && queue.has(id) && queue.oldest_unschedulable().is_none());
        queue.update(id, (&one, &none), &cache, &profiles, SimTime::ZERO);
        assert_eq!(queue.pop(), Some(id));
    }

    #[test]
    fn once_back_off_is_over_priority_decides() {
        let ids = ids(2);
        let mut queue = rejected(&[(ids[0], 0, 0), (ids[1], 5, 5_000)]);
        let later = SimTime::ZERO + SimDuration::from_secs(70);
        ids.iter().for_each(|&id| queue.requeue(id, later));
        assert_eq!([queue.pop(), queue.pop()], [Some(ids[1]), Some(ids[0])]);
    }

    #[test]
    fn pods_that_are_held_stay_in_the_pool() {
        let ids = ids(1);
        let mut queue = rejected(&[(ids[0], 0, 0)]);
        let longest = SimDuration::from_secs(300);
        queue.flush_unschedulable(SimTime::ZERO + longest * 2, longest, &|_| true);
        assert_eq!(queue.pop(), None);
        queue.activate(ids[0]);
        assert_eq!(queue.pop(), Some(ids[0]));
    }
}
