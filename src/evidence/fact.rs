//! Facts that were seen and that a play can be held against.

use crate::arena::Symbol;

/// The words of the column `deletion_cause`.
pub(crate) const DELETION_CAUSES: [&str; 12] = [
    "TaintManagerEviction",
    "EvictionByEvictionAPI",
    "DeletionByPodGC",
    "PreemptionByScheduler",
    "TerminationByKubelet",
    "ScaleDown",
    "RollingUpdate",
    "DaemonSetController",
    "OwnerDeleted",
    "NodePressure",
    "Kubectl",
    "Completed",
];

/// What kind of change a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactKind {
    /// A node's Ready condition: `True`, `False`, `Unknown`; `Absent` once the Node object has gone.
    NodeReady,
    /// A taint: `key:Effect`, with `-` behind it when it left.
    NodeTaint,
    /// `true`: cordoned; `false`: not any more.
    NodeUnschedulable,
    /// A pod came to be.
    PodCreated,
    /// A pod was bound; the value is empty, its node is that of the fact.
    PodScheduled,
    /// A pod's Ready condition: `True` or `False`.
    PodReady,
    /// A pod's deletion was asked for; the value is the cause, as `deletion_cause` of pods.csv, or empty if it was not seen.
    PodDeletion,
    /// A pod's object has gone.
    PodGone,
    /// A pod ended: `Succeeded` or `Failed`.
    PodFinished,
}

impl FactKind {
    /// Every kind, in the order of tables.
    pub const ALL: [Self; 9] = [
        Self::NodeReady,
        Self::NodeTaint,
        Self::NodeUnschedulable,
        Self::PodCreated,
        Self::PodScheduled,
        Self::PodReady,
        Self::PodDeletion,
        Self::PodGone,
        Self::PodFinished,
    ];

    /// The name in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NodeReady => "NodeReady",
            Self::NodeTaint => "NodeTaint",
            Self::NodeUnschedulable => "NodeUnschedulable",
            Self::PodCreated => "PodCreated",
            Self::PodScheduled => "PodScheduled",
            Self::PodReady => "PodReady",
            Self::PodDeletion => "PodDeletion",
            Self::PodGone => "PodGone",
            Self::PodFinished => "PodFinished",
        }
    }

    /// What people call it.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::NodeReady => "nodes' Ready conditions",
            Self::NodeTaint => "taints",
            Self::NodeUnschedulable => "cordons",
            Self::PodCreated => "pods created",
            Self::PodScheduled => "pods bound",
            Self::PodReady => "pods' Ready conditions",
            Self::PodDeletion => "deletions of pods",
            Self::PodGone => "pods gone",
            Self::PodFinished => "pods ended",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// What it can change to; none of taints, which have names of their own.
    #[must_use]
    pub const fn values(self) -> Option<&'static [&'static str]> {
        match self {
            Self::NodeReady => Some(&["True", "False", "Unknown", "Absent"]),
            Self::NodeTaint => None,
            Self::NodeUnschedulable => Some(&["true", "false"]),
            Self::PodCreated | Self::PodScheduled | Self::PodGone => Some(&[]),
            Self::PodReady => Some(&["True", "False"]),
            Self::PodDeletion => Some(&DELETION_CAUSES),
            Self::PodFinished => Some(&["Succeeded", "Failed"]),
        }
    }

    /// Whether it is about a pod; else about a node.
    #[must_use]
    pub const fn is_of_pod(self) -> bool {
        !matches!(self, Self::NodeReady | Self::NodeTaint | Self::NodeUnschedulable)
    }
}

/// What was seen, without when. Fields that do not apply, or that nobody saw, are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fact {
    /// What changed.
    pub kind: FactKind,
    /// Namespace of the pod.
    pub namespace: Symbol,
    /// Name of the pod, or of the node. Names of pods that were made meanwhile have ends that chance makes: another play has others.
    pub name: Symbol,
    /// Kind of the pod's controller, such as `ReplicaSet`.
    pub owner_kind: Symbol,
    /// Name of the pod's controller.
    pub owner_name: Symbol,
    /// Node on which the pod is.
    pub node: Symbol,
    /// What it changed to.
    pub value: Symbol,
}
