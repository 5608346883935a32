//! How often what is predicted holds, how often a search finds what is best, and how few points it takes, on functions that are known.

use super::super::results::{Results, tests::results};
use super::found::{Range, Record};
use super::play::Chooser;
use super::space::{Point, Space};
use super::survey::Survey;
use crate::engine::Streams;

/// What a run costs on average at a place: between 0 and 1 in each direction.
type Cost = fn(&[f64]) -> f64;

/// A study of ranges whose mean costs are known.
#[derive(Clone, Copy)]
struct Known {
    name: &'static str,
    counts: &'static [usize],
    replications: u32,
    cost: Cost,
    /// How many of the directions, from the first on, make any difference to a run.
    effective: usize,
}

/// Waiting is dear by the second, and moving too soon costs what is not needed: the least is where both are alike.
fn valley(place: &[f64]) -> f64 {
    let wait = place[0];
    60.0 + 100.0 * wait + 150.0 * libm::exp(-8.0 * wait)
}

/// A step where outages of usual length are sat out, and a slope behind it.
fn step(place: &[f64]) -> f64 {
    let wait = place[0];
    160.0 + 90.0 * wait - 90.0 / (1.0 + libm::exp(-40.0 * (wait - 0.3)))
}

fn bowl(place: &[f64]) -> f64 {
    let (x, y) = (place[0] - 0.7, place[1] - 0.3);
    100.0 + 220.0 * x * x + 160.0 * y * y + 150.0 * x * y
}

/// Branin's function, scaled.
fn branin(place: &[f64]) -> f64 {
    let (x, y) = (15.0 * place[0] - 5.0, 15.0 * place[1]);
    let pi = std::f64::consts::PI;
    let inner = y - 5.1 / (4.0 * pi * pi) * x * x + 5.0 / pi * x - 6.0;
    100.0 + inner * inner + 10.0 * (1.0 - 1.0 / (8.0 * pi)) * libm::cos(x) + 10.0
}

/// Of three things one makes no difference.
fn three(place: &[f64]) -> f64 {
    let (x, y) = (place[0] - 0.4, place[1] - 0.8);
    100.0 + 150.0 * x * x + 100.0 * y * y
}

const KNOWN: [Known; 5] = [
    Known { name: "valley", counts: &[61], replications: 100, cost: valley, effective: 1 },
    Known { name: "step", counts: &[61], replications: 100, cost: step, effective: 1 },
    Known { name: "bowl, two ranges", counts: &[33, 33], replications: 100, cost: bowl, effective: 2 },
    Known { name: "Branin's function, two ranges", counts: &[61, 61], replications: 100, cost: branin, effective: 2 },
    Known { name: "bowl, three ranges", counts: &[33, 33, 33], replications: 100, cost: three, effective: 3 },
];

/// What came of searches of one study.
#[derive(Debug, Default)]
struct Outcome {
    points: usize,
    of: usize,
    /// Predictions, and those whose interval holds the truth.
    predicted: usize,
    held: usize,
    /// Searches that found a point which costs at most 2 % more than the best.
    found: usize,
    searches: usize,
    /// Predictions of the winner, and those whose interval holds the truth.
    winner_held: usize,
}

/// Costs of a run at a place: luck that all places share, luck that they share more the nearer they are, and luck of their own.
fn costs(known: &Known, seed: u64, place: &[f64]) -> Vec<f64> {
    let mut shared = Streams::new(seed).stream("shared", "");
    let mut own = Streams::new(seed).stream("own", &format!("{:?}", &place[..known.effective]));
    let normal = |unit: &mut dyn FnMut() -> f64| {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * unit())
    };
    let mean = (known.cost)(place);
    let of = |_: u32| {
        let (common, slope) = (normal(&mut || shared.unit()), normal(&mut || shared.unit()));
        let alone = normal(&mut || own.unit());
        mean + 30.0 * common + 15.0 * slope * place[0] + 10.0 * alone
    };
    (0..known.replications).map(of).collect()
}

fn place_of(space: &Space, point: &[usize]) -> Vec<f64> {
    point.iter().enumerate().map(|(axis, at)| space.coordinate(axis, *at)).collect()
}

fn search(known: &Known, seed: u64) -> (Results, Record) {
    let places: Vec<Vec<f64>> =
        known.counts.iter().map(|count| (0..*count).map(|at| at as f64 / (*count - 1) as f64).collect()).collect();
    let space = Space::of(places.iter().cloned().map(Some).collect(), known.counts.to_vec());
    let mut points: Vec<Point> = vec![known.counts.iter().map(|count| count - 1).collect()];
    space.begin().into_iter().for_each(|point| {
        if !points.contains(&point) {
            points.push(point)
        }
    });
    let range = |places: Vec<f64>| Some(Range { places, is_geometric: false, has_floor: false });
    let record = Record {
        ranges: places.into_iter().map(range).collect(),
        points_max: points.len() + 10 * known.counts.len(),
        rounds: vec![0; points.len()],
        plainer: 0,
        unplayable: 0,
        ended: super::Ended::Settled,
        expected: 0.0,
        worth: 0.0,
    };
    let mut chooser = Chooser::begin(record, points.iter().cloned());
    loop {
        let columns: Vec<Vec<f64>> = points.iter().map(|point| costs(known, seed, &place_of(&space, point))).collect();
        let mut found = results(&columns.iter().map(Vec::as_slice).collect::<Vec<_>>());
        found.axes = (0..known.counts.len()).map(|axis| format!("x{axis}")).collect();
        found.levels = known.counts.iter().map(|count| (0..*count).map(|at| at.to_string()).collect()).collect();
        found.variants = points.iter().map(|point| point.iter().map(usize::to_string).collect()).collect();
        (found.baseline, found.indifference) = (0, 0.01);
        match chooser.next(&found, points.len()) {
            Some(choice) => points.push(choice.into_iter().collect::<Option<_>>().expect("the baseline is a point")),
            None => return (found, chooser.record),
        }
        chooser.record.rounds.push(1);
    }
}

