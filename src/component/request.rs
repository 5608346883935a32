//! What a component may ask of the API server, and the answers. Data only; the rules are in `apiserver`.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::arena::Symbol;
use crate::model::validation::{self, FieldError};
use crate::model::{self, AnyKind, Labels, Object, ObjectKind, PodTemplateSpec, ResourceList, Resources, TaintEffect};
use crate::state::{
    AttachmentPhase, AutoscalerKey, AutoscalerStatus, ClaimOwner, ContainerStatus, CronJobId, DaemonSetId,
    DaemonSetStatus, DeletionCause, DeploymentId, DeploymentStatus, DisruptionReason, Endpoint, JobId, JobStatus, Node,
    NodeCondition, NodeConditionKind, NodeConditions, NodeDescription, NodeId, NotScheduled, Owner,
    PersistentVolumeClaimId, PersistentVolumeId, PodDisruptionBudgetId, PodDisruptionBudgetStatus, PodId, PodPhase,
    Propagation, QuotaKey, ReplicaSetId, ReplicaSetStatus, ServiceId, StatefulSetId, StatefulSetStatus, Status,
    TaintOnNode, Uid, WorkloadId,
};
use crate::units::{SimDuration, SimTime};

/// How a new pod is named.
#[derive(Clone, Debug)]
pub enum PodName {
    /// `metadata.generateName`: the prefix, to which the API server adds five characters.
    Generate(Symbol),
    /// `metadata.name`.
    Exact(Arc<str>),
}

/// A pod to be created.
#[derive(Clone, Debug)]
pub struct PodDraft {
    /// Namespace.
    pub namespace: Symbol,
    /// Name.
    pub name: PodName,
    /// Template: labels, annotations and spec. Pods of one template share one `Arc`, so that admission runs once.
    pub template: Arc<PodTemplateSpec>,
    /// Labels on top of the template's.
    pub extra_labels: SmallVec<[(Symbol, Symbol); 2]>,
    /// Annotations on top of the template's.
    pub extra_annotations: SmallVec<[(Symbol, Symbol); 2]>,
    /// Controlling owner.
    pub owner: Option<Owner>,
    /// A daemon pod's target: replaces the required node affinity by `metadata.name In [node]`.
    pub pinned_node: Option<NodeId>,
    /// Adds the finalizer `batch.kubernetes.io/job-tracking`.
    pub job_tracking: bool,
}

/// Options of a DELETE of a pod.
#[derive(Copy, Clone, Debug, Default)]
pub struct DeleteOptions {
    /// `gracePeriodSeconds`; none = the pod's own.
    pub grace_s: Option<i64>,
    /// `preconditions.uid`.
    pub uid: Option<Uid>,
}

/// A change of a pod's status; `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct PodStatusPatch {
    /// `status.phase`.
    pub phase: Option<PodPhase>,
    /// `status.reason`.
    pub reason: Option<Symbol>,
    /// The Ready condition's status.
    pub ready: Option<Status>,
    /// When its sender has stamped the conditions that change by it; as it arrives, if that is not said.
    pub stamped_at: Option<SimTime>,
    /// `status.startTime`, if not set yet.
    pub started: Option<SimTime>,
    /// Container statuses.
    pub containers: Option<SmallVec<[ContainerStatus; 1]>>,
    /// Init container statuses.
    pub init_containers: Option<SmallVec<[ContainerStatus; 0]>>,
    /// Sets the DisruptionTarget condition to True with this reason (false: to False).
    pub disruption: Option<(DisruptionReason, bool)>,
    /// `status.nominatedNodeName`.
    pub nominated_node: Option<Option<NodeId>>,
    /// PodScheduled is False, for this reason.
    pub not_scheduled: Option<NotScheduled>,
}

/// A node that registers.
#[derive(Clone, Debug)]
pub struct NodeRegistration {
    /// Labels.
    pub labels: Labels,
    /// Annotations.
    pub annotations: Arc<BTreeMap<Symbol, Symbol>>,
    /// `spec.taints` (`registerWithTaints`).
    pub taints: SmallVec<[TaintOnNode; 2]>,
    /// Allocatable without pods.
    pub allocatable: Arc<Resources>,
    /// Allocatable pods.
    pub allocatable_pods: i64,
    /// Capacity.
    pub capacity: Arc<Resources>,
    /// Images present.
    pub images: Arc<[(Vec<Symbol>, i64)]>,
    /// `status.nodeInfo.kubeletVersion`; empty if nobody says.
    pub kubelet_version: Symbol,
    /// What else it says of itself and of the machine.
    pub description: Option<Arc<NodeDescription>>,
    /// Conditions that it is created with.
    pub conditions: NodeConditions,
}

