//! VolumeZone: zone and region labels of the pod's volumes against the node's.

use crate::arena::{Symbol, sym};
use crate::model::Labels;
use crate::model::config::KubernetesVersion;
use crate::scheduler::arguments::NoArguments;
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{AnyPlugin, Incoming, Plugin, Point, PreFilter, Prepared, Register, WidePlugin};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::plugins::volume_binding::{missing_claim, remedies_of_claims, topology_labels};
use crate::scheduler::rejection::{Rejection, Remedy};
use crate::state::{NodeDelta, PersistentVolume, Pod, Store};

#[derive(Debug)]
pub(in crate::scheduler) struct VolumeZone;

/// The volumes of a pod that are bound, or what is missing.
fn volumes<'a>(pod: &Pod, store: &'a Store) -> Result<Vec<&'a PersistentVolume>, Symbol> {
    if let Some(missing) = missing_claim(pod, store, false) {
        return Err(missing);
    }
    let mut bound = Vec::new();
    for used in pod.claims().iter().filter(|claim| !claim.is_ephemeral) {
        let claim = store.volumes.find_claim(pod.namespace, used.name).and_then(|id| store.volumes.claim(id));
        let Some(claim) = claim else { continue };
        let Some(name) = claim.volume else {
            let Some(class) = claim.spec.storage_class_name.filter(|class| !class.as_str().is_empty()) else {
                return Err(sym!("PersistentVolumeClaim had no pv name and storageClass name"));
            };
            match store.volumes.class(class) {
                None => return Err(Symbol::new(&format!("storageclass.storage.k8s.io \"{class}\" not found"))),
                Some(_) if store.volumes.waits_for_pod(claim) => continue,
                Some(_) => return Err(sym!("PersistentVolume had no name")),
            }
        };
        let volume = store.volumes.find_volume(name).and_then(|id| store.volumes.volume(id));
        bound.push(volume.ok_or_else(|| Symbol::new(&format!("persistentvolume \"{name}\" not found")))?);
    }
    Ok(bound)
}

/// # Source
/// kube-scheduler, VolumeZone: a volume's label may name several zones, joined by `__`; a beta label of the volume also
/// matches the node's newer one. A node without any such label takes every volume.
fn is_in_zone(volume: &Labels, node: &Labels) -> bool {
    let keys = topology_labels();
    if !keys.iter().any(|key| node.contains(*key)) {
        return true;
    }
    keys.iter().enumerate().all(|(place, &key)| {
        let Some(zones) = volume.get(key) else { return true };
        let newer = keys[2 + place % 2];
        let here = node.get(key).or_else(|| node.get(newer));
        here.is_some_and(|here| zones.as_str().split("__").any(|zone| zone == here.as_str()))
    })
}

impl Register for VolumeZone {
    const NAME: &'static str = "VolumeZone";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter];
    const SUMMARY: &'static str = "zone and region labels of volumes";
    type Arguments = NoArguments;

    fn make(_: NoArguments, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::wide(Self)
    }
}

impl WidePlugin for VolumeZone {
    fn prepare(&self, _pod: &Pod, _store: &Store, _cache: &mut Cache) -> Box<dyn Prepared> {
        Box::new(Self)
    }
}

impl Prepared for VolumeZone {
    fn pre_filter(&self, incoming: Incoming<'_>, _cache: &Cache) -> PreFilter {
        if incoming.pod.spec.volumes.is_empty() {
            return PreFilter::Skip;
        }
        match volumes(incoming.pod, incoming.store) {
            Err(missing) => PreFilter::Reject(Rejection::unresolvable(Self::NAME, missing)),
            Ok(volumes) => {
                let is_zonal =
                    |volume: &&PersistentVolume| topology_labels().iter().any(|key| volume.meta.labels.contains(*key));
                if volumes.iter().any(is_zonal) { PreFilter::Pass } else { PreFilter::Skip }
            }
        }
    }

    fn filter(&self, incoming: Incoming<'_>, _cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        let labels = &node.object.as_ref()?.labels;
        let volumes = volumes(incoming.pod, incoming.store).unwrap_or_default();
        let fits = volumes.iter().all(|volume| is_in_zone(&volume.meta.labels, labels));
        (!fits).then(|| Rejection::unresolvable(Self::NAME, sym!("node(s) had no available volume zone")))
    }

    fn remedies(&self, incoming: Incoming<'_>, _: &Cache, _: &NodeInfo, rejection: &Rejection) -> Vec<Remedy> {
        remedies_of_claims(incoming, rejection)
    }
}

impl Plugin for VolumeZone {
    fn events(&self) -> Events {
        Events::NODE_ADDED | Events::NODE_LABELS | Events::CLAIM | Events::VOLUME | Events::STORAGE
    }

    fn hint(&self, Incoming { pod, .. }: Incoming<'_>, event: &ClusterEvent<'_>, _cache: &Cache) -> bool {
        event.is_node(NodeDelta::LABELS) || event.is_storage_of(pod)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(volume: &str, node: &str, expected: bool) {
        let labels = |json: &str| serde_json::from_str::<Labels>(json).expect("labels");
        assert_eq!(is_in_zone(&labels(volume), &labels(node)), expected, "{volume} on {node}");
    }

    #[test]
    fn the_node_has_one_of_the_zones_of_the_volume() {
        check(r#"{"topology.kubernetes.io/zone":"a"}"#, r#"{"topology.kubernetes.io/zone":"a"}"#, true);
        check(r#"{"topology.kubernetes.io/zone":"a"}"#, r#"{"topology.kubernetes.io/zone":"b"}"#, false);
        check(r#"{"topology.kubernetes.io/zone":"a__b"}"#, r#"{"topology.kubernetes.io/zone":"b"}"#, true);
        check("{}", r#"{"topology.kubernetes.io/zone":"b"}"#, true);
    }

    #[test]
    fn a_beta_label_of_the_volume_matches_the_newer_label_of_the_node() {
        let beta = r#"{"failure-domain.beta.kubernetes.io/zone":"a"}"#;
        check(beta, r#"{"topology.kubernetes.io/zone":"a"}"#, true);
        check(beta, r#"{"topology.kubernetes.io/zone":"b"}"#, false);
        check(r#"{"topology.kubernetes.io/zone":"a"}"#, r#"{"failure-domain.beta.kubernetes.io/zone":"a"}"#, false);
    }

    #[test]
    fn a_node_without_topology_labels_takes_every_volume() {
        check(r#"{"topology.kubernetes.io/zone":"a"}"#, "{}", true);
        check(r#"{"topology.kubernetes.io/zone":"a"}"#, r#"{"topology.kubernetes.io/region":"r"}"#, false);
    }
}
