//! A study, ready to be played, and what comes of it.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::Error;
use super::load::LoadOptions;
use super::outcome::WriteOptions;
use super::study_files::{self, check_place};
use crate::diagnostics::Diagnostics;
use crate::model::manifest::Folder;
use crate::parallel::Threads;
use crate::report::OutputDir;
use crate::study::{
    self, Confirmation, Interval, Journal, Patches, Progress, Results, RunRow, Runner, Shard, Tuning, confirm,
};

/// How messages name a study that has no file.
const NAME: &str = "study.yaml";

/// A study, read and checked, with its scenario: many runs of it, with values varied and seeds repeated.
#[derive(Clone, Debug)]
pub struct Study {
    study: study::Study,
    file: Option<PathBuf>,
}

/// How a study is played.
#[derive(Clone, Copy, Default)]
pub struct SweepOptions<'a> {
    threads: Option<NonZeroUsize>,
    shard: Option<Shard>,
    precision: Option<f64>,
    is_resumed: bool,
    write: WriteOptions,
    progress: Option<&'a dyn Progress>,
}

impl<'a> SweepOptions<'a> {
    /// All of it, on all cores.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// On so many threads, at most one a core; of no consequence for the results, and without the feature `parallel` of none at all.
    #[must_use]
    pub fn threads(mut self, count: NonZeroUsize) -> Self {
        self.threads = Some(count);
        self
    }

    /// One part of it: `"2/4".parse()`. [`StudyOutcome::merge`] puts the parts together.
    #[must_use]
    pub fn shard(mut self, shard: Shard) -> Self {
        self.shard = Some(shard);
        self
    }

    /// Adds replications until the interval of each variant's cost is at most this share of it wide on either side; the study's
    /// `replications` are then the most.
    #[must_use]
    pub fn precision(mut self, share: f64) -> Self {
        self.precision = Some(share);
        self
    }

    /// In a directory: whether to go on where an interrupted sweep stopped, or from the results of a finished one.
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

    fn part(&self) -> Shard {
        self.shard.unwrap_or(Shard::WHOLE)
    }
}

/// Nobody looks.
struct Silent;

impl Progress for Silent {
    fn advance(&self) {}
}

/// What is asked of a study.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    Sweep,
    Tune,
}

