//! Pods spread over zones and hosts.

use serde_json::{Value, json};

use super::{Cluster, Shown, check_fits, check_scores};

/// Nodes with zone and host labels and so many pods of `app: x` on them. A node whose name begins with `-` is cordoned.
fn spread(nodes: &[(&str, &str, usize)]) -> Cluster {
    let mut cluster = Cluster::new();
    for (name, zone, pods) in nodes {
        let cordoned = name.starts_with('-');
        let name = name.trim_start_matches('-');
        let mut labels = json!({"kubernetes.io/hostname": name, "node": name});
        if !zone.is_empty() {
            labels["zone"] = json!(zone);
        }
        cluster = cluster.node(name, json!({"labels": labels, "unschedulable": cordoned}));
        for i in 0..*pods {
            cluster = cluster.pod(&format!("{name}-{i}"), json!({"node": name, "labels": {"app": "x"}}));
        }
    }
    cluster
}

fn constraint(key: &str, max_skew: i64, action: &str) -> Value {
    json!({
        "topologyKey": key,
        "maxSkew": max_skew,
        "whenUnsatisfiable": action,
        "labelSelector": {"matchLabels": {"app": "x"}},
    })
}

fn hard(key: &str, max_skew: i64) -> Value {
    constraint(key, max_skew, "DoNotSchedule")
}

fn soft(key: &str, max_skew: i64) -> Value {
    constraint(key, max_skew, "ScheduleAnyway")
}

fn with(cluster: Cluster, constraints: Value) -> Cluster {
    cluster.pod("p", json!({"labels": {"app": "x"}, "topologySpreadConstraints": constraints}))
}

const HOST: &str = "kubernetes.io/hostname";

#[test]
fn the_skew_may_not_exceed_its_limit() {
    let zones = spread(&[("a", "z1", 2), ("b", "z1", 1), ("c", "z2", 0), ("d", "z2", 3)]);
    check_fits(&with(zones.clone(), json!([hard("zone", 1)])), &["a", "b", "c", "d"]);
    check_fits(&with(zones.clone(), json!([hard("node", 1)])), &["c"]);
    check_fits(&with(zones.clone(), json!([hard("node", 2)])), &["b", "c"]);
    // A pod that is not one of those it counts adds nothing.
    let stranger = json!({"topologySpreadConstraints": [hard("node", 1)]});
    check_fits(&zones.clone().pod("p", stranger), &["b", "c"]);
    check_fits(&with(zones, json!([hard("zone", 1), hard("node", 1)])), &["c"]);
    let tight = spread(&[("a", "z1", 2), ("b", "z1", 1), ("c", "z2", 0), ("d", "z2", 4)]);
    check_fits(&with(tight, json!([hard("zone", 1), hard("node", 1)])), &[]);
}

#[test]
fn nodes_that_the_pod_cannot_have_are_no_domains() {
    let cluster = spread(&[("a", "z1", 2), ("b", "z1", 1), ("c", "z2", 0), ("d", "z2", 3)]);
    let only = json!({"labels": {"app": "x"}, "topologySpreadConstraints": [hard("node", 1)], "affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "node", "operator": "In", "values": ["a", "d"]}]},
        ]},
    }}});
    check_fits(&cluster.pod("p", only), &["a"]);
}

