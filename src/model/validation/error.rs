//! What is wrong with a field, in the API server's words.

use std::fmt::{self, Display};

use serde::Serialize;

use super::path::Path;
use crate::arena::Symbol;
use crate::model::field_path::FieldPath;
use crate::units::Quantity;

/// In which way a field is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// There must be a value.
    Required,
    /// The value cannot be.
    Invalid,
    /// The value is none of those that exist.
    NotSupported,
    /// There may be no such value here.
    Forbidden,
    /// The value may be there once.
    Duplicate,
    /// What the value names is not there.
    NotFound,
    /// The text is too long.
    TooLong,
    /// The list is too long.
    TooMany,
}

impl ErrorKind {
    /// The API server's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::Duplicate => "Duplicate value",
            Self::NotFound => "Not found",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }
}

/// One field that the API server refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field, as the server writes it.
    pub field: String,
    /// In which way it is wrong.
    pub kind: ErrorKind,
    /// The value as the server prints it; none if it does not.
    pub value: Option<String>,
    /// What would be right; may be empty.
    pub detail: String,
    /// The way into the document.
    pub path: FieldPath,
}

impl FieldError {
    /// What is said of the field.
    #[must_use]
    pub fn body(&self) -> String {
        let mut text = self.kind.as_str().to_owned();
        for part in self.value.iter().map(String::as_str).chain([self.detail.as_str()]) {
            if !part.is_empty() {
                text.push_str(": ");
                text.push_str(part);
            }
        }
        text
    }
}

impl Display for FieldError {
    /// `spec.replicas: Invalid value: -1: must be greater than or equal to 0`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.body())
    }
}

/// A value as errors print it.
pub(super) enum Shown {
    Text(String),
    Omitted,
}

/// What errors can print.
pub(super) trait Show {
    fn show(&self) -> Shown;
}

impl Show for str {
    fn show(&self) -> Shown {
        Shown::Text(format!("{self:?}"))
    }
}

impl Show for Symbol {
    fn show(&self) -> Shown {
        self.as_str().show()
    }
}

impl Show for Quantity {
    fn show(&self) -> Shown {
        self.to_string().as_str().show()
    }
}

impl Show for i64 {
    fn show(&self) -> Shown {
        Shown::Text(self.to_string())
    }
}

impl Show for i32 {
    fn show(&self) -> Shown {
        i64::from(*self).show()
    }
}

impl Show for usize {
    fn show(&self) -> Shown {
        Shown::Text(self.to_string())
    }
}

/// A value that errors print as JSON.
pub(super) struct Json<'a, T: ?Sized>(pub(super) &'a T);

impl<T: Serialize + ?Sized> Show for Json<'_, T> {
    fn show(&self) -> Shown {
        Shown::Text(serde_json::to_string(self.0).unwrap_or_default())
    }
}

/// A value that is JSON already.
pub(super) struct Raw(pub(super) String);

impl Show for Raw {
    fn show(&self) -> Shown {
        Shown::Text(self.0.clone())
    }
}

/// A value that errors do not print.
pub(super) struct Hidden;

impl Show for Hidden {
    fn show(&self) -> Shown {
        Shown::Omitted
    }
}

/// Collects errors in the order in which the server would find them.
#[derive(Debug, Default)]
pub(super) struct Errors(pub(super) Vec<FieldError>);

impl Errors {
    fn push(&mut self, path: &Path<'_>, kind: ErrorKind, value: Option<String>, detail: String) {
        self.0.push(FieldError { field: path.to_string(), kind, value, detail, path: path.steps() });
    }

    pub(super) fn required(&mut self, path: &Path<'_>, detail: &str) {
        self.push(path, ErrorKind::Required, None, detail.to_owned());
    }

    pub(super) fn forbidden(&mut self, path: &Path<'_>, detail: impl Into<String>) {
        self.push(path, ErrorKind::Forbidden, None, detail.into());
    }

    pub(super) fn invalid(&mut self, path: &Path<'_>, value: &(impl Show + ?Sized), detail: impl Into<String>) {
        let value = match value.show() {
            Shown::Text(text) => Some(text),
            Shown::Omitted => None,
        };
        self.push(path, ErrorKind::Invalid, value, detail.into());
    }

    pub(super) fn duplicate(&mut self, path: &Path<'_>, value: &(impl Show + ?Sized)) {
        if let Shown::Text(text) = value.show() {
            self.push(path, ErrorKind::Duplicate, Some(text), String::new());
        }
    }

    /// The same with a word on what must be unique.
    pub(super) fn duplicate_with(&mut self, path: &Path<'_>, value: &(impl Show + ?Sized), detail: &str) {
        if let Shown::Text(text) = value.show() {
            self.push(path, ErrorKind::Duplicate, Some(text), detail.to_owned());
        }
    }

    pub(super) fn not_found(&mut self, path: &Path<'_>, value: &str) {
        self.push(path, ErrorKind::NotFound, Some(format!("{value:?}")), String::new());
    }

    pub(super) fn not_supported(&mut self, path: &Path<'_>, value: &str, supported: &[&str]) {
        self.unsupported(path, value, supported);
    }

    /// The same of a value that is no text.
    pub(super) fn unsupported(&mut self, path: &Path<'_>, value: &(impl Show + ?Sized), supported: &[&str]) {
        let supported: Vec<String> = supported.iter().map(|word| format!("{word:?}")).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        if let Shown::Text(value) = value.show() {
            self.push(path, ErrorKind::NotSupported, Some(value), detail);
        }
    }

    pub(super) fn too_long(&mut self, path: &Path<'_>, length_max: usize) {
        let detail = format!("may not be more than {length_max} bytes");
        self.push(path, ErrorKind::TooLong, None, detail);
    }

    pub(super) fn too_many(&mut self, path: &Path<'_>, count: usize, count_max: usize) {
        let detail = format!("must have at most {count_max} items");
        self.push(path, ErrorKind::TooMany, Some(count.to_string()), detail);
    }

    /// One error for each thing that is wrong with a text.
    pub(super) fn texts(&mut self, path: &Path<'_>, value: &str, problems: Vec<String>) {
        for problem in problems {
            self.invalid(path, value, problem);
        }
    }

    pub(super) fn non_negative(&mut self, path: &Path<'_>, value: impl Into<i64>) {
        let value = value.into();
        if value < 0 {
            self.invalid(path, &value, "must be greater than or equal to 0");
        }
    }

    pub(super) fn positive(&mut self, path: &Path<'_>, value: impl Into<i64>) {
        let value = value.into();
        if value <= 0 {
            self.invalid(path, &value, "must be greater than zero");
        }
    }

    /// A field that an update may not change.
    pub(super) fn immutable<T: PartialEq + Serialize>(&mut self, path: &Path<'_>, new: &T, old: &T) {
        if new != old {
            self.invalid(path, &Json(new), "field is immutable");
        }
    }
}
