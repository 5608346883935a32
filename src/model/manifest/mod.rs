//! Manifests and dumps: from files to objects with their place in the file.
//!
//! What cannot be read becomes a diagnostic and the rest is read on, so that all problems of all files show at once.
//! What is read but has no effect (kinds and fields that are not modelled) is listed, not dropped in silence.

mod as_json;
mod cut;
mod files;
mod folder;
mod for_people;
mod locate;
mod object;
mod of_tools;
mod piece;
mod recognize;
mod settle;
mod split;
mod typed;
mod wording;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub use files::{is_standard_input, read_text};
pub use folder::Folder;
pub use for_people::DUMP_COMMAND;
pub use object::{AnyKind, Object, ObjectKind, Scope};
pub(crate) use object::{with_kind, with_object};
#[cfg(feature = "bundles")]
pub(crate) use recognize::named_kind;

use super::cluster_text;
use super::field_path::FieldPath;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, Source, Sources};
use crate::parallel;
use piece::{Reading, TextPiece};
use split::Split;

/// An object and where it is written.
#[derive(Clone, Debug)]
pub struct ManifestObject {
    /// The object, without the API server's defaults.
    pub object: Object,
    /// Where the object begins.
    pub source: Location,
    /// Whether the namespace is written; else it is the one that is implied.
    pub names_namespace: bool,
    /// What is written and is no field of the API, as paths. Nothing, of objects that a server has taken.
    pub unknown_fields: Vec<String>,
    /// `apiVersion` as it is written; empty for what is written nowhere.
    pub api_version: Symbol,
}

/// Something of the input that has no effect on a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotModelled {
    /// The file, as it was named.
    pub file: Symbol,
    /// The line of the field, or of the object if the whole kind is not modelled; from 1.
    pub line: u32,
    /// The object, such as `Deployment shop/web`.
    pub object: String,
    /// The field, such as `spec.template.spec.containers[0].env`; `kind` if the whole kind is not modelled.
    pub path: String,
    /// The beginning of what is written there.
    pub value_excerpt: String,
    /// How often the field occurs in the file, where only the first occurrence is listed; else 1. Positions in `path`
    /// are then those of the first.
    pub count: usize,
}

impl NotModelled {
    /// What is said of objects whose whole kind is not modelled.
    pub const KIND_REASON: &'static str = "the kind has no effect";

    /// Whether the row is about an object whose whole kind is not modelled.
    #[must_use]
    pub fn is_whole_kind(&self) -> bool {
        self.path == "kind"
    }
}

/// A document or list item of which no object came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The file, as it was named.
    pub file: Symbol,
    /// Where it begins; from 1.
    pub line: u32,
    /// What it says it is; empty if it does not.
    pub kind: Symbol,
    /// Why nothing came of it.
    pub reason: SkipReason,
}

/// Why no object came of a document or list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// Nothing in it and in its file's name tells a kind.
    NotAnObject,
    /// It is a template that has not been filled in.
    Template,
    /// It is meant for people, such as the table that `kubectl get` prints.
    ForPeople,
    /// It is no YAML or JSON, or a field cannot be read.
    Unreadable,
    /// The API server refuses it.
    Refused,
    /// Another object of its kind and name stands before it.
    Duplicate,
    /// The end of the file is missing.
    Cut,
    /// An import could not read it and says so in the head of what it wrote: these are its words.
    NotImported(Symbol),
}

impl SkipReason {
    /// The words that users see.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotAnObject => "it is not a Kubernetes object",
            Self::Template => "it is a template that is not filled in",
            Self::ForPeople => "it is a table for people",
            Self::Unreadable => "it cannot be read",
            Self::Refused => "the API server refuses it",
            Self::Duplicate => "another one of its name stands before it",
            Self::Cut => "its end is missing",
            Self::NotImported(why) => why.as_str(),
        }
    }
}

/// Fields per file that are listed one by one; later ones are counted with the first of the same name.
const LISTED_FIELDS_MAX: usize = 10_000;

