//! How much of the danger of ending a length of time has gone through: its cumulative hazard, the negative logarithm of the
//! probability that it lasts longer.

use super::distribution::{Distribution, sigma};
use super::special::{gamma_sides, normal_cdf};
use crate::units::SimDuration;

impl Distribution {
    /// The cumulative hazard of a whole length up to `age`; infinite where no length lasts longer.
    ///
    /// # Panics
    ///
    /// If it is empirical and its file has not been read.
    #[must_use]
    pub fn hazard(&self, age: SimDuration) -> f64 {
        let x = age.as_nanos() as f64;
        match self {
            Self::Exponential { mean } => x / mean.as_nanos() as f64,
            Self::Weibull { shape, scale } => libm::pow(x / scale.as_nanos() as f64, *shape),
            _ => hazard_of(self.below(age)),
        }
    }

    /// The same of what is left of a length at a moment that has nothing to do with its beginning, see
    /// [`sample_rest`](Distribution::sample_rest).
    ///
    /// # Panics
    ///
    /// If it is empirical and its file has not been read.
    #[must_use]
    pub fn rest_hazard(&self, age: SimDuration) -> f64 {
        match self {
            // Without memory; or a schedule.
            Self::Exponential { .. } | Self::Constant(_) => self.hazard(age),
            _ => hazard_of(self.rest_below(age)),
        }
    }

    /// Whether it is one length, so that there is no chance in it.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        match self {
            Self::Constant(_) => true,
            Self::Lognormal { median, p99 } => median == p99,
            Self::Uniform { min, max } => min == max,
            Self::Empirical { values, .. } => values.first() == values.last(),
            Self::Exponential { .. } | Self::Weibull { .. } | Self::Gamma { .. } => false,
        }
    }

    /// The probabilities that a length is at most so long, and that it is longer.
    fn below(&self, age: SimDuration) -> (f64, f64) {
        let x = age.as_nanos() as f64;
        match self {
            Self::Constant(length) => certain(*length <= age),
            Self::Uniform { min, max } => match (*min, *max) {
                (min, _) if age < min => (0.0, 1.0),
                (_, max) if age >= max => (1.0, 0.0),
                (min, max) => {
                    let width = (max - min).as_nanos() as f64;
                    ((age - min).as_nanos() as f64 / width, (max - age).as_nanos() as f64 / width)
                }
            },
            Self::Lognormal { median, p99 } if median == p99 => certain(*median <= age),
            Self::Lognormal { median, p99 } => normal_sides(log_of(x, *median) / sigma(*median, *p99)),
            Self::Gamma { shape, scale } => gamma_sides(*shape, x / scale.as_nanos() as f64),
            Self::Empirical { file, values } => {
                assert!(!values.is_empty(), "the observations in `{file}` have not been read");
                let (within, count) = (values.partition_point(|value| *value <= age), values.len() as f64);
                (within as f64 / count, (values.len() - within) as f64 / count)
            }
            Self::Exponential { .. } | Self::Weibull { .. } => {
                let hazard = self.hazard(age);
                (-libm::expm1(-hazard), libm::exp(-hazard))
            }
        }
    }

    /// The same of a rest: the integral of the survival function up to there and beyond, by the mean.
    fn rest_below(&self, age: SimDuration) -> (f64, f64) {
        let x = age.as_nanos() as f64;
        match self {
            Self::Constant(_) | Self::Exponential { .. } => self.below(age),
            Self::Uniform { min, max } => {
                let (min, max) = (min.as_nanos() as f64, max.as_nanos() as f64);
                let mean = 0.5 * (min + max);
                if x >= max {
                    (1.0, 0.0)
                } else if x <= min {
                    (x / mean, 1.0 - x / mean)
                } else {
                    let above = (max - x) * (max - x) / (2.0 * (max - min) * mean);
                    (1.0 - above, above)
                }
            }
            // The `shape`-th power of a rest is gamma distributed, with shape `1 / shape`.
            Self::Weibull { shape, scale } => gamma_sides(1.0 / shape, libm::pow(x / scale.as_nanos() as f64, *shape)),
            Self::Lognormal { median, p99 } if median == p99 => {
                let share = (x / median.as_nanos() as f64).min(1.0);
                (share, 1.0 - share)
            }
            Self::Lognormal { median, p99 } => {
                let sigma = sigma(*median, *p99);
                let (z, mean) = (log_of(x, *median) / sigma, libm::exp(0.5 * sigma * sigma));
                // What lasts on for `x` has survived so long at least.
                let ((within, beyond), lasting) = (normal_sides(z - sigma), normal_sides(z).1);
                let ended = x / median.as_nanos() as f64 / mean * lasting;
                (within + ended, (beyond - ended).max(0.0))
            }
            Self::Gamma { shape, scale } => {
                let x = x / scale.as_nanos() as f64;
                let ((within, beyond), lasting) = (gamma_sides(shape + 1.0, x), gamma_sides(*shape, x).1);
                let ended = x / shape * lasting;
                (within + ended, (beyond - ended).max(0.0))
            }
            Self::Empirical { file, values } => {
                assert!(!values.is_empty(), "the observations in `{file}` have not been read");
                let within: f64 = values.iter().map(|value| (*value).min(age).as_nanos() as f64).sum();
                let total: f64 = values.iter().map(|value| value.as_nanos() as f64).sum();
                (within / total, ((total - within) / total).max(0.0))
            }
        }
    }
}

