//! The rules of the taint eviction controller, case by case.

use super::*;
use crate::component::ErrorReason;
use crate::state::PodPhase;
use crate::testing::{Lab, config, secs, within};

const MAINT: &str = "maint";

type Play = Lab<TaintEviction>;

fn bench_with(start: Start, setup: impl FnOnce(&mut Play)) -> Play {
    let mut bench = Lab::<TaintEviction>::new(config(), 7);
    bench.add_node("n", "");
    setup(&mut bench);
    bench.start_as(start);
    bench
}

fn bench(setup: impl FnOnce(&mut Play)) -> Play {
    bench_with(Start::Initial, setup)
}

fn tolerates(key: &str, seconds: Option<i64>) -> String {
    let seconds = seconds.map_or(String::new(), |s| format!(r#","tolerationSeconds":{s}"#));
    format!(r#"{{"key":"{key}","operator":"Exists","effect":"NoExecute"{seconds}}}"#)
}

fn taint_at(bench: &mut Play, at_s: f64, key: &'static str) {
    bench.at(at_s, move |world| world.taint("n", key, TaintEffect::NoExecute));
}

fn untaint_at(bench: &mut Play, at_s: f64, key: &'static str) {
    bench.at(at_s, move |world| world.untaint("n", key));
}

/// A pod with these tolerations; the node is tainted at 10 s. When it is deleted, or never.
#[track_caller]
fn check_deletion(tolerations: &[String], expected_s: Option<f64>) {
    let list = format!("[{}]", tolerations.join(","));
    let mut bench = bench(|world| {
        world.add_pod("p", Some("n"), &list);
    });
    taint_at(&mut bench, 10.0, MAINT);
    bench.run_until(2000.0);
    match (bench.deletions()[..].first(), expected_s) {
        (Some(at), Some(expected)) => within(*at, expected, expected + 0.1),
        (found, expected) => assert_eq!(found.copied(), expected, "{list}"),
    }
}

#[test]
fn the_shortest_matching_toleration_times_the_deletion() {
    check_deletion(&[], Some(10.0));
    check_deletion(&[tolerates("other", None)], Some(10.0));
    check_deletion(&[tolerates(MAINT, Some(100))], Some(110.0));
    check_deletion(&[tolerates(MAINT, None)], None);
    check_deletion(&[tolerates(MAINT, Some(0))], Some(10.0));
    check_deletion(&[tolerates(MAINT, Some(-5))], Some(10.0));
    check_deletion(&[tolerates(MAINT, Some(100)), tolerates(MAINT, None)], Some(110.0));
    check_deletion(&[tolerates(MAINT, None), tolerates(MAINT, Some(100))], None);
}

#[test]
fn a_deletion_reads_then_marks_then_deletes() {
    let mut bench = bench(|world| {
        world.add_pod("p", Some("n"), "[]");
    });
    taint_at(&mut bench, 10.0, MAINT);
    bench.run_until(20.0);
    assert_eq!((bench.reads.len(), bench.requests.len()), (1, 2));
    let Request::PatchPodStatus { patch, .. } = &bench.requests[0].1 else { panic!("{:?}", bench.requests) };
    assert_eq!(patch.disruption, Some((DisruptionReason::DeletionByTaintManager, true)));
    let Request::DeletePod { options, cause, .. } = &bench.requests[1].1 else { panic!("{:?}", bench.requests) };
    assert_eq!((options.grace_s, options.uid, *cause), (None, None, DeletionCause::TaintManagerEviction));
    assert_eq!(bench.messages("TaintManagerEviction"), ["Marking for deletion Pod default/p"]);
}

#[test]
fn a_condition_that_is_there_already_is_not_written_again() {
    let mut bench = bench(|world| {
        world.add_pod("p", Some("n"), "[]");
        world.edit_pod("p", PodDelta::CONDITIONS, |pod| {
            let reason = DisruptionReason::DeletionByTaintManager;
            pod.disruption_target = Some(crate::state::DisruptionTarget { reason, since: SimTime::ZERO, status: true });
        });
    });
    taint_at(&mut bench, 10.0, MAINT);
    bench.run_until(20.0);
    assert_eq!(bench.requests.len(), 1);
}

#[test]
fn of_two_taints_an_untolerated_one_decides_at_once_and_else_the_shorter_time() {
    let mut one = bench(|world| {
        world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(100))));
        world.add_pod("q", Some("n"), &format!("[{},{}]", tolerates(MAINT, Some(1)), tolerates("b", Some(100))));
    });
    one.at(10.0, |world| {
        world.taint("n", MAINT, TaintEffect::NoExecute);
        world.taint("n", "b", TaintEffect::NoExecute);
    });
    one.run_until(10.1);
    assert_eq!(one.deletions().len(), 1);
    one.run_until(11.1);
    within(one.deletions()[1], 11.0, 11.1);
}

