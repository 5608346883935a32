//! The user's document: what it may say, what it means, and everything that is wrong with it.
//!
//! A document is read into a tree in which every value knows its place; overrides replace parts of the tree; the tree is
//! decoded into typed fields; these are resolved (defaults, manifests, node pools, files) and checked. The result is plain
//! data. Nothing here runs a scenario, and nothing but the loaders reads files.

mod actions;
mod annotations;
mod assumption;
mod assumptions;
mod at;
mod configuration;
mod control_plane;
mod decode;
mod deserializer;
mod document;
mod dump;
mod effects;
mod epoch;
mod expect;
mod files;
mod foresight;
mod former_taints;
mod input;
mod invalid;
mod inventory;
mod knobs;
mod kube_scheduler;
mod limits;
mod lock;
mod node_labels;
mod object_values;
mod objects;
mod overrides;
mod owners;
mod pod_counts;
mod pools;
mod procedures;
mod resolve;
mod resolved;
mod resolver;
mod revisions;
mod room;
mod runbook;
mod schema;
#[cfg(feature = "cli")]
pub(crate) mod schemas;
mod targets;
mod typed;
mod validate;
mod workloads;

use std::path::Path;
use std::sync::Arc;

pub use actions::TimelineAction;
#[cfg(feature = "cli")]
pub(crate) use actions::TimelineEntry;
pub use assumption::Assumption;
pub(crate) use at::At;
pub use configuration::HEARTBEAT_TIMEOUT;
pub use dump::{crash_loops, unwritten_gates};
pub use expect::{Comparison, Expectation, ExpectationOutcome};
pub use input::{Input, Skipped};
pub use invalid::Invalid;
pub(crate) use knobs::knobs;
pub use limits::Limits;
pub use lock::lock_file;
pub use objects::{highest_priority, pod_count, too_many_pods};
pub use overrides::{Caller, Overrides};
pub use owners::missing_owners;
pub use pools::NodePool;
#[cfg(feature = "cli")]
pub(crate) use resolve::{SNAPSHOT_KIND, is_snapshot};
pub use resolved::ResolvedScenario;
#[cfg(feature = "cli")]
pub(crate) use room::NO_ROOM;
pub(crate) use schema::Share;
pub use schema::{API_VERSION, Bootstrap, KINDS, SETTLE_FOR};
pub(crate) use workloads::{nearest_pattern, pod_template, pod_template_mut};

use crate::diagnostics::{Diagnostic, Diagnostics, Source, Sources, nearest};
use crate::model::manifest::{self, Folder};

/// Reads a scenario and everything it names. Paths in it are relative to its file.
///
/// # Errors
///
/// Everything that is wrong with it, and the warnings.
pub fn load(path: &Path, overrides: &Overrides) -> Result<ResolvedScenario, Invalid> {
    load_from(&Folder::on_disk(Path::new("")), path, overrides)
}

/// Reads a scenario of a folder, and everything it names.
///
/// # Errors
///
/// Everything that is wrong with it, and the warnings.
pub(crate) fn load_from(folder: &Folder, path: &Path, overrides: &Overrides) -> Result<ResolvedScenario, Invalid> {
    let name = folder.join(path).to_string_lossy().into_owned();
    let text = folder.read(path, &name).map_err(|diagnostic| Invalid::of(*diagnostic))?;
    parse(&name, &text, &folder.around(path), overrides)
}

/// Reads a scenario from its text; `name` is how messages name it, `folder` where its paths lead.
///
/// # Errors
///
/// Everything that is wrong with it, and the warnings.
pub(crate) fn parse(
    name: &str,
    text: &str,
    folder: &Folder,
    overrides: &Overrides,
) -> Result<ResolvedScenario, Invalid> {
    resolve::resolve(name, text, folder, overrides, None)
}

/// Reads a scenario from its text; `name` is how messages name it, `base_dir` what its paths are relative to.
///
/// # Errors
///
/// Everything that is wrong with it, and the warnings.
///
/// # Examples
///
/// ```
/// use std::path::{Path, PathBuf};
/// use kubesquall::scenario::{Overrides, load_text};
///
/// let text = "\
/// apiVersion: kubesquall.sim/v1alpha1
/// kind: Scenario
/// metadata: {name: example}
/// spec:
///   duration: 10m
///   cluster:
///     nodePools:
///     - {name: worker, count: 3, template: {status: {allocatable: {cpu: \"4\", memory: 8Gi, pods: \"110\"}}}}
/// ";
/// let scenario = load_text("example.yaml", text, Path::new(""), &Overrides::none())?;
/// assert_eq!(scenario.objects.len(), 3);
///
/// let mut overrides = Overrides::none();
/// overrides.set("spec.duration", "-5m");
/// let invalid = load_text("example.yaml", text, Path::new(""), &overrides).unwrap_err();
/// assert!(invalid.to_string().contains("`-5m` is negative"));
/// # Ok::<(), kubesquall::scenario::Invalid>(())
/// ```
pub fn load_text(name: &str, text: &str, base_dir: &Path, overrides: &Overrides) -> Result<ResolvedScenario, Invalid> {
    parse(name, text, &Folder::on_disk(base_dir), overrides)
}

