//! Changes that seem to be worth something, and to whom.

use std::collections::{BTreeMap, BTreeSet};

use super::fix::Fix;

/// What costs less than so many minutes a year and less than a minute in every incident is no finding.
pub(super) const COST_MIN: f64 = 0.5;

/// A change has to save this share of what it is meant to save.
const SHARE_MIN: f64 = 0.1;

/// A change that saves at least this share of what the best one does is as good.
pub(super) const AS_GOOD: f64 = 0.9;

/// A change for those whom it helps most.
#[derive(Default)]
pub(super) struct Proposal {
    pub(super) units: BTreeSet<usize>,
    pub(super) workloads: BTreeSet<String>,
    /// What else helps some of them.
    pub(super) others: BTreeMap<Fix, Second>,
}

/// What another change does for some of those whom a proposal helps, in the years that changes are chosen by.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Second {
    /// How many.
    pub(super) units: usize,
    /// Minutes a year that it saves them.
    pub(super) saved: f64,
    /// Of so many.
    pub(super) of: f64,
}

impl Second {
    pub(super) fn add(&mut self, other: &Self) {
        self.units += other.units;
        self.saved += other.saved;
        self.of += other.of;
    }

    /// The share that it saves; 0 where it helps in incidents alone.
    pub(super) fn share(&self) -> f64 {
        if self.of > 0.0 { self.saved / self.of } else { 0.0 }
    }
}

/// What a change does for each unit.
pub(super) struct Tried {
    pub(super) fix: Fix,
    pub(super) workloads: BTreeSet<String>,
    /// Minutes a year that each unit is better off, and the worst incident's minutes.
    pub(super) by_unit: BTreeMap<usize, Gain>,
}

#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Gain {
    /// Minutes a year, as the mean of paired years.
    pub(super) yearly: f64,
    /// Whether these can be told from nothing.
    pub(super) is_certain: bool,
    /// Minutes of all incidents that were compared, each once.
    pub(super) incidents: f64,
    /// What these cost without the change.
    pub(super) incidents_before: f64,
    /// Whether one of them costs half as much or less, and a minute less at least.
    pub(super) halves: bool,
}

impl Gain {
    /// Whether the change is worth something to a unit that costs so many minutes a year.
    pub(super) fn pays(&self, cost: f64) -> bool {
        let in_years = self.is_certain && self.yearly >= COST_MIN.max(SHARE_MIN * cost);
        let in_incidents = self.halves && self.incidents >= 0.25 * self.incidents_before && self.yearly >= 0.0;
        in_years || in_incidents
    }

    pub(super) fn worth(&self) -> (f64, f64) {
        (self.yearly, self.incidents)
    }
}

/// Of two changes that go for the same, more and less far, a cluster is told one: the first, if it saves all together nearly as much.
pub(super) fn agree(proposals: &mut BTreeMap<Fix, Proposal>, tried: &[Tried]) {
    for (position, first) in tried.iter().enumerate() {
        let Some(second) = tried[position + 1..].iter().find(|second| first.fix.rival() == Some(second.fix)) else {
            continue;
        };
        let (Some(a), Some(b)) = (proposals.get(&first.fix), proposals.get(&second.fix)) else { continue };
        let units: Vec<usize> = a.units.union(&b.units).copied().collect();
        let sum = |of: &Tried| {
            let gains = units.iter().filter_map(|unit| of.by_unit.get(unit));
            gains.map(|gain| gain.yearly).fold(0.0, |sum, gain| sum + gain)
        };
        let (winner, loser) = if sum(first) >= AS_GOOD * sum(second) { (first, second) } else { (second, first) };
        let Some(lost) = proposals.remove(&loser.fix) else { continue };
        let can = |path: &&String| winner.workloads.contains(*path);
        let (moved, kept): (BTreeSet<String>, BTreeSet<String>) = {
            let moved: BTreeSet<String> = lost.workloads.iter().filter(can).cloned().collect();
            let kept = lost.workloads.difference(&moved).cloned().collect();
            (moved, kept)
        };
        if !kept.is_empty() {
            // The winner does not fit everybody: the others stay with what they have.
            proposals.insert(loser.fix, lost);
            continue;
        }
        let Some(winner) = proposals.get_mut(&winner.fix) else { continue };
        winner.units.extend(lost.units);
        winner.workloads.extend(moved);
        for (fix, second) in lost.others {
            winner.others.entry(fix).or_default().add(&second);
        }
    }
}
