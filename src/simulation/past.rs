//! Which objects of the input come from a cluster, as opposed to a file that was written to be applied.
//!
//! A cold start applies manifests. What a dump shows has been applied long ago: were it applied once more, its pods would stand beside
//! those that their owners make again, and Jobs that are over would run again.

use std::collections::BTreeSet;

use crate::arena::Symbol;
use crate::model::{Object, PodPhase};

/// Kind, namespace and name.
pub(super) type Key = (Symbol, Symbol, Symbol);

pub(super) fn key(object: &Object) -> Key {
    let metadata = object.metadata();
    (Symbol::new(object.kind().as_str()), metadata.namespace, metadata.name)
}

/// Whether an API server or a controller has written a part of it.
fn was_there(object: &Object) -> bool {
    let metadata = object.metadata();
    let is_stamped = metadata.creation_timestamp.is_some() || metadata.uid.is_some_and(|uid| !uid.is_empty());
    let has_run = match object {
        Object::Pod(pod) => pod.status.phase != PodPhase::Pending,
        _ => false,
    };
    is_stamped || has_run || !metadata.owner_references.is_empty()
}

/// Those that come from a cluster, with everything that owns one of them.
pub(super) fn keys(objects: &[&Object]) -> BTreeSet<Key> {
    let mut past: BTreeSet<Key> = BTreeSet::new();
    for object in objects.iter().filter(|object| was_there(object)) {
        past.insert(key(object));
        let namespace = object.metadata().namespace;
        // An owner has references of its own if it was made by a controller: it is among those that were there.
        past.extend(object.metadata().owner_references.iter().map(|owner| (owner.kind, namespace, owner.name)));
    }
    past
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::load_text;

    #[test]
    fn what_a_dump_shows_and_what_owns_it_was_there() {
        let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: applied}\n---\n\
                    apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: owner}\n---\n\
                    apiVersion: v1\nkind: Pod\nmetadata: {name: owned, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: \
                    owner, uid: u, controller: true}]}\nspec: {containers: [{name: c, image: i}]}\n---\n\
                    apiVersion: v1\nkind: Pod\nmetadata: {name: ran}\nspec: {containers: [{name: c, image: i}]}\nstatus: {phase: Failed}\n---\n\
                    apiVersion: v1\nkind: Pod\nmetadata: {name: pinned}\nspec: {nodeName: n, containers: [{name: c, image: i}]}\n---\n\
                    apiVersion: batch/v1\nkind: Job\nmetadata: {name: stamped, creationTimestamp: '2026-01-01T00:00:00Z'}\n";
        let loaded = load_text("x.yaml", text);
        let objects: Vec<&Object> = loaded.objects.iter().map(|object| &object.object).collect();
        let names: BTreeSet<&str> = keys(&objects).into_iter().map(|(_, _, name)| name.as_str()).collect();
        assert_eq!(names, BTreeSet::from(["owned", "owner", "ran", "stamped"]));
    }
}
