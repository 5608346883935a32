//! `disruptions.csv` against `pods.csv`: each pod that was taken away is there once, and each that came in a place came for one.

use rustc_hash::{FxHashMap, FxHashSet};

use super::pods::is_taken_away;
use crate::observe::{DisruptionRow, Observed, Outcome, PodRow};
use crate::units::{SimDuration, SimTime};

/// A pod that its owner lost, when, and the one that came for it.
pub(super) type Matched<'a> = (&'a PodRow, SimTime, Option<&'a PodRow>);

type Pods<'a> = FxHashMap<(&'a str, &'a str, SimTime), &'a PodRow>;

/// The pods that owners lost, each with its replacement.
///
/// # Errors
///
/// A row that cannot be so by `pods.csv`, or a pod of that file that lacks one.
pub(super) fn matched(observed: &Observed) -> Result<Vec<Matched<'_>>, String> {
    let pods: Pods<'_> =
        observed.pods.iter().map(|pod| ((pod.namespace.as_str(), &*pod.name, pod.created_at), pod)).collect();
    let mut all = Vec::with_capacity(observed.disruptions.len());
    let (mut lost, mut came) = (FxHashSet::default(), FxHashSet::default());
    let mut last = SimTime::ZERO;
    for row in &observed.disruptions {
        let wrong = |what: &str| {
            let (namespace, name, at) = (row.namespace, &row.name, row.lost_at);
            format!("disruptions.csv: {what} of pod {namespace}/{name}, lost at {at}, cannot be")
        };
        let pod = find(&pods, row, &row.name, row.created_at).ok_or_else(|| wrong("the row"))?;
        let other = match &row.replacement {
            Some(other) => {
                Some(find(&pods, row, &other.name, other.created_at).ok_or_else(|| wrong("the replacement"))?)
            }
            None => None,
        };
        if let Some(what) = problem(row, pod, other, last) {
            return Err(wrong(what));
        }
        if !lost.insert((&*row.name, row.namespace, row.created_at)) {
            return Err(wrong("a second row"));
        }
        if let Some(other) = other
            && !came.insert((&*other.name, other.namespace, other.created_at))
        {
            return Err(wrong("the replacement, which came for another one,"));
        }
        last = row.lost_at;
        all.push((pod, row.lost_at, other));
    }
    let is_in_the_run = |pod: &PodRow| !pod.initial || left_at(pod) > Some(SimTime::ZERO);
    let taken = observed.pods.iter().filter(|pod| is_taken_away(pod) && is_in_the_run(pod));
    match { taken }.find(|pod| !lost.contains(&(&*pod.name, pod.namespace, pod.created_at))) {
        Some(pod) => Err(format!("disruptions.csv lacks pod {}/{}, which was taken away", pod.namespace, pod.name)),
        None => Ok(all),
    }
}

fn find<'a>(pods: &Pods<'a>, row: &DisruptionRow, name: &str, created_at: SimTime) -> Option<&'a PodRow> {
    pods.get(&(row.namespace.as_str(), name, created_at)).copied()
}

fn left_at(pod: &PodRow) -> Option<SimTime> {
    [pod.deletion_at, pod.finished_at, pod.gone_at].into_iter().flatten().min()
}

/// What of a row cannot be.
fn problem(row: &DisruptionRow, pod: &PodRow, other: Option<&PodRow>, last: SimTime) -> Option<&'static str> {
    let from = row.stopped_at.unwrap_or(row.lost_at);
    let is_ready = other.is_some_and(|other| other.ready_at.is_some());
    let whole = other.and_then(|other| other.ready_at).map(|ready| ready.saturating_since(from));
    let sum = row.phases.iter().fold(SimDuration::ZERO, |sum, phase| sum + *phase);
    let differs = [
        ("the order", row.lost_at < last),
        ("lost_s", left_at(pod) != Some(row.lost_at)),
        ("stopped_s", from > row.lost_at || from < pod.created_at),
        ("taken_away", row.taken_away != is_taken_away(pod)),
        ("the outcome", is_ready != (row.outcome == Outcome::Replaced)),
        ("the sum", whole.is_some_and(|whole| whole != sum) || sum != row.total()),
    ];
    if let Some((what, _)) = differs.into_iter().find(|(_, differs)| *differs) {
        return Some(what);
    }
    let other = other?;
    let is_stand_in = match pod.owner_kind.as_str() {
        "" | "StatefulSet" | "Node" => other.name == pod.name,
        "DaemonSet" => other.node == pod.node,
        _ => true,
    };
    let is_of_owner = (other.owner_kind, other.owner_name) == (pod.owner_kind, pod.owner_name);
    (!is_stand_in || !is_of_owner || other.initial || other.created_at < row.lost_at).then_some("the replacement")
}
