//! When a node was last seen alive, and when its silence is noticed.
//!
//! The controller does not compare the kubelet's time stamps with its own clock: it notes at which of its passes it first
//! saw them change. [`PassClock`] knows when passes begin without playing those that find nothing, so that the pass at
//! which a renewal was seen is worked out only once somebody falls silent.

use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::component::NodeConditionUpdate;
use crate::state::{Heartbeat, Node, NodeCondition, NodeConditionKind, Status};
use crate::units::{SimDuration, SimTime};

/// What a pass takes at least. Real passes take time, so that ten periods exceed a grace of ten times the period.
pub(super) const PASS_MIN: SimDuration = SimDuration::from_millis(1);

/// How many changes of the beat are remembered; the signs of life that count are a few passes old.
const SEGMENTS_MAX: usize = 64;

/// Passes that follow each other at the idle distance.
#[derive(Copy, Clone, Debug)]
struct Segment {
    first: SimTime,
    index: u64,
}

/// When the passes of the node monitor begin.
///
/// # Source
/// Node lifecycle controller: a pass begins one period after the last one ended.
#[derive(Clone, Debug)]
pub(super) struct PassClock {
    period: SimDuration,
    segments: VecDeque<Segment>,
    running: Option<SimTime>,
    /// Begin of the last pass that was played.
    played: SimTime,
}

impl PassClock {
    /// A clock whose pass number 0 begins at `first`.
    pub(super) fn new(first: SimTime, period: SimDuration) -> Self {
        Self { period, segments: VecDeque::from([Segment { first, index: 0 }]), running: None, played: SimTime::MIN }
    }

    /// A clock that has been going for long, with a pass at `pass`.
    pub(super) fn going(pass: SimTime, period: SimDuration) -> Self {
        const BEFORE: u64 = 1000;
        Self::new(pass - (period + PASS_MIN) * BEFORE, period)
    }

    fn step(&self) -> SimDuration {
        self.period + PASS_MIN
    }

    fn last_segment(&self) -> Segment {
        *self.segments.back().expect("a pass clock has a segment")
    }

    /// Whether a pass is going on.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// The first pass at or after `at`; none while a pass goes on whose end decides it.
    pub(super) fn at_or_after(&self, at: SimTime) -> Option<SimTime> {
        let mut found = None;
        for (place, segment) in self.segments.iter().enumerate() {
            let steps = at.saturating_since(segment.first).as_nanos().div_ceil(self.step().as_nanos());
            let index = segment.index + steps;
            if self.segments.get(place + 1).is_none_or(|next| index < next.index) {
                found = Some(segment.first + self.step() * steps);
                break;
            }
        }
        found.filter(|pass| self.running.is_none_or(|start| *pass <= start))
    }

    /// The first pass after `at`; none while a pass goes on whose end decides it.
    pub(super) fn after(&self, at: SimTime) -> Option<SimTime> {
        self.at_or_after(at + SimDuration::from_nanos(1))
    }

    /// The next pass that can be played: at or after `now`, and not one that was.
    pub(super) fn next(&self, now: SimTime) -> Option<SimTime> {
        self.at_or_after(now.max(self.played + SimDuration::from_nanos(1)))
    }

    /// Number and begin of the latest pass that began at or before `at`.
    pub(super) fn latest(&self, at: SimTime) -> (u64, SimTime) {
        let at = self.running.map_or(at, |start| at.min(start));
        let Some(place) = self.segments.iter().rposition(|segment| segment.first <= at) else {
            return (0, self.segments[0].first);
        };
        let segment = self.segments[place];
        let steps = at.saturating_since(segment.first).as_nanos() / self.step().as_nanos();
        // The pass that moved the beat is the last of its segment.
        let last = self.segments.get(place + 1).map_or(u64::MAX, |next| next.index - 1 - segment.index);
        let steps = steps.min(last);
        (segment.index + steps, segment.first + self.step() * steps)
    }

    /// The pass that is due now begins.
    pub(super) fn begin(&mut self, now: SimTime) {
        assert!(self.running.is_none(), "a pass of the node monitor begins at {now} in the middle of another");
        self.running = Some(now);
        self.played = now;
    }

    /// The pass ends; true if those after it begin at other times than they would have.
    pub(super) fn end(&mut self, now: SimTime) -> bool {
        let start = self.running.take().expect("a pass ends that has begun");
        if now <= start + PASS_MIN {
            return false;
        }
        let (index, _) = self.latest(start);
        let next = Segment { first: now + self.period, index: index + 1 };
        if self.last_segment().index == next.index {
            self.segments.pop_back();
        }
        self.segments.push_back(next);
        if self.segments.len() > SEGMENTS_MAX {
            self.segments.pop_front();
        }
        true
    }
}

/// What the controller remembers of a node; it outlives the Node object.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Health {
    /// The Ready condition as the last pass left it; none if there was none.
    pub(super) ready: Option<Status>,
    /// The probe is not older than this: when the node was first seen, or when all probes were reset.
    pub(super) floor: SimTime,
    /// The Node object is another one than at the last pass: it was deleted and created again.
    pub(super) is_another: bool,
}

