//! PersistentVolumeClaims.

use std::sync::Arc;

use super::strategy::{Key, Strategy};
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::{Session, Standing};
use crate::apiserver::{finalizers, limit_ranger, resource_quota, validation, volumes};
use crate::arena::{Symbol, sym};
use crate::component::{Answer, ApiError, CLAIM_PROTECTION, Counted, ErrorReason, Reply, export_claim};
use crate::model::config::AdmissionPlugin;
use crate::model::{self, Object, ObjectKind, PersistentVolumeClaimPhase};
use crate::state::{Changed, PersistentVolumeClaim, PersistentVolumeClaimId, Store};

impl Strategy for model::PersistentVolumeClaim {
    type Id = PersistentVolumeClaimId;
    const RESOURCE: &'static str = "persistentvolumeclaims";
    const VALIDATES_UPDATES: bool = true;

    fn find(store: &Store, key: &Key) -> Option<PersistentVolumeClaimId> {
        store.volumes.find_claim(key.namespace, key.name)
    }

    fn standing(store: &Store, id: PersistentVolumeClaimId) -> Standing {
        Standing::of(store.volumes.claim(id).and_then(|claim| claim.meta.deleting))
    }

    /// # Source
    /// kube-apiserver, admission DefaultStorageClass: a claim that names no class gets the default one; of several the
    /// youngest, then the first by name.
    ///
    /// # Differs
    /// The age of classes is not looked at.
    fn create(mut self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        let (namespace, name) = (self.metadata.namespace, self.metadata.name);
        let annotation = |key: &str| self.metadata.annotations.get(&Symbol::new(key)).copied();
        if self.spec.storage_class_name.is_none() {
            let by_name = |class: &&Arc<model::StorageClass>| class.metadata.name.as_str();
            let has_default = s.config.kube_apiserver.admits_with(AdmissionPlugin::DefaultStorageClass);
            let classes = s.store.volumes.classes.iter().filter(|class| has_default && class.is_default());
            let default = classes.min_by_key(by_name);
            self.spec.storage_class_name = annotation("volume.beta.kubernetes.io/storage-class")
                .or_else(|| default.map(|class| class.metadata.name));
        }
        let selected_node = annotation("volume.kubernetes.io/selected-node").map(|node| s.store.node_slot(node));
        if !api.is_restoring {
            limit_ranger::check_claim(s, &self)?;
            let new = Counted::Claim(&self.spec);
            resource_quota::charge(s, namespace, (Self::RESOURCE, name.as_str()), new, None)?.commit(s);
        }
        let volume = self.spec.volume_name.take();
        let meta = api.meta(s, "PersistentVolumeClaim", &self.metadata);
        let is_of_input = api.is_restoring || api.is_applying_input;
        let phase = self.status.phase;
        let is_lost = phase == PersistentVolumeClaimPhase::Lost;
        let is_bound = has_been_bound(&self.metadata) || (is_of_input && phase == PersistentVolumeClaimPhase::Bound);
        let has_uid = self.metadata.uid.is_some_and(|uid| !uid.is_empty());
        let spec = Arc::new(self.spec);
        let claim = PersistentVolumeClaim { meta, spec, volume, is_bound, is_lost, selected_node, owner: None };
        let id = s.store.volumes.insert_claim(claim);
        if is_of_input {
            volumes::claim_restored(s, id, has_uid);
        }
        s.changed.push(Changed::ClaimChanged(id));
        Ok(Reply::Done)
    }

