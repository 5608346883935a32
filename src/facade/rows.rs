//! The tables of a run in memory.

use std::convert::Infallible;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::error::Error;
use super::outcome::Outcome;
use crate::diagnostics::nearest_or;
use crate::observe::{self, ColumnInfo, Row as Declared, TableVisitor, Value};
use crate::report::table_text;
use crate::units::{SimDuration, SimTime};

/// The rows of a table of a run. `docs/results.md` tells what tables and columns there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    columns: Vec<ColumnInfo>,
    cells: Vec<Cell>,
}

/// A cell of a row, by the type of its column: see [`ColumnInfo::cells`]. It is printed as the CSV has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cell {
    /// Text.
    Text(String),
    /// A number in the column's unit.
    Number(i64),
    /// An instant.
    Time(SimTime),
    /// A length of time.
    Duration(SimDuration),
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

    /// Yes or no; none of any other cell.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Truth(is_true) = self { Some(*is_true) } else { None }
    }

    /// Lines of text; none of any other cell.
    #[must_use]
    pub fn as_lines(&self) -> Option<&[String]> {
        if let Self::Lines(lines) = self { Some(lines) } else { None }
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// A length of time; none of any other cell.
    #[must_use]
    pub fn as_duration(&self) -> Option<SimDuration> {
        if let Self::Duration(length) = self { Some(*length) } else { None }
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
            Self::Duration(length) => formatter.write_str(&(SimTime::ZERO + *length).seconds_text()),
            Self::Truth(is_true) => is_true.fmt(formatter),
            Self::Lines(lines) => formatter.write_str(&lines.join("\n")),
            Self::Empty => Ok(()),
        }
    }
}

impl Serialize for Cell {
    /// Text, a number, a truth, a list of lines, or nothing; times are seconds, as in the files.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Time(at) => serializer.serialize_f64(at.as_secs_f64()),
            Self::Duration(length) => serializer.serialize_f64(length.as_secs_f64()),
            Self::Truth(is_true) => serializer.serialize_bool(*is_true),
            Self::Lines(lines) => lines.serialize(serializer),
            Self::Empty => serializer.serialize_none(),
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

impl Serialize for Row<'_> {
    /// A map of its cells by their columns.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.cells.len()))?;
        for (column, cell) in self.columns.iter().zip(self.cells) {
            map.serialize_entry(column.name, cell)?;
        }
        map.end()
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

    /// The rows in a type of yours, whose fields have the names of columns: text, whole numbers, truths, lists of lines; `f64` for times,
    /// which are seconds; and `Option` for columns that may be empty. Columns without a field are left out.
    ///
    /// # Errors
    ///
    /// If a field has no column, or a type that does not hold its cells.
    ///
    /// # Examples
    ///
    /// ```
    /// # let text = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: calm}, spec: {duration: 1m, cluster: \
    /// #     {nodePools: [{name: n, count: 2, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}}}";
    /// #[derive(serde::Deserialize)]
    /// struct Node {
    ///     time_s: f64,
    ///     node: String,
    ///     pods: i64,
    /// }
    ///
    /// let outcome = kubesquall::Scenario::parse(text, [("", ""); 0])?.play(1);
    /// let nodes: Vec<Node> = outcome.rows("nodes.csv")?.deserialize()?;
    /// assert_eq!((nodes[1].time_s, nodes[1].node.as_str(), nodes[1].pods), (0.0, "n-1", 0));
    /// # Ok::<(), kubesquall::Error>(())
    /// ```
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<Vec<T>, Error> {
        let one = |row: Row<'_>| serde_json::to_value(row).and_then(serde_json::from_value);
        self.iter().enumerate().map(|(index, row)| one(row).map_err(|error| self.misfit(index, &error))).collect()
    }

