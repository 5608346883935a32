//! The command line: one file a subcommand; colors, progress, exit status. It has no rules of its own.
//!
//! Results go to files, progress and problems to standard error, a short summary for people to standard output; with
//! `-o json` nothing but JSON goes there.

#![allow(rustdoc::invalid_html_tags, reason = "the help of arguments names what stands in their places")]

mod agreement_text;
mod decision_text;
mod documents;
mod failure;
mod formats;
mod intake;
mod paint;
mod places;
mod plan_text;
mod reading;
mod remarks;
mod summary;
mod table;
mod ui;
mod words;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use failure::Failure;
use ui::Ui;

/// Plays a Kubernetes cluster under failures, second by second, without a cluster.
///
/// kubesquall reads your own YAML, plays node failures, zone outages, drains and rollouts through a model of the control
/// plane, and tells who is evicted when, who stays Pending and why, and how long each workload is short of replicas. The same
/// inputs and seed give the same bytes, anywhere.
#[derive(Debug, Parser)]
#[command(name = "kubesquall", version, propagate_version = true, max_term_width = 100, after_help = EXIT_STATUS)]
struct Cli {
    #[command(flatten)]
    shared: Shared,
    #[command(subcommand)]
    command: Command,
}

const EXIT_STATUS: &str = "\
Exit status:
  0  done
  1  the run finished, but an `expect` of the scenario does not hold, figures of `test` moved,
     nothing survives a plan, or a condition of `forecast --fail-on` holds
  2  the input or the arguments cannot be used
  3  an internal invariant broke, which is a bug of kubesquall";

/// What every command takes.
#[derive(Args, Clone, Debug)]
struct Shared {
    /// When to use colors; NO_COLOR is respected
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    color: Color,
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more, such as the digest of a run's events
    #[arg(short, long, global = true)]
    verbose: bool,
}

/// When to use colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The form of what goes to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    Text,
    /// For programs
    Json,
}

macro_rules! commands {
    ($($(#[$only:meta])? $module:ident::$function:ident: $Command:ident($Args:ident))*) => {
        $($(#[$only])? mod $module;)*

        #[derive(Debug, Subcommand)]
        enum Command { $($(#[$only])? $Command($module::$Args),)* }

        impl Command {
            fn execute(&self, ui: &Ui) -> Result<Ending, Failure> {
                match self { $($(#[$only])? Self::$Command(arguments) => $module::$function(arguments, ui),)* }
            }
        }
    };
}

// One line a subcommand, `file::function` with its name and arguments, in the order of the help.
commands! {
    run::run: Run(RunArgs)
    forecast::forecast: Forecast(ForecastArgs)
    check::check: Check(CheckArgs)
    test::test: Test(TestArgs)
    schedule::schedule: Schedule(ScheduleArgs)
    explain::explain: Explain(ExplainArgs)
    diff::diff: Diff(DiffArgs)
    sweep::sweep: Sweep(SweepArgs)
    tune::tune: Tune(TuneArgs)
    sensitivity::sensitivity: Sensitivity(SensitivityArgs)
    merge::merge: Merge(MergeArgs)
    plan::plan: Plan(PlanArgs)
    init::init: Init(InitArgs)
    import::import: Import(ImportArgs)
    #[cfg(feature = "serve")]
    serve::serve: Serve(ServeArgs)
    report::report: Report(ReportArgs)
    schema::schema: Schema(SchemaArgs)
    completions::completions: Completions(CompletionsArgs)
    man::man: Man(ManArgs)
}

/// How a command ended, unless it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Everything asked for is done.
    Done,
    /// The run finished, but something that was expected of it does not hold.
    NotAsExpected,
}

const UNUSABLE_INPUT: u8 = 2;
const BROKEN_INVARIANT: u8 = 3;

/// Runs the program on the arguments of the process; what it returns is the exit status.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the command line reads its arguments")]
pub fn main() -> ExitCode {
    let cli = match parsed(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors and go to standard output. Nothing can be done if even that fails.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(UNUSABLE_INPUT) } else { ExitCode::SUCCESS };
        }
    };
    let ui = Ui::new(&cli.shared);
    let result = failure::catching_bugs(|| cli.command.execute(&ui));
    match result {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::NotAsExpected) => ExitCode::from(1),
        Err(failure) => {
            ui.failure(&failure);
            ExitCode::from(failure.exit_status())
        }
    }
}

/// How kubectl finds its plugin `squall`: an executable of this name on the PATH.
const PLUGIN: &str = "kubectl-squall";

/// The command line, whose first word is what the program was called as. As a plugin of kubectl it says of itself what its user types.
fn parsed(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    let called = arguments.first().and_then(|name| Path::new(name).file_stem());
    if called.is_some_and(|name| name == PLUGIN) {
        command = command.bin_name(PLUGIN.replacen('-', " ", 1));
    }
    let matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said to arguments that cannot be used.
    fn refusal(words: &[&str]) -> String {
        let error = parsed(words.iter().map(OsString::from).collect()).expect_err("unusable arguments");
        error.to_string()
    }

    #[test]
    fn usage_says_what_was_typed() {
        let usage = |called: &str| {
            let said = refusal(&[called, "run", "--no-such-flag"]);
            said.lines().find_map(|line| line.strip_prefix("Usage: ")).expect("the usage").to_owned()
        };
        assert_eq!(usage("/usr/bin/kubesquall"), "kubesquall run [OPTIONS] <SCENARIO>");
        assert_eq!(usage("/usr/bin/kubectl-squall"), "kubectl squall run [OPTIONS] <SCENARIO>");
        assert_eq!(usage("kubectl-squall.exe"), "kubectl squall run [OPTIONS] <SCENARIO>");
    }

    #[test]
    fn the_version_is_that_of_kubesquall_whatever_it_is_called() {
        let version = concat!("kubesquall ", env!("CARGO_PKG_VERSION"), "\n");
        assert_eq!(refusal(&["kubesquall", "--version"]), version);
        assert_eq!(refusal(&["kubectl-squall", "--version"]), version);
    }
}
