//! Whom admission is about.

use crate::arena::Symbol;
use crate::component::{ApiError, ErrorReason};

/// The pod that is admitted, for what depends on it and for messages.
#[derive(Copy, Clone, Debug)]
pub(super) struct Subject<'a> {
    /// Its namespace.
    pub(super) namespace: Symbol,
    /// Its name; for one that gets a name later, what that begins with.
    pub(super) name: &'a str,
    /// Whether it is only now made, or comes with a dump: then it has been admitted long ago.
    pub(super) is_new: bool,
    /// Whether it is asked for in a run; else it comes with the input, and what admission would refuse of it is taken as it is.
    pub(super) is_asked: bool,
}

impl Subject<'_> {
    /// 403 in the words of admission.
    pub(super) fn forbidden(&self, why: &str) -> ApiError {
        ApiError::new(ErrorReason::Forbidden, format!("pods \"{}\" is forbidden: {why}", self.name))
    }
}
