//! What happens to a cluster and may let a pod be scheduled that could not be.

use std::ops::BitOr;
use std::sync::Arc;

use super::cache::Cache;
use super::node_info::NodeInfo;
use crate::arena::Symbol;
use crate::state::{Node, NodeDelta, NodeId, Pod};
use crate::units::SimDuration;

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Events(u16);

impl Events {
    pub(super) const NONE: Self = Self(0);
    pub(super) const POD_ADDED: Self = Self(1);
    pub(super) const POD_REMOVED: Self = Self(1 << 1);
    pub(super) const POD_UPDATED: Self = Self(1 << 2);
    pub(super) const ITSELF: Self = Self(1 << 3);
    pub(super) const NODE_ADDED: Self = Self(1 << 4);
    pub(super) const NODE_REMOVED: Self = Self(1 << 5);
    pub(super) const NODE_LABELS: Self = Self(1 << 6);
    pub(super) const NODE_TAINTS: Self = Self(1 << 7);
    pub(super) const NODE_ALLOCATABLE: Self = Self(1 << 8);
    pub(super) const CLAIM: Self = Self(1 << 9);
    pub(super) const VOLUME: Self = Self(1 << 10);
    pub(super) const STORAGE: Self = Self(1 << 11);
    pub(super) const DETACHED: Self = Self(1 << 12);
    pub(super) const VOLUME_LIMITS: Self = Self(1 << 13);
    pub(super) const ALL: Self = Self((1 << 14) - 1);

    pub(super) fn touches(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether any change of taints retries what was rejected by a plugin that waits for these.
    ///
    /// # Source
    /// kube-scheduler, `buildQueueingHintMap`: so it is for plugins that wait for added nodes, but not for taints.
    fn wait_for_any_taints(self) -> bool {
        self.touches(Self::NODE_ADDED) && !self.touches(Self::NODE_TAINTS)
    }

    /// Whether an event of these kinds retries what was rejected, without a look at the pod.
    pub(super) fn always_retry(self, happened: Self) -> bool {
        happened.touches(Self::NODE_TAINTS) && self.wait_for_any_taints()
    }

    /// Whether an event of these kinds may matter.
    pub(super) fn matches(self, happened: Self) -> bool {
        self.touches(happened) || self.always_retry(happened)
    }
}

impl BitOr for Events {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Something that happened.
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
    /// Something changed that volumes depend on.
    Storage(StorageEvent),
    /// Time went by: pods that have waited for longer than this are tried again.
    UnschedulableTimeout(SimDuration),
}

/// What changed that volumes depend on.
#[derive(Clone, Copy, Debug)]
pub(super) enum StorageEvent {
    /// A claim appeared or changed.
    Claim { namespace: Symbol, name: Symbol },
    /// A volume appeared or changed.
    Volume,
    /// A storage class, driver or CSINode appeared or changed.
    Class,
    /// A CSINode appeared, or takes more volumes of a driver than before.
    Limits,
    /// A volume of a driver was detached.
    Detached { driver: Option<Symbol> },
}

impl ClusterEvent<'_> {
    /// The kinds to which the event belongs.
    ///
    /// # Source
    /// kube-scheduler, `nodeSchedulingPropertiesChange`: uncordoning counts as a change of taints; cordoning alone is no event.
    pub(super) fn kinds(&self, cache: &Cache) -> Events {
        match self {
            Self::PodAdded(_) => Events::POD_ADDED,
            Self::PodRemoved { .. } => Events::POD_REMOVED,
            Self::PodUpdated { .. } => Events::POD_UPDATED,
            Self::Itself { .. } => Events::ITSELF,
            Self::NodeAdded(_) => Events::NODE_ADDED,
            Self::NodeRemoved(_) => Events::NODE_REMOVED,
            Self::NodeUpdated { node, delta, before } => {
                let is_open = || cache.node(*node).object.as_ref().is_some_and(|node| !node.unschedulable);
                let is_uncordoned = delta.touches(NodeDelta::UNSCHEDULABLE) && before.unschedulable && is_open();
                let kinds = [
                    (delta.touches(NodeDelta::LABELS), Events::NODE_LABELS),
                    (delta.touches(NodeDelta::TAINTS) || is_uncordoned, Events::NODE_TAINTS),
                    (delta.touches(NodeDelta::ALLOCATABLE), Events::NODE_ALLOCATABLE),
                ];
                kinds.iter().filter(|(is_so, _)| *is_so).fold(Events::NONE, |all, (_, kind)| all | *kind)
            }
            Self::Storage(StorageEvent::Claim { .. }) => Events::CLAIM,
            Self::Storage(StorageEvent::Volume) => Events::VOLUME,
            Self::Storage(StorageEvent::Class) => Events::STORAGE,
            Self::Storage(StorageEvent::Limits) => Events::STORAGE | Events::VOLUME_LIMITS,
            Self::Storage(StorageEvent::Detached { .. }) => Events::DETACHED,
            Self::UnschedulableTimeout(_) => Events::NONE,
        }
    }

    /// The node that joined or changed; if it changed, what it was before and in which ways.
    fn about_node(&self) -> Option<(NodeId, Option<(&Node, NodeDelta)>)> {
        match self {
            Self::NodeAdded(node) => Some((*node, None)),
            Self::NodeUpdated { node, before, delta } => Some((*node, Some((*before, *delta)))),
            Self::PodAdded(_)
            | Self::PodRemoved { .. }
            | Self::PodUpdated { .. }
            | Self::Itself { .. }
            | Self::NodeRemoved(_)
            | Self::Storage(_)
            | Self::UnschedulableTimeout(_) => None,
        }
    }

    /// The node that joined or changed, as it is now, and as it was before.
    pub(super) fn node<'b>(&'b self, cache: &'b Cache) -> Option<(&'b NodeInfo, &'b Arc<Node>, Option<&'b Node>)> {
        let (node, change) = self.about_node()?;
        let info = cache.node(node);
        Some((info, info.object.as_ref()?, change.map(|(before, _)| before)))
    }

    /// Whether a node joined, or changed in one of these ways.
    pub(super) fn is_node(&self, ways: NodeDelta) -> bool {
        self.about_node().is_some_and(|(_, change)| change.is_none_or(|(_, delta)| delta.touches(ways)))
    }

    /// Whether the waiting pod has more tolerations than before.
    pub(super) fn gives_tolerations(&self, pod: &Pod) -> bool {
        matches!(self, Self::Itself { before } if before.spec.tolerations.len() != pod.spec.tolerations.len())
    }

    /// Whether storage that the pod may use appeared or changed.
    pub(super) fn is_storage_of(&self, pod: &Pod) -> bool {
        let Self::Storage(event) = self else { return false };
        match event {
            StorageEvent::Claim { namespace, name } => {
                *namespace == pod.namespace && pod.claims().iter().any(|claim| claim.name == *name)
            }
            StorageEvent::Volume | StorageEvent::Class | StorageEvent::Limits | StorageEvent::Detached { .. } => true,
        }
    }
}
