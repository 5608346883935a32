//! `test` as pipelines use it: what is played, what is told of it, and what is written.

use std::fs;
use std::path::Path;
use std::process::Command as Process;

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use tempfile::TempDir;

use super::binary::{self, Said};

fn kubesquall(dir: &TempDir, arguments: &str) -> Said {
    binary::kubesquall(dir.path(), arguments, "")
}

/// A scenario of one node that crashes, with three pods on it, and what it expects.
fn scenario(name: &str, expect: &str) -> String {
    format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: {name}}}\nspec:\n  duration: 20m\n  cluster:\n    nodePools:\n    \
         - {{name: n, count: 2, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}\n  timeline:\n  - {{at: 1m, fault: \
         {{kind: Crash, nodes: {{names: [n-0, n-1]}}}}}}\n{expect}---\n{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: \
         shop}}, spec: {{replicas: 3, selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: \
         [{{name: c, image: i}}]}}}}}}}}\n"
    )
}

const HOLDS: &str = "  expect:\n  - {metric: nodes_ready_end, op: \"==\", value: 0}\n";
/// Line 13 fails: machines that crash for good take their pods with them, and those are not ready in the end.
const FAILS: &str = "  expect:\n  - {metric: nodes_ready_end, op: \"==\", value: 0}\n  - {metric: pods_ready_end, op: \">=\", value: 3}\n";

/// A directory with one of each.
fn mixed() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    write("storms/a.yaml", &scenario("a", HOLDS));
    write("storms/deep/b.yaml", &scenario("b", FAILS));
    write("storms/c.yaml", &scenario("c", ""));
    write("storms/study.yaml", "apiVersion: kubesquall.sim/v1alpha1\nkind: Study\nmetadata: {name: s}\nspec: {}\n");
    write("storms/plan.yaml", "apiVersion: kubesquall.sim/v1alpha1\nkind: Plan\nmetadata: {name: p}\nspec: {}\n");
    write("storms/scenario.lock.yaml", &scenario("lock", FAILS));
    write("storms/pod.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: p}}\n");
    dir
}

#[test]
fn all_that_is_found_is_played_and_told() {
    let dir = mixed();
    let said = kubesquall(&dir, "test storms");
    assert_eq!(said.status, 1, "{}{}", said.stdout, said.stderr);
    let lines: Vec<String> =
        said.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "SCENARIO WANTED GOT TIME HOLDS",
        "storms/a.yaml 20m0s yes",
        "nodes_ready_end == 0 0 yes",
        "storms/c.yaml 20m0s plays",
        "storms/deep/b.yaml 20m0s NO",
        "nodes_ready_end == 0 0 yes",
        "pods_ready_end >= 3 0 NO",
        "",
        "storms/deep/b.yaml:13: pods_ready_end >= 3 does not hold: it is 0",
        "",
        "3 scenarios played, 1 of 3 expectations do not hold, 1 without expectations; passed over: 1 study, 1 plan, 1 lock file, 1 other file",
    ];
    assert_eq!(lines, expected, "{}", said.stdout);
    let said = kubesquall(&dir, "test -q storms/deep storms/a.yaml");
    assert_eq!((said.status, said.stdout.as_str()), (1, ""));
    assert_eq!(said.stderr, "storms/deep/b.yaml:13: pods_ready_end >= 3 does not hold: it is 0\n");
    assert_eq!(kubesquall(&dir, "test storms/a.yaml storms/c.yaml").status, 0);
    // A lock file that is named is meant.
    assert!(kubesquall(&dir, "test storms/scenario.lock.yaml").stdout.contains("1 of 2 expectations do not hold"));
}

#[test]
fn what_cannot_be_used_stops_nothing_else() {
    let dir = mixed();
    let fault = "spec: {duration: 1m, cluster: {nodePools: []}, timelime: []}\n";
    let head = "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {name: x}\n";
    fs::write(dir.path().join("storms/broken.yaml"), format!("{head}{fault}")).expect("a file");
    let said = kubesquall(&dir, "test storms absent");
    assert_eq!(said.status, 2, "{}", said.stdout);
    assert!(said.stdout.contains("storms/deep/b.yaml:13: pods_ready_end >= 3"), "{}", said.stdout);
    assert!(said.stdout.contains("3 scenarios played") && said.stdout.contains("2 unusable"), "{}", said.stdout);
    assert!(said.stderr.contains("`timelime` is not a field here"), "{}", said.stderr);
    assert!(said.stderr.contains("there is no file or directory `absent`"), "{}", said.stderr);
    assert!(said.stderr.contains("2 files cannot be used"), "{}", said.stderr);
    let nothing = kubesquall(&dir, "test storms/pod.yaml storms/study.yaml");
    assert_eq!(nothing.status, 2);
    assert!(
        nothing.stderr.contains("there is no scenario in `storms/pod.yaml`, `storms/study.yaml`"),
        "{}",
        nothing.stderr
    );
}

