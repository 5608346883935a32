//! Who watches: what ends a watch, and what is told.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::server::Server;

const FAULTS: &str = "/apis/kubesquall.sim/v1alpha1/faults";

/// A watch that is open.
struct Watch(TcpStream);

impl Watch {
    fn open(server: &Server, path: &str) -> Self {
        let mut stream = TcpStream::connect(&server.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address);
        stream.write_all(request.as_bytes()).expect("it reads");
        // The answer has begun: the watch is there.
        let mut first = [0; 12];
        stream.read_exact(&mut first).expect("an answer");
        Self(stream)
    }

    /// Everything until it ends.
    fn rest(mut self) -> String {
        let mut text = Vec::new();
        self.0.read_to_end(&mut text).expect("it ends in time");
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn clock(server: &Server) -> Value {
    server.get("/kubesquall/v1/clock").1
}

#[test]
fn watches_end_with_the_api_server_and_its_next_one_knows_nothing_of_before() {
    let server = Server::shop();
    server.turn("jump", &json!({"to": "1m"}));
    let pods = "/api/v1/namespaces/shop/pods";
    let version = server.get(pods).1["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
    assert_eq!(server.ask("DELETE", &format!("{pods}/db-0"), "", "").0, 200);
    let watch = Watch::open(&server, &format!("{pods}?watch=1"));
    let of_faults = Watch::open(&server, &format!("{FAULTS}?watch=1&timeoutSeconds=5"));
    assert_eq!(clock(&server)["watches"], 2);
    let outage = json!({
        "metadata": {"name": "down"}, "spec": {"kind": "ControlPlaneOutage", "components": ["kube-apiserver"], "for": "5m"},
    });
    assert_eq!(server.post(FAULTS, &outage).0, 201);
    server.turn("jump", &json!({"by": "10s"}));
    let told = watch.rest();
    assert!(told.contains("ADDED") && told.trim_end().ends_with('0'), "it ends as it should: {told}");
    assert_eq!(clock(&server)["watches"], 1, "faults are not the API server's");
    for path in [pods, "/version", "/apis", "/openapi/v3/api/v1", "/"] {
        assert_eq!(server.get(path).0, 503, "{path}");
    }
    let review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    assert_eq!(server.post(review, &json!({"spec": {}})).0, 503);
    assert_eq!(server.get(FAULTS).0, 200);
    assert_eq!(server.get("/openapi/v3/apis/kubesquall.sim/v1alpha1").0, 200);
    server.turn("jump", &json!({"by": "10m"}));
    assert!(of_faults.rest().contains("\"phase\":\"Ended\""));
    // It lists again, and versions from before are too old.
    let (code, list) = server.get(pods);
    assert_eq!((code, list["items"].as_array().map(|items| items.len() > 3)), (200, Some(true)));
    let old = Watch::open(&server, &format!("{pods}?watch=1&timeoutSeconds=5&resourceVersion={version}")).rest();
    assert!(old.contains("\"code\":410"), "{old}");
    let new = list["metadata"]["resourceVersion"].as_str().expect("a version");
    let new = Watch::open(&server, &format!("{pods}?watch=1&timeoutSeconds=1&resourceVersion={new}")).rest();
    assert!(!new.contains("ERROR"), "{new}");
}

/// A server of whose run there are Events.
fn busy() -> Server {
    let server = Server::shop();
    let pod = |name: &str| json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}});
    for name in ["one", "two"] {
        assert_eq!(server.post("/api/v1/namespaces/shop/pods", &pod(name)).0, 201);
    }
    server.turn("jump", &json!({"to": "2m"}));
    server
}

