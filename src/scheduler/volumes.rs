//! The scheduler's picture of volumes: what claims of a pod could be bound to on a node, and what was decided about
//! claims and is not yet bound.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::node_info::NodeInfo;
use crate::arena::{Symbol, sym};
use crate::component::find_matching_volume;
use crate::model::{CSINode, CsiNodeDriver, StorageClass};
use crate::state::{NodeId, PersistentVolumeClaim, PersistentVolumeClaimId, PersistentVolumeId, Pod, PodId, Store};

/// What a claim is to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// A volume that there is.
    Volume(PersistentVolumeId),
    /// A new one, made for this node.
    Node(NodeId),
}

/// What claims are to get.
pub(super) type Bindings = Vec<(PersistentVolumeClaimId, Binding)>;

/// How many volumes nodes took when the scheduler last looked.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumeLimits(FxHashMap<Symbol, Arc<CSINode>>);

impl VolumeLimits {
    /// Looks at all CSINodes, of which some may have changed; whether one is new, or takes more of some driver's volumes than before.
    ///
    /// # Source
    /// kube-scheduler, NodeVolumeLimits: `isSchedulableAfterCSINodeUpdated`. No limit counts as none at all there.
    pub(super) fn have_risen(&mut self, store: &Store) -> bool {
        let now = &store.volumes.csi_nodes;
        let has_risen = now.iter().any(|(name, node)| match self.0.get(name) {
            Some(before) => !Arc::ptr_eq(before, node) && takes_more(node, before),
            None => true,
        });
        self.0.clone_from(now);
        has_risen
    }
}

fn takes_more(node: &CSINode, before: &CSINode) -> bool {
    let limit = |driver: &CsiNodeDriver| driver.allocatable.as_ref().and_then(|all| all.count).unwrap_or(0);
    let limit_before = |name: Symbol| before.spec.drivers.iter().find(|driver| driver.name == name).map_or(0, limit);
    node.spec.drivers.iter().any(|driver| limit(driver) > limit_before(driver.name))
}

/// What was decided about claims and has not been seen done.
#[derive(Clone, Debug, Default)]
pub(super) struct AssumedVolumes {
    claims: FxHashMap<PersistentVolumeClaimId, Binding>,
    volumes: FxHashMap<PersistentVolumeId, PersistentVolumeClaimId>,
    by_pod: FxHashMap<PodId, Bindings>,
}

impl AssumedVolumes {
    /// Decides for the claims of a pod that goes to a node; says what is to be done.
    pub(super) fn reserve(&mut self, id: PodId, pod: &Pod, node: &NodeInfo, store: &Store) -> Bindings {
        let claims = pod.claims();
        if claims.is_empty() {
            return Vec::new();
        }
        let Ok(bindings) = self.bindings(pod, node, store) else { return Vec::new() };
        for &(claim, binding) in &bindings {
            self.claims.insert(claim, binding);
            if let Binding::Volume(volume) = binding {
                self.volumes.insert(volume, claim);
            }
        }
        if !bindings.is_empty() {
            self.by_pod.insert(id, bindings.clone());
        }
        bindings
    }

    /// Forgets what was decided for a pod: it is done, or will not come about.
    pub(super) fn release(&mut self, pod: PodId) {
        for (claim, binding) in self.by_pod.remove(&pod).unwrap_or_default() {
            self.claims.remove(&claim);
            if let Binding::Volume(volume) = binding {
                self.volumes.remove(&volume);
            }
        }
    }

    /// What the unbound claims of a pod would get on a node; none if they cannot, with the reasons.
    ///
    /// # Source
    /// kube-scheduler, VolumeBinding: `FindPodVolumes`, `checkVolumeProvisions`.
    ///
    /// # Differs
    /// CSIStorageCapacity is not looked at: storage never runs out.
    pub(super) fn bindings(
        &self,
        pod: &Pod,
        node: &NodeInfo,
        store: &Store,
    ) -> Result<Bindings, SmallVec<[Symbol; 1]>> {
        let mut reasons = SmallVec::new();
        let Some((object, on)) = node.object.as_ref().zip(node.id) else { return Err(reasons) };
        let claims = pod.claims();
        let volumes = &store.volumes;
        let claims = claims.iter().filter_map(|used| volumes.find_claim(pod.namespace, used.name));
        let (mut bound, mut unbound) = (Vec::new(), Vec::new());
        for id in claims {
            let Some(claim) = volumes.claim(id) else { continue };
            match claim.bound_to() {
                Some(name) => bound.push(name),
                None => unbound.push((id, claim)),
            }
        }
        for name in bound {
            let reason = match volumes.find_volume(name).and_then(|id| volumes.volume(id)) {
                None => sym!("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"),
                Some(volume) if !volume.spec.is_reachable_from(&object.labels, node.name) => {
                    sym!("node(s) didn't match PersistentVolume's node affinity")
                }
                Some(_) => continue,
            };
            reasons.push(reason);
            break;
        }
        let mut bindings: Bindings = Vec::new();
        unbound.sort_by_key(|(_, claim)| requested(claim));
        for (id, claim) in unbound {
            let assumed = self.claims.get(&id).copied();
            let is_taken = |volume: PersistentVolumeId| {
                self.volumes.get(&volume).is_some_and(|other| *other != id)
                    || bindings.iter().any(|(_, binding)| *binding == Binding::Volume(volume))
            };
            let selected = match assumed {
                Some(Binding::Node(node)) => Some(node),
                _ => claim.selected_node,
            };
            let place = Some((&object.labels, node.name));
            let binding = match (selected, assumed) {
                // Where the class still lets it be made there.
                (Some(selected), _) => {
                    let is_made_here = selected == on && provisions(volumes.class_of(claim), node);
                    is_made_here.then_some(Binding::Node(on))
                }
                (None, Some(Binding::Volume(volume))) => {
                    let reaches =
                        |v: &crate::state::PersistentVolume| v.spec.is_reachable_from(&object.labels, node.name);
                    volumes.volume(volume).is_some_and(reaches).then_some(Binding::Volume(volume))
                }
                (None, _) => find_matching_volume(volumes, claim, true, place, &is_taken)
                    .map(Binding::Volume)
                    .or_else(|| provisions(volumes.class_of(claim), node).then_some(Binding::Node(on))),
            };
            match binding {
                Some(binding) => bindings.push((id, binding)),
                None => {
                    reasons.push(sym!("node(s) didn't find available persistent volumes to bind"));
                    break;
                }
            }
        }
        if reasons.is_empty() { Ok(bindings) } else { Err(reasons) }
    }
}

fn requested(claim: &PersistentVolumeClaim) -> i64 {
    claim.spec.resources.requests.get(sym!("storage")).map_or(0, |amount| amount.value())
}

/// Whether a class makes volumes for a node.
fn provisions(class: Option<&StorageClass>, node: &NodeInfo) -> bool {
    let (Some(class), Some(object)) = (class, &node.object) else { return false };
    let terms = &class.allowed_topologies;
    !class.provisioner.as_str().is_empty()
        && class.provisioner != sym!("kubernetes.io/no-provisioner")
        && (terms.is_empty() || terms.iter().any(|term| term.matches(&object.labels)))
}
