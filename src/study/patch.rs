//! What applies a recommended variant to the real cluster.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::document::Study;
use super::grid::Setting;
use crate::model::{ManifestObject, Object};
use crate::observe::workload_matches;

/// A recommendation, ready to be applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patches {
    /// kubectl lines.
    pub shell: String,
    /// The changed fields of each object, as documents for `kubectl apply --server-side` or review.
    pub yaml: String,
}

/// What makes a cluster that of a variant.
#[must_use]
pub fn patches(study: &Study, variant: usize) -> Patches {
    let mut patches = Patches { shell: "#!/bin/sh\nset -e\n".to_owned(), yaml: String::new() };
    let chosen = study.settings_of(variant);
    let objects = &study.variants[variant].scenario.objects;
    for setting in chosen {
        match setting {
            Setting::Path { path, value } => {
                let _ = writeln!(patches.shell, "# set {path} to {value}");
                let _ = writeln!(patches.yaml, "# set {path} to {value}");
            }
            Setting::TolerationSeconds { workloads, .. } => {
                for object in selected(objects, workloads) {
                    let value = object.to_value();
                    let tolerations = value["spec"]["template"]["spec"]["tolerations"].clone();
                    patches.add(object, &json!({"template": {"spec": {"tolerations": tolerations}}}));
                }
            }
            Setting::Replicas { workloads, count } => {
                for object in selected(objects, workloads) {
                    patches.add(object, &json!({"replicas": count}));
                }
            }
        }
    }
    patches
}

fn selected<'a>(objects: &'a [ManifestObject], workloads: &[String]) -> impl Iterator<Item = &'a Object> {
    let is_selected = move |object: &&Object| {
        let metadata = object.metadata();
        let kind = object.kind().as_str().to_ascii_lowercase();
        let path = format!("{kind}/{}/{}", metadata.namespace, metadata.name);
        !matches!(kind.as_str(), "pod" | "replicaset")
            && workloads.iter().any(|pattern| workload_matches(pattern, &path))
    };
    objects.iter().map(|object| &object.object).filter(is_selected)
}

impl Patches {
    fn add(&mut self, object: &Object, spec: &Value) {
        let metadata = object.metadata();
        let kind = object.kind();
        let patch = json!({"spec": spec}).to_string().replace('\'', "'\\''");
        let _ = writeln!(
            self.shell,
            "kubectl patch {} {} -n {} --type=merge -p '{patch}'",
            kind.as_str().to_ascii_lowercase(),
            metadata.name,
            metadata.namespace
        );
        let document = json!({
            "apiVersion": kind.api_version(),
            "kind": kind.as_str(),
            "metadata": {"name": metadata.name, "namespace": metadata.namespace},
            "spec": spec,
        });
        // JSON is YAML.
        let _ = writeln!(self.yaml, "---\n{document:#}");
    }
}
