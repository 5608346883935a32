//! The StatefulSet controller: pods with names that last, one after the other.

mod claims;
mod ordinal;
mod pass;
mod status;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::component::{
    Answer, Claim, Config, Controller, Ctx, DeleteOptions, Enqueue, ErrorReason, EventDraft, ObjectRef, Planned,
    PodDraft, PodName, Reconcile, Reply, Request, RevisionOwner, Start, StatusUpdate, Step, SyncPlan, judge_claim,
    present_revision, prune_revisions, reason, revision_hash_label, workload_name,
};
use crate::model::{LabelSelector, PodManagementPolicy, PodTemplateSpec};
use crate::state::{
    Change, Changed, Owner, Pod, PodDelta, PodId, PodPhase, StatefulSet, StatefulSetId, StatefulSetStatus, Store,
    WorkloadId,
};
use crate::units::{SimDuration, SimTime};
use ordinal::ordinal_of;
use pass::{Slot, View, Why};

/// What a call of this controller was for.
#[derive(Copy, Clone, Debug)]
pub enum Purpose {
    /// Creating the pod of this ordinal.
    Create(i32),
    /// Creating a claim.
    Claim {
        /// Of the pod of this ordinal.
        ordinal: i32,
        /// Its name.
        claim: Symbol,
        /// The pod is created next.
        is_for_new_pod: bool,
    },
    /// Deleting a pod.
    Delete(PodId),
    /// Writing status, and how often it was refused in this pass.
    Status(u8),
    /// Anything else.
    Other,
}

/// The StatefulSet controller.
///
/// # Source
/// kube-controller-manager, statefulset-controller.
#[derive(Clone, Debug, Default)]
pub struct StatefulSets {
    templates: claims::Templates,
    /// Names of pods whose deletion was asked for: an answer may come after the object has gone.
    deleting: FxHashMap<PodId, Arc<str>>,
    /// Statuses on their way.
    unwritten: FxHashMap<StatefulSetId, StatefulSetStatus>,
}

fn pod_name(set: &StatefulSet, ordinal: i32) -> Arc<str> {
    format!("{}-{ordinal}", set.meta.name).into()
}

/// Replicas beyond these are never come to: no run has as many pods. The real controller makes room for all and dies of it.
const SLOTS_MAX: i32 = 5_000_000;

/// A pod of the set, with its ordinal.
type Member<'a> = (i32, PodId, &'a Pod);

/// Arranges the set's pods by ordinal: those that are wanted, and the others.
fn arrange<'a>(set: &StatefulSet, members: &[Member<'a>]) -> (Vec<Slot<'a>>, Vec<Slot<'a>>) {
    let start = set.spec.ordinals.as_ref().map_or(0, |o| o.start);
    let wanted = set.spec.replicas.unwrap_or(1).clamp(0, SLOTS_MAX);
    let mut replicas: Vec<Slot<'a>> = (start..start.saturating_add(wanted)).map(|ordinal| (ordinal, None)).collect();
    let mut condemned: Vec<Slot<'a>> = Vec::new();
    for &(ordinal, id, pod) in members {
        match usize::try_from(ordinal - start).ok().and_then(|index| replicas.get_mut(index)) {
            Some(slot) => slot.1 = Some((id, pod)),
            None => condemned.push((ordinal, Some((id, pod)))),
        }
    }
    condemned.sort_by_key(|(ordinal, _)| std::cmp::Reverse(*ordinal));
    (replicas, condemned)
}

/// The set's pods, with those that it adopts in this pass and without those that it releases; the calls for these.
///
/// # Source
/// statefulset-controller, `getPodsForStatefulSet`: pods are claimed before anything is made of them, and who does not have the set's
/// name is none of it.
fn claim<'a>(
    store: &'a Store,
    id: StatefulSetId,
    set: &StatefulSet,
    selector: &LabelSelector,
) -> (Vec<Member<'a>>, Vec<Planned<Purpose>>) {
    let workload = WorkloadId::StatefulSet(id);
    let is_deleting = set.meta.deleting.is_some();
    let (mut members, mut calls) = (Vec::new(), Vec::new());
    let pods = store.ownerless_pods(set.meta.namespace).iter().chain(store.pods_of(workload));
    for &pod_id in pods {
        let Some(pod) = store.pod(pod_id) else { continue };
        let ordinal = ordinal_of(set.meta.name, &pod.name);
        let judged = judge_claim(workload, is_deleting, selector, pod.owner, &pod.labels, pod.deletion.is_some());
        let owner = match (judged, ordinal) {
            (Claim::Keep, Some(ordinal)) => {
                members.push((ordinal, pod_id, pod));
                continue;
            }
            (Claim::Adopt, Some(ordinal)) => {
                members.push((ordinal, pod_id, pod));
                Some(workload.as_owner())
            }
            (Claim::Keep, None) if !is_deleting => None,
            (Claim::Release, _) => None,
            (Claim::Keep | Claim::Adopt | Claim::Ignore, _) => continue,
        };
        calls.push(Planned { request: Request::SetPodOwner { pod: pod_id, owner }, purpose: Purpose::Other });
    }
    (members, calls)
}

