//! What objects look like to who reads them back.

use std::fs;

use serde_json::{Value, json};

use super::server::Server;
use super::{has_kubectl, text_of};

const PODS: &str = "/api/v1/namespaces/shop/pods";
const FAULTS: &str = "/apis/kubesquall.sim/v1alpha1/faults";
const MERGE: &str = "Content-Type: application/merge-patch+json\r\n";

fn condition(object: &Value, kind: &str) -> Value {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == kind).cloned().unwrap_or_default()
}

#[test]
fn pods_are_read_back_as_they_were_sent() {
    let server = Server::shop();
    let container = json!({
        "name": "c", "image": "example.com/c:1",
        "volumeMounts": [{"name": "cache", "mountPath": "/cache"}, {"name": "cache", "mountPath": "/b", "readOnly": true}],
    });
    let annotations = json!({"team": "a", "prometheus.io/scrape": "true", "kubesquall.sim/ready": "3s"});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "own", "annotations": annotations},
        "spec": {"containers": [container], "volumes": [{"name": "cache", "emptyDir": {}}]},
    });
    assert_eq!(server.post(PODS, &pod).0, 201);
    let own = format!("{PODS}/own");
    let (_, read) = server.get(&own);
    assert_eq!(read["metadata"]["annotations"], annotations, "{read}");
    assert_eq!(read["spec"]["containers"][0]["volumeMounts"], container["volumeMounts"], "{read}");
    // What is read may be written back, and changed where the API lets it be.
    assert_eq!(server.ask("PUT", &own, "Content-Type: application/json\r\n", &read.to_string()).0, 200);
    let change = json!({"metadata": {"annotations": {"team": "b", "prometheus.io/scrape": null, "new": "1"}}});
    let (code, changed) = server.ask("PATCH", &own, MERGE, &change.to_string());
    let expected = json!({"team": "b", "new": "1", "kubesquall.sim/ready": "3s"});
    assert_eq!((code, &changed["metadata"]["annotations"]), (200, &expected), "{changed}");
    // One of a template's is the same to whoever reads it.
    let path = server.get(&format!("{PODS}?labelSelector=app%3Dweb")).1["items"][0]["metadata"]["name"].clone();
    let path = format!("{PODS}/{}", path.as_str().expect("a pod"));
    let cost = json!({"controller.kubernetes.io/pod-deletion-cost": "5", "who": "me"});
    let change = json!({"metadata": {"annotations": cost}}).to_string();
    assert_eq!(server.ask("PATCH", &path, MERGE, &change).1["metadata"]["annotations"], cost);
    let mounts =
        json!({"spec": {"containers": [{"name": "c", "volumeMounts": [{"name": "cache", "mountPath": "/x"}]}]}});
    let strategic = "Content-Type: application/strategic-merge-patch+json\r\n";
    let (code, refused) = server.ask("PATCH", &own, strategic, &mounts.to_string());
    assert_eq!((code, &refused["details"]["kind"]), (422, &json!("Pod")), "{refused}");
    if has_kubectl() {
        let file = server.dir.path().join("pod.json");
        let named = pod
            .to_string()
            .replace("\"own\"", "\"applied\"")
            .replace("\"name\":\"applied\"", "\"name\":\"applied\",\"namespace\":\"shop\"");
        fs::write(&file, named).expect("a file");
        let file = file.to_str().expect("text");
        server.done(&format!("apply -f {file}"));
        assert_eq!(server.done(&format!("diff -f {file}")), "");
        let shown = server.done("describe pod applied -n shop");
        assert!(shown.contains("/cache from cache (rw)") && shown.contains("team: a"), "{shown}");
    }
}

