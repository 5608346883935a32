//! The status of a Job: its conditions, its counters, and in which order they are written.

use super::manage;
use super::purpose::{JobEvent, Purpose};
use crate::component::{Planned, Request, StatusUpdate, SyncPlan};
use crate::state::{Job, JobCondition, JobConditionType, JobId, JobReason, JobStatus, Pod, PodId};
use crate::units::SimTime;

/// # Source
/// kube-controller-manager, `ensureJobConditionStatus`: one that is there keeps its place.
pub(super) fn set_condition(status: &mut JobStatus, kind: JobConditionType, reason: JobReason, now: SimTime) {
    let condition = JobCondition { kind, reason, since: now };
    match status.conditions.iter_mut().find(|condition| condition.kind == kind) {
        Some(present) if present.holds() != condition.holds() => *present = condition,
        Some(_) => {}
        None => status.conditions.push(condition),
    }
}

/// When a Job ended, well or badly.
pub(super) fn finished_since(status: &JobStatus) -> Option<SimTime> {
    let end = status.condition(JobConditionType::Complete).or_else(|| status.condition(JobConditionType::Failed));
    end.map(|condition| condition.since)
}

/// Active pods whose deletion is planned show as terminating.
pub(super) fn goes(status: &mut JobStatus, pods: &[(PodId, &Pod)]) {
    status.active -= pods.len() as i32;
    status.ready -= pods.iter().filter(|(_, pod)| pod.is_ready()).count() as i32;
    status.terminating += pods.len() as i32;
}

pub(super) fn release_call(pod: PodId) -> Planned<Purpose> {
    Planned { request: Request::ReleasePodFromJob { pod }, purpose: Purpose::Release(pod) }
}

/// Pods that are to be counted when their finalizers are off.
#[derive(Clone, Debug, Default)]
pub(super) struct Uncounted {
    pub(super) succeeded: Vec<PodId>,
    pub(super) failed: Vec<PodId>,
}

/// Writes down which pods will be counted, takes the finalizers off, and raises the counters when that is done. A Job that
/// has come to its end says so last. If one of these is refused, nothing that follows is tried.
///
/// # Source
/// job-controller, `trackJobStatusAndRemoveFinalizers`. The event of a Job's end is posted when its last write is done.
pub(super) fn record(
    id: JobId,
    job: &Job,
    status: JobStatus,
    uncounted: &Uncounted,
    job_event: Option<JobEvent>,
    released: &[PodId],
    plan: &mut SyncPlan<Purpose>,
) {
    let write = |base: u64, status: JobStatus, purpose: Purpose| {
        let request = Request::UpdateStatus(StatusUpdate::Job(id, Some(base), Box::new(status)));
        plan_group(vec![Planned { request, purpose }])
    };
    let mut first = status.clone();
    first.failed -= uncounted.failed.len() as i32;
    first.uncounted_failed.clone_from(&uncounted.failed);
    if !manage::is_indexed(&job.spec) {
        // Indexes that are done are written down as they are seen.
        first.succeeded -= uncounted.succeeded.len() as i32;
        first.uncounted_succeeded.clone_from(&uncounted.succeeded);
    }
    first.completed_at = job.status.completed_at;
    first.conditions.retain(|condition| !condition.kind.is_terminal());
    let concludes = first != status;
    let flushes = first != job.status;
    let version = job.meta.version;
    if flushes {
        plan.record.extend(write(version, first, Purpose::Flush(job_event.filter(|_| !concludes))));
    }
    plan.record.extend(plan_group(released.iter().map(|&pod| release_call(pod)).collect()));
    if concludes {
        plan.record.extend(write(version + u64::from(flushes), status, Purpose::Conclude(job_event)));
    }
}

fn plan_group(calls: Vec<Planned<Purpose>>) -> Option<Vec<Planned<Purpose>>> {
    (!calls.is_empty()).then_some(calls)
}

pub(super) fn finish(status: &mut JobStatus, kind: JobConditionType, reason: JobReason, now: SimTime) {
    set_condition(status, kind, reason, now);
    status.ready = 0;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::state::Store;
    use crate::testing::meta;

    /// What is written before the finalizers go, and after: failed, succeeded, and the last condition.
    #[track_caller]
    fn check(spec: &str, status: &JobStatus, expected: &[(i32, i32, &str)]) {
        let spec = serde_saphyr::from_str(&format!("{{{spec}}}")).expect("a spec");
        let job = Job { meta: meta("work", None), spec: Arc::new(spec), status: JobStatus::default() };
        let mut store = Store::default();
        let id = store.jobs.insert(job.clone());
        let pod = store.insert_pod(crate::testing::bare_pod("p", 1));
        let mut plan = SyncPlan::nothing();
        let uncounted =
            Uncounted { succeeded: vec![pod; status.succeeded as usize], failed: vec![pod; status.failed as usize] };
        record(id, &job, status.clone(), &uncounted, None, &[pod], &mut plan);
        let found: Vec<Option<(i32, i32, &str)>> = plan
            .record
            .iter()
            .flatten()
            .map(|planned| match &planned.request {
                Request::UpdateStatus(StatusUpdate::Job(_, _, status)) => Some((
                    status.failed,
                    status.succeeded,
                    status.conditions.last().map_or("", |last| last.kind.as_str()),
                )),
                _ => None,
            })
            .collect();
        let release = found.iter().position(Option::is_none).expect("a finalizer goes");
        assert_eq!(release, expected.len() - 1, "{spec:?}", spec = job.spec);
        assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn pods_count_when_their_finalizers_are_off_and_the_end_is_told_last() {
        let mut status = JobStatus { failed: 2, succeeded: 3, ..JobStatus::default() };
        check("completions: 5", &status, &[(0, 0, ""), (2, 3, "")]);
        // Indexes that are done are written down as they are seen.
        check("completions: 5, completionMode: Indexed", &status, &[(0, 3, ""), (2, 3, "")]);
        let reason = JobReason::CompletionsReached;
        set_condition(&mut status, JobConditionType::SuccessCriteriaMet, reason, SimTime::ZERO);
        finish(&mut status, JobConditionType::Complete, reason, SimTime::ZERO);
        check("completions: 5", &status, &[(0, 0, "SuccessCriteriaMet"), (2, 3, "Complete")]);
    }
}
