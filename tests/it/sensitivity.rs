//! Sensitivity analyses: what can be calculated is found, results are the same however they are played, and what cannot be answered is refused.

use std::fs;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt as _;
use kubesquall::{ErrorKind, LoadOptions, Report, SensitivityOptions, Study, WriteOptions};
use serde_json::Value;

use crate::embed::Impatient;

const SCENARIO: &str = "\
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: crash}
spec:
  duration: 30m
  cluster:
    manifests: [web.yaml]
    nodePools:
    - {name: worker, count: 3, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}}}
  latency: {nodeBoot: 0s}
  timeline:
  - {at: 1m, fault: {kind: Crash, nodes: {names: [worker-1]}, for: 10m}}
";

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {requests: {cpu: '1'}}}]}
";

/// A crash that may be over before it is worth the eviction. Nothing attaches volumes, so that its latency has no effect.
const ASSUMED: &str = "
  - {name: outage, path: 'spec.timeline[0].fault.for', from: 1m, to: 20m}
  - {name: attach, path: spec.latency.volumeAttach, from: 1s, to: 60s}
  - {price: evictions, from: 29, to: 31}";

fn study_text(values: &str, assumed: &str) -> String {
    format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Study\nmetadata: {{name: rests}}\nspec:\n  scenario: scenario.yaml\n  replications: 8\n  vary:\n  \
         - {{name: wait, tolerationSeconds: {{workloads: [deployment/shop/web], values: {values}}}}}\n  cost: {{unreadyReplicaSeconds: 1, \
         evictions: 30}}\n{}",
        if assumed.is_empty() { String::new() } else { format!("  assumed:{assumed}\n") }
    )
}

fn parsed(study: &str, scenario: &str) -> Study {
    Study::parse(study, [("scenario.yaml", scenario), ("web.yaml", WEB)]).unwrap_or_else(|error| panic!("{error}"))
}

fn study_of(values: &str, assumed: &str) -> Study {
    parsed(&study_text(values, assumed), SCENARIO)
}

fn options() -> SensitivityOptions<'static> {
    SensitivityOptions::new().trajectories(4)
}

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("some")
}

fn input<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let inputs = summary["inputs"].as_array().expect("a list");
    inputs.iter().find(|input| input["name"] == name).unwrap_or_else(|| panic!("no {name} in {summary}"))
}

#[test]
fn what_turns_the_answer_is_found_and_what_does_nothing_is_said_to_do_nothing() {
    let outcome = study_of("[0, 300]", ASSUMED).sensitivity(&options()).expect("played");
    let summary = outcome.summary();
    assert_eq!((&summary["baseline"], &summary["variant"]), (&"wait=300".into(), &"wait=0".into()), "{summary}");
    let (outage, attach, evictions) =
        (input(&summary, "outage"), input(&summary, "attach"), input(&summary, "evictions"));
    // A crash of ten minutes is waited for at five times the price of what it costs to evict; one of a minute is not worth it.
    assert_eq!(summary["as_it_is"]["cheaper"], "variant");
    assert!(outage["turns"]["turned"].as_u64() > Some(0) && outage["turns"]["told"].as_u64() > Some(0), "{outage}");
    assert!(outage["saving"]["is_told"] == true && outage["cost"]["is_told"] == true, "{outage}");
    for figure in ["cost", "saving"] {
        let of = &attach[figure];
        assert!(of["differs"] == false && of["is_told"] == false && of["mu_star"] == 0.0, "{of}");
    }
    // Two pods are evicted by who does not wait: a price of two more costs four. Who waits for five minutes evicts them, too, if it is long.
    assert_eq!((&attach["turns"]["turned"], &evictions["turns"]["turned"]), (&0.into(), &0.into()));
    assert!(evictions["saving"]["mu"]["mean"].as_f64().is_some_and(|mu| (-4.0..=0.0).contains(&mu)), "{evictions}");
    let verdict = summary["verdict"].to_string();
    assert!(verdict.contains("The answer turns round: wait=0 is cheaper than wait=300 as it is"), "{verdict}");
    assert!(verdict.contains("What turns it: outage in ") && verdict.contains("attach (no run differs)"), "{verdict}");
    let points = outcome.table("points.csv").expect("a table");
    assert_eq!(points.rows, 1 + 4 * 4);
    assert_eq!(outcome.tables(), ["sensitivity.csv", "points.csv"]);
}

