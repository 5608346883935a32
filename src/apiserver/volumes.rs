//! Volumes, claims, classes, and what is attached where.

use std::sync::Arc;

use super::{ApiServer, Session, already_exists, limit_ranger, not_found, resource_quota};
use crate::arena::Symbol;
use crate::component::{Answer, ApiError, Counted, ErrorReason, Reply};
use crate::model::{self, Object, PersistentVolumeClaimPhase, PersistentVolumePhase};
use crate::state::{
    Attachment, AttachmentPhase, Changed, NodeId, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimId,
    PersistentVolumeId, PodId,
};

const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";

impl ApiServer {
    pub(super) fn put_volume(&mut self, s: &mut Session<'_>, mut o: model::PersistentVolume) -> Answer {
        let name = o.metadata.name;
        if s.store.volumes.find_volume(name).is_some() {
            return Err(already_exists(VOLUMES, name.as_str()));
        }
        let claim = o.spec.claim_ref.take().map(|claim| (claim.namespace, claim.name));
        let is_released =
            matches!(o.status.phase, Some(PersistentVolumePhase::Released | PersistentVolumePhase::Failed));
        let meta = self.meta(s, "PersistentVolume", &o.metadata);
        let driver = o.spec.driver();
        let volume = PersistentVolume { meta, spec: Arc::new(o.spec), claim, is_released, driver };
        let id = s.store.volumes.insert_volume(volume);
        s.changed.push(Changed::VolumeChanged(id));
        Ok(Reply::Done)
    }

    /// # Source
    /// kube-apiserver, admission DefaultStorageClass: a claim that names no class gets the default one; of several the
    /// youngest, then the first by name.
    ///
    /// # Differs
    /// The age of classes is not looked at.
    pub(super) fn put_claim(&mut self, s: &mut Session<'_>, mut o: model::PersistentVolumeClaim) -> Answer {
        let (namespace, name) = (o.metadata.namespace, o.metadata.name);
        if s.store.volumes.find_claim(namespace, name).is_some() {
            return Err(already_exists(CLAIMS, name.as_str()));
        }
        let annotation = |key: &str| o.metadata.annotations.get(&Symbol::new(key)).copied();
        if o.spec.storage_class_name.is_none() {
            let by_name = |class: &&Arc<model::StorageClass>| class.metadata.name.as_str();
            let has_default = s.config.kube_apiserver.admits_with("DefaultStorageClass");
            let classes = s.store.volumes.classes.iter().filter(|class| has_default && class.is_default());
            let default = classes.min_by_key(by_name);
            o.spec.storage_class_name = annotation("volume.beta.kubernetes.io/storage-class")
                .or_else(|| default.map(|class| class.metadata.name));
        }
        let selected_node = annotation("volume.kubernetes.io/selected-node").map(|node| s.store.node_slot(node));
        if !self.is_restoring {
            limit_ranger::check_claim(s, &o)?;
            let new = Counted::Claim(&o.spec);
            resource_quota::charge(s, namespace, (CLAIMS, name.as_str()), new, None)?.commit(s);
        }
        let volume = o.spec.volume_name.take();
        let meta = self.meta(s, "PersistentVolumeClaim", &o.metadata);
        let is_lost = o.status.phase == PersistentVolumeClaimPhase::Lost;
        let spec = Arc::new(o.spec);
        let claim = PersistentVolumeClaim { meta, spec, volume, is_lost, selected_node, owner_pod: None };
        let id = s.store.volumes.insert_claim(claim);
        s.changed.push(Changed::ClaimChanged(id));
        Ok(Reply::Done)
    }
}

/// The resource of StorageClasses as errors name it.
const CLASSES: &str = "storageclasses.storage.k8s.io";

pub(super) fn put_storage_class(s: &mut Session<'_>, o: model::StorageClass) -> Answer {
    if s.store.volumes.class(o.metadata.name).is_some() {
        return Err(already_exists(CLASSES, o.metadata.name.as_str()));
    }
    s.store.volumes.classes.push(Arc::new(o));
    s.changed.push(Changed::StorageChanged);
    Ok(Reply::Done)
}

/// PUT or POST of a class, a driver or a node's drivers.
pub(super) fn apply_storage(s: &mut Session<'_>, object: Object) -> Answer {
    let volumes = &mut s.store.volumes;
    match object {
        Object::StorageClass(mut o) => {
            o.apply_defaults();
            let Some(old) = volumes.classes.iter_mut().find(|class| class.metadata.name == o.metadata.name) else {
                return put_storage_class(s, *o);
            };
            if **old == *o {
                return Ok(Reply::Unchanged);
            }
            *old = Arc::new(*o);
        }
        Object::CSIDriver(o) => {
            if volumes.drivers.iter().any(|driver| **driver == *o) {
                return Ok(Reply::Unchanged);
            }
            return put_driver(s, *o);
        }
        Object::CSINode(o) => {
            if volumes.csi_nodes.get(&o.metadata.name).is_some_and(|old| **old == *o) {
                return Ok(Reply::Unchanged);
            }
            return put_csi_node(s, *o);
        }
        _ => return Ok(Reply::Unchanged),
    }
    s.changed.push(Changed::StorageChanged);
    Ok(Reply::Done)
}

