//! The DaemonSet controller: one pod on every node that should have one.

mod placement;
mod revision;
mod status;
mod update;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::component::{
    Answer, Claim, Config, Controller, Ctx, DeleteOptions, Enqueue, EventDraft, Expectations, ObjectRef, Plan, Planned,
    PodDraft, PodName, Reconcile, Reply, Request, Start, StatusUpdate, Step, judge_claim,
};
use crate::model::DaemonSetUpdateStrategyType;
use crate::state::{
    Change, Changed, DaemonSet, DaemonSetId, DeletionCause, NodeDelta, NodeId, ObjectDelta, Owner, Pod, PodDelta,
    PodId, PodPhase, Store, WorkloadId,
};
use crate::units::{SimDuration, SimTime};
use placement::{Placement, Placements};

/// Creates, and deletes, of one sync at most.
const BURST_REPLICAS: usize = 250;

/// What a call of this controller was for.
#[derive(Copy, Clone, Debug)]
pub enum Memo {
    /// Creating a pod.
    Create,
    /// Deleting a pod.
    Delete(PodId),
    /// Anything else.
    Other,
}

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
    templates: revision::Templates,
    /// Back-off of failed pods per set and node: delay, and when it was last advanced.
    failed: FxHashMap<(DaemonSetId, NodeId), (SimDuration, SimTime)>,
    /// Names of pods whose deletion was asked for: an answer may come after the object has gone.
    names: FxHashMap<PodId, Arc<str>>,
    /// Sets that the last look at a node found to be affected.
    affected: Vec<DaemonSetId>,
}

/// The live pods of a set by node, in node order.
type PodsByNode = std::collections::BTreeMap<NodeId, Vec<PodId>>;

fn owner_set(owner: Option<Owner>) -> Option<DaemonSetId> {
    match owner {
        Some(Owner::DaemonSet(id)) => Some(id),
        _ => None,
    }
}

/// The node a daemon pod is on or aims at.
fn node_of(pod: &Pod) -> Option<NodeId> {
    pod.node.or(pod.pinned_node)
}

fn pods_by_node(store: &Store, id: DaemonSetId) -> PodsByNode {
    let mut map = PodsByNode::new();
    for &pod_id in store.pods_of(WorkloadId::DaemonSet(id)) {
        let Some(pod) = store.pod(pod_id) else { continue };
        if pod.phase.is_terminal() && pod.deletion.is_some() {
            continue;
        }
        if let Some(node) = node_of(pod) {
            map.entry(node).or_default().push(pod_id);
        }
    }
    map
}

