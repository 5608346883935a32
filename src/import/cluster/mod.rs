//! Clusters out of what there is of them: dumps, support bundles, backups, recordings.
//!
//! Whatever the form, it comes down to texts with objects in them, which the manifest loader reads: it finds kinds by content and path
//! where objects do not say them. Of an object that is there more than once the newest state counts. Owners that are missing are made
//! anew as a run would.

pub(super) mod form;
pub(super) mod recording;
mod tally;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use super::archive::{self, Broken, Passed, Visitor};
use super::walk::{self, Walker, shown};
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, Severity, Sources};
use crate::model::manifest::{self, DUMP_COMMAND, Loaded, SkipReason};
use crate::model::{ManifestObject, Object, ObjectKind, cluster_text, yaml_text};
use crate::scenario::{Assumption, missing_owners};
use form::Form;
use recording::{Capture, Recorded};
use tally::Tally;

/// The largest text that is read of a bundle, in bytes.
const TEXT_MAX: u64 = 1 << 30;
/// Problems that are kept with their texts; the others are counted.
const PROBLEMS_MAX: usize = 30;
/// Bytes of texts that are kept to show problems in.
const SOURCES_MAX: usize = 64 << 20;
/// Names of objects that a statement gives.
const NAMED_MAX: usize = 5;

/// What tells an annotation that only repeats the object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Kind, namespace and name.
type Key = (ObjectKind, Symbol, Symbol);

/// Reads bundles and makes one cluster of them.
#[derive(Debug, Default)]
pub struct ClusterImport {
    objects: BTreeMap<Key, ManifestObject>,
    /// Objects that only their generated names would tell apart.
    nameless: usize,
    tally: Tally,
    diagnostics: Diagnostics,
    sources: Sources,
    source_bytes: usize,
}

/// A cluster that was imported.
#[derive(Debug)]
pub struct ImportedCluster {
    /// The document: a head of comments, and the objects, sorted.
    pub document: String,
    /// How many objects of each kind there are, those that were made anew among them.
    pub counts: BTreeMap<&'static str, usize>,
    /// What the head says: where it comes from, what was made anew, left out and not read, a line each.
    pub statements: Vec<String>,
    /// What is wrong with what was read, none of it so that the rest is of no use.
    pub warnings: Diagnostics,
    /// The texts that the warnings are about.
    pub sources: Sources,
}

/// Why there is no cluster.
#[derive(Debug)]
pub struct UnusableCluster {
    /// What is wrong.
    pub diagnostics: Diagnostics,
    /// The texts that it is about.
    pub sources: Sources,
}

/// What to do about a part that cannot be read.
const GO_ON: &str = "`--allow-partial` goes on with what could be read, and says in the file what is missing";

impl ClusterImport {
    /// Nothing read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a file, an archive or a directory with all that is below it. Links that lead out of a directory are not followed. What
    /// is wrong is said by [`Self::finish`].
    pub fn add(&mut self, path: &Path) {
        let name = walk::name_of(path);
        let parent = name.rfind('/').filter(|_| name.len() > 1).map_or(0, |slash| slash + 1);
        name[..parent].clone_into(&mut self.tally.parent);
        let mut input = Input::new(self, &name);
        if path.is_dir() {
            walk::walk(path, &mut input);
        } else {
            match walk::open(path, &name) {
                Ok(file) => input.archive(&name, |input| archive::visit_file(file, &name, input)),
                Err(message) => {
                    self.diagnostics.push(Diagnostic::error("bundle::unreadable", message).help(walk::NAME_ONE));
                    return;
                }
            }
        }
        input.finish();
    }

    /// Reads what comes in a stream, such as standard input; `name` is how messages name it.
    pub fn add_stream(&mut self, stream: impl Read + 'static, name: &str) {
        let mut input = Input::new(self, name);
        input.archive(name, |input| archive::visit_stream(stream, name, input));
        input.finish();
    }

