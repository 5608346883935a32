//! `diff`: what changed from one run to another.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use comfy_table::{CellAlignment, Table};

use super::failure::Failure;
use super::ui::Ui;
use super::{Ending, Output};
use crate::inspect::{self, Diff, Difference};

/// Workloads that are listed.
const LISTED_MAX: usize = 15;

/// Compare two runs: their metrics, and the outcome of each workload
#[derive(Args, Debug)]
pub(super) struct DiffArgs {
    /// The run to start from
    #[arg(value_name = "RUN_DIR")]
    before: PathBuf,
    /// The run to compare with it
    #[arg(value_name = "RUN_DIR")]
    after: PathBuf,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn diff(arguments: &DiffArgs, ui: &Ui) -> Result<Ending, Failure> {
    let found = inspect::diff(&arguments.before, &arguments.after)?;
    match arguments.output {
        Output::Text => ui.out(&text(&found))?,
        Output::Json => ui.json(&found)?,
    }
    Ok(Ending::Done)
}

fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(whole) if whole.fract() == 0.0 => format!("{whole:.0}"),
        Some(value) if value.abs() < 1.0 => format!("{value:.4}"),
        Some(value) => format!("{value:.1}"),
    }
}

fn change(difference: &Difference) -> String {
    let (Some(before), Some(after)) = (difference.before, difference.after) else { return String::new() };
    let sign = if after > before { "+" } else { "" };
    format!("{sign}{}", number(Some(after - before)))
}

fn text(found: &Diff) -> String {
    if found.metrics.is_empty() && found.workloads.is_empty() {
        return "The runs came out alike.\n".to_owned();
    }
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["", "FIRST", "SECOND", "CHANGE"]);
    for metric in &found.metrics {
        table.add_row([metric.metric.clone(), number(metric.before), number(metric.after), change(metric)]);
    }
    for workload in found.workloads.iter().take(LISTED_MAX) {
        table.add_row([workload.workload.clone()]);
        for of in &workload.numbers {
            table.add_row([format!("  {}", of.metric), number(of.before), number(of.after), change(of)]);
        }
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = format!("{}\n", table.trim_fmt());
    if let Some(rest @ 1..) = found.workloads.len().checked_sub(LISTED_MAX) {
        let _ = writeln!(text, "and {rest} more workloads");
    }
    text
}
