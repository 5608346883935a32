//! What the runs of a study say together.
//!
//! Everything follows from the description of the study and its runs, so that parts played on several machines give, when
//! they are merged, what one machine would have given.

use serde::{Deserialize, Serialize};

use super::cost_by::CostBy;
use super::definition::Study;
use super::estimate::{Estimate, Series};
use super::inputs::InputResults;
use super::metrics::{COST, INDIFFERENCE, UNREADY, WORKLOAD_METRICS, metric_names};
use super::rare::Sampling;
use super::requirement::Requirement;
use super::run::RunRow;
use super::search::Record;
use super::shard::Shard;
use super::statistics::Interval;
use super::tuning::Selection;

/// The confidence of every interval.
pub(super) const CONFIDENCE: f64 = 0.95;

/// A study with the runs that are over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Name of the study.
    pub study: String,
    /// Its file, as it was given, an absolute path by its name alone; none if it was no file, or parts were given by several names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
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
    /// Runs of each variant, once all parts are together; of contenders, where only these were played on.
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
    /// How runs were given to variants where only contenders were played on; none if all have as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// How ranges were searched; none if every variant of a grid was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Record>,
    /// Position of the variant that others are compared with.
    pub baseline: usize,
    /// Prices by metric; none if nothing has one.
    pub prices: Vec<(String, f64)>,
    /// Workloads whose `tolerationSeconds` are varied, and the position of the axis that does.
    pub tuned: Vec<(String, usize)>,
    /// Whether a variant may be recommended that leaves undone what the baseline gets done.
    #[serde(default)]
    pub allows_undone: bool,
    /// Whether failures come at random, so that runs may differ much from all that were seen.
    #[serde(default)]
    pub is_chancy: bool,
    /// Who saves a smaller share than this of what the baseline costs gains nothing that is worth a change.
    #[serde(default = "indifference")]
    pub indifference: f64,
    /// What the costs of a variant's runs are summed up by.
    #[serde(default, skip_serializing_if = "CostBy::is_mean")]
    pub cost_by: CostBy,
    /// What a share of all runs has to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
    /// Whether a variant changes how soon a lost node is found: what the API shows tells nothing of losses that nobody has found yet.
    #[serde(default)]
    pub varies_detection: bool,
    /// How long a run of each variant lasts, in seconds, where they differ; else empty. Sums over different lengths do not compare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lengths_s: Vec<f64>,
    /// What the study looks for that is rare, and how its runs are drawn; none if failures come as often as they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rare: Option<Sampling>,
    /// What was played with inputs that were fitted to records drawn anew; none if the study does not ask what its records leave open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<InputResults>,
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
impl Results {
    /// The results of a study so far.
    #[must_use]
    pub fn new(study: &Study, shard: Shard, replications: u32, looks: u32, rows: Vec<RunRow>) -> Self {
        let mut results = Self {
            study: study.name.clone(),
            file: study.file.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            fingerprint: format!("{:016x}", study.fingerprint()),
            shard,
            axes: study.axes.iter().map(|axis| axis.name.clone()).collect(),
            levels: study.axes.iter().map(|axis| axis.labels.clone()).collect(),
            variants: study.variants.iter().map(|variant| variant.labels.clone()).collect(),
            replications,
            first_seed: study.first_seed,
            is_antithetic: study.is_antithetic,
            looks,
            precision: None,
            selection: None,
            search: None,
            baseline: study.baseline,
            prices: study.prices.iter().map(|(name, price)| ((*name).to_owned(), *price)).collect(),
            tuned: study.tuned.clone(),
            allows_undone: study.allows_undone,
            is_chancy: study.is_chancy(),
            indifference: study.indifference,
            cost_by: study.cost_by,
            requirements: study.requirements.clone(),
            varies_detection: study.varies_detection,
            lengths_s: study.lengths_s(),
            rare: None,
            inputs: study.inputs.as_ref().map(|inputs| InputResults::of(inputs, study.variants.len())),
            runs: Vec::new(),
        };
        // A journal may also hold runs of what was recommended, and costs at earlier prices.
        let in_results = |row: RunRow| Some(RunRow { variant: study.variant_numbered(row.variant)?, ..row });
        let mut rows: Vec<RunRow> = rows.into_iter().filter_map(in_results).collect();
        rows.iter_mut().for_each(|row| row.price(&study.prices));
        if let Some(inputs) = &mut results.inputs {
            let of_inputs = rows.extract_if(.., |row| row.is_of_input()).collect::<Vec<_>>();
            inputs.take(of_inputs, None);
        }
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
        self.series(variant, |run| run.metrics[metric])
    }

