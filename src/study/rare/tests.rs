//! Runs with weights against what is known: closed forms, and runs in which failures come as often as they do.

use super::super::metrics::{metric_names, position};
use super::super::results::Results;
use super::super::results::tests::results;
use super::super::run::RunRow;
use super::mixture::Mixture;
use super::{RareEstimate, Sampling};
use crate::chaos::{Age, Biasing, CIRCUMSTANCES, Exposure, circumstance};
use crate::engine::Streams;
use crate::observe::{Detail, Observers};
use crate::scenario::{self, Overrides};
use crate::simulation::Prepared;
use crate::units::{SimDuration, SimTime};

const HOUR_S: f64 = 3600.0;
const DAY_S: f64 = 24.0 * HOUR_S;

/// A cluster to which something happens. What fails hardly ever tells whether two faults were under way at once: in that circumstance it
/// then went through some hazard.
struct Bed {
    prepared: Prepared,
    end: SimTime,
    processes: usize,
}

/// What hardly ever fails: the last of the processes.
const WITNESS: &str = "  - {name: witness, kind: ImagePullFailure, images: [none], timeToFailure: {exponential: {mean: 200000d}}, \
                       timeToRepair: {constant: 1s}}\n";

impl Bed {
    /// `nodes` machines for `duration`; `faults` are the processes that fail, and `more` stands below `spec`.
    fn new(nodes: u32, duration: &str, faults: &str, more: &str) -> Self {
        let text = format!(
            "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: bed}}\nspec:\n  duration: {duration}\n  cluster:\n    \
             nodePools:\n    - name: worker\n      count: {nodes}\n      template: {{status: {{allocatable: {{cpu: \"1\", memory: 1Gi, pods: \
             \"10\"}}}}}}\n{more}  faults:\n{faults}{WITNESS}"
        );
        let directory = tempfile::tempdir().expect("a directory");
        let lengths: String = (1..40).map(|length| format!("{}\n", length * length * 9000)).collect();
        std::fs::write(directory.path().join("lengths.csv"), lengths).expect("written");
        let scenario = scenario::load_text("bed.yaml", &text, directory.path(), &Overrides::none());
        let scenario = scenario.unwrap_or_else(|invalid| panic!("{invalid}\n{text}"));
        let end = SimTime::ZERO + scenario.duration;
        Self { prepared: Prepared::new(&scenario), end, processes: scenario.chaos.processes.len() }
    }

    /// Machines that fail and are repaired.
    fn of(nodes: u32, duration: &str, time_to_failure: &str, time_to_repair: &str) -> Self {
        let faults = format!(
            "  - {{name: crashes, kind: Partition, nodes: {{}}, timeToFailure: {{{time_to_failure}}}, timeToRepair: {{{time_to_repair}}}}}\n"
        );
        Self::new(nodes, duration, &faults, "")
    }

    /// The processes but for the witness with these hazards: while nothing is under way, while something is, and of what is new.
    fn faster(&self, calm: f64, under_way: f64, new: f64) -> Mixture {
        let mut factors = [new; CIRCUMSTANCES];
        for (count, factor) in [calm, under_way, under_way].into_iter().enumerate() {
            factors[circumstance(count, Age::Grown)] = factor;
        }
        let mut all = vec![factors; self.processes];
        all[self.processes - 1] = [1.0; CIRCUMSTANCES];
        Mixture::new(self.processes, vec![(1.0, Biasing { factors: all })])
    }

    /// Runs: their weights, and what they went through.
    fn play(&self, mixture: &Mixture, seeds: std::ops::Range<u64>) -> Vec<(f64, Vec<Exposure>)> {
        let one = |seed| {
            let streams = Streams::new(seed);
            let observers = Observers::new(Detail::Summary, Vec::new(), SimDuration::ZERO);
            let mut run = self.prepared.start_biased(streams, mixture.way(&streams), observers);
            run.run_until(self.end);
            let exposures = run.exposures();
            (mixture.weight(&exposures), exposures)
        };
        seeds.map(one).collect()
    }
}

fn two_at_once(exposures: &[Exposure]) -> f64 {
    let witness = exposures.last().expect("the witness");
    let both: f64 = [Age::Grown, Age::New].map(|age| witness.hazard[circumstance(2, age)]).iter().sum();
    if both > 0.0 { 1.0 } else { 0.0 }
}

fn failures(exposures: &[Exposure]) -> f64 {
    exposures[0].failures.iter().sum()
}

