//! Which variant costs least, and what the data cannot tell from it.

use serde::Serialize;

use super::estimate::{RestsOnUnseen, Series};
use super::metrics::{self, UNREADY};
use super::results::{CONFIDENCE, Results};
use super::statistics::Interval;
use super::undone::DoneElsewhere;

/// Among as many variants, each is compared with those alone that no other one leads by its means.
const FRONT_COMPARED_MAX: usize = 100;

const LOST_TRAFFIC: &str = "lost_traffic_s";

/// What costs least, and how sure that is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Position of the variant with the lowest cost of those that are not ruled out and are told to meet what is required; in `tune`, of the one that is
    /// recommended, unless workloads get values of their own.
    pub best: usize,
    /// Its cost, by the figure that variants are judged by.
    pub cost: Interval,
    /// What it costs more than the baseline, run by run; negative if it saves. Wider than the variant's own difference.
    pub against_baseline: Interval,
    /// The confidence of the latter: of all pairs of variants at once.
    pub confidence: f64,
    /// The second-lowest mean cost, if there is more than one variant.
    pub runner_up: Option<usize>,
    /// Variants that the data cannot tell from the best one.
    pub alike: Vec<usize>,
    /// What its saving against the baseline rests on if runs that nobody has seen decide whether it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rests_on_unseen: Option<RestsOnUnseen>,
    /// Ordered work that the best leaves undone and another variant gets done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_elsewhere: Option<DoneElsewhere>,
}

/// What stands for unavailability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unavailability {
    /// Lost traffic.
    LostTraffic,
    /// What the API shows as not ready.
    Unready,
}

impl Unavailability {
    /// The metric.
    #[must_use]
    pub fn metric(self) -> &'static str {
        match self {
            Self::LostTraffic => LOST_TRAFFIC,
            Self::Unready => UNREADY,
        }
    }

    /// What it is counted in.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::LostTraffic => "seconds of lost traffic",
            Self::Unready => "unready replica-seconds",
        }
    }
}

/// Which of several columns of costs is lowest.
pub(super) struct Contest {
    /// By mean, or the figure that is judged by, ascending.
    pub(super) order: Vec<usize>,
    /// Columns that cannot be told from the lowest, by mean.
    pub(super) alike: Vec<usize>,
    /// The confidence at which any two are compared.
    pub(super) confidence: f64,
}

impl Results {
    /// Compares columns of costs, each with each other; those that are out cannot be lowest, unless all are.
    ///
    /// # Source
    ///
    /// Paired differences on common random numbers, with Bonferroni's correction for all pairs, so that it also holds for the
    /// column that the data chose: Law, Simulation Modeling and Analysis, sections 10.2 and 10.3.
    pub(super) fn contest(&self, columns: &[Series], is_out: &[bool]) -> Contest {
        self.contest_of(columns, is_out, 1, None)
    }

    /// The same, in which what is there stands before what costs exactly as much.
    pub(super) fn contest_with(&self, columns: &[Series], is_out: &[bool], there: Option<usize>) -> Contest {
        self.contest_of(columns, is_out, 1, there)
    }

