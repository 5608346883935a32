//! The values that a range stands for.
//!
//! A range is searched on a lattice of values that people would write themselves, so that a value has one name, one number in the journal, and
//! a neighbour that is worth telling from it. Values are counted in a unit in which all of them are whole.

use serde::Deserialize;
use serde_json::Value;

use super::super::setting::plain;
use crate::units::SimDuration;

/// Levels of a range without a step, at most.
const LEVELS_MAX: usize = 65;
/// Levels of a range with a step, at most.
const STEPS_MAX: u64 = 1001;
/// From this ratio of the ends on levels lie evenly in the logarithm.
const GEOMETRIC_FROM: i64 = 32;
/// More decimals than this are a slip of the pen.
const DECIMALS_MAX: u32 = 6;

const SECOND: i64 = 1_000_000_000;

/// A range as the document writes it: instead of `values`, for `kubesquall tune` alone.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::study) struct RangeEntry {
    /// The least value: a number, or a length of time such as `20s`.
    min: Value,
    /// The highest value.
    max: Value,
    /// How far one value is from the next; if nothing is said, up to 65 values that people would write.
    #[serde(default)]
    step: Option<Value>,
}

/// What values of a range are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::study) enum Kind {
    /// Whole seconds.
    Seconds,
    /// Whole numbers.
    Count,
    /// Numbers with so many decimals.
    Number(u32),
    /// Lengths of time, in nanoseconds.
    Duration,
}

/// What is wrong with a range: the field of it, if it is one alone, and a sentence that says what would be valid.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::study) struct Refused {
    pub(in crate::study) field: &'static str,
    pub(in crate::study) message: String,
}

/// The values of a range.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::study) struct Lattice {
    kind: Kind,
    /// Ascending, in units of the kind.
    values: Vec<i64>,
    /// Whether they lie evenly in the logarithm.
    is_geometric: bool,
}

impl RangeEntry {
    /// The values of a range of seconds or of a count.
    pub(in crate::study) fn whole(&self, name: &str, kind: Kind) -> Result<Lattice, Refused> {
        let what = if kind == Kind::Seconds { "whole seconds" } else { "whole numbers" };
        let refused = |field, value: &Value| Refused {
            field,
            message: format!(
                "`{}` of `{name}` does not go with its range, which is one of {what} from 0 to {}",
                plain(value),
                u32::MAX
            ),
        };
        let read = |field, value: &Value| {
            let found = kind.read(value).filter(|value| u32::try_from(*value).is_ok());
            found.ok_or_else(|| refused(field, value))
        };
        self.lattice(name, kind, read)
    }

    /// The values of a range of a field of the scenario: of numbers, or of lengths of time.
    pub(in crate::study) fn of_path(&self, name: &str) -> Result<Lattice, Refused> {
        let is_time = |value: &Value| value.is_string() && Kind::Duration.read(value).is_some();
        let given = [("min", Some(&self.min)), ("max", Some(&self.max)), ("step", self.step.as_ref())];
        for (field, value) in given.iter().filter_map(|(field, value)| Some((*field, (*value)?))) {
            if !value.is_number() && !is_time(value) {
                let message = format!(
                    "`{}` of `{name}` is neither a number nor a length of time such as 20s, and only these can be searched in a range: \
                     list other things in `values`",
                    plain(value)
                );
                return Err(Refused { field, message });
            }
        }
        let mixed = given.iter().find(|(_, value)| value.is_some_and(|value| is_time(value) != is_time(&self.min)));
        if let Some((field, Some(value))) = mixed {
            let message = format!(
                "`{}` and `{}` of `{name}` are of different kinds: a range is one of numbers or one of lengths of time",
                plain(&self.min),
                plain(value)
            );
            return Err(Refused { field, message });
        }
        let kind = if is_time(&self.min) {
            Kind::Duration
        } else {
            let of = given.iter().filter_map(|(_, value)| *value).map(decimals);
            match of.max().unwrap_or(0) {
                // Between whole numbers there are only whole numbers: what is a fraction is written as one.
                0 if given.iter().all(|(_, value)| value.is_none_or(|value| !value.is_f64())) => Kind::Count,
                written => Kind::Number((written + 2).min(DECIMALS_MAX)),
            }
        };
        let read = |field, value: &Value| {
            let message = || {
                format!(
                    "`{}` of `{name}` cannot be the end of a range: it takes numbers of up to {DECIMALS_MAX} decimals \
                     below 1e12, and lengths of time below a century",
                    plain(value)
                )
            };
            kind.read(value).ok_or_else(|| Refused { field, message: message() })
        };
        self.lattice(name, kind, read)
    }

