//! The Job controller: pods that run until enough of them have succeeded.

mod backoff;
mod census;
mod claim;
mod failure;
mod indexes;
mod key;
mod manage;
mod orphan;
mod policy;
mod purpose;
mod status;
mod success;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::Symbol;
use crate::component::{
    Answer, Config, Controller, Ctx, DeleteOptions, Enqueue, ErrorReason, EventDraft, Expectations, ObjectRef, Planned,
    PodDraft, PodName, Reconcile, Reply, Request, Start, Step, SyncPlan, pod_name, reason, workload_name,
};
use crate::model::PodFailurePolicyAction;
use crate::state::{
    Change, Changed, DeletionCause, Job, JobConditionType, JobId, JobReason, JobStatus, ObjectDelta, Owner, Pod,
    PodDelta, PodId, PodPhase, Propagation, Store, WorkloadId,
};
use crate::units::{SimDuration, SimTime};
use backoff::Failures;
use census::Census;
use failure::{deadline_left, failure, is_suspended};
use indexes::IndexFailures;
use key::BATCH_PERIOD;
pub use key::Key;
use orphan::{enqueue_held, is_foreign, is_orphan, release_orphan};
pub use purpose::{JobEvent, Purpose};
use status::{Uncounted, finish, finished_since, goes, record, release_call, set_condition};

/// Creates, or deletes, of one sync at most.
const PER_SYNC_MAX: usize = 500;

/// The Job controller, with the rules of the controller that removes finished Jobs after their time to live.
///
/// # Source
/// kube-controller-manager, job-controller and ttl-after-finished-controller.
///
/// # Differs
/// Failures per index are remembered here, not in annotations, so
/// that a restart forgets them.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    expectations: Expectations<JobId>,
    failures: FxHashMap<JobId, Failures>,
    /// What `failures` will say when the status is written that names the pods.
    noted: FxHashMap<JobId, Failures>,
    index_failures: FxHashMap<JobId, FxHashMap<i32, IndexFailures>>,
    /// Pods whose finalizer was asked to be taken off, which has not been seen.
    released: FxHashSet<PodId>,
    /// Failed pods that their index knows of.
    blamed: FxHashSet<PodId>,
    /// Names of pods whose deletion was asked for: an answer may come after the object has gone.
    deleting: FxHashMap<PodId, Arc<str>>,
    /// What was said of the pod that brought a Job down: it may have gone when the Job has ended.
    verdicts: FxHashMap<JobId, String>,
}

