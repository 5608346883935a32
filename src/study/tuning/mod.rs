//! Which `tolerationSeconds` is best for each workload, and what the rest of the grid adds to that.
//!
//! A grid sets all workloads of an axis alike. What a value costs *one* of them is told apart: its own missing replicas, its own
//! evictions. The values recommended may thus differ from workload to workload although no variant mixed them; the mixture is
//! then played on seeds that the choice has not seen, against the scenario as it is.

mod combination;
mod recommended;
mod required;
mod selection;
mod together;
mod workload;

use std::collections::BTreeMap;

use serde::Serialize;

use super::comparison::Contest;
use super::estimate::{RestsOnUnseen, Series};
use super::metrics::{self, WORKLOAD_METRICS};
use super::results::Results;
use super::run::RunRow;
use super::statistics::Interval;
use super::undone::{LeftUndone, reason};
use crate::report::{TuningRow, named_table_text};
use combination::Combination;
pub(super) use selection::{FIRST_ROUND, Screening, next_round};
pub use selection::{Selection, SetAside};
pub use together::Together;

/// The metric of what is paid for nodes.
const NODE_H: &str = "node_h";

/// What is recommended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuning {
    /// The values of what is not `tolerationSeconds`: axis and value.
    pub others: Vec<(String, String)>,
    /// Whether these differ from the baseline's.
    pub changes_others: bool,
    /// What the data cannot tell from the cheapest of these, the cheapest itself among them if others have fewer changes.
    pub alike_others: Vec<String>,
    /// Values that are told to cost less than what is there, and are not recommended as it is by too little to be worth a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_as_slight: Option<String>,
    /// What would be cheaper as far as was seen, and is not recommended for what was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_for_unseen: Option<KeptForUnseen>,
    /// What a study that requires something says of what is there and of all others; none if it requires nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirements: Option<Promise>,
    /// Metrics that have a price and belong to no workload, for which `tolerationSeconds`, too, are chosen for the cluster as a whole.
    pub whole_for: Vec<String>,
    /// Whether a variant is told to be cheaper than the best for each workload, so that that one is recommended.
    pub beats_each: bool,
    /// What workloads show together of which none shows it alone.
    pub together: Vec<Together>,
    /// For each workload; none where `tolerationSeconds` are chosen for the cluster as a whole, and are among `others`.
    pub workloads: Vec<WorkloadChoice>,
    /// A variant that has `others`.
    #[serde(skip)]
    variant: usize,
    /// The variant that is what is recommended; none if workloads get values of their own.
    #[serde(skip)]
    of_grid: Option<usize>,
    /// Runs of each value that was not set aside, if some may have been.
    #[serde(skip)]
    replications: Option<u32>,
}

/// What can be promised of the cluster as it is, and of what is recommended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Promise {
    /// What is there is told to meet what is required.
    BaselineMeets,
    /// It is not, but what is recommended is, whatever it costs.
    BaselineDoesNot,
    /// Neither is any variant, so that nothing is recommended.
    NobodyMeets,
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
    /// The value that it is to have: the best if that is told to be cheaper than today's, by enough to be worth a change; one that pays
    /// for several workloads together of which none shows it alone; else today's.
    pub recommended: String,
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
    /// Values that no other one is told to beat in both unready replica-seconds and needless evictions.
    pub front: Vec<String>,
    /// Every value.
    pub values: Vec<ValueOutcome>,
    #[serde(skip)]
    axis: usize,
    #[serde(skip)]
    level: usize,
}

impl WorkloadChoice {
    /// Which of the things that are varied its values are of.
    pub(crate) fn axis(&self) -> usize {
        self.axis
    }

