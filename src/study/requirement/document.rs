//! What a study's document requires.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use super::super::edit;
use super::super::grid::Variant;
use super::super::rare::metric_of_word;
use super::super::results::CONFIDENCE;
use super::{AVAILABILITY, Limit, OF_WORKLOADS, Requirement, runs_to_tell_if_all_meet};
use crate::diagnostics::{Diagnostic, nearest};
use crate::observe::workload_matches;
use crate::scenario::{ResolvedScenario, Share, nearest_pattern};
use crate::units::{SimDuration, counted, parse_percent};

/// Something that a share of all runs has to keep.
#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema), schemars(rename = "Requirement"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::study) struct RequireEntry {
    /// The figure of a run, in the words of `cost` or by its own name; or `availability`, the lowest share of time at or above `minReady`
    /// of all workloads that have an objective.
    metric: String,
    /// Whose figure it is, by `kind/namespace/name` with `*` for any text; of several the worst one's.
    #[serde(default)]
    workload: Option<String>,
    /// The figure has to be this or more. Either this or `atMost` is said.
    #[serde(default)]
    at_least: Option<Threshold>,
    /// The figure has to be this or less.
    #[serde(default)]
    at_most: Option<Threshold>,
    /// In which share of all runs, such as `95%`; `100%` for every run that is played.
    probability: Share,
}

/// A number, a share, or a length of time in seconds.
#[derive(Clone, Copy)]
struct Threshold {
    value: f64,
    written: Written,
}

/// As what a threshold is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    Number,
    Share,
    Length,
}

impl Threshold {
    const fn number(value: f64) -> Self {
        Self { value, written: Written::Number }
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ThresholdVisitor;

        impl Visitor<'_> for ThresholdVisitor {
            type Value = Threshold;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number, a share such as `99.9%`, or a duration such as `90s`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Threshold, E> {
                let share = parse_percent(text).map(|value| Threshold { value, written: Written::Share });
                let length = || {
                    let value = SimDuration::parse_with_days(text).ok()?.as_secs_f64();
                    Some(Threshold { value, written: Written::Length })
                };
                share.or_else(length).ok_or_else(|| {
                    let message = "is neither a number nor a share such as `99.9%` nor a duration such as `90s`";
                    E::custom(format_args!("`{text}` {message}"))
                })
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Threshold, E> {
                Ok(Threshold::number(value))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Threshold, E> {
                Ok(Threshold::number(value as f64))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Threshold, E> {
                Ok(Threshold::number(value as f64))
            }
        }
        deserializer.deserialize_any(ThresholdVisitor)
    }
}

#[cfg(feature = "cli")]
impl schemars::JsonSchema for Threshold {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Threshold".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let share = generator.subschema_for::<Share>();
        schemars::json_schema!({
            "description": "a number in the unit of the figure, a share such as `99.9%`, or a length of time, which counts in seconds",
            "anyOf": [{"type": "number"}, share, {"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(d|h|m|s|ms|us|ns))+$"}],
        })
    }
}

/// What is wrong, and what to do.
type Refusal = (String, String);

fn refuse<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, Refusal> {
    Err((message.into(), help.into()))
}

impl RequireEntry {
    /// The requirement that is meant; what is wrong with it is told with the path of the field, of which `at` is that of the whole. That it
    /// has no limit is told with that label.
    pub(in crate::study) fn read(
        &self,
        (at, no_limit): (&str, &str),
        problem: &mut dyn FnMut(Diagnostic, &str, &str),
    ) -> Option<Requirement> {
        let mut take = |found: Result<(), Refusal>, field: &str| {
            let path = if field.is_empty() { at.to_owned() } else { format!("{at}.{field}") };
            if let Err((message, help)) = found {
                let label = if field.is_empty() { no_limit } else { "" };
                problem(Diagnostic::error("study::requirement", message).help(help), &path, label);
                return false;
            }
            true
        };
        let metric = self.metric();
        let mut is_whole = take(metric.clone().map(|_| ()), "metric");
        let limit = self.limit();
        is_whole &= take(limit.clone().map(|_| ()), "");
        if let (Ok(metric), Ok(_)) = (&metric, &limit) {
            let field = if self.at_least.is_some() { "atLeast" } else { "atMost" };
            is_whole &= take(self.check_unit(metric), field);
        }
        if self.probability.0 <= 0.0 {
            let help = "write a share above 0, such as `95%`; `100%` for every run that is played";
            is_whole &= take(refuse("what no run has to keep is not required", help), "probability");
        }
        if !is_whole {
            return None;
        }
        let (metric, limit) = (metric.ok()?, limit.ok()?);
        let word = if self.metric == metric { String::new() } else { format!(" (`{metric}`)") };
        if metric == AVAILABILITY {
            let is_share = (0.0..=1.0).contains(&limit.value());
            let found = match limit {
                Limit::AtMost(_) => refuse(
                    "nobody requires that a workload is available no more than so often",
                    "write `atLeast`, such as `atLeast: 99.9%`",
                ),
                Limit::AtLeast(least) if !is_share => refuse(
                    format!("{least} cannot be an availability: it is a share of the time"),
                    "write `99.9%`, or 0.999",
                ),
                Limit::AtLeast(_) => Ok(()),
            };
            is_whole = take(found, if matches!(limit, Limit::AtMost(_)) { "atMost" } else { "atLeast" });
        } else if self.workload.is_some() && matches!(limit, Limit::AtLeast(_)) {
            let message = format!("`{}`{word} of a workload is the better the lower it is", self.metric);
            is_whole = take(refuse(message, "write `atMost`"), "atLeast");
        }
        let workload = self.workload.clone();
        is_whole.then_some(Requirement { metric, workload, limit, probability: self.probability.0 })
    }

