//! Problems with the user's text, as data.

use std::fmt;

use serde::Serialize;

use super::Location;

/// Whether a problem stops the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The text cannot be used.
    Error,
    /// The text can be used; it may not mean what its author thinks.
    Warning,
}

impl Severity {
    /// The word that users see.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A place with a remark on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Label {
    /// Where.
    pub location: Location,
    /// What is there; may be empty.
    pub text: String,
}

/// One problem with the user's text.
///
/// Messages are lower case, without a full stop, and name the offending text and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[must_use]
pub struct Diagnostic {
    /// Stable, with the room in front: `scenario::unknown_field`.
    pub code: &'static str,
    /// Whether it stops the program.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// Where; the first place is the problem's own, others are what it refers to.
    pub labels: Vec<Label>,
    /// What can be done about it.
    pub help: Vec<String>,
}

impl fmt::Display for Diagnostic {
    /// One line: `error[scenario::unknown_field]: … (scenario.yaml:4:24)`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}[{}]: {}", self.severity, self.code, self.message)?;
        self.location().map_or(Ok(()), |location| write!(formatter, " ({location})"))
    }
}

impl Diagnostic {
    /// A problem that stops the program.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, severity: Severity::Error, message: message.into(), labels: Vec::new(), help: Vec::new() }
    }

    /// A problem that does not.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Adds a place, with a remark that may be empty.
    pub fn at(mut self, location: Location, text: impl Into<String>) -> Self {
        self.labels.push(Label { location, text: text.into() });
        self
    }

    /// Adds a hint.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// The problem's own place.
    #[must_use]
    pub fn location(&self) -> Option<&Location> {
        self.labels.first().map(|label| &label.location)
    }
}

/// Problems, in the order they were found until sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// No problems.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a problem.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Whether one of them stops the program.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn as_slice(&self) -> &[Diagnostic] {
        &self.0
    }

    /// One after the other.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// Leaves out those from a position on that follow from others.
    pub(crate) fn leave_out(&mut self, from: usize, follows: impl Fn(&Diagnostic) -> bool) {
        let told = self.0.split_off(from);
        self.0.extend(told.into_iter().filter(|diagnostic| !follows(diagnostic)));
    }

    /// Orders by file and position; problems without a place come first. Problems of one place keep their order.
    pub fn sort(&mut self) {
        self.0.sort_by(|a, b| a.location().cmp(&b.location()));
    }

    /// The same, ordered by file and position.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.sort();
        self
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self(diagnostics)
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Self {
        Self(diagnostics.into_iter().collect())
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        self.0.extend(diagnostics);
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_sort_by_file_and_position() {
        let at = |name: &'static str, file: &str, line, column| {
            Diagnostic::error(name, "").at(Location::new(file, line, column, 1), "")
        };
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(at("d", "b.yaml", 1, 1));
        diagnostics.push(at("c", "a.yaml", 10, 1));
        diagnostics.push(at("b", "a.yaml", 9, 2));
        diagnostics.push(Diagnostic::warning("a", ""));
        diagnostics.push(at("b2", "a.yaml", 9, 2));
        let codes: Vec<_> = diagnostics.sorted().iter().map(|diagnostic| diagnostic.code).collect();
        assert_eq!(codes, ["a", "b", "b2", "c", "d"]);
    }

    #[test]
    fn warnings_are_no_errors() {
        let mut diagnostics = Diagnostics::from(Diagnostic::warning("a::b", "odd"));
        assert!(!diagnostics.has_errors() && diagnostics.len() == 1);
        diagnostics.push(Diagnostic::error("a::c", "wrong"));
        assert!(diagnostics.has_errors());
    }
}
