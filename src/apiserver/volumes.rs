//! Volumes, claims, classes, and what is attached where.

use std::sync::Arc;

use super::session::{Session, not_found};
use crate::component::{Answer, ApiError, ErrorReason, Reply};
use crate::model::config::AdmissionPlugin;
use crate::state::{
    Attachment, AttachmentPhase, Changed, ClaimOwner, Meta, NodeId, PersistentVolumeClaimId, PersistentVolumeId,
    Propagation,
};

const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";

/// A pod has gone: its claims whose deletion was asked for may go, too.
pub(super) fn pod_removed(s: &mut Session<'_>, pod: &crate::state::Pod) {
    for used in pod.claims() {
        let volumes = &s.store.volumes;
        let Some(id) = volumes.find_claim(pod.namespace, used.name) else { continue };
        if volumes.claim(id).is_some_and(|claim| claim.meta.deleting.is_some()) {
            // It exists, so that this cannot fail.
            let _ = delete_claim(s, id);
        }
    }
}

/// Whether a pod that has a node names a claim. Of others it is not kept: no kubelet starts a pod whose claim is being deleted.
///
/// # Source
/// kube-controller-manager, persistentvolumeclaim-protection-controller: `podUsesPVCForDeletion`.
pub(super) fn is_used(s: &Session<'_>, claim: &Meta) -> bool {
    let users = s.store.volumes.pods_using(claim.namespace, claim.name);
    users.iter().any(|pod| s.store.pod(*pod).is_some_and(|pod| pod.node.is_some()))
}

/// # Source
/// Finalizer `kubernetes.io/pvc-protection`: a claim that a pod uses stays until the last of them is gone.
pub(super) fn delete_claim(s: &mut Session<'_>, id: PersistentVolumeClaimId) -> Answer {
    let volumes = &s.store.volumes;
    let Some(claim) = volumes.claim(id) else { return Ok(Reply::Unchanged) };
    let is_held = !claim.meta.finalizers.is_empty();
    let is_used = is_protected(s) && is_used(s, &claim.meta);
    let volumes = &mut s.store.volumes;
    if is_used || is_held {
        if let Some(claim) = volumes.claim_mut(id)
            && claim.meta.deleting.is_none()
        {
            claim.meta.deleting = Some((s.now, Propagation::Background));
            s.changed.push(Changed::ClaimChanged(id));
        }
        return Ok(Reply::Done);
    }
    if let Some(claim) = volumes.remove_claim(id) {
        s.changed.push(Changed::ClaimRemoved(Arc::new(claim)));
    }
    Ok(Reply::Done)
}

/// # Source
/// Admission plugin StorageObjectInUseProtection, which gives claims and volumes their finalizers.
pub(super) fn is_protected(s: &Session<'_>) -> bool {
    s.config.kube_apiserver.admits_with(AdmissionPlugin::StorageObjectInUseProtection)
}

/// A claim of the input. What a dump was stripped of is seen from both sides: a claim and a volume that name each other are bound,
/// unless UIDs that are written say that they are not; and a `claimRef` says nothing of a claim that is written without a UID.
pub(super) fn claim_restored(s: &mut Session<'_>, id: PersistentVolumeClaimId, has_uid: bool) {
    let volumes = &mut s.store.volumes;
    let Some(claim) = volumes.claim(id) else { return };
    let (namespace, name, uid) = (claim.meta.namespace, claim.meta.name, claim.meta.uid);
    let (asks_for, was_bound, is_lost) = (claim.volume, claim.is_bound, claim.is_lost);
    let mut is_bound = was_bound;
    for id in volumes.reserved(namespace, name).collect::<Vec<_>>() {
        let Some(volume) = volumes.volume(id) else { continue };
        let is_same = volume.claim_uid.map(|known| !has_uid || known == uid);
        if asks_for == Some(volume.meta.name) && !is_lost && (is_same == Some(true) || (is_same.is_none() && was_bound))
        {
            is_bound = true;
            volumes.give_volume(id, (namespace, name), uid);
        } else if !has_uid {
            volumes.change_volume(id, |volume| volume.claim_uid = None);
        }
    }
    if let Some(claim) = volumes.claim_mut(id) {
        claim.is_bound = is_bound;
    }
}

