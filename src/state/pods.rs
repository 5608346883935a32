//! Pods as the API shows them.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use smallvec::SmallVec;

use super::meta::{Owner, Uid};
use super::nodes::{NodeId, Status};
use crate::arena::{Id, Symbol};
use crate::model::{self, Behavior, Container, Labels, PodAnnotations, PodSpec, QosClass, Resources};
use crate::units::{SimDuration, SimTime};

/// Identifies a pod object; a re-created pod of the same name has another id.
pub type PodId = Id<Pod>;

/// A pod's spec after admission, with what hot paths read worked out once. Shared by all pods of one template.
#[derive(Clone, Debug)]
pub struct AdmittedSpec {
    /// The spec as admission left it (priority resolved, default tolerations added), without `nodeName` and without the
    /// per-node affinity term of daemon pods (see [`Pod::pinned_node`]).
    pub spec: PodSpec,
    /// Annotations of the template, or those that decide something, and how they say that containers behave. What a pod has of
    /// its own is [`Pod::own_annotations`].
    pub annotations: Arc<PodAnnotations>,
    /// Finalizers of others: the object stays until somebody takes them off. That of Jobs is [`Pod::job_tracking`].
    pub finalizers: Box<[Symbol]>,
    /// What the scheduler subtracts from a node: requests of containers, init containers and overhead.
    pub requests: Resources,
    /// The same with 100m CPU and 200 MiB for containers that name none; used by scoring only.
    pub non_zero_requests: Resources,
    /// The same without the resources of the pod as a whole, which the scorers overlook in the pod that they find a place for.
    pub non_zero_container_requests: Resources,
    /// Quality of service class.
    pub qos: QosClass,
    /// Resolved priority.
    pub priority: i32,
}

impl AdmittedSpec {
    /// How the containers behave, as annotations say.
    #[must_use]
    pub fn behavior(&self) -> &Behavior {
        self.annotations.behavior()
    }
}

impl Deref for AdmittedSpec {
    type Target = PodSpec;

    fn deref(&self) -> &PodSpec {
        &self.spec
    }
}

/// `status.phase`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum PodPhase {
    /// Accepted, but not all containers have been started.
    #[default]
    Pending,
    /// Bound, and at least one container runs or is restarting.
    Running,
    /// All containers ended with success and will not restart.
    Succeeded,
    /// All containers ended, at least one in failure.
    Failed,
}

impl std::fmt::Display for PodPhase {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl PodPhase {
    /// The API's text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }

    /// Whether the phase never changes again.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// Why a pod was deleted, as `pods.csv` shows it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeletionCause {
    /// A NoExecute taint.
    TaintManagerEviction,
    /// The eviction subresource (drain, autoscaler).
    EvictionByEvictionApi,
    /// Pod garbage collection.
    DeletionByPodGc,
    /// A victim of scheduler preemption.
    PreemptionByScheduler,
    /// The kubelet ended it (shutdown, kubelet preemption).
    TerminationByKubelet,
    /// Its controller wanted fewer pods.
    ScaleDown,
    /// Replaced by a roll-out.
    RollingUpdate,
    /// The DaemonSet controller took it off a node.
    DaemonSetController,
    /// Its owner was deleted.
    OwnerDeleted,
    /// Node-pressure eviction.
    NodePressure,
    /// An operator's command.
    Kubectl,
    /// A fault killed it.
    PodKill,
    /// A finished pod was cleaned up.
    Completed,
}

impl DeletionCause {
    /// Every cause.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 13] = [
        Self::TaintManagerEviction,
        Self::EvictionByEvictionApi,
        Self::DeletionByPodGc,
        Self::PreemptionByScheduler,
        Self::TerminationByKubelet,
        Self::ScaleDown,
        Self::RollingUpdate,
        Self::DaemonSetController,
        Self::OwnerDeleted,
        Self::NodePressure,
        Self::Kubectl,
        Self::PodKill,
        Self::Completed,
    ];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TaintManagerEviction => "TaintManagerEviction",
            Self::EvictionByEvictionApi => "EvictionByEvictionAPI",
            Self::DeletionByPodGc => "DeletionByPodGC",
            Self::PreemptionByScheduler => "PreemptionByScheduler",
            Self::TerminationByKubelet => "TerminationByKubelet",
            Self::ScaleDown => "ScaleDown",
            Self::RollingUpdate => "RollingUpdate",
            Self::DaemonSetController => "DaemonSetController",
            Self::OwnerDeleted => "OwnerDeleted",
            Self::NodePressure => "NodePressure",
            Self::Kubectl => "Kubectl",
            Self::PodKill => "PodKill",
            Self::Completed => "Completed",
        }
    }

    /// The word of the `deletion_cause` column and of `deletions` in the summary, whose list is closed: a kill by a fault is a
    /// deletion as `kubectl delete pod --force` asks for it, and the column `taken_away` tells the two apart.
    #[must_use]
    pub fn column(self) -> &'static str {
        if self == Self::PodKill { Self::Kubectl.as_str() } else { self.as_str() }
    }
}

