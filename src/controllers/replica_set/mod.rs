//! The ReplicaSet controller (and, with the same rules, the ReplicationController's): keep as many pods as wanted.

mod victims;

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::{Symbol, sym};
use crate::component::{
    Answer, Claim, Config, Controller, Ctx, DeleteOptions, Enqueue, ErrorReason, EventDraft, Expectations, ObjectRef,
    Planned, PodDraft, PodName, Reconcile, Reply, Request, Start, StatusStep, StatusUpdate, StatusWrites, Step,
    SyncPlan, judge_claim, reason, same_template, workload_name,
};
use crate::model::Labels;
use crate::state::{
    Change, Changed, DeletionCause, ObjectDelta, Owner, Pod, PodDelta, PodId, ReplicaFailure, ReplicaSet, ReplicaSetId,
    ReplicaSetStatus, Store, WorkloadId,
};
use crate::units::{SimDuration, SimTime};
use victims::{merge_sorted, victim_order};

/// Creates and deletes of one sync at most.
const BURST_REPLICAS: usize = 500;

/// What a call of this controller was for.
#[derive(Copy, Clone, Debug)]
pub enum Purpose {
    /// Creating a pod.
    Create,
    /// Deleting a pod.
    Delete(PodId),
    /// Writing status.
    Status(StatusStep),
    /// Adopting or releasing.
    Other,
}

/// The ReplicaSet controller.
///
/// # Source
/// kube-controller-manager, replicaset-controller.
///
/// # Differs
/// The condition ReplicaFailure appears with the retry, a few milliseconds after the refusal.
#[derive(Clone, Debug, Default)]
pub struct ReplicaSets {
    expectations: Expectations<ReplicaSetId>,
    /// Pods whose deletion was asked for and not yet seen; each is counted once.
    deleting: FxHashMap<PodId, ReplicaSetId>,
    /// Names of pods whose deletion was asked for: an answer may come after the object has gone.
    names: FxHashMap<PodId, Arc<str>>,
    /// Sets whose pods have to be held against the selector: new ones, and those of which a pod was relabeled.
    unchecked: FxHashSet<ReplicaSetId>,
    /// Sets whose last create or delete was refused, with the condition's reason and message, until one succeeds or a sync has nothing to do.
    failing: FxHashMap<ReplicaSetId, (&'static str, Symbol)>,
    /// Statuses on their way.
    statuses: StatusWrites<ReplicaSetId, ReplicaSetStatus>,
}

impl ReplicaSets {
    fn deletion_seen(&mut self, pod: PodId) {
        if let Some(set) = self.deleting.remove(&pod) {
            self.expectations.deletion_observed(set);
        }
    }

    /// The sets that could adopt an ownerless pod.
    fn candidates(store: &Store, namespace: Symbol, labels: &Labels, queue: &mut Enqueue<ReplicaSetId>) {
        for (id, set) in store.replica_sets.iter() {
            if set.meta.namespace == namespace && set.spec.selector.as_ref().is_some_and(|s| s.matches(labels)) {
                queue.now(id);
            }
        }
    }
}

/// As whom the controller of ReplicationControllers posts Events: it is the same program under another name.
fn reporter(id: ReplicaSetId, store: &Store) -> Option<Symbol> {
    let is_controller = store.replica_sets.get(id).is_some_and(|set| set.is_replication_controller);
    is_controller.then(|| sym!("replication-controller"))
}

fn owner_set(owner: Option<Owner>) -> Option<ReplicaSetId> {
    match owner {
        Some(Owner::ReplicaSet(id)) => Some(id),
        _ => None,
    }
}

impl Reconcile for ReplicaSets {
    type Key = ReplicaSetId;
    type Purpose = Purpose;
    const NAME: &'static str = "replicaset-controller";
    const CONTROLLERS: &'static [&'static str] = &["replicaset-controller", "replicationcontroller-controller"];

