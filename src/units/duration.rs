//! Lengths of time, and the text forms of Go.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

const NANOS_PER_MICRO: u64 = 1_000;
const NANOS_PER_MILLI: u64 = 1_000_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;
const NANOS_PER_MINUTE: u64 = 60 * NANOS_PER_SECOND;
const NANOS_PER_HOUR: u64 = 60 * NANOS_PER_MINUTE;

/// A length of time in nanoseconds, never negative.
///
/// Arithmetic stops at zero and at [`SimDuration::MAX`] (584 years) rather than wrapping. Text is Go's: `1h30m0s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimDuration(u64);

impl SimDuration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest duration; it stands for "for ever".
    pub const MAX: Self = Self(u64::MAX);

    /// So many nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// So many microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(NANOS_PER_MICRO))
    }

    /// So many milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(NANOS_PER_MILLI))
    }

    /// So many seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SECOND))
    }

    /// So many seconds, rounded to the nearest nanosecond.
    ///
    /// What is negative or not a number becomes zero, what is too long becomes [`SimDuration::MAX`].
    #[must_use]
    pub fn from_secs_f64(secs: f64) -> Self {
        // The cast itself maps NaN to zero and stops at both ends of u64.
        Self(libm::round(secs * NANOS_PER_SECOND as f64) as u64)
    }

    /// The length in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole milliseconds in it.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / NANOS_PER_MILLI
    }

    /// Whole seconds in it.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0 / NANOS_PER_SECOND
    }

    /// The length in seconds, for statistics.
    #[must_use]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// Whether it is no time at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// So many times as long, or `None` if that exceeds [`SimDuration::MAX`].
    #[must_use]
    pub const fn checked_mul(self, factor: u64) -> Option<Self> {
        match self.0.checked_mul(factor) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// Seconds with three decimals, as output files show lengths of time.
    #[must_use]
    pub fn seconds_text(self) -> String {
        super::seconds_text(i128::from(self.0))
    }

    /// Parses duration text in which `d` (24 hours) and `w` (7 days) are units, too.
    ///
    /// Kubernetes fields take Go's text, which stops at hours; this form is for our own documents.
    ///
    /// # Errors
    ///
    /// As [`SimDuration::from_str`].
    pub fn parse_with_days(text: &str) -> Result<Self, ParseDurationError> {
        parse(text, Units::WithDays)
    }
}

/// What is wrong with a duration's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseDurationError {
    /// There is nothing to read.
    #[error("an empty text is not a duration; write for example `90s`, `1h30m` or `250ms`")]
    Empty,
    /// A minus sign in front of something that is not zero.
    #[error("`{0}` is negative; a duration here is zero or more")]
    Negative(String),
    /// A number without a unit behind it.
    #[error("`{0}` lacks a unit; write for example `{0}s` for seconds")]
    MissingUnit(String),
    /// A unit that does not exist.
    #[error("`{unit}` in `{text}` is not a unit of time; the units are {valid}")]
    UnknownUnit {
        /// All of the text.
        text: String,
        /// The word that stands where a unit should.
        unit: String,
        /// The units that are possible here.
        valid: &'static str,
    },
    /// Something that does not start with a number where a number should stand.
    #[error("`{0}` is not a duration; write numbers with units, for example `90s`, `1h30m` or `250ms`")]
    NotANumber(String),
    /// More than 64 bits of nanoseconds.
    #[error("`{0}` is too long; the longest duration is about 584 years")]
    TooLong(String),
}

#[derive(Clone, Copy, PartialEq)]
enum Units {
    Go,
    WithDays,
}

impl Units {
    fn nanos(self, unit: &str) -> Option<u64> {
        Some(match unit {
            "ns" => 1,
            // Two characters look the same: the micro sign U+00B5 and the Greek letter U+03BC.
            "us" | "\u{b5}s" | "\u{3bc}s" => NANOS_PER_MICRO,
            "ms" => NANOS_PER_MILLI,
            "s" => NANOS_PER_SECOND,
            "m" => NANOS_PER_MINUTE,
            "h" => NANOS_PER_HOUR,
            "d" if self == Self::WithDays => 24 * NANOS_PER_HOUR,
            "w" if self == Self::WithDays => 7 * 24 * NANOS_PER_HOUR,
            _ => return None,
        })
    }

