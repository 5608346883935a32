//! A study, ready to be played.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::error::{Advice, Error};
use super::load::{self, LoadOptions, Written, loaders};
use super::place::{self, Of};
use super::study_files;
use super::study_outcome::StudyOutcome;
use super::write_options::WriteOptions;
use crate::diagnostics::Diagnostics;
use crate::parallel::Threads;
use crate::study::{
    self, CostBy, Journal, Later, Progress, RareEvent, Results, RunRow, Runner, Shard, Silent, confirm, play_inputs_of,
    play_search,
};

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
    indifference: Option<f64>,
    contenders: bool,
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

    /// One part of it, such as `Shard::new(2, 4)?` or `"2/4".parse()?`. [`StudyOutcome::merge`] puts the parts together.
    #[must_use]
    pub fn shard(mut self, shard: Shard) -> Self {
        self.shard = Some(shard);
        self
    }

    /// Adds replications until the interval of each variant's cost is at most this share of it wide on either side; the study's
    /// `replications` are then the most. A share is above 0 and below 1, such as 0.05; any other is an error of what is played with it.
    #[must_use]
    pub fn precision(mut self, share: f64) -> Self {
        self.precision = Some(share);
        self
    }

    /// Calls nothing cheaper that saves a smaller share than this of what the baseline costs, whatever the study says: at least 0 and
    /// below 1. Any other share is an error of what is played with it.
    #[must_use]
    pub fn indifference(mut self, share: f64) -> Self {
        self.indifference = Some(share);
        self
    }

    /// Plays on, after a first round, with contenders alone: variants that may yet be cheapest, as a whole or for one workload, and the
    /// baseline. The study's `replications` are then the most, and it ends as soon as no contender can be better than the cheapest by more
    /// than is worth a change. For [`tune`](Study::tune) alone, and for all variants at once: an error of a sweep, of a part, and with a
    /// precision.
    #[must_use]
    pub fn contenders(mut self, is_on: bool) -> Self {
        self.contenders = is_on;
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

    /// Whether an interval can be asked to be that narrow.
    pub(crate) fn is_precision(share: f64) -> bool {
        share > 0.0 && share < 1.0
    }

    /// Whether a saving can be called too small for that.
    pub(crate) fn is_indifference(share: f64) -> bool {
        (0.0..1.0).contains(&share)
    }

    fn part(&self) -> Shard {
        self.shard.unwrap_or(Shard::WHOLE)
    }

    /// Refuses what means nothing, or nothing to that question, before anything is played.
    fn check_for(&self, question: Question) -> Result<(), Error> {
        if self.contenders && question == Question::Sweep {
            let message = "a sweep recommends nothing, so that nobody is a contender";
            return Err(Error::argument(message, "`tune` plays on with contenders alone"));
        }
        self.check()
    }

    /// Refuses what means nothing, before anything is played.
    fn check(&self) -> Result<(), Error> {
        if let Some(share) = self.indifference.filter(|share| !Self::is_indifference(*share)) {
            let message =
                format!("{share} cannot be what is too small a saving: it is a share of what the baseline costs");
            return Err(Error::argument(message, "a share is at least 0 and below 1, such as 0.01"));
        }
        match self.precision {
            Some(share) if !Self::is_precision(share) => {
                let message =
                    format!("{share} is no precision: it is the share of a mean by which its interval may miss it");
                Err(Error::argument(message, "a share is above 0 and below 1, such as 0.05"))
            }
            Some(_) if self.shard.is_some() => {
                Err(Error::argument("a part of a study has no precision", "give either a part or a precision"))
            }
            Some(_) if self.contenders => Err(Error::argument(
                "a precision is wanted of every variant, and only contenders are played on",
                "give either a precision or contenders",
            )),
            _ if self.contenders && self.shard.is_some() => Err(Error::argument(
                "who plays a part of a study cannot tell who the contenders are",
                "give either a part or contenders",
            )),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for SweepOptions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threads, shard, precision, indifference, contenders, is_resumed, write, progress } = self;
        let mut debug = formatter.debug_struct("SweepOptions");
        debug.field("threads", threads).field("shard", shard).field("precision", precision);
        debug.field("indifference", indifference).field("contenders", contenders);
        debug.field("is_resumed", is_resumed).field("write", write).field("progress", &progress.is_some()).finish()
    }
}

/// What is asked of a study.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    Sweep,
    Tune,
}

loaders!(Study, "study.yaml", names "its scenario and the manifests of that", values "its scenario says", wrong with "it and its scenarios");

