//! Scenarios are played: from the settled cluster, in one go or piece by piece.

use std::fmt;

use super::error::Error;
use super::outcome::Outcome;
use super::scenario::Scenario;
use crate::component::unless_plugins_fail;
use crate::observe::{Detail, Observers};
use crate::simulation::{self, Prepared, Storm};
use crate::state::Store;
use crate::study::{Part, Progress};
use crate::units::{SimDuration, SimTime};

/// How a scenario is played.
#[derive(Clone, Copy, Default)]
pub struct PlayOptions<'a> {
    pub(super) sample: SimDuration,
    pub(super) is_summary: bool,
    pub(super) progress: Option<&'a dyn Progress>,
}

impl<'a> PlayOptions<'a> {
    /// As the command line does.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps at most one row of `cluster.csv` and `zones.csv` per this length of time.
    #[must_use]
    pub fn sample(mut self, every: SimDuration) -> Self {
        self.sample = every;
        self
    }

    /// Keeps no rows, only metrics: faster and smaller, for who plays many seeds. Such an outcome has no files and no verdict, and cannot
    /// be written.
    #[must_use]
    pub fn summary_only(mut self) -> Self {
        self.is_summary = true;
        self
    }

    /// Says how far the play has got.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    pub(super) fn keeps_rows(&self) -> bool {
        !self.is_summary
    }

    fn observers(&self, scenario: &Scenario) -> Observers {
        let detail = if self.is_summary { Detail::Summary } else { Detail::Files };
        Observers::new(detail, scenario.resolved().objectives.clone(), self.sample)
    }
}

impl fmt::Debug for PlayOptions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sample, is_summary, progress } = self;
        let mut debug = formatter.debug_struct("PlayOptions");
        debug.field("sample", sample).field("is_summary", is_summary);
        debug.field("progress", &progress.is_some()).finish()
    }
}

impl Scenario {
    /// Brings its cluster to the state at t=0, from which any number of seeds can be played.
    ///
    /// # Panics
    ///
    /// If a plug-in of the scenario fails, or an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn settle(&self) -> Settled {
        expect_plugins(self.try_settle())
    }

    /// The same for one whose plug-ins may fail.
    ///
    /// # Errors
    ///
    /// If one of them does: [`ErrorKind::Plugin`](crate::ErrorKind::Plugin).
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn try_settle(&self) -> Result<Settled, Error> {
        let prepared = self.guarded(|| Prepared::new(self.resolved()))?;
        Ok(Settled { prepared, scenario: self.clone() })
    }

    /// Does what may ask its plug-ins.
    pub(super) fn guarded<R>(&self, work: impl FnOnce() -> R) -> Result<R, Error> {
        if self.plugins().is_empty() { Ok(work()) } else { Ok(unless_plugins_fail(work)?) }
    }

    /// Plays it with this seed; who plays several begins with [`settle`](Scenario::settle).
    ///
    /// # Panics
    ///
    /// If a plug-in of the scenario fails, or an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn play(&self, seed: u64) -> Outcome {
        self.play_with(seed, &PlayOptions::new())
    }

    /// Plays it with this seed in that way.
    ///
    /// # Panics
    ///
    /// If a plug-in of the scenario fails, or an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn play_with(&self, seed: u64, options: &PlayOptions<'_>) -> Outcome {
        expect_plugins(self.settle().start_once(seed, options).try_play(options)).0
    }
}

/// For whoever did not ask for errors.
fn expect_plugins<R>(done: Result<R, Error>) -> R {
    done.unwrap_or_else(|error| panic!("{error}"))
}

/// A scenario whose cluster is in its state at t=0. All seeds begin from here; each run is a copy.
#[derive(Clone, Debug)]
pub struct Settled {
    scenario: Scenario,
    prepared: Prepared,
}

impl Settled {
    /// The same cluster, to which happens what another scenario says; that must have the same one.
    pub(super) fn in_place_of(&self, scenario: &Scenario) -> Self {
        Self { scenario: scenario.clone(), prepared: self.prepared.with_script(scenario.resolved()) }
    }

