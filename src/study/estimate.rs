//! How means of runs and differences of means are estimated.

use serde::Serialize;

use super::metrics::INDIFFERENCE;
use super::statistics::{Interval, Sample};

/// Observations by replication.
pub(super) type Series = Vec<(u32, f64)>;

/// What an estimate goes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    is_antithetic: bool,
    confidence: f64,
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
    /// How much worse than what is usual in a sample a run may be.
    fn severity(self, sample: &Sample) -> f64 {
        if self.excess == 0.0 && self.is_chancy {
            return f64::INFINITY;
        }
        (self.worst - sample.usual()).max(self.excess)
    }
}

impl Estimate {
    /// Intervals of what was seen. Mirrored runs are no observations of their own: the means of the pairs are.
    pub(super) fn of_seen(is_antithetic: bool, confidence: f64) -> Self {
        Self { is_antithetic, confidence, unseen: None }
    }

    /// Intervals that are wider where hardly any run differs from the others: those that nobody has seen may be as bad as the
    /// worst of all `columns`, and as much worse than is usual as any of these. Where no run differs from the others in any column,
    /// though failures come at random, nobody knows how bad they are.
    pub(super) fn with_unseen(self, columns: &[Series], is_chancy: bool) -> Self {
        let so_far = self.unseen.unwrap_or(Unseen { worst: f64::NEG_INFINITY, excess: 0.0, is_chancy });
        let of = |column: &Series| Sample::new(column.iter().map(|(_, value)| *value).collect());
        let unseen = columns.iter().map(of).filter(|sample| !sample.is_empty()).fold(so_far, |unseen, sample| {
            let worst = sample.quantile(1.0);
            let excess = worst - sample.usual();
            let is_noticed = excess > INDIFFERENCE * sample.usual().abs();
            let excess = if is_noticed { unseen.excess.max(excess) } else { unseen.excess };
            Unseen { worst: unseen.worst.max(worst), excess, ..unseen }
        });
        Self { unseen: Some(unseen), ..self }
    }

    /// The mean of what is never negative.
    pub(super) fn mean(&self, series: &[(u32, f64)]) -> Interval {
        let sample = self.sample(series);
        let (interval, more) = (sample.interval(self.confidence), self.more(&sample));
        Interval { high: interval.high + more, widened: more > 0.0, ..interval }.not_below_zero()
    }

    /// How much higher the mean may be for runs that nobody has seen.
    fn more(&self, sample: &Sample) -> f64 {
        let Some(unseen) = self.unseen else { return 0.0 };
        let share = sample.unseen_share(self.confidence);
        if share == 0.0 { 0.0 } else { share * unseen.severity(sample) }
    }

    /// The mean of differences, as far as they were seen.
    pub(super) fn of_differences(&self, differences: &[(u32, f64)]) -> Interval {
        self.sample(differences).interval(self.confidence)
    }

    /// The mean difference over the replications that both have.
    pub(super) fn difference(&self, ours: &[(u32, f64)], theirs: &[(u32, f64)]) -> Interval {
        let seen = self.of_differences(&combined(ours, theirs, |a, b| a - b));
        let (ours, theirs) = (self.more(&self.sample(ours)), self.more(&self.sample(theirs)));
        Interval { low: seen.low - theirs, high: seen.high + ours, widened: ours > 0.0 || theirs > 0.0, ..seen }
    }

    /// The mean difference of two of the columns. A column does not differ from itself, in unseen runs either.
    pub(super) fn between(&self, columns: &[Series], one: usize, other: usize) -> Interval {
        let of = if one == other { Self { unseen: None, ..*self } } else { *self };
        of.difference(&columns[one], &columns[other])
    }

    /// What a saving rests on that is told by what was seen, but not if runs count that nobody has seen; none if these do not decide.
    pub(super) fn rests_on_unseen(&self, columns: &[Series], one: usize, other: usize) -> Option<RestsOnUnseen> {
        let (ours, theirs) = (&columns[one], &columns[other]);
        let seen = self.of_differences(&combined(ours, theirs, |a, b| a - b));
        let sample = self.sample(ours);
        let share = sample.unseen_share(self.confidence);
        let decides = seen.is_known() && seen.high < 0.0 && self.between(columns, one, other).high >= 0.0;
        (decides && share > 0.0).then(|| RestsOnUnseen {
            n: sample.len(),
            exceptions: sample.exceptions().unwrap_or(0),
            share,
            break_even: -seen.high / share,
        })
    }

    /// Observations that have nothing to do with each other.
    pub(super) fn sample(&self, series: &[(u32, f64)]) -> Sample {
        if !self.is_antithetic {
            return Sample::new(series.iter().map(|(_, value)| *value).collect());
        }
        let pairs = series.chunk_by(|a, b| a.0 / 2 == b.0 / 2).filter(|pair| pair.len() == 2);
        Sample::new(pairs.map(|pair| f64::midpoint(pair[0].1, pair[1].1)).collect())
    }
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
