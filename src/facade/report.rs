//! Results on disk, whose charts and page are drawn again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::Error;
use super::replay::Replay;
use super::scenario::Scenario;
use super::write_options::WriteOptions;
use super::{forecast_chart, plan_chart, sensitivity_chart, study_chart, study_files};
use crate::inspect;
use crate::model::config::KubernetesVersion;
use crate::model::served_as;
use crate::observe::{Cells, TableInfo};
use crate::report::{
    DrawnCharts, Epoch, Exported, Live, OutputDir, OutputError, RunTables, Table, draw_forecast_charts,
    draw_forecast_page, draw_live_page, draw_plan_page, draw_run_charts, draw_run_page, draw_sensitivity_charts,
    draw_sensitivity_page, draw_study_charts, draw_study_page, draw_survival_matrix, event_list, expect_whole,
    is_live_built, is_place_of_openmetrics, is_place_of_trace, read_forecast, read_text, replace_file, tables_of_plans,
    tables_of_runs, tables_of_sensitivities, tables_of_studies, write_audit_log, write_metrics, write_openmetrics,
    write_trace,
};
use crate::units::{SimDuration, unix_nanos_from_rfc3339};

/// What a directory holds the results of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Run,
    Study,
    Plan,
    Forecast,
    Sensitivity,
}

