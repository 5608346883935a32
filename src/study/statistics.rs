//! What a sample says about the population it was drawn from.

/// More observations than this that differ from the usual one tell how large such differences are.
const EXCEPTIONS_MAX: usize = 5;

/// A smaller share than this of the usual observation is a difference that nobody would notice.
pub(super) const NOTICED: f64 = 0.01;

/// What is off by no more than this share of the numbers that it was made from is rounding.
pub(super) const ROUNDING: f64 = 1e-9;

/// Below so many observations the interval of the mean of skewed ones misses it more often than it says, however wide it is made: the
/// table of `docs/studies.md`.
pub(super) const FEW: usize = 20;

/// Observations of one quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    sorted: Vec<f64>,
}

/// A mean with the interval in which the true one lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Interval {
    /// The mean of the sample; not a number, which JSON writes as null, if there are no observations.
    pub mean: f64,
    /// The lower end; infinite, which JSON writes as null, if there are fewer than two observations.
    pub low: f64,
    /// The upper end, likewise.
    pub high: f64,
    /// Whether it is wider than what was seen tells, to allow for runs that nobody has seen. An end is infinite where nobody knows
    /// how bad these may be.
    pub widened: bool,
}

impl std::fmt::Display for Interval {
    /// `12.3 [11.8, 12.9]`, with as many decimals as the format asks for.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = |value: f64| formatter.precision().map_or_else(|| value.to_string(), |of| format!("{value:.of$}"));
        let [mean, low, high] = [self.mean, self.low, self.high].map(number);
        write!(formatter, "{mean} [{low}, {high}]")
    }
}

impl Interval {
    /// Whether zero cannot be told from the mean.
    #[must_use]
    pub fn has_zero(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }

    /// Of something that nothing is known of.
    #[must_use]
    pub const fn unknown() -> Self {
        Self { mean: f64::NAN, low: f64::NEG_INFINITY, high: f64::INFINITY, widened: false }
    }

    /// The same of a quantity that is never negative.
    #[must_use]
    pub fn not_below_zero(self) -> Self {
        // An end that is not known stays so.
        Self { low: if self.low.is_finite() { self.low.max(0.0) } else { self.low }, ..self }
    }

    /// Whether there are observations enough to say where the true mean lies.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// How far the true mean may be from the sample's: the longer side of the interval.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.mean).max(self.mean - self.low)
    }
}

impl Sample {
    /// A sample of these observations, in any order.
    #[must_use]
    pub fn new(mut observations: Vec<f64>) -> Self {
        observations.sort_by(f64::total_cmp);
        Self { sorted: observations }
    }

