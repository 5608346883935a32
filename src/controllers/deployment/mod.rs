//! The Deployment controller: one ReplicaSet per template, and the way from the old ones to the new one.

mod call;
mod fenceposts;
mod progress;
mod revision;
mod rolling;
mod scale;
mod view;

use rustc_hash::FxHashMap;

use crate::component::{
    Answer, ApiError, Claim, Config, Controller, Ctx, Enqueue, ErrorReason, EventDraft, ObjectRef, Planned, Reconcile,
    Request, Start, StatusUpdate, Step, SyncPlan, judge_claim, reason, workload_name,
};
use crate::model::DeploymentStrategyType;
use crate::state::{
    Change, Changed, Deployment, DeploymentId, DeploymentStatus, Owner, ReplicaSet, ReplicaSetId, Store, WorkloadId,
};
use crate::units::SimDuration;
pub use call::Purpose;
use call::status_request;
use view::View;

/// The Deployment controller.
///
/// # Source
/// kube-controller-manager, deployment-controller.
#[derive(Clone, Debug, Default)]
pub struct Deployments {
    /// The Deployment of each ReplicaSet: a ReplicaSet that has gone no longer says it.
    owners: FxHashMap<ReplicaSetId, DeploymentId>,
    /// What is to be written of Deployments whose new ReplicaSet was refused in the pass that is under way.
    refused: FxHashMap<DeploymentId, Request>,
    hashes: revision::Hashes,
}

impl Deployments {
    /// # Source
    /// deployment-controller, `getNewReplicaSet`: a creation that is refused ends the pass, and stands in an event and in the
    /// condition, but not if it is refused because the namespace is going.
    fn not_created(
        &mut self,
        id: DeploymentId,
        about: ObjectRef,
        error: &ApiError,
        ctx: &mut Ctx<'_, Controller<Self>>,
    ) {
        let Some(deployment) = ctx.store.deployments.get(id).filter(|_| !error.is_of_terminating_namespace()) else {
            return;
        };
        let status = DeploymentStatus { progressing: progress::not_created(deployment, ctx.now), ..deployment.status };
        if status != deployment.status {
            let base = Some(deployment.meta.version);
            self.refused.insert(id, Request::UpdateStatus(StatusUpdate::Deployment(id, base, status, None)));
        }
        let name = self.hashes.name(deployment).1;
        let message = format!("Failed to create new replica set {:?}: {}", name.as_str(), error.message);
        ctx.event(EventDraft::warning(reason::REPLICA_SET_CREATE_ERROR, about, message));
    }
}

