//! Where the results of a run go if nobody says it.
//!
//! What a run is compared with has to stay where it is. So a scenario with other values than its file's has a place of its own, and so has a
//! second file that bears the same name: a copy in which only `metadata.name` was left as it was.

use std::fs;
use std::path::{Path, PathBuf};

use crate::arena::stable_hash;

const REPORTS: &str = "reports";

/// The file of a run, which is noted beside its directory: the directory itself tells the same wherever the file lies.
#[derive(Debug)]
pub(super) struct SourceNote {
    /// The text of the note; none if the place was the user's choice.
    text: Option<String>,
    /// The file whose run stands where this one would have gone.
    other: Option<String>,
}

impl SourceNote {
    /// The other file of the same name that the usual place is of.
    pub(super) fn other(&self) -> Option<&str> {
        self.other.as_deref()
    }

    /// Notes the file beside the directory of its run. A place that cannot be written only loses the protection.
    pub(super) fn keep(&self, place: &Path) {
        let path = note_of(place);
        let _ = match &self.text {
            Some(text) => fs::write(path, text),
            None if path.exists() => fs::remove_file(path),
            None => Ok(()),
        };
    }
}

/// The file beside a directory that says what it is of.
fn note_of(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_else(|| "out".as_ref()).to_string_lossy();
    place.with_file_name(format!(".{name}.source"))
}

/// A file as seen from here, whichever way it was named.
fn name_of(file: &Path) -> String {
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let here = fs::canonicalize(".").unwrap_or_default();
    file.strip_prefix(&here).unwrap_or(&file).to_string_lossy().into_owned()
}

/// Which file's run stands at a place, if that is known.
fn source_at(place: &Path) -> Option<String> {
    place.join("summary.json").is_file().then(|| fs::read_to_string(note_of(place)).ok()).flatten()
}

/// Where a run of the scenario file goes; `changes` are values that differ from the file's.
pub(super) fn of_run(out: Option<&Path>, name: &str, changes: &[String], file: &Path) -> (PathBuf, SourceNote) {
    if let Some(out) = out {
        return (out.to_owned(), SourceNote { text: None, other: None });
    }
    let what_if = |name: &str| match changes {
        [] => PathBuf::from(REPORTS).join(name),
        _ => {
            let hash = stable_hash(changes.join("\n").as_bytes());
            PathBuf::from(REPORTS).join(format!("{name}-what-if-{:06x}", hash >> 40))
        }
    };
    let source = name_of(file);
    let usual = what_if(name);
    // A lock file that lies in a run's directory is of that run.
    let is_within =
        fs::canonicalize(&usual).is_ok_and(|usual| fs::canonicalize(file).is_ok_and(|f| f.starts_with(usual)));
    let other = source_at(&usual).filter(|other| *other != source && !is_within);
    let text = Some(if is_within { source_at(&usual).unwrap_or(source.clone()) } else { source.clone() });
    if other.is_none() {
        return (usual, SourceNote { text, other });
    }
    let own = format!("{name}-{:06x}", stable_hash(source.as_bytes()) >> 40);
    (what_if(&own), SourceNote { text, other })
}
