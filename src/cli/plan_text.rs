//! What a plan has found, in words.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table};

use super::paint::Paint;
use super::remarks;
use crate::diagnostics::Style;
use crate::study::Remark;
use crate::study::plan::{Blast, Candidate, PlacedCase, PlanResults, Verdict};
use crate::units::counted;

/// Counts shown in the table.
const ROWS_MAX: usize = 12;

/// The answer, what binds it, the margin, and what was tried.
pub(super) fn text(results: &PlanResults, blasts: &[Blast], style: Style) -> String {
    let headline = results.headline();
    let answer = Paint { style }.bold(&headline.text);
    let mut text = remarks::lines(&Remark { text: answer, ..headline });
    for binding in results.in_vain().into_iter().chain(results.bindings()) {
        let _ = write!(text, "\n{}", remarks::lines(&binding));
    }
    let _ = write!(text, "\n{}\n", table(results));
    if results.answer.is_some() {
        let Remark { text: played, details, .. } = results.played();
        let _ = writeln!(text, "\n{}{played}\n{}", remarks::all(&results.margin_told()), details.join("\n"));
    }
    if !blasts.is_empty() {
        let _ = write!(text, "\nWhat is worst to lose:\n{}\n", blast_table(blasts));
    }
    text
}

fn price(micros: i64) -> String {
    (micros as f64 / 1e6).to_string()
}

fn table(results: &PlanResults) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let pools = results.pools.iter().map(|pool| pool.name.as_str().to_uppercase());
    let cases = results.cases.iter().map(|case| case.to_uppercase());
    let prices = (results.pools.len() > 1).then(|| "PRICE".to_owned());
    let placements = (results.placements.count > 1).then(|| "PLACEMENTS".to_owned());
    table.set_header(pools.chain(prices).chain(["CALM".to_owned()]).chain(cases).chain(placements.clone()));
    let skipped = results.candidates.len().saturating_sub(ROWS_MAX);
    let mut notes = String::new();
    for candidate in &results.candidates[skipped..] {
        let counts = candidate.counts.iter().map(u32::to_string);
        let prices = (results.pools.len() > 1).then(|| price(candidate.price_micros));
        let verdicts: Vec<String> = match &candidate.verdict {
            Verdict::RuledOut { why } => {
                let (counts, besides) = (results.in_words(&candidate.counts), results.played_besides(candidate));
                let _ = write!(notes, "\n  {counts} ruled out: {why}{besides}");
                vec!["ruled out".to_owned()]
            }
            Verdict::Played { .. } => std::iter::once(None)
                .chain((0..results.cases.len()).map(Some))
                .map(|case| verdict(candidate, case))
                .collect(),
        };
        let width = results.cases.len() + 1;
        let verdicts = verdicts.into_iter().chain(std::iter::repeat(String::new())).take(width);
        let survived = placements.as_ref().map(|_| match (candidate.survived(), candidate.placements().len()) {
            (_, 0) => String::new(),
            (survived, played) => format!("{survived} of {played}"),
        });
        table.add_row(counts.chain(prices).chain(verdicts).chain(survived));
    }
    for column in table.column_iter_mut().take(results.pools.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt() + &notes
}

/// The worst losses.
fn blast_table(blasts: &[Blast]) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["LOST", "KIND", "ALIKE", "UNREADY REPLICA-S", "WORKLOADS BELOW", "PENDING", "WAITED"]);
    for Blast { kind, lost, outcome } in blasts.iter().take(ROWS_MAX) {
        table.add_row([
            lost.label.clone(),
            kind.clone(),
            lost.alike.to_string(),
            format!("{:.0}", outcome.unready_replica_s),
            outcome.workloads_below.to_string(),
            outcome.pending.to_string(),
            outcome.waited.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = table.trim_fmt();
    if let Some(more @ 1..) = blasts.len().checked_sub(ROWS_MAX) {
        let _ = write!(text, "\nand {} in blast-radius.csv", counted(more, "loss more", "losses more"));
    }
    if blasts.iter().any(|blast| blast.lost.alike > 1) {
        text.push_str("\nALIKE: how many losses are the same but for names; one of them was played");
    }
    if blasts.iter().any(|blast| blast.outcome.waited > 0) {
        text.push_str("\nWAITED: pods that fitted nowhere for a minute or more, and that a node more would have taken");
    }
    text
}

/// What became of a case: by its plays if one placement was played, else by placements.
fn verdict(candidate: &Candidate, case: Option<usize>) -> String {
    let by_placement = candidate.of_case(case);
    let failed_placements = by_placement.iter().filter(|of| !of.is_survived).count();
    let of_case = || candidate.plays().iter().filter(|play| play.case == case);
    match (&by_placement[..], failed_placements) {
        ([], _) => "-".to_owned(),
        (_, 0) => match of_case().map(|play| play.outcome.beyond_help()).max().unwrap_or(0) {
            0 => "survives".to_owned(),
            pods => format!("survives but for {pods}"),
        },
        _ if candidate.placements().len() > 1 => format!("fails in {failed_placements} of {}", by_placement.len()),
        _ if candidate.is_cut_short(case) => "fails, stopped at the first".to_owned(),
        ([PlacedCase { plays: 1, .. }], _) => "fails".to_owned(),
        ([PlacedCase { plays, failed, .. }, ..], _) => format!("fails {failed} of {plays}"),
    }
}
