//! Nodes that look silent because the API server took no renewals: once it is back, the node lifecycle controller misses them all, and
//! their kubelets, which were well, say at once that they are Ready.

use super::control_plane::is_sign;
use super::silence::ANSWER_MAX;
use super::{Confidence, Extra, Fault, Found, Hit};
use crate::evidence::Bounds;
use crate::import::outage::timeline::Timeline;
use crate::model::ConditionStatus;
use crate::units::{SimDuration, counted};

/// Nodes are missed together if within a period of renewals and a pass.
const TOGETHER: SimDuration = SimDuration::from_secs(13);

/// A short silence of a node.
struct Blip {
    /// The place of its fault.
    at: usize,
    missed: Bounds,
}

/// Makes one outage of short silences of half of all nodes that were well.
pub(super) fn find(timeline: &Timeline<'_>, found: &mut Found) {
    let mut blips: Vec<Blip> = (0..found.faults.len()).filter_map(|at| blip(at, timeline, found)).collect();
    blips.sort_by_key(|blip| blip.missed);
    let mut taken = Vec::new();
    let mut outages = Vec::new();
    let mut start = 0;
    while start < blips.len() {
        let until = blips[start].missed.latest.later(TOGETHER);
        let end = start + blips[start..].partition_point(|blip| blip.missed.earliest <= until);
        let together = &blips[start..end];
        let well = timeline.inventory.nodes.len() - away(together[0].missed, together, found);
        if together.len() >= 2 && together.len() * 2 >= well {
            outages.push(outage(together, timeline, found));
            taken.extend(together.iter().map(|blip| blip.at));
            start = end;
        } else {
            start += 1;
        }
    }
    if !taken.is_empty() {
        found.remove(taken);
        outages.into_iter().for_each(|outage| found.push(outage));
    }
}

fn blip(at: usize, timeline: &Timeline<'_>, found: &Found) -> Option<Blip> {
    let fault = &found.faults[at];
    let node = fault.node()?;
    if fault.confidence == Confidence::Certain || !matches!(fault.kind, "Crash" | "Partition") {
        return None;
    }
    let turns = timeline.turns(node);
    let missed =
        turns.iter().position(|turn| turn.status == ConditionStatus::Unknown && fault.evidence.contains(&turn.seen))?;
    let back = turns.get(missed + 1).filter(|turn| turn.status == ConditionStatus::True)?;
    let missed = turns[missed].when;
    let took = back.when.earliest.nanos_since(missed.latest);
    (took <= ANSWER_MAX.as_nanos().cast_signed()).then_some(Blip { at, missed })
}

/// How many other nodes were away at that time.
fn away(when: Bounds, together: &[Blip], found: &Found) -> usize {
    let is_other = |at: &usize| together.iter().all(|blip| blip.at != *at);
    let others = (0..found.faults.len()).filter(is_other).map(|at| &found.faults[at]);
    let nodes: std::collections::BTreeSet<_> =
        others.filter(|fault| fault.covers(when, SimDuration::ZERO)).filter_map(Fault::node).collect();
    nodes.len()
}

fn outage(together: &[Blip], timeline: &Timeline<'_>, found: &Found) -> Fault {
    let faults = || together.iter().map(|blip| &found.faults[blip.at]);
    let first = together[0].missed;
    let mut begin = faults().map(|fault| fault.begin).reduce(|all, one| all.and(one).unwrap_or(all)).unwrap_or(first);
    let mut evidence: Vec<usize> = faults().flat_map(|fault| fault.evidence.iter().copied()).collect();
    let guess = begin.middle();
    // Nobody can be missed while nothing is written: it may have been away for longer.
    let sign = timeline
        .seen
        .iter()
        .enumerate()
        .rev()
        .find(|(_, seen)| seen.when.latest < first.earliest && is_sign("kube-apiserver", seen, timeline));
    if let Some((index, sign)) = sign {
        evidence.push(index);
        begin.earliest = begin.earliest.min(sign.when.earliest);
    }
    begin.latest = begin.latest.min(first.latest);
    let end = Bounds { earliest: begin.earliest, latest: first.latest };
    Fault {
        kind: "ControlPlaneOutage",
        hit: Hit::Process("kube-apiserver"),
        begin,
        begin_guess: Some(guess),
        end: Some(end),
        end_guess: Some(first.earliest),
        extra: Extra::None,
        confidence: Confidence::Guess,
        reason: format!(
            "{} were missed together and said at once that they were well",
            counted(together.len(), "node", "nodes")
        ),
        alternatives: vec!["Partition"],
        evidence,
    }
}
