//! Why something cannot be done.

use std::fmt;

use crate::component::PluginFailure;
use crate::diagnostics::Diagnostic;
use crate::inspect::InspectError;
use crate::report::{ExportError, OutputError, TableError};
use crate::scenario::Invalid;
use crate::study::{InvalidCostBy, InvalidRareEvent, InvalidShard, JournalError, stoppable};

/// Why something cannot be done, and who can help it.
///
/// Its text is for people. What is wrong with documents and manifests is in [`diagnostics`](Error::diagnostics), every problem at
/// once, each with its place and a way out.
pub struct Error(Box<Reason>);

/// What an error is about. There may be more kinds in a later version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A document, or a file that it names, is wrong, missing or unreadable: see [`Error::diagnostics`].
    Document,
    /// An argument is wrong, such as an option or a name, or what is asked has no answer here.
    Argument,
    /// The place for results is taken: by other results, by files of somebody else, or by somebody who writes to it.
    Place,
    /// A directory of results is missing, damaged, unreadable, or of another kind.
    Results,
    /// The operating system refuses to write results, or to start a thread. It may go well another time.
    System,
    /// A plug-in of one's own has failed: [`source`](std::error::Error::source) is what it said. The run is over.
    Plugin,
    /// A bug of kubesquall, which only [`Scenario::verify`](crate::Scenario::verify) can find.
    Bug,
    /// Whoever watches wanted no more: see [`Progress::is_stopped`](crate::Progress::is_stopped).
    Stopped,
}

/// What the command line has more to say of.
#[derive(Debug)]
pub(crate) enum Reason {
    /// The user's text.
    Invalid(Invalid),
    /// The user's arguments.
    Argument { message: String, advice: Advice },
    /// A directory that holds other results than those that are to be written.
    Taken { message: String, advice: Advice },
    /// A directory that cannot be written.
    Output(OutputError),
    /// The journal of a study.
    Journal(JournalError),
    /// Results that are not what they should be.
    Results { message: String, advice: Advice },
    /// A directory of results that cannot be read.
    Inspect(InspectError),
    /// A table of such a directory.
    Table(TableError),
    /// No thread can be started, for this reason.
    Threads(String),
    /// A plug-in of the user's own.
    Plugin(PluginFailure),
    /// An invariant of ours.
    Broken(String),
    /// Nobody wants it any more.
    Stopped,
}

impl Error {
    pub(super) fn argument(message: impl Into<String>, advice: impl Into<Advice>) -> Self {
        Reason::Argument { message: message.into(), advice: advice.into() }.into()
    }

    pub(super) fn results(message: impl Into<String>, advice: impl Into<Advice>) -> Self {
        Reason::Results { message: message.into(), advice: advice.into() }.into()
    }

    /// Does what may be stopped.
    ///
    /// # Errors
    ///
    /// If it was, and those that it has itself.
    pub(super) fn unless_stopped<R>(work: impl FnOnce() -> Result<R, Self>) -> Result<R, Self> {
        stoppable(work).unwrap_or_else(|| Err(Reason::Stopped.into()))
    }

    pub(super) fn threads(why: String) -> Self {
        Reason::Threads(why).into()
    }

    #[cfg(feature = "cli")]
    pub(crate) fn into_reason(self) -> Reason {
        *self.0
    }

    /// What it is about.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &*self.0 {
            Reason::Invalid(_) => ErrorKind::Document,
            Reason::Argument { .. } => ErrorKind::Argument,
            Reason::Output(OutputError::Io { .. }) | Reason::Journal(JournalError::Io { .. }) | Reason::Threads(_) => {
                ErrorKind::System
            }
            Reason::Journal(JournalError::Broken { .. })
            | Reason::Results { .. }
            | Reason::Inspect(_)
            | Reason::Table(_) => ErrorKind::Results,
            Reason::Taken { .. } | Reason::Output(_) | Reason::Journal(_) => ErrorKind::Place,
            Reason::Plugin(_) => ErrorKind::Plugin,
            Reason::Broken(_) => ErrorKind::Bug,
            Reason::Stopped => ErrorKind::Stopped,
        }
    }

    /// What is wrong with documents and manifests, by file and position, warnings among it. Empty if something else is wrong.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match &*self.0 {
            Reason::Invalid(invalid) => invalid.diagnostics.as_slice(),
            _ => &[],
        }
    }

    /// What to do about it, where the text does not say it.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        match &*self.0 {
            Reason::Argument { advice, .. } | Reason::Taken { advice, .. } | Reason::Results { advice, .. } => {
                Some(advice.text())
            }
            Reason::Output(error) => about_output(error),
            Reason::Journal(error) => about_journal(error),
            Reason::Threads(_) => Some("ask for fewer threads"),
            Reason::Invalid(_)
            | Reason::Inspect(_)
            | Reason::Table(_)
            | Reason::Plugin(_)
            | Reason::Broken(_)
            | Reason::Stopped => None,
        }
    }
}

/// What to do about an error. The command line says it with its flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// The same wherever it is said.
    Same(String),
    /// To write elsewhere, or replace what is there.
    OtherPlace,
    /// To do that, or keep only the runs of what is there.
    OtherPlaceOrRuns,
    /// To ask when all parts of a study are together.
    MergeParts,
    /// To write a workload otherwise.
    NameWorkload,
    /// To name another label.
    NameLabel,
}

