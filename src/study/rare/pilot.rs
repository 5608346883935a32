//! How failures are to be drawn so that the event is seen: chosen by a few runs that count for nothing else.

use super::super::definition::Study;
use super::super::journal::JournalError;
use super::super::run::RunRow;
use super::event::{RareEvent, is_random, mean_s};
use super::mixture::{Mixture, exposures};
use super::{Pilot, Sampling};
use crate::chaos::{Age, Biasing, CIRCUMSTANCES, ChaosPlan, Exposure, circumstance};
use crate::units::SimDuration;

/// Replications of the pilot in the journal: those of a study are all below.
pub(in crate::study) const PILOT_FIRST: u32 = 1 << 31;
/// True runs that tell how often failures are to be expected.
const PROBES: u32 = 20;
/// Rounds of the pilot at most.
const ROUNDS_MAX: u32 = 6;

/// Of the runs in which failures come more often than they do, this share is drawn with all of them alike: what the pilot has not seen
/// may be seen by these.
const BALANCED_SHARE: f64 = 0.1;
/// The share of a round's runs that are taken for the event, where it was hardly seen: those that come nearest.
const NEAREST: f64 = 0.1;
/// Runs with the event that tell by themselves how it comes about.
const HITS_MIN: usize = 20;
/// Below so many runs, as their weights go, one of them would decide.
const EFFECTIVE_MIN: f64 = 10.0;
/// Failures by which more than were to be expected are told to matter, in standard deviations.
const TOLD: f64 = 2.5;
/// No hazard is multiplied by more.
const FACTOR_MAX: f64 = 1e9;

/// Runs that are played to learn from.
pub(in crate::study) struct PilotRound {
    /// From 0.
    pub(in crate::study) index: u32,
    pub(in crate::study) runs: u32,
    /// How failures are drawn.
    pub(in crate::study) mixture: Mixture,
}

/// How the runs of a study are drawn: by the factors that are asked for, or by those that a pilot finds, which `play` plays.
///
/// # Errors
///
/// Those of `play`.
pub(in crate::study) fn choose(
    event: &RareEvent,
    study: &Study,
    mut play: impl FnMut(&PilotRound) -> Result<Vec<RunRow>, JournalError>,
) -> Result<Sampling, JournalError> {
    let base = &study.variants[study.baseline].base;
    let plan = &base.chaos;
    let count = plan.processes.len();
    let mut sampling = Sampling {
        event: event.clone(),
        is_asked: study.is_rare_asked,
        processes: plan.processes.iter().map(|process| process.name.clone()).collect(),
        mixture: Mixture::truth(count),
        run_s: study.variants.iter().map(|variant| variant.base.duration.as_secs_f64()).collect(),
        pilot: None,
    };
    if let Some(factors) = event.by_hand(&plan.processes) {
        sampling.mixture = Mixture::new(count, vec![(1.0, factors)]);
        return Ok(sampling);
    }
    let probes = play(&PilotRound { index: 0, runs: PROBES, mixture: sampling.mixture })?;
    let balanced = balanced(plan, &probes, base.duration);
    sampling.mixture = Mixture::new(count, vec![(1.0, balanced.clone())]);
    let (mut pilot, mut reached) = (Pilot { runs: PROBES, hits: 0, of: event.pilot }, 0);
    for index in 1..=ROUNDS_MAX {
        let rows = play(&PilotRound { index, runs: event.pilot, mixture: sampling.mixture.clone() })?;
        let round = learn(event, &rows);
        pilot = Pilot { runs: pilot.runs + event.pilot, hits: round.hits as u32, ..pilot };
        let Some(next) = round.next else { break };
        sampling.mixture = Mixture::new(count, vec![(BALANCED_SHARE, balanced.clone()), (1.0 - BALANCED_SHARE, next)]);
        reached += u32::from(round.is_reached);
        if reached == 2 {
            break;
        }
    }
    Ok(Sampling { pilot: Some(pilot), ..sampling })
}

