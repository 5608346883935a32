//! NodeVolumeLimits: how many volumes of a driver a node takes.

use std::collections::{BTreeMap, BTreeSet};

use crate::arena::{Symbol, sym};
use crate::model::config::KubernetesVersion;
use crate::model::{self, CsiNodeSpec};
use crate::scheduler::arguments::NoArguments;
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events, StorageEvent};
use crate::scheduler::framework::{AnyPlugin, Incoming, Plugin, Point, PreFilter, Prepared, Register, WidePlugin};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::plugins::volume_binding::{missing_claim, remedies_of_claims};
use crate::scheduler::rejection::{Rejection, Remedy};
use crate::state::{PersistentVolumeClaimId, PersistentVolumeId, Pod, Store};

#[derive(Debug)]
pub(in crate::scheduler) struct NodeVolumeLimits;

/// A volume, or the one that a claim will get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Counted {
    Volume(PersistentVolumeId),
    Claim(PersistentVolumeClaimId),
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
    pod.claims().iter().filter_map(|claim| counted(claim.name)).collect()
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
    const SUMMARY: &'static str = "volumes of a CSI driver, by the node's CSINode";
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
        if incoming.pod.claims().is_empty() { PreFilter::Skip } else { PreFilter::Pass }
    }

    /// # Source
    /// kube-scheduler, NodeVolumeLimits: what the pods on the node use, what else is attached to it, and what is new.
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
            ClusterEvent::PodRemoved { pod: gone, .. } => gone.node.is_some() && !gone.claims().is_empty(),
            ClusterEvent::Storage(StorageEvent::Detached) => pod.claims().iter().any(|claim| !claim.is_ephemeral),
            _ => event.is_storage_of(pod),
        }
    }
}
