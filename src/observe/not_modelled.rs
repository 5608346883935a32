//! `not-modelled.csv`: what of the input had no effect. The loader finds it; no observer does.

use super::table::{Column, Row, Table};
use crate::model::NotModelled;

impl Row for NotModelled {
    const TABLE: Table<Self> = Table {
        file: "not-modelled.csv",
        holds: "every field and kind of the input that had no effect",
        columns: &[
            Column::text("file", "the file, as it was named", |row| row.file.as_str()),
            Column::number(
                "line",
                "",
                "the line of the field, or of the object if its whole kind had no effect",
                |row| i64::from(row.line),
            ),
            Column::text("object", "the object", |row| &row.object),
            Column::text("path", "the field; `kind` if the whole kind had no effect", |row| &row.path),
            Column::text("value", "the beginning of what is written there", |row| &row.value_excerpt),
            Column::number(
                "count",
                "places",
                "how often the field occurs in the file, if only its first is listed",
                |row| row.count as i64,
            ),
        ],
    };
}
