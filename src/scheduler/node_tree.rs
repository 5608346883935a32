//! The order in which a cycle looks at nodes.

use crate::arena::Symbol;
use crate::model::{region_of, zone_of};
use crate::state::{Node, NodeId};

/// Nodes by zone, and the list that a cycle walks.
///
/// # Source
/// kube-scheduler, `nodeTree` and the snapshot's node list.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeTree {
    /// Zones in the order of their appearance, each with its nodes in the order of arrival.
    zones: Vec<(Symbol, Vec<NodeId>)>,
    /// Made anew when the set of nodes has changed.
    list: Vec<NodeId>,
    is_list_stale: bool,
}

impl NodeTree {
    /// A node came, went or changed. A changed zone label moves it in the tree, but the list is made anew only when nodes come
    /// or go.
    pub(super) fn set_node(&mut self, id: NodeId, before: Option<&Node>, after: Option<&Node>) {
        let (old, new) = (before.map(zone_key), after.map(zone_key));
        if old == new {
            return;
        }
        self.is_list_stale |= old.is_some() != new.is_some();
        if let Some(old) = old {
            self.remove(id, old);
        }
        let Some(zone) = new else { return };
        match self.zones.iter_mut().find(|(name, _)| *name == zone) {
            Some((_, nodes)) => nodes.push(id),
            None => self.zones.push((zone, vec![id])),
        }
    }

    fn remove(&mut self, id: NodeId, zone: Symbol) {
        if let Some(at) = self.zones.iter().position(|(name, _)| *name == zone) {
            self.zones[at].1.retain(|other| *other != id);
            if self.zones[at].1.is_empty() {
                self.zones.remove(at);
            }
        }
    }

    /// Brings the list up to date: the first node of each zone, then the second of each, and so on.
    pub(super) fn refresh(&mut self) {
        if !std::mem::take(&mut self.is_list_stale) {
            return;
        }
        self.list.clear();
        let longest = self.zones.iter().map(|(_, nodes)| nodes.len()).max().unwrap_or(0);
        for rank in 0..longest {
            self.list.extend(self.zones.iter().filter_map(|(_, nodes)| nodes.get(rank)));
        }
    }

    /// The list as it last was brought up to date.
    pub(super) fn list(&self) -> &[NodeId] {
        &self.list
    }
}

/// Region and zone of a node; the beta labels win.
fn zone_key(node: &Node) -> Symbol {
    let (region, zone) = (region_of(&node.labels), zone_of(&node.labels));
    if region.or(zone).is_none() {
        return Symbol::empty();
    }
    let (region, zone) = (region.unwrap_or_default(), zone.unwrap_or_default());
    Symbol::new(&format!("{region}:\0:{zone}"))
}
