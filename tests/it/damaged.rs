//! Results of which something is missing: nothing is told or drawn from a part of a run, and the file and line are named.

use std::fs;
use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use tempfile::TempDir;

fn said(dir: &Path, arguments: &[&str]) -> (i32, String) {
    let output = Command::cargo_bin("kubesquall")
        .expect("the binary")
        .current_dir(dir)
        .args(arguments)
        .timeout(Duration::from_secs(60))
        .output()
        .expect("the binary runs");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The small scenario, and its run in `run`.
fn played() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/small.yaml");
    fs::copy(small, dir.path().join("small.yaml")).expect("the scenario");
    let (status, text) = said(dir.path(), &["run", "small.yaml", "--no-charts", "-q", "--out", "run"]);
    assert!(status <= 1, "{text}");
    dir
}

type Damage = (&'static str, fn(&[u8]) -> Option<Vec<u8>>);

/// What can become of a file; none if it is gone.
const DAMAGES: [Damage; 5] = [
    ("missing", |_| None),
    ("empty", |_| Some(Vec::new())),
    ("cut off", |whole| {
        Some(whole[..whole.len() * 2 / 3 + usize::from(whole[whole.len() * 2 / 3 - 1] == b'\n')].to_vec())
    }),
    ("garbage", |_| Some(vec![0xff, 0xfe, 0, b'\n', 0x80])),
    ("twice", |whole| Some([whole, whole].concat())),
];

#[test]
fn damaged_results_are_refused_with_the_file() {
    let dir = played();
    let explain = |object: &'static str| vec!["explain", "run", object];
    let readers: [(Vec<&str>, &[&str]); 4] = [
        (
            vec!["report", "run"],
            &["summary.json", "events.csv", "nodes.csv", "pods.csv", "workloads.csv", "cluster.csv", "zones.csv"],
        ),
        (explain("deployment/shop/web"), &["summary.json", "causes.csv", "pods.csv", "services.csv"]),
        (explain("node/worker-0"), &["summary.json", "nodes.csv", "workloads.csv"]),
        (
            vec!["diff", "run", "run"],
            &["summary.json", "causes.csv", "events.csv", "faults.csv", "nodes.csv", "pods.csv", "timers.csv"],
        ),
    ];
    for (arguments, files) in readers {
        for file in files {
            let path = dir.path().join("run").join(file);
            let whole = fs::read(&path).expect("a file of the run");
            for (name, damage) in DAMAGES {
                // A name twice is the same name.
                if name == "twice" && arguments[0] == "explain" && !["causes.csv", "summary.json"].contains(file) {
                    continue;
                }
                match damage(&whole) {
                    Some(bytes) => fs::write(&path, bytes).expect("a damaged file"),
                    None => fs::remove_file(&path).expect("no file"),
                }
                let (status, text) = said(dir.path(), &arguments);
                assert_eq!(status, 2, "{arguments:?}, {file} {name}: {text}");
                assert!(text.contains(file), "{arguments:?}, {file} {name}: {text}");
                assert!(!dir.path().join("run/charts").exists(), "{arguments:?}, {file} {name}: charts all the same");
            }
            fs::write(&path, whole).expect("the file as it was");
        }
        let (status, text) = said(dir.path(), &arguments);
        assert_eq!(status, 0, "{arguments:?} of a whole run: {text}");
        let _ = fs::remove_dir_all(dir.path().join("run/charts"));
    }
}

#[test]
fn the_line_of_the_damage_is_named() {
    let dir = played();
    let path = dir.path().join("run/nodes.csv");
    let whole = fs::read_to_string(&path).expect("a file of the run");
    fs::write(&path, whole.replacen("\n0.000,", "\nnoon,", 1)).expect("a damaged file");
    let (status, text) = said(dir.path(), &["report", "run"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("nodes.csv`, line 2: `noon` is not a time in seconds"), "{text}");
    fs::write(&path, whole).expect("the file as it was");

    let path = dir.path().join("run/summary.json");
    fs::write(&path, b"{\n\"scenario\": \"\xff\"}").expect("a damaged file");
    let (_, text) = said(dir.path(), &["explain", "run", "node/worker-0"]);
    assert!(text.contains("line 2 is not text in UTF-8"), "{text}");
}

#[test]
fn a_cause_that_is_not_there_is_no_end_of_a_chain() {
    let dir = played();
    let path = dir.path().join("run/causes.csv");
    let whole = fs::read_to_string(&path).expect("a file of the run");
    let lines: Vec<&str> = whole.lines().collect();
    let without = [&lines[..1], &lines[2..]].concat().join("\n") + "\n";
    fs::write(&path, without).expect("a damaged file");
    let explain = || said(dir.path(), &["explain", "run", "node/worker-0"]);
    let (status, text) = explain();
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("causes.csv`: there are ") && text.contains(" that the run wrote"), "{text}");
    let summary = dir.path().join("run/summary.json");
    let text = fs::read_to_string(&summary).expect("a summary").replace("\"causes.csv\":", "\"nothing.csv\":");
    fs::write(&summary, text).expect("a summary that does not count them");
    let (status, text) = explain();
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("causes.csv`, line ") && text.contains("is no earlier effect"), "{text}");
}

#[test]
fn a_chart_that_is_left_out_is_named_with_the_reason() {
    let dir = played();
    let calm = ["run", "small.yaml", "--no-charts", "-q", "--out", "calm", "--set", "spec.timeline=[]"];
    let (status, text) = said(dir.path(), &calm);
    assert!(status <= 1, "{text}");
    let (status, text) = said(dir.path(), &["report", "calm"]);
    assert_eq!(status, 0, "{text}");
    assert!(
        text.contains("no rescheduling-latency.svg: no pod was taken away for which another was to come"),
        "{text}"
    );
}
