//! Outages out of the evidence of them: events, audit logs, samples, dumps, logs and notices become a scenario that plays them again.
//!
//! Readers (`read/`) turn records into sightings; everything after them speaks of sightings alone and knows no format.

mod evidence;
#[allow(dead_code, reason = "the import that reads comes with what is made of sightings")]
mod read;

pub use evidence::{ClockOptions, Evidence, Unread};
