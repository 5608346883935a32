//! Owners, once all objects of the input are in the store.

use super::owner_references;
use crate::arena::Symbol;
use crate::model::ObjectKind;
use crate::state::{Owner, Store, Uid, WorkloadId};

/// Ties objects to the owners that their metadata names, once all are in the store. An owner that is not there, or has
/// another UID, stays a name.
pub fn link_owners(store: &mut Store) {
    let find = |store: &Store, namespace: Symbol, owner: Option<Owner>| -> Option<Owner> {
        let Some(Owner::Foreign { kind, name, uid }) = owner else { return None };
        let kind = ObjectKind::named(kind.as_str())?;
        if kind == ObjectKind::Node {
            return store.find_node(name).map(Owner::Node);
        }
        let id = store.find_workload(kind, namespace, name)?;
        let meta = store.workload_meta(id)?;
        (uid == Uid::from_text("") || meta.uid == uid).then(|| id.as_owner())
    };
    let pods = store.pods().filter_map(|(id, pod)| Some((id, find(store, pod.namespace, pod.owner)?)));
    for (id, owner) in pods.collect::<Vec<_>>() {
        store.set_pod_owner(id, Some(owner));
    }
    let workloads: Vec<WorkloadId> = (store.replica_sets.ids().map(WorkloadId::ReplicaSet))
        .chain(store.jobs.ids().map(WorkloadId::Job))
        .chain(store.stateful_sets.ids().map(WorkloadId::StatefulSet))
        .chain(store.daemon_sets.ids().map(WorkloadId::DaemonSet))
        .chain(store.deployments.ids().map(WorkloadId::Deployment))
        .collect();
    for id in workloads {
        let owner = store.workload_meta(id).and_then(|meta| find(store, meta.namespace, meta.owner));
        if owner.is_some() {
            store.set_workload_owner(id, owner);
        }
    }
    list_active_jobs(store);
    mark_pods_of_jobs(store);
    let revisions: Vec<_> = store
        .controller_revisions
        .iter()
        .map(|(id, revision)| (id, find(store, revision.meta.namespace, revision.meta.owner)))
        .collect();
    for (id, owner) in revisions.into_iter().filter(|(_, owner)| owner.is_some()) {
        store.set_revision_owner(id, owner);
    }
    owner_references::link_all(store);
}

/// Gives pods what the API server has just written into the template of their Job: whoever wrote the Job down had no UID, and so
/// no label that names it.
fn mark_pods_of_jobs(store: &mut Store) {
    let mut marked = Vec::new();
    for (id, job) in store.jobs.iter().filter(|(_, job)| job.spec.manual_selector != Some(true)) {
        let Some(selector) = &job.spec.selector else { continue };
        for &pod_id in store.pods_of(WorkloadId::Job(id)) {
            let Some(pod) = store.pod(pod_id).filter(|pod| !selector.matches(&pod.labels)) else { continue };
            let selected = selector.match_labels.iter();
            let missing = selected.filter(|(key, _)| !pod.labels.contains(*key));
            marked.push((pod_id, missing.fold(pod.labels.clone(), |labels, (key, value)| labels.with(key, value))));
        }
    }
    for (pod, labels) in marked {
        store.update_pod(pod, |pod| pod.labels = labels);
    }
}

/// Puts the unfinished Jobs of CronJobs on their lists of active ones.
fn list_active_jobs(store: &mut Store) {
    for id in store.cron_jobs.ids().collect::<Vec<_>>() {
        let jobs = store.jobs_of(id).iter().filter_map(|&job| Some((job, store.jobs.get(job)?)));
        let running: Vec<_> =
            jobs.filter(|(_, job)| job.status.end().is_none()).map(|(id, job)| (id, job.meta.name)).collect();
        let Some(cron_job) = store.cron_jobs.get_mut(id) else { continue };
        for job in running {
            if !cron_job.status.active.contains(&job) {
                cron_job.status.active.push(job);
            }
        }
    }
}
