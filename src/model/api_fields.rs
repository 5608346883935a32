//! Which fields the API has, whether they decide something here or not: what is no field of it is somebody's slip.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::field_path::{FieldPath, Step};
use crate::diagnostics::nearest;

/// A line a type: its fields, each with the type of what it holds if that has fields itself.
///
/// # Source
/// Kubernetes 1.36, `api/openapi-spec/swagger.json`.
const TEXT: &str = include_str!("api_fields.txt");

type Fields = FxHashMap<&'static str, Option<&'static str>>;

/// A field that a type does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownField {
    /// The type.
    pub(crate) of: &'static str,
    /// The field of that type whose name is nearest.
    pub(crate) nearest: Option<&'static str>,
    /// How many steps of the path lead to it.
    pub(crate) length: usize,
}

fn types() -> &'static FxHashMap<&'static str, Fields> {
    static TYPES: OnceLock<FxHashMap<&'static str, Fields>> = OnceLock::new();
    TYPES.get_or_init(|| {
        let fields = |text: &'static str| -> Fields {
            let words = text.split_whitespace();
            words.map(|word| word.split_once('=').map_or((word, None), |(name, of)| (name, Some(of)))).collect()
        };
        TEXT.lines().filter_map(|line| line.split_once(": ")).map(|(name, text)| (name, fields(text))).collect()
    })
}

/// Whether the fields of a kind in this version of its API are known here.
pub(crate) fn knows(api_version: &str, kind: &str) -> bool {
    const VERSIONS: [&str; 7] =
        ["v1", "apps/v1", "batch/v1", "policy/v1", "scheduling.k8s.io/v1", "node.k8s.io/v1", "storage.k8s.io/v1"];
    VERSIONS.contains(&api_version) && types().contains_key(kind)
}

/// The first field on the way that its type does not have; none if there are all, as far as their types have fields.
pub(crate) fn unknown(kind: &str, path: &FieldPath) -> Option<UnknownField> {
    let mut at = types().get_key_value(kind);
    for (index, step) in path.steps().iter().enumerate() {
        let Step::Index(_) = step else {
            let (of, fields) = at?;
            let key = step.key()?;
            let Some(next) = fields.get(key.as_str()) else {
                let mut names: Vec<&'static str> = fields.keys().copied().collect();
                names.sort_unstable();
                return Some(UnknownField { of, nearest: nearest(key.as_str(), names), length: index + 1 });
            };
            at = next.and_then(|next| types().get_key_value(next));
            continue;
        };
    }
    None
}

/// The fields of an object, or of a patch of one, that its kind does not have: each as the server writes its path.
pub(crate) fn unknown_in(kind: &str, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(fields) = types().get(kind) {
        walk(fields, value, "", &mut found);
    }
    found
}

fn walk(fields: &Fields, value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(fields, item, &format!("{path}[{index}]"), found);
            }
        }
        Value::Object(entries) => {
            // Directives of strategic patches (`$patch`, `$setElementOrder/…`) are no fields.
            for (key, item) in entries.iter().filter(|(key, _)| !key.starts_with('$')) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match fields.get(key.as_str()) {
                    None => found.push(path),
                    Some(None) => {}
                    Some(Some(of)) => {
                        if let Some(fields) = types().get(of) {
                            walk(fields, item, &path, found);
                        }
                    }
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_type_that_is_named_has_its_line() {
        let unknown =
            types().values().flat_map(|fields| fields.values().flatten()).find(|of| !types().contains_key(*of));
        assert_eq!(unknown, None);
        assert!(knows("apps/v1", "Deployment") && !knows("extensions/v1beta1", "Deployment") && !knows("v1", "Kiwi"));
    }

    #[test]
    fn what_is_no_field_is_found_with_the_nearest() {
        let path = |keys: &[&str]| -> FieldPath {
            let step = |key: &&str| match key.parse() {
                Ok(index) => Step::Index(index),
                Err(_) => Step::Key(crate::arena::Symbol::new(key)),
            };
            keys.iter().map(step).collect()
        };
        let found = unknown("Pod", &path(&["spec", "tolerations", "0", "tolerationSecond"])).expect("a slip");
        assert_eq!((found.of, found.nearest, found.length), ("Toleration", Some("tolerationSeconds"), 4));
        assert_eq!(unknown("Pod", &path(&["spec", "containers", "0", "env", "0", "valueFrom", "secretKeyRef"])), None);
        assert_eq!(unknown("Pod", &path(&["metadata", "labels", "anything"])), None);
        assert_eq!(unknown("Deployment", &path(&["spec", "bogus"])).map(|found| found.of), Some("DeploymentSpec"));
    }

    #[test]
    fn patches_are_searched_whole() {
        let patch = json!({"spec": {"bogus": 1, "template": {"spec": {"$setElementOrder/containers": [], "containers": [
            {"name": "c", "$patch": "replace", "imag": "x", "resources": {"limits": {"anything": "1"}}}]}}}});
        let expected = ["spec.bogus", "spec.template.spec.containers[0].imag"];
        assert_eq!(unknown_in("Deployment", &patch), expected);
        assert!(unknown_in("Kiwi", &patch).is_empty());
    }
}
