//! Init containers: one after the other, each until it succeeds.

use smallvec::SmallVec;

use super::phase::{Fate, phase, restarts_after};
use super::probe::{next_run, seconds};
use super::pull::Start;
use super::restart::back_off_text;
use super::{Kubelets, Timer, settings};
use crate::component::{Ctx, EventDraft, Latencies, ObjectRef, PodStatusPatch};
use crate::state::{ContainerState, ContainerStatus, Ending, Pod, PodId, Status};
use crate::units::{SimDuration, SimTime};

/// How an init sequence ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Inits {
    /// All are done, or run if they are sidecars.
    Done(SimTime),
    /// The one of that number ends with this code.
    Fails(SimTime, usize, i32),
}

/// When init containers that begin at `begin` are done: their annotation says how long each runs, and with which code it ends.
///
/// # Source
/// kubelet, `computeInitContainerActions`: one after another; a sidecar has started when its startup probe has succeeded. Before
/// 1.36 the end of each is noticed up to a second late.
pub(super) fn run_inits(pod: &Pod, restarts: u32, begin: SimTime, ctx: &Ctx<'_, Kubelets>) -> Inits {
    const CONTAINERS_MAX: u64 = 64;
    if pod.spec.init_containers.is_empty() {
        return Inits::Done(begin);
    }
    let entity = settings::entity(pod);
    let runs = settings::init_run(pod);
    let code = settings::init_exit_code(pod);
    let worker_at = pod.scheduled_at.unwrap_or(pod.created_at);
    let mut at = begin;
    let mut number = u64::from(restarts) * CONTAINERS_MAX;
    for (index, container) in pod.spec.init_containers.iter().enumerate() {
        if container.is_sidecar() {
            if let Some(probe) = &container.startup_probe {
                at = next_run(probe, worker_at, at + seconds(probe.initial_delay_seconds));
            }
            continue;
        }
        if let Some(runs) = &runs {
            at += Latencies::draw(runs, ctx.streams, "init-run", &entity, number);
        }
        if code != 0 {
            return Inits::Fails(at, index, code);
        }
        if !ctx.config.version.at_least(36) {
            at += SimDuration::from_secs_f64(ctx.streams.at("init-noticed", &entity, number).unit());
        }
        number += 1;
    }
    Inits::Done(at)
}

/// Init containers when the regular ones start: sidecars run, the others are done.
pub(super) fn done_statuses(pod: &Pod, restarts: u32, now: SimTime) -> SmallVec<[ContainerStatus; 0]> {
    let status = |is_sidecar: bool| {
        let done = ContainerState::Terminated(Ending::exit(0, now));
        let state = if is_sidecar { ContainerState::Running { since: now } } else { done };
        ContainerStatus { state, ready: true, restarts, last: None }
    };
    pod.spec.init_containers.iter().map(|c| status(c.is_sidecar())).collect()
}

impl Kubelets {
    /// An init container has failed.
    ///
    /// # Source
    /// kubelet, `computeInitContainerActions`, `getPhase` and `doBackOff`: under the policy Never the pod has failed; else the
    /// container is run again, at once the first time, and the pod stays Pending.
    pub(super) fn init_failed(&mut self, pod: PodId, index: usize, code: i32, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        let Some(worker) = self.workers.get_mut(&pod) else { return };
        worker.ticket = None;
        let ending = Ending::exit(code, ctx.now);
        let ended = ContainerState::Terminated(ending);
        let mut patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
        if !restarts_after(object.spec.restart_policy, code) {
            let inits = statuses(object, index, ended, worker.init_restarts, ctx.now);
            patch.phase = Some(phase(&object.spec, &inits, &object.containers, Fate::Open));
            patch.init_containers = Some(inits);
            self.forget(pod, ctx);
            self.post_if_heard(pod, patch, ctx);
            return;
        }
        let name = object.spec.init_containers.get(index).map_or("", |container| container.name.as_str());
        let begun = worker.init_begun.unwrap_or(ctx.now);
        let wait = worker.init_back_off.next(begun, ctx.now, ctx.config.kubelet.restart_period_max);
        let count = worker.init_restarts;
        worker.init_restarts += 1;
        if wait.is_zero() {
            patch.init_containers = Some(statuses(object, index, ended, count, ctx.now));
            self.post_if_heard(pod, patch, ctx);
            self.run_inits_again(pod, ctx);
            return;
        }
        let wait = settings::synced(object, wait, "init-sync", count.into(), ctx);
        worker.ticket = Some(ctx.arm_in(wait, Timer::InitRestart(pod)));
        let mut inits = statuses(object, index, ContainerState::CrashLoopBackOff, count, ctx.now);
        if let Some(status) = inits.get_mut(index) {
            status.last = Some(ending);
        }
        patch.init_containers = Some(inits);
        let text = back_off_text(name, object);
        self.event(node, EventDraft::warning("BackOff", ObjectRef::pod(object), text), ctx);
        self.post_if_heard(pod, patch, ctx);
    }

    /// The failed init container is run once more.
    pub(super) fn run_inits_again(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        match self.workers.get(&pod).map(|worker| worker.start) {
            Some(Start::Whole) => self.restart_whole(pod, ctx),
            _ => self.start(pod, ctx),
        }
    }
}

/// Init containers while the one of that number is in a state: those before it are done, those behind it wait.
fn statuses(
    pod: &Pod,
    index: usize,
    state: ContainerState,
    restarts: u32,
    now: SimTime,
) -> SmallVec<[ContainerStatus; 0]> {
    let mut statuses = done_statuses(pod, 0, now);
    for (position, status) in statuses.iter_mut().enumerate().skip(index) {
        let state = if position == index { state } else { ContainerState::Waiting };
        let restarts = if position == index { restarts } else { 0 };
        *status = ContainerStatus { state, ready: false, restarts, last: None };
    }
    statuses
}
