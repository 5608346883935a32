//! Time stamps as records write them.

use super::ClockOptions;
use crate::evidence::{Bounds, Instant};

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// What a time stamp says: RFC 3339, or the same without an offset or with a blank in the middle. A stamp of whole seconds bounds a
/// second; one with a fraction is exact.
pub(super) fn bounds(text: &str, clock: &ClockOptions) -> Option<Bounds> {
    let text = text.trim();
    let instant = instant(text, clock)?;
    Some(if text.contains(['.', ',']) { Bounds::at(instant) } else { Bounds::second(instant) })
}

/// The instant of a time stamp.
pub(super) fn instant(text: &str, clock: &ClockOptions) -> Option<Instant> {
    let text = text.trim();
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    if let Some(instant) = Instant::parse(text) {
        return Some(instant);
    }
    let text = text.replacen(' ', "T", 1).replacen(',', ".", 1);
    Instant::parse(&text).or_else(|| Instant::parse(&format!("{text}Z")).map(|local| to_utc(local, clock)))
}

/// An instant of a clock that says no offset, in UTC.
pub(super) fn to_utc(local: Instant, clock: &ClockOptions) -> Instant {
    match clock.offset {
        Some(offset) if clock.is_behind => local.later(offset),
        Some(offset) => local.earlier(offset),
        None => local,
    }
}

/// The instant so many seconds, or milliseconds, microseconds or nanoseconds if the number is too large for those, after the Unix epoch.
pub(super) fn from_unix(number: f64) -> Option<Instant> {
    if !number.is_finite() || number <= 0.0 {
        return None;
    }
    // Seconds reach 10^11 in the year 5138; milliseconds passed it in 1973.
    let scale = match number {
        n if n < 1e11 => 1e9,
        n if n < 1e14 => 1e6,
        n if n < 1e17 => 1e3,
        _ => 1.0,
    };
    let nanos = number * scale;
    (nanos < i64::MAX as f64).then(|| Instant::from_unix_nanos(nanos.round() as i64))
}

/// What an instant that was written as a number bounds: a whole second may have been cut to it.
pub(super) fn of_number(instant: Instant) -> Bounds {
    if instant.unix_nanos() % NANOS_PER_SECOND == 0 { Bounds::second(instant) } else { Bounds::at(instant) }
}