impl Advice {
    fn text(&self) -> &str {
        match self {
            Self::Same(text) => text,
            Self::OtherPlace => "choose another directory, or replace it with `WriteOptions::force`",
            Self::OtherPlaceOrRuns => {
                "choose another directory, or replace it with `WriteOptions::force`, or keep only its runs with \
                 `SweepOptions::resume`"
            }
            Self::MergeParts => {
                "sweep the parts, write what `StudyOutcome::merge` makes of them, and resume `Study::tune_to` in its directory"
            }
            Self::NameWorkload => "write kind/namespace/name, such as `deployment/shop/web`",
            Self::NameLabel => "name a label that nodes have, such as `topology.example.com/rack`",
        }
    }
}

impl From<&str> for Advice {
    fn from(text: &str) -> Self {
        Self::Same(text.to_owned())
    }
}

impl From<String> for Advice {
    fn from(text: String) -> Self {
        Self::Same(text)
    }
}

fn about_output(error: &OutputError) -> Option<&'static str> {
    match error {
        OutputError::NotOurs(..) => Some("choose another directory, or replace it with `WriteOptions::force`"),
        OutputError::InTheWay(_) => Some("move it, or choose another directory"),
        OutputError::NoPlace(_) | OutputError::Holds { .. } => Some("choose another directory"),
        OutputError::Busy(_) => Some("wait for it, or choose another directory"),
        OutputError::Io { .. } => None,
    }
}

fn about_journal(error: &JournalError) -> Option<&'static str> {
    match error {
        JournalError::Interrupted(_) => Some(
            "go on with `SweepOptions::resume`, begin anew with `WriteOptions::force`, or choose another directory",
        ),
        JournalError::Running(_) => Some("wait for it, or choose another directory"),
        JournalError::OtherStudy(..) | JournalError::OtherShard { .. } => {
            Some("choose another directory, or begin anew with `WriteOptions::force`")
        }
        JournalError::Broken { .. } => {
            Some("remove that line to play its run again, or begin anew with `WriteOptions::force`")
        }
        JournalError::Io { .. } => None,
    }
}

impl fmt::Debug for Error {
    /// The text, as programs that give up print this form.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")?;
        self.help().map_or(Ok(()), |help| write!(formatter, "\n  = help: {help}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Reason::Invalid(invalid) => invalid.fmt(formatter),
            Reason::Output(error) => error.fmt(formatter),
            Reason::Journal(error) => error.fmt(formatter),
            Reason::Inspect(error) => error.fmt(formatter),
            Reason::Table(error) => error.fmt(formatter),
            Reason::Plugin(failure) => failure.fmt(formatter),
            Reason::Threads(why) => write!(formatter, "cannot start threads: {why}"),
            Reason::Argument { message, .. } | Reason::Taken { message, .. } | Reason::Results { message, .. } => {
                formatter.write_str(message)
            }
            Reason::Broken(what) => formatter.write_str(what),
            Reason::Stopped => formatter.write_str("stopped before the end"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Reason::Output(error) => error.source(),
            Reason::Journal(error) => error.source(),
            Reason::Inspect(error) => error.source(),
            Reason::Table(error) => error.source(),
            Reason::Plugin(failure) => failure.source(),
            Reason::Invalid(_)
            | Reason::Argument { .. }
            | Reason::Taken { .. }
            | Reason::Results { .. }
            | Reason::Threads(_)
            | Reason::Broken(_)
            | Reason::Stopped => None,
        }
    }
}

impl From<Reason> for Error {
    fn from(reason: Reason) -> Self {
        Self(Box::new(reason))
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Reason::Invalid(invalid).into()
    }
}

impl From<PluginFailure> for Error {
    fn from(failure: PluginFailure) -> Self {
        Reason::Plugin(failure).into()
    }
}

impl From<InvalidShard> for Error {
    fn from(error: InvalidShard) -> Self {
        Self::argument(error.to_string(), "parts are counted from 1 to as many as there are")
    }
}

impl From<InvalidCostBy> for Error {
    fn from(InvalidCostBy { message, help }: InvalidCostBy) -> Self {
        Self::argument(message, help)
    }
}

impl From<InvalidRareEvent> for Error {
    fn from(error: InvalidRareEvent) -> Self {
        let InvalidRareEvent { message, help } = error;
        Self::argument(message, help)
    }
}

impl From<OutputError> for Error {
    fn from(error: OutputError) -> Self {
        Reason::Output(error).into()
    }
}

impl From<JournalError> for Error {
    fn from(error: JournalError) -> Self {
        Reason::Journal(error).into()
    }
}

impl From<InspectError> for Error {
    fn from(error: InspectError) -> Self {
        Reason::Inspect(error).into()
    }
}

impl From<ExportError> for Error {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Table(error) => error.into(),
            #[cfg(feature = "png")]
            ExportError::Picture { .. } => Self::results(error.to_string(), "do without PNG: the SVG is whole"),
        }
    }
}

impl From<TableError> for Error {
    fn from(error: TableError) -> Self {
        Reason::Table(error).into()
    }
}
