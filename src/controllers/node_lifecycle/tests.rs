//! The rules of the node lifecycle controller, case by case.

use super::*;
use crate::arena::Symbol;
use crate::component::{ErrorReason, Request};
use crate::model::TaintEffect;
use crate::model::config::KubernetesVersion;
use crate::state::{NodeConditionKind, PodDelta};
use crate::testing::{Lab, config, secs, within};

mod disrupted_zones;
mod tainting;

const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const NOT_READY: &str = "node.kubernetes.io/not-ready";

type Play = Lab<NodeLifecycle>;

fn bench_with(config: Config, start: Start, setup: impl FnOnce(&mut Play)) -> Play {
    let mut bench = Lab::<NodeLifecycle>::new(config, 7);
    setup(&mut bench);
    bench.start_as(start);
    bench
}

/// A controller that has been running for long.
fn bench(setup: impl FnOnce(&mut Play)) -> Play {
    bench_with(config(), Start::Initial, setup)
}

/// A controller that has just started.
fn fresh(setup: impl FnOnce(&mut Play)) -> Play {
    bench_with(config(), Start::Fresh, setup)
}

fn add_nodes(world: &mut Play, zone: &str, count: usize) {
    for n in 0..count {
        world.add_node(&format!("{zone}{n}"), zone);
    }
}

fn silence(bench: &mut Play, at_s: f64, zone: &'static str, nodes: std::ops::Range<usize>) {
    bench.at(at_s, move |world| nodes.for_each(|n| world.silence(&format!("{zone}{n}"))));
}

fn condition(bench: &Play, node: &str, kind: NodeConditionKind) -> (Status, &'static str) {
    let condition = bench.node(node).conditions.get(kind).expect("the condition is there");
    (condition.status, condition.reason)
}

fn ready(bench: &Play, node: &str) -> Status {
    condition(bench, node, NodeConditionKind::Ready).0
}

#[track_caller]
fn check_taints(bench: &Play, node: &str, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|taint| format!("node.kubernetes.io/{taint}")).collect();
    assert_eq!(bench.taints(node), expected, "taints of {node}");
}

fn seconds_of(writes: &[(f64, String)]) -> Vec<f64> {
    writes.iter().map(|(at, _)| *at).collect()
}

// ---- heartbeats and status ------------------------------------------------------------------------------------------

#[test]
fn a_node_created_long_ago_that_never_posted_becomes_unknown_in_all_four_conditions() {
    let mut bench = fresh(|world| {
        let node = world.add_silent_node("n", "", false);
        world.edit_node(node, NodeDelta::NONE, |node| node.created_at = secs(-3600.0));
        world.add_pod("p", Some("n"), "[]");
    });
    bench.run_until(1.0);
    for kind in NodeConditionKind::ALL.into_iter().filter(|kind| *kind != NodeConditionKind::NetworkUnavailable) {
        assert_eq!(condition(&bench, "n", kind), (Status::Unknown, "NodeStatusNeverUpdated"));
    }
    assert_eq!(bench.node("n").conditions.get(NodeConditionKind::NetworkUnavailable), None);
    assert_eq!(bench.marks().len(), 1, "the pod is news to a process that begins anew");
}

#[test]
fn a_node_that_never_posts_becomes_unknown_60_seconds_after_its_creation() {
    let mut bench = fresh(|world| {
        world.add_silent_node("n", "", false);
    });
    bench.run_until(60.0);
    assert!(bench.unknown_writes().is_empty());
    bench.run_until(66.0);
    within(bench.unknown_writes()[0].0, 60.0, 65.1);
}

#[test]
fn a_node_that_only_renews_its_lease_is_left_alone_until_60_seconds_after_the_last_renewal() {
    let mut bench = fresh(|world| {
        world.add_silent_node("n", "", false);
        world.revive("n");
    });
    bench.at(3600.0, |world| world.silence("n"));
    bench.run_until(3600.0 + 49.0);
    assert!(bench.unknown_writes().is_empty());
    bench.run_until(3700.0);
    assert_eq!(bench.unknown_writes().len(), 1);
    assert_eq!(condition(&bench, "n", NodeConditionKind::Ready), (Status::Unknown, "NodeStatusNeverUpdated"));
}

