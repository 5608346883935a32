//! What became of pods, from `pods.csv` and `nodes.csv`.

use std::collections::{BTreeMap, BTreeSet};

use super::counted::Figures;
use super::disruptions::Matched;
use crate::observe::{Observed, PodRow};
use crate::units::SimTime;

/// The causes of an eviction, by the text of the column.
const EVICTIONS: [&str; 5] =
    ["TaintManagerEviction", "EvictionByEvictionAPI", "DeletionByPodGC", "TerminationByKubelet", "NodePressure"];
const PREEMPTION: &str = "PreemptionByScheduler";
pub(super) fn cause(pod: &PodRow) -> &'static str {
    pod.ended_by.map_or("", |cause| cause.as_str())
}

/// How `causes.csv` tells that somebody asked for a pod's deletion.
const MARKED: &str = " marked for deletion (";

/// Who first asked for the deletion of each pod, as `causes.csv` tells it, is who took it away, unless its kubelet had ended it before.
pub(super) fn firsts(observed: &Observed) -> Result<(), String> {
    let mut marks: BTreeMap<(&str, &str), Vec<(SimTime, &str)>> = BTreeMap::new();
    for row in &observed.causes {
        let told = row.what.strip_prefix("pod/").and_then(|what| what.split_once(MARKED));
        let Some(((namespace, name), by)) = told.and_then(|(pod, by)| Some((pod.split_once('/')?, by))) else {
            continue;
        };
        marks.entry((namespace, name)).or_default().push((row.at, by.trim_end_matches(')')));
    }
    for pod in &observed.pods {
        let of = marks.get(&(pod.namespace.as_str(), &*pod.name)).into_iter().flatten();
        let is_in_its_time = |at: &SimTime| *at >= pod.created_at && pod.gone_at.is_none_or(|gone| *at <= gone);
        let Some((at, by)) = of.filter(|(at, _)| is_in_its_time(at)).min_by_key(|(at, _)| *at) else { continue };
        let had_ended = pod.finished_at.is_some_and(|ended| ended < *at);
        let is_by_kubelet = had_ended && matches!(cause(pod), "NodePressure" | "TerminationByKubelet");
        if !is_by_kubelet && cause(pod) != *by {
            let (namespace, name, found) = (pod.namespace, &pod.name, cause(pod));
            return Err(format!("causes.csv has {by} end pod {namespace}/{name} first, pods.csv `{found}`"));
        }
    }
    Ok(())
}

pub(super) fn is_evicted(pod: &PodRow) -> bool {
    EVICTIONS.contains(&cause(pod)) && !pod.had_ended
}

pub(super) fn is_preempted(pod: &PodRow) -> bool {
    cause(pod) == PREEMPTION && !pod.had_ended
}

/// Taken away by a fault.
fn is_killed(pod: &PodRow) -> bool {
    cause(pod) == "PodKill" && !pod.had_ended
}

pub(super) fn is_taken_away(pod: &PodRow) -> bool {
    is_evicted(pod) || is_preempted(pod) || is_killed(pod)
}

pub(super) fn count(figures: &mut Figures, observed: &Observed, matched: &[Matched<'_>]) {
    let pods = &observed.pods;
    let count = |test: &dyn Fn(&PodRow) -> bool| pods.iter().filter(|pod| test(pod)).count();
    figures.count("pods_created", count(&|pod| !pod.initial));
    figures.count("evictions", count(&is_evicted));
    figures.count("preemptions", count(&is_preempted));
    figures.count("disruptions", count(&is_taken_away));
    let is_stateful = |pod: &PodRow| pod.owner_kind.as_str() == "StatefulSet";
    figures.count("stateful_interruptions", count(&|pod| is_stateful(pod) && is_taken_away(pod)));
    figures.count("restarts", pods.iter().map(|pod| pod.restarts as usize).sum());
    figures.count("pods_lost", lost(pods).count());
    figures.count("needless_evictions", needless(matched, observed).count());
    let mut times: Vec<u64> = matched
        .iter()
        .filter(|(pod, ..)| is_taken_away(pod))
        .filter_map(|(_, lost_at, next)| Some(next.as_ref()?.ready_at?.saturating_since(*lost_at).as_nanos()))
        .collect();
    times.sort_unstable();
    let rank = (times.len() as f64 * 0.99).ceil() as usize;
    let longest = rank.checked_sub(1).and_then(|place| times.get(place)).copied();
    figures.put("rescheduling_p99_s", longest.unwrap_or(0) as f64 / 1e9);
}

/// The counts by cause.
pub(super) fn causes(observed: &Observed) -> Result<(), String> {
    let mut found: BTreeMap<&str, u64> = BTreeMap::new();
    for cause in observed.pods.iter().filter_map(|pod| pod.deletion_cause) {
        *found.entry(cause.column()).or_default() += 1;
    }
    let reported = &observed.summary.counts.deletions;
    if found == *reported { Ok(()) } else { Err(format!("pods.csv has deletions {found:?}, the summary {reported:?}")) }
}

/// Pods lost for good.
pub(super) fn lost(pods: &[PodRow]) -> impl Iterator<Item = &PodRow> {
    let mut names = BTreeSet::new();
    // The last of a name speaks for it.
    let latest: Vec<&PodRow> = pods
        .iter()
        .rev()
        .filter(|pod| pod.workload.kind.as_str() != "Pod" || names.insert((pod.namespace, &*pod.name)))
        .filter(|pod| pod.is_loose)
        .collect();
    latest.into_iter().filter(|pod| {
        let zero = Some(SimTime::ZERO);
        let before = pod.initial && (pod.deletion_at == zero || pod.finished_at == zero);
        let ended = pod.deletion_at.or(pod.finished_at).or(pod.gone_at).is_some();
        let phase = pod.phase.as_str();
        let is_unwanted = match cause(pod) {
            "" => true,
            "Completed" => phase == "Failed",
            other => EVICTIONS.contains(&other) || other == PREEMPTION || other == "PodKill",
        };
        let succeeded =
            phase == "Succeeded" && pod.deletion_at.is_none_or(|at| pod.finished_at.is_some_and(|end| end < at));
        ended && !before && !succeeded && is_unwanted
    })
}

/// Needless evictions: the node is Ready again, in `nodes.csv`, before the replacement is.
pub(super) fn needless<'a>(matched: &'a [Matched<'a>], observed: &Observed) -> impl Iterator<Item = &'a PodRow> {
    let mut ready: BTreeMap<&str, bool> = BTreeMap::new();
    let mut recovered: BTreeMap<&str, Vec<SimTime>> = BTreeMap::new();
    for row in &observed.nodes {
        let is_ready = row.ready == "True";
        let was_ready = ready.insert(row.node.as_str(), is_ready);
        if is_ready && was_ready != Some(true) && row.at > SimTime::ZERO {
            recovered.entry(row.node.as_str()).or_default().push(row.at);
        }
    }
    matched.iter().filter_map(move |(pod, at, next)| {
        let until = next.and_then(|next| next.ready_at).unwrap_or(SimTime::MAX);
        let nodes = recovered.get(pod.node.as_str())?;
        let is_needless = cause(pod) == "TaintManagerEviction"
            && is_evicted(pod)
            && nodes.iter().any(|again| again >= at && *again < until);
        is_needless.then_some(*pod)
    })
}
