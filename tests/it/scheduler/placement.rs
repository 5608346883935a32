//! Taints, node affinity, images: what follows from the node alone.

use serde_json::{Value, json};

use super::{Cluster, check_fits, check_scores};

fn taint(key: &str, value: &str, effect: &str) -> Value {
    json!({"key": key, "value": value, "effect": effect})
}

fn tainted(nodes: &[(&str, Vec<Value>)], tolerations: Value) -> Cluster {
    let cluster =
        nodes.iter().fold(Cluster::new(), |cluster, (name, taints)| cluster.node(name, json!({"taints": taints})));
    cluster.pod("p", json!({"tolerations": tolerations}))
}

#[test]
fn untolerated_preferences_cost_score() {
    let prefer = |key: &str, value: &str| taint(key, value, "PreferNoSchedule");
    check_scores(
        &tainted(
            &[("a", vec![prefer("foo", "bar")]), ("b", vec![prefer("foo", "blah")])],
            json!([{"key": "foo", "operator": "Equal", "value": "bar", "effect": "PreferNoSchedule"}]),
        ),
        "TaintToleration",
        &[("a", 100), ("b", 0)],
    );
    let one = vec![prefer("x", "1")];
    let two = vec![prefer("x", "1"), prefer("y", "1")];
    check_scores(
        &tainted(&[("a", vec![]), ("b", one.clone()), ("c", two.clone())], json!([])),
        "TaintToleration",
        &[("a", 100), ("b", 50), ("c", 0)],
    );
    check_scores(
        &tainted(&[("a", vec![]), ("b", one), ("c", two.clone())], json!([{"operator": "Exists"}])),
        "TaintToleration",
        &[("a", 100), ("b", 100), ("c", 100)],
    );
    // Tolerations of NoSchedule do not help against a preference.
    check_scores(
        &tainted(
            &[("a", vec![]), ("b", vec![taint("x", "1", "NoSchedule")]), ("c", two)],
            json!([
                {"key": "x", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "y", "operator": "Exists", "effect": "NoSchedule"},
            ]),
        ),
        "TaintToleration",
        &[("a", 100), ("b", 100), ("c", 0)],
    );
}

#[test]
fn tolerations_match_by_key_value_and_effect() {
    #[track_caller]
    fn check(toleration: Value, is_let_in: bool) {
        let cluster = tainted(&[("a", vec![taint("k", "v", "NoSchedule")])], json!([toleration]));
        check_fits(&cluster, if is_let_in { &["a"] } else { &[] });
    }
    check(json!({"operator": "Exists"}), true);
    check(json!({"operator": "Exists", "effect": "NoExecute"}), false);
    check(json!({"key": "k", "operator": "Exists"}), true);
    check(json!({"key": "k", "operator": "Equal", "value": "v"}), true);
    check(json!({"key": "k", "value": "v", "effect": "NoSchedule"}), true);
    check(json!({"key": "k", "operator": "Equal", "value": "other"}), false);
    check(json!({"key": "other", "operator": "Exists"}), false);
}

#[test]
fn preferences_never_keep_pods_out() {
    check_fits(&tainted(&[("a", vec![taint("k", "v", "PreferNoSchedule")])], json!([])), &["a"]);
    let cluster = tainted(&[("a", vec![taint("k", "v", "NoExecute")])], json!([]));
    assert_eq!(cluster.decision().reason("a"), "node(s) had untolerated taint(s)");
    assert_eq!(cluster.version("1.33").decision().reason("a"), "node(s) had untolerated taint {k: v}");
}

#[test]
fn cordoned_nodes_take_only_who_tolerates_it() {
    let cluster = Cluster::new().node("a", json!({"unschedulable": true}));
    let plain = cluster.clone().pod("p", json!({})).decision();
    assert_eq!(plain.filtered["a"], ("node(s) were unschedulable".to_owned(), true));
    let tolerant = json!({"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]});
    check_fits(&cluster.pod("p", tolerant), &["a"]);
}

/// Nodes `a` (disk ssd, size 0206) and `b` (no labels), and a pod with this required node affinity.
fn required(terms: Value, node_selector: Value) -> Cluster {
    Cluster::new()
        .node("a", json!({"labels": {"disk": "ssd", "size": "0206"}}))
        .node("b", json!({}))
        .pod(
            "p",
            json!({
                "nodeSelector": node_selector,
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}},
            }),
        )
}

fn expression(key: &str, operator: &str, values: Value) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
}

fn named(node: &str) -> Value {
    json!({"key": "metadata.name", "operator": "In", "values": [node]})
}

