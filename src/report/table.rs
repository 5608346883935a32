//! A table of a directory in memory: each column as what its cells hold, each text once.

use std::borrow::Borrow;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::observe::{Cells, ColumnInfo};
use crate::units::SimTime;

/// Some columns of a table of a directory.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    /// The line of each row in its file, from 1; 0 if nobody knows.
    lines: Vec<u64>,
}

impl Table {
    /// A table of these columns, without rows.
    pub(super) fn new(columns: impl IntoIterator<Item = ColumnInfo>) -> Self {
        Self { columns: columns.into_iter().map(Column::new).collect(), lines: Vec::new() }
    }

    /// Adds a row: a cell for each column, which has been checked.
    pub(super) fn push<'a>(&mut self, line: u64, cells: impl IntoIterator<Item = &'a str>) {
        self.lines.push(line);
        self.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }

    /// The columns that were asked for and that there are.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The position of a column; in a position of an absent one there is nothing.
    pub(crate) fn column(&self, name: &str) -> usize {
        self.columns.iter().position(|column| column.info.name == name).unwrap_or(usize::MAX)
    }

    /// How many rows it has.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(crate) fn rows(&self) -> impl DoubleEndedIterator<Item = Row<'_>> + ExactSizeIterator {
        (0..self.len()).map(|index| Row { table: self, index })
    }
}

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) info: ColumnInfo,
    pub(super) values: Values,
}

/// What stands in place of a number where there is none.
pub(super) const NOTHING: i64 = i64::MIN;

/// The cells of a column, by row.
#[derive(Debug)]
pub(super) enum Values {
    Texts(Texts),
    /// In milliseconds.
    Times(Vec<i64>),
    Numbers(Vec<i64>),
    Truths(Vec<bool>),
}

impl Column {
    pub(super) fn new(info: ColumnInfo) -> Self {
        let values = match info.cells {
            Cells::Time | Cells::MaybeTime | Cells::Duration => Values::Times(Vec::new()),
            Cells::Number | Cells::MaybeNumber | Cells::Unsigned => Values::Numbers(Vec::new()),
            Cells::Truth => Values::Truths(Vec::new()),
            // What nobody counts with is text.
            Cells::Text
            | Cells::Lines
            | Cells::Real
            | Cells::MaybeTruth
            | Cells::Texts
            | Cells::Reals
            | Cells::Counts => Values::Texts(Texts::default()),
        };
        Self { info, values }
    }

    /// Takes a cell as its file has it, which has been checked.
    pub(super) fn push(&mut self, cell: &str) {
        match &mut self.values {
            Values::Texts(texts) => texts.push(cell),
            Values::Times(numbers) | Values::Numbers(numbers) if cell.is_empty() => numbers.push(NOTHING),
            Values::Times(times) => times.push(milliseconds(cell)),
            Values::Numbers(numbers) => numbers.push(cell.parse().unwrap_or_default()),
            Values::Truths(truths) => truths.push(cell == "true"),
        }
    }

    /// The number in a row with the unit that its file has, seconds of times; none if there is none.
    fn number(&self, row: usize) -> Option<f64> {
        let number = self.whole(row)? as f64;
        // The nearest to the decimals of the file.
        Some(if matches!(self.values, Values::Times(_)) { number / 1000.0 } else { number })
    }

    /// The number in a row, milliseconds of times; none if there is none.
    fn whole(&self, row: usize) -> Option<i64> {
        match &self.values {
            Values::Times(numbers) | Values::Numbers(numbers) => Some(numbers[row]).filter(|number| *number != NOTHING),
            Values::Texts(_) | Values::Truths(_) => panic!("`{}` is no column of numbers", self.info.name),
        }
    }
}

/// Seconds as tables have them, with up to three decimals.
fn milliseconds(cell: &str) -> i64 {
    let (whole, part) = cell.split_once('.').unwrap_or((cell, ""));
    let places = [100, 10, 1];
    let thousandths: Option<i64> = part
        .bytes()
        .zip(places)
        .map(|(digit, worth)| digit.is_ascii_digit().then(|| i64::from(digit - b'0') * worth))
        .sum();
    match (whole.parse::<i64>(), thousandths) {
        (Ok(whole), Some(thousandths)) if part.len() <= places.len() => {
            let magnitude = whole.saturating_abs().saturating_mul(1000).saturating_add(thousandths);
            if cell.starts_with('-') { -magnitude } else { magnitude }
        }
        // As somebody else has written it.
        _ => (cell.parse::<f64>().unwrap_or_default() * 1000.0).round() as i64,
    }
}

/// Texts by row. They are numbered in the order in which they first appear.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: IndexSet<Box<str>, FxBuildHasher>,
    /// The number of each row's text.
    rows: Vec<u32>,
}

