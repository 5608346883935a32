//! Who has to go so that a pod of higher priority can come.

use serde_json::{Value, json};

use super::Cluster;

/// Nodes that hold so many pods.
fn nodes(names: &[&str], pods: &str) -> Cluster {
    names.iter().fold(Cluster::new(), |cluster, name| {
        cluster.node(name, json!({"cpu": "10", "pods": pods, "labels": {"node": name}}))
    })
}

fn there(node: &str, priority: i64, cpu: &str, started: u32) -> Value {
    json!({
        "node": node,
        "priority": priority,
        "requests": {"cpu": cpu},
        "labels": {"app": "x"},
        "status": {"phase": "Running", "startTime": format!("2026-01-01T00:00:{started:02}Z")},
    })
}

fn incoming(cpu: &str) -> Value {
    json!({"priority": 10, "requests": {"cpu": cpu}})
}

#[track_caller]
fn check(cluster: Cluster, node: &str, victims: &[&str]) {
    let shown = cluster.decision();
    assert_eq!(
        (shown.nominated.as_deref(), shown.victims.as_slice()),
        (Some(node), &victims.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>()[..]),
        "{shown:?}"
    );
    assert!(!shown.message.contains("preemption:"), "{}", shown.message);
}

#[test]
fn only_lower_priority_makes_room() {
    let full = |priority| nodes(&["a"], "1").pod("q", there("a", priority, "1", 0)).pod("p", incoming("1"));
    check(full(9), "a", &["q"]);
    let head =
        "0/1 nodes are available: 1 Too many pods. no new claims to deallocate, preemption: 0/1 nodes are available: ";
    assert_eq!(full(10).decision().message, format!("{head}1 No preemption victims found for incoming pod."));
    let cordoned = Cluster::new()
        .node("a", json!({"unschedulable": true}))
        .pod("q", there("a", 0, "1", 0))
        .pod("p", incoming("1"));
    assert_eq!(
        cordoned.decision().message,
        "0/1 nodes are available: 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/1 nodes are \
         available: 1 Preemption is not helpful for scheduling."
    );
    assert!(!full(9).version("1.33").decision().message.contains("claims"));
}

#[test]
fn a_node_too_small_even_then_is_said() {
    let mut cluster = nodes(&["a", "b"], "10");
    for name in ["c", "d"] {
        cluster = cluster.node(name, json!({"unschedulable": true}));
    }
    for node in ["a", "b"] {
        cluster = cluster
            .pod(&format!("low-{node}"), there(node, 0, "1", 0))
            .pod(&format!("high-{node}"), there(node, 20, "6", 0));
    }
    assert_eq!(
        cluster.pod("p", incoming("5")).decision().message,
        "0/4 nodes are available: 2 Insufficient cpu, 2 node(s) were unschedulable. no new claims to deallocate, preemption: \
         0/4 nodes are available: 2 Insufficient cpu, 2 Preemption is not helpful for scheduling."
    );
}

#[test]
fn as_many_as_possible_are_spared_the_most_important_first() {
    let cluster = nodes(&["a"], "10").pod("mid", there("a", 5, "8", 0)).pod("low", there("a", 0, "1", 0));
    check(cluster.pod("p", incoming("5")), "a", &["mid"]);
    let alike = nodes(&["a"], "10").pod("late", there("a", 0, "5", 9)).pod("early", there("a", 0, "5", 1));
    check(alike.pod("p", incoming("5")), "a", &["late"]);
}

fn budget(allowed: i64, disrupted: Value) -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "x", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "minAvailable": 1},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2, "disruptedPods": disrupted},
    })
}

#[test]
fn budgets_are_spared_before_priorities() {
    let mut mid = there("b", 5, "8", 0);
    mid["labels"] = json!({"app": "y"});
    let cluster = nodes(&["a", "b"], "10")
        .pod("one", there("a", 0, "4", 0))
        .pod("two", there("a", 0, "4", 0))
        .pod("mid", mid)
        .pod("p", incoming("9"));
    check(cluster.clone().object(budget(1, json!({}))), "b", &["mid"]);
    check(cluster.clone().object(budget(2, json!({}))), "a", &["one", "two"]);
    // One of them is known to be on its way out.
    check(cluster.object(budget(1, json!({"one": "2026-01-01T00:00:00Z"}))), "a", &["one", "two"]);
}

