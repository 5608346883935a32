//! Jobs.

use super::*;

/// A Job with pods; what one pass wants.
struct JobCase {
    spec: &'static str,
    active: usize,
    succeeded: usize,
    failed: usize,
    terminating: usize,
}

const NO_PODS: JobCase = JobCase { spec: "", active: 0, succeeded: 0, failed: 0, terminating: 0 };

impl JobCase {
    fn play(&self) -> (Cluster<Jobs>, JobId) {
        let mut cluster = cluster::<Jobs>();
        let template = TEMPLATE.replace("spec: {", "spec: {restartPolicy: Never, ");
        let text = text("work", &format!("{}, selector: {{matchLabels: {{a: b}}}}, {template}", self.spec));
        let job: model::Job = serde_saphyr::from_str(&text).expect("a job");
        let Reply::Workload(WorkloadId::Job(id)) = cluster.create(Object::Job(Box::new(job))) else { panic!("no job") };
        let kinds = [
            (self.active, PodPhase::Running),
            (self.succeeded, PodPhase::Succeeded),
            (self.failed, PodPhase::Failed),
            (self.terminating, PodPhase::Running),
        ];
        let indexed = self.spec.contains("Indexed");
        let mut number = 0;
        for (kind, (count, phase)) in kinds.into_iter().enumerate() {
            for _ in 0..count {
                let index = number.to_string();
                let labels = [("batch.kubernetes.io/job-completion-index", index.as_str())];
                let labels = if indexed { &labels[..] } else { &[] };
                let pod =
                    cluster.labeled_pod(&format!("work-{number}"), Owner::Job(id), Some("n"), phase, false, labels);
                if kind == 3 {
                    cluster.delete(pod);
                }
                number += 1;
            }
        }
        link_owners(cluster.store_mut());
        // Failures of long ago put nothing off.
        cluster.pass(SimDuration::from_secs(3600));
        cluster.start();
        cluster.run_for(0.5);
        (cluster, id)
    }

    #[track_caller]
    fn check(&self, created: usize, deleted: usize, failed: i32) {
        let (cluster, id) = self.play();
        let found = (cluster.creates.len(), cluster.deletes.len(), cluster.store().jobs[id].status.failed);
        let JobCase { spec, active, succeeded, terminating, .. } = self;
        let seen =
            format!("{spec}: {active} active {succeeded} succeeded {} failed {terminating} terminating", self.failed);
        assert_eq!(found, (created, deleted, failed), "{seen}");
    }
}

#[test]
fn a_job_runs_as_many_pods_as_it_may_and_still_needs() {
    let two_of_five = JobCase { spec: "parallelism: 2, completions: 5, backoffLimit: 6", ..NO_PODS };
    two_of_five.check(2, 0, 0);
    JobCase { active: 1, succeeded: 1, ..two_of_five }.check(1, 0, 0);
    JobCase { active: 3, ..two_of_five }.check(0, 1, 0);
    JobCase { active: 10, ..two_of_five }.check(0, 8, 0);
    JobCase { spec: "parallelism: 3, completions: 4", active: 3, succeeded: 2, ..NO_PODS }.check(0, 1, 0);
}

#[test]
fn a_work_queue_ends_with_its_first_success_and_its_last_pod() {
    let (cluster, id) = JobCase { spec: "parallelism: 2", active: 1, succeeded: 1, ..NO_PODS }.play();
    assert!(cluster.creates.is_empty() && cluster.deletes.is_empty());
    assert!(cluster.store().jobs[id].status.conditions.is_empty());
    let (cluster, id) = JobCase { spec: "parallelism: 2", succeeded: 1, failed: 1, ..NO_PODS }.play();
    assert!(cluster.store().jobs[id].status.condition(JobConditionType::Complete).is_some());
}

#[test]
fn a_terminating_pod_counts_as_failed_unless_only_the_dead_are_replaced() {
    let only_failed = "parallelism: 1, completions: 3, podReplacementPolicy: Failed";
    JobCase { spec: only_failed, active: 1, failed: 1, terminating: 1, ..NO_PODS }.check(0, 0, 1);
    let default = "parallelism: 1, completions: 3";
    JobCase { spec: default, active: 1, failed: 1, terminating: 1, ..NO_PODS }.check(0, 0, 2);
    JobCase { spec: only_failed, active: 2, terminating: 4, ..NO_PODS }.check(0, 1, 0);
    let indexed = "parallelism: 2, completions: 2, completionMode: Indexed, podReplacementPolicy: Failed";
    JobCase { spec: indexed, terminating: 1, ..NO_PODS }.check(1, 0, 0);
    let indexed = "parallelism: 2, completions: 2, completionMode: Indexed";
    JobCase { spec: indexed, terminating: 1, ..NO_PODS }.check(2, 0, 1);
}

