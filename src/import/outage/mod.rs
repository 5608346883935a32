//! Outages out of the evidence of them: events, audit logs, samples, dumps, logs and notices become a scenario that plays them again.
//!
//! Readers (`read/`) turn records into sightings; everything after them speaks of sightings alone and knows no format.

mod evidence;

pub use evidence::{ClockOptions, Evidence, Unread};
