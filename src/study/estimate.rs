//! How means of runs and differences of means are estimated.

use super::statistics::{Interval, Sample};

/// Observations by replication.
pub(super) type Series = Vec<(u32, f64)>;

/// What an estimate goes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    is_antithetic: bool,
    confidence: f64,
    /// How bad runs may be that nobody has seen; negative infinity where these do not count.
    worst: f64,
}

impl Estimate {
    /// Intervals of what was seen. Mirrored runs are no observations of their own: the means of the pairs are.
    pub(super) fn of_seen(is_antithetic: bool, confidence: f64) -> Self {
        Self { is_antithetic, confidence, worst: f64::NEG_INFINITY }
    }

    /// Intervals that are wider where hardly any run differs from the others: those that nobody has seen may be as bad as the
    /// worst of all `columns`.
    pub(super) fn with_unseen(self, columns: &[Series]) -> Self {
        let worst = columns.iter().flatten().map(|(_, value)| *value).fold(self.worst, f64::max);
        Self { worst, ..self }
    }

    /// The mean.
    pub(super) fn mean(&self, series: &[(u32, f64)]) -> Interval {
        let sample = self.sample(series);
        let interval = sample.interval(self.confidence);
        Interval { high: interval.high + sample.unseen(self.worst, self.confidence), ..interval }
    }

    /// The mean difference over the replications that both have.
    pub(super) fn difference(&self, ours: &[(u32, f64)], theirs: &[(u32, f64)]) -> Interval {
        let difference = self.sample(&combined(ours, theirs, |a, b| a - b)).interval(self.confidence);
        let unseen = |series: &[(u32, f64)]| self.sample(series).unseen(self.worst, self.confidence);
        Interval { low: difference.low - unseen(theirs), high: difference.high + unseen(ours), ..difference }
    }

    /// The mean difference of two of the columns. A column does not differ from itself, in unseen runs either.
    pub(super) fn between(&self, columns: &[Series], one: usize, other: usize) -> Interval {
        let of = if one == other { Self { worst: f64::NEG_INFINITY, ..*self } } else { *self };
        of.difference(&columns[one], &columns[other])
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