#[test]
fn only_pods_that_stay_and_match_are_counted() {
    let fields = |more: Value| {
        let mut fields = json!({"node": "a", "labels": {"app": "x"}});
        for (name, value) in more.as_object().expect("fields") {
            fields[name] = value.clone();
        }
        fields
    };
    let check = |more: Value, expected: &[&str]| {
        let cluster = spread(&[("a", "z1", 0), ("b", "z2", 0)]).pod("q", fields(more));
        check_fits(&with(cluster, json!([hard("zone", 1)])), expected);
    };
    check(json!({}), &["b"]);
    check(json!({"namespace": "other"}), &["a", "b"]);
    check(json!({"labels": {"app": "y"}}), &["a", "b"]);
    check(json!({"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30}), &["a", "b"]);
    // Without a selector nothing is counted.
    let mut blind = hard("zone", 1);
    blind["labelSelector"] = Value::Null;
    let cluster = spread(&[("a", "z1", 2), ("b", "z2", 0)]);
    check_fits(&with(cluster, json!([blind])), &["a", "b"]);
}

#[test]
fn too_few_domains_count_as_an_empty_one() {
    let cluster = spread(&[("a", "z1", 2), ("b", "z2", 2), ("c", "z3", 1)]);
    let at_least = |domains: i64| {
        let mut constraint = hard("zone", 2);
        constraint["minDomains"] = json!(domains);
        json!([constraint])
    };
    check_fits(&with(cluster.clone(), at_least(4)), &["c"]);
    check_fits(&with(cluster, at_least(2)), &["a", "b", "c"]);
}

#[test]
fn nodes_without_the_key_are_out() {
    let cluster = with(spread(&[("a", "z1", 0), ("b", "", 5)]), json!([hard("zone", 1)]));
    let shown = cluster.decision();
    assert_eq!(shown.fitting(), ["a"]);
    let reason = "node(s) didn't match pod topology spread constraints (missing required label)";
    assert_eq!(shown.filtered["b"], (reason.to_owned(), true));
    let crowded = with(spread(&[("a", "z1", 1), ("-b", "z2", 0)]), json!([hard("zone", 1)])).decision();
    assert_eq!(crowded.filtered["a"], ("node(s) didn't match pod topology spread constraints".to_owned(), false));
}

#[test]
fn taints_close_domains_if_so_wished() {
    let cluster = spread(&[("a", "z1", 1)])
        .node("b", json!({"labels": {"zone": "z2"}, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}));
    check_fits(&with(cluster.clone(), json!([hard("zone", 1)])), &[]);
    let mut honoring = hard("zone", 1);
    honoring["nodeTaintsPolicy"] = json!("Honor");
    check_fits(&with(cluster, json!([honoring])), &["a"]);
}

#[test]
fn the_emptiest_host_scores_highest() {
    let four = |counts: [usize; 4]| {
        let names = ["a", "b", "c", "d"];
        let nodes: Vec<(&str, &str, usize)> = names.iter().zip(counts).map(|(name, pods)| (*name, "", pods)).collect();
        spread(&nodes)
    };
    let check = |counts, max_skew, scores: [i64; 4]| {
        let expected: Vec<(&str, i64)> = ["a", "b", "c", "d"].into_iter().zip(scores).collect();
        check_scores(&with(four(counts), json!([soft(HOST, max_skew)])), "PodTopologySpread", &expected);
    };
    check([2, 1, 0, 3], 1, [20, 60, 100, 0]);
    check([2, 1, 0, 3], 2, [33, 66, 100, 16]);
    check([4, 3, 2, 1], 3, [44, 66, 77, 100]);
    check([0, 0, 0, 0], 1, [100, 100, 100, 100]);
}

#[test]
fn without_constraints_the_system_spreads_what_a_service_selects() {
    let nodes =
        spread(&[("a", "", 4), ("b", "", 3), ("c", "", 2), ("d", "", 1)]).pod("p", json!({"labels": {"app": "x"}}));
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"},
        "spec": {"selector": {"app": "x"}, "ports": [{"port": 80}]}});
    let expected = [("a", 44), ("b", 66), ("c", 77), ("d", 100)];
    check_scores(&nodes.clone().object(service), "PodTopologySpread", &expected);
    assert_eq!(nodes.decision().scores("PodTopologySpread", &["a"]), [None]);
}

fn scores(cluster: &Cluster, nodes: &[&str]) -> (Shown, Vec<Option<i64>>) {
    let shown = cluster.decision();
    let scores = shown.scores("PodTopologySpread", nodes);
    (shown, scores)
}

#[test]
fn pods_on_nodes_that_are_out_still_count_for_their_zone() {
    let cluster =
        with(spread(&[("a", "z1", 4), ("b", "z1", 2), ("x", "z2", 1), ("-y", "z2", 3)]), json!([soft("zone", 1)]));
    let (_, found) = scores(&cluster, &["a", "b", "x"]);
    assert_eq!(found, [Some(75), Some(75), Some(100)]);
}

#[test]
fn a_node_without_the_key_scores_nothing() {
    let cluster = spread(&[("a", "", 4), ("c", "", 1)]).node("b", json!({}));
    let (_, found) = scores(&with(cluster, json!([soft(HOST, 1)])), &["a", "b", "c"]);
    assert_eq!(found, [Some(16), Some(0), Some(100)]);
}

#[test]
fn zone_and_host_count_together() {
    let nodes = [("a", "z1", 2), ("-b", "z1", 1), ("x", "z2", 2), ("-y", "z2", 4)];
    let (_, found) = scores(&with(spread(&nodes), json!([soft("zone", 1), soft(HOST, 1)])), &["a", "x"]);
    assert_eq!(found, [Some(100), Some(63)]);
}

#[test]
fn policies_decide_which_nodes_are_counted() {
    let cluster = |policy: &str| {
        let mut constraint = soft("node", 1);
        constraint["nodeAffinityPolicy"] = json!(policy);
        spread(&[("a", "", 2), ("b", "", 1), ("c", "", 1)])
            .profile(json!({"plugins": {"filter": {"disabled": [{"name": "NodeAffinity"}]}}}))
            .pod(
                "p",
                json!({"labels": {"app": "x"}, "topologySpreadConstraints": [constraint], "affinity": {"nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "node", "operator": "In", "values": ["a", "b"]}]},
                    ]},
                }}}),
            )
    };
    assert_eq!(scores(&cluster("Honor"), &["a", "b", "c"]).1, [Some(0), Some(33), Some(100)]);
    assert_eq!(scores(&cluster("Ignore"), &["a", "b", "c"]).1, [Some(66), Some(100), Some(100)]);
    let tainted = |policy: Value| {
        let mut constraint = soft("node", 1);
        constraint["nodeTaintsPolicy"] = policy;
        let taints = json!([{"key": "k", "value": "v", "effect": "NoSchedule"}]);
        let cluster = spread(&[("a", "", 2), ("b", "", 1)])
            .node("c", json!({"labels": {"node": "c"}, "taints": taints}))
            .pod("c-0", json!({"node": "c", "labels": {"app": "x"}}))
            .profile(json!({"plugins": {"filter": {"disabled": [{"name": "TaintToleration"}]}}}));
        scores(&with(cluster, json!([constraint])), &["a", "b", "c"]).1
    };
    assert_eq!(tainted(json!("Honor")), [Some(0), Some(33), Some(100)]);
    assert_eq!(tainted(json!("Ignore")), [Some(66), Some(100), Some(100)]);
    assert_eq!(tainted(Value::Null), [Some(66), Some(100), Some(100)]);
}

