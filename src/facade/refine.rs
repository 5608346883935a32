//! Times of a scenario that are known within bounds only, moved to where a play agrees best with what was seen.

use std::cmp::Ordering;

use super::agreement::Observations;
use super::error::Error;
use super::scenario::Scenario;
use super::simulation::{PlayOptions, Settled};
use crate::parallel;
use crate::study::{Coordinate, Found, Limits, search};
use crate::units::SimDuration;

/// Plays of a search, unless somebody wants more or fewer.
const PLAYS: usize = 120;
/// The finest difference that is tried, in milliseconds: phases of heartbeats and of controllers hide what is finer.
const FINEST_MS: i64 = 500;

/// A length of time in a scenario of which evidence leaves bounds: when a fault begins, for how long it lasts, how long something takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsure {
    /// Where it stands, as `--set` takes it: `spec.timeline[0].at`.
    pub path: String,
    /// What is written there.
    pub value: SimDuration,
    /// The least that the evidence allows.
    pub least: SimDuration,
    /// The most that it allows.
    pub most: SimDuration,
}

/// How a scenario is refined.
#[derive(Clone, Copy, Debug, Default)]
pub struct RefineOptions {
    plays: Option<usize>,
}

impl RefineOptions {
    /// As the command line does.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With so many plays at most, and one more for each value that moves.
    #[must_use]
    pub fn plays(mut self, most: usize) -> Self {
        self.plays = Some(most);
        self
    }
}

/// A value, and what moving it is worth.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refined {
    /// Where it stands.
    pub path: String,
    /// What was written there.
    pub before: SimDuration,
    /// What agrees best.
    pub after: SimDuration,
    /// How much of the agreement is lost if it alone stays as it was, from 0 to 1; zero if it has not moved. That of two values which only
    /// help together is told of both.
    pub explains: f64,
}

/// A scenario whose times have been refined.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refinement {
    /// The scenario with the values that agree best.
    pub scenario: Scenario,
    /// The agreement before, from 0 to 1.
    pub before: f64,
    /// The agreement after.
    pub after: f64,
    /// Each value, in the order in which they were given.
    pub values: Vec<Refined>,
    /// How many plays it took.
    pub plays: usize,
}

/// How well a play agrees: by its score, where that is equal by what is near, and then by how far what is at another time is off.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fit {
    score: f64,
    near: f64,
    off_s: f64,
}

impl PartialOrd for Fit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let by_near = self.near.total_cmp(&other.near);
        Some(self.score.total_cmp(&other.score).then(by_near).then(other.off_s.total_cmp(&self.off_s)))
    }
}

impl Scenario {
    /// Looks for the values, each within its bounds, with which a play of the scenario's seed agrees best with what was seen; says how much
    /// each of them explains. The same inputs give the same values.
    ///
    /// # Errors
    ///
    /// If there is no such value in the scenario, its bounds do not hold what is written there, or the scenario is wrong with one of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use kubesquall::{Observations, RefineOptions, Scenario, SimDuration, Unsure};
    ///
    /// # let text = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: crash}, spec: {duration: 10m, cluster: \
    /// #     {nodePools: [{name: n, count: 3, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}, \
    /// #     timeline: [{at: 1m, fault: {kind: Crash, nodes: {names: [n-1]}}}]}}";
    /// let scenario = Scenario::parse(text, [("", ""); 0])?;
    /// // A fault at 1m would have been noticed a minute earlier.
    /// let seen = Observations::parse("time_s,earliest_s,latest_s,fact,name,value\n170,168,172,NodeReady,n-1,Unknown\n")?;
    /// let [value, least, most] = [60, 30, 180].map(SimDuration::from_secs);
    /// let at = Unsure { path: "spec.timeline[0].at".to_owned(), value, least, most };
    /// let refined = scenario.refine(&seen, &[at], &RefineOptions::new())?;
    /// assert_eq!((refined.before, refined.after), (0.0, 1.0));
    /// assert_eq!(refined.values[0].explains, 1.0);
    /// # Ok::<(), kubesquall::Error>(())
    /// ```
    pub fn refine(&self, seen: &Observations, unsure: &[Unsure], options: &RefineOptions) -> Result<Refinement, Error> {
        unsure.iter().try_for_each(expect_bounds)?;
        let begin: Vec<i64> = unsure.iter().map(|of| millis(of.value)).collect();
        let base = Variants { settled: self.with_values(unsure, &begin)?.settle(), scenario: self, unsure, seen };
        // What is wrong with the ends of the bounds is said before anything is played; between them nothing else can be.
        for (at, of) in unsure.iter().enumerate() {
            for end in [of.least, of.most] {
                let mut place = begin.clone();
                place[at] = millis(end);
                self.with_values(unsure, &place)?;
            }
        }
        let coordinate =
            |of: &Unsure| Coordinate { begin: millis(of.value), from: millis(of.least), to: millis(of.most) };
        let coordinates: Vec<Coordinate> = unsure.iter().map(coordinate).collect();
        let limits = Limits { tries: options.plays.unwrap_or(PLAYS).max(1), finest: FINEST_MS };
        let found = search(&coordinates, limits, |places| parallel::map(places, |place| base.fit(place)));
        Ok(Refinement {
            scenario: self.with_values(unsure, &found.place)?,
            before: found.first.score,
            after: found.score.score,
            values: unsure.iter().enumerate().map(|(at, of)| refined(of, at, &found)).collect(),
            plays: found.tries,
        })
    }

