//! Volumes as far as they decide where a pod can run, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::meta::{Meta, Uid};
use super::nodes::NodeId;
use super::pods::{Pod, PodId};
use super::workloads::StatefulSetId;
use crate::arena::{Id, Symbol, Table, sym};
use crate::model;

/// Identifies a PersistentVolume.
pub type PersistentVolumeId = Id<PersistentVolume>;
/// Identifies a PersistentVolumeClaim.
pub type PersistentVolumeClaimId = Id<PersistentVolumeClaim>;

type PodSet = IndexSet<PodId, FxBuildHasher>;

/// A PersistentVolume.
#[derive(Clone, Debug)]
pub struct PersistentVolume {
    /// Metadata.
    pub meta: Meta,
    /// Spec, but for its claim.
    pub spec: Arc<model::PersistentVolumeSpec>,
    /// `spec.claimRef`: namespace and name.
    pub claim: Option<(Symbol, Symbol)>,
    /// `spec.claimRef.uid`; none while it is only reserved.
    pub claim_uid: Option<Uid>,
    /// Its claim is gone, or it failed: nobody else gets it.
    pub is_released: bool,
    /// The CSI driver that serves it.
    pub driver: Option<Symbol>,
}

/// What becomes of a volume whose claim is gone.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// It stays, with its data, and waits for somebody to look after it.
    Kept,
    /// It goes.
    Deleted,
    /// It should go, and nobody can delete it.
    Fails,
}

impl PersistentVolume {
    /// Whether it is bound to a claim, or reserved for it. A claim that was made anew is another claim.
    ///
    /// # Source
    /// component-helpers, `IsVolumeBoundToClaim`.
    #[must_use]
    pub fn is_for(&self, claim: &PersistentVolumeClaim) -> bool {
        self.claim == Some((claim.meta.namespace, claim.meta.name))
            && self.claim_uid.is_none_or(|uid| uid == claim.meta.uid)
    }

    /// The annotation that says which provisioner made a volume.
    #[must_use]
    pub fn provisioned_by() -> Symbol {
        sym!("pv.kubernetes.io/provisioned-by")
    }

    /// What becomes of it when its claim is gone.
    ///
    /// # Source
    /// persistentvolume-binder-controller, `reclaimVolume`, `findDeletablePlugin`: of volumes to be deleted, those that a provisioner
    /// made are its to delete; of others, only a directory in `/tmp` can be.
    #[must_use]
    pub fn reclaim(&self) -> Reclaim {
        if self.spec.persistent_volume_reclaim_policy != Some(model::ReclaimPolicy::Delete) {
            return Reclaim::Kept;
        }
        let is_temporary = || {
            let source: Option<serde_json::Value> = serde_json::from_str(self.spec.host_path.as_json()).ok();
            source.as_ref().and_then(|source| source["path"].as_str()).is_some_and(|path| path.starts_with("/tmp/"))
        };
        let is_deletable = self.meta.annotations.contains_key(&Self::provisioned_by()) || is_temporary();
        if is_deletable { Reclaim::Deleted } else { Reclaim::Fails }
    }

    /// `status.phase`.
    ///
    /// # Source
    /// persistentvolume-binder-controller, `syncVolume`: one that is only reserved is available.
    #[must_use]
    pub fn phase(&self) -> model::PersistentVolumePhase {
        match (self.is_released, self.claim.and(self.claim_uid)) {
            (true, _) if self.reclaim() == Reclaim::Fails => model::PersistentVolumePhase::Failed,
            (true, _) => model::PersistentVolumePhase::Released,
            (false, Some(_)) => model::PersistentVolumePhase::Bound,
            (false, None) => model::PersistentVolumePhase::Available,
        }
    }
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug)]
pub struct PersistentVolumeClaim {
    /// Metadata.
    pub meta: Meta,
    /// Spec, but for the name of its volume.
    pub spec: Arc<model::PersistentVolumeClaimSpec>,
    /// `spec.volumeName`: the volume that it is bound to, or that its author wants.
    pub volume: Option<Symbol>,
    /// It was bound to its volume: annotation `pv.kubernetes.io/bind-completed`.
    pub is_bound: bool,
    /// `status.phase` is Lost.
    pub is_lost: bool,
    /// Annotation `volume.kubernetes.io/selected-node`: where its first pod will run.
    pub selected_node: Option<NodeId>,
    /// With whom it goes; written by [`Volumes::set_claim_owner`].
    pub owner: Option<ClaimOwner>,
}

