//! The page of a sensitivity analysis: whether the answer turns round, and what each input does.

use std::path::Path;

use askama::Template;
use serde::Serialize;
use serde_json::Value;

use super::plain::{Plain, Wanted, read};
use super::{Module, Shell, blocks, modules};
use crate::observe::TableInfo;
use crate::report::TableError;
use crate::report::sensitivity_rows::{EffectRow, PointRow};

/// What the page is made of besides what all pages share.
pub(super) const MODULES: &[Module] = modules!["figures.js" "listing.js" "sensitivity.js"];

#[derive(Template)]
#[template(path = "sensitivity.html")]
struct Page<'a> {
    shell: Shell<'a>,
    version: &'a str,
    inputs: usize,
    points: u64,
    runs: u64,
}

/// What the page shows besides the summary.
#[derive(Serialize)]
struct Data {
    effects: Plain,
    points: Plain,
}

/// The text of the page of the sensitivity analysis in `dir`, whose `summary.json` has been read.
///
/// # Errors
///
/// If a file is missing or damaged: nothing is shown of a part of the results.
pub fn draw_sensitivity_page(dir: &Path, summary: &Value) -> Result<String, TableError> {
    let inputs = summary["inputs"].as_array().map_or(0, Vec::len);
    let table = |info: &TableInfo, named: usize| {
        read(dir, Wanted { table: info, named, is_column: &|_| true, is_row: &mut |_| true })
    };
    let effects = table(&TableInfo::of::<EffectRow>(), 0)?;
    let points = table(&TableInfo::of::<PointRow>(), inputs)?;
    let block = blocks::packed(&serde_json::to_vec(&Data { effects, points }).expect("plain data"));
    let page = Page {
        version: summary["version"].as_str().unwrap_or_default(),
        inputs,
        points: summary["points"]["played"].as_u64().unwrap_or_default(),
        runs: summary["runs"].as_u64().unwrap_or_default(),
        shell: Shell::new(summary["sensitivity"].as_str().unwrap_or_default(), MODULES, summary, vec![("data", block)]),
    };
    Ok(page.render().expect("a template of texts writes to memory"))
}