fn description(status: &model::NodeStatus) -> Option<Arc<NodeDescription>> {
    let info = status.node_info.clone().unwrap_or_default();
    let says_more = info != model::NodeSystemInfo { kubelet_version: info.kubelet_version, ..Default::default() };
    let description = NodeDescription { info, addresses: status.addresses };
    (says_more || !description.addresses.is_none()).then(|| Arc::new(description))
}

impl From<&model::Node> for NodeRegistration {
    /// What a kubelet would register of the node.
    fn from(node: &model::Node) -> Self {
        let taints = node.spec.taints.iter();
        let taints = taints.map(|taint| TaintOnNode {
            key: taint.key,
            value: taint.value,
            effect: taint.effect,
            added_at: None,
        });
        let status = &node.status;
        Self {
            labels: node.metadata.labels.clone(),
            annotations: Arc::new(node.metadata.annotations.clone()),
            taints: taints.collect(),
            allocatable: Arc::new(Resources::from(&status.allocatable)),
            allocatable_pods: status.allocatable_pods(),
            capacity: Arc::new(Resources::from(&status.capacity)),
            images: status.images.iter().map(|image| (image.names.clone(), image.size_bytes)).collect(),
            kubelet_version: status.node_info.as_ref().map(|info| info.kubelet_version).unwrap_or_default(),
            description: description(status),
            conditions: NodeConditions::default(),
        }
    }
}

/// One condition of a node status write.
#[derive(Copy, Clone, Debug)]
pub struct NodeConditionUpdate {
    /// Which.
    pub kind: NodeConditionKind,
    /// Its new value; `since` moves only when the status flips.
    pub condition: NodeCondition,
}

/// A ReplicaSet to be created by a Deployment.
#[derive(Clone, Debug)]
pub struct NewReplicaSet {
    /// Owner.
    pub deployment: DeploymentId,
    /// Name.
    pub name: Symbol,
    /// Labels.
    pub labels: Labels,
    /// Annotations.
    pub annotations: Arc<BTreeMap<Symbol, Symbol>>,
    /// Size.
    pub replicas: i32,
    /// Selector, template, minReadySeconds.
    pub spec: Arc<model::ReplicaSetSpec>,
}

/// A ControllerRevision to be created.
#[derive(Clone, Debug)]
pub struct NewRevision {
    /// Owner.
    pub owner: WorkloadId,
    /// Hash.
    pub hash: Symbol,
    /// Number.
    pub revision: i64,
    /// Template.
    pub template: Arc<PodTemplateSpec>,
}

/// A Job's status, boxed for its size.
pub type JobStatusUpdate = Box<JobStatus>;

/// What changes in the status of a CronJob.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CronJobStatusUpdate {
    /// Jobs to strike off the list of active ones.
    pub gone: Vec<JobId>,
    /// `lastSuccessfulTime`.
    pub succeeded_at: Option<SimTime>,
    /// A Job to list, and the slot that it is for.
    pub taken_up: Option<(JobId, SimTime)>,
}

/// `metadata.resourceVersion` of a PUT: the version of the object that the writer has read; 409 if it was written since.
/// None = whatever it is.
pub type BaseVersion = Option<u64>;

/// A status write of a controller.
#[derive(Clone, Debug)]
pub enum StatusUpdate {
    /// Deployment, and its annotations where they change as well.
    Deployment(DeploymentId, BaseVersion, DeploymentStatus, Option<Arc<BTreeMap<Symbol, Symbol>>>),
    /// ReplicaSet.
    ReplicaSet(ReplicaSetId, BaseVersion, ReplicaSetStatus),
    /// DaemonSet.
    DaemonSet(DaemonSetId, BaseVersion, DaemonSetStatus),
    /// StatefulSet.
    StatefulSet(StatefulSetId, BaseVersion, StatefulSetStatus),
    /// Job.
    Job(JobId, BaseVersion, JobStatusUpdate),
    /// CronJob: what changes.
    CronJob(CronJobId, CronJobStatusUpdate),
    /// PodDisruptionBudget, with the resource version that the writer has read: 409 if it is no longer that.
    Budget(PodDisruptionBudgetId, u64, Box<PodDisruptionBudgetStatus>),
    /// HorizontalPodAutoscaler.
    Autoscaler(AutoscalerKey, Box<AutoscalerStatus>),
    /// ResourceQuota: `hard` and `used`, with the version that the writer has read: 409 if it is no longer that.
    Quota(QuotaKey, u64, Box<(ResourceList, ResourceList)>),
}

