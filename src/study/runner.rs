//! Plays the runs of a study, on as many threads as there are.

use std::sync::{Arc, Mutex, PoisonError};

use super::confirmation::{Confirmation, Outcomes};
use super::cost_by::CostBy;
use super::definition::Study;
use super::estimate::Series;
use super::grid::Variant;
use super::inputs::{first_replication, place_of, seed_place};
use super::journal::{Journal, JournalError};
use super::metrics::{self, WORKLOAD_METRICS, metric_names};
use super::progress::{Part, Progress};
use super::rare::{self, Mixture, PilotRound, Sampling};
use super::requirement;
use super::results::{Precision, Results, decisive, seed_of};
use super::run::RunRow;
use super::shard::Shard;
use super::tuning::{FIRST_ROUND, Screening, Selection, SetAside, next_round};
use super::undone::undone_of;
use crate::chaos::ChaosPlan;
use crate::engine::Streams;
use crate::observe::{Detail, METRICS, Objective, Observers, WorkloadOutcome};
use crate::parallel;
use crate::simulation::Prepared;
use crate::units::{SimDuration, SimTime};

const HOUR_S: f64 = 3600.0;
/// Pieces in which a run is played.
const PIECES: u64 = 100;

/// A variant's cluster at t=0, and what its runs are judged by.
#[derive(Debug)]
struct Settled {
    prepared: Prepared,
    objectives: Vec<Objective>,
    end: SimTime,
}

impl Settled {
    fn new(variant: &Variant) -> Self {
        // Every variant has been tried when the study was loaded.
        let scenario = variant.scenario().expect("the variant's changes can be made");
        let prepared = Prepared::new(&scenario);
        Self { prepared, objectives: scenario.objectives, end: SimTime::ZERO + scenario.duration }
    }
}

/// How failures of a run are drawn.
enum Way<'a> {
    AsItIs,
    /// More often than they come.
    Weighted(&'a Mixture),
    /// As other inputs say.
    With(Arc<ChaosPlan>),
}

/// A variant's cluster while runs of it are open.
#[derive(Debug, Default)]
struct Slot {
    settled: Option<Arc<Settled>>,
    open: usize,
}

/// Plays runs of a study. Each variant is settled once, when the first of its runs begins, and forgotten with the last: however
/// many variants there are, only a few clusters are in memory.
#[derive(Debug)]
pub struct Runner<'a> {
    study: &'a Study,
    journal: &'a Journal,
    slots: Vec<Mutex<Slot>>,
    /// Clusters stay: there may be more runs of them.
    keeps: bool,
    /// A variant behind those of the study, and the number that its runs have in the journal.
    extra: Option<(usize, usize)>,
    /// How failures are drawn, if not as often as they come.
    sampling: Option<Sampling>,
}

impl<'a> Runner<'a> {
    /// A runner that adds to the journal.
    #[must_use]
    pub fn new(study: &'a Study, journal: &'a Journal) -> Self {
        Self {
            study,
            journal,
            slots: study.variants.iter().map(|_| Mutex::default()).collect(),
            keeps: false,
            extra: None,
            sampling: None,
        }
    }

    /// Chooses how failures are drawn, if the study looks for a rare event: by a pilot, unless it says so itself. To be done before runs
    /// are played.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written or read.
    pub fn choose_sampling(&mut self, progress: &dyn Progress) -> Result<Option<Sampling>, JournalError> {
        if let Some(event) = &self.study.rare {
            self.sampling = Some(rare::choose(event, self.study, |round| self.play_pilot(round, progress))?);
        }
        Ok(self.sampling.clone())
    }

