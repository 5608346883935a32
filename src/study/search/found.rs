//! What a search has found, as results keep it and tell it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::definition::Study;
use super::super::results::{CONFIDENCE, Results};
use super::super::statistics::Interval;
use super::super::tuning::Tuning;
use super::Plan;
use super::space::{Choice, Point as Place, Space, choice_of, point_of};
use super::surrogate::Prediction;
use super::survey::{At, Survey};
use crate::report::{SurrogateRow, named_table_text};

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ended {
    /// No point that is left promises enough.
    Settled,
    /// As many points were played as may be.
    Points,
    /// There is no other point.
    All,
}

/// A thing that is varied over a range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Where each value lies between the ends: 0 to 1.
    pub(super) places: Vec<f64>,
    /// Whether they lie evenly in the logarithm.
    pub is_geometric: bool,
    /// Whether nothing lies below the least.
    pub(super) has_floor: bool,
}

/// How a search went: with the runs, all that it says follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// By what is varied; none of what is listed.
    pub(super) ranges: Vec<Option<Range>>,
    /// Points that could have been played at most.
    pub(super) points_max: usize,
    /// For each variant in which round it was chosen; 0 of those that the search began with.
    pub(super) rounds: Vec<u32>,
    /// Points that were chosen to see whether fewer changes do as well.
    #[serde(default)]
    pub(super) plainer: usize,
    /// Points that were chosen and could not be played.
    pub(super) unplayable: u32,
    /// Why it ended.
    pub(super) ended: Ended,
    /// By how much the best of what is left is expected to be cheaper.
    pub(super) expected: f64,
    /// By how much it would have to be.
    pub(super) worth: f64,
}

impl Record {
    /// Nothing but what a search begins with has been played.
    pub(super) fn begin(study: &Study, plan: &Plan) -> Self {
        let range = |lattice: &super::Lattice| Range {
            places: lattice.places(),
            is_geometric: lattice.is_geometric(),
            has_floor: lattice.has_floor(),
        };
        Self {
            ranges: study.axes.iter().map(|axis| axis.range.as_ref().map(range)).collect(),
            points_max: plan.points_max,
            rounds: vec![0; study.variants.len()],
            plainer: 0,
            unplayable: 0,
            ended: Ended::Settled,
            expected: 0.0,
            worth: 0.0,
        }
    }

    pub(super) fn space(&self, results: &Results) -> Space {
        let places = self.ranges.iter().map(|range| range.as_ref().map(|range| range.places.clone())).collect();
        Space::of(places, results.levels.iter().map(Vec::len).collect())
    }
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// What is searched.
    pub ranges: Vec<Searched>,
    /// Points that there are: every combination of all values, and the scenario as it is, if it is none of them.
    pub points: u64,
    /// Points that were played, the scenario as it is among them.
    pub played: usize,
    /// Those of them that it began with.
    pub begun_with: usize,
    /// Those of the others that were played to see whether what is recommended does as well with one change less.
    pub plainer: usize,
    /// Points that it could have played at most.
    pub points_max: usize,
    /// Points that were chosen and whose scenario is invalid.
    pub unplayable: u32,
    /// Runs that were played, without those that confirm.
    pub runs: u64,
    /// Runs that every point would have taken.
    pub runs_of_all: u64,
    /// Why it ended.
    pub ended: Ended,
    /// By how much the best of what was not played is expected to be cheaper than the best that was, in cost a run.
    pub expected_improvement: f64,
    /// The least of it for which a point is played.
    pub least_improvement: f64,
    /// The point with the lowest prediction of those that were played and may be recommended.
    pub best: Option<Point>,
    /// The point with the lowest prediction of all.
    pub lowest: Option<Point>,
    /// Ranges at whose end the latter lies, if it saves anything: it may be cheaper still beyond.
    pub at_ends: Vec<AtEnd>,
    /// Every variant, by its position.
    pub variants: Vec<Played>,
}

/// What is searched.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Searched {
    /// Its name.
    pub name: String,
    /// The least value.
    pub from: String,
    /// The highest.
    pub to: String,
    /// How many values there are.
    pub values: usize,
    /// Whether they lie evenly in the logarithm.
    pub is_geometric: bool,
    /// How far apart values are whose costs have little to do with each other, as a share of the range.
    pub length: f64,
    /// Whether no run of any point that was played depends on it.
    pub is_inert: bool,
}

/// A point and what is predicted of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// `wait=120, grace=40s`.
    pub values: String,
    /// Whether it was played.
    pub is_played: bool,
    /// What it is predicted to cost more than the baseline, a run; negative if it saves.
    pub difference: Interval,
}

