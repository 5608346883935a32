//! What was seen of a real cluster: sightings with bounds on when they came about, where each was read, and the facts that a play can
//! be held against.
//!
//! A sighting is what a record says, in the words of the field: `NodeNotReady` at 14:05:50, to the second. A fact is what a play knows,
//! too: node `worker-3` was no longer Ready. Several sightings make one fact.

mod fact;
mod observed;
mod sighting;

pub use fact::{Fact, FactKind};
pub use observed::{OBSERVED_COLUMNS, ObservedError, ObservedFact, read_observed, write_observed};
pub use sighting::{
    Bounds, DeletedBy, EndedBy, Instant, Notice, PodName, Record, RecordId, RecordKind, Reporter, Request, Sighting,
    What,
};
