//! The library's errors as Python's: `kubesquall/_errors.py` has their classes.

use std::any::Any;
use std::error::Error as _;

use kubesquall::{Diagnostic, Error, ErrorKind};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Why work ends without a result.
pub(crate) enum Failure {
    /// The library says why.
    Library(Error),
    /// Nobody wants it any more.
    Stopped,
    /// What Python code raised that took part in the work.
    Raised(PyErr),
    /// A bug.
    Panic(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if error.kind() == ErrorKind::Stopped { Self::Stopped } else { Self::Library(error) }
    }
}

impl Failure {
    /// What was thrown.
    pub(crate) fn of_panic(thrown: &(dyn Any + Send)) -> Self {
        let text =
            thrown.downcast_ref::<String>().map(String::as_str).or_else(|| thrown.downcast_ref::<&str>().copied());
        Self::Panic(text.unwrap_or("a panic without words").to_owned())
    }

    pub(crate) fn into_exception(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Library(error) => exception(py, &error),
            Self::Stopped => PyKeyboardInterrupt::new_err(()),
            Self::Raised(raised) => raised,
            Self::Panic(what) => {
                made(py, "InternalError", &format!("an invariant of kubesquall broke: {what}"), None, &[])
            }
        }
    }
}

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::Document => "InputError",
        ErrorKind::Argument => "ArgumentError",
        ErrorKind::Place => "PlaceError",
        ErrorKind::Results => "ResultsError",
        ErrorKind::System => "HostError",
        ErrorKind::Plugin => "PluginError",
        ErrorKind::Bug => "InternalError",
        _ => "KubesquallError",
    };
    let made = made(py, class, &error.to_string(), error.help(), error.diagnostics());
    // What a function of the user's raised, with its traceback.
    if let Some(raised) = error.source().and_then(|source| source.downcast_ref::<PyErr>()) {
        made.set_cause(py, Some(raised.clone_ref(py)));
    }
    made
}

fn made(py: Python<'_>, class: &str, message: &str, help: Option<&str>, diagnostics: &[Diagnostic]) -> PyErr {
    let make = || {
        let make = py.import("kubesquall._errors")?.getattr("_make")?;
        make.call1((class, message, help, json(diagnostics)))
    };
    make().map_or_else(|error| error, PyErr::from_value)
}

/// Problems as text that Python reads.
pub(crate) fn json(diagnostics: &[Diagnostic]) -> String {
    serde_json::to_string(diagnostics).expect("plain data")
}
