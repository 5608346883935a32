//! The tables of a study.

use super::input_rows::{InputRow, InputRunRow};
use crate::observe::{Column, Row, Table, TableInfo};

/// The metrics that are shown of every variant, besides what it costs.
pub(crate) const SHOWN_METRICS: [&str; 4] = ["unready_replica_s", "evictions", "needless_evictions", "longest_gap_s"];

pub(super) const AXES: &str = "a column for each thing that is varied: its value";

/// Every table of a study's directory.
#[must_use]
pub fn tables_of_studies() -> Vec<TableInfo> {
    vec![
        TableInfo::of::<RunRow>(),
        TableInfo::of::<WorkloadRunRow>(),
        TableInfo::of::<MetricRow>(),
        TableInfo::of::<TuningRow>(),
        TableInfo::of::<RareEventRow>(),
        TableInfo::of::<RequirementRow>(),
        TableInfo::of::<SurrogateRow>(),
        TableInfo::of::<InputRow>(),
        TableInfo::of::<InputRunRow>(),
    ]
}

/// A row of `runs.csv`.
#[derive(Clone, Debug)]
pub(crate) struct RunRow {
    pub(crate) variant: usize,
    pub(crate) values: Vec<String>,
    pub(crate) replication: u32,
    pub(crate) seed: u64,
    pub(crate) metrics: Vec<f64>,
    /// One number, or none where runs have no weights.
    pub(crate) weight: Vec<f64>,
    /// Figures that are no metrics and of which something is required.
    pub(crate) figures: Vec<f64>,
}

impl Row for RunRow {
    const TABLE: Table<Self> = Table {
        file: "runs.csv",
        holds: "a row for each run",
        columns: &[
            Column::number("variant", "", "the variant's position in the grid, from 0", |row| row.variant as i64),
            Column::texts("<axis>", AXES, |row| &row.values),
            Column::number("replication", "", "which of the variant's runs, from 0", |row| row.replication.into()),
            Column::unsigned("seed", "", "the seed that it was played with", |row| row.seed),
            Column::reals("<metric>", "a column for each metric of a run, `replica_h`, `node_h` and `cost`", |row| {
                &row.metrics
            }),
            Column::reals(
                "<weight>",
                "of a study of a rare event, a column `weight`: how much likelier the run is in truth than it was to be drawn",
                |row| &row.weight,
            ),
            Column::reals(
                "<figure>",
                "of a study that requires something of them, `availability`, and figures of workloads such as `availability deployment/shop/web`",
                |row| &row.figures,
            ),
        ],
    };
}

/// A row of `rare-events.csv`.
#[derive(Clone, Debug)]
pub(crate) struct RareEventRow {
    pub(crate) variant: usize,
    pub(crate) values: Vec<String>,
    pub(crate) event: String,
    pub(crate) n: usize,
    pub(crate) hits: usize,
    /// Mean, low and high.
    pub(crate) probability: [f64; 3],
    /// The same of how often it comes in a year.
    pub(crate) per_year: [f64; 3],
    pub(crate) effective_runs: f64,
    pub(crate) plain_runs: f64,
    pub(crate) is_told: bool,
    /// The same of the difference of the probability to the baseline's.
    pub(crate) difference: [f64; 3],
}

impl Row for RareEventRow {
    const TABLE: Table<Self> = Table {
        file: "rare-events.csv",
        holds: "of a study of a rare event, a row for each variant",
        columns: &[
            Column::number("variant", "", "the variant's position in the grid, from 0", |row| row.variant as i64),
            Column::texts("<axis>", AXES, |row| &row.values),
            Column::text("event", "what is rare: the metric, `>` or `<`, and the threshold", |row| &row.event),
            Column::number("n", "runs", "all of them", |row| row.n as i64),
            Column::number("hits", "runs", "those that had the event, as failures were drawn", |row| row.hits as i64),
            Column::real("probability", "", "the probability that a run has it", |row| row.probability[0]),
            Column::real("low", "", "the lower end of its confidence interval", |row| row.probability[1]),
            Column::real("high", "", "the upper end", |row| row.probability[2]),
            Column::real(
                "per_year",
                "",
                "how often it comes in a year of such runs; nothing if every run had it",
                |row| row.per_year[0],
            ),
            Column::real("per_year_low", "", "the lower end of its confidence interval", |row| row.per_year[1]),
            Column::real(
                "per_year_high",
                "",
                "the upper end; nothing if it is not known, or every run may have it",
                |row| row.per_year[2],
            ),
            Column::real("effective_runs", "runs", "as many of equal weight would tell as much", |row| {
                row.effective_runs
            }),
            Column::real(
                "plain_runs",
                "runs",
                "so many, failures coming as they do, would have an interval as narrow; nothing if that is not told",
                |row| row.plain_runs,
            ),
            Column::truth("told", "whether the runs with weight are enough to say it", |row| row.is_told),
            Column::real(
                "difference",
                "",
                "by how much the probability is higher than the baseline's, if both are told",
                |row| row.difference[0],
            ),
            Column::real("difference_low", "", "the lower end of its confidence interval", |row| row.difference[1]),
            Column::real("difference_high", "", "the upper end", |row| row.difference[2]),
        ],
    };
}