/// A pending deletion: the object carries a deletionTimestamp.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// When the first DELETE was accepted.
    pub requested_at: SimTime,
    /// `metadata.deletionTimestamp`: accept time plus grace.
    pub deadline: SimTime,
    /// `metadata.deletionGracePeriodSeconds`.
    pub grace: SimDuration,
    /// Who asked first.
    pub cause: DeletionCause,
}

/// The reason of a DisruptionTarget condition.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum DisruptionReason {
    /// Preempted by the scheduler.
    PreemptionByScheduler,
    /// Evicted because of a NoExecute taint.
    DeletionByTaintManager,
    /// Evicted through the eviction API.
    EvictionByEvictionApi,
    /// Its node object was gone.
    DeletionByPodGc,
    /// Ended by the kubelet.
    TerminationByKubelet,
}

impl DisruptionReason {
    /// Every reason.
    const ALL: [Self; 5] = [
        Self::PreemptionByScheduler,
        Self::DeletionByTaintManager,
        Self::EvictionByEvictionApi,
        Self::DeletionByPodGc,
        Self::TerminationByKubelet,
    ];

    /// The reason of the API's text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }

    /// The API's text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreemptionByScheduler => "PreemptionByScheduler",
            Self::DeletionByTaintManager => "DeletionByTaintManager",
            Self::EvictionByEvictionApi => "EvictionByEvictionAPI",
            Self::DeletionByPodGc => "DeletionByPodGC",
            Self::TerminationByKubelet => "TerminationByKubelet",
        }
    }
}

/// The DisruptionTarget condition.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DisruptionTarget {
    /// Why.
    pub reason: DisruptionReason,
    /// `lastTransitionTime`.
    pub since: SimTime,
    /// False once the disruption controller has found it stale.
    pub status: bool,
}

/// A pod condition: its status and when it last flipped.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PodCondition {
    /// True, False or Unknown.
    pub status: Status,
    /// `lastTransitionTime`, unrounded.
    pub since: SimTime,
}

/// What a container does, as its status shows it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum ContainerState {
    /// Not running; the reason is the API's text.
    #[default]
    Waiting,
    /// Waiting to be restarted after a crash.
    CrashLoopBackOff,
    /// Its image could not be pulled.
    ErrImagePull,
    /// Waiting to pull its image again.
    ImagePullBackOff,
    /// Its image is not there, and is not to be pulled.
    ErrImageNeverPull,
    /// Running since the given time.
    Running {
        /// When it was started.
        since: SimTime,
    },
    /// Ended.
    Terminated(Ending),
}

/// How a container ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Exit code.
    pub exit_code: i32,
    /// What the kubelet says of it.
    pub reason: EndReason,
    /// `startedAt`: when it ended, as long as nobody has seen it run.
    pub started_at: SimTime,
    /// `finishedAt`.
    pub finished_at: SimTime,
}