    /// Whether it is to have another value than it has.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.recommended != self.today
    }
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
    /// Runs that this rests on, if it was set aside and others have more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// What the cluster leaves undone under it that it gets done under the baseline.
    pub left_undone: Vec<LeftUndone>,
    /// Whether it cannot be recommended for that.
    pub ruled_out: bool,
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
    /// Whether what counts is told of runs as a whole: what a value costs one workload says nothing of it, so that `tolerationSeconds` are
    /// chosen for the cluster.
    #[must_use]
    pub fn is_of_whole_runs(&self) -> bool {
        self.requires() || !self.cost_by.is_mean()
    }

    /// What can be promised, if anything is required.
    fn promise(&self) -> Option<Promise> {
        self.requires().then(|| match self.not_to_recommend()[self.baseline] {
            false => Promise::BaselineMeets,
            true if self.nobody_meets() => Promise::NobodyMeets,
            true => Promise::BaselineDoesNot,
        })
    }

    /// Metrics that have a price and differ with `tolerationSeconds`, but are no workload's own: what a value costs one workload cannot
    /// be told of these.
    fn priced_of_no_workload(&self) -> Vec<String> {
        // Without an autoscaler nodes are what they are, however long pods tolerate their loss.
        let is_own = |name: &str| WORKLOAD_METRICS.contains(&name) || name == NODE_H && !self.nodes_follow_pods();
        let priced = self.prices.iter().filter(|(name, price)| *price > 0.0 && !is_own(name));
        priced.map(|(name, _)| name.clone()).collect()
    }

    /// Whether runs with one seed had other node-hours though nothing but `tolerationSeconds` differed.
    fn nodes_follow_pods(&self) -> bool {
        let tuner = Tuner { results: self, tuned: &self.tuned };
        let Some(metric) = metrics::position(NODE_H) else { return false };
        let mut known: BTreeMap<(Vec<Option<usize>>, u32), f64> = BTreeMap::new();
        self.runs.iter().enumerate().any(|(variant, runs)| {
            let others = tuner.others(variant);
            let mut differs = |run: &RunRow| {
                let found = run.metrics[metric];
                known.insert((others.clone(), run.replication), found).is_some_and(|before| before != found)
            };
            runs.iter().any(&mut differs)
        })
    }

    /// What is recommended; none if nothing has a price or nothing was played.
    #[must_use]
    pub fn tuning(&self) -> Option<Tuning> {
        if self.prices.is_empty() || self.runs.iter().any(Vec::is_empty) {
            return None;
        }
        if self.search.is_some() {
            return self.tuning_of_search();
        }
        let whole_for = self.priced_of_no_workload();
        let whole = || Tuner { results: self, tuned: &[] }.tuning();
        if self.tuned.is_empty() || self.is_of_whole_runs() {
            return whole();
        }
        if !whole_for.is_empty() {
            return whole().map(|whole| Tuning { whole_for, ..whole });
        }
        let apart = Tuner { results: self, tuned: &self.tuned }.tuning()?;
        if apart.changes() && !apart.beats_each {
            return Some(apart);
        }
        // What is not told of any workload may be told of all of them together.
        let beats_each = apart.beats_each;
        let whole = whole()?;
        Some(match whole.changes() {
            true => Tuning { beats_each, ..whole },
            false => {
                let kept_as_slight = apart.kept_as_slight.clone().or(whole.kept_as_slight);
                Tuning { beats_each: false, kept_as_slight, ..apart }
            }
        })
    }
}