    fn metric(&self) -> Result<String, Refusal> {
        if self.metric == AVAILABILITY {
            return Ok(self.metric.clone());
        }
        let found = metric_of_word(&self.metric).map_err(|(message, help)| {
            let is_near = nearest(&self.metric, [AVAILABILITY]).is_some();
            (message, if is_near { format!("the nearest is `{AVAILABILITY}`") } else { help })
        })?;
        if self.workload.is_some() && !OF_WORKLOADS.contains(&found) {
            let help = format!(
                "figures of workloads are {}; leave `workload` out for that of the run",
                OF_WORKLOADS.join(", ")
            );
            return refuse(format!("a workload has no `{found}` of its own"), help);
        }
        Ok(found.to_owned())
    }

    /// Whether a figure of that unit can be held against what is written.
    fn check_unit(&self, metric: &str) -> Result<(), Refusal> {
        let Some(threshold) = self.at_least.or(self.at_most) else { return Ok(()) };
        let word = &self.metric;
        match threshold.written {
            Written::Length if !metric.ends_with("_s") => {
                refuse(format!("`{word}` is no length of time"), "write a number in its unit")
            }
            Written::Share if metric != AVAILABILITY => refuse(
                format!("`{word}` is no share"),
                format!("write a number in its unit; `{AVAILABILITY}` is a share"),
            ),
            _ if threshold.value < 0.0 => refuse("no figure of a run is less than 0", "write a number from 0 on"),
            _ => Ok(()),
        }
    }

    fn limit(&self) -> Result<Limit, Refusal> {
        let limit = match (self.at_least, self.at_most) {
            (Some(least), None) => Limit::AtLeast(least.value),
            (None, Some(most)) => Limit::AtMost(most.value),
            _ => return refuse("what is required is either `atLeast` or `atMost` something", "write one of the two"),
        };
        if limit.value().is_finite() {
            Ok(limit)
        } else {
            refuse("this is no number that a figure can be held against", "write one")
        }
    }
}

/// Kinds of which a run tells in which share of the time they were whole.
const OBSERVED: [&str; 4] = ["deployment/", "replicaset/", "statefulset/", "daemonset/"];

/// The workloads of a scenario that have figures of their own, as patterns name them.
fn paths(scenario: &ResolvedScenario) -> Vec<String> {
    let all = edit::workloads(&scenario.objects, &["*".to_owned()]).unwrap_or_default();
    let paths = all.into_iter().map(|index| edit::path_of(&scenario.objects[index].object));
    paths.filter(|path| OBSERVED.iter().any(|kind| path.starts_with(kind))).collect()
}

/// Says why something cannot be required of runs of these variants, and what to do.
pub(in crate::study) fn check(one: &Requirement, variants: &[Variant], has_prices: bool) -> Result<(), Refusal> {
    if one.metric == super::super::metrics::COST && !has_prices {
        return refuse("nothing has a price, so that no run costs more than another", "say in `cost` what costs what");
    }
    if one.is_of_metrics() {
        return Ok(());
    }
    for variant in variants {
        let paths = paths(&variant.base);
        let found = match &one.workload {
            Some(pattern) if !paths.iter().any(|path| workload_matches(pattern, path)) => {
                let help = match nearest_pattern(pattern, &paths) {
                    Some(likely) => format!("the nearest is `{likely}`"),
                    None => "workloads are named `kind/namespace/name`, such as `deployment/shop/*`; Jobs have no availability".to_owned(),
                };
                refuse(format!("no workload is called `{pattern}`"), help)
            }
            None if !variant
                .base
                .objectives
                .iter()
                .any(|of| paths.iter().any(|path| workload_matches(&of.workload, path))) =>
            {
                refuse(
                    "no workload of the scenario has an objective, so that there is none whose availability counts",
                    "give it one in `spec.slo` of the scenario, or say which is meant: `workload: deployment/shop/frontend`",
                )
            }
            _ => Ok(()),
        };
        found?;
    }
    Ok(())
}

/// Says why nothing can be required of the runs of a study, and what to do.
pub(in crate::study) fn check_runs(is_antithetic: bool, is_rare: bool) -> Result<(), Refusal> {
    if is_antithetic {
        return refuse(
            "of runs that mirror each other nobody can tell in which share of all runs something holds",
            "take `seeds: plain`: then each run is a draw of its own",
        );
    }
    if is_rare {
        return refuse(
            "runs of a study of a rare event have weights, so that counting them does not tell in which share of all runs something holds",
            "leave out either: `rareEvents` itself says how often a figure is beyond a threshold",
        );
    }
    Ok(())
}

/// Warns of a study of so few runs that it cannot tell what is required to be met, even if each of them keeps it.
pub(in crate::study) fn too_few(required: &[(Requirement, String)], variants: usize, runs: u32) -> Option<Diagnostic> {
    let told = (variants * required.len()).max(1) as f64;
    let confidence = 1.0 - (1.0 - CONFIDENCE) / told;
    let needed = |(one, _): &(Requirement, String)| runs_to_tell_if_all_meet(one.probability, confidence);
    let (needed, one) = required.iter().map(|of| (needed(of), &of.0)).max_by_key(|(needed, _)| *needed)?;
    if u64::from(runs) >= needed {
        return None;
    }
    let message =
        format!("{} cannot show this, even if each of them keeps it: {one}", counted(runs as usize, "run", "runs"));
    let help =
        format!("{needed} can, for all variants at once: write `replications: {needed}`, or more if some may miss it");
    Some(Diagnostic::warning("study::requirement", message).help(help))
}
