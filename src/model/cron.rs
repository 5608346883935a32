//! Cron schedules: how they are written, and which minutes they name.

use super::time_zone::TimeZone;

/// A schedule by the clock of a zone, to the minute.
#[derive(Clone, Debug)]
pub struct Schedule {
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
    /// Neither days nor weekdays are open: either is enough.
    either_day: bool,
}

/// What one field of a schedule may hold.
struct Field {
    min: u32,
    max: u32,
    /// From the least number on.
    names: &'static [&'static str],
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/// Sunday is 0 only.
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: [Field; 5] = [
    Field { min: 0, max: 59, names: &[] },
    Field { min: 0, max: 23, names: &[] },
    Field { min: 1, max: 31, names: &[] },
    Field { min: 1, max: 12, names: MONTHS },
    Field { min: 0, max: 6, names: WEEKDAYS },
];

const DAY_S: i64 = 86_400;

impl Schedule {
    /// Reads a schedule: five fields, or `@hourly`, `@daily` (`@midnight`), `@weekly`, `@monthly`, `@yearly` (`@annually`), `@every 5m`;
    /// `TZ=<zone>` or `CRON_TZ=<zone>` may stand before them.
    ///
    /// # Errors
    ///
    /// The parser's words, if it is none.
    ///
    /// # Source
    /// robfig/cron v3, `ParseStandard`, and kube-apiserver, which survives what that does not.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("empty spec string".to_owned());
        }
        let Some(rest) = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ=")) else {
            return Ok(Self { times: Times::parse(text)?, zone: None });
        };
        let Some((name, rest)) = rest.split_once(' ') else {
            return Err("invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned());
        };
        let zone = match name {
            "" | "UTC" => None,
            _ => Some(
                TimeZone::named(name)
                    .ok_or_else(|| format!("provided bad location {name}: unknown time zone {name}"))?,
            ),
        };
        Ok(Self { times: Times::parse(rest.trim())?, zone })
    }

    /// Reads a schedule by the clock of a zone, which one that names its own has no use for.
    ///
    /// # Errors
    ///
    /// The parser's words, if it is none.
    ///
    /// # Source
    /// cronjob-controller, `formatSchedule`.
    pub fn parse_in(text: &str, zone: Option<TimeZone>) -> Result<Self, String> {
        let schedule = Self::parse(text)?;
        Ok(if text.contains("TZ") { schedule } else { Self { zone, ..schedule } })
    }

    /// The pause of `@every`, in seconds.
    #[must_use]
    pub fn every_s(&self) -> Option<i64> {
        match self.times {
            Times::Every(seconds) => Some(seconds),
            Times::Calendar(_) => None,
        }
    }

    /// The first time after `after_s`, in Unix seconds; none within five years. An hour that a change of the clock leaves out
    /// has no times, one that it repeats has them twice.
    ///
    /// # Source
    /// robfig/cron v3, `SpecSchedule.Next`.
    #[must_use]
    pub fn next(&self, after_s: i64) -> Option<i64> {
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

    /// The last time in `(after_s, until_s]`.
    #[must_use]
    pub fn latest(&self, after_s: i64, until_s: i64) -> Option<i64> {
        for window_s in [3600, DAY_S, 32 * DAY_S, 367 * DAY_S, 1830 * DAY_S] {
            let from = after_s.max(until_s.saturating_sub(window_s));
            let times = std::iter::successors(self.next(from), |at| self.next(*at));
            let found = times.take_while(|at| *at <= until_s).last();
            if found.is_some() || from == after_s {
                return found;
            }
        }
        None
    }
}

impl Times {
    fn parse(text: &str) -> Result<Self, String> {
        let fields = match text {
            "@hourly" => "0 * * * *",
            "@daily" | "@midnight" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" | "@annually" => "0 0 1 1 *",
            _ if text.starts_with('@') => return Self::parse_every(text),
            other => other,
        };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        if fields.len() != FIELDS.len() {
            return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
        }
        let mut bits = [Bits::default(); FIELDS.len()];
        for ((bits, text), field) in bits.iter_mut().zip(fields).zip(&FIELDS) {
            *bits = field.parse(text)?;
        }
        let [minutes, hours, days, months, weekdays] = bits;
        Ok(Self::Calendar(Calendar {
            minutes: minutes.values,
            hours: hours.values,
            days: days.values,
            months: months.values,
            weekdays: weekdays.values,
            either_day: !days.is_open && !weekdays.is_open,
        }))
    }

    fn parse_every(text: &str) -> Result<Self, String> {
        let Some(every) = text.strip_prefix("@every ") else { return Err(format!("unrecognized descriptor: {text}")) };
        match every.parse::<crate::units::SimDuration>() {
            Ok(pause) => Ok(Self::Every(i64::try_from(pause.as_secs()).unwrap_or(i64::MAX).max(1))),
            Err(_) => Err(format!("failed to parse duration {text}: time: invalid duration {every:?}")),
        }
    }

    fn next(&self, after_s: i64) -> Option<i64> {
        match self {
            Self::Every(seconds) => after_s.checked_add(*seconds),
            Self::Calendar(calendar) => calendar.next(after_s),
        }
    }
}

/// What a field names.
#[derive(Clone, Copy, Default)]
struct Bits {
    values: u64,
    /// An item of it is a star, and takes every value.
    is_open: bool,
}

