//! Which pod replaced which, and which evictions turn out to have been needless.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::pods::PodRow;
use super::slo::WorkloadOutcome;
use crate::arena::{Column, Symbol};
use crate::state::{Change, Changed, DeletionCause, NodeDelta, NodeId, NodeSlot, Status, Store};
use crate::units::{SimDuration, SimTime};

/// When nodes became Ready.
#[derive(Debug, Default)]
pub(super) struct Recoveries {
    is_ready: Column<NodeSlot, bool>,
    by_node: BTreeMap<Symbol, Vec<SimTime>>,
}

impl Recoveries {
    pub(super) fn begin(&mut self, store: &Store) {
        for (id, node) in store.nodes() {
            *self.is_ready.get_mut(id) = node.conditions.ready() == Some(Status::True);
        }
    }

    pub(super) fn changed(&mut self, change: &Change, store: &Store) {
        let node: NodeId = match change.what {
            Changed::NodeUpdated { node, delta, .. } if delta.touches(NodeDelta::CONDITIONS) => node,
            Changed::NodeAdded(node) => node,
            _ => return,
        };
        let is_ready = store.node(node).is_some_and(|object| object.conditions.ready() == Some(Status::True));
        if std::mem::replace(self.is_ready.get_mut(node), is_ready) != is_ready && is_ready {
            self.by_node.entry(store.node_name(node)).or_default().push(change.at);
        }
    }

    /// Whether the node became Ready between the two instants.
    fn is_between(&self, node: Symbol, from: SimTime, to: SimTime) -> bool {
        self.by_node.get(&node).into_iter().flatten().any(|at| (from..to).contains(at))
    }
}

/// A pod that was taken away, and when the pod that came for it was Ready.
struct Replacement<'a> {
    lost: &'a PodRow,
    lost_at: SimTime,
    /// None if nothing came for it by the end of the run.
    ready_at: Option<SimTime>,
}

/// For each owner, matches the k-th pod taken away with the next pod created afterwards.
fn replacements(pods: &[PodRow]) -> Vec<Replacement<'_>> {
    type Owner<'a> = (&'a str, &'a str, &'a str);
    let mut owners: BTreeMap<Owner<'_>, (Vec<Replacement<'_>>, Vec<&PodRow>)> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !pod.owner_name.is_empty()) {
        let key = (pod.namespace.as_str(), pod.owner_kind.as_str(), pod.owner_name.as_str());
        let (lost, gained) = owners.entry(key).or_default();
        // One that its kubelet ended is replaced before anybody deletes it.
        let is_ended =
            matches!(pod.deletion_cause, Some(DeletionCause::NodePressure | DeletionCause::TerminationByKubelet));
        let ended_at = pod.finished_at.filter(|_| is_ended);
        let marked_at = pod.deletion_at.into_iter().chain(ended_at).min();
        if let Some(lost_at) = marked_at.or(pod.gone_at) {
            lost.push(Replacement { lost: pod, lost_at, ready_at: None });
        }
        if !pod.initial {
            gained.push(pod);
        }
    }
    let mut out = Vec::new();
    for (mut lost, mut gained) in owners.into_values() {
        lost.sort_by_key(|replacement| replacement.lost_at);
        gained.sort_by_key(|pod| (pod.created_at, pod.ready_at));
        let mut candidates = gained.into_iter().peekable();
        for replacement in &mut lost {
            while candidates.next_if(|pod| pod.created_at < replacement.lost_at).is_some() {}
            replacement.ready_at = candidates.next().and_then(|pod| pod.ready_at);
        }
        out.extend(lost);
    }
    out
}

/// From each pod's deletion to the readiness of the one that came for it.
pub(super) fn rescheduling(pods: &[PodRow]) -> Vec<SimDuration> {
    let all = replacements(pods).into_iter();
    all.filter_map(|found| Some(found.ready_at?.saturating_since(found.lost_at))).collect()
}

/// Evictions after which the node was Ready again before the replacement was: waiting would have been better. Counts them, and
/// what was taken from each workload.
pub(super) fn count_needless(pods: &[PodRow], recoveries: &Recoveries, workloads: &mut [WorkloadOutcome]) -> u64 {
    let key = |workload: &WorkloadOutcome| (workload.namespace, workload.kind, workload.name);
    let position: FxHashMap<_, usize> = workloads.iter().enumerate().map(|(index, of)| (key(of), index)).collect();
    let workload_of = |pod: &PodRow| position.get(&(pod.namespace, pod.workload.0, pod.workload.1)).copied();
    for pod in pods {
        let (Some(cause), Some(index)) = (pod.deletion_cause, workload_of(pod)) else { continue };
        if cause == DeletionCause::PreemptionByScheduler {
            workloads[index].preemptions += 1;
        } else if is_interruption(cause) {
            workloads[index].evictions += 1;
        }
    }
    let end_of_time = SimTime::from_nanos(i64::MAX);
    let mut count = 0;
    for Replacement { lost, lost_at, ready_at } in replacements(pods) {
        let is_eviction = lost.deletion_cause == Some(DeletionCause::TaintManagerEviction);
        if is_eviction && recoveries.is_between(lost.node, lost_at, ready_at.unwrap_or(end_of_time)) {
            count += 1;
            if let Some(index) = workload_of(lost) {
                workloads[index].needless_evictions += 1;
            }
        }
    }
    count
}

/// Pods of StatefulSets that the cluster took away.
pub(super) fn stateful_interruptions(pods: &[PodRow]) -> u64 {
    let stateful = pods.iter().filter(|pod| pod.owner_kind.as_str() == "StatefulSet");
    stateful.filter(|pod| pod.deletion_cause.is_some_and(is_interruption)).count() as u64
}

fn is_interruption(cause: DeletionCause) -> bool {
    matches!(
        cause,
        DeletionCause::TaintManagerEviction
            | DeletionCause::EvictionByEvictionApi
            | DeletionCause::DeletionByPodGc
            | DeletionCause::PreemptionByScheduler
            | DeletionCause::TerminationByKubelet
            | DeletionCause::NodePressure
    )
}
