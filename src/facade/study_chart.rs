//! The numbers that the charts of a study show, from its results.

use crate::report::{StudyChart, SurrogateCurve, WorkloadCurve};
use crate::study::{Interval, LeftUndone, Results, Slice, Statistic, Tuning, WorkloadChoice};

/// Those of a sweep, or of `tune` if something is recommended.
pub(super) fn of(results: &Results, tuning: Option<&Tuning>) -> StudyChart {
    let mut chart = StudyChart { title: results.study.clone(), baseline: results.baseline, ..StudyChart::default() };
    let last_seed = results.first_seed + u64::from(results.replications.max(1)) - 1;
    chart.caption = format!("{} · seeds {} to {last_seed}", results.study, results.first_seed);
    let (front, unavailability) = (results.front(), results.unavailability());
    let mean = |of: &Statistic| shown(of.interval.mean);
    let (bad, needless) = (results.of_metric(unavailability.metric()), results.of_metric("needless_evictions"));
    let label = |variant: usize| with_runs(results.variants[variant].join(" "), results.runs_if_set_aside(variant));
    chart.labels = (0..results.variants.len()).map(label).collect();
    chart.values.clone_from(&results.variants);
    chart.costs = results.judged().iter().map(|of| drawn(of.interval)).collect();
    chart.trade_offs = bad.iter().map(mean).zip(needless.iter().map(mean)).collect();
    chart.is_on_front = (0..results.variants.len()).map(|variant| front.contains(&variant)).collect();
    // Of runs with weights a share is not that of all runs.
    let recoveries = |of: &Statistic| if results.is_weighted() { Vec::new() } else { of.sample.sorted().to_vec() };
    chart.recoveries = results.of_metric("longest_gap_s").iter().map(recoveries).collect();
    chart.undone = undone(results);
    chart.missed = results.missed();
    chart.is_mixture = results.nobody_meets();
    chart.axes = results.axes.join(", ");
    chart.best = results.comparison().map(|comparison| comparison.best);
    chart.searched = results.slices().into_iter().filter(|slice| slice.is_range).map(searched).collect();
    chart.unavailability = unavailability.unit().to_owned();
    chart.value = if results.prices.is_empty() { "unready replica-seconds" } else { "cost" }.to_owned();
    chart.figure = results.cost_by.name();
    if let Some(tuning) = tuning {
        chart.workloads = tuning.workloads.iter().map(|choice| curve(results, choice)).collect();
        chart.best = tuning.recommended_variant();
        chart.is_mixture = chart.best.is_none();
    }
    chart
}

/// The metrics of what each variant leaves undone, if it is ruled out for that.
fn undone(results: &Results) -> Vec<String> {
    let name = |left: &Vec<LeftUndone>| left.iter().map(|of| of.metric).collect::<Vec<_>>().join(" ");
    let left = results.left_undone();
    if results.allows_undone { vec![String::new(); left.len()] } else { left.iter().map(name).collect() }
}

/// Variants of which a part has no run stand at zero.
fn shown(mean: f64) -> f64 {
    if mean.is_nan() { 0.0 } else { mean }
}

/// Mean, low and high; an end that is not known is drawn at the mean.
fn drawn(interval: Interval) -> (f64, f64, f64) {
    let mean = shown(interval.mean);
    let end = |value: f64| if value.is_finite() { value } else { mean };
    (mean, end(interval.low), end(interval.high))
}

/// What was set aside says on how few runs it stands.
fn with_runs(label: String, runs: Option<u32>) -> String {
    runs.map_or_else(|| label.clone(), |runs| format!("{label} ({runs} runs)"))
}

fn curve(results: &Results, choice: &WorkloadChoice) -> WorkloadCurve {
    let value = |value: &String| choice.values.iter().position(|of| of.value == *value);
    WorkloadCurve {
        workload: choice.workload.clone(),
        axis: results.axes[choice.axis()].clone(),
        labels: choice.values.iter().map(|of| with_runs(of.value.clone(), of.runs)).collect(),
        costs: choice.values.iter().map(|of| drawn(of.cost)).collect(),
        best: value(&choice.recommended),
        today: choice.cost_today.mean,
        is_ruled_out: choice.values.iter().map(|of| of.ruled_out).collect(),
    }
}

fn searched(slice: Slice) -> SurrogateCurve {
    SurrogateCurve {
        along: slice.along,
        at: slice.at,
        labels: slice.labels,
        places: slice.places,
        predicted: slice.differences.into_iter().map(drawn).collect(),
        best: slice.observed[slice.best].is_some().then_some(slice.best),
        observed: slice.observed,
    }
}