#[test]
fn a_toleration_removed_while_a_timer_is_pending_deletes_now() {
    let mut bench = bench(|world| {
        world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(100))));
    });
    taint_at(&mut bench, 10.0, MAINT);
    bench.at(20.0, |world| world.set_tolerations("p", "[]"));
    bench.run_until(200.0);
    assert_eq!(bench.deletions().len(), 1);
    within(bench.deletions()[0], 20.0, 20.1);
    let messages = bench.messages("TaintManagerEviction");
    assert_eq!(messages, ["Cancelling deletion of Pod default/p", "Marking for deletion Pod default/p"]);
}

#[test]
fn a_pending_timer_keeps_its_due_time_whatever_the_new_seconds() {
    for (first, second) in [(1, 100), (100, 1), (100, 0)] {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(first))));
        });
        taint_at(&mut bench, 10.0, MAINT);
        bench.at(10.5, move |world| world.set_tolerations("p", &format!("[{}]", tolerates(MAINT, Some(second)))));
        bench.run_until(500.0);
        let due = 10.0 + first as f64;
        within(bench.deletions()[0], due, due + 0.1);
    }
}

#[test]
fn a_taint_removed_in_time_cancels_with_an_event() {
    let mut bench = bench(|world| {
        world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
        world.add_pod("forever", Some("n"), &format!("[{}]", tolerates(MAINT, None)));
    });
    taint_at(&mut bench, 10.0, MAINT);
    untaint_at(&mut bench, 20.0, MAINT);
    bench.run_until(500.0);
    assert!(bench.deletions().is_empty());
    assert_eq!(bench.messages("TaintManagerEviction"), ["Cancelling deletion of Pod default/p"]);
}

#[test]
fn a_taint_that_comes_back_begins_anew() {
    let mut bench = bench(|world| {
        world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
    });
    taint_at(&mut bench, 10.0, MAINT);
    untaint_at(&mut bench, 20.0, MAINT);
    taint_at(&mut bench, 25.0, MAINT);
    bench.run_until(500.0);
    assert_eq!(bench.deletions().len(), 1);
    within(bench.deletions()[0], 55.0, 55.1);
    let messages = bench.messages("TaintManagerEviction");
    assert_eq!(messages, ["Cancelling deletion of Pod default/p", "Marking for deletion Pod default/p"]);
}

#[test]
fn a_second_taint_of_finite_tolerance_starts_a_timer_and_its_removal_takes_it_back() {
    let tolerations = format!("[{},{}]", tolerates(MAINT, None), tolerates("b", Some(60)));
    let mut bench = bench(|world| {
        world.add_pod("p", Some("n"), &tolerations);
    });
    taint_at(&mut bench, 10.0, MAINT);
    taint_at(&mut bench, 20.0, "b");
    untaint_at(&mut bench, 30.0, "b");
    bench.run_until(15.0);
    assert_eq!(bench.component().work.len(), 0);
    bench.run_until(25.0);
    assert_eq!(bench.component().work.len(), 1);
    bench.run_until(500.0);
    assert!(bench.deletions().is_empty() && bench.component().groups.is_empty());
}

#[test]
fn three_pods_go_each_at_their_own_time_and_all_at_once_with_a_second_untolerated_taint() {
    let setup = |world: &mut Play| {
        world.add_pod("none", Some("n"), "[]");
        world.add_pod("one", Some("n"), &format!("[{}]", tolerates(MAINT, Some(1))));
        world.add_pod("forever", Some("n"), &format!("[{}]", tolerates(MAINT, None)));
    };
    let mut single = bench(setup);
    taint_at(&mut single, 10.0, MAINT);
    single.run_until(500.0);
    assert_eq!(single.deletions().len(), 2);
    within(single.deletions()[1], 11.0, 11.1);
    let mut double = bench(setup);
    taint_at(&mut double, 10.0, MAINT);
    taint_at(&mut double, 10.0, "b");
    double.run_until(10.2);
    assert!(double.store().pods().all(|(_, pod)| pod.deletion.is_some()));
}

