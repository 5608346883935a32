//! JSON patches (RFC 6902), as the API server applies them.

use serde_json::{Value, json};

/// An operation that cannot be carried out; the server tells no more of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inapplicable;

/// Applies all operations, or none.
///
/// # Errors
/// If one of them cannot be applied.
///
/// # Source
/// kube-apiserver, `jsonPatcher`, with evanphx/json-patch: of an object, `replace` needs no field of that name, `remove` does;
/// negative indexes count from the end.
pub(crate) fn apply(value: &Value, operations: &[Value]) -> Result<Value, Inapplicable> {
    if operations.len() > OPERATIONS_MAX {
        return Err(Inapplicable);
    }
    let mut value = value.clone();
    let mut copied = 0;
    for operation in operations {
        apply_one(&mut value, operation, &mut copied).ok_or(Inapplicable)?;
    }
    Ok(value)
}

/// Operations of a patch, and bytes that they copy.
///
/// # Source
/// kube-apiserver, `maxJSONPatchOperations`, `--max-request-body-bytes` (`AccumulatedCopySizeLimit`).
const OPERATIONS_MAX: usize = 10_000;
const COPIED_MAX: usize = 3 << 20;
/// How deep a value may come to lie: deeper than any object of the API.
const DEPTH_MAX: usize = 100;

/// Nothing, if a value would lie too deep at a path.
fn fits(path: &str, value: &Value) -> Option<()> {
    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }
    (path.matches('/').count() + depth(value) <= DEPTH_MAX).then_some(())
}

/// Adds what an object of the API always has, if only as an empty map: paths of patches may lead through it.
///
/// # Source
/// `k8s.io/api`: fields that are no pointers (`spec`, `strategy`, `updateStrategy`, `template`, a container's `resources`) are
/// encoded even if all is default in them.
pub(crate) fn fill(value: &mut Value) {
    let kind = value["kind"].as_str().unwrap_or_default().to_owned();
    let Some(fields) = value.as_object_mut() else { return };
    fields.entry("metadata").or_insert_with(|| json!({}));
    if HAVE_SPECS.contains(&kind.as_str()) {
        let spec = fields.entry("spec").or_insert_with(|| json!({}));
        match kind.as_str() {
            "Pod" => fill_containers(spec),
            "CronJob" => {
                let job = fill_field(fill_field(spec, "jobTemplate"), "spec");
                fill_template(job);
            }
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => {
                match kind.as_str() {
                    "Deployment" => _ = fill_field(spec, "strategy"),
                    "StatefulSet" | "DaemonSet" => _ = fill_field(spec, "updateStrategy"),
                    _ => {}
                }
                fill_template(spec);
            }
            "PersistentVolumeClaim" => _ = fill_field(spec, "resources"),
            _ => {}
        }
    }
}

/// Kinds whose `spec` is no pointer.
const HAVE_SPECS: &[&str] = &[
    "Pod",
    "Node",
    "Namespace",
    "Service",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "ReplicationController",
    "Job",
    "CronJob",
    "PodDisruptionBudget",
    "HorizontalPodAutoscaler",
    "LimitRange",
    "ResourceQuota",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Ingress",
    "NetworkPolicy",
];

fn fill_field<'a>(value: &'a mut Value, field: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    let held = &mut value[field];
    if held.is_null() {
        *held = json!({});
    }
    held
}

fn fill_template(spec: &mut Value) {
    let template = fill_field(spec, "template");
    fill_field(template, "metadata");
    fill_containers(fill_field(template, "spec"));
}

fn fill_containers(spec: &mut Value) {
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        containers.for_each(|container| _ = fill_field(container, "resources"));
    }
}

/// Applies one operation; `copied` counts the bytes of those that copy.
fn apply_one(value: &mut Value, operation: &Value, copied: &mut usize) -> Option<()> {
    let path = || operation.get("path").and_then(Value::as_str);
    let from = || operation.get("from").and_then(Value::as_str);
    let given = || operation.get("value").cloned().unwrap_or(Value::Null);
    fits(path()?, &Value::Null)?;
    match operation.get("op").and_then(Value::as_str)? {
        "add" => add(value, path()?, given()),
        "remove" => remove(value, path()?).map(drop),
        "replace" => replace(value, path()?, given()),
        "move" => {
            let moved = remove(value, from()?)?;
            add(value, path()?, moved)
        }
        "copy" => {
            let copy = find(value, from()?)?.unwrap_or(Value::Null);
            *copied += copy.to_string().len();
            (*copied <= COPIED_MAX).then_some(())?;
            add(value, path()?, copy)
        }
        "test" => {
            fits(path()?, &given())?;
            let found = if path()?.is_empty() { Some(value.clone()) } else { find(value, path()?)? };
            (found.unwrap_or(Value::Null) == given()).then_some(())
        }
        _ => None,
    }
}

