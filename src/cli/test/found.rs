//! Which scenarios there are below paths, and what is passed over.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::snapshot;
use super::trial::Unusable;
use crate::cli::documents;
use crate::diagnostics::{Diagnostic, Diagnostics, Sources};
use crate::model::manifest;
use crate::scenario::DocumentKind;

/// A scenario to be played.
#[derive(Debug)]
pub(super) struct Scenario {
    /// Among all that was found.
    pub(super) position: usize,
    pub(super) path: PathBuf,
    /// Where its figures are kept; none of standard input, and of a scenario that another one shares the place with.
    pub(super) snapshot: Option<PathBuf>,
}

/// Files that are no scenarios to be played, by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct PassedOver {
    pub(super) studies: usize,
    pub(super) plans: usize,
    pub(super) manifests: usize,
    pub(super) lock_files: usize,
}

/// What there is.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) scenarios: Vec<Scenario>,
    /// What cannot be read, with its position among all that was found.
    pub(super) unusable: Vec<(usize, Unusable)>,
    pub(super) passed_over: PassedOver,
    /// Snapshots of which there is no scenario.
    pub(super) orphans: Vec<PathBuf>,
    /// What is no problem, but may not be what the user means.
    pub(super) remarks: Diagnostics,
}

/// What there is below paths: in their order and, below one, in the order of names; each file once.
pub(super) fn find(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    let mut seen = BTreeSet::new();
    let mut snapshots = BTreeSet::new();
    for path in paths {
        let is_named = documents::is_single(path);
        let (files, problems) = manifest::files_and_problems(path);
        if problems.has_errors() {
            let unusable =
                Unusable { file: path.to_string_lossy().into_owned(), diagnostics: problems, sources: Sources::new() };
            let position = found.count();
            found.unusable.push((position, unusable));
        } else {
            problems.as_slice().iter().for_each(|remark| found.remarks.push(remark.clone()));
        }
        for file in files {
            if snapshot::is_snapshot(&file) {
                snapshots.insert(file);
            } else if seen.insert(file.clone()) {
                found.add(file, is_named);
            }
        }
    }
    found.give_places();
    let is_kept = |snapshot: &PathBuf| {
        let of = |stem: &Path, extension: &str| stem.with_extension(extension).is_file();
        snapshot::stem(snapshot)
            .is_some_and(|stem| ["yaml", "yml", "json"].iter().any(|extension| of(&stem, extension)))
    };
    found.orphans = snapshots.into_iter().filter(|snapshot| !is_kept(snapshot)).collect();
    found
}

/// Whether a file is what a run leaves of its scenario.
fn is_lock_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".lock.yaml"))
}

impl Found {
    fn count(&self) -> usize {
        self.scenarios.len() + self.unusable.len()
    }

    fn add(&mut self, path: PathBuf, is_named: bool) {
        let position = self.count();
        match documents::kind_of(&path) {
            Err(invalid) => self.unusable.push((position, Unusable::of(&path, invalid))),
            Ok(DocumentKind::Scenario) if is_lock_file(&path) && !is_named => self.passed_over.lock_files += 1,
            Ok(DocumentKind::Scenario) => self.scenarios.push(Scenario { position, path, snapshot: None }),
            Ok(DocumentKind::Study) => self.passed_over.studies += 1,
            Ok(DocumentKind::Plan) => self.passed_over.plans += 1,
            Ok(DocumentKind::Manifest) => self.passed_over.manifests += 1,
        }
    }

    /// Says where the figures of each scenario are kept. Of those that differ in their extension alone, all but the first have no place.
    fn give_places(&mut self) {
        let mut taken = BTreeSet::new();
        for scenario in &mut self.scenarios {
            let Some(place) = snapshot::place(&scenario.path) else { continue };
            if taken.insert(place.clone()) {
                scenario.snapshot = Some(place);
                continue;
            }
            let (file, place) = (scenario.path.display(), place.display());
            let message = format!("no figures are kept of `{file}`: `{place}` is the place of another scenario");
            self.remarks.push(Diagnostic::warning("snapshot::taken", message).help("give the files different names"));
        }
    }
}
