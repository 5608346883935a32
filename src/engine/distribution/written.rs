//! Distributions as documents write them.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Distribution, DistributionError, NORMAL_P99, above_zero, scaled, valid_shape};
use crate::units::{ParseDurationError, SimDuration, with_days};

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

fn valid_sigma(sigma: f64) -> Result<(), DistributionError> {
    if (0.0..=10.0).contains(&sigma) {
        return Ok(());
    }
    let range = "between 0 and 10".to_owned();
    Err(DistributionError::Range { kind: "lognormal", parameter: "sigma", value: sigma.to_string(), range })
}
