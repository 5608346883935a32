//! The page of a plan: the fewest nodes that survive, what binds them, and what is worst to lose.

use std::path::Path;

use askama::Template;
use serde::Serialize;
use serde_json::Value;

use super::plain::{Plain, Wanted, read};
use super::{Module, Shell, blocks, modules};
use crate::observe::TableInfo;
use crate::report::TableError;
use crate::report::plan_rows::{BlastRow, CandidateRow, PlayRow};

/// What the page is made of besides what all pages share.
pub(super) const MODULES: &[Module] = modules!["figures.js" "listing.js" "plan.js"];

/// Plays that the page has each of; of more it has those that are not survived, and those of the answer.
const PLAYS_MAX: usize = 20_000;

#[derive(Template)]
#[template(path = "plan.html")]
struct Page<'a> {
    shell: Shell<'a>,
    version: &'a str,
    seed: String,
    tried: usize,
    plays: usize,
    is_whole: bool,
}

/// What the page shows besides the summary.
#[derive(Serialize)]
struct Data {
    tried: Plain,
    plays: Plain,
    /// How many plays there are.
    total: usize,
    blasts: Option<Plain>,
}

/// The text of the page of the plan in `dir`, whose `summary.json` has been read.
///
/// # Errors
///
/// If a file is missing or damaged: nothing is shown of a part of the results.
pub fn draw_plan_page(dir: &Path, summary: &Value) -> Result<String, TableError> {
    let pools = summary["pools"].as_array().map_or(0, Vec::len);
    let table = |info: &TableInfo, named: usize, is_row: &mut dyn FnMut(&[Value]) -> bool| {
        read(dir, Wanted { table: info, named, is_column: &|_| true, is_row })
    };
    let tried = table(&TableInfo::of::<CandidateRow>(), pools, &mut |_| true)?;
    let mut plays = table(&TableInfo::of::<PlayRow>(), pools, &mut |_| true)?;
    let total = plays.rows.len();
    if total > PLAYS_MAX {
        thin(&mut plays, &answer(&tried));
    }
    let blasts = TableInfo::of::<BlastRow>();
    let blasts = if dir.join(blasts.file).exists() { Some(table(&blasts, 0, &mut |_| true)?) } else { None };
    let data = Data { tried, plays, total, blasts };
    let block = blocks::packed(&serde_json::to_vec(&data).expect("plain data"));
    let page = Page {
        version: summary["version"].as_str().unwrap_or_default(),
        seed: summary["seed"].to_string(),
        tried: data.tried.rows.len(),
        plays: total,
        is_whole: data.plays.rows.len() == total,
        shell: Shell::new(summary["plan"].as_str().unwrap_or_default(), MODULES, summary, vec![("data", block)]),
    };
    Ok(page.render().expect("a template of texts writes to memory"))
}

/// The counts of the first that survives.
fn answer(tried: &Plain) -> Value {
    let verdict = tried.columns.iter().position(|name| *name == "verdict").unwrap_or(0);
    let answer = tried.rows.iter().find(|row| row[verdict] == "survives");
    answer.map_or(Value::Null, |row| row[0].clone())
}

/// Leaves out plays that are survived and not of the answer.
fn thin(plays: &mut Plain, answer: &Value) {
    let survived = plays.columns.iter().position(|name| *name == "survived").unwrap_or(0);
    plays.rows.retain(|row| row[survived] == false || row[0] == *answer);
    plays.rows.truncate(PLAYS_MAX);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    const HOSTILE: &str = "</script><script>alert(1)</script>";

    #[test]
    fn what_names_contain_is_text_and_a_pool_may_be_called_anything() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str, text: String| fs::write(dir.path().join(name), text).expect("written");
        write(
            "plan.csv",
            "verdict,nodes,price,verdict,plays,failed_plays,why,cut_short\n3,3,3,survives,1,0,,false\n".into(),
        );
        let header: Vec<&str> = TableInfo::of::<PlayRow>().columns.iter().skip(1).map(|of| of.name).collect();
        let play = format!("3,calm,{HOSTILE},0,1,true,0,0,0,0.000,1,1,0,0.000,0,,,,0,1,0");
        write("cases.csv", format!("verdict,{}\n{play}\n", header.join(",")));
        let summary = json!({"plan": HOSTILE, "pools": [{"name": "verdict"}], "seed": 1, "survive": []});
        let page = draw_plan_page(dir.path(), &summary).expect("a page");
        assert!(!page.contains("<script>alert"));
        assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
        write("cases.csv", format!("verdict,{}\n{play}", header.join(",")));
        assert!(draw_plan_page(dir.path(), &summary).is_err(), "the table ends within a line");
    }

    #[test]
    fn of_very_many_plays_those_that_fail_and_those_of_the_answer_stay() {
        let row = |count: u32, survived: bool| vec![json!([count]), json!(survived)];
        let mut plays =
            Plain { columns: vec!["<pool>", "survived"], rows: vec![row(3, true), row(3, false), row(4, true)] };
        let columns = vec!["<pool>", "verdict"];
        let tried =
            Plain { columns, rows: vec![vec![json!([3]), json!("fails")], vec![json!([4]), json!("survives")]] };
        thin(&mut plays, &answer(&tried));
        assert_eq!(plays.rows, [row(3, false), row(4, true)]);
    }
}