/// What holds the last part of the path, and that part.
fn holder<'a>(value: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (parents, last) = path.rsplit_once('/')?;
    let mut holder = value;
    for part in parents.split('/').skip(1) {
        let part = unescaped(part);
        holder = match holder {
            Value::Object(fields) => fields.get_mut(&part)?,
            Value::Array(items) => {
                let index = existing(&part, items.len())?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    (holder.is_object() || holder.is_array()).then(|| (holder, unescaped(last)))
}

fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// The place of an item that is there.
fn existing(part: &str, length: usize) -> Option<usize> {
    let index: i64 = part.parse().ok()?;
    let length = i64::try_from(length).ok()?;
    let index = if index < 0 { index + length } else { index };
    (0..length).contains(&index).then(|| usize::try_from(index).ok()).flatten()
}

fn add(value: &mut Value, path: &str, new: Value) -> Option<()> {
    fits(path, &new)?;
    match holder(value, path)? {
        (Value::Object(fields), key) => drop(fields.insert(key, new)),
        (Value::Array(items), key) if key == "-" => items.push(new),
        (Value::Array(items), key) => {
            let index = existing(&key, items.len() + 1)?;
            items.insert(index, new);
        }
        _ => return None,
    }
    Some(())
}

fn remove(value: &mut Value, path: &str) -> Option<Value> {
    match holder(value, path)? {
        (Value::Object(fields), key) => fields.remove(&key),
        (Value::Array(items), key) => existing(&key, items.len()).map(|index| items.remove(index)),
        _ => None,
    }
}

fn replace(value: &mut Value, path: &str, new: Value) -> Option<()> {
    fits(path, &new)?;
    if path.is_empty() {
        let is_whole = new.is_object() || new.is_array();
        *value = new;
        return is_whole.then_some(());
    }
    match holder(value, path)? {
        (Value::Object(fields), key) => drop(fields.insert(key, new)),
        (Value::Array(items), key) => {
            let index = existing(&key, items.len())?;
            items[index] = new;
        }
        _ => return None,
    }
    Some(())
}

/// What stands at the path; within an object that lacks the field, nothing.
#[expect(clippy::option_option, reason = "a path that leads nowhere is not a field that is not there")]
fn find(value: &mut Value, path: &str) -> Option<Option<Value>> {
    Some(match holder(value, path)? {
        (Value::Object(fields), key) => fields.get(&key).cloned(),
        (Value::Array(items), key) => Some(items[existing(&key, items.len())?].clone()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_object_always_has_is_there_for_paths() {
        let taints = json!([{"op": "add", "path": "/spec/taints", "value": [{"key": "a", "effect": "NoSchedule"}]}]);
        let one = json!([{"op": "add", "path": "/spec/taints/-", "value": {"key": "a", "effect": "NoSchedule"}}]);
        let mut node = json!({"kind": "Node", "metadata": {"name": "n"}});
        fill(&mut node);
        let tainted = apply(&node, taints.as_array().expect("operations")).expect("a node");
        assert_eq!(tainted["spec"]["taints"][0]["key"], "a");
        // There is no list yet to which anything could be appended.
        assert_eq!(apply(&node, one.as_array().expect("operations")), Err(Inapplicable));
        assert!(apply(&tainted, one.as_array().expect("operations")).is_ok());
        let mut web = json!({"kind": "Deployment", "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}});
        fill(&mut web);
        let limits = json!([
            {"op": "add", "path": "/spec/template/spec/containers/0/resources/limits", "value": {"cpu": "1"}},
            {"op": "add", "path": "/spec/strategy/type", "value": "Recreate"},
        ]);
        assert!(apply(&web, limits.as_array().expect("operations")).is_ok());
        let annotation = json!([{"op": "add", "path": "/spec/template/metadata/annotations/a", "value": "b"}]);
        assert_eq!(apply(&web, annotation.as_array().expect("operations")), Err(Inapplicable));
    }

    #[test]
    fn operations_change_what_their_path_names() {
        let check = |before: Value, operations: Value, expected: Option<Value>| {
            let found = apply(&before, operations.as_array().expect("operations"));
            assert_eq!(found.ok(), expected, "{operations} on {before}");
        };
        let one = |op: &str, path: &str| json!([{"op": op, "path": path, "value": 7}]);
        check(json!({"a": 1}), one("replace", "/a"), Some(json!({"a": 7})));
        check(json!({"a": 1}), one("replace", "/b"), Some(json!({"a": 1, "b": 7})));
        check(json!({"a": 1}), one("replace", "/b/c"), None);
        check(json!({"a": 1}), one("add", "/b"), Some(json!({"a": 1, "b": 7})));
        check(json!({"a": [1, 2]}), one("add", "/a/-"), Some(json!({"a": [1, 2, 7]})));
        check(json!({"a": [1, 2]}), one("add", "/a/0"), Some(json!({"a": [7, 1, 2]})));
        check(json!({"a": [1, 2]}), one("add", "/a/2"), Some(json!({"a": [1, 2, 7]})));
        check(json!({"a": [1, 2]}), one("add", "/a/3"), None);
        check(json!({"a": [1, 2]}), one("replace", "/a/-1"), Some(json!({"a": [1, 7]})));
        check(json!({"a": [1, 2]}), one("remove", "/a/0"), Some(json!({"a": [2]})));
        check(json!({"a": [1, 2]}), one("remove", "/a/2"), None);
        check(json!({"a": 1}), one("remove", "/b"), None);
        check(json!({"k/x": 1, "~": 2}), one("remove", "/k~1x"), Some(json!({"~": 2})));
        check(json!({"a": 7}), one("test", "/a"), Some(json!({"a": 7})));
        check(json!({"a": 1}), one("test", "/a"), None);
        check(json!({"a": 1}), one("test", "/b"), None);
        check(json!({"a": 1}), json!([{"op": "test", "path": "/b", "value": null}]), Some(json!({"a": 1})));
        check(json!({"a": 1}), json!([{"op": "move", "from": "/a", "path": "/b"}]), Some(json!({"b": 1})));
        check(json!({"a": 1}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), Some(json!({"a": 1, "b": 1})));
        check(json!({"a": 1}), json!([{"op": "jump", "path": "/a"}]), None);
        check(json!({"a": 1}), json!([{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/a"}]), None);
    }

    #[test]
    fn a_patch_is_bounded_in_operations_in_what_it_copies_and_in_depth() {
        let tests = |count: usize| vec![json!({"op": "test", "path": "/a", "value": 1}); count];
        assert!(apply(&json!({"a": 1}), &tests(OPERATIONS_MAX)).is_ok());
        assert_eq!(apply(&json!({"a": 1}), &tests(OPERATIONS_MAX + 1)), Err(Inapplicable));
        // Each copies what the one before has made: twice as much each time.
        let doubled = |count: usize| {
            let one = |n: usize| json!({"op": "copy", "from": "/a", "path": format!("/a/{n}")});
            (0..count).map(one).collect::<Vec<Value>>()
        };
        let large = json!({"a": {"x": "y".repeat(1 << 18)}});
        assert!(apply(&large, &doubled(3)).is_ok());
        assert_eq!(apply(&large, &doubled(40)), Err(Inapplicable));
        let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
        let add = |depth: usize| [json!({"op": "add", "path": "/a", "value": nested(depth)})];
        assert!(apply(&json!({}), &add(DEPTH_MAX - 1)).is_ok());
        assert_eq!(apply(&json!({}), &add(DEPTH_MAX)), Err(Inapplicable));
        // What lies deep already may not be put deeper.
        let deep = json!({"a": nested(DEPTH_MAX - 1), "b": {}});
        for op in ["copy", "move"] {
            assert_eq!(apply(&deep, &[json!({"op": op, "from": "/a", "path": "/b/c"})]), Err(Inapplicable), "{op}");
        }
    }
}
