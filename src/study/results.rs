//! What the runs of a study say together.
//!
//! Everything follows from the description of the study and its runs, so that parts played on several machines give, when
//! they are merged, what one machine would have given.

use std::fmt::Write as _;
use std::io;

use serde::{Deserialize, Serialize};

use super::document::Study;
use super::runner::{RunRow, Shard};
use super::statistics::{Interval, Sample};
use super::tuning::{Confirmation, Tuning};
use super::{COST, WORKLOAD_METRICS, metric_names};

/// The confidence of every interval.
pub(super) const CONFIDENCE: f64 = 0.95;

/// Among more variants than this, the front goes by means: comparing each with each takes too long.
const FRONT_COMPARED_MAX: usize = 100;

const LOST_TRAFFIC: &str = "lost_traffic_s";
const UNREADY: &str = "unready_replica_s";

/// Observations by replication.
pub(super) type Series = Vec<(u32, f64)>;

/// A study with the runs that are over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Name of the study.
    pub study: String,
    /// Version of kubesquall that played it.
    pub version: String,
    /// Equal for parts of one study.
    pub fingerprint: String,
    /// Which part this is.
    pub shard: Shard,
    /// Names of what is varied.
    pub axes: Vec<String>,
    /// The values of each axis.
    pub levels: Vec<Vec<String>>,
    /// The values of each variant.
    pub variants: Vec<Vec<String>>,
    /// Runs of each variant, once all parts are together.
    pub replications: u32,
    /// The seed of the first replication.
    pub first_seed: u64,
    /// Whether every second replication mirrors the chance of the one before it.
    pub is_antithetic: bool,
    /// How often the results were looked at to decide whether to go on; 0 if the number of runs was fixed before.
    pub looks: u32,
    /// What `--precision` wanted and got; none if the number of runs was fixed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Position of the variant that others are compared with.
    pub baseline: usize,
    /// Prices by metric; none if nothing has one.
    pub prices: Vec<(String, f64)>,
    /// Workloads whose `tolerationSeconds` are varied, and the position of the axis that does.
    pub tuned: Vec<(String, usize)>,
    /// The runs of each variant, by replication.
    #[serde(skip)]
    pub runs: Vec<Vec<RunRow>>,
}

/// How narrow the widest interval was wanted, and how narrow it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// Half of the interval's width as a share of the mean: at most so much.
    pub goal: f64,
    /// Whether every variant has it.
    pub reached: bool,
    /// The widest one's; none if nothing can be said.
    pub width: Option<f64>,
    /// Runs of each variant.
    pub replications: u32,
    /// About how many would do, if these do not and it can be told.
    pub needed: Option<u32>,
    /// How often the results were looked at.
    #[serde(skip)]
    pub looks: u32,
}

impl Precision {
    /// What `replications` runs of each variant gave. Intervals narrow with the square root of the number of runs; `for_normality`
    /// are the runs from which on they can be trusted.
    pub(super) fn new(goal: f64, width: f64, for_normality: f64, replications: u32, looks: u32) -> Self {
        let ratio = width / goal;
        let runs = if width.is_finite() { f64::from(replications) * ratio * ratio } else { for_normality };
        let needed = runs.ceil();
        let reached = width <= goal;
        let is_told = !reached && needed > f64::from(replications) && needed <= f64::from(u32::MAX);
        let needed = is_told.then_some(needed as u32);
        Self { goal, reached, width: width.is_finite().then_some(width), replications, needed, looks }
    }
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
    /// Position of the variant with the lowest mean cost; in `tune`, of the one that is recommended.
    pub best: usize,
    /// Its cost.
    pub cost: Interval,
    /// What it costs more than the baseline, run by run; negative if it saves. Wider than the variant's own difference.
    pub against_baseline: Interval,
    /// The confidence of the latter: of all pairs of variants at once.
    pub confidence: f64,
    /// The second-lowest mean cost, if there is more than one variant.
    pub runner_up: Option<usize>,
    /// Variants that the data cannot tell from the best one.
    pub alike: Vec<usize>,
}

