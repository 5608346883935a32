//! How fast simulated time goes by the clock on the wall.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::units::{SimDuration, SimTime};

/// How fast simulated time goes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Speed {
    /// It stands still.
    Paused,
    /// So many simulated seconds in one.
    Times(f64),
    /// As fast as the machine can.
    Max,
}

/// The slowest pace at which time can be seen to go, and the fastest.
const TIMES_MIN: f64 = 1e-3;
const TIMES_MAX: f64 = 1e6;

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "paused" | "0" | "0x" => return Ok(Self::Paused),
            "max" => return Ok(Self::Max),
            _ => {}
        }
        let times = text.strip_suffix('x').unwrap_or(text).parse::<f64>().ok();
        match times.filter(|times| (TIMES_MIN..=TIMES_MAX).contains(times)) {
            Some(times) => Ok(Self::Times(times)),
            None => Err(format!(
                "`{text}` is no speed: write paused, max, or how often faster, such as 60x, from {TIMES_MIN}x to {TIMES_MAX}x"
            )),
        }
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused => f.write_str("paused"),
            Self::Times(times) => write!(f, "{times}x"),
            Self::Max => f.write_str("max"),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "it decides how far a run is played, and nothing that happens in it")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// Where simulated time should be by the clock on the wall.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pace {
    pub(super) speed: Speed,
    from: (Instant, SimTime),
}

impl Pace {
    pub(super) fn new(speed: Speed, at: SimTime) -> Self {
        Self { speed, from: (now(), at) }
    }

    /// How far to play now; none if time stands still.
    pub(super) fn target(&self) -> Option<SimTime> {
        let times = match self.speed {
            Speed::Paused => return None,
            Speed::Max => return Some(SimTime::from_nanos(i64::MAX)),
            Speed::Times(times) => times,
        };
        let nanos = now().duration_since(self.from.0).as_secs_f64() * 1e9 * times;
        Some(self.from.1 + SimDuration::from_nanos(nanos as u64))
    }

    /// Goes on from an instant: what was missed is not made up for.
    pub(super) fn rebase(&mut self, at: SimTime) {
        self.from = (now(), at);
    }
}

/// How long the owner plays before it listens again.
pub(super) const SLICE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read_and_written() {
        for text in ["paused", "1x", "60x", "0.5x", "0.001x", "1000000x", "max"] {
            assert_eq!(text.parse::<Speed>().expect(text).to_string(), text);
        }
        assert_eq!("60".parse(), Ok(Speed::Times(60.0)));
        for text in ["", "fast", "-1x", "NaNx", "infx", "1e9x", "1e-300x", "0.0009x"] {
            assert!(text.parse::<Speed>().is_err(), "{text}");
        }
    }
}
