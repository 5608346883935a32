//! Owner references beside the controlling one that acts.

use super::session::Session;
use crate::arena::Symbol;
use crate::component::{Answer, Reply};
use crate::model::{AnyKind, Object, ObjectKind};
use crate::state::{Changed, ClaimOwner, Dependent, DependentKey, Owner, Reference, Store, Uid, WorkloadId, printed};

/// Where the objects come from whose owners are looked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// The input: what it does not hold may well be there.
    Input,
    /// A request: what is not there is gone.
    Request,
}

/// Which object it is, and the owners that it names.
pub(super) fn written(object: &Object) -> Option<(DependentKey, Dependent)> {
    let metadata = object.metadata();
    if metadata.owner_references.is_empty() {
        return None;
    }
    let kind = object.stored_kind().map_or(AnyKind::Modelled(object.kind()), AnyKind::Stored);
    let owners = metadata.owner_references.iter().map(|owner| Reference {
        api_version: owner.api_version,
        kind: owner.kind,
        name: owner.name,
        uid: Uid::from_text(owner.uid.as_str()),
        is_controller: owner.controller,
        blocks: owner.block_owner_deletion,
        is_assumed: false,
    });
    let key = (printed(kind), metadata.namespace, metadata.name);
    Some((key, Dependent { kind, uid: Uid::default(), owners: owners.collect() }))
}

/// Keeps the owners of an object that was just made. Those of the input are [linked](link) once all is there.
pub(super) fn keep(s: &mut Session<'_>, key: DependentKey, mut dependent: Dependent, from: From) {
    let Some(uid) = s.store.uid_of(dependent.kind, key.1, key.2) else { return };
    dependent.uid = uid;
    if from == From::Input && has_owner(dependent.kind) {
        // Those of nearly all objects of a dump: they are linked as `owner`, and need no place here.
        dependent.owners.retain(|owner| !owner.is_controller || !may_act(owner));
    }
    s.store.references.set(key, Some(dependent));
    if from == From::Request {
        link(s.store, &key, from);
        s.changed.push(Changed::ReferencesChanged);
    }
}

/// Looks for the owners of all objects of the input.
pub(super) fn link_all(store: &mut Store) {
    let keys: Vec<DependentKey> = store.references.iter().map(|(key, _)| *key).collect();
    for key in keys {
        link(store, &key, From::Input);
    }
}

/// A controlling owner that acts is the object's `owner`; the others are known by their UIDs from here on.
fn link(store: &mut Store, key: &DependentKey, from: From) {
    let Some(mut dependent) = store.references.get(key).cloned() else { return };
    let (namespace, kind) = (key.1, dependent.kind);
    dependent.owners.retain_mut(|owner| {
        let found = store.uid_of_owner(namespace, owner);
        if let Some(uid) = found.filter(|_| owner.uid == Uid::from_text("")) {
            owner.uid = uid;
        }
        let is_found = found == Some(owner.uid);
        let is_custom = matches!(owner.owner_kind(), AnyKind::Stored(kind) if !kind.is_built_in());
        owner.is_assumed = !is_found && (from == From::Input || is_custom);
        if is_claim(kind) {
            return !tie_claim(store, key, owner);
        }
        if !owner.is_controller || !has_owner(kind) {
            return true;
        }
        match acting(store, namespace, owner) {
            Some(acting) => {
                set_owner(store, kind, key, Some(acting));
                false
            }
            // A name that counts as alive is told by `owner` alone.
            None => !owner.is_assumed,
        }
    });
    store.references.set(*key, Some(dependent));
}

fn is_claim(kind: AnyKind) -> bool {
    kind == AnyKind::Modelled(ObjectKind::PersistentVolumeClaim)
}

/// A claim's owner that is a StatefulSet or a pod is the claim's `owner`, whether it controls it or, as StatefulSets of earlier
/// versions had it, does not. False if it is neither, is gone, or the claim has such an owner already.
fn tie_claim(store: &mut Store, key: &DependentKey, owner: &Reference) -> bool {
    let (_, namespace, name) = *key;
    let set = match store.workload_of_owner(namespace, owner) {
        Some(WorkloadId::StatefulSet(id)) => Some(ClaimOwner::StatefulSet(id)),
        _ => None,
    };
    let is_pod = owner.owner_kind() == AnyKind::Modelled(ObjectKind::Pod);
    let pod = || store.find_pod(namespace, &std::sync::Arc::from(owner.name.as_str())).filter(|_| is_pod);
    let pod = || pod().filter(|id| store.pod(*id).is_some_and(|pod| pod.uid == owner.uid)).map(ClaimOwner::Pod);
    let Some(acting) = set.or_else(pod) else { return false };
    let Some(id) = store.volumes.find_claim(namespace, name) else { return false };
    let Some(claim) = store.volumes.claim_mut(id).filter(|claim| claim.owner.is_none()) else { return false };
    // The name alone is not to outlive the reference.
    claim.meta.owner = None;
    store.volumes.set_claim_owner(id, Some(acting));
    true
}

/// Kinds whose `owner` decides.
fn has_owner(kind: AnyKind) -> bool {
    let AnyKind::Modelled(kind) = kind else { return false };
    kind.is_workload() || matches!(kind, ObjectKind::Pod | ObjectKind::ControllerRevision)
}

