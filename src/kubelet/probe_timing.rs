//! When probes run, and when they have failed often enough.

use super::statuses::undone;
use crate::model::{Container, Probe};
use crate::state::{ContainerStatus, Pod};
use crate::units::{SimDuration, SimTime};

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
    pub(super) fn of(self, container: &Container) -> Option<&Probe> {
        match self {
            Self::Startup => container.startup_probe.as_deref(),
            Self::Liveness => container.liveness_probe.as_deref(),
            Self::Readiness => container.readiness_probe.as_deref(),
        }
    }

    /// How an event's text names it, at its beginning and within.
    pub(super) fn words(self) -> (&'static str, &'static str) {
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

pub(super) fn period(probe: &Probe) -> SimDuration {
    seconds(probe.period_seconds.unwrap_or(10).max(1))
}

/// From when on a container may be probed that runs since `since`.
///
/// # Source
/// kubelet, prober: `initialDelaySeconds` counts from `startedAt` as the status manager keeps it, in whole seconds.
pub(super) fn probed_from(probe: &Probe, since: SimTime) -> SimTime {
    since.max(since.floor_to_second() + seconds(probe.initial_delay_seconds))
}

/// The longest period of any probe of the pod's; nothing without probes.
pub(super) fn longest_period(pod: &Pod) -> SimDuration {
    let all = [ProbeKind::Startup, ProbeKind::Liveness, ProbeKind::Readiness];
    let probes = pod.spec.containers.iter().flat_map(|container| all.iter().filter_map(|kind| kind.of(container)));
    probes.map(period).max().unwrap_or(SimDuration::ZERO)
}

/// The first run at or after an instant of a worker that runs every period.
pub(super) fn next_run(probe: &Probe, worker_at: SimTime, from: SimTime) -> SimTime {
    let period = period(probe);
    worker_at + period * from.saturating_since(worker_at).as_nanos().div_ceil(period.as_nanos())
}

/// How many failures in a row count.
pub(super) fn threshold(probe: &Probe) -> u64 {
    probe.failure_threshold.unwrap_or(3).max(1).unsigned_abs().into()
}

/// The containers of the pod that probes ask, if they have any: those that are not done.
///
/// # Source
/// kubelet, prober: a worker stops when its container has ended and will not be started again.
pub(super) fn asked<'a>(pod: &'a Pod, known: &[ContainerStatus]) -> impl Iterator<Item = &'a Container> {
    undone(pod, known).map(|(_, container)| container)
}

/// So many events of failed probes are kept of one container; more of them the recorder takes for spam.
///
/// # Source
/// client-go, `EventSourceObjectSpamFilter`: 25 at once, then one in five minutes.
pub(super) const EVENTS_MAX: u64 = 25;

/// When the run of a probe has failed that so many failures went before, for an application that does not answer from `silent_at`
/// on.
///
/// # Source
/// kubelet, prober: a worker runs every period from its own start, not before `initialDelaySeconds` of the container; each
/// failure takes `timeoutSeconds`, and `failureThreshold` in a row count.
pub(super) fn fails_at(
    probe: &Probe,
    worker_at: SimTime,
    container_at: SimTime,
    silent_at: SimTime,
    failures_before: u64,
) -> SimTime {
    let from = silent_at.max(probed_from(probe, container_at));
    next_run(probe, worker_at, from)
        + period(probe) * failures_before
        + seconds(probe.timeout_seconds.unwrap_or(1).max(1))
}

/// The container whose probe of a kind fails for good first, of those that are not done by what is `known` of them.
pub(super) fn first_to_fail<'a>(
    pod: &'a Pod,
    known: &[ContainerStatus],
    kind: ProbeKind,
) -> Option<(&'a Container, &'a Probe)> {
    let probed = asked(pod, known).filter_map(|container| Some((container, kind.of(container)?)));
    probed.min_by_key(|(_, probe)| seconds(probe.initial_delay_seconds) + period(probe) * threshold(probe))
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

    #[test]
    fn a_delay_counts_from_the_whole_second() {
        let probe: Probe = serde_saphyr::from_str("{initialDelaySeconds: 3}").expect("a probe");
        assert_eq!(probed_from(&probe, SimTime::from_millis(2900)), SimTime::from_secs(5));
        assert_eq!(probed_from(&Probe::default(), SimTime::from_millis(2900)), SimTime::from_millis(2900));
    }
}
