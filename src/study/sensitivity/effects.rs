//! Elementary effects, and the noise that the runs themselves leave in them.

use serde::Serialize;

use super::super::estimate::{Estimate, Series, combined};
use super::super::results::CONFIDENCE;
use super::super::statistics::{Interval, ROUNDING, Sample};

/// What one input does to one figure, as it moves over the whole of its range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// By how much the figure rises, on average of the places in the space of all inputs where it was tried: Morris' μ. The interval is
    /// what the runs leave open, at 95 %.
    pub mu: Interval,
    /// The same whatever the direction: μ*.
    pub mu_star: f64,
    /// How much the effect differs from place to place: Morris' σ, as others change it, or as it is no line.
    pub sigma: f64,
    /// What μ* would be on average of chance alone, if there were no effect; not a number, which JSON writes as null, if one replication
    /// tells no noise.
    pub noise: f64,
    /// Whether there is an effect as far as the runs tell, at 95 % for all inputs and steps at once.
    pub is_told: bool,
    /// Whether any run was another one for it.
    pub differs: bool,
}

/// A step: one input moves, all others stay.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    /// The figure where the input is lower, by replication.
    pub(super) low: &'a Series,
    /// Where it is higher.
    pub(super) high: &'a Series,
    /// How far these are apart, as a share of the input's range.
    pub(super) share: f64,
}

/// How effects are estimated.
pub(super) struct Estimator {
    /// At 95 % of one interval.
    plain: Estimate,
    /// At 95 % of all that are asked together.
    of_all: Estimate,
    /// What is less than this is rounding.
    least: f64,
}

impl Estimator {
    /// One for figures that were seen in these columns, of runs that cost up to `size`; `inputs` and `steps` of each are asked together.
    ///
    /// # Source
    ///
    /// Bonferroni's inequality: a step of each trajectory, and their mean, of each input.
    pub(super) fn new(
        (is_antithetic, is_chancy): (bool, bool),
        columns: &[Series],
        size: f64,
        (inputs, steps): (usize, usize),
    ) -> Self {
        let tests = (inputs * (steps + 1)).max(1) as f64;
        let at = |confidence: f64| Estimate::of_seen(is_antithetic, confidence).with_unseen(columns, is_chancy);
        Self { plain: at(CONFIDENCE), of_all: at(1.0 - (1.0 - CONFIDENCE) / tests), least: ROUNDING * size }
    }