impl Study {
    pub(super) fn read(written: Written<'_>, options: &LoadOptions) -> Result<Self, Error> {
        let overrides = options.overrides();
        Ok(match written {
            Written::File(path) => Self { study: study::load_with(path, &overrides)?, file: Some(path.to_owned()) },
            Written::Text { name, text, folder } => {
                Self { study: study::parse(name, text, &folder, &overrides)?, file: None }
            }
        })
    }

    /// The study in which a variant may win that leaves more undone than the baseline: commands, upgrades and reboots that fail or do not
    /// end, pods lost for good, failed Jobs.
    #[must_use]
    pub fn allow_undone(mut self, is_allowed: bool) -> Self {
        self.study.allows_undone |= is_allowed;
        self
    }

    /// The study that looks for a rare event, whatever its document says: failures are drawn more often than they come, and runs carry
    /// weights.
    ///
    /// # Errors
    ///
    /// If the study requires something of its runs or judges them by bad ones, nothing in the scenario fails by chance, its variants differ in
    /// what does, runs mirror each other, the event is one of cost and nothing has a price, or factors are of processes that there are not.
    pub fn rare_event(mut self, event: RareEvent) -> Result<Self, Error> {
        self.study.check_rare(&event).map_err(|(message, help)| Error::argument(message, help))?;
        self.study.rare = Some(event);
        self.study.is_rare_asked = true;
        Ok(self)
    }

    /// The study in which the costs of a variant's runs are summed up by that, whatever its document says.
    ///
    /// # Errors
    ///
    /// If it is not the mean, and nothing has a price, runs mirror each other, or they have weights.
    pub fn cost_by(mut self, by: CostBy) -> Result<Self, Error> {
        self.study.check_cost_by(by).map_err(Error::from)?;
        self.study.cost_by = by;
        Ok(self)
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
    /// If threads cannot be had, the options contradict one another, or the progress says to stop.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn sweep(&self, options: &SweepOptions<'_>) -> Result<StudyOutcome, Error> {
        self.check_for(Question::Sweep, options)?;
        self.answer(Question::Sweep, &Journal::in_memory(), options)
    }

    /// Plays every variant with every seed and recommends what costs least, for each workload if the study varies `tolerationSeconds`;
    /// what is recommended is played against the baseline on new seeds.
    ///
    /// # Errors
    ///
    /// If the study cannot recommend anything, threads cannot be had, the options contradict one another, or the progress says to stop.
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

    /// Refuses a study, before anything is played, that cannot recommend anything.
    ///
    /// # Errors
    ///
    /// If nothing has a price, runs differ in length, the options ask for a part, or they contradict one another.
    pub fn check_tunable(&self, options: &SweepOptions<'_>) -> Result<(), Error> {
        self.check_for(Question::Tune, options)?;
        self.check_searchable(options)?;
        let (message, advice) = if self.study.rare.is_some() {
            (
                "runs of a study of a rare event have weights, and nothing is recommended by these",
                Advice::from(
                    "`sweep` says how often the event comes under each variant; for a recommendation leave out `rareEvents`",
                ),
            )
        } else if self.study.prices.iter().all(|(_, price)| *price == 0.0) {
            (
                "nothing in the study has a price, so nothing can be cheapest",
                Advice::from(
                    "add prices, such as `cost: {unreadyReplicaSeconds: 1, evictions: 30, needlessEvictions: 60}`",
                ),
            )
        } else if self.study.varies_length() {
            (
                "the study varies how long a run lasts, so what its variants cost does not compare",
                "vary something else: what runs cost, they cost in their time; `sweep` plays runs of different lengths"
                    .into(),
            )
        } else if let Some(metric) = self.study.judges_by_objectives().filter(|_| self.study.varies_objectives()) {
            let message =
                format!("the study varies the objectives, so what `{metric}` is of its variants does not compare");
            let help =
                "vary something else, or price and require what no objective decides; `sweep` plays other objectives";
            return Err(Error::argument(message, Advice::from(help)));
        } else if options.shard.is_some() {
            ("a part of a study cannot recommend anything", Advice::MergeParts)
        } else {
            return Ok(());
        };
        Err(Error::argument(message, advice))
    }

    /// Refuses what does not go with ranges, if there are any.
    fn check_searchable(&self, options: &SweepOptions<'_>) -> Result<(), Error> {
        let Some(name) = self.study.range() else { return Ok(()) };
        let (what, help) = if options.contenders {
            ("a search of ranges plays nobody who is no contender", "leave contenders out")
        } else if options.precision.is_some() {
            ("a precision is wanted of every variant, and a search of ranges plays some", "leave the precision out")
        } else if options.shard.is_some() {
            (
                "which points of a range are played next follows from all runs, so that nobody can play a part",
                "play all of it in one place",
            )
        } else if !self.study.cost_by.is_mean() {
            (
                "ranges are searched for what costs least on average, and not by bad runs",
                "list `values` instead of `range`, or judge by the mean",
            )
        } else {
            return Ok(());
        };
        Err(Error::argument(format!("`{name}` is a range: {what}"), help))
    }

