//! Nodes that are not Ready from t=0 on: no fault of the run is to blame for them.

use std::collections::BTreeSet;

use super::Detail;
use super::observer::{Observer, Seen, Setup};
use crate::state::{Change, Changed, NodeDelta, NodeId, Status, Store};

#[derive(Clone, Debug, Default)]
pub(super) struct NeverReady {
    nodes: BTreeSet<NodeId>,
}

impl NeverReady {
    pub(super) fn nodes(&self) -> &BTreeSet<NodeId> {
        &self.nodes
    }
}

fn is_unready(node: NodeId, store: &Store) -> bool {
    store.node(node).is_some_and(|object| object.conditions.ready() != Some(Status::True))
}

impl Observer for NeverReady {
    const NEEDED_FOR: Detail = Detail::Files;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        self.nodes = seen.store.nodes().map(|(id, _)| id).filter(|&id| is_unready(id, seen.store)).collect();
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        if self.nodes.is_empty() {
            return;
        }
        match change.what {
            Changed::NodeUpdated { node, delta, .. }
                if delta.touches(NodeDelta::CONDITIONS) && !is_unready(node, seen.store) =>
            {
                self.nodes.remove(&node);
            }
            Changed::NodeRemoved { node, .. } => {
                self.nodes.remove(&node);
            }
            _ => {}
        }
    }
}