#[test]
fn required_terms_are_alternatives() {
    let ssd = expression("disk", "In", json!(["ssd"]));
    check_fits(&required(json!([ssd]), json!({})), &["a"]);
    check_fits(&required(json!([{"matchFields": [named("b")]}, ssd]), json!({})), &["a", "b"]);
    let both = json!([{"matchFields": [named("b")], "matchExpressions": ssd["matchExpressions"]}]);
    check_fits(&required(both, json!({})), &[]);
    // A selector must hold besides.
    check_fits(&required(json!([ssd]), json!({"disk": "hdd"})), &[]);
    check_fits(&required(json!([expression("disk", "In", json!(["hdd"]))]), json!({"disk": "ssd"})), &[]);
    check_fits(&required(json!([ssd]), json!({"disk": "ssd"})), &["a"]);
}

#[test]
fn operators_read_labels_as_the_real_one_does() {
    check_fits(&required(json!([expression("disk", "NotIn", json!(["ssd"]))]), json!({})), &["b"]);
    check_fits(&required(json!([expression("disk", "Exists", json!([]))]), json!({})), &["a"]);
    check_fits(&required(json!([expression("disk", "DoesNotExist", json!([]))]), json!({})), &["b"]);
    check_fits(&required(json!([expression("size", "Gt", json!(["0204"]))]), json!({})), &["a"]);
    check_fits(&required(json!([expression("size", "Lt", json!(["206"]))]), json!({})), &[]);
    check_fits(&required(json!([expression("disk", "Gt", json!(["1"]))]), json!({})), &[]);
}

#[test]
fn an_affinity_without_required_terms_requires_nothing() {
    let cluster = Cluster::new().node("a", json!({})).pod("p", json!({"affinity": {"nodeAffinity": {}}}));
    check_fits(&cluster, &["a"]);
}

#[test]
fn named_nodes_are_the_only_ones_looked_at() {
    let two = required(json!([{"matchFields": [named("a")]}, {"matchFields": [named("b")]}]), json!({}));
    check_fits(&two.clone().node("c", json!({})), &["a", "b"]);
    let conflict = required(json!([{"matchFields": [named("a"), named("b")]}]), json!({})).decision();
    assert_eq!(conflict.message, "0/2 nodes are available: pod affinity terms conflict. not found");
    let gone = required(json!([{"matchFields": [named("c")]}]), json!({})).decision();
    assert_eq!(
        gone.message,
        "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. no new claims to deallocate, \
         preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    );
}

#[test]
fn the_configuration_may_add_an_affinity() {
    let added = json!({"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [expression("disk", "In", json!(["ssd"]))]}
    }}}]});
    let shown = required(json!([expression("size", "Exists", json!([]))]), json!({})).profile(added.clone()).decision();
    assert_eq!(shown.reason("b"), "node(s) didn't match scheduler-enforced node affinity");
    let shown = required(json!([expression("none", "Exists", json!([]))]), json!({})).profile(added).decision();
    assert_eq!(shown.reason("a"), "node(s) didn't match Pod's node affinity/selector");
}

#[test]
fn preferred_terms_add_their_weights() {
    let preferring = |first: &str| {
        json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 2, "preference": expression(first, "Exists", json!([]))},
            {"weight": 3, "preference": expression("b", "Exists", json!([]))},
        ]}}})
    };
    let nodes = Cluster::new()
        .node("none", json!({}))
        .node("one", json!({"labels": {"a": ""}}))
        .node("both", json!({"labels": {"a": "", "b": ""}}));
    check_scores(&nodes.clone().pod("p", preferring("a")), "NodeAffinity", &[("none", 0), ("one", 40), ("both", 100)]);
    let nobody = Cluster::new().node("x", json!({})).node("y", json!({})).pod("p", preferring("a"));
    check_scores(&nobody, "NodeAffinity", &[("x", 0), ("y", 0)]);
}

const MIB: i64 = 1024 * 1024;

fn with_images(nodes: &[(&str, &[(&str, i64)])], images: &[&str]) -> Cluster {
    let mut cluster = Cluster::new();
    for (node, has) in nodes {
        let has: Vec<Value> = has.iter().map(|(name, mib)| json!({"names": [name], "sizeBytes": mib * MIB})).collect();
        cluster = cluster.node(node, json!({"images": has}));
    }
    let containers: Vec<Value> =
        images.iter().enumerate().map(|(i, image)| json!({"name": format!("c{i}"), "image": image})).collect();
    cluster.pod("p", json!({"containers": containers}))
}

