//! What no client can ask too much of.

use serde_json::{Value, json};

use super::played;
use super::server::Server;

#[test]
fn tokens_of_pages_and_sizes_may_be_as_large_as_numbers_are() {
    let server = Server::shop();
    let (_, first) = server.get("/api/v1/namespaces/shop/pods?limit=4");
    let token = first["metadata"]["continue"].as_str().expect("more");
    let page = token.split_once('.').expect("a page and a place").0;
    for (place, limit) in [(u64::MAX, 1), (u64::MAX, i64::MAX), (1, i64::MAX)] {
        let (code, list) = server.get(&format!("/api/v1/pods?limit={limit}&continue={page}.{place}"));
        let rest = if place == 1 { 5 } else { 0 };
        assert_eq!((code, list["items"].as_array().map(Vec::len)), (200, Some(rest)), "{place} {limit}: {list}");
    }
    let merge = "Content-Type: application/merge-patch+json\r\n";
    let most = json!({"spec": {"replicas": i32::MAX}}).to_string();
    let path = "/apis/apps/v1/namespaces/shop/deployments/web";
    let (code, web) = server.ask("PATCH", path, merge, &most);
    assert_eq!((code, &web["spec"]["replicas"]), (200, &json!(i32::MAX)), "{web}");
    let more = json!({"spec": {"replicas": i64::from(i32::MAX) + 1}}).to_string();
    let (code, refused) = server.ask("PATCH", &format!("{path}/scale"), merge, &more);
    assert_eq!((code, &refused["reason"]), (400, &json!("BadRequest")), "{refused}");
    // A change of the template while it is so large: old and new pods are counted together.
    let image = json!({"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}}).to_string();
    assert_eq!(server.ask("PATCH", path, merge, &image).0, 200);
    let set = json!({
        "metadata": {"name": "large"},
        "spec": {
            "replicas": i32::MAX, "selector": {"matchLabels": {"a": "l"}}, "serviceName": "l",
            "template": {"metadata": {"labels": {"a": "l"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}},
        },
    });
    let (code, created) = server.post("/apis/apps/v1/namespaces/shop/statefulsets", &set);
    assert_eq!(code, 201, "{created}");
    server.turn("jump", &json!({"by": "50ms"}));
    assert_eq!(server.get("/version").0, 200);
}

#[test]
fn patches_that_ask_for_too_much_are_refused() {
    let server = Server::shop();
    let path = "/api/v1/namespaces/shop/configmaps/c";
    let map = json!({"metadata": {"name": "c"}, "data": {"a": "x".repeat(1 << 16)}});
    assert_eq!(server.post("/api/v1/namespaces/shop/configmaps", &map).0, 201);
    let patch = |operations: Vec<Value>| {
        let media = "Content-Type: application/json-patch+json\r\n";
        server.ask("PATCH", path, media, &Value::from(operations).to_string()).0
    };
    let copy = |n: usize| json!({"op": "copy", "from": "/data/a", "path": format!("/data/c{n}")});
    assert_eq!(patch((0..8).map(copy).collect()), 200);
    assert_eq!(patch((0..80).map(copy).collect()), 422);
    assert_eq!(patch(vec![json!({"op": "test", "path": "/data/b", "value": null}); 10_001]), 422);
    let (code, said) = server.post("/kubesquall/v1/replay", &json!({"set": [format!("a{}=1", "[0]".repeat(100))]}));
    assert_eq!(code, 400, "{said}");
    assert!(said["message"].as_str().is_some_and(|text| text.contains("it has more than 100 steps")), "{said}");
}

#[test]
fn queries_are_no_reason_to_refuse() {
    let server = Server::shop();
    assert_eq!(server.get("/version?x").0, 200);
    let metrics = super::text_of(&server, "/metrics?format=text", "*/*");
    assert!(metrics.starts_with("HTTP/1.1 200") && metrics.contains("kube_node_info{"), "{metrics}");
    assert_eq!(server.post("/kubesquall/v1/replay?x=1", &json!({"set": []})).0, 200);
}

#[test]
fn a_record_keeps_what_was_to_come() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let repository = super::server::repository();
    std::fs::copy(repository.join("tests/serve/app.yaml"), dir.path().join("app.yaml")).expect("the manifests");
    let shop = std::fs::read_to_string(repository.join("tests/serve/shop.yaml")).expect("the scenario");
    let crash = "  timeline:\n  - {at: 90m, fault: {kind: Crash, nodes: {names: [n-1]}, for: 5m}}";
    let scenario = dir.path().join("later.yaml");
    std::fs::write(&scenario, shop.replace("  timeline: []", crash)).expect("the scenario");
    let server = Server::start(&[scenario.to_str().expect("text")], &[]);
    server.turn("jump", &json!({"to": "1m"}));
    server.ask("DELETE", "/api/v1/namespaces/shop/pods/db-0", "", "");
    let digest = server.turn("jump", &json!({"to": "10m"}))["digest"].as_str().expect("a digest").to_owned();
    let (record, kept) = server.end();
    let text = std::fs::read_to_string(&record).expect("the record");
    assert!(text.contains("kind: Crash") && text.contains("duration: \"10m0s\""), "{text}");
    assert_eq!(played(&record, kept.path()).0, digest, "a fault that is not played has its place, too");
}
