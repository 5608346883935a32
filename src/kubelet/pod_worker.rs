//! Pod workers: from bound to running and ready.

use std::sync::Arc;

use smallvec::SmallVec;

use super::image::Need;
use super::init::{self, Inits};
use super::memory::is_over_limit;
use super::phase::restarts_after;
use super::pull::{PullBackOff, PullFailure, Start};
use super::restart::BackOff;
use super::{Kubelets, Timer, admission, node_status, settings, tell};
use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch, Request};
use crate::engine::Ticket;
use crate::model::config::KubernetesVersion;
use crate::model::{Container, SYSTEM_CRITICAL_PRIORITY};
use crate::state::{ContainerState, ContainerStatus, Ending, NodeId, Pod, PodId, PodPhase, Status};
use crate::units::{SimDuration, SimTime};

/// How long a kubelet takes to notice what its containers do and to post it.
///
/// # Source
/// kubelet, pod lifecycle event generator: relists every second.
pub(super) const RELIST: SimDuration = SimDuration::from_secs(1);

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
    /// Containers have stopped, and nobody could be told.
    Stopped,
}

/// A pod with something under way, or with a history.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) stage: Stage,
    pub(super) ticket: Option<Ticket>,
    /// When that timer fires, if containers are being stopped.
    pub(super) stops_at: Option<SimTime>,
    /// Since when containers run that this worker started; their status may not have reached the API yet.
    pub(super) since: Option<SimTime>,
    /// Fires when containers end by themselves.
    pub(super) end: Option<Ticket>,
    /// Fires when a probe fails for good, or when what failed it has stopped.
    pub(super) probe: Option<Ticket>,
    /// How often each kind of probe has failed since the containers run.
    pub(super) misses: [u64; 3],
    /// How many runs of a probe have found the application not up yet.
    pub(super) early: u64,
    /// The readiness probe has failed for good: nobody answers it any more.
    pub(super) is_silent: bool,
    pub(super) restarts: u32,
    /// Restarts up to the containers that began last: what the kubelet tells of, whether it has reached the API or not.
    pub(super) begun: u32,
    pub(super) back_off: BackOff,
    /// What it starts: after a failure to start, that is tried again.
    pub(super) start: Start,
    /// Since when the present init containers run, how often one was restarted, and its back-off.
    pub(super) init_begun: Option<SimTime>,
    pub(super) init_restarts: u32,
    pub(super) init_back_off: BackOff,
    /// Images whose pulls have failed.
    pub(super) pulls: SmallVec<[PullBackOff; 0]>,
    /// A status that could not be posted.
    pub(super) unposted: Option<Box<PodStatusPatch>>,
    /// What is posted when the containers have stopped, instead of removing the object: the kubelet itself ends the pod.
    pub(super) last_status: Option<Box<PodStatusPatch>>,
    /// Containers ended so while no kubelet ran to see it.
    pub(super) ended_unseen: Option<Ending>,
    /// How the containers ended before they were restarted.
    pub(super) ended: Option<Ending>,
}

impl Worker {
    pub(super) fn new(stage: Stage) -> Self {
        Self {
            stage,
            ticket: None,
            stops_at: None,
            since: None,
            end: None,
            probe: None,
            misses: [0; 3],
            early: 0,
            is_silent: false,
            restarts: 0,
            begun: 0,
            back_off: BackOff::default(),
            start: Start::First,
            init_begun: None,
            init_restarts: 0,
            init_back_off: BackOff::default(),
            pulls: SmallVec::new(),
            unposted: None,
            last_status: None,
            ended_unseen: None,
            ended: None,
        }
    }

    /// Whether a timer goes on with the pod, or its application answers its readiness probe no more.
    pub(super) fn has_more_to_come(&self) -> bool {
        self.ticket.is_some() || self.end.is_some() || self.probe.is_some() || self.is_silent
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
        self.cancel_mount(pod, ctx);
        if let Some(worker) = self.workers.remove(&pod) {
            for ticket in [worker.ticket, worker.end, worker.probe].into_iter().flatten() {
                ctx.cancel(ticket);
            }
        }
    }

    /// A pod that was there when the run began.
    pub(super) fn pod_found(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        self.learn_file(object);
        if object.deletion.is_some() {
            self.pod_deleted(pod, ctx);
            return;
        }
        match object.phase {
            PodPhase::Pending => self.pod_bound(pod, ctx),
            PodPhase::Running => {
                if object.containers.iter().any(|status| status.state == ContainerState::CrashLoopBackOff) {
                    self.goes_on_backing_off(pod, ctx);
                } else if let Some(ending) = ended_for_good(object) {
                    self.container_ended(pod, Some(ending), ctx);
                    return;
                } else {
                    self.go_on(pod, ctx);
                }
                self.watch_deadline(pod, ctx);
                self.watch_memory_of(pod, ctx);
            }
            PodPhase::Succeeded | PodPhase::Failed => {}
        }
    }

