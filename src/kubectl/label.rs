//! `kubectl label` and `kubectl annotate`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::command_line::{Arguments, DRY, FILES, PRINT, Selection, Stop, WRITE, Words, all_or_refused, pairs};
use super::failure::Failure;
use super::resource::{Found, find_or_fail};
use super::verb::{Scene, Verb, works_on_selection};
use super::{CommandPlan, Item, Step, three_way};
use crate::arena::Symbol;
use crate::component::{ApiError, ErrorReason, Request, export_workload};
use crate::model::Labels;
use crate::state::Store;

/// What `label` and `annotate` change.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum MetadataPart {
    /// Labels.
    Labels,
    /// Annotations.
    Annotations,
}

/// Arguments of `label` and `annotate`.
#[derive(Clone, Debug)]
pub struct LabelArgs {
    /// Which.
    pub part: MetadataPart,
    /// What.
    pub selection: Selection,
    /// Keys and values; no value removes the key.
    pub changes: Vec<(String, Option<String>)>,
    /// `--overwrite`.
    pub overwrite: bool,
    /// `--list`: what the object would have is printed, and nothing changed.
    pub list: bool,
    /// `--resource-version` that the object has to have.
    pub resource_version: Option<String>,
}

impl Verb for LabelArgs {
    const COMMANDS: &'static [Words] = &[
        (
            "label",
            &[
                FILES,
                PRINT,
                DRY,
                WRITE,
                "all! all-namespaces,A! field-selector= list! local! overwrite! resource-version= selector,l=",
            ],
        ),
        (
            "annotate",
            &[
                FILES,
                PRINT,
                DRY,
                WRITE,
                "all! all-namespaces,A! field-selector= list! local! overwrite! resource-version= selector,l=",
            ],
        ),
    ];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        let is_label = arguments.path == "label";
        read(arguments, if is_label { MetadataPart::Labels } else { MetadataPart::Annotations })
    }

    works_on_selection!(of_words_or_files);

    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let store = scene.store;
        let is_one = self.selection.targets.len() == 1 && self.selection.kinds.len() <= 1;
        if self.resource_version.is_some() && !is_one {
            return plan.fail(Failure::own("--resource-version may only be used with a single resource"));
        }
        for object in find_or_fail(&self.selection, store, plan) {
            let name = object.printed(store);
            match self.part {
                MetadataPart::Labels => labels(self, &object, &name, store, plan),
                MetadataPart::Annotations => annotations(self, &object, &name, store, plan),
            }
        }
    }
}

/// # Source
/// kubectl, `LabelOptions.Validate`, `parseLabels`, `AnnotateOptions`.
fn read(arguments: &mut Arguments, part: MetadataPart) -> Result<LabelArgs, Stop> {
    let (what, update) = match part {
        MetadataPart::Labels => ("label", "at least one label update is required"),
        MetadataPart::Annotations => ("annotation", "at least one annotation update is required"),
    };
    let changes = pairs(arguments, what)?;
    let removed: Vec<&str> = changes.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| key.as_str()).collect();
    let both: Vec<&str> = removed
        .into_iter()
        .filter(|key| changes.iter().any(|(other, value)| other == key && value.is_some()))
        .collect();
    match part {
        MetadataPart::Labels => {
            for (key, value) in changes.iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
                if value.contains('=') {
                    return Err(Stop::error(format!("invalid label spec: {key}={value}")));
                }
                if !crate::model::is_label_value(value) {
                    return Err(Stop::error(format!("invalid label value: \"{key}={value}\": {LABEL_VALUE}")));
                }
            }
            if !both.is_empty() {
                return Err(Stop::error("can not both modify and remove a label in the same command"));
            }
        }
        MetadataPart::Annotations if !both.is_empty() => {
            let both = both.join(", ");
            let text = "can not both modify and remove the following annotation(s) in the same command";
            return Err(Stop::error(format!("{text}: {both}")));
        }
        MetadataPart::Annotations => {}
    }
    if arguments.switch("all", false)?
        && let Some(flag) = ["selector", "field-selector"].into_iter().find(|flag| arguments.has(flag))
    {
        return Err(Stop::error(format!("cannot set --all and --{flag} at the same time")));
    }
    let has_files = arguments.has("filename");
    if arguments.words.is_empty() && !has_files {
        return Err(Stop::error("one or more resources must be specified as <resource> <name> or <resource>/<name>"));
    }
    if changes.is_empty() && !arguments.switch("list", false)? {
        return Err(Stop::error(update));
    }
    let list = arguments.switch("list", false)?;
    if list && arguments.has("output") {
        return Err(Stop::error("--list and --output may not be specified together"));
    }
    let overwrite = arguments.switch("overwrite", false)?;
    let resource_version = arguments.text("resource-version").filter(|text| !text.is_empty()).map(str::to_owned);
    let without = all_or_refused(arguments)?;
    let selection = arguments.selection(without)?;
    Ok(LabelArgs { part, selection, changes, overwrite, list, resource_version })
}

