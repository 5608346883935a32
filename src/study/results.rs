//! What the runs of a study say together.
//!
//! Everything follows from the description of the study and its runs, so that parts played on several machines give, when
//! they are merged, what one machine would have given.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::document::Study;
use super::runner::{RunRow, Shard};
use super::statistics::{Interval, Sample};
use super::{COST, metric_names};

/// The confidence of every interval.
pub(super) const CONFIDENCE: f64 = 0.95;

/// A study with the runs that are over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Name of the study.
    pub study: String,
    /// Equal for parts of one study.
    pub fingerprint: String,
    /// Which part this is.
    pub shard: Shard,
    /// Names of what is varied.
    pub axes: Vec<String>,
    /// The values of each variant.
    pub variants: Vec<Vec<String>>,
    /// Runs of each variant, once all parts are together.
    pub replications: u32,
    /// The seed of the first replication.
    pub first_seed: u64,
    /// Position of the variant that others are compared with.
    pub baseline: usize,
    /// Prices by metric; none if nothing has one.
    pub prices: Vec<(String, f64)>,
    /// The runs, by replication and variant.
    #[serde(skip)]
    pub runs: Vec<RunRow>,
}

/// One metric of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Its name.
    pub metric: &'static str,
    /// Its observations.
    pub sample: Sample,
    /// Mean and interval.
    pub interval: Interval,
    /// The difference to the baseline, run by run.
    pub difference: Interval,
}

/// All metrics of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantStatistics {
    /// Position of the variant.
    pub variant: usize,
    /// In the order of [`metric_names`].
    pub metrics: Vec<Statistic>,
}

/// What costs least, and how sure that is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Position of the variant with the lowest mean cost.
    pub best: usize,
    /// Its cost.
    pub cost: Interval,
    /// What it costs more than the baseline, run by run; negative if it saves.
    pub against_baseline: Interval,
    /// The second-lowest mean cost, if there is more than one variant.
    pub runner_up: Option<usize>,
    /// Variants that the data cannot tell from the best one.
    pub alike: Vec<usize>,
}

impl Results {
    /// The results of a study so far.
    #[must_use]
    pub fn new(study: &Study, shard: Shard, replications: u32, runs: Vec<RunRow>) -> Self {
        Self {
            study: study.name.clone(),
            fingerprint: format!("{:016x}", study.fingerprint),
            shard,
            axes: study.axes.iter().map(|axis| axis.name.clone()).collect(),
            variants: study.variants.iter().map(|variant| variant.labels.clone()).collect(),
            replications,
            first_seed: study.first_seed,
            baseline: study.baseline,
            prices: study.prices.iter().map(|(name, price)| ((*name).to_owned(), *price)).collect(),
            runs,
        }
    }

    /// `tolerationSeconds=30, grace=40s`.
    #[must_use]
    pub fn label(&self, variant: usize) -> String {
        let values = self.axes.iter().zip(&self.variants[variant]).map(|(axis, value)| format!("{axis}={value}"));
        values.collect::<Vec<_>>().join(", ")
    }

    /// Observations of a metric, by replication.
    fn observations(&self, variant: usize, metric: usize) -> Vec<(u32, f64)> {
        let runs = self.runs.iter().filter(|run| run.variant == variant);
        runs.map(|run| (run.replication, run.metrics[metric])).collect()
    }

    /// The mean difference of a metric between two variants over the replications that both have.
    fn difference(&self, metric: usize, variant: usize, other: usize, confidence: f64) -> Interval {
        let (ours, theirs) = (self.observations(variant, metric), self.observations(other, metric));
        let mut theirs = theirs.into_iter().peekable();
        let mut differences = Vec::new();
        for (replication, value) in ours {
            while theirs.next_if(|(other, _)| *other < replication).is_some() {}
            if let Some((_, other)) = theirs.next_if(|(other, _)| *other == replication) {
                differences.push(value - other);
            }
        }
        Sample::new(differences).interval(confidence)
    }

    /// Statistics of every variant.
    #[must_use]
    pub fn statistics(&self) -> Vec<VariantStatistics> {
        let of = |variant: usize, (index, metric): (usize, &'static str)| {
            let sample = Sample::new(self.observations(variant, index).into_iter().map(|(_, value)| value).collect());
            let interval = sample.interval(CONFIDENCE);
            let difference = self.difference(index, variant, self.baseline, CONFIDENCE);
            Statistic { metric, sample, interval, difference }
        };
        (0..self.variants.len())
            .map(|variant| {
                let metrics = metric_names().into_iter().enumerate().map(|metric| of(variant, metric)).collect();
                VariantStatistics { variant, metrics }
            })
            .collect()
    }

