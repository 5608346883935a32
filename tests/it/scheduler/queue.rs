//! When a pod that no node took is tried again.

use kubesquall::observe::{CauseRow, Observed};
use serde_json::{Value, json};

use crate::plays;

/// A play of nodes and pods in which kubectl lines are typed at given seconds; the attempts to schedule a pod.
fn play(version: &str, items: &Value, lines: &[(u32, &str)], pod: &str) -> Vec<(f64, String)> {
    play_with(version, items, lines, pod, &json!({}))
}

/// The same with other fields of the scenario's spec.
fn play_with(version: &str, items: &Value, lines: &[(u32, &str)], pod: &str, spec: &Value) -> Vec<(f64, String)> {
    attempts(&observed(version, items, lines, spec), pod)
}

fn observed(version: &str, items: &Value, lines: &[(u32, &str)], spec: &Value) -> Observed {
    let timeline: Vec<Value> =
        lines.iter().map(|(at, line)| json!({"at": format!("{at}s"), "kubectl": line})).collect();
    let mut whole = json!({"controlPlane": {"kubernetesVersion": version}, "timeline": timeline});
    plays::lay_over(&mut whole, spec);
    plays::play_with(items, &whole)
}

/// Times and outcomes of the attempts to schedule a pod.
fn attempts(observed: &Observed, pod: &str) -> Vec<(f64, String)> {
    let of_pod = observed.events.iter().filter(|row| &*row.name == pod);
    let attempts = of_pod.filter(|row| matches!(row.reason, "FailedScheduling" | "Scheduled"));
    attempts.map(|row| (row.at.as_secs_f64(), row.reason.to_owned())).collect()
}

/// The attempts after the beginning, to the second.
#[track_caller]
fn check(found: &[(f64, String)], expected: &[(u32, &str)]) {
    let later: Vec<(u32, &str)> =
        found.iter().filter(|(at, _)| *at > 5.0).map(|(at, reason)| (*at as u32, reason.as_str())).collect();
    assert_eq!(later, expected, "{found:?}");
}

fn node(name: &str, cpu: &str, taints: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"taints": taints},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn pod(name: &str, cpu: &str, more: Value) -> Value {
    let mut spec = json!({"containers": [{"name": "c", "image": "app", "resources": {"requests": {"cpu": cpu}}}]});
    for (field, value) in more.as_object().expect("fields") {
        spec[field] = value.clone();
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": {"app": name}}, "spec": spec})
}

#[test]
fn any_change_of_taints_retries_pods_that_wait_for_nodes() {
    let items = json!([node("a", "1", json!([])), node("b", "1", json!([])), pod("p", "5", json!({}))]);
    // And the look at all that have waited for more than five minutes comes at the next half minute.
    let expected = [(60, "FailedScheduling"), (390, "FailedScheduling")];
    check(&play("1.36", &items, &[(60, "taint nodes a k=v:NoSchedule")], "p"), &expected);
}

#[test]
fn a_pod_that_taints_keep_out_hears_of_its_own_chances_only() {
    let taint = json!([{"key": "x", "value": "y", "effect": "NoSchedule"}]);
    let items = json!([node("a", "1", taint.clone()), node("b", "1", taint), pod("p", "1", json!({}))]);
    let lines = [(60, "taint nodes a k=v:NoSchedule"), (90, "taint nodes b x-")];
    check(&play("1.36", &items, &lines, "p"), &[(90, "Scheduled")]);
}

#[test]
fn room_counts_when_a_pod_is_gone_not_when_it_begins_to_go() {
    let items = json!([node("a", "1", json!([])), pod("q", "1", json!({"nodeName": "a"})), pod("p", "1", json!({}))]);
    check(&play("1.36", &items, &[(60, "delete pod q --wait=false")], "p"), &[(70, "Scheduled")]);
}

/// A pod that another keeps away, on a cluster of one node.
fn kept_away() -> Value {
    let far = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "p"}}}]}});
    json!([
        node("a", "4", json!([])),
        pod("q", "1", json!({"nodeName": "a", "affinity": far})),
        pod("p", "1", json!({})),
    ])
}

#[test]
fn the_end_of_a_distance_is_heard_of_since_1_36() {
    let lines = [(60, "delete pod q --wait=false")];
    check(&play("1.36", &kept_away(), &lines, "p"), &[(70, "Scheduled")]);
    // Before, the pod is found by the look at all that have waited for more than five minutes.
    check(&play("1.35", &kept_away(), &lines, "p"), &[(330, "Scheduled")]);
}

