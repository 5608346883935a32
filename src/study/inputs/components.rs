//! What of a spread is chance of the runs, and what is that of the inputs.

use super::super::statistics::{Sample, student_t_quantile};

/// How far means of a figure are spread from input to input, and how much of that is noise.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::study) struct Components {
    /// The mean of each input.
    means: Vec<f64>,
    /// The mean of all.
    mean: f64,
    /// The variance of the means as they are.
    seen: f64,
    /// What of it is noise, as so few runs of an input leave it.
    noise: f64,
}

impl Components {
    /// Of values by input and replication, each with chance of its own. None of fewer than two of either.
    ///
    /// # Source
    ///
    /// The analysis of variance of one random effect: Searle, Casella and McCulloch, Variance Components, chapter 3. Inputs do not share
    /// their chance, though means of theirs would then lie closer together: how much a figure moves with its input is itself a matter of
    /// chance, which no number of inputs would average out.
    pub(in crate::study) fn of(values: &[Vec<f64>]) -> Option<Self> {
        let (inputs, runs) = (values.len(), values.first().map_or(0, Vec::len));
        if inputs < 2 || runs < 2 || values.iter().any(|of| of.len() != runs) {
            return None;
        }
        let (b, r) = (inputs as f64, runs as f64);
        let sum = |of: &mut dyn Iterator<Item = f64>| of.fold(0.0, |sum, value| sum + value);
        let means: Vec<f64> = values.iter().map(|of| sum(&mut of.iter().copied()) / r).collect();
        let mean = sum(&mut means.iter().copied()) / b;
        let seen = sum(&mut means.iter().map(|of| (of - mean) * (of - mean))) / (b - 1.0);
        let residual = |(of, mean): (&Vec<f64>, &f64)| sum(&mut of.iter().map(|value| (value - mean) * (value - mean)));
        let squares = sum(&mut values.iter().zip(&means).map(residual));
        Some(Self { noise: squares / (b * (r - 1.0)) / r, means, mean, seen })
    }

    /// How many inputs there are.
    pub(in crate::study) fn len(&self) -> usize {
        self.means.len()
    }

    /// The mean of all inputs.
    pub(in crate::study) fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation that inputs make, noise taken out; 0 if there is no more than noise.
    pub(in crate::study) fn deviation(&self) -> f64 {
        (self.seen - self.noise).max(0.0).sqrt()
    }

    /// Whether there is more than noise, at 95 %.
    pub(in crate::study) fn is_told(&self) -> bool {
        self.seen / self.spread_by(NORMAL_95) > self.noise
    }

    /// By how much more than the true one a variance of as many normal means comes out at that normal quantile.
    ///
    /// # Source
    ///
    /// Wilson and Hilferty, The distribution of chi-square, Proceedings of the National Academy of Sciences 17 (1931).
    fn spread_by(&self, quantile: f64) -> f64 {
        let part = 2.0 / (9.0 * (self.len() - 1) as f64);
        let root = 1.0 - part + quantile * part.sqrt();
        root * root * root
    }

    /// How far the mean may lie below and above what it is with the inputs as they were fitted: the quantiles of the inputs' means, drawn
    /// together by the share that is noise, as far as that is told. What is not told to be noise counts as the inputs'.
    ///
    /// # Source
    ///
    /// The percentile bootstrap: Barton, Nelson and Xie, Quantifying input uncertainty via simulation confidence intervals, INFORMS Journal
    /// on Computing 26 (2014).
    pub(in crate::study) fn reach(&self, confidence: f64) -> (f64, f64) {
        if self.seen == 0.0 {
            return (0.0, 0.0);
        }
        let most = self.seen / self.spread_by(-NORMAL_95) - self.noise;
        let share = (most.max(0.0) / self.seen).min(1.0).sqrt();
        let (low, high) = self.quantiles(confidence);
        (share * (self.mean - low).max(0.0), share * (high - self.mean).max(0.0))
    }

    /// Between which two values the mean of a further input lies with that confidence. Beyond the outermost the spread goes on as Student's.
    fn quantiles(&self, confidence: f64) -> (f64, f64) {
        let sample = Sample::new(self.means.clone());
        let (n, tail) = (self.len() as f64, (1.0 - confidence) / 2.0);
        // Each gap between two means, and beyond the last ones, has the next one with the same probability.
        let told = tail.max(1.0 / (n + 1.0));
        let at = |share: f64| sample.quantile((share * (n + 1.0) - 1.0) / (n - 1.0));
        let t = |tail: f64| student_t_quantile(1.0 - tail, n - 1.0);
        let further = if tail < told { t(tail) / t(told) } else { 1.0 };
        let from = |end: f64| self.mean + further * (end - self.mean);
        (from(at(told)), from(at(1.0 - told)))
    }

