//! Directories, file by file in the order of their names. Links are followed as long as they stay within.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::archive::Passed;

/// Who is given the files below a directory. Names are paths within it.
pub(super) trait Walker {
    /// A file that may be opened.
    fn found(&mut self, path: &Path, name: &str);
    /// What is no file that may be read.
    fn passed_over(&mut self, name: &str, why: Passed);
    /// A directory that cannot be looked into.
    fn unreadable(&mut self, name: &str, why: &str);
}

/// Gives everything below a directory to a walker.
pub(super) fn walk(directory: &Path, walker: &mut dyn Walker) {
    match fs::canonicalize(directory) {
        Ok(root) => below(&root, directory, "", &mut BTreeSet::new(), walker),
        Err(error) => walker.unreadable("", &error.to_string()),
    }
}

fn below(root: &Path, directory: &Path, name: &str, seen: &mut BTreeSet<PathBuf>, walker: &mut dyn Walker) {
    if !fs::canonicalize(directory).is_ok_and(|canonical| seen.insert(canonical)) {
        return;
    }
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return walker.unreadable(name, &error.to_string()),
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let file_name = shown(&path.file_name().unwrap_or_default().to_string_lossy());
        let name = if name.is_empty() { file_name } else { format!("{name}/{file_name}") };
        let canonical = fs::canonicalize(&path).ok();
        if canonical.is_none() && path.is_symlink() {
            walker.passed_over(&name, Passed::Dangling);
        } else if !canonical.is_some_and(|canonical| canonical.starts_with(root)) {
            walker.passed_over(&name, Passed::Link);
        } else if path.is_dir() {
            below(root, &path, &name, seen, walker);
        } else if !path.is_file() {
            walker.passed_over(&name, Passed::Special);
        } else {
            walker.found(&path, &name);
        }
    }
}

/// What to do about an input that cannot be opened.
pub(super) const NAME_ONE: &str = "name a file, an archive, a directory, or `-` for standard input";

/// Opens a file that somebody named so; else says why that cannot be.
pub(super) fn open(path: &Path, name: &str) -> Result<fs::File, String> {
    fs::File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("there is no file or directory `{name}`"),
        _ => format!("cannot read `{name}`: {error}"),
    })
}

/// The name of an input, as messages have it.
pub(super) fn name_of(path: &Path) -> String {
    let mut name = shown(&path.to_string_lossy());
    name.truncate(name.trim_end_matches('/').len().max(1));
    name
}

/// A name as it may be shown and written into a comment.
pub(super) fn shown(name: &str) -> String {
    name.chars().flat_map(|c| if c.is_control() { c.escape_unicode().collect::<Vec<_>>() } else { vec![c] }).collect()
}
