//! `forecast`: what hurts a cluster most, why, what to change, and proof that it helps.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Args;

use super::failure::Failure;
use super::reading::Reading;
use super::remarks;
use super::ui::{INTERRUPTED, Ui};
use super::{Ending, Output};
use crate::facade::{Forecast, ForecastInputs, ForecastOptions, LoadOptions, WriteOptions};
use crate::model::manifest::DUMP_COMMAND;
use crate::scenario;
use crate::study::forecast::{Baseline, Condition};
use crate::units::SimDuration;

/// Find what hurts a cluster most, why, what to change, and proof that it helps
///
/// Plays what is likely to happen to the cluster: the loss of each node, pair of nodes and zone, hiccups, drains, upgrades, outages of
/// the control plane, and years of random failures. Then it makes changes that may help, plays the same again, and ranks those that do.
/// Writes forecast.json, scenario.lock.yaml, patches/, charts and a page. Ctrl-C ends the plays and keeps what is there.
#[derive(Args, Debug)]
#[command(after_help = format!("For example:\n  {DUMP_COMMAND}\n  kubesquall forecast cluster.yaml"))]
pub(super) struct ForecastArgs {
    /// What `kubectl get` saves, manifests, or a Scenario: files, directories, globs, or `-` for standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Incidents of one's own, and what the catalogue is not to have
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
    /// Random failures of one's own, as `import faults` writes them
    #[arg(long, value_name = "FILE")]
    rates: Option<PathBuf>,
    /// Play for so long at most, the most telling things first
    #[arg(long, value_name = "TIME", conflicts_with = "plays")]
    budget: Option<SimDuration>,
    /// Make so many plays at most, the most telling first; the same number gives the same bytes
    #[arg(long, value_name = "N")]
    plays: Option<u64>,
    /// Play so many years of random failures, or as many shorter plays where much goes on [default: 24, fewer if a budget does not allow
    /// for them]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=1000))]
    years: Option<u64>,
    /// Add years until the interval of the whole cost is at most this share of it wide on either side, such as 0.1
    #[arg(long, value_name = "SHARE")]
    precision: Option<f64>,
    /// Exit with 1 if this holds, such as `lost_traffic_min_per_year>10`; or if the loss of any `node`, `zone` or `pair`, a `drain` or
    /// an `upgrade` costs somebody more than a minute or waits in vain
    #[arg(long, value_name = "COND")]
    fail_on: Vec<Condition>,
    /// The forecast.json of last time: says what is better, worse, new and gone
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// A value of the scenario that the cluster is played as, such as spec.latency.podReady={constant: 20s}
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// What chance is drawn from
    #[arg(long, value_name = "N", value_parser = super::run::seed, allow_hyphen_values = true)]
    seed: Option<u64>,
    #[command(flatten)]
    reading: Reading,
    /// The directory of the results [default: reports/<name>-forecast]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = super::sweep::jobs, allow_hyphen_values = true)]
    jobs: Option<NonZeroUsize>,
    /// Write the charts as PNG, too, beside the SVG files
    #[arg(long)]
    png: bool,
    /// Draw no charts and no page
    #[arg(long, conflicts_with = "png")]
    no_charts: bool,
    /// Go on where a forecast to the same place stopped: when its time or its plays were used up, by Ctrl-C, or when it was killed
    #[arg(long)]
    resume: bool,
    /// Replace the output directory whatever is in it
    #[arg(long)]
    force: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn forecast(arguments: &ForecastArgs, ui: &Ui) -> Result<Ending, Failure> {
    let started = now();
    let mut reading = arguments.reading.options();
    reading = arguments.set.iter().fold(reading, LoadOptions::set);
    if let Some(seed) = arguments.seed {
        reading = reading.seed(seed);
    }
    let baseline = arguments.baseline.as_deref().map(Baseline::read).transpose()?;
    let mut asked = ForecastInputs::new();
    if let Some(path) = &arguments.rates {
        asked = asked.rates(path.to_string_lossy(), scenario::read_text(path)?);
    }
    if let Some(path) = &arguments.catalog {
        asked = asked.catalogue(path.to_string_lossy(), scenario::read_text(path)?);
    }
    let forecast = Forecast::load_with(&arguments.inputs, &reading, &asked)?;
    ui.diagnostics(forecast.warnings(), &forecast.inner().scenario.sources);
    let default = || PathBuf::from("reports").join(format!("{}-forecast", forecast.name()));
    let place = arguments.out.clone().unwrap_or_else(default);
    let writing = WriteOptions::new().force(arguments.force).png(arguments.png).charts(!arguments.no_charts);
    let bar = ui.bar();
    stop_at_ctrl_c();
    let is_time_up = || arguments.budget.is_some_and(|budget| started.elapsed().as_secs_f64() >= budget.as_secs_f64());
    let is_over = || IS_STOPPED.load(Ordering::Relaxed) || is_time_up();
    let mut options = ForecastOptions::new().progress(&bar).until(&is_over);
    options = options.resume(arguments.resume);
    if let Some(plays) = arguments.plays {
        options = options.plays(plays);
    }
    if let Some(years) = arguments.years {
        options = options.years(years);
    }
    if let Some(time) = arguments.budget {
        options = options.budget(time);
    }
    if let Some(share) = arguments.precision {
        options = options.precision(share);
    }
    if let Some(jobs) = arguments.jobs {
        options = options.threads(jobs);
    }
    let (outcome, place) = forecast.work_out_to(place, &options, &writing)?;
    drop(bar);
    let failed: Vec<String> =
        arguments.fail_on.iter().filter_map(|condition| condition.failure(&outcome.results)).collect();
    match arguments.output {
        Output::Json => ui.data(&outcome.json_text())?,
        Output::Text if ui.is_quiet => {}
        Output::Text => {
            ui.out(&remarks::all(&outcome.results.told()))?;
            if let Some(baseline) = &baseline {
                ui.out(&remarks::lines(&baseline.compared_with(&outcome.results)))?;
            }
        }
    }
    for failure in &failed {
        ui.always(format_args!("failed: {failure}"));
    }
    ui.note(format_args!("results in {}", place.display()));
    if outcome.results.plays_left_out > 0 {
        ui.note("to play the rest: the same command with --resume, and without --budget or --plays or with more of it");
    }
    Ok(if failed.is_empty() { Ending::Done } else { Ending::NotAsExpected })
}

/// Whether Ctrl-C has been pressed.
static IS_STOPPED: AtomicBool = AtomicBool::new(false);

/// Lets Ctrl-C end the plays, so that what is there is written; pressed again, it ends the program.
fn stop_at_ctrl_c() {
    let stop = || {
        if IS_STOPPED.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    };
    // Where there is a handler already, or none can be had, Ctrl-C ends the program.
    let _ = ctrlc::set_handler(stop);
}

#[expect(clippy::disallowed_methods, reason = "the command line measures real time, for --budget")]
fn now() -> Instant {
    Instant::now()
}
