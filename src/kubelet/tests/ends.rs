//! How pods end: what is said of their containers, and what comes after them.

use super::bench::Bench;
use super::{ONE, bound, crash};
use crate::chaos::FaultKind;
use crate::model::config::KubernetesVersion;
use crate::state::{ContainerState, Pod, PodPhase, Status};

/// Exit codes of the containers, the init containers last; none of one that has not ended.
fn codes(pod: &Pod) -> Vec<Option<i32>> {
    let all = pod.containers.iter().chain(&pod.init_containers);
    all.map(|status| status.state.ending().map(|ending| ending.exit_code)).collect()
}

/// What the first container's, or else the first init container's, end is called.
fn reason(pod: &Pod) -> &'static str {
    let mut all = pod.containers.iter().chain(&pod.init_containers);
    all.find_map(|status| status.state.ending()).map_or("", |ending| ending.reason.as_str())
}

#[track_caller]
fn check_over(pod: &Pod, phase: PodPhase, reason: &str) {
    assert_eq!((pod.phase, pod.reason.as_str()), (phase, reason));
    assert!(pod.containers.iter().all(|status| !status.ready));
    let said = [pod.ready, pod.containers_ready].map(|condition| condition.map(|condition| condition.status));
    assert_eq!(said, [Some(Status::False); 2]);
}

const SIDECAR: &str = "initContainers: [{name: s, image: i, restartPolicy: Always}]";

#[test]
fn what_the_kubelet_ends_has_containers_that_have_ended() {
    for (stop, expected) in [("3s", 0), ("60s", 137)] {
        let mut bench = Bench::new();
        let spec = format!("activeDeadlineSeconds: 20, terminationGracePeriodSeconds: 10, {ONE}");
        bench.create(0.0, &bound(&format!("kubesquall.sim/stop: {stop}"), &spec));
        bench.run_until(22.0);
        assert_eq!(bench.pod("p").phase, PodPhase::Running);
        bench.run_until(50.0);
        check_over(bench.pod("p"), PodPhase::Failed, "DeadlineExceeded");
        assert_eq!(codes(bench.pod("p")), [Some(expected)]);
    }
}

#[test]
fn a_pod_that_is_rejected_has_no_containers() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    crash(&mut bench, 20, 10);
    bench.run_until(10.0);
    assert!(bench.pod("p").is_ready());
    bench.taint("k", "NoExecute");
    bench.run_until(60.0);
    check_over(bench.pod("p"), PodPhase::Failed, "TaintToleration");
    assert!(bench.pod("p").containers.is_empty());
}

#[test]
fn containers_that_never_ran_are_lost_when_their_pod_is_ended() {
    let mut bench = Bench::new();
    bench.lacks_image(1, 100, "i");
    bench.create(2.0, &bound("", &format!("activeDeadlineSeconds: 10, {ONE}")));
    bench.run_until(30.0);
    assert_eq!((codes(bench.pod("p")), reason(bench.pod("p"))), (vec![Some(137)], "ContainerStatusUnknown"));
}

#[test]
fn init_containers_that_back_off_have_ended_when_their_pod_is_ended() {
    let mut bench = Bench::new();
    let inits = "initContainers: [{name: a, image: i}, {name: b, image: i}]";
    let annotations = "kubesquall.sim/init: 2s, kubesquall.sim/init-exit-code: '3'";
    bench.create(0.0, &bound(annotations, &format!("activeDeadlineSeconds: 30, {inits}, {ONE}")));
    bench.run_until(50.0);
    let pod = bench.pod("p");
    assert_eq!((pod.phase, pod.reason.as_str()), (PodPhase::Failed, "DeadlineExceeded"));
    assert_eq!((codes(pod), reason(pod)), (vec![None, Some(3), None], "Error"));
    assert!(pod.containers[0].state.is_waiting());
}

#[test]
fn a_pod_that_is_deleted_between_two_crashes_has_failed() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/run-for: 1s, kubesquall.sim/exit-code: '4'", ONE));
    bench.delete(9.0, "p", None);
    bench.run_until(60.0);
    assert_eq!(bench.last_phase("p"), Some(PodPhase::Failed));
}

#[test]
fn between_two_crashes_nothing_is_stopped() {
    let mut bench = Bench::new();
    let annotations = "kubesquall.sim/run-for: 1s, kubesquall.sim/exit-code: '4', kubesquall.sim/stop: 20s";
    bench.create(0.0, &bound(annotations, ONE));
    bench.delete(9.0, "p", None);
    bench.run_until(60.0);
    assert!(bench.gone_at("p").is_some_and(|at| at < 10.4), "{:?}", bench.gone_at("p"));
    assert!(bench.messages("Killing").is_empty());
}

