//! What plays leave.

use std::path::PathBuf;
use std::sync::Arc;

use kubesquall::{Error, ForecastOutcome, Outcome, PlanOutcome, SensitivityOutcome, StudyOutcome, WriteOptions};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;

use crate::tables::Table;
use crate::work::work;

/// What one of the verbs gave, in memory.
#[pyclass(frozen, module = "kubesquall._kubesquall")]
pub(crate) struct Results {
    of: Arc<Of>,
    /// Where it has been written.
    written: Option<PathBuf>,
    /// Problems, as text of JSON.
    warnings: String,
}

#[expect(clippy::large_enum_variant, reason = "each is alone, behind an Arc")]
pub(crate) enum Of {
    Run(Outcome),
    Study(StudyOutcome),
    Plan(PlanOutcome),
    Sensitivity(SensitivityOutcome),
    Forecast(ForecastOutcome),
}

impl Of {
    fn word(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Study(_) => "study",
            Self::Plan(_) => "plan",
            Self::Sensitivity(_) => "sensitivity",
            Self::Forecast(_) => "forecast",
        }
    }

    fn write(&self, dir: &PathBuf, options: &WriteOptions) -> Result<PathBuf, Error> {
        match self {
            Self::Run(outcome) => outcome.write_with(dir, options),
            Self::Study(outcome) => outcome.write_with(dir, options),
            Self::Plan(outcome) => outcome.write_with(dir, options),
            Self::Sensitivity(outcome) => outcome.write_with(dir, options),
            Self::Forecast(outcome) => outcome.write_with(dir, options),
        }
    }
}

impl Results {
    pub(crate) fn new(of: Of, written: Option<PathBuf>, warnings: String) -> Self {
        Self { of: Arc::new(of), written, warnings }
    }

    fn run(&self) -> PyResult<&Outcome> {
        if let Of::Run(outcome) = &*self.of { Ok(outcome) } else { Err(self.has_no("run")) }
    }

    fn study(&self) -> PyResult<&StudyOutcome> {
        if let Of::Study(outcome) = &*self.of { Ok(outcome) } else { Err(self.has_no("study")) }
    }

    fn has_no(&self, what: &str) -> PyErr {
        PyAttributeError::new_err(format!("this is a {}, not a {what}", self.of.word()))
    }
}

#[pymethods]
impl Results {
    /// `run`, `study`, `plan`, `sensitivity` or `forecast`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.of.word()
    }

    /// Where it has been written.
    #[getter]
    fn written(&self) -> Option<PathBuf> {
        self.written.clone()
    }

    /// What may not mean what the documents' author thinks, as JSON.
    #[getter]
    fn warnings(&self) -> &str {
        &self.warnings
    }

    /// The text of `summary.json`; of a forecast that of `forecast.json`.
    fn summary(&self) -> String {
        match &*self.of {
            Of::Run(outcome) => outcome.summary_json(),
            Of::Study(outcome) => outcome.summary_json(),
            Of::Plan(outcome) => outcome.summary_json(),
            Of::Sensitivity(outcome) => outcome.summary_json(),
            Of::Forecast(outcome) => outcome.json_text(),
        }
    }

    /// The names of the tables.
    fn tables(&self) -> Vec<&'static str> {
        match &*self.of {
            Of::Run(outcome) => outcome.tables(),
            Of::Study(outcome) => outcome.tables(),
            Of::Plan(outcome) => outcome.tables(),
            Of::Sensitivity(outcome) => outcome.tables(),
            Of::Forecast(_) => Vec::new(),
        }
    }

    /// A table by the name of its file.
    fn table(&self, py: Python<'_>, file: String) -> PyResult<Table> {
        let of = Arc::clone(&self.of);
        let columns = work(py, None, move |_| {
            Ok(match &*of {
                Of::Run(outcome) => Some(outcome.table(&file)?),
                Of::Study(outcome) => Some(outcome.table(&file)?),
                Of::Plan(outcome) => Some(outcome.table(&file)?),
                Of::Sensitivity(outcome) => Some(outcome.table(&file)?),
                Of::Forecast(_) => None,
            })
        })?;
        columns.map(Table::new).ok_or_else(|| PyAttributeError::new_err("a forecast has no tables"))
    }

    /// Writes a directory of results; gives its path.
    fn write(&self, py: Python<'_>, dir: PathBuf, force: bool, charts: bool) -> PyResult<PathBuf> {
        let of = Arc::clone(&self.of);
        work(py, None, move |_| Ok(of.write(&dir, &WriteOptions::new().force(force).charts(charts))?))
    }

    /// The seed of a run.
    #[getter]
    fn seed(&self) -> PyResult<u64> {
        Ok(self.run()?.seed())
    }

    /// The digest of a run.
    #[getter]
    fn digest(&self) -> PyResult<String> {
        Ok(format!("{:016x}", self.run()?.digest()))
    }

    /// Whether everything holds that a run's scenario expects.
    #[getter]
    fn holds(&self) -> PyResult<bool> {
        Ok(self.run()?.holds())
    }

    /// The verdict on a run, a sentence each.
    fn verdict(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let sentences = self.run()?.verdict().map_err(|error| crate::errors::exception(py, &error))?;
        Ok(sentences.map(str::to_owned).collect())
    }

    /// The document that plays a run again.
    fn lock_file(&self) -> PyResult<String> {
        Ok(self.run()?.lock_file())
    }

    /// The variants of a study by their values.
    #[getter]
    fn variants(&self) -> PyResult<Vec<Vec<String>>> {
        Ok(self.study()?.variants().to_vec())
    }

    /// The position of a study's baseline.
    #[getter]
    fn baseline(&self) -> PyResult<usize> {
        Ok(self.study()?.baseline())
    }

    /// The position of a study's cheapest variant.
    #[getter]
    fn best(&self) -> PyResult<Option<usize>> {
        Ok(self.study()?.best())
    }

    /// What is to be said about earlier results in a study's directory.
    #[getter]
    fn note(&self) -> PyResult<Option<String>> {
        Ok(self.study()?.note().map(str::to_owned))
    }

    /// What each variant of a study gave of a metric: the mean, and the ends of its interval.
    fn metric(&self, name: &str) -> PyResult<Option<Vec<(f64, f64, f64)>>> {
        let intervals = self.study()?.metric(name);
        Ok(intervals.map(|all| all.iter().map(|of| (of.mean, of.low, of.high)).collect()))
    }

    /// What is recommended, by name: kubectl lines and documents.
    fn patches(&self) -> Vec<(String, String, String)> {
        match &*self.of {
            Of::Study(outcome) => {
                let patches = outcome.patches().into_iter();
                patches.map(|patch| ("patch".to_owned(), patch.shell.clone(), patch.yaml.clone())).collect()
            }
            Of::Forecast(outcome) => outcome
                .patches()
                .map(|(name, patch)| (name.to_owned(), patch.shell.clone(), patch.yaml.clone()))
                .collect(),
            Of::Run(_) | Of::Plan(_) | Of::Sensitivity(_) => Vec::new(),
        }
    }

    /// The answer of a plan: the count of each pool.
    fn answer(&self) -> PyResult<Option<Vec<(String, u32)>>> {
        let Of::Plan(outcome) = &*self.of else { return Err(self.has_no("plan")) };
        let answer = outcome.answer();
        Ok(answer.map(|counts| counts.into_iter().map(|(pool, count)| (pool.to_owned(), count)).collect()))
    }
}
