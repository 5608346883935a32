//! Tables with the types of their columns: what other formats and programs take.

use std::borrow::Cow;
use std::path::Path;

use super::tables::{self, Checked, TableError};
use crate::observe::{Cells, ColumnInfo, TableInfo};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Text; of lines, all of them.
    Text,
    /// A number with decimals, a time in seconds.
    Real,
    /// A whole number.
    Whole,
    /// A whole number that is not negative and may need all 64 bits.
    Unsigned,
    /// `true` or `false`.
    Truth,
}

impl Type {
    /// That of these cells.
    pub(crate) fn of(cells: Cells) -> Self {
        match cells {
            Cells::Text | Cells::Lines | Cells::Texts => Self::Text,
            Cells::Time | Cells::MaybeTime | Cells::Duration | Cells::Real | Cells::Reals => Self::Real,
            Cells::Number | Cells::MaybeNumber | Cells::Counts => Self::Whole,
            Cells::Unsigned => Self::Unsigned,
            Cells::Truth | Cells::MaybeTruth => Self::Truth,
        }
    }
}

/// Whether nothing may stand in these cells, which then is no value of their type.
pub(crate) fn may_lack(cells: Cells) -> bool {
    match cells {
        Cells::MaybeTime | Cells::MaybeNumber | Cells::MaybeTruth | Cells::Real | Cells::Reals => true,
        Cells::Text
        | Cells::Lines
        | Cells::Texts
        | Cells::Time
        | Cells::Duration
        | Cells::Number
        | Cells::Unsigned
        | Cells::Counts
        | Cells::Truth => false,
    }
}

/// A column of a file: its name there, and what it is.
pub(crate) type Named = (String, ColumnInfo);

/// Shows each row of a table, given as its file's text, to what is begun with its columns; gives that.
///
/// # Errors
///
/// If it is damaged, or has other rows than were `written`, if somebody has counted them.
pub(crate) fn scan<S>(
    (path, text): (&Path, &str),
    written: Option<u64>,
    table: &TableInfo,
    begin: impl FnOnce(Vec<Named>) -> S,
    mut show: impl FnMut(&mut S, &mut dyn Iterator<Item = &str>),
) -> Result<S, TableError> {
    if table.file.ends_with(".jsonl") {
        let mut state = begin(table.columns.iter().map(|info| (info.name.to_owned(), *info)).collect());
        let row = |_: u64, cells: &[String]| show(&mut state, &mut cells.iter().map(String::as_str));
        tables::scan_json_lines((path, text), written, &table.columns, row)?;
        return Ok(state);
    }
    let begin = |header: &[String]| {
        let columns = expanded(header, table);
        let checked = |(place, info): &(usize, &ColumnInfo)| Checked {
            place: *place,
            name: header[*place].clone(),
            cells: info.cells,
        };
        let places: Vec<usize> = columns.iter().map(|(place, _)| *place).collect();
        let named = |(place, info): &(usize, &ColumnInfo)| (name_of(&header[*place], info, table).into_owned(), **info);
        Ok(((places, begin(columns.iter().map(named).collect())), columns.iter().map(checked).collect()))
    };
    let (_, state) = tables::scan_text((path, text), written, begin, |(places, state), _, row| {
        show(state, &mut places.iter().map(|place| row.get(*place).unwrap_or_default()));
    })?;
    Ok(state)
}

/// The columns of a file by its header: their places, and what they are. One that stands for several takes all up to the next
/// that does not, or to the end; as the several may be called anything, that one is the last of its name. Those of an older version that
/// are not there are left out.
fn expanded<'a>(header: &[String], table: &'a TableInfo) -> Vec<(usize, &'a ColumnInfo)> {
    let stands_for_several = |info: &ColumnInfo| matches!(info.cells, Cells::Texts | Cells::Reals | Cells::Counts);
    let (mut found, mut place) = (Vec::new(), 0);
    for (index, info) in table.columns.iter().enumerate() {
        let at = |name: &str| header[place..].iter().position(|known| known == name).map(|offset| place + offset);
        let range = if stands_for_several(info) {
            let next = table.columns.get(index + 1);
            let next = next.and_then(|next| header[place..].iter().rposition(|known| known == next.name));
            place..next.map_or(header.len(), |offset| place + offset)
        } else {
            let Some(at) = at(info.name) else { continue };
            at..at + 1
        };
        place = range.end;
        found.extend(range.map(|place| (place, info)));
    }
    found
}

/// How a column is called: as in the CSV. What users name as the table names another of its columns is told apart by what it is, as readers
/// find columns by name: `pool nodes` beside `nodes`.
fn name_of<'a>(name: &'a str, info: &ColumnInfo, table: &TableInfo) -> Cow<'a, str> {
    let is_taken = name != info.name && table.columns.iter().any(|other| other.name == name);
    if is_taken { Cow::Owned(format!("{} {name}", info.name.trim_matches(['<', '>']))) } else { Cow::Borrowed(name) }
}
