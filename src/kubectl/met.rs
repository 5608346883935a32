//! Whether what `kubectl wait` waits for is so of an object.

use serde_json::Value;

use super::json_path::{Missing, Template, text_of};
use super::resource::Found;
use super::view::{self, Clock};
use crate::state::{NodeConditionKind, Status, Store, WorkloadId};

/// Whether an object has a condition of a status; neither cares for case.
///
/// # Source
/// kubectl wait, `ConditionalWait.checkCondition`: what was said of an earlier generation does not count.
pub(super) fn has_condition(found: &Found, name: &str, value: &str, store: &Store, clock: Clock) -> bool {
    let told = condition(found, name, store);
    if told.is_some_and(|status| status != value) {
        return false;
    }
    if let (Some(_), Found::Node(_)) = (told, found) {
        return true;
    }
    let Some(object) = view::object(found, store, clock) else { return false };
    let is_it = |condition: &Value, field: &str, text: &str| {
        condition.get(field).and_then(Value::as_str).is_some_and(|found| found.eq_ignore_ascii_case(text))
    };
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let shown = conditions.into_iter().flatten().find(|condition| is_it(condition, "type", name));
    let observed = shown.and_then(|condition| condition["observedGeneration"].as_i64());
    let observed = observed.or_else(|| object["status"]["observedGeneration"].as_i64());
    if let (Some(generation), Some(observed)) = (object["metadata"]["generation"].as_i64(), observed)
        && observed < generation
    {
        return false;
    }
    told.is_some() || shown.is_some_and(|condition| is_it(condition, "status", value))
}

/// The status, in lower case, of a condition that is found without making the whole object; none of others.
fn condition(found: &Found, name: &str, store: &Store) -> Option<&'static str> {
    let text = |status: Status| match status {
        Status::True => "true",
        Status::False => "false",
        Status::Unknown => "unknown",
    };
    let yes = |is_so: bool| if is_so { "true" } else { "false" };
    match found {
        Found::Pod(id) => {
            let pod = store.pod(*id)?;
            match name {
                "ready" => Some(pod.ready.map_or("false", |ready| text(ready.status))),
                "containersready" => Some(pod.containers_ready.map_or("false", |ready| text(ready.status))),
                "podscheduled" => Some(yes(pod.node.is_some())),
                "initialized" => Some(yes(super::view::is_initialized(pod))),
                _ => None,
            }
        }
        Found::Node(id) => {
            let kinds = NodeConditionKind::ALL.into_iter();
            let kind = kinds.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(name))?;
            store.node(*id)?.conditions.get(kind).map(|condition| text(condition.status))
        }
        Found::Workload(_, WorkloadId::Deployment(id)) => {
            let status = &store.deployments.get(*id)?.status;
            let condition = match name {
                "available" => &status.availability,
                "progressing" => &status.progressing,
                _ => return None,
            };
            condition.as_ref().map(|condition| text(condition.status))
        }
        Found::Workload(_, WorkloadId::Job(id)) => {
            let conditions = &store.jobs.get(*id)?.status.conditions;
            conditions.iter().any(|condition| condition.kind.as_str().eq_ignore_ascii_case(name)).then_some("true")
        }
        Found::Other(..) if name == "established" || name == "namesaccepted" => Some("true"),
        Found::Workload(..) | Found::Other(..) => None,
    }
}

/// Whether a path leads to a value: a certain one, or any.
///
/// # Source
/// kubectl wait, `JSONPathWait.checkCondition`, `verifyParsedJSONPath` and `compareResults`.
pub(super) fn leads_to(path: &Template, value: Option<&str>, object: &Value) -> Result<bool, String> {
    let found = path.find(object, Missing::Allowed)?;
    let first = match found.as_slice() {
        [] => return Ok(false),
        [values] => values,
        _ => return Err("given jsonpath expression matches more than one list".to_owned()),
    };
    match (first.as_slice(), value) {
        ([], _) => Ok(false),
        ([_], None) => Ok(true),
        ([Value::Object(_) | Value::Array(_)], Some(_)) => {
            Err("jsonpath leads to a nested object or list which is not supported".to_owned())
        }
        ([one], Some(value)) => Ok(text_of(one).trim() == value.trim()),
        _ => Err("given jsonpath expression matches more than one value".to_owned()),
    }
}
