//! Which volume a claim gets: asked by the binder, and by the scheduler for each node.

use crate::arena::{Symbol, sym};
use crate::model::Labels;
use crate::state::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeId, Volumes};

/// The volume that a claim is to be bound to: the one that is reserved for it, else the smallest of those that do and are
/// not taken. `node` is where the claim's pod is to run; without it, claims that wait for their first pod get none but a
/// reserved one.
///
/// # Source
/// component-helpers, `FindMatchingVolume`.
#[must_use]
pub fn find_matching_volume(
    volumes: &Volumes,
    claim: &PersistentVolumeClaim,
    waits_for_pod: bool,
    node: Option<(&Labels, Symbol)>,
    is_taken: &dyn Fn(PersistentVolumeId) -> bool,
) -> Option<PersistentVolumeId> {
    let key = (claim.meta.namespace, claim.meta.name);
    let requested = storage(&claim.spec.resources.requests);
    let mut smallest: Option<(i64, PersistentVolumeId)> = None;
    // Every volume may be the smallest one that does.
    for (id, volume) in volumes.volumes() {
        let is_others = volume.claim.is_some_and(|other| other != key);
        let capacity = storage(&volume.spec.capacity);
        if is_others || is_taken(id) || capacity < requested || volume.spec.volume_mode != claim.spec.volume_mode {
            continue;
        }
        let is_reachable = node.is_none_or(|(labels, name)| volume.spec.is_reachable_from(labels, name));
        if volume.claim.is_some() {
            return is_reachable.then_some(id);
        }
        if (waits_for_pod && node.is_none()) || !is_reachable || !suits(volume, claim) {
            continue;
        }
        if smallest.is_none_or(|(least, _)| capacity < least) {
            smallest = Some((capacity, id));
        }
    }
    smallest.map(|(_, id)| id)
}

fn suits(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    !volume.is_released
        && claim.spec.selector.as_ref().is_none_or(|selector| selector.matches(&volume.meta.labels))
        && volume.spec.storage_class_name == claim.spec.storage_class_name.unwrap_or_default()
        && claim.spec.access_modes.iter().all(|mode| volume.spec.access_modes.contains(mode))
}

fn storage(amounts: &crate::model::ResourceList) -> i64 {
    amounts.get(sym!("storage")).map_or(0, |amount| amount.value())
}
