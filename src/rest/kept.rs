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
    /// `status` of objects that decide nothing.
    statuses: BTreeMap<Place, OfOne>,
    /// What each field manager applied last.
    applied: BTreeMap<(Place, String), OfOne>,
    requests: u64,
}

/// Resource, namespace and name.
type Place = (String, String, String);

/// What is kept of an object, and which it is: another may come to have its name, whatever has become of it.
#[derive(Clone, Debug)]
struct OfOne {
    uid: String,
    value: Value,
}

/// An object of which something is kept.
#[derive(Clone, Debug)]
pub(super) struct Whose {
    place: Place,
    uid: String,
}

impl Whose {
    /// The object at a place, as it is shown.
    pub(super) fn of(resource: &str, namespace: &str, name: &str, shown: &Value) -> Self {
        let uid = shown["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        Self { place: (resource.to_owned(), namespace.to_owned(), name.to_owned()), uid }
    }

    fn value<'a>(&self, kept: Option<&'a OfOne>) -> Option<&'a Value> {
        kept.filter(|kept| kept.uid == self.uid).map(|kept| &kept.value)
    }
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

    /// The status that its writers gave an object last.
    pub(super) fn status_of(&self, whose: &Whose) -> Option<&Value> {
        whose.value(self.statuses.get(&whose.place))
    }

    /// Keeps a status; `null` is none.
    pub(super) fn keep_status(&mut self, whose: Whose, status: Value) {
        if status.is_null() {
            self.statuses.remove(&whose.place);
        } else {
            self.statuses.insert(whose.place, OfOne { uid: whose.uid, value: status });
        }
    }

    /// What a field manager applied to an object last.
    pub(super) fn applied_by(&self, whose: &Whose, manager: &str) -> Option<&Value> {
        whose.value(self.applied.get(&(whose.place.clone(), manager.to_owned())))
    }

    /// Keeps what a field manager has applied.
    pub(super) fn keep_applied(&mut self, whose: Whose, manager: String, said: Value) {
        self.applied.insert((whose.place, manager), OfOne { uid: whose.uid, value: said });
    }

    /// Forgets what was kept of an object that is gone.
    pub(super) fn forget(&mut self, resource: &str, namespace: &str, name: &str) {
        let place = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        self.statuses.remove(&place);
        self.applied.retain(|(of, _), _| *of != place);
    }
}
