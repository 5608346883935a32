//! What rows say, as sentences for people; the page says the same in the same words.

use super::causes::{Causes, object_of};
use super::sentence::Sentence;

/// Machines and pods of a fault that are named; the rest is counted.
const HIT_MAX: usize = 3;

/// What a cause of deletion means for the pod, as the beginning of a sentence.
pub(super) fn deletion(cause: &str, taken_away: bool) -> String {
    let text = match cause {
        "TaintManagerEviction" => "Evicted by the taint eviction controller",
        "EvictionByEvictionAPI" => "Evicted through the eviction API, as drains do",
        "DeletionByPodGC" => "Deleted by the pod garbage collector, as its node is gone",
        "PreemptionByScheduler" => "Preempted by the scheduler for a pod of higher priority",
        "TerminationByKubelet" => "Ended by its kubelet",
        "NodePressure" => "Evicted by its kubelet for lack of resources",
        "ScaleDown" => "Deleted by its controller, which was to have fewer pods",
        "RollingUpdate" => "Deleted by its controller for a pod of the new template",
        "DaemonSetController" => "Deleted by the DaemonSet controller",
        "OwnerDeleted" => "Deleted by the garbage collector, as its owner is gone",
        "Kubectl" if taken_away => "Killed by a fault",
        "Kubectl" => "Deleted by kubectl",
        "Completed" => "Deleted after it had ended",
        "" => "Gone",
        other => return format!("Deleted ({other})"),
    };
    text.to_owned()
}

/// A row of `causes.csv` as a sentence about its object; none if it says nothing to people.
pub(super) fn says(causes: &Causes, effect: usize) -> Option<Sentence> {
    let what = &causes.effects[effect].what;
    let Some(object) = object_of(what).filter(|object| what.starts_with(object)) else {
        return Some(Sentence::new(action(what)));
    };
    let rest = what[object.len()..].trim_start();
    if let Some(node) = rest.strip_prefix("bound to ") {
        return Some(Sentence::new("Bound to ").object(format!("node/{node}")).text(" by the scheduler"));
    }
    let text = match rest {
        "" | "conditions changed" | "nominated" => return None,
        "Ready=True" => "Ready".to_owned(),
        // A pod that has just been bound is told not to be Ready, too.
        "Ready=False" => was_ready(causes, object, effect).then(|| "No longer Ready".to_owned())?,
        "is Running" => "Its containers run".to_owned(),
        "is Failed" => "Ended as Failed".to_owned(),
        "is Succeeded" => "Ended as Succeeded".to_owned(),
        "gone" => "Its object left the API".to_owned(),
        "deleted" => "Its object was deleted".to_owned(),
        _ => of_node(causes, object, effect, rest).or_else(|| of_pod(rest)).unwrap_or_else(|| capitalized(rest)),
    };
    Some(Sentence::new(text))
}

/// The same of an object that is not the one that is spoken of: with its name.
pub(super) fn clause(causes: &Causes, effect: usize) -> Sentence {
    let what = &causes.effects[effect].what;
    let said = says(causes, effect);
    match object_of(what).filter(|object| what.starts_with(object)) {
        None => said.unwrap_or_default(),
        Some(object) => {
            let said = said.unwrap_or_else(|| Sentence::new("Its conditions changed"));
            Sentence::default().object(object).text(": ").then(said)
        }
    }
}

fn was_ready(causes: &Causes, object: &str, effect: usize) -> bool {
    let rows = causes.about(object).iter().take_while(|index| **index < effect);
    let last_begin = rows.clone().filter(|index| causes.effects[**index].what.ends_with(" created")).last();
    // One that was there at t=0 has no row of its creation, and may have been Ready.
    last_begin.is_none_or(|begin| {
        rows.filter(|index| *index > begin).any(|index| causes.effects[*index].what.ends_with(" Ready=True"))
    })
}

/// What the timeline or a component did of its own.
fn action(what: &str) -> String {
    let Some(action) = what.strip_prefix("scenario: ") else { return what.to_owned() };
    let ending = [" begins", " ends"].into_iter().find(|ending| action.ends_with(ending)).unwrap_or_default();
    let Some((fault, hit)) = action[..action.len() - ending.len()].split_once(" of ") else { return action.to_owned() };
    let names: Vec<&str> = hit.split(", ").collect();
    if fault.contains(' ') || names.len() <= HIT_MAX + 1 {
        return action.to_owned();
    }
    format!("{fault} of {} and {} more{ending}", names[..HIT_MAX].join(", "), names.len() - HIT_MAX)
}

fn of_node(causes: &Causes, object: &str, effect: usize, rest: &str) -> Option<String> {
    if let Some(ready) = rest.strip_prefix("conditions changed, Ready=") {
        let before = causes.about(object).iter().rev().filter(|index| **index < effect);
        let mut before = before.filter_map(|index| causes.effects[*index].what.split_once(", Ready="));
        // Nodes are Ready when the run begins, unless told otherwise.
        let is_news = before.next().map_or("True", |(_, before)| before) != ready;
        let news = format!("Its condition Ready became {ready}");
        return Some(if is_news { news } else { "Its other conditions changed".to_owned() });
    }
    if !rest.starts_with(['+', '-']) {
        return None;
    }
    let told = rest.split(' ').filter_map(|word| {
        let taint = word.get(1..)?;
        Some(if word.starts_with('+') { format!("tainted {taint}") } else { format!("rid of {taint}") })
    });
    Some(capitalized(&told.collect::<Vec<_>>().join(", ")))
}

fn of_pod(rest: &str) -> Option<String> {
    if let Some(cause) = rest.strip_prefix("marked for deletion (").and_then(|cause| cause.strip_suffix(')')) {
        return Some(deletion(cause, false));
    }
    if let Some((_, message)) = rest.strip_prefix("PodScheduled=False (").and_then(|rest| rest.split_once("): ")) {
        return Some(format!("No node takes it: {}", first_half(message)));
    }
    if let Some(count) = rest.strip_prefix("has ").and_then(|rest| rest.strip_suffix(" ready endpoints")) {
        let noun = if count == "1" { "endpoint" } else { "endpoints" };
        return Some(format!("Has {count} ready {noun}"));
    }
    if let Some(container) =
        rest.strip_prefix("had a container that ").or(rest.strip_prefix("had an init container that "))
    {
        let which = if rest.starts_with("had an init") { "init container" } else { "container" };
        return Some(format!("Its {which} {container}"));
    }
    if let Some(waits) = rest.strip_prefix("waits: ") {
        let (reason, subject) = waits.trim_end_matches(')').split_once(" (")?;
        return Some(match reason {
            "CrashLoopBackOff" => {
                format!("Its container {subject} has ended too often, and is not started for now: {reason}")
            }
            _ => format!("The image {subject} is not pulled: {reason}"),
        });
    }
    let state = rest.strip_prefix("is Failed (")?.strip_suffix(')')?;
    Some(format!("Ended as Failed ({state})"))
}

/// Of what the scheduler says, what stands in the way, without what it says of preemption.
pub(super) fn first_half(message: &str) -> &str {
    let message = message.split(" preemption: ").next().unwrap_or(message);
    let message = message.strip_suffix(" no new claims to deallocate,").unwrap_or(message);
    message.trim_end_matches(['.', ' ', ','])
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
