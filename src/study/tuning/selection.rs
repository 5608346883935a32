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
use super::super::statistics::FEW;
use super::combination::Combination;
use super::required::Dearer;
use super::{Tuner, Tuning};

/// Runs of each variant before anybody looks at them, where the number of runs is not fixed: from so many on intervals of skewed costs
/// hold as often as they say.
pub(in crate::study) const FIRST_ROUND: u32 = FEW as u32;

/// Runs of each variant once the next round is played: an even number, as mirrored runs come in pairs, or the most.
pub(in crate::study) fn next_round(replications: u32, most: u32) -> u32 {
    (replications + (replications / 4) * 2).min(most)
}

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
    /// Nobody is set aside in the first round.
    pub(in crate::study) fn begin(replications_max: u32) -> Self {
        let replications = FIRST_ROUND.min(replications_max);
        Self { replications_max, is_decided: false, set_aside: Vec::new(), replications, looks: 1 }
    }

    /// Makes of a look at a round the next one; whether there is one.
    pub(in crate::study) fn goes_on(&mut self, look: &Look) -> bool {
        self.is_decided = look.is_decided;
        let is_last = self.replications >= self.replications_max;
        if look.is_decided || (is_last && look.comes_back.is_empty()) {
            return false;
        }
        self.set_aside.retain(|of| !look.comes_back.contains(&of.variant));
        // In the last round only who comes back has runs left.
        if !is_last {
            let left =
                (0..look.goes_on.len()).filter(|variant| !look.goes_on[*variant] && self.runs_of(*variant).is_none());
            let left: Vec<SetAside> = left.map(|variant| SetAside { variant, runs: self.replications }).collect();
            self.set_aside.extend(left);
            self.set_aside.sort_unstable_by_key(|of| of.variant);
            self.replications = next_round(self.replications, self.replications_max);
        }
        self.looks += 1;
        true
    }

    /// Runs that a variant has; none if it goes on.
    pub(in crate::study) fn runs_of(&self, variant: usize) -> Option<u32> {
        let at = self.set_aside.binary_search_by_key(&variant, |of| of.variant).ok()?;
        Some(self.set_aside[at].runs)
    }

    /// Whether a run is one of those that count: what is left of an interrupted study may have more.
    pub(crate) fn has(&self, variant: usize, replication: u32) -> bool {
        replication < self.runs_of(variant).unwrap_or(self.replications)
    }

    /// How many runs a variant had at each look, until it has so many.
    pub(in crate::study) fn rounds_until(&self, runs: u32) -> impl Iterator<Item = u32> {
        let next = move |so_far: &u32| (*so_far < runs).then(|| next_round(*so_far, self.replications_max));
        std::iter::successors(Some(FIRST_ROUND.min(self.replications_max)), next)
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
    /// Those of them that were set aside, and are wanted after all.
    pub(in crate::study) comes_back: Vec<usize>,
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
    /// How many questions are asked of the runs, at most.
    questions: usize,
    dearer: Dearer,
}

