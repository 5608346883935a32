//! Everything that stands between a pod and a node, for people who ask what would have to change.

use super::cache::Cache;
use super::cycle::Cycle;
use super::framework::PreFilter;
use super::message;
use super::rejection::{Obstacles, Rejection, Remedy};
use crate::state::NodeId;

/// What stands in the way on the nearest node: the one that the fewest plugins reject, for the fewest reasons that nobody but an
/// operator can remove, with the smallest shortage. The first of equals; none if no node is rejected.
pub(super) fn nearest(cycle: &Cycle<'_>, cache: &Cache) -> Option<Obstacles> {
    let before: Vec<PreFilter> = (0..cycle.profile.filters.len()).map(|at| cycle.pre_filter_of(at, cache)).collect();
    let distance = |found: &Obstacles| {
        let unresolvable = found.rejections.iter().filter(|rejection| rejection.is_unresolvable).count();
        let shortages = found.remedies.iter().filter_map(|remedy| match remedy {
            Remedy::Resource(shortage) => Some(shortage.missing_milli()),
            Remedy::Else(_) => None,
        });
        (found.rejections.len(), unresolvable, shortages.max())
    };
    let all = cache.order().iter().map(|&node| obstacles(cycle, cache, &before, node));
    all.filter(|found| !found.rejections.is_empty()).min_by_key(distance)
}

/// What stands in the way on a node: what plugins said before they looked at nodes, which holds for each, and what they say of this
/// one. What helps against several of these stands there once.
fn obstacles(cycle: &Cycle<'_>, cache: &Cache, before: &[PreFilter], node: NodeId) -> Obstacles {
    let info = cache.node(node);
    let mut found = Obstacles { node, rejections: Vec::new(), remedies: Vec::new() };
    let mut add = |at: usize, rejection: Rejection| {
        for remedy in cycle.remedies(at, cache, info, &rejection) {
            if !found.remedies.contains(&remedy) {
                found.remedies.push(remedy);
            }
        }
        found.rejections.push(rejection);
    };
    for (at, outcome) in before.iter().enumerate() {
        if let PreFilter::Reject(rejection) = outcome {
            add(at, rejection.clone());
        }
    }
    for (at, outcome) in before.iter().enumerate().filter(|(_, outcome)| **outcome != PreFilter::Skip) {
        if let Some(rejection) = cycle.filter(at, cache, info) {
            add(at, rejection);
        } else if let PreFilter::Only(nodes) = outcome
            && !nodes.contains(&node)
        {
            let plugin = cycle.profile.filters[at].name;
            add(at, Rejection::unresolvable(plugin, message::nobody_left(&[plugin])));
        }
    }
    found
}
