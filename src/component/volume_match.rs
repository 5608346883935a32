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
    let requested = storage(&claim.spec.resources.requests);
    let mut smallest: Option<(i64, PersistentVolumeId)> = None;
    // Every volume of the class may be the smallest one that does.
    for (id, volume) in volumes.offers_for(claim).filter_map(|id| Some((id, volumes.volume(id)?))) {
        let capacity = storage(&volume.spec.capacity);
        let is_others = volume.claim.is_some() && !volume.is_for(claim);
        let is_going = volume.meta.deleting.is_some();
        let is_of_mode = volume.spec.volume_mode == claim.spec.volume_mode;
        if is_taken(id) || is_others || is_going || capacity < requested || !is_of_mode {
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

/// Whether a volume that is kept for nobody is one that a claim may have which asks for it by name: it need not have the labels
/// of the claim's selector.
///
/// # Source
/// persistentvolume-binder-controller, `checkVolumeSatisfyClaim`.
#[must_use]
pub fn satisfies(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.meta.deleting.is_none()
        && storage(&volume.spec.capacity) >= storage(&claim.spec.resources.requests)
        && volume.spec.storage_class_name == claim.spec.storage_class_name.unwrap_or_default()
        && volume.spec.volume_mode == claim.spec.volume_mode
        && has_modes(volume, claim)
}

fn has_modes(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    claim.spec.access_modes.iter().all(|mode| volume.spec.access_modes.contains(mode))
}

fn suits(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    claim.spec.selector.as_ref().is_none_or(|selector| selector.matches(&volume.meta.labels))
        && has_modes(volume, claim)
}

fn storage(amounts: &crate::model::ResourceList) -> i64 {
    amounts.get(sym!("storage")).map_or(0, |amount| amount.value())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model;
    use crate::state::{Meta, Uid};

    fn meta(name: &str) -> Meta {
        Meta {
            namespace: sym!("default"),
            name: Symbol::new(name),
            uid: Uid::default(),
            labels: Labels::default(),
            annotations: Arc::default(),
            created_at: crate::units::SimTime::ZERO,
            generation: 1,
            version: 1,
            deleting: None,
            finalizers: Box::default(),
            owner: None,
        }
    }

    /// Volumes by name, spec and the claim they are kept for; a claim `data` of 2Gi in class `c`; the name of what it gets.
    #[track_caller]
    fn check(all: &[(&str, &str, Option<&str>)], waits_for_pod: bool, node: Option<&str>, expected: Option<&str>) {
        let mut volumes = Volumes::default();
        for (name, spec, claim) in all {
            let json = format!(r#"{{"storageClassName":"c","accessModes":["ReadWriteOnce"],{spec}}}"#);
            let spec: model::PersistentVolumeSpec = serde_json::from_str(&json).expect("a spec");
            let claim = claim.map(|claim| (sym!("default"), Symbol::new(claim)));
            let volume = PersistentVolume {
                meta: meta(name),
                spec: Arc::new(spec),
                claim,
                claim_uid: None,
                is_released: false,
                driver: None,
            };
            volumes.insert_volume(volume);
        }
        let json =
            r#"{"storageClassName":"c","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}}}"#;
        let spec: model::PersistentVolumeClaimSpec = serde_json::from_str(json).expect("a spec");
        let claim = PersistentVolumeClaim {
            meta: meta("data"),
            spec: Arc::new(spec),
            volume: None,
            is_bound: false,
            is_lost: false,
            selected_node: None,
            owner: None,
        };
        let labels = Labels::default();
        let node = node.map(|name| (&labels, Symbol::new(name)));
        let found = find_matching_volume(&volumes, &claim, waits_for_pod, node, &|_| false);
        let found = found.and_then(|id| volumes.volume(id)).map(|volume| volume.meta.name.as_str());
        assert_eq!(found, expected, "{all:?}");
    }

    const SMALL: (&str, &str, Option<&str>) = ("small", r#""capacity":{"storage":"1Gi"}"#, None);
    const LARGE: (&str, &str, Option<&str>) = ("large", r#""capacity":{"storage":"9Gi"}"#, None);
    const FIT: (&str, &str, Option<&str>) = ("fit", r#""capacity":{"storage":"3Gi"}"#, None);

    #[test]
    fn the_smallest_volume_that_is_large_enough_is_taken() {
        check(&[SMALL, LARGE, FIT], false, None, Some("fit"));
        check(&[SMALL], false, None, None);
        check(&[("block", r#""capacity":{"storage":"3Gi"},"volumeMode":"Block""#, None)], false, None, None);
    }

    #[test]
    fn a_volume_that_is_kept_for_the_claim_comes_before_others() {
        check(&[FIT, ("kept", LARGE.1, Some("data"))], false, None, Some("kept"));
        check(&[("others", FIT.1, Some("other"))], false, None, None);
        check(&[("kept", SMALL.1, Some("data"))], false, None, None);
    }

    #[test]
    fn without_a_node_a_claim_that_waits_for_its_pod_gets_only_what_is_kept_for_it() {
        check(&[FIT], true, None, None);
        check(&[FIT], true, Some("n"), Some("fit"));
        check(&[("kept", FIT.1, Some("data"))], true, None, Some("kept"));
    }
}