#[test]
fn events_of_the_run_can_be_deleted_and_written() {
    let server = busy();
    let events = "/api/v1/namespaces/shop/events";
    let list = server.get(events).1;
    let names: Vec<&str> =
        list["items"].as_array().into_iter().flatten().filter_map(|of| of["metadata"]["name"].as_str()).collect();
    assert!(names.len() > 3, "{list}");
    let version = list["metadata"]["resourceVersion"].as_str().expect("a version");
    let (first, second) = (format!("{events}/{}", names[0]), format!("{events}/{}", names[1]));
    let json = "Content-Type: application/json\r\n";
    assert_eq!(server.ask("DELETE", &first, json, r#"{"preconditions":{"uid":"another"}}"#).0, 409);
    assert_eq!(server.ask("DELETE", &format!("{first}?dryRun=All"), "", "").0, 200);
    assert_eq!(server.get(&first).0, 200);
    assert_eq!(server.ask("DELETE", &first, "", "").0, 200);
    assert_eq!((server.get(&first).0, server.ask("DELETE", &first, "", "").0), (404, 404));
    let merge = "Content-Type: application/merge-patch+json\r\n";
    let (code, patched) = server.ask("PATCH", &second, merge, r#"{"metadata":{"labels":{"seen":"yes"}}}"#);
    assert_eq!((code, &patched["metadata"]["labels"]["seen"]), (200, &json!("yes")), "{patched}");
    assert_eq!(server.get(&second).1, patched);
    // Only what has changed is told of.
    let watch = format!("{events}?watch=1&timeoutSeconds=1&resourceVersion={version}");
    let told = Watch::open(&server, &watch).rest();
    assert_eq!((told.matches("DELETED").count(), told.matches("MODIFIED").count()), (1, 1), "{told}");
    let of_seen = format!("{events}?labelSelector=seen%3Dyes");
    let gone = server.ask("DELETE", &of_seen, "", "").1;
    assert_eq!(gone["items"].as_array().map(Vec::len), Some(1), "{gone}");
    assert_eq!(server.get(events).1["items"].as_array().map(Vec::len), Some(names.len() - 2));
    server.ask("DELETE", events, "", "");
    assert_eq!(server.get(events).1["items"], json!([]));
    // They go with their namespace.
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}});
    assert_eq!(server.post("/api/v1/namespaces", &json!({"metadata": {"name": "t"}})).0, 201);
    assert_eq!(server.post("/api/v1/namespaces/t/pods", &pod).0, 201);
    server.turn("jump", &json!({"by": "1m"}));
    assert_ne!(server.get("/api/v1/namespaces/t/events").1["items"], json!([]));
    server.ask("DELETE", "/api/v1/namespaces/t", "", "");
    server.turn("jump", &json!({"by": "2m"}));
    assert_eq!(server.get("/api/v1/namespaces/t/events").1["items"], json!([]));
}

#[test]
fn lists_and_deletions_choose_by_the_same_fields() {
    let server = busy();
    let count = |path: &str| server.get(path).1["items"].as_array().map(Vec::len);
    let events = "/api/v1/namespaces/shop/events?fieldSelector=";
    let of_kubelet = count(&format!("{events}source%3Dkubelet"));
    assert!(of_kubelet > Some(0) && of_kubelet == count(&format!("{events}reportingComponent%3Dkubelet")));
    assert_eq!(server.get(&format!("{events}involvedObject.kin%3DPod")).0, 400);
    let pods = "/api/v1/namespaces/shop/pods";
    for field in ["spec.hostNetwork%3Dfalse", "spec.serviceAccountName%3Ddefault", "status.phase%3DRunning"] {
        assert_eq!(count(&format!("{pods}?fieldSelector={field}")), count(pods), "{field}");
    }
    let job = json!({
        "metadata": {"name": "done"},
        "spec": {"template": {"metadata": {"annotations": {"kubesquall.sim/run-for": "5s"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "example.com/c:1"}]}}},
    });
    let jobs = "/apis/batch/v1/namespaces/shop/jobs";
    assert_eq!(server.post(jobs, &job).0, 201);
    server.turn("jump", &json!({"by": "5m"}));
    let of = |count: u8| format!("{jobs}?fieldSelector=status.successful%3D{count}");
    assert_eq!((count(&of(0)), count(&of(1))), (Some(0), Some(1)));
    assert_eq!(server.ask("DELETE", &of(0), "", "").1["items"], json!([]));
    assert_eq!(server.ask("DELETE", &of(1), "", "").1["items"].as_array().map(Vec::len), Some(1));
}
