//! Two runs side by side: what went in, where they first went apart and why, whose fate changed.

use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

fn said(dir: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("kubesquall")
        .expect("the binary")
        .current_dir(dir)
        .args(arguments)
        .timeout(Duration::from_secs(120))
        .output()
        .expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Plays the zone outage with these arguments besides.
fn play(dir: &TempDir, name: &str, arguments: &[&str]) {
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/zone-outage.yaml");
    let scenario = scenario.to_str().expect("a path in UTF-8");
    let all = [&["run", scenario, "--no-charts", "-q", "--out", name], arguments].concat();
    let (status, _, problem) = said(dir.path(), &all);
    assert!(status <= 1, "{problem}");
}

fn compared(dir: &TempDir, before: &str, after: &str) -> (Value, String) {
    let (status, json, problem) = said(dir.path(), &["diff", before, after, "-o", "json"]);
    assert_eq!(status, 0, "{problem}");
    let (status, text, problem) = said(dir.path(), &["diff", before, after]);
    assert_eq!(status, 0, "{problem}");
    (serde_json::from_str(&json).expect("JSON"), text)
}

#[test]
fn names_that_chance_makes_are_no_difference() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    play(&dir, "one", &["--seed", "1"]);
    play(&dir, "two", &["--seed", "2"]);
    let (found, _) = compared(&dir, "one", "two");
    let nameless = |side: &Value| {
        let what = side["what"].as_str().expect("a row").to_owned();
        let words = what.split(' ').map(|word| word.rsplit_once('-').map_or(word, |(stem, _)| stem).to_owned());
        words.collect::<Vec<_>>().join(" ")
    };
    for apart in
        ["first", "by_more"].map(|name| &found["divergence"][name]).into_iter().filter(|apart| apart.is_object())
    {
        let (before, after) = (&apart["before"], &apart["after"]);
        if before.is_object() && after.is_object() {
            assert!(before["at_s"] != after["at_s"] || nameless(before) != nameless(after), "{apart:#}");
        }
    }
    assert!(found["divergence"].is_object(), "{found:#}");
}

const TOLERATION: &str = "spec.controlPlane.kubeApiserver.default-unreachable-toleration-seconds";

#[test]
fn two_runs_are_told_apart_by_what_went_in() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    play(&dir, "base", &[]);
    play(&dir, "again", &[]);
    let (found, text) = compared(&dir, "base", "again");
    assert_eq!((&found["alike"], &found["inputs"]["same"]), (&Value::Bool(true), &Value::Bool(true)));
    assert!(text.contains("No difference") && text.contains("The inputs were the same"), "{text}");

    play(&dir, "tolerant", &["--set", &format!("{TOLERATION}=60")]);
    let (found, text) = compared(&dir, "base", "tolerant");
    let setting = &found["inputs"]["settings"][0];
    assert_eq!((setting["path"].as_str(), setting["after"].as_str()), (Some(TOLERATION), Some("\"60\"")));
    assert_eq!(found["divergence"]["why"]["kind"], "settings");
    // The first wait of an evicted pod, which begins when its node is tainted.
    let first = &found["divergence"]["first"];
    assert_eq!(first["table"], "timers.csv");
    let waits =
        |side: &str| first[side]["what"].as_str().expect("a wait").split(" for ").nth(1).expect("a length").to_owned();
    assert_eq!((waits("before").as_str(), waits("after").as_str()), ("300.000 s: toleration", "60.000 s: toleration"));
    let worse: Vec<f64> = found["workloads"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|of| of["worse_s"].as_f64().expect("in both"))
        .collect();
    assert!(worse.len() > 5 && worse.windows(2).all(|pair| pair[0].abs() >= pair[1].abs()), "{worse:?}");
    assert!(worse[0] < -200.0 && text.contains("0 workloads fared worse"), "{text}");

    play(&dir, "chance", &["--seed", "43"]);
    let (found, text) = compared(&dir, "base", "chance");
    assert_eq!(found["divergence"]["why"]["kind"], "chance");
    assert_eq!(found["inputs"]["only_seed"], true);
    assert!(text.contains("the seed is 42 in the first run and 43 in the second"), "{text}");

    play(&dir, "both", &["--seed", "43", "--set", &format!("{TOLERATION}=60")]);
    let (found, text) = compared(&dir, "base", "both");
    assert_eq!(found["divergence"]["why"]["kind"], "unknown");
    assert!(text.contains("chance, as the seeds differ, or the only setting that differs"), "{text}");

    play(&dir, "later", &["--set", "spec.timeline[0].at=6m"]);
    let (found, _) = compared(&dir, "base", "later");
    let why = &found["divergence"]["why"];
    assert_eq!((&why["kind"], why["at_s"].as_f64()), (&Value::from("timeline"), Some(300.0)), "{why}");
    assert_eq!(found["only"][0]["kind"], "fault");

    play(&dir, "shorter", &["--until", "20m"]);
    let (found, text) = compared(&dir, "base", "shorter");
    assert_eq!((&found["divergence"], &found["alike"]), (&Value::Null, &Value::Bool(false)));
    assert!(text.contains("The same happened in both, up to 20m00.0s"), "{text}");
    assert!(text.contains("They are not equally long: 40m0s and 20m0s"), "{text}");
    // What a run did not see it has not spared anybody.
    let shorter =
        found["workloads"].as_array().expect("a list").iter().filter(|of| of["worse_s"].as_f64() < Some(-1.0));
    assert!(shorter.count() > 0 && !text.contains(" better,") && !text.contains(" better\n"), "{text}");
    assert!(text.contains("0 workloads fared worse in the second run, though it was shorter"), "{text}");
    let (_, text) = compared(&dir, "shorter", "base");
    assert!(text.contains("0 workloads fared better in the second run, though it was longer"), "{text}");
}
