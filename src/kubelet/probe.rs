//! Probes that fail: applications that stop answering are taken out of traffic and killed.

use super::pod_worker::{Stage, Worker};
use super::termination::stop_time;
use super::{Kubelets, Timer, settings};
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch};
use crate::model::{Container, Probe};
use crate::state::{Ending, Pod, PodId, Status};
use crate::units::{SimDuration, SimTime};

/// Exit code of a container that ended at SIGTERM.
pub(super) const TERMINATED: i32 = 143;
/// Exit code of a container that had to be killed.
pub(super) const KILLED: i32 = 137;

/// Which probe failed for good.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// The container is killed.
    Startup,
    /// The container is killed.
    Liveness,
    /// The pod is not ready.
    Readiness,
}

impl ProbeKind {
    fn of(self, container: &Container) -> Option<&Probe> {
        match self {
            Self::Startup => container.startup_probe.as_deref(),
            Self::Liveness => container.liveness_probe.as_deref(),
            Self::Readiness => container.readiness_probe.as_deref(),
        }
    }

    /// How an event's text names it, at its beginning and within.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Startup => ("Startup", "startup"),
            Self::Liveness => ("Liveness", "liveness"),
            Self::Readiness => ("Readiness", "readiness"),
        }
    }
}

pub(super) fn seconds(count: i32) -> SimDuration {
    SimDuration::from_secs(count.max(0).unsigned_abs().into())
}

fn period(probe: &Probe) -> SimDuration {
    seconds(probe.period_seconds.unwrap_or(10).max(1))
}

/// The first run at or after an instant of a worker that runs every period.
pub(super) fn next_run(probe: &Probe, worker_at: SimTime, from: SimTime) -> SimTime {
    let period = period(probe);
    worker_at + period * from.saturating_since(worker_at).as_nanos().div_ceil(period.as_nanos())
}

/// How many failures in a row count.
fn threshold(probe: &Probe) -> u64 {
    probe.failure_threshold.unwrap_or(3).max(1).unsigned_abs().into()
}

/// So many events of failed probes are kept of one container; more of them the recorder takes for spam.
///
/// # Source
/// client-go, `EventSourceObjectSpamFilter`: 25 at once, then one in five minutes.
const EVENTS_MAX: u64 = 25;

/// When the run of a probe has failed that so many failures went before, for an application that does not answer from `silent_at`
/// on.
///
/// # Source
/// kubelet, prober: a worker runs every period from its own start, not before `initialDelaySeconds` of the container; each
/// failure takes `timeoutSeconds`, and `failureThreshold` in a row count.
fn fails_at(
    probe: &Probe,
    worker_at: SimTime,
    container_at: SimTime,
    silent_at: SimTime,
    failures_before: u64,
) -> SimTime {
    let from = silent_at.max(container_at + seconds(probe.initial_delay_seconds));
    next_run(probe, worker_at, from)
        + period(probe) * failures_before
        + seconds(probe.timeout_seconds.unwrap_or(1).max(1))
}

/// The container whose probe of a kind fails for good first.
fn first_to_fail(pod: &Pod, kind: ProbeKind) -> Option<(&Container, &Probe)> {
    let probed = pod.spec.containers.iter().filter_map(|container| Some((container, kind.of(container)?)));
    probed.min_by_key(|(_, probe)| seconds(probe.initial_delay_seconds) + period(probe) * threshold(probe))
}

/// The next run of a probe that finds the application not up yet, though in time: of the startup probe, or else of the readiness
/// probe. An application that does not listen refuses at once.
fn next_early(pod: &Pod, worker: &Worker, ctx: &Ctx<'_, Kubelets>) -> Option<(SimTime, ProbeKind)> {
    let since = worker.since.filter(|_| worker.early < EVENTS_MAX)?;
    let up_at = since + settings::application_latency(pod, worker.restarts, ctx);
    let (first, period, kind) = match first_to_fail(pod, ProbeKind::Startup) {
        Some((_, probe)) => {
            let worker_at = pod.scheduled_at.unwrap_or(pod.created_at);
            let first = next_run(probe, worker_at, since + seconds(probe.initial_delay_seconds));
            (first, period(probe), ProbeKind::Startup)
        }
        None => {
            let (_, probe) = first_to_fail(pod, ProbeKind::Readiness)?;
            (since + seconds(probe.initial_delay_seconds), period(probe), ProbeKind::Readiness)
        }
    };
    Some((first + period * worker.early, kind)).filter(|(at, _)| *at < up_at)
}

/// The next failed probe of this pod, given what has failed already.
fn next_failure(
    pod: &Pod,
    worker: &Worker,
    restarts: u32,
    since: SimTime,
    ctx: &Ctx<'_, Kubelets>,
) -> Option<(SimTime, ProbeKind)> {
    let worker_at = pod.scheduled_at.unwrap_or(pod.created_at);
    let next = |kind: ProbeKind, worker_at: SimTime, silent_at: SimTime| {
        let failures = worker.misses[kind as usize];
        let (_, probe) = first_to_fail(pod, kind).filter(|(_, probe)| failures < EVENTS_MAX.max(threshold(probe)))?;
        Some((fails_at(probe, worker_at, since, silent_at, failures), kind))
    };
    if let Some((_, probe)) = first_to_fail(pod, ProbeKind::Startup) {
        let up_at = since + settings::application_latency(pod, restarts, ctx);
        if fails_at(probe, worker_at, since, since, threshold(probe) - 1) < up_at {
            return next(ProbeKind::Startup, worker_at, since);
        }
    }
    let silent_at = since + settings::healthy_for(pod, restarts, ctx)?;
    // A first success has set the beat of the readiness probe.
    let readiness = next(ProbeKind::Readiness, since, silent_at);
    let liveness = next(ProbeKind::Liveness, worker_at, silent_at);
    [readiness, liveness].into_iter().flatten().min_by_key(|(at, _)| *at)
}

