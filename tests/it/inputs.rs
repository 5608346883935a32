//! What the records leave open that a study's inputs were fitted to, on the command line: other runs stay what they are, a run with an input is
//! one of the scenario that says so, threads and kills change no byte, and what cannot be told is refused.

use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use assert_cmd::assert::OutputAssertExt as _;
use kubesquall::{CostBy, FaultImport, Progress, SensitivityOptions, Study, StudyOutcome, SweepOptions};
use serde_json::Value;

use super::binary::{command as kubesquall, path, refusal};

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Outages of some of ten nodes in a hundred days.
fn table() -> String {
    let mut text = String::from("node,failed,repaired\n");
    for outage in 0..24_u32 {
        let (node, at) = (outage * outage % 7, 300_000 * outage + 7919 * (outage % 5));
        let _ = writeln!(text, "n{node},{at},{}", at + 600 + 977 * (outage * 5 % 11) * (1 + outage % 3));
    }
    text
}

const FAULT: &str = "crashes";

/// Imports the records with so many draws: the process, and the text of its fits.
fn imported(draws: u32) -> (String, String) {
    let importing = FaultImport::new().name(FAULT).nodes(10).since("0").until("8640000").distribution("exponential");
    let imported = importing.resample(draws).seed(7).import([("outages.csv", table())]).expect("records");
    let process = imported.document().split_once("faults:\n").expect("a list").1.to_owned();
    (process, imported.files().last().expect("a file").1.clone())
}

/// Writes the scenario and the fits into a directory.
fn scenario(dir: &Path, name: &str, process: &str) {
    let manifests = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/manifests/shop");
    let faults: String = process.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: small}}\nspec:\n  duration: 20d\n  seed: 5\n  cluster:\n    \
         manifests: ['{}']\n    nodePools:\n    - name: worker\n      count: 6\n      template:\n        status: {{allocatable: {{cpu: '2', memory: \
         8Gi, pods: '110'}}}}\n  faults:\n{faults}  slo:\n  - {{workload: deployment/shop/frontend, minReady: 6, objective: 99%}}\n",
        manifests.display()
    );
    fs::write(dir.join(name), text).expect("a scenario");
}

/// A study of that scenario, and what it says besides.
fn study(dir: &Path, name: &str, of: &str, more: &str) -> String {
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Study\nmetadata: {{name: {name}}}\nspec:\n  scenario: {of}\n  replications: 12\n  vary:\n  - \
         {{name: nodes, path: 'spec.cluster.nodePools[0].count', values: [6, 7]}}\n  baseline: {{nodes: 6}}\n  cost: {{belowMinReadySeconds: 1, \
         nodeHours: 0.5}}\n{more}"
    );
    fs::write(dir.join(format!("{name}.yaml")), text).expect("a study");
    path(dir, &format!("{name}.yaml"))
}

const INPUTS: &str = "  inputs: [{process: crashes, resampled: fits.yaml}]\n  inputReplications: 2\n";

/// A directory with a scenario, its fits, and a study of both.
fn whole() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (process, fits) = imported(20);
    scenario(dir.path(), "small.yaml", &process);
    fs::write(dir.path().join("fits.yaml"), fits).expect("fits");
    let study = study(dir.path(), "asked", "small.yaml", INPUTS);
    (dir, study)
}

fn results(dir: &Path) -> Vec<String> {
    let names = [
        "runs.csv",
        "variants.csv",
        "inputs.csv",
        "input-runs.csv",
        "summary.json",
        "charts/cost-curve.svg",
        "report.html",
    ];
    names.map(|name| read(dir, name)).to_vec()
}