    /// The observations, ascending.
    #[must_use]
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The mean; 0 of nothing.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.sorted.iter().sum::<f64>() / self.len() as f64 }
    }

    /// The standard deviation of the population, estimated with `n - 1`; 0 for fewer than two observations.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        if self.len() < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self.sorted.iter().map(|value| (value - mean) * (value - mean)).sum();
        (squares / (self.len() - 1) as f64).sqrt()
    }

    /// The value below which a share of the observations lies, interpolated linearly.
    ///
    /// # Source
    ///
    /// Hyndman and Fan, Sample quantiles in statistical packages, The American Statistician 50 (1996), definition 7.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let Some(last) = self.len().checked_sub(1) else { return 0.0 };
        let position = share.clamp(0.0, 1.0) * last as f64;
        let below = position.floor() as usize;
        let above = (below + 1).min(last);
        self.sorted[below] + (position - below as f64) * (self.sorted[above] - self.sorted[below])
    }

    /// The interval in which the population's quantile lies with that confidence, whatever the distribution: two of the
    /// observations; none if there are too few.
    ///
    /// # Source
    ///
    /// Order statistics: David and Nagaraja, Order Statistics, 3rd edition, section 7.1.
    #[must_use]
    pub fn quantile_interval(&self, share: f64, confidence: f64) -> Option<(f64, f64)> {
        let (n, tail) = (self.len(), (1.0 - confidence) / 2.0);
        // How many of n observations lie below the quantile is binomial.
        let at_most = |k: usize| binomial_at_most(k, n, share);
        let first_above = |p: f64| {
            let (mut low, mut high) = (0, n);
            while low < high {
                let middle = low.midpoint(high);
                if at_most(middle) > p { high = middle } else { low = middle + 1 }
            }
            low
        };
        let below = first_above(tail).checked_sub(1)?;
        let above = first_above(1.0 - tail);
        // The count reaches `below` or less, or exceeds `above`, with a probability of at most `tail` each.
        Some((self.sorted[below], *self.sorted.get(above)?))
    }

    /// Whether the mean is known to a share of itself: see [`Self::relative_width`].
    #[must_use]
    pub fn is_precise(&self, precision: f64, confidence: f64) -> bool {
        self.relative_width(confidence) <= precision
    }

    /// To which share of itself the mean is known; infinite if nothing is known. That is so also where hardly any observation
    /// differs from the rest: what has not been seen in `n` runs may yet happen in 3 of `n`, at a cost that nobody knows.
    ///
    /// # Source
    ///
    /// The rule of three: Hanley and Lippman-Hand, If nothing goes wrong, is everything all right?, JAMA 249 (1983).
    #[must_use]
    pub fn relative_width(&self, confidence: f64) -> f64 {
        let interval = self.interval(confidence);
        if !interval.is_known() || self.exceptions().is_some() || self.is_skewed() {
            return f64::INFINITY;
        }
        interval.half_width() / interval.mean.abs()
    }

    /// How many observations differ from the usual one, if that is so few that what they show says little of what may come; 0
    /// if all are alike.
    #[must_use]
    pub fn exceptions(&self) -> Option<usize> {
        self.exceptions_beyond(0.0)
    }

    /// The same of those that differ by enough to be noticed: by one per cent of the usual one.
    #[must_use]
    pub fn noticed_exceptions(&self) -> Option<usize> {
        self.exceptions_beyond(NOTICED * self.usual().abs())
    }

    /// The same of those that differ by more than so much.
    fn exceptions_beyond(&self, least: f64) -> Option<usize> {
        let usual = *self.sorted.get(self.len() / 2)?;
        let others = self.sorted.iter().filter(|value| (**value - usual).abs() > least).count();
        (others <= EXCEPTIONS_MAX && others * 4 <= self.len()).then_some(others)
    }

    /// How lopsided the population is, estimated: positive if a few high ones carry the mean; 0 for fewer than three observations.
    ///
    /// # Source
    ///
    /// The adjusted coefficient of Fisher and Pearson, `G1` of Joanes and Gill, Comparing measures of sample skewness and kurtosis,
    /// The Statistician 47 (1998).
    #[must_use]
    pub fn skewness(&self) -> f64 {
        let n = self.len() as f64;
        if self.len() < 3 { 0.0 } else { self.third_moment() * n * n / ((n - 1.0) * (n - 2.0)) }
    }

    /// The mean cube of what observations are away from their mean, in deviations.
    fn third_moment(&self) -> f64 {
        let (mean, deviation) = (self.mean(), self.deviation());
        if deviation == 0.0 {
            return 0.0;
        }
        let scaled = self.sorted.iter().map(|value| (value - mean) / deviation);
        scaled.map(|value| value * value * value).fold(0.0, |sum, cube| sum + cube) / self.len() as f64
    }

    /// Whether the skewness is more than chance makes of what is not skewed: by two standard errors.
    ///
    /// # Source
    ///
    /// Its standard error for normal populations: Joanes and Gill, as above.
    #[must_use]
    pub fn is_lopsided(&self) -> bool {
        let n = self.len() as f64;
        let variance = 6.0 * n * (n - 1.0) / ((n - 2.0) * (n + 1.0) * (n + 3.0));
        self.len() >= 3 && self.skewness().abs() > 2.0 * variance.sqrt()
    }

    /// Whether so few observations carry so much of the mean that Student's interval is too narrow, by more than chance explains.
    ///
    /// # Source
    ///
    /// Cochran, Sampling Techniques, 3rd edition, section 2.15: the mean is close enough to normal from 25 times the squared
    /// skewness on.
    #[must_use]
    pub fn is_skewed(&self) -> bool {
        (self.len() as f64) < self.observations_for_normality() && self.is_lopsided()
    }

    /// Observations from which on the interval of the mean can be trusted, as far as these tell.
    #[must_use]
    pub fn observations_for_normality(&self) -> f64 {
        let skewness = self.third_moment();
        25.0 * skewness * skewness
    }

    /// What most observations are, as far as one can say so: the middle one; 0 of nothing.
    #[must_use]
    pub fn usual(&self) -> f64 {
        self.sorted.get(self.len() / 2).copied().unwrap_or(0.0)
    }

    /// How far the mean of what nobody has seen may move that of skewed observations, down and up: a share of the population may lie
    /// below or above all of these, and is taken to lie as far from the usual one as the last that was seen.
    #[must_use]
    pub fn unseen_tails(&self, confidence: f64) -> (f64, f64) {
        if self.is_empty() {
            return (0.0, 0.0);
        }
        let share = unseen_share(0, self.len(), confidence);
        (share * (self.usual() - self.quantile(0.0)), share * (self.quantile(1.0) - self.usual()))
    }

    /// The same of observations of which hardly any differ from the usual one: the others may be any number that Clopper and Pearson
    /// allow, and differ to either side. None if more of them differ than rounding makes of numbers of that size.
    #[must_use]
    pub fn unseen_exceptions(&self, confidence: f64, size: f64) -> Option<f64> {
        let seen = self.exceptions_beyond(ROUNDING * size)?;
        let farthest = (self.usual() - self.quantile(0.0)).max(self.quantile(1.0) - self.usual());
        Some(unseen_share(seen, self.len(), confidence) * farthest)
    }

    /// The mean with its interval of that confidence, by Student's t.
    ///
    /// # Source
    ///
    /// Student, The probable error of a mean, Biometrika 6 (1908).
    #[must_use]
    pub fn interval(&self, confidence: f64) -> Interval {
        self.interval_by(confidence, |t| t)
    }

    /// The mean with its interval of that confidence: Student's, or, where the observations are more skewed than chance explains,
    /// that of Hall's transformation, which is longer on the side of the tail.
    ///
    /// # Source
    ///
    /// Hall, On the removal of skewness by transformation, Journal of the Royal Statistical Society B 54 (1992), with Student's
    /// quantiles in place of normal ones.
    #[must_use]
    pub fn interval_if_skewed(&self, confidence: f64) -> Interval {
        if !self.is_lopsided() {
            return self.interval(confidence);
        }
        let (skewness, n) = (self.skewness(), self.len() as f64);
        let root = n.sqrt();
        // The cubic whose value is close to normal, turned round.
        self.interval_by(confidence, |t| {
            3.0 * root / skewness * (libm::cbrt(1.0 + skewness * (t / root - skewness / (6.0 * n))) - 1.0)
        })
    }

    /// The interval of a mean whose distance from the true one, in standard errors, lies between what `of` makes of Student's
    /// quantiles.
    fn interval_by(&self, confidence: f64, of: impl Fn(f64) -> f64) -> Interval {
        let mean = if self.is_empty() { f64::NAN } else { self.mean() };
        if self.len() < 2 {
            return Interval { mean, ..Interval::unknown() };
        }
        let t = student_t_quantile(0.5 + confidence / 2.0, (self.len() - 1) as f64);
        let (deviation, root) = (self.deviation(), (self.len() as f64).sqrt());
        Interval { mean, low: mean - of(t) * deviation / root, high: mean - of(-t) * deviation / root, widened: false }
    }
}

