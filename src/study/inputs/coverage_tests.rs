//! How often intervals hold the true mean that allow for what the records leave open: measured, and held against what `docs/studies.md` says.
//!
//! The way is that of a user: records are drawn from a truth that is known, `import faults --resample` fits them, its file is read, and
//! what a run costs comes of a model that has nothing to do with the simulator and of which the mean is a formula.

use std::fmt::Write as _;

use super::super::results::tests::results;
use super::super::results::{CONFIDENCE, Results};
use super::super::run::RunRow;
use super::super::statistics::Interval;
use super::resampled::{self, Lengths};
use super::runs::{InputResults, first_replication, seed_place};
use crate::engine::{Distribution, Family, Stream, Streams};
use crate::import::{FaultOptions, Records, Resampling, Wanted, fault_model};

/// Studies of each kind.
const STUDIES: u32 = 300;
/// Of those whose fits take long.
const STUDIES_OF_TWO_PARAMETERS: u32 = 100;
/// What every interval is to reach that rests on so many failures.
const LEAST_PERCENT: f64 = 90.0;
const FAILURES_HELD: f64 = 30.0;
/// Draws of the records, and runs of each.
const INPUTS: u32 = 60;
const REPLICATIONS: u32 = 5;

/// The table of the document, between these lines.
const BEGIN: &str = "<!-- coverage of intervals of inputs: measured by study::inputs::coverage -->\n\n";
const END: &str = "<!-- end of coverage of intervals of inputs -->";

const HOUR_S: f64 = 3600.0;
const DAY_S: f64 = 24.0 * HOUR_S;
/// Machines of the cluster that is played.
const MACHINES: u32 = 10;
/// What a failure costs in each variant, besides its length in hours times a factor: the second one is dearer where repairs are long.
const VARIANTS: [(f64, f64); 2] = [(6.0, 1.0), (2.0, 1.5)];

struct Kind {
    /// Of the times to failure.
    family: Family,
    time_to_failure: &'static str,
    time_to_repair: &'static str,
    /// Nodes that were watched, for so many days.
    watched: (u32, f64),
    /// Days and number of the runs without other inputs.
    runs: (f64, u32),
}

fn kinds() -> [Kind; 6] {
    let of = |family: Family, time_to_failure: &'static str, watched: (u32, f64), runs: (f64, u32)| Kind {
        family,
        time_to_failure,
        time_to_repair: "exponential: {mean: 6h}",
        watched,
        runs,
    };
    let (exponential, weibull) = ("exponential: {mean: 300d}", "weibull: {shape: 0.7, mean: 300d}");
    [
        of(Family::Exponential, exponential, (10, 365.0), (365.0, 200)),
        of(Family::Exponential, exponential, (25, 365.0), (365.0, 200)),
        of(Family::Exponential, exponential, (25, 365.0), (365.0, 20)),
        of(Family::Exponential, exponential, (25, 365.0), (30.0, 200)),
        of(Family::Exponential, exponential, (100, 365.0), (365.0, 200)),
        of(Family::Weibull, weibull, (50, 365.0), (365.0, 200)),
    ]
}

fn distribution(text: &str) -> Distribution {
    serde_saphyr::from_str(text).expect(text)
}

fn seconds(of: &Distribution) -> f64 {
    of.mean().expect("a mean").as_secs_f64()
}

/// Records of nodes that were new when somebody began to watch them.
fn records(kind: &Kind, stream: &mut Stream) -> String {
    let [failure, repair] = [kind.time_to_failure, kind.time_to_repair].map(distribution);
    let mut text = String::from("node,failed,repaired\n");
    for node in 0..kind.watched.0 {
        let mut at = failure.sample(stream).as_secs_f64();
        while at < kind.watched.1 * DAY_S {
            let back = at + repair.sample(stream).as_secs_f64().max(1.0);
            let _ = writeln!(text, "n{node},{at},{back}");
            at = back + failure.sample(stream).as_secs_f64();
        }
    }
    text
}

/// What a run costs in each variant.
fn cost(kind: &Kind, inputs: &Lengths, seed: u64) -> [f64; 2] {
    let (mut costs, streams) = ([0.0; 2], Streams::new(seed));
    for machine in 0..MACHINES {
        let mut stream = streams.stream("machine", &machine.to_string());
        let mut at = inputs.time_to_failure.sample_rest(&mut stream).as_secs_f64();
        while at < kind.runs.0 * DAY_S {
            let hours = inputs.time_to_repair.as_ref().expect("repairs").sample(&mut stream).as_secs_f64() / HOUR_S;
            for (cost, (failure, hour)) in costs.iter_mut().zip(VARIANTS) {
                *cost += failure + hour * hours;
            }
            at += inputs.time_to_failure.sample(&mut stream).as_secs_f64();
        }
    }
    costs
}

/// The mean of that: in equilibrium as many fail as the mean says.
fn truth(kind: &Kind) -> [f64; 2] {
    let failures = f64::from(MACHINES) * kind.runs.0 * DAY_S / seconds(&distribution(kind.time_to_failure));
    VARIANTS.map(|(failure, hour)| failures * (failure + hour * seconds(&distribution(kind.time_to_repair)) / HOUR_S))
}