#[test]
fn other_runs_stay_and_a_run_with_an_input_is_one_of_the_scenario_that_says_so() {
    let (dir, asked) = whole();
    let plain = study(dir.path(), "plain", "small.yaml", "");
    for (study, out) in [(&asked, "asked"), (&plain, "plain")] {
        kubesquall(&["sweep", study, "-q", "--no-charts", "--out", &path(dir.path(), out)]).assert().success();
    }
    let [with, without] = ["asked", "plain"].map(|out| dir.path().join(out));
    for table in ["runs.csv", "variants.csv"] {
        assert_eq!(read(&with, table), read(&without, table), "{table}");
    }
    // The fourth fit, written into the scenario by hand.
    let (process, fits) = imported(20);
    let line = fits.lines().filter(|line| line.starts_with("- {")).nth(3).expect("a fit");
    let fields =
        line.trim_start_matches("- {").strip_suffix('}').expect("a map").replace(", timeToRepair", "\n  timeToRepair");
    let head: String = process.lines().take(2).map(|line| format!("{line}\n")).collect();
    scenario(dir.path(), "of-fourth.yaml", &format!("{head}  {fields}\n"));
    let fourth = study(dir.path(), "fourth", "of-fourth.yaml", "");
    let more = fs::read_to_string(&fourth).expect("the study").replace("replications: 12", "replications: 24");
    fs::write(&fourth, more).expect("written");
    kubesquall(&["sweep", &fourth, "-q", "--no-charts", "--out", &path(dir.path(), "fourth")]).assert().success();
    let cells = |row: &str, head: usize| row.split(',').skip(head).map(str::to_owned).collect::<Vec<_>>();
    let played = read(&dir.path().join("fourth"), "runs.csv");
    let of_input = read(&with, "input-runs.csv");
    let rows: Vec<&str> = of_input.lines().filter(|row| row.split(',').nth(2) == Some("3")).collect();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let of: Vec<&str> = row.split(',').collect();
        // By variant and seed.
        let expected = played.lines().find(|run| {
            let run: Vec<&str> = run.split(',').collect();
            (run[0], run[3]) == (of[0], of[4])
        });
        assert_eq!(cells(row, 4), cells(expected.expect("that run"), 3));
    }
}

#[test]
fn threads_kills_and_what_is_read_back_change_no_byte() {
    let (dir, study) = whole();
    let place = |name: &str| path(dir.path(), name);
    kubesquall(&["sweep", &study, "-q", "--jobs", "8", "--out", &place("whole")]).assert().success();
    kubesquall(&["sweep", &study, "-q", "--jobs", "1", "--out", &place("one")]).assert().success();
    let expected = results(&dir.path().join("whole"));
    assert!(results(&dir.path().join("one")) == expected, "threads change a byte");
    let mut child =
        kubesquall(&["sweep", &study, "-q", "--jobs", "1", "--out", &place("killed")]).spawn().expect("it starts");
    let journal = dir.path().join("killed.journal.tmp");
    while child.try_wait().expect("its state").is_none()
        && fs::read_to_string(&journal).map_or(0, |text| text.lines().count()) < 30
    {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait().expect("it ends");
    kubesquall(&["sweep", &study, "-q", "--out", &place("killed"), "--resume"]).assert().success();
    assert!(results(&dir.path().join("killed")) == expected, "what is resumed has other bytes");
    // From the results alone, with more runs of either kind.
    let text = fs::read_to_string(&study).expect("the study");
    let more =
        text.replace("replications: 12", "replications: 14").replace("inputReplications: 2", "inputReplications: 3");
    fs::write(&study, more).expect("written");
    kubesquall(&["sweep", &study, "-q", "--out", &place("whole"), "--resume"]).assert().success();
    kubesquall(&["sweep", &study, "-q", "--out", &place("anew")]).assert().success();
    assert!(results(&dir.path().join("whole")) == results(&dir.path().join("anew")), "more runs change a byte");
    let again = StudyOutcome::read(dir.path().join("anew")).expect("results");
    again.write(dir.path().join("again")).expect("written");
    assert!(results(&dir.path().join("again")) == results(&dir.path().join("anew")), "read back, they are others");
    let cut = read(&dir.path().join("anew"), "input-runs.csv");
    fs::write(dir.path().join("anew/input-runs.csv"), &cut[..cut.len() / 2]).expect("cut");
    assert!(StudyOutcome::read(dir.path().join("anew")).is_err());
}

#[test]
fn terminal_table_and_summary_say_the_same() {
    let (dir, study) = whole();
    let played = kubesquall(&["sweep", &study, "--no-charts", "--out", &path(dir.path(), "out")]).assert().success();
    let told = String::from_utf8_lossy(&played.get_output().stdout).into_owned();
    let out = dir.path().join("out");
    let summary: Value = serde_json::from_str(&read(&out, "summary.json")).expect("JSON");
    let verdict = summary["verdict"].as_array().expect("sentences");
    let of_records = verdict
        .iter()
        .find(|of| of["text"].as_str().is_some_and(|text| text.starts_with("What the records leave open")));
    let of_records = of_records.expect("it is told");
    let text = of_records["text"].as_str().expect("a text");
    assert!(text.contains("crashes, 2") && text.contains("on 10 nodes") && text.contains("20 inputs"), "{text}");
    let details: Vec<&str> =
        of_records["details"].as_array().expect("lines").iter().filter_map(Value::as_str).collect();
    assert!(details[0].starts_with("nodes=6: costs ") && details[1].contains("; against the baseline "), "{details:?}");
    // As the file of the fits says.
    assert!(details.iter().any(|line| line.starts_with("failures of 4 nodes (crashes) are few")), "{details:?}");
    // The terminal breaks lines.
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain(&told).contains(&plain(details[1])), "{told}");
    let found = &summary["input_uncertainty"]["variants"][1];
    let of = |field: &str| found["difference"]["interval"][field].as_f64().expect("a number");
    let table = read(&out, "inputs.csv");
    let row = table.lines().find(|row| row.starts_with("1,7,cost,20,2,")).expect("a row");
    assert!(row.contains(&format!(",{},{},{},", of("mean"), of("low"), of("high"))), "{row}");
    // It allows for more than the runs.
    let alone = &summary["variants"][1]["difference"];
    assert!(
        of("low") <= alone["low"].as_f64().expect("a number")
            && of("high") >= alone["high"].as_f64().expect("a number")
    );
    assert!(of("low") < of("mean") && of("mean") < of("high"));
    assert!(
        summary["notes"]
            .as_array()
            .expect("notes")
            .iter()
            .any(|note| note.as_str().is_some_and(|note| note.contains("for the truth")))
    );
}

