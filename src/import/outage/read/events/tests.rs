//! Events as recorders, exporters and kubectl write them.

use serde_json::json;

use super::super::api;
use crate::arena::Symbol;
use crate::evidence::{Bounds, DeletedBy, EndedBy, Instant, Notice, PodName, RecordKind, Reporter, What};
use crate::import::outage::{ClockOptions, Evidence};
use crate::model::ConditionStatus;
use crate::units::SimDuration;

fn read(text: &str) -> Evidence {
    read_by(text, &ClockOptions::default())
}

fn read_by(text: &str, clock: &ClockOptions) -> Evidence {
    assert!(api::is(&text.as_bytes()[..text.len().min(4096)]), "{text}");
    let mut into = Evidence::new();
    api::read("events.json", &mut text.as_bytes(), clock, &mut into).expect("a text");
    into
}

/// What was seen but for heartbeats.
fn seen(into: &Evidence) -> Vec<(Bounds, What)> {
    let seen = into.sightings.iter().filter(|seen| !matches!(seen.what, What::Heartbeat { .. }));
    seen.map(|seen| (seen.when, seen.what.clone())).collect()
}

fn at(text: &str) -> Instant {
    Instant::parse(text).expect("a time")
}

fn second(text: &str) -> Bounds {
    Bounds::second(at(text))
}

fn pod(name: &str) -> PodName {
    PodName { namespace: Symbol::new("shop"), name: Symbol::new(name) }
}

/// An event of the first version that was counted once.
fn event(kind: &str, name: &str, component: &str, reason: &str, message: &str) -> serde_json::Value {
    let namespace = if kind == "Node" { "default" } else { "shop" };
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{name}.{reason}"), "namespace": namespace},
        "involvedObject": {"kind": kind, "name": name, "namespace": if kind == "Node" { "" } else { "shop" }, "uid": name},
        "reason": reason, "message": message, "type": "Normal", "count": 1,
        "source": {"component": component, "host": if component == "kubelet" { "w-1" } else { "" }},
        "firstTimestamp": "2026-03-01T14:05:50Z", "lastTimestamp": "2026-03-01T14:05:50Z", "eventTime": null,
    })
}

fn ready(status: ConditionStatus, by: Reporter) -> What {
    What::NodeReady { node: Symbol::new("w-1"), status, by }
}

/// What an event says that is written as `kind/name component reason: message`.
fn check(text: &str, expected: What) {
    let (head, message) = text.split_once(": ").expect("a message");
    let words: Vec<&str> = head.split(' ').collect();
    let (kind, name) = words[0].split_once('/').expect("an object");
    let into = read(&event(kind, name, words[1], words[2], message).to_string());
    assert_eq!(seen(&into), [(second("2026-03-01T14:05:50Z"), expected)], "{text}");
}

#[test]
fn events_of_nodes_say_what_came_about() {
    use ConditionStatus::{False, True, Unknown};
    let node = Symbol::new("w-1");
    let condition = |name: &str, status| What::NodeCondition { node, condition: Symbol::new(name), status };
    let notice = |notice| What::CloudNotice { machine: node, notice, deadline: None };
    let present = |is_present| What::NodePresent { node, is_present };
    let lost = ready(Unknown, Reporter::Controller);
    check("Node/w-1 node-controller NodeNotReady: Node w-1 status is now: NodeNotReady", lost.clone());
    check("Node/w-1 controllermanager NodeNotReady: Node w-1 status is now: NodeNotReady", lost);
    check("Node/w-1 kubelet NodeNotReady: Node w-1 status is now: NodeNotReady", ready(False, Reporter::Kubelet));
    check("Node/w-1 kubelet NodeReady: Node w-1 status is now: NodeReady", ready(True, Reporter::Kubelet));
    check("Node/w-1 other NodeNotReady: Node w-1 status is now: NodeNotReady", ready(False, Reporter::Unknown));
    check("Node/w-1 node-controller RegisteredNode: Node w-1 event: Registered Node w-1 in Controller", present(true));
    check("Node/w-1 node-controller RemovingNode: Node w-1 event: Removing Node w-1 from Controller", present(false));
    let gone = "Deleting node w-1 because it does not exist in the cloud provider";
    check(&format!("Node/w-1 cloud-node-lifecycle-controller DeletingNode: {gone}"), What::InstanceGone { node });
    check("Node/w-1 kubelet Starting: Starting kubelet.", What::KubeletStarted { node });
    check("Node/w-1 kubelet Rebooted: Node w-1 has been rebooted, boot id: 1", What::Rebooted { node });
    check("Node/w-1 kubelet NodeHasInsufficientMemory: x", condition("MemoryPressure", True));
    check("Node/w-1 kubelet NodeHasNoDiskPressure: x", condition("DiskPressure", False));
    let deadlock = "Node condition KernelDeadlock is now: True, reason: DockerHung";
    check(&format!("Node/w-1 kernel-monitor DockerHung: {deadlock}"), condition("KernelDeadlock", True));
    check("Node/w-1 kubelet Shutdown: Shutdown manager detected shutdown event", notice(Notice::Stopping));
    let interrupted = "Spot interruption warning was triggered";
    check(&format!("Node/w-1 karpenter SpotInterrupted: {interrupted}"), notice(Notice::SpotInterruption));
    check("Node/w-1 karpenter InstanceTerminating: Instance is terminating", notice(Notice::Termination));
    check("Node/w-1 cluster-autoscaler ScaleDown: node removed by cluster autoscaler", notice(Notice::Termination));
    let status = What::CloudNotice { machine: Symbol::new("w-9"), notice: Notice::Termination, deadline: None };
    check(
        "ConfigMap/cluster-autoscaler-status cluster-autoscaler ScaleDownEmpty: Scale-down: empty node w-9 removed",
        status,
    );
    check("Node/w-1 machineconfigdaemon Uncordon: x", What::NodeSchedulable { node, is_schedulable: true });
}

