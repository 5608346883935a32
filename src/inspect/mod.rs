//! Questions asked of finished runs: why something happened, what changed from one run to another, and how well a run agrees with what
//! was seen of the real cluster.
//!
//! Everything is answered from the files of the runs' directories; nothing is played again.

mod agreement;
mod causes;
mod diff;
mod explain;
mod names;
mod record;
mod sentence;
mod story;
mod words;

use std::fs;
use std::path::Path;

use thiserror::Error;

use crate::model::lock_text;
use crate::report::{RunTables, TableError, expect_whole, read_text};

pub(crate) use agreement::TABLES as TABLES_OF_FACTS;
pub use agreement::{Agreement, KindTally, LeftOut, SourceSpan, Stranger, Tally, agree};
pub use diff::{
    Apart, Diff, Difference, Divergence, Happening, Headline, Inputs, OnlyInOne, Run, ServiceDifference, Setting, Why,
    WhyKind, WorkloadDifference, diff,
};
pub use explain::{Chapter, Explanation, Link, explain};
pub use sentence::{Part, Sentence};
pub use story::{Because, Origin, Step, Story, Sum, Term, tell};

/// Why a question cannot be answered.
#[derive(Debug, Error)]
pub enum InspectError {
    /// The directory does not hold a finished run.
    #[error("`{0}` is not the directory of a run: it has no summary.json")]
    NoRun(String),
    /// There is no such directory.
    #[error("there is no directory `{0}`")]
    NoDirectory(String),
    /// A file of the run cannot be read or understood.
    #[error("`{file}`: {problem}")]
    Unreadable {
        /// Which.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// A table of the run is missing or damaged.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The directory holds the results of another command.
    #[error("`{dir}` holds the results of {found}, not of a run")]
    OtherResults {
        /// The directory.
        dir: String,
        /// What is there.
        found: &'static str,
    },
    /// Several things in the run have that name.
    #[error("several things in the run are called `{object}`")]
    SeveralObjects {
        /// What was asked for.
        object: String,
        /// Some of them.
        names: Vec<String>,
        /// How many more there are.
        more: usize,
    },
    /// Nothing of that name was in the run, or nothing happened to it.
    #[error("nothing in the run is called `{object}`, or nothing happened to it")]
    NoObject {
        /// What was asked for.
        object: String,
        /// Names that are alike, nearest first.
        alike: Vec<String>,
    },
}

/// `summary.json` of the directory of a run, study or plan.
///
/// # Errors
///
/// If there is none, or it cannot be read or is no JSON.
pub fn summary(dir: &Path) -> Result<serde_json::Value, InspectError> {
    let path = dir.join("summary.json");
    let broken = |problem: String| InspectError::Unreadable { file: path.display().to_string(), problem };
    let bytes = fs::read(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if !dir.exists() => InspectError::NoDirectory(dir.display().to_string()),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            InspectError::NoRun(dir.display().to_string())
        }
        _ => broken(format!("the file cannot be read: {error}")),
    })?;
    if bytes.is_empty() {
        return Err(broken("the file is empty".to_owned()));
    }
    if let Err(error) = std::str::from_utf8(&bytes) {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        return Err(broken(format!("line {line} is not text in UTF-8")));
    }
    serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))
}

/// What of the summary of a run is not as `run` writes it.
fn oddity(summary: &serde_json::Value) -> Option<String> {
    let metrics = summary["metrics"].as_object().into_iter().flatten();
    if let Some((name, _)) = metrics.into_iter().find(|(_, value)| !value.is_number() && !value.is_null()) {
        return Some(format!("`metrics.{name}` is not a number"));
    }
    let Some(workloads) = summary["workloads"].as_array() else { return Some("`workloads` is not a list".to_owned()) };
    let is_named =
        |workload: &serde_json::Value| ["kind", "namespace", "name"].iter().all(|of| workload[of].is_string());
    let index = workloads.iter().position(|workload| !is_named(workload))?;
    Some(format!("`workloads[{index}]` does not say which workload it is"))
}

/// The tables of a run, and of nothing else.
///
/// # Errors
///
/// If there is no `summary.json`, it is damaged, it is that of another command, or the run's tables have other rows than it wrote.
fn open(dir: &Path) -> Result<RunTables, InspectError> {
    let run = RunTables::new(dir.to_owned(), summary(dir)?);
    expect_whole_run(&run)?;
    Ok(run)
}

/// Refuses what is not a whole run.
///
/// # Errors
///
/// If it is damaged, it is that of another command, or its tables have other rows than the run wrote.
fn expect_whole_run(run: &RunTables) -> Result<(), InspectError> {
    expect_run(run.dir(), run.summary())?;
    Ok(expect_whole(run.dir(), run.summary())?)
}

/// Refuses a lock file whose end is missing: it plays another run than that of its directory. One that is not there plays none.
fn expect_lock(path: &Path) -> Result<(), InspectError> {
    if !path.exists() {
        return Ok(());
    }
    let text = read_text(path)?;
    if text.is_empty() || lock_text::is_cut(&text) {
        let problem = "the file ends here, before the line that says that it is whole";
        return Err(TableError::new(path, Some(text.lines().count().max(1) as u64), problem).into());
    }
    Ok(())
}

/// Refuses the `summary.json` of a directory that is not that of a run.
///
/// # Errors
///
/// If it is damaged, or it is that of another command.
pub fn expect_run(dir: &Path, summary: &serde_json::Value) -> Result<(), InspectError> {
    let found = if dir.join("plan.csv").is_file() {
        "a plan"
    } else if summary["study"].is_object() || dir.join("runs.csv").is_file() {
        "a study"
    } else if !summary["metrics"].is_object() {
        "something else"
    } else if let Some(problem) = oddity(summary) {
        return Err(InspectError::Unreadable { file: dir.join("summary.json").display().to_string(), problem });
    } else {
        return expect_lock(&dir.join("scenario.lock.yaml"));
    };
    Err(InspectError::OtherResults { dir: dir.display().to_string(), found })
}
