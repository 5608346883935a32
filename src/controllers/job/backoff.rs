//! How long a Job waits before it replaces failed pods.

use super::policy::is_failed;
use crate::state::{ContainerState, Job, JobId, Pod, PodPhase, Status, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

const BASE: SimDuration = SimDuration::from_secs(10);
const LONGEST: SimDuration = SimDuration::from_secs(600);

/// Failures in a row since the last success. Lost when the process restarts, as in the real controller.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Failures {
    pub(super) count: u32,
    pub(super) last_at: Option<SimTime>,
}

impl Failures {
    /// Takes new endings into account; a success wipes out the failures up to it.
    ///
    /// # Source
    /// job-controller, `getNewBackoffRecord`.
    pub(super) fn with(self, mut failed_at: Vec<SimTime>, succeeded_at: Option<SimTime>) -> Self {
        failed_at.sort_unstable();
        let mut record = self;
        if let Some(success) = succeeded_at {
            record = Self::default();
            failed_at.retain(|at| *at > success);
        }
        record.count = record.count.saturating_add(failed_at.len() as u32);
        record.last_at = failed_at.last().copied().or(record.last_at);
        record
    }

    /// What a process that has long been running remembers of a Job: the failures that it has counted. None if there were none.
    pub(super) fn remembered(id: JobId, job: &Job, store: &Store) -> Option<Self> {
        let pods = store.pods_of(WorkloadId::Job(id)).iter().filter_map(|pod| store.pod(*pod));
        let counted: Vec<&Pod> = pods.filter(|pod| !pod.job_tracking).collect();
        let failed_at = counted.iter().filter(|pod| is_failed(&job.spec, pod)).map(|pod| finished_at(pod)).collect();
        let succeeded_at =
            counted.iter().filter(|pod| pod.phase == PodPhase::Succeeded).map(|pod| finished_at(pod)).max();
        Some(Self::default().with(failed_at, succeeded_at)).filter(|failures| failures.count > 0)
    }

    /// What is left of the delay.
    ///
    /// # Source
    /// job-controller, `getRemainingTime`: 10 s, doubled with each further failure, at most ten minutes.
    pub(super) fn remaining(self, now: SimTime) -> SimDuration {
        let (Some(last_at), true) = (self.last_at, self.count > 0) else { return SimDuration::ZERO };
        let doublings = (self.count - 1).min(16);
        let delay = BASE.checked_mul(1 << doublings).unwrap_or(LONGEST).min(LONGEST);
        (last_at + delay).saturating_since(now)
    }
}

/// When a pod ended, as far as its object tells.
///
/// # Source
/// job-controller, `getFinishedTime`: the last container's end, if all are known; else when Ready became False; else when its deletion was
/// asked for; else its creation. Time stamps hold whole seconds.
pub(super) fn finished_at(pod: &Pod) -> SimTime {
    end_of(pod).floor_to_second()
}

fn end_of(pod: &Pod) -> SimTime {
    let ends: Option<Vec<SimTime>> = pod
        .containers
        .iter()
        .map(|container| match container.state {
            ContainerState::Terminated(ending) => ending.is_seen().then_some(ending.finished_at),
            _ => None,
        })
        .collect();
    if let Some(last) = ends.and_then(|ends| ends.into_iter().max()) {
        return last;
    }
    if let Some(ready) = pod.ready.filter(|ready| ready.status == Status::False) {
        return ready.since;
    }
    pod.deletion.map_or(pod.created_at, |deletion| deletion.requested_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_delay(count: u32, passed_s: i64, expected_s: u64) {
        let failures = Failures { count, last_at: Some(SimTime::from_secs(100)) };
        let remaining = failures.remaining(SimTime::from_secs(100 + passed_s));
        assert_eq!(remaining, SimDuration::from_secs(expected_s), "{count} failures, {passed_s} s later");
    }

    #[test]
    fn the_delay_doubles_up_to_ten_minutes() {
        for (count, expected_s) in [(0, 0), (1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 320), (7, 600), (8, 600)]
        {
            check_delay(count, 0, expected_s);
        }
        check_delay(1, 1, 9);
        check_delay(1, 11, 0);
        check_delay(u32::MAX, 0, 600);
    }

    #[test]
    fn an_end_that_nobody_saw_tells_no_time() {
        let s = SimTime::from_secs;
        let mut pod = crate::testing::bare_pod("p", 1);
        pod.ready = Some(crate::state::PodCondition { status: Status::False, since: s(40) });
        let mut ended = |reason| {
            let ending = crate::state::Ending { reason, ..crate::state::Ending::exit(137, s(90)) };
            let state = ContainerState::Terminated(ending);
            pod.containers = std::iter::once(crate::state::ContainerStatus { state, ..Default::default() }).collect();
            finished_at(&pod)
        };
        assert_eq!(ended(crate::state::EndReason::Error), s(90));
        assert_eq!(ended(crate::state::EndReason::ContainerStatusUnknown), s(40));
    }

    #[test]
    fn a_success_wipes_out_earlier_failures() {
        let s = SimTime::from_secs;
        let check = |failed: &[i64], success: Option<i64>, expected: u32| {
            let failed = failed.iter().map(|at| s(*at)).collect();
            let record = Failures::default().with(failed, success.map(s));
            assert_eq!(record.count, expected);
        };
        check(&[1, 2], Some(3), 0);
        check(&[1, 2, 4, 5], Some(3), 2);
        check(&[3], Some(3), 0);
        check(&[1, 2], None, 2);
    }
}
