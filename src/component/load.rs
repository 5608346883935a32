//! The load on a workload over time, as straight lines between points: what nobody knows of a cluster but the scenario.

use serde::{Deserialize, Serialize};

use crate::arena::Symbol;
use crate::model::ObjectKind;
use crate::units::{SimDuration, SimTime, with_days};

/// The load at an instant.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoadPoint {
    /// When.
    #[serde(with = "with_days")]
    #[cfg_attr(feature = "cli", schemars(with = "crate::units::Days"))]
    pub at: SimDuration,
    /// How much, in the unit of `perReplica`.
    pub load: f64,
}

/// Points in order of time; before the first and after the last one the load stays as it is there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadCurve(Vec<(SimTime, f64)>);

/// The load on a workload, and how much of it a pod carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The workload's kind.
    pub kind: ObjectKind,
    /// Its namespace.
    pub namespace: Symbol,
    /// Its name.
    pub name: Symbol,
    /// The load under which a pod uses the CPU that it requests.
    pub per_replica: f64,
    /// The load over time.
    pub curve: LoadCurve,
}

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

    /// The instants after `now` at which the load changes its course, in order.
    pub fn turns_after(&self, now: SimTime) -> impl Iterator<Item = SimTime> + '_ {
        self.0.iter().map(|(at, _)| *at).filter(move |at| *at > now)
    }

    /// The load just before an instant: what it jumps from, if it jumps there.
    #[must_use]
    pub fn before(&self, at: SimTime) -> f64 {
        let first = self.0.partition_point(|(point, _)| *point < at);
        match self.0.get(first) {
            Some((point, load)) if *point == at => *load,
            _ => self.at(at),
        }
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
    fn turns_and_jumps_are_known() {
        let turns: Vec<SimTime> = curve().turns_after(secs(100)).collect();
        assert_eq!(turns, [secs(200), secs(200), secs(300)]);
        assert_eq!([150, 200, 300].map(|at| curve().before(secs(at))), [15.0, 20.0, 0.0]);
    }
}