#[test]
fn conditions_have_times_and_a_lost_node_changes_ready_alone() {
    let server = Server::shop();
    server.turn("jump", &json!({"to": "10m"}));
    let node = server.get("/api/v1/nodes/n-2").1;
    for kind in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
        let condition = condition(&node, kind);
        let heard = condition["lastHeartbeatTime"].as_str().expect("a time");
        // A status that does not change is posted every five minutes.
        assert!(("2026-01-01T00:04:30Z"..="2026-01-01T00:10:00Z").contains(&heard), "{kind}: {heard}");
        assert!(condition["lastTransitionTime"].is_string(), "{condition}");
    }
    let listed = server.get("/api/v1/nodes").1;
    let listed = listed["items"].as_array().into_iter().flatten().find(|of| of["metadata"]["name"] == "n-2").cloned();
    assert_eq!(listed.expect("the node"), node);
    let pods = format!("{PODS}?fieldSelector=spec.nodeName%3Dn-2");
    let before = server.get(&pods).1["items"][0].clone();
    let kinds = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    let found: Vec<&str> =
        before["status"]["conditions"].as_array().into_iter().flatten().filter_map(|c| c["type"].as_str()).collect();
    assert_eq!(found, kinds);
    for kind in kinds {
        let condition = condition(&before, kind);
        assert!(condition["status"] == "True" && condition["lastTransitionTime"].is_string(), "{condition}");
    }
    let fault = json!({"metadata": {"name": "f"}, "spec": {"kind": "Crash", "nodes": {"names": ["n-2"]}}});
    assert_eq!(server.post(FAULTS, &fault).0, 201);
    server.turn("jump", &json!({"to": "12m"}));
    let after = server.get(&pods).1["items"][0].clone();
    assert_eq!(condition(&after, "Ready")["status"], "False");
    assert_ne!(condition(&after, "Ready")["lastTransitionTime"], condition(&before, "Ready")["lastTransitionTime"]);
    assert_eq!(condition(&after, "ContainersReady"), condition(&before, "ContainersReady"));
    let node = server.get("/api/v1/nodes/n-2").1;
    assert_eq!(condition(&node, "Ready")["status"], "Unknown");
    assert!(condition(&node, "Ready")["lastHeartbeatTime"].as_str() <= Some("2026-01-01T00:10:00Z"));
}

#[test]
fn a_container_that_has_ended_says_when_it_began_and_repeated_events_are_counted() {
    let server = Server::shop();
    let annotations = json!({"kubesquall.sim/run-for": "20s", "kubesquall.sim/exit-code": "1"});
    let pod = json!({
        "metadata": {"name": "crashes", "annotations": annotations},
        "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]},
    });
    assert_eq!(server.post(PODS, &pod).0, 201);
    server.turn("jump", &json!({"to": "15m"}));
    let (_, pod) = server.get(&format!("{PODS}/crashes"));
    let status = &pod["status"]["containerStatuses"][0];
    assert!(status["restartCount"].as_i64() > Some(2), "{status}");
    let last = [&status["lastState"]["terminated"], &status["state"]["terminated"]];
    let last = last.into_iter().find(|ended| ended.is_object()).expect("an end");
    let seconds = |field: &str| {
        let stamp = last[field].as_str().expect(field);
        let part = |range: std::ops::Range<usize>| stamp[range].parse::<i64>().expect(stamp);
        part(11..13) * 3600 + part(14..16) * 60 + part(17..19)
    };
    assert!((19..=22).contains(&(seconds("finishedAt") - seconds("startedAt"))), "{last}");
    let events = "/api/v1/namespaces/shop/events?fieldSelector=involvedObject.name%3Dcrashes";
    let (_, list) = server.get(events);
    let back_off = list["items"].as_array().into_iter().flatten().filter(|event| event["reason"] == "BackOff");
    let back_off: Vec<&Value> = back_off.collect();
    assert_eq!(back_off.len(), 1, "equal ones are one: {list}");
    let count = back_off[0]["count"].as_i64().expect("a count");
    assert!(count > 2 && back_off[0]["firstTimestamp"].as_str() < back_off[0]["lastTimestamp"].as_str(), "{list}");
    // The same in the other group, by its names.
    let other = "/apis/events.k8s.io/v1/namespaces/shop/events?fieldSelector=regarding.name%3Dcrashes";
    let (code, others) = server.get(other);
    assert_eq!((code, &others["kind"], &others["apiVersion"]), (200, &json!("EventList"), &json!("events.k8s.io/v1")));
    let (names, own) = (
        |list: &Value| -> Vec<Value> {
            list["items"].as_array().into_iter().flatten().map(|of| of["metadata"].clone()).collect()
        },
        others["items"].as_array().into_iter().flatten().find(|event| event["reason"] == "BackOff").expect("it"),
    );
    assert_eq!(names(&others), names(&list));
    let found =
        (&own["deprecatedCount"], &own["note"], &own["regarding"], &own["reportingController"], &own["message"]);
    let core = back_off[0];
    assert_eq!(found, (&core["count"], &core["message"], &core["involvedObject"], &json!("kubelet"), &Value::Null));
    let name = core["metadata"]["name"].as_str().expect("a name");
    assert_eq!(&server.get(&format!("/apis/events.k8s.io/v1/namespaces/shop/events/{name}")).1, own);
    // Those of clients, too.
    let written = json!({
        "metadata": {"name": "seen"}, "regarding": {"kind": "Pod", "name": "crashes", "namespace": "shop"},
        "note": "seen", "reason": "Seen", "type": "Normal", "reportingController": "x", "action": "See",
    });
    let (code, made) = server.post("/apis/events.k8s.io/v1/namespaces/shop/events", &written);
    assert_eq!((code, &made["note"], &made["apiVersion"]), (201, &json!("seen"), &json!("events.k8s.io/v1")), "{made}");
    let (_, core) = server.get("/api/v1/namespaces/shop/events/seen");
    assert_eq!((&core["message"], &core["involvedObject"]["name"]), (&json!("seen"), &json!("crashes")), "{core}");
    // Time that is turned back takes counts back.
    server.turn("jump", &json!({"to": "3m"}));
    let (_, list) = server.get(events);
    let earlier = list["items"].as_array().into_iter().flatten().find(|event| event["reason"] == "BackOff").cloned();
    assert!(earlier.expect("it").get("count").and_then(Value::as_i64) < Some(count), "{list}");
}

