//! What a verdict rests on: what was read of the input and what was not, and what was taken for granted.

use std::fmt::Write as _;

use super::paint::Paint;
use crate::diagnostics::Style;
use crate::facade::Outcome;
use crate::scenario::{Assumption, Input, ResolvedScenario};

/// Assumptions that a summary lists; the others are in `summary.json`.
const LISTED_MAX: usize = 4;
/// Objects that a line names.
const NAMED_MAX: usize = 2;
/// Characters of a line.
const LENGTH_MAX: usize = 110;

/// What could not be read, which stands above the verdict; empty if everything could.
pub(super) fn unread(input: &Input, style: Style) -> String {
    let Some(parts) = unread_parts(input) else { return String::new() };
    format!("{}\n", Paint { style }.bad(&format!("Not read: {parts}")))
}

/// The same without a style; none if everything could.
pub(super) fn unread_in_one_line(input: &Input) -> Option<String> {
    unread_parts(input).map(|parts| format!("not read: {parts}"))
}

/// The same as the end of a line.
pub(super) fn unread_in_words(input: &Input) -> String {
    unread_parts(input).map_or_else(String::new, |parts| format!("; not read: {parts}"))
}

fn unread_parts(input: &Input) -> Option<String> {
    let parts: Vec<String> = input
        .unread()
        .map(|skipped| {
            let what = match (skipped.kind.as_str(), skipped.count) {
                ("", 1) => "document",
                ("", _) => "documents",
                (kind, _) => kind,
            };
            format!("{} {what} ({}), first {}", skipped.count, skipped.reason, skipped.first)
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What the cluster at t=0 lacks, which stands above the verdict, too: workloads that made pods without end before, and objects that could
/// not be applied.
pub(super) fn unsettled(outcome: &Outcome, style: Style) -> String {
    let line = |text: String| Paint { style }.bad(&text) + "\n";
    let storms = outcome.storms.iter().map(|storm| line(format!("Not settled: {storm}")));
    let refused = &outcome.refused_at_start;
    let listed = refused.iter().take(LISTED_MAX).map(|object| line(format!("Refused at t=0: {object}")));
    let more = refused.len().checked_sub(LISTED_MAX).filter(|more| *more > 0);
    let more =
        more.map(|more| line(format!("Refused at t=0: {more} more objects, `refused_at_start` of summary.json")));
    storms.chain(listed).chain(more).collect()
}

/// The most important assumptions, a line each.
pub(super) fn assumed(scenario: &ResolvedScenario, style: Style) -> String {
    let mut text = String::new();
    if scenario.assumed.is_empty() {
        return text;
    }
    let _ = writeln!(text, "\n{}", Paint { style }.bold("Assumed"));
    for assumption in scenario.assumed.iter().take(LISTED_MAX) {
        let _ = writeln!(text, "  {}", shortened(&line(assumption)));
    }
    if let Some(more) = scenario.assumed.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {more} more in summary.json; `check -v` says what each changes");
    }
    text
}

/// All assumptions, with what each changes and what says otherwise.
pub(super) fn assumed_in_full(assumed: &[Assumption]) -> String {
    let mut text = String::new();
    for assumption in assumed {
        let _ = writeln!(text, "  assumed: {}", line(assumption));
        let _ = writeln!(text, "    changes: {}", assumption.effect);
        let _ = writeln!(text, "    set by: {}", assumption.change);
    }
    text
}

fn line(assumption: &Assumption) -> String {
    if assumption.count == 0 {
        return assumption.text.clone();
    }
    let named: Vec<&str> = assumption.objects.iter().take(NAMED_MAX).map(String::as_str).collect();
    let more = if assumption.count > named.len() { ", …" } else { "" };
    format!("{} ({}: {}{more})", assumption.text, assumption.count, named.join(", "))
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LENGTH_MAX {
        return text.to_owned();
    }
    text.chars().take(LENGTH_MAX - 1).chain(['…']).collect()
}
