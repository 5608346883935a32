//! The story of a service.

use super::super::record::{Record, Targets};
use super::super::sentence::Sentence;
use super::{Story, Stretch, longest, steps_of};
use crate::units::{SimDuration, SimTime};

pub(super) fn story(record: &Record, object: &str) -> Story {
    let outcomes = record.summary["services"].as_array().into_iter().flatten();
    let is_it = |of: &&serde_json::Value| {
        let text = |field: &str| of[field].as_str().unwrap_or_default();
        format!("service/{}/{}", text("namespace"), text("name")) == object
    };
    let mut facts = Vec::new();
    if let Some(outcome) = outcomes.into_iter().find(is_it) {
        let length = |field: &str| SimDuration::from_secs_f64(outcome[field].as_f64().unwrap_or(0.0));
        let (without, lost) = (length("without_targets_s"), length("lost_traffic_s"));
        let said = match without.is_zero() {
            true => Sentence::new("Never without a target; "),
            false => Sentence::new("Without any target for ").lasting(without).text("; "),
        };
        facts.push(match lost.is_zero() {
            true => said.text("it lost no traffic"),
            false => said.text("it lost as much traffic as comes to it in ").lasting(lost),
        });
    }
    let rows = record.services.get(object).map_or(&[][..], Vec::as_slice);
    facts.extend(stretches(rows, record.end, "Without any target", |row| row.targets == 0));
    let dead = "Requests went to machines that were down";
    facts.extend(stretches(rows, record.end, dead, |row| row.dead > 0));
    Story { facts, steps: steps_of(record, [object]), ..Story::default() }
}

/// The times in which something held.
fn stretches(rows: &[Targets], end: SimTime, what: &str, holds: impl Fn(&Targets) -> bool) -> Vec<Sentence> {
    let mut found: Vec<Stretch> = Vec::new();
    let mut since: Option<SimTime> = None;
    let begin = |from: SimTime| Sentence::new(format!("{what} from ")).at(from);
    for row in rows {
        match (since, holds(row)) {
            (None, true) => since = Some(row.at),
            (Some(from), false) => {
                let says = begin(from).text(" to ").at(row.at);
                found.push(Stretch { from, to: row.at, says });
                since = None;
            }
            _ => {}
        }
    }
    let last = since.filter(|from| *from < end).map(|from| begin(from).text(" to the end of the run"));
    longest(found, "services.csv").into_iter().chain(last).collect()
}