#[test]
fn a_silent_node_becomes_unknown_and_missing_pressures_are_added() {
    let mut bench = bench(|world| {
        world.add_node("n", "");
        world.add_node("peer", "");
        world.set_condition("n", NodeConditionKind::PidPressure, None);
        world.add_pod("p", Some("n"), "[]");
        world.last_renewal("n", secs(0.0));
    });
    bench.run_until(70.0);
    assert_eq!(condition(&bench, "n", NodeConditionKind::Ready), (Status::Unknown, "NodeStatusUnknown"));
    assert_eq!(condition(&bench, "n", NodeConditionKind::MemoryPressure), (Status::Unknown, "NodeStatusUnknown"));
    assert_eq!(condition(&bench, "n", NodeConditionKind::PidPressure), (Status::Unknown, "NodeStatusNeverUpdated"));
    assert_eq!(bench.marks().len(), 1);
    assert_eq!(bench.messages("NodeNotReady"), ["Node n status is now: NodeNotReady", "Node is not ready"]);
    assert_eq!(ready(&bench, "peer"), Status::True);
}

#[test]
fn detection_takes_the_grace_and_up_to_a_period_more() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 2);
        world.last_renewal("0", secs(0.0));
    });
    bench.run_until(70.0);
    within(bench.unknown_writes()[0].0, 50.0, 55.1);
}

#[test]
fn status_posts_alone_keep_a_node_healthy_and_so_do_renewals_alone() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 2);
        world.last_renewal("0", secs(0.0));
    });
    for k in 1..100 {
        bench.at(f64::from(k) * 20.0, |world| world.post_ready("0", Status::True));
    }
    bench.run_until(1980.0);
    assert!(bench.unknown_writes().is_empty());
}

#[test]
fn a_pass_remembers_the_readiness_that_it_leaves() {
    let check = |posted: Option<Status>, is_silent: bool, expected: Option<Status>| {
        let mut bench = fresh(|world| {
            add_nodes(world, "", 3);
            world.set_condition("0", NodeConditionKind::Ready, posted);
            if is_silent {
                world.silence("0");
            }
        });
        bench.run_until(80.0);
        assert_eq!(bench.node("0").conditions.ready(), expected, "{posted:?} silent {is_silent}");
        let node = bench.node_id("0");
        let remembered = bench.component().health.get(&node).and_then(|health| health.ready);
        assert_eq!(remembered, expected, "{posted:?} silent {is_silent}");
    };
    for posted in [Some(Status::True), Some(Status::False), Some(Status::Unknown), None] {
        check(posted, false, posted);
        check(posted, true, Some(Status::Unknown));
    }
}

#[test]
fn a_lasting_unknown_is_not_written_again() {
    let mut bench = fresh(|world| {
        world.add_node("peer", "");
        world.add_silent_node("n", "", true);
        world.set_condition("n", NodeConditionKind::Ready, Some(Status::Unknown));
    });
    bench.run_until(600.0);
    assert!(bench.unknown_writes().is_empty());
    assert_eq!(condition(&bench, "n", NodeConditionKind::MemoryPressure).0, Status::False);
    assert_eq!(bench.messages("RegisteredNode").len(), 2);
    assert!(bench.messages("NodeNotReady").is_empty());
}

#[test]
fn a_node_revived_within_its_grace_is_never_unknown() {
    let mut bench = bench(|world| add_nodes(world, "", 2));
    bench.at(100.0, |world| world.silence("0"));
    bench.at(135.0, |world| world.revive("0"));
    bench.run_until(1000.0);
    assert!(bench.unknown_writes().is_empty());
}

#[test]
fn a_failed_write_is_tried_again_and_a_node_out_of_tries_is_left_to_the_next_pass() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 3);
        world.last_renewal("0", secs(0.0));
    });
    let mut failures = 0;
    bench.refuse(move |request, _| {
        let fails = matches!(request, Request::PatchNodeStatus { .. }) && failures < 7;
        failures += i32::from(fails);
        fails.then_some(ErrorReason::InternalError)
    });
    bench.run_until(70.0);
    let writes = seconds_of(&bench.unknown_writes());
    assert_eq!(writes.len(), 8);
    within(writes[4] - writes[0], 0.08, 0.3);
    within(writes[5] - writes[4], 4.5, 5.5);
    assert_eq!(ready(&bench, "0"), Status::Unknown);
}

