//! Why a command ends without a result, and what to do about it.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};

use super::{BROKEN_INVARIANT, Ending, UNUSABLE_INPUT};
use crate::facade::{Advice, Error, Reason};
use crate::inspect::InspectError;
use crate::report::OutputError;
use crate::scenario::{Invalid, ResolvedScenario, lock_file};
use crate::study::JournalError;

/// What to do when a directory is not a run's.
const NAME_A_RUN: &str = "name the directory that `run` wrote, by default reports/<scenario name>";

/// Why a command ends without a result.
#[derive(Debug)]
pub(super) enum Failure {
    /// The user's text.
    Invalid(Invalid),
    /// The user's files or arguments: what was tried, and what to do.
    Input { message: String, help: Option<String> },
    /// Standard output is closed, as by `| head`: nobody is there to be told.
    ClosedOutput,
    /// Us.
    Bug { what: String },
}

impl Failure {
    pub(super) fn input(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Input { message: message.into(), help: Some(help.into()) }
    }

    /// Of a directory that cannot be written, which `flag` names.
    pub(super) fn of_output(error: &OutputError, flag: &str) -> Self {
        let advice = match error {
            OutputError::NotOurs(..) => format!("; choose another {flag}, or --force to replace it"),
            OutputError::InTheWay(_) => format!("; move it, or choose another {flag}"),
            OutputError::NoPlace(_) | OutputError::Holds { .. } => format!("; choose another {flag}"),
            OutputError::Busy(_) => format!("; wait for it, or choose another {flag}"),
            OutputError::Io { .. } => String::new(),
        };
        Self::Input { message: format!("{error}{advice}"), help: None }
    }

    pub(super) fn exit_status(&self) -> u8 {
        match self {
            Self::Invalid(_) | Self::Input { .. } => UNUSABLE_INPUT,
            Self::ClosedOutput => 0,
            Self::Bug { .. } => BROKEN_INVARIANT,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error.into_reason() {
            Reason::Invalid(invalid) => Self::Invalid(invalid),
            Reason::Output(error) => error.into(),
            Reason::Journal(error) => error.into(),
            Reason::Inspect(error) => error.into(),
            Reason::Table(_) => Self::input(message, DAMAGED),
            Reason::Threads(_) => Self::input(message, "lower --jobs"),
            Reason::Argument { advice, .. } | Reason::Taken { advice, .. } | Reason::Results { advice, .. } => {
                Self::input(message, with_flags(advice))
            }
            Reason::Broken(what) => Self::Bug { what },
            Reason::Plugin(_) => unreachable!("the command line has no plug-ins of its own"),
            Reason::Stopped => unreachable!("the command line's progress stops nothing"),
        }
    }
}

/// The advice in the words of the command line.
fn with_flags(advice: Advice) -> String {
    let text = match advice {
        Advice::Same(text) => return text,
        Advice::OtherPlace => "choose another --out, or --force to replace it",
        Advice::OtherPlaceOrRuns => "choose another --out, or --force to replace it, or --resume to keep only its runs",
        Advice::MergeParts => {
            "play the parts with `sweep --shard`, `merge` them, and `tune --resume` with the merged directory as `--out`"
        }
        Advice::NameWorkload => "write kind/namespace/name, such as `--headroom deployment/shop/web`",
        Advice::NameLabel => "name a label that nodes have, as in `--blast-radius=topology.example.com/rack`",
    };
    text.to_owned()
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        Self::of_output(&error, "--out")
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

/// What to do about a directory of which something is missing.
const DAMAGED: &str = "the results are damaged: play the run again; nothing is told or drawn from a part of them";

impl From<InspectError> for Failure {
    fn from(error: InspectError) -> Self {
        let help = match &error {
            InspectError::NoRun(_) | InspectError::NoDirectory(_) => Some(NAME_A_RUN.to_owned()),
            InspectError::SeveralObjects { names, more: 0, .. } => Some(format!("say which: {}", names.join(", "))),
            InspectError::SeveralObjects { names, more, .. } => {
                Some(format!("say which: {} or one of {more} more", names.join(", ")))
            }
            InspectError::OtherResults { .. } => {
                Some("name the directories of runs, as `kubesquall run` leaves them".to_owned())
            }
            InspectError::NoObject { alike, .. } if !alike.is_empty() => Some(format!("there is {}", alike.join(", "))),
            InspectError::NoObject { .. } => {
                Some(
                    "objects are named kind/NAMESPACE/NAME, such as pod/shop/web-1, or kind/NAME where they have no namespace, such as \
                     node/worker-1. Pods, nodes, workloads and services can be asked about; autoscalers, budgets, volumes, claims and \
                     namespaces once something happened to them; zones and pools cannot"
                        .to_owned(),
                )
            }
            InspectError::Unreadable { .. } | InspectError::Table(_) => Some(DAMAGED.to_owned()),
        };
        Self::Input { message: error.to_string(), help }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        let help = match &error {
            JournalError::Interrupted(_) => {
                Some("go on with --resume, begin anew with --force, or name another place with --out")
            }
            JournalError::Running(_) => Some("wait for it, or name another place with --out"),
            JournalError::OtherStudy(..) | JournalError::OtherShard { .. } => {
                Some("name another place with --out, or begin anew with --force")
            }
            JournalError::Broken { .. } => Some("remove that line to play its run again, or begin anew with --force"),
            JournalError::Io { .. } => None,
        };
        Self::Input { message: error.to_string(), help: help.map(str::to_owned) }
    }
}

impl From<std::io::Error> for Failure {
    /// For standard output; files are reported with their names.
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ClosedOutput,
            _ => Self::Input { message: format!("cannot write to standard output: {error}"), help: None },
        }
    }
}

