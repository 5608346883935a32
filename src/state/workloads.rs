//! Workload objects, budgets, services and the other small kinds.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::conditions::{BudgetReason, DeploymentReason, JobCondition, JobConditionType};
use super::meta::{Meta, Uid};
use super::nodes::{NodeId, Status};
use super::pods::PodId;
use crate::arena::{Id, Symbol, sym};
use crate::model;
use crate::units::SimTime;

/// Identifies a Deployment.
pub type DeploymentId = Id<Deployment>;
/// Identifies a ReplicaSet or ReplicationController.
pub type ReplicaSetId = Id<ReplicaSet>;
/// Identifies a DaemonSet.
pub type DaemonSetId = Id<DaemonSet>;
/// Identifies a StatefulSet.
pub type StatefulSetId = Id<StatefulSet>;
/// Identifies a Job.
pub type JobId = Id<Job>;
/// Identifies a CronJob.
pub type CronJobId = Id<CronJob>;
/// Identifies a ControllerRevision.
pub type ControllerRevisionId = Id<ControllerRevision>;
/// Identifies a PodDisruptionBudget.
pub type PodDisruptionBudgetId = Id<PodDisruptionBudget>;
/// Identifies a PriorityClass.
pub type PriorityClassId = Id<PriorityClass>;
/// Identifies a Service.
pub type ServiceId = Id<Service>;
/// Identifies a Namespace.
pub type NamespaceId = Id<Namespace>;

/// A condition of a Deployment.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DeploymentCondition {
    /// Whether it holds; unknown of the progress of what is paused.
    pub status: Status,
    /// The API's reason.
    pub reason: DeploymentReason,
    /// `lastUpdateTime`.
    pub updated_at: SimTime,
    /// `lastTransitionTime`.
    pub since: SimTime,
}

/// Status of a Deployment.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct DeploymentStatus {
    /// Newest generation the controller has seen.
    pub observed_generation: i64,
    /// Active pods of all its ReplicaSets.
    pub replicas: i32,
    /// Active pods of the newest template.
    pub updated: i32,
    /// Ready pods.
    pub ready: i32,
    /// Pods ready for minReadySeconds.
    pub available: i32,
    /// Pods that its ReplicaSets should have, less those that are available.
    pub unavailable: i32,
    /// Terminating pods, where they are counted.
    pub terminating: Option<i32>,
    /// Condition `Progressing`.
    pub progressing: Option<DeploymentCondition>,
    /// Condition `ReplicaFailure`: that of the newest ReplicaSet, or of another.
    pub replica_failure: Option<ReplicaFailure>,
    /// Condition `Available`.
    pub availability: Option<DeploymentCondition>,
    /// Hash collisions met so far.
    pub collision_count: i32,
}

/// A Deployment.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Metadata.
    pub meta: Meta,
    /// Spec.
    pub spec: Arc<model::DeploymentSpec>,
    /// Status.
    pub status: DeploymentStatus,
}

/// Condition `ReplicaFailure` of a ReplicaSet or Deployment.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ReplicaFailure {
    /// The API's reason: `FailedCreate` or `FailedDelete`.
    pub reason: &'static str,
    /// What the API server said when it began.
    pub message: Symbol,
    /// `lastTransitionTime`.
    pub since: SimTime,
}

/// Status of a ReplicaSet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct ReplicaSetStatus {
    /// Newest generation the controller has seen.
    pub observed_generation: i64,
    /// Active pods.
    pub replicas: i32,
    /// Active pods with all labels of the template.
    pub fully_labeled: i32,
    /// Ready pods.
    pub ready: i32,
    /// Pods ready for minReadySeconds.
    pub available: i32,
    /// Terminating pods, where they are counted.
    pub terminating: Option<i32>,
    /// Condition `ReplicaFailure`: there while the last create or delete failed.
    pub failure: Option<ReplicaFailure>,
}

/// A ReplicaSet, or a ReplicationController.
#[derive(Clone, Debug)]
pub struct ReplicaSet {
    /// Metadata.
    pub meta: Meta,
    /// It is a ReplicationController.
    pub is_replication_controller: bool,
    /// `spec.replicas`.
    pub replicas: i32,
    /// The rest of the spec; its `replicas` is the initial value and not kept up to date.
    pub spec: Arc<model::ReplicaSetSpec>,
    /// Status.
    pub status: ReplicaSetStatus,
}

