//! Taints of nodes that are lost, and of those that come back.

use super::*;

#[test]
fn a_lone_failure_is_tainted_within_one_tick_of_its_unknown() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 3);
        world.last_renewal("0", secs(0.0));
    });
    bench.run_until(60.0);
    let unknown = bench.unknown_writes()[0].0;
    let taint = bench.no_execute_writes(UNREACHABLE)[0].0;
    within(taint - unknown, 0.0, 0.15);
    check_taints(&bench, "0", &["unreachable:NoExecute", "unreachable:NoSchedule"]);
}

#[test]
fn a_node_whose_renewals_are_not_heard_of_is_lost_though_it_is_back() {
    let mut bench = bench(|world| add_nodes(world, "n", 4));
    silence(&mut bench, 1.0, "n", 0..1);
    bench.run_until(5.0);
    bench.watch_latency(SimDuration::from_secs(60));
    bench.at(10.0, |world| world.revive("n0"));
    bench.run_until(69.0);
    assert_eq!(bench.unknown_writes().len(), 1);
    assert_eq!(ready(&bench, "n0"), Status::Unknown);
}

#[test]
fn a_tick_that_still_sees_the_node_ready_leaves_it_to_the_next_token() {
    let mut bench = bench(|world| add_nodes(world, "n", 4));
    bench.watch_latency(SimDuration::from_millis(300));
    silence(&mut bench, 1.0, "n", 0..1);
    bench.run_until(100.0);
    let unknown = bench.unknown_writes()[0].0;
    let tainted = bench.no_execute_writes(UNREACHABLE)[0].0;
    within(tainted - unknown, 9.9, 10.3);
}

#[test]
fn until_1_33_a_failure_is_tainted_one_pass_later() {
    let mut config = config();
    config.version = "1.33".parse::<KubernetesVersion>().unwrap();
    let mut bench = bench_with(config, Start::Initial, |world| {
        add_nodes(world, "", 3);
        world.last_renewal("0", secs(0.0));
    });
    bench.run_until(65.0);
    let unknown = bench.unknown_writes()[0].0;
    let taint = bench.no_execute_writes(UNREACHABLE)[0].0;
    within(taint - unknown, 4.9, 5.2);
}

#[test]
fn a_recovery_takes_no_schedule_off_at_once_and_no_execute_at_the_next_pass() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 3);
        world.last_renewal("0", secs(0.0));
    });
    bench.at(100.0, |world| {
        world.revive("0");
        world.post_ready("0", Status::True);
    });
    bench.run_until(100.05);
    check_taints(&bench, "0", &["unreachable:NoExecute"]);
    bench.run_until(105.1);
    check_taints(&bench, "0", &[]);
    bench.run_until(1000.0);
    assert_eq!(bench.no_execute_writes(UNREACHABLE).len(), 1);
}

#[test]
fn a_queued_node_that_recovers_is_never_tainted_and_does_not_block_the_others() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 20);
        (0..4).for_each(|n| world.last_renewal(&n.to_string(), secs(0.0)));
    });
    bench.run_until(57.0);
    let first = bench.no_execute_writes(UNREACHABLE)[0].1.clone();
    let recovered: Vec<String> = (0..4).map(|n| n.to_string()).filter(|n| *n != first).take(2).collect();
    for name in recovered.clone() {
        bench.at(58.0, move |world| {
            world.revive(&name);
            world.post_ready(&name, Status::True);
        });
    }
    bench.run_until(300.0);
    let tainted: Vec<String> = bench.no_execute_writes(UNREACHABLE).into_iter().map(|(_, node)| node).collect();
    assert_eq!(tainted.len(), 2);
    assert!(recovered.iter().all(|name| !tainted.contains(name)));
}

#[test]
fn a_queued_node_without_a_ready_condition_is_not_tainted_and_costs_tokens() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 20);
        (0..2).for_each(|n| world.last_renewal(&n.to_string(), secs(0.0)));
    });
    bench.run_until(57.0);
    let first = bench.no_execute_writes(UNREACHABLE)[0].1.clone();
    let second = if first == "0" { "1" } else { "0" };
    bench.at(58.0, move |world| {
        world.revive(second);
        world.set_condition(second, NodeConditionKind::Ready, None);
    });
    bench.at(67.0, move |world| world.set_condition(second, NodeConditionKind::Ready, Some(Status::Unknown)));
    bench.run_until(90.0);
    // The token that came while it had no condition is lost.
    let writes = seconds_of(&bench.no_execute_writes(UNREACHABLE));
    within(writes[1] - writes[0], 19.9, 20.4);
}

