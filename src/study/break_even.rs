//! Within which range of each price the answer of a study stays what it is.
//!
//! What a run costs is linear in prices, and its metrics are kept: other prices need no new runs. Each price is moved alone, the others stay.

use serde::Serialize;

use super::estimate::Series;
use super::metrics::{self, COST, WORKLOAD_METRICS};
use super::results::Results;
use super::shard::Shard;
use super::statistics::ROUNDING;
use super::tuning::Tuning;

/// How far the answer holds if one price changes and the others do not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BreakEven {
    /// What has the price.
    pub metric: String,
    /// The price that the study has.
    pub now: f64,
    /// Prices at which the answer costs less than any other variant, on average of the runs; none if it does not so now, if that
    /// cannot be said of values of their own for workloads, or if something is required of the cost, so that prices decide who is a rival.
    pub cheapest: Option<PriceRange>,
    /// Prices at which `tune` recommends the same, or, after a sweep, the answer is told to cost less than the baseline by enough to
    /// be worth a change; none if it is not told so now.
    pub told: Option<PriceRange>,
}

/// Prices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriceRange {
    /// The lowest; 0 if it has no lower end.
    pub from: f64,
    /// The highest; none if there is none.
    pub to: Option<f64>,
    /// The variant that is cheapest at lower prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
    /// The variant that is cheapest at higher ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub above: Option<String>,
}

/// As high as a price can be: sums of higher ones lose what is cheap, or have no end. What holds there holds at any.
pub(super) const PRICE_MAX: f64 = 1e12;

/// A mean cost as a line over one price: what it is at the price of the study, and by how much it rises with it.
#[derive(Clone, Copy, Debug)]
struct Line {
    now: f64,
    slope: f64,
}

impl Results {
    /// How far the answer rests on each price: the recommendation of `tune` if there is one, else the variant that costs least. Nothing of
    /// parts and of runs that do not compare, and where variants were set aside: that was done at the prices of the study. Nothing of bad
    /// runs, either: which these are depends on the prices, so that what they cost is no line. Nor of a search: with other prices it would
    /// have played other points.
    #[must_use]
    pub fn break_even(&self, tuning: Option<&Tuning>) -> Vec<BreakEven> {
        if self.shard != Shard::WHOLE || self.has_set_aside() || !self.cost_by.is_mean() || self.search.is_some() {
            return Vec::new();
        }
        let Some(comparison) = self.comparison() else { return Vec::new() };
        let answer = match tuning {
            Some(tuning) => tuning.recommended_variant(),
            None => Some(comparison.best),
        };
        let limits_cost = self.requirements.iter().any(|one| one.metric == COST);
        let of = |(price, (metric, now)): (usize, &(String, f64))| {
            let mut repriced = Repriced::new(self, price)?;
            let cheapest = (!limits_cost).then(|| repriced.cheapest(answer, tuning)).flatten();
            let told = match tuning {
                Some(tuning) => repriced.search(&mut |results| results.tuning().is_some_and(|of| of.is_as(tuning))),
                None if comparison.best == self.baseline => None,
                None => repriced.search(&mut |results| results.is_told(comparison.best, comparison.confidence)),
            };
            Some(BreakEven { metric: metric.clone(), now: *now, cheapest, told })
        };
        self.prices.iter().enumerate().filter_map(of).collect()
    }

    /// Whether a variant is told to cost less than the baseline, by enough to be worth a change.
    fn is_told(&self, variant: usize, confidence: f64) -> bool {
        let columns: Vec<Series> = (0..self.variants.len()).map(|variant| self.costs(variant)).collect();
        let estimate = self.estimate_at(confidence).with_unseen(&columns, self.is_chancy);
        let difference = estimate.between(&columns, variant, self.baseline);
        difference.high < 0.0 && self.matters(difference, mean(&columns[self.baseline]))
    }
}

fn mean(series: &[(u32, f64)]) -> f64 {
    series.iter().fold(0.0, |sum, (_, value)| sum + value) / series.len().max(1) as f64
}

