//! Audit logs: what requests mean, whatever they are wrapped in.

use super::super::super::{ClockOptions, Evidence};
use super::{is, read};
use crate::evidence::{RecordKind, What};

fn evidence(text: &str) -> Evidence {
    let mut into = Evidence::new();
    read("audit.log", &mut text.as_bytes(), &ClockOptions::default(), &mut into).expect("memory is read");
    into
}

/// Sightings as lines: from when the request was received, and what.
fn told(evidence: &Evidence) -> Vec<String> {
    let time =
        |text: String| text.split_once('T').map(|(_, time)| time.trim_end_matches('Z').to_owned()).unwrap_or_default();
    let line = |seen: &crate::evidence::Sighting| format!("{} {:?}", time(seen.when.earliest.to_string()), seen.what);
    evidence.sightings.iter().map(line).collect()
}

/// An event: who, what, on what (`resource/subresource namespace name`), its code, and more fields.
fn event(second: u32, user: &str, verb: &str, object: &str, code: u16, more: &str) -> String {
    let mut words = object.split(' ');
    let (resource, subresource) = words.next().and_then(|path| path.split_once('/')).unwrap_or_default();
    let (namespace, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let time = format!("2026-03-01T14:{:02}:{:02}", second / 60, second % 60);
    let id = format!("{second}-{user}-{verb}-{object}");
    let comma = if more.is_empty() { "" } else { "," };
    format!(
        r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","auditID":"{id}","stage":"ResponseComplete","requestURI":"/api","verb":"{verb}","user":{{"username":"{user}"}},"userAgent":"kubectl/v1.30.0 (linux/amd64)","objectRef":{{"resource":"{resource}","subresource":"{subresource}","namespace":"{namespace}","name":"{name}"}},"responseStatus":{{"code":{code}}},"requestReceivedTimestamp":"{time}.000001Z","stageTimestamp":"{time}.004000Z"{comma}{more}}}"#
    )
}

const CONTROLLER: &str = "system:serviceaccount:kube-system:node-controller";

#[track_caller]
fn check(lines: &[String], expected: &[&str]) -> Evidence {
    let found = evidence(&lines.join("\n"));
    assert_eq!(told(&found), expected, "{lines:#?}");
    found
}

#[test]
fn a_silent_node_is_called_unknown_tainted_and_emptied() {
    let status = r#""requestObject":{"kind":"Node","status":{"conditions":[{"type":"Ready","status":"Unknown","lastTransitionTime":"2026-03-01T14:00:50Z"}]}}"#;
    let taint = r#""requestObject":{"spec":{"taints":[{"key":"dedicated","effect":"NoSchedule"},{"key":"node.kubernetes.io/unreachable","effect":"NoExecute","timeAdded":"2026-03-01T14:00:51Z"}]}}"#;
    let back = r#""requestObject":{"spec":{"taints":[{"key":"dedicated","effect":"NoSchedule"}]}}"#;
    let lines = [
        event(50, CONTROLLER, "update", "nodes/status  w-1", 200, status),
        event(51, CONTROLLER, "patch", "nodes/  w-1", 200, taint),
        event(351, CONTROLLER, "delete", "pods/ shop web-1", 200, ""),
        event(400, CONTROLLER, "patch", "nodes/  w-1", 200, back),
    ];
    let found = check(
        &lines,
        &[
            r#"14:00:50.000001 NodeReady { node: "w-1", status: Unknown, by: Controller }"#,
            r#"14:00:51.000001 NodeTaint { node: "w-1", key: "node.kubernetes.io/unreachable", effect: "NoExecute", is_present: true }"#,
            r#"14:05:51.000001 PodDeletion { pod: PodName { namespace: "shop", name: "web-1" }, by: TaintManager, node: None }"#,
            r#"14:06:40.000001 NodeTaint { node: "w-1", key: "node.kubernetes.io/unreachable", effect: "NoExecute", is_present: false }"#,
        ],
    );
    let record = &found.records[0];
    assert_eq!(record.kind, RecordKind::Audit);
    let covers = record.covers.expect("it has times");
    assert_eq!(covers.earliest.to_string(), "2026-03-01T14:00:50.000001Z");
    assert_eq!(covers.latest.to_string(), "2026-03-01T14:06:40.004Z");
    assert_eq!(found.sightings[2].place, 3, "the line");
}

#[test]
fn without_bodies_the_update_of_a_status_by_the_controller_is_enough() {
    check(
        &[event(50, CONTROLLER, "update", "nodes/status  w-1", 200, "")],
        &[r#"14:00:50.000001 NodeReady { node: "w-1", status: Unknown, by: Controller }"#],
    );
}

#[test]
fn leases_tell_the_last_word_before_a_silence() {
    let lease = |second| event(second, "system:node:w-1", "update", "leases/ kube-node-lease w-1", 200, "");
    let lines: Vec<String> = [0, 10, 20, 30, 100, 110].map(lease).into();
    let expected = [
        r#"14:00:30.000001 Heartbeat { node: "w-1" }"#,
        r#"14:01:40.000001 Heartbeat { node: "w-1" }"#,
        r#"14:01:50.000001 Heartbeat { node: "w-1" }"#,
    ];
    let found = check(&lines, &expected);
    assert_eq!(found.sightings.iter().map(|seen| seen.place).collect::<Vec<_>>(), [4, 5, 6]);
    // Times that go backwards: another server's log stands behind.
    let mut turned = lines.clone();
    turned.rotate_left(4);
    check(&turned, &expected);
    // Somebody else's word is not the kubelet's.
    check(&[event(0, "system:node:w-2", "update", "leases/ kube-node-lease w-1", 200, "")], &[]);
}

#[test]
fn status_patches_of_kubelets_are_heartbeats_and_say_what_changed() {
    let ready = |status: &str| {
        format!(
            r#""requestObject":{{"status":{{"conditions":[{{"type":"Ready","status":"{status}"}},{{"type":"DiskPressure","lastHeartbeatTime":"2026-03-01T14:00:00Z"}}]}}}}"#
        )
    };
    let patch = |second, more: &str| event(second, "system:node:w-1", "patch", "nodes/status  w-1", 200, more);
    check(
        &[patch(0, ""), patch(300, &ready("False")), patch(310, &ready("False")), patch(320, &ready("True"))],
        &[
            r#"14:05:00.000001 NodeReady { node: "w-1", status: False, by: Kubelet }"#,
            r#"14:05:20.000001 NodeReady { node: "w-1", status: True, by: Kubelet }"#,
            r#"14:05:20.000001 Heartbeat { node: "w-1" }"#,
        ],
    );
}

#[test]
fn evictions_are_granted_or_refused() {
    let evict = |second, code| event(second, "jane", "create", "pods/eviction shop web-1", code, "");
    let found = evidence(&[evict(1, 429), evict(2, 201), evict(3, 404)].join("\n"));
    let requests: Vec<(u16, &str)> = found
        .sightings
        .iter()
        .filter_map(|seen| match &seen.what {
            What::Request(request) => Some((request.code, request.agent.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(requests, [(429, "kubectl"), (201, "kubectl")]);
    assert_eq!(
        told(&found)[1],
        r#"14:00:02.000001 PodDeletion { pod: PodName { namespace: "shop", name: "web-1" }, by: Eviction, node: None }"#
    );
}

#[test]
fn pods_come_are_bound_become_ready_and_go() {
    let created = r#""requestObject":{"metadata":{"generateName":"web-"}},"responseObject":{"kind":"Pod","metadata":{"name":"web-x","ownerReferences":[{"kind":"ReplicaSet","name":"web","controller":true}]}}"#;
    let binding = r#""requestObject":{"target":{"kind":"Node","name":"w-2"}}"#;
    let first = r#""requestObject":{"status":{"startTime":"2026-03-01T14:00:02Z","conditions":[{"type":"Ready","status":"False"}]}}"#;
    let ready = r#""requestObject":{"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
    let failed = r#""requestObject":{"status":{"phase":"Failed","reason":"Evicted"}}"#;
    let waits = r#""requestObject":{"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3"}]}}"#;
    let kubelet = "system:node:w-2";
    let lines = [
        event(0, "system:serviceaccount:kube-system:replicaset-controller", "create", "pods/ shop ", 201, created),
        event(1, "system:kube-scheduler", "patch", "pods/status shop web-x", 200, waits),
        event(2, "system:kube-scheduler", "create", "pods/binding shop web-x", 201, binding),
        event(3, kubelet, "patch", "pods/status shop web-x", 200, first),
        event(4, kubelet, "patch", "pods/status shop web-x", 200, ready),
        event(5, kubelet, "patch", "pods/status shop web-x", 200, failed),
        event(6, kubelet, "patch", "pods/status shop web-x", 200, failed),
        event(7, "system:serviceaccount:kube-system:pod-garbage-collector", "delete", "pods/ shop web-x", 200, ""),
        event(8, kubelet, "delete", "pods/ shop web-y", 200, ""),
        event(9, "system:kube-scheduler", "delete", "pods/ shop web-z", 200, ""),
    ];
    let pod = |name: &str| format!(r#"pod: PodName {{ namespace: "shop", name: "{name}" }}"#);
    let x = pod("web-x");
    let expected = [
        format!("14:00:00.000001 PodCreated {{ {x}, owner: Some((\"ReplicaSet\", \"web\")) }}"),
        format!("14:00:01.000001 PodUnschedulable {{ {x}, message: \"0/3\" }}"),
        format!("14:00:02.000001 PodScheduled {{ {x}, node: \"w-2\" }}"),
        format!("14:00:04.000001 PodReady {{ {x}, is_ready: true }}"),
        format!("14:00:05.000001 PodDeletion {{ {x}, by: Kubelet, node: None }}"),
        format!("14:00:05.000001 PodFinished {{ {x}, is_success: false, reason: \"Evicted\" }}"),
        format!("14:00:07.000001 PodDeletion {{ {x}, by: PodGC, node: None }}"),
        format!("14:00:07.000001 PodGone {{ {x} }}"),
        format!("14:00:08.000001 PodGone {{ {} }}", pod("web-y")),
        format!("14:00:09.000001 PodDeletion {{ {}, by: Preemption, node: None }}", pod("web-z")),
    ];
    assert_eq!(told(&evidence(&lines.join("\n"))), expected);
}

#[test]
fn nodes_join_restart_and_are_removed() {
    let lines = [
        event(0, "system:node:w-1", "create", "nodes/  ", 409, ""),
        event(
            1,
            "system:node:w-2",
            "create",
            "nodes/  ",
            201,
            r#""requestObject":{"metadata":{"name":"w-2"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}"#,
        ),
        event(2, CONTROLLER, "delete", "nodes/  w-3", 200, ""),
    ];
    check(
        &lines,
        &[
            r#"14:00:00.000001 KubeletStarted { node: "w-1" }"#,
            r#"14:00:01.000001 NodePresent { node: "w-2", is_present: true }"#,
            r#"14:00:01.000001 KubeletStarted { node: "w-2" }"#,
            r#"14:00:01.000001 NodeTaint { node: "w-2", key: "a", effect: "NoSchedule", is_present: true }"#,
            r#"14:00:02.000001 InstanceGone { node: "w-3" }"#,
            r#"14:00:02.000001 NodePresent { node: "w-3", is_present: false }"#,
        ],
    );
}

#[test]
fn people_and_tools_are_told_with_their_bodies() {
    let cordon = r#""requestObject":{"spec":{"unschedulable":true}}"#;
    let uncordon = r#""requestObject":[{"op":"remove","path":"/spec/unschedulable"}]"#;
    let note = r#""requestObject":{"metadata":{"annotations":{"x":"y"}}}"#;
    let tool = "system:serviceaccount:nfd:worker";
    let lines = [
        event(0, "jane", "patch", "nodes/  w-1", 200, cordon),
        event(1, "jane", "patch", "nodes/  w-1", 200, uncordon),
        event(2, tool, "patch", "nodes/  w-1", 200, note),
        event(3, "jane", "update", "deployments/scale shop web", 200, r#""requestObject":{"spec":{"replicas":5}}"#),
        event(4, "jane", "update", "configmaps/ shop web", 200, r#""requestObject":{"data":{}}"#),
        event(5, "jane", "delete", "deployments/ shop web", 403, ""),
        event(6, "jane", "delete", "pods/ shop web-1", 200, r#""requestObject":{"gracePeriodSeconds":0}"#),
        event(7, "jane", "delete", "pods/ shop web-2", 200, r#""requestObject":{"dryRun":["All"]}"#),
        event(8, "jane", "delete", "pods/ shop web-3", 200, "").replace("\"/api\"", "\"/api?dryRun=All\""),
        event(
            9,
            "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
            "update",
            "deployments/scale shop web",
            200,
            r#""requestObject":{"spec":{"replicas":7}}"#,
        ),
    ];
    let found = evidence(&lines.join("\n"));
    let short: Vec<String> = told(&found)
        .into_iter()
        .map(|line| line.split_once('(').map_or(line.clone(), |(head, _)| head.to_owned()))
        .collect();
    let pod = r#"pod: PodName { namespace: "shop", name: "web-1" }"#;
    assert_eq!(
        short,
        [
            r#"14:00:00.000001 NodeSchedulable { node: "w-1", is_schedulable: false }"#.to_owned(),
            "14:00:00.000001 Request".to_owned(),
            r#"14:00:01.000001 NodeSchedulable { node: "w-1", is_schedulable: true }"#.to_owned(),
            "14:00:01.000001 Request".to_owned(),
            "14:00:03.000001 Request".to_owned(),
            format!("14:00:06.000001 PodDeletion {{ {pod}, by: Operator, node: None }}"),
            format!("14:00:06.000001 PodGone {{ {pod} }}"),
            "14:00:06.000001 Request".to_owned(),
            r#"14:00:09.000001 Scaled { kind: "Deployment", namespace: "shop", name: "web", from: None, to: 7 }"#
                .to_owned(),
        ]
    );
    let What::Request(request) = &found.sightings[4].what else { panic!("a request") };
    assert_eq!((request.verb.as_str(), request.subresource.as_str()), ("update", "scale"));
    assert_eq!(request.body.as_deref(), Some(r#"{"spec":{"replicas":5}}"#));
}

#[test]
fn bodies_beyond_64_kib_are_left_out() {
    let body = format!(r#""requestObject":{{"spec":{{"x":"{}"}}}}"#, "x".repeat(65_536));
    let found = evidence(&event(0, "jane", "patch", "deployments/ shop web", 200, &body));
    let What::Request(request) = &found.sightings[0].what else { panic!("a request") };
    assert_eq!(request.body, None);
}

#[test]
fn another_holder_of_a_leaders_lease_is_a_start() {
    let lease = |second, holder: &str| {
        let body = format!(r#""requestObject":{{"spec":{{"holderIdentity":"{holder}"}}}}"#);
        event(second, "system:kube-scheduler", "update", "leases/ kube-system kube-scheduler", 200, &body)
    };
    check(
        &[lease(0, "a"), lease(2, "a"), lease(4, ""), lease(20, "b")],
        &[r#"14:00:20.000001 ComponentStarted { component: "kube-scheduler" }"#],
    );
}

#[test]
fn requests_that_are_only_received_and_copies_do_not_count() {
    let line = event(0, CONTROLLER, "delete", "pods/ shop web-1", 200, "");
    let received = line.replace("ResponseComplete", "RequestReceived");
    assert_eq!(evidence(&[received.clone(), line.clone(), line.clone(), received].join("\n")).sightings.len(), 1);
    let panicked = line.replace("ResponseComplete", "Panic");
    assert_eq!(evidence(&panicked).sightings.len(), 1);
}

#[test]
fn wraps_of_services_are_opened() {
    let line = event(0, CONTROLLER, "delete", "pods/ shop web-1", 200, "");
    let quoted = serde_json::Value::from(line.clone()).to_string();
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(&line).unwrap()).unwrap();
    for text in [
        format!(r#"{{"@timestamp":"x","@message":{quoted}}}"#),
        format!(r#"{{"@message":{line}}}"#),
        format!(r#"{{"events":[{{"timestamp":1,"message":{quoted}}}]}}"#),
        format!(r#"{{"results":[[{{"field":"@timestamp","value":"x"}},{{"field":"@message","value":{quoted}}}]]}}"#),
        format!(r#"{{"protoPayload":{line},"insertId":"x"}}"#),
        format!(r#"{{"log_s":{quoted},"Category":"kube-audit"}}"#),
        format!(r#"{{"category":"kube-audit","properties":{{"log":{quoted},"stream":"stdout"}}}}"#),
        format!(r#"{{"_index":"x","_source":{line}}}"#),
        format!(r#"{{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{line}]}}"#),
        format!("{{\"kind\":\"EventList\",\n\"items\":[\n{pretty},{pretty}]}}"),
        format!("[{line}]"),
        format!("[\n{pretty}\n]"),
        format!("{pretty}\n{pretty}\n"),
        format!("2026-03-01T14:00:00.000Z {line}\n"),
        format!("\u{feff}\n{line}\r\n"),
    ] {
        let found = evidence(&text);
        assert_eq!(
            (found.sightings.len(), found.diagnostics.len(), found.unread.len()),
            (1, 0, 0),
            "{text}\n{found:?}"
        );
        assert!(is(&text.as_bytes()[..text.len().min(4096)]), "{text}");
    }
}

#[test]
fn googles_entries_say_the_same_in_other_words() {
    let entry = r#"{"protoPayload":{"@type":"type.googleapis.com/google.cloud.audit.AuditLog","authenticationInfo":{"principalEmail":"jane@example.com"},"requestMetadata":{"callerSuppliedUserAgent":"kubectl/v1.30.0"},"methodName":"io.k8s.core.v1.pods.eviction.create","resourceName":"core/v1/namespaces/shop/pods/web-1/eviction","status":{"code":8}},"timestamp":"2026-03-01T14:00:00.000001Z"}"#;
    assert!(is(entry.as_bytes()));
    let found = evidence(entry);
    let What::Request(request) = &found.sightings[0].what else { panic!("a request: {found:?}") };
    assert_eq!((request.code, request.name.as_str(), request.user.as_str()), (429, "web-1", "jane@example.com"));
    let granted = evidence(&entry.replace(r#""status":{"code":8}"#, r#""status":{}"#));
    assert!(matches!(granted.sightings[0].what, What::PodDeletion { .. }));
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_passed_over() {
    let line = event(0, CONTROLLER, "delete", "pods/ shop web-1", 200, "");
    let cut = &line[..line.len() / 2];
    let lines = [&line, cut, "{\"kind\":3", "noise", "", "{}", "\u{0}{", &line.replace("web-1", "web-2")].join("\n");
    let found = evidence(&lines);
    assert_eq!(found.sightings.len(), 2);
    assert_eq!(found.diagnostics.len(), 3, "{:?}", found.diagnostics);
    assert!(found.diagnostics.as_slice()[0].to_string().contains("line 2 is no audit event"));
    let found = evidence(&format!("{line}\n{cut}"));
    assert_eq!((found.sightings.len(), found.unread[0].why.as_str()), (1, "it ends in the middle"));
    let found = evidence(&format!("[{line},{cut}"));
    assert_eq!((found.sightings.len(), found.unread[0].why.as_str()), (1, "it ends in the middle"));
    let found = evidence("{\"a\":1}\n");
    assert_eq!(found.unread[0].why, "no line of it is an audit event");
    let mut bytes = line.clone().into_bytes();
    bytes.extend_from_slice(b"\n{\"stage\":\"\xff\xfe\"}\n");
    let mut into = Evidence::new();
    read("x", &mut bytes.as_slice(), &ClockOptions::default(), &mut into).unwrap();
    assert_eq!(into.sightings.len(), 1);
}

#[test]
fn absurd_times_are_told() {
    let line = event(0, CONTROLLER, "delete", "pods/ shop web-1", 200, "");
    for stamp in ["300000-01-01T00:00:00Z", "-1", "soon", "0001-01-01T00:00:00Z"] {
        let text = line.replace("2026-03-01T14:00:00.000001Z", stamp).replace("2026-03-01T14:00:00.004000Z", stamp);
        let found = evidence(&text);
        assert_eq!((found.sightings.len(), found.diagnostics.as_slice()[0].code), (0, "evidence::no_time"), "{stamp}");
    }
}

#[test]
fn events_that_change_nothing_are_known_by_their_head() {
    let list = event(0, "jane", "list", "pods/ shop ", 200, "");
    assert!(super::is_uninteresting(list.as_bytes()));
    let delete = event(0, "jane", "delete", "pods/ shop a", 200, "");
    assert!(!super::is_uninteresting(delete.as_bytes()));
    // Fields in another order may have such words in a body.
    let other = r#"{"annotations":{"x":"y"},"kind":"Event","requestObject":{"verb":"get"},"verb":"delete"}"#;
    assert!(!super::is_uninteresting(other.as_bytes()));
    let sly = delete.replace("\"/api\"", "\"/api?x=\\\",\\\"verb\\\":\\\"get\\\"\"");
    assert!(!super::is_uninteresting(sly.as_bytes()));
}

#[test]
fn real_events_are_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/evidence/samples/");
    let sample = |name: &str| std::fs::read_to_string(format!("{path}{name}")).expect("a sample");
    let found = evidence(&sample("audit-create-pod.jsonl"));
    assert_eq!(
        told(&found),
        [
            r#"09:13:36.411557 PodCreated { pod: PodName { namespace: "default", name: "nginx-deployment-7998647bdf-4j7t7" }, owner: Some(("ReplicaSet", "nginx-deployment-7998647bdf")) }"#
        ]
    );
    assert_eq!(found.sightings[0].when.latest.to_string(), "2018-10-26T09:13:36.445965Z");
    let found = evidence(&sample("audit-delete-deployment.jsonl"));
    let What::Request(request) = &found.sightings[0].what else { panic!("a request") };
    let request = (request.user.as_str(), request.verb.as_str(), request.resource.as_str(), request.name.as_str());
    assert_eq!(request, ("minikube-user", "delete", "deployments", "nginx-deployment"));
}
