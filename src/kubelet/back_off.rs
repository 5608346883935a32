//! How long is waited between tries: restarts of containers, and pulls.

use crate::arena::Symbol;
use crate::units::{SimDuration, SimTime};

/// First wait of a container that crashed again; doubled up to the longest.
const FIRST_WAIT: SimDuration = SimDuration::from_secs(10);

/// The longest wait after a pull that failed, as many times doubled from the same first one.
const LONGEST_PULL_WAIT: SimDuration = SimDuration::from_secs(300);

/// The back-off of one pod's containers.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct BackOff {
    wait: SimDuration,
    started_at: Option<SimTime>,
}

impl BackOff {
    /// How long to wait after an end at `finished_at`, given that containers started at `started_at`.
    ///
    /// # Source
    /// kubelet, `doBackOff`: at once the first time, then 10 s doubling to five minutes; forgotten when the container ran
    /// for more than twice the longest wait.
    pub(super) fn next(&mut self, started_at: SimTime, finished_at: SimTime, longest: SimDuration) -> SimDuration {
        let ran = finished_at.saturating_since(started_at);
        if self.started_at.is_none() || ran > longest * 2 {
            *self = Self { wait: FIRST_WAIT, started_at: Some(started_at) };
            return SimDuration::ZERO;
        }
        let wait = self.wait.min(longest);
        self.wait = (self.wait * 2).min(longest);
        self.started_at = Some(started_at);
        wait
    }

    /// That of containers which have been restarted so often, and how long they wait for the next time.
    pub(super) fn after(restarts: u32, now: SimTime, longest: SimDuration) -> (Self, SimDuration) {
        let doublings = restarts.saturating_sub(1).min(16);
        let wait = (FIRST_WAIT * (1 << doublings)).min(longest);
        (Self { wait: (wait * 2).min(longest), started_at: Some(now) }, wait)
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
}

impl PullBackOff {
    /// That of an image whose pull has not failed yet.
    pub(super) fn new(image: Symbol, now: SimTime) -> Self {
        Self { image, wait: SimDuration::ZERO, failed_at: now, syncs: 0 }
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
            let (mut back_off, wait) = BackOff::after(restarts, SimTime::ZERO, longest);
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
