//! `kubectl patch`, and writing a changed object back.

use std::fmt::Display;
use std::sync::Arc;

use serde_json::{Value, json};

use super::command_line::{PatchArgs, PatchType};
use super::failure::Failure;
use super::resource::{Found, find};
use super::{Plan, Step, three_way};
use crate::component::{ApiError, ErrorReason, Request};
use crate::model::Object;
use crate::state::{PodId, Store};

/// Plans the write of a changed object.
pub(super) fn apply_value(value: Value, line: String, unchanged: Option<String>, plan: &mut Plan) {
    match Object::from_value(value) {
        Some(Ok(object)) => plan.call(Step { unchanged, ..Step::new(Request::Apply(Box::new(object)), line) }),
        Some(Err(error)) => plan.fail(invalid(error)),
        None => plan.fail(Failure::own("the object cannot be changed")),
    }
}

fn invalid(problem: impl Display) -> Failure {
    Failure::line(format!("The request is invalid: {problem}"))
}

pub(super) fn plan(args: &PatchArgs, store: &Store, plan: &mut Plan) {
    for result in find(&args.selection, store) {
        match result {
            Ok(object) => patch(args, &object, store, plan),
            Err(failure) => plan.fail(failure),
        }
    }
}

fn patch(args: &PatchArgs, object: &Found, store: &Store, plan: &mut Plan) {
    let name = object.printed(store);
    let current = match object {
        Found::Node(node) => {
            // What operators patch on nodes is whether they are schedulable.
            let Some(unschedulable) = args.patch.pointer("/spec/unschedulable").and_then(Value::as_bool) else {
                return plan.fail(Failure::own(format!("of {name} only spec.unschedulable can be patched")));
            };
            let request = Request::SetNodeUnschedulable { node: *node, unschedulable };
            return plan.call(Step::new(request, format!("{name} patched")));
        }
        Found::Pod(pod) => return patch_pod(*pod, args, &name, store, plan),
        Found::Workload(..) | Found::Other(..) => three_way::export(object, store),
    };
    let Some(current) = current else {
        return plan.fail(Failure::own(format!("{name} cannot be patched")));
    };
    let (done, unchanged) = (format!("{name} patched"), Some(format!("{name} patched (no change)")));
    match patched(current.to_value(), args) {
        Ok(value) => apply_value(value, done, unchanged, plan),
        Err(problem) => plan.fail(invalid(problem)),
    }
}

/// An object as the patch leaves it.
fn patched(mut value: Value, args: &PatchArgs) -> Result<Value, String> {
    match args.patch_type {
        PatchType::Strategic => merge(&mut value, &args.patch, true),
        PatchType::Merge => merge(&mut value, &args.patch, false),
        PatchType::Json => apply_operations(&mut value, &args.patch)?,
    }
    Ok(value)
}

/// What of a pod that exists can be changed and decides something: labels, annotations and tolerations.
///
/// # Source
/// apiserver, validation of pod updates.
///
/// # Differs
/// Images and deadlines could be changed, too.
fn patch_pod(pod: PodId, args: &PatchArgs, name: &str, store: &Store, plan: &mut Plan) {
    let Some(object) = store.pod(pod) else { return };
    let before = json!({
        "metadata": {"labels": object.labels, "annotations": &*object.spec.annotations},
        "spec": {"tolerations": object.spec.tolerations},
    });
    let after = match patched(before.clone(), args) {
        Ok(after) => after,
        Err(problem) => return plan.fail(invalid(problem)),
    };
    let is_known = |part: &str, fields: &[&str]| {
        after[part].as_object().is_none_or(|found| found.keys().all(|key| fields.contains(&key.as_str())))
    };
    if !is_known("spec", &["tolerations"]) || !is_known("metadata", &["labels", "annotations", "name", "namespace"]) {
        let what = "of a pod that exists only labels, annotations and tolerations can be patched";
        let text = format!("Pod \"{}\" is invalid: spec: Forbidden: {what}", object.name);
        return plan.fail(Failure::refusal(&ApiError::new(ErrorReason::Invalid, text), None));
    }
    let mut requests = Vec::new();
    if after["metadata"]["labels"] != before["metadata"]["labels"] {
        match serde_json::from_value(after["metadata"]["labels"].clone()) {
            Ok(labels) => requests.push(Request::SetPodLabels { pod, labels }),
            Err(error) => return plan.fail(invalid(error)),
        }
    }
    if after["metadata"]["annotations"] != before["metadata"]["annotations"] {
        match serde_json::from_value(after["metadata"]["annotations"].clone()) {
            Ok(annotations) => requests.push(Request::SetPodAnnotations { pod, annotations: Arc::new(annotations) }),
            Err(error) => return plan.fail(invalid(error)),
        }
    }
    if after["spec"]["tolerations"] != before["spec"]["tolerations"] {
        match serde_json::from_value(after["spec"]["tolerations"].clone()) {
            Ok(tolerations) => requests.push(Request::SetPodTolerations { pod, tolerations }),
            Err(error) => return plan.fail(invalid(error)),
        }
    }
    let Some(last) = requests.pop() else {
        plan.say(format!("{name} patched (no change)"));
        return;
    };
    for request in requests {
        plan.call(Step::new(request, ""));
    }
    plan.call(Step::new(last, format!("{name} patched")));
}