#[test]
fn a_fault_says_what_it_has_hit_and_its_events_are_about_it() {
    let server = Server::shop();
    let fault = |name: &str, spec: Value| server.post(FAULTS, &json!({"metadata": {"name": name}, "spec": spec}));
    let (_, crash) = fault("plug", json!({"kind": "Crash", "nodes": {"names": ["n-2"]}, "for": "5m"}));
    assert_eq!((&crash["status"]["targets"], &crash["status"]["message"]), (&json!(["n-2"]), &json!("Crash of n-2")));
    let (code, missed) = fault("nobody", json!({"kind": "Crash", "nodes": {"selector": "x=y"}}));
    assert_eq!((code, &missed["status"]["phase"]), (201, &json!("Missed")), "{missed}");
    assert_eq!(missed["status"]["message"], "Crash: no node matches");
    let (_, killed) = fault("kill", json!({"kind": "PodKill", "pods": {"selector": "app=db"}}));
    assert_eq!(killed["status"]["targets"], json!(["pod/shop/db-0", "pod/shop/db-1"]), "{killed}");
    let events = |name: &str| -> Vec<(String, Value)> {
        let (_, list) = server
            .get(&format!("/api/v1/events?fieldSelector=involvedObject.kind%3DFault,involvedObject.name%3D{name}"));
        let items = list["items"].as_array().into_iter().flatten();
        items
            .map(|of| (of["reason"].as_str().unwrap_or_default().to_owned(), of["involvedObject"]["uid"].clone()))
            .collect()
    };
    let uid = &crash["metadata"]["uid"];
    assert_eq!(events("plug"), [("FaultBegan".to_owned(), uid.clone())]);
    assert_eq!(events("nobody"), [("NothingToFail".to_owned(), missed["metadata"]["uid"].clone())]);
    server.turn("jump", &json!({"to": "1m"}));
    // Its end is told under its name, though it is gone by then.
    assert_eq!(server.ask("DELETE", &format!("{FAULTS}/plug"), "", "").0, 200);
    let mut found = events("plug");
    found.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(found, [("FaultBegan".to_owned(), uid.clone()), ("FaultEnded".to_owned(), uid.clone())]);
    let table = server.ask("GET", FAULTS, "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n", "").1;
    let rows: Vec<&Value> = table["rows"].as_array().into_iter().flatten().map(|row| &row["cells"]).collect();
    assert_eq!(rows[0], &json!(["kill", "PodKill", "pod/shop/db-0,pod/shop/db-1", "<none>", "Ended", "60s"]));
    assert_eq!(rows[1], &json!(["nobody", "Crash", "<none>", "<none>", "Missed", "60s"]));
}