    /// Plays one seed.
    ///
    /// # Panics
    ///
    /// If a plug-in of the scenario fails, or an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn play(&self, seed: u64) -> Outcome {
        self.play_with(seed, &PlayOptions::new())
    }

    /// Plays one seed in that way.
    ///
    /// # Panics
    ///
    /// If a plug-in of the scenario fails, or an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn play_with(&self, seed: u64, options: &PlayOptions<'_>) -> Outcome {
        expect_plugins(self.try_play_with(seed, options))
    }

    /// Plays one seed of a scenario whose plug-ins may fail.
    ///
    /// # Errors
    ///
    /// If one of them does: [`ErrorKind::Plugin`](crate::ErrorKind::Plugin). Nothing of the run is left.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn try_play(&self, seed: u64) -> Result<Outcome, Error> {
        self.try_play_with(seed, &PlayOptions::new())
    }

    /// The same in that way.
    ///
    /// # Errors
    ///
    /// As [`try_play`](Settled::try_play).
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn try_play_with(&self, seed: u64, options: &PlayOptions<'_>) -> Result<Outcome, Error> {
        Ok(self.try_play_to_end(seed, options)?.0)
    }

    /// The outcome, and the cluster at the end.
    pub(super) fn play_to_end(&self, seed: u64, options: &PlayOptions<'_>) -> (Outcome, Store) {
        expect_plugins(self.try_play_to_end(seed, options))
    }

    fn try_play_to_end(&self, seed: u64, options: &PlayOptions<'_>) -> Result<(Outcome, Store), Error> {
        self.start_with(seed, options).try_play(options)
    }

    /// Begins a run with this seed, to be played piece by piece.
    #[must_use]
    pub fn start(&self, seed: u64) -> Simulation {
        self.start_with(seed, &PlayOptions::new())
    }

    /// Begins a run with this seed in that way. Nobody is told how far it has got: who plays it knows.
    #[must_use]
    pub fn start_with(&self, seed: u64, options: &PlayOptions<'_>) -> Simulation {
        let run = self.prepared.start(seed, options.observers(&self.scenario));
        Simulation::new(self.scenario.clone(), self.prepared.storms().to_vec(), run, (seed, options))
    }

    /// The same as the only run: it takes the cluster over, which saves a copy.
    #[must_use]
    pub fn start_once(self, seed: u64, options: &PlayOptions<'_>) -> Simulation {
        let Self { scenario, prepared } = self;
        let storms = prepared.storms().to_vec();
        let run = prepared.start_once(seed, options.observers(&scenario));
        Simulation::new(scenario, storms, run, (seed, options))
    }
}

/// A run under way: it is played as far as somebody wants, looked into, copied to try one thing and another, and finished.
///
/// # Examples
///
/// ```
/// use kubesquall::{PlayOptions, Scenario, SimTime};
///
/// # let text = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: crash}, spec: {duration: 10m, cluster: \
/// #     {nodePools: [{name: n, count: 3, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}, \
/// #     timeline: [{at: 1m, fault: {kind: Crash, nodes: {names: [n-1]}}}]}}";
/// let settled = Scenario::parse(text, [("", ""); 0])?.settle();
/// let mut run = settled.start_with(7, &PlayOptions::new().summary_only());
///
/// // Until the first node is found lost.
/// while run.nodes().all(|node| node.ready == Some(true)) {
///     run.run_until(run.next_event().expect("there is a crash"));
/// }
/// assert!(run.now() > SimTime::from_secs(60));
/// assert_eq!(run.nodes().find(|node| node.ready.is_none()).map(|node| node.name), Some("n-1"));
///
/// // The copy goes on from there by itself.
/// assert_eq!(run.clone().finish().digest(), run.finish().digest());
/// # Ok::<(), kubesquall::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulation {
    scenario: Scenario,
    storms: Vec<Storm>,
    run: simulation::Simulation,
    seed: u64,
    sample: SimDuration,
    keeps_rows: bool,
    /// One of its plug-ins has failed: it means nothing any more.
    has_failed: bool,
}