impl Screening {
    /// What the results so far say.
    pub(in crate::study) fn look(&mut self, results: &Results) -> Look {
        if results.requires() {
            return self.dearer.look(results);
        }
        self.questions = results.questions();
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
        Look { goes_on, comes_back: Vec::new(), is_decided }
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
        let (mut is_decided, sets_values_aside) = (best.is_settled, tuner.sets_values_aside());
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
                    Some(level) => !sets_values_aside || levels.contenders[level],
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
        let contest = results.contest_of(columns, is_out, self.questions, None);
        let estimate = results.cost_estimate_at(contest.confidence).with_unseen(columns, results.is_chancy);
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

    /// Whether any variant was not played on.
    pub(crate) fn has_set_aside(&self) -> bool {
        self.selection.as_ref().is_some_and(|selection| !selection.set_aside.is_empty())
    }

    /// At most how many questions are asked of the runs.
    fn questions(&self) -> usize {
        if self.tuned.is_empty() || self.is_of_whole_runs() {
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
        let is_apart = !self.tuned.is_empty() && !self.is_of_whole_runs() && self.priced_of_no_workload().is_empty();
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
        if !self.has_set_aside() {
            return false;
        }
        match self.sets_values_aside() {
            true => variants.iter().all(|variant| self.is_set_aside(*variant)),
            false => variants.iter().any(|variant| self.is_set_aside(*variant)),
        }
    }

    /// Values of an axis that cannot be chosen: they are ruled out, or not played on.
    pub(super) fn levels_out(&self, variants: &[usize], axis: usize, is_ruled_out: &[bool]) -> Vec<bool> {
        let mut out = self.levels_ruled_out(variants, axis, is_ruled_out);
        if self.has_set_aside() && self.sets_values_aside() {
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

#[cfg(test)]
pub(super) mod tests {
    use super::super::super::metrics::WORKLOAD_METRICS;
    use super::super::super::results::tests::{results, with_metric};
    use super::*;
    use crate::engine::Streams;

    /// Selects among variants of which all runs are known; gives what is known at the end.
    pub(in crate::study::tuning) fn select(all: &Results) -> Results {
        let (mut selection, mut screening) = (Selection::begin(all.replications), Screening::default());
        loop {
            let mut found = all.clone();
            for (variant, runs) in found.runs.iter_mut().enumerate() {
                runs.retain(|run| selection.has(variant, run.replication));
            }
            (found.replications, found.looks) = (selection.replications(), selection.looks());
            found.selection = Some(selection.clone());
            let goes_on = selection.goes_on(&screening.look(&found));
            if !goes_on {
                found.selection = Some(selection);
                return found;
            }
        }
    }

    /// Columns of `n` runs in which all variants have the same luck but for some of their own.
    pub(in crate::study::tuning) fn drawn(
        seed: u64,
        n: usize,
        cost: impl Fn(usize, &mut dyn FnMut() -> f64) -> Vec<f64>,
    ) -> Results {
        let mut stream = Streams::new(seed).stream("selection", "");
        let mut unit = || stream.unit();
        let rows: Vec<Vec<f64>> = (0..n).map(|run| cost(run, &mut unit)).collect();
        let columns: Vec<Vec<f64>> = (0..rows[0].len()).map(|of| rows.iter().map(|row| row[of]).collect()).collect();
        results(&columns.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// Close to normal, with a deviation of 1.
    pub(in crate::study::tuning) fn normal(unit: &mut dyn FnMut() -> f64) -> f64 {
        (0..12).map(|_| unit()).sum::<f64>() - 6.0
    }

    /// How often of so many studies the best variant is set aside, and how many runs are played of a hundred.
    fn check(
        studies: u64,
        best: usize,
        n: usize,
        cost: impl Fn(usize, &mut dyn FnMut() -> f64) -> Vec<f64>,
    ) -> (usize, usize) {
        let (mut lost, mut runs, mut all_runs) = (0, 0, 0);
        for seed in 0..studies {
            let mut all = drawn(seed, n, &cost);
            (all.indifference, all.is_chancy) = (0.0, true);
            all.baseline = all.variants.len() - 1;
            let found = select(&all);
            lost += usize::from(
                found.is_set_aside(best)
                    || found.comparison().is_none_or(|of| of.best != best && !of.alike.contains(&best)),
            );
            runs += found.run_count();
            all_runs += all.run_count();
        }
        (lost, runs * 100 / all_runs)
    }

    #[test]
    fn the_best_of_normal_costs_is_seldom_lost_and_most_runs_are_spared() {
        let means = [100.0, 101.0, 102.0, 104.0, 106.0, 108.0, 110.0, 115.0];
        let (lost, played) = check(200, 0, 200, |_, unit| {
            let luck = 10.0 * normal(unit);
            means.iter().map(|mean| mean + luck + normal(unit)).collect()
        });
        // Five per cent would be 10.
        assert!(lost <= 10, "{lost} of 200");
        assert!(played <= 33, "{played} %");
    }

    #[test]
    fn the_best_of_variants_that_are_all_but_equal_is_seldom_lost() {
        // The hardest that there is: all others cost as much, and all have luck of their own.
        let (lost, _) = check(200, 0, 100, |_, unit| (0..5).map(|_| 100.0 + 5.0 * normal(unit)).collect());
        assert!(lost <= 10, "{lost} of 200");
    }

    #[test]
    fn the_best_of_skewed_costs_is_seldom_lost() {
        // Few runs fail, and what these cost is lognormal with a long tail. The cheaper one fails as often, and is dearer when it does not.
        let (lost, played) = check(200, 0, 200, |_, unit| {
            let fails = unit() < 0.3;
            let repair = if fails { libm::exp(1.2 * normal(unit)) } else { 0.0 };
            [(11.0, 10.0), (10.0, 14.0), (10.0, 20.0), (25.0, 15.0), (10.0, 60.0)]
                .map(|(usual, each)| usual + each * repair + 0.5 * normal(unit))
                .to_vec()
        });
        // The means are 17.2, 18.6, 22.3, 34.2 and 47.0.
        assert!(lost <= 10, "{lost} of 200");
        assert!(played < 90, "{played} %");
    }

    #[test]
    fn what_fails_rarely_and_badly_is_not_lost_for_having_been_unlucky_early() {
        // One of fifty runs of the best costs 1000; the other one is dearer by what is 30 in every run.
        let (lost, _) = check(200, 0, 200, |_, unit| {
            let fails = unit() < 0.02;
            vec![100.0 + if fails { 1000.0 } else { 0.0 } + normal(unit), 130.0 + normal(unit)]
        });
        assert!(lost <= 10, "{lost} of 200");
    }

    #[test]
    fn it_ends_where_what_is_left_makes_no_difference() {
        let mut all = drawn(1, 200, |_, unit| {
            let luck = 10.0 * normal(unit);
            [100.0, 100.1, 150.0].map(|mean| mean + luck + 0.1 * normal(unit)).to_vec()
        });
        all.baseline = 2;
        let found = select(&all);
        let selection = found.selection.as_ref().expect("it selects");
        assert!(selection.is_decided && found.replications == 20, "{selection:?}");
        assert_eq!(found.tuning().expect("priced").recommended_variant(), Some(0));
        // Nothing is too little to count: the two are told apart, or all is played.
        all.indifference = 0.0;
        let found = select(&all);
        assert!(found.comparison().is_some_and(|of| of.best == 0));
    }

    /// A grid of five values of two workloads with these costs of each, and a wobble of their own.
    fn workloads(costs: [[f64; 2]; 5], n: usize) -> Results {
        let mut stream = Streams::new(3).stream("workloads", "");
        let wobble: Vec<f64> = (0..n * 10).map(|_| normal(&mut || stream.unit())).collect();
        let own = |variant: usize, run: usize, workload: usize| {
            costs[variant][workload] + 0.5 * wobble[(run * 5 + variant) * 2 + workload]
        };
        let columns: Vec<Vec<f64>> =
            (0..5).map(|variant| (0..n).map(|run| own(variant, run, 0) + own(variant, run, 1)).collect()).collect();
        let mut all = results(&columns.iter().map(Vec::as_slice).collect::<Vec<_>>());
        all.tuned = vec![("deployment/d/a".into(), 0), ("deployment/d/b".into(), 0)];
        for (variant, runs) in all.runs.iter_mut().enumerate() {
            for run in runs {
                run.workloads = vec![0.0; 2 * WORKLOAD_METRICS.len()].into();
                for workload in 0..2 {
                    run.workloads[workload * WORKLOAD_METRICS.len()] = own(variant, run.replication as usize, workload);
                }
            }
        }
        all.baseline = 2;
        all
    }

    #[test]
    fn what_one_workload_wants_goes_on_though_it_is_dear_as_a_whole() {
        // The first workload wants 0, or 1 by little less, for which the other one pays dearly; nobody wants 4.
        let all = workloads([[10.0, 90.0], [10.2, 95.0], [20.0, 30.0], [19.0, 20.0], [40.0, 60.0]], 200);
        let found = select(&all);
        assert!(found.is_set_aside(4), "{:?}", found.selection);
        assert!((0..3).all(|variant| !found.is_set_aside(variant)), "{:?}", found.selection);
        let choices = |results: &Results| {
            let tuning = results.tuning().expect("priced");
            tuning.workloads.iter().map(|of| of.recommended.clone()).collect::<Vec<_>>()
        };
        assert_eq!(choices(&found), choices(&all));
        assert_eq!(choices(&found), ["0", "3"]);
        // Who has fewer runs says so.
        let tuning = found.tuning().expect("priced");
        let runs: Vec<_> = tuning.workloads[0].values.iter().map(|of| of.runs).collect();
        assert_eq!(runs[4], Some(20));
        let csv = tuning.csv();
        assert!(csv.lines().next().is_some_and(|header| header.ends_with(",ruled_out,runs")), "{csv}");
        assert!(csv.lines().any(|row| row.starts_with("deployment/d/a,4,") && row.ends_with(",20")), "{csv}");
        assert!(!all.tuning().expect("priced").csv().contains("runs"));
    }

    #[test]
    fn who_leaves_work_undone_is_not_played_on_and_beats_nobody() {
        let mut all = drawn(1, 60, |_, unit| {
            let luck = 10.0 * normal(unit);
            [50.0, 100.0, 100.1].map(|mean| mean + luck + normal(unit)).to_vec()
        });
        (all.baseline, all.indifference) = (2, 0.0);
        with_metric(&mut all, 0, "commands_unfinished", &[1.0; 60]);
        let found = select(&all);
        let selection = found.selection.as_ref().expect("it selects");
        assert_eq!(selection.set_aside, [SetAside { variant: 0, runs: 20 }]);
        assert_eq!(found.replications, 60);
        all.allows_undone = true;
        assert_eq!(select(&all).comparison().expect("priced").best, 0);
    }
}
