//! The volume binder: claims get volumes that are there, or new ones; volumes whose claim is gone are deleted or kept.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::{Symbol, stable_hash, sym};
use crate::component::{
    Answer, Config, Controller, Ctx, Enqueue, EventDraft, Latencies, ObjectRef, Reconcile, Request, Start, SyncPlan,
    find_matching_volume, satisfies,
};
use crate::model::{
    self, CsiVolumeSource, NodeSelector, NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm, Object,
    ObjectKind, ObjectReference, PersistentVolumeSpec, ReclaimPolicy, StorageClass, VolumeNodeAffinity,
};
use crate::state::{
    Change, Changed, NodeId, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimId, PersistentVolumeId, Pod,
    PodId, Reclaim, Store,
};
use crate::units::{SimDuration, SimTime};

/// What the binder works on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A claim that may want a volume.
    Claim(PersistentVolumeClaimId),
    /// A volume that may have lost its claim, or wait for it.
    Volume(PersistentVolumeId),
    /// A pod that may want claims of its own.
    Pod(PodId),
    /// A claim whose pod is gone.
    Orphan(PersistentVolumeClaimId),
}

/// What a call was for.
#[derive(Copy, Clone, Debug)]
pub enum Purpose {
    /// A volume was made for this claim.
    Provisioned(PersistentVolumeClaimId),
    /// Anything else.
    Other,
}

/// persistentvolume-binder, with the provisioner behind it and the controller that makes claims of ephemeral volumes.
///
/// # Source
/// kube-controller-manager: persistentvolume-binder-controller, ephemeral-volume-controller; external-provisioner.
///
/// # Differs
/// A provisioner never fails and never runs out of storage. A released volume is deleted at once, attached or not; that one cannot be
/// deleted is said once.
#[derive(Clone, Debug, Default)]
pub struct PersistentVolumes {
    /// When the volume of a claim will have been made.
    ready_at: FxHashMap<PersistentVolumeClaimId, SimTime>,
    /// Volumes whose claim is gone.
    released: FxHashSet<PersistentVolumeId>,
    /// When it last began to look at all claims from time to time.
    resyncs_from: SimTime,
}

impl PersistentVolumes {
    /// Claims without a volume hear nothing of a new volume or class: they are looked at with all others the next time.
    ///
    /// # Source
    /// persistentvolume-binder-controller, `resync`: every `pvclaimbinder-sync-period` from its start on.
    ///
    /// # Differs
    /// Only where something has changed that may concern them, and no Event says each time what a claim waits for.
    fn enqueue_at_resync(&self, ctx: &Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Key>) {
        let period = ctx.config.kube_controller_manager.pvclaimbinder_sync_period.as_nanos().max(1);
        let passed = ctx.now.saturating_since(self.resyncs_from).as_nanos();
        let left = SimDuration::from_nanos(period - passed % period);
        unbound(ctx.store).for_each(|id| queue.after(Key::Claim(id), left));
    }

    fn sync_claim(&mut self, id: PersistentVolumeClaimId, ctx: &Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        let mut plan = SyncPlan::nothing();
        let volumes = &ctx.store.volumes;
        let Some(claim) = volumes.claim(id) else { return plan };
        let (namespace, name) = (claim.meta.namespace, claim.meta.name);
        if claim.meta.deleting.is_some() {
            return plan;
        }
        if let Some(wanted) = claim.volume {
            if let Some(volume) = volumes.find_volume(wanted)
                && volumes.volume(volume).is_some_and(|object| may_have(claim, object))
            {
                plan.then(Request::BindClaim { claim: id, volume }, Purpose::Other);
            }
            return plan;
        }
        let is_delayed = volumes.waits_for_pod(claim);
        if let Some(volume) = find_matching_volume(volumes, claim, is_delayed, None, &|_| false) {
            plan.then(Request::BindClaim { claim: id, volume }, Purpose::Other);
            return plan;
        }
        let Some(class) = volumes.class_of(claim) else { return plan };
        let waits = is_delayed && claim.selected_node.is_none();
        if waits || class.provisioner.as_str() == "kubernetes.io/no-provisioner" {
            return plan;
        }
        let is_specified = class.provisioner.as_str() != model::UNSPECIFIED_PROVISIONER;
        let ready_at = *self.ready_at.entry(id).or_insert_with(|| {
            let latency = &ctx.config.latency.volume_provision;
            let takes = Latencies::draw(latency, ctx.streams, "volume-provision", &format!("{namespace}/{name}"), 0);
            ctx.now + if is_specified { takes } else { SimDuration::ZERO }
        });
        if ctx.now < ready_at {
            plan.requeue_after = Some(ready_at.saturating_since(ctx.now));
            return plan;
        }
        self.ready_at.remove(&id);
        let volume = provisioned(ctx.store, claim, class);
        plan.then(Request::Create(Box::new(Object::PersistentVolume(Box::new(volume)))), Purpose::Provisioned(id));
        plan
    }

