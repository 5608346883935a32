//! Pods that wait for a node on which room is being made for them.

use rustc_hash::FxHashMap;

use crate::state::{NodeId, PodId};

/// A pod and the node it is nominated to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nominated {
    pub(super) pod: PodId,
    pub(super) priority: i32,
}

/// Nominations, in memory at once and in the API a little later.
///
/// # Source
/// kube-scheduler, nominator.
#[derive(Clone, Debug, Default)]
pub(super) struct Nominator {
    by_node: FxHashMap<NodeId, Vec<Nominated>>,
    by_pod: FxHashMap<PodId, NodeId>,
    /// Nominations as the API shows them.
    published: FxHashMap<PodId, NodeId>,
}

impl Nominator {
    /// Nominates a pod to a node, or to none.
    pub(super) fn set(&mut self, pod: PodId, priority: i32, node: Option<NodeId>) {
        if self.by_pod.get(&pod).copied() == node {
            return;
        }
        self.forget(pod);
        if let Some(node) = node {
            self.by_pod.insert(pod, node);
            self.by_node.entry(node).or_default().push(Nominated { pod, priority });
        }
    }

    /// The API shows this nomination of a pod; whether the pod has lost another by that.
    pub(super) fn publish(&mut self, pod: PodId, node: Option<NodeId>) -> bool {
        let before = match node {
            Some(node) => self.published.insert(pod, node),
            None => self.published.remove(&pod),
        };
        before.is_some() && before != node
    }

    /// The pod is bound, assumed or gone.
    pub(super) fn forget(&mut self, pod: PodId) {
        let Some(node) = self.by_pod.remove(&pod) else { return };
        if let Some(there) = self.by_node.get_mut(&node) {
            there.retain(|nominated| nominated.pod != pod);
            if there.is_empty() {
                self.by_node.remove(&node);
            }
        }
    }

    /// The node a pod is nominated to.
    pub(super) fn node_of(&self, pod: PodId) -> Option<NodeId> {
        self.by_pod.get(&pod).copied()
    }

    /// Whether no pod is nominated to any node.
    pub(super) fn is_empty(&self) -> bool {
        self.by_node.is_empty()
    }

    /// Pods nominated to a node, in the order of their nomination.
    pub(super) fn on(&self, node: NodeId) -> &[Nominated] {
        if self.is_empty() { &[] } else { self.by_node.get(&node).map_or(&[], Vec::as_slice) }
    }

    /// Other pods nominated to a node whose priority is no lower than that of `pod`.
    pub(super) fn rivals(&self, node: NodeId, pod: PodId, priority: i32) -> impl Iterator<Item = PodId> + '_ {
        let counts = move |other: &&Nominated| other.pod != pod && other.priority >= priority;
        self.on(node).iter().filter(counts).map(|other| other.pod)
    }
}