/// Merges maps; `null` removes. Lists are replaced, or, by a strategic merge, merged by their items' names.
fn merge(target: &mut Value, patch: &Value, by_name: bool) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                if value.is_null() {
                    target.remove(key);
                } else {
                    merge(target.entry(key.clone()).or_insert(Value::Null), value, by_name);
                }
            }
        }
        (Value::Array(target), Value::Array(patch)) if by_name && patch.iter().all(|v| v.get("name").is_some()) => {
            for item in patch {
                match target.iter_mut().find(|t| t.get("name") == item.get("name")) {
                    Some(old) => merge(old, item, by_name),
                    None => target.push(item.clone()),
                }
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}

/// A JSON patch: `add`, `replace` and `remove`.
fn apply_operations(target: &mut Value, operations: &Value) -> Result<(), String> {
    for operation in operations.as_array().ok_or("a JSON patch is a list of operations")? {
        let path = operation["path"].as_str().ok_or("an operation without a path")?;
        let (parent, key) = path.rsplit_once('/').ok_or_else(|| format!("`{path}` is no path"))?;
        let key = key.replace("~1", "/").replace("~0", "~");
        let parent = target.pointer_mut(parent).ok_or_else(|| format!("`{path}` does not exist"))?;
        let value = operation["value"].clone();
        match (operation["op"].as_str(), parent) {
            (Some("add" | "replace"), Value::Object(map)) => {
                map.insert(key, value);
            }
            (Some("remove"), Value::Object(map)) => {
                map.remove(&key).ok_or_else(|| format!("`{path}` does not exist"))?;
            }
            (Some("add"), Value::Array(list)) if key == "-" => list.push(value),
            (Some(op @ ("add" | "replace" | "remove")), Value::Array(list)) => {
                let index: usize = key.parse().map_err(|_| format!("`{path}` does not exist"))?;
                match op {
                    "add" if index <= list.len() => list.insert(index, value),
                    "replace" if index < list.len() => list[index] = value,
                    "remove" if index < list.len() => drop(list.remove(index)),
                    _ => return Err(format!("`{path}` does not exist")),
                }
            }
            _ => return Err(format!("the operation {operation} cannot be applied")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_strategic_patch_merges_lists_by_name() {
        let mut value = json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}], "x": 1});
        merge(&mut value, &json!({"containers": [{"name": "b", "image": "2"}], "x": null}), true);
        assert_eq!(value, json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}));
    }

    #[test]
    fn a_merge_patch_replaces_lists() {
        let mut value = json!({"containers": [{"name": "a"}]});
        merge(&mut value, &json!({"containers": [{"name": "b"}]}), false);
        assert_eq!(value, json!({"containers": [{"name": "b"}]}));
    }

    #[test]
    fn json_operations_name_the_path_that_does_not_exist() {
        let mut value = json!({"spec": {"replicas": 1}});
        let replace = json!([{"op": "replace", "path": "/spec/replicas", "value": 3}]);
        assert_eq!(apply_operations(&mut value, &replace), Ok(()));
        assert_eq!(value["spec"]["replicas"], 3);
        let missing = json!([{"op": "remove", "path": "/spec/paused"}]);
        assert!(apply_operations(&mut value, &missing).expect_err("no such path").contains("/spec/paused"));
    }
}