    /// Which variant costs least; none if nothing has a price or nothing was played.
    ///
    /// # Source
    ///
    /// Paired differences on common random numbers, with Bonferroni's correction for comparing the best with each other
    /// variant: Law, Simulation Modeling and Analysis, chapter 10.
    #[must_use]
    pub fn comparison(&self) -> Option<Comparison> {
        if self.prices.is_empty() || self.runs.is_empty() {
            return None;
        }
        let cost = metric_names().iter().position(|name| *name == COST)?;
        let sample =
            |variant| Sample::new(self.observations(variant, cost).into_iter().map(|(_, value)| value).collect());
        let mut order: Vec<(f64, usize)> =
            (0..self.variants.len()).map(|variant| (sample(variant).mean(), variant)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let best = order.first()?.1;
        let others = (order.len() - 1).max(1) as f64;
        let confidence = 1.0 - (1.0 - CONFIDENCE) / others;
        let alike = order[1..].iter().map(|(_, other)| *other);
        let alike = alike.filter(|&other| self.difference(cost, best, other, confidence).has_zero()).collect();
        Some(Comparison {
            best,
            cost: sample(best).interval(CONFIDENCE),
            against_baseline: self.difference(cost, best, self.baseline, CONFIDENCE),
            runner_up: order.get(1).map(|(_, variant)| *variant),
            alike,
        })
    }

    /// Variants that no other one beats in both unavailability and needless evictions, by mean.
    #[must_use]
    pub fn front(&self) -> Vec<usize> {
        let names = metric_names();
        let mean = |variant: usize, metric: &str| {
            let index = names.iter().position(|name| *name == metric).unwrap_or(0);
            Sample::new(self.observations(variant, index).into_iter().map(|(_, value)| value).collect()).mean()
        };
        let points: Vec<(f64, f64)> = (0..self.variants.len())
            .map(|variant| (mean(variant, "unready_replica_s"), mean(variant, "needless_evictions")))
            .collect();
        let beats = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && a.1 <= b.1 && a != b;
        (0..points.len()).filter(|&one| !points.iter().any(|&other| beats(other, points[one]))).collect()
    }

    /// `runs.csv`.
    #[must_use]
    pub fn runs_csv(&self) -> String {
        let mut text = format!("variant,{},replication,seed,{}\n", quoted(&self.axes), metric_names().join(","));
        for run in &self.runs {
            let seed = self.first_seed.wrapping_add(run.replication.into());
            let _ = write!(text, "{},{},{},{seed}", run.variant, quoted(&self.variants[run.variant]), run.replication);
            for value in &run.metrics {
                let _ = write!(text, ",{value}");
            }
            text.push('\n');
        }
        text
    }

    /// Reads `runs.csv` back; none if it is not one of ours.
    #[must_use]
    pub fn read_runs(text: &str, axis_count: usize) -> Option<Vec<RunRow>> {
        let metric_count = metric_names().len();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.ok()?;
            let metrics: Option<Vec<f64>> = record.iter().skip(axis_count + 3).map(|cell| cell.parse().ok()).collect();
            let metrics = metrics.filter(|metrics| metrics.len() == metric_count)?;
            let variant = record.get(0)?.parse().ok()?;
            rows.push(RunRow { variant, replication: record.get(axis_count + 1)?.parse().ok()?, metrics });
        }
        Some(rows)
    }

    /// `variants.csv`.
    #[must_use]
    pub fn variants_csv(&self) -> String {
        let mut text = format!(
            "variant,{},metric,n,mean,low,high,deviation,min,p50,p90,p99,max,difference,difference_low,difference_high\n",
            quoted(&self.axes)
        );
        for variant in self.statistics() {
            let labels = quoted(&self.variants[variant.variant]);
            for of in variant.metrics {
                let (sample, interval, difference) = (&of.sample, of.interval, of.difference);
                let _ = writeln!(
                    text,
                    "{},{labels},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                    variant.variant,
                    of.metric,
                    sample.len(),
                    interval.mean,
                    interval.low,
                    interval.high,
                    sample.deviation(),
                    sample.quantile(0.0),
                    sample.quantile(0.5),
                    sample.quantile(0.9),
                    sample.quantile(0.99),
                    sample.quantile(1.0),
                    difference.mean,
                    difference.low,
                    difference.high,
                );
            }
        }
        text
    }