/// From the probabilities of an end before and after.
fn hazard_of((below, above): (f64, f64)) -> f64 {
    if below < 0.5 { -libm::log1p(-below) } else { -libm::log(above) }
}

fn certain(is_over: bool) -> (f64, f64) {
    if is_over { (1.0, 0.0) } else { (0.0, 1.0) }
}

fn log_of(x: f64, median: SimDuration) -> f64 {
    libm::log(x / median.as_nanos() as f64)
}

/// The probabilities below and above `z` of a standard normal variable.
fn normal_sides(z: f64) -> (f64, f64) {
    (normal_cdf(z), normal_cdf(-z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::residual::tests::yaml;

    const SMOOTH: [&str; 10] = [
        "uniform: {min: 10s, max: 70s}",
        "uniform: {min: 0s, max: 60s}",
        "exponential: {mean: 1h}",
        "weibull: {shape: 0.4, mean: 100d}",
        "weibull: {shape: 3, mean: 60d}",
        "lognormal: {median: 10m, p99: 6h}",
        "lognormal: {median: 10m, p99: 11m}",
        "gamma: {shape: 0.33, scale: 1458d}",
        "gamma: {shape: 0.52, scale: 603d}",
        "gamma: {shape: 9, mean: 90s}",
    ];

    /// What the quantile of `p` is, has gone through a hazard of -ln(1 - p).
    #[test]
    fn hazards_invert_the_quantiles_of_which_times_are_drawn() {
        for text in SMOOTH {
            let distribution = yaml(text);
            for p in [1e-4, 0.01, 0.3, 0.5, 0.9, 0.999] {
                let expected = -libm::log1p(-p);
                for (found, of) in [
                    (distribution.hazard(distribution.quantile(p)), "whole"),
                    (distribution.rest_hazard(distribution.rest_quantile(p)), "rest"),
                ] {
                    assert!((found / expected - 1.0).abs() < 1e-5, "{text}, {of}: {found}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn observations_and_constants_have_steps() {
        let lengths = yaml("empirical: {file: x.csv}");
        let at = |secs: u64| lengths.hazard(SimDuration::from_secs(secs));
        assert_eq!((at(0), at(90)), (0.0, f64::INFINITY));
        assert!((at(2) - -libm::log(0.6)).abs() < 1e-12 && at(89) == at(4));
        let rest = lengths.rest_hazard(SimDuration::from_secs(3));
        // 1 + 2 + 3 + 3 + 3 seconds of a hundred.
        assert!((rest - -libm::log(0.88)).abs() < 1e-12, "{rest}");
        let constant = yaml("constant: 5h");
        let hour = |hours: u64| constant.hazard(SimDuration::from_secs(hours * 3600));
        assert_eq!((hour(4), hour(5)), (0.0, f64::INFINITY));
        assert!(constant.is_constant() && !lengths.is_constant());
    }

    #[test]
    fn hazards_only_rise() {
        for text in SMOOTH {
            let distribution = yaml(text);
            let top = distribution.quantile(0.9999).as_nanos() / 300;
            for of in [Distribution::hazard, Distribution::rest_hazard] {
                let steps: Vec<f64> =
                    (0..=300).map(|step| of(&distribution, SimDuration::from_nanos(step * top))).collect();
                assert!(steps.is_sorted() && steps[0] == 0.0, "{text}: {steps:?}");
            }
        }
    }
}
