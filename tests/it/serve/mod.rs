//! `serve`: real clients talk to it. Those that this machine does not have are left out, which is said.

mod bounds;
mod load;
mod objects;
mod options;
mod server;
mod strangers;
mod watches;
mod writes;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use server::{Server, repository};

use super::expected::difference;

/// Whether there is a kubectl; if not, that is said.
#[expect(clippy::print_stderr, reason = "who reads the output is to know what was not tested")]
fn has_kubectl() -> bool {
    let found =
        Command::new("kubectl").args(["version", "--client"]).output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("not tested: there is no kubectl on this machine");
    }
    found
}

#[track_caller]
fn check(name: &str, found: &str) {
    let found: String = found.lines().map(str::trim_end).flat_map(|line| [line, "\n"]).collect();
    let problem = difference(&repository().join(format!("tests/serve/{name}.txt")), &found);
    assert!(problem.is_none(), "{}", problem.unwrap_or_default());
}

/// Digest and `pods.csv` of a run of a scenario.
fn played(scenario: &Path, dir: &Path) -> (String, String) {
    let out = dir.join("played");
    let output = Command::new(env!("CARGO_BIN_EXE_kubesquall"))
        .args(["run", "-v", "--no-charts", "--force", "--out"])
        .arg(&out)
        .arg(scenario)
        .output()
        .expect("the binary");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let digest = said.lines().find_map(|line| line.split_once("digest ")).map(|(_, digest)| digest.to_owned());
    let pods = fs::read_to_string(out.join("pods.csv")).unwrap_or_else(|error| panic!("{error}: {said}"));
    (digest.unwrap_or_else(|| panic!("no digest: {said}")), pods)
}

