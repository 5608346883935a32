//! The scheduling queue: pods to be tried, pods that wait for something to change.

use std::cmp::Reverse;

use indexmap::IndexMap;
use priority_queue::PriorityQueue;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::cache::Cache;
use super::framework::ClusterEvent;
use super::profile::Profiles;
use crate::model::PodSpec;
use crate::state::{Pod, PodId, Store};
use crate::units::{SimDuration, SimTime};

/// Order in the queue: higher priority first, then who was added first.
type Order = (i32, Reverse<u64>);

/// A pod that no node was feasible for.
#[derive(Clone, Debug)]
struct Waiting {
    priority: i32,
    since: SimTime,
    rejectors: Vec<&'static str>,
}

/// Pods without a node.
///
/// # Source
/// kube-scheduler, scheduling queue. Since 1.33 pods in back-off are taken when nothing else is active, so that an idle
/// scheduler has no back-off but for errors.
#[derive(Clone, Default)]
pub(super) struct SchedulingQueue {
    active: PriorityQueue<PodId, Order, FxBuildHasher>,
    backoff: PriorityQueue<PodId, Order, FxBuildHasher>,
    unschedulable: IndexMap<PodId, Waiting, FxBuildHasher>,
    errors: Vec<(SimTime, PodId, i32)>,
    /// How often each pod has met an error in a row.
    error_counts: FxHashMap<PodId, u32>,
    added: u64,
}

impl std::fmt::Debug for SchedulingQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = (self.active.len(), self.backoff.len(), self.unschedulable.len(), self.errors.len());
        write!(f, "SchedulingQueue {counts:?}")
    }
}

fn is_gated(spec: &PodSpec) -> bool {
    !spec.scheduling_gates.is_empty()
}

impl SchedulingQueue {
    fn order(&mut self, priority: i32) -> Order {
        self.added += 1;
        (priority, Reverse(self.added))
    }

    /// A pod appeared, or its spec changed.
    pub(super) fn add(&mut self, id: PodId, pod: &Pod, now: SimTime) {
        if is_gated(&pod.spec) {
            let waiting = Waiting { priority: pod.spec.priority, since: now, rejectors: vec!["SchedulingGates"] };
            self.unschedulable.insert(id, waiting);
            return;
        }
        self.unschedulable.swap_remove(&id);
        let order = self.order(pod.spec.priority);
        self.active.push(id, order);
    }

    pub(super) fn remove(&mut self, id: PodId) {
        self.active.remove(&id);
        self.backoff.remove(&id);
        self.unschedulable.swap_remove(&id);
        self.error_counts.remove(&id);
        self.errors.retain(|(_, other, _)| *other != id);
    }

    /// Whether the pod waits for anything here.
    pub(super) fn has(&self, id: PodId) -> bool {
        self.active.get(&id).is_some()
            || self.backoff.get(&id).is_some()
            || self.unschedulable.contains_key(&id)
            || self.errors.iter().any(|(_, other, _)| *other == id)
    }

    pub(super) fn has_next(&self) -> bool {
        !self.active.is_empty() || !self.backoff.is_empty()
    }

    pub(super) fn pop(&mut self) -> Option<PodId> {
        self.active.pop().or_else(|| self.backoff.pop()).map(|(id, _)| id)
    }

    /// No node was feasible.
    pub(super) fn failed(&mut self, id: PodId, priority: i32, rejectors: Vec<&'static str>, now: SimTime) {
        self.error_counts.remove(&id);
        self.unschedulable.insert(id, Waiting { priority, since: now, rejectors });
    }

    /// Binding failed; returns when it may be tried again: at the whole second after its back-off.
    pub(super) fn errored(&mut self, id: PodId, priority: i32, now: SimTime) -> SimTime {
        const LONGEST_S: u64 = 10;
        let count = self.error_counts.entry(id).or_insert(0);
        *count += 1;
        let seconds = (1u64 << (*count - 1).min(4)).min(LONGEST_S);
        let expiry = (now + SimDuration::from_secs(seconds)).floor_to_second() + SimDuration::from_secs(1);
        self.errors.push((expiry, id, priority));
        expiry
    }

    pub(super) fn flush_errors(&mut self, now: SimTime) {
        let due: Vec<_> = self.errors.extract_if(.., |(expiry, ..)| *expiry <= now).collect();
        for (_, id, priority) in due {
            let order = self.order(priority);
            self.active.push(id, order);
        }
    }

    pub(super) fn oldest_unschedulable(&self) -> Option<SimTime> {
        self.unschedulable.values().filter(|w| w.rejectors != ["SchedulingGates"]).map(|w| w.since).min()
    }

    /// Pods that have waited for long are tried again.
    pub(super) fn flush(&mut self, now: SimTime, longest: SimDuration) {
        let due: Vec<PodId> = self
            .unschedulable
            .iter()
            .filter(|(_, w)| now.saturating_since(w.since) > longest && w.rejectors != ["SchedulingGates"])
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            self.requeue(id);
        }
    }

    /// Pods that this says of, and of the plugins that rejected them, are tried again.
    pub(super) fn requeue_those(&mut self, is_helped: &dyn Fn(PodId, &[&'static str]) -> bool) {
        let waiting = self.unschedulable.iter();
        let hopeful: Vec<PodId> =
            waiting.filter(|(id, waiting)| is_helped(**id, &waiting.rejectors)).map(|(id, _)| *id).collect();
        for id in hopeful {
            self.requeue(id);
        }
    }

    /// A pod is to be tried again at once.
    pub(super) fn activate(&mut self, id: PodId) {
        if let Some(waiting) = self.unschedulable.swap_remove(&id) {
            let order = self.order(waiting.priority);
            self.active.push(id, order);
        }
    }

    fn requeue(&mut self, id: PodId) {
        if let Some(waiting) = self.unschedulable.swap_remove(&id) {
            let order = self.order(waiting.priority);
            self.backoff.push(id, order);
        }
    }

    /// Something changed: pods whose rejectors see hope in it are tried again.
    /// Pods that are held may not enter yet.
    pub(super) fn event(
        &mut self,
        event: &ClusterEvent<'_>,
        store: &Store,
        cache: &Cache,
        profiles: &Profiles,
        is_held: &dyn Fn(PodId) -> bool,
    ) {
        let node = match event {
            ClusterEvent::NodeAdded(node) | ClusterEvent::NodeUpdated { node, .. } => Some(cache.node(*node)),
            ClusterEvent::PodAdded | ClusterEvent::PodRemoved => None,
        };
        let hopeful: Vec<PodId> = self
            .unschedulable
            .iter()
            .filter(|(id, waiting)| {
                store.pod(**id).is_some_and(|pod| {
                    let Some(profile) = profiles.of(pod.spec.scheduler_name) else { return false };
                    let mut plugins = waiting.rejectors.iter().filter_map(|name| profile.find(name));
                    plugins.any(|plugin| plugin.hint(pod, event, node)) && !is_held(**id)
                })
            })
            .map(|(id, _)| *id)
            .collect();
        for id in hopeful {
            self.requeue(id);
        }
    }
}
