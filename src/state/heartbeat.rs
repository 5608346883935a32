//! Heartbeats without heartbeat events: when a kubelet renewed its lease or posted its status, worked out on demand.
//!
//! A healthy node costs nothing: nobody plays its renewals. A loop is a closed formula from its start, so that the last
//! renewal before any instant, and the first one after it, are exact and always the same, however often one asks.

use crate::units::{SimDuration, SimTime};

/// A periodic loop with jitter: occurrence `k` lies at `first + k·period + jitter(k)`.
///
/// # Source
/// Kubelet, lease controller and node status loop: the next start follows the last by the interval plus up to 4 %.
///
/// # Differs
/// The real loop's jitter adds up, so that its phase drifts; here each occurrence is displaced on its own by up to 2 % of
/// the interval around a mean period of 102 %. The distance of neighbours stays within the same 100 to 104 %.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatLoop {
    first: SimTime,
    interval: SimDuration,
    key: u64,
}

impl HeartbeatLoop {
    /// A loop whose first occurrence is at `first`; `key` is drawn from the node's own stream.
    #[must_use]
    pub fn new(first: SimTime, interval: SimDuration, key: u64) -> Self {
        Self { first, interval: interval.max(SimDuration::from_millis(1)), key }
    }

    fn period_ns(&self) -> i64 {
        let ns = self.interval.as_nanos() as i64;
        ns + ns / 50
    }

    fn jitter_ns(&self, k: i64) -> i64 {
        if k <= 0 {
            return 0;
        }
        // splitmix64 on (key, k)
        let mut z = self.key.wrapping_add((k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let span = (self.interval.as_nanos() / 50).max(1);
        (z % span) as i64 - (span / 2) as i64
    }

    fn at(&self, k: i64) -> SimTime {
        SimTime::from_nanos(self.first.as_nanos() + k * self.period_ns() + self.jitter_ns(k))
    }

    /// The last occurrence at or before `now`; none if the loop had not begun.
    #[must_use]
    pub fn last_at_or_before(&self, now: SimTime) -> Option<SimTime> {
        if now < self.first {
            return None;
        }
        let mut k = (now.as_nanos() - self.first.as_nanos()) / self.period_ns() + 1;
        while k > 0 && self.at(k) > now {
            k -= 1;
        }
        Some(self.at(k))
    }

    /// The first occurrence strictly after `now`.
    #[must_use]
    pub fn first_after(&self, now: SimTime) -> SimTime {
        if now < self.first {
            return self.first;
        }
        let mut k = (now.as_nanos() - self.first.as_nanos()) / self.period_ns() - 1;
        k = k.max(0);
        while self.at(k) <= now {
            k += 1;
        }
        self.at(k)
    }
}

/// A node's signs of life as they reach the API server: lease renewals and status posts.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Heartbeat {
    /// The lease loop of the present run of the kubelet.
    lease: Option<HeartbeatLoop>,
    /// The unchanged-status reports of the present run.
    reports: Option<HeartbeatLoop>,
    /// When renewals stopped reaching the API server; none while they do.
    silent_since: Option<SimTime>,
    /// Last renewal of earlier runs.
    renewed_before: Option<SimTime>,
    /// The first renewal of a loop that goes on, which is none of its beats.
    back_at: Option<SimTime>,
    /// Last status post because of a change, or of earlier runs.
    posted: Option<SimTime>,
}

impl Heartbeat {
    /// The kubelet begins (again) to renew its lease. If its loop is the one that it had, it renews now and then goes on as before.
    pub fn begin(&mut self, now: SimTime, lease: HeartbeatLoop, reports: HeartbeatLoop) {
        self.renewed_before = self.renewed_at(now);
        self.back_at = (self.lease == Some(lease)).then_some(now);
        self.posted = self.posted_at(now);
        self.lease = Some(lease);
        self.reports = Some(reports);
        self.silent_since = None;
    }

    /// Nothing of the kubelet reaches the API server from `now` on.
    pub fn silence(&mut self, now: SimTime) {
        if self.silent_since.is_none() {
            self.silent_since = Some(now);
        }
    }

    /// The kubelet posted its status because something changed; unchanged reports follow by `reports`.
    pub fn post(&mut self, now: SimTime, reports: HeartbeatLoop) {
        self.posted = Some(now);
        self.reports = Some(reports);
    }

