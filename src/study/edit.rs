//! Changes of a scenario's objects that no path into its document can express.

use serde_json::{Value, json};

use crate::model::{ManifestObject, Object};
use crate::observe::workload_matches;

/// Sets how long pods of the workloads tolerate those taints. What the workloads own already, as in a dump, is set alike:
/// otherwise the controllers would take the change for a new template and roll it out.
///
/// # Errors
///
/// If a pattern selects nothing.
pub(super) fn toleration_seconds(
    objects: &mut [ManifestObject],
    workloads: &[String],
    taints: &[&str],
    seconds: u32,
) -> Result<(), String> {
    change(objects, workloads, |value| {
        let is_pod = value["kind"] == "Pod";
        let spec = if is_pod { &mut value["spec"] } else { &mut value["spec"]["template"]["spec"] };
        if !spec.is_object() {
            return;
        }
        if !spec["tolerations"].is_array() {
            spec["tolerations"] = json!([]);
        }
        let Some(tolerations) = spec["tolerations"].as_array_mut() else { return };
        for taint in taints {
            tolerations.retain(|toleration| toleration["key"] != *taint);
            tolerations
                .push(json!({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}));
        }
    })
}

/// Sets how many replicas workloads have.
///
/// # Errors
///
/// If a pattern selects nothing.
pub(super) fn replicas(objects: &mut [ManifestObject], workloads: &[String], count: u32) -> Result<(), String> {
    change(objects, workloads, |value| {
        if matches!(value["kind"].as_str(), Some("Deployment" | "StatefulSet" | "ReplicaSet")) {
            value["spec"]["replicas"] = json!(count);
        }
    })
}

fn path_of(object: &Object) -> String {
    let metadata = object.metadata();
    format!("{}/{}/{}", object.kind().as_str().to_ascii_lowercase(), metadata.namespace, metadata.name)
}

/// The path of an object's controlling owner.
fn owner_of(object: &Object) -> Option<String> {
    let metadata = object.metadata();
    let owner = metadata.owner_references.iter().find(|owner| owner.controller)?;
    Some(format!("{}/{}/{}", owner.kind.as_str().to_ascii_lowercase(), metadata.namespace, owner.name))
}

fn change(objects: &mut [ManifestObject], workloads: &[String], edit: impl Fn(&mut Value)) -> Result<(), String> {
    let mut selected: Vec<String> = Vec::new();
    for pattern in workloads {
        let before = selected.len();
        let paths = objects.iter().map(|object| path_of(&object.object));
        let is_workload = |path: &String| !path.starts_with("pod/") && !path.starts_with("replicaset/");
        selected.extend(paths.filter(|path| is_workload(path) && workload_matches(pattern, path)));
        if selected.len() == before {
            return Err(format!("`{pattern}` selects no workload"));
        }
    }
    // ReplicaSets of a Deployment, then pods of either.
    for _ in 0..2 {
        let owned: Vec<String> = objects
            .iter()
            .filter(|object| owner_of(&object.object).is_some_and(|owner| selected.contains(&owner)))
            .map(|object| path_of(&object.object))
            .filter(|path| !selected.contains(path))
            .collect();
        selected.extend(owned);
    }
    for object in objects.iter_mut().filter(|object| selected.contains(&path_of(&object.object))) {
        let mut value = object.object.to_value();
        edit(&mut value);
        if let Some(Ok(edited)) = Object::from_value(value) {
            object.object = edited;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest;

    const SHOP: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-5d
  namespace: shop
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: shop}
spec: {containers: [{name: c, image: x}]}
";

    #[test]
    fn a_workload_and_what_it_owns_are_changed_alike() {
        let mut objects = manifest::load_text("shop.yaml", SHOP).objects;
        let taints = ["node.kubernetes.io/unreachable"];
        toleration_seconds(&mut objects, &["deployment/shop/*".to_owned()], &taints, 30).expect("there is one");
        let seconds = |object: &ManifestObject| {
            object.object.to_value()["spec"]["template"]["spec"]["tolerations"][0]["tolerationSeconds"].as_u64()
        };
        assert_eq!(seconds(&objects[0]), Some(30));
        assert_eq!(seconds(&objects[1]), Some(30));
        assert!(objects[2].object.to_value()["spec"]["tolerations"].is_null());
    }

    #[test]
    fn a_pattern_that_selects_nothing_is_told() {
        let mut objects = manifest::load_text("shop.yaml", SHOP).objects;
        let refused = replicas(&mut objects, &["deployment/other/*".to_owned()], 3);
        assert_eq!(refused, Err("`deployment/other/*` selects no workload".to_owned()));
    }
}
