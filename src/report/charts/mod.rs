//! The charts of a run, one file a chart, drawn from the CSVs of its directory.

mod forecast;
mod lines;
mod plot;
mod sensitivity;
mod study;
mod style;
mod surrogate;
mod survival_matrix;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

pub use forecast::{ForecastBar, ForecastChart, draw_forecast_charts};
pub use sensitivity::{EffectPoint, SensitivityChart, draw_sensitivity_charts};
pub use study::{StudyChart, WorkloadCurve, draw_study_charts};
pub use surrogate::SurrogateCurve;
pub use survival_matrix::{SURVIVAL_COLUMNS_MAX, SurvivalCell, SurvivalChart, draw_survival_matrix};

use super::run_tables::RunTables;
use super::table::{Table, maybe_number, number, text};
use super::tables::TableError;
use crate::observe::{KUBECTL_KIND, SCENARIO, reason};
use style::{Fault, Span};

/// The tables that charts read.
#[derive(Debug)]
struct Tables {
    nodes: Arc<Table>,
    pods: Arc<Table>,
    disruptions: Arc<Table>,
    workloads: Arc<Table>,
    cluster: Arc<Table>,
    zones: Arc<Table>,
    /// When something was broken.
    faults: Vec<Span>,
    /// What, and when, in the order in which it began.
    named_faults: Vec<Fault>,
    /// What operators and procedures did, and nodes that were added by plan.
    lines: Vec<Fault>,
    inventory: Arc<Table>,
    /// Of which run a chart is.
    caption: String,
    /// Workloads as `kind/namespace/name`, in the order of the summary, and whether they were ever short.
    worst_first: Vec<(String, bool)>,
    /// Length of the run in seconds.
    end_s: f64,
    /// The run beside what was seen, and what the summary says of it, if it was held against that.
    agreement: Option<(Arc<Table>, Value)>,
}

/// What charts read of each table.
const EVENTS: &[&str] = &["time_s", "component", "reason", "kind", "name", "message"];
const FAULTS: &[&str] = &["name", "began_s", "ended_s"];
const INVENTORY: &[&str] = &["node", "zone", "pool"];
const NODES: &[&str] = &["time_s", "node", "ready", "unschedulable", "taints"];
const PODS: &[&str] = &["deletion_s", "gone_s", "deletion_cause", "taken_away"];
const DISRUPTIONS: &[&str] = &["taken_away", "outcome", "lost_s", "replacement_scheduled_s", "replacement_ready_s"];
const WORKLOADS: &[&str] = &["time_s", "namespace", "kind", "name", "desired", "ready"];
const CLUSTER: &[&str] =
    &["time_s", "pods_running", "pods_ready", "pods_pending", "pods_terminating", "evictions", "preemptions"];
const AGREEMENT: &[&str] = &["observed_s", "played_s", "verdict", "fact", "name"];
const ZONES: &[&str] = &[
    "time_s",
    "zone",
    "requested_cpu_milli",
    "requested_memory_bytes",
    "requested_pods",
    "allocatable_cpu_milli",
    "allocatable_memory_bytes",
    "allocatable_pods",
];

impl Tables {
    fn read(run: &RunTables) -> Result<Self, TableError> {
        let table = |name: &str, columns: &[&str]| run.read(name, columns).cloned();
        let summary = run.summary();
        let cluster = table("cluster.csv", CLUSTER)?;
        let at = cluster.column("time_s");
        let end_s = cluster.rows().last().map_or(1.0, |row| number(row, at)).max(1.0);
        let events = table("events.csv", EVENTS)?;
        let hits = table("faults.csv", FAULTS)?;
        let named_faults = faults(&events, &hits, end_s);
        let spans = named_faults.iter().map(|fault| fault.span).collect();
        Ok(Self {
            nodes: table("nodes.csv", NODES)?,
            pods: table("pods.csv", PODS)?,
            disruptions: table("disruptions.csv", DISRUPTIONS)?,
            workloads: table("workloads.csv", WORKLOADS)?,
            zones: table("zones.csv", ZONES)?,
            cluster,
            faults: style::merged(spans),
            named_faults,
            lines: lines_of(&events),
            inventory: table("inventory.csv", INVENTORY)?,
            caption: caption(summary),
            worst_first: worst_first(summary),
            end_s,
            agreement: match summary.get("agreement") {
                Some(agreement) => Some((table("agreement.csv", AGREEMENT)?, agreement.clone())),
                None => None,
            },
        })
    }
}

/// The workloads of `summary.json`, so that pictures and tables name the same ones first.
fn worst_first(summary: &Value) -> Vec<(String, bool)> {
    let all = summary["workloads"].as_array().into_iter().flatten();
    let named = all.map(|workload| {
        let text = |field: &str| workload[field].as_str().unwrap_or_default();
        let number = |field: &str| workload[field].as_f64().unwrap_or_default();
        let name = format!("{}/{}/{}", text("kind").to_ascii_lowercase(), text("namespace"), text("name"));
        (name, number("below_desired_s") > 0.0 || number("ready") < number("desired"))
    });
    named.collect()
}

