//! What nodes give, and pods ask for.

use smallvec::SmallVec;

use crate::arena::Symbol;
use crate::model::{Node, Resources};
use crate::state::Node as LiveNode;

/// An amount of everything that nodes give and pods ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) resources: Resources,
    pub(super) pods: i64,
}

impl Amount {
    pub(super) fn add(&mut self, resources: &Resources, pods: i64) {
        self.resources.add(resources);
        self.pods += pods;
    }

    /// The parts by name.
    pub(super) fn parts(&self) -> SmallVec<[(Symbol, i64); 6]> {
        let Resources { cpu_milli, memory, ephemeral_storage, scalars } = &self.resources;
        let named = [("cpu", *cpu_milli), ("memory", *memory), ("ephemeral-storage", *ephemeral_storage)];
        let named = named.into_iter().map(|(name, amount)| (Symbol::new(name), amount));
        named.chain(scalars.iter().copied()).chain([(Symbol::new("pods"), self.pods)]).collect()
    }

    pub(super) fn part(&self, name: Symbol) -> i64 {
        self.parts().iter().find(|part| part.0 == name).map_or(0, |part| part.1)
    }

    pub(super) fn of_node(node: &LiveNode) -> Self {
        Self { resources: (*node.allocatable).clone(), pods: node.allocatable_pods }
    }

    pub(super) fn of_object(node: &Node) -> Self {
        // What is not said must not rule anything out.
        const UNKNOWN: i64 = 1_000_000;
        let list = node.status.given();
        let pods = list.get(Symbol::new("pods")).map_or(UNKNOWN, |pods| pods.value());
        Self { resources: Resources::from(list), pods }
    }
}
