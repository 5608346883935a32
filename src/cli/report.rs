//! `report`: draws the pictures and the page of a finished run, study, plan or forecast again.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Ending;
use super::failure::Failure;
use super::formats::{Evidence, Formats, Sampling};
use super::ui::Ui;
use crate::facade::Report;
use crate::units::counted;

/// Rebuild the page and the charts of a finished run, study, plan or forecast from its files
#[derive(Args, Debug)]
pub(super) struct ReportArgs {
    /// The directory of the run, study, plan or forecast
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Write a trace of a run as well, which Perfetto opens: zones, nodes, pods, faults and timers as tracks
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write what kube-state-metrics said of the run as well, a sample a --step: of that, `promtool tsdb create-blocks-from openmetrics`
    /// makes blocks for Prometheus
    #[arg(long, value_name = "FILE")]
    openmetrics: Option<PathBuf>,
    /// Put the simulator into the page of a run, so that the run can be played again in it with other values
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    formats: Formats,
    /// What to print of a run
    #[arg(short, long, value_enum)]
    output: Option<ReportOutput>,
    #[command(flatten)]
    sampling: Sampling,
}

/// What goes to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReportOutput {
    /// What happened to the objects: a List of v1 Events, which kubectl reads
    #[value(name = "events.yaml")]
    EventsYaml,
    /// What was asked of the API server, as it logs it for audit: a line of JSON a request
    #[value(name = "audit.jsonl")]
    AuditJsonl,
    /// What kube-state-metrics said, as Prometheus answers a query of a range: samples, one a --step
    #[value(name = "metrics.json")]
    MetricsJson,
}

impl ReportOutput {
    fn evidence(self) -> Evidence {
        match self {
            Self::EventsYaml => Evidence::Events,
            Self::AuditJsonl => Evidence::Audit,
            Self::MetricsJson => Evidence::Metrics,
        }
    }
}

pub(super) fn report(arguments: &ReportArgs, ui: &Ui) -> Result<Ending, Failure> {
    let dir = &arguments.dir;
    let evidence = arguments.output.map(ReportOutput::evidence);
    arguments.sampling.check(evidence, arguments.openmetrics.as_deref())?;
    let report = Report::open(dir)?;
    if let Some(trace) = &arguments.trace {
        report.write_trace(trace)?;
    }
    if let Some(samples) = &arguments.openmetrics {
        report.write_openmetrics(arguments.sampling.step(), samples)?;
    }
    let charts = report.redraw(&arguments.formats.writing().live(arguments.live))?;
    for (name, why) in &charts.left_out {
        ui.note(format_args!("no {name}: {why}"));
    }
    let count = counted(charts.drawn.len(), "chart", "charts");
    ui.note(format_args!("{count} in {}", dir.join("charts").display()));
    ui.note(format_args!("the page is {}", dir.join("report.html").display()));
    if let Some(evidence) = evidence {
        arguments.sampling.print(&report, evidence, ui)?;
    }
    Ok(Ending::Done)
}
