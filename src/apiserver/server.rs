//! What the API server keeps besides the objects.

use super::admission::AdmissionCache;
use super::names::Names;
use crate::arena::Symbol;
use crate::units::{SimTime, unix_nanos_from_rfc3339};

/// The API server.
#[derive(Clone, Debug, Default)]
pub struct ApiServer {
    pub(super) admission: AdmissionCache,
    pub(super) names: Names,
    /// Unix time of t=0 in nanoseconds, if the input has time stamps.
    pub(super) epoch_unix_nanos: Option<i64>,
    /// The input is in: nodes that are created from now on are new.
    pub(super) has_loaded: bool,
    /// An object of the input is being taken as it is.
    pub(super) is_restoring: bool,
    /// An object of the input is being created, as manifests are applied.
    pub(super) is_applying_input: bool,
}

impl ApiServer {
    /// The instant of a time stamp; `otherwise` if there is none.
    pub(super) fn instant(&self, text: Option<Symbol>, otherwise: SimTime) -> SimTime {
        match (text.and_then(|t| unix_nanos_from_rfc3339(t.as_str())), self.epoch_unix_nanos) {
            (Some(at), Some(epoch)) => SimTime::from_nanos(at.saturating_sub(epoch)),
            _ => otherwise,
        }
    }
}
