//! The points at which two variants are played, and their runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::definition::Study;
use super::super::document::RUNS_MAX;
use super::super::estimate::Series;
use super::super::grid::Variant;
use super::super::journal::{Journal, JournalError};
use super::super::metrics::metric_names;
use super::super::progress::Progress;
use super::super::run::cost_of;
use super::super::runner::Runner;
use super::super::shard::Shard;
use super::choice::{Choice, Chosen};
use super::defaults;
use super::design::{self, Trajectory};
use super::document::digest;
use super::input::{Assumed, Given, What};
use super::results::SensitivityResults;
use crate::diagnostics::{Diagnostic, Sources};
use crate::scenario::{Invalid, Overrides, Reader, ResolvedScenario};

/// Trajectories if nothing is said.
pub const TRAJECTORIES: u32 = 10;
/// More than this tell nothing more.
pub const TRAJECTORIES_MAX: u32 = 1000;
/// More scenarios fill the memory, as each has a cluster of its own.
const SCENARIOS_MAX: usize = 10_000;

/// Why it cannot be played.
#[derive(Debug)]
pub enum Refused {
    /// A scenario with assumed values is invalid.
    Invalid(Invalid),
    /// What is wrong, and what to do.
    Argument(String, String),
}

impl From<Invalid> for Refused {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

/// A point in the space of what is assumed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// The value of each input; none of the scenario as it is.
    pub(super) values: Vec<Given>,
    /// What each metric costs there.
    pub(super) prices: Vec<(&'static str, f64)>,
    /// Which of the scenarios is played.
    scenario: usize,
}

/// One stop of a trajectory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stop {
    pub(super) trajectory: usize,
    /// The input that has moved from the stop before.
    pub(super) moved: Option<usize>,
    pub(super) point: usize,
}

/// Which replication a run is, and its metrics.
type Run = (u32, Box<[f64]>);

/// What the baseline and the variant cost at a point, by replication.
#[derive(Clone, Debug, Default)]
pub(super) struct Costs {
    pub(super) baseline: Series,
    pub(super) variant: Series,
}

/// What is to be played.
#[derive(Debug)]
pub struct Experiment {
    /// A study whose variants are the baseline and the other one, by turns, with each of the scenarios.
    study: Study,
    pub(super) inputs: Vec<Assumed>,
    /// Whether the study says what is assumed.
    pub(super) is_said: bool,
    /// The first is the scenario as it is.
    pub(super) points: Vec<Point>,
    pub(super) stops: Vec<Stop>,
    pub(super) trajectories: usize,
    /// What the two variants are called.
    pub(super) labels: [String; 2],
    /// Why the variant was chosen.
    pub(super) chosen: Chosen,
}

impl Experiment {
    /// The study's baseline and another variant along so many trajectories through what the study assumes.
    ///
    /// # Errors
    ///
    /// If nothing is assumed, a scenario with assumed values is invalid, or it takes too many runs.
    pub fn new(study: &Study, choice: Choice, trajectories: u32, replications: u32) -> Result<Self, Refused> {
        let refused = |message: String, help: &str| Refused::Argument(message, help.to_owned());
        // What records leave open is not asked here: nothing would look at its runs.
        let study = &study.without_inputs();
        let (folder, path, overrides) = &study.origin;
        let reader = Reader::open(folder, path, overrides)?;
        let is_said = !study.assumed.is_empty();
        let inputs = if is_said { study.assumed.clone() } else { defaults::of(study, &reader) };
        if inputs.is_empty() {
            let message =
                "the study says nothing that it assumes, and none of what usually is makes a difference".to_owned();
            return Err(refused(message, "list it: `assumed: [{path: spec.latency.podStart, from: 1s, to: 10s}]`"));
        }
        let stops = u64::from(trajectories) * (inputs.len() as u64 + 1) + 1;
        let runs = stops.checked_mul(2 * u64::from(replications));
        if runs.is_none_or(|runs| runs > RUNS_MAX) || stops > SCENARIOS_MAX as u64 {
            let message = format!(
                "{trajectories} trajectories of {} inputs with {replications} replications are too many runs: at most {SCENARIOS_MAX} points \
                 and {RUNS_MAX} runs are played",
                inputs.len()
            );
            return Err(refused(message, "take fewer trajectories or replications"));
        }
        let ways = design::trajectories(trajectories as usize, inputs.len(), study.first_seed);
        let (points, stops) = points(&ways, &inputs, &study.prices);
        let Choice { variant, label, why: chosen } = choice;
        let both = [&study.variants[study.baseline], &variant];
        let (variants, digest) = variants(&points, &inputs, both, (&reader, &study.sources))?;
        let length = study.variants[study.baseline].base.duration;
        if variants.iter().any(|variant| variant.base.duration != length) {
            let message =
                "runs with assumed values last differently long, so that what they cost does not compare".to_owned();
            return Err(refused(message, "leave out what changes how long a run lasts"));
        }
        let labels = [study.label(study.baseline), label];
        let study = Study {
            replications,
            axes: Vec::new(),
            variants,
            baseline: 0,
            tuned: Vec::new(),
            fingerprint: crate::arena::stable_hash(
                format!("sensitivity {:016x} {digest:016x}", study.fingerprint()).as_bytes(),
            ),
            ..study.clone()
        };
        Ok(Self { study, inputs, is_said, points, stops, trajectories: trajectories as usize, labels, chosen })
    }

