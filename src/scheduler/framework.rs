//! The extension points: what a plugin can say about a pod and a node.

use std::cell::OnceCell;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::cache::{Cache, NodeInfo};
use super::plugins::{inter_pod_affinity, pod_topology_spread};
use super::preemption::DefaultPreemptionArgs;
use crate::arena::Symbol;
use crate::model::Resources;
use crate::model::config::KubernetesVersion;
use crate::state::{AdmittedSpec, Node, NodeDelta, NodeId, Pod, PodId, Store};
use crate::units::SimDuration;

/// Why a node is not feasible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The plugin that said no first.
    pub plugin: &'static str,
    /// Its reasons.
    pub reasons: SmallVec<[Symbol; 1]>,
    /// Whether removing pods could not help either.
    pub is_unresolvable: bool,
}

impl Rejection {
    /// Removing pods may help.
    pub(super) fn unschedulable(plugin: &'static str, reason: Symbol) -> Self {
        Self { plugin, reasons: smallvec![reason], is_unresolvable: false }
    }

    /// Removing pods does not help.
    pub(super) fn unresolvable(plugin: &'static str, reason: Symbol) -> Self {
        Self { plugin, reasons: smallvec![reason], is_unresolvable: true }
    }
}

/// What a plugin works out before nodes are filtered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PreFilter {
    /// Nothing: its filter is asked.
    Pass,
    /// Its filter need not be asked in this cycle.
    Skip,
    /// Only these nodes can do.
    Only(Vec<NodeId>),
    /// No node can do.
    Reject(Rejection),
}

/// What plugins have worked out for all pods that are alike: same spec, labels, namespace, owner and profile.
#[derive(Clone, Debug, Default)]
pub(super) struct Template {
    /// What the pod's containers ask for when those that name no CPU or memory count for a little.
    pub(super) non_zero: Resources,
    pub(super) spread: pod_topology_spread::Prepared,
    pub(super) affinity: inter_pod_affinity::Prepared,
}

/// The pod of one scheduling cycle.
pub(super) struct Cycle<'a> {
    pub(super) id: PodId,
    pub(super) pod: &'a Pod,
    pub(super) spec: &'a Arc<AdmittedSpec>,
    pub(super) template: Arc<Template>,
    pub(super) version: KubernetesVersion,
    pub(super) node_count: usize,
    pub(super) store: &'a Store,
    /// What PodTopologySpread works out over the feasible nodes.
    pub(super) spread_score: OnceCell<pod_topology_spread::ScoreState>,
}

/// Something that happened to the cluster and may let a pod be scheduled.
#[derive(Debug)]
pub(super) enum ClusterEvent<'a> {
    /// A pod was bound.
    PodAdded(&'a Pod),
    /// A bound pod left, finished or could not be bound; or a pod lost the node it was nominated to.
    PodRemoved { pod: &'a Pod, was_assigned: bool },
    /// A bound pod changed its labels or requests.
    PodUpdated { before: &'a Pod, after: &'a Pod },
    /// The waiting pod itself was changed.
    Itself { before: &'a Pod },
    /// A node joined.
    NodeAdded(NodeId),
    /// A node left.
    NodeRemoved(&'a Node),
    /// A node changed.
    NodeUpdated { node: NodeId, delta: NodeDelta, before: &'a Node },
}

impl ClusterEvent<'_> {
    /// Whether taints changed, or a node was uncordoned.
    ///
    /// # Source
    /// kube-scheduler, `UpdateNodeTaint`; cordoning alone is no event.
    pub(super) fn is_taint_update(&self, cache: &Cache) -> bool {
        let Self::NodeUpdated { node, delta, before } = self else { return false };
        let is_open = || cache.node(*node).object.as_ref().is_some_and(|node| !node.unschedulable);
        delta.touches(NodeDelta::TAINTS)
            || (delta.touches(NodeDelta::UNSCHEDULABLE) && before.unschedulable && is_open())
    }

    /// The node that joined or changed, as it is now, and as it was before.
    pub(super) fn node<'b>(&'b self, cache: &'b Cache) -> Option<(&'b NodeInfo, &'b Arc<Node>, Option<&'b Node>)> {
        let (node, before) = match self {
            Self::NodeAdded(node) => (*node, None),
            Self::NodeUpdated { node, before, .. } => (*node, Some(*before)),
            _ => return None,
        };
        let info = cache.node(node);
        Some((info, info.object.as_ref()?, before))
    }

    /// Whether a node joined, or changed in one of these ways.
    pub(super) fn is_node(&self, ways: NodeDelta) -> bool {
        match self {
            Self::NodeAdded(_) => true,
            Self::NodeUpdated { delta, .. } => delta.touches(ways),
            _ => false,
        }
    }

    /// Whether the waiting pod has more tolerations than before.
    pub(super) fn gives_tolerations(&self, pod: &Pod) -> bool {
        matches!(self, Self::Itself { before } if before.spec.tolerations.len() != pod.spec.tolerations.len())
    }
}

/// A plugin of the scheduling framework, with the points it takes part in.
pub(super) trait Plugin: Send + Sync {
    /// Its name in a KubeSchedulerConfiguration.
    fn name(&self) -> &'static str;

    /// Whether what it says of a node follows from the pod's spec and the [`NodeInfo`] alone (and the images of the
    /// cluster). It is then asked once for each spec and state of a node, not once for each pod.
    fn is_local(&self) -> bool {
        false
    }

    /// Whether a pod may enter the queue.
    fn pre_enqueue(&self, _pod: &Pod) -> bool {
        true
    }

    /// Told of the first of pods that are alike, and again when what it has worked out may no longer hold.
    fn prepare(&self, _pod: &Pod, _store: &Store, _cache: &mut Cache, _template: &mut Template) {}

    /// At the beginning of each cycle.
    fn begin_cycle(&self, _template: &Template, _cache: &mut Cache) {}

    /// Before any node is looked at.
    fn pre_filter(&self, _cycle: &Cycle<'_>, _cache: &Cache) -> PreFilter {
        PreFilter::Pass
    }

    /// Reasons against a node; none if it passes.
    fn filter(&self, _cycle: &Cycle<'_>, _cache: &Cache, _node: &NodeInfo) -> Option<Rejection> {
        None
    }

    /// How it makes room for pods that no node takes, if it does.
    fn preemption(&self) -> Option<DefaultPreemptionArgs> {
        None
    }

    /// How long a pod waits for its volumes before it is bound, if the plugin binds them.
    fn volume_timeout(&self) -> Option<SimDuration> {
        None
    }

    /// What it has to say when no node takes a pod, besides preemption.
    fn after_filters(&self, _version: KubernetesVersion) -> Option<&'static str> {
        None
    }

    /// Whether it scores this pod at all.
    fn pre_score(&self, _cycle: &Cycle<'_>, _cache: &Cache, _feasible: &[NodeId]) -> bool {
        true
    }

    /// The raw score of a feasible node.
    fn score(&self, _cycle: &Cycle<'_>, _cache: &Cache, _node: &NodeInfo) -> i64 {
        0
    }

    /// Turns raw scores into 0 to 100.
    fn normalize(&self, _cycle: &Cycle<'_>, _cache: &Cache, _feasible: &[NodeId], _scores: &mut [i64]) {}

    /// Whether any change of taints retries what this plugin rejected.
    ///
    /// # Source
    /// kube-scheduler, `buildQueueingHintMap`: so it is for plugins that wait for added nodes, but not for taints.
    fn hears_of_taints(&self) -> bool {
        false
    }

    /// Whether an event may help a pod that this plugin rejected.
    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, cache: &Cache) -> bool;
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
