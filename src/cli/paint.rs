//! Colors.

use crate::diagnostics::Style;

/// Colors what is told on a terminal.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    pub(super) style: Style,
}

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        match self.style {
            Style::Plain => text.to_owned(),
            Style::Colored => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(super) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.wrap("1;31", text)
    }
}