impl Reconcile for Deployments {
    type Key = DeploymentId;
    type Purpose = Purpose;
    const NAME: &'static str = "deployment-controller";
    const CONTROLLERS: &'static [&'static str] = &["deployment-controller"];

    fn words(key: DeploymentId, store: &Store) -> String {
        format!("a delayed look at {}", workload_name(store, WorkloadId::Deployment(key)))
    }

    fn workers(config: &Config) -> usize {
        config.kube_controller_manager.concurrent_deployment_syncs.max(1) as usize
    }

    fn retries_max() -> Option<u32> {
        Some(15)
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::WorkloadAdded(WorkloadId::Deployment(_) | WorkloadId::ReplicaSet(_))
                | Changed::WorkloadUpdated(WorkloadId::Deployment(_) | WorkloadId::ReplicaSet(_), _)
                | Changed::WorkloadRemoved(WorkloadId::ReplicaSet(_))
                | Changed::PodRemoved { .. }
        )
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<DeploymentId>) {
        self.hashes.learn(ctx.store, ctx.config.version);
        for id in ctx.store.deployments.ids() {
            self.owners.extend(ctx.store.replica_sets_of(id).iter().map(|&set| (set, id)));
            queue.now(id);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<DeploymentId>) {
        match &change.what {
            Changed::WorkloadAdded(WorkloadId::Deployment(id)) => queue.now(*id),
            Changed::WorkloadUpdated(WorkloadId::Deployment(id), _) => queue.now(*id),
            Changed::WorkloadAdded(WorkloadId::ReplicaSet(id))
            | Changed::WorkloadUpdated(WorkloadId::ReplicaSet(id), _) => {
                let Some(set) = ctx.store.replica_sets.get(*id) else { return };
                match set.meta.owner {
                    Some(Owner::Deployment(deployment)) => {
                        self.owners.insert(*id, deployment);
                        queue.now(deployment);
                    }
                    None => {
                        for (deployment, object) in ctx.store.deployments.iter() {
                            let matches = object.spec.selector.as_ref().is_some_and(|s| s.matches(&set.meta.labels));
                            if object.meta.namespace == set.meta.namespace && matches {
                                queue.now(deployment);
                            }
                        }
                    }
                    Some(_) => {}
                }
            }
            Changed::WorkloadRemoved(WorkloadId::ReplicaSet(id)) => {
                if let Some(deployment) = self.owners.remove(id) {
                    queue.now(deployment);
                }
            }
            Changed::PodRemoved { last, .. } => {
                // Recreate waits for the last pod of the old ReplicaSets to go.
                let Some(Owner::ReplicaSet(set)) = last.owner else { return };
                let Some(Owner::Deployment(id)) = ctx.store.replica_sets.get(set).and_then(|s| s.meta.owner) else {
                    return;
                };
                let Some(deployment) = ctx.store.deployments.get(id) else { return };
                let is_recreate = deployment.spec.strategy.strategy_type == Some(DeploymentStrategyType::Recreate);
                let sets = ctx.store.replica_sets_of(id);
                if is_recreate && sets.iter().all(|&rs| ctx.store.pods_of(WorkloadId::ReplicaSet(rs)).is_empty()) {
                    queue.now(id);
                }
            }
            _ => {}
        }
    }

    fn sync(&mut self, id: DeploymentId, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        let Some(deployment) = ctx.store.deployments.get(id) else { return SyncPlan::nothing() };
        if deployment.spec.selector.as_ref().is_none_or(crate::model::LabelSelector::is_empty) {
            if let Some(about) = ObjectRef::workload(ctx.store, WorkloadId::Deployment(id)) {
                let message = "This deployment is selecting all pods. A non-empty selector is required.";
                ctx.event(EventDraft::warning("SelectingAll", about, message));
            }
            return SyncPlan::nothing();
        }
        let mut plan = SyncPlan::nothing();
        let claimed = claim(ctx.store, id, deployment, &mut plan);
        let view = View::new(id, deployment, claimed, ctx.now);
        if deployment.meta.deleting.is_some() {
            finish(&view, progress::counted(ctx.config, &view), &mut plan);
            return plan;
        }
        if deployment.spec.paused || scale::is_scaling_event(&view) {
            scale::scale(&view, &mut plan);
            if deployment.spec.paused {
                revision::prune(&view, &mut plan);
            }
            finish(&view, progress::counted(ctx.config, &view), &mut plan);
            return plan;
        }
        let mut created = false;
        let acted = if view.is_rolling() {
            rolling::roll(&view, &self.hashes, &mut plan, &mut created)
        } else {
            rolling::recreate(ctx.store, &view, &self.hashes, &mut plan, &mut created)
        };
        if created && revision::is_taken(ctx.store, deployment, &plan) {
            // The creation will be refused, which fails the pass; the next one makes another name.
            let old = deployment.status;
            let status = DeploymentStatus { collision_count: old.collision_count + 1, ..old };
            plan.finally.push(Planned { request: status_request(&view, status, None), purpose: Purpose::Other });
            return plan;
        }
        let status = progress::status(ctx.config, &view, created);
        if !acted && progress::is_complete(&view, &status) {
            revision::prune(&view, &mut plan);
        }
        plan.requeue_after = progress::check_again_after(&view, &status);
        finish(&view, status, &mut plan);
        plan
    }

    fn answered(&mut self, id: DeploymentId, purpose: Purpose, answer: &Answer, ctx: &mut Ctx<'_, Controller<Self>>) {
        let Some(about) = ObjectRef::workload(ctx.store, WorkloadId::Deployment(id)) else { return };
        let (set, from, to) = match (purpose, answer) {
            (Purpose::Create(_), Err(error)) if error.reason != ErrorReason::AlreadyExists => {
                self.not_created(id, about, error, ctx);
                return;
            }
            (Purpose::Create(to), Ok(crate::component::Reply::Workload(WorkloadId::ReplicaSet(set)))) if to > 0 => {
                (*set, 0, to)
            }
            (Purpose::Scale(set, from, to), Ok(_)) => (set, from, to),
            _ => return,
        };
        let Some(set) = ctx.store.replica_sets.get(set) else { return };
        let direction = if to > from { "up" } else { "down" };
        let message = format!("Scaled {direction} replica set {} from {from} to {to}", set.meta.name);
        ctx.event(EventDraft::normal("ScalingReplicaSet", about, message));
    }

    fn conclude(
        &mut self,
        id: DeploymentId,
        _ctx: &mut Ctx<'_, Controller<Self>>,
    ) -> (Option<Planned<Purpose>>, Option<SimDuration>) {
        let write = self.refused.remove(&id).map(|request| Planned { request, purpose: Purpose::Other });
        (write, None)
    }

    fn is_failure(_purpose: Purpose, answer: &Answer) -> bool {
        // A namespace that is being deleted refuses whatever is tried.
        answer.as_ref().is_err_and(|error| !error.is_of_terminating_namespace())
    }
}