/// The directory of a finished run, study, plan, forecast or sensitivity analysis.
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

    /// Its tables, if it is of a run.
    pub(super) fn tables_of_run(&self) -> &RunTables {
        &self.run
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

    /// Draws `report.html` from its files.
    ///
    /// # Errors
    ///
    /// If a file is missing or damaged: nothing is shown of a part of the results.
    pub fn page(&self) -> Result<String, Error> {
        let (dir, summary) = (self.dir(), self.summary());
        self.expect_whole()?;
        Ok(match self.kind() {
            Kind::Plan => draw_plan_page(dir, summary)?,
            Kind::Forecast => draw_forecast_page(dir, summary)?,
            Kind::Study => draw_study_page(dir, summary)?,
            Kind::Sensitivity => draw_sensitivity_page(dir, summary)?,
            Kind::Run => draw_run_page(&self.run)?,
        })
    }

    /// Draws `report.html` of a run with the simulator in it, so that the run can be played again in the page with other values. The lock
    /// file is played here first, and has to give this run.
    ///
    /// # Errors
    ///
    /// If these are not the results of a run, a file is missing or damaged, the lock file gives another run, or the crate is built without
    /// the feature `live`.
    pub fn live_page(&self) -> Result<String, Error> {
        if !is_live_built() {
            let message = "this kubesquall is built without the simulator for pages";
            let help = "build it with the feature `live`, after `live/build`";
            return Err(Error::argument(message, help));
        }
        self.expect_whole()?;
        inspect::expect_run(self.dir(), self.summary())?;
        let path = self.dir().join("scenario.lock.yaml");
        let lock_file = read_text(&path)?;
        let replay = Replay::new(Scenario::load(&path)?);
        let outcome = replay.outcome([""; 0])?;
        let played = outcome.summary();
        let is_other = |field: &&str| self.summary()[*field] != played[*field];
        if let Some(field) =
            ["scenario", "seed", "duration_s", "metrics", "workloads", "verdict"].into_iter().find(is_other)
        {
            let problem = format!("`{}` does not give this run here: its `{field}` are others", path.display());
            return Err(Error::results(problem, "play the run again with this version of kubesquall"));
        }
        let live = Live::InPage { lock_file: &lock_file };
        Ok(draw_live_page(&self.run, live, &replay.knobs(), outcome.digest())?)
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

    /// The Events of a run as `kubectl get events -o json` prints them: a v1 List. Neither timeline actions nor faults are among them, as
    /// those are no objects of the API.
    ///
    /// # Errors
    ///
    /// If these are not the results of a run, or a table is missing or damaged.
    pub fn events(&self) -> Result<Value, Error> {
        let (epoch, version) = self.epoch_and_version()?;
        Ok(event_list(&self.run, |kind| served_as(kind, version), epoch)?)
    }

    /// Writes the requests of a run as the API server logs them for audit, a line of JSON each: those that its tables show.
    ///
    /// # Errors
    ///
    /// If these are not the results of a run, or a table is missing or damaged; within, if `out` cannot be written.
    pub fn write_audit_log(&self, out: impl io::Write) -> Result<io::Result<()>, Error> {
        let (epoch, version) = self.epoch_and_version()?;
        Ok(write_audit_log(&self.run, &version.to_string(), epoch, out)?)
    }

    /// Writes what kube-state-metrics would have said of a run as Prometheus answers a query of a range, scraped once a `step`: JSON.
    ///
    /// # Errors
    ///
    /// If these are not the results of a run, a table is missing or damaged, or the step is shorter than a second; within, if `out`
    /// cannot be written.
    pub fn write_metrics(&self, step: SimDuration, out: impl io::Write) -> Result<io::Result<()>, Error> {
        expect_step(step)?;
        let (epoch, _) = self.epoch_and_version()?;
        Ok(write_metrics(&self.run, epoch, step, out)?)
    }

    /// Writes what kube-state-metrics would have said of a run as OpenMetrics' text with time stamps, scraped once a `step`:
    /// `promtool tsdb create-blocks-from openmetrics` makes blocks for Prometheus of it. An earlier such file is replaced, no other.
    ///
    /// # Errors
    ///
    /// If these are not the results of a run, a table is missing or damaged, the step is shorter than a second, a file of somebody else is
    /// there, or the operating system refuses.
    pub fn write_openmetrics(&self, step: SimDuration, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        expect_step(step)?;
        let (epoch, _) = self.epoch_and_version()?;
        expect_place_of_openmetrics(path)?;
        let refused = |source| Error::from(OutputError::Io { doing: "write", path: path.to_owned(), source });
        let out = io::BufWriter::new(fs::File::create(path).map_err(refused)?);
        write_openmetrics(&self.run, epoch, step, out)?.map_err(refused)
    }

    /// The time stamp of t=0, and of which Kubernetes the run is.
    fn epoch_and_version(&self) -> Result<(Epoch, KubernetesVersion), Error> {
        inspect::expect_run(self.dir(), self.summary())?;
        let of_another = |what: &str| Error::results(format!("summary.json does not say {what}"), "play the run again");
        let epoch = self.summary()["epoch"].as_str().and_then(unix_nanos_from_rfc3339);
        let epoch = epoch.ok_or_else(|| of_another("what time stamp t=0 has"))?;
        let version = self.summary()["kubernetes_version"].as_str().and_then(|text| text.parse().ok());
        let version = version.ok_or_else(|| of_another("of which Kubernetes it is"))?;
        Ok((Epoch::from_unix_nanos(epoch), version))
    }

    /// Its tables as Parquet and its charts as PNG, as far as the options say so: names, relative to the directory, and contents.
    ///
    /// # Errors
    ///
    /// If a file is missing or damaged, or the crate is built without that format.
    pub fn exports(&self, options: &WriteOptions) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let mut files = Vec::new();
        self.export(options, &self.draw()?.drawn, |name, content| {
            files.push((name.to_owned(), content.to_vec()));
            Ok(())
        })?;
        Ok(files)
    }

    /// The results whose files have been written to `out`, of which these charts are drawn: writes them, the page, and what else the
    /// options ask for.
    pub(super) fn drawn_in(
        out: &OutputDir,
        options: &WriteOptions,
        charts: impl FnOnce(&Self) -> Result<Vec<(&'static str, String)>, Error>,
    ) -> Result<Self, Error> {
        let report = Self::open(out.path())?;
        let charts = if options.draws_charts() { charts(&report)? } else { Vec::new() };
        report.draw_with(options, &charts, |name, content| Ok(out.write(name, content)?))?;
        Ok(report)
    }

    /// Draws charts and page again from its files, and what else the options ask for, and writes them in the place of the earlier ones;
    /// gives the charts that there are, and those for which there is nothing to show, with the reason.
    ///
    /// # Errors
    ///
    /// If a file is missing or damaged, the crate is built without a format that is asked for, or the operating system refuses. Nothing
    /// is written but in the last case.
    pub fn redraw(&self, options: &WriteOptions) -> Result<DrawnCharts, Error> {
        let charts = self.draw()?;
        let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        self.draw_with(options, &charts.drawn, |name, content| {
            files.push((self.dir().join(name), content.to_vec()));
            Ok(())
        })?;
        let place = self.dir().join("charts");
        if place.is_symlink() {
            let problem = format!("`{}` is a link, and charts are not written to where it leads", place.display());
            return Err(Error::results(problem, "put a directory in its place, or remove it"));
        }
        let refused = |source| OutputError::Io { doing: "create", path: place.clone(), source };
        fs::create_dir_all(&place).map_err(refused)?;
        files.iter().try_for_each(|(path, content)| replace_file(path, content))?;
        Ok(charts)
    }

    /// Gives `write` each file that is made of its tables: names, relative to the directory, and contents. The charts have been drawn.
    fn draw_with(
        &self,
        options: &WriteOptions,
        charts: &[(&'static str, String)],
        mut write: impl FnMut(&str, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if options.draws_charts() {
            for (name, picture) in charts {
                write(&format!("charts/{name}"), picture.as_bytes())?;
            }
            let page = if options.is_live() { self.live_page()? } else { self.page()? };
            write("report.html", page.as_bytes())?;
        }
        self.export(options, charts, write)
    }

    /// Gives `write` each of these files; the charts have been drawn.
    fn export(
        &self,
        options: &WriteOptions,
        charts: &[(&'static str, String)],
        write: impl FnMut(&str, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        options.check_formats()?;
        options
            .export(&Exported { dir: self.dir(), summary: self.summary(), tables: &self.known_tables(), charts }, write)
    }

    /// Refuses results of which rows are missing. The tables of a run are counted when they are read, which all are.
    fn expect_whole(&self) -> Result<(), Error> {
        match self.kind() {
            Kind::Run => Ok(inspect::expect_run(self.dir(), self.summary())?),
            // Its figures are in one document, which is read as a whole.
            Kind::Forecast => Ok(()),
            Kind::Study | Kind::Plan | Kind::Sensitivity => Ok(expect_whole(self.dir(), self.summary())?),
        }
    }

    fn kind(&self) -> Kind {
        let (dir, summary) = (self.dir(), self.summary());
        if summary["plan"].is_string() || dir.join("plan.csv").is_file() {
            Kind::Plan
        } else if summary["forecast"].is_string() {
            Kind::Forecast
        } else if summary["sensitivity"].is_string() {
            Kind::Sensitivity
        } else if summary["study"]["study"].is_string() {
            Kind::Study
        } else {
            Kind::Run
        }
    }

    /// The tables that results of its kind can have.
    pub(super) fn known_tables(&self) -> Vec<TableInfo> {
        match self.kind() {
            Kind::Run => tables_of_runs(),
            Kind::Study => tables_of_studies(),
            Kind::Plan => tables_of_plans(),
            Kind::Sensitivity => tables_of_sensitivities(),
            Kind::Forecast => Vec::new(),
        }
    }

    /// The charts, and those for which there is nothing to show.
    fn draw(&self) -> Result<DrawnCharts, Error> {
        self.expect_whole()?;
        let of = |drawn| DrawnCharts { drawn, left_out: Vec::new() };
        match self.kind() {
            Kind::Plan => Ok(of(self.plan_charts()?)),
            Kind::Forecast => Ok(of(self.forecast_charts()?)),
            Kind::Study => Ok(of(self.study_charts()?)),
            Kind::Sensitivity => Ok(of(draw_sensitivity_charts(&sensitivity_chart::of(self.dir(), self.summary())?))),
            Kind::Run => Ok(draw_run_charts(&self.run)?),
        }
    }

    /// Those of a study; those of `tune` if it was one.
    fn study_charts(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Table::read_as(&self.dir().join("runs.csv"), &[])?;
        let results = study_files::read(self.dir(), self.summary())?;
        let tuning = if self.summary()["tuning"].is_null() { None } else { results.tuning() };
        Ok(draw_study_charts(&study_chart::of(&results, tuning.as_ref())))
    }

    /// Those of a forecast.
    fn forecast_charts(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(draw_forecast_charts(&forecast_chart::of(&read_forecast(self.dir())?)))
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

/// Refuses a step at which nobody scrapes.
fn expect_step(step: SimDuration) -> Result<(), Error> {
    if step < SimDuration::from_secs(1) {
        return Err(Error::argument(format!("nobody scrapes every {step}"), "take a step of at least a second"));
    }
    Ok(())
}

/// Refuses to replace what is no trace, and a directory that is not there, before anything is played.
pub(crate) fn expect_place_of_trace(path: &Path) -> Result<(), Error> {
    expect_place(path, ("a trace", "--trace run.json"), is_place_of_trace)
}

/// Refuses to replace what are no samples of ours, and a directory that is not there, before anything is played.
pub(crate) fn expect_place_of_openmetrics(path: &Path) -> Result<(), Error> {
    expect_place(path, ("a file of samples", "--openmetrics run.om"), is_place_of_openmetrics)
}

/// Refuses a place of `what` at which something else would be lost; `how` is how one is named.
fn expect_place(path: &Path, (what, how): (&str, &str), is_place: fn(&Path) -> bool) -> Result<(), Error> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
        return Err(Error::argument(
            format!("`{}` is no directory to write {what} to", dir.display()),
            "make it first",
        ));
    }
    if path == Path::new("-") {
        let problem = format!("{what} is written to a file, and `-` is none");
        return Err(Error::argument(problem, format!("name one: `{how}`")));
    }
    if is_place(path) {
        return Ok(());
    }
    let what = what.trim_start_matches("a ");
    Err(Error::argument(format!("`{}` is there already, and is no {what}", path.display()), "name another file"))
}
