//! Lengths of time that vary.

#[cfg(feature = "cli")]
mod schema;
mod written;

use std::sync::Arc;

use super::random::Stream;
use super::special::{NORMAL_P99, gamma_quantile, normal_quantile};
use crate::units::SimDuration;

/// How a length of time is distributed.
///
/// A sample is the quantile at one uniform number, so that every kind takes exactly one draw, a constant included:
/// replacing one kind by another shifts no later draw of the stream, and a larger draw never gives a shorter time.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant(SimDuration),
    /// All lengths of an interval equally likely.
    Uniform {
        /// The shortest.
        min: SimDuration,
        /// The longest.
        max: SimDuration,
    },
    /// Without memory: how long it has been says nothing about how long it will take.
    Exponential {
        /// The mean.
        mean: SimDuration,
    },
    /// Times to failure: below shape 1 early failures prevail, above it wear.
    Weibull {
        /// The exponent, above zero.
        shape: f64,
        /// The length that 63.2 % do not exceed.
        scale: SimDuration,
    },
    /// Times to do something, with a long tail: the logarithm is normal.
    ///
    /// Documents may give `sigma`, the standard deviation of the logarithm, instead of the 99th percentile, and then the
    /// mean instead of the median.
    Lognormal {
        /// The length that half do not exceed, above zero.
        median: SimDuration,
        /// The length that 99 % do not exceed, not below the median.
        p99: SimDuration,
    },
    /// The sum of `shape` exponential times, also for shapes that are no whole number.
    Gamma {
        /// How many, above zero.
        shape: f64,
        /// The mean of each.
        scale: SimDuration,
    },
    /// One of the lengths that were observed, all equally likely.
    Empirical {
        /// The file they come from, as the document names it.
        file: Arc<str>,
        /// The observations in ascending order; none until [`Distribution::resolve_files`] has read them.
        values: Arc<[SimDuration]>,
    },
}

/// What is wrong with a distribution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DistributionError {
    /// A parameter outside its range.
    #[error("`{parameter}` of the {kind} distribution is {value}; it must be {range}")]
    Range {
        /// The kind as documents write it.
        kind: &'static str,
        /// The parameter as documents write it.
        parameter: &'static str,
        /// The value given.
        value: String,
        /// What it must be.
        range: String,
    },
    /// Parameters that do not make one distribution.
    #[error("the {kind} distribution is given by {wanted}")]
    Parameters {
        /// The kind as documents write it.
        kind: &'static str,
        /// The combinations that do.
        wanted: &'static str,
    },
    /// A file that cannot be read.
    #[error("the observations of an empirical distribution cannot be read from `{file}`: {reason}")]
    File {
        /// The file as the document names it.
        file: Arc<str>,
        /// Why not.
        reason: String,
    },
}

impl Distribution {
    /// Draws a length of time; takes one 64-bit draw.
    ///
    /// # Panics
    ///
    /// If it is empirical and its file has not been read.
    #[must_use]
    pub fn sample(&self, stream: &mut Stream) -> SimDuration {
        let unit = stream.unit();
        self.quantile(unit)
    }

    /// The length that is not exceeded with probability `p`, which is taken into 0 to 1.
    ///
    /// # Panics
    ///
    /// If it is empirical and its file has not been read.
    #[must_use]
    pub fn quantile(&self, p: f64) -> SimDuration {
        let p = p.clamp(0.0, 1.0);
        match self {
            Self::Constant(length) => *length,
            Self::Uniform { min, max } => *min + scaled(*max - *min, p),
            Self::Exponential { mean } => scaled(*mean, -libm::log1p(-p)),
            Self::Weibull { shape, scale } => scaled(*scale, libm::pow(-libm::log1p(-p), 1.0 / shape)),
            // A constant in all but name; zero times infinity is no number.
            Self::Lognormal { median, p99 } if median == p99 => *median,
            Self::Lognormal { median, p99 } => scaled(*median, libm::exp(sigma(*median, *p99) * normal_quantile(p))),
            Self::Gamma { shape, scale } => scaled(*scale, gamma_quantile(*shape, p)),
            Self::Empirical { file, values } => {
                assert!(!values.is_empty(), "the observations in `{file}` have not been read");
                // Each observation has an equal share of [0, 1); 1 itself belongs to the last.
                let index = (p * values.len() as f64) as usize;
                values[index.min(values.len() - 1)]
            }
        }
    }