    /// Takes up a running pod where its status says it is: restarting, on its way to Ready, or simply running.
    pub(super) fn go_on(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node.filter(|&node| ctx.store.machine(node).kubelet_alive()) else { return };
        let is_down = |c: &ContainerStatus| match c.state {
            ContainerState::Running { .. } => false,
            ContainerState::Terminated(ending) => restarts_after(object.spec.restart_policy, ending.exit_code),
            _ => true,
        };
        if object.containers.iter().any(is_down) {
            self.restart(pod, ctx);
            return;
        }
        let is_overwritten = are_containers_ready(object);
        let restarts = object.restarts_max();
        let due = running_since(object) + settings::ready_latency(object, restarts, running_since(object), ctx);
        if object.is_ready() || !self.hears(node, ctx) {
            // Nothing to say.
        } else if is_overwritten {
            ctx.arm_in(RELIST, Timer::Resync(pod));
        } else if due > ctx.now || object.ready.is_none() || self.workers.contains_key(&pod) {
            // One that has had its time and is said not to be ready is taken as it is: its application fails its probe.
            let ticket = ctx.arm(due.max(ctx.now), Timer::Ready(pod));
            let worker = self.workers.entry(pod).or_insert_with(|| Worker::new(Stage::Running));
            worker.restarts = restarts;
            worker.replace(Stage::Running, Some(ticket), ctx);
        }
        self.arm_end(pod, ctx);
    }

    /// A pod was bound to a node, or created on it.
    pub(super) fn pod_bound(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        if object.deletion.is_some() || object.phase != PodPhase::Pending || self.workers.contains_key(&pod) {
            return;
        }
        if !self.sees_pods(node, ctx) {
            return;
        }
        self.learn_file(object);
        if self.goes_on_as_mirror(pod, ctx) {
            return;
        }
        let Some(wait) = self.admits(pod, node, ctx) else { return };
        if object.started_at.is_none() && !self.is_stand_in(node, ctx) {
            // The first sync tells that the pod is known here.
            let (ready, started) = (Some(Status::False), Some(ctx.now));
            let patch = PodStatusPatch { ready, started, ..PodStatusPatch::default() };
            tell(ctx, Request::PatchPodStatus { pod, patch: Box::new(patch) });
        }
        self.watch_deadline(pod, ctx);
        if wait.is_zero() {
            self.await_volumes(pod, ctx);
        } else {
            self.await_room(pod, wait, ctx);
        }
    }

    /// How long the node needs to take the pod; none if it does not, in which case the pod has failed.
    ///
    /// # Source
    /// kubelet, `getNodeAnyWay`: until its Node object is there, the kubelet goes by the one it is about to register.
    pub(super) fn admits(&mut self, pod: PodId, node: NodeId, ctx: &mut Ctx<'_, Self>) -> Option<SimDuration> {
        let object = ctx.store.pod(pod)?;
        let unregistered;
        let machine = match (ctx.store.node(node), self.registrations.get(&node)) {
            (Some(node), _) => node,
            (None, Some(registration)) => {
                unregistered = Arc::new(node_status::node_to_register(registration, ctx.now));
                &unregistered
            }
            (None, None) => return None,
        };
        let name = ctx.store.node_name(node);
        let reported = self.reported(node, ctx);
        let others = admission::others(ctx.store, object, |other| self.workers.contains_key(&other));
        let seen = admission::Attributes { node: machine, name, others: &others, reported };
        let refusal = admission::refuses(&seen, object);
        let lacks = if refusal.is_none() && object.spec.priority >= SYSTEM_CRITICAL_PRIORITY && !object.is_mirror {
            admission::lacks(&seen, object)
        } else {
            Vec::new()
        };
        let refusal = match refusal {
            Some(refusal) => refusal,
            None if lacks.is_empty() => return Some(SimDuration::ZERO),
            None => match self.preempt_for(object, node, &lacks, ctx) {
                Some(wait) => return Some(wait),
                None => admission::no_room(&lacks),
            },
        };
        self.event(node, EventDraft::warning(refusal.reason, ObjectRef::pod(object), refusal.message), ctx);
        let patch = PodStatusPatch {
            phase: Some(PodPhase::Failed),
            reason: Some(Symbol::new(refusal.reason)),
            ready: object.ready.map(|_| Status::False),
            ..PodStatusPatch::default()
        };
        self.forget(pod, ctx);
        tell(ctx, Request::PatchPodStatus { pod, patch: Box::new(patch) });
        None
    }

