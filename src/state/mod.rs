//! The truth of the simulated cluster: API objects as they stand, and the machines beneath them.
//!
//! Everything here is plain data in dense tables. Only the API server writes API objects and only the physical world
//! (faults, kubelets) writes machines; every other room reads. Nothing in this room decides anything, knows a clock or
//! queues an event, and nothing in it derives serde: what a user sees is made by `observe` and `scenario`.

mod autoscaler;
mod change;
mod conditions;
mod daemon_pods;
mod effects;
mod heartbeat;
mod machines;
mod meta;
mod nodes;
mod pods;
mod quota;
mod references;
mod requested;
mod store;
mod stored;
mod volumes;
mod workload;
mod workloads;

pub use autoscaler::{Autoscaler, AutoscalerCondition, AutoscalerKey, AutoscalerStatus, MetricValue};
pub use change::{CauseId, Change, Changed, NodeDelta, ObjectDelta, PodDelta};
pub use conditions::{BudgetReason, DeploymentReason, JobCondition, JobConditionType, JobReason};
pub use daemon_pods::DaemonPods;
pub use effects::{Effect, Effects, Slowdown, Usage};
pub use heartbeat::{Heartbeat, HeartbeatLoop};
pub use machines::{ContainerFate, ControlPlaneProcess, FaultId, Machine, MachineChange, Power, ReportedConditions};
pub use meta::{Meta, Owner, OwnerName, Propagation, Uid};
pub use nodes::{
    Node, NodeCondition, NodeConditionKind, NodeConditions, NodeDescription, NodeId, NodeSlot, Status, TaintOnNode,
};
pub use pods::{
    AdmittedSpec, ContainerState, ContainerStatus, CrashLoop, Deletion, DeletionCause, DisruptionReason,
    DisruptionTarget, EndReason, Ending, JOB_TRACKING, NotScheduled, NotScheduledReason, Pod, PodClaim, PodCondition,
    PodId, PodPhase,
};
pub use quota::{Quota, QuotaKey};
pub use references::{Dependent, DependentKey, Reference, References, Standing, printed};
pub use requested::Requested;
pub use store::{Store, Tally};
pub use stored::Stored;
pub use volumes::{
    Attachment, AttachmentPhase, ClaimOwner, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimId,
    PersistentVolumeId, Reclaim, Volumes,
};
pub use workload::{Workload, WorkloadId};
pub use workloads::{
    ControllerRevision, ControllerRevisionId, CronJob, CronJobId, CronJobStatus, DaemonSet, DaemonSetId,
    DaemonSetStatus, Deployment, DeploymentCondition, DeploymentId, DeploymentStatus, Endpoint, Job, JobId, JobStatus,
    Namespace, NamespaceId, PodDisruptionBudget, PodDisruptionBudgetId, PodDisruptionBudgetStatus, PriorityClass,
    PriorityClassId, ReplicaFailure, ReplicaSet, ReplicaSetId, ReplicaSetStatus, Service, ServiceId, StatefulSet,
    StatefulSetId, StatefulSetStatus,
};
