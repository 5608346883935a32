//! The tables of a run in memory.

use std::convert::Infallible;
use std::fmt;

use super::outcome::Outcome;
use crate::observe::{ColumnInfo, Row as Declared, TableVisitor, Value};
use crate::report::table_text;
use crate::units::SimTime;

/// The rows of a table of a run. `docs/results.md` tells what tables and columns there are.
#[derive(Clone, Debug)]
pub struct Rows {
    columns: Vec<ColumnInfo>,
    cells: Vec<Cell>,
}

/// A cell of a row. It is printed as the CSV has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A number in the column's unit.
    Number(i64),
    /// An instant, or a length of time from t=0 on.
    Time(SimTime),
    /// Yes or no.
    Truth(bool),
    /// Lines of text.
    Lines(Vec<String>),
    /// Nothing.
    Empty,
}

impl Cell {
    /// Text; none of any other cell.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// A number; none of any other cell.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// An instant; none of any other cell.
    #[must_use]
    pub fn as_time(&self) -> Option<SimTime> {
        if let Self::Time(at) = self { Some(*at) } else { None }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => formatter.write_str(text),
            Self::Number(number) => number.fmt(formatter),
            Self::Time(at) => formatter.write_str(&at.seconds_text()),
            Self::Truth(is_true) => is_true.fmt(formatter),
            Self::Lines(lines) => formatter.write_str(&lines.join("\n")),
            Self::Empty => Ok(()),
        }
    }
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    columns: &'a [ColumnInfo],
    cells: &'a [Cell],
}

impl<'a> Row<'a> {
    /// Its cell in a column; none if there is no such column.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&'a Cell> {
        self.columns.iter().position(|of| of.name == column).map(|at| &self.cells[at])
    }

    /// All of its cells, in the order of the columns.
    #[must_use]
    pub fn cells(&self) -> &'a [Cell] {
        self.cells
    }
}

impl Rows {
    fn of<R: Declared>(rows: &[R]) -> Self {
        let columns = R::TABLE.columns;
        let cells = rows.iter().flat_map(|row| columns.iter().map(move |column| cell(&column.value, row)));
        Self { cells: cells.collect(), columns: columns.iter().map(|column| column.info).collect() }
    }

    /// The columns, in the order of the file.
    #[must_use]
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    /// The rows, in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        self.cells.chunks_exact(self.columns.len()).map(|cells| Row { columns: &self.columns, cells })
    }
}

fn cell<R>(value: &Value<R>, row: &R) -> Cell {
    match value {
        Value::Text(of) => Cell::Text(of(row).to_owned()),
        Value::Time(of) => Cell::Time(of(row)),
        Value::MaybeTime(of) => of(row).map_or(Cell::Empty, Cell::Time),
        Value::Number(of) => Cell::Number(of(row)),
        Value::MaybeNumber(of) => of(row).map_or(Cell::Empty, Cell::Number),
        Value::Truth(of) => Cell::Truth(of(row)),
        Value::Lines(of) => Cell::Lines(of(row).to_vec()),
    }
}

/// Takes the table of one file.
struct Wanted<'a> {
    file: &'a str,
    found: Option<Rows>,
}

impl TableVisitor for Wanted<'_> {
    type Error = Infallible;

    fn table<R: Declared>(&mut self, rows: &[R]) -> Result<(), Infallible> {
        if R::TABLE.file == self.file {
            self.found = Some(Rows::of(rows));
        }
        Ok(())
    }
}

/// Takes all tables as the texts of their files.
struct Texts(Vec<(&'static str, Vec<u8>)>);

impl TableVisitor for Texts {
    type Error = Infallible;

    fn table<R: Declared>(&mut self, rows: &[R]) -> Result<(), Infallible> {
        self.0.push((R::TABLE.file, table_text(rows)));
        Ok(())
    }
}

impl Outcome {
    /// Shows every table, that of what had no effect among them.
    fn visit<V: TableVisitor<Error = Infallible>>(&self, mut visitor: V) -> V {
        let Ok(()) = self.observed.visit(&mut visitor);
        let Ok(()) = visitor.table(&self.scenario.resolved().not_modelled);
        visitor
    }

    /// The rows of a table, by the name of its file: `pods.csv`. None if there is no such table; no rows if none were kept.
    #[must_use]
    pub fn rows(&self, file: &str) -> Option<Rows> {
        self.visit(Wanted { file, found: None }).found
    }

    /// Every file that [`write`](Outcome::write) writes, but for charts, which are drawn from a directory: names and contents.
    #[must_use]
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let mut files = self.visit(Texts(Vec::new())).0;
        files.push(("scenario.lock.yaml", self.lock_file().into_bytes()));
        files.push(("summary.json", self.summary_json().into_bytes()));
        files
    }
}