/// An end of a range at which the lowest prediction lies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtEnd {
    /// The name of what is searched.
    pub name: String,
    /// The value.
    pub value: String,
    /// Whether it is the least one.
    pub is_least: bool,
}

/// A variant of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Played {
    /// In which round it was chosen; 0 if the search began with it.
    pub round: u32,
    /// What it is predicted to cost more than the baseline; none of the scenario as it is if that is no point.
    pub difference: Option<Interval>,
}

fn interval(of: Prediction) -> Interval {
    let (low, high) = of.ends();
    Interval { mean: of.mean, low, high, widened: false }
}

/// Rows of what is predicted along one thing that is varied, through the best point.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Its name.
    pub along: String,
    /// What the others are.
    pub at: String,
    /// Its values, in their order.
    pub labels: Vec<String>,
    /// Where they lie between the ends of a range; of what is listed their positions.
    pub places: Vec<f64>,
    /// The values of all things, by value of this one.
    pub values: Vec<Vec<String>>,
    /// What is predicted.
    pub differences: Vec<Interval>,
    /// What the runs say, where it was played.
    pub observed: Vec<Option<f64>>,
    /// Whether it is a range.
    pub is_range: bool,
    /// Position of the value of the best point.
    pub best: usize,
}

impl Results {
    /// The position of the value of each thing that is varied; none of a scenario as it is whose values are not all among these.
    pub(super) fn point_of(&self, variant: usize) -> Option<Place> {
        point_of(&self.positions_of(variant))
    }

    /// The same, one by one.
    fn positions_of(&self, variant: usize) -> Choice {
        let position = |(levels, label): (&Vec<String>, &String)| levels.iter().position(|known| known == label);
        self.levels.iter().zip(&self.variants[variant]).map(position).collect()
    }

    /// What the runs of a variant cost on average.
    pub(in crate::study) fn mean_cost(&self, variant: usize) -> f64 {
        self.estimate_at(CONFIDENCE).mean(&self.costs(variant)).mean
    }

    fn survey(&self) -> Option<(&Record, Survey)> {
        let record = self.search.as_ref()?;
        (!self.runs.iter().any(Vec::is_empty)).then(|| (record, Survey::of(self, record)))
    }

    /// What the search of ranges has found; none if there are none.
    #[must_use]
    pub fn found(&self) -> Option<Found> {
        let (record, survey) = self.survey()?;
        let named = |point: &Place| {
            let values = self.axes.iter().zip(&self.levels).zip(point);
            values.map(|((axis, levels), at)| format!("{axis}={}", levels[*at])).collect::<Vec<_>>().join(", ")
        };
        let is_played = |point: &Place| survey.at.iter().any(|of| of.point == *point);
        let of = |point: &Place| Point {
            values: named(point),
            is_played: is_played(point),
            difference: interval(survey.predict(point)),
        };
        let lowest = survey.lowest();
        // The scenario as it is may be one more.
        let besides = (0..self.variants.len()).filter(|variant| self.point_of(*variant).is_none()).count();
        let points = survey.space.size().unwrap_or(usize::MAX).saturating_add(besides) as u64;
        let saves = lowest.as_ref().is_some_and(|point| survey.predict(point).mean < 0.0);
        // Whether it is told to be cheaper there than in the middle of the range.
        let leads = |axis: usize| {
            lowest.as_ref().is_some_and(|lowest| {
                let mut middle = lowest.clone();
                middle[axis] = (self.levels[axis].len() - 1) / 2;
                interval(survey.between(lowest, &middle)).high < 0.0
            })
        };
        let ends = |(axis, at): (usize, &usize)| {
            let (range, levels) = (record.ranges[axis].as_ref()?, &self.levels[axis]);
            let is_least = *at == 0 && !range.has_floor;
            let end = || AtEnd { name: self.axes[axis].clone(), value: levels[*at].clone(), is_least };
            (is_least || *at + 1 == levels.len()).then(end).filter(|_| leads(axis))
        };
        let searched = |axis: usize| {
            let (range, levels) = (record.ranges[axis].as_ref()?, &self.levels[axis]);
            Some(Searched {
                name: self.axes[axis].clone(),
                from: levels[0].clone(),
                to: levels[levels.len() - 1].clone(),
                values: levels.len(),
                is_geometric: range.is_geometric,
                length: survey.lengths()[axis],
                is_inert: survey.inert()[axis],
            })
        };
        let played = |(variant, round): (usize, &u32)| Played {
            round: *round,
            difference: self.point_of(variant).map(|point| interval(survey.predict(&point))),
        };
        Some(Found {
            ranges: (0..self.axes.len()).filter_map(searched).collect(),
            points,
            played: self.variants.len(),
            begun_with: record.rounds.iter().filter(|round| **round == 0).count(),
            plainer: record.plainer,
            points_max: record.points_max,
            unplayable: record.unplayable,
            runs: self.run_count() as u64,
            runs_of_all: points.saturating_mul(self.replications.into()),
            ended: record.ended,
            expected_improvement: record.expected,
            least_improvement: record.worth,
            best: survey.cheapest().map(|cheapest| of(&cheapest.point)),
            at_ends: lowest
                .iter()
                .filter(|_| saves)
                .flat_map(|point| point.iter().enumerate().filter_map(ends))
                .collect(),
            lowest: lowest.as_ref().map(of),
            variants: record.rounds.iter().enumerate().map(played).collect(),
        })
    }

