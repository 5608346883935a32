//! Merge patches and strategic merge patches, as the API server applies them.

use serde_json::{Map, Value};

/// Merges a patch: `null` takes a field away, lists are replaced.
///
/// # Source
/// RFC 7386.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    let fields = as_fields(target);
    for (key, value) in patch {
        if value.is_null() {
            fields.remove(key);
        } else {
            merge(fields.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Merges a strategic patch: as [`merge`], but items of lists that have a key are merged by it.
///
/// # Source
/// apimachinery, `strategicpatch`: merge keys and strategies are those of the API types; `$patch`, `$retainKeys` and
/// `$deleteFromPrimitiveList` act, and so does `$setElementOrder` of lists with a key.
pub(crate) fn merge_strategically(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    let fields = as_fields(target);
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *fields = patch.iter().filter(|(key, _)| *key != "$patch").map(|(k, v)| (k.clone(), v.clone())).collect();
            return;
        }
        Some("delete") => {
            fields.clear();
            return;
        }
        _ => {}
    }
    if let Some(Value::Array(kept)) = patch.get("$retainKeys") {
        fields.retain(|key, _| kept.iter().any(|kept| kept == key));
    }
    let orders: Vec<(&str, &[Value], Vec<Value>)> = patch
        .iter()
        .filter_map(|(key, order)| {
            let list = key.strip_prefix("$setElementOrder/")?;
            let held = fields.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
            Some((list, order.as_array()?.as_slice(), held))
        })
        .collect();
    for (key, value) in patch {
        if let Some(list) = key.strip_prefix("$deleteFromPrimitiveList/") {
            let gone = value.as_array().map_or(&[][..], Vec::as_slice);
            if let Some(Value::Array(items)) = fields.get_mut(list) {
                items.retain(|item| !gone.contains(item));
            }
        } else if key.starts_with('$') {
            // Said above, or of the order alone.
        } else if value.is_null() {
            fields.remove(key);
        } else {
            merge_field(fields, key, value);
        }
    }
    for (list, order, held) in orders {
        if let Some(Value::Array(items)) = fields.get_mut(list)
            && let Some(key) = merge_key(list, items.iter().chain(order))
        {
            put_in_order(items, order, &held, key);
        }
    }
}

/// Puts the items that `order` names in its order. The others stay before the first of those that they stood before among the items that
/// were `held`.
///
/// # Source
/// apimachinery, `normalizeElementOrder` and `mergeSortedSlice`.
pub(super) fn put_in_order(items: &mut Vec<Value>, order: &[Value], held: &[Value], key: &str) {
    let place = |list: &[Value], item: &Value| list.iter().position(|other| other.get(key) == item.get(key));
    let (mut named, others): (Vec<Value>, Vec<Value>) =
        std::mem::take(items).into_iter().partition(|item| place(order, item).is_some());
    named.sort_by_key(|item| place(order, item));
    let mut others = others.into_iter().peekable();
    for item in named {
        let at = place(held, &item);
        while let Some(other) = others.next_if(|other| at.is_some() && place(held, other).is_some_and(|o| Some(o) < at))
        {
            items.push(other);
        }
        items.push(item);
    }
    items.extend(others);
}

fn merge_field(fields: &mut Map<String, Value>, key: &str, value: &Value) {
    let held = fields.entry(key.to_owned()).or_insert(Value::Null);
    let Value::Array(patch) = value else { return merge_strategically(held, value) };
    if patch.iter().any(|item| item.get("$patch").and_then(Value::as_str) == Some("replace")) {
        *held = patch.iter().filter(|item| item.get("$patch").is_none()).cloned().collect();
        return;
    }
    let empty = Vec::new();
    let items = held.as_array().unwrap_or(&empty);
    if PRIMITIVES.contains(&key) {
        let new = patch.iter().filter(|item| !items.contains(item));
        let merged = items.iter().chain(new).cloned().collect();
        *held = merged;
        return;
    }
    match merge_key(key, items.iter().chain(patch)) {
        Some(merge_key) => {
            if !held.is_array() {
                *held = Value::Array(Vec::new());
            }
            held.as_array_mut().into_iter().for_each(|items| merge_items(items, patch, merge_key));
        }
        None => *held = value.clone(),
    }
}

fn merge_items(items: &mut Vec<Value>, patch: &[Value], key: &str) {
    for item in patch {
        let place = items.iter().position(|held| held.get(key) == item.get(key));
        if item.get("$patch").and_then(Value::as_str) == Some("delete") {
            place.map(|place| items.remove(place));
            continue;
        }
        match place {
            Some(place) => merge_strategically(&mut items[place], item),
            None => {
                let mut new = Value::Null;
                merge_strategically(&mut new, item);
                items.push(new);
            }
        }
    }
}

fn as_fields(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("made an object above")
}

/// Lists of plain values whose items are merged.
const PRIMITIVES: [&str; 3] = ["finalizers", "podCIDRs", "secrets"];

/// By which field the items of a list are told apart; lists of other items are replaced.
///
/// # Source
/// `patchMergeKey` of the API types.
pub(super) fn merge_key<'a>(list: &str, items: impl Iterator<Item = &'a Value> + Clone) -> Option<&'static str> {
    let key = match list {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "schedulingGates"
        | "resourceClaims" => "name",
        "volumeMounts" => "mountPath",
        "volumeDevices" => "devicePath",
        "topologySpreadConstraints" => "topologyKey",
        "hostAliases" => "ip",
        "ownerReferences" => "uid",
        "conditions" => "type",
        "ports" if items.clone().any(|item| item.get("containerPort").is_some()) => "containerPort",
        "ports" => "port",
        _ => return None,
    };
    items.into_iter().all(|item| item.get(key).is_some()).then_some(key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_patch_replaces_lists() {
        let check = |mut value: Value, patch: Value, expected: Value| {
            merge(&mut value, &patch);
            assert_eq!(value, expected);
        };
        check(json!({"c": [{"name": "a"}]}), json!({"c": [{"name": "b"}]}), json!({"c": [{"name": "b"}]}));
        check(json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": null}}), json!({"a": {"c": 2}}));
        check(json!({"a": 1}), json!({"a": {"b": {"c": null}}}), json!({"a": {"b": {}}}));
    }

    #[test]
    fn a_strategic_patch_merges_items_by_their_key() {
        let check = |mut value: Value, patch: Value, expected: Value| {
            merge_strategically(&mut value, &patch);
            assert_eq!(value, expected, "{patch}");
        };
        let two = || json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}], "x": 1});
        check(
            two(),
            json!({"containers": [{"name": "b", "image": "2"}], "x": null}),
            json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}),
        );
        check(
            two(),
            json!({"containers": [{"name": "b", "$patch": "delete"}, {"name": "c"}]}),
            json!({"containers": [{"name": "a", "image": "1"}, {"name": "c"}], "x": 1}),
        );
        check(
            two(),
            json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
            json!({"containers": [{"name": "c"}], "x": 1}),
        );
        let port = |ports: Value| json!({"ports": ports});
        check(
            port(json!([{"port": 80, "targetPort": 1}])),
            port(json!([{"port": 80, "targetPort": 2}, {"port": 443}])),
            port(json!([{"port": 80, "targetPort": 2}, {"port": 443}])),
        );
        let taints = |key: &str| json!({"taints": [{"key": key, "effect": "NoSchedule"}]});
        check(taints("a"), taints("b"), taints("b"));
        check(json!({"finalizers": ["a"]}), json!({"finalizers": ["b"]}), json!({"finalizers": ["a", "b"]}));
        check(json!({"finalizers": ["a"]}), json!({"finalizers": null}), json!({}));
        check(
            json!({"finalizers": ["a", "b"]}),
            json!({"$deleteFromPrimitiveList/finalizers": ["a"]}),
            json!({"finalizers": ["b"]}),
        );
        check(json!({"s": {"a": 1, "b": 2}}), json!({"s": {"$patch": "replace", "c": 3}}), json!({"s": {"c": 3}}));
        let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}});
        check(strategy, json!({"$retainKeys": ["type"], "type": "Recreate"}), json!({"type": "Recreate"}));
    }
}
