//! Processes of the control plane that were away: what they do when they begin anew, and the silence before.

use std::collections::{BTreeMap, BTreeSet};

use super::silence::RENEWAL_MAX;
use super::{Confidence, Extra, Fault, Found, Hit};
use crate::evidence::{Bounds, DeletedBy, Instant, RecordKind, Reporter, What};
use crate::import::outage::sources::Seen;
use crate::import::outage::timeline::Timeline;
use crate::units::{SimDuration, counted};

/// The processes that faults can stop.
const PROCESSES: [&str; 3] = [API_SERVER, "kube-controller-manager", "kube-scheduler"];
const API_SERVER: &str = "kube-apiserver";
/// Another process than the one that began anew was away.
const API_SERVER_AWAY: &str = "ControlPlaneOutage of kube-apiserver";
/// A controller manager that begins anew registers all nodes within so long.
const REGISTRATION: SimDuration = SimDuration::from_secs(15);
/// A node that is younger is registered for the first time.
const YOUNG: SimDuration = SimDuration::from_secs(60);
/// Starts that lie closer together are one.
const ONE_START: SimDuration = SimDuration::from_secs(30);
/// How long a process is away where nothing tells it: about what a takeover by leader election takes.
const AWAY: SimDuration = SimDuration::from_secs(15);
/// No lease is renewed for so long: nobody could write.
const NO_RENEWALS: SimDuration = SimDuration::from_secs(12);
/// Two signs of life that are closer to each other are not two renewals.
const RENEWAL_MIN: SimDuration = SimDuration::from_secs(8);
/// So many nodes have to renew before and after, for their silence to say something.
const RENEWING_MIN: usize = 3;

/// Looks for processes that began anew.
pub(super) fn find(timeline: &Timeline<'_>, found: &mut Found) {
    for process in PROCESSES {
        let mut starts = told(process, timeline);
        if process == "kube-controller-manager" {
            starts.extend(registrations(timeline));
        }
        starts.sort_by_key(|start| start.when);
        let mut last: Option<Instant> = None;
        for start in starts {
            if last.is_some_and(|last| start.when.earliest <= last.later(ONE_START)) {
                found.explained.extend(start.evidence);
                continue;
            }
            last = Some(start.when.latest);
            outage(process, start, timeline, found);
        }
    }
    unrenewed(timeline, found);
}

/// A process began anew.
struct Start {
    when: Bounds,
    confidence: Confidence,
    reason: String,
    evidence: Vec<usize>,
}

/// Starts that a record speaks of.
fn told(process: &str, timeline: &Timeline<'_>) -> Vec<Start> {
    let of_process =
        |seen: &Seen| matches!(&seen.what, What::ComponentStarted { component } if is_of(component.as_str(), process));
    let starts = timeline.seen.iter().enumerate().filter(|(_, seen)| of_process(seen));
    starts
        .map(|(index, seen)| Start {
            when: seen.when,
            confidence: Confidence::Likely,
            reason: format!("{process} began anew, or another replica took over"),
            evidence: vec![index],
        })
        .collect()
}

fn is_of(component: &str, process: &str) -> bool {
    component == process || process.strip_prefix("kube-") == Some(component)
}

/// Times at which the node lifecycle controller registered nodes that it must have known: its process was a new one.
fn registrations(timeline: &Timeline<'_>) -> Vec<Start> {
    let mut starts: Vec<(Start, BTreeSet<crate::arena::Symbol>)> = Vec::new();
    for (index, seen) in timeline.seen.iter().enumerate() {
        let What::NodePresent { node, is_present: true } = &seen.what else { continue };
        let is_told = timeline
            .records_of(seen)
            .any(|kind| matches!(kind, RecordKind::Events | RecordKind::ControllerLog | RecordKind::Intervals));
        if !is_told || !existed(*node, seen.when.earliest, timeline) {
            continue;
        }
        match starts.last_mut().filter(|(start, _)| seen.when.earliest <= start.when.earliest.later(REGISTRATION)) {
            Some((start, nodes)) => {
                start.evidence.push(index);
                nodes.insert(*node);
            }
            None => {
                let start = Start {
                    when: seen.when,
                    confidence: Confidence::Certain,
                    reason: String::new(),
                    evidence: vec![index],
                };
                starts.push((start, BTreeSet::from([*node])));
            }
        }
    }
    let wanted = timeline.inventory.nodes.len().div_ceil(2);
    let whole = starts.into_iter().filter(|(_, nodes)| nodes.len() >= wanted.max(1));
    whole
        .map(|(mut start, nodes)| {
            let nodes = counted(nodes.len(), "node that was there", "nodes that were there");
            start.reason = format!("kube-controller-manager registered {nodes} before: it began anew");
            start
        })
        .collect()
}

/// Whether a node was there before a time, and had not gone.
fn existed(node: crate::arena::Symbol, at: Instant, timeline: &Timeline<'_>) -> bool {
    let Some(known) = timeline.inventory.nodes.get(&node) else { return false };
    let is_old = known.created.is_none_or(|created| created.later(YOUNG) < at);
    let last = timeline
        .last_of_node(node, at.earlier(SimDuration::from_secs(1)), |what| matches!(what, What::NodePresent { .. }));
    let is_removed = last.is_some_and(|(_, seen)| matches!(seen.what, What::NodePresent { is_present: false, .. }));
    is_old && !is_removed
}