#[test]
fn a_pod_bound_to_a_tainted_node_counts_from_then() {
    let mut bench = bench(|_| ());
    taint_at(&mut bench, 10.0, MAINT);
    bench.at(50.0, |world| {
        world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
    });
    bench.run_until(500.0);
    within(bench.deletions()[0], 80.0, 80.1);
}

#[test]
fn a_deleted_node_is_forgotten_but_its_timers_still_fire() {
    let mut bench = bench(|world| {
        world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
    });
    taint_at(&mut bench, 10.0, MAINT);
    bench.at(20.0, |world| world.remove_node("n"));
    bench.run_until(500.0);
    assert!(bench.component().tainted.is_empty());
    within(bench.deletions()[0], 40.0, 40.1);
}

#[test]
fn a_pod_deleted_by_somebody_else_takes_its_timer_along() {
    let mut bench = bench(|world| {
        world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
        world.add_pod("free", Some("n"), "[]");
    });
    bench.at(5.0, |world| world.remove_pod("free"));
    taint_at(&mut bench, 10.0, MAINT);
    bench.at(20.0, |world| world.remove_pod("p"));
    bench.run_until(500.0);
    assert!(bench.requests.is_empty());
    assert_eq!(bench.messages("TaintManagerEviction"), ["Cancelling deletion of Pod default/p"]);
}

#[test]
fn a_swap_of_unreachable_for_not_ready_keeps_the_due_time() {
    let keys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    let mut bench = bench(|world| {
        let list: Vec<String> = keys.iter().map(|key| tolerates(key, Some(300))).collect();
        world.add_pod("p", Some("n"), &format!("[{}]", list.join(",")));
    });
    taint_at(&mut bench, 10.0, keys[0]);
    taint_at(&mut bench, 110.0, keys[1]);
    untaint_at(&mut bench, 110.02, keys[0]);
    bench.run_until(1000.0);
    within(bench.deletions()[0], 310.0, 310.1);
    assert_eq!(bench.messages("TaintManagerEviction").len(), 1);
}

#[test]
fn a_fresh_process_counts_from_its_own_start() {
    let mut bench = bench_with(Start::Fresh, |world| {
        world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
        world.taint("n", MAINT, TaintEffect::NoExecute);
        let node = world.node_id("n");
        world.edit_node(node, NodeDelta::TAINTS, |node| node.taints[0].added_at = Some(secs(-100.0)));
    });
    bench.run_until(500.0);
    within(bench.deletions()[0], 30.0, 30.5);
}

#[test]
fn a_fresh_process_marks_a_pod_that_tolerates_nothing_twice() {
    let check = |start: Start, toleration: Option<i64>, expected: usize| {
        let mut bench = bench_with(start, |world| {
            let tolerations = toleration.map_or("[]".to_owned(), |s| format!("[{}]", tolerates(MAINT, Some(s))));
            world.add_pod("p", Some("n"), &tolerations);
            world.taint("n", MAINT, TaintEffect::NoExecute);
        });
        bench.run_until(20.0);
        assert_eq!(bench.messages("TaintManagerEviction"), vec!["Marking for deletion Pod default/p"; expected]);
    };
    check(Start::Fresh, None, 2);
    check(Start::Fresh, Some(10), 1);
    check(Start::Initial, None, 1);
}

#[test]
fn a_process_that_has_been_running_counts_from_the_taint() {
    let mut bench = bench(|world| {
        world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(300))));
        world.taint("n", MAINT, TaintEffect::NoExecute);
        world.edit_pod("p", PodDelta::NONE, |pod| pod.scheduled_at = Some(secs(-1000.0)));
        let node = world.node_id("n");
        world.edit_node(node, NodeDelta::TAINTS, |node| node.taints[0].added_at = Some(secs(-100.0)));
    });
    bench.run_until(500.0);
    within(bench.deletions()[0], 200.0, 200.1);
}

