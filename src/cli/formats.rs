//! Formats of other programs, which most commands that write results take.

use std::io::{self, Write};
use std::path::Path;

use clap::Args;

use super::failure::Failure;
use super::run::duration;
use super::ui::Ui;
use crate::facade::{Report, WriteOptions};
use crate::model::yaml_text;
use crate::units::SimDuration;

/// What is written besides.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct Formats {
    /// Write the tables as Parquet, too, beside the CSV files: for DuckDB, pandas, Polars and Spark
    #[arg(long)]
    parquet: bool,
    /// Write the charts as PNG, too, beside the SVG files
    #[arg(long)]
    png: bool,
}

impl Formats {
    /// The same as options of writing.
    pub(super) fn writing(self) -> WriteOptions {
        WriteOptions::new().parquet(self.parquet).png(self.png)
    }
}

/// What was seen of a run by those who were not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Events.
    Events,
    /// The API server's audit log.
    Audit,
    /// Samples of kube-state-metrics.
    Metrics,
}

/// Between samples that are printed of a run, if nobody says it: as Prometheus is often set up.
const STEP: SimDuration = SimDuration::from_secs(30);

/// How evidence is printed.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct Sampling {
    /// Between the samples of `-o metrics.json` and `--openmetrics`; 30s if not said
    #[arg(long, value_name = "T", value_parser = duration, allow_hyphen_values = true)]
    step: Option<SimDuration>,
}

impl Sampling {
    /// Refuses a step for what has none.
    pub(super) fn check(self, output: Option<Evidence>, openmetrics: Option<&Path>) -> Result<(), Failure> {
        if self.step.is_some() && output != Some(Evidence::Metrics) && openmetrics.is_none() {
            return Err(Failure::input(
                "--step is of no use here",
                "it goes with `-o metrics.json` and `--openmetrics`",
            ));
        }
        if let Some(step) = self.step.filter(|step| *step < SimDuration::from_secs(1)) {
            return Err(Failure::input(format!("nobody scrapes every {step}"), "take a --step of at least a second"));
        }
        Ok(())
    }

    /// The step, whoever has said it.
    pub(super) fn step(self) -> SimDuration {
        self.step.unwrap_or(STEP)
    }

    /// Prints it.
    pub(super) fn print(self, report: &Report, what: Evidence, ui: &Ui) -> Result<(), Failure> {
        let stdout = || io::BufWriter::new(io::stdout().lock());
        match what {
            Evidence::Events => return ui.data(&yaml_text::document(&report.events()?)),
            Evidence::Audit => report.write_audit_log(stdout())??,
            Evidence::Metrics => report.write_metrics(self.step(), stdout())??,
        }
        Ok(io::stdout().flush()?)
    }
}