fn outage(process: &'static str, start: Start, timeline: &Timeline<'_>, found: &mut Found) {
    let sign = timeline
        .seen
        .iter()
        .enumerate()
        .rev()
        .find(|(_, seen)| seen.when.latest < start.when.earliest && is_sign(process, seen, timeline));
    let Some((index, sign)) = sign else {
        let remark = format!("{process} began anew at {}; nothing tells how long it was away", start.when.middle());
        found.remarks.push(remark);
        found.explained.extend(start.evidence);
        return;
    };
    let mut evidence = start.evidence;
    evidence.push(index);
    let begin = Bounds { earliest: sign.when.earliest, latest: start.when.latest };
    let away = begin.width().min(AWAY * 2) / 2;
    found.push(Fault {
        kind: "ControlPlaneOutage",
        hit: Hit::Process(process),
        begin,
        begin_guess: Some(start.when.earliest.earlier(away).max(begin.earliest)),
        end: Some(Bounds { earliest: begin.earliest, latest: start.when.latest }),
        end_guess: Some(start.when.earliest),
        extra: Extra::None,
        confidence: start.confidence,
        reason: start.reason,
        // Its leader gives up, and begins anew, where the API server is away for longer than its lease lasts.
        alternatives: if process == API_SERVER { vec![] } else { vec![API_SERVER_AWAY] },
        evidence,
    });
}

/// Whether a sighting shows that a process was at work.
pub(super) fn is_sign(process: &str, seen: &Seen, timeline: &Timeline<'_>) -> bool {
    match process {
        "kube-controller-manager" => matches!(
            &seen.what,
            What::NodeReady { by: Reporter::Controller, .. }
                | What::DeletionCancelled { .. }
                | What::PodDeletion { by: DeletedBy::TaintManager | DeletedBy::PodGC | DeletedBy::Workload, .. }
                | What::PodCreated { owner: Some(_), .. }
                | What::Scaled { .. }
                | What::ZoneState { .. }
                | What::NodeTaint { .. }
        ),
        "kube-scheduler" => {
            matches!(&seen.what, What::PodScheduled { .. } | What::PodUnschedulable { .. })
        }
        _ => timeline.records_of(seen).any(|kind| matches!(kind, RecordKind::Audit | RecordKind::Events)),
    }
}

/// A time in which no node renewed its lease although many did before and after: the API server took nothing.
fn unrenewed(timeline: &Timeline<'_>, found: &mut Found) {
    let heartbeats: Vec<(usize, &Seen)> = timeline
        .seen
        .iter()
        .enumerate()
        .filter(|(_, seen)| matches!(seen.what, What::Heartbeat { .. }) && seen.when.width() < NO_RENEWALS)
        .collect();
    // One that is heard once, or several times at once, did not renew: it told that something changed.
    let renewing = |range: &[(usize, &Seen)]| {
        let mut spans: BTreeMap<_, Bounds> = BTreeMap::new();
        for (_, seen) in range {
            let Some(node) = seen.what.node() else { continue };
            spans
                .entry(node)
                .and_modify(|span| span.latest = seen.when.earliest)
                .or_insert(Bounds { earliest: seen.when.earliest, latest: seen.when.earliest });
        }
        spans.values().filter(|span| span.width() >= RENEWAL_MIN).count()
    };
    let all = renewing(&heartbeats);
    for (at, pair) in heartbeats.windows(2).enumerate() {
        let [(last, before), (next, after)] = [pair[0], pair[1]];
        if after.when.earliest.nanos_since(before.when.latest) < NO_RENEWALS.as_nanos().cast_signed() {
            continue;
        }
        let start = heartbeats[..=at]
            .partition_point(|(_, seen)| seen.when.earliest < before.when.earliest.earlier(RENEWAL_MAX * 3));
        let end = at
            + 1
            + heartbeats[at + 1..]
                .partition_point(|(_, seen)| seen.when.earliest <= after.when.earliest.later(RENEWAL_MAX * 3));
        let (was, is) = (renewing(&heartbeats[start..=at]), renewing(&heartbeats[at + 1..end]));
        let gap = Bounds { earliest: before.when.earliest, latest: after.when.latest };
        let is_known = found
            .faults
            .iter()
            .any(|fault| fault.hit == Hit::Process("kube-apiserver") && fault.covers(gap, SimDuration::ZERO));
        // Where every renewal is recorded, nearly all nodes renew within a period.
        if was.min(is) < RENEWING_MIN || was.min(is) * 5 < all * 4 || is_known {
            continue;
        }
        let begin = Bounds { earliest: before.when.earliest, latest: before.when.latest.later(RENEWAL_MAX) };
        found.push(Fault {
            kind: "ControlPlaneOutage",
            hit: Hit::Process("kube-apiserver"),
            begin,
            begin_guess: None,
            end: Some(Bounds {
                earliest: after.when.earliest.earlier(RENEWAL_MAX).max(begin.latest).min(after.when.latest),
                latest: after.when.latest,
            }),
            end_guess: Some(after.when.earliest),
            extra: Extra::None,
            confidence: Confidence::Likely,
            reason: format!("no node renewed its lease, of {was} before and {is} after"),
            alternatives: vec!["Partition"],
            evidence: vec![last, next],
        });
    }
}
