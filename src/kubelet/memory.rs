//! Containers that use more memory than their limit.

use super::Kubelets;
use super::bound_pod::BoundPod;
use super::settings::amount;
use super::timer::PodTimer;
use super::worker::{Worker, rearm};
use crate::arena::Symbol;
use crate::component::Ctx;
use crate::model::Container;
use crate::state::{EndReason, Ending, Pod, PodPhase};
use crate::units::SimTime;

/// Exit code of a container that the kernel has killed.
const OOM_KILLED: i32 = 137;

/// The end of a container that the kernel has killed.
pub(super) fn out_of_memory(now: SimTime) -> Ending {
    Ending { reason: EndReason::OomKilled, ..Ending::exit(OOM_KILLED, now) }
}

/// How much memory the pod's containers may use together; none if one of them may use any amount.
fn limit(pod: &Pod) -> Option<i64> {
    let memory = Symbol::new("memory");
    if let Some(limit) = pod.spec.resources.as_ref().and_then(|resources| resources.limits.get(memory)) {
        return Some(limit.value());
    }
    let of = |container: &Container| container.resources.limits.get(memory).map(|limit| limit.value());
    let sidecars = pod.spec.init_containers.iter().filter(|container| container.is_sidecar());
    pod.spec.containers.iter().chain(sidecars).map(of).try_fold(0_i64, |sum, limit| Some(sum.saturating_add(limit?)))
}

/// Whether what the pod is said to use is more than it may.
pub(super) fn is_over_limit(pod: &Pod) -> bool {
    let usage = pod.spec.behavior().usage.as_ref();
    usage.is_some_and(|usage| limit(pod).is_some_and(|limit| amount(usage.memory) > limit))
}

impl Kubelets {
    /// The pod's containers run, or use something else: those that use too much are killed.
    ///
    /// # Source
    /// kernel, memory cgroups; the kubelet restarts the container as any other.
    ///
    /// # Differs
    /// Usage is given for the pod, so that its limits count together.
    pub(super) fn watch_memory_of(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if pod.phase.is_terminal() || !is_over_limit(&pod) {
            return;
        }
        // The status of containers that have just begun is still on its way, which the worker knows.
        if pod.phase != PodPhase::Running && !self.workers.contains_key(&pod.id) {
            return;
        }
        let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::running(&pod));
        if let Some(run) = worker.run_mut() {
            rearm(&mut run.end, Some(pod.arm(ctx.now, PodTimer::OutOfMemory, ctx)), ctx);
        }
    }

    pub(super) fn out_of_memory(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if let Some(run) = self.workers.get_mut(&pod.id).and_then(Worker::run_mut) {
            run.end = None;
        }
        if is_over_limit(&pod) {
            self.container_ends(pod, out_of_memory(ctx.now), ctx);
        } else {
            self.watch_end(pod, ctx);
        }
        self.settle(pod);
    }
}