#[test]
fn events_of_pods_say_what_came_about() {
    let pod = pod("web-1");
    let (node, container) = (Symbol::new("w-1"), Symbol::new("web"));
    let deletion = |by, node| What::PodDeletion { pod, by, node };
    let marked = deletion(DeletedBy::TaintManager, None);
    let image = What::ImagePullFailed { pod, node: Some(node), image: Symbol::new("nginx:x") };
    check("Pod/web-1 node-controller NodeNotReady: Node is not ready", What::PodReady { pod, is_ready: false });
    check("Pod/web-1 taint-controller TaintManagerEviction: Marking for deletion Pod shop/web-1", marked.clone());
    check("Pod/web-1 taint-eviction-controller TaintManagerEviction: Marking for deletion Pod shop/web-1", marked);
    let cancelled = What::DeletionCancelled { pod };
    check("Pod/web-1 taint-eviction-controller TaintManagerEviction: Cancelling deletion of Pod shop/web-1", cancelled);
    let bound = What::PodScheduled { pod, node };
    check("Pod/web-1 default-scheduler Scheduled: Successfully assigned shop/web-1 to w-1", bound.clone());
    check("Pod/web-1 default-scheduler Scheduled: Successfully assigned web-1 to w-1", bound);
    let preempted = deletion(DeletedBy::Preemption, Some(node));
    check("Pod/web-1 default-scheduler Preempted: Preempted by pod 12-34 on node w-1", preempted.clone());
    check("Pod/web-1 default-scheduler Preempted: Preempted by shop/web-2 on node w-1", preempted);
    let evicted = deletion(DeletedBy::Kubelet, Some(node));
    check("Pod/web-1 kubelet Evicted: The node was low on resource: memory. ", evicted);
    check("Pod/web-1 karpenter Evicted: Evicted pod", deletion(DeletedBy::Eviction, None));
    let refused = What::PodFinished { pod, is_success: false, reason: Symbol::new("OutOfcpu") };
    check("Pod/web-1 kubelet OutOfcpu: Node didn't have enough resource: cpu", refused);
    check("Pod/web-1 kubelet Failed: Failed to pull image \"nginx:x\": not found", image.clone());
    // A pull that is waited for had failed before.
    let waits = read(&event("Pod", "web-1", "kubelet", "BackOff", "Back-off pulling image \"nginx:x\"").to_string());
    let before = Bounds { earliest: at("2026-03-01T14:00:50Z"), latest: second("2026-03-01T14:05:50Z").latest };
    assert_eq!(seen(&waits), [(before, image)]);
    check("Pod/web-1 kubelet Started: Container started", What::ContainerStarted { pod, container: Symbol::default() });
    check("Pod/web-1 kubelet Started: Started container web", What::ContainerStarted { pod, container });
    let restarted = What::ContainerEnded { pod, container, by: EndedBy::Unknown };
    check("Pod/web-1 kubelet Killing: Container web failed liveness probe, will be restarted", restarted);
}