/// Which of several columns of costs is lowest.
pub(super) struct Contest {
    /// By mean, ascending.
    pub(super) order: Vec<usize>,
    /// Columns that cannot be told from the lowest, by mean.
    pub(super) alike: Vec<usize>,
    /// The confidence at which any two are compared.
    pub(super) confidence: f64,
}

impl Results {
    /// The results of a study so far.
    #[must_use]
    pub fn new(study: &Study, shard: Shard, replications: u32, looks: u32, rows: Vec<RunRow>) -> Self {
        let mut results = Self {
            study: study.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            fingerprint: format!("{:016x}", study.fingerprint),
            shard,
            axes: study.axes.iter().map(|axis| axis.name.clone()).collect(),
            levels: study.axes.iter().map(|axis| axis.labels.clone()).collect(),
            variants: study.variants.iter().map(|variant| variant.labels.clone()).collect(),
            replications,
            first_seed: study.first_seed,
            is_antithetic: study.is_antithetic,
            looks,
            precision: None,
            baseline: study.baseline,
            prices: study.prices.iter().map(|(name, price)| ((*name).to_owned(), *price)).collect(),
            tuned: study.tuned.clone(),
            runs: Vec::new(),
        };
        // A journal may also hold runs of what was recommended, and costs at earlier prices.
        let mut rows: Vec<RunRow> = rows.into_iter().filter(|row| row.variant < study.variants.len()).collect();
        rows.iter_mut().for_each(|row| row.price(&study.prices));
        results.set_runs(rows);
        results
    }

    /// Takes in the runs, in any order.
    pub(super) fn set_runs(&mut self, rows: impl IntoIterator<Item = RunRow>) {
        self.runs = vec![Vec::new(); self.variants.len()];
        for row in rows {
            self.runs[row.variant].push(row);
        }
        for runs in &mut self.runs {
            runs.sort_by_key(|row| row.replication);
            runs.dedup_by_key(|row| row.replication);
        }
    }

    /// `tolerationSeconds=30, grace=40s`.
    #[must_use]
    pub fn label(&self, variant: usize) -> String {
        let values = self.axes.iter().zip(&self.variants[variant]).map(|(axis, value)| format!("{axis}={value}"));
        values.collect::<Vec<_>>().join(", ")
    }