impl Ending {
    /// The end of a container by itself, or by a signal.
    ///
    /// # Source
    /// kubelet and container runtime: `Completed` if the exit code is 0, else `Error`.
    #[must_use]
    pub fn exit(exit_code: i32, finished_at: SimTime) -> Self {
        let reason = if exit_code == 0 { EndReason::Completed } else { EndReason::Error };
        Self { exit_code, reason, started_at: finished_at, finished_at }
    }

    /// Whether somebody saw it: of one that nobody saw the status has no times.
    ///
    /// # Source
    /// kubelet, `convertToAPIContainerStatuses`.
    #[must_use]
    pub fn is_seen(&self) -> bool {
        self.reason != EndReason::ContainerStatusUnknown
    }
}

/// `state.terminated.reason`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// With exit code 0.
    Completed,
    /// With another.
    Error,
    /// The kernel killed it for its memory.
    OomKilled,
    /// Nobody saw it end.
    ContainerStatusUnknown,
}

impl EndReason {
    const ALL: [Self; 4] = [Self::Completed, Self::Error, Self::OomKilled, Self::ContainerStatusUnknown];

    /// The kubelet's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "Completed",
            Self::Error => "Error",
            Self::OomKilled => "OOMKilled",
            Self::ContainerStatusUnknown => "ContainerStatusUnknown",
        }
    }

    /// The reason of that word, if it is one of those told apart.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

impl ContainerState {
    /// Since when it runs, if it does.
    #[must_use]
    pub fn running_since(self) -> Option<SimTime> {
        match self {
            Self::Running { since } => Some(since),
            Self::Waiting
            | Self::CrashLoopBackOff
            | Self::ErrImagePull
            | Self::ImagePullBackOff
            | Self::ErrImageNeverPull
            | Self::Terminated(_) => None,
        }
    }

    /// How it ended, if its state still says so.
    #[must_use]
    pub fn ending(self) -> Option<Ending> {
        match self {
            Self::Terminated(ending) => Some(ending),
            Self::Waiting
            | Self::CrashLoopBackOff
            | Self::ErrImagePull
            | Self::ImagePullBackOff
            | Self::ErrImageNeverPull
            | Self::Running { .. } => None,
        }
    }

    /// Whether it waits to run, for the first time or again.
    #[must_use]
    pub fn is_waiting(self) -> bool {
        self.running_since().is_none() && self.ending().is_none()
    }

    /// `state.waiting.reason`, of a container that waits for more than its turn.
    #[must_use]
    pub fn waiting_reason(self) -> Option<&'static str> {
        match self {
            Self::CrashLoopBackOff => Some("CrashLoopBackOff"),
            Self::ErrImagePull => Some("ErrImagePull"),
            Self::ImagePullBackOff => Some("ImagePullBackOff"),
            Self::ErrImageNeverPull => Some("ErrImageNeverPull"),
            Self::Waiting | Self::Running { .. } | Self::Terminated(_) => None,
        }
    }
}

/// Pods of a workload that crash whenever they run, for as long as their containers are these.
#[derive(Clone, Debug, PartialEq)]
pub struct CrashLoop {
    /// Namespace of the workload.
    pub namespace: Symbol,
    /// Kind of the workload; of a ReplicaSet of a Deployment that is the Deployment.
    pub kind: Symbol,
    /// Name of the workload.
    pub name: Symbol,
    /// All containers in order, init containers first.
    pub containers: Vec<Container>,
    /// Annotations that set for how long containers run, and how they end.
    pub annotations: Vec<(Symbol, Symbol)>,
}

/// The status of one container.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct ContainerStatus {
    /// What it does.
    pub state: ContainerState,
    /// Whether it counts as ready.
    pub ready: bool,
    /// How often it was restarted.
    pub restarts: u32,
    /// `lastState.terminated`: how it ended before it was restarted.
    pub last: Option<Ending>,
}

