//! Tables of a run's directory as the page has them: columns of differences and dictionaries, in gzip, in base64.
//!
//! A block is the length of its header (four bytes, the little end first), the header (JSON: rows, and for each column its name, cells and
//! the bytes of its parts), then each column's parts: of a text column the words of its texts (JSON) and the texts as words; the values.
//! Whole numbers are LEB128. `web/data.js` reads it.

use std::cell::Cell;
use std::io::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;

use crate::observe::{Cells, ColumnInfo, TableInfo};
use crate::report::tables::{self, Checked, TableError};

/// Columns of differences hardly become smaller by looking longer for repetitions, and a page should cost a run little.
const LEVEL: u32 = 3;

/// Text that the page inflates.
pub(super) fn packed(bytes: &[u8]) -> String {
    const EXPECT: &str = "writing to memory";
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
    encoder.write_all(bytes).expect(EXPECT);
    BASE64.encode(encoder.finish().expect(EXPECT))
}

/// A table of a directory as a block; none if the run, being of an older version, has not written such a table.
///
/// # Errors
///
/// If its file is missing although the run has written it, or is damaged.
pub(super) fn block(dir: &Path, table: &TableInfo, summary: &Value) -> Result<Option<String>, TableError> {
    let path = dir.join(table.file);
    if !path.exists() && summary["rows"].get(table.file).is_none() {
        return Ok(None);
    }
    let columns = if table.file.ends_with(".jsonl") { json_lines(&path, table)? } else { csv(&path, table)? };
    Ok(Some(packed(&joined(&columns))))
}

/// Texts by number, each stored at its first appearance.
#[derive(Default)]
struct Dictionary {
    numbers: FxHashMap<Box<str>, u64>,
    texts: Vec<Box<str>>,
    /// The text before, which often comes again.
    last: u64,
}

impl Dictionary {
    /// How a text is written: 0 for the next one, or 1 and the number of an earlier one.
    fn code(&mut self, text: &str) -> u64 {
        if self.texts.get(self.last as usize).is_some_and(|last| **last == *text) {
            return self.last + 1;
        }
        if let Some(number) = self.numbers.get(text) {
            self.last = *number;
            return number + 1;
        }
        self.last = self.texts.len() as u64;
        self.numbers.insert(text.into(), self.last);
        self.texts.push(text.into());
        0
    }

    /// The words of all texts, and the texts as words: sentences about thousands of pods share all but the pods.
    fn words(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut words, mut texts) = (Self::default(), Vec::new());
        for text in &self.texts {
            put(&mut texts, text.split(' ').count() as u64);
            for word in text.split(' ') {
                put(&mut texts, words.code(word));
            }
        }
        (serde_json::to_vec(&words.texts).expect("plain data"), texts)
    }
}

/// How the cells of a column are packed, as the page calls it.
#[derive(Copy, Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Packing {
    Text,
    Time,
    MaybeTime,
    Number,
    MaybeNumber,
    Truth,
}

impl From<Cells> for Packing {
    fn from(cells: Cells) -> Self {
        match cells {
            // What the page does not count with is text to it.
            Cells::Text
            | Cells::Lines
            | Cells::Real
            | Cells::MaybeTruth
            | Cells::Texts
            | Cells::Reals
            | Cells::Counts => Self::Text,
            Cells::Time => Self::Time,
            Cells::MaybeTime => Self::MaybeTime,
            Cells::Number => Self::Number,
            Cells::MaybeNumber => Self::MaybeNumber,
            Cells::Truth => Self::Truth,
        }
    }
}

/// A column in the making.
struct Column {
    info: ColumnInfo,
    packing: Packing,
    /// The value before, in milliseconds or as it is.
    last: i64,
    dictionary: Dictionary,
    values: Vec<u8>,
    rows: usize,
}

impl Column {
    fn new(info: ColumnInfo) -> Self {
        Self {
            info,
            packing: info.cells.into(),
            last: 0,
            dictionary: Dictionary::default(),
            values: Vec::new(),
            rows: 0,
        }
    }

    /// Takes a cell as its file has it, which has been checked.
    fn push(&mut self, cell: &str) {
        self.rows += 1;
        match self.packing {
            Packing::Text => {
                let code = self.dictionary.code(cell);
                put(&mut self.values, code);
            }
            Packing::Truth => self.values.push(u8::from(cell == "true")),
            Packing::Time => self.push_number(milliseconds(cell), 0),
            Packing::Number => self.push_number(cell.parse().unwrap_or(0), 0),
            Packing::MaybeTime | Packing::MaybeNumber if cell.is_empty() => self.values.push(0),
            Packing::MaybeTime => self.push_number(milliseconds(cell), 1),
            Packing::MaybeNumber => self.push_number(cell.parse().unwrap_or(0), 1),
        }
    }

    /// `above` is 1 where 0 is nothing.
    fn push_number(&mut self, value: i64, above: u64) {
        let difference = value.wrapping_sub(self.last);
        self.last = value;
        let zigzag = (difference.wrapping_shl(1) ^ (difference >> 63)).cast_unsigned();
        put(&mut self.values, zigzag.saturating_add(above));
    }
}