#[test]
fn the_cheapest_node_is_chosen() {
    #[track_caller]
    fn costs(a: &[(i64, u32)], b: &[(i64, u32)], cheaper: &str) {
        let mut cluster = nodes(&["a", "b"], "10");
        for (node, pods) in [("a", a), ("b", b)] {
            let share = format!("{}m", 10_000 / pods.len());
            for (i, (priority, started)) in pods.iter().enumerate() {
                cluster = cluster.pod(&format!("{node}{i}"), there(node, *priority, &share, *started));
            }
        }
        let shown = cluster.pod("p", incoming("10")).decision();
        assert_eq!(shown.nominated.as_deref(), Some(cheaper), "{a:?} {b:?}");
    }
    // The highest victim, then the sum, then the number, then who started last.
    costs(&[(5, 0)], &[(0, 0), (0, 0)], "b");
    costs(&[(5, 0), (5, 0)], &[(5, 0), (0, 0)], "b");
    costs(&[(5, 0), (5, 0)], &[(5, 0)], "b");
    costs(&[(0, 1)], &[(0, 7)], "b");
    costs(&[(0, 7)], &[(0, 1)], "a");
    costs(&[(-100, 0), (-100, 0)], &[(-100, 0)], "b");
}

#[test]
fn a_spread_is_mended_on_the_node_itself() {
    let constraint = |key: &str| {
        json!({"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "x"}}})
    };
    let incoming = |constraints: &[&str]| {
        let constraints: Vec<Value> = constraints.iter().map(|key| constraint(key)).collect();
        json!({"priority": 10, "labels": {"app": "x"}, "topologySpreadConstraints": constraints})
    };
    let labels =
        |zone: &str, node: &str| json!({"cpu": "10", "labels": {"zone": zone, "kubernetes.io/hostname": node}});
    // Zone z1 has three and z2 has two, whom nothing moves. One has to go from the node that the pod comes to; which of
    // the two, the one that started later says.
    let crowded = |a2: u32, b1: u32| {
        Cluster::new()
            .node("a", labels("z1", "a"))
            .node("b", labels("z1", "b"))
            .node("x", labels("z2", "x"))
            .pod("a1", there("a", 5, "1", 0))
            .pod("a2", there("a", 0, "1", a2))
            .pod("b1", there("b", 0, "1", b1))
            .pod("x1", there("x", 10, "1", 0))
            .pod("x2", there("x", 10, "1", 0))
            .pod("p", incoming(&["zone", "kubernetes.io/hostname"]))
    };
    check(crowded(9, 1), "a", &["a2"]);
    check(crowded(1, 9), "b", &["b1"]);
    let tight = Cluster::new()
        .node("a", labels("z1", "a"))
        .node("b", json!({"labels": {"zone": "z2", "kubernetes.io/hostname": "b"}, "unschedulable": true}))
        .pod("a1", there("a", 0, "1", 3))
        .pod("p", incoming(&["zone"]));
    check(tight, "a", &["a1"]);
}

#[test]
fn nodes_that_are_not_looked_at_are_told_of_with_what_rejected_the_pod_on_its_nominated_node() {
    let terms = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]);
    let affinity =
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}});
    let shown = |status: Value| {
        nodes(&["a", "b", "c"], "10")
            .pod("full", there("a", 20, "9", 0))
            .pod("p", json!({"priority": 10, "requests": {"cpu": "9"}, "affinity": affinity, "status": status}))
            .decision()
    };
    let nominated = shown(json!({"phase": "Pending", "nominatedNodeName": "a"}));
    let begin = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity";
    assert!(nominated.message.starts_with(&format!("{begin} NodeResourcesFit].")), "{}", nominated.message);
    let other = shown(json!({"phase": "Pending"}));
    assert!(other.message.starts_with(&format!("{begin}].")), "{}", other.message);
}

