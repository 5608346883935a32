//! The page of a run: every table of its directory, at any instant.

use std::path::Path;

use askama::Template;
use serde_json::Value;

use super::{Module, Shell, blocks, modules};
use crate::observe::TableInfo;
use crate::parallel;
use crate::report::TableError;

/// What the page is made of besides what all pages share.
pub(super) const MODULES: &[Module] = modules![
    "view.js" "model.js" "fates.js" "timers.js" "lanes.js" "story.js" "grid.js" "curves.js" "timeline.js" "cluster.js" "stories.js"
    "costs.js" "tables.js" "main.js"
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

/// The text of the page of the run in `dir`, whose `summary.json` has been read.
///
/// # Errors
///
/// If a table is missing or damaged: nothing is shown of a part of a run.
pub fn draw_page(dir: &Path, summary: &Value) -> Result<String, TableError> {
    let infos: Vec<TableInfo> = crate::observe::tables().into_iter().filter(|table| table.file != LEFT_OUT).collect();
    let mut tables = Vec::new();
    for (info, block) in infos.iter().zip(parallel::map(&infos, |info| blocks::block(dir, info, summary))) {
        tables.extend(block?.map(|block| (info.file.split('.').next().unwrap_or(info.file), block)));
    }
    let text = |field: &str| summary[field].as_str().unwrap_or_default();
    let overrides = summary["overrides"].as_array().into_iter().flatten();
    let page = Page {
        seed: summary["seed"].to_string(),
        version: text("version"),
        kubernetes_version: text("kubernetes_version"),
        duration: text("duration"),
        overrides: overrides.filter_map(Value::as_str).collect(),
        shell: Shell::new(text("scenario"), MODULES, summary, tables),
    };
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
        let page = draw_page(dir.path(), &summary).expect("a page");
        assert!(!page.contains("<img") && !page.contains("<script>alert"));
        assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
    }
}