/// Seconds with up to three decimals, as tables have them.
fn milliseconds(cell: &str) -> i64 {
    let (whole, part) = cell.split_once('.').unwrap_or((cell, ""));
    let mut thousandths = 0;
    for digit in 0..3 {
        thousandths =
            thousandths * 10 + part.as_bytes().get(digit).map_or(0, |byte| i64::from(byte.saturating_sub(b'0')));
    }
    let whole_ms = whole.parse::<i64>().unwrap_or(0).saturating_mul(1000);
    if whole.starts_with('-') { whole_ms - thousandths } else { whole_ms + thousandths }
}

/// LEB128.
fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn csv(path: &Path, table: &TableInfo) -> Result<Vec<Column>, TableError> {
    let mut columns: Vec<Column> = table.columns.iter().map(|info| Column::new(*info)).collect();
    // Columns that an older version did not know are not there; whoever reads them does without.
    let places = Cell::new(Vec::new());
    let choose = |header: &[String]| {
        let of = |info: &ColumnInfo| header.iter().position(|name| name == info.name);
        let found: Vec<Option<usize>> = table.columns.iter().map(of).collect();
        let checked = table.columns.iter().zip(&found).filter_map(|(info, place)| {
            Some(Checked { place: (*place)?, name: info.name.to_owned(), cells: info.cells })
        });
        let checked = checked.collect();
        places.set(found);
        Ok(checked)
    };
    let mut known = Vec::new();
    tables::scan(path, choose, |row| {
        if known.is_empty() {
            known = places.take();
        }
        for (place, column) in known.iter().zip(&mut columns) {
            column.push(place.and_then(|place| row.get(place)).unwrap_or_default());
        }
    })?;
    let is_known = |index: usize| known.get(index).is_none_or(Option::is_some);
    Ok(columns.into_iter().enumerate().filter(|(index, _)| is_known(*index)).map(|(_, column)| column).collect())
}

fn json_lines(path: &Path, table: &TableInfo) -> Result<Vec<Column>, TableError> {
    let mut columns: Vec<Column> = table.columns.iter().map(|info| Column::new(*info)).collect();
    let mut count = 0;
    for (index, line) in tables::read_text(path)?.lines().enumerate() {
        let row: Value = serde_json::from_str(line)
            .map_err(|error| TableError::new(path, Some(index as u64 + 1), format!("this is no JSON: {error}")))?;
        for column in &mut columns {
            column.push(&cell_text(&row[column.info.name]));
        }
        count += 1;
    }
    tables::expect_rows(path, count)?;
    Ok(columns)
}

/// A value as a cell of a CSV would have it.
fn cell_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

#[derive(Serialize)]
struct Header {
    rows: usize,
    columns: Vec<ColumnHeader>,
}

#[derive(Serialize)]
struct ColumnHeader {
    name: &'static str,
    cells: Packing,
    unit: &'static str,
    meaning: &'static str,
    /// Bytes of the words.
    words: usize,
    /// Bytes of the texts.
    texts: usize,
    /// Bytes of the values.
    values: usize,
}

fn joined(columns: &[Column]) -> Vec<u8> {
    let parts = |column: &Column| match column.packing {
        Packing::Text => column.dictionary.words(),
        Packing::Truth | Packing::Time | Packing::MaybeTime | Packing::Number | Packing::MaybeNumber => {
            (Vec::new(), Vec::new())
        }
    };
    let parts: Vec<(Vec<u8>, Vec<u8>)> = columns.iter().map(parts).collect();
    let header = |(column, (words, texts)): (&Column, &(Vec<u8>, Vec<u8>))| ColumnHeader {
        name: column.info.name,
        cells: column.packing,
        unit: column.info.unit,
        meaning: column.info.meaning,
        words: words.len(),
        texts: texts.len(),
        values: column.values.len(),
    };
    let rows = columns.first().map_or(0, |column| column.rows);
    let header = Header { rows, columns: columns.iter().zip(&parts).map(header).collect() };
    let header = serde_json::to_vec(&header).expect("plain data");
    let mut out = Vec::new();
    out.extend_from_slice(&u32::try_from(header.len()).expect("a short header").to_le_bytes());
    out.extend_from_slice(&header);
    for (column, (words, texts)) in columns.iter().zip(&parts) {
        out.extend_from_slice(words);
        out.extend_from_slice(texts);
        out.extend_from_slice(&column.values);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: Cells, values: &[&str]) -> Column {
        let mut column = Column::new(ColumnInfo { name: "x", cells, unit: "", meaning: "" });
        values.iter().for_each(|value| column.push(value));
        column
    }

    #[test]
    fn times_are_exact_milliseconds() {
        for (text, expected) in [
            ("0.000", 0),
            ("343.309", 343_309),
            ("-0.016", -16),
            ("-2.5", -2500),
            ("7", 7000),
            ("31536000.001", 31_536_000_001),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_differences_and_nothing_is_zero() {
        assert_eq!(column(Cells::Number, &["5", "5", "4", "200"]).values, [10, 0, 1, 0x88, 0x03]);
        assert_eq!(column(Cells::MaybeTime, &["", "0.001", "", "0.001"]).values, [0, 3, 0, 1]);
    }

    #[test]
    fn texts_stand_once() {
        let column = column(Cells::Text, &["a is b", "", "a is b", "b is </script>", ""]);
        assert_eq!(column.values, [0, 0, 1, 0, 2]);
        let (words, texts) = column.dictionary.words();
        assert_eq!(words, br#"["a","is","b","","</script>"]"#);
        assert_eq!(texts, [3, 0, 0, 0, 1, 0, 3, 3, 2, 0]);
    }
}
