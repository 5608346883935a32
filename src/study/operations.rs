//! What turns one value into another as a JSON patch (RFC 6902) that leaves alone what it does not change, and fails where what it
//! changes is not what it was any more.

use serde_json::{Value, json};

/// Maps that the API server fills where nobody writes them, so that they are there though the text that was read does not have them.
///
/// # Source
///
/// kube-apiserver, `SetDefaults_Deployment`.
const FILLED_BY_SERVER: [&str; 2] = ["strategy", "rollingUpdate"];

/// The operations, in their order; each test stands before what it guards.
pub(super) fn operations(path: &str, old: &Value, new: &Value) -> Vec<Value> {
    let mut operations = Vec::new();
    change(path, old, new, &mut operations);
    operations
}

fn change(path: &str, old: &Value, new: &Value, operations: &mut Vec<Value>) {
    match (old, new) {
        _ if old == new => {}
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before.iter().filter(|(name, _)| !after.contains_key(*name)) {
                let place = within(path, name);
                expect(&place, value, operations);
                operations.push(json!({"op": "remove", "path": place}));
            }
            for (name, value) in after {
                let place = within(path, name);
                match before.get(name) {
                    Some(former) => change(&place, former, value, operations),
                    None => add(&place, name, value, operations),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => change_list(path, before, after, operations),
        _ => operations.push(json!({"op": "replace", "path": path, "value": new})),
    }
}

/// Adds a field; one that holds others must not have come there meanwhile, as it would be lost.
fn add(place: &str, name: &str, value: &Value, operations: &mut Vec<Value>) {
    if (value.is_array() || value.is_object()) && !FILLED_BY_SERVER.contains(&name) {
        // Of what is not there the server says that it is null.
        operations.push(json!({"op": "test", "path": place, "value": null}));
    }
    operations.push(json!({"op": "add", "path": place, "value": value}));
}

fn change_list(path: &str, before: &[Value], after: &[Value], operations: &mut Vec<Value>) {
    if are_alike(before, after) {
        for (index, (old, new)) in before.iter().zip(after).enumerate().filter(|(_, (old, new))| old != new) {
            let place = format!("{path}/{index}");
            operations.push(json!({"op": "test", "path": format!("{place}/name"), "value": old["name"]}));
            change(&place, old, new, operations);
        }
        return;
    }
    for (index, item) in before.iter().enumerate() {
        expect(&format!("{path}/{index}"), item, operations);
    }
    let kept = kept(before, after);
    let is_kept = |index: &usize| kept.iter().any(|(old, _)| old == index);
    for index in (0..before.len()).rev().filter(|index| !is_kept(index)) {
        operations.push(json!({"op": "remove", "path": format!("{path}/{index}")}));
    }
    let is_new = |index: &usize| kept.iter().all(|(_, new)| new != index);
    for index in (0..after.len()).filter(is_new) {
        operations.push(json!({"op": "add", "path": format!("{path}/{index}"), "value": after[index]}));
    }
}

/// Whether the items have the same names in the same order, as containers that were changed.
fn are_alike(before: &[Value], after: &[Value]) -> bool {
    let is_pair = |(old, new): (&Value, &Value)| old["name"].is_string() && old["name"] == new["name"];
    before.len() == after.len() && before.iter().zip(after).all(is_pair)
}

/// Positions of items that are in both lists, ascending in either.
fn kept(before: &[Value], after: &[Value]) -> Vec<(usize, usize)> {
    let mut from = 0;
    let mut kept = Vec::new();
    for (old, item) in before.iter().enumerate() {
        if let Some(found) = after[from..].iter().position(|other| other == item) {
            kept.push((old, from + found));
            from += found + 1;
        }
    }
    kept
}

/// Tests each text, number and truth of a value, not the value as a whole: the server may have filled in others.
fn expect(path: &str, value: &Value, operations: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| expect(&within(path, name), value, operations));
        }
        Value::Array(items) => {
            let places = items.iter().enumerate();
            places.for_each(|(index, item)| expect(&format!("{path}/{index}"), item, operations));
        }
        Value::Null => {}
        _ => operations.push(json!({"op": "test", "path": path, "value": value})),
    }
}

/// The path of a field.
fn within(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &Value, new: &Value, expected: &Value) {
        assert_eq!(json!(operations("", old, new)), *expected);
    }

    #[test]
    fn what_is_new_in_a_list_leaves_the_others_where_they_are() {
        let own = json!({"key": "own", "operator": "Exists"});
        let new = json!({"key": "lost", "tolerationSeconds": 30});
        let tests = json!([
            {"op": "test", "path": "/of/0/key", "value": "own"},
            {"op": "test", "path": "/of/0/operator", "value": "Exists"},
            {"op": "add", "path": "/of/0", "value": new},
        ]);
        check(&json!({"of": [own]}), &json!({"of": [new, own]}), &tests);
    }

    #[test]
    fn what_goes_is_tested_and_goes_from_behind() {
        let expected = json!([
            {"op": "test", "path": "/0/k", "value": 1},
            {"op": "test", "path": "/1/k", "value": 2},
            {"op": "test", "path": "/2/k", "value": 3},
            {"op": "remove", "path": "/2"},
            {"op": "remove", "path": "/0"},
            {"op": "add", "path": "/1", "value": {"k": 4}},
        ]);
        check(&json!([{"k": 1}, {"k": 2}, {"k": 3}]), &json!([{"k": 2}, {"k": 4}]), &expected);
    }

    #[test]
    fn a_field_that_holds_others_must_not_be_there_and_a_number_may() {
        let expected = json!([
            {"op": "test", "path": "/list", "value": null},
            {"op": "add", "path": "/list", "value": [1]},
            {"op": "add", "path": "/number", "value": 2},
            {"op": "add", "path": "/strategy", "value": {"type": "Recreate"}},
        ]);
        check(&json!({}), &json!({"list": [1], "number": 2, "strategy": {"type": "Recreate"}}), &expected);
    }

    #[test]
    fn items_of_one_name_are_changed_inside() {
        let expected = json!([
            {"op": "test", "path": "/1/name", "value": "b"},
            {"op": "test", "path": "/1/a~1b", "value": 1},
            {"op": "remove", "path": "/1/a~1b"},
            {"op": "replace", "path": "/1/n", "value": 2},
        ]);
        let old = json!([{"name": "a", "n": 1}, {"name": "b", "n": 1, "a/b": 1}]);
        check(&old, &json!([{"name": "a", "n": 1}, {"name": "b", "n": 2}]), &expected);
    }
}
