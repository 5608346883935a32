//! `report.html`: one page of a run, which opens without a network and shows nothing but what its tables say.
//!
//! The page holds every table of the directory, packed, and the modules of `web/`, which draw it in the browser. It is made from the
//! directory alone, so that making it again gives the same bytes.

mod blocks;

use std::path::Path;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::tables::TableError;
use crate::observe::TableInfo;
use crate::parallel;

macro_rules! modules {
    ($($name:literal)*) => {
        /// The modules in the order in which one can stand on those before it.
        const MODULES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../web/", $name)))),*];
    };
}

modules! {
    "format.js" "dom.js" "data.js" "view.js" "model.js" "fates.js" "timers.js" "lanes.js" "story.js" "grid.js" "curves.js" "timeline.js"
    "cluster.js" "stories.js" "costs.js" "tables.js" "main.js"
}

/// What the page does without: the nodes say the same.
const LEFT_OUT: &str = "zones.csv";

/// Draws curves.
const UPLOT: &str = include_str!("../../../web/vendor/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../../web/vendor/uPlot.min.css");
const STYLE: &str = include_str!("../../../web/page.css");

/// The page. What stands in it comes out escaped, but for texts of this repository and of base64.
#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    scenario: &'a str,
    seed: String,
    version: &'a str,
    kubernetes_version: &'a str,
    duration: &'a str,
    overrides: Vec<&'a str>,
    verdict: Vec<Sentence<'a>>,
    policy: String,
    style: String,
    uplot: &'a str,
    script: String,
    summary: String,
    tables: Vec<(&'a str, String)>,
}

/// A sentence of the verdict.
struct Sentence<'a> {
    tone: &'a str,
    text: &'a str,
    see: Option<&'a str>,
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
        let name = info.file.split('.').next().unwrap_or(info.file);
        tables.extend(block?.map(|block| (name, block)));
    }
    let text = |field: &str| summary[field].as_str().unwrap_or_default();
    let (style, script) = (format!("{UPLOT_STYLE}\n{STYLE}"), joined_modules());
    let overrides = summary["overrides"].as_array().into_iter().flatten();
    let page = Page {
        scenario: text("scenario"),
        seed: summary["seed"].to_string(),
        version: text("version"),
        kubernetes_version: text("kubernetes_version"),
        duration: text("duration"),
        overrides: overrides.filter_map(Value::as_str).collect(),
        verdict: sentences(summary),
        policy: policy(&[UPLOT, &script], &style),
        style,
        uplot: UPLOT,
        script,
        summary: blocks::packed(summary.to_string().as_bytes()),
        tables,
    };
    Ok(page.render().expect("a template of texts writes to memory"))
}

/// The verdict as `summary.json` has it, each trap with its page.
fn sentences(summary: &Value) -> Vec<Sentence<'_>> {
    let traps: Vec<&Value> = summary["traps"].as_array().into_iter().flatten().collect();
    let page_of = |text: &str| {
        let trap = traps.iter().find(|trap| trap["text"].as_str().is_some_and(|said| text.contains(said)))?;
        trap["see"].as_str()
    };
    let all = summary["verdict"].as_array().into_iter().flatten();
    let sentence = all.map(|sentence| {
        let text = sentence["text"].as_str().unwrap_or_default();
        let see = (sentence["kind"] == "trap").then(|| page_of(text)).flatten();
        Sentence { tone: sentence["tone"].as_str().unwrap_or("neutral"), text, see }
    });
    sentence.collect()
}

/// All modules as one: a page from a disk may not load modules. What they import stands before them.
fn joined_modules() -> String {
    let mut out = String::new();
    for (name, text) in MODULES {
        out.push_str(&format!("// web/{name}\n"));
        for line in text.lines().filter(|line| !line.starts_with("import ")) {
            out.push_str(line.strip_prefix("export ").unwrap_or(line));
            out.push('\n');
        }
    }
    out
}

/// What the browser may run and load: these texts, and nothing else.
fn policy(scripts: &[&str], style: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text.as_bytes())));
    let scripts: Vec<String> = scripts.iter().map(|text| hash(text)).collect();
    let style = hash(style);
    format!(
        "default-src 'none'; script-src {}; style-src {style}; img-src data:; base-uri 'none'; form-action 'none'",
        scripts.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The name that a line declares for its whole module.
    fn declared(line: &str) -> Option<&str> {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let line = line.strip_prefix("async ").unwrap_or(line);
        let rest = ["function ", "const ", "let ", "class "].iter().find_map(|word| line.strip_prefix(word))?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
    }

    #[test]
    fn modules_can_stand_in_one_scope() {
        let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
        for (module, text) in MODULES {
            for name in text.lines().filter_map(declared) {
                let other = owners.insert(name, module);
                assert!(other.is_none(), "`{name}` is declared in {module} and in {other:?}");
            }
        }
        assert!(owners.len() > 50);
    }

    #[test]
    fn imports_are_of_earlier_modules_and_on_one_line() {
        let position = |name: &str| MODULES.iter().position(|(of, _)| *of == name);
        for (index, (module, text)) in MODULES.iter().enumerate() {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = line.split_once(" from \"./").and_then(|(_, from)| from.strip_suffix("\";"));
                let from = from.unwrap_or_else(|| panic!("{module}: `{line}` is not a whole import"));
                assert!(position(from).is_some_and(|at| at < index), "{module} imports {from}, which is not before it");
            }
            assert!(
                !text.lines().any(|line| line.starts_with("export {") || line.starts_with("export default")),
                "{module}"
            );
        }
    }

    #[test]
    fn nothing_ends_the_script_early() {
        for text in [UPLOT, &joined_modules()] {
            assert!(!text.contains("</script") && !text.contains("<!--"));
        }
        assert!(!STYLE.contains("</style"));
    }

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
