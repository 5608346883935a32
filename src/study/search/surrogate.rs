//! What costs are likely to be where nobody has played: stochastic kriging.
//!
//! The mean cost is taken for a draw of a Gaussian process over the ranges; each played point says what it is there but for the noise of its
//! runs. What is predicted between them is the mean of all such processes that go with what was played, and its uncertainty how far these lie
//! apart.
//!
//! # Source
//!
//! Ankenman, Nelson and Staum, Stochastic kriging for simulation metamodeling, Operations Research 58 (2010). Points that share seeds share
//! noise, so that its whole covariance stands in place of a diagonal: Chen, Ankenman and Nelson, The effects of common random numbers on
//! stochastic kriging metamodels, ACM Transactions on Modeling and Computer Simulation 22 (2012). The kernel is a product of Matérn's of
//! smoothness 5/2, one a range: Rasmussen and Williams, Gaussian Processes for Machine Learning, section 4.2. Things without an order are alike
//! or not: Qian, Wu and Wu, Gaussian process models for computer experiments with qualitative and quantitative factors, Technometrics 50
//! (2008). As the variance of the process is told by the points, intervals are Student's: Santner, Williams and Notz, The Design and Analysis of
//! Computer Experiments, section 4.1.

use super::super::statistics::student_t_quantile;
use super::cholesky::Cholesky;

/// Length scales that are tried, as shares of a range.
const LENGTHS: (f64, f64) = (0.05, 10.0);
/// Variances of the process that are tried, as shares of the variance of what was played.
const VARIANCES: (f64, f64) = (1e-3, 1e3);
/// What keeps equations solvable, as a share of the variance of the process.
const JITTER: f64 = 1e-8;

/// What was seen at points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// For each thing that is varied whether it is one without an order.
    pub(super) is_category: &'a [bool],
    /// Coordinates of the points; of things without an order which one it is.
    pub(super) points: &'a [Vec<f64>],
    /// What was seen there.
    pub(super) means: &'a [f64],
    /// The covariance of the noise of these, row by row.
    pub(super) noise: &'a [f64],
}

/// The kernel's parameters, in logarithms: lengths by what is varied, and the variance as a share of that of what was seen.
#[derive(Clone, Debug, PartialEq)]
struct Parameters(Vec<f64>);

/// A figure that is not known exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prediction {
    pub(super) mean: f64,
    /// The standard deviation of its error.
    pub(super) deviation: f64,
    /// How many of these its 95 % interval is wide on either side.
    pub(super) half: f64,
}

impl Prediction {
    /// The mean of runs, by themselves.
    pub(super) fn of_runs(runs: impl Iterator<Item = f64> + Clone) -> Self {
        let count = runs.clone().count().max(2) as f64;
        let mean = runs.clone().sum::<f64>() / count;
        let squares: f64 = runs.map(|run| (run - mean) * (run - mean)).sum();
        let deviation = (squares / (count - 1.0) / count).sqrt();
        Self { mean, deviation, half: student_t_quantile(0.975, count - 1.0) }
    }

    /// The ends of its 95 % interval.
    pub(super) fn ends(self) -> (f64, f64) {
        let half = self.half * self.deviation;
        (self.mean - half, self.mean + half)
    }
}

/// A process that goes with what was seen.
#[derive(Clone, Debug)]
pub(super) struct Surrogate {
    is_category: Vec<bool>,
    points: Vec<Vec<f64>>,
    lengths: Vec<f64>,
    variance: f64,
    /// What the process is on average.
    trend: f64,
    factor: Cholesky,
    /// The inverse of the covariance times what was seen less the trend.
    weights: Vec<f64>,
    /// The same times ones.
    ones: Vec<f64>,
    /// The sum of the latter: how well the trend is known.
    information: f64,
    /// The 97.5th percentile of Student's distribution with as many degrees of freedom as there are points besides one.
    half: f64,
}

impl Surrogate {
    /// The process that is likeliest. The likelihood is that of what does not depend on the trend, which would else be taken for known.
    ///
    /// # Source
    ///
    /// Patterson and Thompson, Recovery of inter-block information when block sizes are unequal, Biometrika 58 (1971). A kernel that is told
    /// by few points is held to lengths of the order of half a range by a penalty: Li and Sudjianto, Analysis of computer experiments using
    /// penalized likelihood in Gaussian kriging models, Technometrics 47 (2005).
    pub(super) fn fit(seen: Seen<'_>) -> Self {
        let axes = seen.is_category.len();
        let scale = variance_of(seen.means);
        let of = |parameters: &Parameters| Self::at(seen, parameters, scale);
        let score = |parameters: &Parameters| {
            of(parameters).map_or(f64::NEG_INFINITY, |(_, likelihood)| likelihood - parameters.penalty())
        };
        let mut best: Option<(f64, Parameters)> = None;
        for length in [0.1, 0.25, 0.6, 1.5] {
            for share in [0.3, 1.0, 4.0] {
                let mut begin = vec![libm::log(length); axes];
                begin.push(libm::log(share));
                let begin = Parameters(begin);
                let score = score(&begin);
                if best.as_ref().is_none_or(|(best, _)| score > *best) {
                    best = Some((score, begin));
                }
            }
        }
        let (mut highest, mut place) = best.expect("there is a first");
        let mut step = 0.7;
        // Hooke and Jeeves, "Direct search", Journal of the ACM 8 (1961), without its pattern moves.
        while step > 0.04 {
            let mut has_moved = false;
            for at in 0..=axes {
                for sign in [1.0, -1.0] {
                    let other = place.moved(at, sign * step);
                    let found = score(&other);
                    if found > highest + 1e-9 {
                        (highest, place, has_moved) = (found, other, true);
                    }
                }
            }
            step = if has_moved { step } else { step / 2.0 };
        }
        of(&place).map(|(surrogate, _)| surrogate).expect("the likeliest can be solved")
    }

