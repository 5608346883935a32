//! What must hold of every decision, whatever the cluster.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Cluster, Shown};

#[derive(Clone, Debug)]
struct Node {
    zone: u8,
    cpu: u8,
    is_cordoned: bool,
}

#[derive(Clone, Debug)]
struct Pod {
    app: u8,
    cpu: u8,
    /// Prefers nothing, keeps away from its own kind on a host, or is spread over zones.
    kind: u8,
}

fn node() -> impl Strategy<Value = Node> {
    (0..3u8, 1..6u8, prop::bool::weighted(0.15)).prop_map(|(zone, cpu, is_cordoned)| Node { zone, cpu, is_cordoned })
}

fn pod() -> impl Strategy<Value = Pod> {
    (0..3u8, 0..3u8, 0..3u8).prop_map(|(app, cpu, kind)| Pod { app, cpu, kind })
}

fn cluster(nodes: &[Node], pods: &[Pod]) -> Cluster {
    let mut cluster = Cluster::new();
    for (i, node) in nodes.iter().enumerate() {
        let labels = json!({"kubernetes.io/hostname": format!("n{i:02}"), "zone": format!("z{}", node.zone)});
        let cpu = node.cpu.to_string();
        cluster =
            cluster.node(&format!("n{i:02}"), json!({"labels": labels, "cpu": cpu, "unschedulable": node.is_cordoned}));
    }
    for (i, pod) in pods.iter().enumerate() {
        let selector = json!({"matchLabels": {"app": format!("a{}", pod.app)}});
        let more = match pod.kind {
            1 => json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}]}}}),
            2 => json!({"topologySpreadConstraints": [
                {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]}),
            _ => json!({}),
        };
        let mut fields = json!({"labels": {"app": format!("a{}", pod.app)}, "requests": {"cpu": pod.cpu.to_string()}});
        for (name, value) in more.as_object().expect("fields") {
            fields[name] = Value::clone(value);
        }
        cluster = cluster.pod(&format!("p{i:02}"), fields);
    }
    cluster
}

/// The pod and the node of each decision that placed one.
fn placed<'a>(decisions: &'a [Shown], nodes: &'a [Node], pods: &'a [Pod]) -> Vec<(&'a Pod, usize, &'a Node)> {
    let number = |name: &str| name[1..].parse::<usize>().expect("a number");
    let of = |shown: &'a Shown| {
        let node = number(shown.node.as_deref()?);
        Some((&pods[number(&shown.pod)], node, &nodes[node]))
    };
    decisions.iter().filter_map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_decision_breaks_a_hard_rule(
        nodes in prop::collection::vec(node(), 1..8),
        pods in prop::collection::vec(pod(), 1..16),
    ) {
        let decisions = cluster(&nodes, &pods).decisions();
        let placed = placed(&decisions, &nodes, &pods);
        for (i, node) in nodes.iter().enumerate() {
            let there: Vec<&Pod> = placed.iter().filter(|(_, at, _)| *at == i).map(|(pod, ..)| *pod).collect();
            prop_assert!(there.iter().map(|pod| pod.cpu).sum::<u8>() <= node.cpu, "node {i} is over-committed");
            prop_assert!(there.is_empty() || !node.is_cordoned, "node {i} is cordoned");
            for (a, first) in there.iter().enumerate() {
                for second in &there[a + 1..] {
                    let shuns = first.kind == 1 || second.kind == 1;
                    prop_assert!(!(shuns && first.app == second.app), "two of a kind that keep apart on node {i}");
                }
            }
        }
        for (at, (pod, _, node)) in placed.iter().enumerate().filter(|(_, (pod, ..))| pod.kind == 2) {
            let zone_count = |zone: u8| placed[..at].iter().filter(|(p, _, n)| p.app == pod.app && n.zone == zone).count();
            let least = nodes.iter().map(|n| zone_count(n.zone)).min().unwrap_or(0);
            prop_assert!(zone_count(node.zone) + 1 - least <= 1, "the skew of zone {} is exceeded", node.zone);
        }
    }

    /// Pods that keep apart or ask for nothing of others are never worse off with one node more. (A spread may be: a new,
    /// empty domain lowers the least count.)
    #[test]
    fn one_node_more_never_hurts(
        nodes in prop::collection::vec(node(), 1..6),
        more in node(),
        there in prop::collection::vec(pod(), 0..10),
        mut pod in pod(),
    ) {
        pod.kind %= 2;
        let fits = |nodes: &[Node], hosts: usize| {
            let mut all = cluster(nodes, std::slice::from_ref(&pod));
            for (i, other) in there.iter().enumerate() {
                let fields = json!({"node": format!("n{:02}", i % hosts), "labels": {"app": format!("a{}", other.app)}});
                all = all.pod(&format!("t{i}"), fields);
            }
            all.decision().node.is_some()
        };
        let mut larger = nodes.clone();
        larger.push(more);
        prop_assert!(!fits(&nodes, nodes.len()) || fits(&larger, nodes.len()));
    }
}
