//! Probes that fail: applications that stop answering are taken out of traffic and killed.

use super::bound_pod::BoundPod;
use super::grace::{TERMINATED, code_in_time, stop};
use super::probe_timing::{
    EVENTS_MAX, ProbeKind, fails_at, first_to_fail, next_run, period, probed_from, seconds, threshold,
};
use super::restart::SeenBy;
use super::status_manager::post;
use super::timer::PodTimer;
use super::worker::{Kill, Run, Worker, WorkerState, rearm};
use super::{Kubelets, readiness, settings, statuses};
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch};
use crate::model::{ContainerRestartPolicy, Probe, RestartPolicy};
use crate::state::{Ending, Pod, Status};
use crate::units::{SimDuration, SimTime};

/// The next run of the readiness probe that finds the application not up yet, though in time. Where there is a startup probe, that is
/// asked first.
fn next_early(pod: &Pod, worker: &Worker, ctx: &Ctx<'_, Kubelets>) -> Option<SimTime> {
    let run = worker.run().filter(|run| run.early < EVENTS_MAX)?;
    let since = run.since?;
    let up_at = since + settings::application_latency(pod, worker.restarts, ctx);
    let known = statuses::known(Some(worker), pod);
    if first_to_fail(pod, known, ProbeKind::Startup).is_some() {
        return None;
    }
    let (_, probe) = first_to_fail(pod, known, ProbeKind::Readiness)?;
    let runs = readiness::runs(pod, probe, worker.restarts, run.probed(known, since), ctx);
    let first = runs.first_from(probed_from(probe, since));
    Some(runs.at(first + run.early)).filter(|at| *at < up_at)
}

/// The first run of a probe's worker that a kubelet has started at an instant, soon after its process began.
///
/// # Source
/// kubelet, `worker.run`: it sleeps for a part of its period first.
pub(super) fn beat(pod: &Pod, kind: ProbeKind, probe: &Probe, begun_at: SimTime, ctx: &Ctx<'_, Kubelets>) -> SimTime {
    let concern = match kind {
        ProbeKind::Startup => "startup-prober",
        ProbeKind::Liveness => "liveness-prober",
        ProbeKind::Readiness => "readiness-prober",
    };
    let instant_ms = begun_at.as_nanos().unsigned_abs() / 1_000_000;
    let unit = ctx.streams.at(concern, &settings::entity(pod), instant_ms).unit();
    begun_at + SimDuration::from_secs_f64(unit * period(probe).as_secs_f64())
}

/// When the worker of a startup or liveness probe began: with the kubelet that has taken the pod over, if there is such, else with the pod.
/// Of a pod of the input that is a time stamp, which is cut to the second.
///
/// # Source
/// kubelet, `worker.run`: the worker of a pod that is nearly as old as the kubelet sleeps for a part of its period first.
pub(super) fn begun_at(
    pod: &Pod,
    kind: ProbeKind,
    probe: &Probe,
    taken_over_at: Option<SimTime>,
    ctx: &Ctx<'_, Kubelets>,
) -> SimTime {
    if let Some(at) = taken_over_at {
        return beat(pod, kind, probe, at, ctx);
    }
    let scheduled_at = pod.scheduled_at.unwrap_or(pod.created_at);
    let node = pod.node.filter(|node| !ctx.store.machine(*node).has_stand_in_kubelet);
    let is_cut = scheduled_at < SimTime::ZERO && scheduled_at == scheduled_at.floor_to_second();
    let Some(node) = node.and_then(|node| ctx.store.node(node)).filter(|_| is_cut) else { return scheduled_at };
    if scheduled_at < node.created_at + period(probe) {
        return beat(pod, kind, probe, scheduled_at, ctx);
    }
    let part = ctx.streams.stream("prober-begun", &settings::entity(pod)).unit();
    scheduled_at + SimDuration::from_secs_f64(part)
}

/// When the worker of a startup probe began. When a run begins no kubelet does, and who has not started yet is asked as before.
fn startup_worker_at(pod: &Pod, probe: &Probe, run: &Run, ctx: &Ctx<'_, Kubelets>) -> SimTime {
    begun_at(pod, ProbeKind::Startup, probe, run.probers_at.filter(|at| *at > SimTime::ZERO), ctx)
}

/// How often the startup probe of a pod of the input has failed before the run began, as far as its time stamps tell; it has not killed yet.
fn startup_misses(pod: &Pod, worker: &Worker, run: &Run, ctx: &Ctx<'_, Kubelets>) -> u64 {
    let failing = first_to_fail(pod, statuses::known(Some(worker), pod), ProbeKind::Startup);
    let Some(((_, probe), since)) = failing.zip(worker.runs_since(pod)) else { return 0 };
    let first = next_run(probe, startup_worker_at(pod, probe, run, ctx), probed_from(probe, since));
    let failed_for =
        ctx.now.min(since + settings::application_latency(pod, worker.restarts, ctx)).saturating_since(first);
    failed_for.as_nanos().div_ceil(period(probe).as_nanos()).min(threshold(probe) - 1)
}

