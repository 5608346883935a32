//! Lengths of time and moments of a run as people say them, in a few characters. What can be read back is written by
//! [`SimDuration`](super::SimDuration), what tables hold by [`seconds_text`](super::seconds_text).

use std::fmt;

use super::SimDuration;

/// A length of time in seconds as people say it: two units at most, tenths of a second only for short times.
pub fn length(seconds: f64) -> String {
    if seconds < 10.0 {
        let tenths = (seconds * 10.0).round();
        // What is not zero must not look like it.
        return if tenths == 0.0 && seconds > 0.0 { "<0.1s".to_owned() } else { format!("{}s", tenths / 10.0) };
    }
    let total = seconds.round() as u64;
    let (days, hours, minutes, seconds) = (total / 86_400, total / 3600 % 24, total / 60 % 60, total % 60);
    let two = |first: u64, unit: &str, second: u64, smaller: &str| {
        if second == 0 { format!("{first}{unit}") } else { format!("{first}{unit}{second}{smaller}") }
    };
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => two(minutes, "m", seconds, "s"),
        (0, _, _) => two(hours, "h", minutes, "m"),
        _ => two(days, "d", hours, "h"),
    }
}

/// A length of time as sentences have it: Go's text below a day, and from there on with days: `203d21m14.5s`. Documents that know
/// days read it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InDays(pub SimDuration);

impl fmt::Display for InDays {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY: u64 = 86_400 * 1_000_000_000;
        let (days, rest) = (self.0.as_nanos() / DAY, SimDuration::from_nanos(self.0.as_nanos() % DAY));
        match (days, rest.is_zero()) {
            (0, _) => rest.fmt(formatter),
            (_, true) => write!(formatter, "{days}d"),
            (_, false) => write!(formatter, "{days}d{rest}"),
        }
    }
}

/// A moment of a run, in seconds after its start, to the tenth as the page has it: `5m43.9s`, `2d03h04m05.6s`.
pub fn moment(seconds: f64) -> String {
    let tenths = (seconds * 10.0).round() as u64;
    let (whole, tenth) = (tenths / 10, tenths % 10);
    let (days, hours, minutes, seconds) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60, whole % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}.{tenth}s"),
        (0, 0, _) => format!("{minutes}m{seconds:02}.{tenth}s"),
        (0, _, _) => format!("{hours}h{minutes:02}m{seconds:02}.{tenth}s"),
        _ => format!("{days}d{hours:02}h{minutes:02}m{seconds:02}.{tenth}s"),
    }
}

/// A number as people write it: without hundreds of digits.
pub fn plain(number: f64) -> String {
    if number.abs() < 1e16 { number.to_string() } else { format!("{number:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_two_units_at_most() {
        let check = |seconds: f64, expected: &str| assert_eq!(length(seconds), expected);
        check(0.0, "0s");
        check(0.004, "<0.1s");
        check(2.34, "2.3s");
        check(10.4, "10s");
        check(59.7, "1m");
        check(340.0, "5m40s");
        check(7_260.0, "2h1m");
        check(86_400.0 * 3.0 + 3_600.0 * 5.0, "3d5h");
    }

    #[test]
    fn moments_of_a_long_run_are_as_exact_as_those_of_a_short_one() {
        let check = |seconds: f64, expected: &str| assert_eq!(moment(seconds), expected);
        check(0.0, "0.0s");
        check(343.909, "5m43.9s");
        check(3_600.0 * 2.0 + 61.0, "2h01m01.0s");
        check(86_400.0 * 12.0 + 60.25, "12d00h01m00.3s");
    }

    #[test]
    fn sentences_count_days_instead_of_thousands_of_hours() {
        let check = |millis: u64, expected: &str| {
            let length = SimDuration::from_millis(millis);
            assert_eq!(InDays(length).to_string(), expected);
            assert_eq!(SimDuration::parse_with_days(expected), Ok(length));
        };
        check(0, "0s");
        check(86_399_999, "23h59m59.999s");
        check(86_400_000, "1d");
        check(31_474_042_843, "364d6h47m22.843s");
        check(86_400_000 * 203 + 1_274_500, "203d21m14.5s");
    }
}
