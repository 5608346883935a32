//! Tables as the page has them: columns of differences and dictionaries, in gzip, in base64.
//!
//! A block is the length of its header (four bytes, the little end first), the header (JSON: rows, and for each column its name, cells and
//! the bytes of its parts), then each column's parts: of a text column the words of its texts (JSON) and the texts as words; the values.
//! Whole numbers are LEB128. Names of pods stand in the table of pods alone: a word that ends with one is a number, how much further down
//! it is than the one before, or what stands before it and that number. `web/data.js` reads it.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::observe::Cells;
use crate::report::table::{Column, NOTHING, Table, Texts, Values};

/// Looking still longer for repetitions hardly makes columns of differences smaller, and a page should cost a run little.
const LEVEL: u32 = 6;

/// Text that the page inflates.
pub(super) fn packed(bytes: &[u8]) -> String {
    const EXPECT: &str = "writing to memory";
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
    encoder.write_all(bytes).expect(EXPECT);
    BASE64.encode(encoder.finish().expect(EXPECT))
}

/// The names of pods, each with its place in the table of pods.
#[derive(Default)]
pub(super) struct Names<'a>(FxHashMap<&'a str, i64>);

impl<'a> Names<'a> {
    /// Those of the table of pods.
    pub(super) fn of(pods: &'a Table) -> Self {
        let column = pods.columns().iter().find(|column| column.info.name == "name");
        let names = column.into_iter().flat_map(|column| match &column.values {
            Values::Texts(texts) => texts.all().collect::<Vec<_>>(),
            Values::Times(_) | Values::Numbers(_) | Values::Truths(_) => Vec::new(),
        });
        Self(names.zip(0..).collect())
    }

    /// What stands in a word before a name, and the name's place.
    fn find<'w>(&self, word: &'w str) -> Option<(&'w str, i64)> {
        let begin = word.rfind('/').map_or(0, |slash| slash + 1);
        Some((&word[..begin], *self.0.get(&word[begin..])?))
    }
}

/// A word as its block has it.
#[derive(Serialize)]
#[serde(untagged)]
enum Word<'a> {
    Text(&'a str),
    Name(i64),
    Behind(&'a str, i64),
}

/// A table as a block, whose words may be names of pods.
pub(super) fn block(table: &Table, names: &Names<'_>) -> String {
    packed(&joined(table, names))
}

/// The words of all texts, and the texts as words: sentences about thousands of pods share all but the pods.
fn words(texts: &Texts, names: &Names<'_>) -> (Vec<u8>, Vec<u8>) {
    let (mut words, mut codes, mut out) = (Texts::default(), Codes::default(), Vec::new());
    for text in texts.all() {
        put(&mut out, text.split(' ').count() as u64);
        for word in text.split(' ') {
            put(&mut out, codes.code(words.number(word)));
        }
    }
    let mut last = 0;
    let word = |word| match names.find(word) {
        None => Word::Text(word),
        Some((before, place)) => {
            let further = place - std::mem::replace(&mut last, place);
            if before.is_empty() { Word::Name(further) } else { Word::Behind(before, further) }
        }
    };
    (serde_json::to_vec(&words.all().map(word).collect::<Vec<_>>()).expect("plain data"), out)
}

/// Texts, by their numbers, as they are written: 0 for the next one, or 1 and the number of an earlier one.
#[derive(Default)]
struct Codes {
    known: u32,
}

impl Codes {
    fn code(&mut self, number: u32) -> u64 {
        if number == self.known {
            self.known += 1;
            return 0;
        }
        u64::from(number) + 1
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
            Cells::Time | Cells::Duration => Self::Time,
            Cells::MaybeTime => Self::MaybeTime,
            Cells::Number | Cells::Unsigned => Self::Number,
            Cells::MaybeNumber => Self::MaybeNumber,
            Cells::Truth => Self::Truth,
        }
    }
}

