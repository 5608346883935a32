//! The pods of a DaemonSet by the nodes that they are for.

use smallvec::SmallVec;

use super::{NodeId, NodeSlot, Pod, PodId};
use crate::arena::{ChangeLog, Column};

/// The pods of a DaemonSet by the nodes that they are on or aim at, and how often those of each node have been written: whoever
/// remembers that number knows what to look at again.
#[derive(Clone, Debug, Default)]
pub struct DaemonPods {
    pods: Column<NodeSlot, SmallVec<[PodId; 1]>>,
    writes: Column<NodeSlot, u32>,
    /// The nodes of the last writes.
    log: ChangeLog<NodeId>,
}

/// Of so many writes the nodes are kept in any case; of more, if there are more nodes. Who has to catch up with more looks at every
/// node, which then takes no longer than the writes have.
const WRITES_KEPT: usize = 64;

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

    /// How often they were written, came or went; it starts again at zero after the last of 32 bits.
    #[must_use]
    pub fn writes(&self, node: NodeId) -> u32 {
        *self.writes.get(node)
    }

    /// The nodes of all writes, some of them several times.
    #[must_use]
    pub fn log(&self) -> &ChangeLog<NodeId> {
        &self.log
    }

    /// How many pods there are, on all nodes.
    pub(super) fn len(&self) -> usize {
        self.pods.values().map(SmallVec::len).sum()
    }

    pub(super) fn written(&mut self, node: NodeId) {
        let writes = self.writes.get_mut(node);
        *writes = writes.wrapping_add(1);
        let kept_max = self.writes.values().len().max(WRITES_KEPT);
        self.log.push(node, kept_max);
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