    /// The cluster.
    ///
    /// # Errors
    ///
    /// Nothing of a cluster was found, or, unless that is allowed, a part of it cannot be read.
    pub fn finish(mut self, is_partial_allowed: bool) -> Result<ImportedCluster, UnusableCluster> {
        self.check_clusters();
        if self.objects.is_empty() && !self.diagnostics.has_errors() {
            let found = self.tally.found_nothing();
            let message = format!("no object that a cluster is made of was found: {found}");
            let help = format!("save a cluster with `{DUMP_COMMAND}`");
            self.diagnostics.push(Diagnostic::error("bundle::nothing", message).help(help));
        }
        let is_fatal = |diagnostic: &Diagnostic| matches!(diagnostic.code, "bundle::nothing" | "bundle::unreadable");
        if self.diagnostics.has_errors() {
            let is_some_fatal = self.objects.is_empty()
                || self.diagnostics.iter().any(|found| is_fatal(found) && found.help.iter().all(|help| help != GO_ON));
            if !is_partial_allowed || is_some_fatal {
                return Err(UnusableCluster { diagnostics: self.diagnostics, sources: self.sources });
            }
            let found: Vec<Diagnostic> = std::mem::take(&mut self.diagnostics).into_iter().collect();
            self.diagnostics = Diagnostics::from(found.into_iter().map(as_warning).collect::<Vec<_>>());
        }
        if !self.objects.keys().any(|(kind, ..)| *kind == ObjectKind::Node) {
            let message = "there are no nodes: a run plays no pod on them";
            let help = format!("save the nodes, too: `{DUMP_COMMAND}`; or give the scenario `nodePools`");
            self.diagnostics.push(Diagnostic::warning("bundle::no_nodes", message).help(help));
        }
        let mut objects: Vec<ManifestObject> = std::mem::take(&mut self.objects).into_values().collect();
        let (rebuilt, assumed) = missing_owners(&objects);
        objects.extend(rebuilt);
        objects.iter_mut().for_each(|object| clean(&mut object.object));
        objects.sort_by_cached_key(|object| key_of(&object.object));
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for object in &objects {
            *counts.entry(object.object.kind().as_str()).or_default() += 1;
        }
        self.tally.made_anew(assumed.iter().map(made_anew));
        let statements = self.tally.statements();
        let document = document(&objects, &statements);
        Ok(ImportedCluster { document, counts, statements, warnings: self.diagnostics, sources: self.sources })
    }

    /// Two clusters in one would be none.
    fn check_clusters(&mut self) {
        if self.tally.cluster_uids.len() > 1 {
            let message = "the inputs are of different clusters: namespace kube-system has several uids";
            let help = "import each cluster on its own";
            self.diagnostics.push(Diagnostic::error("bundle::two_clusters", message).help(help).help(GO_ON));
        }
    }

    fn unreadable(&mut self, name: &str, why: &str) {
        self.tally.not_read("file", "it cannot be read", name);
        let message = format!("`{name}` cannot be read: {why}");
        self.diagnostics.push(Diagnostic::error("bundle::unreadable", message).help(GO_ON));
    }

    /// Takes a text with objects in it, as of a file of that name.
    fn add_text(&mut self, name: &str, text: &str) {
        cluster_text::statements(text).for_each(|statement| self.tally.carry(statement));
        let loaded = manifest::load_text(name, text);
        self.tally.of_loaded(&loaded);
        self.keep_problems(name, text, &loaded);
        let Loaded { objects, refused, .. } = loaded;
        for (place, object) in objects.into_iter().enumerate() {
            if object.object.stored_kind().is_none() && !refused.contains(&place) {
                self.add_object(object);
            }
        }
    }

    /// Keeps what is wrong with objects that a cluster is made of; other files of a bundle may be as they like.
    fn keep_problems(&mut self, name: &str, text: &str, loaded: &Loaded) {
        let is_about_objects = is_about_objects(name, text, loaded);
        let mut is_shown = false;
        for diagnostic in loaded.diagnostics.iter() {
            let is_lost = match diagnostic.code {
                "manifest::not_an_object" | "manifest::repeated_object" => continue,
                "manifest::cut_short" | "manifest::for_people" | "manifest::refused" | "manifest::duplicate_object" => {
                    true
                }
                _ => is_about_objects,
            };
            if diagnostic.severity == Severity::Error && is_lost {
                self.tally.problems += 1;
                if self.tally.problems <= PROBLEMS_MAX {
                    is_shown = true;
                    let help = if diagnostic.code == "manifest::for_people" { None } else { Some(GO_ON) };
                    let mut diagnostic = diagnostic.clone();
                    diagnostic.help.extend(help.map(ToOwned::to_owned));
                    self.diagnostics.push(diagnostic);
                }
            } else if diagnostic.severity == Severity::Warning
                && is_about_objects
                && self.diagnostics.len() < PROBLEMS_MAX
            {
                is_shown = true;
                self.diagnostics.push(diagnostic.clone());
            }
        }
        if is_shown && self.source_bytes + text.len() <= SOURCES_MAX {
            self.source_bytes += text.len();
            self.sources.insert_all(&loaded.sources);
        }
    }

