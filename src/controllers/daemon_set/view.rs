//! A DaemonSet as one pass of the controller sees it.

use super::spots::{Rule, Spots};
use crate::state::{DaemonSet, DeletionCause, NodeId, PodId};
use crate::units::SimDuration;

/// A set with its nodes and pods at one moment.
#[derive(Copy, Clone, Debug)]
pub(super) struct View<'a> {
    pub(super) rule: Rule<'a>,
    pub(super) set: &'a DaemonSet,
    /// All existing nodes by name.
    pub(super) spots: &'a Spots,
}

impl View<'_> {
    /// Unbound pods that aim at a node that does not exist.
    pub(super) fn stranded_pods(&self) -> Vec<PodId> {
        let Rule { store, set, .. } = self.rule;
        let Some(pods) = store.daemon_pods(set).filter(|_| !store.has_all_nodes()) else { return Vec::new() };
        let absent = store.node_ids().filter(|node| !pods.on(*node).is_empty() && store.node(*node).is_none());
        let live = absent.flat_map(|node| self.rule.pods_on(node));
        live.filter(|(_, pod)| pod.node.is_none()).map(|(id, _)| id).collect()
    }
}

/// What one pass wants created and deleted.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) create: Vec<NodeId>,
    pub(super) delete: Vec<(PodId, DeletionCause)>,
    pub(super) again_after: Option<SimDuration>,
}
