//! Rows into files: each table as its columns say, in the format that its file's name ends with.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::io;

use serde_json::value::RawValue;

use crate::observe::{Observed, Row, TableVisitor, Value};
use crate::parallel;
use crate::report::run_dir::{OutputDir, OutputError};
use crate::units::{SimDuration, SimTime};

/// Writes every table of a run, side by side.
///
/// # Errors
/// If a file cannot be written.
pub fn write_tables(observed: &Observed, out: &OutputDir) -> Result<(), OutputError> {
    let mut files = Files { out, writes: Vec::new() };
    let Ok(()) = observed.visit(&mut files);
    parallel::try_each(&files.writes, |write| write())
}

/// Writes one table.
///
/// # Errors
/// If the file cannot be written.
pub fn write_table<R: Row>(rows: &[R], out: &OutputDir) -> Result<(), OutputError> {
    let file = R::TABLE.file;
    if is_lines(file) {
        out.write(file, &json_lines(rows))
    } else {
        out.write_with(file, |to| write_named_table::<R>(to, &[], rows))
    }
}

/// The text of a table's file.
#[must_use]
pub fn table_text<R: Row>(rows: &[R]) -> Vec<u8> {
    if is_lines(R::TABLE.file) { json_lines(rows) } else { csv(rows) }
}

fn is_lines(file: &str) -> bool {
    file.ends_with(".jsonl")
}

/// What is to be done to write the tables that it is shown.
struct Files<'a> {
    out: &'a OutputDir,
    writes: Vec<Box<dyn Fn() -> Result<(), OutputError> + Sync + 'a>>,
}

impl<'a> TableVisitor<'a> for Files<'a> {
    type Error = Infallible;

    fn table<R: Row>(&mut self, rows: &'a [R]) -> Result<(), Infallible> {
        let out = self.out;
        self.writes.push(Box::new(move || write_table(rows, out)));
        Ok(())
    }
}

fn csv<R: Row>(rows: &[R]) -> Vec<u8> {
    named_table_text::<R>(&[], rows)
}

/// The text of a table some of whose columns stand for several: `names` has the names of each of these, in their order.
pub(crate) fn named_table_text<R: Row>(names: &[&[&str]], rows: impl IntoIterator<Item: Borrow<R>>) -> Vec<u8> {
    let mut text = Vec::new();
    write_named_table::<R>(&mut text, names, rows).expect("writing to memory");
    text
}

/// Writes a table some of whose columns stand for several: `names` has the names of each of these, in their order.
///
/// # Errors
/// Those of the writer.
pub(crate) fn write_named_table<R: Row>(
    out: &mut dyn io::Write,
    names: &[&[&str]],
    rows: impl IntoIterator<Item: Borrow<R>>,
) -> io::Result<()> {
    let columns = R::TABLE.columns;
    let mut writer = csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(out);
    let mut names = names.iter();
    for column in columns {
        match column.value {
            Value::Texts(_) | Value::Reals(_) | Value::Counts(_) => {
                let names = names.next().expect("names for each column that stands for several");
                names.iter().try_for_each(|name| writer.write_field(name))?;
            }
            _ => writer.write_field(column.info.name)?,
        }
    }
    writer.write_record(None::<&[u8]>)?;
    let mut numbers = itoa::Buffer::new();
    for row in rows {
        let row = row.borrow();
        for column in columns {
            match column.value {
                Value::Text(of) => writer.write_field(of(row)),
                Value::Time(of) => writer.write_field(of(row).seconds_text()),
                Value::MaybeTime(of) => match of(row) {
                    Some(at) => writer.write_field(at.seconds_text()),
                    None => writer.write_field(""),
                },
                Value::Duration(of) => writer.write_field(seconds_of(of(row)).seconds_text()),
                Value::Number(of) => writer.write_field(numbers.format(of(row))),
                Value::MaybeNumber(of) => writer.write_field(of(row).map_or("", |number| numbers.format(number))),
                Value::Truth(of) => writer.write_field(if of(row) { "true" } else { "false" }),
                Value::Lines(of) => writer.write_field(of(row).join("\n")),
                Value::Unsigned(of) => writer.write_field(numbers.format(of(row))),
                Value::Real(of) => writer.write_field(real(of(row))),
                Value::Thousandths(of) => writer.write_field(format!("{:.3}", of(row))),
                Value::MaybeTruth(of) => writer.write_field(of(row).map_or("", |is| if is { "true" } else { "false" })),
                Value::Texts(of) => of(row).iter().try_for_each(|text| writer.write_field(text)),
                Value::Reals(of) => of(row).iter().try_for_each(|value| writer.write_field(real(*value))),
                Value::Counts(of) => of(row).iter().try_for_each(|count| writer.write_field(numbers.format(*count))),
            }?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()
}

/// A number as the CSVs have it, nothing if it is not finite. Zero has no sign.
fn real(value: f64) -> String {
    let unsigned_zero = value + 0.0;
    if value.is_finite() { unsigned_zero.to_string() } else { String::new() }
}

/// The instant that has as many seconds, which are written as those of one.
fn seconds_of(length: SimDuration) -> SimTime {
    SimTime::ZERO + length
}

/// A JSON number with exactly three decimals, as the CSVs have them.
fn seconds(at: SimTime) -> Box<RawValue> {
    RawValue::from_string(at.seconds_text()).expect("a time reads as a JSON number")
}

/// An object for each row, with a field for each column.
fn json_lines<R: Row>(rows: &[R]) -> Vec<u8> {
    let mut out = Vec::new();
    for row in rows {
        for (index, column) in R::TABLE.columns.iter().enumerate() {
            out.push(if index == 0 { b'{' } else { b',' });
            put(&mut out, column.info.name);
            out.push(b':');
            match column.value {
                Value::Text(of) => put(&mut out, of(row)),
                Value::Time(of) => put(&mut out, &seconds(of(row))),
                Value::MaybeTime(of) => put(&mut out, &of(row).map(seconds)),
                Value::Duration(of) => put(&mut out, &seconds(seconds_of(of(row)))),
                Value::Number(of) => put(&mut out, &of(row)),
                Value::MaybeNumber(of) => put(&mut out, &of(row)),
                Value::Truth(of) => put(&mut out, &of(row)),
                Value::Lines(of) | Value::Texts(of) => put(&mut out, of(row)),
                Value::Unsigned(of) => put(&mut out, &of(row)),
                Value::Real(of) | Value::Thousandths(of) => put(&mut out, &of(row)),
                Value::MaybeTruth(of) => put(&mut out, &of(row)),
                Value::Reals(of) => put(&mut out, of(row)),
                Value::Counts(of) => put(&mut out, of(row)),
            }
        }
        out.extend_from_slice(b"}\n");
    }
    out
}

fn put<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("writing to memory");
}
