//! Words that no version of the API knows, where a set of words is closed.
//!
//! Our types cannot hold such a word; the server's can, and its validation refuses it.

use serde_json::Value;

use super::{ErrorKind, FieldError};
use crate::arena::Symbol;
use crate::model::Object;
use crate::model::field_path::{FieldPath, Step};

/// Words of one object that are told apart at most.
const WORDS_MAX: usize = 64;

/// What the API server says of the words of an object, given as JSON, that are none of those it knows. Nothing if there are
/// none, or if something else of the object cannot be read.
///
/// # Source
///
/// kube-apiserver, the `NotSupported` and `Invalid` of `pkg/apis/*/validation`.
///
/// # Differs
///
/// What else is wrong with the object is not told with them.
#[must_use]
pub fn unknown_words(object: &Value) -> Vec<FieldError> {
    let mut object = object.clone();
    let mut errors = Vec::new();
    while errors.len() < WORDS_MAX {
        let Some(Err(error)) = Object::from_value(object.clone()) else { return errors };
        let error = error.to_string();
        let Some((word, words)) = split(&error) else { return Vec::new() };
        let Some(path) = place_of(&mut object, word, &words) else { return Vec::new() };
        errors.push(refusal(&object, &path, word, &words));
        if let Some(found) = at(&mut object, &path) {
            *found = Value::from(words[0]);
        }
    }
    errors
}

/// The word, and those that it could be.
fn split(error: &str) -> Option<(&str, Vec<&str>)> {
    let (word, words) = error.split_once("` is not one of `")?;
    let words = words.rsplit_once('`').map_or(words, |(words, _)| words);
    Some((word.strip_prefix('`')?, words.split("`, `").collect()))
}

/// Where the word stands that cannot be read: it is there if another word in its place is what cannot be read.
fn place_of(object: &mut Value, word: &str, words: &[&str]) -> Option<Vec<Step>> {
    const OTHER: &str = "kubesquall.sim/no-word";
    let mut places = Vec::new();
    find(object, word, &mut Vec::new(), &mut places);
    let expected = words.join("`, `");
    places.into_iter().find(|path| {
        if let Some(found) = at(object, path) {
            *found = Value::from(OTHER);
        }
        let read = Object::from_value(object.clone());
        if let Some(found) = at(object, path) {
            *found = Value::from(word);
        }
        let is_here =
            |error: &str| split(error).is_some_and(|(word, words)| word == OTHER && words.join("`, `") == expected);
        matches!(read, Some(Err(error)) if is_here(&error.to_string()))
    })
}

fn find(value: &Value, word: &str, path: &mut Vec<Step>, places: &mut Vec<Vec<Step>>) {
    match value {
        Value::String(text) if text == word => places.push(path.clone()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                find(item, word, path, places);
                path.pop();
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                path.push(Step::Key(Symbol::new(key)));
                find(field, word, path, places);
                path.pop();
            }
        }
        _ => {}
    }
}

fn at<'a>(value: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Index(index) => value.get_mut(*index),
        Step::Key(key) => value.get_mut(key.as_str()),
        Step::Field(_) => None,
    })
}

/// The server's words for it. Most sets are listed in alphabetical order; of some types the server names the struct that has
/// the word, with the names that the struct has within the server.
fn refusal(object: &Value, steps: &[Step], word: &str, words: &[&str]) -> FieldError {
    let path: FieldPath = steps.iter().copied().collect();
    let name =
        |back: usize| steps.len().checked_sub(back).and_then(|index| steps[index].key()).map_or("", Symbol::as_str);
    let kind = object["kind"].as_str().unwrap_or_default();
    let error = |back: usize, kind: ErrorKind, value: String, detail: String| {
        let field: FieldPath = steps[..steps.len() - back].iter().copied().collect();
        let field = if name(1) == "effect" && name(3) == "taints" { taints(steps) } else { field.to_string() };
        FieldError { field, kind, value: Some(value), detail, path: path.clone() }
    };
    let quoted = format!("{word:?}");
    let listed = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        format!("supported values: {}", words.join(", "))
    };
    let not_supported = |words: &[&str]| error(0, ErrorKind::NotSupported, quoted.clone(), listed(words));
    let in_order = || {
        let mut words = words.to_vec();
        words.sort_unstable();
        words
    };
    match (kind, name(2), name(1)) {
        (_, _, "operator") if words.contains(&"DoesNotExist") => {
            error(0, ErrorKind::Invalid, quoted, "not a valid selector operator".to_owned())
        }
        (_, _, "operator") if words.contains(&"Exists") => not_supported(&["Equal", "Exists"]),
        ("Deployment", "strategy", "type") => {
            let value = strategy(object, "strategy", ["maxUnavailable", "maxSurge"]);
            error(1, ErrorKind::NotSupported, value, listed(&["Recreate", "RollingUpdate"]))
        }
        ("DaemonSet", "updateStrategy", "type") => {
            let value = strategy(object, "updateStrategy", ["maxUnavailable", "maxSurge"]);
            error(1, ErrorKind::NotSupported, value, listed(&["RollingUpdate", "OnDelete"]))
        }
        ("StatefulSet", "updateStrategy", "type") => {
            let value = strategy(object, "updateStrategy", ["partition", "maxUnavailable"]);
            error(1, ErrorKind::Invalid, value, "must be 'RollingUpdate' or 'OnDelete'".to_owned())
        }
        ("StatefulSet", _, "podManagementPolicy") => {
            error(0, ErrorKind::Invalid, quoted, "must be 'OrderedReady' or 'Parallel'".to_owned())
        }
        (_, "accessModes", _) => error(1, ErrorKind::NotSupported, quoted, listed(&in_order())),
        // Those whose list the server writes down by hand.
        (_, _, "restartPolicy" | "effect" | "preemptionPolicy" | "completionMode" | "concurrencyPolicy")
        | (_, "persistentVolumeClaimRetentionPolicy", _) => not_supported(words),
        _ => not_supported(&in_order()),
    }
}