    /// # Source
    /// persistentvolume-binder-controller, `syncVolume`: a claim that has another UID than `claimRef` says was made when the volume's
    /// own had gone.
    ///
    /// # Differs
    /// A `claimRef` whose claim the input does not hold says that there is one.
    fn sync_volume(&mut self, id: PersistentVolumeId, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        let mut plan = SyncPlan::nothing();
        let store = ctx.store;
        let Some(volume) = store.volumes.volume(id) else { return plan };
        let claim = claim_of(volume, store).and_then(|claim| store.volumes.claim(claim));
        let is_anothers = !volume.is_released && claim.is_some_and(|claim| !volume.is_for(claim));
        if self.released.remove(&id) || is_anothers {
            let (namespace, name) = (Symbol::empty(), volume.meta.name);
            let (kind, reclaim) = (ObjectKind::PersistentVolume, volume.reclaim());
            let request = match reclaim {
                Reclaim::Deleted => Request::DeleteOther { kind: kind.into(), namespace, name },
                Reclaim::Kept | Reclaim::Fails => Request::ReleaseVolume { volume: id },
            };
            plan.then(request, Purpose::Other);
            if reclaim == Reclaim::Fails {
                let named = ObjectRef::named(kind, namespace, std::sync::Arc::from(name.as_str()));
                let about = ObjectRef { uid: volume.meta.uid, ..named };
                let message =
                    format!("error getting deleter volume plugin for volume \"{name}\": no volume plugin matched");
                ctx.event(EventDraft::warning("VolumeFailedDelete", about, message));
            }
        }
        plan
    }
}

/// The claim that a volume names.
fn claim_of(volume: &PersistentVolume, store: &Store) -> Option<PersistentVolumeClaimId> {
    let (namespace, name) = volume.claim?;
    store.volumes.find_claim(namespace, name)
}