impl Study {
    /// Reads a file and what it names. Paths in it are relative to it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it and its scenarios, see [`Error::diagnostics`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::load_with(path, &LoadOptions::new())
    }

    /// Reads a file with other values than its scenario says.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it and its scenarios.
    pub fn load_with(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Self, Error> {
        let path = path.as_ref();
        Ok(Self { study: study::load_with(path, &options.overrides())?, file: Some(path.to_owned()) })
    }

    /// Reads a text; the files that it names, its scenario and that one's manifests, are texts by their paths as well. Nothing is read
    /// from disk.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it and its scenarios.
    pub fn parse<P, T>(text: &str, files: impl IntoIterator<Item = (P, T)>) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        T: Into<String>,
    {
        let study = study::parse(NAME, text, &Folder::in_memory(files), &LoadOptions::new().overrides())?;
        Ok(Self { study, file: None })
    }

    /// The study in which a variant may win that leaves more undone than the baseline: commands, upgrades and reboots that fail or do not
    /// end, pods lost for good, failed Jobs.
    #[must_use]
    pub fn allow_undone(mut self, is_allowed: bool) -> Self {
        self.study.allows_undone |= is_allowed;
        self
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.study.name
    }

    /// What may not mean what its author thinks.
    #[must_use]
    pub fn warnings(&self) -> &Diagnostics {
        &self.study.warnings
    }

    /// Plays every variant with every seed.
    ///
    /// # Errors
    ///
    /// If threads cannot be had, or the options contradict one another.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn sweep(&self, options: &SweepOptions<'_>) -> Result<StudyOutcome, Error> {
        self.answer(Question::Sweep, &Journal::in_memory(), options)
    }

    /// Plays every variant with every seed and recommends what costs least, for each workload if the study varies `tolerationSeconds`;
    /// what is recommended is played against the baseline on new seeds.
    ///
    /// # Errors
    ///
    /// If the study cannot recommend anything, threads cannot be had, or the options contradict one another.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn tune(&self, options: &SweepOptions<'_>) -> Result<StudyOutcome, Error> {
        self.check_tunable(options)?;
        self.answer(Question::Tune, &Journal::in_memory(), options)
    }

    /// [`sweep`](Study::sweep) into a directory: each run is on disk as soon as it is over, so that what is killed can be resumed.
    ///
    /// # Errors
    ///
    /// As `sweep`, and before anything is played if the directory cannot be written or replaced.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn sweep_to(&self, dir: impl AsRef<Path>, options: &SweepOptions<'_>) -> Result<StudyOutcome, Error> {
        self.answer_to(Question::Sweep, dir.as_ref(), options)
    }

    /// [`tune`](Study::tune) into a directory.
    ///
    /// # Errors
    ///
    /// As `tune`, and before anything is played if the directory cannot be written or replaced.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn tune_to(&self, dir: impl AsRef<Path>, options: &SweepOptions<'_>) -> Result<StudyOutcome, Error> {
        self.check_tunable(options)?;
        self.answer_to(Question::Tune, dir.as_ref(), options)
    }

    /// Refuses studies that cannot recommend anything.
    pub(crate) fn check_tunable(&self, options: &SweepOptions<'_>) -> Result<(), Error> {
        let (message, help) = if self.study.prices.is_empty() {
            (
                "nothing in the study has a price, so nothing can be cheapest",
                "add prices, such as `cost: {unreadyReplicaSeconds: 1, evictions: 30, needlessEvictions: 60}`",
            )
        } else if self.study.varies_length() {
            (
                "the study varies how long a run lasts, so what its variants cost does not compare",
                "vary something else: what runs cost, they cost in their time; `sweep` plays runs of different lengths",
            )
        } else if options.shard.is_some() {
            (
                "a part of a study cannot recommend anything",
                "play the parts with `sweep --shard`, `merge` them, and `tune --resume` with the merged directory as `--out`",
            )
        } else {
            return Ok(());
        };
        Err(Error::input(message, help))
    }

    fn answer_to(&self, question: Question, place: &Path, options: &SweepOptions<'_>) -> Result<StudyOutcome, Error> {
        let (study, overwrite, part) = (&self.study, options.write.overwrite(), options.part());
        OutputDir::spare_inputs(place, overwrite, study.inputs().chain(self.file.as_deref()))?;
        check_place(place, overwrite, &study.name, part)?;
        let is_forced = options.write.is_forced();
        if question == Question::Sweep && !is_forced && !options.is_resumed && place.join("patch.sh").exists() {
            let message = format!("{} holds what `tune` recommended, which `sweep` would remove", place.display());
            let help = "choose another --out, or --force to replace it, or --resume to keep only its runs";
            return Err(Error::input(message, help));
        }
        if is_forced {
            Journal::discard(place)?;
        }
        let journal = Journal::open(place, study.fingerprint, part, options.is_resumed)?;
        let note = if options.is_resumed { take_over(place, study, part, &journal)? } else { None };
        let outcome = StudyOutcome { note, ..self.answer(question, &journal, options)? };
        outcome.write_with(place, &options.write)?;
        journal.close()?;
        Ok(outcome)
    }

    fn answer(&self, question: Question, journal: &Journal, options: &SweepOptions<'_>) -> Result<StudyOutcome, Error> {
        let threads = Threads::new(options.threads)
            .map_err(|error| Error::input(format!("cannot start threads: {error}"), "lower --jobs"))?;
        let results = self.play(journal, &threads, options)?;
        if question == Question::Sweep {
            return Ok(StudyOutcome::of(results));
        }
        let tuning = results.tuning().ok_or_else(|| Error::input("nothing was played", "raise `replications`"))?;
        let recommended = self.study.recommended(&tuning);
        let confirmed = recommended.as_ref().map(|variant| {
            let progress = options.progress.unwrap_or(&Silent);
            let done = journal.count(self.study.replications..) as u64;
            progress.begin(2 * u64::from(results.replications), done, "the recommendation");
            let confirmation = threads.install(|| confirm(&self.study, &results, variant, journal, progress));
            progress.end();
            confirmation
        });
        Ok(StudyOutcome {
            confirmation: confirmed.transpose()?,
            patches: Some(self.study.patches(recommended.as_ref())),
            tuning: Some(tuning),
            ..StudyOutcome::of(results)
        })
    }

    /// Plays what is open.
    fn play(&self, journal: &Journal, threads: &Threads, options: &SweepOptions<'_>) -> Result<Results, Error> {
        let (study, shard) = (&self.study, options.part());
        if options.precision.is_some() && options.shard.is_some() {
            return Err(Error::input("a part of a study has no precision", "give either a part or a precision"));
        }
        let progress = options.progress.unwrap_or(&Silent);
        let runs = study.variants.len() as u64 * u64::from(study.replications);
        progress.begin(runs.div_ceil(shard.count), journal.count(..study.replications) as u64, &study.name);
        let mut runner = Runner::new(study, journal);
        let precision = match options.precision {
            None => {
                threads.install(|| runner.play_all(shard, progress))?;
                None
            }
            Some(goal) => Some(threads.install(|| runner.play_until_precise(goal, progress))?),
        };
        progress.end();
        let (replications, looks) =
            precision.map_or((study.replications, 0), |found| (found.replications, found.looks));
        let mut rows = journal.rows()?;
        rows.retain(|row| row.replication < replications);
        Ok(Results { precision, ..Results::new(study, shard, replications, looks, rows) })
    }

    #[cfg(feature = "cli")]
    pub(crate) fn inner(&self) -> &study::Study {
        &self.study
    }
}

