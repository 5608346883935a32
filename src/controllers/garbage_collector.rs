//! The garbage collector: what becomes of objects whose owner goes.
//!
//! Background: dependents of an owner that is gone are deleted. Foreground: the owner stays until its dependents are gone.
//! Orphan: the dependents lose their owner and stay.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::Symbol;
use crate::component::{
    Answer, ClientLimit, Config, Controller, Ctx, DeleteOptions, Enqueue, ErrorReason, Planned, Reconcile, Request,
    Start, Step, SyncPlan,
};
use crate::model::{AnyKind, ObjectKind};
use crate::state::{
    Change, Changed, ClaimOwner, ControllerRevisionId, DeletionCause, DependentKey, ObjectDelta, Owner,
    PersistentVolumeClaim, PersistentVolumeClaimId, PodDelta, PodId, Propagation, Reference, Standing, Store, Uid,
    WorkloadId,
};

/// An object that the collector looks at.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// A pod.
    Pod(PodId),
    /// A revision.
    Revision(ControllerRevisionId),
    /// A claim that goes with a StatefulSet or a pod.
    Claim(PersistentVolumeClaimId),
    /// A workload: as a dependent, or as an owner that lingers.
    Workload(WorkloadId),
    /// Any other object that names owners.
    Other(DependentKey),
}

/// The garbage collector.
///
/// # Source
/// kube-controller-manager, garbage collector: `attemptToDeleteItem`, `processDeletingDependentsItem`, `orphanDependents`.
///
/// # Differs
/// Owners of kinds that nobody knows, and owners that the input names but does not hold, count as alive. Only workloads are deleted in
/// the foreground.
#[derive(Clone, Debug, Default)]
pub struct GarbageCollector {
    /// Owners that a live read did not find; their further dependents need no such read.
    absent: FxHashSet<WorkloadId>,
    /// Dependents that a foreground deletion waits for, with their owner.
    waited_for: FxHashMap<WorkloadId, WorkloadId>,
    /// Items that the last pass found to be affected.
    affected: Vec<Item>,
}

/// What is to become of a dependent.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Fate {
    /// An owner lives, or there is none.
    Stays,
    /// Its owner is gone.
    Goes,
    /// Its owner waits for it to go.
    IsWaitedFor,
}

fn fate(store: &Store, owner: Option<Owner>) -> Fate {
    match owner {
        None | Some(Owner::Foreign { .. }) => Fate::Stays,
        Some(Owner::Node(node)) if store.node(node).is_some() => Fate::Stays,
        Some(Owner::Node(_)) => Fate::Goes,
        Some(owner) => match WorkloadId::from_owner(owner).and_then(|id| store.workload_meta(id)) {
            None => Fate::Goes,
            Some(meta) if matches!(meta.deleting, Some((_, Propagation::Foreground))) => Fate::IsWaitedFor,
            Some(_) => Fate::Stays,
        },
    }
}

fn claim_owner_fate(store: &Store, owner: ClaimOwner) -> Fate {
    match owner {
        ClaimOwner::StatefulSet(id) => fate(store, Some(Owner::StatefulSet(id))),
        ClaimOwner::Pod(id) if store.pod(id).is_some() => Fate::Stays,
        ClaimOwner::Pod(_) => Fate::Goes,
    }
}

/// Kind, namespace and name of a claim.
fn of_claim(store: &Store, claim: &PersistentVolumeClaim) -> Option<(AnyKind, Symbol, Symbol)> {
    let meta = &claim.meta;
    (!store.references.is_empty()).then(|| (ObjectKind::PersistentVolumeClaim.into(), meta.namespace, meta.name))
}

/// Kind, namespace and name of a pod.
fn of_pod(store: &Store, id: PodId) -> Option<(AnyKind, Symbol, Symbol)> {
    if store.references.is_empty() {
        return None;
    }
    let pod = store.pod(id)?;
    Some((ObjectKind::Pod.into(), pod.namespace, Symbol::new(&pod.name)))
}

