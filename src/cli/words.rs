//! Shares in few characters.

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

#[cfg(test)]
mod tests {
    use super::*;

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
