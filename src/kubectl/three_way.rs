//! What `kubectl apply` makes of an object that exists: the file, what was applied before, and the object as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::resource::{Found, Kind};
use super::strategic::{merge_key, put_in_order};
use crate::arena::Symbol;
use crate::component::{export_claim, export_metadata, export_node, export_pod, export_volume, export_workload};
use crate::model::{self, Object};
use crate::state::{Meta, Store};

/// Holds the file as it was applied last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The object of a file with the annotation that remembers it.
#[must_use]
pub fn remembered(file: &Object) -> Object {
    let mut object = file.clone();
    let key = Symbol::new(LAST_APPLIED);
    object.metadata_mut().annotations.remove(&key);
    let text = format!("{}\n", object.to_manifest());
    object.metadata_mut().annotations.insert(key, Symbol::new(&text));
    object
}

/// The object as it is after the file was applied to it; none if that changes nothing.
///
/// # Errors
/// If the outcome is no object of its kind.
///
/// # Source
/// kubectl, `Patcher.patchSimple` and `CreateThreeWayMergePatch`: what the file says holds, what it no longer says goes,
/// the rest stays.
///
/// # Differs
/// Of the file counts what is modelled.
pub(super) fn merged(file: &Object, live: &Object) -> Result<Option<Object>, String> {
    let last = live.metadata().annotations.get(&Symbol::new(LAST_APPLIED)).and_then(|text| read(text.as_str()));
    let before = said(live);
    let mut after = before.clone();
    let lists = lists_of(live);
    merge(&mut after, last.as_ref(), &said(file), lists);
    let is_remembered = live.metadata().annotations.contains_key(&Symbol::new(LAST_APPLIED));
    if after == before && is_remembered {
        return Ok(None);
    }
    merge(&mut after, None, &said(&remembered(file)), lists);
    Object::from_any(after).transpose().map_err(|error| error.to_string())
}

/// Whether a patch of this object names a field even if it is as the file says, so that it is never unchanged.
///
/// # Source
/// `patchStrategy: replace` of a budget's selector; apimachinery, `handleMapDiff`.
pub(super) fn is_always_replaced(file: &Object) -> bool {
    matches!(file, Object::PodDisruptionBudget(budget) if budget.spec.selector.is_some())
}

/// What was applied, in the words of the model.
fn read(text: &str) -> Option<Value> {
    Some(said(&Object::from_any(serde_json::from_str(text).ok()?)?.ok()?))
}

/// What of an object is the writer's to say.
fn said(object: &Object) -> Value {
    let mut value = object.to_manifest();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("status");
    }
    if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
        metadata.retain(|field, _| ["name", "namespace", "labels", "annotations"].contains(&field.as_str()));
    }
    if matches!(object, Object::Pod(_))
        && let Some(Value::Object(spec)) = value.get_mut("spec")
    {
        // Of a pod that is there the mounts are not kept.
        let lists = ["containers", "initContainers"];
        let containers = spec.iter_mut().filter(|(key, _)| lists.contains(&key.as_str()));
        for container in containers.filter_map(|(_, list)| list.as_array_mut()).flatten() {
            container.as_object_mut().map(|container| container.remove("volumeMounts"));
        }
    }
    value
}

/// What becomes of lists.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Lists {
    /// They are merged by the keys of the API types.
    Merged,
    /// They are replaced.
    Replaced,
}

/// # Source
/// kubectl, `Patcher.patchSimple`: types that the client does not know are merged as plain JSON.
fn lists_of(object: &Object) -> Lists {
    if object.stored_kind().is_some_and(|kind| !kind.is_built_in()) { Lists::Replaced } else { Lists::Merged }
}