    fn add_object(&mut self, mut added: ManifestObject) {
        if let Object::Namespace(namespace) = &added.object
            && namespace.metadata.name == "kube-system"
        {
            self.tally.cluster_uids.extend(namespace.metadata.uid.filter(|uid| !uid.is_empty()));
        }
        let mut key = key_of(&added.object);
        if key.2.is_empty() {
            // A place in the order of reading, so that none replaces another.
            self.nameless += 1;
            key.2 = Symbol::from(format!("\u{10ffff}{:09}", self.nameless));
            self.objects.insert(key, added);
            return;
        }
        let Some(known) = self.objects.get_mut(&key) else {
            self.objects.insert(key, added);
            return;
        };
        if known.object == added.object {
            self.tally.repeated += 1;
            return;
        }
        let uid = |object: &ManifestObject| object.object.metadata().uid.filter(|uid| !uid.is_empty());
        match (uid(known), uid(&added)) {
            (None, None) if is_different(&known.object, &added.object) => {
                let label = added.object.label();
                self.tally.not_read(added.object.kind().as_str(), SkipReason::Duplicate.as_str(), &place_of(&added));
                let diagnostic =
                    Diagnostic::error("manifest::duplicate_object", format!("{label} is written twice, and differs"));
                let diagnostic = diagnostic.at(added.source.clone(), "written again here");
                let diagnostic = diagnostic.at(known.source.clone(), "first written here");
                let help = "remove one of the two; if these are files of several clusters, give those of one at a time";
                self.diagnostics.push(diagnostic.help(help).help(GO_ON));
            }
            _ => {
                self.tally.superseded += 1;
                if age(&added) >= age(known) {
                    std::mem::swap(known, &mut added);
                }
            }
        }
    }
}

/// The text of a cluster: a head of statements, the objects as they are applied, and a last line that says that it is whole.
pub(super) fn document(objects: &[ManifestObject], statements: &[String]) -> String {
    let mut document = String::from(cluster_text::FIRST_LINE);
    document.push_str(cluster_text::PROMISE);
    for statement in statements {
        document.push_str(&format!("# {statement}\n"));
    }
    document.push_str(&yaml_text::documents(objects.iter().map(|object| as_applied(&object.object))));
    document.push_str(cluster_text::LAST_LINE);
    document
}

/// Whether two objects differ in more than how often they were written.
fn is_different(one: &Object, other: &Object) -> bool {
    let without_version = |object: &Object| {
        let mut object = object.clone();
        object.metadata_mut().resource_version = None;
        object
    };
    without_version(one) != without_version(other)
}

/// By what the newer of two states of an object is told: whether a server has given it a uid, when it was created, its version, which
/// of one cluster grows.
fn age(object: &ManifestObject) -> (bool, Option<Symbol>, u64) {
    let metadata = object.object.metadata();
    let version = metadata.resource_version.and_then(|text| text.as_str().parse().ok()).unwrap_or(0);
    (metadata.uid.is_some_and(|uid| !uid.is_empty()), metadata.creation_timestamp, version)
}

fn key_of(object: &Object) -> Key {
    let metadata = object.metadata();
    (object.kind(), metadata.namespace, metadata.name)
}

fn place_of(object: &ManifestObject) -> String {
    format!("{}:{}", object.source.file, object.source.line)
}

/// Whether a text that cannot be read may have objects in it that a cluster is made of.
fn is_about_objects(name: &str, text: &str, loaded: &Loaded) -> bool {
    let is_played = |kind: &str| kind == "List" || ObjectKind::named(kind.trim_end_matches("List")).is_some();
    let says_so = loaded.skipped.iter().any(|skipped| is_played(skipped.kind.as_str()));
    let has_objects = loaded.objects.iter().any(|object| object.object.stored_kind().is_none());
    says_so || has_objects || manifest::named_kind(name).is_some_and(is_played) || {
        let head = &text.as_bytes()[..text.len().min(4096)];
        let head = String::from_utf8_lossy(head);
        let is_list = || head.lines().any(|line| line.trim_end() == "items:");
        head.contains("apiVersion") && (is_list() || ObjectKind::ALL.iter().any(|kind| head.contains(kind.as_str())))
    }
}

fn as_warning(mut diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.severity = Severity::Warning;
    diagnostic.help.retain(|help| help != GO_ON);
    diagnostic
}

/// Takes away what only a server keeps account of.
fn clean(object: &mut Object) {
    let metadata = object.metadata_mut();
    metadata.resource_version = None;
    metadata.annotations.remove(&Symbol::new(LAST_APPLIED));
}

