//! Where in a document a value stands, as a path of field names and positions.

use std::fmt;

use super::api_type::api_field_name;
use crate::arena::Symbol;

/// One step into a value.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Into a map, by key.
    Key(Symbol),
    /// Into a map, by the name of the Rust field that holds the value.
    Field(&'static str),
    /// Into a list, by position.
    Index(usize),
}

/// A path from the root of a document, such as `spec.containers[0].image`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath(Vec<Step>);

impl Step {
    /// The key of a step into a map.
    pub(crate) fn key(self) -> Option<Symbol> {
        match self {
            Self::Key(key) => Some(key),
            Self::Field(field) => Some(Symbol::from(api_field_name(field).as_str())),
            Self::Index(_) => None,
        }
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Index(one), Self::Index(other)) => one == other,
            _ => self.key().is_some() && self.key() == other.key(),
        }
    }
}

impl Eq for Step {}

impl FieldPath {
    /// The steps from the root.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    /// The path with every position replaced by nothing: what the same field of another item looks like.
    #[must_use]
    pub fn without_positions(&self) -> String {
        self.text(|_| "[]".to_owned())
    }

    fn text(&self, position: impl Fn(usize) -> String) -> String {
        let mut text = String::new();
        for step in &self.0 {
            match (*step, step.key()) {
                (Step::Index(index), _) => text.push_str(&position(index)),
                (_, Some(key)) if key.as_str().contains(['.', '[', ' ']) => {
                    text.push_str(&format!("[{:?}]", key.as_str()));
                }
                (_, key) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(key.map_or("", Symbol::as_str));
                }
            }
        }
        text
    }
}

impl From<&serde_ignored::Path<'_>> for FieldPath {
    fn from(path: &serde_ignored::Path<'_>) -> Self {
        fn collect(path: &serde_ignored::Path<'_>, steps: &mut Vec<Step>) {
            use serde_ignored::Path;
            match path {
                Path::Root => {}
                Path::Seq { parent, index } => {
                    collect(parent, steps);
                    steps.push(Step::Index(*index));
                }
                Path::Map { parent, key } => {
                    collect(parent, steps);
                    steps.push(Step::Key(Symbol::from(key.as_str())));
                }
                Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
                    collect(parent, steps);
                }
            }
        }
        let mut steps = Vec::new();
        collect(path, &mut steps);
        Self(steps)
    }
}

impl FromIterator<Step> for FieldPath {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text(|index| format!("[{index}]")))
    }
}