    /// `summary.json`.
    #[must_use]
    pub fn summary_json(&self) -> String {
        let variants = self.statistics().into_iter().map(|variant| {
            let cost = variant.metrics.iter().find(|of| of.metric == COST);
            serde_json::json!({
                "variant": variant.variant,
                "values": self.variants[variant.variant],
                "n": cost.map_or(0, |of| of.sample.len()),
                "cost": cost.map(|of| of.interval),
                "difference": cost.map(|of| of.difference),
            })
        });
        let summary = serde_json::json!({
            "study": self,
            "variants": variants.collect::<Vec<_>>(),
            "recommendation": self.comparison(),
            "front": self.front(),
            "confidence": CONFIDENCE,
        });
        let mut text = serde_json::to_string_pretty(&summary).expect("results are plain data");
        text.push('\n');
        text
    }

    /// Puts parts of one study together.
    ///
    /// # Errors
    ///
    /// If they are not parts of one study, or not all of them.
    pub fn merge(parts: Vec<Self>) -> Result<Self, String> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next().ok_or("there is nothing to merge")?;
        let count = whole.shard.count;
        let mut seen = vec![whole.shard.index];
        for part in parts {
            if part.fingerprint != whole.fingerprint || part.shard.count != count {
                return Err("these are not parts of one study".to_owned());
            }
            if seen.contains(&part.shard.index) {
                return Err(format!("part {}/{count} is there twice", part.shard.index));
            }
            seen.push(part.shard.index);
            whole.runs.extend(part.runs);
        }
        if let Some(missing) = (1..=count).find(|index| !seen.contains(index)) {
            return Err(format!("part {missing}/{count} is missing"));
        }
        whole.runs.sort_by_key(|run| (run.replication, run.variant));
        whole.shard = Shard::WHOLE;
        Ok(whole)
    }
}

/// Cells of a CSV line.
fn quoted(cells: &[String]) -> String {
    let cell = |text: &String| {
        if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.clone() }
    };
    cells.iter().map(cell).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(costs: &[&[f64]]) -> Results {
        let cost_at = metric_names().len() - 1;
        let run = |variant: usize, replication: usize, cost: f64| {
            let mut metrics = vec![0.0; cost_at + 1];
            metrics[cost_at] = cost;
            RunRow { variant, replication: replication as u32, metrics }
        };
        let mut runs = Vec::new();
        for replication in 0..costs[0].len() {
            runs.extend(costs.iter().enumerate().map(|(variant, of)| run(variant, replication, of[replication])));
        }
        Results {
            study: "s".into(),
            fingerprint: "f".into(),
            shard: Shard::WHOLE,
            axes: vec!["x".into()],
            variants: (0..costs.len()).map(|index| vec![index.to_string()]).collect(),
            replications: costs[0].len() as u32,
            first_seed: 0,
            baseline: 0,
            prices: vec![("evictions".into(), 1.0)],
            runs,
        }
    }

    #[test]
    fn common_random_numbers_tell_variants_apart_that_means_alone_could_not() {
        let noise = [3.0, 90.0, 41.0, 7.0, 66.0];
        let cheaper: Vec<f64> = noise.iter().enumerate().map(|(index, x)| x - 1.0 - 0.01 * index as f64).collect();
        let comparison = results(&[&noise, &cheaper]).comparison().expect("priced");
        assert_eq!((comparison.best, comparison.alike.as_slice()), (1, &[][..]));
        assert!(comparison.against_baseline.high < 0.0);
    }

    #[test]
    fn what_cannot_be_told_apart_is_said() {
        let comparison = results(&[&[1.0, 2.0, 3.0], &[2.0, 1.0, 3.5]]).comparison().expect("priced");
        assert_eq!((comparison.best, comparison.alike), (0, vec![1]));
    }

    #[test]
    fn merged_parts_are_the_whole() {
        let whole = results(&[&[1.5, 2.0, 0.1 + 0.2], &[4.0, 5.0, 6.0]]);
        let part = |index: u64| {
            let mut part = whole.clone();
            part.shard = Shard { index, count: 2 };
            part.runs.retain(|run| (u64::from(run.replication) * 2 + run.variant as u64) % 2 == index - 1);
            part.runs = Results::read_runs(&part.runs_csv(), 1).expect("ours");
            part
        };
        assert_eq!(Results::merge(vec![part(2), part(1)]), Ok(whole.clone()));
        assert!(Results::merge(vec![part(1), part(1)]).is_err());
        assert!(Results::merge(vec![part(1)]).is_err());
    }
}
