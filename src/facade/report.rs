//! Results on disk, whose charts and page are drawn again.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::Error;
use super::{plan_chart, study_chart, study_files};
use crate::inspect;
use crate::observe::Cells;
use crate::report::{
    DrawnCharts, OutputError, RunTables, Table, draw_charts, draw_page, draw_study_charts, draw_survival_matrix,
    is_place_of_trace, write_trace,
};

/// The directory of a finished run, study or plan.
#[derive(Clone, Debug)]
pub struct Report {
    run: RunTables,
}

impl Report {
    /// Opens it.
    ///
    /// # Errors
    ///
    /// If it is not such a directory, or damaged.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, Error> {
        let dir = dir.as_ref();
        Ok(Self { run: RunTables::new(dir.to_owned(), inspect::summary(dir)?) })
    }

    /// What has been read of it, after it has been moved.
    pub(super) fn moved_to(self, dir: PathBuf) -> Self {
        Self { run: self.run.moved_to(dir) }
    }

    /// Where it is.
    pub(crate) fn dir(&self) -> &Path {
        self.run.dir()
    }

    /// The content of `summary.json`.
    #[must_use]
    pub fn summary(&self) -> &Value {
        self.run.summary()
    }

    /// Draws the charts from its CSV files: names and SVG texts.
    ///
    /// # Errors
    ///
    /// If a file is missing or damaged: nothing is drawn from a part of the results.
    pub fn charts(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(self.draw()?.drawn)
    }

    /// Draws `report.html` from its files; none for studies and plans, which have no page yet.
    ///
    /// # Errors
    ///
    /// If a file is missing or damaged: nothing is shown of a part of the results.
    pub fn page(&self) -> Result<Option<String>, Error> {
        let is_run = self.summary()["plan"].is_null() && self.summary()["study"].is_null();
        if !is_run {
            return Ok(None);
        }
        inspect::expect_run(self.dir(), self.summary())?;
        Ok(Some(draw_page(&self.run)?))
    }

    /// Writes a run as a trace that Perfetto and `chrome://tracing` open: a process a zone; nodes, their faults, timers and pods as
    /// tracks. An earlier trace is replaced, no other file.
    ///
    /// # Errors
    ///
    /// If these are not the results of a run, a table is missing or damaged, a file of somebody else is there, or the operating system
    /// refuses.
    pub fn write_trace(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        inspect::expect_run(self.dir(), self.summary())?;
        expect_place_of_trace(path)?;
        let written = write_trace(&self.run, || fs::File::create(path))?;
        written.map_err(|source| OutputError::Io { doing: "write", path: path.to_owned(), source }.into())
    }

    /// The charts, and those for which there is nothing to show.
    pub(crate) fn draw(&self) -> Result<DrawnCharts, Error> {
        let (dir, summary) = (self.dir(), self.summary());
        let of = |drawn| DrawnCharts { drawn, left_out: Vec::new() };
        if summary["plan"].is_string() || dir.join("plan.csv").is_file() {
            return Ok(of(self.plan_charts()?));
        }
        if summary["study"]["study"].is_string() {
            return Ok(of(self.study_charts()?));
        }
        inspect::expect_run(dir, summary)?;
        Ok(draw_charts(&self.run)?)
    }

    /// Those of a study; those of `tune` if it was one.
    fn study_charts(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Table::read_as(&self.dir().join("runs.csv"), &[])?;
        let results = study_files::read(self.dir(), self.summary())?;
        let tuning = if self.summary()["tuning"].is_null() { None } else { results.tuning() };
        Ok(draw_study_charts(&study_chart::of(&results, tuning.as_ref())))
    }

    /// That of a plan.
    fn plan_charts(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Table::read_as(&self.dir().join("plan.csv"), &[("verdict", Cells::Text)])?;
        Table::read_as(&self.dir().join("cases.csv"), &[("case", Cells::Text), ("survived", Cells::Truth)])?;
        let read = |name: &str| fs::read(self.dir().join(name)).unwrap_or_default();
        let chart = plan_chart::of_files(self.summary(), &read("plan.csv"), &read("cases.csv")).ok_or_else(|| {
            let what = format!("the files of the plan in `{}` are broken", self.dir().display());
            Error::results(what, "plan again")
        })?;
        Ok(draw_survival_matrix(&chart).into_iter().collect())
    }
}

/// Refuses to replace what is no trace.
pub(crate) fn expect_place_of_trace(path: &Path) -> Result<(), Error> {
    if is_place_of_trace(path) {
        return Ok(());
    }
    Err(Error::argument(format!("`{}` is there already, and is no trace", path.display()), "name another file"))
}