/// The pass at which the node was last found alive; none if that depends on how long the present pass takes.
///
/// # Source
/// Node lifecycle controller, health update: a status post or a renewed lease moves the probe to the pass that sees it. A
/// post seen without a renewal makes the controller forget the lease, so that the pass after it moves the probe once more.
///
/// While the renewals of the kubelet's present run are not heard of (`is_heard`), because the watch of leases is blind, only those before
/// it count.
pub(super) fn probe(
    clock: &PassClock,
    heartbeat: &Heartbeat,
    is_heard: bool,
    floor: SimTime,
    now: SimTime,
) -> Option<SimTime> {
    let seen = |at: Option<SimTime>| match at {
        Some(at) => clock.at_or_after(at).map(Some),
        None => Some(None),
    };
    let renewed_at = if is_heard { heartbeat.renewed_at(now) } else { heartbeat.renewed_in_earlier_runs() };
    let by_lease = seen(renewed_at)?;
    let by_post = seen(heartbeat.posted_at(now))?;
    let probe = match (by_lease, by_post) {
        (Some(lease), Some(post)) if post > lease => Some(clock.after(post)?),
        (lease, post) => lease.max(post),
    };
    Some(probe.map_or(floor, |probe| probe.max(floor)))
}

/// The conditions that a silent node gets, in the order in which they are written.
///
/// # Source
/// Node lifecycle controller, health update, step 4; `NetworkUnavailable` is not touched.
pub(super) fn unknown_conditions(node: &Node, now: SimTime) -> SmallVec<[NodeConditionUpdate; 5]> {
    const KINDS: [NodeConditionKind; 4] = [
        NodeConditionKind::Ready,
        NodeConditionKind::MemoryPressure,
        NodeConditionKind::DiskPressure,
        NodeConditionKind::PidPressure,
    ];
    let mut updates = SmallVec::new();
    for kind in KINDS {
        let reason = match node.conditions.get(kind) {
            None => "NodeStatusNeverUpdated",
            Some(condition) if condition.status != Status::Unknown => "NodeStatusUnknown",
            Some(_) => continue,
        };
        let condition = NodeCondition { status: Status::Unknown, reason, since: now };
        updates.push(NodeConditionUpdate { kind, condition });
    }
    updates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::HeartbeatLoop;

    const T: SimDuration = SimDuration::from_secs(5);

    fn ms(millis: i64) -> SimTime {
        SimTime::from_millis(millis)
    }

    #[test]
    fn idle_passes_follow_at_the_period_and_their_own_length() {
        let clock = PassClock::new(ms(2000), T);
        assert_eq!(clock.at_or_after(ms(0)), Some(ms(2000)));
        assert_eq!(clock.at_or_after(ms(2000)), Some(ms(2000)));
        assert_eq!(clock.after(ms(2000)), Some(ms(7001)));
        assert_eq!(clock.at_or_after(ms(7002)), Some(ms(12_002)));
        assert_eq!(clock.latest(ms(12_001)), (1, ms(7001)));
    }

    #[test]
    fn a_long_pass_moves_those_after_it() {
        let mut clock = PassClock::new(ms(0), T);
        clock.begin(ms(5001));
        assert_eq!(clock.at_or_after(ms(5002)), None);
        assert_eq!(clock.at_or_after(ms(4000)), Some(ms(5001)));
        assert!(clock.end(ms(11_000)));
        assert_eq!(clock.at_or_after(ms(5002)), Some(ms(16_000)));
        assert_eq!(clock.after(ms(16_000)), Some(ms(21_001)));
        assert_eq!(clock.at_or_after(ms(3000)), Some(ms(5001)));
        assert_eq!(clock.latest(ms(15_000)), (1, ms(5001)));
        assert_eq!(clock.latest(ms(16_000)), (2, ms(16_000)));
        clock.begin(ms(16_000));
        assert!(!clock.end(ms(16_001)));
        assert_eq!(clock.after(ms(16_000)), Some(ms(21_001)));
    }

    fn heartbeat(lease_ms: i64, post_ms: i64) -> Heartbeat {
        let far = SimDuration::from_secs(100_000);
        let mut heartbeat = Heartbeat::default();
        let lease = HeartbeatLoop::new(ms(lease_ms), far, 1);
        heartbeat.begin(ms(lease_ms.min(post_ms)), lease, HeartbeatLoop::new(ms(post_ms), far, 2));
        heartbeat.silence(ms(lease_ms.max(post_ms) + 1));
        heartbeat
    }

    /// Passes at 0, 5.001, 10.002, …
    #[track_caller]
    fn check_probe(lease_ms: i64, post_ms: i64, expected_ms: i64) {
        let clock = PassClock::new(ms(0), T);
        assert_eq!(probe(&clock, &heartbeat(lease_ms, post_ms), true, SimTime::MIN, ms(60_000)), Some(ms(expected_ms)));
    }

    #[test]
    fn the_probe_is_the_pass_that_sees_the_renewal() {
        check_probe(3000, 1000, 5001);
        check_probe(5001, 1000, 5001);
        check_probe(5002, 1000, 10_002);
    }

    #[test]
    fn a_status_post_after_the_last_renewal_is_noticed_one_pass_later() {
        check_probe(3000, 6000, 15_003);
        check_probe(3000, 4000, 5001);
    }

    #[test]
    fn the_flip_happens_on_the_tenth_pass_for_a_grace_of_ten_periods() {
        let clock = PassClock::new(ms(0), T);
        let seen = ms(5001);
        let flip = clock.after(seen + SimDuration::from_secs(50));
        assert_eq!(flip, Some(ms(5001 + 10 * 5001)));
        let flip = clock.after(seen + SimDuration::from_secs(40));
        assert_eq!(flip, Some(ms(5001 + 8 * 5001)));
    }
}
