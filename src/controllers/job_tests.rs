//! Jobs whose indexes fail one by one, and Jobs that say which failures count.

use super::job::Jobs;
use super::tests::{Cluster, TEMPLATE, cluster, text};
use crate::arena::Symbol;
use crate::component::{PodStatusPatch, Reply, Request, Start};
use crate::model::{self, Object};
use crate::state::{
    ContainerState, ContainerStatus, DisruptionReason, JobId, JobStatus, Owner, PodId, PodPhase, WorkloadId,
};

struct Work {
    cluster: Cluster<Jobs>,
    id: JobId,
}

impl Work {
    fn new(spec: &str) -> Self {
        let mut cluster = cluster::<Jobs>();
        let template = TEMPLATE.replace("spec: {", "spec: {restartPolicy: Never, ");
        let text = text("work", &format!("{spec}, selector: {{matchLabels: {{a: b}}}}, {template}"));
        let mut job: model::Job = serde_saphyr::from_str(&text).expect("a job");
        job.spec.backoff_limit.get_or_insert(if job.spec.backoff_limit_per_index.is_some() { i32::MAX } else { 6 });
        let Reply::Workload(WorkloadId::Job(id)) = cluster.create(Object::Job(Box::new(job))) else { panic!("no job") };
        Self { cluster, id }
    }

    fn pod(&mut self, name: &str, index: usize, phase: PodPhase) -> PodId {
        let index = index.to_string();
        let labels = [("batch.kubernetes.io/job-completion-index", index.as_str())];
        self.cluster.labeled_pod(name, Owner::Job(self.id), Some("n"), phase, false, &labels)
    }

    fn end(&mut self, pod: PodId, phase: PodPhase) {
        self.cluster.patch(pod, PodStatusPatch { phase: Some(phase), ..PodStatusPatch::default() });
    }

    /// The controller begins; `seconds` pass.
    fn play(&mut self, seconds: f64) {
        self.cluster.start();
        self.cluster.run_for(seconds);
    }

    fn status(&self) -> &JobStatus {
        &self.cluster.store().jobs[self.id].status
    }

    fn conditions(&self) -> Vec<(&'static str, &'static str)> {
        self.status().conditions.iter().map(|c| (c.kind.as_str(), c.reason.as_str())).collect()
    }

    /// The indexes of pods that were created by the controller, in order.
    fn created(&self) -> Vec<&'static str> {
        let label = Symbol::new("batch.kubernetes.io/job-completion-index");
        let made = self.cluster.pods().into_iter().filter(|pod| pod.name.starts_with("work-"));
        let mut indexes: Vec<&'static str> = made.filter_map(|pod| pod.labels.get(label)).map(Symbol::as_str).collect();
        indexes.sort_unstable();
        indexes
    }
}

const PER_INDEX: &str = "parallelism: 3, completions: 3, completionMode: Indexed, backoffLimitPerIndex: ";

#[test]
fn an_index_over_its_limit_fails_alone_and_the_job_when_the_others_are_done() {
    let mut work = Work::new(&format!("{PER_INDEX}0"));
    work.pod("a", 0, PodPhase::Failed);
    let others = [work.pod("b", 1, PodPhase::Running), work.pod("c", 2, PodPhase::Running)];
    work.play(2.0);
    assert_eq!((&*work.status().failed_indexes, work.conditions().len()), (&[0][..], 0));
    assert!(work.cluster.deletes.is_empty() && work.created().is_empty());
    for pod in others {
        work.end(pod, PodPhase::Succeeded);
    }
    work.cluster.run_for(5.0);
    let reason = "FailedIndexes";
    assert_eq!(work.conditions(), [("FailureTarget", reason), ("Failed", reason)]);
}

#[test]
fn too_many_failed_indexes_end_the_job_and_its_other_pods() {
    let mut work = Work::new(&format!("maxFailedIndexes: 1, {PER_INDEX}0"));
    work.pod("a", 0, PodPhase::Failed);
    work.pod("b", 1, PodPhase::Failed);
    work.pod("c", 2, PodPhase::Running);
    work.play(2.0);
    assert_eq!(work.conditions()[0], ("FailureTarget", "MaxFailedIndexesExceeded"));
    assert_eq!(work.cluster.deletes, ["c"]);
}

