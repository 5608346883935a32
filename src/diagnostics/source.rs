//! Texts and places in them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// A text with a name: a file, or what stands for one, such as `--set`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name that diagnostics show.
    pub name: Arc<str>,
    /// All of the text.
    pub text: Arc<str>,
}

impl Source {
    /// A text with a name.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// The texts that diagnostics may quote, by name.
#[derive(Clone, Debug, Default)]
pub struct Sources(BTreeMap<Arc<str>, Arc<str>>);

impl Sources {
    /// No texts; diagnostics then show places without quoting them.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text; one of the same name is replaced.
    pub fn insert(&mut self, source: Source) {
        self.0.insert(source.name, source.text);
    }

    /// Adds all texts of others.
    pub fn insert_all(&mut self, others: &Self) {
        self.0.extend(others.0.iter().map(|(name, text)| (Arc::clone(name), Arc::clone(text))));
    }

    /// The text of that name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&Arc<str>> {
        self.0.get(name)
    }
}

impl FromIterator<Source> for Sources {
    fn from_iter<I: IntoIterator<Item = Source>>(sources: I) -> Self {
        Self(sources.into_iter().map(|source| (source.name, source.text)).collect())
    }
}

/// A stretch of one line of a text. Places order by file, line and column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Location {
    /// The name of the source.
    pub file: Arc<str>,
    /// Counted from 1; 0 if the line is unknown and only the file is meant.
    pub line: u32,
    /// In characters, counted from 1.
    pub column: u32,
    /// In characters; drawn as one caret at the least, and never beyond the line's end.
    pub length: u32,
}

impl fmt::Display for Location {
    /// `scenario.yaml:4:24`; of a whole file its name.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole_file() {
            return formatter.write_str(&self.file);
        }
        write!(formatter, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl Location {
    /// A stretch of a line.
    #[must_use]
    pub fn new(file: impl Into<Arc<str>>, line: u32, column: u32, length: u32) -> Self {
        Self { file: file.into(), line, column, length }
    }

    /// A file as a whole.
    #[must_use]
    pub fn file(file: impl Into<Arc<str>>) -> Self {
        Self::new(file, 0, 0, 0)
    }

    /// Whether only the file is known.
    #[must_use]
    pub fn is_whole_file(&self) -> bool {
        self.line == 0
    }
}
