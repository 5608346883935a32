//! How means of runs and differences of means are estimated.

use serde::Serialize;

use super::cost_by::CostBy;
use super::statistics::{Interval, NOTICED, Sample, unseen_share};

/// Observations by replication.
pub(super) type Series = Vec<(u32, f64)>;

/// What an estimate goes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    is_antithetic: bool,
    confidence: f64,
    /// What it is an estimate of: the mean, or a figure of bad runs.
    by: CostBy,
    /// What is known of runs that nobody has seen; none where these do not count.
    unseen: Option<Unseen>,
}

/// A saving that may be one only because what goes wrong was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RestsOnUnseen {
    /// Runs of what would save; pairs of them, if they mirror each other.
    pub n: usize,
    /// Those that differ from the others.
    pub exceptions: usize,
    /// Which share of all runs may be others than these, unseen.
    pub share: f64,
    /// By how much more than usual each of these has to cost for nothing to be saved.
    pub break_even: f64,
}

/// How bad runs may be that nobody has seen.
#[derive(Clone, Copy, Debug)]
struct Unseen {
    /// The highest value that was seen.
    worst: f64,
    /// By how much a run was worse than is usual where it was; 0 if no run was by more than anybody would notice.
    excess: f64,
    /// Whether failures come at random: if none was seen, nobody knows what they cost.
    is_chancy: bool,
}

impl Unseen {
    /// How many runs differ from the usual one, if hardly any does. Where failures come at random it takes one to differ by much: all
    /// others vary by what is not worth a word.
    fn seldom(self, sample: &Sample) -> Option<usize> {
        if self.is_chancy { sample.noticed_exceptions() } else { sample.exceptions() }
    }

    /// How much worse than what is usual in a sample a run may be.
    fn severity(self, sample: &Sample) -> f64 {
        match sample.exceptions() {
            Some(_) if !self.is_known() && self.is_chancy => f64::INFINITY,
            Some(_) => (self.worst - sample.usual()).max(self.excess),
            // Runs that are never quite alike are not those of a variant that the worst one may be like.
            None => self.excess,
        }
    }

    /// Whether any run shows how much worse than usual one can be.
    fn is_known(self) -> bool {
        self.excess > 0.0
    }
}

impl Estimate {
    /// Intervals of what was seen. Mirrored runs are no observations of their own: the means of the pairs are.
    pub(super) fn of_seen(is_antithetic: bool, confidence: f64) -> Self {
        Self { is_antithetic, confidence, by: CostBy::Mean, unseen: None }
    }

    /// The same of another figure than the mean, wherever a mean is spoken of.
    pub(super) fn judged_by(self, by: CostBy) -> Self {
        Self { by, ..self }
    }

    /// Intervals that are wider where hardly any run differs from the others: those that nobody has seen may be as bad as the
    /// worst of all `columns`, and as much worse than is usual as any of these. Where no run differs from the others in any column,
    /// though failures come at random, nobody knows how bad they are. They are wider, too, where a few runs carry the mean: those that
    /// nobody has seen may be as bad as the worst of these.
    pub(super) fn with_unseen(self, columns: &[Series], is_chancy: bool) -> Self {
        if matches!(self.by, CostBy::Quantile(_)) {
            // Intervals of order statistics hold whatever the runs are that nobody has seen.
            return self;
        }
        let so_far = self.unseen.unwrap_or(Unseen { worst: f64::NEG_INFINITY, excess: 0.0, is_chancy });
        let of = |column: &Series| Sample::new(self.by.values(column).iter().map(|(_, value)| *value).collect());
        let unseen = columns.iter().map(of).filter(|sample| !sample.is_empty()).fold(so_far, |unseen, sample| {
            let worst = sample.quantile(1.0);
            let excess = worst - sample.usual();
            let is_noticed = excess > NOTICED * sample.usual().abs();
            let excess = if is_noticed { unseen.excess.max(excess) } else { unseen.excess };
            Unseen { worst: unseen.worst.max(worst), excess, ..unseen }
        });
        Self { unseen: Some(unseen), ..self }
    }

