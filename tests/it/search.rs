//! Studies with ranges: few points are played, what is best is found, and all of it follows from the runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use assert_cmd::assert::OutputAssertExt as _;
use kubesquall::engine::Streams;
use serde_json::Value;

use super::binary::{command as kubesquall, path, refusal};
use super::determinism::files;

/// Half a day of a service on four machines that crash and lose their network every few hours.
const SCENARIO: &str = "\
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: half-a-day}
spec:
  duration: 12h
  cluster:
    nodePools:
    - {name: worker, count: 4, template: {status: {allocatable: {cpu: \"4\", memory: 8Gi, pods: \"110\"}}}}
  latency: {podStart: {constant: 20s}}
  faults:
  - {name: crashes, kind: Crash, timeToFailure: {exponential: {mean: 12h}}, timeToRepair: {lognormal: {median: 20m, p99: 2h}}}
  - {name: network, kind: Partition, timeToFailure: {exponential: {mean: 6h}}, timeToRepair: {lognormal: {median: 2m, p99: 10m}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {requests: {cpu: \"1\"}}}]}
";

/// A study of that; `vary` is what is varied, `rest` what else stands in its spec.
fn study(dir: &Path, name: &str, vary: &str, rest: &str) -> String {
    fs::write(dir.join("half-a-day.yaml"), SCENARIO).expect("a scenario");
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Study\nmetadata: {{name: {name}}}\nspec:\n  scenario: half-a-day.yaml\n  \
         vary:\n{vary}\n{rest}\n"
    );
    let place = path(dir, &format!("{name}.yaml"));
    fs::write(&place, text).expect("a study");
    place
}

const WAIT: &str =
    "  - {name: wait, tolerationSeconds: {workloads: [deployment/shop/*], range: {min: 0, max: 600, step: 20}}}";
const GRACE: &str = "  - {name: grace, path: spec.controlPlane.kubeControllerManager.node-monitor-grace-period, range: {min: 20s, max: 90s}}";
const PRICES: &str = "  replications: 20\n  cost: {unreadyReplicaSeconds: 1, evictions: 30, needlessEvictions: 60}";

fn summary(dir: &Path, name: &str) -> Value {
    let text = fs::read_to_string(dir.join(name).join("summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("JSON")
}

/// The content of every file of results.
fn all(dir: &Path, name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    files(&dir.join(name))
}

#[test]
fn points_are_those_that_the_runs_ask_for_whatever_the_number_of_threads_and_after_kills() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let dir = dir.path();
    let study = &study(dir, "wait", WAIT, PRICES);
    let place = |name: &str| path(dir, name);
    kubesquall(&["tune", study, "-q", "--jobs", "1", "--out", &place("one")]).assert().success();
    kubesquall(&["tune", study, "-q", "--jobs", "8", "--out", &place("eight")]).assert().success();
    assert!(all(dir, "one") == all(dir, "eight"), "threads decide");
    let journal = dir.join("killed.journal.tmp");
    let mut moments = Streams::new(4).stream("kill -9", "");
    for _ in 0..6 {
        let killed = place("killed");
        let mut arguments = vec!["tune", study, "-q", "--jobs", "1", "--out", &killed];
        arguments.extend(journal.exists().then_some("--resume"));
        let mut child = kubesquall(&arguments).stderr(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(300 + u64::from(moments.below(1500))));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    let killed = place("killed");
    let mut last = vec!["tune", study, "-q", "--out", &killed];
    last.extend(journal.exists().then_some("--resume"));
    kubesquall(&last).assert().success();
    assert!(all(dir, "killed") == all(dir, "one"), "a kill decides");
    // Charts and page are made again of what is there.
    let page = dir.join("one/report.html");
    let (first, chart) =
        (fs::read(&page).expect("a page"), fs::read(dir.join("one/charts/surrogate.svg")).expect("a chart"));
    fs::remove_file(&page).expect("removed");
    kubesquall(&["report", &place("one")]).assert().success();
    assert!(fs::read(&page).expect("a page") == first, "made again, the page is another");
    assert!(fs::read(dir.join("one/charts/surrogate.svg")).expect("a chart") == chart);
    // Other prices ask for other points, of which some have been played.
    let other = "  replications: 20\n  cost: {unreadyReplicaSeconds: 1, evictions: 300, needlessEvictions: 600}";
    let study = &self::study(dir, "wait", WAIT, other);
    kubesquall(&["tune", study, "-q", "--resume", "--out", &place("one")]).assert().success();
    kubesquall(&["tune", study, "-q", "--out", &place("afresh")]).assert().success();
    assert!(all(dir, "one") == all(dir, "afresh"), "what was played for other prices decides");
}

#[test]
fn what_is_found_is_as_good_as_the_best_of_the_grid_and_takes_fewer_runs() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let dir = dir.path();
    let prices = PRICES.replace("replications: 20", "replications: 60");
    let searched = &study(dir, "searched", WAIT, &prices);
    let values: Vec<String> = (0..=30).map(|at| (at * 20).to_string()).collect();
    let listed = WAIT.replace("range: {min: 0, max: 600, step: 20}", &format!("values: [{}]", values.join(", ")));
    let gridded = &study(dir, "gridded", &listed, &prices);
    kubesquall(&["tune", searched, "-q", "--no-charts", "--out", &path(dir, "few")]).assert().success();
    kubesquall(&["sweep", gridded, "-q", "--no-charts", "--out", &path(dir, "all")]).assert().success();
    let (few, all) = (summary(dir, "few"), summary(dir, "all"));
    let cost = |of: &Value| of["cost"]["mean"].as_f64().expect("a cost");
    let of_grid = |value: &Value| {
        let of = all["variants"].as_array().expect("variants").iter().find(|of| of["values"][0] == *value);
        cost(of.expect("in the grid"))
    };
    let variants = few["variants"].as_array().expect("variants");
    assert!(variants.iter().all(|of| cost(of) == of_grid(&of["values"][0])), "the same runs cost something else");
    let search = &few["search"];
    assert!(search["runs"].as_u64() < Some(31 * 60 / 2), "{search}");
    assert_eq!(search["runs_of_all"], 31 * 60);
    // No more than 2 % above the best of all.
    let least = all["variants"].as_array().expect("variants").iter().map(cost).fold(f64::INFINITY, f64::min);
    let best = few["tuning"]["others"][0][1].clone();
    assert!(of_grid(&best) <= 1.02 * least, "{best}: {} and not {least}", of_grid(&best));
    assert_eq!(few["confirmation"]["n"], 60);
    let told = few["verdict"].as_array().expect("a verdict").iter().filter_map(|of| of["text"].as_str());
    let told: Vec<&str> = told.collect();
    assert!(told.iter().any(|text| text.starts_with("Searched wait from 0 to 600: ")), "{told:?}");
    assert!(told.iter().any(|text| text.starts_with("All together on 60 new seeds")), "{told:?}");
    // A row for each value, and each point that was played is one.
    let table = fs::read_to_string(dir.join("few/surrogate.csv")).expect("a table");
    assert_eq!(table.lines().next(), Some("along,wait,place,predicted,predicted_low,predicted_high,played,observed"));
    assert_eq!(table.lines().count(), 32);
    assert_eq!(table.matches(",true,").count(), variants.len());
    assert_eq!(few["rows"]["surrogate.csv"], 31);
    assert!(!dir.join("all/surrogate.csv").exists());
}

#[test]
fn ranges_go_with_lists_and_with_each_other() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let dir = dir.path();
    let vary = format!(
        "{GRACE}\n  - {{name: frontends, replicas: {{workloads: [deployment/shop/web], values: [4, 6, 8]}}}}\n{WAIT}"
    );
    let rest = "  replications: 20\n  search: {points: 16}\n  baseline: {wait: 300, grace: 50s}\n  cost: {unreadyReplicaSeconds: 1, \
                evictions: 30, replicaHours: 10}";
    let study = &study(dir, "mixed", &vary, rest);
    kubesquall(&["tune", study, "-q", "--out", &path(dir, "out")]).assert().success();
    let found = summary(dir, "out");
    let search = &found["search"];
    assert!(search["played"].as_u64() <= Some(16) && search["begun_with"].as_u64() >= Some(11), "{search}");
    assert_eq!(search["ranges"].as_array().map(Vec::len), Some(2));
    let table = fs::read_to_string(dir.join("out/surrogate.csv")).expect("a table");
    let along = |name: &str| table.lines().filter(|line| line.starts_with(&format!("{name},"))).count();
    assert_eq!((along("frontends"), along("wait")), (3, 31));
    let baseline = found["study"]["baseline"].as_u64().expect("a baseline") as usize;
    assert_eq!(found["study"]["variants"][baseline], serde_json::json!(["50s", "6", "300"]));
    let frontends: Vec<&Value> =
        found["study"]["variants"].as_array().expect("variants").iter().map(|of| &of[1]).collect();
    assert!(["4", "6", "8"].iter().all(|count| frontends.iter().any(|of| **of == *count)));
    let drawn = fs::read_to_string(dir.join("out/charts/surrogate.svg")).expect("a chart");
    assert!(drawn.contains("wait, with grace=") && drawn.contains("grace, with frontends="));
}

#[test]
fn what_does_not_go_with_ranges_is_refused_before_anything_is_played() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let dir = dir.path();
    let (study, out) = (&study(dir, "wait", WAIT, PRICES), &path(dir, "out"));
    let check = |arguments: &[&str], said: &str| {
        let text = refusal(&[arguments, &["--out", out]].concat());
        assert!(text.contains(said), "{text}");
    };
    check(&["sweep", study], "`tune` searches ranges; for a sweep, list `values` instead of `range`");
    check(&["tune", study, "--contenders"], "plays nobody who is no contender");
    check(&["tune", study, "--precision", "5%"], "a precision is wanted of every variant");
    check(&["tune", study, "--shard", "1/2"], "nobody can play a part");
    check(&["tune", study, "--cost-by", "cvar:95%"], "not by bad runs");
    check(&["sensitivity", study], "`wait` is a range of values");
    assert!(!dir.join("out").exists() && !dir.join("out.journal.tmp").exists());
    kubesquall(&["check", study]).assert().success();
}
