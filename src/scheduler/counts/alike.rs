//! Nodes that constraints cannot tell from one another.

use super::view::ViewRef;
use crate::state::NodeId;

/// Pods on a node up to which nodes are told apart by their number.
const PODS_MAX: u32 = 63;

/// So many kinds for each node are worth a look.
const KINDS_A_NODE: usize = 8;

/// What a constraint counts of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scheduler) enum Reach {
    /// The pods on it.
    Node,
    /// The pods of its domain.
    Domain,
}

/// Nodes by their kinds: those of one kind have as many pods on them, in the same domains, so that constraints say the same of them.
#[derive(Debug)]
pub(in crate::scheduler) struct Alike {
    /// The kind of each node.
    kinds: Vec<u32>,
    /// Where each kind stands in the list of those that there are.
    places: Vec<u32>,
    /// A node of each kind that there is.
    pub(in crate::scheduler) nodes: Vec<NodeId>,
}

impl Alike {
    /// The kinds of these nodes; none if there are too many for it to be worth while.
    pub(in crate::scheduler) fn of(views: &[(ViewRef<'_>, Reach)], nodes: &[NodeId]) -> Option<Self> {
        let levels = |(view, reach): &(ViewRef<'_>, Reach)| match reach {
            Reach::Node => PODS_MAX as usize + 2,
            Reach::Domain => view.topology.values.len() + 1,
        };
        let most = nodes.len().saturating_mul(KINDS_A_NODE);
        let count = views.iter().map(levels).try_fold(1_usize, |all, these| all.checked_mul(these))?;
        if count > most {
            return None;
        }
        let mut kinds = vec![0_u32; nodes.len()];
        let mut fullest = 0;
        for of in views {
            let ((view, reach), base) = (of, levels(of) as u32);
            let of_nodes = kinds.iter_mut().zip(nodes);
            match reach {
                Reach::Node => of_nodes.for_each(|(kind, node)| {
                    let pods = (*view.by_node.get(*node) as u32).min(PODS_MAX + 1);
                    fullest = fullest.max(pods);
                    *kind = *kind * base + if view.has_key(*node) { pods + 1 } else { 0 };
                }),
                Reach::Domain => of_nodes.for_each(|(kind, node)| {
                    *kind = *kind * base + view.topology.of_node.get(*node);
                }),
            }
        }
        if fullest > PODS_MAX {
            return None;
        }
        // Of each kind the last node, and then its place.
        let mut places = vec![0_u32; count];
        for (at, &kind) in kinds.iter().enumerate() {
            places[kind as usize] = at as u32 + 1;
        }
        let mut of_kinds = Vec::with_capacity(count.min(nodes.len()));
        for place in places.iter_mut().filter(|last| **last > 0) {
            let node = nodes[*place as usize - 1];
            *place = of_kinds.len() as u32;
            of_kinds.push(node);
        }
        Some(Self { kinds, places, nodes: of_kinds })
    }

    /// For each node what is said of its kind.
    pub(in crate::scheduler) fn spread<T: Copy>(&self, of_kinds: &[T]) -> impl Iterator<Item = T> {
        self.kinds.iter().map(|&kind| of_kinds[self.places[kind as usize] as usize])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustc_hash::FxHashMap;

    use super::super::view::{Inclusion, Topology, View};
    use super::*;
    use crate::arena::{Column, Symbol};
    use crate::state::{NodeSlot, Store};

    struct World {
        nodes: Vec<NodeId>,
        by_node: Column<NodeSlot, i32>,
        zones: Topology,
        view: View,
    }

    impl World {
        /// Nodes with so many pods on each, and the number of its zone: 0 if it has none.
        fn new(of_nodes: &[(i32, u32)]) -> Self {
            let mut store = Store::default();
            let mut nodes = Vec::new();
            let mut by_node = Column::new();
            let mut zones = Topology { key: Symbol::new("zone"), of_node: Column::new(), values: FxHashMap::default() };
            for zone in 1..=of_nodes.iter().map(|(_, zone)| *zone).max().unwrap_or(0) {
                zones.domain(Symbol::new(&format!("zone-{zone}")));
            }
            for (at, (pods, zone)) in of_nodes.iter().enumerate() {
                let node = store.node_slot(Symbol::new(&format!("node-{at}")));
                *by_node.get_mut(node) = *pods;
                *zones.of_node.get_mut(node) = *zone;
                nodes.push(node);
            }
            let view = View::new(0, Inclusion::default(), 0, zones.values.len() + 1);
            Self { nodes, by_node, zones, view }
        }

        fn alike(&self, reaches: &[Reach]) -> Option<Alike> {
            let view = ViewRef { by_node: &self.by_node, view: &self.view, topology: &self.zones };
            let views: Vec<_> = reaches.iter().map(|reach| (view, *reach)).collect();
            Alike::of(&views, &self.nodes)
        }
    }

    proptest! {
        #[test]
        fn what_is_said_of_a_kind_holds_for_each_of_its_nodes(
            of_nodes in prop::collection::vec((0..=PODS_MAX as i32, 0..4_u32), 40..120),
            reaches in prop::sample::subsequence(vec![Reach::Node, Reach::Domain], 1..=2),
        ) {
            let world = World::new(&of_nodes);
            let alike = world.alike(&reaches).expect("there are few kinds");
            let tell = |at: usize| {
                let (pods, zone) = of_nodes[at];
                // Pods on nodes without the key count for nobody.
                let pods = if reaches.contains(&Reach::Node) && zone > 0 { pods } else { 0 };
                (pods, zone > 0, if reaches.contains(&Reach::Domain) { zone } else { 0 })
            };
            let at = |node: &NodeId| world.nodes.iter().position(|other| other == node).expect("one of them");
            let of_kinds: Vec<_> = alike.nodes.iter().map(|node| tell(at(node))).collect();
            let expected: Vec<_> = (0..of_nodes.len()).map(tell).collect();
            prop_assert_eq!(alike.spread(&of_kinds).collect::<Vec<_>>(), expected.clone());
            let kinds: std::collections::BTreeSet<_> = expected.into_iter().collect();
            prop_assert_eq!(of_kinds.len(), kinds.len());
        }
    }

    #[test]
    fn nodes_with_many_pods_and_kinds_without_number_are_each_told_apart() {
        let full = PODS_MAX as i32 + 1;
        assert!(World::new(&[(full, 1); 100]).alike(&[Reach::Node]).is_none());
        assert!(World::new(&[(full, 1); 100]).alike(&[Reach::Domain]).is_some(), "pods of the node do not matter");
        assert!(World::new(&[(1, 1), (1, 2)]).alike(&[Reach::Node, Reach::Domain]).is_none(), "few nodes");
        let racks: Vec<(i32, u32)> = (0..50).map(|at| (1, at)).collect();
        assert!(World::new(&racks).alike(&[Reach::Node, Reach::Domain]).is_none(), "65 × 50 kinds of 50 nodes");
    }
}
