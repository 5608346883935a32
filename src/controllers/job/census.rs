//! The pods of a Job.

use crate::state::{Pod, PodId};

/// The pods of a Job, sorted by what they mean to it.
#[derive(Debug, Default)]
pub(super) struct Census<'a> {
    pub(super) active: Vec<(PodId, &'a Pod)>,
    pub(super) ready: i32,
    pub(super) terminating: Vec<(PodId, &'a Pod)>,
    /// Ended, not counted yet.
    pub(super) succeeded: Vec<(PodId, &'a Pod)>,
    /// Failed, not counted yet.
    pub(super) failed: Vec<(PodId, &'a Pod)>,
    /// Failed, to be counted when their index has another pod.
    pub(super) delayed: Vec<(PodId, &'a Pod)>,
    /// Named in the status as pods to be counted, but still held by the finalizer.
    pub(super) held: Vec<PodId>,
}

impl Census<'_> {
    /// The pods that go uncounted as long as the Job runs: those that have not ended, and those that wait for a successor.
    pub(super) fn open(&self) -> impl Iterator<Item = PodId> {
        let live = self.active.iter().chain(&self.terminating).chain(&self.delayed).copied();
        let is_known = |id: &PodId| self.held.contains(id) || self.failed.iter().any(|(failed, _)| failed == id);
        live.filter(move |(id, pod)| pod.job_tracking && !is_known(id)).map(|(id, _)| id)
    }
}
