//! The rules of the node lifecycle controller, case by case.

use super::*;
use crate::arena::Symbol;
use crate::component::{ErrorReason, Request};
use crate::model::TaintEffect;
use crate::model::config::KubernetesVersion;
use crate::state::{NodeConditionKind, PodDelta};
use crate::testing::{Lab, config, secs, within};

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

// ---- heartbeats and status --------------------------------------------------------------------------------------------

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
    assert!(bench.marks().is_empty());
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

// ---- pods -------------------------------------------------------------------------------------------------------------

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
fn a_ready_pod_on_a_node_whose_health_is_not_known_yet_is_not_marked() {
    let mut bench = fresh(|world| {
        add_nodes(world, "", 2);
        world.set_condition("0", NodeConditionKind::Ready, Some(Status::False));
    });
    bench.at(0.1, |world| {
        world.add_pod("p", Some("0"), "[]");
    });
    bench.run_until(30.0);
    assert!(bench.marks().is_empty());
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

// ---- zones ------------------------------------------------------------------------------------------------------------

#[test]
fn a_cluster_that_is_down_as_a_whole_loses_its_taints_and_gets_no_new_ones() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 3);
        (0..3).for_each(|n| world.last_renewal(&format!("a{n}"), secs(-3.0 * n as f64)));
    });
    bench.run_until(10_000.0);
    assert_eq!(bench.unknown_writes().len(), 3);
    for n in 0..3 {
        check_taints(&bench, &format!("a{n}"), &["unreachable:NoSchedule"]);
    }
    let writes = bench.no_execute_writes(UNREACHABLE);
    assert!(writes.iter().all(|(at, _)| *at < 70.0), "{writes:?}");
}

#[test]
fn a_returning_node_of_a_dead_zone_of_three_resumes_tainting_after_a_full_interval() {
    let mut bench = bench(|world| add_nodes(world, "a", 3));
    silence(&mut bench, 1.0, "a", 0..3);
    bench.at(1000.0, |world| {
        world.revive("a0");
        world.post_ready("a0", Status::True);
    });
    bench.run_until(1200.0);
    let writes: Vec<_> =
        bench.no_execute_writes(UNREACHABLE).into_iter().filter(|(at, _)| *at > 1000.0).map(|(at, _)| at).collect();
    assert_eq!(writes.len(), 2);
    within(writes[0], 1010.0, 1015.2);
    within(writes[1] - writes[0], 9.99, 10.15);
}

#[test]
fn a_returning_node_of_a_dead_zone_of_twenty_leaves_tainting_stopped() {
    let mut bench = bench(|world| add_nodes(world, "a", 20));
    silence(&mut bench, 1.0, "a", 0..20);
    bench.at(1000.0, |world| {
        world.revive("a0");
        world.post_ready("a0", Status::True);
    });
    bench.run_until(3000.0);
    assert!(bench.no_execute_writes(UNREACHABLE).iter().all(|(at, _)| *at < 1000.0));
}

#[test]
fn leaving_master_disruption_gives_nodes_that_are_not_unknown_yet_a_new_grace() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 2);
        world.post_ready("a1", Status::False);
        world.post_ready("a0", Status::False);
    });
    // Both not ready: all zones are down. a1 falls silent; a0 returns 40 s later.
    bench.at(20.0, |world| world.last_renewal("a1", secs(20.0)));
    bench.at(60.0, |world| world.post_ready("a0", Status::True));
    bench.run_until(200.0);
    let writes = bench.unknown_writes();
    assert_eq!(writes.len(), 1);
    within(writes[0].0, 110.0, 120.2);
}

#[test]
fn one_dead_zone_of_two_is_tainted_at_the_normal_rate() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 5);
        add_nodes(world, "b", 1);
        (0..5).for_each(|n| world.last_renewal(&format!("a{n}"), secs(0.0)));
    });
    bench.run_until(200.0);
    let writes = seconds_of(&bench.no_execute_writes(UNREACHABLE));
    assert_eq!(writes.len(), 5);
    within(writes[0], 50.0, 55.3);
    for pair in writes.windows(2) {
        within(pair[1] - pair[0], 9.99, 10.2);
    }
}

#[test]
fn two_zones_are_tainted_independently() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 6);
        add_nodes(world, "b", 6);
        for zone in ["a", "b"] {
            (0..2).for_each(|n| world.last_renewal(&format!("{zone}{n}"), secs(0.0)));
        }
    });
    bench.run_until(100.0);
    let writes = bench.no_execute_writes(UNREACHABLE);
    assert_eq!(writes.len(), 4);
    within(writes[1].0 - writes[0].0, 0.0, 0.3);
    assert_ne!(writes[0].1.as_bytes()[0], writes[1].1.as_bytes()[0]);
    within(writes[3].0 - writes[0].0, 9.99, 10.3);
}

#[test]
fn a_small_zone_in_partial_disruption_stops_after_those_tainted_before() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 20);
        world.add_node("b0", "b");
        (0..12).for_each(|n| world.last_renewal(&format!("a{n}"), secs(0.0)));
    });
    bench.run_until(2000.0);
    assert_eq!(bench.unknown_writes().len(), 12);
    assert!(bench.no_execute_writes(UNREACHABLE).len() <= 1);
}

#[test]
fn a_large_zone_in_partial_disruption_uses_the_secondary_rate() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 60);
        world.add_node("b0", "b");
        (0..40).for_each(|n| world.last_renewal(&format!("a{n}"), secs(0.0)));
    });
    bench.run_until(1000.0);
    let writes = seconds_of(&bench.no_execute_writes(UNREACHABLE));
    within(writes.len() as f64, 9.0, 11.0);
    within(writes[3] - writes[2], 99.9, 100.3);
}

#[test]
fn a_zone_of_fifty_is_small_and_one_of_fifty_one_is_large() {
    let tainted = |size: usize| {
        let mut bench = bench(|world| {
            add_nodes(world, "a", size);
            world.add_node("b0", "b");
            (0..30).for_each(|n| world.last_renewal(&format!("a{n}"), secs(0.0)));
        });
        bench.run_until(1000.0);
        bench.no_execute_writes(UNREACHABLE).len()
    };
    assert!(tainted(50) <= 1);
    within(tainted(51) as f64, 9.0, 11.0);
}

#[test]
fn the_only_node_losing_its_ready_condition_is_full_disruption() {
    let mut bench = bench(|world| add_nodes(world, "a", 1));
    bench.at(10.0, |world| world.set_condition("a0", NodeConditionKind::Ready, None));
    bench.run_until(20.0);
    let key = super::zones::ZoneKey::of(&bench.node("a0").labels);
    assert_eq!(bench.component().zones.state(key), Some(zones::ZoneState::FullDisruption));
}

#[test]
fn a_node_excluded_from_disruption_does_not_count() {
    let mut bench = bench(|world| {
        let master = world.add_node("master", "a");
        world.edit_node(master, NodeDelta::LABELS, |node| {
            node.labels = node.labels.with(Symbol::new("node.kubernetes.io/exclude-disruption"), Symbol::empty());
        });
        world.add_node("a0", "a");
        world.last_renewal("a0", secs(0.0));
    });
    bench.run_until(1000.0);
    let key = super::zones::ZoneKey::of(&bench.node("a0").labels);
    assert_eq!(bench.component().zones.state(key), Some(zones::ZoneState::FullDisruption));
    check_taints(&bench, "a0", &["unreachable:NoSchedule"]);
}

// ---- taints -----------------------------------------------------------------------------------------------------------

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

// ---- nodes coming and going, restarts ---------------------------------------------------------------------------------

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