/// A mean with its standard error.
fn mean(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// That two of two machines are away at once before `end`, each failing at rate `a` and repaired at rate `b`, both up at first: by
/// uniformization of the chain of 0 and 1 machines away.
fn both_away(a: f64, b: f64, end: f64) -> f64 {
    let rate = 2.0 * a + b;
    let (mut state, mut found, mut term) = ([1.0, 0.0, 0.0], 0.0, libm::exp(-rate * end));
    for step in 1..2000 {
        found += term * state[2];
        term *= rate * end / f64::from(step);
        let [up, one, both] = state;
        // From none away at 2a to one; from one at b to none, at a to both, where it stays.
        state = [
            up * (1.0 - 2.0 * a / rate) + one * b / rate,
            up * 2.0 * a / rate + one * (rate - a - b) / rate,
            both + one * a / rate,
        ];
    }
    found
}

#[test]
fn two_machines_are_away_at_once_as_often_as_the_closed_form_says() {
    let check = |mean_days: f64, hours: f64, factors: (f64, f64), runs: u64, at_most: f64| {
        let bed = Bed::of(
            2,
            "1d",
            &format!("exponential: {{mean: {}s}}", mean_days * DAY_S),
            &format!("exponential: {{mean: {}s}}", hours * HOUR_S),
        );
        let played = bed.play(&bed.faster(factors.0, factors.1, 1.0), 0..runs);
        let expected = both_away(1.0 / (mean_days * DAY_S), 1.0 / (hours * HOUR_S), DAY_S);
        let (found, error) = mean(played.iter().map(|(weight, exposures)| weight * two_at_once(exposures)));
        assert!((found - expected).abs() < 4.0 * error, "{found} ± {error}, not {expected}");
        assert!(error < at_most * expected, "{error} of {expected}");
        let (weight, error) = mean(played.iter().map(|(weight, _)| *weight));
        assert!((weight - 1.0).abs() < 4.0 * error, "weights average to {weight} ± {error}");
    };
    // Once in 17,000 days, and once in 60 million.
    check(50.0, 2.0, (40.0, 500.0), 3000, 0.12);
    check(3000.0, 2.0, (2000.0, 30_000.0), 3000, 0.12);
}

/// Every family, where both can be played: the same chance of two away at once, the same number of failures, weights that average to one.
/// Failures come at the rate that their mean says, whatever they are drawn from.
#[test]
fn every_distribution_has_the_weights_that_make_it_true() {
    for family in [
        "exponential: {mean: 40d}",
        "weibull: {shape: 0.5, mean: 40d}",
        "weibull: {shape: 2, mean: 40d}",
        "gamma: {shape: 0.5, mean: 40d}",
        "gamma: {shape: 4, mean: 40d}",
        "lognormal: {mean: 40d, sigma: 1}",
        "uniform: {min: 10d, max: 70d}",
        "empirical: {file: lengths.csv}",
    ] {
        let bed = Bed::of(4, "10d", family, "lognormal: {median: 4h, p99: 20h}");
        let truth = bed.play(&Mixture::truth(bed.processes), 0..800);
        let drawn = bed.play(&bed.faster(1.5, 8.0, 1.5), 10_000..10_800);
        let (weight, error) = mean(drawn.iter().map(|(weight, _)| *weight));
        assert!((weight - 1.0).abs() < 4.0 * error && error < 0.1, "{family}: weights {weight} ± {error}");
        for (of, what) in [(two_at_once as fn(&[Exposure]) -> f64, "two at once"), (failures, "failures")] {
            let (expected, of_truth) = mean(truth.iter().map(|(_, exposures)| of(exposures)));
            let (found, error) = mean(drawn.iter().map(|(weight, exposures)| weight * of(exposures)));
            let apart = (found - expected).abs() / (error * error + of_truth * of_truth).sqrt();
            assert!(apart < 4.0, "{family}, {what}: {found} ± {error}, not {expected} ± {of_truth}");
        }
        // The hazard that is gone through is what failures are to be expected.
        let hazard = |exposures: &[Exposure]| exposures[0].hazard.iter().sum::<f64>();
        let (surplus, error) = mean(truth.iter().map(|(_, exposures)| failures(exposures) - hazard(exposures)));
        assert!(surplus.abs() < 4.0 * error, "{family}: {surplus} ± {error} failures more than hazard");
    }
}

#[test]
fn what_ends_joins_and_is_scheduled_has_true_weights_too() {
    let check = |faults: &str, more: &str| {
        let bed = Bed::new(3, "5d", faults, more);
        let truth = bed.play(&Mixture::truth(bed.processes), 0..600);
        let drawn = bed.play(&bed.faster(2.0, 5.0, 2.0), 10_000..10_600);
        let (weight, error) = mean(drawn.iter().map(|(weight, _)| *weight));
        assert!((weight - 1.0).abs() < 4.0 * error && error < 0.2, "{faults}: weights {weight} ± {error}");
        let (expected, of_truth) = mean(truth.iter().map(|(_, exposures)| failures(exposures)));
        let (found, error) = mean(drawn.iter().map(|(weight, exposures)| weight * failures(exposures)));
        let apart = (found - expected).abs() / (error * error + of_truth * of_truth).sqrt();
        assert!(expected > 0.05 && apart < 4.0, "{faults}: {found} ± {error}, not {expected} ± {of_truth}");
    };
    // Machines that are gone for good, and others that join.
    check(
        "  - {name: gone, kind: InstanceGone, nodes: {}, timeToFailure: {weibull: {shape: 0.7, mean: 30d}}}\n",
        "  timeline:\n  - {at: 2d, addNodes: {pool: worker, count: 2}}\n",
    );
    // An outage of the timeline is under way, too; a schedule has no chance in it.
    check(
        "  - {name: crashes, kind: Crash, nodes: {}, timeToFailure: {gamma: {shape: 0.5, mean: 30d}}, timeToRepair: {exponential: {mean: 2h}}}\n  \
         - {name: reboots, kind: Reboot, nodes: {}, timeToFailure: {constant: 26h}}\n",
        "  timeline:\n  - {at: 1d, fault: {kind: Partition, nodes: {names: [worker-0]}, for: 6h}}\n",
    );
}

#[test]
fn drawn_as_they_come_failures_give_the_same_run_to_the_last_event() {
    for family in
        ["weibull: {shape: 0.6, mean: 9d}", "gamma: {shape: 0.5, mean: 9d}", "lognormal: {mean: 9d, sigma: 1}"]
    {
        let bed = Bed::of(3, "20d", family, "lognormal: {median: 4h, p99: 20h}");
        let observers = || Observers::new(Detail::Summary, Vec::new(), SimDuration::ZERO);
        for seed in 0..20 {
            let mut plain = bed.prepared.start(seed, observers());
            plain.run_until(bed.end);
            let truth = std::sync::Arc::new(Biasing::none(bed.processes));
            let mut biased = bed.prepared.start_biased(Streams::new(seed), truth, observers());
            biased.run_until(bed.end);
            assert!(plain.events() == biased.events() && plain.digest() == biased.digest(), "{family}, seed {seed}");
            assert!(plain.exposures().iter().all(|exposure| *exposure == Exposure::default()));
        }
    }
}

/// Small studies of a known probability.
fn studies(bed: &Bed, mixture: &Mixture, runs: usize, count: usize) -> Vec<RareEstimate> {
    let played = bed.play(mixture, 0..(runs * count) as u64);
    let at = position("unready_replica_s").expect("a metric");
    let study = |runs: &[(f64, Vec<Exposure>)]| {
        let of_run = |(replication, (weight, exposures)): (usize, &(f64, Vec<Exposure>))| {
            let mut metrics = vec![0.0; metric_names().len()];
            metrics[at] = two_at_once(exposures);
            let (metrics, exposures) = (metrics.into(), Box::default());
            let replication = replication as u32;
            RunRow {
                variant: 0,
                replication,
                metrics,
                workloads: Box::default(),
                weight: *weight,
                figures: Box::default(),
                exposures,
            }
        };
        let sampling = Sampling {
            event: "unready_replica_s>0.5".parse().expect("an event"),
            is_asked: false,
            processes: Vec::new(),
            mixture: mixture.clone(),
            run_s: vec![DAY_S],
            pilot: None,
        };
        let mut found = Results { rare: Some(sampling), is_chancy: true, ..results(&[&[0.0]]) };
        found.set_runs(runs.iter().enumerate().map(of_run));
        found.rare_estimates().expect("of a rare event").remove(0)
    };
    played.chunks(runs).map(study).collect()
}

#[test]
fn intervals_hold_as_often_as_they_say() {
    let bed = Bed::of(2, "1d", "exponential: {mean: 300d}", "exponential: {mean: 2h}");
    let expected = both_away(1.0 / (300.0 * DAY_S), 1.0 / (2.0 * HOUR_S), DAY_S);
    let mixture = bed.faster(200.0, 3000.0, 1.0);
    let found = studies(&bed, &mixture, 300, 30);
    let hold = |of: &&RareEstimate| of.probability.low <= expected && expected <= of.probability.high;
    let (told, count) = (found.iter().filter(|of| of.is_told).count(), found.len());
    let held = found.iter().filter(hold).count();
    let held_of_told = found.iter().filter(|of| of.is_told).filter(hold).count();
    // Three standard deviations of such a count below 95 %.
    assert!(held as f64 > 0.83 * count as f64, "{held} of {count}");
    assert!(told > 24 && held_of_told as f64 > 0.83 * told as f64, "{held_of_told} of {told} that are told");
    // Failures that are drawn as they come show nothing, which is said.
    let found = studies(&bed, &bed.faster(1.0, 1.0, 1.0), 100, 5);
    assert!(found.iter().all(|of| !of.is_told && of.probability.high >= expected && of.probability.high > 0.2));
}
