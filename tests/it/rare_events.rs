//! Studies of rare events on the command line: parts and threads change no byte, what is said is the same everywhere, and what cannot be
//! weighed is refused.

use std::fs;
use std::path::Path;

use assert_cmd::assert::OutputAssertExt as _;
use kubesquall::{ErrorKind, RareEvent, Study, SweepOptions};
use serde_json::Value;

use super::binary::{command as kubesquall, path, refusal};

fn shipped(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/studies").join(name).to_str().expect("plain text").to_owned()
}

/// A study of the shipped scenario.
fn study(dir: &Path, name: &str, more: &str) -> String {
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Study\nmetadata: {{name: {name}}}\nspec:\n  scenario: {}\n  replications: 120\n  vary:\n  \
         - {{name: repair, path: \"spec.faults[0].timeToRepair.lognormal.median\", values: [20m, 66m]}}\n{more}",
        shipped("two-zones.yaml")
    );
    let place = path(dir, &format!("{name}.yaml"));
    fs::write(&place, text).expect("a study");
    place
}

const EVENT: &str = "  rareEvents: {metric: pods_ready_min, below: 2, pilot: 100}\n";

fn results(dir: &Path) -> Vec<String> {
    let read = |name| fs::read_to_string(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    ["runs.csv", "variants.csv", "rare-events.csv", "summary.json", "charts/cost-curve.svg", "report.html"]
        .map(read)
        .to_vec()
}

fn summary(dir: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(dir.join("summary.json")).expect("a summary")).expect("JSON")
}

#[test]
fn parts_threads_and_what_is_resumed_give_the_same_bytes() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = |name: &str| path(dir.path(), name);
    let study = &study(dir.path(), "small", EVENT);
    kubesquall(&["sweep", study, "-q", "--jobs", "8", "--out", &place("whole")]).assert().success();
    kubesquall(&["sweep", study, "-q", "--jobs", "1", "--out", &place("one")]).assert().success();
    let whole = results(&dir.path().join("whole"));
    assert!(results(&dir.path().join("one")) == whole, "threads change a byte");
    for (part, out) in [("1/2", "first"), ("2/2", "second")] {
        kubesquall(&["sweep", study, "-q", "--shard", part, "--out", &place(out)]).assert().success();
    }
    kubesquall(&["merge", "-q", &place("second"), &place("first"), "--out", &place("merged")]).assert().success();
    assert!(results(&dir.path().join("merged")) == whole, "parts change a byte");
    // A journal of which some runs of the pilot and of the study are left.
    let mut child =
        kubesquall(&["sweep", study, "-q", "--jobs", "1", "--out", &place("killed")]).spawn().expect("it starts");
    let journal = dir.path().join("killed.journal.tmp");
    while child.try_wait().expect("its state").is_none()
        && fs::read_to_string(&journal).map_or(0, |text| text.lines().count()) < 350
    {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait().expect("it ends");
    let resumed = ["sweep", study, "-q", "--out", &place("killed"), "--resume"];
    kubesquall(&resumed).assert().success();
    assert!(results(&dir.path().join("killed")) == whole, "what is resumed has other bytes");
    // From the results alone, without a journal, with more runs.
    let more = fs::read_to_string(study).expect("the study").replace("replications: 120", "replications: 140");
    fs::write(study, more).expect("written");
    kubesquall(&["sweep", study, "-q", "--out", &place("whole"), "--resume"]).assert().success();
    kubesquall(&["sweep", study, "-q", "--out", &place("anew")]).assert().success();
    assert!(results(&dir.path().join("whole")) == results(&dir.path().join("anew")), "more runs change a byte");
    fs::remove_file(dir.path().join("anew/report.html")).expect("removed");
    kubesquall(&["report", &place("anew")]).assert().success();
    assert!(results(&dir.path().join("anew")) == results(&dir.path().join("whole")), "made again, the page is another");
}

#[test]
fn terminal_tables_and_summary_say_the_same() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = &study(dir.path(), "asked", "  cost: {evictions: 1}\n");
    let out = path(dir.path(), "asked");
    let played = kubesquall(&["sweep", study, "--rare", "pods_ready_min<3", "--out", &out]).assert().success();
    let told = String::from_utf8_lossy(&played.get_output().stdout).into_owned();
    let found = summary(&dir.path().join("asked"));
    let (estimates, verdict) = (&found["rare_events"], &found["verdict"][0]);
    let first = verdict["details"][0].as_str().expect("a line");
    assert!(told.contains(first) && first.starts_with("repair=20m: in "), "{told}\n{first}");
    let probability = estimates[0]["probability"]["mean"].as_f64().expect("a number");
    let shown = if probability < 0.01 { format!("{probability:.2e}") } else { format!("{probability:.3}") };
    assert!(first.contains(&format!("in {shown} [")), "{first}: {probability}");
    let table = fs::read_to_string(dir.path().join("asked/rare-events.csv")).expect("a table");
    let row = table.lines().nth(1).expect("a row");
    assert!(row.starts_with("0,20m,pods_ready_min<3,120,") && row.contains(&format!(",{probability},")), "{row}");
    // Means are those of weighted runs; quantiles are left out, no variant is the cheapest.
    let runs = fs::read_to_string(dir.path().join("asked/runs.csv")).expect("runs");
    let mut lines = runs.lines();
    assert!(lines.next().is_some_and(|header| header.ends_with(",cost,weight")));
    let weights: Vec<f64> =
        lines.map(|row| row.rsplit(',').next().expect("a cell").parse().expect("a number")).collect();
    assert!(
        weights.iter().all(|weight| *weight > 0.0 && *weight <= 10.0) && weights.iter().any(|weight| *weight < 1e-2)
    );
    let variants = fs::read_to_string(dir.path().join("asked/variants.csv")).expect("variants");
    let ready = variants.lines().find(|row| row.starts_with("0,20m,nodes_ready_end,")).expect("a row");
    let cells: Vec<&str> = ready.split(',').collect();
    let mean: f64 = cells[4].parse().expect("a mean");
    assert!((2.9..3.05).contains(&mean) && cells[7].is_empty() && cells[9].is_empty(), "{ready}");
    assert!(found["recommendation"].is_null() && found["front"].as_array().is_some_and(Vec::is_empty));
    assert!(!dir.path().join("asked/charts/recovery.svg").exists() && !told.contains("Lowest cost"));
    assert_eq!(found["study"]["rare"]["is_asked"], true);
}

