//! How often intervals of the mean of bad runs, and of a quantile, hold the true one: measured, and held against what `docs/studies.md`
//! says.

use super::cost_by::CostBy;
use super::coverage::{Held, lognormal, normal, rare};
use super::estimate::{Estimate, Series};
use super::results::CONFIDENCE;
use super::statistics::Interval;
use crate::engine::{Stream, Streams};

/// Studies of each kind.
const STUDIES: usize = 1000;

/// What every interval is to reach.
const LEAST_PERCENT: f64 = 93.0;

/// The table of the document, between these lines.
const BEGIN: &str = "<!-- coverage of intervals of bad runs: measured by study::coverage_of_tails -->\n\n";
const END: &str = "<!-- end of coverage of intervals of bad runs -->";

/// The share beyond which runs are bad.
const SHARE: f64 = 0.95;
/// The quantile of that share of a standard normal variable.
const NORMAL_QUANTILE: f64 = 1.644_853_626_951_472_2;

/// What runs of a study cost, as two variants have it.
struct Kind {
    name: &'static str,
    /// Of each variant the mean of the worst, and the quantile.
    truth: [[f64; 2]; 2],
    draw: fn(&mut Stream) -> [f64; 2],
}

fn kinds() -> [Kind; 4] {
    let bell = libm::exp(-NORMAL_QUANTILE * NORMAL_QUANTILE / 2.0) / (2.0 * std::f64::consts::PI).sqrt();
    let of_normal = |mean: f64| {
        let deviation = 10.0_f64.sqrt();
        [mean + deviation * bell / (1.0 - SHARE), mean + deviation * NORMAL_QUANTILE]
    };
    // E exp(sZ) beyond the quantile: exp(s²/2) times the normal tail from the quantile less s on.
    let spread = super::coverage::SPREAD;
    let tail = 0.5 * libm::erfc((NORMAL_QUANTILE - spread) / 2.0_f64.sqrt());
    let of_repairs = [libm::exp(spread * spread / 2.0) * tail / (1.0 - SHARE), libm::exp(spread * NORMAL_QUANTILE)];
    let of_tenth = [1.0 + std::f64::consts::LN_2, std::f64::consts::LN_2];
    let of_exponential = [1.0 - libm::log(1.0 - SHARE), -libm::log(1.0 - SHARE)];
    let half = |of: [f64; 2]| of.map(|figure| 0.5 * figure);
    [
        Kind {
            name: "normal, with the same luck",
            truth: [of_normal(20.0), of_normal(19.0)],
            draw: |stream| {
                let luck = 3.0 * normal(stream);
                [20.0 + luck + normal(stream), 19.0 + luck + normal(stream)]
            },
        },
        Kind { name: "exponential", truth: [of_exponential, half(of_exponential)], draw: |stream| rare(stream, 1.0) },
        Kind { name: "nothing in 9 of 10 runs", truth: [of_tenth, half(of_tenth)], draw: |stream| rare(stream, 0.1) },
        Kind {
            name: "lognormal repairs",
            truth: [of_repairs, of_repairs],
            draw: |stream| [lognormal(stream), lognormal(stream)],
        },
    ]
}

/// Of one kind and number of runs: the figure of the first variant, and the difference of the two.
fn measured(kind: &Kind, n: usize, by: CostBy, place: usize) -> [Held; 2] {
    let mut stream = Streams::new(1).stream("coverage of tails", &format!("{} {n} {by}", kind.name));
    let mut held = [Held::default(), Held::default()];
    let estimate = Estimate::of_seen(false, CONFIDENCE).judged_by(by);
    for _ in 0..STUDIES {
        let runs: Vec<[f64; 2]> = (0..n).map(|_| (kind.draw)(&mut stream)).collect();
        let column = |of: usize| -> Series { (0..).zip(runs.iter().map(|run| run[of])).collect() };
        let columns = [column(0), column(1)];
        let alone = estimate.with_unseen(&columns[..1], true);
        let both = estimate.with_unseen(&columns, true);
        let truth = [kind.truth[0][place], kind.truth[0][place] - kind.truth[1][place]];
        let found = [alone.mean(&columns[0]), both.between(&columns, 0, 1)];
        for ((held, found), truth) in held.iter_mut().zip(found).zip(truth) {
            held.count(Interval::unknown(), found, truth);
        }
    }
    held
}

#[test]
fn intervals_of_bad_runs_hold_as_often_as_the_document_says() {
    let mut text = "| cost of a run | runs | CVaR, % | no end | difference, % | no end | quantile, % | no end | difference, % | no end |\n\
                    |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let mut too_narrow = Vec::new();
    let percent = |count: usize| (count as f64 / STUDIES as f64 * 1000.0).round() / 10.0;
    for kind in kinds() {
        for n in [200, 1000] {
            let mut row = format!("| {} | {n} |", kind.name);
            for (place, by) in [CostBy::Cvar(SHARE), CostBy::Quantile(SHARE)].into_iter().enumerate() {
                for held in measured(&kind, n, by, place) {
                    row.push_str(&format!(" {:.1} | {:.0} % |", percent(held.here), percent(held.endless)));
                    let with_ends = STUDIES - held.endless;
                    if ((held.here - held.endless) as f64) < LEAST_PERCENT / 100.0 * with_ends as f64 {
                        too_narrow.push(format!("{}, {n} runs, {by}\n", kind.name));
                    }
                }
            }
            text.push_str(&row);
            text.push('\n');
        }
    }
    assert!(too_narrow.is_empty(), "too narrow:\n{}in\n{text}", too_narrow.concat());
    let document = include_str!("../../docs/studies.md");
    let written = document.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(table, _)| table);
    assert_eq!(written, Some(text.as_str()), "docs/studies.md has another table than was measured:\n{text}");
}
