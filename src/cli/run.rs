//! `run`: plays a scenario, writes its directory and tells what happened.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Ending;
use super::agreement_text;
use super::documents;
use super::failure::{self, Failure};
use super::formats::{Evidence, Formats, Sampling};
use super::intake;
use super::places;
use super::reading::Reading;
use super::summary;
use super::ui::Ui;
use crate::facade::{
    Error, LoadOptions, Observations, Outcome, PlayOptions, Report, Scenario, expect_place_of_openmetrics,
    expect_place_of_trace,
};
use crate::observe::Matter;
use crate::scenario::DocumentKind;
use crate::units::SimDuration;

/// Play a scenario and write what happened
///
/// The results go to a directory of CSV files, charts, a summary.json and a page to open in a browser, report.html; a short summary is
/// printed. An interrupted run leaves
/// an earlier result as it was, and only directories of earlier runs are replaced.
#[derive(Args, Debug)]
pub(super) struct RunArgs {
    /// The scenario: a file, a directory that holds one, or `-` for standard input
    scenario: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// What chance is drawn from, in place of the scenario's seed
    #[arg(long, value_name = "N", value_parser = seed, allow_hyphen_values = true)]
    seed: Option<u64>,
    /// Where to write; by default reports/<scenario name>, with --set or --until a directory of its own beside it
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Set a value of the scenario, such as spec.timeline[0].at=2m
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// End earlier than the scenario says, such as at 10m
    #[arg(long, value_name = "T", value_parser = duration, allow_hyphen_values = true)]
    until: Option<SimDuration>,
    /// Hold the run against what was seen of the real cluster: a table of facts, as `import outage` writes it
    ///
    /// Each fact that was seen stands beside the play's: the same within the bounds of the evidence, at another time, missing or extra.
    #[arg(long, value_name = "FILE")]
    observed: Option<PathBuf>,
    /// Write a trace as well, which Perfetto opens: zones, nodes, pods, faults and timers as tracks
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write what kube-state-metrics said of the run as well, a sample a --step: of that, `promtool tsdb create-blocks-from openmetrics`
    /// makes blocks for Prometheus
    #[arg(long, value_name = "FILE")]
    openmetrics: Option<PathBuf>,
    #[command(flatten)]
    formats: Formats,
    /// Draw no charts and no page
    #[arg(long, conflicts_with = "png")]
    no_charts: bool,
    /// Check after every event that nothing impossible has happened, and play everything twice more and compare
    ///
    /// A bug that this finds is reported with the event, its time and the command that shows it again; the exit status is then 3.
    #[arg(long)]
    verify: bool,
    /// Replace the output directory even if it is not one of ours
    #[arg(long)]
    force: bool,
    /// Keep at most one row of cluster.csv per this length of time
    #[arg(long, value_name = "T", value_parser = duration, allow_hyphen_values = true)]
    sample: Option<SimDuration>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = RunOutput::Text)]
    output: RunOutput,
    #[command(flatten)]
    sampling: Sampling,
}

/// The form of what goes to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RunOutput {
    /// For people
    Text,
    /// For programs: summary.json
    Json,
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

impl RunOutput {
    /// What of it is evidence of the run.
    fn evidence(self) -> Option<Evidence> {
        match self {
            Self::Text | Self::Json => None,
            Self::EventsYaml => Some(Evidence::Events),
            Self::AuditJsonl => Some(Evidence::Audit),
            Self::MetricsJson => Some(Evidence::Metrics),
        }
    }
}

pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

pub(super) fn duration(text: &str) -> Result<SimDuration, String> {
    SimDuration::parse_with_days(text).map_err(|error| error.to_string())
}