/// Words that a model reads into an absent field, but that the API server demands: where lists of that name lack which field.
const DEMANDED: [(&str, &str, &str); 5] = [
    ("matchExpressions", "operator", "In"),
    ("matchFields", "operator", "In"),
    ("rules", "action", "Count"),
    ("taints", "effect", "NoSchedule"),
    ("topologySpreadConstraints", "whenUnsatisfiable", "DoNotSchedule"),
];

/// An object as an API server takes it.
fn as_applied(object: &Object) -> Value {
    fn complete(value: &mut Value, is_of_failure_policy: bool) {
        let fields = match value {
            Value::Array(items) => return items.iter_mut().for_each(|item| complete(item, false)),
            Value::Object(fields) => fields,
            _ => return,
        };
        if let Some(Value::Object(exit_codes)) = fields.get_mut("onExitCodes") {
            exit_codes.entry("operator").or_insert_with(|| "In".into());
        }
        for (name, value) in fields {
            let demanded =
                DEMANDED.iter().filter(|(list, ..)| list == name && (*list != "rules" || is_of_failure_policy));
            for (_, field, word) in demanded {
                let items = value.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut);
                items.for_each(|item| {
                    item.entry(*field).or_insert_with(|| (*word).into());
                });
            }
            complete(value, name == "podFailurePolicy");
        }
    }
    let mut value = object.to_manifest();
    if let Some(spec) = value.get_mut("spec") {
        complete(spec, false);
    }
    value
}

/// An assumption as a statement, with the objects that it is about.
fn made_anew(assumption: &Assumption) -> String {
    let named: Vec<&str> = assumption.objects.iter().take(NAMED_MAX).map(String::as_str).collect();
    let more = if assumption.count > named.len() { ", …" } else { "" };
    format!("{} ({}: {}{more})", assumption.text, assumption.count, named.join(", "))
}

/// One input while it is read.
struct Input<'a> {
    owner: &'a mut ClusterImport,
    name: String,
    /// What stands before the paths within an archive.
    prefix: String,
    forms: BTreeSet<Form>,
    files: usize,
    capture: Capture,
    is_single: bool,
}

impl<'a> Input<'a> {
    fn new(owner: &'a mut ClusterImport, name: &str) -> Self {
        let (name, prefix) = (name.to_owned(), String::new());
        Self { owner, name, prefix, forms: BTreeSet::new(), files: 0, capture: Capture::default(), is_single: false }
    }

    /// Reads what may be an archive.
    fn archive(&mut self, name: &str, visit: impl FnOnce(&mut Self) -> Result<(), Broken>) {
        self.prefix = name.to_owned();
        let Err(broken) = visit(self) else { return };
        let (code, message, help) = broken.told(name);
        let help = help.unwrap_or(GO_ON);
        self.owner.tally.not_read("archive", "its end is missing", name);
        self.owner.diagnostics.push(Diagnostic::error(code, message).help(help));
    }

    /// The name of a file of the directory that is read.
    fn full(&self, name: &str) -> String {
        let prefix = self.name.trim_end_matches('/');
        if name.is_empty() { self.name.clone() } else { format!("{prefix}/{name}") }
    }

    fn file_of_directory(&mut self, path: &Path, name: &str, full: &str) {
        let mut file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) => return self.owner.unreadable(full, &error.to_string()),
        };
        if archive::is_archive(name) {
            self.archive(full, |input| archive::visit_file(file, full, input));
            return;
        }
        self.prefix.clone_from(&self.name);
        if let Err(error) = self.file(name, &mut file) {
            self.owner.unreadable(full, &error.to_string());
        }
    }

    fn finish(self) {
        let Self { owner, name, forms, files, capture, is_single, .. } = self;
        if !capture.is_empty() {
            owner.recorded(&name, capture.into_recorded());
        }
        if !is_single || !owner.tally.is_carried {
            owner.tally.from(&name, &forms, files);
        }
    }

    fn text(&mut self, name: &str, bytes: Vec<u8>) {
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => return self.bytes(name, error.as_bytes()),
        };
        self.forms.extend(form::of_path(name));
        if text.starts_with(cluster_text::FIRST_LINE) {
            self.forms.insert(Form::Imported);
        }
        if let Some(list) = recording::scheduler_snapshot(&text) {
            self.forms.insert(Form::SchedulerSimulator);
            return self.owner.add_text(name, &list);
        }
        if let Some(recorded) = recording::scheduler_records(&text) {
            self.forms.insert(Form::SchedulerSimulator);
            return self.owner.recorded(name, recorded);
        }
        match recording::kwok(&text) {
            Some(Ok(recorded)) => {
                self.forms.insert(Form::Kwok);
                return self.owner.recorded(name, recorded);
            }
            Some(Err(why)) => return self.owner.unreadable(name, &why),
            None => {}
        }
        match recording::without_logs(&text) {
            Some(text) => {
                self.forms.insert(Form::ClusterInfo);
                self.owner.add_text(name, &text);
            }
            None => self.owner.add_text(name, &text),
        }
    }

    /// What is no text.
    fn bytes(&mut self, name: &str, bytes: &[u8]) {
        if !recording::is_simkube(bytes) {
            let why = match bytes {
                [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                    "it is UTF-16, which `>` writes in older PowerShells; save it as UTF-8"
                }
                _ => "it is not UTF-8 text",
            };
            return self.owner.unreadable(name, why);
        }
        self.forms.insert(Form::SimKube);
        match recording::simkube(bytes) {
            Ok(recorded) => self.owner.recorded(name, recorded),
            Err(why) => self.owner.unreadable(name, &why),
        }
    }

    fn captured(&mut self, name: &str, number: u64, content: &mut dyn Read) {
        self.forms.insert(Form::K8shark);
        let mut bytes = Vec::new();
        let read = archive::unpacked(name, content).and_then(|content| content.take(TEXT_MAX).read_to_end(&mut bytes));
        let text = read
            .map_err(|error| error.to_string())
            .and_then(|_| String::from_utf8(bytes).map_err(|error| error.to_string()));
        if let Err(why) = text.and_then(|text| self.capture.add(number, &text)) {
            self.owner.unreadable(name, &why);
        }
    }
}

