//! What a workload's users felt: how long it had fewer ready pods than wanted.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::arena::{Column, Symbol};
use crate::state::{Change, Changed, DeletionCause, Owner, Pod, PodDelta, PodId, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// How many ready pods are enough.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum MinReady {
    /// This many.
    Count(i32),
    /// This share of the wanted ones, rounded up.
    Percent(i32),
}

impl MinReady {
    fn of(self, desired: i32) -> i32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => (i64::from(desired) * i64::from(percent) + 99).div_euclid(100) as i32,
        }
    }
}

/// An objective of the scenario.
#[derive(Clone, Debug)]
pub struct Objective {
    /// `kind/namespace/name`, in lower case but for the names; `*` stands for any text.
    pub workload: String,
    /// What counts as good.
    pub min_ready: MinReady,
    /// The share of time that has to be good, 0 to 1.
    pub objective: f64,
}

impl Objective {
    /// Whether it speaks of that workload.
    #[must_use]
    pub fn matches(&self, kind: &str, namespace: &str, name: &str) -> bool {
        workload_matches(&self.workload, &format!("{}/{namespace}/{name}", kind.to_ascii_lowercase()))
    }
}

/// Whether a workload, as `kind/namespace/name`, is what a pattern means in which `*` stands for any text.
#[must_use]
pub fn workload_matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// How a workload fared.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadOutcome {
    /// Kind.
    pub kind: &'static str,
    /// Namespace.
    pub namespace: Symbol,
    /// Name.
    pub name: Symbol,
    /// Wanted pods at the end.
    pub desired: i32,
    /// Ready pods at the end.
    pub ready: i32,
    /// Fewest ready pods at any time.
    pub ready_min: i32,
    /// Seconds with fewer ready pods than wanted.
    pub below_desired_s: f64,
    /// Seconds below the objective's `minReady`; equal to the former without an objective.
    pub below_min_ready_s: f64,
    /// Longest stretch below `minReady`, in seconds.
    pub longest_gap_s: f64,
    /// Missing ready pods times seconds.
    pub unready_replica_s: f64,
    /// Pods that something other than its own controller or an operator took away.
    pub disruptions: u32,
    /// Share of time at or above `minReady`.
    pub availability: f64,
    /// The objective, if there is one.
    pub objective: Option<f64>,
    /// Whether the objective holds.
    pub objective_met: Option<bool>,
    /// Pods taken away by taints, evictions, pod GC and kubelets.
    #[serde(skip)]
    pub evictions: u32,
    /// Those of them after which the node was Ready again before the replacement was.
    #[serde(skip)]
    pub needless_evictions: u32,
    /// Pods taken away for the sake of others of higher priority.
    #[serde(skip)]
    pub preemptions: u32,
}

/// When there were workloads with fewer ready pods than wanted.
#[derive(Copy, Clone, Debug, Default)]
pub struct Shortage {
    /// When the first ran short, if any did.
    pub from: Option<SimTime>,
    /// When last any of them was short.
    pub until: SimTime,
    /// Workloads that are short at the end.
    pub workloads_at_end: usize,
}

#[derive(Debug)]
struct Tracked {
    kind: &'static str,
    namespace: Symbol,
    name: Symbol,
    objective: Option<usize>,
    desired: i32,
    ready: i32,
    ready_min: i32,
    since: SimTime,
    born_at: SimTime,
    gone_at: Option<SimTime>,
    below_desired: SimDuration,
    below_min: SimDuration,
    gap_since: Option<SimTime>,
    longest_gap: SimDuration,
    /// Missing pods times nanoseconds.
    unready_ns: u128,
    disruptions: u32,
}

#[derive(Debug)]
pub(super) struct Slo {
    objectives: Vec<Objective>,
    tracked: Vec<Tracked>,
    index: FxHashMap<WorkloadId, usize>,
    /// The workload (index plus one) that counts the pod as ready.
    counted: Column<Pod, usize>,
    shortage: Shortage,
}

impl Slo {
    pub(super) fn new(objectives: Vec<Objective>) -> Self {
        Self {
            objectives,
            tracked: Vec::new(),
            index: FxHashMap::default(),
            counted: Column::new(),
            shortage: Shortage::default(),
        }
    }

    pub(super) fn begin(&mut self, store: &Store) {
        let ids = (store.deployments.ids().map(WorkloadId::Deployment))
            .chain(store.replica_sets.ids().map(WorkloadId::ReplicaSet))
            .chain(store.daemon_sets.ids().map(WorkloadId::DaemonSet))
            .chain(store.stateful_sets.ids().map(WorkloadId::StatefulSet));
        for id in ids {
            self.workload_seen(SimTime::ZERO, id, store);
        }
        for (id, _) in store.pods() {
            self.pod_seen(SimTime::ZERO, id, store);
        }
        for tracked in &mut self.tracked {
            tracked.ready_min = tracked.ready;
            tracked.since = SimTime::ZERO;
            tracked.gap_since = None;
        }
        for index in 0..self.tracked.len() {
            self.advance(index, SimTime::ZERO);
        }
    }