fn gate_is_on(config: &Config) -> bool {
    config.kube_controller_manager.feature_gates.max_unavailable_stateful_set(config.version)
}

impl StatefulSets {
    fn candidates(store: &Store, pod: &Pod, queue: &mut Enqueue<StatefulSetId>) {
        for (id, set) in store.stateful_sets.iter() {
            let matches = set.spec.selector.as_ref().is_some_and(|s| s.matches(&pod.labels));
            if set.meta.namespace == pod.namespace && matches {
                queue.now(id);
            }
        }
    }

    fn create_request(
        &mut self,
        id: StatefulSetId,
        set: &StatefulSet,
        ordinal: i32,
        (revision, template): (Symbol, &Arc<PodTemplateSpec>),
    ) -> Request {
        let name = pod_name(set, ordinal);
        let mut extra_labels = smallvec::SmallVec::new();
        extra_labels.push((revision_hash_label(), revision));
        extra_labels.push((Symbol::new("statefulset.kubernetes.io/pod-name"), Symbol::new(&name)));
        extra_labels.push((Symbol::new("apps.kubernetes.io/pod-index"), Symbol::new(&ordinal.to_string())));
        Request::CreatePod(Box::new(PodDraft {
            namespace: set.meta.namespace,
            name: PodName::Exact(name),
            template: self.templates.of(id, set, template, ordinal),
            extra_labels,
            extra_annotations: smallvec::SmallVec::new(),
            owner: Some(Owner::StatefulSet(id)),
            pinned_node: None,
            job_tracking: false,
        }))
    }

    /// Turns a pass into calls. Returns how many pods it deletes for an update: they count as current no longer.
    fn act(
        &mut self,
        id: StatefulSetId,
        view: &View<'_>,
        current: Symbol,
        ctx: &mut Ctx<'_, Controller<Self>>,
        plan: &mut SyncPlan<Purpose>,
    ) -> i32 {
        let set = view.set;
        let work = view.pass();
        let kept = work.pending.iter().chain(&work.settled).map(|&pod| (pod, true));
        for ((ordinal, pod), is_wanted) in kept.chain(work.unwanted.iter().map(|&pod| (pod, false))) {
            for request in claims::hand_over(ctx.store, id, set, (ordinal, Some(pod)), is_wanted) {
                plan.then(request, Purpose::Other);
            }
        }
        tell_refused(id, view, &work, ctx, plan);
        for (ordinal, claim, request) in claims::missing(ctx.store, set, &work.claims) {
            let is_for_new_pod = work.create.contains(&ordinal);
            plan.then(request, Purpose::Claim { ordinal, claim, is_for_new_pod });
        }
        let old = template_of(ctx.store, id, current).unwrap_or_else(|| Arc::clone(&set.spec.template));
        let kept = view.kept();
        let creates: Vec<Planned<Purpose>> = work
            .create
            .iter()
            .map(|&ordinal| {
                let from = if ordinal < kept { (current, &old) } else { (view.update_revision, &set.spec.template) };
                Planned { request: self.create_request(id, set, ordinal, from), purpose: Purpose::Create(ordinal) }
            })
            .collect();
        slow_start(creates, plan);
        for request in
            work.create.iter().flat_map(|&ordinal| claims::hand_over(ctx.store, id, set, (ordinal, None), true))
        {
            plan.then(request, Purpose::Other);
        }
        let is_parallel = set.spec.pod_management_policy == Some(PodManagementPolicy::Parallel);
        for same in work.delete.chunk_by(|(_, a), (_, b)| a == b) {
            let calls: Vec<Planned<Purpose>> =
                same.iter().filter_map(|delete| self.delete_call(*delete, ctx.store)).collect();
            if is_parallel && same[0].1 != Why::Update {
                slow_start(calls, plan);
            } else {
                plan.steps.extend(calls.into_iter().map(|call| Step::Concurrent(vec![call])));
            }
        }
        work.delete.iter().filter(|(_, why)| *why == Why::Update).count() as i32
    }

