//! Input that cannot be used, or that may not mean what its author thinks: a file and what is said about it.
//!
//! `tests/invalid/<case>.yaml` (or `.json`) is run through the binary; `<case>.stderr` is what must be said. Comments at the
//! top of the file may give arguments (`# args: --set spec.seed=1`), the exit status (`# exit: 0`; 2 if not said), and
//! another command than `run` (`# command: sweep`). What is too large is refused by the memory at hand: such cases say `--max-pods`.
//! `UPDATE=1` writes the expected texts anew; they are to be read before they are kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;

use super::determinism::files;
use super::expected::difference;

/// Far above what any of the cases takes; a case that takes longer has no exit status.
const TIME_MAX: Duration = Duration::from_secs(20);

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/invalid")
}

/// The value of a comment at the top of a file.
fn header<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let comments = text.lines().take_while(|line| line.starts_with('#'));
    comments.filter_map(|line| line.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(": ")).next()
}

/// A result of an earlier run, which must survive.
fn earlier_result(root: &Path) -> PathBuf {
    let place = root.join("reports");
    fs::create_dir(&place).expect("a directory");
    fs::write(place.join("summary.json"), "{\"scenario\": \"earlier\", \"version\": \"0.1.0\"}\n").expect("a file");
    fs::write(place.join("events.csv"), "time_s\n1.000\n").expect("a file");
    place
}

fn check(name: &str) -> Result<(), String> {
    let path = dir().join(name);
    let bytes = fs::read(&path).expect("a case");
    let text = String::from_utf8_lossy(&bytes);
    let arguments = header(&text, "args").unwrap_or_default();
    let command = header(&text, "command").unwrap_or("run --no-charts");
    let status: i32 = header(&text, "exit").map_or(2, |status| status.parse().expect("an exit status"));
    let root = tempfile::tempdir().expect("a temporary directory");
    let place = earlier_result(root.path());
    let before = files(root.path());
    let out = if status == 0 { root.path().join("new") } else { place };
    let output = Command::cargo_bin("kubesquall")
        .expect("the binary")
        .current_dir(dir())
        .args(command.split_whitespace())
        .arg("--out")
        .arg(&out)
        .arg(name)
        .args(arguments.split_whitespace())
        .timeout(TIME_MAX)
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    let mut problems = Vec::new();
    if output.status.code() != Some(status) {
        problems.push(format!("exit status {:?}, expected {status}", output.status.code()));
    }
    if status != 0 && files(root.path()) != before {
        problems.push("the results of the earlier run are not as they were".to_owned());
    }
    if status != 0 && !output.stdout.is_empty() {
        problems.push("something is on standard output".to_owned());
    }
    // Where the results are, which is another place each time, is said last.
    let found = String::from_utf8_lossy(&output.stderr).into_owned();
    let found: String = found.split_inclusive('\n').filter(|line| !line.starts_with("results in ")).collect();
    problems.extend(difference(&path.with_extension("stderr"), &found));
    if status != 0 && found.is_empty() {
        problems.push("nothing is said".to_owned());
    }
    if problems.is_empty() { Ok(()) } else { Err(format!("{name}: {}", problems.join("; "))) }
}

#[test]
fn input_that_cannot_be_used_is_refused_with_the_place_and_a_way_out() {
    let entries = fs::read_dir(dir()).expect("cases").map(|entry| entry.expect("an entry").file_name());
    let names: Vec<String> = entries.filter_map(|name| name.into_string().ok()).collect();
    let is_case = |name: &&String| name.ends_with(".yaml") || name.ends_with(".json");
    let mut cases: Vec<&String> = names.iter().filter(is_case).collect();
    cases.sort();
    assert!(cases.len() > 40, "{} cases", cases.len());
    let problems: Vec<String> = cases.iter().filter_map(|name| check(name).err()).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    let has_case = |name: &&String| {
        let stem = name.strip_suffix(".stderr").unwrap_or_default();
        cases.iter().any(|case| case.strip_suffix(".yaml").or(case.strip_suffix(".json")) == Some(stem))
    };
    let forgotten: Vec<&String> =
        names.iter().filter(|name| name.ends_with(".stderr")).filter(|name| !has_case(name)).collect();
    assert!(forgotten.is_empty(), "expected texts without a case: {forgotten:?}");
}