    /// What is recommended by a search: of the points that were played and are predicted to cost as little as the cheapest, but for what
    /// nobody would notice, and are not told to cost more, the one that changes least; what is there, unless it is told to be dearer than that.
    pub(in crate::study) fn tuning_of_search(&self) -> Option<Tuning> {
        let (_, survey) = self.survey()?;
        let Some((chosen, cheapest)) = self.chosen_of(&survey) else {
            let mut as_it_is = Tuning::of_variant(self, self.baseline, Vec::new());
            let mean = |of: &&At| survey.predict(&of.point).mean;
            let slight = self.told_cheaper(&survey).min_by(|a, b| mean(a).total_cmp(&mean(b)));
            as_it_is.kept_as_slight = slight.map(|of| self.label(of.variant));
            return Some(as_it_is);
        };
        let is_alike = |of: &&At| {
            of.is_allowed && of.variant != chosen && interval(survey.between(&of.point, &cheapest.point)).has_zero()
        };
        let alike = survey.at.iter().filter(is_alike).map(|of| of.variant).collect();
        Some(Tuning::of_variant(self, chosen, alike))
    }

    /// The variant that is recommended, and the cheapest point; none if nothing is told to be cheaper than what is there by what counts.
    fn chosen_of<'a>(&'a self, survey: &'a Survey) -> Option<(usize, &'a At)> {
        let cost_today = self.mean_cost(self.baseline).abs();
        let told = self.told_cheaper(survey);
        let told: Vec<&At> = told.filter(|of| self.matters(interval(survey.predict(&of.point)), cost_today)).collect();
        let mean = |of: &At| survey.predict(&of.point).mean;
        let cheapest = *told.iter().min_by(|a, b| mean(a).total_cmp(&mean(b)))?;
        let is_close = |dearer: Interval| {
            let least = self.least_of(cheapest);
            dearer.mean <= least && (dearer.high <= least || dearer.has_zero())
        };
        let is_as_cheap = |of: &&&At| {
            of.variant == cheapest.variant || is_close(interval(survey.between(&of.point, &cheapest.point)))
        };
        let points = told.iter().filter(is_as_cheap).map(|of| (of.variant, mean(of)));
        let others = self.plainer_than_points().filter_map(|variant| {
            let saved = self.seen_between(variant, self.baseline);
            let does = saved.high < 0.0
                && self.matters(saved, cost_today)
                && is_close(self.seen_between(variant, cheapest.variant));
            does.then_some((variant, saved.mean))
        });
        let chosen = points.chain(others).min_by(|a, b| {
            let changes = |variant: usize| self.changes_of(variant);
            changes(a.0).cmp(&changes(b.0)).then(a.1.total_cmp(&b.1))
        });
        Some((chosen.map_or(cheapest.variant, |(variant, _)| variant), cheapest))
    }

    /// Variants that leave something as it is which is no value of its range, and may be recommended: the surrogate knows nothing of them.
    fn plainer_than_points(&self) -> impl Iterator<Item = usize> {
        let is_out = self.not_to_recommend();
        let others = (0..self.variants.len()).filter(|variant| *variant != self.baseline);
        others.filter(move |variant| !is_out[*variant] && self.point_of(*variant).is_none())
    }

    /// What one variant costs more than another, by their runs alone.
    fn seen_between(&self, one: usize, other: usize) -> Interval {
        self.estimate_at(CONFIDENCE).between(&[self.costs(one), self.costs(other)], 0, 1)
    }

    /// How many things a variant changes.
    fn changes_of(&self, variant: usize) -> usize {
        let labels = self.variants[variant].iter().zip(&self.variants[self.baseline]);
        labels.filter(|(ours, today)| ours != today).count()
    }

    /// Points that may be recommended and are told to be cheaper than what is there, be it by little.
    fn told_cheaper<'a>(&'a self, survey: &'a Survey) -> impl Iterator<Item = &'a At> {
        let others = survey.at.iter().filter(|of| of.is_allowed && of.variant != self.baseline);
        others.filter(|of| interval(survey.predict(&of.point)).high < 0.0)
    }

    /// What nobody would notice of what a point costs.
    fn least_of(&self, point: &At) -> f64 {
        self.indifference * self.mean_cost(point.variant).abs()
    }

    /// What is recommended with one change less, if that may cost as little and is not left out: the one of these with the lowest prediction; then
    /// one that leaves something as it is which is no value of its range, of which nothing is predicted.
    /// Values that make no difference beside others may have come along with these.
    pub(super) fn plainer(&self, survey: &Survey, left_out: &BTreeSet<Choice>) -> Option<Choice> {
        let (chosen, cheapest) = self.chosen_of(survey)?;
        let (chosen, today) = (self.positions_of(chosen), self.positions_of(self.baseline));
        let without = |(axis, today): (usize, &Option<usize>)| {
            let mut choice = chosen.clone();
            choice[axis] = *today;
            choice
        };
        let is_new = |choice: &Choice| *choice != chosen && *choice != today && !left_out.contains(choice);
        let choices = || today.iter().enumerate().map(without).filter(is_new);
        let may_do = |point: &Place| interval(survey.between(point, &cheapest.point)).low < self.least_of(cheapest);
        let mean = |point: &Place| survey.predict(point).mean;
        let points = choices().filter_map(|choice| point_of(&choice)).filter(may_do);
        let lowest = points.min_by(|a, b| mean(a).total_cmp(&mean(b)));
        let other = || choices().find(|choice| point_of(choice).is_none());
        lowest.map(|point| choice_of(&point)).or_else(other)
    }

    /// What is predicted along each thing that is varied, through the best point that was played; none of a study without ranges.
    #[must_use]
    pub fn slices(&self) -> Vec<Slice> {
        slices(self).unwrap_or_default()
    }

    /// `surrogate.csv`; none of a study without ranges.
    #[must_use]
    pub fn surrogate_csv(&self) -> Option<String> {
        let slices = slices(self)?;
        let rows = slices.into_iter().flat_map(|slice| {
            let row = |index: usize| SurrogateRow {
                along: slice.along.clone(),
                values: slice.values[index].clone(),
                place: slice.places[index],
                difference: [
                    slice.differences[index].mean,
                    slice.differences[index].low,
                    slice.differences[index].high,
                ],
                is_played: slice.observed[index].is_some(),
                observed: slice.observed[index].unwrap_or(f64::NAN),
            };
            (0..slice.labels.len()).map(row).collect::<Vec<_>>()
        });
        let axes: Vec<&str> = self.axes.iter().map(String::as_str).collect();
        Some(String::from_utf8(named_table_text::<SurrogateRow>(&[&axes], rows)).expect("cells are text"))
    }
}