/// DELETE of a class, a driver or a node's drivers; false if there is none of that name, or the kind is another.
pub(super) fn delete_storage(s: &mut Session<'_>, kind: &str, name: Symbol) -> bool {
    let volumes = &mut s.store.volumes;
    let count =
        |volumes: &crate::state::Volumes| (volumes.classes.len(), volumes.drivers.len(), volumes.csi_nodes.len());
    let before = count(volumes);
    match kind {
        "storageclass.storage.k8s.io" => volumes.classes.retain(|class| class.metadata.name != name),
        "csidriver.storage.k8s.io" => volumes.drivers.retain(|driver| driver.metadata.name != name),
        "csinode.storage.k8s.io" => drop(volumes.csi_nodes.remove(&name)),
        _ => {}
    }
    let is_gone = count(volumes) != before;
    if is_gone {
        s.changed.push(Changed::StorageChanged);
    }
    is_gone
}

pub(super) fn put_driver(s: &mut Session<'_>, o: model::CSIDriver) -> Answer {
    s.store.volumes.drivers.retain(|driver| driver.metadata.name != o.metadata.name);
    s.store.volumes.drivers.push(Arc::new(o));
    s.changed.push(Changed::StorageChanged);
    Ok(Reply::Done)
}

pub(super) fn put_csi_node(s: &mut Session<'_>, o: model::CSINode) -> Answer {
    s.store.volumes.csi_nodes.insert(o.metadata.name, Arc::new(o));
    s.changed.push(Changed::StorageChanged);
    Ok(Reply::Done)
}

/// # Source
/// Finalizer `kubernetes.io/pvc-protection`: a claim that a pod uses stays until the last of them is gone.
pub(super) fn delete_claim(s: &mut Session<'_>, namespace: Symbol, name: Symbol) -> Result<(), ApiError> {
    let volumes = &s.store.volumes;
    let id = volumes.find_claim(namespace, name).ok_or_else(|| not_found(CLAIMS, name.as_str()))?;
    let is_held = volumes.claim(id).is_some_and(|claim| !claim.meta.finalizers.is_empty());
    let is_used = is_protected(s) && !volumes.pods_using(namespace, name).is_empty();
    let volumes = &mut s.store.volumes;
    if is_used || is_held {
        if let Some(claim) = volumes.claim_mut(id)
            && claim.meta.deleting.is_none()
        {
            claim.meta.deleting = Some((s.now, crate::state::Propagation::Background));
            s.changed.push(Changed::ClaimChanged(id));
        }
        return Ok(());
    }
    if let Some(claim) = volumes.remove_claim(id) {
        s.changed.push(Changed::ClaimRemoved(Arc::new(claim)));
    }
    Ok(())
}

/// A pod has gone: its claims whose deletion was asked for may go, too.
pub(super) fn pod_removed(s: &mut Session<'_>, pod: &crate::state::Pod) {
    for used in pod.claims() {
        let volumes = &s.store.volumes;
        let claim = volumes.find_claim(pod.namespace, used.name).and_then(|id| volumes.claim(id));
        if claim.is_some_and(|claim| claim.meta.deleting.is_some()) {
            // It exists, so that this cannot fail.
            let _ = delete_claim(s, pod.namespace, used.name);
        }
    }
}

pub(super) fn delete_volume(s: &mut Session<'_>, name: Symbol) -> Result<(), ApiError> {
    let id = s.store.volumes.find_volume(name).ok_or_else(|| not_found(VOLUMES, name.as_str()))?;
    let is_held = s.store.volumes.volume(id).is_some_and(|volume| !volume.meta.finalizers.is_empty());
    if is_held || (is_protected(s) && is_bound(s, id)) {
        let now = s.now;
        let mark = |volume: &mut PersistentVolume| {
            volume.meta.deleting.get_or_insert((now, crate::state::Propagation::Background));
        };
        s.store.volumes.change_volume(id, mark);
        s.changed.push(Changed::VolumeChanged(id));
        return Ok(());
    }
    s.store.volumes.remove_volume(id);
    s.changed.push(Changed::VolumeRemoved(id));
    Ok(())
}

/// # Source
/// Admission plugin StorageObjectInUseProtection, which gives claims and volumes their finalizers.
fn is_protected(s: &Session<'_>) -> bool {
    s.config.kube_apiserver.admits_with("StorageObjectInUseProtection")
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
    let key = (object.meta.namespace, object.meta.name);
    let bound_to = object.volume;
    let target = volumes.volume(volume).ok_or_else(|| not_found(VOLUMES, ""))?;
    let name = target.meta.name;
    let is_taken = target.claim.is_some_and(|other| other != key) || bound_to.is_some_and(|other| other != name);
    if is_taken {
        let text = format!("volume \"{name}\" already bound to a different claim.");
        return Err(ApiError::new(ErrorReason::Conflict, text));
    }
    if volumes.reserve_volume(volume, key).is_some() && bound_to.is_some() {
        return Ok(Reply::Unchanged);
    }
    if let Some(object) = volumes.claim_mut(claim) {
        object.volume = Some(name);
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

pub(super) fn set_claim_owner(s: &mut Session<'_>, claim: PersistentVolumeClaimId, pod: Option<PodId>) -> Answer {
    let object = s.store.volumes.claim_mut(claim).ok_or_else(|| not_found(CLAIMS, ""))?;
    if object.owner_pod == pod {
        return Ok(Reply::Unchanged);
    }
    object.owner_pod = pod;
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
