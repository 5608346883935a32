//! Pod workers: from bound to running, from marked to gone, and back after the machine or the link was away.

use smallvec::SmallVec;

use super::restart::BackOff;
use super::{Kubelets, Timer, admission, settings, tell};
use crate::arena::Symbol;
use crate::component::{Ctx, DeleteOptions, EventDraft, ObjectRef, PodStatusPatch, Request};
use crate::engine::Ticket;
use crate::model::RestartPolicy;
use crate::state::{
    ContainerState, ContainerStatus, DeletionCause, NodeId, Owner, Pod, PodId, PodPhase, Status,
};
use crate::units::SimDuration;

/// How long a kubelet takes to notice what its containers do and to post it.
///
/// # Source
/// kubelet, pod lifecycle event generator: relists every second.
const RELIST: SimDuration = SimDuration::from_secs(1);

/// The status manager compares its statuses with the API's this often.
const STATUS_SYNC: SimDuration = SimDuration::from_secs(10);

/// What is under way with a pod.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Images are pulled, containers created.
    Starting,
    /// Containers run; readiness may be on its way.
    Running,
    /// Waiting to be restarted.
    BackingOff,
    /// Containers are being stopped.
    Stopping,
}

/// A pod with something under way, or with a history.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) stage: Stage,
    ticket: Option<Ticket>,
    /// Fires when containers end by themselves.
    end: Option<Ticket>,
    pub(super) restarts: u32,
    pub(super) back_off: BackOff,
    /// A status that could not be posted.
    pub(super) unposted: Option<Box<PodStatusPatch>>,
}

impl Worker {
    pub(super) fn new(stage: Stage) -> Self {
        Self { stage, ticket: None, end: None, restarts: 0, back_off: BackOff::default(), unposted: None }
    }

    /// Goes over to another stage; the timer of the old one is taken back.
    pub(super) fn replace(&mut self, stage: Stage, ticket: Option<Ticket>, ctx: &mut Ctx<'_, Kubelets>) {
        self.stage = stage;
        if let Some(old) = std::mem::replace(&mut self.ticket, ticket) {
            ctx.cancel(old);
        }
    }
}

impl Kubelets {
    /// Forgets what was under way with a pod.
    pub(super) fn forget(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        if let Some(worker) = self.workers.remove(&pod) {
            for ticket in worker.ticket.into_iter().chain(worker.end) {
                ctx.cancel(ticket);
            }
        }
    }

    /// A pod that was there when the run began.
    pub(super) fn pod_found(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        if object.deletion.is_some() {
            self.pod_deleted(pod, ctx);
            return;
        }
        match object.phase {
            PodPhase::Pending => self.pod_bound(pod, ctx),
            PodPhase::Running => self.arm_end(pod, ctx),
            PodPhase::Succeeded | PodPhase::Failed => {}
        }
    }

    /// A pod was bound to a node, or created on it.
    pub(super) fn pod_bound(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        if object.deletion.is_some() || object.phase != PodPhase::Pending || self.workers.contains_key(&pod) {
            return;
        }
        if !self.hears(node, ctx) {
            return;
        }
        let name = ctx.store.node_name(node);
        let shutting_down = ctx.store.machine(node).reported.shutting_down;
        let Some(machine) = ctx.store.node(node) else { return };
        if let Some(refusal) = admission::refuses(ctx.store, machine, name, object, shutting_down) {
            let message = format!("Pod was rejected: {}", refusal.message);
            ctx.event(EventDraft::warning(refusal.reason, ObjectRef::pod(object), message).on(node));
            let patch = PodStatusPatch {
                phase: Some(PodPhase::Failed),
                reason: Some(Symbol::new(refusal.reason)),
                ..PodStatusPatch::default()
            };
            tell(ctx, Request::PatchPodStatus { pod, patch: Box::new(patch) });
            return;
        }
        self.start(pod, ctx);
    }

