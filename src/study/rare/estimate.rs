//! What weighted runs say: means, and how often the event comes.

use serde::Serialize;

use super::super::estimate::Series;
use super::super::results::Results;
use super::super::run::RunRow;
use super::super::statistics::{Interval, unseen_share};
use super::pilot::effective;
use super::{RareEvent, Sampling};

/// Runs with the event up to which nothing is told of how often it comes.
const HITS_MAX: usize = 5;
/// As many runs of equal weight tell it at least.
const EFFECTIVE_MIN: f64 = 10.0;
/// A probability above this is estimated with the weights as a control.
const FREQUENT: f64 = 0.05;
/// Days of a year, in seconds.
const YEAR_S: f64 = 365.25 * 86_400.0;

/// How often the event comes under a variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RareEstimate {
    /// Position of the variant.
    pub variant: usize,
    /// Its runs.
    pub n: usize,
    /// Those that had the event. How many depends on how failures were drawn, and says nothing of how often it comes.
    pub hits: usize,
    /// The probability that a run has it.
    pub probability: Interval,
    /// How often it comes in a year of such runs, one after the other; infinite, which JSON writes as null, where every run may have it.
    pub per_year: Interval,
    /// As many runs of equal weight would tell as much of those that had it.
    pub effective_runs: f64,
    /// So many runs, failures coming as they do, would have an interval as narrow; none if that is not told.
    pub plain_runs: Option<f64>,
    /// Whether runs with weight are enough to say it. If not, the upper end is what holds however the event comes about.
    pub is_told: bool,
    /// By how much the probability is higher than the baseline's, run by run; unknown of the baseline, and unless both are told.
    pub difference: Interval,
}

/// Values with weights, as values of which the mean is what is looked for: each times its weight, less a multiple of what the weight
/// differs from its mean, which is known to be one.
///
/// # Source
///
/// The regression estimator: Hesterberg (1995), section 2.3; control variates: Lavenberg and Welch, A perspective on the use of
/// control variables, Management Science 27 (1981).
fn controlled(weighted: &[(u32, f64, f64)]) -> Series {
    let n = weighted.len() as f64;
    let mean =
        |of: &dyn Fn(f64, f64) -> f64| weighted.iter().map(|(_, weight, value)| of(*weight, *value)).sum::<f64>() / n;
    let (mean_weight, mean_product) = (mean(&|weight, _| weight), mean(&|weight, value| weight * value));
    let covariance = mean(&|weight, value| (weight - mean_weight) * (weight * value - mean_product));
    let variance = mean(&|weight, _| (weight - mean_weight) * (weight - mean_weight));
    let slope = if weighted.len() > 2 && variance > 0.0 { covariance / variance } else { 0.0 };
    weighted
        .iter()
        .map(|&(replication, weight, value)| (replication, weight * value - slope * (weight - 1.0)))
        .collect()
}

impl Results {
    /// Whether runs have weights.
    #[must_use]
    pub fn is_weighted(&self) -> bool {
        self.rare.is_some()
    }

    /// Values of runs, by replication, of which the mean is that of all runs there may be.
    pub(in crate::study) fn series(&self, variant: usize, value: impl Fn(&RunRow) -> f64) -> Series {
        let runs = &self.runs[variant];
        if !self.is_weighted() {
            return runs.iter().map(|run| (run.replication, value(run))).collect();
        }
        controlled(&runs.iter().map(|run| (run.replication, run.weight, value(run))).collect::<Vec<_>>())
    }

    /// Of each run its weight if it has the event, else 0.
    fn hits(&self, event: &RareEvent, variant: usize) -> Series {
        let weight = |run: &RunRow| if event.is_in(&run.metrics) { run.weight } else { 0.0 };
        self.runs[variant].iter().map(|run| (run.replication, weight(run))).collect()
    }

    /// How often the event comes under each variant; none if the study does not look for any.
    #[must_use]
    pub fn rare_estimates(&self) -> Option<Vec<RareEstimate>> {
        let sampling = self.rare.as_ref()?;
        let columns: Vec<Series> = (0..self.variants.len()).map(|variant| self.chances(sampling, variant)).collect();
        let mut estimates: Vec<RareEstimate> =
            (0..columns.len()).map(|variant| self.rare_estimate(sampling, &columns, variant)).collect();
        let estimate = self.estimate().with_unseen(&columns, self.is_chancy);
        let is_told: Vec<bool> = estimates.iter().map(|of| of.is_told).collect();
        for of in estimates.iter_mut().filter(|of| of.variant != self.baseline) {
            // Of what is not told nothing can be told apart.
            if is_told[of.variant] && is_told[self.baseline] && self.compares(of.variant, self.baseline) {
                of.difference = estimate.between(&columns, of.variant, self.baseline);
            }
        }
        Some(estimates)
    }