/// Which share of a population may be what was seen `seen` times in `n`, beyond what was.
///
/// # Source
///
/// Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 26 (1934).
pub(super) fn unseen_share(seen: usize, n: usize, confidence: f64) -> f64 {
    let (k, n) = (seen as f64, n as f64);
    let tail = (1.0 - confidence) / 2.0;
    // The share at which so few of them are as rare as the tail says.
    share_from(k / n, |share| incomplete_beta(n - k, k + 1.0, 1.0 - share) > tail) - k / n
}

/// The share from `low` on up to which something holds.
fn share_from(mut low: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let mut high = 1.0;
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// At least which share of a population is what was seen `seen` times in `n`: the lower end of the exact one-sided interval.
///
/// # Source
///
/// Clopper and Pearson, as above.
pub(super) fn share_at_least(seen: usize, n: usize, confidence: f64) -> f64 {
    if seen == 0 {
        return 0.0;
    }
    // The share at which so many of them are as rare as the tail says.
    share_from(0.0, |share| incomplete_beta(seen as f64, (n - seen + 1) as f64, share) < 1.0 - confidence)
}

/// Observations from which on an interval of a quantile has an upper end: with fewer, all may lie below it.
pub(super) fn observations_for_quantile(share: f64, confidence: f64) -> usize {
    (libm::log((1.0 - confidence) / 2.0) / libm::log(share)).ceil() as usize
}

/// The value that a variable with Student's t distribution stays below with probability `p`, for `p` of at least one half.
pub(super) fn student_t_quantile(p: f64, degrees: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_t_cdf(high, degrees) < p && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = low + (high - low) / 2.0;
        // There is no number between the two.
        if middle <= low || middle >= high {
            break;
        }
        if student_t_cdf(middle, degrees) < p { low = middle } else { high = middle }
    }
    low + (high - low) / 2.0
}

fn student_t_cdf(t: f64, degrees: f64) -> f64 {
    1.0 - incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t)) / 2.0
}

