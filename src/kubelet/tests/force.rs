//! Containers whose pod is deleted by force.

use super::bench::Bench;
use super::{ONE, bound};
use crate::chaos::FaultKind;

const GRACE_100: &str = "terminationGracePeriodSeconds: 100, containers: [{name: c, image: i}]";

#[test]
fn containers_of_a_pod_that_is_gone_are_stopped_when_their_kubelet_sees_it() {
    for (kind, told_s) in [(FaultKind::Partition, 60.0), (FaultKind::KubeletStop, 61.2)] {
        let mut bench = Bench::new();
        bench.create(0.0, &bound("kubesquall.sim/stop: 20s", ONE));
        bench.fault(20, kind, Some(40));
        bench.delete(30.0, "p", Some(0));
        bench.run_until(59.0);
        assert!(!bench.pod_exists("p") && bench.events("Killing").is_empty());
        bench.run_until(100.0);
        let told = bench.events("Killing");
        assert!(told.len() == 1 && (told_s - 0.2..told_s + 0.3).contains(&told[0]), "{kind:?}: {told:?}");
    }
}

#[test]
fn nothing_is_left_of_a_pod_that_is_gone_when_its_machine_has_been_down() {
    for down_s in [15, 40] {
        let mut bench = Bench::new();
        bench.create(
            0.0,
            &bound(
                "kubesquall.sim/stop: 200s",
                "terminationGracePeriodSeconds: 300, containers: [{name: c, image: i}]",
            ),
        );
        bench.fault(20, FaultKind::Partition, Some(40));
        bench.delete(if down_s < 20 { 10.0 } else { 30.0 }, "p", Some(0));
        super::crash(&mut bench, down_s, 5);
        bench.run_until(300.0);
        assert_eq!(bench.events("Killing").len(), usize::from(down_s < 20), "{down_s}");
    }
}

#[test]
fn what_is_being_started_is_started_and_stopped_though_its_pod_is_gone() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/start: 20s, kubesquall.sim/stop: 200s", GRACE_100));
    bench.delete(5.0, "p", Some(0));
    bench.run_until(10.0);
    assert!(!bench.pod_exists("p") && bench.events("Started").is_empty());
    bench.run_until(60.0);
    let rounded = |reason: &str| bench.events(reason).into_iter().map(|at| at.round() as i64).collect::<Vec<_>>();
    assert_eq!((rounded("Started"), rounded("Killing")), (vec![20], vec![20]));
    // Nobody goes on with it when the kubelet's process ends.
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/start: 20s", GRACE_100));
    bench.delete(5.0, "p", Some(0));
    bench.fault(10, FaultKind::KubeletStop, Some(5));
    bench.run_until(60.0);
    assert!(bench.events("Started").is_empty() && bench.events("Killing").is_empty());
}

#[test]
fn a_new_process_stops_what_the_one_before_was_about_to_stop() {
    // Whether or not it has had its signal, and ends at it.
    for stop in ["1000s", "50s"] {
        let mut bench = Bench::new();
        bench.create(0.0, &bound(&format!("kubesquall.sim/stop: {stop}"), GRACE_100));
        bench.delete(20.0, "p", Some(0));
        bench.fault(50, FaultKind::KubeletStop, Some(10));
        bench.run_until(150.0);
        let told: Vec<i64> = bench.events("Killing").into_iter().map(|at| at as i64).collect();
        assert_eq!(told, [20, 61], "{stop}");
    }
    // What has ended meanwhile is told nothing.
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/stop: 35s", GRACE_100));
    bench.delete(20.0, "p", Some(0));
    bench.fault(50, FaultKind::KubeletStop, Some(10));
    bench.run_until(150.0);
    assert_eq!(bench.events("Killing").len(), 1);
}
