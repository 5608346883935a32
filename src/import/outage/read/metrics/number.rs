//! Times and values as the formats write them.

/// Above this a time counts milliseconds: as seconds it would be the year 5138, as milliseconds it is 1973.
const MILLISECONDS_FROM: f64 = 1e11;
/// The last second that an instant can hold.
const SECONDS_MAX: f64 = 9_223_372_036.0;

/// Nanoseconds since the Unix epoch of so many seconds, to the millisecond; nothing before the epoch or beyond the year 2262.
pub(super) fn nanos_of_seconds(seconds: f64) -> Option<i64> {
    let is_possible = (0.0..SECONDS_MAX).contains(&seconds);
    is_possible.then(|| (seconds * 1000.0).round() as i64 * 1_000_000)
}

/// The same of seconds or of milliseconds, whichever of them a number of that size can be.
pub(super) fn nanos_of_unit(number: f64) -> Option<i64> {
    nanos_of_seconds(if number >= MILLISECONDS_FROM { number / 1000.0 } else { number })
}

/// A value: a number, or what stands for none.
///
/// # Source
/// Go's `strconv.ParseFloat`, with which Prometheus reads values.
pub(super) fn value_of(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_number =
        text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'N' | 'n' | 'I' | 'i'));
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_milliseconds() {
        assert_eq!(nanos_of_seconds(1_678_255_260.781), Some(1_678_255_260_781_000_000));
        assert_eq!(nanos_of_unit(1_678_255_260.0), Some(1_678_255_260_000_000_000));
        assert_eq!(nanos_of_unit(1_678_255_260_781.0), Some(1_678_255_260_781_000_000));
        for absurd in [-1.0, f64::NAN, f64::INFINITY, 9.4e12, 1e300] {
            assert_eq!(nanos_of_seconds(absurd), None, "{absurd}");
        }
        // The year 300000.
        assert_eq!(nanos_of_unit(9_404_946_892_800_000.0), None);
    }

    #[test]
    fn values_are_numbers_or_none() {
        assert_eq!(value_of(" 1 "), Some(1.0));
        assert_eq!(value_of("1.6782552e+09"), Some(1_678_255_200.0));
        assert!(value_of("NaN").is_some_and(f64::is_nan));
        assert_eq!(value_of("+Inf"), Some(f64::INFINITY));
        assert_eq!(value_of("Ready"), None);
        assert_eq!(value_of(""), None);
    }
}
