//! Reclaimed spot instances.

use super::{Played, deployment, play, pool, seconds};

fn interrupt(fields: &str) -> Played {
    let fault = format!("{{at: 5m, fault: {{kind: SpotInterruption, nodes: {{names: [w-1]}}, {fields}}}}}");
    let spec = format!("duration: 30m, {}, timeline: [{fault}]", pool(3));
    play(&spec, &[&deployment("web", 6, "500m")], &mut |_| {})
}

/// When the pods of the node began to leave, and why.
fn leavings(played: &Played) -> Vec<(f64, &'static str)> {
    let pods = played.observed.pods.iter().filter(|pod| pod.node == "w-1");
    let mut left: Vec<(f64, &'static str)> =
        pods.filter_map(|pod| Some((seconds(pod.deletion_at?), pod.deletion_cause?.as_str()))).collect();
    left.sort_by(|a, b| a.0.total_cmp(&b.0));
    left
}

#[test]
fn the_node_is_drained_within_the_warning_and_gone_after_it() {
    let played = interrupt("for: 1h");
    let left = leavings(&played);
    assert_eq!(left.len(), 2);
    assert!(left.iter().all(|(at, cause)| (300.0..302.0).contains(at) && cause.contains("Eviction")), "{left:?}");
    // Two minutes of warning, then the cloud's controller needs to see that the node is not ready.
    let gone = played.first("RemovingNode");
    assert!((420.0..500.0).contains(&gone), "{gone}");
    assert_eq!(played.nodes(), ["w-0", "w-2"].map(str::to_owned));
    assert_eq!(played.running(), 6);
}

#[test]
fn without_a_handler_the_pods_go_with_the_machine() {
    let played = interrupt("notice: 30s, drain: false, for: 1h");
    let left = leavings(&played);
    assert!(!left.is_empty() && left.iter().all(|(at, _)| *at > 330.0), "{left:?}");
    assert_eq!(played.running(), 6);
}

#[test]
fn another_machine_of_the_zone_takes_its_place_when_the_cloud_has_one() {
    for length in ["1m", "10m"] {
        let played = interrupt(&format!("for: {length}"));
        // Of the zones a, b and c, w-1 was in b, and so is w-4.
        assert_eq!(played.nodes(), ["w-0", "w-2", "w-4"].map(str::to_owned), "{length}");
    }
}

#[test]
fn a_random_process_of_interruptions_keeps_the_pool_at_its_size() {
    let process = "faults: [{name: spot, kind: SpotInterruption, nodes: {pool: w}, timeToFailure: {exponential: {mean: 2h}}, \
                   timeToRepair: {constant: 5m}}]";
    let spec = format!("duration: 12h, {}, {process}, timeline: []", pool(4));
    let played = play(&spec, &[&deployment("web", 6, "500m")], &mut |_| {});
    let interruptions = played.events("SpotInterruption").len();
    assert!((10..50).contains(&interruptions), "{interruptions}");
    // Every one that is over has its successor.
    let alive = played.store.node_ids().filter(|&id| played.store.machine(id).exists).count();
    assert!((3..=5).contains(&alive), "{alive}");
}
