//! `report`: draws the pictures of a finished run again.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use super::Ending;
use super::failure::Failure;
use super::ui::Ui;
use super::words::counted;
use crate::inspect::InspectError;
use crate::report::draw_charts;

/// Rebuild the charts of a finished run from its CSV files
#[derive(Args, Debug)]
pub(super) struct ReportArgs {
    /// The run's directory
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(super) fn report(arguments: &ReportArgs, ui: &Ui) -> Result<Ending, Failure> {
    let dir = &arguments.dir;
    if !dir.join("summary.json").is_file() {
        return Err(InspectError::NoRun(dir.display().to_string()).into());
    }
    let charts = draw_charts(dir);
    let place = dir.join("charts");
    let cannot_write = |error: &std::io::Error| {
        Failure::input(format!("cannot write to `{}`: {error}", place.display()), "check that you may write there")
    };
    fs::create_dir_all(&place).map_err(|error| cannot_write(&error))?;
    for (name, picture) in &charts {
        fs::write(place.join(name), picture).map_err(|error| cannot_write(&error))?;
    }
    ui.note(format_args!("{} in {}", counted(charts.len(), "chart", "charts"), place.display()));
    Ok(Ending::Done)
}
