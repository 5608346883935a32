//! Distributions fitted to lengths of time that were observed, by maximum likelihood.
//!
//! A length that had not ended when the observation did is *censored*: it lasted at least so long. Leaving such lengths out, or
//! taking them for whole ones, makes rare failures look frequent.

mod intervals;
mod nonparametric;

pub use intervals::{Bounds, Goodness, IntervalFit, fit_intervals, goodness};
pub use nonparametric::quantiles;

use std::ops::{Range, RangeInclusive};

use super::distribution::Distribution;
use super::special::{NORMAL_P99, gamma_survival, normal_cdf};
use crate::units::SimDuration;

/// A length of time that was observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// How long it lasted, above zero.
    pub seconds: f64,
    /// Whether it had not ended when the observation did.
    pub is_censored: bool,
    /// Whether it was under way already when the observation began, so that only the rest of it was observed.
    ///
    /// Whoever begins to watch meets long lengths more often than short ones. A rest that is taken for a whole length makes means too
    /// long where most lengths are short and a few are very long, and too short where all are about the same.
    pub is_rest: bool,
}

impl Observation {
    /// A length that was observed from its beginning to its end.
    #[must_use]
    pub const fn whole(seconds: f64) -> Self {
        Self { seconds, is_censored: false, is_rest: false }
    }
}

/// What is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// One parameter: the mean.
    Exponential,
    /// Shape and scale.
    Weibull,
    /// Median and spread of the logarithm.
    Lognormal,
    /// Shape and scale.
    Gamma,
}

/// A distribution with its parameters, and how well it goes with the observations.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Its family.
    pub family: Family,
    /// With its parameters.
    pub distribution: Distribution,
    /// The logarithm of the likelihood of the observations.
    pub log_likelihood: f64,
    /// Akaike's information criterion, corrected for few observations; of several fits to the same observations the lowest is
    /// the best. Infinite if there are too few for it.
    ///
    /// # Source
    ///
    /// Hurvich and Tsai, Regression and time series model selection in small samples, Biometrika 76 (1989). What counts is the
    /// number of lengths that ended.
    pub aicc: f64,
    /// The largest distance between its distribution function and the observed one.
    pub distance: f64,
    /// How far off its parameters may be; none if the likelihood has no clear top.
    pub errors: Option<StandardErrors>,
}

/// Standard errors of what was fitted, for observations that have nothing to do with each other.
///
/// # Source
///
/// The observed information, and the delta method: Meeker and Escobar, Statistical Methods for Reliability Data, section 8.4 and
/// appendix B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StandardErrors {
    /// Of the mean, as a share of it.
    pub mean: f64,
    /// Of the shape (of the lognormal: of the logarithm's deviation), as a share of it; none of the exponential.
    pub shape: Option<f64>,
}

/// How often observations can be drawn anew and fitted: fewer tell no interval, more tell nothing more.
pub const RESAMPLES: RangeInclusive<u32> = 20..=1000;

/// Scales that are in reason, in seconds: from a microsecond to three centuries.
pub const SCALES_S: Range<f64> = 1e-6..1e10;

/// From so many equal observations in a row on one stands for all of them.
const EQUAL_MIN: usize = 1000;

impl Family {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Exponential, Self::Weibull, Self::Lognormal, Self::Gamma];

    /// Its name as documents write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exponential => "exponential",
            Self::Weibull => "weibull",
            Self::Lognormal => "lognormal",
            Self::Gamma => "gamma",
        }
    }

    /// The family of a distribution; none of one that is not fitted.
    #[must_use]
    pub fn of(distribution: &Distribution) -> Option<Self> {
        match distribution {
            Distribution::Exponential { .. } => Some(Self::Exponential),
            Distribution::Weibull { .. } => Some(Self::Weibull),
            Distribution::Lognormal { .. } => Some(Self::Lognormal),
            Distribution::Gamma { .. } => Some(Self::Gamma),
            Distribution::Constant(_) | Distribution::Uniform { .. } | Distribution::Empirical { .. } => None,
        }
    }

    fn parameter_count(self) -> usize {
        if self == Self::Exponential { 1 } else { 2 }
    }
}