/// Status of a DaemonSet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct DaemonSetStatus {
    /// Newest generation the controller has seen.
    pub observed_generation: i64,
    /// Nodes that should run the pod.
    pub desired: i32,
    /// Of these, nodes that have one.
    pub current: i32,
    /// Nodes that have one and should not.
    pub misscheduled: i32,
    /// Nodes with a ready pod.
    pub ready: i32,
    /// Nodes with a pod ready for minReadySeconds.
    pub available: i32,
    /// Nodes with a pod of the newest template.
    pub updated: i32,
    /// Hash collisions met so far.
    pub collision_count: i32,
}

/// A DaemonSet.
#[derive(Clone, Debug)]
pub struct DaemonSet {
    /// Metadata.
    pub meta: Meta,
    /// Spec.
    pub spec: Arc<model::DaemonSetSpec>,
    /// Status.
    pub status: DaemonSetStatus,
}

impl DaemonSet {
    /// The annotation that counts the templates that the set has had. API servers write it, and clients cannot.
    #[must_use]
    pub fn template_generation_annotation() -> Symbol {
        sym!("deprecated.daemonset.template.generation")
    }

    /// How many templates the set has had, as its pods are marked.
    ///
    /// # Source
    /// daemonset-controller, `GetTemplateGeneration`.
    #[must_use]
    pub fn template_generation(&self) -> Option<Symbol> {
        let generation = self.meta.annotations.get(&Self::template_generation_annotation()).copied();
        generation.filter(|generation| generation.as_str().parse::<i64>().is_ok())
    }
}

/// Status of a StatefulSet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct StatefulSetStatus {
    /// Newest generation the controller has seen.
    pub observed_generation: i64,
    /// Existing pods.
    pub replicas: i32,
    /// Running and ready pods.
    pub ready: i32,
    /// Pods ready for minReadySeconds.
    pub available: i32,
    /// Pods of the current revision that are not terminating.
    pub current: i32,
    /// Pods of the update revision that are not terminating.
    pub updated: i32,
    /// Hash of the revision that rolled out last.
    pub current_revision: Symbol,
    /// Hash of the revision being rolled out.
    pub update_revision: Symbol,
    /// Hash collisions met so far.
    pub collision_count: i32,
}

/// A StatefulSet.
#[derive(Clone, Debug)]
pub struct StatefulSet {
    /// Metadata.
    pub meta: Meta,
    /// Spec.
    pub spec: Arc<model::StatefulSetSpec>,
    /// Status.
    pub status: StatefulSetStatus,
}

/// Status of a Job.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct JobStatus {
    /// `status.startTime`.
    pub started_at: Option<SimTime>,
    /// `status.completionTime`.
    pub completed_at: Option<SimTime>,
    /// Active pods.
    pub active: i32,
    /// Of these, ready ones.
    pub ready: i32,
    /// Terminating pods.
    pub terminating: i32,
    /// Pods that succeeded.
    pub succeeded: i32,
    /// Pods that failed.
    pub failed: i32,
    /// Completed indexes of an Indexed Job, ascending.
    pub completed_indexes: Arc<[i32]>,
    /// Failed indexes of an Indexed Job, ascending.
    pub failed_indexes: Arc<[i32]>,
    /// `status.uncountedTerminatedPods.succeeded`: their finalizers are to go before they count.
    pub uncounted_succeeded: Vec<PodId>,
    /// `status.uncountedTerminatedPods.failed`.
    pub uncounted_failed: Vec<PodId>,
    /// Conditions that hold, in the order in which they were set.
    pub conditions: Vec<JobCondition>,
}

impl JobStatus {
    /// The condition of that type, if it holds.
    #[must_use]
    pub fn condition(&self, kind: JobConditionType) -> Option<&JobCondition> {
        self.conditions.iter().find(|condition| condition.kind == kind && condition.holds())
    }

    /// Complete or Failed.
    #[must_use]
    pub fn end(&self) -> Option<&JobCondition> {
        self.conditions.iter().find(|condition| condition.kind.is_terminal())
    }
}