    fn list(self) -> &'static str {
        match self {
            Self::Go => "ns, us, ms, s, m, h",
            Self::WithDays => "ns, us, ms, s, m, h, d, w",
        }
    }
}

/// Reads a sequence of decimal numbers with units, as Go's `time.ParseDuration` does.
fn parse(text: &str, units: Units) -> Result<SimDuration, ParseDurationError> {
    use ParseDurationError as E;
    let (negative, unsigned) = match text.as_bytes().first() {
        None => return Err(E::Empty),
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        Some(_) => (false, text),
    };
    // Go's only number without a unit.
    if unsigned == "0" {
        return Ok(SimDuration::ZERO);
    }
    if unsigned.is_empty() {
        return Err(E::NotANumber(text.to_owned()));
    }
    let mut rest = unsigned;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let whole = leading(rest, |c| c.is_ascii_digit());
        rest = &rest[whole.len()..];
        let fraction = match rest.strip_prefix('.') {
            Some(behind) => leading(behind, |c| c.is_ascii_digit()),
            None => "",
        };
        if rest.starts_with('.') {
            rest = &rest[1 + fraction.len()..];
        }
        if whole.is_empty() && fraction.is_empty() {
            return Err(E::NotANumber(text.to_owned()));
        }
        let unit = leading(rest, |c| c != '.' && !c.is_ascii_digit());
        rest = &rest[unit.len()..];
        if unit.is_empty() {
            return Err(E::MissingUnit(text.to_owned()));
        }
        let scale = units.nanos(unit).ok_or_else(|| E::UnknownUnit {
            text: text.to_owned(),
            unit: unit.to_owned(),
            valid: units.list(),
        })?;
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| E::TooLong(text.to_owned()))? };
        total = whole
            .checked_mul(scale)
            .and_then(|nanos| nanos.checked_add(fraction_nanos(fraction, scale)))
            .and_then(|nanos| total.checked_add(nanos))
            .ok_or_else(|| E::TooLong(text.to_owned()))?;
    }
    if negative && total > 0 {
        return Err(E::Negative(text.to_owned()));
    }
    Ok(SimDuration(total))
}

fn leading(text: &str, keep: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|c| !keep(c)).unwrap_or(text.len())]
}

/// The part of a unit behind the decimal point, cut to nanoseconds.
///
/// In floating point on purpose: Go does so, and `0.3333333333333333333h` is 20 minutes to it, not a nanosecond less.
fn fraction_nanos(digits: &str, unit: u64) -> u64 {
    let mut numerator: u64 = 0;
    let mut denominator = 1.0_f64;
    for digit in digits.bytes() {
        let next = numerator.checked_mul(10).and_then(|n| n.checked_add(u64::from(digit - b'0')));
        match next {
            Some(next) if next <= 1 << 63 => numerator = next,
            // Digits beyond 63 bits cannot matter.
            _ => break,
        }
        denominator *= 10.0;
    }
    (numerator as f64 * (unit as f64 / denominator)) as u64
}

impl FromStr for SimDuration {
    type Err = ParseDurationError;

    /// Parses Go's duration text: `1h30m`, `1.5h`, `250ms`, `0`.
    fn from_str(text: &str) -> Result<Self, ParseDurationError> {
        parse(text, Units::Go)
    }
}

impl fmt::Display for SimDuration {
    /// Go's canonical text: `1h30m0s`, `1m30s`, `1.5s`, `250ms`, `0s`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0;
        let text = match nanos {
            0 => "0s".to_owned(),
            1..NANOS_PER_MICRO => format!("{nanos}ns"),
            NANOS_PER_MICRO..NANOS_PER_MILLI => format!("{}µs", decimal(nanos, NANOS_PER_MICRO)),
            NANOS_PER_MILLI..NANOS_PER_SECOND => format!("{}ms", decimal(nanos, NANOS_PER_MILLI)),
            NANOS_PER_SECOND..NANOS_PER_MINUTE => format!("{}s", decimal(nanos, NANOS_PER_SECOND)),
            NANOS_PER_MINUTE..NANOS_PER_HOUR => {
                format!("{}m{}s", nanos / NANOS_PER_MINUTE, decimal(nanos % NANOS_PER_MINUTE, NANOS_PER_SECOND))
            }
            _ => {
                let minutes = nanos % NANOS_PER_HOUR / NANOS_PER_MINUTE;
                let seconds = decimal(nanos % NANOS_PER_MINUTE, NANOS_PER_SECOND);
                format!("{}h{minutes}m{seconds}s", nanos / NANOS_PER_HOUR)
            }
        };
        formatter.pad(&text)
    }
}