/// A family with the logarithms of its parameters, but for the lognormal's first, which is the logarithm's mean itself.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    family: Family,
    first: f64,
    second: f64,
}

impl Candidate {
    /// The logarithm of the density at a length.
    fn log_density(&self, x: f64) -> f64 {
        let (a, b) = (libm::exp(self.first), libm::exp(self.second));
        match self.family {
            Family::Exponential => -self.first - x / a,
            Family::Weibull => {
                let ratio = libm::log(x) - self.second;
                self.first - self.second + (a - 1.0) * ratio - libm::exp(a * ratio)
            }
            Family::Lognormal => {
                let z = (libm::log(x) - self.first) / b;
                -libm::log(x) - self.second - 0.5 * (libm::log(2.0 * std::f64::consts::PI) + z * z)
            }
            Family::Gamma => (a - 1.0) * libm::log(x) - x / b - libm::lgamma(a) - a * self.second,
        }
    }

    /// The probability of a longer length.
    fn survival(&self, x: f64) -> f64 {
        let (a, b) = (libm::exp(self.first), libm::exp(self.second));
        match self.family {
            Family::Exponential => libm::exp(-x / a),
            Family::Weibull => libm::exp(-libm::exp(a * (libm::log(x) - self.second))),
            Family::Lognormal => normal_cdf(-(libm::log(x) - self.first) / b),
            Family::Gamma => gamma_survival(a, x / b),
        }
    }

    /// The mean length.
    fn mean(&self) -> f64 {
        self.excess(0.0)
    }

    /// The probability that what is left of a length at a moment that has nothing to do with it is longer.
    ///
    /// # Source
    ///
    /// The equilibrium distribution of renewal theory: D. R. Cox, Renewal Theory (1962), chapter 5.
    fn rest_survival(&self, x: f64) -> f64 {
        (self.excess(x) / self.mean()).clamp(0.0, 1.0)
    }

    /// The logarithm of the likelihood of observations that count so many times each. The density of a rest is the survival function by the mean.
    fn log_likelihood_of<'a>(&self, observations: impl Iterator<Item = (&'a Observation, f64)>) -> f64 {
        let log = |probability: f64| libm::log(probability.max(1e-300));
        let log_mean = libm::log(self.mean());
        let of = |(observation, times): (&Observation, f64)| {
            let x = observation.seconds;
            let once = match (observation.is_rest, observation.is_censored) {
                (false, false) => self.log_density(x),
                (false, true) => log(self.survival(x)),
                (true, false) => log(self.survival(x)) - log_mean,
                (true, true) => log(self.rest_survival(x)),
            };
            times * once
        };
        observations.map(of).sum()
    }

    /// The same, no longer than what can be written: a sample that hardly has failures may lie beyond.
    fn shortened(mut self) -> Self {
        let longest = libm::log(SCALES_S.end * (1.0 - 1e-6));
        match self.family {
            Family::Exponential => self.first = self.first.min(longest),
            Family::Weibull | Family::Gamma => self.second = self.second.min(longest),
            Family::Lognormal => self.first = self.first.min(longest - NORMAL_P99 * libm::exp(self.second)),
        }
        self
    }

    /// As a distribution; none if a parameter is out of all reason.
    fn distribution(&self) -> Option<Distribution> {
        let (a, b) = (libm::exp(self.first), libm::exp(self.second));
        let length = |seconds: f64| SCALES_S.contains(&seconds).then(|| readable(seconds));
        let shape = |shape: f64| (0.01..=1e6).contains(&shape).then(|| libm::round(shape * 1e6) / 1e6);
        Some(match self.family {
            Family::Exponential => Distribution::Exponential { mean: length(a)? },
            Family::Weibull => Distribution::Weibull { shape: shape(a)?, scale: length(b)? },
            Family::Lognormal => {
                Distribution::Lognormal { median: length(a)?, p99: length(libm::exp(self.first + NORMAL_P99 * b))? }
            }
            Family::Gamma => Distribution::Gamma { shape: shape(a)?, scale: length(b)? },
        })
    }
}

