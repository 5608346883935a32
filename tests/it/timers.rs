//! `timers.csv` and `inventory.csv`: waits with a deadline, and the nodes that there were.

use kubesquall::observe::{InventoryRow, Observed, TimerEnd, TimerKind, TimerRow};
use kubesquall::units::SimDuration;

use super::figures::{play, pod, web};

fn of(observed: &Observed, kind: TimerKind) -> Vec<&TimerRow> {
    observed.timers.iter().filter(|row| row.kind == kind).collect()
}

fn end(row: &TimerRow) -> Option<TimerEnd> {
    row.end.map(|(_, end)| end)
}

fn secs(row: &TimerRow) -> (f64, f64, Option<f64>) {
    (row.set_at.as_secs_f64(), row.due_at.as_secs_f64(), row.end.map(|(at, _)| at.as_secs_f64()))
}

#[test]
fn tolerations_run_down_on_a_node_that_stays_away_and_are_taken_back_on_one_that_returns() {
    let timeline = "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0]}, for: 3m}}, {at: 1m, fault: {kind: Crash, nodes: {names: [n-1]}}}";
    let observed = play("20m", timeline, &[&web(6)]);
    let tolerations = of(&observed, TimerKind::Toleration);
    let evicted = observed.pods.iter().filter(|pod| pod.deletion_cause.is_some()).count();
    let ended = |wanted: TimerEnd| tolerations.iter().filter(move |row| end(row) == Some(wanted));
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
        match end(row) {
            Some(TimerEnd::Fired) => assert_eq!((row.node.as_str(), at), ("n-1", Some(due))),
            Some(TimerEnd::Cancelled) => assert!(row.node.as_str() == "n-0" && at.is_some_and(|at| at < due)),
            None | Some(TimerEnd::Lost) => panic!("{row:?}"),
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
        assert!((unknown - ended).abs() < 0.5, "{row:?} {unknown}");
    }
}