    /// How many runs there are.
    #[must_use]
    pub fn run_count(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    /// The confidence of every interval; after looks at the results, what the last of them may spend.
    ///
    /// Whoever stops once an interval is narrow has looked for a narrow one. Look `k` spends a share of 6 / (π k)² of the error,
    /// so that all looks together err no more often than one interval would.
    ///
    /// # Source
    ///
    /// Error spending: Jennison and Turnbull, Group Sequential Methods, chapter 7; the shares add up to one (Euler).
    #[must_use]
    pub fn confidence(&self) -> f64 {
        confidence_of_look(self.looks)
    }

    /// Observations of a metric, by replication.
    pub(super) fn observations(&self, variant: usize, metric: usize) -> Series {
        self.runs[variant].iter().map(|run| (run.replication, run.metrics[metric])).collect()
    }

    /// Observations of a metric of a tuned workload, by replication.
    pub(super) fn of_workload(&self, variant: usize, workload: usize, metric: usize) -> Series {
        let at = workload * WORKLOAD_METRICS.len() + metric;
        self.runs[variant].iter().map(|run| (run.replication, run.workloads[at])).collect()
    }

    /// The total cost, by replication.
    pub(super) fn costs(&self, variant: usize) -> Series {
        self.observations(variant, metric_names().len() - 1)
    }

    /// The mean with its interval. Mirrored runs are no observations of their own: the means of the pairs are.
    pub(super) fn interval(&self, series: &[(u32, f64)], confidence: f64) -> Interval {
        Sample::new(self.independent(series)).interval(confidence)
    }

    /// Observations that have nothing to do with each other.
    pub(super) fn independent(&self, series: &[(u32, f64)]) -> Vec<f64> {
        if !self.is_antithetic {
            return series.iter().map(|(_, value)| *value).collect();
        }
        let pairs = series.chunk_by(|a, b| a.0 / 2 == b.0 / 2).filter(|pair| pair.len() == 2);
        pairs.map(|pair| f64::midpoint(pair[0].1, pair[1].1)).collect()
    }

    /// The mean difference over the replications that both have.
    pub(super) fn difference(&self, ours: &[(u32, f64)], theirs: &[(u32, f64)], confidence: f64) -> Interval {
        self.interval(&combined(ours, theirs, |a, b| a - b), confidence)
    }

    /// The mean of a column with its interval, wider upwards if hardly any run differs from the others: those that nobody has
    /// seen may be as bad as the `worst` of any column.
    pub(super) fn cautious(&self, series: &[(u32, f64)], confidence: f64, worst: f64) -> Interval {
        let interval = self.interval(series, confidence);
        let unseen = Sample::new(self.independent(series)).unseen(worst, confidence);
        Interval { high: interval.high + unseen, ..interval }
    }

    /// The mean difference of two columns of costs, with the same caution on either side.
    pub(super) fn cost_difference(
        &self,
        ours: &[(u32, f64)],
        theirs: &[(u32, f64)],
        confidence: f64,
        worst: f64,
    ) -> Interval {
        let difference = self.difference(ours, theirs, confidence);
        let unseen = |series: &[(u32, f64)]| Sample::new(self.independent(series)).unseen(worst, confidence);
        Interval { low: difference.low - unseen(theirs), high: difference.high + unseen(ours), ..difference }
    }

    /// Compares columns of costs, each with each other.
    ///
    /// # Source
    ///
    /// Paired differences on common random numbers, with Bonferroni's correction for all pairs, so that it also holds for the
    /// column that the data chose: Law, Simulation Modeling and Analysis, sections 10.2 and 10.3.
    pub(super) fn contest(&self, columns: &[Series]) -> Contest {
        let means = columns.iter().map(|column| self.interval(column, CONFIDENCE).mean);
        let mut order: Vec<(f64, usize)> = means.zip(0..).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let order: Vec<usize> = order.into_iter().map(|(_, column)| column).collect();
        let pairs = (columns.len() * columns.len().saturating_sub(1) / 2).max(1) as f64;
        let confidence = 1.0 - (1.0 - self.confidence()) / pairs;
        let worst = worst(columns);
        let is_alike =
            |other: &usize| self.cost_difference(&columns[order[0]], &columns[*other], confidence, worst).has_zero();
        let alike = order.iter().skip(1).copied().filter(is_alike).collect();
        Contest { order, alike, confidence }
    }

    /// Statistics of every variant, worked out as they are asked for.
    pub fn statistics(&self) -> impl Iterator<Item = VariantStatistics> + '_ {
        let names = metric_names();
        let all = |metric: usize| self.runs.iter().flatten().map(move |run| run.metrics[metric]);
        let worst: Vec<f64> = (0..names.len()).map(|metric| all(metric).fold(f64::NEG_INFINITY, f64::max)).collect();
        let of = move |variant: usize, (index, metric): (usize, &'static str)| {
            let (series, confidence) = (self.observations(variant, index), self.confidence());
            let interval = self.cautious(&series, confidence, worst[index]);
            let theirs = self.observations(self.baseline, index);
            let difference = if variant == self.baseline {
                self.difference(&series, &theirs, confidence)
            } else {
                self.cost_difference(&series, &theirs, confidence, worst[index])
            };
            let sample = Sample::new(series.into_iter().map(|(_, value)| value).collect());
            Statistic { metric, sample, interval, difference }
        };
        (0..self.variants.len()).map(move |variant| {
            let metrics = metric_names().into_iter().enumerate().map(|metric| of(variant, metric)).collect();
            VariantStatistics { variant, metrics }
        })
    }