#[test]
fn a_tainted_node_whose_kubelet_posts_not_ready_is_swapped_without_ever_being_untainted() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 3);
        world.last_renewal("0", secs(0.0));
    });
    bench.at(100.0, |world| {
        world.revive("0");
        world.post_ready("0", Status::False);
    });
    bench.run_until(105.2);
    check_taints(&bench, "0", &["not-ready:NoExecute", "not-ready:NoSchedule"]);
    let after: Vec<_> = bench.requests.iter().filter(|(at, _)| *at > secs(100.1)).map(|(_, request)| request).collect();
    let Request::PatchNodeTaints { add, remove, .. } = after[0] else { panic!("{:?}", after[0]) };
    assert_eq!((add.len(), remove.len()), (1, 0));
}

#[test]
fn a_taint_removed_by_hand_comes_back_through_the_limiter() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 3);
        world.last_renewal("0", secs(0.0));
    });
    bench.at(100.0, |world| {
        let node = world.node_id("0");
        world.edit_node(node, NodeDelta::TAINTS, |node| node.taints.retain(|t| t.effect != TaintEffect::NoExecute));
    });
    bench.run_until(106.0);
    check_taints(&bench, "0", &["unreachable:NoExecute", "unreachable:NoSchedule"]);
    assert_eq!(bench.no_execute_writes(UNREACHABLE).len(), 2);
}

#[test]
fn conditions_and_cordons_are_followed_by_no_schedule_taints_and_foreign_taints_stay() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 2);
        world.taint("0", "example.com/foreign", TaintEffect::NoSchedule);
    });
    bench.at(10.0, |world| {
        world.set_condition("0", NodeConditionKind::NetworkUnavailable, Some(Status::True));
        world.set_condition("0", NodeConditionKind::DiskPressure, Some(Status::True));
        world.set_condition("0", NodeConditionKind::MemoryPressure, Some(Status::Unknown));
        let node = world.node_id("0");
        world.edit_node(node, NodeDelta::UNSCHEDULABLE, |node| node.unschedulable = true);
        world.taint("1", "node.kubernetes.io/pid-pressure", TaintEffect::NoSchedule);
    });
    bench.run_until(10.2);
    let expected = [
        "example.com/foreign:NoSchedule",
        "node.kubernetes.io/disk-pressure:NoSchedule",
        "node.kubernetes.io/network-unavailable:NoSchedule",
        "node.kubernetes.io/unschedulable:NoSchedule",
    ];
    assert_eq!(bench.taints("0"), expected);
    check_taints(&bench, "1", &[]);
    bench.at(20.0, |world| {
        let node = world.node_id("0");
        world.edit_node(node, NodeDelta::UNSCHEDULABLE, |node| node.unschedulable = false);
        world.set_condition("0", NodeConditionKind::DiskPressure, Some(Status::False));
        world.set_condition("0", NodeConditionKind::NetworkUnavailable, Some(Status::False));
    });
    bench.run_until(20.2);
    assert_eq!(bench.taints("0"), ["example.com/foreign:NoSchedule"]);
}

#[test]
fn a_failed_no_schedule_taint_waits_for_the_next_event_of_the_node() {
    let mut bench = bench(|world| add_nodes(world, "", 2));
    bench.refuse(|request, at| {
        let fails = matches!(request, Request::PatchNodeTaints { .. }) && at < secs(15.0);
        fails.then_some(ErrorReason::InternalError)
    });
    bench.at(10.0, |world| world.set_condition("0", NodeConditionKind::DiskPressure, Some(Status::True)));
    bench.at(30.0, |world| world.set_condition("0", NodeConditionKind::PidPressure, Some(Status::True)));
    bench.run_until(29.0);
    check_taints(&bench, "0", &[]);
    bench.run_until(31.0);
    check_taints(&bench, "0", &["disk-pressure:NoSchedule", "pid-pressure:NoSchedule"]);
}

#[test]
fn beta_labels_follow_the_stable_ones() {
    let keys = Keys::new();
    let labels = |pairs: &[(&str, &str)]| -> crate::model::Labels {
        pairs.iter().map(|(key, value)| (Symbol::new(key), Symbol::new(value))).collect()
    };
    let check = |given: &[(&str, &str)], expected: Option<&[(&str, &str)]>| {
        assert_eq!(keys.reconciled_labels(&labels(given)), expected.map(labels));
    };
    check(&[], None);
    check(&[("beta.kubernetes.io/os", "linux")], None);
    check(&[("kubernetes.io/os", "linux")], Some(&[("kubernetes.io/os", "linux"), ("beta.kubernetes.io/os", "linux")]));
    check(
        &[("kubernetes.io/arch", "arm64"), ("beta.kubernetes.io/arch", "amd64")],
        Some(&[("kubernetes.io/arch", "arm64"), ("beta.kubernetes.io/arch", "arm64")]),
    );
}