/// A count in a unit of a power of ten, with as many decimals as are not zero.
fn decimal(nanos: u64, unit: u64) -> String {
    let (whole, fraction) = (nanos / unit, nanos % unit);
    if fraction == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{fraction:0width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

impl Add for SimDuration {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for SimDuration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for SimDuration {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for SimDuration {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for SimDuration {
    type Output = Self;

    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for SimDuration {
    type Output = Self;

    /// # Panics
    ///
    /// If the divisor is zero.
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Sum for SimDuration {
    fn sum<I: Iterator<Item = Self>>(durations: I) -> Self {
        durations.fold(Self::ZERO, Add::add)
    }
}

impl Serialize for SimDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SimDuration {
    /// Reads Go's text, or the number 0.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DurationVisitor { parse: SimDuration::from_str })
    }
}

/// Reads a duration from text by one of the two parsers, or from the number 0.
pub(super) struct DurationVisitor {
    pub(super) parse: fn(&str) -> Result<SimDuration, ParseDurationError>,
}

impl Visitor<'_> for DurationVisitor {
    type Value = SimDuration;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a duration such as `90s` or `1h30m`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<SimDuration, E> {
        (self.parse)(text).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<SimDuration, E> {
        if number == 0 {
            return Ok(SimDuration::ZERO);
        }
        Err(E::custom(ParseDurationError::MissingUnit(number.to_string())))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<SimDuration, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::custom(ParseDurationError::Negative(number.to_string()))),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<SimDuration, E> {
        if number == 0.0 { Ok(SimDuration::ZERO) } else { Err(E::invalid_type(Unexpected::Float(number), &self)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = NANOS_PER_MINUTE;
    const HOUR: u64 = NANOS_PER_HOUR;
    const SECOND: u64 = NANOS_PER_SECOND;

    #[test]
    fn go_durations_parse_as_in_go() {
        let check = |text: &str, nanos: u64| assert_eq!(text.parse(), Ok(SimDuration(nanos)), "{text}");
        check("0", 0);
        check("-0", 0);
        check("+0", 0);
        check("-0s", 0);
        check("5s", 5 * SECOND);
        check("+5s", 5 * SECOND);
        check("30s", 30 * SECOND);
        check("1478s", 1478 * SECOND);
        check("5.0s", 5 * SECOND);
        check("5.6s", 5600 * NANOS_PER_MILLI);
        check("5.s", 5 * SECOND);
        check(".5s", SECOND / 2);
        check("1.004s", 1004 * NANOS_PER_MILLI);
        check("100.00100s", 100_001 * NANOS_PER_MILLI);
        check("10ns", 10);
        check("11us", 11_000);
        check("12µs", 12_000);
        check("12μs", 12_000);
        check("13ms", 13_000_000);
        check("3h30m", 3 * HOUR + 30 * MINUTE);
        check("1.5h", 90 * MINUTE);
        check("4m10.5s", 4 * MINUTE + 10_500 * NANOS_PER_MILLI);
        check("1h2m3s4ms5us6ns", HOUR + 2 * MINUTE + 3 * SECOND + 4_005_006);
        check("39h9m14.425s", 39 * HOUR + 9 * MINUTE + 14_425 * NANOS_PER_MILLI);
        check("52763797000ns", 52_763_797_000);
        check("0.3333333333333333333h", 20 * MINUTE);
        check("9007199254740993ns", (1 << 53) + 1);
        check("0.100000000000000000000h", 6 * MINUTE);
        check("0.830103483285477580700h", 49 * MINUTE + 48 * SECOND + 372_539_827);
    }

    #[test]
    fn what_is_no_duration_says_why() {
        let check = |text: &str, expected: &str| {
            let message = text.parse::<SimDuration>().expect_err(text).to_string();
            assert!(message.contains(expected), "{text}: {message}");
        };
        check("", "an empty text");
        check("3", "write for example `3s`");
        check("-5s", "negative");
        check("-", "not a duration");
        check("s", "not a duration");
        check(".", "not a duration");
        check("+.s", "not a duration");
        check("1d", "`d` in `1d` is not a unit of time; the units are ns, us, ms, s, m, h");
        check("3 s", "` s`");
        check("1h30", "lacks a unit");
        check("99999999999999999999s", "too long");
        check("9999999h", "too long");
    }

    #[test]
    fn our_documents_know_days_and_weeks() {
        assert_eq!(SimDuration::parse_with_days("60d"), Ok(SimDuration(60 * 24 * HOUR)));
        assert_eq!(SimDuration::parse_with_days("1w1.5d1s"), Ok(SimDuration(204 * HOUR + SECOND)));
        let message = SimDuration::parse_with_days("1y").unwrap_err().to_string();
        assert!(message.ends_with("the units are ns, us, ms, s, m, h, d, w"), "{message}");
    }

    #[test]
    fn durations_print_as_in_go_and_read_back() {
        let check = |nanos: u64, expected: &str| {
            assert_eq!(SimDuration(nanos).to_string(), expected);
            assert_eq!(expected.parse(), Ok(SimDuration(nanos)));
        };
        check(0, "0s");
        check(1, "1ns");
        check(1_100, "1.1µs");
        check(2_200_000, "2.2ms");
        check(250_000_000, "250ms");
        check(3_300_000_000, "3.3s");
        check(90 * SECOND, "1m30s");
        check(60 * SECOND, "1m0s");
        check(4 * MINUTE + 5 * SECOND + 1_000_000, "4m5.001s");
        check(HOUR, "1h0m0s");
        check(90 * MINUTE, "1h30m0s");
        check(5 * HOUR + 6 * MINUTE + 7_001 * NANOS_PER_MILLI, "5h6m7.001s");
        check(8 * MINUTE + 1, "8m0.000000001s");
        check(u64::MAX, "5124095h34m33.709551615s");
    }

    #[test]
    fn seconds_as_floats_saturate() {
        let check = |secs: f64, nanos: u64| assert_eq!(SimDuration::from_secs_f64(secs), SimDuration(nanos), "{secs}");
        check(1.5, 1_500_000_000);
        check(-1.0, 0);
        check(f64::NAN, 0);
        check(f64::INFINITY, u64::MAX);
        check(4e-10, 0);
        check(6e-10, 1);
    }

    #[test]
    fn arithmetic_stops_at_the_ends() {
        assert_eq!(SimDuration(1) - SimDuration(2), SimDuration::ZERO);
        assert_eq!(SimDuration::MAX + SimDuration(1), SimDuration::MAX);
        assert_eq!(SimDuration::MAX * 2, SimDuration::MAX);
        assert_eq!(SimDuration::MAX.checked_mul(2), None);
        assert_eq!(SimDuration::from_secs(7) / 2, SimDuration::from_millis(3500));
        assert_eq!([SimDuration(1), SimDuration(2)].into_iter().sum::<SimDuration>(), SimDuration(3));
    }

    #[test]
    fn serde_takes_text_and_the_number_zero() {
        let read = serde_json::from_str::<SimDuration>;
        assert_eq!(read("\"1h30m\"").unwrap(), SimDuration(90 * MINUTE));
        assert_eq!(read("0").unwrap(), SimDuration::ZERO);
        assert!(read("300").unwrap_err().to_string().contains("write for example `300s`"));
        assert!(read("-1").unwrap_err().to_string().contains("negative"));
        assert_eq!(serde_json::to_string(&SimDuration::from_secs(90)).unwrap(), "\"1m30s\"");
        assert_eq!(serde_saphyr::from_str::<SimDuration>("90s").unwrap(), SimDuration::from_secs(90));
        assert_eq!(serde_saphyr::from_str::<SimDuration>("0").unwrap(), SimDuration::ZERO);
    }
}