/// Whether a volume is bound to a claim that is there.
///
/// # Source
/// kube-controller-manager, persistentvolume-protection-controller: `isBeingUsed`.
pub(super) fn is_bound(s: &Session<'_>, id: PersistentVolumeId) -> bool {
    let volumes = &s.store.volumes;
    let claim = volumes.volume(id).filter(|volume| !volume.is_released).and_then(|volume| volume.claim);
    claim.is_some_and(|(namespace, name)| volumes.volume_of(namespace, name) == Some(id))
}

pub(super) fn bind(s: &mut Session<'_>, claim: PersistentVolumeClaimId, volume: PersistentVolumeId) -> Answer {
    let volumes = &mut s.store.volumes;
    let object = volumes.claim(claim).ok_or_else(|| not_found(CLAIMS, ""))?;
    let (key, uid) = ((object.meta.namespace, object.meta.name), object.meta.uid);
    let asks_for = object.volume;
    let target = volumes.volume(volume).ok_or_else(|| not_found(VOLUMES, ""))?;
    let name = target.meta.name;
    let is_others = target.claim.is_some() && (target.is_released || !target.is_for(object));
    if is_others || asks_for.is_some_and(|other| other != name) {
        let text = format!("volume \"{name}\" already bound to a different claim.");
        return Err(ApiError::new(ErrorReason::Conflict, text));
    }
    let is_bound = object.is_bound;
    if !volumes.give_volume(volume, key, uid) && is_bound {
        return Ok(Reply::Unchanged);
    }
    if let Some(object) = volumes.claim_mut(claim) {
        object.volume = Some(name);
        object.is_bound = true;
    }
    s.changed.push(Changed::VolumeChanged(volume));
    s.changed.push(Changed::ClaimChanged(claim));
    Ok(Reply::Done)
}

pub(super) fn select_node(s: &mut Session<'_>, claim: PersistentVolumeClaimId, node: NodeId) -> Answer {
    let object = s.store.volumes.claim_mut(claim).ok_or_else(|| not_found(CLAIMS, ""))?;
    if object.selected_node.replace(node) == Some(node) {
        return Ok(Reply::Unchanged);
    }
    s.changed.push(Changed::ClaimChanged(claim));
    Ok(Reply::Done)
}

pub(super) fn set_claim_owner(
    s: &mut Session<'_>,
    claim: PersistentVolumeClaimId,
    owner: Option<ClaimOwner>,
) -> Answer {
    let object = s.store.volumes.claim(claim).ok_or_else(|| not_found(CLAIMS, ""))?;
    if object.owner == owner {
        return Ok(Reply::Unchanged);
    }
    s.store.volumes.set_claim_owner(claim, owner);
    s.changed.push(Changed::ClaimChanged(claim));
    Ok(Reply::Done)
}

pub(super) fn release(s: &mut Session<'_>, id: PersistentVolumeId) -> Answer {
    s.store.volumes.volume(id).ok_or_else(|| not_found(VOLUMES, ""))?;
    s.store.volumes.release_volume(id);
    if s.store.volumes.volume(id).is_some_and(|volume| super::finalizers::is_let_go(&volume.meta)) {
        s.store.volumes.remove_volume(id);
        s.changed.push(Changed::VolumeRemoved(id));
        return Ok(Reply::Done);
    }
    s.changed.push(Changed::VolumeChanged(id));
    Ok(Reply::Done)
}

/// What the control plane knows of a volume on a node. What a node without an object says is not kept.
pub(super) fn set_attachment(
    s: &mut Session<'_>,
    volume: PersistentVolumeId,
    node: NodeId,
    phase: Option<AttachmentPhase>,
) -> Answer {
    let before = s.store.volumes.attachment(volume, node);
    let in_use = before.in_use && (phase.is_some() || s.store.node(node).is_some());
    write(s, volume, node, before, Attachment { phase, in_use })
}

pub(super) fn report(s: &mut Session<'_>, volume: PersistentVolumeId, node: NodeId, in_use: bool) -> Answer {
    let name = s.store.node_name(node);
    if s.store.node(node).is_none() {
        return Err(not_found("nodes", name.as_str()));
    }
    let before = s.store.volumes.attachment(volume, node);
    write(s, volume, node, before, Attachment { in_use, ..before })
}

fn write(
    s: &mut Session<'_>,
    volume: PersistentVolumeId,
    node: NodeId,
    before: Attachment,
    after: Attachment,
) -> Answer {
    if before == after {
        return Ok(Reply::Unchanged);
    }
    s.store.volumes.set_attachment(volume, node, after);
    s.changed.push(Changed::AttachmentChanged { volume, node });
    Ok(Reply::Done)
}