#[test]
fn what_tune_recommends_is_said_to_hold_or_not() {
    let (dir, study) = whole();
    let dear = fs::read_to_string(&study).expect("the study").replace("nodeHours: 0.5", "nodeHours: 0");
    fs::write(&study, dear).expect("written");
    kubesquall(&["tune", &study, "-q", "--no-charts", "--out", &path(dir.path(), "out")]).assert().success();
    let summary: Value = serde_json::from_str(&read(&dir.path().join("out"), "summary.json")).expect("JSON");
    let texts: Vec<String> = summary["verdict"]
        .as_array()
        .expect("sentences")
        .iter()
        .flat_map(|of| of["details"].as_array().into_iter().flatten().chain([&of["text"]]))
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect();
    let is_recommended = !summary["confirmation"].is_null();
    assert_eq!(texts.iter().any(|text| text.starts_with("as far as the records tell: ")), is_recommended, "{texts:?}");
    assert_eq!(summary["input_uncertainty"]["confirmation"].is_null(), !is_recommended);
}

#[test]
fn what_cannot_be_told_is_refused() {
    let (dir, asked) = whole();
    let out = path(dir.path(), "out");
    let check = |arguments: &[&str], expected: &str| {
        let refused = refusal(&[arguments, &["--out", &out]].concat());
        assert!(refused.contains(expected), "{arguments:?}: {refused}");
    };
    check(&["sweep", &asked, "--shard", "1/2"], "a part of a study does not tell");
    check(&["sweep", &asked, "--precision", "5%"], "no number of runs makes narrower");
    check(&["tune", &asked, "--contenders"], "contenders are told by the inputs as they were fitted");
    check(&["sweep", &asked, "--cost-by", "cvar:95%"], "is told of means");
    check(&["sweep", &asked, "--rare", "evictions>5"], "have weights");
    let wrong = |name: &str, inputs: &str, expected: &str| {
        let study = study(dir.path(), name, "small.yaml", inputs);
        check(&["sweep", &study], expected);
    };
    let of = |process: &str, file: &str| format!("  inputs: [{{process: {process}, resampled: {file}}}]\n");
    wrong("unknown", &of("crash", "fits.yaml"), "the nearest is `crashes`; there are crashes");
    wrong("missing", &of("crashes", "nothing.yaml"), "nothing.yaml");
    wrong(
        "twice",
        "  inputs: [{process: crashes, resampled: fits.yaml}, {process: crashes, resampled: fits.yaml}]\n",
        "listed twice",
    );
    wrong("few", &format!("{}  inputReplications: 0\n", of("crashes", "fits.yaml")), "noise is told from 2 on");
    let (one, too_many) =
        ("1 run with each input cannot be", "1,000,000,000 runs with each input are too many: 1,048,576 are");
    wrong("one", &format!("{}  inputReplications: 1\n", of("crashes", "fits.yaml")), one);
    wrong("many", &format!("{}  inputReplications: 1000000000\n", of("crashes", "fits.yaml")), too_many);
    wrong("none", "  inputReplications: 3\n", "there are no `inputs`");
    wrong("mirrored", &format!("{INPUTS}  seeds: antithetic\n"), "mirrored runs");
    wrong("bad", &format!("{INPUTS}  costBy: {{cvar: 95%}}\n"), "of which an input has too few");
    let fits = read(dir.path(), "fits.yaml");
    let changed = |file: &str, from: &str, to: &str, expected: &str| {
        assert!(fits.contains(from), "{from}");
        fs::write(dir.path().join(file), fits.replacen(from, to, 1)).expect("written");
        wrong(&format!("study-of-{}", file.trim_end_matches(".yaml")), &of("crashes", file), expected);
    };
    let other_kind = "`crashes` is of kind Crash, and the records are those of kind InstanceGone";
    changed("kind.yaml", "fault: Crash", "fault: InstanceGone", other_kind);
    changed("draws.yaml", "drawn: 20", "drawn: 5", "20 fits of 5 draws");
    changed("field.yaml", "drawn: 20", "draw: 20", "draw");
    let fitted = fits.lines().find(|line| line.starts_with("fitted: ")).expect("a fit");
    let other = "fitted: {timeToFailure: {exponential: {mean: 90h}}, timeToRepair: {exponential: {mean: 2h}}}";
    changed("other.yaml", fitted, other, "is not what its records were fitted with");
    let gamma = fits.replace("{exponential: {mean: ", "{gamma: {shape: 2, scale: ");
    fs::write(dir.path().join("gamma.yaml"), gamma).expect("written");
    wrong("study-of-gamma", &of("crashes", "gamma.yaml"), "is exponential, and the fits of the file are gamma");
    // What is varied has no records of its own.
    let varied = fs::read_to_string(&asked).expect("the study").replace(
        "{name: nodes, path: 'spec.cluster.nodePools[0].count', values: [6, 7]}\n  baseline: {nodes: 6}",
        "{name: repair, path: 'spec.faults[0].timeToRepair.exponential.mean', values: [1h, 2h]}",
    );
    fs::write(dir.path().join("varied.yaml"), varied).expect("written");
    check(&["sweep", &path(dir.path(), "varied.yaml")], "not the same in every variant");
    scenario(dir.path(), "constant.yaml", "- {name: crashes, kind: Crash, timeToFailure: 5d, timeToRepair: 1h}");
    let constant = study(dir.path(), "of-constant", "constant.yaml", INPUTS);
    check(&["sweep", &constant], "has no chance in it");
    let loaded = Study::load(&asked).expect("a study");
    assert!(loaded.clone().cost_by("cvar:95%".parse::<CostBy>().expect("a figure")).is_err());
    assert!(loaded.sweep(&SweepOptions::new().precision(0.05)).is_err());
}

