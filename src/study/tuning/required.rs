//! Who is played on where something is required: the cheapest that is told to keep it is wanted.
//!
//! Who is told to miss it, or leaves work undone, is out. Who is told to be dearer than another one that may yet keep it waits: it is played
//! on if that one misses it after all, or has all its runs and they do not tell. So the runs go to the cheapest that may keep it.
//!
//! # Source
//!
//! Fully sequential selection under constraints: Andradóttir and Kim, Fully sequential procedures for comparing constrained systems via
//! simulation, Naval Research Logistics 57 (2010), in rounds and with the intervals of the study, as for costs alone.

use std::collections::BTreeSet;

use super::super::estimate::Series;
use super::super::requirement::Standing;
use super::super::results::Results;
use super::selection::Look;

/// What the looks at costs have told so far.
#[derive(Debug, Default)]
pub(super) struct Dearer {
    /// The first of each pair is told to be dearer than the second.
    pairs: BTreeSet<(usize, usize)>,
}

impl Dearer {
    /// What the results so far say. All pairs of costs hold at once and over all looks, and so does all that is told of requirements.
    pub(super) fn look(&mut self, results: &Results) -> Look {
        let variants = results.variants.len();
        let columns: Vec<Series> = (0..variants).map(|variant| results.costs(variant)).collect();
        let is_out = results.ruled_out();
        let contest = results.contest(&columns, &is_out);
        let estimate = results.cost_estimate_at(contest.confidence).with_unseen(&columns, results.is_chancy);
        let order: Vec<usize> = contest.order.into_iter().filter(|variant| !is_out[*variant]).collect();
        let dearer_by = |one: usize, other: usize| estimate.between(&columns, one, other);
        for (at, &cheaper) in order.iter().enumerate() {
            for &dearer in order[at + 1..].iter().filter(|&&other| dearer_by(other, cheaper).low > 0.0) {
                self.pairs.insert((dearer, cheaper));
                self.pairs.remove(&(cheaper, dearer));
            }
        }
        let is_dearer = |one: usize, other: usize| self.pairs.contains(&(one, other));
        let is_told: Vec<bool> = results.standings().into_iter().map(|of| of == Standing::Meets).collect();
        // Who keeps what is required, or may with more runs.
        let may_win = |variant: usize| is_told[variant] || results.may_have_more(variant);
        let mut contenders: Vec<usize> = Vec::new();
        for &variant in order.iter().filter(|&&variant| may_win(variant)) {
            if !contenders.iter().any(|&other| is_dearer(variant, other)) {
                contenders.push(variant);
            }
        }
        let is_decided = match contenders.iter().find(|&&variant| is_told[variant]) {
            None => order.is_empty(),
            Some(&cheapest) => {
                let slight = results.indifference * estimate.mean(&columns[results.baseline]).mean.abs();
                let yields = |&other: &usize| {
                    let difference = dearer_by(other, cheapest);
                    match other == results.baseline && is_told[other] {
                        // What is there stays if it keeps what is required and nothing is told to be cheaper.
                        true => difference.low > 0.0 || difference.high <= slight,
                        false => difference.low >= -slight,
                    }
                };
                // Who has all runs and is not told to keep it might win with more.
                let rivals = order.iter().filter(|&&other| contenders.contains(&other) || !may_win(other));
                rivals.filter(|&&other| other != cheapest && !is_dearer(other, cheapest)).all(yields)
            }
        };
        let mut goes_on = vec![false; variants];
        contenders.iter().chain([&results.baseline]).for_each(|&variant| goes_on[variant] = true);
        let comes_back = contenders.into_iter().filter(|&variant| results.is_set_aside(variant)).collect();
        Look { goes_on, comes_back, is_decided }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::requirement::{Limit, Requirement};
    use super::super::super::results::tests::with_metric;
    use super::super::selection::SetAside;
    use super::super::selection::tests::{drawn, normal, select};
    use super::*;
    use crate::engine::Streams;

    /// Shares `often` of all runs have a gap of ten minutes, and what is required is none above one in nine of ten runs.
    fn required(all: &mut Results, often: &[f64], seed: u64) {
        let mut stream = Streams::new(seed).stream("gaps", "");
        for (variant, often) in often.iter().enumerate() {
            let gaps: Vec<f64> =
                (0..all.replications).map(|_| if stream.unit() < *often { 600.0 } else { 0.0 }).collect();
            with_metric(all, variant, "longest_gap_s", &gaps);
        }
        let (metric, limit) = ("longest_gap_s".to_owned(), Limit::AtMost(60.0));
        all.requirements = vec![Requirement { metric, workload: None, limit, probability: 0.9 }];
    }

    #[test]
    fn runs_go_to_the_cheapest_that_may_keep_what_is_required() {
        let mut all = drawn(1, 400, |_, unit| {
            let luck = 10.0 * normal(unit);
            [50.0, 100.0, 120.0, 140.0].map(|mean| mean + luck + normal(unit)).to_vec()
        });
        all.baseline = 3;
        required(&mut all, &[0.5, 0.01, 0.01, 0.01], 7);
        let found = select(&all);
        let selection = found.selection.as_ref().expect("it selects");
        // One misses it, and one is dearer than another that may keep it.
        assert_eq!(selection.set_aside, [0, 2].map(|variant| SetAside { variant, runs: 20 }));
        assert!(selection.is_decided && found.replications < 200, "{selection:?}");
        assert_eq!(found.tuning().expect("priced").recommended_variant(), Some(1));
        assert_eq!(found.comparison().map(|of| of.best), all.comparison().map(|of| of.best));
    }

    #[test]
    fn who_waited_is_played_where_all_runs_of_the_cheapest_do_not_tell() {
        let mut all = drawn(1, 200, |_, unit| [50.0, 100.0, 150.0, 200.0].map(|mean| mean + normal(unit)).to_vec());
        all.baseline = 3;
        required(&mut all, &[0.09, 0.0, 0.0, 0.0], 7);
        let found = select(&all);
        let selection = found.selection.as_ref().expect("it selects");
        assert_eq!(found.standings()[0], Standing::Open);
        assert_eq!(selection.set_aside, [SetAside { variant: 2, runs: 20 }]);
        // With more runs the cheapest might yet be told to keep it.
        assert!(!selection.is_decided && found.runs[1].len() == 200, "{selection:?}");
        assert_eq!(found.comparison().expect("one meets it").best, 1);
    }

    #[test]
    fn what_every_run_has_to_keep_is_not_told_before_the_last() {
        let mut all = drawn(1, 60, |_, unit| [50.0, 100.0, 150.0].map(|mean| mean + normal(unit)).to_vec());
        all.baseline = 2;
        required(&mut all, &[0.0; 3], 7);
        all.requirements[0].probability = 1.0;
        let found = select(&all);
        assert!(found.replications == 60 && found.is_set_aside(1), "{:?}", found.selection);
        assert_eq!(found.comparison().expect("one meets it").best, 0);
        with_metric(&mut all, 0, "longest_gap_s", &[&[0.0; 59][..], &[600.0]].concat());
        let found = select(&all);
        assert!(found.replications == 60 && !found.has_set_aside(), "{:?}", found.selection);
        assert_eq!(found.comparison().expect("one meets it").best, 1);
    }

    #[test]
    fn it_ends_as_soon_as_everybody_is_told_to_miss_what_is_required() {
        let mut all = drawn(1, 200, |_, unit| [50.0, 100.0].map(|mean| mean + normal(unit)).to_vec());
        required(&mut all, &[0.6, 0.5], 7);
        let found = select(&all);
        let selection = found.selection.as_ref().expect("it selects");
        assert!(selection.is_decided && found.replications == 20 && found.nobody_meets(), "{selection:?}");
    }

    #[test]
    fn the_cheapest_that_keeps_what_is_required_is_seldom_lost() {
        let lost = |seed: &u64| {
            let mut all = drawn(*seed, 300, |_, unit| {
                let luck = 10.0 * normal(unit);
                [100.0, 101.0, 102.0, 103.0].map(|mean| mean + luck + 2.0 * normal(unit)).to_vec()
            });
            (all.baseline, all.indifference) = (3, 0.0);
            required(&mut all, &[0.1, 0.01, 0.01, 0.0], *seed);
            let found = select(&all);
            // The first one keeps it just so, which is seldom told.
            found.standings()[0] == Standing::Misses || found.comparison().is_none_or(|of| of.best > 1)
        };
        let lost = (0..200).filter(lost).count();
        // Five per cent of what is told of costs and of what is required would be 20.
        assert!(lost <= 20, "{lost} of 200");
    }
}