/// What one pass wants created and deleted.
#[derive(Debug, Default)]
struct Work {
    create: Vec<NodeId>,
    delete: Vec<(PodId, DeletionCause)>,
    again_after: Option<SimDuration>,
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
        let Some(object) = ctx.store.node(node) else { return affected };
        let sets: Vec<DaemonSetId> = ctx.store.daemon_sets.ids().collect();
        for id in sets {
            let Some(set) = ctx.store.daemon_sets.get(id) else { continue };
            let placement = self.placements.of(id, set, node, ctx.store.node_name(node), object);
            let pods = ctx.store.pods_on(node).iter().filter_map(|&pod| ctx.store.pod(pod));
            let is_here = pods.into_iter().any(|pod| owner_set(pod.owner) == Some(id));
            let misscheduled = ctx.config.version.at_least(34) && is_here && set.status.misscheduled > 0;
            let missing = placement.should_run && !is_here;
            let unwanted = !placement.should_continue && is_here;
            if missing || unwanted || misscheduled {
                affected.push(id);
            }
        }
        affected
    }

    /// Decides what one node needs.
    ///
    /// # Source
    /// daemonset-controller, `podsShouldBeOnNode`.
    fn manage_node(
        &mut self,
        id: DaemonSetId,
        set: &DaemonSet,
        node: NodeId,
        placement: Placement,
        pods: &[PodId],
        hash: Symbol,
        ctx: &mut Ctx<'_, Controller<Self>>,
        work: &mut Work,
    ) {
        if pods.is_empty() {
            if placement.should_run {
                work.create.push(node);
            }
            return;
        }
        if !placement.should_continue {
            let live = pods.iter().filter(|&&pod| ctx.store.pod(pod).is_some_and(|p| p.deletion.is_none()));
            work.delete.extend(live.map(|&pod| (pod, DeletionCause::DaemonSetController)));
            return;
        }
        let mut running: Vec<PodId> = Vec::new();
        for &pod_id in pods {
            let Some(pod) = ctx.store.pod(pod_id) else { continue };
            if pod.deletion.is_some() {
                continue;
            }
            match pod.phase {
                PodPhase::Failed => self.failed_pod(id, set, node, pod_id, ctx, work),
                PodPhase::Succeeded => {
                    event(
                        ctx,
                        id,
                        "SucceededDaemonPod",
                        format!(
                            "Found succeeded daemon pod {}/{} on node {}, will try to delete it",
                            pod.namespace,
                            pod.name,
                            ctx.store.node_name(node)
                        ),
                        true,
                    );
                    work.delete.push((pod_id, DeletionCause::Completed));
                }
                PodPhase::Pending | PodPhase::Running => running.push(pod_id),
            }
        }
        let surge = update::max_surge(set);
        if surge > 0 {
            self.manage_surge(set, node, placement, &running, hash, ctx, work);
        } else if running.len() > 1 {
            running.sort_by(|&a, &b| keep_order(ctx.store, a, b));
            work.delete.extend(running[1..].iter().map(|&pod| (pod, DeletionCause::DaemonSetController)));
        }
    }

    /// A node under a surging update: at most one pod of the old and one of the new template.
    fn manage_surge(
        &mut self,
        set: &DaemonSet,
        node: NodeId,
        placement: Placement,
        running: &[PodId],
        hash: Symbol,
        ctx: &mut Ctx<'_, Controller<Self>>,
        work: &mut Work,
    ) {
        if running.is_empty() {
            if placement.should_run {
                work.create.push(node);
            }
            return;
        }
        if running.len() == 1 {
            return;
        }
        let store = ctx.store;
        let oldest = |is_new: bool| {
            let mut pods: Vec<PodId> = running
                .iter()
                .copied()
                .filter(|&pod| store.pod(pod).is_some_and(|p| revision::has_hash(p, hash) == is_new))
                .collect();
            pods.sort_by(|&a, &b| keep_order(store, a, b));
            pods
        };
        let (new, old) = (oldest(true), oldest(false));
        let surplus = new.iter().skip(1).chain(old.iter().skip(1));
        work.delete.extend(surplus.map(|&pod| (pod, DeletionCause::DaemonSetController)));
        let (Some(&new), Some(&old)) = (new.first(), old.first()) else { return };
        let min_ready = status::min_ready(set);
        let old_is_ready = store.pod(old).is_some_and(Pod::is_ready);
        let new_is_available = store.pod(new).is_some_and(|pod| pod.is_available(min_ready, ctx.now));
        if !old_is_ready || new_is_available {
            work.delete.push((old, DeletionCause::RollingUpdate));
        }
    }

    /// A failed pod is deleted, but not faster than its node's back-off allows.
    fn failed_pod(
        &mut self,
        id: DaemonSetId,
        _set: &DaemonSet,
        node: NodeId,
        pod_id: PodId,
        ctx: &mut Ctx<'_, Controller<Self>>,
        work: &mut Work,
    ) {
        const FIRST: SimDuration = SimDuration::from_secs(1);
        const LONGEST: SimDuration = SimDuration::from_secs(15 * 60);
        let now = ctx.now;
        let entry = self.failed.get(&(id, node)).copied().filter(|(_, at)| now.saturating_since(*at) <= LONGEST * 2);
        if let Some((delay, at)) = entry
            && now.saturating_since(at) < delay
        {
            work.again_after = Some(work.again_after.map_or(delay, |other| other.min(delay)));
            return;
        }
        let next = entry.map_or(FIRST, |(delay, _)| (delay * 2).min(LONGEST));
        self.failed.insert((id, node), (next, now));
        if let Some(pod) = ctx.store.pod(pod_id) {
            let message = format!(
                "Found failed daemon pod {}/{} on node {}, will try to kill it",
                pod.namespace,
                pod.name,
                ctx.store.node_name(node)
            );
            event(ctx, id, "FailedDaemonPod", message, false);
        }
        work.delete.push((pod_id, DeletionCause::DaemonSetController));
    }

    fn plan(
        &mut self,
        id: DaemonSetId,
        work: Work,
        set: &DaemonSet,
        hash: Symbol,
        ctx: &Ctx<'_, Controller<Self>>,
    ) -> Plan<Memo> {
        let mut plan = Plan::nothing();
        let Work { mut create, mut delete, again_after } = work;
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
            .map(|node| Planned { request: create_request(id, set, &template, node, hash), memo: Memo::Create })
            .collect();
        let deletes: Vec<_> = delete
            .into_iter()
            .map(|(pod, cause)| {
                if let Some(object) = ctx.store.pod(pod) {
                    self.names.insert(pod, Arc::clone(&object.name));
                }
                let request = Request::DeletePod { pod, options: DeleteOptions::default(), cause };
                Planned { request, memo: Memo::Delete(pod) }
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

    fn sync_set(&mut self, id: DaemonSetId, ctx: &mut Ctx<'_, Controller<Self>>) -> Plan<Memo> {
        let store = ctx.store;
        let Some(set) = store.daemon_sets.get(id) else {
            self.expectations.forget(id);
            self.placements.forget(id);
            return Plan::nothing();
        };
        if set.spec.selector.as_ref().is_none_or(crate::model::LabelSelector::is_empty) {
            let text = "This daemon set is selecting all pods. A non-empty selector is required.";
            event(ctx, id, "SelectingAll", text.to_owned(), false);
            return Plan::nothing();
        }
        if set.meta.deleting.is_some() {
            return Plan::nothing();
        }
        let mut prelude = Plan::nothing();
        let hash = revision::current(store, id, set, &mut prelude);
        claim(store, id, set, &mut prelude);
        let nodes = self.placements.all(id, set, store);
        let pods = pods_by_node(store, id);
        let mut plan = Plan::nothing();
        if self.expectations.satisfied(id, ctx.now) {
            let mut work = Work::default();
            // A pass judges every node, as the real controller does; verdicts are cached until labels or taints change.
            for &(node, placement) in &nodes {
                let here = pods.get(&node).map_or(&[][..], Vec::as_slice);
                if here.is_empty() && !placement.should_run {
                    continue;
                }
                self.manage_node(id, set, node, placement, here, hash, ctx, &mut work);
            }
            // Unbound pods that aim at a node that is gone.
            for (&node, here) in &pods {
                if store.node(node).is_none() {
                    let unbound = here.iter().filter(|&&p| store.pod(p).is_some_and(|p| p.node.is_none()));
                    work.delete.extend(unbound.map(|&pod| (pod, DeletionCause::DaemonSetController)));
                }
            }
            let idle = work.create.is_empty() && work.delete.is_empty();
            let rolls = set.spec.update_strategy.strategy_type != Some(DaemonSetUpdateStrategyType::OnDelete);
            if idle && rolls {
                update::roll(store, set, &nodes, &pods, hash, ctx.now, &mut work.create, &mut work.delete);
            }
            plan = self.plan(id, work, set, hash, ctx);
        }
        prelude.steps.append(&mut plan.steps);
        let (status, next) = status::status(store, set, &nodes, &pods, hash, ctx.now);
        if status != set.status {
            let request = Request::UpdateStatus(StatusUpdate::DaemonSet(id, status));
            prelude.finally.push(Planned { request, memo: Memo::Other });
        }
        prelude.requeue_after = match (plan.requeue_after, next) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        prelude
    }
}

/// Pods of one node in the order in which they are kept: bound before unbound, older first, then by name.
fn keep_order(store: &Store, a: PodId, b: PodId) -> std::cmp::Ordering {
    match (store.pod(a), store.pod(b)) {
        (Some(a), Some(b)) => (b.node.is_some().cmp(&a.node.is_some()))
            .then_with(|| a.created_at.cmp(&b.created_at))
            .then_with(|| a.name.cmp(&b.name)),
        _ => std::cmp::Ordering::Equal,
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
    hash: Symbol,
) -> Request {
    let mut extra_labels = smallvec::SmallVec::new();
    extra_labels.push((Symbol::new("controller-revision-hash"), hash));
    Request::CreatePod(Box::new(PodDraft {
        namespace: set.meta.namespace,
        name: PodName::Generate(Symbol::new(&format!("{}-", set.meta.name))),
        template: Arc::clone(template),
        extra_labels,
        owner: Some(Owner::DaemonSet(id)),
        pinned_node: Some(node),
        job_tracking: false,
    }))
}

/// Pods to adopt; released ones show by their own change.
fn claim(store: &Store, id: DaemonSetId, set: &DaemonSet, plan: &mut Plan<Memo>) {
    let Some(selector) = &set.spec.selector else { return };
    let workload = WorkloadId::DaemonSet(id);
    let mut calls = Vec::new();
    let owned = store.pods_of(workload).iter().filter(|&&pod| {
        // Only pods whose labels were changed by hand can fail the selector that made them.
        store.pod(pod).is_some_and(|p| !selector.matches(&p.labels))
    });
    for &pod_id in store.ownerless_pods(set.meta.namespace).iter().chain(owned) {
        let Some(pod) = store.pod(pod_id) else { continue };
        let owner = match judge_claim(workload, false, selector, pod.owner, &pod.labels, pod.deletion.is_some()) {
            Claim::Adopt => Some(workload.as_owner()),
            Claim::Release => None,
            Claim::Keep | Claim::Ignore => continue,
        };
        calls.push(Planned { request: Request::SetPodOwner { pod: pod_id, owner }, memo: Memo::Other });
    }
    if !calls.is_empty() {
        plan.steps.push(Step::Concurrent(calls));
    }
}

impl Reconcile for DaemonSets {
    type Key = Key;
    type Memo = Memo;
    const NAME: &'static str = "daemonset-controller";

    fn workers(config: &Config) -> usize {
        config.kube_controller_manager.concurrent_daemonset_syncs.max(1) as usize
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
            queue.now(Key::Set(id));
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Key>) {
        match &change.what {
            Changed::WorkloadAdded(WorkloadId::DaemonSet(id)) => queue.now(Key::Set(*id)),
            Changed::WorkloadUpdated(WorkloadId::DaemonSet(id), delta) => {
                if delta.touches(ObjectDelta::SPEC) {
                    self.placements.forget(*id);
                }
                if delta.touches(ObjectDelta::SPEC | ObjectDelta::METADATA | ObjectDelta::DELETION) {
                    queue.now(Key::Set(*id));
                }
            }
            Changed::WorkloadRemoved(WorkloadId::DaemonSet(id)) => {
                self.expectations.forget(*id);
                self.placements.forget(*id);
            }
            Changed::NodeAdded(node) => {
                self.placements.node_changed(*node);
                queue.now(Key::Node(*node));
            }
            Changed::NodeUpdated { node, delta, .. } if delta.touches(NodeDelta::LABELS | NodeDelta::TAINTS) => {
                self.placements.node_changed(*node);
                queue.now(Key::Node(*node));
            }
            Changed::NodeRemoved { node, .. } => self.placements.node_changed(*node),
            Changed::PodAdded(id) => {
                let Some(pod) = ctx.store.pod(*id) else { return };
                match pod.owner {
                    Some(Owner::DaemonSet(set)) => {
                        self.expectations.creation_observed(set);
                        queue.now(Key::Set(set));
                    }
                    None => Self::candidates(ctx.store, pod, queue),
                    Some(_) => {}
                }
            }
            Changed::PodUpdated { pod, delta, before } => {
                let Some(object) = ctx.store.pod(*pod) else { return };
                if let Some(old) = before.as_ref().and_then(|b| owner_set(b.owner)) {
                    queue.now(Key::Set(old));
                }
                match object.owner {
                    Some(Owner::DaemonSet(set)) => {
                        if delta.touches(PodDelta::DELETION) {
                            self.expectations.deletion_observed(set);
                        }
                        queue.now(Key::Set(set));
                        let min_ready = ctx.store.daemon_sets.get(set).map_or(SimDuration::ZERO, status::min_ready);
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
            Changed::PodRemoved { last, .. } => {
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

    fn sync(&mut self, key: Key, ctx: &mut Ctx<'_, Controller<Self>>) -> Plan<Memo> {
        match key {
            Key::Set(id) => self.sync_set(id, ctx),
            Key::Node(node) => {
                self.affected = self.sync_node(node, ctx);
                Plan::nothing()
            }
        }
    }

    fn affected(&mut self, queue: &mut Enqueue<Key>) {
        for id in self.affected.drain(..) {
            queue.now(Key::Set(id));
        }
    }

    fn answered(&mut self, key: Key, memo: Memo, answer: &Answer, ctx: &mut Ctx<'_, Controller<Self>>) {
        let Key::Set(id) = key else { return };
        match (memo, answer) {
            (Memo::Create, Ok(Reply::Pod(pod))) => {
                if let Some(pod) = ctx.store.pod(*pod) {
                    event(ctx, id, "SuccessfulCreate", format!("Created pod: {}", pod.name), true);
                }
            }
            (Memo::Create, Err(error)) => {
                self.expectations.creation_observed(id);
                event(ctx, id, "FailedCreate", format!("Error creating: {}", error.message), false);
            }
            (Memo::Delete(pod), answer) => {
                let name = self.names.remove(&pod);
                match (answer, name) {
                    (Ok(_), Some(name)) => event(ctx, id, "SuccessfulDelete", format!("Deleted pod: {name}"), true),
                    (Ok(_), None) => {}
                    (Err(error), _) => {
                        self.expectations.deletion_observed(id);
                        event(ctx, id, "FailedDelete", format!("Error deleting: {}", error.message), false);
                    }
                }
            }
            (Memo::Create | Memo::Other, _) => {}
        }
    }

    fn skipped(&mut self, key: Key, memo: Memo) {
        if let Key::Set(id) = key {
            match memo {
                Memo::Create => self.expectations.creation_observed(id),
                Memo::Delete(pod) => {
                    self.names.remove(&pod);
                    self.expectations.deletion_observed(id);
                }
                Memo::Other => {}
            }
        }
    }

    fn is_failure(memo: Memo, answer: &Answer) -> bool {
        match (memo, answer) {
            (Memo::Delete(_), Err(error)) => error.reason != crate::component::ErrorReason::NotFound,
            (Memo::Create, Err(error)) => !error.message.contains("because it is being terminated"),
            (_, answer) => answer.is_err(),
        }
    }
}
