//! Questions asked of finished runs: why something happened, and what changed from one run to another.
//!
//! Everything is answered from the files of the runs' directories; nothing is played again.

mod diff;
mod explain;

use std::fs;
use std::path::Path;

use thiserror::Error;

pub use diff::{Diff, Difference, WorkloadDifference, diff};
pub use explain::{Chapter, Explanation, Extent, Link, explain};

/// Why a question cannot be answered.
#[derive(Debug, Error)]
pub enum InspectError {
    /// The directory does not hold a finished run.
    #[error("`{0}` is not the directory of a run: it has no summary.json")]
    NoRun(String),
    /// A file of the run cannot be read or understood.
    #[error("`{file}`: {problem}")]
    Unreadable {
        /// Which.
        file: String,
        /// What is wrong.
        problem: String,
    },
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
    },
    /// Nothing of that name was in the run.
    #[error("nothing in the run is called `{object}`")]
    NoObject {
        /// What was asked for.
        object: String,
        /// Names that are alike, nearest first.
        alike: Vec<String>,
    },
}

/// `summary.json` of a run's directory.
fn summary(dir: &Path) -> Result<serde_json::Value, InspectError> {
    let path = dir.join("summary.json");
    let text = fs::read_to_string(&path).map_err(|_| InspectError::NoRun(dir.display().to_string()))?;
    serde_json::from_str(&text)
        .map_err(|error| InspectError::Unreadable { file: path.display().to_string(), problem: error.to_string() })
}

/// `summary.json` of a run, and of nothing else.
fn summary_of_run(dir: &Path) -> Result<serde_json::Value, InspectError> {
    let summary = summary(dir)?;
    let found = if dir.join("plan.csv").is_file() {
        "a plan"
    } else if summary["study"].is_object() || dir.join("runs.csv").is_file() {
        "a study"
    } else if !summary["metrics"].is_object() {
        "something else"
    } else {
        return Ok(summary);
    };
    Err(InspectError::OtherResults { dir: dir.display().to_string(), found })
}
