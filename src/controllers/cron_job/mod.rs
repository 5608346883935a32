//! The CronJob controller: Jobs by the calendar.

mod due;

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::component::{
    Answer, Config, Controller, CronJobStatusUpdate, Ctx, Enqueue, ErrorReason, EventDraft, ObjectRef, Planned,
    Reconcile, Reply, Request, Start, StatusUpdate, SyncPlan, reason, workload_name,
};
use crate::model::cron::Schedule;
use crate::model::{ConcurrencyPolicy, CronJobSpec, ObjectKind, TimeZone};
use crate::state::{
    Change, Changed, CronJob, CronJobId, Job, JobConditionType, JobId, Owner, Propagation, Store, WorkloadId,
};
use crate::units::{SimDuration, SimTime};
use due::{Due, Missed};

/// The controller wakes this long after a slot.
const AFTER_SLOT: SimDuration = SimDuration::from_millis(100);

/// For so long, at most, the sync takes that begins to wait.
const LATE_MAX: SimDuration = SimDuration::from_millis(10);

/// What a call of this controller was for.
#[derive(Copy, Clone, Debug)]
pub enum Purpose {
    /// Creating a Job.
    Create,
    /// Deleting the Job of this name.
    Delete(Symbol),
    /// Reading, or writing the status.
    Other,
}

/// The CronJob controller.
///
/// # Source
/// kube-controller-manager, cronjob-controller.
///
/// # Differs
/// t=0 is the instant of the input's latest time stamp; without any, midnight (UTC) of 2026-01-01, a Thursday.
#[derive(Clone, Debug, Default)]
pub struct CronJobs {
    owners: FxHashMap<JobId, CronJobId>,
    /// Schedules and zones as they were last heard of.
    written: FxHashMap<CronJobId, (Symbol, Option<Symbol>)>,
}

fn unix_s(at: SimTime, config: &Config) -> i64 {
    at.as_nanos().div_euclid(1_000_000_000) + config.epoch_unix_s
}