/// The values of a column.
fn values(column: &Column) -> Vec<u8> {
    let mut out = Vec::new();
    match &column.values {
        Values::Texts(texts) => {
            let mut codes = Codes::default();
            texts.rows().iter().for_each(|number| put(&mut out, codes.code(*number)));
        }
        Values::Truths(truths) => out.extend(truths.iter().map(|is_true| u8::from(*is_true))),
        Values::Times(numbers) | Values::Numbers(numbers) => {
            // Where there may be nothing, that is 0.
            let above = u64::from(matches!(column.info.cells.into(), Packing::MaybeTime | Packing::MaybeNumber));
            let mut last = 0;
            for number in numbers {
                if *number == NOTHING {
                    out.push(0);
                    continue;
                }
                let difference = number.wrapping_sub(last);
                last = *number;
                let zigzag = (difference.wrapping_shl(1) ^ (difference >> 63)).cast_unsigned();
                put(&mut out, zigzag.saturating_add(above));
            }
        }
    }
    out
}

/// LEB128.
fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
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

/// The parts of a column.
struct Parts<'a> {
    column: &'a Column,
    words: Vec<u8>,
    texts: Vec<u8>,
    values: Vec<u8>,
}

impl<'a> Parts<'a> {
    fn of(column: &'a Column, names: &Names<'_>) -> Self {
        let (words, texts) = match &column.values {
            Values::Texts(texts) => words(texts, names),
            Values::Times(_) | Values::Numbers(_) | Values::Truths(_) => (Vec::new(), Vec::new()),
        };
        Self { column, words, texts, values: values(column) }
    }

    fn header(&self) -> ColumnHeader {
        let info = self.column.info;
        ColumnHeader {
            name: info.name,
            cells: info.cells.into(),
            unit: info.unit,
            meaning: info.meaning,
            words: self.words.len(),
            texts: self.texts.len(),
            values: self.values.len(),
        }
    }
}

/// The block of a table before it is packed.
pub(super) fn joined(table: &Table, names: &Names<'_>) -> Vec<u8> {
    let columns: Vec<Parts<'_>> = table.columns().iter().map(|column| Parts::of(column, names)).collect();
    let header = Header { rows: table.len(), columns: columns.iter().map(Parts::header).collect() };
    let header = serde_json::to_vec(&header).expect("plain data");
    let mut out = Vec::new();
    out.extend_from_slice(&u32::try_from(header.len()).expect("a short header").to_le_bytes());
    out.extend_from_slice(&header);
    for Parts { words, texts, values, .. } in &columns {
        out.extend_from_slice(words);
        out.extend_from_slice(texts);
        out.extend_from_slice(values);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::ColumnInfo;

    fn column(cells: Cells, values: &[&str]) -> Column {
        let mut column = Column::new(ColumnInfo { name: "x", cells, unit: "", meaning: "" });
        values.iter().for_each(|value| column.push(value));
        column
    }

    #[test]
    fn numbers_are_differences_and_nothing_is_zero() {
        assert_eq!(values(&column(Cells::Number, &["5", "5", "4", "200"])), [10, 0, 1, 0x88, 0x03]);
        assert_eq!(values(&column(Cells::MaybeTime, &["", "0.001", "", "0.001"])), [0, 3, 0, 1]);
    }

    #[test]
    fn texts_stand_once() {
        let column = column(Cells::Text, &["a is b", "", "a is b", "b is </script>", ""]);
        assert_eq!(values(&column), [0, 0, 1, 0, 2]);
        let Values::Texts(texts) = &column.values else { panic!("a column of text") };
        let (words, texts) = words(texts, &Names::default());
        assert_eq!(words, br#"["a","is","b","","</script>"]"#);
        assert_eq!(texts, [3, 0, 0, 0, 1, 0, 3, 3, 2, 0]);
    }

    #[test]
    fn names_of_pods_stand_in_their_table_alone() {
        let mut pods = Table::new([ColumnInfo { name: "name", cells: Cells::Text, unit: "", meaning: "" }]);
        ["a-0", "b-0", "c-0", "b-0"].iter().zip(2..).for_each(|(name, line)| pods.push(line, [*name]));
        let texts = column(Cells::Text, &["c-0", "pod/x/b-0 created", "c-0/d", "b-0 c-0"]);
        let Values::Texts(texts) = &texts.values else { panic!("a column of text") };
        let (words, _) = words(texts, &Names::of(&pods));
        assert_eq!(String::from_utf8(words).expect("JSON"), r#"[2,["pod/x/",-1],"created","c-0/d",0]"#);
    }
}
