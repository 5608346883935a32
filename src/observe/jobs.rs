//! Jobs that failed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Detail;
use super::observer::{Observer, Seen, Setup};
use super::workload::WorkloadKey;
use crate::arena::Symbol;
use crate::state::{Change, Changed, JobConditionType, JobId, JobStatus, WorkloadId};
use crate::units::SimTime;

/// A Job that failed during the run.
#[derive(Clone, Debug, Serialize)]
pub struct FailedJob {
    /// Namespace.
    pub namespace: Symbol,
    /// Name.
    pub name: Symbol,
    /// When its condition Failed became true, in seconds since t=0.
    pub failed_s: f64,
    /// The condition's reason.
    pub reason: &'static str,
}

impl FailedJob {
    /// `job/NS/NAME`.
    #[must_use]
    pub fn object(&self) -> String {
        format!("job/{}/{}", self.namespace, self.name)
    }
}

/// Follows the conditions of Jobs.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs {
    /// Those that failed during the run.
    seen: BTreeMap<JobId, FailedJob>,
    /// Those that had failed when it began.
    before: BTreeMap<JobId, FailedJob>,
    /// Those that became Complete, or were when the run began, be they there or not.
    complete: BTreeSet<JobId>,
}

impl Observer for Jobs {
    const NEEDED_FOR: Detail = Detail::Summary;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        for (id, job) in seen.store.jobs.iter() {
            if is_complete(&job.status) {
                self.complete.insert(id);
            }
            let key = WorkloadKey::of(WorkloadId::Job(id), seen.store);
            if let (Some(reason), Some(WorkloadKey { namespace, name, .. })) = (failure(&job.status), key) {
                self.before.insert(id, FailedJob { namespace, name, failed_s: 0.0, reason });
            }
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        if let Changed::WorkloadRemoved(WorkloadId::Job(id)) = change.what {
            self.before.remove(&id);
        }
        let Changed::WorkloadUpdated(workload @ WorkloadId::Job(id), _) = change.what else { return };
        let Some(job) = seen.store.jobs.get(id) else { return };
        if is_complete(&job.status) {
            self.complete.insert(id);
        }
        let Some(reason) = failure(&job.status) else { return };
        if self.seen.contains_key(&id) || self.before.contains_key(&id) {
            return;
        }
        let Some(WorkloadKey { namespace, name, .. }) = WorkloadKey::of(workload, seen.store) else { return };
        self.seen.insert(id, FailedJob { namespace, name, failed_s: seconds(change.at), reason });
    }
}

impl Jobs {
    /// Those that failed during the run, in the order in which they did; those that had before, and are there at its end; and how many
    /// are Complete.
    pub(super) fn finish(self) -> (Vec<FailedJob>, Vec<FailedJob>, usize) {
        let mut failed: Vec<FailedJob> = self.seen.into_values().collect();
        failed.sort_by(|a, b| a.failed_s.total_cmp(&b.failed_s));
        (failed, self.before.into_values().collect(), self.complete.len())
    }
}

fn is_complete(status: &JobStatus) -> bool {
    status.condition(JobConditionType::Complete).is_some()
}

fn seconds(at: SimTime) -> f64 {
    at.as_nanos() as f64 / 1e9
}

/// The reason of a Failed condition.
fn failure(status: &JobStatus) -> Option<&'static str> {
    status.condition(JobConditionType::Failed).map(|failed| failed.reason.as_str())
}
