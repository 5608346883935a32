//! What Prometheus takes of a run, and what the dashboard asks it for.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use kubesquall::{Scenario, SimTime};
use serde_json::Value;

use super::binary::kubesquall;

/// The names of metrics in a text: of samples, or of what a query asks for.
fn metrics(text: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c: char| !is_part(c)).filter(|word| word.starts_with("kube_")).collect()
}

fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_run_is_written_as_promtool_takes_it_and_has_all_that_the_dashboard_asks_for() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let scenario = repository().join("scenarios/zone-outage.yaml");
    let line = format!("-q run {} --no-charts --out out --openmetrics run.om", scenario.display());
    let said = kubesquall(dir.path(), &line, "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    let text = fs::read_to_string(dir.path().join("run.om")).expect("a file");

    // A metric's samples stand together, and each series goes on in time.
    let mut families = BTreeSet::new();
    let mut family = "";
    let mut last = ("", f64::MIN);
    for line in text.lines() {
        if let Some(typed) = line.strip_prefix("# TYPE ") {
            family = typed.split(' ').next().expect("a name");
            assert!(families.insert(family), "{family} comes again");
            continue;
        }
        let Some((series, values)) = line.rsplit_once("} ") else {
            assert_eq!(line, "# EOF");
            continue;
        };
        let name = series.split('{').next().expect("a name");
        assert_eq!(name.strip_suffix("_total").unwrap_or(name), family, "{line}");
        let (value, at) = values.split_once(' ').expect("a time stamp");
        let (_, at): (f64, f64) = (value.parse().expect("a number"), at.parse().expect("a number"));
        assert!(last.0 != series || at > last.1, "{line}");
        last = (series, at);
    }
    assert!(text.ends_with("# EOF\n") && families.len() > 25, "{}", families.len());

    let again = kubesquall(dir.path(), "-q report out --openmetrics again.om", "");
    assert_eq!(again.status, 0, "{}", again.stderr);
    assert!(fs::read_to_string(dir.path().join("again.om")).expect("a file") == text);

    let dashboard = fs::read_to_string(repository().join("docs/grafana-dashboard.json")).expect("a dashboard");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    let mut asked = Vec::new();
    texts(&dashboard, &mut asked);
    let asked: BTreeSet<&str> = asked.into_iter().flat_map(metrics).collect();
    // Nobody waits long enough there for the scheduler's refusal to be seen by a scrape.
    let pending = repository().join("scenarios/why-pending.yaml");
    let line = format!("-q run {} --no-charts --out pending --openmetrics pending.om", pending.display());
    let said = kubesquall(dir.path(), &line, "");
    assert!(said.status < 2, "{}", said.stderr);
    let more = fs::read_to_string(dir.path().join("pending.om")).expect("a file");
    let there: BTreeSet<&str> = metrics(&text).union(&metrics(&more)).copied().collect();
    assert!(asked.len() > 10);
    assert_eq!(asked.difference(&there).collect::<Vec<_>>(), Vec::<&&str>::new());

    take_with_promtool(&dir.path().join("run.om"));
}

/// Makes blocks of the samples, where promtool is installed.
fn take_with_promtool(samples: &Path) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let promtool = Command::new("promtool")
        .args(["tsdb", "create-blocks-from", "openmetrics"])
        .arg(samples)
        .arg(dir.path().join("data"))
        .output();
    let Ok(said) = promtool else { return };
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert!(fs::read_dir(dir.path().join("data")).expect("blocks").count() > 0);
}

#[test]
fn what_is_no_file_of_samples_stays_and_a_step_is_at_least_a_second() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let text = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: calm}, spec: {duration: 2m, cluster: {nodePools: \
                [{name: n, count: 1, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}}}";
    fs::write(dir.path().join("calm.yaml"), text).expect("a file");
    fs::write(dir.path().join("mine.txt"), "mine").expect("a file");
    let run = |more: &str| kubesquall(dir.path(), &format!("-q run calm.yaml --no-charts --out out {more}"), "");
    for (more, expected) in [
        ("--openmetrics mine.txt", "is there already, and is no file of samples"),
        ("--openmetrics absent/run.om", "is no directory to write a file of samples to"),
        ("--openmetrics -", "`-` is none"),
        ("--openmetrics run.om --step 100ms", "nobody scrapes every 100ms"),
        ("--step 5s", "--step is of no use here"),
    ] {
        let said = run(more);
        assert!(said.status == 2 && said.stderr.contains(expected), "{more}: {}", said.stderr);
    }
    assert_eq!(fs::read_to_string(dir.path().join("mine.txt")).expect("a file"), "mine");
    assert!(!dir.path().join("out").exists());
    // An earlier one is replaced.
    for step in ["30s", "60s"] {
        assert_eq!(run(&format!("--openmetrics run.om --step {step}")).status, 0);
    }
    let text = fs::read_to_string(dir.path().join("run.om")).expect("a file");
    assert_eq!(text.lines().filter(|line| line.starts_with("kube_node_info{")).count(), 3);
}

#[test]
fn an_instant_of_a_run_under_way_is_what_a_scrape_gets() {
    let text = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: crash}, spec: {duration: 10m, cluster: {nodePools: \
                [{name: n, count: 2, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}, \
                timeline: [{at: 1m, fault: {kind: Crash, nodes: {names: [n-1]}}}]}}";
    let mut run = Scenario::parse(text, [("", ""); 0]).expect("a scenario").settle().start(1);
    let mut ready_at = |at_s: i64| {
        run.run_until(SimTime::from_secs(at_s));
        let mut out = Vec::new();
        run.write_exposition(&mut out).expect("rows").expect("memory");
        let text = String::from_utf8(out).expect("text");
        assert!(text.starts_with("# TYPE kube_") && !text.contains("# EOF"));
        let is_lost = "kube_node_status_condition{node=\"n-1\",condition=\"Ready\",status=\"unknown\"} 1";
        text.lines().any(|line| line == is_lost)
    };
    assert_eq!([ready_at(50), ready_at(200)], [false, true]);
    assert_eq!(run.now(), SimTime::from_secs(200));
}