#[test]
fn between_two_crashes_a_shutdown_and_a_passed_deadline_wait_for_nothing() {
    let mut bench = Bench::new();
    bench.shutdown_grace(30, 10);
    let annotations = "kubesquall.sim/run-for: 1s, kubesquall.sim/exit-code: '4', kubesquall.sim/stop: 100s";
    bench.create(0.0, &bound(annotations, ONE));
    bench.fault(9, crate::chaos::FaultKind::GracefulShutdown, Some(60));
    bench.run_until(10.0);
    assert!(!bench.is_on());
    let mut bench = Bench::new();
    bench.create(0.0, &bound(annotations, &format!("activeDeadlineSeconds: 9, {ONE}")));
    bench.run_until(12.0);
    assert_eq!(bench.pod("p").phase, PodPhase::Failed);
    assert!(bench.messages("Killing").is_empty());
}

#[test]
fn between_two_crashes_sidecars_run_on_and_are_stopped() {
    let mut bench = Bench::new();
    let annotations = "kubesquall.sim/run-for: 1s, kubesquall.sim/exit-code: '4', kubesquall.sim/stop: 5s";
    bench.create(0.0, &bound(annotations, &format!("{SIDECAR}, {ONE}")));
    bench.delete(9.0, "p", None);
    bench.run_until(60.0);
    assert_eq!(bench.messages("Killing"), [("p", "Stopping container s")]);
    assert!(bench.gone_at("p").is_some_and(|at| (14.0..15.4).contains(&at)), "{:?}", bench.gone_at("p"));
}

#[test]
fn sidecars_are_stopped_when_the_others_are_done() {
    for (code, phase) in [(0, PodPhase::Succeeded), (5, PodPhase::Failed)] {
        let mut bench = Bench::new();
        let annotations =
            format!("kubesquall.sim/run-for: 20s, kubesquall.sim/stop: 25s, kubesquall.sim/exit-code: '{code}'");
        bench.create(0.0, &bound(&annotations, &format!("restartPolicy: Never, {SIDECAR}, {ONE}")));
        bench.run_until(40.0);
        let pod = bench.pod("p");
        assert_eq!((pod.phase, pod.is_ready()), (PodPhase::Running, false));
        assert_eq!(codes(pod), [Some(code), None]);
        bench.run_until(60.0);
        check_over(bench.pod("p"), phase, "");
        assert_eq!(codes(bench.pod("p")), [Some(code), Some(0)]);
        assert_eq!(bench.finished_at("p").map(|at| at.round() as i64), Some(49));
        assert_eq!(bench.messages("Killing"), [("p", "Stopping container s")]);
    }
}

#[test]
fn sidecars_that_outlive_their_grace_are_killed() {
    let mut bench = Bench::new();
    let annotations = "kubesquall.sim/run-for: 20s, kubesquall.sim/stop: 100s";
    let spec = format!("restartPolicy: Never, terminationGracePeriodSeconds: 10, {SIDECAR}, {ONE}");
    bench.create(0.0, &bound(annotations, &spec));
    bench.run_until(60.0);
    assert_eq!(codes(bench.pod("p")), [Some(0), Some(137)]);
    assert_eq!(bench.finished_at("p").map(|at| at.round() as i64), Some(34));
}

#[test]
fn sidecars_stop_one_after_the_other_after_the_others() {
    let mut bench = Bench::new();
    let sidecars =
        "initContainers: [{name: s, image: i, restartPolicy: Always}, {name: t, image: i, restartPolicy: Always}]";
    bench.create(0.0, &bound("kubesquall.sim/stop: 4s", &format!("{sidecars}, {ONE}")));
    bench.delete(10.0, "p", None);
    bench.run_until(60.0);
    assert_eq!(bench.finished_at("p").map(|at| at.round() as i64), Some(22));
}

#[test]
fn a_kubelet_that_starts_anew_goes_on_stopping_sidecars() {
    let mut bench = Bench::new();
    let annotations = "kubesquall.sim/run-for: 20s, kubesquall.sim/stop: 10s";
    bench.create(0.0, &bound(annotations, &format!("restartPolicy: Never, {SIDECAR}, {ONE}")));
    bench.fault(25, crate::chaos::FaultKind::KubeletStop, Some(20));
    bench.run_until(90.0);
    check_over(bench.pod("p"), PodPhase::Succeeded, "");
}

#[test]
fn a_containers_own_policy_counts_before_the_pods() {
    for (pod, own, code, expected) in [
        ("Always", "OnFailure", 0, PodPhase::Succeeded),
        ("Always", "Never", 1, PodPhase::Failed),
        ("Always", "OnFailure", 1, PodPhase::Running),
        ("Never", "Always", 1, PodPhase::Running),
        ("Never", "OnFailure", 0, PodPhase::Succeeded),
    ] {
        let mut bench = Bench::new();
        bench.config_mut().version = KubernetesVersion::NEWEST;
        let annotations = format!("kubesquall.sim/run-for: 5s, kubesquall.sim/exit-code: '{code}'");
        let spec = format!("restartPolicy: {pod}, containers: [{{name: c, image: i, restartPolicy: {own}}}]");
        bench.create(0.0, &bound(&annotations, &spec));
        bench.run_until(30.0);
        assert_eq!(bench.pod("p").phase, expected, "{pod} {own} {code}");
        assert_eq!(bench.pod("p").restarts_max() > 0, expected == PodPhase::Running);
    }
}

