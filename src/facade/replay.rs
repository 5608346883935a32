//! A run that is played again and again with other values: what stands behind a page with something to turn.

use std::io;

use serde::Deserialize;
use serde_json::Value;

use super::error::Error;
use super::outcome::Outcome;
use super::scenario::Scenario;
use super::simulation::{PlayOptions, Settled, Simulation};
use crate::report::{
    COMPARED_TABLES, Epoch, Live, RunTables, draw_live_page, draw_run_page, replayed, write_exposition,
};
use crate::scenario::knobs;
use crate::units::SimTime;

/// A scenario that is played again and again with other values.
///
/// # Examples
///
/// ```
/// use kubesquall::{Replay, Scenario};
///
/// # let text = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: crash}, spec: {duration: 10m, cluster: \
/// #     {nodePools: [{name: n, count: 3, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}, \
/// #     timeline: [{at: 1m, fault: {kind: Crash, nodes: {names: [n-1]}, for: 5m}}]}}";
/// let replay = Replay::new(Scenario::parse(text, [("", ""); 0])?);
/// let knobs = replay.knobs();
/// assert!(knobs.as_array().unwrap().iter().any(|knob| knob["path"] == "spec.timeline[0].fault.for"));
///
/// let answer = replay.play(["spec.timeline[0].fault.for=2m"])?;
/// assert!(!answer.is_empty());
/// assert!(replay.play(["spec.timeline[0].fault.four=2m"]).is_err());
/// # Ok::<(), kubesquall::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Replay {
    scenario: Scenario,
    settled: Settled,
}

/// What a page asks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    give: Give,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Give {
    #[default]
    Replay,
    LockFile,
    Page,
}

/// Values of these change nothing before t=0.
const AFTER_SETTLING: [&str; 1] = ["spec.timeline["];

impl Replay {
    /// Brings the scenario's cluster to its state at t=0, from which most plays begin.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn new(scenario: Scenario) -> Self {
        Self { settled: scenario.settle(), scenario }
    }

    /// What can be turned: a list of maps, each with `group`, `label`, `path` (what `--set` takes before the `=`) and `kind`: of a
    /// `number` its `value`, `min`, `max`, `step`, the `suffix` that stands behind it in what is set, and its `unit` in words; of a
    /// `choice` its `value` and the `options`.
    ///
    /// # Panics
    ///
    /// Never: it is plain data.
    #[must_use]
    pub fn knobs(&self) -> Value {
        serde_json::to_value(knobs(self.scenario.resolved())).expect("plain data")
    }

    /// Plays the incident from its beginning with these values, as `--set` takes them, and gives what the page shows of it: the length of
    /// a header (four bytes, the little end first), the header (JSON: `digest`, `summary`, and `tables` with the length of each), and
    /// the tables.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the scenario then.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn play<S: Into<String>>(&self, sets: impl IntoIterator<Item = S>) -> Result<Vec<u8>, Error> {
        replay_of(&self.outcome(sets)?)
    }

    /// The page of the run with these values: one to look at.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the scenario then.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn page<S: Into<String>>(&self, sets: impl IntoIterator<Item = S>) -> Result<String, Error> {
        page_of(&self.outcome(sets)?)
    }

    /// The page of the run as it is, for who serves it: one with something to turn, which [`answer`](Replay::answer) answers.
    ///
    /// # Errors
    ///
    /// None that a scenario which has been read can cause.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn served_page(&self) -> Result<String, Error> {
        let outcome = self.outcome([""; 0])?;
        Ok(draw_live_page(&outcome.run_tables(None), Live::Served, &self.knobs(), outcome.digest())?)
    }

    /// The scenario with these values as a document that plays the same anywhere.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the scenario then.
    pub fn lock_file<S: Into<String>>(&self, sets: impl IntoIterator<Item = S>) -> Result<String, Error> {
        Ok(with(&self.scenario, sets)?.0.lock_file())
    }

    /// A run of a variant of the scenario that somebody else has begun, and that keeps rows.
    #[cfg(feature = "serve")]
    pub(crate) fn adopt(
        &self,
        scenario: &std::sync::Arc<crate::scenario::ResolvedScenario>,
        run: crate::simulation::Simulation,
    ) -> Simulation {
        Simulation::adopt(self.scenario.in_place_of(std::sync::Arc::clone(scenario)), run)
    }

    /// Answers the page as who serves it does: `POST /kubesquall/v1/replay` with JSON, `{"set": ["spec.seed=7"], "give": "replay"}`. It asks
    /// for what [`play`](Replay::play), [`lock_file`](Replay::lock_file) or [`page`](Replay::page) gives: `replay`, `lock_file`, `page`.
    ///
    /// # Errors
    ///
    /// If that is no such question; everything that is wrong with the scenario then.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn answer(&self, question: &[u8]) -> Result<Vec<u8>, Error> {
        let Question { set, give } = serde_json::from_slice(question).map_err(|error| {
            let help = "ask with `{\"set\": [\"spec.seed=7\"], \"give\": \"replay\"}`";
            Error::argument(format!("this is no question of a page: {error}"), help)
        })?;
        // What is turned on a page is written as flags are.
        let base = self.scenario.clone().of_flags();
        match give {
            Give::Replay => self.outcome_of(&base, set).and_then(|outcome| replay_of(&outcome)),
            Give::LockFile => Ok(with(&base, set)?.0.lock_file().into_bytes()),
            Give::Page => self.outcome_of(&base, set).and_then(|outcome| page_of(&outcome)).map(String::into_bytes),
        }
    }

    pub(super) fn outcome<S: Into<String>>(&self, sets: impl IntoIterator<Item = S>) -> Result<Outcome, Error> {
        self.outcome_of(&self.scenario, sets)
    }

    fn outcome_of<S: Into<String>>(
        &self,
        base: &Scenario,
        sets: impl IntoIterator<Item = S>,
    ) -> Result<Outcome, Error> {
        let (scenario, is_alike) = with(base, sets)?;
        let settled = if is_alike { self.settled.in_place_of(&scenario) } else { scenario.settle() };
        Ok(settled.play_with(scenario.seed(), &PlayOptions::new()))
    }
}

