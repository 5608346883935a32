//! What every request works on, and how it fails.

use crate::component::{ApiError, Config, ErrorReason};
use crate::engine::Streams;
use crate::state::{Changed, Store};
use crate::units::SimTime;

/// What a request works on.
pub(super) struct Session<'a> {
    pub(super) store: &'a mut Store,
    pub(super) config: &'a Config,
    pub(super) streams: &'a Streams,
    pub(super) now: SimTime,
    pub(super) changed: &'a mut Vec<Changed>,
}

/// 404 in the API's words.
pub(super) fn not_found(resource: &str, name: &str) -> ApiError {
    ApiError::new(ErrorReason::NotFound, format!("{resource} \"{name}\" not found"))
}

/// Whether an object that is there is to go.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Stays,
    Goes,
}

impl Standing {
    /// Of an object whose deletion was asked for, or not.
    pub(super) fn of<T>(deletion: Option<T>) -> Self {
        if deletion.is_some() { Self::Goes } else { Self::Stays }
    }
}

/// 409 in the API's words.
///
/// # Source
/// apiserver, `Store.Create`: of an object that is to go, that is told first.
pub(super) fn already_exists(resource: &str, name: &str, standing: Standing) -> ApiError {
    let goes = if standing == Standing::Goes { "object is being deleted: " } else { "" };
    ApiError::new(ErrorReason::AlreadyExists, format!("{goes}{resource} \"{name}\" already exists"))
}
