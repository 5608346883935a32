//! What an update says in other words than the object that is there: it is no change.

use std::sync::Arc;

use crate::model::{Object, PodTemplateSpec};
use crate::state::{Store, WorkloadId};

/// An object that is to replace another keeps the other's words where its template means the same: what decides nothing here is compared as
/// text, by whoever asks whether anything has changed. Those of pods are kept once admission has put back what it adds.
pub(super) fn keep(store: &Store, object: &mut Object) {
    let (kind, metadata) = (object.kind(), object.metadata());
    let Some(id) = store.find_workload(kind, metadata.namespace, metadata.name) else { return };
    let Some(old) = template(store, id) else { return };
    let new = match object {
        Object::Deployment(new) => &mut new.spec.template,
        Object::ReplicaSet(new) => &mut new.spec.template,
        Object::ReplicationController(new) => &mut new.spec.template,
        Object::StatefulSet(new) => &mut new.spec.template,
        Object::DaemonSet(new) => &mut new.spec.template,
        Object::Job(new) => &mut new.spec.template,
        Object::CronJob(new) => &mut new.spec.job_template.spec.template,
        _ => return,
    };
    if new.spec != old.spec {
        Arc::make_mut(new).spec.keep_words(&old.spec);
    }
}

fn template(store: &Store, id: WorkloadId) -> Option<&Arc<PodTemplateSpec>> {
    Some(match id {
        WorkloadId::Deployment(id) => &store.deployments.get(id)?.spec.template,
        WorkloadId::ReplicaSet(id) => &store.replica_sets.get(id)?.spec.template,
        WorkloadId::StatefulSet(id) => &store.stateful_sets.get(id)?.spec.template,
        WorkloadId::DaemonSet(id) => &store.daemon_sets.get(id)?.spec.template,
        WorkloadId::Job(id) => &store.jobs.get(id)?.spec.template,
        WorkloadId::CronJob(id) => &store.cron_jobs.get(id)?.spec.job_template.spec.template,
    })
}