    /// Which variant costs least; none if nothing has a price or nothing was played.
    #[must_use]
    pub fn comparison(&self) -> Option<Comparison> {
        self.comparison_of(None)
    }

    /// How a variant, or the cheapest one, stands against the others.
    fn comparison_of(&self, variant: Option<usize>) -> Option<Comparison> {
        if self.prices.is_empty() || self.runs.iter().any(Vec::is_empty) {
            return None;
        }
        let columns: Vec<Series> = (0..self.variants.len()).map(|variant| self.costs(variant)).collect();
        let contest = self.contest(&columns);
        let (cheapest, worst) = (*contest.order.first()?, worst(&columns));
        let best = variant.unwrap_or(cheapest);
        Some(Comparison {
            best,
            cost: self.cautious(&columns[best], self.confidence(), worst),
            against_baseline: if best == self.baseline {
                self.difference(&columns[best], &columns[best], contest.confidence)
            } else {
                self.cost_difference(&columns[best], &columns[self.baseline], contest.confidence, worst)
            },
            confidence: contest.confidence,
            runner_up: contest.order.iter().copied().find(|other| *other != best),
            alike: contest.alike.into_iter().chain([cheapest]).filter(|other| *other != best).collect(),
        })
    }

    /// What stands for unavailability: lost traffic where that has a price, else what the API shows as not ready.
    #[must_use]
    pub fn unavailability(&self) -> &'static str {
        let is_priced = self.prices.iter().any(|(metric, price)| metric == LOST_TRAFFIC && *price > 0.0);
        if is_priced { LOST_TRAFFIC } else { UNREADY }
    }

    /// Variants that the data do not tell to be beaten in both unavailability and needless evictions by any other one.
    #[must_use]
    pub fn front(&self) -> Vec<usize> {
        let index = |metric: &str| metric_names().iter().position(|name| *name == metric).unwrap_or(0);
        let (bad, needless) = (index(self.unavailability()), index("needless_evictions"));
        let column = |metric: usize| -> Vec<Series> {
            (0..self.variants.len()).map(|variant| self.observations(variant, metric)).collect()
        };
        let (bad, needless) = (column(bad), column(needless));
        if self.variants.len() > FRONT_COMPARED_MAX {
            let mean = |series: &Series| self.interval(series, CONFIDENCE).mean;
            let points: Vec<(f64, f64)> = bad.iter().map(&mean).zip(needless.iter().map(&mean)).collect();
            return front(&points);
        }
        let beats = |one: usize, other: usize| {
            let of = |columns: &[Series]| self.difference(&columns[one], &columns[other], self.confidence());
            let (bad, needless) = (of(&bad), of(&needless));
            bad.high <= 0.0 && needless.high <= 0.0 && (bad.high < 0.0 || needless.high < 0.0)
        };
        let is_beaten = |one: usize| (0..bad.len()).any(|other| other != one && beats(other, one));
        (0..bad.len()).filter(|&one| !bad[one].is_empty() && !is_beaten(one)).collect()
    }

    /// The seed of a replication.
    pub(super) fn seed(&self, replication: u32) -> u64 {
        seed_of(self.first_seed, self.is_antithetic, replication)
    }

    /// Writes `runs.csv`.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_runs(&self, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "variant,{},replication,seed,{}", quoted(&self.axes), metric_names().join(","))?;
        for (runs, labels) in self.runs.iter().zip(&self.variants) {
            let labels = quoted(labels);
            for run in runs {
                write!(out, "{},{labels},{},{}", run.variant, run.replication, self.seed(run.replication))?;
                write_numbers(out, &run.metrics)?;
            }
        }
        Ok(())
    }

    /// Writes `workloads.csv`: the same for each workload whose `tolerationSeconds` are varied.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_workloads(&self, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "variant,{},replication,workload,{}", quoted(&self.axes), WORKLOAD_METRICS.join(","))?;
        for (runs, labels) in self.runs.iter().zip(&self.variants) {
            let labels = quoted(labels);
            for run in runs {
                for ((workload, _), values) in self.tuned.iter().zip(run.workloads.chunks(WORKLOAD_METRICS.len())) {
                    write!(out, "{},{labels},{},{workload}", run.variant, run.replication)?;
                    write_numbers(out, values)?;
                }
            }
        }
        Ok(())
    }

    /// Reads `runs.csv` and `workloads.csv` back; says what is wrong if they are not those of these results.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    pub fn read_runs(&mut self, runs: &str, workloads: &str) -> Result<(), String> {
        let (axes, metrics) = (self.axes.len(), metric_names().len());
        let mut rows = read_rows(runs, axes + 3, metrics).ok_or("its runs.csv is broken")?;
        let mut of_workloads =
            read_rows(workloads, axes + 3, WORKLOAD_METRICS.len()).ok_or("its workloads.csv is broken")?.into_iter();
        for row in &mut rows {
            let mut workloads = Vec::with_capacity(self.tuned.len() * WORKLOAD_METRICS.len());
            for _ in &self.tuned {
                let part = of_workloads
                    .next()
                    .filter(|part| (part.variant, part.replication) == (row.variant, row.replication));
                workloads.extend(part.ok_or("its workloads.csv does not go with its runs.csv")?.metrics);
            }
            row.workloads = workloads.into();
        }
        if rows.iter().any(|row| row.variant >= self.variants.len()) {
            return Err("its runs.csv has variants that the study has not".to_owned());
        }
        let count = rows.len();
        self.set_runs(rows);
        if self.run_count() == count { Ok(()) } else { Err("its runs.csv has a run twice".to_owned()) }
    }

    /// `variants.csv`.
    #[must_use]
    pub fn variants_csv(&self) -> String {
        let mut text = format!(
            "variant,{},metric,n,mean,low,high,deviation,min,p50,p50_low,p50_high,p90,p90_low,p90_high,p99,max,difference,\
             difference_low,difference_high\n",
            quoted(&self.axes)
        );
        let finite = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
        for variant in self.statistics() {
            let labels = quoted(&self.variants[variant.variant]);
            for of in variant.metrics {
                if of.sample.is_empty() {
                    // A part of a study may have no run of a variant.
                    let _ = writeln!(text, "{},{labels},{},0{}", variant.variant, of.metric, ",".repeat(16));
                    continue;
                }
                let (sample, interval, difference) = (&of.sample, of.interval, of.difference);
                let _ = write!(text, "{},{labels},{},{}", variant.variant, of.metric, sample.len());
                for value in [interval.mean, interval.low, interval.high, sample.deviation(), sample.quantile(0.0)] {
                    let _ = write!(text, ",{}", finite(value));
                }
                for share in [0.5, 0.9] {
                    let bounds = sample.quantile_interval(share, self.confidence());
                    let (low, high) = bounds.unwrap_or((f64::NAN, f64::NAN));
                    let _ = write!(text, ",{},{},{}", sample.quantile(share), finite(low), finite(high));
                }
                let rest =
                    [sample.quantile(0.99), sample.quantile(1.0), difference.mean, difference.low, difference.high];
                for value in rest {
                    let _ = write!(text, ",{}", finite(value));
                }
                text.push('\n');
            }
        }
        text
    }

    /// `summary.json`; `tuning` and `confirmation` are `tune`'s.
    #[must_use]
    pub fn summary_json(&self, tuning: Option<&Tuning>, confirmation: Option<&Confirmation>) -> String {
        let variants = self.statistics().map(|variant| {
            let cost = variant.metrics.iter().find(|of| of.metric == COST);
            serde_json::json!({
                "variant": variant.variant,
                "values": self.variants[variant.variant],
                "n": cost.map_or(0, |of| of.sample.len()),
                "cost": cost.map(|of| of.interval),
                "difference": cost.map(|of| of.difference),
            })
        });
        let mut summary = serde_json::json!({
            "study": self,
            "variants": variants.collect::<Vec<_>>(),
            "recommendation": self.comparison_of(tuning.and_then(Tuning::recommended_variant)),
            "front": self.front(),
            "confidence": self.confidence(),
        });
        if let Some(tuning) = tuning {
            summary["tuning"] = serde_json::to_value(tuning).expect("plain data");
            summary["confirmation"] = serde_json::to_value(confirmation).expect("plain data");
        }
        let mut text = serde_json::to_string_pretty(&summary).expect("results are plain data");
        text.push('\n');
        text
    }

    /// Puts parts of one study together.
    ///
    /// # Errors
    ///
    /// If they are not parts of one study, not all of them, or not complete.
    pub fn merge(parts: Vec<Self>) -> Result<Self, String> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next().ok_or("there is nothing to merge")?;
        let count = whole.shard.count;
        let mut seen = vec![whole.shard.index];
        for part in parts {
            let is_of_it = Self { shard: whole.shard, runs: Vec::new(), ..part.clone() }
                == Self { runs: Vec::new(), ..whole.clone() };
            if !is_of_it || part.shard.count != count {
                return Err(format!("`{}` and `{}` are not parts of one study", whole.study, part.study));
            }
            if seen.contains(&part.shard.index) {
                return Err(format!("part {}/{count} is there twice", part.shard.index));
            }
            seen.push(part.shard.index);
            for (runs, more) in whole.runs.iter_mut().zip(part.runs) {
                runs.extend(more);
            }
        }
        if let Some(missing) = (1..=count).find(|index| !seen.contains(index)) {
            return Err(format!("part {missing}/{count} is missing"));
        }
        let rows: Vec<RunRow> = whole.runs.drain(..).flatten().collect();
        let (found, wanted) = (rows.len(), whole.variants.len() * whole.replications as usize);
        whole.set_runs(rows);
        if found != wanted || whole.run_count() != wanted {
            return Err(format!("the parts have {found} runs together, the study has {wanted}"));
        }
        whole.shard = Shard::WHOLE;
        Ok(whole)
    }
}