    /// The process with these parameters, and its log-likelihood; none if its equations cannot be solved.
    fn at(seen: Seen<'_>, Parameters(parameters): &Parameters, scale: f64) -> Option<(Self, f64)> {
        let (lengths, share) = parameters.split_at(seen.is_category.len());
        let lengths: Vec<f64> = lengths.iter().map(|length| libm::exp(*length)).collect();
        Self::with(seen, lengths, libm::exp(share[0]) * scale)
    }

    /// The process with these lengths and this variance.
    pub(super) fn with(seen: Seen<'_>, lengths: Vec<f64>, variance: f64) -> Option<(Self, f64)> {
        let size = seen.points.len();
        let mut matrix = seen.noise.to_vec();
        for row in 0..size {
            for column in 0..=row {
                let alike = likeness(seen.is_category, &lengths, &seen.points[row], &seen.points[column]);
                matrix[row * size + column] += variance * alike;
            }
            matrix[row * size + row] += variance * JITTER;
        }
        let factor = Cholesky::of(&matrix, size)?;
        let ones = factor.solved(&vec![1.0; size]);
        let information: f64 = ones.iter().sum();
        let trend = ones.iter().zip(seen.means).map(|(one, mean)| one * mean).sum::<f64>() / information;
        let rest: Vec<f64> = seen.means.iter().map(|mean| mean - trend).collect();
        let weights = factor.solved(&rest);
        let misfit: f64 = rest.iter().zip(&weights).map(|(rest, weight)| rest * weight).sum();
        let likelihood = -0.5 * (factor.log_determinant() + libm::log(information) + misfit);
        let (is_category, points) = (seen.is_category.to_vec(), seen.points.to_vec());
        let half = student_t_quantile(0.975, (size.max(2) - 1) as f64);
        let surrogate =
            Self { is_category, points, lengths, variance, trend, factor, weights, ones, information, half };
        likelihood.is_finite().then_some((surrogate, likelihood))
    }

    /// How far apart places are, as a share of a range, that have little to do with each other, by what is varied.
    pub(super) fn lengths(&self) -> &[f64] {
        &self.lengths
    }

    /// What the mean is likely to be at a place.
    pub(super) fn predict(&self, place: &[f64]) -> Prediction {
        let near = self.covariances(place);
        let mean = self.trend + dot(&near, &self.weights);
        let half = self.factor.half_solved(&near);
        let unknown = 1.0 - dot(&near, &self.ones);
        let variance = self.variance - dot(&half, &half) + unknown * unknown / self.information;
        Prediction { mean, deviation: variance.max(0.0).sqrt(), half: self.half }
    }

    /// What the mean is likely to be at one place more than at another.
    pub(super) fn between(&self, one: &[f64], other: &[f64]) -> Prediction {
        let (ours, theirs) = (self.covariances(one), self.covariances(other));
        let near: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| a - b).collect();
        let half = self.factor.half_solved(&near);
        let unknown = dot(&near, &self.ones);
        let apart = 2.0 * self.variance * (1.0 - likeness(&self.is_category, &self.lengths, one, other));
        let variance = apart - dot(&half, &half) + unknown * unknown / self.information;
        Prediction { mean: dot(&near, &self.weights), deviation: variance.max(0.0).sqrt(), half: self.half }
    }

    fn covariances(&self, place: &[f64]) -> Vec<f64> {
        let of = |point: &Vec<f64>| self.variance * likeness(&self.is_category, &self.lengths, place, point);
        self.points.iter().map(of).collect()
    }
}

impl Parameters {
    /// The same with one of them moved, within what is tried.
    fn moved(&self, at: usize, by: f64) -> Self {
        let mut moved = self.0.clone();
        let (low, high) = if at + 1 == moved.len() { VARIANCES } else { LENGTHS };
        moved[at] = (moved[at] + by).clamp(libm::log(low), libm::log(high));
        Self(moved)
    }

    /// What speaks against lengths whatever was seen.
    fn penalty(&self) -> f64 {
        let lengths = &self.0[..self.0.len() - 1];
        lengths.iter().map(|length| 0.5 * (length - libm::log(0.5)) * (length - libm::log(0.5))).sum()
    }
}

/// The correlation of the process at two places.
fn likeness(is_category: &[bool], lengths: &[f64], one: &[f64], other: &[f64]) -> f64 {
    let mut product = 1.0;
    let mut exponent = 0.0;
    for (((is_category, length), a), b) in is_category.iter().zip(lengths).zip(one).zip(other) {
        let apart = (a - b).abs();
        if *is_category {
            exponent += if apart == 0.0 { 0.0 } else { 1.0 / (length * length) };
        } else {
            let scaled = 5.0_f64.sqrt() * apart / length;
            product *= 1.0 + scaled + scaled * scaled / 3.0;
            exponent += scaled;
        }
    }
    product * libm::exp(-exponent)
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// The variance of what was seen; 1 if all of it is the same.
fn variance_of(seen: &[f64]) -> f64 {
    let mean = seen.iter().sum::<f64>() / seen.len() as f64;
    let sum: f64 = seen.iter().map(|value| (value - mean) * (value - mean)).sum();
    let variance = sum / (seen.len().max(2) - 1) as f64;
    if variance > 0.0 { variance } else { 1.0 }
}
