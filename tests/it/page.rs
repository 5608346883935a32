//! `report.html` as the program writes it; what it shows in a browser is tested in `web/test`.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

fn status(dir: &Path, arguments: &str) -> i32 {
    let mut command = Command::cargo_bin("kubesquall").expect("the binary");
    let output = command.current_dir(dir).args(arguments.split(' ')).output().expect("the binary runs");
    output.status.code().unwrap_or(-1)
}

/// The small scenario.
fn place() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/small.yaml");
    fs::copy(small, dir.path().join("small.yaml")).expect("the scenario");
    dir
}

fn page(dir: &Path) -> String {
    fs::read_to_string(dir.join("run/report.html")).expect("the page")
}

#[test]
fn the_page_is_made_from_the_directory_alone() {
    let dir = place();
    assert_eq!(status(dir.path(), "run small.yaml -q --out run"), 0);
    let whole = page(dir.path());
    fs::remove_file(dir.path().join("run/report.html")).expect("removed");
    assert_eq!(status(dir.path(), "report run"), 0);
    assert!(page(dir.path()) == whole, "made again, the page is another");
    let files = fs::read_dir(dir.path().join("run")).expect("the run").map(|file| file.expect("a file").path());
    let tables: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|end| end == "csv" || end == "jsonl")).collect();
    assert!(tables.len() > 10, "{tables:?}");
    for table in tables.iter().filter(|table| !table.ends_with("zones.csv")) {
        let name = table.file_stem().and_then(|name| name.to_str()).expect("a name");
        assert!(whole.contains(&format!("id=\"table-{name}\"")), "the page has no {name}");
    }
    assert!(whole.contains("default-src &#39;none&#39;") && !whole.contains("http-equiv=\"refresh\""));
    assert!(!whole.contains(" style=\"") && !whole.contains(" onclick=\""), "the page's own policy forbids that");
}

#[test]
fn without_charts_there_is_no_page() {
    let dir = place();
    assert_eq!(status(dir.path(), "run small.yaml -q --no-charts --out run"), 0);
    assert!(!dir.path().join("run/report.html").exists());
}

#[test]
fn runs_of_older_versions_have_a_page_and_damaged_ones_have_none() {
    let dir = place();
    assert_eq!(status(dir.path(), "run small.yaml -q --no-charts --out run"), 0);
    let run = dir.path().join("run");
    let timers = fs::read(run.join("timers.csv")).expect("a table");
    fs::remove_file(run.join("timers.csv")).expect("removed");
    assert_eq!(status(dir.path(), "report run"), 2);
    assert!(!run.join("report.html").exists());
    let mut summary: Value =
        serde_json::from_slice(&fs::read(run.join("summary.json")).expect("a summary")).expect("JSON");
    summary["rows"].as_object_mut().expect("counts").remove("timers.csv");
    fs::write(run.join("summary.json"), summary.to_string()).expect("written");
    assert_eq!(status(dir.path(), "report run"), 0);
    assert!(!page(dir.path()).contains("id=\"table-timers\""));
    // A table whose rows nobody has counted is still to be whole.
    fs::write(run.join("timers.csv"), &timers[..timers.len() - 1]).expect("written");
    assert_eq!(status(dir.path(), "report run"), 2);
}
