//! Records of failures drawn anew, again and again, and fitted each time: what so few records leave open.

use std::fmt::Write as _;

use super::faults::{FaultModel, FaultOptions, scalar, written};
use super::records::{Records, Unit};
use crate::engine::{Distribution, Family, Observation, RESAMPLES, SCALES_S, Streams, fit_counted};
use crate::units::{counted, length};

/// Of fewer failures, or of fewer nodes that failed, hardly anything is left to be drawn anew.
const FAILURES_MIN: usize = 5;

/// How records are drawn anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resampling {
    /// How often.
    pub count: u32,
    /// What chance is drawn from.
    pub seed: u64,
}

/// What records say that were drawn anew.
#[derive(Clone, Debug)]
pub struct Resampled {
    /// All fits, as studies read them.
    pub document: String,
    /// How often they were drawn.
    pub drawn: u32,
    /// How many of these could not be fitted.
    pub unfitted: u32,
    /// How far the means are spread, by field.
    pub spreads: Vec<Spread>,
    /// What speaks against relying on it.
    pub notes: Vec<String>,
}

/// How far the mean of a length is spread among fits to records that were drawn anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The field that the length is for.
    pub field: &'static str,
    /// Its standard deviation, as a share of the mean of the records as they are.
    pub error: f64,
    /// The value, in seconds, that a fortieth of them does not exceed.
    pub low_s: f64,
    /// The same of all but a fortieth.
    pub high_s: f64,
}

/// What is drawn, and the lengths that belong to it.
struct Sampled<'a> {
    units: &'a [Unit],
    /// Nodes that never failed: each has the last of the lengths to failure.
    untouched: usize,
    /// By field.
    lengths: Vec<(&'static str, Family, Vec<Observation>)>,
}

impl Sampled<'_> {
    fn count(&self) -> usize {
        self.units.len() + self.untouched
    }

    /// Draws as many units as there are, with replacement, and fits every field; none if one cannot be fitted.
    ///
    /// # Source
    ///
    /// Efron, Bootstrap methods: another look at the jackknife, The Annals of Statistics 7 (1979); whole clusters of observations that
    /// depend on each other: Davison and Hinkley, Bootstrap Methods and their Application, section 3.8.
    fn drawn(&self, resampling: Resampling, index: u32) -> Option<Vec<Distribution>> {
        let mut stream = Streams::new(resampling.seed).stream("resampled-records", &index.to_string());
        let mut times: Vec<Vec<u32>> = self.lengths.iter().map(|(_, _, lengths)| vec![0; lengths.len()]).collect();
        for _ in 0..self.count() {
            match self.units.get(stream.below(self.count() as u32) as usize) {
                Some(unit) => {
                    for (times, range) in times.iter_mut().zip([&unit.to_failure, &unit.to_repair]) {
                        times[range.clone()].iter_mut().for_each(|times| *times += 1);
                    }
                }
                None => {
                    if let Some(last) = times[0].last_mut() {
                        *last += 1;
                    }
                }
            }
        }
        let fields = self.lengths.iter().zip(&times);
        fields.map(|((_, family, lengths), times)| fit_counted(*family, lengths, times)).collect()
    }
}

/// Draws records anew by node, or by row where they are lengths of whatever node, and fits the same families.
///
/// # Errors
///
/// If what was taken is no family, or the records are too few for any of this.
pub(super) fn resampled(
    resampling: Resampling,
    records: &Records,
    options: &FaultOptions,
    models: &[FaultModel],
) -> Result<Resampled, String> {
    if !RESAMPLES.contains(&resampling.count) {
        let (least, most) = (RESAMPLES.start(), RESAMPLES.end());
        return Err(format!("records cannot be drawn anew {} times: it takes {least} to {most}", resampling.count));
    }
    let lengths = models.iter().map(|model| {
        let family = Family::of(&model.taken)
            .ok_or("lengths that are taken as they are have no parameters to be fitted anew")?;
        let mut lengths = model.observations.clone();
        // All nodes that never failed lasted as long: one stands for them.
        if model.field == models[0].field && records.untouched > 0 {
            lengths.truncate(lengths.len() - records.untouched + 1);
        }
        Ok((model.field, family, lengths))
    });
    let lengths = lengths.collect::<Result<Vec<_>, String>>()?;
    let sampled = Sampled { units: &records.units, untouched: records.untouched, lengths };
    let fits: Vec<Vec<Distribution>> =
        (0..resampling.count).filter_map(|index| sampled.drawn(resampling, index)).collect();
    let (fitted, least) = (fits.len() as u32, *RESAMPLES.start());
    if fitted < least {
        return Err(format!(
            "of {} times that the records are drawn anew only {fitted} can be fitted, and {least} are needed: the records are too few",
            resampling.count
        ));
    }
    let unfitted = resampling.count - fitted;
    let longest = SCALES_S.end * (1.0 - 1e-5);
    let is_longest = |fit: &&Vec<Distribution>| fit.iter().any(|of| seconds(of) >= longest);
    let left = Left { unfitted, longest: fits.iter().filter(is_longest).count() };
    let notes = notes(records, models, resampling.count, left);
    let spreads = models.iter().enumerate().map(|(at, model)| spread(model, fits.iter().map(|fit| &fit[at])));
    Ok(Resampled {
        document: document(resampling, &sampled, (options, models), &fits, &notes),
        drawn: resampling.count,
        unfitted,
        spreads: spreads.collect(),
        notes,
    })
}