impl Texts {
    /// Each text once, by number.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|text| &**text)
    }

    /// The number of each row's text.
    pub(super) fn rows(&self) -> &[u32] {
        &self.rows
    }

    fn push(&mut self, text: &str) {
        let number = match self.rows.last() {
            // The text before often comes again.
            Some(last) if *self.all[*last as usize] == *text => *last,
            _ => self.number(text),
        };
        self.rows.push(number);
    }

    /// The number of a text, which is that of a new one if need be.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        let number = self.all.get_index_of(text).unwrap_or_else(|| self.all.insert_full(text.into()).0);
        u32::try_from(number).expect("fewer than four thousand million texts")
    }
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    table: &'a Table,
    index: usize,
}

impl<'a> Row<'a> {
    fn column(self, column: usize) -> Option<&'a Column> {
        self.table.columns.get(column)
    }
}

/// The line of a row in its file, from 1.
pub(crate) fn line<'a>(row: impl Borrow<Row<'a>>) -> Option<u64> {
    let Row { table, index } = *row.borrow();
    Some(table.lines[index]).filter(|line| *line > 0)
}

/// The text in a cell; empty if there is none.
///
/// # Panics
///
/// If the column holds something else.
pub(crate) fn text<'a>(row: impl Borrow<Row<'a>>, column: usize) -> &'a str {
    let row = *row.borrow();
    row.column(column).map_or("", |column| match &column.values {
        Values::Texts(texts) => &texts.all[texts.rows[row.index] as usize],
        Values::Times(_) | Values::Numbers(_) | Values::Truths(_) => {
            panic!("`{}` is no column of text", column.info.name)
        }
    })
}

/// Whether a cell says `true`.
///
/// # Panics
///
/// If the column holds something else.
pub(crate) fn is_true<'a>(row: impl Borrow<Row<'a>>, column: usize) -> bool {
    let row = *row.borrow();
    row.column(column).is_some_and(|column| match &column.values {
        Values::Truths(truths) => truths[row.index],
        Values::Texts(_) | Values::Times(_) | Values::Numbers(_) => {
            panic!("`{}` is not true or false", column.info.name)
        }
    })
}

/// The number in a cell, of a time its seconds; 0 if there is none.
///
/// # Panics
///
/// If the column holds something else.
pub(crate) fn number<'a>(row: impl Borrow<Row<'a>>, column: usize) -> f64 {
    maybe_number(row, column).unwrap_or_default()
}

/// The number in a cell, of a time its seconds, if there is one.
///
/// # Panics
///
/// If the column holds something else.
pub(crate) fn maybe_number<'a>(row: impl Borrow<Row<'a>>, column: usize) -> Option<f64> {
    let row = *row.borrow();
    row.column(column)?.number(row.index)
}

/// The whole number in a cell, of a time its milliseconds, if there is one.
///
/// # Panics
///
/// If the column holds something else.
pub(crate) fn whole<'a>(row: impl Borrow<Row<'a>>, column: usize) -> Option<i64> {
    let row = *row.borrow();
    row.column(column)?.whole(row.index)
}

/// The time in a cell, if there is one.
///
/// # Panics
///
/// If the column holds something else.
pub(crate) fn time<'a>(row: impl Borrow<Row<'a>>, column: usize) -> Option<SimTime> {
    whole(row, column).map(SimTime::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_milliseconds() {
        for (text, expected) in [
            ("0.000", 0),
            ("343.309", 343_309),
            ("-0.016", -16),
            ("-2.5", -2500),
            ("7", 7000),
            ("31536000.001", 31_536_000_001),
            ("1e3", 1_000_000),
            ("0.1238", 124),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }

    #[test]
    fn cells_are_what_their_columns_hold() {
        let info = |name, cells| ColumnInfo { name, cells, unit: "", meaning: "" };
        let columns = [("at", Cells::Time), ("who", Cells::Text), ("end", Cells::MaybeTime), ("on", Cells::Truth)];
        let mut table = Table::new(columns.map(|(name, cells)| info(name, cells)));
        table.push(2, ["0.100", "a", "", "true"]);
        table.push(3, ["0.300", "a", "7.000", "false"]);
        let [at, who, end, on, none] = ["at", "who", "end", "on", "none"].map(|name| table.column(name));
        let rows: Vec<Row<'_>> = table.rows().collect();
        assert_eq!(rows.iter().map(|row| number(row, at)).collect::<Vec<_>>(), [0.1, 0.3]);
        assert_eq!(rows.iter().map(|row| time(row, end)).collect::<Vec<_>>(), [None, Some(SimTime::from_secs(7))]);
        assert_eq!(rows.iter().map(|row| is_true(row, on)).collect::<Vec<_>>(), [true, false]);
        assert_eq!((text(rows[1], who), text(rows[1], none), line(rows[1])), ("a", "", Some(3)));
    }
}
