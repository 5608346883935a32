//! What a table of a run is: its file, its columns, and how a row fills them. Each type of row declares its table beside itself.

use crate::units::{SimDuration, SimTime};

/// A row of a table.
pub trait Row: Sized + Sync + 'static {
    /// The table.
    const TABLE: Table<Self>;
}

/// A table: a file of a run's directory with a line for each row.
#[derive(Debug)]
pub struct Table<R: 'static> {
    /// The file's name; its ending is the format.
    pub file: &'static str,
    /// What a row is.
    pub holds: &'static str,
    /// In the order of the file.
    pub columns: &'static [Column<R>],
}

/// A column: what it is, and what a row has there.
#[derive(Debug)]
pub struct Column<R: 'static> {
    /// What it is.
    pub info: ColumnInfo,
    /// A row's cell.
    pub value: Value<R>,
}

/// What a column is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// Its name.
    pub name: &'static str,
    /// What its cells hold.
    pub cells: Cells,
    /// What a number counts or measures; empty for what has no unit.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// What the cells of a column hold.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cells {
    /// Text.
    Text,
    /// An instant: seconds since t=0.
    Time,
    /// The same, or nothing.
    MaybeTime,
    /// A length of time in seconds.
    Duration,
    /// A number.
    Number,
    /// A number, or nothing.
    MaybeNumber,
    /// A number that is not negative and may need all 64 bits.
    Unsigned,
    /// `true` or `false`.
    Truth,
    /// Lines of text.
    Lines,
    /// A number with decimals, or nothing.
    Real,
    /// `true` or `false`, or nothing.
    MaybeTruth,
    /// Texts: several columns, which a result names.
    Texts,
    /// Numbers with decimals: several columns, which a result names.
    Reals,
    /// Whole numbers: several columns, which a result names.
    Counts,
}

/// A row's cell in a column.
#[derive(Debug)]
pub enum Value<R: 'static> {
    /// Of [`Cells::Text`].
    Text(fn(&R) -> &str),
    /// Of [`Cells::Time`].
    Time(fn(&R) -> SimTime),
    /// Of [`Cells::MaybeTime`].
    MaybeTime(fn(&R) -> Option<SimTime>),
    /// Of [`Cells::Duration`].
    Duration(fn(&R) -> SimDuration),
    /// Of [`Cells::Number`].
    Number(fn(&R) -> i64),
    /// Of [`Cells::MaybeNumber`].
    MaybeNumber(fn(&R) -> Option<i64>),
    /// Of [`Cells::Truth`].
    Truth(fn(&R) -> bool),
    /// Of [`Cells::Lines`].
    Lines(fn(&R) -> &[String]),
    /// Of [`Cells::Unsigned`].
    Unsigned(fn(&R) -> u64),
    /// Of [`Cells::Real`]: what is not finite is nothing.
    Real(fn(&R) -> f64),
    /// Of [`Cells::Real`], with exactly three decimals.
    Thousandths(fn(&R) -> f64),
    /// Of [`Cells::MaybeTruth`].
    MaybeTruth(fn(&R) -> Option<bool>),
    /// Of [`Cells::Texts`]: as many as there are names.
    Texts(fn(&R) -> &[String]),
    /// Of [`Cells::Reals`]: as many as there are names.
    Reals(fn(&R) -> &[f64]),
    /// Of [`Cells::Counts`]: as many as there are names.
    Counts(fn(&R) -> &[u32]),
}