#[test]
fn records_are_drawn_anew_on_the_command_line_as_by_programs() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("outages.csv"), table()).expect("records");
    let [records, faults] = ["outages.csv", "faults.yaml"].map(|name| path(dir.path(), name));
    let options =
        ["--name", FAULT, "--nodes", "10", "--since", "0", "--until", "8640000", "--distribution", "exponential"];
    let import =
        |more: &[&str]| kubesquall(&[&["import", "faults", &records, "-o", &faults], &options[..], more].concat());
    let told = import(&["--resample", "20", "--seed", "7"]).assert().success();
    let told = String::from_utf8_lossy(&told.get_output().stdout).into_owned();
    assert!(told.contains("The records drawn anew, 20 of 20 times fitted:\ntimeToFailure: mean within ±"), "{told}");
    assert_eq!(read(dir.path(), "faults-resampled.yaml"), imported(20).1);
    import(&["--force", "--resample", "19"]).assert().code(2);
    import(&["--force", "--seed", "3"]).assert().code(2);
    // Neither file is replaced unless it is said.
    fs::remove_file(&faults).expect("removed");
    import(&["--resample", "20"]).assert().code(2);
    assert!(!dir.path().join("faults.yaml").exists());
}

/// What was announced, and how many steps of it were done.
#[derive(Default)]
struct Counted {
    announced: Mutex<Vec<u64>>,
    done: AtomicU64,
}

impl Progress for Counted {
    fn begin(&self, steps: u64, _done: u64, _what: &str) {
        self.announced.lock().expect("no panic").push(steps);
    }

    fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_sensitivity_analysis_plays_no_inputs() {
    let (_dir, asked) = whole();
    let without = fs::read_to_string(&asked).expect("the study").replace(INPUTS, "");
    let of = |text: &str| {
        fs::write(&asked, text).expect("a study");
        let counted = Counted::default();
        let few = NonZeroU32::new(2).expect("two");
        let options = SensitivityOptions::new().trajectories(2).replications(few).progress(&counted);
        let outcome = Study::load(&asked).expect("a study").sensitivity(&options).expect("played");
        let (announced, done) = (counted.announced.into_inner().expect("no panic"), counted.done.into_inner());
        (announced, done, outcome.summary_json())
    };
    let (announced, done, summary) = of(&format!("{without}{INPUTS}"));
    let runs = serde_json::from_str::<Value>(&summary).expect("JSON")["runs"].as_u64().expect("a number");
    assert_eq!((&announced[..], done), (&[runs][..], runs), "what is played is what it stands on");
    assert_eq!(of(&without), (announced, done, summary), "and the same as without `inputs`");
}
