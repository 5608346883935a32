//! Which variants are played on: those that may yet turn out to be what is wanted.
//!
//! All begin with as many runs, with the same seeds. After each round costs are compared, seed by seed, and who is told to be dearer than
//! the cheapest is set aside, so that the runs that are left go where they decide. Three questions are asked of the same runs: which
//! variant is cheapest as a whole, which combination of what is not `tolerationSeconds`, and which value is for each workload. Only
//! what is the answer to none of them is set aside.
//!
//! # Source
//!
//! Screening of paired differences on common random numbers in several stages: Kim and Nelson, A fully sequential procedure for
//! indifference-zone selection in simulation, ACM Transactions on Modeling and Computer Simulation 11 (2001). In place of its boundary, which
//! takes costs to be normal, stand the intervals that the study has anyway, and error spending over looks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::estimate::Series;
use super::super::results::Results;
use super::combination::Combination;
use super::{Tuner, Tuning};

/// How runs were given to variants where only contenders were played on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// Runs that a variant could have had at most.
    pub replications_max: u32,
    /// Whether no contender that is left can be better, by more than is worth a change, than the one that is cheapest.
    pub is_decided: bool,
    /// Variants that were not played on, by position.
    pub set_aside: Vec<SetAside>,
    /// Runs of each of the others.
    #[serde(skip)]
    pub(in crate::study) replications: u32,
    /// How often the results were looked at.
    #[serde(skip)]
    pub(in crate::study) looks: u32,
}

/// A variant that was not played on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    /// Its position.
    pub variant: usize,
    /// Its runs.
    pub runs: u32,
}

impl Selection {
    /// Nobody is set aside yet.
    pub(in crate::study) fn begin(replications_max: u32) -> Self {
        Self { replications_max, is_decided: false, set_aside: Vec::new(), replications: 0, looks: 0 }
    }

    /// Runs that a variant has; none if it goes on.
    pub(in crate::study) fn runs_of(&self, variant: usize) -> Option<u32> {
        self.set_aside.iter().find(|of| of.variant == variant).map(|of| of.runs)
    }

    /// Whether a run is one of those that count: what is left of an interrupted study may have more.
    pub(crate) fn has(&self, variant: usize, replication: u32) -> bool {
        replication < self.runs_of(variant).unwrap_or(self.replications)
    }

    /// Runs of each variant that was not set aside.
    pub(crate) fn replications(&self) -> u32 {
        self.replications
    }

    /// How often the results were looked at.
    pub(crate) fn looks(&self) -> u32 {
        self.looks
    }
}

/// Which question: that of the whole, of combinations, or of a workload under a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    Whole,
    Combination,
    Workload { combination: usize, workload: usize },
}

/// What the runs so far say to one question.
struct Answer {
    /// Columns that may be the cheapest.
    contenders: Vec<bool>,
    /// Whether none of them can be better than the cheapest by more than is worth a change.
    is_settled: bool,
}

/// What a look says of all of them.
pub(in crate::study) struct Look {
    /// Variants that go on.
    pub(in crate::study) goes_on: Vec<bool>,
    /// Whether more runs would not change the answer.
    pub(in crate::study) is_decided: bool,
}

/// Columns of costs that are compared, and what is known of them.
struct Asked<'a> {
    question: Question,
    columns: &'a [Series],
    is_out: &'a [bool],
    /// The column of what is there, if it is among them.
    today: Option<usize>,
}

/// Looks at the results round after round.
#[derive(Debug, Default)]
pub(in crate::study) struct Screening {
    /// The answer to questions that have one. It stays: who would take the place of what is as good as the best but for what nobody would
    /// notice, and so on round after round, would in the end be far from it.
    settled: BTreeMap<Question, usize>,
}

