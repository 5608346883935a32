//! The story of a service.

use super::super::record::{Record, Targets};
use super::super::sentence::Sentence;
use super::{Story, steps_of};
use crate::units::{SimDuration, SimTime};

/// Stretches that are told one by one.
const TOLD_MAX: usize = 12;

pub(super) fn story(record: &Record, object: &str) -> Story {
    let outcomes = record.summary["services"].as_array().into_iter().flatten();
    let is_it = |of: &&serde_json::Value| {
        let text = |field: &str| of[field].as_str().unwrap_or_default();
        format!("service/{}/{}", text("namespace"), text("name")) == object
    };
    let mut facts = Vec::new();
    if let Some(outcome) = outcomes.into_iter().find(is_it) {
        let length = |field: &str| SimDuration::from_secs_f64(outcome[field].as_f64().unwrap_or(0.0));
        let said =
            Sentence::new("Without any target for ").lasting(length("without_targets_s")).text("; traffic lost: ");
        facts.push(said.lasting(length("lost_traffic_s")).text(" worth of all its requests"));
    }
    let rows = record.services.get(object).map_or(&[][..], Vec::as_slice);
    facts.extend(stretches(rows, record.end, "Without any target", |row| row.targets == 0));
    let dead = "Requests went to machines that were down";
    facts.extend(stretches(rows, record.end, dead, |row| row.dead > 0));
    Story { facts, steps: steps_of(record, [object]), ..Story::default() }
}

/// The times in which something held.
fn stretches(rows: &[Targets], end: SimTime, what: &str, holds: impl Fn(&Targets) -> bool) -> Vec<Sentence> {
    let mut facts = Vec::new();
    let mut since: Option<SimTime> = None;
    let told = |from: SimTime, to: SimTime| Sentence::new(format!("{what} from ")).at(from).text(" to ").at(to);
    for row in rows {
        match (since, holds(row)) {
            (None, true) => since = Some(row.at),
            (Some(from), false) => {
                facts.push(told(from, row.at));
                since = None;
            }
            _ => {}
        }
    }
    if let Some(from) = since.filter(|from| *from < end) {
        facts.push(Sentence::new(format!("{what} from ")).at(from).text(" to the end of the run"));
    }
    if facts.len() > TOLD_MAX {
        let more = facts.len() - TOLD_MAX;
        facts.truncate(TOLD_MAX);
        facts.push(Sentence::new(format!("and {more} more times, in services.csv")));
    }
    facts
}
