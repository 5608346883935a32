//! Which value of `tolerationSeconds` is best for one workload.

use super::super::estimate::{Estimate, Series};
use super::combination::Combination;
use super::{Tuner, ValueOutcome, WorkloadChoice};

/// Positions among the metrics that a workload has of its own.
const UNREADY: usize = 1;
const EVICTIONS: usize = 2;
const NEEDLESS: usize = 3;

impl Tuner<'_> {
    pub(super) fn workload_choice(&self, workload: usize, of: &Combination, is_out: &[bool]) -> WorkloadChoice {
        let (path, axis) = &self.tuned[workload];
        let labels = &self.levels[*axis];
        let (levels, variants) = (&of.costs[workload], &of.variants);
        let name = |&level: &usize| labels[level].clone();
        let ruled_out = self.levels_ruled_out(variants, *axis, is_out);
        let out = self.levels_out(variants, *axis, is_out);
        let level_today = self.choice(self.baseline)[*axis];
        let contest = self.contest_with(levels, &out, level_today);
        let level = contest.order[0];
        let is_today = level_today == Some(level);
        // Values of `tolerationSeconds` are compared under equal values of everything else, which the baseline may not have.
        let (of_today, is_comparable) = match level_today {
            Some(today) if of.is_outside => (levels[today].clone(), true),
            _ => (self.of_workload(self.baseline, workload, 0), !of.is_outside),
        };
        let today = self.variants[self.baseline][*axis].clone();
        let with_unseen = |confidence: f64| {
            let estimate = self.estimate_at(confidence).with_unseen(levels, self.is_chancy);
            estimate.with_unseen(std::slice::from_ref(&of_today), self.is_chancy)
        };
        let pairs = with_unseen(contest.confidence);
        let both = [levels[level].clone(), of_today.clone()];
        let against_today = if is_today { pairs.between(&both, 0, 0) } else { pairs.between(&both, 0, 1) };
        let estimate = with_unseen(self.confidence());
        let cost_today = estimate.mean(&of_today);
        let is_told = is_comparable && !is_today && !out[level] && against_today.high < 0.0;
        let values = self.values(workload, of, &ruled_out, &estimate);
        let column = |metric: usize| -> Vec<Series> {
            (0..labels.len()).map(|level| self.at_level(variants, workload, level, metric)).collect()
        };
        let front = self.not_beaten(&[column(UNREADY), column(NEEDLESS)], &out);
        let is_clear = is_told && self.matters(against_today, cost_today.mean);
        WorkloadChoice {
            workload: path.clone(),
            recommended: if is_clear { name(&level) } else { today.clone() },
            best: name(&level),
            today,
            is_clear,
            is_slight: is_told && !is_clear,
            rests_on_unseen: if is_today { None } else { pairs.rests_on_unseen(&both, 0, 1) },
            cost: estimate.mean(&levels[level]),
            cost_today,
            against_today,
            runner_up: contest.order.get(1).map(name),
            alike: contest.alike.iter().map(name).collect(),
            front: front.iter().map(name).collect(),
            values,
            axis: *axis,
            level,
        }
    }

    /// What each value means for a workload.
    fn values(&self, workload: usize, of: &Combination, out: &[bool], estimate: &Estimate) -> Vec<ValueOutcome> {
        let axis = self.tuned[workload].1;
        let left = self.left_undone();
        let shows = self.shows(&of.variants, axis);
        let mean = |level: usize, metric: usize| {
            self.estimate().mean(&self.at_level(&of.variants, workload, level, metric)).mean
        };
        let outcome = |(level, label): (usize, &String)| ValueOutcome {
            value: label.clone(),
            cost: estimate.mean(&of.costs[workload][level]),
            unready_replica_s: mean(level, UNREADY),
            evictions: mean(level, EVICTIONS),
            needless_evictions: mean(level, NEEDLESS),
            left_undone: shows[level].map_or_else(Vec::new, |variant| left[variant].clone()),
            runs: self.runs_of_level(&of.variants, axis, level),
            ruled_out: out[level],
        };
        self.levels[axis].iter().enumerate().map(outcome).collect()
    }
}
