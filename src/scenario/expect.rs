//! What a scenario asserts about its outcome.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::diagnostics::Location;

/// How a metric is compared with a value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "variants are the usual signs")]
pub enum Comparison {
    #[serde(rename = "<")]
    Less,
    #[serde(rename = "<=")]
    LessOrEqual,
    #[serde(rename = "==")]
    Equal,
    #[serde(rename = "!=")]
    NotEqual,
    #[serde(rename = ">=")]
    GreaterOrEqual,
    #[serde(rename = ">")]
    Greater,
}

impl Comparison {
    /// The sign.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::GreaterOrEqual => ">=",
            Self::Greater => ">",
        }
    }

    /// Whether it holds. Metrics are sums of whole numbers or of nanoseconds in seconds, so that equality is exact.
    #[must_use]
    pub fn holds(self, found: f64, value: f64) -> bool {
        match self {
            Self::Less => found < value,
            Self::LessOrEqual => found <= value,
            Self::Equal => found == value,
            Self::NotEqual => found != value,
            Self::GreaterOrEqual => found >= value,
            Self::Greater => found > value,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// An assertion on a metric of the summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// One of [`crate::observe::METRICS`].
    pub metric: String,
    /// How to compare.
    pub comparison: Comparison,
    /// With what.
    pub value: f64,
    /// Where it is written.
    pub location: Location,
}

/// An assertion and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectationOutcome {
    /// The metric.
    pub metric: String,
    /// The sign.
    pub op: &'static str,
    /// With what it was compared.
    pub value: f64,
    /// What the run brought.
    pub found: f64,
    /// Whether it holds.
    pub holds: bool,
}

impl Expectation {
    /// Compares with the metrics of a run.
    ///
    /// # Panics
    ///
    /// If the run has no such metric; a scenario that loads names none.
    #[must_use]
    pub fn judge(&self, metrics: &BTreeMap<&'static str, f64>) -> ExpectationOutcome {
        let found = *metrics.get(self.metric.as_str()).expect("metrics of expectations are checked when loading");
        ExpectationOutcome {
            metric: self.metric.clone(),
            op: self.comparison.as_str(),
            value: self.value,
            found,
            holds: self.comparison.holds(found, self.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_compare_what_was_found_with_the_value() {
        let check = |comparison: Comparison, expected: [bool; 3]| {
            assert_eq!([1.0, 2.0, 3.0].map(|found| comparison.holds(found, 2.0)), expected, "{comparison}");
        };
        check(Comparison::Less, [true, false, false]);
        check(Comparison::LessOrEqual, [true, true, false]);
        check(Comparison::Equal, [false, true, false]);
        check(Comparison::NotEqual, [true, false, true]);
        check(Comparison::GreaterOrEqual, [false, true, true]);
        check(Comparison::Greater, [false, false, true]);
    }
}
