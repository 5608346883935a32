//! kube-apiserver: the only writer of API state.
//!
//! One request at a time: admit, check preconditions, commit, and say what changed. No queueing, no time of its own, no
//! knowledge of who asks.

use crate::component::{Answer, ApiError, Config, ErrorReason, Request};
use crate::engine::Streams;
use crate::state::{Changed, Store};
use crate::units::SimTime;

/// The API server.
#[derive(Clone, Debug, Default)]
pub struct ApiServer {}

impl ApiServer {
    /// An API server with empty caches.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Handles one request; what it changed is appended to `changed` in commit order.
    pub fn handle(
        &mut self,
        _store: &mut Store,
        _config: &Config,
        _streams: &Streams,
        _now: SimTime,
        _request: Request,
        _changed: &mut Vec<Changed>,
    ) -> Answer {
        Err(ApiError::new(ErrorReason::InternalError, "not implemented"))
    }
}
