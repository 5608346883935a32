//! Studies: many runs of one scenario, with values varied and seeds repeated, and what they say together.
//!
//! A study is a grid of variants. Each variant's scenario is resolved and its cluster settled once; every replication is
//! forked from that. Replication `r` of every variant has the same seed, and faults are drawn from streams of their own,
//! so that the same faults hit every variant: differences between variants are differences, not luck.

mod comparison;
mod confirmation;
mod document;
mod edit;
mod estimate;
mod grid;
mod journal;
mod patch;
pub mod plan;
mod problems;
mod results;
mod runner;
mod statistics;
mod tables;
mod tuning;
mod undone;
mod variants;

pub use comparison::{Comparison, Unavailability};
pub use confirmation::{Confirmation, Verdict};
pub(crate) use document::parse;
pub use document::{Study, load, load_with};
pub use estimate::RestsOnUnseen;
pub use grid::{Axis, Variant};
pub use journal::{Journal, JournalError};
pub use patch::Patches;
pub use results::{Precision, Results};
pub use runner::{Progress, RunRow, Runner, Shard, confirm};
pub use statistics::{Interval, Sample};
pub use tables::{Statistic, VariantStatistics};
pub use tuning::{KeptForUnseen, Together, Tuning, ValueOutcome, WorkloadChoice};
pub use undone::{DoneElsewhere, LeftUndone};

use crate::observe::METRICS;

/// The metrics of a run that a study keeps, in the order of its columns: those of the summary, then what the cluster is paid
/// for, then the cost.
#[must_use]
pub fn metric_names() -> Vec<&'static str> {
    METRICS.iter().copied().chain(["replica_h", "node_h", COST]).collect()
}

/// The metric that prices make of the others.
pub const COST: &str = "cost";

/// Whoever saves a smaller share than this of what is there gains nothing that would be noticed.
pub const INDIFFERENCE: f64 = 0.01;

/// The metric that variants are compared by if nothing has a price.
pub(crate) const UNREADY: &str = "unready_replica_s";

/// The metrics of a run that a study keeps of each workload whose `tolerationSeconds` it varies: the cost, and all that can have
/// a price, so that other prices need no new runs.
pub const WORKLOAD_METRICS: [&str; 10] = [
    COST,
    "unready_replica_s",
    "evictions",
    "needless_evictions",
    "preemptions",
    "stateful_interruptions",
    "objectives_missed",
    "below_desired_s",
    "below_min_ready_s",
    "replica_h",
];
