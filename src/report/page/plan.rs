//! The page of a plan: the fewest nodes that survive, what binds them, and what is worst to lose.

use std::path::Path;

use askama::Template;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use serde_json::Value;

use super::plain::{Plain, Wanted, read};
use super::{Module, Shell, blocks, modules};
use crate::observe::TableInfo;
use crate::report::TableError;
use crate::report::plan_rows::{BlastRow, CandidateRow, PlayRow};

/// What the page is made of besides what all pages share.
pub(super) const MODULES: &[Module] = modules!["figures.js" "listing.js" "plan.js"];

/// Plays that the page has each of; of more it has those of the answer, and of each case with other counts the first that are not
/// survived.
const PLAYS_MAX: usize = 20_000;

#[derive(Template)]
#[template(path = "plan.html")]
struct Page<'a> {
    shell: Shell<'a>,
    version: &'a str,
    seed: String,
    /// In how many placements counts were to be tried.
    placements: u64,
    tried: usize,
    plays: usize,
    /// Plays that the page has each of.
    listed: usize,
}

/// What the page shows besides the summary.
#[derive(Serialize)]
struct Data {
    tried: Plain,
    plays: Plain,
    /// What came of each case with each count, by all of its plays.
    cells: Plain,
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
    let cells = cells(&plays);
    if total > PLAYS_MAX {
        thin(&mut plays, &answer(&tried), PLAYS_MAX);
    }
    let blasts = TableInfo::of::<BlastRow>();
    let blasts = if dir.join(blasts.file).exists() { Some(table(&blasts, 0, &mut |_| true)?) } else { None };
    let data = Data { tried, plays, cells, blasts };
    let block = blocks::packed(&serde_json::to_vec(&data).expect("plain data"));
    let page = Page {
        version: summary["version"].as_str().unwrap_or_default(),
        seed: summary["seed"].to_string(),
        placements: summary["placements"]["count"].as_u64().unwrap_or(1),
        tried: data.tried.rows.len(),
        plays: total,
        listed: data.plays.rows.len(),
        shell: Shell::new(summary["plan"].as_str().unwrap_or_default(), MODULES, summary, vec![("data", block)]),
    };
    Ok(page.render().expect("a template of texts writes to memory"))
}

/// The counts of the first that survives.
fn answer(tried: &Plain) -> Value {
    let verdict = place(tried, "verdict");
    let answer = tried.rows.iter().find(|row| row[verdict] == "survives");
    answer.map_or(Value::Null, |row| row[0].clone())
}

/// The place of a column.
fn place(table: &Plain, column: &str) -> usize {
    table.columns.iter().position(|name| *name == column).expect("a column of the table")
}

/// What came of each case with each count, in the order of the table: figures that no thinning may change.
fn cells(plays: &Plain) -> Plain {
    /// Pods that no number of nodes helps.
    const BEYOND_HELP: [&str; 4] = ["stuck", "lost_for_good", "waited_beyond_help", "refused"];
    let [case, survived, placement] = ["case", "survived", "placement"].map(|name| place(plays, name));
    let beyond_help = BEYOND_HELP.map(|name| place(plays, name));
    let mut places: FxHashMap<(String, &str), usize> = FxHashMap::default();
    let mut found: Vec<(&Value, &Value, [u64; 3])> = Vec::new();
    let mut placed: FxHashMap<usize, FxHashMap<String, bool>> = FxHashMap::default();
    for row in &plays.rows {
        let key = (row[0].to_string(), row[case].as_str().unwrap_or_default());
        let at = *places.entry(key).or_insert(found.len());
        if at == found.len() {
            found.push((&row[0], &row[case], [0; 3]));
        }
        let (_, _, [count, failed, most]) = &mut found[at];
        let pods = beyond_help.iter().filter_map(|at| row[*at].as_f64()).sum::<f64>();
        *count += 1;
        *failed += u64::from(row[survived] == false);
        *most = (*most).max(pods as u64);
        let has_failed = placed.entry(at).or_default().entry(row[placement].to_string()).or_default();
        *has_failed |= row[survived] == false;
    }
    let row = |(at, (counts, case, figures)): (usize, (&Value, &Value, [u64; 3]))| {
        let placed = &placed[&at];
        let by_placement = [placed.len(), placed.values().filter(|has_failed| **has_failed).count()];
        let figures = figures.map(Value::from).into_iter().chain(by_placement.map(Value::from));
        [counts.clone(), case.clone()].into_iter().chain(figures).collect()
    };
    let columns = vec!["<pool>", "case", "plays", "failed_plays", "beyond_help", "placements", "failed_placements"];
    Plain { columns, rows: found.into_iter().enumerate().map(row).collect() }
}

