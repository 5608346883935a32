//! Pods that their node does not take, or takes no more.

use smallvec::SmallVec;

use super::admission::Refusal;
use super::bound_pod::BoundPod;
use super::grace::{GRACE_MIN, stop_of};
use super::timer::PodTimer;
use super::worker::{End, Known, Outcome, Worker, WorkerState, rearm};
use super::{Kubelets, statuses};
use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch, Request};
use crate::state::{Ending, PodPhase, Status};

impl Kubelets {
    /// The node does not take the pod: it has failed, and has no containers, whatever it had before. One that a new process finds is not said
    /// to have failed before nothing of it runs.
    ///
    /// # Source
    /// kubelet, `rejectPod`; `mergePodStatus` and `CouldHaveRunningContainers`: before the first housekeeping any pod may have containers that
    /// run, so that all of its status is posted but the phase and its reason.
    pub(super) fn reject(&mut self, pod: BoundPod<'_>, refusal: Refusal, ctx: &mut Ctx<'_, Self>) {
        let event = EventDraft::warning(refusal.reason, ObjectRef::pod(&pod), refusal.message);
        self.links.event(pod.node, event, ctx);
        let first = PodStatusPatch {
            ready: pod.ready.map(|_| Status::False),
            containers: Some(SmallVec::new()),
            init_containers: Some(SmallVec::new()),
            ..PodStatusPatch::default()
        };
        let (phase, reason) = (Some(PodPhase::Failed), Some(Symbol::new(refusal.reason)));
        let status = Box::new(PodStatusPatch { phase, reason, ..first.clone() });
        if !self.links.has_just_opened(pod.node, ctx) || self.links.is_stand_in(pod.node, ctx) {
            self.forget(pod.id, ctx);
            ctx.send(Request::PatchPodStatus { pod: pod.id, patch: status });
            return;
        }
        let runs = self.running(pod, ctx).is_any();
        let worker =
            self.workers.entry(pod.id).or_insert_with(|| if runs { Worker::running(&pod) } else { Worker::idle() });
        let containers = statuses::known(Some(worker), &pod).into();
        let inits = statuses::known_inits(Some(worker), &pod).into();
        worker.known = Some(Box::new(Known { containers, inits }));
        worker.unposted = None;
        if let WorkerState::Running(run) = &mut worker.state {
            run.since = run.since.or_else(|| statuses::running_since(&pod));
            for timer in [&mut run.ready, &mut run.end, &mut run.probe] {
                rearm(timer, None, ctx);
            }
        }
        worker.after_sync = Some(Box::new(End { grace: GRACE_MIN, status: Some(status), is_rejected: true }));
        ctx.send(Request::PatchPodStatus { pod: pod.id, patch: Box::new(first) });
        pod.arm(self.links.next_housekeeping(pod.node, ctx), PodTimer::Orphaned, ctx);
    }

    /// What runs of a pod that has been rejected is stopped, as nobody has it; that it has failed is said when the status manager next compares
    /// what it has with the API.
    ///
    /// # Source
    /// kubelet, `HandlePodCleanups`: what runs and is no worker's is given one second; `syncBatch`.
    pub(super) fn orphaned(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let Some(end) = worker.after_sync.take_if(|end| end.is_rejected) else { return };
        if worker.is_terminated() || matches!(worker.state, WorkerState::Terminating { stop: Some(_), .. }) {
            return;
        }
        let running = self.running(pod, ctx);
        let stop = stop_of(&pod, &running, end.grace, ctx);
        self.killing_events(pod, &running, ctx);
        let ended = Ending::exit(stop.code(0), ctx.now + stop.takes);
        let outcome = Outcome {
            status: end.status,
            ending: (running.begun > 0).then_some(ended),
            init_ending: (!running.inits.is_empty()).then_some(ended),
        };
        let told_at = Self::status_sync_after(pod.node, ended.finished_at, ctx);
        self.stop_in(pod, told_at.saturating_since(ctx.now), outcome, ctx);
    }
}