#[test]
fn top_knows_the_load_of_the_scenario() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let repository = super::server::repository();
    fs::copy(repository.join("tests/serve/app.yaml"), dir.path().join("app.yaml")).expect("the manifests");
    let shop = fs::read_to_string(repository.join("tests/serve/shop.yaml")).expect("the scenario");
    let load = "  timeline: []\n  horizontalPodAutoscalers:\n  - {target: deployment/shop/web, minReplicas: 4, maxReplicas: 4, \
                targetUtilization: 60, perReplica: 100, load: [{at: 0s, load: 200}, {at: 10m, load: 600}]}";
    let scenario = dir.path().join("loaded.yaml");
    fs::write(&scenario, shop.replace("  timeline: []", load)).expect("the scenario");
    let server = Server::start(&[scenario.to_str().expect("text")], &[]);
    let used = || -> Vec<Value> {
        let (_, list) = server.get("/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=app%3Dweb");
        let items = list["items"].as_array().into_iter().flatten();
        items.map(|pod| pod["containers"][0]["usage"]["cpu"].clone()).collect()
    };
    // Half of what a pod carries on each of four, and each requests 500m.
    assert_eq!(used(), vec![json!("250m"); 4]);
    server.turn("jump", &json!({"to": "5m"}));
    assert_eq!(used(), vec![json!("500m"); 4]);
    let (_, nodes) = server.get("/apis/metrics.k8s.io/v1beta1/nodes/n-3");
    assert_eq!(nodes["usage"]["cpu"], "500m", "{nodes}");
}

#[test]
fn refusals_name_kinds_and_resources_as_the_api_server_does() {
    let server = Server::shop();
    let details = |answer: (u16, Value)| {
        let details = &answer.1["details"];
        (answer.0, details["kind"].clone(), details.get("group").cloned(), details["name"].clone())
    };
    let apps = "/apis/apps/v1/namespaces/shop/deployments";
    let group = Some(json!("apps"));
    let web = (json!("deployments"), group.clone(), json!("web"));
    let nobody = details(server.get(&format!("{apps}/nobody")));
    assert_eq!(nobody, (404, json!("deployments"), group.clone(), json!("nobody")));
    assert_eq!(details(server.get(&format!("{PODS}/nobody"))), (404, json!("pods"), None, json!("nobody")));
    let (_, live) = server.get(&format!("{apps}/web"));
    let again = json!({"metadata": {"name": "web"}, "spec": live["spec"]});
    assert_eq!(details(server.post(apps, &again)), (409, web.0.clone(), web.1.clone(), web.2.clone()));
    let stale = json!({"metadata": {"resourceVersion": "99999"}}).to_string();
    let conflict = details(server.ask("PATCH", &format!("{apps}/web"), MERGE, &stale));
    assert_eq!(conflict, (409, web.0, web.1, web.2));
    let negative = json!({"spec": {"replicas": -1}}).to_string();
    let invalid = details(server.ask("PATCH", &format!("{apps}/web"), MERGE, &negative));
    assert_eq!(invalid, (422, json!("Deployment"), group, json!("web")));
    let fault = details(server.post(FAULTS, &json!({"metadata": {"name": "odd"}, "spec": {"kind": "Crahs"}})));
    assert_eq!(fault, (422, json!("Fault"), Some(json!("kubesquall.sim")), json!("odd")));
    let account = json!({"metadata": {"name": "bot"}});
    assert_eq!(server.post("/api/v1/namespaces/shop/serviceaccounts", &account).0, 201);
    let token = "/api/v1/namespaces/shop/serviceaccounts/bot/token";
    let (code, refused) = server.post(token, &json!({"spec": {"audiences": []}}));
    assert_eq!((code, &refused["reason"]), (501, &json!("NotImplemented")), "{refused}");
    assert_eq!(server.post(&token.replace("bot", "nobody"), &json!({})).0, 404);
}

