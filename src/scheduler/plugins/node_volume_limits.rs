//! NodeVolumeLimits: how many volumes of a driver a node takes.

use std::collections::{BTreeMap, BTreeSet};

use crate::arena::{Symbol, sym};
use crate::model::config::KubernetesVersion;
use crate::model::{self, CsiNodeSpec, Volume};
use crate::scheduler::arguments::NoArguments;
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events, StorageEvent};
use crate::scheduler::framework::{AnyPlugin, Incoming, Plugin, Point, PreFilter, Prepared, Register, WidePlugin};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::plugins::volume_binding::{missing_claim, remedies_of_claims};
use crate::scheduler::plugins::volume_restrictions::read;
use crate::scheduler::rejection::{Rejection, Remedy};
use crate::state::{PersistentVolumeClaimId, PersistentVolumeId, Pod, Store};

#[derive(Debug)]
pub(in crate::scheduler) struct NodeVolumeLimits;

/// A volume, or the one that a claim will get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Counted {
    Volume(PersistentVolumeId),
    Claim(PersistentVolumeClaimId),
    /// A disk that a pod names itself, by the driver's handle.
    Disk(Symbol),
}

/// A disk that a pod names itself, and the CSI driver that serves it in place of what Kubernetes once had built in.
///
/// # Source
/// kube-scheduler, NodeVolumeLimits: `checkAttachableInlineVolume`, `isCSIMigrationOn`; csi-translation-lib.
fn disk(volume: &Volume) -> Option<(Symbol, Counted)> {
    let disks = [
        (volume.aws_elastic_block_store, "kubernetes.io/aws-ebs", "volumeID"),
        (volume.gce_persistent_disk, "kubernetes.io/gce-pd", "pdName"),
        (volume.azure_disk, "kubernetes.io/azure-disk", "diskURI"),
        (volume.cinder, "kubernetes.io/cinder", "volumeID"),
        (volume.portworx_volume, "kubernetes.io/portworx-volume", "volumeID"),
    ];
    let (source, plugin, field) = disks.into_iter().find(|(source, ..)| !source.is_none())?;
    let handle = Symbol::new(read(source)?[field].as_str().unwrap_or_default());
    Some((model::csi_driver_of(Symbol::new(plugin)), Counted::Disk(handle)))
}

/// Whether a pod has volumes that may count.
fn has_volumes(pod: &Pod) -> bool {
    !pod.claims().is_empty() || pod.spec.volumes.iter().any(|volume| disk(volume).is_some())
}

/// Volumes of a pod that count against a limit, with their drivers.
fn volumes(pod: &Pod, store: &Store) -> Vec<(Symbol, Counted)> {
    let volumes = &store.volumes;
    let counted = |name: Symbol| {
        let id = volumes.find_claim(pod.namespace, name)?;
        let claim = volumes.claim(id)?;
        if let Some(volume) = claim.volume.and_then(|name| volumes.find_volume(name)) {
            return Some((volumes.volume(volume)?.driver?, Counted::Volume(volume)));
        }
        let driver = model::csi_driver_of(store.volumes.class_of(claim)?.provisioner);
        Some((driver, Counted::Claim(id)))
    };
    let claimed = pod.claims().into_iter().filter_map(|claim| counted(claim.name));
    claimed.chain(pod.spec.volumes.iter().filter_map(disk)).collect()
}

/// How many volumes of a driver may be there; none if there is no limit.
fn limit(node: &CsiNodeSpec, driver: Symbol) -> Option<usize> {
    let driver = node.drivers.iter().find(|other| other.name == driver)?;
    let count = driver.allocatable.as_ref()?.count?;
    Some(usize::try_from(count).unwrap_or(0))
}

impl Register for NodeVolumeLimits {
    const NAME: &'static str = "NodeVolumeLimits";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter];
    const SUMMARY: &'static str =
        "volumes of a CSI driver, also those that pods name themselves, by the node's CSINode";
    type Arguments = NoArguments;

