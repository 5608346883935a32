//! Fits to lengths of time of which only bounds are known.
//!
//! Instants that are recorded in whole seconds tell a length to within two seconds, and not all lengths within are equally likely:
//! what is told by stamps of 3 s and 5 s began somewhere in its second. Both follow from one formula, in which the beginning is equally
//! likely anywhere between two ticks of its clock. Nothing is thrown away: what had not ended has no upper bound, and what may have
//! been over before anybody looked has no lower one.

use super::super::distribution::Distribution;
use super::super::random::{Stream, Streams};
use super::super::special::{gamma_cdf, gamma_sides, normal_cdf};
use super::{Ascent, Candidate, Family, climb, readable};
use crate::units::SimDuration;

/// What is known of a length of time: it lies between `low_s - u` and `high_s - u`, where `u` is equally likely anywhere between 0 and
/// `slack_s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Seconds that it lasted at least; minus infinity if it may have lasted no time.
    pub low_s: f64,
    /// Seconds that it lasted at most; infinity if it had not ended.
    pub high_s: f64,
    /// Seconds between two ticks of the clock that recorded its beginning.
    pub slack_s: f64,
}

impl Bounds {
    /// Whether one side is open, so that the length itself is not known.
    #[must_use]
    pub fn is_censored(&self) -> bool {
        self.low_s == f64::NEG_INFINITY || self.high_s == f64::INFINITY
    }

    /// The middle of what it may be; the known bound where there is only one.
    #[must_use]
    pub fn middle_s(&self) -> f64 {
        let middle = match (self.low_s.is_finite(), self.high_s.is_finite()) {
            (true, true) => f64::midpoint(self.low_s, self.high_s),
            (true, false) => self.low_s,
            _ => self.high_s / 2.0,
        };
        (middle - self.slack_s / 2.0).max(0.0)
    }
}

/// A distribution with its parameters, and how well it goes with bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalFit {
    /// The family as documents name it.
    pub name: &'static str,
    /// With its parameters.
    pub distribution: Distribution,
    /// The logarithm of the likelihood of the bounds.
    pub log_likelihood: f64,
    /// Akaike's information criterion, corrected for few observations, as of [`super::Fit`]; infinite if there are too few for it.
    pub aicc: f64,
    model: Model,
}

/// How well a fit goes with the bounds it was made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goodness {
    /// The largest difference between a share of lengths as fitted and as observed, from 0 to 1.
    ///
    /// # Source
    ///
    /// Kolmogorov's distance of probability integral transforms, each spread over what its bounds leave: Czado, Gneiting and Held,
    /// Predictive model assessment for count data, Biometrics 65 (2009).
    pub distance: f64,
    /// The share of samples drawn from the fit, and fitted anew, that are as far from their fits; none if that was not asked for, or
    /// if there are too many different bounds for it.
    ///
    /// # Source
    ///
    /// Parametric bootstrap: Stute, González Manteiga and Presedo Quindimil, Bootstrap based goodness-of-fit tests, Metrika 40 (1993).
    pub p_value: Option<f64>,
}

/// Samples that are drawn for a p-value.
const SAMPLES: usize = 99;
/// Different bounds up to which that takes no time worth mentioning.
const DISTINCT_MAX: usize = 400;
/// Standard deviations of a logarithm beyond which nothing that takes time is spread.
const SIGMA_MAX: f64 = 5.0;
/// Weibull shapes below which means are out of all proportion.
const SHAPE_MIN: f64 = 0.1;

/// Bounds that occur several times, once.
type Weighted = Vec<(Bounds, f64)>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Model {
    Constant(f64),
    Family(Candidate),
}

impl Candidate {
    fn below(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        let (a, b) = (libm::exp(self.first), libm::exp(self.second));
        match self.family {
            Family::Exponential => -libm::expm1(-x / a),
            Family::Weibull => -libm::expm1(-libm::exp(a * (libm::log(x) - self.second))),
            Family::Lognormal => normal_cdf((libm::log(x) - self.first) / b),
            Family::Gamma => gamma_cdf(a, x / b),
        }
    }

    fn above(&self, x: f64) -> f64 {
        if x <= 0.0 { 1.0 } else { self.survival(x) }
    }

