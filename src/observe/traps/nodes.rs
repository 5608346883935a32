//! What several traps ask of nodes: since when they are not Ready, since when they are tainted.

use std::collections::BTreeSet;

use crate::arena::Column;
use crate::model::{Taint, TaintEffect};
use crate::state::{Change, Changed, NodeDelta, NodeId, NodeSlot, Status, Store};
use crate::units::SimTime;

/// The past of one node.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct NodeFact {
    /// Since when its Ready condition is not True, or its object gone.
    pub(super) unready_since: Option<SimTime>,
    /// When it was last found Ready again.
    pub(super) back_at: Option<SimTime>,
    /// Since when it has a NoExecute taint.
    pub(super) tainted_since: Option<SimTime>,
}

/// What a change did to a node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing that matters here.
    None,
    /// It may have turned ready or unready, tainted or untainted, or moved to another zone.
    Of(NodeId),
}

/// The past of all nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeFacts {
    facts: Column<NodeSlot, NodeFact>,
    /// Nodes that exist and are Ready.
    ready_count: usize,
    unready: BTreeSet<NodeId>,
    tainted: BTreeSet<NodeId>,
}

impl NodeFacts {
    pub(super) fn begin(store: &Store) -> Self {
        let mut facts = Self::default();
        let nodes: Vec<NodeId> = store.nodes().map(|(id, _)| id).collect();
        for node in nodes {
            facts.unready.insert(node);
            facts.look(SimTime::ZERO, node, store);
            facts.facts.get_mut(node).back_at = None;
        }
        facts
    }

    pub(super) fn changed(&mut self, change: &Change, store: &Store) -> Turn {
        let (Changed::NodeAdded(node) | Changed::NodeRemoved { node, .. } | Changed::NodeUpdated { node, .. }) =
            change.what
        else {
            return Turn::None;
        };
        if let Changed::NodeUpdated { delta, .. } = change.what
            && !delta.touches(NodeDelta::CONDITIONS | NodeDelta::TAINTS | NodeDelta::LABELS)
        {
            return Turn::None;
        }
        if matches!(change.what, Changed::NodeAdded(_)) && self.facts.get(node).unready_since.is_none() {
            self.unready.insert(node);
        }
        self.look(change.at, node, store);
        Turn::Of(node)
    }

    fn look(&mut self, at: SimTime, node: NodeId, store: &Store) {
        let object = store.node(node);
        let is_ready = object.is_some_and(|object| object.conditions.ready() == Some(Status::True));
        let is_tainted =
            object.is_some_and(|object| object.taints.iter().any(|taint| taint.effect == TaintEffect::NoExecute));
        let fact = self.facts.get_mut(node);
        if is_ready {
            fact.unready_since = None;
            if self.unready.remove(&node) {
                self.ready_count += 1;
                fact.back_at = Some(at);
            }
        } else {
            fact.unready_since.get_or_insert(at);
            if self.unready.insert(node) {
                self.ready_count -= 1;
            }
        }
        if is_tainted {
            fact.tainted_since.get_or_insert(at);
            self.tainted.insert(node);
        } else {
            fact.tainted_since = None;
            self.tainted.remove(&node);
        }
    }

    pub(super) fn of(&self, node: NodeId) -> NodeFact {
        *self.facts.get(node)
    }

    /// Nodes that exist and are Ready.
    pub(super) fn ready_count(&self) -> usize {
        self.ready_count
    }

    /// Nodes that are not Ready or gone.
    pub(super) fn unready(&self) -> &BTreeSet<NodeId> {
        &self.unready
    }

    /// Nodes with a NoExecute taint.
    pub(super) fn tainted(&self) -> &BTreeSet<NodeId> {
        &self.tainted
    }
}

/// The NoExecute taints of a node, as tolerations are matched against them.
pub(super) fn no_execute(node: NodeId, store: &Store) -> Vec<Taint> {
    let taints = store.node(node).into_iter().flat_map(|object| &object.taints);
    let taints = taints.filter(|taint| taint.effect == TaintEffect::NoExecute);
    taints.map(|taint| Taint::new(taint.key, taint.value, taint.effect)).collect()
}