    fn words(key: ReplicaSetId, store: &Store) -> String {
        format!("a delayed look at {}", workload_name(store, WorkloadId::ReplicaSet(key)))
    }

    fn workers(config: &Config) -> usize {
        config.kube_controller_manager.concurrent_replicaset_syncs.max(1) as usize
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::PodAdded(_)
                | Changed::PodUpdated { .. }
                | Changed::PodRemoved { .. }
                | Changed::WorkloadAdded(WorkloadId::ReplicaSet(_))
                | Changed::WorkloadUpdated(WorkloadId::ReplicaSet(_), _)
                | Changed::WorkloadRemoved(WorkloadId::ReplicaSet(_))
        )
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<ReplicaSetId>) {
        for id in ctx.store.replica_sets.ids() {
            self.unchecked.insert(id);
            queue.now(id);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<ReplicaSetId>) {
        match &change.what {
            Changed::WorkloadAdded(WorkloadId::ReplicaSet(id)) => {
                self.unchecked.insert(*id);
                queue.now(*id);
            }
            Changed::WorkloadUpdated(WorkloadId::ReplicaSet(id), delta) => {
                if delta.touches(ObjectDelta::SPEC) {
                    self.unchecked.insert(*id);
                }
                // Any update wakes it, its own of the status, too: a refused creation is tried again at once when the
                // condition that tells of it appears.
                queue.now(*id);
            }
            Changed::WorkloadRemoved(WorkloadId::ReplicaSet(id)) => {
                self.expectations.forget(*id);
                self.failing.remove(id);
            }
            Changed::PodAdded(id) => {
                let Some(pod) = ctx.store.pod(*id) else {
                    self.expectations.created_and_gone(*id);
                    return;
                };
                match pod.owner {
                    Some(Owner::ReplicaSet(set)) => {
                        self.expectations.creation_observed(set);
                        queue.now(set);
                    }
                    None => Self::candidates(ctx.store, pod.namespace, &pod.labels, queue),
                    Some(_) => {}
                }
            }
            Changed::PodUpdated { pod, delta, before } => {
                if delta.touches(PodDelta::DELETION) {
                    self.deletion_seen(*pod);
                }
                let Some(object) = ctx.store.pod(*pod) else { return };
                if let Some(old) = before.as_ref().and_then(|b| owner_set(b.owner)) {
                    queue.now(old);
                }
                match object.owner {
                    Some(Owner::ReplicaSet(set)) => {
                        if delta.touches(PodDelta::LABELS | PodDelta::OWNER) {
                            self.unchecked.insert(set);
                        }
                        queue.now(set);
                        let min_ready = min_ready(ctx.store, set);
                        if delta.touches(PodDelta::READY) && object.is_ready() && min_ready > SimDuration::ZERO {
                            let extra = u64::from(!ctx.config.version.at_least(34));
                            queue.after(set, min_ready + SimDuration::from_secs(extra));
                        }
                    }
                    None if delta.touches(PodDelta::LABELS | PodDelta::OWNER) => {
                        Self::candidates(ctx.store, object.namespace, &object.labels, queue);
                    }
                    _ => {}
                }
            }
            Changed::PodRemoved { pod, last } => {
                self.deletion_seen(*pod);
                self.expectations.removed(*pod, owner_set(last.owner));
                if let Some(set) = owner_set(last.owner) {
                    queue.now(set);
                }
            }
            _ => {}
        }
    }

    fn sync(&mut self, id: ReplicaSetId, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        let Some(set) = ctx.store.replica_sets.get(id) else {
            self.expectations.forget(id);
            return SyncPlan::nothing();
        };
        let name = if set.is_replication_controller { "replicationcontroller-controller" } else { Self::NAME };
        if !ctx.config.kube_controller_manager.controllers.runs(name) {
            return SyncPlan::nothing();
        }
        let mut plan = SyncPlan::nothing();
        let mut has_calls = false;
        let claims = claim(ctx.store, id, set, self.unchecked.remove(&id));
        if !claims.is_empty() {
            plan.steps.push(Step::Concurrent(claims.calls(id)));
        }
        // What is adopted or released counts at once; if a call fails, what follows is not done.
        let active = ctx.store.tally(WorkloadId::ReplicaSet(id)).active + claims.adopted.len() as i32
            - claims.released.len() as i32;
        if self.expectations.satisfied(id, ctx.now) && set.meta.deleting.is_none() {
            let missing = set.replicas - active;
            match missing.cmp(&0) {
                Ordering::Greater => {
                    let count = (missing as usize).min(BURST_REPLICAS);
                    self.expectations.set(id, count, 0, ctx.now);
                    has_calls = true;
                    let calls =
                        (0..count).map(|_| Planned { request: create_request(id, set), purpose: Purpose::Create });
                    plan.steps.push(Step::SlowStart(calls.collect()));
                }
                Ordering::Less => {
                    let victims = victims(id, missing.unsigned_abs() as usize, &claims, ctx);
                    self.expectations.set(id, 0, victims.len(), ctx.now);
                    has_calls = true;
                    let cause = deletion_cause(ctx.store, set);
                    let calls = victims.iter().map(|&pod| {
                        self.deleting.insert(pod, id);
                        if let Some(object) = ctx.store.pod(pod) {
                            self.names.insert(pod, Arc::clone(&object.name));
                        }
                        let options = DeleteOptions::default();
                        Planned { request: Request::DeletePod { pod, options, cause }, purpose: Purpose::Delete(pod) }
                    });
                    let calls = calls.collect();
                    plan.steps.push(Step::Concurrent(calls));
                }
                Ordering::Equal => {}
            }
        }
        if !has_calls {
            self.failing.remove(&id);
        }
        let (mut status, next) = status(ctx.config, ctx.store, id, set, ctx.now);
        status.failure = self.failing.get(&id).map(|&(reason, message)| {
            // One that is there stays as it was.
            set.status.failure.unwrap_or(ReplicaFailure { reason, message, since: ctx.now })
        });
        if status != set.status {
            self.statuses.begin(id, status);
            let request = Request::UpdateStatus(StatusUpdate::ReplicaSet(id, Some(set.meta.version), status));
            plan.finally.push(Planned { request, purpose: Purpose::Status(StatusStep::Write) });
        }
        plan.requeue_after = next;
        plan
    }

    fn answered(&mut self, id: ReplicaSetId, purpose: Purpose, answer: &Answer, ctx: &mut Ctx<'_, Controller<Self>>) {
        let about = ObjectRef::workload(ctx.store, WorkloadId::ReplicaSet(id));
        let by = reporter(id, ctx.store);
        match (purpose, answer) {
            (Purpose::Create, Ok(Reply::Pod(pod))) => {
                self.failing.remove(&id);
                if let (Some(about), Some(pod)) = (about, ctx.store.pod(*pod)) {
                    let message = format!("Created pod: {}", pod.name);
                    ctx.event(EventDraft::normal(reason::SUCCESSFUL_CREATE, about, message).by(by));
                }
            }
            (Purpose::Create, Err(error)) => {
                self.expectations.creation_observed(id);
                if error.is_of_terminating_namespace() {
                    return;
                }
                self.failing.entry(id).or_insert_with(|| (reason::FAILED_CREATE, Symbol::new(&error.message)));
                if let Some(about) = about {
                    let message = format!("Error creating: {}", error.message);
                    ctx.event(EventDraft::warning(reason::FAILED_CREATE, about, message).by(by));
                }
            }
            (Purpose::Delete(pod), answer) => {
                let name = self.names.remove(&pod);
                let (Some(about), Some(name)) = (about, name) else { return };
                if let Err(error) = answer {
                    self.deletion_seen(pod);
                    if error.reason == ErrorReason::NotFound {
                        return;
                    }
                    self.failing.entry(id).or_insert_with(|| ("FailedDelete", Symbol::new(&error.message)));
                    let message = format!("Error deleting: {}", error.message);
                    ctx.event(EventDraft::warning("FailedDelete", about, message).by(by));
                } else {
                    let message = format!("Deleted pod: {name}");
                    ctx.event(EventDraft::normal("SuccessfulDelete", about, message).by(by));
                }
            }
            _ => {}
        }
    }

    fn follow_up(
        &mut self,
        id: ReplicaSetId,
        purpose: Purpose,
        answer: &Answer,
        ctx: &mut Ctx<'_, Controller<Self>>,
    ) -> Option<Planned<Purpose>> {
        let Purpose::Status(step) = purpose else { return None };
        let write = |status| {
            let base = ctx.store.replica_sets.get(id)?.meta.version;
            Some(Request::UpdateStatus(StatusUpdate::ReplicaSet(id, Some(base), status)))
        };
        let (request, step) = self.statuses.follow_up(id, step, answer, write)?;
        Some(Planned { request, purpose: Purpose::Status(step) })
    }

    fn skipped(&mut self, id: ReplicaSetId, purpose: Purpose) {
        match purpose {
            Purpose::Create => self.expectations.creation_observed(id),
            Purpose::Delete(pod) => {
                self.names.remove(&pod);
                self.deletion_seen(pod);
            }
            Purpose::Status(_) | Purpose::Other => {}
        }
    }

    fn is_failure(purpose: Purpose, answer: &Answer) -> bool {
        match (purpose, answer) {
            (Purpose::Delete(_), Err(error)) => error.reason != ErrorReason::NotFound,
            // A dying namespace refuses new pods; retrying would only spin.
            (Purpose::Create, Err(error)) => !error.is_of_terminating_namespace(),
            (_, answer) => answer.is_err(),
        }
    }
}