#[test]
fn a_pod_that_wants_its_own_kind_waits_for_the_flush_when_the_last_of_them_has_gone() {
    let near = json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"kind": "x"}}}]}}});
    let mut mate = pod("q", "1", json!({"nodeName": "a"}));
    mate["metadata"]["labels"] = json!({"kind": "x"});
    let mut replacement = pod("p", "1", near);
    replacement["metadata"]["labels"] = json!({"kind": "x"});
    let mut cordoned = node("a", "4", json!([]));
    cordoned["spec"] =
        json!({"unschedulable": true, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]});
    let items = json!([cordoned, node("b", "4", json!([])), mate, replacement]);
    check(&play("1.36", &items, &[(60, "delete pod q --wait=false")], "p"), &[(330, "Scheduled")]);
}

#[test]
fn the_room_that_a_preemptor_waits_for_is_taken_by_higher_priority_alone() {
    let class = |name: &str, value: i32| json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value});
    let mut slow = pod("slow", "1", json!({"nodeName": "a"}));
    slow["metadata"]["annotations"] = json!({"kubesquall.sim/stop": "30s"});
    slow["spec"]["terminationGracePeriodSeconds"] = json!(60);
    let quick = pod("quick", "1", json!({"nodeName": "a"}));
    let items = json!([class("high", 100), class("higher", 200), node("a", "2", json!([])), quick, slow]);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let apply = |name: &str, cpu: &str, class: &str| {
        let file = directory.path().join(format!("{name}-{class}.json"));
        let manifest = pod(name, cpu, json!({"priorityClassName": class}));
        std::fs::write(&file, manifest.to_string()).expect("a manifest");
        format!("apply -f {}", file.display())
    };
    let preemptor = apply("p", "2", "high");
    // At 80 s half of the room is free; the other half follows at about 90 s.
    let played = |class: &str, pod: &str| {
        let late = apply("late", "1", class);
        let found = play("1.36", &items, &[(60, &preemptor), (80, &late)], pod);
        found.iter().find(|(_, reason)| reason == "Scheduled").map(|(at, _)| *at as u32)
    };
    assert_eq!(played("high", "late"), None);
    assert!(played("high", "p").is_some_and(|at| (90..93).contains(&at)));
    assert_eq!(played("higher", "late"), Some(80));
    assert_eq!(played("higher", "p"), None);
}

#[test]
fn a_preemptor_waits_for_each_of_its_victims() {
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100});
    let directory = tempfile::tempdir().expect("a temporary directory");
    let high = pod("p", "2", json!({"priorityClassName": "high"}));
    let file = directory.path().join("high.json");
    std::fs::write(&file, high.to_string()).expect("a manifest");
    let items = json!([
        class,
        node("a", "2", json!([])),
        pod("q", "1", json!({"nodeName": "a"})),
        pod("r", "1", json!({"nodeName": "a"}))
    ]);
    let line = format!("apply -f {}", file.display());
    let found = play("1.36", &items, &[(60, &line)], "p");
    let reasons: Vec<&str> = found.iter().map(|(_, reason)| reason.as_str()).collect();
    // It nominates the node, fails while the second victim is still there, and is bound when that has gone.
    assert_eq!(reasons.first(), Some(&"FailedScheduling"), "{found:?}");
    assert_eq!(reasons.last(), Some(&"Scheduled"), "{found:?}");
    assert!(found.last().is_some_and(|(at, _)| (70.0..72.0).contains(at)), "{found:?}");
}

#[test]
fn a_preemptor_that_is_held_for_long_does_not_stop_time() {
    let mut items = vec![
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}),
        node("a", "20", json!([])),
    ];
    items.extend((0..20).map(|index| pod(&format!("q{index}"), "1", json!({"nodeName": "a"}))));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("high.json");
    let high = pod("p", "20", json!({"priorityClassName": "high"}));
    std::fs::write(&file, high.to_string()).expect("a manifest");
    let line = format!("apply -f {}", file.display());
    // One call in twenty seconds: the victims take longer than the pod may wait before it is looked at again.
    let slow = json!({"duration": "15m",
        "controlPlane": {"kubeScheduler": {"clientConnection": {"qps": 0.05, "burst": 1}}}});
    let found = play_with("1.36", &json!(items), &[(10, &line)], "p", &slow);
    assert!(found.last().is_some_and(|(at, reason)| *at > 800.0 && reason == "Scheduled"), "{found:?}");
}

