//! Init containers: one after the other, each until it succeeds.

use smallvec::SmallVec;

use super::back_off::BackOff;
use super::bound_pod::BoundPod;
use super::probe_timing::{next_run, probed_from};
use super::restart::{await_syncs, tell_back_off};
use super::status_manager::post;
use super::timer::PodTimer;
use super::worker::{Awaits, Launch, Worker, WorkerState};
use super::{Kubelets, settings, statuses};
use crate::component::{Ctx, Latencies, PodStatusPatch};
use crate::engine::Ticket;
use crate::model::Container;
use crate::state::{ContainerState, ContainerStatus, Ending, Pod, Status};
use crate::units::{SimDuration, SimTime};

/// How an init sequence ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Inits {
    /// All are done, or run if they are sidecars.
    Done(SimTime),
    /// The one of that number ends with this code.
    Fails {
        at: SimTime,
        /// When that is seen.
        seen: SimTime,
        index: u32,
        code: i32,
    },
}

/// One container of an init sequence.
#[derive(Copy, Clone, Debug)]
struct Step {
    is_sidecar: bool,
    /// From when on it runs.
    from: SimTime,
    /// When it has succeeded; a sidecar, when it has started.
    done: SimTime,
    /// When that is seen.
    seen: SimTime,
}

/// When each init container of a pod runs.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    /// Those that come to run, by position.
    steps: SmallVec<[Step; 2]>,
    pub(super) end: Inits,
}

impl Sequence {
    /// That of init containers that begin at `begin`: their annotation says how long each runs, and with which code it ends.
    ///
    /// # Source
    /// kubelet, `computeInitContainerActions`: one after another, each when the end of the one before has been seen; a sidecar has started
    /// when its startup probe has succeeded.
    pub(super) fn of(pod: &Pod, worker: &Worker, begin: SimTime, ctx: &Ctx<'_, Kubelets>) -> Self {
        const CONTAINERS_MAX: u64 = 64;
        let mut steps = SmallVec::new();
        if pod.spec.init_containers.is_empty() {
            return Self { steps, end: Inits::Done(begin) };
        }
        let restarts = worker.restarts + worker.init_restarts;
        let entity = settings::entity(pod);
        let runs = settings::init_run(pod);
        let code = settings::init_exit_code(pod);
        let worker_at = pod.scheduled_at.unwrap_or(pod.created_at);
        let mut at = begin;
        if code != 0 && worker.init_restarts == 0 {
            // The sandbox is there from the second run on.
            at = worker.done(at, settings::start_latency(pod, worker.restarts, ctx));
        }
        let mut number = u64::from(restarts) * CONTAINERS_MAX;
        for (index, container) in (0..).zip(&pod.spec.init_containers) {
            at = worker.attended(at);
            let from = at;
            if container.is_sidecar() {
                // Its hook is not run again.
                at = worker.cut_short(at, settings::post_start(container));
                if let Some(probe) = &container.startup_probe {
                    at = next_run(probe, worker_at, probed_from(probe, at));
                }
                steps.push(Step { is_sidecar: true, from, done: at, seen: at });
                continue;
            }
            if let Some(runs) = runs {
                at += Latencies::draw(runs, ctx.streams, "init-run", &entity, number);
            }
            let seen = pod.node.map_or(at, |node| Kubelets::listed_at(node, at, ctx));
            steps.push(Step { is_sidecar: false, from, done: at, seen });
            if code != 0 {
                return Self { steps, end: Inits::Fails { at, seen, index, code } };
            }
            at = seen;
            number += 1;
        }
        Self { steps, end: Inits::Done(worker.attended(at)) }
    }

    /// When the sync is over that is under way at an instant, if one is: that which starts the first container, or waits for the hook of a
    /// sidecar. While a container runs until it is done, or until its probe has succeeded, there is none.
    pub(super) fn sync_ends(&self, pod: &Pod, now: SimTime) -> Option<SimTime> {
        let of = |(step, container): (&Step, &Container)| {
            let hook = if step.is_sidecar { settings::post_start(container) } else { SimDuration::ZERO };
            (step.from + hook).min(step.done)
        };
        let first = self.steps.first().map(|step| step.from).filter(|from| now < *from);
        let hooks = self.steps.iter().zip(&pod.spec.init_containers);
        let mut hooks = hooks.filter(|(step, _)| step.from <= now).map(of).filter(|until| now < *until);
        first.or_else(|| hooks.next())
    }

