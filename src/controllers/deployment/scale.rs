//! Scaling a Deployment in the middle of a roll-out: every ReplicaSet keeps its share.

use super::call::{Purpose, annotated, desired_key, max_key, scale_call};
use super::fenceposts::max_surge;
use super::view::View;
use crate::component::{Step, SyncPlan};
use crate::state::{ReplicaSet, ReplicaSetId};

/// Whether the wanted size differs from the one the active ReplicaSets were made for.
pub(super) fn is_scaling_event(view: &View<'_>) -> bool {
    view.all()
        .filter(|(_, set)| set.replicas > 0)
        .any(|(_, set)| annotated(set, desired_key()).is_some_and(|desired| desired != view.replicas()))
}

/// # Source
/// deployment-controller, `scale`: one active ReplicaSet takes the whole size; a saturated new one empties the others;
/// otherwise the difference is shared in proportion.
pub(super) fn scale(view: &View<'_>, plan: &mut SyncPlan<Purpose>) {
    let mut active: Vec<(ReplicaSetId, &ReplicaSet)> =
        view.all().filter(|(_, set)| set.replicas > 0).map(|(id, set)| (*id, *set)).collect();
    if active.len() <= 1 {
        let target = active.first().copied().or(view.newest).or_else(|| view.old.last().copied());
        if let Some((id, set)) = target
            && set.replicas != view.replicas()
        {
            plan.steps.push(Step::Concurrent(vec![scale_call(view, id, set, view.replicas())]));
        }
        return;
    }
    if let Some((_, set)) = view.newest
        && is_saturated(view, set)
    {
        let calls: Vec<_> = view
            .old
            .iter()
            .filter(|(_, old)| old.replicas > 0)
            .map(|(id, old)| scale_call(view, *id, old, 0))
            .collect();
        plan.steps.push(Step::Concurrent(calls));
        return;
    }
    if !view.is_rolling() {
        return;
    }
    let allowed = if view.replicas() > 0 { view.replicas().saturating_add(max_surge(view)) } else { 0 };
    let to_add = i64::from(allowed) - view.total();
    let to_add = i32::try_from(to_add).unwrap_or(if to_add < 0 { i32::MIN } else { i32::MAX });
    let grows = to_add > 0;
    active.sort_by(|(_, a), (_, b)| {
        b.replicas.cmp(&a.replicas).then_with(|| {
            let by_age = a.meta.created_at.cmp(&b.meta.created_at);
            if grows { by_age.reverse() } else { by_age }
        })
    });
    let mut left = to_add;
    let mut sizes: Vec<i32> = Vec::new();
    for (_, set) in &active {
        let share = if to_add == 0 { 0 } else { proportion(view, set, left, grows) };
        left -= share;
        sizes.push(set.replicas.saturating_add(share));
    }
    if let Some(first) = sizes.first_mut() {
        *first = first.saturating_add(left).max(0);
    }
    let calls = active.iter().zip(sizes).map(|((id, set), size)| scale_call(view, *id, set, size)).collect();
    plan.steps.push(Step::Concurrent(calls));
}

fn is_saturated(view: &View<'_>, set: &ReplicaSet) -> bool {
    let wanted = view.replicas();
    set.replicas == wanted && annotated(set, desired_key()) == Some(wanted) && set.status.available == wanted
}

/// The share of one ReplicaSet, clipped by what is left.
fn proportion(view: &View<'_>, set: &ReplicaSet, left: i32, grows: bool) -> i32 {
    if set.replicas == 0 || left == 0 {
        return 0;
    }
    let share = if view.replicas() == 0 {
        -set.replicas
    } else {
        let target = i64::from(view.replicas()) + i64::from(max_surge(view));
        let before = annotated(set, max_key()).filter(|max| *max != 0).unwrap_or(view.deployment.status.replicas);
        let base = i64::from(before);
        if base <= 0 {
            return 0;
        }
        // Rounds half away from zero, as the real controller's float arithmetic does.
        let scaled = (2 * i64::from(set.replicas) * target + base) / (2 * base);
        (scaled - i64::from(set.replicas)) as i32
    };
    if grows { share.min(left) } else { share.max(left) }
}