impl Tuner<'_> {
    fn tuning(&self) -> Option<Tuning> {
        let is_out = self.not_to_recommend();
        let combinations = self.combinations(&is_out);
        let at_best: Vec<Series> = combinations.iter().map(|of| of.at_best.clone()).collect();
        let contest = self.contest(&at_best, &combinations.iter().map(Combination::is_out).collect::<Vec<_>>());
        let key_today = self.others(self.baseline);
        let today = combinations.iter().position(|of| of.key == key_today)?;
        let chosen = self.worth_a_change(&combinations, &at_best, &contest, today);
        let told = |&other: &usize| {
            let values = self.others_named(&combinations[other].key);
            values.into_iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(", ")
        };
        let alike = contest.alike.iter().chain(contest.order.first()).filter(|other| **other != chosen);
        let of = &combinations[chosen];
        let mut choices: Vec<WorkloadChoice> =
            (0..self.tuned.len()).map(|workload| self.workload_choice(workload, of, &is_out)).collect();
        let together = self.together(&mut choices, of, &is_out);
        Some(Tuning {
            beats_each: !choices.is_empty() && self.is_beaten(&choices, of, &is_out),
            together,
            others: self.others_named(&of.key),
            changes_others: today != chosen,
            alike_others: alike.map(told).collect(),
            kept_as_slight: (chosen == today)
                .then(|| self.kept_as_slight(&combinations, &at_best, &contest, today).as_ref().map(told))
                .flatten(),
            kept_for_unseen: (chosen == today)
                .then(|| self.kept_for_unseen(&at_best, &contest, today))
                .flatten()
                .filter(|_| !combinations[contest.order[0]].is_ruled_out)
                .map(|unseen| KeptForUnseen { values: told(&contest.order[0]), unseen }),
            requirements: self.promise(),
            whole_for: Vec::new(),
            of_grid: self.of_grid(&of.key, &choices),
            workloads: choices,
            variant: of.variant,
            replications: self.selection.is_some().then_some(self.results.replications),
        })
    }

    /// The variant that is what is recommended: the values of `key`, and those of the workloads if all of an axis have the same.
    fn of_grid(&self, key: &[Option<usize>], choices: &[WorkloadChoice]) -> Option<usize> {
        let today = self.choice(self.baseline);
        let mut wanted = key.to_vec();
        for axis in (0..wanted.len()).filter(|&axis| self.is_of_tolerations(axis)) {
            let value = |of: &WorkloadChoice| if of.changes() { Some(of.level) } else { today[axis] };
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
    /// is there, if that is told to meet what is required. Of those that the data tell to cost as much as the cheapest, but for what
    /// nobody would notice, the one that changes least.
    ///
    /// # Source
    /// Schuirmann, A comparison of the two one-sided tests procedure, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987):
    /// two are alike if the interval of their difference lies within what makes no difference, not if it is wide.
    fn worth_a_change(&self, all: &[Combination], columns: &[Series], contest: &Contest, today: usize) -> usize {
        let cheapest = contest.order[0];
        let estimate = self.cost_estimate_at(contest.confidence).with_unseen(columns, self.is_chancy);
        let against = |one: usize, other: usize| estimate.between(columns, one, other);
        let mean = |column: usize| estimate.mean(&columns[column]).mean;
        // Who is not told to meet what is required is no one to be better than.
        let is_better = |one: usize| {
            let difference = against(one, today);
            all[today].is_ruled_out || difference.high < 0.0 && self.matters(difference, mean(today))
        };
        if cheapest == today || all[cheapest].is_ruled_out || !is_better(cheapest) {
            return today;
        }
        let is_as_cheap = |&other: &usize| {
            other == cheapest
                || (is_better(other) && against(other, cheapest).high < self.indifference * mean(cheapest).abs())
        };
        let changes = |other: &usize| all[*other].key.iter().zip(&all[today].key).filter(|(a, b)| a != b).count();
        contest.order.iter().copied().filter(is_as_cheap).min_by_key(changes).unwrap_or(cheapest)
    }

    /// The cheapest of the columns that are told to cost less than that of today, but by less than is worth a change.
    fn kept_as_slight(
        &self,
        all: &[Combination],
        columns: &[Series],
        contest: &Contest,
        today: usize,
    ) -> Option<usize> {
        let estimate = self.cost_estimate_at(contest.confidence).with_unseen(columns, self.is_chancy);
        let cost_today = estimate.mean(&columns[today]).mean;
        let is_slight = |one: &usize| {
            let difference = estimate.between(columns, *one, today);
            difference.high < 0.0 && !self.matters(difference, cost_today)
        };
        contest.order.iter().copied().filter(|one| *one != today && !all[*one].is_out()).find(is_slight)
    }

    /// What the saving of the cheapest column against that of today rests on, if it is not told for what was not seen.
    fn kept_for_unseen(&self, columns: &[Series], contest: &Contest, today: usize) -> Option<RestsOnUnseen> {
        let estimate = self.cost_estimate_at(contest.confidence).with_unseen(columns, self.is_chancy);
        estimate.rests_on_unseen(columns, contest.order[0], today)
    }
}

impl Tuning {
    /// That of a variant for the cluster as a whole, and of others that cannot be told from it.
    pub(super) fn of_variant(results: &Results, variant: usize, alike: Vec<usize>) -> Self {
        let tuner = Tuner { results, tuned: &[] };
        Self {
            others: tuner.others_named(&tuner.choice(variant)),
            changes_others: variant != results.baseline,
            alike_others: alike.into_iter().map(|other| results.label(other)).collect(),
            kept_as_slight: None,
            kept_for_unseen: None,
            requirements: results.promise(),
            whole_for: Vec::new(),
            beats_each: false,
            together: Vec::new(),
            workloads: Vec::new(),
            variant,
            of_grid: Some(variant),
            replications: None,
        }
    }

    /// The variant of the grid that is recommended, be it the baseline; none if workloads get values of their own, or nothing is
    /// recommended.
    #[must_use]
    pub fn recommended_variant(&self) -> Option<usize> {
        self.of_grid.filter(|_| self.requirements != Some(Promise::NobodyMeets))
    }

    /// Whether another one recommends the same.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let values = |of: &Self| -> Vec<(String, String)> {
            of.workloads.iter().map(|choice| (choice.workload.clone(), choice.recommended.clone())).collect()
        };
        match (self.of_grid, other.of_grid) {
            (Some(one), Some(other)) => one == other,
            _ => self.others == other.others && values(self) == values(other),
        }
    }

    /// Whether anything is to be changed.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.changes_others || self.workloads.iter().any(WorkloadChoice::changes)
    }

    /// A variant of the grid that has the recommended values of what is not `tolerationSeconds`.
    #[must_use]
    pub fn combination(&self) -> usize {
        self.variant
    }

    /// Rows of `tuning.csv`.
    pub(super) fn row_count(&self) -> usize {
        self.workloads.iter().map(|choice| choice.values.len()).sum()
    }

    /// `tuning.csv`: a row for each workload and value.
    #[must_use]
    pub fn csv(&self) -> String {
        let values = self.workloads.iter().flat_map(|choice| choice.values.iter().map(move |of| (choice, of)));
        let rows = values.map(|(choice, of)| TuningRow {
            workload: choice.workload.to_string(),
            value: of.value.clone(),
            today: choice.today.clone(),
            best: choice.best.clone(),
            cost: [of.cost.mean, of.cost.low, of.cost.high],
            unready_replica_s: of.unready_replica_s,
            evictions: of.evictions,
            needless_evictions: of.needless_evictions,
            recommended: choice.recommended.clone(),
            ruled_out: if of.ruled_out { reason(&of.left_undone) } else { String::new() },
            runs: self.replications.map(|all| f64::from(of.runs.unwrap_or(all))).into_iter().collect(),
        });
        let runs: &[&str] = if self.replications.is_some() { &["runs"] } else { &[] };
        String::from_utf8(named_table_text::<TuningRow>(&[runs], rows)).expect("cells are text")
    }
}

#[cfg(test)]
pub(super) mod tests;