    /// Plays a round of the pilot, in which every variant has as many runs; gives them in their order.
    fn play_pilot(&self, round: &PilotRound, progress: &dyn Progress) -> Result<Vec<RunRow>, JournalError> {
        let variants = self.study.variants.len();
        // Runs of a variant stand together.
        let variant_of = |run: u32| (u64::from(run) * variants as u64 / u64::from(round.runs)) as usize;
        let number = variants + 1 + round.index as usize;
        let first = rare::PILOT_FIRST;
        let open: Vec<u32> = (0..round.runs).filter(|run| !self.journal.has(number, first + run)).collect();
        for run in &open {
            self.slot(variant_of(*run)).open += 1;
        }
        let done = u64::from(round.runs) - open.len() as u64;
        let part = Part::begin(progress, round.runs.into(), done, "the pilot");
        parallel::try_each(&open, |&run| {
            part.heed();
            let variant = variant_of(run);
            let settled = self.settled(variant);
            let seed = format!("{} pilot {} {run}", self.study.first_seed, round.index);
            let streams = Streams::new(crate::arena::stable_hash(seed.as_bytes()));
            let row = self.play_drawn(&settled, streams, Way::Weighted(&round.mixture), &part);
            self.journal.add(RunRow { variant: number, replication: first + run, ..row })?;
            self.release(variant);
            part.advance();
            Ok(())
        })?;
        drop(part);
        let mut rows = self.journal.rows()?;
        rows.retain(|row| row.variant == number && row.replication >= first && row.replication - first < round.runs);
        rows.sort_by_key(|row| row.replication);
        rows.iter_mut().for_each(|row| row.price(&self.study.prices));
        Ok(rows)
    }

    /// The number that runs of a variant have in the journal.
    fn number(&self, variant: usize) -> usize {
        let of_study = || self.study.number_of(variant);
        self.extra.filter(|(extra, _)| *extra == variant).map_or_else(of_study, |(_, number)| number)
    }

