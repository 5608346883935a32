//! The tables of a run's directory, each read once, when it is first asked for: charts, page and trace share them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::table::Table;
use super::tables::{TableError, rows_written};
use crate::observe::{self, ColumnInfo, TableInfo};

/// A table, once it has been read, or why it cannot be.
type Slot = OnceLock<Result<Arc<Table>, TableError>>;

/// The directory of a run, and those of its tables that have been read.
#[derive(Clone, Debug)]
pub struct RunTables {
    dir: PathBuf,
    summary: Value,
    tables: Vec<(TableInfo, Slot)>,
}

impl RunTables {
    /// The directory with this `summary.json`. Nothing else of it is read yet.
    #[must_use]
    pub fn new(dir: PathBuf, summary: Value) -> Self {
        let tables = observe::tables().into_iter().map(|table| (table, OnceLock::new())).collect();
        Self { dir, summary, tables }
    }

    /// The same after the directory has been moved.
    #[must_use]
    pub fn moved_to(self, dir: PathBuf) -> Self {
        Self { dir, ..self }
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The content of `summary.json`.
    #[must_use]
    pub fn summary(&self) -> &Value {
        &self.summary
    }

    /// What tables a run has.
    pub(super) fn infos(&self) -> impl Iterator<Item = &TableInfo> {
        self.tables.iter().map(|(info, _)| info)
    }

    /// A table, in which these columns are.
    ///
    /// # Errors
    ///
    /// If it is missing or damaged, or lacks one of them.
    ///
    /// # Panics
    ///
    /// If no run has such a table.
    pub(super) fn read(&self, file: &str, columns: &[&str]) -> Result<&Arc<Table>, TableError> {
        let (info, slot) = self.slot(file);
        let path = self.dir.join(file);
        let table = slot.get_or_init(|| Table::read_known(&path, self.rows_written(file), &info.columns).map(Arc::new));
        let table = table.as_ref().map_err(Clone::clone)?;
        table.expect(&path, columns)?;
        Ok(table)
    }

    /// These columns of a table, for somebody who needs no others and reads them once: nothing of it is kept here.
    ///
    /// # Errors
    ///
    /// If it is missing or damaged, or lacks one of them.
    ///
    /// # Panics
    ///
    /// If no run has such a table, or the table no such column.
    pub(crate) fn read_columns(&self, file: &str, columns: &[&'static str]) -> Result<Table, TableError> {
        let (info, _) = self.slot(file);
        let column = |name: &&str| *info.columns.iter().find(|column| column.name == *name).expect("a column of it");
        let wanted: Vec<ColumnInfo> = columns.iter().map(column).collect();
        let path = self.dir.join(file);
        let table = Table::read_known(&path, self.rows_written(file), &wanted)?;
        table.expect(&path, columns)?;
        Ok(table)
    }

    /// A table with those of its columns that there are; none if the run, being of an older version, has not written such a table.
    ///
    /// # Errors
    ///
    /// If its file is missing although the run has written it, or is damaged.
    pub(super) fn find(&self, file: &str) -> Result<Option<&Arc<Table>>, TableError> {
        if self.has_written(file) { self.read(file, &[]).map(Some) } else { Ok(None) }
    }

    /// Whether the run has written that table: an older version did not know all.
    pub(crate) fn has_written(&self, file: &str) -> bool {
        self.dir.join(file).exists() || self.summary["rows"].get(file).is_some()
    }

    fn rows_written(&self, file: &str) -> Option<u64> {
        rows_written(&self.summary, file)
    }

    fn slot(&self, file: &str) -> &(TableInfo, Slot) {
        self.tables.iter().find(|(info, _)| info.file == file).expect("a table of a run")
    }
}
