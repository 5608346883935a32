//! Time zones by their names: what a clock on the wall shows.
//!
//! The zones are those of the tz database that is built in, so that no machine's files reach a result.

use jiff::Timestamp;
use jiff::tz::TimeZone as Rules;

/// A time zone of the tz database.
#[derive(Clone, Debug)]
pub struct TimeZone(Rules);

impl TimeZone {
    /// The zone of a name such as `Europe/Berlin`; none if there is no such zone. Names are case-sensitive, as file names of
    /// the API server's machine are.
    ///
    /// # Source
    /// Go, `time.LoadLocation`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let rules = Rules::get(name).ok()?;
        (rules.iana_name() == Some(name)).then_some(Self(rules))
    }

    /// Seconds by which the zone is ahead of UTC at a Unix time in seconds.
    #[must_use]
    pub fn offset_s(&self, unix_s: i64) -> i64 {
        i64::from(self.0.to_offset(instant(unix_s)).seconds())
    }

    /// The first Unix time in seconds after that one at which the offset changes; none if it does not any more.
    #[must_use]
    pub fn next_change_s(&self, unix_s: i64) -> Option<i64> {
        self.0.following(instant(unix_s)).next().map(|change| change.timestamp().as_second())
    }
}

/// The instant, or the last that can be told.
fn instant(unix_s: i64) -> Timestamp {
    let bounds = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(unix_s.clamp(bounds.0, bounds.1)).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_have_names_that_are_written_in_one_way() {
        for good in ["UTC", "Etc/UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT"] {
            assert!(TimeZone::named(good).is_some(), "{good}");
        }
        for bad in ["", "Mars/Olympus", "europe/berlin", "Local", "CEST", "../UTC"] {
            assert!(TimeZone::named(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn summer_time_begins_and_ends() {
        let berlin = TimeZone::named("Europe/Berlin").expect("a zone");
        // 2026-03-29 01:00 UTC and 2026-10-25 01:00 UTC.
        let (summer, winter) = (1_774_746_000, 1_792_890_000);
        assert_eq!(berlin.next_change_s(summer - 1), Some(summer));
        assert_eq!(berlin.next_change_s(summer), Some(winter));
        assert_eq!((berlin.offset_s(summer - 1), berlin.offset_s(summer)), (3600, 7200));
        assert_eq!(TimeZone::named("UTC").expect("a zone").next_change_s(0), None);
    }
}