/// Kind, namespace and name of a workload.
fn of_workload(store: &Store, id: WorkloadId) -> Option<(AnyKind, Symbol, Symbol)> {
    if store.references.is_empty() {
        return None;
    }
    let meta = store.workload_meta(id)?;
    Some((store.workload_kind(id).into(), meta.namespace, meta.name))
}

fn beside(store: &Store, of: Option<(AnyKind, Symbol, Symbol)>) -> &[Reference] {
    of.map_or(&[], |(kind, namespace, name)| store.owners_beside(kind, namespace, name))
}

/// An object goes when none of its owners is left, or all that are left wait for it.
///
/// # Source
/// garbage collector, `classifyReferences`, `attemptToDeleteItem`.
fn fate_of_all(store: &Store, owner: Option<Owner>, namespace: Symbol, beside: &[Reference]) -> Fate {
    // A controlling owner that is none of ours stands among the others with its UID.
    let is_among = matches!(owner, Some(Owner::Foreign { .. })) && beside.iter().any(|owner| owner.is_controller);
    let own = owner.filter(|_| !is_among).map(|owner| fate(store, Some(owner)));
    fate_with(store, own, namespace, beside)
}

/// The same where what becomes of one owner's dependents is known.
fn fate_with(store: &Store, own: Option<Fate>, namespace: Symbol, beside: &[Reference]) -> Fate {
    let others = beside.iter().map(|owner| match store.standing(namespace, owner) {
        Standing::Lives => Fate::Stays,
        Standing::Waits => Fate::IsWaitedFor,
        Standing::Gone => Fate::Goes,
    });
    let mut all = Fate::Goes;
    let mut has_any = false;
    for fate in own.into_iter().chain(others) {
        has_any = true;
        match fate {
            Fate::Stays => return Fate::Stays,
            Fate::IsWaitedFor => all = Fate::IsWaitedFor,
            Fate::Goes => {}
        }
    }
    if has_any { all } else { Fate::Stays }
}

fn pod_fate(store: &Store, id: PodId) -> Fate {
    let Some(pod) = store.pod(id) else { return Fate::Stays };
    fate_of_all(store, pod.owner, pod.namespace, beside(store, of_pod(store, id)))
}

fn claim_fate(store: &Store, claim: &PersistentVolumeClaim) -> Fate {
    let own = claim.owner.map(|owner| claim_owner_fate(store, owner));
    fate_with(store, own, claim.meta.namespace, beside(store, of_claim(store, claim)))
}

fn workload_fate(store: &Store, id: WorkloadId) -> Fate {
    let Some(meta) = store.workload_meta(id) else { return Fate::Stays };
    fate_of_all(store, meta.owner, meta.namespace, beside(store, of_workload(store, id)))
}

/// Owners that are gone, or wait, of an object that others keep.
fn not_keeping(store: &Store, of: Option<(AnyKind, Symbol, Symbol)>) -> Vec<Uid> {
    let Some((_, namespace, _)) = of else { return Vec::new() };
    let owners = beside(store, of).iter();
    owners.filter(|owner| store.standing(namespace, owner) != Standing::Lives).map(|owner| owner.uid).collect()
}

/// The item that a dependent is.
fn item_of(store: &Store, key: &DependentKey, kind: AnyKind) -> Option<Item> {
    let (_, namespace, name) = *key;
    Some(match kind {
        AnyKind::Modelled(ObjectKind::Pod) => {
            Item::Pod(store.find_pod(namespace, &std::sync::Arc::from(name.as_str()))?)
        }
        AnyKind::Modelled(ObjectKind::PersistentVolumeClaim) => Item::Claim(store.volumes.find_claim(namespace, name)?),
        AnyKind::Modelled(kind) => store.find_workload(kind, namespace, name).map_or(Item::Other(*key), Item::Workload),
        AnyKind::Stored(_) => Item::Other(*key),
    })
}