#[test]
fn many_pods_of_a_node_are_all_read_before_any_is_marked_before_any_is_deleted() {
    let mut bench = bench(|world| {
        for n in 0..110 {
            world.add_pod(&format!("p-{n}"), Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
        }
    });
    taint_at(&mut bench, 10.0, MAINT);
    bench.run_until(100.0);
    let deletions = bench.deletions();
    assert_eq!(deletions.len(), 110);
    // Without events 9.6 and 15 s after the timers fired; one event may stand before each.
    within(deletions[0] - 40.0, 8.0, 10.5);
    within(deletions[109] - 40.0, 14.0, 20.5);
    assert!(bench.reads.last() < bench.requests.first().map(|(at, _)| at));
    assert!(bench.timers_fired <= 1);
}

#[test]
fn a_thousand_pods_wait_for_the_client_for_a_minute_and_a_half_before_the_first_goes() {
    let mut bench = bench(|world| {
        for n in 0..1000 {
            world.add_pod(&format!("p-{n}"), Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
        }
    });
    taint_at(&mut bench, 10.0, MAINT);
    bench.run_until(1000.0);
    let deletions = bench.deletions();
    assert_eq!(deletions.len(), 1000);
    // Reads, marks and deletions are 3,000 calls at 20 a second after a burst of 30; a few events stand between them.
    within(deletions[0] - 40.0, 98.0, 103.0);
    within(deletions[999] - 40.0, 148.0, 155.0);
}

#[test]
fn a_failing_deletion_is_tried_five_times_and_dropped() {
    let mut bench = bench(|world| {
        world.add_pod("p", Some("n"), "[]");
    });
    bench.refuse(|request, _| matches!(request, Request::DeletePod { .. }).then_some(ErrorReason::InternalError));
    taint_at(&mut bench, 10.0, MAINT);
    bench.run_until(100.0);
    assert_eq!(bench.deletions().len(), 5);
    assert!(bench.component().work.is_empty());
    assert_eq!(bench.messages("TaintManagerEviction").len(), 1);
}

#[test]
fn finished_and_terminating_pods_are_deleted_like_others() {
    let mut bench = bench(|world| {
        world.add_pod("done", Some("n"), "[]");
        world.edit_pod("done", PodDelta::PHASE, |pod| pod.phase = PodPhase::Succeeded);
        world.add_pod("going", Some("n"), "[]");
        world.edit_pod("going", PodDelta::DELETION, |pod| {
            pod.deletion = Some(crate::state::Deletion {
                requested_at: SimTime::ZERO,
                deadline: secs(1e6),
                grace: SimDuration::from_secs(30),
                cause: DeletionCause::Kubectl,
            });
        });
    });
    taint_at(&mut bench, 10.0, MAINT);
    bench.run_until(20.0);
    assert_eq!(bench.deletions().len(), 2);
    assert!(bench.pod("done").is_none());
}

#[track_caller]
fn check_events_of_a_finished_pod(watch_ms: u64, expected: &[&str]) {
    let mut bench = bench(|world| {
        world.add_pod("done", Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
        world.edit_pod("done", PodDelta::PHASE, |pod| pod.phase = PodPhase::Succeeded);
    });
    bench.watch_latency(SimDuration::from_millis(watch_ms));
    taint_at(&mut bench, 10.0, MAINT);
    bench.run_until(60.0);
    assert!(bench.pod("done").is_none());
    assert_eq!(bench.messages("TaintManagerEviction"), expected);
}

#[test]
fn a_finished_pod_seen_to_go_before_its_deletion_is_answered_is_said_to_be_spared() {
    let marking = "Marking for deletion Pod default/done";
    check_events_of_a_finished_pod(1, &[marking, "Cancelling deletion of Pod default/done"]);
    check_events_of_a_finished_pod(50, &[marking]);
}

#[test]
fn a_later_change_of_the_taints_evicts_a_terminating_pod_again() {
    let mut bench = bench(|world| {
        world.add_pod("p", Some("n"), "[]");
    });
    taint_at(&mut bench, 10.0, MAINT);
    taint_at(&mut bench, 20.0, "b");
    bench.run_until(30.0);
    assert_eq!(bench.deletions().len(), 2);
}

#[test]
fn unbound_pods_and_untainted_nodes_are_left_alone() {
    let mut bench = bench(|world| {
        world.add_node("other", "");
        world.add_pod("unbound", None, "[]");
        world.add_pod("elsewhere", Some("other"), "[]");
    });
    taint_at(&mut bench, 10.0, MAINT);
    bench.at(20.0, |world| world.taint("other", MAINT, TaintEffect::NoSchedule));
    bench.run_until(100.0);
    assert!(bench.requests.is_empty() && bench.events.is_empty());
}

#[test]
fn the_hash_of_the_workers_is_fnv_1a() {
    assert_eq!(fnv1a_32(""), 0x811c_9dc5);
    assert_eq!(fnv1a_32("a"), 0xe40c_292c);
    assert_eq!(fnv1a_32("foobar"), 0xbf9c_f968);
}
