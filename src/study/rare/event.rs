//! What is rare, as it is asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::super::document::PRICED;
use super::super::metrics::{COST, metric_names, position};
use crate::chaos::{Age, Biasing, CIRCUMSTANCES, FaultProcessSpec, circumstance};
use crate::diagnostics::nearest;
use crate::engine::Distribution;
use crate::units::plain;

/// Runs of each round of the pilot if nothing is said.
const PILOT: u32 = 500;
/// RareFactors beyond that are slips of the pen.
const FACTOR_MAX: f64 = 1e12;

/// A run that is looked for: one of whose figures is beyond a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RareEvent {
    /// The metric of a run, such as `unready_replica_s`.
    pub metric: String,
    /// On which side of the threshold.
    pub side: RareSide,
    /// The threshold, in the metric's unit.
    pub threshold: f64,
    /// By what failures are drawn more often, by the name of their process; those of others as they come. Empty if a pilot is to choose.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub factors: BTreeMap<String, RareFactors>,
    /// Runs of each round of the pilot.
    pub pilot: u32,
}

/// Which figures are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum RareSide {
    /// Those above the threshold.
    Above,
    /// Those below.
    Below,
}

/// By what the failures of a process are drawn more often than they come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct RareFactors {
    /// While no fault is under way.
    #[serde(default = "one")]
    pub calm: f64,
    /// While one is, or several are.
    #[serde(default = "one")]
    pub under_way: f64,
}

fn one() -> f64 {
    1.0
}

/// What is no rare event.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}: {help}")]
pub struct InvalidRareEvent {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// What is wrong with a rare event, and what to do.
pub(in crate::study) type Refusal = (String, String);

/// The metric that a word of a study's document means: one that can have a price, or the name of a metric.
pub(in crate::study) fn metric_of_word(word: &str) -> Result<&'static str, Refusal> {
    let metric = PRICED.iter().find(|(known, _)| *known == word).map(|(_, metric)| *metric);
    let metric = metric.or_else(|| metric_names().into_iter().find(|metric| *metric == word));
    metric.ok_or_else(|| {
        let known = PRICED.iter().map(|(known, _)| *known).chain(metric_names());
        let help = match nearest(word, known) {
            Some(likely) => format!("the nearest is `{likely}`"),
            None => format!("metrics are {}", metric_names().join(", ")),
        };
        (format!("`{word}` is no metric of a run"), help)
    })
}

impl RareEvent {
    /// A run of which a metric, such as `unready_replica_s`, is beyond a threshold, in the metric's unit.
    ///
    /// # Errors
    ///
    /// If there is no such metric, or the threshold is no number.
    pub fn new(metric: &str, side: RareSide, threshold: f64) -> Result<Self, InvalidRareEvent> {
        let metric = metric_of_word(metric).map_err(|(message, help)| InvalidRareEvent { message, help })?;
        if !threshold.is_finite() {
            let message = format!("{threshold} is no threshold");
            return Err(InvalidRareEvent { message, help: format!("it is a number in the unit of `{metric}`") });
        }
        Ok(Self { metric: metric.to_owned(), side, threshold, factors: BTreeMap::new(), pilot: PILOT })
    }

    /// The same with so many runs in each round of the pilot.
    #[must_use]
    pub(in crate::study) fn with_pilot(self, pilot: Option<u32>) -> Self {
        Self { pilot: pilot.unwrap_or(self.pilot), ..self }
    }

    /// The value of the metric, the higher the nearer to the event or the further beyond.
    pub(super) fn score(&self, metrics: &[f64]) -> f64 {
        let value = position(&self.metric).map_or(0.0, |at| metrics[at]);
        if self.side == RareSide::Above { value } else { -value }
    }

    /// The score that is exceeded in the event.
    pub(super) fn level(&self) -> f64 {
        if self.side == RareSide::Above { self.threshold } else { -self.threshold }
    }

    /// Whether a run with these metrics has it.
    pub(super) fn is_in(&self, metrics: &[f64]) -> bool {
        self.score(metrics) > self.level()
    }

