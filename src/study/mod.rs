//! Studies: many runs of one scenario, with values varied and seeds repeated, and what they say together.
//!
//! A study is a grid of variants. Each variant's scenario is resolved and its cluster settled once; every replication is
//! forked from that. Replication `r` of every variant has the same seed, and faults are drawn from streams of their own,
//! so that the same faults hit every variant: differences between variants are differences, not luck.

mod break_even;
mod comparison;
mod confirmation;
mod coordinate_search;
mod cost_by;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod coverage_of_tails;
mod definition;
mod document;
mod edit;
mod estimate;
pub mod forecast;
mod grid;
mod inputs;
mod journal;
mod metrics;
mod operations;
mod patch;
pub mod plan;
mod problems;
mod progress;
mod rare;
mod requirement;
mod results;
mod run;
mod runner;
mod search;
pub mod sensitivity;
mod setting;
mod shard;
mod statistics;
mod tables;
mod told;
mod tuning;
mod undone;
mod variants;

pub use break_even::{BreakEven, PriceRange};
pub use comparison::{Comparison, Unavailability};
pub use confirmation::{Confirmation, Verdict};
pub(crate) use coordinate_search::{Coordinate, Found, Limits, search};
pub use cost_by::{CostBy, InvalidCostBy};
pub use definition::Study;
pub(crate) use document::parse;
#[cfg(feature = "cli")]
pub(crate) use document::schema;
pub use document::{load, load_with};
pub use estimate::RestsOnUnseen;
pub use grid::{Axis, Variant};
pub use inputs::{InputRecords, InputResults, InputUncertainty, Saving, Uncertain};
pub use journal::{Damage, Journal, JournalError, Row};
pub use metrics::{COST, INDIFFERENCE, WORKLOAD_METRICS, metric_names};
pub use patch::Patches;
pub(crate) use progress::{Part, stoppable};
pub use progress::{Progress, Silent};
pub use rare::{InvalidRareEvent, Mixture, RareEstimate, RareEvent, RareFactors, RareSide, Sampling};
pub use requirement::{Judged, Kept, Limit, Requirement, Standing};
pub use results::{Precision, Results};
pub use run::RunRow;
pub use runner::{Runner, confirm, play_inputs_of};
pub(crate) use search::play as play_search;
pub use search::{
    AtEnd, Ended, Found as SearchFound, FoundPoint, Played, Range as SearchedRange, Record as SearchRecord, Searched,
    Slice,
};
pub use shard::{InvalidShard, Shard};
pub use statistics::{Interval, Sample};
pub use tables::{Statistic, VariantStatistics};
#[cfg(feature = "cli")]
pub(crate) use told::words::{number as figure, spread};
pub use told::{Remark, Teller};
pub use tuning::{KeptForUnseen, Promise, Selection, SetAside, Together, Tuning, ValueOutcome, WorkloadChoice};
pub use undone::{DoneElsewhere, LeftUndone};
pub(crate) use variants::Later;