/// The regularized incomplete beta function.
///
/// # Source
///
/// Its continued fraction, NIST Digital Library of Mathematical Functions, 8.17.22, evaluated by Lentz's method.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast only on this side of the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let log_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x);
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= 1e-15 * fraction.abs() {
            break;
        }
    }
    libm::exp(log_front) * fraction / a
}

/// How likely something that happens with that probability happens at most `k` times in `n` trials.
pub(super) fn binomial_at_most(k: usize, n: usize, probability: f64) -> f64 {
    if k >= n { 1.0 } else { incomplete_beta((n - k) as f64, (k + 1) as f64, 1.0 - probability) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_t_quantiles_are_those_of_the_tables() {
        let check = |p: f64, degrees: f64, expected: f64| {
            let found = student_t_quantile(p, degrees);
            assert!((found - expected).abs() < 5e-4, "{p} {degrees}: {found}");
        };
        check(0.975, 1.0, 12.7062);
        check(0.975, 4.0, 2.7764);
        check(0.975, 29.0, 2.0452);
        check(0.995, 9.0, 3.2498);
        check(0.975, 1e6, 1.9600);
    }

    #[test]
    fn quantiles_are_interpolated() {
        let sample = Sample::new(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!(sample.quantile(0.5), 2.5);
        assert_eq!(sample.quantile(1.0), 4.0);
        assert_eq!(Sample::new(vec![7.0]).quantile(0.9), 7.0);
    }

    #[test]
    fn the_interval_covers_the_true_mean_as_often_as_it_says() {
        let mut stream = crate::engine::Streams::new(1).stream("coverage", "");
        let covered = (0..300).filter(|_| {
            // The sum of twelve uniform variables is close to normal, with mean 6.
            let draws = (0..15).map(|_| (0..12).map(|_| stream.unit()).sum());
            let interval = Sample::new(draws.collect()).interval(0.95);
            (interval.low..=interval.high).contains(&6.0)
        });
        let count = covered.count();
        assert!((276..=294).contains(&count), "{count} of 300");
    }

    #[test]
    fn one_observation_says_nothing_of_where_the_mean_lies() {
        let interval = Sample::new(vec![7.0]).interval(0.95);
        assert!(!interval.is_known() && interval.has_zero());
        assert_eq!(
            serde_json::to_string(&interval).expect("plain data"),
            r#"{"mean":7.0,"low":null,"high":null,"widened":false}"#
        );
    }

    #[test]
    fn runs_of_which_hardly_any_differ_are_never_precise() {
        let sample =
            |n: usize, costly: usize| Sample::new((0..n).map(|i| if i < costly { 500.0 } else { 5.0 }).collect());
        assert!(!sample(60, 0).is_precise(0.05, 0.95) && !sample(1000, 0).is_precise(0.05, 0.95));
        assert!(!sample(66, 1).is_precise(0.9, 0.95));
        // One in a hundred: 25 times the squared skewness of 9.8 are some 2,400 runs.
        assert!(sample(1000, 10).is_skewed() && !sample(3000, 30).is_skewed());
        assert_eq!(
            (sample(60, 0).exceptions(), sample(60, 5).exceptions(), sample(60, 6).exceptions()),
            (Some(0), Some(5), None)
        );
        assert_eq!(Sample::new(vec![1.0, 2.0, 3.0, 4.0]).exceptions(), None);
    }

    #[test]
    fn what_was_not_seen_in_n_runs_may_be_in_less_than_four_of_n() {
        let share = |costs: Vec<f64>| {
            let sample = Sample::new(costs);
            sample.exceptions().map_or(0.0, |seen| unseen_share(seen, sample.len(), 0.95))
        };
        // One-sided 97.5 %: 1 - 0.025^(1/100).
        assert!((share(vec![0.0; 100]) - 0.036_217).abs() < 1e-5);
        // Of one in a hundred: 5.446 %, Clopper and Pearson.
        let one = share((0..100).map(|run| f64::from(u8::from(run == 7))).collect());
        assert!((one - 0.044_459).abs() < 1e-5, "{one}");
        assert_eq!(share((0..100).map(f64::from).collect()), 0.0);
        assert_eq!(share(Vec::new()), 0.0);
    }

    #[test]
    fn a_share_is_at_least_what_makes_as_many_as_rare_as_the_tail() {
        let close = |seen: usize, n: usize, expected: f64| {
            let found = share_at_least(seen, n, 0.95);
            assert!((found - expected).abs() < 1e-6, "{seen} of {n}: {found}");
        };
        // All of them: 0.05^(1/n). The others: one-sided ends of Clopper and Pearson by the quantiles of the beta distribution.
        close(30, 30, libm::pow(0.05, 1.0 / 30.0));
        close(1, 1, 0.05);
        close(0, 30, 0.0);
        close(1, 10, 1.0 - libm::pow(0.95, 0.1));
        close(9, 10, 0.605_837);
    }

    #[test]
    fn what_is_never_negative_has_no_negative_end() {
        let interval = Sample::new(vec![0.0, 0.0, 0.0, 9.0]).interval(0.95);
        assert!(interval.low < 0.0);
        let clipped = interval.not_below_zero();
        assert_eq!((clipped.low, clipped.high, clipped.mean), (0.0, interval.high, interval.mean));
        assert!(!Sample::new(vec![7.0]).interval(0.95).not_below_zero().is_known());
    }

    #[test]
    fn quantiles_lie_between_the_order_statistics_of_the_tables() {
        let sample = |n: u32| Sample::new((1..=n).map(f64::from).collect());
        // Ranks for the median at 95 %: Conover, Practical Nonparametric Statistics, 3rd edition, table A3 and section 3.2.
        assert_eq!(sample(10).quantile_interval(0.5, 0.95), Some((2.0, 9.0)));
        assert_eq!(sample(20).quantile_interval(0.5, 0.95), Some((6.0, 15.0)));
        assert_eq!(sample(5).quantile_interval(0.5, 0.95), None);
        assert_eq!(sample(50).quantile_interval(0.99, 0.95), None);
    }

    #[test]
    fn an_interval_is_as_wide_as_its_formula() {
        let interval = Sample::new(vec![1.0, 2.0, 3.0, 4.0, 5.0]).interval(0.95);
        let half = 2.776_445 * 2.5f64.sqrt() / 5f64.sqrt();
        assert!((interval.high - 3.0 - half).abs() < 1e-5 && (interval.half_width() - half).abs() < 1e-5);
        assert!(!interval.has_zero());
    }

    #[test]
    fn skewness_is_that_of_its_formula() {
        let sample = Sample::new(vec![1.0, 2.0, 3.0, 4.0, 15.0]);
        // Third central moment 180 by deviations of 26 to the power of 1.5, and 25 / 12 of the population's correction.
        let biased = 180.0 / (26.0 * 26.0f64.sqrt());
        let adjusted = 20.0f64.sqrt() / 3.0 * biased;
        assert!((sample.skewness() - adjusted).abs() < 1e-12, "{}", sample.skewness());
        assert_eq!((Sample::new(vec![1.0, 9.0]).skewness(), Sample::new(vec![2.0; 9]).skewness()), (0.0, 0.0));
        // Five observations have to be very lopsided for it to be more than chance.
        assert!(!Sample::new(vec![1.0, 2.0, 3.0, 4.0, 9.0]).is_lopsided() && sample.is_lopsided());
    }

    #[test]
    fn the_interval_of_what_is_skewed_ends_where_the_transformation_says() {
        let sample = Sample::new((1..=12).map(|k| f64::from(1 << k)).collect());
        let (mean, error) = (sample.mean(), sample.deviation() / 12f64.sqrt());
        let found = sample.interval_if_skewed(0.95);
        let g = |t: f64| {
            let (of, root) = (sample.skewness(), 12f64.sqrt());
            t + of * t * t / (3.0 * root) + of * of * t * t * t / (27.0 * 12.0) + of / (6.0 * root)
        };
        let quantile = student_t_quantile(0.975, 11.0);
        assert!((g((mean - found.low) / error) - quantile).abs() < 1e-9);
        assert!((g((mean - found.high) / error) + quantile).abs() < 1e-9);
        let even = Sample::new((1..=12).map(f64::from).collect());
        assert_eq!(even.interval_if_skewed(0.95), even.interval(0.95));
    }

    #[test]
    fn a_quantile_has_an_interval_from_so_many_observations_on() {
        let has = |n: usize| Sample::new((0..n).map(|x| x as f64).collect()).quantile_interval(0.99, 0.95).is_some();
        let least = observations_for_quantile(0.99, 0.95);
        assert_eq!((least, has(least - 1), has(least)), (368, false, true));
        assert_eq!(observations_for_quantile(0.5, 0.95), 6);
    }

    #[test]
    fn a_coin_falls_so() {
        let close = |better: usize, worse: usize, expected: f64| {
            assert!((binomial_at_most(worse, better + worse, 0.5) - expected).abs() < 1e-12);
        };
        close(6, 0, 1.0 / 64.0);
        close(4, 1, 6.0 / 32.0);
        close(0, 0, 1.0);
        close(0, 3, 1.0);
    }
}
