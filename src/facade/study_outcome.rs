//! What a study leaves behind.

use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::Value;

use crate::study::{
    self, BreakEven, Confirmation, InputUncertainty, Interval, Patches, RareEstimate, Results, RunRow, Tuning,
};

/// A study that has been played.
#[derive(Clone, Debug)]
pub struct StudyOutcome {
    pub(crate) results: Results,
    pub(crate) tuning: Option<Tuning>,
    pub(crate) confirmation: Option<Confirmation>,
    pub(super) patches: Option<Patches>,
    /// What is to be said about earlier results.
    pub(crate) note: Option<String>,
    /// How far the answer rests on prices, once somebody has asked.
    pub(super) break_even: OnceLock<Vec<BreakEven>>,
    /// What it was read from, which is never replaced.
    pub(super) inputs: Vec<PathBuf>,
}

impl StudyOutcome {
    pub(super) fn of(results: Results, inputs: Vec<PathBuf>) -> Self {
        Self {
            results,
            tuning: None,
            confirmation: None,
            patches: None,
            note: None,
            break_even: OnceLock::new(),
            inputs,
        }
    }

    /// What is to be said about earlier results in the directory, of which nothing is used.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The variants by their values, the last axis fastest.
    #[must_use]
    pub fn variants(&self) -> &[Vec<String>] {
        &self.results.variants
    }

    /// Position of the variant that others are compared with.
    #[must_use]
    pub fn baseline(&self) -> usize {
        self.results.baseline
    }

    /// What each variant gave of a metric, such as `cost` or `evictions`: its mean with its interval. None if there is no metric of
    /// that name among [`metrics`](StudyOutcome::metrics).
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<Vec<Interval>> {
        let is_known = Self::metrics().contains(&name);
        is_known.then(|| self.results.of_metric(name).iter().map(|of| of.interval).collect())
    }

    /// The metrics of a run, in the order of [`RunRow::metrics`].
    #[must_use]
    pub fn metrics() -> Vec<&'static str> {
        study::metric_names()
    }

    /// Every run, a list for each variant.
    #[must_use]
    pub fn runs(&self) -> &[Vec<RunRow>] {
        &self.results.runs
    }

    /// How often the rare event comes that the study looks for, by variant; none if it does not look for any.
    #[must_use]
    pub fn rare_events(&self) -> Option<Vec<RareEstimate>> {
        self.results.rare_estimates()
    }

    /// What the records leave open of a metric that the study's inputs were fitted to, by variant: intervals that allow for it, and with how
    /// many inputs the metric is lower than the baseline's. None if the study does not ask, or there is no metric of that name.
    #[must_use]
    pub fn input_uncertainty(&self, metric: &str) -> Option<Vec<InputUncertainty>> {
        Self::metrics().contains(&metric).then(|| self.results.input_uncertainty(metric)).flatten()
    }

    /// The variant that costs least, as far as the runs tell; none of a part, and where runs have weights.
    #[must_use]
    pub fn best(&self) -> Option<usize> {
        self.results.comparison().map(|comparison| comparison.best)
    }

    /// Within which range of each price the answer stays what it is, the others being as they are: the recommendation of
    /// [`Study::tune`](crate::Study::tune), or else the variant that costs least. Nothing where there is no such answer, and where variants
    /// were set aside.
    #[must_use]
    pub fn break_even(&self) -> &[BreakEven] {
        self.break_even.get_or_init(|| self.results.break_even(self.tuning.as_ref()))
    }

    /// What applies the recommendation of [`Study::tune`](crate::Study::tune).
    #[must_use]
    pub fn patches(&self) -> Option<&Patches> {
        self.patches.as_ref()
    }

    /// The content of `summary.json`.
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
        self.results.summary_with(self.tuning.as_ref(), self.confirmation.as_ref(), self.break_even())
    }
}
