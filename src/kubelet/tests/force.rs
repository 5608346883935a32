//! Containers whose pod is deleted by force.

use super::bench::Bench;
use super::{ONE, bound};
use crate::chaos::FaultKind;

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
