//! A value that nobody measured, and how far off it may be.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::setting::plain;
use crate::diagnostics::Location;
use crate::scenario::Overrides;
use crate::units::SimDuration;

/// What a study assumes.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumed {
    /// Its name.
    pub name: String,
    pub(super) what: What,
    pub(super) range: Range,
    pub(super) scale: Scale,
}

/// What has the value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// A field of the scenario; where the study speaks of it, if it does.
    Path { path: String, written: Option<Written> },
    /// The price of a metric.
    Price { metric: &'static str },
}

/// Where a study speaks of a field: its path, and both ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Written {
    pub(super) path: Location,
    pub(super) from: Location,
    pub(super) to: Location,
}

/// How values lie between two ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(in crate::study) enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By their logarithms: what may be half as much may be twice as much.
    Log,
}

/// The least and the highest value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Range {
    Duration(SimDuration, SimDuration),
    Whole(i64, i64),
    Real(f64, f64),
    /// Whole ones, if both ends are written so and are not close.
    Percent(f64, f64, bool),
}

/// A value at which an input stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given {
    /// As tables have it.
    pub(super) text: String,
    /// As it stands in a document.
    pub(super) value: Value,
    /// As a number.
    pub(super) number: f64,
    /// Where it lies between the ends, which are 0 and 1.
    pub(super) place: f64,
}

/// Why two ends make no range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoRange {
    pub(super) message: String,
    /// What to do.
    pub(super) help: &'static str,
    /// Which end is to blame.
    pub(super) field: &'static str,
}

/// One end, as it is written.
enum End {
    Duration(SimDuration),
    Whole(i64),
    Real(f64),
    /// And whether it is written as a whole number.
    Percent(f64, bool),
}

impl End {
    fn read(value: &Value) -> Option<Self> {
        if let Some(text) = value.as_str() {
            return match text.strip_suffix('%').map(str::trim) {
                Some(number) => {
                    let is_whole = number.parse::<i64>().is_ok();
                    number
                        .parse()
                        .ok()
                        .filter(|percent: &f64| percent.is_finite())
                        .map(|of| Self::Percent(of, is_whole))
                }
                None => SimDuration::parse_with_days(text).ok().map(Self::Duration),
            };
        }
        value.as_i64().map(Self::Whole).or_else(|| value.as_f64().filter(|number| number.is_finite()).map(Self::Real))
    }
}

impl Range {
    /// Reads both ends.
    ///
    /// # Errors
    ///
    /// What is wrong with them, and what to do.
    pub(super) fn read(from: &Value, to: &Value) -> Result<Self, NoRange> {
        const KINDS: &str =
            "write two durations such as `0s` and `60s`, two numbers, or two shares such as `1%` and `5%`";
        let end = |value: &Value, field| {
            let message = || format!("`{}` is nothing that can be moved", plain(value));
            End::read(value).ok_or_else(|| NoRange { message: message(), help: KINDS, field })
        };
        let refuse = |message: String, help| Err(NoRange { message, help, field: "from" });
        let range = match (end(from, "from")?, end(to, "to")?) {
            (End::Duration(from), End::Duration(to)) => Self::Duration(from, to),
            (End::Whole(from), End::Whole(to)) => Self::Whole(from, to),
            (End::Percent(from, is_whole), End::Percent(to, is_too)) => {
                // Closer ones have no whole numbers between them to move to.
                Self::Percent(from, to, is_whole && is_too && to - from >= 3.0)
            }
            (End::Whole(from), End::Real(to)) => Self::Real(from as f64, to),
            (End::Real(from), End::Whole(to)) => Self::Real(from, to as f64),
            (End::Real(from), End::Real(to)) => Self::Real(from, to),
            _ => return refuse(format!("`{}` and `{}` are values of different kinds", plain(from), plain(to)), KINDS),
        };
        let (low, high) = range.ends();
        if low >= high {
            let message =
                format!("`from` has to be less than `to`, and `{}` is not less than `{}`", plain(from), plain(to));
            return refuse(message, "what is known exactly is not assumed: leave it out");
        }
        Ok(range)
    }

    /// The same as numbers, of prices, which need not be whole; none of what is neither.
    pub(super) fn of_prices(self) -> Option<Self> {
        match self {
            Self::Whole(from, to) => Some(Self::Real(from as f64, to as f64)),
            Self::Real(..) => Some(self),
            Self::Duration(..) | Self::Percent(..) => None,
        }
    }

