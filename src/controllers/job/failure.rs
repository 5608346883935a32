//! Why and when a Job fails.

use super::status::condition;
use super::{Census, manage, policy};
use crate::state::{Job, JobStatus, Pod};
use crate::units::{SimDuration, SimTime};

pub(super) fn is_suspended(job: &Job) -> bool {
    job.spec.suspend == Some(true)
}

/// Why a Job has failed, if it has.
pub(super) fn failure(job: &Job, status: &JobStatus, census: &Census<'_>, now: SimTime) -> Option<&'static str> {
    let spec = &job.spec;
    if let Some((reason, _)) = condition(status, "FailureTarget") {
        return Some(reason);
    }
    let running: Vec<&Pod> = census.active.iter().map(|(_, pod)| *pod).collect();
    if status.failed > spec.backoff_limit.unwrap_or(6) || policy::restarts_exceed(spec, &running) {
        return Some("BackoffLimitExceeded");
    }
    if deadline_left(job, status, now) == Some(SimDuration::ZERO) {
        return Some("DeadlineExceeded");
    }
    let failed_indexes = status.failed_indexes.len() as i32;
    if spec.max_failed_indexes.is_some_and(|max| failed_indexes > max) {
        return Some("MaxFailedIndexesExceeded");
    }
    let all_done = spec.completions.is_some_and(|completions| failed_indexes + status.succeeded >= completions);
    (manage::is_indexed(spec) && failed_indexes > 0 && all_done).then_some("FailedIndexes")
}

/// What is left of `activeDeadlineSeconds`.
pub(super) fn deadline_left(job: &Job, status: &JobStatus, now: SimTime) -> Option<SimDuration> {
    if is_suspended(job) {
        return None;
    }
    let deadline = SimDuration::from_secs(job.spec.active_deadline_seconds?.max(0).unsigned_abs());
    Some((status.started_at?.floor_to_second() + deadline).saturating_since(now))
}

pub(super) fn failure_message(reason: &str) -> &'static str {
    match reason {
        "BackoffLimitExceeded" => "Job has reached the specified backoff limit",
        "DeadlineExceeded" => "Job was active longer than specified deadline",
        "MaxFailedIndexesExceeded" => "Job has exceeded the specified maximal number of failed indexes",
        "FailedIndexes" => "Job has failed indexes",
        // Which pod it was is known as long as the pod is there, or this process lives.
        _ => "A pod matches a FailJob rule",
    }
}