    /// The mean of a length, counted where it is below `x` and above it.
    fn mean_of_sides(&self, x: f64) -> (f64, f64) {
        let (a, b) = (libm::exp(self.first), libm::exp(self.second));
        let x = x.max(0.0);
        match self.family {
            Family::Exponential => {
                let ratio = x / a;
                (-a * libm::expm1(-ratio) - x * libm::exp(-ratio), (a + x) * libm::exp(-ratio))
            }
            Family::Weibull => {
                let (mean, power) = (b * libm::tgamma(1.0 + 1.0 / a), libm::exp(a * (libm::log(x) - self.second)));
                let (below, above) = gamma_sides(1.0 + 1.0 / a, power);
                (mean * below, mean * above)
            }
            Family::Lognormal => {
                let (mean, z) = (libm::exp(self.first + 0.5 * b * b), (libm::log(x) - self.first) / b);
                (mean * normal_cdf(z - b), mean * normal_cdf(b - z))
            }
            Family::Gamma => {
                let (below, above) = gamma_sides(a + 1.0, x / b);
                (a * b * below, a * b * above)
            }
        }
    }

    /// The integral of the distribution function up to `x`.
    fn shortfall(&self, x: f64) -> f64 {
        if x <= 0.0 { 0.0 } else { x * self.below(x) - self.mean_of_sides(x).0 }
    }

    /// The integral of its complement from `x` on.
    pub(super) fn excess(&self, x: f64) -> f64 {
        if x == f64::INFINITY {
            return 0.0;
        }
        let (_, above) = self.mean_of_sides(x);
        if x <= 0.0 { above - x } else { above - x * self.survival(x) }
    }

    /// The mean of the distribution function between `x - slack` and `x`.
    fn below_on_average(&self, x: f64, slack: f64) -> f64 {
        if x.is_infinite() {
            return if x > 0.0 { 1.0 } else { 0.0 };
        }
        if slack > 0.0 { (self.shortfall(x) - self.shortfall(x - slack)) / slack } else { self.below(x) }
    }

    fn above_on_average(&self, x: f64, slack: f64) -> f64 {
        if x.is_infinite() {
            return if x > 0.0 { 0.0 } else { 1.0 };
        }
        if slack > 0.0 { (self.excess(x - slack) - self.excess(x)) / slack } else { self.above(x) }
    }

    fn is_reasonable(&self) -> bool {
        match self.family {
            Family::Lognormal => self.second <= libm::log(SIGMA_MAX),
            Family::Weibull => self.first >= libm::log(SHAPE_MIN),
            Family::Exponential | Family::Gamma => true,
        }
    }
}

impl Model {
    fn below_on_average(&self, x: f64, slack: f64) -> f64 {
        match self {
            Self::Family(candidate) => candidate.below_on_average(x, slack).clamp(0.0, 1.0),
            Self::Constant(_) if x.is_infinite() => f64::from(u8::from(x > 0.0)),
            Self::Constant(length) if slack > 0.0 => ((x - length) / slack).clamp(0.0, 1.0),
            Self::Constant(length) => f64::from(u8::from(x > *length)),
        }
    }

    fn probability(&self, bounds: &Bounds) -> f64 {
        let Bounds { low_s, high_s, slack_s } = *bounds;
        let found = match self {
            // The smaller side is the one whose difference is precise.
            Self::Family(candidate) if candidate.above(low_s) < 0.5 => {
                candidate.above_on_average(low_s, slack_s) - candidate.above_on_average(high_s, slack_s)
            }
            _ => self.below_on_average(high_s, slack_s) - self.below_on_average(low_s, slack_s),
        };
        found.clamp(0.0, 1.0)
    }

    fn log_likelihood(&self, bounds: &Weighted) -> f64 {
        bounds.iter().map(|(bounds, weight)| weight * libm::log(self.probability(bounds).max(1e-300))).sum()
    }

    fn parameter_count(&self) -> f64 {
        match self {
            Self::Constant(_) => 1.0,
            Self::Family(candidate) => candidate.family.parameter_count() as f64,
        }
    }

    fn distribution(&self) -> Option<Distribution> {
        match self {
            Self::Constant(0.0) => Some(Distribution::Constant(SimDuration::ZERO)),
            Self::Constant(length) => Some(Distribution::Constant(readable(*length))),
            Self::Family(candidate) => candidate.distribution(),
        }
    }
}