#[test]
fn who_waits_for_victims_preempts_nobody_else() {
    let waiting = |victim: Value| {
        let mut leaving = there("a", 0, "9", 0);
        for (name, value) in victim.as_object().expect("fields") {
            leaving[name] = value.clone();
        }
        nodes(&["a", "b"], "10").pod("leaving", leaving).pod("other", there("b", 0, "9", 0)).pod(
            "p",
            json!({"priority": 10, "requests": {"cpu": "9"}, "status": {"phase": "Pending", "nominatedNodeName": "a"}}),
        )
    };
    let terminating = json!({"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30});
    let mut preempted = terminating.clone();
    preempted["status"] = json!({"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]});
    let shown = waiting(preempted).decision();
    assert!(
        shown.message.ends_with("preemption: not eligible due to a terminating pod on the nominated node."),
        "{shown:?}"
    );
    // One that leaves for another reason does not keep the pod from preempting; it is itself as good a victim as the other.
    let shown = waiting(terminating).decision();
    assert_eq!(shown.victims, [if shown.nominated.as_deref() == Some("a") { "leaving" } else { "other" }], "{shown:?}");
}

#[test]
fn who_waits_for_a_node_that_cannot_take_it_any_more_preempts_elsewhere() {
    let mut leaving = there("a", 0, "9", 0);
    leaving["deletionTimestamp"] = json!("2026-01-01T00:00:30Z");
    leaving["deletionGracePeriodSeconds"] = json!(30);
    leaving["status"]["conditions"] =
        json!([{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]);
    let cordoned = Cluster::new().node("a", json!({"cpu": "10", "unschedulable": true})).pod("leaving", leaving).pod(
        "p",
        json!({"priority": 10, "requests": {"cpu": "9"}, "status": {"phase": "Pending", "nominatedNodeName": "a"}}),
    );
    let message = cordoned.decision().message;
    assert!(
        message.ends_with("preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."),
        "{message}"
    );
    check(cordoned.node("b", json!({"cpu": "10"})).pod("other", there("b", 0, "9", 0)), "b", &["other"]);
}

#[test]
fn so_many_candidates_are_enough() {
    // Nodes that are full of one pod each, of these priorities.
    let full = |priorities: [i64; 5]| {
        let names = ["a", "b", "c", "d", "e"];
        let all = names.iter().zip(priorities);
        all.fold(nodes(&names, "10"), |cluster, (node, priority)| {
            cluster.pod(&format!("on-{node}"), there(node, priority, "10", 0))
        })
        .pod("p", incoming("10"))
    };
    let two = json!({"pluginConfig": [{"name": "DefaultPreemption", "args": {
        "minCandidateNodesPercentage": 40, "minCandidateNodesAbsolute": 1}}]});
    check(full([5, 3, 2, 1, 0]), "e", &["on-e"]);
    // 40 % of five are two: the cheapest are not looked at.
    check(full([5, 3, 2, 1, 0]).profile(two.clone()), "b", &["on-b"]);
    // Nodes on which nothing can be gained are passed over.
    check(full([5, 20, 3, 0, 20]).profile(two), "c", &["on-c"]);
}

#[test]
fn a_pod_may_be_told_never_to_preempt() {
    let mut never = incoming("1");
    never["preemptionPolicy"] = json!("Never");
    let shown = nodes(&["a"], "1").pod("q", there("a", 0, "1", 0)).pod("p", never).decision();
    assert_eq!(
        shown.message,
        "0/1 nodes are available: 1 Too many pods. no new claims to deallocate, preemption: not eligible due to \
         preemptionPolicy=Never."
    );
}

#[test]
fn a_profile_may_do_without_preemption() {
    let without = json!({"plugins": {"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}}});
    let shown = nodes(&["a"], "1").pod("q", there("a", 0, "1", 0)).pod("p", incoming("1")).profile(without).decision();
    assert_eq!(shown.message, "0/1 nodes are available: 1 Too many pods. no new claims to deallocate");
}

#[test]
fn room_that_is_being_made_is_taken_for_others_of_no_higher_priority() {
    let node = |priority: i64| {
        nodes(&["a"], "10")
            .pod("waiting", json!({"priority": 10, "requests": {"cpu": "8"}, "status": {"phase": "Pending", "nominatedNodeName": "a"}}))
            .pod("p", json!({"priority": priority, "requests": {"cpu": "8"}}))
            .decision_of("p")
            .node
    };
    assert_eq!(node(10), None);
    assert_eq!(node(5), None);
    assert_eq!(node(11).as_deref(), Some("a"));
}

#[test]
fn a_claim_for_one_pod_is_taken_from_the_less_important_on_another_node() {
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOncePod"], "storageClassName": "", "volumeName": "v", "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Bound"}});
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
        "spec": {"accessModes": ["ReadWriteOncePod"], "capacity": {"storage": "1Gi"}, "claimRef": {"name": "c", "namespace": "default"},
            "csi": {"driver": "d", "volumeHandle": "h"}},
        "status": {"phase": "Bound"}});
    let using = |priority: i32, node: Value| {
        let mut pod =
            json!({"priority": priority, "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]});
        if !node.is_null() {
            pod["node"] = node;
            pod["status"] = json!({"phase": "Running", "startTime": "2026-01-01T00:00:00Z"});
        }
        pod
    };
    let cluster = Cluster::new()
        .object(claim)
        .object(volume)
        .node("a", json!({}))
        .node("b", json!({}))
        .pod("low", using(0, json!("a")))
        .pod("high", using(10, Value::Null));
    check(cluster, "a", &["low"]);
}
