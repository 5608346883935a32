//! The verbs: what is read, played, decided and imported.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use kubesquall::{
    Cluster, ClusterImport, ClusterOptions, CostBy, Document, Error, FaultImport, Forecast, ForecastInputs,
    ForecastOptions, Imported, LatencyImport, Observations, OutageImport, Plan, PlayOptions, Progress as _, RareEvent,
    Scenario, SensitivityOptions, Shard, SimTime, SolveOptions, Study, StudyOutcome, SweepOptions,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{Failure, json};
use crate::inputs::{Reading, Source, Texts, Writing, duration};
use crate::plugins::Plugin;
use crate::pool::Pool;
use crate::results::{Of, Results};
use crate::work::{Watch, work};

/// What is called now and then with how far work has got.
type Caller = Option<Py<PyAny>>;
/// Files beside a document and it, what to know, and problems as JSON.
type ImportedTexts = (Texts, Vec<String>, String);

/// Plays a scenario.
#[pyfunction]
#[pyo3(signature = (source, reading, writing, *, until, sample, observed, plugins, progress))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub(crate) fn run(
    py: Python<'_>,
    source: Source,
    reading: Reading,
    writing: Writing,
    until: Option<&str>,
    sample: Option<&str>,
    observed: Option<PathBuf>,
    plugins: Vec<Plugin>,
    progress: Caller,
) -> PyResult<Results> {
    let (until, sample) = (duration(until)?, duration(sample)?);
    if until.is_some_and(|until| until.is_zero()) {
        return Err(PyValueError::new_err(
            "a run of no duration shows nothing; `until` is its length, such as \"10m\"",
        ));
    }
    work(py, progress.as_ref(), move |watch| {
        let mut scenario: Scenario = source.read(&reading.options())?;
        if let Some(until) = until {
            scenario = scenario.until(until);
        }
        if !plugins.is_empty() {
            scenario = scenario.with_plugins(crate::plugins::plugins(plugins))?;
        }
        if let Some(out) = &writing.out {
            // Before anything is played, so that a refusal costs no time.
            scenario.check_place(out, &writing.options())?;
        }
        let seen = observed.map(Observations::load).transpose()?;
        let warnings = json(scenario.warnings().as_slice());
        let mut outcome = play(&scenario, &PlayOptions::new().sample(sample.unwrap_or_default()), watch)?;
        if let Some(seen) = seen {
            outcome = outcome.held_against(&seen)?;
        }
        let written = writing.out.as_ref().map(|out| outcome.write_with(out, &writing.options())).transpose()?;
        Ok(Results::new(Of::Run(outcome), written, warnings))
    })
}

/// Plays a scenario's own seed piece by piece, as somebody may want it to stop.
fn play(scenario: &Scenario, options: &PlayOptions<'_>, watch: &Watch) -> Result<kubesquall::Outcome, Failure> {
    const PIECES: u64 = 400;
    let mut run = scenario.try_settle()?.start_once(scenario.seed(), options);
    watch.begin(PIECES, 0, scenario.name());
    for piece in 1..=PIECES {
        watch.heed()?;
        run.try_run_until(SimTime::ZERO + (scenario.duration() / PIECES) * piece)?;
        watch.advance();
    }
    Ok(run.try_finish()?)
}

/// How a study is played.
#[derive(FromPyObject)]
pub(crate) struct Playing {
    tunes: bool,
    allow_undone: bool,
    threads: Option<NonZeroUsize>,
    shard: Option<String>,
    precision: Option<f64>,
    indifference: Option<f64>,
    contenders: bool,
    cost_by: Option<String>,
    rare: Option<String>,
    resume: bool,
}

/// Sweeps or tunes a study.
#[pyfunction]
#[pyo3(signature = (source, reading, writing, playing, *, progress))]
pub(crate) fn study(
    py: Python<'_>,
    source: Source,
    reading: Reading,
    writing: Writing,
    playing: Playing,
    progress: Caller,
) -> PyResult<Results> {
    work(py, progress.as_ref(), move |watch| {
        let study: Study = source.read(&reading.options())?;
        let mut study = study.allow_undone(playing.allow_undone);
        if let Some(by) = &playing.cost_by {
            study = study.cost_by(by.parse::<CostBy>().map_err(Error::from)?)?;
        }
        if let Some(event) = &playing.rare {
            study = study.rare_event(event.parse::<RareEvent>().map_err(Error::from)?)?;
        }
        let mut options = SweepOptions::new()
            .write(writing.options())
            .contenders(playing.contenders)
            .resume(playing.resume)
            .progress(watch);
        if let Some(count) = playing.threads {
            options = options.threads(count);
        }
        if let Some(shard) = &playing.shard {
            options = options.shard(shard.parse::<Shard>().map_err(Error::from)?);
        }
        if let Some(share) = playing.precision {
            options = options.precision(share);
        }
        if let Some(share) = playing.indifference {
            options = options.indifference(share);
        }
        let outcome = match (&writing.out, playing.tunes) {
            (Some(out), true) => study.tune_to(out, &options)?,
            (Some(out), false) => study.sweep_to(out, &options)?,
            (None, true) => study.tune(&options)?,
            (None, false) => study.sweep(&options)?,
        };
        Ok(Results::new(Of::Study(outcome), writing.out, json(study.warnings().as_slice())))
    })
}

