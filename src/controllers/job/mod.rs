//! The Job controller: pods that run until enough of them have succeeded.

mod backoff;
mod manage;
mod policy;
mod success;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::Symbol;
use crate::component::{
    Answer, Config, Controller, Ctx, DeleteOptions, Enqueue, ErrorReason, EventDraft, Expectations, ObjectRef, Plan,
    Planned, PodDraft, PodName, Reconcile, Reply, Request, Start, StatusUpdate, Step,
};
use crate::model::PodFailurePolicyAction;
use crate::state::{
    Change, Changed, DeletionCause, Job, JobId, JobStatus, ObjectDelta, Owner, Pod, PodDelta, PodId, PodPhase,
    Propagation, Store, WorkloadId,
};
use crate::units::{SimDuration, SimTime};
use backoff::Failures;

/// Creates, or deletes, of one sync at most.
const PER_SYNC_MAX: usize = 500;

/// Pod events and the controller's own status writes wait this long, so that one sync handles many.
const BATCH_PERIOD: SimDuration = SimDuration::from_secs(1);

/// What a call of this controller was for.
#[derive(Copy, Clone, Debug)]
pub enum Memo {
    /// Creating a pod.
    Create,
    /// Deleting a pod.
    Delete(PodId),
    /// Writing status, or taking a finalizer away.
    Other,
}

/// The Job controller, with the rules of the controller that removes finished Jobs after their time to live.
///
/// # Source
/// kube-controller-manager, job-controller and ttl-after-finished-controller.
///
/// # Differs
/// Finished pods are counted by one status write, not two. Failures per index are remembered here, not in annotations.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    expectations: Expectations<JobId>,
    failures: FxHashMap<JobId, Failures>,
    index_failures: FxHashMap<JobId, FxHashMap<i32, IndexFailures>>,
    /// Pods that are in the counters already, but still carry the finalizer.
    counted: FxHashSet<PodId>,
    /// Names of pods whose deletion was asked for: an answer may come after the object has gone.
    deleting: FxHashMap<PodId, Arc<str>>,
}

/// Failures of one index of a Job that limits them per index.
#[derive(Copy, Clone, Debug, Default)]
struct IndexFailures {
    /// Those that count towards the limit.
    counted: u32,
    /// All of them: they put off the next pod of the index.
    record: Failures,
}

