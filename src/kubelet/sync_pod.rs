//! Pod workers: from bound to running.

use std::sync::Arc;

use smallvec::SmallVec;

use super::back_off::PullFailure;
use super::bound_pod::BoundPod;
use super::deadline::watch_deadline;
use super::image::{Need, Pull};
use super::init::init_restarts_max;
use super::memory::is_over_limit;
use super::pace::RELIST;
use super::probe_timing::period;
use super::readiness::{Probed, ready_latency};
use super::restart::SeenBy;
use super::status_manager::post;
use super::timer::PodTimer;
use super::worker::{Awaits, InitRun, Launch, Run, Worker, WorkerState, rearm};
use super::{Kubelets, admission, node_status, settings, statuses};
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch, Request};
use crate::model::{Container, SYSTEM_CRITICAL_PRIORITY};
use crate::state::{ContainerState, ContainerStatus, NodeId, PodId, PodPhase, Status};
use crate::units::{SimDuration, SimTime};

impl Kubelets {
    /// A pod that was there when the run began.
    pub(super) fn pod_found(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        self.learn_file(pod);
        if pod.deletion.is_some() {
            self.pod_deleted(pod, ctx);
            return;
        }
        match pod.phase {
            PodPhase::Pending => {
                if self.goes_on_backing_off_inits(pod, ctx) || self.goes_on_with_inits(pod, ctx) {
                    watch_deadline(pod, ctx);
                } else {
                    self.pod_bound(pod, ctx);
                }
            }
            PodPhase::Running => {
                self.gates_found(pod, ctx);
                if statuses::is_backing_off(&pod) {
                    self.goes_on_backing_off(pod, ctx);
                } else if let Some(ending) = statuses::ended_for_good(&pod) {
                    self.ended(pod, ending, SeenBy::NextSync, ctx);
                    return;
                } else {
                    self.go_on(pod, ctx);
                    self.remembers_back_off(pod, ctx);
                    if ctx.store.machine(pod.node).kubelet_alive() {
                        self.probes_found(pod, ctx);
                    }
                }
                watch_deadline(pod, ctx);
                self.watch_memory_of(pod, ctx);
            }
            PodPhase::Succeeded | PodPhase::Failed => {}
        }
    }

