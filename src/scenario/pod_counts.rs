//! How many pods an object or a kubectl line asks for, and how many can be played.

use super::limits::Limits;
use crate::diagnostics::{Diagnostics, Location};
use crate::kubectl::{Command, Written};
use crate::model::Object;

/// How many pods an object wants.
pub(super) fn pods_wanted(object: &Object, node_count: u64) -> u64 {
    let count = |count: Option<i32>, default: u64| count.map_or(default, |count| count.max(0).unsigned_abs().into());
    match object {
        Object::Deployment(object) => count(object.spec.replicas, 1),
        Object::ReplicaSet(object) if object.metadata.owner_references.is_empty() => count(object.spec.replicas, 1),
        Object::ReplicationController(object) => count(object.spec.replicas, 1),
        Object::StatefulSet(object) => count(object.spec.replicas, 1),
        Object::Job(object) => {
            count(object.spec.parallelism, 1).min(count(object.spec.completions, u64::from(u32::MAX)))
        }
        Object::CronJob(object) => {
            let spec = &object.spec.job_template.spec;
            count(spec.parallelism, 1).min(count(spec.completions, u64::from(u32::MAX)))
        }
        Object::DaemonSet(_) => node_count,
        Object::Pod(pod) if pod.metadata.owner_references.is_empty() => 1,
        _ => 0,
    }
}

/// Checks that a kubectl line does not make more pods than can be played.
pub(super) fn check_line(
    command: &Command,
    objects: &[Written],
    place: &Location,
    limits: Limits,
    diagnostics: &mut Diagnostics,
) {
    let count = match command {
        Command::Scale(arguments) => arguments.replicas.max(0).unsigned_abs().into(),
        Command::Patch(arguments) => replicas_in(&arguments.patch),
        Command::Apply(_) => objects.iter().map(|written| pods_wanted(&written.object, 0)).sum(),
        _ => 0,
    };
    if let Some(refusal) = limits.refusal(count) {
        diagnostics.push(refusal.at(place.clone(), ""));
    }
}

/// The largest number of replicas that a patch sets.
fn replicas_in(patch: &serde_json::Value) -> u64 {
    match patch {
        serde_json::Value::Object(fields) => {
            let own = ["replicas", "parallelism"].into_iter().filter_map(|field| fields.get(field)?.as_u64());
            let is_replicas = |path: &serde_json::Value| path.as_str().is_some_and(|path| path.ends_with("/replicas"));
            let set = fields.get("path").filter(|path| is_replicas(path)).and_then(|_| fields.get("value")?.as_u64());
            own.chain(set).chain(fields.values().map(replicas_in)).max().unwrap_or(0)
        }
        serde_json::Value::Array(items) => items.iter().map(replicas_in).max().unwrap_or(0),
        _ => 0,
    }
}
