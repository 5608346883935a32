//! Init containers: one after the other, each until it succeeds.

use smallvec::SmallVec;

use super::Kubelets;
use super::back_off::BackOff;
use super::bound_pod::BoundPod;
use super::probe::begun_at;
use super::probe_timing::{ProbeKind, next_run, probed_from};
use super::restart::{await_syncs, tell_back_off};
use super::status_manager::post;
use super::stopped::lost;
use super::timer::PodTimer;
use super::worker::{Awaits, InitRun, Known, Launch, Worker, WorkerState};
use super::{settings, statuses};
use crate::component::{Ctx, Latencies, PodStatusPatch};
use crate::model::Container;
use crate::state::{ContainerState, ContainerStatus, Ending, Pod, Status};
use crate::units::{SimDuration, SimTime};

/// When a sidecar whose hook is over at an instant has started.
///
/// # Source
/// kubelet, `computeInitContainerActions`: when its startup probe has succeeded, if it has one.
fn started_at(sidecar: &Container, pod: &Pod, at: SimTime, ctx: &Ctx<'_, Kubelets>) -> SimTime {
    let probe = sidecar.startup_probe.as_deref();
    let run = |probe| next_run(probe, begun_at(pod, ProbeKind::Startup, probe, None, ctx), probed_from(probe, at));
    probe.map_or(at, run)
}

impl InitRun {
    /// That of the pod's init container of that number, whose image is there at `images_at`: annotations say how long each runs, and with
    /// which code the first of them ends that is no sidecar.
    pub(super) fn of(pod: &Pod, worker: &Worker, index: usize, images_at: SimTime, ctx: &Ctx<'_, Kubelets>) -> Self {
        let mut begins = images_at;
        if index == 0 && settings::init_exit_code(pod) != 0 && worker.init_restarts == 0 {
            // The sandbox is there from the second run on.
            begins += settings::start_latency(pod, worker.restarts, ctx);
        }
        Self { images_at, ..Self::since(pod, worker, index, begins, ctx) }
    }

    /// That of an init container that begins at an instant, or has begun then.
    fn since(pod: &Pod, worker: &Worker, index: usize, begins: SimTime, ctx: &Ctx<'_, Kubelets>) -> Self {
        const CONTAINERS_MAX: u64 = 64;
        let mut run = Self { images_at: begins, begins, done: begins, code: 0, has_begun: false, ticket: None };
        let Some(container) = pod.spec.init_containers.get(index) else { return run };
        if container.is_sidecar() {
            run.done = started_at(container, pod, begins + settings::post_start(container), ctx);
            return run;
        }
        let before = pod.spec.init_containers.iter().take(index).filter(|container| !container.is_sidecar()).count();
        if let Some(runs) = settings::init_run(pod) {
            let number = u64::from(worker.restarts + worker.init_restarts) * CONTAINERS_MAX + before as u64;
            run.done += Latencies::draw(runs, ctx.streams, "init-run", &settings::entity(pod), number);
        }
        run.code = if before == 0 { settings::init_exit_code(pod) } else { 0 };
        run
    }

    /// When it is seen that it is done: the end of a container with the next listing.
    fn seen(&self, pod: BoundPod<'_>, index: usize, ctx: &Ctx<'_, Kubelets>) -> SimTime {
        let is_sidecar = pod.spec.init_containers.get(index).is_some_and(Container::is_sidecar);
        if is_sidecar { self.done } else { Kubelets::listed_at(pod.node, self.done, ctx) }
    }

    /// Waits until it is seen that it is done, or has failed.
    fn await_end(&mut self, pod: BoundPod<'_>, index: usize, ctx: &mut Ctx<'_, Kubelets>) {
        let at = self.seen(pod, index, ctx).max(ctx.now);
        let timer = match self.code {
            0 => PodTimer::InitsChange,
            code => PodTimer::InitFailed(u32::try_from(index).unwrap_or(u32::MAX), code),
        };
        self.ticket = Some(pod.arm(at, timer, ctx));
    }

    /// Until when a sync is under way that starts it, or waits for its hook.
    pub(super) fn sync_ends(&self, container: &Container) -> SimTime {
        let hook = if container.is_sidecar() { settings::post_start(container) } else { SimDuration::ZERO };
        self.begins + hook.min(self.done.saturating_since(self.begins))
    }

    /// The kubelet process ends: the container goes on, but for its hook, which is not run again. None if it has not begun.
    pub(super) fn halted(mut self, container: Option<&Container>, pod: &Pod, ctx: &Ctx<'_, Kubelets>) -> Option<Self> {
        self.ticket = None;
        if let Some(sidecar) = container.filter(|container| container.is_sidecar())
            && ctx.now < self.begins + settings::post_start(sidecar)
        {
            self.done = started_at(sidecar, pod, ctx.now, ctx);
        }
        self.has_begun.then_some(self)
    }
}

