//! How much of a length of time is left at a moment that has nothing to do with its beginning.

use super::distribution::{Distribution, scaled, sigma};
use super::random::Stream;
use super::special::{gamma_cdf, gamma_quantile, normal_cdf};
use crate::units::SimDuration;

impl Distribution {
    /// Draws how long it takes until the length ends that is under way at some moment, where one length has followed the
    /// other for ever; takes one 64-bit draw. A constant is a schedule: it is under way since that very moment.
    ///
    /// Whoever looks at such a moment meets long lengths more often than short ones, and each at a random point of it. Where
    /// first lengths are drawn so, ends come at their long-run rate from the first moment on.
    ///
    /// # Panics
    ///
    /// If it is empirical and its file has not been read.
    ///
    /// # Source
    ///
    /// The equilibrium distribution of renewal theory: D. R. Cox, Renewal Theory (1962), chapter 5.
    #[must_use]
    pub fn sample_rest(&self, stream: &mut Stream) -> SimDuration {
        let unit = stream.unit();
        self.rest_quantile(unit)
    }

    /// What [`Distribution::sample_rest`] does not exceed with probability `p`, which is taken into 0 to 1: the time up to
    /// which the integral of the survival function is `p` times the mean.
    ///
    /// # Panics
    ///
    /// If it is empirical and its file has not been read.
    #[must_use]
    pub fn rest_quantile(&self, p: f64) -> SimDuration {
        const NANO: SimDuration = SimDuration::from_nanos(1);
        let p = p.clamp(0.0, 1.0);
        match self {
            // Without memory, what is left is as long as the whole.
            Self::Constant(_) | Self::Exponential { .. } => self.quantile(p),
            Self::Uniform { min, max } => {
                let (min, max) = (min.as_nanos() as f64, max.as_nanos() as f64);
                let integral = p * 0.5 * (min + max);
                let is_certain = integral <= min;
                let later = || max - libm::sqrt((max - min) * (max + min) * (1.0 - p));
                scaled(NANO, if is_certain { integral } else { later() })
            }
            Self::Weibull { shape, scale } => scaled(*scale, weibull_rest(*shape, p)),
            Self::Lognormal { median, p99 } => scaled(*median, lognormal_rest(sigma(*median, *p99), p)),
            Self::Gamma { shape, scale } => scaled(*scale, gamma_rest(*shape, p)),
            Self::Empirical { file, values } => {
                assert!(!values.is_empty(), "the observations in `{file}` have not been read");
                scaled(NANO, empirical_rest(values, p))
            }
        }
    }
}

/// In units of the scale. The `shape`-th power of the rest is gamma distributed, with shape `1 / shape`.
fn weibull_rest(shape: f64, p: f64) -> f64 {
    let early = p * libm::tgamma(1.0 + 1.0 / shape);
    // So early that nothing has ended before; of high shapes the power is then too small for a number.
    if libm::pow(early, shape) < 1e-17 { early } else { libm::pow(gamma_quantile(1.0 / shape, p), 1.0 / shape) }
}

/// In units of the scale.
fn gamma_rest(shape: f64, p: f64) -> f64 {
    let survival = |x: f64| 1.0 - gamma_cdf(shape, x);
    inverse(p, shape, &|x| gamma_cdf(shape + 1.0, x) + x / shape * survival(x), &survival)
}

/// In units of the median.
fn lognormal_rest(sigma: f64, p: f64) -> f64 {
    if sigma == 0.0 {
        return p;
    }
    let mean = libm::exp(0.5 * sigma * sigma);
    let survival = |x: f64| normal_cdf(-libm::log(x) / sigma);
    inverse(p, mean, &|x| normal_cdf(libm::log(x) / sigma - sigma) + x / mean * survival(x), &survival)
}

/// Where `cdf` is `p`, if its derivative is `survival` by the mean.
///
/// Newton's method from the left: as survival only falls, the function lies below its tangents, and no step goes too far.
fn inverse(p: f64, mean: f64, cdf: &dyn Fn(f64) -> f64, survival: &dyn Fn(f64) -> f64) -> f64 {
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let mut x = p * mean;
    for _ in 0..1_000 {
        let step = mean * (p - cdf(x)) / survival(x);
        // What is not larger is rounding.
        if !step.is_finite() || step <= 1e-13 * x {
            break;
        }
        x += step;
    }
    x
}

