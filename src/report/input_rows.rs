//! The tables of what the records of a study's inputs leave open.

use super::study_rows::AXES;
use crate::observe::{Column, Row, Table};

/// A row of `inputs.csv`. What of it is not known is not a number.
#[derive(Clone, Debug)]
pub(crate) struct InputRow {
    pub(crate) variant: usize,
    pub(crate) values: Vec<String>,
    pub(crate) metric: String,
    pub(crate) inputs: usize,
    pub(crate) replications: u32,
    pub(crate) figure: UncertainCells,
    pub(crate) mean_of_inputs: f64,
    pub(crate) difference: UncertainCells,
    pub(crate) lower_with: Option<i64>,
}

/// A figure in an interval that allows for chance and for the records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UncertainCells {
    /// Mean, low and high.
    pub(crate) interval: [f64; 3],
    pub(crate) runs: f64,
    pub(crate) records: f64,
    pub(crate) share: f64,
    pub(crate) told: Option<bool>,
}

impl UncertainCells {
    /// Of nothing.
    pub(crate) const NONE: Self =
        Self { interval: [f64::NAN; 3], runs: f64::NAN, records: f64::NAN, share: f64::NAN, told: None };
}

impl Row for InputRow {
    const TABLE: Table<Self> = Table {
        file: "inputs.csv",
        holds: "of a study that asks what its records leave open, a row for each variant and metric, in the metric's unit",
        columns: &[
            Column::number("variant", "", "the variant's position in the grid, from 0", |row| row.variant as i64),
            Column::texts("<axis>", AXES, |row| &row.values),
            Column::text("metric", "the metric", |row| &row.metric),
            Column::number("inputs", "inputs", "fits to records drawn anew that were played", |row| row.inputs as i64),
            Column::number("input_replications", "runs", "of the variant with each of them", |row| {
                row.replications.into()
            }),
            Column::real("mean", "", "the mean with the inputs as they were fitted, as in `variants.csv`", |row| {
                row.figure.interval[0]
            }),
            Column::real(
                "low",
                "",
                "the lower end of an interval that allows for chance of the runs and for the records",
                |row| row.figure.interval[1],
            ),
            Column::real("high", "", "the upper end", |row| row.figure.interval[2]),
            Column::real("error_of_runs", "", "the standard error that chance of the runs leaves", |row| {
                row.figure.runs
            }),
            Column::real(
                "deviation_of_records",
                "",
                "the standard deviation that the inputs make, noise of their runs taken out; 0 if there is no more than noise",
                |row| row.figure.records,
            ),
            Column::real("share_of_records", "", "which share of both variances is the records'", |row| {
                row.figure.share
            }),
            Column::maybe_truth(
                "told",
                "whether the inputs are told to make a difference, and not only noise",
                |row| row.figure.told,
            ),
            Column::real("mean_of_inputs", "", "the mean with all of these inputs", |row| row.mean_of_inputs),
            Column::real("difference", "", "the mean difference to the baseline, run by run", |row| {
                row.difference.interval[0]
            }),
            Column::real("difference_low", "", "the lower end of an interval that allows for both", |row| {
                row.difference.interval[1]
            }),
            Column::real("difference_high", "", "the upper end", |row| row.difference.interval[2]),
            Column::real(
                "difference_error_of_runs",
                "",
                "the standard error that chance of the runs leaves of it",
                |row| row.difference.runs,
            ),
            Column::real(
                "difference_deviation_of_records",
                "",
                "the standard deviation that the inputs make of it",
                |row| row.difference.records,
            ),
            Column::real("difference_share_of_records", "", "which share of both variances is the records'", |row| {
                row.difference.share
            }),
            Column::maybe_truth("difference_told", "whether the inputs are told to make a difference to it", |row| {
                row.difference.told
            }),
            Column::maybe_number(
                "lower_with",
                "inputs",
                "those with which it is lower than the baseline's, noise taken out; nothing if they are not told to make a difference to that",
                |row| row.lower_with,
            ),
        ],
    };
}

/// A row of `input-runs.csv`.
#[derive(Clone, Debug)]
pub(crate) struct InputRunRow {
    pub(crate) variant: usize,
    pub(crate) values: Vec<String>,
    pub(crate) input: u32,
    pub(crate) replication: u32,
    pub(crate) seed: u64,
    pub(crate) metrics: Vec<f64>,
    pub(crate) figures: Vec<f64>,
}

impl Row for InputRunRow {
    const TABLE: Table<Self> = Table {
        file: "input-runs.csv",
        holds: "of a study that asks what its records leave open, a row for each run with records drawn anew",
        columns: &[
            Column::number("variant", "", "the variant's position in the grid, from 0", |row| row.variant as i64),
            Column::texts("<axis>", AXES, |row| &row.values),
            Column::number("input", "", "which fit of the file it was played with, from 0", |row| row.input.into()),
            Column::number("replication", "", "which of the variant's runs with it, from 0", |row| {
                row.replication.into()
            }),
            Column::unsigned("seed", "", "the seed that it was played with", |row| row.seed),
            Column::reals("<metric>", "a column for each metric of a run, as in `runs.csv`", |row| &row.metrics),
            Column::reals("<figure>", "figures of which the study requires something, as in `runs.csv`", |row| {
                &row.figures
            }),
        ],
    };
}
