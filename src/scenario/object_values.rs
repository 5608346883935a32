//! `--set 'objects["deployment/shop/web"].spec.replicas=5'`: values of the objects of manifests, replaced from outside.

use serde_json::Value;

use super::at::parse_path;
use crate::diagnostics::{Severity, nearest_or};
use crate::model::field_path::{FieldPath, Step};
use crate::model::manifest::{self, Scope};
use crate::model::{ManifestObject, Object, yaml};

/// What a path into an object begins with.
const ROOT: &str = "objects";

/// Why a value cannot be set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) message: String,
    /// Empty if all there is to say is how values are set.
    pub(super) help: String,
}

impl Refusal {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

/// Whether an assignment is of an object, and of none of the scenario's own values.
pub(super) fn is_of_object(assignment: &str) -> bool {
    assignment.strip_prefix(ROOT).is_some_and(|rest| rest.starts_with(['[', '.']))
}

/// How paths name an object: `deployment/shop/web`, `node/worker-1`.
pub(super) fn key_of(object: &Object) -> String {
    let (kind, metadata) = (object.kind(), object.metadata());
    let kind_text = kind.as_str().to_ascii_lowercase();
    match kind.scope() {
        Scope::Namespaced => format!("{kind_text}/{}/{}", metadata.namespace, metadata.name),
        Scope::Cluster => format!("{kind_text}/{}", metadata.name),
    }
}

/// The path of a field of an object, as `--set` takes it.
pub(super) fn path_of(object: &Object, field: &str) -> String {
    format!("{ROOT}[\"{}\"].{field}", key_of(object))
}

/// Sets a value of one of the objects.
///
/// # Errors
///
/// If there is no such object or field, or the object cannot be read or would be refused with it.
pub(super) fn set(objects: &mut [ManifestObject], path_text: &str, value: &str) -> Result<(), Refusal> {
    let not_a_path = |reason: String| Refusal::new(format!("`{path_text}` is not a path: {reason}"), "");
    let path = parse_path(path_text).map_err(not_a_path)?;
    let (key, field) = match path.steps() {
        [_, object, field @ ..] if object.key().is_some() => (object.key().unwrap_or_default(), field),
        _ => return Err(not_a_path(format!("behind `{ROOT}` comes an object, `{ROOT}[\"deployment/shop/web\"]`"))),
    };
    if field.is_empty() {
        return Err(not_a_path("it names an object, and none of its fields".to_owned()));
    }
    let Some(found) = objects.iter_mut().find(|object| key_of(&object.object) == key.as_str()) else {
        let known: Vec<String> = objects.iter().map(|object| key_of(&object.object)).collect();
        let help = nearest_or(key.as_str(), known.iter().map(String::as_str), || {
            "an object of the manifests is named `kind/namespace/name`, or `kind/name`".to_owned()
        });
        return Err(Refusal::new(format!("there is no object `{key}`"), help));
    };
    let options = yaml::options(value);
    let value: Value = serde_saphyr::from_str_with_options(value, options)
        .map_err(|error| Refusal::new(format!("the value of `{path_text}` cannot be read: {error}"), ""))?;
    let mut tree = found.object.to_manifest();
    put(&mut tree, field, value).map_err(|reason| Refusal::new(format!("`{path_text}` cannot be set"), reason))?;
    found.object = read(&tree, &found.object, &field.iter().copied().collect())?;
    Ok(())
}

/// The object that a tree says, which is `before` with another value of `field`.
fn read(tree: &Value, before: &Object, field: &FieldPath) -> Result<Object, Refusal> {
    let mut loaded = manifest::load_text(ROOT, &tree.to_string());
    if let Some(problem) = loaded.diagnostics.iter().find(|problem| problem.severity == Severity::Error) {
        return Err(Refusal::new(problem.message.clone(), problem.help.first().cloned().unwrap_or_default()));
    }
    let path = field.to_string();
    if loaded.not_modelled.iter().any(|row| row.path == path || path.starts_with(&format!("{}.", row.path))) {
        let help = "only fields that decide something can be set so";
        return Err(Refusal::new(format!("`{path}` of {} has no effect", before.label()), help));
    }
    match loaded.objects.pop() {
        Some(read) if read.object.key() == before.key() => Ok(read.object),
        _ => Err(Refusal::new(
            format!("{} would be another object", before.label()),
            "its kind, namespace and name stay",
        )),
    }
}

/// Puts a value at the end of a path.
fn put(tree: &mut Value, steps: &[Step], value: Value) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        *tree = value;
        return Ok(());
    };
    if let Step::Index(index) = step {
        let Value::Array(items) = tree else { return Err("there is no list".to_owned()) };
        let count = items.len();
        if *index == count {
            items.push(Value::Null);
        }
        let item = items.get_mut(*index).ok_or_else(|| format!("the list has {count} items, counted from 0"))?;
        return put(item, rest, value);
    }
    let key = step.key().unwrap_or_default();
    if tree.is_null() {
        *tree = Value::Object(serde_json::Map::new());
    }
    let Value::Object(fields) = tree else { return Err(format!("there is no map that could have `{key}`")) };
    put(fields.entry(key.as_str()).or_insert(Value::Null), rest, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 50%, selector: {matchLabels: {app: web}}}
";

    fn set_in_shop(path: &str, value: &str) -> Result<Vec<Value>, Refusal> {
        let mut objects = manifest::load_text("shop.yaml", SHOP).objects;
        set(&mut objects, path, value)?;
        Ok(objects.iter().map(|object| object.object.to_manifest()).collect())
    }

    #[test]
    fn fields_of_objects_are_replaced_or_added() {
        let objects = set_in_shop("objects[\"deployment/shop/web\"].spec.replicas", "5").expect("a field");
        assert_eq!(objects[0]["spec"]["replicas"], 5);
        let objects =
            set_in_shop("objects[\"poddisruptionbudget/shop/web\"].spec.minAvailable", "80%").expect("a field");
        assert_eq!(objects[1]["spec"]["minAvailable"], "80%");
        let path = "objects[\"deployment/shop/web\"].spec.template.spec.tolerations";
        let objects =
            set_in_shop(path, "[{operator: Exists, effect: NoExecute, tolerationSeconds: 30}]").expect("a list");
        assert_eq!(objects[0]["spec"]["template"]["spec"]["tolerations"][0]["tolerationSeconds"], 30);
    }

    #[test]
    fn what_cannot_be_set_is_told() {
        #[track_caller]
        fn check(path: &str, value: &str, expected: &str) {
            let refusal = set_in_shop(path, value).expect_err(path);
            assert!(format!("{}; {}", refusal.message, refusal.help).contains(expected), "{refusal:?}");
        }
        check("objects[\"deployment/shop/wep\"].spec.replicas", "5", "the nearest is `deployment/shop/web`");
        check(
            "objects[\"deployment/shop/web\"].spec.replica",
            "5",
            "`spec.replica` of Deployment shop/web has no effect",
        );
        check("objects[\"deployment/shop/web\"].spec.replicas", "many", "many");
        check("objects[\"deployment/shop/web\"].spec.replicas.x", "1", "no map that could have `x`");
        check("objects[\"deployment/shop/web\"].metadata.name", "api", "would be another object");
        check("objects[\"deployment/shop/web\"]", "5", "none of its fields");
        check("objects.spec", "5", "none of its fields");
        check("objects[0].spec", "5", "comes an object");
    }
}