    /// Which of them run at an instant, by position.
    pub(super) fn running(&self, now: SimTime) -> impl Iterator<Item = usize> {
        let runs = move |step: &Step| step.from <= now && (step.is_sidecar || now < step.done);
        self.steps.iter().enumerate().filter(move |(_, step)| runs(step)).map(|(index, _)| index)
    }

    /// When the status of one of them changes next after an instant. That one fails is told otherwise.
    fn next_change(&self, after: Option<SimTime>) -> Option<SimTime> {
        let fails_at = if let Inits::Fails { seen, .. } = self.end { Some(seen) } else { None };
        let changes = self.steps.iter().flat_map(|step| [step.from, step.seen]);
        let next = changes.filter(|at| after.is_none_or(|after| *at > after)).min();
        next.filter(|at| Some(*at) != fails_at)
    }

    /// What is said of them at an instant.
    fn statuses(&self, pod: &Pod, restarts: u32, now: SimTime) -> SmallVec<[ContainerStatus; 0]> {
        let of = |index: usize| {
            let waits = ContainerStatus { restarts: 0, ..ContainerStatus::default() };
            let Some(step) = self.steps.get(index).filter(|step| step.from <= now) else { return waits };
            let is_done = step.seen <= now;
            let state = if is_done && !step.is_sidecar {
                ContainerState::Terminated(Ending::exit(0, step.done))
            } else {
                ContainerState::Running { since: step.from }
            };
            ContainerStatus { state, ready: is_done, restarts, last: None }
        };
        (0..pod.spec.init_containers.len()).map(of).collect()
    }
}

/// Waits for the next change of what is said of init containers; a stand-in says nothing before they are done.
pub(super) fn watch_inits(
    sequence: &Sequence,
    pod: BoundPod<'_>,
    after: Option<SimTime>,
    ctx: &mut Ctx<'_, Kubelets>,
) -> Option<Ticket> {
    let at = sequence.next_change(after)?;
    Some(pod.arm(at.max(ctx.now), PodTimer::InitsChange, ctx))
}

impl Kubelets {
    /// An init container begins or has succeeded.
    ///
    /// # Source
    /// kubelet, `convertToAPIContainerStatuses`.
    pub(super) fn inits_change(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let WorkerState::Starting(_, awaits) = &worker.state else { return };
        let (Awaits::Containers { images_at: begun, .. } | Awaits::Inits { begun, .. }) = awaits else { return };
        let sequence = Sequence::of(&pod, worker, *begun, ctx);
        let next = watch_inits(&sequence, pod, Some(ctx.now), ctx);
        let inits = sequence.statuses(&pod, worker.init_restarts, ctx.now);
        if let WorkerState::Starting(_, Awaits::Containers { inits, .. } | Awaits::Inits { inits, .. }) =
            &mut worker.state
        {
            *inits = next;
        }
        let patch = PodStatusPatch { init_containers: Some(inits), ..PodStatusPatch::default() };
        post(&self.links, worker, pod, patch, ctx);
        self.sync_is_over(pod, ctx);
    }