#[test]
fn results_are_the_same_with_any_number_of_threads_and_drawn_again() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let study = study_of("[0, 300]", ASSUMED);
    let [one, two] = ["one", "two"].map(|name| root.path().join(name));
    study.sensitivity_to(&one, &options().threads(threads(1))).expect("played");
    study.sensitivity_to(&two, &options().threads(threads(2))).expect("played");
    let files = [
        "sensitivity.csv",
        "points.csv",
        "summary.json",
        "charts/effects-on-saving.svg",
        "charts/effects-on-cost.svg",
        "report.html",
    ];
    let read = |dir: &Path, file: &str| fs::read(dir.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    for file in files {
        assert!(read(&one, file) == read(&two, file), "{file}");
    }
    fs::remove_dir_all(two.join("charts")).expect("charts");
    fs::write(two.join("report.html"), "gone").expect("a page");
    Report::open(&two).expect("results").redraw(&WriteOptions::new()).expect("drawn");
    for file in files {
        assert!(read(&one, file) == read(&two, file), "{file} is drawn otherwise");
    }
    // A table of which rows are missing is refused; other results are not replaced.
    let text = fs::read_to_string(two.join("points.csv")).expect("a table");
    fs::write(two.join("points.csv"), &text[..text.rfind("\n0").expect("rows")]).expect("cut");
    assert!(Report::open(&two).expect("results").page().is_err());
    let other = study_of("[0, 60]", ASSUMED).sweep(&kubesquall::SweepOptions::new()).expect("swept");
    assert!(other.write(&one).is_err());
    study.sensitivity_to(&one, &options()).expect("its own place");
}

#[test]
fn what_was_stopped_goes_on_to_the_same_bytes() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let [whole, stopped] = ["whole", "stopped"].map(|name| root.path().join(name));
    let study = study_of("[0, 300]", ASSUMED);
    study.sensitivity_to(&whole, &options()).expect("played");
    let first = Impatient::after(9);
    let refused = study.sensitivity_to(&stopped, &options().progress(&first)).expect_err("stopped");
    assert_eq!(refused.kind(), ErrorKind::Stopped);
    let rest = Impatient::after(usize::MAX);
    study.sensitivity_to(&stopped, &options().resume(true).progress(&rest)).expect("resumed");
    let runs: Value = serde_json::from_slice(&fs::read(whole.join("summary.json")).expect("it")).expect("JSON");
    let played = first.steps() + rest.steps();
    assert_eq!(Some(played as u64), runs["runs"].as_u64(), "no run is played twice");
    for file in ["sensitivity.csv", "points.csv", "summary.json", "report.html"] {
        let read = |dir: &Path| fs::read(dir.join(file)).expect("a file");
        assert!(read(&whole) == read(&stopped), "{file}");
    }
}

#[test]
fn what_is_not_listed_is_what_hardly_anybody_measures() {
    let outcome = study_of("[0, 300]", "").sensitivity(&options().trajectories(2)).expect("played");
    let summary = outcome.summary();
    let names: Vec<&str> =
        summary["inputs"].as_array().expect("a list").iter().filter_map(|input| input["name"].as_str()).collect();
    assert_eq!(names, ["kubeletReconnect", "podStart", "nodeBoot"]);
    assert!(summary["assumed_by"] == "default" && summary["notes"].to_string().contains("does not list"), "{summary}");
    // How often machines fail is among them, however the scenario writes it.
    let check = |distribution: &str, (path, from, to): (&str, &str, &str)| {
        let faults =
            format!("  faults:\n  - {{name: crashes, kind: Crash, timeToFailure: {distribution}, timeToRepair: 5m}}\n");
        let study = parsed(&study_text("[0, 300]", ""), &format!("{SCENARIO}{faults}"));
        let summary = study.sensitivity(&options().trajectories(2)).expect("played").summary();
        let crashes = input(&summary, "crashes");
        assert_eq!((&crashes["from"], &crashes["to"], &crashes["scale"]), (&from.into(), &to.into(), &"log".into()));
        assert_eq!(crashes["of"], format!("spec.faults[0].timeToFailure.{path}"));
    };
    check("{weibull: {shape: 0.8, mean: 300d}}", ("weibull.mean", "150d", "600d"));
    check("{weibull: {shape: 0.8, scale: 100d}}", ("weibull.scale", "50d", "200d"));
    check("{exponential: {mean: 30d}}", ("exponential.mean", "15d", "60d"));
}