/// A pod object.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Namespace.
    pub namespace: Symbol,
    /// Name.
    pub name: Arc<str>,
    /// UID.
    pub uid: Uid,
    /// Labels.
    pub labels: Labels,
    /// The controlling owner.
    pub owner: Option<Owner>,
    /// The spec, shared with its siblings.
    pub spec: Arc<AdmittedSpec>,
    /// Annotations that are not its siblings', too: those of who wrote the pod itself, as far as no rule reads them.
    pub own_annotations: Option<Arc<BTreeMap<Symbol, Symbol>>>,
    /// A daemon pod's target: its required node affinity is the single term `metadata.name In [this]`.
    pub pinned_node: Option<NodeId>,
    /// A static pod's mirror (annotation `kubernetes.io/config.mirror`).
    pub is_mirror: bool,
    /// `spec.nodeName`.
    pub node: Option<NodeId>,
    /// `status.nominatedNodeName`.
    pub nominated_node: Option<NodeId>,
    /// Creation time.
    pub created_at: SimTime,
    /// When it was bound.
    pub scheduled_at: Option<SimTime>,
    /// `status.startTime`.
    pub started_at: Option<SimTime>,
    /// Present once a DELETE was accepted.
    pub deletion: Option<Deletion>,
    /// The finalizer [`JOB_TRACKING`] is set.
    pub job_tracking: bool,
    /// `status.phase`.
    pub phase: PodPhase,
    /// `status.reason`, empty if none.
    pub reason: Symbol,
    /// The Ready condition; absent until a kubelet has posted it.
    pub ready: Option<PodCondition>,
    /// The ContainersReady condition: what the kubelet has said last. The control plane's own verdict on a lost node leaves it as it is.
    pub containers_ready: Option<PodCondition>,
    /// The PodScheduled condition is False, and why.
    pub not_scheduled: Option<NotScheduled>,
    /// The DisruptionTarget condition.
    pub disruption_target: Option<DisruptionTarget>,
    /// Statuses of the regular containers, in spec order; empty until the kubelet posts them.
    pub containers: SmallVec<[ContainerStatus; 1]>,
    /// Statuses of the init containers, in spec order.
    pub init_containers: SmallVec<[ContainerStatus; 0]>,
    /// Raised by each write; of pods of a dump the number is theirs, and tells in which order they were last written. A write
    /// that depends on what was read is refused if there has been another since.
    pub resource_version: u64,
}

/// Why the condition PodScheduled is False.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotScheduled {
    /// The condition's reason.
    pub reason: NotScheduledReason,
    /// The condition's message.
    pub message: Arc<str>,
}

/// The reason of a PodScheduled condition that is False.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NotScheduledReason {
    /// Gates keep it from the scheduler.
    SchedulingGated,
    /// No node takes it.
    Unschedulable,
    /// The last attempt ended in an error.
    SchedulerError,
}

impl NotScheduledReason {
    /// The reason as the API shows it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SchedulingGated => "SchedulingGated",
            Self::Unschedulable => "Unschedulable",
            Self::SchedulerError => "SchedulerError",
        }
    }

    /// The reason of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::SchedulingGated, Self::Unschedulable, Self::SchedulerError]
            .into_iter()
            .find(|reason| reason.as_str() == name)
    }
}

/// A claim that a pod uses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PodClaim {
    /// The claim's name; its namespace is the pod's.
    pub name: Symbol,
    /// The pod's name for the volume.
    pub volume: Symbol,
    /// The claim is made for the pod and goes with it.
    pub is_ephemeral: bool,
}

/// The finalizer by which a Job counts its pods.
pub const JOB_TRACKING: &str = "batch.kubernetes.io/job-tracking";

impl Pod {
    /// All annotations, as the API shows them.
    #[must_use]
    pub fn annotations(&self) -> BTreeMap<Symbol, Symbol> {
        let own = self.own_annotations.iter().flat_map(|own| own.iter());
        self.spec.annotations.iter().chain(own).map(|(key, value)| (*key, *value)).collect()
    }

    /// One of them.
    #[must_use]
    pub fn annotation(&self, key: Symbol) -> Option<Symbol> {
        let own = || self.own_annotations.as_ref()?.get(&key).copied();
        self.spec.annotations.get(&key).copied().or_else(own)
    }

