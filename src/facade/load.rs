//! How documents are read.

use serde_json::Value;

use crate::scenario::Overrides;

/// How a document is read: with which other values than it says.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    set: Vec<String>,
    seed: Option<u64>,
    allows_partial: bool,
    is_of_command_line: bool,
}

impl LoadOptions {
    /// As it says.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With another value, as `--set` takes it: `spec.timeline[0].at=2m`. Of a study or plan it is one of all its scenarios. The last of
    /// several for one path counts.
    #[must_use]
    pub fn set(mut self, assignment: impl Into<String>) -> Self {
        self.set.push(assignment.into());
        self
    }

    /// With another seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Whether to go on without objects that cannot be read, that the API server would refuse, or that are written twice.
    #[must_use]
    pub fn allow_partial(mut self, is_allowed: bool) -> Self {
        self.allows_partial = is_allowed;
        self
    }

    /// For somebody who can give flags. Nobody asks for the scenario with other values then, so that files are forgotten once they are
    /// read: large ones would be large twice.
    #[cfg(feature = "cli")]
    pub(crate) fn of_command_line(mut self) -> Self {
        self.is_of_command_line = true;
        self
    }

    pub(super) fn is_of_command_line(&self) -> bool {
        self.is_of_command_line
    }

    /// The values that were set.
    pub(super) fn assignments(&self) -> &[String] {
        &self.set
    }

    pub(super) fn overrides(&self) -> Overrides {
        let mut overrides: Overrides = self.set.iter().cloned().collect();
        if let Some(seed) = self.seed {
            overrides.set("spec.seed", &seed.to_string());
        }
        if self.allows_partial {
            overrides.set("spec.cluster.allowPartial", "true");
        }
        if self.is_of_command_line { overrides } else { overrides.for_program() }
    }
}

/// A document as its text: YAML with a line for each field, so that messages have places to point at.
pub(super) fn text_of(document: &Value) -> String {
    format!("{document:#}")
}