/// Restarts of the pod's init container restarted most often, as far as the API server knows.
pub(super) fn init_restarts_max(pod: &Pod) -> u32 {
    pod.init_containers.iter().map(|status| status.restarts).max().unwrap_or(0)
}

/// What is left of a pod's init containers when its machine has booted, if they are to run again: those that ran are lost.
///
/// # Source
/// kubelet, `purgeInitContainers` and `startContainer`: with the old sandbox go its init containers and their logs, so that the first one,
/// which the same sync starts, counts on, and others begin anew. Since 1.36 these count on from what was said of them,
/// `convertToAPIContainerStatuses` (`RestartAllContainersOnContainerExits`).
///
/// # Differs
/// Before 1.36 those that begin anew are not shown as they were until then.
pub(super) fn inits_after_boot(
    inits: &[ContainerStatus],
    pod: &Pod,
    ctx: &Ctx<'_, Kubelets>,
) -> SmallVec<[ContainerStatus; 0]> {
    let counts_on = ctx.config.version.at_least(36);
    let of = |(index, (status, container)): (usize, (&ContainerStatus, &Container))| {
        let ends = status.state.running_since().is_some() || container.is_sidecar();
        if index > 0 && !counts_on {
            ContainerStatus::default()
        } else if ends {
            let ending = status.state.ending().or(status.state.running_since().map(|_| lost(ctx.now)));
            let last = ending.or(status.last);
            ContainerStatus { state: ContainerState::Waiting, last, ready: false, ..*status }
        } else {
            ContainerStatus { ready: false, ..*status }
        }
    };
    inits.iter().zip(&pod.spec.init_containers).enumerate().map(of).collect()
}

impl Worker {
    /// The init container that is started next; none if it is the turn of the others.
    pub(super) fn next_init<'a>(&self, pod: &'a Pod, launch: Launch) -> Option<(usize, &'a Container)> {
        let container = pod.spec.init_containers.get(self.at_init).filter(|_| launch != Launch::Containers)?;
        Some((self.at_init, container))
    }

    /// What is said of an init container from now on.
    pub(super) fn note_init(&mut self, pod: &Pod, index: usize, status: ContainerStatus) {
        let known = if let Some(known) = &mut self.known {
            known
        } else {
            let inits = statuses::known_inits(Some(self), pod).into();
            self.known.insert(Box::new(Known { inits, ..Known::default() }))
        };
        known.inits.resize(pod.spec.init_containers.len(), ContainerStatus::default());
        if let Some(known) = known.inits.get_mut(index) {
            *known = status;
        }
    }

    /// The init container that the start has come to is done, or has started if it is a sidecar: it is the turn of the next.
    fn init_is_done(&mut self, pod: &Pod, done: SimTime) {
        let status = self.known_init(pod, self.at_init);
        let is_sidecar = pod.spec.init_containers.get(self.at_init).is_some_and(Container::is_sidecar);
        let state = match status.state {
            ContainerState::Running { .. } if !is_sidecar => ContainerState::Terminated(Ending::exit(0, done)),
            state => state,
        };
        self.note_init(pod, self.at_init, ContainerStatus { state, ready: !state.is_waiting(), ..status });
        self.at_init += 1;
    }

    /// What is said of an init container, as the kubelet knows it.
    pub(super) fn known_init(&self, pod: &Pod, index: usize) -> ContainerStatus {
        statuses::known_inits(Some(self), pod).get(index).copied().unwrap_or_default()
    }
}

/// What is said of an init container that begins after what was said of it before.
///
/// # Source
/// kubelet, `startContainer`: each start of a container that is known counts, whichever process it is that starts it.
fn begun(before: &ContainerStatus, state: ContainerState, now: SimTime) -> ContainerStatus {
    // One that should run and is started died with its machine.
    let lost = before.state.running_since().map(|_| lost(now));
    ContainerStatus {
        state,
        ready: false,
        restarts: before.restarts + u32::from(statuses::has_run(before)),
        last: before.state.ending().or(lost).or(before.last),
    }
}