    /// The same of several contests, all of which hold at once.
    pub(super) fn contest_of(
        &self,
        columns: &[Series],
        is_out: &[bool],
        contests: usize,
        there: Option<usize>,
    ) -> Contest {
        let means = columns.iter().map(|column| self.cost_estimate_at(CONFIDENCE).mean(column).mean);
        let all_are_out = is_out.iter().all(|is_out| *is_out);
        let mut order: Vec<(f64, usize)> =
            means.zip(0..).filter(|(_, column)| all_are_out || !is_out[*column]).collect();
        let is_new = |column: usize| there != Some(column);
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then((is_new(a.1), a.1).cmp(&(is_new(b.1), b.1))));
        let order: Vec<usize> = order.into_iter().map(|(_, column)| column).collect();
        let pairs = (columns.len() * columns.len().saturating_sub(1) / 2).max(1) as f64;
        let confidence = 1.0 - (1.0 - self.confidence()) / (pairs * contests as f64);
        let estimate = self.cost_estimate_at(confidence).with_unseen(columns, self.is_chancy);
        let is_alike = |other: &usize| estimate.between(columns, order[0], *other).has_zero();
        let alike = order.iter().skip(1).copied().filter(is_alike).collect();
        Contest { order, alike, confidence }
    }

    /// Which variant costs least; none if nothing has a price, nothing was played, runs last differently long, or have weights.
    #[must_use]
    pub fn comparison(&self) -> Option<Comparison> {
        self.comparison_of(None)
    }

    /// How a variant, or the cheapest one, stands against the others.
    pub(super) fn comparison_of(&self, variant: Option<usize>) -> Option<Comparison> {
        // What is seldom drawn weighs most, so that an interval of what runs cost as a rule is wide: nothing is named the cheapest by it.
        if self.is_weighted()
            || self.prices.is_empty()
            || !self.lengths_s.is_empty()
            || self.runs.iter().any(Vec::is_empty)
            || self.nobody_meets()
        {
            return None;
        }
        let columns: Vec<Series> = (0..self.variants.len()).map(|variant| self.costs(variant)).collect();
        let contest = self.contest_with(&columns, &self.not_to_win(), Some(self.baseline));
        let cheapest = *contest.order.first()?;
        let best = variant.unwrap_or(cheapest);
        let of_pairs = self.cost_estimate_at(contest.confidence).with_unseen(&columns, self.is_chancy);
        Some(Comparison {
            best,
            cost: self.cost_estimate().with_unseen(&columns, self.is_chancy).mean(&columns[best]),
            against_baseline: of_pairs.between(&columns, best, self.baseline),
            rests_on_unseen: of_pairs.rests_on_unseen(&columns, best, self.baseline),
            confidence: contest.confidence,
            runner_up: contest.order.iter().copied().find(|other| *other != best),
            alike: contest.alike.into_iter().chain([cheapest]).filter(|other| *other != best).collect(),
            done_elsewhere: self.done_elsewhere(best),
        })
    }

    /// What stands for unavailability: lost traffic where that has a price, or where variants differ in how soon a lost node is found
    /// and any run lost some; else what the API shows as not ready.
    #[must_use]
    pub fn unavailability(&self) -> Unavailability {
        let is_priced = self.prices.iter().any(|(metric, price)| metric == LOST_TRAFFIC && *price > 0.0);
        let index = metrics::position(LOST_TRAFFIC);
        let loses = || index.is_some_and(|index| self.runs.iter().flatten().any(|run| run.metrics[index] > 0.0));
        let is_traffic = is_priced || (self.varies_detection && loses());
        if is_traffic { Unavailability::LostTraffic } else { Unavailability::Unready }
    }

    /// Variants that cannot be the cheapest: those that are ruled out or not told to keep what is required, and those that were not played on.
    pub(super) fn not_to_win(&self) -> Vec<bool> {
        self.or_set_aside(self.not_to_recommend())
    }

    /// Variants that cannot be the cheapest: these, and those that were not played on, as they were told to be dearer.
    fn or_set_aside(&self, is_out: Vec<bool>) -> Vec<bool> {
        let is_out = is_out.into_iter().enumerate();
        is_out.map(|(variant, is_out)| is_out || self.is_set_aside(variant)).collect()
    }

    /// Variants that the data do not tell to be beaten in both unavailability and needless evictions by any other one. Those that
    /// are ruled out, or were not played on, neither beat nor count; none is on the front where runs last differently long, or have
    /// weights.
    #[must_use]
    pub fn front(&self) -> Vec<usize> {
        if !self.lengths_s.is_empty() || self.is_weighted() {
            return Vec::new();
        }
        let index = |metric: &str| metrics::position(metric).unwrap_or(0);
        let metrics = [index(self.unavailability().metric()), index("needless_evictions")];
        let columns = metrics.map(|metric| {
            let of = (0..self.variants.len()).map(|variant| self.observations(variant, metric));
            of.collect::<Vec<Series>>()
        });
        self.not_beaten(&columns, &self.or_set_aside(self.ruled_out()))
    }

    /// Positions, in two columns of what is to be low, that no other one is told to beat, run by run: to be lower in one, by more than
    /// makes no difference, and not to be higher in the other by more than that. Those that are out neither beat nor count.
    pub(super) fn not_beaten(&self, columns: &[Vec<Series>; 2], is_out: &[bool]) -> Vec<usize> {
        // What nobody has seen speaks for none of them.
        let estimate = self.estimate();
        let means =
            [0, 1].map(|of| -> Vec<f64> { columns[of].iter().map(|series| estimate.mean(series).mean).collect() });
        let counts = |one: usize| !is_out[one] && !columns[0][one].is_empty();
        let leads = |one: usize, other: usize| means.iter().all(|mean| mean[one] <= mean[other]);
        let slight = |of: usize, other: usize| self.indifference * means[of][other].abs();
        let may_lead =
            |one: usize, other: usize| (0..2).all(|of| means[of][one] <= means[of][other] + slight(of, other));
        let is_told = |one: usize, other: usize| {
            let differences = [0, 1].map(|of| estimate.between(&columns[of], one, other));
            let is_lower = |of: usize| differences[of].high < 0.0 && self.matters(differences[of], means[of][other]);
            (0..2).all(|of| differences[of].high <= slight(of, other)) && (0..2).any(is_lower)
        };
        let counted: Vec<usize> = (0..is_out.len()).filter(|one| counts(*one)).collect();
        // Of many only those are asked that no other one leads: comparing each with each takes too long.
        let is_led = |one: usize| counted.iter().any(|&other| leads(other, one) && !leads(one, other));
        let rivals: Vec<usize> = match counted.len() {
            FRONT_COMPARED_MAX.. => counted.iter().copied().filter(|one| !is_led(*one)).collect(),
            _ => counted.clone(),
        };
        let is_beaten =
            |one: usize| rivals.iter().any(|&other| other != one && may_lead(other, one) && is_told(other, one));
        counted.iter().copied().filter(|one| !is_beaten(*one)).collect()
    }
}