#[test]
fn one_thread_and_eight_say_and_write_the_same() {
    let dir = mixed();
    let all = |jobs: &str| {
        let text = kubesquall(&dir, &format!("test storms --jobs {jobs} --junit report.xml"));
        let json = kubesquall(&dir, &format!("test storms --jobs {jobs} -o json"));
        let github = kubesquall(&dir, &format!("test storms --jobs {jobs} -o github"));
        let report = fs::read_to_string(dir.path().join("report.xml")).expect("the report");
        (text.stdout, text.stderr, json.stdout, github.stdout, report)
    };
    assert_eq!(all("1"), all("8"));
}

#[test]
fn junit_has_a_case_for_each_expectation() {
    let dir = mixed();
    fs::write(dir.path().join("storms/d&<.yaml"), "kind: Scenario\napiVersion: kubesquall.sim/v1alpha1\n")
        .expect("a file");
    let said = kubesquall(&dir, "test storms --junit report.xml");
    assert_eq!(said.status, 2);
    let report = fs::read_to_string(dir.path().join("report.xml")).expect("the report");
    let head = "<testsuites name=\"kubesquall\" tests=\"5\" skipped=\"0\" failures=\"1\" errors=\"1\"";
    assert!(report.contains(head), "{report}");
    assert!(report.contains("<testsuite name=\"storms/d&amp;&lt;.yaml\" tests=\"1\""), "{report}");
    assert!(report.contains("<testcase name=\"pods_ready_end &gt;= 3\" classname=\"storms/deep/b.yaml\""), "{report}");
    assert!(
        report.contains("message=\"pods_ready_end &gt;= 3 does not hold: it is 0\" type=\"expectation\""),
        "{report}"
    );
    assert!(report.contains("<testcase name=\"plays\" classname=\"storms/c.yaml\""), "{report}");
    assert!(report.contains("<property name=\"simulated_s\" value=\"1200\""), "{report}");
    assert!(!report.contains("time"), "equal inputs give equal bytes: {report}");
    let said = kubesquall(&dir, "test storms --junit absent/report.xml");
    assert!(said.status == 2 && said.stderr.contains("there is no directory `absent`"), "{}", said.stderr);
    assert_eq!(said.stdout, "", "refused before anything is played");
}

#[test]
fn github_annotates_the_line() {
    let dir = mixed();
    let said = kubesquall(&dir, "test storms -o github");
    let expected = "::error file=storms/deep/b.yaml,line=13,col=5,title=pods_ready_end >= 3 does not hold::it is 0\n3 scenarios played, ";
    assert!(said.stdout.starts_with(expected), "{}", said.stdout);
    fs::write(dir.path().join("storms/deep/b.yaml"), scenario("b", FAILS).replace("20m", "20")).expect("a file");
    let said = kubesquall(&dir, "test storms -o github");
    let expected = "::error file=storms/deep/b.yaml,line=5,col=13,title=scenario%3A%3Abad_value::";
    assert!(said.status == 2 && said.stdout.starts_with(expected), "{}", said.stdout);
}

#[test]
fn json_tells_all_of_it() {
    let dir = mixed();
    let said = kubesquall(&dir, "test storms -o json");
    let value: Value = serde_json::from_str(&said.stdout).expect("JSON alone");
    assert_eq!((value["holds"].as_bool(), value["counts"]["played"].as_u64()), (Some(false), Some(3)));
    let b = &value["scenarios"][2];
    assert_eq!((b["file"].as_str(), b["outcome"].as_str()), (Some("storms/deep/b.yaml"), Some("fails")));
    let broken = &b["expectations"][1];
    assert_eq!(
        (broken["line"].as_u64(), broken["found"].as_f64(), broken["holds"].as_bool()),
        (Some(13), Some(0.0), Some(false))
    );
    assert_eq!(value["passed_over"]["studies"], 1);
}