    /// Whether it depends on prices.
    pub(in crate::study) fn is_of_cost(&self) -> bool {
        self.metric == COST
    }

    /// What is wrong with factors by hand.
    pub(in crate::study) fn check_factors(&self, processes: &[String]) -> Result<(), Refusal> {
        for (name, factors) in &self.factors {
            if !processes.contains(name) {
                let help = match nearest(name, processes.iter().map(String::as_str)) {
                    Some(likely) => format!("the nearest is `{likely}`"),
                    None => format!("those of the scenario are {}", processes.join(", ")),
                };
                return Err((format!("no random process of the scenario is called `{name}`"), help));
            }
            let wrong = [factors.calm, factors.under_way].into_iter().find(|of| !(*of > 0.0 && *of <= FACTOR_MAX));
            if let Some(wrong) = wrong {
                let message = format!("{wrong} cannot be the factor of `{name}`: a factor is above 0 and at most 1e12");
                return Err((message, "100 draws failures a hundred times as often as they come".to_owned()));
            }
        }
        Ok(())
    }

    /// The factors by hand; none if a pilot is to choose.
    pub(super) fn by_hand(&self, processes: &[FaultProcessSpec]) -> Option<Biasing> {
        let of = |process: &FaultProcessSpec| {
            let mut found = [1.0; CIRCUMSTANCES];
            let Some(factors) = self.factors.get(&process.name) else { return found };
            // What has failed in this run fails again as it does.
            for (under_way, factor) in [factors.calm, factors.under_way, factors.under_way].into_iter().enumerate() {
                found[circumstance(under_way, Age::Grown)] = factor;
            }
            found
        };
        (!self.factors.is_empty()).then(|| Biasing { factors: processes.iter().map(of).collect() })
    }
}

impl fmt::Display for RareEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.side == RareSide::Above { ">" } else { "<" };
        write!(formatter, "{}{side}{}", self.metric, plain(self.threshold))
    }
}

impl FromStr for RareEvent {
    type Err = InvalidRareEvent;

    /// Reads `unready_replica_s>5000` or `nodes_ready_min<3`.
    fn from_str(text: &str) -> Result<Self, InvalidRareEvent> {
        let usage = || InvalidRareEvent {
            message: format!("`{text}` is no rare event"),
            help: "write METRIC>THRESHOLD or METRIC<THRESHOLD, such as unready_replica_s>5000".to_owned(),
        };
        let at = text.find(['>', '<']).ok_or_else(usage)?;
        let side = if text[at..].starts_with('>') { RareSide::Above } else { RareSide::Below };
        let (metric, threshold) = (text[..at].trim(), text[at + 1..].trim());
        Self::new(metric, side, threshold.parse().map_err(|_| usage())?)
    }
}

/// Whether chance decides when it fails.
pub(super) fn is_random(process: &FaultProcessSpec) -> bool {
    !process.time_to_failure.is_constant()
}

/// The mean of a time, in seconds; infinite of what never ends.
pub(super) fn mean_s(time: Option<&Distribution>) -> f64 {
    time.and_then(Distribution::mean).map_or(f64::INFINITY, |mean| mean.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_they_are_written() {
        let check = |text: &str, expected: Result<&str, &str>| match (text.parse::<RareEvent>(), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.to_string(), expected),
            (Err(found), Err(expected)) => assert!(found.to_string().contains(expected), "{found}"),
            (found, expected) => panic!("{text}: {found:?}, not {expected:?}"),
        };
        check("unready_replica_s>5000", Ok("unready_replica_s>5000"));
        check(" unreadyReplicaSeconds > 5e3", Ok("unready_replica_s>5000"));
        check("nodes_ready_min<3", Ok("nodes_ready_min<3"));
        check("nodes_redy_min<3", Err("the nearest is `nodes_ready_min`"));
        check("nodes_ready_min", Err("write METRIC>THRESHOLD"));
        check("nodes_ready_min>many", Err("write METRIC>THRESHOLD"));
        check("nodes_ready_min>inf", Err("inf is no threshold"));
    }
}
