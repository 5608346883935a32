//! A pod without a controller becomes a Deployment of one replica.

use std::collections::BTreeSet;

use serde_json::json;

use super::objects::read;
use super::{Change, Circumstances};
use crate::model::manifest::ManifestObject;
use crate::model::{Object, is_mirror};
use crate::scenario::ResolvedScenario;
use crate::study::edit::path_of;

/// A pod without a controller becomes a Deployment of one replica.
pub(super) struct Controller;

impl Change for Controller {
    fn file(&self) -> &'static str {
        "controller"
    }

    fn words(&self) -> &'static str {
        "run it as a Deployment"
    }

    fn cause(&self) -> [&'static str; 2] {
        [
            "is a pod without a controller: nothing makes it anew",
            "are pods without a controller: nothing makes them anew",
        ]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, _around: &Circumstances<'_>) -> bool {
        matches!(object, Object::Pod(pod) if !is_mirror(&pod.metadata))
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        run_as_deployments(&mut scenario.objects, workloads);
    }
}

fn run_as_deployments(objects: &mut Vec<ManifestObject>, workloads: &BTreeSet<String>) {
    let mut deployments = Vec::new();
    for object in objects.iter().map(|object| &object.object).filter(|object| workloads.contains(&path_of(object))) {
        let Object::Pod(pod) = object else { continue };
        let (name, namespace) = (pod.metadata.name, pod.metadata.namespace);
        let value = object.to_manifest();
        let mut labels = value["metadata"]["labels"].clone();
        if !labels.is_object() {
            labels = json!({});
        }
        labels["app.kubernetes.io/instance"] = json!(name);
        let mut spec = value["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("nodeName");
            spec.remove("restartPolicy");
        }
        deployments.extend(read(&json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app.kubernetes.io/instance": name}},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        })));
    }
    objects.retain(|object| !workloads.contains(&path_of(&object.object)));
    objects.extend(deployments);
}
