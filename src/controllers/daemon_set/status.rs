//! The status of a DaemonSet.

use super::placement::Placement;
use super::{PodsByNode, keep_order, revision};
use crate::arena::Symbol;
use crate::state::{DaemonSet, DaemonSetStatus, NodeId, Store};
use crate::units::{SimDuration, SimTime};

pub(super) fn min_ready(set: &DaemonSet) -> SimDuration {
    SimDuration::from_secs(set.spec.min_ready_seconds.max(0).unsigned_abs().into())
}

/// The status to write, and when to look again because pods become available.
///
/// # Source
/// daemonset-controller, `updateDaemonSetStatus`: of several pods on a node the one that would be kept counts.
pub(super) fn status(
    store: &Store,
    set: &DaemonSet,
    nodes: &[(NodeId, Placement)],
    pods: &PodsByNode,
    hash: Symbol,
    now: SimTime,
) -> (DaemonSetStatus, Option<SimDuration>) {
    let min_ready = min_ready(set);
    let mut status = DaemonSetStatus {
        observed_generation: set.meta.generation,
        collision_count: set.status.collision_count,
        ..DaemonSetStatus::default()
    };
    for (node, placement) in nodes {
        let here = pods.get(node).map_or(&[][..], Vec::as_slice);
        if !placement.should_run {
            status.misscheduled += i32::from(!here.is_empty());
            continue;
        }
        status.desired += 1;
        let Some(&kept) = here.iter().min_by(|&&a, &&b| keep_order(store, a, b)) else { continue };
        let Some(pod) = store.pod(kept) else { continue };
        status.current += 1;
        status.ready += i32::from(pod.is_ready());
        status.available += i32::from(pod.is_available(min_ready, now));
        status.updated += i32::from(revision::has_hash(pod, hash));
    }
    let waits = min_ready > SimDuration::ZERO && status.ready != status.available;
    (status, waits.then_some(min_ready))
}
