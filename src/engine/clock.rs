//! The simulated clock.

use crate::units::SimTime;

/// The current instant, which only moves forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    now: SimTime,
}

impl Clock {
    /// A clock that stands at an instant.
    #[must_use]
    pub const fn new(now: SimTime) -> Self {
        Self { now }
    }

    /// The current instant.
    #[must_use]
    pub const fn now(self) -> SimTime {
        self.now
    }

    /// Moves on to an instant, which may be the current one.
    ///
    /// # Panics
    ///
    /// If the instant has passed: an event was queued for the past.
    pub fn advance_to(&mut self, at: SimTime) {
        assert!(at >= self.now, "the clock stands at {} s and cannot go back to {at} s", self.now);
        self.now = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_moves_forward() {
        let mut clock = Clock::new(SimTime::from_secs(-5));
        clock.advance_to(SimTime::ZERO);
        clock.advance_to(SimTime::ZERO);
        assert_eq!(clock.now(), SimTime::ZERO);
    }

    #[test]
    #[should_panic(expected = "the clock stands at 1.000 s and cannot go back to 0.999 s")]
    fn the_clock_does_not_go_back() {
        Clock::new(SimTime::from_secs(1)).advance_to(SimTime::from_millis(999));
    }
}
