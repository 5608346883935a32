//! A plan, ready to be worked out, and its answer.

use std::borrow::Cow;
use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::{Advice, Error};
use super::load::{self, LoadOptions, Written, loaders};
use super::place::{self, Of};
use super::report::Report;
use super::write_options::WriteOptions;
use crate::diagnostics::Diagnostics;
use crate::observe::Row as _;
use crate::parallel::Threads;
use crate::report::{BlastRow, OutputDir};
use crate::study::plan::{self, Blast, PLACEMENTS_MAX, Placements, PlanResults, Symmetry};
use crate::study::{Progress, Silent};

/// A plan, read and checked, with its scenarios: which counts of nodes survive given failures.
#[derive(Clone, Debug)]
pub struct Plan {
    plan: plan::Plan,
    file: Option<PathBuf>,
}

/// How a plan is worked out, and what is asked besides.
#[derive(Clone, Default)]
pub struct SolveOptions<'a> {
    threads: Option<NonZeroUsize>,
    is_exhaustive: bool,
    headroom: Vec<String>,
    blast_radius: Option<String>,
    placements: Option<(u32, u32)>,
    progress: Option<&'a dyn Progress>,
}

impl<'a> SolveOptions<'a> {
    /// On all cores, and nothing besides.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// On so many threads, at most one a core; of no consequence for the answer, and without the feature `parallel` of none at all.
    #[must_use]
    pub fn threads(mut self, count: NonZeroUsize) -> Self {
        self.threads = Some(count);
        self
    }

    /// Whether to play the loss of every node and set of nodes, even of those that are alike.
    #[must_use]
    pub fn exhaustive(mut self, is_exhaustive: bool) -> Self {
        self.is_exhaustive = is_exhaustive;
        self
    }

    /// Also find how many more replicas of a workload, such as `deployment/shop/web`, the answer still survives.
    #[must_use]
    pub fn headroom(mut self, workload: impl Into<String>) -> Self {
        self.headroom.push(workload.into());
        self
    }

    /// Also play the loss of every node, pair and zone with the answer, and of each value of this node label unless it is empty, and rank
    /// them by what they cost.
    #[must_use]
    pub fn blast_radius(mut self, label: impl Into<String>) -> Self {
        self.blast_radius = Some(label.into());
        self
    }

    /// In so many placements, draws of where pods go and of what follows, in place of as many as the plan says.
    #[must_use]
    pub fn placements(mut self, count: NonZeroU32) -> Self {
        self.placements = Some((0, count.get()));
        self
    }

    /// In this placement alone, by its number from 0 on: what other placements say is not asked.
    #[must_use]
    pub fn placement(mut self, number: u32) -> Self {
        self.placements = Some((number, 1));
        self
    }

    /// Says how far it has got.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = Some(progress);
        self
    }
}

impl fmt::Debug for SolveOptions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threads, is_exhaustive, headroom, blast_radius, placements, progress } = self;
        let mut debug = formatter.debug_struct("SolveOptions");
        debug.field("threads", threads).field("is_exhaustive", is_exhaustive).field("headroom", headroom);
        debug
            .field("blast_radius", blast_radius)
            .field("placements", placements)
            .field("progress", &progress.is_some())
            .finish()
    }
}

loaders!(Plan, "plan.yaml", names "its scenarios and their manifests", values "its scenarios say", wrong with "it and its scenarios");

impl Plan {
    pub(super) fn read(written: Written<'_>, options: &LoadOptions) -> Result<Self, Error> {
        let overrides = options.overrides();
        Ok(match written {
            Written::File(path) => Self { plan: plan::load_with(path, &overrides)?, file: Some(path.to_owned()) },
            Written::Text { name, text, folder } => {
                Self { plan: plan::parse(name, text, &folder, &overrides)?, file: None }
            }
        })
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// What may not mean what its author thinks.
    #[must_use]
    pub fn warnings(&self) -> &Diagnostics {
        &self.plan.warnings
    }

    /// Plays every case with every count until all are survived.
    ///
    /// # Errors
    ///
    /// If what is asked besides cannot be answered, threads cannot be had, or the progress says to stop.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn solve(&self, options: &SolveOptions<'_>) -> Result<PlanOutcome, Error> {
        let plan = &*self.asked(options)?;
        self.check_questions(options)?;
        let threads = Threads::new(options.threads).map_err(Error::threads)?;
        let symmetry = if options.is_exhaustive { Symmetry::Ignored } else { Symmetry::Used };
        let progress = options.progress.unwrap_or(&Silent);
        let work = || {
            let mut results = plan::work_out(plan, symmetry, progress);
            if let Some(answer) = results.answer() {
                let grown = |workload: &String| plan::headroom(plan, symmetry, answer, workload, progress);
                results.headroom = options.headroom.iter().map(grown).collect();
            }
            let blasts = options.blast_radius.as_deref().map(|label| {
                let most = || plan.pools.iter().map(|pool| pool.max).collect();
                let counts = results.answer().map_or_else(most, |answer| answer.counts.clone());
                plan::blast_radius(plan, symmetry, &counts, (!label.is_empty()).then_some(label), progress)
            });
            (results, blasts.unwrap_or_default())
        };
        let (results, blasts) = Error::unless_stopped(|| Ok(threads.install(work)))?;
        Ok(PlanOutcome { results, blasts, inputs: self.inputs().map(Path::to_owned).collect() })
    }