/// Leaves so many plays if they are more: all of the answer, and of each case with other counts the first that are not survived, as many
/// of one as of another.
fn thin(plays: &mut Plain, answer: &Value, max: usize) {
    let [case, survived] = ["case", "survived"].map(|name| place(plays, name));
    let of_answer = plays.rows.iter().filter(|row| row[0] == *answer).count();
    let cell = |row: &[Value]| (row[0].to_string(), row[case].to_string());
    let failing: FxHashSet<_> = plays.rows.iter().filter(|row| row[survived] == false).map(|row| cell(row)).collect();
    let share = (max.saturating_sub(of_answer) / failing.len().max(1)).max(1);
    let mut kept: FxHashMap<(String, String), usize> = FxHashMap::default();
    plays.rows.retain(|row| {
        if row[0] == *answer || row[survived] != false {
            return row[0] == *answer;
        }
        let count = kept.entry(cell(row)).or_default();
        *count += 1;
        *count <= share
    });
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
            "verdict,nodes,price,verdict,plays,failed_plays,why,cut_short,placements,survived_placements,share_at_least,failed_placement\n\
             3,3,3,survives,1,0,,false,1,1,0.05,\n"
                .into(),
        );
        let header: Vec<&str> = TableInfo::of::<PlayRow>().columns.iter().skip(1).map(|of| of.name).collect();
        let play = format!("3,calm,{HOSTILE},0,1,true,0,0,0,0.000,1,1,0,0.000,0,,,,0,1,0,0,1");
        write("cases.csv", format!("verdict,{}\n{play}\n", header.join(",")));
        let summary = json!({"plan": HOSTILE, "pools": [{"name": "verdict"}], "seed": 1, "survive": []});
        let page = draw_plan_page(dir.path(), &summary).expect("a page");
        assert!(!page.contains("<script>alert"));
        assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
        write("cases.csv", format!("verdict,{}\n{play}", header.join(",")));
        assert!(draw_plan_page(dir.path(), &summary).is_err(), "the table ends within a line");
    }

    #[test]
    fn of_very_many_plays_those_of_the_answer_stay_whole_and_the_others_are_counted() {
        let row = |nodes: u32, case: &str, survived: bool, stuck: u32| {
            vec![
                json!([nodes]),
                json!(case),
                json!(survived),
                json!(stuck),
                json!(0),
                json!(1),
                json!(0),
                // As tables are read: every number is a real one.
                json!(f64::from(stuck % 2)),
            ]
        };
        let columns =
            vec!["<pool>", "case", "survived", "stuck", "lost_for_good", "waited_beyond_help", "refused", "placement"];
        // What fails is tried before what survives.
        let failing =
            (0..40).map(|_| row(3, "zone", false, 0)).chain([row(3, "zone", true, 5), row(3, "node", false, 0)]);
        let of_answer: Vec<Vec<Value>> = (0..7).map(|_| row(4, "zone", true, 2)).collect();
        let rows = failing.chain(of_answer.iter().cloned()).chain([row(5, "zone", true, 0)]).collect();
        let mut plays = Plain { columns, rows };
        let tried = Plain {
            columns: vec!["<pool>", "verdict"],
            rows: vec![vec![json!([3]), json!("fails")], vec![json!([4]), json!("survives")]],
        };
        assert_eq!(
            cells(&plays).rows,
            [
                vec![json!([3]), json!("zone"), json!(41), json!(40), json!(6), json!(2), json!(1)],
                vec![json!([3]), json!("node"), json!(1), json!(1), json!(1), json!(1), json!(1)],
                vec![json!([4]), json!("zone"), json!(7), json!(0), json!(3), json!(1), json!(0)],
                vec![json!([5]), json!("zone"), json!(1), json!(0), json!(1), json!(1), json!(0)],
            ]
        );
        thin(&mut plays, &answer(&tried), 13);
        let count =
            |nodes: u32, case: &str| plays.rows.iter().filter(|row| row[0] == json!([nodes]) && row[1] == case).count();
        assert_eq!((count(3, "zone"), count(3, "node"), count(4, "zone"), count(5, "zone")), (3, 1, 7, 0));
        let left: Vec<&Vec<Value>> = plays.rows.iter().filter(|row| row[0] == json!([4])).collect();
        assert_eq!(left, of_answer.iter().collect::<Vec<_>>());
        thin(&mut plays, &answer(&tried), 2);
        assert_eq!(
            plays.rows.len(),
            9,
            "the answer is whole, however much that is, and of each other case one is left"
        );
    }
}