/// Refuses a study that is to be played elsewhere, part by part, if it cannot be used, or if what comes of it could not be written or would
/// recommend nothing.
#[pyfunction]
#[pyo3(signature = (source, reading, writing, *, tunes))]
pub(crate) fn check_study(
    py: Python<'_>,
    source: Source,
    reading: Reading,
    writing: Writing,
    tunes: bool,
) -> PyResult<()> {
    work(py, None, move |_| {
        let study: Study = source.read(&reading.options())?;
        let options = SweepOptions::new().write(writing.options());
        match (&writing.out, tunes) {
            (Some(out), true) => study.check_tune_to(out, &options)?,
            (Some(out), false) => study.check_sweep_to(out, &options)?,
            (None, true) => study.check_tunable(&options)?,
            (None, false) => {}
        }
        Ok(())
    })
}

/// Says how far the answer of a study rests on what it assumes.
#[pyfunction]
#[pyo3(signature = (source, reading, writing, *, threads, trajectories, replications, variant, resume, progress))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub(crate) fn sensitivity(
    py: Python<'_>,
    source: Source,
    reading: Reading,
    writing: Writing,
    threads: Option<NonZeroUsize>,
    trajectories: Option<u32>,
    replications: Option<NonZeroU32>,
    variant: Option<String>,
    resume: bool,
    progress: Caller,
) -> PyResult<Results> {
    work(py, progress.as_ref(), move |watch| {
        let study: Study = source.read(&reading.options())?;
        let mut options = SensitivityOptions::new().write(writing.options()).resume(resume).progress(watch);
        if let Some(count) = threads {
            options = options.threads(count);
        }
        if let Some(count) = trajectories {
            options = options.trajectories(count);
        }
        if let Some(count) = replications {
            options = options.replications(count);
        }
        if let Some(values) = variant {
            options = options.variant(values);
        }
        let outcome = match &writing.out {
            Some(out) => study.sensitivity_to(out, &options)?,
            None => study.sensitivity(&options)?,
        };
        Ok(Results::new(Of::Sensitivity(outcome), writing.out, json(study.warnings().as_slice())))
    })
}

/// Puts the parts of a study together.
#[pyfunction]
#[pyo3(signature = (parts, writing))]
pub(crate) fn merge(py: Python<'_>, parts: Vec<PathBuf>, writing: Writing) -> PyResult<Results> {
    work(py, None, move |_| {
        let parts = parts.iter().map(StudyOutcome::read).collect::<Result<Vec<_>, Error>>()?;
        let outcome = StudyOutcome::merge(parts)?;
        let written = writing.out.as_ref().map(|out| outcome.write_with(out, &writing.options())).transpose()?;
        Ok(Results::new(Of::Study(outcome), written, json(&[])))
    })
}

/// Works out a plan.
#[pyfunction]
#[pyo3(signature = (source, reading, writing, *, threads, exhaustive, headroom, blast_radius, placements, progress))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub(crate) fn plan(
    py: Python<'_>,
    source: Source,
    reading: Reading,
    writing: Writing,
    threads: Option<NonZeroUsize>,
    exhaustive: bool,
    headroom: Vec<String>,
    blast_radius: Option<String>,
    placements: Option<NonZeroU32>,
    progress: Caller,
) -> PyResult<Results> {
    work(py, progress.as_ref(), move |watch| {
        let plan: Plan = source.read(&reading.options())?;
        if let Some(out) = &writing.out {
            plan.check_place(out, &writing.options())?;
        }
        let mut options = SolveOptions::new().exhaustive(exhaustive).progress(watch);
        options = headroom.into_iter().fold(options, SolveOptions::headroom);
        if let Some(label) = blast_radius {
            options = options.blast_radius(label);
        }
        if let Some(count) = placements {
            options = options.placements(count);
        }
        if let Some(count) = threads {
            options = options.threads(count);
        }
        let outcome = plan.solve(&options)?;
        let written = writing.out.as_ref().map(|out| outcome.write_with(out, &writing.options())).transpose()?;
        Ok(Results::new(Of::Plan(outcome), written, json(plan.warnings().as_slice())))
    })
}

