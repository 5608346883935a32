//! The metrics of a run that a study keeps.

use crate::observe::METRICS;

/// The metrics of a run that a study keeps, in the order of its columns: those of the summary, then what the cluster is paid
/// for, then the cost.
#[must_use]
pub fn metric_names() -> Vec<&'static str> {
    METRICS.iter().copied().chain(["replica_h", "node_h", COST]).collect()
}

/// Position of a metric in [`metric_names`]; none if there is none of that name.
pub(super) fn position(metric: &str) -> Option<usize> {
    metric_names().iter().position(|name| *name == metric)
}

/// The metric that prices make of the others.
pub const COST: &str = "cost";

/// The metric that variants are compared by if nothing has a price.
pub(crate) const UNREADY: &str = "unready_replica_s";

/// Whoever saves a smaller share than this of what is there gains nothing that would be noticed, unless the study says otherwise.
pub const INDIFFERENCE: f64 = 0.01;

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