/// A row of `requirements.csv`.
#[derive(Clone, Debug)]
pub(crate) struct RequirementRow {
    pub(crate) variant: usize,
    pub(crate) values: Vec<String>,
    pub(crate) requirement: String,
    pub(crate) probability: f64,
    pub(crate) n: usize,
    pub(crate) kept: usize,
    /// Low and high.
    pub(crate) share: [f64; 2],
    pub(crate) standing: &'static str,
    pub(crate) runs_needed: Option<i64>,
}

impl Row for RequirementRow {
    const TABLE: Table<Self> = Table {
        file: "requirements.csv",
        holds: "of a study that requires something, a row for each requirement and variant",
        columns: &[
            Column::number("variant", "", "the variant's position in the grid, from 0", |row| row.variant as i64),
            Column::texts("<axis>", AXES, |row| &row.values),
            Column::text("requirement", "what a run has to keep: the figure, `>=` or `<=`, and the limit", |row| {
                &row.requirement
            }),
            Column::real("probability", "", "the share of all runs that has to keep it", |row| row.probability),
            Column::number("n", "runs", "all of them", |row| row.n as i64),
            Column::number("kept", "runs", "those that keep it", |row| row.kept as i64),
            Column::real(
                "share_at_least",
                "",
                "at least that share of all runs keeps it, by Clopper and Pearson, for all requirements and variants at once",
                |row| row.share[0],
            ),
            Column::real("share_at_most", "", "at most that share does", |row| row.share[1]),
            Column::text("standing", "`meets`, `misses`, or `open` if the runs do not tell", |row| row.standing),
            Column::maybe_number(
                "runs_needed",
                "runs",
                "if it is open, about so many would tell; nothing if no number that anybody plays does",
                |row| row.runs_needed,
            ),
        ],
    };
}

/// A row of `workloads.csv` of a study.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadRunRow {
    pub(crate) variant: usize,
    pub(crate) values: Vec<String>,
    pub(crate) replication: u32,
    pub(crate) workload: String,
    pub(crate) metrics: Vec<f64>,
}

impl Row for WorkloadRunRow {
    const TABLE: Table<Self> = Table {
        file: "workloads.csv",
        holds: "if `tolerationSeconds` are varied, a row for each run and workload whose pods have them",
        columns: &[
            Column::number("variant", "", "the variant's position in the grid, from 0", |row| row.variant as i64),
            Column::texts("<axis>", AXES, |row| &row.values),
            Column::number("replication", "", "which of the variant's runs, from 0", |row| row.replication.into()),
            Column::text("workload", "the workload", |row| &row.workload),
            Column::reals(
                "<metric>",
                "a column for each metric that a workload has of its own, and its `cost`",
                |row| &row.metrics,
            ),
        ],
    };
}

/// A row of `variants.csv`. Of a metric that was never observed, everything but `n` is not a number.
#[derive(Clone, Debug)]
pub(crate) struct MetricRow {
    pub(crate) variant: usize,
    pub(crate) values: Vec<String>,
    pub(crate) metric: String,
    pub(crate) n: usize,
    /// Mean, low and high.
    pub(crate) mean: [f64; 3],
    pub(crate) deviation: f64,
    pub(crate) min: f64,
    /// Median, low and high.
    pub(crate) p50: [f64; 3],
    /// The same of the 90th percentile.
    pub(crate) p90: [f64; 3],
    /// The same of the 99th.
    pub(crate) p99: [f64; 3],
    pub(crate) max: f64,
    /// Mean difference to the baseline, low and high.
    pub(crate) difference: [f64; 3],
    pub(crate) widened: Option<bool>,
    pub(crate) difference_widened: Option<bool>,
    pub(crate) ruled_out: String,
    /// How it stands to each requirement.
    pub(crate) requirements: Vec<String>,
}

