//! A DaemonSet as one pass of the controller sees it.

use super::spots::{Found, Rule, Spots};
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
    /// Names of nodes on which there are pods, or at which some aim, and which do not exist.
    fn absent_nodes(&self) -> impl Iterator<Item = NodeId> {
        let Rule { store, set, .. } = self.rule;
        let pods = store.daemon_pods(set).filter(|_| !store.has_all_nodes());
        let absent = move |node: &NodeId| store.node(*node).is_none();
        pods.into_iter().flat_map(move |pods| store.node_ids().filter(|node| !pods.on(*node).is_empty()).filter(absent))
    }

    /// Unbound pods that aim at a node that does not exist.
    pub(super) fn stranded_pods(&self) -> Vec<PodId> {
        let live = self.absent_nodes().flat_map(|node| self.rule.pods_on(node));
        live.filter(|(_, pod)| pod.node.is_none()).map(|(id, _)| id).collect()
    }

    /// What an update finds on nodes that do not exist: pods that wait for the pod garbage collector.
    pub(super) fn left_behind(&self) -> impl Iterator<Item = Found> {
        let with_pods = self.absent_nodes().filter(|node| !self.rule.pods_on(*node).is_empty());
        with_pods.map(|node| self.rule.found(node))
    }
}

/// What one pass wants created and deleted.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) create: Vec<NodeId>,
    pub(super) delete: Vec<(PodId, DeletionCause)>,
    pub(super) again_after: Option<SimDuration>,
}
