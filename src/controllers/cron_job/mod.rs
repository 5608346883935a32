//! The CronJob controller: Jobs by the calendar.

mod schedule;

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::component::{
    Answer, Config, Controller, Ctx, Enqueue, ErrorReason, EventDraft, ObjectRef, Plan, Reconcile, Reply, Request,
    Start,
};
use crate::model::ConcurrencyPolicy;
use crate::state::{
    Change, Changed, CronJob, CronJobId, Job, JobId, ObjectDelta, Owner, Propagation, Store, WorkloadId,
};
use crate::units::{SimDuration, SimTime};
use schedule::Schedule;

/// The controller wakes this long after a slot.
const AFTER_SLOT: SimDuration = SimDuration::from_millis(100);

/// Above this many missed slots the user is warned.
const MISSED_MAX: u32 = 100;

/// What a call of this controller was for.
#[derive(Copy, Clone, Debug)]
pub enum Memo {
    /// Creating a Job.
    Create,
    /// Deleting the Job of this name.
    Delete(Symbol),
}

/// The CronJob controller.
///
/// # Source
/// kube-controller-manager, cronjob-controller.
///
/// # Differs
/// t=0 stands for midnight (UTC) of 1970-01-01, a Thursday, and `timeZone` has no effect.
#[derive(Clone, Debug, Default)]
pub struct CronJobs {
    owners: FxHashMap<JobId, CronJobId>,
}

fn unix_s(at: SimTime) -> i64 {
    at.as_nanos().div_euclid(1_000_000_000)
}

fn finished(job: &Job) -> Option<(&'static str, SimTime)> {
    let mut ends = job.status.conditions.iter().filter(|(kind, ..)| matches!(*kind, "Complete" | "Failed"));
    ends.next().map(|(kind, _, at)| (*kind, *at))
}

/// Deletes finished Jobs beyond the history limits, oldest first.
fn prune(store: &Store, id: CronJobId, cron_job: &CronJob, plan: &mut Plan<Memo>) {
    let limits = [
        ("Complete", cron_job.spec.successful_jobs_history_limit.unwrap_or(3)),
        ("Failed", cron_job.spec.failed_jobs_history_limit.unwrap_or(1)),
    ];
    for (kind, limit) in limits {
        let jobs = store.jobs_of(id).iter().filter_map(|&job| store.jobs.get(job).map(|object| (job, object)));
        let mut ended: Vec<(JobId, &Job)> = jobs
            .filter(|(_, job)| job.meta.deleting.is_none() && finished(job).is_some_and(|(found, _)| found == kind))
            .collect();
        ended.sort_by_key(|(_, job)| (job.status.started_at, job.meta.name));
        let surplus = ended.len().saturating_sub(limit.max(0).unsigned_abs() as usize);
        for (job, object) in ended.into_iter().take(surplus) {
            delete(job, object, plan);
        }
    }
}

fn delete(id: JobId, job: &Job, plan: &mut Plan<Memo>) {
    let request = Request::DeleteWorkload { workload: WorkloadId::Job(id), propagation: Propagation::Background };
    plan.then(request, Memo::Delete(job.meta.name));
}

impl CronJobs {
    fn sync_cron_job(&self, id: CronJobId, cron_job: &CronJob, ctx: &mut Ctx<'_, Controller<Self>>) -> Plan<Memo> {
        let mut plan = Plan::nothing();
        let store = ctx.store;
        prune(store, id, cron_job, &mut plan);
        if cron_job.meta.deleting.is_some() || cron_job.spec.suspend == Some(true) {
            return plan;
        }
        let Some(about) = ObjectRef::workload(store, WorkloadId::CronJob(id)) else { return plan };
        let Some(schedule) = Schedule::parse(cron_job.spec.schedule.as_str()) else {
            let message = format!("unparseable schedule: {:?}", cron_job.spec.schedule.as_str());
            ctx.event(EventDraft::warning("UnparseableSchedule", about, message));
            return plan;
        };
        let now_s = unix_s(ctx.now);
        let mut since_s = unix_s(cron_job.last_scheduled_at.unwrap_or(cron_job.meta.created_at));
        let deadline_s = cron_job.spec.starting_deadline_seconds;
        if let Some(deadline_s) = deadline_s {
            since_s = since_s.max(now_s - deadline_s);
        }
        if let Some(next_s) = schedule.next(now_s) {
            let until_slot = SimTime::from_secs(next_s).saturating_since(ctx.now);
            plan.requeue_after = Some(until_slot + AFTER_SLOT);
        }
        let Some((slot_s, missed)) = schedule.latest(since_s, now_s) else { return plan };
        if missed > MISSED_MAX {
            let message =
                "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
            ctx.event(EventDraft::warning("TooManyMissedTimes", about.clone(), message));
        }
        let active: Vec<(JobId, &Job)> = store
            .jobs_of(id)
            .iter()
            .filter_map(|&job| store.jobs.get(job).map(|object| (job, object)))
            .filter(|(_, job)| finished(job).is_none())
            .collect();
        let name = Symbol::new(&format!("{}-{}", cron_job.meta.name, slot_s.div_euclid(60)));
        if store.find_workload("Job", cron_job.meta.namespace, name).is_some() {
            return plan;
        }
        match cron_job.spec.concurrency_policy {
            ConcurrencyPolicy::Forbid if !active.is_empty() => {
                let message = "Not starting job because prior execution is running and concurrency policy is Forbid";
                ctx.event(EventDraft::normal("JobAlreadyActive", about, message));
                return plan;
            }
            ConcurrencyPolicy::Replace => active.iter().for_each(|(job, object)| delete(*job, object, &mut plan)),
            ConcurrencyPolicy::Forbid | ConcurrencyPolicy::Allow => {}
        }
        let scheduled_at = SimTime::from_secs(slot_s);
        plan.then(Request::CreateJob { cron_job: id, name, scheduled_at }, Memo::Create);
        plan
    }
}

