//! What was tried, for people.

use std::fmt::Write as _;

use super::snapshot::Kept;
use super::trial::{Outcome, Played, Trial};
use super::{Report, Tally};
use crate::cli::paint::Paint;
use crate::cli::table::NameTable;
use crate::diagnostics::Style;
use crate::units::{InDays, counted};

/// Figures of one scenario that are told one by one.
const MOVED_MAX: usize = 20;

/// The table, what does not hold, and how much of what.
pub(super) fn text(report: &Report, style: Style) -> String {
    let paint = Paint { style };
    let mut text = String::new();
    let mut table = NameTable::new(&["SCENARIO", "WANTED", "GOT", "TIME", "HOLDS"]);
    report.trials.iter().for_each(|trial| add(&mut table, trial));
    table.write(&mut text);
    let failures = failures(report);
    if !failures.is_empty() {
        text.push('\n');
    }
    for line in failures {
        let _ = writeln!(text, "{line}");
    }
    let total = total(report);
    let total = if report.holds() { paint.good(&total) } else { paint.bad(&total) };
    let _ = writeln!(text, "\n{total}");
    text
}

fn add(table: &mut NameTable, trial: &Trial) {
    let mut row = |name: String, wanted: String, got: String, time: String, holds: &str| {
        table.add([name, wanted, got, time, holds.to_owned()]);
    };
    let nothing = String::new;
    let played = match &trial.outcome {
        Outcome::Played(played) => played,
        Outcome::Unusable(_) => return row(trial.file.clone(), nothing(), nothing(), nothing(), "unusable"),
        Outcome::Bug { .. } => return row(trial.file.clone(), nothing(), nothing(), nothing(), "bug"),
    };
    row(trial.file.clone(), nothing(), nothing(), InDays(played.duration).to_string(), state(played));
    for judged in &played.judged {
        let outcome = &judged.outcome;
        let wanted = format!("{} {}", outcome.op, outcome.value);
        let holds = if outcome.holds { "yes" } else { "NO" };
        row(format!("  {}", outcome.metric), wanted, outcome.found.to_string(), nothing(), holds);
    }
    let (got, holds) = match &played.kept {
        Kept::Nothing => return,
        Kept::Same => ("as it was".to_owned(), "yes"),
        Kept::Moved(moved) => (format!("{} moved", moved.len()), "NO"),
        Kept::Written => ("written".to_owned(), "yes"),
        Kept::Unusable(_) => (nothing(), "unusable"),
    };
    row("  snapshot".to_owned(), nothing(), got, nothing(), holds);
}

/// One word for a scenario as a whole.
fn state(played: &Played) -> &'static str {
    match (played.holds(), played.judged.is_empty(), &played.kept) {
        (false, ..) => "NO",
        (true, true, Kept::Nothing) => "plays",
        (true, ..) => "yes",
    }
}

/// What does not hold, a line each, with its place; problems of files that cannot be used are told elsewhere.
pub(super) fn failures(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for trial in &report.trials {
        match &trial.outcome {
            Outcome::Played(played) => of_played(played, &mut lines),
            Outcome::Bug { what, .. } => {
                lines.push(format!("{}: an invariant of kubesquall broke: {what}", trial.file))
            }
            Outcome::Unusable(_) => {}
        }
    }
    for orphan in &report.orphans {
        lines.push(format!("{}: {ORPHAN}", orphan.display()));
    }
    lines
}

/// What is said of a snapshot without a scenario.
pub(super) const ORPHAN: &str =
    "there is no scenario of which these are the figures: remove it, or put its scenario beside it";

fn of_played(played: &Played, lines: &mut Vec<String>) {
    for judged in played.judged.iter().filter(|judged| !judged.outcome.holds) {
        let (place, found) = (&judged.location, judged.outcome.found);
        lines.push(format!("{}:{}: {} does not hold: it is {found}", place.file, place.line, judged.wanted()));
    }
    let (Kept::Moved(moved), Some(place)) = (&played.kept, &played.snapshot) else { return };
    let place = place.display();
    for moved in moved.iter().take(MOVED_MAX) {
        lines.push(format!("{place}: {}", moved.in_words()));
    }
    if let Some(more) = moved.len().checked_sub(MOVED_MAX).filter(|more| *more > 0) {
        lines.push(format!("{place}: and {more} more"));
    }
}

/// How much of what, in one line.
pub(super) fn total(report: &Report) -> String {
    let tally = report.tally();
    let Tally { played, without_expectations, holding, broken, same, moved, written, unusable, bugs } = tally;
    let mut parts = vec![format!("{} played", counted(played, "scenario", "scenarios"))];
    if holding + broken > 0 {
        parts.push(match broken {
            0 => format!("{} true", counted(holding, "expectation is", "expectations are")),
            _ => format!("{broken} of {} not hold", counted(holding + broken, "expectation does", "expectations do")),
        });
    }
    if without_expectations > 0 {
        parts.push(format!("{without_expectations} without expectations"));
    }
    let snapshots = |count: usize| counted(count, "snapshot", "snapshots");
    match (report.is_update, same, moved, written) {
        (true, ..) => parts.push(format!("{} written, {same} as before", snapshots(written))),
        (false, 0, 0, _) => {}
        (false, _, 0, _) => parts.push(format!("{} as before", snapshots(same))),
        (false, ..) => parts.push(format!("{moved} of {} moved", snapshots(same + moved))),
    }
    if !report.orphans.is_empty() {
        parts.push(format!("{} without scenario", snapshots(report.orphans.len())));
    }
    if unusable > 0 {
        parts.push(format!("{unusable} unusable"));
    }
    if bugs > 0 {
        parts.push(format!("{} met", counted(bugs, "bug", "bugs")));
    }
    format!("{}{}", parts.join(", "), passed_over(report))
}

fn passed_over(report: &Report) -> String {
    let passed = &report.passed_over;
    let parts: Vec<String> = [
        (passed.studies, "study", "studies"),
        (passed.plans, "plan", "plans"),
        (passed.lock_files, "lock file", "lock files"),
        (passed.manifests, "other file", "other files"),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, one, many)| counted(count, one, many))
    .collect();
    if parts.is_empty() { String::new() } else { format!("; passed over: {}", parts.join(", ")) }
}