/// A length to four digits at least, on a round second or minute if it has so many: documents are read by people.
fn readable(seconds: f64) -> SimDuration {
    let step = match seconds {
        seconds if seconds >= 360_000.0 => 60.0,
        seconds if seconds >= 1000.0 => 1.0,
        _ => 1e-3,
    };
    SimDuration::from_millis((libm::round((seconds / step).max(1.0)) * step * 1e3) as u64)
}

/// Fits a family; none without an observation that ended, if its parameters have no end, or if it has two and there are no
/// more than three lengths that ended, or these are all alike.
///
/// # Source
///
/// Maximum likelihood with right-censored observations: Meeker and Escobar, Statistical Methods for Reliability Data,
/// chapters 7, 8 and 11; rests of lengths have the equilibrium distribution: Cox, Renewal Theory, chapter 5.
///
/// # Panics
///
/// If a length is not above zero.
#[must_use]
pub fn fit(family: Family, observations: &[Observation]) -> Option<Fit> {
    let (distinct, times) = counted(observations);
    let best = top(family, &distinct, &times)?;
    let ended = observations.iter().filter(|observation| !observation.is_censored).count() as f64;
    let parameters = family.parameter_count() as f64;
    let log_likelihood = best.log_likelihood_of(distinct.iter().zip(times.iter().copied()));
    let correction = if ended > parameters + 1.0 {
        2.0 * parameters * (parameters + 1.0) / (ended - parameters - 1.0)
    } else {
        f64::INFINITY
    };
    Some(Fit {
        family,
        distribution: best.distribution()?,
        log_likelihood,
        aicc: 2.0 * parameters - 2.0 * log_likelihood + correction,
        distance: distance(&best, observations),
        errors: errors(&best, &distinct, &times),
    })
}

/// Observations, of many equal ones in a row one alone, and how many times each counts: all nodes that never failed lasted as long.
fn counted(observations: &[Observation]) -> (Vec<Observation>, Vec<f64>) {
    let rows = observations.chunk_by(|one, next| one == next);
    rows.flat_map(|row| match row.len() {
        EQUAL_MIN.. => vec![(row[0], row.len() as f64)],
        _ => row.iter().map(|of| (*of, 1.0)).collect(),
    })
    .unzip()
}

/// Fits a family to observations that count so many times each, as those of a sample that was drawn from them; none where [`fit`] has none.
///
/// # Panics
///
/// If a length is not above zero, or there are not as many counts as observations.
#[must_use]
pub fn fit_counted(family: Family, observations: &[Observation], times: &[u32]) -> Option<Distribution> {
    assert_eq!(observations.len(), times.len(), "each observation has a count");
    let drawn = observations.iter().zip(times).filter(|(_, times)| **times > 0);
    let (observations, times): (Vec<Observation>, Vec<f64>) = drawn.map(|(of, times)| (*of, f64::from(*times))).unzip();
    top(family, &observations, &times)?.shortened().distribution()
}

