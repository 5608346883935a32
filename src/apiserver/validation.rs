//! What the server refuses of an object that is created or changed: `Invalid`, with every field that is wrong.
//!
//! Requests of controllers for pods, ReplicaSets and Jobs are not asked: what they are made from has been.

use std::sync::Arc;

use super::Session;
use crate::arena::Symbol;
use crate::component::{ApiError, export_workload};
use crate::model::config::KubernetesVersion;
use crate::model::validation::{self, FieldError};
use crate::model::{self, Labels, Object, ObjectKind, PreemptionPolicy, VolumeBindingMode};
use crate::state::{Meta, Store, WorkloadId};

/// POST.
///
/// # Errors
///
/// 422, if anything is wrong.
pub(super) fn create(version: KubernetesVersion, object: &Object) -> Result<(), ApiError> {
    refuse_object(object, &validation::validate_in(object, version))
}

/// PUT, or POST where there is none yet.
///
/// # Errors
///
/// 422, if anything is wrong with the object or with the change.
pub(super) fn apply(s: &Session<'_>, object: &Object) -> Result<(), ApiError> {
    let (name, namespace) = (object.metadata().name, object.metadata().namespace);
    let is_there = match object {
        Object::Pod(_) => s.store.find_pod(namespace, &Arc::from(name.as_str())).is_some(),
        Object::Node(_) => s.store.find_node(name).is_some_and(|id| s.store.node(id).is_some()),
        Object::PersistentVolumeClaim(_) => s.store.volumes.find_claim(namespace, name).is_some(),
        Object::PersistentVolume(_) => s.store.volumes.find_volume(name).is_some(),
        _ => false,
    };
    if is_there {
        // Asked where they are changed, once admission has put back what it adds.
        return Ok(());
    }
    let Some(old) = live(s.store, object) else { return create(s.config.version, object) };
    let id = s.store.find_workload(object.kind().as_str(), namespace, name);
    if id.and_then(|id| s.store.workload_meta(id)).is_some_and(|meta| meta.deleting.is_some()) {
        let (new, old) = (&object.metadata().finalizers, &old.metadata().finalizers);
        super::finalizers::refuse_new(object.kind(), name.as_str(), new, old)?;
    }
    let mut new = object.clone();
    inherit(&mut new, &old);
    change(s, &new, &old)
}

/// PUT of an object that is there, both as the server has them.
///
/// # Errors
///
/// 422, if anything is wrong with the object or with the change.
pub(super) fn change(s: &Session<'_>, new: &Object, old: &Object) -> Result<(), ApiError> {
    refuse_object(new, &validation::validate_update_in(new, old, s.config.version))
}

/// Labels of an object of which nothing else is changed.
pub(super) fn labels(kind: ObjectKind, name: &str, labels: &Labels) -> Result<(), ApiError> {
    refuse(kind, Symbol::new(name), &validation::validate_labels(labels))
}

fn refuse(kind: ObjectKind, name: Symbol, errors: &[FieldError]) -> Result<(), ApiError> {
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid(kind, name.as_str(), errors)) }
}

fn refuse_object(object: &Object, errors: &[FieldError]) -> Result<(), ApiError> {
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid_object(object, errors)) }
}

/// The object of the same name as it is stored.
fn live(store: &Store, object: &Object) -> Option<Object> {
    let (namespace, name) = (object.metadata().namespace, object.metadata().name);
    let is_it = |meta: &Meta| meta.namespace == namespace && meta.name == name;
    Some(match object.kind() {
        ObjectKind::PodDisruptionBudget => {
            let (_, budget) = store.budgets.iter().find(|(_, budget)| is_it(&budget.meta))?;
            let spec = model::PodDisruptionBudgetSpec::clone(&budget.spec);
            Object::from(model::PodDisruptionBudget { spec, ..Default::default() })
        }
        ObjectKind::HorizontalPodAutoscaler => {
            let spec = model::HorizontalPodAutoscalerSpec::clone(&store.autoscalers.get(&(namespace, name))?.spec);
            Object::from(model::HorizontalPodAutoscaler { spec, ..Default::default() })
        }
        ObjectKind::ResourceQuota => {
            let spec = model::ResourceQuotaSpec::clone(&store.quotas.get(&(namespace, name))?.spec);
            Object::from(model::ResourceQuota { spec, ..Default::default() })
        }
        ObjectKind::LimitRange => {
            let spec = model::LimitRangeSpec::clone(store.limit_ranges.get(&(namespace, name))?);
            Object::from(model::LimitRange { spec, ..Default::default() })
        }
        ObjectKind::Service => {
            let (_, service) = store.services.iter().find(|(_, service)| is_it(&service.meta))?;
            Object::from(model::Service { spec: model::ServiceSpec::clone(&service.spec), ..Default::default() })
        }
        ObjectKind::PriorityClass => {
            let class = store.priority_class(name)?;
            let policy =
                if class.never_preempts { PreemptionPolicy::Never } else { PreemptionPolicy::PreemptLowerPriority };
            Object::from(model::PriorityClass {
                value: class.value,
                global_default: class.global_default,
                preemption_policy: Some(policy),
                ..Default::default()
            })
        }
        ObjectKind::StorageClass => Object::from(model::StorageClass::clone(store.volumes.class(name)?)),
        ObjectKind::Stored => {
            let key = (object.stored_kind()?.printed(), namespace, name);
            let stored = store.stored.get(&key)?;
            Object::Stored(Box::new(model::StoredObject {
                api_version: stored.api_version,
                kind: stored.kind.kind,
                fields: Arc::clone(&stored.fields),
                ..Default::default()
            }))
        }
        ObjectKind::Namespace => {
            store.namespace(name)?;
            Object::from(model::Namespace::default())
        }
        kind => {
            let id = store.find_workload(kind.as_str(), namespace, name)?;
            let mut object = export_workload(store, id)?;
            if let (Object::Job(object), WorkloadId::Job(id)) = (&mut object, id) {
                add_status(object, store.jobs.get(id)?);
            }
            object
        }
    })
}

/// What decides whether the template of a Job may change.
fn add_status(object: &mut model::Job, job: &crate::state::Job) {
    object.status.active = job.status.active;
    object.status.start_time = job.status.started_at.map(|_| Symbol::new("started"));
    for (kind, ..) in &job.status.conditions {
        let condition = model::JobCondition { condition_type: Symbol::new(kind), ..Default::default() };
        object.status.conditions.push(condition);
    }
}

/// What a file does not say of an object that is there stays as it is. Workloads come merged already.
fn inherit(new: &mut Object, old: &Object) {
    match (new, old) {
        (Object::StorageClass(new), Object::StorageClass(old)) => {
            new.reclaim_policy = new.reclaim_policy.or(old.reclaim_policy);
            new.parameters = if new.parameters.is_none() { old.parameters } else { new.parameters };
            if new.volume_binding_mode == VolumeBindingMode::default() {
                new.volume_binding_mode = old.volume_binding_mode;
            }
        }
        (Object::PriorityClass(new), Object::PriorityClass(old)) => {
            new.preemption_policy = new.preemption_policy.or(old.preemption_policy);
        }
        (Object::Service(new), Object::Service(old)) => {
            new.spec.cluster_ip = new.spec.cluster_ip.or(old.spec.cluster_ip);
        }
        _ => {}
    }
}
