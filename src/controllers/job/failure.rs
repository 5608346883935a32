//! Why and when a Job fails.

use super::census::Census;
use super::{manage, policy};
use crate::state::{Job, JobConditionType, JobReason, JobStatus, Pod};
use crate::units::{SimDuration, SimTime};

pub(super) fn is_suspended(job: &Job) -> bool {
    job.spec.suspend == Some(true)
}

/// Why a Job has failed, if it has.
pub(super) fn failure(job: &Job, status: &JobStatus, census: &Census<'_>, now: SimTime) -> Option<JobReason> {
    let spec = &job.spec;
    if let Some(standing) = status.condition(JobConditionType::FailureTarget) {
        return Some(standing.reason);
    }
    let running: Vec<&Pod> = census.active.iter().map(|(_, pod)| *pod).collect();
    if status.failed > spec.backoff_limit.unwrap_or(6) || policy::restarts_exceed(spec, &running) {
        return Some(JobReason::BackoffLimitExceeded);
    }
    if deadline_left(job, status, now) == Some(SimDuration::ZERO) {
        return Some(JobReason::DeadlineExceeded);
    }
    let failed_indexes = status.failed_indexes.len() as i32;
    if spec.max_failed_indexes.is_some_and(|max| failed_indexes > max) {
        return Some(JobReason::MaxFailedIndexesExceeded);
    }
    let all_done = spec.completions.is_some_and(|completions| failed_indexes + status.succeeded >= completions);
    (manage::is_indexed(spec) && failed_indexes > 0 && all_done).then_some(JobReason::FailedIndexes)
}

/// What is left of `activeDeadlineSeconds`.
pub(super) fn deadline_left(job: &Job, status: &JobStatus, now: SimTime) -> Option<SimDuration> {
    if is_suspended(job) {
        return None;
    }
    let deadline = SimDuration::from_secs(job.spec.active_deadline_seconds?.max(0).unsigned_abs());
    Some((status.started_at?.floor_to_second() + deadline).saturating_since(now))
}