/// Reads one scenario again and again with other values; its files are read once.
#[derive(Debug)]
pub(crate) struct Reader {
    name: String,
    text: String,
    folder: Folder,
    /// Values that all have.
    overrides: Overrides,
    /// None if it is read only once: files that are large are large twice where they are kept.
    kept: Option<files::Kept>,
}

impl Reader {
    /// Reads the scenario's text; `overrides` are values that all of its variants have.
    ///
    /// # Errors
    ///
    /// Why it cannot be had.
    pub(crate) fn open(folder: &Folder, path: &Path, overrides: &Overrides) -> Result<Self, Invalid> {
        let name = folder.join(path).to_string_lossy().into_owned();
        let text = folder.read(path, &name).map_err(|diagnostic| Invalid::of(*diagnostic))?;
        Ok(Self { overrides: overrides.clone(), ..Self::of_text(&name, text, folder.around(path)) })
    }

    /// A scenario's text; `name` is how messages name it, `folder` where its paths lead.
    pub(crate) fn of_text(name: &str, text: String, folder: Folder) -> Self {
        let kept = Some(files::Kept::default());
        Self { name: name.to_owned(), text, folder, overrides: Overrides::none(), kept }
    }

    /// The same with values that all of its variants have.
    #[must_use]
    pub(crate) fn with(self, overrides: &Overrides) -> Self {
        Self { overrides: self.overrides.and(overrides), ..self }
    }

    /// The same, but nothing of what is read is kept.
    #[must_use]
    pub(crate) fn once(self) -> Self {
        Self { kept: None, ..self }
    }

    /// The scenario with these values.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, and the warnings.
    pub(crate) fn load(&self, overrides: &Overrides) -> Result<ResolvedScenario, Invalid> {
        let overrides = self.overrides.and(overrides);
        resolve::resolve(&self.name, &self.text, &self.folder, &overrides, self.kept.as_ref())
    }
}

/// A document of ours that is not a scenario, read.
pub(crate) struct OwnDocument<T> {
    /// What it says; none if something it cannot do without is missing or wrong.
    pub(crate) value: Option<T>,
    /// Where its values stand.
    pub(crate) root: document::Node,
    /// Every problem.
    pub(crate) diagnostics: Diagnostics,
}

/// Reads a document of ours of that kind.
///
/// # Errors
///
/// If it is not YAML, or another kind.
pub(crate) fn read_own<T: serde::de::DeserializeOwned>(
    (name, text): (&str, &str),
    kind: &str,
    overrides: &Overrides,
) -> Result<OwnDocument<T>, Invalid> {
    let in_source = |diagnostic: Diagnostic| Invalid {
        diagnostics: diagnostic.into(),
        sources: Sources::from_iter([Source::new(name, text)]),
    };
    let file: Arc<str> = name.into();
    let root = document::parse_first(&file, text).map_err(|diagnostic| in_source(*diagnostic))?.root;
    let field = |name: &str| root.get(name).and_then(document::Node::text).unwrap_or_default();
    if (field("apiVersion"), field("kind")) != (API_VERSION, kind) {
        let known = [DocumentKind::Scenario, DocumentKind::Study, DocumentKind::Plan];
        let is_ours = field("apiVersion") == API_VERSION;
        let found = known.into_iter().find(|known| is_ours && known.as_str() == field("kind"));
        let (message, help) = match found.and_then(|found| Some((found, overrides.caller().how_to_play(found, name)?)))
        {
            Some((found, help)) => (format!("this is a {}, not a {kind}", found.as_str()), help),
            None => (
                format!("this is not a {kind}"),
                format!("a {kind} begins with `apiVersion: {API_VERSION}` and `kind: {kind}`"),
            ),
        };
        let diagnostic = Diagnostic::error("scenario::another_kind", message);
        return Err(in_source(diagnostic.at(At::root(&root).field("kind").location(), "").help(help)));
    }
    Ok(read_tree(root))
}

/// Why a document of ours is no cluster; none if it is manifests, or a Scenario, which has one.
pub(crate) fn no_cluster(name: &str, kind: DocumentKind) -> Option<Invalid> {
    if matches!(kind, DocumentKind::Scenario | DocumentKind::Manifest) {
        return None;
    }
    let message = format!("{name} is a {}, not a cluster", kind.as_str());
    let help = "give what `kubectl get -o json` saves, manifests, or a Scenario";
    Some(Invalid::of(Diagnostic::error("scenario::another_kind", message).help(help)))
}

