//! What a study's document says of a rare event.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::grid::Variant;
use super::event::{InvalidRareEvent, RareEvent, RareFactors, RareSide, Refusal, metric_of_word};
use crate::diagnostics::Diagnostic;

/// Runs of a round of the pilot: fewer tell nothing of what is rare.
const PILOT_MIN: u32 = 50;
/// More are a slip of the pen.
const PILOT_MAX: u32 = 1_000_000;

/// `rareEvents` of a study.
#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::study) struct RareEvents {
    /// The figure of a run, in the words of `cost` or by its own name.
    metric: String,
    /// A run has the event if the figure is above this. Either this or `below` is said.
    #[serde(default)]
    above: Option<f64>,
    /// A run has the event if the figure is below this.
    #[serde(default)]
    below: Option<f64>,
    /// By what failures are drawn more often than they come, by the name of their process in `faults`. Without it a pilot chooses.
    #[serde(default)]
    factors: BTreeMap<String, RareFactors>,
    /// Runs of each round of the pilot; 500 if nothing is said.
    #[serde(default)]
    pilot: Option<u32>,
}

impl RareEvents {
    /// The event that is meant; what is wrong with it is told with the path of the field.
    pub(in crate::study) fn read(&self, problem: &mut dyn FnMut(Diagnostic, &str, &str)) -> Option<RareEvent> {
        let mut refuse = |(message, help): Refusal, path: &str| {
            problem(Diagnostic::error("study::bad_value", message).help(help), path, "");
        };
        let metric = metric_of_word(&self.metric).map_err(|refusal| refuse(refusal, "spec.rareEvents.metric")).ok();
        let threshold = match (self.above, self.below) {
            (Some(above), None) => Some((RareSide::Above, above)),
            (None, Some(below)) => Some((RareSide::Below, below)),
            _ => {
                let message = "a rare event is either `above` or `below` a threshold".to_owned();
                refuse((message, "write for example `above: 5000`".to_owned()), "spec.rareEvents");
                None
            }
        };
        if let Some(pilot) = self.pilot.filter(|pilot| !(PILOT_MIN..=PILOT_MAX).contains(pilot)) {
            let message =
                format!("a round of the pilot cannot have {pilot} runs: it has from {PILOT_MIN} to {PILOT_MAX}");
            refuse((message, "leave it out: 500 do as a rule".to_owned()), "spec.rareEvents.pilot");
        }
        let (side, threshold) = threshold?;
        let event = RareEvent::new(metric?, side, threshold);
        let refused = event.map_err(|InvalidRareEvent { message, help }| refuse((message, help), "spec.rareEvents"));
        let event = refused.ok()?;
        Some(RareEvent { factors: self.factors.clone(), ..event.with_pilot(self.pilot) })
    }
}

/// Says why the event cannot be looked for in a study of these variants, and what to do.
pub(in crate::study) fn check(
    event: &RareEvent,
    variants: &[Variant],
    is_antithetic: bool,
    has_prices: bool,
) -> Result<(), Refusal> {
    let refuse = |message: &str, help: &str| Err((message.to_owned(), help.to_owned()));
    let processes = |variant: &Variant| -> Vec<String> {
        variant.base.chaos.processes.iter().map(|process| process.name.clone()).collect()
    };
    let of_first = variants.first().map(processes).unwrap_or_default();
    if of_first.is_empty() {
        return refuse(
            "nothing fails by chance in the scenario, so that nothing can be drawn more often",
            "say in `spec.faults` of the scenario what fails, with `timeToFailure` and `timeToRepair`",
        );
    }
    if variants.iter().any(|variant| processes(variant) != of_first) {
        return refuse(
            "the variants differ in their random processes, so that their failures cannot be drawn alike",
            "vary what is said in `spec.faults`, not which processes there are",
        );
    }
    if is_antithetic {
        return refuse("mirrored runs cannot have weights", "take `seeds: plain`");
    }
    if event.is_of_cost() && !has_prices {
        return refuse("nothing has a price, so that no run costs more than another", "say in `cost` what costs what");
    }
    event.check_factors(&of_first)
}