#[test]
fn snapshots_tell_what_moved() {
    let dir = mixed();
    fs::remove_dir_all(dir.path().join("storms/deep")).expect("removed");
    let files = |dir: &Path| -> Vec<String> {
        let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let before = files(&dir.path().join("storms"));
    assert_eq!(kubesquall(&dir, "test storms").status, 0);
    assert_eq!(files(&dir.path().join("storms")), before, "nothing is written that is not asked for");
    let said = kubesquall(&dir, "test storms --update");
    assert!(said.status == 0 && said.stdout.contains("2 snapshots written, 0 as before"), "{}", said.stdout);
    let kept = dir.path().join("storms/a.snapshot.json");
    let text = fs::read_to_string(&kept).expect("the snapshot");
    assert!(text.contains("\"nodes_ready_end\": 0,") && text.contains("\"deployment/shop/web\": {"), "{text}");
    let said = kubesquall(&dir, "test storms --update");
    assert!(said.stdout.contains("0 snapshots written, 2 as before"), "{}", said.stdout);
    assert_eq!(fs::read_to_string(&kept).expect("the snapshot"), text, "the same bytes again");
    let said = kubesquall(&dir, "test storms");
    assert!(said.status == 0 && said.stdout.contains("2 snapshots as before"), "{}", said.stdout);
    let changed = scenario("a", HOLDS).replace("replicas: 3", "replicas: 4");
    fs::write(dir.path().join("storms/a.yaml"), changed).expect("a file");
    let said = kubesquall(&dir, "test storms");
    assert_eq!(said.status, 1, "{}", said.stdout);
    assert!(said.stdout.contains("storms/a.snapshot.json: deployment/shop/web desired: 3 -> 4\n"), "{}", said.stdout);
    assert!(said.stdout.contains("1 of 2 snapshots moved"), "{}", said.stdout);
    let value: Value = serde_json::from_str(&kubesquall(&dir, "test storms -o json").stdout).expect("JSON");
    assert_eq!(value["scenarios"][0]["snapshot"]["outcome"], "moved");
}

#[test]
fn a_path_of_nothing_is_looked_for_from_here() {
    let said = kubesquall(&tempfile::tempdir().expect("a temporary directory"), "test nowhere");
    assert_eq!(said.status, 2, "{}", said.stdout);
    assert!(said.stderr.contains("paths are relative to the current directory"), "{}", said.stderr);
}

#[test]
fn snapshots_are_no_input_of_other_commands() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let a = dir.path().join("storms/a.yaml");
    fs::create_dir(dir.path().join("storms")).expect("a directory");
    fs::write(&a, scenario("a", HOLDS)).expect("a file");
    assert_eq!(kubesquall(&dir, "test storms --update").status, 0);
    for arguments in ["check storms", "check storms/*", "run storms --no-charts --out r"] {
        let said = kubesquall(&dir, arguments);
        assert_eq!((said.status, said.stderr.contains("Snapshot")), (0, false), "{arguments}: {}", said.stderr);
    }
    let said = kubesquall(&dir, "check storms/a.snapshot.json");
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert_eq!(said.stdout, "storms/a.snapshot.json: key figures that `test` keeps; passed over\n");
    let value: Value =
        serde_json::from_str(&kubesquall(&dir, "check storms/a.snapshot.json -o json").stdout).expect("JSON");
    assert_eq!(value["files"], serde_json::json!([]));
    for command in ["run", "forecast"] {
        let said = kubesquall(&dir, &format!("{command} storms/a.snapshot.json"));
        assert_eq!(said.status, 2, "{}", said.stdout);
        assert!(said.stderr.contains("holds key figures that `kubesquall test` keeps"), "{}", said.stderr);
        assert!(said.stderr.contains("name the scenario itself"), "{}", said.stderr);
    }
}

#[test]
fn snapshots_without_scenario_or_sense_are_told() {
    let dir = mixed();
    fs::remove_dir_all(dir.path().join("storms/deep")).expect("removed");
    fs::write(dir.path().join("storms/gone.snapshot.json"), "{}").expect("a file");
    let said = kubesquall(&dir, "test storms");
    assert_eq!(said.status, 1, "{}", said.stdout);
    assert!(said.stdout.contains("storms/gone.snapshot.json: there is no scenario"), "{}", said.stdout);
    fs::rename(dir.path().join("storms/gone.snapshot.json"), dir.path().join("storms/a.snapshot.json")).expect("moved");
    let said = kubesquall(&dir, "test storms");
    assert_eq!(said.status, 2, "{}", said.stdout);
    assert!(said.stderr.contains("`storms/a.snapshot.json` is no snapshot: missing field"), "{}", said.stderr);
    assert!(said.stdout.contains("nodes_ready_end"), "what it expects is judged all the same: {}", said.stdout);
}

