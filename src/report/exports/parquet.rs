//! Tables as Parquet: with the types of their columns, for DuckDB, pandas, Polars and Spark.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type as Schema;

use crate::observe::{ColumnInfo, TableInfo};
use crate::report::tables::{TableError, read_text};
use crate::report::typed::{self, Named, Type};

/// Rows of a group, which readers take in one by one.
const GROUP_ROWS: usize = 122_880;

/// A table's file as Parquet.
///
/// # Errors
///
/// If it is missing or damaged, or has other rows than were `written`, if somebody has counted them.
pub(super) fn content(path: &Path, written: Option<u64>, table: &TableInfo) -> Result<Vec<u8>, TableError> {
    let wrong = |error: ParquetError| TableError::new(path, None, format!("it cannot be written as Parquet: {error}"));
    let begin = |columns: Vec<Named>| Writer::new(columns.iter().map(|(name, info)| Column::new(name, info)).collect());
    let text = read_text(path)?;
    let writer = typed::scan((path, &text), written, table, begin, |writer, cells| writer.row(cells))?;
    writer.finish().map_err(wrong)
}

/// The cells of a column, of the rows of a group.
enum Cell {
    Text(Vec<ByteArray>),
    Real(Vec<f64>),
    Whole(Vec<i64>),
    /// As Parquet has them: the bits of a number that is not negative.
    Unsigned(Vec<i64>),
    Truth(Vec<bool>),
}

/// A column of a file in the making.
struct Column {
    name: String,
    meaning: String,
    cells: Cell,
    /// For each row 1, or 0 for nothing; none where there always is something.
    is_there: Option<Vec<i16>>,
}

impl Column {
    fn new(name: &str, info: &ColumnInfo) -> Self {
        let cells = match Type::of(info.cells) {
            Type::Text => Cell::Text(Vec::new()),
            Type::Real => Cell::Real(Vec::new()),
            Type::Whole => Cell::Whole(Vec::new()),
            Type::Unsigned => Cell::Unsigned(Vec::new()),
            Type::Truth => Cell::Truth(Vec::new()),
        };
        let may_lack = typed::may_lack(info.cells);
        let unit = if info.unit.is_empty() { String::new() } else { format!(" ({})", info.unit) };
        let meaning = format!("{}{unit}", info.meaning);
        Self { name: name.to_owned(), meaning, cells, is_there: may_lack.then(Vec::new) }
    }

    /// Takes a cell as the table has it; whether it is of the column's type.
    fn push(&mut self, cell: &str) -> bool {
        if let Some(is_there) = &mut self.is_there {
            is_there.push((!cell.is_empty()).into());
            if cell.is_empty() {
                return true;
            }
        }
        match &mut self.cells {
            Cell::Text(values) => {
                values.push(cell.into());
                true
            }
            Cell::Real(values) => cell.parse().map(|number| values.push(number)).is_ok(),
            Cell::Whole(values) => cell.parse().map(|number| values.push(number)).is_ok(),
            Cell::Unsigned(values) => cell.parse().map(|number: u64| values.push(number.cast_signed())).is_ok(),
            Cell::Truth(values) => cell.parse().map(|truth| values.push(truth)).is_ok(),
        }
    }

    fn schema(&self) -> Result<Schema, ParquetError> {
        let physical = match self.cells {
            Cell::Text(_) => Physical::BYTE_ARRAY,
            Cell::Real(_) => Physical::DOUBLE,
            Cell::Whole(_) | Cell::Unsigned(_) => Physical::INT64,
            Cell::Truth(_) => Physical::BOOLEAN,
        };
        let repetition = if self.is_there.is_some() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let logical = match self.cells {
            Cell::Text(_) => Some(LogicalType::String),
            Cell::Unsigned(_) => Some(LogicalType::integer(64, false)),
            Cell::Real(_) | Cell::Whole(_) | Cell::Truth(_) => None,
        };
        let column = Schema::primitive_type_builder(&self.name, physical).with_repetition(repetition);
        column.with_logical_type(logical).build()
    }

