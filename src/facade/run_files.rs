//! The files of a run's directory besides its tables and charts.

use std::collections::BTreeMap;

use serde::Serialize;

use super::outcome::Outcome;
use crate::model::NotModelled;
use crate::model::config::KubernetesVersion;
use crate::observe::{Row, Sentence, Summary};
use crate::report::{OutputDir, OutputError, write_table, write_tables};
use crate::scenario::{Assumption, ExpectationOutcome, Input};
use crate::simulation::Storm;
use crate::units::SimDuration;

/// Writes everything but the charts.
pub(super) fn write(outcome: &Outcome, out: &OutputDir) -> Result<(), OutputError> {
    write_tables(&outcome.observed, out)?;
    write_table(&outcome.scenario.resolved().not_modelled, out)?;
    out.write("scenario.lock.yaml", outcome.lock_file().as_bytes())?;
    // Last, as it marks a directory that is whole.
    out.write("summary.json", outcome.summary_json().as_bytes())
}

/// `summary.json`: what was run, and the run in numbers.
#[derive(Debug, Serialize)]
struct SummaryFile<'a> {
    scenario: &'a str,
    seed: u64,
    version: &'static str,
    kubernetes_version: KubernetesVersion,
    duration: SimDuration,
    duration_s: f64,
    /// What `--set` changed in the scenario, as it was typed, and the end that `--until` gave it.
    overrides: &'a [String],
    /// Absent if no rows were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'a [Sentence]>,
    #[serde(flatten)]
    summary: &'a Summary,
    expectations: &'a [ExpectationOutcome],
    /// Rows of each table: one that has others was cut. Absent if none were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<BTreeMap<&'static str, usize>>,
    /// `--sample`: at most one row of cluster.csv per so many seconds; absent if all were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_s: Option<f64>,
    input: &'a Input,
    assumed: &'a [Assumption],
    unsettled: &'a [Storm],
}

/// The text of `summary.json`.
pub(super) fn summary_json(outcome: &Outcome) -> String {
    let Outcome { observed, sample, expectations, storms, .. } = outcome;
    let (scenario, summary) = (outcome.scenario.resolved(), &observed.summary);
    let mut rows = observed.row_counts();
    rows.insert(NotModelled::TABLE.file, scenario.not_modelled.len());
    let file = SummaryFile {
        scenario: &scenario.name,
        seed: outcome.seed,
        version: env!("CARGO_PKG_VERSION"),
        kubernetes_version: scenario.config.version,
        duration: scenario.duration,
        duration_s: scenario.duration.as_secs_f64(),
        overrides: &outcome.scenario.changes(),
        verdict: outcome.keeps_rows.then_some(&*summary.verdict),
        summary,
        expectations,
        rows: outcome.keeps_rows.then_some(rows),
        sample_s: (!sample.is_zero()).then(|| sample.as_secs_f64()),
        input: &scenario.input,
        assumed: &scenario.assumed,
        unsettled: storms,
    };
    let mut text = serde_json::to_string_pretty(&file).expect("a summary is plain data");
    text.push('\n');
    text
}
