//! VolumeRestrictions: disks that pods name themselves, and claims that only one pod may use.

use serde_json::Value;

use crate::arena::sym;
use crate::model::config::KubernetesVersion;
use crate::model::{AccessMode, Opaque, Volume};
use crate::scheduler::arguments::NoArguments;
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{AnyPlugin, Incoming, Plugin, Point, PreFilter, Prepared, Register, WidePlugin};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::plugins::volume_binding::{missing_claim, remedies_of_claims};
use crate::scheduler::rejection::{Rejection, Remedy};
use crate::state::{Pod, PodId, Store};

#[derive(Debug)]
pub(in crate::scheduler) struct VolumeRestrictions;

fn is_disk(volume: &Volume) -> bool {
    let disks = [volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.rbd, volume.iscsi];
    disks.iter().any(|disk| !disk.is_none())
}

/// A volume's source, if there is one.
pub(super) fn read(opaque: Opaque) -> Option<Value> {
    serde_json::from_str::<Value>(opaque.as_json()).ok().filter(|value| !value.is_null())
}

/// Whether two pods cannot have both volumes on one node.
///
/// # Source
/// kube-scheduler, `isVolumeConflict`: an EBS volume never twice; the others only if both are read-only.
fn conflict(a: &Volume, b: &Volume) -> bool {
    let both = |a: Opaque, b: Opaque| Some((read(a)?, read(b)?));
    let read_only = |a: &Value, b: &Value| a["readOnly"] == Value::Bool(true) && b["readOnly"] == Value::Bool(true);
    let same = |a: &Value, b: &Value, key: &str| a[key] == b[key];
    let gce = both(a.gce_persistent_disk, b.gce_persistent_disk)
        .is_some_and(|(a, b)| same(&a, &b, "pdName") && !read_only(&a, &b));
    let ebs = both(a.aws_elastic_block_store, b.aws_elastic_block_store).is_some_and(|(a, b)| same(&a, &b, "volumeID"));
    let iscsi = both(a.iscsi, b.iscsi).is_some_and(|(a, b)| same(&a, &b, "iqn") && !read_only(&a, &b));
    let rbd = both(a.rbd, b.rbd).is_some_and(|(a, b)| {
        let monitors = |disk: &Value| disk["monitors"].as_array().cloned().unwrap_or_default();
        let (ours, theirs) = (monitors(&a), monitors(&b));
        let pool = |disk: &Value| disk["pool"].as_str().unwrap_or("rbd").to_owned();
        ours.iter().any(|monitor| theirs.contains(monitor))
            && pool(&a) == pool(&b)
            && same(&a, &b, "image")
            && !read_only(&a, &b)
    });
    gce || ebs || iscsi || rbd
}

/// Whether some pod on a node uses a claim of the pod that only one may use; this node has the pods that it says it has.
fn is_in_use(incoming: Incoming<'_>, cache: &Cache, node: Option<&NodeInfo>) -> bool {
    let Incoming { id, pod: own, store, .. } = incoming;
    let volumes = &store.volumes;
    let namespace = own.namespace;
    let exclusive = own.claims().into_iter().filter(|used| !used.is_ephemeral).filter(|used| {
        let claim = volumes.find_claim(namespace, used.name).and_then(|id| volumes.claim(id));
        claim.is_some_and(|claim| claim.spec.access_modes.contains(&AccessMode::ReadWriteOncePod))
    });
    let is_here = |pod: &PodId| node.is_some_and(|node| node.pods.contains(pod));
    let is_elsewhere = |pod: &PodId| cache.node_of(*pod).is_some_and(|on| node.is_none_or(|node| node.id != Some(on)));
    let is_placed = |pod: &PodId| *pod != id && (is_here(pod) || is_elsewhere(pod));
    exclusive.into_iter().any(|used| volumes.pods_using(namespace, used.name).iter().any(is_placed))
}

/// Whether two pods of a namespace name a claim or a disk that only one of them may have.
fn shares_a_volume(pod: &Pod, other: &Pod) -> bool {
    let theirs = other.claims();
    pod.claims().iter().any(|own| theirs.iter().any(|claim| claim.name == own.name))
        || pod.spec.volumes.iter().any(|own| other.spec.volumes.iter().any(|volume| conflict(own, volume)))
}

