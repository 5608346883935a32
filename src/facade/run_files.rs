//! The directory of a run: looked at before, and written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::error::Error;
use super::outcome::Outcome;
use super::place::{self, Of};
use super::plugins::PluginRow;
use super::report::Report;
use super::scenario::Scenario;
use super::write_options::WriteOptions;
use crate::inspect::Agreement;
use crate::model::NotModelled;
use crate::model::config::KubernetesVersion;
use crate::observe::{Row, Sentence, Summary};
use crate::report::{AgreementRow, OutputDir, OutputError, write_table, write_tables};
use crate::scenario::{Assumption, ExpectationOutcome, Input, lock_file};
use crate::simulation::{RefusedObject, Storm};
use crate::units::{SimDuration, exact_rfc3339_from_unix_nanos};

impl Scenario {
    /// Refuses a place, before anything is played, that holds a file of the input or something else than an earlier run.
    ///
    /// # Errors
    ///
    /// What is there.
    pub fn check_place(&self, dir: impl AsRef<Path>, options: &WriteOptions) -> Result<(), Error> {
        place::check(dir.as_ref(), options, Of::Run, self.resolved().inputs())
    }

    /// Looks whether results can be written somewhere, before anything is played; none of what is read may be there.
    pub(crate) fn place(&self, dir: &Path, options: &WriteOptions) -> Result<OutputDir, Error> {
        self.check_place(dir, options)?;
        Ok(OutputDir::begin(dir, options.overwrite())?)
    }
}

impl Outcome {
    /// The content of `summary.json`; without what is made of rows, if none were kept.
    ///
    /// # Panics
    ///
    /// Never: a summary is plain data.
    #[must_use]
    pub fn summary(&self) -> Value {
        serde_json::from_str(&self.summary_json()).expect("it is JSON")
    }

    /// The text of `summary.json`.
    #[must_use]
    pub fn summary_json(&self) -> String {
        summary_json(self)
    }

    /// The scenario and seed in one document that plays this run again.
    #[must_use]
    pub fn lock_file(&self) -> String {
        let scenario = self.scenario.resolved();
        if self.seed == scenario.seed {
            return lock_file(scenario);
        }
        let mut scenario = (**scenario).clone();
        scenario.seed = self.seed;
        lock_file(&scenario)
    }

    /// Writes the files, charts and page to a directory, which is whole or not there; gives its path. One that holds an earlier run is
    /// replaced.
    ///
    /// # Errors
    ///
    /// If no rows were kept, the directory holds something else, or the operating system refuses.
    pub fn write(&self, dir: impl AsRef<Path>) -> Result<PathBuf, Error> {
        self.write_with(dir, &WriteOptions::new())
    }

    /// Writes them in that way.
    ///
    /// # Errors
    ///
    /// As [`write`](Outcome::write), but for what the options allow.
    pub fn write_with(&self, dir: impl AsRef<Path>, options: &WriteOptions) -> Result<PathBuf, Error> {
        self.expect_rows()?;
        let written = self.write_into(self.scenario.place(dir.as_ref(), options)?, options)?;
        Ok(written.dir().to_owned())
    }

    /// Writes them to a place that has been looked at; gives what is there then.
    pub(crate) fn write_into(&self, out: OutputDir, options: &WriteOptions) -> Result<Report, Error> {
        self.expect_rows()?;
        self.write_tables(&out)?;
        let report = Report::drawn_in(&out, options, Report::charts)?;
        Ok(report.moved_to(out.finish()?))
    }

    /// Writes everything but what is drawn.
    fn write_tables(&self, out: &OutputDir) -> Result<(), OutputError> {
        write_tables(&self.observed, out)?;
        write_table(&self.scenario.resolved().not_modelled, out)?;
        if let Some(agreement) = &self.agreement {
            write_table(&agreement.rows, out)?;
        }
        out.write("scenario.lock.yaml", self.lock_file().as_bytes())?;
        // Last, as it marks a directory that is whole.
        out.write("summary.json", self.summary_json().as_bytes())
    }
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
    /// The time stamp of t=0: when the dump was made, or a made-up one if the input has none.
    epoch: String,
    /// What `--set` changed in the scenario, as it was typed, and the end that `--until` gave it.
    overrides: &'a [String],
    /// Absent if no rows were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'a [Sentence]>,
    #[serde(flatten)]
    summary: &'a Summary,
    expectations: &'a [ExpectationOutcome],
    /// How well the run agrees with what was seen; absent if it was held against nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<&'a Agreement>,
    /// Rows of each table: one that has others was cut. Absent if none were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<BTreeMap<&'static str, usize>>,
    /// `--sample`: at most one row of cluster.csv per so many seconds; absent if all were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_s: Option<f64>,
    /// Plug-ins and controllers of whoever played it: the lock file does not have them. Absent if there were none.
    #[serde(skip_serializing_if = "<[PluginRow]>::is_empty")]
    plugins: &'a [PluginRow],
    input: &'a Input,
    assumed: &'a [Assumption],
    unsettled: &'a [Storm],
    /// Objects of the input that a cold start could not apply. Absent if there are none.
    #[serde(skip_serializing_if = "<[RefusedObject]>::is_empty")]
    refused_at_start: &'a [RefusedObject],
}

/// The text of `summary.json`.
fn summary_json(outcome: &Outcome) -> String {
    let Outcome { observed, sample, expectations, storms, refused_at_start, agreement, .. } = outcome;
    let (scenario, summary) = (outcome.scenario.resolved(), &observed.summary);
    let mut rows = observed.row_counts();
    rows.insert(NotModelled::TABLE.file, scenario.not_modelled.len());
    rows.extend(agreement.as_ref().map(|agreement| (AgreementRow::TABLE.file, agreement.rows.len())));
    let file = SummaryFile {
        scenario: &scenario.name,
        seed: outcome.seed,
        version: env!("CARGO_PKG_VERSION"),
        kubernetes_version: scenario.config.version,
        duration: scenario.duration,
        duration_s: scenario.duration.as_secs_f64(),
        epoch: exact_rfc3339_from_unix_nanos(scenario.kubectl.epoch_unix_nanos),
        overrides: &outcome.scenario.changes(),
        verdict: outcome.keeps_rows.then_some(&*summary.verdict),
        summary,
        expectations,
        agreement: agreement.as_ref(),
        rows: outcome.keeps_rows.then_some(rows),
        sample_s: (!sample.is_zero()).then(|| sample.as_secs_f64()),
        plugins: &outcome.plugins,
        input: &scenario.input,
        assumed: &scenario.assumed,
        unsettled: storms,
        refused_at_start,
    };
    let mut text = serde_json::to_string_pretty(&file).expect("a summary is plain data");
    text.push('\n');
    text
}