    /// Observations of which the mean is the probability.
    fn chances(&self, sampling: &Sampling, variant: usize) -> Series {
        let hits = self.hits(&sampling.event, variant);
        let mean = hits.iter().map(|(_, weight)| weight).sum::<f64>() / hits.len().max(1) as f64;
        if mean <= FREQUENT {
            return hits;
        }
        self.series(variant, |run| if sampling.event.is_in(&run.metrics) { 1.0 } else { 0.0 })
    }

    fn rare_estimate(&self, sampling: &Sampling, columns: &[Series], variant: usize) -> RareEstimate {
        let hits: Vec<f64> =
            self.hits(&sampling.event, variant).into_iter().map(|(_, weight)| weight).filter(|of| *of > 0.0).collect();
        let (n, effective_runs) = (columns[variant].len(), effective(&hits));
        let estimate = self.estimate();
        let seen = estimate.with_unseen(&columns[variant..=variant], self.is_chancy).mean(&columns[variant]);
        let told = hits.len() > HITS_MAX && effective_runs >= EFFECTIVE_MIN;
        // A share of the runs as they were drawn, each of which weighs so much at most.
        let at_most = |count: usize| {
            let share = count as f64 / n as f64 + unseen_share(count, n, self.confidence());
            (share * sampling.mixture.weight_max()).min(1.0)
        };
        let without = n - hits.len();
        let probability = match told {
            // Where hardly any run went without it, those that nobody has seen may be more.
            true if seen.mean > 0.5 && without <= HITS_MAX => {
                Interval { mean: seen.mean.min(1.0), low: 1.0 - at_most(without), high: 1.0, widened: true }
            }
            true => Interval { high: seen.high.min(1.0), ..seen },
            false if n > 0 => Interval { mean: seen.mean, low: 0.0, high: at_most(hits.len()), widened: true },
            false => Interval::unknown(),
        };
        let sample = estimate.sample(&columns[variant]);
        let error = sample.deviation() * sample.deviation() / n.max(1) as f64;
        let plain = probability.mean * (1.0 - probability.mean) / error;
        RareEstimate {
            variant,
            n,
            hits: hits.len(),
            probability,
            per_year: per_year(probability, sampling.run_s[variant]),
            effective_runs,
            plain_runs: (told && plain.is_finite()).then_some(plain),
            is_told: told,
            difference: Interval::unknown(),
        }
    }

    /// To which share of itself the probability of the event is known under the variant of which it is known least; infinite where
    /// too few runs had it. And about how many runs it would take to trust the interval.
    pub(in crate::study) fn rare_width(&self) -> Option<f64> {
        let estimates = self.rare_estimates()?;
        let width = |of: &RareEstimate| match of.is_told {
            true => of.probability.half_width() / of.probability.mean,
            false => f64::INFINITY,
        };
        Some(estimates.iter().map(width).fold(0.0, f64::max))
    }
}

/// What comes with a probability in each run, comes so often in a year of runs, one after the other: as in a Poisson process in which
/// as many runs have none.
fn per_year(probability: Interval, run_s: f64) -> Interval {
    let rate = |p: f64| if p.is_finite() { -libm::log1p(-p.clamp(0.0, 1.0)) * YEAR_S / run_s } else { p };
    Interval { mean: rate(probability.mean), low: rate(probability.low), high: rate(probability.high), ..probability }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_varies_has_its_value_as_mean_whatever_the_weights() {
        let weighted: Vec<(u32, f64, f64)> = (0..50).map(|run| (run, 0.1 + f64::from(run % 7), 36.0)).collect();
        assert!(controlled(&weighted).iter().all(|(_, value)| (value - 36.0).abs() < 1e-9));
        // Without weights nothing is changed.
        let plain: Vec<(u32, f64, f64)> = (0..50).map(|run| (run, 1.0, f64::from(run))).collect();
        assert!(controlled(&plain).iter().all(|(run, value)| *value == f64::from(*run)));
    }

    #[test]
    fn a_probability_of_a_run_is_a_rate_of_runs() {
        let day = per_year(Interval { mean: 1e-6, low: 0.0, high: 1.0, widened: false }, 86_400.0);
        assert!((day.mean - 365.25e-6).abs() < 1e-9 && day.low == 0.0 && day.high == f64::INFINITY, "{day:?}");
    }
}