#[test]
fn the_variant_is_named_or_what_the_study_recommends() {
    let study = study_of("[0, 60, 300]", ASSUMED);
    let fewest = || options().trajectories(2);
    let summary = study.sensitivity(&fewest()).expect("played").summary();
    assert_eq!((&summary["chosen"], &summary["asked"]), (&"recommended".into(), &Value::Null), "{summary}");
    let summary = study.sensitivity(&fewest().variant("wait=60")).expect("played").summary();
    assert_eq!((&summary["chosen"], &summary["variant"]), (&"named".into(), &"wait=60".into()));
    let refused = |options: SensitivityOptions<'_>| {
        let error = study.sensitivity(&options).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        error.to_string()
    };
    assert!(refused(fewest().variant("wait=61")).contains("no variant of the study has the values `wait=61`"));
    assert!(refused(fewest().variant("patience=60")).contains("`patience=60` names nothing that the study varies"));
    assert!(refused(fewest().variant("wait=300")).contains("is the baseline itself"));
    assert!(refused(fewest().variant(" ")).contains("` ` names no variant"));
    assert!(refused(fewest().trajectories(1)).contains("1 is no number of trajectories"));
    let too_many = NonZeroU32::new(10_000_000).expect("many");
    assert!(refused(fewest().replications(too_many)).contains("too many runs"));
}

#[test]
fn a_study_without_prices_has_no_answer_that_could_rest_on_anything() {
    let text = "apiVersion: kubesquall.sim/v1alpha1\nkind: Study\nmetadata: {name: rests}\nspec:\n  scenario: scenario.yaml\n  replications: 8\n  vary:\n  \
                - {name: wait, tolerationSeconds: {workloads: [deployment/shop/web], values: [0, 300]}}\n";
    let files = [("scenario.yaml", SCENARIO), ("web.yaml", WEB)];
    let study = Study::parse_with(text, files, &LoadOptions::new()).expect("a study");
    let error = study.sensitivity(&options()).expect_err("refused").to_string();
    assert!(error.contains("nothing in the study has a price"), "{error}");
}

#[test]
fn the_command_line_says_the_same() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let place = |name: &str| root.path().join(name).to_str().expect("plain text").to_owned();
    let command = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubesquall"));
        command.args(arguments);
        command
    };
    for (file, text) in [("scenario.yaml", SCENARIO), ("web.yaml", WEB)] {
        fs::write(root.path().join(file), text).expect("a file");
    }
    let study = study_text("[0, 300]", ASSUMED);
    fs::write(root.path().join("study.yaml"), study).expect("a file");
    let (study, out) = (place("study.yaml"), place("out"));
    let said = command(&["sensitivity", &study, "--trajectories", "4", "--out", &out]).assert().success();
    let text = String::from_utf8_lossy(&said.get_output().stdout).into_owned();
    assert!(text.starts_with("rests: wait=0 against the baseline wait=300\n\n INPUT"), "{text}");
    let summary: Value =
        serde_json::from_slice(&fs::read(root.path().join("out/summary.json")).expect("it")).expect("JSON");
    for remark in summary["verdict"].as_array().expect("a list") {
        assert!(text.contains(remark["text"].as_str().expect("a text")), "{remark} is not in {text}");
    }
    command(&["report", &out]).assert().success();
    // Its place is its own.
    let refused = command(&["sweep", &study, "--out", &out]).assert().code(2);
    let text = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(text.contains("holds the results of something else than a study"), "{text}");
    let refused = command(&["sensitivity", &study, "--trajectories", "1"]).assert().code(2);
    assert!(String::from_utf8_lossy(&refused.get_output().stderr).contains("from 2 to 1000"));
}
