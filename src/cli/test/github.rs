//! What does not hold, as commands of GitHub's runner: it shows them as annotations of the files.

use std::fmt::Write as _;

use super::Report;
use super::snapshot::{Kept, Moved};
use super::text::ORPHAN;
use super::trial::{Outcome, Played, Trial, Unusable};
use crate::diagnostics::{Location, Severity};
use crate::units::counted;

/// How much weight an annotation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Error,
    Warning,
}

/// The commands, a line each.
pub(super) fn commands(report: &Report) -> String {
    let mut out = String::new();
    report.trials.iter().for_each(|trial| of_trial(trial, &mut out));
    for orphan in &report.orphans {
        let place = Location::file(orphan.to_string_lossy().into_owned());
        annotate(&mut out, Level::Error, &place, "no scenario of this snapshot", ORPHAN);
    }
    out
}

fn of_trial(trial: &Trial, out: &mut String) {
    let whole = Location::file(trial.file.as_str());
    match &trial.outcome {
        Outcome::Played(played) => of_played(played, &whole, out),
        Outcome::Unusable(_) => {}
        Outcome::Bug { what, .. } => annotate(out, Level::Error, &whole, "an invariant of kubesquall broke", what),
    }
    if let Some(unusable) = trial.problems() {
        of_unusable(unusable, out);
    }
}

fn of_played(played: &Played, whole: &Location, out: &mut String) {
    for judged in played.judged.iter().filter(|judged| !judged.outcome.holds) {
        let title = format!("{} does not hold", judged.wanted());
        annotate(out, Level::Error, &judged.location, &title, &format!("it is {}", judged.outcome.found));
    }
    for remark in &played.remarks {
        annotate(out, Level::Warning, whole, &played.name, remark);
    }
    if let (Kept::Moved(moved), Some(place)) = (&played.kept, &played.snapshot) {
        let title = format!("{} moved", counted(moved.len(), "figure", "figures"));
        let lines: Vec<String> = moved.iter().map(Moved::in_words).collect();
        annotate(out, Level::Error, &Location::file(place.to_string_lossy().into_owned()), &title, &lines.join("\n"));
    }
}

fn of_unusable(unusable: &Unusable, out: &mut String) {
    for diagnostic in unusable.diagnostics.as_slice().iter().filter(|problem| problem.severity == Severity::Error) {
        let place = diagnostic.location().cloned().unwrap_or_else(|| Location::file(unusable.file.as_str()));
        let lines = std::iter::once(&diagnostic.message).chain(&diagnostic.help).map(String::as_str);
        annotate(out, Level::Error, &place, diagnostic.code, &lines.collect::<Vec<_>>().join("\n"));
    }
}

fn annotate(out: &mut String, level: Level, place: &Location, title: &str, message: &str) {
    let word = match level {
        Level::Error => "error",
        Level::Warning => "warning",
    };
    let _ = write!(out, "::{word} file={}", property(&place.file));
    if !place.is_whole_file() {
        let _ = write!(out, ",line={},col={}", place.line, place.column);
    }
    let _ = writeln!(out, ",title={}::{}", property(title), data(message));
}

/// Text behind the command, as the runner reads it back.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A value of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_for_the_runner_is_escaped() {
        let mut out = String::new();
        let place = Location::new("a,b:c.yaml", 3, 5, 1);
        annotate(&mut out, Level::Error, &place, "50 %: of\nall", "one, two:\r\n::error::100 %");
        let expected =
            "::error file=a%2Cb%3Ac.yaml,line=3,col=5,title=50 %25%3A of%0Aall::one, two:%0D%0A::error::100 %25\n";
        assert_eq!(out, expected);
    }
}