/// Dependents that name a workload as one of several owners, or without that it controls them.
fn dependents_beside(store: &Store, owner: WorkloadId) -> Vec<(Item, Uid, bool)> {
    let Some(meta) = store.workload_meta(owner).filter(|_| !store.references.is_empty()) else { return Vec::new() };
    let named = store.references.iter().filter_map(|(key, dependent)| {
        let reference = dependent.owners.iter().find(|reference| reference.uid == meta.uid)?;
        if store.uid_of(dependent.kind, key.1, key.2) != Some(dependent.uid) {
            return None;
        }
        Some((item_of(store, key, dependent.kind)?, meta.uid, reference.blocks))
    });
    named.collect()
}

fn dependents(store: &Store, owner: WorkloadId) -> Vec<Item> {
    let mut items: Vec<Item> = store.pods_of(owner).iter().map(|&pod| Item::Pod(pod)).collect();
    items.extend(store.revisions_of(owner).iter().map(|&id| Item::Revision(id)));
    match owner {
        WorkloadId::Deployment(id) => {
            let sets = store.replica_sets_of(id).iter();
            items.extend(sets.map(|&set| Item::Workload(WorkloadId::ReplicaSet(set))));
        }
        WorkloadId::CronJob(id) => {
            items.extend(store.jobs_of(id).iter().map(|&job| Item::Workload(WorkloadId::Job(job))));
        }
        WorkloadId::StatefulSet(id) => {
            items.extend(store.volumes.claims_owned_by(ClaimOwner::StatefulSet(id)).map(Item::Claim));
        }
        WorkloadId::ReplicaSet(_) | WorkloadId::DaemonSet(_) | WorkloadId::Job(_) => {}
    }
    items
}

impl GarbageCollector {
    /// The reads before a deletion: the item itself, and its owner unless that is known to be gone. One that waits for its dependents to go
    /// is there, and read for each.
    fn look_first(&mut self, owner: Option<Owner>, store: &Store, plan: &mut SyncPlan<()>) {
        plan.then(Request::Get, ());
        let workload = owner.and_then(WorkloadId::from_owner).filter(|owner| store.workload_meta(*owner).is_none());
        let is_news = workload.is_none_or(|owner| self.absent.insert(owner));
        if is_news {
            plan.then(Request::Get, ());
        }
    }

    fn collect_pod(&mut self, id: PodId, store: &Store) -> SyncPlan<()> {
        let mut plan = SyncPlan::nothing();
        let Some(pod) = store.pod(id) else { return plan };
        if pod.deletion.is_some() {
            return plan;
        }
        if pod_fate(store, id) == Fate::Stays {
            let_go_of(store, of_pod(store, id), &mut plan);
            let is_gone = pod.owner.is_some_and(|owner| fate(store, Some(owner)) != Fate::Stays);
            if is_gone {
                plan.then(Request::SetPodOwner { pod: id, owner: None }, ());
            }
        } else {
            self.look_first(pod.owner, store, &mut plan);
            let options = DeleteOptions { grace_s: None, uid: Some(pod.uid) };
            plan.then(Request::DeletePod { pod: id, options, cause: DeletionCause::OwnerDeleted }, ());
        }
        plan
    }

    fn collect_revision(&mut self, id: ControllerRevisionId, store: &Store) -> SyncPlan<()> {
        let mut plan = SyncPlan::nothing();
        let Some(revision) = store.controller_revisions.get(id) else { return plan };
        let fate = fate(store, revision.meta.owner);
        if fate == Fate::Stays {
            return plan;
        }
        self.look_first(revision.meta.owner, store, &mut plan);
        plan.then(Request::DeleteRevision { id }, ());
        // The last revision may be all that its owner waits for; revisions are not watched.
        if let Some(owner) = revision.meta.owner.and_then(WorkloadId::from_owner)
            && fate == Fate::IsWaitedFor
            && dependents(store, owner).len() == 1
        {
            plan.then(Request::FinalizeWorkload { workload: owner }, ());
        }
        plan
    }

