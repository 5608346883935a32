//! Plays the points of a search, one after the other.

use std::collections::BTreeSet;

use super::super::definition::Study;
use super::super::grid::Variant;
use super::super::journal::{Journal, JournalError};
use super::super::progress::{Part, Progress};
use super::super::results::Results;
use super::super::runner::Runner;
use super::super::shard::Shard;
use super::super::variants::Later;
use super::found::{Ended, Record};
use super::space::{Choice, Point, choice_of};
use super::survey::Survey;

/// What is not worth a point: a share of what would be worth a change.
const NOT_WORTH: f64 = 0.1;

/// What nobody would notice, if nothing is said to be too little: a share of what the baseline costs.
const NOTHING: f64 = 1e-3;

/// How often in a row nothing may be worth a point before the search ends: parameters that few points tell may be wrong.
const IN_A_ROW: u32 = 2;

/// Says which point comes next.
pub(super) struct Chooser {
    pub(super) record: Record,
    /// What has been played, or cannot be.
    left_out: BTreeSet<Choice>,
    in_a_row: u32,
}

impl Chooser {
    /// Of a search that has begun with these points.
    pub(super) fn begin(record: Record, played: impl Iterator<Item = Point>) -> Self {
        Self { record, left_out: played.map(|point| choice_of(&point)).collect(), in_a_row: 0 }
    }

    /// What is to be played next, if `played` points have these results; none if the search is over, and then why is on record.
    pub(super) fn next(&mut self, results: &Results, played: usize) -> Option<Choice> {
        let survey = Survey::of(results, &self.record);
        let promise = survey.next(&self.left_out);
        let today = results.mean_cost(results.baseline).abs();
        let record = &mut self.record;
        record.worth = NOT_WORTH * results.indifference.max(NOTHING) * today;
        record.expected = promise.as_ref().map_or(0.0, |promise| promise.improvement);
        self.in_a_row = if record.expected <= record.worth { self.in_a_row + 1 } else { 0 };
        record.ended = if promise.is_none() {
            Ended::All
        } else if self.in_a_row >= IN_A_ROW {
            Ended::Settled
        } else {
            Ended::Points
        };
        // The last points are for doing with less, if there is less to do with.
        let spare = if results.axes.len() > 1 { results.axes.len() } else { 0 };
        let left = record.points_max.saturating_sub(played + record.unplayable as usize);
        let is_promising = record.ended == Ended::Points && left > spare;
        let choice = match promise.filter(|_| is_promising) {
            Some(promise) => Some(choice_of(&promise.point)),
            None if left == 0 => None,
            None => results.plainer(&survey, &self.left_out).inspect(|_| record.plainer += 1),
        }?;
        self.left_out.insert(choice.clone());
        Some(choice)
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
        let Some(choice) = chooser.next(&results, played.variants.len()) else { break };
        let (Some(variant), Some(number)) = (later.variant(&choice), plan.space.number_of(&choice)) else {
            chooser.record.unplayable += 1;
            continue;
        };
        played.variants.push(variant);
        played.numbers.push(number);
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