/// A request to the API server.
#[derive(Clone, Debug)]
pub enum Request {
    /// Any other request with `dryRun: All`: it is admitted and validated, and nothing is written.
    DryRun(Box<Request>),
    /// A read that only costs a token and a round trip; what it would return is in the store.
    Get,
    /// A read of a pod that is answered with 404 when it is gone (or has another UID).
    GetPod {
        /// Pod.
        pod: PodId,
    },
    /// POST pods.
    CreatePod(Box<PodDraft>),
    /// DELETE a pod.
    DeletePod {
        /// Pod.
        pod: PodId,
        /// Options.
        options: DeleteOptions,
        /// Who asks.
        cause: DeletionCause,
    },
    /// POST pods/eviction.
    EvictPod {
        /// Pod.
        pod: PodId,
        /// Grace in the eviction's delete options.
        grace_s: Option<i64>,
        /// `dryRun: All`.
        dry_run: bool,
    },
    /// POST pods/binding.
    BindPod {
        /// Pod.
        pod: PodId,
        /// Node.
        node: NodeId,
    },
    /// PATCH or PUT pods/status.
    PatchPodStatus {
        /// Pod.
        pod: PodId,
        /// What to set.
        patch: Box<PodStatusPatch>,
    },
    /// PATCH the controlling owner: adopt or release.
    SetPodOwner {
        /// Pod.
        pod: PodId,
        /// Owner.
        owner: Option<Owner>,
    },
    /// PATCH a pod's annotations.
    SetPodAnnotations {
        /// Which.
        pod: PodId,
        /// All annotations.
        annotations: Arc<BTreeMap<Symbol, Symbol>>,
    },
    /// PATCH labels.
    SetPodLabels {
        /// Pod.
        pod: PodId,
        /// All labels.
        labels: Labels,
    },
    /// PATCH a pod's owner together with the job tracking finalizer: a Job adopts the pod, or lets it go.
    ClaimPodForJob {
        /// Pod.
        pod: PodId,
        /// The Job that adopts it; none: it is released.
        job: Option<JobId>,
    },
    /// PUT a claim with an owner reference to a StatefulSet or a pod, or without one.
    SetClaimOwner {
        /// Claim.
        claim: PersistentVolumeClaimId,
        /// With whom it goes.
        owner: Option<ClaimOwner>,
    },
    /// PATCH away the job tracking finalizer.
    ReleasePodFromJob {
        /// Pod.
        pod: PodId,
    },
    /// POST nodes.
    CreateNode {
        /// Node name.
        node: NodeId,
        /// What the kubelet registers.
        registration: Box<NodeRegistration>,
    },
    /// DELETE a node.
    DeleteNode {
        /// Node.
        node: NodeId,
    },
    /// PATCH a node's taints: adds (or refreshes) first, then removes by key and effect.
    PatchNodeTaints {
        /// Node.
        node: NodeId,
        /// Taints to set; an existing one of the same key and effect is replaced.
        add: SmallVec<[TaintOnNode; 2]>,
        /// Taints to take away.
        remove: SmallVec<[(Symbol, TaintEffect); 2]>,
    },
    /// PATCH `spec.unschedulable`.
    SetNodeUnschedulable {
        /// Node.
        node: NodeId,
        /// Value.
        unschedulable: bool,
    },
    /// PATCH labels.
    SetNodeLabels {
        /// Node.
        node: NodeId,
        /// All labels.
        labels: Labels,
    },
    /// PATCH annotations.
    SetNodeAnnotations {
        /// Node.
        node: NodeId,
        /// All annotations.
        annotations: Arc<BTreeMap<Symbol, Symbol>>,
    },
    /// PUT nodes/status: the given conditions, the others stay. A condition's `since` is kept unless its status flips.
    PatchNodeStatus {
        /// Node.
        node: NodeId,
        /// Conditions.
        conditions: SmallVec<[NodeConditionUpdate; 5]>,
        /// `metadata.resourceVersion`: the object as it was read; 409 if it was written since. None = whatever it is.
        base: Option<Arc<Node>>,
    },
    /// PUT the scale of a workload: its size alone.
    Scale {
        /// Workload.
        workload: WorkloadId,
        /// Size.
        replicas: i32,
    },
    /// POST replicasets.
    CreateReplicaSet(Box<NewReplicaSet>),
    /// PUT a ReplicaSet's size, annotations and `minReadySeconds`.
    UpdateReplicaSet {
        /// ReplicaSet.
        replica_set: ReplicaSetId,
        /// The version that the writer has read.
        base: BaseVersion,
        /// New size, if it changes.
        replicas: Option<i32>,
        /// New annotations, if they change.
        annotations: Option<Arc<BTreeMap<Symbol, Symbol>>>,
        /// New `spec.minReadySeconds`, if it changes.
        min_ready_seconds: Option<i32>,
    },
    /// PATCH a Deployment's annotations (revision, rollback).
    SetWorkloadAnnotations {
        /// Workload.
        workload: WorkloadId,
        /// All annotations.
        annotations: Arc<BTreeMap<Symbol, Symbol>>,
    },
    /// PATCH the controlling owner of a workload: adopt or release.
    SetWorkloadOwner {
        /// Workload.
        workload: WorkloadId,
        /// Owner.
        owner: Option<Owner>,
    },
    /// POST controllerrevisions.
    CreateRevision(Box<NewRevision>),
    /// PUT a ControllerRevision's number.
    SetRevisionNumber {
        /// Revision.
        id: crate::state::ControllerRevisionId,
        /// Number.
        revision: i64,
    },
    /// DELETE a ControllerRevision.
    DeleteRevision {
        /// Revision.
        id: crate::state::ControllerRevisionId,
    },
    /// PATCH the controlling owner of a ControllerRevision: adopt or release.
    SetRevisionOwner {
        /// Revision.
        id: crate::state::ControllerRevisionId,
        /// Owner.
        owner: Option<Owner>,
    },
    /// PATCH the owner references of an object: those with these UIDs go.
    DropOwners {
        /// Kind.
        kind: crate::model::AnyKind,
        /// Namespace.
        namespace: Symbol,
        /// Name.
        name: Symbol,
        /// UIDs of the owners.
        uids: Vec<crate::state::Uid>,
    },
    /// PUT status of a workload or budget.
    UpdateStatus(StatusUpdate),
    /// DELETE a workload.
    DeleteWorkload {
        /// Workload.
        workload: WorkloadId,
        /// What becomes of its dependents.
        propagation: Propagation,
    },
    /// The garbage collector takes the last finalizer off a deleted workload.
    FinalizeWorkload {
        /// Workload.
        workload: WorkloadId,
    },
    /// POST a job on behalf of a CronJob.
    CreateJob {
        /// The CronJob.
        cron_job: CronJobId,
        /// Name.
        name: Symbol,
        /// Scheduled time.
        scheduled_at: SimTime,
    },
    /// POST or PUT any object, as kubectl and manifests do; objects that exist are replaced.
    Apply(Box<model::Object>),
    /// POST any object; 409 if it exists.
    Create(Box<model::Object>),
    /// DELETE an object that is neither pod, node nor workload, by kind and name.
    DeleteOther {
        /// Kind.
        kind: AnyKind,
        /// Namespace.
        namespace: Symbol,
        /// Name.
        name: Symbol,
    },
    /// Binds a claim to a volume, on both sides; 409 if either is bound elsewhere.
    BindClaim {
        /// Claim.
        claim: PersistentVolumeClaimId,
        /// Volume.
        volume: PersistentVolumeId,
    },
    /// PATCH annotation `volume.kubernetes.io/selected-node` of a claim.
    SelectNode {
        /// Claim.
        claim: PersistentVolumeClaimId,
        /// Where its first pod will run.
        node: NodeId,
    },
    /// A volume whose claim is gone is kept for nobody.
    ReleaseVolume {
        /// Volume.
        volume: PersistentVolumeId,
    },
    /// Writes a VolumeAttachment and the node's `status.volumesAttached`; none = it is gone.
    SetAttachment {
        /// Volume.
        volume: PersistentVolumeId,
        /// Node.
        node: NodeId,
        /// What is the case.
        phase: Option<AttachmentPhase>,
    },
    /// A kubelet says in `status.volumesInUse` whether it uses a volume.
    ReportVolume {
        /// Volume.
        volume: PersistentVolumeId,
        /// Node.
        node: NodeId,
        /// Whether it does.
        in_use: bool,
    },
    /// POST, PUT or DELETE of an EndpointSlice.
    PutEndpointSlice {
        /// Service.
        service: ServiceId,
        /// Which of its slices.
        slice: u32,
        /// What it holds; a slice without endpoints goes, unless it is the last.
        endpoints: Arc<[Endpoint]>,
    },
    /// The namespace controller takes the last finalizer off a namespace.
    FinalizeNamespace {
        /// Namespace.
        name: Symbol,
    },
}

