//! The directories of studies: looked at before, written, read back.

use std::io;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::place::{self, Of};
use super::report::Report;
use super::study_chart;
use super::study_outcome::StudyOutcome;
use super::write_options::WriteOptions;
use crate::inspect;
use crate::report::{OutputDir, draw_study_charts, expect_whole};
use crate::study::Results;

impl StudyOutcome {
    /// Writes runs.csv, variants.csv, summary.json, charts, page, and what is recommended, to a directory, which is whole or not there;
    /// gives its path.
    ///
    /// # Errors
    ///
    /// If the directory holds something else than results of this study, or what `tune` recommended and this does not, or the operating
    /// system refuses.
    pub fn write(&self, dir: impl AsRef<Path>) -> Result<PathBuf, Error> {
        self.write_with(dir, &WriteOptions::new())
    }

    /// Writes them in that way.
    ///
    /// # Errors
    ///
    /// As [`write`](StudyOutcome::write), but for what the options allow.
    pub fn write_with(&self, dir: impl AsRef<Path>, options: &WriteOptions) -> Result<PathBuf, Error> {
        let (results, place, overwrite) = (&self.results, dir.as_ref(), options.overwrite());
        let inputs = self.inputs.iter().map(PathBuf::as_path);
        place::check(place, options, Of::Study(&results.study, results.shard), inputs)?;
        if self.patches.is_none() {
            place::spare_recommendation(place, overwrite, "these results")?;
        }
        self.write_into(place, options)
    }

    /// Whether there is a table of that name.
    pub(super) fn has(&self, file: &str) -> bool {
        match file {
            "runs.csv" | "variants.csv" => true,
            "workloads.csv" => !self.results.tuned.is_empty(),
            "tuning.csv" => self.tuning.is_some(),
            "rare-events.csv" => self.results.is_weighted(),
            "requirements.csv" => self.results.requires(),
            "surrogate.csv" => self.results.search.is_some(),
            "inputs.csv" | "input-runs.csv" => self.results.inputs.is_some(),
            _ => false,
        }
    }

    /// The text of a table's file; none if there is no such table.
    pub(super) fn text_of(&self, file: &str) -> Option<Vec<u8>> {
        let results = &self.results;
        let written = |write: &dyn Fn(&mut dyn io::Write) -> io::Result<()>| {
            let mut text = Vec::new();
            write(&mut text).expect("writing to memory");
            text
        };
        match file {
            _ if !self.has(file) => None,
            "runs.csv" => Some(written(&|out| results.write_runs(out))),
            "workloads.csv" => Some(written(&|out| results.write_workloads(out))),
            "rare-events.csv" => results.rare_events_csv().map(String::into_bytes),
            "requirements.csv" => results.requirements_csv().map(String::into_bytes),
            "surrogate.csv" => results.surrogate_csv().map(String::into_bytes),
            "inputs.csv" => results.inputs_csv().map(String::into_bytes),
            "input-runs.csv" => Some(written(&|out| results.write_input_runs(out))),
            "variants.csv" => Some(results.variants_csv().into_bytes()),
            _ => self.tuning.as_ref().map(|tuning| tuning.csv().into_bytes()),
        }
    }

    /// Writes them to a place that has been looked at.
    pub(super) fn write_into(&self, place: &Path, options: &WriteOptions) -> Result<PathBuf, Error> {
        let results = &self.results;
        let out = OutputDir::begin(place, options.overwrite())?;
        out.write_with("runs.csv", |file| results.write_runs(file))?;
        if !results.tuned.is_empty() {
            out.write_with("workloads.csv", |file| results.write_workloads(file))?;
        }
        out.write("variants.csv", results.variants_csv().as_bytes())?;
        if let Some(text) = results.rare_events_csv() {
            out.write("rare-events.csv", text.as_bytes())?;
        }
        if let Some(text) = results.requirements_csv() {
            out.write("requirements.csv", text.as_bytes())?;
        }
        if let Some(text) = results.surrogate_csv() {
            out.write("surrogate.csv", text.as_bytes())?;
        }
        if let Some(text) = results.inputs_csv() {
            out.write("inputs.csv", text.as_bytes())?;
            out.write_with("input-runs.csv", |file| results.write_input_runs(file))?;
        }
        out.write("summary.json", self.summary_json().as_bytes())?;
        if let (Some(tuning), Some(patches)) = (&self.tuning, &self.patches) {
            out.write("patch.sh", patches.shell.as_bytes())?;
            out.write("patch.yaml", patches.yaml.as_bytes())?;
            out.write("tuning.csv", tuning.csv().as_bytes())?;
        }
        // The same come of its files: a study has too many runs to be read back for them.
        let charts = |_: &Report| Ok(draw_study_charts(&study_chart::of(results, self.tuning.as_ref())));
        Report::drawn_in(&out, options, charts)?;
        Ok(out.finish()?)
    }

    /// Reads the directory of a study, or of one part; what it recommends is not read back.
    ///
    /// # Errors
    ///
    /// If it is not such a directory, or damaged.
    pub fn read(dir: impl AsRef<Path>) -> Result<Self, Error> {
        let dir = dir.as_ref();
        Ok(Self::of(read(dir, &inspect::summary(dir)?)?, vec![dir.to_owned()]))
    }

    /// Puts the parts of one study together.
    ///
    /// # Errors
    ///
    /// If some are missing, or of another study.
    pub fn merge(parts: impl IntoIterator<Item = Self>) -> Result<Self, Error> {
        let (parts, inputs): (Vec<Results>, Vec<Vec<PathBuf>>) =
            parts.into_iter().map(|part| (part.results, part.inputs)).unzip();
        let advice = "name the directories of all parts, 1/N to N/N, of one study";
        let whole = Results::merge(parts).map_err(|message| Error::argument(message, advice))?;
        Ok(Self::of(whole, inputs.concat()))
    }
}

/// Reads the results of a study, or of one part, whose `summary.json` has been read.
pub(super) fn read(dir: &Path, summary: &serde_json::Value) -> Result<Results, Error> {
    let not_ours = |what: &str| {
        let message = format!("`{}` is not the directory of a study: {what}", dir.display());
        Error::results(message, "name a directory that `sweep` wrote")
    };
    let text = |name: &str| std::fs::read_to_string(dir.join(name)).map_err(|_| not_ours(&format!("it has no {name}")));
    expect_whole(dir, summary)?;
    let mut results: Results =
        serde_json::from_value(summary["study"].clone()).map_err(|_| not_ours("its summary.json is not a study's"))?;
    let workloads = if results.tuned.is_empty() { String::new() } else { text("workloads.csv")? };
    results.read_runs(&text("runs.csv")?, &workloads).map_err(|message| not_ours(&message))?;
    if results.inputs.is_some() {
        results.read_input_runs(&text("input-runs.csv")?).map_err(|message| not_ours(&message))?;
    }
    Ok(results)
}