#[test]
fn a_controller_manager_that_starts_anew_has_lost_its_timers_and_sets_them_again() {
    let timeline = "{at: 1m, fault: {kind: Partition, nodes: {names: [n-0]}}}, \
                    {at: 3m, fault: {kind: ControlPlaneOutage, components: [kube-controller-manager], for: 1m}}";
    let observed = play("20m", timeline, &[&web(3)]);
    let on_node = of(&observed, TimerKind::Toleration);
    // The new process takes the node for a new one, and strips and taints it again.
    let ends: Vec<TimerEnd> = on_node.iter().filter_map(|row| end(row)).collect();
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
            assert_eq!(row.end, None, "nobody ends it");
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

#[test]
fn pods_and_nodes_say_where_they_are_and_what_is_asked_of_each_node() {
    let asking = web(6).replace("image: i", "image: i, resources: {requests: {cpu: 100m, memory: 64Mi}}");
    let timeline = "{at: 1m, kubectl: label node --all topology.kubernetes.io/zone=b}, {at: 2m, kubectl: delete pod -l app=web --wait=false}, \
                    {at: 4m, kubectl: delete node n-1 --wait=false}";
    let observed = play("5m", timeline, &[&asking]);
    for pod in &observed.pods {
        let zone = if pod.initial { "" } else { "b" };
        assert_eq!((pod.zone.as_str(), pod.pool.as_str()), (zone, "n"), "{pod:?}");
    }
    for row in &observed.nodes {
        let asked = (row.requested.cpu_milli, row.requested.memory);
        assert_eq!(asked, (100 * row.requested.pods, 67_108_864 * row.requested.pods), "{row:?}");
        let zone = if row.at.as_secs_f64() < 60.0 { "" } else { "b" };
        assert_eq!((row.zone.as_str(), row.pool.as_str()), (zone, "n"), "{row:?}");
    }
    let at = |seconds: f64| observed.nodes.iter().filter(move |row| (row.at.as_secs_f64() - seconds).abs() < 1.0);
    assert_eq!(at(0.0).map(|row| row.requested.pods).sum::<i64>(), 6);
    assert_eq!(at(60.0).count(), 3, "a row for each node that has another zone");
    assert!(observed.nodes.iter().any(|row| row.ready == "Absent" && row.zone == "b"), "as it was last");
}

#[test]
fn a_grace_that_nobody_can_keep_ends_with_its_pod_and_one_that_was_made_shorter_with_the_request() {
    let timeline = "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0]}, for: 3m}}, {at: 2m, kubectl: delete pod -l app=web \
                    --wait=false --grace-period=7}, {at: 200s, kubectl: delete pod -l app=web --wait=false --grace-period=5}";
    let observed = play("10m", timeline, &[&web(3)]);
    let first: Vec<&TimerRow> = of(&observed, TimerKind::TerminationGrace);
    let on_dead: Vec<_> = first.iter().filter(|row| row.node.as_str() == "n-0").collect();
    let [first, second] = on_dead[..] else { panic!("{on_dead:?}") };
    assert_eq!((first.length, first.by), (SimDuration::from_secs(7), "request"));
    let (_, due, ended) = secs(first);
    assert_eq!(end(first), Some(TimerEnd::Fired), "its time was over when it was made shorter: {first:?}");
    assert!(ended.is_some_and(|at| at > due && (at - 200.0).abs() < 1.0), "{first:?}");
    assert_eq!(end(second), Some(TimerEnd::Fired));
    assert!(secs(second).2.is_some_and(|at| at > 240.0), "no kubelet before: {second:?}");
}

#[test]
fn a_silence_has_a_row_only_once_it_is_held_against_its_node() {
    let timeline = "{at: 1m, fault: {kind: ControlPlaneOutage, components: [kube-apiserver], for: 10m}}, \
                    {at: 14m, fault: {kind: Crash, nodes: {names: [n-1]}}}";
    let observed = play("20m", timeline, &[&web(3)]);
    let silences = of(&observed, TimerKind::NodeMonitorGrace);
    let unknown = observed.nodes.iter().filter(|row| row.ready == "Unknown" && row.node.as_str() == "n-1").count();
    assert!(unknown > 0);
    let nodes: Vec<&str> = silences.iter().map(|row| row.node.as_str()).collect();
    assert_eq!(nodes, ["n-1"], "{silences:?}");
}

#[test]
fn who_says_how_long_a_wait_is_is_told() {
    let lone = pod("lone", "");
    let own = "{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 40}";
    let patient = pod("patient", "").replace("spec: {", &format!("spec: {{tolerations: [{own}], "));
    let timeline =
        "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0]}}}, {at: 2m, fault: {kind: Partition, nodes: {pool: n}}}";
    let observed = play("10m", timeline, &[&lone, &patient]);
    let tolerations = of(&observed, TimerKind::Toleration);
    let by = |name: &str| tolerations.iter().find(|row| &*row.name == name).map(|row| row.by);
    assert_eq!(by("lone"), Some("DefaultTolerationSeconds"));
    assert_eq!(by("patient"), Some("spec"));
    let times: Vec<_> = observed.timers.iter().map(|row| row.set_at).collect();
    assert!(times.is_sorted(), "{times:?}");
}

#[test]
fn a_node_that_is_created_again_under_its_name_is_silent_from_then_on() {
    let node = "<<EOF\\n{apiVersion: v1, kind: Node, metadata: {name: n-1}, status: {allocatable: {cpu: '8', memory: 8Gi, pods: '20'}}}\\nEOF";
    let timeline = format!(
        "{{at: 1m, fault: {{kind: Crash, nodes: {{names: [n-1]}}}}}}, {{at: 160s, kubectl: delete node n-1}}, \
         {{at: 161s, kubectl: \"create -f - {node}\"}}"
    );
    let observed = play("10m", &timeline, &[&web(3)]);
    let silences = of(&observed, TimerKind::NodeMonitorGrace);
    let graces: Vec<&str> = silences.iter().map(|row| row.by).collect();
    assert!(graces.contains(&"--node-startup-grace-period"), "{silences:?}");
    for row in silences {
        let (_, due, ended) = secs(row);
        assert!(end(row) == Some(TimerEnd::Fired) && ended.is_some_and(|at| at >= due), "{row:?}");
    }
}
