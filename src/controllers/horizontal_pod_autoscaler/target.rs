//! What an autoscaler scales.

use crate::model::{HorizontalPodAutoscalerSpec, LabelSelector, ObjectKind, ObjectReference};
use crate::state::{AutoscalerKey, Store, WorkloadId};

/// What is scaled.
pub(super) struct Target {
    pub(super) workload: WorkloadId,
    pub(super) replicas: i32,
    pub(super) selector: Option<LabelSelector>,
}

/// The kind of a target that can be scaled; none of kinds that are not modelled.
pub(super) fn target_kind(target: &ObjectReference) -> Option<ObjectKind> {
    ObjectKind::named(target.kind.as_str()).filter(|kind| SCALABLE.iter().any(|(scalable, _)| scalable == kind))
}

/// Kinds with the subresource `scale`, and how errors name them.
pub(super) const SCALABLE: [(ObjectKind, &str); 4] = [
    (ObjectKind::Deployment, "deployments.apps"),
    (ObjectKind::ReplicaSet, "replicasets.apps"),
    (ObjectKind::StatefulSet, "statefulsets.apps"),
    (ObjectKind::ReplicationController, "replicationcontrollers"),
];

/// The target of an autoscaler.
///
/// # Errors
/// In words, why there is none.
pub(super) fn find_target(
    key: AutoscalerKey,
    spec: &HorizontalPodAutoscalerSpec,
    store: &Store,
) -> Result<Target, String> {
    let reference = &spec.scale_target_ref;
    let Some(kind) = target_kind(reference) else {
        let group = reference.api_version.as_str().split_once('/').map_or("", |(group, _)| group);
        return Err(format!("no matches for kind {:?} in group {group:?}", reference.kind.as_str()));
    };
    let resource = SCALABLE.iter().find(|(scalable, _)| *scalable == kind).map_or("", |(_, resource)| resource);
    let missing = || format!("{resource} {:?} not found", reference.name.as_str());
    let workload = store.find_workload(kind, key.0, reference.name).ok_or_else(missing)?;
    let (replicas, selector) = match workload {
        WorkloadId::Deployment(id) => {
            let spec = &store.deployments.get(id).ok_or_else(missing)?.spec;
            (spec.replicas.unwrap_or(1), spec.selector.clone())
        }
        WorkloadId::StatefulSet(id) => {
            let spec = &store.stateful_sets.get(id).ok_or_else(missing)?.spec;
            (spec.replicas.unwrap_or(1), spec.selector.clone())
        }
        WorkloadId::ReplicaSet(id) => {
            let set = store.replica_sets.get(id).ok_or_else(missing)?;
            (set.replicas, set.spec.selector.clone())
        }
        WorkloadId::DaemonSet(_) | WorkloadId::Job(_) | WorkloadId::CronJob(_) => return Err(missing()),
    };
    Ok(Target { workload, replicas, selector })
}
