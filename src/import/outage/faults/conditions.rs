//! Conditions that a kubelet posts itself: without delay, so that the fault begins when they do.

use super::{Confidence, Extra, Fault, Found, Hit};
use crate::arena::Symbol;
use crate::evidence::{Bounds, Reporter, What};
use crate::import::outage::timeline::Timeline;
use crate::model::ConditionStatus;
use crate::units::SimDuration;

/// The period in which a kubelet looks at its node, with jitter.
const STATUS_PERIOD: SimDuration = SimDuration::from_millis(10_500);
/// A node that is not Ready for so long once it is heard again is more than booting.
const BOOTING_MAX: SimDuration = SimDuration::from_secs(120);
/// A kubelet tells that its machine has booted anew so long after it is Ready again, at most.
const AFTER_BOOT: SimDuration = SimDuration::from_secs(120);

/// Conditions other than Ready, the taints that go with them, and the faults that they are.
const CONDITIONS: [(&str, &str, &str); 4] = [
    ("MemoryPressure", "node.kubernetes.io/memory-pressure", "MemoryPressure"),
    ("DiskPressure", "node.kubernetes.io/disk-pressure", "DiskPressure"),
    ("PIDPressure", "node.kubernetes.io/pid-pressure", "PIDPressure"),
    ("NetworkUnavailable", "node.kubernetes.io/network-unavailable", "NetworkUnavailable"),
];

/// Looks for them on a node.
pub(super) fn find(node: Symbol, timeline: &Timeline<'_>, found: &mut Found) {
    not_ready(node, timeline, found);
    for (condition, taint, kind) in CONDITIONS {
        pressure(node, condition, taint, kind, timeline, found);
    }
}

fn not_ready(node: Symbol, timeline: &Timeline<'_>, found: &mut Found) {
    let turns = timeline.turns(node);
    for (at, turn) in turns.iter().enumerate() {
        if turn.status != ConditionStatus::False || found.explained.contains(&turn.seen) {
            continue;
        }
        let next = turns.get(at + 1);
        let is_after_silence = at > 0 && turns[at - 1].status == ConditionStatus::Unknown;
        let lasted = next.map(|next| next.when.earliest.nanos_since(turn.when.latest));
        let is_booting = |lasted: i64| lasted < BOOTING_MAX.as_nanos().cast_signed();
        if is_after_silence && lasted.is_none_or(is_booting) || joins(node, turn.when, timeline) {
            continue;
        }
        // A machine that shuts down says so first; the silence after it is that fault's.
        if next.is_some_and(|next| found.faults.iter().any(|fault| is_shutdown(fault, node, next.seen))) {
            continue;
        }
        // The controller tells of a silence only if the node was Ready before.
        let until = next.map(|next| next.when.latest.later(AFTER_BOOT));
        let rebooted = timeline.of_node(node).find(|(_, seen)| {
            matches!(seen.what, What::Rebooted { .. })
                && seen.when.latest >= turn.when.earliest
                && until.is_none_or(|until| seen.when.earliest <= until)
        });
        let (kind, extra, alternatives) = match rebooted {
            Some(_) => ("GracefulShutdown", Extra::Boot(SimDuration::ZERO), vec!["NotReady"]),
            None => ("NotReady", Extra::None, vec![]),
        };
        let (confidence, reason) = match turn.by {
            _ if rebooted.is_some() => (
                Confidence::Likely,
                "the kubelet said that it was not Ready, and the machine had booted anew after that",
            ),
            Reporter::Kubelet => (Confidence::Certain, "the kubelet itself said that it was not Ready"),
            _ => (Confidence::Likely, "Ready turned False, which only a kubelet says"),
        };
        let mut evidence = vec![turn.seen];
        evidence.extend(next.map(|next| next.seen));
        evidence.extend(rebooted.map(|(index, _)| index));
        found.push(Fault {
            kind,
            hit: Hit::Node(node),
            begin: posted(turn.when),
            // As a play has it: a kubelet posts what changes at once.
            begin_guess: Some(turn.when.middle()),
            end: next.map(|next| posted(next.when)),
            end_guess: next.map(|next| next.when.middle()),
            extra,
            confidence,
            reason: reason.to_owned(),
            alternatives,
            evidence,
        });
    }
}

fn is_shutdown(fault: &Fault, node: Symbol, seen: usize) -> bool {
    fault.kind == "GracefulShutdown" && fault.hit == Hit::Node(node) && fault.evidence.contains(&seen)
}

/// A node that joins is not Ready at first.
fn joins(node: Symbol, when: Bounds, timeline: &Timeline<'_>) -> bool {
    let from = when.earliest.earlier(BOOTING_MAX);
    let made = timeline.first_of_node(node, from, |what| matches!(what, What::NodePresent { is_present: true, .. }));
    let is_known = timeline.inventory.nodes.get(&node).and_then(|known| known.created).is_some_and(|at| at < from);
    !is_known && made.is_some_and(|(_, seen)| seen.when.earliest <= when.latest)
}

/// What a kubelet posts was so when it looked, up to a period ago.
fn posted(when: Bounds) -> Bounds {
    Bounds { earliest: when.earliest.earlier(STATUS_PERIOD), latest: when.latest }
}

fn pressure(
    node: Symbol,
    condition: &str,
    taint: &str,
    kind: &'static str,
    timeline: &Timeline<'_>,
    found: &mut Found,
) {
    let is_condition =
        |what: &What| matches!(what, What::NodeCondition { condition: of, .. } if of.as_str() == condition);
    let has_condition = timeline.of_node(node).any(|(_, seen)| is_condition(&seen.what));
    let mut open: Option<Fault> = None;
    for (index, seen) in timeline.of_node(node) {
        let is_on = match &seen.what {
            What::NodeCondition { condition: of, status, .. } if of.as_str() == condition => match status {
                ConditionStatus::True => true,
                ConditionStatus::False => false,
                // The controller says it of a node that is silent.
                ConditionStatus::Unknown => continue,
            },
            What::NodeTaint { key, is_present, .. } if !has_condition && key.as_str() == taint => *is_present,
            _ => continue,
        };
        match (&mut open, is_on) {
            (None, true) => {
                open = Some(Fault {
                    kind,
                    hit: Hit::Node(node),
                    begin: posted(seen.when),
                    begin_guess: Some(seen.when.middle()),
                    end: None,
                    end_guess: None,
                    extra: Extra::None,
                    confidence: Confidence::Certain,
                    reason: if has_condition { "the node had this condition" } else { "the node had the taint of it" }
                        .to_owned(),
                    alternatives: vec![],
                    evidence: vec![index],
                });
            }
            (Some(_), false) => {
                let mut fault = open.take().expect("it is open");
                fault.end = Some(posted(seen.when));
                fault.end_guess = Some(seen.when.middle());
                fault.evidence.push(index);
                found.push(fault);
            }
            (Some(fault), true) => fault.evidence.push(index),
            (None, false) => {}
        }
    }
    if let Some(fault) = open {
        found.push(fault);
    }
}
