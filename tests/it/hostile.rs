//! Names and texts that were written to do harm: on a terminal, in CSV, in charts. What they do in a browser is tested in `web/test`.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Moves the cursor, sets the window's title, turns the direction of writing, is a formula, is markup.
const NASTY: &str =
    "=cmd()|/C calc!A1 </script><img src=x onerror=alert(1)>\"><b>\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}abc";

fn output(dir: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("kubesquall").expect("the binary");
    let output = command.current_dir(dir).args(arguments).output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// A run in which such texts stand where the API takes any text: annotations, commands, lines that are typed, names of files.
fn played() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let long = "a".repeat(253);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": long, "namespace": "default", "annotations": {"example.com/note": NASTY}, "labels": {"long": "b".repeat(63)}},
        "spec": {"containers": [{"name": "c", "image": "i", "command": [NASTY], "resources": {"requests": {"cpu": "5"}}}]},
    });
    let manifests = dir.path().join("=cmd() <b>");
    fs::create_dir(&manifests).expect("a directory");
    fs::write(manifests.join("<script>.yaml"), pod.to_string()).expect("a manifest");
    let node = json!({
        "metadata": {"annotations": {"example.com/note": NASTY}},
        "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"}},
    });
    let patch = "{\"metadata\": {\"annotations\": {\"note\": \"\u{202e}abc\"}}, \"spec\": {\"unschedulable\": true}}";
    let mut scenario = json!({
        "apiVersion": "kubesquall.sim/v1alpha1", "kind": "Scenario", "metadata": {"name": "hostile"},
        "spec": {
            "duration": "10m",
            "cluster": {"manifests": ["=cmd() <b>"], "nodePools": [{"name": "n", "count": 2, "template": node}]},
            "timeline": [
                {"at": "1m", "kubectl": format!("annotate node n-0 'note={NASTY}'")},
                {"at": "2m", "kubectl": format!("delete pod '{NASTY}'")},
                {"at": "9m", "kubectl": format!("patch node n-0 -p '{patch}'")},
            ],
        },
    });
    fs::write(dir.path().join("hostile.yaml"), scenario.to_string()).expect("a scenario");
    scenario["spec"]["timeline"] = json!([]);
    fs::write(dir.path().join("calm.yaml"), scenario.to_string()).expect("a scenario");
    dir
}

fn assert_harmless(text: &str, what: &str) {
    let active = |c: &char| {
        (c.is_control() && *c != '\n' && *c != '\t') || matches!(*c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let found: Vec<char> = text.chars().filter(active).collect();
    assert!(found.is_empty(), "{what} has {found:?}:\n{}", text.escape_debug());
}

#[test]
fn a_terminal_is_not_steered_by_names() {
    let dir = played();
    let (status, stdout, stderr) = output(dir.path(), &["run", "hostile.yaml", "--out", "run"]);
    assert_eq!(status, 0, "{stderr}");
    assert!(stdout.contains(r"\u{1b}[2J") && stdout.contains(r"\u{202e}"), "{stdout}");
    assert_harmless(&stdout, "run");
    assert_harmless(&stderr, "run's standard error");
    assert_eq!(output(dir.path(), &["-q", "run", "calm.yaml", "--out", "calm"]).0, 0);
    let escaped = r"\u{202e}";
    for (arguments, wanted, seen) in [
        (&["explain", "run", "n-0", "--all"][..], 0, escaped),
        (&["explain", "run", "n-0"], 0, escaped),
        (&["diff", "run", "calm"], 0, escaped),
        (&["check", "hostile.yaml"], 0, "owned\\u0007\u{fffd}abc"),
        (&["explain", "run", NASTY], 2, escaped),
        (&["run", NASTY], 2, escaped),
    ] {
        let (status, stdout, stderr) = output(dir.path(), arguments);
        assert_eq!(status, wanted, "{arguments:?}: {stderr}");
        // It is told, and harmless.
        assert!(format!("{stdout}{stderr}").contains(seen), "{arguments:?}:\n{stdout}{stderr}");
        assert_harmless(&stdout, arguments[0]);
        assert_harmless(&stderr, arguments[0]);
    }
    let (_, colored, _) = output(dir.path(), &["run", "hostile.yaml", "--out", "run", "--force", "--color", "always"]);
    assert!(
        colored.contains("\u{1b}[") && !colored.contains("\u{1b}[2J") && !colored.contains("\u{1b}]"),
        "{colored:?}"
    );
}

/// All files are read by one reader, which is bounded and says where a text is none.
#[test]
fn texts_that_are_none_have_a_line_in_every_command() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("bad.csv"), b"node,start,end\nn\xff1,1h,2h\n").expect("a file");
    fs::write(dir.path().join("notes.txt"), "nothing").expect("a file");
    let node =
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}\n";
    fs::write(dir.path().join("cluster.yaml"), node).expect("a file");
    for arguments in [
        &["import", "faults", "bad.csv", "-o", "f.yaml"][..],
        &["import", "outage", "notes.txt", "--cluster", "cluster.yaml", "--latencies", "bad.csv", "-o", "out"],
    ] {
        let (status, _, said) = output(dir.path(), arguments);
        assert_eq!(status, 2, "{arguments:?}: {said}");
        assert!(said.contains("`bad.csv` is not UTF-8 text: line 2 has other bytes"), "{arguments:?}: {said}");
    }
}

