//! In which order nodes are looked at, and where the search ends.

use serde_json::json;

use super::Cluster;

fn zoned(zones: &[&str]) -> Cluster {
    zones.iter().enumerate().fold(Cluster::new(), |cluster, (i, zone)| {
        let labels = if zone.is_empty() { json!({}) } else { json!({"topology.kubernetes.io/zone": zone}) };
        cluster.node(&format!("n{i:03}"), json!({"labels": labels}))
    })
}

#[test]
fn zones_take_turns() {
    let zones = ["", "z1", "z2", "z3", "z3", "z4", "z5", "z5", "z5"];
    let shown = zoned(&zones).pod("p", json!({})).decision();
    assert_eq!(shown.feasible, ["n000", "n001", "n002", "n003", "n005", "n006", "n004", "n007", "n008"]);
}

#[test]
fn the_search_goes_on_where_it_ended() {
    let cluster = (0..4).fold(zoned(&[""; 500]), |cluster, i| cluster.pod(&format!("p{i}"), json!({})));
    let percentage = json!({"schedulerName": "default-scheduler", "percentageOfNodesToScore": 30});
    let decisions = cluster.profile(percentage).decisions();
    let begins: Vec<(usize, &str)> = decisions.iter().map(|d| (d.feasible.len(), d.feasible[0].as_str())).collect();
    assert_eq!(begins, [(150, "n000"), (150, "n150"), (150, "n300"), (150, "n450")]);
}

#[test]
fn what_a_profile_says_beats_what_is_said_for_all() {
    let percentage = |percentage: i32| json!({"percentageOfNodesToScore": percentage});
    let cluster = zoned(&[""; 500]).pod("p", json!({}));
    let found = |cluster: Cluster| cluster.decision().feasible.len();
    assert_eq!(found(cluster.clone().configuration(percentage(100))), 500);
    assert_eq!(found(cluster.configuration(percentage(100)).profile(percentage(40))), 200);
}

#[test]
fn nodes_that_were_no_good_count_as_looked_at() {
    let mut cluster = Cluster::new();
    for i in 0..120 {
        cluster = cluster.node(&format!("n{i:03}"), json!({"unschedulable": (100..110).contains(&i)}));
    }
    let decisions = cluster.pod("p0", json!({})).pod("p1", json!({})).decisions();
    assert_eq!((decisions[0].feasible.len(), decisions[0].filtered.len()), (100, 10));
    assert_eq!(decisions[1].feasible[0], "n110");
}

#[test]
fn a_daemon_pod_moves_the_beginning_by_one() {
    let fields = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n002"]}]}]);
    let pinned = json!({"priority": 10, "affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": fields}}}});
    let decisions = zoned(&[""; 3]).pod("daemon", pinned).pod("p0", json!({})).pod("p1", json!({})).decisions();
    assert_eq!(decisions[0].node.as_deref(), Some("n002"));
    assert_eq!(decisions[1].feasible, ["n001", "n002", "n000"]);
    assert_eq!(decisions[2].feasible, ["n001", "n002", "n000"]);
}

#[test]
fn without_nodes_there_is_nothing_to_say() {
    let shown = Cluster::new().pod("p", json!({})).decision();
    assert_eq!(shown.message, "no nodes available to schedule pods");
}

#[test]
fn reasons_are_sorted_as_text() {
    let mut cluster = Cluster::new();
    for i in 0..10 {
        cluster = cluster.node(&format!("t{i}"), json!({"taints": [{"key": "k", "effect": "NoSchedule"}]}));
    }
    let cluster = cluster.node("c0", json!({"unschedulable": true})).node("c1", json!({"unschedulable": true}));
    assert_eq!(
        cluster.pod("p", json!({})).decision().message,
        "0/12 nodes are available: 10 node(s) had untolerated taint(s), 2 node(s) were unschedulable. no new claims to \
         deallocate, preemption: 0/12 nodes are available: 12 Preemption is not helpful for scheduling."
    );
}

#[test]
fn among_equals_the_version_decides() {
    // Totals of 5, 5, 9 and 9 by taints that are not preferred: the heap's root is the last, a draw may give any of the best.
    let discouraged = json!([{"key": "k", "effect": "PreferNoSchedule"}]);
    let cluster = Cluster::new()
        .node("a", json!({"taints": discouraged}))
        .node("b", json!({"taints": discouraged}))
        .node("c", json!({}))
        .node("d", json!({}))
        .pod("p", json!({}));
    assert_eq!(cluster.decision().node.as_deref(), Some("d"));
    assert_eq!(cluster.version("1.34").decision().node.as_deref(), Some("c"));
}

#[test]
fn without_scores_the_first_node_that_does_is_taken() {
    let nodes = |cluster: Cluster, name: &&str| cluster.node(name, json!({}));
    let cluster = ["a", "b", "c"].iter().fold(Cluster::new(), nodes);
    let cluster = cluster.profile(json!({"plugins": {"score": {"disabled": [{"name": "*"}]}}}));
    let cluster = ["p", "q", "r", "s"].iter().fold(cluster, |cluster, name| cluster.pod(name, json!({})));
    let chosen: Vec<String> = cluster.decisions().into_iter().filter_map(|shown| shown.node).collect();
    assert_eq!(chosen, ["a", "b", "c", "a"]);
}

#[test]
fn pods_of_one_priority_come_by_age_then_by_name() {
    let at = |second: u32| format!("2026-01-01T00:00:{second:02}Z");
    let cluster = Cluster::new()
        .node("a", json!({}))
        .pod("z", json!({"creationTimestamp": at(1)}))
        .pod("y", json!({"creationTimestamp": at(2)}))
        .pod("x", json!({"creationTimestamp": at(2)}))
        .pod("w", json!({"creationTimestamp": at(3), "priority": 5}));
    let order: Vec<String> = cluster.decisions().into_iter().map(|shown| shown.pod).collect();
    assert_eq!(order, ["w", "z", "x", "y"]);
}
