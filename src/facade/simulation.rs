//! Runs: from the settled cluster, in one go or piece by piece.

use super::outcome::Outcome;
use super::scenario::Scenario;
use crate::observe::{Detail, Observers};
use crate::simulation::{self, Prepared, Storm};
use crate::state::Store;
use crate::study::Progress;
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

    /// Keeps no rows, only metrics: faster and smaller, for who plays many seeds. Such an outcome cannot be written.
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

    pub(super) fn detail(&self) -> Detail {
        if self.is_summary { Detail::Summary } else { Detail::Files }
    }
}

/// A scenario whose cluster is in its state at t=0. All seeds begin from here; each run is a copy.
#[derive(Debug)]
pub struct Settled {
    scenario: Scenario,
    prepared: Prepared,
}

impl Settled {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self { prepared: Prepared::new(scenario.resolved()), scenario: scenario.clone() }
    }

    /// Plays one seed.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn play(&self, seed: u64) -> Outcome {
        self.play_with(seed, &PlayOptions::new())
    }

    /// Plays one seed in that way.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn play_with(&self, seed: u64, options: &PlayOptions<'_>) -> Outcome {
        self.play_to_end(seed, options).0
    }

    /// The outcome, and the cluster at the end.
    pub(super) fn play_to_end(&self, seed: u64, options: &PlayOptions<'_>) -> (Outcome, Store) {
        const STEPS: u64 = 400;
        let mut run = self.start_with(seed, options);
        if let Some(progress) = options.progress {
            progress.begin(STEPS, 0, self.scenario.name());
            for step in 1..STEPS {
                run.run_until(SimTime::ZERO + (self.scenario.duration() / STEPS) * step);
                progress.advance();
            }
        }
        let end = run.end();
        run.run_until(end);
        if let Some(progress) = options.progress {
            progress.end();
        }
        run.finish_with_store()
    }

    /// Begins a run with this seed, to be played piece by piece.
    #[must_use]
    pub fn start(&self, seed: u64) -> Simulation {
        self.start_with(seed, &PlayOptions::new())
    }

    fn start_with(&self, seed: u64, options: &PlayOptions<'_>) -> Simulation {
        let objectives = self.scenario.resolved().objectives.clone();
        let observers = Observers::new(options.detail(), objectives, options.sample);
        Simulation {
            scenario: self.scenario.clone(),
            storms: self.prepared.storms().to_vec(),
            run: self.prepared.start(seed, observers),
            seed,
            sample: options.sample,
            keeps_rows: !options.is_summary,
        }
    }
}

/// A run under way.
#[derive(Debug)]
pub struct Simulation {
    scenario: Scenario,
    storms: Vec<Storm>,
    run: simulation::Simulation,
    seed: u64,
    sample: SimDuration,
    keeps_rows: bool,
}

impl Simulation {
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

    /// Plays everything up to and including an instant; of what is behind the end, nothing.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn run_until(&mut self, instant: SimTime) {
        self.run.run_until(instant.min(self.end()));
    }

    /// Plays what is left.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        self.run_until(self.end());
        self.finish_with_store().0
    }

    fn finish_with_store(self) -> (Outcome, Store) {
        let end = self.end();
        let finished = self.run.finish();
        let observed = finished.observers.finish(end, &finished.store, finished.events);
        let expectations = &self.scenario.resolved().expectations;
        let expectations = expectations.iter().map(|of| of.judge(&observed.summary.metrics)).collect();
        let outcome = Outcome {
            scenario: self.scenario,
            seed: self.seed,
            sample: self.sample,
            keeps_rows: self.keeps_rows,
            storms: self.storms,
            observed,
            expectations,
            digest: finished.digest,
        };
        (outcome, finished.store)
    }
}
