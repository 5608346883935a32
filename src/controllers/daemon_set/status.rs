//! The status of a DaemonSet.

use std::ops::{AddAssign, SubAssign};

use super::spots::Spot;
use super::view::View;
use crate::state::DaemonSetStatus;
use crate::units::SimDuration;

/// What a status counts.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Nodes that should run a pod.
    pub(super) desired: i32,
    current: i32,
    ready: i32,
    available: i32,
    updated: i32,
    misscheduled: i32,
}

impl Counts {
    /// What one node adds: of several pods on it the one that would be kept counts.
    pub(super) fn of(spot: &Spot) -> Self {
        let mut counts = Self::default();
        if !spot.placement.should_run {
            counts.misscheduled = i32::from(spot.kept.is_some());
            return counts;
        }
        counts.desired = 1;
        if let Some(kept) = spot.kept {
            counts.current = 1;
            counts.ready = i32::from(kept.is_ready);
            counts.available = i32::from(kept.is_available);
            counts.updated = i32::from(kept.is_updated);
        }
        counts
    }

    fn zip(self, other: Self, with: fn(i32, i32) -> i32) -> Self {
        Self {
            desired: with(self.desired, other.desired),
            current: with(self.current, other.current),
            ready: with(self.ready, other.ready),
            available: with(self.available, other.available),
            updated: with(self.updated, other.updated),
            misscheduled: with(self.misscheduled, other.misscheduled),
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = self.zip(other, |a, b| a + b);
    }
}

impl SubAssign for Counts {
    fn sub_assign(&mut self, other: Self) {
        *self = self.zip(other, |a, b| a - b);
    }
}

/// The status to write, and when to look again because pods become available.
///
/// # Source
/// daemonset-controller, `updateDaemonSetStatus`.
pub(super) fn status(view: &View<'_>) -> (DaemonSetStatus, Option<SimDuration>) {
    let Counts { desired, current, ready, available, updated, misscheduled } = view.spots.counts();
    let status = DaemonSetStatus {
        observed_generation: view.set.meta.generation,
        collision_count: view.set.status.collision_count,
        desired,
        current,
        ready,
        available,
        updated,
        misscheduled,
    };
    let min_ready = view.rule.min_ready;
    let waits = min_ready > SimDuration::ZERO && ready != available;
    (status, waits.then_some(min_ready))
}
