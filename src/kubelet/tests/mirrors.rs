//! Static pods and their mirrors.

use super::*;
use crate::component::{PodStatusPatch, Request};

#[test]
fn a_mirror_that_is_deleted_is_made_anew() {
    let mut bench = Bench::new();
    let mirror = bound("kubernetes.io/config.mirror: x, kubernetes.io/config.source: file", ONE);
    bench.create(0.0, &mirror);
    bench.delete(10.0, "p", None);
    bench.run_until(30.0);
    assert!(bench.pod("p").is_mirror && bench.pod("p").is_ready());
}

#[test]
fn a_mirror_that_is_deleted_takes_no_container_with_it_and_its_successor_belongs_to_the_node() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubernetes.io/config.mirror: x, kubernetes.io/config.source: file", ONE));
    bench.delete(10.0, "p", None);
    bench.run_until(10.1);
    assert!(bench.pod("p").phase == PodPhase::Pending && bench.pod("p").deletion.is_none());
    // Its status comes with the next comparison of all.
    bench.run_until(20.2);
    assert!(bench.pod("p").is_ready() && bench.pod("p").deletion.is_none());
    assert!(matches!(bench.pod("p").owner, Some(crate::state::Owner::Node(_))), "{:?}", bench.pod("p").owner);
    assert_eq!((bench.events("Started").len(), bench.events("Killing").len()), (1, 0));
}

#[test]
fn a_mirror_comes_back_with_its_node() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubernetes.io/config.mirror: x, kubernetes.io/config.source: file", ONE));
    bench.delete_node(10.0);
    bench.delete(20.0, "p", Some(0));
    bench.fault(30, FaultKind::Reboot, None);
    bench.run_until(29.0);
    assert!(!bench.pod_exists("p"));
    bench.run_until(60.0);
    assert!(bench.pod("p").is_ready());
}

#[test]
fn a_static_pod_begins_anew_after_a_graceful_shutdown() {
    let mut bench = Bench::new();
    bench.shutdown_grace(30, 10);
    bench.create(0.0, &bound("kubernetes.io/config.mirror: x, kubernetes.io/config.source: file", ONE));
    bench.fault(10, FaultKind::GracefulShutdown, Some(100));
    bench.run_until(100.0);
    assert_eq!(bench.pod("p").phase, PodPhase::Failed);
    bench.run_until(150.0);
    assert!(bench.pod("p").is_ready());
}

const MIRROR: &str = "kubernetes.io/config.mirror: x, kubernetes.io/config.source: file";

#[test]
fn a_static_pod_backs_off_whatever_becomes_of_its_mirror() {
    let mut bench = Bench::new();
    let annotations = format!("{MIRROR}, kubesquall.sim/run-for: 5s, kubesquall.sim/exit-code: '1'");
    bench.create(0.0, &bound(&annotations, ONE));
    // It runs, is started again at once, and waits from 14 s on.
    bench.delete(16.0, "p", None);
    bench.run_until(100.0);
    let starts = bench.events("Started");
    assert!(starts.len() >= 4 && (24.0..31.5).contains(&starts[2]), "{starts:?}");
    assert!(bench.pod("p").restarts_max() >= 3);
}

#[test]
fn a_static_pod_becomes_ready_whatever_becomes_of_its_mirror() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound(&format!("{MIRROR}, kubesquall.sim/ready: 30s"), ONE));
    bench.delete(10.0, "p", None);
    bench.run_until(31.0);
    assert!(bench.pod("p").phase == PodPhase::Running && !bench.pod("p").is_ready());
    bench.run_until(33.0);
    assert!(bench.pod("p").is_ready());
    assert_eq!(bench.events("Started").len(), 1);
}

#[test]
fn a_static_pod_that_starts_does_not_begin_anew() {
    let mut bench = Bench::new();
    let spec = format!("initContainers: [{{name: a, image: i}}], {ONE}");
    bench.create(0.0, &bound(&format!("{MIRROR}, kubesquall.sim/init: 20s"), &spec));
    bench.delete(10.0, "p", None);
    bench.run_until(30.0);
    assert_eq!(bench.events("Started").iter().map(|at| *at as u64).collect::<Vec<_>>(), [22]);
}

#[test]
fn a_static_pod_ends_by_itself_whatever_becomes_of_its_mirror() {
    let mut bench = Bench::new();
    let annotations = format!("{MIRROR}, kubesquall.sim/run-for: 30s");
    bench.create(0.0, &bound(&annotations, &format!("restartPolicy: Never, {ONE}")));
    bench.delete(10.0, "p", None);
    bench.run_until(40.0);
    assert_eq!((bench.pod("p").phase, bench.finished_at("p").map(|at| at as u64)), (PodPhase::Succeeded, Some(33)));
}

#[test]
fn a_static_pod_keeps_its_restart_count_whatever_becomes_of_its_mirror() {
    let mut bench = Bench::new();
    let crashes = format!("{MIRROR}, kubesquall.sim/run-for: 5s, kubesquall.sim/exit-code: '1'");
    bench.create(0.0, &bound(&crashes, ONE));
    bench.delete(60.0, "p", None);
    bench.fault(61, FaultKind::KubeletStop, Some(10));
    bench.run_until(59.0);
    let before = bench.pod("p").restarts_max();
    bench.run_until(100.0);
    assert!(before >= 2 && bench.pod("p").restarts_max() > before, "{before}, {}", bench.pod("p").restarts_max());
}

