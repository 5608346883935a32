//! Requests against what is left, and the scores that follow from it.

use serde_json::{Value, json};

use super::{Cluster, check_fits, check_scores};

/// A node of so many millicores, bytes and pods.
fn sized(cluster: Cluster, name: &str, cpu_milli: i64, memory: i64) -> Cluster {
    cluster.node(name, json!({"cpu": format!("{cpu_milli}m"), "memory": memory.to_string(), "pods": "32"}))
}

fn amounts(cpu_milli: i64, memory: i64) -> Value {
    json!({"cpu": format!("{cpu_milli}m"), "memory": memory.to_string()})
}

/// A pod on a node that uses so much of it.
fn used(cluster: Cluster, node: &str, cpu_milli: i64, memory: i64) -> Cluster {
    cluster.pod(&format!("on-{node}"), json!({"node": node, "requests": amounts(cpu_milli, memory)}))
}

/// A node of 10 millicores and 20 bytes, of which so much is used.
fn small(cpu_milli: i64, memory: i64) -> Cluster {
    used(sized(Cluster::new(), "a", 10, 20), "a", cpu_milli, memory)
}

#[test]
fn what_is_left_must_do() {
    #[track_caller]
    fn check(cluster: Cluster, pod: Value, expected: &str) {
        let shown = cluster.pod("p", pod).decision();
        assert_eq!(shown.reason("a"), expected, "{shown:?}");
    }
    let requests = |cpu, memory| json!({"requests": amounts(cpu, memory)});
    check(small(10, 20), json!({}), "");
    check(small(10, 20), requests(1, 1), "Insufficient cpu, Insufficient memory");
    check(small(5, 5), requests(5, 15), "");
    check(small(5, 20), requests(5, 0), "");
    check(small(9, 19), requests(2, 1), "Insufficient cpu");
    let container = |name: &str, cpu, memory| json!({"name": name, "image": "app", "resources": {"requests": amounts(cpu, memory)}});
    let with_init = |init: &[(i64, i64)]| {
        let init: Vec<Value> =
            init.iter().enumerate().map(|(i, (cpu, memory))| container(&format!("i{i}"), *cpu, *memory)).collect();
        json!({"containers": [container("c", 1, 1)], "initContainers": init})
    };
    check(small(8, 19), with_init(&[(3, 1), (2, 1)]), "Insufficient cpu");
    check(small(9, 19), with_init(&[(1, 1), (1, 1)]), "");
    let overhead = |cpu, memory| json!({"requests": amounts(1, 1), "overhead": amounts(cpu, memory)});
    check(small(5, 5), overhead(3, 13), "");
    check(small(5, 5), overhead(1, 15), "Insufficient memory");
    let full = Cluster::new().node("a", json!({"pods": "1"})).pod("q", json!({"node": "a"}));
    check(full, json!({}), "Too many pods");
}

#[test]
fn sidecars_count_beside_what_starts_after_them() {
    #[track_caller]
    fn check(init: Value, need_milli: i64) {
        let pod = json!({
            "containers": [{"name": "c", "image": "app", "resources": {"requests": {"cpu": "300m"}}}],
            "initContainers": init,
        });
        for (cpu, fits) in [(need_milli, true), (need_milli - 1, false)] {
            let cluster = sized(Cluster::new(), "a", cpu, 1).pod("p", pod.clone());
            assert_eq!(cluster.decision().node.is_some(), fits, "{cpu}m for {need_milli}m");
        }
    }
    let plain = json!({"name": "i", "image": "app", "resources": {"requests": {"cpu": "500m"}}});
    let sidecar =
        json!({"name": "s", "image": "app", "restartPolicy": "Always", "resources": {"requests": {"cpu": "200m"}}});
    check(json!([plain, sidecar]), 500);
    check(json!([sidecar, plain]), 700);
}

