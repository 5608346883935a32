//! The CronJob controller: which slots become Jobs.

use super::cron_job::CronJobs;
use super::tests::{Cluster, cluster, text};
use crate::arena::Symbol;
use crate::component::{Reply, Request, StatusUpdate};
use crate::model::{self, Object, ObjectKind};
use crate::state::{JobCondition, JobStatus, Propagation, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// Midnight, one day in.
const MIDNIGHT: SimTime = SimTime::from_secs(86_400);

struct Calendar {
    cluster: Cluster<CronJobs>,
}

fn cron_job(spec: &str) -> model::CronJob {
    let job = "jobTemplate: {spec: {template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: c, \
               image: i}]}}}}";
    serde_saphyr::from_str(&text("report", &format!("{spec}, {job}"))).expect("a cron job")
}

impl Calendar {
    /// A CronJob that was made at midnight.
    fn new(spec: &str) -> Self {
        let mut cluster = cluster::<CronJobs>();
        cluster.set_now(MIDNIGHT);
        let made = cluster.create(Object::CronJob(Box::new(cron_job(spec))));
        assert!(matches!(made, Reply::Workload(WorkloadId::CronJob(_))), "{made:?}");
        Self { cluster }
    }

    /// Writes its spec anew.
    fn write(&mut self, spec: &str) {
        let request = Request::Apply(Box::new(Object::CronJob(Box::new(cron_job(spec)))));
        self.cluster.ask(request).expect("a write");
    }

    fn run_until(&mut self, minutes: f64) {
        let end = MIDNIGHT + SimDuration::from_secs_f64(minutes * 60.0);
        self.cluster.run_for(end.saturating_since(self.cluster.now()).as_secs_f64());
    }

    /// The minutes after midnight of the Jobs there are.
    fn slots(&self) -> Vec<i64> {
        let names = self.cluster.store().jobs.iter().map(|(_, job)| job.meta.name.as_str());
        let minute = |name: &str| name.strip_prefix("report-").and_then(|rest| rest.parse::<i64>().ok());
        let mut slots: Vec<i64> = names.filter_map(minute).map(|minute| minute - 1440).collect();
        slots.sort_unstable();
        slots
    }

    fn active(&self) -> Vec<&'static str> {
        let (_, cron_job) = self.cluster.store().cron_jobs.iter().next().expect("the cron job");
        cron_job.status.active.iter().map(|(_, name)| name.as_str()).collect()
    }

    fn messages(&self, reason: &str) -> Vec<String> {
        let events = self.cluster.events.iter().map(|(_, event)| event).filter(|event| event.reason == reason);
        events.map(|event| event.message.to_string()).collect()
    }

    fn finish_all(&mut self, condition: &'static str) {
        let ids: Vec<_> = self.cluster.store().jobs.ids().collect();
        for id in ids {
            let condition = JobCondition { kind: condition.into(), reason: "".into(), since: self.cluster.now() };
            let completed_at = (condition.kind == "Complete".into()).then_some(self.cluster.now());
            let status = JobStatus { conditions: vec![condition], completed_at, ..JobStatus::default() };
            self.cluster.ask(Request::UpdateStatus(StatusUpdate::Job(id, None, Box::new(status)))).expect("a status");
        }
    }
}

#[test]
fn each_slot_becomes_a_job_named_by_its_minute() {
    let mut calendar = Calendar::new("schedule: '*/10 * * * *'");
    calendar.cluster.start();
    calendar.run_until(30.5);
    assert_eq!(calendar.slots(), [10, 20, 30]);
    assert_eq!(calendar.cluster.reasons("SuccessfulCreate"), 3);
}

#[test]
fn slots_are_those_of_the_clock_of_the_zone() {
    // In 1970 Kathmandu was five hours and a half ahead.
    let mut calendar = Calendar::new("schedule: '40 5 * * *', timeZone: Asia/Kathmandu");
    calendar.cluster.start();
    calendar.run_until(20.0);
    assert_eq!(calendar.slots(), [10]);
    let mut calendar = Calendar::new("schedule: '5 0 * * *', timeZone: Nowhere/Land");
    calendar.cluster.start();
    calendar.run_until(20.0);
    assert!(calendar.slots().is_empty());
    assert_eq!(
        calendar.messages("UnknownTimeZone")[0],
        "invalid timeZone: \"Nowhere/Land\": unknown time zone Nowhere/Land"
    );
}