#[test]
fn a_cordoned_node_that_nobody_has_tainted_yet_is_counted_where_taints_are() {
    // A decision is about the nodes as the input has them: the taint of a cordon comes from the node lifecycle controller.
    let scores_with = |taints: Value| {
        let mut constraint = soft("zone", 1);
        constraint["nodeTaintsPolicy"] = json!("Honor");
        let cordoned = json!({"labels": {"zone": "z1"}, "unschedulable": true, "taints": taints});
        let cluster = spread(&[("a", "z1", 1), ("b", "z2", 2)])
            .node("c", cordoned)
            .pod("c-0", json!({"node": "c", "labels": {"app": "x"}}));
        scores(&with(cluster, json!([constraint])), &["a", "b"]).1
    };
    assert_eq!(scores_with(json!([])), [Some(100), Some(100)]);
    let taint = json!([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]);
    assert_eq!(scores_with(taint), [Some(100), Some(33)]);
}

#[test]
fn the_node_of_a_pod_that_can_only_be_there_is_its_only_domain() {
    let node = |name: &str| json!({"labels": {"kubernetes.io/hostname": name}});
    let there = |cluster: Cluster, name: &str| cluster.pod(name, json!({"labels": {"app": "p"}, "node": "a"}));
    let cluster = || there(there(Cluster::new().node("a", node("a")).node("b", node("b")), "q"), "r");
    let check = |policy: &str, min_domains: u32, fits: &[&str]| {
        let mut spread = hard("kubernetes.io/hostname", 1);
        spread["labelSelector"] = json!({"matchLabels": {"app": "p"}});
        spread["nodeAffinityPolicy"] = json!(policy);
        spread["minDomains"] = json!(min_domains);
        let only = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]}}});
        let pod = json!({"labels": {"app": "p"}, "affinity": only, "topologySpreadConstraints": [spread]});
        check_fits(&cluster().pod("p", pod), fits);
    };
    check("Honor", 1, &["a"]);
    check("Honor", 2, &[]);
    check("Ignore", 1, &[]);
}