    fn misfit(&self, row: usize, error: &serde_json::Error) -> Error {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
        Error::argument(format!("row {row} does not fit: {error}"), format!("the columns are {}", names.join(", ")))
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
        Value::Duration(of) => Cell::Duration(of(row)),
        Value::Number(of) => Cell::Number(of(row)),
        Value::MaybeNumber(of) => of(row).map_or(Cell::Empty, Cell::Number),
        Value::Truth(of) => Cell::Truth(of(row)),
        Value::Lines(of) | Value::Texts(of) => Cell::Lines(of(row).to_vec()),
        Value::MaybeTruth(of) => of(row).map_or(Cell::Empty, Cell::Truth),
        // Only tables of studies and plans have these.
        Value::Unsigned(of) => Cell::Text(of(row).to_string()),
        Value::Real(of) | Value::Thousandths(of) => Cell::Text(of(row).to_string()),
        Value::Reals(of) => Cell::Lines(of(row).iter().map(f64::to_string).collect()),
        Value::Counts(of) => Cell::Lines(of(row).iter().map(u32::to_string).collect()),
    }
}

/// Takes the table of one file.
struct Wanted<'a> {
    file: &'a str,
    found: Option<Rows>,
}

impl TableVisitor<'_> for Wanted<'_> {
    type Error = Infallible;

    fn table<R: Declared>(&mut self, rows: &[R]) -> Result<(), Infallible> {
        if R::TABLE.file == self.file {
            self.found = Some(Rows::of(rows));
        }
        Ok(())
    }
}

/// Takes the text of one file.
struct WantedText<'a> {
    file: &'a str,
    found: Option<Vec<u8>>,
}

impl TableVisitor<'_> for WantedText<'_> {
    type Error = Infallible;

    fn table<R: Declared>(&mut self, rows: &[R]) -> Result<(), Infallible> {
        if R::TABLE.file == self.file {
            self.found = Some(table_text(rows));
        }
        Ok(())
    }
}

/// Takes the names of files.
struct Names(Vec<&'static str>);

impl TableVisitor<'_> for Names {
    type Error = Infallible;

    fn table<R: Declared>(&mut self, _rows: &[R]) -> Result<(), Infallible> {
        self.0.push(R::TABLE.file);
        Ok(())
    }
}

/// Takes all tables as the texts of their files.
struct Texts(Vec<(&'static str, Vec<u8>)>);

impl TableVisitor<'_> for Texts {
    type Error = Infallible;

    fn table<R: Declared>(&mut self, rows: &[R]) -> Result<(), Infallible> {
        self.0.push((R::TABLE.file, table_text(rows)));
        Ok(())
    }
}

impl Outcome {
    /// Shows every table, that of what had no effect among them.
    pub(super) fn visit<'a, V: TableVisitor<'a, Error = Infallible>>(&'a self, mut visitor: V) -> V {
        let Ok(()) = self.observed.visit(&mut visitor);
        let Ok(()) = visitor.table(&self.scenario.resolved().not_modelled);
        if let Some(agreement) = &self.agreement {
            let Ok(()) = visitor.table(&agreement.rows);
        }
        visitor
    }

    /// The text of a table's file; none if there is no such table.
    pub(super) fn text_of(&self, file: &str) -> Option<Vec<u8>> {
        self.visit(WantedText { file, found: None }).found
    }

    /// The names of all tables.
    pub(super) fn table_names(&self) -> Vec<&'static str> {
        self.visit(Names(Vec::new())).0
    }

    /// The rows of a table, by the name of its file: `pods.csv`.
    ///
    /// # Errors
    ///
    /// If no rows were kept, or there is no such table.
    pub fn rows(&self, file: &str) -> Result<Rows, Error> {
        self.expect_rows()?;
        self.visit(Wanted { file, found: None }).found.ok_or_else(|| {
            let tables: Vec<&str> = observe::tables().iter().map(|table| table.file).collect();
            let help = nearest_or(file, tables.iter().copied(), || format!("the tables are {}", tables.join(", ")));
            Error::argument(format!("a run has no table `{file}`"), help)
        })
    }

    /// Every file that [`write`](Outcome::write) writes, but for charts, which are drawn from a directory: names and contents.
    ///
    /// # Errors
    ///
    /// If no rows were kept.
    pub fn files(&self) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
        self.expect_rows()?;
        let mut files = self.visit(Texts(Vec::new())).0;
        files.push(("scenario.lock.yaml", self.lock_file().into_bytes()));
        files.push(("summary.json", self.summary_json().into_bytes()));
        Ok(files)
    }
}
