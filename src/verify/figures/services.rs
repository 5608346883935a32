//! What services lost, from `services.csv`.

use super::counted::{Figures, are_alike};
use crate::observe::{Observed, ServiceOutcome, ServiceRow};
use crate::units::SimTime;

pub(super) fn count(figures: &mut Figures, observed: &Observed, end: SimTime) -> Result<(), String> {
    let (mut without, mut lost) = (0.0, 0.0);
    for outcome in &observed.summary.services {
        // Several of one name have lived one after the other.
        let of_name = |other: &&ServiceOutcome| (other.namespace, other.name) == (outcome.namespace, outcome.name);
        let ends = observed.summary.services.iter().filter(of_name).map(|other| until(other, end));
        let until = until(outcome, end);
        let from = ends.filter(|other| *other < until).fold(-1.0, f64::max);
        let is_its = |row: &&ServiceRow| {
            let at = seconds(row.at);
            (row.namespace, row.name) == (outcome.namespace, outcome.name) && at > from && at <= until
        };
        let rows: Vec<&ServiceRow> = observed.services.iter().filter(is_its).collect();
        let sums = walk(&rows, until);
        let reported = [
            outcome.without_targets_s,
            outcome.longest_without_targets_s,
            outcome.dead_targets_s,
            outcome.lost_traffic_s,
        ];
        if !reported.iter().zip(sums).all(|(reported, found)| are_alike(*reported, found)) {
            let (namespace, name) = (outcome.namespace, outcome.name);
            return Err(format!("service {namespace}/{name} has {reported:?} in the summary, {sums:?} in its rows"));
        }
        without += sums[0];
        lost += sums[3];
    }
    figures.put("without_targets_s", without);
    figures.put("lost_traffic_s", lost);
    Ok(())
}

fn seconds(at: SimTime) -> f64 {
    at.as_nanos() as f64 / 1e9
}

fn until(outcome: &ServiceOutcome, end: SimTime) -> f64 {
    outcome.gone_s.unwrap_or(seconds(end))
}

/// Time without targets, the longest such, with dead ones, and what was lost.
fn walk(rows: &[&ServiceRow], until: f64) -> [f64; 4] {
    let mut sums = [0.0_f64; 4];
    let mut empty_for = 0.0;
    let first = rows.iter().position(|row| row.traffic.targets > 0).unwrap_or(rows.len());
    for (place, row) in rows.iter().enumerate().skip(first) {
        let to = rows.get(place + 1).map_or(until, |next| seconds(next.at));
        let length = to - seconds(row.at);
        let (targets, dead) = (row.traffic.targets as f64, row.traffic.dead_targets as f64);
        if targets > 0.0 {
            empty_for = 0.0;
            sums[2] += if dead > 0.0 { length } else { 0.0 };
            sums[3] += length * dead / targets;
        } else {
            empty_for += length;
            sums[0] += length;
            sums[1] = sums[1].max(empty_for);
            sums[3] += length;
        }
    }
    sums
}
