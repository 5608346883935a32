//! Which pods a Job works with: its own, and those that it adopts.

use super::key::{BATCH_PERIOD, Key};
use super::purpose::Purpose;
use crate::component::{Claim, Enqueue, Planned, Request, Step, SyncPlan, judge_claim};
use crate::model::LabelSelector;
use crate::state::{Job, JobId, Pod, PodId, Store, WorkloadId};

/// A pod of a Job.
#[derive(Copy, Clone, Debug)]
pub(super) struct Claimed<'a> {
    pub(super) id: PodId,
    pub(super) pod: &'a Pod,
    /// It becomes the Job's with this pass.
    pub(super) is_adopted: bool,
}

/// The Job's pods. What it adopts counts at once; what no longer matches its selector is let go.
///
/// # Source
/// job-controller, `getPodsForJob`: before the first adoption the Job itself is read once more; owner and finalizer go in
/// one patch. A Job whose selector was made for it finds nobody else's pods.
pub(super) fn claim<'a>(store: &'a Store, id: JobId, job: &Job, plan: &mut SyncPlan<Purpose>) -> Vec<Claimed<'a>> {
    let workload = WorkloadId::Job(id);
    let own = |pod_id: &PodId| store.pod(*pod_id).map(|pod| Claimed { id: *pod_id, pod, is_adopted: false });
    // Dumps may have lost the label that the API server puts into both selector and template.
    let matches_itself = |selector: &&LabelSelector| selector.matches(&job.spec.template.metadata.labels);
    let Some(selector) = job.spec.selector.as_ref().filter(matches_itself) else {
        return store.pods_of(workload).iter().filter_map(own).collect();
    };
    let mut claimed = Vec::new();
    let mut calls = Vec::new();
    let mut adopts = false;
    for &pod_id in store.pods_of(workload).iter().chain(store.ownerless_pods(job.meta.namespace)) {
        let Some(pod) = store.pod(pod_id) else { continue };
        let is_deleting = (job.meta.deleting.is_some(), pod.deletion.is_some());
        let verdict = judge_claim(workload, is_deleting.0, selector, pod.owner, &pod.labels, is_deleting.1);
        let is_adopted = verdict == Claim::Adopt;
        if is_adopted || verdict == Claim::Keep {
            claimed.push(Claimed { id: pod_id, pod, is_adopted });
        }
        if is_adopted || verdict == Claim::Release {
            adopts |= is_adopted;
            let request = Request::ClaimPodForJob { pod: pod_id, job: is_adopted.then_some(id) };
            calls.push(Planned { request, purpose: Purpose::Other });
        }
    }
    if adopts {
        plan.then(Request::Get, Purpose::Other);
    }
    if !calls.is_empty() {
        plan.steps.push(Step::Concurrent(calls));
    }
    claimed
}

/// The Jobs that could adopt a pod that nobody owns.
pub(super) fn candidates(store: &Store, pod: &Pod, queue: &mut Enqueue<Key>) {
    for (id, job) in store.jobs.iter() {
        let matches = job.spec.selector.as_ref().is_some_and(|selector| selector.matches(&pod.labels));
        if job.meta.namespace == pod.namespace && matches {
            queue.after(Key::Job(id), BATCH_PERIOD);
        }
    }
}
