//! What the points that were played say of all others, and which one is to be played next.

use std::collections::BTreeSet;

use super::super::estimate::{combined, observations};
use super::super::results::Results;
use super::found::Record;
use super::space::{Choice, Point, Space, point_of};
use super::surrogate::{Prediction, Seen, Surrogate};
use crate::engine::normal_cdf;

/// How sure it has to be that a point leaves nothing undone to be called the lowest.
const IS_ALLOWED: f64 = 0.5;

/// A point that was played.
#[derive(Clone, Debug)]
pub(super) struct At {
    /// Position of its variant.
    pub(super) variant: usize,
    pub(super) point: Point,
    pub(super) place: Vec<f64>,
    /// Whether it may be recommended.
    pub(super) is_allowed: bool,
    /// What it costs more than the baseline, on average of the runs.
    pub(super) observed: f64,
}

/// What is known of the space.
#[derive(Clone, Debug)]
pub(super) struct Survey {
    pub(super) space: Space,
    pub(super) at: Vec<At>,
    /// For each thing that is varied whether it has made no difference to any run.
    inert: Vec<bool>,
    surrogate: Surrogate,
    /// Where no range makes a difference nothing lies between points: what each costs more than the baseline, by run. Empty otherwise.
    alone: Vec<(Vec<f64>, Vec<f64>)>,
    /// Where points leave no more undone than the baseline: 1 where they do not, 0 where they do; none if all are alike.
    allowed: Option<Surrogate>,
    /// The deviation of the noise that the mean of a point's runs has, on average of the points.
    noise: f64,
}

/// A point that may be played next.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Promise {
    pub(super) point: Point,
    /// By how much it is expected to be cheaper than what is best so far.
    pub(super) improvement: f64,
}

impl Survey {
    /// What results of a search say. The scenario as it is need not be a point.
    pub(super) fn of(results: &Results, record: &Record) -> Self {
        let space = record.space(results);
        let is_out = results.not_to_recommend();
        let today = results.costs(results.baseline);
        let mut at = Vec::new();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for (variant, is_out) in is_out.iter().enumerate() {
            let Some(point) = results.point_of(variant) else { continue };
            let differences = combined(&results.costs(variant), &today, |ours, theirs| ours - theirs);
            let column = observations(&differences, results.is_antithetic);
            let observed = column.iter().sum::<f64>() / column.len().max(1) as f64;
            let is_allowed = variant == results.baseline || !is_out;
            at.push(At { variant, place: Vec::new(), point, is_allowed, observed });
            columns.push(column);
        }
        let is_alike = |one: usize, other: usize| {
            let (ours, theirs): (&At, &At) = (&at[one], &at[other]);
            ours.is_allowed == theirs.is_allowed && columns[one] == columns[other]
        };
        let points: Vec<&[usize]> = at.iter().map(|of| of.point.as_slice()).collect();
        let inert = space.inert(&points, &is_alike);
        at.iter_mut().for_each(|of| of.place = space.coordinates(&of.point, &inert));
        // Runs that are the same tell the same once.
        let told: Vec<usize> =
            (0..at.len()).filter(|of| at[..*of].iter().all(|known| known.place != at[*of].place)).collect();
        let columns: Vec<Vec<f64>> = told.iter().map(|of| std::mem::take(&mut columns[*of])).collect();
        let told: Vec<&At> = told.iter().map(|of| &at[*of]).collect();
        let means: Vec<f64> = told.iter().map(|of| of.observed).collect();
        let covariance = noise(&columns, &means);
        let size = told.len();
        let noise = ((0..size).map(|index| covariance[index * size + index]).sum::<f64>() / size as f64).sqrt();
        let places: Vec<Vec<f64>> = told.iter().map(|of| of.place.clone()).collect();
        let is_category = space.is_category();
        let seen = Seen { is_category: &is_category, points: &places, means: &means, noise: &covariance };
        let surrogate = Surrogate::fit(seen);
        let allowed = allowed(&surrogate, seen, &told);
        let is_all_told = inert.iter().zip(&is_category).all(|(inert, is_category)| *inert || *is_category);
        let alone = if is_all_told { places.into_iter().zip(columns).collect() } else { Vec::new() };
        Self { space, at, inert, surrogate, alone, allowed, noise }
    }

    /// What the runs of a place cost more than the baseline, if they tell all of it.
    fn told_at(&self, place: &[f64]) -> Option<&[f64]> {
        self.alone.iter().find(|(known, _)| known == place).map(|(_, column)| column.as_slice())
    }

    /// What a place is likely to cost more than the baseline.
    fn predict_at(&self, place: &[f64]) -> Prediction {
        let told = self.told_at(place).map(|column| Prediction::of_runs(column.iter().copied()));
        told.unwrap_or_else(|| self.surrogate.predict(place))
    }