/// A CronJob's schedule; what keeps it from having one is posted as an event.
///
/// # Source
/// cronjob-controller, `syncCronJob` and `formatSchedule`.
fn schedule(cron_job: &CronJob, about: &ObjectRef, ctx: &mut Ctx<'_, Controller<CronJobs>>) -> Option<Schedule> {
    let text = cron_job.spec.schedule.as_str();
    let mut zone = None;
    if let Some(name) = cron_job.spec.time_zone {
        let Some(found) = TimeZone::named(name.as_str()) else {
            let message = format!("invalid timeZone: {:?}: unknown time zone {name}", name.as_str());
            ctx.event(EventDraft::warning("UnknownTimeZone", about.clone(), message));
            return None;
        };
        zone = Some(found);
    }
    if cron_job.spec.suspend == Some(true) {
        return None;
    }
    if text.contains("TZ") {
        let message = format!(
            "CRON_TZ or TZ used in schedule {text:?} is not officially supported, see \
             https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        );
        ctx.event(EventDraft::warning("UnsupportedSchedule", about.clone(), message));
    }
    match Schedule::parse_in(text, zone) {
        Ok(schedule) => Some(schedule),
        Err(problem) => {
            let message = format!("unparseable schedule: {text:?} : {problem}");
            ctx.event(EventDraft::warning("UnparseableSchedule", about.clone(), message));
            None
        }
    }
}

/// How long it is until a slot, and what the controller waits beyond it; each CronJob waits a little longer of its own.
///
/// # Source
/// cronjob-controller, `syncCronJob`: what it waits counts from when the sync began, and begins when that is over. So CronJobs that are due
/// at once come in an order of their own.
fn until(slot_s: i64, of: &CronJob, ctx: &Ctx<'_, Controller<CronJobs>>) -> SimDuration {
    let entity = format!("{}/{}", of.meta.namespace, of.meta.name);
    let late = ctx.streams.at("cronjob-late", &entity, slot_s.unsigned_abs()).unit();
    let late = SimDuration::from_secs_f64(late * LATE_MAX.as_secs_f64());
    SimTime::from_secs(slot_s - ctx.config.epoch_unix_s).saturating_since(ctx.now) + AFTER_SLOT + late
}

/// Since when slots count, in Unix seconds.
fn since_s(cron_job: &CronJob, config: &Config) -> i64 {
    unix_s(cron_job.status.last_scheduled_at.unwrap_or(cron_job.meta.created_at), config)
}

fn as_written(cron_job: &CronJob) -> (Symbol, Option<Symbol>) {
    (cron_job.spec.schedule, cron_job.spec.time_zone)
}

/// When a CronJob was last due before t=0, one with a fixed pause at t=0 itself; none if it is suspended or has no schedule that can be read.
pub(crate) fn last_due_before_start(spec: &CronJobSpec, config: &Config) -> Option<SimTime> {
    /// As far back as times are looked for.
    const LOOKED_BACK_S: i64 = 5 * 366 * 86_400;
    let zone = match spec.time_zone {
        Some(name) => Some(TimeZone::named(name.as_str())?),
        None => None,
    };
    let schedule = Schedule::parse_in(spec.schedule.as_str(), zone).ok().filter(|_| spec.suspend != Some(true))?;
    if schedule.every_s().is_some() {
        return Some(SimTime::ZERO);
    }
    let start_s = config.epoch_unix_s;
    let due_s = schedule.latest(start_s - LOOKED_BACK_S, start_s - 1)?;
    Some(SimTime::from_secs(due_s - start_s))
}

fn finished(job: &Job) -> Option<(JobConditionType, SimTime)> {
    job.status.end().map(|end| (end.kind, end.since))
}

/// Deletes finished Jobs beyond the history limits, oldest first, and says which.
fn prune(store: &Store, id: CronJobId, cron_job: &CronJob, plan: &mut SyncPlan<Purpose>) -> Vec<JobId> {
    let mut pruned = Vec::new();
    let limits = [
        (JobConditionType::Complete, cron_job.spec.successful_jobs_history_limit.unwrap_or(3)),
        (JobConditionType::Failed, cron_job.spec.failed_jobs_history_limit.unwrap_or(1)),
    ];
    for (kind, limit) in limits {
        let jobs = store.jobs_of(id).iter().filter_map(|&job| store.jobs.get(job).map(|object| (job, object)));
        let mut ended: Vec<(JobId, &Job)> = jobs
            .filter(|(_, job)| job.meta.deleting.is_none() && finished(job).is_some_and(|(found, _)| found == kind))
            .collect();
        // Those that never began come last.
        ended.sort_by_key(|(_, job)| (job.status.started_at.is_none(), job.status.started_at, job.meta.name));
        let surplus = ended.len().saturating_sub(limit.max(0).unsigned_abs() as usize);
        for (job, object) in ended.into_iter().take(surplus) {
            delete(job, object, plan);
            pruned.push(job);
        }
    }
    pruned
}

/// What becomes of `status.active` in one pass.
struct Active {
    /// Jobs that still run, as far as the status knows.
    running: Vec<(JobId, Symbol)>,
    /// Those to strike off.
    gone: Vec<JobId>,
    /// When a Job last succeeded, if that is news.
    succeeded_at: Option<SimTime>,
}

/// Holds the status against the Jobs there are, and posts events about them. Of Jobs that are `pruned` in the same
/// pass there is no event.
///
/// # Source
/// cronjob-controller, `syncCronJob`: before it believes that a Job is missing, or not its own, it asks the API server.
fn review(
    id: CronJobId,
    cron_job: &CronJob,
    pruned: &[JobId],
    ctx: &mut Ctx<'_, Controller<CronJobs>>,
    plan: &mut SyncPlan<Purpose>,
) -> Active {
    let store = ctx.store;
    let mut gone: Vec<JobId> = pruned.to_vec();
    let mut succeeded_at = cron_job.status.last_succeeded_at;
    let mut events = Vec::new();
    for &job in store.jobs_of(id) {
        let Some(object) = store.jobs.get(job) else { continue };
        if object.status.condition(JobConditionType::Complete).is_some() {
            succeeded_at = succeeded_at.max(object.status.completed_at);
        }
        let is_listed = cron_job.status.active.iter().any(|(active, _)| *active == job) && !pruned.contains(&job);
        let name = object.meta.name;
        match finished(object) {
            Some((condition, _)) if is_listed => {
                gone.push(job);
                events.push((true, "SawCompletedJob", format!("Saw completed job: {name}, condition: {condition}")));
            }
            None if !is_listed => {
                plan.then(Request::Get, Purpose::Other);
                let message = format!("Saw a job that the controller did not create or forgot: {name}");
                events.push((false, "UnexpectedJob", message));
            }
            _ => {}
        }
    }
    for (job, name) in cron_job.status.active.iter().filter(|(job, _)| store.jobs.get(*job).is_none()) {
        plan.then(Request::Get, Purpose::Other);
        gone.push(*job);
        events.push((true, "MissingJob", format!("Active job went missing: {name}")));
    }
    if let Some(about) = ObjectRef::workload(store, WorkloadId::CronJob(id)) {
        for (is_normal, reason, message) in events {
            let about = about.clone();
            let draft = if is_normal {
                EventDraft::normal(reason, about, message)
            } else {
                EventDraft::warning(reason, about, message)
            };
            ctx.event(draft);
        }
    }
    let running = cron_job.status.active.iter().copied().filter(|(job, _)| !gone.contains(job)).collect();
    let succeeded_at = succeeded_at.filter(|_| succeeded_at != cron_job.status.last_succeeded_at);
    Active { running, gone, succeeded_at }
}

fn delete(id: JobId, job: &Job, plan: &mut SyncPlan<Purpose>) {
    let request = Request::DeleteWorkload { workload: WorkloadId::Job(id), propagation: Propagation::Background };
    plan.then(request, Purpose::Delete(job.meta.name));
}

impl CronJobs {
    fn sync_cron_job(
        &self,
        id: CronJobId,
        cron_job: &CronJob,
        ctx: &mut Ctx<'_, Controller<Self>>,
    ) -> SyncPlan<Purpose> {
        let mut plan = SyncPlan::nothing();
        let pruned = prune(ctx.store, id, cron_job, &mut plan);
        let mut active = review(id, cron_job, &pruned, ctx, &mut plan);
        let taken_up = start_job(id, cron_job, &mut active, ctx, &mut plan);
        active.gone.retain(|gone| cron_job.status.active.iter().any(|(job, _)| job == gone));
        let update = CronJobStatusUpdate { gone: active.gone, succeeded_at: active.succeeded_at, taken_up };
        if update != CronJobStatusUpdate::default() {
            let request = Request::UpdateStatus(StatusUpdate::CronJob(id, update));
            plan.finally.push(Planned { request, purpose: Purpose::Other });
        }
        plan
    }

    /// A CronJob was written: one whose schedule changed is looked at when the next slot of that comes, and not before.
    ///
    /// # Source
    /// cronjob-controller, `updateCronJob`.
    fn written(&mut self, id: CronJobId, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<CronJobId>) {
        let store = ctx.store;
        let Some(cron_job) = store.cron_jobs.get(id) else { return };
        let new = as_written(cron_job);
        if self.written.insert(id, new).is_none_or(|old| old == new) {
            queue.now(id);
            return;
        }
        let zone = new.1.and_then(|name| TimeZone::named(name.as_str()));
        match Schedule::parse_in(new.0.as_str(), zone) {
            Ok(schedule) => {
                let next = due::next(since_s(cron_job, ctx.config), unix_s(ctx.now, ctx.config), &schedule);
                queue.after(id, next.map_or(SimDuration::ZERO, |slot_s| until(slot_s, cron_job, ctx)));
            }
            Err(_) => {
                let Some(about) = ObjectRef::workload(store, WorkloadId::CronJob(id)) else { return };
                let message = format!("unparseable schedule for cronjob: {}", new.0);
                ctx.event(EventDraft::warning("UnParseableCronJobSchedule", about, message));
            }
        }
    }
}

/// Starts the Job of the latest slot that has none. Gives one that is there already and that the status has lost.
fn start_job(
    id: CronJobId,
    cron_job: &CronJob,
    active: &mut Active,
    ctx: &mut Ctx<'_, Controller<CronJobs>>,
    plan: &mut SyncPlan<Purpose>,
) -> Option<(JobId, SimTime)> {
    let store = ctx.store;
    if cron_job.meta.deleting.is_some() {
        return None;
    }
    let about = ObjectRef::workload(store, WorkloadId::CronJob(id))?;
    let schedule = schedule(cron_job, &about, ctx)?;
    let (since_s, now_s) = (since_s(cron_job, ctx.config), unix_s(ctx.now, ctx.config));
    let deadline_s = cron_job.spec.starting_deadline_seconds.map(|deadline_s| now_s.saturating_sub(deadline_s));
    let due = match due::since(deadline_s.map_or(since_s, |deadline_s| since_s.max(deadline_s)), now_s, &schedule) {
        Ok(due) => due,
        Err(problem) => {
            let message = format!("invalid schedule: {} : {problem}", cron_job.spec.schedule);
            ctx.event(EventDraft::warning("InvalidSchedule", about, message));
            return None;
        }
    };
    let requeue_after = |since_s: i64, ctx: &Ctx<'_, Controller<CronJobs>>| {
        due::next(since_s, now_s, &schedule).map(|slot_s| until(slot_s, cron_job, ctx))
    };
    plan.requeue_after = requeue_after(since_s, ctx);
    let Due { slot_s: Some(slot_s), missed } = due else { return None };
    if missed == Missed::Many {
        let message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
        ctx.event(EventDraft::warning("TooManyMissedTimes", about.clone(), message));
    }
    let scheduled_at = SimTime::from_secs(slot_s - ctx.config.epoch_unix_s);
    let name = Symbol::new(&format!("{}-{}", cron_job.meta.name, slot_s.div_euclid(60)));
    let is_listed = active.running.iter().any(|(_, running)| *running == name);
    if is_listed || cron_job.status.last_scheduled_at == Some(scheduled_at) {
        return None;
    }
    match cron_job.spec.concurrency_policy {
        ConcurrencyPolicy::Forbid if !active.running.is_empty() => {
            let message = "Not starting job because prior execution is running and concurrency policy is Forbid";
            ctx.event(EventDraft::normal("JobAlreadyActive", about, message));
            return None;
        }
        ConcurrencyPolicy::Replace => {
            for (job, _) in active.running.drain(..) {
                let Some(object) = store.jobs.get(job) else { continue };
                plan.then(Request::Get, Purpose::Other);
                delete(job, object, plan);
                active.gone.push(job);
            }
        }
        ConcurrencyPolicy::Forbid | ConcurrencyPolicy::Allow => {}
    }
    plan.then(Request::CreateJob { cron_job: id, name, scheduled_at }, Purpose::Create);
    plan.requeue_after = requeue_after(slot_s, ctx);
    let Some(WorkloadId::Job(there)) = store.find_workload(ObjectKind::Job, cron_job.meta.namespace, name) else {
        return None;
    };
    // The name is taken: by a Job of an earlier slot of the same minute, or by somebody else's.
    plan.then(Request::Get, Purpose::Other);
    if store.jobs.get(there).is_some_and(|job| job.meta.owner == Some(Owner::CronJob(id))) {
        return Some((there, scheduled_at));
    }
    plan.requeue_after = None;
    None
}