/// Without the ages that kubectl itself holds against this machine's clock.
fn without_ages(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once(' ') {
        Some((before, age)) if age.strip_suffix('d').is_some_and(|days| days.parse::<u32>().is_ok()) => {
            format!("{before} <age>\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn kubectl_shows_what_is_there() {
    if !has_kubectl() {
        return;
    }
    let server = Server::shop();
    server.turn("jump", &json!({"to": "1m"}));
    let mut text = String::new();
    for command in [
        "get nodes",
        "get pods -n shop -o wide",
        "get deploy,sts,svc,pdb -n shop",
        "get pods -A -l app=db --show-labels",
        "get pods -n shop --field-selector spec.nodeName=n-0",
        "get pod db-0 -n shop -o jsonpath={.status.phase}",
        "describe node n-1",
        "describe pod db-0 -n shop",
        "describe deployment web -n shop",
        "top nodes",
        "api-resources --api-group=policy",
    ] {
        text.push_str(&format!("$ kubectl {command}\n{}\n", without_ages(&server.done(command))));
    }
    for command in ["get pod nobody -n shop", "get nothings", "logs db-0 -n shop", "exec db-0 -n shop -- ls"] {
        text.push_str(&format!("$ kubectl {command}\n{}\n", server.refused(command)));
    }
    check("shown", &text);
}

#[test]
fn writes_of_kubectl_are_those_of_a_cluster() {
    if !has_kubectl() {
        return;
    }
    let server = Server::shop();
    server.turn("jump", &json!({"to": "1m"}));
    let apply = server.done("apply -f scenarios/manifests/online-boutique");
    assert!(apply.contains("deployment.apps/frontend created"), "{apply}");
    let again = server.done("apply -f scenarios/manifests/online-boutique");
    assert!(again.lines().all(|line| line.ends_with("unchanged")), "{again}");
    server.done("create namespace games");
    server.done("create deployment chess --image=example.com/chess:1 --replicas=2 -n games");
    server.done("scale deployment chess --replicas=3 -n games");
    server.done("set image deployment/chess *=example.com/chess:2 -n games");
    server.turn("speed", &json!({"speed": "60x"}));
    server.done("rollout status deployment/chess -n games --timeout=60s");
    server.done("wait --for=condition=Available deployment/chess -n games --timeout=60s");
    assert_eq!(server.done("get deploy chess -n games -o jsonpath={.status.availableReplicas}"), "3");
    server.done(
        "patch deployment chess -n games --type=json -p [{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":1}]",
    );
    server.done("apply --server-side -f tests/serve/crd.yaml");
    server.done("wait --for=condition=Established crd/castles.games.example.com --timeout=10s");
    server.done("apply -f tests/serve/castle.yaml");
    let castles = server.done("get castles -n games");
    assert!(castles.contains("TOWERS") && castles.contains('4'), "{castles}");
    server.done("delete namespace games --timeout=60s");
    let gone = server.refused("get deployment chess -n games");
    assert!(gone.contains("NotFound"), "{gone}");
    let strict = server.ask(
        "POST",
        "/apis/apps/v1/namespaces/shop/deployments?fieldValidation=Strict",
        "Content-Type: application/json\r\n",
        r#"{"metadata":{"name":"x"},"spec":{"replica":1}}"#,
    );
    assert_eq!((strict.0, strict.1["reason"].as_str()), (400, Some("BadRequest")), "{}", strict.1);
    assert!(
        strict.1["message"]
            .as_str()
            .is_some_and(|text| text.contains("unknown field \\\"spec.replica\\\"") || text.contains("spec.replica"))
    );
}

#[test]
fn a_drain_waits_for_a_budget() {
    if !has_kubectl() {
        return;
    }
    let server = Server::shop();
    let refused = server.refused("drain n-0 --ignore-daemonsets --timeout=3s");
    assert!(refused.contains("Cannot evict pod as it would violate the pod's disruption budget."), "{refused}");
    let pods = server.get("/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb&fieldSelector=spec.nodeName%3Dn-0").1;
    let pod = pods["items"][0]["metadata"]["name"].as_str().expect("a pod").to_owned();
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": "shop"}});
    let (code, status) = server.post(&format!("/api/v1/namespaces/shop/pods/{pod}/eviction"), &eviction);
    assert_eq!((code, &status["reason"]), (429, &json!("TooManyRequests")), "{status}");
    assert_eq!(status["details"]["causes"][0]["reason"], "DisruptionBudget", "{status}");
}

#[test]
fn a_drain_plays_as_the_same_line_of_a_timeline() {
    if !has_kubectl() {
        return;
    }
    let server = Server::shop();
    server.turn("jump", &json!({"to": "1m"}));
    server.done("delete pdb web -n shop");
    // Time stands still until all evictions have been asked for.
    server.turn("jump", &json!({"to": "2m"}));
    let drain = server.kubectl(&["drain", "n-0", "--ignore-daemonsets", "--timeout=2s"]);
    assert!(drain.1.contains("evicting pod shop/web"), "{}", drain.1);
    server.turn("jump", &json!({"to": "10m"}));
    let node = server.done("get pods -A --field-selector spec.nodeName=n-0");
    assert!(node.contains("No resources found"), "{node}");
    let digest = server.get("/kubesquall/v1/clock").1["digest"].as_str().expect("a digest").to_owned();
    let (record, dir) = server.end();
    let (again, pods) = played(&record, dir.path());
    assert_eq!(again, digest, "the record plays the same");
    // And the same as lines.
    let typed = fs::read_to_string(repository().join("tests/serve/shop.yaml")).expect("the scenario");
    let typed = typed.replace("duration: 2h", "duration: 10m").replace(
        "  timeline: []",
        "  timeline:\n  - {at: 60s, kubectl: delete pdb web -n shop}\n  - {at: 2m, kubectl: drain n-0 --ignore-daemonsets}",
    );
    fs::copy(repository().join("tests/serve/app.yaml"), dir.path().join("app.yaml")).expect("the manifests");
    fs::write(dir.path().join("typed.yaml"), typed).expect("the scenario");
    let (_, typed) = played(&dir.path().join("typed.yaml"), dir.path());
    assert_eq!(
        pods, typed,
        "a server whose time stands still gets to all evictions at once, and so does one whose calls take no time"
    );
}

#[test]
#[expect(clippy::print_stderr, reason = "who reads the output is to know what was not tested")]
#[expect(clippy::disallowed_methods, reason = "which Python has the client is said by who runs the test")]
fn the_python_client_is_at_home() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", "import kubernetes"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        eprintln!("not tested: {python} has no package `kubernetes`; PYTHON names another Python");
        return;
    }
    let server = Server::shop();
    let output = Command::new(python)
        .arg(repository().join("tests/serve/python_client.py"))
        .arg(server.dir.path().join("config"))
        .arg(format!("http://{}", server.address))
        .output()
        .expect("Python runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
#[expect(clippy::print_stderr, reason = "who reads the output is to know what was not tested")]
#[expect(
    clippy::disallowed_methods,
    reason = "where the program is that `tests/serve/kube_rs` makes is said by who runs the test"
)]
fn kube_rs_is_at_home() {
    let Some(program) = std::env::var_os("KUBE_RS_CLIENT") else {
        eprintln!(
            "not tested: KUBE_RS_CLIENT names no program; `cargo build --manifest-path tests/serve/kube_rs/Cargo.toml` makes it"
        );
        return;
    };
    let server = Server::shop();
    let output = Command::new(program).arg(server.dir.path().join("config")).output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn faults_are_objects() {
    let server = Server::shop();
    let faults = "/apis/kubesquall.sim/v1alpha1/faults";
    let fault = json!({
        "apiVersion": "kubesquall.sim/v1alpha1", "kind": "Fault", "metadata": {"name": "crash"},
        "spec": {"kind": "Crash", "nodes": {"names": ["n-2"]}, "for": "30m"},
    });
    assert_eq!(server.post(faults, &fault).0, 201);
    assert_eq!(server.post(faults, &fault).0, 409);
    let wrong = json!({"metadata": {"name": "odd"}, "spec": {"kind": "Crahs"}});
    assert_eq!(server.post(faults, &wrong).0, 422);
    // What no scenario may say is not taken for all nodes, or for a default.
    for (spec, field) in [
        (json!({"kind": "Crash", "nodes": {"names": []}}), "spec"),
        (json!({"kind": "Crash"}), "spec.nodes"),
        (json!({"kind": "Reboot", "nodes": {"names": ["n-2"]}, "for": "5m"}), "spec.for"),
        (json!({"kind": "SlowDisk", "nodes": {"names": ["n-2"]}}), "spec.factor"),
        (json!({"kind": "PodKill", "pods": {"names": []}}), "spec"),
        (json!({"kind": "ControlPlaneOutage", "components": []}), "spec.components"),
    ] {
        let (code, refused) = server.post(faults, &json!({"metadata": {"name": "none"}, "spec": spec}));
        assert_eq!((code, &refused["details"]["causes"][0]["field"]), (422, &json!(field)), "{refused}");
    }
    let labelled = json!({"metadata": {"name": "none", "labels": {"a": 5}}, "spec": fault["spec"]});
    let (code, refused) = server.post(faults, &labelled);
    assert_eq!((code, &refused["details"]["causes"][0]["field"]), (422, &json!("metadata.labels")), "{refused}");
    let state = |server: &Server| {
        let ready = server.get("/api/v1/nodes/n-2").1["status"]["conditions"].clone();
        let ready = ready.as_array().into_iter().flatten().find(|c| c["type"] == "Ready").cloned();
        ready.expect("a condition")["status"].as_str().expect("a status").to_owned()
    };
    assert_eq!(state(&server), "True");
    server.turn("jump", &json!({"to": "3m"}));
    assert_eq!(state(&server), "Unknown");
    assert_eq!(server.get(&format!("{faults}/crash")).1["status"]["phase"], "Active");
    assert_eq!(server.ask("DELETE", &format!("{faults}/crash"), "", "").0, 200);
    server.turn("jump", &json!({"to": "8m"}));
    assert_eq!(state(&server), "True");
    assert_eq!(server.get(faults).1["items"], json!([]));
}

#[test]
fn time_goes_back_and_watches_of_another_time_end() {
    let server = Server::shop();
    server.turn("jump", &json!({"to": "1m"}));
    let before = server.get("/kubesquall/v1/clock").1["digest"].clone();
    let version =
        server.get("/api/v1/namespaces/shop/pods").1["metadata"]["resourceVersion"].as_str().expect("one").to_owned();
    server.ask("DELETE", "/api/v1/namespaces/shop/pods/db-0", "", "");
    server.turn("jump", &json!({"to": "5m"}));
    let later = server.get("/kubesquall/v1/clock").1["digest"].clone();
    // What has happened since is told, in order.
    let watch = format!("/api/v1/namespaces/shop/pods?watch=true&timeoutSeconds=1&resourceVersion={version}");
    let told = server
        .send(format!("GET {watch} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address).as_bytes());
    let versions = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let versions: Vec<u64> =
        versions.filter_map(|event| event["object"]["metadata"]["resourceVersion"].as_str()?.parse().ok()).collect();
    assert!(versions.len() > 3 && versions.is_sorted(), "{versions:?}\n{told}");
    assert!(told.contains("\"type\":\"DELETED\"") && told.contains("\"type\":\"ADDED\""), "{told}");
    // Back to before the deletion and forward again without it is another time.
    let clock = server.turn("jump", &json!({"to": "30s"}));
    assert_eq!(clock["requests"], 0);
    let clock = server.turn("jump", &json!({"to": "1m"}));
    assert_eq!(clock["digest"], before, "the same instant is the same again");
    let expired = server
        .send(format!("GET {watch} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address).as_bytes());
    assert!(expired.contains("\"code\":410"), "{expired}");
    let newer =
        server.get("/api/v1/namespaces/shop/pods").1["metadata"]["resourceVersion"].as_str().expect("one").to_owned();
    assert!(newer.parse::<u64>().expect("a number") > version.parse::<u64>().expect("a number"));
    // The branch that was left is there, and is what it was.
    assert_eq!(server.get("/kubesquall/v1/branches").1["branches"][0]["name"], "branch-1");
    let clock = server.turn("branch", &json!({"name": "branch-1"}));
    assert_eq!(clock["digest"], later);
}

#[test]
fn a_branch_has_the_events_of_its_own_time() {
    let server = Server::shop();
    let events_of = |name: &str| {
        let events = server.get("/api/v1/namespaces/shop/events").1["items"].clone();
        events.as_array().into_iter().flatten().filter(|event| event["involvedObject"]["name"] == name).count()
    };
    let make = |name: &str| {
        let pod =
            json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}});
        assert_eq!(server.post("/api/v1/namespaces/shop/pods", &pod).0, 201);
        server.turn("jump", &json!({"to": "100s"}));
    };
    server.turn("jump", &json!({"to": "60s"}));
    make("one");
    let posted = events_of("one");
    assert!(posted > 0);
    server.turn("jump", &json!({"to": "60s"}));
    assert_eq!(events_of("one"), 0);
    make("other");
    assert!(events_of("other") > 0);
    server.turn("branch", &json!({"name": "branch-1"}));
    assert_eq!((events_of("one"), events_of("other")), (posted, 0));
}

#[test]
fn writes_hold_versions_and_pages_hold_still() {
    let server = Server::shop();
    let path = "/apis/apps/v1/namespaces/shop/deployments/web";
    let (_, read) = server.get(path);
    let json = "Content-Type: application/json\r\n";
    let mut changed = read.clone();
    changed["metadata"]["labels"]["x"] = "1".into();
    assert_eq!(server.ask("PUT", path, json, &changed.to_string()).0, 200);
    let (code, status) = server.ask("PUT", path, json, &changed.to_string());
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")), "{status}");
    let merge = "Content-Type: application/merge-patch+json\r\n";
    let stale = json!({"metadata": {"resourceVersion": read["metadata"]["resourceVersion"], "labels": {"y": "2"}}});
    assert_eq!(server.ask("PATCH", path, merge, &stale.to_string()).0, 409);
    let uid = json!({"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}});
    assert_eq!(server.ask("DELETE", path, json, &uid.to_string()).0, 409);
    // A dry run answers and changes nothing.
    let (code, dry) = server.ask("PATCH", &format!("{path}?dryRun=All"), merge, r#"{"spec":{"replicas":9}}"#);
    assert_eq!((code, &dry["spec"]["replicas"]), (200, &json!(9)));
    assert_eq!(server.get(path).1["spec"]["replicas"], 4);
    // Pages are of one instant, whatever happens between them.
    let (_, first) = server.get("/api/v1/namespaces/shop/pods?limit=4");
    let next = first["metadata"]["continue"].as_str().expect("more").to_owned();
    server.ask("DELETE", "/api/v1/namespaces/shop/pods/db-1?gracePeriodSeconds=0", "", "");
    server.turn("jump", &json!({"to": "5s"}));
    let (_, rest) = server.get(&format!("/api/v1/namespaces/shop/pods?limit=4&continue={next}"));
    let count = |list: &Value| list["items"].as_array().map_or(0, Vec::len);
    assert_eq!((count(&first), count(&rest)), (4, 2), "{rest}");
    assert_eq!(server.get("/api/v1/pods?continue=9.9").0, 410);
}

#[test]
fn strangers_are_refused() {
    let server = Server::shop();
    let other_host = server.send(b"GET /api/v1/nodes HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert!(other_host.starts_with("HTTP/1.1 403"), "{other_host}");
    assert_eq!(server.ask("POST", "/api/v1/namespaces", "Origin: http://evil.example\r\n", "{}").0, 403);
    assert_eq!(server.ask("GET", "/api/v1/nodes", "Sec-Fetch-Site: cross-site\r\n", "").0, 403);
    let large = format!("{{\"x\": \"{}\"}}", "y".repeat(4 << 20));
    assert_eq!(server.ask("POST", "/api/v1/namespaces", "", &large).0, 413);
    let headers: String = (0..200).map(|n| format!("X-{n}: 1\r\n")).collect();
    let (code, _) = server.ask("GET", "/version", &headers, "");
    assert_eq!(code, 431);
    assert_eq!(server.get("/version").0, 200);
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let output = Command::new(env!("CARGO_BIN_EXE_kubesquall"))
        .current_dir(repository())
        .args(["serve", "tests/serve/shop.yaml", "--listen", "0.0.0.0:0"])
        .output()
        .expect("the binary");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("needs a token") && said.contains("--token-file"), "{said}");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let token = dir.path().join("token");
    fs::write(&token, "a-long-and-random-text\n").expect("a token");
    let server = Server::start(&["tests/serve/shop.yaml"], &["--token-file", token.to_str().expect("text")]);
    assert_eq!(server.get("/api/v1/nodes").0, 401);
    assert_eq!(server.ask("GET", "/api/v1/nodes", "Authorization: Bearer a-long-and-random-text\r\n", "").0, 200);
}

/// An answer as it came, decoded from chunks or not: what a browser or a scrape gets.
fn text_of(server: &Server, path: &str, accept: &str) -> String {
    server.send(
        format!("GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n", server.address)
            .as_bytes(),
    )
}

#[test]
fn the_page_and_the_metrics_are_of_the_run_as_clients_have_made_it() {
    let server = Server::shop();
    let page = || text_of(&server, "/", "text/html,application/xhtml+xml");
    let before = page();
    assert!(before.starts_with("HTTP/1.1 200") && before.contains("data-backend=\"server\""), "{}", &before[..200]);
    let nodes = |text: &str| text.lines().filter(|line| line.starts_with("kube_node_info{")).count();
    let metrics = text_of(&server, "/metrics", "*/*");
    assert!(metrics.contains("text/plain; version=0.0.4"), "{}", &metrics[..200]);
    let spec = json!({"kind": "InstanceGone", "nodes": {"names": ["n-1"]}});
    let fault = json!({"metadata": {"name": "gone"}, "spec": spec});
    assert_eq!(server.post("/apis/kubesquall.sim/v1alpha1/faults", &fault).0, 201);
    server.turn("jump", &json!({"by": "5m"}));
    let later = text_of(&server, "/metrics", "*/*");
    assert_eq!((nodes(&later) + 1, nodes(&metrics) > 1), (nodes(&metrics), true));
    // What is to come is on the page, too, and it is that of what was done.
    assert_ne!(page(), before);
    let (code, said) = server.post("/kubesquall/v1/replay", &json!({"set": ["spec.sead=7"]}));
    assert_eq!(code, 400);
    assert!(said["message"].as_str().is_some_and(|text| text.contains("seed")), "{said}");
    assert_eq!(server.post("/kubesquall/v1/replay", &json!({"set": ["spec.seed=7"]})).0, 200);
}
