//! The DaemonSet controller: one pod on every node that should have one.

mod manage;
mod placement;
mod purpose;
mod revision;
mod spots;
mod status;
mod update;
mod view;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::Symbol;
use crate::component::{
    Answer, Claim, Config, Controller, Ctx, DeleteOptions, Enqueue, ErrorReason, EventDraft, Expectations, ObjectRef,
    Planned, PodDraft, PodName, Reconcile, Reply, Request, Start, StatusStep, StatusUpdate, StatusWrites, Step,
    SyncPlan, judge_claim, node_name, reason, workload_name,
};
use crate::model::DaemonSetUpdateStrategyType;
use crate::state::{
    Change, Changed, DaemonPods, DaemonSet, DaemonSetId, DaemonSetStatus, NodeDelta, NodeId, ObjectDelta, Owner, Pod,
    PodDelta, PodId, Store, WorkloadId,
};
use crate::units::SimDuration;
use manage::FailedPods;
use placement::Placements;
pub use purpose::Purpose;
use revision::Revision;
use spots::{Rule, Spots};
use view::{View, Work};

/// Creates, and deletes, of one sync at most.
const BURST_REPLICAS: usize = 250;

/// What the queue holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A DaemonSet.
    Set(DaemonSetId),
    /// A node whose labels or taints changed.
    Node(NodeId),
}

/// The DaemonSet controller.
///
/// # Source
/// kube-controller-manager, daemonset-controller.
#[derive(Clone, Debug, Default)]
pub struct DaemonSets {
    expectations: Expectations<DaemonSetId>,
    placements: Placements,
    /// What the last pass of each set saw.
    spots: FxHashMap<DaemonSetId, Spots>,
    templates: revision::Templates,
    failed: FailedPods,
    /// Sets of which a pod was relabeled: it may have to be released.
    relabeled: BTreeSet<DaemonSetId>,
    /// Names of pods whose deletion was asked for: an answer may come after the object has gone.
    names: FxHashMap<PodId, Arc<str>>,
    /// Statuses on their way.
    statuses: StatusWrites<DaemonSetId, DaemonSetStatus>,
    /// Sets that the last look at a node found to be affected.
    affected: Vec<DaemonSetId>,
    /// Passes under way.
    passes: FxHashMap<DaemonSetId, Pass>,
    /// Pods that were made, as an answer has said, and which the watch has not delivered yet.
    unseen: FxHashSet<PodId>,
}

/// What a pass keeps for its end, where it counts the pods anew.
#[derive(Clone, Debug)]
struct Pass {
    revision: Revision,
    /// What `observedGeneration` becomes.
    generation: i64,
    /// Of the object as it was read.
    version: u64,
    /// Pods that the watch delivered before the answer came.
    seen: Vec<PodId>,
}

fn owner_set(owner: Option<Owner>) -> Option<DaemonSetId> {
    match owner {
        Some(Owner::DaemonSet(id)) => Some(id),
        _ => None,
    }
}

impl DaemonSets {
    fn candidates(store: &Store, pod: &Pod, queue: &mut Enqueue<Key>) {
        for (id, set) in store.daemon_sets.iter() {
            let matches = set.spec.selector.as_ref().is_some_and(|s| s.matches(&pod.labels));
            if set.meta.namespace == pod.namespace && matches {
                queue.now(Key::Set(id));
            }
        }
    }

    /// A node appeared or changed its labels or taints: enqueue the sets for which that matters.
    ///
    /// # Source
    /// daemonset-controller, `syncNodeUpdate` (1.33+).
    fn sync_node(&mut self, node: NodeId, ctx: &mut Ctx<'_, Controller<Self>>) -> Vec<DaemonSetId> {
        let mut affected = Vec::new();
        let sets: Vec<DaemonSetId> = ctx.store.daemon_sets.ids().collect();
        for id in sets {
            let Some(set) = ctx.store.daemon_sets.get(id) else { continue };
            let Some(placement) = self.placements.of(id, set, node, ctx.store) else { continue };
            let pods = ctx.store.pods_on(node).iter().filter_map(|&pod| ctx.store.pod(pod));
            let is_here = pods.into_iter().any(|pod| owner_set(pod.owner) == Some(id));
            let misscheduled = ctx.config.version.at_least(34) && is_here && set.status.misscheduled > 0;
            let missing = placement.should_run && !is_here;
            let unwanted = !placement.should_continue && is_here;
            if missing || unwanted || misscheduled {
                affected.push(id);
            }
        }
        if affected.len() > 1 {
            // Sets come out of a hash map.
            let node = ctx.store.node_name(node);
            let index = ctx.now.as_nanos().unsigned_abs();
            ctx.streams.at("daemon-set-list-order", node.as_str(), index).shuffle(&mut affected);
        }
        affected
    }

