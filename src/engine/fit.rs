//! Distributions fitted to lengths of time that were observed, by maximum likelihood.
//!
//! A length that had not ended when the observation did is *censored*: it lasted at least so long. Leaving such lengths out, or
//! taking them for whole ones, makes rare failures look frequent.

mod intervals;
mod nonparametric;

pub use intervals::{Bounds, Goodness, IntervalFit, fit_intervals, goodness};
pub use nonparametric::quantiles;

use super::distribution::Distribution;
use super::special::{NORMAL_P99, gamma_survival};
use crate::units::SimDuration;

/// A length of time that was observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// How long it lasted, above zero.
    pub seconds: f64,
    /// Whether it had not ended when the observation did.
    pub is_censored: bool,
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
}

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
            Family::Lognormal => 0.5 * libm::erfc((libm::log(x) - self.first) / b / std::f64::consts::SQRT_2),
            Family::Gamma => gamma_survival(a, x / b),
        }
    }

    fn log_likelihood(&self, observations: &[Observation]) -> f64 {
        let of = |observation: &Observation| {
            let x = observation.seconds;
            if observation.is_censored { libm::log(self.survival(x).max(1e-300)) } else { self.log_density(x) }
        };
        observations.iter().map(of).sum()
    }

    /// As a distribution; none if a parameter is out of all reason.
    fn distribution(&self) -> Option<Distribution> {
        let (a, b) = (libm::exp(self.first), libm::exp(self.second));
        let length = |seconds: f64| {
            let is_usable = seconds.is_finite() && (1e-6..1e10).contains(&seconds);
            is_usable.then(|| readable(seconds))
        };
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
/// chapters 7, 8 and 11.
///
/// # Panics
///
/// If a length is not above zero.
#[must_use]
pub fn fit(family: Family, observations: &[Observation]) -> Option<Fit> {
    assert!(observations.iter().all(|observation| observation.seconds > 0.0), "lengths of time are above zero");
    let ended = observations.iter().filter(|observation| !observation.is_censored).count() as f64;
    let parameters = family.parameter_count() as f64;
    if ended == 0.0 || (parameters > 1.0 && (ended <= parameters + 1.0 || are_alike(observations))) {
        return None;
    }
    let total: f64 = observations.iter().map(|observation| observation.seconds).sum();
    let mean = libm::log(total / ended);
    let logs = || observations.iter().map(|observation| libm::log(observation.seconds));
    let n = observations.len() as f64;
    let log_mean = logs().sum::<f64>() / n;
    let log_deviation = libm::sqrt(logs().map(|log| (log - log_mean) * (log - log_mean)).sum::<f64>() / n);
    let start = match family {
        Family::Exponential => (mean, 0.0),
        Family::Weibull => (0.0, mean),
        Family::Lognormal => (log_mean, libm::log(log_deviation.max(1e-3))),
        Family::Gamma => (0.0, mean),
    };
    let candidate = |(first, second): (f64, f64)| Candidate { family, first, second };
    let found = match family {
        // The only one whose best parameter is a formula also for lengths that have not ended.
        Family::Exponential => start,
        _ => climb(start, Ascent::WHOLE, |point| candidate(point).log_likelihood(observations)),
    };
    let best = candidate(found);
    let log_likelihood = best.log_likelihood(observations);
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
    })
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

/// The largest distance to the observed distribution function.
///
/// # Source
///
/// Kolmogorov's distance; with censored lengths the observed function is that of Kaplan and Meier, Nonparametric estimation from
/// incomplete observations, Journal of the American Statistical Association 53 (1958).
fn distance(candidate: &Candidate, observations: &[Observation]) -> f64 {
    let mut sorted = observations.to_vec();
    // What ended at an instant was still at risk then.
    sorted.sort_by(|a, b| a.seconds.total_cmp(&b.seconds).then(a.is_censored.cmp(&b.is_censored)));
    let mut surviving = 1.0;
    let mut largest: f64 = 0.0;
    let mut before = 0;
    for crowd in sorted.chunk_by(|a, b| a.seconds == b.seconds) {
        let ended = crowd.iter().filter(|observation| !observation.is_censored).count();
        if ended > 0 {
            let fitted = candidate.survival(crowd[0].seconds);
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
        seconds.iter().map(|&seconds| Observation { seconds, is_censored: false }).collect()
    }

    fn drawn(distribution: &Distribution, count: usize, until: f64) -> Vec<Observation> {
        let mut stream = Streams::new(11).stream("fit", "");
        let draw = |_| {
            let seconds = distribution.sample(&mut stream).as_secs_f64().max(1e-3);
            Observation { seconds: seconds.min(until), is_censored: seconds > until }
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
        assert_eq!(fit(Family::Weibull, &[Observation { seconds: 5.0, is_censored: true }]), None);
    }
}