    /// Images, then init containers, then the others.
    pub(super) fn start(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        let restarts = object.restarts_max();
        let inits = object.init_containers.iter().map(|status| status.restarts).max().unwrap_or(0);
        let worker = self.workers.entry(pod).or_insert_with(|| Worker::new(Stage::Starting));
        worker.start = Start::First;
        worker.restarts = restarts;
        worker.init_restarts = worker.init_restarts.max(inits);
        self.start_after_images(pod, node, restarts, ctx);
    }

    /// Waits for images and init containers, then for the start of the others.
    pub(super) fn start_after_images(&mut self, pod: PodId, node: NodeId, restarts: u32, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let (begin, pulled, timer) = match self.images.need(pod, object, node, ctx) {
            Need::At(begin, pulled) => (begin, pulled, None),
            Need::Fails { image, at, how } => {
                let pulled = (how != PullFailure::Never).then_some(image);
                (at, pulled, Some(Timer::PullFailed(pod, image, how)))
            }
        };
        if let Some(image) = pulled {
            let text = format!("Pulling image \"{image}\"");
            self.event(node, EventDraft::normal("Pulling", ObjectRef::pod(object), text), ctx);
        }
        let Some(worker) = self.workers.get_mut(&pod) else { return };
        let ticket = if let Some(timer) = timer {
            ctx.arm(begin, timer)
        } else {
            let is_first = worker.init_restarts == 0;
            let start = settings::start_latency(object, restarts, ctx);
            let inits = if worker.start == Start::Containers {
                Inits::Done(begin)
            } else {
                worker.init_begun = Some(begin);
                init::run_inits(object, restarts + worker.init_restarts, begin, ctx)
            };
            match inits {
                Inits::Done(at) => ctx.arm(at + start, Timer::Started(pod)),
                // The sandbox is there from the second run on.
                Inits::Fails(at, index, code) => {
                    let at = if is_first { at + start } else { at };
                    ctx.arm(at, Timer::InitFailed(pod, index as u32, code))
                }
            }
        };
        worker.replace(Stage::Starting, Some(ticket), ctx);
    }

    /// The containers run.
    pub(super) fn containers_started(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        if object.phase == PodPhase::Pending && self.workers.contains_key(&pod) {
            self.await_gates(pod, ctx);
        }
        let are_gates_met = !self.gated.contains(&pod);
        let Some(worker) = self.workers.get_mut(&pod) else { return };
        let (restarts, start, init_restarts) = (worker.restarts, worker.start, worker.init_restarts);
        worker.ticket = None;
        worker.stage = Stage::Running;
        worker.since = Some(ctx.now);
        worker.begun = restarts;
        worker.is_silent = false;
        worker.misses = [0; 3];
        worker.early = 0;
        let delay = settings::ready_latency(object, restarts, ctx.now, ctx);
        let is_killed = is_over_limit(object);
        let is_ready = delay == SimDuration::ZERO && !is_killed;
        let state = ContainerState::Running { since: ctx.now };
        let status = ContainerStatus { state, ready: is_ready, restarts, last: worker.ended };
        let patch = PodStatusPatch {
            phase: Some(PodPhase::Running),
            ready: Some(if is_ready && are_gates_met { Status::True } else { Status::False }),
            started: Some(ctx.now),
            containers: Some(object.spec.containers.iter().map(|_| status).collect()),
            init_containers: (!object.spec.init_containers.is_empty() && start != Start::Containers)
                .then(|| init::done_statuses(object, init_restarts, ctx.now)),
            ..PodStatusPatch::default()
        };
        // Containers that use too much are killed before anybody asks them.
        if !is_ready && !is_killed {
            worker.ticket = Some(ctx.arm_in(delay, Timer::Ready(pod)));
        }
        if let Some(node) = object.node {
            for container in &object.spec.containers {
                let text = started_text(container, ctx.config.version);
                self.event(node, EventDraft::normal("Started", ObjectRef::pod(object), text), ctx);
            }
        }
        self.post_if_heard(pod, patch, ctx);
        self.arm_end(pod, ctx);
        self.watch_probes(pod, ctx);
        self.watch_usage_of(object, ctx);
        self.watch_memory_of(pod, ctx);
        if is_ready {
            self.settle(pod);
        }
    }

    /// Forgets a worker that has nothing left to do and nothing to remember.
    pub(super) fn settle(&mut self, pod: PodId) {
        let is_done = self.workers.get(&pod).is_some_and(|w| {
            w.stage == Stage::Running
                && w.ticket.is_none()
                && w.end.is_none()
                && w.probe.is_none()
                && w.restarts == 0
                && w.unposted.is_none()
                && w.ended_unseen.is_none()
        });
        if is_done {
            self.workers.remove(&pod);
        }
    }

