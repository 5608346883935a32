//! The page of two runs: both timelines under one scrubber, and what differs.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use askama::Template;
use serde_json::Value;

use super::{Module, Shell, blocks, modules, visible};
use crate::parallel;
use crate::report::{RunTables, TableError};

/// What the page is made of besides what all pages share.
pub(super) const MODULES: &[Module] =
    modules!["view.js" "scrubber.js" "model.js" "fates.js" "lanes.js" "timeline.js" "pairs.js" "diff.js"];

/// The tables of each run that it shows, and what it calls them: those of the first, and those of the second run.
const TABLES: [(&str, [&str; 2]); 5] = [
    ("faults.csv", ["first-faults", "second-faults"]),
    ("transcript.jsonl", ["first-transcript", "second-transcript"]),
    ("cluster.csv", ["first-cluster", "second-cluster"]),
    ("workloads.csv", ["first-workloads", "second-workloads"]),
    ("disruptions.csv", ["first-disruptions", "second-disruptions"]),
];

#[derive(Template)]
#[template(path = "diff.html")]
struct Page<'a> {
    shell: Shell<'a>,
    before: String,
    after: String,
}

/// The text of the page of two runs; `diff` is what was found to differ, as `diff -o json` prints it.
///
/// # Errors
///
/// If a table is missing or damaged: nothing is shown of a part of a run.
pub fn draw_diff_page(runs: [&RunTables; 2], diff: &Value) -> Result<String, TableError> {
    let wanted: Vec<(&RunTables, &str, &'static str)> = TABLES
        .iter()
        .flat_map(|(file, names)| runs.into_iter().zip(names).map(move |(run, name)| (run, *file, *name)))
        .collect();
    let block = |(run, file, _): &(&RunTables, &str, &str)| {
        run.find(file).map(|table| table.map(|of| blocks::block(of, &blocks::Names::default())))
    };
    let mut tables = Vec::new();
    for ((_, _, name), block) in wanted.iter().zip(parallel::map(&wanted, block)) {
        tables.extend(block?.map(|block| (*name, block)));
    }
    let [before, after] = runs.map(|run| run.summary()["scenario"].as_str().unwrap_or_default());
    let title = if before == after { before.to_owned() } else { format!("{before} and {after}") };
    let [before, after] = runs.map(|run| visible(&run.dir().display().to_string()).into_owned());
    let page = Page { shell: Shell::new(&title, MODULES, diff, tables), before, after };
    Ok(page.render().expect("a template of texts writes to memory"))
}

/// What the head of such a page says, and of no other: the page of a run is not one that may be replaced.
const MARK: &str = "<meta name=\"generator\" content=\"kubesquall diff\">";

/// Whether nothing else is lost if the page of two runs is written there: there is no file, or an earlier page of two runs.
#[must_use]
pub fn is_place_of_page(path: &Path) -> bool {
    const HEAD_LENGTH: u64 = 8192;
    let mut head = Vec::new();
    match File::open(path).and_then(|file| file.take(HEAD_LENGTH).read_to_end(&mut head)) {
        Ok(_) => {
            let head = String::from_utf8_lossy(&head);
            head.is_empty() || head.starts_with("<!doctype html>") && head.contains(MARK)
        }
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_contain_is_text_and_the_page_is_known_as_ours() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let hostile = "</script><script>alert(1)</script>\"><img src=x onerror=alert(1)>";
        let summary = serde_json::json!({"scenario": hostile});
        let diff = serde_json::json!({"verdict": [{"tone": "bad", "text": hostile}], "runs": [{"dir": hostile}, {}]});
        let run = RunTables::new(dir.path().join(hostile.replace('/', "")), summary);
        let page = draw_diff_page([&run, &run], &diff).expect("a page");
        assert!(!page.contains("<img") && !page.contains("<script>alert"));
        assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
        let place = dir.path().join("diff.html");
        assert!(is_place_of_page(&place));
        std::fs::write(&place, page).expect("a file");
        assert!(is_place_of_page(&place));
        for theirs in ["<!doctype html>\n<title>mine</title>", "<!doctype html>\n<title>run · kubesquall</title>"] {
            std::fs::write(&place, theirs).expect("a file");
            assert!(!is_place_of_page(&place) && !is_place_of_page(dir.path()), "{theirs}");
        }
    }
}
