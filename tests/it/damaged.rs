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
fn absurd_figures_are_refused_or_drawn_but_stop_nothing() {
    let dir = played();
    let absurd = [
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "4000000000000000000",
        "9000000000.000",
    ];
    let cells = [
        ("cluster.csv", "pods_ready"),
        ("cluster.csv", "nodes_ready"),
        ("workloads.csv", "desired"),
        ("workloads.csv", "ready"),
        ("nodes.csv", "pods"),
        ("zones.csv", "allocatable_pods"),
        ("pods.csv", "ready_s"),
        ("faults.csv", "ended_s"),
    ];
    for (file, column) in cells {
        let path = dir.path().join("run").join(file);
        let whole = fs::read_to_string(&path).expect("a file of the run");
        let header: Vec<&str> = whole.lines().next().expect("a header").split(',').collect();
        let Some(place) = header.iter().position(|name| *name == column) else {
            panic!("{file} has no {column}: {header:?}")
        };
        for value in absurd {
            let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
            let last = lines.last_mut().expect("a row");
            let mut cells: Vec<&str> = last.split(',').collect();
            cells[place] = value;
            *last = cells.join(",");
            fs::write(&path, lines.join("\n") + "\n").expect("a damaged file");
            let (status, text) = said(dir.path(), &["report", "run", "-q"]);
            assert!(status == 0 || status == 2 && text.contains(file), "{file}, {column} is {value}: {status}: {text}");
        }
        fs::write(&path, whole).expect("the file as it was");
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
    assert!(text.contains("causes.csv`: there are ") && text.contains(" that were written"), "{text}");
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

const STUDY: &str = "\
apiVersion: kubesquall.sim/v1alpha1
kind: Study
metadata: {name: sooner}
spec:
  scenario: ../small.yaml
  replications: 2
  vary: [{name: t, tolerationSeconds: {workloads: [deployment/shop/*], values: [0, 300]}}]
  cost: {unreadyReplicaSeconds: 1}
";

const PLAN: &str = "\
apiVersion: kubesquall.sim/v1alpha1
kind: Plan
metadata: {name: fewest}
spec:
  scenario: ../small.yaml
  pools: [{name: worker, min: 2, max: 4}]
  survive: [zone]
";

#[test]
fn the_last_rows_of_studies_and_plans_are_missed() {
    let dir = played();
    fs::create_dir(dir.path().join("asked")).expect("a directory");
    fs::write(dir.path().join("asked/study.yaml"), STUDY).expect("a study");
    fs::write(dir.path().join("asked/plan.yaml"), PLAN).expect("a plan");
    for (command, file, tables) in [
        ("tune", "asked/study.yaml", &["runs.csv", "variants.csv", "workloads.csv", "tuning.csv"][..]),
        ("plan", "asked/plan.yaml", &["plan.csv", "cases.csv", "blast-radius.csv"]),
    ] {
        let blasts: &[&str] = if command == "plan" { &["--blast-radius"] } else { &[] };
        let (status, text) = said(dir.path(), &[&[command, file, "-q", "--out", command], blasts].concat());
        assert!(status <= 1, "{text}");
        let summary = fs::read_to_string(dir.path().join(command).join("summary.json")).expect("a summary");
        assert!(summary.contains(&format!("\"file\": \"{file}\"")), "{command} does not name its file");
        for table in tables {
            let path = dir.path().join(command).join(table);
            let whole = fs::read_to_string(&path).expect("a table");
            let lines: Vec<&str> = whole.lines().collect();
            fs::write(&path, lines[..lines.len() - 1].join("\n") + "\n").expect("a table without its last row");
            let (status, text) = said(dir.path(), &["report", command]);
            assert_eq!(status, 2, "{table}: {text}");
            assert!(text.contains(table) && text.contains(" that were written"), "{table}: {text}");
            fs::write(&path, whole).expect("the table as it was");
        }
        let (status, text) = said(dir.path(), &["report", command]);
        assert_eq!(status, 0, "{command}: {text}");
    }
}

#[test]
fn a_lock_file_whose_end_is_missing_is_played_and_compared_by_nobody() {
    let dir = played();
    let path = dir.path().join("run/scenario.lock.yaml");
    let whole = fs::read_to_string(&path).expect("a lock file");
    let objects = whole.rfind("\n---\n").expect("objects") + 1;
    for rest in [&whole[..objects], &whole[..whole.len() - 1]] {
        fs::write(&path, rest).expect("a part of it");
        for arguments in [&["report", "run"][..], &["diff", "run", "run"], &["run", "run/scenario.lock.yaml", "-q"]] {
            let (status, text) = said(dir.path(), arguments);
            assert_eq!(status, 2, "{arguments:?}: {text}");
            assert!(text.contains("scenario.lock.yaml"), "{arguments:?}: {text}");
        }
    }
    fs::write(&path, &whole).expect("the file as it was");
    let (status, text) = said(dir.path(), &["run", "run/scenario.lock.yaml", "--no-charts", "-q", "--out", "again"]);
    assert!(status <= 1, "{text}");
    assert_eq!(fs::read_to_string(dir.path().join("again/scenario.lock.yaml")).expect("a lock file"), whole);
}

#[test]
fn the_page_of_two_runs_replaces_no_file_of_a_run_and_is_not_called_minus() {
    let dir = played();
    let (status, text) = said(dir.path(), &["report", "run"]);
    assert_eq!(status, 0, "{text}");
    let page = dir.path().join("run/report.html");
    let before = fs::read(&page).expect("the page of the run");
    fs::copy(&page, dir.path().join("copy.html")).expect("a copy");
    for (place, why) in [
        ("run/report.html", "a file of their own"),
        ("run/charts/mine.svg", "a file of their own"),
        ("copy.html", "no page of two runs"),
        ("-", "`-` is none"),
        ("none/diff.html", "no directory"),
        ("run", "no page of two runs"),
    ] {
        let (status, text) = said(dir.path(), &["diff", "run", "run", "--html", place]);
        assert_eq!(status, 2, "{place}: {text}");
        assert!(text.contains(why), "{place}: {text}");
    }
    assert_eq!(fs::read(&page).expect("the page"), before);
    assert!(!dir.path().join("-").exists());
    for _ in 0..2 {
        let (status, text) = said(dir.path(), &["diff", "run", "run", "--html", "diff.html"]);
        assert_eq!(status, 0, "{text}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_drawn_again_is_not_written_through_links() {
    let dir = played();
    let theirs = dir.path().join("thesis.txt");
    fs::write(&theirs, "years of work").expect("a file");
    std::os::unix::fs::symlink(&theirs, dir.path().join("run/report.html")).expect("a link");
    let (status, text) = said(dir.path(), &["report", "run"]);
    assert_eq!(status, 0, "{text}");
    assert_eq!(fs::read_to_string(&theirs).expect("still there"), "years of work");
    fs::remove_dir_all(dir.path().join("run/charts")).expect("removed");
    fs::create_dir(dir.path().join("pictures")).expect("a directory");
    std::os::unix::fs::symlink(dir.path().join("pictures"), dir.path().join("run/charts")).expect("a link");
    let (status, text) = said(dir.path(), &["report", "run"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("run/charts` is a link"), "{text}");
    fs::remove_file(dir.path().join("run/charts")).expect("removed");
    fs::create_dir_all(dir.path().join("run/charts/node-states.svg/x")).expect("a directory");
    let (status, text) = said(dir.path(), &["report", "run"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("run/charts/node-states.svg"), "{text}");
}