/// The owner of a StatefulSet's claim: an owner reference that follows the set's retention policy.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimOwner {
    /// It goes with its set.
    StatefulSet(StatefulSetId),
    /// It goes with its pod.
    Pod(PodId),
}

impl PersistentVolumeClaim {
    /// The volume that it is bound to, by name: not one that it only asks for.
    ///
    /// # Source
    /// kube-scheduler, `isPVCFullyBound`.
    #[must_use]
    pub fn bound_to(&self) -> Option<Symbol> {
        self.volume.filter(|_| self.is_bound)
    }

    /// `status.phase`.
    #[must_use]
    pub fn phase(&self) -> model::PersistentVolumeClaimPhase {
        match (self.is_lost, self.bound_to()) {
            (true, _) => model::PersistentVolumeClaimPhase::Lost,
            (false, Some(_)) => model::PersistentVolumeClaimPhase::Bound,
            (false, None) => model::PersistentVolumeClaimPhase::Pending,
        }
    }
}

/// What the control plane makes of a volume on a node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum AttachmentPhase {
    /// Asked for.
    Attaching,
    /// There: the node's `status.volumesAttached` has it.
    Attached,
    /// Being taken away.
    Detaching,
}

/// A volume on a node: the VolumeAttachment, and what the kubelet says.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Attachment {
    /// None if it is not attached.
    pub phase: Option<AttachmentPhase>,
    /// The node's `status.volumesInUse` has it: the kubelet wants it, or has it mounted.
    pub in_use: bool,
}

/// Who may have a volume.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Offered {
    /// The claim of this namespace and name.
    ToClaim(Symbol, Symbol),
    /// Any claim of this class.
    ToClass(Symbol),
}

fn offer(id: PersistentVolumeId, volume: &PersistentVolume) -> Option<(Offered, PersistentVolumeId)> {
    let to = match volume.claim {
        Some((namespace, name)) => Offered::ToClaim(namespace, name),
        None => Offered::ToClass(volume.spec.storage_class_name),
    };
    (!volume.is_released).then_some((to, id))
}

/// Volumes, claims, classes and what is attached where.
#[derive(Clone, Debug, Default)]
pub struct Volumes {
    volumes: Table<PersistentVolume>,
    claims: Table<PersistentVolumeClaim>,
    /// Volumes that are not released, by who may have them.
    offers: BTreeSet<(Offered, PersistentVolumeId)>,
    volume_names: FxHashMap<Symbol, PersistentVolumeId>,
    claim_names: FxHashMap<(Symbol, Symbol), PersistentVolumeClaimId>,
    /// Claims that have an owner, by owner.
    owned: BTreeSet<(ClaimOwner, PersistentVolumeClaimId)>,
    pods: FxHashMap<(Symbol, Symbol), PodSet>,
    attachments: BTreeMap<(PersistentVolumeId, NodeId), Attachment>,
    on_nodes: BTreeSet<(NodeId, PersistentVolumeId)>,
    /// StorageClasses.
    pub classes: Vec<Arc<model::StorageClass>>,
    /// CSIDrivers.
    pub drivers: Vec<Arc<model::CSIDriver>>,
    /// CSINodes, by the node's name.
    pub csi_nodes: FxHashMap<Symbol, Arc<model::CSINode>>,
}

/// An empty set to lend where nothing is indexed.
static NO_PODS: std::sync::LazyLock<PodSet> = std::sync::LazyLock::new(PodSet::default);

impl Volumes {
    /// A volume.
    #[must_use]
    pub fn volume(&self, id: PersistentVolumeId) -> Option<&PersistentVolume> {
        self.volumes.get(id)
    }