/// The results of a study with one of its prices changed.
struct Repriced {
    results: Results,
    /// Which price.
    price: usize,
    now: f64,
    /// Positions of what has it, among the metrics of a run and those of a workload.
    metric: usize,
    of_workload: Option<usize>,
    /// What each run would cost if it cost nothing, as a whole and for each tuned workload.
    without: Vec<Vec<f64>>,
}

impl Repriced {
    fn new(results: &Results, price: usize) -> Option<Self> {
        let (name, now) = &results.prices[price];
        let metric = metrics::position(name)?;
        let of_workload = WORKLOAD_METRICS.iter().position(|known| known == name);
        let without = results.runs.iter().flatten().map(|run| {
            let whole = run.metrics[run.metrics.len() - 1] - now * run.metrics[metric];
            let workloads = run.workloads.chunks(WORKLOAD_METRICS.len());
            let own = workloads.map(|of| of[0] - of_workload.map_or(0.0, |at| now * of[at]));
            std::iter::once(whole).chain(own).collect()
        });
        let without = without.collect();
        Some(Self { results: results.clone(), price, now: *now, metric, of_workload, without })
    }

    /// The results at that price.
    fn at(&mut self, price: f64) -> &Results {
        let (metric, of_workload) = (self.metric, self.of_workload);
        self.results.prices[self.price].1 = price;
        for (run, without) in self.results.runs.iter_mut().flatten().zip(&self.without) {
            let last = run.metrics.len() - 1;
            run.metrics[last] = without[0] + price * run.metrics[metric];
            for (of, without) in run.workloads.chunks_mut(WORKLOAD_METRICS.len()).zip(&without[1..]) {
                of[0] = without + of_workload.map_or(0.0, |at| price * of[at]);
            }
        }
        &self.results
    }

    /// A price that makes a difference: the present one, or, if that is 0, the one at which the baseline would cost twice as much.
    fn scale(&self) -> f64 {
        let results = &self.results;
        let metric = mean(&results.observations(results.baseline, self.metric));
        let cost = mean(&results.costs(results.baseline));
        match self.now {
            now if now > 0.0 => now,
            _ if metric > 0.0 && cost > 0.0 => cost / metric,
            _ => 1.0,
        }
    }

    /// Prices at which the answer, a variant or what is recommended for each workload, costs less than any other variant that may win, on
    /// average.
    fn cheapest(&mut self, answer: Option<usize>, tuning: Option<&Tuning>) -> Option<PriceRange> {
        let (now, step, metric) = (self.now, self.scale(), self.metric);
        let line = |results: &Results, variant: usize| Line {
            now: mean(&results.costs(variant)),
            slope: mean(&results.observations(variant, metric)),
        };
        let of_answer = match answer {
            Some(variant) => line(self.at(now), variant),
            None => {
                let costs = |results: &Results| Some(mean(&results.recommended_costs(tuning?)?));
                let (here, there) = (costs(self.at(now))?, costs(self.at(now + step))?);
                Line { now: here, slope: (there - here) / step }
            }
        };
        let results = self.at(now);
        let is_out = results.not_to_win();
        let rivals = (0..results.variants.len()).filter(|&variant| Some(variant) != answer && !is_out[variant]);
        let mut range = PriceRange { from: 0.0, to: None, below: None, above: None };
        for rival in rivals {
            let of_rival = line(results, rival);
            let size = of_answer.now.abs().max(of_rival.now.abs());
            let (more, slope) = (of_answer.now - of_rival.now, of_answer.slope - of_rival.slope);
            if more > ROUNDING * size {
                return None;
            }
            if slope.abs() * step <= ROUNDING * size {
                continue;
            }
            // Where the two lines cross.
            let crossing = now - more.min(0.0) / slope;
            if slope > 0.0 && crossing < range.to.unwrap_or(PRICE_MAX) {
                (range.to, range.above) = (Some(crossing), Some(results.label(rival)));
            } else if slope < 0.0 && crossing > range.from.max(ROUNDING * step) {
                (range.from, range.below) = (crossing, Some(results.label(rival)));
            }
        }
        Some(range)
    }

