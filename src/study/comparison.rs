//! Which variant costs least, and what the data cannot tell from it.

use serde::Serialize;

use super::estimate::{RestsOnUnseen, Series};
use super::metrics::{self, UNREADY};
use super::results::{CONFIDENCE, Results};
use super::statistics::Interval;
use super::undone::DoneElsewhere;

/// Among more variants than this, the front goes by means: comparing each with each takes too long.
const FRONT_COMPARED_MAX: usize = 100;

const LOST_TRAFFIC: &str = "lost_traffic_s";

/// What costs least, and how sure that is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Position of the variant with the lowest mean cost of those that are not ruled out; in `tune`, of the one that is
    /// recommended, unless workloads get values of their own.
    pub best: usize,
    /// Its cost.
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
    /// By mean, ascending.
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
        let means = columns.iter().map(|column| self.estimate_at(CONFIDENCE).mean(column).mean);
        let all_are_out = is_out.iter().all(|is_out| *is_out);
        let mut order: Vec<(f64, usize)> =
            means.zip(0..).filter(|(_, column)| all_are_out || !is_out[*column]).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let order: Vec<usize> = order.into_iter().map(|(_, column)| column).collect();
        let pairs = (columns.len() * columns.len().saturating_sub(1) / 2).max(1) as f64;
        let confidence = 1.0 - (1.0 - self.confidence()) / pairs;
        let estimate = self.estimate_at(confidence).with_unseen(columns, self.is_chancy);
        let is_alike = |other: &usize| estimate.between(columns, order[0], *other).has_zero();
        let alike = order.iter().skip(1).copied().filter(is_alike).collect();
        Contest { order, alike, confidence }
    }

    /// Which variant costs least; none if nothing has a price, nothing was played, or runs last differently long.
    #[must_use]
    pub fn comparison(&self) -> Option<Comparison> {
        self.comparison_of(None)
    }

    /// How a variant, or the cheapest one, stands against the others.
    pub(super) fn comparison_of(&self, variant: Option<usize>) -> Option<Comparison> {
        if self.prices.is_empty() || !self.lengths_s.is_empty() || self.runs.iter().any(Vec::is_empty) {
            return None;
        }
        let columns: Vec<Series> = (0..self.variants.len()).map(|variant| self.costs(variant)).collect();
        let contest = self.contest(&columns, &self.ruled_out());
        let cheapest = *contest.order.first()?;
        let best = variant.unwrap_or(cheapest);
        let of_pairs = self.estimate_at(contest.confidence).with_unseen(&columns, self.is_chancy);
        Some(Comparison {
            best,
            cost: self.estimate().with_unseen(&columns, self.is_chancy).mean(&columns[best]),
            against_baseline: of_pairs.between(&columns, best, self.baseline),
            rests_on_unseen: of_pairs.rests_on_unseen(&columns, best, self.baseline),
            confidence: contest.confidence,
            runner_up: contest.order.iter().copied().find(|other| *other != best),
            alike: contest.alike.into_iter().chain([cheapest]).filter(|other| *other != best).collect(),
            done_elsewhere: self.done_elsewhere(best),
        })
    }

    /// What stands for unavailability: lost traffic where that has a price, else what the API shows as not ready.
    #[must_use]
    pub fn unavailability(&self) -> Unavailability {
        let is_priced = self.prices.iter().any(|(metric, price)| metric == LOST_TRAFFIC && *price > 0.0);
        if is_priced { Unavailability::LostTraffic } else { Unavailability::Unready }
    }

    /// Variants that the data do not tell to be beaten in both unavailability and needless evictions by any other one. Those that
    /// are ruled out neither beat nor count; none is on the front where runs last differently long.
    #[must_use]
    pub fn front(&self) -> Vec<usize> {
        if !self.lengths_s.is_empty() {
            return Vec::new();
        }
        let index = |metric: &str| metrics::position(metric).unwrap_or(0);
        let (bad, needless) = (index(self.unavailability().metric()), index("needless_evictions"));
        let column = |metric: usize| -> Vec<Series> {
            (0..self.variants.len()).map(|variant| self.observations(variant, metric)).collect()
        };
        let (bad, needless, is_out) = (column(bad), column(needless), self.ruled_out());
        if self.variants.len() > FRONT_COMPARED_MAX {
            let mean = |series: &Series| self.estimate().mean(series).mean;
            let points = bad.iter().map(&mean).zip(needless.iter().map(&mean)).zip(&is_out);
            let points = points.map(|(point, is_out)| if *is_out { (f64::NAN, f64::NAN) } else { point });
            return front(&points.collect::<Vec<_>>());
        }
        let beats = |one: usize, other: usize| {
            let of = |columns: &[Series]| self.estimate().difference(&columns[one], &columns[other]);
            let (bad, needless) = (of(&bad), of(&needless));
            bad.high <= 0.0 && needless.high <= 0.0 && (bad.high < 0.0 || needless.high < 0.0)
        };
        let is_beaten = |one: usize| (0..bad.len()).any(|other| other != one && !is_out[other] && beats(other, one));
        (0..bad.len()).filter(|&one| !is_out[one] && !bad[one].is_empty() && !is_beaten(one)).collect()
    }
}

/// Positions of the points that no other one beats in one coordinate without losing in the other.
pub(super) fn front(points: &[(f64, f64)]) -> Vec<usize> {
    let beats = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && a.1 <= b.1 && a != b;
    let is_on_front = |one: (f64, f64)| !one.0.is_nan() && !points.iter().any(|&other| beats(other, one));
    (0..points.len()).filter(|&one| is_on_front(points[one])).collect()
}
