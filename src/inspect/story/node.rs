//! The story of a node.

use super::super::record::{Fault, NodeChange, Record};
use super::super::sentence::Sentence;
use super::{Story, Stretch, TOLD_MAX, arithmetic, longest, steps_of};
use crate::units::{SimTime, counted};

/// Detections that are spelled out.
const SUMS_MAX: usize = 3;

pub(super) fn story(record: &Record, object: &str) -> Story {
    let name = object.strip_prefix("node/").unwrap_or(object);
    let mut facts = Vec::new();
    let faults: Vec<&Fault> = record.faults.iter().filter(|fault| fault.object == object).collect();
    if faults.len() > TOLD_MAX {
        facts.push(Sentence::new(format!("{} hit it", counted(faults.len(), "fault", "faults"))));
    }
    let hits = faults.iter().map(|fault| Stretch {
        from: fault.began,
        to: fault.ended.unwrap_or(record.end),
        says: hit(fault),
    });
    facts.extend(longest(hits.collect(), "faults.csv"));
    let changes = record.nodes.get(name).map_or(&[][..], Vec::as_slice);
    facts.extend(spells(changes, record.end));
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
fn spells(changes: &[NodeChange], end: SimTime) -> Vec<Sentence> {
    let mut spells: Vec<Stretch> = Vec::new();
    let mut since: Option<&NodeChange> = None;
    let is_absent = |change: &NodeChange| change.ready == "Absent";
    let begin = |began: &NodeChange| {
        let state = match began.ready.as_str() {
            "Absent" => "Not there from ".to_owned(),
            other => format!("Not Ready ({other}) from "),
        };
        Sentence::new(state).at(began.at)
    };
    for change in changes {
        let is_ready = change.ready == "True";
        let Some(began) = since else {
            since = (!is_ready).then_some(change);
            continue;
        };
        let until = match (is_absent(began), is_absent(change)) {
            _ if is_ready => ", Ready again at ",
            (false, true) => " until its object was deleted at ",
            (true, false) => " until it registered at ",
            _ => continue,
        };
        spells.push(Stretch { from: began.at, to: change.at, says: begin(began).text(until).at(change.at) });
        since = (!is_ready).then_some(change);
    }
    let last = since.filter(|began| began.at < end || spells.is_empty());
    let last = last.map(|began| begin(began).text(" to the end of the run"));
    longest(spells, "nodes.csv").into_iter().chain(last).collect()
}