#[test]
fn with_time_stamps_the_calendar_is_that_of_the_input() {
    let mut calendar = Calendar::new("schedule: '0 12 * * *'");
    // A minute before noon.
    calendar.cluster.config_mut().epoch_unix_s = 11 * 3600 + 59 * 60;
    calendar.cluster.start();
    calendar.run_until(5.0);
    assert_eq!(calendar.slots(), [12 * 60]);
}

#[test]
fn of_slots_missed_while_nobody_looked_the_last_becomes_a_job() {
    let mut calendar = Calendar::new("schedule: '*/10 * * * *'");
    calendar.cluster.set_now(MIDNIGHT + SimDuration::from_secs(45 * 60));
    calendar.cluster.start();
    calendar.run_until(46.0);
    assert_eq!(calendar.slots(), [40]);
    assert_eq!(calendar.cluster.reasons("TooManyMissedTimes"), 0);
}

#[test]
fn more_than_a_hundred_missed_slots_are_warned_of_and_the_last_becomes_a_job() {
    let check = |missed_minutes: u64, spec: &str, warnings: usize| {
        let mut calendar = Calendar::new(&format!("schedule: '* * * * *'{spec}"));
        calendar.cluster.set_now(MIDNIGHT + SimDuration::from_secs(missed_minutes * 60 + 10));
        calendar.cluster.start();
        calendar.run_until(missed_minutes as f64 + 0.5);
        assert_eq!(calendar.slots(), [missed_minutes as i64]);
        assert_eq!(calendar.cluster.reasons("TooManyMissedTimes"), warnings, "{missed_minutes} slots {spec}");
    };
    check(100, "", 0);
    check(101, "", 1);
    check(1440, "", 1);
    // Slots before the deadline are no business of anybody's any more.
    check(1440, ", startingDeadlineSeconds: 600", 0);
}

#[test]
fn a_slot_whose_deadline_is_over_is_lost() {
    let mut calendar = Calendar::new("schedule: '*/10 * * * *', startingDeadlineSeconds: 200");
    calendar.cluster.set_now(MIDNIGHT + SimDuration::from_secs(45 * 60));
    calendar.cluster.start();
    calendar.run_until(46.0);
    assert!(calendar.slots().is_empty());
    calendar.run_until(50.5);
    assert_eq!(calendar.slots(), [50]);
}

#[test]
fn what_becomes_of_a_slot_while_a_job_runs_is_up_to_the_policy() {
    let check = |policy: &str, expected: &[i64], skipped: bool| {
        let mut calendar = Calendar::new(&format!("schedule: '*/10 * * * *', concurrencyPolicy: {policy}"));
        calendar.cluster.start();
        calendar.run_until(20.5);
        assert_eq!(calendar.slots(), expected, "{policy}");
        assert_eq!(calendar.cluster.reasons("JobAlreadyActive") > 0, skipped, "{policy}");
    };
    check("Allow", &[10, 20], false);
    check("Forbid", &[10], true);
    check("Replace", &[20], false);
}

#[test]
fn a_slot_that_was_forbidden_is_made_up_for_when_the_job_has_ended() {
    let mut calendar = Calendar::new("schedule: '*/10 * * * *', concurrencyPolicy: Forbid");
    calendar.cluster.start();
    calendar.run_until(25.0);
    calendar.finish_all("Complete");
    calendar.run_until(26.0);
    assert_eq!(calendar.slots(), [10, 20]);
}

#[test]
fn finished_jobs_are_kept_as_far_as_the_history_goes() {
    let mut calendar = Calendar::new("schedule: '* * * * *'");
    calendar.cluster.start();
    for minute in 1..=6 {
        calendar.run_until(f64::from(minute) + 0.5);
        calendar.finish_all("Complete");
    }
    calendar.run_until(6.9);
    assert_eq!(calendar.slots(), [4, 5, 6]);
}

#[test]
fn a_suspended_cron_job_makes_nothing() {
    let mut calendar = Calendar::new("schedule: '* * * * *', suspend: true");
    calendar.cluster.start();
    calendar.run_until(10.0);
    assert!(calendar.slots().is_empty());
    assert!(
        calendar
            .cluster
            .store()
            .find_workload(ObjectKind::CronJob, Symbol::new("default"), Symbol::new("report"))
            .is_some()
    );
}

