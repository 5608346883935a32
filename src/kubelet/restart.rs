//! Containers that end: restart, back-off, and the phase of a pod that is done.

use smallvec::SmallVec;

use super::init;
use super::phase::{Fate, phase, restarts_after};
use super::pod_worker::{Stage, Worker};
use super::pull::Start;
use super::{Kubelets, Timer, settings, tell};
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch, Request};
use crate::state::{ContainerState, ContainerStatus, Ending, Pod, PodId, PodPhase, Power, Status};
use crate::units::{SimDuration, SimTime};

/// First wait of a container that crashed again; doubled up to the longest.
const FIRST_WAIT: SimDuration = SimDuration::from_secs(10);

/// The back-off of one pod's containers.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct BackOff {
    wait: SimDuration,
    started_at: Option<SimTime>,
}

impl BackOff {
    /// How long to wait after an end at `finished_at`, given that containers started at `started_at`.
    ///
    /// # Source
    /// kubelet, `doBackOff`: at once the first time, then 10 s doubling to five minutes; forgotten when the container ran
    /// for more than twice the longest wait.
    pub(super) fn next(&mut self, started_at: SimTime, finished_at: SimTime, longest: SimDuration) -> SimDuration {
        let ran = finished_at.saturating_since(started_at);
        if self.started_at.is_none() || ran > longest * 2 {
            *self = Self { wait: SimDuration::ZERO, started_at: Some(started_at) };
            self.wait = FIRST_WAIT;
            return SimDuration::ZERO;
        }
        let wait = self.wait.min(longest);
        self.wait = (self.wait * 2).min(longest);
        self.started_at = Some(started_at);
        wait
    }

    /// That of containers which have been restarted so often, and how long they wait for the next time.
    fn after(restarts: u32, now: SimTime, longest: SimDuration) -> (Self, SimDuration) {
        let doublings = restarts.saturating_sub(1).min(16);
        let wait = (FIRST_WAIT * (1 << doublings)).min(longest);
        (Self { wait: (wait * 2).min(longest), started_at: Some(now) }, wait)
    }
}

impl Kubelets {
    /// A container of the pod ended: as is given, or with the code that its annotation names.
    pub(super) fn container_ended(&mut self, pod: PodId, ending: Option<Ending>, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        let machine = ctx.store.machine(node);
        // A container that ends at once does so before its start has reached the API.
        let runs = self.workers.get(&pod).map_or(object.phase == PodPhase::Running, |w| w.stage == Stage::Running);
        if !runs || object.phase.is_terminal() || machine.power != Power::On {
            return;
        }
        let ending = ending.unwrap_or_else(|| ends_by_itself(object, ctx.now));
        let code = ending.exit_code;
        if !machine.kubelet_running {
            self.workers.entry(pod).or_insert_with(|| Worker::new(Stage::Running)).ended_unseen = Some(ending);
            return;
        }
        if self.workers.get(&pod).is_some_and(|w| matches!(w.stage, Stage::Stopping | Stage::Stopped)) {
            return;
        }
        let started_at = object.containers.first().map_or(object.created_at, |c| match c.state {
            ContainerState::Running { since } => since,
            _ => object.created_at,
        });
        let started_at = self.workers.get(&pod).and_then(|w| w.since).unwrap_or(started_at);
        let restarts = restarts_after(object.spec.restart_policy, code);
        let ended = ContainerState::Terminated(ending);
        let mut patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
        if !restarts {
            let count = self.workers.get(&pod).map_or(0, |w| w.restarts).max(object.restarts_max());
            let statuses = containers(object, ended, count);
            let inits = init::done_statuses(object, 0, ctx.now);
            patch.phase = Some(phase(&object.spec, &inits, &statuses, Fate::Open));
            patch.containers = Some(statuses);
            self.forget(pod, ctx);
            self.post_if_heard(pod, patch, ctx);
            return;
        }
        let worker = self.workers.entry(pod).or_insert_with(|| Worker::new(Stage::Running));
        let wait = worker.back_off.next(started_at, ctx.now, ctx.config.kubelet.restart_period_max);
        // The start of this run may not have reached the API yet.
        let count = worker.restarts.max(object.restarts_max());
        (worker.begun, worker.restarts, worker.ended) = (count, count + 1, Some(ending));
        if wait == SimDuration::ZERO {
            self.post_if_heard(pod, patch, ctx);
            self.restart(pod, ctx);
            return;
        }
        let wait = settings::synced(object, wait, "restart-sync", count.into(), ctx);
        let ticket = ctx.arm_in(wait, Timer::Restart(pod));
        worker.replace(Stage::BackingOff, Some(ticket), ctx);
        let mut statuses = containers(object, ContainerState::CrashLoopBackOff, count);
        statuses.iter_mut().for_each(|status| status.last = Some(ending));
        patch.containers = Some(statuses);
        let names: Vec<&str> = object.spec.containers.iter().map(|c| c.name.as_str()).collect();
        let message = back_off_text(names.first().copied().unwrap_or(""), object);
        self.event(node, EventDraft::warning("BackOff", ObjectRef::pod(object), message), ctx);
        self.post_if_heard(pod, patch, ctx);
    }