/// Whether an owner would be an object's `owner` if it were there, or is of a kind that nobody knows.
fn may_act(owner: &Reference) -> bool {
    match owner.owner_kind() {
        AnyKind::Modelled(kind) => kind.is_workload() || kind == ObjectKind::Node,
        AnyKind::Stored(kind) => !kind.is_built_in(),
    }
}

/// The owner that a reference names, if it is a workload or a Node.
fn acting(store: &Store, namespace: Symbol, owner: &Reference) -> Option<Owner> {
    if let Some(id) = store.workload_of_owner(namespace, owner) {
        return Some(id.as_owner());
    }
    let node = store.find_node(owner.name).filter(|_| owner.owner_kind() == AnyKind::Modelled(ObjectKind::Node))?;
    store.node(node).filter(|found| found.uid == owner.uid).map(|_| Owner::Node(node))
}

/// Writes who owns an object whose `owner` decides.
fn set_owner(store: &mut Store, kind: AnyKind, key: &DependentKey, owner: Option<Owner>) {
    let (_, namespace, name) = *key;
    match kind {
        AnyKind::Modelled(ObjectKind::Pod) => {
            let pod = store.find_pod(namespace, &std::sync::Arc::from(name.as_str()));
            // Mirror pods are tied to their Node as they come.
            if let Some(pod) = pod.filter(|pod| store.pod(*pod).is_some_and(|pod| pod.owner != owner)) {
                store.set_pod_owner(pod, owner);
            }
        }
        AnyKind::Modelled(kind) if kind.is_workload() => {
            let id: Option<WorkloadId> = store.find_workload(kind, namespace, name);
            if let Some(id) = id.filter(|id| store.workload_meta(*id).is_some_and(|meta| meta.owner != owner)) {
                store.set_workload_owner(id, owner);
            }
        }
        AnyKind::Modelled(ObjectKind::PersistentVolumeClaim) => {
            let claim = store.volumes.find_claim(namespace, name).and_then(|id| store.volumes.claim_mut(id));
            if let Some(claim) = claim {
                claim.meta.owner = owner;
            }
        }
        // Revisions of the input are linked with all others.
        _ => {}
    }
}

/// Takes owners off an object.
pub(super) fn drop_owners(s: &mut Session<'_>, kind: AnyKind, namespace: Symbol, name: Symbol, uids: &[Uid]) -> Answer {
    let owners = s.store.owners_beside(kind, namespace, name);
    let left: Vec<Reference> = owners.iter().filter(|owner| !uids.contains(&owner.uid)).cloned().collect();
    if left.len() == owners.len() {
        return Ok(Reply::Unchanged);
    }
    let loses_controller = owners.len() - left.len()
        > owners.iter().filter(|owner| !owner.is_controller && uids.contains(&owner.uid)).count();
    let uid = s.store.uid_of(kind, namespace, name).unwrap_or_default();
    let key = (printed(kind), namespace, name);
    s.store.references.set(key, Some(Dependent { kind, uid, owners: left }));
    // The name of a controlling owner that is gone goes with its reference.
    if loses_controller && (has_owner(kind) || is_claim(kind)) {
        set_owner(s.store, kind, &key, None);
    }
    s.changed.push(Changed::ReferencesChanged);
    Ok(Reply::Done)
}

/// The kinds of objects that a request has taken away.
pub(super) fn removed(changed: &[Changed], deleted: impl IntoIterator<Item = AnyKind>) -> Vec<AnyKind> {
    let of_change = changed.iter().flat_map(|change| match change {
        Changed::PodRemoved { .. } => vec![ObjectKind::Pod],
        Changed::NodeRemoved { .. } => vec![ObjectKind::Node],
        Changed::WorkloadRemoved(WorkloadId::ReplicaSet(_)) => {
            vec![ObjectKind::ReplicaSet, ObjectKind::ReplicationController]
        }
        Changed::WorkloadRemoved(id) => vec![id.kind()],
        Changed::ClaimRemoved(_) => vec![ObjectKind::PersistentVolumeClaim],
        Changed::VolumeRemoved(_) => vec![ObjectKind::PersistentVolume],
        Changed::NamespaceRemoved(_) => vec![ObjectKind::Namespace],
        _ => Vec::new(),
    });
    let mut kinds: Vec<AnyKind> = of_change.map(AnyKind::Modelled).chain(deleted).collect();
    kinds.dedup();
    kinds
}

/// Forgets what objects that are gone named, and tells who watches.
pub(super) fn settle(store: &mut Store, removed: &[AnyKind], changed: &mut Vec<Changed>) {
    if !removed.iter().any(|kind| store.references.concern(*kind)) {
        return;
    }
    let is_left = |(key, dependent): &(&DependentKey, &Dependent)| {
        store.uid_of(dependent.kind, key.1, key.2) != Some(dependent.uid)
    };
    let stale: Vec<DependentKey> = store
        .references
        .iter()
        .filter(|(_, dependent)| removed.contains(&dependent.kind))
        .filter(is_left)
        .map(|(key, _)| *key)
        .collect();
    for key in stale {
        store.references.set(key, None);
    }
    changed.push(Changed::ReferencesChanged);
}