#[test]
fn paths_are_listed_and_odd_requests_refused() {
    let server = Server::shop();
    let (code, list) = server.get("/");
    let paths: Vec<&str> = list["paths"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert!(code == 200 && paths.is_sorted(), "{list}");
    for path in ["/api/v1", "/apis/apps/v1", "/apis/events.k8s.io/v1", "/metrics", "/version"] {
        assert!(paths.contains(&path), "{path}: {paths:?}");
    }
    assert!(text_of(&server, "/", "text/html").contains("text/html"));
    for path in paths.iter().filter(|path| path.starts_with("/api")) {
        assert_eq!(server.get(path).0, 200, "{path}");
    }
    for (speed, code) in [("1e-300x", 400), ("0.001x", 200), ("1e7x", 400), ("paused", 200)] {
        let (found, said) = server.post("/kubesquall/v1/speed", &json!({"speed": speed}));
        assert_eq!(found, code, "{speed}: {said}");
        let says_what = said["message"].as_str().is_some_and(|text| text.contains("from 0.001x to 1000000x"));
        assert_eq!(says_what, code == 400, "{said}");
    }
    let clock = server.get("/kubesquall/v1/clock").1;
    for (what, body) in [
        ("jump", json!({"to": "5m", "by": "1m"})),
        ("jump", json!({"too": "5m"})),
        ("step", json!({"n": 5})),
        ("speed", json!({"speed": "1x", "for": "5m"})),
    ] {
        assert_eq!(server.post(&format!("/kubesquall/v1/{what}"), &body).0, 400, "{what} {body}");
    }
    assert_eq!(server.get("/kubesquall/v1/clock").1, clock);
    let large = format!("X-Large: {}\r\n", "x".repeat(70_000));
    assert_eq!(server.ask("GET", "/version", &large, "").0, 431);
    let twice = server.ask("GET", "/version", "Host: evil.example\r\n", "");
    assert_eq!(twice.0, 400, "{}", twice.1);
    assert_eq!(server.ask("GET", "http://evil.example/version", "", "").0, 403);
    let own = format!("http://{}/version", server.address);
    assert_eq!(server.ask("GET", &own, "", "").0, 200);
    let (code, said) = server.post("/kubesquall/v1/replay", &json!({"set": ["spec.sead=7"]}));
    let text = said["message"].as_str().unwrap_or_default();
    assert!(code == 400 && text.contains("--set") && !text.contains("LoadOptions"), "{said}");
}

#[test]
fn nodes_of_dumps_say_what_they_are_and_what_was_not_read_is_told() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("dump.yaml");
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {kubernetes.io/hostname: a}}\nstatus:\n  \
                allocatable: {cpu: '4', memory: 8Gi, pods: '20'}\n  \
                addresses: [{type: InternalIP, address: 10.0.0.5}, {type: Hostname, address: a}]\n  \
                nodeInfo: {kubeletVersion: v1.35.2, osImage: Some Linux 12, kernelVersion: 6.1.0, architecture: arm64, \
                containerRuntimeVersion: containerd://2.0.1, operatingSystem: linux, machineID: m1}\n";
    let broken = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: 3}\n";
    fs::write(&file, format!("{node}{broken}")).expect("the dump");
    let server = Server::start(&[file.to_str().expect("text")], &["--allow-partial"]);
    assert!(server.said.contains("not read: 1 Pod"), "{}", server.said);
    let (_, node) = server.get("/api/v1/nodes/a");
    let info = &node["status"]["nodeInfo"];
    let found =
        ["kubeletVersion", "osImage", "containerRuntimeVersion", "machineID", "bootID"].map(|field| &info[field]);
    assert_eq!(found, ["v1.35.2", "Some Linux 12", "containerd://2.0.1", "m1", ""], "{node}");
    assert_eq!(node["status"]["addresses"][0], json!({"type": "InternalIP", "address": "10.0.0.5"}));
    if has_kubectl() {
        let wide = server.done("get nodes -o wide");
        for cell in ["10.0.0.5", "Some Linux 12", "6.1.0", "containerd://2.0.1"] {
            assert!(wide.contains(cell), "{wide}");
        }
    }
}