/// A Job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Metadata.
    pub meta: Meta,
    /// Spec.
    pub spec: Arc<model::JobSpec>,
    /// Status.
    pub status: JobStatus,
}

/// Status of a CronJob.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CronJobStatus {
    /// When it last started a Job.
    pub last_scheduled_at: Option<SimTime>,
    /// When a Job of it last succeeded.
    pub last_succeeded_at: Option<SimTime>,
    /// Its active Jobs, with their names: they may have gone.
    pub active: Vec<(JobId, Symbol)>,
}

/// A CronJob.
#[derive(Clone, Debug)]
pub struct CronJob {
    /// Metadata.
    pub meta: Meta,
    /// Spec.
    pub spec: Arc<model::CronJobSpec>,
    /// Status.
    pub status: CronJobStatus,
}

/// A ControllerRevision: one template of a DaemonSet or StatefulSet.
#[derive(Clone, Debug)]
pub struct ControllerRevision {
    /// Metadata; its owner is the workload.
    pub meta: Meta,
    /// Label `controller-revision-hash`.
    pub hash: Symbol,
    /// Number; the highest is the newest.
    pub revision: i64,
    /// The template.
    pub template: Arc<model::PodTemplateSpec>,
}

/// Status of a PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PodDisruptionBudgetStatus {
    /// Newest generation the controller has seen.
    pub observed_generation: i64,
    /// `disruptionsAllowed`.
    pub disruptions_allowed: i32,
    /// `currentHealthy`.
    pub current_healthy: i32,
    /// `desiredHealthy`.
    pub desired_healthy: i32,
    /// `expectedPods`.
    pub expected_pods: i32,
    /// Pods whose eviction was accepted and not yet seen, with the time.
    pub disrupted_pods: BTreeMap<Arc<str>, SimTime>,
    /// Condition `DisruptionAllowed`: status, reason and message.
    pub condition: Option<(bool, BudgetReason, Arc<str>)>,
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug)]
pub struct PodDisruptionBudget {
    /// Metadata.
    pub meta: Meta,
    /// Spec.
    pub spec: Arc<model::PodDisruptionBudgetSpec>,
    /// Status.
    pub status: PodDisruptionBudgetStatus,
    /// Raised by each write; a status write that read an older one is refused.
    pub resource_version: u64,
}

/// A PriorityClass.
#[derive(Clone, Debug)]
pub struct PriorityClass {
    /// Name.
    pub name: Symbol,
    /// Value.
    pub value: i32,
    /// Used by pods that name no class.
    pub global_default: bool,
    /// Pods of this class do not preempt.
    pub never_preempts: bool,
    /// When it was made.
    pub created_at: SimTime,
}

/// A pod behind a service, as its EndpointSlice shows it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The pod; it may be gone by now.
    pub pod: PodId,
    /// Its node.
    pub node: Option<NodeId>,
    /// Condition `ready`: clients are sent there.
    pub ready: bool,
    /// Condition `serving`: the pod is Ready, being deleted or not.
    pub serving: bool,
    /// Condition `terminating`: the pod is being deleted.
    pub terminating: bool,
}

/// A Service.
#[derive(Clone, Debug)]
pub struct Service {
    /// Metadata.
    pub meta: Meta,
    /// Spec.
    pub spec: Arc<model::ServiceSpec>,
    /// Its EndpointSlices by number; none until its controller has seen it.
    pub slices: BTreeMap<u32, Arc<[Endpoint]>>,
}

/// A Namespace.
#[derive(Clone, Debug)]
pub struct Namespace {
    /// Name.
    pub name: Symbol,
    /// UID.
    pub uid: Uid,
    /// Labels, with `kubernetes.io/metadata.name`.
    pub labels: model::Labels,
    /// Annotations.
    pub annotations: Arc<BTreeMap<Symbol, Symbol>>,
    /// When it was made.
    pub created_at: SimTime,
    /// When its deletion was asked for.
    pub deleting_since: Option<SimTime>,
    /// Finalizers of others: it stays until somebody takes them off.
    pub finalizers: Box<[Symbol]>,
    /// Its content is gone: nothing but those keeps it.
    pub is_emptied: bool,
}