    /// A claim goes with its StatefulSet (`whenDeleted: Delete`) or its pod (`whenScaled: Delete`).
    fn collect_claim(&mut self, id: PersistentVolumeClaimId, store: &Store) -> SyncPlan<()> {
        let mut plan = SyncPlan::nothing();
        let Some(claim) = store.volumes.claim(id).filter(|claim| claim.meta.deleting.is_none()) else { return plan };
        if claim_fate(store, claim) == Fate::Stays {
            let_go_of(store, of_claim(store, claim), &mut plan);
            if claim.owner.is_some_and(|owner| claim_owner_fate(store, owner) != Fate::Stays) {
                plan.then(Request::SetClaimOwner { claim: id, owner: None }, ());
            }
            return plan;
        }
        let owner = claim.owner.and_then(|owner| match owner {
            ClaimOwner::StatefulSet(id) => Some(Owner::StatefulSet(id)),
            ClaimOwner::Pod(_) => None,
        });
        self.look_first(owner, store, &mut plan);
        let (namespace, name) = (claim.meta.namespace, claim.meta.name);
        plan.then(Request::DeleteOther { kind: ObjectKind::PersistentVolumeClaim.into(), namespace, name }, ());
        plan
    }

    fn collect_workload(&mut self, id: WorkloadId, store: &Store) -> SyncPlan<()> {
        let mut plan = SyncPlan::nothing();
        let Some(meta) = store.workload_meta(id) else { return plan };
        match meta.deleting {
            Some((_, Propagation::Foreground)) => self.wait_for_dependents(id, store, &mut plan),
            Some((_, Propagation::Orphan)) => orphan_dependents(id, store, &mut plan),
            // Somebody else's finalizer keeps it.
            Some((_, Propagation::Background)) => {}
            None => {
                let all = workload_fate(store, id);
                if all == Fate::Stays {
                    let_go_of(store, of_workload(store, id), &mut plan);
                    if meta.owner.is_some_and(|owner| fate(store, Some(owner)) != Fate::Stays) {
                        plan.then(Request::SetWorkloadOwner { workload: id, owner: None }, ());
                    }
                    return plan;
                }
                let has_dependents = !dependents(store, id).is_empty() || !dependents_beside(store, id).is_empty();
                let waits = all == Fate::IsWaitedFor && has_dependents;
                let propagation = if waits { Propagation::Foreground } else { Propagation::Background };
                self.look_first(meta.owner, store, &mut plan);
                plan.then(Request::DeleteWorkload { workload: id, propagation }, ());
            }
        }
        plan
    }

    fn collect_other(&mut self, key: &DependentKey, store: &Store) -> SyncPlan<()> {
        let mut plan = SyncPlan::nothing();
        let (_, namespace, name) = *key;
        let Some(kind) = store.references.get(key).map(|dependent| dependent.kind) else { return plan };
        let of = Some((kind, namespace, name));
        if fate_of_all(store, None, namespace, beside(store, of)) == Fate::Stays {
            let_go_of(store, of, &mut plan);
        } else {
            self.look_first(None, store, &mut plan);
            plan.then(Request::DeleteOther { kind, namespace, name }, ());
        }
        plan
    }

    fn wait_for_dependents(&mut self, id: WorkloadId, store: &Store, plan: &mut SyncPlan<()>) {
        let beside = dependents_beside(store, id);
        let blocks = beside.iter().any(|(.., blocks)| *blocks);
        let items = dependents(store, id);
        self.affected.extend(beside.into_iter().map(|(item, ..)| item));
        if items.is_empty() && !blocks {
            plan.then(Request::FinalizeWorkload { workload: id }, ());
            return;
        }
        for item in items {
            if let Item::Workload(dependent) = item {
                self.waited_for.insert(dependent, id);
            }
            self.affected.push(item);
        }
    }
}

/// # Source
/// garbage collector, `attemptToDeleteItem`: an object that somebody keeps is rid of its owners that are gone or wait.
fn let_go_of(store: &Store, of: Option<(AnyKind, Symbol, Symbol)>, plan: &mut SyncPlan<()>) {
    let uids = not_keeping(store, of);
    if let Some((kind, namespace, name)) = of.filter(|_| !uids.is_empty()) {
        plan.then(Request::DropOwners { kind, namespace, name, uids }, ());
    }
}

