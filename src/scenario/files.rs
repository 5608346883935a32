//! The files that a scenario names.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::document::{self, FirstDocument};
use crate::diagnostics::{Diagnostic, Diagnostics, Sources};
use crate::model::manifest::{self, Folder, Loaded, ManifestObject};

/// What has been found and read in a folder, for scenarios that name the same.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    /// Manifests of the cluster, by the paths that name them together.
    clusters: BTreeMap<Vec<String>, Loaded>,
    /// The scenario's own document, and what stands behind it, by the name of its file.
    documents: BTreeMap<String, FirstDocument>,
    /// The objects behind it.
    behind: BTreeMap<String, Loaded>,
    /// Manifests of a kubectl line, by their path.
    manifests: BTreeMap<String, Loaded>,
    /// Texts of other files.
    texts: BTreeMap<String, String>,
    /// Paths that stand for something.
    there: BTreeSet<String>,
}

impl Kept {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The scenario's own document; read once, if it is kept.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub(super) fn first_document(
        kept: Option<&Self>,
        file: &Arc<str>,
        text: &str,
    ) -> Result<FirstDocument, Box<Diagnostic>> {
        Self::get_or_read(kept, |found| &mut found.documents, &file.to_string(), || document::parse_first(file, text))
    }

    /// What is kept of that name; else what is read, which is kept from now on.
    fn get_or_read<K: Ord + Clone, T: Clone, E>(
        kept: Option<&Self>,
        of: fn(&mut Found) -> &mut BTreeMap<K, T>,
        name: &K,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(kept) = kept else { return read() };
        let mut found = kept.found();
        let all = of(&mut found);
        if let Some(known) = all.get(name) {
            return Ok(known.clone());
        }
        let value = read()?;
        all.insert(name.clone(), value.clone());
        Ok(value)
    }
}

/// The files of one scenario: those that its document holds itself, and those of its folder.
#[derive(Debug)]
pub(super) struct Files<'a> {
    folder: &'a Folder,
    /// Where files are kept, if they may be asked for again.
    kept: Option<&'a Kept>,
    inlined: BTreeMap<String, String>,
    /// Texts that were asked for, by path.
    used: BTreeMap<String, String>,
}

impl<'a> Files<'a> {
    pub(super) fn new(folder: &'a Folder, kept: Option<&'a Kept>, inlined: BTreeMap<String, String>) -> Self {
        Self { folder, kept, inlined, used: BTreeMap::new() }
    }

    /// The text of a file, to be kept for the lock file.
    pub(super) fn text(&mut self, path: &str) -> Result<String, Diagnostic> {
        let text = match self.inlined.get(path) {
            Some(text) => text.clone(),
            None => Kept::get_or_read(
                self.kept,
                |found| &mut found.texts,
                &path.to_owned(),
                || self.folder.read(Path::new(path), path).map_err(|diagnostic| *diagnostic),
            )?,
        };
        self.used.insert(path.to_owned(), text.clone());
        Ok(text)
    }

    /// The objects that the cluster's manifests hold.
    pub(super) fn cluster_manifests(&self, paths: &[String]) -> Loaded {
        let read = || {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            manifest::load(&paths, self.folder)
        };
        let Ok(loaded) =
            Kept::get_or_read(self.kept, |found| &mut found.clusters, &paths.to_vec(), || Ok::<_, Infallible>(read()));
        loaded
    }

    /// The objects behind the scenario's own document.
    pub(super) fn behind(&self, file: &Arc<str>, rest: &str) -> Loaded {
        let read = || Ok::<_, Infallible>(manifest::load_text(file, rest));
        let Ok(loaded) = Kept::get_or_read(self.kept, |found| &mut found.behind, &file.to_string(), read);
        loaded
    }

    /// Whether a path of manifests stands for anything.
    pub(super) fn exists(&self, path: &str) -> Result<(), Diagnostic> {
        if self.kept.is_some_and(|kept| kept.found().there.contains(path)) {
            return Ok(());
        }
        exists(path, self.folder)?;
        if let Some(kept) = self.kept {
            kept.found().there.insert(path.to_owned());
        }
        Ok(())
    }