/// Fits a constant and every family to bounds, the best first; those that cannot be fitted are not among them.
///
/// # Source
///
/// Maximum likelihood with interval-censored observations: Meeker and Escobar, Statistical Methods for Reliability Data, chapter 7.
#[must_use]
pub fn fit_intervals(bounds: &[Bounds]) -> Vec<IntervalFit> {
    let whole = bounds.iter().filter(|bounds| !bounds.is_censored()).count() as f64;
    let weighted = weighted(bounds);
    let constant = fit_constant(&weighted).filter(|_| whole > 0.0);
    let families = Family::ALL.into_iter().filter_map(|family| fit_family(family, &weighted, whole));
    let fits = constant.into_iter().chain(families).filter_map(|model| {
        let parameters = model.parameter_count();
        let log_likelihood = model.log_likelihood(&weighted);
        let correction = if whole > parameters + 1.0 {
            2.0 * parameters * (parameters + 1.0) / (whole - parameters - 1.0)
        } else {
            f64::INFINITY
        };
        Some(IntervalFit {
            name: match model {
                Model::Constant(_) => "constant",
                Model::Family(candidate) => candidate.family.as_str(),
            },
            distribution: model.distribution()?,
            log_likelihood,
            aicc: 2.0 * parameters - 2.0 * log_likelihood + correction,
            model,
        })
    });
    let mut fits: Vec<IntervalFit> = fits.collect();
    fits.sort_by(|a, b| a.aicc.total_cmp(&b.aicc));
    fits
}

fn weighted(bounds: &[Bounds]) -> Weighted {
    let mut sorted = bounds.to_vec();
    let order = |a: &Bounds, b: &Bounds| {
        a.high_s.total_cmp(&b.high_s).then(a.low_s.total_cmp(&b.low_s)).then(a.slack_s.total_cmp(&b.slack_s))
    };
    sorted.sort_by(order);
    sorted.chunk_by(|a, b| a == b).map(|alike| (alike[0], alike.len() as f64)).collect()
}

/// The length within all bounds that makes them likeliest, if there is one.
fn fit_constant(bounds: &Weighted) -> Option<Model> {
    let lowest = bounds.iter().map(|(bounds, _)| bounds.low_s - bounds.slack_s).fold(0.0, f64::max);
    let highest = bounds.iter().map(|(bounds, _)| bounds.high_s).fold(f64::INFINITY, f64::min);
    if highest == f64::INFINITY || lowest >= highest {
        return None;
    }
    let worth = |length: f64| Model::Constant(length).log_likelihood(bounds);
    // The logarithm of a trapezoid is concave, and so is a sum of them: thirds close in on the top, and stay where it is level.
    let (mut low, mut high) = (lowest, highest);
    for _ in 0..200 {
        let third = (high - low) / 3.0;
        let (left, right) = (worth(low + third), worth(high - third));
        if left <= right {
            low += third;
        }
        if right <= left {
            high -= third;
        }
    }
    let length = f64::midpoint(low, high);
    let model = Model::Constant(length);
    bounds.iter().all(|(bounds, _)| model.probability(bounds) > 0.0).then_some(model)
}

fn fit_family(family: Family, bounds: &Weighted, whole: f64) -> Option<Model> {
    let parameters = family.parameter_count() as f64;
    if whole == 0.0 || (parameters > 1.0 && whole <= parameters + 1.0) {
        return None;
    }
    let count: f64 = bounds.iter().map(|(_, weight)| weight).sum();
    let logs = || bounds.iter().map(|(bounds, weight)| (libm::log(bounds.middle_s().max(0.05)), *weight));
    let mean = bounds.iter().map(|(bounds, weight)| bounds.middle_s().max(0.05) * weight).sum::<f64>() / count;
    let log_mean = logs().map(|(log, weight)| log * weight).sum::<f64>() / count;
    let variance = logs().map(|(log, weight)| (log - log_mean) * (log - log_mean) * weight).sum::<f64>() / count;
    let deviation = libm::sqrt(variance).clamp(0.05, 2.0);
    let start = match family {
        Family::Exponential => (libm::log(mean), 0.0),
        Family::Weibull => (libm::log(1.2 / deviation), libm::log(mean)),
        Family::Lognormal => (log_mean, libm::log(deviation)),
        Family::Gamma => (-2.0 * libm::log(deviation), libm::log(mean) + 2.0 * libm::log(deviation)),
    };
    Some(Model::Family(climbed(family, start, Ascent::WHOLE, bounds)))
}

fn climbed(family: Family, start: (f64, f64), ascent: Ascent, bounds: &Weighted) -> Candidate {
    let candidate = |(first, second): (f64, f64)| Candidate { family, first, second };
    let height = |point: (f64, f64)| {
        let candidate = candidate(point);
        if !candidate.is_reasonable() {
            return f64::NEG_INFINITY;
        }
        Model::Family(candidate).log_likelihood(bounds)
    };
    candidate(climb(start, ascent, height))
}

