//! Disagreements in words.

use std::cmp::Reverse;

use crate::evidence::FactKind;
use crate::report::{AgreementRow, Verdict};
use crate::units::{SimTime, length};

/// Of facts of one kind no more than this are told of each verdict: what one cause does to all pods is said once.
const ALIKE_MAX: usize = 2;

/// The worst disagreements: of nodes before those of pods, what is missing or extra before what is at another time, that the furthest off
/// first, and otherwise in the order of time.
pub(super) fn worst(rows: &[AgreementRow], count: usize) -> Vec<String> {
    let mut apart: Vec<&AgreementRow> = rows.iter().filter(|row| row.verdict != Verdict::Same).collect();
    apart.sort_by_key(|row| {
        let is_of_pod = FactKind::named(row.fact).is_some_and(FactKind::is_of_pod);
        let off = row.off.map(|off| off.as_nanos().unsigned_abs());
        (is_of_pod, off.is_some(), Reverse(off))
    });
    let mut told: Vec<&AgreementRow> = Vec::new();
    for row in apart {
        let alike = told.iter().filter(|other| (other.fact, other.verdict) == (row.fact, row.verdict)).count();
        if alike < ALIKE_MAX {
            told.push(row);
        }
        if told.len() == count {
            break;
        }
    }
    told.into_iter().map(sentence).collect()
}

fn sentence(row: &AgreementRow) -> String {
    let at = |time: Option<SimTime>| time.map_or_else(String::new, |at| moment(at.as_secs_f64()));
    let (seen, played) = (at(row.seen.map(|seen| seen[0])), at(row.played_at));
    let what = what(row);
    match row.verdict {
        Verdict::Missing if row.note.is_empty() => format!("{what}: seen at {seen}, not in the play"),
        Verdict::Missing => format!("{what}: seen at {seen}, and the scenario has {}", row.note),
        Verdict::Extra => format!("{what}: played at {played}, not seen"),
        Verdict::Same | Verdict::OtherTime => {
            let off_s = row.off.map_or(0.0, SimTime::as_secs_f64);
            let side = if off_s < 0.0 { "too early" } else { "too late" };
            format!("{what}: seen at {seen}, played at {played}, {} {side}", length(off_s.abs()))
        }
    }
}

/// A moment, which may be before t=0.
fn moment(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "-" } else { "" };
    format!("{sign}{}", crate::units::moment(seconds.abs()))
}

/// What came about, to whom.
fn what(row: &AgreementRow) -> String {
    let AgreementRow { namespace, name, value, node, .. } = row;
    let pod = format!("pod {namespace}/{name}");
    match FactKind::named(row.fact) {
        None => format!("{} {name}", row.fact),
        Some(FactKind::NodeReady) if *value == "Absent" => format!("node {name} gone"),
        Some(FactKind::NodeReady) => format!("node {name} Ready={value}"),
        Some(FactKind::NodeTaint) => match value.as_str().strip_suffix('-') {
            Some(taint) => format!("node {name} without taint {taint}"),
            None => format!("node {name} with taint {value}"),
        },
        Some(FactKind::NodeUnschedulable) if *value == "true" => format!("node {name} cordoned"),
        Some(FactKind::NodeUnschedulable) => format!("node {name} uncordoned"),
        Some(FactKind::PodCreated) => format!("{pod} created"),
        Some(FactKind::PodScheduled) if node.is_empty() => format!("{pod} bound"),
        Some(FactKind::PodScheduled) => format!("{pod} bound to {node}"),
        Some(FactKind::PodReady) => format!("{pod} Ready={value}"),
        Some(FactKind::PodDeletion) if value.is_empty() => format!("{pod} deleted"),
        Some(FactKind::PodDeletion) => format!("{pod} deleted ({value})"),
        Some(FactKind::PodGone) => format!("{pod} gone"),
        Some(FactKind::PodFinished) => format!("{pod} ended {value}"),
    }
}
