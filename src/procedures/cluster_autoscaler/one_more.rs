//! Whether a node more would help pods that wait: what an autoscaler asks before it adds one, for those who plan without one.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::scale_up::NewNodes;
use crate::arena::Symbol;
use crate::component::{PoolPlan, Snapshot, WhatIf};
use crate::state::{Owner, PodId};

/// Of each pod, whether it would fit on a new node of one of these pools, in any of its zones. New nodes are tried one at a time,
/// as a node in a zone that has none changes what spread constraints allow. Those that `is_lost` says of, by pool and zone,
/// could not come up.
#[must_use]
pub fn fit_on_one_more(
    pods: &[PodId],
    pools: &[&PoolPlan],
    is_lost: &dyn Fn(Symbol, Option<Symbol>) -> bool,
    snapshot: Snapshot<'_>,
    what_if: &mut dyn WhatIf,
) -> Vec<bool> {
    let store = snapshot.store;
    // What helps a pod, helps those that are like it.
    let kind = |id: PodId| -> (usize, Option<Owner>) {
        store.pod(id).map_or((0, None), |pod| (Arc::as_ptr(&pod.spec) as usize, pod.owner))
    };
    let mut fits: FxHashMap<(usize, Option<Owner>), bool> = FxHashMap::default();
    for pool in pools {
        let first = pool.next_number(store);
        for number in first..first + pool.zones.len().max(1) as u64 {
            let zone = (!pool.zones.is_empty()).then(|| pool.zones[number as usize % pool.zones.len()]);
            if is_lost(pool.name, zone) {
                continue;
            }
            let node = NewNodes::from(pool, number, snapshot).add(what_if);
            for &pod in pods {
                let known = fits.entry(kind(pod)).or_default();
                *known = *known || what_if.first_fit(pod, &[node]).is_ok();
            }
            what_if.remove_node(node);
        }
    }
    pods.iter().map(|pod| fits.get(&kind(*pod)).copied().unwrap_or(false)).collect()
}