#[test]
fn a_failure_within_an_index_is_counted_when_the_index_has_another_pod() {
    let mut work = Work::new(&format!("{PER_INDEX}3"));
    let failed = work.pod("a", 0, PodPhase::Failed);
    work.pod("b", 1, PodPhase::Running);
    work.pod("c", 2, PodPhase::Running);
    work.play(8.0);
    let is_held = |work: &Work| work.cluster.store().pod(failed).is_some_and(|pod| pod.job_tracking);
    assert_eq!((work.status().failed, is_held(&work)), (0, true), "its successor will be told of it");
    work.cluster.run_for(5.0);
    assert_eq!(work.created(), ["0"]);
    assert_eq!((work.status().failed, is_held(&work)), (1, false));
}

/// # Source
/// job-controller, `addIndexFailureCountAnnotation`: the pods carry the count of their index.
#[test]
fn a_new_process_knows_the_failures_of_an_index_from_its_pods() {
    let mut work = Work::new(&format!("{PER_INDEX}1"));
    work.pod("b", 1, PodPhase::Running);
    work.pod("c", 2, PodPhase::Running);
    let first = work.pod("a", 0, PodPhase::Failed);
    work.cluster.ask(Request::ReleasePodFromJob { pod: first }).expect("a release");
    work.pod("d", 0, PodPhase::Failed);
    work.play(2.0);
    assert_eq!(&*work.status().failed_indexes, [0], "the second failure is one too many");
    assert!(work.created().is_empty());
}

#[test]
fn pods_that_nobody_owns_are_adopted_and_count_at_once() {
    let mut work = Work::new("parallelism: 2, completions: 4");
    let pods = [work.pod("a", 0, PodPhase::Succeeded), work.pod("b", 1, PodPhase::Running)];
    for pod in pods {
        work.cluster.ask(Request::ClaimPodForJob { pod, job: None }).expect("an orphan");
        assert!(!work.cluster.store().pod(pod).expect("the pod").job_tracking);
    }
    work.play(1.0);
    assert_eq!(work.cluster.creates.len(), 1, "two are wanted, and one runs");
    assert_eq!((work.status().active, work.status().succeeded), (2, 1));
    let running = work.cluster.store().pod(pods[1]).expect("the pod");
    assert_eq!((running.owner, running.job_tracking), (Some(Owner::Job(work.id)), true));
    assert!(!work.cluster.store().pod(pods[0]).expect("the pod").job_tracking, "it has been counted");
}

#[test]
fn a_pod_that_stops_matching_is_released_and_replaced() {
    let mut work = Work::new("parallelism: 1, completions: 2");
    let pod = work.pod("a", 0, PodPhase::Running);
    work.play(5.0);
    assert!(work.cluster.creates.is_empty());
    let labels = work.cluster.store().pod(pod).expect("the pod").labels.with(Symbol::new("a"), Symbol::new("other"));
    work.cluster.ask(Request::SetPodLabels { pod, labels }).expect("labels");
    work.cluster.run_for(5.0);
    let released = work.cluster.store().pod(pod).expect("the pod");
    assert_eq!((released.owner, released.job_tracking, released.deletion.is_some()), (None, false, false));
    assert_eq!((work.cluster.creates.len(), work.status().failed), (1, 0));
}

#[test]
fn a_selector_that_its_own_template_does_not_match_lets_nobody_go() {
    let mut cluster = cluster::<Jobs>();
    let template = TEMPLATE.replace("spec: {", "spec: {restartPolicy: Never, ");
    let selector = "selector: {matchLabels: {batch.kubernetes.io/controller-uid: lost}}";
    let text = text("work", &format!("parallelism: 2, completions: 2, {selector}, {template}"));
    let job: model::Job = serde_saphyr::from_str(&text).expect("a job");
    cluster.create(Object::Job(Box::new(job)));
    cluster.start();
    cluster.run_for(60.0);
    assert_eq!(cluster.creates.len(), 2);
    assert!(cluster.pods().iter().all(|pod| pod.owner.is_some()));
}