    /// Plays the runs that belong to the shard and are not in the journal yet.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub fn play_all(&self, shard: Shard, progress: &dyn Progress) -> Result<(), JournalError> {
        self.play_grid(shard, self.study.replications, &self.part(shard, progress))
    }

    /// All runs of a shard, or as many of them as it takes.
    fn part<'p>(&self, shard: Shard, progress: &'p dyn Progress) -> Part<'p> {
        let study = self.study;
        let runs = study.variants.len() as u64 * u64::from(study.replications);
        let done = self.journal.count(..study.replications) as u64;
        let of_inputs = (0..study.variants.len()).flat_map(|variant| self.runs_of_inputs(variant));
        let (more, over) = of_inputs.fold((0, 0), |(runs, over), run| (runs + 1, over + u64::from(self.is_over(run))));
        Part::begin(progress, shard.share_of(runs) + more, done + over, &study.name)
    }

    /// All runs of a variant with inputs that were fitted to records drawn anew.
    fn runs_of_inputs(&self, variant: usize) -> impl Iterator<Item = (usize, u32)> + use<> {
        let runs = self.study.inputs.iter().flat_map(|inputs| inputs.runs()).collect::<Vec<_>>();
        runs.into_iter().map(move |run| (variant, run))
    }

    /// Plays what is missing of the study's replications of each variant.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub(super) fn play_each(&self, part: &Part<'_>) -> Result<(), JournalError> {
        self.play_grid(Shard::WHOLE, self.study.replications, part)
    }

    fn play_grid(&self, shard: Shard, replications: u32, part: &Part<'_>) -> Result<(), JournalError> {
        let variant_count = self.study.variants.len() as u64;
        // The runs of a variant stand together, so that its cluster is not needed for long.
        let of_variant =
            |variant: usize| (0..replications).map(move |r| (variant, r)).chain(self.runs_of_inputs(variant));
        let runs = (0..self.study.variants.len()).flat_map(of_variant);
        let is_ours =
            |&(variant, replication): &(usize, u32)| shard.has(u64::from(replication) * variant_count + variant as u64);
        self.play(runs.filter(is_ours), part)
    }

    fn is_over(&self, (variant, replication): (usize, u32)) -> bool {
        self.journal.has(self.number(variant), replication)
    }

    fn play(&self, runs: impl Iterator<Item = (usize, u32)>, part: &Part<'_>) -> Result<(), JournalError> {
        let open: Vec<(usize, u32)> = runs.filter(|run| !self.is_over(*run)).collect();
        for (variant, _) in &open {
            self.slot(*variant).open += 1;
        }
        parallel::try_each(&open, |&(variant, replication)| {
            part.heed();
            let settled = self.settled(variant);
            self.journal.add(self.play_one(variant, &settled, replication, part))?;
            self.release(variant);
            part.advance();
            Ok(())
        })
    }

    fn slot(&self, variant: usize) -> std::sync::MutexGuard<'_, Slot> {
        self.slots[variant].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settled(&self, variant: usize) -> Arc<Settled> {
        let mut slot = self.slot(variant);
        let settled = slot.settled.get_or_insert_with(|| Arc::new(Settled::new(&self.study.variants[variant])));
        Arc::clone(settled)
    }

    fn release(&self, variant: usize) {
        let mut slot = self.slot(variant);
        slot.open -= 1;
        if slot.open == 0 && !self.keeps {
            slot.settled = None;
        }
    }

    fn play_one(&self, variant: usize, settled: &Settled, replication: u32, part: &Part<'_>) -> RunRow {
        let study = self.study;
        if let (Some(inputs), Some((input, run))) = (&study.inputs, place_of(replication)) {
            let streams =
                Streams::new(seed_of(study.first_seed, study.is_antithetic, seed_place(inputs.count, input, run)));
            let chaos = inputs.plan(&study.variants[variant].base.chaos, input);
            let row = self.play_drawn(settled, streams, Way::With(chaos), part);
            return RunRow { variant: self.number(variant), replication, ..row };
        }
        let streams = Streams::new(seed_of(study.first_seed, study.is_antithetic, replication));
        let is_mirror = study.is_antithetic && replication % 2 == 1;
        let streams = if is_mirror { streams.mirrored() } else { streams };
        let way = self.sampling.as_ref().map_or(Way::AsItIs, |sampling| Way::Weighted(&sampling.mixture));
        let row = self.play_drawn(settled, streams, way, part);
        // Only the pilot learns from them.
        RunRow { variant: self.number(variant), replication, exposures: Box::default(), ..row }
    }

    /// Plays a run with that chance, failures drawn in that way.
    fn play_drawn(&self, settled: &Settled, streams: Streams, way: Way<'_>, part: &Part<'_>) -> RunRow {
        let study = self.study;
        let observers = Observers::new(Detail::Summary, settled.objectives.clone(), SimDuration::ZERO);
        let prepared = &settled.prepared;
        let (mut run, mixture) = match way {
            Way::AsItIs => (prepared.start_with(streams, observers), None),
            Way::Weighted(mixture) => (prepared.start_biased(streams, mixture.way(&streams), observers), Some(mixture)),
            Way::With(chaos) => (prepared.start_with_faults(chaos, streams, observers), None),
        };
        // Piece by piece, as a long one is to be stopped, too.
        for piece in 1..PIECES {
            run.run_until(SimTime::ZERO + (settled.end.saturating_since(SimTime::ZERO) / PIECES) * piece);
            part.heed();
        }
        run.run_until(settled.end);
        let exposures = run.exposures();
        let weight = mixture.map_or(1.0, |mixture| mixture.weight(&exposures));
        let finished = run.finish();
        let summary = finished.observers.finish(settled.end, &finished.store, finished.events).summary;
        // One after the other from 0, as a sum of nothing is -0.
        let replica_s = summary.workloads.iter().fold(0.0, |sum, of| sum + of.wanted_replica_s);
        let metric = |name: &str| match name {
            "replica_h" => replica_s / HOUR_S,
            "node_h" => summary.node_s / HOUR_S,
            name => summary.metrics.get(name).copied().unwrap_or(0.0),
        };
        let own = metric_names();
        let metrics = own[..own.len() - 1].iter().map(|name| metric(name)).chain([0.0]).collect();
        debug_assert!(own.starts_with(&METRICS), "the summary's metrics come first");
        let workloads = of_workloads(study, &summary.workloads).into();
        let exposures = if mixture.is_some() { rare::flat(&exposures) } else { Box::default() };
        let figures = requirement::figures_of(&study.requirements, &summary.workloads);
        let mut row = RunRow { variant: 0, replication: 0, metrics, workloads, weight, figures, exposures };
        row.price(&study.prices);
        row
    }

    /// Plays replications in rounds until the interval of every variant's cost (of its unready replica-seconds, if nothing has a
    /// price) is at most `goal` of its mean on either side, or the study's replications are played. Says how many each variant
    /// then has, how often it was looked, and how wide the intervals are.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written or read.
    pub fn play_until_precise(&mut self, goal: f64, progress: &dyn Progress) -> Result<Precision, JournalError> {
        self.keeps = true;
        let mut replications = FIRST_ROUND.min(self.study.replications);
        let metric = decisive(self.study.prices.is_empty());
        let metric = metrics::position(metric).unwrap_or(0);
        let mut look = 0;
        let part = self.part(Shard::WHOLE, progress);
        loop {
            self.play_grid(Shard::WHOLE, replications, &part)?;
            look += 1;
            let rows = self.journal.rows()?;
            let rows = rows.into_iter().filter(|row| row.replication < replications).collect();
            let results = Results::new(self.study, Shard::WHOLE, replications, look, rows);
            let results = Results { rare: self.sampling.clone(), ..results };
            let (width, for_normality) = match results.rare_width() {
                Some(width) => (width, 0.0),
                None => widest(&results, metric),
            };
            if width <= goal || replications == self.study.replications {
                return Ok(Precision::new(goal, width, for_normality, replications, look));
            }
            replications = next_round(replications, self.study.replications);
        }
    }

    /// Plays replications in rounds, after each of which only contenders and the baseline go on, until no contender can be better than
    /// the cheapest by more than is worth a change, or these have the study's replications. `indifference` is the share of what the
    /// baseline costs that is not.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written or read.
    pub fn play_contenders(&mut self, indifference: f64, progress: &dyn Progress) -> Result<Selection, JournalError> {
        self.keeps = true;
        let study = self.study;
        let (mut selection, mut screening) = (Selection::begin(study.replications), Screening::default());
        let part = self.part(Shard::WHOLE, progress);
        loop {
            let replications = selection.replications;
            let runs = (0..study.variants.len()).flat_map(|variant| (0..replications).map(move |r| (variant, r)));
            self.play(runs.filter(|(variant, replication)| selection.has(*variant, *replication)), &part)?;
            let rows = self.journal.rows()?;
            let rows = rows.into_iter().filter(|row| selection.has(row.variant, row.replication)).collect();
            let results = Results::new(study, Shard::WHOLE, replications, selection.looks, rows);
            let results = Results { indifference, selection: Some(selection.clone()), ..results };
            if !selection.goes_on(&screening.look(&results)) {
                return Ok(selection);
            }
            for SetAside { variant, .. } in &selection.set_aside {
                self.slot(*variant).settled = None;
            }
        }
    }
}

