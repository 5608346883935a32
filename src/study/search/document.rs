//! Ranges of a study and how they are searched, read and checked; the numbers that runs of their points have in a journal.

use serde::Deserialize;

use super::super::definition::Study;
use super::super::grid::Axis;
use super::space::Choice;
use super::{POINTS_MAX, Plan, RANGES_MAX, REPLICATIONS_MIN, Space};
use crate::diagnostics::Diagnostic;
use crate::units::counted;

/// How far the ranges of a study are searched.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::study) struct SearchEntry {
    /// How many points are played at most; if nothing is said, those that it begins with and ten more for each thing that is varied.
    points: usize,
}

/// What a study has besides its ranges.
pub(in crate::study) struct SearchAround {
    /// How many of the things that are varied have a range.
    pub(in crate::study) ranges: usize,
    /// Whether all that is varied could be read.
    pub(in crate::study) is_whole: bool,
    /// Whether something of it was found wrong and taken out, which may have been a range.
    pub(in crate::study) has_lost: bool,
    pub(in crate::study) replications: u32,
    /// Whether anything has a price, or would have if it were right.
    pub(in crate::study) is_priced: bool,
    pub(in crate::study) requires: bool,
    pub(in crate::study) asks_of_inputs: bool,
    pub(in crate::study) is_rare: bool,
    /// Whether variants are judged by bad runs.
    pub(in crate::study) is_of_bad_runs: bool,
}

/// Points have numbers up to this in the journal.
const NUMBERS_MAX: u64 = 1 << 52;

/// How ranges are searched, if there are any; what is wrong is told.
pub(in crate::study) fn read(
    entry: Option<SearchEntry>,
    around: &SearchAround,
    axes: &[Axis],
    problem: &mut dyn FnMut(Diagnostic, &str, &str),
) -> Option<Plan> {
    let ranges = around.ranges;
    let mut refuse = |message: String, help: &str, at: &str| {
        problem(Diagnostic::error("study::range", message).help(help), at, "");
    };
    if ranges == 0 {
        if entry.is_some() && !around.has_lost {
            let help = "give something a `range` instead of `values`, or leave `search` out";
            refuse("nothing is searched: every combination of values is played".to_owned(), help, "spec.search");
        }
        return None;
    }
    if ranges > RANGES_MAX {
        let message = format!("{ranges} ranges are too many to be filled by as many points as anybody plays");
        let help = format!("{} are the most: give the others `values`, or leave them out", RANGES_MAX);
        refuse(message, &help, "spec.vary");
    }
    if (1..REPLICATIONS_MIN).contains(&around.replications) {
        let message = format!(
            "{} are too few to search a range: they do not tell cost from chance",
            counted(around.replications as usize, "replication", "replications")
        );
        let help = format!("take at least {}; 100 tell small differences", REPLICATIONS_MIN);
        refuse(message, &help, "spec.replications");
    }
    if !around.is_priced {
        let message = "ranges are searched for what costs least, and nothing has a price";
        let help = "add prices, such as `cost: {unreadyReplicaSeconds: 1, evictions: 30, needlessEvictions: 60}`";
        refuse(message.to_owned(), help, "spec.cost");
    }
    if around.requires {
        let message = "ranges are searched for what costs least on average, and `require` asks for more than that";
        let help = "leave either out: list `values` of what is varied, or require nothing";
        refuse(message.to_owned(), help, "spec.require");
    }
    if around.asks_of_inputs {
        let message =
            "what the records leave open is told of every variant, and a search plays few points of its ranges";
        refuse(message.to_owned(), "list `values` of what is varied, or leave `inputs` out", "spec.inputs");
    }
    if around.is_rare {
        let message = "runs of a study of a rare event have weights, and ranges are not searched by these";
        refuse(message.to_owned(), "list `values` of what is varied, or leave `rareEvents` out", "spec.rareEvents");
    }
    if around.is_of_bad_runs {
        let message = "ranges are searched for what costs least on average, and `costBy` asks for bad runs";
        refuse(message.to_owned(), "list `values` of what is varied, or leave `costBy` out", "spec.costBy");
    }
    // One whose values are wrong has been spoken of.
    if axes.is_empty() || !around.is_whole {
        return None;
    }
    let space = Space::new(axes.iter().map(|axis| (axis.settings.len(), axis.range.as_ref())));
    if space.size().is_none_or(|size| size as u64 > NUMBERS_MAX) {
        let help = "take larger steps, or fewer values";
        refuse("the ranges have more points together than can be numbered".to_owned(), help, "spec.vary");
        return None;
    }
    // The scenario as it is may be one more.
    let least = space.begin().len() + 1;
    let most = POINTS_MAX.max(least);
    let points_max = entry.map_or_else(|| Plan::points_of(&space, axes.len()).min(most), |given| given.points);
    if points_max < least || points_max > most {
        let message = format!("a search of this plays {least} to {most} points, and not {points_max}");
        let help =
            "take a number between; those that it begins with spread over the ranges, the others are chosen one by one";
        let at = if entry.is_some() { "spec.search.points" } else { "spec.vary" };
        refuse(message, help, at);
    }
    Some(Plan { space, points_max })
}

impl Study {
    /// The number that runs of a variant have in the journal.
    pub(in crate::study) fn number_of(&self, variant: usize) -> usize {
        self.numbers.get(variant).copied().unwrap_or(variant)
    }

    /// The variant whose runs have a number in the journal.
    pub(in crate::study) fn variant_numbered(&self, number: usize) -> Option<usize> {
        match self.numbers.is_empty() {
            true => Some(number).filter(|number| *number < self.variants.len()),
            false => self.numbers.iter().position(|known| *known == number),
        }
    }

    /// The number that runs of a variant of finished results have in the journal, by its position and values.
    pub(crate) fn number_of_values(&self, variant: usize, values: &[String]) -> Option<usize> {
        let Some(plan) = &self.plan else { return Some(variant) };
        let known = || self.variants.iter().position(|of| of.labels == values).map(|variant| self.number_of(variant));
        let position = |(axis, value): (&Axis, &String)| axis.labels.iter().position(|label| label == value);
        let choice = || self.axes.iter().zip(values).map(position).collect::<Choice>();
        known().or_else(|| plan.space.number_of(&choice()))
    }

    /// The name of something that is varied over a range; none if everything is listed.
    pub(crate) fn range(&self) -> Option<&str> {
        self.axes.iter().find(|axis| axis.range.is_some()).map(|axis| axis.name.as_str())
    }

    /// How many points a search plays at most, and how many there are; none without ranges.
    pub(crate) fn points(&self) -> Option<(usize, usize)> {
        let of = |plan: &Plan| {
            let points = plan.space.size().unwrap_or(usize::MAX);
            (plan.points_max.min(points.saturating_add(1)), points)
        };
        self.plan.as_ref().map(of)
    }
}
