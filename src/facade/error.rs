//! Why something cannot be done.

use std::fmt;

use crate::diagnostics::Diagnostic;
use crate::inspect::InspectError;
use crate::report::{OutputError, TableError};
use crate::scenario::Invalid;
use crate::study::JournalError;

/// Why something cannot be done, and who can help it.
///
/// Its text is for people. What is wrong with documents and manifests is in [`diagnostics`](Error::diagnostics), every problem at
/// once, each with its place and a way out.
pub struct Error(Box<Kind>);

/// What the command line has more to say of.
#[derive(Debug)]
pub(crate) enum Kind {
    /// The user's text.
    Invalid(Invalid),
    /// A directory that cannot be written.
    Output(OutputError),
    /// The journal of a study.
    Journal(JournalError),
    /// A directory of results that cannot be read.
    Inspect(InspectError),
    /// A table of such a directory.
    Table(TableError),
    /// The user's arguments: what was tried, and what to do.
    Input { message: String, help: String },
    /// An invariant of ours.
    Broken(String),
}

impl Error {
    pub(super) fn input(message: impl Into<String>, help: impl Into<String>) -> Self {
        Kind::Input { message: message.into(), help: help.into() }.into()
    }

    #[cfg(feature = "cli")]
    pub(crate) fn into_kind(self) -> Kind {
        *self.0
    }

    /// Whether the operating system refused to read or write a file; what was tried may go well another time.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(&*self.0, Kind::Output(OutputError::Io { .. }) | Kind::Journal(JournalError::Io { .. }))
    }

    /// Whether the input or the arguments are to blame: a document, a manifest, a directory of results, a path, an option.
    #[must_use]
    pub fn is_input(&self) -> bool {
        !self.is_io() && !self.is_bug()
    }

    /// Whether it is a bug of kubesquall, which only [`Scenario::verify`](crate::Scenario::verify) can find.
    #[must_use]
    pub fn is_bug(&self) -> bool {
        matches!(&*self.0, Kind::Broken(_))
    }

    /// What is wrong with documents and manifests, by file and position, warnings among it. Empty if something else is wrong.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match &*self.0 {
            Kind::Invalid(invalid) => invalid.diagnostics.as_slice(),
            _ => &[],
        }
    }

    /// What to do about it, where the text does not say it.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        match &*self.0 {
            Kind::Input { help, .. } => Some(help),
            _ => None,
        }
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
            Kind::Invalid(invalid) => invalid.fmt(formatter),
            Kind::Output(error) => error.fmt(formatter),
            Kind::Journal(error) => error.fmt(formatter),
            Kind::Inspect(error) => error.fmt(formatter),
            Kind::Table(error) => error.fmt(formatter),
            Kind::Input { message, .. } => formatter.write_str(message),
            Kind::Broken(what) => formatter.write_str(what),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Kind::Output(error) => error.source(),
            Kind::Journal(error) => error.source(),
            Kind::Inspect(error) => error.source(),
            Kind::Table(error) => error.source(),
            Kind::Invalid(_) | Kind::Input { .. } | Kind::Broken(_) => None,
        }
    }
}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self(Box::new(kind))
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Kind::Invalid(invalid).into()
    }
}

impl From<OutputError> for Error {
    fn from(error: OutputError) -> Self {
        Kind::Output(error).into()
    }
}

impl From<JournalError> for Error {
    fn from(error: JournalError) -> Self {
        Kind::Journal(error).into()
    }
}

impl From<InspectError> for Error {
    fn from(error: InspectError) -> Self {
        Kind::Inspect(error).into()
    }
}

impl From<TableError> for Error {
    fn from(error: TableError) -> Self {
        Kind::Table(error).into()
    }
}