/// A message is about a file or a directory, by the name that the command line has for it.
#[test]
fn imports_name_the_file_and_the_flag_that_they_have() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(dir.path().join("foreign")).expect("a directory");
    fs::write(dir.path().join("foreign/thesis.txt"), "years of work").expect("a file");
    fs::write(dir.path().join("none.csv"), "node,failed,repaired\n").expect("a file");
    fs::write(dir.path().join("one.csv"), "node,failed,repaired\na,3600,7200\nb,7200,9000\n").expect("a file");
    for (arguments, expected) in [
        (
            "import outage none.csv --cluster none.csv -o foreign",
            "foreign exists and is not an outage that kubesquall imported (it has no evidence.json of ours); choose another --output, or \
             --force to replace it",
        ),
        ("import faults none.csv -o f.yaml", "`none.csv`: there are no rows below the line that names the columns"),
        (
            "import faults one.csv none.csv -o f.yaml --nodes 1",
            "`one.csv`, `none.csv`: 2 nodes have failed, which are more than 1",
        ),
        ("import faults one.csv -o f.yaml --since never", "`never` is not an instant"),
    ] {
        let (status, _, said) = output(dir.path(), &arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(status, 2, "{arguments}: {said}");
        assert!(said.contains(&format!("error: {expected}")), "{arguments}: {said}");
    }
}

#[test]
fn data_keep_every_byte() {
    let dir = played();
    let (status, stdout, stderr) = output(dir.path(), &["run", "hostile.yaml", "--out", "run", "-o", "json"]);
    assert_eq!(status, 0, "{stderr}");
    let summary: Value = serde_json::from_str(&stdout).expect("JSON");
    let verdict = summary["verdict"].as_array().expect("sentences");
    assert!(verdict.iter().any(|said| said["text"].as_str().is_some_and(|text| text.contains(NASTY))), "{stdout}");
    let rows = |file: &str| -> Vec<csv::StringRecord> {
        let mut reader = csv::Reader::from_path(dir.path().join("run").join(file)).expect("a table");
        reader.records().map(|row| row.expect("a row")).collect()
    };
    let has = |file: &str, wanted: &dyn Fn(&str) -> bool| rows(file).iter().any(|row| row.iter().any(wanted));
    // Nothing is put before a `=`: who reads the tables finds the names by which the cluster knows them.
    assert!(has("events.csv", &|cell| cell.contains(NASTY)));
    assert!(has("causes.csv", &|cell| cell.contains(NASTY)));
    assert!(has("pods.csv", &|cell| cell == "a".repeat(253)));
    assert!(has("not-modelled.csv", &|cell| cell.starts_with("=cmd() <b>")));
}

#[test]
fn charts_are_well_formed_and_hold_no_markup_of_others() {
    let dir = played();
    let (status, _, stderr) = output(dir.path(), &["-q", "run", "hostile.yaml", "--out", "run"]);
    assert_eq!(status, 0, "{stderr}");
    let charts = fs::read_dir(dir.path().join("run/charts")).expect("charts").map(|file| file.expect("a file").path());
    let mut told = 0;
    for path in charts {
        let text = fs::read_to_string(&path).expect("a chart");
        assert_harmless(&text, &path.display().to_string());
        assert!(!text.contains("<script") && !text.contains("<img") && !text.contains("<b>"), "{}", path.display());
        assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
        told += text.matches("=cmd()").count();
    }
    assert!(told > 0, "no chart names the line that was typed");
}