/// How well a fit goes with bounds. Chance comes from a stream of that name, so that the same bounds give the same p-value; where the
/// distance is no more than `near` there is none, as it takes its time.
#[must_use]
pub fn goodness(fit: &IntervalFit, bounds: &[Bounds], name: &str, near: f64) -> Goodness {
    let observed = weighted(bounds);
    let distance = distance(&fit.model, &observed);
    if observed.len() > DISTINCT_MAX || distance <= near {
        return Goodness { distance, p_value: None };
    }
    let mut stream = Streams::new(0).stream("goodness", name);
    let mut as_far = 0;
    for _ in 0..SAMPLES {
        let drawn: Vec<Bounds> = bounds.iter().map(|bounds| redrawn(bounds, &fit.distribution, &mut stream)).collect();
        let drawn = weighted(&drawn);
        let refitted = match fit.model {
            Model::Constant(_) => fit_constant(&drawn).unwrap_or(fit.model),
            Model::Family(Candidate { family, first, second }) => {
                Model::Family(climbed(family, (first, second), Ascent::NEAR, &drawn))
            }
        };
        // A distance that differs in rounding alone is the same.
        if self::distance(&refitted, &drawn) >= distance - 1e-9 {
            as_far += 1;
        }
    }
    Goodness { distance, p_value: Some(f64::from(as_far + 1) / (SAMPLES + 1) as f64) }
}

/// What would have been recorded, in the way of those bounds, of a length that is drawn.
fn redrawn(bounds: &Bounds, distribution: &Distribution, stream: &mut Stream) -> Bounds {
    let length = distribution.sample(stream).as_secs_f64() + stream.unit() * bounds.slack_s;
    let Bounds { low_s, high_s, slack_s } = *bounds;
    // Whoever looked once would have seen it ended or not.
    if low_s == f64::NEG_INFINITY {
        let is_over = length < high_s;
        let (low_s, high_s) = if is_over { (f64::NEG_INFINITY, high_s) } else { (high_s, f64::INFINITY) };
        return Bounds { low_s, high_s, slack_s };
    }
    if high_s == f64::INFINITY && length >= low_s {
        return *bounds;
    }
    let width = if high_s == f64::INFINITY { slack_s.max(1e-3) } else { high_s - low_s };
    let low_s = low_s + libm::floor((length - low_s) / width) * width;
    Bounds { low_s, high_s: low_s + width, slack_s }
}

