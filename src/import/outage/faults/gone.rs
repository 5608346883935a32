//! Machines that the cloud, or an autoscaler, took away without anybody having missed a heartbeat.

use super::{Confidence, Extra, Fault, Found, Hit};
use crate::arena::Symbol;
use crate::evidence::{Bounds, RecordKind, What};
use crate::import::outage::timeline::Timeline;
use crate::units::SimDuration;

/// The machine went so long before its Node was removed, at most: the cloud's controller asks every five seconds about nodes that are not
/// Ready, and a kubelet that is gone is missed before.
const BEFORE: SimDuration = SimDuration::from_secs(65);
/// Near what explains it already.
const NEAR: SimDuration = SimDuration::from_secs(600);

/// Removals of a Node that a part of the cluster asked for, as audit logs tell them; and those of which samples alone tell, which name nobody.
pub(super) fn removals(node: Symbol, timeline: &Timeline<'_>) -> impl Iterator<Item = (usize, Bounds)> {
    let of_clouds = |user: &str| {
        ["cloud", "node-controller", "autoscaler", "karpenter", "machine-api"].iter().any(|part| user.contains(part))
    };
    let sampled = timeline.of_node(node).filter(|(_, seen)| {
        let is_gone = matches!(seen.what, What::NodePresent { is_present: false, .. });
        is_gone && timeline.records_of(seen).all(|kind| kind == RecordKind::Metrics)
    });
    let asked = timeline.requests_about(node).filter_map(move |(index, request)| {
        let is_removal = request.verb.as_str() == "delete" && request.subresource.is_empty() && request.code < 400;
        let is_theirs = of_clouds(request.user.as_str()) || of_clouds(request.agent.as_str());
        (is_removal && is_theirs).then(|| (index, timeline.seen[index].when))
    });
    asked.chain(sampled.map(|(index, seen)| (index, seen.when)))
}

/// Looks for them on a node.
pub(super) fn find(node: Symbol, timeline: &Timeline<'_>, found: &mut Found) {
    let told = timeline.of_node(node).filter(|(_, seen)| matches!(seen.what, What::InstanceGone { .. }));
    let mut gone: Vec<(usize, Bounds)> = told.map(|(index, seen)| (index, seen.when)).collect();
    gone.extend(removals(node, timeline));
    gone.sort_by_key(|(_, when)| *when);
    for (index, when) in gone {
        if found.explained.contains(&index) || found.of_node(node).any(|fault| fault.covers(when, NEAR)) {
            found.explained.insert(index);
            continue;
        }
        let removed = timeline.first_of_node(node, when.earliest.earlier(BEFORE), |what| {
            matches!(what, What::NodePresent { is_present: false, .. })
        });
        let mut evidence = vec![index];
        evidence.extend(removed.map(|(index, _)| index));
        found.push(Fault {
            kind: "InstanceGone",
            hit: Hit::Node(node),
            begin: Bounds { earliest: when.earliest.earlier(BEFORE), latest: when.latest },
            begin_guess: None,
            end: None,
            end_guess: None,
            extra: Extra::None,
            confidence: Confidence::Likely,
            reason: "its Node was removed by the cloud or an autoscaler".to_owned(),
            alternatives: vec![],
            evidence,
        });
    }
}