#[test]
fn a_pod_that_begins_to_match_is_adopted_a_second_later() {
    let mut work = Work::new("parallelism: 2, completions: 2");
    work.pod("a", 0, PodPhase::Running);
    let pod = work.pod("b", 0, PodPhase::Running);
    let labels = work.cluster.store().pod(pod).expect("the pod").labels.clone();
    let others = labels.with(Symbol::new("a"), Symbol::new("other"));
    work.cluster.ask(Request::SetPodLabels { pod, labels: others }).expect("labels");
    work.cluster.ask(Request::ClaimPodForJob { pod, job: None }).expect("an orphan");
    work.play(5.0);
    assert_eq!(work.cluster.creates.len(), 1);
    work.cluster.ask(Request::SetPodLabels { pod, labels }).expect("labels");
    work.cluster.run_for(0.9);
    assert_eq!(work.cluster.store().pod(pod).expect("the pod").owner, None);
    work.cluster.run_for(0.2);
    assert_eq!(work.cluster.store().pod(pod).expect("the pod").owner, Some(Owner::Job(work.id)));
    work.cluster.run_for(5.0);
    // Now there is one too many.
    assert_eq!((work.cluster.deletes.len(), work.status().failed), (1, 0));
}

#[test]
fn a_job_that_is_being_deleted_adopts_nobody() {
    let mut work = Work::new("parallelism: 1, completions: 1");
    let pod = work.pod("a", 0, PodPhase::Running);
    work.cluster.ask(Request::ClaimPodForJob { pod, job: None }).expect("an orphan");
    let (workload, propagation) = (WorkloadId::Job(work.id), crate::state::Propagation::Foreground);
    work.cluster.ask(Request::DeleteWorkload { workload, propagation }).expect("a deletion");
    work.play(5.0);
    assert_eq!(work.cluster.store().pod(pod).expect("the pod").owner, None);
    assert!(work.cluster.creates.is_empty());
}

#[test]
fn a_deadline_counts_from_the_second_in_which_the_job_began() {
    let mut work = Work::new("parallelism: 1, completions: 1, activeDeadlineSeconds: 10");
    work.pod("a", 0, PodPhase::Running);
    work.cluster.pass(crate::units::SimDuration::from_millis(700));
    // It begins seven tenths into a second, and has been written down as begun at its beginning.
    work.play(9.2);
    assert!(work.conditions().is_empty());
    work.cluster.run_for(0.2);
    assert_eq!(work.conditions()[0], ("FailureTarget", "DeadlineExceeded"));
}

#[test]
fn an_index_that_failed_waits_and_holds_up_no_other() {
    let mut work = Work::new(&format!("{PER_INDEX}3"));
    work.pod("a", 0, PodPhase::Failed);
    work.pod("b", 1, PodPhase::Running);
    work.play(2.0);
    assert_eq!(work.created(), ["2"]);
    assert_eq!((work.status().failed, work.status().failed_indexes.len()), (0, 0));
    work.cluster.run_for(6.0);
    assert_eq!(work.created(), ["2"], "the first failure costs ten seconds");
    work.cluster.run_for(4.0);
    assert_eq!(work.created(), ["0", "2"]);
}

const POLICY: &str = "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}, \
                      {action: FailJob, onExitCodes: {operator: In, values: [42]}}]}, ";

fn disrupted(work: &mut Work, pod: PodId) {
    let disruption = Some((DisruptionReason::DeletionByTaintManager, true));
    work.cluster.patch(pod, PodStatusPatch { disruption, ..PodStatusPatch::default() });
}

fn exit(work: &mut Work, pod: PodId, exit_code: i32) {
    let state = ContainerState::Terminated(crate::state::Ending::exit(exit_code, work.cluster.now()));
    let containers = Some([ContainerStatus { state, ..ContainerStatus::default() }].into_iter().collect());
    work.cluster.patch(pod, PodStatusPatch { containers, ..PodStatusPatch::default() });
}

#[test]
fn an_ignored_failure_counts_for_nothing_but_the_delay() {
    let mut work = Work::new(&format!("{POLICY}{PER_INDEX}0"));
    let pod = work.pod("a", 0, PodPhase::Failed);
    disrupted(&mut work, pod);
    work.pod("b", 1, PodPhase::Running);
    work.pod("c", 2, PodPhase::Running);
    work.play(8.0);
    assert_eq!((work.status().failed, work.status().failed_indexes.len()), (0, 0));
    assert!(work.created().is_empty(), "it is put off all the same");
    work.cluster.run_for(4.0);
    assert_eq!(work.created(), ["0"]);
}

