//! One scenario, played, and what came of it.

use std::path::Path;
use std::sync::Arc;

use super::found;
use super::snapshot::{Figures, Kept};
use crate::cli::check;
use crate::cli::failure;
use crate::cli::intake;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, Sources, Style};
use crate::facade::{self, LoadOptions, Scenario};
use crate::observe::Matter;
use crate::scenario::{ExpectationOutcome, Invalid, ResolvedScenario};
use crate::units::SimDuration;

/// A file that cannot be used, and why.
#[derive(Debug)]
pub(super) struct Unusable {
    pub(super) file: String,
    pub(super) diagnostics: Diagnostics,
    pub(super) sources: Sources,
}

impl Unusable {
    pub(super) fn of(path: &Path, Invalid { diagnostics, sources }: Invalid) -> Self {
        Self { file: path.to_string_lossy().into_owned(), diagnostics, sources }
    }
}

/// A file, and what came of it.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) file: String,
    pub(super) outcome: Outcome,
}

#[derive(Debug)]
pub(super) enum Outcome {
    Played(Box<Played>),
    Unusable(Unusable),
    /// An invariant of ours broke; `scenario` is what was played.
    Bug {
        what: String,
        scenario: Option<Arc<ResolvedScenario>>,
    },
}

/// A scenario that was played to its end.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) name: String,
    pub(super) duration: SimDuration,
    pub(super) seed: u64,
    pub(super) judged: Vec<Judged>,
    /// What may make the result worth less than it looks.
    pub(super) remarks: Vec<String>,
    pub(super) figures: Figures,
    /// Where the figures are kept.
    pub(super) snapshot: Option<std::path::PathBuf>,
    pub(super) kept: Kept,
}

/// An expectation, what became of it, and where it is written.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) outcome: ExpectationOutcome,
    pub(super) location: Location,
}

impl Judged {
    /// `evictions <= 3`
    pub(super) fn wanted(&self) -> String {
        let ExpectationOutcome { metric, op, value, .. } = &self.outcome;
        format!("{metric} {op} {value}")
    }
}

impl Trial {
    pub(super) fn unusable(unusable: Unusable) -> Self {
        Self { file: unusable.file.clone(), outcome: Outcome::Unusable(unusable) }
    }

    /// Plays a scenario and compares its figures with those that are kept; what is to be written anew is not compared.
    pub(super) fn play(found: &found::Scenario, is_update: bool) -> Self {
        let file = found.path.to_string_lossy().into_owned();
        let load = || Scenario::load_with(&found.path, &LoadOptions::new().of_command_line());
        let scenario = match failure::caught(load) {
            Ok(Ok(scenario)) => scenario,
            Ok(Err(error)) => return Self::unusable(Unusable::of(&found.path, check::invalid(error))),
            Err(what) => return Self { file, outcome: Outcome::Bug { what, scenario: None } },
        };
        let play = || Played::of(&scenario.play(scenario.seed()));
        let outcome = match failure::caught(play) {
            Ok(played) => {
                let kept = match &found.snapshot {
                    Some(place) if !is_update => Kept::compare(place, &played.figures),
                    _ => Kept::Nothing,
                };
                Outcome::Played(Box::new(Played { kept, snapshot: found.snapshot.clone(), ..played }))
            }
            Err(what) => Outcome::Bug { what, scenario: Some(Arc::clone(scenario.resolved())) },
        };
        Self { file, outcome }
    }

    /// Keeps the figures of a scenario that was played.
    pub(super) fn keep(&mut self) {
        if let Outcome::Played(played) = &mut self.outcome
            && let Some(place) = &played.snapshot
        {
            played.kept = Kept::write(place, &played.figures);
        }
    }

    /// What cannot be used: the scenario, or the figures that are kept of it.
    pub(super) fn problems(&self) -> Option<&Unusable> {
        match &self.outcome {
            Outcome::Unusable(unusable) => Some(unusable),
            Outcome::Played(played) => match &played.kept {
                Kept::Unusable(unusable) => Some(unusable),
                Kept::Nothing | Kept::Same | Kept::Moved(_) | Kept::Written => None,
            },
            Outcome::Bug { .. } => None,
        }
    }

    /// What may make the result worth less than it looks, with the file in front.
    pub(super) fn remarks(&self) -> Vec<String> {
        match &self.outcome {
            Outcome::Played(played) => played.remarks.iter().map(|remark| format!("{}: {remark}", self.file)).collect(),
            Outcome::Unusable(_) | Outcome::Bug { .. } => Vec::new(),
        }
    }
}

impl Played {
    fn of(outcome: &facade::Outcome) -> Self {
        let scenario = outcome.scenario().resolved();
        let judged = scenario
            .expectations
            .iter()
            .zip(&outcome.expectations)
            .map(|(expectation, outcome)| Judged { outcome: outcome.clone(), location: expectation.location.clone() });
        // A fault that did not happen proves nothing, nor does a line that failed, a name that nothing has, or a cluster of which a
        // part is missing.
        let unread = intake::unread(&scenario.input, Style::Plain) + &intake::unsettled(outcome, Style::Plain);
        let is_asked = scenario.expectations.iter().any(|of| of.metric == "commands_failed");
        let missed = outcome.observed.summary.verdict.iter().filter(|sentence| match sentence.kind {
            Matter::FaultHitNobody => true,
            Matter::CommandFailed => !is_asked,
            _ => false,
        });
        let warnings = scenario.warnings.iter().map(in_one_line);
        let remarks =
            warnings.chain(unread.lines().map(str::to_owned)).chain(missed.map(|sentence| sentence.text.clone()));
        Self {
            name: scenario.name.clone(),
            duration: scenario.duration,
            seed: outcome.seed(),
            judged: judged.collect(),
            remarks: remarks.collect(),
            figures: Figures::of(outcome),
            snapshot: None,
            kept: Kept::Nothing,
        }
    }

    /// Whether all holds, as far as it is judged.
    pub(super) fn holds(&self) -> bool {
        let is_kept = !matches!(self.kept, Kept::Moved(_) | Kept::Unusable(_));
        is_kept && self.judged.iter().all(|judged| judged.outcome.holds)
    }
}

/// A warning with its place.
fn in_one_line(warning: &Diagnostic) -> String {
    warning.location().map_or_else(|| warning.message.clone(), |at| format!("{} ({at})", warning.message))
}
