//! How an informer gets its watch back after the API server was away.

use crate::units::{SimDuration, SimTime};

/// The first pause, before jitter; each further one is twice as long.
const FIRST: SimDuration = SimDuration::from_millis(800);

/// The longest pause, before jitter.
const LONGEST: SimDuration = SimDuration::from_secs(30);

/// After so long the next pause is the first again, whatever has been since.
pub const RESET: SimDuration = SimDuration::from_secs(120);

/// Of a longer outage only the end is played: what went before no longer shows.
const PLAYED_MAX: SimDuration = SimDuration::from_secs(900);

/// For so long an API server that starts lets connections wait before it answers.
const ANSWERS_AFTER: SimDuration = SimDuration::from_millis(1600);

/// What keeps a cache filled: lists, then watches, and backs off when it meets no API server.
///
/// # Source
/// client-go, reflector: a watch that breaks is asked for again at once; while the connection is refused, after pauses of 0.8 s
/// to 30 s that double, each lengthened by up to as much again. The watch cache of an API server that has just begun does not
/// reach back to what the reflector saw last ("too old resource version"): that costs one more pause, and then it lists. An API server that
/// starts listens before it answers: who asks meanwhile is not refused. The first
/// pause more than two minutes after the last time begins with the shortest again, also in the middle of an outage.
///
/// # Differs
/// What a component reads is always the truth: while its watches are blind nothing wakes it, but what something else makes
/// it look at it finds as it is.
#[derive(Copy, Clone, Debug, Default)]
pub struct Reflector {
    blind_until: Option<SimTime>,
    /// Pauses since the back-off began anew, and when it did.
    pauses: u32,
    began_at: Option<SimTime>,
}

impl Reflector {
    /// The reflector of a process that began at `began_at`; none if that is long ago.
    #[must_use]
    pub fn new(began_at: Option<SimTime>) -> Self {
        Self { began_at, ..Self::default() }
    }

    /// What is committed before then is seen then.
    #[must_use]
    pub fn blind_until(&self) -> SimTime {
        self.blind_until.unwrap_or(SimTime::MIN)
    }

    /// The API server was away from `since` to `until`, when it answers; `at_most` ends the blindness if it comes first, and `unit` gives
    /// numbers in [0, 1).
    pub fn outage(&mut self, since: SimTime, until: SimTime, at_most: Option<SimTime>, mut unit: impl FnMut() -> f64) {
        let answered_at = self.tried(since, until, &mut unit);
        let seen = self.pause(answered_at, unit());
        self.blind_until = Some(at_most.map_or(seen, |at_most| seen.min(at_most)));
    }

    /// When a process lists for the first time that has begun at `began_at`, while the API server was away, which answers from `until` on:
    /// it has seen nothing yet that could be too old.
    #[must_use]
    pub fn first_list(began_at: SimTime, until: SimTime, mut unit: impl FnMut() -> f64) -> SimTime {
        Self::new(Some(began_at)).tried(began_at, until, &mut unit)
    }

    /// When a try is answered, if the first is at `since`.
    fn tried(&mut self, since: SimTime, until: SimTime, unit: &mut impl FnMut() -> f64) -> SimTime {
        let (mut at, listens_at) = (since, until - ANSWERS_AFTER);
        while at < listens_at {
            at = self.pause(at, unit());
            if until.saturating_since(at) > PLAYED_MAX {
                at = until - PLAYED_MAX;
            }
        }
        at.max(until)
    }

    /// When the pause that begins at `at` is over.
    fn pause(&mut self, at: SimTime, unit: f64) -> SimTime {
        if self.began_at.is_none_or(|began| at.saturating_since(began) > RESET) {
            self.pauses = 0;
            self.began_at = Some(at);
        }
        let pause = FIRST.checked_mul(1 << self.pauses.min(10)).unwrap_or(LONGEST).min(LONGEST);
        self.pauses += 1;
        at + pause + SimDuration::from_nanos((pause.as_nanos() as f64 * unit) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long after its begin an outage of so many seconds is over for a reflector that draws the same number each time.
    #[track_caller]
    fn check(outage_s: f64, unit: f64, expected_s: f64) {
        let mut reflector = Reflector::default();
        let begin = SimTime::from_secs(50);
        reflector.outage(begin, begin + SimDuration::from_secs_f64(outage_s), None, || unit);
        let blind_s = reflector.blind_until().saturating_since(begin).as_secs_f64();
        assert!((blind_s - expected_s).abs() < 1e-6, "{blind_s} s, expected {expected_s} s");
    }

    #[test]
    fn pauses_double_and_one_more_is_needed_after_the_return() {
        // Tries at 0, 0.8, 2.4, 5.6, 12 s; then a list 12.8 s after the one that got through.
        check(8.6, 0.0, 0.8 + 1.6 + 3.2 + 6.4 + 12.8);
    }

    #[test]
    fn who_asks_while_the_api_server_starts_waits_for_it() {
        check(0.5, 0.0, 0.5 + 0.8);
        // The try at 5.6 s is answered at 7 s.
        check(7.0, 0.0, 7.0 + 6.4);
    }

    #[test]
    fn jitter_makes_pauses_up_to_twice_as_long() {
        check(2.1, 0.5, 2.1 + 2.4);
    }

    #[test]
    fn pauses_do_not_grow_above_thirty_seconds() {
        // 0.8 + 1.6 + 3.2 + 6.4 + 12.8 + 25.6 = 50.4, then 30 each.
        check(70.0, 0.0, 50.4 + 30.0 + 30.0);
    }

    #[test]
    fn after_two_minutes_the_shortest_pause_comes_again() {
        // The last pause of 30 s ends at 140.4 s; then 0.8 and 1.6 s, and one more for the list.
        check(143.7, 0.0, 143.7 + 3.2);
    }

    #[test]
    fn two_minutes_count_from_the_begin_of_a_young_process() {
        let mut reflector = Reflector::new(Some(SimTime::ZERO));
        let begin = SimTime::from_secs(119);
        reflector.outage(begin, begin + SimDuration::from_millis(2600), None, || 0.0);
        // 0.8 s, and 1.6 s; then, more than 120 s after the begin, the shortest again.
        assert_eq!(reflector.blind_until(), begin + SimDuration::from_millis(2600 + 800));
    }

    #[test]
    fn a_second_outage_goes_on_with_the_pauses_of_the_first_unless_two_minutes_have_passed() {
        let mut reflector = Reflector::default();
        let short = SimDuration::from_millis(2600);
        reflector.outage(SimTime::ZERO, SimTime::ZERO + short, None, || 0.0);
        let again = SimTime::from_secs(60);
        reflector.outage(again, again + short, None, || 0.0);
        // The first took 0.8, 1.6 and 3.2 s.
        assert_eq!(reflector.blind_until(), again + SimDuration::from_millis(6400 + 12_800));
        let late = SimTime::from_secs(300);
        reflector.outage(late, late + short, None, || 0.0);
        assert_eq!(reflector.blind_until(), late + SimDuration::from_millis(2600 + 3200));
    }

    #[test]
    fn an_outage_of_a_year_takes_no_time_to_work_out() {
        let mut reflector = Reflector::default();
        let end = SimTime::from_secs(365 * 24 * 3600);
        let mut draws = 0;
        reflector.outage(SimTime::ZERO, end, None, || {
            draws += 1;
            0.25
        });
        assert!(draws < 100, "{draws}");
        assert!(reflector.blind_until() > end);
    }
}
