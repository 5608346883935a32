//! Revisions that a dump lacks: `kubectl get all` shows DaemonSets, StatefulSets and their pods, but no ControllerRevisions.
//!
//! Without them a controller could not know that the pods are up to date, and would replace them all.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::arena::Symbol;
use crate::model::{ControllerRevision, ManifestObject, Object, ObjectMeta, OwnerReference, PodTemplateSpec};

const HASH_LABEL: &str = "controller-revision-hash";
const GENERATION_LABEL: &str = "pod-template-generation";

/// Namespace, kind and name of a workload.
type Key = (Symbol, Symbol, Symbol);

/// A workload that has revisions.
struct Owner<'a> {
    kind: &'static str,
    metadata: &'a ObjectMeta,
    template: &'a PodTemplateSpec,
    /// The name of the present revision, if the status tells it.
    revision: Option<Symbol>,
    /// Whether some pods are up to date, as far as the status tells.
    is_up_to_date: bool,
}

impl<'a> Owner<'a> {
    fn of(object: &'a Object) -> Option<Self> {
        match object {
            Object::DaemonSet(set) => Some(Self {
                kind: "DaemonSet",
                metadata: &set.metadata,
                template: &set.spec.template,
                revision: None,
                is_up_to_date: set.status.updated_number_scheduled > 0 || set.status.current_number_scheduled == 0,
            }),
            Object::StatefulSet(set) => Some(Self {
                kind: "StatefulSet",
                metadata: &set.metadata,
                template: &set.spec.template,
                revision: Some(set.status.update_revision).filter(|revision| !revision.is_empty()),
                is_up_to_date: true,
            }),
            _ => None,
        }
    }

    fn key(&self) -> Key {
        (self.metadata.namespace, Symbol::new(self.kind), self.metadata.name)
    }

    /// The revision of the present template, from the label that its newest pod bears.
    fn revision(&self, label: Symbol) -> Option<ControllerRevision> {
        // Pods of StatefulSets bear the name of the revision, those of DaemonSets its hash.
        let name = match self.kind {
            "StatefulSet" => self.revision.unwrap_or(label),
            _ => Symbol::from(format!("{}-{label}", self.metadata.name)),
        };
        let prefix = format!("{}-", self.metadata.name);
        let hash = Symbol::from(name.as_str().strip_prefix(&prefix)?);
        let owner = OwnerReference {
            api_version: Symbol::new("apps/v1"),
            kind: Symbol::new(self.kind),
            name: self.metadata.name,
            uid: self.metadata.uid.unwrap_or_default(),
            controller: true,
            block_owner_deletion: true,
        };
        let metadata = ObjectMeta {
            name,
            namespace: self.metadata.namespace,
            labels: self.template.metadata.labels.with(Symbol::new(HASH_LABEL), hash),
            owner_references: vec![owner],
            ..ObjectMeta::default()
        };
        let data = json!({"spec": {"template": self.template}});
        Some(ControllerRevision { metadata, data: Some(data), revision: 1 })
    }
}

/// The revisions of workloads that have up-to-date pods but no revision.
pub(super) fn missing(objects: &[ManifestObject]) -> Vec<ManifestObject> {
    let newest = newest_labels(objects);
    if newest.is_empty() {
        return Vec::new();
    }
    let known: BTreeSet<Key> = objects
        .iter()
        .filter(|object| matches!(object.object, Object::ControllerRevision(_)))
        .filter_map(|object| owner_key(object.object.metadata()))
        .collect();
    let lacking = objects.iter().filter_map(|object| {
        let owner = Owner::of(&object.object).filter(|owner| owner.is_up_to_date && !known.contains(&owner.key()))?;
        let revision = owner.revision(newest.get(&owner.key())?.1)?;
        let source = object.source.clone();
        Some(ManifestObject {
            object: Object::from(revision),
            source,
            names_namespace: true,
            unknown_fields: Vec::new(),
            api_version: Symbol::empty(),
        })
    });
    lacking.collect()
}

/// By owner, the revision label of the pod of the latest template, and that template's number.
fn newest_labels(objects: &[ManifestObject]) -> BTreeMap<Key, (i64, Symbol)> {
    let mut newest: BTreeMap<Key, (i64, Symbol)> = BTreeMap::new();
    for object in objects.iter().filter(|object| matches!(object.object, Object::Pod(_))) {
        let metadata = object.object.metadata();
        let Some(label) = metadata.labels.get(Symbol::new(HASH_LABEL)) else { continue };
        let Some(key) = owner_key(metadata) else { continue };
        let generation = metadata.labels.get(Symbol::new(GENERATION_LABEL));
        let generation = generation.and_then(|text| text.as_str().parse().ok()).unwrap_or(0);
        if newest.get(&key).is_none_or(|(known, _)| generation > *known) {
            newest.insert(key, (generation, label));
        }
    }
    newest
}

fn owner_key(metadata: &ObjectMeta) -> Option<Key> {
    let owner = metadata.controller()?;
    Some((metadata.namespace, owner.kind, owner.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::load_text;

    #[test]
    fn pods_tell_the_revision_that_a_dump_lacks() {
        #[track_caller]
        fn check(kind: &str, status: &str, label: &str, expected: &[&str]) {
            let text = format!(
                "kind: {kind}\napiVersion: apps/v1\nmetadata: {{name: s, uid: u}}\n\
                 spec: {{selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}}}}}\n\
                 status: {status}\n---\nkind: Pod\napiVersion: v1\nmetadata: {{name: p, labels: {label}, \
                 ownerReferences: [{{kind: {kind}, name: s, uid: u, controller: true}}]}}\n"
            );
            let missing = missing(&load_text("x.yaml", &text).objects);
            let names: Vec<&str> = missing.iter().map(|object| object.object.metadata().name.as_str()).collect();
            assert_eq!(names, expected, "{text}");
        }
        check("DaemonSet", "{}", "{controller-revision-hash: x1}", &["s-x1"]);
        check("DaemonSet", "{}", "{a: b}", &[]);
        let outdated = "{currentNumberScheduled: 3, updatedNumberScheduled: 0}";
        check("DaemonSet", outdated, "{controller-revision-hash: x1}", &[]);
        check("StatefulSet", "{}", "{controller-revision-hash: s-x1}", &["s-x1"]);
        check("StatefulSet", "{updateRevision: s-x2}", "{controller-revision-hash: s-x1}", &["s-x2"]);
    }
}
