//! What a run leaves behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::Error;
use super::place::{self, Of};
use super::run_files;
use super::scenario::Scenario;
use crate::inspect;
use crate::observe::Observed;
use crate::report::{OutputDir, Overwrite, draw_charts, draw_page};
use crate::scenario::{ExpectationOutcome, lock_file};
use crate::simulation::Storm;
use crate::units::SimDuration;

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(super) scenario: Scenario,
    pub(super) seed: u64,
    pub(super) sample: SimDuration,
    pub(super) keeps_rows: bool,
    /// Workloads that did not settle before t=0.
    pub(crate) storms: Vec<Storm>,
    pub(crate) observed: Observed,
    pub(crate) expectations: Vec<ExpectationOutcome>,
    pub(super) digest: u64,
}

/// How results are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    force: bool,
    leaves_charts_out: bool,
}

impl WriteOptions {
    /// With charts and page, where there is nothing, or in the place of an earlier result of the same: a run in the place of a run, a study or
    /// plan in the place of the same one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether to replace whatever is there. Inputs, the working directory and your home directory stay.
    #[must_use]
    pub fn force(mut self, is_forced: bool) -> Self {
        self.force = is_forced;
        self
    }

    /// Whether charts and the page are drawn.
    #[must_use]
    pub fn charts(mut self, are_drawn: bool) -> Self {
        self.leaves_charts_out = !are_drawn;
        self
    }

    pub(super) fn is_forced(&self) -> bool {
        self.force
    }

    pub(super) fn draws_charts(&self) -> bool {
        !self.leaves_charts_out
    }

    pub(super) fn overwrite(&self) -> Overwrite {
        if self.force { Overwrite::Anything } else { Overwrite::OnlyOurs }
    }
}

impl Outcome {
    /// The scenario that was played.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The seed that was played.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A metric, such as `evictions` or `unready_replica_s`; none if there is none of that name.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.observed.summary.metrics.get(name).copied()
    }

    /// All metrics by their names.
    #[must_use]
    pub fn metrics(&self) -> &BTreeMap<&'static str, f64> {
        &self.observed.summary.metrics
    }

    /// Whether everything holds that the scenario's `expect` says.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.expectations.iter().all(|expectation| expectation.holds)
    }

    /// What somebody who reads one thing should read, a sentence each.
    ///
    /// # Errors
    ///
    /// If the run kept no rows, of which this is made.
    pub fn verdict(&self) -> Result<impl Iterator<Item = &str>, Error> {
        self.expect_rows()?;
        Ok(self.observed.summary.verdict.iter().map(|sentence| sentence.text.as_str()))
    }

    /// Whether rows were kept: those of [`rows`](Outcome::rows) and of the files.
    #[must_use]
    pub fn keeps_rows(&self) -> bool {
        self.keeps_rows
    }

    pub(super) fn expect_rows(&self) -> Result<(), Error> {
        let message = "the run kept no rows, only its metrics and its summary";
        if self.keeps_rows { Ok(()) } else { Err(Error::argument(message, "play it without `summary_only`")) }
    }

    /// Equal for runs in which the same events happened at the same instants in the same order.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

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
        run_files::summary_json(self)
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
        self.write_into(self.scenario.place(dir.as_ref(), options)?, options)
    }

    /// Writes them to a place that has been looked at.
    pub(crate) fn write_into(&self, out: OutputDir, options: &WriteOptions) -> Result<PathBuf, Error> {
        self.expect_rows()?;
        run_files::write(self, &out)?;
        if options.draws_charts() {
            let summary = inspect::summary(out.path())?;
            for (name, picture) in draw_charts(out.path(), &summary)?.drawn {
                out.write(&format!("charts/{name}"), picture.as_bytes())?;
            }
            out.write("report.html", draw_page(out.path(), &summary)?.as_bytes())?;
        }
        Ok(out.finish()?)
    }
}

impl Scenario {
    /// Looks whether results can be written somewhere, before anything is played; none of what is read may be there.
    pub(crate) fn place(&self, dir: &Path, options: &WriteOptions) -> Result<OutputDir, Error> {
        let overwrite = options.overwrite();
        place::check(dir, overwrite, Of::Run, self.resolved().inputs())?;
        Ok(OutputDir::begin(dir, overwrite)?)
    }
}