    /// Observations of a metric of a tuned workload, by replication.
    pub(super) fn of_workload(&self, variant: usize, workload: usize, metric: usize) -> Series {
        let at = workload * WORKLOAD_METRICS.len() + metric;
        self.series(variant, |run| run.workloads[at])
    }

    /// The total cost, by replication.
    pub(super) fn costs(&self, variant: usize) -> Series {
        self.observations(variant, metric_names().len() - 1)
    }

    /// How means are estimated at the study's confidence.
    pub(super) fn estimate(&self) -> Estimate {
        self.estimate_at(self.confidence())
    }

    /// Whether runs of two variants last as long, so that sums over them compare.
    #[must_use]
    pub fn compares(&self, one: usize, other: usize) -> bool {
        self.lengths_s.get(one) == self.lengths_s.get(other)
    }

    /// Whether a saving is worth a change of what costs so much today.
    pub(super) fn matters(&self, difference: Interval, cost_today: f64) -> bool {
        -difference.mean >= self.indifference * cost_today.abs()
    }

    pub(super) fn estimate_at(&self, confidence: f64) -> Estimate {
        Estimate::of_seen(self.is_antithetic, confidence)
    }

    /// The metric that variants are compared by: the cost, or what the API shows as not ready if nothing has a price.
    #[must_use]
    pub fn decisive(&self) -> &'static str {
        decisive(self.prices.is_empty())
    }

    /// The seed of a replication.
    pub(super) fn seed(&self, replication: u32) -> u64 {
        seed_of(self.first_seed, self.is_antithetic, replication)
    }

    /// Puts parts of one study together.
    ///
    /// # Errors
    ///
    /// If they are not parts of one study, not all of them, or not complete.
    pub fn merge(parts: Vec<Self>) -> Result<Self, String> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next().ok_or("there is nothing to merge")?;
        let count = whole.shard.count();
        let mut seen = vec![whole.shard.index()];
        let mut all_runs = std::mem::take(&mut whole.runs);
        for mut part in parts {
            let (allows_undone, of_part) = (part.allows_undone && whole.allows_undone, std::mem::take(&mut part.runs));
            let same = |of: &Self| Self { shard: Shard::WHOLE, file: None, allows_undone, ..of.clone() };
            let is_of_it = same(&part) == same(&whole);
            if !is_of_it || part.shard.count() != count {
                return Err(format!("`{}` and `{}` are not parts of one study", whole.study, part.study));
            }
            if seen.contains(&part.shard.index()) {
                return Err(format!("part {} is there twice", part.shard));
            }
            seen.push(part.shard.index());
            whole.allows_undone = allows_undone;
            whole.file = whole.file.filter(|file| part.file.as_ref() == Some(file));
            for (runs, more) in all_runs.iter_mut().zip(of_part) {
                runs.extend(more);
            }
        }
        if let Some(missing) = (1..=count).find(|index| !seen.contains(index)) {
            return Err(format!("part {missing}/{count} is missing"));
        }
        let rows: Vec<RunRow> = all_runs.into_iter().flatten().collect();
        let (found, wanted) = (rows.len(), whole.variants.len() * whole.replications as usize);
        whole.set_runs(rows);
        if found != wanted || whole.run_count() != wanted {
            return Err(format!("the parts have {found} runs together, the study has {wanted}"));
        }
        whole.shard = Shard::WHOLE;
        Ok(whole)
    }
}

/// What was meant before studies could say it.
fn indifference() -> f64 {
    INDIFFERENCE
}

/// The metric that variants are compared by, if nothing has a price, or something.
pub(super) fn decisive(is_unpriced: bool) -> &'static str {
    if is_unpriced { UNREADY } else { COST }
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
#[cfg(test)]
pub(super) mod tests {
    use super::super::comparison::Unavailability;
    use super::super::statistics::Sample;
    use super::*;

    pub(in crate::study) fn results(costs: &[&[f64]]) -> Results {
        let cost_at = metric_names().len() - 1;
        let run = |variant: usize, replication: usize, cost: f64| {
            let mut metrics = vec![0.0; cost_at + 1];
            metrics[cost_at] = cost;
            RunRow {
                variant,
                replication: replication as u32,
                metrics: metrics.into(),
                workloads: Box::default(),
                weight: 1.0,
                figures: Box::default(),
                exposures: Box::default(),
            }
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
            selection: None,
            search: None,
            tuned: Vec::new(),
            file: None,
            fingerprint: "f".into(),
            shard: Shard::WHOLE,
            axes: vec!["x".into()],
            variants: (0..costs.len()).map(|index| vec![index.to_string()]).collect(),
            replications: costs[0].len() as u32,
            first_seed: 0,
            baseline: 0,
            allows_undone: false,
            is_chancy: false,
            indifference: indifference(),
            cost_by: CostBy::Mean,
            requirements: Vec::new(),
            varies_detection: false,
            lengths_s: Vec::new(),
            rare: None,
            inputs: None,
            prices: vec![("evictions".into(), 1.0)],
            runs: Vec::new(),
        };
        results.set_runs(runs);
        results
    }

