//! Which `tolerationSeconds` is best for each workload, and what the rest of the grid adds to that.
//!
//! A grid sets all workloads of an axis alike. What a value costs *one* of them is told apart: its own missing replicas, its own
//! evictions. The values recommended may thus differ from workload to workload although no variant mixed them; the mixture is
//! then played on seeds that the choice has not seen, against the scenario as it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::document::Study;
use super::grid::{Setting, Variant};
use super::patch::{self, Patches};
use super::results::{Contest, Results, Series, combined, front};
use super::statistics::Interval;

/// What is recommended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuning {
    /// The values of what is not `tolerationSeconds`: axis and value.
    pub others: Vec<(String, String)>,
    /// Whether these differ from the baseline's.
    pub changes_others: bool,
    /// What the data cannot tell from the cheapest of these, the cheapest itself among them if others have fewer changes.
    pub alike_others: Vec<String>,
    /// For each workload.
    pub workloads: Vec<WorkloadChoice>,
    /// A variant that has `others`.
    #[serde(skip)]
    variant: usize,
}

/// What is recommended for one workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadChoice {
    /// `kind/namespace/name`.
    pub workload: String,
    /// The value that costs it least.
    pub best: String,
    /// Its value in the baseline.
    pub today: String,
    /// Whether the data tell that the former costs less than the latter.
    pub is_clear: bool,
    /// What the best value costs.
    pub cost: Interval,
    /// What the baseline's costs.
    pub cost_today: Interval,
    /// What the best costs more than the baseline's, run by run; negative if it saves. Holds for all pairs of values at once.
    pub against_today: Interval,
    /// The value with the second-lowest cost.
    pub runner_up: Option<String>,
    /// Values that the data cannot tell from the best.
    pub alike: Vec<String>,
    /// Values that no other one beats in both unavailability and needless evictions.
    pub front: Vec<String>,
    /// Every value.
    pub values: Vec<ValueOutcome>,
    #[serde(skip)]
    axis: usize,
    #[serde(skip)]
    level: usize,
}

/// What a value means for one workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueOutcome {
    /// The value.
    pub value: String,
    /// What it costs.
    pub cost: Interval,
    /// Mean of missing ready pods times seconds.
    pub unready_replica_s: f64,
    /// Mean number of evictions.
    pub evictions: f64,
    /// Mean number of evictions after which the node came back before the replacement was Ready.
    pub needless_evictions: f64,
}

/// What is recommended against the scenario as it is, on seeds that the choice has not seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confirmation {
    /// Runs of each.
    pub n: usize,
    /// What the baseline costs.
    pub today: Interval,
    /// What is recommended costs.
    pub recommended: Interval,
    /// What it costs more, run by run; negative if it saves.
    pub difference: Interval,
}

/// The sum of two series.
fn sum(a: &[(u32, f64)], b: &[(u32, f64)]) -> Series {
    combined(a, b, |a, b| a + b)
}

/// The mean of several series, run by run.
fn averaged(series: &[Series]) -> Series {
    let Some((first, rest)) = series.split_first() else { return Series::new() };
    let total = rest.iter().fold(first.clone(), |total, next| sum(&total, next));
    total.into_iter().map(|(replication, value)| (replication, value / series.len() as f64)).collect()
}

/// One combination of what is not `tolerationSeconds`.
struct Combination {
    /// Variants that have it.
    variants: Vec<usize>,
    /// Costs of each workload, by the value of its axis.
    costs: Vec<Vec<Series>>,
    /// What the whole costs if every workload has its best value.
    at_best: Series,
}

impl Results {
    /// Position of the value of each axis; none where the scenario is left as it is.
    fn choice(&self, variant: usize) -> Vec<Option<usize>> {
        let position = |(levels, label): (&Vec<String>, &String)| levels.iter().position(|known| known == label);
        self.levels.iter().zip(&self.variants[variant]).map(position).collect()
    }

    fn is_of_tolerations(&self, axis: usize) -> bool {
        self.tuned.iter().any(|(_, of)| *of == axis)
    }

    /// The choice of what is not `tolerationSeconds`.
    fn others(&self, variant: usize) -> Vec<Option<usize>> {
        let choice = self.choice(variant).into_iter().enumerate();
        choice.map(|(axis, index)| index.filter(|_| !self.is_of_tolerations(axis))).collect()
    }