/// How wide the widest interval of a figure is, of the figure, and how many runs the most skewed one takes until its mean is close to
/// normal.
fn widest(results: &Results, metric: usize) -> (f64, f64) {
    let columns: Vec<Series> =
        (0..results.variants.len()).map(|variant| results.observations(variant, metric)).collect();
    let estimate = results.cost_estimate().with_unseen(&columns, results.is_chancy);
    // From so many runs on intervals can be trusted.
    let enough = |column: &Series| match results.cost_by {
        CostBy::Quantile(_) => results.cost_by.runs_needed(results.confidence()) as f64,
        by => estimate
            .sample(&by.values(column))
            .observations_for_normality()
            .max(by.runs_needed(results.confidence()) as f64),
    };
    let widths = columns.iter().map(|column| (estimate.relative_width(column), enough(column)));
    widths.fold((0.0, 0.0), |widest: (f64, f64), next| (widest.0.max(next.0), widest.1.max(next.1)))
}

/// Plays what is recommended, and the baseline, on as many seeds behind those of the study.
///
/// # Errors
///
/// If the journal cannot be written or read.
pub fn confirm(
    study: &Study,
    results: &Results,
    recommended: &Variant,
    journal: &Journal,
    progress: &dyn Progress,
) -> Result<Confirmation, JournalError> {
    let (both, mixture, number) = with_recommended(study, recommended);
    let first = study.replications;
    let replications = first..first.saturating_add(results.replications);
    let runs =
        [mixture, study.baseline].into_iter().flat_map(|variant| replications.clone().map(move |r| (variant, r)));
    let runner = Runner { extra: Some((mixture, number)), ..Runner::new(&both, journal) };
    let done = runs.clone().filter(|run| runner.is_over(*run)).count() as u64;
    let part = Part::begin(progress, runs.clone().count() as u64, done, "the recommendation");
    runner.play(runs, &part)?;
    drop(part);
    let mut rows = journal.rows()?;
    rows.iter_mut().for_each(|row| row.price(&study.prices));
    let required = &study.requirements;
    let outcomes = |variant: usize| {
        let replications = replications.clone();
        let of = rows.iter().filter(move |row| row.variant == variant && replications.contains(&row.replication));
        Outcomes {
            costs: of.clone().map(|row| (row.replication, row.metrics[row.metrics.len() - 1])).collect(),
            undone: undone_of(of.clone().map(|row| (row.replication, &*row.metrics))),
            kept: required.iter().map(|one| one.kept_in(required, of.clone())).collect(),
        }
    };
    Ok(results.confirmation(&outcomes(number), &outcomes(study.number_of(study.baseline))))
}