    fn lattice(
        &self,
        name: &str,
        kind: Kind,
        read: impl Fn(&'static str, &Value) -> Result<i64, Refused>,
    ) -> Result<Lattice, Refused> {
        let (min, max) = (read("min", &self.min)?, read("max", &self.max)?);
        if min >= max {
            let message = format!(
                "the range of `{name}` ends at {} and does not begin below that: `max` has to be more than `min`",
                kind.label(max)
            );
            return Err(Refused { field: "max", message });
        }
        let Some(step) = self.step.as_ref().map(|step| read("step", step)).transpose()? else {
            return Ok(Lattice::between(kind, min, max));
        };
        let refused = |message: String| Err(Refused { field: "step", message });
        if step <= 0 || step > max - min {
            return refused(format!(
                "`{}` cannot be the step of `{name}`: it is more than 0, and at most {}, from one end to the other",
                kind.label(step),
                kind.label(max - min)
            ));
        }
        let count = ((max - min) / step) as u64 + 1;
        if count > STEPS_MAX {
            return refused(format!(
                "the range of `{name}` has {count} values, and {STEPS_MAX} are the most: take a larger step, or none"
            ));
        }
        let mut values: Vec<i64> = (0..count as i64).map(|at| min + at * step).collect();
        // The end belongs to a range, whether steps lead to it or not.
        values.extend((values.last() != Some(&max)).then_some(max));
        Ok(Lattice { kind, values, is_geometric: false })
    }
}

/// How many decimals a number is written with.
fn decimals(value: &Value) -> u32 {
    let text = value.to_string();
    let Some((number, exponent)) = text.split_once(['e', 'E']) else {
        return text.split_once('.').map_or(0, |(_, decimals)| decimals.trim_end_matches('0').len() as u32);
    };
    let written = number.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i64);
    (written - exponent.parse::<i64>().unwrap_or(0)).clamp(0, i64::from(u32::MAX)) as u32
}

fn power_of_ten(exponent: u32) -> i64 {
    10_i64.pow(exponent)
}

impl Kind {
    /// A value in units; none if it is none of the kind, or too large.
    fn read(self, value: &Value) -> Option<i64> {
        match self {
            Self::Seconds | Self::Count => value.as_i64().filter(|value| value.abs() < power_of_ten(12)),
            Self::Number(places) => {
                let scaled = value.as_f64()? * power_of_ten(places) as f64;
                (decimals(value) <= DECIMALS_MAX && scaled.abs() < 1e18).then(|| scaled.round() as i64)
            }
            Self::Duration => {
                let nanos = SimDuration::parse_with_days(value.as_str()?).ok()?.as_nanos();
                i64::try_from(nanos).ok().filter(|nanos| *nanos < 36_525 * 86_400 * SECOND)
            }
        }
    }