impl Reconcile for CronJobs {
    type Key = CronJobId;
    type Purpose = Purpose;
    const NAME: &'static str = "cronjob-controller";
    const CONTROLLERS: &'static [&'static str] = &["cronjob-controller"];
    const GOES_BY_SCHEDULE: bool = true;

    fn words(key: CronJobId, store: &Store) -> String {
        format!("the schedule of {}", workload_name(store, WorkloadId::CronJob(key)))
    }

    fn workers(config: &Config) -> usize {
        config.kube_controller_manager.concurrent_cron_job_syncs.count()
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
            if let Some(cron_job) = ctx.store.cron_jobs.get(id) {
                self.written.insert(id, as_written(cron_job));
            }
            queue.now(id);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<CronJobId>) {
        match &change.what {
            Changed::WorkloadAdded(WorkloadId::CronJob(id)) | Changed::WorkloadUpdated(WorkloadId::CronJob(id), _) => {
                self.written(*id, ctx, queue);
            }
            Changed::WorkloadRemoved(WorkloadId::CronJob(id)) => {
                self.written.remove(id);
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

    fn sync(&mut self, id: CronJobId, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        match ctx.store.cron_jobs.get(id) {
            None => SyncPlan::nothing(),
            Some(cron_job) => self.sync_cron_job(id, cron_job, ctx),
        }
    }

    fn answered(&mut self, id: CronJobId, purpose: Purpose, answer: &Answer, ctx: &mut Ctx<'_, Controller<Self>>) {
        let Some(about) = ObjectRef::workload(ctx.store, WorkloadId::CronJob(id)) else { return };
        let draft = match (purpose, answer) {
            (Purpose::Create, Ok(Reply::Workload(job))) => {
                let Some(meta) = ctx.store.workload_meta(*job) else { return };
                EventDraft::normal(reason::SUCCESSFUL_CREATE, about, format!("Created job {}", meta.name))
            }
            (Purpose::Create, Err(error)) if error.reason != ErrorReason::AlreadyExists => {
                EventDraft::warning(reason::FAILED_CREATE, about, format!("Error creating job: {}", error.message))
            }
            (Purpose::Delete(name), Ok(_)) => {
                EventDraft::normal("SuccessfulDelete", about, format!("Deleted job {name}"))
            }
            (Purpose::Delete(_), Err(error)) if error.reason != ErrorReason::NotFound => {
                EventDraft::warning("FailedDelete", about, format!("Deleted job: {}", error.message))
            }
            _ => return,
        };
        ctx.event(draft);
    }

    fn is_failure(_: Purpose, answer: &Answer) -> bool {
        let harmless = [ErrorReason::AlreadyExists, ErrorReason::NotFound];
        answer.as_ref().is_err_and(|error| !harmless.contains(&error.reason))
    }
}