    /// Waits for the end of containers that end by themselves.
    pub(super) fn arm_end(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let restarts = self.workers.get(&pod).map_or(0, |w| w.restarts);
        let Some(run_for) = settings::run_for(object, restarts, ctx) else { return };
        let runs_already =
            matches!(object.containers.first(), Some(c) if matches!(c.state, ContainerState::Running { .. }));
        let since = if runs_already && object.restarts_max() == restarts { running_since(object) } else { ctx.now };
        let ticket = ctx.arm(since + run_for, Timer::Ended(pod));
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

    pub(super) fn post_ready(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let containers = self.running_statuses(pod, object, true);
        let ready = Some(self.readiness_of(pod, true));
        let patch = PodStatusPatch { ready, containers: Some(containers), ..PodStatusPatch::default() };
        self.post_if_heard(pod, patch, ctx);
    }

    /// The statuses of containers that run, as the kubelet knows them: what it posted last may not have arrived.
    pub(super) fn running_statuses(&self, id: PodId, pod: &Pod, ready: bool) -> SmallVec<[ContainerStatus; 1]> {
        let worker = self.workers.get(&id);
        if let Some((worker, since)) = worker.and_then(|worker| Some((worker, worker.since?))) {
            let restarts = worker.restarts.max(pod.restarts_max());
            let state = ContainerState::Running { since };
            let status = ContainerStatus { state, ready, restarts, last: worker.ended };
            return pod.spec.containers.iter().map(|_| status).collect();
        }
        let unposted = worker.and_then(|worker| worker.unposted.as_ref()?.containers.as_ref());
        unposted.unwrap_or(&pod.containers).iter().map(|c| ContainerStatus { ready, ..*c }).collect()
    }

    /// Someone else wrote Ready=False on a pod whose containers are fine: the status manager puts it right. What stands in for
    /// a kubelet has none.
    pub(super) fn readiness_overwritten(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        let is_meant = self.gated.contains(&pod);
        if is_meant
            || object.is_ready()
            || !are_containers_ready(object)
            || !object.is_active()
            || !self.hears(node, ctx)
            || self.is_stand_in(node, ctx)
        {
            return;
        }
        ctx.arm(Self::next_status_sync(node, ctx), Timer::Resync(pod));
    }

    pub(super) fn post_ready_again(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        if self.workers.get(&pod).is_some_and(|worker| worker.unposted.is_some()) {
            self.post_if_heard(pod, PodStatusPatch::default(), ctx);
            self.settle(pod);
            return;
        }
        let under_way =
            self.workers.get(&pod).is_some_and(|w| w.is_silent || w.stage != Stage::Running || w.ticket.is_some());
        let Some(node) = object.node.filter(|&node| self.hears(node, ctx)) else { return };
        // A stand-in looks no more at what is being deleted.
        let is_looked_at = object.deletion.is_none() || !self.is_stand_in(node, ctx);
        let is_lost = object.phase == PodPhase::Running && are_containers_ready(object) && !object.is_ready();
        if is_looked_at && is_lost && !under_way && !self.gated.contains(&pod) {
            self.post_ready(pod, ctx);
        }
    }
}

/// Whether the containers' statuses say that the pod is ready, whatever its condition says.
fn are_containers_ready(pod: &Pod) -> bool {
    !pod.containers.is_empty() && pod.containers.iter().all(|container| container.ready)
}

/// What the event of a container's start says; since 1.35 it no longer names the container.
fn started_text(container: &Container, version: KubernetesVersion) -> String {
    if version.at_least(35) { "Container started".to_owned() } else { format!("Started container {}", container.name) }
}

/// How a pod's containers have ended that are not started again, if all have; the kubelet has not said so yet.
fn ended_for_good(pod: &Pod) -> Option<Ending> {
    let endings = pod.containers.iter().map(|container| match container.state {
        ContainerState::Terminated(ending) => Some(ending),
        _ => None,
    });
    let endings: SmallVec<[Ending; 2]> = endings.collect::<Option<_>>()?;
    if endings.iter().any(|ending| restarts_after(pod.spec.restart_policy, ending.exit_code)) {
        return None;
    }
    endings.iter().find(|ending| ending.exit_code != 0).or(endings.first()).copied()
}

/// Since when the pod's containers run, as far as its status says.
fn running_since(pod: &Pod) -> SimTime {
    match pod.containers.first().map(|c| c.state) {
        Some(ContainerState::Running { since }) => since,
        _ => pod.started_at.unwrap_or(pod.created_at),
    }
}
