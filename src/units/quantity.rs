//! Kubernetes resource quantities.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

const NANOS_PER_UNIT: i128 = 1_000_000_000;
const NANOS_PER_MILLI: i128 = 1_000_000;
/// The largest magnitude that Kubernetes keeps: 2^63-1 units.
const NANOS_MAX: i128 = i64::MAX as i128 * NANOS_PER_UNIT;

/// An amount of a resource, exact to 10^-9 and capped at ±(2^63-1), in the text family it was written in.
///
/// Two quantities are equal when their amounts are: `1Gi` equals `1073741824`.
///
/// # Source
///
/// `resource.Quantity` of the API machinery.
///
/// # Differs
///
/// Decimal amounts are capped, too; newer versions of the API machinery keep them beyond 2^63-1.
#[derive(Clone, Copy, Default)]
pub struct Quantity {
    nanos: i128,
    format: QuantityFormat,
}

/// Which family of suffixes a quantity is written with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuantityFormat {
    /// Powers of a thousand: `500m`, `12k`.
    #[default]
    DecimalSi,
    /// Powers of 1024: `512Mi`.
    BinarySi,
    /// A power of ten spelled out: `12e6`.
    DecimalExponent,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0, format: QuantityFormat::DecimalSi };

    /// So many thousandths.
    #[must_use]
    pub fn from_milli(milli: i64) -> Self {
        Self { nanos: i128::from(milli) * NANOS_PER_MILLI, format: QuantityFormat::DecimalSi }
    }

    /// So many whole units.
    #[must_use]
    pub fn from_value(value: i64) -> Self {
        Self { nanos: (i128::from(value) * NANOS_PER_UNIT).max(-NANOS_MAX), format: QuantityFormat::DecimalSi }
    }

    /// The same amount, written with another family of suffixes.
    #[must_use]
    pub fn with_format(self, format: QuantityFormat) -> Self {
        Self { format, ..self }
    }

    /// The family of suffixes it is written with.
    #[must_use]
    pub fn format(self) -> QuantityFormat {
        self.format
    }

    /// The amount in billionths, exactly.
    #[must_use]
    pub fn nano_value(self) -> i128 {
        self.nanos
    }

    /// The amount in thousandths, rounded away from zero; stops at the ends of `i64`.
    #[must_use]
    pub fn milli_value(self) -> i64 {
        saturated(rounded_away(self.nanos, NANOS_PER_MILLI))
    }

    /// The amount in whole units, rounded away from zero.
    #[must_use]
    pub fn value(self) -> i64 {
        saturated(rounded_away(self.nanos, NANOS_PER_UNIT))
    }

    /// Whether the amount is nothing.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Whether the amount is less than nothing, which most fields refuse.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }
}

fn rounded_away(nanos: i128, unit: i128) -> i128 {
    let magnitude = (nanos.abs() + unit - 1) / unit;
    if nanos < 0 { -magnitude } else { magnitude }
}

fn saturated(value: i128) -> i64 {
    value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// What is wrong with a quantity's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// There is nothing to read.
    #[error("an empty text is not a quantity; write for example `500m`, `2` or `4Gi`")]
    Empty,
    /// It does not start with a number.
    #[error("`{0}` does not start with a number; write for example `500m`, `2` or `4Gi`")]
    NotANumber(String),
    /// The number is followed by a word that is no suffix.
    #[error(
        "`{suffix}` in `{text}` is not a suffix of quantities; they are n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, \
         Ei and exponents such as e3"
    )]
    UnknownSuffix {
        /// All of the text.
        text: String,
        /// What follows the number.
        suffix: String,
    },
}

/// What a suffix multiplies by.
#[derive(Clone, Copy)]
enum Factor {
    Ten(i64),
    Two(u32),
}