fn min_ready(store: &Store, id: ReplicaSetId) -> SimDuration {
    let seconds = store.replica_sets.get(id).map_or(0, |set| set.spec.min_ready_seconds);
    SimDuration::from_secs(seconds.max(0).unsigned_abs().into())
}

/// Pods that change their owner in one pass.
#[derive(Debug, Default)]
struct Claims {
    adopted: Vec<PodId>,
    released: Vec<PodId>,
}

impl Claims {
    fn is_empty(&self) -> bool {
        self.adopted.is_empty() && self.released.is_empty()
    }

    fn calls(&self, id: ReplicaSetId) -> Vec<Planned<Purpose>> {
        let call =
            |pod: PodId, owner| Planned { request: Request::SetPodOwner { pod, owner }, purpose: Purpose::Other };
        let owner = Some(WorkloadId::ReplicaSet(id).as_owner());
        let adoptions = self.adopted.iter().map(|&pod| call(pod, owner));
        adoptions.chain(self.released.iter().map(|&pod| call(pod, None))).collect()
    }

    /// The active pods of the set when these calls have been answered.
    fn active_pods<'a>(&self, store: &'a Store, id: ReplicaSetId) -> Vec<(PodId, &'a Pod)> {
        let owned = store.pods_of(WorkloadId::ReplicaSet(id)).iter().filter(|pod| !self.released.contains(pod));
        let pods = owned.chain(&self.adopted).filter_map(|&pod| store.pod(pod).map(|object| (pod, object)));
        pods.filter(|(_, pod)| pod.is_active()).collect()
    }
}

