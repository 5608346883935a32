//! A count, or a percentage of a count that is known later.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// A count, or a percentage of a total: `maxUnavailable: 1` or `maxUnavailable: 25%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntOrPercent {
    /// A count.
    Int(i32),
    /// Hundredths of a total.
    Percent(i32),
}

/// Which way a percentage that is no whole count goes; each API field prescribes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the next larger count.
    Up,
    /// To the next smaller count.
    Down,
}

impl IntOrPercent {
    /// The count that is meant when there are `total`.
    ///
    /// # Source
    ///
    /// `GetScaledValueFromIntOrPercent` of the API machinery.
    #[must_use]
    pub fn resolve(self, total: i32, rounding: Rounding) -> i32 {
        match self {
            Self::Int(count) => count,
            Self::Percent(percent) => {
                let hundredths = i64::from(percent) * i64::from(total);
                let count = match rounding {
                    Rounding::Up => -(-hundredths).div_euclid(100),
                    Rounding::Down => hundredths.div_euclid(100),
                };
                count.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
            }
        }
    }
}

impl Default for IntOrPercent {
    fn default() -> Self {
        Self::Int(0)
    }
}

/// A text that is neither a count nor a percentage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither a whole number nor a percentage; write for example `1` or `25%`")]
pub struct ParseIntOrPercentError(String);

impl FromStr for IntOrPercent {
    type Err = ParseIntOrPercentError;

    fn from_str(text: &str) -> Result<Self, ParseIntOrPercentError> {
        let parsed = match text.strip_suffix('%') {
            Some(percent) => percent.parse().map(Self::Percent),
            None => text.parse().map(Self::Int),
        };
        parsed.map_err(|_| ParseIntOrPercentError(text.to_owned()))
    }
}

impl fmt::Display for IntOrPercent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(count) => write!(formatter, "{count}"),
            Self::Percent(percent) => write!(formatter, "{percent}%"),
        }
    }
}

impl Serialize for IntOrPercent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(count) => serializer.serialize_i32(*count),
            Self::Percent(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrPercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntOrPercentVisitor)
    }
}

struct IntOrPercentVisitor;

impl Visitor<'_> for IntOrPercentVisitor {
    type Value = IntOrPercent;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number or a percentage such as `25%`")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<IntOrPercent, E> {
        let count = i32::try_from(number).map_err(|_| E::custom(ParseIntOrPercentError(number.to_string())))?;
        Ok(IntOrPercent::Int(count))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<IntOrPercent, E> {
        let count = i32::try_from(number).map_err(|_| E::custom(ParseIntOrPercentError(number.to_string())))?;
        Ok(IntOrPercent::Int(count))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<IntOrPercent, E> {
        let is_count = text.parse::<i32>().is_ok();
        if is_count || text.starts_with('+') {
            return Err(E::custom(format_args!("`{text}` in quotes is no percentage; write a count without quotes")));
        }
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_round_as_the_field_prescribes() {
        let check = |text: &str, total: i32, up: i32, down: i32| {
            let value: IntOrPercent = text.parse().unwrap();
            assert_eq!(value.resolve(total, Rounding::Up), up, "{text} of {total}, up");
            assert_eq!(value.resolve(total, Rounding::Down), down, "{text} of {total}, down");
        };
        check("123", 0, 123, 123);
        check("5", 100, 5, 5);
        check("90%", 100, 90, 90);
        check("90%", 95, 86, 85);
        check("95%", 100, 95, 95);
        check("99%", 100, 99, 99);
        check("25%", 10, 3, 2);
        check("0%", 10, 0, 0);
        check("100%", i32::MAX, i32::MAX, i32::MAX);
        check("150%", 3, 5, 4);
    }

    #[test]
    fn reads_numbers_and_text_and_writes_them_back() {
        let check = |json: &str, expected: IntOrPercent, written: &str| {
            assert_eq!(serde_json::from_str::<IntOrPercent>(json).unwrap(), expected);
            assert_eq!(serde_json::to_string(&expected).unwrap(), written);
        };
        check("3", IntOrPercent::Int(3), "3");
        check("\"25%\"", IntOrPercent::Percent(25), "\"25%\"");
        for wrong in ["\"5\"", "\"-1\"", "\"+5%\"", "\"\"", "\"%\"", "\"2.5%\"", "\"many\"", "2.5", "4294967296"] {
            assert!(serde_json::from_str::<IntOrPercent>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(serde_saphyr::from_str::<IntOrPercent>("25%").unwrap(), IntOrPercent::Percent(25));
        assert_eq!(serde_saphyr::from_str::<IntOrPercent>("2").unwrap(), IntOrPercent::Int(2));
    }
}