/// A study of both variants, its records drawn by that number; none if they are too few to be fitted, and how many failures there were.
fn study(kind: &Kind, number: u32) -> Option<(Results, u64)> {
    let mut stream =
        Streams::new(1).stream("coverage of inputs", &format!("{} {:?} {number}", kind.family.as_str(), kind.watched));
    let mut table = Records::default();
    table.add_table(&records(kind, &mut stream)).expect("a table");
    let options = FaultOptions {
        needed: Vec::new(),
        name: "crashes".into(),
        kind: "Crash".into(),
        is_repaired: true,
        since: Some("0".into()),
        until: Some((kind.watched.1 * DAY_S).to_string()),
        nodes: Some(kind.watched.0),
        is_of_new_nodes: true,
        wanted: Wanted::Family(kind.family),
        resampling: Some(Resampling { count: INPUTS, seed: number.into() }),
    };
    let imported = fault_model(table, &options, "out").ok()?;
    let found =
        resampled::read("resampled.yaml", &imported.files.last().expect("a file").1).expect("as it was written");
    let seed = |run: u32| u64::from(number) << 32 | u64::from(run);
    let runs: Vec<[f64; 2]> = (0..kind.runs.1).map(|run| cost(kind, &found.fitted, seed(run))).collect();
    let columns: Vec<Vec<f64>> = (0..2).map(|variant| runs.iter().map(|of| of[variant]).collect()).collect();
    let mut results = results(&[&columns[0], &columns[1]]);
    results.is_chancy = true;
    let count = found.resamples.len() as u32;
    let mut inputs = InputResults {
        processes: Vec::new(),
        count,
        replications: REPLICATIONS,
        runs: vec![Vec::new(); 2],
        recommended: Vec::new(),
    };
    for (input, fit) in found.resamples.iter().enumerate() {
        for run in 0..REPLICATIONS {
            for (variant, cost) in cost(kind, fit, seed(seed_place(count, input as u32, run))).into_iter().enumerate() {
                let replication = first_replication(input as u32) + run;
                let mut row = RunRow { replication, ..results.runs[variant][0].clone() };
                *row.metrics.last_mut().expect("a cost") = cost;
                inputs.runs[variant].push(row);
            }
        }
    }
    results.inputs = Some(inputs);
    Some((results, found.records.failures))
}

/// How many intervals hold.
#[derive(Default)]
struct Held {
    /// Those of the runs alone, of the mean and of the difference.
    alone: [u32; 2],
    /// Those that allow for the records.
    both: [u32; 2],
    studies: u32,
    failures: u64,
}

fn measured(kind: &Kind) -> Held {
    let [of_first, of_second] = truth(kind);
    let truths = [of_first, of_second - of_first];
    let mut held = Held::default();
    let studies = if kind.family == Family::Exponential { STUDIES } else { STUDIES_OF_TWO_PARAMETERS };
    for (results, failures) in (0..studies).filter_map(|number| study(kind, number)) {
        let alone = results.of_metric("cost");
        let both = results.input_uncertainty("cost").expect("all are played");
        let difference = both[1].difference.expect("another variant").interval;
        let count = |held: &mut [u32; 2], intervals: [Interval; 2]| {
            for ((held, of), truth) in held.iter_mut().zip(intervals).zip(truths) {
                *held += u32::from((of.low..=of.high).contains(&truth));
            }
        };
        count(&mut held.alone, [alone[0].interval, alone[1].difference]);
        count(&mut held.both, [both[0].figure.interval, difference]);
        held.studies += 1;
        held.failures += failures;
    }
    held
}

#[test]
fn intervals_that_allow_for_records_hold_as_often_as_the_document_says() {
    let mut text = "| times to failure | failures in the records | runs | mean: runs alone, % | both, % | difference: runs alone, % | both, % |\n\
                    |---|---:|---|---:|---:|---:|---:|\n"
        .to_owned();
    let mut too_narrow = Vec::new();
    for kind in kinds() {
        let held = measured(&kind);
        let percent = |count: u32| f64::from(count) / f64::from(held.studies) * 100.0;
        let failures = held.failures as f64 / f64::from(held.studies);
        let row = format!(
            "| {} | {failures:.0} | {} of {} days | {:.1} | {:.1} | {:.1} | {:.1} |\n",
            kind.family.as_str(),
            kind.runs.1,
            kind.runs.0,
            percent(held.alone[0]),
            percent(held.both[0]),
            percent(held.alone[1]),
            percent(held.both[1])
        );
        if failures >= FAILURES_HELD && held.both.into_iter().any(|count| percent(count) < LEAST_PERCENT) {
            too_narrow.push(row.clone());
        }
        text.push_str(&row);
    }
    assert!(too_narrow.is_empty(), "too narrow for {CONFIDENCE}:\n{}in\n{text}", too_narrow.concat());
    let document = include_str!("../../../docs/studies.md");
    let written = document.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(table, _)| table);
    assert_eq!(written, Some(text.as_str()), "docs/studies.md has another table than was measured:\n{text}");
}