/// What a request made.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Done; nothing more to say.
    Done,
    /// Nothing had to be changed.
    Unchanged,
    /// This pod.
    Pod(PodId),
    /// This node.
    Node(NodeId),
    /// This workload.
    Workload(WorkloadId),
    /// This revision.
    Revision(crate::state::ControllerRevisionId),
    /// An object, under a name that the server gave it.
    Named(Symbol),
}

/// The machine-readable reason of a refusal.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ErrorReason {
    /// 400.
    BadRequest,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 409: exists already.
    AlreadyExists,
    /// 409: changed meanwhile.
    Conflict,
    /// 422.
    Invalid,
    /// 429.
    TooManyRequests,
    /// 500.
    InternalError,
    /// No answer: the API server is down.
    Unavailable,
}

impl ErrorReason {
    /// HTTP status code; 0 when there was no answer.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::AlreadyExists | Self::Conflict => 409,
            Self::Invalid => 422,
            Self::TooManyRequests => 429,
            Self::InternalError => 500,
            Self::Unavailable => 0,
        }
    }
}

/// A refusal by the API server. Part of the run, never an error of the simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// Reason.
    pub reason: ErrorReason,
    /// The Status message.
    pub message: String,
    /// `Retry-After`, if sent: the client repeats the call by itself after this time.
    pub retry_after: Option<SimDuration>,
    /// The message of `details.causes[0]`, if any.
    pub detail: Option<String>,
    /// Of an invalid object: `details.causes`, each with its field.
    pub causes: Vec<String>,
}

