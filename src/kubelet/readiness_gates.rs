//! Readiness gates: conditions that others than the kubelet write, such as a cloud's load balancer.

use rustc_hash::FxHashSet;

use super::bound_pod::BoundPod;
use super::timer::PodTimer;
use super::{Kubelets, settings};
use crate::component::Ctx;
use crate::state::PodId;

/// The pod's containers run for the first time: whoever writes the conditions of its gates begins to.
pub(super) fn watch_gates(gated: &mut FxHashSet<PodId>, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Kubelets>) {
    if pod.spec.readiness_gates.is_empty() {
        return;
    }
    match settings::gates_latency(&pod, ctx) {
        settings::Gates::Open => {}
        settings::Gates::Never => {
            gated.insert(pod.id);
        }
        settings::Gates::After(delay) => {
            if gated.insert(pod.id) {
                pod.arm_in(delay, PodTimer::GatesMet, ctx);
            }
        }
    }
}

impl Kubelets {
    /// The conditions of the pod's gates are True, and stay so.
    ///
    /// # Source
    /// kubelet, `GeneratePodReadyCondition`: Ready when all containers are and every gate's condition is True.
    pub(super) fn gates_met(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if self.gated.remove(&pod.id) {
            self.resync(pod, ctx);
        }
    }
}