impl<R> Column<R> {
    /// A column of text.
    pub(crate) const fn text(name: &'static str, meaning: &'static str, of: fn(&R) -> &str) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::Text, unit: "", meaning }, value: Value::Text(of) }
    }

    /// A column of instants.
    pub(crate) const fn time(name: &'static str, meaning: &'static str, of: fn(&R) -> SimTime) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::Time, unit: "s", meaning }, value: Value::Time(of) }
    }

    /// A column of lengths of time.
    pub(crate) const fn duration(name: &'static str, meaning: &'static str, of: fn(&R) -> SimDuration) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::Duration, unit: "s", meaning }, value: Value::Duration(of) }
    }

    /// A column of instants, some of them empty.
    pub(crate) const fn maybe_time(name: &'static str, meaning: &'static str, of: fn(&R) -> Option<SimTime>) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::MaybeTime, unit: "s", meaning }, value: Value::MaybeTime(of) }
    }

    /// A column of numbers.
    pub(crate) const fn number(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        of: fn(&R) -> i64,
    ) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::Number, unit, meaning }, value: Value::Number(of) }
    }

    /// A column of numbers, some of them empty.
    pub(crate) const fn maybe_number(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        of: fn(&R) -> Option<i64>,
    ) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::MaybeNumber, unit, meaning }, value: Value::MaybeNumber(of) }
    }

    /// A column of `true` and `false`.
    pub(crate) const fn truth(name: &'static str, meaning: &'static str, of: fn(&R) -> bool) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::Truth, unit: "", meaning }, value: Value::Truth(of) }
    }

    /// A column of lists of lines.
    pub(crate) const fn lines(name: &'static str, meaning: &'static str, of: fn(&R) -> &[String]) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::Lines, unit: "", meaning }, value: Value::Lines(of) }
    }
}

impl<R> Column<R> {
    /// A column of whole numbers that may need all 64 bits.
    pub(crate) const fn unsigned(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        of: fn(&R) -> u64,
    ) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::Unsigned, unit, meaning }, value: Value::Unsigned(of) }
    }

    /// A column of numbers with decimals, some of them empty.
    pub(crate) const fn real(name: &'static str, unit: &'static str, meaning: &'static str, of: fn(&R) -> f64) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::Real, unit, meaning }, value: Value::Real(of) }
    }

    /// A column of numbers with three decimals.
    pub(crate) const fn thousandths(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        of: fn(&R) -> f64,
    ) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::Real, unit, meaning }, value: Value::Thousandths(of) }
    }

    /// A column of `true` and `false`, some of them empty.
    pub(crate) const fn maybe_truth(name: &'static str, meaning: &'static str, of: fn(&R) -> Option<bool>) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::MaybeTruth, unit: "", meaning }, value: Value::MaybeTruth(of) }
    }

    /// A column of texts for each of what `name` stands for.
    pub(crate) const fn texts(name: &'static str, meaning: &'static str, of: fn(&R) -> &[String]) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::Texts, unit: "", meaning }, value: Value::Texts(of) }
    }

    /// A column of numbers with decimals for each of what `name` stands for.
    pub(crate) const fn reals(name: &'static str, meaning: &'static str, of: fn(&R) -> &[f64]) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::Reals, unit: "", meaning }, value: Value::Reals(of) }
    }

    /// A column of whole numbers for each of what `name` stands for.
    pub(crate) const fn counts(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        of: fn(&R) -> &[u32],
    ) -> Self {
        Self { info: ColumnInfo { name, cells: Cells::Counts, unit, meaning }, value: Value::Counts(of) }
    }
}

/// What a table is, whatever its rows are.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// The file's name.
    pub file: &'static str,
    /// What a row is.
    pub holds: &'static str,
    /// In the order of the file.
    pub columns: Vec<ColumnInfo>,
}

impl TableInfo {
    /// The table of these rows.
    pub(crate) fn of<R: Row>() -> Self {
        let Table { file, holds, columns } = R::TABLE;
        Self { file, holds, columns: columns.iter().map(|column| column.info).collect() }
    }
}

/// What is done with every table of a run, whose rows may be kept until all have been shown.
pub trait TableVisitor<'a> {
    /// Why it cannot be done.
    type Error;

    /// Takes the rows of one table.
    ///
    /// # Errors
    /// If it cannot be done.
    fn table<R: Row>(&mut self, rows: &'a [R]) -> Result<(), Self::Error>;
}