/// The Deployment's ReplicaSets. Those that nobody owns and that the selector matches are adopted and count at once; those
/// that it no longer matches are released.
///
/// # Source
/// deployment-controller, `ClaimReplicaSets`.
fn claim<'a>(
    store: &'a Store,
    id: DeploymentId,
    deployment: &Deployment,
    plan: &mut SyncPlan<Purpose>,
) -> Vec<(ReplicaSetId, &'a ReplicaSet)> {
    let mut claimed = Vec::new();
    let Some(selector) = &deployment.spec.selector else { return claimed };
    let workload = WorkloadId::Deployment(id);
    for (set_id, set) in store.replica_sets.iter() {
        let owner = set.meta.owner;
        let is_candidate = owner.is_none_or(|owner| owner == workload.as_owner()) && !set.is_replication_controller;
        if !is_candidate || set.meta.namespace != deployment.meta.namespace {
            continue;
        }
        let deleting = (deployment.meta.deleting.is_some(), set.meta.deleting.is_some());
        let owner = match judge_claim(workload, deleting.0, selector, owner, &set.meta.labels, deleting.1) {
            Claim::Adopt => Some(workload.as_owner()),
            Claim::Release => None,
            Claim::Keep => {
                claimed.push((set_id, set));
                continue;
            }
            Claim::Ignore => continue,
        };
        if owner.is_some() {
            claimed.push((set_id, set));
        }
        plan.then(Request::SetWorkloadOwner { workload: WorkloadId::ReplicaSet(set_id), owner }, Purpose::Other);
    }
    claimed
}

/// Writes the status if it differs and the pass has come so far.
///
/// # Source
/// deployment-controller: a call that is refused ends the pass before the status. A pass that has raised the revision of the
/// Deployment itself ends with a status that is refused, for it is made from what the pass began with.
fn finish(view: &View<'_>, status: DeploymentStatus, plan: &mut SyncPlan<Purpose>) {
    rebase(plan);
    if status != view.deployment.status {
        plan.then(status_request(view, status, None), Purpose::Other);
    }
}

/// A ReplicaSet that is written twice is written from what the first write made of it.
fn rebase(plan: &mut SyncPlan<Purpose>) {
    let mut writes: Vec<ReplicaSetId> = Vec::new();
    for step in &mut plan.steps {
        let (Step::SlowStart(calls) | Step::Concurrent(calls)) = step;
        for call in calls {
            if let Request::UpdateReplicaSet { replica_set, base: Some(base), .. } = &mut call.request {
                *base += writes.iter().filter(|earlier| *earlier == replica_set).count() as u64;
                writes.push(*replica_set);
            }
        }
    }
}
