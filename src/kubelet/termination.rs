//! Pod workers: from marked to gone.

use std::sync::Arc;

use super::bound_pod::BoundPod;
use super::grace::{exit_code, exit_of, init_exit_code, stop_of};
use super::running::Running;
use super::status_manager::post;
use super::stopped::Stopped;
use super::timer::PodTimer;
use super::worker::{End, Outcome, Worker, WorkerState};
use super::{Kubelets, statuses};
use crate::component::{Ctx, DeleteOptions, EventDraft, ObjectRef, PodStatusPatch, Request};
use crate::state::{Ending, Owner, Pod, PodId, PodPhase};
use crate::units::SimDuration;

impl Kubelets {
    /// Forgets what was under way with a pod.
    pub(super) fn forget(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        if let Some(worker) = self.workers.remove(&pod) {
            worker.state.cancel(ctx);
        }
    }

    /// The pod was marked for deletion, or its grace was shortened.
    ///
    /// # Source
    /// kubelet, pod workers: the grace counts from when the kubelet sees the mark, or from the end of the sync that is under way then,
    /// and is at least a second. A shorter grace comes too late for containers that are being stopped: `SyncTerminatingPod` goes
    /// on with the one that it has.
    pub(super) fn pod_deleted(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(deletion) = pod.deletion else { return };
        if !self.links.show_pods(pod.node, ctx) {
            return;
        }
        if pod.is_mirror {
            // The pod is the file's, not the API's: only its picture is taken away.
            Self::drop_mirror(pod, ctx);
            return;
        }
        let state = self.workers.get(&pod.id).map(|worker| &worker.state);
        match state {
            Some(WorkerState::CleaningUp(None))
                if pod.phase.is_terminal() || self.links.delayed.contains(&pod.node) =>
            {
                self.cleaned(pod, ctx);
            }
            Some(WorkerState::Stopped(_) | WorkerState::Over | WorkerState::CleaningUp(None)) => {
                self.containers_stopped(pod, ctx);
            }
            Some(WorkerState::CleaningUp(Some(_))) => {}
            None
            | Some(
                WorkerState::Idle
                | WorkerState::Starting(..)
                | WorkerState::Running(_)
                | WorkerState::BackingOff { .. }
                | WorkerState::Terminating { .. },
            ) => {
                self.stop(pod, deletion.grace, None, ctx);
            }
        }
    }

    /// The pod has come to its end by itself; if it is deleted, its object goes.
    pub(super) fn over_and_deleted(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if pod.deletion.is_some() {
            self.containers_stopped(pod, ctx);
        } else {
            self.settle(pod);
        }
    }

    /// Stops the pod's containers, when a sync that is under way has started them; returns how long that takes. If the kubelet itself
    /// ends the pod, the status is posted then, also of one that is being stopped already.
    ///
    /// # Source
    /// kubelet, pod workers: who asks for the end of a pod that is terminating still has its say in the last status.
    ///
    /// # Differs
    /// A stand-in waits for no start, takes as long to stop whether or not anything runs, and a shorter grace counts.
    pub(super) fn stop(
        &mut self,
        pod: BoundPod<'_>,
        grace: SimDuration,
        status: Option<Box<PodStatusPatch>>,
        ctx: &mut Ctx<'_, Self>,
    ) -> SimDuration {
        let is_stand_in = self.links.is_stand_in(pod.node, ctx);
        let worker = self.workers.get_mut(&pod.id).filter(|_| !is_stand_in);
        if let Some(WorkerState::Terminating { stop: Some((_, at)), outcome, .. }) =
            worker.map(|worker| &mut worker.state)
        {
            outcome.status = outcome.status.take().or(status);
            return at.saturating_since(ctx.now);
        }
        if let Some(sync) = self.sync(pod, ctx).filter(|_| !is_stand_in) {
            if sync.then.begun == 0 {
                pod.arm(sync.ends, PodTimer::SyncOver, ctx);
            }
            let worker = self.workers.entry(pod.id).or_insert_with(Worker::idle);
            worker.end_after_sync(End { grace, status, is_rejected: false });
            return sync.ends.saturating_since(ctx.now) + stop_of(&pod, &sync.then, grace, ctx).takes;
        }
        let running = self.running(pod, ctx);
        let delay = if is_stand_in && !running.is_any() && !pod.phase.is_terminal() {
            exit_of(&pod, grace, ctx).takes
        } else {
            stop_of(&pod, &running, grace, ctx).takes
        };
        let at = ctx.now + delay;
        self.killing_events(pod, &running, ctx);
        let ending = (running.begun > 0).then(|| Ending::exit(exit_code(&pod, running.begun, grace, ctx), at));
        let init_ending = (!running.inits.is_empty()).then(|| Ending::exit(init_exit_code(&pod, grace, ctx), at));
        self.stop_in(pod, delay, Outcome { status, ending, init_ending }, ctx);
        delay
    }