/// The scenario with these values, and whether its cluster is at t=0 as without them.
fn with<S: Into<String>>(base: &Scenario, sets: impl IntoIterator<Item = S>) -> Result<(Scenario, bool), Error> {
    let sets: Vec<String> = sets.into_iter().map(Into::into).collect();
    let is_alike = sets.iter().all(|set| AFTER_SETTLING.iter().any(|path| set.starts_with(path)));
    let scenario = if sets.is_empty() { base.clone() } else { base.with_sets(sets)? };
    Ok((scenario, is_alike))
}

fn replay_of(outcome: &Outcome) -> Result<Vec<u8>, Error> {
    Ok(replayed(&outcome.run_tables(Some(&COMPARED_TABLES)), outcome.digest())?)
}

fn page_of(outcome: &Outcome) -> Result<String, Error> {
    Ok(draw_run_page(&outcome.run_tables(None))?)
}

impl Outcome {
    /// Writes what kube-state-metrics says of the run's cluster at an instant, as a scrape of `/metrics` gets it: Prometheus' text format.
    ///
    /// # Errors
    ///
    /// If the run kept no rows; within, if `out` cannot be written.
    pub fn write_exposition(&self, at: SimTime, out: impl io::Write) -> Result<io::Result<()>, Error> {
        self.expect_rows()?;
        let epoch = Epoch::from_unix_nanos(self.scenario().resolved().kubectl.epoch_unix_nanos);
        Ok(write_exposition(&self.run_tables(None), epoch, at, out)?)
    }

    /// These of its tables, or all, as a directory would have them.
    fn run_tables(&self, files: Option<&[&str]>) -> RunTables {
        RunTables::shown(self.summary(), files, |kept| {
            self.visit(kept);
        })
    }
}

impl Simulation {
    /// Writes what kube-state-metrics says of the cluster now, as a scrape of `/metrics` gets it: Prometheus' text format.
    ///
    /// # Errors
    ///
    /// If the run keeps no rows; within, if `out` cannot be written.
    pub fn write_exposition(&self, out: impl io::Write) -> Result<io::Result<()>, Error> {
        let (so_far, _) = self.clone().finish_with_store();
        so_far.write_exposition(self.now(), out)
    }
}