    fn forget(&mut self, id: DaemonSetId) {
        self.expectations.forget(id);
        self.placements.forget(id);
        self.spots.remove(&id);
    }

    fn plan(&mut self, work: Work, view: &View<'_>, ctx: &Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        let View { set, rule: Rule { set: id, revision, .. }, .. } = *view;
        let mut plan = SyncPlan::nothing();
        let Work { mut create, mut delete, again_after } = work;
        if create.len() > 1 {
            // Nodes come out of a hash map, and the creations of a batch go their own ways.
            let entity = format!("{}/{}", set.meta.namespace, set.meta.name);
            ctx.streams.at("daemon-set-create-order", &entity, ctx.now.as_nanos().unsigned_abs()).shuffle(&mut create);
        }
        create.truncate(BURST_REPLICAS);
        delete.truncate(BURST_REPLICAS);
        plan.requeue_after = again_after;
        if create.is_empty() && delete.is_empty() {
            return plan;
        }
        self.expectations.set(id, create.len(), delete.len(), ctx.now);
        let template = self.templates.of(id, set);
        let creates: Vec<_> = create
            .into_iter()
            .map(|node| Planned {
                request: create_request(id, set, &template, node, revision),
                purpose: Purpose::Create,
            })
            .collect();
        let deletes: Vec<_> = delete
            .into_iter()
            .map(|(pod, cause)| {
                if let Some(object) = ctx.store.pod(pod) {
                    self.names.insert(pod, Arc::clone(&object.name));
                }
                let request = Request::DeletePod { pod, options: DeleteOptions::default(), cause };
                Planned { request, purpose: Purpose::Delete(pod) }
            })
            .collect();
        if !creates.is_empty() {
            plan.steps.push(Step::SlowStart(creates));
        }
        if !deletes.is_empty() {
            plan.steps.push(Step::Concurrent(deletes));
        }
        plan
    }

    fn sync_set(&mut self, id: DaemonSetId, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        let store = ctx.store;
        let Some(set) = store.daemon_sets.get(id) else {
            self.forget(id);
            return SyncPlan::nothing();
        };
        if set.spec.selector.as_ref().is_none_or(crate::model::LabelSelector::is_empty) {
            let text = "This daemon set is selecting all pods. A non-empty selector is required.";
            event(ctx, id, "SelectingAll", text.to_owned(), false);
            return SyncPlan::nothing();
        }
        if set.meta.deleting.is_some() {
            return SyncPlan::nothing();
        }
        let mut prelude = SyncPlan::nothing();
        let revision = revision::current(store, id, set, ctx.config.version, &mut prelude);
        // Pods that are adopted or released count once they are: their change brings the set back.
        let is_settled = claim(store, id, set, self.relabeled.remove(&id), &mut prelude);
        let mut spots = self.spots.remove(&id).unwrap_or_default();
        let unseen = std::mem::take(&mut self.unseen);
        let rule = Rule { store, set: id, revision, min_ready: spots::min_ready(set), now: ctx.now, unseen: &unseen };
        spots.refresh(&rule, set, &mut self.placements);
        let view = View { rule, set, spots: &spots };
        let mut plan = SyncPlan::nothing();
        let is_satisfied = self.expectations.satisfied(id, ctx.now);
        if is_settled && is_satisfied {
            let mut work = self.failed.manage(&view, ctx);
            let rolls = set.spec.update_strategy.strategy_type != Some(DaemonSetUpdateStrategyType::OnDelete);
            if work.create.is_empty() && work.delete.is_empty() && rolls {
                update::roll(&view, ctx.streams, &mut work);
            }
            plan = self.plan(work, &view, ctx);
        }
        prelude.steps.append(&mut plan.steps);
        // What is counted while creations or deletions are on their way says nothing about the present spec.
        let generation = if is_satisfied { set.meta.generation } else { set.status.observed_generation };
        self.passes.insert(id, Pass { revision, generation, version: set.meta.version, seen: Vec::new() });
        self.unseen = unseen;
        self.spots.insert(id, spots);
        prelude.requeue_after = plan.requeue_after;
        prelude
    }
}

