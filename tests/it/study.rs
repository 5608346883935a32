//! Studies on the command line: parts make the whole, and a sweep that is killed goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use assert_cmd::assert::OutputAssertExt as _;

fn kubesquall(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubesquall"));
    command.args(arguments);
    command
}

/// A study of 3 variants with 20 runs each.
fn study(dir: &Path) -> PathBuf {
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/studies/shop-year.yaml");
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Study\nmetadata: {{name: small}}\nspec:\n  scenario: {}\n  \
         replications: 20\n  vary:\n  - name: wait\n    tolerationSeconds: {{workloads: [deployment/shop/*], values: [0, 60, 300]}}\n  \
         cost: {{unreadyReplicaSeconds: 1, evictions: 30}}\n",
        scenario.display()
    );
    let path = dir.join("small.yaml");
    fs::write(&path, text).expect("a study");
    path
}

/// The tables and the summary of a study's directory.
fn results(dir: &Path) -> Vec<String> {
    let read = |name| fs::read_to_string(dir.join(name)).expect("a result");
    ["runs.csv", "variants.csv", "summary.json", "charts/cost-curve.svg"].map(read).to_vec()
}

#[test]
fn parts_make_the_whole_whatever_the_number_of_threads() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = study(dir.path());
    let study = study.to_str().expect("plain text");
    let place = |name: &str| dir.path().join(name).to_str().expect("plain text").to_owned();
    kubesquall(&["sweep", study, "-q", "--jobs", "2", "--out", &place("whole")]).assert().success();
    for (part, out) in [("1/2", "one"), ("2/2", "two")] {
        kubesquall(&["sweep", study, "-q", "--jobs", "1", "--shard", part, "--out", &place(out)]).assert().success();
    }
    kubesquall(&["merge", "-q", &place("two"), &place("one"), "--out", &place("merged")]).assert().success();
    assert_eq!(results(&dir.path().join("merged")), results(&dir.path().join("whole")));
    let incomplete = kubesquall(&["merge", &place("two"), "--out", &place("half")]).assert().code(2);
    let said = String::from_utf8_lossy(&incomplete.get_output().stderr).into_owned();
    assert!(said.contains("part 1/2 is missing"), "{said}");
}

#[test]
fn a_sweep_that_is_killed_goes_on_where_it_was() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = study(dir.path());
    let study = study.to_str().expect("plain text");
    let place = |name: &str| dir.path().join(name).to_str().expect("plain text").to_owned();
    kubesquall(&["sweep", study, "-q", "--out", &place("whole")]).assert().success();
    let journal = dir.path().join("killed.journal.tmp");
    for attempt in 0..4 {
        let mut arguments = vec!["sweep", study, "-q", "--jobs", "1"];
        let out = place("killed");
        arguments.extend(["--out", &out]);
        if journal.exists() {
            arguments.push("--resume");
        }
        let mut child = kubesquall(&arguments).stderr(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(60 + 70 * attempt));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    let mut last = vec!["sweep", study, "-q"];
    let out = place("killed");
    last.extend(["--out", &out]);
    if journal.exists() {
        kubesquall(&last).assert().code(2);
        last.push("--resume");
    }
    kubesquall(&last).assert().success();
    assert_eq!(results(&dir.path().join("killed")), results(&dir.path().join("whole")));
    assert!(!journal.exists());
}
