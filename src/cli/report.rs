//! `report`: draws the pictures of a finished run, study or plan again.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::failure::Failure;
use super::ui::Ui;
use super::words::counted;
use super::{Ending, plan_chart, sweep, tune};
use crate::inspect;
use crate::report::{Cells, Table, draw_charts, draw_study_charts, draw_survival_matrix};

/// File names and pictures.
type Charts = Vec<(&'static str, String)>;

/// Rebuild the charts of a finished run, study or plan from its CSV files
#[derive(Args, Debug)]
pub(super) struct ReportArgs {
    /// The directory of the run, study or plan
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(super) fn report(arguments: &ReportArgs, ui: &Ui) -> Result<Ending, Failure> {
    let dir = &arguments.dir;
    let summary = inspect::summary(dir)?;
    let charts = if summary["plan"].is_string() || dir.join("plan.csv").is_file() {
        plan_charts(dir, &summary)?
    } else if summary["study"]["study"].is_string() {
        study_charts(dir, &summary)?
    } else {
        inspect::expect_run(dir, &summary)?;
        let charts = draw_charts(dir, &summary)?;
        for (name, why) in &charts.left_out {
            ui.note(format_args!("no {name}: {why}"));
        }
        charts.drawn
    };
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

/// The charts of a study; those of `tune` if it was one.
fn study_charts(dir: &Path, summary: &serde_json::Value) -> Result<Charts, Failure> {
    Table::read_as(&dir.join("runs.csv"), &[])?;
    let results = sweep::read_with(dir, summary)?;
    let mut chart = sweep::chart_of(&results);
    if !summary["tuning"].is_null()
        && let Some(tuning) = results.tuning()
    {
        tune::complete(&mut chart, &tuning);
    }
    Ok(draw_study_charts(&chart))
}

/// The chart of a plan.
fn plan_charts(dir: &Path, summary: &serde_json::Value) -> Result<Charts, Failure> {
    Table::read_as(&dir.join("plan.csv"), &[("verdict", Cells::Text)])?;
    Table::read_as(&dir.join("cases.csv"), &[("case", Cells::Text), ("survived", Cells::Truth)])?;
    let read = |name: &str| fs::read(dir.join(name)).unwrap_or_default();
    let chart = plan_chart::of_files(summary, &read("plan.csv"), &read("cases.csv")).ok_or_else(|| {
        let what = format!("the files of the plan in `{}` are broken", dir.display());
        Failure::input(what, "plan again")
    })?;
    Ok(draw_survival_matrix(&chart).into_iter().collect())
}
