//! `--trace`: a run as a trace, against the tables of which it is made.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kubesquall::{Report, Scenario};
use serde_json::Value;

/// Process and line.
type Track = (u64, u64);

/// Begin and end in microseconds, category, name.
type Slice<'a> = (i64, i64, &'a str, &'a str);

fn traced(dir: &Path) -> Vec<Value> {
    let scenario = Scenario::load("scenarios/zone-outage.yaml").expect("a shipped scenario");
    let run = scenario.play(scenario.seed()).write(dir.join("run")).expect("a directory");
    let path = dir.join("trace.json");
    let report = Report::open(run).expect("a run");
    report.write_trace(&path).expect("a trace");
    let first = fs::read(&path).expect("the trace");
    report.write_trace(&path).expect("an earlier trace is replaced");
    assert_eq!(first, fs::read(&path).expect("the trace"));
    let trace: Value = serde_json::from_slice(&first).expect("it is JSON");
    trace["traceEvents"].as_array().expect("events").clone()
}

#[test]
fn a_trace_has_each_pod_on_its_node_for_as_long_as_it_was_there_and_tracks_without_overlaps() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let events = traced(dir.path());
    let mut tracks: BTreeMap<Track, String> = BTreeMap::new();
    let mut slices: BTreeMap<Track, Vec<Slice<'_>>> = BTreeMap::new();
    for event in &events {
        let track = (event["pid"].as_u64().expect("a process"), event["tid"].as_u64().expect("a track"));
        let name = event["name"].as_str().expect("a name");
        if name == "thread_name" {
            tracks.insert(track, event["args"]["name"].as_str().expect("a track's name").to_owned());
        }
        if event["ph"] == "X" {
            let from = event["ts"].as_i64().expect("a time");
            let to = from + event["dur"].as_i64().expect("a length");
            slices.entry(track).or_default().push((from, to, event["cat"].as_str().unwrap_or_default(), name));
        }
    }
    // A StatefulSet's pods have the same name one after the other.
    let mut pods: BTreeMap<(&str, i64), (i64, &str)> = BTreeMap::new();
    for (track, slices) in &slices {
        let mut end = i64::MIN;
        for &(from, to, category, name) in slices {
            if category == "ready" {
                assert!(to <= end, "it lies within its pod");
                continue;
            }
            assert!(from >= end, "{}: {name}", tracks[track]);
            end = to;
            if category == "pod" {
                pods.insert((name, from), (to, &tracks[track]));
            }
        }
    }
    let mut table = csv::Reader::from_path(dir.path().join("run/pods.csv")).expect("the table");
    let header = table.headers().expect("columns").clone();
    let at = |name: &str| header.iter().position(|column| column == name).expect("a column");
    let micros = |text: &str| text.parse::<f64>().ok().map(|seconds| (seconds * 1e6).round() as i64);
    let mut count = 0;
    for row in table.records() {
        let row = row.expect("a row");
        let Some(from) = micros(&row[at("scheduled_s")]) else { continue };
        count += 1;
        let name = format!("{}/{}", &row[at("namespace")], &row[at("name")]);
        let found = pods.get(&(name.as_str(), from)).unwrap_or_else(|| panic!("{row:?}"));
        let ends = [micros(&row[at("finished_s")]), micros(&row[at("gone_s")])];
        let to = ends.into_iter().flatten().min().unwrap_or(2_400_000_000);
        assert_eq!(found.0, to, "{row:?}");
        assert!(found.1.starts_with(&format!("{} pods", &row[at("node")])), "{found:?}");
    }
    assert_eq!(pods.len(), count);
    let crashed = slices.values().flatten().filter(|slice| slice.2 == "fault" && slice.3 == "Crash");
    assert_eq!(crashed.map(|slice| (slice.0, slice.1)).collect::<Vec<_>>(), [(300_000_000, 1_500_000_000); 4]);
}

#[test]
fn a_kubectl_line_lasts_as_long_as_it_took() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let scenario = Scenario::load("scenarios/drain-and-upgrade.yaml").expect("a shipped scenario");
    let run = scenario.play(scenario.seed()).write(dir.path().join("run")).expect("a directory");
    let path = dir.path().join("trace.json");
    Report::open(&run).expect("a run").write_trace(&path).expect("a trace");
    let trace: Value = serde_json::from_slice(&fs::read(&path).expect("the trace")).expect("it is JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let slices = events.iter().filter(|event| event["cat"] == "kubectl");
    let mut lengths: Vec<(i64, i64)> =
        slices.map(|slice| (slice["ts"].as_i64().expect("a time"), slice["dur"].as_i64().expect("a length"))).collect();
    let lines = fs::read_to_string(run.join("transcript.jsonl")).expect("the transcript");
    let micros = |at: &Value| at.as_f64().map(|at| (at * 1e6).round() as i64);
    let mut expected: Vec<(i64, i64)> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line"))
        .map(|line| {
            let from = micros(&line["at_s"]).expect("a time");
            (from, micros(&line["done_s"]).map_or(0, |done| done - from))
        })
        .collect();
    lengths.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lengths, expected);
    assert!(lengths.iter().any(|(_, length)| *length > 1_000_000), "{lengths:?}");
}

#[test]
fn a_file_that_is_no_trace_is_not_replaced() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let scenario = Scenario::load("scenarios/flapping-node.yaml").expect("a shipped scenario");
    let run = scenario.play(scenario.seed()).write(dir.path().join("run")).expect("a directory");
    let precious = dir.path().join("scenario.yaml");
    fs::write(&precious, "kind: Scenario\n").expect("a file");
    let refused = Report::open(run).expect("a run").write_trace(&precious).expect_err("it is somebody's");
    assert!(refused.to_string().contains("is no trace"), "{refused}");
    assert_eq!(fs::read_to_string(&precious).expect("the file"), "kind: Scenario\n");
}

#[test]
fn a_trace_that_cannot_be_written_is_refused_before_anything_is_played() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let nowhere = dir.path().join("absent/trace.json");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/zone-outage.yaml");
    for (trace, why) in [(nowhere.to_str().expect("a path"), "is no directory"), ("-", "`-` is none")] {
        let run = ["run", scenario, "--out", "run", "--trace", trace];
        let out = std::process::Command::new(assert_cmd::cargo::cargo_bin("kubesquall"))
            .current_dir(dir.path())
            .args(run)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
        assert!(fs::read_dir(dir.path()).expect("the directory").next().is_none(), "nothing was made");
    }
}
