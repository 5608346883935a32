//! The rolling update: which old pods go next.

use super::revision;
use super::view::{View, Work};
use crate::model::DaemonSetUpdateStrategyType;
use crate::state::{DaemonSet, DeletionCause, NodeId, PodId};
use crate::units::Rounding;

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

fn find(view: &View<'_>, node: NodeId) -> Found {
    let (mut new, mut old) = (Vec::new(), Vec::new());
    for (id, pod) in view.pods_on(node).filter(|(_, pod)| pod.deletion.is_none()) {
        if revision::has_hash(pod, view.hash) { &mut new } else { &mut old }.push(id);
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
pub(super) fn roll(view: &View<'_>, work: &mut Work) {
    let desired = view.nodes.iter().filter(|(_, placement)| placement.should_run).count() as i32;
    let (surge, max_unavailable) = limits(view.set, desired);
    if surge == 0 { replace(view, max_unavailable, work) } else { surge_ahead(view, surge, desired, work) }
}

fn replaced(id: PodId) -> (PodId, DeletionCause) {
    (id, DeletionCause::RollingUpdate)
}

/// Deletes old pods and lets the next pass create their successors.
fn replace(view: &View<'_>, max_unavailable: i32, work: &mut Work) {
    let available = |id: PodId| view.store.pod(id).is_some_and(|pod| view.is_available(pod));
    let mut unavailable = 0;
    let mut candidates = Vec::new();
    for (node, placement) in &view.nodes {
        if !placement.should_run && view.pods_on(*node).next().is_none() {
            continue;
        }
        match find(view, *node) {
            Found::Unclear | Found::Both(..) => unavailable += 1,
            Found::New(pod) => unavailable += i32::from(!available(pod)),
            Found::Old(pod) if available(pod) => candidates.push(pod),
            Found::Old(pod) => {
                unavailable += 1;
                work.delete.push(replaced(pod));
            }
        }
    }
    let room = (max_unavailable - unavailable).max(0) as usize;
    work.delete.extend(candidates.into_iter().take(room).map(replaced));
}

/// Creates new pods beside old ones and deletes the old ones once the new are available.
fn surge_ahead(view: &View<'_>, max_surge: i32, desired: i32, work: &mut Work) {
    let available = |id: PodId| view.store.pod(id).is_some_and(|pod| view.is_available(pod));
    let mut surging = 0;
    let mut candidates = Vec::new();
    let mut unwanted = Vec::new();
    for (node, placement) in &view.nodes {
        match find(view, *node) {
            Found::Unclear => surging += i32::from(placement.should_run),
            Found::New(pod) => surging += i32::from(!available(pod)),
            Found::Both(new, old) if available(new) => work.delete.push(replaced(old)),
            Found::Both(..) => surging += 1,
            Found::Old(pod) if !placement.should_run => unwanted.push(pod),
            Found::Old(pod) if available(pod) => candidates.push(*node),
            Found::Old(_) => work.create.push(*node),
        }
    }
    let room = (max_surge - surging).max(0) as usize;
    work.create.extend(candidates.into_iter().take(room));
    let surplus = (view.set.status.available - desired).max(0) as usize;
    work.delete.extend(unwanted.into_iter().take(surplus).map(replaced));
}
