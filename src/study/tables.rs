//! The tables of a study: what its runs gave, as files, and read back.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use super::break_even::BreakEven;
use super::confirmation::Confirmation;
use super::estimate::Series;
use super::inputs::{InputUncertainty, Uncertain, number_of, place_of, seed_place};
use super::metrics::{COST, WORKLOAD_METRICS, metric_names};
use super::requirement::{AVAILABILITY, Kept, Place, Requirement, figures};
use super::results::Results;
use super::run::RunRow;
use super::statistics::{Interval, Sample};
use super::told::Teller;
use super::tuning::Tuning;
use super::undone::{LeftUndone, reason};
use crate::observe::{Cells, Row};
use crate::report::{
    self, InputRow, InputRunRow, MetricRow, RareEventRow, RequirementRow, SurrogateRow, TuningRow, UncertainCells,
    WorkloadRunRow, named_table_text, write_named_table,
};

/// One metric of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Its name.
    pub metric: Cow<'static, str>,
    /// Its observations.
    pub sample: Sample,
    /// Mean and interval.
    pub interval: Interval,
    /// The difference to the baseline, run by run.
    pub difference: Interval,
}

/// Metrics that runs which go wrong do not raise: what is there and what is paid for it.
const NO_HARM: [&str; 7] =
    ["events", "pods_ready_min", "pods_ready_end", "nodes_ready_min", "nodes_ready_end", "replica_h", "node_h"];

/// Whether a metric is the higher the more goes wrong, so that runs which nobody has seen may raise its mean.
fn is_harm(metric: &str) -> bool {
    !NO_HARM.contains(&metric) && metric.split(' ').next() != Some(AVAILABILITY)
}

/// All metrics of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantStatistics {
    /// Position of the variant.
    pub variant: usize,
    /// In the order of [`metric_names`]; behind them figures that are none and of which something is
    /// required, and what variants are judged by if that is no mean.
    pub metrics: Vec<Statistic>,
}
impl Results {
    /// Statistics of one metric, by variant.
    ///
    /// # Panics
    ///
    /// If no metric, and no figure of which the study requires something, has that name.
    #[must_use]
    pub fn of_metric(&self, metric: &str) -> Vec<Statistic> {
        let place = Place::of(&self.requirements, metric).expect("a metric of ours");
        let column = |variant: usize| self.series(variant, |run| place.in_run(run));
        let columns: Vec<Series> = (0..self.variants.len()).map(column).collect();
        let estimate = self.estimate();
        let is_priced = metric != COST || !self.prices.is_empty();
        let estimate = match is_harm(metric) && is_priced {
            true => estimate.with_unseen(&columns, self.is_chancy),
            false => estimate,
        };
        let difference = |variant: usize| match self.compares(variant, self.baseline) {
            true => estimate.between(&columns, variant, self.baseline),
            false => Interval::unknown(),
        };
        let of = |variant: usize| Statistic {
            metric: Cow::Owned(metric.to_owned()),
            sample: Sample::new(columns[variant].iter().map(|(_, value)| *value).collect()),
            interval: estimate.mean(&columns[variant]),
            difference: difference(variant),
        };
        (0..columns.len()).map(of).collect()
    }

    /// Statistics of what variants are judged by: of the decisive metric, or of the figure that stands for bad runs.
    #[must_use]
    pub fn judged(&self) -> Vec<Statistic> {
        let Some(figure) = self.cost_by.column() else { return self.of_metric(self.decisive()) };
        let columns: Vec<Series> = (0..self.variants.len()).map(|variant| self.costs(variant)).collect();
        let estimate = self.cost_estimate().with_unseen(&columns, self.is_chancy);
        let difference = |variant: usize| match self.compares(variant, self.baseline) {
            true => estimate.between(&columns, variant, self.baseline),
            false => Interval::unknown(),
        };
        let of = |variant: usize| Statistic {
            metric: Cow::Owned(figure.clone()),
            sample: Sample::new(columns[variant].iter().map(|(_, value)| *value).collect()),
            interval: estimate.mean(&columns[variant]),
            difference: difference(variant),
        };
        (0..columns.len()).map(of).collect()
    }

    /// Statistics of every variant.
    pub fn statistics(&self) -> impl Iterator<Item = VariantStatistics> {
        let empty = |variant| VariantStatistics { variant, metrics: Vec::new() };
        let mut all: Vec<VariantStatistics> = (0..self.variants.len()).map(empty).collect();
        let names = metric_names().into_iter().map(str::to_owned).chain(figures(&self.requirements));
        for name in names {
            for (of, statistic) in all.iter_mut().zip(self.of_metric(&name)) {
                of.metrics.push(statistic);
            }
        }
        if !self.cost_by.is_mean() {
            all.iter_mut().zip(self.judged()).for_each(|(of, judged)| of.metrics.push(judged));
        }
        all.into_iter()
    }