    /// Both ends as numbers.
    pub(super) fn ends(self) -> (f64, f64) {
        match self {
            Self::Duration(from, to) => (from.as_secs_f64(), to.as_secs_f64()),
            Self::Whole(from, to) => (from as f64, to as f64),
            Self::Real(from, to) | Self::Percent(from, to, _) => (from, to),
        }
    }

    /// The least value, as it is.
    fn least(self) -> Number {
        match self {
            Self::Duration(from, _) => Number::Duration(from),
            Self::Whole(from, _) => Number::Whole(from),
            Self::Real(from, _) => Number::Real(from),
            Self::Percent(from, ..) => Number::Percent(from),
        }
    }

    /// The highest value, as it is.
    fn highest(self) -> Number {
        match self {
            Self::Duration(_, to) => Number::Duration(to),
            Self::Whole(_, to) => Number::Whole(to),
            Self::Real(_, to) => Number::Real(to),
            Self::Percent(_, to, _) => Number::Percent(to),
        }
    }

    /// The value nearest to a number: lengths of time are whole seconds, milliseconds or microseconds, by how long they are; others have
    /// six digits.
    fn nearest(self, number: f64) -> Number {
        match self {
            Self::Duration(..) => {
                let mut unit: u32 = match self.ends().1 {
                    high if high >= 1000.0 => 1_000_000_000,
                    high if high >= 1.0 => 1_000_000,
                    _ => 1000,
                };
                // What is not zero must not become it, however much more the highest value is.
                while unit > 1 && (f64::MIN_POSITIVE..f64::from(unit)).contains(&(number * 1e9)) {
                    unit /= 1000;
                }
                let units = (number * 1e9 / f64::from(unit)).round() as u64;
                Number::Duration(SimDuration::from_nanos(units * u64::from(unit)))
            }
            Self::Whole(..) => Number::Whole(number.round() as i64),
            Self::Real(..) => Number::Real(six_digits(number)),
            Self::Percent(.., is_whole) => Number::Percent(if is_whole { number.round() } else { six_digits(number) }),
        }
    }
}

/// A value of a range.
enum Number {
    Duration(SimDuration),
    Whole(i64),
    Real(f64),
    Percent(f64),
}

impl Number {
    /// As it stands in a document, as tables have it, and as a number.
    fn written(&self) -> (Value, String, f64) {
        match *self {
            Self::Duration(duration) => (json!(duration.to_string()), duration_text(duration), duration.as_secs_f64()),
            Self::Whole(whole) => (json!(whole), whole.to_string(), whole as f64),
            Self::Real(real) => (json!(real), real.to_string(), real),
            Self::Percent(percent) => (json!(format!("{percent}%")), format!("{percent}%"), percent),
        }
    }
}

impl Assumed {
    /// The value at a share of the way from the least to the highest.
    pub(super) fn at(&self, share: f64) -> Given {
        let (from, to) = self.range.ends();
        let found = match self.scale {
            // Ends are what they are, whatever a logarithm makes of them; those that somebody wrote are as they are written.
            _ if share <= 0.0 && self.is_written() => self.range.least(),
            _ if share >= 1.0 && self.is_written() => self.range.highest(),
            _ if share <= 0.0 => self.range.nearest(from),
            _ if share >= 1.0 => self.range.nearest(to),
            Scale::Linear => self.range.nearest(from + share * (to - from)),
            Scale::Log => self.range.nearest(from * libm::exp(share * libm::log(to / from))),
        };
        let (value, text, number) = found.written();
        let place = match self.scale {
            Scale::Linear => (number - from) / (to - from),
            Scale::Log => libm::log(number / from) / libm::log(to / from),
        };
        Given { text, value, number, place }
    }

    /// Whether a study says so.
    fn is_written(&self) -> bool {
        !matches!(self.what, What::Path { written: None, .. })
    }

    /// The least and the highest value, as texts.
    pub(super) fn ends(&self) -> (String, String) {
        (self.at(0.0).text, self.at(1.0).text)
    }

    /// What is assumed: the path, or the metric that has the price.
    pub(super) fn of(&self) -> &str {
        match &self.what {
            What::Path { path, .. } => path,
            What::Price { metric } => metric,
        }
    }

    /// Sets a value of the scenario's document; nothing for a price.
    pub(super) fn override_with(&self, given: &Given, overrides: &mut Overrides) {
        match &self.what {
            What::Path { path, written: Some(written) } => {
                let value_at = if given.place < 1.0 { &written.from } else { &written.to };
                overrides.set_from(path, &given.value.to_string(), written.path.clone(), value_at.clone());
            }
            What::Path { path, written: None } => overrides.set(path, &given.value.to_string()),
            What::Price { .. } => {}
        }
    }
}