    /// Equal for experiments whose runs would give equal results.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.study.fingerprint()
    }

    pub(super) fn study(&self) -> &Study {
        &self.study
    }

    /// Plays what is not in the journal yet, and says what all of it gives.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written or read.
    pub fn play(&self, journal: &Journal, progress: &dyn Progress) -> Result<SensitivityResults, JournalError> {
        Runner::new(&self.study, journal).play_all(Shard::WHOLE, progress)?;
        let mut runs: Vec<Vec<Run>> = vec![Vec::new(); self.study.variants.len()];
        for row in journal.rows()? {
            if row.variant < runs.len() && row.replication < self.study.replications {
                runs[row.variant].push((row.replication, row.metrics));
            }
        }
        for of in &mut runs {
            of.sort_by_key(|(replication, _)| *replication);
        }
        let costs: Vec<Costs> = self.points.iter().map(|point| costs(point, &runs)).collect();
        Ok(SensitivityResults::of(self, &costs))
    }
}

/// What the runs of a point cost at its prices.
fn costs(point: &Point, runs: &[Vec<Run>]) -> Costs {
    let names = metric_names();
    let cost = |metrics: &[f64]| cost_of(metrics, &names, &point.prices);
    let of = |variant: usize| -> Series { runs[variant].iter().map(|(r, metrics)| (*r, cost(metrics))).collect() };
    Costs { baseline: of(2 * point.scenario), variant: of(2 * point.scenario + 1) }
}

/// All points, each once, and where trajectories stop at them.
fn points(ways: &[Trajectory], inputs: &[Assumed], prices: &[(&'static str, f64)]) -> (Vec<Point>, Vec<Stop>) {
    let (mut points, mut stops) =
        (vec![Point { values: Vec::new(), prices: prices.to_vec(), scenario: 0 }], Vec::new());
    let mut known: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    // By the values of the scenario's document alone: prices need no runs of their own. Where nothing of it moves, it is played as it is.
    let is_of_scenario = |of: &Assumed| matches!(of.what, What::Path { .. });
    let mut scenarios: BTreeMap<Vec<String>, usize> = BTreeMap::from([(Vec::new(), 0)]);
    for (trajectory, way) in ways.iter().enumerate() {
        let moved = std::iter::once(None).chain(way.moves.iter().map(|(input, _)| Some(*input)));
        for (levels, moved) in way.points().into_iter().zip(moved) {
            let values: Vec<Given> =
                inputs.iter().zip(levels).map(|(input, level)| input.at(design::share(level))).collect();
            let key = values.iter().map(|given| given.text.clone()).collect();
            let point = *known.entry(key).or_insert_with(|| {
                let of_scenario = inputs.iter().zip(&values).filter(|(input, _)| is_of_scenario(input));
                let key: Vec<String> = of_scenario.map(|(_, given)| given.text.clone()).collect();
                let next = scenarios.len();
                let scenario = *scenarios.entry(key).or_insert(next);
                points.push(Point { prices: priced(prices, inputs, &values), values, scenario });
                points.len() - 1
            });
            stops.push(Stop { trajectory, moved, point });
        }
    }
    (points, stops)
}

/// The prices of the study, those that are assumed as they are at a point.
fn priced(prices: &[(&'static str, f64)], inputs: &[Assumed], values: &[Given]) -> Vec<(&'static str, f64)> {
    let assumed = |metric: &str| {
        let of = inputs.iter().zip(values);
        of.filter(|(input, _)| matches!(input.what, What::Price { metric: of } if of == metric))
            .map(|(_, at)| at.number)
            .next()
    };
    prices.iter().map(|(metric, price)| (*metric, assumed(metric).unwrap_or(*price))).collect()
}

/// Says with which values a scenario is invalid: each of them may be usable with others.
fn together(mut invalid: Invalid, inputs: &[Assumed], values: &[Given], sources: &Sources) -> Invalid {
    let of_scenario = inputs.iter().zip(values).filter(|(input, _)| matches!(input.what, What::Path { .. }));
    let named: Vec<String> = of_scenario.map(|(input, given)| format!("{}={}", input.name, given.text)).collect();
    if !named.is_empty() {
        let named = named.join(", ");
        let message =
            format!("what is assumed cannot be played together: with {named} the scenario is invalid, as said above");
        let help = "let the ranges leave room for each other, or leave one of them out";
        invalid.diagnostics.push(Diagnostic::error("study::bad_assumed", message).help(help));
        invalid.sources.insert_all(sources);
    }
    invalid
}

/// Both variants with each of the scenarios of the points, and a digest of all; `sources` are the texts that messages speak of.
fn variants(
    points: &[Point],
    inputs: &[Assumed],
    both: [&Variant; 2],
    (reader, sources): (&Reader, &Sources),
) -> Result<(Vec<Variant>, u64), Refused> {
    let (mut variants, mut digests): (Vec<Variant>, Vec<u64>) = (Vec::new(), Vec::new());
    for point in points {
        if 2 * point.scenario < variants.len() {
            continue;
        }
        let mut read: Vec<(Overrides, Arc<ResolvedScenario>)> = Vec::new();
        for of in both {
            let mut overrides = Overrides::none();
            for setting in &of.settings {
                setting.override_with(&mut overrides);
            }
            inputs.iter().zip(&point.values).for_each(|(input, given)| input.override_with(given, &mut overrides));
            let base = match read.iter().find(|(known, _)| *known == overrides) {
                Some((_, base)) => Arc::clone(base),
                None => {
                    let found = reader.load(&overrides);
                    Arc::new(found.map_err(|invalid| together(invalid, inputs, &point.values, sources))?)
                }
            };
            read.push((overrides, Arc::clone(&base)));
            let variant = Variant { base, ..of.clone() };
            let played = variant.scenario().map_err(|message| {
                Refused::Argument(
                    format!("what is assumed cannot be played: {message}"),
                    "assume something else".to_owned(),
                )
            })?;
            digests.push(digest(&played));
            variants.push(variant);
        }
    }
    Ok((variants, crate::arena::stable_hash(format!("{digests:?}").as_bytes())))
}