impl Row for MetricRow {
    const TABLE: Table<Self> = Table {
        file: "variants.csv",
        holds: "a row for each variant and metric, in the metric's unit",
        columns: &[
            Column::number("variant", "", "the variant's position in the grid, from 0", |row| row.variant as i64),
            Column::texts("<axis>", AXES, |row| &row.values),
            Column::text("metric", "the metric", |row| &row.metric),
            Column::number(
                "n",
                "runs",
                "those of which it is known; all that follows is empty if there are none",
                |row| row.n as i64,
            ),
            Column::real("mean", "", "their mean; of `cost_cvar_95`, `cost_quantile_95` that figure", |row| {
                row.mean[0]
            }),
            Column::real("low", "", "the lower end of its confidence interval", |row| row.mean[1]),
            Column::real("high", "", "the upper end", |row| row.mean[2]),
            Column::real("deviation", "", "the standard deviation", |row| row.deviation),
            Column::real("min", "", "the least", |row| row.min),
            Column::real("p50", "", "the median", |row| row.p50[0]),
            Column::real("p50_low", "", "the lower end of its confidence interval", |row| row.p50[1]),
            Column::real("p50_high", "", "the upper end", |row| row.p50[2]),
            Column::real("p90", "", "the 90th percentile", |row| row.p90[0]),
            Column::real("p90_low", "", "the lower end of its confidence interval", |row| row.p90[1]),
            Column::real("p90_high", "", "the upper end", |row| row.p90[2]),
            Column::real("p99", "", "the 99th percentile", |row| row.p99[0]),
            Column::real("max", "", "the most", |row| row.max),
            Column::real("difference", "", "the mean difference to the baseline, run by run", |row| row.difference[0]),
            Column::real("difference_low", "", "the lower end of its confidence interval", |row| row.difference[1]),
            Column::real("difference_high", "", "the upper end", |row| row.difference[2]),
            Column::maybe_truth("widened", "whether the mean's interval allows for runs that nobody has seen", |row| {
                row.widened
            }),
            Column::maybe_truth("difference_widened", "the same of the difference's", |row| row.difference_widened),
            Column::text(
                "ruled_out",
                "what the variant leaves undone, or is told to miss, if that rules it out",
                |row| &row.ruled_out,
            ),
            Column::real(
                "p99_low",
                "",
                "the lower end of the interval of `p99`; nothing if there are too few runs for one",
                |row| row.p99[1],
            ),
            Column::real("p99_high", "", "the upper end", |row| row.p99[2]),
            Column::texts(
                "<requirement>",
                "of a study that requires something, a column for each requirement: whether the variant `meets` it, `misses` it, or leaves it `open`",
                |row| &row.requirements,
            ),
        ],
    };
}

/// A row of `tuning.csv`.
#[derive(Clone, Debug)]
pub(crate) struct TuningRow {
    pub(crate) workload: String,
    pub(crate) value: String,
    pub(crate) today: String,
    pub(crate) best: String,
    /// Mean, low and high.
    pub(crate) cost: [f64; 3],
    pub(crate) unready_replica_s: f64,
    pub(crate) evictions: f64,
    pub(crate) needless_evictions: f64,
    pub(crate) recommended: String,
    pub(crate) ruled_out: String,
    /// One number, or none where all have as many.
    pub(crate) runs: Vec<f64>,
}

impl Row for TuningRow {
    const TABLE: Table<Self> = Table {
        file: "tuning.csv",
        holds: "of `tune`: a row for each workload and value of its `tolerationSeconds`",
        columns: &[
            Column::text("workload", "the workload", |row| &row.workload),
            Column::text("value", "the value", |row| &row.value),
            Column::text("today", "what the workload has now", |row| &row.today),
            Column::text("best", "the value that costs least", |row| &row.best),
            Column::real("cost", "cost", "what the value costs, on average of the runs", |row| row.cost[0]),
            Column::real("low", "cost", "the lower end of its confidence interval", |row| row.cost[1]),
            Column::real("high", "cost", "the upper end", |row| row.cost[2]),
            Column::real("unready_replica_s", "pods × s", "mean missing ready pods times seconds", |row| {
                row.unready_replica_s
            }),
            Column::real("evictions", "pods", "mean pods evicted", |row| row.evictions),
            Column::real("needless_evictions", "pods", "mean needless evictions", |row| row.needless_evictions),
            Column::text("recommended", "the value that is recommended", |row| &row.recommended),
            Column::text("ruled_out", "what the value leaves undone, if that rules it out", |row| &row.ruled_out),
            Column::reals(
                "<runs>",
                "of `tune --contenders`, a column `runs`: the runs that the row rests on, fewer where the value was set aside",
                |row| &row.runs,
            ),
        ],
    };
}

/// A row of `surrogate.csv`.
#[derive(Clone, Debug)]
pub(crate) struct SurrogateRow {
    pub(crate) along: String,
    pub(crate) values: Vec<String>,
    pub(crate) place: f64,
    /// Mean, low and high.
    pub(crate) difference: [f64; 3],
    pub(crate) is_played: bool,
    pub(crate) observed: f64,
}

impl Row for SurrogateRow {
    const TABLE: Table<Self> = Table {
        file: "surrogate.csv",
        holds: "of `tune` with ranges: for each thing that is varied a row for each of its values, the others being those of the best point that was played",
        columns: &[
            Column::text("along", "the thing whose values the row is one of", |row| &row.along),
            Column::texts("<axis>", AXES, |row| &row.values),
            Column::real(
                "place",
                "",
                "where the value lies between the ends of its range, 0 to 1; of listed values their position, from 0",
                |row| row.place,
            ),
            Column::real(
                "predicted",
                "cost",
                "what is predicted to be paid more than for the baseline, a run",
                |row| row.difference[0],
            ),
            Column::real("predicted_low", "cost", "the lower end of its 95 % interval", |row| row.difference[1]),
            Column::real("predicted_high", "cost", "the upper end", |row| row.difference[2]),
            Column::truth("played", "whether the point was played", |row| row.is_played),
            Column::real(
                "observed",
                "cost",
                "what its runs cost more than the baseline's, on average; nothing if it was not played",
                |row| row.observed,
            ),
        ],
    };
}
