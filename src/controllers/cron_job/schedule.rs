//! Cron schedules: which minutes they name.

use crate::model::TimeZone;

/// A schedule by the clock of a zone, to the minute.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    times: Times,
    /// UTC if there is none.
    zone: Option<TimeZone>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Times {
    /// Bits of the minutes, hours, days, months and weekdays that match.
    Calendar(Calendar),
    /// `@every`: a fixed number of seconds.
    Every(i64),
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Calendar {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both a day and a weekday are given: either is enough.
    either_day: bool,
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const DAY_S: i64 = 86_400;

impl Schedule {
    /// Reads a schedule; none if it is not one.
    ///
    /// # Source
    /// cronjob-controller: standard five fields, or `@hourly`, `@daily` (`@midnight`), `@weekly`, `@monthly`, `@yearly`
    /// (`@annually`), `@every 5m`; `TZ=<zone>` or `CRON_TZ=<zone>` may stand before them.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let Some(rest) = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ=")) else {
            return Some(Self { times: Times::parse(text)?, zone: None });
        };
        let (zone, rest) = rest.split_once(' ')?;
        Some(Self { times: Times::parse(rest.trim())?, zone: Some(TimeZone::named(zone)?) })
    }

    /// Reads a schedule by the clock of a zone, which one that names its own has no use for.
    pub(super) fn parse_in(text: &str, zone: Option<TimeZone>) -> Option<Self> {
        let schedule = Self::parse(text)?;
        Some(match zone.filter(|_| !text.contains("TZ")) {
            Some(zone) => schedule.in_zone(zone),
            None => schedule,
        })
    }

    /// The same by the clock of a zone.
    pub(super) fn in_zone(self, zone: TimeZone) -> Self {
        Self { zone: Some(zone), ..self }
    }

    /// The first time after `after_s`, in Unix seconds; none within five years. An hour that a change of the clock leaves out
    /// has no times, one that it repeats has them twice.
    ///
    /// # Source
    /// robfig/cron v3, `SpecSchedule.Next`.
    pub(super) fn next(&self, after_s: i64) -> Option<i64> {
        let (Times::Calendar(calendar), Some(zone)) = (self.times, &self.zone) else { return self.times.next(after_s) };
        let mut after_s = after_s;
        let limit_s = after_s.saturating_add(1830 * DAY_S);
        while after_s < limit_s {
            let offset_s = zone.offset_s(after_s);
            let change_s = zone.next_change_s(after_s);
            let found = calendar.next(after_s + offset_s).map(|local_s| local_s - offset_s);
            match change_s {
                // From there on the clock shows another time.
                Some(change_s) if found.is_none_or(|found| found >= change_s) => {
                    let offset_s = zone.offset_s(change_s);
                    if calendar.next(change_s + offset_s - 1) == Some(change_s + offset_s) {
                        return Some(change_s);
                    }
                    after_s = change_s;
                }
                _ => return found,
            }
        }
        None
    }

    /// The last time in `(after_s, until_s]`, and how many there are (of a long stretch only the end is looked at).
    pub(super) fn latest(&self, after_s: i64, until_s: i64) -> Option<(i64, u32)> {
        for window_s in [3600, DAY_S, 32 * DAY_S, 367 * DAY_S, 1830 * DAY_S] {
            let from = after_s.max(until_s - window_s);
            let mut found = None;
            let mut at = from;
            while let Some(next) = self.next(at).filter(|next| *next <= until_s) {
                found = Some(next);
                at = next;
            }
            if found.is_some() || from == after_s {
                return found.map(|latest| (latest, self.missed(after_s, until_s)));
            }
        }
        None
    }

    /// How many times have passed, as far as the pause between the first two tells.
    ///
    /// # Source
    /// cronjob-controller, `mostRecentScheduleTime`.
    fn missed(&self, after_s: i64, until_s: i64) -> u32 {
        let Some(first) = self.next(after_s).filter(|first| *first <= until_s) else { return 0 };
        let Some(second) = self.next(first) else { return 1 };
        u32::try_from((until_s - first) / (second - first).max(1) + 1).unwrap_or(u32::MAX)
    }
}