/// Whether a claim gets the volume that it asks for by name, or has been bound to.
///
/// # Source
/// persistentvolume-binder-controller, `syncUnboundClaim` and `syncBoundClaim`.
///
/// # Differs
/// A claim that has been bound stays so if its volume is gone or another's, and does not become Lost; VolumeMismatch and FailedBinding are
/// no Events.
fn may_have(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> bool {
    match (claim.is_bound, volume.claim) {
        (true, None) => true,
        (false, None) => satisfies(volume, claim),
        (is_bound, Some(_)) => {
            let is_done = is_bound && volume.claim_uid.is_some();
            !volume.is_released && volume.is_for(claim) && !is_done
        }
    }
}

impl Reconcile for PersistentVolumes {
    type Key = Key;
    type Purpose = Purpose;
    const NAME: &'static str = "persistentvolume-controller";
    const CONTROLLERS: &'static [&'static str] = &["persistentvolume-binder-controller"];

    fn workers(_config: &Config) -> usize {
        16
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::VolumeChanged(_)
                | Changed::ClaimChanged(_)
                | Changed::ClaimRemoved(_)
                | Changed::StorageChanged
                | Changed::PodAdded(_)
                | Changed::PodRemoved { .. }
        )
    }

    fn started(&mut self, start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Key>) {
        let period = ctx.config.kube_controller_manager.pvclaimbinder_sync_period;
        self.resyncs_from = match start {
            Start::Fresh => ctx.now,
            Start::Initial => {
                let part = ctx.streams.stream("volume-binder-resync", "").unit();
                ctx.now - SimDuration::from_secs_f64(period.as_secs_f64() * part)
            }
        };
        unbound(ctx.store).for_each(|id| queue.now(Key::Claim(id)));
        let reserved = ctx.store.volumes.volumes().filter(|(_, volume)| volume.claim.is_some());
        reserved.for_each(|(id, _)| queue.now(Key::Volume(id)));
        for (id, pod) in ctx.store.pods() {
            if pod.claims().iter().any(|claim| claim.is_ephemeral) {
                queue.now(Key::Pod(id));
            }
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Key>) {
        let volumes = &ctx.store.volumes;
        match &change.what {
            Changed::ClaimChanged(id) => queue.now(Key::Claim(*id)),
            Changed::VolumeChanged(id) => match volumes.volume(*id) {
                Some(volume) if volume.claim.is_some() => {
                    queue.now(Key::Volume(*id));
                    // Whether the volume does for its claim is the claim's question.
                    let claim = claim_of(volume, ctx.store);
                    let is_bound = |id| volumes.claim(id).is_some_and(|claim| claim.bound_to().is_some());
                    claim.filter(|id| !is_bound(*id)).into_iter().for_each(|id| queue.now(Key::Claim(id)));
                }
                // A volume for whoever it suits.
                Some(_) => self.enqueue_at_resync(ctx, queue),
                None => {}
            },
            Changed::StorageChanged => self.enqueue_at_resync(ctx, queue),
            Changed::ClaimRemoved(claim) => {
                let bound = claim.bound_to().and_then(|name| volumes.find_volume(name));
                if let Some(volume) = bound.filter(|id| volumes.volume(*id).is_some_and(|volume| volume.is_for(claim)))
                {
                    self.released.insert(volume);
                    queue.now(Key::Volume(volume));
                }
            }
            Changed::PodAdded(id) => {
                let claims = ctx.store.pod(*id).map(Pod::claims).unwrap_or_default();
                if claims.iter().any(|claim| claim.is_ephemeral) {
                    queue.now(Key::Pod(*id));
                }
            }
            Changed::PodRemoved { last, .. } => {
                for used in last.claims().iter().filter(|claim| claim.is_ephemeral) {
                    if let Some(id) = volumes.find_claim(last.namespace, used.name) {
                        queue.now(Key::Orphan(id));
                    }
                }
            }
            _ => {}
        }
    }

    fn sync(&mut self, key: Key, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        let mut plan = SyncPlan::nothing();
        match key {
            Key::Claim(id) => return self.sync_claim(id, ctx),
            Key::Volume(id) => return self.sync_volume(id, ctx),
            Key::Pod(id) => {
                let Some(pod) = ctx.store.pod(id) else { return plan };
                for claim in missing_claims(pod, ctx.store) {
                    let object = Object::PersistentVolumeClaim(Box::new(claim));
                    plan.then(Request::Create(Box::new(object)), Purpose::Other);
                }
            }
            Key::Orphan(id) => {
                if let Some(claim) = ctx.store.volumes.claim(id)
                    && ctx.store.volumes.pods_using(claim.meta.namespace, claim.meta.name).is_empty()
                {
                    let (namespace, name) = (claim.meta.namespace, claim.meta.name);
                    plan.then(
                        Request::DeleteOther { kind: ObjectKind::PersistentVolumeClaim.into(), namespace, name },
                        Purpose::Other,
                    );
                }
            }
        }
        plan
    }

    fn answered(&mut self, _key: Key, purpose: Purpose, answer: &Answer, ctx: &mut Ctx<'_, Controller<Self>>) {
        if let (Purpose::Provisioned(id), Ok(_)) = (purpose, answer)
            && let Some(claim) = ctx.store.volumes.claim(id)
        {
            let name = std::sync::Arc::from(claim.meta.name.as_str());
            let about = ObjectRef {
                uid: claim.meta.uid,
                ..ObjectRef::named(ObjectKind::PersistentVolumeClaim, claim.meta.namespace, name)
            };
            let message = format!("Successfully provisioned volume {}", volume_name(claim));
            ctx.event(EventDraft::normal("ProvisioningSucceeded", about, message));
        }
    }
}

/// Claims that have no volume yet.
fn unbound(store: &Store) -> impl Iterator<Item = PersistentVolumeClaimId> + '_ {
    let volumes = &store.volumes;
    let is_unbound = |claim: &PersistentVolumeClaim| {
        let named = claim.bound_to().and_then(|name| volumes.volume(volumes.find_volume(name)?));
        named.is_none_or(|volume| volume.claim.is_none())
    };
    volumes.claims().filter(move |(_, claim)| is_unbound(claim)).map(|(id, _)| id)
}

/// Claims of a pod's ephemeral volumes that there are not.
fn missing_claims(pod: &Pod, store: &Store) -> Vec<model::PersistentVolumeClaim> {
    let mut missing = Vec::new();
    for used in pod.claims().into_iter().filter(|claim| claim.is_ephemeral) {
        if pod.deletion.is_some() || store.volumes.find_claim(pod.namespace, used.name).is_some() {
            continue;
        }
        let volume = pod.spec.volumes.iter().find(|volume| volume.name == used.volume);
        let Some(template) = volume.and_then(|v| v.ephemeral.as_ref()).map(|e| &e.volume_claim_template) else {
            continue;
        };
        let mut claim = model::PersistentVolumeClaim {
            metadata: template.metadata.clone(),
            spec: template.spec.clone(),
            ..model::PersistentVolumeClaim::default()
        };
        claim.metadata.name = used.name;
        claim.metadata.namespace = pod.namespace;
        missing.push(claim);
    }
    missing
}

