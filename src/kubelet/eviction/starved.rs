//! What a node can be short of.

use crate::model::config::EvictionSignal;
use crate::state::Pod;

/// What a node is short of, as one of its conditions says it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum StarvedResource {
    Memory,
    Disk,
    Pids,
}

impl StarvedResource {
    pub(super) const ALL: [Self; 3] = [Self::Memory, Self::Disk, Self::Pids];

    pub(super) fn of(signal: EvictionSignal) -> Self {
        match signal {
            EvictionSignal::MemoryAvailable | EvictionSignal::AllocatableMemoryAvailable => Self::Memory,
            EvictionSignal::NodefsAvailable | EvictionSignal::ImagefsAvailable => Self::Disk,
            EvictionSignal::PidAvailable => Self::Pids,
        }
    }

    pub(super) fn resource(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "ephemeral-storage",
            Self::Pids => "pids",
        }
    }

    pub(super) fn request(self, pod: &Pod) -> i64 {
        match self {
            Self::Memory => pod.spec.requests.memory,
            Self::Disk => pod.spec.requests.ephemeral_storage,
            Self::Pids => 0,
        }
    }
}
