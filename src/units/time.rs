//! Instants of simulated time.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use super::{InDays, SimDuration};

const NANOS_PER_MILLI: i64 = 1_000_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// An instant, in nanoseconds since the start of the run; negative before it, as the ages of objects in a dump are.
///
/// The start of the run is a whole second of the simulated wall clock. Arithmetic stops at the ends of the range
/// (±292 years) rather than wrapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(i64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// The last instant there is; it stands for "never".
    pub const MAX: Self = Self(i64::MAX);
    /// The first instant there is.
    pub const MIN: Self = Self(i64::MIN);

    /// The instant so many nanoseconds after the start.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The instant so many milliseconds after the start.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(NANOS_PER_MILLI))
    }

    /// The instant so many seconds after the start.
    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SECOND))
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Seconds since the start, for charts and statistics; not for arithmetic on instants.
    #[must_use]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// The whole second at or before this instant: what an API time stamp can hold.
    #[must_use]
    pub const fn floor_to_second(self) -> Self {
        Self(self.0.div_euclid(NANOS_PER_SECOND).saturating_mul(NANOS_PER_SECOND))
    }

    /// How long ago `earlier` was; zero if it lies in the future.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> SimDuration {
        if self.0 > earlier.0 { SimDuration::from_nanos(self.0.abs_diff(earlier.0)) } else { SimDuration::ZERO }
    }

    /// The instant as sentences show it: how long after the start, to the millisecond; zero before the start.
    #[must_use]
    pub const fn moment(self) -> InDays {
        const NANOS_PER_MILLISECOND: u64 = 1_000_000;
        let since = self.saturating_since(Self::ZERO).as_nanos();
        InDays(SimDuration::from_nanos(since / NANOS_PER_MILLISECOND * NANOS_PER_MILLISECOND))
    }

    /// The instant that output files show: the nearest millisecond, half a millisecond rounded away from zero.
    #[must_use]
    pub const fn to_milliseconds(self) -> Self {
        let millis = rounded_millis(self.0.unsigned_abs() as u128) as i64;
        Self::from_millis(if self.0 < 0 { -millis } else { millis })
    }

    /// The instant as output files show it: seconds with three decimals.
    #[must_use]
    pub fn seconds_text(self) -> String {
        seconds_text(i128::from(self.0))
    }
}

/// The only place that rounds time for people to read, so that equal instants look equal in every file: half a millisecond away from zero.
const fn rounded_millis(nanos: u128) -> u128 {
    const HALF: u64 = 500_000;
    // Divisions of short numbers are many times as fast.
    if nanos <= (u64::MAX - HALF) as u128 {
        return ((nanos as u64 + HALF) / 1_000_000) as u128;
    }
    (nanos + HALF as u128) / 1_000_000
}

/// Nanoseconds as seconds with exactly three decimals, half a millisecond rounded away from zero.
#[must_use]
pub fn seconds_text(nanos: i128) -> String {
    let millis = rounded_millis(nanos.unsigned_abs());
    let sign = if nanos < 0 && millis > 0 { "-" } else { "" };
    // Most of what is written is written here: half a million years fit the shorter number, which is quicker to write.
    match u64::try_from(millis) {
        Ok(millis) => {
            let rest = millis % 1000;
            let digits = [rest / 100, rest / 10 % 10, rest % 10].map(|digit| char::from(b'0' + digit as u8));
            let mut text = String::with_capacity(24);
            text.push_str(sign);
            text.push_str(itoa::Buffer::new().format(millis / 1000));
            text.push('.');
            text.extend(digits);
            text
        }
        Err(_) => format!("{sign}{}.{:03}", millis / 1000, millis % 1000),
    }
}

/// Reads an RFC 3339 time stamp as nanoseconds since the Unix epoch; `None` if it is none or out of range.
#[must_use]
pub fn unix_nanos_from_rfc3339(text: &str) -> Option<i64> {
    let stamp: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(stamp.as_nanosecond()).ok()
}

