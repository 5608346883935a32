//! A forecast of a cluster: what is likely to hurt it, whom, and what would help.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::error::Error;
use super::load::{self, LoadOptions};
use super::place::{self, Of};
use super::report::Report;
use super::write_options::WriteOptions;
use crate::diagnostics::Diagnostics;
use crate::model::manifest::Folder;
use crate::parallel::Threads;
use crate::report::OutputDir;
use crate::study::forecast::{self, Asked, Budget, ForecastResults, Options, PlayPool, Played};
use crate::study::{Journal, Patches, Progress, Shard};
use crate::units::SimDuration;

/// A cluster, read and settled, and everything that is likely to happen to it.
#[derive(Debug)]
pub struct Forecast {
    forecast: forecast::Forecast,
}

/// What goes into a forecast besides the cluster; texts by the names that messages call them by.
#[derive(Clone, Debug, Default)]
pub struct ForecastInputs(Asked);

impl ForecastInputs {
    /// Nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Random processes in place of the usual ones, as `import faults` writes them.
    #[must_use]
    pub fn rates(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.0.rates = Some((name.into(), text.into()));
        self
    }

    /// What the catalogue of incidents is to have besides, or not to have.
    #[must_use]
    pub fn catalogue(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.0.catalogue = Some((name.into(), text.into()));
        self
    }
}

/// How a forecast is worked out.
#[derive(Clone, Default)]
pub struct ForecastOptions<'a> {
    threads: Option<NonZeroUsize>,
    plays: Option<u64>,
    is_over: Option<&'a (dyn Fn() -> bool + Sync)>,
    time: Option<SimDuration>,
    precision: Option<f64>,
    years: Option<u64>,
    progress: Option<&'a dyn Progress>,
    pool: Option<&'a dyn PlayPool>,
    is_resumed: bool,
}

impl<'a> ForecastOptions<'a> {
    /// All of it, on all cores.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// On so many threads, at most one a core; of no consequence for the results.
    #[must_use]
    pub fn threads(mut self, count: NonZeroUsize) -> Self {
        self.threads = Some(count);
        self
    }

    /// At most so many plays, the most telling first. The same number gives the same bytes.
    #[must_use]
    pub fn plays(mut self, most: u64) -> Self {
        self.plays = Some(most);
        self
    }

    /// Until this says that time is up; the most telling plays come first. What is played by then depends on the machine.
    #[must_use]
    pub fn until(mut self, is_over: &'a (dyn Fn() -> bool + Sync)) -> Self {
        self.is_over = Some(is_over);
        self
    }

    /// Plans plays for so much time, by how fast they usually are; [`Self::until`] ends them. If neither this nor a number of plays is
    /// said, they are planned to take a few minutes at most, by their number, which depends on the cluster alone.
    #[must_use]
    pub fn budget(mut self, time: SimDuration) -> Self {
        self.time = Some(time);
        self
    }

    /// So many years of random failures at first, and in all if no precision is asked for; if nothing is said 24, or less where a
    /// budget does not allow for them.
    #[must_use]
    pub fn years(mut self, count: u64) -> Self {
        self.years = Some(count);
        self
    }

    /// Adds years until the interval of the whole cost is at most this share of it wide on either side; above 0 and below 1.
    #[must_use]
    pub fn precision(mut self, share: f64) -> Self {
        self.precision = Some(share);
        self
    }