    /// How a value is written.
    fn label(self, value: i64) -> String {
        match self {
            Self::Seconds | Self::Count => value.to_string(),
            Self::Number(places) => {
                let (unit, sign) = (power_of_ten(places), if value < 0 { "-" } else { "" });
                let (whole, rest) = (value.abs() / unit, value.abs() % unit);
                let width = places as usize;
                let text = format!("{sign}{whole}.{rest:0width$}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            Self::Duration => short(&SimDuration::from_nanos(value.unsigned_abs()).to_string()),
        }
    }

    /// Distances between values that people would choose, ascending.
    fn steps(self) -> Vec<i64> {
        let decades = |to: u32| (0..to).flat_map(|power| [1, 2, 5].map(|of| of * power_of_ten(power)));
        match self {
            Self::Count | Self::Number(_) => decades(18).collect(),
            Self::Seconds => times(&STEPS, 1),
            Self::Duration => decades(9).chain(times(&STEPS, SECOND)).collect(),
        }
    }

    /// Values that people would choose where they lie evenly in the logarithm, ascending.
    fn marks(self) -> Vec<i64> {
        let decades = |from: u32, to: u32| {
            let of = |power| [10, 12, 15, 20, 25, 30, 40, 50, 60, 80].map(|of| of * power_of_ten(power));
            (from..to).flat_map(of)
        };
        match self {
            Self::Count => [1, 2, 3, 4, 5, 6, 8].into_iter().chain(decades(0, 17)).collect(),
            Self::Number(_) => [1, 2, 3, 4, 5, 6, 8].into_iter().chain(decades(0, 17)).collect(),
            Self::Seconds => times(&MARKS, 1),
            Self::Duration => {
                let below = [1, 2, 3, 4, 5, 6, 8].into_iter().chain(decades(0, 8));
                below.chain(times(&MARKS, SECOND)).collect()
            }
        }
    }
}

/// Go's text of a length of time without units that say nothing: `1m` for `1m0s`.
fn short(text: &str) -> String {
    let text = text.strip_suffix("m0s").map_or_else(|| text.to_owned(), |rest| format!("{rest}m"));
    text.strip_suffix("h0m").map_or_else(|| text.clone(), |rest| format!("{rest}h"))
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Steps below a day, in seconds.
const STEPS: [i64; 18] = [
    1,
    2,
    5,
    10,
    15,
    30,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
];

/// Marks below a day, in seconds.
const MARKS: [i64; 42] = [
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    12,
    15,
    20,
    25,
    30,
    40,
    50,
    MINUTE,
    90,
    2 * MINUTE,
    150,
    3 * MINUTE,
    4 * MINUTE,
    5 * MINUTE,
    6 * MINUTE,
    8 * MINUTE,
    10 * MINUTE,
    12 * MINUTE,
    15 * MINUTE,
    20 * MINUTE,
    25 * MINUTE,
    30 * MINUTE,
    40 * MINUTE,
    50 * MINUTE,
    HOUR,
    90 * MINUTE,
    2 * HOUR,
    3 * HOUR,
    4 * HOUR,
    6 * HOUR,
    8 * HOUR,
    12 * HOUR,
    16 * HOUR,
    DAY,
];

/// These times and such numbers of days, in units of which a second has so many.
fn times(below: &[i64], second: i64) -> Vec<i64> {
    let days = (0..5).flat_map(|power| [2, 3, 5, 10].map(|of| of * power_of_ten(power) * DAY));
    below.iter().copied().chain(days).map(|time| time * second).collect()
}

impl Lattice {
    /// Up to [`LEVELS_MAX`] values that people would write, and both ends.
    fn between(kind: Kind, min: i64, max: i64) -> Self {
        let with_ends = |between: Vec<i64>| {
            let inner = between.into_iter().filter(|value| (min + 1..max).contains(value));
            [min].into_iter().chain(inner).chain([max]).collect::<Vec<i64>>()
        };
        if min > 0 && max / min >= GEOMETRIC_FROM {
            let mut values = with_ends(kind.marks());
            while values.len() > LEVELS_MAX {
                let inner: Vec<i64> = values[1..values.len() - 1].iter().copied().step_by(2).collect();
                values = with_ends(inner);
            }
            return Self { kind, values, is_geometric: true };
        }
        let on = |step: i64| {
            let first = min.div_euclid(step) + 1;
            let count = ((max - 1).div_euclid(step) - first + 1).max(0);
            (first, count)
        };
        let step = kind.steps().into_iter().find(|step| on(*step).1 + 2 <= LEVELS_MAX as i64);
        let values = step.map_or_else(Vec::new, |step| {
            let (first, count) = on(step);
            (0..count).map(|at| (first + at) * step).collect()
        });
        Self { kind, values: with_ends(values), is_geometric: false }
    }

    /// How many values there are: at least two.
    pub(in crate::study) fn len(&self) -> usize {
        self.values.len()
    }

    /// As the document would write them.
    pub(in crate::study) fn labels(&self) -> Vec<String> {
        self.values.iter().map(|value| self.kind.label(*value)).collect()
    }

    /// The same as JSON has them.
    pub(in crate::study) fn written(&self) -> Vec<String> {
        let quoted = |label: String| if self.kind == Kind::Duration { format!("\"{label}\"") } else { label };
        self.labels().into_iter().map(quoted).collect()
    }

    /// The values of counts and seconds.
    pub(in crate::study) fn numbers(&self) -> Vec<u32> {
        self.values.iter().map(|value| u32::try_from(*value).unwrap_or(u32::MAX)).collect()
    }

    /// The position of a value, however it is written.
    pub(in crate::study) fn position(&self, value: &Value) -> Option<usize> {
        let value = self.kind.read(value)?;
        self.values.binary_search(&value).ok()
    }

    /// Where each of them lies between the ends: 0 to 1.
    pub(in crate::study) fn places(&self) -> Vec<f64> {
        let at = |value: i64| if self.is_geometric { libm::log(value as f64) } else { value as f64 };
        let (from, to) = (at(self.values[0]), at(self.values[self.len() - 1]));
        self.values.iter().map(|value| (at(*value) - from) / (to - from)).collect()
    }

    /// Whether they lie evenly in the logarithm.
    pub(in crate::study) fn is_geometric(&self) -> bool {
        self.is_geometric
    }

    /// Whether nothing lies below its least value.
    pub(in crate::study) fn has_floor(&self) -> bool {
        self.values[0] == 0 && !matches!(self.kind, Kind::Number(_))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(min: Value, max: Value, step: Option<Value>) -> RangeEntry {
        RangeEntry { min, max, step }
    }

    fn labels(min: Value, max: Value, step: Option<Value>) -> Vec<String> {
        let lattice = entry(min, max, step).of_path("x").expect("a range");
        assert!(lattice.places().windows(2).all(|two| two[0] < two[1]), "{lattice:?}");
        for (index, (label, written)) in lattice.labels().into_iter().zip(lattice.written()).enumerate() {
            let value: Value = serde_json::from_str(&written).expect("JSON");
            assert_eq!(lattice.position(&value), Some(index), "{label}");
        }
        lattice.labels()
    }

    #[test]
    fn values_are_those_that_people_would_write() {
        let seconds = entry(json!(0), json!(600), None).whole("x", Kind::Seconds).expect("a range");
        assert_eq!(seconds.len(), 61);
        assert_eq!(seconds.numbers()[..4], [0, 10, 20, 30]);
        assert_eq!(labels(json!(3), json!(9), None), ["3", "4", "5", "6", "7", "8", "9"]);
        assert_eq!(labels(json!(7), json!(200), None)[..4], ["7", "10", "15", "20"]);
    }

    #[test]
    fn where_the_ends_are_far_apart_values_lie_evenly_in_the_logarithm() {
        let found = labels(json!("1s"), json!("1h"), None);
        assert_eq!(found[..5], ["1s", "2s", "3s", "4s", "5s"]);
        assert_eq!(found[found.len() - 4..], ["30m", "40m", "50m", "1h"]);
        let wide = labels(json!(1), json!(1_000_000_000), None);
        assert!(wide.len() <= LEVELS_MAX && wide.last().is_some_and(|last| last == "1000000000"), "{wide:?}");
        assert_eq!(labels(json!("10ms"), json!("1s"), None).len(), 21);
    }

    #[test]
    fn fractions_are_written_without_zeros() {
        let found = labels(json!(0.5), json!(1), None);
        assert_eq!(found[..3], ["0.5", "0.51", "0.52"]);
        assert_eq!(found.last().map(String::as_str), Some("1"));
        assert_eq!(labels(json!(-0.5), json!(0.5), Some(json!(0.25))), ["-0.5", "-0.25", "0", "0.25", "0.5"]);
    }

    #[test]
    fn a_step_is_taken_as_it_is_and_the_end_belongs_to_it() {
        assert_eq!(labels(json!(1), json!(8), Some(json!(3))), ["1", "4", "7", "8"]);
        assert_eq!(labels(json!("20s"), json!("2m"), Some(json!("50s"))), ["20s", "1m10s", "2m"]);
    }

    #[test]
    fn what_is_no_range_is_refused_at_the_field_that_is_wrong() {
        let check = |entry: RangeEntry, field: &str, message: &str| {
            let refused = entry.of_path("x").expect_err("no range");
            assert!(refused.field == field && refused.message.contains(message), "{refused:?}");
        };
        check(entry(json!("a"), json!(3), None), "min", "neither a number nor a length of time");
        check(entry(json!(1), json!("3s"), None), "max", "of different kinds");
        check(entry(json!(3), json!(3), None), "max", "`max` has to be more than `min`");
        check(entry(json!(1), json!(3), Some(json!(0))), "step", "more than 0, and at most 2");
        check(entry(json!(1), json!(3000), Some(json!(1))), "step", "3000 values");
        check(entry(json!(1.123_456_789), json!(2), None), "min", "6 decimals");
        check(entry(json!(true), json!(2), None), "min", "list other things in `values`");
        let refused = entry(json!("20s"), json!(30), None).whole("x", Kind::Seconds).expect_err("no seconds");
        assert!(refused.message.contains("whole seconds from 0 to 4294967295"), "{refused:?}");
        assert!(entry(json!(-1), json!(30), None).whole("x", Kind::Count).is_err());
    }
}