#[test]
fn events_of_owners_say_what_came_about() {
    let pod = pod("web-1");
    let created =
        |kind: &str, name: &str| What::PodCreated { pod, owner: Some((Symbol::new(kind), Symbol::new(name))) };
    let deleted = |node| What::PodDeletion { pod, by: DeletedBy::Workload, node };
    let (kind, namespace, name) = (Symbol::new("ReplicaSet"), Symbol::new("shop"), Symbol::new("web-7"));
    let scaled = |from| What::Scaled { kind, namespace, name, from, to: 3 };
    let leader = What::ComponentStarted { component: Symbol::new("kube-scheduler") };
    check(
        "ReplicaSet/web-7 replicaset-controller SuccessfulCreate: Created pod: web-1",
        created("ReplicaSet", "web-7"),
    );
    check("ReplicaSet/web-7 replicaset-controller SuccessfulDelete: Deleted pod: web-1", deleted(None));
    let made = created("StatefulSet", "web");
    check(
        "StatefulSet/web statefulset-controller SuccessfulCreate: create Pod web-1 in StatefulSet web successful",
        made,
    );
    let unmade = "Delete Pod web-1 in StatefulSet web successful";
    check(&format!("StatefulSet/web statefulset-controller SuccessfulDelete: {unmade}"), deleted(None));
    let failed = "Found failed daemon pod shop/web-1 on node w-1, will try to kill it";
    check(&format!("DaemonSet/d daemonset-controller FailedDaemonPod: {failed}"), deleted(Some(Symbol::new("w-1"))));
    let head = "Deployment/web deployment-controller ScalingReplicaSet";
    check(&format!("{head}: Scaled up replica set web-7 from 2 to 3"), scaled(Some(2)));
    check(&format!("{head}: Scaled up replica set web-7 to 3 from 2"), scaled(Some(2)));
    check(&format!("{head}: Scaled down replica set web-7 to 3"), scaled(None));
    check("Lease/kube-scheduler default-scheduler LeaderElection: cp-1_8c became leader", leader);
    let api_server = What::ComponentStarted { component: Symbol::new("kube-apiserver") };
    check("Namespace/kube-system apiserver KubeAPIReadyz: readyz=true", api_server);
}

#[test]
fn some_events_come_later_than_what_they_say() {
    let node = Symbol::new("w-1");
    let stamp = second("2026-03-01T14:05:50Z");
    let cordon = read(
        &event("Node", "w-1", "kubelet", "NodeNotSchedulable", "Node w-1 status is now: NodeNotSchedulable")
            .to_string(),
    );
    let when = Bounds { earliest: at("2026-03-01T14:05:40Z"), latest: stamp.latest };
    assert_eq!(seen(&cordon), [(when, What::NodeSchedulable { node, is_schedulable: false })]);
    let pressure =
        read(&event("Node", "w-1", "kubelet", "EvictionThresholdMet", "Attempting to reclaim memory").to_string());
    let when = Bounds { earliest: stamp.earliest, latest: stamp.latest.later(SimDuration::from_secs(10)) };
    let what = What::NodeCondition { node, condition: Symbol::new("MemoryPressure"), status: ConditionStatus::True };
    assert_eq!(seen(&pressure), [(when, what)]);
}

#[test]
fn what_says_nothing_is_counted_by_its_reason() {
    let texts = [
        event("Pod", "web-1", "kubelet", "Pulled", "Container image \"x\" already present on machine"),
        event("Node", "w-1", "kube-proxy", "Starting", ""),
        event("CronJob", "c", "cronjob-controller", "SuccessfulCreate", "Created job c-1"),
        event("Job", "c-1", "job-controller", "Completed", "Job completed"),
        event("Pod", "web-1", "default-scheduler", "FailedScheduling", "skip schedule deleting pod: shop/web-1"),
        event("Pod", "web-1", "kubelet", "Failed", "Error: ErrImagePull"),
    ];
    let into = read(&serde_json::Value::from(texts.to_vec()).to_string());
    assert!(seen(&into).is_empty() && into.diagnostics.is_empty());
    let untold: Vec<(&str, usize)> = into.untold.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
    let expected = ["Completed", "Failed", "FailedScheduling", "Pulled", "Starting", "SuccessfulCreate"];
    assert_eq!(untold, expected.map(|reason| (reason, 1)));
}