    pub(super) fn changed(&mut self, change: &Change, store: &Store) {
        match &change.what {
            Changed::WorkloadAdded(id) | Changed::WorkloadUpdated(id, _) => self.workload_seen(change.at, *id, store),
            Changed::WorkloadRemoved(id) => self.forget(change.at, *id),
            Changed::PodAdded(id) => self.pod_seen(change.at, *id, store),
            Changed::PodUpdated { pod, delta, .. } => {
                if delta.touches(PodDelta::DELETION) {
                    self.count_disruption(*pod, store);
                }
                self.pod_seen(change.at, *pod, store);
            }
            Changed::PodRemoved { pod, .. } => {
                let old = std::mem::take(self.counted.get_mut(*pod));
                self.change_ready(change.at, old, -1);
            }
            _ => {}
        }
    }

    fn count_disruption(&mut self, pod: PodId, store: &Store) {
        let Some(object) = store.pod(pod) else { return };
        let cause = object.deletion.map(|d| d.cause);
        if matches!(
            cause,
            None | Some(
                DeletionCause::ScaleDown
                    | DeletionCause::RollingUpdate
                    | DeletionCause::Kubectl
                    | DeletionCause::OwnerDeleted
                    | DeletionCause::Completed
                    | DeletionCause::DaemonSetController
            )
        ) {
            return;
        }
        if let Some(index) = root_of(object, store).and_then(|id| self.index.get(&id)) {
            self.tracked[*index].disruptions += 1;
        }
    }

    fn workload_seen(&mut self, at: SimTime, id: WorkloadId, store: &Store) {
        let Some(meta) = store.workload_meta(id) else { return };
        let Some(desired) = desired_of(id, store) else {
            // A ReplicaSet that a Deployment has adopted.
            if self.index.contains_key(&id) {
                self.forget(at, id);
                self.recount(at, id, store);
            }
            return;
        };
        let index = match self.index.get(&id) {
            Some(index) => *index,
            None => self.track(at, id, desired, store),
        };
        self.advance(index, at);
        // Nobody waits for the pods of what is being deleted.
        self.tracked[index].desired = if meta.deleting.is_some() { 0 } else { desired };
        self.advance(index, at);
    }

    /// A workload comes to be, or a ReplicaSet loses its Deployment: it may have pods already.
    fn track(&mut self, at: SimTime, id: WorkloadId, desired: i32, store: &Store) -> usize {
        let (kind, meta) = (store.workload_kind(id), store.workload_meta(id).expect("a workload that is there"));
        let is_meant = |o: &Objective| o.matches(kind, meta.namespace.as_str(), meta.name.as_str());
        let index = self.tracked.len();
        self.tracked.push(Tracked {
            kind,
            namespace: meta.namespace,
            name: meta.name,
            objective: self.objectives.iter().position(is_meant),
            desired,
            ready: 0,
            ready_min: 0,
            since: at,
            born_at: at,
            gone_at: None,
            below_desired: SimDuration::ZERO,
            below_min: SimDuration::ZERO,
            gap_since: None,
            longest_gap: SimDuration::ZERO,
            unready_ns: 0,
            disruptions: 0,
        });
        self.index.insert(id, index);
        self.recount(at, id, store);
        self.tracked[index].ready_min = self.tracked[index].ready;
        index
    }

    /// A workload is no longer there, or no longer speaks for its pods.
    fn forget(&mut self, at: SimTime, id: WorkloadId) {
        let Some(index) = self.index.remove(&id) else { return };
        self.advance(index, at);
        let tracked = &mut self.tracked[index];
        tracked.gone_at = Some(at);
        tracked.desired = 0;
        self.advance(index, at);
    }

    /// Another workload than before may speak for the pods of this one.
    fn recount(&mut self, at: SimTime, id: WorkloadId, store: &Store) {
        for pod in store.pods_of(id) {
            self.pod_seen(at, *pod, store);
        }
    }

    fn pod_seen(&mut self, at: SimTime, id: PodId, store: &Store) {
        let Some(pod) = store.pod(id) else { return };
        let counts = pod.is_active() && pod.is_ready();
        let new = if counts {
            root_of(pod, store).and_then(|root| self.index.get(&root)).map_or(0, |index| index + 1)
        } else {
            0
        };
        let old = std::mem::replace(self.counted.get_mut(id), new);
        if old != new {
            self.change_ready(at, old, -1);
            self.change_ready(at, new, 1);
        }
    }

    fn change_ready(&mut self, at: SimTime, index_plus_one: usize, by: i32) {
        let Some(index) = index_plus_one.checked_sub(1) else { return };
        self.advance(index, at);
        self.tracked[index].ready += by;
        self.advance(index, at);
    }