    /// A status that was posted before reaches the API server only now.
    pub fn arrive(&mut self, now: SimTime) {
        self.posted = Some(now);
    }

    /// Whether renewals reach the API server.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.lease.is_some() && self.silent_since.is_none()
    }

    /// Since when nothing was heard.
    #[must_use]
    pub fn silent_since(&self) -> Option<SimTime> {
        self.silent_since
    }

    fn until(&self, now: SimTime) -> SimTime {
        self.silent_since.map_or(now, |s| s.min(now))
    }

    /// The lease's `renewTime` at `now`.
    #[must_use]
    pub fn renewed_at(&self, now: SimTime) -> Option<SimTime> {
        let current = self.lease.and_then(|l| l.last_at_or_before(self.until(now)));
        current.max(self.back_at).max(self.renewed_before)
    }

    /// The lease's `renewTime` when the kubelet's present run began.
    #[must_use]
    pub fn renewed_in_earlier_runs(&self) -> Option<SimTime> {
        self.renewed_before
    }

    /// The conditions' `lastHeartbeatTime` at `now`: the last status post.
    #[must_use]
    pub fn posted_at(&self, now: SimTime) -> Option<SimTime> {
        let reported = self.reports.and_then(|l| l.last_at_or_before(self.until(now)));
        reported.max(self.posted)
    }

    /// The lease loop of the kubelet's present run.
    #[must_use]
    pub fn lease(&self) -> Option<HeartbeatLoop> {
        self.lease
    }

    /// When the kubelet's present run next tries to renew its lease after `now`, whether or not it is heard.
    #[must_use]
    pub fn next_beat(&self, now: SimTime) -> Option<SimTime> {
        self.lease.map(|l| l.first_after(now))
    }

    /// The next lease renewal after `now`, if the kubelet is heard.
    #[must_use]
    pub fn next_renewal(&self, now: SimTime) -> Option<SimTime> {
        self.is_alive().then(|| self.lease.map(|l| l.first_after(now))).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_goes_on_keeps_its_beat() {
        let s = |s: f64| SimTime::from_nanos((s * 1e9) as i64);
        let lease = HeartbeatLoop::new(s(7.0), SimDuration::from_secs(10), 3);
        let mut heartbeat = Heartbeat::default();
        heartbeat.begin(s(7.0), lease, lease);
        heartbeat.silence(s(20.0));
        let beat = heartbeat.next_beat(s(31.0));
        heartbeat.begin(s(31.0), lease, lease);
        assert_eq!(heartbeat.renewed_at(s(31.0)), Some(s(31.0)));
        assert!(heartbeat.renewed_in_earlier_runs() < Some(s(20.0)), "who was blind has seen this");
        assert_eq!((heartbeat.next_renewal(s(31.0)), heartbeat.renewed_at(beat.expect("one"))), (beat, beat));
    }

    #[test]
    fn neighbouring_renewals_lie_between_100_and_104_percent_of_the_interval() {
        let l = HeartbeatLoop::new(SimTime::from_millis(1234), SimDuration::from_secs(10), 77);
        let mut t = l.first_after(SimTime::ZERO);
        for _ in 0..1000 {
            let next = l.first_after(t);
            let gap = next.saturating_since(t).as_secs_f64();
            assert!((10.0..=10.4).contains(&gap), "{gap}");
            assert_eq!(l.last_at_or_before(next), Some(next));
            assert_eq!(l.last_at_or_before(next - SimDuration::from_nanos(1)), Some(t));
            t = next;
        }
    }

    #[test]
    fn silence_freezes_the_last_renewal() {
        let mut h = Heartbeat::default();
        let lease = HeartbeatLoop::new(SimTime::ZERO, SimDuration::from_secs(10), 1);
        h.begin(SimTime::ZERO, lease, HeartbeatLoop::new(SimTime::from_secs(200), SimDuration::from_secs(300), 2));
        h.silence(SimTime::from_secs(35));
        let last = h.renewed_at(SimTime::from_secs(35));
        assert_eq!(h.renewed_at(SimTime::from_secs(500)), last);
        assert!(!h.is_alive());
    }
}