    /// Takes up a running pod where its status says it is: restarting, on its way to Ready, or simply running.
    pub(super) fn go_on(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if !ctx.store.machine(pod.node).kubelet_alive() {
            return;
        }
        let is_down = |(container, status): (&Container, &ContainerStatus)| {
            status.state.running_since().is_none() && !statuses::is_done(container, &pod, status)
        };
        let worker = self.workers.get(&pod.id);
        // That they run again may still be on its way.
        let run_since = worker.and_then(Worker::run).and_then(|run| run.since);
        if run_since.is_none() && pod.spec.containers.iter().zip(&pod.containers).any(is_down) {
            self.restart(pod, Launch::Containers, ctx);
            return;
        }
        let restarts = worker.map_or(0, |worker| worker.restarts).max(pod.restarts_max());
        let since = run_since.unwrap_or_else(|| running_since(pod));
        let known = statuses::known(worker, &pod);
        let due =
            since + ready_latency(&pod, restarts, Probed { known, since, probers_at: None, synced_at: None }, ctx);
        let is_silent = worker.and_then(Worker::run).is_some_and(|run| run.is_silent);
        let is_found = worker.is_none();
        let due = if is_found { self.due_of_found(pod, due, ctx) } else { due };
        if pod.is_ready() || is_silent || !self.links.are_up(pod.node, ctx) {
            // Nothing to say.
        } else if statuses::are_containers_ready(&pod) {
            pod.arm_in(RELIST, PodTimer::Resync, ctx);
        } else if due > ctx.now || pod.ready.is_none() || !is_found {
            // One that has had its time and is said not to be ready is taken as it is: its application fails its probe.
            let ticket = pod.arm(due, PodTimer::Ready, ctx);
            let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::running(&pod));
            worker.restarts = restarts;
            if let Some(run) = worker.run_mut() {
                rearm(&mut run.ready, Some(ticket), ctx);
            }
        }
        self.watch_end(pod, ctx);
    }

    /// When a pod of the input becomes Ready that would be by `due`: its time stamps are cut to seconds, and the beat of its probes is not
    /// known, so that one which is not may still be on its way.
    fn due_of_found(&self, pod: BoundPod<'_>, due: SimTime, ctx: &Ctx<'_, Self>) -> SimTime {
        let probes =
            pod.spec.containers.iter().flat_map(|container| [&container.startup_probe, &container.readiness_probe]);
        let slowest = probes.flatten().map(|probe| period(probe)).max().unwrap_or(SimDuration::ZERO);
        if slowest.is_zero()
            || self.links.is_stand_in(pod.node, ctx)
            || due > ctx.now
            || due + SimDuration::from_secs(1) + slowest <= ctx.now
        {
            return due;
        }
        let part = ctx.streams.stream("found-unready", &settings::entity(&pod)).unit();
        ctx.now + SimDuration::from_secs_f64(slowest.as_secs_f64() * part)
    }

    /// A pod was bound to a node, or created on it.
    pub(super) fn pod_bound(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if pod.deletion.is_some() || pod.phase != PodPhase::Pending || self.workers.contains_key(&pod.id) {
            return;
        }
        if !self.links.show_pods(pod.node, ctx) {
            return;
        }
        self.learn_file(pod);
        if !self.goes_on_as_mirror(pod, ctx) {
            self.take_up(pod, ctx);
        }
    }

    /// Admits a pod that does not run yet, and starts it.
    pub(super) fn take_up(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(wait) = self.admits(pod, ctx) else { return };
        if pod.started_at.is_none() && !self.links.is_stand_in(pod.node, ctx) {
            // The first sync says that the pod is known here, and that its containers wait.
            let (ready, started) = (Some(Status::False), Some(ctx.now));
            let waits = pod.spec.init_containers.iter().map(|_| ContainerStatus::default());
            let has_inits = !pod.spec.init_containers.is_empty() && pod.init_containers.is_empty();
            let init_containers = has_inits.then(|| waits.collect());
            let containers =
                pod.containers.is_empty().then(|| match statuses::known(self.workers.get(&pod.id), &pod) {
                    [] => pod.spec.containers.iter().map(|_| ContainerStatus::default()).collect(),
                    known => known.into(),
                });
            let patch = PodStatusPatch { ready, started, containers, init_containers, ..PodStatusPatch::default() };
            ctx.send(Request::PatchPodStatus { pod: pod.id, patch: Box::new(patch) });
        }
        watch_deadline(pod, ctx);
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
    pub(super) fn admits(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) -> Option<SimDuration> {
        let unregistered;
        let machine = match (ctx.store.node(pod.node), self.registrations.get(&pod.node)) {
            (Some(node), _) => node,
            (None, Some(registration)) => {
                unregistered = Arc::new(node_status::node_to_register(registration, ctx.now));
                &unregistered
            }
            (None, None) => return None,
        };
        let name = ctx.store.node_name(pod.node);
        let reported = self.reported(pod.node, ctx);
        let others = match admission::has_room_for_all(ctx.store, machine, &pod) {
            true => SmallVec::new(),
            false => {
                admission::others(ctx.store, &pod, |other| self.workers.get(&other).map(|worker| !worker.is_rejected()))
            }
        };
        let seen = admission::Attributes { node: machine, name, others: &others, reported };
        let refusal = admission::refuses(&seen, &pod);
        let lacks = if refusal.is_none() && pod.spec.priority >= SYSTEM_CRITICAL_PRIORITY && !pod.is_mirror {
            admission::lacks(&seen, &pod)
        } else {
            Vec::new()
        };
        let refusal = match refusal {
            Some(refusal) => refusal,
            None if lacks.is_empty() => return Some(SimDuration::ZERO),
            None => match self.preempt_for(pod, &lacks, ctx) {
                Some(wait) => return Some(wait),
                None => admission::no_room(&lacks),
            },
        };
        self.reject(pod, refusal, ctx);
        None
    }

    /// Starts the pod's containers for the first time in its sandbox: init containers, then the others.
    pub(super) fn start(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let worker = self.workers.entry(pod.id).or_insert_with(Worker::idle);
        worker.restarts = worker.restarts.max(pod.restarts_max());
        worker.init_restarts = worker.init_restarts.max(init_restarts_max(&pod));
        worker.at_init = 0;
        self.go_on_starting(pod, Launch::Pod, &[], ctx);
    }

    /// Goes on with a start where it has come to: the next init container, or the others. Returns whether it has told what init containers
    /// do. `again` are pulls that were foreseen before and have been taken back.
    ///
    /// # Source
    /// kubelet, `SyncPod` and `startContainer`: whatever is started asks for its image when it is its turn.
    pub(super) fn go_on_starting(
        &mut self,
        pod: BoundPod<'_>,
        launch: Launch,
        mut again: &[Pull],
        ctx: &mut Ctx<'_, Self>,
    ) -> bool {
        let mut is_news = false;
        let awaits = loop {
            let Some(worker) = self.workers.get(&pod.id) else { return is_news };
            let need = self.images.need(pod, (worker, launch), again, ctx);
            self.tell_pull(pod, need, again, ctx);
            let begins = match need {
                Need::Fails { image, begins, at, how } => {
                    let ticket = pod.arm(at, PodTimer::PullFailed(image, how), ctx);
                    break Awaits::Image { begins, fails: at, ticket };
                }
                Need::At(begins, _) => begins,
            };
            let Some((index, _)) = worker.next_init(&pod, launch) else {
                let runs = begins + settings::start_latency(&pod, worker.restarts, ctx);
                let ticket = Some(pod.arm(runs, PodTimer::Started, ctx));
                break Awaits::Containers { begins, runs, ticket };
            };
            let mut run = InitRun::of(&pod, worker, index, begins, ctx);
            if run.begins > ctx.now {
                run.ticket = Some(pod.arm(run.begins, PodTimer::InitsChange, ctx));
                break Awaits::Init(run);
            }
            is_news = true;
            if !self.begin_init(pod, launch, run, ctx) {
                self.tell_inits(pod, ctx);
                return is_news;
            }
            again = &[];
        };
        if let Some(worker) = self.workers.get_mut(&pod.id) {
            worker.enter(WorkerState::Starting(launch, awaits), ctx);
        }
        if is_news {
            self.tell_inits(pod, ctx);
        }
        is_news
    }

    /// Says which image is pulled, unless that was said when the pull was first foreseen.
    fn tell_pull(&self, pod: BoundPod<'_>, need: Need, again: &[Pull], ctx: &mut Ctx<'_, Self>) {
        let pulled = match need {
            Need::At(_, pulled) => pulled,
            Need::Fails { image, how, .. } => (how != PullFailure::Never).then_some(image),
        };
        if let Some(image) = pulled.filter(|_| again.iter().all(|pull| pull.pod != pod.id)) {
            let text = format!("Pulling image \"{image}\"");
            self.links.event(pod.node, EventDraft::normal("Pulling", ObjectRef::pod(&pod), text), ctx);
        }
    }

    /// Pulls and starts that begin from now on on the node take another time than was foreseen, or end otherwise.
    pub(super) fn foresee_again(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let pulls = self.images.take_back(node, ctx.now);
        let mut pods: Vec<PodId> = Vec::new();
        // Who asked for a pull first is still first; others wait for theirs.
        for pod in pulls.iter().map(|pull| pull.pod).chain(ctx.store.pods_on(node).iter().copied()) {
            if !pods.contains(&pod) {
                pods.push(pod);
            }
        }
        for pod in pods.into_iter().filter_map(|pod| BoundPod::find(pod, ctx.store)) {
            let worker = self.workers.get(&pod.id).map(|worker| &worker.state);
            let Some(WorkerState::Starting(launch, awaits)) = worker else { continue };
            let launch = *launch;
            let begins = match awaits {
                Awaits::Containers { begins, .. } | Awaits::Image { begins, .. } => *begins,
                Awaits::Init(run) => run.images_at,
                Awaits::Room(_)
                | Awaits::Volumes(_)
                | Awaits::InitRestart(_)
                | Awaits::Hook { .. }
                | Awaits::Process => continue,
            };
            if begins > ctx.now {
                self.go_on_starting(pod, launch, &pulls, ctx);
            }
        }
    }

    /// Containers are started one by one; the next waits for the hook of the one before. Returns when the first was, once all are.
    ///
    /// # Source
    /// kubelet, `startContainer`: `SyncPod` waits for the hook, and what it has started is told only after it.
    fn start_next(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) -> Option<SimTime> {
        let worker = self.workers.get_mut(&pod.id)?;
        let WorkerState::Starting(launch, awaits) = &worker.state else { return None };
        let (since, next) = match awaits {
            Awaits::Hook { since, next, .. } => (*since, *next),
            _ => (ctx.now, 0),
        };
        let launch = *launch;
        let known = statuses::known(Some(worker), &pod);
        let mut hook = None;
        for (index, container) in statuses::undone(&pod, known).filter(|(index, _)| *index >= next) {
            let text = statuses::started_text(container, ctx.config.version);
            self.links.event(pod.node, EventDraft::normal("Started", ObjectRef::pod(&pod), text), ctx);
            let sleeps = settings::post_start(container);
            if !sleeps.is_zero() {
                hook = Some((sleeps, index + 1));
                break;
            }
        }
        let Some((sleeps, next)) = hook else { return Some(since) };
        let ticket = Some(pod.arm_in(sleeps, PodTimer::Started, ctx));
        worker.state = WorkerState::Starting(launch, Awaits::Hook { since, next, ticket });
        None
    }

    /// The containers run.
    pub(super) fn containers_started(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(since) = self.start_next(pod, ctx) else { return };
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let WorkerState::Starting(launch, _) = worker.state else { return };
        if pod.phase == PodPhase::Pending {
            self.gates.watch(pod, ctx.now, ctx);
        }
        let restarts = worker.restarts;
        worker.begun = restarts;
        let probers_at = self.links.fresh_probers(pod);
        let known = statuses::known(Some(worker), &pod);
        let ready_at = since + ready_latency(&pod, restarts, Probed { known, since, probers_at, synced_at: None }, ctx);
        let delay = ready_at.saturating_since(ctx.now);
        let is_killed = is_over_limit(&pod);
        let is_ready = delay == SimDuration::ZERO && !is_killed;
        let state = ContainerState::Running { since };
        let status = ContainerStatus { state, ready: is_ready, restarts, last: worker.ended };
        let containers = statuses::but_done(Some(worker), &pod, status);
        let is_pod_ready = statuses::are_ready(&containers) && !self.gates.are_closed(pod.id);
        let runs_inits = !pod.spec.init_containers.is_empty() && launch != Launch::Containers;
        let is_one_done =
            pod.spec.containers.iter().zip(&containers).any(|(c, status)| statuses::is_done(c, &pod, status));
        let patch = PodStatusPatch {
            phase: Some(PodPhase::Running),
            ready: Some(if is_pod_ready { Status::True } else { Status::False }),
            started: Some(ctx.now),
            containers: Some(containers),
            init_containers: runs_inits
                .then(|| statuses::inits_done(statuses::known_inits(Some(worker), &pod), &pod, ctx.now)),
            ..PodStatusPatch::default()
        };
        // Containers that use too much are killed before anybody asks them.
        let ready = (!is_ready && !is_killed).then(|| pod.arm_in(delay, PodTimer::Ready, ctx));
        worker.state = WorkerState::Running(Run { since: Some(since), ready, probers_at, ..Run::default() });
        post(&self.links, worker, pod, patch, ctx);
        if !is_one_done && !self.links.delayed.contains(&pod.node) {
            worker.known = None;
        }
        worker.watch_end(pod, ctx);
        worker.watch_probes(pod, ctx);
        let is_settled = worker.is_settled();
        self.watch_usage_of(pod, ctx);
        self.watch_memory_of(pod, ctx);
        if !self.sync_is_over(pod, ctx) && is_settled {
            self.settle(pod);
        }
    }

    /// Waits for the end of containers that end by themselves.
    pub(super) fn watch_end(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if let Some(worker) = self.workers.get_mut(&pod.id) {
            worker.watch_end(pod, ctx);
        } else if settings::run_for(&pod, pod.restarts_max(), ctx).is_some() {
            self.workers.entry(pod.id).or_insert_with(|| Worker::running(&pod)).watch_end(pod, ctx);
        }
    }
}

impl Worker {
    /// Waits for the end of containers that run and end by themselves.
    pub(super) fn watch_end(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Kubelets>) {
        let restarts = self.restarts;
        let Some(run) = self.run_mut() else { return };
        let Some(run_for) = settings::run_for(&pod, restarts, ctx) else { return };
        let runs_already = statuses::running_since(&pod).is_some() && pod.restarts_max() == restarts;
        let since = if runs_already { running_since(pod) } else { run.since.unwrap_or(ctx.now) };
        rearm(&mut run.end, Some(pod.arm((since + run_for).max(ctx.now), PodTimer::Ended, ctx)), ctx);
    }
}

/// Since when the pod's containers run, as far as its status says.
fn running_since(pod: BoundPod<'_>) -> SimTime {
    statuses::running_since(&pod).or(pod.started_at).unwrap_or(pod.created_at)
}