    /// The mean of what is never negative.
    pub(super) fn mean(&self, series: &[(u32, f64)]) -> Interval {
        let sample = self.sample(&self.by.values(series));
        if let Some(found) = self.not_of_means(&sample) {
            return found.not_below_zero();
        }
        let (interval, more) = (sample.interval_if_skewed(self.confidence), self.more(&sample));
        Interval { high: interval.high + more, widened: more > 0.0, ..interval }.not_below_zero()
    }

    /// A figure that is none of means, or of which the runs are too few to tell.
    fn not_of_means(&self, sample: &Sample) -> Option<Interval> {
        match self.by {
            CostBy::Mean => None,
            CostBy::Quantile(share) => {
                let (mean, low, high) = CostBy::of_quantile(share, sample, self.confidence);
                Some(Interval { mean, low, high, widened: false })
            }
            CostBy::Cvar(_) if sample.len() >= self.by.runs_needed(self.confidence) => None,
            CostBy::Cvar(_) => {
                let mean = if sample.is_empty() { f64::NAN } else { sample.mean() };
                Some(Interval { mean, ..Interval::unknown() })
            }
        }
    }

    /// How much higher the mean may be for runs that nobody has seen.
    fn more(&self, sample: &Sample) -> f64 {
        let is_skewed = self.unseen.is_some_and(|unseen| unseen.seldom(sample).is_none()) && sample.is_skewed();
        if is_skewed { sample.unseen_tails(self.confidence).1 } else { self.of_exceptions(sample) }
    }

    /// The same where hardly any run differs from the others; 0 where more do.
    fn of_exceptions(&self, sample: &Sample) -> f64 {
        let Some(unseen) = self.unseen else { return 0.0 };
        let share = self.unseen_share(sample);
        if share == 0.0 { 0.0 } else { share * unseen.severity(sample) }
    }

    /// Which share of all runs may differ, unseen, where hardly any that was seen does; else 0.
    fn unseen_share(&self, sample: &Sample) -> f64 {
        let seen = self.unseen.and_then(|unseen| unseen.seldom(sample));
        seen.map_or(0.0, |seen| unseen_share(seen, sample.len(), self.confidence))
    }

    /// To which share of itself a mean is known; infinite if nothing is known. So it is where runs that differ from the others were
    /// seen a few times only, or never in any column: what they cost cannot be told from so few.
    ///
    /// # Source
    ///
    /// The rule of three: Hanley and Lippman-Hand, If nothing goes wrong, is everything all right?, JAMA 249 (1983).
    pub(super) fn relative_width(&self, series: &[(u32, f64)]) -> f64 {
        let (sample, interval) = (self.sample(&self.by.values(series)), self.mean(series));
        let is_told = match self.unseen.and_then(|unseen| unseen.seldom(&sample)) {
            None => true,
            Some(0) => self.unseen.is_some_and(Unseen::is_known),
            Some(_) => false,
        };
        let width = interval.half_width();
        match width {
            _ if !is_told || !interval.is_known() => f64::INFINITY,
            0.0 => 0.0,
            width => width / interval.mean.abs(),
        }
    }

    /// The mean of differences, by Student's t, as far as they were seen.
    pub(super) fn of_differences(&self, differences: &[(u32, f64)]) -> Interval {
        self.sample(differences).interval(self.confidence)
    }

