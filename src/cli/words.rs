//! Numbers and times in words.

pub(super) use crate::study::{counted, grouped};

/// A length of time as people say it: two units at most, tenths of a second only for short times.
pub(super) fn length(seconds: f64) -> String {
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

/// A moment of a run: `5m43.9s`, `2d03h04m`.
pub(super) fn moment(seconds: f64) -> String {
    let tenths = (seconds * 10.0).round() as u64;
    let (whole, tenth) = (tenths / 10, tenths % 10);
    let (days, hours, minutes, seconds) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60, whole % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}.{tenth}s"),
        (0, 0, _) => format!("{minutes}m{seconds:02}.{tenth}s"),
        (0, _, _) => format!("{hours}h{minutes:02}m{seconds:02}s"),
        _ => format!("{days}d{hours:02}h{minutes:02}m"),
    }
}

/// A share in percent, with as many digits as tell it from 100 %.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let trimmed = |digits: usize| {
        let text = format!("{percent:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    };
    let texts = (1..=5).map(trimmed);
    let text = texts.into_iter().find(|text| share >= 1.0 || text != "100").unwrap_or_else(|| "<100".to_owned());
    format!("{text}%")
}

/// A share and the one that it is measured by, in percent: with as many digits as tell the one from the other.
pub(super) fn percent_against(share: f64, measure: f64) -> (String, String) {
    let plain = (percent(share), percent(measure));
    if share == measure || plain.0 != plain.1 {
        return plain;
    }
    let with = |value: f64, digits: usize| format!("{:.digits$}%", value * 100.0);
    let told = (2..=15).map(|digits| (with(share, digits), with(measure, digits))).find(|(one, other)| one != other);
    told.map_or(plain, |(one, other)| {
        let other = other.trim_end_matches('%').trim_end_matches('0').trim_end_matches('.');
        (one, format!("{other}%"))
    })
}

/// A text of at most so many characters; of a longer one, its beginning.
pub(super) fn cut(text: &str, length_max: usize) -> String {
    if text.chars().count() <= length_max {
        return text.to_owned();
    }
    text.chars().take(length_max).chain(['…']).collect()
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
    fn moments_are_as_exact_as_their_size_allows() {
        let check = |seconds: f64, expected: &str| assert_eq!(moment(seconds), expected);
        check(0.0, "0.0s");
        check(343.909, "5m43.9s");
        check(3_600.0 * 2.0 + 61.0, "2h01m01s");
        check(86_400.0 * 12.0 + 60.0, "12d00h01m");
    }

    #[test]
    fn numbers_are_grouped() {
        let check = |number: u64, expected: &str| assert_eq!(grouped(number), expected);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(1_234_567, "1,234,567");
    }

    #[test]
    fn shares_below_all_do_not_look_like_all() {
        let check = |share: f64, expected: &str| assert_eq!(percent(share), expected);
        check(1.0, "100%");
        check(0.9999, "99.99%");
        check(0.5, "50%");
        check(0.858, "85.8%");
        check(0.0, "0%");
        check(0.999_999_999, "<100%");
    }

    #[test]
    fn a_share_is_told_from_what_it_is_measured_by() {
        let check = |share: f64, measure: f64, expected: (&str, &str)| {
            let (found, wanted) = percent_against(share, measure);
            assert_eq!((found.as_str(), wanted.as_str()), expected);
        };
        check(0.998_96, 0.999, ("99.896%", "99.9%"));
        check(0.999_04, 0.999, ("99.904%", "99.9%"));
        check(0.999, 0.999, ("99.9%", "99.9%"));
        check(0.5, 0.999, ("50%", "99.9%"));
        check(0.998_999_99, 0.999, ("99.899999%", "99.9%"));
        check(1.0, 0.999_999_999, ("100%", "<100%"));
    }
}