fn event(ctx: &mut Ctx<'_, Controller<DaemonSets>>, id: DaemonSetId, reason: &'static str, text: String, normal: bool) {
    if let Some(about) = ObjectRef::workload(ctx.store, WorkloadId::DaemonSet(id)) {
        let draft =
            if normal { EventDraft::normal(reason, about, text) } else { EventDraft::warning(reason, about, text) };
        ctx.event(draft);
    }
}

fn create_request(
    id: DaemonSetId,
    set: &DaemonSet,
    template: &Arc<crate::model::PodTemplateSpec>,
    node: NodeId,
    revision: Revision,
) -> Request {
    Request::CreatePod(Box::new(PodDraft {
        namespace: set.meta.namespace,
        name: PodName::Generate(Symbol::new(&format!("{}-", set.meta.name))),
        template: Arc::clone(template),
        extra_labels: revision.labels(),
        extra_annotations: smallvec::SmallVec::new(),
        owner: Some(Owner::DaemonSet(id)),
        pinned_node: Some(node),
        job_tracking: false,
    }))
}

/// Pods to adopt, and to release if some were `relabeled`; true if there are none.
fn claim(store: &Store, id: DaemonSetId, set: &DaemonSet, relabeled: bool, plan: &mut SyncPlan<Purpose>) -> bool {
    let Some(selector) = &set.spec.selector else { return true };
    let workload = WorkloadId::DaemonSet(id);
    let mut calls = Vec::new();
    let owned = store.pods_of(workload).iter().filter(|_| relabeled);
    for &pod_id in store.ownerless_pods(set.meta.namespace).iter().chain(owned) {
        let Some(pod) = store.pod(pod_id) else { continue };
        let owner = match judge_claim(workload, false, selector, pod.owner, &pod.labels, pod.deletion.is_some()) {
            Claim::Adopt => Some(workload.as_owner()),
            Claim::Release => None,
            Claim::Keep | Claim::Ignore => continue,
        };
        calls.push(Planned { request: Request::SetPodOwner { pod: pod_id, owner }, purpose: Purpose::Other });
    }
    let is_settled = calls.is_empty();
    if !is_settled {
        plan.steps.push(Step::Concurrent(calls));
    }
    is_settled
}