    /// For each thing that is varied whether it has made no difference to any run.
    pub(super) fn inert(&self) -> &[bool] {
        &self.inert
    }

    /// Where a point lies, but for what makes no difference.
    pub(super) fn place(&self, point: &[usize]) -> Vec<f64> {
        self.space.coordinates(point, &self.inert)
    }

    /// What a point is likely to cost more than the baseline.
    pub(super) fn predict(&self, point: &[usize]) -> Prediction {
        self.predict_at(&self.place(point))
    }

    /// What one point is likely to cost more than another.
    pub(super) fn between(&self, one: &[usize], other: &[usize]) -> Prediction {
        let (one, other) = (self.place(one), self.place(other));
        match (self.told_at(&one), self.told_at(&other)) {
            (Some(ours), Some(theirs)) => Prediction::of_runs(ours.iter().zip(theirs).map(|(a, b)| a - b)),
            _ => self.surrogate.between(&one, &other),
        }
    }

    /// How far apart places are that have little to do with each other.
    pub(super) fn lengths(&self) -> &[f64] {
        self.surrogate.lengths()
    }

    /// How sure it is that a point leaves no more undone than the baseline.
    ///
    /// # Source
    ///
    /// Indicator kriging: Journel, Nonparametric estimation of spatial distributions, Mathematical Geology 15 (1983).
    fn is_allowed(&self, place: &[f64]) -> f64 {
        self.allowed.as_ref().map_or(1.0, |allowed| allowed.predict(place).mean.clamp(0.0, 1.0))
    }

    /// The point that may be recommended and was played that is likeliest to be the cheapest; none if none may.
    pub(super) fn cheapest(&self) -> Option<&At> {
        let allowed = self.at.iter().filter(|of| of.is_allowed);
        let mean = |of: &At| self.predict_at(&of.place).mean;
        allowed.min_by(|a, b| mean(a).total_cmp(&mean(b)).then(a.variant.cmp(&b.variant)))
    }

    /// The point with the lowest prediction, whether it was played or not; none if none is likely to be allowed. Of those that are the same
    /// but for what makes no difference one that was played.
    pub(super) fn lowest(&self) -> Option<Point> {
        let score = |point: &Point| {
            let place = self.place(point);
            let is_out = self.at.iter().any(|of| !of.is_allowed && of.place == place);
            (!is_out && self.is_allowed(&place) >= IS_ALLOWED).then(|| -self.predict_at(&place).mean)
        };
        let (lowest, _) = self.space.best(&score, &self.points())?;
        let place = self.place(&lowest);
        let played = self.at.iter().find(|of| of.place == place);
        Some(played.map_or(lowest, |played| played.point.clone()))
    }

    fn points(&self) -> Vec<Point> {
        self.at.iter().map(|of| of.point.clone()).collect()
    }

    /// The point that is to be played next: that from which most is to be expected, of those that are not to be left out.
    ///
    /// # Source
    ///
    /// Augmented expected improvement: Huang, Allen, Notz and Zeng, Global optimization of stochastic black-box systems via sequential kriging
    /// meta-models, Journal of Global Optimization 34 (2006). Its best so far is the point with the lowest sum of prediction and deviation.
    pub(super) fn next(&self, left_out: &BTreeSet<Choice>) -> Option<Promise> {
        let left_out: BTreeSet<Point> = left_out.iter().filter_map(|choice| point_of(choice)).collect();
        let effective = |of: &&At| {
            let of = self.surrogate.predict(&of.place);
            of.mean + of.deviation
        };
        let allowed = self.at.iter().filter(|of| of.is_allowed);
        let best = allowed.min_by(|a, b| effective(a).total_cmp(&effective(b)));
        let best = best.map_or(0.0, |of| self.surrogate.predict(&of.place).mean);
        let makes_no_difference = self.inert.contains(&true);
        let score = |point: &Point| {
            if left_out.contains(point) {
                return None;
            }
            let place = self.place(point);
            if makes_no_difference && self.at.iter().any(|of| of.place == place) {
                return None;
            }
            let expected = improvement(best, self.surrogate.predict(&place), self.noise);
            Some(expected * self.is_allowed(&place))
        };
        self.space.best(&score, &self.points()).map(|(point, improvement)| Promise { point, improvement })
    }
}

/// By how much a point is expected to lie below `best`, less for what its runs cannot tell.
fn improvement(best: f64, Prediction { mean, deviation, .. }: Prediction, noise: f64) -> f64 {
    if deviation <= 0.0 {
        return 0.0;
    }
    let z = (best - mean) / deviation;
    let density = libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt();
    let expected = (best - mean) * normal_cdf(z) + deviation * density;
    let told = 1.0 - noise / (noise * noise + deviation * deviation).sqrt();
    (expected * told).max(0.0)
}

