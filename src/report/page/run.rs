//! The page of a run: every table of its directory, at any instant.

use askama::Template;
use serde_json::Value;

use super::{Module, Shell, blocks, modules};
use crate::parallel;
use crate::report::{RunTables, TableError};

/// What the page is made of besides what all pages share.
pub(super) const MODULES: &[Module] = modules![
    "view.js" "scrubber.js" "model.js" "fates.js" "timers.js" "lanes.js" "words.js" "story.js" "record.js" "recovery.js" "told-others.js" "told.js" "grid.js" "curves.js" "timeline.js" "tiles.js" "cluster.js" "stories.js"
    "costs.js" "agreement.js" "tables.js" "listing.js" "pairs.js" "live.js" "knobs.js" "follow.js" "whatif.js" "main.js"
];

/// What the page does without: the nodes say the same.
const LEFT_OUT: &str = "zones.csv";

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    shell: Shell<'a>,
    seed: String,
    version: &'a str,
    kubernetes_version: &'a str,
    duration: &'a str,
    overrides: Vec<&'a str>,
}

/// The text of the page of a run.
///
/// # Errors
///
/// If a table is missing or damaged: nothing is shown of a part of a run.
pub fn draw_run_page(run: &RunTables) -> Result<String, TableError> {
    draw_with(run, |_| {})
}

/// The same, with what `change` makes of it.
pub(super) fn draw_with(run: &RunTables, change: impl FnOnce(&mut Shell<'_>)) -> Result<String, TableError> {
    let files: Vec<&'static str> = run.infos().map(|table| table.file).filter(|file| *file != LEFT_OUT).collect();
    let pods = run.find("pods.csv")?;
    let (names, none) = (pods.map(|pods| blocks::Names::of(pods)).unwrap_or_default(), blocks::Names::default());
    let block = |file: &&str| {
        let names = if *file == "pods.csv" { &none } else { &names };
        run.find(file).map(|table| table.map(|table| blocks::block(table, names)))
    };
    let mut tables = Vec::new();
    for (file, block) in files.iter().zip(parallel::map(&files, block)) {
        tables.extend(block?.map(|block| (file.split('.').next().unwrap_or(file), block)));
    }
    let summary = run.summary();
    let text = |field: &str| summary[field].as_str().unwrap_or_default();
    let overrides = summary["overrides"].as_array().into_iter().flatten();
    let mut page = Page {
        seed: summary["seed"].to_string(),
        version: text("version"),
        kubernetes_version: text("kubernetes_version"),
        duration: text("duration"),
        overrides: overrides.filter_map(Value::as_str).collect(),
        shell: Shell::new(text("scenario"), MODULES, summary, tables),
    };
    change(&mut page.shell);
    Ok(page.render().expect("a template of texts writes to memory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_contain_is_text() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let hostile = "</script><script>alert(1)</script>\"><img src=x onerror=alert(1)>";
        let verdict = serde_json::json!([{"kind": "trap", "tone": "bad", "text": hostile}]);
        let summary = serde_json::json!({"scenario": hostile, "seed": 1, "verdict": verdict, "overrides": [hostile]});
        let page = draw_run_page(&RunTables::new(dir.path().to_owned(), summary)).expect("a page");
        assert!(!page.contains("<img") && !page.contains("<script>alert"));
        assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
    }
}