/// The confidence that look `look` at the results may use; 0 stands for the only one.
pub(super) fn confidence_of_look(look: u32) -> f64 {
    if look == 0 {
        return CONFIDENCE;
    }
    let share = std::f64::consts::PI * f64::from(look);
    1.0 - (1.0 - CONFIDENCE) * 6.0 / (share * share)
}

/// The seed of a replication; two that mirror each other share one.
pub(super) fn seed_of(first: u64, is_antithetic: bool, replication: u32) -> u64 {
    first.wrapping_add(u64::from(if is_antithetic { replication / 2 } else { replication }))
}

/// The highest observation of any column.
pub(super) fn worst(columns: &[Series]) -> f64 {
    columns.iter().flatten().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max)
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

/// Positions of the points that no other one beats in one coordinate without losing in the other.
pub(super) fn front(points: &[(f64, f64)]) -> Vec<usize> {
    let beats = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && a.1 <= b.1 && a != b;
    let is_on_front = |one: (f64, f64)| !one.0.is_nan() && !points.iter().any(|&other| beats(other, one));
    (0..points.len()).filter(|&one| is_on_front(points[one])).collect()
}

/// Rows of a CSV whose first column is the variant, whose replication is `behind` the labels, and whose last cells are numbers.
fn read_rows(text: &str, before: usize, count: usize) -> Option<Vec<RunRow>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.ok()?;
        let metrics: Option<Box<[f64]>> = record.iter().skip(before).map(|cell| cell.parse().ok()).collect();
        let metrics = metrics.filter(|metrics| metrics.len() == count)?;
        let (variant, replication) = (record.get(0)?.parse().ok()?, record.get(before - 2)?.parse().ok()?);
        rows.push(RunRow { variant, replication, metrics, workloads: Box::default() });
    }
    Some(rows)
}