fn measure(known: &Known, searches: u64) -> Outcome {
    let mut outcome = Outcome { of: known.counts.iter().product(), ..Outcome::default() };
    for seed in 0..searches {
        let (results, record) = search(known, seed);
        let survey = Survey::of(&results, &record);
        let today = (known.cost)(&vec![1.0; known.counts.len()]);
        let truth = |point: &[usize]| (known.cost)(&place_of(&survey.space, point)) - today;
        let best = survey.space.best(&|point: &Point| Some(-truth(point)), &[]).expect("a best");
        let holds = |point: &[usize]| {
            let (low, high) = survey.predict(point).ends();
            (low - 1e-6..=high + 1e-6).contains(&truth(point))
        };
        for index in 1..=60 {
            let point = survey.space.scattered(index);
            outcome.predicted += 1;
            outcome.held += usize::from(holds(&point));
        }
        let cheapest = survey.cheapest().expect("one is allowed");
        let excess = truth(&cheapest.point) + best.1;
        outcome.found += usize::from(excess <= 0.02 * (today - best.1));
        outcome.winner_held += usize::from(holds(&cheapest.point));
        outcome.points += results.variants.len();
        outcome.searches += 1;
    }
    outcome
}

#[test]
fn what_makes_no_difference_stays_as_it_is() {
    let known = &Known { effective: 2, ..KNOWN[4] };
    let stays = |seed: u64| {
        let (results, record) = search(known, seed);
        let results = Results { search: Some(record), ..results };
        let chosen = results.tuning_of_search().expect("it was searched").combination();
        let point = results.point_of(chosen).expect("it is a point");
        assert!(point[0] != 32 && point[1] != 32, "seed {seed}: {point:?}");
        point[2] == 32
    };
    let stayed = (0..10).filter(|seed| stays(*seed)).count();
    assert_eq!(stayed, 10);
}

#[test]
fn what_makes_no_difference_is_told_and_no_points_are_played_for_it() {
    // A step and nothing else: most points are as cheap as others, and runs depend on the first of two ranges alone.
    let cost: Cost = |place| if place[0] < 0.5 { 100.0 } else { 160.0 };
    let known = Known { name: "half", counts: &[5, 33], replications: 100, cost, effective: 1 };
    for seed in 0..10 {
        let (results, record) = search(&known, seed);
        let results = Results { search: Some(record), ..results };
        let found = results.found().expect("it was searched");
        let inert: Vec<bool> = found.ranges.iter().map(|range| range.is_inert).collect();
        assert_eq!(inert, [false, true], "seed {seed}: {found:#?}");
        assert!(found.ended != super::Ended::Points && found.played <= 20, "seed {seed}: {found:#?}");
    }
}

#[test]
fn where_no_range_makes_a_difference_the_runs_tell() {
    // What is listed first is cheaper; runs do not depend on the range.
    let known = Known {
        name: "listed",
        counts: &[2, 33],
        replications: 30,
        cost: |place| 100.0 + 40.0 * place[0],
        effective: 1,
    };
    for seed in 0..5 {
        let (mut results, mut record) = search(&known, seed);
        record.ranges[0] = None;
        results.search = Some(record);
        let tuning = results.tuning_of_search().expect("it was searched");
        assert!(results.variants[tuning.combination()][0] == "0", "seed {seed}: {tuning:?}");
    }
}

#[test]
fn what_is_cheaper_by_too_little_is_named_and_left_as_it_is() {
    // Six in a thousand from end to end, which four hundred runs tell.
    let cost: Cost = |place| 1000.0 + 6.0 * place[0];
    let flat = Known { name: "flat", counts: &[11], replications: 400, cost, effective: 1 };
    let (mut found, record) = search(&flat, 0);
    found.search = Some(record);
    let tuning = found.tuning().expect("priced");
    assert!(
        !tuning.changes() && tuning.kept_as_slight.as_deref().is_some_and(|of| of.starts_with("x0=")),
        "{tuning:?}"
    );
    found.indifference = 0.0;
    let tuning = found.tuning().expect("priced");
    assert!(tuning.changes() && tuning.kept_as_slight.is_none(), "{tuning:?}");
}

const BEGIN: &str = "<!-- coverage of searches: measured by study::search::coverage -->\n\n";
const END: &str = "<!-- end of coverage of searches -->";

#[test]
fn searches_find_and_predict_as_often_as_the_document_says() {
    let mut text = "| mean cost of a run | points | played, on average | best found, % | predictions that hold, % | those of the winner, % |\n\
                    |---|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for known in &KNOWN {
        let of = measure(known, if known.counts.len() == 1 { 60 } else { 20 });
        let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole as f64;
        let (found, held) = (percent(of.found, of.searches), percent(of.held, of.predicted));
        assert!(found >= 80.0 && held >= 80.0, "{}: {of:?}", known.name);
        text += &format!(
            "| {} | {} | {:.1} | {found:.0} | {held:.0} | {:.0} |\n",
            known.name,
            of.of,
            of.points as f64 / of.searches as f64,
            percent(of.winner_held, of.searches)
        );
    }
    let document = include_str!("../../../docs/studies.md");
    let written = document.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(table, _)| table);
    assert_eq!(written, Some(text.as_str()), "docs/studies.md has another table than was measured:\n{text}");
}
