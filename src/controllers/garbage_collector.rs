//! The garbage collector: what becomes of objects whose owner goes.
//!
//! Background: dependents of an owner that is gone are deleted. Foreground: the owner stays until its dependents are gone.
//! Orphan: the dependents lose their owner and stay.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::component::{
    Answer, ClientLimit, Config, Controller, Ctx, DeleteOptions, Enqueue, ErrorReason, Planned, Reconcile, Request,
    Start, Step, SyncPlan,
};
use crate::model::ObjectKind;
use crate::state::{
    Change, Changed, ControllerRevisionId, DeletionCause, ObjectDelta, Owner, PersistentVolumeClaimId, PodDelta, PodId,
    Propagation, Store, WorkloadId,
};

/// An object that the collector looks at.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// A pod.
    Pod(PodId),
    /// A revision.
    Revision(ControllerRevisionId),
    /// A claim that goes with a pod.
    Claim(PersistentVolumeClaimId),
    /// A workload: as a dependent, or as an owner that lingers.
    Workload(WorkloadId),
}

/// The garbage collector.
///
/// # Source
/// kube-controller-manager, garbage collector: `attemptToDeleteItem`, `processDeletingDependentsItem`, `orphanDependents`.
///
/// # Differs
/// Owners of kinds that are not modelled, and owners that the input names but does not hold, count as alive.
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
        WorkloadId::ReplicaSet(_) | WorkloadId::DaemonSet(_) | WorkloadId::StatefulSet(_) | WorkloadId::Job(_) => {}
    }
    items
}

impl GarbageCollector {
    /// The reads before a deletion: the item itself, and its owner unless that is known to be gone.
    fn look_first(&mut self, owner: Option<Owner>, plan: &mut SyncPlan<()>) {
        plan.then(Request::Get, ());
        let is_news = owner.and_then(WorkloadId::from_owner).is_none_or(|owner| self.absent.insert(owner));
        if is_news {
            plan.then(Request::Get, ());
        }
    }

    fn collect_pod(&mut self, id: PodId, store: &Store) -> SyncPlan<()> {
        let mut plan = SyncPlan::nothing();
        let Some(pod) = store.pod(id) else { return plan };
        if pod.deletion.is_none() && fate(store, pod.owner) != Fate::Stays {
            self.look_first(pod.owner, &mut plan);
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
        self.look_first(revision.meta.owner, &mut plan);
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

    /// # Source
    /// garbage collector: a claim whose owner is a pod (StatefulSets, `whenScaled: Delete`) is deleted when that is gone.
    fn collect_claim(&mut self, id: PersistentVolumeClaimId, store: &Store) -> SyncPlan<()> {
        let mut plan = SyncPlan::nothing();
        let Some(claim) = store.volumes.claim(id).filter(|claim| claim.meta.deleting.is_none()) else { return plan };
        if claim.owner_pod.is_some_and(|pod| store.pod(pod).is_none()) {
            self.look_first(None, &mut plan);
            let (namespace, name) = (claim.meta.namespace, claim.meta.name);
            plan.then(Request::DeleteOther { kind: ObjectKind::PersistentVolumeClaim.into(), namespace, name }, ());
        }
        plan
    }

    fn collect_workload(&mut self, id: WorkloadId, store: &Store) -> SyncPlan<()> {
        let mut plan = SyncPlan::nothing();
        let Some(meta) = store.workload_meta(id) else { return plan };
        match meta.deleting {
            Some((_, Propagation::Foreground)) => self.wait_for_dependents(id, store, &mut plan),
            Some((_, Propagation::Orphan)) => orphan_dependents(id, store, &mut plan),
            Some((_, Propagation::Background)) | None => {
                let fate = fate(store, meta.owner);
                if fate == Fate::Stays {
                    return plan;
                }
                let waits = fate == Fate::IsWaitedFor && !dependents(store, id).is_empty();
                let propagation = if waits { Propagation::Foreground } else { Propagation::Background };
                self.look_first(meta.owner, &mut plan);
                plan.then(Request::DeleteWorkload { workload: id, propagation }, ());
            }
        }
        plan
    }

    fn wait_for_dependents(&mut self, id: WorkloadId, store: &Store, plan: &mut SyncPlan<()>) {
        let items = dependents(store, id);
        if items.is_empty() {
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

fn orphan_dependents(id: WorkloadId, store: &Store, plan: &mut SyncPlan<()>) {
    let calls: Vec<_> = dependents(store, id)
        .into_iter()
        .map(|item| match item {
            Item::Pod(pod) => Request::SetPodOwner { pod, owner: None },
            Item::Revision(id) => Request::SetRevisionOwner { id, owner: None },
            Item::Claim(claim) => Request::SetClaimOwner { claim, pod: None },
            Item::Workload(workload) => Request::SetWorkloadOwner { workload, owner: None },
        })
        .map(|request| Planned { request, purpose: () })
        .collect();
    if !calls.is_empty() {
        plan.steps.push(Step::Concurrent(calls));
    }
    plan.then(Request::FinalizeWorkload { workload: id }, ());
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
        )
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Item>) {
        let store = ctx.store;
        // Once per start: the graph of owners is built from everything there is.
        for (id, pod) in store.pods() {
            if fate(store, pod.owner) != Fate::Stays {
                queue.now(Item::Pod(id));
            }
        }
        for (id, claim) in store.volumes.claims() {
            if claim.owner_pod.is_some_and(|pod| store.pod(pod).is_none()) {
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
            if meta.deleting.is_some() || fate(store, meta.owner) != Fate::Stays {
                queue.now(Item::Workload(id));
            }
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Item>) {
        let store = ctx.store;
        match &change.what {
            Changed::PodAdded(id) if store.pod(*id).is_some_and(|pod| fate(store, pod.owner) != Fate::Stays) => {
                queue.now(Item::Pod(*id));
            }
            Changed::PodUpdated { pod, delta, .. }
                if delta.touches(PodDelta::OWNER)
                    && store.pod(*pod).is_some_and(|p| fate(store, p.owner) != Fate::Stays) =>
            {
                queue.now(Item::Pod(*pod));
            }
            Changed::PodRemoved { pod, last } => {
                for used in last.claims() {
                    let claim = store.volumes.find_claim(last.namespace, used.name);
                    let is_left = |id: &PersistentVolumeClaimId| {
                        store.volumes.claim(*id).is_some_and(|claim| claim.owner_pod == Some(*pod))
                    };
                    if let Some(claim) = claim.filter(is_left) {
                        queue.now(Item::Claim(claim));
                    }
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
            Changed::WorkloadAdded(id)
                if store.workload_meta(*id).is_some_and(|meta| fate(store, meta.owner) != Fate::Stays) =>
            {
                queue.now(Item::Workload(*id));
            }
            Changed::WorkloadUpdated(id, delta) if delta.touches(ObjectDelta::DELETION | ObjectDelta::METADATA) => {
                let Some(meta) = store.workload_meta(*id) else { return };
                if meta.deleting.is_some() || fate(store, meta.owner) != Fate::Stays {
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
