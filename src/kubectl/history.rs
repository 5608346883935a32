//! `kubectl rollout history`.
//!
//! # Differs
//! Of the template of a revision labels, annotations, and names, images and ports of containers are shown.

use serde_json::Value;

use super::command_line::{Arguments, FILES, PRINT, ROLLOUT, Selection, Stop, WithoutNames, Words, revision_flag};
use super::failure::Failure;
use super::resource::{Found, find_or_fail};
use super::verb::{Scene, Verb, works_on_selection};
use super::{CommandPlan, Item, rollout};
use crate::arena::Symbol;
use crate::model::PodTemplateSpec;
use crate::state::{Meta, Store, WorkloadId};

/// Arguments of `rollout history`.
#[derive(Clone, Debug)]
pub struct HistoryArgs {
    /// What.
    pub selection: Selection,
    /// `--revision` whose template is shown; 0 for the list of all.
    pub revision: i64,
}

impl Verb for HistoryArgs {
    const COMMANDS: &'static [Words] = &[("rollout history", &[FILES, PRINT, ROLLOUT, "revision="])];
    const ALIASES: &'static [(&'static str, &'static str)] = &[("rollout hist", "rollout history")];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        if arguments.words.is_empty() && !arguments.has("filename") {
            return Err(Stop::error("required resource not specified"));
        }
        let revision = revision_flag(arguments)?;
        if arguments.has("output") {
            return Err(arguments.unanswered());
        }
        let selection = arguments.selection(WithoutNames::All)?;
        Ok(Self { selection, revision })
    }

    works_on_selection!(of_words_or_files);

    fn only_looks(&self) -> bool {
        true
    }

    /// # Source
    /// kubectl, `DeploymentHistoryViewer`, `printHistory`: revisions in order, with their causes; of one, its template.
    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let store = scene.store;
        for found in find_or_fail(&self.selection, store, plan) {
            let Some((id, revisions)) = revisions(&found, store) else {
                let kind = found.kind().group_kind();
                plan.fail(Failure::own(format!("no history viewer has been implemented for {kind:?}")));
                continue;
            };
            let with = if self.revision > 0 { format!("with revision #{}", self.revision) } else { String::new() };
            let heading = format!("{} {with}", found.printed(store));
            if revisions.is_empty() {
                plan.items.push(Item::Print(vec![heading, "No rollout history found.".to_owned()]));
            } else if self.revision > 0 {
                let cause = revisions.iter().find(|(revision, _)| *revision == self.revision).map(|(_, cause)| cause);
                match rollout::template(store, id, self.revision) {
                    Some(template) => {
                        let mut lines = vec![heading];
                        described(&template, cause.filter(|_| matches!(id, WorkloadId::Deployment(_))), &mut lines);
                        lines.push(String::new());
                        plan.items.push(Item::Print(lines));
                        if !plan.warnings.iter().any(|line| line == SHOWN) {
                            plan.warnings.push(SHOWN.to_owned());
                        }
                    }
                    None => plan.fail(Failure::own("unable to find the specified revision")),
                }
            } else {
                plan.say(heading);
                plan.say("REVISION  CHANGE-CAUSE");
                for (revision, cause) in revisions {
                    plan.say(format!("{revision:<10}{}", if cause.is_empty() { "<none>" } else { &cause }));
                }
                plan.say("");
            }
        }
    }
}

/// What is said of a template.
const SHOWN: &str =
    "kubesquall: of the pod template labels, annotations, and names, images and ports of containers are shown";

/// The revisions of a workload in order, each with its cause; none of a kind that has no history.
fn revisions(found: &Found, store: &Store) -> Option<(WorkloadId, Vec<(i64, String)>)> {
    let cause = Symbol::new("kubernetes.io/change-cause");
    let cause = |meta: &Meta| meta.annotations.get(&cause).map_or("", |text| text.as_str()).to_owned();
    let Found::Workload(_, id) = found else { return None };
    let mut revisions: Vec<(i64, String)> = match id {
        WorkloadId::Deployment(_) => {
            let owned = store.replica_sets.iter().map(|(_, set)| set);
            let owned = owned.filter(|set| set.meta.owner == Some(id.as_owner()));
            owned.map(|set| (rollout::revision_of(set), cause(&set.meta))).collect()
        }
        WorkloadId::DaemonSet(_) | WorkloadId::StatefulSet(_) => {
            let all = store.controller_revisions.iter().map(|(_, revision)| revision);
            let owned = all.filter(|revision| revision.meta.owner == Some(id.as_owner()));
            owned.map(|revision| (revision.revision, cause(&revision.meta))).collect()
        }
        _ => return None,
    };
    revisions.sort();
    Some((*id, revisions))
}

/// # Source
/// kubectl, `DescribePodTemplate`, `describeContainerBasicInfo`.
fn described(template: &PodTemplateSpec, cause: Option<&String>, lines: &mut Vec<String>) {
    let value = serde_json::to_value(template).unwrap_or_default();
    let pairs = |path: &str, mark: &str| -> Vec<String> {
        let pairs = value.pointer(path).and_then(Value::as_object).into_iter().flatten();
        pairs.map(|(key, value)| format!("{key}{mark}{}", value.as_str().unwrap_or(""))).collect()
    };
    lines.push("Pod Template:".to_owned());
    several("  Labels:", &pairs("/metadata/labels", "="), lines);
    let mut annotations = pairs("/metadata/annotations", ": ");
    annotations
        .extend(cause.filter(|cause| !cause.is_empty()).map(|cause| format!("kubernetes.io/change-cause: {cause}")));
    annotations.sort();
    if !annotations.is_empty() {
        several("  Annotations:", &annotations, lines);
    }
    for (heading, path) in [("Init Containers", "/spec/initContainers"), ("Containers", "/spec/containers")] {
        let containers = value.pointer(path).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if containers.is_empty() {
            continue;
        }
        lines.push(format!("  {heading}:"));
        for container in containers {
            lines.push(format!("   {}:", container["name"].as_str().unwrap_or("")));
            lines.push(format!("    Image:\t{}", container["image"].as_str().unwrap_or("")));
            for (word, number) in [("Port", "containerPort"), ("Host Port", "hostPort")] {
                let ports = ports(container, number);
                let plural = if ports.contains(',') { "s" } else { "" };
                lines.push(format!("    {word}{plural}:\t{ports}"));
            }
        }
    }
}

/// A heading with what belongs to it, one a line.
fn several(heading: &str, texts: &[String], lines: &mut Vec<String>) {
    match texts {
        [] => lines.push(format!("{heading}\t<none>")),
        [first, rest @ ..] => {
            lines.push(format!("{heading}\t{first}"));
            lines.extend(rest.iter().map(|text| format!("\t{text}")));
        }
    }
}

fn ports(container: &Value, number: &str) -> String {
    let port = |port: &Value| {
        let number = port[number].as_i64().unwrap_or(0);
        let name = port["name"].as_str().filter(|name| !name.is_empty());
        let name = name.map_or(String::new(), |name| format!(" ({name})"));
        format!("{number}/{}{name}", port["protocol"].as_str().unwrap_or("TCP"))
    };
    let ports: Vec<String> = container["ports"].as_array().into_iter().flatten().map(port).collect();
    if ports.is_empty() { "<none>".to_owned() } else { ports.join(", ") }
}
