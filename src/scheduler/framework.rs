//! The extension points: what a plugin can say about a pod and a node.
//!
//! A plugin that filters or scores is one of two kinds. What a [`LocalPlugin`] says follows from the pod's spec and the
//! node alone, and is remembered until the node changes. A [`WidePlugin`] looks at more: other pods, other nodes, volumes.
//! For pods that are alike it makes one [`Prepared`] state, which then filters and scores.

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use super::arguments::PluginArguments;
use super::cache::Cache;
use super::event::{ClusterEvent, Events};
use super::images::ImageStates;
use super::node_info::NodeInfo;
use super::nominator::Nominator;
use super::rejection::{Rejection, Remedy};
use crate::component::{Request, Snapshot};
use crate::model::config::KubernetesVersion;
use crate::state::{AdmittedSpec, NodeId, Pod, PodId, Store};
use crate::units::{SimDuration, SimTime};

/// Where plugins take part in scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    PreEnqueue,
    QueueSort,
    PreFilter,
    Filter,
    PostFilter,
    PreScore,
    Score,
    Reserve,
    Permit,
    PreBind,
    Bind,
    PlacementGenerate,
    PlacementScore,
}

impl Point {
    /// Its name in a KubeSchedulerConfiguration.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::PreEnqueue => "preEnqueue",
            Self::QueueSort => "queueSort",
            Self::PreFilter => "preFilter",
            Self::Filter => "filter",
            Self::PostFilter => "postFilter",
            Self::PreScore => "preScore",
            Self::Score => "score",
            Self::Reserve => "reserve",
            Self::Permit => "permit",
            Self::PreBind => "preBind",
            Self::Bind => "bind",
            Self::PlacementGenerate => "placementGenerate",
            Self::PlacementScore => "placementScore",
        }
    }
}

/// What the registry has to know of a plugin: everything that stands in its line of the table of plugins.
pub(super) trait Register {
    /// Its name in a KubeSchedulerConfiguration.
    const NAME: &'static str;
    /// The extension points that it implements.
    const POINTS: &'static [Point];
    /// Its weight by default, if it scores.
    const WEIGHT: i64 = 0;
    /// Whether it is part of a profile that says nothing about it.
    const IS_DEFAULT: bool = true;
    /// What it decides by, for the reference.
    const SUMMARY: &'static str;
    /// Its arguments; [`NoArguments`](super::arguments::NoArguments) if it has none.
    type Arguments: PluginArguments;

    /// Makes it from arguments that have been checked.
    fn make(arguments: Self::Arguments, version: KubernetesVersion) -> AnyPlugin;
}

/// A plugin of a profile, by its kind.
#[derive(Clone)]
pub(super) enum AnyPlugin {
    /// Filters and scores by the spec and the node alone.
    Local(Arc<dyn LocalPlugin>),
    /// Filters and scores by whatever it likes.
    Wide(Arc<dyn WidePlugin>),
    /// Neither filters nor scores.
    Other(Arc<dyn Plugin>),
}

impl AnyPlugin {
    pub(super) fn local(plugin: impl LocalPlugin + 'static) -> Self {
        Self::Local(Arc::new(plugin))
    }

    pub(super) fn wide(plugin: impl WidePlugin + 'static) -> Self {
        Self::Wide(Arc::new(plugin))
    }

    pub(super) fn other(plugin: impl Plugin + 'static) -> Self {
        Self::Other(Arc::new(plugin))
    }
}

impl Deref for AnyPlugin {
    type Target = dyn Plugin;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Local(plugin) => &**plugin,
            Self::Wide(plugin) => &**plugin,
            Self::Other(plugin) => &**plugin,
        }
    }
}

/// What any plugin may do, whether it filters and scores or not.
pub(super) trait Plugin: Send + Sync {
    /// Whether a pod may enter the queue.
    fn pre_enqueue(&self, _pod: &Pod) -> bool {
        true
    }

    /// Kinds of events that may help a pod that this plugin rejected.
    ///
    /// # Source
    /// kube-scheduler, `EventsToRegister`; a plugin without it is taken to wait for all of them.
    fn events(&self) -> Events {
        Events::ALL
    }