impl ApiError {
    /// A refusal without details.
    #[must_use]
    pub fn new(reason: ErrorReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), retry_after: None, detail: None, causes: Vec::new() }
    }

    /// 422: what is wrong with an object, field by field.
    ///
    /// # Source
    /// API machinery, `NewInvalid`.
    #[must_use]
    pub fn invalid(kind: ObjectKind, name: &str, errors: &[FieldError]) -> Self {
        Self::invalid_of((kind.api_version(), kind.as_str()), name, errors)
    }

    /// 422 of an object, under its own kind also if that decides nothing.
    #[must_use]
    pub fn invalid_object(object: &Object, errors: &[FieldError]) -> Self {
        let name = object.metadata().name;
        match object {
            Object::Stored(stored) => {
                Self::invalid_of((stored.api_version.as_str(), stored.kind.as_str()), name.as_str(), errors)
            }
            other => Self::invalid(other.kind(), name.as_str(), errors),
        }
    }

    fn invalid_of((api_version, kind): (&str, &str), name: &str, errors: &[FieldError]) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let dot = if group.is_empty() { "" } else { "." };
        let what = validation::aggregate(errors);
        let message = format!("{}{dot}{group} \"{name}\" is invalid: {what}", kind);
        let mut causes: Vec<String> = Vec::with_capacity(errors.len());
        for error in errors {
            let text = error.to_string();
            if !causes.contains(&text) {
                causes.push(text);
            }
        }
        Self { causes, ..Self::new(ErrorReason::Invalid, message) }
    }

    /// Whether it is refused because its namespace is being deleted (`NamespaceTerminatingCause`).
    #[must_use]
    pub fn is_of_terminating_namespace(&self) -> bool {
        self.reason == ErrorReason::Forbidden && self.message.ends_with("because it is being terminated")
    }
}

/// The API server's answer.
pub type Answer = Result<Reply, ApiError>;