#[test]
fn a_post_of_the_kubelet_that_overtakes_the_unknown_wins() {
    let play = || {
        bench(|world| {
            add_nodes(world, "", 3);
            world.last_renewal("0", secs(0.0));
        })
    };
    let mut undisturbed = play();
    undisturbed.run_until(60.0);
    let written_at = undisturbed.unknown_writes()[0].0;
    let mut raced = play();
    raced.at(written_at - 0.002, |world| {
        world.revive("0");
        world.post_ready("0", Status::True);
    });
    raced.run_until(200.0);
    assert_eq!(raced.unknown_writes().len(), 1);
    assert_eq!(ready(&raced, "0"), Status::True);
    check_taints(&raced, "0", &[]);
}

#[test]
fn renewals_rarer_than_the_grace_make_a_living_node_flap() {
    let mut config = config();
    config.kube_controller_manager.node_monitor_grace_period = SimDuration::from_secs(4);
    let mut bench = bench_with(config, Start::Initial, |world| add_nodes(world, "", 2));
    bench.run_until(30.0);
    assert!(!bench.unknown_writes().is_empty());
}

#[test]
fn a_day_without_failures_plays_nothing() {
    let mut bench = bench(|world| add_nodes(world, "a", 50));
    bench.run_until(86_400.0);
    assert_eq!((bench.timers_fired, bench.requests.len(), bench.events.len()), (0, 0, 0));
}

#[test]
fn a_day_with_dead_nodes_plays_little() {
    let mut bench = bench(|world| add_nodes(world, "a", 30));
    silence(&mut bench, 10.0, "a", 0..20);
    bench.run_until(86_400.0);
    assert!(bench.timers_fired < 100, "{} timers", bench.timers_fired);
}

// ---- pods -----------------------------------------------------------------------------------------------------------

#[test]
fn each_ready_pod_is_marked_once_when_its_node_turns_unknown() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 12);
        for n in 0..10 {
            for p in 0..3 {
                world.add_pod(&format!("p-{n}-{p}"), Some(&n.to_string()), "[]");
            }
        }
        world.edit_pod("p-0-0", PodDelta::READY, |pod| pod.ready = None);
    });
    silence(&mut bench, 1.0, "", 0..10);
    bench.run_until(200.0);
    assert_eq!(bench.marks().len(), 29);
    let pod = bench.pod("p-3-2").unwrap();
    assert_eq!(pod.ready.unwrap().status, Status::False);
}

#[test]
fn pods_that_could_not_be_marked_are_tried_in_the_next_pass() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 2);
        world.add_pod("p", Some("0"), "[]");
    });
    let mut first = true;
    bench.refuse(move |request, _| {
        let fails = matches!(request, Request::PatchPodStatus { .. }) && std::mem::take(&mut first);
        fails.then_some(ErrorReason::InternalError)
    });
    silence(&mut bench, 1.0, "", 0..1);
    bench.run_until(100.0);
    let marks = bench.marks();
    assert_eq!(marks.len(), 2);
    within(marks[1] - marks[0], 4.9, 5.1);
    assert_eq!(bench.pod("p").unwrap().ready.unwrap().status, Status::False);
}

#[test]
fn a_posted_not_ready_marks_no_pod_but_taints() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 2);
        world.add_pod("p", Some("0"), "[]");
    });
    bench.at(10.0, |world| world.post_ready("0", Status::False));
    bench.run_until(10.1);
    check_taints(&bench, "0", &["not-ready:NoSchedule"]);
    bench.run_until(16.0);
    check_taints(&bench, "0", &["not-ready:NoExecute", "not-ready:NoSchedule"]);
    assert!(bench.marks().is_empty() && bench.messages("NodeNotReady").is_empty());
}

#[test]
fn a_node_that_goes_from_not_ready_to_unknown_marks_no_pod_and_swaps_its_taints() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 2);
        world.add_pod("p", Some("0"), "[]");
    });
    bench.at(10.0, |world| world.post_ready("0", Status::False));
    silence(&mut bench, 20.0, "", 0..1);
    bench.run_until(100.0);
    assert_eq!(ready(&bench, "0"), Status::Unknown);
    check_taints(&bench, "0", &["unreachable:NoExecute", "unreachable:NoSchedule"]);
    assert!(bench.marks().is_empty());
}

