//! Containers that ended although their node was well.

use std::collections::BTreeMap;

use super::{Confidence, Extra, Fault, Found, Hit};
use crate::evidence::{EndedBy, PodName, What};
use crate::import::outage::timeline::Timeline;
use crate::units::{SimDuration, counted};

/// Containers that end so soon after their node was back were lost with it.
const AFTER_NODE: SimDuration = SimDuration::from_secs(120);
/// Ends of a pod's containers that lie closer together are one.
const ONE_END: SimDuration = SimDuration::from_secs(2);
/// A pod whose containers end more often crashes by itself, not by a fault from outside.
const TIMES_MAX: usize = 10;

/// Looks for them.
pub(super) fn find(timeline: &Timeline<'_>, found: &mut Found) {
    let mut loops: BTreeMap<PodName, usize> = BTreeMap::new();
    for pod in timeline.pods().collect::<Vec<_>>() {
        let mut faults: Vec<Fault> = Vec::new();
        let mut is_deleted = false;
        for (index, seen) in timeline.of_pod(pod) {
            let by = match &seen.what {
                What::PodDeletion { .. } => {
                    is_deleted = true;
                    continue;
                }
                What::ContainerEnded { by, .. } if !is_deleted => *by,
                _ => continue,
            };
            let (kind, reason) = match by {
                EndedBy::OutOfMemory => ("OOMKill", "the kernel ended a container for its memory"),
                EndedBy::Crash => ("ContainerCrash", "a container ended with an error"),
                EndedBy::Completed | EndedBy::Unknown => continue,
            };
            let node = timeline.node_of(pod, seen.when.latest);
            let is_lost = node.is_some_and(|node| {
                found.of_node(node).any(|fault| is_of_machine(fault) && fault.covers(seen.when, AFTER_NODE))
            });
            if is_lost {
                continue;
            }
            if let Some(last) = faults.last_mut()
                && last.kind == kind
                && seen.when.earliest <= last.begin.latest.later(ONE_END)
            {
                last.evidence.push(index);
                continue;
            }
            faults.push(Fault {
                kind,
                hit: Hit::Pod(pod),
                begin: seen.when,
                begin_guess: None,
                end: None,
                end_guess: None,
                extra: Extra::None,
                confidence: Confidence::Certain,
                reason: reason.to_owned(),
                alternatives: vec![],
                evidence: vec![index],
            });
        }
        if faults.len() > TIMES_MAX {
            loops.insert(pod, faults.len());
            faults.iter().for_each(|fault| found.explained.extend(fault.evidence.iter().copied()));
            continue;
        }
        faults.into_iter().for_each(|fault| found.push(fault));
    }
    for (pod, times) in loops {
        let times = counted(times, "time", "times");
        found.remarks.push(format!(
            "pod {}/{}: its containers ended {times}; what ends so often is not played as faults",
            pod.namespace, pod.name
        ));
    }
}

fn is_of_machine(fault: &Fault) -> bool {
    matches!(fault.kind, "Crash" | "Reboot" | "GracefulShutdown" | "InstanceGone" | "SpotInterruption")
}