impl Kubelets {
    /// The pod's init container begins, whose turn it is. True if it is done at that, and the next can be started; what is said of them is
    /// noted.
    ///
    /// # Differs
    /// A stand-in says nothing of init containers before they are done.
    pub(super) fn begin_init(
        &mut self,
        pod: BoundPod<'_>,
        launch: Launch,
        mut run: InitRun,
        ctx: &mut Ctx<'_, Self>,
    ) -> bool {
        let is_stand_in = self.links.is_stand_in(pod.node, ctx);
        let Some(worker) = self.workers.get_mut(&pod.id) else { return false };
        let index = worker.at_init;
        let state = if is_stand_in { ContainerState::Waiting } else { ContainerState::Running { since: run.begins } };
        let status = begun(&worker.known_init(&pod, index), state, ctx.now);
        worker.note_init(&pod, index, status);
        run.has_begun = true;
        // A sync that is to be the last starts nothing behind it.
        if run.code == 0 && run.seen(pod, index, ctx) <= ctx.now && worker.after_sync.is_none() {
            worker.init_is_done(&pod, run.done);
            return true;
        }
        run.await_end(pod, index, ctx);
        worker.enter(WorkerState::Starting(launch, Awaits::Init(run)), ctx);
        false
    }

    /// Says what init containers do.
    pub(super) fn tell_inits(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if self.links.is_stand_in(pod.node, ctx) {
            return;
        }
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let inits = Some(statuses::known_inits(Some(worker), &pod).into());
        let patch = PodStatusPatch { init_containers: inits, ..PodStatusPatch::default() };
        post(&self.links, worker, pod, patch, ctx);
    }

    /// An init container begins or has succeeded.
    ///
    /// # Source
    /// kubelet, `convertToAPIContainerStatuses`.
    pub(super) fn inits_change(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if self.sync_is_over(pod, ctx) {
            return;
        }
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let WorkerState::Starting(launch, Awaits::Init(run)) = &worker.state else { return };
        let (launch, run) = (*launch, run.clone());
        worker.state = WorkerState::Idle;
        let is_done = if run.has_begun {
            worker.init_is_done(&pod, run.done);
            true
        } else {
            self.begin_init(pod, launch, run, ctx)
        };
        if !is_done || !self.go_on_starting(pod, launch, &[], ctx) {
            self.tell_inits(pod, ctx);
        }
        self.sync_is_over(pod, ctx);
    }

    /// A kubelet process goes on with an init container that runs.
    pub(super) fn goes_on_with_init(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let index = worker.at_init;
        let WorkerState::Starting(launch, Awaits::Init(run)) = &mut worker.state else { return };
        let launch = *launch;
        if run.has_begun {
            run.await_end(pod, index, ctx);
        } else {
            self.go_on_starting(pod, launch, &[], ctx);
        }
    }

    /// An init container has failed.
    ///
    /// # Source
    /// kubelet, `computeInitContainerActions`, `getPhase` and `doBackOff`: under the policy Never the pod has failed; else this
    /// container is run again, at once the first time, and the pod stays Pending. Those before it are done, or go on.
    pub(super) fn init_failed(&mut self, pod: BoundPod<'_>, index: u32, code: i32, ctx: &mut Ctx<'_, Self>) {
        let index = index as usize;
        if self.sync_is_over(pod, ctx) {
            return;
        }
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let WorkerState::Starting(launch, Awaits::Init(run)) = &worker.state else { return };
        // It may have ended while no kubelet ran to see it.
        let (launch, begun, ended_at) = (*launch, run.begins, run.done.min(ctx.now));
        let state = ContainerState::Terminated(Ending::exit(code, ended_at));
        worker.note_init(&pod, index, ContainerStatus { state, ready: false, ..worker.known_init(&pod, index) });
        let inits = Some(statuses::known_inits(Some(worker), &pod).into());
        let patch = PodStatusPatch { ready: Some(Status::False), init_containers: inits, ..PodStatusPatch::default() };
        let Some(container) = pod.spec.init_containers.get(index) else { return };
        if !pod.spec.restarts(container, code) {
            self.wind_up(pod, patch, ctx);
            return;
        }
        let wait = worker.init_back_off.next(begun, ended_at, ctx.config.kubelet.restart_period_max);
        // It counts from the end.
        let wait = wait - ctx.now.saturating_since(ended_at);
        let count = worker.init_restarts;
        worker.init_restarts += 1;
        if wait.is_zero() {
            worker.state = WorkerState::Idle;
            post(&self.links, worker, pod, patch, ctx);
            self.try_again(pod, launch, ctx);
            return;
        }
        let syncs = settings::syncs(&pod, wait, "init-sync", count.into(), ctx);
        let timer = PodTimer::InitBackOffSync(worker.init_restarts);
        let ticket = await_syncs(&syncs, worker.back_offs_told, pod, timer, PodTimer::InitRestart, ctx);
        worker.state = WorkerState::Starting(launch, Awaits::InitRestart(ticket));
        // The next sync says that it backs off.
        tell_back_off(&self.links, worker, pod, container.name.as_str(), ctx);
        post(&self.links, worker, pod, patch, ctx);
    }

