//! Pods that were gone at once, and nobody is known to have asked for it.

use super::{Confidence, Extra, Fault, Found, Hit};
use crate::evidence::{DeletedBy, PodName, What};
use crate::import::outage::commands::is_operators;
use crate::import::outage::timeline::Timeline;
use crate::units::SimDuration;

/// A pod that is gone so soon after its deletion had no grace: its kubelet would have taken longer.
const AT_ONCE: SimDuration = SimDuration::from_millis(200);
/// Times that are less exact cannot tell it.
const EXACT: SimDuration = SimDuration::from_millis(100);

/// Looks for them among pods whose nodes were well.
pub(super) fn find(timeline: &Timeline<'_>, found: &mut Found) {
    for pod in timeline.pods().collect::<Vec<_>>() {
        if let Some(fault) = killed(pod, timeline, found) {
            found.push(fault);
        }
    }
}

fn killed(pod: PodName, timeline: &Timeline<'_>, found: &Found) -> Option<Fault> {
    let deletion = timeline.of_pod(pod).find(|(_, seen)| {
        matches!(seen.what, What::PodDeletion { by: DeletedBy::Unknown | DeletedBy::Operator, .. })
    })?;
    let gone = timeline.of_pod(pod).find(|(_, seen)| matches!(seen.what, What::PodGone { .. }))?;
    let (asked, went) = (deletion.1.when, gone.1.when);
    let is_exact = asked.width() <= EXACT && went.width() <= EXACT;
    let is_at_once = went.latest.nanos_since(asked.earliest) <= AT_ONCE.as_nanos().cast_signed();
    let has_run = timeline.node_of(pod, asked.earliest)?;
    let is_cut_off = found.of_node(has_run).any(|fault| fault.covers(asked, SimDuration::from_secs(60)));
    let is_over = timeline.of_pod(pod).any(|(_, seen)| matches!(seen.what, What::PodFinished { .. }));
    if !is_exact || !is_at_once || is_cut_off || is_over || has_been_typed(pod, timeline) {
        return None;
    }
    let reason = match deletion.1.what {
        What::PodDeletion { by: DeletedBy::Operator, .. } => {
            "a program that is no part of Kubernetes deleted it without grace"
        }
        _ => "it was gone as soon as it was deleted, and nobody is known to have asked for it",
    };
    Some(Fault {
        kind: "PodKill",
        hit: Hit::Pod(pod),
        begin: asked,
        begin_guess: None,
        end: None,
        end_guess: None,
        extra: Extra::None,
        confidence: Confidence::Guess,
        reason: reason.to_owned(),
        alternatives: vec![],
        evidence: vec![deletion.0, gone.0],
    })
}

/// Whether a person, or a tool of one, asked for the deletion: that is a line of kubectl's.
fn has_been_typed(pod: PodName, timeline: &Timeline<'_>) -> bool {
    timeline.seen.iter().any(|seen| match &seen.what {
        What::Request(request) => {
            (request.verb.as_str(), request.resource.as_str()) == ("delete", "pods")
                && (request.namespace, request.name) == (pod.namespace, pod.name)
                && is_operators(request)
        }
        _ => false,
    })
}