#[test]
fn what_cannot_be_looked_for_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let check = |more: &str, expected: &str| {
        let said = refusal(&["check", &study(dir.path(), "wrong", more)]);
        assert!(said.contains(expected), "{more}: {said}");
    };
    check("  rareEvents: {metric: pods_redy_min, below: 2}\n", "the nearest is `pods_ready_min`");
    check("  rareEvents: {metric: pods_ready_min}\n", "either `above` or `below`");
    check("  rareEvents: {metric: pods_ready_min, above: 1, below: 2}\n", "either `above` or `below`");
    check("  rareEvents: {metric: pods_ready_min, above: .nan}\n", "threshold");
    check("  rareEvents: {metric: pods_ready_min, below: 2, pilot: 3}\n", "it has from 50 to 1000000");
    check("  rareEvents: {metric: cost, above: 2}\n", "nothing has a price");
    check(
        "  rareEvents: {metric: pods_ready_min, below: 2, factors: {zone-powr: {calm: 5}}}\n",
        "the nearest is `zone-power`",
    );
    check(
        "  rareEvents: {metric: pods_ready_min, below: 2, factors: {zone-power: {calm: -5}}}\n",
        "-5 cannot be the factor",
    );
    check(&format!("  seeds: antithetic\n{EVENT}"), "mirrored runs cannot have weights");
    let plain = &study(dir.path(), "plain", "");
    assert!(refusal(&["sweep", plain, "--rare", "pods_ready_min"]).contains("METRIC>THRESHOLD"));
    let priced = &study(dir.path(), "priced", &format!("  cost: {{evictions: 1}}\n{EVENT}"));
    assert!(refusal(&["tune", priced, "--out", &path(dir.path(), "x")]).contains("nothing is recommended by these"));
    // Where nothing fails by chance.
    let calm = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Study\nmetadata: {{name: calm}}\nspec:\n  scenario: {}\n  replications: 10\n  vary:\n  \
         - {{name: stop, path: spec.latency.podStop.constant, values: [1s, 2s]}}\n{EVENT}",
        shipped("../zone-outage.yaml")
    );
    fs::write(dir.path().join("calm.yaml"), calm).expect("a study");
    assert!(refusal(&["check", &path(dir.path(), "calm.yaml")]).contains("nothing fails by chance"));
    let event: RareEvent = "cost>1".parse().expect("an event");
    let refused = Study::load(plain).expect("a study").rare_event(event).expect_err("without prices");
    assert_eq!(refused.kind(), ErrorKind::Argument);
}

/// The promise of the document: fifty times fewer runs than without weights for an interval as narrow.
#[test]
fn the_shipped_example_takes_fifty_times_fewer_runs_than_plain_replication() {
    let study = Study::load(shipped("rare-quorum-loss.yaml")).expect("the shipped study");
    let outcome = study.sweep(&SweepOptions::new()).expect("played");
    for estimate in outcome.rare_events().expect("of a rare event") {
        assert!(estimate.is_told, "{estimate:?}");
        let plain = estimate.plain_runs.expect("it is told");
        assert!(plain > 50.0 * estimate.n as f64, "{estimate:?}");
        assert!(estimate.probability.half_width() < estimate.probability.mean, "{estimate:?}");
    }
}

#[test]
fn a_precision_is_that_of_the_probability() {
    // One member away, not two, which more runs than the study has would take.
    let event: RareEvent = "pods_ready_min<3".parse().expect("an event");
    let study = Study::load(shipped("rare-quorum-loss.yaml")).and_then(|study| study.rare_event(event));
    let outcome = study.expect("a study").sweep(&SweepOptions::new().precision(0.2)).expect("played");
    let precision = &outcome.summary()["study"]["precision"];
    assert_eq!(precision["reached"], true, "{precision}");
    assert!(precision["replications"].as_u64().is_some_and(|runs| runs < 4000), "{precision}");
    let estimates = outcome.rare_events().expect("of a rare event");
    assert!(estimates.iter().all(|of| of.probability.half_width() <= 0.2 * of.probability.mean), "{estimates:?}");
}