    /// A metric of a workload under a value of its axis: the mean over the variants that have it.
    fn at_level(&self, variants: &[usize], workload: usize, level: usize, metric: usize) -> Series {
        let axis = self.tuned[workload].1;
        let with = variants.iter().filter(|&&variant| self.choice(variant)[axis] == Some(level));
        averaged(&with.map(|&variant| self.of_workload(variant, workload, metric)).collect::<Vec<_>>())
    }

    fn combination(&self, variants: Vec<usize>) -> Combination {
        let of = |workload: usize| -> Vec<Series> {
            let levels = self.levels[self.tuned[workload].1].len();
            (0..levels).map(|level| self.at_level(&variants, workload, level, 0)).collect()
        };
        let costs: Vec<Vec<Series>> = (0..self.tuned.len()).map(of).collect();
        // What belongs to no tuned workload.
        let rest = variants.iter().map(|&variant| {
            let own = |workload| self.of_workload(variant, workload, 0);
            (0..self.tuned.len())
                .fold(self.costs(variant), |rest, workload| combined(&rest, &own(workload), |a, b| a - b))
        });
        let rest = averaged(&rest.collect::<Vec<_>>());
        let at_best = costs.iter().fold(rest, |total, levels| {
            let best = self.contest(levels).order[0];
            sum(&total, &levels[best])
        });
        Combination { variants, costs, at_best }
    }

    /// What is recommended; none if nothing has a price or nothing was played.
    #[must_use]
    pub fn tuning(&self) -> Option<Tuning> {
        if self.prices.is_empty() || self.runs.iter().any(Vec::is_empty) {
            return None;
        }
        let mut groups: BTreeMap<Vec<Option<usize>>, Vec<usize>> = BTreeMap::new();
        for variant in 0..self.variants.len() {
            // The scenario as it is may stand behind the grid.
            if self.choice(variant).iter().all(Option::is_some) {
                groups.entry(self.others(variant)).or_default().push(variant);
            }
        }
        let keys: Vec<_> = groups.keys().cloned().collect();
        let combinations: Vec<Combination> = groups.into_values().map(|variants| self.combination(variants)).collect();
        let at_best: Vec<Series> = combinations.iter().map(|of| of.at_best.clone()).collect();
        let contest = self.contest(&at_best);
        let today = keys.iter().position(|key| *key == self.others(self.baseline));
        let chosen = self.fewest_changes(&keys, &at_best, &contest, today);
        let Combination { variants, costs, .. } = &combinations[chosen];
        let named = |(axis, index): (usize, &Option<usize>)| {
            Some((self.axes[axis].clone(), self.levels[axis][(*index)?].clone()))
        };
        Some(Tuning {
            others: keys[chosen].iter().enumerate().filter_map(named).collect(),
            changes_others: today != Some(chosen),
            alike_others: contest
                .alike
                .iter()
                .chain(contest.order.first())
                .filter(|other| **other != chosen)
                .map(|&other| {
                    keys[other]
                        .iter()
                        .enumerate()
                        .filter_map(named)
                        .map(|(axis, value)| format!("{axis}={value}"))
                        .collect::<Vec<_>>()
                        .join(", ")
                })
                .collect(),
            workloads: costs
                .iter()
                .enumerate()
                .map(|(workload, levels)| self.workload_choice(workload, levels, variants))
                .collect(),
            variant: variants[0],
        })
    }

    /// Of the combinations that the data cannot tell from the cheapest, the one that changes least: what is there already, if it
    /// is among them, else one that the data tell from what is there.
    fn fewest_changes(
        &self,
        keys: &[Vec<Option<usize>>],
        at_best: &[Series],
        contest: &Contest,
        today: Option<usize>,
    ) -> usize {
        let Some(today) = today else { return contest.order[0] };
        let is_better = |other: usize| {
            other == today || !self.difference(&at_best[other], &at_best[today], contest.confidence).has_zero()
        };
        let changes = |other: usize| keys[other].iter().zip(&keys[today]).filter(|(a, b)| a != b).count();
        let candidates = contest.order[..1].iter().chain(&contest.alike).copied().filter(|&other| is_better(other));
        candidates.min_by_key(|&other| changes(other)).unwrap_or(contest.order[0])
    }