    /// Notes that each container of a pod that runs is being stopped.
    ///
    /// # Source
    /// kubelet, `killContainersWithSyncResult`: of those that run.
    pub(super) fn killing_events(&self, pod: BoundPod<'_>, running: &Running, ctx: &mut Ctx<'_, Self>) {
        let known = statuses::known(self.workers.get(&pod.id), &pod);
        let has_ended = |index: usize| known.get(index).is_some_and(|status| status.state.ending().is_some());
        let regular = pod.spec.containers.iter().enumerate();
        let regular = regular.filter(|(index, _)| *index < running.begun && !has_ended(*index));
        let inits = pod.spec.init_containers.iter().enumerate().filter(|(index, _)| running.inits.contains(index));
        for (_, container) in regular.chain(inits) {
            let text = format!("Stopping container {}", container.name);
            self.links.event(pod.node, EventDraft::normal("Killing", ObjectRef::pod(&pod), text), ctx);
        }
    }

    /// Containers will have stopped after `delay`, or when an earlier kill takes effect.
    pub(super) fn stop_in(&mut self, pod: BoundPod<'_>, delay: SimDuration, outcome: Outcome, ctx: &mut Ctx<'_, Self>) {
        let is_probed = !self.links.is_stand_in(pod.node, ctx) && outcome.status.is_none();
        let worker = self.workers.entry(pod.id).or_insert_with(Worker::idle);
        let ready = if is_probed { worker.goes_on_probing(pod, ctx) } else { None };
        worker.state.cancel(ctx);
        let due = ctx.now + delay;
        let (at, older) = match std::mem::replace(&mut worker.state, WorkerState::Idle) {
            WorkerState::Terminating { stop: Some((_, at)), outcome, .. } => (at.min(due), outcome),
            WorkerState::Terminating { stop: None, outcome, .. } => {
                (outcome.ends_at().map_or(due, |at| at.max(ctx.now).min(due)), outcome)
            }
            WorkerState::Stopped(outcome) => (ctx.now, outcome),
            WorkerState::Running(run) => (due, Outcome { ending: run.ended_unseen, ..Outcome::default() }),
            WorkerState::Idle
            | WorkerState::Starting(..)
            | WorkerState::BackingOff { .. }
            | WorkerState::Over
            | WorkerState::CleaningUp(_) => (due, Outcome::default()),
        };
        let stop = Some((pod.arm(at, PodTimer::Stopped, ctx), at));
        // The kill that takes effect first says how they end.
        let first = |older: Option<Ending>, newer: Option<Ending>| {
            older.filter(|ending| ending.finished_at <= at).or(newer).or(older)
        };
        let ending = first(older.ending, outcome.ending);
        let init_ending = first(older.init_ending, outcome.init_ending);
        let outcome = Outcome { status: outcome.status.or(older.status), ending, init_ending };
        worker.state = WorkerState::Terminating { stop, ready, outcome };
    }

