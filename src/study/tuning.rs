//! Which `tolerationSeconds` is best for each workload, and what the rest of the grid adds to that.
//!
//! A grid sets all workloads of an axis alike. What a value costs *one* of them is told apart: its own missing replicas, its own
//! evictions. The values recommended may thus differ from workload to workload although no variant mixed them; the mixture is
//! then played on seeds that the choice has not seen, against the scenario as it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::comparison::{Contest, front};
use super::document::Study;
use super::estimate::{Estimate, RestsOnUnseen, Series, combined};
use super::grid::{Setting, TODAY, Variant};
use super::patch::{self, Patches};
use super::results::Results;
use super::statistics::Interval;
use super::undone::{LeftUndone, reason};
use super::{INDIFFERENCE, WORKLOAD_METRICS};

/// What is recommended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuning {
    /// The values of what is not `tolerationSeconds`: axis and value.
    pub others: Vec<(String, String)>,
    /// Whether these differ from the baseline's.
    pub changes_others: bool,
    /// What the data cannot tell from the cheapest of these, the cheapest itself among them if others have fewer changes.
    pub alike_others: Vec<String>,
    /// What would be cheaper as far as was seen, and is not recommended for what was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_for_unseen: Option<KeptForUnseen>,
    /// Metrics that have a price and belong to no workload, for which `tolerationSeconds`, too, are chosen for the cluster as a whole.
    pub whole_for: Vec<String>,
    /// For each workload; none where `tolerationSeconds` are chosen for the cluster as a whole, and are among `others`.
    pub workloads: Vec<WorkloadChoice>,
    /// A variant that has `others`.
    #[serde(skip)]
    variant: usize,
    /// The variant that is what is recommended; none if workloads get values of their own.
    #[serde(skip)]
    of_grid: Option<usize>,
}

/// Values that cost less in the runs that were played, of which none or hardly any shows what may go wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeptForUnseen {
    /// `nodes=6, grace=40s`.
    pub values: String,
    /// What the saving rests on.
    #[serde(flatten)]
    pub unseen: RestsOnUnseen,
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
    /// Whether the data tell that the former costs less than the latter, by enough to be worth a change.
    pub is_clear: bool,
    /// Whether they tell that it costs less, but by too little.
    pub is_slight: bool,
    /// What its saving rests on if runs that nobody has seen decide whether it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rests_on_unseen: Option<RestsOnUnseen>,
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
    /// What the cluster leaves undone under it that it gets done under the baseline.
    pub left_undone: Vec<LeftUndone>,
    /// Whether it cannot be recommended for that.
    pub ruled_out: bool,
}

/// Whether a saving is worth a change of what costs so much today.
pub(super) fn matters(difference: Interval, cost_today: f64) -> bool {
    -difference.mean >= INDIFFERENCE * cost_today.abs()
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
    /// Its values by axis; none where the scenario is left as it is, and at axes of `tolerationSeconds`.
    key: Vec<Option<usize>>,
    /// A variant that has it.
    variant: usize,
    /// Variants that say what the values of `tolerationSeconds` cost with it.
    variants: Vec<usize>,
    /// Costs of each workload, by the value of its axis.
    costs: Vec<Vec<Series>>,
    /// What the whole costs if every workload has its best value, or, where that cannot be told of the scenario as it is, what
    /// it costs with the scenario's own.
    at_best: Series,
    /// Whether it cannot be recommended, as it leaves work undone.
    is_ruled_out: bool,
    /// Whether it has the values of the scenario as it is, which none of the grid's have.
    is_outside: bool,
}

/// Who recommends, and the workloads whose `tolerationSeconds` are chosen apart; those of others are chosen as everything else is.
struct Tuner<'a> {
    results: &'a Results,
    tuned: &'a [(String, usize)],
}

impl std::ops::Deref for Tuner<'_> {
    type Target = Results;

    fn deref(&self) -> &Results {
        self.results
    }
}

impl Results {
    /// Metrics that have a price and differ with `tolerationSeconds`, but are no workload's own: what a value costs one workload cannot
    /// be told of these.
    fn priced_of_no_workload(&self) -> Vec<String> {
        // The nodes at t=0 are what they are, however long pods tolerate their loss.
        let is_own = |name: &str| WORKLOAD_METRICS.contains(&name) || name == "node_h";
        let priced = self.prices.iter().filter(|(name, price)| *price > 0.0 && !is_own(name));
        priced.map(|(name, _)| name.clone()).collect()
    }

