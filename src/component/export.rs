//! Objects of the store as manifests would write them: what kubectl reads before it changes something.

use std::collections::BTreeMap;

use crate::arena::Symbol;
use crate::model::{self, Object, ObjectMeta};
use crate::state::{Meta, NodeId, PersistentVolumeClaimId, PersistentVolumeId, PodId, Store, WorkloadId};

/// A workload as it would be written in a manifest; kubectl patches, applies and prints this.
#[must_use]
pub fn export_workload(store: &Store, id: WorkloadId) -> Option<Object> {
    let metadata = export_metadata(store.workload_meta(id)?);
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

/// A pod as it is written in the API, but for its status and what is not modelled.
#[must_use]
pub fn export_pod(store: &Store, id: PodId) -> Option<model::Pod> {
    let pod = store.pod(id)?;
    let metadata = ObjectMeta {
        name: Symbol::new(&pod.name),
        namespace: pod.namespace,
        labels: pod.labels.clone(),
        annotations: pod.annotations(),
        finalizers: pod.finalizers(),
        ..ObjectMeta::default()
    };
    let node_name = pod.node.map(|node| store.node_name(node));
    let spec = model::PodSpec { node_name, ..pod.spec.spec.clone() };
    Some(model::Pod { metadata, spec, ..model::Pod::default() })
}

/// A node as it is written in the API; without its status.
#[must_use]
pub fn export_node(store: &Store, id: NodeId) -> Option<model::Node> {
    let node = store.node(id)?;
    let metadata = ObjectMeta {
        name: store.node_name(id),
        labels: node.labels.clone(),
        annotations: BTreeMap::clone(&node.annotations),
        ..ObjectMeta::default()
    };
    let taints = node.taints.iter().map(|taint| {
        let time_added = taint.added_at.map(|at| Symbol::new(&format!("t={at}")));
        model::Taint { key: taint.key, value: taint.value, effect: taint.effect, time_added }
    });
    let spec =
        model::NodeSpec { unschedulable: node.unschedulable, taints: taints.collect(), ..model::NodeSpec::default() };
    Some(model::Node { metadata, spec, ..model::Node::default() })
}

/// A claim as it is written in the API.
#[must_use]
pub fn export_claim(store: &Store, id: PersistentVolumeClaimId) -> Option<model::PersistentVolumeClaim> {
    let claim = store.volumes.claim(id)?;
    let metadata = protected(&claim.meta, CLAIM_PROTECTION);
    let spec = model::PersistentVolumeClaimSpec {
        volume_name: claim.volume,
        ..model::PersistentVolumeClaimSpec::clone(&claim.spec)
    };
    let mut status = model::PersistentVolumeClaimStatus::default();
    let bound = claim.bound_to().and_then(|name| store.volumes.volume(store.volumes.find_volume(name)?));
    if let Some(volume) = bound.filter(|volume| volume.is_for(claim)) {
        status.phase = model::PersistentVolumeClaimPhase::Bound;
        status.capacity = volume.spec.capacity.clone();
    }
    Some(model::PersistentVolumeClaim { metadata, spec, status })
}

/// A volume as it is written in the API; without its status. A claim that is only reserved has no UID.
#[must_use]
pub fn export_volume(store: &Store, id: PersistentVolumeId) -> Option<model::PersistentVolume> {
    let volume = store.volumes.volume(id)?;
    let uid = volume.claim_uid.map(|uid| Symbol::new(&uid.to_string())).unwrap_or_default();
    let claim_ref = volume.claim.map(|(namespace, name)| model::ObjectReference {
        api_version: Symbol::new("v1"),
        kind: Symbol::new("PersistentVolumeClaim"),
        namespace,
        name,
        uid,
    });
    let spec = model::PersistentVolumeSpec { claim_ref, ..model::PersistentVolumeSpec::clone(&volume.spec) };
    Some(model::PersistentVolume { metadata: protected(&volume.meta, VOLUME_PROTECTION), spec, ..Default::default() })
}

/// The finalizer that keeps a claim while pods use it.
pub const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";

/// The finalizer of every volume.
pub const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";

/// Metadata as a manifest would have it.
#[must_use]
pub fn export_metadata(meta: &Meta) -> ObjectMeta {
    let collectors = meta.deleting.and_then(|(_, propagation)| propagation.finalizer());
    ObjectMeta {
        name: meta.name,
        namespace: meta.namespace,
        labels: meta.labels.clone(),
        annotations: BTreeMap::clone(&meta.annotations),
        finalizers: meta.finalizers.iter().copied().chain(collectors.map(Symbol::new)).collect(),
        ..ObjectMeta::default()
    }
}

/// The same with a finalizer that every object of the kind has.
fn protected(meta: &Meta, finalizer: &str) -> ObjectMeta {
    let mut metadata = export_metadata(meta);
    metadata.finalizers.insert(0, Symbol::new(finalizer));
    metadata
}
