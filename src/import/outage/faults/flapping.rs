//! Nodes that come and go: heartbeats that get through late.

use super::{Confidence, Detection, Extra, Fault, Found, Hit, LateRenewal};
use crate::arena::Symbol;
use crate::evidence::Bounds;
use crate::import::outage::sources::duration;
use crate::units::{SimDuration, counted};

/// Silences that are longer are ones of their own.
const SHORT: SimDuration = SimDuration::from_secs(60);
/// Silences that begin so long after the end of the one before are not of the same trouble.
const APART: SimDuration = SimDuration::from_secs(600);
/// So many make a node that flaps.
const TIMES_MIN: usize = 3;
/// A renewal begins so long after a time of which nothing else is known, on average: half a period.
const NEXT_RENEWAL: SimDuration = SimDuration::from_secs(5);
/// A renewal that is late by half a second more than the grace, less a period and with a pass of the controller, is always missed.
const MISSED: SimDuration = SimDuration::from_millis(500);
/// Between renewals.
const PERIOD: SimDuration = SimDuration::from_secs(10);
/// Between passes of the node lifecycle controller.
const PASS: SimDuration = SimDuration::from_secs(5);

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
        let late: Vec<LateRenewal> = silences.iter().filter_map(|silence| late(silence, detection.grace)).collect();
        let begin = Bounds { earliest: first.begin.earliest, latest: first.begin.latest };
        let fault = Fault {
            kind: "SlowHeartbeats",
            hit: Hit::Node(node),
            begin,
            begin_guess: None,
            end: last.end,
            end_guess: None,
            extra: Extra::Late(late),
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

/// The renewal whose lateness was a silence that was noticed.
fn late(silence: &Fault, grace: SimDuration) -> Option<LateRenewal> {
    let after = silence.begin_guess.unwrap_or(silence.begin.middle());
    let heard = silence.end_guess.or(silence.end.map(Bounds::middle))?;
    let noticed = grace + PASS + MISSED - PERIOD;
    let by = duration(heard.nanos_since(after.later(NEXT_RENEWAL))).max(noticed);
    Some(LateRenewal { after, by })
}