    /// Says how far it has got.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Makes the plays that the pool hands out, one after the other, and takes those of others from it: so several processes work one
    /// forecast out together, with the results of one. Not together with [`Self::until`], which depends on the machine.
    #[must_use]
    pub fn pool(mut self, pool: &'a dyn PlayPool) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Whether [`Forecast::work_out_to`] goes on from what one to the same place had played when it was interrupted, or when its
    /// time or its plays were used up. Otherwise it begins anew.
    #[must_use]
    pub fn resume(mut self, is_resumed: bool) -> Self {
        self.is_resumed = is_resumed;
        self
    }

    fn check(&self) -> Result<(), Error> {
        if self.pool.is_some() && (self.is_resumed || self.is_over.is_some()) {
            let message =
                "a forecast that several processes work out together cannot be resumed, and ends when it is whole"
                    .to_owned();
            return Err(Error::argument(message, "bound it by its plays or years"));
        }
        match self.precision.filter(|share| !super::study::SweepOptions::is_precision(*share)) {
            None => Ok(()),
            Some(share) => {
                let message =
                    format!("{share} is no precision: it is the share of a mean by which its interval may miss it");
                Err(Error::argument(message, "a share is above 0 and below 1, such as 0.1"))
            }
        }
    }

    /// The same for those who play; plays are kept in the journal.
    fn with<'b>(&'b self, journal: Option<&'b Journal<Played>>) -> Options<'b> {
        let budget = Budget {
            plays: self.plays,
            is_over: self.is_over,
            time: self.time,
            progress: self.progress,
            journal,
            pool: self.pool,
        };
        Options { budget, precision: self.precision, years: self.years }
    }
}

impl fmt::Debug for ForecastOptions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threads, plays, precision, .. } = self;
        let mut debug = formatter.debug_struct("ForecastOptions");
        debug.field("threads", threads).field("plays", plays).field("precision", precision).finish_non_exhaustive()
    }
}

impl Forecast {
    /// Reads files, directories and globs of manifests and dumps, or one Scenario, whose own timeline is an incident more.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them, see [`Error::diagnostics`].
    pub fn load<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>, options: &LoadOptions) -> Result<Self, Error> {
        let paths: Vec<PathBuf> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        Self::read(&paths, &Folder::on_disk(Path::new("")), options, &Asked::default())
    }

    /// The same, with random processes and a catalogue of one's own.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them, see [`Error::diagnostics`].
    pub fn load_with<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        options: &LoadOptions,
        asked: &ForecastInputs,
    ) -> Result<Self, Error> {
        let paths: Vec<PathBuf> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        Self::read(&paths, &Folder::on_disk(Path::new("")), options, &asked.0)
    }

    /// Takes texts, by the paths that messages name them by. Nothing is read from disk.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them.
    pub fn parse<P, T>(texts: impl IntoIterator<Item = (P, T)>, options: &LoadOptions) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        T: Into<String>,
    {
        Self::parse_with(texts, options, &ForecastInputs::new())
    }

    /// The same, with random processes and a catalogue of one's own.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them.
    pub fn parse_with<P, T>(
        texts: impl IntoIterator<Item = (P, T)>,
        options: &LoadOptions,
        asked: &ForecastInputs,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        T: Into<String>,
    {
        let texts: Vec<(PathBuf, String)> =
            texts.into_iter().map(|(path, text)| (path.as_ref().to_owned(), text.into())).collect();
        let paths: Vec<PathBuf> = texts.iter().map(|(path, _)| path.clone()).collect();
        Self::read(&paths, &load::in_memory(texts)?, options, &asked.0)
    }

    fn read(paths: &[PathBuf], folder: &Folder, options: &LoadOptions, asked: &Asked) -> Result<Self, Error> {
        Ok(Self { forecast: forecast::load(paths, folder, &options.overrides(), asked)? })
    }

    /// How the cluster is called: by the name of its first file, or of its scenario.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.forecast.name
    }

    /// What may not mean what its author thinks.
    #[must_use]
    pub fn warnings(&self) -> &Diagnostics {
        &self.forecast.scenario.warnings
    }

    /// Plays what is likely to happen, and what would help. Nothing is written.
    ///
    /// # Errors
    ///
    /// If the precision means nothing, threads cannot be had, or the progress says to stop.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn work_out(&self, options: &ForecastOptions<'_>) -> Result<ForecastOutcome, Error> {
        options.check()?;
        self.answer(options, None)
    }

    /// The same, written to a directory as by [`ForecastOutcome::write_with`]; gives its path, too. Each play is kept beside the
    /// directory as soon as it is over, so that a forecast that ends early can be resumed.
    ///
    /// # Errors
    ///
    /// Also if the directory holds a file of the input or something else than a forecast of the same name, if somebody plays to the
    /// same place, if what is to be resumed is of something else, or if the operating system refuses.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn work_out_to(
        &self,
        dir: impl AsRef<Path>,
        options: &ForecastOptions<'_>,
        writing: &WriteOptions,
    ) -> Result<(ForecastOutcome, PathBuf), Error> {
        options.check()?;
        let place = dir.as_ref();
        // Before anything is played, so that a refusal costs no time.
        place::check(place, writing, Of::Forecast(&self.forecast.name), self.forecast.scenario.inputs())?;
        if !options.is_resumed {
            Journal::<Played>::discard(place)?;
        }
        let fingerprint = self.forecast.fingerprint(&options.with(None));
        let journal = Journal::mend(place, fingerprint, Shard::WHOLE, options.is_resumed)?;
        if let Some((progress, damage)) = options.progress.zip(journal.damage()) {
            progress.warn(&damage.to_string());
        }
        let outcome = self.answer(options, Some(&journal))?;
        let written = outcome.write_with(place, writing)?;
        if outcome.results.plays_left_out == 0 {
            journal.close()?;
        }
        Ok((outcome, written))
    }

    fn answer(
        &self,
        options: &ForecastOptions<'_>,
        journal: Option<&Journal<Played>>,
    ) -> Result<ForecastOutcome, Error> {
        let threads = Threads::new(options.threads).map_err(Error::threads)?;
        let work_out = || Ok(forecast::work_out(&self.forecast, &options.with(journal), &threads)?);
        let results = Error::unless_stopped(work_out)?;
        let patches = results.patches(&self.forecast);
        let inputs = self.forecast.scenario.inputs().map(Path::to_owned).collect();
        Ok(ForecastOutcome { results, patches, lock_file: Arc::clone(&self.forecast.lock_file), inputs })
    }

    #[cfg(feature = "cli")]
    pub(crate) fn inner(&self) -> &forecast::Forecast {
        &self.forecast
    }
}

