//! The load on a workload over time, as straight lines between points.

use serde::{Deserialize, Serialize};

use crate::units::{SimDuration, SimTime, with_days};

/// The load at an instant.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoadPoint {
    /// When.
    #[serde(with = "with_days")]
    pub at: SimDuration,
    /// How much, in the unit of `perReplica`.
    pub load: f64,
}

/// Points in order of time; before the first and after the last one the load stays as it is there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadCurve(Vec<(SimTime, f64)>);

impl From<&[LoadPoint]> for LoadCurve {
    fn from(points: &[LoadPoint]) -> Self {
        Self(points.iter().map(|point| (SimTime::ZERO + point.at, point.load)).collect())
    }
}

impl LoadCurve {
    /// The load at an instant; 0 if the curve has no points.
    #[must_use]
    pub fn at(&self, now: SimTime) -> f64 {
        let next = self.0.partition_point(|(at, _)| *at <= now);
        match (next.checked_sub(1).map(|last| self.0[last]), self.0.get(next)) {
            (Some((from, before)), Some(&(to, after))) => {
                let length = to.saturating_since(from).as_nanos() as f64;
                before + (after - before) * (now.saturating_since(from).as_nanos() as f64 / length)
            }
            (Some((_, load)), None) | (None, Some(&(_, load))) => load,
            (None, None) => 0.0,
        }
    }

    /// About when the load is below `low` or above `high` for the first time after `now`; none if never.
    #[must_use]
    pub fn leaves(&self, low: f64, high: f64, now: SimTime) -> Option<SimTime> {
        let is_out = |load: f64| load < low || load > high;
        let (mut from, mut before) = (now, self.at(now));
        if is_out(before) {
            return Some(now);
        }
        for &(to, after) in self.0.iter().filter(|(at, _)| *at > now) {
            if is_out(after) {
                let limit = if after > high { high } else { low };
                let part = if after == before { 1.0 } else { ((limit - before) / (after - before)).clamp(0.0, 1.0) };
                let length = to.saturating_since(from).as_nanos() as f64;
                return Some(from + SimDuration::from_nanos((length * part) as u64));
            }
            (from, before) = (to, after);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> LoadCurve {
        let point = |(secs, load)| (SimTime::ZERO + SimDuration::from_secs(secs), load);
        LoadCurve([(100, 10.0), (200, 20.0), (200, 50.0), (300, 0.0)].map(point).to_vec())
    }

    fn secs(secs: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(secs)
    }

    #[test]
    fn between_points_the_load_goes_straight_and_jumps_where_two_points_share_an_instant() {
        let found = [0, 100, 150, 199, 200, 250, 300, 999].map(|at| curve().at(secs(at)));
        assert_eq!(found, [10.0, 10.0, 15.0, 19.9, 50.0, 25.0, 0.0, 0.0]);
    }

    #[test]
    fn the_first_instant_outside_of_limits_is_found() {
        let check = |low, high, now, expected: Option<u64>| {
            assert_eq!(curve().leaves(low, high, secs(now)), expected.map(secs), "{low} to {high} from {now}");
        };
        check(0.0, 15.0, 0, Some(150));
        check(0.0, 15.0, 160, Some(160));
        check(0.0, 30.0, 0, Some(200));
        check(5.0, 60.0, 0, Some(290));
        check(0.0, 60.0, 0, None);
    }
}
