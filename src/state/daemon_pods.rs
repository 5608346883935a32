//! The pods of a DaemonSet by the nodes that they are for.

use smallvec::SmallVec;

use super::{NodeId, NodeSlot, Pod, PodId};
use crate::arena::{ChangeLog, Column};

/// The pods of a DaemonSet by the nodes that they are on or aim at, and on which nodes they were written last: whoever has read that far
/// knows what to look at again.
#[derive(Clone, Debug, Default)]
pub struct DaemonPods {
    pods: Column<NodeSlot, SmallVec<[PodId; 1]>>,
    writes: ChangeLog<NodeSlot>,
}

impl DaemonPods {
    /// The node that a daemon pod is on, or aims at as long as it is on none.
    #[must_use]
    pub fn node_of(pod: &Pod) -> Option<NodeId> {
        pod.node.or(pod.pinned_node)
    }

    /// The pods of a node.
    #[must_use]
    pub fn on(&self, node: NodeId) -> &[PodId] {
        self.pods.get(node)
    }

    /// The nodes on which pods were written, came or went.
    #[must_use]
    pub fn writes(&self) -> &ChangeLog<NodeSlot> {
        &self.writes
    }

    /// How many pods there are, on all nodes.
    pub(super) fn len(&self) -> usize {
        self.pods.values().map(SmallVec::len).sum()
    }

    pub(super) fn written(&mut self, node: NodeId) {
        self.writes.push(node);
    }

    pub(super) fn came(&mut self, pod: PodId, node: NodeId) {
        self.pods.get_mut(node).push(pod);
        self.written(node);
    }

    pub(super) fn went(&mut self, pod: PodId, node: NodeId) {
        self.pods.get_mut(node).retain(|other| *other != pod);
        self.written(node);
    }
}
