//! Which pod replaced which, and which evictions turn out to have been needless.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::Detail;
use super::cause::is_eviction;
use super::observer::{Observer, Seen, Setup};
use super::outcome::WorkloadOutcome;
use super::pods::PodRow;
use super::workload::WorkloadKey;
use crate::arena::{Column, Symbol};
use crate::state::{Change, Changed, DeletionCause, NodeDelta, NodeId, NodeSlot, Status};
use crate::units::{SimDuration, SimTime};

/// When nodes became Ready.
#[derive(Clone, Debug, Default)]
pub(super) struct Recoveries {
    is_ready: Column<NodeSlot, bool>,
    by_node: BTreeMap<Symbol, Vec<SimTime>>,
}

impl Observer for Recoveries {
    const NEEDED_FOR: Detail = Detail::Summary;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        for (id, node) in seen.store.nodes() {
            *self.is_ready.get_mut(id) = node.conditions.ready() == Some(Status::True);
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        let store = seen.store;
        let node: NodeId = match change.what {
            // One that comes back is Ready again.
            Changed::NodeRemoved { node, .. } => {
                *self.is_ready.get_mut(node) = false;
                return;
            }
            Changed::NodeUpdated { node, delta, .. } if delta.touches(NodeDelta::CONDITIONS) => node,
            Changed::NodeAdded(node) => node,
            _ => return,
        };
        let is_ready = store.node(node).is_some_and(|object| object.conditions.ready() == Some(Status::True));
        if std::mem::replace(self.is_ready.get_mut(node), is_ready) != is_ready && is_ready {
            self.by_node.entry(store.node_name(node)).or_default().push(change.at);
        }
    }
}

impl Recoveries {
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

/// For each owner, matches the k-th pod taken away with the next pod created afterwards. Nothing comes for pods without an owner.
fn replacements(pods: &[PodRow]) -> Vec<Replacement<'_>> {
    type Owner<'a> = (&'a str, &'a str, &'a str, &'a str);
    let mut owners: BTreeMap<Owner<'_>, (Vec<Replacement<'_>>, Vec<&PodRow>)> = BTreeMap::new();
    for pod in pods {
        let is_bare = pod.owner_name.is_empty();
        let owner_name = if is_bare { pod.name.as_ref() } else { pod.owner_name.as_str() };
        // A daemon on another node makes up for nothing.
        let place = if pod.owner_kind == "DaemonSet" { pod.node.as_str() } else { "" };
        let key = (pod.namespace.as_str(), pod.owner_kind.as_str(), owner_name, place);
        let (lost, gained) = owners.entry(key).or_default();
        if let Some(lost_at) = pod.lost_at() {
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

/// From each disruption to the readiness of the pod that came for the one taken away.
pub(super) fn rescheduling(pods: &[PodRow]) -> Vec<SimDuration> {
    let all = replacements(pods).into_iter().filter(|found| found.lost.taken_away().is_some());
    all.filter_map(|found| Some(found.ready_at?.saturating_since(found.lost_at))).collect()
}

/// Counts what was taken from each workload, and of that what need not have been: evictions by taints after which the node was
/// Ready again before the replacement was.
pub(super) fn attribute(pods: &[PodRow], recoveries: &Recoveries, workloads: &mut [WorkloadOutcome]) -> u64 {
    let position: FxHashMap<WorkloadKey, usize> =
        workloads.iter().enumerate().map(|(index, of)| (of.key(), index)).collect();
    let mut latest: FxHashMap<WorkloadKey, &PodRow> = FxHashMap::default();
    for pod in pods {
        let Some(&index) = position.get(&pod.workload) else { continue };
        let of = &mut workloads[index];
        let cause = pod.taken_away();
        of.disruptions += u32::from(cause.is_some());
        of.evictions += u32::from(cause.is_some_and(is_eviction));
        of.preemptions += u32::from(cause == Some(DeletionCause::PreemptionByScheduler));
        // What took the name of a lost pod makes up for it.
        if pod.workload.kind == "Pod" && latest.insert(pod.workload, pod).is_some_and(PodRow::is_lost) {
            of.lost -= 1;
        }
        of.lost += u32::from(pod.is_lost());
    }
    let end_of_time = SimTime::from_nanos(i64::MAX);
    let mut count = 0;
    for Replacement { lost, lost_at, ready_at } in replacements(pods) {
        let is_by_taint = lost.taken_away() == Some(DeletionCause::TaintManagerEviction);
        if is_by_taint && recoveries.is_between(lost.node, lost_at, ready_at.unwrap_or(end_of_time)) {
            count += 1;
            if let Some(&index) = position.get(&lost.workload) {
                workloads[index].needless_evictions += 1;
            }
        }
    }
    count
}

/// Pods of StatefulSets that the cluster took away.
pub(super) fn stateful_interruptions(pods: &[PodRow]) -> u64 {
    let stateful = pods.iter().filter(|pod| pod.owner_kind == "StatefulSet");
    stateful.filter(|pod| pod.taken_away().is_some()).count() as u64
}
