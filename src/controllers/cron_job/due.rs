//! Which slot of a schedule is due.

use crate::model::cron::Schedule;

/// Above this many missed slots the user is warned.
const MISSED_MAX: i64 = 100;

/// How many slots have passed without a Job.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Missed {
    None,
    Few,
    Many,
}

/// What has been due since a time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// The slot that is to become a Job, in Unix seconds.
    pub(super) slot_s: Option<i64>,
    pub(super) missed: Missed,
}

/// What is wrong with a schedule that can be read and never comes.
pub(super) const NEVER: &str = "time difference between two schedules is less than 1 second";

/// The most recent slot in `(since_s, now_s]`, as far as the pause between the first two tells: of a schedule with uneven pauses it may be
/// overlooked.
///
/// # Errors
///
/// [`NEVER`].
///
/// # Source
/// cronjob-controller, `mostRecentScheduleTime`.
pub(super) fn since(since_s: i64, now_s: i64, schedule: &Schedule) -> Result<Due, &'static str> {
    let first_s = schedule.next(since_s).ok_or(NEVER)?;
    if now_s < first_s {
        return Ok(Due { slot_s: None, missed: Missed::None });
    }
    let second_s = schedule.next(first_s).ok_or(NEVER)?;
    if now_s < second_s {
        return Ok(Due { slot_s: Some(first_s), missed: Missed::None });
    }
    let pause_s = second_s - first_s;
    let count = (now_s - first_s) / pause_s + 1;
    // From one pause before the last slot that there would be if all pauses were like the first.
    let from_s = first_s + (count - 2) * pause_s;
    let slots = std::iter::successors(schedule.next(from_s), |slot_s| schedule.next(*slot_s));
    let slot_s = slots.take_while(|slot_s| *slot_s <= now_s).last();
    Ok(Due { slot_s, missed: if count > MISSED_MAX { Missed::Many } else { Missed::Few } })
}

/// The slot to wait for, in Unix seconds; none if there is none any more.
///
/// # Source
/// cronjob-controller, `nextScheduleTimeDuration`, which knows no deadline.
pub(super) fn next(since_s: i64, now_s: i64, schedule: &Schedule) -> Option<i64> {
    let after_s = match since(since_s, now_s, schedule) {
        Ok(Due { slot_s: Some(slot_s), .. }) => slot_s,
        Ok(Due { missed: Missed::None, .. }) => since_s,
        Ok(_) | Err(_) => now_s,
    };
    schedule.next(after_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, since_min: i64, now_min: i64, slot_min: Option<i64>, missed: Missed, next_min: i64) {
        let schedule = Schedule::parse(text).expect("a schedule");
        let (since_s, now_s) = (since_min * 60, now_min * 60);
        let expected = Due { slot_s: slot_min.map(|minute| minute * 60), missed };
        assert_eq!(since(since_s, now_s, &schedule), Ok(expected), "{text}");
        assert_eq!(next(since_s, now_s, &schedule), Some(next_min * 60), "{text}");
    }

    #[test]
    fn of_missed_slots_the_most_recent_counts() {
        check("*/10 * * * *", 0, 9, None, Missed::None, 10);
        check("*/10 * * * *", 0, 10, Some(10), Missed::None, 20);
        check("*/10 * * * *", 0, 35, Some(30), Missed::Few, 40);
        check("* * * * *", 0, 100, Some(100), Missed::Few, 101);
        check("* * * * *", 0, 101, Some(101), Missed::Many, 102);
        check("0 12 * * *", 0, 300 * 1440 + 5, Some(299 * 1440 + 720), Missed::Many, 300 * 1440 + 720);
    }

    #[test]
    fn a_fixed_pause_keeps_its_phase() {
        check("@every 7m", 28, 90, Some(84), Missed::Few, 91);
        check("@every 20m", 0, 90, Some(80), Missed::Few, 100);
        check("@every 20m", 80, 90, None, Missed::None, 100);
    }

    /// The first pause of two minutes says that the last slot before the ninetieth minute was at the eighty-eighth at the earliest.
    #[test]
    fn with_uneven_pauses_a_slot_is_overlooked() {
        check("0,2 * * * *", 2, 90, None, Missed::Few, 120);
    }

    #[test]
    fn a_day_that_never_comes_is_an_error() {
        let schedule = Schedule::parse("59 23 31 2 *").expect("a schedule");
        assert_eq!(since(0, 86_400, &schedule), Err(NEVER));
        assert_eq!(next(0, 86_400, &schedule), None);
    }
}