/// Pods to adopt and, if the pods of the set have to be looked at, to release.
///
/// # Source
/// replicaset-controller, `claimPods`: what comes of it is what the same pass counts and, if they are too many, chooses from.
fn claim(store: &Store, id: ReplicaSetId, set: &ReplicaSet, is_unchecked: bool) -> Claims {
    let mut claims = Claims::default();
    let Some(selector) = &set.spec.selector else { return claims };
    let workload = WorkloadId::ReplicaSet(id);
    let mut judge = |pod_id: PodId, pod: &Pod| {
        let deleting = set.meta.deleting.is_some();
        match judge_claim(workload, deleting, selector, pod.owner, &pod.labels, pod.deletion.is_some()) {
            Claim::Adopt => claims.adopted.push(pod_id),
            Claim::Release => claims.released.push(pod_id),
            Claim::Keep | Claim::Ignore => {}
        }
    };
    for &pod_id in store.ownerless_pods(set.meta.namespace) {
        if let Some(pod) = store.pod(pod_id)
            && pod.is_active()
        {
            judge(pod_id, pod);
        }
    }
    if is_unchecked && set.meta.deleting.is_none() {
        for &pod_id in store.pods_of(workload) {
            if let Some(pod) = store.pod(pod_id).filter(|pod| pod.is_active()) {
                judge(pod_id, pod);
            }
        }
    }
    claims
}