/// In nanoseconds, of lengths in ascending order.
fn empirical_rest(values: &[SimDuration], p: f64) -> f64 {
    let total: f64 = values.iter().map(|value| value.as_nanos() as f64).sum();
    let (integral, mut shorter) = (p * total, 0.0);
    for (index, value) in values.iter().map(|value| value.as_nanos() as f64).enumerate() {
        let at_least_as_long = (values.len() - index) as f64;
        if shorter + value * at_least_as_long >= integral {
            return (integral - shorter) / at_least_as_long;
        }
        shorter += value;
    }
    values.last().map_or(0.0, |longest| longest.as_nanos() as f64)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::engine::Streams;

    /// A distribution as it is written; its file of lengths has 1, 2, 3, 4 and 90 seconds.
    pub(in crate::engine) fn yaml(text: &str) -> Distribution {
        let mut distribution: Distribution = serde_saphyr::from_str(text).expect(text);
        let lengths = "1\n2\n3\n4\n90\n".to_owned();
        distribution.resolve_files(&mut |_| Ok(lengths.clone())).expect("lengths");
        distribution
    }

    const KINDS: [&str; 12] = [
        "uniform: {min: 10s, max: 70s}",
        "uniform: {min: 0s, max: 60s}",
        "exponential: {mean: 1h}",
        "weibull: {shape: 0.4, mean: 100d}",
        "weibull: {shape: 0.7, mean: 60d}",
        "weibull: {shape: 3, mean: 60d}",
        "weibull: {shape: 150, mean: 60d}",
        "lognormal: {median: 10m, p99: 6h}",
        "lognormal: {median: 10m, p99: 11m}",
        "gamma: {shape: 0.33, scale: 1458d}",
        "gamma: {shape: 9, mean: 90s}",
        "empirical: {file: x.csv}",
    ];

    /// The integral of the survival function up to `limit` is the mean of what lengths have before it.
    #[test]
    fn what_is_left_follows_the_integrated_survival_function() {
        const STEPS: u32 = 100_000;
        for text in KINDS {
            let distribution = yaml(text);
            let mean = distribution.mean().expect("a mean").as_secs_f64();
            for p in [0.001, 0.1, 0.5, 0.9] {
                let limit = distribution.rest_quantile(p);
                let part = |step| distribution.quantile((f64::from(step) + 0.5) / f64::from(STEPS)).min(limit);
                let integral = (0..STEPS).map(|step| part(step).as_secs_f64()).sum::<f64>() / f64::from(STEPS);
                assert!((integral / mean / p - 1.0).abs() < 1e-3, "{text}: {} instead of {p}", integral / mean);
            }
        }
    }

    #[test]
    fn inversion_is_exact_to_nine_digits_where_the_integral_has_a_formula() {
        #[track_caller]
        fn check(text: &str, cdf: fn(f64) -> f64) {
            for x in [1e-6, 0.01, 0.3, 1.0, 2.5, 9.0] {
                let found = yaml(text).rest_quantile(cdf(x)).as_secs_f64() / 1e7;
                assert!((found / x - 1.0).abs() < 2e-9, "{text}: {found} instead of {x}");
            }
        }
        check("gamma: {shape: 1, scale: 10000000s}", |x| -libm::expm1(-x));
        check("weibull: {shape: 1, scale: 10000000s}", |x| -libm::expm1(-x));
        check("gamma: {shape: 2, scale: 10000000s}", |x| -libm::expm1(-x) - 0.5 * x * libm::exp(-x));
        // expm1 and the second term cancel where the root is small: 1 - (1 + r) e^-r = r²/2 - r³/3 + ...
        check("weibull: {shape: 0.5, scale: 10000000s}", |x| {
            let r = libm::sqrt(x);
            if r < 0.01 {
                return x * (0.5 - r / 3.0 + x / 8.0 - x * r / 30.0 + x * x / 144.0);
            }
            -libm::expm1(-r) - r * libm::exp(-r)
        });
    }

    #[test]
    fn the_exponential_keeps_its_draws_and_a_constant_its_schedule() {
        for text in ["exponential: {mean: 120d}", "constant: 5h"] {
            let stream = || Streams::new(42).stream("fault/crashes", "worker-1");
            assert_eq!(yaml(text).sample_rest(&mut stream()), yaml(text).sample(&mut stream()), "{text}");
        }
    }

    #[test]
    fn every_kind_takes_one_draw_and_a_larger_one_never_gives_less() {
        for text in KINDS {
            let distribution = yaml(text);
            let mut stream = Streams::new(3).stream("test", "draws");
            let _ = distribution.sample_rest(&mut stream);
            let mut other = Streams::new(3).stream("test", "draws");
            other.next_u64();
            assert_eq!(stream.next_u64(), other.next_u64(), "{text}");
            let steps: Vec<_> = (0..=500).map(|step| distribution.rest_quantile(f64::from(step) / 500.0)).collect();
            assert!(steps.is_sorted() && steps[0].is_zero(), "{text}");
        }
        // The ends of what documents may say.
        for text in ["weibull: {shape: 0.01, mean: 1d}", "weibull: {shape: 1000000, mean: 1d}"]
            .into_iter()
            .chain(["gamma: {shape: 0.01, mean: 1d}", "gamma: {shape: 1000000, mean: 1d}"])
            .chain(["lognormal: {median: 1s, sigma: 10}", "lognormal: {median: 1s, sigma: 0}"])
        {
            let steps = [0.0, 1e-9, 0.1, 0.5, 0.9, 1.0 - 1e-16].map(|p| yaml(text).rest_quantile(p));
            assert!(steps.is_sorted() && steps[0].is_zero(), "{text}: {steps:?}");
        }
    }

    /// Failures of many machines over a time far below the mean, each failing again and again.
    #[test]
    fn failures_come_at_their_long_run_rate_from_the_first_moment_on() {
        const MACHINES: u32 = 40_000;
        for text in KINDS {
            let distribution = yaml(text);
            let mean = distribution.mean().expect("a mean").as_secs_f64();
            for share in [0.05, 0.5] {
                let failures = |machine: u32| {
                    let mut stream = Streams::new(7).stream(text, &machine.to_string());
                    let mut at = distribution.sample_rest(&mut stream).as_secs_f64();
                    let mut failures = 0.0;
                    while at <= share * mean {
                        failures += 1.0;
                        at += distribution.sample(&mut stream).as_secs_f64();
                    }
                    failures
                };
                let counts: Vec<f64> = (0..MACHINES).map(failures).collect();
                let found = counts.iter().sum::<f64>() / f64::from(MACHINES);
                let variance = counts.iter().map(|count| (count - found) * (count - found)).sum::<f64>();
                let error = libm::sqrt(variance) / f64::from(MACHINES);
                assert!((found - share).abs() < 4.0 * error, "{text}: {found} ± {error} instead of {share}");
            }
        }
    }
}