/// What a label's value has to be like, in the API's words.
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
     must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
     validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// # Source
/// kubectl label, `RunLabel`, `labelFunc` and `updateDataChangeMsg`.
fn labels(args: &LabelArgs, object: &Found, name: &str, store: &Store, plan: &mut CommandPlan) {
    let old = object.labels(store);
    let (mut new, mut taken) = (old.clone(), Vec::new());
    let (mut adds, mut removes) = (false, false);
    for (key, value) in &args.changes {
        let symbol = Symbol::new(key);
        match (value, old.get(symbol)) {
            (Some(value), Some(present)) if present.as_str() == value => {}
            (Some(_), Some(present)) if !args.overwrite => {
                taken.push(format!("'{key}' already has a value ({present}), and --overwrite is false"));
            }
            (Some(value), _) => {
                new = new.with(symbol, Symbol::new(value));
                adds = true;
            }
            (None, Some(_)) => {
                new = new.without(symbol);
                removes = true;
            }
            (None, None) if args.list => {}
            (None, None) => plan.say(format!("label \"{key}\" not found.")),
        }
    }
    if !taken.is_empty() {
        return plan.fail(Failure::Own(taken));
    }
    if args.list {
        let pairs = new.iter().map(|(key, value)| format!("{key}={value}")).collect();
        return list(args, object, "labels", pairs, store, plan);
    }
    let done = match (adds, removes) {
        (true, true) => "modified",
        (true, false) => "labeled",
        (false, true) => "unlabeled",
        (false, false) => return plan.say(format!("{name} not labeled")),
    };
    if let Some(failure) = is_outdated(args.resource_version.as_deref(), object, store, None) {
        return plan.fail(failure);
    }
    if let Some(request) = set_labels(object, new, store) {
        plan.call(Step::new(request, format!("{name} {done}")));
    }
}

/// `--list`: what the object would have.
///
/// # Source
/// kubectl label, `RunLabel`; kubectl annotate, `RunAnnotate`: nothing is sent.
///
/// # Differs
/// They come in order.
fn list(args: &LabelArgs, object: &Found, what: &str, pairs: Vec<String>, store: &Store, plan: &mut CommandPlan) {
    if args.selection.targets.len() == 1 && args.selection.kinds.len() <= 1 {
        return plan.items.push(Item::Print(pairs));
    }
    let kind = object.kind().group_kind();
    let (kind, group) = kind.split_once('.').unwrap_or((&kind, ""));
    let heading = format!("Listing {what} for {kind}.{group}/{}:", object.name(store));
    let pairs = pairs.into_iter().map(|pair| format!(" {pair}"));
    plan.items.push(Item::Print(std::iter::once(heading).chain(pairs).collect()));
}

