//! Shares in percent.

/// The share that so many percent are: the number nearest to it. 99.9 % is 0.999, of which a hundredth of the number 99.9 misses the last
/// place, so that what is kept exactly would count as missed.
#[must_use]
pub fn share_of_percent(percent: f64) -> f64 {
    // A finite number is written without an exponent.
    format!("{percent}e-2").parse().unwrap_or(percent / 100.0)
}

/// A share as it is written in percent, such as `99.9%`; none if it is written otherwise.
#[must_use]
pub fn parse_percent(text: &str) -> Option<f64> {
    text.strip_suffix('%')?.trim().parse().ok().map(share_of_percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_the_number_nearest_to_what_is_written() {
        let check = |text: &str, expected: Option<f64>| assert_eq!(parse_percent(text), expected, "{text}");
        check("99.9%", Some(0.999));
        check("99.99 %", Some(0.9999));
        check("1.1%", Some(0.011));
        check("0%", Some(0.0));
        check("100%", Some(1.0));
        check("-5%", Some(-0.05));
        check("1e-3%", Some(1e-5));
        check("99.9", None);
        check("many%", None);
        assert!(share_of_percent(f64::NAN).is_nan() && share_of_percent(f64::INFINITY).is_infinite());
        // Every tenth of a percent is the number that its decimal fraction is read as.
        for tenths in 0..=1000_u32 {
            let (whole, part) = (tenths / 10, tenths % 10);
            let share: f64 = format!("{}e-3", tenths).parse().expect("a number");
            assert_eq!(parse_percent(&format!("{whole}.{part}%")), Some(share));
        }
    }
}