    /// The mean difference over the replications that both have. That of quantiles is between two intervals that hold at once, by
    /// Bonferroni's inequality, whatever the two have to do with each other.
    pub(super) fn difference(&self, ours: &[(u32, f64)], theirs: &[(u32, f64)]) -> Interval {
        let (ours, theirs) = (&self.by.values(ours), &self.by.values(theirs));
        if !self.by.is_mean() {
            let both = Self { confidence: 1.0 - (1.0 - self.confidence) / 2.0, ..*self };
            let matched = [combined(ours, theirs, |a, _| a), combined(theirs, ours, |a, _| a)];
            let [ours, theirs] = matched.each_ref().map(|of| both.not_of_means(&self.sample(of)));
            if let (Some(ours), Some(theirs)) = (ours, theirs) {
                let (low, high) = (ours.low - theirs.high, ours.high - theirs.low);
                return Interval { mean: ours.mean - theirs.mean, low, high, widened: false };
            }
        }
        let differences = self.sample(&combined(ours, theirs, |a, b| a - b));
        let seen = differences.interval_if_skewed(self.confidence);
        if self.unseen.is_none() {
            return seen;
        }
        let (ours, theirs) = (self.sample(ours), self.sample(theirs));
        let (below, above) = self.tails(&differences, [&ours, &theirs]);
        let (less, more) = (self.of_exceptions(&theirs).max(below), self.of_exceptions(&ours).max(above));
        // What moves no digit that is read is not worth a mark.
        let widened = less.max(more) > NOTICED / 10.0 * seen.mean.abs();
        Interval { low: seen.low - less, high: seen.high + more, widened, ..seen }
    }

    /// How far differences that nobody has seen may move the mean of those that were, down and up: where hardly any differs from the
    /// usual one, or a few carry the mean, or that of one of the columns that they are between.
    fn tails(&self, differences: &Sample, of: [&Sample; 2]) -> (f64, f64) {
        let size = of.iter().fold(0.0_f64, |size, of| size.max(of.quantile(1.0).abs()));
        if let Some(either) = differences.unseen_exceptions(self.confidence, size) {
            return (either, either);
        }
        let is_skewed = of.iter().any(|of| of.is_skewed()) || differences.is_skewed();
        if is_skewed { differences.unseen_tails(self.confidence) } else { (0.0, 0.0) }
    }

    /// The mean difference of two of the columns. A column does not differ from itself, in unseen runs either.
    pub(super) fn between(&self, columns: &[Series], one: usize, other: usize) -> Interval {
        if one == other && !self.by.is_mean() && !columns[one].is_empty() {
            return Interval { mean: 0.0, low: 0.0, high: 0.0, widened: false };
        }
        let of = if one == other { Self { unseen: None, ..*self } } else { *self };
        of.difference(&columns[one], &columns[other])
    }

    /// What a saving rests on that is told by what was seen, but not if runs count that nobody has seen; none if these do not decide.
    pub(super) fn rests_on_unseen(&self, columns: &[Series], one: usize, other: usize) -> Option<RestsOnUnseen> {
        let (ours, theirs) = (&columns[one], &columns[other]);
        let seen = Self { unseen: None, ..*self }.difference(ours, theirs);
        let sample = self.sample(&self.by.values(ours));
        let share = self.unseen_share(&sample);
        let decides = seen.is_known() && seen.high < 0.0 && self.between(columns, one, other).high >= 0.0;
        (decides && share > 0.0).then(|| RestsOnUnseen {
            n: sample.len(),
            exceptions: self.unseen.and_then(|unseen| unseen.seldom(&sample)).unwrap_or(0),
            share,
            break_even: -seen.high / share * self.by.share_of_runs(),
        })
    }

    /// Observations that have nothing to do with each other.
    pub(super) fn sample(&self, series: &[(u32, f64)]) -> Sample {
        Sample::new(observations(series, self.is_antithetic))
    }
}

/// What is independent of each other in a series: runs, or the means of pairs of runs that mirror each other.
pub(super) fn observations(series: &[(u32, f64)], is_antithetic: bool) -> Vec<f64> {
    if !is_antithetic {
        return series.iter().map(|(_, value)| *value).collect();
    }
    let pairs = series.chunk_by(|a, b| a.0 / 2 == b.0 / 2).filter(|pair| pair.len() == 2);
    pairs.map(|pair| f64::midpoint(pair[0].1, pair[1].1)).collect()
}