    /// Writes `runs.csv`.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_runs(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let rows = self.runs_with_values().map(|(run, values)| report::RunRow {
            variant: run.variant,
            values: values.to_vec(),
            replication: run.replication,
            seed: self.seed(run.replication),
            metrics: run.metrics.to_vec(),
            weight: if self.is_weighted() { vec![run.weight] } else { Vec::new() },
            figures: run.figures.to_vec(),
        });
        let weight: &[&str] = if self.is_weighted() { &["weight"] } else { &[] };
        let figures = figures(&self.requirements);
        let figures: Vec<&str> = figures.iter().map(String::as_str).collect();
        write_named_table::<report::RunRow>(out, &[&self.axis_names(), &metric_names(), weight, &figures], rows)
    }

    /// `rare-events.csv`; none of a study that does not look for any.
    #[must_use]
    pub fn rare_events_csv(&self) -> Option<String> {
        let event = self.rare.as_ref()?.event.to_string();
        let numbers = |of: Interval| [of.mean, of.low, of.high];
        let rows = self.rare_estimates()?.into_iter().map(|of| RareEventRow {
            variant: of.variant,
            values: self.variants[of.variant].clone(),
            event: event.clone(),
            n: of.n,
            hits: of.hits,
            probability: numbers(of.probability),
            per_year: numbers(of.per_year),
            effective_runs: of.effective_runs,
            plain_runs: of.plain_runs.unwrap_or(f64::NAN),
            is_told: of.is_told,
            difference: numbers(of.difference),
        });
        let text = named_table_text::<RareEventRow>(&[&self.axis_names()], rows);
        Some(String::from_utf8(text).expect("cells are text"))
    }

    /// Writes `workloads.csv`: the same for each workload whose `tolerationSeconds` are varied.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_workloads(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let rows = self.runs_with_values().flat_map(|(run, values)| {
            let workloads = self.tuned.iter().zip(run.workloads.chunks(WORKLOAD_METRICS.len()));
            workloads.map(move |((workload, _), metrics)| WorkloadRunRow {
                variant: run.variant,
                values: values.to_vec(),
                replication: run.replication,
                workload: workload.to_string(),
                metrics: metrics.to_vec(),
            })
        });
        write_named_table::<WorkloadRunRow>(out, &[&self.axis_names(), &WORKLOAD_METRICS], rows)
    }

    /// Writes `input-runs.csv`, if the study asks what its records leave open.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_input_runs(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let count = self.inputs.as_ref().map_or(0, |inputs| inputs.count);
        let runs = self.inputs.iter().flat_map(|inputs| inputs.runs.iter().zip(&self.variants));
        let rows = runs.flat_map(|(runs, values)| {
            runs.iter().map(move |run| {
                let (input, replication) = place_of(run.replication).unwrap_or_default();
                InputRunRow {
                    variant: run.variant,
                    values: values.clone(),
                    input,
                    replication,
                    seed: self.seed(seed_place(count, input, replication)),
                    metrics: run.metrics.to_vec(),
                    figures: run.figures.to_vec(),
                }
            })
        });
        let figures = figures(&self.requirements);
        let figures: Vec<&str> = figures.iter().map(String::as_str).collect();
        write_named_table::<InputRunRow>(out, &[&self.axis_names(), &metric_names(), &figures], rows)
    }

    /// `inputs.csv`; none of a study that does not ask what its records leave open.
    #[must_use]
    pub fn inputs_csv(&self) -> Option<String> {
        let replications = self.inputs.as_ref()?.replications;
        let cells = |of: Uncertain| UncertainCells {
            interval: [of.interval.mean, of.interval.low, of.interval.high],
            runs: of.runs,
            records: of.records,
            share: of.share().unwrap_or(f64::NAN),
            told: Some(of.told),
        };
        let row = |metric: &str, of: InputUncertainty| InputRow {
            variant: of.variant,
            values: self.variants[of.variant].clone(),
            metric: metric.to_owned(),
            inputs: of.inputs,
            replications,
            figure: cells(of.figure),
            mean_of_inputs: of.mean_of_inputs,
            difference: of.difference.map_or(UncertainCells::NONE, cells),
            lower_with: of.lower_with.map(|count| count as i64),
        };
        let names = metric_names().into_iter().map(str::to_owned).chain(figures(&self.requirements));
        let mut rows: Vec<InputRow> = names
            .flat_map(|name| self.input_uncertainty(&name).into_iter().flatten().map(move |of| (name.clone(), of)))
            .map(|(name, of)| row(&name, of))
            .collect();
        // By variant, its metrics in their order, as in `variants.csv`.
        rows.sort_by_key(|row| row.variant);
        let text = named_table_text::<InputRow>(&[&self.axis_names()], rows);
        Some(String::from_utf8(text).expect("cells are text"))
    }

    /// Rows of each table: one that has others was cut.
    fn row_counts(&self, tuning: Option<&Tuning>) -> BTreeMap<&'static str, usize> {
        let runs = self.run_count();
        let besides = figures(&self.requirements).len() + usize::from(!self.cost_by.is_mean());
        let metrics = metric_names().len() + besides;
        let mut rows = BTreeMap::from([
            (report::RunRow::TABLE.file, runs),
            (MetricRow::TABLE.file, self.variants.len() * metrics),
        ]);
        if !self.tuned.is_empty() {
            rows.insert(WorkloadRunRow::TABLE.file, runs * self.tuned.len());
        }
        if self.requires() {
            rows.insert(RequirementRow::TABLE.file, self.variants.len() * self.requirements.len());
        }
        if self.is_weighted() {
            rows.insert(RareEventRow::TABLE.file, self.variants.len());
        }
        if let Some(inputs) = &self.inputs {
            let besides = usize::from(!self.cost_by.is_mean());
            rows.insert(InputRow::TABLE.file, self.variants.len() * (metrics - besides));
            rows.insert(InputRunRow::TABLE.file, inputs.runs.iter().map(Vec::len).sum());
        }
        if let Some(tuning) = tuning {
            rows.insert(TuningRow::TABLE.file, tuning.row_count());
        }
        if self.search.is_some() {
            let rows_of_all = self.levels.iter().map(Vec::len).sum();
            rows.insert(SurrogateRow::TABLE.file, rows_of_all);
        }
        rows
    }

    fn axis_names(&self) -> Vec<&str> {
        self.axes.iter().map(String::as_str).collect()
    }

    fn runs_with_values(&self) -> impl Iterator<Item = (&RunRow, &[String])> {
        let variants = self.runs.iter().zip(&self.variants);
        variants.flat_map(|(runs, values)| runs.iter().map(|run| (run, &values[..])))
    }

    /// Reads `runs.csv` and `workloads.csv` back; says what is wrong if they are not those of these results.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    pub fn read_runs(&mut self, runs: &str, workloads: &str) -> Result<(), String> {
        let (axes, metrics) = (self.axes.len(), metric_names().len());
        let columns =
            Columns { axes, metrics, weights: self.is_weighted().into(), figures: figures(&self.requirements).len() };
        let mut rows = read_rows::<report::RunRow>(runs, columns).ok_or("its runs.csv is broken")?;
        let columns = Columns { axes, metrics: WORKLOAD_METRICS.len(), weights: 0, figures: 0 };
        let of_workloads = read_rows::<WorkloadRunRow>(workloads, columns);
        let mut of_workloads = of_workloads.ok_or("its workloads.csv is broken")?.into_iter();
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

    /// Reads `input-runs.csv` back, if the study asks what its records leave open; says what is wrong if it is not that of these results.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn read_input_runs(&mut self, text: &str) -> Result<(), String> {
        let broken = || "its input-runs.csv is broken".to_owned();
        let columns = Columns {
            axes: self.axes.len(),
            metrics: metric_names().len(),
            weights: 0,
            figures: figures(&self.requirements).len(),
        };
        let variants = self.variants.len();
        let Some(inputs) = &mut self.inputs else { return Ok(()) };
        let rows = read_rows::<InputRunRow>(text, columns).ok_or_else(broken)?;
        let count = rows.len();
        inputs.runs = vec![Vec::new(); variants];
        inputs.take(rows, None);
        let is_whole = inputs.runs.iter().all(|runs| inputs.is_whole(runs));
        if is_whole && inputs.runs.iter().map(Vec::len).sum::<usize>() == count { Ok(()) } else { Err(broken()) }
    }

    /// What each variant leaves undone and is told to miss, where that rules it out, as a cell of a table; else empty.
    pub(crate) fn reasons_ruled_out(&self) -> Vec<String> {
        let of = |(left, missed): (Vec<LeftUndone>, Vec<String>)| {
            let undone = if self.allows_undone { String::new() } else { reason(&left) };
            [vec![undone], missed].concat().into_iter().filter(|of| !of.is_empty()).collect::<Vec<_>>().join(" ")
        };
        self.left_undone().into_iter().zip(self.missed()).map(of).collect()
    }

    /// `requirements.csv`; none of a study that requires nothing.
    #[must_use]
    pub fn requirements_csv(&self) -> Option<String> {
        let kept = self.requirements.iter().zip(self.requirements_kept());
        let row = |one: &Requirement, kept: Kept| RequirementRow {
            variant: kept.variant,
            values: self.variants[kept.variant].clone(),
            requirement: one.label(),
            probability: one.probability,
            n: kept.judged.n,
            kept: kept.judged.kept,
            share: [kept.judged.share_at_least, kept.judged.share_at_most],
            standing: kept.judged.standing.as_str(),
            runs_needed: kept.judged.runs_needed.map(|runs| runs as i64),
        };
        let rows = kept.flat_map(|(one, of)| of.into_iter().map(move |kept| row(one, kept)).collect::<Vec<_>>());
        let text = named_table_text::<RequirementRow>(&[&self.axis_names()], rows);
        self.requires().then(|| String::from_utf8(text).expect("cells are text"))
    }

    /// `variants.csv`.
    #[must_use]
    pub fn variants_csv(&self) -> String {
        let reasons = self.reasons_ruled_out();
        let kept = self.requirements_kept();
        let labels: Vec<String> = self.requirements.iter().map(Requirement::label).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let standings =
            |variant: usize| kept.iter().map(|of| of[variant].judged.standing.as_str().to_owned()).collect();
        let rows = self.statistics().flat_map(|of| {
            let (values, reason) = (&self.variants[of.variant], &reasons[of.variant]);
            let standings: Vec<String> = standings(of.variant);
            let row = move |statistic: Statistic| {
                let row = metric_row(of.variant, values, &statistic, reason, self.confidence());
                let row = MetricRow { requirements: standings.clone(), ..row };
                let is_alone = self.cost_by.column().is_some_and(|figure| figure == row.metric);
                match is_alone {
                    true => MetricRow { min: f64::NAN, max: f64::NAN, ..without_order(row) },
                    false if self.is_weighted() => without_order(row),
                    false => row,
                }
            };
            of.metrics.into_iter().map(row)
        });
        let text = named_table_text::<MetricRow>(&[&self.axis_names(), &labels], rows);
        String::from_utf8(text).expect("cells are text")
    }

    /// `summary.json`; `tuning` and `confirmation` are `tune`'s.
    #[must_use]
    pub fn summary_json(&self, tuning: Option<&Tuning>, confirmation: Option<&Confirmation>) -> String {
        self.summary_with(tuning, confirmation, &self.break_even(tuning))
    }

    /// The same, where it is known how far the answer rests on prices.
    #[must_use]
    pub(crate) fn summary_with(
        &self,
        tuning: Option<&Tuning>,
        confirmation: Option<&Confirmation>,
        break_even: &[BreakEven],
    ) -> String {
        let (left, is_out) = (self.left_undone(), self.ruled_out());
        let (teller, costs) = (Teller::alone(self), self.of_metric(COST));
        let variants = costs.iter().enumerate().map(|(variant, cost)| {
            serde_json::json!({
                "variant": variant,
                "values": self.variants[variant],
                "n": cost.sample.len(),
                "cost": cost.interval,
                "difference": cost.difference,
                "leaves_undone": left[variant],
                "ruled_out": is_out[variant],
            })
        });
        let mut verdict = teller.verdict(tuning, confirmation);
        verdict.extend(teller.break_even(break_even, tuning.is_some()));
        let mut summary = serde_json::json!({
            "study": self,
            "verdict": verdict,
            "notes": teller.intervals(),
            "variants": variants.collect::<Vec<_>>(),
            "recommendation": self.comparison_of(tuning.and_then(Tuning::recommended_variant)),
            "front": self.front(),
            "front_by": [self.unavailability().metric(), "needless_evictions"],
            "confidence": self.confidence(),
            "rows": self.row_counts(tuning),
        });
        if let Some(figure) = self.cost_by.column() {
            let of =
                |judged: Statistic| serde_json::json!({"figure": judged.interval, "difference": judged.difference});
            let variants: Vec<_> = self.judged().into_iter().map(of).collect();
            let name = self.cost_by.explained();
            summary["judged_by"] = serde_json::json!({"metric": figure, "name": name, "variants": variants});
        }
        if self.requires() {
            let kept = self.requirements.iter().zip(self.requirements_kept());
            let one = |(one, kept): (&Requirement, Vec<Kept>)| serde_json::json!({"label": one.label(), "requires": one.to_string(), "kept": kept});
            summary["requirements"] = kept.map(one).collect();
            summary["requirement_confidence"] = self.requirement_confidence().into();
        }
        if let Some(estimates) = self.rare_estimates() {
            summary["rare_events"] = serde_json::to_value(estimates).expect("plain data");
        }
        if let Some(found) = self.found() {
            summary["search"] = serde_json::to_value(found).expect("plain data");
        }
        if let Some(variants) = self.input_uncertainty(self.decisive()) {
            let (best, recommended) = (self.saving_of_best(tuning), self.saving_of_tuning(tuning, confirmation));
            summary["input_uncertainty"] = serde_json::json!({
                "metric": self.decisive(),
                "variants": variants,
                "recommendation": best,
                "confirmation": recommended,
            });
        }
        if !break_even.is_empty() {
            summary["break_even"] = serde_json::to_value(break_even).expect("plain data");
        }
        if let Some(tuning) = tuning {
            summary["tuning"] = serde_json::to_value(tuning).expect("plain data");
            summary["confirmation"] = serde_json::to_value(confirmation).expect("plain data");
        }
        let mut text = serde_json::to_string_pretty(&summary).expect("results are plain data");
        text.push('\n');
        text
    }
}

