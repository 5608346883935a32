//! Node auto-repair.

use super::{Played, deployment, play, pool, seconds};

fn repair(count: u32, fields: &str, faults: &str) -> Played {
    let spec = format!("duration: 2h, {}, nodeAutoRepair: {{{fields}}}, timeline: [{faults}]", pool(count));
    play(&spec, &[&deployment("web", 3, "500m")], &mut |_| {})
}

#[test]
fn a_node_that_is_not_ready_for_ten_minutes_is_replaced_under_its_name() {
    let played = repair(3, "", "{at: 1m, fault: {kind: KubeletStop, nodes: {names: [w-1]}}}");
    let (lost, begun) = (played.first("NodeNotReady"), played.first("NodeRepairBegan"));
    assert!((lost + 599.0..lost + 601.0).contains(&begun), "{lost} {begun}");
    // Its pods were given up long before, so that the drain has nothing to wait for; then a machine boots for a minute.
    let repaired = played.first("NodeRepaired");
    assert!((begun + 60.0..begun + 70.0).contains(&repaired), "{begun} {repaired}");
    assert_eq!(played.nodes(), ["w-0", "w-1", "w-2"].map(str::to_owned));
    assert_eq!(super::schedulable(&played.store), 3);
    assert_eq!(played.running(), 3);
}

#[test]
fn a_node_that_is_back_in_time_is_left_alone() {
    let played = repair(3, "", "{at: 1m, fault: {kind: Crash, nodes: {names: [w-1]}, for: 8m}}");
    assert!(played.events("NodeRepairBegan").is_empty());
}

#[test]
fn no_more_nodes_are_repaired_at_a_time_than_allowed() {
    let lost = "{at: 1m, fault: {kind: Crash, nodes: {names: [w-1, w-2, w-3]}}}";
    let played = repair(5, "unhealthyFor: 5m", lost);
    let begun: Vec<f64> = played.events("NodeRepairBegan").iter().map(|event| seconds(event.at)).collect();
    let repaired: Vec<f64> = played.events("NodeRepaired").iter().map(|event| seconds(event.at)).collect();
    assert_eq!((begun.len(), repaired.len()), (3, 3));
    assert!(begun[1] >= repaired[0] && begun[2] >= repaired[1], "{begun:?} {repaired:?}");
    let together = repair(5, "unhealthyFor: 5m, maxConcurrent: 60%", lost);
    let begun: Vec<f64> = together.events("NodeRepairBegan").iter().map(|event| seconds(event.at)).collect();
    assert!(begun[2] < begun[0] + 10.0, "{begun:?}");
}

#[test]
fn nothing_is_repaired_while_too_many_nodes_are_unhealthy() {
    let lost = "{at: 1m, fault: {kind: Crash, nodes: {names: [w-1, w-2, w-3]}, for: 30m}}";
    let played = repair(5, "unhealthyFor: 5m, maxUnhealthy: 40%", lost);
    assert_eq!(played.message("NodeRepairHeld"), "3 of 5 nodes are unhealthy: nothing is repaired");
    // When the first of them is back, the others are few enough.
    assert!(played.events("NodeRepairBegan").iter().all(|event| seconds(event.at) > 1860.0));
    assert_eq!(super::schedulable(&played.store), 5);
}