#[test]
fn a_job_over_its_backoff_limit_stops_everything() {
    let (cluster, id) = JobCase { spec: "backoffLimit: 1", failed: 1, ..NO_PODS }.play();
    assert_eq!((cluster.creates.len(), cluster.store().jobs[id].status.conditions.len()), (1, 0));
    let conditions = |cluster: &Cluster<Jobs>, id: JobId| -> Vec<(&'static str, &'static str)> {
        cluster.store().jobs[id].status.conditions.iter().map(|c| (c.kind.as_str(), c.reason.as_str())).collect()
    };
    let reason = "BackoffLimitExceeded";
    let (cluster, id) = JobCase { spec: "backoffLimit: 1", failed: 2, ..NO_PODS }.play();
    assert_eq!(conditions(&cluster, id), [("FailureTarget", reason), ("Failed", reason)]);
    assert_eq!(cluster.reasons(reason), 1);
    let (cluster, id) = JobCase { spec: "backoffLimit: 0", active: 1, failed: 1, ..NO_PODS }.play();
    assert_eq!((cluster.deletes.len(), cluster.store().jobs[id].status.failed), (1, 2));
    let (cluster, id) =
        JobCase { spec: "backoffLimit: 0, podReplacementPolicy: Failed", failed: 1, terminating: 1, ..NO_PODS }.play();
    assert_eq!(conditions(&cluster, id), [("FailureTarget", reason)]);
}

#[test]
fn pods_of_which_there_are_too_many_do_not_count_as_failed() {
    let check = |spec: &'static str, active: usize, succeeded: usize, deleted: usize| {
        let (mut cluster, id) = JobCase { spec, active, succeeded, ..NO_PODS }.play();
        cluster.run_for(5.0);
        assert_eq!((cluster.deletes.len(), cluster.store().jobs[id].status.failed), (deleted, 0), "{spec}");
        let kept = cluster.pods().into_iter().filter(|pod| pod.deletion.is_some() && pod.job_tracking).count();
        assert_eq!(kept, 0, "{spec}: nothing keeps them");
    };
    check("suspend: true, parallelism: 3, backoffLimit: 1", 3, 0, 3);
    check("parallelism: 1, completions: 5, backoffLimit: 1", 4, 0, 3);
    check("parallelism: 3, completions: 1, backoffLimit: 1", 2, 1, 2);
    let policy = "parallelism: 3, completions: 3, backoffLimit: 0, completionMode: Indexed, \
                  successPolicy: {rules: [{succeededCount: 1}]}";
    check(policy, 2, 1, 2);
}

#[test]
fn what_is_created_or_deleted_shows_in_the_status_of_the_same_pass() {
    let check = |spec: &'static str, active: usize, expected: (i32, i32)| {
        let (cluster, id) = JobCase { spec, active, ..NO_PODS }.play();
        let status = &cluster.store().jobs[id].status;
        assert_eq!((status.active, status.terminating), expected, "{spec}, {active} active");
    };
    check("parallelism: 2, completions: 5", 0, (2, 0));
    check("parallelism: 2, completions: 5", 1, (2, 0));
    check("parallelism: 2, completions: 5", 5, (2, 3));
    check("parallelism: 2, suspend: true", 2, (0, 2));
}

#[test]
fn a_suspended_job_has_no_pods() {
    let (cluster, id) = JobCase { spec: "suspend: true, parallelism: 3", active: 3, ..NO_PODS }.play();
    assert_eq!((cluster.creates.len(), cluster.deletes.len()), (0, 3));
    assert!(cluster.store().jobs[id].status.condition(JobConditionType::Suspended).is_some());
}

#[test]
fn a_success_policy_ends_an_indexed_job_early() {
    let spec = "parallelism: 3, completions: 3, completionMode: Indexed, \
                successPolicy: {rules: [{succeededCount: 1}]}";
    // Indexes 0 and 1 run, 2 has succeeded.
    let (cluster, id) = JobCase { spec, active: 2, succeeded: 1, ..NO_PODS }.play();
    assert_eq!((cluster.creates.len(), cluster.deletes.len()), (0, 2));
    let found = cluster.store().jobs[id].status.conditions.first().map(|c| (c.kind.as_str(), c.reason.as_str()));
    assert_eq!(found, Some(("SuccessCriteriaMet", "SuccessPolicy")));
}
