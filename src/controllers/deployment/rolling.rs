//! One step of a roll-out: grow the new ReplicaSet, or shrink the old ones, or nothing.

use super::call::{Purpose, rescale_call, scale_call};
use super::fenceposts::{max_surge, max_unavailable};
use super::revision::{self, Hashes};
use super::view::View;
use crate::component::{Step, SyncPlan};
use crate::state::{PodPhase, Store, WorkloadId};

/// The size the new ReplicaSet grows to.
///
/// # Source
/// deployment-controller, `NewRSNewReplicas`.
pub(super) fn new_size(replicas: i32, surge: i32, newest: i32, total: i64) -> i32 {
    // Of sizes near the largest the sum is none of 32 bits.
    let room = (i64::from(replicas) + i64::from(surge) - total).max(0);
    newest + i32::try_from(room).unwrap_or(i32::MAX).min(replicas - newest)
}

/// Rolls one step; true if something was scaled or created.
pub(super) fn roll(view: &View<'_>, hashes: &Hashes, plan: &mut SyncPlan<Purpose>, created: &mut bool) -> bool {
    let (replicas, surge) = (view.replicas(), max_surge(view));
    let Some((id, newest)) = view.newest else {
        let size = new_size(replicas, surge, 0, view.total());
        revision::create(view, hashes, size, plan);
        *created = true;
        return true;
    };
    revision::refresh(view, id, newest, plan);
    let wanted =
        if newest.replicas > replicas { replicas } else { new_size(replicas, surge, newest.replicas, view.total()) };
    if wanted != newest.replicas {
        plan.steps.push(Step::Concurrent(vec![scale_call(view, id, newest, wanted)]));
        return true;
    }
    shrink_old(view, plan)
}

/// Shrinks the old ReplicaSets as far as the available pods allow: unhealthy pods first, then the oldest.
///
/// # Source
/// deployment-controller, `reconcileOldReplicaSets`.
fn shrink_old(view: &View<'_>, plan: &mut SyncPlan<Purpose>) -> bool {
    if view.old.iter().all(|(_, set)| set.replicas == 0) {
        return false;
    }
    let min_available = view.replicas() - max_unavailable(view);
    let new_unavailable = view.newest.map_or(0, |(_, set)| set.replicas - set.status.available);
    let max_scaled_down = view.total() - i64::from(min_available) - i64::from(new_unavailable);
    let max_scaled_down = i32::try_from(max_scaled_down).unwrap_or(i32::MAX);
    if max_scaled_down <= 0 {
        return false;
    }
    let old: Vec<(i32, i32)> = view.old.iter().map(|(_, set)| (set.replicas, set.status.available)).collect();
    let Some(healthy) = without_unhealthy(&old, max_scaled_down) else { return false };
    let mut sizes = healthy.clone();
    let available: i32 = view.all().map(|(_, set)| set.status.available).sum();
    let mut surplus = available - min_available;
    for size in &mut sizes {
        let less = (*size).min(surplus).max(0);
        *size -= less;
        surplus -= less;
    }
    // In two rounds: a ReplicaSet that has a part in both is scaled twice, and two events say so.
    let healthy = healthy.into_iter().zip(view.old.iter().map(|(_, set)| set.replicas));
    let rounds = healthy.clone().chain(sizes.into_iter().zip(healthy.map(|(size, _)| size)));
    let changed = rounds.zip(view.old.iter().cycle()).filter(|((size, before), _)| size != before);
    let calls: Vec<_> = changed.map(|((size, before), (id, set))| rescale_call(view, *id, set, before, size)).collect();
    let acted = !calls.is_empty();
    if acted {
        plan.steps.push(Step::Concurrent(calls));
    }
    acted
}

/// Sizes of old ReplicaSets, given with their available pods, when up to `budget` pods that are not available are taken
/// away. None if one shows more available pods than it should have: it has just been shrunk, and its status is awaited.
///
/// # Source
/// deployment-controller, `cleanupUnhealthyReplicas`.
fn without_unhealthy(old: &[(i32, i32)], budget: i32) -> Option<Vec<i32>> {
    let mut budget = budget;
    let mut sizes = Vec::with_capacity(old.len());
    for &(size, available) in old {
        if budget <= 0 || size == 0 {
            sizes.push(size);
            continue;
        }
        if available > size {
            return None;
        }
        let unhealthy = (size - available).min(budget);
        budget -= unhealthy;
        sizes.push(size - unhealthy);
    }
    Some(sizes)
}

/// Recreate: all old pods have to be gone, terminating ones included, before the new ReplicaSet grows.
pub(super) fn recreate(
    store: &Store,
    view: &View<'_>,
    hashes: &Hashes,
    plan: &mut SyncPlan<Purpose>,
    created: &mut bool,
) -> bool {
    let calls: Vec<_> =
        view.old.iter().filter(|(_, set)| set.replicas > 0).map(|(id, set)| scale_call(view, *id, set, 0)).collect();
    if !calls.is_empty() {
        plan.steps.push(Step::Concurrent(calls));
        return true;
    }
    if let Some((id, newest)) = view.newest {
        revision::refresh(view, id, newest, plan);
    }
    let lives = |pod: &crate::state::Pod| !matches!(pod.phase, PodPhase::Failed | PodPhase::Succeeded);
    let waits = view.old.iter().any(|(id, set)| {
        let pods = store.pods_of(WorkloadId::ReplicaSet(*id));
        set.status.replicas > 0 || pods.iter().filter_map(|&pod| store.pod(pod)).any(lives)
    });
    if waits {
        return false;
    }
    match view.newest {
        None => {
            revision::create(view, hashes, view.replicas(), plan);
            *created = true;
            true
        }
        Some((id, set)) if set.replicas != view.replicas() => {
            plan.steps.push(Step::Concurrent(vec![scale_call(view, id, set, view.replicas())]));
            true
        }
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_that_are_not_available_are_taken_away_as_far_as_the_budget_goes() {
        let check = |old: &[(i32, i32)], budget: i32, expected: Option<&[i32]>| {
            assert_eq!(without_unhealthy(old, budget).as_deref(), expected, "{old:?} with {budget}");
        };
        check(&[(10, 8)], 1, Some(&[9]));
        check(&[(10, 8)], 3, Some(&[8]));
        check(&[(10, 8)], 0, Some(&[10]));
        check(&[(10, 10)], 3, Some(&[10]));
        check(&[(4, 2), (4, 3), (4, 0)], 4, Some(&[2, 3, 3]));
        check(&[(0, 2), (4, 3)], 4, Some(&[0, 3]));
        // Its pods are still counted as available: nothing is taken away before its status says otherwise.
        check(&[(8, 10)], 3, None);
        check(&[(4, 3), (8, 10)], 1, Some(&[3, 8]));
    }

    #[test]
    fn the_new_replica_set_grows_into_the_surge() {
        let check = |surge: i32, old: i32, newest: i32, expected: i32| {
            assert_eq!(
                new_size(10, surge, newest, i64::from(old + newest)),
                expected,
                "surge {surge} old {old} new {newest}"
            );
        };
        check(0, 10, 0, 0);
        check(2, 10, 0, 2);
        check(2, 5, 0, 7);
        check(2, 10, 2, 2);
        // As many as the API lets anybody wish for.
        let most = i32::MAX;
        assert_eq!(new_size(most, most / 4, 0, 10), most);
        assert_eq!(new_size(most, most / 4, 5, i64::from(most)), 5 + most / 4);
    }
}
