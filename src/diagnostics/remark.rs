//! What is said of results, and how it is meant.

use serde::Serialize;

/// Whether a sentence is good news.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Something is broken, lost or not done.
    Bad,
    /// Something went wrong, and is over.
    Healed,
    /// Good to know.
    Neutral,
    /// All is well, and was throughout.
    Good,
}

/// A sentence of the verdict of a study, a plan or a comparison: the same in the terminal, in JSON and on the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Whether it is good news.
    pub tone: Tone,
    /// What it says.
    pub text: String,
    /// What belongs to it. The later lines of one of several say why.
    pub details: Vec<String>,
}

impl Remark {
    /// One without details.
    #[must_use]
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { tone, text: text.into(), details: Vec::new() }
    }

    /// The same with one more detail.
    #[must_use]
    pub fn with(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }
}
