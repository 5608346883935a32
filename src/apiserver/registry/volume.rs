//! PersistentVolumes.

use std::sync::Arc;

use super::strategy::{Key, Strategy};
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::apiserver::{finalizers, validation, volumes};
use crate::arena::Symbol;
use crate::component::{Answer, Reply, VOLUME_PROTECTION, export_volume};
use crate::model::{self, Object, ObjectKind, ObjectReference, PersistentVolumePhase};
use crate::state::{Changed, PersistentVolume, PersistentVolumeId, Propagation, Store, Uid};

/// Whom a volume is for, and the UID if it says more than the name.
fn claim_ref(written: Option<ObjectReference>) -> (Option<(Symbol, Symbol)>, Option<Uid>) {
    let uid = written.as_ref().map(|claim| claim.uid).filter(|uid| !uid.is_empty());
    (written.map(|claim| (claim.namespace, claim.name)), uid.map(|uid| Uid::from_text(uid.as_str())))
}

impl Strategy for model::PersistentVolume {
    type Id = PersistentVolumeId;
    const RESOURCE: &'static str = "persistentvolumes";
    const VALIDATES_UPDATES: bool = true;

    fn find(store: &Store, key: &Key) -> Option<PersistentVolumeId> {
        store.volumes.find_volume(key.name)
    }

    fn create(mut self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        let (claim, claim_uid) = claim_ref(self.spec.claim_ref.take());
        let is_released =
            matches!(self.status.phase, Some(PersistentVolumePhase::Released | PersistentVolumePhase::Failed));
        let meta = api.meta(s, "PersistentVolume", &self.metadata);
        let driver = self.spec.driver();
        let volume = PersistentVolume { meta, spec: Arc::new(self.spec), claim, claim_uid, is_released, driver };
        let id = s.store.volumes.insert_volume(volume);
        s.changed.push(Changed::VolumeChanged(id));
        Ok(Reply::Done)
    }

    /// A released volume is there for the next claim once its `claimRef` is taken off, or the UID in it.
    ///
    /// # Source
    /// kube-apiserver, `ValidatePersistentVolumeUpdate`; persistentvolume-binder-controller, `syncVolume`.
    fn replace(mut self, _api: &mut ApiServer, s: &mut Session<'_>, id: PersistentVolumeId) -> Answer {
        let Some(mut old) = export_volume(s.store, id) else { return Ok(Reply::Unchanged) };
        self.apply_defaults();
        old.apply_defaults();
        let (new, old) = (Object::from(self), Object::from(old));
        validation::change(s, &new, &old)?;
        let (Object::PersistentVolume(mut new), Object::PersistentVolume(old)) = (new, old) else {
            return Ok(Reply::Unchanged);
        };
        let held_by = finalizers::foreign(&new.metadata.finalizers);
        if let Some(meta) = s.store.volumes.volume(id).map(|volume| &volume.meta)
            && meta.deleting.is_some()
        {
            finalizers::refuse_new(
                ObjectKind::PersistentVolume,
                meta.name.as_str(),
                &new.metadata.finalizers,
                &old.metadata.finalizers,
            )?;
            let is_protected = new.metadata.finalizers.contains(&Symbol::new(VOLUME_PROTECTION));
            if held_by.is_empty() && !(is_protected && volumes::is_bound(s, id)) {
                s.store.volumes.remove_volume(id);
                s.changed.push(Changed::VolumeRemoved(id));
                return Ok(Reply::Done);
            }
        }
        let is_same = new.metadata.labels == old.metadata.labels
            && new.metadata.annotations == old.metadata.annotations
            && new.metadata.finalizers == old.metadata.finalizers
            && new.spec == old.spec;
        if is_same {
            return Ok(Reply::Unchanged);
        }
        let (claim, claim_uid) = claim_ref(new.spec.claim_ref.take());
        let model::PersistentVolume { metadata, spec, .. } = *new;
        s.store.volumes.change_volume(id, |volume| {
            volume.meta.labels = metadata.labels;
            volume.meta.annotations = Arc::new(metadata.annotations);
            volume.meta.finalizers = held_by;
            volume.is_released &= claim_uid.is_some() && claim_uid == volume.claim_uid;
            (volume.claim, volume.claim_uid) = (claim, claim_uid);
            volume.spec = Arc::new(spec);
        });
        s.changed.push(Changed::VolumeChanged(id));
        Ok(Reply::Done)
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, id: PersistentVolumeId) -> Answer {
        let is_held = s.store.volumes.volume(id).is_some_and(|volume| !volume.meta.finalizers.is_empty());
        if is_held || (volumes::is_protected(s) && volumes::is_bound(s, id)) {
            let now = s.now;
            let mark = |volume: &mut PersistentVolume| {
                volume.meta.deleting.get_or_insert((now, Propagation::Background));
            };
            s.store.volumes.change_volume(id, mark);
            s.changed.push(Changed::VolumeChanged(id));
            return Ok(Reply::Done);
        }
        s.store.volumes.remove_volume(id);
        s.changed.push(Changed::VolumeRemoved(id));
        Ok(Reply::Done)
    }
}
