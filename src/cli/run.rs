//! `run`: plays a scenario, writes its directory and tells what happened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::documents;
use super::failure::{self, Failure};
use super::intake;
use super::places;
use super::run_files;
use super::summary;
use super::ui::Ui;
use super::{Ending, Output};
use crate::inspect;
use crate::observe::{Detail, Matter, Observed, Observers};
use crate::report::{OutputDir, Overwrite, draw_charts};
use crate::scenario::{self, DocumentKind, ExpectationOutcome, Overrides, ResolvedScenario};
use crate::simulation::{Prepared, Storm};
use crate::state::Store;
use crate::units::{SimDuration, SimTime};
use crate::verify::{Violation, compare_figures, compare_rows};

/// Play a scenario and write what happened
///
/// The results go to a directory of CSV files, charts and a summary.json; a short summary is printed. An interrupted run leaves
/// an earlier result as it was, and only directories of earlier runs are replaced.
#[derive(Args, Debug)]
pub(super) struct RunArgs {
    /// The scenario: a file, a directory that holds one, or `-` for standard input
    scenario: PathBuf,
    /// Go on without objects that cannot be read, that the API server would refuse, or that are written twice
    #[arg(long)]
    allow_partial: bool,
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
    /// Draw no charts
    #[arg(long)]
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
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

fn duration(text: &str) -> Result<SimDuration, String> {
    SimDuration::parse_with_days(text).map_err(|error| error.to_string())
}

/// A run that is over.
struct Played {
    /// Workloads that did not settle before t=0.
    storms: Vec<Storm>,
    observed: Observed,
    store: Store,
    digest: u64,
}

pub(super) fn run(arguments: &RunArgs, ui: &Ui) -> Result<Ending, Failure> {
    let path = documents::find(&arguments.scenario, DocumentKind::Scenario)?;
    let mut scenario = scenario::load(&path, &overrides(arguments))?;
    if arguments.until == Some(SimDuration::ZERO) {
        let help = "--until is the length of the run, such as 10m";
        return Err(Failure::input("a run of no duration shows nothing", help));
    }
    let mut changes = arguments.set.clone();
    if let Some(until) = arguments.until.filter(|until| *until < scenario.duration) {
        // The lock file then says what was played.
        scenario.duration = until;
        changes.push(format!("spec.duration={until}"));
    }
    if let Some(until) = arguments.until.filter(|until| *until > scenario.duration) {
        ui.note(format_args!("--until {until} has no effect: the scenario ends at {}", scenario.duration));
    }
    let scenario = Arc::new(scenario);
    ui.diagnostics(&scenario.warnings, &scenario.sources);
    failure::now_playing(&scenario);
    let place = places::of_run(arguments.out.as_deref(), &scenario.name, &changes);
    let overwrite = if arguments.force { Overwrite::Anything } else { Overwrite::OnlyOurs };
    // Before anything is played, so that a refusal costs no time.
    OutputDir::spare_inputs(&place, overwrite, scenario.inputs().chain([path.as_path()]))?;
    let out = OutputDir::begin(&place, overwrite)?;
    let sample = arguments.sample.unwrap_or(SimDuration::ZERO);
    // First of all, as a run that never ends says nothing.
    let checked = arguments.verify.then(|| play_checked(&scenario)).transpose();
    let checked = checked.map_err(|violation| arguments.bug(violation.to_string()))?;
    let played = play(&scenario, sample, ui);
    if let Some(digest) = checked {
        verify(&scenario, digest, &played, sample, ui).map_err(|what| arguments.bug(what))?;
    }
    let outcomes: Vec<ExpectationOutcome> =
        scenario.expectations.iter().map(|e| e.judge(&played.observed.summary.metrics)).collect();
    let summary_json =
        run_files::summary_json(&scenario, &played.observed, sample, &outcomes, &changes, &played.storms);
    run_files::write(&scenario, &played.observed, &summary_json, &out)?;
    if !arguments.no_charts {
        for (name, picture) in draw_charts(out.path(), &inspect::summary(out.path())?)?.drawn {
            out.write(&format!("charts/{name}"), picture.as_bytes())?;
        }
    }
    let place = out.finish()?;
    if ui.is_verbose {
        let events = played.observed.summary.counts.simulation_events;
        ui.note(format_args!("{events} events played, digest {:016x}", played.digest));
    }
    match arguments.output {
        Output::Json => ui.out(&summary_json)?,
        Output::Text if ui.is_quiet => {}
        Output::Text => {
            let unread = intake::unread(&scenario.input, ui.stdout);
            let text = summary::text(&scenario, &played.observed, &outcomes, &place, ui.stdout);
            let unsettled = intake::unsettled(&played.storms, ui.stdout);
            ui.out(&format!("{unread}{unsettled}{text}{}", intake::assumed(&scenario, ui.stdout)))?;
        }
    }
    if ui.is_quiet || arguments.output == Output::Json {
        // Nobody reads a summary, and a fault that did not happen proves nothing.
        let missed = played.observed.summary.verdict.iter().filter(|sentence| sentence.kind == Matter::FaultHitNobody);
        missed.for_each(|sentence| ui.always(sentence.text.clone()));
    }
    if outcomes.iter().all(|outcome| outcome.holds) {
        return Ok(Ending::Done);
    }
    if ui.is_quiet || arguments.output == Output::Json {
        ui.always(summary::broken_expectations(&outcomes));
    }
    Ok(Ending::NotAsExpected)
}

fn overrides(arguments: &RunArgs) -> Overrides {
    let mut overrides: Overrides = arguments.set.iter().cloned().collect();
    if let Some(seed) = arguments.seed {
        overrides.set("spec.seed", &seed.to_string());
    }
    if arguments.allow_partial {
        overrides.set("spec.cluster.allowPartial", "true");
    }
    overrides
}

/// Plays the scenario, with a bar that follows the simulated clock.
fn play(scenario: &ResolvedScenario, sample: SimDuration, ui: &Ui) -> Played {
    const STEPS: u64 = 400;
    let prepared = Prepared::new(scenario);
    let observers = Observers::new(Detail::Files, scenario.objectives.clone(), sample);
    let mut run = prepared.start(scenario.seed, observers);
    let end = SimTime::ZERO + scenario.duration;
    let bar = ui.progress(STEPS, &scenario.name);
    for step in 1..STEPS {
        run.run_until(SimTime::ZERO + (scenario.duration / STEPS) * step);
        bar.inc(1);
    }
    run.run_until(end);
    bar.finish_and_clear();
    let finished = run.finish();
    let observed = finished.observers.finish(end, &finished.store, finished.events);
    Played { storms: prepared.storms().to_vec(), observed, store: finished.store, digest: finished.digest }
}

/// Compares a run with the one that was checked after every event, which had this digest, and with one from the lock file.
///
/// # Errors
///
/// What does not hold.
fn verify(
    scenario: &Arc<ResolvedScenario>,
    checked: u64,
    played: &Played,
    sample: SimDuration,
    ui: &Ui,
) -> Result<(), String> {
    compare_rows(&played.observed, &played.store)?;
    compare_figures(&played.observed)?;
    same("a second run", played, checked)?;
    let lock = scenario::lock_file(scenario);
    let locked = scenario::load_text("scenario.lock.yaml", &lock, Path::new(""), &Overrides::none());
    let locked = locked.map_err(|invalid| format!("the lock file cannot be read:\n{invalid}"))?;
    same("a run from the lock file", played, play(&locked, sample, ui).digest)?;
    if scenario::lock_file(&locked) != lock {
        return Err("the lock file of the lock file differs".to_owned());
    }
    ui.note(format_args!(
        "verified: every invariant held after every event; a second run and a run from the lock file gave the same events"
    ));
    Ok(())
}

fn same(what: &str, played: &Played, other: u64) -> Result<(), String> {
    if other == played.digest {
        return Ok(());
    }
    Err(format!("{what} differs: digest {:016x}, then {other:016x}", played.digest))
}

/// Plays under the eyes of a verifier, and on until the cluster is at rest; gives the digest at the scenario's end.
fn play_checked(scenario: &ResolvedScenario) -> Result<u64, Violation> {
    let mut run = Prepared::verified(scenario)?.start(scenario.seed, Observers::none());
    run.verify();
    run.run_until(SimTime::ZERO + scenario.duration);
    let digest = run.digest();
    run.come_to_rest().map_or(Ok(digest), Err)
}

impl RunArgs {
    /// A bug, with the command that shows it again.
    fn bug(&self, what: String) -> Failure {
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
