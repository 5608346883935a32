//! How long is waited between tries: restarts of containers, and pulls.

use crate::arena::Symbol;
use crate::units::{SimDuration, SimTime};

/// First wait of a container that crashed again; doubled up to the longest.
const FIRST_WAIT: SimDuration = SimDuration::from_secs(10);

/// The longest wait after a pull that failed, as many times doubled from the same first one.
const LONGEST_PULL_WAIT: SimDuration = SimDuration::from_secs(300);

/// A back-off is forgotten when no start has made use of it for so long, whatever the longest wait is.
///
/// # Source
/// kubelet, `HasExpiredFunc` of its crash loops.
const FORGOTTEN_AFTER: SimDuration = SimDuration::from_secs(600);

/// The back-off of one pod's containers.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct BackOff {
    /// How long a container that has ended waits next time; nothing if no back-off is remembered.
    wait: SimDuration,
}

impl BackOff {
    /// That of a container which has been found dead by a kubelet that remembered no back-off, and is started at once.
    pub(super) fn of_found_dead() -> Self {
        Self { wait: FIRST_WAIT }
    }

    /// How long to wait after an end at `finished_at`, given that containers started at `started_at`.
    ///
    /// # Source
    /// kubelet, `doBackOff`: at once the first time, then 10 s doubling to the longest, from the end on; what is forgotten
    /// meanwhile holds nothing up.
    pub(super) fn next(&mut self, started_at: SimTime, finished_at: SimTime, longest: SimDuration) -> SimDuration {
        let ran = finished_at.saturating_since(started_at);
        if self.wait.is_zero() || ran > FORGOTTEN_AFTER {
            *self = Self::of_found_dead();
            return SimDuration::ZERO;
        }
        let (wait, forgotten_in) = (self.wait.min(longest), FORGOTTEN_AFTER - ran);
        if wait > forgotten_in {
            *self = Self::of_found_dead();
            return forgotten_in;
        }
        self.wait = (wait * 2).min(longest);
        wait
    }

    /// How long to wait after containers that started at `started_at` were killed at `killed_at` by the sync that would start them
    /// again; those before them had ended at `before_at`, if there were any.
    ///
    /// # Source
    /// kubelet, `SyncPod` and `doBackOff`: that sync goes by what was there before it killed, and so counts from the end before. It
    /// takes the container that it kills for none that has ended.
    pub(super) fn next_of_killed(
        &mut self,
        started_at: SimTime,
        before_at: Option<SimTime>,
        killed_at: SimTime,
        longest: SimDuration,
    ) -> SimDuration {
        let Some(before_at) = before_at else { return SimDuration::ZERO };
        let wait = self.wait.min(longest);
        if wait.is_zero() || killed_at.saturating_since(started_at) > FORGOTTEN_AFTER {
            *self = Self::of_found_dead();
        } else if killed_at.saturating_since(before_at) >= wait {
            self.wait = (wait * 2).min(longest);
        } else {
            return self.next(started_at, killed_at, longest);
        }
        SimDuration::ZERO
    }

    /// That of containers which have last been started so long after their end: as long a wait goes before, to which up to half as much is
    /// added.
    pub(super) fn behind(gap: SimDuration, longest: SimDuration) -> Self {
        let mut back_off = Self::of_found_dead();
        while back_off.wait <= gap && back_off.wait < longest {
            back_off.wait = (back_off.wait * 2).min(longest);
        }
        back_off
    }

    /// That of containers which have been restarted so often, and how long they wait for the next time.
    pub(super) fn after(restarts: u32, longest: SimDuration) -> (Self, SimDuration) {
        let doublings = restarts.saturating_sub(1).min(16);
        let wait = (FIRST_WAIT * (1 << doublings)).min(longest);
        (Self { wait: (wait * 2).min(longest) }, wait)
    }
}

/// How a pod's image could not be had.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum PullFailure {
    /// The registry does not give it.
    Refused,
    /// The node has asked for too many in too short a time.
    TooMany,
    /// It is not there, and may not be pulled.
    Never,
}

/// The back-off of one image of a pod.
#[derive(Copy, Clone, Debug)]
pub(super) struct PullBackOff {
    pub(super) image: Symbol,
    wait: SimDuration,
    failed_at: SimTime,
    /// Syncs that the pod has waited for, so that each draws its own jitter.
    pub(super) syncs: u64,
    /// Whether a sync has found the present back-off, and its status is posted.
    pub(super) is_posted: bool,
}

impl PullBackOff {
    /// That of an image whose pull has not failed yet.
    pub(super) fn new(image: Symbol, now: SimTime) -> Self {
        Self { image, wait: SimDuration::ZERO, failed_at: now, syncs: 0, is_posted: false }
    }