/// Where points are allowed, if some are not.
fn allowed(surrogate: &Surrogate, seen: Seen<'_>, at: &[&At]) -> Option<Surrogate> {
    if at.iter().all(|of| of.is_allowed) {
        return None;
    }
    let means: Vec<f64> = at.iter().map(|of| f64::from(u8::from(of.is_allowed))).collect();
    let noise = vec![0.0; at.len() * at.len()];
    let seen = Seen { means: &means, noise: &noise, ..seen };
    Surrogate::with(seen, surrogate.lengths().to_vec(), 0.25).map(|(allowed, _)| allowed)
}

/// The covariance of the means of columns. Runs of as many points as there are runs would tell correlations of one another by chance alone,
/// so that these are shrunk by as much as their own errors say.
///
/// # Source
///
/// Schäfer and Strimmer, A shrinkage approach to large-scale covariance matrix estimation and implications for functional genomics,
/// Statistical Applications in Genetics and Molecular Biology 4 (2005), target D.
fn noise(columns: &[Vec<f64>], means: &[f64]) -> Vec<f64> {
    let (size, n) = (columns.len(), columns.first().map_or(0, Vec::len));
    let count = n as f64;
    let centered: Vec<Vec<f64>> = columns
        .iter()
        .zip(means)
        .map(|(column, mean)| column.iter().map(|value| value - mean).collect::<Vec<f64>>())
        .collect();
    let deviation: Vec<f64> = centered
        .iter()
        .map(|column| (column.iter().map(|value| value * value).sum::<f64>() / (count - 1.0)).sqrt())
        .collect();
    let mut correlation = vec![0.0; size * size];
    let (mut errors, mut squares) = (0.0, 0.0);
    for one in 0..size {
        for other in 0..one {
            let scale = deviation[one] * deviation[other];
            if scale <= 0.0 {
                continue;
            }
            let products: Vec<f64> = centered[one].iter().zip(&centered[other]).map(|(a, b)| a * b / scale).collect();
            let sum: f64 = products.iter().sum();
            let mean = sum / count;
            let spread: f64 = products.iter().map(|product| (product - mean) * (product - mean)).sum();
            let found = sum / (count - 1.0);
            correlation[one * size + other] = found;
            errors += count / ((count - 1.0) * (count - 1.0) * (count - 1.0)) * spread;
            squares += found * found;
        }
    }
    let kept = if squares > 0.0 { 1.0 - (errors / squares).clamp(0.0, 1.0) } else { 0.0 };
    let mut covariance = vec![0.0; size * size];
    for one in 0..size {
        for other in 0..=one {
            let alike = if one == other { 1.0 } else { kept * correlation[one * size + other] };
            let of = alike * deviation[one] * deviation[other] / count;
            covariance[one * size + other] = of;
            covariance[other * size + one] = of;
        }
    }
    covariance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_that_is_shared_is_told_from_noise_that_is_not() {
        let shared: Vec<f64> = (0..200).map(|index| f64::from(index * 7919 % 101) - 50.0).collect();
        let own: Vec<f64> = (0..200).map(|index| f64::from(index * 6271 % 97) - 48.0).collect();
        let columns = [shared.clone(), shared.iter().map(|value| 2.0 * value).collect(), own];
        let means: Vec<f64> = columns.iter().map(|column| column.iter().sum::<f64>() / 200.0).collect();
        let found = noise(&columns, &means);
        let correlation = |a: usize, b: usize| found[a * 3 + b] / (found[a * 4] * found[b * 4]).sqrt();
        assert!(correlation(0, 1) > 0.9 && correlation(0, 2).abs() < 0.2, "{found:?}");
        assert!((found[4] / found[0] - 4.0).abs() < 1e-9);
        // Three observations tell nothing of ten columns.
        let few: Vec<Vec<f64>> =
            (0..10).map(|column| (0..3).map(|row| f64::from((column * 5 + row * 3) % 7)).collect()).collect();
        let means: Vec<f64> = few.iter().map(|column| column.iter().sum::<f64>() / 3.0).collect();
        assert!(noise(&few, &means).iter().all(|value| value.is_finite()));
    }

    #[test]
    fn nothing_is_expected_of_what_is_known_and_less_of_what_runs_cannot_tell() {
        let known = Prediction { mean: 1.0, deviation: 0.0, half: 2.0 };
        assert_eq!(improvement(2.0, known, 0.0), 0.0);
        let open = Prediction { mean: 2.0, deviation: 1.0, half: 2.0 };
        // The density of the normal distribution at its mean.
        assert!((improvement(2.0, open, 0.0) - 0.398_942_280_4).abs() < 1e-9);
        assert!(improvement(2.0, open, 1.0) < 0.3 * improvement(2.0, open, 0.0));
    }
}