    /// Accounts for the time since the last change and opens or closes the gap.
    fn advance(&mut self, index: usize, at: SimTime) {
        let tracked = &mut self.tracked[index];
        let passed = at.saturating_since(tracked.since);
        let enough = tracked.objective.map_or(tracked.desired, |o| self.objectives[o].min_ready.of(tracked.desired));
        let missing = tracked.desired - tracked.ready;
        if missing > 0 && !passed.is_zero() {
            let from = self.shortage.from.get_or_insert(tracked.since);
            *from = (*from).min(tracked.since);
            self.shortage.until = self.shortage.until.max(at);
            tracked.below_desired += passed;
            tracked.unready_ns += u128::from(passed.as_nanos()) * u128::from(missing.unsigned_abs());
        }
        if tracked.gap_since.is_some() {
            tracked.below_min += passed;
        }
        tracked.since = at;
        tracked.ready_min = tracked.ready_min.min(tracked.ready);
        if tracked.ready < enough {
            tracked.gap_since.get_or_insert(at);
        } else if let Some(since) = tracked.gap_since.take() {
            tracked.longest_gap = tracked.longest_gap.max(at.saturating_since(since));
        }
    }

    pub(super) fn finish(mut self, end: SimTime) -> (Vec<WorkloadOutcome>, Shortage) {
        for index in 0..self.tracked.len() {
            if self.tracked[index].gone_at.is_none() {
                self.advance(index, end);
            }
        }
        let is_short = |of: &&Tracked| of.gone_at.is_none() && of.ready < of.desired;
        self.shortage.workloads_at_end = self.tracked.iter().filter(is_short).count();
        let objectives = &self.objectives;
        let outcomes = self
            .tracked
            .into_iter()
            .map(|t| {
                let until = t.gone_at.unwrap_or(end);
                let open = t.gap_since.map_or(SimDuration::ZERO, |since| until.saturating_since(since));
                let lived = until.saturating_since(t.born_at).as_secs_f64();
                let below_min = t.below_min.as_secs_f64();
                let availability = if lived > 0.0 { 1.0 - below_min / lived } else { 1.0 };
                let objective = t.objective.map(|o| objectives[o].objective);
                WorkloadOutcome {
                    kind: t.kind,
                    namespace: t.namespace,
                    name: t.name,
                    desired: t.desired,
                    ready: t.ready,
                    ready_min: t.ready_min,
                    below_desired_s: t.below_desired.as_secs_f64(),
                    below_min_ready_s: below_min,
                    longest_gap_s: t.longest_gap.max(open).as_secs_f64(),
                    unready_replica_s: t.unready_ns as f64 / 1e9,
                    disruptions: t.disruptions,
                    availability,
                    objective,
                    objective_met: objective.map(|o| availability >= o),
                    evictions: 0,
                    needless_evictions: 0,
                    preemptions: 0,
                }
            })
            .collect();
        (outcomes, self.shortage)
    }
}

/// Wanted pods of a workload that is tracked; none for ReplicaSets of a Deployment and for kinds that end by themselves.
pub(super) fn desired_of(id: WorkloadId, store: &Store) -> Option<i32> {
    match id {
        WorkloadId::Deployment(id) => store.deployments.get(id).map(|d| d.spec.replicas.unwrap_or(1)),
        WorkloadId::ReplicaSet(id) => {
            let set = store.replica_sets.get(id)?;
            (!matches!(set.meta.owner, Some(Owner::Deployment(_)))).then_some(set.replicas)
        }
        WorkloadId::DaemonSet(id) => store.daemon_sets.get(id).map(|d| d.status.desired),
        WorkloadId::StatefulSet(id) => store.stateful_sets.get(id).map(|s| s.spec.replicas.unwrap_or(1)),
        WorkloadId::Job(_) | WorkloadId::CronJob(_) => None,
    }
}

/// The workload a user would name: a pod's owner, or that owner's Deployment.
pub(super) fn root_of(pod: &Pod, store: &Store) -> Option<WorkloadId> {
    let owner = WorkloadId::from_owner(pod.owner?)?;
    if let WorkloadId::ReplicaSet(id) = owner
        && let Some(Owner::Deployment(deployment)) = store.replica_sets.get(id)?.meta.owner
    {
        return Some(WorkloadId::Deployment(deployment));
    }
    Some(owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let check = |pattern: &str, text: &str, expected: bool| assert_eq!(workload_matches(pattern, text), expected);
        check("deployment/shop/*", "deployment/shop/web", true);
        check("deployment/*/web", "deployment/shop/web", true);
        check("*", "anything", true);
        check("deployment/shop/web", "deployment/shop/web2", false);
        check("deployment/s*p/w*", "deployment/shop/web", true);
        check("a*a", "a", false);
    }

    #[test]
    fn percentages_round_up() {
        assert_eq!(MinReady::Percent(80).of(3), 3);
        assert_eq!(MinReady::Percent(50).of(4), 2);
        assert_eq!(MinReady::Count(2).of(10), 2);
    }
}