/// The pods of a Job, sorted by what they mean to it.
#[derive(Debug, Default)]
struct Census<'a> {
    active: Vec<(PodId, &'a Pod)>,
    ready: i32,
    terminating: Vec<&'a Pod>,
    /// Ended, not counted yet.
    succeeded: Vec<(PodId, &'a Pod)>,
    /// Failed, not counted yet.
    failed: Vec<(PodId, &'a Pod)>,
    /// Counted, but still held by the finalizer.
    held: Vec<PodId>,
}

impl Jobs {
    fn census<'a>(&self, store: &'a Store, id: JobId, job: &Job) -> Census<'a> {
        let mut census = Census::default();
        for &pod_id in store.pods_of(WorkloadId::Job(id)) {
            let Some(pod) = store.pod(pod_id) else { continue };
            let is_new = pod.job_tracking && !self.counted.contains(&pod_id);
            if pod.is_active() {
                census.active.push((pod_id, pod));
                census.ready += i32::from(pod.is_ready());
                continue;
            }
            if pod.is_terminating() {
                census.terminating.push(pod);
            }
            if is_new && pod.phase == PodPhase::Succeeded {
                census.succeeded.push((pod_id, pod));
            } else if is_new && policy::is_failed(&job.spec, pod) {
                census.failed.push((pod_id, pod));
            } else if pod.job_tracking && !is_new {
                census.held.push(pod_id);
            }
        }
        census
    }

    fn deletion_seen(&mut self, owner: Option<Owner>) {
        if let Some(Owner::Job(job)) = owner {
            self.expectations.deletion_observed(job);
        }
    }

    fn delete_call(&mut self, (id, pod): (PodId, &Pod), cause: DeletionCause) -> Planned<Memo> {
        self.deleting.insert(id, Arc::clone(&pod.name));
        let request = Request::DeletePod { pod: id, options: DeleteOptions::default(), cause };
        Planned { request, memo: Memo::Delete(id) }
    }

    /// Deletes pods and expects to see that.
    fn delete(&mut self, id: JobId, pods: &[(PodId, &Pod)], cause: DeletionCause, now: SimTime, plan: &mut Plan<Memo>) {
        let pods = &pods[..pods.len().min(PER_SYNC_MAX)];
        if pods.is_empty() {
            return;
        }
        self.expectations.set(id, 0, pods.len(), now);
        let calls = pods.iter().map(|pod| self.delete_call(*pod, cause)).collect();
        plan.steps.push(Step::Concurrent(calls));
    }

    /// Counts what has ended: the new status, and whether a failure policy ends the Job.
    fn count(&mut self, id: JobId, job: &Job, census: &Census<'_>, status: &mut JobStatus) -> Option<&'static str> {
        let spec = &job.spec;
        let indexed = manage::is_indexed(spec);
        let mut completed: BTreeSet<i32> = status.completed_indexes.iter().copied().collect();
        if indexed {
            completed.extend(census.succeeded.iter().filter_map(|(_, pod)| manage::index_of(pod)));
            status.succeeded = completed.len() as i32;
            status.completed_indexes = completed.iter().copied().collect();
        } else {
            status.succeeded += census.succeeded.len() as i32;
        }
        let names: Vec<Symbol> =
            spec.template.spec.containers.iter().chain(&spec.template.spec.init_containers).map(|c| c.name).collect();
        let mut ends_job = None;
        let mut failed_indexes: BTreeSet<i32> = status.failed_indexes.iter().copied().collect();
        for (_, pod) in &census.failed {
            let rules = spec.pod_failure_policy.as_ref();
            let action = rules.and_then(|p| policy::action(p, pod, &names)).unwrap_or_default();
            let index = manage::index_of(pod).filter(|index| indexed && !completed.contains(index));
            let limited = spec.backoff_limit_per_index.zip(index);
            if let Some((_, index)) = limited {
                let failures = self.index_failures.entry(id).or_default().entry(index).or_default();
                failures.record = failures.record.with(vec![backoff::finished_at(pod)], None);
            }
            if action == PodFailurePolicyAction::Ignore {
                continue;
            }
            status.failed += 1;
            if action == PodFailurePolicyAction::FailJob {
                ends_job = Some("PodFailurePolicy");
            }
            if let Some((limit, index)) = limited {
                let failures = self.index_failures.entry(id).or_default().entry(index).or_default();
                failures.counted += 1;
                if i64::from(failures.counted) > i64::from(limit) || action == PodFailurePolicyAction::FailIndex {
                    failed_indexes.insert(index);
                }
            }
        }
        status.failed_indexes = failed_indexes.into_iter().collect();
        let failed_at = census.failed.iter().map(|(_, pod)| backoff::finished_at(pod)).collect();
        let succeeded_at = census.succeeded.iter().map(|(_, pod)| backoff::finished_at(pod)).max();
        let record = self.failures.entry(id).or_default();
        *record = record.with(failed_at, succeeded_at);
        ends_job
    }

    /// Brings the number of pods to what is wanted; true if creations are put off by the back-off.
    ///
    /// # Source
    /// job-controller, `manageJob`.
    fn manage(
        &mut self,
        id: JobId,
        job: &Job,
        census: &Census<'_>,
        status: &JobStatus,
        ctx: &Ctx<'_, Controller<Self>>,
        plan: &mut Plan<Memo>,
    ) -> bool {
        let (spec, now) = (&job.spec, ctx.now);
        let active = census.active.len();
        let wanted = manage::wanted_active(spec, active, status.succeeded);
        let removed = if active > wanted || manage::is_indexed(spec) {
            // They come out of a hash map: among equals, chance decides.
            let entity = format!("{}/{}", job.meta.namespace, job.meta.name);
            let mut pods = census.active.clone();
            ctx.streams.at("job-order", &entity, now.as_nanos().unsigned_abs()).shuffle(&mut pods);
            manage::removals(spec, &pods, active.saturating_sub(wanted))
        } else {
            Vec::new()
        };
        if !removed.is_empty() {
            let pods: Vec<_> = census.active.iter().copied().filter(|(pod, _)| removed.contains(pod)).collect();
            self.delete(id, &pods, DeletionCause::ScaleDown, now, plan);
            return false;
        }
        let blocked = if policy::only_replaces_failed(spec) { census.terminating.len() } else { 0 };
        let count = wanted.saturating_sub(blocked + active).min(PER_SYNC_MAX);
        if count == 0 {
            return false;
        }
        let is_per_index = manage::is_indexed(spec) && spec.backoff_limit_per_index.is_some();
        let remaining = self.failures.get(&id).map_or(SimDuration::ZERO, |failures| failures.remaining(now));
        if remaining > SimDuration::ZERO && !is_per_index {
            plan.requeue_after = Some(remaining);
            return true;
        }
        let indexes: Vec<Option<i32>> = if manage::is_indexed(spec) {
            let mut taken: BTreeSet<i32> = census.active.iter().filter_map(|(_, pod)| manage::index_of(pod)).collect();
            if policy::only_replaces_failed(spec) {
                taken.extend(census.terminating.iter().filter_map(|pod| manage::index_of(pod)));
            }
            taken.extend(status.completed_indexes.iter().chain(status.failed_indexes.iter()));
            let completions = spec.completions.unwrap_or(0);
            let pending = manage::pending_indexes(completions, |index| taken.contains(&index), count);
            match self.ready_indexes(id, pending, now) {
                Ok(ready) => ready.into_iter().map(Some).collect(),
                Err(wait) => {
                    plan.requeue_after = Some(wait);
                    return true;
                }
            }
        } else {
            vec![None; count]
        };
        if indexes.is_empty() {
            return false;
        }
        self.expectations.set(id, indexes.len(), 0, now);
        let calls =
            indexes.into_iter().map(|index| Planned { request: create_request(id, job, index), memo: Memo::Create });
        plan.steps.push(Step::SlowStart(calls.collect()));
        false
    }

    /// Of the indexes that need a pod those that may have one now; if none may, how long the first has to wait.
    ///
    /// # Source
    /// job-controller, `getPodCreationInfoForIndependentIndexes`: with a limit per index, each has a delay of its own.
    fn ready_indexes(&self, id: JobId, pending: Vec<i32>, now: SimTime) -> Result<Vec<i32>, SimDuration> {
        let Some(failures) = self.index_failures.get(&id) else { return Ok(pending) };
        let wait = |index: &i32| failures.get(index).map_or(SimDuration::ZERO, |one| one.record.remaining(now));
        let shortest = pending.iter().map(wait).min().unwrap_or(SimDuration::ZERO);
        if shortest > SimDuration::ZERO {
            return Err(shortest);
        }
        Ok(pending.into_iter().filter(|index| wait(index) == SimDuration::ZERO).collect())
    }
}

fn create_request(id: JobId, job: &Job, index: Option<i32>) -> Request {
    let name = job.meta.name;
    let mut extra_labels = smallvec::SmallVec::new();
    extra_labels.push((Symbol::new("batch.kubernetes.io/job-name"), name));
    extra_labels.push((Symbol::new("job-name"), name));
    let mut prefix = format!("{name}-");
    if let Some(index) = index {
        extra_labels.push((manage::index_label(), Symbol::new(&index.to_string())));
        prefix = format!("{name}-{index}-");
    }
    Request::CreatePod(Box::new(PodDraft {
        namespace: job.meta.namespace,
        name: PodName::Generate(Symbol::new(&prefix)),
        template: Arc::clone(&job.spec.template),
        extra_labels,
        owner: Some(Owner::Job(id)),
        pinned_node: None,
        job_tracking: true,
    }))
}

fn condition(status: &JobStatus, kind: &str) -> Option<(&'static str, SimTime)> {
    status.conditions.iter().find(|(name, ..)| *name == kind).map(|(_, reason, at)| (*reason, *at))
}

fn set_condition(status: &mut JobStatus, kind: &'static str, reason: &'static str, now: SimTime) {
    if condition(status, kind).is_none() {
        status.conditions.push((kind, reason, now));
    }
}

/// When a Job ended, well or badly.
fn finished_since(status: &JobStatus) -> Option<SimTime> {
    condition(status, "Complete").or_else(|| condition(status, "Failed")).map(|(_, at)| at)
}

fn is_suspended(job: &Job) -> bool {
    job.spec.suspend == Some(true)
}

/// Why a Job has failed, if it has.
fn failure(job: &Job, status: &JobStatus, census: &Census<'_>, now: SimTime) -> Option<&'static str> {
    let spec = &job.spec;
    if let Some((reason, _)) = condition(status, "FailureTarget") {
        return Some(reason);
    }
    let running: Vec<&Pod> = census.active.iter().map(|(_, pod)| *pod).collect();
    if status.failed > spec.backoff_limit.unwrap_or(6) || policy::restarts_exceed(spec, &running) {
        return Some("BackoffLimitExceeded");
    }
    if deadline_left(job, status, now) == Some(SimDuration::ZERO) {
        return Some("DeadlineExceeded");
    }
    let failed_indexes = status.failed_indexes.len() as i32;
    if spec.max_failed_indexes.is_some_and(|max| failed_indexes > max) {
        return Some("MaxFailedIndexesExceeded");
    }
    let all_done = spec.completions.is_some_and(|completions| failed_indexes + status.succeeded >= completions);
    (manage::is_indexed(spec) && failed_indexes > 0 && all_done && census.active.is_empty()).then_some("FailedIndexes")
}

/// What is left of `activeDeadlineSeconds`.
fn deadline_left(job: &Job, status: &JobStatus, now: SimTime) -> Option<SimDuration> {
    if is_suspended(job) {
        return None;
    }
    let deadline = SimDuration::from_secs(job.spec.active_deadline_seconds?.max(0).unsigned_abs());
    Some((status.started_at? + deadline).saturating_since(now))
}

fn failure_message(reason: &str) -> &'static str {
    match reason {
        "BackoffLimitExceeded" => "Job has reached the specified backoff limit",
        "DeadlineExceeded" => "Job was active longer than specified deadline",
        "MaxFailedIndexesExceeded" => "Job has exceeded the specified maximal number of failed indexes",
        "FailedIndexes" => "Job has failed indexes",
        _ => "A container or condition of a failed pod matches a FailJob rule",
    }
}

fn event(
    ctx: &mut Ctx<'_, Controller<Jobs>>,
    id: JobId,
    make: fn(&'static str, ObjectRef, String) -> EventDraft,
    reason: &'static str,
    text: &str,
) {
    if let Some(about) = ObjectRef::workload(ctx.store, WorkloadId::Job(id)) {
        ctx.event(make(reason, about, text.to_owned()));
    }
}

impl Jobs {
    fn sync_job(&mut self, id: JobId, job: &Job, ctx: &mut Ctx<'_, Controller<Self>>) -> Plan<Memo> {
        let mut plan = Plan::nothing();
        let now = ctx.now;
        let census = self.census(ctx.store, id, job);
        let mut status = job.status.clone();
        if status.started_at.is_none() && !is_suspended(job) {
            status.started_at = Some(now);
        }
        let ended_by_policy = self.count(id, job, &census, &mut status);
        let has_succeeded = condition(&status, "SuccessCriteriaMet").is_some();
        let failed = ended_by_policy.or_else(|| failure(job, &status, &census, now)).filter(|_| !has_succeeded);
        let mut active = census.active.len() as i32;
        let mut counted: Vec<PodId> = census.succeeded.iter().chain(&census.failed).map(|(pod, _)| *pod).collect();
        let satisfied = self.expectations.satisfied(id, now) && job.meta.deleting.is_none();
        if let Some(reason) = failed {
            // Pods that are stopped because the Job has failed count as failed.
            status.failed += active;
            counted.extend(census.active.iter().map(|(pod, _)| *pod));
            self.delete(id, &census.active, DeletionCause::Completed, now, &mut plan);
            active = 0;
            set_condition(&mut status, "FailureTarget", reason, now);
            if census.terminating.is_empty() && census.active.is_empty() {
                finish(&mut status, "Failed", reason, now);
                event(ctx, id, EventDraft::warning, reason, failure_message(reason));
            }
        } else if is_suspended(job) {
            if satisfied {
                self.delete(id, &census.active, DeletionCause::ScaleDown, now, &mut plan);
                active = 0;
                if condition(&status, "Suspended").is_none() {
                    set_condition(&mut status, "Suspended", "JobSuspended", now);
                    event(ctx, id, EventDraft::normal, "Suspended", "Job suspended");
                }
            }
        } else {
            active = self.pursue(id, job, &census, &mut status, satisfied, ctx, &mut plan);
        }
        // Once it has passed, only pods that end change anything; to look again at once would never end.
        let is_ahead = |left: &SimDuration| !left.is_zero() && finished_since(&status).is_none();
        if let Some(left) = deadline_left(job, &status, now).filter(is_ahead) {
            plan.requeue_after = Some(plan.requeue_after.map_or(left, |other| other.min(left)));
        }
        (status.active, status.ready) = (active, census.ready.min(active));
        status.terminating = census.terminating.len() as i32;
        self.counted.extend(counted.iter().copied());
        if status != job.status {
            let update = StatusUpdate::Job(id, Box::new(status));
            plan.finally.push(Planned { request: Request::UpdateStatus(update), memo: Memo::Other });
        }
        // The counters are written before the finalizers go: calls of one client keep their order.
        let releases = counted.iter().chain(&census.held);
        plan.finally
            .extend(releases.map(|&pod| Planned { request: Request::ReleasePodFromJob { pod }, memo: Memo::Other }));
        plan
    }

    /// Works towards completion; returns the active pods to be shown.
    #[expect(clippy::too_many_arguments, reason = "one pass, cut in two for length")]
    fn pursue(
        &mut self,
        id: JobId,
        job: &Job,
        census: &Census<'_>,
        status: &mut JobStatus,
        satisfied: bool,
        ctx: &mut Ctx<'_, Controller<Self>>,
        plan: &mut Plan<Memo>,
    ) -> i32 {
        let now = ctx.now;
        if condition(status, "Suspended").is_some() {
            status.conditions.retain(|(kind, ..)| *kind != "Suspended");
            status.started_at = Some(now);
            event(ctx, id, EventDraft::normal, "Resumed", "Job resumed");
        }
        let mut active = census.active.len() as i32;
        let is_enough = match job.spec.completions {
            None => status.succeeded > 0 && active == 0,
            Some(completions) => status.succeeded >= completions,
        };
        let is_policy_met = manage::is_indexed(&job.spec) && success::is_met(&job.spec, &status.completed_indexes);
        let earlier = condition(status, "SuccessCriteriaMet").map(|(reason, _)| reason);
        if is_enough || is_policy_met || earlier.is_some() {
            let reason = earlier.unwrap_or(if is_policy_met { "SuccessPolicy" } else { "CompletionsReached" });
            self.delete(id, &census.active, DeletionCause::Completed, now, plan);
            set_condition(status, "SuccessCriteriaMet", reason, now);
            if census.terminating.is_empty() && active == 0 {
                finish(status, "Complete", reason, now);
                status.completed_at = Some(now);
                event(ctx, id, EventDraft::normal, "Completed", "Job completed");
            }
        } else if satisfied && self.manage(id, job, census, status, ctx, plan) {
            // As the real controller shows it while the back-off runs.
            active = 0;
        }
        active
    }
}

fn finish(status: &mut JobStatus, kind: &'static str, reason: &'static str, now: SimTime) {
    set_condition(status, kind, reason, now);
    status.ready = 0;
}

/// What the controller works on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A Job.
    Job(JobId),
    /// A pod with the tracking finalizer that no unfinished Job will take off.
    Orphan(PodId),
}

/// Whether the pod waits for its finalizer to be taken off though no Job does that: nobody controls it, or it is being deleted
/// and its Job is gone or finished.
///
/// # Source
/// job controller, orphan queue.
fn is_orphan(pod: &Pod, store: &Store) -> bool {
    pod.job_tracking && (pod.owner.is_none() || (pod.deletion.is_some() && !has_unfinished_job(pod, store)))
}

/// Whether the pod's Job will take the finalizer off, or is another program's.
fn has_unfinished_job(pod: &Pod, store: &Store) -> bool {
    match pod.owner {
        None => false,
        Some(Owner::Job(id)) => {
            store.jobs.get(id).is_some_and(|job| finished_since(&job.status).is_none() || is_foreign(job))
        }
        Some(_) => true,
    }
}

/// Whether another program manages the Job.
fn is_foreign(job: &Job) -> bool {
    job.spec.managed_by.is_some_and(|by| by.as_str() != "kubernetes.io/job-controller")
}

/// The pods of a Job that is gone or finished, whose finalizers are still on.
fn enqueue_held(id: JobId, store: &Store, queue: &mut Enqueue<Key>) {
    for &pod in store.pods_of(WorkloadId::Job(id)) {
        if store.pod(pod).is_some_and(|pod| pod.job_tracking) {
            queue.now(Key::Orphan(pod));
        }
    }
}

fn release_orphan(id: PodId, store: &Store) -> Plan<Memo> {
    let mut plan = Plan::nothing();
    if store.pod(id).is_some_and(|pod| pod.job_tracking && !has_unfinished_job(pod, store)) {
        plan.then(Request::ReleasePodFromJob { pod: id }, Memo::Other);
    }
    plan
}

impl Reconcile for Jobs {
    type Key = Key;
    type Memo = Memo;
    const NAME: &'static str = "job-controller";

    fn workers(config: &Config) -> usize {
        config.kube_controller_manager.concurrent_job_syncs.max(1) as usize
    }

    fn retry() -> (SimDuration, SimDuration, bool) {
        (SimDuration::from_secs(1), SimDuration::from_secs(60), false)
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::PodAdded(_)
                | Changed::PodUpdated { .. }
                | Changed::PodRemoved { .. }
                | Changed::WorkloadAdded(WorkloadId::Job(_))
                | Changed::WorkloadUpdated(WorkloadId::Job(_), _)
                | Changed::WorkloadRemoved(WorkloadId::Job(_))
        )
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Key>) {
        for id in ctx.store.jobs.ids() {
            queue.now(Key::Job(id));
        }
        for (id, pod) in ctx.store.pods() {
            if is_orphan(pod, ctx.store) {
                queue.now(Key::Orphan(id));
            }
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Key>) {
        match &change.what {
            Changed::WorkloadAdded(WorkloadId::Job(id)) => queue.now(Key::Job(*id)),
            Changed::WorkloadUpdated(WorkloadId::Job(id), delta) => {
                if delta.touches(ObjectDelta::SPEC | ObjectDelta::METADATA | ObjectDelta::DELETION) {
                    queue.now(Key::Job(*id));
                } else {
                    queue.after(Key::Job(*id), BATCH_PERIOD);
                }
                if ctx.store.jobs.get(*id).is_some_and(|job| finished_since(&job.status).is_some()) {
                    enqueue_held(*id, ctx.store, queue);
                }
            }
            Changed::WorkloadRemoved(WorkloadId::Job(id)) => {
                self.expectations.forget(*id);
                self.failures.remove(id);
                self.index_failures.remove(id);
                enqueue_held(*id, ctx.store, queue);
            }
            Changed::PodAdded(pod) => {
                let Some(object) = ctx.store.pod(*pod) else { return };
                if let Some(Owner::Job(id)) = object.owner {
                    self.expectations.creation_observed(id);
                    queue.after(Key::Job(id), BATCH_PERIOD);
                }
                if is_orphan(object, ctx.store) {
                    queue.now(Key::Orphan(*pod));
                }
            }
            Changed::PodUpdated { pod, delta, .. } => {
                let Some(object) = ctx.store.pod(*pod) else { return };
                if is_orphan(object, ctx.store) {
                    queue.now(Key::Orphan(*pod));
                }
                let owner = object.owner;
                let Some(Owner::Job(id)) = owner else { return };
                if delta.touches(PodDelta::DELETION) {
                    self.deletion_seen(owner);
                }
                if delta.touches(PodDelta::FINALIZERS) {
                    self.counted.remove(pod);
                }
                queue.after(Key::Job(id), BATCH_PERIOD);
            }
            Changed::PodRemoved { pod, last } => {
                self.counted.remove(pod);
                if let Some(Owner::Job(id)) = last.owner {
                    self.deletion_seen(last.owner);
                    queue.after(Key::Job(id), BATCH_PERIOD);
                }
            }
            _ => {}
        }
    }

    fn sync(&mut self, key: Key, ctx: &mut Ctx<'_, Controller<Self>>) -> Plan<Memo> {
        let id = match key {
            Key::Job(id) => id,
            Key::Orphan(pod) => return release_orphan(pod, ctx.store),
        };
        let Some(job) = ctx.store.jobs.get(id) else { return Plan::nothing() };
        if is_foreign(job) {
            return Plan::nothing();
        }
        match finished_since(&job.status) {
            None => self.sync_job(id, job, ctx),
            Some(finished_at) => {
                let mut plan = Plan::nothing();
                let Some(ttl) = job.spec.ttl_seconds_after_finished.filter(|_| job.meta.deleting.is_none()) else {
                    return plan;
                };
                let due = finished_at + SimDuration::from_secs(ttl.max(0).unsigned_abs().into());
                match due.saturating_since(ctx.now) {
                    SimDuration::ZERO => {
                        let propagation = Propagation::Foreground;
                        plan.then(Request::DeleteWorkload { workload: WorkloadId::Job(id), propagation }, Memo::Other);
                    }
                    left => plan.requeue_after = Some(left),
                }
                plan
            }
        }
    }

    fn answered(&mut self, key: Key, memo: Memo, answer: &Answer, ctx: &mut Ctx<'_, Controller<Self>>) {
        let Key::Job(id) = key else { return };
        match (memo, answer) {
            (Memo::Create, Ok(Reply::Pod(pod))) => {
                if let Some(pod) = ctx.store.pod(*pod) {
                    event(ctx, id, EventDraft::normal, "SuccessfulCreate", &format!("Created pod: {}", pod.name));
                }
            }
            (Memo::Create, Err(error)) => {
                self.expectations.creation_observed(id);
                event(ctx, id, EventDraft::warning, "FailedCreate", &format!("Error creating: {}", error.message));
            }
            (Memo::Delete(pod), answer) => {
                let name = self.deleting.remove(&pod);
                match (answer, name) {
                    (Ok(_), Some(name)) => {
                        event(ctx, id, EventDraft::normal, "SuccessfulDelete", &format!("Deleted pod: {name}"));
                    }
                    (Ok(_), None) => {}
                    (Err(_), _) => self.expectations.deletion_observed(id),
                }
            }
            (Memo::Create | Memo::Other, _) => {}
        }
    }

    fn skipped(&mut self, key: Key, memo: Memo) {
        let Key::Job(id) = key else { return };
        match memo {
            Memo::Create => self.expectations.creation_observed(id),
            Memo::Delete(pod) => {
                self.deleting.remove(&pod);
                self.expectations.deletion_observed(id);
            }
            Memo::Other => {}
        }
    }

    fn is_failure(memo: Memo, answer: &Answer) -> bool {
        match (memo, answer) {
            (Memo::Create, Err(error)) => !error.message.contains("because it is being terminated"),
            (_, Err(error)) => error.reason != ErrorReason::NotFound,
            (_, Ok(_)) => false,
        }
    }
}
