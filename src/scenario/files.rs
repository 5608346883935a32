//! The files that a scenario names.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::diagnostics::{Diagnostic, Diagnostics, Sources};
use crate::model::manifest::{self, Loaded, ManifestObject};

/// The text of a file, or why it cannot be had.
pub(super) fn read(path: &Path, name: &str) -> Result<String, Diagnostic> {
    manifest::read_text(path, name).map_err(|diagnostic| *diagnostic)
}

/// Manifests that have been read, for scenarios that name the same.
#[derive(Debug, Default)]
pub(super) struct Manifests(RefCell<BTreeMap<Vec<String>, Loaded>>);

/// The files of one scenario: those that its document holds itself, and those on disk.
#[derive(Debug)]
pub(super) struct Files<'a> {
    base_dir: &'a Path,
    /// Where manifests are kept, if they may be asked for again.
    kept: Option<&'a Manifests>,
    inlined: BTreeMap<String, String>,
    /// Texts that were asked for, by path.
    used: BTreeMap<String, String>,
}

impl<'a> Files<'a> {
    pub(super) fn new(base_dir: &'a Path, kept: Option<&'a Manifests>, inlined: BTreeMap<String, String>) -> Self {
        Self { base_dir, kept, inlined, used: BTreeMap::new() }
    }

    /// The text of a file, to be kept for the lock file.
    pub(super) fn text(&mut self, path: &str) -> Result<String, Diagnostic> {
        let text = match self.inlined.get(path) {
            Some(text) => text.clone(),
            None if manifest::is_standard_input(Path::new(path)) => read(Path::new(path), path)?,
            None => read(&self.base_dir.join(path), path)?,
        };
        self.used.insert(path.to_owned(), text.clone());
        Ok(text)
    }

    /// The objects that the cluster's manifests hold.
    pub(super) fn cluster_manifests(&self, paths: &[String]) -> Loaded {
        let read = || {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            manifest::load(&paths, self.base_dir)
        };
        let Some(Manifests(kept)) = self.kept else { return read() };
        kept.borrow_mut().entry(paths.to_vec()).or_insert_with(read).clone()
    }

    /// The objects that a path of a kubectl line holds.
    pub(super) fn manifests(&mut self, path: &str) -> Loaded {
        let loaded = match self.inlined.get(path) {
            Some(text) => manifest::load_text(path, text),
            None => manifest::load(&[PathBuf::from(path)], self.base_dir),
        };
        let objects = loaded.objects.iter().map(as_written);
        self.used.insert(path.to_owned(), crate::model::yaml_text::documents(objects));
        loaded
    }

    /// Whether there is a file of this name.
    pub(super) fn is_there(&self, path: &str) -> bool {
        self.inlined.contains_key(path) || self.base_dir.join(path).is_file()
    }

    /// The texts that were used, by path.
    pub(super) fn into_used(self) -> BTreeMap<String, String> {
        self.used
    }
}

/// An object as its file says it, for kubectl: without the namespace that a line may give it, and with what is no field of the API.
fn as_written(object: &ManifestObject) -> Value {
    let mut value = object.object.to_value();
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
pub(super) fn exists(path: &str, base_dir: &Path) -> Result<(), Diagnostic> {
    let full = base_dir.join(path);
    let is_pattern = path.contains(['*', '?', '[']);
    if full.exists() || is_pattern || manifest::is_standard_input(Path::new(path)) {
        return Ok(());
    }
    let diagnostic = Diagnostic::error("scenario::unreadable", format!("there is no file or directory `{path}`"));
    let parent = full.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    let siblings = parent.and_then(|parent| std::fs::read_dir(parent).ok());
    let mut names: Vec<String> = siblings
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort();
    let name = full.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Err(match crate::diagnostics::nearest(&name, names.iter().map(String::as_str)) {
        Some(nearest) => diagnostic.help(format!("the nearest name in that directory is `{nearest}`")),
        None => diagnostic.help("paths are relative to the file that names them"),
    })
}

/// Adds the texts that problems point at and that are not known yet, so that they can be quoted.
pub(super) fn add_sources(diagnostics: &Diagnostics, base_dir: &Path, sources: &mut Sources) {
    for label in diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels) {
        let file = &label.location.file;
        if sources.text(file).is_none()
            && !manifest::is_standard_input(Path::new(&**file))
            && let Ok(text) = read(&base_dir.join(&**file), file)
        {
            sources.insert(crate::diagnostics::Source::new(std::sync::Arc::clone(file), text));
        }
    }
}
