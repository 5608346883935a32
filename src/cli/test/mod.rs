//! `test`: plays every scenario, tells what of its expectations holds, and what moved since its figures were kept.

mod found;
mod github;
mod json;
mod junit;
mod snapshot;
mod text;
mod trial;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use self::found::Found;
use self::snapshot::Kept;
use self::trial::{Outcome, Trial, Unusable};
use super::Ending;
use super::failure::{self, Failure};
use super::sweep::jobs;
use super::ui::Ui;
use crate::facade::Error;
use crate::parallel::{self, Threads};
use crate::report;
use crate::study::Progress as _;
use crate::units::counted;

/// Play every scenario and tell whether what it expects holds
///
/// Directories are searched for scenarios; studies, plans, manifests and lock files in them are passed over. A scenario that expects
/// nothing is played, too. A file that cannot be used is told, and all others still play. Nothing is written but what --junit and --update
/// ask for.
///
/// The exit status is 0 if all holds, 1 if something does not, 2 if a file cannot be used or there is no scenario.
#[derive(Args, Debug)]
pub(super) struct TestArgs {
    /// Scenarios; directories and globs of them; `-` is standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write a report as JUnit has it as well: a suite for each scenario, a case for each expectation
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Keep the key figures of each scenario in a file beside it, NAME.snapshot.json; without this, they are compared with that file,
    /// if it is there
    #[arg(long)]
    update: bool,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = jobs, allow_hyphen_values = true)]
    jobs: Option<NonZeroUsize>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = TestOutput::Text)]
    output: TestOutput,
}

/// The form of what goes to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TestOutput {
    /// For people
    Text,
    /// For programs
    Json,
    /// What does not hold as annotations of GitHub Actions
    Github,
}

/// Everything that was tried.
struct Report {
    trials: Vec<Trial>,
    /// Snapshots whose scenario is not there.
    orphans: Vec<PathBuf>,
    passed_over: found::PassedOver,
    is_update: bool,
}

/// How many there are of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    /// Scenarios that were played to their end.
    played: usize,
    /// Those of them that expect nothing.
    without_expectations: usize,
    holding: usize,
    broken: usize,
    /// Snapshots that were compared and are as they were.
    same: usize,
    moved: usize,
    written: usize,
    unusable: usize,
    /// Scenarios in which an invariant of ours broke.
    bugs: usize,
}

impl Report {
    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for trial in &self.trials {
            let played = match &trial.outcome {
                Outcome::Played(played) => played,
                Outcome::Unusable(_) => {
                    tally.unusable += 1;
                    continue;
                }
                Outcome::Bug { .. } => {
                    tally.bugs += 1;
                    continue;
                }
            };
            tally.played += 1;
            tally.without_expectations += usize::from(played.judged.is_empty());
            let holding = played.judged.iter().filter(|judged| judged.outcome.holds).count();
            tally.holding += holding;
            tally.broken += played.judged.len() - holding;
            match &played.kept {
                Kept::Nothing => {}
                Kept::Same => tally.same += 1,
                Kept::Moved(_) => tally.moved += 1,
                Kept::Written => tally.written += 1,
                Kept::Unusable(_) => tally.unusable += 1,
            }
        }
        tally
    }

    fn holds(&self) -> bool {
        let tally = self.tally();
        self.orphans.is_empty() && tally.broken + tally.moved + tally.unusable + tally.bugs == 0
    }
}