    fn delete_call(&mut self, (id, why): (PodId, Why), store: &Store) -> Option<Planned<Purpose>> {
        self.deleting.insert(id, Arc::clone(&store.pod(id)?.name));
        let request = Request::DeletePod { pod: id, options: DeleteOptions::default(), cause: why.cause() };
        Some(Planned { request, purpose: Purpose::Delete(id) })
    }
}

/// Batches that double, up to the limit.
fn slow_start(mut calls: Vec<Planned<Purpose>>, plan: &mut SyncPlan<Purpose>) {
    while calls.len() > 2 * pass::BATCH_MAX {
        let tail = calls.split_off(2 * pass::BATCH_MAX - 1);
        plan.steps.push(Step::SlowStart(calls));
        calls = tail;
    }
    if !calls.is_empty() {
        plan.steps.push(Step::SlowStart(calls));
    }
}

/// A pod whose claim is being deleted cannot be created, and the claims of one that is Pending are not looked after: the pass has
/// failed.
///
/// # Source
/// statefulset-controller, `CreateStatefulPod`, `createMissingPersistentVolumeClaims`: only of the former an event is told.
fn tell_refused(
    id: StatefulSetId,
    view: &View<'_>,
    work: &pass::Work,
    ctx: &mut Ctx<'_, Controller<StatefulSets>>,
    plan: &mut SyncPlan<Purpose>,
) {
    plan.failed = !work.refused.is_empty();
    let missing = |ordinal: &&i32| view.replicas.iter().any(|(other, pod)| other == *ordinal && pod.is_none());
    for &ordinal in work.refused.iter().filter(missing) {
        let Some(about) = ObjectRef::workload(ctx.store, WorkloadId::StatefulSet(id)) else { return };
        let going = claims::being_deleted(ctx.store, view.set, ordinal);
        let errors: Vec<String> = going.map(|claim| format!("pvc {claim} is being deleted")).collect();
        let error = if let [one] = errors.as_slice() { one.clone() } else { format!("[{}]", errors.join(", ")) };
        let (verb, name) = (verb(true, ctx.config), pod_name(view.set, ordinal));
        let message = format!("{verb} Pod {name} in StatefulSet {} failed error: {error}", about.name);
        ctx.event(EventDraft::warning(reason::FAILED_CREATE, about, message));
    }
}

/// # Source
/// statefulset-controller, `recordClaimEvent`; a pod that is to be created says as well that it cannot be.
fn tell_claim(
    id: StatefulSetId,
    ordinal: i32,
    (claim, is_for_new_pod): (Symbol, bool),
    answer: &Answer,
    ctx: &mut Ctx<'_, Controller<StatefulSets>>,
) {
    let Some(about) = ObjectRef::workload(ctx.store, WorkloadId::StatefulSet(id)) else { return };
    let (verb, set) = (verb(true, ctx.config), Arc::clone(&about.name));
    let error = match answer {
        Ok(_) => {
            let message = format!("{verb} Claim {claim} Pod {set}-{ordinal} in StatefulSet {set} success");
            return ctx.event(EventDraft::normal(reason::SUCCESSFUL_CREATE, about, message));
        }
        Err(error) => error,
    };
    if error.reason != ErrorReason::AlreadyExists {
        let text = format!("{verb} Claim {claim} for Pod {set}-{ordinal} in StatefulSet {set} failed error: ");
        ctx.event(EventDraft::warning(reason::FAILED_CREATE, about.clone(), text + &error.message));
    }
    if is_for_new_pod {
        let text =
            format!("{verb} Pod {set}-{ordinal} in StatefulSet {set} failed error: failed to create PVC {claim}: ");
        ctx.event(EventDraft::warning(reason::FAILED_CREATE, about, text + &error.message));
    }
}

fn verb(creates: bool, config: &Config) -> &'static str {
    match (creates, config.version.at_least(35)) {
        (true, true) => "Create",
        (true, false) => "create",
        (false, true) => "Delete",
        (false, false) => "delete",
    }
}

/// The template of the set's revision of that name.
fn template_of(store: &Store, id: StatefulSetId, name: Symbol) -> Option<Arc<PodTemplateSpec>> {
    let mut revisions = store.revisions_of(WorkloadId::StatefulSet(id)).iter().map(|&r| &store.controller_revisions[r]);
    revisions.find(|revision| revision.meta.name == name).map(|revision| Arc::clone(&revision.template))
}

