//! Pod workers: from marked to gone.

use super::phase::{Fate, phase};
use super::pod_worker::{Stage, Worker};
use super::probe::{KILLED, TERMINATED};
use super::{Kubelets, Timer, init, restart, settings, tell};
use crate::component::{Ctx, DeleteOptions, EventDraft, ObjectRef, PodStatusPatch, Request};
use crate::state::{ContainerState, Ending, NodeId, Owner, Pod, PodId, PodPhase, Status};
use crate::units::SimDuration;

/// The shortest grace.
const GRACE_MIN: SimDuration = SimDuration::from_secs(1);

/// What is between SIGTERM and SIGKILL at least.
const KILL_MIN: SimDuration = SimDuration::from_secs(2);

/// How long containers take to stop that sleep `pre_stop` before SIGTERM and exit `exit` after it.
///
/// # Source
/// kubelet, `killContainer`: the hook runs within the grace; whole seconds it took are subtracted, but at least two are
/// left between the signals, however short the grace.
pub(super) fn stop_time(pre_stop: SimDuration, exit: SimDuration, grace: SimDuration) -> SimDuration {
    let hook = pre_stop.min(grace);
    let left = grace - SimDuration::from_secs(hook.as_secs());
    hook + exit.min(left.max(KILL_MIN))
}

impl Kubelets {
    /// The pod was marked for deletion, or its grace was shortened.
    ///
    /// # Source
    /// kubelet, pod workers: the grace counts from when the kubelet sees the mark, and is at least a second. A shorter
    /// grace kills again with that one; containers that are about to exit do not wait for it.
    pub(super) fn pod_deleted(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let (Some(node), Some(deletion)) = (object.node, object.deletion) else { return };
        if !self.sees_pods(node, ctx) {
            return;
        }
        if object.is_mirror {
            // The pod is the file's, not the API's: only its picture is taken away.
            Self::drop_mirror(pod, object, ctx);
            return;
        }
        if let Some(worker) = self.workers.get(&pod).filter(|worker| worker.stage == Stage::Stopped) {
            if worker.ticket.is_none() {
                self.containers_stopped(pod, ctx);
            }
            return;
        }
        let runs = object.phase == PodPhase::Running;
        let is_stopping = self.workers.get(&pod).is_some_and(|w| w.stage == Stage::Stopping);
        if runs && !is_stopping {
            self.say_killing(object, node, ctx);
        }
        let delay = if runs { stop_latency(object, deletion.grace, ctx) } else { SimDuration::ZERO };
        self.stop_in(pod, delay, ctx);
    }

    /// Notes that each container of a pod is being stopped.
    fn say_killing(&self, pod: &Pod, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let sidecars = pod.spec.init_containers.iter().filter(|container| container.is_sidecar());
        for container in pod.spec.containers.iter().chain(sidecars) {
            let text = format!("Stopping container {}", container.name);
            self.event(node, EventDraft::normal("Killing", ObjectRef::pod(pod), text), ctx);
        }
    }

    /// Containers will have stopped after `delay`, or when an earlier kill takes effect.
    pub(super) fn stop_in(&mut self, pod: PodId, delay: SimDuration, ctx: &mut Ctx<'_, Self>) {
        self.cancel_mount(pod, ctx);
        let worker = self.workers.entry(pod).or_insert_with(|| Worker::new(Stage::Stopping));
        let at = worker.stops_at.map_or(ctx.now + delay, |at| at.min(ctx.now + delay));
        let ticket = ctx.arm(at, Timer::Stopped(pod));
        worker.replace(Stage::Stopping, Some(ticket), ctx);
        worker.stops_at = Some(at);
        for ticket in [worker.end.take(), worker.probe.take()].into_iter().flatten() {
            ctx.cancel(ticket);
        }
    }

