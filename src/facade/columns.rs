//! Tables by columns, each with its type: what programs for data take.

use std::path::Path;

use super::error::Error;
use super::outcome::Outcome;
use super::plan::PlanOutcome;
use super::report::Report;
use super::sensitivity::SensitivityOutcome;
use super::study_outcome::StudyOutcome;
use crate::diagnostics::nearest_or;
use crate::observe::{ColumnInfo, TableInfo};
use crate::report::{
    TableError, Type, may_lack, scan_typed, tables_of_plans, tables_of_runs, tables_of_sensitivities, tables_of_studies,
};

/// A table by columns, with the same values as its file: a time is the number nearest to its three decimals.
///
/// # Examples
///
/// ```
/// use kubesquall::{Scenario, Values};
///
/// # let text = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: crash}, spec: {duration: 10m, cluster: \
/// #     {nodePools: [{name: n, count: 3, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}, \
/// #     timeline: [{at: 1m, fault: {kind: Crash, nodes: {names: [n-1]}}}]}}";
/// let outcome = Scenario::parse(text, [("", ""); 0])?.play(7);
/// let nodes = outcome.table("nodes.csv")?;
/// let node = nodes.columns.iter().find(|column| column.name == "node").unwrap();
/// let Values::Texts(names) = &node.values else { panic!("nodes have names") };
/// assert!(names.iter().any(|name| name == "n-1") && names.len() == nodes.rows);
/// # Ok::<(), kubesquall::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Columns {
    /// The name of its file.
    pub file: &'static str,
    /// What a row is.
    pub holds: &'static str,
    /// How many rows there are.
    pub rows: usize,
    /// In the order of the file.
    pub columns: Vec<Column>,
}

/// A column, with a value for each row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Column {
    /// Its name; in tables of studies and plans that of an axis, a metric or a pool, too.
    pub name: String,
    /// What it is.
    pub info: ColumnInfo,
    /// Whether a cell may be empty, but for text, of which an empty one is text.
    pub may_lack: bool,
    /// Its values.
    pub values: Values,
}

/// The values of a column; none is an empty cell.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// Texts; lines are one text.
    Texts(Vec<String>),
    /// Numbers with decimals; times and lengths in seconds.
    Reals(Vec<Option<f64>>),
    /// Whole numbers.
    Wholes(Vec<Option<i64>>),
    /// Whole numbers that are not negative and may need all 64 bits.
    Unsigned(Vec<Option<u64>>),
    /// Truths.
    Truths(Vec<Option<bool>>),
}

impl Values {
    fn of(info: &ColumnInfo) -> Self {
        match Type::of(info.cells) {
            Type::Text => Self::Texts(Vec::new()),
            Type::Real => Self::Reals(Vec::new()),
            Type::Whole => Self::Wholes(Vec::new()),
            Type::Unsigned => Self::Unsigned(Vec::new()),
            Type::Truth => Self::Truths(Vec::new()),
        }
    }

    /// Takes a cell, which has been checked: what cannot be read is empty, or of another type than its column says.
    fn push(&mut self, cell: &str) {
        match self {
            Self::Texts(texts) => texts.push(cell.to_owned()),
            Self::Reals(numbers) => numbers.push(cell.parse().ok()),
            Self::Wholes(numbers) => numbers.push(cell.parse().ok()),
            Self::Unsigned(numbers) => numbers.push(cell.parse().ok()),
            Self::Truths(truths) => truths.push(cell.parse().ok()),
        }
    }
}

impl Columns {
    /// A table out of the text of its file.
    fn read(path: &Path, text: &str, table: &TableInfo) -> Result<Self, TableError> {
        let begin = |columns: Vec<(String, ColumnInfo)>| {
            let column = |(name, info): (String, ColumnInfo)| {
                let (may_lack, values) = (may_lack(info.cells), Values::of(&info));
                Column { name, info, may_lack, values }
            };
            let columns = columns.into_iter().map(column).collect();
            Self { file: table.file, holds: table.holds, rows: 0, columns }
        };
        scan_typed((path, text), None, table, begin, |found, cells| {
            found.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.values.push(cell));
            found.rows += 1;
        })
    }

    /// The table of that name among those of a result, of which the text is asked for.
    fn of_result(
        file: &str,
        result: &str,
        tables: &[TableInfo],
        text: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Result<Self, Error> {
        let found = tables.iter().find(|table| table.file == file).and_then(|table| Some((table, text()?)));
        let (table, text) = found.ok_or_else(|| no_table(file, result, tables))?;
        let text = String::from_utf8(text).expect("tables are text");
        Ok(Self::read(Path::new(file), &text, table)?)
    }
}

fn no_table(file: &str, result: &str, tables: &[TableInfo]) -> Error {
    let names: Vec<&str> = tables.iter().map(|table| table.file).collect();
    let help = nearest_or(file, names.iter().copied(), || format!("the tables are {}", names.join(", ")));
    Error::argument(format!("{result} has no table `{file}`"), help)
}

impl Outcome {
    /// A table by the name of its file: `pods.csv`.
    ///
    /// # Errors
    ///
    /// If no rows were kept, or there is no such table.
    pub fn table(&self, file: &str) -> Result<Columns, Error> {
        self.expect_rows()?;
        Columns::of_result(file, "the run", &tables_of_runs(), || self.text_of(file))
    }

    /// The names of its tables.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static str> {
        if self.keeps_rows() { self.table_names() } else { Vec::new() }
    }
}

impl StudyOutcome {
    /// A table by the name of its file: `runs.csv`.
    ///
    /// # Errors
    ///
    /// If there is no such table.
    pub fn table(&self, file: &str) -> Result<Columns, Error> {
        Columns::of_result(file, "the study", &tables_of_studies(), || self.text_of(file))
    }

    /// The names of its tables.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static str> {
        tables_of_studies().iter().map(|table| table.file).filter(|file| self.has(file)).collect()
    }
}

impl SensitivityOutcome {
    /// A table by the name of its file: `points.csv`.
    ///
    /// # Errors
    ///
    /// If there is no such table.
    pub fn table(&self, file: &str) -> Result<Columns, Error> {
        Columns::of_result(file, "the sensitivity analysis", &tables_of_sensitivities(), || self.text_of(file))
    }

    /// The names of its tables.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static str> {
        tables_of_sensitivities().iter().map(|table| table.file).filter(|file| self.has(file)).collect()
    }
}

impl PlanOutcome {
    /// A table by the name of its file: `cases.csv`.
    ///
    /// # Errors
    ///
    /// If there is no such table.
    pub fn table(&self, file: &str) -> Result<Columns, Error> {
        Columns::of_result(file, "the plan", &tables_of_plans(), || self.text_of(file))
    }

    /// The names of its tables.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static str> {
        tables_of_plans().iter().map(|table| table.file).filter(|file| self.has(file)).collect()
    }
}

impl Report {
    /// A table of the directory, by the name of its file.
    ///
    /// # Errors
    ///
    /// If there is no such table, or it is damaged.
    pub fn table(&self, file: &str) -> Result<Columns, Error> {
        let tables = self.known_tables();
        let table = tables.iter().find(|table| table.file == file && self.dir().join(file).is_file());
        let table = table.ok_or_else(|| no_table(file, "the directory", &tables))?;
        let path = self.dir().join(file);
        Ok(Columns::read(&path, &crate::report::read_text(&path)?, table)?)
    }

    /// The names of the tables that it holds.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static str> {
        let tables = self.known_tables();
        tables.iter().map(|table| table.file).filter(|file| self.dir().join(file).is_file()).collect()
    }
}