    /// The plan in the placements that are asked for.
    fn asked(&self, options: &SolveOptions<'_>) -> Result<Cow<'_, plan::Plan>, Error> {
        let Some((first, count)) = options.placements else { return Ok(Cow::Borrowed(&self.plan)) };
        let placements = match count {
            // One placement alone shows no share: it is survived or not.
            1 => Placements { first, count, probability: None, confidence: None },
            _ => Placements { first, count, ..self.plan.placements },
        };
        if !(1..=PLACEMENTS_MAX).contains(&count) || first >= PLACEMENTS_MAX {
            let message = format!("a plan is played in 1 to {PLACEMENTS_MAX} placements");
            return Err(Error::argument(message, "take fewer, or one whose number is smaller"));
        }
        if placements.needed().is_none() {
            let message =
                format!("{count} placements cannot show what the plan asks for, even if all of them are survived");
            return Err(Error::argument(message, format!("take at least {}", placements.fewest())));
        }
        let mut plan = self.plan.clone();
        plan.placements = placements;
        Ok(Cow::Owned(plan))
    }

    /// Whether what is asked besides the plan can be answered; before the search, which may be long.
    fn check_questions(&self, options: &SolveOptions<'_>) -> Result<(), Error> {
        for workload in &options.headroom {
            plan::replicas_of(&self.plan, workload)
                .map_err(|message| Error::argument(message, Advice::NameWorkload))?;
        }
        match options.blast_radius.as_deref() {
            Some(label) if !label.is_empty() && !plan::is_label_of_nodes(&self.plan, label) => {
                Err(Error::argument(format!("no node has the label `{label}`"), Advice::NameLabel))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a place, before anything is played, that holds a file of the input or something else than earlier results of the plan.
    ///
    /// # Errors
    ///
    /// What is there.
    pub fn check_place(&self, dir: impl AsRef<Path>, options: &WriteOptions) -> Result<(), Error> {
        place::check(dir.as_ref(), options, Of::Plan(&self.plan.name), self.inputs())
    }

    fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.plan.inputs().chain(self.file.as_deref())
    }

    #[cfg(feature = "cli")]
    pub(crate) fn inner(&self) -> &plan::Plan {
        &self.plan
    }
}

/// A plan that has been worked out.
#[derive(Clone, Debug)]
pub struct PlanOutcome {
    pub(crate) results: PlanResults,
    pub(crate) blasts: Vec<Blast>,
    /// The files that the plan was read from.
    inputs: Vec<PathBuf>,
}

impl PlanOutcome {
    /// The answer: the count of each pool, cheapest mix first found; none if even the most nodes do not survive.
    #[must_use]
    pub fn answer(&self) -> Option<Vec<(&str, u32)>> {
        let counts = &self.results.answer()?.counts;
        Some(self.results.pools.iter().map(|pool| pool.name.as_str()).zip(counts.iter().copied()).collect())
    }

    /// The content of `summary.json`.
    #[must_use]
    pub fn summary(&self) -> Value {
        self.results.summary()
    }

    /// The text of `summary.json`.
    #[must_use]
    pub fn summary_json(&self) -> String {
        let mut summary = self.results.summary();
        if !self.blasts.is_empty() {
            summary["rows"][BlastRow::TABLE.file] = self.blasts.len().into();
        }
        let mut text = serde_json::to_string_pretty(&summary).expect("results are plain data");
        text.push('\n');
        text
    }

    /// Whether there is a table of that name.
    pub(super) fn has(&self, file: &str) -> bool {
        matches!(file, "plan.csv" | "cases.csv") || file == BlastRow::TABLE.file && !self.blasts.is_empty()
    }

    /// The text of a table's file; none if there is no such table.
    pub(super) fn text_of(&self, file: &str) -> Option<Vec<u8>> {
        match file {
            _ if !self.has(file) => None,
            "plan.csv" => Some(self.results.plan_csv()),
            "cases.csv" => Some(self.results.cases_csv()),
            _ => Some(plan::blast_csv(&self.blasts)),
        }
    }

    /// Writes plan.csv, cases.csv, summary.json, the chart and the page to a directory, which is whole or not there; gives its path.
    ///
    /// # Errors
    ///
    /// If the directory holds something else than results of this plan, or the operating system refuses.
    pub fn write(&self, dir: impl AsRef<Path>) -> Result<PathBuf, Error> {
        self.write_with(dir, &WriteOptions::new())
    }

    /// Writes them in that way.
    ///
    /// # Errors
    ///
    /// If the directory holds something else than results of this plan, or the operating system refuses.
    pub fn write_with(&self, dir: impl AsRef<Path>, options: &WriteOptions) -> Result<PathBuf, Error> {
        let results = &self.results;
        place::check(dir.as_ref(), options, Of::Plan(&results.plan), self.inputs.iter().map(PathBuf::as_path))?;
        let out = OutputDir::begin(dir.as_ref(), options.overwrite())?;
        out.write("plan.csv", &results.plan_csv())?;
        out.write("cases.csv", &results.cases_csv())?;
        if !self.blasts.is_empty() {
            out.write("blast-radius.csv", &plan::blast_csv(&self.blasts))?;
        }
        // The last of the tables, as it marks a directory that is whole.
        out.write("summary.json", self.summary_json().as_bytes())?;
        Report::drawn_in(&out, options, Report::charts)?;
        Ok(out.finish()?)
    }
}