impl Reconcile for StatefulSets {
    type Key = StatefulSetId;
    type Purpose = Purpose;
    const NAME: &'static str = "statefulset-controller";
    const CONTROLLERS: &'static [&'static str] = &["statefulset-controller"];

    fn words(key: StatefulSetId, store: &Store) -> String {
        format!("a delayed look at {}", workload_name(store, WorkloadId::StatefulSet(key)))
    }

    fn workers(config: &Config) -> usize {
        config.kube_controller_manager.concurrent_statefulset_syncs.count()
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::PodAdded(_)
                | Changed::PodUpdated { .. }
                | Changed::PodRemoved { .. }
                | Changed::WorkloadAdded(WorkloadId::StatefulSet(_))
                | Changed::WorkloadUpdated(WorkloadId::StatefulSet(_), _)
                | Changed::WorkloadRemoved(WorkloadId::StatefulSet(_))
        )
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<StatefulSetId>) {
        for id in ctx.store.stateful_sets.ids() {
            queue.now(id);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<StatefulSetId>) {
        match &change.what {
            Changed::WorkloadAdded(WorkloadId::StatefulSet(id))
            | Changed::WorkloadUpdated(WorkloadId::StatefulSet(id), _)
            | Changed::WorkloadRemoved(WorkloadId::StatefulSet(id)) => queue.now(*id),
            Changed::PodAdded(id) => {
                let Some(pod) = ctx.store.pod(*id) else { return };
                match pod.owner {
                    Some(Owner::StatefulSet(set)) => queue.now(set),
                    None => Self::candidates(ctx.store, pod, queue),
                    Some(_) => {}
                }
            }
            Changed::PodUpdated { pod, delta, before } => {
                let Some(object) = ctx.store.pod(*pod) else { return };
                if let Some(Owner::StatefulSet(old)) = before.as_ref().and_then(|b| b.owner) {
                    queue.now(old);
                }
                match object.owner {
                    Some(Owner::StatefulSet(set)) => {
                        queue.now(set);
                        let min_ready = ctx.store.stateful_sets.get(set).map_or(SimDuration::ZERO, pass::min_ready);
                        if delta.touches(PodDelta::READY) && object.is_ready() && min_ready > SimDuration::ZERO {
                            queue.after(set, min_ready + SimDuration::from_secs(1));
                        }
                    }
                    None if delta.touches(PodDelta::LABELS | PodDelta::OWNER) => {
                        Self::candidates(ctx.store, object, queue);
                    }
                    _ => {}
                }
            }
            Changed::PodRemoved { last, .. } => {
                if let Some(Owner::StatefulSet(set)) = last.owner {
                    queue.now(set);
                }
            }
            _ => {}
        }
    }

    fn sync(&mut self, id: StatefulSetId, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        let store = ctx.store;
        let Some(set) = store.stateful_sets.get(id) else { return SyncPlan::nothing() };
        let Some(selector) = &set.spec.selector else { return SyncPlan::nothing() };
        let mut plan = SyncPlan::nothing();
        let is_deleting = set.meta.deleting.is_some();
        let (members, calls) = claim(store, id, set, selector);
        if !calls.is_empty() {
            plan.steps.push(Step::Concurrent(calls));
        }
        let owner = WorkloadId::StatefulSet(id);
        let collisions = set.status.collision_count;
        let version = ctx.config.version;
        let present = RevisionOwner { id: owner, template: &set.spec.template, selector, collisions, version };
        let update_revision = present_revision(store, present, Purpose::Other, &mut plan).name;
        let known = set.status.current_revision;
        let current_revision = if template_of(store, id, known).is_some() { known } else { update_revision };
        let view = view(ctx.config, store, set, &members, update_revision, ctx.now);
        let updated = if is_deleting { 0 } else { self.act(id, &view, current_revision, ctx, &mut plan) };
        let (mut status, next) = status::status(&view, current_revision);
        status.current -= updated;
        let is_used = |revision: &crate::state::ControllerRevision| {
            let name = revision.meta.name;
            let pods = store.pods_of(owner).iter().filter_map(|&pod| store.pod(pod));
            [current_revision, update_revision].contains(&name)
                || pods.into_iter().any(|pod| pod.labels.get(revision_hash_label()) == Some(name))
        };
        prune_revisions(store, owner, set.spec.revision_history_limit, is_used, Purpose::Other, &mut plan);
        if status != set.status {
            self.unwritten.insert(id, status);
            let request = Request::UpdateStatus(StatusUpdate::StatefulSet(id, Some(set.meta.version), status));
            plan.finally.push(Planned { request, purpose: Purpose::Status(0) });
        }
        plan.requeue_after = next;
        plan
    }

    fn answered(&mut self, id: StatefulSetId, purpose: Purpose, answer: &Answer, ctx: &mut Ctx<'_, Controller<Self>>) {
        if let Purpose::Claim { ordinal, claim, is_for_new_pod } = purpose {
            return tell_claim(id, ordinal, (claim, is_for_new_pod), answer, ctx);
        }
        let name = match purpose {
            Purpose::Create(ordinal) => ctx.store.stateful_sets.get(id).map(|set| pod_name(set, ordinal)),
            Purpose::Delete(pod) => self.deleting.remove(&pod),
            Purpose::Claim { .. } | Purpose::Status(_) | Purpose::Other => None,
        };
        let (Some(name), Some(about)) = (name, ObjectRef::workload(ctx.store, WorkloadId::StatefulSet(id))) else {
            return;
        };
        let creates = matches!(purpose, Purpose::Create(_));
        let verb = verb(creates, ctx.config);
        let draft = match answer {
            Ok(Reply::Pod(_) | Reply::Done | Reply::Unchanged) => {
                let reason = if creates { reason::SUCCESSFUL_CREATE } else { "SuccessfulDelete" };
                let message = format!("{verb} Pod {name} in StatefulSet {} successful", about.name);
                EventDraft::normal(reason, about, message)
            }
            Ok(_) => return,
            Err(error) if error.reason == ErrorReason::AlreadyExists => return,
            Err(error) => {
                let reason = if creates { reason::FAILED_CREATE } else { "FailedDelete" };
                let message =
                    format!("{verb} Pod {name} in StatefulSet {} failed error: {}", about.name, error.message);
                EventDraft::warning(reason, about, message)
            }
        };
        ctx.event(draft);
    }

    /// # Source
    /// `realStatefulSetStatusUpdater`: on a conflict the status is written to the set as the informer has it, five times at
    /// most.
    fn follow_up(
        &mut self,
        id: StatefulSetId,
        purpose: Purpose,
        answer: &Answer,
        ctx: &mut Ctx<'_, Controller<Self>>,
    ) -> Option<Planned<Purpose>> {
        let Purpose::Status(refused) = purpose else { return None };
        let is_conflict = answer.as_ref().is_err_and(|error| error.reason == ErrorReason::Conflict);
        let status = self.unwritten.remove(&id)?;
        let base = ctx.store.stateful_sets.get(id).filter(|_| is_conflict && refused < 4)?.meta.version;
        self.unwritten.insert(id, status);
        let request = Request::UpdateStatus(StatusUpdate::StatefulSet(id, Some(base), status));
        Some(Planned { request, purpose: Purpose::Status(refused + 1) })
    }

    fn skipped(&mut self, _: StatefulSetId, purpose: Purpose) {
        if let Purpose::Delete(pod) = purpose {
            self.deleting.remove(&pod);
        }
    }

    fn is_failure(purpose: Purpose, answer: &Answer) -> bool {
        match (purpose, answer) {
            (Purpose::Delete(_), Err(error)) => error.reason != ErrorReason::NotFound,
            (_, answer) => answer.is_err(),
        }
    }
}