#[test]
fn counted_events_give_their_first_and_their_last_time() {
    let mut counted = event("Node", "w-1", "kubelet", "NodeReady", "Node w-1 status is now: NodeReady");
    counted["count"] = 4.into();
    counted["firstTimestamp"] = "2026-03-01T13:00:00Z".into();
    let what = ready(ConditionStatus::True, Reporter::Kubelet);
    let expected = [(second("2026-03-01T13:00:00Z"), what.clone()), (second("2026-03-01T14:05:50Z"), what)];
    assert_eq!(seen(&read(&counted.to_string())), expected);
    let covers = read(&counted.to_string()).records[0].covers.expect("a time");
    assert_eq!((covers.earliest, covers.latest), (expected[0].0.earliest, expected[1].0.latest));
}

#[test]
fn of_combined_events_only_the_last_is_known() {
    let message = "(combined from similar events): Created pod: web-1";
    let mut combined = event("ReplicaSet", "web-7", "replicaset-controller", "SuccessfulCreate", message);
    combined["count"] = 9.into();
    combined["firstTimestamp"] = "2026-03-01T13:00:00Z".into();
    let owner = Some((Symbol::new("ReplicaSet"), Symbol::new("web-7")));
    let expected = [(second("2026-03-01T14:05:50Z"), What::PodCreated { pod: pod("web-1"), owner })];
    assert_eq!(seen(&read(&combined.to_string())), expected);
}

#[test]
fn both_versions_say_the_same() {
    let message = "0/12 nodes are available: 4 Insufficient cpu.";
    let newer = json!({"kind": "EventList", "apiVersion": "events.k8s.io/v1", "metadata": {}, "items": [{
        "metadata": {"name": "web-1.17", "namespace": "shop", "uid": "u1", "creationTimestamp": "2026-03-01T14:05:50Z"},
        "eventTime": "2026-03-01T14:05:50.123456Z", "series": {"count": 3, "lastObservedTime": "2026-03-01T14:07:00.500000Z"},
        "reportingController": "default-scheduler", "reportingInstance": "default-scheduler-cp-1", "action": "Scheduling",
        "reason": "FailedScheduling", "regarding": {"kind": "Pod", "namespace": "shop", "name": "web-1"}, "note": message,
        "type": "Warning", "deprecatedSource": {}, "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null,
    }]});
    let older = json!({"kind": "List", "apiVersion": "v1", "items": [{
        "kind": "Event", "apiVersion": "v1",
        "metadata": {"name": "web-1.17", "namespace": "shop", "uid": "u1", "creationTimestamp": "2026-03-01T14:05:50Z"},
        "eventTime": "2026-03-01T14:05:50.123456Z", "series": {"count": 3, "lastObservedTime": "2026-03-01T14:07:00.500000Z"},
        "reportingComponent": "default-scheduler", "reportingInstance": "default-scheduler-cp-1", "action": "Scheduling",
        "reason": "FailedScheduling", "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web-1"},
        "message": message, "type": "Warning", "source": {}, "firstTimestamp": null, "lastTimestamp": null,
    }]});
    let what = What::PodUnschedulable { pod: pod("web-1"), message: Symbol::new(message) };
    let expected = [
        (Bounds::at(at("2026-03-01T14:05:50.123456Z")), what.clone()),
        (Bounds::at(at("2026-03-01T14:07:00.5Z")), what),
    ];
    assert_eq!(seen(&read(&newer.to_string())), expected);
    assert_eq!(seen(&read(&older.to_string())), expected);
}

#[test]
fn the_same_event_five_times_is_one() {
    let one = event("Node", "w-1", "node-controller", "NodeNotReady", "Node w-1 status is now: NodeNotReady");
    assert_eq!(seen(&read(&serde_json::Value::from(vec![one.clone(); 5]).to_string())).len(), 1);
    // Of one that has no name, what it says tells.
    let mut nameless = one;
    nameless["metadata"] = json!({});
    assert_eq!(seen(&read(&serde_json::Value::from(vec![nameless; 5]).to_string())).len(), 1);
}