impl Register for VolumeRestrictions {
    const NAME: &'static str = "VolumeRestrictions";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter];
    const SUMMARY: &'static str = "disks that pods name themselves; ReadWriteOncePod claims";
    type Arguments = NoArguments;

    fn make(_: NoArguments, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::wide(Self)
    }
}

impl WidePlugin for VolumeRestrictions {
    fn prepare(&self, _pod: &Pod, _store: &Store, _cache: &mut Cache) -> Box<dyn Prepared> {
        Box::new(Self)
    }
}

impl Prepared for VolumeRestrictions {
    fn pre_filter(&self, incoming: Incoming<'_>, cache: &Cache) -> PreFilter {
        let Incoming { pod, store, .. } = incoming;
        if pod.spec.volumes.is_empty() {
            return PreFilter::Skip;
        }
        if let Some(missing) = missing_claim(pod, store, false) {
            return PreFilter::Reject(Rejection::unresolvable(Self::NAME, missing));
        }
        let is_restricted = pod.spec.volumes.iter().any(is_disk) || is_in_use(incoming, cache, None);
        if is_restricted { PreFilter::Pass } else { PreFilter::Skip }
    }

    fn filter(&self, incoming: Incoming<'_>, cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        let disks = || incoming.pod.spec.volumes.iter().filter(|volume| is_disk(volume));
        if disks().next().is_some() {
            let others = node.pods.iter().filter_map(|pod| incoming.store.pod(*pod));
            let mut theirs = others.flat_map(|pod| &pod.spec.volumes).filter(|volume| is_disk(volume));
            if theirs.any(|other| disks().any(|own| conflict(own, other))) {
                return Some(Rejection::unschedulable(Self::NAME, sym!("node(s) had no available disk")));
            }
        }
        is_in_use(incoming, cache, Some(node)).then(|| {
            Rejection::unschedulable(
                Self::NAME,
                sym!(
                    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
                ),
            )
        })
    }

    fn remedies(&self, incoming: Incoming<'_>, _: &Cache, _: &NodeInfo, rejection: &Rejection) -> Vec<Remedy> {
        remedies_of_claims(incoming, rejection)
    }
}

impl Plugin for VolumeRestrictions {
    fn events(&self) -> Events {
        Events::NODE_ADDED | Events::POD_REMOVED | Events::CLAIM
    }

    fn hint(&self, Incoming { pod, .. }: Incoming<'_>, event: &ClusterEvent<'_>, _cache: &Cache) -> bool {
        match event {
            ClusterEvent::NodeAdded(_) => true,
            ClusterEvent::PodRemoved { pod: gone, .. } => gone.namespace == pod.namespace && shares_a_volume(pod, gone),
            _ => event.is_storage_of(pod),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(a: &str, b: &str, expected: bool) {
        let volume = |json: &str| serde_json::from_str::<Volume>(json).expect("a volume");
        assert_eq!(conflict(&volume(a), &volume(b)), expected, "{a} and {b}");
    }

    #[test]
    fn a_disk_is_shared_by_readers_only() {
        let disk = r#"{"name":"v","gcePersistentDisk":{"pdName":"d"}}"#;
        let read = r#"{"name":"v","gcePersistentDisk":{"pdName":"d","readOnly":true}}"#;
        check(disk, disk, true);
        check(disk, read, true);
        check(read, read, false);
        check(disk, r#"{"name":"v","gcePersistentDisk":{"pdName":"e"}}"#, false);
    }

    #[test]
    fn a_block_store_is_never_shared() {
        let store = r#"{"name":"v","awsElasticBlockStore":{"volumeID":"d","readOnly":true}}"#;
        check(store, store, true);
    }

    #[test]
    fn one_image_is_shared_if_no_monitor_is() {
        let image = |monitor: &str| format!(r#"{{"name":"v","rbd":{{"monitors":["m","{monitor}"],"image":"i"}}}}"#);
        check(&image("a"), &image("b"), true);
        check(&image("a"), r#"{"name":"v","rbd":{"monitors":["z"],"image":"i"}}"#, false);
        check(&image("a"), r#"{"name":"v","rbd":{"monitors":["m"],"image":"j"}}"#, false);
    }
}
