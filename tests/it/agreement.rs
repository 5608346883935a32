//! `run --observed`: a play beside what was seen, through the binary.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use kubesquall::{LoadOptions, Observations, RefineOptions, Scenario, SimDuration, Unsure};
use serde_json::Value;
use tempfile::TempDir;

use super::binary::{Said, kubesquall};
use super::determinism::files;

const SCENARIO: &str = r"
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: one-node-dies}
spec:
  duration: 20m
  cluster:
    manifests: [web.yaml]
    nodePools:
    - {name: worker, count: 3, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}}}
  timeline:
  - {at: 1m, fault: {kind: Crash, nodes: {names: [worker-0]}, for: 12m}}
";

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 9
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {requests: {cpu: 100m}}}]}
";

const HEADER: &str = "time_s,earliest_s,latest_s,fact,namespace,name,owner_kind,owner_name,node,value,sources\n";

fn run(dir: &Path, arguments: &str) -> Said {
    kubesquall(dir, &format!("run scenario.yaml --force {arguments}"), "")
}

/// A directory with the scenario and a play of it, `real`.
fn played() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("scenario.yaml"), SCENARIO).expect("the scenario");
    fs::write(dir.path().join("web.yaml"), WEB).expect("its workload");
    let said = run(dir.path(), "--seed 5 --out real --no-charts -q");
    assert_eq!(said.status, 0, "{}", said.stderr);
    dir
}

fn table(dir: &Path, file: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(dir.join(file)).expect("the table");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

/// What a client would have written down of the play `real` who looks once in so many seconds, with other ends of the names of new pods.
fn seen(dir: &Path, step: f64) -> String {
    let mut text = HEADER.to_owned();
    let mut add = |at: &str, fact: &str, pod: Option<&BTreeMap<String, String>>, name: &str, value: &str| {
        let at: f64 = at.parse().expect("a time");
        let (earliest, latest) = ((at / step).floor() * step, (at / step).floor() * step + step);
        let of = |column: &str| pod.map_or("", |pod| pod[column].as_str());
        let (namespace, kind, owner, node) = (of("namespace"), of("owner_kind"), of("owner_name"), of("node"));
        let _ = writeln!(
            text,
            "{:.3},{earliest:.3},{latest:.3},{fact},{namespace},{name},{kind},{owner},{node},{value},metrics",
            f64::midpoint(earliest, latest)
        );
    };
    let mut last: BTreeMap<String, String> = BTreeMap::new();
    for row in table(dir, "nodes.csv") {
        let before = last.insert(row["node"].clone(), row["ready"].clone());
        if before.is_some_and(|before| before != row["ready"]) {
            add(&row["time_s"], "NodeReady", None, &row["node"], &row["ready"]);
        }
    }
    let readiness = table(dir, "readiness.csv");
    for pod in table(dir, "pods.csv") {
        let is_initial = pod["initial"] == "true";
        let name = if is_initial { pod["name"].clone() } else { format!("{}-other", pod["name"]) };
        if !is_initial {
            add(&pod["created_s"], "PodCreated", Some(&pod), &name, "");
            add(&pod["scheduled_s"], "PodScheduled", Some(&pod), &name, "");
        }
        let is_of = |row: &&BTreeMap<String, String>| row["name"] == pod["name"] && row["time_s"] != "0.000";
        for row in readiness.iter().filter(is_of) {
            add(&row["time_s"], "PodReady", Some(&pod), &name, &row["ready"]);
        }
        for (column, fact, value) in
            [("deletion_s", "PodDeletion", pod["deletion_cause"].as_str()), ("gone_s", "PodGone", "")]
        {
            if !pod[column].is_empty() {
                add(&pod[column], fact, Some(&pod), &name, value);
            }
        }
    }
    text
}

fn summary(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("summary.json")).expect("a summary")).expect("JSON")
}

