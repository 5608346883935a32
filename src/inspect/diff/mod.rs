//! What changed from one run to another: in what went in, when they first went apart and why, and what came of it.

mod divergence;
mod figures;
mod inputs;
mod made_names;
mod only;
mod verdict;

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::InspectError;
use crate::diagnostics::Remark;
use crate::report::RunTables;
use crate::units::SimTime;

pub use divergence::{Apart, Divergence, Happening, Why, WhyKind};
pub use figures::{Difference, Headline, ServiceDifference, WorkloadDifference};
pub use inputs::{Inputs, Setting};
pub use only::OnlyInOne;

/// What differs between two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// Whether nothing differs in what came out, but for the times over which the runs were observed.
    pub alike: bool,
    /// What is said of them before any figure.
    pub verdict: Vec<Remark>,
    /// The figures that a review asks for first, whether they differ or not.
    pub headlines: Vec<Headline>,
    /// The two runs.
    pub runs: [Run; 2],
    /// What differs in what went in.
    pub inputs: Inputs,
    /// Where they first went apart; none if they never did while both lasted.
    pub divergence: Option<Divergence>,
    /// What only one of them has.
    pub only: Vec<OnlyInOne>,
    /// Metrics of the whole run, the most important ones first.
    pub metrics: Vec<Difference>,
    /// Workloads whose outcome differs, those whose fate changed most first.
    pub workloads: Vec<WorkloadDifference>,
    /// Services whose outcome differs, those whose fate changed most first.
    pub services: Vec<ServiceDifference>,
}

/// One of the two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Its directory.
    pub dir: String,
    /// `metadata.name` of its scenario.
    pub scenario: String,
    /// Its seed.
    pub seed: Option<u64>,
    /// How long it was.
    pub duration_s: f64,
    /// The version of this program that played it.
    pub version: String,
    /// What `--set` changed.
    pub overrides: Vec<String>,
    /// Plug-ins of whoever played it: names, kinds and weights.
    #[serde(skip)]
    pub(super) plugins: Value,
}

impl Run {
    fn of(dir: &Path, summary: &Value) -> Self {
        let text = |field: &str| summary[field].as_str().unwrap_or_default().to_owned();
        let overrides = summary["overrides"].as_array().into_iter().flatten();
        Self {
            dir: dir.display().to_string(),
            scenario: text("scenario"),
            seed: summary["seed"].as_u64(),
            duration_s: summary["duration_s"].as_f64().unwrap_or(0.0),
            version: text("version"),
            overrides: overrides.filter_map(Value::as_str).map(str::to_owned).collect(),
            plugins: plugins_of(summary),
        }
    }

    /// When it ends.
    fn end(&self) -> SimTime {
        SimTime::from_millis((self.duration_s * 1000.0).round() as i64)
    }
}

/// What is told of the plug-ins of a run, without what controllers did.
fn plugins_of(summary: &Value) -> Value {
    let plugins = summary["plugins"].as_array().into_iter().flatten().cloned();
    let input = plugins.map(|mut plugin| {
        if let Some(fields) = plugin.as_object_mut() {
            fields.retain(|name, _| !matches!(name.as_str(), "requests" | "refused"));
        }
        plugin
    });
    input.collect()
}

/// Compares two runs.
///
/// # Errors
///
/// If one of the directories is no run's, or something in it is missing or damaged.
pub fn diff(tables: [&RunTables; 2]) -> Result<Diff, InspectError> {
    tables.into_iter().try_for_each(super::expect_whole_run)?;
    let summaries = tables.map(RunTables::summary);
    let runs = tables.map(|tables| Run::of(tables.dir(), tables.summary()));
    let inputs = inputs::compare(tables.map(RunTables::dir), &runs)?;
    let divergence = divergence::first(tables, &runs, &inputs)?;
    let metrics = figures::metrics(summaries);
    let (workloads, services) = (figures::workloads(summaries), figures::services(summaries));
    let only = only::find(tables)?;
    let alike = divergence.is_none()
        && metrics.is_empty()
        && workloads.is_empty()
        && services.is_empty()
        && only.is_empty()
        && runs[0].duration_s == runs[1].duration_s;
    let headlines = figures::headlines(summaries);
    let verdict = Vec::new();
    let mut found = Diff { alike, verdict, headlines, runs, inputs, divergence, only, metrics, workloads, services };
    found.verdict = verdict::of(&found);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_study_is_no_run() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let open = |summary| RunTables::new(dir.path().to_owned(), summary);
        let study = open(json!({"study": {"study": "tolerations"}, "variants": []}));
        let ours = open(json!({"metrics": {}, "workloads": []}));
        let compared = diff([&ours, &study]);
        assert!(matches!(compared, Err(InspectError::OtherResults { found: "a study", .. })), "{compared:?}");
    }
}