    /// With how many inputs the figure is below zero: means of which so much noise is taken out that they are spread as inputs are.
    ///
    /// # Source
    ///
    /// Louis, Estimating a population of parameter values using Bayes and empirical Bayes methods, Journal of the American Statistical
    /// Association 79 (1984).
    fn below_zero(&self) -> usize {
        let share = if self.seen > 0.0 { self.deviation() / self.seen.sqrt() } else { 0.0 };
        self.means.iter().filter(|of| self.mean + share * (**of - self.mean) < 0.0).count()
    }

    /// The same; none where it is not told that inputs make any difference: all may then be drawn onto one mean.
    pub(in crate::study) fn told_below_zero(&self) -> Option<usize> {
        self.is_told().then(|| self.below_zero())
    }
}

/// What 95 % of normal numbers do not exceed.
const NORMAL_95: f64 = 1.644_853_626_951_472_2;

#[cfg(test)]
mod tests {
    use super::super::super::coverage::normal;
    use super::*;
    use crate::engine::{Stream, Streams};

    /// Inputs of that deviation, and runs of that noise.
    fn drawn(inputs: usize, runs: usize, (of_inputs, noise): (f64, f64), stream: &mut Stream) -> Components {
        let values: Vec<Vec<f64>> = (0..inputs)
            .map(|_| {
                let of_input = 10.0 + of_inputs * normal(stream);
                (0..runs).map(|_| of_input + noise * normal(stream)).collect()
            })
            .collect();
        Components::of(&values).expect("a grid")
    }

    #[test]
    fn what_inputs_make_is_told_from_noise_without_bias() {
        let mut stream = Streams::new(1).stream("components", "");
        for (of_inputs, noise) in [(2.0, 1.0), (0.5, 2.0)] {
            let found: Vec<Components> = (0..400).map(|_| drawn(40, 5, (of_inputs, noise), &mut stream)).collect();
            let mean = found.iter().map(|of| of.seen - of.noise).sum::<f64>() / 400.0;
            let within = 4.0 * (2.0_f64 / 39.0).sqrt() * (of_inputs * of_inputs + noise * noise / 5.0) / 20.0;
            assert!((mean - of_inputs * of_inputs).abs() < within, "{mean}, not {}", of_inputs * of_inputs);
        }
    }

    #[test]
    fn noise_alone_is_seldom_told_to_be_the_inputs() {
        let mut stream = Streams::new(2).stream("components", "");
        let told = (0..1000).filter(|_| drawn(40, 5, (0.0, 1.0), &mut stream).is_told()).count();
        assert!((20..=90).contains(&told), "{told}");
        let told = (0..100).filter(|_| drawn(40, 5, (1.0, 1.0), &mut stream).is_told()).count();
        assert!(told > 95, "{told}");
    }

    #[test]
    fn quantiles_hold_the_next_input_and_counts_are_those_of_inputs_without_noise() {
        let mut stream = Streams::new(3).stream("components", "");
        for (inputs, confidence) in [(100, 0.95), (20, 0.95), (100, 0.995)] {
            let held = (0..4000).filter(|_| {
                let of = drawn(inputs, 2, (1.0, 0.0), &mut stream);
                let (low, high) = of.quantiles(confidence);
                (low..=high).contains(&(10.0 + normal(&mut stream)))
            });
            let share = held.count() as f64 / 4000.0;
            assert!((share - confidence).abs() < 0.015, "{inputs}: {share}");
        }
        // A tenth of inputs is below zero; with the noise left in it would be a third.
        let below: usize = (0..50).map(|_| drawn(100, 5, (7.8, 45.0), &mut stream).below_zero()).sum();
        assert!((300..900).contains(&below), "{below} of 5000");
    }

    #[test]
    fn inputs_are_counted_only_where_they_are_told_to_differ() {
        // Means of noise alone: some of them are below zero.
        let noise =
            Components::of(&[vec![-3.0, 2.0], vec![3.0, -1.0], vec![-2.0, 3.0], vec![2.0, -3.0]]).expect("a grid");
        assert_eq!((noise.deviation(), noise.told_below_zero()), (0.0, None));
        let told =
            Components::of(&[vec![-3.0, -3.1], vec![3.0, 3.1], vec![-2.0, -2.1], vec![2.0, 2.1]]).expect("a grid");
        assert_eq!(told.told_below_zero(), Some(2));
    }

    #[test]
    fn where_nothing_differs_nothing_is_left_open() {
        let of = Components::of(&vec![vec![3.0, 3.0]; 20]).expect("a grid");
        assert_eq!(
            (of.deviation(), of.reach(0.95), of.is_told(), of.told_below_zero()),
            (0.0, (0.0, 0.0), false, None)
        );
        assert!(Components::of(&[vec![1.0, 2.0]]).is_none() && Components::of(&vec![vec![1.0]; 20]).is_none());
        assert!(Components::of(&[vec![1.0, 2.0], vec![1.0]]).is_none());
    }
}
