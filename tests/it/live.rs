//! What stands behind pages that play: plays with other values, and what the page is told of them.

use std::fs;

use kubesquall::{Error, ErrorKind, Replay, Scenario};
use serde_json::{Value, json};

use super::binary::kubesquall;

const TEXT: &str = r#"
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: one-node-dies}
spec:
  duration: 15m
  seed: 7
  cluster:
    nodePools:
    - {name: worker, count: 3, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}}}
  timeline:
  - {at: 1m, fault: {kind: Crash, nodes: {names: [worker-0]}, for: 12m}}
  - {at: 2m, kubectl: "annotate deployment web 'note=two words'"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {requests: {cpu: 100m}}}]}
"#;

fn scenario() -> Scenario {
    Scenario::parse(TEXT, [("", ""); 0]).expect("a scenario")
}

/// The header of an answer, and whether the tables that it tells of are all that follows.
fn header(answer: &[u8]) -> Value {
    let length = u32::from_le_bytes(answer[..4].try_into().expect("four bytes")) as usize;
    let header: Value = serde_json::from_slice(&answer[4..4 + length]).expect("JSON");
    let tables = header["tables"].as_array().expect("tables").iter();
    let sum: u64 = tables.map(|table| table[1].as_u64().expect("a length")).sum();
    assert_eq!(4 + length as u64 + sum, answer.len() as u64);
    header
}

const TOLERATION: &str = "spec.controlPlane.kubeApiserver.default-unreachable-toleration-seconds=30";
const LENGTH: &str = "spec.timeline[0].fault.for=2m";
const REPLICAS: &str = "objects[\"deployment/default/web\"].spec.replicas=9";

#[test]
fn other_values_give_the_run_that_they_give_when_they_are_set() {
    let replay = Replay::new(scenario());
    for sets in [vec![], vec![TOLERATION], vec![LENGTH], vec![REPLICAS], vec![REPLICAS, LENGTH, TOLERATION]] {
        let set = sets.iter().fold(scenario(), |scenario, set| scenario.with_set(*set).expect("a value"));
        let outcome = set.play(set.seed());
        let header = header(&replay.play(sets.clone()).expect("a play"));
        assert_eq!(header["tables"].as_array().map(Vec::len), Some(5));
        assert_eq!(header["digest"], format!("{:016x}", outcome.digest()), "{sets:?}");
        assert_eq!(header["summary"]["metrics"], outcome.summary()["metrics"], "{sets:?}");
        // The scenario that one saves plays the same.
        let saved = Scenario::parse(&replay.lock_file(sets).expect("a scenario"), [("", ""); 0]).expect("a scenario");
        assert_eq!(saved.play(saved.seed()).digest(), outcome.digest());
    }
}

#[test]
fn a_server_answers_the_page_with_one_call() {
    let replay = Replay::new(scenario());
    let ask = |question: Value| replay.answer(question.to_string().as_bytes());
    assert_eq!(ask(json!({"set": [LENGTH]})).expect("an answer"), replay.play([LENGTH]).expect("a play"));
    let document = ask(json!({"set": [LENGTH], "give": "lock_file"})).expect("an answer");
    assert_eq!(String::from_utf8(document).expect("text"), replay.lock_file([LENGTH]).expect("a scenario"));
    let page = String::from_utf8(ask(json!({"give": "page"})).expect("an answer")).expect("text");
    assert!(page.starts_with("<!doctype html>") && !page.contains("id=\"whatif\""));
    let kind = |question: &[u8]| replay.answer(question).as_ref().map_err(Error::kind).err();
    assert_eq!(kind(b"{"), Some(ErrorKind::Argument));
    assert_eq!(kind(br#"{"give": "all"}"#), Some(ErrorKind::Argument));
    assert_eq!(kind(br#"{"set": ["spec.timeline[0].fault.four=2m"]}"#), Some(ErrorKind::Document));
    let served = replay.served_page().expect("a page");
    assert!(served.contains("data-backend=\"server\"") && served.contains("connect-src"));
    assert!(!served.contains("id=\"table-simulator\""));
}

#[test]
fn values_of_objects_are_set_on_the_command_line_and_stand_in_the_lock_file() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("scenario.yaml"), TEXT).expect("a file");
    let said = kubesquall(dir.path(), &format!("run scenario.yaml --no-charts --out out --set {REPLICAS}"), "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    let lock_file = fs::read_to_string(dir.path().join("out/scenario.lock.yaml")).expect("a file");
    assert!(lock_file.contains("replicas: 9"));
    let summary: Value =
        serde_json::from_slice(&fs::read(dir.path().join("out/summary.json")).expect("a file")).expect("JSON");
    assert_eq!(summary["overrides"], json!([REPLICAS]));
    assert_eq!(summary["metrics"]["pods_ready_end"], 9.0);
}

#[test]
#[cfg(not(feature = "live"))]
fn without_the_simulator_a_page_that_plays_is_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("scenario.yaml"), TEXT).expect("a file");
    assert_eq!(kubesquall(dir.path(), "run scenario.yaml --out out", "").status, 0);
    let before = fs::read(dir.path().join("out/report.html")).expect("a page");
    let said = kubesquall(dir.path(), "report out --live", "");
    assert_eq!(said.status, 2, "{}", said.stderr);
    assert!(said.stderr.contains("build it with the feature `live`"), "{}", said.stderr);
    assert_eq!(fs::read(dir.path().join("out/report.html")).expect("a page"), before);
}

#[test]
#[cfg(feature = "live")]
fn a_page_that_plays_is_refused_of_a_run_that_its_lock_file_does_not_give() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("scenario.yaml"), TEXT).expect("a file");
    assert_eq!(kubesquall(dir.path(), "run scenario.yaml --no-charts --out out", "").status, 0);
    let said = kubesquall(dir.path(), "report out --live", "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    let page = fs::read_to_string(dir.path().join("out/report.html")).expect("a page");
    assert!(page.contains("data-backend=\"page\"") && page.contains("wasm-unsafe-eval"));
    let lock_file = fs::read_to_string(dir.path().join("out/scenario.lock.yaml")).expect("a file");
    fs::write(dir.path().join("out/scenario.lock.yaml"), lock_file.replace("for: \"12m0s\"", "for: \"1m0s\""))
        .expect("a file");
    let said = kubesquall(dir.path(), "report out --live", "");
    assert_eq!(said.status, 2, "{}", said.stderr);
    assert!(said.stderr.contains("does not give this run here"), "{}", said.stderr);
}
