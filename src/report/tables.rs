//! Reads a run's CSVs back: the only source of its pictures, and of what is asked of it later.

use std::path::Path;

/// A table as text, with columns by name.
#[derive(Debug, Default)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<csv::StringRecord>,
}

impl Table {
    /// Reads a file; an absent or unreadable one reads as empty.
    pub(crate) fn read(path: &Path) -> Self {
        let Ok(mut reader) = csv::Reader::from_path(path) else { return Self::default() };
        let header = reader.headers().map(|h| h.iter().map(str::to_owned).collect()).unwrap_or_default();
        Self { header, rows: reader.records().filter_map(Result::ok).collect() }
    }

    /// The position of a column; positions of absent ones read as empty text.
    pub(crate) fn column(&self, name: &str) -> usize {
        self.header.iter().position(|h| h == name).unwrap_or(usize::MAX)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &csv::StringRecord> {
        self.rows.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The text in a cell; empty if there is none.
pub(crate) fn text(row: &csv::StringRecord, column: usize) -> &str {
    row.get(column).unwrap_or("")
}

/// The number in a cell; 0 if there is none.
pub(crate) fn number(row: &csv::StringRecord, column: usize) -> f64 {
    text(row, column).parse().unwrap_or(0.0)
}

/// The number in a cell, if there is one.
pub(crate) fn maybe_number(row: &csv::StringRecord, column: usize) -> Option<f64> {
    text(row, column).parse().ok()
}