fn create_request(id: ReplicaSetId, set: &ReplicaSet) -> Request {
    Request::CreatePod(Box::new(PodDraft {
        namespace: set.meta.namespace,
        name: PodName::Generate(Symbol::new(&format!("{}-", set.meta.name))),
        template: Arc::clone(&set.spec.template),
        extra_labels: smallvec::SmallVec::new(),
        extra_annotations: smallvec::SmallVec::new(),
        owner: Some(Owner::ReplicaSet(id)),
        pinned_node: None,
        job_tracking: false,
    }))
}

/// Whether pods go because fewer are wanted in all, or because another ReplicaSet of the Deployment takes over.
fn deletion_cause(store: &Store, set: &ReplicaSet) -> DeletionCause {
    let Some(Owner::Deployment(deployment)) = set.meta.owner else { return DeletionCause::ScaleDown };
    let Some(object) = store.deployments.get(deployment) else { return DeletionCause::ScaleDown };
    let wanted: i32 = store
        .replica_sets_of(deployment)
        .iter()
        .filter_map(|rs| store.replica_sets.get(*rs))
        .map(|rs| rs.replicas)
        .sum();
    let is_newest = same_template(&set.spec.template, &object.spec.template);
    if !is_newest && wanted >= object.spec.replicas.unwrap_or(1) {
        DeletionCause::RollingUpdate
    } else {
        DeletionCause::ScaleDown
    }
}

/// The pods to delete, best victims first.
///
/// # Source
/// kube-controller-manager, `ActivePodsWithRanks`. The pods to be sorted come out of a hash map: among equals, chance decides.
fn victims(id: ReplicaSetId, count: usize, claims: &Claims, ctx: &Ctx<'_, Controller<ReplicaSets>>) -> Vec<PodId> {
    let (store, now) = (ctx.store, ctx.now);
    let count = count.min(BURST_REPLICAS);
    let mut active = claims.active_pods(store, id);
    if count < active.len() {
        if let Some(set) = store.replica_sets.get(id) {
            let entity = format!("{}/{}", set.meta.namespace, set.meta.name);
            ctx.streams.at("replica-set-order", &entity, now.as_nanos().unsigned_abs()).shuffle(&mut active);
        }
        let ranks = ranks(store, id, claims);
        let rank = |pod: &Pod| ranks.get(&pod.node).copied().unwrap_or(0);
        active = merge_sorted(active, &|(_, a), (_, b)| victim_order(a, b, rank(a), rank(b), now));
    }
    active.truncate(count);
    active.into_iter().map(|(pod_id, _)| pod_id).collect()
}