#[test]
fn whoever_saved_events_they_are_read() {
    let one = event("Node", "w-1", "node-controller", "NodeNotReady", "Node w-1 status is now: NodeNotReady");
    let expected = [(second("2026-03-01T14:05:50Z"), ready(ConditionStatus::Unknown, Reporter::Controller))];
    let pretty = serde_json::to_string_pretty(&one).expect("a text");
    let mut bare = one.clone();
    bare.as_object_mut().expect("an object").retain(|name, _| name != "kind" && name != "apiVersion");
    for text in [
        one.to_string(),
        format!("{pretty}\n{pretty}\n"),
        format!("{one}\n{one}\n"),
        format!("[{bare}]"),
        json!({"apiVersion": "v1", "items": [one], "kind": "List"}).to_string(),
        json!({"type": "ADDED", "object": one}).to_string(),
        json!({"verb": "ADDED", "event": one, "old_event": null}).to_string(),
        json!({"_index": "k", "_source": one}).to_string(),
        json!({"jsonPayload": one, "timestamp": "2026-03-01T14:05:51Z"}).to_string(),
        json!({"labels": {"job": "events"}, "line": one.to_string(), "timestamp": "2026-03-01T14:05:51Z"}).to_string(),
        format!("apiVersion: v1\nkind: List\nitems:\n{}", yaml_item(&one)),
        format!("---\n{}---\n# nothing\n---\n{}", yaml(&one), yaml(&one)),
    ] {
        assert_eq!(seen(&read(&text)), expected, "{text}");
    }
}

fn yaml(value: &serde_json::Value) -> String {
    let of = |value: &serde_json::Value| value.to_string();
    value.as_object().into_iter().flatten().map(|(name, value)| format!("{name}: {}\n", of(value))).collect()
}

fn yaml_item(value: &serde_json::Value) -> String {
    let text = yaml(value).trim_end().replace('\n', "\n  ");
    format!("- {text}\n")
}

#[test]
fn numbers_for_names_and_texts_for_counts_are_taken() {
    let text = "apiVersion: v1\nkind: Event\nmetadata: {name: 7, namespace: default}\n\
                involvedObject: {kind: Node, name: 12}\nreason: NodeReady\nmessage: x\ncount: '1'\n\
                source: {component: kubelet, host: 12}\nfirstTimestamp: 2026-03-01T14:05:50Z\nlastTimestamp: 2026-03-01T14:05:50Z\n";
    let what = What::NodeReady { node: Symbol::new("12"), status: ConditionStatus::True, by: Reporter::Kubelet };
    assert_eq!(seen(&read(text)), [(second("2026-03-01T14:05:50Z"), what)]);
}

#[test]
fn clocks_that_say_no_offset_are_told_theirs() {
    let mut local = event("Node", "w-1", "kubelet", "NodeReady", "x");
    local["firstTimestamp"] = "2026-03-01 14:05:50".into();
    local["lastTimestamp"] = local["firstTimestamp"].clone();
    let clock = ClockOptions { offset: Some(SimDuration::from_secs(7200)), ..ClockOptions::default() };
    assert_eq!(seen(&read_by(&local.to_string(), &clock))[0].0, second("2026-03-01T12:05:50Z"));
    let clock = ClockOptions { is_behind: true, ..clock };
    assert_eq!(seen(&read_by(&local.to_string(), &clock))[0].0, second("2026-03-01T16:05:50Z"));
    local["lastTimestamp"] = "2026-03-01T14:05:50+02:00".into();
    local["firstTimestamp"] = local["lastTimestamp"].clone();
    assert_eq!(seen(&read_by(&local.to_string(), &clock))[0].0, second("2026-03-01T12:05:50Z"));
}

#[test]
fn events_without_a_time_are_told() {
    let mut timeless = event("Node", "w-1", "kubelet", "NodeReady", "x");
    timeless["firstTimestamp"] = json!(null);
    timeless["lastTimestamp"] = "yesterday".into();
    let into = read(&json!([timeless, timeless]).to_string());
    assert!(into.sightings.is_empty() && into.records.is_empty());
    let told: Vec<&str> = into.diagnostics.iter().map(|problem| problem.code).collect();
    assert_eq!(told, ["evidence::no_time"]);
}

