//! Everything that stands between a pod and a node, for people who ask what would have to change.

use super::cache::{Cache, NodeInfo};
use super::framework::{Cycle, Rejection};
use super::profile::Profile;
use crate::arena::{Symbol, sym};
use crate::state::NodeId;

/// What speaks against a node, by every plugin, not only the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacles {
    /// The node.
    pub node: NodeId,
    /// One for each plugin that rejects it.
    pub rejections: Vec<Rejection>,
    /// Resources of which too little is free.
    pub shortages: Vec<Shortage>,
}

/// Too little of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Its name: `cpu` in thousandths, `memory` and storage in bytes, `pods`, others in pieces.
    pub resource: Symbol,
    /// What the pod asks for.
    pub asked: i64,
    /// What is free, negative if more is promised than there is.
    pub free: i64,
    /// What there is.
    pub allocatable: i64,
}

impl Shortage {
    /// Whether the pod would not fit the empty node.
    #[must_use]
    pub fn is_beyond_the_node(&self) -> bool {
        self.asked > self.allocatable
    }
}

/// What stands in the way on each node, the nearest first: the node that the fewest plugins reject, for the fewest reasons
/// that nobody but an operator can remove, with the smallest shortage.
pub(super) fn obstacles(profile: &Profile, cycle: &Cycle<'_>, cache: &Cache) -> Vec<Obstacles> {
    let of = |&node: &NodeId| {
        let info = cache.node(node);
        let rejections = profile.filters.iter().filter_map(|plugin| plugin.filter(cycle, cache, info)).collect();
        Obstacles { node, rejections, shortages: shortages(cycle, info) }
    };
    let mut all: Vec<Obstacles> = cache.order().iter().map(of).filter(|found| !found.rejections.is_empty()).collect();
    all.sort_by_cached_key(|found| {
        let unresolvable = found.rejections.iter().filter(|rejection| rejection.is_unresolvable).count();
        // In thousandths of what is asked for.
        let missing = |s: &Shortage| i128::from(s.asked - s.free) * 1000 / i128::from(s.asked.max(1));
        (found.rejections.len(), unresolvable, found.shortages.iter().map(missing).max())
    });
    all
}

fn shortages(cycle: &Cycle<'_>, info: &NodeInfo) -> Vec<Shortage> {
    let Some(object) = &info.object else { return Vec::new() };
    let (asked, all, used) = (&cycle.spec.requests, &object.allocatable, &info.requested);
    let plain = [
        (sym!("pods"), 1, object.allocatable_pods, info.pod_count),
        (sym!("cpu"), asked.cpu_milli, all.cpu_milli, used.cpu_milli),
        (sym!("memory"), asked.memory, all.memory, used.memory),
        (sym!("ephemeral-storage"), asked.ephemeral_storage, all.ephemeral_storage, used.ephemeral_storage),
    ];
    let scalars = asked.scalars.iter().map(|&(name, amount)| (name, amount, all.scalar(name), used.scalar(name)));
    plain
        .into_iter()
        .chain(scalars)
        .map(|(resource, asked, allocatable, used)| Shortage { resource, asked, free: allocatable - used, allocatable })
        .filter(|shortage| shortage.asked > 0 && shortage.asked > shortage.free)
        .collect()
}
