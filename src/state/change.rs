//! What one write changed: the currency between the API server, the watching components and the observers.

use std::ops::BitOr;
use std::sync::Arc;

use super::autoscaler::AutoscalerKey;
use super::nodes::{Node, NodeId};
use super::pods::{Pod, PodId};
use super::quota::QuotaKey;
use super::volumes::{PersistentVolumeClaim, PersistentVolumeClaimId, PersistentVolumeId};
use super::workload::WorkloadId;
use super::workloads::{NamespaceId, PodDisruptionBudgetId, ServiceId};
use crate::units::SimTime;

/// Names a node of the causal graph: a timeline action, a fault, a timer's firing or a committed change.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CauseId(pub u32);

impl CauseId {
    /// No cause: the state in which the run began.
    pub const NONE: Self = Self(0);
}

macro_rules! delta {
    ($(#[$doc:meta])* $name:ident { $($(#[$flag_doc:meta])* $flag:ident = $bit:expr;)* }) => {
        $(#[$doc])*
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
        pub struct $name(u16);

        impl $name {
            $($(#[$flag_doc])* pub const $flag: Self = Self(1 << $bit);)*

            /// Nothing changed.
            pub const NONE: Self = Self(0);

            /// Whether any of the given parts changed.
            #[must_use]
            pub fn touches(self, other: Self) -> bool {
                self.0 & other.0 != 0
            }

            /// Whether nothing changed.
            #[must_use]
            pub fn is_none(self) -> bool {
                self.0 == 0
            }
        }

        impl BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
    };
}

delta! {
    /// Which parts of a pod an update changed.
    PodDelta {
        /// Labels.
        LABELS = 0;
        /// Controlling owner.
        OWNER = 1;
        /// `spec.nodeName`.
        NODE = 2;
        /// deletionTimestamp set, or shortened.
        DELETION = 3;
        /// `status.phase` or `status.reason`.
        PHASE = 4;
        /// The Ready condition.
        READY = 5;
        /// Any other condition (PodScheduled, DisruptionTarget).
        CONDITIONS = 6;
        /// `status.nominatedNodeName`.
        NOMINATION = 7;
        /// Container statuses or the start time.
        CONTAINERS = 8;
        /// The spec (tolerations, gates, resources).
        SPEC = 9;
        /// Finalizers.
        FINALIZERS = 10;
        /// Annotations.
        ANNOTATIONS = 11;
    }
}

delta! {
    /// Which parts of a node an update changed.
    NodeDelta {
        /// Labels.
        LABELS = 0;
        /// `spec.taints`.
        TAINTS = 1;
        /// `spec.unschedulable`.
        UNSCHEDULABLE = 2;
        /// The status of some condition.
        CONDITIONS = 3;
        /// Allocatable or capacity.
        ALLOCATABLE = 4;
        /// Annotations.
        ANNOTATIONS = 5;
        /// Images.
        IMAGES = 6;
    }
}

delta! {
    /// Which parts of any other object an update changed.
    ObjectDelta {
        /// Spec (the generation rose).
        SPEC = 0;
        /// Status.
        STATUS = 1;
        /// Labels, annotations, owner.
        METADATA = 2;
        /// Its deletion was asked for.
        DELETION = 3;
    }
}

/// What changed.
#[derive(Clone, Debug)]
pub enum Changed {
    /// A pod was created.
    PodAdded(PodId),
    /// A pod was updated.
    PodUpdated {
        /// Pod.
        pod: PodId,
        /// What changed.
        delta: PodDelta,
        /// The pod before, when labels, owner or spec changed.
        before: Option<Arc<Pod>>,
    },
    /// A pod object left the API.
    PodRemoved {
        /// Its former id.
        pod: PodId,
        /// Its last state.
        last: Arc<Pod>,
    },
    /// A Node object was created.
    NodeAdded(NodeId),
    /// A Node object was updated.
    NodeUpdated {
        /// Node.
        node: NodeId,
        /// What changed.
        delta: NodeDelta,
        /// The node before.
        before: Arc<Node>,
    },
    /// A Node object left the API.
    NodeRemoved {
        /// Node.
        node: NodeId,
        /// Its last state.
        last: Arc<Node>,
    },
    /// The kubelet's renewals began or stopped to reach the API server. Not an API event: it lets those who wait for
    /// silence work out when they will notice it, and they must not act on it before.
    HeartbeatChanged(NodeId),
    /// A workload was created.
    WorkloadAdded(WorkloadId),
    /// A workload was updated.
    WorkloadUpdated(WorkloadId, ObjectDelta),
    /// A workload left the API; its id dangles.
    WorkloadRemoved(WorkloadId),
    /// A budget was created.
    BudgetAdded(PodDisruptionBudgetId),
    /// A budget was updated.
    BudgetUpdated(PodDisruptionBudgetId, ObjectDelta),
    /// A budget left the API; its id dangles.
    BudgetRemoved(PodDisruptionBudgetId),
    /// A service was created or changed.
    ServiceChanged(ServiceId),
    /// A service left the API.
    ServiceRemoved(ServiceId),
    /// An EndpointSlice of a service was written.
    EndpointsChanged(ServiceId),
    /// A HorizontalPodAutoscaler appeared, or its spec changed.
    AutoscalerChanged(AutoscalerKey),
    /// A HorizontalPodAutoscaler left the API.
    AutoscalerRemoved(AutoscalerKey),
    /// A ResourceQuota appeared, or what it allows changed.
    QuotaChanged(QuotaKey),
    /// A namespace was created, changed, or its deletion was asked for.
    NamespaceChanged(NamespaceId),
    /// A namespace left the API.
    NamespaceRemoved(NamespaceId),
    /// A PersistentVolume appeared or changed.
    VolumeChanged(PersistentVolumeId),
    /// A PersistentVolume left the API; its id dangles.
    VolumeRemoved(PersistentVolumeId),
    /// A claim appeared or changed.
    ClaimChanged(PersistentVolumeClaimId),
    /// A claim left the API.
    ClaimRemoved(Arc<PersistentVolumeClaim>),
    /// A StorageClass, CSIDriver or CSINode appeared or changed.
    StorageChanged,
    /// An object came that has owners beside a controlling one that acts, or an object went that is an owner or a dependent of that
    /// sort.
    ReferencesChanged,
    /// A volume was attached or detached, or a kubelet says that it uses it, or no longer.
    AttachmentChanged {
        /// Volume.
        volume: PersistentVolumeId,
        /// Node.
        node: NodeId,
    },
}

/// One committed change.
#[derive(Clone, Debug)]
pub struct Change {
    /// When it was committed.
    pub at: SimTime,
    /// Its place in the causal graph.
    pub cause: CauseId,
    /// The component whose call brought it about; empty if it follows from no call.
    pub by: &'static str,
    /// What changed.
    pub what: Changed,
}
