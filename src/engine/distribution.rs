//! Lengths of time that vary.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::random::Stream;
use super::special::{NORMAL_P99, gamma_quantile, normal_quantile};
use crate::units::{ParseDurationError, SimDuration, with_days};

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
    #[error("{parameter} of a {kind} distribution is {value}; it must be {range}")]
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
    #[error("a {kind} distribution is given by {wanted}")]
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

fn scaled(length: SimDuration, factor: f64) -> SimDuration {
    // The cast stops at both ends of u64.
    SimDuration::from_nanos(libm::round(length.as_nanos() as f64 * factor) as u64)
}

/// The standard deviation of a lognormal variable's logarithm.
fn sigma(median: SimDuration, p99: SimDuration) -> f64 {
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

fn valid_sigma(sigma: f64) -> Result<(), DistributionError> {
    if (0.0..=10.0).contains(&sigma) {
        return Ok(());
    }
    let range = "between 0 and 10".to_owned();
    Err(DistributionError::Range { kind: "lognormal", parameter: "sigma", value: sigma.to_string(), range })
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

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::Constant(length) => map.serialize_entry("constant", length)?,
            Self::Uniform { min, max } => map.serialize_entry("uniform", &UniformFields { min: *min, max: *max })?,
            Self::Exponential { mean } => map.serialize_entry("exponential", &ExponentialFields { mean: *mean })?,
            Self::Weibull { shape, scale } => map.serialize_entry("weibull", &ShapeFields::new(*shape, *scale))?,
            Self::Lognormal { median, p99 } => {
                let fields = LognormalFields { median: Some(*median), p99: Some(*p99), mean: None, sigma: None };
                map.serialize_entry("lognormal", &fields)?;
            }
            Self::Gamma { shape, scale } => map.serialize_entry("gamma", &ShapeFields::new(*shape, *scale))?,
            Self::Empirical { file, .. } => {
                map.serialize_entry("empirical", &EmpiricalFields { file: file.clone() })?
            }
        }
        map.end()
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct UniformFields {
    #[serde(with = "with_days")]
    min: SimDuration,
    #[serde(with = "with_days")]
    max: SimDuration,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ExponentialFields {
    #[serde(with = "with_days")]
    mean: SimDuration,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapeFields {
    shape: f64,
    #[serde(default, with = "with_days::option", skip_serializing_if = "Option::is_none")]
    scale: Option<SimDuration>,
    #[serde(default, with = "with_days::option", skip_serializing_if = "Option::is_none")]
    mean: Option<SimDuration>,
}

impl ShapeFields {
    fn new(shape: f64, scale: SimDuration) -> Self {
        Self { shape, scale: Some(scale), mean: None }
    }

    /// The scale, given or found from the mean; `mean_of_one` is the mean at scale 1.
    fn scale(&self, kind: &'static str, mean_of_one: fn(f64) -> f64) -> Result<SimDuration, DistributionError> {
        valid_shape(kind, self.shape)?;
        match (self.scale, self.mean) {
            (Some(scale), None) => Ok(scale),
            (None, Some(mean)) => {
                above_zero(kind, "mean", mean)?;
                // A tiny shape has a mean so far above its scale that the scale may round to nothing.
                Ok(scaled(mean, 1.0 / mean_of_one(self.shape)).max(SimDuration::from_nanos(1)))
            }
            _ => Err(DistributionError::Parameters { kind, wanted: "`shape` and either `scale` or `mean`" }),
        }
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct LognormalFields {
    #[serde(default, with = "with_days::option", skip_serializing_if = "Option::is_none")]
    median: Option<SimDuration>,
    #[serde(default, with = "with_days::option", skip_serializing_if = "Option::is_none")]
    p99: Option<SimDuration>,
    #[serde(default, with = "with_days::option", skip_serializing_if = "Option::is_none")]
    mean: Option<SimDuration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sigma: Option<f64>,
}

impl LognormalFields {
    fn distribution(&self) -> Result<Distribution, DistributionError> {
        let (median, sigma) = match (self.median, self.p99, self.mean, self.sigma) {
            (Some(median), Some(p99), None, None) => return Ok(Distribution::Lognormal { median, p99 }),
            (Some(median), None, None, Some(sigma)) => (median, sigma),
            (None, None, Some(mean), Some(sigma)) => {
                valid_sigma(sigma)?;
                above_zero("lognormal", "mean", mean)?;
                (scaled(mean, libm::exp(-0.5 * sigma * sigma)).max(SimDuration::from_nanos(1)), sigma)
            }
            _ => {
                return Err(DistributionError::Parameters {
                    kind: "lognormal",
                    wanted: "`median` and `p99`, `median` and `sigma`, or `mean` and `sigma`",
                });
            }
        };
        valid_sigma(sigma)?;
        Ok(Distribution::Lognormal { median, p99: scaled(median, libm::exp(sigma * NORMAL_P99)) })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct EmpiricalFields {
    file: Arc<str>,
}

struct ConstantField(SimDuration);

impl<'de> Deserialize<'de> for ConstantField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        with_days::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    /// Reads `{kind: {parameters}}`, or a duration alone, which is a constant.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DistributionVisitor)
    }
}

/// The kinds as documents write them.
const KINDS: &[&str] = &["constant", "uniform", "exponential", "weibull", "lognormal", "gamma", "empirical"];

struct DistributionVisitor;

impl<'de> Visitor<'de> for DistributionVisitor {
    type Value = Distribution;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a duration such as `2s`, or a distribution such as `{exponential: {mean: 5m}}`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Distribution, E> {
        SimDuration::parse_with_days(text).map(Distribution::Constant).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Distribution, E> {
        if number == 0 {
            return Ok(Distribution::default());
        }
        Err(E::custom(ParseDurationError::MissingUnit(number.to_string())))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Distribution, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::custom(ParseDurationError::Negative(number.to_string()))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Distribution, A::Error> {
        let Some(kind) = map.next_key::<String>()? else {
            return Err(A::Error::custom(format!(
                "an empty map is not a distribution; name one of {}",
                KINDS.join(", ")
            )));
        };
        let distribution = match kind.as_str() {
            "constant" => Ok(Distribution::Constant(map.next_value::<ConstantField>()?.0)),
            "uniform" => {
                let UniformFields { min, max } = map.next_value()?;
                Ok(Distribution::Uniform { min, max })
            }
            "exponential" => Ok(Distribution::Exponential { mean: map.next_value::<ExponentialFields>()?.mean }),
            "weibull" => {
                let fields: ShapeFields = map.next_value()?;
                let scale = fields.scale("weibull", |shape| libm::tgamma(1.0 + 1.0 / shape));
                scale.map(|scale| Distribution::Weibull { shape: fields.shape, scale })
            }
            "lognormal" => map.next_value::<LognormalFields>()?.distribution(),
            "gamma" => {
                let fields: ShapeFields = map.next_value()?;
                let scale = fields.scale("gamma", |shape| shape);
                scale.map(|scale| Distribution::Gamma { shape: fields.shape, scale })
            }
            "empirical" => {
                let EmpiricalFields { file } = map.next_value()?;
                Ok(Distribution::Empirical { file, values: Arc::new([]) })
            }
            _ => return Err(A::Error::unknown_variant(&kind, KINDS)),
        };
        let distribution = distribution.map_err(A::Error::custom)?;
        distribution.validate().map_err(A::Error::custom)?;
        if let Some(second) = map.next_key::<String>()? {
            return Err(A::Error::custom(format!("a distribution has one kind; this one has `{kind}` and `{second}`")));
        }
        Ok(distribution)
    }
}
