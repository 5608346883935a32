//! Where nodes stand: zone and pool, as tables tell them.

use crate::arena::{self, Symbol, sym};
use crate::model::Labels;
use crate::state::{Change, Changed, NodeDelta, NodeId, NodeSlot, Store};

/// Where a node stands. Each is empty where nothing tells it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Place {
    pub(super) zone: Symbol,
    /// By the label of a cloud or of Karpenter, else the name without the number at the end.
    pub(super) pool: Symbol,
}

impl Place {
    pub(super) fn of(name: Symbol, labels: &Labels) -> Self {
        Self { zone: super::zone_of(labels), pool: pool_of(name, labels) }
    }
}

/// The pool that labels or the name tell.
fn pool_of(name: Symbol, labels: &Labels) -> Symbol {
    let keys = [
        sym!("karpenter.sh/nodepool"),
        sym!("eks.amazonaws.com/nodegroup"),
        sym!("alpha.eksctl.io/nodegroup-name"),
        sym!("cloud.google.com/gke-nodepool"),
        sym!("kubernetes.azure.com/agentpool"),
        sym!("agentpool"),
        sym!("doks.digitalocean.com/node-pool"),
        sym!("k8s.scaleway.com/pool-name"),
    ];
    let by_label = keys.into_iter().find_map(|key| labels.get(key).filter(|pool| !pool.is_empty()));
    by_label.unwrap_or_else(|| {
        let numbered = name.as_str().rsplit_once('-');
        let pool =
            numbered.filter(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
        pool.map(|(pool, _)| Symbol::new(pool)).unwrap_or_default()
    })
}

/// The places of the nodes that were asked for: labels and names are looked at anew only when they may have changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    known: arena::Column<NodeSlot, Option<Place>>,
}

impl Places {
    /// Where a node stands; of one that is gone, where it stood.
    pub(super) fn of(&mut self, id: NodeId, store: &Store) -> Place {
        let known = self.known.get_mut(id);
        if known.is_none() {
            *known = store.node(id).map(|node| Place::of(store.node_name(id), &node.labels));
        }
        known.unwrap_or_default()
    }

    /// Forgets what a change makes untrue.
    pub(super) fn changed(&mut self, change: &Change) {
        match &change.what {
            Changed::NodeAdded(node) => *self.known.get_mut(*node) = None,
            Changed::NodeUpdated { node, delta, .. } if delta.touches(NodeDelta::LABELS) => {
                *self.known.get_mut(*node) = None;
            }
            _ => {}
        }
    }
}
