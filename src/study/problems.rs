//! Everything that is wrong with a study or a plan and the scenarios it names, each once.

use crate::diagnostics::{Diagnostic, Diagnostics, Source, Sources};
use crate::scenario::Invalid;

/// Problems that were found so far, with the texts they are about.
pub(super) struct Problems {
    diagnostics: Diagnostics,
    sources: Sources,
}

impl Problems {
    /// Those of a document, of which this is the text.
    pub(super) fn of(document: Source, diagnostics: Diagnostics) -> Self {
        Self { diagnostics, sources: Sources::from_iter([document]) }
    }

    /// Adds a problem, unless it has been said.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        if !self.knows(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Whether that has been said.
    pub(super) fn knows(&self, diagnostic: &Diagnostic) -> bool {
        self.diagnostics.iter().any(|known| known == diagnostic)
    }

    /// Orders those that were found so far by file and position; those of scenarios come behind, as each is told.
    pub(super) fn sort(&mut self) {
        self.diagnostics.sort();
    }

    /// Adds what is wrong with a scenario; says how much of it was new.
    pub(super) fn absorb(&mut self, diagnostics: &Diagnostics, sources: &Sources) -> usize {
        let before = self.diagnostics.len();
        diagnostics.iter().for_each(|diagnostic| self.push(diagnostic.clone()));
        self.sources.insert_all(sources);
        self.diagnostics.len() - before
    }

    /// The value, or none and what is wrong with it.
    pub(super) fn take<T>(&mut self, found: Result<T, Invalid>) -> Option<T> {
        found.map_err(|invalid| self.absorb(&invalid.diagnostics, &invalid.sources)).ok()
    }

    /// Whether one of them makes the document unusable.
    pub(super) fn has_errors(&self) -> bool {
        self.diagnostics.has_errors()
    }

    /// All of them, as an error.
    pub(super) fn refuse(self) -> Invalid {
        Invalid { diagnostics: self.diagnostics, sources: self.sources }
    }

    /// The warnings with the texts they are about, if there is nothing worse.
    ///
    /// # Errors
    ///
    /// Everything, if there is.
    pub(super) fn end(self) -> Result<(Diagnostics, Sources), Invalid> {
        if self.has_errors() { Err(self.refuse()) } else { Ok((self.diagnostics, self.sources)) }
    }
}
