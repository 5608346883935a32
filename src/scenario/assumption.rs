//! What the input does not say and a run takes for granted.
//!
//! Whoever takes something for granted adds an [`Assumption`]; `summary.json`, the summary on the terminal and `check -v` say
//! them all. Nothing here changes a run.

use serde::{Deserialize, Serialize};

/// Objects that an assumption names; the others are counted.
const NAMED_MAX: usize = 5;

/// Something that the input does not say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// A stable name, such as `podRequests`.
    pub name: String,
    /// What is taken for granted, as a sentence without a full stop.
    pub text: String,
    /// How many objects it is about; 0 if it is about the cluster as a whole.
    pub count: usize,
    /// Some of these objects.
    #[serde(default)]
    pub objects: Vec<String>,
    /// What it changes.
    pub effect: String,
    /// The field or flag that says otherwise.
    pub change: String,
}

impl Assumption {
    /// An assumption about the cluster as a whole.
    #[must_use]
    pub fn new(name: &str, text: impl Into<String>, effect: &str, change: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: text.into(),
            count: 0,
            objects: Vec::new(),
            effect: effect.to_owned(),
            change: change.to_owned(),
        }
    }

    /// The same about these objects.
    #[must_use]
    pub fn about(mut self, objects: impl IntoIterator<Item = String>) -> Self {
        for object in objects {
            self.count += 1;
            if self.objects.len() < NAMED_MAX {
                self.objects.push(object);
            }
        }
        self
    }

    /// The same about these objects; none if there are none.
    #[must_use]
    pub fn about_any(self, objects: impl IntoIterator<Item = String>) -> Option<Self> {
        Some(self.about(objects)).filter(|assumption| assumption.count > 0)
    }
}
