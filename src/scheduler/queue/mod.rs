//! The scheduling queue: pods to be tried, pods in back-off, pods that wait for something to change.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use indexmap::{IndexMap, IndexSet};
use priority_queue::PriorityQueue;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use crate::model::config::{KubeSchedulerConfiguration, KubernetesVersion};
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{Incoming, Plugin};
use crate::scheduler::plugins::priority_sort::{self, Order};
use crate::scheduler::profile::{Profile, Profiles};
use crate::state::{CauseId, Pod, PodId, Store};
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
    /// Why it is to be tried: what brought it into the queue, or last moved it.
    cause: CauseId,
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
    /// Why it asks.
    pub(super) cause: CauseId,
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
    pub(super) fn add(&mut self, id: PodId, pod: &Pod, profile: &Profile, now: SimTime, cause: CauseId) {
        self.added += 1;
        let order = priority_sort::order(pod.spec.priority, self.added);
        let (rejections, errors, failures) = (0, 0, 0);
        let queued = QueuedPod { place: Place::Gated, order, since: now, rejections, errors, failures, cause };
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

    /// The pod to be tried next, and why: an active one, or the one whose back-off ends first.
    pub(super) fn pop(&mut self) -> Option<(PodId, CauseId)> {
        let next = self.active.peek().map(|(id, _)| *id).or_else(|| self.backoff.peek().map(|(id, _)| *id))?;
        self.put(next, Place::InFlight);
        Some((next, self.pods.get(&next)?.cause))
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
    pub(super) fn activate(&mut self, id: PodId, cause: CauseId) {
        let Some(queued) = self.pods.get_mut(&id) else { return };
        match queued.place {
            Place::Rejected(_) | Place::Backoff | Place::Errors => {
                queued.cause = cause;
                self.put(id, Place::Active);
            }
            Place::Active | Place::Gated | Place::InFlight => {}
        }
    }

    /// Out of the pool: into back-off, or among the active if that is over.
    fn requeue(&mut self, id: PodId, Situation { now, cause, .. }: Situation<'_>) {
        let Some(queued) = self.pods.get_mut(&id) else { return };
        queued.cause = cause;
        let is_over = self.durations.leaves_at(queued) <= now;
        self.put(id, if is_over { Place::Active } else { Place::Backoff });
    }

    /// A waiting pod was changed: one whose last gate has opened enters; others are moved if a plugin that rejected them
    /// has a hint that the change may help. Pods that are active or in back-off stay where they are.
    pub(super) fn update(&mut self, id: PodId, before: &Pod, pod: &Pod, situation: Situation<'_>) {
        let Some(profile) = situation.profiles.of(pod.spec.scheduler_name) else { return };
        let Some(queued) = self.pods.get_mut(&id) else { return };
        match queued.place {
            Place::Gated => {
                queued.cause = situation.cause;
                self.enter(id, pod, profile);
            }
            Place::Rejected(group) => {
                let Some((rejected, _)) = self.rejected.get_index(group) else { return };
                let event = ClusterEvent::Itself { before };
                let hints = QueueingHints::new(rejected, &event, situation);
                let Situation { store, now, .. } = situation;
                if hints.queue(Incoming { id, pod, store, now }) && !(situation.is_held)(id) {
                    self.requeue(id, situation);
                }
            }
            Place::Active | Place::Backoff | Place::Errors | Place::InFlight => {}
        }
    }

    /// Something happened: pods whose rejectors hint that it may help them are tried again. Pods that are held may not enter yet.
    pub(super) fn event(&mut self, event: &ClusterEvent<'_>, situation: Situation<'_>) {
        let Situation { store, now, .. } = situation;
        let waiting = |id: PodId| store.pod(id).map(|pod| Incoming { id, pod, store, now });
        let waits_longer =
            |id: PodId, than| self.pods.get(&id).is_some_and(|pod| now.saturating_since(pod.since) > than);
        let mut helped: SmallVec<[PodId; 8]> = SmallVec::new();
        for (rejected, pods) in &self.rejected {
            let hints = QueueingHints::new(rejected, event, situation);
            if hints.is_empty() {
                continue;
            }
            let is_helped = |id: PodId| match event {
                ClusterEvent::UnschedulableTimeout(longest) => waits_longer(id, *longest),
                _ => waiting(id).is_some_and(|pod| hints.queue(pod)),
            };
            helped.extend(pods.iter().copied().filter(|id| is_helped(*id) && !(situation.is_held)(*id)));
        }
        for id in helped {
            self.requeue(id, situation);
        }
    }
}

/// What the plugins that rejected pods make of an event. Plugins that did not are not asked.
struct QueueingHints<'a> {
    plugins: SmallVec<[&'a dyn Plugin; 2]>,
    kinds: Events,
    event: &'a ClusterEvent<'a>,
    cache: &'a Cache,
}

impl<'a> QueueingHints<'a> {
    fn new(rejected: &Rejected, event: &'a ClusterEvent<'a>, situation: Situation<'a>) -> Self {
        let kinds = event.kinds(situation.cache);
        let found = rejected.plugins.iter().filter_map(|name| situation.profiles.at(rejected.profile).find(name));
        let plugins = found.filter(|plugin| plugin.events().matches(kinds)).collect();
        Self { plugins, kinds, event, cache: situation.cache }
    }

    /// Whether the event helps nobody whom these plugins rejected.
    fn is_empty(&self) -> bool {
        self.plugins.is_empty() && !matches!(self.event, ClusterEvent::UnschedulableTimeout(_))
    }

    fn queue(&self, waiting: Incoming<'_>) -> bool {
        // A nomination that is withdrawn makes room for pods of no higher priority.
        let is_above = matches!(self.event, ClusterEvent::PodRemoved { pod: other, was_assigned: false }
            if waiting.pod.spec.priority > other.spec.priority);
        let is_helped = |plugin: &&dyn Plugin| {
            plugin.events().always_retry(self.kinds) || plugin.hint(waiting, self.event, self.cache)
        };
        !is_above && self.plugins.iter().any(is_helped)
    }
}