/// Index, failures that count and failures that do not, as the annotations of pods that were made say.
fn annotated(work: &Work) -> Vec<[Option<&'static str>; 3]> {
    let keys = ["job-completion-index", "job-index-failure-count", "job-index-ignored-failure-count"];
    let made = work.cluster.pods().into_iter().filter(|pod| pod.name.starts_with("work-"));
    let of = |pod: &crate::state::Pod| {
        let annotations = pod.annotations();
        keys.map(|key| annotations.get(&Symbol::new(&format!("batch.kubernetes.io/{key}"))).map(|value| value.as_str()))
    };
    let mut all: Vec<_> = made.map(of).collect();
    all.sort_unstable();
    all
}

#[test]
fn pods_say_their_index_and_how_often_it_has_failed() {
    let mut work = Work::new("parallelism: 2, completions: 2, completionMode: Indexed");
    work.play(2.0);
    assert_eq!(annotated(&work), [[Some("0"), None, None], [Some("1"), None, None]]);
    let mut work = Work::new("parallelism: 1, completions: 1");
    work.play(2.0);
    assert_eq!(annotated(&work), [[None, None, None]]);
    let mut work = Work::new(&format!("{POLICY}{PER_INDEX}3"));
    work.pod("a", 0, PodPhase::Failed);
    let ignored = work.pod("b", 1, PodPhase::Failed);
    disrupted(&mut work, ignored);
    work.play(15.0);
    let expected = [[Some("0"), Some("1"), None], [Some("1"), Some("0"), Some("1")], [Some("2"), Some("0"), None]];
    assert_eq!(annotated(&work), expected);
}

#[test]
fn the_first_rule_that_matches_decides() {
    // (disrupted, exit code) -> failed, ends the job
    let check = |is_disrupted: bool, code: i32, failed: i32, ends: bool| {
        let mut work = Work::new(&format!("{POLICY}parallelism: 1, completions: 2"));
        let pod = work.pod("a", 0, PodPhase::Failed);
        exit(&mut work, pod, code);
        if is_disrupted {
            disrupted(&mut work, pod);
        }
        work.play(2.0);
        assert_eq!(work.status().failed, failed, "disrupted {is_disrupted}, exit code {code}");
        let reason = work.conditions().first().map(|(_, reason)| *reason);
        assert_eq!(reason, ends.then_some("PodFailurePolicy"), "disrupted {is_disrupted}, exit code {code}");
    };
    check(true, 42, 0, false);
    check(false, 42, 1, true);
    check(false, 1, 1, false);
    check(true, 1, 0, false);
}

#[test]
fn an_exit_code_of_zero_matches_no_rule() {
    let rules = "podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: NotIn, values: [5]}}]}, ";
    let check = |code: i32, ends: bool| {
        let mut work = Work::new(&format!("{rules}parallelism: 1, completions: 2"));
        let pod = work.pod("a", 0, PodPhase::Failed);
        exit(&mut work, pod, code);
        work.play(2.0);
        assert_eq!(!work.conditions().is_empty(), ends, "exit code {code}");
    };
    check(0, false);
    check(5, false);
    check(6, true);
}

#[test]
fn with_a_failure_policy_a_pod_that_is_being_deleted_has_not_failed_yet() {
    let mut work = Work::new(&format!("{POLICY}parallelism: 1, completions: 1"));
    let pod = work.pod("a", 0, PodPhase::Running);
    work.cluster.delete(pod);
    work.play(30.0);
    assert_eq!((work.status().failed, work.cluster.creates.len()), (0, 0));
}

#[test]
fn pods_of_a_job_that_is_gone_lose_their_finalizers() {
    let mut work = Work::new("parallelism: 1, completions: 1");
    let pod = work.pod("a", 0, PodPhase::Running);
    work.play(2.0);
    let (workload, propagation) = (WorkloadId::Job(work.id), crate::state::Propagation::Orphan);
    work.cluster.ask(Request::DeleteWorkload { workload, propagation }).expect("a deletion");
    if work.cluster.store().jobs.get(work.id).is_some() {
        work.cluster.ask(Request::FinalizeWorkload { workload }).expect("the end");
    }
    work.cluster.run_for(5.0);
    assert!(work.cluster.store().pod(pod).is_none_or(|pod| !pod.job_tracking));
}