    /// Has these annotations from now on. The spec goes on being shared with siblings, unless one changes that they have or that a
    /// rule reads.
    pub fn annotate(&mut self, mut annotations: BTreeMap<Symbol, Symbol>) {
        let shared = &self.spec.annotations;
        let is_kept = |key: &Symbol, value: &Symbol| shared.get(key) == Some(value);
        let stays = shared.iter().all(|(key, value)| annotations.get(key) == Some(value))
            && annotations.iter().all(|(key, value)| !PodAnnotations::is_rule(*key) || is_kept(key, value));
        if stays {
            annotations.retain(|key, value| !is_kept(key, value));
            self.own_annotations = Some(annotations).filter(|own| !own.is_empty()).map(Arc::new);
        } else {
            self.own_annotations = None;
            Arc::make_mut(&mut self.spec).annotations = Arc::new(annotations.into());
        }
    }

    /// Whether a finalizer keeps the object.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.job_tracking || !self.spec.finalizers.is_empty()
    }

    /// All finalizers, as the API shows them.
    #[must_use]
    pub fn finalizers(&self) -> Vec<Symbol> {
        let tracking = self.job_tracking.then(|| Symbol::new(JOB_TRACKING));
        self.spec.finalizers.iter().copied().chain(tracking).collect()
    }

    /// The claims it uses, in the order of its volumes.
    #[must_use]
    pub fn claims(&self) -> SmallVec<[PodClaim; 1]> {
        let claim = |volume: &model::Volume| {
            if let Some(claim) = &volume.persistent_volume_claim {
                return Some(PodClaim { name: claim.claim_name, volume: volume.name, is_ephemeral: false });
            }
            volume.ephemeral.as_ref()?;
            let name = Symbol::new(&format!("{}-{}", self.name, volume.name));
            Some(PodClaim { name, volume: volume.name, is_ephemeral: true })
        };
        self.spec.volumes.iter().filter_map(claim).collect()
    }

    /// Ready condition is True.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.is_some_and(|c| c.status == Status::True)
    }

    /// Ready, and for at least `min_ready` (0 = ready is enough).
    ///
    /// # Source
    /// `IsPodAvailable`: the condition's time stamp holds whole seconds, so a pod may count up to a second early.
    #[must_use]
    pub fn is_available(&self, min_ready: SimDuration, now: SimTime) -> bool {
        self.is_ready() && self.available_in(min_ready, now) == Some(SimDuration::ZERO)
    }

    /// How long until it is available, if it stays Ready; none if it is not.
    #[must_use]
    pub fn available_in(&self, min_ready: SimDuration, now: SimTime) -> Option<SimDuration> {
        let ready = self.ready.filter(|ready| ready.status == Status::True)?;
        if min_ready == SimDuration::ZERO {
            return Some(SimDuration::ZERO);
        }
        Some((ready.since.floor_to_second() + min_ready).saturating_since(now))
    }

    /// Neither finished nor being deleted.
    #[must_use]
    pub fn is_active(&self) -> bool {
        !self.phase.is_terminal() && self.deletion.is_none()
    }

    /// Being deleted, but not finished.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        self.deletion.is_some() && !self.phase.is_terminal()
    }

    /// Restarts of the container restarted most often.
    #[must_use]
    pub fn restarts_max(&self) -> u32 {
        self.containers.iter().map(|c| c.restarts).max().unwrap_or(0)
    }

    /// Restarts of the sidecar (an init container that restarts always) restarted most often.
    #[must_use]
    pub fn sidecar_restarts_max(&self) -> u32 {
        let statuses = self.spec.init_containers.iter().zip(&self.init_containers);
        let sidecars = statuses.filter(|(container, _)| container.is_sidecar());
        sidecars.map(|(_, status)| status.restarts).max().unwrap_or(0)
    }

    /// Restarts of all containers.
    #[must_use]
    pub fn restarts_total(&self) -> u32 {
        self.containers.iter().chain(&self.init_containers).map(|c| c.restarts).sum()
    }
}
