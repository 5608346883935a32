//! Pods that wait for a node: since when, what they lack, what would help, and what got them going.

use super::super::causes::object_of;
use super::super::record::{Event, Pod, Record};
use super::super::sentence::Sentence;
use super::super::words;
use super::{Origin, Step};
use crate::units::{SimDuration, SimTime};

/// The condition is written within this time of the try.
const TOLD_WITHIN: SimDuration = SimDuration::from_secs(5);

/// What the scheduler says stands in the way, and what would remove it.
const REMEDIES: &[(&str, &str)] = &[
    ("Insufficient ", "smaller requests, or a node with that much more free"),
    ("Too many pods", "a node that takes more pods"),
    ("untolerated taint", "a toleration for the taint, or a node without it"),
    ("node(s) were unschedulable", "`kubectl uncordon` of the nodes that are cordoned"),
    ("match Pod's node affinity/selector", "a node with the labels that its node selector or affinity asks for"),
    ("scheduler-enforced node affinity", "a node that the scheduler's `addedAffinity` asks for"),
    ("match pod affinity rules", "room where the pods are that it has to be with"),
    ("anti-affinity rules", "a place without the pods that it may not be with, or a rule that is only preferred"),
    ("missing required label", "nodes with the label of its spread constraint's topologyKey"),
    ("topology spread constraints", "room where fewer of its pods are, a greater maxSkew, or `ScheduleAnyway`"),
    ("free ports", "a node on which its host port is free, or no host port"),
    (" not found", "the claim that it names"),
    ("unbound immediate PersistentVolumeClaims", "a volume, or a class with a provisioner, for its claim"),
    ("available persistent volumes to bind", "a volume that fits its claim, or a class with a provisioner"),
    ("PersistentVolume's node affinity", "room on a node that its volume can be reached from"),
    ("available volume zone", "room in the zone of its volume"),
    ("exceed max volume count", "a node that takes another volume"),
    ("no available disk", "the end of the pod that has its disk"),
    ("ReadWriteOncePod", "the end of the pod that has its volume, or a volume that several may use"),
    ("non-existent pv", "the volume that its claim is bound to"),
    ("no nodes available", "a node"),
    ("scheduling gates", "that whoever set its scheduling gates takes them away"),
];

/// What would help, by what the scheduler says.
pub(super) fn remedies(message: &str) -> Vec<&'static str> {
    let message = words::first_half(message);
    REMEDIES.iter().filter(|(reason, _)| message.contains(reason)).map(|(_, remedy)| *remedy).collect()
}

/// What is told of a pod's wait for a node; nothing if it got one at once.
pub(super) fn facts(record: &Record, pod: &Pod) -> Vec<Sentence> {
    let over = pod.scheduled.or_else(|| pod.ended()).unwrap_or(record.end);
    let is_of = |event: &&Event| event.reason == "FailedScheduling" && (pod.created..=over).contains(&event.at);
    let tries: Vec<&Event> = record.events_about(&pod.name).iter().filter(is_of).collect();
    let first = tries.first().filter(|first| {
        tries.last().is_some_and(|last| words::first_half(&first.message) != words::first_half(&last.message))
    });
    let (at, message) = match tries.last() {
        Some(last) => (Some(last.at), last.message.clone()),
        None if pod.scheduled.is_some() || pod.node.is_some() => return Vec::new(),
        None => match without_event(record, pod) {
            Some((at, message)) => (Some(at), message),
            None => (None, "no scheduler has tried to place it".to_owned()),
        },
    };
    let mut said = Sentence::new("Pending without a node from ").at(pod.created);
    said = match pod.scheduled.or_else(|| pod.ended()) {
        Some(until) => said.text(" to ").at(until),
        None => said.text(" to the end of the run"),
    };
    said = said.text(" (").lasting(over.saturating_since(pod.created)).text(")");
    if pod.initial && pod.created == SimTime::ZERO {
        said = said.text(", as it was when the run began");
    }
    said = match at {
        Some(at) => {
            said = match first {
                Some(first) => {
                    let message = words::first_half(&first.message);
                    said.text("; what the scheduler said first, at ")
                        .at(first.at)
                        .text(format!(": {message}; and last, at "))
                }
                None => said.text("; what the scheduler said last, at "),
            };
            said.at(at).text(format!(": {}", words::first_half(&message)))
        }
        None => said.text(format!("; {message}")),
    };
    let mut facts = vec![said];
    let helps = remedies(&message);
    if pod.scheduled.is_some() {
        facts.extend(got_going(record, pod, at));
    } else if !helps.is_empty() {
        facts.push(Sentence::new(format!("What would help: {}", helps.join("; "))));
    }
    facts
}