    /// All volumes, in id order.
    pub fn volumes(&self) -> impl Iterator<Item = (PersistentVolumeId, &PersistentVolume)> {
        self.volumes.iter()
    }

    /// The volume of that name.
    #[must_use]
    pub fn find_volume(&self, name: Symbol) -> Option<PersistentVolumeId> {
        self.volume_names.get(&name).copied()
    }

    /// Adds a volume.
    pub fn insert_volume(&mut self, volume: PersistentVolume) -> PersistentVolumeId {
        let name = volume.meta.name;
        let id = self.volumes.insert(volume);
        self.volume_names.insert(name, id);
        self.offers.extend(self.volumes.get(id).and_then(|volume| offer(id, volume)));
        id
    }

    /// Sets `spec.claimRef`; whether that changes anything.
    ///
    /// # Panics
    ///
    /// If there is no such volume.
    pub fn give_volume(&mut self, id: PersistentVolumeId, claim: (Symbol, Symbol), uid: Uid) -> bool {
        self.change_volume(id, |volume| {
            let before = (volume.claim.replace(claim), volume.claim_uid.replace(uid));
            before != (Some(claim), Some(uid))
        })
    }

    /// The volume's claim is gone: nobody else gets it.
    ///
    /// # Panics
    ///
    /// If there is no such volume.
    pub fn release_volume(&mut self, id: PersistentVolumeId) {
        self.change_volume(id, |volume| volume.is_released = true);
    }

    /// Changes a volume.
    ///
    /// # Panics
    ///
    /// If there is no such volume.
    pub fn change_volume<T>(&mut self, id: PersistentVolumeId, change: impl FnOnce(&mut PersistentVolume) -> T) -> T {
        let volume = self.volumes.get_mut(id).expect("a volume");
        let before = offer(id, volume);
        let result = change(volume);
        let after = offer(id, volume);
        if let Some(before) = before {
            self.offers.remove(&before);
        }
        self.offers.extend(after);
        result
    }

