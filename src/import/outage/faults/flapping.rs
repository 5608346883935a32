//! Nodes that come and go: heartbeats that get through late.

use super::{Confidence, Detection, Extra, Fault, Found, Hit};
use crate::arena::Symbol;
use crate::evidence::Bounds;
use crate::units::{SimDuration, counted};

/// Silences that are longer are ones of their own.
const SHORT: SimDuration = SimDuration::from_secs(60);
/// Silences that begin so long after the end of the one before are not of the same trouble.
const APART: SimDuration = SimDuration::from_secs(600);
/// So many make a node that flaps.
const TIMES_MIN: usize = 3;

/// Makes one fault of many short silences of a node.
pub(super) fn find(node: Symbol, detection: Detection, found: &mut Found) {
    let is_short = |fault: &Fault| {
        fault.hit == Hit::Node(node)
            && matches!(fault.kind, "Crash" | "Partition" | "KubeletStop")
            && fault.confidence != Confidence::Certain
            && fault.alternatives.contains(&"KubeletStop")
            && fault.end.is_some_and(|end| {
                let silent = end.latest.nanos_since(fault.begin.latest);
                silent < (SHORT + detection.grace).as_nanos().cast_signed()
            })
    };
    let places = found.by_node.get(&node).cloned().unwrap_or_default();
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for (at, fault) in places.iter().map(|&at| (at, &found.faults[at])).filter(|(_, fault)| is_short(fault)) {
        let is_same = |run: &Vec<usize>| {
            let last = run.last().and_then(|&last| found.faults[last].end);
            last.is_some_and(|end| fault.begin.earliest <= end.latest.later(APART))
        };
        match runs.last_mut().filter(|run| is_same(run)) {
            Some(run) => run.push(at),
            None => runs.push(vec![at]),
        }
    }
    runs.retain(|run| run.len() >= TIMES_MIN);
    let taken: Vec<usize> = runs.concat();
    for run in runs {
        let silences: Vec<&Fault> = run.iter().map(|&at| &found.faults[at]).collect();
        let (first, last) = (silences[0], silences[silences.len() - 1]);
        let longest = silences
            .iter()
            .filter_map(|fault| Some(fault.end?.latest.nanos_since(fault.begin.middle())))
            .max()
            .map_or(SHORT, crate::import::outage::sources::duration);
        let begin = Bounds { earliest: first.begin.earliest, latest: first.begin.latest };
        let fault = Fault {
            kind: "SlowHeartbeats",
            hit: Hit::Node(node),
            begin,
            begin_guess: None,
            end: last.end,
            end_guess: None,
            extra: Extra::DelayUpTo(longest.max(detection.grace)),
            confidence: Confidence::Guess,
            reason: format!("it fell silent {}, each time for a short while", counted(run.len(), "time", "times")),
            alternatives: vec!["Partition", "KubeletStop"],
            evidence: silences.iter().flat_map(|fault| fault.evidence.iter().copied()).collect(),
        };
        found.push(fault);
    }
    if !taken.is_empty() {
        found.remove(taken);
    }
}
