//! Work that a variant leaves undone: who does not do it has no costs of it, so that the cheapest of all is often the one under which
//! a drain never ends, a Job never runs, or nobody asks for anything.

use serde::Serialize;

use super::estimate::{Estimate, Series, combined};
use super::metrics;
use super::requirement::Standing;
use super::results::Results;

/// Work that can be left undone.
struct Work {
    /// What tells how much was, in any of several ways: a line that failed and one that did not end are both not done.
    metrics: &'static [&'static str],
    /// Whether the scenario orders it, by a line or a procedure.
    is_ordered: bool,
    /// Whether they count what is done, so that less of it is more left undone.
    is_of_done: bool,
}

const LEFT: Work = Work { metrics: &[], is_ordered: false, is_of_done: false };

/// What is missed while it is missing costs as much as its price says, and is not here: pods that services want are missing replicas.
const WORK: [Work; 7] = [
    Work { metrics: &["commands_failed", "commands_unfinished"], is_ordered: true, ..LEFT },
    Work { metrics: &["procedures_failed", "procedures_unfinished"], is_ordered: true, ..LEFT },
    Work { metrics: &["pods_lost"], ..LEFT },
    Work { metrics: &["jobs_failed"], ..LEFT },
    // A Job that waits has not failed, and none that is not there has.
    Work { metrics: &["jobs_complete"], is_of_done: true, ..LEFT },
    // The old pods serve on.
    Work { metrics: &["rollouts_unfinished_end"], ..LEFT },
    // Who asks for nothing misses nothing.
    Work { metrics: &["workloads_wanted_end"], is_of_done: true, ..LEFT },
];

/// Metrics of what is missing of that which the variant itself asks for.
const OF_WANTED: [&str; 5] =
    ["unready_replica_s", "below_desired_s", "longest_short_s", "below_min_ready_s", "objectives_missed"];

/// A metric that tells of more undone work than under another variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftUndone {
    /// Its name.
    pub metric: &'static str,
    /// Its mean.
    pub mean: f64,
    /// The other variant's, over the same seeds.
    pub instead_of: f64,
    /// Seeds with which it tells of more.
    pub higher_in: usize,
    /// Seeds that both have.
    pub n: usize,
}

impl Work {
    /// How much is left undone by what a metric says, and the other way round.
    fn left(&self, value: f64) -> f64 {
        if self.is_of_done { 0.0 - value } else { value }
    }
}

/// The metrics of what is left undone, as a cell of a table.
pub(super) fn reason(left: &[LeftUndone]) -> String {
    left.iter().map(|of| of.metric).collect::<Vec<_>>().join(" ")
}

/// What a variant leaves undone and another one gets done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DoneElsewhere {
    /// Position of the other variant.
    pub variant: usize,
    /// What.
    pub undone: Vec<LeftUndone>,
}

/// How much of each work was left undone, by metric, in the order of [`WORK`]; less than nothing where what is done is counted.
pub(super) type Undone = [Vec<Series>; WORK.len()];

/// What runs with these metrics leave undone.
pub(super) fn undone_of<'a>(runs: impl Iterator<Item = (u32, &'a [f64])> + Clone) -> Undone {
    let series = |work: &Work, metric: &str| -> Series {
        let at = metrics::position(metric).expect("a metric of ours");
        runs.clone().map(|(replication, metrics)| (replication, work.left(metrics[at]))).collect()
    };
    WORK.map(|work| work.metrics.iter().map(|metric| series(&work, metric)).collect())
}

/// Whether a difference, run by run, is more than nothing: it is never less and sometimes more, so that chance is no excuse, as both
/// had the same; or its mean is told to be above zero.
///
/// # Source
///
/// Dominance, state by state, on common random numbers; else the paired t test (Law, Simulation Modeling and Analysis, section 10.2).
fn is_more(difference: &[(u32, f64)], estimate: &Estimate) -> bool {
    let (more, less) = (difference.iter().any(|(_, d)| *d > 0.0), difference.iter().any(|(_, d)| *d < 0.0));
    more && (!less || estimate.of_differences(difference).low > 0.0)
}

