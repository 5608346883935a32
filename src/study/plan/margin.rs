//! How much room is left on the nodes that pods can go to.

use super::amount::Amount;
use crate::model::TaintEffect;
use crate::state::{NodeId, Store};
use crate::units::SimTime;

/// What the nodes give that pods can go to, and how much of it is free, at an instant.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Margin {
    /// When.
    pub at: SimTime,
    /// CPU that is free, in thousandths.
    pub free_cpu_milli: i64,
    /// Memory that is free, in bytes.
    pub free_memory: i64,
    /// CPU they give.
    pub cpu_milli: i64,
    /// Memory they give.
    pub memory: i64,
    /// Pods that they have room for besides those that are there.
    pub free_pods: i64,
    /// Pods that they hold at most.
    pub pods: i64,
}

impl Margin {
    /// The share of the scarcest of CPU, memory and pod slots that is free.
    #[must_use]
    pub fn free_share(&self) -> f64 {
        let share = |free: i64, all: i64| if all > 0 { free as f64 / all as f64 } else { 0.0 };
        let of_resources = share(self.free_cpu_milli, self.cpu_milli).min(share(self.free_memory, self.memory));
        of_resources.min(share(self.free_pods, self.pods))
    }

    /// The margin as it stands; none while pods can go to no node at all.
    pub(super) fn of(store: &Store, at: SimTime) -> Option<Self> {
        let mut margin = Self { at, ..Self::default() };
        for (id, node) in store.nodes() {
            let repels = |effect: TaintEffect| matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
            if is_lost(id, store) || node.unschedulable || node.taints.iter().any(|taint| repels(taint.effect)) {
                continue;
            }
            let Amount { resources: given, pods } = Amount::of_node(node);
            let mut free = given.clone();
            let mut free_pods = pods;
            for pod in store.pods_on(id).iter().filter_map(|pod| store.pod(*pod)).filter(|pod| !pod.phase.is_terminal())
            {
                free.sub(&pod.spec.requests);
                free_pods -= 1;
            }
            margin.pods += pods;
            margin.free_pods += free_pods;
            margin.cpu_milli += given.cpu_milli;
            margin.memory += given.memory;
            margin.free_cpu_milli += free.cpu_milli;
            margin.free_memory += free.memory;
        }
        (margin.pods > 0).then_some(margin)
    }
}

/// Whether the machine of a node is off or gone.
pub(super) fn is_lost(node: NodeId, store: &Store) -> bool {
    !store.machine(node).kubelet_alive()
}
