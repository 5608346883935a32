//! Why a document cannot be used.

use crate::diagnostics::{Diagnostic, Diagnostics, Sources};

/// Why a document cannot be used.
#[derive(Clone, Debug)]
pub struct Invalid {
    /// Every problem, by file and position; warnings are among them.
    pub diagnostics: Diagnostics,
    /// The texts they are about.
    pub sources: Sources,
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.diagnostics.render(&self.sources, crate::diagnostics::Style::Plain, usize::MAX);
        formatter.write_str(text.trim_end())
    }
}

impl std::error::Error for Invalid {}

impl Invalid {
    pub(crate) fn of(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: diagnostic.into(), sources: Sources::new() }
    }
}