#[test]
fn a_ready_pod_newly_bound_to_a_node_that_is_not_ready_is_marked() {
    let mut bench = bench(|world| add_nodes(world, "", 2));
    bench.at(10.0, |world| world.post_ready("0", Status::False));
    bench.at(20.0, |world| {
        world.add_pod("down", Some("0"), "[]");
        world.add_pod("up", Some("1"), "[]");
    });
    bench.run_until(30.0);
    assert_eq!(bench.pod("down").unwrap().ready.unwrap().status, Status::False);
    assert_eq!(bench.pod("up").unwrap().ready.unwrap().status, Status::True);
    assert_eq!(bench.messages("NodeNotReady"), ["Node is not ready"]);
}

#[test]
fn ready_pods_that_a_fresh_process_finds_on_a_node_that_is_not_ready_are_marked_after_its_first_pass() {
    for (start, expected) in [(Start::Fresh, 2), (Start::Initial, 0)] {
        let mut bench = bench_with(config(), start, |world| {
            add_nodes(world, "", 2);
            world.set_condition("0", NodeConditionKind::Ready, Some(Status::False));
            for (pod, node) in [("down", "0"), ("up", "1"), ("also-down", "0")] {
                world.add_pod(pod, Some(node), "[]");
            }
        });
        bench.run_until(30.0);
        assert_eq!(bench.marks().len(), expected, "{start:?}");
        assert_eq!(bench.pod("up").unwrap().ready.unwrap().status, Status::True);
    }
}

#[test]
fn marking_120_pods_on_four_nodes_is_spread_by_the_client_and_delays_recoveries() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 4);
        add_nodes(world, "b", 8);
        for p in 0..120 {
            world.add_pod(&format!("p-{p}"), Some(&format!("a{}", p % 4)), "[]");
        }
        (0..4).for_each(|n| world.last_renewal(&format!("a{n}"), secs(0.0)));
    });
    bench.run_until(50.0);
    bench.run_until(90.0);
    let marks = bench.marks();
    assert_eq!(marks.len(), 120);
    // 8 status writes and taints, 120 marks and the events between them: as recorded, some six seconds.
    within(marks[119] - marks[0], 4.5, 8.0);
    let taints = bench.no_execute_writes(UNREACHABLE);
    within(taints[0].0 - marks[0], 0.0, 0.6);
}

// ---- nodes coming and going, restarts -------------------------------------------------------------------------------

#[test]
fn nodes_are_registered_and_removed_at_passes() {
    let mut bench = bench(|world| add_nodes(world, "", 2));
    bench.at(10.0, |world| {
        world.add_node("new", "z");
    });
    bench.at(20.0, |world| world.remove_node("new"));
    bench.run_until(15.1);
    assert_eq!(bench.messages("RegisteredNode"), ["Node new event: Registered Node new in Controller"]);
    bench.run_until(25.2);
    assert_eq!(bench.messages("RemovingNode"), ["Node new event: Removing Node new from Controller"]);
}

/// # Source
/// Node lifecycle controller, `tryUpdateNodeHealth`: what is remembered of a node outlives its object, but a Ready condition
/// with another heartbeat moves the probe.
#[test]
fn a_node_that_is_created_again_as_ready_has_its_grace() {
    let mut bench = bench(|world| add_nodes(world, "", 3));
    bench.at(10.0, |world| world.silence("0"));
    bench.at(80.0, |world| world.remove_node("0"));
    bench.at(100.0, |world| {
        world.add_silent_node("0", "", true);
    });
    bench.run_until(200.0);
    let writes: Vec<f64> = bench.unknown_writes().iter().map(|(at, _)| *at).collect();
    assert_eq!(writes.len(), 2, "{writes:?}");
    within(writes[1], 140.0, 156.0);
}

