//! The chart of a plan, from its files: `plan` draws it, and `report` draws it again.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value;

use crate::report::{SURVIVAL_COLUMNS_MAX, SurvivalCell, SurvivalChart};
use crate::study::plan::{Outcome, exception};

/// What the chart needs of `summary.json`.
#[derive(Deserialize)]
struct Summary {
    plan: String,
    pools: Vec<Pool>,
    survive: Vec<String>,
    seed: u64,
    placements: Option<Asked>,
    answer: Option<Answer>,
}

/// In how many placements counts were to be tried.
#[derive(Deserialize)]
struct Asked {
    count: u32,
}

#[derive(Deserialize)]
struct Answer {
    placements: Option<Survived>,
}

#[derive(Clone, Copy, Deserialize)]
struct Survived {
    played: u32,
    survived: u32,
}

#[derive(Deserialize)]
struct Pool {
    name: String,
}

/// A line of `plan.csv`: counts, `4+2`, and what became of them.
struct Tried {
    counts: String,
    verdict: String,
    /// Whether the case that is not survived was left at its first such play.
    is_cut_short: bool,
    /// In how many placements they were played.
    placements: usize,
}

/// How many plays of a case there were with some counts, and how many of them were not survived.
#[derive(Clone, Default)]
struct Plays {
    all: usize,
    failed: usize,
    /// Whether something was not survived, by placement.
    placements: BTreeMap<String, bool>,
    /// Pods that no number of nodes helps: most of all plays.
    beyond_help: u64,
}

/// What the chart shows: the counts that were tried last, as the answer is among them; none if the files are not those of a plan.
pub(super) fn of_files(summary: &Value, plan: &[u8], cases: &[u8]) -> Option<SurvivalChart> {
    let summary = Summary::deserialize(summary).ok()?;
    let pools: Vec<&str> = summary.pools.iter().map(|pool| pool.name.as_str()).collect();
    let tried = read_tried(plan, pools.len())?;
    let plays = read_plays(cases, pools.len())?;
    let shown = &tried[tried.len().saturating_sub(SURVIVAL_COLUMNS_MAX)..];
    let rows: Vec<String> = std::iter::once("calm".to_owned()).chain(summary.survive).collect();
    let row = |case: &String| shown.iter().map(|tried| cell(tried, case, &plays)).collect();
    let survives = |tried: &Tried| tried.verdict == "survives";
    let title = match tried.iter().find(|tried| survives(tried)) {
        Some(answer) => {
            let of_answer = plays.iter().filter(|((counts, _), _)| *counts == answer.counts);
            let exception = exception(of_answer.map(|(_, plays)| plays.beyond_help).max().unwrap_or(0));
            let parts: Vec<String> =
                answer.counts.split('+').zip(&pools).map(|(count, pool)| format!("{count} of {pool}")).collect();
            let placed = summary.answer.as_ref().and_then(|answer| answer.placements).filter(|of| of.played > 1);
            let placed =
                placed.map_or_else(String::new, |of| format!(" in {} of {} placements", of.survived, of.played));
            format!("{}: {} survive{placed}{exception}", summary.plan, parts.join(" and "))
        }
        None => format!("{}: nothing that was tried survives", summary.plan),
    };
    Some(SurvivalChart {
        title,
        caption: match summary.placements.map_or(1, |of| of.count) {
            1 => format!("{} · seed {}", summary.plan, summary.seed),
            count => format!("{} · up to {count} placements from seed {} on", summary.plan, summary.seed),
        },
        counted: format!("nodes of {}", pools.join(" + ")),
        columns: shown.iter().map(|tried| tried.counts.clone()).collect(),
        cells: rows.iter().map(row).collect(),
        rows,
        answer: shown.iter().position(survives),
    })
}

fn cell(tried: &Tried, case: &str, plays: &FxHashMap<(String, String), Plays>) -> SurvivalCell {
    if tried.verdict == "ruled out" {
        return SurvivalCell::RuledOut;
    }
    match plays.get(&(tried.counts.clone(), case.to_owned())) {
        None => SurvivalCell::NotPlayed,
        Some(Plays { failed: 0, beyond_help, .. }) => SurvivalCell::Survived { beyond_help: *beyond_help },
        Some(Plays { placements, .. }) if tried.placements > 1 => {
            let failed = placements.values().filter(|has_failed| **has_failed).count();
            SurvivalCell::FailedPlacements { failed, placements: placements.len() }
        }
        Some(_) if tried.is_cut_short => SurvivalCell::Stopped,
        Some(Plays { all, failed, .. }) => SurvivalCell::Failed { failed: *failed, plays: *all },
    }
}

fn read_tried(csv: &[u8], pools: usize) -> Option<Vec<Tried>> {
    let mut reader = csv::Reader::from_reader(csv);
    // Behind the pools, which may be called anything.
    let headers = reader.headers().ok()?.clone();
    let at = |name: &str| headers.iter().skip(pools).position(|column| column == name).map(|at| at + pools);
    let (verdict, cut_short, placements) = (at("verdict")?, at("cut_short"), at("placements"));
    let mut tried = Vec::new();
    for record in reader.records() {
        let record = record.ok()?;
        let is_cut_short = cut_short.and_then(|at| record.get(at)) == Some("true");
        let placements = placements.and_then(|at| record.get(at)?.parse().ok()).unwrap_or(1);
        let (counts, verdict) = (counts_of(&record, pools), record.get(verdict)?.to_owned());
        tried.push(Tried { counts, verdict, is_cut_short, placements });
    }
    Some(tried)
}

/// By counts and case.
fn read_plays(csv: &[u8], pools: usize) -> Option<FxHashMap<(String, String), Plays>> {
    let mut reader = csv::Reader::from_reader(csv);
    let at = |column: &str, reader: &mut csv::Reader<&[u8]>| reader.headers().ok()?.iter().position(|of| of == column);
    let (case, survived) = (at("case", &mut reader)?, at("survived", &mut reader)?);
    let beyond_help = Outcome::BEYOND_HELP.map(|column| at(column, &mut reader));
    let placement = at("placement", &mut reader);
    let mut plays: FxHashMap<(String, String), Plays> = FxHashMap::default();
    for record in reader.records() {
        let record = record.ok()?;
        let of = plays.entry((counts_of(&record, pools), record.get(case)?.to_owned())).or_default();
        of.all += 1;
        let has_failed = record.get(survived)? != "true";
        of.failed += usize::from(has_failed);
        let placement = placement.and_then(|at| record.get(at)).unwrap_or_default();
        *of.placements.entry(placement.to_owned()).or_default() |= has_failed;
        let pods = |column: &Option<usize>| record.get((*column)?)?.parse::<u64>().ok();
        of.beyond_help = of.beyond_help.max(beyond_help.iter().filter_map(pods).sum());
    }
    Some(plays)
}

fn counts_of(record: &csv::StringRecord, pools: usize) -> String {
    record.iter().take(pools).collect::<Vec<_>>().join("+")
}