    /// The prices around the present one at which something holds of the results; none if it does not now. The nearest at which it does
    /// not any more are looked for in steps of at most twice as much or half as much, and then by halves.
    fn search(&mut self, holds: &mut dyn FnMut(&Results) -> bool) -> Option<PriceRange> {
        let (now, scale) = (self.now, self.scale());
        let mut holds_at = |price: f64| holds(self.at(price));
        if !holds_at(now) {
            return None;
        }
        let upwards = (0..15).map(|power| now + scale / 16.0 * f64::from(1 << power));
        let to = edge((now, scale), upwards.filter(|price| *price < PRICE_MAX).chain([PRICE_MAX]), &mut holds_at);
        let downwards = [15.0 / 16.0, 7.0 / 8.0, 3.0 / 4.0].into_iter();
        let downwards = downwards.chain((1..11).map(|power| 1.0 / f64::from(1 << power))).chain([0.0]);
        let from =
            if now == 0.0 { None } else { edge((now, scale), downwards.map(|share| now * share), &mut holds_at) };
        Some(PriceRange { from: from.unwrap_or(0.0), to, below: None, above: None })
    }
}

/// The last price on the way from the present one at which something holds; none if it holds on the whole way. Beside the present one
/// stands one that makes a difference.
fn edge(
    (now, scale): (f64, f64),
    way: impl Iterator<Item = f64>,
    holds_at: &mut dyn FnMut(f64) -> bool,
) -> Option<f64> {
    let mut known = now;
    for price in way {
        if holds_at(price) {
            known = price;
            continue;
        }
        let mut beyond = price;
        while (known - beyond).abs() > 1e-4 * known.max(beyond) {
            let is_far = known.min(beyond) > 0.0 && known.max(beyond) > 4.0 * known.min(beyond);
            let between = if is_far { (known * beyond).sqrt() } else { f64::midpoint(known, beyond) };
            let half = if holds_at(between) { &mut known } else { &mut beyond };
            *half = between;
            // Towards 0 no share of a price is small enough.
            if known.max(beyond) < 1e-6 * scale {
                break;
            }
        }
        return Some(known);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::metrics::{metric_names, position};
    use super::super::results::tests::{results, with_metric};
    use super::super::tuning::WorkloadChoice;
    use super::super::tuning::tests::mixed;
    use super::*;

    /// A study of variants with these metrics in each run, at 1 an unready second and `price` an eviction; the first is the baseline.
    fn priced(price: f64, variants: &[(&[f64], &[f64])]) -> Results {
        let costs: Vec<Vec<f64>> = variants
            .iter()
            .map(|(unready, evictions)| unready.iter().zip(*evictions).map(|(u, e)| u + price * e).collect())
            .collect();
        let mut found = results(&costs.iter().map(Vec::as_slice).collect::<Vec<_>>());
        for (variant, (unready, evictions)) in variants.iter().enumerate() {
            with_metric(&mut found, variant, "unready_replica_s", unready);
            with_metric(&mut found, variant, "evictions", evictions);
        }
        found.prices = vec![("evictions".into(), price), ("unready_replica_s".into(), 1.0)];
        found
    }

    const ONE: &[f64] = &[100.0, 101.0, 99.0, 100.0];
    const TWO: &[f64] = &[60.0, 61.0, 59.0, 60.0];
    const THREE: &[f64] = &[50.0, 51.0, 49.0, 50.0];

    #[test]
    fn of_bad_runs_nothing_is_said() {
        let of_means = priced(10.0, &[(ONE, &[1.0; 4]), (TWO, &[3.0; 4])]);
        assert_eq!(of_means.break_even(None).len(), 2);
        let of_bad_runs = Results { cost_by: "cvar:50%".parse().expect("a figure"), ..of_means };
        assert_eq!(of_bad_runs.break_even(None), []);
    }

    #[test]
    fn where_the_cost_is_limited_prices_decide_who_is_a_rival() {
        use super::super::requirement::{Limit, Requirement};
        let free = priced(10.0, &[(ONE, &[1.0; 4]), (TWO, &[3.0; 4])]);
        let is_known = |results: &Results| results.break_even(None).iter().any(|of| of.cheapest.is_some());
        let limited = |metric: &str| Results {
            requirements: vec![Requirement {
                metric: metric.to_owned(),
                workload: None,
                limit: Limit::AtMost(1e6),
                probability: 1.0,
            }],
            ..free.clone()
        };
        assert!(is_known(&free) && is_known(&limited("evictions")) && !is_known(&limited("cost")));
    }

    #[test]
    fn lines_of_mean_costs_cross_at_the_ends() {
        // Means: 100 + 1 p, 60 + 3 p, 50 + 8 p. At 10: 110, 90, 130.
        let found = priced(10.0, &[(ONE, &[1.0; 4]), (TWO, &[3.0; 4]), (THREE, &[8.0; 4])]).break_even(None);
        let range = found[0].cheapest.clone().expect("it is the cheapest");
        assert!((range.from - 2.0).abs() < 1e-9 && (range.to.expect("an end") - 20.0).abs() < 1e-9, "{range:?}");
        assert_eq!((range.below.as_deref(), range.above.as_deref()), (Some("x=2"), Some("x=0")));
        // Of the other price: 10 + 100 p, 30 + 60 p, 80 + 50 p. At 1: 110, 90, 130.
        let range = found[1].cheapest.clone().expect("it is the cheapest");
        assert!((range.from - 0.5).abs() < 1e-9 && (range.to.expect("an end") - 5.0).abs() < 1e-9, "{range:?}");
    }

    #[test]
    fn the_saving_is_told_in_a_part_of_that_alone() {
        let found = priced(10.0, &[(ONE, &[1.0, 2.0, 1.0, 0.0]), (TWO, &[3.0, 3.0, 4.0, 2.0])]).break_even(None);
        let BreakEven { cheapest: Some(cheapest), told: Some(told), .. } = &found[0] else { panic!("{found:?}") };
        assert_eq!((cheapest.from, told.from), (0.0, 0.0));
        let (crossing, last) = (cheapest.to.expect("an end"), told.to.expect("an end"));
        assert!(10.0 < last && last < crossing && (crossing - 20.0).abs() < 1e-9, "{found:?}");
        // It is where the interval of the differences reaches zero.
        let high = |price: f64| {
            let found = priced(price, &[(ONE, &[1.0, 2.0, 1.0, 0.0]), (TWO, &[3.0, 3.0, 4.0, 2.0])]);
            found.comparison_of(Some(1)).expect("priced").against_baseline.high
        };
        let slight = 0.01 * 2.0 * 120.0;
        assert!(high(last * 0.999) < 0.0 && high(last * 1.001) > -slight, "{last}: {}", high(last));
    }

    #[test]
    fn what_does_not_occur_may_have_any_price() {
        let found = priced(10.0, &[(ONE, &[0.0; 4]), (TWO, &[0.0; 4])]).break_even(None);
        let any = Some(PriceRange { from: 0.0, to: None, below: None, above: None });
        assert_eq!((&found[0].cheapest, &found[0].told), (&any, &any));
        // A price of nothing has no lower end.
        let found = priced(0.0, &[(ONE, &[1.0; 4]), (TWO, &[3.0; 4])]).break_even(None);
        assert!(
            found[0].cheapest.as_ref().is_some_and(|range| range.from == 0.0 && range.to == Some(20.0)),
            "{found:?}"
        );
    }

    #[test]
    fn what_holds_at_a_price_of_nothing_alone_is_told_so() {
        // Both cost nothing, until evictions cost something.
        let mut found = priced(0.0, &[(&[0.0; 20], &[1.0; 20]), (&[0.0; 20], &[9.0; 20])]);
        found.baseline = 1;
        for run in found.runs.iter_mut().flatten() {
            let last = run.metrics.len() - 1;
            run.metrics[last] = 0.0;
        }
        found.prices.truncate(1);
        let tuning = found.tuning().expect("priced");
        assert!(!tuning.changes());
        let told = found.break_even(Some(&tuning)).swap_remove(0).told;
        assert_eq!(told, Some(PriceRange { from: 0.0, to: Some(0.0), below: None, above: None }));
    }

    #[test]
    fn a_recommendation_ends_where_tune_would_give_another() {
        let found = priced(10.0, &[(ONE, &[1.0, 2.0, 1.0, 0.0]), (TWO, &[3.0, 3.0, 4.0, 2.0])]);
        let tuning = found.tuning().expect("priced");
        assert_eq!(tuning.recommended_variant(), Some(1));
        let of = found.break_even(Some(&tuning));
        let end = of[0].told.as_ref().and_then(|range| range.to).expect("an end");
        let recommended = |price: f64| {
            let found = priced(price, &[(ONE, &[1.0, 2.0, 1.0, 0.0]), (TWO, &[3.0, 3.0, 4.0, 2.0])]);
            found.tuning().and_then(|tuning| tuning.recommended_variant())
        };
        assert_eq!((recommended(end * 0.999), recommended(end * 1.001)), (Some(1), Some(0)));
    }

    #[test]
    fn values_of_their_own_for_workloads_are_one_answer() {
        let at = |metric: &str| WORKLOAD_METRICS.iter().position(|name| *name == metric).expect("a metric");
        let (cost, evictions) = (metric_names().len() - 1, position("evictions").expect("a metric"));
        // Evictions of the two workloads by value; beside them the first costs 5, 2, 4 and the other 1, 3, 9.
        let counts = [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]];
        let priced = |price: f64| {
            let mut found = mixed(2);
            found.prices = vec![("evictions".into(), price)];
            for (runs, counts) in found.runs.iter_mut().zip(counts) {
                for run in runs {
                    for (of, count) in run.workloads.chunks_mut(WORKLOAD_METRICS.len()).zip(counts) {
                        of[at("evictions")] = count;
                        of[0] += price * count;
                    }
                    run.metrics[evictions] = counts[0] + counts[1];
                    run.metrics[cost] += price * (counts[0] + counts[1]);
                }
            }
            found
        };
        let found = priced(1.0);
        let tuning = found.tuning().expect("priced");
        assert!(tuning.recommended_variant().is_none() && tuning.workloads.iter().all(WorkloadChoice::changes));
        let of = found.break_even(Some(&tuning)).swap_remove(0);
        // Together they cost 3 + 2 p, and the second value for both 5 + p.
        let cheapest = of.cheapest.expect("it is the cheapest");
        assert!(cheapest.from == 0.0 && (cheapest.to.expect("an end") - 2.0).abs() < 0.02, "{cheapest:?}");
        assert_eq!(cheapest.above.as_deref(), Some("x=1"));
        let end = of.told.expect("it is recommended").to.expect("an end");
        assert!(end > 1.0 && end < 2.0, "{end}");
        let is_same = |price: f64| priced(price).tuning().is_some_and(|of| of.is_as(&tuning));
        assert!(is_same(end * 0.999) && !is_same(end * 1.001), "{end}");
    }

    #[test]
    fn nothing_is_said_of_parts_and_of_who_was_set_aside() {
        let mut part = priced(10.0, &[(ONE, &[1.0; 4]), (TWO, &[3.0; 4])]);
        assert!(position("evictions").is_some() && !part.break_even(None).is_empty());
        part.shard = Shard::new(1, 2).expect("a part");
        assert_eq!(part.break_even(None), []);
    }

    #[test]
    fn no_price_lies_below_nothing() {
        // Evictions are equal, and a mean of thirds is not exact.
        let (ours, theirs) = ([1.0, 2.0, 2.0], [3.0, 3.0, 1.0]);
        let mut found = priced(7.3, &[(&ours, &[0.1, 0.7, 0.3]), (&theirs, &[0.7, 0.3, 0.1])]);
        found.prices[1].1 = 1.0;
        let range = found.break_even(None)[1].cheapest.clone().expect("it is the cheapest");
        assert_eq!((range.from, range.below), (0.0, None));
    }
}