/// The metrics of a work by which ours leaves more of it undone; none if it does not.
fn more_of(ours: &[Series], theirs: &[Series], estimate: &Estimate, work: &Work) -> Vec<LeftUndone> {
    let total =
        |of: &[Series]| of.iter().skip(1).fold(of[0].clone(), |total, next| combined(&total, next, |a, b| a + b));
    if !is_more(&combined(&total(ours), &total(theirs), |a, b| a - b), estimate) {
        return Vec::new();
    }
    let one = |((ours, theirs), metric): ((&Series, &Series), &&'static str)| {
        let both = combined(ours, theirs, |a, _| a);
        let theirs = combined(theirs, ours, |a, _| a);
        let mean = |of: &Series| of.iter().map(|(_, value)| value).sum::<f64>() / of.len() as f64;
        let (mean, instead_of) = (mean(&both), mean(&theirs));
        let higher_in = both.iter().zip(&theirs).filter(|(ours, theirs)| ours.1 > theirs.1).count();
        (mean > instead_of).then(|| {
            let (mean, instead_of) = (work.left(mean), work.left(instead_of));
            LeftUndone { metric, mean, instead_of, higher_in, n: both.len() }
        })
    };
    ours.iter().zip(theirs).zip(work.metrics).filter_map(one).collect()
}

impl Results {
    /// Whether all metrics of a work have a price: then it is weighed, and nobody saves by leaving it.
    fn is_priced(&self, work: &Work) -> bool {
        let has_price = |metric: &&str| self.prices.iter().any(|(name, price)| name == metric && *price > 0.0);
        work.metrics.iter().all(has_price)
    }

    fn undone(&self, variant: usize) -> Undone {
        undone_of(self.runs[variant].iter().map(|run| (run.replication, &*run.metrics)))
    }

    /// What is left undone of what theirs do.
    pub(super) fn left_by(&self, ours: &Undone, theirs: &Undone) -> Vec<LeftUndone> {
        let estimate = Estimate::of_seen(self.is_antithetic, self.confidence());
        let works = WORK.iter().zip(ours.iter().zip(theirs)).filter(|(work, _)| !self.is_priced(work));
        works.flat_map(|(work, (ours, theirs))| more_of(ours, theirs, &estimate, work)).collect()
    }

    /// What each variant leaves undone that the baseline gets done; nothing where runs have weights.
    #[must_use]
    pub fn left_undone(&self) -> Vec<Vec<LeftUndone>> {
        if self.is_weighted() {
            // Seeds of which failures are drawn more often than they come cannot be counted.
            return vec![Vec::new(); self.variants.len()];
        }
        let theirs = self.undone(self.baseline);
        (0..self.variants.len()).map(|variant| self.left_by(&self.undone(variant), &theirs)).collect()
    }

    /// Variants that cannot be recommended: each leaves undone what the baseline gets done, and nobody has allowed that, or is told to
    /// miss what is required.
    pub(super) fn ruled_out(&self) -> Vec<bool> {
        let leaves = self.left_undone().into_iter().map(|left| !self.allows_undone && !left.is_empty());
        leaves.zip(self.standings()).map(|(leaves, of)| leaves || of == Standing::Misses).collect()
    }

    /// Replica-hours that a variant asks for and that the baseline does, if it asks for less and something that has a price is counted
    /// by what is asked for: fewer pods that are wanted are fewer that can be missing. Less than the indifference is nothing.
    pub(super) fn asks_for_less(&self, variant: usize) -> Option<(f64, f64)> {
        let is_of_wanted = |(name, price): &(String, f64)| *price > 0.0 && OF_WANTED.contains(&name.as_str());
        if self.is_weighted() || !self.prices.iter().any(is_of_wanted) {
            return None;
        }
        let at = metrics::position("replica_h").expect("a metric of ours");
        let mean =
            |of: usize| self.runs[of].iter().map(|run| run.metrics[at]).sum::<f64>() / self.runs[of].len() as f64;
        let (ours, theirs) = (mean(variant), mean(self.baseline));
        (ours < theirs * (1.0 - self.indifference)).then_some((ours, theirs))
    }

