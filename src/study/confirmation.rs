//! What is recommended, held against what is there on seeds that the choice has not seen.

use serde::Serialize;

use super::cost_by::CostBy;
use super::estimate::{RestsOnUnseen, Series, combined};
use super::requirement::{Judged, Standing, judged};
use super::results::{CONFIDENCE, Results};
use super::statistics::Interval;
use super::undone::{LeftUndone, Undone};

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
    /// What is recommended leaves undone what the baseline gets done, on these seeds.
    pub left_undone: Vec<LeftUndone>,
    /// How it stands on these seeds to what is required, one after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Judged>,
    /// What the saving rests on if runs that nobody has seen decide whether it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rests_on_unseen: Option<RestsOnUnseen>,
    /// Runs from which on the interval of the difference could be trusted, if so few runs carry it that these do not do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_needed: Option<u64>,
    /// What follows.
    pub verdict: Verdict,
    /// The confidence of these intervals. Nobody has looked at the new seeds before, however often at those of the study.
    pub confidence: f64,
}

/// What the new seeds say of a recommendation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It leaves undone what the baseline gets done.
    LeavesUndone,
    /// It is told to miss what is required.
    MissesRequired,
    /// It is not told to meet what is required.
    RequiredIsOpen,
    /// It meets what is required, and what is there is not told to, whatever it costs.
    Meets,
    /// There are too few runs to say anything.
    TooFewRuns,
    /// It saves in the runs that were played, but what may go wrong was not seen in these.
    RestsOnUnseen,
    /// The two cannot be told apart.
    Alike,
    /// It costs more.
    CostsMore,
    /// It saves, but so little that nobody would notice.
    Slight,
    /// It saves.
    Pays,
}

/// What runs cost, and what they left undone.
pub(super) struct Outcomes {
    pub(super) costs: Series,
    pub(super) undone: Undone,
    /// How many of them keep each of what is required.
    pub(super) kept: Vec<usize>,
}

impl Results {
    /// The mixture against the scenario as it is. Looks at the study's seeds do not widen it: these are others. How bad a run can be,
    /// all runs tell.
    pub(super) fn confirmation(&self, recommended: &Outcomes, today: &Outcomes) -> Confirmation {
        let columns = [recommended.costs.clone(), today.costs.clone()];
        let of_study: Vec<Series> = (0..self.variants.len()).map(|variant| self.costs(variant)).collect();
        let estimate = self.cost_estimate_at(CONFIDENCE).with_unseen(&columns, self.is_chancy);
        let estimate = estimate.with_unseen(&of_study, self.is_chancy);
        let (difference, of_today) = (estimate.between(&columns, 0, 1), estimate.mean(&today.costs));
        let left_undone = self.left_by(&recommended.undone, &today.undone);
        let rests_on_unseen = estimate.rests_on_unseen(&columns, 0, 1);
        let requirements = self.kept_on_new_seeds(recommended);
        let stands = |standing: Standing| requirements.iter().any(|of| of.standing == standing);
        let is_promised = !self.not_to_recommend()[self.baseline];
        let verdict = match difference {
            _ if !left_undone.is_empty() && !self.allows_undone => Verdict::LeavesUndone,
            _ if stands(Standing::Misses) => Verdict::MissesRequired,
            _ if stands(Standing::Open) => Verdict::RequiredIsOpen,
            _ if self.requires() && !is_promised => Verdict::Meets,
            _ if rests_on_unseen.is_some() => Verdict::RestsOnUnseen,
            _ if columns[0].len() < 2 => Verdict::TooFewRuns,
            of if of.has_zero() => Verdict::Alike,
            of if of.mean > 0.0 => Verdict::CostsMore,
            of if !self.matters(of, of_today.mean) => Verdict::Slight,
            _ => Verdict::Pays,
        };
        let [ours, theirs] = columns.each_ref().map(|costs| self.cost_by.values(costs));
        let sample = estimate.sample(&combined(&ours, &theirs, |a, b| a - b));
        let is_of_means = !matches!(self.cost_by, CostBy::Quantile(_));
        Confirmation {
            n: recommended.costs.len(),
            today: of_today,
            recommended: estimate.mean(&recommended.costs),
            difference,
            left_undone,
            requirements,
            rests_on_unseen,
            runs_needed: (is_of_means && sample.is_skewed()).then(|| sample.observations_for_normality().ceil() as u64),
            verdict,
            confidence: CONFIDENCE,
        }
    }