    /// The objects that a path of a kubectl line holds.
    pub(super) fn manifests(&mut self, path: &str) -> Loaded {
        let loaded = match self.inlined.get(path) {
            Some(text) => manifest::load_text(path, text),
            None => {
                let read = || Ok::<_, Infallible>(manifest::load(&[PathBuf::from(path)], self.folder));
                let Ok(loaded) = Kept::get_or_read(self.kept, |found| &mut found.manifests, &path.to_owned(), read);
                loaded
            }
        };
        let objects = loaded.objects.iter().map(as_written);
        self.used.insert(path.to_owned(), crate::model::yaml_text::documents(objects));
        loaded
    }

    /// Whether there is a file of this name.
    pub(super) fn is_there(&self, path: &str) -> bool {
        let is_kept = |kept: &Kept| {
            let found = kept.found();
            found.texts.contains_key(path) || found.manifests.contains_key(path)
        };
        self.inlined.contains_key(path) || self.kept.is_some_and(is_kept) || self.folder.is_file(Path::new(path))
    }

    /// The texts that were used, by path.
    pub(super) fn into_used(self) -> BTreeMap<String, String> {
        self.used
    }
}

/// An object as its file says it, for kubectl: without the namespace that a line may give it, and with what is no field of the API.
fn as_written(object: &ManifestObject) -> Value {
    let mut value = object.object.to_manifest();
    if !object.names_namespace
        && let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("namespace");
    }
    for path in &object.unknown_fields {
        put(&mut value, path);
    }
    value
}

/// Puts something at a path such as `spec.taints[0].efect`, whose last step is not there.
fn put(value: &mut Value, path: &str) {
    let (parents, field) = path.rsplit_once('.').unwrap_or(("", path));
    let mut place = value;
    for step in parents.split('.').filter(|step| !step.is_empty()) {
        let (name, indexes) =
            step.split_once('[').map_or((step, ""), |(name, rest)| (name, rest.trim_end_matches(']')));
        let Some(fields) = fields_of(place) else { return };
        place = fields.entry(name).or_insert(Value::Null);
        for index in indexes.split("][").filter_map(|index| index.parse::<usize>().ok()) {
            let Some(item) = place.get_mut(index) else { return };
            place = item;
        }
    }
    if let Some(fields) = fields_of(place) {
        fields.insert(field.to_owned(), Value::from(""));
    }
}

/// The fields of a map; one that is left out as it says nothing that counts is made anew.
fn fields_of(value: &mut Value) -> Option<&mut serde_json::Map<String, Value>> {
    if value.is_null() {
        *value = Value::Object(serde_json::Map::new());
    }
    value.as_object_mut()
}

/// Whether a path of manifests stands for anything.
fn exists(path: &str, folder: &Folder) -> Result<(), Diagnostic> {
    let is_pattern = path.contains(['*', '?', '[']);
    if folder.exists(Path::new(path)) || is_pattern || folder.is_standard_input(Path::new(path)) {
        return Ok(());
    }
    let diagnostic = Diagnostic::error("scenario::unreadable", format!("there is no file or directory `{path}`"));
    let names = folder.names_beside(Path::new(path));
    let full = folder.join(Path::new(path));
    let name = full.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Err(match crate::diagnostics::nearest(&name, names.iter().map(String::as_str)) {
        Some(nearest) => diagnostic.help(format!("the nearest name in that directory is `{nearest}`")),
        None => diagnostic.help("paths are relative to the file that names them"),
    })
}

/// Adds the texts that problems point at and that are not known yet, so that they can be quoted.
pub(super) fn add_sources(diagnostics: &Diagnostics, folder: &Folder, sources: &mut Sources) {
    for label in diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels) {
        let file = &label.location.file;
        if sources.text(file).is_none()
            && !folder.is_standard_input(Path::new(&**file))
            && let Ok(text) = folder.read(Path::new(&**file), file)
        {
            sources.insert(crate::diagnostics::Source::new(std::sync::Arc::clone(file), text));
        }
    }
}
