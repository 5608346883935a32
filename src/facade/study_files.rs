//! The directories of studies: looked at before, written, read back.

use std::path::{Path, PathBuf};

use super::error::Error;
use super::outcome::WriteOptions;
use super::study::StudyOutcome;
use super::study_chart;
use crate::inspect;
use crate::report::{OutputDir, Overwrite, draw_study_charts};
use crate::study::{Results, Shard};

/// What to do about a place that holds something else.
const ANOTHER: &str = "choose another --out, or --force to replace it";

/// Refuses a place that holds something else than earlier results of the same part of the same study.
pub(super) fn check_place(place: &Path, overwrite: Overwrite, name: &str, shard: Shard) -> Result<(), Error> {
    OutputDir::check(place, overwrite)?;
    let Ok(text) = std::fs::read_to_string(place.join("summary.json")) else { return Ok(()) };
    if overwrite == Overwrite::Anything {
        return Ok(());
    }
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let (study, place) = (&summary["study"], place.display());
    let Some(found) = study["study"].as_str() else {
        return Err(Error::input(format!("{place} holds the results of something else than a study"), ANOTHER));
    };
    if found != name {
        return Err(Error::input(format!("{place} holds the results of the study `{found}`"), ANOTHER));
    }
    let part: Option<Shard> = serde_json::from_value(study["shard"].clone()).ok();
    match part {
        Some(part) if part != shard => {
            let message = format!("{place} holds the results of part {}/{} of the study", part.index, part.count);
            Err(Error::input(message, ANOTHER))
        }
        _ => Ok(()),
    }
}

impl StudyOutcome {
    /// Writes runs.csv, variants.csv, summary.json, charts, and what is recommended, to a directory, which is whole or not there;
    /// gives its path.
    ///
    /// # Errors
    ///
    /// If the directory holds something else than results of this study, or the operating system refuses.
    pub fn write(&self, dir: impl AsRef<Path>) -> Result<PathBuf, Error> {
        self.write_with(dir, &WriteOptions::new())
    }

    /// Writes them in that way.
    ///
    /// # Errors
    ///
    /// If the directory holds something else than results of this study, or the operating system refuses.
    pub fn write_with(&self, dir: impl AsRef<Path>, options: &WriteOptions) -> Result<PathBuf, Error> {
        let (results, place, overwrite) = (&self.results, dir.as_ref(), options.overwrite());
        check_place(place, overwrite, &results.study, results.shard)?;
        let out = OutputDir::begin(place, overwrite)?;
        out.write_with("runs.csv", |file| results.write_runs(file))?;
        if !results.tuned.is_empty() {
            out.write_with("workloads.csv", |file| results.write_workloads(file))?;
        }
        out.write("variants.csv", results.variants_csv().as_bytes())?;
        out.write("summary.json", self.summary_json().as_bytes())?;
        if let (Some(tuning), Some(patches)) = (&self.tuning, &self.patches) {
            out.write("patch.sh", patches.shell.as_bytes())?;
            out.write("patch.yaml", patches.yaml.as_bytes())?;
            out.write("tuning.csv", tuning.csv().as_bytes())?;
        }
        if options.draws_charts() {
            for (name, picture) in draw_study_charts(&study_chart::of(results, self.tuning.as_ref())) {
                out.write(&format!("charts/{name}"), picture.as_bytes())?;
            }
        }
        Ok(out.finish()?)
    }

    /// Reads the directory of a study, or of one part; what it recommends is not read back.
    ///
    /// # Errors
    ///
    /// If it is not such a directory, or damaged.
    pub fn read(dir: impl AsRef<Path>) -> Result<Self, Error> {
        let dir = dir.as_ref();
        Ok(Self::of(read(dir, &inspect::summary(dir)?)?))
    }

    /// Puts the parts of one study together.
    ///
    /// # Errors
    ///
    /// If some are missing, or of another study.
    pub fn merge(parts: impl IntoIterator<Item = Self>) -> Result<Self, Error> {
        let parts = parts.into_iter().map(|part| part.results).collect();
        let help = "name the directories of all parts, 1/N to N/N, of one study";
        Results::merge(parts).map(Self::of).map_err(|message| Error::input(message, help))
    }
}

/// Reads the results of a study, or of one part, whose `summary.json` has been read.
pub(super) fn read(dir: &Path, summary: &serde_json::Value) -> Result<Results, Error> {
    let not_ours = |what: &str| {
        let message = format!("`{}` is not the directory of a study: {what}", dir.display());
        Error::input(message, "name a directory that `sweep` wrote")
    };
    let text = |name: &str| std::fs::read_to_string(dir.join(name)).map_err(|_| not_ours(&format!("it has no {name}")));
    let mut results: Results =
        serde_json::from_value(summary["study"].clone()).map_err(|_| not_ours("its summary.json is not a study's"))?;
    let workloads = if results.tuned.is_empty() { String::new() } else { text("workloads.csv")? };
    results.read_runs(&text("runs.csv")?, &workloads).map_err(|message| not_ours(&message))?;
    Ok(results)
}
