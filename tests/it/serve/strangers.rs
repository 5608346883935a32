//! Whatever comes in over HTTP is answered.

use proptest::prelude::*;

use super::server::Server;

/// Paths that are near to ones that mean something.
fn paths() -> impl Strategy<Value = String> {
    let parts = [
        "api",
        "apis",
        "v1",
        "apps",
        "namespaces",
        "shop",
        "pods",
        "db-0",
        "eviction",
        "nodes",
        "n-0",
        "deployments",
        "web",
        "scale",
        "status",
        "faults",
        "kubesquall.sim",
        "v1alpha1",
        "kubesquall",
        "jump",
        "openapi",
        "v3",
        "metrics.k8s.io",
        "watch",
        "%00",
        "%ff",
        "..",
        "",
        "é",
        "?watch=true&timeoutSeconds=0",
        "?limit=1",
        "?fieldSelector=a%3Db",
        "?labelSelector=%21%21",
        "?continue=1.1",
        "?resourceVersion=99999",
        "?dryRun=All",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..9).prop_map(|parts| format!("/{}", parts.join("/")))
}

fn bodies() -> impl Strategy<Value = String> {
    let texts = [
        "",
        "{}",
        "[]",
        "null",
        "{\"metadata\":{\"name\":\"x\"}}",
        "{\"spec\":{\"replicas\":-1}}",
        "{\"a\":",
        "a: [b",
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[]}}",
        "[{\"op\":\"remove\",\"path\":\"/spec\"}]",
        "{\"metadata\":{\"resourceVersion\":1,\"name\":[1]}}",
        "{\"to\":\"-5m\"}",
        "{\"spec\":{\"kind\":\"Crash\",\"for\":\"-1s\"},\"metadata\":{\"name\":\"f\"}}",
        "k8s\u{0}\n",
        "{\"spec\":null,\"metadata\":null}",
        "{\"target\":{\"name\":\"n-9\"}}",
        "{\"gracePeriodSeconds\":-9}",
    ];
    prop::sample::select(texts.to_vec()).prop_map(str::to_owned)
}

#[test]
fn whatever_comes_in_is_answered() {
    let server = Server::shop();
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"];
    let media = [
        "application/json",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
        "application/strategic-merge-patch+json",
        "application/vnd.kubernetes.protobuf",
        "text/html",
        "",
    ];
    let of = (
        prop::sample::select(methods.to_vec()),
        paths(),
        prop::sample::select(media.to_vec()),
        bodies(),
        any::<bool>(),
    );
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |((method, path, media, body, is_whole) in of)| {
        let length = if is_whole { body.len() } else { body.len() + 10 };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: {media}\r\nContent-Length: {length}\r\n\r\n{body}",
            server.address
        );
        let answer = if is_whole { server.send(request.as_bytes()) } else { server.send_half(request.as_bytes()) };
        let code: u16 = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        // Half a request may be answered with nothing; what is refused for good reason says so as a Status.
        prop_assert!(code != 0 || !is_whole || !path.is_ascii(), "{request}\n{answer}");
        prop_assert!(code < 500 || answer.contains("\"kind\":\"Status\""), "{request}\n{answer}");
        prop_assert!(code != 500, "{request}\n{answer}");
    });
    for bytes in [
        &b"\0\0\0\0"[..],
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz",
    ] {
        server.send_half(bytes);
    }
    assert_eq!(server.get("/version").0, 200);
}
