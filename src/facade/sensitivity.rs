//! How far the answer of a study rests on what was assumed.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::Error;
use super::place::{self, Of};
use super::report::Report;
use super::study::{Study, SweepOptions};
use super::write_options::WriteOptions;
use crate::parallel::Threads;
use crate::report::OutputDir;
use crate::study::sensitivity::{Choice, Experiment, Refused, SensitivityResults, TRAJECTORIES, TRAJECTORIES_MAX};
use crate::study::{Journal, Progress, Silent};

/// Runs of each variant at each point if nothing is said, unless the study has fewer.
const REPLICATIONS: u32 = 20;

/// How a study is asked for what its answer rests on.
#[derive(Clone, Default)]
pub struct SensitivityOptions<'a> {
    threads: Option<NonZeroUsize>,
    trajectories: Option<u32>,
    replications: Option<NonZeroU32>,
    variant: Option<String>,
    is_resumed: bool,
    write: WriteOptions,
    progress: Option<&'a dyn Progress>,
}

impl<'a> SensitivityOptions<'a> {
    /// Ten trajectories with twenty replications, or as many as the study has, if these are fewer; what is recommended beside the baseline.
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

    /// Along so many trajectories, from 2 to 1000. Each has a point more than there are inputs.
    #[must_use]
    pub fn trajectories(mut self, count: u32) -> Self {
        self.trajectories = Some(count);
        self
    }

    /// With so many runs of each variant at each point.
    #[must_use]
    pub fn replications(mut self, count: NonZeroU32) -> Self {
        self.replications = Some(count);
        self
    }

    /// Beside the baseline this variant, by its values: `wait=60, grace=40s`; what is not named is as in the baseline. Without it, the only
    /// other variant, or what the study's runs recommend, which are then played first; if they recommend nothing, the cheapest other variant.
    #[must_use]
    pub fn variant(mut self, values: impl Into<String>) -> Self {
        self.variant = Some(values.into());
        self
    }

    /// In a directory: whether to go on where an interrupted analysis stopped.
    #[must_use]
    pub fn resume(mut self, is_resumed: bool) -> Self {
        self.is_resumed = is_resumed;
        self
    }

    /// In a directory: how it is written.
    #[must_use]
    pub fn write(mut self, options: WriteOptions) -> Self {
        self.write = options;
        self
    }

    /// Says how far it has got.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Whether there can be so many trajectories.
    pub(crate) fn is_trajectories(count: u32) -> bool {
        (2..=TRAJECTORIES_MAX).contains(&count)
    }
}

impl fmt::Debug for SensitivityOptions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threads, trajectories, replications, variant, is_resumed, write, progress } = self;
        let mut debug = formatter.debug_struct("SensitivityOptions");
        debug.field("threads", threads).field("trajectories", trajectories).field("replications", replications);
        debug.field("variant", variant).field("is_resumed", is_resumed).field("write", write);
        debug.field("progress", &progress.is_some()).finish()
    }
}