impl Kubelets {
    /// Waits for the next probe that fails; most pods have none.
    pub(super) fn watch_probes(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let is_probed = object
            .spec
            .containers
            .iter()
            .any(|c| c.startup_probe.is_some() || c.liveness_probe.is_some() || c.readiness_probe.is_some());
        if !is_probed || object.spec.annotations.is_empty() {
            return;
        }
        let worker = self.workers.entry(pod).or_insert_with(|| Worker::new(Stage::Running));
        let (restarts, since) = (worker.restarts, worker.since.unwrap_or(ctx.now));
        let failure = next_failure(object, worker, restarts, since, ctx);
        let is_startup = failure.is_some_and(|(_, kind)| kind == ProbeKind::Startup);
        let early = next_early(object, worker, ctx).filter(|_| !is_startup);
        let early = early.map(|(at, kind)| ctx.arm(at.max(ctx.now), Timer::ProbeEarly(pod, kind)));
        let ticket = early.or_else(|| failure.map(|(at, kind)| ctx.arm(at, Timer::ProbeFailed(pod, kind))));
        if let Some(old) = std::mem::replace(&mut worker.probe, ticket) {
            ctx.cancel(old);
        }
        self.settle(pod);
    }

    /// A probe has failed; often enough, and it counts.
    ///
    /// # Source
    /// kubelet, prober and `doBackOff`: a container that fails its liveness or startup probe is killed with the probe's own
    /// grace, else the pod's, and then restarted as if it had ended.
    ///
    /// # Differs
    /// Containers of a pod fail together, and events tell of one of them.
    pub(super) fn probe_failed(&mut self, pod: PodId, kind: ProbeKind, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        let Some(worker) = self.workers.get_mut(&pod).filter(|w| w.stage == Stage::Running) else { return };
        worker.probe = None;
        let Some((container, probe)) = first_to_fail(object, kind) else { return };
        let failures = &mut worker.misses[kind as usize];
        *failures += 1;
        let is_enough = *failures == threshold(probe);
        let (title, word) = kind.words();
        let text = format!("{title} probe failed: no answer");
        self.event(node, EventDraft::warning("Unhealthy", ObjectRef::pod(object), text), ctx);
        if !is_enough {
            self.watch_probes(pod, ctx);
            return;
        }
        if kind == ProbeKind::Readiness {
            self.silence(pod, ctx);
            return;
        }
        let text = format!("Container {} failed {word} probe, will be restarted", container.name);
        self.event(node, EventDraft::normal("Killing", ObjectRef::pod(object), text), ctx);
        let own = kind.of(container).and_then(|probe| probe.termination_grace_period_seconds);
        let grace_s = own.or(object.spec.termination_grace_period_seconds).unwrap_or(30).max(1);
        let grace = SimDuration::from_secs(grace_s.unsigned_abs());
        let takes = stop_time(settings::pre_stop(object), settings::exit_latency(object, ctx), grace);
        let ticket = ctx.arm_in(takes, Timer::ProbeKilled(pod, if takes < grace { TERMINATED } else { KILLED }));
        if let Some(worker) = self.workers.get_mut(&pod) {
            worker.probe = Some(ticket);
        }
    }

    /// A probe has found the application not up yet: it is told, and asked again a period later.
    pub(super) fn probe_early(&mut self, pod: PodId, kind: ProbeKind, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        let Some(worker) = self.workers.get_mut(&pod).filter(|worker| worker.stage == Stage::Running) else { return };
        worker.probe = None;
        worker.early += 1;
        let text = format!("{} probe failed: no answer", kind.words().0);
        self.event(node, EventDraft::warning("Unhealthy", ObjectRef::pod(object), text), ctx);
        self.watch_probes(pod, ctx);
    }

    /// The container that failed its probe has stopped.
    pub(super) fn probe_killed(&mut self, pod: PodId, code: i32, ctx: &mut Ctx<'_, Self>) {
        if let Some(worker) = self.workers.get_mut(&pod) {
            worker.probe = None;
            if let Some(ticket) = worker.ticket.take() {
                ctx.cancel(ticket);
            }
        }
        self.container_ended(pod, Some(Ending::exit(code, ctx.now)), ctx);
    }

    /// The pod is taken out of traffic.
    fn silence(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(worker) = self.workers.get_mut(&pod) else { return };
        worker.is_silent = true;
        if let Some(ticket) = worker.ticket.take() {
            ctx.cancel(ticket);
        }
        let containers = self.running_statuses(pod, object, false);
        let patch =
            PodStatusPatch { ready: Some(Status::False), containers: Some(containers), ..PodStatusPatch::default() };
        self.post_if_heard(pod, patch, ctx);
        self.watch_probes(pod, ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_count_on_the_workers_beat_and_after_the_threshold() {
        let check = |probe: &str, container_s: i64, silent_s: i64, expected_s: i64| {
            let probe: Probe = serde_saphyr::from_str(probe).expect("a probe");
            let (container_at, silent_at) = (SimTime::from_secs(container_s), SimTime::from_secs(silent_s));
            let at = fails_at(&probe, SimTime::ZERO, container_at, silent_at, threshold(&probe) - 1);
            assert_eq!(at, SimTime::from_secs(expected_s), "{probe:?}");
        };
        // Runs at 60, 70, 80; the last one takes its timeout.
        check("{}", 2, 55, 81);
        check("{}", 2, 60, 81);
        check("{periodSeconds: 5, failureThreshold: 1, timeoutSeconds: 3}", 2, 57, 63);
        check("{initialDelaySeconds: 90}", 2, 10, 121);
    }
}
