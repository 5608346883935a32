//! Plugins that are off until a profile names them.

use serde_json::{Value, json};

use super::{Cluster, check_scores};

/// Nodes of these CPUs and memories, and a pod, with NodeResourcesAllocatable alone.
fn allocatable(nodes: &[(&str, &str, &str)], arguments: Value) -> Cluster {
    let plugin = "NodeResourcesAllocatable";
    let cluster = nodes
        .iter()
        .fold(Cluster::new(), |cluster, (name, cpu, memory)| cluster.node(name, json!({"cpu": cpu, "memory": memory})));
    cluster.pod("p", json!({})).profile(json!({
        "schedulerName": "default-scheduler",
        "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": plugin}]}},
        "pluginConfig": [{"name": plugin, "args": arguments}],
    }))
}

const PLUGIN: &str = "NodeResourcesAllocatable";

#[test]
fn the_node_with_the_least_or_the_most_is_preferred() {
    let sizes = [("m1", "1", "1000Mi"), ("m2", "2", "2000Mi"), ("m3", "3", "3000Mi")];
    check_scores(&allocatable(&sizes, json!({})), PLUGIN, &[("m1", 100), ("m2", 50), ("m3", 0)]);
    let most = allocatable(&sizes, json!({"mode": "Most"}));
    check_scores(&most, PLUGIN, &[("m1", 0), ("m2", 50), ("m3", 100)]);
    assert_eq!(most.decision().node.as_deref(), Some("m3"));
}

#[test]
fn resources_count_by_their_weights() {
    // A thousandth of a core counts as much as 1 MiB: 4000 and 1000 against 1000 and 3000.
    let sizes = [("cpu", "4", "1000Mi"), ("memory", "1", "3000Mi")];
    check_scores(&allocatable(&sizes, json!({"mode": "Most"})), PLUGIN, &[("cpu", 100), ("memory", 0)]);
    let memory = json!({"mode": "Most", "resources": [{"name": "memory", "weight": 1}]});
    check_scores(&allocatable(&sizes, memory), PLUGIN, &[("cpu", 0), ("memory", 100)]);
    let extended = json!({"mode": "Most", "resources": [{"name": "example.com/gpu", "weight": 3}]});
    check_scores(&allocatable(&sizes, extended), PLUGIN, &[("cpu", 0), ("memory", 0)]);
}

#[test]
fn what_is_on_a_node_does_not_matter() {
    let sizes = [("m1", "4", "10Gi"), ("m2", "6", "10Gi")];
    let full = allocatable(&sizes, json!({})).pod("q", json!({"node": "m1", "requests": {"cpu": "3"}}));
    check_scores(&full, PLUGIN, &[("m1", 100), ("m2", 0)]);
}

#[test]
fn it_is_off_until_a_profile_names_it_and_has_its_weight() {
    let cluster = |plugins: Value| {
        Cluster::new()
            .node("m1", json!({"cpu": "4"}))
            .node("m2", json!({"cpu": "6"}))
            .pod("p", json!({}))
            .profile(json!({"schedulerName": "default-scheduler", "plugins": plugins}))
    };
    assert_eq!(cluster(json!({})).decision().scores(PLUGIN, &["m1", "m2"]), [None, None]);
    let everywhere = cluster(json!({"multiPoint": {"enabled": [{"name": PLUGIN, "weight": 7}]}}));
    assert_eq!(everywhere.decision().scores(PLUGIN, &["m1", "m2"]), [Some(700), Some(0)]);
}