    /// A pod that a run finds between two failures of an init container waits on, from the last of them; false if it is none, or if it
    /// has waited for long enough.
    pub(super) fn goes_on_backing_off_inits(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) -> bool {
        if self.links.is_stand_in(pod.node, ctx) || !ctx.store.machine(pod.node).kubelet_alive() {
            return false;
        }
        let inits = pod.spec.init_containers.iter().zip(&pod.init_containers).enumerate();
        let failed = { inits }.find_map(|(index, (container, status))| {
            let is_over = status.state.running_since().is_none() && status.restarts > 0;
            let ending = status.state.ending().or(status.last.filter(|_| status.state.is_waiting()))?;
            let is_tried_again = ending.exit_code != 0 && pod.spec.restarts(container, ending.exit_code);
            (is_over && is_tried_again).then_some((index, status.restarts, ending.finished_at))
        });
        let Some((index, restarts, ended_at)) = failed else { return false };
        let (back_off, wait) = BackOff::after(restarts, ctx.config.kubelet.restart_period_max);
        if ended_at + wait <= ctx.now {
            return false;
        }
        let ticket = pod.arm(ended_at + wait, PodTimer::InitRestart, ctx);
        let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::found(&pod));
        worker.at_init = index;
        worker.init_restarts = restarts + 1;
        worker.init_back_off = back_off;
        worker.enter(WorkerState::Starting(Launch::Pod, Awaits::InitRestart(ticket)), ctx);
        true
    }

    /// A pod that a run finds on its way through its init containers goes on with the one that it has come to; false if it is none.
    pub(super) fn goes_on_with_inits(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) -> bool {
        let is_alive = ctx.store.machine(pod.node).kubelet_alive() && !self.links.is_stand_in(pod.node, ctx);
        if !is_alive || !pod.init_containers.iter().any(statuses::has_run) {
            return false;
        }
        let is_past = |(container, status): &(&Container, &ContainerStatus)| match status.state {
            ContainerState::Running { .. } => container.is_sidecar() && status.ready,
            state => !container.is_sidecar() && state.ending().is_some_and(|ending| ending.exit_code == 0),
        };
        let at_init = pod.spec.init_containers.iter().zip(&pod.init_containers).take_while(is_past).count();
        let since = pod.init_containers.get(at_init).and_then(|status| status.state.running_since());
        let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::found(&pod));
        worker.at_init = at_init;
        worker.init_restarts = init_restarts_max(&pod);
        let Some(since) = since else {
            self.go_on_starting(pod, Launch::Pod, &[], ctx);
            return true;
        };
        let run = InitRun { has_begun: true, ..InitRun::since(&pod, worker, at_init, since, ctx) };
        worker.enter(WorkerState::Starting(Launch::Pod, Awaits::Init(run)), ctx);
        self.goes_on_with_init(pod, ctx);
        true
    }

    /// The status of a pod whose init container waits for its restart says so.
    ///
    /// # Source
    /// kubelet, `SyncPod`: a sync makes the status before it comes to the back-off, and so it is the next that knows of it.
    fn post_init_back_off(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let status = worker.known_init(&pod, worker.at_init);
        let Some(ending) = status.state.ending().filter(|ending| ending.exit_code != 0) else { return };
        let state = ContainerState::CrashLoopBackOff;
        worker.note_init(&pod, worker.at_init, ContainerStatus { state, ready: false, last: Some(ending), ..status });
        let inits = Some(statuses::known_inits(Some(worker), &pod).into());
        let patch = PodStatusPatch { init_containers: inits, ..PodStatusPatch::default() };
        post(&self.links, worker, pod, patch, ctx);
    }

    /// A sync finds an init container in the back-off before its restart of that number.
    pub(super) fn looked_at_init_backing_off(&mut self, pod: BoundPod<'_>, restarts: u32, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        if let (WorkerState::Starting(_, Awaits::InitRestart(_)), Some(container)) =
            (&worker.state, pod.spec.init_containers.get(worker.at_init))
            && worker.init_restarts == restarts
        {
            tell_back_off(&self.links, worker, pod, container.name.as_str(), ctx);
            self.post_init_back_off(pod, ctx);
        }
    }

    /// The failed init container is run once more.
    pub(super) fn run_inits_again(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let WorkerState::Starting(launch, Awaits::InitRestart(_)) = worker.state else { return };
        worker.state = WorkerState::Idle;
        self.post_init_back_off(pod, ctx);
        self.try_again(pod, launch, ctx);
    }
}