    /// How what is recommended stands to each requirement on the new seeds, for which nobody has picked it: all of them hold at once.
    fn kept_on_new_seeds(&self, recommended: &Outcomes) -> Vec<Judged> {
        let confidence = 1.0 - (1.0 - CONFIDENCE) / self.requirements.len().max(1) as f64;
        let each = self.requirements.iter().zip(&recommended.kept);
        each.map(|(one, kept)| judged(*kept, recommended.costs.len(), one.probability, confidence)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::results;
    use super::super::tuning::tests::mixed;
    use super::super::undone::undone_of;
    use super::*;

    #[test]
    fn what_is_confirmed_on_new_seeds_is_not_widened_for_looks_at_others() {
        let mut looked = mixed(2);
        looked.looks = 5;
        let today: Series = [4.0, 5.0, 7.0].into_iter().enumerate().map(|(r, x)| (r as u32, x)).collect();
        let outcomes = Outcomes { costs: today.clone(), undone: undone_of(std::iter::empty()), kept: Vec::new() };
        let found = looked.confirmation(&outcomes, &outcomes);
        assert_eq!((found.today, found.confidence), (looked.estimate_at(0.95).mean(&today), 0.95));
    }

    /// Costs of runs that are usual but for failures: how many of 100 runs have one, and what it costs on average, drawn.
    #[derive(Clone, Copy)]
    struct Rare {
        usual: f64,
        percent: f64,
        mean: f64,
    }

    impl Rare {
        fn expected(self) -> f64 {
            self.usual + self.percent / 100.0 * self.mean
        }

        /// What runs cost, drawn by the same numbers for all.
        fn costs(self, draws: &[(f64, f64)]) -> Vec<f64> {
            let of = |(when, how_bad): &(f64, f64)| {
                let fails = *when < self.percent / 100.0;
                self.usual + if fails { -self.mean * libm::log(1.0 - how_bad) } else { 0.0 }
            };
            draws.iter().map(of).collect()
        }
    }

    /// How many of 400 tunes of `n` runs say that `ours` pays against `theirs`.
    fn recommended(ours: Rare, theirs: Rare, n: usize) -> usize {
        let mut stream = crate::engine::Streams::new(11).stream("rare", "");
        let mut draw = || -> Vec<(f64, f64)> { (0..n).map(|_| (stream.unit(), stream.unit())).collect() };
        let pays = |_: &usize| {
            let seeds = draw();
            let mut found = results(&[&ours.costs(&seeds), &theirs.costs(&seeds)]);
            (found.baseline, found.is_chancy) = (1, true);
            // New seeds are drawn whether they are needed or not, so that each tune has its own.
            let seeds = draw();
            let outcomes = |of: Rare| Outcomes {
                costs: of.costs(&seeds).into_iter().enumerate().map(|(r, cost)| (r as u32, cost)).collect(),
                undone: undone_of(std::iter::empty()),
                kept: Vec::new(),
            };
            found.tuning().expect("priced").changes()
                && found.confirmation(&outcomes(ours), &outcomes(theirs)).verdict == Verdict::Pays
        };
        (0..400).filter(pays).count()
    }

    #[test]
    fn what_fails_rarely_and_badly_is_not_recommended_for_having_been_spared() {
        // One machine instead of two: half the price, half as many failures, each of which takes everything.
        let check = |percent: f64, n: usize| {
            let one = Rare { usual: 100.0, percent, mean: 32_000.0 / percent };
            let two = Rare { usual: 200.0, percent: 2.0 * percent, mean: 8_000.0 / percent };
            assert!(one.expected() > two.expected());
            let count = recommended(one, two, n);
            // Five per cent would be 20.
            assert!(count <= 20, "{count} of 400 with {percent} % and {n} runs");
        };
        check(1.0, 25);
        check(3.0, 25);
        check(1.0, 60);
        check(0.3, 200);
    }

    #[test]
    fn what_fails_often_enough_to_be_known_is_recommended() {
        let (ours, theirs) =
            (Rare { usual: 100.0, percent: 40.0, mean: 50.0 }, Rare { usual: 200.0, percent: 40.0, mean: 100.0 });
        assert!(recommended(ours, theirs, 60) > 390);
    }
}