    /// Pulls are serial per node; containers are started when the last image is there.
    fn start(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        let pull = settings::pull_latency(object, ctx);
        let mut begin = ctx.now;
        if pull > SimDuration::ZERO {
            let until = self.pulls_until.entry(node).or_insert(ctx.now);
            *until = (*until).max(ctx.now) + pull;
            begin = *until;
        }
        let restarts = object.restarts_max();
        let ticket = ctx.arm(begin + settings::start_latency(object, restarts, ctx), Timer::Started(pod));
        let worker = self.workers.entry(pod).or_insert_with(|| Worker::new(Stage::Starting));
        worker.restarts = restarts;
        worker.replace(Stage::Starting, Some(ticket), ctx);
    }

    /// The containers run.
    pub(super) fn containers_started(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(worker) = self.workers.get_mut(&pod) else { return };
        let restarts = worker.restarts;
        worker.ticket = None;
        worker.stage = Stage::Running;
        let delay = settings::ready_latency(object, restarts, ctx);
        let is_ready = delay == SimDuration::ZERO;
        let status = ContainerStatus { state: ContainerState::Running { since: ctx.now }, ready: is_ready, restarts };
        let patch = PodStatusPatch {
            phase: Some(PodPhase::Running),
            ready: Some(if is_ready { Status::True } else { Status::False }),
            started: Some(ctx.now),
            containers: Some(object.spec.containers.iter().map(|_| status).collect()),
            ..PodStatusPatch::default()
        };
        if !is_ready {
            worker.ticket = Some(ctx.arm_in(delay, Timer::Ready(pod)));
        }
        self.post_if_heard(pod, patch, ctx);
        self.arm_end(pod, ctx);
        if is_ready {
            self.settle(pod);
        }
    }

    /// Forgets a worker that has nothing left to do and nothing to remember.
    fn settle(&mut self, pod: PodId) {
        let is_done = self.workers.get(&pod).is_some_and(|w| {
            w.stage == Stage::Running && w.ticket.is_none() && w.end.is_none() && w.restarts == 0 && w.unposted.is_none()
        });
        if is_done {
            self.workers.remove(&pod);
        }
    }

    fn arm_end(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let restarts = self.workers.get(&pod).map_or(0, |w| w.restarts);
        let Some(run_for) = settings::run_for(object, restarts, ctx) else { return };
        let ticket = ctx.arm_in(run_for, Timer::Ended(pod));
        let worker = self.workers.entry(pod).or_insert_with(|| Worker::new(Stage::Running));
        if let Some(old) = worker.end.replace(ticket) {
            ctx.cancel(old);
        }
    }