    /// Gives the runs of a variant these values of a metric.
    pub(in crate::study) fn with_metric(results: &mut Results, variant: usize, metric: &str, values: &[f64]) {
        let at = metric_names().iter().position(|name| *name == metric).expect("a metric");
        for (run, value) in results.runs[variant].iter_mut().zip(values) {
            run.metrics[at] = *value;
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
        assert_eq!(last, format!("2,2,cost,0{}", ",".repeat(21)));
        assert_eq!(header.split(',').count(), last.split(',').count());
        assert_eq!(part.front(), [0, 1]);
        // What the baseline has not played cannot be compared.
        part.runs[0].clear();
        let of_second = part.variants_csv().lines().filter(|row| row.starts_with("1,1,cost,")).collect::<String>();
        assert!(of_second.ends_with(",,,,false,false,,,") && of_second.starts_with("1,1,cost,2,3.5,"), "{of_second}");
    }

    #[test]
    fn the_99th_percentile_has_an_interval_or_it_is_said_why_not() {
        let costs: Vec<f64> = (0..400).map(f64::from).collect();
        let found = results(&[&costs, &costs]);
        let row = found.variants_csv().lines().filter(|row| row.starts_with("0,0,cost,")).collect::<String>();
        let (low, high) = Sample::new(costs.clone()).quantile_interval(0.99, 0.95).expect("enough");
        assert!(row.ends_with(&format!(",,{low},{high}")), "{row}");
        assert!(!found.summary_json(None, None).contains("percentile"));
        let few = results(&[&costs[..200], &costs[..200]]).summary_json(None, None);
        assert!(few.contains("the 99th percentile has no interval: 200 runs are too few, 368 would do"), "{few}");
    }

    #[test]
    fn the_front_is_what_nothing_is_told_to_beat() {
        let noise = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];
        let mut found = results(&[&noise, &noise, &noise]);
        let unready = [noise.map(|x| 10.0 + x), noise.map(|x| 10.05 - x), noise.map(|x| 20.0 + x)];
        let front = |found: &mut Results, needless: [[f64; 8]; 3]| {
            for (variant, (unready, needless)) in unready.iter().zip(&needless).enumerate() {
                with_metric(found, variant, "unready_replica_s", unready);
                with_metric(found, variant, "needless_evictions", needless);
            }
            found.front()
        };
        // The second differs by chance alone, the third is worse in one and not better in the other.
        assert_eq!(front(&mut found, [[3.0; 8], [3.0; 8], [3.0; 8]]), [0, 1]);
        assert_eq!(front(&mut found, [[3.0; 8], [3.0; 8], [2.0; 8]]), [0, 1, 2]);
        // Better by what makes no difference is no better.
        assert_eq!(front(&mut found, [[300.0; 8], [300.0; 8], [299.0; 8]]), [0, 1]);
        found.indifference = 0.0;
        assert_eq!(front(&mut found, [[300.0; 8], [300.0; 8], [299.0; 8]]), [0, 1, 2]);
    }

    #[test]
    fn where_detection_varies_the_front_goes_by_lost_traffic() {
        let mut found = results(&[&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]]);
        // Who finds losses late sees few pods missing, and loses more.
        with_metric(&mut found, 0, "unready_replica_s", &[90.0, 91.0, 92.0]);
        with_metric(&mut found, 1, "unready_replica_s", &[10.0, 11.0, 12.0]);
        assert_eq!(found.front(), [1]);
        found.varies_detection = true;
        assert_eq!((found.unavailability(), found.front()), (Unavailability::Unready, vec![1]));
        with_metric(&mut found, 0, "lost_traffic_s", &[5.0, 6.0, 7.0]);
        with_metric(&mut found, 1, "lost_traffic_s", &[50.0, 61.0, 70.0]);
        assert_eq!((found.unavailability(), found.front()), (Unavailability::LostTraffic, vec![0]));
        let summary: serde_json::Value = serde_json::from_str(&found.summary_json(None, None)).expect("JSON");
        assert_eq!(summary["front_by"][0], "lost_traffic_s");
        let said = summary["verdict"].to_string();
        assert!(said.contains("seconds of lost traffic (not unready replica-seconds, as variants differ"), "{said}");
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
            part.shard = Shard::new(index, 2).expect("a part");
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
