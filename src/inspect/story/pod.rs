//! The story of a pod, or of those that had its name one after another.

use std::collections::BTreeSet;

use super::super::record::{Event, Pod, Record};
use super::super::sentence::Sentence;
use super::{Step, Story, arithmetic, by_whom, fates, pending, row_at, steps_of};
use crate::units::counted;

pub(super) fn story(record: &Record, object: &str) -> Story {
    let positions = record.pods_by_name.get(object).cloned().unwrap_or_default();
    let owners: BTreeSet<&str> = positions.iter().map(|pod| record.pods[*pod].owner.as_str()).collect();
    let family = (0..record.pods.len()).filter(|pod| owners.contains(record.pods[*pod].owner.as_str())).collect();
    let replaced = fates::replacements(record, &family);
    let mut story = Story { steps: steps_of(record, [object]), ..Story::default() };
    for position in positions {
        let pod = &record.pods[position];
        story.facts.push(whose(pod));
        if let Some((lost, _)) = replaced.iter().find(|(_, next)| **next == position) {
            story.facts.push(came_for(&record.pods[*lost]));
        }
        story.facts.extend(pending::facts(record, pod));
        story.steps.extend(pending::first_try(record, pod));
        story.steps.extend(attachments(record, pod));
        story.facts.extend(held_up(record, pod));
        if let Some(mut ending) = arithmetic::ending(record, pod) {
            if pod.cause != "TaintManagerEviction"
                && let Some(row) = pod.ended().and_then(|at| row_at(&record.causes, &pod.name, at))
                && let Some(why) = by_whom(&record.causes, row)
            {
                ending = ending.then(why);
            }
            story.facts.push(ending);
            story.facts.extend(successor(record, replaced.get(&position).map(|next| &record.pods[*next]), position));
        }
        let next = replaced.get(&position).map(|next| &record.pods[*next]);
        if pod.taken_away || next.is_some() {
            story.sums.extend(arithmetic::recovery(record, position, &replaced));
        }
    }
    story.steps.sort_by_key(|step| step.at);
    story
}

/// What the attach/detach controller told of its volumes.
fn attachments(record: &Record, pod: &Pod) -> Vec<Step> {
    let since = pod.scheduled.filter(|_| !pod.initial);
    let over = pod.gone.or(pod.finished).unwrap_or(record.end);
    let is_told = |event: &&Event| {
        matches!(event.reason.as_str(), "FailedAttachVolume" | "SuccessfulAttachVolume")
            && since.is_some_and(|since| (since..=over).contains(&event.at))
    };
    let told = record.events_about(&pod.name).iter().filter(is_told).map(|event| {
        let says = Sentence::new(format!("{}: {}", event.reason, event.message.trim_end_matches(['.', ' '])));
        Step { at: event.at, says, because: Vec::new(), origin: None }
    });
    told.collect()
}

fn whose(pod: &Pod) -> Sentence {
    let mut said = if pod.workload == pod.name || pod.workload.starts_with("pod/") {
        Sentence::new("A pod without a controller")
    } else {
        Sentence::new("Of ").object(pod.workload.clone())
    };
    said =
        if pod.initial { said.text(", there when the run begins") } else { said.text(", created at ").at(pod.created) };
    said = match pod.node_object() {
        Some(node) => said.text(", on ").object(node),
        None => said,
    };
    match pod.phase.as_str() {
        "" => said,
        phase if pod.gone.is_none() => said.text(format!(", {phase} at the end")),
        _ => said,
    }
}

fn came_for(lost: &Pod) -> Sentence {
    let said = Sentence::new("It came for ").object(lost.name.clone());
    match lost.ended() {
        Some(at) => said.text(", lost at ").at(at),
        None => said,
    }
}

fn successor(record: &Record, next: Option<&Pod>, position: usize) -> Option<Sentence> {
    let Some(next) = next else {
        record.disruptions.get(&position)?;
        return Some(match arithmetic::not_to_come(record, position) {
            Some(why) => Sentence::new(format!("Nothing is to come in its place: {why}")),
            None => Sentence::new("Nothing came in its place by the end of the run"),
        });
    };
    let said = Sentence::new("It was replaced by ").object(next.name.clone());
    Some(match (next.ready, next.ended()) {
        (Some(at), _) => said.text(", Ready at ").at(at),
        (None, Some(at)) => said.text(", which was lost, too, at ").at(at),
        (None, None) => {
            said.text(if record.end > next.created { ", which was not Ready by the end of the run" } else { "" })
        }
    })
}

/// What its containers wait for or have suffered.
fn held_up(record: &Record, pod: &Pod) -> Option<Sentence> {
    let mut events = record.events_about(&pod.name).iter();
    let last = events.rfind(|event| matches!(event.reason.as_str(), "BackOff" | "Failed" | "OOMKilling"));
    if pod.restarts == 0 && (last.is_none() || pod.ready.is_some()) {
        return None;
    }
    let restarts = counted(pod.restarts as usize, "restart", "restarts");
    let said = Sentence::new(format!("Its containers had {restarts}"));
    Some(match last {
        Some(event) => said.text("; last at ").at(event.at).text(format!(": {}", event.message.trim_end_matches('.'))),
        None => said,
    })
}