#[test]
fn the_pod_that_ends_its_job_is_named() {
    // Of the exit code, or of the condition; the container of the template is called c.
    let check = |rule: &str, is_disrupted: bool, expected: &str| {
        let rules = format!("podFailurePolicy: {{rules: [{{action: FailJob, {rule}}}]}}, ");
        let mut work = Work::new(&format!("{rules}parallelism: 1, completions: 2"));
        let pod = work.pod("a", 0, PodPhase::Failed);
        exit(&mut work, pod, 42);
        if is_disrupted {
            disrupted(&mut work, pod);
        }
        work.play(5.0);
        let told: Vec<_> = work
            .cluster
            .events
            .iter()
            .map(|(_, event)| event)
            .filter(|event| event.reason == "PodFailurePolicy")
            .collect();
        assert_eq!(told.iter().map(|event| &*event.message).collect::<Vec<_>>(), [expected]);
    };
    let by_code = "Container c for pod default/a failed with exit code 42 matching FailJob rule at index 0";
    check("onExitCodes: {operator: In, values: [42]}", false, by_code);
    let by_condition = "Pod default/a has condition DisruptionTarget matching FailJob rule at index 0";
    check("onPodConditions: [{type: DisruptionTarget}]", true, by_condition);
}

#[test]
fn that_a_job_is_suspended_is_told_after_its_pods_were_deleted() {
    let mut work = Work::new("parallelism: 2, completions: 2, suspend: true");
    work.pod("a", 0, PodPhase::Running);
    work.pod("b", 1, PodPhase::Running);
    work.play(5.0);
    let reasons: Vec<_> = work.cluster.events.iter().map(|(_, event)| event.reason).collect();
    assert_eq!(reasons, ["SuccessfulDelete", "SuccessfulDelete", "Suspended"]);
}

/// # Source
/// job-controller, `syncJob`: success is judged after the active pods were deleted, and before the suspension is told.
#[test]
fn a_work_queue_that_is_suspended_after_a_success_is_complete() {
    let mut work = Work::new("parallelism: 2, suspend: true");
    work.pod("a", 0, PodPhase::Succeeded);
    let other = work.pod("b", 1, PodPhase::Running);
    work.play(5.0);
    assert_eq!(work.conditions(), [("SuccessCriteriaMet", "CompletionsReached")], "b is still going");
    work.end(other, PodPhase::Failed);
    work.cluster.run_for(5.0);
    assert_eq!(work.conditions().last(), Some(&("Complete", "CompletionsReached")));
    let reasons: Vec<_> = work.cluster.events.iter().map(|(_, event)| event.reason).collect();
    assert_eq!(reasons, ["SuccessfulDelete", "Completed"]);
}

#[test]
fn a_pod_that_has_gone_before_its_deletion_arrives_is_no_failure() {
    let mut work = Work::new("parallelism: 0, completions: 2");
    let pod = work.pod("a", 0, PodPhase::Pending);
    work.cluster.start();
    work.cluster.ask(Request::ReleasePodFromJob { pod }).expect("no finalizer");
    let options = crate::component::DeleteOptions { grace_s: Some(0), uid: None };
    let cause = crate::state::DeletionCause::Kubectl;
    work.cluster.ask(Request::DeletePod { pod, options, cause }).expect("a deletion");
    work.cluster.run_for(5.0);
    assert_eq!(work.cluster.reasons("FailedDelete"), 0);
}

/// A Job of which one pod has just failed while another is ready.
#[test]
fn a_process_that_has_long_been_running_remembers_the_back_off_and_a_new_one_does_not() {
    let check = |is_new: bool, after_s: f64, expected: usize| {
        let mut work = Work::new("backoffLimit: 6");
        for index in 0..2 {
            let pod = work.pod(&format!("p-{index}"), index, PodPhase::Failed);
            work.cluster.ask(Request::ReleasePodFromJob { pod }).expect("a release");
        }
        work.cluster.start_as(if is_new { Start::Fresh } else { Start::Initial });
        work.cluster.run_for(after_s);
        let made = work.cluster.pods().into_iter().filter(|pod| pod.name.starts_with("work-")).count();
        assert_eq!(made, expected, "a new one: {is_new}, after {after_s} s");
    };
    check(false, 15.0, 0);
    check(false, 25.0, 1);
    check(true, 5.0, 1);
}

