//! Results on disk, drawn and asked.

use std::path::PathBuf;
use std::sync::Arc;

use kubesquall::Report as Opened;
use pyo3::prelude::*;

use crate::tables::Table;
use crate::work::work;

/// A directory of results.
#[pyclass(frozen, module = "kubesquall._kubesquall")]
pub(crate) struct Report(Arc<Opened>);

#[pymethods]
impl Report {
    #[new]
    fn open(py: Python<'_>, dir: PathBuf) -> PyResult<Self> {
        let opened = work(py, None, move |_| Ok(Opened::open(dir)?))?;
        Ok(Self(Arc::new(opened)))
    }

    /// The text of its `summary.json`.
    fn summary(&self) -> String {
        self.0.summary().to_string()
    }

    /// The names of its tables.
    fn tables(&self) -> Vec<&'static str> {
        self.0.tables()
    }

    /// A table by the name of its file.
    fn table(&self, py: Python<'_>, file: String) -> PyResult<Table> {
        let opened = Arc::clone(&self.0);
        work(py, None, move |_| Ok(opened.table(&file)?)).map(Table::new)
    }

    /// Its charts: names and SVG texts.
    fn charts(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
        let opened = Arc::clone(&self.0);
        work(py, None, move |_| Ok(opened.charts()?))
    }

    /// Its page.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        let opened = Arc::clone(&self.0);
        work(py, None, move |_| Ok(opened.page()?))
    }

    /// The story of an object of a run: as text, and as JSON.
    fn explain(&self, py: Python<'_>, object: String, in_full: bool) -> PyResult<(String, String)> {
        let opened = Arc::clone(&self.0);
        work(py, None, move |_| {
            let found = if in_full { opened.explain_in_full(&object)? } else { opened.explain(&object)? };
            Ok((found.to_string(), found.to_json().to_string()))
        })
    }

    /// What differs from this run to another one: whether nothing does, all as JSON, and the page of both.
    fn diff(&self, py: Python<'_>, after: &Self, with_page: bool) -> PyResult<(bool, String, Option<String>)> {
        let runs = [&self.0, &after.0].map(Arc::clone);
        work(py, None, move |_| {
            let found = runs[0].diff(&runs[1])?;
            let page = with_page.then(|| found.page()).transpose()?;
            Ok((found.is_alike(), found.to_json().to_string(), page))
        })
    }
}
