//! What commands work on, and how strictly what they write is read.

use std::fmt;

use super::super::resource::{Kind, Target};
use crate::model::LabelSelector;

/// What the API server does about what is no field of an object.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// It refuses the object.
    #[default]
    Strict,
    /// It warns, and drops the field.
    Warn,
    /// It drops the field.
    Ignore,
}

/// What a command works on: named objects, or a selection.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Named objects.
    pub targets: Vec<Target>,
    /// The kinds of a selection by label or of all.
    pub kinds: Vec<Kind>,
    /// `-l`.
    pub selector: Option<LabelSelector>,
    /// `--all`.
    pub all: bool,
    /// `-l` as it is written.
    pub label_text: String,
    /// `--field-selector`.
    pub fields: FieldSelector,
    /// `-n`; `default` without it.
    pub namespace: String,
    /// Whether `-n` is given: an object of a file must then be of no other namespace.
    pub is_namespace_given: bool,
    /// Of objects of files the labels count that they have, not those of the file.
    pub reads_before: bool,
    /// `-A`.
    pub all_namespaces: bool,
}

impl Selection {
    /// `-n`, if it is given.
    #[must_use]
    pub fn given_namespace(&self) -> Option<&str> {
        Some(self.namespace.as_str()).filter(|_| self.is_namespace_given)
    }

    /// Whether it selects, rather than names.
    #[must_use]
    pub fn is_selecting(&self) -> bool {
        self.all || self.selector.is_some() || !self.fields.is_empty()
    }
}

/// `--field-selector`: fields and the values that they must have, or must not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(pub Vec<FieldRequirement>);

/// One field of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRequirement {
    /// The field's path, such as `spec.nodeName`.
    pub field: String,
    /// The value.
    pub value: String,
    /// `!=`.
    pub is_negated: bool,
}

impl FieldSelector {
    /// Reads `a=b,c!=d`.
    ///
    /// # Errors
    /// The part that is no requirement.
    ///
    /// # Source
    /// apimachinery, `fields.ParseSelector`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let requirements = parts.map(|part| {
            let signs = [("!=", true), ("==", false), ("=", false)];
            let split = signs.iter().find_map(|(sign, is_negated)| Some((part.split_once(sign)?, *is_negated)));
            let ((field, value), is_negated) = split.ok_or_else(|| part.to_owned())?;
            Ok(FieldRequirement { field: field.to_owned(), value: value.to_owned(), is_negated })
        });
        requirements.collect::<Result<_, _>>().map(Self)
    }

    /// Whether everything matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, FieldRequirement { field, value, is_negated }) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{field}{}{value}", if *is_negated { "!=" } else { "=" })?;
        }
        Ok(())
    }
}
