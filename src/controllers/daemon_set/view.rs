//! A DaemonSet as one pass of the controller sees it.

use super::placement::Placement;
use crate::arena::{Column, Symbol};
use crate::state::{DaemonSet, DaemonSetId, DeletionCause, NodeId, NodeSlot, Pod, PodId, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};
use rustc_hash::FxHashSet;

/// A set with its nodes and pods at one moment.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) store: &'a Store,
    pub(super) id: DaemonSetId,
    pub(super) set: &'a DaemonSet,
    /// Of the present template.
    pub(super) hash: Symbol,
    pub(super) now: SimTime,
    /// All existing nodes by name.
    pub(super) nodes: Vec<(NodeId, Placement)>,
    /// Live pods, those of one node together, in the order of node ids.
    pods: Vec<(NodeId, PodId)>,
    /// Where the pods of a node begin and end.
    ranges: Column<NodeSlot, (u32, u32)>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        store: &'a Store,
        id: DaemonSetId,
        set: &'a DaemonSet,
        hash: Symbol,
        now: SimTime,
        nodes: Vec<(NodeId, Placement)>,
        unseen: &FxHashSet<PodId>,
    ) -> Self {
        let all = store.pods_of(WorkloadId::DaemonSet(id)).iter();
        let live = all.filter(|pod_id| !unseen.contains(pod_id)).filter_map(|&pod_id| {
            let pod = store.pod(pod_id).filter(|pod| !(pod.phase.is_terminal() && pod.deletion.is_some()))?;
            Some((node_of(pod)?, pod_id))
        });
        let mut pods: Vec<_> = live.collect();
        pods.sort_by_key(|(node, _)| *node);
        let mut ranges = Column::new();
        let mut begin = 0;
        for here in pods.chunk_by(|a, b| a.0 == b.0) {
            let end = begin + here.len() as u32;
            *ranges.get_mut(here[0].0) = (begin, end);
            begin = end;
        }
        Self { store, id, set, hash, now, nodes, pods, ranges }
    }

    /// The live pods on a node, or that aim at it.
    pub(super) fn pods_on(&self, node: NodeId) -> impl Iterator<Item = (PodId, &'a Pod)> + '_ {
        let &(begin, end) = self.ranges.get(node);
        let ids = self.pods[begin as usize..end as usize].iter().map(|(_, pod)| *pod);
        ids.filter_map(|id| Some((id, self.store.pod(id)?)))
    }

    /// Unbound pods that aim at a node that does not exist.
    pub(super) fn stranded_pods(&self) -> impl Iterator<Item = PodId> + '_ {
        let aimless = self.pods.iter().filter(|(node, _)| self.store.node(*node).is_none());
        aimless.filter(|(_, pod)| self.store.pod(*pod).is_some_and(|p| p.node.is_none())).map(|(_, pod)| *pod)
    }

    pub(super) fn min_ready(&self) -> SimDuration {
        min_ready(self.set)
    }

    /// Whether that pod has been Ready for `minReadySeconds`.
    pub(super) fn is_available(&self, pod: &Pod) -> bool {
        pod.is_available(self.min_ready(), self.now)
    }
}

/// What one pass wants created and deleted.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) create: Vec<NodeId>,
    pub(super) delete: Vec<(PodId, DeletionCause)>,
    pub(super) again_after: Option<SimDuration>,
}

/// The node a daemon pod is on or aims at.
fn node_of(pod: &Pod) -> Option<NodeId> {
    pod.node.or(pod.pinned_node)
}

/// Pods of one node in the order in which they are kept: bound before unbound, older first, then by name.
pub(super) fn keep_order(a: &Pod, b: &Pod) -> std::cmp::Ordering {
    (b.node.is_some().cmp(&a.node.is_some()))
        .then_with(|| a.created_at.floor_to_second().cmp(&b.created_at.floor_to_second()))
        .then_with(|| a.name.cmp(&b.name))
}

/// How long a pod has to be Ready to count as available.
pub(super) fn min_ready(set: &DaemonSet) -> SimDuration {
    SimDuration::from_secs(set.spec.min_ready_seconds.max(0).unsigned_abs().into())
}
