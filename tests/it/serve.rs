//! `serve`: real clients talk to it. Those that this machine does not have are left out, which is said.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::expected::difference;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A server that runs until it is dropped.
struct Server {
    child: Child,
    address: String,
    dir: TempDir,
}

impl Server {
    fn start(inputs: &[&str], more: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let config = dir.path().join("config");
        let mut child = Command::new(env!("CARGO_BIN_EXE_kubesquall"))
            .current_dir(repository())
            .arg("serve")
            .args(inputs)
            .args(["--listen", "127.0.0.1:0", "--speed", "paused", "--kubeconfig"])
            .arg(&config)
            .arg("--record")
            .arg(dir.path().join("record.yaml"))
            .args(more)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary");
        let mut lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
        let mut said = String::new();
        let address = loop {
            let line = lines.next().unwrap_or_else(|| panic!("it ended: {said}")).expect("text");
            if let Some((_, rest)) = line.split_once("serving at http://") {
                break rest.split(',').next().expect("an address").to_owned();
            }
            said.push_str(&line);
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address, dir }
    }

    fn shop() -> Self {
        Self::start(&["tests/serve/shop.yaml"], &[])
    }

    /// What kubectl prints, and whether it was content; `HOME` is empty, so that nothing is cached between servers.
    fn kubectl(&self, arguments: &[&str]) -> (bool, String) {
        let output = Command::new("kubectl")
            .env("KUBECONFIG", self.dir.path().join("config"))
            .env("HOME", self.dir.path())
            .current_dir(repository())
            .args(arguments)
            .output()
            .expect("kubectl runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    #[track_caller]
    fn done(&self, arguments: &str) -> String {
        let (is_content, text) = self.kubectl(&arguments.split_whitespace().collect::<Vec<_>>());
        assert!(is_content, "kubectl {arguments}\n{text}");
        text
    }

    #[track_caller]
    fn refused(&self, arguments: &str) -> String {
        let (is_content, text) = self.kubectl(&arguments.split_whitespace().collect::<Vec<_>>());
        assert!(!is_content, "kubectl {arguments}\n{text}");
        text
    }

    /// Sends bytes as they are; what comes back.
    fn send(&self, bytes: &[u8]) -> String {
        self.send_and(bytes, |_| {})
    }

    /// Sends bytes and breaks off.
    fn send_half(&self, bytes: &[u8]) -> String {
        self.send_and(bytes, |stream| _ = stream.shutdown(std::net::Shutdown::Write))
    }

    fn send_and(&self, bytes: &[u8], then: impl FnOnce(&TcpStream)) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let _ = stream.write_all(bytes);
        then(&stream);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            self.address,
            body.len()
        );
        let answer = self.send(request.as_bytes());
        let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        // Lists may come in chunks.
        let body = body.find('{').map_or("", |first| &body[first..]);
        let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
        (code, values.next().and_then(Result::ok).unwrap_or_default())
    }