/// Where the likelihood of observations that count so many times each is highest.
fn top(family: Family, observations: &[Observation], times: &[f64]) -> Option<Candidate> {
    assert!(observations.iter().all(|observation| observation.seconds > 0.0), "lengths of time are above zero");
    let counted = || observations.iter().zip(times.iter().copied());
    let ended: f64 = counted().filter(|(observation, _)| !observation.is_censored).map(|(_, times)| times).sum();
    let parameters = family.parameter_count() as f64;
    if ended == 0.0 || (parameters > 1.0 && (ended <= parameters + 1.0 || are_alike(observations))) {
        return None;
    }
    let total: f64 = counted().map(|(observation, times)| times * observation.seconds).sum();
    let mean = libm::log(total / ended);
    let logs = || counted().map(|(observation, times)| (libm::log(observation.seconds), times));
    let n: f64 = times.iter().sum();
    let log_mean = logs().map(|(log, times)| times * log).sum::<f64>() / n;
    let squares = logs().map(|(log, times)| times * ((log - log_mean) * (log - log_mean)));
    let log_deviation = libm::sqrt(squares.sum::<f64>() / n);
    let start = match family {
        Family::Exponential => (mean, 0.0),
        Family::Weibull => (0.0, mean),
        Family::Lognormal => (log_mean, libm::log(log_deviation.max(1e-3))),
        Family::Gamma => (0.0, mean),
    };
    let candidate = |(first, second): (f64, f64)| Candidate { family, first, second };
    Some(candidate(match family {
        // The only one whose best parameter is a formula also for lengths that have not ended; a rest of them is as long as the whole.
        Family::Exponential => start,
        _ => climb(start, Ascent::WHOLE, |point| candidate(point).log_likelihood_of(counted())),
    }))
}

/// Standard errors at the top of the likelihood.
fn errors(best: &Candidate, observations: &[Observation], times: &[f64]) -> Option<StandardErrors> {
    /// Of both logarithms: so large that rounding does not matter, so small that the top is round.
    const STEP: f64 = 1e-3;
    let counted = || observations.iter().zip(times.iter().copied());
    if best.family == Family::Exponential {
        let ended = counted().filter(|(observation, _)| !observation.is_censored).map(|(_, times)| times).sum::<f64>();
        return Some(StandardErrors { mean: 1.0 / libm::sqrt(ended), shape: None });
    }
    let at = |first: f64, second: f64| Candidate {
        first: best.first + first * STEP,
        second: best.second + second * STEP,
        family: best.family,
    };
    let height = |first: f64, second: f64| at(first, second).log_likelihood_of(counted());
    let top = height(0.0, 0.0);
    // The information, in squares of the step.
    let first = 2.0 * top - height(1.0, 0.0) - height(-1.0, 0.0);
    let second = 2.0 * top - height(0.0, 1.0) - height(0.0, -1.0);
    let both = -(height(1.0, 1.0) - height(1.0, -1.0) - height(-1.0, 1.0) + height(-1.0, -1.0)) / 4.0;
    let determinant = first * second - both * both;
    // Rounding leaves nothing of a top that is flat.
    let is_clear = first > 1e-9 && second > 1e-9 && determinant > 1e-6 * first * second;
    if !is_clear {
        return None;
    }
    let (of_first, of_second, of_both) = (second / determinant, first / determinant, -both / determinant);
    let mean = |first: f64, second: f64| libm::log(at(first, second).mean());
    let slope = ((mean(1.0, 0.0) - mean(-1.0, 0.0)) / 2.0, (mean(0.0, 1.0) - mean(0.0, -1.0)) / 2.0);
    let of_mean = slope.0 * slope.0 * of_first + slope.1 * slope.1 * of_second + 2.0 * slope.0 * slope.1 * of_both;
    let of_shape = if best.family == Family::Lognormal { of_second } else { of_first };
    // Both slopes and both variances are in steps, which cancel out for the mean.
    let errors = StandardErrors { mean: libm::sqrt(of_mean), shape: Some(STEP * libm::sqrt(of_shape)) };
    (errors.mean.is_finite() && of_shape.is_finite()).then_some(errors)
}

/// How a highest point is looked for: how large each simplex is at first, and how small when it is done.
#[derive(Clone, Copy, Debug)]
struct Ascent {
    sizes: &'static [f64],
    done: f64,
}

impl Ascent {
    /// From a guess; begun twice, so that a simplex that has collapsed too early recovers.
    const WHOLE: Self = Self { sizes: &[0.7, 0.05], done: 1e-10 };
    /// From a point that is near, to a few digits.
    const NEAR: Self = Self { sizes: &[0.1], done: 1e-4 };
}