/// A cluster: files, or texts by the paths that messages name them by.
#[derive(FromPyObject)]
pub(crate) struct ClusterSource {
    paths: Vec<PathBuf>,
    texts: Option<Texts>,
}

/// How a forecast is worked out.
#[derive(FromPyObject)]
pub(crate) struct Forecasting {
    threads: Option<NonZeroUsize>,
    plays: Option<u64>,
    years: Option<u64>,
    precision: Option<f64>,
    resume: bool,
    /// How messages name it, and its text.
    rates: Option<(String, String)>,
    catalog: Option<(String, String)>,
    /// Who hands plays out, where several processes work it out together.
    pool: Option<Py<PyAny>>,
}

/// Works out a forecast.
#[pyfunction]
#[pyo3(signature = (source, reading, writing, forecasting, *, progress))]
pub(crate) fn forecast(
    py: Python<'_>,
    source: ClusterSource,
    reading: Reading,
    writing: Writing,
    forecasting: Forecasting,
    progress: Caller,
) -> PyResult<Results> {
    work(py, progress.as_ref(), move |watch| {
        let mut asked = ForecastInputs::new();
        if let Some((name, text)) = forecasting.rates {
            asked = asked.rates(name, text);
        }
        if let Some((name, text)) = forecasting.catalog {
            asked = asked.catalogue(name, text);
        }
        let forecast = match source.texts {
            Some(texts) => Forecast::parse_with(texts, &reading.options(), &asked)?,
            None => Forecast::load_with(source.paths, &reading.options(), &asked)?,
        };
        let warnings = json(forecast.warnings().as_slice());
        let pool = forecasting.pool.map(|object| Pool::new(object, watch));
        let mut options = ForecastOptions::new().progress(watch).resume(forecasting.resume);
        if let Some(pool) = &pool {
            options = options.pool(pool);
        }
        if let Some(count) = forecasting.threads {
            options = options.threads(count);
        }
        if let Some(most) = forecasting.plays {
            options = options.plays(most);
        }
        if let Some(years) = forecasting.years {
            options = options.years(years);
        }
        if let Some(share) = forecasting.precision {
            options = options.precision(share);
        }
        let worked_out = match &writing.out {
            Some(out) => {
                forecast.work_out_to(out, &options, &writing.options()).map(|(outcome, dir)| (outcome, Some(dir)))
            }
            None => forecast.work_out(&options).map(|outcome| (outcome, None)),
        };
        let (outcome, written) = worked_out.map_err(|error| {
            let failure = Failure::from(error);
            match pool {
                Some(pool) => pool.failure(failure),
                None => failure,
            }
        })?;
        Ok(Results::new(Of::Forecast(outcome), written, warnings))
    })
}

/// Decides about pending pods: a list as JSON, pods that are left out by the reason, and problems as JSON.
#[pyfunction]
#[pyo3(signature = (source, *, pods, allow_partial, kubernetes_version, config))]
#[expect(clippy::type_complexity, reason = "three things that Python takes apart at once")]
pub(crate) fn schedule(
    py: Python<'_>,
    source: ClusterSource,
    pods: Option<Vec<String>>,
    allow_partial: bool,
    kubernetes_version: Option<String>,
    config: Option<String>,
) -> PyResult<(String, Vec<(String, Vec<String>)>, String)> {
    work(py, None, move |watch| {
        let mut options = ClusterOptions::new().allow_partial(allow_partial);
        if let Some(version) = kubernetes_version {
            options = options.kubernetes_version(version);
        }
        if let Some(file) = config {
            options = options.scheduler_config(file);
        }
        let cluster = match source.texts {
            Some(texts) => Cluster::parse_with(texts, &options)?,
            None => Cluster::load_with(source.paths, &options)?,
        };
        let decisions = match pods {
            Some(pods) => cluster.decisions_of(pods)?,
            None => cluster.decisions(),
        };
        let mut taken = Vec::new();
        for decision in decisions.iter() {
            watch.heed()?;
            taken.push(serde_json::to_value(&decision).expect("plain data"));
        }
        let left_out = decisions.left_out().map(|(reason, pods)| (reason.to_owned(), pods.to_vec())).collect();
        let taken = serde_json::Value::Array(taken).to_string();
        Ok((taken, left_out, json(cluster.warnings().as_slice())))
    })
}