    /// # Source
    /// kube-apiserver, `ValidatePersistentVolumeClaimUpdate`; pvc-protection-controller: a claim that is being deleted stays until
    /// somebody takes its finalizer away.
    fn replace(self, _api: &mut ApiServer, s: &mut Session<'_>, id: PersistentVolumeClaimId) -> Answer {
        let Some(old) = export_claim(s.store, id) else { return Ok(Reply::Unchanged) };
        let is_protected = self.metadata.finalizers.contains(&Symbol::new(CLAIM_PROTECTION));
        let held_by = finalizers::foreign(&self.metadata.finalizers);
        if let Some(claim) = s.store.volumes.claim(id).filter(|claim| claim.meta.deleting.is_some()) {
            let is_used = is_protected && volumes::is_used(s, &claim.meta);
            let name = old.metadata.name.as_str();
            finalizers::refuse_new(
                ObjectKind::PersistentVolumeClaim,
                name,
                &self.metadata.finalizers,
                &old.metadata.finalizers,
            )?;
            if held_by.is_empty() && !is_used {
                if let Some(claim) = s.store.volumes.remove_claim(id) {
                    s.changed.push(Changed::ClaimRemoved(Arc::new(claim)));
                }
                return Ok(Reply::Done);
            }
        }
        let (new, old) = (Object::from(self), Object::from(old));
        validation::change(s, &new, &old)?;
        let (Object::PersistentVolumeClaim(mut new), Object::PersistentVolumeClaim(old)) = (new, old) else {
            return Ok(Reply::Unchanged);
        };
        check_resize(s, &new, &old)?;
        limit_ranger::check_claim(s, &new)?;
        let of = (Self::RESOURCE, new.metadata.name.as_str());
        let (asked, had) = (Counted::Claim(&new.spec), Counted::Claim(&old.spec));
        resource_quota::charge(s, new.metadata.namespace, of, asked, Some(had))?.commit(s);
        let volume = new.spec.volume_name.take();
        let Some(claim) = s.store.volumes.claim_mut(id) else { return Ok(Reply::Unchanged) };
        let is_same = claim.meta.labels == new.metadata.labels
            && *claim.meta.annotations == new.metadata.annotations
            && claim.meta.finalizers == held_by
            && *claim.spec == new.spec
            && claim.volume == volume;
        if is_same {
            return Ok(if is_protected { Reply::Unchanged } else { Reply::Done });
        }
        let is_marked = has_been_bound(&new.metadata);
        if is_marked != has_been_bound(&old.metadata) {
            claim.is_bound = is_marked;
        }
        claim.meta.labels = new.metadata.labels;
        claim.meta.annotations = Arc::new(new.metadata.annotations);
        claim.meta.finalizers = held_by;
        claim.spec = Arc::new(new.spec);
        claim.volume = volume;
        s.changed.push(Changed::ClaimChanged(id));
        Ok(Reply::Done)
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, id: PersistentVolumeClaimId) -> Answer {
        volumes::delete_claim(s, id)
    }
}

/// Whether the binder's mark is there: the claim was bound once.
fn has_been_bound(metadata: &model::ObjectMeta) -> bool {
    metadata.annotations.contains_key(&sym!("pv.kubernetes.io/bind-completed"))
}

/// # Source
/// kube-apiserver, the admission plugin PersistentVolumeClaimResize.
fn check_resize(
    s: &Session<'_>,
    new: &model::PersistentVolumeClaim,
    old: &model::PersistentVolumeClaim,
) -> Result<(), ApiError> {
    let size = |claim: &model::PersistentVolumeClaim| {
        claim.spec.resources.requests.get(Symbol::new("storage")).copied().unwrap_or_default()
    };
    if !s.config.kube_apiserver.admits_with(AdmissionPlugin::PersistentVolumeClaimResize) || size(new) <= size(old) {
        return Ok(());
    }
    let class = |claim: &model::PersistentVolumeClaim| claim.spec.storage_class_name.filter(|name| !name.is_empty());
    let expands = |name| s.store.volumes.class(name).is_some_and(|class| class.allow_volume_expansion == Some(true));
    let why = if old.status.phase != PersistentVolumeClaimPhase::Bound {
        "Only bound persistent volume claims can be expanded"
    } else if class(new) != class(old) || !class(old).is_some_and(expands) {
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
    } else {
        return Ok(());
    };
    let message = format!("persistentvolumeclaims \"{}\" is forbidden: {why}", new.metadata.name);
    Err(ApiError::new(ErrorReason::Forbidden, message))
}
