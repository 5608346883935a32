//! Failures of the indexes of a Job that limits them per index (`backoffLimitPerIndex`).

use std::collections::BTreeSet;

use super::backoff::{self, Failures};
use super::census::Census;
use super::claim::Claimed;
use super::{Jobs, manage, policy};
use crate::model::PodFailurePolicyAction;
use crate::state::{Job, JobId, JobStatus, Pod};
use crate::units::{SimDuration, SimTime};

/// Failures of one index of a Job that limits them per index.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct IndexFailures {
    /// Those that count towards the limit.
    pub(super) counted: u32,
    /// All of them: they put off the next pod of the index.
    pub(super) record: Failures,
    /// Whether the index has failed for good.
    pub(super) has_failed: bool,
}

impl IndexFailures {
    /// Another pod of the index has failed. An ignored failure counts for the delay alone.
    fn note(&mut self, pod: &Pod, action: PodFailurePolicyAction) {
        self.record = self.record.with(vec![backoff::finished_at(pod)], None);
        self.counted += u32::from(action != PodFailurePolicyAction::Ignore);
    }
}

impl Jobs {
    /// What earlier pods of the indexes show, if nothing is remembered of the Job: after a restart, or when a run begins.
    ///
    /// # Source
    /// job-controller, `getNewIndexFailureCounts`: each pod carries the number of failures before it
    /// (`batch.kubernetes.io/job-index-failure-count`), so that they outlive the process. Here they are counted from the pods
    /// that have failed and have been dealt with.
    ///
    /// # Differs
    /// Failures whose pods somebody has deleted are forgotten.
    pub(super) fn recall_indexes(&mut self, id: JobId, job: &Job, claimed: &[Claimed<'_>]) {
        if job.spec.backoff_limit_per_index.is_none() || self.index_failures.contains_key(&id) {
            return;
        }
        let failures = self.index_failures.entry(id).or_default();
        let names = policy::container_names(&job.spec);
        let dealt_with = claimed.iter().filter(|claimed| !claimed.is_adopted && !claimed.pod.job_tracking);
        for pod in dealt_with.map(|claimed| claimed.pod).filter(|pod| policy::is_failed(&job.spec, pod)) {
            let Some(index) = manage::index_of(pod) else { continue };
            let rules = job.spec.pod_failure_policy.as_ref();
            let action = rules.and_then(|rules| policy::action(rules, pod, &names)).unwrap_or_default();
            failures.entry(index).or_default().note(pod, action);
        }
    }

    /// Holds failures against the indexes of the pods, those that are not known yet.
    pub(super) fn blame_indexes(
        &mut self,
        id: JobId,
        job: &Job,
        census: &Census<'_>,
        status: &mut JobStatus,
        action: &dyn Fn(&Pod) -> PodFailurePolicyAction,
    ) {
        let limit = i64::from(job.spec.backoff_limit_per_index.unwrap_or(i32::MAX));
        let completed = &status.completed_indexes;
        let known = self.index_failures.get(&id).into_iter().flatten().filter(|(_, failures)| failures.has_failed);
        let mut failed_indexes: BTreeSet<i32> = status.failed_indexes.iter().copied().collect();
        failed_indexes.extend(known.map(|(index, _)| *index));
        for (pod_id, pod) in &census.failed {
            let Some(index) = manage::index_of(pod).filter(|index| !completed.contains(index)) else { continue };
            if !self.blamed.insert(*pod_id) {
                continue;
            }
            let failures = self.index_failures.entry(id).or_default().entry(index).or_default();
            let action = action(pod);
            failures.note(pod, action);
            if action == PodFailurePolicyAction::Ignore {
                continue;
            }
            if i64::from(failures.counted) > limit || action == PodFailurePolicyAction::FailIndex {
                failures.has_failed = true;
                failed_indexes.insert(index);
            }
        }
        status.failed_indexes = failed_indexes.into_iter().collect();
    }

    /// Of the indexes that need a pod those that may have one now; if none may, how long the first has to wait.
    ///
    /// # Source
    /// job-controller, `getPodCreationInfoForIndependentIndexes`: with a limit per index, each has a delay of its own.
    pub(super) fn ready_indexes(&self, id: JobId, pending: Vec<i32>, now: SimTime) -> Result<Vec<i32>, SimDuration> {
        let Some(failures) = self.index_failures.get(&id) else { return Ok(pending) };
        let wait = |index: &i32| failures.get(index).map_or(SimDuration::ZERO, |one| one.record.remaining(now));
        let shortest = pending.iter().map(wait).min().unwrap_or(SimDuration::ZERO);
        if shortest > SimDuration::ZERO {
            return Err(shortest);
        }
        Ok(pending.into_iter().filter(|index| wait(index) == SimDuration::ZERO).collect())
    }
}