fn parse_suffix(suffix: &str) -> Option<(Factor, QuantityFormat)> {
    use QuantityFormat::{BinarySi, DecimalExponent, DecimalSi};
    Some(match suffix {
        "n" => (Factor::Ten(-9), DecimalSi),
        "u" => (Factor::Ten(-6), DecimalSi),
        "m" => (Factor::Ten(-3), DecimalSi),
        "" => (Factor::Ten(0), DecimalSi),
        "k" => (Factor::Ten(3), DecimalSi),
        "M" => (Factor::Ten(6), DecimalSi),
        "G" => (Factor::Ten(9), DecimalSi),
        "T" => (Factor::Ten(12), DecimalSi),
        "P" => (Factor::Ten(15), DecimalSi),
        "E" => (Factor::Ten(18), DecimalSi),
        "Ki" => (Factor::Two(10), BinarySi),
        "Mi" => (Factor::Two(20), BinarySi),
        "Gi" => (Factor::Two(30), BinarySi),
        "Ti" => (Factor::Two(40), BinarySi),
        "Pi" => (Factor::Two(50), BinarySi),
        "Ei" => (Factor::Two(60), BinarySi),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            // The API machinery reads 64 bits, and fails on more.
            (Factor::Ten(exponent.parse().ok()?), DecimalExponent)
        }
    })
}

/// A decimal number without its sign: its digits, without leading zeros, and how many of them are behind the point.
struct Decimal {
    digits: Vec<u8>,
    scale: i64,
}

impl Decimal {
    fn new(whole: &str, fraction: &str) -> Self {
        let digits = whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0');
        Self { digits: digits.skip_while(|digit| *digit == 0).collect(), scale: fraction.len() as i64 }
    }

    /// Billionths of the number times the factor, rounded up, or [`NANOS_MAX`] if that is less.
    fn nanos(&self, factor: Factor) -> i128 {
        if self.digits.is_empty() {
            return 0;
        }
        let (power_of_ten, shift) = match factor {
            Factor::Ten(exponent) => (exponent.saturating_sub(self.scale).saturating_add(9), 0),
            Factor::Two(bits) => (9 - self.scale, bits),
        };
        // Place of the leading digit; it decides the extremes without arithmetic on long numbers.
        let place = (self.digits.len() as i64).saturating_add(power_of_ten);
        if place > 29 {
            return NANOS_MAX;
        }
        if shift == 0 && place < 0 {
            return 1;
        }
        // Digits in front of the cut are at most 29; those behind it can only make the result round up, unless
        // a power of two moves them across the cut. 60 bits move at most 19 places.
        let kept =
            if power_of_ten >= 0 { self.digits.len() } else { self.digits.len().min((place + 20).max(0) as usize) };
        let (head, tail) = self.digits.split_at(kept);
        let mut inexact = tail.iter().any(|digit| *digit != 0);
        let mut number = Wide::default();
        for digit in head {
            number.multiply_add(10, u32::from(*digit));
        }
        number.multiply_add(1 << (shift / 2), 0);
        number.multiply_add(1 << (shift - shift / 2), 0);
        let places_left = power_of_ten.saturating_add(tail.len() as i64);
        for _ in 0..places_left.max(0) {
            number.multiply_add(10, 0);
        }
        for _ in 0..(-places_left).clamp(0, 100) {
            inexact |= number.divide_by_ten() != 0;
        }
        match number.to_i128() {
            Some(nanos) if nanos < NANOS_MAX => nanos + i128::from(inexact),
            _ => NANOS_MAX,
        }
    }
}

/// A number of up to 256 bits, least significant part first: 49 digits times 2^60 at the most.
#[derive(Default)]
struct Wide([u32; 8]);

impl Wide {
    fn multiply_add(&mut self, factor: u32, addend: u32) {
        let mut carry = u64::from(addend);
        for part in &mut self.0 {
            let product = u64::from(*part) * u64::from(factor) + carry;
            *part = product as u32;
            carry = product >> 32;
        }
        assert!(carry == 0, "a quantity's digits exceed 256 bits");
    }

    fn divide_by_ten(&mut self) -> u32 {
        let mut remainder = 0;
        for part in self.0.iter_mut().rev() {
            let dividend = (remainder << 32) | u64::from(*part);
            *part = (dividend / 10) as u32;
            remainder = dividend % 10;
        }
        remainder as u32
    }