#[test]
fn a_play_agrees_with_what_was_seen_of_it() {
    let dir = played();
    for step in [0.001, 1.0, 15.0, 60.0] {
        fs::write(dir.path().join("observed.csv"), seen(&dir.path().join("real"), step)).expect("the evidence");
        let said = run(dir.path(), "--seed 5 --observed observed.csv --out again --no-charts");
        assert_eq!(said.status, 0, "{}", said.stderr);
        let found = &summary(&dir.path().join("again"))["agreement"];
        assert_eq!(found["score"], 1.0, "every {step} s: {found:#}");
        assert!(found["same"].as_u64() >= Some(10) && found["worst"] == serde_json::json!([]), "{found:#}");
        assert!(said.stdout.contains("Agrees with what was seen in 100%"), "{}", said.stdout);
        let rows = table(&dir.path().join("again"), "agreement.csv");
        assert_eq!(rows.len() as u64, found["same"].as_u64().expect("a count"));
        assert!(rows.iter().all(|row| row["verdict"] == "same" && row["off_s"] == "0.000"));
    }
}

#[test]
fn an_earlier_fault_is_told_with_how_much_earlier_it_is() {
    let dir = played();
    fs::write(dir.path().join("observed.csv"), seen(&dir.path().join("real"), 1.0)).expect("the evidence");
    let said = run(dir.path(), "--seed 5 --observed observed.csv --out other --set spec.timeline[0].at=40s");
    assert_eq!(said.status, 0, "{}", said.stderr);
    let place = dir.path().join("other");
    let found = &summary(&place)["agreement"];
    assert!(found["score"].as_f64() < Some(0.7) && found["other_time"].as_u64() >= Some(5), "{found:#}");
    let rows = table(&place, "agreement.csv");
    let lost = rows.iter().find(|row| row["fact"] == "NodeReady" && row["value"] == "Unknown").expect("the loss");
    let off: f64 = lost["off_s"].parse().expect("a time");
    assert!(lost["verdict"] == "other time" && (-26.0..=-14.0).contains(&off), "{lost:?}");
    assert!(said.stdout.contains("Furthest apart") && said.stdout.contains("node worker-0 Ready=Unknown: seen at "));
    // The chart and the page are made of the tables alone.
    let before = files(&place);
    assert!(place.join("charts/agreement.svg").is_file());
    fs::remove_file(place.join("charts/agreement.svg")).expect("a chart");
    let said = kubesquall(dir.path(), "report other", "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert_eq!(files(&place), before);
    let said = run(dir.path(), "--seed 5 --observed observed.csv -o json --out json --no-charts");
    let printed: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(printed["agreement"]["score"], 1.0);
}

#[test]
fn what_is_dropped_is_extra_and_what_is_unheard_of_is_named() {
    let dir = played();
    let seen = seen(&dir.path().join("real"), 1.0);
    let mut lines: Vec<&str> = seen.lines().collect();
    let created = lines.iter().position(|line| line.contains("PodCreated")).expect("a new pod");
    let dropped = lines.remove(created);
    let dropped_name = dropped.split(',').nth(5).expect("its name").to_owned();
    lines.retain(|line| !line.contains(&dropped_name));
    lines.push("100,100,101,NodeReady,,worker-99,,,,Unknown,metrics");
    lines.push("-30,-31,-29,NodeReady,,worker-1,,,,Unknown,metrics");
    lines.push("5000,5000,5001,NodeReady,,worker-1,,,,Unknown,metrics");
    fs::write(dir.path().join("observed.csv"), lines.join("\n") + "\n").expect("the evidence");
    let said = run(dir.path(), "--seed 5 --observed observed.csv --out again --no-charts");
    let found = &summary(&dir.path().join("again"))["agreement"];
    assert_eq!(
        (&found["missing"], &found["other_time"], &found["extra"]),
        (&1.into(), &0.into(), &3.into()),
        "{found:#}"
    );
    assert_eq!(found["left_out"], serde_json::json!({"before": 1, "after": 1}));
    assert_eq!(found["unknown"], serde_json::json!([{"what": "node worker-99", "facts": 1}]));
    assert!(
        said.stdout.contains("1 fact is of what the scenario does not have, node worker-99: of another cluster?"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("1 fact may be from before t=0: left out"), "{}", said.stdout);
}

#[test]
fn what_is_wrong_with_the_evidence_is_said_with_its_line_before_anything_is_played() {
    let dir = played();
    let check = |text: &str, expected: &[&str]| {
        fs::write(dir.path().join("observed.csv"), text).expect("the evidence");
        let said = run(dir.path(), "--observed observed.csv --out none");
        assert_eq!((said.status, said.stdout.as_str()), (2, ""), "{text}: {}", said.stderr);
        expected.iter().for_each(|part| assert!(said.stderr.contains(part), "{part} is not in {}", said.stderr));
        assert!(!dir.path().join("none").exists());
    };
    let row = "61,60,62,NodeReady,,worker-0,,,,Unknown,events\n";
    check(
        &format!("{HEADER}{row}soon,,,NodeReady,,a,,,,True,\n"),
        &["evidence::bad_row", "observed.csv:3:1", "`soon` is not a number of seconds"],
    );
    check(
        &format!("{HEADER}{row}1,,,NodeSteady,,a,,,,True,\n"),
        &["observed.csv:3:5", "`NodeSteady` is not a kind of fact"],
    );
    check(
        &format!("{HEADER}{row}1,,,NodeReady,,a,,,,Ture,\n"),
        &["observed.csv:3:21", "`Ture` is no value of NodeReady", "it is `True`, `False`, `Unknown` or `Absent`"],
    );
    check(&format!("{HEADER}{row}1,2\n"), &["observed.csv:3:1", "the cells of the header"]);
    check("time_s,fact\n", &["observed.csv:1:1", "there is no column `name`"]);
    check(HEADER, &["evidence::no_facts"]);
    check("", &["evidence::bad_row"]);
    fs::remove_file(dir.path().join("observed.csv")).expect("the evidence");
    let said = run(dir.path(), "--observed observed.csv --out none");
    assert!(said.status == 2 && said.stderr.contains("observed.csv"), "{}", said.stderr);
}

#[test]
fn a_time_within_bounds_is_moved_to_where_the_play_agrees() {
    let dir = played();
    let seen = Observations::parse(&seen(&dir.path().join("real"), 1.0)).expect("the evidence");
    // It happened at 1m for 12m; the scenario says otherwise.
    let written = SCENARIO.replace("at: 1m", "at: 100s").replace("for: 12m", "for: 11m");
    let scenario =
        Scenario::parse_with(&written, [("web.yaml", WEB)], &LoadOptions::new().seed(5)).expect("a scenario");
    let unsure = |path: &str, seconds: [u64; 3]| {
        let [value, least, most] = seconds.map(SimDuration::from_secs);
        Unsure { path: path.to_owned(), value, least, most }
    };
    let unsure = [unsure("spec.timeline[0].at", [100, 20, 120]), unsure("spec.timeline[0].fault.for", [660, 600, 900])];
    let options = RefineOptions::new().plays(60);
    let found = scenario.refine(&seen, &unsure, &options).expect("an answer");
    assert!(found.after > 0.9 && found.before < 0.7, "{found:?}");
    let at = found.values[0].after.as_secs_f64();
    assert!((55.0..=65.0).contains(&at), "{found:?}");
    assert!(found.values[0].explains > 0.2 && found.plays <= 62, "{found:?}");
    assert_eq!(found.scenario.play(5).held_against(&seen).expect("rows").agreement(), Some(found.after));
    assert_eq!(scenario.refine(&seen, &unsure, &options).expect("an answer").values, found.values);
    let outside = Unsure { least: SimDuration::from_secs(110), ..unsure[0].clone() };
    let problem = scenario.refine(&seen, &[outside], &options).expect_err("bounds").to_string();
    assert_eq!(problem, "`spec.timeline[0].at` is 1m40s, which is not between 1m50s and 2m0s");
}