/// The next failed probe of this pod, given what has failed already. An application that does not listen refuses at once; one that
/// hangs lets the probe wait for its timeout.
fn next_failure(
    pod: &Pod,
    worker: &Worker,
    run: &Run,
    since: SimTime,
    ctx: &Ctx<'_, Kubelets>,
) -> Option<(SimTime, ProbeKind)> {
    let (known, restarts) = (statuses::known(Some(worker), pod), worker.restarts);
    let worker_at = |kind: ProbeKind, probe: &Probe| begun_at(pod, kind, probe, run.probers_at, ctx);
    let silent_at = settings::healthy_for(pod, restarts, ctx).map(|healthy_for| since + healthy_for);
    let up_at = since + settings::application_latency(pod, restarts, ctx);
    // Since 1.35 what had started when a kubelet began anew is not asked again whether it has.
    let is_started = ctx.config.version.at_least(35) && run.probers_at.is_some_and(|at| up_at < at);
    let mut started_at = since;
    if let Some((_, probe)) = first_to_fail(pod, known, ProbeKind::Startup).filter(|_| !is_started) {
        let from = probed_from(probe, since);
        let first = next_run(probe, startup_worker_at(pod, probe, run, ctx), from);
        let at = first + period(probe) * run.misses[ProbeKind::Startup as usize];
        if at < up_at || silent_at.is_some_and(|silent_at| silent_at <= at) {
            return Some((at, ProbeKind::Startup));
        }
        // Nothing else is asked before.
        started_at = at;
    }
    let silent_at = silent_at?.max(started_at);
    let readiness = || {
        let failures = run.misses[ProbeKind::Readiness as usize];
        let (_, probe) = first_to_fail(pod, known, ProbeKind::Readiness)?;
        if failures >= EVENTS_MAX.max(threshold(probe)) {
            return None;
        }
        let runs = readiness::runs(pod, probe, restarts, run.probed(known, since), ctx);
        let first = runs.first_from(silent_at.max(probed_from(probe, since)));
        let timeout = seconds(probe.timeout_seconds.unwrap_or(1).max(1));
        Some((runs.at(first + failures) + timeout, ProbeKind::Readiness))
    };
    let readiness = readiness();
    let (kind, failures) = (ProbeKind::Liveness, run.misses[ProbeKind::Liveness as usize]);
    let liveness = first_to_fail(pod, known, kind)
        .filter(|(_, probe)| failures < EVENTS_MAX.max(threshold(probe)))
        .map(|(_, probe)| (fails_at(probe, worker_at(kind, probe), since, silent_at, failures), kind));
    [readiness, liveness].into_iter().flatten().min_by_key(|(at, _)| *at)
}

/// Whether probes of the pod may fail; those of most cannot.
fn may_fail(pod: &Pod) -> bool {
    let mut containers = pod.spec.containers.iter();
    !pod.spec.annotations.is_empty()
        && containers.any(|c| c.startup_probe.is_some() || c.liveness_probe.is_some() || c.readiness_probe.is_some())
}

impl Worker {
    /// Waits for the next probe that fails, if containers run.
    pub(super) fn watch_probes(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Kubelets>) {
        let Some(run) = self.run().filter(|run| run.killed.is_none() && may_fail(&pod)) else { return };
        let since = self.runs_since(&pod).unwrap_or(ctx.now);
        let failure = next_failure(&pod, self, run, since, ctx);
        let early = next_early(&pod, self, ctx).map(|at| pod.arm(at.max(ctx.now), PodTimer::ProbeEarly, ctx));
        let ticket =
            early.or_else(|| failure.map(|(at, kind)| pod.arm(at.max(ctx.now), PodTimer::ProbeFailed(kind), ctx)));
        if let Some(run) = self.run_mut() {
            rearm(&mut run.probe, ticket, ctx);
        }
    }
}