    /// The containers are dead: the status says so, or why the kubelet ended the pod; then the object is removed.
    ///
    /// # Source
    /// kubelet, `SyncTerminatingPod`: the last status follows the containers' end; the object goes with `SyncTerminatedPod`.
    pub(super) fn containers_stopped(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        if let Some(worker) = self.workers.get_mut(&pod) {
            worker.ticket = None;
            worker.stage = Stage::Stopped;
        }
        if !self.hears(node, ctx) {
            return;
        }
        let worker = self.workers.remove(&pod);
        // What a kubelet tells after it was cut off may still be on its way.
        let restarts = worker.as_ref().map_or(0, |worker| worker.begun).max(object.restarts_max());
        let (last_status, lost) = worker.map_or((None, None), |worker| (worker.last_status, worker.ended_unseen));
        let is_stand_in = self.is_stand_in(node, ctx);
        let (was_over, has_run) = (object.phase.is_terminal(), object.phase == PodPhase::Running);
        if let Some(patch) = last_status {
            tell(ctx, Request::PatchPodStatus { pod, patch });
        } else if !was_over && (matches!(object.owner, Some(Owner::Job(_))) || (has_run && !is_stand_in)) {
            // Of pods that never ran, only a Job asks how they ended before they are gone; a stand-in tells nobody else.
            let inits = init::done_statuses(object, 0, ctx.now);
            let ending = lost.unwrap_or_else(|| Ending::exit(exit_code(object, ctx), ctx.now));
            let ended = ContainerState::Terminated(Ending { finished_at: ctx.now, ..ending });
            let containers = restart::containers(object, ended, restarts);
            let patch = PodStatusPatch {
                phase: Some(phase(&object.spec, &inits, &containers, Fate::Sealed)),
                ready: Some(Status::False),
                containers: has_run.then_some(containers),
                ..PodStatusPatch::default()
            };
            tell(ctx, Request::PatchPodStatus { pod, patch: Box::new(patch) });
        }
        if object.deletion.is_none() {
            return;
        }
        if was_over || is_stand_in {
            self.cleaned(pod, ctx);
            return;
        }
        let ticket = ctx.arm(Self::cleaned_at(node, ctx), Timer::Cleaned(pod));
        self.workers.insert(pod, Worker { ticket: Some(ticket), ..Worker::new(Stage::Stopped) });
    }

    /// Nothing is left of the pod on its node: the object is removed.
    pub(super) fn cleaned(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let (Some(node), Some(deletion)) = (object.node, object.deletion) else { return };
        if !self.hears(node, ctx) {
            // It is removed when the API server is heard again.
            if let Some(worker) = self.workers.get_mut(&pod) {
                worker.ticket = None;
            }
            return;
        }
        self.workers.remove(&pod);
        let options = DeleteOptions { grace_s: Some(0), uid: Some(object.uid) };
        tell(ctx, Request::DeletePod { pod, options, cause: deletion.cause });
    }

    /// The kubelet itself ends a pod, which stays in the API as failed; returns how long that takes.
    pub(super) fn end_pod(
        &mut self,
        pod: PodId,
        grace: SimDuration,
        status: PodStatusPatch,
        ctx: &mut Ctx<'_, Self>,
    ) -> SimDuration {
        let Some(object) = ctx.store.pod(pod) else { return SimDuration::ZERO };
        let runs = object.phase == PodPhase::Running;
        let is_stopping = self.workers.get(&pod).is_some_and(|w| w.stage == Stage::Stopping);
        if let Some(node) = object.node.filter(|_| runs && !is_stopping) {
            self.say_killing(object, node, ctx);
        }
        let delay = if runs { stop_latency(object, grace, ctx) } else { SimDuration::ZERO };
        self.stop_in(pod, delay, ctx);
        if let Some(worker) = self.workers.get_mut(&pod) {
            worker.last_status = Some(Box::new(status));
        }
        delay
    }

    /// The object left the API: whatever was under way is void, and what still runs is killed unseen.
    pub(super) fn pod_gone(&mut self, pod: PodId, last: &Pod, ctx: &mut Ctx<'_, Self>) {
        self.forget(pod, ctx);
        self.images.keep_images_of(last, ctx.now);
        self.unmount(last, ctx);
        self.forget_gates(pod, last);
        self.mirror_gone(last, ctx);
    }
}

/// With which code containers end that are told to.
///
/// # Differs
/// Those of Jobs do not finish their work, others have none to finish: they end as they should unless they have to be killed.
fn exit_code(pod: &Pod, ctx: &Ctx<'_, Kubelets>) -> i32 {
    if matches!(pod.owner, Some(Owner::Job(_))) {
        return TERMINATED;
    }
    let grace = pod.deletion.map_or(GRACE_MIN, |deletion| deletion.grace.max(GRACE_MIN));
    let takes = settings::pre_stop(pod) + settings::exit_latency(pod, ctx);
    if takes > stop_latency(pod, grace, ctx) { KILLED } else { 0 }
}

fn stop_latency(pod: &Pod, grace: SimDuration, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    stop_time(settings::pre_stop(pod), settings::exit_latency(pod, ctx), grace.max(GRACE_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pre_stop_s: u64, exit_s: u64, grace_s: u64, expected_s: u64) {
        let s = SimDuration::from_secs;
        assert_eq!(stop_time(s(pre_stop_s), s(exit_s), s(grace_s)), s(expected_s));
    }

    #[test]
    fn an_exhausted_hook_leaves_two_seconds_between_the_signals() {
        check(40, 1000, 30, 32);
        check(40, 1, 30, 31);
    }

    #[test]
    fn the_grace_is_shared_by_hook_and_application() {
        check(0, 1, 30, 1);
        check(0, 1000, 1, 2);
        check(0, 1000, 30, 30);
        check(10, 1000, 30, 30);
        check(10, 5, 30, 15);
    }
}
