//! Syncs that are under way: what ends a pod waits for the one that starts its containers.

use super::bound_pod::BoundPod;
use super::init::Sequence;
use super::running::Running;
use super::worker::{Awaits, End, Launch, Worker, WorkerState};
use super::{Kubelets, settings, statuses};
use crate::component::Ctx;
use crate::model::Container;
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
    let is_started = |(index, container): &(usize, &Container)| {
        known.get(*index).is_none_or(|status| !statuses::is_done(container, &pod, status))
    };
    let started = pod.spec.containers.iter().enumerate().skip(from).filter(is_started);
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
        let launch = match &worker.state {
            WorkerState::Starting(launch, _) => *launch,
            WorkerState::Running(run) => {
                let kill = run.killed.filter(|kill| !kill.is_orphan)?;
                let starts = settings::start_latency(&pod, worker.restarts + 1, ctx);
                let ends = kill.at + starts + hooks(worker, pod, 0);
                return Some(Sync { ends, then: self.running(pod, ctx), first: 0 });
            }
            _ => return None,
        };
        let WorkerState::Starting(_, awaits) = &worker.state else { return None };
        let is_run_by_all = |ends: SimTime, first: usize| {
            let sidecars = pod.spec.init_containers.iter().enumerate().filter(|(_, container)| container.is_sidecar());
            let inits = sidecars.map(|(index, _)| index).collect();
            (ctx.now < ends).then_some(Sync { ends, then: Running { begun: pod.spec.containers.len(), inits }, first })
        };
        let (begun, regular) = match awaits {
            Awaits::Image { fails, .. } => {
                let then = self.running(pod, ctx);
                return (ctx.now < *fails).then_some(Sync { ends: *fails, then, first: usize::MAX });
            }
            Awaits::Hook { next, since, ticket: Some(_) } => {
                let slept = hooks(worker, pod, 0);
                return is_run_by_all(*since + slept, *next);
            }
            Awaits::Containers { images_at, begins, runs, .. } => (*images_at, Some((*begins, *runs))),
            Awaits::Inits { begun, .. } => (*begun, None),
            Awaits::Room(_)
            | Awaits::Volumes(_)
            | Awaits::InitRestart(_)
            | Awaits::Hook { ticket: None, .. }
            | Awaits::Process { .. } => return None,
        };
        let has_inits = launch != Launch::Containers && !pod.spec.init_containers.is_empty();
        if let Some((begins, runs)) = regular.filter(|(begins, _)| !has_inits || *begins <= ctx.now) {
            debug_assert!(has_inits || begins >= begun, "containers without init containers begin with their images");
            return is_run_by_all(runs + hooks(worker, pod, 0), 0);
        }
        let sequence = Sequence::of(&pod, worker, begun, ctx);
        let ends = sequence.sync_ends(&pod, ctx.now)?;
        let then = Running { begun: 0, inits: sequence.running(ends).collect() };
        Some(Sync { ends, then, first: usize::MAX })
    }

    /// A sync of the pod may be over: if so, and somebody has asked for its end meanwhile, it is ended now. Whether it is.
    ///
    /// # Source
    /// kubelet, `podWorkerLoop`: what was asked last of a pod is done when the sync before has returned.
    pub(super) fn sync_is_over(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) -> bool {
        if self.workers.get(&pod.id).is_none_or(|worker| worker.after_sync.is_none()) || self.sync(pod, ctx).is_some() {
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
            Some(older) => End { grace: older.grace.min(end.grace), status: end.status.or(older.status) },
            None => end,
        };
        self.after_sync = Some(Box::new(end));
    }
}
