//! `taints.csv`: each taint that is put on or taken off, and by whom.

use std::collections::{BTreeMap, BTreeSet};

use super::figures::{play, web};

#[test]
fn taints_are_told_with_who_puts_them_on_and_takes_them_off() {
    let timeline = "{at: 1m, kubectl: taint node n-1 team=a:NoSchedule}, \
                    {at: 2m, kubectl: taint node n-1 team=b:NoSchedule --overwrite}, \
                    {at: 3m, kubectl: 'taint node n-1 team:NoSchedule-'}, \
                    {at: 4m, fault: {kind: Crash, nodes: {names: [n-0]}, for: 3m}}, {at: 15m, kubectl: cordon n-2}, \
                    {at: 16m, kubectl: delete node n-2}";
    let observed = play("20m", timeline, &[&web(6)]);
    let of = |node: &str| {
        let rows = observed.taints.iter().filter(|row| row.node.as_str() == node);
        let told = rows.map(|row| {
            let taint = format!("{}={}:{}", row.key, row.value, row.effect);
            (row.at.as_secs_f64(), format!("{} {taint} by {}", row.change.as_str(), row.by))
        });
        told.collect::<Vec<(f64, String)>>()
    };
    let by_hand: Vec<String> = of("n-1").into_iter().map(|(_, told)| told).collect();
    let expected = ["added team=a:NoSchedule", "modified team=b:NoSchedule", "removed team=b:NoSchedule"];
    assert_eq!(by_hand, expected.map(|told| format!("{told} by kubectl")));
    // Silence is noticed 40 to 60 s after the crash; the machine is back after 180 s and its boot.
    let unreachable = of("n-0");
    let (on, off): (Vec<_>, Vec<_>) = unreachable.iter().partition(|(_, told)| told.starts_with("added"));
    assert!(on.iter().all(|(at, _)| (279.0..305.0).contains(at)) && off.iter().all(|(at, _)| *at > 420.0));
    for effect in ["NoSchedule", "NoExecute"] {
        for (rows, change) in [(&on, "added"), (&off, "removed")] {
            let told = format!("{change} node.kubernetes.io/unreachable=:{effect} by node-controller");
            assert_eq!(rows.iter().filter(|row| row.1 == told).count(), 1, "{told}: {unreachable:?}");
        }
    }
    // What a node has goes with it.
    let cordoned: Vec<String> = of("n-2").into_iter().map(|(_, told)| told).collect();
    let taint = "node.kubernetes.io/unschedulable=:NoSchedule";
    assert_eq!(cordoned[..2], [format!("added {taint} by node-controller"), format!("removed {taint} by kubectl")]);
}

#[test]
fn taints_that_are_put_on_and_not_taken_off_are_those_that_the_nodes_have() {
    let timeline = "{at: 1m, kubectl: taint node n-1 team=a:NoSchedule}, {at: 2m, kubectl: cordon n-2}, \
                    {at: 4m, fault: {kind: Partition, nodes: {names: [n-0, n-1]}}}";
    let observed = play("20m", timeline, &[&web(6)]);
    let mut standing: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for row in &observed.taints {
        let of_node = standing.entry(row.node.as_str()).or_default();
        let taint = format!("{}={}:{}", row.key, row.value, row.effect);
        let is_as_expected =
            if row.change.as_str() == "removed" { of_node.remove(&taint) } else { of_node.insert(taint) };
        assert!(is_as_expected, "{row:?}");
    }
    let mut last = BTreeMap::new();
    for row in &observed.nodes {
        last.insert(row.node.as_str(), row.taints.as_str());
    }
    for (node, taints) in last {
        let found: Vec<String> = standing.remove(node).unwrap_or_default().into_iter().collect();
        assert_eq!(found.join(";"), taints, "{node}");
    }
}
