//! Stand-ins: nodes that only exist in the API.

use super::*;

#[test]
fn a_stand_in_posts_nothing_but_ready_and_removes_its_pods_at_once() {
    let mut bench = Bench::new();
    bench.has_stand_in();
    bench.create(0.0, &bound("", ONE));
    bench.delete(10.0, "p", None);
    bench.run_until(20.0);
    assert_eq!(bench.readiness("p"), [(2.01, true)]);
    assert_eq!((bench.finished_at("p"), bench.gone_at("p")), (None, Some(11.01)));
}

#[test]
fn a_stand_in_takes_as_long_to_stop_what_has_not_started_yet() {
    let mut bench = Bench::new();
    bench.has_stand_in();
    bench.create(0.0, &bound("", ONE));
    bench.delete(1.0, "p", None);
    bench.run_until(20.0);
    assert_eq!((bench.readiness("p"), bench.gone_at("p")), (Vec::new(), Some(2.01)));
}

#[test]
fn a_stand_in_puts_nothing_right_that_others_wrote_and_posts_no_events() {
    let mut bench = Bench::new();
    bench.has_stand_in();
    bench.create(0.0, &bound("", ONE));
    bench.unready(20.0, "p");
    bench.fault(30, FaultKind::NotReady, Some(10));
    bench.run_until(60.0);
    assert_eq!(bench.readiness("p"), [(2.01, true), (20.0, false)]);
    assert_eq!(bench.events("NodeNotReady"), Vec::<f64>::new());
}

#[test]
fn a_stand_in_takes_up_its_pods_after_a_partition_and_not_after_an_outage_of_the_api_server() {
    for (kind, is_taken_up) in [(FaultKind::Partition, true), (FaultKind::ControlPlaneOutage, false)] {
        let mut bench = Bench::new();
        bench.has_stand_in();
        bench.create(0.0, &bound("", ONE));
        bench.fault(10, kind, Some(30));
        bench.unready(20.0, "p");
        bench.run_until(80.0);
        assert_eq!(bench.pod("p").is_ready(), is_taken_up, "{kind:?}");
        assert_eq!(bench.reports().iter().any(|at| *at > 39.0), is_taken_up, "{kind:?}");
    }
}

#[test]
fn a_stand_in_keeps_the_beat_of_its_lease_through_an_outage_of_the_api_server() {
    let mut bench = Bench::new();
    bench.has_stand_in();
    bench.fault(25, FaultKind::ControlPlaneOutage, Some(23));
    bench.run_until(24.0);
    let mut expected = None;
    bench.look(|node, ctx| expected = ctx.store.heartbeat(node).next_beat(SimTime::from_secs(48)));
    bench.run_until(80.0);
    let [renewed_at] = bench.renewals()[..] else { panic!("{:?}", bench.renewals()) };
    assert!((renewed_at - expected.expect("a beat").as_secs_f64()).abs() < 0.01, "{renewed_at}, {expected:?}");
}

#[test]
fn a_stand_in_keeps_the_beat_of_its_lease_through_a_partition() {
    let mut bench = Bench::new();
    bench.has_stand_in();
    bench.run_until(24.0);
    let mut before = None;
    bench.look(|node, ctx| before = ctx.store.heartbeat(node).next_beat(SimTime::from_secs(50)));
    bench.fault(25, FaultKind::Partition, Some(23));
    bench.run_until(49.5);
    let mut after = None;
    bench.look(|node, ctx| after = ctx.store.heartbeat(node).next_beat(SimTime::from_secs(50)));
    assert!(before.is_some() && before == after, "{before:?} {after:?}");
}

#[test]
fn a_stand_in_starts_whatever_was_there_after_a_crash() {
    for policy in ["Always", "OnFailure", "Never"] {
        let mut bench = Bench::new();
        bench.has_stand_in();
        bench.create(0.0, &bound("", &format!("restartPolicy: {policy}, {ONE}")));
        bench.fault(10, FaultKind::Crash, Some(10));
        bench.run_until(60.0);
        assert_eq!(bench.pod("p").phase, PodPhase::Running, "{policy}");
        assert!(bench.pod("p").is_ready(), "{policy}");
    }
}