    /// What is recommended; none if nothing has a price or nothing was played.
    #[must_use]
    pub fn tuning(&self) -> Option<Tuning> {
        if self.prices.is_empty() || self.runs.iter().any(Vec::is_empty) {
            return None;
        }
        let whole_for = self.priced_of_no_workload();
        let whole = || Tuner { results: self, tuned: &[] }.tuning();
        if self.tuned.is_empty() {
            return whole();
        }
        if !whole_for.is_empty() {
            return whole().map(|whole| Tuning { whole_for, ..whole });
        }
        let apart = Tuner { results: self, tuned: &self.tuned }.tuning()?;
        if apart.changes() {
            return Some(apart);
        }
        // What is not told of any workload may be told of all of them together.
        whole().filter(Tuning::changes).or(Some(apart))
    }
}

impl Tuner<'_> {
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

    /// Of variants that have something in common, the one that differs least from the baseline otherwise: what that one leaves undone,
    /// it does because of what they have in common.
    fn closest(&self, variants: impl Iterator<Item = usize>) -> Option<usize> {
        let today = self.choice(self.baseline);
        let changes = |variant: &usize| self.choice(*variant).iter().zip(&today).filter(|(a, b)| a != b).count();
        variants.min_by_key(changes)
    }

    /// Of each value of an axis, the variant that shows what it leaves undone; none where nobody has it.
    fn shows(&self, variants: &[usize], axis: usize) -> Vec<Option<usize>> {
        let with = |level: usize| {
            let has = |variant: &usize| self.choice(*variant)[axis] == Some(level);
            self.closest(variants.iter().copied().filter(has))
        };
        (0..self.levels[axis].len()).map(with).collect()
    }

    /// Which values of an axis are ruled out.
    fn levels_ruled_out(&self, variants: &[usize], axis: usize, is_out: &[bool]) -> Vec<bool> {
        self.shows(variants, axis).into_iter().map(|variant| variant.is_some_and(|variant| is_out[variant])).collect()
    }

    fn combination(&self, key: Vec<Option<usize>>, variants: Vec<usize>, is_out: &[bool]) -> Combination {
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
        let at_best = costs.iter().zip(self.tuned).fold(rest, |total, (levels, (_, axis))| {
            let best = self.contest(levels, &self.levels_ruled_out(&variants, *axis, is_out)).order[0];
            sum(&total, &levels[best])
        });
        let variant = variants[0];
        // What is there already is no choice that could be refused.
        let changes = key != self.others(self.baseline);
        let is_ruled_out = changes && self.closest(variants.iter().copied()).is_some_and(|variant| is_out[variant]);
        Combination { key, variant, variants, costs, at_best, is_ruled_out, is_outside: false }
    }

    /// Every combination that was played. That of the baseline is always among them: what is there must be beaten, also if the
    /// grid has other values only.
    fn combinations(&self, is_out: &[bool]) -> Vec<Combination> {
        let mut groups: BTreeMap<Vec<Option<usize>>, Vec<usize>> = BTreeMap::new();
        for variant in 0..self.variants.len() {
            // The scenario as it is may stand behind the grid.
            if self.choice(variant).iter().all(Option::is_some) {
                groups.entry(self.others(variant)).or_default().push(variant);
            }
        }
        let of_grid: Vec<usize> = groups.values().flatten().copied().collect();
        let mut found: Vec<Combination> =
            groups.into_iter().map(|(key, variants)| self.combination(key, variants, is_out)).collect();
        let today = self.others(self.baseline);
        if found.iter().any(|of| of.key == today) {
            return found;
        }
        // With its values only the scenario's own `tolerationSeconds` were played, so that all are compared with these, if the
        // grid has them.
        let wanted = self.choice(self.baseline);
        let has_them = |variant: usize| {
            let choice = self.choice(variant);
            (0..choice.len()).all(|axis| !self.is_of_tolerations(axis) || choice[axis] == wanted[axis])
        };
        for of in &mut found {
            if let Some(like) = of.variants.iter().find(|variant| has_them(**variant)) {
                of.at_best = self.costs(*like);
            }
        }
        let costs = self.combination(today.clone(), of_grid.clone(), is_out).costs;
        let at_best = self.costs(self.baseline);
        found.push(Combination {
            key: today,
            variant: self.baseline,
            variants: of_grid,
            costs,
            at_best,
            is_ruled_out: false,
            is_outside: true,
        });
        found
    }

    /// `nodes=6, grace=40s`: the values of a combination.
    fn others_named(&self, key: &[Option<usize>]) -> Vec<(String, String)> {
        let value = |axis: usize| key[axis].map_or_else(|| TODAY.to_owned(), |level| self.levels[axis][level].clone());
        let axes = (0..key.len()).filter(|&axis| !self.is_of_tolerations(axis));
        axes.map(|axis| (self.axes[axis].clone(), value(axis))).collect()
    }

    fn tuning(&self) -> Option<Tuning> {
        let is_out = self.ruled_out();
        let combinations = self.combinations(&is_out);
        let at_best: Vec<Series> = combinations.iter().map(|of| of.at_best.clone()).collect();
        let contest = self.contest(&at_best, &combinations.iter().map(|of| of.is_ruled_out).collect::<Vec<_>>());
        let key_today = self.others(self.baseline);
        let today = combinations.iter().position(|of| of.key == key_today)?;
        let chosen = self.worth_a_change(&combinations, &contest, today);
        let told = |&other: &usize| {
            let values = self.others_named(&combinations[other].key);
            values.into_iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(", ")
        };
        let alike = contest.alike.iter().chain(contest.order.first()).filter(|other| **other != chosen);
        let of = &combinations[chosen];
        let choices: Vec<WorkloadChoice> =
            (0..self.tuned.len()).map(|workload| self.workload_choice(workload, of, &is_out)).collect();
        Some(Tuning {
            others: self.others_named(&of.key),
            changes_others: today != chosen,
            alike_others: alike.map(told).collect(),
            kept_for_unseen: (chosen == today)
                .then(|| self.kept_for_unseen(&at_best, &contest, today))
                .flatten()
                .filter(|_| !combinations[contest.order[0]].is_ruled_out)
                .map(|unseen| KeptForUnseen { values: told(&contest.order[0]), unseen }),
            whole_for: Vec::new(),
            of_grid: self.of_grid(&of.key, &choices),
            workloads: choices,
            variant: of.variant,
        })
    }

    /// The variant that is what is recommended: the values of `key`, and those of the workloads if all of an axis have the same.
    fn of_grid(&self, key: &[Option<usize>], choices: &[WorkloadChoice]) -> Option<usize> {
        let today = self.choice(self.baseline);
        let mut wanted = key.to_vec();
        for axis in (0..wanted.len()).filter(|&axis| self.is_of_tolerations(axis)) {
            let value = |of: &WorkloadChoice| if of.is_clear { Some(of.level) } else { today[axis] };
            let mut values = choices.iter().filter(|of| of.axis == axis).map(value);
            let first = values.next()?;
            if values.any(|other| other != first) {
                return None;
            }
            wanted[axis] = first;
        }
        (0..self.variants.len()).find(|&variant| self.choice(variant) == wanted)
    }

    /// The cheapest combination, if the data tell that it costs less than what is there, by more than is worth a change; else what
    /// is there. Of those that the data tell to cost as much as the cheapest, but for what nobody would notice, the one that changes
    /// least.
    ///
    /// # Source
    /// Schuirmann, A comparison of the two one-sided tests procedure, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987):
    /// two are alike if the interval of their difference lies within what makes no difference, not if it is wide.
    fn worth_a_change(&self, all: &[Combination], contest: &Contest, today: usize) -> usize {
        let (cheapest, columns) = (contest.order[0], all.iter().map(|of| of.at_best.clone()).collect::<Vec<_>>());
        let estimate = self.estimate_at(contest.confidence).with_unseen(&columns, self.is_chancy);
        let against = |one: usize, other: usize| estimate.between(&columns, one, other);
        let mean = |column: usize| estimate.mean(&columns[column]).mean;
        let is_better = |one: usize| {
            let difference = against(one, today);
            difference.high < 0.0 && matters(difference, mean(today))
        };
        if cheapest == today || all[cheapest].is_ruled_out || !is_better(cheapest) {
            return today;
        }
        let is_as_cheap = |&other: &usize| {
            other == cheapest
                || (is_better(other) && against(other, cheapest).high < INDIFFERENCE * mean(cheapest).abs())
        };
        let changes = |other: &usize| all[*other].key.iter().zip(&all[today].key).filter(|(a, b)| a != b).count();
        contest.order.iter().copied().filter(is_as_cheap).min_by_key(changes).unwrap_or(cheapest)
    }

    /// What the saving of the cheapest column against that of today rests on, if it is not told for what was not seen.
    fn kept_for_unseen(&self, columns: &[Series], contest: &Contest, today: usize) -> Option<RestsOnUnseen> {
        let estimate = self.estimate_at(contest.confidence).with_unseen(columns, self.is_chancy);
        estimate.rests_on_unseen(columns, contest.order[0], today)
    }

    fn workload_choice(&self, workload: usize, of: &Combination, is_out: &[bool]) -> WorkloadChoice {
        let (path, axis) = &self.tuned[workload];
        let labels = &self.levels[*axis];
        let (levels, variants) = (&of.costs[workload], &of.variants);
        let name = |&level: &usize| labels[level].clone();
        let out = self.levels_ruled_out(variants, *axis, is_out);
        let contest = self.contest(levels, &out);
        let level = contest.order[0];
        let level_today = self.choice(self.baseline)[*axis];
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
        let values = self.values(workload, of, &out, &estimate);
        let point = |of: &ValueOutcome| (of.unready_replica_s, of.needless_evictions);
        let points = values.iter().map(|of| if of.ruled_out { (f64::NAN, f64::NAN) } else { point(of) });
        let points: Vec<(f64, f64)> = points.collect();
        WorkloadChoice {
            workload: path.clone(),
            best: name(&level),
            today,
            is_clear: is_told && matters(against_today, cost_today.mean),
            is_slight: is_told && !matters(against_today, cost_today.mean),
            rests_on_unseen: if is_today { None } else { pairs.rests_on_unseen(&both, 0, 1) },
            cost: estimate.mean(&levels[level]),
            cost_today,
            against_today,
            runner_up: contest.order.get(1).map(name),
            alike: contest.alike.iter().map(name).collect(),
            front: front(&points).iter().map(name).collect(),
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
            unready_replica_s: mean(level, 1),
            evictions: mean(level, 2),
            needless_evictions: mean(level, 3),
            left_undone: shows[level].map_or_else(Vec::new, |variant| left[variant].clone()),
            ruled_out: out[level],
        };
        self.levels[axis].iter().enumerate().map(outcome).collect()
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
        let is_tuned = |axis: usize| tuning.workloads.iter().any(|choice| choice.axis == axis);
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
    /// The variant of the grid that is recommended, be it the baseline; none if workloads get values of their own.
    #[must_use]
    pub fn recommended_variant(&self) -> Option<usize> {
        self.of_grid
    }

    /// Whether anything is to be changed.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.changes_others || self.workloads.iter().any(|choice| choice.is_clear)
    }

    /// A variant of the grid that has the recommended values of what is not `tolerationSeconds`.
    #[must_use]
    pub fn combination(&self) -> usize {
        self.variant
    }

    /// `tuning.csv`: a row for each workload and value.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = String::from(
            "workload,value,today,best,cost,low,high,unready_replica_s,evictions,needless_evictions,ruled_out\n",
        );
        let finite = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
        for choice in &self.workloads {
            for of in &choice.values {
                let _ = writeln!(
                    text,
                    "{},{},{},{},{},{},{},{},{},{},{}",
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
                    if of.ruled_out { reason(&of.left_undone) } else { String::new() },
                );
            }
        }
        text
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::results::tests::results;
    use super::*;

    /// Two workloads, of which each has its own best value among three.
    pub(in crate::study) fn mixed(today: usize) -> Results {
        let of = |costs: [[f64; 2]; 3]| -> Results {
            let noise = [0.0, 1.0, 0.5, 0.2, 0.9, 0.4];
            let totals: Vec<Vec<f64>> =
                costs.iter().map(|of| noise.iter().map(|x| of[0] + of[1] + 10.0 * x).collect()).collect();
            let mut results = results(&totals.iter().map(Vec::as_slice).collect::<Vec<_>>());
            results.tuned = vec![("deployment/d/a".into(), 0), ("deployment/d/b".into(), 0)];
            for (variant, runs) in results.runs.iter_mut().enumerate() {
                for run in runs {
                    let wobble = noise[run.replication as usize] * 0.01 * (variant + 1) as f64;
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
    fn of_what_is_told_to_cost_the_same_the_fewest_changes_are_made() {
        let noise = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];
        let column = |mean: f64, share: f64| noise.map(|x| mean + share * x);
        let check = |last: [f64; 8], expected: [&str; 2]| {
            // Grace 50 and 90 with lease 20 and 40.
            let columns = [column(10.0, 1.0), column(10.1, -1.0), column(4.0, 1.0), last];
            let mut grid = results(&columns.each_ref().map(|column| column.as_slice()));
            grid.axes = vec!["grace".into(), "lease".into()];
            grid.levels = vec![vec!["50s".into(), "90s".into()], vec!["20".into(), "40".into()]];
            grid.variants = [["50s", "20"], ["50s", "40"], ["90s", "20"], ["90s", "40"]]
                .map(|of| of.map(str::to_owned).to_vec())
                .to_vec();
            grid.baseline = 1;
            let tuning = grid.tuning().expect("priced");
            let values: Vec<&str> = tuning.others.iter().map(|(_, value)| value.as_str()).collect();
            assert_eq!((values, tuning.changes_others), (expected.to_vec(), true));
            assert_eq!(tuning.alike_others.len(), 1);
        };
        // The lease makes no difference in any run.
        check(column(4.000_1, 1.001), ["90s", "40"]);
        // It makes one in every run, up and down: nobody knows which is cheaper, and the lower mean is the better guess.
        check(column(4.05, -1.0), ["90s", "20"]);
    }

    #[test]
    fn what_saves_too_little_is_left_as_it_is() {
        let noise = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];
        let check = |saved: f64, expected: (bool, bool)| {
            let columns = [noise.map(|x| 1000.0 + x - saved), noise.map(|x| 1000.0 + x)];
            let mut grid = results(&columns.each_ref().map(|column| column.as_slice()));
            grid.tuned = vec![("deployment/d/a".into(), 0)];
            for (variant, runs) in grid.runs.iter_mut().enumerate() {
                for run in runs {
                    run.workloads = vec![0.0; WORKLOAD_METRICS.len()].into();
                    run.workloads[0] = columns[variant][run.replication as usize];
                }
            }
            grid.baseline = 1;
            let choice = &grid.tuning().expect("priced").workloads[0];
            assert_eq!((choice.is_clear, choice.is_slight), expected, "{saved}");
        };
        check(3.0, (false, true));
        check(30.0, (true, false));
    }

    #[test]
    fn what_never_varied_is_no_certainty() {
        // A value that cost nothing in eight runs, where another one cost a thousand in one of them.
        let columns = [[0.0; 8], [5.0, 5.2, 4.8, 1000.0, 5.1, 4.9, 5.3, 5.0]];
        let mut grid = results(&columns.each_ref().map(|column| column.as_slice()));
        grid.axes = vec!["grace".into()];
        grid.baseline = 1;
        assert!(!grid.tuning().expect("priced").changes_others);
    }

    #[test]
    fn what_is_there_must_be_beaten_also_if_the_grid_does_not_have_it() {
        let noise = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];
        let column = |mean: f64| noise.map(|x| mean + x);
        let check = |today: f64, expected: (&str, bool)| {
            // Seven and eight nodes; six, as it is, stand behind the grid.
            let columns = [column(70.0), column(80.0), column(today)];
            let mut grid = results(&columns.each_ref().map(|column| column.as_slice()));
            grid.axes = vec!["nodes".into()];
            grid.levels = vec![vec!["7".into(), "8".into()]];
            grid.variants = ["7", "8", TODAY].map(|of| vec![of.to_owned()]).to_vec();
            grid.baseline = 2;
            let tuning = grid.tuning().expect("priced");
            assert_eq!((tuning.others[0].1.as_str(), tuning.changes_others), expected);
        };
        check(60.0, (TODAY, false));
        check(90.0, ("7", true));
    }

    #[test]
    fn tolerations_are_compared_among_equals_if_the_rest_of_today_was_not_played() {
        // Seven or eight nodes, each with 0 and 300 seconds; today there are six nodes, which cost least, with 300.
        let noise = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];
        let (totals, own) = ([70.0, 75.0, 80.0, 85.0, 65.0], [5.0, 10.0, 5.0, 10.0, 10.0]);
        let columns = totals.map(|mean| noise.map(|x| mean + x));
        let mut grid = results(&columns.each_ref().map(|column| column.as_slice()));
        grid.axes = vec!["nodes".into(), "wait".into()];
        grid.levels = vec![vec!["7".into(), "8".into()], vec!["0".into(), "300".into()]];
        let variants = [["7", "0"], ["7", "300"], ["8", "0"], ["8", "300"], [TODAY, "300"]];
        grid.variants = variants.map(|of| of.map(str::to_owned).to_vec()).to_vec();
        grid.baseline = 4;
        grid.tuned = vec![("deployment/d/a".into(), 1)];
        for (variant, runs) in grid.runs.iter_mut().enumerate() {
            for run in runs {
                let mut values = vec![0.0; WORKLOAD_METRICS.len()];
                values[0] = own[variant] + 0.01 * noise[run.replication as usize] * variant as f64;
                run.workloads = values.into();
            }
        }
        let tuning = grid.tuning().expect("priced");
        assert_eq!((tuning.others[0].1.as_str(), tuning.changes_others), (TODAY, false));
        assert_eq!((tuning.workloads[0].best.as_str(), tuning.workloads[0].is_clear), ("0", true));
        // Without the 300 of today in the grid nothing says whether nodes or waiting made the difference.
        grid.levels[1][1] = "200".into();
        for variant in [1, 3] {
            grid.variants[variant][1] = "200".into();
        }
        let tuning = grid.tuning().expect("priced");
        assert!(!tuning.changes_others && !tuning.workloads[0].is_clear);
    }

    /// Two workloads that cost nothing of their own, in a cluster that loses traffic.
    fn of_lost_traffic(totals: [f64; 3]) -> Results {
        let mut results = mixed(2);
        let noise = [0.0, 1.0, 0.5, 0.2, 0.9, 0.4];
        for (variant, runs) in results.runs.iter_mut().enumerate() {
            for run in runs {
                let cost = totals[variant] + noise[run.replication as usize];
                *run.metrics.last_mut().expect("the cost") = cost;
                run.workloads = vec![0.0; 2 * WORKLOAD_METRICS.len()].into();
            }
        }
        results
    }

    #[test]
    fn what_belongs_to_no_workload_decides_for_the_whole_cluster() {
        let mut results = of_lost_traffic([100.0, 20.0, 400.0]);
        results.prices.push(("lost_traffic_s".into(), 1.0));
        // Taken apart, 0 costs the workloads least.
        for run in results.runs.iter_mut().skip(1).flatten() {
            (run.workloads[0], run.workloads[WORKLOAD_METRICS.len()]) = (9.0, 9.0);
        }
        let tuning = results.tuning().expect("priced");
        assert_eq!((tuning.others[0].1.as_str(), tuning.changes_others), ("1", true));
        assert_eq!(
            (tuning.whole_for.as_slice(), tuning.recommended_variant()),
            (&["lost_traffic_s".to_owned()][..], Some(1))
        );
        assert_eq!(results.comparison().expect("priced").best, 1);
        let summary: serde_json::Value =
            serde_json::from_str(&results.summary_json(Some(&tuning), None)).expect("JSON");
        assert_eq!(summary["recommendation"]["best"], 1);
        // Nodes at t=0 are the same whatever is tolerated.
        results.prices = vec![("evictions".into(), 1.0), ("node_h".into(), 1.0), ("lost_traffic_s".into(), 0.0)];
        assert!(results.tuning().expect("priced").whole_for.is_empty());
    }

    #[test]
    fn what_is_told_of_the_whole_is_not_denied_because_no_workload_shows_it() {
        let tuning = of_lost_traffic([100.0, 20.0, 400.0]).tuning().expect("priced");
        assert_eq!((tuning.recommended_variant(), tuning.changes()), (Some(1), true));
        let tuning = of_lost_traffic([100.0, 20.0, 10.0]).tuning().expect("priced");
        assert_eq!((tuning.recommended_variant(), tuning.changes()), (Some(2), false));
    }

    #[test]
    fn what_is_recommended_is_a_variant_if_all_workloads_agree() {
        // The workloads want 1 and 0; with 1 or 0 today one of them changes.
        assert_eq!((0..3).map(|today| mixed(today).tuning().expect("priced").of_grid).collect::<Vec<_>>(), [None; 3]);
        let mut agreed = mixed(2);
        for run in &mut agreed.runs[1] {
            run.workloads[WORKLOAD_METRICS.len()] = 0.1;
        }
        assert_eq!(agreed.tuning().expect("priced").of_grid, Some(1));
    }

    #[test]
    fn the_value_that_is_there_already_is_no_change() {
        let tuning = mixed(1).tuning().expect("priced");
        assert!(!tuning.workloads[0].is_clear && tuning.workloads[1].is_clear);
    }
}
