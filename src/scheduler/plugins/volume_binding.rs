//! VolumeBinding: the node must reach the pod's volumes; claims that have none must get them there.

use serde::Deserialize;

use super::scoring_strategy::ShapePoint;
use crate::arena::{Symbol, sym};
use crate::component::Request;
use crate::model::config::KubernetesVersion;
use crate::scheduler::arguments::{PluginArguments, Problems};
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{
    AnyPlugin, Incoming, Plugin, Point, PreBind, PreFilter, Prepared, Register, WidePlugin,
};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::rejection::{Rejection, Remedy, abridged};
use crate::scheduler::volumes::Binding;
use crate::state::{NodeDelta, NodeId, Pod, Store};
use crate::units::SimDuration;

pub(in crate::scheduler) struct VolumeBinding {
    timeout: SimDuration,
}

/// `VolumeBindingArgs`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::scheduler) struct VolumeBindingArgs {
    bind_timeout_seconds: Option<i64>,
    shape: Option<Vec<ShapePoint>>,
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

fn not_found(claim: Symbol) -> String {
    format!("persistentvolumeclaim \"{claim}\" not found")
}

fn not_created(claim: Symbol) -> String {
    format!("waiting for ephemeral volume controller to create the persistentvolumeclaim \"{claim}\"")
}

/// Why the claims of a pod rule it out everywhere. One that asks for a volume by name is the binder's, whatever its class says.
///
/// # Source
/// kube-scheduler, VolumeBinding: `PreFilter`, `GetPodVolumeClaims`.
fn problem(pod: &Pod, store: &Store) -> Option<String> {
    let mut has_unbound = false;
    for used in pod.claims() {
        let name = used.name;
        let found = store.volumes.find_claim(pod.namespace, name).and_then(|id| store.volumes.claim(id));
        let Some(claim) = found else {
            return Some(if used.is_ephemeral { not_created(name) } else { not_found(name) });
        };
        if claim.is_lost {
            let volume = claim.volume.unwrap_or_default();
            let text = format!("persistentvolumeclaim \"{name}\" bound to non-existent persistentvolume \"{volume}\"");
            return Some(text);
        }
        if claim.meta.deleting.is_some() {
            return Some(format!("persistentvolumeclaim \"{name}\" is being deleted"));
        }
        let is_chosen = claim.volume.is_some() || !store.volumes.waits_for_pod(claim);
        has_unbound |= claim.bound_to().is_none() && is_chosen;
    }
    has_unbound.then(|| "pod has unbound immediate PersistentVolumeClaims".to_owned())
}

impl Register for VolumeBinding {
    const NAME: &'static str = "VolumeBinding";
    const POINTS: &'static [Point] =
        &[Point::PreFilter, Point::Filter, Point::PreScore, Point::Score, Point::Reserve, Point::PreBind];
    const WEIGHT: i64 = 1;
    const SUMMARY: &'static str = "bound claims by their volume's affinity; unbound ones by volumes that are there or can be made; it scores only with a feature that is off";
    type Arguments = VolumeBindingArgs;

    fn make(arguments: VolumeBindingArgs, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::wide(Self { timeout: SimDuration::from_secs(arguments.timeout_s().unsigned_abs()) })
    }
}

impl WidePlugin for VolumeBinding {
    fn prepare(&self, _pod: &Pod, _store: &Store, _cache: &mut Cache) -> Box<dyn Prepared> {
        Box::new(ReachableVolumes)
    }
}

/// Nodes that reach the volumes of a pod.
#[derive(Debug)]
struct ReachableVolumes;

impl Prepared for ReachableVolumes {
    fn pre_filter(&self, Incoming { pod, store, .. }: Incoming<'_>, _cache: &Cache) -> PreFilter {
        if pod.claims().is_empty() {
            return PreFilter::Skip;
        }
        let reject = |why: String| PreFilter::Reject(Rejection::unresolvable(VolumeBinding::NAME, Symbol::new(&why)));
        problem(pod, store).map_or(PreFilter::Pass, reject)
    }

    fn filter(&self, incoming: Incoming<'_>, cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        let reasons = cache.volumes.bindings(incoming.pod, node, incoming.store).err()?;
        Some(Rejection { plugin: VolumeBinding::NAME, reasons, is_unresolvable: true })
    }

    fn remedies(&self, incoming: Incoming<'_>, _: &Cache, _: &NodeInfo, rejection: &Rejection) -> Vec<Remedy> {
        remedies_of_claims(incoming, rejection)
    }
}

impl Plugin for VolumeBinding {
    fn reserve(&self, incoming: Incoming<'_>, node: NodeId, cache: &mut Cache) -> Option<PreBind> {
        let Incoming { id, pod, store, .. } = incoming;
        let bindings = cache.reserve_volumes(id, pod, node, store);
        let request = |(claim, binding)| match binding {
            Binding::Volume(volume) => Request::BindClaim { claim, volume },
            Binding::Node(node) => Request::SelectNode { claim, node },
        };
        let requests: Vec<Request> = bindings.into_iter().map(request).collect();
        (!requests.is_empty()).then_some(PreBind { plugin: Self::NAME, requests, timeout: self.timeout })
    }

    fn events(&self) -> Events {
        Events::NODE_ADDED | Events::NODE_LABELS | Events::CLAIM | Events::VOLUME | Events::STORAGE
    }

    fn hint(&self, Incoming { pod, .. }: Incoming<'_>, event: &ClusterEvent<'_>, _cache: &Cache) -> bool {
        event.is_node(NodeDelta::LABELS) || event.is_storage_of(pod)
    }
}

/// The claim that a plugin looks up and does not find: what it then says.
pub(super) fn missing_claim(pod: &Pod, store: &Store, with_ephemeral: bool) -> Option<Symbol> {
    let claims = pod.claims();
    let mut looked_up = claims.iter().filter(|claim| with_ephemeral || !claim.is_ephemeral);
    let missing = looked_up.find(|claim| store.volumes.find_claim(pod.namespace, claim.name).is_none())?;
    Some(Symbol::new(&not_found(missing.name)))
}

/// What would help a pod that a plugin rejects: if it is for a claim that is not there, all the claims that are not.
pub(super) fn remedies_of_claims(Incoming { pod, store, .. }: Incoming<'_>, rejection: &Rejection) -> Vec<Remedy> {
    let names = pod.claims().into_iter().map(|claim| claim.name);
    let missing: Vec<Symbol> = names.filter(|name| store.volumes.find_claim(pod.namespace, *name).is_none()).collect();
    let reasons = missing.iter().flat_map(|&name| [not_found(name), not_created(name)]);
    if !reasons.into_iter().any(|reason| rejection.reasons.contains(&Symbol::new(&reason))) {
        return vec![Remedy::otherwise(rejection)];
    }
    let names: Vec<&str> = missing.iter().map(|name| name.as_str()).collect();
    let noun = if names.len() == 1 { "the PersistentVolumeClaim" } else { "the PersistentVolumeClaims" };
    vec![Remedy::Else(format!("there were {noun} {}, which the input lacks", abridged(&names)).into())]
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