impl Jobs {
    fn census<'a>(&self, claimed: &[claim::Claimed<'a>], job: &Job) -> Census<'a> {
        let mut census = Census::default();
        let named =
            |id: &PodId| job.status.uncounted_failed.contains(id) || job.status.uncounted_succeeded.contains(id);
        for &claim::Claimed { id: pod_id, pod, is_adopted } in claimed {
            let is_tracked = (pod.job_tracking || is_adopted) && !self.released.contains(&pod_id);
            let is_named = is_tracked && named(&pod_id);
            let is_new = is_tracked && !is_named;
            if is_named {
                census.held.push(pod_id);
            }
            if pod.is_active() {
                census.active.push((pod_id, pod));
                census.ready += i32::from(pod.is_ready());
                continue;
            }
            if pod.is_terminating() {
                census.terminating.push((pod_id, pod));
            }
            if is_new && pod.phase == PodPhase::Succeeded {
                census.succeeded.push((pod_id, pod));
            } else if is_new && policy::is_failed(&job.spec, pod) {
                census.failed.push((pod_id, pod));
            }
        }
        census
    }

    fn deletion_seen(&mut self, owner: Option<Owner>) {
        if let Some(Owner::Job(job)) = owner {
            self.expectations.deletion_observed(job);
        }
    }

    fn delete_call(&mut self, (id, pod): (PodId, &Pod), cause: DeletionCause) -> Planned<Purpose> {
        self.deleting.insert(id, Arc::clone(&pod.name));
        let request = Request::DeletePod { pod: id, options: DeleteOptions::default(), cause };
        Planned { request, purpose: Purpose::Delete(id) }
    }

    /// Deletes pods of which there are too many and expects to see that. They do not count as failed: their finalizers go
    /// first.
    ///
    /// # Source
    /// job-controller, `deleteJobPods`.
    fn retire(
        &mut self,
        id: JobId,
        pods: &[(PodId, &Pod)],
        cause: DeletionCause,
        now: SimTime,
        plan: &mut SyncPlan<Purpose>,
    ) {
        if pods.is_empty() {
            return;
        }
        self.expectations.set(id, 0, pods.len(), now);
        plan.steps.push(Step::Concurrent(pods.iter().map(|(pod, _)| release_call(*pod)).collect()));
        self.stop(pods, cause, plan);
    }

    /// Deletes the pods of a Job that has come to its end; their finalizers go when they have been counted.
    ///
    /// # Source
    /// job-controller, `deleteActivePods`.
    fn stop(&mut self, pods: &[(PodId, &Pod)], cause: DeletionCause, plan: &mut SyncPlan<Purpose>) {
        let calls = pods.iter().map(|pod| self.delete_call(*pod, cause)).collect();
        plan.steps.push(Step::Concurrent(calls));
    }

    /// Counts what has ended, into the new status. Failed pods whose index waits for another pod are taken out of the
    /// census: they are counted when it has one, or needs none.
    ///
    /// # Source
    /// job-controller, `getPodsWithDelayedDeletionPerIndex`.
    fn count(&mut self, id: JobId, job: &Job, census: &mut Census<'_>, status: &mut JobStatus) -> Uncounted {
        let spec = &job.spec;
        let mut uncounted = Uncounted::default();
        status.failed += std::mem::take(&mut status.uncounted_failed).len() as i32;
        status.succeeded += std::mem::take(&mut status.uncounted_succeeded).len() as i32;
        let indexed = manage::is_indexed(spec);
        let mut completed: BTreeSet<i32> = status.completed_indexes.iter().copied().collect();
        if indexed {
            completed.extend(census.succeeded.iter().filter_map(|(_, pod)| manage::index_of(pod)));
            status.succeeded = completed.len() as i32;
            status.completed_indexes = completed.iter().copied().collect();
        } else {
            status.succeeded += census.succeeded.len() as i32;
            uncounted.succeeded.extend(census.succeeded.iter().map(|(pod, _)| *pod));
        }
        let names = policy::container_names(spec);
        let action = |pod: &Pod| {
            let rules = spec.pod_failure_policy.as_ref();
            rules.and_then(|rules| policy::action(rules, pod, &names)).unwrap_or_default()
        };
        let failed_at = census.failed.iter().map(|(_, pod)| backoff::finished_at(pod)).collect();
        let succeeded_at = census.succeeded.iter().map(|(_, pod)| backoff::finished_at(pod)).max();
        let record = self.failures.get(&id).copied().unwrap_or_default();
        self.noted.insert(id, record.with(failed_at, succeeded_at));
        if indexed && spec.backoff_limit_per_index.is_some() {
            self.blame_indexes(id, job, census, status, &action);
            let busy: BTreeSet<i32> = census.active.iter().filter_map(|(_, pod)| manage::index_of(pod)).collect();
            let is_settled = |index: &i32| {
                [&completed, &busy].iter().any(|s| s.contains(index)) || status.failed_indexes.contains(index)
            };
            let counts = |(_, pod): &(PodId, &Pod)| manage::index_of(pod).is_none_or(|index| is_settled(&index));
            (census.failed, census.delayed) = census.failed.iter().copied().partition(counts);
        }
        let counts = census.failed.iter().filter(|(_, pod)| action(pod) != PodFailurePolicyAction::Ignore);
        uncounted.failed.extend(counts.map(|(pod, _)| *pod));
        status.failed += uncounted.failed.len() as i32;
        uncounted
    }

    /// Brings the number of pods to what is wanted, and puts into the status what the Job then has.
    ///
    /// # Source
    /// job-controller, `manageJob`.
    fn manage(
        &mut self,
        id: JobId,
        job: &Job,
        census: &Census<'_>,
        status: &mut JobStatus,
        ctx: &Ctx<'_, Controller<Self>>,
        plan: &mut SyncPlan<Purpose>,
    ) {
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
            let too_many = census.active.iter().copied().filter(|(pod, _)| removed.contains(pod));
            let pods: Vec<_> = too_many.take(PER_SYNC_MAX).collect();
            self.retire(id, &pods, DeletionCause::ScaleDown, now, plan);
            goes(status, &pods);
            return;
        }
        let blocked = if policy::only_replaces_failed(spec) { census.terminating.len() } else { 0 };
        let count = wanted.saturating_sub(blocked + active).min(PER_SYNC_MAX);
        if count == 0 {
            return;
        }
        let is_per_index = manage::is_indexed(spec) && spec.backoff_limit_per_index.is_some();
        let remaining = self.noted.get(&id).map_or(SimDuration::ZERO, |failures| failures.remaining(now));
        if remaining > SimDuration::ZERO && !is_per_index {
            plan.wake_after = Some(remaining.max(BATCH_PERIOD));
            // So the real controller says, whatever runs. If some pods are ready, the API server refuses such a status.
            status.active = 0;
            return;
        }
        let indexes: Vec<Option<i32>> = if manage::is_indexed(spec) {
            let mut taken: BTreeSet<i32> = census.active.iter().filter_map(|(_, pod)| manage::index_of(pod)).collect();
            if policy::only_replaces_failed(spec) {
                taken.extend(census.terminating.iter().filter_map(|(_, pod)| manage::index_of(pod)));
            }
            taken.extend(status.completed_indexes.iter().chain(status.failed_indexes.iter()));
            let completions = spec.completions.unwrap_or(0);
            let pending = manage::pending_indexes(completions, |index| taken.contains(&index), count);
            match self.ready_indexes(id, pending, now) {
                Ok(ready) => ready.into_iter().map(Some).collect(),
                Err(wait) => {
                    plan.wake_after = Some(wait.max(BATCH_PERIOD));
                    status.active = 0;
                    return;
                }
            }
        } else {
            vec![None; count]
        };
        if indexes.is_empty() {
            return;
        }
        let indexes = manage::in_batches(job, indexes, ctx.streams, now);
        self.expectations.set(id, indexes.len(), 0, now);
        status.active += indexes.len() as i32;
        let calls = indexes
            .into_iter()
            .map(|index| Planned { request: self.create_request(id, job, index), purpose: Purpose::Create });
        plan.steps.push(Step::SlowStart(calls.collect()));
    }

    /// # Source
    /// job-controller, `manageJob`: pods of an Indexed Job have their index as label and annotation, and with a limit per index how
    /// often the index has failed before (`addIndexFailureCountAnnotation`).
    fn create_request(&self, id: JobId, job: &Job, index: Option<i32>) -> Request {
        let name = job.meta.name;
        let (mut extra_labels, mut extra_annotations) = (smallvec::SmallVec::new(), smallvec::SmallVec::new());
        extra_labels.push((Symbol::new("batch.kubernetes.io/job-name"), name));
        extra_labels.push((Symbol::new("job-name"), name));
        let mut prefix = format!("{name}-");
        if let Some(index) = index {
            let label = (manage::index_label(), Symbol::new(&index.to_string()));
            extra_labels.push(label);
            extra_annotations.push(label);
            prefix = format!("{name}-{index}-");
            if job.spec.backoff_limit_per_index.is_some() {
                let failures = self.index_failures.get(&id).and_then(|of| of.get(&index)).copied().unwrap_or_default();
                let count = |count: u32| Symbol::new(&count.to_string());
                extra_annotations.push((manage::index_failures(), count(failures.counted)));
                let ignored = failures.record.count.saturating_sub(failures.counted);
                if ignored > 0 {
                    extra_annotations.push((manage::ignored_index_failures(), count(ignored)));
                }
            }
        }
        Request::CreatePod(Box::new(PodDraft {
            namespace: job.meta.namespace,
            name: PodName::Generate(Symbol::new(&prefix)),
            template: Arc::clone(&job.spec.template),
            extra_labels,
            extra_annotations,
            owner: Some(Owner::Job(id)),
            pinned_node: None,
            job_tracking: true,
        }))
    }
}