impl Reconcile for DaemonSets {
    type Key = Key;
    type Purpose = Purpose;
    const NAME: &'static str = "daemonset-controller";
    const CONTROLLERS: &'static [&'static str] = &["daemonset-controller"];

    fn words(key: Key, store: &Store) -> String {
        match key {
            Key::Set(id) => format!("a delayed look at {}", workload_name(store, WorkloadId::DaemonSet(id))),
            Key::Node(id) => format!("a delayed look at {}", node_name(store, id)),
        }
    }

    fn workers(config: &Config) -> usize {
        config.kube_controller_manager.concurrent_daemonset_syncs.count()
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::PodAdded(_)
                | Changed::PodUpdated { .. }
                | Changed::PodRemoved { .. }
                | Changed::NodeAdded(_)
                | Changed::NodeUpdated { .. }
                | Changed::NodeRemoved { .. }
                | Changed::WorkloadAdded(WorkloadId::DaemonSet(_))
                | Changed::WorkloadUpdated(WorkloadId::DaemonSet(_), _)
                | Changed::WorkloadRemoved(WorkloadId::DaemonSet(_))
        )
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Key>) {
        for id in ctx.store.daemon_sets.ids() {
            self.relabeled.insert(id);
            queue.now(Key::Set(id));
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Key>) {
        match &change.what {
            Changed::WorkloadAdded(WorkloadId::DaemonSet(id)) => queue.now(Key::Set(*id)),
            Changed::WorkloadUpdated(WorkloadId::DaemonSet(id), delta) => {
                if delta.touches(ObjectDelta::SPEC) {
                    self.placements.forget(*id);
                    self.spots.entry(*id).or_default().forget();
                }
                // Any update wakes the real controller, its own of the status, too: then nodes are all that can be new.
                let is_own = !delta.touches(ObjectDelta::SPEC | ObjectDelta::METADATA | ObjectDelta::DELETION);
                if !is_own || self.placements.have_changed(*id) {
                    queue.now(Key::Set(*id));
                }
            }
            Changed::WorkloadRemoved(WorkloadId::DaemonSet(id)) => self.forget(*id),
            Changed::NodeAdded(node) => {
                self.placements.node_came_or_went(*node);
                queue.now(Key::Node(*node));
            }
            Changed::NodeUpdated { node, delta, .. } if delta.touches(NodeDelta::LABELS | NodeDelta::TAINTS) => {
                self.placements.node_changed(*node);
                queue.now(Key::Node(*node));
            }
            Changed::NodeRemoved { node, .. } => self.placements.node_came_or_went(*node),
            Changed::PodAdded(id) => {
                let Some(pod) = ctx.store.pod(*id) else {
                    self.expectations.created_and_gone(*id);
                    return;
                };
                match pod.owner {
                    Some(Owner::DaemonSet(set)) => {
                        self.expectations.creation_observed(set);
                        if self.unseen.remove(id) {
                            DaemonPods::node_of(pod).into_iter().for_each(|node| self.placements.look_again(node));
                        } else if let Some(pass) = self.passes.get_mut(&set) {
                            pass.seen.push(*id);
                        }
                        queue.now(Key::Set(set));
                    }
                    None => Self::candidates(ctx.store, pod, queue),
                    Some(_) => {}
                }
            }
            Changed::PodUpdated { pod, delta, before } => {
                let Some(object) = ctx.store.pod(*pod) else {
                    if delta.touches(PodDelta::DELETION) {
                        self.expectations.deleted_and_gone(*pod);
                    }
                    return;
                };
                if let Some(old) = before.as_ref().and_then(|b| owner_set(b.owner)) {
                    queue.now(Key::Set(old));
                }
                match object.owner {
                    Some(Owner::DaemonSet(set)) => {
                        if delta.touches(PodDelta::DELETION) {
                            self.expectations.deletion_observed(set);
                        }
                        if delta.touches(PodDelta::LABELS | PodDelta::OWNER) {
                            self.relabeled.insert(set);
                        }
                        queue.now(Key::Set(set));
                        let min_ready = ctx.store.daemon_sets.get(set).map_or(SimDuration::ZERO, spots::min_ready);
                        if delta.touches(PodDelta::READY) && object.is_ready() && min_ready > SimDuration::ZERO {
                            queue.after(Key::Set(set), min_ready + SimDuration::from_secs(1));
                        }
                    }
                    None if delta.touches(PodDelta::LABELS | PodDelta::OWNER) => {
                        Self::candidates(ctx.store, object, queue);
                    }
                    _ => {}
                }
            }
            Changed::PodRemoved { pod, last, .. } => {
                self.unseen.remove(pod);
                self.expectations.removed(*pod, owner_set(last.owner));
                if let Some(set) = owner_set(last.owner) {
                    if last.deletion.is_none_or(|d| d.grace == SimDuration::ZERO) {
                        self.expectations.deletion_observed(set);
                    }
                    queue.now(Key::Set(set));
                }
            }
            _ => {}
        }
    }

    fn sync(&mut self, key: Key, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        match key {
            Key::Set(id) => self.sync_set(id, ctx),
            Key::Node(node) => {
                self.affected = self.sync_node(node, ctx);
                SyncPlan::nothing()
            }
        }
    }

    /// Counts the pods and writes the status.
    ///
    /// # Source
    /// daemonset-controller, `updateDaemonSetStatus`: lists the pods again, so that those which the pass has made count if the watch
    /// was faster than the answer.
    fn conclude(
        &mut self,
        key: Key,
        ctx: &mut Ctx<'_, Controller<Self>>,
    ) -> (Option<Planned<Purpose>>, Option<SimDuration>) {
        let Key::Set(id) = key else { return (None, None) };
        let (Some(pass), Some(set)) = (self.passes.remove(&id), ctx.store.daemon_sets.get(id)) else {
            return (None, None);
        };
        let min_ready = spots::min_ready(set);
        let rule =
            Rule { store: ctx.store, set: id, revision: pass.revision, min_ready, now: ctx.now, unseen: &self.unseen };
        let spots = self.spots.entry(id).or_default();
        spots.refresh_pods(&rule, &self.placements);
        let (mut status, again_after) = status::status(&View { rule, set, spots });
        status.observed_generation = pass.generation;
        if status == set.status {
            return (None, again_after);
        }
        self.statuses.begin(id, status);
        let request = Request::UpdateStatus(StatusUpdate::DaemonSet(id, Some(pass.version), status));
        (Some(Planned { request, purpose: Purpose::Status(StatusStep::Write) }), again_after)
    }

    fn affected(&mut self, queue: &mut Enqueue<Key>) {
        for id in self.affected.drain(..) {
            queue.now(Key::Set(id));
        }
    }

    fn answered(&mut self, key: Key, purpose: Purpose, answer: &Answer, ctx: &mut Ctx<'_, Controller<Self>>) {
        let Key::Set(id) = key else { return };
        match (purpose, answer) {
            (Purpose::Create, Ok(Reply::Pod(id_of_pod))) => {
                if !self.passes.get(&id).is_some_and(|pass| pass.seen.contains(id_of_pod)) {
                    self.unseen.insert(*id_of_pod);
                    let node = ctx.store.pod(*id_of_pod).and_then(DaemonPods::node_of);
                    node.into_iter().for_each(|node| self.placements.look_again(node));
                }
                if let Some(pod) = ctx.store.pod(*id_of_pod) {
                    event(ctx, id, reason::SUCCESSFUL_CREATE, format!("Created pod: {}", pod.name), true);
                }
            }
            (Purpose::Create, Err(error)) => {
                self.expectations.creation_observed(id);
                event(ctx, id, reason::FAILED_CREATE, format!("Error creating: {}", error.message), false);
            }
            (Purpose::Delete(pod), answer) => {
                let name = self.names.remove(&pod);
                match (answer, name) {
                    (Ok(_), Some(name)) => event(ctx, id, "SuccessfulDelete", format!("Deleted pod: {name}"), true),
                    (Ok(_), None) => {}
                    (Err(error), _) => {
                        self.expectations.deletion_observed(id);
                        if error.reason != ErrorReason::NotFound {
                            event(ctx, id, "FailedDelete", format!("Error deleting: {}", error.message), false);
                        }
                    }
                }
            }
            (Purpose::Create | Purpose::Status(_) | Purpose::Other, _) => {}
        }
    }

    fn follow_up(
        &mut self,
        key: Key,
        purpose: Purpose,
        answer: &Answer,
        ctx: &mut Ctx<'_, Controller<Self>>,
    ) -> Option<Planned<Purpose>> {
        let (Key::Set(id), Purpose::Status(step)) = (key, purpose) else { return None };
        let write = |status| {
            let base = ctx.store.daemon_sets.get(id)?.meta.version;
            Some(Request::UpdateStatus(StatusUpdate::DaemonSet(id, Some(base), status)))
        };
        let (request, step) = self.statuses.follow_up(id, step, answer, write)?;
        Some(Planned { request, purpose: Purpose::Status(step) })
    }

    fn skipped(&mut self, key: Key, purpose: Purpose) {
        if let Key::Set(id) = key {
            match purpose {
                Purpose::Create => self.expectations.creation_observed(id),
                Purpose::Delete(pod) => {
                    self.names.remove(&pod);
                    self.expectations.deletion_observed(id);
                }
                Purpose::Status(_) | Purpose::Other => {}
            }
        }
    }

    fn is_failure(purpose: Purpose, answer: &Answer) -> bool {
        match (purpose, answer) {
            (Purpose::Delete(_), Err(error)) => error.reason != ErrorReason::NotFound,
            (Purpose::Create, Err(error)) => !error.message.contains("because it is being terminated"),
            (_, answer) => answer.is_err(),
        }
    }
}
