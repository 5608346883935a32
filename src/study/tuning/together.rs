//! What no workload shows alone, but some show together.

use serde::Serialize;

use super::super::estimate::Series;
use super::super::statistics::Interval;
use super::combination::{Combination, sum};
use super::{Results, Tuner, Tuning, WorkloadChoice};

/// One value for all workloads of which none shows alone that a change pays.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Together {
    /// The value.
    pub value: String,
    /// What the workloads have today.
    pub today: String,
    /// The workloads, `kind/namespace/name`.
    pub workloads: Vec<String>,
    /// What it costs all of them more than what they have; negative if it saves. Holds for all pairs of values at once.
    pub against_today: Interval,
}

impl Tuner<'_> {
    /// Looks at the workloads of each axis that are to stay as they are as if they were one, and gives them one value if the data
    /// tell that it is cheaper for all of them together. It is one value, as the best of each would be picked for its luck.
    pub(super) fn together(&self, choices: &mut [WorkloadChoice], of: &Combination, is_out: &[bool]) -> Vec<Together> {
        let mut axes: Vec<usize> = self.tuned.iter().map(|(_, axis)| *axis).collect();
        axes.sort_unstable();
        axes.dedup();
        axes.into_iter().filter_map(|axis| self.together_on(axis, choices, of, is_out)).collect()
    }

    fn together_on(
        &self,
        axis: usize,
        choices: &mut [WorkloadChoice],
        of: &Combination,
        is_out: &[bool],
    ) -> Option<Together> {
        let kept = |choice: &WorkloadChoice| choice.axis == axis && !choice.is_clear;
        let workloads: Vec<usize> = (0..choices.len()).filter(|&workload| kept(&choices[workload])).collect();
        let level_today = self.choice(self.baseline)[axis];
        if workloads.len() < 2 || (of.is_outside && level_today.is_none()) {
            return None;
        }
        let all = |series: &dyn Fn(usize) -> Series| -> Series {
            let (first, rest) = workloads.split_first().expect("two or more");
            rest.iter().fold(series(*first), |total, workload| sum(&total, &series(*workload)))
        };
        let levels: Vec<Series> =
            (0..self.levels[axis].len()).map(|level| all(&|workload| of.costs[workload][level].clone())).collect();
        let of_today = match level_today {
            Some(today) if of.is_outside => levels[today].clone(),
            _ => all(&|workload| self.of_workload(self.baseline, workload, 0)),
        };
        let out = self.levels_out(&of.variants, axis, is_out);
        let contest = self.contest(&levels, &out);
        let best = contest.order[0];
        if out[best] || level_today == Some(best) {
            return None;
        }
        let estimate = self.estimate_at(contest.confidence).with_unseen(&levels, self.is_chancy);
        let estimate = estimate.with_unseen(std::slice::from_ref(&of_today), self.is_chancy);
        let columns = [levels[best].clone(), of_today];
        let against_today = estimate.between(&columns, 0, 1);
        if against_today.high >= 0.0 || !self.matters(against_today, estimate.mean(&columns[1]).mean) {
            return None;
        }
        let value = self.levels[axis][best].clone();
        for &workload in &workloads {
            choices[workload].level = best;
            choices[workload].recommended.clone_from(&value);
        }
        let today = self.variants[self.baseline][axis].clone();
        let workloads = workloads.into_iter().map(|workload| choices[workload].workload.clone()).collect();
        Some(Together { value, today, workloads, against_today })
    }

    /// Whether the data tell of a variant that it costs less than what is recommended for each workload, all taken together.
    pub(super) fn is_beaten(&self, choices: &[WorkloadChoice], of: &Combination, is_out: &[bool]) -> bool {
        if of.is_outside {
            return false;
        }
        let mixture = self.mixture(choices, of);
        let variants: Vec<usize> = (0..self.variants.len()).filter(|&variant| !is_out[variant]).collect();
        let columns: Vec<Series> =
            std::iter::once(mixture).chain(variants.iter().map(|&variant| self.costs(variant))).collect();
        // What is recommended is held against each variant.
        let confidence = 1.0 - (1.0 - self.confidence()) / variants.len().max(1) as f64;
        let estimate = self.estimate_at(confidence).with_unseen(&columns, self.is_chancy);
        let cost = estimate.mean(&columns[0]).mean;
        (1..columns.len()).any(|variant| {
            let difference = estimate.between(&columns, variant, 0);
            difference.high < 0.0 && self.matters(difference, cost)
        })
    }

    /// What a combination costs, run by run, with the value that each workload is to have.
    fn mixture(&self, choices: &[WorkloadChoice], of: &Combination) -> Series {
        let own = |workload: usize| match &choices[workload] {
            choice if choice.changes() => of.costs[workload][choice.level].clone(),
            _ => self.of_workload(self.baseline, workload, 0),
        };
        (0..choices.len()).fold(of.rest.clone(), |total, workload| sum(&total, &own(workload)))
    }
}

impl Results {
    /// What is recommended costs, run by run; none if workloads get values of their own that were not played with the rest of it.
    pub(in crate::study) fn recommended_costs(&self, tuning: &Tuning) -> Option<Series> {
        if let Some(variant) = tuning.of_grid {
            return Some(self.costs(variant));
        }
        let tuner = Tuner { results: self, tuned: &self.tuned };
        let key = tuner.others(tuning.variant);
        let combinations = tuner.combinations(&self.ruled_out());
        let of = combinations.iter().find(|of| of.key == key && !of.is_outside)?;
        Some(tuner.mixture(&tuning.workloads, of))
    }
}
