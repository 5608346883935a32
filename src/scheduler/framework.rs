//! The extension points: what a plugin can say about a pod and a node.

use std::cell::OnceCell;
use std::sync::Arc;

use super::cache::{Cache, NodeInfo};
use super::plugins::{inter_pod_affinity, pod_topology_spread};
use crate::model::config::KubernetesVersion;
use crate::model::{Resources, non_zero_container_requests};
use crate::state::{AdmittedSpec, Node, NodeDelta, NodeId, Pod, Store};

/// Why a node is not feasible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The plugin that said no first.
    pub plugin: &'static str,
    /// Its reasons.
    pub reasons: Vec<String>,
    /// Whether removing pods could not help either.
    pub is_unresolvable: bool,
}

/// The pod of one scheduling cycle, with what plugins work out once.
pub(super) struct Cycle<'a> {
    pub(super) pod: &'a Pod,
    pub(super) spec: &'a Arc<AdmittedSpec>,
    /// What the pod's containers ask for when those that name no CPU or memory count for a little.
    pub(super) non_zero: Resources,
    pub(super) version: KubernetesVersion,
    pub(super) node_count: usize,
    pub(super) cache: &'a Cache,
    pub(super) store: &'a Store,
    // What plugins that look at other pods work out once, when first asked.
    pub(super) affinity_filter: OnceCell<inter_pod_affinity::FilterState>,
    pub(super) affinity_score: OnceCell<inter_pod_affinity::ScoreState>,
    pub(super) spread_filter: OnceCell<pod_topology_spread::FilterState>,
    pub(super) spread_score: OnceCell<pod_topology_spread::ScoreState>,
}

impl<'a> Cycle<'a> {
    pub(super) fn new(pod: &'a Pod, cache: &'a Cache, store: &'a Store) -> Self {
        Self {
            pod,
            spec: &pod.spec,
            non_zero: non_zero_container_requests(&pod.spec),
            version: cache.version,
            node_count: cache.order().len(),
            cache,
            store,
            affinity_filter: OnceCell::new(),
            affinity_score: OnceCell::new(),
            spread_filter: OnceCell::new(),
            spread_score: OnceCell::new(),
        }
    }
}

/// Something that happened to the cluster and may let a pod be scheduled.
#[derive(Debug)]
pub(super) enum ClusterEvent<'a> {
    /// A pod was bound.
    PodAdded,
    /// A bound pod left, or finished.
    PodRemoved,
    /// A node joined.
    NodeAdded(NodeId),
    /// A node changed.
    NodeUpdated { node: NodeId, delta: NodeDelta, before: &'a Node },
}

/// A plugin of the scheduling framework, with the points it takes part in.
pub(super) trait Plugin: Send + Sync {
    /// Its name in a KubeSchedulerConfiguration.
    fn name(&self) -> &'static str;

    /// Told of a pod before its cycle begins: counts that the cache is to keep.
    fn prepare(&self, _pod: &Pod, _store: &Store, _cache: &mut Cache) {}

    /// Reasons against a node; empty if it passes.
    fn filter(&self, _cycle: &Cycle<'_>, _node: &NodeInfo) -> Option<Rejection> {
        None
    }

    /// Whether it scores this pod at all.
    fn scores(&self, _cycle: &Cycle<'_>, _feasible: &[NodeId]) -> bool {
        true
    }

    /// The raw score of a feasible node.
    fn score(&self, _cycle: &Cycle<'_>, _node: &NodeInfo) -> i64 {
        0
    }

    /// Turns raw scores into 0 to 100.
    fn normalize(&self, _cycle: &Cycle<'_>, _feasible: &[NodeId], _scores: &mut [i64]) {}

    /// Whether an event may help a pod that this plugin rejected.
    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, node: Option<&NodeInfo>) -> bool;
}

/// The default normalization: the largest raw score becomes 100.
pub(super) fn normalize(scores: &mut [i64], is_reversed: bool) {
    let max = scores.iter().copied().max().unwrap_or(0);
    for score in scores {
        if max == 0 {
            *score = if is_reversed { 100 } else { *score };
            continue;
        }
        *score = 100 * *score / max;
        if is_reversed {
            *score = 100 - *score;
        }
    }
}
