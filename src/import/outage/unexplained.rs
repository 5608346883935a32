//! What nobody knows the reason of.

use std::collections::BTreeSet;

use super::commands::{Action, Commands};
use super::faults::Found;
use super::timeline::Timeline;
use crate::evidence::{Bounds, DeletedBy, Instant, PodName, What};
use crate::model::ConditionStatus;
use crate::units::SimDuration;

/// A fault explains what becomes of its node's pods for so long after its end.
const AFTER_FAULT: SimDuration = SimDuration::from_secs(120);
/// A rollout or a change of replicas explains what becomes of its pods for so long.
const AFTER_CHANGE: SimDuration = SimDuration::from_secs(900);

/// What was seen from t=0 on and has no known cause, a sentence each, by time.
pub(super) fn unexplained(timeline: &Timeline<'_>, found: &Found, commands: &Commands, t0: Instant) -> Vec<String> {
    let mut lines: Vec<(Instant, String)> = Vec::new();
    let mut told: BTreeSet<PodName> = BTreeSet::new();
    for (index, seen) in timeline.seen.iter().enumerate() {
        if seen.when.latest < t0 || found.explained.contains(&index) || commands.explained.contains(&index) {
            continue;
        }
        let line = match &seen.what {
            What::PodDeletion { pod, by, .. } if !told.contains(pod) => {
                deletion(*pod, *by, seen.when, timeline, found, commands)
            }
            What::PodGone { pod } if !told.contains(pod) => {
                let is_asked = timeline
                    .of_pod(*pod)
                    .any(|(_, seen)| matches!(seen.what, What::PodDeletion { .. } | What::PodFinished { .. }));
                let node = timeline.node_of(*pod, seen.when.earliest);
                let is_of_node =
                    node.is_some_and(|node| found.of_node(node).any(|fault| fault.covers(seen.when, AFTER_CHANGE)));
                (!is_asked && !is_of_node && !is_of_change(*pod, seen.when, timeline, commands))
                    .then(|| format!("pod {}/{} was gone, and nobody knows why", pod.namespace, pod.name))
            }
            What::NodeReady { node, status: ConditionStatus::True, .. }
                if timeline.turns(*node).first().is_some_and(|turn| turn.seen == index)
                    && timeline.inventory.nodes.contains_key(node) =>
            {
                Some(format!("node {node} was Ready again; when it went is not recorded"))
            }
            What::NodePresent { node, is_present: false } => {
                Some(format!("node {node} was removed, and nobody knows by whom"))
            }
            _ => None,
        };
        if let Some(line) = line {
            told.extend(seen.what.pod());
            lines.push((seen.when.middle(), line));
        }
    }
    let mut all: Vec<String> = lines.into_iter().map(|(at, line)| format!("{at}: {line}")).collect();
    all.extend(found.remarks.iter().cloned());
    all.extend(commands.remarks.iter().cloned());
    all
}

fn deletion(
    pod: PodName,
    by: DeletedBy,
    when: Bounds,
    timeline: &Timeline<'_>,
    found: &Found,
    commands: &Commands,
) -> Option<String> {
    let PodName { namespace, name } = pod;
    let node = timeline.node_of(pod, when.earliest);
    let is_of_node = node.is_some_and(|node| found.of_node(node).any(|fault| fault.covers(when, AFTER_FAULT)));
    let is_of_command = is_of_change(pod, when, timeline, commands);
    let is_tainted = node.is_some_and(|node| {
        let is_taint = |what: &What| matches!(what, What::NodeTaint { effect, is_present: true, .. } if effect.as_str() == "NoExecute");
        timeline.last_of_node(node, when.latest, is_taint).is_some()
    });
    match by {
        // Their reasons lie in the cluster: they come about in a play as well.
        DeletedBy::Workload | DeletedBy::Preemption | DeletedBy::PodGC | DeletedBy::Kubelet => None,
        DeletedBy::TaintManager if is_of_node || is_of_command || is_tainted => None,
        DeletedBy::TaintManager => {
            Some(format!("pod {namespace}/{name} was deleted for a taint of its node; who set it is not recorded"))
        }
        _ if is_of_node || is_of_command => None,
        DeletedBy::Eviction => Some(format!("pod {namespace}/{name} was evicted, and nobody knows by whom")),
        DeletedBy::Operator | DeletedBy::Unknown => {
            Some(format!("pod {namespace}/{name} was deleted, and nobody knows by whom"))
        }
    }
}

/// Whether a line of kubectl is about the pod, its node or its workload.
fn is_of_change(pod: PodName, when: Bounds, timeline: &Timeline<'_>, commands: &Commands) -> bool {
    let owner = timeline.inventory.owner_of(pod).map(|(_, name)| name);
    let deployment = owner.and_then(|owner| timeline.inventory.deployment_of(pod.namespace, owner));
    let node = timeline.node_of(pod, when.earliest);
    let words: Vec<&str> = [Some(pod.name), owner, deployment, node, Some(pod.namespace)]
        .into_iter()
        .flatten()
        .map(crate::arena::Symbol::as_str)
        .collect();
    commands.commands.iter().any(|command| {
        let Action::Kubectl(line) = &command.action else { return false };
        let is_then = command.when.earliest <= when.latest && command.when.latest.later(AFTER_CHANGE) >= when.earliest;
        is_then && line.split([' ', '/']).any(|word| words.contains(&word) && !matches!(word, "default"))
    })
}