impl Kubelets {
    /// The probes of a pod whose containers were running when somebody first looked. What has failed of them before is not known, but for
    /// startup probes when a run begins.
    pub(super) fn probes_found(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if !may_fail(&pod) {
            return;
        }
        let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::running(&pod));
        let misses = match worker.run().filter(|_| ctx.now <= SimTime::ZERO) {
            Some(run) => startup_misses(&pod, worker, run, ctx),
            None => 0,
        };
        if let Some(run) = worker.run_mut() {
            run.probers_at = Some(ctx.now);
            run.misses[ProbeKind::Startup as usize] += misses;
        }
        worker.watch_probes(pod, ctx);
        self.settle(pod);
    }

    /// A probe has failed; often enough, and it counts.
    ///
    /// # Source
    /// kubelet, prober and `doBackOff`: a container that fails its liveness or startup probe is killed with the probe's own
    /// grace, else the pod's, and then restarted as if it had ended.
    ///
    /// # Differs
    /// Containers of a pod fail together, and events are of one of them.
    pub(super) fn probe_failed(&mut self, pod: BoundPod<'_>, kind: ProbeKind, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let failing = first_to_fail(&pod, statuses::known(Some(worker), &pod), kind);
        let Some(run) = worker.run_mut() else { return };
        run.probe = None;
        let Some((container, probe)) = failing else { return };
        let failures = &mut run.misses[kind as usize];
        *failures += 1;
        let is_enough = *failures == threshold(probe);
        let is_told = *failures <= EVENTS_MAX;
        let (title, word) = kind.words();
        if is_told {
            let text = format!("{title} probe failed: no answer");
            self.links.event(pod.node, EventDraft::warning("Unhealthy", ObjectRef::pod(&pod), text), ctx);
        }
        if !is_enough {
            worker.watch_probes(pod, ctx);
            self.settle(pod);
            return;
        }
        if kind == ProbeKind::Readiness {
            self.silence(pod, ctx);
            return;
        }
        // Rules do not count, as the container still runs.
        let is_restarted = match container.restart_policy {
            Some(policy) => policy != ContainerRestartPolicy::Never,
            None => pod.spec.restart_policy != RestartPolicy::Never,
        };
        let rest = if is_restarted { ", will be restarted" } else { "" };
        let text = format!("Container {} failed {word} probe{rest}", container.name);
        self.links.event(pod.node, EventDraft::normal("Killing", ObjectRef::pod(&pod), text), ctx);
        let own = kind.of(container).and_then(|probe| probe.termination_grace_period_seconds);
        let grace_s = own.or(pod.spec.termination_grace_period_seconds).unwrap_or(30).max(1);
        let grace = SimDuration::from_secs(grace_s.unsigned_abs());
        let stop = stop(settings::pre_stop(&pod.spec.containers), settings::exit_latency(&pod, ctx), grace);
        // Who restarts on failure alone is restarted, too.
        let in_time = if pod.spec.restart_policy == RestartPolicy::Always { code_in_time(&pod) } else { TERMINATED };
        let code = stop.code(in_time);
        run.killed = Some(Kill { at: ctx.now + stop.takes, code, is_orphan: false });
        run.probe = Some(pod.arm_in(stop.takes, PodTimer::ProbeKilled(code), ctx));
        if kind == ProbeKind::Startup {
            // It is not asked any more, and nothing else before it has succeeded.
            rearm(&mut run.ready, None, ctx);
        }
    }

    /// The readiness probe has found the application not up yet, and asks again a period later.
    pub(super) fn probe_early(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let Some(run) = worker.run_mut() else { return };
        run.probe = None;
        run.early += 1;
        let text = format!("{} probe failed: no answer", ProbeKind::Readiness.words().0);
        self.links.event(pod.node, EventDraft::warning("Unhealthy", ObjectRef::pod(&pod), text), ctx);
        worker.watch_probes(pod, ctx);
        self.settle(pod);
    }

    /// The container that failed its probe has stopped.
    pub(super) fn probe_killed(&mut self, pod: BoundPod<'_>, code: i32, ctx: &mut Ctx<'_, Self>) {
        self.killed_by_probe(pod, Ending::exit(code, ctx.now), ctx);
    }

    /// The container that failed its probe, or is to run with another image, has ended, because it was told to or by itself.
    pub(super) fn killed_by_probe(&mut self, pod: BoundPod<'_>, ending: Ending, ctx: &mut Ctx<'_, Self>) {
        let (mut seen_by, mut is_replaced) = (SeenBy::Killer, false);
        let end = self.workers.get_mut(&pod.id).and_then(|worker| worker.after_sync.take());
        if let Some(run) = self.workers.get_mut(&pod.id).and_then(Worker::run_mut) {
            for timer in [&mut run.ready, &mut run.end, &mut run.probe] {
                rearm(timer, None, ctx);
            }
            if run.killed.take().is_some_and(|kill| kill.is_orphan) {
                seen_by = SeenBy::NextSync;
            }
            is_replaced = std::mem::take(&mut run.is_replaced);
        }
        if is_replaced {
            self.replaced(pod, ending, ctx);
        } else {
            self.ended(pod, ending, seen_by, ctx);
        }
        // The sync that has killed them starts them again, unless they back off.
        if let Some(end) = end {
            self.workers.entry(pod.id).or_insert_with(|| Worker::new(WorkerState::Over)).after_sync = Some(end);
            self.sync_is_over(pod, ctx);
        }
    }

    /// The pod is taken out of traffic.
    fn silence(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let Some(run) = worker.run_mut() else { return };
        run.is_silent = true;
        rearm(&mut run.ready, None, ctx);
        let containers = statuses::running(Some(worker), &pod, false);
        let patch =
            PodStatusPatch { ready: Some(Status::False), containers: Some(containers), ..PodStatusPatch::default() };
        post(&self.links, worker, pod, patch, ctx);
        worker.watch_probes(pod, ctx);
        self.settle(pod);
    }
}