    /// Writes what it has, and has nothing any more.
    fn write(&mut self, group: &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<(), ParquetError> {
        let is_there = self.is_there.as_mut().map(std::mem::take);
        let is_there = is_there.as_deref();
        match &mut self.cells {
            Cell::Text(values) => write::<ByteArrayType>(group, values, is_there),
            Cell::Real(values) => write::<DoubleType>(group, values, is_there),
            Cell::Whole(values) | Cell::Unsigned(values) => write::<Int64Type>(group, values, is_there),
            Cell::Truth(values) => write::<BoolType>(group, values, is_there),
        }
    }
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &mut Vec<T::T>,
    is_there: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("as many as the schema has");
    column.typed::<T>().write_batch(values, is_there, None)?;
    values.clear();
    column.close()
}

/// A file in the making.
struct Writer {
    columns: Vec<Column>,
    /// Rows that the columns hold.
    rows: usize,
    /// None before the first group.
    file: Option<SerializedFileWriter<Vec<u8>>>,
    failed: Option<ParquetError>,
}

impl Writer {
    fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: 0, file: None, failed: None }
    }

    fn row<'a>(&mut self, cells: impl Iterator<Item = &'a str>) {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            if !column.push(cell) {
                let problem = format!("`{cell}` is no whole number, as it should be in the column `{}`", column.name);
                self.failed.get_or_insert(ParquetError::General(problem));
            }
        }
        self.rows += 1;
        if self.failed.is_some() {
            return;
        }
        if self.rows == GROUP_ROWS {
            self.failed = self.failed.take().or(self.group().err());
        }
    }

    fn begun(&self) -> Result<SerializedFileWriter<Vec<u8>>, ParquetError> {
        let columns: Result<Vec<_>, _> = self.columns.iter().map(|column| column.schema().map(Arc::new)).collect();
        let schema = Schema::group_type_builder("table").with_fields(columns?).build()?;
        let meaning = |column: &Column| KeyValue::new(column.name.clone(), column.meaning.clone());
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("kubesquall ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(self.columns.iter().map(meaning).collect()));
        SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties.build()))
    }

    /// Writes the rows that the columns hold.
    fn group(&mut self) -> Result<(), ParquetError> {
        let mut file = self.file.take().map_or_else(|| self.begun(), Ok)?;
        if self.rows > 0 {
            let mut group = file.next_row_group()?;
            self.columns.iter_mut().try_for_each(|column| column.write(&mut group))?;
            group.close()?;
        }
        self.rows = 0;
        self.file = Some(file);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<u8>, ParquetError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.group()?;
        self.file.take().expect("begun by now").into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Cells;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;

    fn info(name: &'static str, cells: Cells) -> ColumnInfo {
        ColumnInfo { name, cells, unit: "s", meaning: "what it means" }
    }

    fn table(file: &'static str, columns: Vec<ColumnInfo>) -> TableInfo {
        TableInfo { file, holds: "", columns }
    }

    fn rows(file: &'static str, text: &str, columns: Vec<ColumnInfo>) -> Vec<Vec<(String, Field)>> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join(file), text).expect("a file");
        let content = content(&dir.path().join(file), None, &table(file, columns)).expect("a table that is whole");
        let reader = SerializedFileReader::new(bytes(content)).expect("Parquet");
        reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row").into_columns()).collect()
    }

    fn bytes(content: Vec<u8>) -> impl parquet::file::reader::ChunkReader {
        let mut file = tempfile::tempfile().expect("a temporary file");
        std::io::Write::write_all(&mut file, &content).expect("writing");
        file
    }

    #[test]
    fn cells_have_the_types_of_their_columns() {
        let columns = vec![
            info("time_s", Cells::Time),
            info("left_s", Cells::MaybeTime),
            info("node", Cells::Text),
            info("pods", Cells::Number),
            info("is_on", Cells::Truth),
        ];
        let found =
            rows("nodes.csv", "time_s,left_s,node,pods,is_on\n1.250,,a,3,true\n2.000,9.5,\"b,c\",-1,false\n", columns);
        let named = |name: &str, field| (name.to_owned(), field);
        let text = |text: &str| Field::Str(text.to_owned());
        let row = |time, left, node, pods, is_on| {
            vec![
                named("time_s", Field::Double(time)),
                named("left_s", left),
                named("node", text(node)),
                named("pods", Field::Long(pods)),
                named("is_on", Field::Bool(is_on)),
            ]
        };
        let expected = [row(1.25, Field::Null, "a", 3, true), row(2.0, Field::Double(9.5), "b,c", -1, false)];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_column_that_stands_for_several_becomes_several() {
        let columns = vec![
            info("variant", Cells::Number),
            info("<axis>", Cells::Texts),
            info("seed", Cells::Unsigned),
            info("<metric>", Cells::Reals),
        ];
        let found =
            rows("nodes.csv", "variant,grace,wait,seed,evictions,cost\n0,40s,x,18446744073709551615,2,\n", columns);
        let names: Vec<&str> = found[0].iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["variant", "grace", "wait", "seed", "evictions", "cost"]);
        let fields: Vec<&Field> = found[0].iter().map(|(_, field)| field).collect();
        assert_eq!(fields[3..], [&Field::ULong(u64::MAX), &Field::Double(2.0), &Field::Null]);
    }

    #[test]
    fn what_users_name_may_be_called_as_the_column_behind_it() {
        let columns = vec![info("<pool>", Cells::Counts), info("nodes", Cells::Number), info("price", Cells::Real)];
        let found = rows("plan.csv", "web,nodes,nodes,price\n1,2,3,4.5\n", columns);
        let values: Vec<String> = found[0].iter().map(|(name, field)| format!("{name}={field}")).collect();
        assert_eq!(values, ["web=1", "pool nodes=2", "nodes=3", "price=4.5"]);
    }

    #[test]
    fn a_table_may_have_no_row_or_more_than_a_group() {
        let columns = || vec![info("pods", Cells::Number)];
        assert_eq!(rows("nodes.csv", "pods\n", columns()).len(), 0);
        let many: String = (0..=GROUP_ROWS).map(|number| format!("{number}\n")).collect();
        let found = rows("nodes.csv", &format!("pods\n{many}"), columns());
        assert_eq!(found.len(), GROUP_ROWS + 1);
        assert_eq!(found[GROUP_ROWS][0].1, Field::Long(GROUP_ROWS as i64));
    }

    #[test]
    fn lines_of_json_are_rows() {
        let columns = vec![info("at_s", Cells::Time), info("stdout", Cells::Lines), info("exit", Cells::MaybeNumber)];
        let found = rows("nodes.jsonl", "{\"at_s\":1.5,\"stdout\":[\"a\",\"b\"],\"exit\":null}\n", columns);
        let fields: Vec<&Field> = found[0].iter().map(|(_, field)| field).collect();
        assert_eq!(fields, [&Field::Double(1.5), &Field::Str("a\nb".to_owned()), &Field::Null]);
    }

    #[test]
    fn a_damaged_table_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("nodes.csv"), "pods\nthree\n").expect("a file");
        let columns = vec![info("pods", Cells::Number)];
        let found = content(&dir.path().join("nodes.csv"), None, &table("nodes.csv", columns));
        assert!(found.expect_err("no number").problem.contains("`three` is not a whole number"));
        // That is a number, but none that the column can have.
        std::fs::write(dir.path().join("nodes.csv"), "pods\n3\n3.5\n4\n").expect("a file");
        let found =
            content(&dir.path().join("nodes.csv"), None, &table("nodes.csv", vec![info("pods", Cells::Number)]));
        assert!(found.expect_err("no whole number").problem.contains("`3.5` is not a whole number"));
    }
}
