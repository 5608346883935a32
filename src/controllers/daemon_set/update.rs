//! The rolling update: which old pods go next.

use super::spots::Found;
use super::view::{View, Work};
use crate::engine::Streams;
use crate::model::DaemonSetUpdateStrategyType;
use crate::state::{DaemonSet, DeletionCause, PodId};
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

/// Adds what the update wants created and deleted.
///
/// # Source
/// daemonset-controller, `rollingUpdate` (1.30+). Nodes come out of a hash map: which of the candidates are taken is up to
/// chance, anew in every pass. It goes over the nodes that pods name, so that pods of nodes that are gone are candidates, and take up
/// of the budget, until they are gone themselves.
pub(super) fn roll(view: &View<'_>, streams: &Streams, work: &mut Work) {
    let desired = view.spots.counts().desired;
    let (surge, max_unavailable) = limits(view.set, desired);
    if surge == 0 {
        replace(view, max_unavailable, streams, work);
    } else {
        surge_ahead(view, surge, desired, streams, work);
    }
}

fn replaced(id: PodId) -> (PodId, DeletionCause) {
    (id, DeletionCause::RollingUpdate)
}

/// As many of the candidates as there is room for.
fn some<T: Copy>(candidates: &[T], room: i32, view: &View<'_>, streams: &Streams) -> Vec<T> {
    let room = room.max(0) as usize;
    if room == 0 || room >= candidates.len() {
        return candidates[..room.min(candidates.len())].to_vec();
    }
    let entity = format!("{}/{}", view.set.meta.namespace, view.set.meta.name);
    let mut stream = streams.at("daemon-set-order", &entity, view.rule.now.as_nanos().unsigned_abs());
    stream.sample_indices(candidates.len(), room).into_iter().map(|index| candidates[index]).collect()
}

/// Deletes old pods and lets the next pass create their successors.
fn replace(view: &View<'_>, max_unavailable: i32, streams: &Streams, work: &mut Work) {
    let mut unavailable = 0;
    let mut candidates = Vec::new();
    let spots = view.spots.behind().filter(|spot| spot.placement.should_run || spot.kept.is_some());
    for found in spots.map(|spot| spot.found).chain(view.left_behind()) {
        match found {
            Found::Nothing | Found::Unclear | Found::Both { .. } => unavailable += 1,
            Found::New(pod) => unavailable += i32::from(!pod.is_available),
            Found::Old(pod) if pod.is_available => candidates.push(pod.id),
            Found::Old(pod) => {
                unavailable += 1;
                work.delete.push(replaced(pod.id));
            }
        }
    }
    let chosen = some(&candidates, max_unavailable - unavailable, view, streams);
    work.delete.extend(chosen.into_iter().map(replaced));
}

/// Creates new pods beside old ones and deletes the old ones once the new are available.
///
/// A node's availability is that of its old pod while it has one. A new pod that stands alone is no surge, whatever its
/// state; the pod of a node that should have none goes at once if it is not available, else when others make up for it. The real
/// controller looks up the node of an old pod that stands alone, and gives the pass up if it is gone.
fn surge_ahead(view: &View<'_>, max_surge: i32, desired: i32, streams: &Streams, work: &mut Work) {
    let left_behind: Vec<Found> = view.left_behind().collect();
    if left_behind.iter().any(|found| matches!(found, Found::Old(_))) {
        return;
    }
    let mut surging = 0;
    let mut available_nodes = view.spots.current_count() as i32;
    let mut candidates = Vec::new();
    let mut unwanted = Vec::new();
    let spots = view.spots.behind().map(|spot| (spot.found, Some(spot)));
    for (found, spot) in left_behind.into_iter().map(|found| (found, None)).chain(spots) {
        if let Found::Old(pod) | Found::New(pod) | Found::Both { old: pod, .. } = found {
            available_nodes += i32::from(pod.is_available);
        }
        match (found, spot) {
            (Found::Nothing | Found::New(_), _) | (Found::Old(_), None) => {}
            (Found::Unclear, _) => surging += 1,
            (Found::Both { new, old }, _) if new.is_available => work.delete.push(replaced(old.id)),
            (Found::Both { .. }, _) => surging += 1,
            (Found::Old(pod), Some(spot)) => match (pod.is_available, spot.placement.should_run) {
                (false, false) => work.delete.push(replaced(pod.id)),
                (false, true) => work.create.push(spot.node),
                (true, false) => unwanted.push(pod.id),
                (true, true) => candidates.push(spot.node),
            },
        }
    }
    work.create.extend(some(&candidates, max_surge - surging, view, streams));
    let surplus = some(&unwanted, available_nodes - desired, view, streams);
    work.delete.extend(surplus.into_iter().map(replaced));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::DaemonSetStatus;
    use crate::testing::meta;

    #[test]
    fn limits_round_up_and_are_never_both_zero() {
        let check = |update: &str, desired: i32, expected: (i32, i32)| {
            let spec = format!("{{updateStrategy: {{rollingUpdate: {update}}}}}");
            let spec = serde_saphyr::from_str(&spec).expect("a spec");
            let status = DaemonSetStatus::default();
            let set = DaemonSet { meta: meta("agent", None), spec: std::sync::Arc::new(spec), status };
            assert_eq!(limits(&set, desired), expected, "{update} of {desired}");
        };
        check("{maxUnavailable: 50%}", 3, (0, 2));
        check("{maxSurge: 50%, maxUnavailable: 0}", 2, (1, 0));
        check("{maxSurge: 0, maxUnavailable: 0}", 2, (0, 1));
        check("{maxUnavailable: 50%}", 0, (0, 0));
        check("{}", 5, (0, 1));
    }
}