/// A forecast that has been worked out.
#[derive(Clone, Debug)]
pub struct ForecastOutcome {
    pub(crate) results: ForecastResults,
    patches: Vec<(String, Patches)>,
    lock_file: Arc<str>,
    inputs: Vec<PathBuf>,
}

impl ForecastOutcome {
    /// The content of `forecast.json`.
    #[must_use]
    pub fn json(&self) -> Value {
        self.results.json()
    }

    /// The text of `forecast.json`.
    #[must_use]
    pub fn json_text(&self) -> String {
        self.results.json_text()
    }

    /// What each finding changes: its name, kubectl lines and documents.
    pub fn patches(&self) -> impl Iterator<Item = (&str, &Patches)> {
        self.patches.iter().map(|(name, patches)| (name.as_str(), patches))
    }

    /// Writes forecast.json, scenario.lock.yaml, patches/, summary.json, the charts and the page to a directory, which is whole or not there; gives its path.
    ///
    /// # Errors
    ///
    /// If the directory holds something else than a forecast of the same name, or the operating system refuses.
    pub fn write_with(&self, dir: impl AsRef<Path>, options: &WriteOptions) -> Result<PathBuf, Error> {
        let results = &self.results;
        place::check(dir.as_ref(), options, Of::Forecast(&results.name), self.inputs.iter().map(PathBuf::as_path))?;
        let out = OutputDir::begin(dir.as_ref(), options.overwrite())?;
        out.write("forecast.json", results.json_text().as_bytes())?;
        out.write("scenario.lock.yaml", self.lock_file.as_bytes())?;
        for (name, patches) in &self.patches {
            out.write(&format!("patches/{name}.sh"), patches.shell.as_bytes())?;
            if !patches.yaml.is_empty() {
                out.write(&format!("patches/{name}.yaml"), patches.yaml.as_bytes())?;
            }
        }
        let summary = json!({
            "forecast": results.name,
            "version": env!("CARGO_PKG_VERSION"),
            "seed": results.seed,
            "verdict": results.told(),
            "metrics": results.metrics(),
        });
        // The last of what is not drawn, as it marks a directory that is whole.
        out.write("summary.json", format!("{summary:#}\n").as_bytes())?;
        Report::drawn_in(&out, options, Report::charts)?;
        Ok(out.finish()?)
    }
}