/// What loading brings.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The objects that could be read, in the order of the files and of their text.
    pub objects: Vec<ManifestObject>,
    /// Which of them the API server would refuse, as positions.
    pub refused: BTreeSet<usize>,
    /// What has no effect, by file and line.
    pub not_modelled: Vec<NotModelled>,
    /// What nothing came of, in the order of the files and of their text.
    pub skipped: Vec<Skipped>,
    /// How many files were read.
    pub file_count: usize,
    /// How many lists were among the documents; one may be empty.
    pub list_count: usize,
    /// What is wrong.
    pub diagnostics: Diagnostics,
    /// The texts that the diagnostics are about.
    pub sources: Sources,
}

/// Reads files, directories (recursively, `*.yaml`, `*.yml` and `*.json` in order of their names) and globs. Paths are
/// relative to the folder; messages name files as the paths do. What is wrong is in the diagnostics.
#[must_use]
pub fn load(paths: &[PathBuf], folder: &Folder) -> Loaded {
    let mut loader = Loader::default();
    for file in files::find(paths, folder, &mut loader.loaded.diagnostics) {
        if let Some(text) = files::read(&file, folder, &mut loader.loaded.diagnostics) {
            loader.add_file(&file.name, &text);
        }
    }
    loader.finish()
}

/// The files that a directory or glob stands for, in the order in which [`load`] reads them; none if there is no such thing.
#[must_use]
pub fn files(path: &Path) -> Vec<PathBuf> {
    files_and_problems(path).0
}

/// The same, with what is wrong with the path.
#[must_use]
pub fn files_and_problems(path: &Path) -> (Vec<PathBuf>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let found = files::find(&[path.to_owned()], &Folder::on_disk(Path::new("")), &mut diagnostics);
    // No file names the path.
    let of_caller = |mut diagnostic: Diagnostic| {
        for help in &mut diagnostic.help {
            *help = help.replace("relative to the file that names them", "relative to the current directory");
        }
        diagnostic
    };
    let diagnostics = diagnostics.into_iter().map(of_caller).collect();
    (found.into_iter().map(files::FoundFile::into_path).collect(), diagnostics)
}

/// Reads one text, as if it were a file of that name.
///
/// # Examples
///
/// ```
/// use kubesquall::model::manifest::{Object, load_text};
///
/// let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: web}], dnsPolicy: Default}\n";
/// let loaded = load_text("pod.yaml", text);
/// assert!(loaded.diagnostics.is_empty());
/// assert!(matches!(&loaded.objects[0].object, Object::Pod(pod) if pod.metadata.namespace == "default"));
/// let row = &loaded.not_modelled[0];
/// assert_eq!((row.line, row.path.as_str()), (4, "spec.dnsPolicy"));
/// ```
#[must_use]
pub fn load_text(name: &str, text: &str) -> Loaded {
    let mut loader = Loader::default();
    loader.add_file(name, text);
    loader.finish()
}

/// Reads a part of an object from a tree; fields that no type has are passed over.
///
/// # Errors
///
/// The field that cannot be read.
pub fn from_value<T: serde::de::DeserializeOwned>(value: &serde_json::Value) -> Result<T, serde_json::Error> {
    // Through text: a reader of trees would be compiled for every type besides the loader's own reader of JSON.
    piece::read_json(&value.to_string(), &mut |_| {})
}

#[derive(Default)]
struct Loader {
    loaded: Loaded,
    /// Where an identity was first seen, as a position in `objects`.
    seen: BTreeMap<(ObjectKind, Symbol, Symbol), usize>,
}