/// The point near `start` at which a function of two variables is highest.
///
/// # Source
///
/// Nelder and Mead, A simplex method for function minimization, The Computer Journal 7 (1965).
fn climb(start: (f64, f64), ascent: Ascent, height: impl Fn((f64, f64)) -> f64) -> (f64, f64) {
    let worth = |point: (f64, f64)| {
        let value = height(point);
        if value.is_nan() { f64::NEG_INFINITY } else { value }
    };
    let mut best = start;
    for size in ascent.sizes {
        let corners = [best, (best.0 + size, best.1), (best.0, best.1 + size)];
        let mut simplex = corners.map(|point| (worth(point), point));
        for _ in 0..400 {
            simplex.sort_by(|a, b| b.0.total_cmp(&a.0));
            let [(high, top), (middle, second), (low, bottom)] = simplex;
            let spread = (top.0 - bottom.0).abs().max((top.1 - bottom.1).abs());
            if spread < ascent.done {
                break;
            }
            let center = (f64::midpoint(top.0, second.0), f64::midpoint(top.1, second.1));
            let at = |factor: f64| {
                let point = (center.0 + factor * (bottom.0 - center.0), center.1 + factor * (bottom.1 - center.1));
                (worth(point), point)
            };
            let mirrored = at(-1.0);
            simplex[2] = if mirrored.0 > high {
                let further = at(-2.0);
                if further.0 > mirrored.0 { further } else { mirrored }
            } else if mirrored.0 > middle {
                mirrored
            } else {
                let nearer = if mirrored.0 > low { at(-0.5) } else { at(0.5) };
                if nearer.0 > low.max(mirrored.0) {
                    nearer
                } else {
                    for corner in &mut simplex[1..] {
                        let point = (f64::midpoint(corner.1.0, top.0), f64::midpoint(corner.1.1, top.1));
                        *corner = (worth(point), point);
                    }
                    continue;
                }
            };
        }
        simplex.sort_by(|a, b| b.0.total_cmp(&a.0));
        best = simplex[0].1;
    }
    best
}

/// Whether all lengths that ended are the same: a spread of zero makes the likelihood grow without end.
#[must_use]
pub fn are_alike(observations: &[Observation]) -> bool {
    let mut ended = observations.iter().filter(|observation| !observation.is_censored);
    let first = ended.next();
    first.is_some() && ended.all(|other| Some(other.seconds) == first.map(|first| first.seconds))
}

