//! The ways in which runs are drawn, and what a run weighs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::chaos::{Biasing, CIRCUMSTANCES, Exposure};
use crate::engine::Streams;

/// The share of runs in which failures come as often as they do. No weight is above one by it.
pub(super) const TRUE_SHARE: f64 = 0.1;

/// Ways to draw failures, each with its share of the runs; the first is the true one.
///
/// # Source
///
/// Defensive mixtures: Hesterberg, Weighted average importance sampling and defensive mixture distributions, Technometrics 37 (1995).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// The share of each way, which add up to one.
    pub shares: Vec<f64>,
    /// Their factors.
    pub ways: Vec<Arc<Biasing>>,
}

impl Mixture {
    /// True runs, and others in these shares of the rest.
    pub(super) fn new(processes: usize, others: Vec<(f64, Biasing)>) -> Self {
        let total: f64 = others.iter().map(|(share, _)| share).sum();
        let (mut shares, mut ways) = (vec![TRUE_SHARE], vec![Arc::new(Biasing::none(processes))]);
        for (share, way) in others {
            shares.push((1.0 - TRUE_SHARE) * share / total);
            ways.push(Arc::new(way));
        }
        Self { shares, ways }
    }

    /// True runs alone.
    pub(in crate::study) fn truth(processes: usize) -> Self {
        Self { shares: vec![1.0], ways: vec![Arc::new(Biasing::none(processes))] }
    }

    /// The same with another share of true runs.
    #[cfg(test)]
    pub(in crate::study) fn with_share(mut self, share: f64) -> Self {
        self.shares[0] = share;
        self
    }

    /// The way in which a run with that chance is drawn.
    pub(in crate::study) fn way(&self, streams: &Streams) -> Arc<Biasing> {
        let mut left = streams.stream("failure-biasing", "way").unit();
        for (share, way) in self.shares.iter().zip(&self.ways) {
            left -= share;
            if left < 0.0 {
                return Arc::clone(way);
            }
        }
        Arc::clone(self.ways.last().expect("the true one is there"))
    }

    /// How much likelier a run is in truth than it is to be drawn: its weight, whichever way it was drawn in.
    pub(in crate::study) fn weight(&self, exposures: &[Exposure]) -> f64 {
        let log_likelihood = |way: &Biasing| {
            exposures.iter().zip(&way.factors).map(|(exposure, factors)| exposure.log_likelihood(factors)).sum::<f64>()
        };
        let each = self.shares.iter().zip(&self.ways);
        1.0 / each.fold(0.0, |sum, (share, way)| sum + share * libm::exp(log_likelihood(way)))
    }

    /// No weight is larger.
    pub(super) fn weight_max(&self) -> f64 {
        1.0 / self.shares[0]
    }
}

/// Exposures as numbers that a journal keeps.
pub(in crate::study) fn flat(exposures: &[Exposure]) -> Box<[f64]> {
    exposures.iter().flat_map(|of| of.failures.into_iter().chain(of.hazard)).collect()
}

/// The same, turned round.
pub(super) fn exposures(flat: &[f64]) -> Vec<Exposure> {
    let of = |numbers: &[f64]| {
        let mut exposure = Exposure::default();
        exposure.failures.copy_from_slice(&numbers[..CIRCUMSTANCES]);
        exposure.hazard.copy_from_slice(&numbers[CIRCUMSTANCES..]);
        exposure
    };
    flat.chunks_exact(2 * CIRCUMSTANCES).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_the_ratio_of_the_densities() {
        let faster = Biasing { factors: vec![[4.0, 4.0, 4.0, 1.0, 1.0, 1.0]] };
        let mixture = Mixture::new(1, vec![(1.0, faster)]);
        // Exponential: one failure after a hazard of 0.3, then nothing for one of 0.1.
        let mut exposure = Exposure::default();
        exposure.failures[0] = 1.0;
        exposure.hazard[0] = 0.4;
        let (truth, drawn) = (libm::exp(-0.4), 4.0 * libm::exp(-1.6));
        let expected = truth / (0.1 * truth + 0.9 * drawn);
        assert!((mixture.weight(&[exposure]) - expected).abs() < 1e-14);
        assert_eq!(exposures(&flat(&[exposure])), [exposure]);
    }

    #[test]
    fn ways_are_drawn_in_their_shares_and_no_weight_is_above_the_largest() {
        let faster = Biasing { factors: vec![[1e6; CIRCUMSTANCES]] };
        let mixture = Mixture::new(1, vec![(1.0, faster.clone()), (8.0, faster)]);
        let mut counts = [0_u32; 3];
        for seed in 0..20_000 {
            let way = mixture.way(&Streams::new(seed));
            counts[mixture.ways.iter().position(|of| Arc::ptr_eq(of, &way)).expect("one of them")] += 1;
        }
        let expected = [2000, 2000, 16_000];
        assert!(counts.iter().zip(expected).all(|(found, of): (&u32, u32)| found.abs_diff(of) < 250), "{counts:?}");
        let calm = Exposure { hazard: [5.0; CIRCUMSTANCES], ..Exposure::default() };
        assert!((mixture.weight(&[calm]) - mixture.weight_max()).abs() < 1e-9);
    }
}
