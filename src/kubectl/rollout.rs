//! `kubectl rollout restart`, `pause`, `resume` and `undo`.

use serde_json::{Value, json};

use super::Plan;
use super::command_line::{RolloutArgs, RolloutVerb};
use super::patch::apply_value;
use super::resource::{Found, find};
use crate::arena::Symbol;
use crate::component::export_workload;
use crate::model::PodTemplateSpec;
use crate::state::{ReplicaSet, Store, WorkloadId};
use crate::units::SimTime;

pub(super) fn plan(args: &RolloutArgs, store: &Store, now: SimTime, plan: &mut Plan) {
    let mut errors = Vec::new();
    for object in find(&args.selection, store, &mut errors) {
        let name = object.printed(store);
        let refused = format!("error: {} \"{}\"", object.kind().resource(), object.name(store));
        let verb = match args.verb {
            RolloutVerb::Restart => "restarting",
            RolloutVerb::Pause => "pausing",
            RolloutVerb::Resume => "resuming",
            RolloutVerb::Undo | RolloutVerb::Status => "rolling back",
        };
        let supported = match &object {
            Found::Workload(_, id @ WorkloadId::Deployment(_)) => Some(*id),
            Found::Workload(_, id @ (WorkloadId::DaemonSet(_) | WorkloadId::StatefulSet(_)))
                if !matches!(args.verb, RolloutVerb::Pause | RolloutVerb::Resume) =>
            {
                Some(*id)
            }
            _ => None,
        };
        let Some(id) = supported else {
            plan.fail(format!("{refused} {verb} is not supported"));
            continue;
        };
        let Some(current) = export_workload(store, id) else { continue };
        let mut value = current.to_value();
        let is_paused = value.pointer("/spec/paused").and_then(Value::as_bool) == Some(true);
        let done = match args.verb {
            RolloutVerb::Restart if is_paused => {
                plan.fail(format!("{refused} can't restart paused deployment (run rollout resume first)"));
                continue;
            }
            RolloutVerb::Restart => {
                restart(&mut value, now);
                "restarted"
            }
            RolloutVerb::Pause | RolloutVerb::Resume => {
                let pauses = args.verb == RolloutVerb::Pause;
                if pauses == is_paused {
                    plan.fail(format!("{refused} is {}", if pauses { "already paused" } else { "not paused" }));
                    continue;
                }
                value["spec"]["paused"] = json!(pauses);
                if pauses { "paused" } else { "resumed" }
            }
            // Played by a process that waits.
            RolloutVerb::Status => continue,
            RolloutVerb::Undo => match undone(store, id, args.to_revision, is_paused) {
                Err(problem) => {
                    plan.fail(format!("error: {problem}"));
                    continue;
                }
                Ok(template) if is_same_template(&template, &value["spec"]["template"]) => {
                    let revision = args.to_revision;
                    plan.stdout.push(format!(
                        "{name} skipped rollback (current template already matches revision {revision})"
                    ));
                    continue;
                }
                Ok(template) => {
                    value["spec"]["template"] = template;
                    "rolled back"
                }
            },
        };
        apply_value(value, &name, format!("{name} {done}"), None, plan);
    }
    plan.stderr.extend(errors);
}

fn restart(value: &mut Value, now: SimTime) {
    if value.pointer("/spec/template/metadata/annotations").is_none() {
        if value.pointer("/spec/template/metadata").is_none() {
            value["spec"]["template"]["metadata"] = json!({});
        }
        value["spec"]["template"]["metadata"]["annotations"] = json!({});
    }
    value["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] =
        json!(format!("t={now}"));
}

fn is_same_template(a: &Value, b: &Value) -> bool {
    let read = |value: &Value| serde_json::from_value::<PodTemplateSpec>(value.clone()).ok();
    read(a).is_some_and(|a| read(b).is_some_and(|b| a == b))
}

/// The template to go back to.
///
/// # Source
/// kubectl, rollbackers of Deployments, DaemonSets and StatefulSets.
///
/// # Differs
/// Annotations of the Deployment stay as they are.
fn undone(store: &Store, id: WorkloadId, revision: i64, is_paused: bool) -> Result<Value, String> {
    let name = store.workload_meta(id).map(|meta| meta.name).unwrap_or_default();
    let Some(template) = previous(store, id, revision) else {
        return Err(match (revision, id) {
            (0, WorkloadId::Deployment(_)) => format!("no rollout history found for deployment \"{name}\""),
            (0, _) => "no last revision to roll back to".to_owned(),
            _ => format!("unable to find specified revision {revision} in history"),
        });
    };
    if is_paused {
        let text =
            "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again";
        return Err(text.to_owned());
    }
    Ok(template)
}

fn revision_of(set: &ReplicaSet) -> i64 {
    let key = Symbol::new("deployment.kubernetes.io/revision");
    set.meta.annotations.get(&key).and_then(|r| r.as_str().parse().ok()).unwrap_or(0)
}

/// The template of an earlier revision; 0 is the one before the present.
fn previous(store: &Store, id: WorkloadId, revision: i64) -> Option<Value> {
    let template = match id {
        WorkloadId::Deployment(deployment) => {
            let mut sets: Vec<&ReplicaSet> =
                store.replica_sets_of(deployment).iter().filter_map(|&rs| store.replica_sets.get(rs)).collect();
            sets.sort_by_key(|set| revision_of(set));
            let set = match revision {
                0 => sets.iter().rev().nth(1)?,
                wanted => sets.iter().find(|set| revision_of(set) == wanted)?,
            };
            let mut template = PodTemplateSpec::clone(&set.spec.template);
            template.metadata.labels = template.metadata.labels.without(Symbol::new("pod-template-hash"));
            template
        }
        _ => {
            let mut revisions: Vec<_> =
                store.revisions_of(id).iter().filter_map(|&r| store.controller_revisions.get(r)).collect();
            revisions.sort_by_key(|r| r.revision);
            let found = match revision {
                0 => revisions.iter().rev().nth(1)?,
                wanted => revisions.iter().find(|r| r.revision == wanted)?,
            };
            PodTemplateSpec::clone(&found.template)
        }
    };
    serde_json::to_value(template).ok()
}