impl Loader {
    fn add_file(&mut self, name: &str, text: &str) {
        let file = piece::File { name: Symbol::from(name), text };
        self.loaded.file_count += 1;
        let problems_before = self.loaded.diagnostics.len();
        self.read_head_of_import(file.name, text);
        let Split { pieces, list_count, unreadable } = split::split(&file, &mut self.loaded.diagnostics);
        self.loaded.list_count += list_count;
        self.loaded.skipped.extend(unreadable.into_iter().map(|line| Skipped {
            file: file.name,
            line,
            kind: Symbol::new("List"),
            reason: SkipReason::Unreadable,
        }));
        let (cut, pieces): (Vec<_>, Vec<_>) = pieces.into_iter().partition(cut::is_cut_list);
        for list in cut {
            let (line, kind) = (list.first_line().0, Symbol::new("List"));
            self.loaded.skipped.push(Skipped { file: file.name, line, kind, reason: SkipReason::Cut });
            self.loaded.diagnostics.push(cut::explain(&list, &file));
        }
        let readings: Vec<Reading> = parallel::map(&pieces, |piece| piece.read(&file));
        let mut listing = Listing::default();
        let mut listed: Vec<(usize, Vec<(FieldPath, usize)>)> = Vec::new();
        for (index, reading) in readings.iter().enumerate() {
            let fields = listing.choose(reading);
            if !fields.is_empty() {
                listed.push((index, fields));
            }
        }
        let rows: Vec<Vec<(NotModelled, usize)>> =
            parallel::map(&listed, |(index, fields)| locate_fields(&file, &pieces[*index], &readings[*index], fields));
        for (mut row, group) in rows.into_iter().flatten() {
            row.count = listing.counts[group];
            self.loaded.not_modelled.push(row);
        }
        for reading in readings {
            for diagnostic in reading.diagnostics {
                self.loaded.diagnostics.push(diagnostic);
            }
            self.loaded.not_modelled.extend(reading.not_modelled_kind);
            if let Some(reason) = reading.skipped {
                self.loaded.skipped.push(Skipped { file: file.name, line: reading.line, kind: reading.kind, reason });
            }
            if let Some(object) = reading.object
                && let Some(place) = self.add_object(object)
            {
                if reading.is_refused {
                    self.loaded.refused.insert(place);
                } else {
                    self.loaded.refused.remove(&place);
                }
            }
        }
        if self.loaded.diagnostics.len() > problems_before {
            self.loaded.sources.insert(Source::new(name, text));
        }
    }

    /// An imported cluster says itself what it lacks.
    fn read_head_of_import(&mut self, file: Symbol, text: &str) {
        if cluster_text::is_cut(text) {
            self.loaded.skipped.push(Skipped { file, line: 1, kind: Symbol::new("file"), reason: SkipReason::Cut });
            let message =
                format!("`{file}` was cut: its last line, `{}`, is missing", cluster_text::LAST_LINE.trim_end());
            let place = Location::new(file.as_str(), 1, 1, 1);
            self.loaded.diagnostics.push(
                Diagnostic::error("manifest::cut_short", message)
                    .at(place, "any part of an imported cluster reads like a smaller one")
                    .help("import it again"),
            );
        }
        for not_read in cluster_text::not_read(text) {
            let (kind, reason) = (Symbol::from(not_read.what), SkipReason::NotImported(Symbol::from(not_read.why)));
            let skipped = Skipped { file, line: not_read.line, kind, reason };
            self.loaded.skipped.extend(std::iter::repeat_n(skipped, not_read.count));
        }
    }

    /// Takes an object; gives its position if it counts.
    fn add_object(&mut self, added: ManifestObject) -> Option<usize> {
        let key = added.object.key();
        let next = self.loaded.objects.len();
        if key.2.is_empty() {
            self.loaded.objects.push(added);
            return Some(next);
        }
        let Some(first) = self.seen.get(&key) else {
            self.seen.insert(key, next);
            self.loaded.objects.push(added);
            return Some(next);
        };
        let place = *first;
        let first = &self.loaded.objects[place];
        // What decides nothing may be there as often as it likes.
        if added.object.stored_kind().is_some() {
            return None;
        }
        let label = added.object.label();
        let diagnostic = if first.object == added.object {
            Diagnostic::warning("manifest::repeated_object", format!("{label} is written twice, without a difference"))
        } else if is_same_object(&first.object, &added.object) {
            // One object seen at two times, as by a bundle that asks a cluster more than once.
            let message = format!("{label} is written twice, with one uid; the later state counts");
            self.loaded.diagnostics.push(
                Diagnostic::warning("manifest::repeated_object", message)
                    .at(added.source.clone(), "written again here")
                    .at(first.source.clone(), "first written here"),
            );
            if resource_version(&added.object) < resource_version(&first.object) {
                return None;
            }
            self.loaded.objects[place] = added;
            return Some(place);
        } else {
            self.loaded.skipped.push(Skipped {
                file: Symbol::from(&*added.source.file),
                line: added.source.line,
                kind: Symbol::new(added.object.kind().as_str()),
                reason: SkipReason::Duplicate,
            });
            Diagnostic::error("manifest::duplicate_object", format!("{label} is written twice"))
        };
        self.loaded.diagnostics.push(
            diagnostic
                .at(added.source, "written again here")
                .at(first.source.clone(), "first written here")
                .help("remove one of the two, or give it another name or namespace"),
        );
        None
    }