    fn to_i128(&self) -> Option<i128> {
        let [a, b, c, d, high @ ..] = self.0;
        if high != [0; 4] {
            return None;
        }
        let low = [a, b, c, d].into_iter().rev().fold(0_u128, |sum, part| (sum << 32) | u128::from(part));
        i128::try_from(low).ok()
    }
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    /// Parses all of Kubernetes' forms; what is finer than a billionth rounds away from zero, what is too large is capped.
    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        if text.is_empty() {
            return Err(ParseQuantityError::Empty);
        }
        let (negative, unsigned) = match text.as_bytes()[0] {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, rest) = split_digits(unsigned);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(behind) => split_digits(behind),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(ParseQuantityError::NotANumber(text.to_owned()));
        }
        let (factor, mut format) = parse_suffix(suffix)
            .ok_or_else(|| ParseQuantityError::UnknownSuffix { text: text.to_owned(), suffix: suffix.to_owned() })?;
        let magnitude = Decimal::new(whole, fraction).nanos(factor);
        // Less than one unit has no binary suffix to be written with.
        if format == QuantityFormat::BinarySi && magnitude > 0 && magnitude < NANOS_PER_UNIT {
            format = QuantityFormat::DecimalSi;
        }
        Ok(Self { nanos: if negative { -magnitude } else { magnitude }, format })
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

impl fmt::Display for Quantity {
    /// The canonical text: the largest suffix that leaves a whole number.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole_binary = self.nanos % NANOS_PER_UNIT == 0 && self.nanos.abs() >= 1024 * NANOS_PER_UNIT;
        let text = match self.format {
            _ if self.nanos == 0 => "0".to_owned(),
            QuantityFormat::BinarySi if whole_binary => {
                let (number, step) = without_factors(self.nanos / NANOS_PER_UNIT, 1024);
                format!("{number}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][step])
            }
            QuantityFormat::DecimalExponent => {
                let (number, step) = without_factors(self.nanos, 1000);
                let exponent = step as i32 * 3 - 9;
                if exponent == 0 { number.to_string() } else { format!("{number}e{exponent}") }
            }
            QuantityFormat::BinarySi | QuantityFormat::DecimalSi => {
                let (number, step) = without_factors(self.nanos, 1000);
                format!("{number}{}", ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"][step])
            }
        };
        formatter.pad(&text)
    }
}

/// Takes a factor out of a number that is not zero as often as it goes.
fn without_factors(mut number: i128, factor: i128) -> (i128, usize) {
    let mut count = 0;
    while number % factor == 0 {
        number /= factor;
        count += 1;
    }
    (number, count)
}

impl fmt::Debug for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Quantity({self})")
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

impl Add for Quantity {
    type Output = Self;