/// Reads a document of ours that has neither version nor kind, as what an option names.
///
/// # Errors
///
/// If it is not YAML, or there is nothing in it.
pub(crate) fn read_part<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> Result<OwnDocument<T>, Invalid> {
    let in_source = |diagnostic: Diagnostic| Invalid {
        diagnostics: diagnostic.into(),
        sources: Sources::from_iter([Source::new(name, text)]),
    };
    let first = document::parse_first(&name.into(), text).map_err(|diagnostic| in_source(*diagnostic))?;
    let mut read = read_tree(first.root);
    if !first.rest.trim().is_empty() {
        let message = format!("{name} has several documents");
        let at = At::root(&read.root).location();
        let help = "write all of it as one document, without `---`";
        read.diagnostics.push(Diagnostic::error("scenario::bad_value", message).at(at, "the first of them").help(help));
    }
    Ok(read)
}

fn read_tree<T: serde::de::DeserializeOwned>(mut root: document::Node) -> OwnDocument<T> {
    let mut diagnostics = Diagnostics::new();
    let decoded = decode::decode::<T>(&mut root, &mut diagnostics);
    for near_miss in decoded.near_misses {
        diagnostics.push(near_miss);
    }
    OwnDocument { value: decoded.value, root, diagnostics }
}

/// Reads the text of a document; too large files and such that are not text are refused.
///
/// # Errors
///
/// Why it cannot be had.
pub fn read_text(path: &Path) -> Result<String, Invalid> {
    manifest::read_text(path, &path.to_string_lossy()).map_err(|diagnostic| Invalid::of(*diagnostic))
}

/// What a file says it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// A scenario.
    Scenario,
    /// A study: many runs of a scenario.
    Study,
    /// A plan: a scenario's cluster in many sizes.
    Plan,
    /// Anything else, to be read as Kubernetes manifests.
    Manifest,
}

impl DocumentKind {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scenario => "Scenario",
            Self::Study => "Study",
            Self::Plan => "Plan",
            Self::Manifest => "manifest",
        }
    }
}

/// What is wrong with a document that has a kind of ours and nearly our group; none if it is somebody else's.
fn misspelt(name: &str, text: &str, head: &str, group: &str) -> Option<Invalid> {
    let is_near = |found: &str| nearest(found.split('/').next().unwrap_or(found), [group]).is_some();
    let values = head.split("apiVersion").skip(1).filter_map(|rest| {
        let value = rest.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?;
        value.split(['\n', ',', '}', '#']).next().map(|value| value.trim().trim_matches(['"', '\'']))
    });
    // Dumps can be large, and almost all of them stop here.
    if !values.into_iter().any(is_near) {
        return None;
    }
    let root = document::parse_first(&name.into(), text).ok()?.root;
    let field = |name: &str| root.get(name).and_then(document::Node::text).unwrap_or_default();
    let (found, kind) = (field("apiVersion"), field("kind"));
    if !is_near(found) || !KINDS.contains(&kind) {
        return None;
    }
    let message = format!("there is no {kind} in `{found}`");
    let diagnostic = Diagnostic::error("scenario::unknown_version", message)
        .at(At::root(&root).field("apiVersion").location(), "unknown group")
        .help(format!("the nearest is `{API_VERSION}`"));
    Some(Invalid { diagnostics: diagnostic.into(), sources: Sources::from_iter([Source::new(name, text)]) })
}

/// What a text says it is, by the `apiVersion` and `kind` of its first document.
///
/// # Errors
///
/// A document of ours of a version or kind that does not exist, or a text that says it is ours and cannot be read.
pub fn recognize(name: &str, text: &str) -> Result<DocumentKind, Invalid> {
    // Dumps can be large: only what mentions us is parsed for the question.
    let group = API_VERSION.split('/').next().unwrap_or(API_VERSION);
    let head_end = text.char_indices().nth(64 * 1024).map_or(text.len(), |(index, _)| index);
    let head = &text[..head_end];
    if !head.contains(group) {
        return misspelt(name, text, head, group).map_or(Ok(DocumentKind::Manifest), Err);
    }
    let in_source = |diagnostic: Diagnostic| Invalid {
        diagnostics: diagnostic.into(),
        sources: Sources::from_iter([Source::new(name, text)]),
    };
    let file: Arc<str> = name.into();
    let root = document::parse_first(&file, text).map_err(|diagnostic| in_source(*diagnostic))?.root;
    let field = |name: &str| root.get(name).and_then(document::Node::text).unwrap_or_default();
    if !field("apiVersion").starts_with(group) {
        return Ok(DocumentKind::Manifest);
    }
    match field("kind") {
        "Scenario" => Ok(DocumentKind::Scenario),
        "Study" => Ok(DocumentKind::Study),
        "Plan" => Ok(DocumentKind::Plan),
        other => Err(in_source(resolve::unknown_kind(other, At::root(&root).field("kind").location()))),
    }
}