/// Where the pilot begins: every process fails about once a run, and, while a fault is under way, about once in the time that a repair
/// takes, all processes together. A process that fails as often already is left as it is, and so is what has failed in this run.
///
/// # Source
///
/// Balanced failure biasing: Shahabuddin, Importance sampling for the simulation of highly reliable Markovian systems, Management Science
/// 40 (1994); forcing, and processes that are not Markovian: Heidelberger, Shahabuddin and Nicola (1994).
fn balanced(plan: &ChaosPlan, probes: &[RunRow], length: SimDuration) -> Biasing {
    let (length_s, count) = (length.as_secs_f64(), plan.processes.len());
    let mut expected = vec![0.0; count];
    for probe in probes {
        for (sum, exposure) in expected.iter_mut().zip(exposures(&probe.exposures)) {
            *sum += exposure.hazard.iter().sum::<f64>() / probes.len() as f64;
        }
    }
    let lasting = plan.processes.iter().filter(|process| process.fault.kind().course().lasts());
    let repair_s = lasting.map(|process| mean_s(process.time_to_repair.as_ref())).fold(0.0, f64::max);
    let of_timeline = plan.faults.iter().map(|(_, fault)| fault.length.map_or(length_s, SimDuration::as_secs_f64));
    let repair_s = of_timeline.fold(repair_s, f64::max).clamp(1.0_f64.min(length_s), length_s);
    let random = plan.processes.iter().filter(|process| is_random(process)).count().max(1) as f64;
    let factor =
        |wanted: f64, expected: f64| if expected > 0.0 { (wanted / expected).clamp(1.0, FACTOR_MAX) } else { 1.0 };
    let of = |expected: f64| {
        let mut found = [1.0; CIRCUMSTANCES];
        let under_way = factor(1.0 / random, expected * repair_s / length_s);
        for (count, factor) in [factor(1.0, expected), under_way, under_way].into_iter().enumerate() {
            found[circumstance(count, Age::Grown)] = factor;
        }
        found
    };
    Biasing { factors: expected.into_iter().map(of).collect() }
}

/// What a round of the pilot says.
struct Round {
    /// Runs with the event.
    hits: usize,
    /// Whether they were enough to go by.
    is_reached: bool,
    /// The factors that make what was seen of it likeliest; none if no run was nearer to it than others.
    next: Option<Biasing>,
}

/// The factors under which the event comes about as it truly does, as far as the runs of a round tell: for each process and
/// circumstance its failures by the hazard that was gone through, in runs with the event. Where the event was hardly seen, runs stand for
/// it that come nearest.
///
/// # Source
///
/// The cross-entropy method: Rubinstein and Kroese, The Cross-Entropy Method (2004); for systems that fail and are repaired: Ridder,
/// Importance sampling simulations of Markovian reliability systems using cross-entropy, Annals of Operations Research 134 (2005).
fn learn(event: &RareEvent, rows: &[RunRow]) -> Round {
    let mut scores: Vec<f64> = rows.iter().map(|row| event.score(&row.metrics)).collect();
    scores.sort_by(f64::total_cmp);
    let hits = scores.iter().filter(|score| **score > event.level()).count();
    let is_reached = hits >= HITS_MIN;
    let of_nearest = (scores.len() as f64 * NEAREST) as usize + 1;
    let nearest = scores.len().checked_sub(of_nearest).map(|at| scores[at]);
    let is_nearer = nearest.is_some_and(|nearest| scores.first().is_some_and(|least| nearest > *least));
    let is_like = |row: &&RunRow| {
        let score = event.score(&row.metrics);
        if is_reached { score > event.level() } else { nearest.is_some_and(|nearest| score >= nearest) }
    };
    let chosen: Vec<&RunRow> = rows.iter().filter(is_like).collect();
    let next = (is_reached || is_nearer).then(|| likeliest(&chosen)).flatten();
    Round { hits, is_reached, next }
}