    fn with_values(&self, unsure: &[Unsure], place: &[i64]) -> Result<Self, Error> {
        let mut scenario = self.clone();
        for (of, value) in unsure.iter().zip(place) {
            scenario = scenario.with_set(format!("{}={}", of.path, length(*value)))?;
        }
        Ok(scenario)
    }
}

/// The scenarios of a search.
struct Variants<'a> {
    settled: Settled,
    scenario: &'a Scenario,
    unsure: &'a [Unsure],
    seen: &'a Observations,
}

impl Variants<'_> {
    /// How well a play with these values agrees; worst if the scenario is wrong with them.
    fn fit(&self, place: &[i64]) -> Fit {
        let worst = Fit { score: 0.0, near: 0.0, off_s: f64::INFINITY };
        let Ok(scenario) = self.scenario.with_values(self.unsure, place) else { return worst };
        let seed = scenario.seed();
        let is_script = |of: &Unsure| of.path.starts_with("spec.timeline") || of.path.starts_with("spec.faults");
        // What only happens later leaves the cluster at t=0 as it is.
        let settled =
            if self.unsure.iter().all(is_script) { self.settled.in_place_of(&scenario) } else { scenario.settle() };
        let held = settled.play_with(seed, &PlayOptions::new()).held_against(self.seen);
        held.ok().and_then(|outcome| fit(&outcome)).unwrap_or(worst)
    }
}

fn fit(outcome: &super::outcome::Outcome) -> Option<Fit> {
    let agreement = outcome.agreement.as_ref()?;
    let off_s = agreement.rows.iter().filter_map(|row| row.off).map(|off| off.as_secs_f64().abs()).sum();
    let [score, near] = [agreement.total.score(), agreement.total.near_score()].map(|score| score.unwrap_or(0.0));
    Some(Fit { score, near, off_s })
}

fn refined(of: &Unsure, at: usize, found: &Found<Fit>) -> Refined {
    Refined {
        path: of.path.clone(),
        before: of.value,
        after: length(found.place[at]),
        explains: found.without[at].map_or(0.0, |without| found.score.score - without.score),
    }
}

fn expect_bounds(of: &Unsure) -> Result<(), Error> {
    if of.least <= of.value && of.value <= of.most {
        return Ok(());
    }
    let Unsure { path, value, least, most } = of;
    let message = format!("`{path}` is {value}, which is not between {least} and {most}");
    Err(Error::argument(message, "give bounds that hold what is written in the scenario"))
}

fn millis(length: SimDuration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}

fn length(millis: i64) -> SimDuration {
    SimDuration::from_millis(millis.unsigned_abs())
}