/// The scenario and the seed of a run.
fn caption(summary: &Value) -> String {
    format!("{} · seed {}", summary["scenario"].as_str().unwrap_or_default(), summary["seed"])
}

/// What was done by intent, by the events of the scenario and of procedures.
fn lines_of(events: &Table) -> Vec<Fault> {
    let (at, component, kind) = (events.column("time_s"), events.column("component"), events.column("kind"));
    let (reason, message) = (events.column("reason"), events.column("message"));
    let rows = events.rows().filter(|row| match (text(row, component), text(row, kind)) {
        ("kubectl", _) => false,
        (_, KUBECTL_KIND) => text(row, reason) == reason::KUBECTL,
        (SCENARIO, _) => text(row, reason) == reason::ADD_NODES,
        _ => false,
    });
    let line = |row| {
        let at_s = number(row, at);
        Fault { span: Span { from_s: at_s, to_s: at_s }, name: text(row, message).to_owned() }
    };
    rows.map(line).collect()
}

/// When something was broken: a fault of machines from its first one's beginning until it is over on the last; others as the
/// scenario's own events say.
fn faults(events: &Table, hits: &Table, end_s: f64) -> Vec<Fault> {
    let (at, component) = (events.column("time_s"), events.column("component"));
    let (reason, name, message) = (events.column("reason"), events.column("name"), events.column("message"));
    let mut by_name: BTreeMap<&str, Vec<Fault>> = BTreeMap::new();
    for row in events.rows().filter(|row| text(row, component) == SCENARIO) {
        let of_name = by_name.entry(text(row, name)).or_default();
        match text(row, reason) {
            reason::FAULT_BEGAN => {
                let span = Span { from_s: number(row, at), to_s: end_s };
                of_name.push(Fault { span, name: text(row, message).to_owned() });
            }
            reason::FAULT_ENDED => {
                let mut open = of_name.iter_mut().filter(|fault| fault.span.to_s == end_s);
                if let Some(fault) = open.next() {
                    fault.span.to_s = number(row, at);
                }
            }
            _ => {}
        }
    }
    let mut of_machines: BTreeMap<(&str, usize), f64> = BTreeMap::new();
    let [name, began, ended] = ["name", "began_s", "ended_s"].map(|column| hits.column(column));
    for row in hits.rows() {
        let began_s = number(row, began);
        let of_name = by_name.get(text(row, name)).map_or(&[][..], Vec::as_slice);
        if let Some(index) = of_name.iter().rposition(|fault| fault.span.from_s <= began_s) {
            let to_s = of_machines.entry((text(row, name), index)).or_insert(began_s);
            *to_s = to_s.max(maybe_number(row, ended).unwrap_or(end_s));
        }
    }
    let over = |name: &str, index: usize| of_machines.get(&(name, index)).copied();
    let mut faults: Vec<Fault> = Vec::new();
    for (name, of_name) in &by_name {
        faults.extend(of_name.iter().enumerate().map(|(index, fault)| {
            let to_s = over(name, index).unwrap_or(fault.span.to_s);
            Fault { span: Span { to_s, ..fault.span }, name: fault.name.clone() }
        }));
    }
    faults.sort_by(|a, b| a.span.from_s.total_cmp(&b.span.from_s));
    faults
}

/// A chart: its file, and how it is drawn. `None` if the run has nothing to show there, and then why; empty if nobody would look for it.
struct Chart {
    file: &'static str,
    draw: fn(&Tables) -> Option<String>,
    otherwise: &'static str,
}

macro_rules! charts {
    ($($module:ident::$chart:ident)*) => {
        $(mod $module;)*

        const CHARTS: &[Chart] = &[$($module::$chart,)*];
    };
}

// One line a chart, in the order of a report.
charts! {
    node_heatmap::CHART
    ready_replicas::CHART
    evictions::CHART
    latency_ecdf::CHART
    utilization::CHART
    agreement::CHART
}

/// The file of every chart of runs, studies and plans.
pub(super) fn files() -> impl Iterator<Item = &'static str> {
    let of_runs = CHARTS.iter().map(|chart| chart.file);
    of_runs
        .chain(study::CHARTS.iter().map(|chart| chart.0))
        .chain([survival_matrix::FILE])
        .chain(forecast::FILES)
        .chain(sensitivity::FILES)
}

/// The charts of a run.
#[derive(Debug)]
pub struct DrawnCharts {
    /// File name and SVG text.
    pub drawn: Vec<(&'static str, String)>,
    /// The files of charts for which the run has nothing to show, and why.
    pub left_out: Vec<(&'static str, &'static str)>,
}

/// Draws every chart of a run.
///
/// # Errors
///
/// If one of the files is missing or damaged: nothing is drawn from a part of a run.
pub fn draw_run_charts(run: &RunTables) -> Result<DrawnCharts, TableError> {
    let tables = Tables::read(run)?;
    let mut charts = DrawnCharts { drawn: Vec::new(), left_out: Vec::new() };
    for chart in CHARTS {
        match (chart.draw)(&tables) {
            Some(picture) => charts.drawn.push((chart.file, picture)),
            None if chart.otherwise.is_empty() => {}
            None => charts.left_out.push((chart.file, chart.otherwise)),
        }
    }
    Ok(charts)
}