/// A length of time, in days where it is whole days.
fn duration_text(duration: SimDuration) -> String {
    const DAY_S: u64 = 86_400;
    let is_days = duration.as_nanos() > 0 && duration.as_nanos().is_multiple_of(DAY_S * 1_000_000_000);
    if is_days { format!("{}d", duration.as_secs() / DAY_S) } else { duration.to_string() }
}

fn six_digits(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap_or(number)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::study::sensitivity) fn assumed(name: &str, from: &Value, to: &Value, scale: Scale) -> Assumed {
        let range = Range::read(from, to).expect("a range");
        Assumed { name: name.to_owned(), what: What::Path { path: name.to_owned(), written: None }, range, scale }
    }

    #[test]
    fn ends_are_of_one_kind_and_in_order() {
        let check =
            |from: Value, to: Value, expected: Result<(f64, f64), &str>| match (Range::read(&from, &to), expected) {
                (Ok(range), Ok(ends)) => assert_eq!(range.ends(), ends),
                (Err(of), Err(part)) => assert!(of.message.contains(part), "{}", of.message),
                (found, expected) => panic!("{from} {to}: {found:?}, not {expected:?}"),
            };
        check(json!("0s"), json!("1m"), Ok((0.0, 60.0)));
        check(json!("100d"), json!("600d"), Ok((8_640_000.0, 51_840_000.0)));
        check(json!(1), json!(2.5), Ok((1.0, 2.5)));
        check(json!("1%"), json!("5%"), Ok((1.0, 5.0)));
        check(json!("0s"), json!(60), Err("of different kinds"));
        check(json!("60s"), json!("10s"), Err("`60s` is not less than `10s`"));
        check(json!(3), json!(3), Err("not less"));
        check(json!("soon"), json!("10s"), Err("`soon` is nothing that can be moved"));
        check(json!([1]), json!("10s"), Err("nothing that can be moved"));
    }

    #[test]
    fn values_between_the_ends_are_rounded_and_lie_where_they_lie() {
        let check = |of: &Assumed, share: f64, text: &str, place: f64| {
            let found = of.at(share);
            assert_eq!(found.text, text);
            assert!((found.place - place).abs() < 1e-6, "{found:?}");
        };
        let reconnect = assumed("a", &json!("0s"), &json!("60s"), Scale::Linear);
        check(&reconnect, 1.0 / 3.0, "20s", 1.0 / 3.0);
        check(&assumed("a", &json!("0s"), &json!("1s"), Scale::Linear), 1.0 / 3.0, "333ms", 0.333);
        let mean = assumed("a", &json!("100d"), &json!("400d"), Scale::Log);
        check(&mean, 0.5, "200d", 0.5);
        check(&mean, 1.0, "400d", 1.0);
        check(&assumed("a", &json!(1), &json!(4), Scale::Linear), 0.5, "3", 2.0 / 3.0);
        check(&assumed("a", &json!(1.0), &json!(100), Scale::Log), 0.5, "10", 0.5);
        check(&assumed("a", &json!("1%"), &json!("2%"), Scale::Linear), 0.25, "1.25%", 0.25);
        check(&assumed("a", &json!("10%"), &json!("90%"), Scale::Linear), 2.0 / 3.0, "63%", 0.6625);
        check(&assumed("a", &json!("10.0%"), &json!("90%"), Scale::Linear), 0.3, "34%", 0.3);
        check(&assumed("a", &json!("10.0%"), &json!("90%"), Scale::Linear), 2.0 / 3.0, "63.3333%", 2.0 / 3.0);
        check(&assumed("a", &json!("1us"), &json!("1s"), Scale::Log), 1.0 / 3.0, "100µs", 1.0 / 3.0);
    }

    #[test]
    fn ends_are_shown_as_they_are_written() {
        let check = |from: Value, to: Value, expected: [&str; 2]| {
            let [path, from_at, to_at] = ["path", "from", "to"].map(Location::file);
            let written = Some(Written { path, from: from_at, to: to_at });
            let what = What::Path { path: "a".to_owned(), written };
            let of = assumed("a", &from, &to, Scale::Log);
            let (least, highest) = Assumed { what, ..of }.ends();
            assert_eq!([least.as_str(), highest.as_str()], expected);
        };
        check(json!("1us"), json!("1h"), ["1µs", "1h0m0s"]);
        check(json!("1.5s"), json!("20d"), ["1.5s", "20d"]);
        check(json!(0.12345678), json!(3), ["0.12345678", "3"]);
    }
}