/// The last cells of a CSV line.
fn write_numbers(out: &mut dyn io::Write, values: &[f64]) -> io::Result<()> {
    for value in values {
        write!(out, ",{value}")?;
    }
    writeln!(out)
}

/// Cells of a CSV line.
pub(super) fn quoted(cells: &[String]) -> String {
    let cell = |text: &String| {
        if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.clone() }
    };
    cells.iter().map(cell).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::study) fn results(costs: &[&[f64]]) -> Results {
        let cost_at = metric_names().len() - 1;
        let run = |variant: usize, replication: usize, cost: f64| {
            let mut metrics = vec![0.0; cost_at + 1];
            metrics[cost_at] = cost;
            RunRow { variant, replication: replication as u32, metrics: metrics.into(), workloads: Box::default() }
        };
        let mut runs = Vec::new();
        for replication in 0..costs[0].len() {
            runs.extend(costs.iter().enumerate().map(|(variant, of)| run(variant, replication, of[replication])));
        }
        let mut results = Results {
            study: "s".into(),
            version: "0".into(),
            levels: vec![(0..costs.len()).map(|index| index.to_string()).collect()],
            is_antithetic: false,
            looks: 0,
            precision: None,
            tuned: Vec::new(),
            fingerprint: "f".into(),
            shard: Shard::WHOLE,
            axes: vec!["x".into()],
            variants: (0..costs.len()).map(|index| vec![index.to_string()]).collect(),
            replications: costs[0].len() as u32,
            first_seed: 0,
            baseline: 0,
            prices: vec![("evictions".into(), 1.0)],
            runs: Vec::new(),
        };
        results.set_runs(runs);
        results
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
    fn one_run_each_tells_nothing_apart() {
        let comparison = results(&[&[9.0], &[1.0]]).comparison().expect("priced");
        assert_eq!((comparison.best, comparison.alike), (1, vec![0]));
        assert!(!comparison.against_baseline.is_known());
    }

    #[test]
    fn variants_that_cost_the_same_are_seldom_told_apart() {
        let mut stream = crate::engine::Streams::new(7).stream("ties", "");
        let mut draw = || (0..12).map(|_| stream.unit()).sum::<f64>();
        let wrong = (0..400).filter(|_| {
            let columns: Vec<Vec<f64>> = (0..5).map(|_| (0..20).map(|_| draw()).collect()).collect();
            let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            results(&columns).comparison().expect("priced").alike.len() < 4
        });
        // Five per cent would be 20, with a deviation of 4.4.
        let count = wrong.count();
        assert!(count <= 33, "{count} of 400");
    }

    #[test]
    fn intervals_are_wider_the_more_often_one_has_looked() {
        let mut looked = results(&[&[1.0, 2.0, 3.0, 4.0]]);
        let width = |results: &Results| {
            results.statistics().next().expect("a variant").metrics.last().expect("the cost").interval.half_width()
        };
        let fixed = width(&looked);
        looked.looks = 1;
        let once = width(&looked);
        looked.looks = 3;
        assert!(fixed < once && once < width(&looked));
        // The shares of all looks add up to one.
        let spent: f64 = (1..100_000).map(|look| 1.0 - confidence_of_look(look)).sum();
        assert!((spent - 0.05).abs() < 1e-5, "{spent}");
    }

    #[test]
    fn mirrored_runs_count_as_pairs() {
        let mut pairs = results(&[&[0.0, 10.0, 1.0, 9.0, 2.0, 8.5]]);
        pairs.is_antithetic = true;
        let cost = pairs.statistics().next().expect("a variant").metrics.last().expect("the cost").interval;
        let expected = Sample::new(vec![5.0, 5.0, 5.25]).interval(0.95);
        assert_eq!(cost, expected);
        assert_eq!((0..4).map(|r| pairs.seed(r)).collect::<Vec<_>>(), [0, 0, 1, 1]);
    }

    #[test]
    fn variants_without_runs_have_empty_cells() {
        let mut part = results(&[&[1.0, 2.0], &[3.0, 4.0], &[5.0, 6.0]]);
        part.runs[2].clear();
        part.runs[0].pop();
        let text = part.variants_csv();
        let (header, last) = (text.lines().next().expect("a header"), text.lines().last().expect("a row"));
        assert_eq!(last, format!("2,2,cost,0{}", ",".repeat(16)));
        assert_eq!(header.split(',').count(), last.split(',').count());
        assert_eq!(part.front(), [0, 1]);
        // What the baseline has not played cannot be compared.
        part.runs[0].clear();
        let of_second = part.variants_csv().lines().filter(|row| row.starts_with("1,1,cost,")).collect::<String>();
        assert!(of_second.ends_with(",,,") && of_second.starts_with("1,1,cost,2,3.5,"), "{of_second}");
    }

    #[test]
    fn other_prices_need_no_new_runs() {
        let mut row = RunRow {
            variant: 0,
            replication: 0,
            metrics: vec![1.0; metric_names().len()].into(),
            workloads: vec![2.0; 2 * WORKLOAD_METRICS.len()].into(),
        };
        row.price(&[("evictions", 3.0), ("preemptions", 0.5), ("node_h", 10.0)]);
        assert_eq!(row.metrics.last(), Some(&13.5));
        assert_eq!((row.workloads[0], row.workloads[WORKLOAD_METRICS.len()]), (7.0, 7.0));
        row.price(&[("evictions", 1.0)]);
        assert_eq!((row.metrics.last(), row.workloads[0]), (Some(&1.0), 2.0));
    }

    #[test]
    fn how_many_runs_a_precision_takes_follows_from_the_width() {
        let check = |width: f64, for_normality: f64, expected: (bool, Option<u32>)| {
            let found = Precision::new(0.05, width, for_normality, 100, 3);
            assert_eq!((found.reached, found.needed), expected, "{width}");
        };
        check(0.05, 90.0, (true, None));
        check(0.1, 90.0, (false, Some(400)));
        check(f64::INFINITY, 2300.5, (false, Some(2301)));
        check(f64::INFINITY, 0.0, (false, None));
    }

    #[test]
    fn merged_parts_are_the_whole() {
        let whole = results(&[&[1.5, 2.0, 0.1 + 0.2], &[4.0, 5.0, 6.0]]);
        let part = |index: u64| {
            let mut part = whole.clone();
            part.shard = Shard { index, count: 2 };
            for (variant, runs) in part.runs.iter_mut().enumerate() {
                runs.retain(|run| (u64::from(run.replication) * 2 + variant as u64) % 2 == index - 1);
            }
            let (mut runs, mut workloads) = (Vec::new(), Vec::new());
            part.write_runs(&mut runs).expect("to memory");
            part.write_workloads(&mut workloads).expect("to memory");
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
            part.read_runs(&text(runs), &text(workloads)).expect("ours");
            part
        };
        assert_eq!(Results::merge(vec![part(2), part(1)]), Ok(whole.clone()));
        assert_eq!(Results::merge(vec![part(1), part(1)]), Err("part 1/2 is there twice".to_owned()));
        assert_eq!(Results::merge(vec![part(1)]), Err("part 2/2 is missing".to_owned()));
        let mut short = part(2);
        short.runs[1].pop();
        assert!(Results::merge(vec![part(1), short]).is_err_and(|message| message.contains("runs together")));
        let other = Results { baseline: 1, ..part(2) };
        assert!(Results::merge(vec![part(1), other]).is_err_and(|message| message.contains("not parts of one study")));
    }
}