/// Merges what a file says into what is there, without what was said `before` and no longer is.
fn merge(there: &mut Value, before: Option<&Value>, file: &Value, lists: Lists) {
    let (Value::Object(there), Value::Object(file)) = (&mut *there, file) else {
        *there = file.clone();
        return;
    };
    let no_longer = before.and_then(Value::as_object).into_iter().flatten().map(|(field, _)| field);
    for field in no_longer.filter(|field| !file.contains_key(*field)) {
        there.remove(field);
    }
    for (field, said) in file {
        let before = before.and_then(|before| before.get(field));
        let Some(held) = there.get_mut(field) else {
            there.insert(field.clone(), said.clone());
            continue;
        };
        if lists == Lists::Merged
            && let (Value::Array(items), Value::Array(said)) = (&mut *held, said)
            && let Some(key) = merge_key(field, said.iter())
        {
            merge_items(items, before, said, key, field == "volumes");
        } else if lists == Lists::Merged && field == "strategy" {
            merge_union(held, before, said);
        } else {
            merge(held, before, said, lists);
        }
    }
}

fn merge_items(there: &mut Vec<Value>, before: Option<&Value>, said: &[Value], key: &str, are_unions: bool) {
    let before: &[Value] = before.and_then(Value::as_array).map_or(&[], Vec::as_slice);
    let find = |items: &'_ [Value], item: &Value| items.iter().position(|other| other[key] == item[key]);
    let held = there.clone();
    there.retain(|item| find(said, item).is_some() || find(before, item).is_none());
    for item in said {
        let before = find(before, item).map(|at| &before[at]);
        match find(there, item) {
            None => there.push(item.clone()),
            Some(at) if are_unions => merge_union(&mut there[at], before, item),
            Some(at) => merge(&mut there[at], before, item, Lists::Merged),
        }
    }
    put_in_order(there, said, &held, key);
}

/// Of fields that exclude each other only those remain that the file names, once it changes one.
fn merge_union(there: &mut Value, before: Option<&Value>, said: &Value) {
    let old = there.clone();
    merge(there, before, said, Lists::Merged);
    if *there != old
        && let (Value::Object(there), Value::Object(said)) = (there, said)
    {
        there.retain(|field, _| said.contains_key(field));
    }
}

/// What an applier says holds over an object, and what the same one said before and no longer does goes; lists are merged by their keys
/// where these are known.
pub(crate) fn apply_over(live: &mut Value, before: Option<&Value>, said: &Value, is_built_in: bool) {
    merge(live, before, said, if is_built_in { Lists::Merged } else { Lists::Replaced });
}