    /// What is ordered and left undone by a variant, be it the baseline, and which other one gets it done: of those that leave
    /// nothing else of it, the one that costs least.
    #[must_use]
    pub fn done_elsewhere(&self, variant: usize) -> Option<DoneElsewhere> {
        let ours = self.undone(variant);
        let is_ordered = |of: &LeftUndone| WORK.iter().any(|work| work.is_ordered && work.metrics.contains(&of.metric));
        let better = (0..self.variants.len()).filter(|other| *other != variant).filter_map(|other| {
            let theirs = self.undone(other);
            let undone: Vec<LeftUndone> = self.left_by(&ours, &theirs).into_iter().filter(is_ordered).collect();
            let leaves_more = self.left_by(&theirs, &ours).iter().any(is_ordered);
            (!undone.is_empty() && !leaves_more).then_some(DoneElsewhere { variant: other, undone })
        });
        let cost = |of: &DoneElsewhere| self.cost_estimate().mean(&self.costs(of.variant)).mean;
        better.min_by(|a, b| cost(a).total_cmp(&cost(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{results, with_metric};
    use super::*;

    fn check(ours: &[f64], expected: bool) {
        let costs = vec![1.0; ours.len()];
        let mut results = results(&[&costs, &costs]);
        with_metric(&mut results, 1, "commands_unfinished", ours);
        with_metric(&mut results, 0, "commands_unfinished", &vec![1.0; ours.len()]);
        assert_eq!(!results.left_undone()[1].is_empty(), expected, "{ours:?}");
    }

    #[test]
    fn more_is_left_where_it_is_never_less_or_more_than_chance_explains() {
        check(&[1.0, 1.0, 1.0, 1.0], false);
        check(&[0.0, 1.0, 1.0, 1.0], false);
        check(&[2.0], true);
        check(&[1.0, 1.0, 2.0, 1.0], true);
        // Up and down: chance.
        check(&[2.0, 0.0, 2.0, 1.0], false);
        check(&[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0], true);
    }

    #[test]
    fn a_line_that_fails_instead_of_not_ending_is_no_worse() {
        let mut results = results(&[&[1.0, 1.0], &[1.0, 1.0]]);
        with_metric(&mut results, 0, "commands_unfinished", &[1.0, 1.0]);
        with_metric(&mut results, 1, "commands_failed", &[1.0, 1.0]);
        assert!(results.left_undone()[1].is_empty());
        // Also not if it is told of a procedure.
        with_metric(&mut results, 1, "procedures_failed", &[1.0, 2.0]);
        let left = results.left_undone().swap_remove(1);
        let expected = LeftUndone { metric: "procedures_failed", mean: 1.5, instead_of: 0.0, higher_in: 2, n: 2 };
        assert_eq!(left, [expected]);
    }

    #[test]
    fn less_that_is_done_is_more_left_undone() {
        let mut found = results(&[&[1.0, 1.0], &[1.0, 1.0]]);
        with_metric(&mut found, 0, "jobs_complete", &[2.0, 2.0]);
        with_metric(&mut found, 1, "jobs_complete", &[2.0, 0.0]);
        let left = LeftUndone { metric: "jobs_complete", mean: 1.0, instead_of: 2.0, higher_in: 1, n: 2 };
        assert_eq!(found.left_undone(), [vec![], vec![left]]);
        with_metric(&mut found, 1, "jobs_complete", &[2.0, 3.0]);
        assert!(found.left_undone()[1].is_empty());
    }

    #[test]
    fn who_asks_for_nothing_and_whose_roll_out_never_ends_is_not_the_cheapest() {
        for (metric, ours, theirs) in [("workloads_wanted_end", 1.0, 2.0), ("rollouts_unfinished_end", 1.0, 0.0)] {
            let mut found = results(&[&[5.0, 6.0, 7.0], &[0.0, 0.2, 0.1]]);
            with_metric(&mut found, 0, metric, &[theirs; 3]);
            with_metric(&mut found, 1, metric, &[ours; 3]);
            assert_eq!(found.ruled_out(), [false, true], "{metric}");
        }
    }

    #[test]
    fn who_asks_for_less_is_told_where_what_is_asked_for_is_what_prices_count() {
        let mut found = results(&[&[5.0, 6.0], &[0.0, 0.2]]);
        with_metric(&mut found, 0, "replica_h", &[4.0, 4.0]);
        with_metric(&mut found, 1, "replica_h", &[1.0, 1.0]);
        found.prices = vec![("lost_traffic_s".into(), 1.0)];
        assert_eq!(found.asks_for_less(1), None);
        found.prices.push(("unready_replica_s".into(), 1.0));
        assert_eq!((found.asks_for_less(1), found.asks_for_less(0)), (Some((1.0, 4.0)), None));
    }

    #[test]
    fn what_has_a_price_is_weighed() {
        let mut results = results(&[&[1.0, 1.0], &[1.0, 1.0]]);
        with_metric(&mut results, 1, "jobs_failed", &[1.0, 1.0]);
        assert_eq!(results.ruled_out(), [false, true]);
        results.prices.push(("jobs_failed".into(), 7.0));
        assert_eq!(results.ruled_out(), [false, false]);
    }

    #[test]
    fn the_cheapest_is_not_the_one_that_leaves_work_undone() {
        let mut results = results(&[&[5.0, 6.0, 7.0], &[0.0, 0.2, 0.1], &[4.0, 5.0, 6.0]]);
        with_metric(&mut results, 1, "commands_unfinished", &[1.0, 1.0, 1.0]);
        let comparison = results.comparison().expect("priced");
        assert_eq!((comparison.best, comparison.runner_up), (2, Some(0)));
        assert!(comparison.done_elsewhere.is_none());
        let tuning = results.tuning().expect("priced");
        assert_eq!((tuning.recommended_variant(), tuning.changes_others), (Some(2), true));
        assert_eq!(results.front(), [0, 2]);
        results.allows_undone = true;
        assert_eq!(results.comparison().expect("priced").best, 1);
        assert_eq!(results.tuning().expect("priced").recommended_variant(), Some(1));
        assert_eq!(results.comparison().expect("priced").done_elsewhere.map(|of| of.variant), Some(2));
    }

    #[test]
    fn what_is_there_may_leave_undone_what_others_do() {
        // As it is, nothing is drained, which costs nothing; the others drain.
        let mut results = results(&[&[0.0, 0.0, 0.0], &[5.0, 6.0, 7.0], &[4.0, 5.0, 6.0]]);
        with_metric(&mut results, 0, "commands_unfinished", &[1.0, 1.0, 1.0]);
        let comparison = results.comparison().expect("priced");
        assert_eq!(comparison.best, 0);
        let elsewhere = comparison.done_elsewhere.expect("others do it");
        assert_eq!((elsewhere.variant, elsewhere.undone[0].metric), (2, "commands_unfinished"));
    }

    #[test]
    fn a_value_of_tolerations_is_ruled_out_for_all_its_workloads() {
        let mut results = super::super::tuning::tests::mixed(2);
        with_metric(&mut results, 1, "procedures_unfinished", &[1.0; 6]);
        let tuning = results.tuning().expect("priced");
        let found: Vec<_> = tuning.workloads.iter().map(|of| of.best.as_str()).collect();
        // The first would have taken 1, at 2 instead of 4.
        assert_eq!(found, ["2", "0"]);
        assert_eq!(tuning.workloads[0].values[1].left_undone[0].metric, "procedures_unfinished");
        let csv = tuning.csv();
        assert!(csv.lines().any(|row| row.starts_with("deployment/d/a,1,") && row.ends_with(",procedures_unfinished")));
    }
}