/// Enters the runs of finished results at the place into a journal: those of a sweep, or of parts that were merged, need not be
/// played again. Gives what is to be said about results of which nothing is used.
fn take_over(place: &Path, study: &study::Study, shard: Shard, journal: &Journal) -> Result<Option<String>, Error> {
    if !place.join("summary.json").exists() {
        return Ok(None);
    }
    let is_ours = |of: &Results| of.fingerprint == format!("{:016x}", study.fingerprint) && of.shard == shard;
    let found = crate::inspect::summary(place).ok().and_then(|summary| study_files::read(place, &summary).ok());
    let Some(results) = found.filter(is_ours) else {
        let place = place.display();
        let note = format!("the results in {place} are those of an earlier form of the study: nothing of them is used");
        return Ok(Some(note));
    };
    for run in results.runs.into_iter().flatten().filter(|run| !journal.has(run.variant, run.replication)) {
        journal.add(run)?;
    }
    Ok(None)
}

/// A study that has been played.
#[derive(Debug)]
pub struct StudyOutcome {
    pub(crate) results: Results,
    pub(crate) tuning: Option<Tuning>,
    pub(crate) confirmation: Option<Confirmation>,
    pub(super) patches: Option<Patches>,
    /// What is to be said about earlier results.
    pub(crate) note: Option<String>,
}

impl StudyOutcome {
    pub(super) fn of(results: Results) -> Self {
        Self { results, tuning: None, confirmation: None, patches: None, note: None }
    }

    /// What is to be said about earlier results in the directory, of which nothing is used.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The variants by their values, the last axis fastest.
    #[must_use]
    pub fn variants(&self) -> &[Vec<String>] {
        &self.results.variants
    }

    /// Position of the variant that others are compared with.
    #[must_use]
    pub fn baseline(&self) -> usize {
        self.results.baseline
    }

    /// What each variant gave of a metric, such as `cost` or `evictions`: its mean with its interval.
    ///
    /// # Panics
    ///
    /// If there is no such metric, see [`metrics`](StudyOutcome::metrics).
    #[must_use]
    pub fn metric(&self, name: &str) -> Vec<Interval> {
        self.results.of_metric(name).iter().map(|of| of.interval).collect()
    }

    /// The metrics of a run, in the order of [`RunRow::metrics`].
    #[must_use]
    pub fn metrics() -> Vec<&'static str> {
        study::metric_names()
    }

    /// Every run, a list for each variant.
    #[must_use]
    pub fn runs(&self) -> &[Vec<RunRow>] {
        &self.results.runs
    }

    /// The variant that costs least, as far as the runs tell; none of a part.
    #[must_use]
    pub fn best(&self) -> Option<usize> {
        self.results.comparison().map(|comparison| comparison.best)
    }

    /// What applies the recommendation of [`Study::tune`].
    #[must_use]
    pub fn patches(&self) -> Option<&Patches> {
        self.patches.as_ref()
    }

    /// The content of `summary.json`.
    ///
    /// # Panics
    ///
    /// Never: a summary is plain data.
    #[must_use]
    pub fn summary(&self) -> Value {
        serde_json::from_str(&self.summary_json()).expect("it is JSON")
    }

    /// The text of `summary.json`.
    #[must_use]
    pub fn summary_json(&self) -> String {
        self.results.summary_json(self.tuning.as_ref(), self.confirmation.as_ref())
    }
}