    /// A pod that a run finds between two crashes waits on, for a part of its back-off that nothing tells.
    pub(super) fn goes_on_backing_off(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node.filter(|&node| ctx.store.machine(node).kubelet_alive()) else { return };
        if self.is_stand_in(node, ctx) {
            self.restart(pod, ctx);
            return;
        }
        let (back_off, wait) = BackOff::after(object.restarts_max(), ctx.now, ctx.config.kubelet.restart_period_max);
        let left = wait.as_secs_f64() * ctx.streams.at("crash-loop-found", &settings::entity(object), 0).unit();
        let ticket = ctx.arm_in(SimDuration::from_secs_f64(left), Timer::Restart(pod));
        let worker = self.workers.entry(pod).or_insert_with(|| Worker::new(Stage::BackingOff));
        worker.back_off = back_off;
        worker.replace(Stage::BackingOff, Some(ticket), ctx);
    }

    /// Starts the pod's containers once more.
    pub(super) fn restart(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        self.restart_as(pod, Start::Containers, ctx);
    }

    /// Makes the pod anew in place: its init containers run first.
    pub(super) fn restart_whole(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        self.restart_as(pod, Start::Whole, ctx);
    }

    fn restart_as(&mut self, pod: PodId, start: Start, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        if !ctx.store.machine(node).kubelet_alive() || object.deletion.is_some() {
            return;
        }
        let inits = object.init_containers.iter().map(|status| status.restarts).max().unwrap_or(0);
        let worker = self.workers.entry(pod).or_insert_with(|| Worker::new(Stage::Running));
        if start == Start::Whole && worker.start != Start::Whole {
            worker.init_restarts = worker.init_restarts.max(inits) + 1;
        }
        worker.start = start;
        worker.restarts = worker.restarts.max(object.restarts_max() + 1);
        let restarts = worker.restarts;
        self.start_after_images(pod, node, restarts, ctx);
    }

    /// Posts a status if the API server can be reached; what cannot be posted is made up for on return.
    pub(super) fn post_if_heard(&mut self, pod: PodId, patch: PodStatusPatch, ctx: &mut Ctx<'_, Self>) {
        let Some(node) = ctx.store.pod(pod).and_then(|p| p.node) else { return };
        if self.hears(node, ctx) {
            let unposted = self.workers.get_mut(&pod).and_then(|worker| worker.unposted.take());
            let patch = match unposted {
                Some(mut older) => {
                    merge(&mut older, patch);
                    older
                }
                None => Box::new(patch),
            };
            tell(ctx, Request::PatchPodStatus { pod, patch });
        } else {
            let worker = self.workers.entry(pod).or_insert_with(|| Worker::new(Stage::Running));
            match &mut worker.unposted {
                Some(older) => merge(older, patch),
                none => *none = Some(Box::new(patch)),
            }
        }
    }
}

/// The end that annotations name. A pod of a dump that was killed for its memory with that code is so again.
fn ends_by_itself(pod: &Pod, now: SimTime) -> Ending {
    let ending = Ending::exit(settings::exit_code(pod), now);
    let was = pod.containers.iter().find_map(|status| status.last);
    match was.filter(|was| was.exit_code == ending.exit_code && ending.exit_code != 0) {
        Some(was) => Ending { reason: was.reason, ..ending },
        None => ending,
    }
}

/// What the event of a back-off says.
pub(super) fn back_off_text(container: &str, pod: &Pod) -> String {
    let (name, namespace, uid) = (&pod.name, pod.namespace, &pod.uid);
    format!("Back-off restarting failed container {container} in pod {name}_{namespace}({uid})")
}

/// Lays a newer status over an older one that was never posted.
fn merge(older: &mut PodStatusPatch, newer: PodStatusPatch) {
    older.phase = newer.phase.or(older.phase);
    older.reason = newer.reason.or(older.reason);
    older.ready = newer.ready.or(older.ready);
    older.started = older.started.or(newer.started);
    older.disruption = newer.disruption.or(older.disruption);
    if newer.containers.is_some() {
        older.containers = newer.containers;
    }
    if newer.init_containers.is_some() {
        older.init_containers = newer.init_containers;
    }
}

/// All containers of the pod in one state, with their restarts.
pub(super) fn containers(pod: &Pod, state: ContainerState, restarts: u32) -> SmallVec<[ContainerStatus; 1]> {
    pod.spec.containers.iter().map(|_| ContainerStatus { state, ready: false, restarts, last: None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crash_loops_wait_ten_seconds_doubling_to_five_minutes() {
        let mut back_off = BackOff::default();
        let longest = SimDuration::from_secs(300);
        let at = SimTime::ZERO;
        let waits: Vec<u64> = (0..8).map(|_| back_off.next(at, at, longest).as_secs()).collect();
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
    }

    #[test]
    fn a_crash_loop_that_is_found_waits_as_long_as_it_had_come_to() {
        let longest = SimDuration::from_secs(300);
        for (restarts, expected) in [(0, 10), (1, 10), (2, 20), (5, 160), (6, 300), (4_000_000_000, 300)] {
            let (mut back_off, wait) = BackOff::after(restarts, SimTime::ZERO, longest);
            assert_eq!(wait.as_secs(), expected, "{restarts}");
            assert_eq!(back_off.next(SimTime::ZERO, SimTime::ZERO, longest), (wait * 2).min(longest));
        }
    }

    #[test]
    fn a_container_that_ran_over_ten_minutes_is_restarted_at_once() {
        let mut back_off = BackOff::default();
        let longest = SimDuration::from_secs(300);
        let at = SimTime::ZERO;
        for _ in 0..3 {
            back_off.next(at, at, longest);
        }
        assert_eq!(back_off.next(at, at + SimDuration::from_secs(601), longest), SimDuration::ZERO);
    }
}
