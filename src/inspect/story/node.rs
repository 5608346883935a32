//! The story of a node.

use super::super::record::{Fault, NodeChange, Record};
use super::super::sentence::Sentence;
use super::{Story, arithmetic, steps_of};
use crate::units::counted;

/// Faults and changes that are told one by one.
const TOLD_MAX: usize = 12;
/// Detections that are spelled out.
const SUMS_MAX: usize = 3;

pub(super) fn story(record: &Record, object: &str) -> Story {
    let name = object.strip_prefix("node/").unwrap_or(object);
    let mut facts = Vec::new();
    let faults: Vec<&Fault> = record.faults.iter().filter(|fault| fault.object == object).collect();
    facts.extend(faults.iter().take(TOLD_MAX).map(|fault| hit(fault)));
    if faults.len() > TOLD_MAX {
        let more = counted(faults.len() - TOLD_MAX, "more fault", "more faults");
        facts.push(Sentence::new(format!("and {more}, in faults.csv")));
    }
    let changes = record.nodes.get(name).map_or(&[][..], Vec::as_slice);
    facts.extend(spells(changes));
    let on_it = |pod: &&super::super::record::Pod| pod.taken_away && pod.node.as_deref() == Some(name);
    let taken: Vec<&str> = record.pods.iter().filter(on_it).map(|pod| pod.name.as_str()).collect();
    if !taken.is_empty() {
        let count = counted(taken.len(), "pod was", "pods were");
        facts.push(Sentence::new(format!("{count} taken away from it: ")).list(taken.into_iter()));
    }
    let sums = arithmetic::detections(record, object).into_iter().take(SUMS_MAX).collect();
    Story { facts, sums, steps: steps_of(record, [object]), ..Story::default() }
}

fn hit(fault: &Fault) -> Sentence {
    let said = Sentence::new(format!("{} hit it at ", fault.kind)).at(fault.began);
    match fault.ended {
        // What is over at once leaves a machine that is gone, or that is on its way back.
        Some(ended) if ended == fault.began => said,
        Some(ended) => said.text(", until ").at(ended),
        None => said.text(", to the end of the run"),
    }
}

/// The times in which it was not Ready, or was not there.
fn spells(changes: &[NodeChange]) -> Vec<Sentence> {
    let mut facts = Vec::new();
    let mut since: Option<&NodeChange> = None;
    let is_absent = |change: &NodeChange| change.ready == "Absent";
    let state = |change: &NodeChange| match change.ready.as_str() {
        "Absent" => "Not there".to_owned(),
        other => format!("Not Ready ({other})"),
    };
    for change in changes {
        match (since, change.ready == "True") {
            (None, false) => since = Some(change),
            (Some(began), true) => {
                facts.push(
                    Sentence::new(format!("{} from ", state(began)))
                        .at(began.at)
                        .text(", Ready again at ")
                        .at(change.at),
                );
                since = None;
            }
            (Some(began), false) if !is_absent(began) && is_absent(change) => {
                let said = Sentence::new(format!("{} from ", state(began))).at(began.at);
                facts.push(said.text(" until its object was deleted at ").at(change.at));
                since = Some(change);
            }
            (Some(began), false) if is_absent(began) && !is_absent(change) => {
                let said = Sentence::new("Not there from ").at(began.at).text(" until it registered at ");
                facts.push(said.at(change.at));
                since = Some(change);
            }
            _ => {}
        }
    }
    if let Some(began) = since {
        facts.push(Sentence::new(format!("{} from ", state(began))).at(began.at).text(" to the end of the run"));
    }
    if facts.len() > TOLD_MAX {
        let more = facts.len() - TOLD_MAX;
        facts.truncate(TOLD_MAX);
        facts.push(Sentence::new(format!("and {more} more times, in nodes.csv")));
    }
    facts
}
