//! `run`: plays a scenario and writes what happened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use super::failure::{self, Failure};
use super::ui::Ui;
use super::{Ending, Output, summary};
use crate::observe::{Detail, Observed, Observers, Summary};
use crate::report::{OutputDir, Overwrite, draw_charts, write_tables};
use crate::scenario::{self, ExpectationOutcome, Overrides, ResolvedScenario};
use crate::simulation::Prepared;
use crate::units::{SimDuration, SimTime, with_days};

/// Play a scenario and write what happened
#[derive(Args, Debug)]
pub(super) struct RunArgs {
    /// The scenario
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Draw from this seed in place of the scenario's
    #[arg(long)]
    seed: Option<u64>,
    /// Where to write; by default reports/<scenario name>
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Set a value of the scenario, such as spec.duration=1h
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// End earlier than the scenario says, such as 10m
    #[arg(long, value_name = "T", value_parser = duration)]
    until: Option<SimDuration>,
    /// Thin the rows of cluster.csv to one in this time
    #[arg(long, value_name = "T", value_parser = duration)]
    sample: Option<SimDuration>,
    /// Draw no charts
    #[arg(long)]
    no_charts: bool,
    /// Replace the output directory whatever is in it
    #[arg(long)]
    force: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

fn duration(text: &str) -> Result<SimDuration, String> {
    SimDuration::parse_with_days(text).map_err(|error| error.to_string())
}

/// `summary.json`.
#[derive(Debug, Serialize)]
struct SummaryFile<'a> {
    scenario: &'a str,
    seed: u64,
    version: &'static str,
    #[serde(rename = "kubernetesVersion")]
    kubernetes_version: String,
    #[serde(with = "with_days")]
    duration: SimDuration,
    duration_s: f64,
    #[serde(flatten)]
    summary: &'a Summary,
    expectations: &'a [ExpectationOutcome],
}

pub(super) fn run(arguments: &RunArgs, ui: &Ui) -> Result<Ending, Failure> {
    let mut overrides: Overrides = arguments.set.iter().cloned().collect();
    if let Some(seed) = arguments.seed {
        overrides.set("spec.seed", &seed.to_string());
    }
    let scenario = Arc::new(scenario::load(&arguments.scenario, &overrides)?);
    ui.diagnostics(&scenario.warnings, &scenario.sources);
    failure::now_playing(&scenario);
    let place = arguments.out.clone().unwrap_or_else(|| Path::new("reports").join(&scenario.name));
    let overwrite = if arguments.force { Overwrite::Anything } else { Overwrite::OnlyOurs };
    let out = OutputDir::begin(&place, overwrite)?;
    let duration = arguments.until.map_or(scenario.duration, |until| until.min(scenario.duration));
    let observed = play(&scenario, duration, arguments, ui);
    let expectations: Vec<ExpectationOutcome> =
        scenario.expectations.iter().map(|e| e.judge(&observed.summary.metrics)).collect();
    write_tables(&observed, &out)?;
    out.write("not-modelled.csv", &not_modelled(&scenario))?;
    out.write("scenario.lock.yaml", scenario::lock_file(&scenario).as_bytes())?;
    let file = SummaryFile {
        scenario: &scenario.name,
        seed: scenario.seed,
        version: env!("CARGO_PKG_VERSION"),
        kubernetes_version: scenario.config.version.to_string(),
        duration,
        duration_s: duration.as_secs_f64(),
        summary: &observed.summary,
        expectations: &expectations,
    };
    let mut text = serde_json::to_vec_pretty(&file).expect("a summary is plain data");
    text.push(b'\n');
    out.write("summary.json", &text)?;
    if !arguments.no_charts {
        for (name, picture) in draw_charts(out.path()) {
            out.write(&format!("charts/{name}"), picture.as_bytes())?;
        }
    }
    let place = out.finish()?;
    match arguments.output {
        Output::Json => ui.out(&String::from_utf8_lossy(&text))?,
        Output::Text if ui.is_quiet => {}
        Output::Text => ui.out(&summary::text(&scenario, duration, &observed, &expectations, &place))?,
    }
    let holds = expectations.iter().all(|e| e.holds);
    Ok(if holds { Ending::Done } else { Ending::NotAsExpected })
}

/// Plays the scenario with a progress bar.
fn play(scenario: &ResolvedScenario, duration: SimDuration, arguments: &RunArgs, ui: &Ui) -> Observed {
    const PARTS: u64 = 100;
    let prepared = Prepared::new(scenario);
    let sample = arguments.sample.unwrap_or(SimDuration::ZERO);
    let observers = Observers::new(Detail::Files, scenario.objectives.clone(), sample);
    let mut run = prepared.start(scenario.seed, observers);
    let bar = ui.progress(PARTS, &scenario.name);
    let end = SimTime::ZERO + duration;
    for part in 1..=PARTS {
        let until = SimTime::from_nanos((duration.as_nanos() / PARTS * part) as i64);
        run.run_until(if part == PARTS { end } else { until });
        bar.set_position(part);
    }
    bar.finish_and_clear();
    let finished = run.finish();
    if ui.is_verbose {
        ui.note(format_args!("{} events, digest {:016x}", finished.events, finished.digest));
    }
    finished.observers.finish(end, &finished.store, finished.events)
}

/// `not-modelled.csv`: what of the input had no effect.
fn not_modelled(scenario: &ResolvedScenario) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["file", "line", "object", "path", "value", "count"]).expect("writing to memory");
    for row in &scenario.not_modelled {
        let (line, count) = (row.line.to_string(), row.count.to_string());
        let record = [row.file.as_str(), &line, &row.object, &row.path, &row.value_excerpt, &count];
        writer.write_record(record).expect("writing to memory");
    }
    writer.into_inner().expect("writing to memory")
}