impl Study {
    /// How far the study's answer rests on what it assumes: plays the baseline and another variant, with the same seeds, along trajectories
    /// through the space of what is assumed.
    ///
    /// # Errors
    ///
    /// If the study has no prices, nothing is assumed, a scenario with assumed values is invalid, there is no such variant, it takes too many
    /// runs, threads cannot be had, or the progress says to stop.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn sensitivity(&self, options: &SensitivityOptions<'_>) -> Result<SensitivityOutcome, Error> {
        self.check_sensitivity(options)?;
        let experiment = self.experiment(options)?;
        self.play_experiment(&experiment, &Journal::in_memory(), options)
    }

    /// [`sensitivity`](Study::sensitivity) into a directory: each run is on disk as soon as it is over, so that what is killed can be resumed.
    ///
    /// # Errors
    ///
    /// As `sensitivity`, and before anything is played if the directory cannot be written or replaced.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn sensitivity_to(
        &self,
        dir: impl AsRef<Path>,
        options: &SensitivityOptions<'_>,
    ) -> Result<SensitivityOutcome, Error> {
        let place = dir.as_ref();
        self.check_sensitivity(options)?;
        place::check(place, &options.write, Of::Sensitivity(self.name()), self.inputs())?;
        let experiment = self.experiment(options)?;
        if options.write.is_forced() {
            Journal::<crate::study::RunRow>::discard(place)?;
        }
        let journal = Journal::open(place, experiment.fingerprint(), crate::study::Shard::WHOLE, options.is_resumed)?;
        let outcome = self.play_experiment(&experiment, &journal, options)?;
        outcome.write_into(place, &options.write)?;
        journal.close()?;
        Ok(outcome)
    }

    /// Refuses a study, before anything is played, whose answer cannot be asked for what it rests on.
    ///
    /// # Errors
    ///
    /// If nothing has a price, runs have weights or differ in length, variants are judged by bad runs, or the options mean nothing.
    pub fn check_sensitivity(&self, options: &SensitivityOptions<'_>) -> Result<(), Error> {
        self.check_tunable(&SweepOptions::new())?;
        if let Some(name) = self.inner_study().range() {
            let message = format!("what an answer rests on is said of two variants, and `{name}` is a range of values");
            let advice = "list what is there and what `tune` found as `values` instead of `range`";
            return Err(Error::argument(message, advice));
        }
        if !self.inner_study().cost_by.is_mean() {
            let message =
                "what an answer rests on is said of mean costs alone, and the study's `costBy` asks for bad runs";
            return Err(Error::argument(message, "leave `costBy` out"));
        }
        if let Some(count) = options.trajectories.filter(|count| !SensitivityOptions::is_trajectories(*count)) {
            let message = format!("{count} is no number of trajectories");
            return Err(Error::argument(message, format!("take 2 to {TRAJECTORIES_MAX}; {TRAJECTORIES} do as a rule")));
        }
        let replications = self.replications_of(options);
        if self.inner_study().is_antithetic && !replications.is_multiple_of(2) {
            return Err(Error::argument("antithetic replications come in pairs", "take an even number of them"));
        }
        if let Some(text) = &options.variant {
            self.inner_study().choose_named(text).map_err(|(message, help)| Error::argument(message, help))?;
        }
        Ok(())
    }

    fn replications_of(&self, options: &SensitivityOptions<'_>) -> u32 {
        let of_study = self.inner_study().replications;
        options.replications.map_or_else(|| of_study.min(REPLICATIONS), NonZeroU32::get)
    }

    /// What is to be played; the grid of the study first, if that says which variant.
    fn experiment(&self, options: &SensitivityOptions<'_>) -> Result<Experiment, Error> {
        let study = self.inner_study();
        let trajectories = options.trajectories.unwrap_or(TRAJECTORIES);
        let beside = |choice: Choice| {
            let found = Experiment::new(study, choice, trajectories, self.replications_of(options));
            found.map_err(|refused| match refused {
                Refused::Invalid(invalid) => Error::from(invalid),
                Refused::Argument(message, help) => Error::argument(message, help),
            })
        };
        // What cannot be played with the baseline is said before the grid is played.
        if options.variant.is_none() && study.choose_only().is_none() {
            beside(study.choose_baseline())?;
        }
        beside(self.choice(options)?)
    }

    fn choice(&self, options: &SensitivityOptions<'_>) -> Result<Choice, Error> {
        let study = self.inner_study();
        if let Some(text) = &options.variant {
            return study.choose_named(text).map_err(|(message, help)| Error::argument(message, help));
        }
        if let Some(choice) = study.choose_only() {
            return Ok(choice);
        }
        let mut of_grid = SweepOptions::new();
        if let Some(threads) = options.threads {
            of_grid = of_grid.threads(threads);
        }
        if let Some(progress) = options.progress {
            of_grid = of_grid.progress(progress);
        }
        let results = self.without_inputs().sweep(&of_grid)?.results;
        let none = || Error::argument("there is no variant besides the baseline", "vary something");
        study.choose_by(&results).ok_or_else(none)
    }

    fn play_experiment(
        &self,
        experiment: &Experiment,
        journal: &Journal,
        options: &SensitivityOptions<'_>,
    ) -> Result<SensitivityOutcome, Error> {
        let threads = Threads::new(options.threads).map_err(Error::threads)?;
        let progress = options.progress.unwrap_or(&Silent);
        let results = Error::unless_stopped(|| Ok(threads.install(|| experiment.play(journal, progress))?))?;
        Ok(SensitivityOutcome { results, inputs: self.inputs().map(Path::to_owned).collect() })
    }
}

/// How far the answer of a study rests on what was assumed.
#[derive(Clone, Debug)]
pub struct SensitivityOutcome {
    pub(crate) results: SensitivityResults,
    /// The files that the study was read from.
    inputs: Vec<PathBuf>,
}

impl SensitivityOutcome {
    /// The content of `summary.json`.
    #[must_use]
    pub fn summary(&self) -> Value {
        self.results.summary()
    }

    /// The text of `summary.json`.
    ///
    /// # Panics
    ///
    /// Never: a summary is plain data.
    #[must_use]
    pub fn summary_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.results.summary()).expect("results are plain data");
        text.push('\n');
        text
    }

    /// Whether there is a table of that name.
    pub(super) fn has(&self, file: &str) -> bool {
        matches!(file, "sensitivity.csv" | "points.csv")
    }

    /// The text of a table's file; none if there is no such table.
    pub(super) fn text_of(&self, file: &str) -> Option<Vec<u8>> {
        match file {
            "sensitivity.csv" => Some(self.results.effects_csv().into_bytes()),
            "points.csv" => Some(self.results.points_csv().into_bytes()),
            _ => None,
        }
    }

    /// Writes sensitivity.csv, points.csv, summary.json, charts and page to a directory, which is whole or not there; gives its path.
    ///
    /// # Errors
    ///
    /// If the directory holds something else than results of this analysis, or the operating system refuses.
    pub fn write(&self, dir: impl AsRef<Path>) -> Result<PathBuf, Error> {
        self.write_with(dir, &WriteOptions::new())
    }

    /// Writes them in that way.
    ///
    /// # Errors
    ///
    /// As [`write`](SensitivityOutcome::write), but for what the options allow.
    pub fn write_with(&self, dir: impl AsRef<Path>, options: &WriteOptions) -> Result<PathBuf, Error> {
        let inputs = self.inputs.iter().map(PathBuf::as_path);
        place::check(dir.as_ref(), options, Of::Sensitivity(&self.results.study), inputs)?;
        self.write_into(dir.as_ref(), options)
    }

    /// Writes them to a place that has been looked at.
    fn write_into(&self, place: &Path, options: &WriteOptions) -> Result<PathBuf, Error> {
        let out = OutputDir::begin(place, options.overwrite())?;
        out.write("sensitivity.csv", self.results.effects_csv().as_bytes())?;
        out.write("points.csv", self.results.points_csv().as_bytes())?;
        // The last of the tables, as it marks a directory that is whole.
        out.write("summary.json", self.summary_json().as_bytes())?;
        Report::drawn_in(&out, options, Report::charts)?;
        Ok(out.finish()?)
    }
}
