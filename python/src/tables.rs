//! Tables as Arrow, handed over as the PyCapsule interface has it.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchOptions,
    StringArray, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Metadata, Schema, SchemaRef};
use kubesquall::{Columns, Values};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Rows of a batch: text of more might not fit into one array.
const BATCH_ROWS: usize = 1 << 17;

/// A table of a result, by columns.
#[pyclass(frozen, module = "kubesquall")]
pub(crate) struct Table {
    columns: Columns,
    schema: SchemaRef,
}

impl Table {
    pub(crate) fn new(columns: Columns) -> Self {
        let schema = Arc::new(schema(&columns));
        Self { columns, schema }
    }

    /// The rows from one to another.
    fn batch(&self, from: usize, to: usize) -> Result<RecordBatch, ArrowError> {
        let arrays = self.columns.columns.iter().map(|column| array(&column.values, from, to)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(to - from));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
    }
}

#[pymethods]
impl Table {
    /// The name of the file that holds it in a directory of results.
    #[getter]
    fn file(&self) -> &'static str {
        self.columns.file
    }

    /// What a row is.
    #[getter]
    fn holds(&self) -> &'static str {
        self.columns.holds
    }

    /// The names of the columns, in the order of the file.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.columns.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// What the columns are: of each its name, its type as Arrow calls it, its unit and its meaning.
    #[getter]
    fn columns(&self) -> Vec<(String, String, &'static str, &'static str)> {
        let told = |(column, field): (&kubesquall::Column, &Arc<Field>)| {
            (column.name.clone(), field.data_type().to_string(), column.info.unit, column.info.meaning)
        };
        self.columns.columns.iter().zip(self.schema.fields()).map(told).collect()
    }

    fn __len__(&self) -> usize {
        self.columns.rows
    }

    /// The values of a column as a list; `None` where the file has nothing.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = self.columns.columns.iter().find(|column| column.name == name);
        let Some(column) = found else {
            let message =
                format!("`{}` has no column `{name}`; it has {}", self.file(), self.column_names().join(", "));
            return Err(pyo3::exceptions::PyKeyError::new_err(message));
        };
        match &column.values {
            Values::Texts(values) => values.into_pyobject(py),
            Values::Reals(values) => values.into_pyobject(py),
            Values::Wholes(values) => values.into_pyobject(py),
            Values::Unsigned(values) => values.into_pyobject(py),
            Values::Truths(values) => values.into_pyobject(py),
            _ => unreachable!("this module is built with its library"),
        }
    }

    /// The schema, as Arrow's PyCapsule interface has it.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.schema).map_err(broken)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The table, as Arrow's PyCapsule interface has it. Another schema than its own cannot be had.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // What is asked for is a wish: consumers cast what they get.
        drop(requested_schema);
        let starts = (0..self.columns.rows).step_by(BATCH_ROWS);
        let batches: Vec<_> = starts.map(|from| self.batch(from, self.columns.rows.min(from + BATCH_ROWS))).collect();
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        format!(
            "<kubesquall.Table {}: {} rows of {} columns>",
            self.file(),
            self.columns.rows,
            self.columns.columns.len()
        )
    }
}

fn broken(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// What columns mean and count stands in the metadata of their fields.
fn schema(columns: &Columns) -> Schema {
    let field = |column: &kubesquall::Column| {
        let (data_type, may_lack) = match column.values {
            Values::Texts(_) => (DataType::Utf8, false),
            Values::Reals(_) => (DataType::Float64, column.may_lack),
            Values::Wholes(_) => (DataType::Int64, column.may_lack),
            Values::Unsigned(_) => (DataType::UInt64, column.may_lack),
            Values::Truths(_) => (DataType::Boolean, column.may_lack),
            _ => unreachable!("this module is built with its library"),
        };
        let metadata = [("meaning", column.info.meaning), ("unit", column.info.unit)];
        let metadata = metadata.into_iter().filter(|(_, text)| !text.is_empty());
        let metadata = metadata.map(|(name, text)| (name.to_owned(), text.to_owned()));
        Field::new(&column.name, data_type, may_lack).with_metadata(metadata.collect::<Metadata>())
    };
    Schema::new(columns.columns.iter().map(field).collect::<Vec<_>>())
}

fn array(values: &Values, from: usize, to: usize) -> ArrayRef {
    match values {
        Values::Texts(texts) => Arc::new(StringArray::from_iter_values(&texts[from..to])),
        Values::Reals(numbers) => Arc::new(Float64Array::from_iter(numbers[from..to].iter().copied())),
        Values::Wholes(numbers) => Arc::new(Int64Array::from_iter(numbers[from..to].iter().copied())),
        Values::Unsigned(numbers) => Arc::new(UInt64Array::from_iter(numbers[from..to].iter().copied())),
        Values::Truths(truths) => Arc::new(BooleanArray::from_iter(truths[from..to].iter().copied())),
        _ => unreachable!("this module is built with its library"),
    }
}
