//! Small chances and long times in words.

use super::super::statistics::Interval;

/// A probability with its interval: `3.1e-7 [2.9e-7, 3.3e-7]`.
pub(crate) fn chance(interval: Interval) -> String {
    let Interval { mean, low, high, widened } = interval;
    if mean.is_nan() {
        return "-".to_owned();
    }
    let end = |value: f64| if value.is_finite() { small(value) } else { "?".to_owned() };
    format!("{} [{}, {}]{}", small(mean), end(low), end(high), if widened { "*" } else { "" })
}

/// `0.0123`, `3.1e-7`.
fn small(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        of if of >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}

/// Once in how many years, from a rate of a year: `once in 1,240 years`.
pub(crate) fn years(per_year: f64) -> String {
    let years = 1.0 / per_year;
    match years {
        _ if per_year <= 0.0 => "never".to_owned(),
        of if of >= 1e6 => format!("once in {of:.1e} years"),
        of if of >= 10.0 => format!("once in {} years", crate::units::grouped(of.round() as u64)),
        of if of >= 1.0 => format!("once in {of:.1} years"),
        _ => format!("{per_year:.1} times a year"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_and_years_are_readable() {
        let interval = Interval { mean: 3.14e-7, low: 0.0, high: 0.0213, widened: false };
        assert_eq!(chance(interval), "3.14e-7 [0, 0.021]");
        assert_eq!(chance(Interval { high: f64::INFINITY, widened: true, ..interval }), "3.14e-7 [0, ?]*");
        let check = |rate: f64, expected: &str| assert_eq!(years(rate), expected);
        check(1.0 / 1240.2, "once in 1,240 years");
        check(2.5, "2.5 times a year");
        check(0.4, "once in 2.5 years");
        check(1e-8, "once in 1.0e8 years");
        check(0.0, "never");
    }
}
