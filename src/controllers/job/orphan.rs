//! Pods whose tracking finalizer nobody would take off.

use super::key::Key;
use super::purpose::Purpose;
use super::status::finished_since;
use crate::component::{Enqueue, Request, SyncPlan};
use crate::state::{Job, JobId, Owner, Pod, PodId, Store, WorkloadId};

/// Whether the pod waits for its finalizer to be taken off though no Job does that: nobody controls it, or it is being deleted
/// and its Job is gone or finished.
///
/// # Source
/// job controller, orphan queue.
pub(super) fn is_orphan(pod: &Pod, store: &Store) -> bool {
    pod.job_tracking && (pod.owner.is_none() || (pod.deletion.is_some() && !has_unfinished_job(pod, store)))
}

/// Whether the pod's Job will take the finalizer off, or is another program's.
pub(super) fn has_unfinished_job(pod: &Pod, store: &Store) -> bool {
    match pod.owner {
        None => false,
        Some(Owner::Job(id)) => {
            store.jobs.get(id).is_some_and(|job| finished_since(&job.status).is_none() || is_foreign(job))
        }
        Some(_) => true,
    }
}

/// Whether another program manages the Job.
pub(super) fn is_foreign(job: &Job) -> bool {
    job.spec.managed_by.is_some_and(|by| by.as_str() != "kubernetes.io/job-controller")
}

/// The pods of a Job that is gone or finished, whose finalizers are still on.
pub(super) fn enqueue_held(id: JobId, store: &Store, queue: &mut Enqueue<Key>) {
    for &pod in store.pods_of(WorkloadId::Job(id)) {
        if store.pod(pod).is_some_and(|pod| pod.job_tracking) {
            queue.now(Key::Orphan(pod));
        }
    }
}

pub(super) fn release_orphan(id: PodId, store: &Store) -> SyncPlan<Purpose> {
    let mut plan = SyncPlan::nothing();
    if store.pod(id).is_some_and(|pod| pod.job_tracking && !has_unfinished_job(pod, store)) {
        plan.then(Request::ReleasePodFromJob { pod: id }, Purpose::Other);
    }
    plan
}