/// What the server says if the object is not of the version that is given, on the command line or in a file.
///
/// # Source
/// apimachinery, `NewConflict`; kube-apiserver, `OptimisticLockErrorMsg`.
///
/// # Differs
/// Of nodes and of kinds that decide nothing no version is kept: whichever is given is taken.
pub(super) fn is_outdated(
    wanted: Option<&str>,
    object: &Found,
    store: &Store,
    source: Option<(&str, &str)>,
) -> Option<Failure> {
    let version = match object {
        Found::Pod(id) => store.pod(*id)?.resource_version.to_string(),
        Found::Workload(_, id) => store.workload_meta(*id)?.version.to_string(),
        Found::Node(_) | Found::Other(..) => return None,
    };
    wanted.filter(|wanted| !wanted.is_empty() && *wanted != version)?;
    let (resource, name) = (object.kind().resource(), object.name(store));
    let text = format!(
        "Operation cannot be fulfilled on {resource} \"{name}\": the object has been modified; please apply your changes to \
         the latest version and try again"
    );
    Some(Failure::refusal(&ApiError::new(ErrorReason::Conflict, text), source))
}

/// Why a revision came: it can always be written anew.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

fn set_labels(object: &Found, labels: Labels, store: &Store) -> Option<Request> {
    Some(match object {
        Found::Pod(pod) => Request::SetPodLabels { pod: *pod, labels },
        Found::Node(node) => Request::SetNodeLabels { node: *node, labels },
        Found::Workload(_, id) => {
            let mut object = export_workload(store, *id)?;
            object.metadata_mut().labels = labels;
            Request::Apply(Box::new(object))
        }
        Found::Other(..) => {
            let mut object = three_way::export(object, store)?;
            object.metadata_mut().labels = labels;
            Request::Apply(Box::new(object))
        }
    })
}

fn annotations(args: &LabelArgs, object: &Found, name: &str, store: &Store, plan: &mut CommandPlan) {
    let old = match object {
        Found::Node(node) => store.node(*node).map(|n| Arc::clone(&n.annotations)),
        Found::Workload(_, id) => store.workload_meta(*id).map(|m| Arc::clone(&m.annotations)),
        Found::Pod(pod) => store.pod(*pod).map(|p| Arc::new(p.annotations())),
        Found::Other(..) => three_way::export(object, store).map(|o| Arc::new(o.metadata().annotations.clone())),
    };
    let Some(old) = old else {
        plan.say(format!("{name} annotated"));
        return;
    };
    let (mut new, mut taken) = (BTreeMap::clone(&old), Vec::new());
    for (key, value) in &args.changes {
        let symbol = Symbol::new(key);
        match value {
            Some(value)
                if !args.overwrite && key != CHANGE_CAUSE && old.get(&symbol).is_some_and(|v| v.as_str() != value) =>
            {
                taken.push(format!("'{key}' already has a value ({})", old[&symbol]));
            }
            Some(value) => {
                new.insert(symbol, Symbol::new(value));
            }
            None => {
                new.remove(&symbol);
            }
        }
    }
    if !taken.is_empty() {
        let text = "--overwrite is false but found the following declared annotation(s): ";
        return plan.fail(Failure::own(format!("{text}{}", taken.join("; "))));
    }
    if args.list {
        let pairs = new.iter().map(|(key, value)| format!("{key}={value}")).collect();
        return list(args, object, "annotations", pairs, store, plan);
    }
    if let Some(failure) = is_outdated(args.resource_version.as_deref(), object, store, None) {
        return plan.fail(failure);
    }
    let annotations = Arc::new(new);
    let request = match object {
        Found::Node(node) => Request::SetNodeAnnotations { node: *node, annotations },
        Found::Workload(_, id) => Request::SetWorkloadAnnotations { workload: *id, annotations },
        Found::Pod(pod) => Request::SetPodAnnotations { pod: *pod, annotations },
        Found::Other(..) => {
            let Some(mut exported) = three_way::export(object, store) else { return };
            exported.metadata_mut().annotations = BTreeMap::clone(&annotations);
            Request::Apply(Box::new(exported))
        }
    };
    plan.call(Step::new(request, format!("{name} annotated")));
}
