//! Readiness gates: conditions that others than the kubelet write, such as a cloud's load balancer.

use rustc_hash::FxHashSet;

use super::bound_pod::BoundPod;
use super::timer::PodTimer;
use super::{Kubelets, settings, statuses};
use crate::component::Ctx;
use crate::state::PodId;
use crate::units::SimTime;

/// The pod's containers run for the first time since `begun`: whoever writes the conditions of its gates begins to then.
pub(super) fn watch_gates(
    gated: &mut FxHashSet<PodId>,
    pod: BoundPod<'_>,
    begun: SimTime,
    ctx: &mut Ctx<'_, Kubelets>,
) {
    if pod.spec.readiness_gates.is_empty() {
        return;
    }
    match settings::gates_latency(&pod, ctx) {
        settings::Gates::Open => {}
        settings::Gates::Never => {
            gated.insert(pod.id);
        }
        settings::Gates::After(delay) => {
            let at = begun + delay;
            if at > ctx.now && gated.insert(pod.id) {
                pod.arm(at, PodTimer::GatesMet, ctx);
            }
        }
    }
}

impl Kubelets {
    /// The readiness gates of a pod that was running when somebody first looked: those of one that is ready are met.
    ///
    /// # Differs
    /// When containers that have been restarted ran for the first time is not known: it is taken to be when the pod was seen.
    pub(super) fn gates_found(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if pod.is_ready() {
            return;
        }
        let first = statuses::running_since(&pod).filter(|_| pod.restarts_max() == 0);
        let begun = first.or(pod.started_at).unwrap_or(pod.created_at);
        watch_gates(&mut self.gated, pod, begun, ctx);
    }

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
