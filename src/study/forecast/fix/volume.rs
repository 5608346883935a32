//! Volumes that every node can reach.

use std::collections::BTreeSet;

use super::objects::{change_templates, claims_of, replicas_of};
use super::{Change, Circumstances};
use crate::arena::Symbol;
use crate::model::{ManifestObject, Object, PersistentVolumeClaim, StorageClass};
use crate::scenario::ResolvedScenario;
use crate::study::edit::path_of;

/// Volumes that every node can reach.
pub(super) struct Volume;

/// What a class is called whose volumes every node can reach, behind the name of the class that is used now.
const EVERYWHERE: &str = "everywhere";

impl Change for Volume {
    fn file(&self) -> &'static str {
        "volume"
    }

    fn words(&self) -> &'static str {
        "move its data to volumes that every node can reach (a regional disk, a network file system)"
    }

    fn cause(&self) -> [&'static str; 2] {
        ["is pinned to a node or zone by its volume", "are pinned to a node or zone by their volumes"]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool {
        let volumes = &around.store.volumes;
        let namespace = object.metadata().namespace;
        let is_pinned = |claim: Symbol| {
            let volume = volumes.volume_of(namespace, claim).and_then(|id| volumes.volume(id));
            volume.is_some_and(|volume| volume.spec.node_affinity.is_some())
        };
        replicas_of(object).is_some() && claims_of(object).into_iter().any(is_pinned)
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        let objects = &mut scenario.objects;
        let chosen =
            || objects.iter().map(|object| &object.object).filter(|object| workloads.contains(&path_of(object)));
        let claims: BTreeSet<(&str, &str)> = chosen()
            .flat_map(|object| {
                let namespace = object.metadata().namespace;
                claims_of(object).into_iter().map(move |name| (namespace.as_str(), name.as_str()))
            })
            .collect();
        let is_ours = |namespace: Symbol, name: Symbol| claims.contains(&(namespace.as_str(), name.as_str()));
        let mut volumes: BTreeSet<&str> = BTreeSet::new();
        for object in objects.iter().map(|object| &object.object) {
            if let Object::PersistentVolumeClaim(claim) = object
                && is_ours(claim.metadata.namespace, claim.metadata.name)
                && let Some(volume) = claim.spec.volume_name
            {
                volumes.insert(volume.as_str());
            }
        }
        let default = default_class(objects);
        let mut classes: BTreeSet<&str> = BTreeSet::new();
        let mut move_claim = |claim: &mut PersistentVolumeClaim| {
            let class = claim.spec.storage_class_name.or(default).filter(|class| !class.is_empty());
            if let Some(class) = class.filter(|_| claim.spec.volume_name.is_none()) {
                classes.insert(class.as_str());
                claim.spec.storage_class_name = Some(everywhere(class));
            }
        };
        for object in objects.iter_mut().map(|object| &mut object.object) {
            let path = path_of(object);
            match object {
                Object::PersistentVolume(volume) => {
                    let reserved = volume.spec.claim_ref.as_ref();
                    let is_reserved = reserved.is_some_and(|claim| is_ours(claim.namespace, claim.name));
                    if is_reserved || volumes.contains(volume.metadata.name.as_str()) {
                        volume.spec.node_affinity = None;
                    }
                }
                Object::PersistentVolumeClaim(claim) if is_ours(claim.metadata.namespace, claim.metadata.name) => {
                    move_claim(claim);
                }
                Object::StatefulSet(set) if workloads.contains(&path) => {
                    set.spec.volume_claim_templates.iter_mut().for_each(&mut move_claim);
                }
                _ => {}
            }
        }
        let made: Vec<ManifestObject> =
            objects.iter().filter_map(|object| class_everywhere(object, &classes)).collect();
        objects.extend(made);
        // Their pods are made anew, where they can be now.
        change_templates(objects, workloads, |_, _| {});
    }

    fn by_hand(&self) -> Option<&'static str> {
        Some(
            "Move the data of these claims to volumes that every node can reach: a regional disk, or a network file system. Make its \
             storage class, with the provisioner of your storage; stop the workload, copy the data to claims of that class, and start it \
             with these.",
        )
    }
}

fn everywhere(class: Symbol) -> Symbol {
    Symbol::from(format!("{class}-{EVERYWHERE}"))
}

fn default_class(objects: &[ManifestObject]) -> Option<Symbol> {
    const DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
    let is_default = |class: &StorageClass| {
        class.metadata.annotations.get(&Symbol::new(DEFAULT)).is_some_and(|value| value.as_str() == "true")
    };
    objects.iter().find_map(|object| match &object.object {
        Object::StorageClass(class) if is_default(class) => Some(class.metadata.name),
        _ => None,
    })
}

/// The class whose volumes are like those of this class, but for where they can be used.
fn class_everywhere(object: &ManifestObject, classes: &BTreeSet<&str>) -> Option<ManifestObject> {
    let mut made = object.clone();
    let Object::StorageClass(class) = &mut made.object else { return None };
    if !classes.contains(class.metadata.name.as_str()) {
        return None;
    }
    class.metadata.name = everywhere(class.metadata.name);
    class.metadata.uid = None;
    class.metadata.annotations.clear();
    class.provisioner = Symbol::from(format!("{EVERYWHERE}.forecast"));
    class.allowed_topologies.clear();
    Some(made)
}