    /// The containers are dead: the status says so, or why the kubelet ended the pod; then the object is removed.
    ///
    /// # Source
    /// kubelet, `SyncTerminatingPod`: the last status follows the containers' end; the object goes with `SyncTerminatedPod`.
    pub(super) fn containers_stopped(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let mut worker = self.workers.remove(&pod.id);
        if !self.links.are_up(pod.node, ctx) {
            let stopped = worker.map(|worker| Worker { state: worker.state.stopped(), ..worker });
            self.workers.extend(stopped.map(|worker| (pod.id, worker)));
            return;
        }
        let is_stand_in = self.links.is_stand_in(pod.node, ctx);
        if let Some(worker) = worker.as_mut().filter(|_| is_stand_in) {
            // It goes by what the API server shows.
            (worker.unposted, worker.known) = (None, None);
        }
        let is_over = worker.as_ref().is_some_and(|worker| matches!(worker.state, WorkerState::Over));
        if let Some(worker) = worker.as_mut().filter(|worker| is_over && worker.unposted.is_some()) {
            post(&self.links, worker, pod, PodStatusPatch::default(), ctx);
        }
        let mut outcome = worker.as_mut().map(Worker::take_outcome).unwrap_or_default();
        let status = outcome.status.take();
        let stopped = Stopped::new(worker.as_ref(), &pod, &outcome, ctx.now);
        let is_of_job = matches!(pod.owner, Some(Owner::Job(_)));
        // That they run may still be on its way.
        let has_run = pod.phase == PodPhase::Running || outcome.ending.is_some();
        let was_over = pod.phase.is_terminal();
        if let Some(mut patch) = status {
            stopped.lay_over(&mut patch);
            ctx.send(Request::PatchPodStatus { pod: pod.id, patch });
        } else if !was_over && !is_over && (pod.deletion.is_none() || is_of_job || (has_run && !is_stand_in)) {
            // Of deleted pods that never ran, only a Job asks how they ended before they are gone; a stand-in says it to nobody else.
            let last = stopped.last_status(&pod);
            let patch = match worker.as_mut().and_then(|worker| worker.unposted.take()) {
                Some(mut older) => {
                    statuses::merge(&mut older, last);
                    older
                }
                None => Box::new(last),
            };
            ctx.send(Request::PatchPodStatus { pod: pod.id, patch });
        }
        if pod.deletion.is_none() {
            if self.links.delayed.contains(&pod.node) {
                // That it is over is still on its way.
                self.workers.insert(pod.id, Worker::new(WorkerState::Over));
            }
            return;
        }
        if was_over || is_stand_in {
            self.cleaned(pod, ctx);
            return;
        }
        let ticket = pod.arm(Self::cleaned_at(pod.node, ctx), PodTimer::Cleaned, ctx);
        self.workers.insert(pod.id, Worker::new(WorkerState::CleaningUp(Some(ticket))));
    }

    /// Nothing is left of the pod on its node: the object is removed.
    pub(super) fn cleaned(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(deletion) = pod.deletion else { return };
        if !self.links.are_up(pod.node, ctx) {
            // It is removed when the API server is reached again.
            if let Some(worker) = self.workers.get_mut(&pod.id) {
                worker.state = WorkerState::CleaningUp(None);
            }
            return;
        }
        if self.links.delayed.contains(&pod.node) {
            // Its object is there until the request has arrived.
            self.workers.insert(pod.id, Worker::new(WorkerState::CleaningUp(None)));
        } else {
            self.workers.remove(&pod.id);
        }
        let options = DeleteOptions { grace_s: Some(0), uid: Some(pod.uid) };
        ctx.send(Request::DeletePod { pod: pod.id, options, cause: deletion.cause });
    }

    /// The kubelet itself ends a pod, which stays in the API as failed; returns how long that takes.
    pub(super) fn end_pod(
        &mut self,
        pod: BoundPod<'_>,
        grace: SimDuration,
        status: PodStatusPatch,
        ctx: &mut Ctx<'_, Self>,
    ) -> SimDuration {
        self.stop(pod, grace, Some(Box::new(status)), ctx)
    }

    /// The object left the API: whatever was under way is void, and what still runs is stopped.
    pub(super) fn pod_gone(&mut self, pod: PodId, last: &Arc<Pod>, ctx: &mut Ctx<'_, Self>) {
        let is_dying = self.dies(pod, last, ctx);
        if !last.is_mirror {
            self.forget(pod, ctx);
        }
        self.images.keep_images_of(last, ctx.now);
        if !is_dying {
            self.unmount(last, ctx);
        }
        if !last.spec.readiness_gates.is_empty() {
            self.gates.open(pod);
        }
        self.mirror_gone(pod, last, ctx);
    }
}