/// Draws of which the fit is not what it would be.
struct Left {
    /// Those that cannot be fitted.
    unfitted: u32,
    /// Those that are longer than can be written.
    longest: usize,
}

fn notes(records: &Records, models: &[FaultModel], drawn: u32, Left { unfitted, longest }: Left) -> Vec<String> {
    let mut notes = Vec::new();
    let failures = failures(models);
    let few = match failed_nodes(&records.units, models) {
        _ if failures < FAILURES_MIN => Some(counted(failures, "failure", "failures")),
        Some(failed @ 1..FAILURES_MIN) => Some(format!("failures of {}", counted(failed, "node", "nodes"))),
        _ => None,
    };
    if let Some(few) = few {
        notes.push(format!(
            "{few} are too few to be drawn anew: what they leave open is more than this shows, and intervals that rest on it are too narrow"
        ));
    }
    if unfitted > 0 {
        notes.push(format!(
            "{unfitted} of {drawn} times what was drawn has too few failures, or too few that differ, to be fitted: these are left out, and \
             those that are left are spread less than they should be"
        ));
    }
    if longest > 0 {
        notes.push(format!(
            "{longest} of {drawn} times what was drawn has so few failures that the length which fits is longer than {}, the longest that \
             can be written: it is taken for that",
            length(SCALES_S.end)
        ));
    }
    notes
}

/// Nodes that were seen to fail; none if the records are lengths of whatever node.
fn failed_nodes(units: &[Unit], models: &[FaultModel]) -> Option<usize> {
    let lengths = &models[0].observations;
    let has_failed = |unit: &&Unit| lengths[unit.to_failure.clone()].iter().any(|length| !length.is_censored);
    let nodes = || units.iter().filter(|unit| unit.is_node);
    nodes().next().map(|_| nodes().filter(has_failed).count())
}

/// Failures that were seen.
fn failures(models: &[FaultModel]) -> usize {
    models[0].observations.iter().filter(|observation| !observation.is_censored).count()
}

fn seconds(distribution: &Distribution) -> f64 {
    distribution.mean().map_or(f64::NAN, crate::units::SimDuration::as_secs_f64)
}

fn spread<'a>(model: &FaultModel, fits: impl Iterator<Item = &'a Distribution>) -> Spread {
    let mut means: Vec<f64> = fits.map(seconds).collect();
    means.sort_by(f64::total_cmp);
    let n = means.len() as f64;
    let center = means.iter().sum::<f64>() / n;
    let squares: f64 = means.iter().map(|mean| (mean - center) * (mean - center)).sum();
    let at = |share: f64| means[((share * n) as usize).min(means.len() - 1)];
    let error = libm::sqrt(squares / (n - 1.0)) / seconds(&model.taken);
    Spread { field: model.field, error, low_s: at(0.025), high_s: at(0.975) }
}