#[test]
fn a_nomination_that_ends_frees_pods_of_no_higher_priority() {
    let port = |mut pod: Value| {
        pod["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 80}]);
        pod
    };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let write = |name: &str, pod: Value| {
        let file = directory.path().join(name);
        std::fs::write(&file, pod.to_string()).expect("a manifest");
        format!("apply -f {}", file.display())
    };
    let high =
        write("high.json", port(pod("p", "3", json!({"priorityClassName": "high", "nodeSelector": {"disk": "ssd"}}))));
    let low = write("low.json", port(pod("l", "100m", json!({}))));
    let mut fast = node("a", "4", json!([]));
    fast["metadata"]["labels"]["disk"] = json!("ssd");
    let closed = json!([{"key": "k", "value": "v", "effect": "NoSchedule"}]);
    let items = json!([
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100},
        fast,
        node("b", "4", closed),
        pod("v", "3", json!({"nodeName": "a", "terminationGracePeriodSeconds": 400})),
        pod("x", "1", json!({"nodeName": "b", "terminationGracePeriodSeconds": 5})),
    ]);
    // The node of the nomination loses its label; the next look at the pod ends the nomination.
    let lines =
        [(30, high.as_str()), (40, low.as_str()), (60, "label node a disk-"), (90, "delete pod x --wait=false")];
    let latency = json!({"latency": {"podStop": {"constant": "390s"}}});
    let found = play_with("1.36", &items, &lines, "l", &latency);
    check(&found, &[(40, "FailedScheduling"), (95, "Scheduled")]);
}

#[test]
fn soft_constraints_do_not_keep_a_pod_from_being_retried() {
    let constraint = |key: &str, action: &str| json!({"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": action, "labelSelector": {"matchLabels": {"app": "p"}}});
    let constraints = json!([constraint("zone", "DoNotSchedule"), constraint("rack", "ScheduleAnyway")]);
    let items = json!([node("a", "4", json!([])), pod("p", "1", json!({"topologySpreadConstraints": constraints}))]);
    check(&play("1.36", &items, &[(60, "label node a zone=z")], "p"), &[(60, "Scheduled")]);
}

#[test]
fn default_constraints_are_asked_like_a_pods_own() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"},
        "spec": {"selector": {"app": "p"}, "ports": [{"port": 80}]}});
    let arguments = json!({"defaultingType": "List",
        "defaultConstraints": [{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]});
    let profiles = json!([{"pluginConfig": [{"name": "PodTopologySpread", "args": arguments}]}]);
    let spec = json!({"controlPlane": {"kubernetesVersion": "1.36", "kubeScheduler": {"profiles": profiles}}});
    let items =
        json!([node("a", "4", json!([])), service, pod("q", "1", json!({"nodeName": "a"})), pod("p", "1", json!({}))]);
    let lines = [(60, "label pod q x=y"), (90, "label node a rack=r"), (120, "label node a zone=z")];
    check(&play_with("1.36", &items, &lines, "p", &spec), &[(120, "Scheduled")]);
}