    /// Whether an event of these kinds may help a waiting pod that this plugin rejected.
    ///
    /// # Source
    /// kube-scheduler, `QueueingHintFn`; an event without one always queues the pod.
    fn hint(&self, _waiting: Incoming<'_>, _event: &ClusterEvent<'_>, _cache: &Cache) -> bool {
        true
    }

    /// After filtering has left no node; none if it has nothing to say.
    fn post_filter(&self, _handle: &mut dyn Handle<'_>) -> Option<PostFilter> {
        None
    }

    /// Sets aside what a pod needs on the node that was chosen for it besides room there; says what has to be done before
    /// the pod is bound.
    fn reserve(&self, _incoming: Incoming<'_>, _node: NodeId, _cache: &mut Cache) -> Option<PreBind> {
        None
    }
}

/// What has to be done before a pod is bound, and within which time.
#[derive(Debug)]
pub(super) struct PreBind {
    /// Who says so.
    pub(super) plugin: &'static str,
    /// What is asked of the API server.
    pub(super) requests: Vec<Request>,
    /// After so long the attempt has failed.
    pub(super) timeout: SimDuration,
}

/// A pod's spec: the one that it shares with others, and the node that the affinity of a DaemonSet's pod names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec<'a> {
    pub(super) shared: &'a AdmittedSpec,
    pub(super) pinned_node: Option<NodeId>,
}

impl<'a> Spec<'a> {
    pub(super) fn of(pod: &'a Pod) -> Self {
        Self { shared: &pod.spec, pinned_node: pod.pinned_node }
    }
}

impl Deref for Spec<'_> {
    type Target = AdmittedSpec;

    fn deref(&self) -> &AdmittedSpec {
        self.shared
    }
}

/// A pod without a node, and when plugins are asked about it.
#[derive(Clone, Copy)]
pub(super) struct Incoming<'a> {
    pub(super) id: PodId,
    pub(super) pod: &'a Pod,
    pub(super) store: &'a Store,
    /// For those who decide by the time. That it goes by is no event: what it alone helps is tried again after five minutes or a bit
    /// more, and nodes that autoscalers and planners think of, which nobody has made, are of the age that [`WhatIf`] says.
    /// Nodes that the input does not date are all taken to be of one age: who goes by ages adds that to `nodeAges`, an assumption that
    /// scenarios are told of (`scenario/assumptions.rs`).
    ///
    /// [`WhatIf`]: crate::component::WhatIf
    pub(super) now: SimTime,
}

impl<'a> Incoming<'a> {
    /// The pod of that id; none if it is gone.
    pub(super) fn of(id: PodId, Snapshot { store, now, .. }: Snapshot<'a>) -> Option<Self> {
        Some(Self { id, pod: store.pod(id)?, store, now })
    }
}

/// Turns raw scores of all feasible nodes, by what they are beside each other, into 0 to 100.
pub(super) type Normalizer = fn(&mut [i64]);

/// A plugin whose verdict on a node follows from the pod's spec, the node, and the images of the cluster. It is asked once for
/// each spec and state of a node, not once for each pod: it is not given the time. What depends on that is a [`WidePlugin`]'s.
pub(super) trait LocalPlugin: Plugin {
    /// Before any node is looked at, in every cycle.
    fn pre_filter(&self, _spec: Spec<'_>, _store: &Store) -> PreFilter {
        PreFilter::Pass
    }

    /// Reasons against a node; none if it passes.
    fn filter(&self, _spec: Spec<'_>, _node: &NodeInfo) -> Option<Rejection> {
        None
    }

    /// What would have to be otherwise for it to let the pod in on a node that it rejects.
    fn remedies(&self, _spec: Spec<'_>, _node: &NodeInfo, rejection: &Rejection) -> Vec<Remedy> {
        vec![Remedy::otherwise(rejection)]
    }

    /// Whether it scores pods with this spec at all.
    ///
    /// # Errors
    ///
    /// If the spec is such that nobody can: why. The attempt to schedule the pod ends there.
    fn pre_score(&self, _spec: Spec<'_>) -> Result<bool, String> {
        Ok(true)
    }

    /// The raw score of a feasible node.
    fn score(&self, _spec: Spec<'_>, _node: &NodeInfo, _images: &ImageStates) -> i64 {
        0
    }

