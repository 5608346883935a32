//! What was taken from workloads, and which evictions turn out to have been needless.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::Detail;
use super::cause::is_eviction;
use super::disruptions::DisruptionRow;
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

/// From each disruption to the readiness of the pod that came for the one taken away.
pub(super) fn rescheduling(disruptions: &[DisruptionRow]) -> Vec<SimDuration> {
    let taken = disruptions.iter().filter(|row| row.taken_away);
    taken.filter_map(|row| Some(row.replacement.as_ref()?.ready_at?.saturating_since(row.lost_at))).collect()
}

/// Counts what was taken from each workload, and of that what need not have been: evictions by taints after which the node was
/// Ready again before the replacement was.
pub(super) fn attribute(
    pods: &[PodRow],
    disruptions: &[DisruptionRow],
    recoveries: &Recoveries,
    workloads: &mut [WorkloadOutcome],
) -> u64 {
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
    for row in disruptions {
        let Some(&index) = position.get(&row.workload) else { continue };
        for (sum, phase) in workloads[index].phases_s.iter_mut().zip(&row.phases) {
            *sum += phase.as_secs_f64();
        }
    }
    let end_of_time = SimTime::from_nanos(i64::MAX);
    let mut count = 0;
    for row in disruptions.iter().filter(|row| row.by == Some(DeletionCause::TaintManagerEviction)) {
        let until = row.replacement.as_ref().and_then(|other| other.ready_at).unwrap_or(end_of_time);
        if recoveries.is_between(row.node, row.lost_at, until) {
            count += 1;
            if let Some(&index) = position.get(&row.workload) {
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