#[test]
fn a_fault_that_hits_nobody_is_told() {
    let dir = mixed();
    let text = scenario("a", HOLDS).replace("names: [n-0, n-1]", "selector: disk=none").replace("value: 0", "value: 2");
    fs::write(dir.path().join("storms/a.yaml"), text).expect("a file");
    let said = kubesquall(&dir, "test storms/a.yaml");
    assert_eq!(said.status, 0, "{}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("warning: storms/a.yaml: "), "{}", said.stderr);
}

/// What the action of GitHub runs.
#[test]
fn the_action_says_what_came_of_it() {
    let dir = mixed();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/test-action");
    let run = |paths: &str| {
        let output = Process::new("bash")
            .arg(&script)
            .current_dir(dir.path())
            .env("INPUT_BINARY", cargo_bin("kubesquall"))
            .env("INPUT_PATHS", paths)
            .env("INPUT_JUNIT", "report.xml")
            .env("GITHUB_OUTPUT", "output")
            .env("GITHUB_STEP_SUMMARY", "summary.md")
            .output()
            .expect("the script runs");
        let read = |name: &str| {
            let text = fs::read_to_string(dir.path().join(name)).expect("what the script writes");
            fs::remove_file(dir.path().join(name)).expect("removed");
            text
        };
        let said = String::from_utf8(output.stdout).expect("text");
        (output.status.code(), said, read("output"), read("summary.md"), read("report.xml"))
    };
    let (status, said, output, summary, report) = run("storms/a.yaml\n\nstorms/deep\n");
    assert_eq!(status, Some(1), "{said}");
    assert!(said.starts_with("::error file=storms/deep/b.yaml,line=13"), "{said}");
    assert_eq!(output, "holds=false\njunit=report.xml\n");
    assert!(summary.contains("2 scenarios played, 1 of 3 expectations do not hold"), "{summary}");
    assert!(report.contains("tests=\"3\" skipped=\"0\" failures=\"1\""), "{report}");
    let (status, said, output, ..) = run("storms/a.yaml");
    assert_eq!((status, output.as_str()), (Some(0), "holds=true\njunit=report.xml\n"), "{said}");
}

/// Whatever the action is given reaches the script.
#[test]
fn the_action_hands_its_inputs_to_the_script() {
    let read = |name: &str| {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let action: Value = serde_saphyr::from_str(&read("action.yml")).expect("YAML");
    let step = &action["runs"]["steps"][0];
    assert_eq!(step["run"], "\"$ACTION_SOURCES/tools/test-action\"");
    let script = read("tools/test-action");
    let inputs: Vec<&String> = action["inputs"].as_object().expect("inputs").keys().collect();
    assert!(inputs.len() >= 4, "{inputs:?}");
    for input in inputs {
        let variable = format!("INPUT_{}", input.to_uppercase());
        assert_eq!(step["env"][&variable], format!("${{{{ inputs.{input} }}}}"));
        assert!(script.contains(&variable), "{variable}");
    }
    let hooks: Value = serde_saphyr::from_str(&read(".pre-commit-hooks.yaml")).expect("YAML");
    let entries: Vec<&str> =
        hooks.as_array().expect("hooks").iter().filter_map(|hook| hook["entry"].as_str()).collect();
    assert_eq!(entries, ["kubesquall check", "kubesquall test"]);
}

#[test]
fn what_may_mean_something_else_is_told() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let text = scenario("late", HOLDS).replace("at: 1m, fault", "at: 1h, fault").replace("value: 0", "value: 2");
    fs::write(dir.path().join("late.yaml"), &text).expect("a file");
    let line = "  - {at: 1m, kubectl: drain n-7}\n  expect:";
    fs::write(dir.path().join("line.yaml"), text.replace("name: late", "name: line").replace("  expect:", line))
        .expect("a file");
    let said = kubesquall(&dir, "test . -o json");
    assert_eq!(said.status, 0, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("this happens at 1h0m0s, after the end at 20m0s"), "{}", said.stdout);
    assert!(said.stdout.contains("drain n-7"), "{}", said.stdout);
}
