//! What runs of a study have to keep, and in which share of them: chance constraints, such as an availability of 99.9 % in 95 % of years.
//!
//! # Source
//!
//! Charnes and Cooper, Chance-constrained programming, Management Science 6 (1959). Whether a variant keeps one is told from its runs by
//! the exact interval of a share: Clopper and Pearson, Biometrika 26 (1934).

mod document;
mod standing;

use std::fmt;

use serde::{Deserialize, Serialize};

pub(in crate::study) use document::{RequireEntry, check, check_runs, too_few};
pub use standing::{Judged, Kept, Standing};
pub(in crate::study) use standing::{judged, runs_to_tell_if_all_meet};

use super::metrics;
use super::run::RunRow;
use crate::observe::{WorkloadOutcome, workload_matches};

/// The figure of a run that is no column of every study: the share of time at or above `minReady`.
pub(in crate::study) const AVAILABILITY: &str = "availability";

/// Figures that a workload has of its own, all but the first the higher the worse.
pub(in crate::study) const OF_WORKLOADS: [&str; 9] = [
    AVAILABILITY,
    "below_min_ready_s",
    "longest_gap_s",
    "below_desired_s",
    "longest_short_s",
    "unready_replica_s",
    "evictions",
    "needless_evictions",
    "preemptions",
];

/// Something that a share of all runs has to keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Requirement {
    /// The figure of a run: one of its metrics, or `availability`, the lowest of all workloads that have an objective.
    pub metric: String,
    /// Whose figure it is, by `kind/namespace/name` with `*` for any text: of several that of the worst counts. None if it is the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// What it has to be.
    #[serde(flatten)]
    pub limit: Limit,
    /// In which share of all runs; 1 for every run that is played.
    pub probability: f64,
}

/// What a figure has to be, in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

impl Limit {
    /// Whether a figure is within it.
    #[must_use]
    pub fn holds(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(least) => figure >= least,
            Self::AtMost(most) => figure <= most,
        }
    }
}

impl Requirement {
    /// The column of `runs.csv` that has its figure: a metric, `availability`, or either with the workload that it is of.
    #[must_use]
    pub fn figure(&self) -> String {
        match &self.workload {
            None => self.metric.clone(),
            Some(workload) => format!("{} {workload}", self.metric),
        }
    }

    /// Whether its figure is a column of every study.
    fn is_of_metrics(&self) -> bool {
        self.workload.is_none() && self.metric != AVAILABILITY
    }

    /// Its figure, of the outcomes of a run's workloads: that of the worst of those that are meant. Who is not there, or wants no pods, is
    /// not available.
    fn of_outcomes(&self, outcomes: &[WorkloadOutcome]) -> f64 {
        let is_meant = |of: &&WorkloadOutcome| match &self.workload {
            None => of.objective.is_some(),
            Some(pattern) => workload_matches(pattern, &of.object()),
        };
        let is_asked = |of: &&WorkloadOutcome| self.metric != AVAILABILITY || of.wanted_replica_s > 0.0;
        let meant = outcomes.iter().filter(is_meant).filter(is_asked);
        let figures = meant.map(|of| figure_of(of, &self.metric));
        if self.metric == AVAILABILITY { figures.reduce(f64::min).unwrap_or(0.0) } else { figures.fold(0.0, f64::max) }
    }

    /// What it is called in tables: `availability>=0.999`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.limit {
            Limit::AtLeast(least) => format!("{}>={least}", self.figure()),
            Limit::AtMost(most) => format!("{}<={most}", self.figure()),
        }
    }

    /// The limit as people read it.
    fn limit_text(&self) -> String {
        let (side, value) = match self.limit {
            Limit::AtLeast(least) => ("at least", least),
            Limit::AtMost(most) => ("at most", most),
        };
        if self.metric == AVAILABILITY { format!("{side} {} %", percent(value)) } else { format!("{side} {value}") }
    }
}

impl fmt::Display for Requirement {
    /// `availability of at least 99.9 % in 95 % of runs`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = self.workload.as_ref().map_or_else(String::new, |workload| format!(" of {workload}"));
        let often = match self.probability {
            1.0 => "every run".to_owned(),
            share => format!("{} % of runs", percent(share)),
        };
        write!(formatter, "{}{whose} of {} in {often}", self.metric, self.limit_text())
    }
}

/// A share as it was written: without what binary fractions add to it.
fn percent(share: f64) -> f64 {
    (share * 100.0 * 1e9).round() / 1e9
}

/// A figure that a workload has of its own.
fn figure_of(of: &WorkloadOutcome, metric: &str) -> f64 {
    match metric {
        AVAILABILITY => of.availability,
        "below_min_ready_s" => of.below_min_ready_s,
        "longest_gap_s" => of.longest_gap_s,
        "below_desired_s" => of.below_desired_s,
        "longest_short_s" => of.longest_short_s,
        "unready_replica_s" => of.unready_replica_s,
        "evictions" => of.evictions.into(),
        "needless_evictions" => of.needless_evictions.into(),
        "preemptions" => of.preemptions.into(),
        _ => 0.0,
    }
}

/// Requirements whose figures runs have to keep besides their metrics: one of each.
fn with_figures(requirements: &[Requirement]) -> Vec<&Requirement> {
    let mut found: Vec<&Requirement> = Vec::new();
    for one in requirements.iter().filter(|one| !one.is_of_metrics()) {
        if found.iter().all(|known| known.figure() != one.figure()) {
            found.push(one);
        }
    }
    found
}

/// Names of the figures that runs keep for these requirements besides their metrics.
pub(in crate::study) fn figures(requirements: &[Requirement]) -> Vec<String> {
    with_figures(requirements).into_iter().map(Requirement::figure).collect()
}

/// These figures, of the outcomes of a run's workloads.
pub(in crate::study) fn figures_of(requirements: &[Requirement], outcomes: &[WorkloadOutcome]) -> Box<[f64]> {
    with_figures(requirements).into_iter().map(|one| one.of_outcomes(outcomes)).collect()
}

/// Where a run has a figure.
#[derive(Clone, Copy, Debug)]
pub(in crate::study) enum Place {
    /// Among its metrics.
    Metric(usize),
    /// Among those that it keeps besides.
    Figure(usize),
}

impl Place {
    /// That of a figure by the name of its column, in a study that requires all these; none if its runs have no such figure.
    pub(in crate::study) fn of(requirements: &[Requirement], figure: &str) -> Option<Self> {
        let besides = || figures(requirements).iter().position(|known| known == figure);
        metrics::position(figure).map(Self::Metric).or_else(|| besides().map(Self::Figure))
    }

    /// What stands there.
    pub(in crate::study) fn in_run(self, row: &RunRow) -> f64 {
        match self {
            Self::Metric(at) => row.metrics[at],
            Self::Figure(at) => row.figures[at],
        }
    }
}
