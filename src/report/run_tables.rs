//! The tables of a run's directory, each read once, when it is first asked for: charts, page and trace share them.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::agreement_rows::tables_of_runs;
use super::csv::named_table_text;
use super::table::{Column, NOTHING, Table, Values, line};
use super::tables::{TableError, rows_written};
use crate::observe::{Cells, ColumnInfo, Observed, Row, TableInfo, TableVisitor};
use crate::units::SimTime;

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
        let tables = tables_of_runs().into_iter().map(|table| (table, OnceLock::new())).collect();
        Self { dir, summary, tables }
    }

    /// These tables of a run in memory, as its directory would have them. There are no others.
    #[must_use]
    pub(crate) fn in_memory(observed: &Observed, files: &[&str]) -> Self {
        let run = Self::new(PathBuf::new(), Value::Null);
        let Ok(()) = observed.visit(&mut Kept { run: &run, files: Some(files) });
        run
    }

    /// These tables of a run in memory with this `summary.json`, or all; `show` shows them.
    #[must_use]
    pub(crate) fn shown(summary: Value, files: Option<&[&str]>, show: impl FnOnce(Kept<'_>)) -> Self {
        let run = Self::new(PathBuf::new(), summary);
        show(Kept { run: &run, files });
        run
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
    pub(crate) fn read(&self, file: &str, columns: &[&str]) -> Result<&Arc<Table>, TableError> {
        let (info, slot) = self.slot(file);
        let path = self.dir.join(file);
        let table = slot.get_or_init(|| self.read_of(&path, file, &info.columns).map(Arc::new));
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
        let table = self.read_of(&path, file, &wanted)?;
        table.expect(&path, columns)?;
        Ok(table)
    }

    /// Reads those of these columns that there are, and sees to it that they are those of this run.
    fn read_of(&self, path: &Path, file: &str, columns: &[ColumnInfo]) -> Result<Table, TableError> {
        let table = Table::read_known(path, rows_written(&self.summary, file), columns)?;
        let end =
            self.summary["duration_s"].as_f64().map(|seconds| SimTime::from_millis((seconds * 1000.0).round() as i64));
        if let Some((index, problem)) = causeless(&table) {
            return Err(TableError::new(path, table.rows().nth(index).and_then(line), problem));
        }
        for column in table.columns() {
            let misplaced = misplaced(column, end);
            let Some((index, problem)) = misplaced else { continue };
            return Err(TableError::new(path, table.rows().nth(index).and_then(line), problem));
        }
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

    fn slot(&self, file: &str) -> &(TableInfo, Slot) {
        self.tables.iter().find(|(info, _)| info.file == file).expect("a table of a run")
    }
}

/// Takes tables of a run in memory.
pub(crate) struct Kept<'a> {
    run: &'a RunTables,
    /// None if all are wanted.
    files: Option<&'a [&'a str]>,
}

impl TableVisitor<'_> for Kept<'_> {
    type Error = Infallible;

    fn table<R: Row>(&mut self, rows: &[R]) -> Result<(), Infallible> {
        let TableInfo { file, columns, .. } = TableInfo::of::<R>();
        if self.files.is_some_and(|files| !files.contains(&file)) {
            return Ok(());
        }
        // As CSV, whatever the file is: cells are texts here as there.
        let text = named_table_text::<R>(&[], rows);
        let mut table = Table::new(columns);
        for record in csv::Reader::from_reader(text.as_slice()).into_records() {
            table.push(0, record.expect("a table that has been written").iter());
        }
        self.run.slot(file).1.set(Ok(Arc::new(table))).expect("a table is shown once");
        Ok(())
    }
}

/// The first row that follows from itself or from a later one, and what is wrong with it: chains of causes have to end.
fn causeless(table: &Table) -> Option<(usize, String)> {
    let numbers = |name: &str| {
        let column = table.columns().iter().find(|column| column.info.name == name)?;
        if let Values::Numbers(numbers) = &column.values { Some(numbers) } else { None }
    };
    let (effects, causes) = (numbers("effect_id")?, numbers("cause_id")?);
    let is_earlier = |index: usize| causes[index] == NOTHING || causes[index] < effects[index];
    if let Some(index) = (0..effects.len()).find(|index| !is_earlier(*index)) {
        return Some((index, format!("its cause {} is no earlier effect", causes[index])));
    }
    let back = (1..effects.len()).find(|index| effects[*index] <= effects[index - 1])?;
    Some((back, format!("`effect_id` is {}, behind the {} of the row above", effects[back], effects[back - 1])))
}