impl Times {
    fn parse(text: &str) -> Option<Self> {
        if let Some(every) = text.strip_prefix("@every ") {
            let every: crate::units::SimDuration = every.trim().parse().ok()?;
            return Some(Self::Every(i64::try_from(every.as_secs()).ok()?.max(1)));
        }
        let text = match text {
            "@hourly" => "0 * * * *",
            "@daily" | "@midnight" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" | "@annually" => "0 0 1 1 *",
            other => other,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else { return None };
        let is_open = |field: &str| field.starts_with('*') || field == "?";
        let either_day = !is_open(days) && !is_open(weekdays);
        let weekdays = parse_field(weekdays, 0, 7, &WEEKDAYS)?;
        Some(Self::Calendar(Calendar {
            minutes: parse_field(minutes, 0, 59, &[])?,
            hours: parse_field(hours, 0, 23, &[])?,
            days: parse_field(days, 1, 31, &[])?,
            months: parse_field(months, 1, 12, &MONTHS)?,
            // Sunday is 0 and 7.
            weekdays: (weekdays | (weekdays >> 7)) & 0x7f,
            either_day,
        }))
    }

    fn next(&self, after_s: i64) -> Option<i64> {
        match self {
            Self::Every(seconds) => Some(after_s + seconds),
            Self::Calendar(calendar) => calendar.next(after_s),
        }
    }
}

impl Calendar {
    fn is_day(&self, day: i64) -> bool {
        let (month, day_of_month) = month_and_day(day);
        let in_days = self.days & (1 << day_of_month) != 0;
        // 1970-01-01 was a Thursday.
        let in_weekdays = self.weekdays & (1 << (day + 4).rem_euclid(7)) != 0;
        let matches = if self.either_day { in_days || in_weekdays } else { in_days && in_weekdays };
        self.months & (1 << month) != 0 && matches
    }

