//! Init containers: one after the other, each until it succeeds.

use super::bound_pod::BoundPod;
use super::phase::restarts_after;
use super::probe_timing::{next_run, seconds};
use super::status_manager::post;
use super::timer::PodTimer;
use super::worker::{Awaits, WorkerState};
use super::{Kubelets, settings, statuses};
use crate::component::{Ctx, EventDraft, Latencies, ObjectRef, PodStatusPatch};
use crate::state::{ContainerState, Ending, Pod, Status};
use crate::units::{SimDuration, SimTime};

/// How an init sequence ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Inits {
    /// All are done, or run if they are sidecars.
    Done(SimTime),
    /// The one of that number ends with this code.
    Fails(SimTime, u32, i32),
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
    for (index, container) in (0..).zip(&pod.spec.init_containers) {
        if container.is_sidecar() {
            at += settings::post_start(container);
            if let Some(probe) = &container.startup_probe {
                at = next_run(probe, worker_at, at + seconds(probe.initial_delay_seconds));
            }
            continue;
        }
        if let Some(runs) = runs {
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

impl Kubelets {
    /// An init container has failed.
    ///
    /// # Source
    /// kubelet, `computeInitContainerActions`, `getPhase` and `doBackOff`: under the policy Never the pod has failed; else the
    /// container is run again, at once the first time, and the pod stays Pending.
    pub(super) fn init_failed(&mut self, pod: BoundPod<'_>, index: u32, code: i32, ctx: &mut Ctx<'_, Self>) {
        let index = index as usize;
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let WorkerState::Starting(launch, Awaits::Inits { begun, ticket }) = &mut worker.state else { return };
        let ending = Ending::exit(code, ctx.now);
        let ended = ContainerState::Terminated(ending);
        let mut patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
        if pod.spec.init_containers.get(index).is_some_and(|container| !restarts_after(container, &pod.spec, code)) {
            patch.init_containers = Some(statuses::inits_at(&pod, index, ended, worker.init_restarts, ctx.now));
            self.wind_up(pod, patch, ctx);
            return;
        }
        let name = pod.spec.init_containers.get(index).map_or("", |container| container.name.as_str());
        let wait = worker.init_back_off.next(*begun, ctx.now, ctx.config.kubelet.restart_period_max);
        let count = worker.init_restarts;
        worker.init_restarts += 1;
        if wait.is_zero() {
            let launch = *launch;
            worker.state = WorkerState::Idle;
            patch.init_containers = Some(statuses::inits_at(&pod, index, ended, count, ctx.now));
            post(&self.links, worker, pod, patch, ctx);
            self.try_again(pod, launch, ctx);
            return;
        }
        let wait = settings::synced(&pod, wait, "init-sync", count.into(), ctx);
        *ticket = pod.arm_in(wait, PodTimer::InitRestart, ctx);
        let mut inits = statuses::inits_at(&pod, index, ContainerState::CrashLoopBackOff, count, ctx.now);
        if let Some(status) = inits.get_mut(index) {
            status.last = Some(ending);
        }
        patch.init_containers = Some(inits);
        let text = statuses::back_off_text(name, &pod);
        self.links.event(pod.node, EventDraft::warning("BackOff", ObjectRef::pod(&pod), text), ctx);
        post(&self.links, worker, pod, patch, ctx);
    }

    /// The failed init container is run once more.
    pub(super) fn run_inits_again(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let WorkerState::Starting(launch, Awaits::Inits { .. }) = worker.state else { return };
        worker.state = WorkerState::Idle;
        self.try_again(pod, launch, ctx);
    }
}