impl Screening {
    /// What the results so far say.
    pub(in crate::study) fn look(&mut self, results: &Results) -> Look {
        let variants = results.variants.len();
        let columns: Vec<Series> = (0..variants).map(|variant| results.costs(variant)).collect();
        let ruled_out = results.ruled_out();
        let is_out: Vec<bool> =
            (0..variants).map(|variant| ruled_out[variant] || results.is_set_aside(variant)).collect();
        let asked =
            Asked { question: Question::Whole, columns: &columns, is_out: &is_out, today: Some(results.baseline) };
        let whole = self.answer(results, &asked);
        let mut goes_on = whole.contenders;
        // Where workloads get values of their own, the whole need not be decided.
        let is_decided = match results.tuner_of_workloads() {
            None => whole.is_settled,
            Some(tuner) => {
                let of_workloads = self.look_at_workloads(&tuner, &ruled_out, &mut goes_on);
                of_workloads && (whole.is_settled || results.tuning().is_some_and(|of| of.has_own_values()))
            }
        };
        goes_on[results.baseline] = true;
        Look { goes_on, is_decided }
    }

    /// The same of workloads, each with values of its own; whether that answer is final.
    fn look_at_workloads(&mut self, tuner: &Tuner<'_>, ruled_out: &[bool], goes_on: &mut [bool]) -> bool {
        let combinations = tuner.combinations(ruled_out);
        let columns: Vec<Series> = combinations.iter().map(|of| of.at_best.clone()).collect();
        let is_out: Vec<bool> = combinations.iter().map(Combination::is_out).collect();
        let key_today = tuner.others(tuner.baseline);
        let today = combinations.iter().position(|of| of.key == key_today);
        let asked = Asked { question: Question::Combination, columns: &columns, is_out: &is_out, today };
        let best = self.answer(tuner, &asked);
        let mut is_decided = best.is_settled;
        for (combination, of) in combinations.iter().enumerate() {
            let is_contender = best.contenders[combination];
            // What is there is not given up before something is recommended in its place.
            if !is_contender && today != Some(combination) {
                continue;
            }
            for workload in 0..tuner.tuned.len() {
                let levels = self.levels(tuner, ruled_out, (combination, of), workload);
                is_decided &= levels.is_settled || !is_contender;
                let axis = tuner.tuned[workload].1;
                let wants = |variant: usize| match tuner.choice(variant)[axis] {
                    Some(level) => !tuner.sets_values_aside() || levels.contenders[level],
                    None => false,
                };
                let own = of.variants.iter().filter(|_| !of.is_outside);
                own.for_each(|variant| goes_on[*variant] |= wants(*variant));
            }
        }
        is_decided
    }

    /// Which values a workload may want under a combination.
    fn levels(
        &mut self,
        tuner: &Tuner<'_>,
        ruled_out: &[bool],
        (combination, of): (usize, &Combination),
        workload: usize,
    ) -> Answer {
        let axis = tuner.tuned[workload].1;
        let (mut columns, mut is_out) = (of.costs[workload].clone(), tuner.levels_out(&of.variants, axis, ruled_out));
        let today = match tuner.choice(tuner.baseline)[axis] {
            _ if of.key != tuner.others(tuner.baseline) => None,
            // The value that is there need not be in the grid.
            None if !of.is_outside => {
                columns.push(tuner.of_workload(tuner.baseline, workload, 0));
                is_out.push(false);
                Some(columns.len() - 1)
            }
            level => level,
        };
        let question = Question::Workload { combination, workload };
        self.answer(tuner, &Asked { question, columns: &columns, is_out: &is_out, today })
    }

