//! The charts of a run, one file a chart, drawn from the CSVs of its directory.

mod evictions;
mod latency_ecdf;
mod lines;
mod node_heatmap;
mod ready_replicas;
mod study;
mod style;
mod survival_matrix;
mod utilization;

use std::path::Path;

pub use study::{StudyChart, WorkloadCurve, draw_study_charts};
pub use survival_matrix::{SURVIVAL_COLUMNS_MAX, SurvivalCell, SurvivalChart, draw_survival_matrix};

use super::tables::{Table, number, text};
use style::{Fault, Span};

/// The tables that charts read.
#[derive(Debug)]
struct Tables {
    nodes: Table,
    pods: Table,
    workloads: Table,
    cluster: Table,
    zones: Table,
    /// When something was broken.
    faults: Vec<Span>,
    /// What, and when, in the order in which it began.
    named_faults: Vec<Fault>,
    /// Workloads as `kind/namespace/name`, in the order of the summary, and whether they were ever short.
    worst_first: Vec<(String, bool)>,
    /// Length of the run in seconds.
    end_s: f64,
}

impl Tables {
    fn read(dir: &Path) -> Self {
        let table = |name: &str| Table::read(&dir.join(name));
        let cluster = table("cluster.csv");
        let at = cluster.column("time_s");
        let end_s = cluster.rows().last().map_or(1.0, |row| number(row, at)).max(1.0);
        let named_faults = faults(&table("events.csv"), end_s);
        let spans = named_faults.iter().map(|fault| fault.span).collect();
        Self {
            nodes: table("nodes.csv"),
            pods: table("pods.csv"),
            workloads: table("workloads.csv"),
            zones: table("zones.csv"),
            cluster,
            faults: style::merged(spans),
            named_faults,
            worst_first: worst_first(dir),
            end_s,
        }
    }
}

/// The workloads of `summary.json`, so that pictures and tables name the same ones first; none if it cannot be read.
fn worst_first(dir: &Path) -> Vec<(String, bool)> {
    let text = std::fs::read_to_string(dir.join("summary.json")).unwrap_or_default();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let all = summary["workloads"].as_array().into_iter().flatten();
    all.map(|workload| {
        let text = |field: &str| workload[field].as_str().unwrap_or_default();
        let number = |field: &str| workload[field].as_f64().unwrap_or_default();
        let name = format!("{}/{}/{}", text("kind").to_ascii_lowercase(), text("namespace"), text("name"));
        (name, number("below_desired_s") > 0.0 || number("ready") < number("desired"))
    })
    .collect()
}

/// When something was broken: from the scenario's own events.
fn faults(events: &Table, end_s: f64) -> Vec<Fault> {
    let (at, component) = (events.column("time_s"), events.column("component"));
    let (reason, name, message) = (events.column("reason"), events.column("name"), events.column("message"));
    let mut open: Vec<(String, f64, String)> = Vec::new();
    let mut faults = Vec::new();
    for row in events.rows().filter(|row| text(row, component) == "scenario") {
        let what = text(row, name).to_owned();
        match text(row, reason) {
            "FaultBegan" => open.push((what, number(row, at), text(row, message).to_owned())),
            "FaultEnded" => {
                if let Some(index) = open.iter().position(|(open, ..)| *open == what) {
                    let (_, from_s, name) = open.remove(index);
                    faults.push(Fault { span: Span { from_s, to_s: number(row, at) }, name });
                }
            }
            _ => {}
        }
    }
    faults.extend(open.into_iter().map(|(_, from_s, name)| Fault { span: Span { from_s, to_s: end_s }, name }));
    faults.sort_by(|a, b| a.span.from_s.total_cmp(&b.span.from_s));
    faults
}

/// A chart: its file, its title, and how it is drawn. `None` if the run has nothing to show there.
struct Chart {
    file: &'static str,
    draw: fn(&Tables) -> Option<String>,
}

const CHARTS: [Chart; 5] = [
    Chart { file: "node-states.svg", draw: node_heatmap::draw },
    Chart { file: "ready-replicas.svg", draw: ready_replicas::draw },
    Chart { file: "evictions-and-pending.svg", draw: evictions::draw },
    Chart { file: "rescheduling-latency.svg", draw: latency_ecdf::draw },
    Chart { file: "utilization-per-zone.svg", draw: utilization::draw },
];

/// Draws every chart from the tables in `dir`: file name and SVG text.
#[must_use]
pub fn draw_charts(dir: &Path) -> Vec<(&'static str, String)> {
    let tables = Tables::read(dir);
    CHARTS.iter().filter_map(|chart| (chart.draw)(&tables).map(|svg| (chart.file, svg))).collect()
}
