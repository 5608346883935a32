//! Readiness gates: conditions that others than the kubelet write, such as a cloud's load balancer.

use super::{Kubelets, Timer, settings};
use crate::component::Ctx;
use crate::state::{Pod, PodId, Status};

impl Kubelets {
    /// The pod's containers run for the first time: whoever writes the conditions of its gates begins to.
    pub(super) fn await_gates(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod).filter(|object| !object.spec.readiness_gates.is_empty()) else { return };
        match settings::gates_latency(object, ctx) {
            settings::Gates::Open => {}
            settings::Gates::Never => {
                self.gated.insert(pod);
            }
            settings::Gates::After(delay) => {
                if self.gated.insert(pod) {
                    ctx.arm_in(delay, Timer::GatesMet(pod));
                }
            }
        }
    }

    /// The conditions of the pod's gates are True, and stay so.
    ///
    /// # Source
    /// kubelet, `GeneratePodReadyCondition`: Ready when all containers are and every gate's condition is True.
    pub(super) fn gates_met(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        if self.gated.remove(&pod) {
            self.post_ready_again(pod, ctx);
        }
    }

    /// The Ready condition of a pod whose containers are ready, or are not.
    pub(super) fn readiness_of(&self, id: PodId, are_containers_ready: bool) -> Status {
        if are_containers_ready && !self.gated.contains(&id) { Status::True } else { Status::False }
    }

    /// A pod's gates are forgotten with it.
    pub(super) fn forget_gates(&mut self, id: PodId, pod: &Pod) {
        if !pod.spec.readiness_gates.is_empty() {
            self.gated.remove(&id);
        }
    }
}