/// What a run waits for may come after it, and so may what was seen of the real cluster.
const MAY_COME_AFTER: [&str; 3] = ["due_s", "observed_s", "latest_s"];

/// The first row of a column with a time that no row of the run can have there, and what is wrong with it: one behind the end, or, where
/// rows are written as time goes on, one before that of the row above.
fn misplaced(column: &Column, end: Option<SimTime>) -> Option<(usize, String)> {
    let is_instant =
        matches!(column.info.cells, Cells::Time | Cells::MaybeTime) && !MAY_COME_AFTER.contains(&column.info.name);
    let Values::Times(times) = &column.values else { return None };
    let name = column.info.name;
    let at = |index: usize| SimTime::from_millis(times[index]);
    let is_late = |index: &usize| end.is_some_and(|end| is_instant && times[*index] != NOTHING && at(*index) > end);
    if let Some(late) = (0..times.len()).find(is_late) {
        let end = end.unwrap_or_default();
        return Some((late, format!("`{name}` is {}, and the run ends at {end} s by its summary.json", at(late))));
    }
    let is_back = |index: &usize| name == "time_s" && times[*index] < times[index - 1];
    let back = (1..times.len()).find(is_back)?;
    Some((back, format!("`{name}` is {}, before the {} of the row above", at(back), at(back - 1))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn causes_that_come_round_are_refused_whoever_reads_them() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let check = |rows: &str, expected: Option<u64>| {
            std::fs::write(dir.path().join("causes.csv"), format!("effect_id,time_s,what,cause_id\n{rows}"))
                .expect("a file");
            let run = RunTables::new(dir.path().to_owned(), json!({}));
            let found = run.find("causes.csv").err().map(|error| error.line.expect("a line"));
            assert_eq!(found, expected, "{rows}");
        };
        check("1,0.000,a,\n4,1.000,b,1\n", None);
        check("1,0.000,a,\n4,1.000,b,4\n", Some(3));
        check("1,0.000,a,4\n4,1.000,b,1\n", Some(2));
        check("4,0.000,a,\n4,1.000,b,\n", Some(3));
    }

    #[test]
    fn times_that_no_row_of_the_run_can_have_are_refused_with_their_line() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let run = RunTables::new(dir.path().to_owned(), json!({"duration_s": 600.0}));
        let read = |file: &str, columns: &[&'static str], content: &str| {
            std::fs::write(dir.path().join(file), content).expect("a file");
            run.read_columns(file, columns).map(|table| table.len()).map_err(|error| (error.line, error.problem))
        };
        let nodes = |content: &str| read("nodes.csv", &["time_s"], content);
        assert_eq!(nodes("time_s\n0.000\n0.000\n600.000\n"), Ok(3));
        let late = "`time_s` is 600.001, and the run ends at 600.000 s by its summary.json".to_owned();
        assert_eq!(nodes("time_s\n0.000\n600.001\n"), Err((Some(3), late)));
        let back = "`time_s` is 4.999, before the 5.000 of the row above".to_owned();
        assert_eq!(nodes("time_s\n0.000\n5.000\n4.999\n"), Err((Some(4), back)));
        // Waits may end after the run; their rows have no order of their own.
        let timers = |content: &str| read("timers.csv", &["set_s", "due_s", "ended_s"], content);
        assert_eq!(timers("set_s,due_s,ended_s\n9.000,900.000,\n3.000,4.000,4.000\n"), Ok(2));
        assert!(timers("set_s,due_s,ended_s\n9.000,900.000,900.000\n").is_err_and(|(line, _)| line == Some(2)));
        let lines = |content: &str| read("transcript.jsonl", &["at_s", "exit"], content);
        assert_eq!(lines("{\"at_s\":1.5,\"exit\":null}\n"), Ok(1));
        let soon = "`soon` is not a time in seconds, as it should be in the column `at_s`".to_owned();
        assert_eq!(lines("{\"at_s\":1.5,\"exit\":0}\n{\"at_s\":\"soon\",\"exit\":0}\n"), Err((Some(2), soon)));
    }
}
