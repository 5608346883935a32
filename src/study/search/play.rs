//! Plays the points of a search, one after the other.

use std::collections::BTreeSet;

use super::super::document::Study;
use super::super::grid::Variant;
use super::super::journal::{Journal, JournalError};
use super::super::progress::{Part, Progress};
use super::super::results::Results;
use super::super::runner::Runner;
use super::super::shard::Shard;
use super::super::variants::Later;
use super::found::{Ended, Record};
use super::space::Point;
use super::survey::Survey;

/// What is not worth a point: a share of what would be worth a change.
const NOT_WORTH: f64 = 0.1;

/// How often in a row nothing may be worth a point before the search ends: parameters that few points tell may be wrong.
const IN_A_ROW: u32 = 2;

/// Says which point comes next.
pub(super) struct Chooser {
    pub(super) record: Record,
    /// Points that have been played, or cannot be.
    pub(super) left_out: BTreeSet<Point>,
    in_a_row: u32,
}

impl Chooser {
    /// Of a search that has begun with these points.
    pub(super) fn begin(record: Record, played: impl Iterator<Item = Point>) -> Self {
        Self { record, left_out: played.collect(), in_a_row: 0 }
    }

    /// The point that is to be played next, if `played` points have these results; none if the search is over, and then why is on record.
    pub(super) fn next(&mut self, results: &Results, played: usize) -> Option<Point> {
        let survey = Survey::of(results, &self.record);
        let promise = survey.next(&self.left_out);
        let today = results.mean_cost(results.baseline).abs();
        let record = &mut self.record;
        record.worth = NOT_WORTH * results.indifference * today;
        record.expected = promise.as_ref().map_or(0.0, |promise| promise.improvement);
        self.in_a_row = if record.expected <= record.worth { self.in_a_row + 1 } else { 0 };
        record.ended = if promise.is_none() {
            Ended::All
        } else if self.in_a_row >= IN_A_ROW {
            Ended::Settled
        } else {
            Ended::Points
        };
        let is_full = played + record.unplayable as usize >= record.points_max;
        let point = match record.ended {
            _ if is_full => None,
            Ended::Points => promise.map(|promise| promise.point),
            Ended::Settled => results.plainer(&survey, &self.left_out).inspect(|_| record.plainer += 1),
            Ended::All => None,
        }?;
        self.left_out.insert(point.clone());
        Some(point)
    }
}

/// Plays points of a study with ranges until no point that is left promises to be cheaper by what counts, or as many are played as may be.
/// `later` makes variants of points. Gives the study with the points that were played for its variants, and their results.
///
/// # Errors
///
/// If the journal cannot be written or read.
pub(crate) fn play(
    study: &Study,
    later: &mut Later<'_>,
    journal: &Journal,
    indifference: f64,
    progress: &dyn Progress,
) -> Result<(Study, Results), JournalError> {
    let plan = study.plan.as_ref().expect("the study has ranges");
    let mut played = study.clone();
    let begun_with = study.variants.iter().filter_map(Variant::point);
    let mut chooser = Chooser::begin(Record::begin(study, plan), begun_with);
    let runs = plan.points_max as u64 * u64::from(study.replications);
    let done = (journal.count(..study.replications) as u64).min(runs);
    let part = Part::begin(progress, runs, done, &study.name);
    loop {
        Runner::new(&played, journal).play_each(&part)?;
        let results = results_of(&played, journal, indifference)?;
        let Some(point) = chooser.next(&results, played.variants.len()) else { break };
        let choice: Vec<Option<usize>> = point.iter().copied().map(Some).collect();
        let Some(variant) = later.variant(&choice) else {
            chooser.record.unplayable += 1;
            continue;
        };
        played.variants.push(variant);
        played.numbers.push(plan.space.number(&point));
        let round = chooser.record.rounds.iter().max().map_or(1, |last| last + 1);
        chooser.record.rounds.push(round);
    }
    drop(part);
    // In the order of the values, as a grid has them.
    let mut order: Vec<usize> = (0..played.variants.len()).collect();
    order.sort_by_key(|variant| played.numbers[*variant]);
    let mut record = chooser.record;
    record.rounds = order.iter().map(|variant| record.rounds[*variant]).collect();
    played.variants = order.iter().map(|variant| played.variants[*variant].clone()).collect();
    played.numbers = order.iter().map(|variant| played.numbers[*variant]).collect();
    played.baseline = order.iter().position(|variant| *variant == played.baseline).expect("it is among them");
    let results = results_of(&played, journal, indifference)?;
    Ok((played, Results { search: Some(record), ..results }))
}

fn results_of(study: &Study, journal: &Journal, indifference: f64) -> Result<Results, JournalError> {
    let mut rows = journal.rows()?;
    rows.retain(|row| row.replication < study.replications);
    let results = Results::new(study, Shard::WHOLE, study.replications, 0, rows);
    Ok(Results { indifference, ..results })
}
