//! Tables of studies and plans as their pages have them: chosen columns of chosen rows, as JSON.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::observe::{Cells, ColumnInfo, TableInfo};
use crate::report::tables::{self, Checked, TableError};

/// Rows of a table: cells in the order of the columns.
#[derive(Debug, Serialize)]
pub(super) struct Plain {
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Vec<Value>>,
}

/// Which columns and rows of a table are wanted.
pub(super) struct Wanted<'a> {
    pub(super) table: &'a TableInfo,
    /// How many columns of the file stand in the place of the one that the table has for names of the user's. These may be called
    /// anything, so that the others go by their places.
    pub(super) named: usize,
    pub(super) is_column: &'a dyn Fn(&str) -> bool,
    /// Of a row's cells, those of the wanted columns.
    pub(super) is_row: &'a mut dyn FnMut(&[Value]) -> bool,
}

/// A column, and where its cells begin in the file.
struct Placed {
    info: ColumnInfo,
    place: usize,
    cells: usize,
}

/// Reads a table.
///
/// # Errors
///
/// If it is missing or damaged.
pub(super) fn read(dir: &Path, wanted: Wanted<'_>) -> Result<Plain, TableError> {
    let mut place = 0;
    let mut placed = Vec::new();
    for info in &wanted.table.columns {
        let cells = if is_several(info.cells) { wanted.named } else { 1 };
        placed.push(Placed { info: *info, place, cells });
        place += cells;
    }
    let choose = |header: &[String]| {
        let is_there =
            |of: &&Placed| is_several(of.info.cells) || header.get(of.place).is_some_and(|name| *name == of.info.name);
        if let Some(missing) = placed.iter().find(|of| !is_there(of)) {
            return Err(format!("there is no column `{}` in its place", missing.info.name));
        }
        let checked = |of: &Placed| {
            let (name, cells) = (of.info.name.to_owned(), of.info.cells);
            (of.place..of.place + of.cells).map(move |place| Checked { place, name: name.clone(), cells })
        };
        Ok(((), placed.iter().flat_map(checked).collect()))
    };
    let shown: Vec<&Placed> = placed.iter().filter(|of| (wanted.is_column)(of.info.name)).collect();
    let mut rows = Vec::new();
    tables::scan(&dir.join(wanted.table.file), None, choose, |(), _, row| {
        let cells: Vec<Value> = shown.iter().map(|of| cell(of, row)).collect();
        if (wanted.is_row)(&cells) {
            rows.push(cells);
        }
    })?;
    Ok(Plain { columns: shown.iter().map(|of| of.info.name).collect(), rows })
}

/// Whether such a column stands for several of the file.
fn is_several(cells: Cells) -> bool {
    matches!(cells, Cells::Texts | Cells::Reals | Cells::Counts)
}

fn cell(of: &Placed, row: &csv::StringRecord) -> Value {
    let text = |place: usize| row.get(place).unwrap_or_default();
    let number = |text: &str| text.parse::<f64>().map_or(Value::Null, Value::from);
    let several = |one: &dyn Fn(&str) -> Value| (of.place..of.place + of.cells).map(|place| one(text(place))).collect();
    match of.info.cells {
        Cells::Text | Cells::Lines => text(of.place).into(),
        Cells::Time
        | Cells::MaybeTime
        | Cells::Duration
        | Cells::Number
        | Cells::Unsigned
        | Cells::MaybeNumber
        | Cells::Real => number(text(of.place)),
        Cells::Truth => (text(of.place) == "true").into(),
        Cells::MaybeTruth => match text(of.place) {
            "" => Value::Null,
            truth => (truth == "true").into(),
        },
        Cells::Texts => several(&|text| text.into()),
        Cells::Reals | Cells::Counts => several(&number),
    }
}