    /// The mean, or `None` if it is empirical and its file has not been read.
    #[must_use]
    pub fn mean(&self) -> Option<SimDuration> {
        Some(match self {
            Self::Constant(length) => *length,
            Self::Uniform { min, max } => *min + (*max - *min) / 2,
            Self::Exponential { mean } => *mean,
            Self::Weibull { shape, scale } => scaled(*scale, libm::tgamma(1.0 + 1.0 / shape)),
            Self::Lognormal { median, p99 } => {
                let sigma = sigma(*median, *p99);
                scaled(*median, libm::exp(0.5 * sigma * sigma))
            }
            Self::Gamma { shape, scale } => scaled(*scale, *shape),
            Self::Empirical { values, .. } if values.is_empty() => return None,
            Self::Empirical { values, .. } => {
                let total: u128 = values.iter().map(|value| u128::from(value.as_nanos())).sum();
                SimDuration::from_nanos((total / values.len() as u128) as u64)
            }
        })
    }

    /// Whether every sample is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.quantile(1.0).is_zero()
    }

    /// Reads the observations of an empirical distribution; the others have nothing to read.
    ///
    /// `load` turns the file's name into its text. The text has one observation per line, in its first column: a
    /// duration, or a number of seconds. The first line may be a header; blank lines and lines with `#` do not count.
    ///
    /// # Errors
    ///
    /// What `load` says, or a line that is no observation.
    pub fn resolve_files(
        &mut self,
        load: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<(), DistributionError> {
        if let Self::Empirical { file, values } = self {
            let read = load(file).and_then(|text| parse_observations(&text));
            *values = read.map_err(|reason| DistributionError::File { file: file.clone(), reason })?;
        }
        Ok(())
    }

    /// Checks the parameters; what was read from a document has been checked.
    ///
    /// # Errors
    ///
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<(), DistributionError> {
        match self {
            Self::Constant(_) | Self::Empirical { .. } => Ok(()),
            Self::Uniform { min, max } => at_least("uniform", "max", *max, "min", *min),
            Self::Exponential { mean } => above_zero("exponential", "mean", *mean),
            Self::Weibull { shape, scale } => {
                valid_shape("weibull", *shape)?;
                above_zero("weibull", "scale", *scale)
            }
            Self::Lognormal { median, p99 } => {
                above_zero("lognormal", "median", *median)?;
                at_least("lognormal", "p99", *p99, "median", *median)
            }
            Self::Gamma { shape, scale } => {
                valid_shape("gamma", *shape)?;
                above_zero("gamma", "scale", *scale)
            }
        }
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self::Constant(SimDuration::ZERO)
    }
}

impl From<SimDuration> for Distribution {
    fn from(length: SimDuration) -> Self {
        Self::Constant(length)
    }
}

pub(super) fn scaled(length: SimDuration, factor: f64) -> SimDuration {
    // The cast stops at both ends of u64.
    SimDuration::from_nanos(libm::round(length.as_nanos() as f64 * factor) as u64)
}

/// The standard deviation of a lognormal variable's logarithm.
pub(super) fn sigma(median: SimDuration, p99: SimDuration) -> f64 {
    libm::log(p99.as_nanos() as f64 / median.as_nanos() as f64) / NORMAL_P99
}

fn above_zero(kind: &'static str, parameter: &'static str, value: SimDuration) -> Result<(), DistributionError> {
    if value > SimDuration::ZERO {
        return Ok(());
    }
    Err(DistributionError::Range { kind, parameter, value: value.to_string(), range: "more than 0s".to_owned() })
}

fn at_least(
    kind: &'static str,
    parameter: &'static str,
    value: SimDuration,
    lower: &str,
    limit: SimDuration,
) -> Result<(), DistributionError> {
    if value >= limit {
        return Ok(());
    }
    let range = format!("at least {lower}, which is {limit}");
    Err(DistributionError::Range { kind, parameter, value: value.to_string(), range })
}

fn valid_shape(kind: &'static str, shape: f64) -> Result<(), DistributionError> {
    // Beyond these limits the times are all alike or all but one zero; the special functions are tested between them.
    if (0.01..=1e6).contains(&shape) {
        return Ok(());
    }
    let range = "between 0.01 and 1000000".to_owned();
    Err(DistributionError::Range { kind, parameter: "shape", value: shape.to_string(), range })
}

