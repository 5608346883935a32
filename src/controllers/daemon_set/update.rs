//! The rolling update: which old pods go next.

use super::placement::Placement;
use super::{PodsByNode, revision, status};
use crate::arena::Symbol;
use crate::model::DaemonSetUpdateStrategyType;
use crate::state::{DaemonSet, DeletionCause, NodeId, PodId, Store};
use crate::units::{Rounding, SimTime};

fn is_rolling(set: &DaemonSet) -> bool {
    set.spec.update_strategy.strategy_type != Some(DaemonSetUpdateStrategyType::OnDelete)
}

/// Whether the set surges at all.
pub(super) fn max_surge(set: &DaemonSet) -> i32 {
    limits(set, set.status.desired.max(1)).0
}

/// Surge and unavailability for that many wanted pods; percentages round up, and both zero means one unavailable.
pub(super) fn limits(set: &DaemonSet, desired: i32) -> (i32, i32) {
    if !is_rolling(set) {
        return (0, 0);
    }
    let update = set.spec.update_strategy.rolling_update.as_ref();
    let surge = update.and_then(|u| u.max_surge).map_or(0, |v| v.resolve(desired, Rounding::Up));
    let mut unavailable = update.and_then(|u| u.max_unavailable).map_or(1, |v| v.resolve(desired, Rounding::Up));
    if surge == 0 && unavailable == 0 && desired > 0 {
        unavailable = 1;
    }
    (surge, unavailable)
}

/// The live pods of one node: of the new template and of the old one.
enum Found {
    /// None of either, or several of one kind: not in a state to be updated.
    Unclear,
    /// Only a new one.
    New(PodId),
    /// Only an old one.
    Old(PodId),
    /// Both.
    Both(PodId, PodId),
}

fn find(store: &Store, pods: &[PodId], hash: Symbol) -> Found {
    let (mut new, mut old) = (Vec::new(), Vec::new());
    for &id in pods {
        if let Some(pod) = store.pod(id)
            && pod.deletion.is_none()
        {
            if revision::has_hash(pod, hash) { &mut new } else { &mut old }.push(id);
        }
    }
    match (new.as_slice(), old.as_slice()) {
        ([new], []) => Found::New(*new),
        ([], [old]) => Found::Old(*old),
        ([new], [old]) => Found::Both(*new, *old),
        _ => Found::Unclear,
    }
}

/// Adds what the update wants created and deleted.
///
/// # Source
/// daemonset-controller, `rollingUpdate` (1.30+).
///
/// # Differs
/// The real controller takes candidates in map order; here by node name.
pub(super) fn roll(
    store: &Store,
    set: &DaemonSet,
    nodes: &[(NodeId, Placement)],
    pods: &PodsByNode,
    hash: Symbol,
    now: SimTime,
    create: &mut Vec<NodeId>,
    delete: &mut Vec<(PodId, DeletionCause)>,
) {
    let desired = nodes.iter().filter(|(_, placement)| placement.should_run).count() as i32;
    let (surge, max_unavailable) = limits(set, desired);
    let available = |id: PodId| store.pod(id).is_some_and(|pod| pod.is_available(status::min_ready(set), now));
    let replaced = |id: PodId| (id, DeletionCause::RollingUpdate);
    if surge == 0 {
        let mut unavailable = 0;
        let mut candidates = Vec::new();
        for (node, placement) in nodes {
            let here = pods.get(node).map_or(&[][..], Vec::as_slice);
            if here.is_empty() && !placement.should_run {
                continue;
            }
            match find(store, here, hash) {
                Found::Unclear | Found::Both(..) => unavailable += 1,
                Found::New(pod) => unavailable += i32::from(!available(pod)),
                Found::Old(pod) if available(pod) => candidates.push(pod),
                Found::Old(pod) => {
                    unavailable += 1;
                    delete.push(replaced(pod));
                }
            }
        }
        let room = (max_unavailable - unavailable).max(0) as usize;
        delete.extend(candidates.into_iter().take(room).map(replaced));
        return;
    }
    let mut surging = 0;
    let mut candidates = Vec::new();
    let mut unwanted = Vec::new();
    for (node, placement) in nodes {
        let here = pods.get(node).map_or(&[][..], Vec::as_slice);
        match find(store, here, hash) {
            Found::Unclear => {
                if placement.should_run {
                    surging += 1;
                }
            }
            Found::New(pod) => surging += i32::from(!available(pod)),
            Found::Both(new, old) => {
                if available(new) {
                    delete.push(replaced(old));
                } else {
                    surging += 1;
                }
            }
            Found::Old(pod) if !placement.should_run => unwanted.push(pod),
            Found::Old(pod) if available(pod) => candidates.push(*node),
            Found::Old(_) => create.push(*node),
        }
    }
    let room = (surge - surging).max(0) as usize;
    create.extend(candidates.into_iter().take(room));
    let surplus = (set.status.available - desired).max(0) as usize;
    delete.extend(unwanted.into_iter().take(surplus).map(replaced));
}