/// Two series where both have an observation.
pub(super) fn combined(ours: &[(u32, f64)], theirs: &[(u32, f64)], with: impl Fn(f64, f64) -> f64) -> Series {
    let mut theirs = theirs.iter().peekable();
    let mut series = Series::new();
    for &(replication, value) in ours {
        while theirs.next_if(|(other, _)| *other < replication).is_some() {}
        if let Some((_, other)) = theirs.next_if(|(other, _)| *other == replication) {
            series.push((replication, with(value, *other)));
        }
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(costs: impl IntoIterator<Item = f64>) -> Series {
        (0..).zip(costs).collect()
    }

    fn of(columns: &[Series], is_chancy: bool) -> Estimate {
        Estimate::of_seen(false, 0.95).with_unseen(columns, is_chancy)
    }

    /// Costs that are never quite the same, but hardly differ.
    fn jitter(n: u32) -> impl Iterator<Item = f64> {
        (0..n).map(|run| 432.0 + f64::from(run % 7) * 0.1)
    }

    #[test]
    fn what_hardly_varies_is_not_precise_before_anything_shows_what_a_failure_costs() {
        let width = |columns: &[Series]| of(columns, true).relative_width(&columns[0]);
        assert!(width(&[series([432.0; 200])]).is_infinite());
        assert!(width(&[series(jitter(200))]).is_infinite());
        // Another variant shows what one costs: 3.6 % of all runs may have one.
        let failing = series((0..100).map(|run| if run % 10 == 0 { 532.0 } else { 432.0 }));
        let found = width(&[series([432.0; 100]), failing]);
        assert!((found - 0.036_217 * 100.0 / 432.0).abs() < 1e-6, "{found}");
        // What was seen so seldom is not told by it.
        assert!(width(&[series(jitter(99).chain([40_000.0]))]).is_infinite());
    }

    #[test]
    fn runs_that_carry_the_mean_widen_it_on_their_side() {
        let column =
            series((0..40).map(|run| f64::from(1 + run % 3) + if run % 5 == 0 { f64::from(run * run) } else { 0.0 }));
        let sample = Sample::new(column.iter().map(|(_, cost)| *cost).collect());
        let (student, found) = (sample.interval(0.95), of(std::slice::from_ref(&column), true).mean(&column));
        assert!(
            found.widened && found.high - found.mean > 1.5 * (student.high - student.mean),
            "{found:?} {student:?}"
        );
        assert!(found.low > student.low && of(std::slice::from_ref(&column), true).relative_width(&column).is_finite());
        // Mirrored, the other side is longer.
        let zero = series([0.0; 40]);
        let difference = Estimate::of_seen(false, 0.95).difference(&zero, &column);
        assert!(difference.mean - difference.low > difference.high - difference.mean);
    }

    #[test]
    fn differences_that_a_few_runs_make_are_not_told() {
        // Of 40 runs with other luck each, three save much.
        let luck = |run: u32| f64::from(run * 37 % 41);
        let theirs = series((0..40).map(luck));
        let ours = series((0..40).map(|run| luck(run) - if run % 15 == 3 { 30.0 } else { 0.0 }));
        let columns = [ours, theirs];
        let found = of(&columns, true).between(&columns, 0, 1);
        assert!(found.widened && found.has_zero() && found.mean < -2.0, "{found:?}");
        // What is the same in every run is told, however the runs differ.
        let columns = [series((0..40).map(|run| luck(run) + 1.0)), series((0..40).map(luck))];
        let found = of(&columns, true).between(&columns, 0, 1);
        assert!((found.low - 1.0).abs() < 1e-9 && (found.high - 1.0).abs() < 1e-9, "{found:?}");
    }
}
