//! How well a run agrees with what was seen, in a few lines.

use std::fmt::Write as _;

use super::paint::Paint;
use super::table::NameTable;
use super::words::percent;
use crate::diagnostics::Style;
use crate::inspect::{Agreement, Stranger, Tally};
use crate::units::{counted, cut, noun};

/// Nodes and owners that are named of those that the scenario does not have.
const STRANGERS_MAX: usize = 3;
/// Characters of a disagreement.
const SENTENCE_LENGTH_MAX: usize = 200;

/// The table of kinds, what was left out, and the worst disagreements.
pub(super) fn text(agreement: &Agreement, style: Style) -> String {
    let paint = Paint { style };
    let mut text = format!("\n{}\n", paint.bold(&headline(agreement)));
    let mut table = NameTable::new(&["FACTS", "SAME", "OTHER TIME", "MISSING", "EXTRA", "AGREE", "WITHIN 1m"]);
    for kind in agreement.kinds.iter().filter(|kind| kind.tally.judged() > 0) {
        table.add(row(kind.fact.in_words(), &kind.tally));
    }
    if agreement.kinds.len() > 1 {
        table.add(row("all", &agreement.total));
    }
    table.write(&mut text);
    for line in remarks(agreement) {
        let _ = writeln!(text, "  {line}");
    }
    if !agreement.worst.is_empty() {
        let _ = writeln!(text, "{}", paint.bold("Furthest apart"));
        for sentence in &agreement.worst {
            let _ = writeln!(text, "  {}", cut(sentence, SENTENCE_LENGTH_MAX));
        }
    }
    text
}

fn headline(agreement: &Agreement) -> String {
    let seen = counted(agreement.observed as u64, "fact", "facts");
    match agreement.total.score().zip(agreement.total.near_score()) {
        Some((score, near)) => {
            format!(
                "Agrees with what was seen in {}, within a minute in {} ({seen} seen)",
                percent(score),
                percent(near)
            )
        }
        None => format!("Nothing of what was seen can be in the run ({seen} seen)"),
    }
}

fn row(name: &str, tally: &Tally) -> Vec<String> {
    let counts = [tally.same, tally.other_time, tally.missing, tally.extra].map(|count| count.to_string());
    let scores = [tally.score(), tally.near_score()].map(|score| score.map_or_else(String::new, percent));
    [name.to_owned()].into_iter().chain(counts).chain(scores).collect()
}

/// What the table does not count, and what it counts although it may not belong there.
fn remarks(agreement: &Agreement) -> Vec<String> {
    let facts = |count: u64| counted(count, "fact", "facts");
    let mut lines = Vec::new();
    if agreement.total.not_seen > 0 {
        lines.push(format!("{} of the run are none that the evidence would tell of", facts(agreement.total.not_seen)));
    }
    for (count, when) in [(agreement.left_out.before, "before t=0"), (agreement.left_out.after, "after the end")] {
        if count > 0 {
            lines.push(format!("{} may be from {when}: left out", facts(count)));
        }
    }
    if !agreement.unknown.is_empty() {
        lines.push(strangers(&agreement.unknown));
    }
    lines
}

fn strangers(unknown: &[Stranger]) -> String {
    let count: u64 = unknown.iter().map(|stranger| stranger.facts).sum();
    let mut names: Vec<String> =
        unknown.iter().take(STRANGERS_MAX).map(|stranger| cut(&stranger.what, SENTENCE_LENGTH_MAX)).collect();
    if unknown.len() > STRANGERS_MAX {
        names.push(format!("{} more", unknown.len() - STRANGERS_MAX));
    }
    let (facts, are) = (counted(count, "fact", "facts"), noun(count, "is", "are"));
    format!("{facts} {are} of what the scenario does not have, {}: of another cluster?", names.join(", "))
}