fn document(
    resampling: Resampling,
    sampled: &Sampled<'_>,
    (options, models): (&FaultOptions, &[FaultModel]),
    fits: &[Vec<Distribution>],
    notes: &[String],
) -> String {
    let mut text = String::from(
        "# Made by kubesquall from records of failures and repairs that were drawn anew, with replacement, and fitted each time: what the\n\
         # records leave open. A study names it under `inputs`.\n",
    );
    for note in notes {
        let _ = writeln!(text, "# note: {note}");
    }
    let fields = |fit: &[Distribution]| {
        let named = models.iter().zip(fit).map(|(model, of)| format!("{}: {}", model.field, written(of)));
        named.collect::<Vec<_>>().join(", ")
    };
    let taken: Vec<Distribution> = models.iter().map(|model| model.taken.clone()).collect();
    let units = match failed_nodes(sampled.units, models) {
        Some(failed) => format!("nodes: {}, failedNodes: {failed}", sampled.count()),
        None => format!("rows: {}", sampled.count()),
    };
    let _ = write!(
        text,
        "process: {}\nfault: {}\nseed: {}\ndrawn: {}\nrecords: {{{units}, failures: {}}}\nfitted: {{{}}}\nresamples:\n",
        scalar(&options.name),
        options.kind,
        resampling.seed,
        resampling.count,
        failures(models),
        fields(&taken)
    );
    for fit in fits {
        let _ = writeln!(text, "- {{{}}}", fields(fit));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{Wanted, fault_model};
    use super::*;

    fn options(wanted: Wanted, count: u32) -> FaultOptions {
        let resampling = Some(Resampling { count, seed: 0 });
        let (name, kind) = ("crashes".into(), "Crash".into());
        FaultOptions { name, kind, is_repaired: true, wanted, resampling, ..FaultOptions::default() }
    }

    /// So many nodes, each of which fails so often, at other times.
    fn table(nodes: u32, failures: u32) -> Records {
        let mut text = String::from("node,failed,repaired\n");
        for node in 0..nodes {
            for failure in 0..failures {
                let at = 100_000 * (failure + 1) + 7919 * node * (failure + 2) % 90_000;
                let _ = writeln!(text, "n{node},{at},{}", at + 60 + 13 * node + 101 * failure);
            }
        }
        let mut records = Records::default();
        records.add_table(&text).expect("a table");
        records
    }

    fn watched(options: FaultOptions, nodes: u32) -> FaultOptions {
        FaultOptions { since: Some("0".into()), until: Some("1000000".into()), nodes: Some(nodes), ..options }
    }

    #[test]
    fn nodes_are_drawn_whole_and_those_that_never_failed_with_them() {
        // Ten of twenty nodes fail three times each: how many of them are drawn decides, and what one node tells stays together.
        let options = watched(options(Wanted::Family(Family::Exponential), 1000), 20);
        let found = fault_model(table(10, 3), &options, "out").expect("a model");
        let resampled = found.resampled.expect("drawn anew");
        let error = resampled.spreads[0].error;
        // The number of nodes drawn that fail is binomial: 10 of 20 at 1/2, a deviation of sqrt(5) of 10.
        assert!((error - 5.0_f64.sqrt() / 10.0).abs() < 0.04, "{error}");
        // Thirty failures that have nothing to do with each other would give less.
        assert!(found.models[0].fits.iter().any(|fit| fit.errors.is_some_and(|of| of.mean < 0.19 && of.mean < error)));
        assert_eq!((resampled.drawn, resampled.unfitted, resampled.notes.len()), (1000, 0, 0));
        assert_eq!(resampled.document.matches("\n- {timeToFailure: {exponential: {mean: ").count(), 1000);
        assert!(
            resampled.document.contains("records: {nodes: 20, failedNodes: 10, failures: 30}"),
            "{}",
            resampled.document
        );
        assert_eq!(found.files.last(), Some(&("out-resampled.yaml".to_owned(), resampled.document)));
    }

    #[test]
    fn rows_of_lengths_are_drawn_one_by_one_and_a_seed_gives_the_same_again() {
        let mut records = Records::default();
        let rows: String = (1..=30).map(|row| format!("{},{}\n", 3600 * row * row, 60 + 7 * row)).collect();
        records.add_table(&format!("time_to_failure,time_to_repair\n{rows}")).expect("a table");
        let drawn = |seed: u64| {
            let options = FaultOptions {
                resampling: Some(Resampling { count: 40, seed }),
                ..options(Wanted::Family(Family::Weibull), 40)
            };
            fault_model(records.clone(), &options, "out").expect("a model").resampled.expect("drawn anew")
        };
        let (one, again, other) = (drawn(3), drawn(3), drawn(4));
        assert!(one.document == again.document && one.document != other.document);
        assert!(one.document.contains("records: {rows: 30, failures: 30}\nfitted: {timeToFailure: {weibull: "));
        assert!(one.spreads.iter().all(|of| of.error > 0.02 && of.low_s < of.high_s), "{:?}", one.spreads);
    }

    #[test]
    fn what_cannot_be_fitted_is_counted_and_too_few_records_are_told() {
        let of = |nodes: u32, failures: u32, watched_nodes: u32, wanted: Wanted| {
            fault_model(table(nodes, failures), &watched(options(wanted, 100), watched_nodes), "out")
        };
        let few = of(2, 1, 10, Wanted::Best).expect("a model").resampled.expect("drawn anew");
        assert!(few.unfitted > 2 && few.notes.len() == 2, "{few:?}");
        assert!(few.notes[0].starts_with("2 failures are too few") && few.notes[1].contains("are left out"), "{few:?}");
        let fitted = few.document.matches("\n- {").count() as u32;
        assert_eq!(fitted + few.unfitted, 100);
        let one_node = of(2, 8, 10, Wanted::Best).expect("a model").resampled.expect("drawn anew");
        assert!(one_node.notes[0].starts_with("failures of 2 nodes are too few"), "{one_node:?}");
        let refused = of(3, 5, 40, Wanted::Empirical).expect_err("no family");
        assert!(refused.to_string().contains("have no parameters"), "{refused}");
        // Of lengths of centuries some draws have the longest more than once.
        let mut centuries = Records::default();
        centuries.add_table("time_to_failure\n3e9\n3e9\n15e9\n").expect("a table");
        let of_exponential = FaultOptions { is_repaired: false, ..options(Wanted::Family(Family::Exponential), 100) };
        let found = fault_model(centuries, &of_exponential, "out").expect("fits").resampled.expect("drawn anew");
        assert_eq!(found.unfitted, 0);
        assert!(found.notes.iter().any(|note| note.contains("is longer than 115740d17h")), "{:?}", found.notes);
        let records = watched(options(Wanted::Best, 19), 40);
        assert!(
            fault_model(table(3, 5), &records, "out").expect_err("too few").to_string().contains("it takes 20 to 1000")
        );
    }
}