/// Notes that the Job is suspended, or is no longer; the event that this calls for.
fn suspension(job: &Job, status: &mut JobStatus, forgets_start: bool, now: SimTime) -> Option<JobEvent> {
    match (is_suspended(job), status.condition(JobConditionType::Suspended).is_some()) {
        (true, false) => {
            set_condition(status, JobConditionType::Suspended, JobReason::JobSuspended, now);
            // Gate MutableSchedulingDirectivesForSuspendedJobs: whoever changes the pods begins anew.
            if forgets_start {
                status.started_at = None;
            }
            Some(JobEvent::Suspended)
        }
        (false, true) => {
            set_condition(status, JobConditionType::Suspended, JobReason::JobResumed, now);
            status.started_at = Some(now);
            Some(JobEvent::Resumed)
        }
        _ => None,
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
    fn sync_job(&mut self, id: JobId, job: &Job, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        let mut plan = SyncPlan::nothing();
        let now = ctx.now;
        let satisfied = self.expectations.satisfied(id, now);
        let claimed = claim::claim(ctx.store, id, job, &mut plan);
        let mut census = self.census(&claimed, job);
        let mut status = job.status.clone();
        if status.started_at.is_none() && !is_suspended(job) {
            status.started_at = Some(now);
        }
        self.recall_indexes(id, job, &claimed);
        let mut uncounted = self.count(id, job, &mut census, &mut status);
        let has_succeeded = status.condition(JobConditionType::SuccessCriteriaMet).is_some();
        let standing = status.condition(JobConditionType::FailureTarget).map(|standing| standing.reason);
        let failed = standing
            .or_else(|| self.ended_by_policy(id, job, &claimed))
            .or_else(|| failure(job, &status, &census, now))
            .filter(|_| !has_succeeded);
        let mut job_event = None;
        let mut released: Vec<PodId> = census.succeeded.iter().chain(&census.failed).map(|(pod, _)| *pod).collect();
        released.extend(&census.held);
        (status.active, status.ready) = (census.active.len() as i32, census.ready);
        status.terminating = census.terminating.len() as i32;
        let may_manage = satisfied && job.meta.deleting.is_none();
        if let Some(reason) = failed {
            self.stop(&census.active, DeletionCause::Completed, &mut plan);
            goes(&mut status, &census.active);
            // As long as pods may be missing in what was seen, it does not say so.
            if satisfied {
                // Pods that are stopped because the Job has failed count as failed.
                let stopped = census.open().filter(|pod| !self.released.contains(pod));
                uncounted.failed.extend(stopped);
                status.failed = job.status.failed + (job.status.uncounted_failed.len() + uncounted.failed.len()) as i32;
                set_condition(&mut status, JobConditionType::FailureTarget, reason, now);
                if status.terminating == 0 {
                    finish(&mut status, JobConditionType::Failed, reason, now);
                    job_event = Some(JobEvent::Failed(reason));
                }
            }
        } else {
            job_event = self.pursue(id, job, &census, &mut status, may_manage, ctx, &mut plan);
        }
        if (failed.is_some() && satisfied)
            || status.condition(JobConditionType::SuccessCriteriaMet).is_some()
            || job.meta.deleting.is_some()
        {
            // Whatever is left has no say any more.
            released.extend(census.open().filter(|pod| !self.released.contains(pod)));
        }
        // Once it has passed, only pods that end change anything; to look again at once would never end.
        let is_ahead = |left: &SimDuration| !left.is_zero() && finished_since(&status).is_none();
        if let Some(left) = deadline_left(job, &status, now).filter(is_ahead) {
            plan.wake_after = Some(plan.wake_after.map_or(left, |other| other.min(left)));
        }
        let is_held = |pod: &&PodId| census.held.contains(pod);
        uncounted.failed.extend(job.status.uncounted_failed.iter().filter(is_held));
        uncounted.succeeded.extend(job.status.uncounted_succeeded.iter().filter(is_held));
        self.released.extend(released.iter().copied());
        record(id, job, status, &uncounted, job_event, &released, &mut plan);
        plan
    }

    /// Whether the failure policy ends the Job because of one of its pods.
    fn ended_by_policy(&mut self, id: JobId, job: &Job, claimed: &[claim::Claimed<'_>]) -> Option<JobReason> {
        let verdict = policy::fail_job_message(&job.spec, claimed.iter().map(|claimed| claimed.pod))?;
        self.verdicts.insert(id, verdict);
        Some(JobReason::PodFailurePolicy)
    }

    /// Works towards completion; the event that is posted when the status is written.
    #[expect(clippy::too_many_arguments, reason = "one pass, cut in two for length")]
    fn pursue(
        &mut self,
        id: JobId,
        job: &Job,
        census: &Census<'_>,
        status: &mut JobStatus,
        satisfied: bool,
        ctx: &Ctx<'_, Controller<Self>>,
        plan: &mut SyncPlan<Purpose>,
    ) -> Option<JobEvent> {
        let now = ctx.now;
        let earlier = status.condition(JobConditionType::SuccessCriteriaMet).map(|met| met.reason);
        let is_policy_met = manage::is_indexed(&job.spec) && success::is_met(&job.spec, &status.completed_indexes);
        let by_policy = earlier.or(is_policy_met.then_some(JobReason::SuccessPolicy));
        if by_policy.is_some() {
            self.stop(&census.active, DeletionCause::Completed, plan);
            goes(status, &census.active);
        } else if satisfied && is_suspended(job) {
            self.retire(id, &census.active, DeletionCause::ScaleDown, now, plan);
            goes(status, &census.active);
        } else if satisfied {
            self.manage(id, job, census, status, ctx, plan);
        }
        let is_enough = match job.spec.completions {
            None => status.succeeded > 0,
            Some(completions) => status.succeeded >= completions,
        };
        // In this order: a pass that waits for the back-off, or has just suspended the Job, shows no active pod, and has nothing
        // left to do if all is done.
        let is_done = is_enough && status.active == 0;
        match by_policy.or(is_done.then_some(JobReason::CompletionsReached)) {
            Some(reason) => {
                set_condition(status, JobConditionType::SuccessCriteriaMet, reason, now);
                (status.terminating == 0).then(|| {
                    finish(status, JobConditionType::Complete, reason, now);
                    status.completed_at = Some(now);
                    JobEvent::Completed
                })
            }
            None if satisfied => suspension(job, status, ctx.config.version.at_least(36), now),
            None => None,
        }
    }

    fn post(&self, id: JobId, job_event: Option<JobEvent>, ctx: &mut Ctx<'_, Controller<Self>>) {
        let Some(job_event) = job_event else { return };
        match job_event {
            JobEvent::Suspended => event(ctx, id, EventDraft::normal, "Suspended", "Job suspended"),
            JobEvent::Resumed => event(ctx, id, EventDraft::normal, "Resumed", "Job resumed"),
            JobEvent::Completed => event(ctx, id, EventDraft::normal, "Completed", "Job completed"),
            JobEvent::Failed(reason) => {
                // Which pod it was is known as long as the pod is there, or this process lives.
                let verdict = self.verdicts.get(&id).filter(|_| reason == JobReason::PodFailurePolicy);
                let message = verdict.map(String::as_str).or(reason.message());
                let message = message.unwrap_or("A pod matches a FailJob rule");
                event(ctx, id, EventDraft::warning, reason.as_str(), message);
            }
        }
    }
}

impl Reconcile for Jobs {
    type Key = Key;
    type Purpose = Purpose;
    const NAME: &'static str = "job-controller";
    const CONTROLLERS: &'static [&'static str] = &["job-controller", "ttl-after-finished-controller"];

    fn words(key: Key, store: &Store) -> String {
        match key {
            Key::Job(id) => format!("a delayed look at {}", workload_name(store, WorkloadId::Job(id))),
            Key::Orphan(id) => format!("a delayed look at {}", pod_name(store, id)),
        }
    }

    fn workers(config: &Config) -> usize {
        config.kube_controller_manager.concurrent_job_syncs.count()
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

    fn started(&mut self, start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Key>) {
        for (id, job) in ctx.store.jobs.iter() {
            if start == Start::Initial && finished_since(&job.status).is_none() {
                self.failures.extend(Failures::remembered(id, job, ctx.store).map(|failures| (id, failures)));
            }
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
                // What leaves the generation as it is can wait.
                if delta.touches(ObjectDelta::SPEC | ObjectDelta::DELETION) {
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
                self.noted.remove(id);
                self.index_failures.remove(id);
                self.verdicts.remove(id);
                enqueue_held(*id, ctx.store, queue);
            }
            Changed::PodAdded(pod) => {
                let Some(object) = ctx.store.pod(*pod) else {
                    self.expectations.created_and_gone(*pod);
                    return;
                };
                match object.owner {
                    Some(Owner::Job(id)) => {
                        self.expectations.creation_observed(id);
                        queue.after(Key::Job(id), BATCH_PERIOD);
                    }
                    None => claim::candidates(ctx.store, object, queue),
                    Some(_) => {}
                }
                if is_orphan(object, ctx.store) {
                    queue.now(Key::Orphan(*pod));
                }
            }
            Changed::PodUpdated { pod, delta, before } => {
                let Some(object) = ctx.store.pod(*pod) else { return };
                if is_orphan(object, ctx.store) {
                    queue.now(Key::Orphan(*pod));
                }
                let owner = object.owner;
                if let Some(Owner::Job(old)) = before.as_ref().and_then(|before| before.owner)
                    && owner != Some(Owner::Job(old))
                {
                    queue.after(Key::Job(old), BATCH_PERIOD);
                }
                if owner.is_none() && delta.touches(PodDelta::LABELS | PodDelta::OWNER) {
                    claim::candidates(ctx.store, object, queue);
                }
                let Some(Owner::Job(id)) = owner else { return };
                if delta.touches(PodDelta::DELETION) {
                    self.deletion_seen(owner);
                }
                if delta.touches(PodDelta::FINALIZERS) {
                    self.released.remove(pod);
                }
                queue.after(Key::Job(id), BATCH_PERIOD);
            }
            Changed::PodRemoved { pod, last } => {
                self.released.remove(pod);
                self.blamed.remove(pod);
                let job = match last.owner {
                    Some(Owner::Job(id)) => Some(id),
                    _ => None,
                };
                self.expectations.removed(*pod, job);
                if let Some(id) = job {
                    self.deletion_seen(last.owner);
                    queue.after(Key::Job(id), BATCH_PERIOD);
                }
            }
            _ => {}
        }
    }

    fn sync(&mut self, key: Key, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        let id = match key {
            Key::Job(id) => id,
            Key::Orphan(pod) => return release_orphan(pod, ctx.store),
        };
        let Some(job) = ctx.store.jobs.get(id) else { return SyncPlan::nothing() };
        if is_foreign(job) {
            return SyncPlan::nothing();
        }
        let runs = |name: &str| ctx.config.kube_controller_manager.controllers.runs(name);
        match finished_since(&job.status) {
            None if !runs("job-controller") => SyncPlan::nothing(),
            Some(_) if !runs("ttl-after-finished-controller") => SyncPlan::nothing(),
            None => self.sync_job(id, job, ctx),
            Some(finished_at) => {
                let mut plan = SyncPlan::nothing();
                let Some(ttl) = job.spec.ttl_seconds_after_finished.filter(|_| job.meta.deleting.is_none()) else {
                    return plan;
                };
                let due = finished_at.floor_to_second() + SimDuration::from_secs(ttl.max(0).unsigned_abs().into());
                match due.saturating_since(ctx.now) {
                    SimDuration::ZERO => {
                        let propagation = Propagation::Foreground;
                        plan.then(
                            Request::DeleteWorkload { workload: WorkloadId::Job(id), propagation },
                            Purpose::Other,
                        );
                    }
                    left => plan.requeue_after = Some(left),
                }
                plan
            }
        }
    }

    fn answered(&mut self, key: Key, purpose: Purpose, answer: &Answer, ctx: &mut Ctx<'_, Controller<Self>>) {
        let Key::Job(id) = key else { return };
        match (purpose, answer) {
            (Purpose::Create, Ok(Reply::Pod(pod))) => {
                if let Some(pod) = ctx.store.pod(*pod) {
                    event(
                        ctx,
                        id,
                        EventDraft::normal,
                        reason::SUCCESSFUL_CREATE,
                        &format!("Created pod: {}", pod.name),
                    );
                }
            }
            (Purpose::Create, Err(error)) => {
                self.expectations.creation_observed(id);
                event(
                    ctx,
                    id,
                    EventDraft::warning,
                    reason::FAILED_CREATE,
                    &format!("Error creating: {}", error.message),
                );
            }
            (Purpose::Delete(pod), answer) => {
                let name = self.deleting.remove(&pod);
                match (answer, name) {
                    (Ok(_), Some(name)) => {
                        event(ctx, id, EventDraft::normal, "SuccessfulDelete", &format!("Deleted pod: {name}"));
                    }
                    (Ok(_), None) => {}
                    (Err(error), _) => {
                        self.expectations.deletion_observed(id);
                        if error.reason != ErrorReason::NotFound {
                            let message = format!("Error deleting: {}", error.message);
                            event(ctx, id, EventDraft::warning, "FailedDelete", &message);
                        }
                    }
                }
            }
            (Purpose::Flush(job_event), Ok(_)) => {
                if let Some(record) = self.noted.remove(&id) {
                    self.failures.insert(id, record);
                }
                self.post(id, job_event, ctx);
            }
            (Purpose::Conclude(job_event), Ok(_)) => self.post(id, job_event, ctx),
            (Purpose::Release(pod), Err(_)) => {
                self.released.remove(&pod);
            }
            (Purpose::Create | Purpose::Release(_) | Purpose::Flush(_) | Purpose::Conclude(_) | Purpose::Other, _) => {}
        }
    }

    fn skipped(&mut self, key: Key, purpose: Purpose) {
        let Key::Job(id) = key else { return };
        match purpose {
            Purpose::Create => self.expectations.creation_observed(id),
            Purpose::Delete(pod) => {
                self.deleting.remove(&pod);
                self.expectations.deletion_observed(id);
            }
            Purpose::Release(pod) => {
                self.released.remove(&pod);
            }
            Purpose::Flush(_) | Purpose::Conclude(_) | Purpose::Other => {}
        }
    }

    fn is_failure(purpose: Purpose, answer: &Answer) -> bool {
        match (purpose, answer) {
            (Purpose::Create, Err(error)) => !error.is_of_terminating_namespace(),
            (_, Err(error)) => error.reason != ErrorReason::NotFound,
            (_, Ok(_)) => false,
        }
    }
}