pub(super) fn run(arguments: &RunArgs, ui: &Ui) -> Result<Ending, Failure> {
    arguments.sampling.check(arguments.output.evidence(), arguments.openmetrics.as_deref())?;
    let path = documents::find(&arguments.scenario, DocumentKind::Scenario)?;
    let mut scenario = Scenario::load_with(&path, &load_options(arguments))?;
    if arguments.until == Some(SimDuration::ZERO) {
        let help = "--until is the length of the run, such as 10m";
        return Err(Failure::input("a run of no duration shows nothing", help));
    }
    if let Some(until) = arguments.until.filter(|until| *until > scenario.duration()) {
        ui.note(format_args!("--until {until} has no effect: the scenario ends at {}", scenario.duration()));
    }
    if let Some(until) = arguments.until {
        scenario = scenario.until(until);
    }
    let resolved = scenario.resolved();
    ui.diagnostics(&resolved.warnings, &resolved.sources);
    failure::now_playing(resolved);
    let place = places::of_run(arguments.out.as_deref(), scenario.name(), &scenario.changes());
    let writing = arguments.formats.writing().force(arguments.force).charts(!arguments.no_charts);
    // Before anything is played, so that a refusal costs no time.
    let out = scenario.place(&place, &writing)?;
    if let Some(trace) = &arguments.trace {
        expect_place_of_trace(trace)?;
    }
    if let Some(samples) = &arguments.openmetrics {
        expect_place_of_openmetrics(samples)?;
    }
    let observed = arguments.observed.as_ref().map(Observations::load).transpose()?;
    let bar = ui.bar();
    let options = PlayOptions::new().sample(arguments.sample.unwrap_or(SimDuration::ZERO)).progress(&bar);
    let outcome = if arguments.verify {
        let outcome = scenario.verify(&options).map_err(|error| arguments.bug(&error))?;
        ui.note("verified: every invariant held after every event; a second run and a run from the lock file gave the same events");
        outcome
    } else {
        scenario.play_with(scenario.seed(), &options)
    };
    let outcome = match &observed {
        Some(observed) => outcome.held_against(observed)?,
        None => outcome,
    };
    let written = outcome.write_into(out, &writing)?;
    if let Some(trace) = &arguments.trace {
        written.write_trace(trace)?;
    }
    if let Some(samples) = &arguments.openmetrics {
        written.write_openmetrics(arguments.sampling.step(), samples)?;
    }
    if ui.is_verbose {
        let events = outcome.observed.summary.counts.simulation_events;
        ui.note(format_args!("{events} events played, digest {:016x}", outcome.digest()));
    }
    show(arguments, &outcome, &written, ui)?;
    Ok(if outcome.holds() { Ending::Done } else { Ending::NotAsExpected })
}

fn show(arguments: &RunArgs, outcome: &Outcome, written: &Report, ui: &Ui) -> Result<(), Failure> {
    let (scenario, observed) = (outcome.scenario().resolved(), &outcome.observed);
    match arguments.output.evidence() {
        Some(evidence) => arguments.sampling.print(written, evidence, ui)?,
        None if arguments.output == RunOutput::Json => ui.data(&outcome.summary_json())?,
        None if ui.is_quiet => {}
        None => {
            let unread = intake::unread(&scenario.input, ui.stdout);
            let text = summary::text(scenario, observed, &outcome.expectations, written.dir(), ui.stdout);
            let unsettled = intake::unsettled(outcome, ui.stdout);
            let agreement = outcome.agreement_in_full().map(|found| agreement_text::text(found, ui.stdout));
            let agreement = agreement.unwrap_or_default();
            ui.out(&format!("{unread}{unsettled}{text}{agreement}{}", intake::assumed(scenario, ui.stdout)))?;
        }
    }
    if ui.is_quiet || arguments.output != RunOutput::Text {
        // Nobody reads a summary, and a fault that did not happen proves nothing.
        let missed = observed.summary.verdict.iter().filter(|sentence| sentence.kind == Matter::FaultHitNobody);
        missed.for_each(|sentence| ui.always(sentence.text.clone()));
        if !outcome.holds() {
            ui.always(summary::broken_expectations(&outcome.expectations));
        }
    }
    Ok(())
}

fn load_options(arguments: &RunArgs) -> LoadOptions {
    let options = arguments.set.iter().fold(arguments.reading.options(), LoadOptions::set);
    match arguments.seed {
        Some(seed) => options.seed(seed),
        None => options,
    }
}

impl RunArgs {
    /// A bug, with the command that shows it again.
    fn bug(&self, what: &Error) -> Failure {
        let mut command = format!("kubesquall run {}", self.scenario.display());
        if let Some(seed) = self.seed {
            command.push_str(&format!(" --seed {seed}"));
        }
        for set in &self.set {
            command.push_str(&format!(" --set '{set}'"));
        }
        if let Some(until) = self.until {
            command.push_str(&format!(" --until {until}"));
        }
        Failure::Bug { what: format!("{what}\n  again:    {command} --verify") }
    }
}