    /// Volumes that may be bound to a claim: those that are reserved for it, and those of its class that are reserved for
    /// nobody; in id order.
    pub fn offers_for(&self, claim: &PersistentVolumeClaim) -> impl Iterator<Item = PersistentVolumeId> + '_ {
        let class = Offered::ToClass(claim.spec.storage_class_name.unwrap_or_default());
        self.reserved(claim.meta.namespace, claim.meta.name).chain(self.offered(class))
    }

    /// Volumes whose `spec.claimRef` names a claim, but for those that are released; in id order.
    pub fn reserved(&self, namespace: Symbol, name: Symbol) -> impl Iterator<Item = PersistentVolumeId> + '_ {
        self.offered(Offered::ToClaim(namespace, name))
    }

    fn offered(&self, to: Offered) -> impl Iterator<Item = PersistentVolumeId> + '_ {
        let from = self.offers.range((to, PersistentVolumeId::MIN)..);
        from.take_while(move |(other, _)| *other == to).map(|(_, id)| *id)
    }

    /// Takes a volume out; where it is attached it stays so.
    pub fn remove_volume(&mut self, id: PersistentVolumeId) -> Option<PersistentVolume> {
        let volume = self.volumes.remove(id)?;
        if let Some(offer) = offer(id, &volume) {
            self.offers.remove(&offer);
        }
        self.volume_names.remove(&volume.meta.name);
        Some(volume)
    }

    /// A claim.
    #[must_use]
    pub fn claim(&self, id: PersistentVolumeClaimId) -> Option<&PersistentVolumeClaim> {
        self.claims.get(id)
    }

    /// A claim for writing; its name stays.
    pub fn claim_mut(&mut self, id: PersistentVolumeClaimId) -> Option<&mut PersistentVolumeClaim> {
        self.claims.get_mut(id)
    }

    /// All claims, in id order.
    pub fn claims(&self) -> impl Iterator<Item = (PersistentVolumeClaimId, &PersistentVolumeClaim)> {
        self.claims.iter()
    }

    /// The claim of that name.
    #[must_use]
    pub fn find_claim(&self, namespace: Symbol, name: Symbol) -> Option<PersistentVolumeClaimId> {
        self.claim_names.get(&(namespace, name)).copied()
    }

    /// Adds a claim.
    pub fn insert_claim(&mut self, claim: PersistentVolumeClaim) -> PersistentVolumeClaimId {
        let key = (claim.meta.namespace, claim.meta.name);
        let owner = claim.owner;
        let id = self.claims.insert(claim);
        self.claim_names.insert(key, id);
        self.owned.extend(owner.map(|owner| (owner, id)));
        id
    }

    /// Takes a claim out.
    pub fn remove_claim(&mut self, id: PersistentVolumeClaimId) -> Option<PersistentVolumeClaim> {
        let claim = self.claims.remove(id)?;
        self.claim_names.remove(&(claim.meta.namespace, claim.meta.name));
        if let Some(owner) = claim.owner {
            self.owned.remove(&(owner, id));
        }
        Some(claim)
    }

    /// Writes with whom a claim goes.
    pub fn set_claim_owner(&mut self, id: PersistentVolumeClaimId, owner: Option<ClaimOwner>) {
        let Some(claim) = self.claims.get_mut(id) else { return };
        let before = std::mem::replace(&mut claim.owner, owner);
        if let Some(before) = before {
            self.owned.remove(&(before, id));
        }
        self.owned.extend(owner.map(|owner| (owner, id)));
    }

    /// Claims that go with an owner, in id order.
    pub fn claims_owned_by(&self, owner: ClaimOwner) -> impl Iterator<Item = PersistentVolumeClaimId> + '_ {
        let from = self.owned.range((owner, PersistentVolumeClaimId::MIN)..);
        from.take_while(move |(of, _)| *of == owner).map(|(_, id)| *id)
    }

    /// Whether any claim goes with anybody.
    #[must_use]
    pub fn has_owned_claims(&self) -> bool {
        !self.owned.is_empty()
    }

    /// The volume that a claim is bound to, if both exist.
    #[must_use]
    pub fn volume_of(&self, namespace: Symbol, claim: Symbol) -> Option<PersistentVolumeId> {
        self.find_volume(self.claim(self.find_claim(namespace, claim)?)?.bound_to()?)
    }

    /// The class of that name.
    #[must_use]
    pub fn class(&self, name: Symbol) -> Option<&Arc<model::StorageClass>> {
        self.classes.iter().find(|class| class.metadata.name == name)
    }

    /// The class that a claim names, if it exists.
    #[must_use]
    pub fn class_of(&self, claim: &PersistentVolumeClaim) -> Option<&model::StorageClass> {
        self.class(claim.spec.storage_class_name?).map(|class| &**class)
    }

    /// Whether a claim is bound when its first pod is scheduled, not before.
    #[must_use]
    pub fn waits_for_pod(&self, claim: &PersistentVolumeClaim) -> bool {
        let mode = self.class_of(claim).map(|class| class.volume_binding_mode);
        mode == Some(model::VolumeBindingMode::WaitForFirstConsumer)
    }

    /// Pods that use a claim, whether it exists or not.
    #[must_use]
    pub fn pods_using(&self, namespace: Symbol, claim: Symbol) -> &PodSet {
        self.pods.get(&(namespace, claim)).unwrap_or(&NO_PODS)
    }

    pub(super) fn pod_added(&mut self, id: PodId, pod: &Pod) {
        for claim in pod.claims() {
            self.pods.entry((pod.namespace, claim.name)).or_default().insert(id);
        }
    }

    pub(super) fn pod_removed(&mut self, id: PodId, pod: &Pod) {
        for claim in pod.claims() {
            let key = (pod.namespace, claim.name);
            let Some(pods) = self.pods.get_mut(&key) else { continue };
            pods.swap_remove(&id);
            if pods.is_empty() {
                self.pods.remove(&key);
            }
        }
    }

    /// Whether volumes are attached before they can be used.
    #[must_use]
    pub fn is_attachable(&self, id: PersistentVolumeId) -> bool {
        let Some(driver) = self.volume(id).and_then(|volume| volume.driver) else { return false };
        let object = self.drivers.iter().find(|object| object.metadata.name == driver);
        let required = object.and_then(|object| object.spec.attach_required);
        required.unwrap_or_else(|| model::is_attached_by_default(driver))
    }

    /// A volume on a node.
    #[must_use]
    pub fn attachment(&self, volume: PersistentVolumeId, node: NodeId) -> Attachment {
        self.attachments.get(&(volume, node)).copied().unwrap_or_default()
    }

    /// Nodes that have the volume, or say so.
    pub fn attachments_of(&self, volume: PersistentVolumeId) -> impl Iterator<Item = (NodeId, Attachment)> + '_ {
        let all = self.attachments.range((volume, NodeId::MIN)..);
        all.take_while(move |((of, _), _)| *of == volume).map(|((_, node), attachment)| (*node, *attachment))
    }

    /// Volumes that a node has, or says it has.
    pub fn attachments_on(&self, node: NodeId) -> impl Iterator<Item = (PersistentVolumeId, Attachment)> + '_ {
        let all = self.on_nodes.range((node, PersistentVolumeId::MIN)..);
        all.take_while(move |(on, _)| *on == node).map(move |(_, volume)| (*volume, self.attachment(*volume, node)))
    }

    /// Writes what is the case with a volume on a node.
    pub fn set_attachment(&mut self, volume: PersistentVolumeId, node: NodeId, attachment: Attachment) {
        if attachment == Attachment::default() {
            self.attachments.remove(&(volume, node));
            self.on_nodes.remove(&(node, volume));
        } else {
            self.attachments.insert((volume, node), attachment);
            self.on_nodes.insert((node, volume));
        }
    }

    /// Counts every index anew and compares; no volume may be attached to more nodes than its access modes allow.
    pub(super) fn audit<'a>(&self, pods: impl Iterator<Item = (PodId, &'a Pod)>) -> Result<(), String> {
        let named = |(id, volume): (PersistentVolumeId, &PersistentVolume)| {
            let name = volume.meta.name;
            let nodes = self.attachments_of(id).filter(|(_, attachment)| attachment.phase.is_some()).count();
            if self.find_volume(name) != Some(id) {
                return Err(format!("the name of volume {name} leads elsewhere"));
            }
            if offer(id, volume).is_some_and(|offer| !self.offers.contains(&offer)) {
                return Err(format!("volume {name} is not among those that claims may have"));
            }
            if nodes > 1 && !volume.spec.is_shared() {
                return Err(format!("volume {name} is attached to {nodes} nodes"));
            }
            Ok(())
        };
        self.volumes().try_for_each(named)?;
        for (id, claim) in self.claims() {
            let (namespace, name) = (claim.meta.namespace, claim.meta.name);
            if self.find_claim(namespace, name) != Some(id) {
                return Err(format!("the name of claim {namespace}/{name} leads elsewhere"));
            }
            if claim.owner.is_some_and(|owner| !self.owned.contains(&(owner, id))) {
                return Err(format!("claim {namespace}/{name} is not among those of its owner"));
            }
        }
        let owned = self.claims().filter(|(_, claim)| claim.owner.is_some()).count();
        let offered = self.volumes().filter(|(id, volume)| offer(*id, volume).is_some()).count();
        let lengths = [
            (offered, self.offers.len()),
            (self.volume_names.len(), self.volumes.len()),
            (self.claim_names.len(), self.claims.len()),
            (self.owned.len(), owned),
        ];
        if lengths.iter().any(|(names, objects)| names != objects) || self.attachments.len() != self.on_nodes.len() {
            return Err(format!("volumes and claims have indexes of other lengths: {lengths:?}"));
        }
        let mut uses = 0;
        for (id, pod) in pods {
            for claim in pod.claims() {
                uses += 1;
                if !self.pods_using(pod.namespace, claim.name).contains(&id) {
                    return Err(format!(
                        "pod {}/{} is not among those of claim {}",
                        pod.namespace, pod.name, claim.name
                    ));
                }
            }
        }
        let listed: usize = self.pods.values().map(PodSet::len).sum();
        if listed > uses {
            return Err(format!("{uses} uses of claims are listed as {listed}"));
        }
        Ok(())
    }
}