fn in_back_off() -> (Work, PodId) {
    let mut work = Work::new("parallelism: 2, completions: 4");
    let failed = work.pod("a", 0, PodPhase::Failed);
    work.cluster.labeled_pod("b", Owner::Job(work.id), Some("n"), PodPhase::Running, true, &[]);
    (work, failed)
}

#[test]
fn in_the_back_off_a_job_with_ready_pods_cannot_write_its_status() {
    let (mut work, failed) = in_back_off();
    work.play(9.0);
    let is_held = |work: &Work| work.cluster.store().pod(failed).is_some_and(|pod| pod.job_tracking);
    assert_eq!(
        (work.status().failed, is_held(&work)),
        (0, true),
        "no pod active and one ready: such a status is invalid"
    );
    work.cluster.run_for(4.0);
    assert_eq!((work.status().failed, work.status().active, is_held(&work)), (1, 2, false));
    assert_eq!(work.cluster.creates.len(), 1);
    // The failure was counted once, however often it was seen: the next one waits 20 s, not longer.
    let second = work.cluster.store().pods().find(|(_, pod)| pod.name.starts_with("work-")).expect("the successor").0;
    work.end(second, PodPhase::Failed);
    work.cluster.run_for(16.0);
    assert_eq!(work.cluster.creates.len(), 1);
    work.cluster.run_for(5.0);
    assert_eq!(work.cluster.creates.len(), 2);
}

#[test]
fn a_pod_whose_counting_was_lost_counts_in_a_later_pass_and_once() {
    let mut work = Work::new("parallelism: 1, completions: 3");
    work.pod("a", 0, PodPhase::Succeeded);
    work.pod("b", 0, PodPhase::Succeeded);
    work.pod("c", 0, PodPhase::Running);
    // What names the pods gets through and their finalizers go, but the status in which they count is lost.
    work.cluster.lose(|request| {
        let Request::UpdateStatus(crate::component::StatusUpdate::Job(_, _, status)) = request else { return false };
        status.succeeded > 0
    });
    work.play(5.0);
    assert_eq!((work.status().succeeded, work.status().uncounted_succeeded.len()), (0, 2));
    work.cluster.lose(|_| false);
    work.cluster.run_for(10.0);
    assert_eq!((work.status().succeeded, work.status().uncounted_succeeded.len()), (2, 0));
}

#[test]
fn a_finalizer_that_could_not_be_taken_off_is_tried_again_before_its_pod_counts() {
    let mut work = Work::new("parallelism: 1, completions: 2");
    work.pod("a", 0, PodPhase::Succeeded);
    work.pod("b", 0, PodPhase::Running);
    work.cluster.lose(|request| matches!(request, Request::ReleasePodFromJob { .. }));
    work.play(5.0);
    assert_eq!((work.status().succeeded, work.status().uncounted_succeeded.len()), (0, 1));
    work.cluster.lose(|_| false);
    work.cluster.run_for(10.0);
    assert_eq!((work.status().succeeded, work.status().uncounted_succeeded.len()), (1, 0));
    assert!(
        work.cluster.store().pods().all(|(_, pod)| pod.job_tracking != (&*pod.name == "a")),
        "its finalizer is off"
    );
}

#[test]
fn a_suspended_job_forgets_when_it_began_since_1_36() {
    let ends = |minor: u32| {
        let mut work = Work::new("parallelism: 1, completions: 1, activeDeadlineSeconds: 100");
        work.cluster.config_mut().version = format!("1.{minor}").parse().expect("a version");
        work.pod("a", 0, PodPhase::Running);
        work.play(60.0);
        let mut suspend = |suspend: bool| {
            let object =
                crate::component::export_workload(work.cluster.store(), WorkloadId::Job(work.id)).expect("a Job");
            let Object::Job(mut job) = object else { panic!("no Job") };
            job.spec.suspend = Some(suspend);
            work.cluster.ask(Request::Apply(Box::new(Object::Job(job)))).expect("an update");
            work.cluster.run_for(60.0);
        };
        suspend(true);
        suspend(false);
        assert!(minor < 36 || work.conditions().contains(&("Suspended", "JobResumed")), "{:?}", work.conditions());
        work.conditions().contains(&("FailureTarget", "DeadlineExceeded"))
    };
    assert!(ends(35), "the time that it was suspended counts");
    assert!(!ends(36));
}