#[test]
fn a_pod_that_is_being_deleted_is_skipped_aloud() {
    let mut leaving = pod("p", "5", json!({}));
    leaving["metadata"]["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("leaving.json");
    std::fs::write(&file, leaving.to_string()).expect("a manifest");
    let items = json!([node("a", "1", json!([])), pod("q", "1", json!({"nodeName": "a"}))]);
    // Nobody is there to take its finalizer away.
    let outage = json!({"timeline": [
        {"at": "10s", "fault": {"kind": "ControlPlaneOutage", "components": ["kube-controller-manager"], "for": "5m"}},
        {"at": "20s", "kubectl": format!("apply -f {}", file.display())},
        {"at": "30s", "kubectl": "delete pod p --wait=false"},
        {"at": "60s", "kubectl": "delete pod q --wait=false"},
    ]});
    check(&play_with("1.36", &items, &[], "p", &outage), &[(20, "FailedScheduling"), (70, "FailedScheduling")]);
}

/// What led to the first row that begins so, from that on.
fn chain(observed: &Observed, what: &str) -> Vec<String> {
    let row = |row: &CauseRow| format!("{:.0} {}", row.at.as_secs_f64(), row.what);
    let first = observed.causes.iter().find(|row| row.what.starts_with(what));
    let first = first.unwrap_or_else(|| panic!("nothing begins with {what}: {:#?}", observed.causes));
    let of = |effect| observed.causes.iter().find(move |row| row.effect == effect);
    std::iter::successors(Some(first), |row| of(row.cause)).map(row).collect()
}

#[test]
fn what_the_flush_does_follows_from_the_flush() {
    // The last pod that the scheduler looks at before is another one.
    let other = pod("other", "1", json!({"schedulingGates": [{"name": "g"}]}));
    let mut items = kept_away();
    items.as_array_mut().expect("objects").push(other);
    let open = r#"patch pod other --type=json -p '[{"op":"remove","path":"/spec/schedulingGates"}]'"#;
    let observed = observed("1.35", &items, &[(60, "delete pod q --wait=false"), (200, open)], &json!({}));
    let flush = "330 default-scheduler: pods that have long been unschedulable are tried again";
    assert_eq!(chain(&observed, "pod/default/p bound to a"), ["330 pod/default/p bound to a", flush]);
}

#[test]
fn a_pod_is_tried_again_because_of_what_brought_it_back() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("large.json");
    std::fs::write(&file, pod("large", "100", json!({})).to_string()).expect("a manifest");
    let apply = format!("apply -f {}", file.display());
    let items = json!([node("a", "1", json!([])), pod("q", "1", json!({"nodeName": "a"})), pod("p", "1", json!({}))]);
    // The room comes while the scheduler waits for the answer to what it has written on the large pod.
    let lines = [(60, apply.as_str()), (61, "delete pod q --grace-period=0 --force")];
    let observed = observed("1.36", &items, &lines, &json!({"latency": {"apiCall": "2s", "watch": "0s"}}));
    let chain = chain(&observed, "pod/default/p bound to a");
    assert!(chain[1].contains("pod/default/q"), "{chain:?}");
}

/// kube-scheduler's recorder neither drops Events of an object nor combines those that are alike but for their text.
#[test]
fn every_attempt_is_told_as_it_is() {
    let nodes = (0..12).map(|i| node(&format!("n{i}"), "1", json!([])));
    // One without a taint is too small, so that any taint lets the pod try again.
    let items: Vec<Value> = nodes.chain([node("small", "1", json!([])), pod("p", "5", json!({}))]).collect();
    let lines: Vec<(u32, String)> =
        (0..36).map(|i| (10 + 10 * i, format!("taint nodes n{} k{}=v:NoSchedule", i % 12, i / 12))).collect();
    let lines: Vec<(u32, &str)> = lines.iter().map(|(at, line)| (*at, line.as_str())).collect();
    let observed = observed("1.36", &json!(items), &lines, &json!({}));
    let found = attempts(&observed, "p").into_iter().filter(|(at, _)| *at > 5.0);
    let found: Vec<u32> = found.map(|(at, _)| at as u32).collect();
    assert_eq!(found.iter().filter(|at| **at < 371).count(), 36, "{found:?}");
    let is_combined = |message: &str| message.starts_with("(combined");
    assert!(!observed.events.iter().any(|event| is_combined(&event.message)));
}

/// Bindings and Events have each a client of fifty in a second, and a hundred at once.
#[test]
fn events_do_not_wait_for_each_other() {
    let tainted = json!([{"key": "k", "effect": "NoSchedule"}]);
    let mut big = node("a", "1000", tainted);
    big["status"]["allocatable"]["pods"] = json!("500");
    let pods = (0..250).map(|i| pod(&format!("p{i}"), "10m", json!({})));
    let items: Vec<Value> = [big].into_iter().chain(pods).collect();
    let spec = json!({"duration": "2m"});
    let observed = observed("1.36", &json!(items), &[(60, "taint nodes a k-")], &spec);
    let told = observed.events.iter().filter(|row| row.reason == "Scheduled").map(|row| row.at.as_secs_f64());
    let told: Vec<f64> = told.collect();
    assert_eq!(told.len(), 250);
    let last = told.iter().copied().fold(0.0, f64::max);
    assert!((63.0..64.5).contains(&last), "{last}");
}