/// A statistic as a row; a part of a study may have no run of a variant.
fn metric_row(variant: usize, values: &[String], of: &Statistic, reason: &str, confidence: f64) -> MetricRow {
    let (sample, is_known) = (&of.sample, !of.sample.is_empty());
    let known = |value: &dyn Fn() -> f64| if is_known { value() } else { f64::NAN };
    let interval = |of: Interval| if is_known { [of.mean, of.low, of.high] } else { [f64::NAN; 3] };
    let quantile = |share: f64| match is_known {
        true => {
            let (low, high) = sample.quantile_interval(share, confidence).unwrap_or((f64::NAN, f64::NAN));
            [sample.quantile(share), low, high]
        }
        false => [f64::NAN; 3],
    };
    MetricRow {
        variant,
        values: values.to_vec(),
        metric: of.metric.to_string(),
        n: sample.len(),
        mean: interval(of.interval),
        deviation: known(&|| sample.deviation()),
        min: known(&|| sample.quantile(0.0)),
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        max: known(&|| sample.quantile(1.0)),
        difference: interval(of.difference),
        widened: is_known.then_some(of.interval.widened),
        difference_widened: is_known.then_some(of.difference.widened),
        ruled_out: reason.to_owned(),
        requirements: Vec::new(),
    }
}

