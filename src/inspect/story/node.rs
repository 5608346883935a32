//! The story of a node.

use super::super::record::{Fault, NodeChange, Record};
use super::super::sentence::Sentence;
use super::super::words;
use super::{Step, Story, Stretch, TOLD_MAX, arithmetic, chain, longest, steps_of};
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
    facts.extend(spells(record, object, changes));
    let on_it = |pod: &&super::super::record::Pod| pod.taken_away && pod.node.as_deref() == Some(name);
    let taken: Vec<&str> = record.pods.iter().filter(on_it).map(|pod| pod.name.as_str()).collect();
    if !taken.is_empty() {
        let count = counted(taken.len(), "pod was", "pods were");
        facts.push(Sentence::new(format!("{count} taken away from it: ")).list(taken.into_iter()));
    }
    let sums = arithmetic::detections(record, object).into_iter().take(SUMS_MAX).collect();
    let mut steps = steps_of(record, [object]);
    for step in &mut steps {
        let Some(row) = removal(record, object, step.at) else { continue };
        if record.causes.effects[row].at == step.at && words::says(&record.causes, row).as_ref() == Some(&step.says) {
            // Who removes a node is asked for, even if that follows from what stands above.
            let (because, origin) = chain(&record.causes, row);
            let says = std::mem::take(&mut step.says).then(by_cloud(record, object, step.at).unwrap_or_default());
            *step = Step { at: step.at, says, because, origin };
        }
    }
    Story { facts, sums, steps, ..Story::default() }
}

/// The row of the deletion of a node's object at an instant.
fn removal(record: &Record, object: &str, at: SimTime) -> Option<usize> {
    let rows = record.causes.about(object).iter().copied();
    let mut rows = rows.filter(|row| record.causes.effects[*row].at == at);
    rows.find(|row| record.causes.effects[*row].what.ends_with(" deleted"))
}

/// That the cloud node lifecycle controller removed a node at an instant, if it told so.
fn by_cloud(record: &Record, object: &str, at: SimTime) -> Option<Sentence> {
    let mut events = record.events_about(object).iter();
    events.find(|event| event.reason == "DeletingNode" && event.at == at)?;
    Some(Sentence::new(" by the cloud node lifecycle controller, as the cloud no longer has its machine"))
}

/// Who removed a node at an instant: that controller, or what that follows from.
fn by_whom(record: &Record, object: &str, at: SimTime) -> Sentence {
    let by_cloud = by_cloud(record, object, at);
    by_cloud.or_else(|| super::by_whom(&record.causes, removal(record, object, at)?)).unwrap_or_default()
}

fn hit(fault: &Fault) -> Sentence {
    let said = Sentence::new(format!("{} hit it at ", fault.kind)).at(fault.began);
    // What takes a machine for good ends with it, and not when all is well again.
    let is_for_good = fault.effect.ends_with(FOR_GOOD);
    match fault.ended {
        Some(ended) if is_for_good && ended > fault.began => said.text("; its machine was gone for good at ").at(ended),
        Some(_) if is_for_good => said.text("; its machine was gone for good"),
        // What is over at once leaves a machine that is gone, or that is on its way back.
        Some(ended) if ended == fault.began => said,
        Some(ended) => said.text(", until ").at(ended),
        None => said.text(", to the end of the run"),
    }
}

/// How the effect of a fault ends that takes machines for good.
const FOR_GOOD: &str = " for good";

/// The times in which it was not Ready, or was not there.
fn spells(record: &Record, object: &str, changes: &[NodeChange]) -> Vec<Sentence> {
    let end = record.end;
    let mut spells: Vec<Stretch> = Vec::new();
    let mut since: Option<&NodeChange> = None;
    // What it was besides while it was not Ready, in the order in which it came.
    let mut later: Vec<&NodeChange> = Vec::new();
    // Whether the object that is there has been Ready.
    let mut was_ready = false;
    let is_absent = |change: &NodeChange| change.ready == "Absent";
    let begin = |began: &NodeChange, later: &[&NodeChange]| {
        let state = match began.ready.as_str() {
            "Absent" => "Not there from ".to_owned(),
            other => format!("Not Ready ({other}) from "),
        };
        let said = Sentence::new(state).at(began.at);
        later.iter().fold(said, |said, change| said.text(format!(", {} from ", change.ready)).at(change.at))
    };
    // What ends a list that has commas has one before it.
    let comma = |later: &[&NodeChange], until: &str| {
        if later.is_empty() || until.starts_with(',') { "" } else { "," }
    };
    for change in changes {
        let is_ready = change.ready == "True";
        let again = if was_ready { ", Ready again at " } else { ", first Ready at " };
        was_ready = is_ready || (was_ready && !is_absent(change));
        let Some(began) = since else {
            since = (!is_ready).then_some(change);
            later.clear();
            continue;
        };
        let until = match (is_absent(began), is_absent(change)) {
            (true, false) => " until it registered at ",
            _ if is_ready => again,
            (false, true) => " until its object was deleted at ",
            _ => {
                let before = later.last().map_or(&began.ready, |last| &last.ready);
                later.extend((*before != change.ready).then_some(change));
                continue;
            }
        };
        let says = begin(began, &later).text(comma(&later, until)).text(until).at(change.at);
        let by = if is_absent(change) { by_whom(record, object, change.at) } else { Sentence::default() };
        spells.push(Stretch { from: began.at, to: change.at, says: says.then(by) });
        since = (!is_ready).then_some(change);
        later.clear();
    }
    let last = since.filter(|began| began.at < end || spells.is_empty());
    let last = last.map(|began| {
        let until = " to the end of the run";
        let said = begin(began, &later).text(comma(&later, until)).text(until);
        // One that was Ready until then has no other line that says who took it away.
        let is_told = spells.last().is_some_and(|spell| spell.to == began.at);
        let is_news = is_absent(began) && !is_told && began.at > SimTime::ZERO;
        if is_news { said.text(": deleted").then(by_whom(record, object, began.at)) } else { said }
    });
    longest(spells, "nodes.csv").into_iter().chain(last).collect()
}
