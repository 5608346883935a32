//! Events that are too rare to be waited for: importance sampling on the rates of failures.
//!
//! Failures are drawn more often than they come, and every run carries its weight, the likelihood ratio of what was drawn against
//! what is true. A mean of what is weighted so is the true mean. Each run is drawn in one of a few ways, one of which is the true one
//! (a defensive mixture): no weight is then larger than one by the share of true runs.

mod document;
mod estimate;
mod event;
mod mixture;
mod pilot;
#[cfg(test)]
mod tests;
mod told;

use serde::{Deserialize, Serialize};

pub(super) use document::{RareEvents, check};
pub use estimate::RareEstimate;
pub(super) use event::metric_of_word;
pub use event::{InvalidRareEvent, RareEvent, RareFactors, RareSide};
pub use mixture::Mixture;
pub(super) use mixture::flat;
pub(super) use pilot::{PILOT_FIRST, PilotRound, choose};
pub(crate) use told::{chance, years};

/// How a study of a rare event draws its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// What is rare.
    pub event: RareEvent,
    /// Whether it was asked for besides the document of the study.
    pub is_asked: bool,
    /// The random processes, in the order of the scenario.
    pub processes: Vec<String>,
    /// How failures are drawn.
    pub mixture: Mixture,
    /// How long a run of each variant lasts, in seconds.
    pub run_s: Vec<f64>,
    /// What the pilot saw; none if the factors were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pilot: Option<Pilot>,
}

/// What the runs that chose the factors saw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pilot {
    /// All of them. They count for nothing else.
    pub runs: u32,
    /// Those of the last round that had the event.
    pub hits: u32,
    /// Runs of that round.
    pub of: u32,
}
