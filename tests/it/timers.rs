//! `timers.csv` and `inventory.csv`: waits with a deadline, and the nodes that there were.

use kubesquall::observe::{InventoryRow, Observed, TimerEnd, TimerKind, TimerRow};
use kubesquall::units::SimDuration;

use super::figures::{play, web};

fn of(observed: &Observed, kind: TimerKind) -> Vec<&TimerRow> {
    observed.timers.iter().filter(|row| row.kind == kind).collect()
}

fn secs(row: &TimerRow) -> (f64, f64, Option<f64>) {
    (row.set_at.as_secs_f64(), row.due_at.as_secs_f64(), row.ended_at.map(|at| at.as_secs_f64()))
}

#[test]
fn tolerations_run_down_on_a_node_that_stays_away_and_are_taken_back_on_one_that_returns() {
    let timeline = "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0]}, for: 3m}}, {at: 1m, fault: {kind: Crash, nodes: {names: [n-1]}}}";
    let observed = play("20m", timeline, &[&web(6)]);
    let tolerations = of(&observed, TimerKind::Toleration);
    let evicted = observed.pods.iter().filter(|pod| pod.deletion_cause.is_some()).count();
    let ended = |end: TimerEnd| tolerations.iter().filter(move |row| row.end == end);
    assert_eq!(ended(TimerEnd::Fired).count(), evicted, "who is evicted had a timer");
    assert!(evicted > 0 && ended(TimerEnd::Cancelled).count() > 0);
    for row in &tolerations {
        let (set, due, at) = secs(row);
        assert_eq!((due - set, row.length.as_secs_f64()), (300.0, 300.0));
        assert_eq!(
            (row.taint.as_str(), row.by),
            ("node.kubernetes.io/unreachable:NoExecute", "DefaultTolerationSeconds")
        );
        let added = observed.taints.iter().find(|taint| taint.node == row.node && taint.effect.as_str() == "NoExecute");
        let added = added.expect("the node is tainted").at.as_secs_f64();
        assert!((0.0..1.0).contains(&(set - added)), "set when the controller sees the taint: {row:?}");
        match row.end {
            TimerEnd::Fired => assert_eq!((row.node.as_str(), at), ("n-1", Some(due))),
            TimerEnd::Cancelled => assert!(row.node.as_str() == "n-0" && at.is_some_and(|at| at < due)),
            TimerEnd::None | TimerEnd::Lost => panic!("{row:?}"),
        }
    }
}

#[test]
fn a_silence_counts_from_the_last_sign_of_life_and_ends_with_the_pass_that_notices_it() {
    let observed = play("20m", "{at: 5m, fault: {kind: Crash, nodes: {names: [n-0, n-2]}}}", &[&web(3)]);
    let silences = of(&observed, TimerKind::NodeMonitorGrace);
    assert_eq!(silences.len(), 2);
    for row in silences {
        let (set, due, ended) = secs(row);
        assert_eq!(row.length.as_secs_f64(), 50.0);
        // Leases are renewed every ten seconds, and the monitor looks every five.
        assert!((290.0..=300.0).contains(&set) && (50.0..=55.1).contains(&(due - set)), "{row:?}");
        let ended = ended.expect("noticed");
        assert!((0.0..=5.1).contains(&(ended - due)), "{row:?}");
        let unknown = observed.nodes.iter().find(|node| node.node == row.node && node.ready == "Unknown");
        let unknown = unknown.expect("the node is Unknown").at.as_secs_f64();
        assert!((0.0..0.5).contains(&(unknown - ended)), "{row:?} {unknown}");
    }
}

#[test]
fn a_controller_manager_that_starts_anew_has_lost_its_timers_and_sets_them_again() {
    let timeline = "{at: 1m, fault: {kind: Partition, nodes: {names: [n-0]}}}, \
                    {at: 3m, fault: {kind: ControlPlaneOutage, components: [kube-controller-manager], for: 1m}}";
    let observed = play("20m", timeline, &[&web(3)]);
    let on_node = of(&observed, TimerKind::Toleration);
    // The new process takes the node for a new one, and strips and taints it again.
    let ends: Vec<TimerEnd> = on_node.iter().map(|row| row.end).collect();
    assert_eq!(ends, [TimerEnd::Lost, TimerEnd::Cancelled, TimerEnd::Fired]);
    assert_eq!(secs(on_node[0]).2, Some(240.0));
    assert!(secs(on_node[1]).0 > 240.0);
}

#[test]
fn what_a_pod_has_to_end_runs_from_its_deletion_and_is_over_with_it() {
    let timeline = "{at: 1m, kubectl: delete pod -l app=web}, {at: 2m, fault: {kind: KubeletStop, nodes: {names: [n-0]}}}, \
                    {at: 3m, kubectl: delete pod -l app=web --wait=false}";
    let observed = play("5m", timeline, &[&web(3)]);
    let graces = of(&observed, TimerKind::TerminationGrace);
    assert_eq!(graces.len(), 6);
    for row in graces {
        let (set, due, ended) = secs(row);
        assert_eq!((row.due_at.saturating_since(row.set_at), row.length), (row.length, SimDuration::from_secs(30)));
        if row.node.as_str() == "n-0" && set > 170.0 {
            assert_eq!((ended, row.end), (None, TimerEnd::None), "nobody ends it");
        } else {
            assert!(ended.is_some_and(|at| at <= due + 1.0), "{row:?}");
        }
    }
}

#[test]
fn nodes_that_join_and_leave_have_their_place_and_their_times() {
    let timeline =
        "{at: 1m, fault: {kind: InstanceGone, nodes: {names: [n-1]}}}, {at: 2m, addNodes: {pool: n, count: 1}}";
    let observed = play("20m", timeline, &[&web(3)]);
    let row = |row: &InventoryRow| {
        let left = row.left_at.map(|at| at.as_secs_f64());
        (row.node.to_string(), row.joined_at.as_secs_f64(), left, row.pool.to_string(), row.cpu_milli, row.pods)
    };
    let rows: Vec<_> = observed.inventory.iter().map(row).collect();
    let [first, gone, _, joined] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(*first, ("n-0".to_owned(), 0.0, None, "n".to_owned(), 4000, 20));
    assert!(gone.2.is_some_and(|at| at > 60.0));
    assert!(joined.1 > 120.0 && joined.3 == "n");
}
