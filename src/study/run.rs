//! What one run of a study gave.

use serde::{Deserialize, Serialize};

use super::metrics::{WORKLOAD_METRICS, metric_names};

/// What one run gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRow {
    /// Position of its variant.
    pub variant: usize,
    /// Which of the variant's runs.
    pub replication: u32,
    /// Its metrics, in the order of [`StudyOutcome::metrics`](crate::StudyOutcome::metrics).
    pub metrics: Box<[f64]>,
    /// Those of each workload whose `tolerationSeconds` are varied, one workload behind the other: for each the columns of
    /// `workloads.csv` from `cost` on.
    #[serde(default, skip_serializing_if = "<[f64]>::is_empty")]
    pub workloads: Box<[f64]>,
    /// How much likelier the run is in truth than it was to be drawn: 1 unless a study looks for a rare event.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub weight: f64,
    /// Figures that are no metrics and of which the study requires something, in the order in which it names them.
    #[serde(default, skip_serializing_if = "<[f64]>::is_empty")]
    pub figures: Box<[f64]>,
    /// What its random processes went through, if it is to tell how failures are to be drawn.
    #[serde(default, skip_serializing_if = "<[f64]>::is_empty")]
    pub(super) exposures: Box<[f64]>,
}

fn one() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_one(weight: &f64) -> bool {
    *weight == 1.0
}

impl RunRow {
    /// Works out what a run cost, as a whole and for each tuned workload. Metrics that belong to no workload cost it nothing.
    pub(super) fn price<S: AsRef<str>>(&mut self, prices: &[(S, f64)]) {
        let names = metric_names();
        let cost = cost_of(&self.metrics, &names, prices);
        if let Some(last) = self.metrics.last_mut() {
            *last = cost;
        }
        for of_workload in self.workloads.chunks_mut(WORKLOAD_METRICS.len()) {
            of_workload[0] = cost_of(of_workload, &WORKLOAD_METRICS, prices);
        }
    }
}

/// What metrics cost that have these names; what has a price and is not among them costs nothing.
pub(super) fn cost_of<S: AsRef<str>>(values: &[f64], names: &[&str], prices: &[(S, f64)]) -> f64 {
    let of = |name: &str| names.iter().position(|known| *known == name).map_or(0.0, |index| values[index]);
    prices.iter().map(|(name, price)| of(name.as_ref()) * price).fold(0.0, |sum, cost| sum + cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_prices_need_no_new_runs() {
        let mut row = RunRow {
            variant: 0,
            replication: 0,
            metrics: vec![1.0; metric_names().len()].into(),
            workloads: vec![2.0; 2 * WORKLOAD_METRICS.len()].into(),
            weight: 1.0,
            figures: Box::default(),
            exposures: Box::default(),
        };
        row.price(&[("evictions", 3.0), ("preemptions", 0.5), ("node_h", 10.0)]);
        assert_eq!(row.metrics.last(), Some(&13.5));
        assert_eq!((row.workloads[0], row.workloads[WORKLOAD_METRICS.len()]), (7.0, 7.0));
        row.price(&[("evictions", 1.0)]);
        assert_eq!((row.metrics.last(), row.workloads[0]), (Some(&1.0), 2.0));
    }
}