/// The scheduler's first failed try, where no row of `causes.csv` tells of it: of a pod that had waited before the run began no change
/// does, as long as the scheduler says the same.
pub(super) fn first_try(record: &Record, pod: &Pod) -> Option<Step> {
    let over = pod.scheduled.or_else(|| pod.ended()).unwrap_or(record.end);
    let is_try = |event: &&Event| event.reason == "FailedScheduling" && (pod.created..=over).contains(&event.at);
    let first = record.events_about(&pod.name).iter().find(is_try)?;
    let mut rows = record.causes.about(&pod.name).iter().map(|row| &record.causes.effects[*row]);
    let is_told = rows.any(|row| {
        (pod.created..=first.at + TOLD_WITHIN).contains(&row.at) && row.what.contains(" PodScheduled=False (")
    });
    let says = Sentence::new(format!("No node takes it: {}", words::first_half(&first.message)));
    (!is_told).then(|| Step { at: first.at, says, because: Vec::new(), origin: pod.initial.then_some(Origin::Start) })
}

/// What `causes.csv` says that stands in the way, where no event does, as of scheduling gates.
fn without_event(record: &Record, pod: &Pod) -> Option<(SimTime, String)> {
    let rows = record.causes.about(&pod.name).iter().rev().map(|row| &record.causes.effects[*row]);
    let said = rows.filter(|effect| effect.at >= pod.created);
    said.filter_map(|effect| {
        Some((effect.at, effect.what.split_once(" PodScheduled=False (")?.1.split_once("): ")?.1.to_owned()))
    })
    .next()
}

/// What the binding of a pod that had waited follows from.
fn got_going(record: &Record, pod: &Pod, last_try: Option<SimTime>) -> Option<Sentence> {
    let causes = &record.causes;
    let is_binding = |row: &usize| {
        Some(causes.effects[*row].at) == pod.scheduled && causes.effects[*row].what.contains(" bound to ")
    };
    let row = causes.about(&pod.name).iter().copied().find(is_binding)?;
    let cause = causes.effects[row].cause;
    if let Some(cause) = cause.filter(|cause| object_of(&causes.effects[*cause].what) != Some(pod.name.as_str())) {
        let said = Sentence::new("It got a node because at ").at(causes.effects[cause].at).text(": ");
        return Some(said.then(words::clause(causes, cause)));
    }
    // It was tried again by the clock: what is new is the node.
    let node = pod.node.as_ref()?;
    let changes = record.nodes.get(node)?;
    let is_new = |pair: &&[super::super::record::NodeChange]| {
        let (before, after) = (&pair[0], &pair[1]);
        (before.ready != "True" || before.unschedulable) && after.ready == "True" && !after.unschedulable
    };
    let first =
        changes.first().filter(|change| change.at > SimTime::ZERO && change.ready == "True").map(|change| change.at);
    let since = changes.windows(2).filter(is_new).map(|pair| pair[1].at).chain(first);
    let since = since.filter(|at| Some(*at) <= pod.scheduled && Some(*at) >= last_try).max()?;
    Some(
        Sentence::new("It got a node when it was tried again: ")
            .object(format!("node/{node}"))
            .text(" was there since ")
            .at(since),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_help_follows_from_what_stands_in_the_way() {
        let check = |message: &str, expected: &[&str]| {
            let found = remedies(message);
            assert_eq!(found.len(), expected.len(), "{message}: {found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.contains(expected), "{message}: {found:?}");
            }
        };
        let preemption = "no new claims to deallocate, preemption: 0/4 nodes are available: 4 Insufficient cpu.";
        check(&format!("0/4 nodes are available: 4 Too many pods. {preemption}"), &["more pods"]);
        check(
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s).",
            &["requests", "toleration"],
        );
        check("0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.", &["labels"]);
        check("0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports.", &["host port"]);
        check("no nodes available to schedule pods", &["a node"]);
    }
}
