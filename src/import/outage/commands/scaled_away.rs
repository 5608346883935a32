//! Which of a ReplicaSet's pods went when somebody scaled it down: among equal ones chance decides, so a play is told by their cost.

use super::super::faults::{Confidence, Found};
use super::super::timeline::Timeline;
use super::{Action, Command, Commands, in_namespace, names, quoted};
use crate::evidence::{Bounds, DeletedBy, PodName, What};
use crate::units::SimDuration;

/// Pods that a change of scale takes go so soon.
const SOON: SimDuration = SimDuration::from_secs(30);
/// The cost is known to the controller before it chooses.
const BEFORE: SimDuration = SimDuration::from_secs(1);
/// What the controller takes first; pods without the annotation cost nothing.
const COST: &str = "controller.kubernetes.io/pod-deletion-cost=-1";

/// # Source
/// kube-controller-manager, ReplicaSet controller, `ActivePodsWithRanks`: of pods that are scheduled and ready alike, those of the lower
/// `pod-deletion-cost` go first.
pub(super) fn find(timeline: &Timeline<'_>, found: &Found, commands: &mut Commands) {
    let mut costs: Vec<Command> = Vec::new();
    for command in &commands.commands {
        let Action::Kubectl(line) = &command.action else { continue };
        if !line.starts_with("scale ") {
            continue;
        }
        let taken: Vec<(PodName, usize)> = timeline
            .pods()
            .filter(|pod| is_of(line, *pod, timeline))
            .filter_map(|pod| Some((pod, went(pod, command.when, timeline, found)?)))
            .collect();
        let Some(&(first, _)) = taken.first() else { continue };
        let pods: Vec<String> = taken.iter().map(|(pod, _)| quoted(pod.name.as_str())).collect();
        let line = format!("annotate pod {} {COST}{}", pods.join(" "), in_namespace(first.namespace));
        costs.push(Command {
            when: Bounds {
                earliest: command.when.earliest.earlier(BEFORE),
                latest: command.when.latest.earlier(BEFORE),
            },
            action: Action::Kubectl(line),
            by: None,
            confidence: Confidence::Guess,
            reason: "nobody typed this: it makes the play scale away the pods that went, where chance would decide"
                .to_owned(),
            evidence: taken.into_iter().map(|(_, index)| index).collect(),
        });
    }
    costs.into_iter().for_each(|cost| commands.push(cost));
}

/// Whether a line scales what a pod is of, and the pod has its name in a play, too.
fn is_of(line: &str, pod: PodName, timeline: &Timeline<'_>) -> bool {
    let owner = timeline.inventory.owner_of(pod).filter(|(kind, _)| kind.as_str() == "ReplicaSet");
    let Some((_, replica_set)) = owner.filter(|_| timeline.inventory.pods.contains_key(&pod)) else { return false };
    let deployment = timeline.inventory.deployment_of(pod.namespace, replica_set);
    let namespace = in_namespace(pod.namespace);
    let is_there = if namespace.is_empty() { !line.contains(" -n ") } else { line.ends_with(&namespace) };
    is_there && [Some(replica_set), deployment].into_iter().flatten().any(|name| names(line, name.as_str()))
}

/// The sighting that a pod went after a change of scale, with its node well.
fn went(pod: PodName, scaled: Bounds, timeline: &Timeline<'_>, found: &Found) -> Option<usize> {
    let is_end = |what: &What| match what {
        What::PodDeletion { by, .. } => matches!(by, DeletedBy::Workload | DeletedBy::Unknown),
        What::PodGone { .. } => true,
        _ => false,
    };
    let (index, seen) = timeline.of_pod(pod).find(|(_, seen)| {
        matches!(seen.what, What::PodDeletion { .. } | What::PodGone { .. } | What::PodFinished { .. })
    })?;
    // What tells of the change may be what followed from it.
    let is_soon = seen.when.latest.later(BEFORE) >= scaled.earliest && seen.when.earliest <= scaled.latest.later(SOON);
    let is_lost = timeline
        .node_of(pod, seen.when.earliest)
        .is_some_and(|node| found.of_node(node).any(|fault| fault.covers(seen.when, SimDuration::ZERO)));
    (is_end(&seen.what) && is_soon && !is_lost).then_some(index)
}
