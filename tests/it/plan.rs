//! Plans on the command line: the answer, its files, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::assert::OutputAssertExt as _;

use super::determinism::files;

fn kubesquall(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubesquall"));
    command.args(arguments);
    command
}

/// Four pods of one CPU, at most one on a node if `is_apart`, on nodes of two CPUs in two zones.
fn plan(dir: &Path, survive: &str, max: u32) -> PathBuf {
    let scenario = "\
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: four}
spec:
  duration: 20m
  cluster:
    nodePools:
    - {name: worker, count: 2, zones: [a, b], template: {status: {allocatable: {cpu: \"2\", memory: 4Gi, pods: \"110\"}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {requests: {cpu: \"1\"}}}]}
";
    fs::write(dir.join("four.yaml"), scenario).expect("a scenario");
    let plan = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Plan\nmetadata: {{name: four}}\nspec:\n  scenario: four.yaml\n  pools:\n  \
         - {{name: worker, min: 1, max: {max}}}\n  survive: {survive}\n"
    );
    let path = dir.join("plan.yaml");
    fs::write(&path, plan).expect("a plan");
    path
}

fn summary(dir: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(dir.join("summary.json")).expect("a summary")).expect("JSON")
}

#[test]
fn the_fewest_nodes_are_found_and_what_binds_them_is_said() {
    #[track_caller]
    fn check(survive: &str, expected: u32, lost: &str) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let plan = plan(dir.path(), survive, 9);
        let out = dir.path().join("out");
        let arguments = ["plan", plan.to_str().expect("plain text"), "-q", "--out", out.to_str().expect("plain text")];
        kubesquall(&arguments).assert().success();
        let summary = summary(&out);
        assert_eq!(summary["answer"]["counts"]["worker"], expected, "{survive}");
        assert_eq!(summary["answer"]["nodes"], expected);
        let binding = &summary["binding"][0];
        assert_eq!(binding["counts"]["worker"], expected - 1, "{survive}");
        let failure = &binding["failures"][0];
        assert_eq!(failure["lost"], lost, "{survive}");
        assert!(failure["shortfall"]["object"].as_str().is_some_and(|pod| pod.starts_with("pod/default/web-")));
        assert!(failure["shortfall"]["why"].as_str().is_some_and(|why| why.contains("Insufficient cpu")));
    }
    // Two nodes have to be left: beside one or two that are lost, and in each of two zones.
    check("[node]", 3, "worker-0");
    check("[{nodes: 2}]", 4, "worker-0 + worker-2");
    check("[zone]", 4, "zone a");
    check("[rollingUpgrade]", 3, "pool worker");
    check("[node, zone]", 4, "zone a");
}

#[test]
fn what_nothing_survives_ends_with_one_and_the_pod_that_binds() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan(dir.path(), "[zone]", 3);
    let out = dir.path().join("out");
    let arguments = ["plan", plan.to_str().expect("plain text"), "--out", out.to_str().expect("plain text")];
    let ended = kubesquall(&arguments).assert().code(1);
    let said = String::from_utf8_lossy(&ended.get_output().stdout).into_owned();
    assert!(said.starts_with("four: nothing up to 3 of worker survives zone\n"), "{said}");
    assert!(said.contains("zone, zone a: pod/default/web-"), "{said}");
    assert!(summary(&out)["answer"].is_null());
}

#[test]
fn a_plan_gives_equal_bytes_with_one_thread_and_eight() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan(dir.path(), "[zone, node, {nodes: 2}, rollingUpgrade, four.yaml]", 9);
    let results = ["1", "8"].map(|jobs| {
        let out = dir.path().join(format!("out-{jobs}"));
        let place = out.to_str().expect("plain text");
        kubesquall(&["plan", plan.to_str().expect("plain text"), "-q", "--jobs", jobs, "--out", place])
            .assert()
            .success();
        files(&out)
    });
    let names: Vec<String> = results[0].iter().map(|(name, _)| name.display().to_string()).collect();
    assert_eq!(names, ["cases.csv", "charts/survival-matrix.svg", "plan.csv", "summary.json"]);
    assert!(results[0] == results[1]);
}

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan(dir.path(), "[node]", 4);
    let out = dir.path().join("thesis");
    fs::create_dir(&out).expect("a directory");
    fs::write(out.join("thesis.txt"), "years of work").expect("a file");
    let arguments = ["plan", plan.to_str().expect("plain text"), "--out", out.to_str().expect("plain text")];
    let ended = kubesquall(&arguments).assert().code(2);
    let said = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
    assert!(said.contains("--force"), "{said}");
    assert_eq!(files(&out).len(), 1);
}