    fn workload_choice(&self, workload: usize, levels: &[Series], variants: &[usize]) -> WorkloadChoice {
        let (path, axis) = &self.tuned[workload];
        let labels = &self.levels[*axis];
        let name = |&level: &usize| labels[level].clone();
        let contest = self.contest(levels);
        let level = contest.order[0];
        let of_today = self.of_workload(self.baseline, workload, 0);
        let is_today = self.choice(self.baseline)[*axis] == Some(level);
        let today = self.variants[self.baseline][*axis].clone();
        let against_today = self.difference(&levels[level], &of_today, contest.confidence);
        let mean = |level: usize, metric: usize| {
            self.interval(&self.at_level(variants, workload, level, metric), self.confidence()).mean
        };
        let values: Vec<ValueOutcome> = (0..labels.len())
            .map(|level| ValueOutcome {
                value: labels[level].clone(),
                cost: self.interval(&levels[level], self.confidence()),
                unready_replica_s: mean(level, 1),
                evictions: mean(level, 2),
                needless_evictions: mean(level, 3),
            })
            .collect();
        let points: Vec<(f64, f64)> = values.iter().map(|of| (of.unready_replica_s, of.needless_evictions)).collect();
        WorkloadChoice {
            workload: path.clone(),
            best: name(&level),
            today,
            is_clear: !is_today && !against_today.has_zero() && against_today.mean < 0.0,
            cost: self.interval(&levels[level], self.confidence()),
            cost_today: self.interval(&of_today, self.confidence()),
            against_today,
            runner_up: contest.order.get(1).map(name),
            alike: contest.alike.iter().map(name).collect(),
            front: front(&points).iter().map(name).collect(),
            values,
            axis: *axis,
            level,
        }
    }

    /// The mixture against the scenario as it is.
    pub(super) fn confirmation(&self, recommended: &Series, today: &Series) -> Confirmation {
        Confirmation {
            n: recommended.len(),
            today: self.interval(today, self.confidence()),
            recommended: self.interval(recommended, self.confidence()),
            difference: self.difference(recommended, today, self.confidence()),
        }
    }
}

impl Study {
    /// The variant that is recommended: for each workload its best value, where the data tell that it is cheaper; none if
    /// everything is to stay as it is.
    #[must_use]
    pub fn recommended(&self, tuning: &Tuning) -> Option<Variant> {
        let changed: Vec<&WorkloadChoice> = tuning.workloads.iter().filter(|choice| choice.is_clear).collect();
        if changed.is_empty() && !tuning.changes_others {
            return None;
        }
        let from = if tuning.changes_others { &self.variants[tuning.variant] } else { &self.variants[self.baseline] };
        let is_tuned = |axis: usize| self.tuned.iter().any(|(_, of)| *of == axis);
        let mut settings = Vec::new();
        for (axis, index) in from.choice.iter().enumerate() {
            let Some(index) = *index else { continue };
            // A baseline that the study names may differ from what the scenario has; workloads that are not changed keep it.
            let kept = if is_tuned(axis) { self.variants[self.baseline].choice[axis] } else { Some(index) };
            let kept = kept.filter(|index| self.axes[axis].today != Some(*index));
            settings.extend(kept.map(|index| self.axes[axis].settings[index].clone()));
        }
        for choice in changed {
            let Setting::TolerationSeconds { taints, seconds, .. } = &self.axes[choice.axis].settings[choice.level]
            else {
                continue;
            };
            let workloads = vec![choice.workload.clone()];
            settings.push(Setting::TolerationSeconds { workloads, taints: taints.clone(), seconds: *seconds });
        }
        let labels = vec!["recommended".to_owned(); self.axes.len()];
        Some(Variant { labels, choice: vec![None; self.axes.len()], base: std::sync::Arc::clone(&from.base), settings })
    }

    /// What turns the scenario's cluster into the recommended one.
    #[must_use]
    pub fn patches(&self, recommended: Option<&Variant>) -> Patches {
        let today = &self.variants[self.baseline].base;
        let Some(recommended) = recommended else { return patch::patches(&[], &[], &[]) };
        let is_new = |axis: &super::grid::Axis, setting: &Setting| {
            matches!(setting, Setting::Path { value, .. } if axis.today.is_none_or(|index| {
                !matches!(&axis.settings[index], Setting::Path { value: same, .. } if same == value)
            }))
        };
        let of_path = |axis: &super::grid::Axis| {
            let own = recommended.settings.iter().find(|setting| axis.has(setting));
            own.filter(|setting| is_new(axis, setting)).cloned()
        };
        let told: Vec<Setting> = self.axes.iter().filter_map(of_path).collect();
        // It has been tried when the study was loaded.
        let wanted = recommended.scenario().map(|scenario| scenario.objects).unwrap_or_default();
        patch::patches(&today.objects, &wanted, &told)
    }
}