#[test]
fn each_profile_tells_under_its_own_name() {
    let mut high = pod("high", "3", json!({"schedulerName": "packing", "priorityClassName": "system-node-critical"}));
    high["metadata"]["namespace"] = json!("kube-system");
    let low = pod("low", "2", json!({}));
    let items = json!([node("a", "4", json!([])), low, high, pod("big", "9", json!({"schedulerName": "packing"}))]);
    let profiles = json!([{"schedulerName": "default-scheduler"}, {"schedulerName": "packing"}]);
    let spec = json!({"cluster": {"bootstrap": "cold"}, "controlPlane": {"kubeScheduler": {"profiles": profiles}}});
    let observed = observed("1.36", &items, &[], &spec);
    let by = |reason: &str, name: &str| {
        let mut rows = observed.events.iter().filter(|row| row.reason == reason && &*row.name == name);
        rows.next().map(|row| row.component)
    };
    assert_eq!(by("FailedScheduling", "big"), Some("packing"));
    assert_eq!(by("Scheduled", "high"), Some("packing"));
    let told = observed.events.iter().filter(|row| &*row.name == "low").map(|row| (row.component, row.reason));
    let told: Vec<(&str, &str)> = told.filter(|(by, _)| *by != "kubelet").collect();
    let is_own = |told: &(&str, &str)| *told == ("default-scheduler", "FailedScheduling");
    assert!(told.iter().any(is_own), "{told:?}");
    assert!(told.iter().all(|told| told.1 != "Preempted" || told.0 == "packing"), "{told:?}");
}

/// A node that takes one volume of a driver, which `q` has, and `p` with a volume of that driver.
fn full_of_volumes(volume: &Value) -> Value {
    let csi_node = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "a"},
        "spec": {"drivers": [{"name": "d.example.com", "nodeID": "a", "allocatable": {"count": 1}}]}});
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "disk"},
        "provisioner": "d.example.com", "volumeBindingMode": "WaitForFirstConsumer"});
    let held = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"storageClassName": "disk",
        "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "csi": {"driver": "d.example.com", "volumeHandle": "v"},
        "claimRef": {"namespace": "default", "name": "held"}}});
    let claim = |name: &str, volume: Value| {
        let phase = if volume.is_null() { "Pending" } else { "Bound" };
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
            "spec": {"storageClassName": "disk", "volumeName": volume, "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": phase}})
    };
    let used = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "held"}}]);
    json!([
        csi_node,
        class,
        held,
        claim("held", json!("v")),
        claim("own", Value::Null),
        node("a", "4", json!([])),
        pod("q", "1", json!({"nodeName": "a", "volumes": used})),
        pod("p", "1", json!({"volumes": [volume]})),
    ])
}

/// The ephemeral claim of a volume, and one of the pod's own.
fn ways_to_claim() -> [Value; 2] {
    let template = json!({"spec": {"storageClassName": "disk", "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}});
    [
        json!({"name": "v", "ephemeral": {"volumeClaimTemplate": template}}),
        json!({"name": "v", "persistentVolumeClaim": {"claimName": "own"}}),
    ]
}

#[test]
fn a_detached_volume_is_no_news_for_a_pod_with_ephemeral_volumes_alone() {
    let [ephemeral, own] = ways_to_claim();
    let spec = json!({"latency": {"volumeAttach": {"constant": "3s"}, "volumeDetach": {"constant": "6s"}}});
    let scheduled = |volume: &Value| {
        let found = play_with("1.36", &full_of_volumes(volume), &[(60, "delete pod q --wait=false")], "p", &spec);
        let at = found.iter().find(|(_, what)| what == "Scheduled").map(|(at, _)| *at);
        at.unwrap_or_else(|| panic!("{found:?}"))
    };
    let at = scheduled(&own);
    assert!((76.0..100.0).contains(&at), "{at}");
    let at = scheduled(&ephemeral);
    assert!((370.0..405.0).contains(&at), "{at}");
}

#[test]
fn a_node_that_takes_more_volumes_is_news_and_a_class_is_none() {
    let [ephemeral, _] = ways_to_claim();
    let items = full_of_volumes(&ephemeral);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let apply = |name: &str, object: Value| {
        let file = directory.path().join(format!("{name}.json"));
        std::fs::write(&file, object.to_string()).expect("a manifest");
        format!("apply -f {}", file.display())
    };
    let with = |count: u32| {
        let mut csi_node = items[0].clone();
        csi_node["spec"]["drivers"][0]["allocatable"]["count"] = json!(count);
        csi_node
    };
    let mut class = items[1].clone();
    class["metadata"]["name"] = json!("other");
    let lines = [apply("class", class), apply("less", with(0)), apply("more", with(2))];
    let lines = [(60, lines[0].as_str()), (120, lines[1].as_str()), (180, lines[2].as_str())];
    let found = play("1.36", &items, &lines, "p");
    let later: Vec<&(f64, String)> = found.iter().filter(|(at, _)| *at > 5.0).collect();
    assert!(matches!(later[..], [(at, what)] if (180.0..190.0).contains(at) && what == "Scheduled"), "{found:?}");
}
