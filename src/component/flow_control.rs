//! The client's token bucket: requests wait in line for tokens, without limit and without priority.

use crate::units::{SimDuration, SimTime};

/// A client's rate limit.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct ClientLimit {
    /// Sustained requests a second; infinite or not positive = unlimited.
    pub qps: f64,
    /// Requests at once after a pause.
    pub burst: u32,
}

impl ClientLimit {
    /// No limit.
    pub const UNLIMITED: Self = Self { qps: f64::INFINITY, burst: u32::MAX };
}

/// A token bucket served in arrival order.
///
/// # Source
/// client-go, flow control: N requests at once leave by max(0, (N − burst) / qps) seconds.
#[derive(Copy, Clone, Debug)]
pub struct TokenBucket {
    interval: SimDuration,
    burst: u32,
    /// When the bucket would be full again if nothing more came.
    full_at: SimTime,
}

impl TokenBucket {
    /// A full bucket.
    #[must_use]
    pub fn new(limit: ClientLimit) -> Self {
        let interval = if limit.qps.is_finite() && limit.qps > 0.0 {
            SimDuration::from_secs_f64(1.0 / limit.qps)
        } else {
            SimDuration::ZERO
        };
        Self { interval, burst: limit.burst.max(1), full_at: SimTime::from_nanos(i64::MIN / 2) }
    }

    /// Takes the next token and says when the request may leave: `now` or later.
    pub fn reserve(&mut self, now: SimTime) -> SimTime {
        if self.interval == SimDuration::ZERO {
            return now;
        }
        let full_at = self.full_at.max(now) + self.interval;
        let slack = self.interval * u64::from(self.burst);
        self.full_at = full_at;
        now.max(full_at - slack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        let mut bucket = TokenBucket::new(ClientLimit { qps: 20.0, burst: 30 });
        let times: Vec<_> = (0..50).map(|_| bucket.reserve(SimTime::ZERO)).collect();
        assert_eq!(times[29], SimTime::ZERO);
        assert_eq!(times[30], SimTime::from_millis(50));
        assert_eq!(times[49], SimTime::from_millis(1000));
    }

    #[test]
    fn tokens_come_back_with_time() {
        let mut bucket = TokenBucket::new(ClientLimit { qps: 20.0, burst: 2 });
        for _ in 0..4 {
            bucket.reserve(SimTime::ZERO);
        }
        assert_eq!(bucket.reserve(SimTime::from_secs(10)), SimTime::from_secs(10));
    }
}