    /// The sum, capped; it is written as the left amount is, unless that is nothing.
    fn add(self, other: Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nanos: (self.nanos + other.nanos).clamp(-NANOS_MAX, NANOS_MAX), format }
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Quantity {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + Self { nanos: -other.nanos, format: other.format }
    }
}

impl SubAssign for Quantity {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    /// Reads text or a number.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a quantity such as `500m`, `2` or `4Gi`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
        // The API server allows blanks around a quantity in quotes.
        text.trim().parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Quantity, E> {
        Ok(Quantity::from_value(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Quantity, E> {
        Ok(Quantity::from_value(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Quantity, E> {
        // The shortest decimal that denotes the number is what was written.
        number.to_string().parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Quantity {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn canonical_text_is_that_of_kubernetes() {
        let check = |text: &str, expected: &str| assert_eq!(quantity(text).to_string(), expected, "{text}");
        check("0", "0");
        check("0Ki", "0");
        check("0m", "0");
        check("00", "0");
        check("1", "1");
        check("+1", "1");
        check("-1", "-1");
        check("1.", "1");
        check(".5", "500m");
        check("0.1", "100m");
        check("0.1m", "100u");
        check("1000m", "1");
        check("1500m", "1500m");
        check("1100", "1100");
        check("1000", "1k");
        check("1000000", "1M");
        check("1000k", "1M");
        check("1E", "1E");
        check("1Ei", "1Ei");
        check("1e3", "1e3");
        check("1E3", "1e3");
        check("1E+3", "1e3");
        check("1e6", "1e6");
        check("1e1", "10");
        check("1.5e3", "1500");
        check("1e-3", "1e-3");
        check("12e-4", "1200e-6");
        check("1.5Gi", "1536Mi");
        check("1Gi", "1Gi");
        check("1024Ki", "1Mi");
        check("1000Ki", "1000Ki");
        check("0.5Ki", "512");
        check("1.5Ki", "1536");
        check("1Ki", "1Ki");
        check("0.001Ki", "1024m");
        check("0.0005Ki", "512m");
        check("1.0001Ki", "1024102400u");
        check("-1.5Gi", "-1536Mi");
        check("123456789", "123456789");
    }

    #[test]
    fn what_is_finer_than_a_billionth_rounds_away_from_zero() {
        let check = |text: &str, nanos: i128| assert_eq!(quantity(text).nano_value(), nanos, "{text}");
        check("1n", 1);
        check("1.1n", 2);
        check("0.0001n", 1);
        check("-0.0001n", -1);
        check("1e-100", 1);
        check("0e-100", 0);
        check("1e-9223372036854775808", 1);
        check("0.0000000001", 1);
        check("0.0000000001Ki", 103);
        check("0.00000000000001Ki", 1);
        check("0.0000000000000000000000000000000000000001Ei", 1);
        check("1.0000000000000000000000000000000000000000000000000000000001", 1_000_000_001);
    }

    #[test]
    fn what_is_too_large_is_capped() {
        for text in ["9223372036854775807", "9223372036854775808", "8Ei", "100Ei", "10E", "1e19", "1e1000000000000"] {
            assert_eq!(quantity(text).nano_value(), NANOS_MAX, "{text}");
            assert_eq!(quantity(&format!("-{text}")).nano_value(), -NANOS_MAX, "-{text}");
        }
        assert_eq!(quantity(&"9".repeat(500)).value(), i64::MAX);
        assert_eq!(quantity("9223372036854775807").to_string(), "9223372036854775807");
        assert_eq!(quantity("7Ei").value(), 7 << 60);
        assert_eq!((quantity("8Ei") + quantity("1")).value(), i64::MAX);
    }

    #[test]
    fn whole_values_round_away_from_zero() {
        let check = |text: &str, value: i64, milli: i64| {
            assert_eq!((quantity(text).value(), quantity(text).milli_value()), (value, milli), "{text}");
        };
        check("1", 1, 1000);
        check("1m", 1, 1);
        check("1u", 1, 1);
        check("1001u", 1, 2);
        check("-1001u", -1, -2);
        check("1.5", 2, 1500);
        check("2Gi", 2 << 30, (2 << 30) * 1000);
        check("8Ei", i64::MAX, i64::MAX);
        assert_eq!(Quantity::from_milli(1500).to_string(), "1500m");
        assert_eq!(Quantity::from_value(i64::MIN).value(), -i64::MAX);
    }

    #[test]
    fn amounts_compare_and_add_across_formats() {
        assert_eq!(quantity("1Gi"), quantity("1073741824"));
        assert!(quantity("1G") < quantity("1Gi"));
        assert_eq!((quantity("1Gi") + quantity("512Mi")).to_string(), "1536Mi");
        assert_eq!((Quantity::ZERO + quantity("1Ki")).to_string(), "1Ki");
        assert_eq!((quantity("1") - quantity("250m")).to_string(), "750m");
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        let check = |text: &str, expected: &str| {
            let message = text.parse::<Quantity>().expect_err(text).to_string();
            assert!(message.contains(expected), "{text}: {message}");
        };
        check("", "an empty text");
        check("m", "does not start with a number");
        check(".", "does not start with a number");
        check("-", "does not start with a number");
        check("--1", "does not start with a number");
        check("1 Gi", "` Gi` in `1 Gi`");
        check("1Gib", "`Gib`");
        check("1K", "`K` in `1K`");
        check("1mi", "`mi`");
        check("1e", "`e`");
        check("1e3.5", "`e3.5`");
        check("1.1.M", "`.M`");
        check("1ki", "`ki`");
        check("1e+-3", "`e+-3`");
    }

    #[test]
    fn serde_takes_text_and_numbers() {
        let check = |json: &str, expected: &str| {
            assert_eq!(serde_json::from_str::<Quantity>(json).unwrap().to_string(), expected);
        };
        check("\"500m\"", "500m");
        check("2", "2");
        check("0.5", "500m");
        check("1e3", "1k");
        check("-1", "-1");
        assert_eq!(serde_json::to_string(&quantity("1024Mi")).unwrap(), "\"1Gi\"");
        assert_eq!(serde_saphyr::from_str::<Quantity>("1Gi").unwrap(), quantity("1Gi"));
        assert_eq!(serde_saphyr::from_str::<Quantity>("0.5").unwrap(), quantity("500m"));
    }
}