    /// An init container has failed.
    ///
    /// # Source
    /// kubelet, `computeInitContainerActions`, `getPhase` and `doBackOff`: under the policy Never the pod has failed; else the
    /// container is run again, at once the first time, and the pod stays Pending.
    pub(super) fn init_failed(&mut self, pod: BoundPod<'_>, index: u32, code: i32, ctx: &mut Ctx<'_, Self>) {
        let index = index as usize;
        if self.sync_is_over(pod, ctx) {
            return;
        }
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let WorkerState::Starting(launch, Awaits::Inits { begun, inits, .. }) = &worker.state else { return };
        let (launch, begun) = (*launch, *begun);
        // It may have ended while no kubelet ran to see it.
        let ended_at = match Sequence::of(&pod, worker, begun, ctx).end {
            Inits::Fails { at, .. } => at.min(ctx.now),
            Inits::Done(_) => ctx.now,
        };
        if let Some(ticket) = *inits {
            ctx.cancel(ticket);
        }
        let ending = Ending::exit(code, ended_at);
        let ended = ContainerState::Terminated(ending);
        let mut patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
        if pod.spec.init_containers.get(index).is_some_and(|container| !pod.spec.restarts(container, code)) {
            patch.init_containers = Some(statuses::inits_at(&pod, index, ended, worker.init_restarts, ctx.now));
            self.wind_up(pod, patch, ctx);
            return;
        }
        let name = pod.spec.init_containers.get(index).map_or("", |container| container.name.as_str());
        let wait = worker.init_back_off.next(begun, ended_at, ctx.config.kubelet.restart_period_max);
        // It counts from the end.
        let wait = wait - ctx.now.saturating_since(ended_at);
        let count = worker.init_restarts;
        worker.init_restarts += 1;
        if wait.is_zero() {
            worker.state = WorkerState::Idle;
            patch.init_containers = Some(statuses::inits_at(&pod, index, ended, count, ctx.now));
            post(&self.links, worker, pod, patch, ctx);
            self.try_again(pod, launch, ctx);
            return;
        }
        let syncs = settings::syncs(&pod, wait, "init-sync", count.into(), ctx);
        let timer = PodTimer::InitBackOffSync(worker.init_restarts);
        let ticket = await_syncs(&syncs, worker.back_offs_told, pod, timer, PodTimer::InitRestart, ctx);
        worker.state = WorkerState::Starting(launch, Awaits::InitRestart(ticket));
        // The next sync says that it backs off.
        patch.init_containers = Some(statuses::inits_at(&pod, index, ended, count, ctx.now));
        tell_back_off(&self.links, worker, pod, name, ctx);
        post(&self.links, worker, pod, patch, ctx);
    }

    /// A pod that a run finds between two failures of an init container waits on, from the last of them; false if it is none, or if it
    /// has waited for long enough.
    pub(super) fn goes_on_backing_off_inits(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) -> bool {
        if self.links.is_stand_in(pod.node, ctx) || !ctx.store.machine(pod.node).kubelet_alive() {
            return false;
        }
        let failed = pod.spec.init_containers.iter().zip(&pod.init_containers).find_map(|(container, status)| {
            let is_over = status.state.running_since().is_none() && status.restarts > 0;
            let ending = status.state.ending().or(status.last.filter(|_| status.state.is_waiting()))?;
            let is_tried_again = ending.exit_code != 0 && pod.spec.restarts(container, ending.exit_code);
            (is_over && is_tried_again).then_some((status.restarts, ending.finished_at))
        });
        let Some((restarts, ended_at)) = failed else { return false };
        let (back_off, wait) = BackOff::after(restarts, ctx.config.kubelet.restart_period_max);
        if ended_at + wait <= ctx.now {
            return false;
        }
        let ticket = pod.arm(ended_at + wait, PodTimer::InitRestart, ctx);
        let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::found(&pod));
        worker.init_restarts = restarts + 1;
        worker.init_back_off = back_off;
        worker.enter(WorkerState::Starting(Launch::Pod, Awaits::InitRestart(ticket)), ctx);
        true
    }

    /// The status of a pod whose init container waits for its restart says so.
    ///
    /// # Source
    /// kubelet, `SyncPod`: a sync makes the status before it comes to the back-off, and so it is the next that knows of it.
    fn post_init_back_off(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let known = statuses::known_inits(Some(worker), &pod);
        let failed = known.iter().enumerate().find_map(|(index, status)| {
            Some((index, status.restarts, status.state.ending().filter(|ending| ending.exit_code != 0)?))
        });
        let Some((index, restarts, ending)) = failed else { return };
        let mut inits = statuses::inits_at(&pod, index, ContainerState::CrashLoopBackOff, restarts, ctx.now);
        if let Some(status) = inits.get_mut(index) {
            status.last = Some(ending);
        }
        let patch = PodStatusPatch { init_containers: Some(inits), ..PodStatusPatch::default() };
        post(&self.links, worker, pod, patch, ctx);
    }

    /// A sync finds an init container in the back-off before its restart of that number.
    pub(super) fn looked_at_init_backing_off(&mut self, pod: BoundPod<'_>, restarts: u32, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let failing = pod.spec.init_containers.iter().find(|container| !container.is_sidecar());
        if let (WorkerState::Starting(_, Awaits::InitRestart(_)), Some(container)) = (&worker.state, failing)
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
