//! The status of a DaemonSet.

use super::view::View;
use crate::state::DaemonSetStatus;
use crate::units::SimDuration;

/// The status to write, and when to look again because pods become available.
///
/// # Source
/// daemonset-controller, `updateDaemonSetStatus`: of several pods on a node the one that would be kept counts.
pub(super) fn status(view: &View<'_>) -> (DaemonSetStatus, Option<SimDuration>) {
    let mut status = DaemonSetStatus {
        observed_generation: view.set.meta.generation,
        collision_count: view.set.status.collision_count,
        ..DaemonSetStatus::default()
    };
    for spot in view.spots {
        if !spot.placement.should_run {
            status.misscheduled += i32::from(spot.kept.is_some());
            continue;
        }
        status.desired += 1;
        let Some(kept) = spot.kept else { continue };
        status.current += 1;
        status.ready += i32::from(kept.is_ready);
        status.available += i32::from(kept.is_available);
        status.updated += i32::from(kept.is_updated);
    }
    let min_ready = view.rule.min_ready;
    let waits = min_ready > SimDuration::ZERO && status.ready != status.available;
    (status, waits.then_some(min_ready))
}
