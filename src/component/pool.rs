//! Node pools as far as new machines and selection need them.

use super::request::NodeRegistration;
use crate::arena::Symbol;
use crate::state::{NodeId, Store};

/// Machines that are made after one template, named `<pool>-<number>`.
#[derive(Clone, Debug)]
pub struct PoolPlan {
    /// Its name: the prefix of its nodes' names.
    pub name: Symbol,
    /// Labels, taints and resources with which its machines register, without the labels that name the node and its zone.
    pub registration: NodeRegistration,
    /// Zones, handed out in turn by the number.
    pub zones: Vec<Symbol>,
}

/// The number at the end of a pool's node name.
#[must_use]
pub fn pool_number(pool: &str, node: &str) -> Option<u64> {
    node.strip_prefix(pool)?.strip_prefix('-')?.parse().ok()
}

impl PoolPlan {
    /// The number of a node of this pool.
    #[must_use]
    pub fn number_of(&self, node: Symbol) -> Option<u64> {
        pool_number(self.name.as_str(), node.as_str())
    }

    /// The name of a machine.
    #[must_use]
    pub fn node_name(&self, number: u64) -> Symbol {
        Symbol::new(&format!("{}-{number}", self.name))
    }

    /// What a machine of that name registers: the pool's template with the labels that name it and its zone.
    #[must_use]
    pub fn registration_of(&self, node: Symbol) -> NodeRegistration {
        let mut registration = self.registration.clone();
        registration.labels = registration.labels.with(Symbol::new("kubernetes.io/hostname"), node);
        if !self.zones.is_empty() {
            let number = self.number_of(node).unwrap_or(0) as usize;
            let zone = self.zones[number % self.zones.len()];
            registration.labels = registration.labels.with(Symbol::new("topology.kubernetes.io/zone"), zone);
        }
        registration
    }

    /// The first number that no node has ever had, nor any behind it.
    #[must_use]
    pub fn next_number(&self, store: &Store) -> u64 {
        let numbers = store.node_ids().filter_map(|id| self.number_of(store.node_name(id)));
        numbers.max().map_or(0, |last| last + 1)
    }

    /// The first number from `first` on of a machine that takes the place of another one, in whose zone it is to stand.
    #[must_use]
    pub fn number_in_place_of(&self, node: Symbol, first: u64) -> u64 {
        let (zones, number) = (self.zones.len() as u64, self.number_of(node).unwrap_or(first));
        if zones == 0 { first } else { first + (number + zones - first % zones) % zones }
    }

    /// Machines of this pool that exist, by number.
    #[must_use]
    pub fn machines(&self, store: &Store) -> Vec<NodeId> {
        let of_pool = |id: NodeId| Some((self.number_of(store.node_name(id))?, id));
        let mut found: Vec<(u64, NodeId)> =
            store.node_ids().filter(|&id| store.machine(id).exists).filter_map(of_pool).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, id)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model;

    fn pool(zones: &[&str]) -> PoolPlan {
        let registration = NodeRegistration::from(&model::Node::default());
        PoolPlan { name: "w".into(), registration, zones: zones.iter().map(|zone| Symbol::new(zone)).collect() }
    }

    #[test]
    fn a_pool_owns_the_nodes_named_after_it() {
        assert_eq!(pool_number("worker", "worker-12"), Some(12));
        assert_eq!(pool_number("worker", "worker-a"), None);
        assert_eq!(pool_number("work", "worker-1"), None);
    }

    #[test]
    fn a_machine_in_the_place_of_another_stands_in_its_zone() {
        let mut store = Store::default();
        for number in 0..5 {
            store.node_slot(Symbol::new(&format!("w-{number}")));
        }
        let check = |zones: &[&str], old: &str, expected: u64| {
            let pool = pool(zones);
            let found = pool.number_in_place_of(old.into(), pool.next_number(&store));
            assert_eq!(found, expected, "{old} of {zones:?}");
        };
        check(&[], "w-0", 5);
        check(&["a", "b", "c"], "w-0", 6);
        check(&["a", "b", "c"], "w-1", 7);
        check(&["a", "b", "c"], "w-2", 5);
        check(&["a", "b", "c"], "w-4", 7);
    }
}