/// Active pods per node that belong to any ReplicaSet of the same Deployment; none without a Deployment.
///
/// # Source
/// replicaset-controller, `getPodsRankedByRelatedPodsOnSameNode`.
fn ranks(store: &Store, id: ReplicaSetId, claims: &Claims) -> FxHashMap<Option<crate::state::NodeId>, i32> {
    let mut ranks = FxHashMap::default();
    let Some(Owner::Deployment(deployment)) = store.replica_sets.get(id).and_then(|set| set.meta.owner) else {
        return ranks;
    };
    let none = Claims::default();
    for &set in store.replica_sets_of(deployment) {
        let claims = if set == id { claims } else { &none };
        for (_, pod) in claims.active_pods(store, set) {
            *ranks.entry(pod.node).or_insert(0) += 1;
        }
    }
    ranks
}

/// The status to write, and when to look again because a pod will have been ready long enough.
fn status(
    config: &Config,
    store: &Store,
    id: ReplicaSetId,
    set: &ReplicaSet,
    now: SimTime,
) -> (ReplicaSetStatus, Option<SimDuration>) {
    let tally = store.tally(WorkloadId::ReplicaSet(id));
    let min_ready = SimDuration::from_secs(set.spec.min_ready_seconds.max(0).unsigned_abs().into());
    let mut next = None;
    let available = if min_ready == SimDuration::ZERO {
        tally.ready
    } else {
        let mut available = 0;
        for pod in store.pods_of(WorkloadId::ReplicaSet(id)).iter().filter_map(|&pod| store.pod(pod)) {
            if !pod.is_active() || !pod.is_ready() {
                continue;
            }
            match pod.available_in(min_ready, now) {
                Some(SimDuration::ZERO) => available += 1,
                Some(wait) => next = Some(next.map_or(wait, |other: SimDuration| other.min(wait))),
                None => {}
            }
        }
        available
    };
    let gates = &config.kube_controller_manager.feature_gates;
    let counts_terminating = !set.is_replication_controller && gates.terminating_replicas(config.version);
    let status = ReplicaSetStatus {
        observed_generation: set.meta.generation,
        replicas: tally.active,
        fully_labeled: tally.active,
        ready: tally.ready,
        available,
        terminating: counts_terminating.then_some(tally.terminating),
        failure: None,
    };
    (status, next)
}

#[cfg(test)]
mod tests {
    use super::victims::tests::{NOW, ago, running};
    use super::*;
    use crate::testing::meta;

    #[test]
    fn a_set_is_looked_at_again_when_its_next_pod_becomes_available() {
        let check = |later_s: i64, available: i32, again_s: Option<u64>| {
            let mut store = Store::default();
            // The node of the pods.
            store.node_slot(Symbol::new("n"));
            let spec = serde_saphyr::from_str("{replicas: 3, minReadySeconds: 10}").expect("a spec");
            let set = ReplicaSet {
                meta: meta("web", None),
                is_replication_controller: false,
                replicas: 3,
                spec: Arc::new(spec),
                status: ReplicaSetStatus::default(),
            };
            let id = store.replica_sets.insert(set.clone());
            for (uid, ready_for_s) in [(1, 2), (2, 0), (3, 4)] {
                // Somewhere within the second that the time stamp shows.
                let since = ago(ready_for_s) + SimDuration::from_millis(700);
                let pod = running(uid, Some(since));
                store.insert_pod(Pod { name: format!("p{uid}").into(), owner: Some(Owner::ReplicaSet(id)), ..pod });
            }
            let (status, next) = status(&crate::testing::config(), &store, id, &set, ago(-later_s));
            assert_eq!((status.available, next), (available, again_s.map(SimDuration::from_secs)), "{later_s} s later");
        };
        check(0, 0, Some(6));
        check(2, 0, Some(4));
        check(6, 1, Some(2));
        check(10, 3, None);
    }

    #[test]
    fn pods_that_are_ready_long_enough_are_available() {
        let min_ready = SimDuration::from_secs(10);
        let check = |ready_for_s: i64, expected: bool| {
            assert_eq!(running(1, Some(ago(ready_for_s))).is_available(min_ready, NOW), expected, "{ready_for_s} s");
        };
        check(9, false);
        check(10, true);
        check(11, true);
    }
}