#[test]
fn the_end_of_an_active_job_is_told_once_and_ends_its_place_in_the_list() {
    for (condition, message) in [
        ("Complete", "Saw completed job: report-1450, condition: Complete"),
        ("Failed", "Saw completed job: report-1450, condition: Failed"),
    ] {
        let mut calendar = Calendar::new("schedule: '*/10 * * * *'");
        calendar.cluster.start();
        calendar.run_until(11.0);
        assert_eq!(calendar.active(), ["report-1450"]);
        calendar.finish_all(condition);
        calendar.run_until(12.0);
        assert_eq!(calendar.messages("SawCompletedJob"), [message]);
        assert!(calendar.active().is_empty());
        assert_eq!(calendar.cluster.reasons("UnexpectedJob"), 0);
    }
}

#[test]
fn a_job_that_is_taken_away_is_missed_once() {
    let mut calendar = Calendar::new("schedule: '*/10 * * * *', concurrencyPolicy: Forbid");
    calendar.cluster.start();
    calendar.run_until(11.0);
    let job = calendar.cluster.store().jobs.ids().next().expect("a job");
    let (workload, propagation) = (WorkloadId::Job(job), Propagation::Background);
    calendar.cluster.ask(Request::DeleteWorkload { workload, propagation }).expect("a deletion");
    calendar.run_until(12.0);
    assert_eq!(calendar.messages("MissingJob"), ["Active job went missing: report-1450"]);
    assert!(calendar.active().is_empty());
    calendar.run_until(20.5);
    assert_eq!((calendar.slots(), calendar.cluster.reasons("JobAlreadyActive")), (vec![20], 0));
}

/// The slot of the new schedule that has just passed, at the eighty-eighth minute, is not made up for.
#[test]
fn a_new_schedule_waits_for_its_next_slot() {
    let mut calendar = Calendar::new("schedule: '0 * * * *'");
    calendar.cluster.start();
    calendar.run_until(90.0);
    assert_eq!(calendar.slots(), [60]);
    calendar.write("schedule: '*/7 * * * *'");
    calendar.run_until(94.9);
    assert_eq!(calendar.slots(), [60]);
    calendar.run_until(95.1);
    assert_eq!(calendar.slots(), [60, 95]);
    calendar.write("schedule: '0 0 31 2 *'");
    calendar.run_until(101.0);
    assert_eq!(calendar.slots(), [60, 95]);
    let never = "invalid schedule: 0 0 31 2 * : time difference between two schedules is less than 1 second";
    assert_eq!(calendar.messages("InvalidSchedule"), [never]);
}

#[test]
fn who_is_resumed_keeps_the_phase_of_a_fixed_pause() {
    let mut calendar = Calendar::new("schedule: '@every 20m', suspend: true");
    calendar.cluster.start();
    calendar.run_until(90.0);
    calendar.write("schedule: '@every 20m'");
    calendar.run_until(121.0);
    assert_eq!(calendar.slots(), [80, 100, 120]);
}

/// Slots of one minute share a name: the second finds the Job of the first, which has ended, and lists it again.
#[test]
fn a_job_that_is_there_is_taken_up_again() {
    let mut calendar = Calendar::new("schedule: '@every 20s'");
    calendar.cluster.start();
    calendar.run_until(0.5);
    assert_eq!((calendar.slots(), calendar.active()), (vec![0], vec!["report-1440"]));
    calendar.finish_all("Complete");
    calendar.run_until(0.9);
    assert_eq!(calendar.messages("SawCompletedJob").len(), 2);
    assert_eq!(calendar.cluster.reasons("SuccessfulCreate"), 1);
    calendar.run_until(1.1);
    assert_eq!(calendar.slots(), [0, 1]);
}

#[test]
fn the_last_success_is_kept() {
    let mut calendar = Calendar::new("schedule: '*/10 * * * *'");
    calendar.cluster.start();
    calendar.run_until(11.0);
    let succeeded = |calendar: &Calendar| {
        let (_, cron_job) = calendar.cluster.store().cron_jobs.iter().next().expect("the cron job");
        cron_job.status.last_succeeded_at
    };
    calendar.finish_all("Failed");
    calendar.run_until(21.0);
    assert_eq!(succeeded(&calendar), None);
    calendar.finish_all("Complete");
    let at = calendar.cluster.now();
    calendar.run_until(22.0);
    assert_eq!(succeeded(&calendar), Some(at));
}
