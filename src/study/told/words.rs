//! Means and shares in words.

use super::super::statistics::Interval;
use crate::units::counted;

pub(crate) fn number(value: f64) -> String {
    // What is rounded to nothing has no sign.
    let value = if value.abs() < 0.005 { 0.0 } else { value };
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// A mean with its interval: `12.30 [11.80, 12.90]`. A `*` says that the interval allows for runs that nobody has seen, a `?` that an
/// end is not known.
pub(crate) fn spread(interval: Interval) -> String {
    let Interval { mean, low, high, widened } = interval;
    if mean.is_nan() {
        return "-".to_owned();
    }
    let short = |value: f64| if value == 0.0 { "0".to_owned() } else { number(value) };
    let end = |value: f64| if value.is_finite() { short(value) } else { "?".to_owned() };
    let mark = if widened { "*" } else { "" };
    format!("{} [{}, {}]{mark}", short(mean), end(low), end(high))
}

/// `1 run is too few`, `12 runs are too few`.
pub(in crate::study) fn too_few(runs: usize) -> String {
    let is = if runs == 1 { "is" } else { "are" };
    format!("{} {is} too few", counted(runs, "run", "runs"))
}

/// `95`, `98.7`.
pub(super) fn percent(share: f64) -> String {
    let rounded = (share * 10_000.0).round() / 100.0;
    format!("{rounded}")
}

/// So many names, separated; others are counted.
pub(in crate::study) fn names(names: &[String], most: usize, separator: &str) -> String {
    let shown = names.len().min(most);
    let text = names[..shown].join(separator);
    match names.len() - shown {
        0 => text,
        left => format!("{text}{separator}and {}", counted(left, "other", "others")),
    }
}
