//! Containers that end: restart, back-off, and the phase of a pod that is done.

use super::back_off::BackOff;
use super::bound_pod::BoundPod;
use super::grace::{KILLED, TERMINATED};
use super::init::init_restarts_max;
use super::links::Links;
use super::probe_timing::EVENTS_MAX;
use super::status_manager::post;
use super::timer::PodTimer;
use super::worker::{Known, Launch, Worker, WorkerState, rearm};
use super::{Kubelets, settings, statuses};
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch};
use crate::engine::Ticket;
use crate::state::{ContainerState, ContainerStatus, Ending, Pod, PodPhase, Power, Status};
use crate::units::{SimDuration, SimTime};

/// Who sees that a container has ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum SeenBy {
    /// The next sync.
    NextSync,
    /// The sync that has killed it.
    Killer,
}

impl Kubelets {
    /// A container of the pod's has run as long as it does.
    pub(super) fn ended_by_itself(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if let Some(run) = self.workers.get_mut(&pod.id).and_then(Worker::run_mut) {
            run.end = None;
        }
        self.container_ends(pod, ends_by_itself(&pod, ctx.now), ctx);
    }

    /// A container of the pod's ends: the next listing shows that, unless a sync waits for it.
    ///
    /// # Source
    /// kubelet, `GenericPLEG`.
    pub(super) fn container_ends(&mut self, pod: BoundPod<'_>, ending: Ending, ctx: &mut Ctx<'_, Self>) {
        let worker = self.workers.get(&pod.id);
        let runs = |worker: &Worker| worker.run().is_some_and(|run| run.ended_unseen.is_none());
        // A container that ends at once does so before its start has reached the API.
        let runs = worker.map_or(pod.phase == PodPhase::Running, runs);
        if !runs || pod.phase.is_terminal() || ctx.store.machine(pod.node).power != Power::On {
            return;
        }
        if self.links.is_stand_in(pod.node, ctx) {
            self.ended(pod, ending, SeenBy::NextSync, ctx);
            return;
        }
        let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::running(&pod));
        let Some(run) = worker.run_mut() else { return };
        if run.killed.is_some() {
            self.killed_by_probe(pod, ending, ctx);
            return;
        }
        run.ended_unseen = Some(ending);
        for timer in [&mut run.ready, &mut run.end, &mut run.probe] {
            rearm(timer, None, ctx);
        }
        pod.arm(Self::listed_at(pod.node, ctx.now, ctx), PodTimer::EndSeen, ctx);
    }

    /// The listing shows that a container of the pod has ended. A process that does not know which pods it has sees it when it does.
    pub(super) fn end_seen(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if !ctx.store.machine(pod.node).kubelet_running || !self.links.know_pods(pod.node) {
            return;
        }
        let run = self.workers.get_mut(&pod.id).and_then(Worker::run_mut);
        if let Some(ending) = run.and_then(|run| run.ended_unseen.take()) {
            self.ended(pod, ending, SeenBy::NextSync, ctx);
        }
    }

    /// A container of the pod has ended, and is started again when its back-off says so.
    ///
    /// # Source
    /// kubelet, `SyncPod`: the sync that starts it again says first how it has ended.
    pub(super) fn ended(&mut self, pod: BoundPod<'_>, ending: Ending, seen_by: SeenBy, ctx: &mut Ctx<'_, Self>) {
        let machine = ctx.store.machine(pod.node);
        // A process that does not know which pods it has sees the end when it does.
        let is_seen = machine.kubelet_running && self.links.know_pods(pod.node);
        let worker = self.workers.get_mut(&pod.id);
        // A container that ends at once does so before its start has reached the API.
        let runs = worker.as_ref().map_or(pod.phase == PodPhase::Running, |worker| worker.run().is_some());
        if !runs || pod.phase.is_terminal() || machine.power != Power::On {
            return;
        }
        // The start of this run may not have reached the API yet.
        let count = worker.as_ref().map_or(0, |worker| worker.restarts).max(pod.restarts_max());
        let mut patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
        let state = ContainerState::Terminated(ending);
        let ended = ContainerStatus { state, ready: false, restarts: count, last: None };
        let mut statuses = statuses::but_done(self.workers.get(&pod.id), &pod, ended);
        let is_done = |(container, status)| statuses::is_done(container, &pod, status);
        let done = pod.spec.containers.iter().zip(&statuses).filter(|pair| is_done(*pair)).count();
        if is_seen && done == pod.spec.containers.len() {
            patch.containers = Some(statuses);
            self.wind_up(pod, patch, ctx);
            return;
        }
        let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::running(&pod));
        let Some(run) = worker.run_mut() else { return };
        if !is_seen {
            run.ended_unseen.get_or_insert(ending);
            return;
        }
        let started_at = run.since.or(statuses::running_since(&pod)).unwrap_or(pod.created_at);
        let longest = ctx.config.kubelet.restart_period_max;
        let wait = match seen_by {
            SeenBy::NextSync => worker.back_off.next(started_at, ending.finished_at, longest),
            SeenBy::Killer => {
                let before = worker.ended.or_else(|| pod.containers.iter().find_map(|status| status.last));
                worker.back_off.next_of_killed(started_at, before.map(|end| end.finished_at), ctx.now, longest)
            }
        };
        // It counts from the end.
        let wait = wait - ctx.now.saturating_since(ending.finished_at);
        let before = worker.ended.replace(ending);
        (worker.begun, worker.restarts) = (count, count + 1);
        if done > 0 {
            let inits = statuses::known_inits(Some(worker), &pod).into();
            worker.known = Some(Box::new(Known { containers: statuses.clone(), inits }));
        }
        if wait == SimDuration::ZERO {
            patch.containers = Some(statuses);
            // A sync that kills and starts has made its status before: nobody sees that the container was down.
            if done > 0 || seen_by == SeenBy::NextSync {
                post(&self.links, worker, pod, patch, ctx);
            }
            self.restart(pod, Launch::Containers, ctx);
            return;
        }
        let syncs = settings::syncs(&pod, wait, "restart-sync", count.into(), ctx);
        let timer = PodTimer::BackOffSync(worker.restarts);
        let ticket = await_syncs(&syncs, worker.back_offs_told, pod, timer, PodTimer::Restart, ctx);
        let until = ctx.now + syncs.last().copied().unwrap_or(SimDuration::ZERO);
        worker.enter(WorkerState::BackingOff { ticket, until }, ctx);
        tell_back_off(&self.links, worker, pod, failed_name(&pod, ending), ctx);
        if seen_by == SeenBy::Killer {
            // It has made its status before, and the next one knows of the back-off already.
            pod.arm(Self::listed_at(pod.node, ctx.now, ctx), timer, ctx);
            return;
        }
        for (container, status) in pod.spec.containers.iter().zip(&mut statuses) {
            if !statuses::is_done(container, &pod, status) {
                (status.state, status.last) = match self.links.is_stand_in(pod.node, ctx) {
                    true => (ContainerState::CrashLoopBackOff, Some(ending)),
                    false => (status.state, before),
                };
            }
        }
        patch.containers = Some(statuses);
        post(&self.links, worker, pod, patch, ctx);
    }

    /// A sync finds the pod's containers in the back-off before their restart of that number.
    pub(super) fn looked_at_backing_off(&mut self, pod: BoundPod<'_>, restarts: u32, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        if let (WorkerState::BackingOff { .. }, Some(ending)) = (&worker.state, worker.ended)
            && worker.restarts == restarts
        {
            tell_back_off(&self.links, worker, pod, failed_name(&pod, ending), ctx);
            self.post_back_off(pod, ctx);
        }
    }

    /// The status of a pod whose containers wait for their restart says so.
    ///
    /// # Source
    /// kubelet, `SyncPod`: a sync makes the status before it comes to the back-off, and so it is the next that knows of it.
    fn post_back_off(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let (WorkerState::BackingOff { .. }, Some(ending)) = (&worker.state, worker.ended) else { return };
        let waits = ContainerStatus {
            state: ContainerState::CrashLoopBackOff,
            ready: false,
            restarts: worker.begun,
            last: Some(ending),
        };
        let containers = statuses::but_done(Some(worker), &pod, waits);
        if *statuses::known(Some(worker), &pod) == containers[..] {
            return;
        }
        let patch =
            PodStatusPatch { ready: Some(Status::False), containers: Some(containers), ..PodStatusPatch::default() };
        post(&self.links, worker, pod, patch, ctx);
    }

    /// A pod that a run finds running since its last crash remembers the back-off that it has had.
    ///
    /// # Source
    /// kubelet, `doBackOff`: what a probe has killed is started again in the same sync, which finds nothing that has ended, so that the first
    /// time leaves no back-off.
    pub(super) fn remembers_back_off(&mut self, pod: BoundPod<'_>, ctx: &Ctx<'_, Self>) {
        let is_told_to_end = |ending: Ending| matches!(ending.exit_code, 0 | TERMINATED | KILLED);
        let gaps = pod.containers.iter().zip(&pod.spec.containers).filter_map(|(status, container)| {
            let ending = status.last.filter(|_| status.restarts > 0)?;
            let may_be_killed = container.startup_probe.is_some() || container.liveness_probe.is_some();
            if may_be_killed && status.restarts == 1 && is_told_to_end(ending) {
                return None;
            }
            let ended = ending.finished_at;
            status.state.running_since().map(|since| since.saturating_since(ended))
        });
        if let Some(gap) = gaps.max() {
            let longest = ctx.config.kubelet.restart_period_max;
            let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::running(&pod));
            worker.back_off = BackOff::behind(gap, longest);
        }
    }

    /// A pod that a run finds between two crashes waits on, from its last end; where that tells nothing, for some part of its back-off.
    pub(super) fn goes_on_backing_off(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if !ctx.store.machine(pod.node).kubelet_alive() {
            return;
        }
        if self.links.is_stand_in(pod.node, ctx) {
            self.restart(pod, Launch::Containers, ctx);
            return;
        }
        let (back_off, wait) = BackOff::after(pod.restarts_max(), ctx.config.kubelet.restart_period_max);
        let ends = pod.containers.iter().filter(|status| status.state.running_since().is_none());
        let ended =
            ends.filter_map(|status| status.state.ending().or(status.last)).map(|ending| ending.finished_at).max();
        let syncs = settings::syncs(&pod, wait, "restart-sync", pod.restarts_max().into(), ctx);
        let over = ended.zip(syncs.last()).map(|(ended, last)| ended + *last);
        let until = over.filter(|until| *until > ctx.now).unwrap_or_else(|| {
            // The last sync comes when it is over for up to half as long.
            let longest = ended.map(|ended| ended + wait + wait / 2).filter(|longest| *longest > ctx.now);
            let left = longest.map_or(wait, |longest| longest.saturating_since(ctx.now));
            let unit = ctx.streams.at("crash-loop-found", &settings::entity(&pod), 0).unit();
            ctx.now + SimDuration::from_secs_f64(left.as_secs_f64() * unit)
        });
        let ticket = pod.arm(until, PodTimer::Restart, ctx);
        let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::found(&pod));
        worker.back_off = back_off;
        worker.enter(WorkerState::BackingOff { ticket, until }, ctx);
    }

    /// The back-off of a pod's containers is over.
    pub(super) fn backed_off(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        self.post_back_off(pod, ctx);
        if let Some(worker) = self.workers.get_mut(&pod.id) {
            worker.state = WorkerState::Idle;
        }
        self.restart(pod, Launch::Containers, ctx);
    }

    /// Makes the pod anew in place: its init containers run first, once more.
    pub(super) fn restart_whole(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let worker = self.workers.entry(pod.id).or_insert_with(Worker::idle);
        worker.init_restarts = worker.init_restarts.max(init_restarts_max(&pod)) + 1;
        worker.at_init = 0;
        self.restart(pod, Launch::Sandbox, ctx);
    }

    /// Starts the pod's containers once more.
    pub(super) fn restart(&mut self, pod: BoundPod<'_>, launch: Launch, ctx: &mut Ctx<'_, Self>) {
        if !ctx.store.machine(pod.node).kubelet_alive() {
            return;
        }
        let worker = self.workers.entry(pod.id).or_insert_with(Worker::idle);
        worker.restarts = worker.restarts.max(pod.restarts_max() + 1);
        self.go_on_starting(pod, launch, &[], ctx);
    }
}