    fn make(_: NoArguments, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::wide(Self)
    }
}

impl WidePlugin for NodeVolumeLimits {
    fn prepare(&self, _pod: &Pod, _store: &Store, _cache: &mut Cache) -> Box<dyn Prepared> {
        Box::new(Self)
    }
}

impl Prepared for NodeVolumeLimits {
    fn pre_filter(&self, incoming: Incoming<'_>, _cache: &Cache) -> PreFilter {
        if has_volumes(incoming.pod) { PreFilter::Pass } else { PreFilter::Skip }
    }

    /// # Source
    /// kube-scheduler, NodeVolumeLimits: what the pods on the node use, what else is attached to it, and what is new.
    ///
    /// # Differs
    /// A disk that one pod names itself and another has by a volume counts twice, and is not attached.
    fn filter(&self, incoming: Incoming<'_>, _cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        let Incoming { pod, store, .. } = incoming;
        if let Some(missing) = missing_claim(pod, store, true) {
            return Some(Rejection::unresolvable(Self::NAME, missing));
        }
        let limits = store.volumes.csi_nodes.get(&node.name)?;
        let limited = |(driver, _): &(Symbol, Counted)| limit(&limits.spec, *driver).is_some();
        let mut new: BTreeSet<(Symbol, Counted)> = volumes(pod, store).into_iter().collect();
        new.retain(limited);
        if new.is_empty() {
            return None;
        }
        let pods = node.pods.iter().filter_map(|pod| store.pod(*pod));
        let mut there: BTreeSet<(Symbol, Counted)> = pods.flat_map(|pod| volumes(pod, store)).collect();
        let attached = node.id.into_iter().flat_map(|id| store.volumes.attachments_on(id));
        let attached = attached.filter(|(_, attachment)| attachment.phase.is_some());
        new.retain(|volume| !there.contains(volume));
        there.extend(attached.filter_map(|(id, _)| Some((store.volumes.volume(id)?.driver?, Counted::Volume(id)))));
        let mut counts: BTreeMap<Symbol, usize> = BTreeMap::new();
        new.iter().for_each(|(driver, _)| *counts.entry(*driver).or_default() += 1);
        let is_full = counts.iter().any(|(driver, count)| {
            let present = there.iter().filter(|(other, _)| other == driver).count();
            limit(&limits.spec, *driver).is_some_and(|limit| present + count > limit)
        });
        is_full.then(|| Rejection::unschedulable(Self::NAME, sym!("node(s) exceed max volume count")))
    }

    fn remedies(&self, incoming: Incoming<'_>, _: &Cache, _: &NodeInfo, rejection: &Rejection) -> Vec<Remedy> {
        remedies_of_claims(incoming, rejection)
    }
}

impl Plugin for NodeVolumeLimits {
    fn events(&self) -> Events {
        Events::POD_REMOVED | Events::CLAIM | Events::VOLUME_LIMITS | Events::DETACHED
    }

    /// # Source
    /// kube-scheduler, NodeVolumeLimits: `isSchedulableAfterVolumeAttachmentDeleted` and its like. The claim of an ephemeral volume is not
    /// looked at when a volume is detached.
    fn hint(&self, Incoming { pod, .. }: Incoming<'_>, event: &ClusterEvent<'_>, _cache: &Cache) -> bool {
        match event {
            ClusterEvent::PodRemoved { pod: gone, .. } => gone.node.is_some() && has_volumes(gone),
            ClusterEvent::Storage(StorageEvent::Detached { driver }) => {
                let is_served = |volume: &Volume| disk(volume).is_some_and(|(served_by, _)| Some(served_by) == *driver);
                pod.claims().iter().any(|claim| !claim.is_ephemeral) || pod.spec.volumes.iter().any(is_served)
            }
            _ => event.is_storage_of(pod),
        }
    }
}