/// Reads a document and checks it: what it is, whether it can be used, and problems as JSON.
#[pyfunction]
#[pyo3(signature = (source, reading))]
pub(crate) fn check(
    py: Python<'_>,
    source: Source,
    reading: Reading,
) -> PyResult<(Option<&'static str>, bool, String)> {
    work(py, None, move |_| match source.read::<Document>(&reading.options()) {
        Ok(document) => Ok((Some(document.kind()), true, json(document.warnings().as_slice()))),
        Err(error) if !error.diagnostics().is_empty() => Ok((None, false, json(error.diagnostics()))),
        Err(error) => Err(error.into()),
    })
}

fn texts(imported: &Imported) -> ImportedTexts {
    (imported.files().to_vec(), imported.notes().to_vec(), json(imported.warnings().as_slice()))
}

/// Makes bundles into a cluster.
#[pyfunction]
#[pyo3(signature = (paths, *, allow_partial))]
pub(crate) fn import_cluster(py: Python<'_>, paths: Vec<PathBuf>, allow_partial: bool) -> PyResult<ImportedTexts> {
    work(py, None, move |_| Ok(texts(&ClusterImport::new().allow_partial(allow_partial).import(paths)?)))
}

/// How records of failures are read.
#[derive(FromPyObject)]
pub(crate) struct Faults {
    name: Option<String>,
    kind: Option<String>,
    nodes: Option<u32>,
    since: Option<String>,
    until: Option<String>,
    new: bool,
    distribution: Option<String>,
    resample: Option<u32>,
    seed: u64,
}

/// Makes records of failures into a random process.
#[pyfunction]
#[pyo3(signature = (tables, faults))]
pub(crate) fn import_faults(py: Python<'_>, tables: Texts, faults: Faults) -> PyResult<ImportedTexts> {
    work(py, None, move |_| {
        let mut importing = FaultImport::new().new_nodes(faults.new);
        if let Some(name) = faults.name {
            importing = importing.name(name);
        }
        if let Some(kind) = faults.kind {
            importing = importing.kind(kind);
        }
        if let Some(count) = faults.nodes {
            importing = importing.nodes(count);
        }
        if let Some(since) = faults.since {
            importing = importing.since(since);
        }
        if let Some(until) = faults.until {
            importing = importing.until(until);
        }
        if let Some(distribution) = faults.distribution {
            importing = importing.distribution(distribution);
        }
        if let Some(count) = faults.resample {
            importing = importing.resample(count).seed(faults.seed);
        }
        Ok(texts(&importing.import(tables)?))
    })
}

/// Makes what clusters record into latencies.
#[pyfunction]
#[pyo3(signature = (paths, *, min_samples, allow_partial))]
pub(crate) fn import_latencies(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    min_samples: usize,
    allow_partial: bool,
) -> PyResult<ImportedTexts> {
    work(py, None, move |_| {
        let importing = LatencyImport::new().min_samples(min_samples).allow_partial(allow_partial);
        Ok(texts(&importing.import(paths)?))
    })
}

/// How records of an outage are read.
#[derive(FromPyObject)]
pub(crate) struct Outage {
    name: Option<String>,
    grace: Option<String>,
    timezone: Option<String>,
    year: Option<i16>,
    latencies: Option<(String, String)>,
    refine: Option<u32>,
    allow_partial: bool,
}

/// Makes records of an outage into a scenario.
#[pyfunction]
#[pyo3(signature = (evidence, cluster, outage))]
pub(crate) fn import_outage(
    py: Python<'_>,
    evidence: Vec<PathBuf>,
    cluster: Vec<PathBuf>,
    outage: Outage,
) -> PyResult<ImportedTexts> {
    let grace = duration(outage.grace.as_deref())?;
    work(py, None, move |_| {
        let mut importing = OutageImport::new().allow_partial(outage.allow_partial);
        if let Some(name) = outage.name {
            importing = importing.name(name);
        }
        if let Some(length) = grace {
            importing = importing.grace(length);
        }
        if let Some(offset) = outage.timezone {
            importing = importing.timezone(offset);
        }
        if let Some(year) = outage.year {
            importing = importing.year(year);
        }
        if let Some((name, text)) = outage.latencies {
            importing = importing.latencies(name, text);
        }
        if let Some(plays) = outage.refine {
            importing = importing.refine(plays);
        }
        Ok(texts(&importing.import(evidence, cluster)?))
    })
}
