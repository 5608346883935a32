//! `diff`: what changed from one run to another.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use comfy_table::{CellAlignment, Table};

use super::failure::Failure;
use super::ui::Ui;
use super::{Ending, Output};
use crate::facade::{Report, expect_place_of_page};
use crate::inspect::{
    Apart, Diff, Difference, Divergence, Happening, Inputs, OnlyInOne, Run, ServiceDifference, Setting,
    WorkloadDifference,
};
use crate::units::{counted, cut, length, moment};

/// Workloads that are listed.
const LISTED_MAX: usize = 15;
/// Workloads that fared worse which are among these at least, if there are as many.
const WORSE_MIN: usize = 5;
/// Services that are listed, and settings that differ.
const SHORT_LIST_MAX: usize = 8;
/// Names that are listed of what only one run has.
const NAMES_MAX: usize = 4;
/// Characters of a value, or of what a table says.
const TEXT_LENGTH_MAX: usize = 160;

/// Compare two runs: what went in, where they first went apart and why, and whose fate changed most
///
/// For example: kubesquall diff reports/zone-outage reports/60s
///
/// Workloads come in the order in which their fates changed: what is short at the end in one run alone first, then by seconds with fewer
/// ready pods than wanted, and than their objectives ask for. Runs that differ are no failure: the exit status is 0.
#[derive(Args, Debug)]
pub(super) struct DiffArgs {
    /// The run to start from
    #[arg(value_name = "RUN_DIR")]
    before: PathBuf,
    /// The run to compare with it
    #[arg(value_name = "RUN_DIR")]
    after: PathBuf,
    /// Write a page of the two as well, on which one scrubber moves both: one file that opens without a network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn diff(arguments: &DiffArgs, ui: &Ui) -> Result<Ending, Failure> {
    if let Some(place) = &arguments.html {
        expect_place_of_page(place)?;
    }
    let (before, after) = (Report::open(&arguments.before)?, Report::open(&arguments.after)?);
    let comparison = before.diff(&after)?;
    if let Some(place) = &arguments.html {
        comparison.write_page(place)?;
        ui.note(format_args!("the page is {}", place.display()));
    }
    match arguments.output {
        Output::Text => ui.out(&text(comparison.found()))?,
        Output::Json => ui.json(comparison.found())?,
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
    let mut text = String::new();
    for (name, run) in ["first", "second"].into_iter().zip(&found.runs) {
        let _ = writeln!(text, "{name:<7} {}", run_line(run));
    }
    text.push('\n');
    for said in &found.verdict {
        let _ = writeln!(text, "{}", said.text);
    }
    write_settings(&mut text, &found.inputs);
    if found.alike {
        return text;
    }
    write_divergence(&mut text, found);
    write_only(&mut text, &found.only);
    write_fates(&mut text, &found.workloads);
    write_traffic(&mut text, &found.services);
    if !found.metrics.is_empty() {
        let _ = writeln!(text, "\n{}", metrics(&found.metrics).trim_fmt());
    }
    text
}

fn run_line(run: &Run) -> String {
    let seed = run.seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
    let overrides = run.overrides.iter().map(|change| format!(", {change}")).collect::<String>();
    format!("{}: {}{seed}, {}{}", run.dir, run.scenario, length(run.duration_s), cut(&overrides, TEXT_LENGTH_MAX))
}

/// The settings that differ.
fn write_settings(text: &mut String, inputs: &Inputs) {
    let Inputs { settings, more, .. } = inputs;
    if settings.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nSettings that differ");
    for setting in settings.iter().take(SHORT_LIST_MAX) {
        let _ = writeln!(text, "  {}", setting_line(setting));
    }
    if let Some(rest @ 1..) = (settings.len() + more).checked_sub(SHORT_LIST_MAX) {
        let _ = writeln!(text, "  and {rest} more: -o json");
    }
}

fn setting_line(setting: &Setting) -> String {
    let side =
        |of: &Option<String>| of.as_ref().map_or_else(|| "(not there)".to_owned(), |of| cut(of, TEXT_LENGTH_MAX));
    format!("{}: {} → {}", setting.place(), side(&setting.before), side(&setting.after))
}

fn write_divergence(text: &mut String, found: &Diff) {
    let Some(Divergence { first, by_more, why }) = &found.divergence else {
        let both = found.runs[0].duration_s.min(found.runs[1].duration_s);
        let _ = writeln!(text, "\nThe same happened in both, up to {}.", moment(both));
        return;
    };
    let _ = writeln!(
        text,
        "\nFirst divergence at {}, because of {}",
        moment(first.at_s),
        cut(&why.text, 2 * TEXT_LENGTH_MAX)
    );
    write_apart(text, first);
    if let Some(more) = by_more.as_ref().filter(|more| more.at_s > first.at_s) {
        let _ = writeln!(text, "By more than a second from {} on", moment(more.at_s));
        write_apart(text, more);
    }
}

/// What each run has there.
fn write_apart(text: &mut String, apart: &Apart) {
    // Two times that a tenth of a second does not tell apart are written to the millisecond.
    let is_close = match (&apart.before, &apart.after) {
        (Some(before), Some(after)) => moment(before.at_s) == moment(after.at_s) && before.at_s != after.at_s,
        _ => false,
    };
    let moment = |at_s: f64| if is_close { format!("{at_s:.3} s") } else { moment(at_s) };
    for (name, side) in [("first", &apart.before), ("second", &apart.after)] {
        let said = match side {
            Some(Happening { at_s, what }) => format!("{:>11}  {}", moment(*at_s), cut(what, TEXT_LENGTH_MAX)),
            None => format!("{:>11}  nothing of the kind while both runs last", ""),
        };
        let _ = writeln!(text, "  {name:<7}{said}");
    }
}

fn write_only(text: &mut String, only: &[OnlyInOne]) {
    if only.is_empty() {
        return;
    }
    text.push('\n');
    for OnlyInOne { kind, before, after } in only {
        for (run, names) in [("first", before), ("second", after)].into_iter().filter(|(_, names)| !names.is_empty()) {
            let listed: Vec<String> = names.iter().take(NAMES_MAX).map(|name| cut(name, TEXT_LENGTH_MAX)).collect();
            let rest = names.len().saturating_sub(NAMES_MAX);
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            let kinds = match *kind {
                "kubectl" => "lines of kubectl".to_owned(),
                kind => format!("{kind}s"),
            };
            let _ = writeln!(text, "only the {run} run has the {kinds} {}{more}", listed.join("; "));
        }
    }
}

/// A table without lines, whose columns but the first stand at the right.
fn table(header: &[&str], right: std::ops::Range<usize>) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(header.iter().copied());
    for column in table.column_iter_mut().take(right.end).skip(right.start) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A length of time that one run has more than the other.
fn more(seconds: f64) -> String {
    match seconds {
        0.0 => "0s".to_owned(),
        less if less < 0.0 => format!("-{}", length(-less)),
        more => format!("+{}", length(more)),
    }
}

/// What became of each workload in the two runs, the largest changes first.
fn write_fates(text: &mut String, workloads: &[WorkloadDifference]) {
    // What only one run has is named above.
    let in_both: Vec<&WorkloadDifference> = workloads.iter().filter(|of| of.worse_s.is_some()).collect();
    let fates: Vec<&WorkloadDifference> = in_both.iter().copied().filter(|of| of.is_felt()).collect();
    if in_both.is_empty() {
        return;
    }
    text.push('\n');
    if !fates.is_empty() {
        let mut table = table(&["SHORT FOR", "FIRST", "SECOND", "CHANGE", ""], 1..4);
        for of in listed(&fates) {
            let short = of.short_s.unwrap_or_default();
            let change = more(short[1] - short[0]);
            table.add_row([of.workload.clone(), length(short[0]), length(short[1]), change, of.notes.join(", ")]);
        }
        let _ = writeln!(text, "{}", table.trim_fmt());
    }
    for (count, shown, what) in [
        (fates.len(), LISTED_MAX, "with other fates"),
        (in_both.len(), fates.len(), "that differ in figures of less weight"),
    ] {
        if let Some(rest @ 1..) = count.checked_sub(shown) {
            let _ = writeln!(text, "and {} {what}: -o json", counted(rest, "workload", "workloads"));
        }
    }
}

/// Those that are listed, in their order: the first, but for what fared worse and would be lost among what fared better.
fn listed<'a>(fates: &[&'a WorkloadDifference]) -> Vec<&'a WorkloadDifference> {
    let is_worse = |of: &WorkloadDifference| of.worse_s.is_some_and(|worse| worse > 0.0);
    let worse: Vec<usize> = (0..fates.len()).filter(|at| is_worse(fates[*at])).take(WORSE_MIN).collect();
    let others = (0..fates.len()).filter(|at| !worse.contains(at)).take(LISTED_MAX - worse.len());
    let mut shown: Vec<usize> = worse.iter().copied().chain(others).collect();
    shown.sort_unstable();
    shown.into_iter().map(|at| fates[at]).collect()
}

fn write_traffic(text: &mut String, services: &[ServiceDifference]) {
    let lost = |of: &'_ ServiceDifference| {
        let number = of.numbers.iter().find(|number| number.metric == "lost_traffic_s")?;
        Some((of.service.clone(), number.before?, number.after?))
    };
    let all: Vec<(String, f64, f64)> = services.iter().filter_map(lost).collect();
    if all.is_empty() {
        return;
    }
    let mut table = table(&["LOST TRAFFIC OF", "FIRST", "SECOND", "CHANGE"], 1..4);
    for (service, before, after) in all.iter().take(SHORT_LIST_MAX) {
        table.add_row([service.clone(), length(*before), length(*after), more(after - before)]);
    }
    let _ = writeln!(text, "\n{}", table.trim_fmt());
    if let Some(rest @ 1..) = all.len().checked_sub(SHORT_LIST_MAX) {
        let _ = writeln!(text, "and {}: -o json", counted(rest, "service", "services"));
    }
}

fn metrics(metrics: &[Difference]) -> Table {
    let mut table = table(&["", "FIRST", "SECOND", "CHANGE"], 1..4);
    for of in metrics {
        table.add_row([of.metric.clone(), number(of.before), number(of.after), change(of)]);
    }
    table
}
