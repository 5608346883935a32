//! What is kept for clients alone and decides nothing else: their faults, the status of objects that others write, what was applied.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::chaos::{FaultOutcome, FaultSpec};
use crate::state::Uid;
use crate::units::SimTime;

/// Where a fault is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FaultState {
    /// It goes on.
    Active,
    /// It is over.
    Ended,
    /// There was nothing for it to hit.
    Missed,
}

impl FaultState {
    /// `status.phase`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "Active",
            Self::Ended => "Ended",
            Self::Missed => "Missed",
        }
    }
}

/// A fault that a client has applied.
#[derive(Clone, Debug)]
pub struct FaultObject {
    /// Its object as it was written.
    pub written: Value,
    /// What goes wrong.
    pub spec: FaultSpec,
    /// When it began.
    pub began_at: SimTime,
    /// Its place among the faults of the run.
    pub place: usize,
}

impl FaultObject {
    /// `metadata.uid`.
    #[must_use]
    pub fn uid(&self, name: &str) -> Uid {
        Uid::from_text(&format!("fault/{name}/{}", self.place))
    }
}

/// How a fault stands.
#[derive(Clone, Debug)]
pub struct FaultStanding {
    /// Where it is.
    pub state: FaultState,
    /// What it has hit, and that in words.
    pub outcome: Option<Arc<FaultOutcome>>,
}

/// What is kept for clients alone.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Faults by name.
    pub faults: BTreeMap<String, FaultObject>,
    /// `status` of objects that decide nothing, by resource, namespace and name.
    pub statuses: BTreeMap<(String, String, String), Value>,
    /// What each field manager applied last, by resource, namespace, name and manager.
    pub applied: BTreeMap<(String, String, String, String), Value>,
    requests: u64,
}

impl Kept {
    /// One request more.
    pub(super) fn count(&mut self) {
        self.requests += 1;
    }

    /// How many requests there have been.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Forgets what was kept of an object that is gone.
    pub(super) fn forget(&mut self, resource: &str, namespace: &str, name: &str) {
        self.statuses.remove(&(resource.to_owned(), namespace.to_owned(), name.to_owned()));
        self.applied.retain(|(r, ns, n, _), _| (r.as_str(), ns.as_str(), n.as_str()) != (resource, namespace, name));
    }
}
