//! The status of a StatefulSet.

use super::pass::{View, is_running_and_ready, min_ready};
use crate::arena::Symbol;
use crate::component::revision_hash_label;
use crate::model::StatefulSetUpdateStrategyType;
use crate::state::StatefulSetStatus;
use crate::units::SimDuration;

/// The status to write, and when to look again because pods become available.
///
/// # Source
/// statefulset-controller, `updateStatefulSet` and `completeRollingUpdate`.
pub(super) fn status(view: &View<'_>, current_revision: Symbol) -> (StatefulSetStatus, Option<SimDuration>) {
    let set = view.set;
    let min_ready = min_ready(set);
    let mut status = StatefulSetStatus {
        observed_generation: set.meta.generation,
        current_revision,
        update_revision: view.update_revision,
        collision_count: set.status.collision_count,
        ..StatefulSetStatus::default()
    };
    let mut next: Option<SimDuration> = None;
    for (_, pod) in view.replicas.iter().chain(&view.condemned).filter_map(|(ordinal, pod)| pod.map(|p| (ordinal, p.1)))
    {
        status.replicas += 1;
        if is_running_and_ready(pod) {
            status.ready += 1;
            match pod.available_in(min_ready, view.now) {
                Some(SimDuration::ZERO) => status.available += 1,
                Some(wait) => next = Some(next.map_or(wait, |other| other.min(wait))),
                None => {}
            }
        }
        if pod.deletion.is_none() {
            let revision = pod.labels.get(revision_hash_label());
            status.current += i32::from(revision == Some(current_revision));
            status.updated += i32::from(revision == Some(view.update_revision));
        }
    }
    let wanted = set.spec.replicas.unwrap_or(1);
    let rolls = set.spec.update_strategy.strategy_type != Some(StatefulSetUpdateStrategyType::OnDelete);
    if rolls && [status.updated, status.ready, status.replicas].iter().all(|count| *count == wanted) {
        status.current = status.updated;
        status.current_revision = view.update_revision;
    }
    (status, next)
}
