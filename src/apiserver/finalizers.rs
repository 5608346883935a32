//! Finalizers: who holds an object that is to be deleted.

use crate::arena::Symbol;
use crate::component::{ApiError, CLAIM_PROTECTION, VOLUME_PROTECTION};
use crate::model::ObjectKind;
use crate::model::field_path::FieldPath;
use crate::model::validation::{ErrorKind, FieldError};
use crate::state::{JOB_TRACKING, Meta, Propagation};

/// Those that a controller here takes off, and that are kept in ways of their own.
const OURS: [&str; 5] = [JOB_TRACKING, CLAIM_PROTECTION, VOLUME_PROTECTION, "orphan", "foregroundDeletion"];

/// The finalizers that nobody here takes off.
pub(super) fn foreign(finalizers: &[Symbol]) -> Box<[Symbol]> {
    finalizers.iter().copied().filter(|finalizer| !OURS.contains(&finalizer.as_str())).collect()
}

/// How the deletion of an object of a dump was asked for, as the finalizers tell that are left.
pub(super) fn propagation(finalizers: &[Symbol]) -> Propagation {
    let has = |name: &str| finalizers.iter().any(|finalizer| *finalizer == name);
    match () {
        () if has("foregroundDeletion") => Propagation::Foreground,
        () if has("orphan") => Propagation::Orphan,
        () => Propagation::Background,
    }
}

/// It was to be deleted, and nothing holds it any more.
///
/// # Source
/// API machinery, `ShouldDeleteDuringUpdate`.
pub(super) fn is_let_go(meta: &Meta) -> bool {
    meta.finalizers.is_empty() && matches!(meta.deleting, Some((_, Propagation::Background)))
}

/// # Source
/// API machinery, `ValidateNoNewFinalizers`.
///
/// # Errors
/// 422, if an object that is being deleted gets more.
pub(super) fn refuse_new(kind: ObjectKind, name: &str, new: &[Symbol], old: &[Symbol]) -> Result<(), ApiError> {
    let mut extra: Vec<&str> = new.iter().filter(|name| !old.contains(name)).map(|name| name.as_str()).collect();
    if extra.is_empty() {
        return Ok(());
    }
    extra.sort_unstable();
    let names: Vec<String> = extra.iter().map(|name| format!("\"{name}\"")).collect();
    let error = FieldError {
        field: "metadata.finalizers".to_owned(),
        kind: ErrorKind::Forbidden,
        value: None,
        detail: format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            names.join(", ")
        ),
        path: FieldPath::default(),
    };
    Err(ApiError::invalid(kind, name, &[error]))
}