/// What is predicted along each thing that is varied, through the best point that was played.
fn slices(results: &Results) -> Option<Vec<Slice>> {
    let (record, survey) = results.survey()?;
    let best = survey.cheapest().or(survey.at.first())?;
    let of = |axis: usize| {
        let points = survey.space.along(&best.point, axis);
        let labels = |point: &Place| -> Vec<String> {
            results.levels.iter().zip(point).map(|(levels, at)| levels[*at].clone()).collect()
        };
        let others = results.axes.iter().zip(labels(&best.point)).enumerate().filter(|(other, _)| *other != axis);
        let observed = |point: &Place| survey.at.iter().find(|of| of.point == *point).map(|of| of.observed);
        Slice {
            along: results.axes[axis].clone(),
            at: others.map(|(_, (name, value))| format!("{name}={value}")).collect::<Vec<_>>().join(", "),
            labels: results.levels[axis].clone(),
            places: points.iter().map(|point| survey.space.coordinate(axis, point[axis])).collect(),
            values: points.iter().map(labels).collect(),
            differences: points.iter().map(|point| interval(survey.predict(point))).collect(),
            observed: points.iter().map(observed).collect(),
            is_range: record.ranges[axis].is_some(),
            best: best.point[axis],
        }
    };
    Some((0..results.axes.len()).map(of).collect())
}