#[test]
fn containers_that_are_done_stay_so_beside_others_that_are_restarted() {
    let mut bench = Bench::new();
    bench.config_mut().version = KubernetesVersion::NEWEST;
    let spec = "containers: [{name: c, image: i, restartPolicy: Never}, {name: d, image: i}]";
    bench.create(0.0, &bound("kubesquall.sim/run-for: 50s, kubesquall.sim/exit-code: '3'", spec));
    crash(&mut bench, 80, 10);
    bench.run_until(70.0);
    let pod = bench.pod("p");
    assert_eq!((pod.phase, pod.is_ready()), (PodPhase::Running, false));
    assert_eq!(codes(pod), [Some(3), None]);
    assert_eq!([pod.containers[0].restarts, pod.containers[1].restarts], [0, 1]);
    assert!(matches!(pod.containers[1].state, ContainerState::Running { .. }));
    // A reboot does not run it again.
    bench.run_until(110.0);
    let pod = bench.pod("p");
    assert_eq!(codes(pod), [Some(3), None]);
    assert_eq!([pod.containers[0].restarts, pod.containers[1].restarts], [0, 2]);
}

#[test]
fn containers_that_died_with_their_machine_say_how_they_ended() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", &format!("{SIDECAR}, {ONE}")));
    crash(&mut bench, 20, 10);
    bench.run_until(60.0);
    let pod = bench.pod("p");
    assert!(pod.is_ready());
    for status in pod.containers.iter().chain(&pod.init_containers) {
        assert_eq!(status.restarts, 1);
        let last = status.last.expect("it ran before");
        assert_eq!((last.exit_code, last.reason.as_str()), (137, "ContainerStatusUnknown"));
        assert!((31.0..32.0).contains(&(last.finished_at.as_nanos() as f64 / 1e9)));
    }
}

#[test]
fn who_ends_between_its_signals_has_not_been_killed() {
    let hook = "containers: [{name: c, image: i, lifecycle: {preStop: {sleep: {seconds: 20}}}}]";
    for (spec, grace_s, stop, expected) in [
        (hook, 5, "1s", PodPhase::Succeeded),
        (hook, 5, "3s", PodPhase::Failed),
        (ONE, 1, "1500ms", PodPhase::Succeeded),
        (ONE, 1, "3s", PodPhase::Failed),
    ] {
        let mut bench = Bench::new();
        bench.create(0.0, &bound(&format!("kubesquall.sim/stop: {stop}"), spec));
        bench.delete(10.0, "p", Some(grace_s));
        bench.run_until(60.0);
        assert_eq!(bench.last_phase("p"), Some(expected), "{spec} {grace_s} {stop}");
    }
}

#[test]
fn a_pod_past_its_deadline_is_not_ready_before_it_has_stopped() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/stop: 10s", &format!("activeDeadlineSeconds: 20, {ONE}")));
    bench.run_until(60.0);
    let [_, (unready, false)] = bench.ready_changes("p")[..] else { panic!("{:?}", bench.ready_changes("p")) };
    let finished = bench.finished_at("p").expect("it has failed");
    assert!((20.0..21.1).contains(&unready) && (finished - unready - 10.0).abs() < 0.01, "{unready} {finished}");
}

#[test]
fn a_container_that_crashed_is_down_until_it_runs_again() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/start: 20s", ONE));
    bench.crashes(60);
    bench.run_until(70.0);
    let [container] = bench.pod("p").containers[..] else { panic!("one container") };
    assert!(container.state.ending().is_some() && !container.ready, "{container:?}");
    bench.run_until(90.0);
    assert!(bench.pod("p").is_ready() && bench.pod("p").restarts_max() == 1);
}

#[test]
fn a_deadline_that_passes_while_sidecars_stop_is_told_once_and_is_the_reason() {
    let mut bench = Bench::new();
    let sidecar =
        "initContainers: [{name: s, image: i, restartPolicy: Always, lifecycle: {preStop: {sleep: {seconds: 55}}}}]";
    let spec =
        format!("restartPolicy: Never, activeDeadlineSeconds: 30, terminationGracePeriodSeconds: 60, {sidecar}, {ONE}");
    bench.create(0.0, &bound("kubesquall.sim/run-for: 20s, kubesquall.sim/exit-code: '1'", &spec));
    bench.fault(5, FaultKind::KubeletStop, Some(3));
    bench.run_until(100.0);
    let pod = bench.pod("p");
    assert_eq!((pod.phase, pod.reason.as_str()), (PodPhase::Failed, "DeadlineExceeded"));
    assert_eq!(bench.events("DeadlineExceeded").len(), 1);
}