/// The server calls the list of a node's taints by a name that no document has.
fn taints(steps: &[Step]) -> String {
    let path: FieldPath = steps.iter().copied().collect();
    path.to_string().replacen("spec.taints", "metadata.taints", 1)
}

/// A strategy as the server shows it, which is not as documents write it.
fn strategy(object: &Value, field: &str, parts: [&str; 2]) -> String {
    let strategy = &object["spec"][field];
    let parts = parts.map(|part| {
        let (first, rest) = part.split_at(1);
        format!("\"{}{rest}\":{}", first.to_ascii_uppercase(), strategy["rollingUpdate"][part])
    });
    let rolling =
        if strategy["rollingUpdate"].is_object() { format!("{{{}}}", parts.join(",")) } else { "null".to_owned() };
    format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", strategy["type"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_that_nobody_knows_are_told_as_the_server_tells_them() {
        let check = |kind: &str, api: &str, spec: Value, expected: &[&str]| {
            let object = json!({"apiVersion": api, "kind": kind, "metadata": {"name": "Foo"}, "spec": spec});
            let told: Vec<String> = unknown_words(&object).iter().map(ToString::to_string).collect();
            assert_eq!(told, expected, "{object}");
        };
        let restart =
            r#"spec.restartPolicy: Unsupported value: "Foo": supported values: "Always", "OnFailure", "Never""#;
        check("Pod", "v1", json!({"restartPolicy": "Foo"}), &[restart]);
        check("Pod", "v1", json!({"restartPolicy": "Never", "hostname": "Foo"}), &[]);
        check(
            "Pod",
            "v1",
            json!({"tolerations": [{"key": "Foo", "operator": "Exists"}, {"operator": "Foo", "effect": "Foo"}]}),
            &[
                r#"spec.tolerations[1].effect: Unsupported value: "Foo": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute""#,
                r#"spec.tolerations[1].operator: Unsupported value: "Foo": supported values: "Equal", "Exists""#,
            ],
        );
        let effect = r#"metadata.taints[0].effect: Unsupported value: "Foo": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute""#;
        check("Node", "v1", json!({"taints": [{"key": "a", "effect": "Foo"}]}), &[effect]);
        let strategy = r#"spec.strategy: Unsupported value: {"Type":"Foo","RollingUpdate":{"MaxUnavailable":"25%","MaxSurge":1}}: supported values: "Recreate", "RollingUpdate""#;
        let rolling = json!({"strategy": {"type": "Foo", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"}}});
        check("Deployment", "apps/v1", rolling, &[strategy]);
        let ordered = r#"spec.podManagementPolicy: Invalid value: "Foo": must be 'OrderedReady' or 'Parallel'"#;
        check("StatefulSet", "apps/v1", json!({"podManagementPolicy": "Foo"}), &[ordered]);
        let modes = r#"spec.accessModes: Unsupported value: "Foo": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod""#;
        check("PersistentVolumeClaim", "v1", json!({"accessModes": ["ReadWriteOnce", "Foo"]}), &[modes]);
        let selector = json!({"selector": {"matchExpressions": [{"key": "a", "operator": "Foo"}]}});
        let operator =
            r#"spec.selector.matchExpressions[0].operator: Invalid value: "Foo": not a valid selector operator"#;
        check("PodDisruptionBudget", "policy/v1", selector, &[operator]);
    }

    #[test]
    fn a_value_of_another_type_is_not_a_word() {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"restartPolicy": "Foo", "priority": "high"}});
        assert_eq!(unknown_words(&object), []);
    }
}
