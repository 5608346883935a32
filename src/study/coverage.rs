//! How often intervals hold the true mean, of figures as studies have them: measured, and held against what `docs/studies.md` says.

use super::estimate::{Estimate, Series};
use super::results::CONFIDENCE;
use super::statistics::{Interval, Sample};
use crate::engine::{Stream, Streams};

/// Studies of each kind.
const STUDIES: usize = 5000;

/// What every interval is to reach.
const LEAST_PERCENT: f64 = 93.0;

/// The table of the document, between these lines.
const BEGIN: &str = "<!-- coverage of intervals: measured by study::coverage -->\n\n";
const END: &str = "<!-- end of coverage of intervals -->";

/// What runs of a study cost, as two variants have it.
struct Kind {
    name: &'static str,
    n: usize,
    /// What the first costs on average, and the second.
    means: [f64; 2],
    /// The cost of one run, in each.
    draw: fn(&mut Stream) -> [f64; 2],
    /// Whether it is to hold, and not only to be told.
    is_held: bool,
}

/// A normal number, of mean 0 and deviation 1.
///
/// # Source
/// Box and Muller, A note on the generation of random normal deviates, Annals of Mathematical Statistics 29 (1958).
pub(super) fn normal(stream: &mut Stream) -> f64 {
    let (length, angle) = (stream.unit(), stream.unit());
    (-2.0 * libm::log(1.0 - length)).sqrt() * libm::cos(2.0 * std::f64::consts::PI * angle)
}

/// The deviation of the logarithm of what repairs cost: Student's interval of 20 such runs then holds in seven of ten studies.
pub(super) const SPREAD: f64 = 1.7;

pub(super) fn lognormal(stream: &mut Stream) -> f64 {
    libm::exp(SPREAD * normal(stream))
}

/// What failures cost that hit a run with that chance, and both variants in the same runs.
pub(super) fn rare(stream: &mut Stream, chance: f64) -> [f64; 2] {
    let (is_hit, cost) = (stream.unit() < chance, |stream: &mut Stream| -libm::log(1.0 - stream.unit()));
    let (one, other) = (cost(stream), cost(stream));
    if is_hit { [one, 0.5 * other] } else { [0.0, 0.0] }
}

fn kinds() -> Vec<Kind> {
    let of_repair = libm::exp(SPREAD * SPREAD / 2.0);
    let repairs = |n: usize, is_held: bool| Kind {
        name: "lognormal repairs",
        n,
        means: [of_repair; 2],
        draw: |stream| [lognormal(stream), lognormal(stream)],
        is_held,
    };
    let alike = Kind {
        name: "normal, with the same luck",
        n: 20,
        means: [10.0, 9.0],
        draw: |stream| {
            let luck = 3.0 * normal(stream);
            [10.0 + luck + normal(stream), 9.0 + luck + normal(stream)]
        },
        is_held: true,
    };
    let tenth =
        Kind { name: "nothing in 9 of 10 runs", n: 20, means: [0.1, 0.05], draw: |of| rare(of, 0.1), is_held: true };
    let hundredth = |n: usize| Kind {
        name: "nothing in 99 of 100 runs",
        n,
        means: [0.01, 0.005],
        draw: |of| rare(of, 0.01),
        is_held: true,
    };
    vec![alike, repairs(10, false), repairs(20, true), repairs(100, true), tenth, hundredth(100), hundredth(200)]
}

/// How many of the studies have an interval that holds the truth, and how many one without an end.
#[derive(Default)]
pub(super) struct Held {
    by_student: usize,
    pub(super) here: usize,
    pub(super) endless: usize,
}

impl Held {
    pub(super) fn count(&mut self, student: Interval, here: Interval, truth: f64) {
        let holds = |of: Interval| usize::from((of.low..=of.high).contains(&truth));
        self.by_student += holds(student);
        self.here += holds(here);
        self.endless += usize::from(!here.is_known());
    }

    fn percent(count: usize) -> f64 {
        (count as f64 / STUDIES as f64 * 1000.0).round() / 10.0
    }

    /// Of those that have an end: one that has none holds anything.
    fn percent_with_ends(&self) -> f64 {
        (self.here - self.endless) as f64 / (STUDIES - self.endless) as f64 * 100.0
    }

    fn cells(&self) -> String {
        let [student, here] = [self.by_student, self.here].map(Self::percent);
        format!("{student:.1} | {here:.1} | {:.0} %", Self::percent(self.endless))
    }
}

/// Of one kind: the mean of the first variant, and the difference of the two.
fn measured(kind: &Kind) -> (Held, Held) {
    let mut stream = Streams::new(1).stream("coverage", &format!("{} {}", kind.name, kind.n));
    let (mut of_mean, mut of_difference) = (Held::default(), Held::default());
    let seen = Estimate::of_seen(false, CONFIDENCE);
    let student = |series: &Series| Sample::new(series.iter().map(|(_, cost)| *cost).collect()).interval(CONFIDENCE);
    for _ in 0..STUDIES {
        let runs: Vec<[f64; 2]> = (0..kind.n).map(|_| (kind.draw)(&mut stream)).collect();
        let column = |of: &dyn Fn(&[f64; 2]) -> f64| -> Series { (0..).zip(runs.iter().map(of)).collect() };
        let (ours, theirs) = (column(&|run| run[0]), column(&|run| run[1]));
        let alone = seen.with_unseen(std::slice::from_ref(&ours), true);
        of_mean.count(student(&ours), alone.mean(&ours), kind.means[0]);
        let both = seen.with_unseen(&[ours.clone(), theirs.clone()], true);
        let truth = kind.means[0] - kind.means[1];
        of_difference.count(student(&column(&|run| run[0] - run[1])), both.difference(&ours, &theirs), truth);
    }
    (of_mean, of_difference)
}

#[test]
fn intervals_hold_as_often_as_the_document_says() {
    let mut text = "| cost of a run | runs | mean: Student's, % | here, % | no end | difference: Student's, % | here, % | no end |\n\
                    |---|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let mut too_narrow = Vec::new();
    for kind in kinds() {
        let (of_mean, of_difference) = measured(&kind);
        let row = format!("| {} | {} | {} | {} |\n", kind.name, kind.n, of_mean.cells(), of_difference.cells());
        if kind.is_held && of_mean.percent_with_ends().min(of_difference.percent_with_ends()) < LEAST_PERCENT {
            too_narrow.push(row.clone());
        }
        text.push_str(&row);
    }
    assert!(too_narrow.is_empty(), "too narrow:\n{}in\n{text}", too_narrow.concat());
    let document = include_str!("../../docs/studies.md");
    let written = document.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(table, _)| table);
    assert_eq!(written, Some(text.as_str()), "docs/studies.md has another table than was measured");
}