/// The largest distance to the observed distribution function; rests of lengths are compared with the distribution of rests.
///
/// # Source
///
/// Kolmogorov's distance, of probability integral transforms; with censored lengths the observed function is that of Kaplan and Meier,
/// Nonparametric estimation from incomplete observations, Journal of the American Statistical Association 53 (1958).
fn distance(candidate: &Candidate, observations: &[Observation]) -> f64 {
    // The share of lengths that are fitted to be longer, with whether it is known that they are at least so long only.
    let share = |of: &Observation| {
        if of.is_rest { candidate.rest_survival(of.seconds) } else { candidate.survival(of.seconds) }
    };
    let mut sorted: Vec<(f64, bool)> = observations.iter().map(|of| (share(of), of.is_censored)).collect();
    // What ended at an instant was still at risk then.
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut surviving = 1.0;
    let mut largest: f64 = 0.0;
    let mut before = 0;
    for crowd in sorted.chunk_by(|a, b| a.0 == b.0) {
        let ended = crowd.iter().filter(|(_, is_censored)| !is_censored).count();
        if ended > 0 {
            let fitted = crowd[0].0;
            largest = largest.max((surviving - fitted).abs());
            surviving *= 1.0 - ended as f64 / (sorted.len() - before) as f64;
            largest = largest.max((surviving - fitted).abs());
        }
        before += crowd.len();
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Streams;

    fn complete(seconds: &[f64]) -> Vec<Observation> {
        seconds.iter().copied().map(Observation::whole).collect()
    }

    fn drawn(distribution: &Distribution, count: usize, until: f64) -> Vec<Observation> {
        let mut stream = Streams::new(11).stream("fit", "");
        let draw = |_| {
            let seconds = distribution.sample(&mut stream).as_secs_f64().max(1e-3);
            Observation { seconds: seconds.min(until), is_censored: seconds > until, is_rest: false }
        };
        (0..count).map(draw).collect()
    }

    #[track_caller]
    fn near(found: f64, expected: f64, share: f64) {
        assert!((found / expected - 1.0).abs() < share, "{found} instead of {expected}");
    }

    #[test]
    fn formulas_are_met() {
        let sample = complete(&[1.0, 2.0, 4.0, 8.0]);
        let Distribution::Exponential { mean } = fit(Family::Exponential, &sample).expect("a fit").distribution else {
            panic!("another family")
        };
        near(mean.as_secs_f64(), 3.75, 1e-3);
        let Distribution::Lognormal { median, p99 } = fit(Family::Lognormal, &sample).expect("a fit").distribution
        else {
            panic!("another family")
        };
        // The logarithms are 0, 1, 2 and 3 times ln 2: mean 1.5, variance 1.25.
        near(median.as_secs_f64(), libm::pow(2.0, 1.5), 1e-3);
        near(p99.as_secs_f64(), libm::pow(2.0, 1.5 + NORMAL_P99 * libm::sqrt(1.25)), 1e-3);
    }

    /// Ball bearings, millions of revolutions before they failed.
    const BEARINGS: [f64; 23] = [
        17.88, 28.92, 33.00, 41.52, 42.12, 45.60, 48.40, 51.84, 51.96, 54.12, 55.56, 67.80, 68.64, 68.64, 68.88, 84.12,
        93.12, 98.64, 105.12, 105.84, 127.92, 128.04, 173.40,
    ];

    #[test]
    fn of_many_equal_lengths_in_a_row_one_counts_for_all() {
        let open = Observation { seconds: 3000.0, is_censored: true, is_rest: true };
        let ended = complete(&BEARINGS);
        let with_open = |of: &Observation| std::iter::once(*of).chain(std::iter::repeat_n(open, 200));
        let apart: Vec<Observation> = ended.iter().flat_map(with_open).collect();
        let mut together = apart.clone();
        together.sort_by_key(|of| of.is_censored);
        assert_eq!((counted(&apart).0.len(), counted(&together).0.len()), (23 * 201, 24));
        for family in [Family::Exponential, Family::Weibull] {
            let [one, other] = [&apart, &together].map(|of| fit(family, of).expect("a fit"));
            let mean = |of: &Fit| of.distribution.mean().expect("parameters").as_secs_f64();
            near(mean(&other), mean(&one), 1e-4);
            near(other.log_likelihood, one.log_likelihood, 1e-9);
            near(other.errors.expect("errors").mean, one.errors.expect("errors").mean, 1e-3);
        }
    }

    #[test]
    fn published_fits_are_met() {
        // Lieblein and Zelen's bearings as fitted by Lawless, Statistical Models and Methods for Lifetime Data, 2nd edition:
        // Weibull shape 2.10, scale 81.88 and log-likelihood -113.69; lognormal mean 4.15 and deviation 0.522.
        let sample = complete(&BEARINGS);
        let weibull = fit(Family::Weibull, &sample).expect("a fit");
        let Distribution::Weibull { shape, scale } = weibull.distribution else { panic!("another family") };
        near(shape, 2.10, 0.005);
        near(scale.as_secs_f64(), 81.88, 0.001);
        near(weibull.log_likelihood, -113.69, 0.0005);
        let Distribution::Lognormal { median, p99 } = fit(Family::Lognormal, &sample).expect("a fit").distribution
        else {
            panic!("another family")
        };
        near(libm::log(median.as_secs_f64()), 4.15, 0.002);
        near(libm::log(p99.as_secs_f64() / median.as_secs_f64()) / NORMAL_P99, 0.522, 0.01);
    }

    #[test]
    fn parameters_are_found_again_also_if_a_third_has_not_ended() {
        let seconds = |text: &str| SimDuration::parse_with_days(text).expect("a duration");
        for until in [f64::INFINITY, 400.0] {
            let weibull = Distribution::Weibull { shape: 0.7, scale: seconds("300s") };
            let found = fit(Family::Weibull, &drawn(&weibull, 4000, until)).expect("a fit").distribution;
            let Distribution::Weibull { shape, scale } = found else { panic!("another family") };
            near(shape, 0.7, 0.05);
            near(scale.as_secs_f64(), 300.0, 0.08);
            let gamma = Distribution::Gamma { shape: 2.5, scale: seconds("120s") };
            let found = fit(Family::Gamma, &drawn(&gamma, 4000, until)).expect("a fit").distribution;
            let Distribution::Gamma { shape, scale } = found else { panic!("another family") };
            near(shape, 2.5, 0.08);
            near(scale.as_secs_f64(), 120.0, 0.08);
            let lognormal = Distribution::Lognormal { median: seconds("200s"), p99: seconds("2000s") };
            let found = fit(Family::Lognormal, &drawn(&lognormal, 4000, until)).expect("a fit").distribution;
            let Distribution::Lognormal { median, p99 } = found else { panic!("another family") };
            near(median.as_secs_f64(), 200.0, 0.05);
            near(p99.as_secs_f64(), 2000.0, 0.12);
        }
    }

    #[test]
    fn the_family_that_made_the_data_goes_best_with_them() {
        let seconds = |count: u64| SimDuration::from_secs(count);
        for (made, family) in [
            (Distribution::Weibull { shape: 0.6, scale: seconds(300) }, Family::Weibull),
            (Distribution::Lognormal { median: seconds(200), p99: seconds(4000) }, Family::Lognormal),
            (Distribution::Gamma { shape: 6.0, scale: seconds(20) }, Family::Gamma),
        ] {
            let sample = drawn(&made, 4000, f64::INFINITY);
            let fits = Family::ALL.map(|family| fit(family, &sample).expect("a fit"));
            let best = fits.iter().min_by(|a, b| a.aicc.total_cmp(&b.aicc)).expect("four");
            assert_eq!(best.family, family);
            // Kolmogorov's limit for 4,000 observations at one per cent.
            assert!(best.distance < 1.63 / libm::sqrt(4000.0), "{}", best.distance);
        }
    }

    #[test]
    fn two_parameters_need_more_than_three_lengths_that_differ() {
        let check = |seconds: &[f64], expected: usize| {
            let sample = complete(seconds);
            let fits = Family::ALL.into_iter().filter_map(|family| fit(family, &sample)).collect::<Vec<_>>();
            assert_eq!(fits.len(), expected, "{seconds:?}");
            assert_eq!(fits[0].family, Family::Exponential);
        };
        check(&[1.0, 2.0, 4.0], 1);
        check(&[1.0, 2.0, 4.0, 8.0], 4);
        check(&[5.0; 20], 1);
        // One parameter and four lengths: 2 - 2 log L + 2 * 2 / (4 - 2), with log L = -4 (ln 3.75 + 1).
        let found = fit(Family::Exponential, &complete(&[1.0, 2.0, 4.0, 8.0])).expect("a fit");
        near(found.aicc, 2.0 + 8.0 * (libm::log(3.75) + 1.0) + 2.0, 1e-9);
        assert!(fit(Family::Exponential, &complete(&[1.0, 2.0])).expect("a fit").aicc.is_infinite());
    }

    #[test]
    fn nothing_that_ended_gives_no_fit() {
        let open = Observation { is_censored: true, ..Observation::whole(5.0) };
        assert_eq!(fit(Family::Weibull, &[open]), None);
    }

    /// What is seen in a year of machines that have been running for long: rests at first, whole lengths after each end.
    fn watched(distribution: &Distribution, machines: usize, length: f64) -> Vec<Observation> {
        let mut stream = Streams::new(5).stream("watched", "");
        let mut observations = Vec::new();
        for _ in 0..machines {
            let (mut at, mut is_rest) = (0.0, true);
            while at < length {
                let drawn =
                    if is_rest { distribution.sample_rest(&mut stream) } else { distribution.sample(&mut stream) };
                let end = at + drawn.as_secs_f64().max(1e-3);
                observations.push(Observation { seconds: end.min(length) - at, is_censored: end > length, is_rest });
                (at, is_rest) = (end, false);
            }
        }
        observations
    }

    #[test]
    fn machines_that_were_running_before_bias_no_mean() {
        const DAY: f64 = 86_400.0;
        let check = |text: &str, family: Family, mean_d: f64| {
            let distribution: Distribution = serde_saphyr::from_str(text).expect(text);
            let observations = watched(&distribution, 500, 365.0 * DAY);
            let found = fit(family, &observations).expect("a fit");
            let mean = found.distribution.mean().expect("a mean").as_secs_f64() / DAY;
            let errors = found.errors.expect("a clear top");
            assert!((mean / mean_d - 1.0).abs() < 3.0 * errors.mean, "{text}: {mean} d, {errors:?}");
            assert!((0.01..0.2).contains(&errors.mean), "{text}: {errors:?}");
            // Rests that are taken for whole lengths are what was wrong: by far more than chance explains.
            let naive: Vec<_> = observations.iter().map(|of| Observation { is_rest: false, ..*of }).collect();
            let naive = fit(family, &naive).expect("a fit").distribution.mean().expect("a mean").as_secs_f64() / DAY;
            assert!((naive / mean_d - 1.0).abs() > 3.0 * errors.mean, "{text}: {naive} d");
        };
        check("weibull: {shape: 0.5, mean: 300d}", Family::Weibull, 300.0);
        check("weibull: {shape: 2, mean: 300d}", Family::Weibull, 300.0);
        check("gamma: {shape: 0.4, mean: 300d}", Family::Gamma, 300.0);
        check(
            "lognormal: {median: 100d, p99: 2000d}",
            Family::Lognormal,
            100.0 * libm::exp(0.5 * (libm::log(20.0) / NORMAL_P99) * (libm::log(20.0) / NORMAL_P99)),
        );
    }

    #[test]
    fn what_counts_twice_is_as_if_it_were_there_twice() {
        let once: Vec<_> = [10.0, 40.0, 90.0, 300.0, 700.0, 20.0].map(Observation::whole).to_vec();
        let open = Observation { seconds: 500.0, is_censored: true, is_rest: true };
        let observations = [&once[..], &[open]].concat();
        let times = [2, 0, 1, 3, 1, 1, 4];
        let repeated: Vec<_> =
            observations.iter().zip(times).flat_map(|(of, times)| std::iter::repeat_n(*of, times as usize)).collect();
        for family in Family::ALL {
            let (counted, whole) = (fit_counted(family, &observations, &times), fit(family, &repeated));
            let [counted, whole] = [counted, whole.map(|fit| fit.distribution)].map(|of| of.expect("a fit"));
            let mean = |of: &Distribution| of.mean().expect("a mean").as_secs_f64();
            near(mean(&counted), mean(&whole), 1e-3);
        }
        assert!(fit_counted(Family::Exponential, &observations, &[0, 0, 0, 0, 0, 0, 4]).is_none());
        assert!(fit_counted(Family::Weibull, &observations, &[5, 0, 0, 0, 0, 0, 1]).is_none());
    }

    #[test]
    fn standard_errors_are_those_of_theory() {
        // Of complete lognormal lengths: the deviation's error is one by the root of 2 n, of its own size.
        let distribution: Distribution = serde_saphyr::from_str("lognormal: {median: 10m, p99: 2h}").expect("one");
        let errors = fit(Family::Lognormal, &drawn(&distribution, 2_000, f64::INFINITY)).expect("a fit").errors;
        near(errors.and_then(|errors| errors.shape).expect("a top"), 1.0 / libm::sqrt(4_000.0), 0.01);
        let errors = fit(Family::Exponential, &complete(&[1.0, 2.0, 4.0, 8.0])).expect("a fit").errors;
        assert_eq!(errors, Some(StandardErrors { mean: 0.5, shape: None }));
    }
}
