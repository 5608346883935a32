//! Dumps: what is read of nodes, pods and leases.

use super::super::super::{ClockOptions, Evidence};
use super::read;
use crate::evidence::RecordKind;

fn evidence(text: &str) -> Evidence {
    let mut into = Evidence::new();
    read("dump", &mut text.as_bytes(), &ClockOptions::default(), &mut into).expect("memory is read");
    into
}

/// Sightings as lines: the bounds from the day's hour on, and what.
fn told(evidence: &Evidence) -> Vec<String> {
    let time =
        |text: String| text.split_once('T').map(|(_, time)| time.trim_end_matches('Z').to_owned()).unwrap_or_default();
    let line = |seen: &crate::evidence::Sighting| {
        let (earliest, latest) = (time(seen.when.earliest.to_string()), time(seen.when.latest.to_string()));
        let when = if latest.starts_with(&earliest) && latest.ends_with(".999999999") {
            format!("{earliest}+1s")
        } else if earliest == latest {
            earliest
        } else {
            format!("{earliest}..{latest}")
        };
        format!("{when} {:?}", seen.what)
    };
    evidence.sightings.iter().map(line).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) -> Evidence {
    let found = evidence(text);
    assert_eq!(told(&found), expected, "{text}");
    found
}

const NODE: &str = r#"{"kind":"Node","metadata":{"name":"w-1","creationTimestamp":"2026-03-01T10:00:00Z"},
"spec":{"taints":[{"key":"node.kubernetes.io/unreachable","effect":"NoExecute","timeAdded":"2026-03-01T14:05:51Z"},
{"key":"dedicated","value":"x","effect":"NoSchedule"}]},
"status":{"conditions":[
{"type":"MemoryPressure","status":"Unknown","lastHeartbeatTime":"2026-03-01T14:01:00Z","lastTransitionTime":"2026-03-01T14:05:50Z"},
{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown","lastHeartbeatTime":"2026-03-01T14:01:00Z","lastTransitionTime":"2026-03-01T14:05:50Z"}]}}"#;

const NODE_TOLD: [&str; 5] = [
    r#"10:00:00+1s NodePresent { node: "w-1", is_present: true }"#,
    r#"14:05:51+1s NodeTaint { node: "w-1", key: "node.kubernetes.io/unreachable", effect: "NoExecute", is_present: true }"#,
    r#"14:05:50+1s NodeCondition { node: "w-1", condition: "MemoryPressure", status: Unknown }"#,
    r#"14:05:50+1s NodeReady { node: "w-1", status: Unknown, by: Controller }"#,
    r#"14:01:00+1s Heartbeat { node: "w-1" }"#,
];

#[test]
fn a_node_tells_its_conditions_taints_and_last_heartbeat() {
    let found = check(NODE, &NODE_TOLD);
    let record = &found.records[0];
    assert_eq!((record.name.as_str(), record.kind), ("dump", RecordKind::Objects));
    let covers = record.covers.expect("it has stamps");
    assert_eq!(covers.earliest.to_string(), "2026-03-01T14:05:51Z", "the newest stamp");
}

#[test]
fn lists_arrays_and_yaml_are_read_alike() {
    check(&format!(r#"{{"items":[{NODE}],"kind":"List"}}"#), &NODE_TOLD);
    check(&format!("[{NODE}]"), &NODE_TOLD);
    check(&NODE.replace(r#""kind":"Node","#, "").replace(r#""status":{"#, r#""status":{"nodeInfo":{},"#), &NODE_TOLD);
    check(&format!("{NODE}\n{{\"kind\":\"List\",\"items\":null}}"), &NODE_TOLD);
    let yaml = "apiVersion: v1\nkind: List\nitems:\n- kind: Node\n  metadata:\n    name: w-1\n  status:\n    conditions:\n    - type: Ready\n      status: \"False\"\n      reason: KubeletNotReady\n      lastTransitionTime: \"2026-03-01T14:05:50Z\"\n";
    check(yaml, &[r#"14:05:50+1s NodeReady { node: "w-1", status: False, by: Kubelet }"#]);
}

#[test]
fn a_lease_is_the_exact_last_heartbeat() {
    let lease = |namespace: &str| {
        format!(
            r#"{{"kind":"Lease","metadata":{{"name":"w-1","namespace":"{namespace}"}},"spec":{{"holderIdentity":"w-1","renewTime":"2026-03-01T14:05:00.123456Z"}}}}"#
        )
    };
    check(&lease("kube-node-lease"), &[r#"14:05:00.123456 Heartbeat { node: "w-1" }"#]);
    assert_eq!(told(&evidence(&lease("kube-system"))), [""; 0]);
}

#[test]
fn a_pod_that_is_deleted_was_asked_to_go_a_grace_period_before() {
    let pod = r#"{"kind":"Pod","metadata":{"namespace":"shop","name":"web-1","creationTimestamp":"2026-03-01T10:00:00Z",
"deletionTimestamp":"2026-03-01T14:11:21Z","deletionGracePeriodSeconds":30,
"ownerReferences":[{"kind":"ReplicaSet","name":"web","controller":true}]},
"spec":{"nodeName":"w-1","containers":[{"name":"web","image":"web:1"}]},
"status":{"phase":"Running","startTime":"2026-03-01T10:00:01Z","conditions":[
{"type":"DisruptionTarget","status":"True","reason":"DeletionByTaintManager","lastTransitionTime":"2026-03-01T14:10:51Z"},
{"type":"Ready","status":"False","lastTransitionTime":"2026-03-01T14:05:50Z"},
{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-03-01T10:00:00Z"}],
"containerStatuses":[{"name":"web","state":{"running":{"startedAt":"2026-03-01T10:05:00Z"}},
"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled","startedAt":"2026-03-01T10:00:02Z","finishedAt":"2026-03-01T10:04:50Z"}}}]}}"#;
    let name = r#"pod: PodName { namespace: "shop", name: "web-1" }"#;
    let owner = r#"owner: Some(("ReplicaSet", "web"))"#;
    let expected = [
        format!("10:00:00+1s PodCreated {{ {name}, {owner} }}"),
        format!("10:00:00+1s PodScheduled {{ {name}, node: \"w-1\" }}"),
        format!("14:05:50+1s PodReady {{ {name}, is_ready: false }}"),
        format!("14:10:51+1s PodDeletion {{ {name}, by: TaintManager, node: Some(\"w-1\") }}"),
        format!("10:00:02+1s ContainerStarted {{ {name}, container: \"web\" }}"),
        format!("10:04:50+1s ContainerEnded {{ {name}, container: \"web\", by: OutOfMemory }}"),
        format!("10:05:00+1s ContainerStarted {{ {name}, container: \"web\" }}"),
        format!("14:10:51+1s PodSeen {{ {name}, node: \"w-1\", {owner}, is_ready: false }}"),
    ];
    assert_eq!(told(&evidence(pod)), expected);
}

#[test]
fn a_pod_that_the_kubelet_ended_failed_for_the_nodes_sake() {
    let pod = r#"{"kind":"Pod","metadata":{"name":"web-1","namespace":"shop"},"spec":{"nodeName":"w-1"},
"status":{"phase":"Failed","reason":"Evicted","startTime":"2026-03-01T10:00:01Z","conditions":[
{"type":"DisruptionTarget","status":"True","reason":"TerminationByKubelet","lastTransitionTime":"2026-03-01T12:00:00Z"}],
"containerStatuses":[{"name":"web","state":{"terminated":{"exitCode":1,"finishedAt":"2026-03-01T12:00:05Z"}}}]}}"#;
    let name = r#"pod: PodName { namespace: "shop", name: "web-1" }"#;
    let expected = [
        format!("12:00:00+1s PodDeletion {{ {name}, by: Kubelet, node: Some(\"w-1\") }}"),
        format!("12:00:05+1s PodFinished {{ {name}, is_success: false, reason: \"Evicted\" }}"),
        format!("12:00:05+1s ContainerEnded {{ {name}, container: \"web\", by: Unknown }}"),
    ];
    assert_eq!(told(&evidence(pod)), expected);
}

#[test]
fn a_pod_that_was_never_ready_did_not_become_unready() {
    let pod = |changed: &str| {
        format!(
            r#"{{"kind":"Pod","metadata":{{"name":"a"}},"spec":{{}},"status":{{"startTime":"2026-03-01T10:00:01Z","conditions":[{{"type":"Ready","status":"False","lastTransitionTime":"{changed}"}}]}}}}"#
        )
    };
    assert_eq!(told(&evidence(&pod("2026-03-01T10:00:01Z"))), [""; 0]);
    assert_eq!(told(&evidence(&pod("2026-03-01T10:07:00Z"))).len(), 1);
}

#[test]
fn pods_that_wait_say_why() {
    let pod = r#"[{"kind":"Pod","metadata":{"name":"a","namespace":"x"},"spec":{"nodeName":"w-1","containers":[{"name":"a","image":"a:1"}]},
"status":{"startTime":"2026-03-01T10:00:01Z","containerStatuses":[{"name":"a","state":{"waiting":{"reason":"ImagePullBackOff"}}}]}},
{"kind":"Pod","metadata":{"name":"b","namespace":"x"},"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes","lastTransitionTime":"2026-03-01T11:00:00Z"}]}}]"#;
    check(
        pod,
        &[
            r#"11:00:00+1s PodUnschedulable { pod: PodName { namespace: "x", name: "b" }, message: "0/3 nodes" }"#,
            r#"10:00:01..11:00:00.999999999 ImagePullFailed { pod: PodName { namespace: "x", name: "a" }, node: Some("w-1"), image: "a:1" }"#,
            r#"11:00:00+1s PodSeen { pod: PodName { namespace: "x", name: "a" }, node: "w-1", owner: None, is_ready: false }"#,
        ],
    );
}

#[test]
fn what_stands_before_a_broken_end_counts() {
    let found = check(&format!(r#"{{"kind":"List","items":[{NODE},{{"kind":"Pod","metad"#), &NODE_TOLD);
    assert_eq!(found.unread[0].why, "it ends in the middle");
    let found = check(&format!(r#"[{NODE},{{"kind":"Pod","metadata":7}},3]"#), &NODE_TOLD);
    assert_eq!(found.diagnostics.len(), 2, "{:?}", found.diagnostics);
    let found = check(&format!(r#"[{NODE},}}"#), &NODE_TOLD);
    assert_eq!(found.diagnostics.len(), 1, "{:?}", found.diagnostics);
}

#[test]
fn absurd_times_say_nothing() {
    for stamp in ["300000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "-5", "soon", "", "2026-13-01T00:00:00Z"] {
        let lease = format!(
            r#"{{"kind":"Lease","metadata":{{"name":"w-1","namespace":"kube-node-lease"}},"spec":{{"renewTime":"{stamp}"}}}}"#
        );
        let found = check(&lease, &[]);
        assert_eq!(found.records[0].covers, None);
    }
    let pod = r#"{"kind":"Pod","metadata":{"name":"a","deletionTimestamp":"2026-03-01T10:00:00Z","deletionGracePeriodSeconds":9223372036854775807},"spec":{}}"#;
    assert_eq!(evidence(pod).sightings.len(), 1);
}

#[test]
fn other_kinds_are_passed_over() {
    let found = check(r#"{"kind":"ConfigMap","metadata":{"name":"a"},"data":{"kind":"Pod"}}"#, &[]);
    assert_eq!((found.records.len(), found.passed_over), (0, 1));
}
