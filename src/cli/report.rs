//! `report`: draws the pictures and the page of a finished run, study or plan again.

use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Ending;
use super::failure::Failure;
use super::formats::Formats;
use super::ui::Ui;
use crate::facade::Report;
use crate::model::yaml_text;
use crate::units::counted;

/// Rebuild the page and the charts of a finished run, study or plan from its CSV files
#[derive(Args, Debug)]
pub(super) struct ReportArgs {
    /// The directory of the run, study or plan
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Write a trace of a run as well, which Perfetto opens: zones, nodes, pods, faults and timers as tracks
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    formats: Formats,
    /// What to print of a run
    #[arg(short, long, value_enum)]
    output: Option<ReportOutput>,
}

/// What goes to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReportOutput {
    /// What happened to the objects: a List of v1 Events, which kubectl reads
    #[value(name = "events.yaml")]
    EventsYaml,
}

pub(super) fn report(arguments: &ReportArgs, ui: &Ui) -> Result<Ending, Failure> {
    let dir = &arguments.dir;
    let report = Report::open(dir)?;
    if let Some(trace) = &arguments.trace {
        report.write_trace(trace)?;
    }
    let (charts, page) = (report.draw()?, report.page()?);
    for (name, why) in &charts.left_out {
        ui.note(format_args!("no {name}: {why}"));
    }
    let charts = charts.drawn;
    // Before anything is written.
    let mut exports = Vec::new();
    report.export(&arguments.formats.writing(), &charts, |name, content| {
        exports.push((dir.join(name), content.to_vec()));
        Ok(())
    })?;
    let place = dir.join("charts");
    let cannot_write = |error: &std::io::Error| {
        Failure::input(format!("cannot write to `{}`: {error}", place.display()), "check that you may write there")
    };
    fs::create_dir_all(&place).map_err(|error| cannot_write(&error))?;
    for (name, picture) in &charts {
        fs::write(place.join(name), picture).map_err(|error| cannot_write(&error))?;
    }
    ui.note(format_args!("{} in {}", counted(charts.len(), "chart", "charts"), place.display()));
    for (path, content) in &exports {
        fs::write(path, content).map_err(|error| cannot_write(&error))?;
    }
    let place = dir.join("report.html");
    fs::write(&place, page).map_err(|error| cannot_write(&error))?;
    ui.note(format_args!("the page is {}", place.display()));
    match arguments.output {
        None => {}
        Some(ReportOutput::EventsYaml) => ui.data(&yaml_text::document(&report.events()?))?,
    }
    Ok(Ending::Done)
}