#[test]
fn a_static_pod_whose_mirror_goes_before_anybody_looks_after_a_boot_is_started() {
    let mut bench = Bench::new();
    bench.boots_for(10);
    bench.create(0.0, &bound(MIRROR, ONE));
    bench.fault(60, FaultKind::Partition, Some(60));
    bench.fault(65, FaultKind::Reboot, None);
    bench.delete(90.0, "p", Some(0));
    bench.run_until(140.0);
    assert_eq!(bench.events("Started").len(), 2);
    assert!(bench.pod("p").is_ready() && bench.pod("p").restarts_max() == 1);
}

#[test]
fn the_new_mirror_of_a_static_pod_is_as_ready_as_its_containers_and_its_gates() {
    let two = "containers: [{name: a, image: i, restartPolicy: Never}, {name: b, image: i}]";
    let mut bench = Bench::new();
    bench.create(0.0, &bound(MIRROR, two));
    bench.crashes(30);
    bench.delete(60.0, "p", None);
    bench.run_until(90.0);
    assert!(bench.pod("p").phase == PodPhase::Running && !bench.pod("p").is_ready());

    let mut bench = Bench::new();
    let gated = format!("{MIRROR}, kubesquall.sim/gate-lb: 20s");
    bench.create(0.0, &bound(&gated, &format!("readinessGates: [{{conditionType: example.com/lb}}], {ONE}")));
    bench.delete(60.0, "p", None);
    bench.run_until(75.0);
    assert!(bench.pod("p").phase == PodPhase::Running && !bench.pod("p").is_ready());
    bench.run_until(100.0);
    assert!(bench.pod("p").is_ready());
}

#[test]
fn a_static_pod_that_is_done_is_not_run_again_and_shown_again_by_the_next_process() {
    let mut bench = Bench::new();
    let done = format!("{MIRROR}, kubesquall.sim/run-for: 10s");
    bench.create(0.0, &bound(&done, &format!("restartPolicy: OnFailure, {ONE}")));
    for at in [60.0, 120.0] {
        bench.delete(at, "p", None);
    }
    bench.fault(90, FaultKind::KubeletStop, Some(5));
    bench.run_until(89.0);
    assert!(!bench.pod_exists("p"));
    bench.run_until(119.0);
    assert_eq!(bench.pod("p").phase, PodPhase::Succeeded);
    bench.run_until(200.0);
    assert!(!bench.pod_exists("p"));
    assert_eq!(bench.events("Started").len(), 1);
}

#[test]
fn a_static_pod_goes_on_whatever_others_write_of_its_mirror() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound(MIRROR, ONE));
    bench.at(20.0, |lab| {
        let pod = lab.pod_id("p").expect("the pod exists");
        let patch = PodStatusPatch { phase: Some(PodPhase::Failed), ..PodStatusPatch::default() };
        lab.ask(Request::PatchPodStatus { pod, patch: Box::new(patch) }).expect("a patch");
    });
    bench.delete(21.0, "p", Some(0));
    bench.run_until(60.0);
    assert!(bench.pod("p").is_ready() && bench.pod("p").phase == PodPhase::Running);
    assert_eq!(bench.events("Started").len(), 1);
}

#[test]
fn a_static_pod_that_never_restarts_is_over_with_its_machine_whatever_becomes_of_its_mirror() {
    for (policy, starts) in [("Never", 1), ("OnFailure", 2)] {
        for deleted_at in [9.0, 50.0] {
            let mut bench = Bench::new();
            bench.boots_for(10);
            bench.create(0.0, &bound(MIRROR, &format!("restartPolicy: {policy}, {ONE}")));
            bench.delete_node(8.0);
            bench.delete(deleted_at, "p", Some(0));
            bench.fault(30, FaultKind::Reboot, None);
            bench.run_until(100.0);
            let phase = if policy == "Never" { PodPhase::Failed } else { PodPhase::Running };
            assert_eq!(bench.events("Started").len(), starts, "{policy}, {deleted_at}");
            if deleted_at < 30.0 {
                assert_eq!(bench.pod("p").phase, phase, "{policy}, {deleted_at}");
            }
        }
    }
}

#[test]
fn containers_of_a_static_pod_that_are_done_stay_so_with_its_next_mirror() {
    let two = "containers: [{name: a, image: i, restartPolicy: Never}, {name: b, image: i}]";
    let mut bench = Bench::new();
    bench.boots_for(10);
    bench.create(0.0, &bound(MIRROR, two));
    bench.delete_node(8.0);
    bench.delete(9.0, "p", Some(0));
    bench.fault(30, FaultKind::Reboot, None);
    bench.run_until(100.0);
    let [a, b] = &bench.pod("p").containers[..] else { panic!("{:?}", bench.pod("p").containers) };
    assert!(a.state.ending().is_some() && b.state.running_since().is_some(), "{a:?}, {b:?}");
    assert_eq!(bench.events("Started").len(), 3);
}

#[test]
fn a_static_pods_sidecars_are_as_ready_as_its_containers_whatever_their_last_mirror_was_told() {
    let sidecar = "initContainers: [{name: s, image: i, restartPolicy: Always, startupProbe: {tcpSocket: {port: 1}, \
                   initialDelaySeconds: 10, periodSeconds: 1}}]";
    for deleted_at in [5.0, 12.0, 14.0, 30.0] {
        let mut bench = Bench::new();
        bench.create(0.0, &bound(MIRROR, &format!("{sidecar}, {ONE}")));
        bench.delete_node(1.0);
        bench.delete(deleted_at, "p", Some(0));
        bench.fault(60, FaultKind::KubeletStop, Some(1));
        bench.run_until(100.0);
        let pod = bench.pod("p");
        assert!(pod.is_ready() && pod.init_containers[0].ready, "{deleted_at}: {:?}", pod.init_containers);
    }
}
