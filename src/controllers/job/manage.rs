//! How many pods a Job should have now, and which ones go. Pure rules.

use std::cmp::Ordering;

use crate::arena::{Symbol, sym};
use crate::engine::Streams;
use crate::model::{CompletionMode, JobSpec};
use crate::state::{Job, Pod, PodId, PodPhase};
use crate::units::SimTime;

/// The annotation that holds how many failures of an index that count came before the pod.
pub(super) fn index_failures() -> Symbol {
    sym!("batch.kubernetes.io/job-index-failure-count")
}

/// The annotation that holds how many that the failure policy ignores, if there were any.
pub(super) fn ignored_index_failures() -> Symbol {
    sym!("batch.kubernetes.io/job-index-ignored-failure-count")
}

/// The label that holds a pod's index, and the annotation.
pub(super) fn index_label() -> Symbol {
    sym!("batch.kubernetes.io/job-completion-index")
}

pub(super) fn is_indexed(spec: &JobSpec) -> bool {
    spec.completion_mode == Some(CompletionMode::Indexed)
}

/// The index of a pod of an Indexed Job.
pub(super) fn index_of(pod: &Pod) -> Option<i32> {
    pod.labels.get(index_label())?.as_str().parse().ok()
}

/// How many active pods are wanted.
///
/// # Source
/// job-controller, `manageJob`.
pub(super) fn wanted_active(spec: &JobSpec, active: usize, succeeded: i32) -> usize {
    let parallelism = spec.parallelism.unwrap_or(1).max(0);
    let wanted = match spec.completions {
        // A work queue: after the first success nothing new is begun.
        None if succeeded > 0 => return active,
        None => parallelism,
        Some(completions) => (completions - succeeded).clamp(0, parallelism),
    };
    wanted.unsigned_abs() as usize
}

/// Which pods go first if some have to.
///
/// # Source
/// kube-controller-manager, `ActivePods`.
fn removal_order(a: &Pod, b: &Pod) -> Ordering {
    let is_running = |pod: &Pod| pod.phase == PodPhase::Running;
    (a.node.is_some().cmp(&b.node.is_some()))
        .then_with(|| is_running(a).cmp(&is_running(b)))
        .then_with(|| a.is_ready().cmp(&b.is_ready()))
        .then_with(|| match (a.is_ready(), a.ready, b.ready) {
            (true, Some(a), Some(b)) => b.since.floor_to_second().cmp(&a.since.floor_to_second()),
            _ => Ordering::Equal,
        })
        .then_with(|| b.restarts_max().cmp(&a.restarts_max()))
        .then_with(|| b.sidecar_restarts_max().cmp(&a.sidecar_restarts_max()))
        .then_with(|| b.created_at.floor_to_second().cmp(&a.created_at.floor_to_second()))
}

/// The pods to delete: of an Indexed Job those of no valid index and doubles first, then as many as are too many.
///
/// # Source
/// job-controller, `activePodsForRemoval`.
pub(super) fn removals(spec: &JobSpec, active: &[(PodId, &Pod)], at_least: usize) -> Vec<PodId> {
    let mut rest: Vec<(PodId, &Pod)> = active.to_vec();
    rest.sort_by(|(_, a), (_, b)| removal_order(a, b));
    let mut removed = Vec::new();
    if is_indexed(spec) {
        let mut seen = std::collections::BTreeSet::new();
        // The pod that stays for an index is the one that would be removed last.
        for (id, pod) in rest.iter().rev() {
            let index = index_of(pod).filter(|index| *index < spec.completions.unwrap_or(0));
            if index.is_none_or(|index| !seen.insert(index)) {
                removed.push(*id);
            }
        }
        rest.retain(|(id, _)| !removed.contains(id));
    }
    let missing = at_least.saturating_sub(removed.len());
    removed.extend(rest.into_iter().take(missing).map(|(id, _)| id));
    removed
}

/// The lowest indexes that need a pod.
pub(super) fn pending_indexes(completions: i32, taken: impl Fn(i32) -> bool, count: usize) -> Vec<i32> {
    (0..completions).filter(|index| !taken(*index)).take(count).collect()
}

/// The indexes in the order in which their pods are made: of a batch the last one is often first.
///
/// # Source
/// job-controller, `manageJob`: batches of 1, 2, 4, …, each pod of which is made by a goroutine of its own; the one that was started last
/// is the next to run, unless an idle processor has taken the first.
pub(super) fn in_batches(
    job: &Job,
    mut indexes: Vec<Option<i32>>,
    streams: &Streams,
    now: SimTime,
) -> Vec<Option<i32>> {
    if !is_indexed(&job.spec) || indexes.len() < 3 {
        return indexes;
    }
    let entity = format!("{}/{}", job.meta.namespace, job.meta.name);
    let mut stream = streams.at("job-create-order", &entity, now.as_nanos().unsigned_abs());
    let (mut left, mut batch) = (indexes.as_mut_slice(), 1);
    while !left.is_empty() {
        let (first, later) = left.split_at_mut(batch.min(left.len()));
        first.rotate_right(stream.below(2) as usize % first.len());
        (left, batch) = (later, batch * 2);
    }
    indexes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_pods_follow_parallelism_and_what_is_left_to_do() {
        let check = |parallelism, completions, active, succeeded, expected| {
            let spec = JobSpec { parallelism: Some(parallelism), completions, ..JobSpec::default() };
            let case = format!("parallelism {parallelism}, completions {completions:?}, {succeeded} succeeded");
            assert_eq!(wanted_active(&spec, active, succeeded), expected, "{case}");
        };
        check(2, Some(5), 0, 0, 2);
        check(2, Some(5), 1, 1, 2);
        check(3, Some(4), 3, 2, 2);
        check(2, None, 0, 0, 2);
        check(2, None, 1, 1, 1);
        check(2, Some(2), 0, 3, 0);
    }

    #[test]
    fn the_lowest_missing_indexes_come_first() {
        let taken = [2, 3, 4, 5, 8, 9];
        assert_eq!(pending_indexes(20, |index| taken.contains(&index), 5), [0, 1, 6, 7, 10]);
    }
}