    pub(super) fn became_ready(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod) else { return };
        worker.ticket = None;
        self.post_ready(pod, ctx);
        self.settle(pod);
    }

    fn post_ready(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let containers: SmallVec<[ContainerStatus; 1]> =
            object.containers.iter().map(|c| ContainerStatus { ready: true, ..*c }).collect();
        let patch =
            PodStatusPatch { ready: Some(Status::True), containers: Some(containers), ..PodStatusPatch::default() };
        self.post_if_heard(pod, patch, ctx);
    }

    /// Someone else wrote Ready=False on a pod whose containers are fine: the status manager puts it right.
    pub(super) fn readiness_overwritten(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        let containers_ready = !object.containers.is_empty() && object.containers.iter().all(|c| c.ready);
        if object.is_ready() || !containers_ready || !object.is_active() || !self.hears(node, ctx) {
            return;
        }
        ctx.arm_in(STATUS_SYNC, Timer::Resync(pod));
    }

    pub(super) fn post_ready_again(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let under_way = self.workers.get(&pod).is_some_and(|w| w.stage != Stage::Running || w.ticket.is_some());
        if object.is_active() && object.phase == PodPhase::Running && !object.is_ready() && !under_way {
            self.post_ready(pod, ctx);
        }
    }

    /// The pod was marked for deletion, or its grace was shortened.
    ///
    /// # Source
    /// kubelet, pod workers: the grace counts from when the kubelet sees the mark, and is at least a second.
    pub(super) fn pod_deleted(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let (Some(node), Some(deletion)) = (object.node, object.deletion) else { return };
        if !self.hears(node, ctx) {
            return;
        }
        let grace = deletion.grace.max(SimDuration::from_secs(1));
        let runs = object.phase == PodPhase::Running;
        let delay = if runs { settings::stop_latency(object, ctx).min(grace) } else { SimDuration::ZERO };
        if runs {
            for container in &object.spec.containers {
                let message = format!("Stopping container {}", container.name);
                ctx.event(EventDraft::normal("Killing", ObjectRef::pod(object), message).on(node));
            }
        }
        let ticket = ctx.arm_in(delay, Timer::Stopped(pod));
        let worker = self.workers.entry(pod).or_insert_with(|| Worker::new(Stage::Stopping));
        worker.replace(Stage::Stopping, Some(ticket), ctx);
        if let Some(end) = worker.end.take() {
            ctx.cancel(end);
        }
    }

    /// The containers are dead: the object is removed.
    pub(super) fn containers_stopped(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        if !self.hears(node, ctx) {
            return;
        }
        self.workers.remove(&pod);
        let is_job = matches!(object.owner, Some(Owner::Job(_)));
        if is_job && !object.phase.is_terminal() {
            // What a Job counts is the terminal phase; nobody else looks at it in a pod that is going.
            let patch = PodStatusPatch {
                phase: Some(PodPhase::Failed),
                ready: Some(Status::False),
                ..PodStatusPatch::default()
            };
            tell(ctx, Request::PatchPodStatus { pod, patch: Box::new(patch) });
        }
        let options = DeleteOptions { grace_s: Some(0), uid: Some(object.uid) };
        let cause = object.deletion.map_or(DeletionCause::TerminationByKubelet, |d| d.cause);
        tell(ctx, Request::DeletePod { pod, options, cause });
    }

    /// The object left the API: whatever was under way is void.
    pub(super) fn pod_gone(&mut self, pod: PodId, _last: &Pod, ctx: &mut Ctx<'_, Self>) {
        self.forget(pod, ctx);
    }

    /// Containers died with the machine.
    pub(super) fn lost_power(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let pods: Vec<PodId> = ctx.store.pods_on(node).iter().copied().collect();
        for pod in pods {
            self.forget(pod, ctx);
        }
        self.pulls_until.remove(&node);
        if let Some(ticket) = self.awaited.remove(&node) {
            ctx.cancel(ticket);
        }
    }

    /// The machine is up again: pods that were not deleted meanwhile start over in place.
    ///
    /// # Source
    /// kubelet, start after a reboot: pods are admitted again; sandboxes are made anew, restart counts rise, and
    /// containers that never restart have failed.
    pub(super) fn pod_after_boot(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        if object.phase.is_terminal() {
            return;
        }
        if object.deletion.is_some() {
            self.pod_deleted(pod, ctx);
            return;
        }
        if object.phase == PodPhase::Pending {
            self.pod_bound(pod, ctx);
            return;
        }
        let mut patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
        if object.spec.restart_policy == RestartPolicy::Never {
            patch.phase = Some(PodPhase::Failed);
            tell(ctx, Request::PatchPodStatus { pod, patch: Box::new(patch) });
            return;
        }
        let ended = ContainerStatus { state: ContainerState::Waiting, ready: false, restarts: object.restarts_max() };
        patch.containers = Some(object.spec.containers.iter().map(|_| ended).collect());
        tell(ctx, Request::PatchPodStatus { pod, patch: Box::new(patch) });
        self.restart(pod, ctx);
    }

    /// The kubelet hears again: what was deleted is stopped, the others are reported as they are.
    pub(super) fn pod_after_partition(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        if object.phase.is_terminal() {
            return;
        }
        if object.deletion.is_some() {
            self.pod_deleted(pod, ctx);
            return;
        }
        if object.phase == PodPhase::Pending && !self.workers.contains_key(&pod) {
            self.pod_bound(pod, ctx);
            return;
        }
        if let Some(patch) = self.workers.get_mut(&pod).and_then(|w| w.unposted.take()) {
            tell(ctx, Request::PatchPodStatus { pod, patch });
            self.settle(pod);
            return;
        }
        if !object.is_ready() {
            ctx.arm_in(RELIST, Timer::Resync(pod));
        }
    }
}
