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

/// 409 in the API's words.
pub(super) fn already_exists(resource: &str, name: &str) -> ApiError {
    ApiError::new(ErrorReason::AlreadyExists, format!("{resource} \"{name}\" already exists"))
}
