//! Instants as clusters record them, which most do in whole seconds.

use serde_json::Value;

use crate::engine::Bounds;
use crate::units::unix_nanos_from_rfc3339;

/// What a stamp with a fraction may be off by, in seconds: the least that distributions are written in.
const FRACTION_S: f64 = 1e-3;

/// An instant, and how long after it may have been what it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Instant {
    pub(super) nanos: i64,
    /// The clock's step, in seconds: stamps are cut, so that what they stand for was at them or up to a step later.
    pub(super) step_s: f64,
}

impl Instant {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let nanos = unix_nanos_from_rfc3339(text)?;
        // The zero time of Go stands for none.
        let step_s = if text.contains('.') { 0.0 } else { 1.0 };
        (nanos > 0).then_some(Self { nanos, step_s })
    }

    /// The stamp at a path of an object.
    pub(super) fn at(object: &Value, path: &str) -> Option<Self> {
        Self::parse(object.pointer(path)?.as_str()?)
    }

    /// That many seconds later.
    pub(super) fn plus(self, seconds: f64) -> Self {
        Self { nanos: self.nanos.saturating_add((seconds * 1e9) as i64), ..self }
    }

    /// Seconds from an earlier stamp to this one.
    pub(super) fn since_s(self, earlier: Self) -> f64 {
        self.nanos.saturating_sub(earlier.nanos) as f64 / 1e9
    }

    pub(super) fn earlier(self, other: Self) -> Self {
        if other.nanos < self.nanos { other } else { self }
    }

    pub(super) fn later(self, other: Self) -> Self {
        if other.nanos > self.nanos { other } else { self }
    }
}

/// What two stamps tell of the length between them.
pub(super) fn between(begin: Instant, end: Instant) -> Bounds {
    let low_s = end.since_s(begin);
    Bounds { low_s, high_s: low_s + end.step_s.max(FRACTION_S), slack_s: begin.step_s }
}

/// A length that had not ended when the evidence did.
pub(super) fn longer(begin: Instant, until: Instant) -> Bounds {
    Bounds { high_s: f64::INFINITY, ..between(begin, until) }
}

/// A length that had ended by then, nobody knows since when.
pub(super) fn at_most(begin: Instant, end: Instant) -> Bounds {
    Bounds { low_s: f64::NEG_INFINITY, ..between(begin, end) }
}

/// A length as a program has measured it.
pub(super) fn measured(seconds: f64) -> Bounds {
    Bounds { low_s: seconds - FRACTION_S / 2.0, high_s: seconds + FRACTION_S / 2.0, slack_s: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_leave_a_second_at_each_end() {
        let at = |text: &str| Instant::parse(text).expect("an instant");
        let begin = at("2026-03-01T00:00:03Z");
        let bounds = between(begin, at("2026-03-01T01:00:05+01:00"));
        assert_eq!((bounds.low_s, bounds.high_s, bounds.slack_s), (2.0, 3.0, 1.0));
        // The scheduler's stamps have microseconds.
        let bounds = between(at("2026-03-01T00:00:03.250000Z"), at("2026-03-01T00:00:05Z"));
        assert_eq!((bounds.low_s, bounds.high_s, bounds.slack_s), (1.75, 2.75, 0.0));
        assert_eq!(longer(begin, at("2026-03-01T00:00:09Z")).high_s, f64::INFINITY);
        for text in ["", "soon", "0001-01-01T00:00:00Z"] {
            assert_eq!(Instant::parse(text), None, "{text}");
        }
    }
}