impl Reconcile for CronJobs {
    type Key = CronJobId;
    type Memo = Memo;
    const NAME: &'static str = "cronjob-controller";

    fn workers(config: &Config) -> usize {
        config.kube_controller_manager.concurrent_cron_job_syncs.max(1) as usize
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::WorkloadAdded(WorkloadId::CronJob(_) | WorkloadId::Job(_))
                | Changed::WorkloadUpdated(WorkloadId::CronJob(_) | WorkloadId::Job(_), _)
                | Changed::WorkloadRemoved(WorkloadId::CronJob(_) | WorkloadId::Job(_))
        )
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<CronJobId>) {
        for id in ctx.store.cron_jobs.ids() {
            for &job in ctx.store.jobs_of(id) {
                self.owners.insert(job, id);
            }
            queue.now(id);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<CronJobId>) {
        match &change.what {
            Changed::WorkloadAdded(WorkloadId::CronJob(id)) => queue.now(*id),
            Changed::WorkloadUpdated(WorkloadId::CronJob(id), delta)
                if delta.touches(ObjectDelta::SPEC | ObjectDelta::METADATA) =>
            {
                queue.now(*id);
            }
            Changed::WorkloadAdded(WorkloadId::Job(job)) | Changed::WorkloadUpdated(WorkloadId::Job(job), _) => {
                let Some(object) = ctx.store.jobs.get(*job) else { return };
                if let Some(Owner::CronJob(id)) = object.meta.owner {
                    self.owners.insert(*job, id);
                    queue.now(id);
                }
            }
            Changed::WorkloadRemoved(WorkloadId::Job(job)) => {
                if let Some(id) = self.owners.remove(job) {
                    queue.now(id);
                }
            }
            _ => {}
        }
    }

    fn sync(&mut self, id: CronJobId, ctx: &mut Ctx<'_, Controller<Self>>) -> Plan<Memo> {
        match ctx.store.cron_jobs.get(id) {
            None => Plan::nothing(),
            Some(cron_job) => self.sync_cron_job(id, cron_job, ctx),
        }
    }

    fn answered(&mut self, id: CronJobId, memo: Memo, answer: &Answer, ctx: &mut Ctx<'_, Controller<Self>>) {
        let Some(about) = ObjectRef::workload(ctx.store, WorkloadId::CronJob(id)) else { return };
        let draft = match (memo, answer) {
            (Memo::Create, Ok(Reply::Workload(job))) => {
                let Some(meta) = ctx.store.workload_meta(*job) else { return };
                EventDraft::normal("SuccessfulCreate", about, format!("Created job {}", meta.name))
            }
            (Memo::Create, Err(error)) if error.reason != ErrorReason::AlreadyExists => {
                EventDraft::warning("FailedCreate", about, format!("Error creating job: {}", error.message))
            }
            (Memo::Delete(name), Ok(_)) => EventDraft::normal("SuccessfulDelete", about, format!("Deleted job {name}")),
            (Memo::Delete(_), Err(error)) if error.reason != ErrorReason::NotFound => {
                EventDraft::warning("FailedDelete", about, format!("Deleted job: {}", error.message))
            }
            _ => return,
        };
        ctx.event(draft);
    }

    fn is_failure(_: Memo, answer: &Answer) -> bool {
        let harmless = [ErrorReason::AlreadyExists, ErrorReason::NotFound];
        answer.as_ref().is_err_and(|error| !harmless.contains(&error.reason))
    }
}