fn view<'a>(
    config: &Config,
    store: &'a Store,
    set: &'a StatefulSet,
    members: &[Member<'a>],
    update_revision: Symbol,
    now: SimTime,
) -> View<'a> {
    let (replicas, condemned) = arrange(set, members);
    let max_unavailable = gate_is_on(config).then(|| pass::max_unavailable(set));
    let counts_min_ready = config.version.at_least(34);
    // In order a pass goes no further than to the first of these.
    let is_parallel = set.spec.pod_management_policy == Some(PodManagementPolicy::Parallel);
    let reach = if is_parallel { usize::MAX } else { 1 };
    let empty = replicas.iter().filter(|(_, pod)| pod.is_none()).map(|(ordinal, _)| *ordinal).take(reach);
    let stale = empty.filter(|ordinal| claims::are_stale(store, set, *ordinal)).collect();
    let waits = |pod: Option<(PodId, &Pod)>| pod.is_none_or(|(_, pod)| pod.phase == PodPhase::Pending);
    let waiting = replicas.iter().filter(|(_, pod)| waits(*pod)).map(|(ordinal, _)| *ordinal).take(reach);
    let refused = waiting.filter(|ordinal| claims::being_deleted(store, set, *ordinal).next().is_some()).collect();
    View { set, replicas, condemned, stale, refused, update_revision, max_unavailable, counts_min_ready, now }
}
