//! VolumeBinding: the node must reach the pod's volumes; claims that have none must get them there.

use serde::Deserialize;

use super::scoring_strategy::Point;
use crate::arena::{Symbol, sym};
use crate::scheduler::arguments::{PluginArguments, Problems};
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{Cycle, Plugin, PreFilter, Rejection};
use crate::scheduler::node_info::NodeInfo;
use crate::state::{NodeDelta, Pod, Store};
use crate::units::SimDuration;

pub(in crate::scheduler) struct VolumeBinding {
    timeout: SimDuration,
}

/// `VolumeBindingArgs`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::scheduler) struct VolumeBindingArgs {
    bind_timeout_seconds: Option<i64>,
    shape: Option<Vec<Point>>,
}

impl VolumeBindingArgs {
    fn timeout_s(&self) -> i64 {
        self.bind_timeout_seconds.unwrap_or(600)
    }
}

impl PluginArguments for VolumeBindingArgs {
    fn check(&self, problems: &mut Problems) {
        problems.unless_within(self.timeout_s(), 0..=i64::MAX, "bindTimeoutSeconds");
        let rule = "be left out: the feature gate StorageCapacityScoring is off";
        problems.unless(self.shape.is_none(), "shape", rule);
    }
}

impl VolumeBinding {
    pub(in crate::scheduler) fn new(arguments: VolumeBindingArgs) -> Self {
        Self { timeout: SimDuration::from_secs(arguments.timeout_s().unsigned_abs()) }
    }

    fn reject(&self, reason: &str) -> PreFilter {
        PreFilter::Reject(Rejection::unresolvable(self.name(), Symbol::new(reason)))
    }
}

/// Why the claims of a pod rule it out everywhere.
fn problem(pod: &Pod, store: &Store) -> Option<String> {
    let mut has_unbound = false;
    for used in pod.claims() {
        let name = used.name;
        let found = store.volumes.find_claim(pod.namespace, name).and_then(|id| store.volumes.claim(id));
        let Some(claim) = found else {
            return Some(if used.is_ephemeral {
                format!("waiting for ephemeral volume controller to create the persistentvolumeclaim \"{name}\"")
            } else {
                format!("persistentvolumeclaim \"{name}\" not found")
            });
        };
        if claim.is_lost {
            let volume = claim.volume.unwrap_or_default();
            let text = format!("persistentvolumeclaim \"{name}\" bound to non-existent persistentvolume \"{volume}\"");
            return Some(text);
        }
        if claim.meta.deleting.is_some() {
            return Some(format!("persistentvolumeclaim \"{name}\" is being deleted"));
        }
        has_unbound |= claim.volume.is_none() && !store.volumes.waits_for_pod(claim);
    }
    has_unbound.then(|| "pod has unbound immediate PersistentVolumeClaims".to_owned())
}

impl Plugin for VolumeBinding {
    fn name(&self) -> &'static str {
        "VolumeBinding"
    }

    fn pre_filter(&self, cycle: &Cycle<'_>, _cache: &Cache) -> PreFilter {
        if cycle.pod.claims().is_empty() {
            return PreFilter::Skip;
        }
        problem(cycle.pod, cycle.store).map_or(PreFilter::Pass, |problem| self.reject(&problem))
    }

    fn filter(&self, cycle: &Cycle<'_>, cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        let reasons = cache.volumes.bindings(cycle.pod, node, cycle.store).err()?;
        Some(Rejection { plugin: self.name(), reasons, is_unresolvable: true })
    }

    fn volume_timeout(&self) -> Option<SimDuration> {
        Some(self.timeout)
    }

    /// It scores only with a feature that is off unless asked for.
    fn pre_score(
        &self,
        _cycle: &Cycle<'_>,
        _cache: &Cache,
        _feasible: &[crate::state::NodeId],
    ) -> Result<bool, String> {
        Ok(false)
    }

    fn events(&self) -> Events {
        Events::NODE_ADDED | Events::NODE_LABELS | Events::CLAIM | Events::VOLUME | Events::STORAGE
    }

    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, _cache: &Cache, _store: &Store) -> bool {
        event.is_node(NodeDelta::LABELS) || event.is_storage_of(pod)
    }
}

/// The claim that a plugin looks up and does not find.
pub(super) fn missing_claim(pod: &Pod, store: &Store, with_ephemeral: bool) -> Option<Symbol> {
    let claims = pod.claims();
    let mut looked_up = claims.iter().filter(|claim| with_ephemeral || !claim.is_ephemeral);
    let missing = looked_up.find(|claim| store.volumes.find_claim(pod.namespace, claim.name).is_none())?;
    Some(Symbol::new(&format!("persistentvolumeclaim \"{}\" not found", missing.name)))
}

/// Keys of zones and regions, as volumes and nodes carry them.
pub(super) fn topology_labels() -> [Symbol; 4] {
    [
        sym!("failure-domain.beta.kubernetes.io/zone"),
        sym!("failure-domain.beta.kubernetes.io/region"),
        sym!("topology.kubernetes.io/zone"),
        sym!("topology.kubernetes.io/region"),
    ]
}