    /// Refuses what [`sweep_to`](Study::sweep_to) refuses before it plays anything: for who has the parts played elsewhere.
    ///
    /// # Errors
    ///
    /// If the options contradict one another, or the directory cannot be replaced.
    pub fn check_sweep_to(&self, dir: impl AsRef<Path>, options: &SweepOptions<'_>) -> Result<(), Error> {
        self.check_answer_to(Question::Sweep, dir.as_ref(), options)
    }

    /// Refuses what [`tune_to`](Study::tune_to) refuses before it plays anything.
    ///
    /// # Errors
    ///
    /// Those of [`check_tunable`](Study::check_tunable), or if the directory cannot be replaced.
    pub fn check_tune_to(&self, dir: impl AsRef<Path>, options: &SweepOptions<'_>) -> Result<(), Error> {
        self.check_tunable(options)?;
        self.check_answer_to(Question::Tune, dir.as_ref(), options)
    }

    /// Refuses options that mean nothing, nothing to that question, or nothing to that study.
    fn check_for(&self, question: Question, options: &SweepOptions<'_>) -> Result<(), Error> {
        if let Some(name) = self.study.range().filter(|_| question == Question::Sweep) {
            let message = format!("a sweep plays every variant, and `{name}` is a range of values, not a list of them");
            return Err(Error::argument(
                message,
                "`tune` searches ranges; for a sweep, list `values` instead of `range`",
            ));
        }
        options.check_for(question)?;
        if !self.study.asks_of_inputs() {
            return Ok(());
        }
        let (message, advice) = if options.shard.is_some() {
            (
                "a part of a study does not tell what its records leave open",
                "leave either out: a part, or `inputs` of the study",
            )
        } else if options.precision.is_some() {
            (
                "a precision is wanted of the runs, and what the records leave open no number of runs makes narrower",
                "leave either out: a precision, or `inputs` of the study",
            )
        } else if options.contenders {
            (
                "contenders are told by the inputs as they were fitted, and the study asks what its records leave open of every variant",
                "leave either out: contenders, or `inputs` of the study",
            )
        } else {
            return Ok(());
        };
        Err(Error::argument(message, advice))
    }

    fn check_answer_to(&self, question: Question, place: &Path, options: &SweepOptions<'_>) -> Result<(), Error> {
        self.check_for(question, options)?;
        place::check(place, &options.write, Of::Study(&self.study.name, options.part()), self.inputs())?;
        if question == Question::Sweep && !options.is_resumed {
            place::spare_recommendation(place, options.write.overwrite(), "`sweep`")?;
        }
        Ok(())
    }

    fn answer_to(&self, question: Question, place: &Path, options: &SweepOptions<'_>) -> Result<StudyOutcome, Error> {
        self.check_answer_to(question, place, options)?;
        let (study, part) = (&self.study, options.part());
        if options.write.is_forced() {
            Journal::<RunRow>::discard(place)?;
        }
        let journal = Journal::open(place, study.fingerprint(), part, options.is_resumed)?;
        let note = if options.is_resumed { take_over(place, study, part, &journal)? } else { None };
        let outcome = StudyOutcome { note, ..self.answer(question, &journal, options)? };
        outcome.write_into(place, &options.write)?;
        journal.close()?;
        Ok(outcome)
    }

    fn answer(&self, question: Question, journal: &Journal, options: &SweepOptions<'_>) -> Result<StudyOutcome, Error> {
        Error::unless_stopped(|| self.answer_in_full(question, journal, options))
    }

    fn answer_in_full(
        &self,
        question: Question,
        journal: &Journal,
        options: &SweepOptions<'_>,
    ) -> Result<StudyOutcome, Error> {
        let threads = Threads::new(options.threads).map_err(Error::threads)?;
        if self.study.range().is_some() {
            let (study, results) = self.search(journal, &threads, options)?;
            return self.recommend(&study, results, journal, &threads, options);
        }
        let results = self.play(journal, &threads, options)?;
        if question == Question::Sweep {
            return Ok(self.outcome(results));
        }
        self.recommend(&self.study, results, journal, &threads, options)
    }