impl Simulation {
    fn new(
        scenario: Scenario,
        storms: Vec<Storm>,
        run: simulation::Simulation,
        (seed, options): (u64, &PlayOptions<'_>),
    ) -> Self {
        let (sample, keeps_rows) = (options.sample, options.keeps_rows());
        Self { scenario, storms, run, seed, sample, keeps_rows, has_failed: false }
    }

    /// Plays it to its end: the outcome, and the cluster as it stands then.
    fn try_play(mut self, options: &PlayOptions<'_>) -> Result<(Outcome, Store), Error> {
        const STEPS: u64 = 400;
        let end = self.end();
        if let Some(progress) = options.progress {
            let part = Part::begin(progress, STEPS, 0, self.scenario.name());
            for step in 1..=STEPS {
                let instant = SimTime::ZERO + (self.scenario.duration() / STEPS) * step;
                self.try_run_until(if step == STEPS { end } else { instant })?;
                part.advance();
            }
        }
        self.try_run_until(end)?;
        Ok(self.finish_with_store())
    }

    /// How far it has been played.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.run.now()
    }

    /// When it ends.
    #[must_use]
    pub fn end(&self) -> SimTime {
        SimTime::ZERO + self.scenario.duration()
    }

    /// A run of a scenario that somebody else has begun, and that keeps rows.
    #[cfg(feature = "serve")]
    pub(super) fn adopt(scenario: Scenario, run: simulation::Simulation) -> Self {
        Self {
            seed: scenario.seed(),
            scenario,
            storms: Vec::new(),
            run,
            sample: SimDuration::ZERO,
            keeps_rows: true,
            has_failed: false,
        }
    }

    pub(super) fn run(&self) -> &simulation::Simulation {
        &self.run
    }

    pub(super) fn store(&self) -> &Store {
        self.run.store()
    }

    /// Plays everything up to and including an instant; of what is behind the end, nothing.
    ///
    /// # Panics
    ///
    /// If a plug-in of the scenario fails, or an invariant of kubesquall breaks, which is a bug.
    pub fn run_until(&mut self, instant: SimTime) {
        expect_plugins(self.try_run_until(instant));
    }

    /// The same for a scenario whose plug-ins may fail.
    ///
    /// # Errors
    ///
    /// If one of them does: [`ErrorKind::Plugin`](crate::ErrorKind::Plugin). The run is over then: whatever else is asked of it panics, or
    /// is an error.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn try_run_until(&mut self, instant: SimTime) -> Result<(), Error> {
        if self.has_failed {
            let advice = "begin another run: what a plug-in leaves behind that fails means nothing";
            return Err(Error::argument("one of the plug-ins has failed in this run", advice));
        }
        let (instant, run) = (instant.min(self.end()), &mut self.run);
        let played = self.scenario.guarded(|| run.run_until(instant));
        self.has_failed = played.is_err();
        played
    }

    /// Plays what is left.
    ///
    /// # Panics
    ///
    /// If a plug-in of the scenario fails, or an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn finish(self) -> Outcome {
        expect_plugins(self.try_finish())
    }

    /// The same for a scenario whose plug-ins may fail.
    ///
    /// # Errors
    ///
    /// As [`try_run_until`](Simulation::try_run_until).
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn try_finish(mut self) -> Result<Outcome, Error> {
        self.try_run_until(self.end())?;
        Ok(self.finish_with_store().0)
    }

    /// What there is of the outcome, and the cluster as it is now.
    pub(super) fn finish_with_store(self) -> (Outcome, Store) {
        let end = self.end();
        let finished = self.run.finish();
        let observed = finished.observers.finish(end, &finished.store, finished.events);
        let expectations = &self.scenario.resolved().expectations;
        let expectations = expectations.iter().map(|of| of.judge(&observed.summary.metrics)).collect();
        let outcome = Outcome {
            plugins: self.scenario.plugins().told(&finished.controllers),
            scenario: self.scenario,
            seed: self.seed,
            sample: self.sample,
            keeps_rows: self.keeps_rows,
            storms: self.storms,
            refused_at_start: finished.refused_at_start,
            observed,
            expectations,
            digest: finished.digest,
            agreement: None,
        };
        (outcome, finished.store)
    }
}