fn orphan_dependents(id: WorkloadId, store: &Store, plan: &mut SyncPlan<()>) {
    let beside = dependents_beside(store, id).into_iter().filter_map(|(item, uid, _)| {
        let (kind, namespace, name) = match item {
            Item::Pod(pod) => of_pod(store, pod)?,
            Item::Workload(workload) => of_workload(store, workload)?,
            Item::Other(key) => (store.references.get(&key)?.kind, key.1, key.2),
            Item::Claim(claim) => of_claim(store, store.volumes.claim(claim)?)?,
            Item::Revision(_) => return None,
        };
        Some(Request::DropOwners { kind, namespace, name, uids: vec![uid] })
    });
    let calls: Vec<_> = dependents(store, id)
        .into_iter()
        .filter_map(|item| match item {
            Item::Pod(pod) => Some(Request::SetPodOwner { pod, owner: None }),
            Item::Revision(id) => Some(Request::SetRevisionOwner { id, owner: None }),
            Item::Claim(claim) => Some(Request::SetClaimOwner { claim, owner: None }),
            Item::Workload(workload) => Some(Request::SetWorkloadOwner { workload, owner: None }),
            Item::Other(_) => None,
        })
        .chain(beside)
        .map(|request| Planned { request, purpose: () })
        .collect();
    if !calls.is_empty() {
        plan.steps.push(Step::Concurrent(calls));
    }
    plan.then(Request::FinalizeWorkload { workload: id }, ());
}

/// Everything that the references say is to be looked at.
fn look_around(store: &Store, queue: &mut Enqueue<Item>) {
    for (key, dependent) in store.references.iter() {
        let of = Some((dependent.kind, key.1, key.2));
        if let Some(item) = item_of(store, key, dependent.kind)
            && !not_keeping(store, of).is_empty()
        {
            queue.now(item);
        }
    }
    for id in store.workload_ids() {
        if store.workload_meta(id).is_some_and(|meta| matches!(meta.deleting, Some((_, Propagation::Foreground)))) {
            queue.now(Item::Workload(id));
        }
    }
}

