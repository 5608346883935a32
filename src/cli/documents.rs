//! Which documents of ours a path means: a file, standard input, or those in a directory or behind a glob.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use crate::model::manifest;
use crate::report::is_place_of_result;
use crate::scenario::{self, DocumentKind, Invalid};

/// What a run leaves of its scenario.
const LOCK: &str = "scenario.lock.yaml";

/// A file and what it says it is.
#[derive(Debug)]
pub(super) struct Found {
    /// The file, to be read again.
    pub(super) path: PathBuf,
    pub(super) kind: DocumentKind,
}

/// Whether a path is one file, or standard input.
pub(super) fn is_single(path: &Path) -> bool {
    manifest::is_standard_input(path) || path.is_file()
}

/// What the files are that a path means; empty if it means none.
///
/// # Errors
///
/// A file that cannot be read, or that says to be ours and is not.
pub(super) fn list(path: &Path) -> Result<Vec<Found>, Invalid> {
    let mut paths = if is_single(path) { vec![path.to_owned()] } else { manifest::files(path) };
    // What results of earlier runs hold is no input, unless a result is what is named.
    if path.is_dir() && !is_place_of_result(&path.join(LOCK)) {
        paths.retain(|path| !is_place_of_result(path));
    }
    let is_named = is_single(path);
    let mut found = Vec::new();
    for path in paths {
        match kind_of(&path) {
            Ok(kind) => found.push(Found { path, kind }),
            // What `test` keeps beside scenarios is no input, either.
            Err(invalid) if !is_named && scenario::is_snapshot(&invalid) => {}
            Err(invalid) => return Err(invalid),
        }
    }
    Ok(found)
}

/// What a file says it is.
///
/// # Errors
///
/// It cannot be read, or says to be ours and is not.
pub(super) fn kind_of(path: &Path) -> Result<DocumentKind, Invalid> {
    scenario::recognize(&path.to_string_lossy(), &scenario::read_text(path)?)
}

/// The one document of a kind that a path means.
///
/// # Errors
///
/// A directory that has none of that kind, or several.
pub(super) fn find(path: &Path, kind: DocumentKind) -> Result<PathBuf, Failure> {
    let is_pattern = || !path.exists() && path.to_string_lossy().contains(['*', '?', '[']);
    if !path.is_dir() && !is_pattern() {
        return Ok(path.to_owned());
    }
    let files = list(path)?;
    let mut found: Vec<&Path> = files.iter().filter(|file| file.kind == kind).map(|file| file.path.as_path()).collect();
    let (name, path) = (kind.as_str(), path.display());
    match found.len() {
        1 => Ok(found.remove(0).to_owned()),
        0 => {
            let help = match kind {
                DocumentKind::Scenario if !files.is_empty() => {
                    format!("`kubesquall init {path}` writes a scenario for the cluster in it, which `run` plays")
                }
                _ => format!("name a file that has `kind: {name}`"),
            };
            Err(Failure::input(format!("there is no {name} in `{path}`"), help))
        }
        count => {
            let names: Vec<String> = found.iter().take(5).map(|path| path.display().to_string()).collect();
            let more = if count > names.len() { ", …" } else { "" };
            let message = format!("there are {count} documents of kind {name} in `{path}`");
            Err(Failure::input(message, format!("name one of them: {}{more}", names.join(", "))))
        }
    }
}