/// The scenario that is being played, for the report of a bug.
static PLAYING: Mutex<Option<Arc<ResolvedScenario>>> = Mutex::new(None);

/// Where the last panic happened and what it said.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

thread_local! {
    /// The same of the last panic of this thread, where others may panic as well.
    static OWN_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Remembers what is played, in case it breaks.
pub(super) fn now_playing(scenario: &Arc<ResolvedScenario>) {
    *PLAYING.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(scenario));
}

/// Runs a command; a panic in it becomes a failure that says what to report.
pub(super) fn catching_bugs(command: impl FnOnce() -> Result<Ending, Failure>) -> Result<Ending, Failure> {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|location| format!(" at {}:{}", location.file(), location.line()));
        let text = format!("{}{}", message_of(info.payload()), place.unwrap_or_default());
        OWN_PANIC.with(|own| own.replace(Some(text.clone())));
        *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }));
    let result = panic::catch_unwind(AssertUnwindSafe(command));
    drop(panic::take_hook());
    result.unwrap_or_else(|payload| {
        let last = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
        Err(Failure::Bug { what: last.unwrap_or_else(|| message_of(&*payload)) })
    })
}

/// Does something else while other things go on; what is said of a panic in it is what to report.
///
/// # Errors
///
/// What broke.
pub(super) fn caught<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    panic::catch_unwind(AssertUnwindSafe(work))
        .map_err(|payload| OWN_PANIC.with(RefCell::take).unwrap_or_else(|| message_of(&*payload)))
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}

/// What to report about a bug.
pub(super) struct BugReport<'a> {
    pub(super) what: &'a str,
}

impl fmt::Display for BugReport<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "an invariant of kubesquall itself does not hold; this is a bug, not a mistake of yours")?;
        writeln!(formatter, "  broken:   {}", self.what)?;
        writeln!(formatter, "  version:  kubesquall {}", env!("CARGO_PKG_VERSION"))?;
        let playing = PLAYING.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(scenario) = playing.as_ref() else {
            return write!(formatter, "Please report these lines, with the command line and its files.");
        };
        let digest = crate::arena::stable_hash(lock_file(scenario).as_bytes());
        writeln!(formatter, "  scenario: {}, digest {digest:016x}", scenario.name)?;
        writeln!(formatter, "  seed:     {}", scenario.seed)?;
        write!(formatter, "Please report these lines, with the scenario and its manifests if you may share them.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_bug_that_says_what_to_report() {
        let result = catching_bugs(|| panic!("a pod is in two places"));
        let failure = result.expect_err("a failure");
        assert_eq!(failure.exit_status(), 3);
        let Failure::Bug { what } = failure else { panic!("{failure:?}") };
        assert!(what.starts_with("a pod is in two places at src/cli/failure.rs:"), "{what}");
        let report = BugReport { what: &what }.to_string();
        assert!(report.contains("Please report these lines"), "{report}");
    }
}
