//! What a cloud announces.

use super::{Confidence, Extra, Fault, Found, Hit};
use crate::arena::Symbol;
use crate::evidence::{Bounds, DeletedBy, Instant, Notice, What};
use crate::import::outage::timeline::Timeline;
use crate::model::ConditionStatus;
use crate::units::SimDuration;

/// From the warning to the end of the instance where the notice does not say it.
///
/// # Source
/// AWS, EC2 Spot: two minutes.
const NOTICE: SimDuration = SimDuration::from_secs(120);
/// For so long after its end the silence of a machine is that of its end.
const AFTERMATH: SimDuration = SimDuration::from_secs(600);

/// Looks for notices of a node's machine that it will be, or was, taken away.
pub(super) fn find(node: Symbol, timeline: &Timeline<'_>, found: &mut Found) {
    let mut until: Option<Instant> = None;
    for (index, seen) in timeline.of_node(node) {
        let What::CloudNotice { notice, deadline, .. } = &seen.what else { continue };
        if until.is_some_and(|until| seen.when.earliest <= until) {
            continue;
        }
        match notice {
            Notice::SpotInterruption => until = spot(node, index, seen.when, *deadline, timeline, found),
            Notice::Termination => until = termination(node, index, seen.when, *deadline, timeline, found),
            _ => {}
        }
    }
}

/// What shows that a machine was gone, from a time on: none if it was heard all the while.
fn went(node: Symbol, from: Instant, until: Instant, timeline: &Timeline<'_>) -> Vec<usize> {
    let is_trace = |what: &What| {
        matches!(
            what,
            What::NodeReady { status: ConditionStatus::Unknown | ConditionStatus::False, .. }
                | What::NodePresent { is_present: false, .. }
                | What::InstanceGone { .. }
                | What::CloudNotice { notice: Notice::Stopping | Notice::Stopped, .. }
        )
    };
    let of_node = timeline.of_node(node);
    of_node
        .filter(|(_, seen)| seen.when.latest >= from && seen.when.earliest <= until && is_trace(&seen.what))
        .map(|(index, _)| index)
        .collect()
}

fn spot(
    node: Symbol,
    index: usize,
    when: Bounds,
    deadline: Option<Instant>,
    timeline: &Timeline<'_>,
    found: &mut Found,
) -> Option<Instant> {
    let notice = deadline.map_or(NOTICE, |deadline| {
        SimDuration::from_nanos(u64::try_from(deadline.nanos_since(when.middle())).unwrap_or(0))
    });
    let end = when.latest.later(notice);
    let traces = went(node, when.earliest, end.later(AFTERMATH), timeline);
    if traces.is_empty() {
        let remark = format!(
            "node {node}: the cloud announced a spot interruption at {}, and nothing came of it",
            when.middle()
        );
        found.remarks.push(remark);
        found.explained.insert(index);
        return Some(end);
    }
    let is_cordoned = timeline
        .first_of_node(node, when.earliest, |what| matches!(what, What::NodeSchedulable { is_schedulable: false, .. }))
        .is_some_and(|(_, seen)| seen.when.earliest <= end);
    let is_evicted = timeline.pods_of(node).iter().any(|pod| {
        timeline.of_pod(*pod).any(|(_, seen)| {
            matches!(seen.what, What::PodDeletion { by: DeletedBy::Eviction, .. })
                && seen.when.latest >= when.earliest
                && seen.when.earliest <= end
        })
    });
    let mut evidence = vec![index];
    evidence.extend(traces);
    found.push(Fault {
        kind: "SpotInterruption",
        hit: Hit::Node(node),
        begin: when,
        begin_guess: None,
        end: None,
        end_guess: None,
        extra: Extra::Notice { notice, drain: is_cordoned || is_evicted },
        confidence: Confidence::Certain,
        reason: "the cloud announced it, and the node went".to_owned(),
        alternatives: vec![],
        evidence,
    });
    Some(end.later(AFTERMATH))
}

fn termination(
    node: Symbol,
    index: usize,
    when: Bounds,
    deadline: Option<Instant>,
    timeline: &Timeline<'_>,
    found: &mut Found,
) -> Option<Instant> {
    let expected = deadline.unwrap_or(when.latest).max(when.earliest);
    let until = expected.later(AFTERMATH);
    let traces = went(node, when.earliest, until, timeline);
    let is_gone = |seen: &usize| {
        matches!(
            timeline.seen[*seen].what,
            What::NodePresent { .. } | What::InstanceGone { .. } | What::CloudNotice { notice: Notice::Stopped, .. }
        )
    };
    if !traces.iter().any(is_gone) {
        return None;
    }
    let stopped = traces
        .iter()
        .map(|seen| &timeline.seen[*seen])
        .find(|seen| matches!(seen.what, What::CloudNotice { notice: Notice::Stopping | Notice::Stopped, .. }));
    let first = traces.iter().map(|seen| timeline.seen[*seen].when.latest).min().unwrap_or(until);
    let begin = stopped.map_or(Bounds::between(when.earliest, first.max(when.earliest)), |seen| seen.when);
    let mut evidence = vec![index];
    evidence.extend(traces);
    found.push(Fault {
        kind: "InstanceGone",
        hit: Hit::Node(node),
        begin,
        begin_guess: None,
        end: None,
        end_guess: None,
        extra: Extra::None,
        confidence: Confidence::Certain,
        reason: "the cloud announced it, and the node went for good".to_owned(),
        alternatives: vec![],
        evidence,
    });
    Some(until)
}