    fn finish(mut self) -> Loaded {
        let refused = self.loaded.refused.iter().map(|place| &self.loaded.objects[*place]).map(|refused| Skipped {
            file: Symbol::from(&*refused.source.file),
            line: refused.source.line,
            kind: Symbol::new(refused.object.kind().as_str()),
            reason: SkipReason::Refused,
        });
        self.loaded.skipped.extend(refused.collect::<Vec<_>>());
        self.loaded.not_modelled.sort_by_key(|row| (row.file, row.line));
        self.loaded
    }
}

/// Whether two texts are about one object of one cluster.
fn is_same_object(first: &Object, second: &Object) -> bool {
    let uid = |object: &Object| object.metadata().uid.filter(|uid| !uid.is_empty());
    uid(first).is_some() && uid(first) == uid(second)
}

/// When an object was seen. Clients may not compare these; of one cluster they grow.
fn resource_version(object: &Object) -> u64 {
    object.metadata().resource_version.and_then(|text| text.as_str().parse().ok()).unwrap_or(0)
}

/// Chooses which fields of a file get a row of their own.
#[derive(Default)]
struct Listing {
    /// How many fields each row stands for.
    counts: Vec<usize>,
    /// The row that stands for a field of a kind, wherever in lists it is.
    groups: BTreeMap<(Symbol, String), usize>,
}

impl Listing {
    /// The fields of one object that get a row, each with the number of the row.
    fn choose(&mut self, reading: &Reading) -> Vec<(FieldPath, usize)> {
        let mut chosen = Vec::new();
        for field in &reading.without_effect {
            // Bookkeeping of the API server is the same for every object of a dump.
            let first = field.steps().first().and_then(|step| step.key());
            let is_bookkeeping = first.is_some_and(|key| key == "metadata" || key == "status");
            if !is_bookkeeping && self.counts.len() < LISTED_FIELDS_MAX {
                chosen.push((field.clone(), self.counts.len()));
                self.counts.push(1);
                continue;
            }
            let group = (reading.kind, field.without_positions());
            if let Some(row) = self.groups.get(&group) {
                self.counts[*row] += 1;
            } else {
                self.groups.insert(group, self.counts.len());
                chosen.push((field.clone(), self.counts.len()));
                self.counts.push(1);
            }
        }
        chosen
    }
}

fn locate_fields(
    file: &piece::File<'_>,
    piece: &TextPiece<'_>,
    reading: &Reading,
    fields: &[(FieldPath, usize)],
) -> Vec<(NotModelled, usize)> {
    let places = piece.locate(fields.iter().map(|(field, _)| field), fields.len());
    let rows = fields.iter().zip(places).map(|((field, group), place)| {
        let (line, value_excerpt) = match place {
            Some(place) => (piece.line(place.line_index), piece.excerpt(place)),
            // Below a merge key or an alias: the object's own line is the best there is.
            None => (reading.line, String::new()),
        };
        let object = reading.label.clone();
        (NotModelled { file: file.name, line, object, path: field.to_string(), value_excerpt, count: 1 }, *group)
    });
    rows.collect()
}

#[cfg(test)]
mod tests;