/// Plays what is recommended, and is none of the variants, with every input of the study; gives those runs, and the number that they have in
/// the journal. None of a study without inputs.
///
/// # Errors
///
/// If the journal cannot be written or read.
pub fn play_inputs_of(
    study: &Study,
    recommended: &Variant,
    journal: &Journal,
    progress: &dyn Progress,
) -> Result<Option<(Vec<RunRow>, usize)>, JournalError> {
    if study.inputs.is_none() {
        return Ok(None);
    }
    let (both, mixture, number) = with_recommended(study, recommended);
    let runner = Runner { extra: Some((mixture, number)), ..Runner::new(&both, journal) };
    let runs: Vec<(usize, u32)> = runner.runs_of_inputs(mixture).collect();
    let done = runs.iter().filter(|run| runner.is_over(**run)).count() as u64;
    let part = Part::begin(progress, runs.len() as u64, done, "the recommendation, with every input");
    runner.play(runs.into_iter(), &part)?;
    drop(part);
    let mut rows = journal.rows()?;
    rows.retain(|row| row.variant == number && row.replication >= first_replication(0));
    rows.iter_mut().for_each(|row| row.price(&study.prices));
    Ok(Some((rows, number)))
}

/// The study with what is recommended as one more variant, its position, and the number that its runs have in a journal.
fn with_recommended(study: &Study, recommended: &Variant) -> (Study, usize, usize) {
    let mut both = study.clone();
    let mixture = both.variants.len();
    both.variants.push(recommended.clone());
    // Runs of another recommendation, from when the study was smaller, are not this one's.
    let of_choice = format!("{:?}", recommended.settings);
    let behind = study.points().map_or(mixture, |(_, points)| points);
    let number = behind + 1 + (crate::arena::stable_hash(of_choice.as_bytes()) >> 32) as usize;
    (both, mixture, number)
}

/// What each tuned workload has of [`WORKLOAD_METRICS`], but for its cost.
fn of_workloads(study: &Study, outcomes: &[WorkloadOutcome]) -> Vec<f64> {
    let of_one = |path: &str| {
        let of = outcomes.iter().find(|of| is_path_of(path, of));
        WORKLOAD_METRICS.map(|name| of.map_or(0.0, |of| metric_of(of, name)))
    };
    study.tuned.iter().flat_map(|(path, _)| of_one(path)).collect()
}

fn is_path_of(path: &str, of: &WorkloadOutcome) -> bool {
    let mut parts = path.split('/');
    parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(of.kind))
        && parts.next() == Some(of.namespace.as_str())
        && parts.next() == Some(of.name.as_str())
}

/// A metric of the summary as far as it is one workload's; 0 for what is the whole cluster's.
fn metric_of(of: &WorkloadOutcome, name: &str) -> f64 {
    match name {
        "unready_replica_s" => of.unready_replica_s,
        "evictions" => of.evictions.into(),
        "needless_evictions" => of.needless_evictions.into(),
        "preemptions" => of.preemptions.into(),
        "stateful_interruptions" if of.kind == "StatefulSet" => f64::from(of.evictions + of.preemptions),
        "objectives_missed" => f64::from(u8::from(of.objective_met == Some(false))),
        "below_desired_s" => of.below_desired_s,
        "below_min_ready_s" => of.below_min_ready_s,
        "replica_h" => of.wanted_replica_s / HOUR_S,
        _ => 0.0,
    }
}