impl Field {
    fn parse(&self, text: &str) -> Result<Bits, String> {
        let mut bits = Bits::default();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            let item = self.item(item)?;
            bits.values |= item.values;
            bits.is_open |= item.is_open;
        }
        Ok(bits)
    }

    fn item(&self, text: &str) -> Result<Bits, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let limits: Vec<&str> = parts[0].split('-').collect();
        let is_star = matches!(limits[0], "*" | "?");
        let (start, mut end) = match limits.as_slice() {
            _ if is_star => (self.min, self.max),
            [one] => (self.number(one)?, self.number(one)?),
            [start, end] => (self.number(start)?, self.number(end)?),
            _ => return Err(format!("too many hyphens: {text}")),
        };
        let step = match parts.as_slice() {
            [_] => 1,
            [_, step] => {
                // `5/10` runs to the end.
                if limits.len() == 1 {
                    end = self.max;
                }
                integer(step)?
            }
            _ => return Err(format!("too many slashes: {text}")),
        };
        if start < self.min {
            return Err(format!("beginning of range ({start}) below minimum ({}): {text}", self.min));
        }
        if end > self.max {
            return Err(format!("end of range ({end}) above maximum ({}): {text}", self.max));
        }
        if start > end {
            return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
        }
        if step == 0 {
            return Err(format!("step of range should be a positive number: {text}"));
        }
        let values = (start..=end).step_by(step as usize).fold(0, |bits, value| bits | 1 << value);
        Ok(Bits { values, is_open: is_star && step == 1 })
    }

    fn number(&self, text: &str) -> Result<u32, String> {
        match self.names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
            Some(index) => Ok(self.min + u32::try_from(index).unwrap_or(0)),
            None => integer(text),
        }
    }
}

fn integer(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
        Err(_) => Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax")),
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
        check("0 0 1 feb *", at(0, 0, 0), at(31, 0, 0));
        check("0 0 29 2 *", at(0, 0, 0), at(789, 0, 0));
        // The second or a Sunday.
        check("0 0 2 * 0", at(1, 1, 0), at(3, 0, 0));
        check("@every 90s", 10, 100);
    }

    #[test]
    fn schedules_are_refused_in_the_words_of_their_parser() {
        #[track_caller]
        fn refuse(text: &str, expected: &str) {
            assert_eq!(Schedule::parse(text).err().as_deref(), Some(expected), "{text}");
        }
        for good in ["* * * * *", "*/5 0-6,12 1 jan-MAR sun", "@hourly", "@every 1h30m", "0/15 * ? * ?", "1,,2 * * * *"]
        {
            assert!(Schedule::parse(good).is_ok(), "{good}");
        }
        refuse("every day", "expected exactly 5 fields, found 2: [every day]");
        refuse("60 * * * *", "end of range (60) above maximum (59): 60");
        refuse("* * 0 * *", "beginning of range (0) below minimum (1): 0");
        refuse("* * * * 7", "end of range (7) above maximum (6): 7");
        refuse("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3");
        refuse("*/0 * * * *", "step of range should be a positive number: */0");
        refuse("a * * * *", "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax");
        refuse("1-2-3 * * * *", "too many hyphens: 1-2-3");
        refuse("@often", "unrecognized descriptor: @often");
        refuse("@every day", "failed to parse duration @every day: time: invalid duration \"day\"");
    }

    #[test]
    fn a_star_takes_every_value_and_one_with_steps_does_not() {
        // Every second day, or a Monday: 1970-01-03 after the first of January, a Thursday; and Monday the fifth is odd, too.
        check("0 0 */2 * 1", at(0, 0, 0), at(2, 0, 0));
        check("0 0 2-31/2 * 1", at(2, 0, 0), at(3, 0, 0));
        // An open item opens the whole field: Mondays alone.
        check("0 0 2,* * 1", at(0, 0, 0), at(4, 0, 0));
        // From Monday on every second day of the week; no Sunday.
        check("0 0 * * 1/2", at(0, 0, 0), at(1, 0, 0));
        check("0 0 * * 1/2", at(1, 0, 0), at(4, 0, 0));
        check("0 2,,4 * * *", at(0, 2, 0), at(0, 4, 0));
        check("0 *-5 * * *", at(0, 7, 0), at(0, 8, 0));
        assert_eq!(Schedule::parse("59 23 31 2 *").expect("a schedule").next(0), None);
    }

    #[test]
    fn the_clock_of_a_zone_goes_forward_and_back() {
        let berlin = |text: &str| {
            let zone = TimeZone::named("Europe/Berlin").expect("a zone");
            Schedule::parse_in(text, Some(zone)).expect("a schedule")
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
        let problem = "provided bad location Mars/Olympus: unknown time zone Mars/Olympus";
        assert_eq!(Schedule::parse("TZ=Mars/Olympus 0 6 * * *").err().as_deref(), Some(problem));
    }

    #[test]
    fn the_latest_time_may_be_long_ago() {
        let schedule = Schedule::parse("*/10 * * * *").expect("a schedule");
        assert_eq!(schedule.latest(at(0, 0, 0), at(0, 0, 35)), Some(at(0, 0, 30)));
        assert_eq!(schedule.latest(at(0, 0, 30), at(0, 0, 35)), None);
        assert_eq!(schedule.latest(at(0, 0, 0), at(300, 0, 5)), Some(at(300, 0, 0)));
        let yearly = Schedule::parse("@yearly").expect("a schedule");
        assert_eq!(yearly.latest(at(-400, 0, 0), at(300, 0, 0)), Some(at(0, 0, 0)));
    }
}