pub(super) fn test(arguments: &TestArgs, ui: &Ui) -> Result<Ending, Failure> {
    if let Some(junit) = &arguments.junit {
        expect_place(junit)?;
    }
    let found = found::find(&arguments.paths);
    ui.diagnostics(&found.remarks, &crate::diagnostics::Sources::new());
    if found.scenarios.is_empty() && found.unusable.is_empty() {
        let paths: Vec<String> = arguments.paths.iter().map(|path| format!("`{}`", path.display())).collect();
        let message = format!("there is no scenario in {}", paths.join(", "));
        return Err(Failure::input(message, "a scenario has `kind: Scenario`; its `expect` says what must hold"));
    }
    let threads = Threads::new(arguments.jobs)
        .map_err(|why| Failure::input(format!("cannot start threads: {why}"), "lower --jobs"))?;
    let mut report = play(found, arguments, &threads, ui);
    if arguments.update {
        report.trials.iter_mut().for_each(Trial::keep);
    }
    if let Some(junit) = &arguments.junit {
        let text = junit::text(&report)?;
        report::replace_file(junit, text.as_bytes()).map_err(Error::from)?;
    }
    show(&report, arguments.output, ui)?;
    ending(&report)
}

/// Plays all that can be played, on all threads; in the order of the files.
fn play(found: Found, arguments: &TestArgs, threads: &Threads, ui: &Ui) -> Report {
    let Found { scenarios, unusable, passed_over, orphans, .. } = found;
    let bar = ui.bar();
    bar.begin(scenarios.len() as u64, 0, "scenarios");
    let is_update = arguments.update;
    let played = threads.install(|| {
        parallel::map(&scenarios, |scenario| {
            let trial = Trial::play(scenario, is_update);
            bar.advance();
            trial
        })
    });
    bar.end();
    let mut trials: Vec<(usize, Trial)> = scenarios.iter().map(|scenario| scenario.position).zip(played).collect();
    trials.extend(unusable.into_iter().map(|(position, unusable)| (position, Trial::unusable(unusable))));
    trials.sort_by_key(|(position, _)| *position);
    Report { trials: trials.into_iter().map(|(_, trial)| trial).collect(), orphans, passed_over, is_update }
}

/// Refuses a place for a file to which nothing can be written, before anything is played.
fn expect_place(path: &Path) -> Result<(), Failure> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if path.is_dir() {
        let message = format!("`{}` is a directory", path.display());
        return Err(Failure::input(message, "name a file, such as --junit report.xml"));
    }
    match parent {
        Some(parent) if !parent.is_dir() => {
            let message = format!("there is no directory `{}`", parent.display());
            Err(Failure::input(message, "make it, or name another file"))
        }
        _ => Ok(()),
    }
}

fn show(report: &Report, output: TestOutput, ui: &Ui) -> Result<(), Failure> {
    if output != TestOutput::Json {
        for trial in &report.trials {
            if let Some(Unusable { diagnostics, sources, .. }) = trial.problems() {
                ui.diagnostics(diagnostics, sources);
            }
        }
    }
    match output {
        TestOutput::Json => ui.json(&json::value(report)),
        TestOutput::Github => {
            ui.data(&github::commands(report))?;
            ui.out(&format!("{}\n", text::total(report)))
        }
        TestOutput::Text => {
            report
                .trials
                .iter()
                .flat_map(Trial::remarks)
                .for_each(|remark| ui.always(format_args!("warning: {remark}")));
            if ui.is_quiet {
                text::failures(report).iter().for_each(|line| ui.always(line));
                return Ok(());
            }
            ui.out(&text::text(report, ui.stdout))
        }
    }
}

fn ending(report: &Report) -> Result<Ending, Failure> {
    let bug = report.trials.iter().find_map(|trial| match &trial.outcome {
        Outcome::Bug { what, scenario } => Some((what, scenario)),
        Outcome::Played(_) | Outcome::Unusable(_) => None,
    });
    if let Some((what, scenario)) = bug {
        if let Some(scenario) = scenario {
            failure::now_playing(scenario);
        }
        return Err(Failure::Bug { what: what.clone() });
    }
    match report.tally().unusable {
        0 if report.holds() => Ok(Ending::Done),
        0 => Ok(Ending::NotAsExpected),
        count => {
            let message = format!("{} be used", counted(count, "file cannot", "files cannot"));
            Err(Failure::Input { message, help: None })
        }
    }
}