    /// What turns the raw scores of the feasible nodes into 0 to 100; none if they are that.
    fn normalizer(&self) -> Option<Normalizer> {
        None
    }
}

/// A plugin that looks at more than the spec and the node.
pub(super) trait WidePlugin: Plugin {
    /// What it works out for pods that are alike: same spec, labels, namespace and owner. It is asked about the first of
    /// them, and again when [`Cache::counts`] says that what was worked out no longer holds. Time alone brings no new one: what
    /// depends on the time is for [`Prepared`], which is given [`Incoming::now`].
    fn prepare(&self, pod: &Pod, store: &Store, cache: &mut Cache) -> Box<dyn Prepared>;
}

/// What a plugin has worked out for pods that are alike; it filters and scores them.
pub(super) trait Prepared: Debug + Send + Sync {
    /// At the beginning of each cycle.
    fn begin_cycle(&self, _cache: &mut Cache) {}

    /// Before any node is looked at.
    fn pre_filter(&self, _incoming: Incoming<'_>, _cache: &Cache) -> PreFilter {
        PreFilter::Pass
    }

    /// Reasons against a node; none if it passes.
    fn filter(&self, _incoming: Incoming<'_>, _cache: &Cache, _node: &NodeInfo) -> Option<Rejection> {
        None
    }

    /// What would have to be otherwise for it to let the pod in on a node that it rejects.
    fn remedies(
        &self,
        _incoming: Incoming<'_>,
        _cache: &Cache,
        _node: &NodeInfo,
        rejection: &Rejection,
    ) -> Vec<Remedy> {
        vec![Remedy::otherwise(rejection)]
    }

    /// Fills in scores of 0 to 100 for the feasible nodes, in their order; false if it does not score the pod.
    fn score(&self, _incoming: Incoming<'_>, _cache: &Cache, _feasible: &[NodeId], _scores: &mut Vec<i64>) -> bool {
        false
    }
}

/// What a plugin says before nodes are filtered.
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

/// What a plugin came to after filtering had left no node.
///
/// # Source
/// kube-scheduler, `PostFilterResult` and the status beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PostFilter {
    /// These pods are to make room on a node, to which the pod is nominated.
    Nominated { node: NodeId, victims: Vec<PodId> },
    /// It could not help: why, and whether the pod's nomination is void.
    Unschedulable { reason: String, clears_nomination: bool },
    /// It failed: nobody else is asked.
    Error(String),
}

/// What a plugin may ask and try after filtering.
pub(super) trait Handle<'a> {
    /// The pod that no node takes.
    fn incoming(&self) -> Incoming<'a>;

    /// Nodes in the cluster.
    fn node_count(&self) -> usize;

    /// Why nodes were rejected, in the order in which they were looked at.
    fn filtered(&self) -> &[(NodeId, Rejection)];

    /// Whether the plugins behind the one that rejected the pod have not been asked before filtering.
    fn is_pre_filter_cut_short(&self) -> bool;

    /// The cluster, with what was tried.
    fn cache(&self) -> &Cache;

    /// Who is nominated where.
    fn nominator(&self) -> &Nominator;

    /// What the filters say of a node as it would be, on which pods nominated to it with no lower priority count.
    fn run_filters(&mut self, node: &NodeInfo) -> Option<Rejection>;

    /// Takes a pod off a copy of its node, to see what would be without it.
    fn remove_pod(&mut self, pod: PodId, from: &mut NodeInfo);

    /// Puts a pod back that was taken off.
    fn add_pod(&mut self, pod: PodId, to: &mut NodeInfo);

    /// A drawn number below this one.
    fn draw(&mut self, below: u32) -> u32;
}

/// A quotient, cut off behind the point. Floats divide several times as fast as integers, and are as exact while both numbers and their
/// sum have less than 53 bits: what is left to the next whole number is then more than half of the last place.
pub(super) fn quotient(dividend: i64, divisor: i64) -> i64 {
    const EXACT: std::ops::Range<i64> = 0..1 << 52;
    if EXACT.contains(&dividend) && EXACT.contains(&divisor) {
        (dividend as f64 / divisor as f64) as i64
    } else {
        dividend / divisor
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
        *score = quotient(100 * *score, max);
        if is_reversed {
            *score = 100 - *score;
        }
    }
}
