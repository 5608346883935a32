//! Annotations `kubesquall.sim/…`, which say how the containers of a pod behave: what is wrong with them, and whether they stand where
//! somebody reads them, which is on pods and on the templates of pods.

use serde_json::Value;

use super::typed::Typed;
use super::workloads::pod_template;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, nearest};
use crate::kubectl::{Command, Kind, MetadataPart, RunbookLine};
use crate::model::{BEHAVIOR_PREFIX, Behavior, Object, Objection};

/// Where an annotation is to be that says something.
const PLACE: &str = "it says something on pods, and under `template.metadata.annotations` of what makes pods";

/// Checks those of an object.
pub(super) fn check(object: &Object, place: &Location, diagnostics: &mut Diagnostics) {
    let label = object.label();
    let is_pod = matches!(object, Object::Pod(_));
    let of_jobs = match object {
        Object::CronJob(object) => Some(&object.spec.job_template.metadata.annotations),
        _ => None,
    };
    let of_pods = pod_template(object).map(|template| &template.metadata.annotations);
    let own = object.metadata().annotations.iter().map(|entry| (entry, is_pod));
    let of_jobs = of_jobs.into_iter().flatten().map(|entry| (entry, false));
    let of_pods = of_pods.into_iter().flatten().map(|entry| (entry, true));
    for ((key, value), is_read) in own.chain(of_jobs).chain(of_pods) {
        if let Some(problem) = problem(key.as_str(), value.as_str(), is_read, &label) {
            diagnostics.push(problem.at(place.clone(), "in this object"));
        }
    }
}

/// Checks those that a line gives to objects.
pub(super) fn check_line(line: &RunbookLine, typed: &Typed<'_>, diagnostics: &mut Diagnostics) {
    for written in &line.objects {
        check(&written.object, &typed.place(), diagnostics);
    }
    let Some(selection) = line.command.selection() else { return };
    let named = selection.targets.iter().map(|target| target.kind).chain(selection.kinds.iter().copied());
    let is_of_pods =
        named.chain(line.objects.iter().filter_map(|of| Kind::of(&of.object))).any(|kind| kind == Kind::Pod);
    let given = match &line.command {
        Command::Label(args) if args.part == MetadataPart::Annotations => {
            let given = args.changes.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
            given.map(|(key, value)| Given { key, value, is_read: is_of_pods }).collect()
        }
        Command::Patch(args) => of_patch(&args.patch, is_of_pods),
        _ => Vec::new(),
    };
    for Given { key, value, is_read } in given {
        if let Some(problem) = problem(&key, &value, is_read, "what this line changes") {
            diagnostics.push(problem.at(typed.place_of(&key), ""));
        }
    }
}

/// An annotation that a line gives.
struct Given {
    key: String,
    value: String,
    /// Whether it comes to stand where it is read.
    is_read: bool,
}

/// The annotations that a patch gives, whatever its form.
fn of_patch(patch: &Value, is_of_pods: bool) -> Vec<Given> {
    let mut given = Vec::new();
    let Value::Array(operations) = patch else {
        walk(patch, &mut Vec::new(), is_of_pods, &mut given);
        return given;
    };
    for operation in operations.iter().filter(|of| of["op"] == "add" || of["op"] == "replace") {
        let parts = operation["path"].as_str().unwrap_or_default().split('/').skip(1);
        let mut path = parts.map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
        walk(&operation["value"], &mut path, is_of_pods, &mut given);
    }
    given
}

fn walk(value: &Value, path: &mut Vec<String>, is_of_pods: bool, given: &mut Vec<Given>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                path.push(key.clone());
                walk(field, path, is_of_pods, given);
                path.pop();
            }
        }
        Value::String(text) => {
            let parts: Vec<&str> = path.iter().map(String::as_str).collect();
            let is_read = match parts.as_slice() {
                ["metadata", "annotations", _] => is_of_pods,
                [.., "template", "metadata", "annotations", _] => true,
                [.., "metadata", "annotations", _] => false,
                _ => return,
            };
            given.extend(path.last().map(|key| Given { key: key.clone(), value: text.clone(), is_read }));
        }
        _ => {}
    }
}

/// What is wrong with an annotation.
fn problem(key: &str, value: &str, is_read: bool, of: &str) -> Option<Diagnostic> {
    match Behavior::default().read(key, value) {
        Err(Objection::Unknown) => {
            let message = format!("{of} has the annotation `{key}`, which does not exist");
            let name = key.strip_prefix(BEHAVIOR_PREFIX).unwrap_or_default();
            let help = match nearest(name, Behavior::names()) {
                Some(nearest) => format!("the nearest is `{BEHAVIOR_PREFIX}{nearest}`"),
                None => {
                    let known = Behavior::names().collect::<Vec<_>>().join("`, `");
                    format!("behind `{BEHAVIOR_PREFIX}` stands one of `{known}`")
                }
            };
            Some(Diagnostic::error("scenario::unknown_annotation", message).help(help))
        }
        _ if !is_read && key.starts_with(BEHAVIOR_PREFIX) => {
            let message = format!("the annotation `{key}` of {of} says nothing there");
            Some(Diagnostic::warning("scenario::no_effect", message).help(PLACE))
        }
        Ok(()) => None,
        Err(Objection::Value { problem, help }) => {
            let message = format!("the annotation `{key}` of {of} cannot be read: {problem}");
            Some(Diagnostic::error("scenario::bad_value", message).help(help.to_owned()))
        }
        Err(Objection::Nothing { help }) => {
            let message = format!("the annotation `{key}` of {of} says nothing");
            Some(Diagnostic::warning("scenario::no_effect", message).help(help.to_owned()))
        }
    }
}