    /// The effect of an input that moved in these steps, one of each trajectory.
    pub(super) fn effect(&self, steps: &[Step<'_>]) -> Effect {
        let snapped: Vec<Series> = steps.iter().map(|step| self.snapped(step)).collect();
        let steps: Vec<Step<'_>> = steps.iter().zip(&snapped).map(|(step, high)| Step { high, ..*step }).collect();
        let steps = steps.as_slice();
        let effects: Vec<Series> =
            steps.iter().map(|step| combined(step.high, step.low, |high, low| (high - low) / step.share)).collect();
        let of_steps: Vec<Sample> = effects.iter().map(|series| self.plain.sample(series)).collect();
        let means: Vec<f64> = of_steps.iter().map(Sample::mean).collect();
        let (lows, highs) = (average(steps, |step| step.low), average(steps, |step| step.high));
        let is_told = |step: &Step<'_>| !self.of_all.difference(step.high, step.low).has_zero();
        // Expected size of what is normal around 0: the deviation times the root of 2 / π.
        let errors = of_steps.iter().map(|sample| sample.deviation() / (sample.len() as f64).sqrt());
        let size = std::f64::consts::FRAC_2_PI.sqrt() * errors.sum::<f64>() / steps.len() as f64;
        let has_noise = of_steps.iter().all(|sample| sample.len() > 1);
        Effect {
            mu: self.plain.difference(&highs, &lows),
            mu_star: means.iter().map(|mean| mean.abs()).sum::<f64>() / means.len() as f64,
            sigma: Sample::new(means).deviation(),
            noise: if has_noise { size } else { f64::NAN },
            is_told: steps.iter().any(is_told) || !self.of_all.difference(&highs, &lows).has_zero(),
            differs: effects.iter().flatten().any(|(_, effect)| *effect != 0.0),
        }
    }
}

impl Estimator {
    /// The higher end of a step, as high as the lower one where only rounding tells them apart.
    fn snapped(&self, step: &Step<'_>) -> Series {
        combined(step.high, step.low, |high, low| if (high - low).abs() <= self.least { low } else { high })
    }
}

/// One end of all steps, in units of a move over the whole range, by replication.
fn average<'a>(steps: &[Step<'a>], end: impl Fn(&Step<'a>) -> &'a Series) -> Series {
    let scaled = |step: &Step<'a>| -> Series { end(step).iter().map(|(r, value)| (*r, value / step.share)).collect() };
    let sum = |a: Series, b: Series| combined(&a, &b, |a, b| a + b);
    let total = steps.iter().map(scaled).reduce(sum).unwrap_or_default();
    total.into_iter().map(|(replication, value)| (replication, value / steps.len() as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::design::{share, trajectories};
    use super::*;
    use crate::engine::Streams;

    /// The effects of inputs on a known function of the cube, to which `noise` adds something by replication and place.
    fn effects_of(
        inputs: usize,
        function: impl Fn(&[f64]) -> f64,
        replications: u32,
        mut noise: impl FnMut(u32) -> f64,
    ) -> Vec<Effect> {
        let mut steps: Vec<Vec<(Series, Series, f64)>> = vec![Vec::new(); inputs];
        let mut columns = Vec::new();
        for trajectory in trajectories(12, inputs, 5) {
            let points = trajectory.points();
            let series: Vec<Series> = points
                .iter()
                .map(|point| {
                    let at: Vec<f64> = point.iter().map(|level| share(*level)).collect();
                    (0..replications).map(|r| (r, function(&at) + noise(r))).collect()
                })
                .collect();
            for (at, (input, is_up)) in trajectory.moves.iter().enumerate() {
                let (before, after) = (series[at].clone(), series[at + 1].clone());
                let moved = (share(points[at + 1][*input]) - share(points[at][*input])).abs();
                steps[*input].push(if *is_up { (before, after, moved) } else { (after, before, moved) });
            }
            columns.extend(series);
        }
        let estimator = Estimator::new((false, false), &columns, 100.0, (inputs, 12));
        let of = |steps: &Vec<(Series, Series, f64)>| {
            let steps: Vec<Step<'_>> =
                steps.iter().map(|(low, high, share)| Step { low, high, share: *share }).collect();
            estimator.effect(&steps)
        };
        steps.iter().map(of).collect()
    }

    fn is_close(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-9
    }

    #[test]
    fn of_a_linear_function_mu_is_the_coefficient_and_sigma_nothing() {
        let found = effects_of(3, |x| 100.0 + 7.0 * x[0] - 3.0 * x[1], 4, |_| 0.0);
        for (effect, expected) in found.iter().zip([7.0, -3.0, 0.0]) {
            assert!(is_close(effect.mu.mean, expected) && is_close(effect.mu_star, f64::abs(expected)), "{effect:?}");
            assert!(effect.sigma < 1e-9 && effect.noise < 1e-9, "{effect:?}");
        }
        assert!(found[0].is_told && found[1].is_told && !found[2].is_told && !found[2].differs);
    }

    #[test]
    fn what_others_change_has_a_sigma() {
        // A product: the effect of one is the other, which lies at a third of its range on each side of two thirds.
        let found = effects_of(2, |x| 50.0 + 6.0 * x[0] * x[1], 4, |_| 0.0);
        assert!(found.iter().all(|effect| effect.sigma > 1.0 && effect.mu.mean > 1.0 && effect.is_told), "{found:?}");
        // What rises here and falls there has no mean effect, and an effect.
        let found = effects_of(1, |x| 50.0 - 9.0 * (x[0] - 0.5) * (x[0] - 0.5), 4, |_| 0.0);
        assert!(
            found[0].mu_star > 1.9 && found[0].mu_star > found[0].mu.mean.abs() && found[0].sigma > 1.0,
            "{found:?}"
        );
    }

    #[test]
    fn what_is_noise_alone_is_no_effect() {
        let mut stream = Streams::new(9).stream("noise", "");
        // Luck of the seed, which all share, is no noise; what differs from place to place is.
        let luck: Vec<f64> = (0..20).map(|_| 100.0 * stream.unit()).collect();
        let found = effects_of(3, |x| 100.0 + 20.0 * x[0], 20, |r| luck[r as usize] + stream.unit());
        assert!(found[0].is_told && (found[0].mu.mean - 20.0).abs() < 1.0, "{found:?}");
        for effect in &found[1..] {
            assert!(!effect.is_told && effect.differs, "{effect:?}");
            assert!(effect.mu_star < 3.0 * effect.noise && effect.mu_star > effect.noise / 3.0, "{effect:?}");
        }
    }

    #[test]
    fn rounding_is_no_effect() {
        let found = effects_of(2, |x| 100.0 + 7.0 * x[0] + 1e-12 * x[1], 4, |_| 0.0);
        assert!(!found[1].is_told && !found[1].differs && found[1].mu.mean == 0.0, "{found:?}");
    }

    #[test]
    fn one_replication_tells_no_effect() {
        let found = effects_of(1, |x| 100.0 + 7.0 * x[0], 1, |_| 0.0);
        assert!(!found[0].is_told && found[0].noise.is_nan() && is_close(found[0].mu.mean, 7.0), "{found:?}");
    }
}