#[test]
fn images_that_are_there_attract_less_the_rarer_they_are() {
    let (small, middle, large) = (("i/40:latest", 40), ("i/250:latest", 250), ("i/300:latest", 300));
    let cluster = with_images(&[("a", &[small]), ("b", &[middle])], &["i/40", "i/250"]);
    check_scores(&cluster, "ImageLocality", &[("a", 0), ("b", 5)]);
    let cluster = with_images(&[("a", &[small, large]), ("b", &[middle])], &["i/40", "i/300"]);
    check_scores(&cluster, "ImageLocality", &[("a", 7), ("b", 0)]);
    let cluster = with_images(&[("a", &[]), ("b", &[("i/4000:latest", 4000)]), ("c", &[])], &["i/4000", "i/40"]);
    check_scores(&cluster, "ImageLocality", &[("a", 0), ("b", 66), ("c", 0)]);
}

#[test]
fn host_ports_are_taken_once() {
    #[track_caller]
    fn check(taken: Value, wanted: Value, fits: bool) {
        let ports = |port: Value| json!({"containers": [{"name": "c", "image": "app", "ports": [port]}]});
        let mut there = ports(taken);
        there["node"] = json!("a");
        let cluster = Cluster::new().node("a", json!({})).pod("q", there).pod("p", ports(wanted));
        let shown = cluster.decision();
        assert_eq!(shown.node.is_some(), fits, "{shown:?}");
        if !fits {
            let reason = "node(s) didn't have free ports for the requested pod ports".to_owned();
            assert_eq!(shown.filtered["a"], (reason, false));
        }
    }
    let port =
        |ip: &str, protocol: &str| json!({"containerPort": 80, "hostPort": 80, "hostIP": ip, "protocol": protocol});
    check(port("0.0.0.0", "TCP"), port("127.0.0.1", "TCP"), false);
    check(port("127.0.0.1", "TCP"), port("0.0.0.0", "TCP"), false);
    check(port("127.0.0.1", "TCP"), port("127.0.0.2", "TCP"), true);
    check(port("0.0.0.0", "TCP"), port("0.0.0.0", "UDP"), true);
    check(json!({"containerPort": 80}), port("0.0.0.0", "TCP"), true);
}

#[test]
fn images_of_volumes_count_since_1_36_and_names_once_for_each_node() {
    let image = |names: &[&str], size: i64| json!({"names": names, "sizeBytes": size});
    let mebibyte = 1024 * 1024;
    let cluster = |version| {
        Cluster::new()
            .version(version)
            .node("a", json!({"images": [image(&["files:1"], 4000 * mebibyte)]}))
            .node("b", json!({}))
            .pod("p", json!({"volumes": [{"name": "v", "image": {"reference": "files:1"}}]}))
    };
    check_scores(&cluster("1.36"), "ImageLocality", &[("a", 100), ("b", 0)]);
    check_scores(&cluster("1.35"), "ImageLocality", &[("a", 0), ("b", 0)]);
    // 250 MB on one of two nodes count half, however often the node names them.
    let twice = json!({"images": [image(&["app:latest"], 250 * mebibyte), image(&["app:latest"], 250 * mebibyte)]});
    let cluster = Cluster::new().node("a", twice).node("b", json!({})).pod("p", json!({}));
    check_scores(&cluster, "ImageLocality", &[("a", 100 * (125 - 23) / (1000 - 23)), ("b", 0)]);
}

#[test]
fn absurd_sizes_are_as_much_as_there_can_be() {
    let huge = json!({"images": [{"names": ["app:latest", "init:latest"], "sizeBytes": i64::MAX}]});
    let full = || json!({"node": "a", "requests": {"memory": i64::MAX.to_string()}});
    let init = json!([{"name": "i", "image": "init"}]);
    let cluster = Cluster::new().node("a", huge).node("b", json!({})).pod("q", full()).pod("r", full());
    assert_eq!(cluster.pod("p", json!({"initContainers": init})).decision().fitting(), ["a", "b"]);
}

#[test]
fn a_preference_that_cannot_be_read_is_an_error() {
    let wrong = json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": expression("size", "Gt", json!(["big"]))}]}});
    let cluster = |nodes: &[&str]| {
        let all = nodes.iter().fold(Cluster::new(), |cluster, name| cluster.node(name, json!({})));
        all.pod("p", json!({"affinity": wrong})).decision()
    };
    let shown = cluster(&["a", "b"]);
    assert_eq!(shown.node, None);
    assert!(shown.message.starts_with("running PreScore plugin \"NodeAffinity\": `size` Gt"), "{}", shown.message);
    // Where there is nothing to choose nobody asks.
    assert_eq!(cluster(&["a"]).node.as_deref(), Some("a"));
}