    fn get(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, "", "")
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask("POST", path, "Content-Type: application/json\r\n", &body.to_string())
    }

    #[track_caller]
    fn turn(&self, what: &str, body: &Value) -> Value {
        let (code, clock) = self.post(&format!("/kubesquall/v1/{what}"), body);
        assert_eq!(code, 200, "{clock}");
        clock
    }

    /// Ends it; the record that it leaves.
    fn end(mut self) -> (PathBuf, TempDir) {
        let ended = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        assert!(ended.is_ok_and(|status| status.success()));
        assert!(self.child.wait().is_ok_and(|status| status.success()));
        let dir = std::mem::replace(&mut self.dir, tempfile::tempdir().expect("a temporary directory"));
        (dir.path().join("record.yaml"), dir)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
    // The line's process scatters its evictions over some milliseconds, as kubectl's goroutines do; the server's time stands still
    // meanwhile. All else is the same.
    let cells = |text: &str| -> Vec<Vec<String>> {
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let (pods, typed) = (cells(&pods), cells(&typed));
    assert_eq!(pods.len(), typed.len());
    for (pod, typed) in pods.iter().zip(&typed) {
        for ((column, cell), other) in pods[0].iter().zip(pod).zip(typed) {
            let seconds = |cell: &str| cell.parse::<f64>().ok().filter(|_| column.ends_with("_s"));
            let is_near = matches!((seconds(cell), seconds(other)), (Some(a), Some(b)) if (a - b).abs() < 0.2);
            assert!(cell == other || is_near, "{column}: {cell} and {other}\n{pod:?}\n{typed:?}");
        }
    }
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

/// What somebody knows who has watched to the end: objects by name, with their versions; none if he was cut off.
fn watched(server_address: &str, path: &str) -> Result<std::collections::BTreeMap<String, u64>, String> {
    let mut stream = TcpStream::connect(server_address).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(Duration::from_secs(90))).map_err(|error| error.to_string())?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {server_address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
    let (mut known, mut last) = (std::collections::BTreeMap::new(), 0);
    let mut is_initial = true;
    for line in BufReader::new(stream).lines().map_while(Result::ok).filter(|line| line.starts_with('{')) {
        let event: Value = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
        let metadata = &event["object"]["metadata"];
        let version: u64 =
            metadata["resourceVersion"].as_str().and_then(|text| text.parse().ok()).ok_or(line.clone())?;
        // What was there comes in the order of names, and then what happened in its own.
        is_initial &= event["type"] == "ADDED";
        if !is_initial && version <= last {
            return Err(format!("{version} after {last}: {line}"));
        }
        last = last.max(version);
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str() {
            Some("ADDED") => {
                let is_new = known.insert(name.clone(), version).is_none();
                if !is_new {
                    return Err(format!("{name} is added twice: {line}"));
                }
            }
            Some("MODIFIED") if known.insert(name.clone(), version).is_some() => {}
            Some("DELETED") if known.remove(&name).is_some() => {}
            _ => return Err(format!("{name} was not known: {line}")),
        }
    }
    Ok(known)
}

/// How many watch, how many write, and for how many seconds: `SERVE_LOAD=200,100,60`.
#[expect(clippy::disallowed_methods, reason = "how much is to be done is said by who runs the test")]
fn load() -> (usize, usize, u64) {
    let said = std::env::var("SERVE_LOAD").unwrap_or_default();
    let mut numbers = said.split(',').filter_map(|number| number.parse::<u64>().ok());
    let mut next = |otherwise| numbers.next().unwrap_or(otherwise);
    (next(20) as usize, next(10) as usize, next(4))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "clients of a server live in real time")]
fn nothing_is_lost_for_those_who_watch_while_many_write() {
    use std::time::Instant;
    let (watchers, writers, seconds) = load();
    let server = Server::start(&["tests/serve/shop.yaml"], &["--verify"]);
    server.turn("jump", &json!({"to": "1s"}));
    let list = server.get("/api/v1/namespaces/shop/pods").1;
    let version = list["metadata"]["resourceVersion"].as_str().expect("one").to_owned();
    server.turn("speed", &json!({"speed": "20x"}));
    let end = Instant::now() + Duration::from_secs(seconds);
    let address = server.address.as_str();
    let known = std::thread::scope(|scope| {
        let last = seconds + 3;
        let watch = |number: usize| {
            let kind = ["pods", "configmaps"][number % 2];
            let path = format!("/api/v1/namespaces/shop/{kind}?watch=true&timeoutSeconds={last}");
            scope.spawn(move || (kind, watched(address, &path)))
        };
        let watching: Vec<_> = (0..watchers).map(watch).collect();
        let server = &server;
        for number in 0..writers {
            scope.spawn(move || {
                let mut turn = 0;
                while Instant::now() < end {
                    turn += 1;
                    let name = format!("c-{number}-{}", turn % 3);
                    let body = json!({"metadata": {"name": name}, "data": {"turn": turn.to_string()}});
                    let (code, said) = server.post("/api/v1/namespaces/shop/configmaps", &body);
                    assert!(matches!(code, 201 | 409 | 429), "{code} {said}");
                    let path = format!("/api/v1/namespaces/shop/configmaps/{name}");
                    let patch = json!({"data": {"turn": format!("{turn}b")}}).to_string();
                    server.ask("PATCH", &path, "Content-Type: application/merge-patch+json\r\n", &patch);
                    if turn % 2 == 0 {
                        server.ask("DELETE", &path, "", "");
                    }
                    if number == 0 && turn % 5 == 0 {
                        let size = json!({"spec": {"replicas": 1 + turn % 4}}).to_string();
                        let path = "/apis/apps/v1/namespaces/shop/statefulsets/db/scale";
                        server.ask("PATCH", path, "Content-Type: application/merge-patch+json\r\n", &size);
                        let fault = json!({
                            "metadata": {"name": format!("f-{turn}")},
                            "spec": {"kind": "Reboot", "nodes": {"names": [format!("n-{}", turn % 4)]}},
                        });
                        server.post("/apis/kubesquall.sim/v1alpha1/faults", &fault);
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_secs(seconds + 1));
        server.turn("pause", &json!({}));
        watching.into_iter().map(|watch| watch.join().expect("it ends")).collect::<Vec<_>>()
    });
    let clock = server.get("/kubesquall/v1/clock").1;
    assert_eq!(clock["violation"], Value::Null, "{clock}");
    assert!(version.parse::<u64>().is_ok());
    for (kind, known) in known {
        let known = known.unwrap_or_else(|problem| panic!("{kind}: {problem}"));
        let list = server.get(&format!("/api/v1/namespaces/shop/{kind}")).1;
        let there = list["items"].as_array().into_iter().flatten().map(|object| {
            let metadata = &object["metadata"];
            let version = metadata["resourceVersion"].as_str().and_then(|text| text.parse().ok()).expect("a version");
            (metadata["name"].as_str().expect("a name").to_owned(), version)
        });
        assert_eq!(known, there.collect(), "{kind}");
    }
    let (record, dir) = server.end();
    assert_eq!(Some(played(&record, dir.path()).0.as_str()), clock["digest"].as_str());
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