/// An object as a manifest would have it; none of the kinds that cannot be changed.
pub(crate) fn export(object: &Found, store: &Store) -> Option<Object> {
    match object {
        Found::Workload(_, id) => export_workload(store, *id),
        Found::Other(Kind::PodDisruptionBudget, namespace, name) => {
            let is_it = |meta: &Meta| meta.name == *name && meta.namespace == *namespace;
            let (_, budget) = store.budgets.iter().find(|(_, budget)| is_it(&budget.meta))?;
            let (metadata, spec) = (export_metadata(&budget.meta), model::PodDisruptionBudgetSpec::clone(&budget.spec));
            let object = model::PodDisruptionBudget { metadata, spec, ..Default::default() };
            Some(Object::PodDisruptionBudget(Box::new(object)))
        }
        Found::Other(Kind::Service, namespace, name) => {
            let is_it = |meta: &Meta| meta.name == *name && meta.namespace == *namespace;
            let (_, service) = store.services.iter().find(|(_, service)| is_it(&service.meta))?;
            let (metadata, spec) = (export_metadata(&service.meta), model::ServiceSpec::clone(&service.spec));
            Some(Object::Service(Box::new(model::Service { metadata, spec })))
        }
        Found::Other(Kind::Namespace, _, name) => {
            let (_, namespace) = store.namespace(*name)?;
            let mut object = model::Namespace::default();
            object.metadata.name = *name;
            object.metadata.labels = namespace.labels.clone();
            object.metadata.annotations = BTreeMap::clone(&namespace.annotations);
            object.metadata.finalizers = namespace.finalizers.to_vec();
            Some(Object::Namespace(Box::new(object)))
        }
        Found::Pod(id) => export_pod(store, *id).map(|pod| Object::Pod(Box::new(pod))),
        Found::Node(id) => export_node(store, *id).map(|node| Object::Node(Box::new(node))),
        Found::Other(Kind::PersistentVolumeClaim, namespace, name) => {
            let claim = export_claim(store, store.volumes.find_claim(*namespace, *name)?)?;
            Some(Object::PersistentVolumeClaim(Box::new(claim)))
        }
        Found::Other(Kind::PersistentVolume, _, name) => {
            let volume = export_volume(store, store.volumes.find_volume(*name)?)?;
            Some(Object::PersistentVolume(Box::new(volume)))
        }
        Found::Other(Kind::PriorityClass, _, name) => {
            let class = store.priority_class(*name)?;
            let mut object = model::PriorityClass::default();
            object.metadata.name = class.name;
            object.value = class.value;
            object.global_default = class.global_default;
            object.preemption_policy = Some(match class.never_preempts {
                true => model::PreemptionPolicy::Never,
                false => model::PreemptionPolicy::PreemptLowerPriority,
            });
            Some(Object::PriorityClass(Box::new(object)))
        }
        Found::Other(Kind::Stored(kind), namespace, name) => {
            if let Some(object) = super::resource::storage(*kind, *name, store) {
                return Some(object);
            }
            let stored = store.stored.get(&(kind.printed(), *namespace, *name))?;
            let (metadata, api_version) = (export_metadata(&stored.meta), stored.api_version);
            let fields = Arc::clone(&stored.fields);
            let object =
                Object::Stored(Box::new(model::StoredObject { api_version, kind: kind.kind, metadata, fields }));
            if model::ObjectKind::find(api_version.as_str(), kind.kind.as_str()).is_none() {
                return Some(object);
            }
            // One of a kind that is read, and is kept here besides.
            Object::from_value(object.to_manifest())?.ok()
        }
        Found::Other(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_in_the_order_of_the_file() {
        let list = |names: &str| json!(names.chars().map(|name| json!({"name": name.to_string()})).collect::<Vec<_>>());
        let check = |there: &str, said: &str, expected: &str| {
            let mut after = json!({"env": list(there)});
            merge(&mut after, None, &json!({"env": list(said)}), Lists::Merged);
            assert_eq!(after["env"], list(expected), "{said} over {there}");
        };
        check("ab", "ba", "ba");
        check("ab", "ab", "ab");
        // Others stay where they stood, as far as that goes.
        check("axb", "ba", "xba");
        check("xab", "ba", "xba");
        check("abx", "bca", "bcax");
    }

    #[test]
    fn what_the_file_says_holds_and_what_it_no_longer_says_goes() {
        let check = |there: Value, before: Value, file: Value, expected: Value| {
            let mut found = there;
            merge(&mut found, Some(&before).filter(|before| !before.is_null()), &file, Lists::Merged);
            assert_eq!(found, expected);
        };
        // Replicas that somebody else has set stay, unless the file says or has said something.
        check(json!({"replicas": 4, "a": 1}), json!({"a": 1}), json!({"a": 2}), json!({"replicas": 4, "a": 2}));
        check(json!({"replicas": 4}), json!({"replicas": 2}), json!({"replicas": 2}), json!({"replicas": 2}));
        check(json!({"replicas": 4}), json!({"replicas": 2}), json!({}), json!({}));
        check(json!({"paused": true}), Value::Null, json!({"a": 1}), json!({"paused": true, "a": 1}));
        let of = |items: Value| json!({"containers": items});
        check(
            of(json!([{"name": "a", "image": "1", "x": 1}, {"name": "injected"}, {"name": "old"}])),
            of(json!([{"name": "a", "image": "1"}, {"name": "old"}])),
            of(json!([{"name": "a", "image": "2"}, {"name": "new"}])),
            of(json!([{"name": "a", "image": "2", "x": 1}, {"name": "new"}, {"name": "injected"}])),
        );
        let tolerations = |seconds: i64| json!({"tolerations": [{"key": "k", "tolerationSeconds": seconds}]});
        check(tolerations(1), Value::Null, tolerations(2), tolerations(2));
    }

    #[test]
    fn a_changed_strategy_keeps_nothing_of_the_old_one() {
        let rolling = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}});
        let merged = |file: Value| {
            let mut found = rolling.clone();
            merge(&mut found, None, &file, Lists::Merged);
            found
        };
        let recreate = json!({"strategy": {"type": "Recreate"}});
        assert_eq!(merged(recreate.clone()), recreate);
        assert_eq!(merged(json!({"strategy": {"type": "RollingUpdate"}})), rolling);
    }
}