#[test]
fn requests_of_the_whole_pod_replace_those_of_containers() {
    let pod = json!({
        "resources": {"requests": {"cpu": "700m"}},
        "containers": [{"name": "c", "image": "app", "resources": {"requests": {"cpu": "300m"}}}],
    });
    check_fits(&sized(Cluster::new(), "a", 699, 1).pod("p", pod.clone()), &[]);
    check_fits(&sized(Cluster::new(), "a", 700, 1).pod("p", pod), &["a"]);
}

#[test]
fn extended_resources_are_counted_unless_ignored() {
    let node = |gpus: &str| Cluster::new().node("a", json!({"example.com/gpu": gpus}));
    let wants = |name: &str, count: &str| json!({"requests": {name: count}});
    let shown = node("5").pod("p", wants("example.com/gpu", "10")).decision();
    assert_eq!(shown.filtered["a"], ("Insufficient example.com/gpu".to_owned(), true));
    let there = json!({"node": "a", "requests": {"example.com/gpu": "5"}});
    let shown = node("5").pod("q", there.clone()).pod("p", wants("example.com/gpu", "1")).decision();
    assert_eq!(shown.filtered["a"], ("Insufficient example.com/gpu".to_owned(), false));
    check_fits(&node("5").pod("q", there).pod("p", wants("example.com/gpu", "0")), &["a"]);
    let shown = node("5").pod("p", wants("example.com/unknown", "1")).decision();
    assert_eq!(shown.filtered["a"], ("Insufficient example.com/unknown".to_owned(), true));
    let ignoring = |args: Value| json!({"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]});
    let unknown = node("5").pod("p", wants("example.com/unknown", "1"));
    check_fits(&unknown.clone().profile(ignoring(json!({"ignoredResources": ["example.com/unknown"]}))), &["a"]);
    check_fits(&unknown.clone().profile(ignoring(json!({"ignoredResourceGroups": ["example.com"]}))), &["a"]);
    check_fits(&unknown.profile(ignoring(json!({"ignoredResourceGroups": ["example.org"]}))), &[]);
}

fn strategy(kind: &str, resources: Value) -> Value {
    let mut strategy = json!({"type": kind, "resources": resources});
    if kind == "RequestedToCapacityRatio" {
        let shape = json!([{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]);
        strategy["requestedToCapacityRatio"] = json!({"shape": shape});
    }
    json!({"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]})
}

/// Without the filter, so that nodes can be scored that are too small.
fn unfiltered() -> Value {
    json!({"plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}})
}

#[test]
fn the_emptier_node_scores_higher() {
    let pod = json!({"requests": amounts(3000, 5000)});
    let two = |a: (i64, i64), b: (i64, i64)| sized(sized(Cluster::new(), "a", a.0, a.1), "b", b.0, b.1);
    let fresh = two((4000, 10_000), (6000, 10_000)).pod("p", pod.clone());
    check_scores(&fresh, "NodeResourcesFit", &[("a", 37), ("b", 50)]);
    let weighted = json!([{"name": "memory", "weight": 2}, {"name": "cpu", "weight": 1}]);
    check_scores(
        &fresh.clone().profile(strategy("LeastAllocated", weighted)),
        "NodeResourcesFit",
        &[("a", 41), ("b", 50)],
    );
    let alike = json!([{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]);
    check_scores(
        &fresh.profile(strategy("RequestedToCapacityRatio", alike)),
        "NodeResourcesFit",
        &[("a", 38), ("b", 50)],
    );
    let busy = |b_memory| used(used(two((10_000, 20_000), (10_000, b_memory)), "a", 3000, 0), "b", 3000, 5000);
    check_scores(&busy(20_000).pod("p", pod.clone()), "NodeResourcesFit", &[("a", 57), ("b", 45)]);
    check_scores(&busy(50_000).pod("p", pod), "NodeResourcesFit", &[("a", 57), ("b", 60)]);
    let over = used(used(two((4000, 10_000), (4000, 10_000)), "a", 3000, 0), "b", 3000, 5000);
    let over = over.pod("p", json!({"requests": amounts(3000, 0)})).profile(unfiltered());
    check_scores(&over, "NodeResourcesFit", &[("a", 50), ("b", 25)]);
    let nothing = two((0, 0), (0, 0)).pod("p", json!({"requests": amounts(1, 1)})).profile(unfiltered());
    check_scores(&nothing, "NodeResourcesFit", &[("a", 0), ("b", 0)]);
}

#[test]
fn what_is_not_named_counts_for_a_little() {
    const MIB: i64 = 1024 * 1024;
    let nodes = || sized(sized(Cluster::new(), "a", 1000, 1000 * MIB), "b", 1000, 1000 * MIB);
    check_scores(&nodes().pod("p", json!({})), "NodeResourcesFit", &[("a", 85), ("b", 85)]);
    let zero = json!({"requests": {"cpu": "0"}});
    check_scores(&nodes().pod("p", zero), "NodeResourcesFit", &[("a", 90), ("b", 90)]);
}

#[test]
fn balance_compares_fractions_of_what_is_used() {
    const PLUGIN: &str = "NodeResourcesBalancedAllocation";
    let pod = json!({"requests": amounts(3000, 5000)});
    let fresh = sized(sized(Cluster::new(), "a", 4000, 10_000), "b", 6000, 10_000).pod("p", pod.clone());
    check_scores(&fresh.clone().version("1.35"), PLUGIN, &[("a", 87), ("b", 100)]);
    check_scores(&fresh, PLUGIN, &[("a", 68), ("b", 75)]);
    let nodes = sized(sized(Cluster::new(), "a", 10_000, 20_000), "b", 10_000, 20_000);
    let busy = used(used(nodes, "a", 3000, 0), "b", 3000, 5000).pod("p", pod);
    check_scores(&busy.clone().version("1.35"), PLUGIN, &[("a", 82), ("b", 95)]);
    check_scores(&busy, PLUGIN, &[("a", 73), ("b", 74)]);
    let nodes = sized(sized(Cluster::new(), "a", 4000, 10_000), "b", 4000, 10_000);
    let over = used(used(nodes, "a", 3000, 0), "b", 3000, 5000).pod("p", json!({"requests": amounts(3000, 0)}));
    check_scores(&over.profile(unfiltered()).version("1.35"), PLUGIN, &[("a", 50), ("b", 75)]);
}

#[test]
fn a_pod_without_requests_has_no_balance() {
    let shown = sized(sized(Cluster::new(), "a", 10, 10), "b", 10, 10).pod("p", json!({})).decision();
    assert_eq!(shown.scores("NodeResourcesBalancedAllocation", &["a"]), [None]);
}

#[test]
fn three_resources_are_balanced_by_their_deviation() {
    let node = json!({"cpu": "3500m", "memory": "40000", "example.com/gpu": "8"});
    let resources = json!([{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}, {"name": "example.com/gpu", "weight": 1}]);
    let args = json!({"pluginConfig": [{"name": "NodeResourcesBalancedAllocation", "args": {"resources": resources}}]});
    let cluster = Cluster::new()
        .node("a", node.clone())
        .node("b", node)
        .pod("p", json!({"requests": {"cpu": "3000m", "memory": "5000", "example.com/gpu": "4"}}))
        .profile(args)
        .version("1.35");
    check_scores(&cluster, "NodeResourcesBalancedAllocation", &[("a", 70), ("b", 70)]);
}

#[test]
fn only_extended_resources_can_be_ignored() {
    let check = |arguments: Value, resource: &str, fits: &[&str]| {
        let config = json!({"pluginConfig": [{"name": "NodeResourcesFit", "args": arguments}]});
        let pod = json!({"requests": {"cpu": "1", "memory": "1Mi", resource: "2Mi"}});
        check_fits(&Cluster::new().profile(config).node("a", json!({})).pod("p", pod), fits);
    };
    check(json!({"ignoredResourceGroups": ["example.com"]}), "example.com/gpu", &["a"]);
    check(json!({"ignoredResources": ["hugepages-2Mi"]}), "hugepages-2Mi", &[]);
    check(json!({"ignoredResourceGroups": ["kubernetes.io"]}), "kubernetes.io/foo", &[]);
}
