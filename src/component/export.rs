//! Objects of the store as manifests would write them: what kubectl reads before it changes something.

use std::collections::BTreeMap;

use crate::model::{self, Object, ObjectMeta};
use crate::state::{Store, WorkloadId};

/// A workload as it would be written in a manifest; kubectl patches, applies and prints this.
#[must_use]
pub fn export_workload(store: &Store, id: WorkloadId) -> Option<Object> {
    let meta = store.workload_meta(id)?;
    let metadata = ObjectMeta {
        name: meta.name,
        namespace: meta.namespace,
        labels: meta.labels.clone(),
        annotations: BTreeMap::clone(&meta.annotations),
        ..ObjectMeta::default()
    };
    Some(match id {
        WorkloadId::Deployment(id) => {
            let spec = model::DeploymentSpec::clone(&store.deployments.get(id)?.spec);
            Object::Deployment(Box::new(model::Deployment { metadata, spec, ..Default::default() }))
        }
        WorkloadId::ReplicaSet(id) => {
            let set = store.replica_sets.get(id)?;
            if set.is_replication_controller {
                let spec = model::ReplicationControllerSpec {
                    replicas: Some(set.replicas),
                    min_ready_seconds: set.spec.min_ready_seconds,
                    selector: set.spec.selector.as_ref().map(|s| s.match_labels.clone()).unwrap_or_default(),
                    template: set.spec.template.clone(),
                };
                let object = model::ReplicationController { metadata, spec, ..Default::default() };
                return Some(Object::ReplicationController(Box::new(object)));
            }
            let spec =
                model::ReplicaSetSpec { replicas: Some(set.replicas), ..model::ReplicaSetSpec::clone(&set.spec) };
            Object::ReplicaSet(Box::new(model::ReplicaSet { metadata, spec, ..Default::default() }))
        }
        WorkloadId::DaemonSet(id) => {
            let spec = model::DaemonSetSpec::clone(&store.daemon_sets.get(id)?.spec);
            Object::DaemonSet(Box::new(model::DaemonSet { metadata, spec, ..Default::default() }))
        }
        WorkloadId::StatefulSet(id) => {
            let spec = model::StatefulSetSpec::clone(&store.stateful_sets.get(id)?.spec);
            Object::StatefulSet(Box::new(model::StatefulSet { metadata, spec, ..Default::default() }))
        }
        WorkloadId::Job(id) => {
            let spec = model::JobSpec::clone(&store.jobs.get(id)?.spec);
            Object::Job(Box::new(model::Job { metadata, spec, ..Default::default() }))
        }
        WorkloadId::CronJob(id) => {
            let spec = model::CronJobSpec::clone(&store.cron_jobs.get(id)?.spec);
            Object::CronJob(Box::new(model::CronJob { metadata, spec, ..Default::default() }))
        }
    })
}