impl ClusterImport {
    fn recorded(&mut self, name: &str, recorded: Recorded) {
        let (changes, lost) = (recorded.changes, recorded.lost);
        if changes > 0 {
            let short = self.tally.short(name);
            self.tally
                .note(format!("`{short}` is a recording: the cluster is as {changes} changes left it at its end"));
        }
        if lost > 0 {
            self.tally.not_read("change", "what it changes is not in the recording", name);
        }
        self.add_text(name, &recorded.into_list());
    }
}

impl Walker for Input<'_> {
    fn found(&mut self, path: &Path, name: &str) {
        let full = self.full(name);
        self.file_of_directory(path, name, &full);
    }

    fn passed_over(&mut self, name: &str, why: Passed) {
        let full = self.full(name);
        self.owner.tally.not_read("file", why.as_str(), &full);
    }

    fn unreadable(&mut self, name: &str, why: &str) {
        let full = self.full(name);
        self.owner.unreadable(&full, why);
    }
}

impl Visitor for Input<'_> {
    fn file(&mut self, path: &str, content: &mut dyn Read) -> io::Result<()> {
        let path = shown(path);
        // The only file there is stands for itself.
        self.is_single = path == self.prefix || self.prefix.trim_end_matches(".gz").trim_end_matches(".zst") == path;
        let name =
            if self.is_single { self.prefix.clone() } else { format!("{}/{path}", self.prefix.trim_end_matches('/')) };
        if let Some(number) = recording::captured(&path) {
            self.files += 1;
            self.captured(&name, number, content);
            return Ok(());
        }
        let mut content = archive::unpacked(if self.is_single { "" } else { &path }, content)?;
        let mut bytes = Vec::new();
        if !self.is_single && !form::may_have_objects(&path) {
            content.by_ref().take(form::HEAD_LENGTH).read_to_end(&mut bytes)?;
            if !form::looks_like_objects(&path, &bytes) {
                self.owner.tally.other_files += 1;
                return Ok(());
            }
        }
        content.by_ref().take(TEXT_MAX + 1 - bytes.len() as u64).read_to_end(&mut bytes)?;
        self.files += 1;
        if bytes.len() as u64 > TEXT_MAX {
            self.owner.unreadable(&name, "it is larger than 1 GiB, the most that is read");
            return Ok(());
        }
        self.text(&name, bytes);
        Ok(())
    }

    fn passed(&mut self, path: &str, why: Passed) {
        let name = format!("{}/{}", self.prefix.trim_end_matches('/'), shown(path));
        if why == Passed::LinkWithin {
            self.owner.tally.other_files += 1;
            return;
        }
        self.owner.tally.not_read("file", why.as_str(), &name);
        if why == Passed::Outside {
            let message = format!("`{name}` leads out of its archive, as no honest archive does; it is not read");
            self.owner.warn(Diagnostic::warning("bundle::outside", message).at(Location::file(name.as_str()), ""));
        }
    }
}

impl ClusterImport {
    fn warn(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < PROBLEMS_MAX {
            self.diagnostics.push(diagnostic);
        }
    }
}