fn likeliest(rows: &[&RunRow]) -> Option<Biasing> {
    let weights = tempered(&rows.iter().map(|row| row.weight).collect::<Vec<_>>());
    let effective = effective(&weights);
    let total: f64 = weights.iter().sum();
    let mut sums: Vec<Exposure> = Vec::new();
    for (row, weight) in rows.iter().zip(&weights) {
        let exposures = exposures(&row.exposures);
        sums.resize(exposures.len(), Exposure::default());
        for (sum, exposure) in sums.iter_mut().zip(exposures) {
            for at in 0..CIRCUMSTANCES {
                sum.failures[at] += weight / total * exposure.failures[at];
                sum.hazard[at] += weight / total * exposure.hazard[at];
            }
        }
    }
    let factor = |failures: f64, hazard: f64| {
        let (failures, hazard) = (failures * effective, hazard * effective);
        let is_told = failures >= 3.0 && failures > hazard + TOLD * hazard.max(1.0).sqrt();
        if is_told { (failures / hazard).clamp(1.0, FACTOR_MAX) } else { 1.0 }
    };
    let of = |sum: &Exposure| std::array::from_fn(|at| factor(sum.failures[at], sum.hazard[at]));
    (!sums.is_empty()).then(|| Biasing { factors: sums.iter().map(of).collect() })
}

/// As many runs of equal weight would tell as much.
///
/// # Source
///
/// Kong, A note on importance sampling using standardized weights, University of Chicago, Department of Statistics, report 348 (1992).
pub(super) fn effective(weights: &[f64]) -> f64 {
    let (sum, squares) = weights.iter().fold((0.0, 0.0), |(sum, squares), of| (sum + of, squares + of * of));
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// Weights to a power at which no few of them decide.
fn tempered(weights: &[f64]) -> Vec<f64> {
    let raised = |power: f64| weights.iter().map(|weight| libm::pow(*weight, power)).collect::<Vec<f64>>();
    let wanted = EFFECTIVE_MIN.min(weights.len() as f64 / 2.0);
    if effective(weights) >= wanted {
        return weights.to_vec();
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if effective(&raised(middle)) >= wanted { low = middle } else { high = middle }
    }
    raised(low)
}

#[cfg(test)]
mod tests {
    use super::super::super::metrics::metric_names;
    use super::*;

    fn row(score: f64, weight: f64, failures: f64, hazard: f64) -> RunRow {
        let mut metrics = vec![0.0; metric_names().len()];
        metrics[metric_names().iter().position(|name| *name == "unready_replica_s").expect("a metric")] = score;
        let mut exposures = vec![0.0; 2 * CIRCUMSTANCES];
        (exposures[0], exposures[CIRCUMSTANCES]) = (failures, hazard);
        let (metrics, exposures) = (metrics.into(), exposures.into());
        RunRow {
            variant: 0,
            replication: 0,
            metrics,
            workloads: Box::default(),
            weight,
            figures: Box::default(),
            exposures,
        }
    }

    #[test]
    fn factors_are_failures_by_hazard_in_runs_with_the_event() {
        let event: RareEvent = "unready_replica_s>5".parse().expect("an event");
        let mut rows: Vec<RunRow> = (0..40).map(|_| row(9.0, 0.01, 2.0, 0.001)).collect();
        rows.extend((0..60).map(|_| row(1.0, 1.0, 0.0, 0.5)));
        let round = learn(&event, &rows);
        assert_eq!((round.hits, round.is_reached), (40, true));
        let factors = round.next.expect("factors").factors;
        assert!((factors[0][0] - 2000.0).abs() < 1e-6 && factors[0][1..].iter().all(|of| *of == 1.0), "{factors:?}");
    }

    #[test]
    fn what_is_not_seen_is_approached_and_what_nothing_comes_near_is_said() {
        let event: RareEvent = "unready_replica_s>5".parse().expect("an event");
        let rows: Vec<RunRow> =
            (0..200).map(|run| if run % 5 == 0 { row(3.0, 0.1, 1.0, 0.01) } else { row(0.0, 1.0, 0.0, 0.1) }).collect();
        let round = learn(&event, &rows);
        assert!(round.hits == 0 && !round.is_reached);
        assert!(round.next.is_some_and(|next| next.factors[0][0] > 50.0));
        assert!(learn(&event, &rows[1..5]).next.is_none());
    }

    #[test]
    fn no_few_runs_decide() {
        let weights: Vec<f64> = (0..100).map(|run| if run == 0 { 1e6 } else { 1.0 }).collect();
        assert!(effective(&weights) < 1.01 && effective(&tempered(&weights)) > 9.9);
        assert_eq!(tempered(&[1.0; 40]), [1.0; 40]);
    }
}