    /// Which columns may be the cheapest. All pairs of columns of all questions hold at once.
    fn answer(&mut self, results: &Results, asked: &Asked<'_>) -> Answer {
        let Asked { question, columns, is_out, today } = *asked;
        let contest = results.contest_of(columns, is_out, results.questions());
        let estimate = results.estimate_at(contest.confidence).with_unseen(columns, results.is_chancy);
        let cheapest = contest.order[0];
        let cost_today = estimate.mean(&columns[today.unwrap_or(cheapest)]).mean;
        let slight = results.indifference * cost_today.abs();
        // What is there stays unless something is told to be cheaper, so that it has to be told, or that it does not matter.
        let is_settled = contest.alike.iter().all(|&other| match estimate.between(columns, other, cheapest) {
            difference if today == Some(other) => difference.high <= slight,
            difference => difference.low >= -slight,
        });
        let mut contenders = vec![false; columns.len()];
        if is_settled {
            self.settled.entry(question).or_insert(cheapest);
        }
        match self.settled.get(&question) {
            Some(settled) => contenders[*settled] = true,
            None => contest.alike.iter().chain([&cheapest]).for_each(|&column| contenders[column] = true),
        }
        Answer { contenders, is_settled }
    }
}

impl Results {
    /// Whether a variant was not played on.
    pub(crate) fn is_set_aside(&self, variant: usize) -> bool {
        self.runs_if_set_aside(variant).is_some()
    }

    /// Runs of a variant that was not played on; none of others.
    pub(crate) fn runs_if_set_aside(&self, variant: usize) -> Option<u32> {
        self.selection.as_ref().and_then(|selection| selection.runs_of(variant))
    }

    /// At most how many questions are asked of the runs.
    fn questions(&self) -> usize {
        if self.tuned.is_empty() {
            return 1;
        }
        let tuner = Tuner { results: self, tuned: &self.tuned };
        let mut keys: Vec<_> = (0..self.variants.len()).map(|variant| tuner.others(variant)).collect();
        keys.sort();
        keys.dedup();
        2 + keys.len() * self.tuned.len()
    }

    /// Who chooses values of workloads apart; none if that cannot be done.
    fn tuner_of_workloads(&self) -> Option<Tuner<'_>> {
        let is_apart = !self.tuned.is_empty() && self.priced_of_no_workload().is_empty();
        is_apart.then(|| Tuner { results: self, tuned: &self.tuned })
    }
}

impl Tuner<'_> {
    /// Whether single values are set aside, not only whole combinations: what a value costs must then be what one variant costs. Where it
    /// is the mean of several, these have to be the same for each value.
    pub(super) fn sets_values_aside(&self) -> bool {
        let axes = (0..self.axes.len()).filter(|&axis| self.is_of_tolerations(axis)).count();
        let today = self.others(self.baseline);
        let is_of_grid = |variant: usize| variant != self.baseline || self.choice(variant).iter().all(Option::is_some);
        axes == 1 && (0..self.variants.len()).any(|variant| is_of_grid(variant) && self.others(variant) == today)
    }

    /// Whether a combination of variants is not played on.
    pub(super) fn are_set_aside(&self, variants: &[usize]) -> bool {
        match self.sets_values_aside() {
            true => variants.iter().all(|variant| self.is_set_aside(*variant)),
            false => variants.iter().any(|variant| self.is_set_aside(*variant)),
        }
    }

    /// Values of an axis that cannot be chosen: they are ruled out, or not played on.
    pub(super) fn levels_out(&self, variants: &[usize], axis: usize, is_ruled_out: &[bool]) -> Vec<bool> {
        let mut out = self.levels_ruled_out(variants, axis, is_ruled_out);
        if self.sets_values_aside() {
            for (level, is_out) in out.iter_mut().enumerate() {
                *is_out |= self.runs_of_level(variants, axis, level).is_some();
            }
        }
        out
    }

    /// Runs of a value that is not played on.
    pub(super) fn runs_of_level(&self, variants: &[usize], axis: usize, level: usize) -> Option<u32> {
        let mut with = variants.iter().filter(|variant| self.choice(**variant)[axis] == Some(level));
        let first = *with.next()?;
        self.runs_if_set_aside(first).filter(|_| self.sets_values_aside())
    }
}

impl Tuning {
    /// Whether workloads get values of their own.
    fn has_own_values(&self) -> bool {
        !self.workloads.is_empty() && self.changes()
    }
}