/// Waits for the syncs of a back-off, of which the last finds it over. Those between are waited for only as long as the recorder lets
/// what they tell pass: after that it takes one in five minutes, and each back-off has one at its beginning.
///
/// # Source
/// kubelet, `doBackOff`; client-go, `EventSourceObjectSpamFilter`.
pub(super) fn await_syncs(
    syncs: &[SimDuration],
    told: u32,
    pod: BoundPod<'_>,
    look: PodTimer,
    over: PodTimer,
    ctx: &mut Ctx<'_, Kubelets>,
) -> Ticket {
    let (last, between) = syncs.split_last().map_or((SimDuration::ZERO, syncs), |(last, between)| (*last, between));
    let left = EVENTS_MAX.saturating_sub(u64::from(told) + 1) as usize;
    for sync in between.iter().take(left) {
        pod.arm_in(*sync, look, ctx);
    }
    pod.arm_in(last, over, ctx)
}

/// Tells that a container waits for its restart.
pub(super) fn tell_back_off(
    links: &Links,
    worker: &mut Worker,
    pod: BoundPod<'_>,
    name: &str,
    ctx: &mut Ctx<'_, Kubelets>,
) {
    worker.back_offs_told = worker.back_offs_told.saturating_add(1);
    let text = statuses::back_off_text(name, &pod);
    links.event(pod.node, EventDraft::warning("BackOff", ObjectRef::pod(&pod), text), ctx);
}

/// The first container that is started again after that end.
fn failed_name(pod: &Pod, ending: Ending) -> &str {
    let failed = pod.spec.containers.iter().find(|container| pod.spec.restarts(container, ending.exit_code));
    failed.map_or("", |container| container.name.as_str())
}

/// The end that annotations name. A pod of a dump that was killed for its memory with that code is so again.
pub(super) fn ends_by_itself(pod: &Pod, now: SimTime) -> Ending {
    let ending = Ending::exit(settings::exit_code(pod), now);
    let was = pod.containers.iter().find_map(|status| status.last);
    match was.filter(|was| was.exit_code == ending.exit_code && ending.exit_code != 0) {
        Some(was) => Ending { reason: was.reason, ..ending },
        None => ending,
    }
}
