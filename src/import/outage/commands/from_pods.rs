//! Pods that somebody deleted, as samples and events show it: a pod of a node that was well went, its owner made another one in its place,
//! and nothing else tells why.

use std::collections::BTreeMap;

use super::super::faults::{Confidence, Found};
use super::super::timeline::Timeline;
use super::{Action, Command, Commands, in_namespace, names, quoted};
use crate::arena::Symbol;
use crate::evidence::{Bounds, DeletedBy, Instant, PodName, What};
use crate::units::SimDuration;

/// A controller makes another pod so soon after one went.
const REPLACED: SimDuration = SimDuration::from_secs(30);
/// Faults of a node explain what happens to its pods for so long after they ended.
const AFTERMATH: SimDuration = SimDuration::from_secs(180);
/// Lines about a workload explain what happens to its pods for so long.
const AT_WORK: SimDuration = SimDuration::from_secs(600);

/// Workloads that make another pod for one that went.
const OWNERS: [&str; 4] = ["ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"];

pub(super) fn find(timeline: &Timeline<'_>, found: &Found, commands: &mut Commands) {
    let mut made: BTreeMap<(Symbol, Symbol, Symbol), Vec<Instant>> = BTreeMap::new();
    for seen in timeline.seen {
        if let What::PodCreated { pod, owner } = &seen.what
            && let Some((kind, name)) = owner.or_else(|| timeline.inventory.owner_of(*pod))
        {
            made.entry((pod.namespace, kind, name)).or_default().push(seen.when.latest);
        }
    }
    let mut deleted: Vec<Command> = Vec::new();
    for pod in timeline.pods() {
        let Some((kind, name)) = timeline.inventory.owner_of(pod).filter(|(kind, _)| OWNERS.contains(&kind.as_str()))
        else {
            continue;
        };
        let Some((when, evidence)) = went(pod, timeline) else { continue };
        let Some(node) = timeline.node_of(pod, when.earliest) else { continue };
        let is_lost = found.of_node(node).any(|fault| fault.covers(when, AFTERMATH));
        let deployment = timeline.inventory.deployment_of(pod.namespace, name);
        let about = [Some(node), Some(name), deployment];
        let is_asked = about.into_iter().flatten().any(|about| is_at_work(commands, when, about.as_str()));
        let makes = made.get_mut(&(pod.namespace, kind, name));
        let replacement = makes.and_then(|makes| {
            let is_it = |at: &Instant| *at >= when.earliest && *at <= when.latest.later(REPLACED);
            makes.iter().position(is_it).map(|place| makes.swap_remove(place))
        });
        if is_lost || is_asked || replacement.is_none() {
            continue;
        }
        let action = match timeline.inventory.selector_in_play(pod) {
            // Its name will be another one.
            Some(selector) => Action::KillPods { namespace: pod.namespace, selector: selector.to_owned(), count: 1 },
            None => {
                let line =
                    format!("delete pod {}{} --wait=false", quoted(pod.name.as_str()), in_namespace(pod.namespace));
                Action::Kubectl(line)
            }
        };
        let is_alike = |other: &&mut Command| other.when == when && is_of_same(&other.action, &action);
        if let Some(other) = deleted.iter_mut().find(is_alike)
            && let Action::KillPods { count, .. } = &mut other.action
        {
            *count += 1;
            other.evidence.extend(evidence);
            continue;
        }
        deleted.push(Command {
            when,
            action,
            by: None,
            confidence: Confidence::Guess,
            reason: "the pod went although its node was well, and another one was made in its place".to_owned(),
            evidence,
        });
    }
    deleted.into_iter().for_each(|command| commands.push(command));
}

/// Whether two actions take pods of one selector.
fn is_of_same(one: &Action, other: &Action) -> bool {
    match (one, other) {
        (
            Action::KillPods { namespace, selector, .. },
            Action::KillPods { namespace: of_other, selector: also, .. },
        ) => (namespace, selector) == (of_other, also),
        _ => false,
    }
}

/// When a pod was deleted by nobody who is known, and had not ended before.
fn went(pod: PodName, timeline: &Timeline<'_>) -> Option<(Bounds, Vec<usize>)> {
    let mut deletion = None;
    for (index, seen) in timeline.of_pod(pod) {
        match &seen.what {
            What::PodFinished { .. } if deletion.is_none() => return None,
            What::PodDeletion { by: DeletedBy::Unknown, .. } => deletion = deletion.or(Some((seen.when, index))),
            What::PodDeletion { .. } => return None,
            What::PodGone { .. } => {
                let (when, first) = deletion.unwrap_or((seen.when, index));
                return Some((when, if first == index { vec![index] } else { vec![first, index] }));
            }
            _ => {}
        }
    }
    None
}

/// Whether a line about something was typed so shortly before that it explains what became of its pods.
fn is_at_work(commands: &Commands, when: Bounds, about: &str) -> bool {
    commands.commands.iter().any(|command| {
        let Action::Kubectl(line) = &command.action else { return false };
        command.when.earliest <= when.latest
            && command.when.latest.later(AT_WORK) >= when.earliest
            && names(line, about)
    })
}