impl Reconcile for GarbageCollector {
    type Key = Item;
    type Purpose = ();
    const NAME: &'static str = "garbage-collector-controller";
    const CONTROLLERS: &'static [&'static str] = &["garbage-collector-controller"];

    fn workers(config: &Config) -> usize {
        config.kube_controller_manager.concurrent_gc_syncs.max(1) as usize
    }

    fn client(config: &Config) -> ClientLimit {
        let limit = config.controller_client();
        ClientLimit { qps: limit.qps * 2.0, ..limit }
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::PodAdded(_)
                | Changed::PodUpdated { .. }
                | Changed::PodRemoved { .. }
                | Changed::NodeRemoved { .. }
                | Changed::WorkloadAdded(_)
                | Changed::WorkloadUpdated(..)
                | Changed::WorkloadRemoved(_)
                | Changed::ClaimChanged(_)
                | Changed::ClaimRemoved(_)
                | Changed::ReferencesChanged
        )
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Item>) {
        let store = ctx.store;
        // Once per start: the graph of owners is built from everything there is.
        for (id, _) in store.pods() {
            if pod_fate(store, id) != Fate::Stays {
                queue.now(Item::Pod(id));
            }
        }
        for (id, claim) in store.volumes.claims() {
            if claim_fate(store, claim) != Fate::Stays {
                queue.now(Item::Claim(id));
            }
        }
        let sets = store.replica_sets.ids().map(WorkloadId::ReplicaSet);
        let jobs = store.jobs.ids().map(WorkloadId::Job);
        let others = (store.deployments.ids().map(WorkloadId::Deployment))
            .chain(store.daemon_sets.ids().map(WorkloadId::DaemonSet))
            .chain(store.stateful_sets.ids().map(WorkloadId::StatefulSet))
            .chain(store.cron_jobs.ids().map(WorkloadId::CronJob));
        for id in sets.chain(jobs).chain(others) {
            let Some(meta) = store.workload_meta(id) else { continue };
            if meta.deleting.is_some() || workload_fate(store, id) != Fate::Stays {
                queue.now(Item::Workload(id));
            }
        }
        look_around(store, queue);
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Item>) {
        let store = ctx.store;
        match &change.what {
            Changed::PodAdded(id) if pod_fate(store, *id) != Fate::Stays => {
                queue.now(Item::Pod(*id));
            }
            Changed::PodUpdated { pod, delta, .. }
                if delta.touches(PodDelta::OWNER) && pod_fate(store, *pod) != Fate::Stays =>
            {
                queue.now(Item::Pod(*pod));
            }
            Changed::PodRemoved { pod, last } => {
                for claim in store.volumes.claims_owned_by(ClaimOwner::Pod(*pod)) {
                    queue.now(Item::Claim(claim));
                }
                if let Some(owner) = last.owner.and_then(WorkloadId::from_owner)
                    && fate(store, last.owner) == Fate::IsWaitedFor
                {
                    queue.now(Item::Workload(owner));
                }
            }
            Changed::NodeRemoved { node, .. } => {
                for &pod in store.pods_on(*node) {
                    if store.pod(pod).is_some_and(|p| p.owner == Some(Owner::Node(*node))) {
                        queue.now(Item::Pod(pod));
                    }
                }
            }
            Changed::WorkloadAdded(id) if workload_fate(store, *id) != Fate::Stays => {
                queue.now(Item::Workload(*id));
            }
            Changed::WorkloadUpdated(id, delta) if delta.touches(ObjectDelta::DELETION | ObjectDelta::METADATA) => {
                let Some(meta) = store.workload_meta(*id) else { return };
                if meta.deleting.is_some() || workload_fate(store, *id) != Fate::Stays {
                    queue.now(Item::Workload(*id));
                }
            }
            Changed::WorkloadRemoved(id) => {
                if let Some(owner) = self.waited_for.remove(id) {
                    queue.now(Item::Workload(owner));
                }
                for item in dependents(store, *id) {
                    queue.now(item);
                }
            }
            Changed::ClaimChanged(id) => {
                let is_left = |claim: &PersistentVolumeClaim| {
                    claim.owner.is_some_and(|owner| claim_owner_fate(store, owner) != Fate::Stays)
                };
                if store.volumes.claim(*id).is_some_and(is_left) {
                    queue.now(Item::Claim(*id));
                }
            }
            Changed::ClaimRemoved(claim) => {
                if let Some(ClaimOwner::StatefulSet(set)) = claim.owner
                    && fate(store, Some(Owner::StatefulSet(set))) == Fate::IsWaitedFor
                {
                    queue.now(Item::Workload(WorkloadId::StatefulSet(set)));
                }
            }
            Changed::ReferencesChanged => look_around(store, queue),
            _ => {}
        }
    }

    fn sync(&mut self, item: Item, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<()> {
        if !ctx.config.kube_controller_manager.enable_garbage_collector {
            return SyncPlan::nothing();
        }
        match item {
            Item::Pod(id) => self.collect_pod(id, ctx.store),
            Item::Revision(id) => self.collect_revision(id, ctx.store),
            Item::Claim(id) => self.collect_claim(id, ctx.store),
            Item::Workload(id) => self.collect_workload(id, ctx.store),
            Item::Other(key) => self.collect_other(&key, ctx.store),
        }
    }

    fn affected(&mut self, queue: &mut Enqueue<Item>) {
        for item in self.affected.drain(..) {
            queue.now(item);
        }
    }

    fn answered(&mut self, _: Item, (): (), _: &Answer, _: &mut Ctx<'_, Controller<Self>>) {}

    fn is_failure((): (), answer: &Answer) -> bool {
        // Somebody else was faster.
        answer.as_ref().is_err_and(|error| error.reason != ErrorReason::NotFound)
    }
}
