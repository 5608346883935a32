//! The extension points: what a plugin can say about a pod and a node.

use std::cell::OnceCell;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::cache::Cache;
use super::event::{ClusterEvent, Events};
use super::node_info::NodeInfo;
use super::obstacles::Remedy;
use super::plugins::default_preemption::DefaultPreemptionArgs;
use super::plugins::{inter_pod_affinity, pod_topology_spread};
use crate::arena::Symbol;
use crate::model::Resources;
use crate::model::config::KubernetesVersion;
use crate::state::{AdmittedSpec, NodeId, Pod, PodId, Store};
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

    /// What would have to be otherwise for it to let the pod in on a node that it rejects.
    fn remedies(&self, _cycle: &Cycle<'_>, _node: &NodeInfo, rejection: &Rejection) -> Vec<Remedy> {
        vec![Remedy::Else(rejection.clone())]
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
    ///
    /// # Errors
    ///
    /// If the pod is such that nobody can: why. The attempt to schedule it ends there.
    fn pre_score(&self, _cycle: &Cycle<'_>, _cache: &Cache, _feasible: &[NodeId]) -> Result<bool, String> {
        Ok(true)
    }

    /// The raw score of a feasible node.
    fn score(&self, _cycle: &Cycle<'_>, _cache: &Cache, _node: &NodeInfo) -> i64 {
        0
    }

    /// Turns raw scores into 0 to 100.
    fn normalize(&self, _cycle: &Cycle<'_>, _cache: &Cache, _feasible: &[NodeId], _scores: &mut [i64]) {}

    /// Kinds of events that may help a pod that this plugin rejected.
    ///
    /// # Source
    /// kube-scheduler, `EventsToRegister`.
    fn events(&self) -> Events {
        Events::NONE
    }

    /// Whether an event of these kinds may help a pod that this plugin rejected.
    fn hint(&self, _pod: &Pod, _event: &ClusterEvent<'_>, _cache: &Cache, _store: &Store) -> bool {
        false
    }
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
