//! Syncs that are under way: what ends a pod waits for the one that starts its containers.

use super::bound_pod::BoundPod;
use super::running::Running;
use super::worker::{Awaits, End, Worker, WorkerState};
use super::{Kubelets, settings, statuses};
use crate::component::Ctx;
use crate::units::{SimDuration, SimTime};

/// A sync that pulls an image, starts containers, waits for their hooks, or kills one that failed its probe.
#[derive(Clone, Debug)]
pub(super) struct Sync {
    /// When it is over, as far as can be foreseen.
    pub(super) ends: SimTime,
    /// What runs then.
    pub(super) then: Running,
    /// The first of the regular containers that it starts.
    pub(super) first: usize,
}

/// How long the hooks sleep of the pod's containers from that one on, of those that are started.
fn hooks(worker: &Worker, pod: BoundPod<'_>, from: usize) -> SimDuration {
    let known = statuses::known(Some(worker), &pod);
    let started = statuses::undone(&pod, known).filter(|(index, _)| *index >= from);
    started.fold(SimDuration::ZERO, |sum, (_, container)| sum + settings::post_start(container))
}

impl Kubelets {
    /// The sync of the pod that is under way, if one is. While init containers run, a pull is waited for with back-off, or volumes are
    /// looked for, there is none that would not be broken off.
    ///
    /// # Source
    /// kubelet, `SyncPod`: but for the wait for volumes, which comes first, it does not look at whether somebody wants the pod's worker for
    /// something else.
    pub(super) fn sync(&self, pod: BoundPod<'_>, ctx: &Ctx<'_, Self>) -> Option<Sync> {
        let worker = self.workers.get(&pod.id)?;
        let awaits = match &worker.state {
            WorkerState::Starting(_, awaits) => awaits,
            WorkerState::Running(run) => {
                let kill = run.killed.filter(|kill| !kill.is_orphan)?;
                let starts = settings::start_latency(&pod, worker.restarts + 1, ctx);
                let ends = kill.at + starts + hooks(worker, pod, 0);
                return Some(Sync { ends, then: self.running(pod, ctx), first: 0 });
            }
            _ => return None,
        };
        let is_run_by_all = |ends: SimTime, first: usize| {
            let sidecars = pod.spec.init_containers.iter().enumerate().filter(|(_, container)| container.is_sidecar());
            let inits = sidecars.map(|(index, _)| index).collect();
            Sync { ends, then: Running { begun: pod.spec.containers.len(), inits }, first }
        };
        let sync = match awaits {
            Awaits::Image { fails, .. } => Sync { ends: *fails, then: self.running(pod, ctx), first: usize::MAX },
            Awaits::Hook { next, since, ticket: Some(_) } => is_run_by_all(*since + hooks(worker, pod, 0), *next),
            Awaits::Containers { runs, ticket: Some(_), .. } => is_run_by_all(*runs + hooks(worker, pod, 0), 0),
            Awaits::Init(run) => {
                let ends = run.sync_ends(pod.spec.init_containers.get(worker.at_init)?);
                let then = Running { begun: 0, inits: worker.running_inits(&pod, Some(run), ends) };
                // Of the timers of one instant another may come before that which lets it begin.
                let is_under_way = ctx.now < ends || !run.has_begun;
                return is_under_way.then_some(Sync { ends, then, first: usize::MAX });
            }
            Awaits::Room(_)
            | Awaits::Volumes(_)
            | Awaits::InitRestart(_)
            | Awaits::Hook { ticket: None, .. }
            | Awaits::Containers { ticket: None, .. }
            | Awaits::Process => return None,
        };
        Some(sync).filter(|sync| ctx.now < sync.ends)
    }

    /// A sync of the pod may be over: if so, and somebody has asked for its end meanwhile, it is ended now. Whether it is.
    ///
    /// # Source
    /// kubelet, `podWorkerLoop`: what was asked last of a pod is done when the sync before has returned.
    pub(super) fn sync_is_over(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) -> bool {
        let is_asked_for =
            self.workers.get(&pod.id).is_some_and(|worker| worker.after_sync.is_some() && !worker.is_rejected());
        if !is_asked_for || self.sync(pod, ctx).is_some() {
            return false;
        }
        let Some(end) = self.workers.get_mut(&pod.id).and_then(|worker| worker.after_sync.take()) else { return false };
        if self.workers.get(&pod.id).is_some_and(Worker::is_terminated) {
            self.over_and_deleted(pod, ctx);
        } else {
            self.stop(pod, end.grace, end.status, ctx);
        }
        true
    }
}

impl Worker {
    /// The pod is to be ended when its sync is over. Of several graces the shortest counts.
    ///
    /// # Source
    /// kubelet, `calculateEffectiveGracePeriod`.
    pub(super) fn end_after_sync(&mut self, end: End) {
        let end = match self.after_sync.take() {
            Some(older) => {
                let grace = older.grace.min(end.grace);
                End { grace, status: end.status.or(older.status), is_rejected: older.is_rejected }
            }
            None => end,
        };
        self.after_sync = Some(Box::new(end));
    }
}
