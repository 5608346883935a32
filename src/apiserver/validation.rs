//! What the server refuses of an object that is created or changed: `Invalid`, with every field that is wrong.
//!
//! Requests of controllers for pods, ReplicaSets and Jobs are not asked: what they are made from has been.

use std::collections::BTreeMap;

use super::registry::{Key, Strategy};
use super::session::Session;
use crate::arena::Symbol;
use crate::component::ApiError;
use crate::model::config::KubernetesVersion;
use crate::model::validation::{self, FieldError};
use crate::model::{Labels, Object, ObjectKind, with_object};

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
    with_object!(object, new => apply_kind(s, object, &**new))
}

fn apply_kind<T: Strategy + Clone>(s: &Session<'_>, object: &Object, new: &T) -> Result<(), ApiError>
where
    Object: From<T>,
{
    let Some(id) = T::find(s.store, &Key::of(object)) else { return create(s.config.version, object) };
    if T::VALIDATES_UPDATES {
        return Ok(());
    }
    let Some(present) = T::present(s.store, id) else { return create(s.config.version, object) };
    let metadata = object.metadata();
    let id = s.store.find_workload(object.kind(), metadata.namespace, metadata.name);
    if id.and_then(|id| s.store.workload_meta(id)).is_some_and(|meta| meta.deleting.is_some()) {
        let (new, old) = (&metadata.finalizers, &present.metadata().finalizers);
        super::finalizers::refuse_new(object.kind(), metadata.name.as_str(), new, old)?;
    }
    let mut new = new.clone();
    new.inherit(&present);
    change(s, &Object::from(new), &present)
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
    refuse(kind, name, &validation::validate_labels(labels))
}

/// Annotations of a pod of which nothing else is changed.
pub(super) fn pod_annotations(
    name: &str,
    new: &BTreeMap<Symbol, Symbol>,
    old: &BTreeMap<Symbol, Symbol>,
) -> Result<(), ApiError> {
    refuse(ObjectKind::Pod, name, &validation::validate_pod_annotations(new, old))
}

fn refuse(kind: ObjectKind, name: &str, errors: &[FieldError]) -> Result<(), ApiError> {
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid(kind, name, errors)) }
}

fn refuse_object(object: &Object, errors: &[FieldError]) -> Result<(), ApiError> {
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid_object(object, errors)) }
}
