//! How much of each resource a node has left, by what its pods are said to use.

use crate::component::Ctx;
use crate::kubelet::Kubelets;
use crate::kubelet::bound_pod::BoundPod;
use crate::kubelet::settings::{amount, disk_use};
use crate::model::config::{EvictionSignal, EvictionThreshold};
use crate::state::{NodeId, PodPhase};
use crate::units::{Quantity, QuantityFormat};

/// How many processes a machine can have.
///
/// # Source
/// `kernel.pid_max` of 64-bit machines under systemd.
const PIDS_MAX: i64 = 4_194_304;

/// What is left of what there is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Observation {
    pub(super) available: i64,
    pub(super) capacity: i64,
}

/// What a pass sees. There is no figure for a resource of which the Node does not say how much it has.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Observations {
    pub(super) memory: Option<Observation>,
    pub(super) allocatable_memory: Option<Observation>,
    pub(super) disk: Option<Observation>,
    pub(super) pids: Option<Observation>,
}

impl Observations {
    pub(super) fn of(&self, signal: EvictionSignal) -> Option<Observation> {
        match signal {
            EvictionSignal::MemoryAvailable => self.memory,
            EvictionSignal::AllocatableMemoryAvailable => self.allocatable_memory,
            EvictionSignal::NodefsAvailable | EvictionSignal::ImagefsAvailable => self.disk,
            EvictionSignal::PidAvailable => self.pids,
        }
    }

    /// Whether less is available than the threshold says, or than that and the minimum reclaim.
    pub(super) fn meet(&self, threshold: &EvictionThreshold, with_reclaim: bool) -> bool {
        let Some(observed) = self.of(threshold.signal) else { return false };
        let reclaim = threshold.minimum_reclaim.filter(|_| with_reclaim);
        let more = reclaim.map_or(0, |amount| amount.of(observed.capacity).value());
        observed.available < threshold.amount.of(observed.capacity).value().saturating_add(more)
    }
}

/// An amount as the kubelet prints it.
pub(super) fn quantity(signal: EvictionSignal, amount: i64) -> Quantity {
    let format = match signal {
        EvictionSignal::PidAvailable => QuantityFormat::DecimalSi,
        EvictionSignal::MemoryAvailable
        | EvictionSignal::AllocatableMemoryAvailable
        | EvictionSignal::NodefsAvailable
        | EvictionSignal::ImagefsAvailable => QuantityFormat::BinarySi,
    };
    Quantity::from_value(amount).with_format(format)
}

impl Kubelets {
    /// Measures the node.
    ///
    /// # Source
    /// kubelet, `makeSignalObservations`. Pods together may use what is allocatable and, on top, the hard threshold of memory.
    ///
    /// # Differs
    /// Pods that do not say what they use, use nothing. Images take what the Node lists; those pulled in the run take nothing.
    pub(super) fn observe(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> Observations {
        let Some(object) = ctx.store.node(node) else { return Observations::default() };
        let burden = ctx.store.machine(node).effects.burden();
        let (mut memory, mut disk, mut pids) = (0_i64, burden.ephemeral_storage, burden.pids);
        for pod in BoundPod::unfinished_on(node, ctx.store) {
            let Some(usage) = &pod.spec.behavior().usage else { continue };
            let runs = self.runs(pod, ctx.now);
            if !runs && (pod.phase != PodPhase::Running || !self.goes_on(pod)) {
                continue;
            }
            disk = disk.saturating_add(disk_use(&pod, usage));
            if runs {
                memory = memory.saturating_add(amount(usage.memory));
                pids = pids.saturating_add(amount(usage.pids));
            }
        }
        let images = object.images.iter().filter(|(names, _)| self.images.is_listed(node, names));
        disk = images.fold(disk, |disk, (_, size)| disk.saturating_add(*size));
        let or_allocatable = |capacity: i64, allocatable: i64| if capacity > 0 { capacity } else { allocatable };
        let left = |capacity: i64, used: i64| {
            (capacity > 0).then(|| Observation { available: capacity.saturating_sub(used).max(0), capacity })
        };
        let capacity = or_allocatable(object.capacity.memory, object.allocatable.memory);
        let hard = ctx.config.kubelet.eviction_thresholds();
        let hard = hard.iter().find(|threshold| threshold.signal == EvictionSignal::AllocatableMemoryAvailable);
        let reserve = hard.map_or(0, |threshold| threshold.amount.of(capacity).value());
        let of_pods = object.allocatable.memory.saturating_add(reserve).min(capacity);
        Observations {
            memory: left(capacity, memory.saturating_add(burden.memory)),
            allocatable_memory: left(of_pods, memory),
            disk: left(or_allocatable(object.capacity.ephemeral_storage, object.allocatable.ephemeral_storage), disk),
            pids: left(PIDS_MAX, pids),
        }
    }
}