fn volume_name(claim: &PersistentVolumeClaim) -> String {
    format!("pvc-{}", claim.meta.uid)
}

/// The volume that a class makes for a claim.
fn provisioned(store: &Store, claim: &PersistentVolumeClaim, class: &StorageClass) -> model::PersistentVolume {
    let driver = model::csi_driver_of(class.provisioner);
    let topology = match claim.selected_node {
        Some(node) => topology_of(store, node, class, driver),
        None => spread_topology(store, claim, class, driver),
    };
    let requirements: Vec<NodeSelectorRequirement> = topology
        .into_iter()
        .map(|(key, value)| NodeSelectorRequirement { key, operator: NodeSelectorOperator::In, values: vec![value] })
        .collect();
    let node_affinity = (!requirements.is_empty()).then(|| VolumeNodeAffinity {
        required: Some(NodeSelector {
            node_selector_terms: vec![NodeSelectorTerm {
                match_expressions: requirements,
                ..NodeSelectorTerm::default()
            }],
        }),
    });
    let name = Symbol::new(&volume_name(claim));
    let mut volume = model::PersistentVolume::default();
    volume.metadata.name = name;
    volume.metadata.annotations.insert(PersistentVolume::provisioned_by(), class.provisioner);
    volume.spec = PersistentVolumeSpec {
        capacity: claim.spec.resources.requests.clone(),
        access_modes: claim.spec.access_modes.clone(),
        claim_ref: Some(ObjectReference {
            kind: sym!("PersistentVolumeClaim"),
            namespace: claim.meta.namespace,
            name: claim.meta.name,
            uid: Symbol::new(&claim.meta.uid.to_string()),
            ..ObjectReference::default()
        }),
        persistent_volume_reclaim_policy: Some(class.reclaim_policy.unwrap_or(ReclaimPolicy::Delete)),
        storage_class_name: class.metadata.name,
        node_affinity,
        volume_mode: claim.spec.volume_mode,
        csi: Some(Box::new(CsiVolumeSource { driver, volume_handle: name, ..CsiVolumeSource::default() })),
        ..PersistentVolumeSpec::default()
    };
    volume
}

/// Labels of a node that say from where a volume made for it can be reached.
fn topology_of(store: &Store, node: NodeId, class: &StorageClass, driver: Symbol) -> Vec<(Symbol, Symbol)> {
    let Some(object) = store.node(node) else { return Vec::new() };
    let labels = &object.labels;
    if let Some(term) = class.allowed_topologies.iter().find(|term| term.matches(labels)) {
        let keys = term.match_label_expressions.iter().map(|expression| expression.key);
        return keys.filter_map(|key| Some((key, labels.get(key)?))).collect();
    }
    let keys = model::topology_keys_of(driver).iter().map(|key| Symbol::new(key));
    keys.filter_map(|key| Some((key, labels.get(key)?))).take(1).collect()
}

/// Where a volume is made that waits for no pod: claims with a number at the end of their names take the topologies in
/// turn.
///
/// # Source
/// external-provisioner, `GenerateAccessibilityRequirements`.
///
/// # Differs
/// Where the turn begins follows from the name by another hash.
fn spread_topology(
    store: &Store,
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    driver: Symbol,
) -> Vec<(Symbol, Symbol)> {
    let allows = |node: NodeId| {
        let labels = store.node(node).map(|object| &object.labels);
        let terms = &class.allowed_topologies;
        terms.is_empty() || labels.is_some_and(|labels| terms.iter().any(|term| term.matches(labels)))
    };
    let nodes = store.nodes().map(|(id, _)| id).filter(|id| allows(*id));
    let mut all: Vec<Vec<(Symbol, Symbol)>> = nodes.map(|id| topology_of(store, id, class, driver)).collect();
    all.retain(|topology| !topology.is_empty());
    all.sort();
    all.dedup();
    if all.is_empty() {
        return Vec::new();
    }
    let name = claim.meta.name.as_str();
    let (set, ordinal) = name.rsplit_once('-').unwrap_or((name, ""));
    let (set, ordinal) = ordinal.parse::<u64>().map_or((name, 0), |ordinal| (set, ordinal));
    let at = stable_hash(set.as_bytes()).wrapping_add(ordinal) % all.len() as u64;
    all.swap_remove(at as usize)
}