    fn next(&self, after_s: i64) -> Option<i64> {
        let first_minute = after_s.div_euclid(60) + 1;
        let (first_day, minute_of_day) = (first_minute.div_euclid(1440), first_minute.rem_euclid(1440));
        for day in first_day..first_day + 1830 {
            if !self.is_day(day) {
                continue;
            }
            let from = if day == first_day { minute_of_day } else { 0 };
            let in_time =
                |minute: &i64| self.hours & (1 << (minute / 60)) != 0 && self.minutes & (1 << (minute % 60)) != 0;
            if let Some(minute) = (from..1440).find(in_time) {
                return Some((day * 1440 + minute) * 60);
            }
        }
        None
    }
}

/// Month (1 to 12) and day of the month of a day since 1970-01-01, in the Gregorian calendar.
fn month_and_day(day: i64) -> (i64, i64) {
    // Years begin in March here, so that the leap day is the last.
    let shifted = day + 719_468;
    let era_day = shifted.rem_euclid(146_097);
    let year = (era_day - era_day / 1460 + era_day / 36_524 - era_day / 146_096) / 365;
    let year_day = era_day - (365 * year + year / 4 - year / 100);
    let month = (5 * year_day + 2) / 153;
    let day_of_month = year_day - (153 * month + 2) / 5 + 1;
    (if month < 10 { month + 3 } else { month - 9 }, day_of_month)
}

fn parse_field(text: &str, min: u32, max: u32, names: &[&str]) -> Option<u64> {
    let number = |text: &str| -> Option<u32> {
        let lower = text.to_ascii_lowercase();
        let named = names.iter().position(|name| *name == lower);
        // Months are counted from one, weekdays from zero.
        named.map(|index| index as u32 + min).or_else(|| text.parse().ok()).filter(|n| (min..=max).contains(n))
    };
    let mut bits = 0u64;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<u32>().ok().filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let (from, to) = match range {
            "*" | "?" => (min, max),
            range => match range.split_once('-') {
                Some((from, to)) => (number(from)?, number(to)?),
                // `5/10` runs to the end.
                None => (number(range)?, if step.is_some() { max } else { number(range)? }),
            },
        };
        if from > to {
            return None;
        }
        for value in (from..=to).step_by(step.unwrap_or(1) as usize) {
            bits |= 1 << value;
        }
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unix seconds of a time on a day after 1970-01-01.
    fn at(day: i64, hour: i64, minute: i64) -> i64 {
        day * DAY_S + hour * 3600 + minute * 60
    }

    #[track_caller]
    fn check(text: &str, after: i64, expected: i64) {
        let schedule = Schedule::parse(text).expect("a schedule");
        assert_eq!(schedule.next(after), Some(expected), "{text} after {after}");
    }

    #[test]
    fn the_next_time_is_after_and_matches_every_field() {
        check("*/5 * * * *", at(0, 0, 0), at(0, 0, 5));
        check("*/5 * * * *", at(0, 0, 4) + 59, at(0, 0, 5));
        check("0 3 * * *", at(0, 3, 0), at(1, 3, 0));
        check("@hourly", at(0, 1, 1), at(0, 2, 0));
        check("30 1-3 * * *", at(0, 3, 31), at(1, 1, 30));
        // 1970-01-04 was a Sunday, 1970-02-01 another.
        check("0 0 * * sun", at(0, 0, 0), at(3, 0, 0));
        check("0 0 * * 7", at(0, 0, 0), at(3, 0, 0));
        check("0 0 1 feb *", at(0, 0, 0), at(31, 0, 0));
        check("0 0 29 2 *", at(0, 0, 0), at(789, 0, 0));
        // The second or a Sunday.
        check("0 0 2 * 0", at(1, 1, 0), at(3, 0, 0));
        check("@every 90s", 10, 100);
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for text in ["", "* * * *", "60 * * * *", "* * * * 8", "*/0 * * * *", "5-1 * * * *", "@never"] {
            assert!(Schedule::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_clock_of_a_zone_goes_forward_and_back() {
        let berlin = |text: &str| {
            let zone = TimeZone::named("Europe/Berlin").expect("a zone");
            Schedule::parse(text).expect("a schedule").in_zone(zone)
        };
        // 2026-03-29 00:00 UTC; at 01:00 the clocks go from two to three.
        let day = 20_541;
        assert_eq!(berlin("30 1 * * *").next(at(day, 0, 0)), Some(at(day, 0, 30)));
        assert_eq!(berlin("30 3 * * *").next(at(day, 0, 0)), Some(at(day, 1, 30)));
        assert_eq!(berlin("0 3 * * *").next(at(day, 0, 0)), Some(at(day, 1, 0)));
        // There is no half past two on that day.
        assert_eq!(berlin("30 2 * * *").next(at(day, 0, 0)), Some(at(day + 1, 0, 30)));
        // 2026-10-25 01:00 UTC: the clocks go from three to two, and it is half past two twice.
        let day = 20_751;
        assert_eq!(berlin("30 2 * * *").next(at(day, 0, 0)), Some(at(day, 0, 30)));
        assert_eq!(berlin("30 2 * * *").next(at(day, 0, 30)), Some(at(day, 1, 30)));
        assert_eq!(berlin("30 2 * * *").next(at(day, 1, 30)), Some(at(day + 1, 1, 30)));
        assert_eq!(berlin("@daily").next(at(0, 0, 0)), Some(at(0, 23, 0)));
        assert_eq!(berlin("@every 90s").next(10), Some(100));
        let written = Schedule::parse("CRON_TZ=Asia/Kolkata 0 6 * * *").expect("a schedule");
        assert_eq!(written.next(at(0, 0, 0)), Some(at(0, 0, 30)));
        assert!(Schedule::parse("TZ=Mars/Olympus 0 6 * * *").is_none());
    }

    #[test]
    fn of_missed_times_the_latest_counts() {
        let schedule = Schedule::parse("*/10 * * * *").expect("a schedule");
        assert_eq!(schedule.latest(at(0, 0, 0), at(0, 0, 35)), Some((at(0, 0, 30), 3)));
        assert_eq!(schedule.latest(at(0, 0, 30), at(0, 0, 35)), None);
        assert_eq!(schedule.latest(at(0, 0, 0), at(300, 0, 5)).map(|(time, _)| time), Some(at(300, 0, 0)));
    }
}