    /// One more failure.
    ///
    /// # Source
    /// kubelet, image manager and `flowcontrol.Backoff`: 10 s, doubled up to five minutes, forgotten when nothing has failed
    /// for twice that long.
    pub(super) fn fail(&mut self, now: SimTime) {
        let is_stale = now.saturating_since(self.failed_at) > LONGEST_PULL_WAIT * 2;
        self.wait = if is_stale || self.wait.is_zero() { FIRST_WAIT } else { (self.wait * 2).min(LONGEST_PULL_WAIT) };
        self.failed_at = now;
        self.is_posted = false;
    }

    /// Until when nothing is pulled.
    pub(super) fn until(&self) -> SimTime {
        self.failed_at + self.wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_before_a_start_tells_which_wait_is_next() {
        let longest = SimDuration::from_secs(300);
        let next = |gap_s: f64| {
            let mut back_off = BackOff::behind(SimDuration::from_secs_f64(gap_s), longest);
            back_off.next(SimTime::ZERO, SimTime::from_secs(5), longest).as_secs()
        };
        assert_eq!([0.5, 12.0, 15.0, 29.0, 45.0, 290.0, 420.0].map(next), [10, 20, 20, 40, 80, 300, 300]);
    }

    #[test]
    fn crash_loops_wait_ten_seconds_doubling_to_five_minutes() {
        let mut back_off = BackOff::default();
        let longest = SimDuration::from_secs(300);
        let at = SimTime::ZERO;
        let waits: Vec<u64> = (0..8).map(|_| back_off.next(at, at, longest).as_secs()).collect();
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
    }

    #[test]
    fn a_crash_loop_that_is_found_waits_as_long_as_it_had_come_to() {
        let longest = SimDuration::from_secs(300);
        for (restarts, expected) in [(0, 10), (1, 10), (2, 20), (5, 160), (6, 300), (4_000_000_000, 300)] {
            let (mut back_off, wait) = BackOff::after(restarts, longest);
            assert_eq!(wait.as_secs(), expected, "{restarts}");
            assert_eq!(back_off.next(SimTime::ZERO, SimTime::ZERO, longest), (wait * 2).min(longest));
        }
    }

    #[test]
    fn a_container_that_ran_over_ten_minutes_is_restarted_at_once() {
        let mut back_off = BackOff::default();
        let longest = SimDuration::from_secs(300);
        let at = SimTime::ZERO;
        for _ in 0..3 {
            back_off.next(at, at, longest);
        }
        assert_eq!(back_off.next(at, at + SimDuration::from_secs(601), longest), SimDuration::ZERO);
    }

    #[test]
    fn a_back_off_is_forgotten_after_ten_minutes_whatever_the_longest_wait() {
        let at = SimTime::ZERO;
        let waits = |runs_s: u64, longest_s: u64| -> Vec<u64> {
            let mut back_off = BackOff::default();
            let (runs, longest) = (SimDuration::from_secs(runs_s), SimDuration::from_secs(longest_s));
            (0..9).map(|_| back_off.next(at, at + runs, longest).as_secs()).collect()
        };
        assert_eq!(waits(180, 60), [0, 10, 20, 40, 60, 60, 60, 60, 60]);
        assert_eq!(waits(601, 60), [0; 9]);
        // What is left of five minutes when ten have passed since the start is not waited for, and all begins anew.
        assert_eq!(waits(360, 300), [0, 10, 20, 40, 80, 160, 240, 10, 20]);
    }

    #[test]
    fn who_is_killed_by_a_sync_counts_from_the_end_before() {
        let (mut back_off, longest) = (BackOff::default(), SimDuration::from_secs(300));
        let mut before = None;
        let mut waits = Vec::new();
        for minute in 0..8 {
            let (started_at, killed_at) = (SimTime::from_secs(minute * 60), SimTime::from_secs(minute * 60 + 59));
            waits.push(back_off.next_of_killed(started_at, before, killed_at, longest).as_secs());
            before = Some(killed_at);
        }
        // The back-off is none, then as if it were 10, 20, 40 and 80 s: the first that is longer than the run counts.
        assert_eq!(waits, [0, 0, 0, 0, 0, 80, 160, 300]);
    }

    #[test]
    fn pulls_back_off_from_ten_seconds_to_five_minutes_and_begin_anew_after_ten_minutes_of_peace() {
        let mut back_off = PullBackOff::new(Symbol::new("i"), SimTime::ZERO);
        let waits: Vec<u64> = (0..7)
            .map(|second| {
                back_off.fail(SimTime::from_secs(second));
                back_off.wait.as_secs()
            })
            .collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300]);
        back_off.fail(SimTime::from_secs(606));
        assert_eq!(back_off.wait.as_secs(), 300);
        back_off.fail(SimTime::from_secs(606 + 601));
        assert_eq!(back_off.wait.as_secs(), 10);
    }
}