#[test]
fn stopped_containers_are_a_deletion_only_if_nothing_better_is_said() {
    let mut first = event("Pod", "web-1", "kubelet", "Killing", "Stopping container web");
    first["metadata"]["name"] = "a".into();
    let mut second_one = event("Pod", "web-1", "kubelet", "Killing", "Stopping container sidecar");
    second_one["metadata"]["name"] = "b".into();
    second_one["firstTimestamp"] = "2026-03-01T14:05:51Z".into();
    let both = json!([second_one, first]);
    let stamp = second("2026-03-01T14:05:50Z");
    let when = Bounds { earliest: at("2026-03-01T14:05:48Z"), latest: stamp.latest };
    let what = What::PodDeletion { pod: pod("web-1"), by: DeletedBy::Unknown, node: Some(Symbol::new("w-1")) };
    assert_eq!(seen(&read(&both.to_string())), [(when, what)]);
    let marked = event(
        "Pod",
        "web-1",
        "taint-eviction-controller",
        "TaintManagerEviction",
        "Marking for deletion Pod shop/web-1",
    );
    let what = What::PodDeletion { pod: pod("web-1"), by: DeletedBy::TaintManager, node: None };
    assert_eq!(seen(&read(&json!([second_one, first, marked]).to_string())), [(stamp, what)]);
}

#[test]
fn probes_that_fail_often_enough_make_a_pod_unready_unless_it_has_just_started() {
    let mut failing =
        event("Pod", "web-1", "kubelet", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503");
    failing["firstTimestamp"] = "2026-03-01T14:05:20Z".into();
    failing["count"] = 2.into();
    assert!(seen(&read(&failing.to_string())).is_empty());
    failing["count"] = 3.into();
    let when = Bounds { earliest: at("2026-03-01T14:05:20Z"), latest: second("2026-03-01T14:05:50Z").latest };
    assert_eq!(seen(&read(&failing.to_string())), [(when, What::PodReady { pod: pod("web-1"), is_ready: false })]);
    let mut started = event("Pod", "web-1", "kubelet", "Started", "Started container web");
    started["firstTimestamp"] = "2026-03-01T14:05:00Z".into();
    started["lastTimestamp"] = started["firstTimestamp"].clone();
    let into = read(&json!([failing, started]).to_string());
    assert!(seen(&into).iter().all(|(_, what)| matches!(what, What::ContainerStarted { .. })));
}

#[test]
fn what_a_kubelet_sent_shows_that_it_was_heard() {
    let mut sent = event("Pod", "web-1", "kubelet", "Pulled", "x");
    sent["metadata"]["creationTimestamp"] = "2026-03-01T14:05:55Z".into();
    let into = read(&sent.to_string());
    let found: Vec<_> = into.sightings.iter().map(|seen| (seen.when, seen.what.clone())).collect();
    assert_eq!(found, [(second("2026-03-01T14:05:55Z"), What::Heartbeat { node: Symbol::new("w-1") })]);
}

#[test]
fn the_real_samples_are_read_whole() {
    let sample = |name: &str| {
        let text = std::fs::read_to_string(format!("tests/evidence/samples/{name}")).expect("a sample");
        let into = read(&text);
        assert!(into.diagnostics.is_empty() && into.unread.is_empty(), "{name}: {:?}", into.diagnostics);
        assert_eq!(into.records.len(), 1);
        assert_eq!(into.records[0].kind, RecordKind::Events);
        into
    };
    let k3s = sample("events-k3s.json");
    let node = Symbol::new("primary-node");
    let has = |what: &What| k3s.sightings.iter().any(|seen| seen.what == *what);
    assert!(has(&What::KubeletStarted { node }));
    assert!(has(&What::NodeReady { node, status: ConditionStatus::True, by: Reporter::Kubelet }));
    assert!(has(&What::NodePresent { node, is_present: true }));

    let kubeadm = sample("events-kubeadm-v1.8.json");
    let count = |is: fn(&What) -> bool| kubeadm.sightings.iter().filter(|seen| is(&seen.what)).count();
    let text = std::fs::read_to_string("tests/evidence/samples/events-kubeadm-v1.8.json").expect("a sample");
    let events: Vec<serde_json::Value> = serde_json::from_str(&text).expect("an array");
    let times = |event: &serde_json::Value| if event["firstTimestamp"] == event["lastTimestamp"] { 1 } else { 2 };
    let of = |reason: &str| events.iter().filter(|event| event["reason"] == reason).map(times).sum::<usize>();
    assert_eq!(count(|what| matches!(what, What::PodScheduled { .. })), of("Scheduled"));
    assert_eq!(count(|what| matches!(what, What::ContainerStarted { .. })), of("Started"));
}
