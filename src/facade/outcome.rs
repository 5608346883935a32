//! What a run leaves behind.

use std::collections::BTreeMap;

use super::error::Error;
use super::plugins::PluginRow;
use super::scenario::Scenario;
use crate::inspect::Agreement;
use crate::observe::Observed;
use crate::scenario::ExpectationOutcome;
use crate::simulation::{RefusedObject, Storm};
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
    /// Objects of the input that the API server refused when a cold start applied them.
    pub(crate) refused_at_start: Vec<RefusedObject>,
    pub(crate) observed: Observed,
    pub(crate) expectations: Vec<ExpectationOutcome>,
    pub(super) digest: u64,
    /// What is told of the scenario's plug-ins.
    pub(super) plugins: Vec<PluginRow>,
    /// What of it agrees with what was seen of the real cluster, if it was held against that.
    pub(super) agreement: Option<Agreement>,
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
}
