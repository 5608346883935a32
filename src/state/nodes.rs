//! Nodes as the API shows them.
//!
//! A [`NodeId`] stands for a node *name* for the whole run: the Node object behind it may be deleted and created again,
//! and pods keep pointing at the name meanwhile, as `spec.nodeName` does.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::meta::Uid;
use crate::arena::{Id, Symbol};
use crate::model::{Labels, NodeSystemInfo, Opaque, Resources, Taint, TaintEffect, Toleration};
use crate::units::SimTime;

/// Identifies a node name.
pub type NodeId = Id<NodeSlot>;

/// A condition's status.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Status {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody knows.
    #[default]
    Unknown,
}

impl Status {
    /// The API's text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// The node conditions that the control plane acts on, in the kubelet's order but for the last.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeConditionKind {
    /// `MemoryPressure`.
    MemoryPressure,
    /// `DiskPressure`.
    DiskPressure,
    /// `PIDPressure`.
    PidPressure,
    /// `Ready`.
    Ready,
    /// `NetworkUnavailable`, written by the network, not by the kubelet.
    NetworkUnavailable,
}

impl NodeConditionKind {
    /// All kinds, in order.
    pub const ALL: [Self; 5] =
        [Self::MemoryPressure, Self::DiskPressure, Self::PidPressure, Self::Ready, Self::NetworkUnavailable];

    /// The API's text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryPressure => "MemoryPressure",
            Self::DiskPressure => "DiskPressure",
            Self::PidPressure => "PIDPressure",
            Self::Ready => "Ready",
            Self::NetworkUnavailable => "NetworkUnavailable",
        }
    }
}

/// One node condition.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct NodeCondition {
    /// True, False or Unknown.
    pub status: Status,
    /// The API's reason.
    pub reason: &'static str,
    /// `lastTransitionTime`, unrounded.
    pub since: SimTime,
}

/// A node's conditions; absent ones were never posted.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct NodeConditions([Option<NodeCondition>; 5]);

impl NodeConditions {
    /// The condition of that kind, if it was ever posted.
    #[must_use]
    pub fn get(&self, kind: NodeConditionKind) -> Option<NodeCondition> {
        self.0[kind as usize]
    }

    /// Sets the condition of that kind.
    pub fn set(&mut self, kind: NodeConditionKind, condition: Option<NodeCondition>) {
        self.0[kind as usize] = condition;
    }

    /// The Ready condition's status, if it was ever posted.
    #[must_use]
    pub fn ready(&self) -> Option<Status> {
        self.get(NodeConditionKind::Ready).map(|c| c.status)
    }

    /// Whether that condition is True.
    #[must_use]
    pub fn is_true(&self, kind: NodeConditionKind) -> bool {
        self.get(kind).is_some_and(|c| c.status == Status::True)
    }
}

/// A taint on a node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TaintOnNode {
    /// Key.
    pub key: Symbol,
    /// Value, empty if none.
    pub value: Symbol,
    /// Effect.
    pub effect: TaintEffect,
    /// `timeAdded`; nobody counts from it.
    pub added_at: Option<SimTime>,
}

/// A Node object.
#[derive(Clone, Debug)]
pub struct Node {
    /// UID.
    pub uid: Uid,
    /// Labels.
    pub labels: Labels,
    /// Annotations.
    pub annotations: Arc<BTreeMap<Symbol, Symbol>>,
    /// Creation time.
    pub created_at: SimTime,
    /// `spec.unschedulable`: cordoned.
    pub unschedulable: bool,
    /// `spec.taints`, unique by key and effect, in API order.
    pub taints: SmallVec<[TaintOnNode; 2]>,
    /// `status.allocatable` without the pod count.
    pub allocatable: Arc<Resources>,
    /// `status.allocatable.pods`.
    pub allocatable_pods: i64,
    /// `status.capacity` without the pod count.
    pub capacity: Arc<Resources>,
    /// `status.images`: names and size in bytes.
    pub images: Arc<[(Vec<Symbol>, i64)]>,
    /// `status.nodeInfo.kubeletVersion`; empty if the input does not say.
    pub kubelet_version: Symbol,
    /// What else the input says that the kubelet says of itself and of the machine. It decides nothing.
    pub description: Option<Arc<NodeDescription>>,
    /// `status.conditions`.
    pub conditions: NodeConditions,
}

/// What a kubelet says of itself and of the machine, as the input has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeDescription {
    /// `status.nodeInfo`.
    pub info: NodeSystemInfo,
    /// `status.addresses`.
    pub addresses: Opaque,
}

impl NodeDescription {
    /// The first address of a type, such as `InternalIP`.
    #[must_use]
    pub fn address(&self, kind: &str) -> Option<String> {
        let addresses: serde_json::Value = serde_json::from_str(self.addresses.as_json()).ok()?;
        let found = addresses.as_array()?.iter().find(|address| address["type"] == kind)?;
        found["address"].as_str().map(str::to_owned)
    }
}

impl TaintOnNode {
    /// The taint alone.
    #[must_use]
    pub fn plain(&self) -> Taint {
        Taint::new(self.key, self.value, self.effect)
    }
}

impl Node {
    /// The taints that keep pods with these tolerations from being scheduled here.
    pub fn barring_taints(&self, tolerations: &[Toleration]) -> impl Iterator<Item = Taint> {
        let bars = |t: &&TaintOnNode| matches!(t.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
        let taints = self.taints.iter().filter(bars).map(TaintOnNode::plain);
        taints.filter(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
    }

    /// The taint with that key and effect.
    #[must_use]
    pub fn taint(&self, key: Symbol, effect: TaintEffect) -> Option<&TaintOnNode> {
        self.taints.iter().find(|t| t.key == key && t.effect == effect)
    }
}

/// A node name, and the Node object of that name if there is one.
#[derive(Clone, Debug)]
pub struct NodeSlot {
    /// The name.
    pub name: Symbol,
    /// The object.
    pub object: Option<Arc<Node>>,
}