/// Reads the first column of lines of comma-separated values.
fn parse_observations(text: &str) -> Result<Arc<[SimDuration]>, String> {
    let mut values = Vec::new();
    let mut is_first = true;
    for (index, line) in text.lines().enumerate() {
        let cell = line.split(',').next().unwrap_or_default().trim().trim_matches('"');
        if line.trim().is_empty() || cell.starts_with('#') {
            continue;
        }
        match parse_observation(cell) {
            Some(value) => values.push(value),
            // A header names its column; a number that does not fit is a mistake on any line.
            None if is_first && !cell.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) => {}
            None => {
                return Err(format!("`{cell}` in line {} is neither a duration nor a number of seconds", index + 1));
            }
        }
        is_first = false;
    }
    if values.is_empty() {
        return Err("there is no observation in it".to_owned());
    }
    values.sort_unstable();
    Ok(values.into())
}

fn parse_observation(cell: &str) -> Option<SimDuration> {
    match cell.parse::<f64>() {
        Ok(secs) if secs >= 0.0 && secs.is_finite() => Some(SimDuration::from_secs_f64(secs)),
        Ok(_) => None,
        Err(_) => SimDuration::parse_with_days(cell).ok(),
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::engine::Streams;

    fn secs(secs: u64) -> SimDuration {
        SimDuration::from_secs(secs)
    }

    fn yaml(text: &str) -> Distribution {
        serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    const SAMPLE_COUNT: usize = 100_000;

    /// Compares with an independent sampler: its share below our quantile, and the mean of our samples.
    fn check_against(text: &str, other: impl rand_distr::Distribution<f64>) {
        let distribution = yaml(text);
        let mut generator = ChaCha8Rng::seed_from_u64(1);
        let others: Vec<f64> = (0..SAMPLE_COUNT).map(|_| other.sample(&mut generator)).collect();
        for p in [0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999] {
            let limit = distribution.quantile(p).as_secs_f64();
            let share = others.iter().filter(|value| **value <= limit).count() as f64 / SAMPLE_COUNT as f64;
            // Five standard deviations of a share.
            let tolerance = 5.0 * libm::sqrt(p * (1.0 - p) / SAMPLE_COUNT as f64);
            assert!((share - p).abs() < tolerance, "{text}: {share} of the samples are below the quantile of {p}");
        }
        let mut stream = Streams::new(1).stream("test", text);
        let ours: Vec<f64> = (0..SAMPLE_COUNT).map(|_| distribution.sample(&mut stream).as_secs_f64()).collect();
        let mean = ours.iter().sum::<f64>() / SAMPLE_COUNT as f64;
        let variance = ours.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / SAMPLE_COUNT as f64;
        let expected = distribution.mean().unwrap().as_secs_f64();
        let tolerance = 5.0 * libm::sqrt(variance / SAMPLE_COUNT as f64);
        assert!((mean - expected).abs() < tolerance, "{text}: mean {mean} of the samples, expected {expected}");
    }

    #[test]
    fn samples_agree_with_another_library() {
        check_against("uniform: {min: 10s, max: 70s}", rand_distr::Uniform::new_inclusive(10.0, 70.0).unwrap());
        check_against("exponential: {mean: 2h}", rand_distr::Exp::new(1.0 / 7200.0).unwrap());
        check_against("weibull: {shape: 0.7, scale: 100s}", rand_distr::Weibull::new(100.0, 0.7).unwrap());
        check_against("weibull: {shape: 3, scale: 100s}", rand_distr::Weibull::new(100.0, 3.0).unwrap());
        check_against("lognormal: {median: 1s, sigma: 0.5}", rand_distr::LogNormal::new(0.0, 0.5).unwrap());
        check_against("gamma: {shape: 0.5, scale: 10s}", rand_distr::Gamma::new(0.5, 10.0).unwrap());
        check_against("gamma: {shape: 9, mean: 90s}", rand_distr::Gamma::new(9.0, 10.0).unwrap());
    }

    #[test]
    fn quantiles_are_those_given() {
        let lognormal = yaml("lognormal: {median: 2s, p99: 12s}");
        assert_eq!(lognormal.quantile(0.5), secs(2));
        assert_eq!(lognormal.quantile(0.99), secs(12));
        assert_eq!(lognormal.quantile(0.0), SimDuration::ZERO);
        let uniform = yaml("uniform: {min: 0s, max: 60s}");
        assert_eq!((uniform.quantile(0.25), uniform.quantile(1.0)), (secs(15), secs(60)));
        assert_eq!(yaml("exponential: {mean: 1h}").quantile(1.0), SimDuration::MAX);
        assert_eq!(yaml("lognormal: {median: 5s, sigma: 0}").quantile(1.0), secs(5));
        assert_eq!(Distribution::Constant(secs(3)).quantile(0.7), secs(3));
        assert!(yaml("0").is_zero() && !uniform.is_zero());
    }

    #[test]
    fn means_are_those_given() {
        let check = |text: &str, mean: SimDuration| {
            let found = yaml(text).mean().unwrap().as_secs_f64();
            assert!((found / mean.as_secs_f64() - 1.0).abs() < 1e-8, "{text}: {found}");
        };
        check("weibull: {shape: 0.7, mean: 60d}", secs(60 * 86_400));
        check("lognormal: {mean: 30s, sigma: 1.5}", secs(30));
        check("gamma: {shape: 2.5, mean: 1w}", secs(7 * 86_400));
        check("uniform: {min: 10s, max: 30s}", secs(20));
        assert_eq!(yaml("empirical: {file: x.csv}").mean(), None);
    }

    #[test]
    fn every_kind_takes_one_draw() {
        let kinds = [
            "2s",
            "uniform: {min: 0s, max: 1s}",
            "exponential: {mean: 1s}",
            "weibull: {shape: 2, scale: 1s}",
            "lognormal: {median: 1s, p99: 2s}",
            "gamma: {shape: 2, scale: 1s}",
        ];
        let mut expected = Streams::new(3).stream("test", "draws");
        expected.next_u64();
        let second = expected.next_u64();
        for kind in kinds {
            let mut stream = Streams::new(3).stream("test", "draws");
            let _ = yaml(kind).sample(&mut stream);
            assert_eq!(stream.next_u64(), second, "{kind}");
        }
    }

    /// The numbers of every recorded run depend on these; a change here changes all results.
    #[test]
    fn first_samples_are_frozen() {
        let check = |text: &str, nanos: u64| {
            let mut stream = Streams::new(42).stream("pod-start", "shop/frontend/12");
            assert_eq!(yaml(text).sample(&mut stream).as_nanos(), nanos, "{text}");
        };
        check("uniform: {min: 0s, max: 60s}", 9_384_529_261);
        check("exponential: {mean: 120d}", 1_763_464_989_891_704);
        check("weibull: {shape: 0.7, mean: 60d}", 326_025_543_385_269);
        check("lognormal: {median: 2s, p99: 12s}", 919_211_047);
        check("gamma: {shape: 2.5, mean: 10m}", 244_793_022_700);
    }

    #[test]
    fn documents_name_a_kind_and_its_parameters() {
        let check = |text: &str, expected: Distribution| assert_eq!(yaml(text), expected, "{text}");
        check("2s", Distribution::Constant(secs(2)));
        check("1d", Distribution::Constant(secs(86_400)));
        check("0", Distribution::Constant(SimDuration::ZERO));
        check("{constant: 2s}", Distribution::Constant(secs(2)));
        check("{constant: 0}", Distribution::Constant(SimDuration::ZERO));
        check("{uniform: {min: 0s, max: 60s}}", Distribution::Uniform { min: secs(0), max: secs(60) });
        check("{weibull: {shape: 1, mean: 60s}}", Distribution::Weibull { shape: 1.0, scale: secs(60) });
        check("{lognormal: {median: 2s, p99: 12s}}", Distribution::Lognormal { median: secs(2), p99: secs(12) });
        check("{gamma: {shape: 2, mean: 60s}}", Distribution::Gamma { shape: 2.0, scale: secs(30) });
    }

    #[test]
    fn documents_are_written_as_they_are_read() {
        for text in [
            "2s",
            "uniform: {min: 0s, max: 60s}",
            "exponential: {mean: 120d}",
            "weibull: {shape: 0.7, mean: 60d}",
            "lognormal: {mean: 2s, sigma: 1}",
            "gamma: {shape: 2, scale: 30s}",
            "empirical: {file: x.csv}",
        ] {
            let distribution = yaml(text);
            let written = serde_json::to_string(&distribution).unwrap();
            assert_eq!(serde_json::from_str::<Distribution>(&written).unwrap(), distribution, "{written}");
        }
        assert_eq!(serde_json::to_string(&yaml("2s")).unwrap(), r#"{"constant":"2s"}"#);
    }

    #[test]
    fn what_is_no_distribution_says_why() {
        let check = |text: &str, expected: &str| {
            let message = serde_saphyr::from_str::<Distribution>(text).expect_err(text).to_string();
            assert!(message.contains(expected), "{text}: {message}");
        };
        check("-2s", "`-2s` is negative");
        check("5", "write for example `5s`");
        check("{}", "an empty map is not a distribution");
        check("{normal: {mean: 2s}}", "normal");
        check("{constant: 2s, uniform: {min: 0s, max: 1s}}", "`constant` and `uniform`");
        check(
            "{uniform: {min: 2s, max: 1s}}",
            "`max` of the uniform distribution is 1s; it must be at least min, which is 2s",
        );
        check("{uniform: {min: 2s}}", "max");
        check("{uniform: {min: 2s, max: 3s, mean: 2s}}", "mean");
        check("{exponential: {mean: 0s}}", "`mean` of the exponential distribution is 0s; it must be more than 0s");
        check("{weibull: {shape: 0, mean: 1s}}", "`shape` of the weibull distribution is 0; it must be between");
        check("{weibull: {shape: -1, scale: 1s}}", "it must be between");
        check("{weibull: {shape: .nan, scale: 1s}}", "it must be between");
        check("{weibull: {shape: 1}}", "`shape` and either `scale` or `mean`");
        check("{weibull: {shape: 1, scale: 1s, mean: 1s}}", "`shape` and either `scale` or `mean`");
        check("{lognormal: {median: 2s, p99: 1s}}", "it must be at least median, which is 2s");
        check("{lognormal: {median: 0s, p99: 1s}}", "`median` of the lognormal distribution is 0s");
        check("{lognormal: {median: 2s}}", "`median` and `p99`, `median` and `sigma`, or `mean` and `sigma`");
        check("{lognormal: {median: 2s, sigma: -1}}", "`sigma` of the lognormal distribution is -1");
        check("{gamma: {shape: 2, mean: -1s}}", "`-1s` is negative");
    }

    #[test]
    fn observations_come_from_a_file() {
        let resolved = |text: &'static str| {
            let mut distribution = yaml("empirical: {file: x.csv}");
            distribution
                .resolve_files(&mut |name| if name == "x.csv" { Ok(text.to_owned()) } else { Err(String::new()) })?;
            Ok::<_, DistributionError>(distribution)
        };
        let distribution = resolved("seconds,host\n# measured\n3,a\n\n1m,b\n0.5,c\n\"2\",d\n").unwrap();
        let quantiles = [0.0, 0.24, 0.25, 0.5, 0.75, 1.0].map(|p| distribution.quantile(p).as_millis());
        assert_eq!(quantiles, [500, 500, 2000, 3000, 60_000, 60_000]);
        assert_eq!(distribution.mean(), Some(SimDuration::from_millis(16_375)));
        let check = |text: &'static str, expected: &str| {
            let message = resolved(text).unwrap_err().to_string();
            assert!(message.starts_with("the observations of an empirical distribution cannot be read from `x.csv`"));
            assert!(message.contains(expected), "{message}");
        };
        check("", "there is no observation in it");
        check("seconds\n", "there is no observation in it");
        check("1\nmany\n", "`many` in line 2 is neither");
        check("-1\n", "`-1` in line 1 is neither");
        let mut missing = yaml("empirical: {file: y.csv}");
        assert!(
            missing
                .resolve_files(&mut |_| Err("no such file".to_owned()))
                .unwrap_err()
                .to_string()
                .contains("no such file")
        );
        let mut constant = yaml("1s");
        assert_eq!(constant.resolve_files(&mut |_| unreachable!("a constant has no file")), Ok(()));
    }
}
