//! `kubectl rollout restart`, `pause`, `resume` and `undo`.

use serde_json::json;

use super::Plan;
use super::command_line::{RolloutArgs, RolloutVerb};
use super::patch::apply_value;
use super::resource::{Found, find};
use crate::arena::Symbol;
use crate::component::export_workload;
use crate::state::{ReplicaSet, Store, WorkloadId};
use crate::units::SimTime;

pub(super) fn plan(args: &RolloutArgs, store: &Store, now: SimTime, plan: &mut Plan) {
    let mut errors = Vec::new();
    for object in find(&args.selection, store, &mut errors) {
        let name = object.printed(store);
        let Found::Workload(_, id) = object else { continue };
        let Some(current) = export_workload(store, id) else { continue };
        let mut value = current.to_value();
        let done = match args.verb {
            RolloutVerb::Restart => {
                let annotation = "/spec/template/metadata/annotations";
                if value.pointer(annotation).is_none() {
                    if value.pointer("/spec/template/metadata").is_none() {
                        value["spec"]["template"]["metadata"] = json!({});
                    }
                    value["spec"]["template"]["metadata"]["annotations"] = json!({});
                }
                value["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] =
                    json!(format!("t={now}"));
                "restarted"
            }
            RolloutVerb::Pause | RolloutVerb::Resume => {
                let pauses = args.verb == RolloutVerb::Pause;
                let is_paused = value.pointer("/spec/paused").and_then(serde_json::Value::as_bool) == Some(true);
                if pauses == is_paused {
                    let state = if pauses { "already paused" } else { "not paused" };
                    plan.fail(format!("error: {name} is {state}"));
                    continue;
                }
                value["spec"]["paused"] = json!(pauses);
                if pauses { "paused" } else { "resumed" }
            }
            // Played by a process that waits.
            RolloutVerb::Status => continue,
            RolloutVerb::Undo => {
                let Some(template) = previous(store, id, args.to_revision) else {
                    plan.fail(format!("error: no rollout history found for {name}"));
                    continue;
                };
                value["spec"]["template"] = template;
                "rolled back"
            }
        };
        apply_value(value, &name, format!("{name} {done}"), Some(format!("{name} skipped rollback")), plan);
    }
    plan.stderr.extend(errors);
}

fn revision_of(set: &ReplicaSet) -> i64 {
    let key = Symbol::new("deployment.kubernetes.io/revision");
    set.meta.annotations.get(&key).and_then(|r| r.as_str().parse().ok()).unwrap_or(0)
}

/// The template of an earlier revision; 0 is the one before the present.
fn previous(store: &Store, id: WorkloadId, revision: i64) -> Option<serde_json::Value> {
    let template = match id {
        WorkloadId::Deployment(deployment) => {
            let mut sets: Vec<&ReplicaSet> =
                store.replica_sets_of(deployment).iter().filter_map(|&rs| store.replica_sets.get(rs)).collect();
            sets.sort_by_key(|set| revision_of(set));
            let set = match revision {
                0 => sets.iter().rev().nth(1)?,
                wanted => sets.iter().find(|set| revision_of(set) == wanted)?,
            };
            let mut template = crate::model::PodTemplateSpec::clone(&set.spec.template);
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
            crate::model::PodTemplateSpec::clone(&found.template)
        }
    };
    serde_json::to_value(template).ok()
}