/// The RFC 3339 time stamp of an instant, in nanoseconds since the Unix epoch, cut to whole seconds as the API shows it.
#[must_use]
pub fn rfc3339_from_unix_nanos(nanos: i64) -> String {
    let second = jiff::Timestamp::from_second(nanos.div_euclid(1_000_000_000));
    second.expect("nanoseconds since 1970 that fit i64 lie within the calendar").to_string()
}

/// The same with what it has of a second.
#[must_use]
pub fn exact_rfc3339_from_unix_nanos(nanos: i64) -> String {
    let instant = jiff::Timestamp::from_nanosecond(nanos.into());
    instant.expect("nanoseconds since 1970 that fit i64 lie within the calendar").to_string()
}

impl fmt::Display for SimTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.seconds_text())
    }
}

/// A duration as a signed count; beyond the range of `i64` any sum with an instant has reached the end anyway.
fn signed(duration: SimDuration) -> i128 {
    i128::from(duration.as_nanos())
}

fn clamped(nanos: i128) -> SimTime {
    SimTime(nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
}

impl Add<SimDuration> for SimTime {
    type Output = Self;

    fn add(self, duration: SimDuration) -> Self {
        clamped(i128::from(self.0) + signed(duration))
    }
}

impl Sub<SimDuration> for SimTime {
    type Output = Self;

    fn sub(self, duration: SimDuration) -> Self {
        clamped(i128::from(self.0) - signed(duration))
    }
}

impl AddAssign<SimDuration> for SimTime {
    fn add_assign(&mut self, duration: SimDuration) {
        *self = *self + duration;
    }
}

impl SubAssign<SimDuration> for SimTime {
    fn sub_assign(&mut self, duration: SimDuration) {
        *self = *self - duration;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_three_decimals_and_round_half_away() {
        let check = |nanos: i64, expected: &str| assert_eq!(SimTime::from_nanos(nanos).to_string(), expected);
        check(0, "0.000");
        check(12_345_000_000, "12.345");
        check(-500_000_000, "-0.500");
        check(499_999, "0.000");
        check(500_000, "0.001");
        check(-499_999, "0.000");
        check(-500_000, "-0.001");
        check(999_999_999, "1.000");
        check(i64::MAX, "9223372036.855");
        check(i64::MIN, "-9223372036.855");
    }

    #[test]
    fn the_second_of_an_instant_lies_at_or_before_it() {
        let check = |nanos: i64, secs: i64| {
            assert_eq!(SimTime::from_nanos(nanos).floor_to_second(), SimTime::from_secs(secs));
        };
        check(0, 0);
        check(999_999_999, 0);
        check(1_000_000_000, 1);
        check(-1, -1);
        check(-1_000_000_000, -1);
        check(-1_000_000_001, -2);
    }

    #[test]
    fn arithmetic_stops_at_the_ends() {
        assert_eq!(SimTime::MAX + SimDuration::from_secs(1), SimTime::MAX);
        assert_eq!(SimTime::ZERO + SimDuration::MAX, SimTime::MAX);
        assert_eq!(SimTime::ZERO - SimDuration::MAX, SimTime::MIN);
        assert_eq!(SimTime::MIN + SimDuration::MAX, SimTime::MAX);
        assert_eq!(SimTime::from_secs(5).saturating_since(SimTime::from_secs(7)), SimDuration::ZERO);
        assert_eq!(SimTime::from_secs(7).saturating_since(SimTime::from_secs(-5)), SimDuration::from_secs(12));
        assert_eq!(SimTime::MAX.saturating_since(SimTime::MIN), SimDuration::MAX);
    }

    #[test]
    fn rfc3339_stamps_become_unix_nanoseconds() {
        assert_eq!(unix_nanos_from_rfc3339("1970-01-01T00:00:01Z"), Some(1_000_000_000));
        assert_eq!(unix_nanos_from_rfc3339("2026-01-01T02:00:00.5+02:00"), Some(1_767_225_600_500_000_000));
        assert_eq!(unix_nanos_from_rfc3339("yesterday"), None);
        assert_eq!(unix_nanos_from_rfc3339("9999-01-01T00:00:00Z"), None);
    }
}