#[test]
fn a_fresh_process_strips_no_execute_taints_and_taints_dead_nodes_anew() {
    let mut bench = fresh(|world| {
        add_nodes(world, "", 3);
        world.last_renewal("0", secs(-100.0));
        world.set_condition("0", NodeConditionKind::Ready, Some(Status::Unknown));
        world.taint("0", UNREACHABLE, TaintEffect::NoSchedule);
        world.taint("0", UNREACHABLE, TaintEffect::NoExecute);
        world.taint("1", NOT_READY, TaintEffect::NoExecute);
    });
    bench.run_until(0.6);
    check_taints(&bench, "0", &["unreachable:NoExecute", "unreachable:NoSchedule"]);
    check_taints(&bench, "1", &[]);
    let writes = bench.requests.iter().filter_map(|(at, request)| match request {
        Request::PatchNodeTaints { node, add, .. } if *node == bench.node_id("0") => {
            Some((at.as_secs_f64(), add.len()))
        }
        _ => None,
    });
    let writes: Vec<(f64, usize)> = writes.collect();
    assert_eq!(writes.iter().map(|(_, added)| *added).collect::<Vec<_>>(), [0, 1]);
    within(writes[0].0, 0.35, 0.4);
    within(writes[1].0, 0.37, 0.5);
    assert_eq!(bench.messages("RegisteredNode").len(), 3);
}

#[test]
fn a_fresh_process_takes_taints_off_a_living_node_once_its_caches_are_filled_the_no_execute_one_first() {
    let mut bench = fresh(|world| {
        add_nodes(world, "", 2);
        world.taint("0", UNREACHABLE, TaintEffect::NoSchedule);
        world.taint("0", UNREACHABLE, TaintEffect::NoExecute);
    });
    bench.run_until(1.0);
    let removals = bench.requests.iter().filter_map(|(at, request)| match request {
        Request::PatchNodeTaints { remove, .. } => Some((at.as_secs_f64(), remove[0].1)),
        _ => None,
    });
    let removals: Vec<(f64, TaintEffect)> = removals.collect();
    assert_eq!(
        removals.iter().map(|(_, effect)| *effect).collect::<Vec<_>>(),
        [TaintEffect::NoExecute, TaintEffect::NoSchedule]
    );
    within(removals[0].0, 0.35, 0.4);
}

#[test]
fn a_fresh_process_gives_a_silent_node_a_whole_new_grace() {
    let mut bench = fresh(|world| {
        add_nodes(world, "", 2);
        world.last_renewal("0", secs(-45.0));
    });
    bench.run_until(50.0);
    assert!(bench.unknown_writes().is_empty());
    bench.run_until(57.0);
    within(bench.unknown_writes()[0].0, 50.3, 55.6);
}

#[test]
fn a_fresh_process_that_finds_everything_down_enters_master_disruption_at_once() {
    let mut bench = fresh(|world| {
        for n in 0..3 {
            world.add_silent_node(&format!("a{n}"), "a", true);
            world.set_condition(&format!("a{n}"), NodeConditionKind::Ready, Some(Status::Unknown));
        }
    });
    bench.run_until(2000.0);
    let late: Vec<_> = bench.no_execute_writes(UNREACHABLE).into_iter().filter(|(at, _)| *at > 0.6).collect();
    assert!(late.is_empty(), "{late:?}");
}

#[test]
fn a_process_that_has_been_running_knows_its_nodes() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 3);
        world.set_condition("0", NodeConditionKind::Ready, Some(Status::Unknown));
        world.taint("0", UNREACHABLE, TaintEffect::NoSchedule);
        world.taint("0", UNREACHABLE, TaintEffect::NoExecute);
        world.silence("0");
    });
    bench.run_until(100.0);
    assert!(bench.requests.is_empty() && bench.events.is_empty(), "{:?}", bench.requests);
}

#[test]
fn a_node_deleted_while_it_waits_for_its_taint_is_passed_over() {
    let mut bench = bench(|world| {
        add_nodes(world, "", 20);
        (0..3).for_each(|n| world.last_renewal(&n.to_string(), secs(0.0)));
    });
    bench.run_until(57.0);
    let first = bench.no_execute_writes(UNREACHABLE)[0].1.clone();
    let gone = (0..3).map(|n| n.to_string()).find(|n| *n != first).unwrap();
    bench.at(58.0, move |world| world.remove_node(&gone));
    bench.run_until(100.0);
    assert_eq!(bench.no_execute_writes(UNREACHABLE).len(), 2);
}