/// Of runs with weights neither how much they vary nor which of them lie below another says what all runs do; of a figure of bad runs
/// both stand with the cost.
fn without_order(row: MetricRow) -> MetricRow {
    let unknown = [f64::NAN; 3];
    MetricRow { deviation: f64::NAN, p50: unknown, p90: unknown, p99: unknown, ..row }
}

/// How many columns of a table stand for axes, for metrics, and behind these for weights and other figures.
#[derive(Clone, Copy)]
struct Columns {
    axes: usize,
    metrics: usize,
    weights: usize,
    figures: usize,
}

/// The runs of a table in which each has a row, a column for each axis, and one for each metric, weight and figure at the end.
fn read_rows<R: Row>(text: &str, Columns { axes, metrics, weights, figures }: Columns) -> Option<Vec<RunRow>> {
    let columns = R::TABLE.columns;
    let place = |name: &str| {
        let place = columns.iter().position(|column| column.info.name == name)?;
        let spread = columns[..place].iter().filter(|column| column.info.cells == Cells::Texts).count();
        Some(place - spread + spread * axes)
    };
    let (variant, replication, head) = (place("variant")?, place("replication")?, place("<metric>")?);
    let input = place("input");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.ok()?;
        let values: Option<Vec<f64>> = record.iter().skip(head).map(|cell| cell.parse().ok()).collect();
        let mut values = values.filter(|values| values.len() == metrics + weights + figures)?;
        let figures = values.split_off(metrics + weights).into();
        let weight = values.get(metrics).copied().unwrap_or(1.0);
        values.truncate(metrics);
        let (variant, replication) = (record.get(variant)?.parse().ok()?, record.get(replication)?.parse().ok()?);
        let replication = match input {
            Some(place) => number_of(record.get(place)?.parse().ok()?, replication)?,
            None => replication,
        };
        let (metrics, exposures) = (values.into(), Box::default());
        rows.push(RunRow { variant, replication, metrics, workloads: Box::default(), weight, figures, exposures });
    }
    Some(rows)
}
