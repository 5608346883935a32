//! What a command failed of, in kubectl's words.

use crate::component::{ApiError, ErrorReason};

/// One error of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// kubectl's own, without the prefix that it gets when it stands alone; several belong to one object.
    Own(Vec<String>),
    /// The server's: as it is printed when it stands alone, and as it is printed among others.
    Server { alone: String, among: String },
}

impl Failure {
    /// kubectl's own error.
    pub(super) fn own(text: impl Into<String>) -> Self {
        Self::Own(vec![text.into()])
    }

    /// A line that reads the same everywhere.
    pub(super) fn line(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::Server { alone: text.clone(), among: text }
    }

    /// A refusal of the server; `source` is what was being done (`creating`) with which file, if with one.
    ///
    /// # Source
    /// kubectl, `StandardErrorMessage`, `checkErr` (an invalid object names its kind) and `AddSourceToErr`.
    pub(super) fn refusal(error: &ApiError, source: Option<(&str, &str)>) -> Self {
        let reason = match error.reason {
            ErrorReason::BadRequest => "BadRequest",
            ErrorReason::Forbidden => "Forbidden",
            ErrorReason::NotFound => "NotFound",
            ErrorReason::AlreadyExists => "AlreadyExists",
            ErrorReason::Conflict => "Conflict",
            ErrorReason::Invalid => "Invalid",
            ErrorReason::TooManyRequests => "TooManyRequests",
            ErrorReason::InternalError => "InternalError",
            ErrorReason::Unavailable => return Self::line(UNREACHABLE),
        };
        let source = source.map(|(doing, file)| format!("error when {doing} \"{file}\": ")).unwrap_or_default();
        let among = format!("Error from server ({reason}): {source}{}", error.message);
        let invalid = (error.reason == ErrorReason::Invalid).then(|| invalid(error)).flatten();
        Self::Server { alone: invalid.unwrap_or_else(|| among.clone()), among }
    }

    /// The same of an object of a file, with which something was being done.
    pub(super) fn with_source(self, doing: &str, file: &str) -> Self {
        match self {
            Self::Own(texts) => Self::own(format!("error when {doing} \"{file}\": {}", aggregated(&texts))),
            server @ Self::Server { .. } => server,
        }
    }

    /// Whether the server says that an object is not there.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Server { among, .. } if among.starts_with("Error from server (NotFound)"))
    }

    /// The error within a list of errors.
    fn among(&self) -> String {
        match self {
            Self::Own(texts) => aggregated(texts),
            Self::Server { among, .. } => among.clone(),
        }
    }
}

/// The server does not listen.
const UNREACHABLE: &str = "The connection to the server was refused - did you specify the right host or port?";

/// `Deployment.apps "web" is invalid: …` as kubectl tells it: the kind without its group, and each of several causes on a
/// line of its own.
///
/// # Source
/// kubectl, `checkErr` and `MultilineError`.
fn invalid(error: &ApiError) -> Option<String> {
    let (kind, rest) = error.message.split_once(" \"")?;
    let kind = kind.split('.').next().unwrap_or(kind);
    let (name, _) = rest.split_once("\" is invalid: ")?;
    Some(match error.causes.as_slice() {
        [] | [_] => format!("The {kind} \"{rest}"),
        causes => format!("The {kind} \"{name}\" is invalid: \n* {}", causes.join("\n* ")),
    })
}

/// Several errors as kubectl prints them in one line.
pub(super) fn aggregated(errors: &[String]) -> String {
    match errors {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// The lines on standard error.
///
/// # Source
/// kubectl, `checkErr`: one error of its own is printed as an error, of several each has a line as it is.
pub(super) fn lines(failures: &[Failure]) -> Vec<String> {
    match failures {
        [Failure::Own(texts)] => match texts.as_slice() {
            [text] if !text.starts_with("error: ") => format!("error: {text}").lines().map(str::to_owned).collect(),
            texts => texts.to_vec(),
        },
        [Failure::Server { alone, .. }] => alone.lines().map(str::to_owned).collect(),
        many => many
            .iter()
            .map(Failure::among)
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_error_is_called_so_and_several_are_not() {
        let check = |failures: &[Failure], expected: &[&str]| assert_eq!(lines(failures), expected);
        let refused = |reason, message: &str| Failure::refusal(&ApiError::new(reason, message), None);
        check(&[], &[]);
        check(&[Failure::own("taint \"k\" not found")], &["error: taint \"k\" not found"]);
        check(&[Failure::own("error: said already")], &["error: said already"]);
        let two = || Failure::Own(vec!["a".to_owned(), "b".to_owned()]);
        check(&[two()], &["a", "b"]);
        check(&[two(), Failure::own("c")], &["[a, b]", "c"]);
        let gone = || refused(ErrorReason::NotFound, "pods \"a\" not found");
        check(&[gone(), Failure::own("c")], &["Error from server (NotFound): pods \"a\" not found", "c"]);
        let bad = || refused(ErrorReason::Invalid, "Deployment.apps \"web\" is invalid: spec.x: Forbidden: no");
        check(&[bad()], &["The Deployment \"web\" is invalid: spec.x: Forbidden: no"]);
        let refusal =
            ApiError::new(ErrorReason::Invalid, "Deployment.apps \"web\" is invalid: [a: Forbidden, b: Forbidden]");
        let causes = ["a: Forbidden", "b: Forbidden"].map(str::to_owned).to_vec();
        let both = Failure::refusal(&ApiError { causes, ..refusal }, None);
        check(&[both], &["The Deployment \"web\" is invalid: ", "* a: Forbidden", "* b: Forbidden"]);
        let among = "Error from server (Invalid): Deployment.apps \"web\" is invalid: spec.x: Forbidden: no";
        check(&[bad(), Failure::own("c")], &[among, "c"]);
    }

    #[test]
    fn a_refusal_names_the_file_that_it_is_about() {
        let error = ApiError::new(ErrorReason::AlreadyExists, "pods \"a\" already exists");
        let failure = Failure::refusal(&error, Some(("creating", "a.yaml")));
        let line = "Error from server (AlreadyExists): error when creating \"a.yaml\": pods \"a\" already exists";
        assert_eq!(lines(&[failure]), [line]);
    }
}