/// The largest distance between the mean of the transforms and a uniform distribution. Each is spread evenly over its bounds, so
/// that both are lines between the ends of bounds and the largest is at one of these.
fn distance(model: &Model, bounds: &Weighted) -> f64 {
    let ends: Vec<(f64, f64, f64)> = bounds
        .iter()
        .map(|(bounds, weight)| {
            let at = |x: f64| model.below_on_average(x, bounds.slack_s);
            (at(bounds.low_s), at(bounds.high_s), *weight)
        })
        .collect();
    let total: f64 = ends.iter().map(|(.., weight)| weight).sum();
    let share = |at: f64| {
        let of = |(low, high, weight): &(f64, f64, f64)| {
            weight
                * if high > low { ((at - low) / (high - low)).clamp(0.0, 1.0) } else { f64::from(u8::from(at >= *low)) }
        };
        ends.iter().map(of).sum::<f64>() / total
    };
    let points = ends.iter().flat_map(|(low, high, _)| [*low, *high]);
    points.map(|at| (share(at) - at).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(family: Family, first: f64, second: f64) -> Model {
        Model::Family(Candidate { family, first, second })
    }

    /// What whole seconds tell of a length that began at a random moment of its second.
    fn recorded(distribution: &Distribution, count: usize) -> Vec<Bounds> {
        let mut stream = Streams::new(5).stream("test", "recorded");
        let draw = |_| {
            let low_s = libm::floor(distribution.sample(&mut stream).as_secs_f64() + stream.unit());
            Bounds { low_s, high_s: low_s + 1.0, slack_s: 1.0 }
        };
        (0..count).map(draw).collect()
    }

    fn near(found: f64, expected: f64, share: f64) {
        assert!((found / expected - 1.0).abs() < share, "{found} instead of {expected}");
    }

    #[test]
    fn probabilities_are_the_integrals_they_stand_for() {
        let models = [
            model(Family::Exponential, 0.5, 0.0),
            model(Family::Weibull, libm::log(0.7), 1.0),
            model(Family::Lognormal, 0.8, libm::log(0.9)),
            model(Family::Gamma, libm::log(2.5), libm::log(0.6)),
            Model::Constant(2.25),
        ];
        for model in models {
            let at = |x: f64| model.below_on_average(x, 0.0);
            for (low_s, high_s) in [(0.0, 1.0), (2.0, 3.0), (7.0, 8.0), (f64::NEG_INFINITY, 4.0), (5.0, f64::INFINITY)]
            {
                // The middle of each of many slices of the second in which it began.
                let slices = 20_000;
                let of = |slice: u32| {
                    let u = (f64::from(slice) + 0.5) / f64::from(slices);
                    at(high_s - u) - at(low_s - u)
                };
                let expected = (0..slices).map(of).sum::<f64>() / f64::from(slices);
                let found = model.probability(&Bounds { low_s, high_s, slack_s: 1.0 });
                assert!((found - expected).abs() < 1e-4, "{model:?} {low_s}: {found} instead of {expected}");
            }
        }
        // Far out in the tail nothing cancels: the integral of a second of exp(-x) that began within one.
        let far = model(Family::Exponential, 0.0, 0.0).probability(&Bounds { low_s: 60.0, high_s: 61.0, slack_s: 1.0 });
        near(far, libm::exp(-59.0) * (1.0 - libm::exp(-1.0)) * (1.0 - libm::exp(-1.0)), 1e-9);
    }

    #[test]
    fn the_truth_is_found_behind_whole_seconds_and_its_family_goes_best() {
        let truths = [
            Distribution::Constant(SimDuration::from_millis(2300)),
            Distribution::Exponential { mean: SimDuration::from_secs(6) },
            Distribution::Lognormal { median: SimDuration::from_secs(3), p99: SimDuration::from_secs(40) },
            Distribution::Gamma { shape: 5.0, scale: SimDuration::from_secs(1) },
            Distribution::Weibull { shape: 2.5, scale: SimDuration::from_secs(9) },
        ];
        for truth in truths {
            let bounds = recorded(&truth, 1500);
            let fits = fit_intervals(&bounds);
            let best = &fits[0];
            let mean = |distribution: &Distribution| distribution.mean().expect("parameters").as_secs_f64();
            near(mean(&best.distribution), mean(&truth), 0.06);
            for p in [0.1, 0.5, 0.9] {
                let at = |distribution: &Distribution| distribution.quantile(p).as_secs_f64();
                near(at(&best.distribution), at(&truth), 0.12);
            }
            let goodness = goodness(best, &bounds, "test", -1.0);
            assert!(goodness.distance < 0.04 && goodness.p_value.is_some_and(|p| p > 0.02), "{truth:?} {goodness:?}");
        }
    }

    #[test]
    fn a_length_of_less_than_a_second_is_told_from_how_often_a_second_begins_within() {
        let bounds = recorded(&Distribution::Constant(SimDuration::from_millis(300)), 1000);
        let best = &fit_intervals(&bounds)[0];
        let Distribution::Constant(length) = best.distribution else { panic!("{best:?}") };
        near(length.as_secs_f64(), 0.3, 0.15);
    }

    #[test]
    fn what_goes_with_no_family_is_far_from_all_and_its_quantiles_are_told() {
        let at = |low_s: f64| Bounds { low_s, high_s: low_s + 1.0, slack_s: 1.0 };
        let bounds: Vec<Bounds> = (0..60).map(|index| at(if index % 2 == 0 { 1.0 } else { 90.0 })).collect();
        let found = goodness(&fit_intervals(&bounds)[0], &bounds, "test", -1.0);
        assert!(found.distance > 0.1 && found.p_value == Some(0.01), "{found:?}");
        let lengths = super::super::quantiles(&bounds, 10);
        assert!(lengths[4] < SimDuration::from_secs(2) && lengths[5] > SimDuration::from_secs(89), "{lengths:?}");
        assert!(lengths.is_sorted() && lengths[9] <= SimDuration::from_secs(91), "{lengths:?}");
    }

    #[test]
    fn lengths_that_had_not_ended_make_longer_ones() {
        let truth = Distribution::Exponential { mean: SimDuration::from_secs(20) };
        let cut = |bounds: Bounds| {
            if bounds.low_s >= 15.0 { Bounds { low_s: 15.0, high_s: f64::INFINITY, slack_s: 1.0 } } else { bounds }
        };
        let bounds: Vec<Bounds> = recorded(&truth, 2000).into_iter().map(cut).collect();
        let fits = fit_intervals(&bounds);
        let exponential = fits.iter().find(|fit| fit.name == "exponential").expect("a fit");
        let Distribution::Exponential { mean } = exponential.distribution else { panic!("{exponential:?}") };
        near(mean.as_secs_f64(), 20.0, 0.08);
        // What may have been over at any time before tells no more than that.
        let capped = [Bounds { low_s: f64::NEG_INFINITY, high_s: 3.0, slack_s: 0.0 }; 20];
        assert_eq!(fit_intervals(&capped).len(), 0);
    }
}