    /// Plays points of ranges; gives the study with those that were played.
    fn search(
        &self,
        journal: &Journal,
        threads: &Threads,
        options: &SweepOptions<'_>,
    ) -> Result<(study::Study, Results), Error> {
        let mut later = Later::new(&self.study)?;
        let indifference = options.indifference.unwrap_or(self.study.indifference);
        let progress = options.progress.unwrap_or(&Silent);
        Ok(threads.install(|| play_search(&self.study, &mut later, journal, indifference, progress))?)
    }

    /// Recommends what is best of the variants of `study` that were played, and plays that on new seeds.
    fn recommend(
        &self,
        study: &study::Study,
        mut results: Results,
        journal: &Journal,
        threads: &Threads,
        options: &SweepOptions<'_>,
    ) -> Result<StudyOutcome, Error> {
        let tuning = results.tuning().ok_or_else(|| Error::argument("nothing was played", "raise `replications`"))?;
        let played = study.recommended_to_play(&tuning);
        let confirmed = played.as_ref().map(|variant| {
            let progress = options.progress.unwrap_or(&Silent);
            threads.install(|| confirm(study, &results, variant, journal, progress))
        });
        if let (Some(variant), None) = (&played, tuning.recommended_variant()) {
            let progress = options.progress.unwrap_or(&Silent);
            let found = threads.install(|| play_inputs_of(study, variant, journal, progress))?;
            results.take_inputs_of_recommended(found);
        }
        Ok(StudyOutcome {
            confirmation: confirmed.transpose()?,
            patches: Some(study.patches(study.recommended(&tuning).as_ref())),
            tuning: Some(tuning),
            ..self.outcome(results)
        })
    }

    fn outcome(&self, results: Results) -> StudyOutcome {
        StudyOutcome::of(results, self.inputs().map(Path::to_owned).collect())
    }

    pub(super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.study.inputs().chain(self.file.as_deref())
    }

    /// Plays what is open.
    fn play(&self, journal: &Journal, threads: &Threads, options: &SweepOptions<'_>) -> Result<Results, Error> {
        let (study, shard) = (&self.study, options.part());
        let progress = options.progress.unwrap_or(&Silent);
        let mut runner = Runner::new(study, journal);
        let rare = threads.install(|| runner.choose_sampling(progress))?;
        let indifference = options.indifference.unwrap_or(study.indifference);
        if options.contenders {
            let selection = threads.install(|| runner.play_contenders(indifference, progress))?;
            let mut rows = journal.rows()?;
            rows.retain(|row| selection.has(row.variant, row.replication));
            let results = Results::new(study, shard, selection.replications(), selection.looks(), rows);
            return Ok(Results { indifference, selection: Some(selection), ..results });
        }
        let precision = match options.precision {
            None => {
                threads.install(|| runner.play_all(shard, progress))?;
                None
            }
            Some(goal) => Some(threads.install(|| runner.play_until_precise(goal, progress))?),
        };
        let (replications, looks) =
            precision.map_or((study.replications, 0), |found| (found.replications, found.looks));
        let mut rows = journal.rows()?;
        rows.retain(|row| row.replication < replications || row.is_of_input());
        Ok(Results { precision, indifference, rare, ..Results::new(study, shard, replications, looks, rows) })
    }

    /// The study without what its records leave open.
    pub(super) fn without_inputs(&self) -> Self {
        Self { study: self.study.without_inputs(), file: self.file.clone() }
    }

    pub(super) fn inner_study(&self) -> &study::Study {
        &self.study
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
    let is_ours = |of: &Results| of.fingerprint == format!("{:016x}", study.fingerprint()) && of.shard == shard;
    let read = || study_files::read(place, &crate::inspect::summary(place)?);
    let unused = |what: String| Ok(Some(format!("the results in {} {what}: nothing of them is used", place.display())));
    let results = match read() {
        Ok(results) if is_ours(&results) => results,
        Ok(_) => return unused("are those of another study, or of an earlier form of this one".to_owned()),
        Err(error) => return unused(format!("cannot be read back ({error})")),
    };
    let numbers: Vec<Option<usize>> =
        results.variants.iter().enumerate().map(|(variant, values)| study.number_of_values(variant, values)).collect();
    let numbered = results.runs.into_iter().flatten().filter_map(|mut run| {
        run.variant = numbers[run.variant]?;
        Some(run)
    });
    let of_inputs = results.inputs.into_iter().flat_map(|inputs| inputs.into_runs());
    for run in numbered.chain(of_inputs) {
        if !journal.has(run.variant, run.replication) {
            journal.add(run)?;
        }
    }
    Ok(None)
}
