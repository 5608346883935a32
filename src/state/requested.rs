//! What the pods of a node ask for, added up.

use super::{Node, Pod};

/// Sums over pods that are bound to a node and have not ended.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Requested {
    pods: i64,
    /// Wide enough for the most of what each may say.
    cpu_milli: i128,
    memory: i128,
    ephemeral_storage: i128,
}

impl Requested {
    /// What a pod adds to the sums of its node.
    pub(super) fn of(pod: &Pod) -> Self {
        if pod.node.is_none() || pod.phase.is_terminal() {
            return Self::default();
        }
        let requests = &pod.spec.requests;
        Self {
            pods: 1,
            cpu_milli: requests.cpu_milli.into(),
            memory: requests.memory.into(),
            ephemeral_storage: requests.ephemeral_storage.into(),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            pods: self.pods + other.pods,
            cpu_milli: self.cpu_milli + other.cpu_milli,
            memory: self.memory + other.memory,
            ephemeral_storage: self.ephemeral_storage + other.ephemeral_storage,
        }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            pods: self.pods - other.pods,
            cpu_milli: self.cpu_milli - other.cpu_milli,
            memory: self.memory - other.memory,
            ephemeral_storage: self.ephemeral_storage - other.ephemeral_storage,
        }
    }

    /// Whether a node has room for all of it; extended resources are not looked at.
    #[must_use]
    pub fn fits(&self, node: &Node) -> bool {
        let has = &node.allocatable;
        self.pods <= node.allocatable_pods
            && self.cpu_milli <= has.cpu_milli.into()
            && self.memory <= has.memory.into()
            && self.ephemeral_storage <= has.ephemeral_storage.into()
    }
}