impl Tuning {
    /// `tuning.csv`: a row for each workload and value.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text =
            String::from("workload,value,today,best,cost,low,high,unready_replica_s,evictions,needless_evictions\n");
        let finite = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
        for choice in &self.workloads {
            for of in &choice.values {
                let _ = writeln!(
                    text,
                    "{},{},{},{},{},{},{},{},{},{}",
                    choice.workload,
                    of.value,
                    choice.today,
                    choice.best,
                    of.cost.mean,
                    finite(of.cost.low),
                    finite(of.cost.high),
                    of.unready_replica_s,
                    of.evictions,
                    of.needless_evictions,
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::WORKLOAD_METRICS;
    use super::super::results::tests::results;
    use super::*;

    /// Two workloads, of which each has its own best value among three.
    fn mixed(today: usize) -> Results {
        let of = |costs: [[f64; 2]; 3]| -> Results {
            let noise = [0.0, 1.0, 0.5, 0.2, 0.9, 0.4];
            let totals: Vec<Vec<f64>> =
                costs.iter().map(|of| noise.iter().map(|x| of[0] + of[1] + 10.0 * x).collect()).collect();
            let mut results = results(&totals.iter().map(Vec::as_slice).collect::<Vec<_>>());
            results.tuned = vec![("deployment/d/a".into(), 0), ("deployment/d/b".into(), 0)];
            for (variant, runs) in results.runs.iter_mut().enumerate() {
                for run in runs {
                    let wobble = noise[run.replication as usize] * 0.01 * variant as f64;
                    run.workloads = vec![0.0; 2 * WORKLOAD_METRICS.len()].into();
                    run.workloads[0] = costs[variant][0] + wobble;
                    run.workloads[WORKLOAD_METRICS.len()] = costs[variant][1] + wobble;
                }
            }
            results.baseline = today;
            results
        };
        of([[5.0, 1.0], [2.0, 3.0], [4.0, 9.0]])
    }

    #[test]
    fn each_workload_has_a_value_of_its_own() {
        let tuning = mixed(2).tuning().expect("priced");
        let found: Vec<_> =
            tuning.workloads.iter().map(|of| (of.best.as_str(), of.today.as_str(), of.is_clear)).collect();
        assert_eq!(found, [("1", "2", true), ("0", "2", true)]);
        assert_eq!(tuning.workloads[0].runner_up.as_deref(), Some("2"));
        assert!(tuning.workloads[0].against_today.high < 0.0 && tuning.others.is_empty() && !tuning.changes_others);
    }

    #[test]
    fn of_what_cannot_be_told_apart_the_fewest_changes_are_made() {
        let noise = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];
        let column = |mean: f64, sign: f64| noise.map(|x| mean + sign * x);
        // Grace 50 and 90 with lease 20 and 40: the lease makes no difference but by chance.
        let columns = [column(10.0, 1.0), column(10.1, -1.0), column(4.0, 1.0), column(4.05, -1.0)];
        let mut grid = results(&columns.each_ref().map(|column| column.as_slice()));
        grid.axes = vec!["grace".into(), "lease".into()];
        grid.levels = vec![vec!["50s".into(), "90s".into()], vec!["20".into(), "40".into()]];
        grid.variants = [["50s", "20"], ["50s", "40"], ["90s", "20"], ["90s", "40"]]
            .map(|of| of.map(str::to_owned).to_vec())
            .to_vec();
        grid.baseline = 1;
        let tuning = grid.tuning().expect("priced");
        let values: Vec<&str> = tuning.others.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!((values, tuning.changes_others), (vec!["90s", "40"], true));
        assert_eq!(tuning.alike_others, ["grace=90s, lease=20"]);
    }

    #[test]
    fn the_value_that_is_there_already_is_no_change() {
        let tuning = mixed(1).tuning().expect("priced");
        assert!(!tuning.workloads[0].is_clear && tuning.workloads[1].is_clear);
    }
}
