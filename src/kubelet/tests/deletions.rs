//! Deletions that come while something is under way.

use super::bench::Bench;
use super::{ONE, bound, check_stopped};
use crate::chaos::FaultKind;
use crate::state::PodPhase;

fn rounded(bench: &Bench, reason: &str) -> Vec<i64> {
    bench.events(reason).into_iter().map(|at| at.round() as i64).collect()
}

#[test]
fn a_shorter_grace_comes_too_late_for_containers_that_are_being_stopped() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/stop: 25s", ONE));
    bench.delete(10.0, "p", Some(30));
    bench.delete(12.0, "p", Some(5));
    bench.run_until(60.0);
    check_stopped(&bench, "p", 35.01);
    assert_eq!(bench.last_phase("p"), Some(PodPhase::Succeeded));
    assert_eq!(bench.events("Killing").len(), 1);
}

#[test]
fn what_is_being_started_is_started_before_it_is_stopped() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/start: 10s, kubesquall.sim/stop: 100s", ONE));
    bench.delete(5.0, "p", Some(30));
    // Of the graces that are asked for before that, the shortest counts.
    bench.delete(7.0, "p", Some(20));
    bench.delete(12.0, "p", Some(3));
    bench.run_until(60.0);
    assert_eq!((rounded(&bench, "Started"), rounded(&bench, "Killing")), (vec![10], vec![10]));
    assert_eq!(bench.ready_changes("p").len(), 2, "ready, and not any more");
    check_stopped(&bench, "p", 30.01);
}

#[test]
fn a_start_that_its_kubelet_does_not_live_to_see_is_not_made_up_for() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/start: 10s", ONE));
    bench.delete(5.0, "p", None);
    bench.fault(7, FaultKind::KubeletStop, Some(20));
    bench.run_until(60.0);
    assert!(bench.events("Started").is_empty() && bench.events("Killing").is_empty());
    assert!(bench.gone_at("p").is_some_and(|at| (28.0..30.0).contains(&at)), "{:?}", bench.gone_at("p"));
}

#[test]
fn init_containers_are_stopped_at_once_and_the_start_behind_them_is_not_broken_off() {
    let spec = format!("initContainers: [{{name: i, image: i}}], {ONE}");
    // The init container runs until 20 s, which is seen at 21 s, the others from 31 s on.
    for (deleted_s, killed_s, name) in [(10.0, 10, "i"), (25.0, 31, "c")] {
        let mut bench = Bench::new();
        bench.create(0.0, &bound("kubesquall.sim/init: 20s, kubesquall.sim/start: 10s", &spec));
        bench.delete(deleted_s, "p", None);
        bench.run_until(60.0);
        assert_eq!(rounded(&bench, "Killing"), [killed_s], "{deleted_s}");
        assert_eq!(bench.messages("Killing")[0].1, format!("Stopping container {name}"));
    }
}

#[test]
fn containers_that_fail_their_probe_are_killed_and_started_before_their_pod_is_stopped() {
    let mut bench = Bench::new();
    let annotations = "kubesquall.sim/healthy-for: 20s, kubesquall.sim/stop: 8s";
    let probe = "livenessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 1}";
    bench.create(0.0, &bound(annotations, &format!("containers: [{{name: c, image: i, {probe}}}]")));
    bench.delete(26.0, "p", None);
    bench.run_until(60.0);
    // Told at 24 s, ended at 32 s and started anew at 34 s.
    assert_eq!((rounded(&bench, "Started"), rounded(&bench, "Killing")), (vec![2, 34], vec![24, 34]));
    assert!(bench.gone_at("p").is_some_and(|at| (42.0..44.0).contains(&at)), "{:?}", bench.gone_at("p"));
}

#[test]
fn a_shutdown_waits_for_a_start_as_a_deletion_does() {
    let mut bench = Bench::new();
    bench.shutdown_grace(60, 10);
    bench.create(0.0, &bound("kubesquall.sim/start: 20s, kubesquall.sim/stop: 5s", ONE));
    bench.fault(10, FaultKind::GracefulShutdown, Some(100));
    bench.run_until(60.0);
    assert_eq!((rounded(&bench, "Started"), rounded(&bench, "Killing")), (vec![20], vec![20]));
    let pod = bench.pod("p");
    assert_eq!((pod.phase, pod.reason.as_str(), bench.is_on()), (PodPhase::Failed, "Terminated", false));
}

#[test]
fn a_new_process_says_that_a_deleted_pod_is_ready_before_it_stops_it() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.fault(20, FaultKind::KubeletStop, Some(20));
    bench.unready(25.0, "p");
    bench.delete(30.0, "p", None);
    bench.run_until(60.0);
    let changes: Vec<bool> = bench.ready_changes("p").into_iter().map(|(_, ready)| ready).collect();
    assert_eq!(changes, [true, false, true, false]);
}

#[test]
fn a_pod_that_is_deleted_while_it_starts_and_ends_at_once_is_told_so_once() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/stop: 0s, kubesquall.sim/start: 3s", ONE));
    bench.delete(2.5, "p", None);
    bench.run_until(20.0);
    assert_eq!(bench.events("Killing").len(), 1);
    assert!(bench.last_phase("p").is_some_and(PodPhase::is_terminal), "{:?}", bench.last_phase("p"));
}

#[test]
fn a_pod_that_has_ended_as_it_was_told_is_not_killed_again_by_the_next_process() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/stop: 8s", ONE));
    bench.delete(60.0, "p", None);
    bench.fault(62, FaultKind::KubeletStop, Some(60));
    bench.delete(64.0, "p", Some(0));
    bench.run_until(200.0);
    assert_eq!(bench.events("Killing").len(), 1);
}

#[test]
fn a_readiness_probe_goes_on_until_the_containers_have_stopped_and_others_do_not() {
    let probe = "{httpGet: {port: 80}, periodSeconds: 1}";
    let spec = |more: &str| format!("containers: [{{name: c, image: i, readinessProbe: {probe}{more}}}]");
    for (more, becomes_ready) in [("", true), (", startupProbe: {httpGet: {port: 80}, periodSeconds: 1}", false)] {
        let mut bench = Bench::new();
        bench.create(0.0, &bound("kubesquall.sim/ready: 10s, kubesquall.sim/stop: 20s", &spec(more)));
        bench.delete(8.0, "p", None);
        bench.run_until(60.0);
        let changes = bench.ready_changes("p");
        let ready: Vec<f64> = changes.iter().filter(|(_, is_ready)| *is_ready).map(|(at, _)| *at).collect();
        assert_eq!(ready.len(), usize::from(becomes_ready), "{more}: {changes:?}");
        assert!(ready.iter().all(|at| (12.0..14.1).contains(at)), "{changes:?}");
        assert!(!bench.ready_changes("p").last().is_some_and(|(_, is_ready)| *is_ready), "{changes:?}");
    }
}
