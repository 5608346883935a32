//! Pods.

use super::api_type::{api_enums, api_open_enums, api_structs};
use super::meta::{Labels, ObjectMeta, Opaque};
use super::priority_class::SYSTEM_CRITICAL_PRIORITY;
use super::resources::{Amounts, ResourceList, ResourceRequirements, Resources, is_pod_level_resource};
use super::selector::{LabelSelector, LabelSelectorOperator, LabelSelectorRequirement, NodeSelector, NodeSelectorTerm};
use super::taint::Toleration;
use super::volume::PersistentVolumeClaimSpec;
use crate::arena::Symbol;
use crate::units::Quantity;

api_structs! {
    /// A pod.
    pub struct Pod {
        pub metadata: ObjectMeta,
        pub spec: PodSpec,
        pub status: PodStatus,
    }

    /// What a workload makes its pods from.
    pub struct PodTemplateSpec {
        pub metadata: ObjectMeta,
        pub spec: PodSpec,
    }

    /// What a pod asks for.
    pub struct PodSpec {
        pub containers: Vec<Container>,
        pub init_containers: Vec<Container>,
        pub ephemeral_containers: Opaque,
        pub node_name: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub node_selector: Labels,
        pub affinity: Option<Box<Affinity>>,
        pub tolerations: Vec<Toleration>,
        pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
        pub priority: Option<i32>,
        pub priority_class_name: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub preemption_policy: Option<PreemptionPolicy> = "crate::model::api_type::empty_is_none",
        pub scheduler_name: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub scheduling_gates: Vec<PodSchedulingGate>,
        pub overhead: ResourceList,
        /// Resources of the pod as a whole, beside those of its containers.
        pub resources: Option<Box<ResourceRequirements>>,
        pub termination_grace_period_seconds: Option<i64>,
        pub active_deadline_seconds: Option<i64>,
        pub restart_policy: RestartPolicy,
        pub host_network: bool,
        #[serde(rename = "hostPID")]
        pub host_pid: bool,
        #[serde(rename = "hostIPC")]
        pub host_ipc: bool,
        pub volumes: Vec<Volume>,
        pub readiness_gates: Vec<PodReadinessGate>,
        pub service_account_name: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub runtime_class_name: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub hostname: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub subdomain: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub share_process_namespace: Option<bool>,
        pub enable_service_links: Option<bool>,
        pub automount_service_account_token: Option<bool>,
        pub resource_claims: Opaque,
        pub security_context: Opaque,
        pub image_pull_secrets: Opaque,
        pub host_aliases: Opaque,
        pub dns_policy: Opaque,
        pub dns_config: Opaque,
        pub os: Opaque,
    }

    /// One container; an init container is the same with other rules.
    pub struct Container {
        pub name: Symbol,
        pub image: Symbol,
        pub image_pull_policy: Option<PullPolicy> = "crate::model::api_type::empty_is_none",
        pub resources: ResourceRequirements,
        pub ports: Vec<ContainerPort>,
        pub readiness_probe: Option<Box<Probe>>,
        pub liveness_probe: Option<Box<Probe>>,
        pub startup_probe: Option<Box<Probe>>,
        pub lifecycle: Option<Box<Lifecycle>>,
        /// `Always` on an init container makes it a sidecar.
        pub restart_policy: Option<ContainerRestartPolicy> = "crate::model::api_type::empty_is_none",
        pub command: Opaque,
        pub args: Opaque,
        pub env: Opaque,
        pub env_from: Opaque,
        pub working_dir: Opaque,
        pub volume_mounts: Opaque,
        pub volume_devices: Opaque,
        pub security_context: Opaque,
        pub resize_policy: Opaque,
        pub restart_policy_rules: Opaque,
        pub termination_message_path: Opaque,
        pub termination_message_policy: Opaque,
        pub stdin: Opaque,
        pub stdin_once: Opaque,
        pub tty: Opaque,
    }

    /// A port of a container. Only `hostPort` takes something of the node.
    #[derive(Eq)]
    pub struct ContainerPort {
        pub name: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub container_port: i32,
        pub host_port: i32,
        #[serde(rename = "hostIP")]
        pub host_ip: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub protocol: Protocol,
    }

    /// A probe. Whether it succeeds is up to the simulation; the handler is kept for identity only.
    pub struct Probe {
        pub initial_delay_seconds: i32,
        pub period_seconds: Option<i32>,
        pub timeout_seconds: Option<i32>,
        pub success_threshold: Option<i32>,
        pub failure_threshold: Option<i32>,
        pub termination_grace_period_seconds: Option<i64>,
        pub http_get: Opaque,
        pub tcp_socket: Opaque,
        pub exec: Opaque,
        pub grpc: Opaque,
    }

    /// Hooks at a container's start and stop.
    pub struct Lifecycle {
        pub post_start: Option<LifecycleHandler>,
        pub pre_stop: Option<LifecycleHandler>,
        pub stop_signal: Opaque,
    }

    /// What a hook does; only `sleep` has a known length.
    pub struct LifecycleHandler {
        pub sleep: Option<SleepAction>,
        pub exec: Opaque,
        pub http_get: Opaque,
        pub tcp_socket: Opaque,
    }

    /// A hook that waits.
    #[derive(Eq)]
    pub struct SleepAction {
        pub seconds: i64,
    }

    /// Where a pod wants to be.
    pub struct Affinity {
        pub node_affinity: Option<NodeAffinity>,
        pub pod_affinity: Option<PodAffinity>,
        pub pod_anti_affinity: Option<PodAffinity>,
    }

    /// Demands and wishes about nodes.
    pub struct NodeAffinity {
        pub required_during_scheduling_ignored_during_execution: Option<NodeSelector>,
        pub preferred_during_scheduling_ignored_during_execution: Vec<PreferredSchedulingTerm>,
    }

    /// A wish about nodes.
    pub struct PreferredSchedulingTerm {
        pub weight: i32,
        pub preference: NodeSelectorTerm,
    }

    /// Demands and wishes about the neighbourhood of other pods; affinity and anti-affinity have the same form.
    pub struct PodAffinity {
        pub required_during_scheduling_ignored_during_execution: Vec<PodAffinityTerm>,
        pub preferred_during_scheduling_ignored_during_execution: Vec<WeightedPodAffinityTerm>,
    }

    /// A wish about other pods.
    pub struct WeightedPodAffinityTerm {
        pub weight: i32,
        pub pod_affinity_term: PodAffinityTerm,
    }

    /// Which other pods, and what "the same place" means. An absent label selector matches no pod.
    pub struct PodAffinityTerm {
        pub label_selector: Option<LabelSelector>,
        pub namespaces: Vec<Symbol>,
        /// Absent: no namespace besides those listed; empty: all.
        pub namespace_selector: Option<LabelSelector>,
        pub topology_key: Symbol,
        pub match_label_keys: Vec<Symbol>,
        pub mismatch_label_keys: Vec<Symbol>,
    }

    /// How evenly pods are spread.
    pub struct TopologySpreadConstraint {
        pub max_skew: i32,
        pub topology_key: Symbol,
        pub when_unsatisfiable: UnsatisfiableConstraintAction,
        pub label_selector: Option<LabelSelector>,
        pub min_domains: Option<i32>,
        pub node_affinity_policy: Option<NodeInclusionPolicy>,
        pub node_taints_policy: Option<NodeInclusionPolicy>,
        pub match_label_keys: Vec<Symbol>,
    }

    /// A reason to keep a pod away from the scheduler.
    #[derive(Eq)]
    pub struct PodSchedulingGate {
        pub name: Symbol,
    }

    /// A condition that must be True before the pod is Ready.
    #[derive(Eq)]
    pub struct PodReadinessGate {
        pub condition_type: PodConditionType,
    }

    /// A volume of a pod. Kinds without a field of their own are kept for identity.
    pub struct Volume {
        pub name: Symbol,
        pub empty_dir: Option<Box<EmptyDirVolume>>,
        pub persistent_volume_claim: Option<PersistentVolumeClaimVolume>,
        pub ephemeral: Option<Box<EphemeralVolume>>,
        pub host_path: Opaque,
        pub config_map: Opaque,
        pub secret: Opaque,
        pub projected: Opaque,
        #[serde(rename = "downwardAPI")]
        pub downward_api: Opaque,
        pub image: Opaque,
        pub csi: Opaque,
        pub nfs: Opaque,
        pub gce_persistent_disk: Opaque,
        pub aws_elastic_block_store: Opaque,
        pub azure_disk: Opaque,
        pub azure_file: Opaque,
        pub rbd: Opaque,
        pub iscsi: Opaque,
        pub cephfs: Opaque,
        pub cinder: Opaque,
        pub fc: Opaque,
        pub glusterfs: Opaque,
        pub vsphere_volume: Opaque,
        pub portworx_volume: Opaque,
        pub flex_volume: Opaque,
        pub git_repo: Opaque,
    }

    /// Node-local storage that lives as long as the pod.
    pub struct EmptyDirVolume {
        pub medium: Symbol,
        pub size_limit: Option<Quantity>,
    }

    /// A use of a claim.
    #[derive(Eq)]
    pub struct PersistentVolumeClaimVolume {
        pub claim_name: Symbol,
        pub read_only: bool,
    }

    /// A claim that is made for, and lives as long as, the pod; its name is `<pod>-<volume>`.
    pub struct EphemeralVolume {
        pub volume_claim_template: PersistentVolumeClaimTemplate,
    }

    /// The claim of an ephemeral volume.
    pub struct PersistentVolumeClaimTemplate {
        pub metadata: ObjectMeta,
        pub spec: PersistentVolumeClaimSpec,
    }

    /// What has become of a pod.
    pub struct PodStatus {
        pub phase: PodPhase,
        pub conditions: Vec<PodCondition>,
        pub message: Symbol,
        pub reason: Symbol,
        pub nominated_node_name: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub start_time: Option<Symbol>,
        pub init_container_statuses: Vec<ContainerStatus>,
        pub container_statuses: Vec<ContainerStatus>,
        pub qos_class: Option<QosClass> = "crate::model::api_type::empty_is_none",
        #[serde(rename = "podIP")]
        pub pod_ip: Option<Symbol>,
        #[serde(rename = "hostIP")]
        pub host_ip: Option<Symbol>,
        pub observed_generation: i64,
    }

    /// One condition of a pod.
    #[derive(Eq)]
    pub struct PodCondition {
        #[serde(rename = "type")]
        pub condition_type: PodConditionType,
        pub status: ConditionStatus,
        pub reason: Symbol,
        pub message: Symbol,
        pub last_probe_time: Option<Symbol>,
        pub last_transition_time: Option<Symbol>,
        pub observed_generation: i64,
    }

    /// What has become of one container.
    #[derive(Eq)]
    pub struct ContainerStatus {
        pub name: Symbol,
        pub state: ContainerState,
        pub last_state: ContainerState,
        pub ready: bool,
        pub started: Option<bool>,
        pub restart_count: i32,
        pub image: Symbol,
        #[serde(rename = "imageID")]
        pub image_id: Symbol,
        #[serde(rename = "containerID")]
        pub container_id: Symbol,
    }

    /// Exactly one of the three is set once the container is known.
    #[derive(Eq)]
    pub struct ContainerState {
        pub waiting: Option<ContainerStateWaiting>,
        pub running: Option<ContainerStateRunning>,
        pub terminated: Option<Box<ContainerStateTerminated>>,
    }

    /// A container that has not started.
    #[derive(Eq)]
    pub struct ContainerStateWaiting {
        pub reason: Symbol,
        pub message: Symbol,
    }

    /// A container that runs.
    #[derive(Eq)]
    pub struct ContainerStateRunning {
        pub started_at: Option<Symbol>,
    }

    /// A container that has ended.
    #[derive(Eq)]
    pub struct ContainerStateTerminated {
        pub exit_code: i32,
        pub signal: i32,
        pub reason: Symbol,
        pub message: Symbol,
        pub started_at: Option<Symbol>,
        pub finished_at: Option<Symbol>,
        #[serde(rename = "containerID")]
        pub container_id: Symbol,
    }
}

api_enums! {
    /// When the kubelet restarts a pod's containers.
    pub enum RestartPolicy or Always {
        Always = "Always",
        OnFailure = "OnFailure",
        Never = "Never",
    }

    /// A container's own restart policy; on init containers `Always` makes a sidecar.
    pub enum ContainerRestartPolicy {
        Always = "Always",
        OnFailure = "OnFailure",
        Never = "Never",
    }

    /// When the kubelet pulls an image.
    pub enum PullPolicy {
        Always = "Always",
        IfNotPresent = "IfNotPresent",
        Never = "Never",
    }

    /// Transport of a port.
    pub enum Protocol or Tcp {
        Tcp = "TCP",
        Udp = "UDP",
        Sctp = "SCTP",
    }

    /// Whether a pod may displace others.
    pub enum PreemptionPolicy or PreemptLowerPriority {
        PreemptLowerPriority = "PreemptLowerPriority",
        Never = "Never",
    }

    /// What happens to a pod that would make the spread too uneven.
    pub enum UnsatisfiableConstraintAction or DoNotSchedule {
        DoNotSchedule = "DoNotSchedule",
        ScheduleAnyway = "ScheduleAnyway",
    }

    /// Whether nodes that a pod cannot use count as domains of a spread.
    pub enum NodeInclusionPolicy {
        Honor = "Honor",
        Ignore = "Ignore",
    }

    /// Where a pod is in its life.
    pub enum PodPhase or Pending {
        Pending = "Pending",
        Running = "Running",
        Succeeded = "Succeeded",
        Failed = "Failed",
        Unknown = "Unknown",
    }

    /// Truth of a condition.
    pub enum ConditionStatus or Unknown {
        True = "True",
        False = "False",
        Unknown = "Unknown",
    }

    /// How well a pod's resources are guaranteed.
    pub enum QosClass {
        Guaranteed = "Guaranteed",
        Burstable = "Burstable",
        BestEffort = "BestEffort",
    }
}

api_open_enums! {
    /// Names of pod conditions.
    pub enum PodConditionType {
        PodScheduled = "PodScheduled",
        Initialized = "Initialized",
        ContainersReady = "ContainersReady",
        Ready = "Ready",
        DisruptionTarget = "DisruptionTarget",
        PodReadyToStartContainers = "PodReadyToStartContainers",
    }
}

/// CPU that scoring takes a container to use when it names none: 0.1 core.
const UNNAMED_CPU: &str = "100m";

/// Memory that scoring takes a container to use when it names none.
const UNNAMED_MEMORY: &str = "200Mi";

/// What the scheduler subtracts from a node for a pod.
///
/// Containers run together and are summed; init containers run one after the other beside the sidecars that started
/// before them, so the largest of those moments counts if it exceeds the sum. Requests of the pod as a whole replace the
/// result, and the overhead of its runtime class comes on top.
///
/// # Source
///
/// Scheduler, `NodeResourcesFit`; for pods that wait. In-place resizes of running pods are not regarded.
#[must_use]
pub fn requests(spec: &PodSpec) -> Resources {
    exact_requests(spec, PodLevel::Counted, &[]).rounded_up()
}

/// [`requests`], where a container that does not name CPU or memory counts for 100m or 200 MiB; an explicit zero stays
/// zero. Node totals of the scoring plugins are sums of this.
///
/// # Source
///
/// Scheduler, `NodeResourcesFit` scoring.
#[must_use]
pub fn non_zero_requests(spec: &PodSpec) -> Resources {
    let mut pod_level = spec.resources.iter().flat_map(|resources| resources.requests.iter());
    let is_pod_level_set = pod_level.any(|(name, _)| is_pod_level_resource(name.as_str()));
    let named = if is_pod_level_set { exact_requests(spec, PodLevel::Counted, &[]) } else { Amounts::default() };
    let unnamed: Vec<_> = unnamed_defaults().into_iter().filter(|(name, _)| !named.names(name.as_str())).collect();
    exact_requests(spec, PodLevel::Counted, &unnamed).rounded_up()
}

/// [`non_zero_requests`] without the resources of the pod as a whole, which the scorers overlook in the pod that they
/// find a place for.
///
/// # Source
///
/// Scheduler, `NodeResourcesFit` scoring, up to 1.36.
#[must_use]
pub fn non_zero_container_requests(spec: &PodSpec) -> Resources {
    exact_requests(spec, PodLevel::Ignored, &unnamed_defaults()).rounded_up()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PodLevel {
    Counted,
    Ignored,
}

fn unnamed_defaults() -> [(Symbol, Quantity); 2] {
    let quantity = |text: &str| text.parse().expect("the constant is a quantity");
    [(Symbol::from("cpu"), quantity(UNNAMED_CPU)), (Symbol::from("memory"), quantity(UNNAMED_MEMORY))]
}

fn exact_requests(spec: &PodSpec, pod_level: PodLevel, unnamed: &[(Symbol, Quantity)]) -> Amounts {
    let mut total = container_requests(spec, unnamed);
    if let (PodLevel::Counted, Some(resources)) = (pod_level, &spec.resources) {
        for (name, amount) in resources.requests.iter() {
            if is_pod_level_resource(name.as_str()) {
                total.set(name, *amount);
            }
        }
    }
    total.add(&spec.overhead);
    total
}

fn container_requests(spec: &PodSpec, unnamed: &[(Symbol, Quantity)]) -> Amounts {
    aggregate(spec, |container| {
        let mut amounts = Amounts::default();
        amounts.add(&container.resources.requests);
        for (name, amount) in unnamed {
            if !container.resources.requests.contains(*name) {
                amounts.set(*name, *amount);
            }
        }
        amounts
    })
}

/// What containers, sidecars and init containers need together at the worst moment.
fn aggregate(spec: &PodSpec, of_container: impl Fn(&Container) -> Amounts) -> Amounts {
    let mut total = Amounts::default();
    for container in &spec.containers {
        total.add_all(&of_container(container));
    }
    let mut sidecars = Amounts::default();
    let mut initial_max = Amounts::default();
    for container in &spec.init_containers {
        let own = of_container(container);
        if container.is_sidecar() {
            total.add_all(&own);
            sidecars.add_all(&own);
            initial_max.raise_to(&sidecars);
        } else {
            let mut moment = sidecars.clone();
            moment.add_all(&own);
            initial_max.raise_to(&moment);
        }
    }
    total.raise_to(&initial_max);
    total
}

/// The quality of service class of a pod.
///
/// Only CPU and memory above zero count, over containers and init containers. Resources of the pod as a whole decide
/// alone where they are given.
///
/// # Source
///
/// API server and kubelet; the rule on pod-level resources is on by default from 1.34.
#[must_use]
pub fn qos(spec: &PodSpec) -> QosClass {
    let containers: Vec<&ResourceRequirements> = match &spec.resources {
        Some(resources) => vec![resources],
        None => spec.containers.iter().chain(&spec.init_containers).map(|container| &container.resources).collect(),
    };
    let mut requests = Amounts::default();
    let mut limits = Amounts::default();
    let mut every_container_is_limited = true;
    for container in containers {
        let counted = |list: &ResourceList| -> ResourceList {
            let named = list.iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory"));
            named.filter(|(_, amount)| amount.milli_value() > 0).map(|(name, amount)| (name, *amount)).collect()
        };
        let container_limits = counted(&container.limits);
        every_container_is_limited &= container_limits.iter().len() == 2;
        requests.add(&counted(&container.requests));
        limits.add(&container_limits);
    }
    if requests.iter().next().is_none() && limits.iter().next().is_none() {
        return QosClass::BestEffort;
    }
    let is_equal = requests.iter().count() == limits.iter().count()
        && requests.iter().all(|(name, amount)| limits.get(name).is_some_and(|limit| limit == amount));
    if every_container_is_limited && is_equal { QosClass::Guaranteed } else { QosClass::Burstable }
}

/// A port of the node that a pod occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// The address on which the port is taken; `None` stands for all of them (`0.0.0.0`).
    pub ip: Option<Symbol>,
    /// The transport.
    pub protocol: Protocol,
    /// The port's number.
    pub port: i32,
}

impl HostPort {
    /// Whether both cannot be had on one node.
    #[must_use]
    pub fn conflicts(&self, other: &Self) -> bool {
        self.protocol == other.protocol
            && self.port == other.port
            && (self.ip.is_none() || other.ip.is_none() || self.ip == other.ip)
    }
}

/// The ports of the node that a pod takes: those of its containers and sidecars, in the order they are written.
#[must_use]
pub fn host_ports(spec: &PodSpec) -> Vec<HostPort> {
    let sidecars = spec.init_containers.iter().filter(|container| container.is_sidecar());
    let ports = spec.containers.iter().chain(sidecars).flat_map(|container| &container.ports);
    ports
        .filter(|port| port.host_port > 0)
        .map(|port| HostPort {
            ip: port.host_ip.filter(|ip| ip.as_str() != "0.0.0.0"),
            protocol: port.protocol,
            port: port.host_port,
        })
        .collect()
}

/// Whether the kubelet treats a pod as critical: static, mirrored, or of at least `system-cluster-critical` priority.
#[must_use]
pub fn is_critical(metadata: &ObjectMeta, spec: &PodSpec) -> bool {
    is_static(metadata)
        || is_mirror(metadata)
        || spec.priority.is_some_and(|priority| priority >= SYSTEM_CRITICAL_PRIORITY)
}

/// Whether a pod comes from a file on its node.
#[must_use]
pub fn is_static(metadata: &ObjectMeta) -> bool {
    let source = metadata.annotations.get(&Symbol::from("kubernetes.io/config.source"));
    source.is_some_and(|source| source.as_str() != "api")
}

/// Whether a pod is the API's picture of one that comes from a file on its node.
#[must_use]
pub fn is_mirror(metadata: &ObjectMeta) -> bool {
    metadata.annotations.contains_key(&Symbol::from("kubernetes.io/config.mirror"))
}

impl Container {
    /// Whether this init container goes on running beside the others.
    #[must_use]
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy == Some(ContainerRestartPolicy::Always)
    }
}

impl PodStatus {
    /// A condition by name.
    #[must_use]
    pub fn condition(&self, condition_type: PodConditionType) -> Option<&PodCondition> {
        self.conditions.iter().find(|condition| condition.condition_type == condition_type)
    }

    /// Whether the `Ready` condition is True.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.condition(PodConditionType::Ready).is_some_and(|condition| condition.status == ConditionStatus::True)
    }
}

impl PodPhase {
    /// Whether the pod has run for the last time.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

impl PodSpec {
    /// The node affinity that must hold, if any is written.
    #[must_use]
    pub fn required_node_affinity(&self) -> Option<&NodeSelector> {
        let node_affinity = self.affinity.as_ref()?.node_affinity.as_ref()?;
        node_affinity.required_during_scheduling_ignored_during_execution.as_ref()
    }

    /// Whether `nodeSelector` and required node affinity allow a node.
    #[must_use]
    pub fn allows_node(&self, labels: &Labels, node_name: Symbol) -> bool {
        self.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.required_node_affinity().is_none_or(|selector| selector.matches(labels, node_name))
    }

    /// Writes the pod's own label values into the selectors of affinity terms that name keys with `matchLabelKeys` or
    /// `mismatchLabelKeys`; the scheduler never reads those fields. Keys the pod does not have are left alone.
    ///
    /// # Source
    ///
    /// API server at pod creation, 1.29+.
    pub fn merge_affinity_label_keys(&mut self, labels: &Labels) {
        let Some(affinity) = &mut self.affinity else { return };
        for pods in [&mut affinity.pod_affinity, &mut affinity.pod_anti_affinity].into_iter().flatten() {
            let preferred = &mut pods.preferred_during_scheduling_ignored_during_execution;
            let required = pods.required_during_scheduling_ignored_during_execution.iter_mut();
            for term in required.chain(preferred.iter_mut().map(|wish| &mut wish.pod_affinity_term)) {
                let Some(selector) = &mut term.label_selector else { continue };
                merge_label_keys(selector, &term.match_label_keys, LabelSelectorOperator::In, labels);
                merge_label_keys(selector, &term.mismatch_label_keys, LabelSelectorOperator::NotIn, labels);
            }
        }
    }

    /// The same for `matchLabelKeys` of topology spread constraints.
    ///
    /// # Source
    ///
    /// API server at pod creation, 1.34+. Before, the scheduler does it for itself, with the same outcome.
    pub fn merge_spread_label_keys(&mut self, labels: &Labels) {
        for constraint in &mut self.topology_spread_constraints {
            let Some(selector) = &mut constraint.label_selector else { continue };
            merge_label_keys(selector, &constraint.match_label_keys, LabelSelectorOperator::In, labels);
        }
    }

    /// Fills in what the API server would. Doing it twice changes nothing.
    ///
    /// # Source
    ///
    /// API server, defaults of pod specs. Fields that decide nothing here keep their absence.
    pub fn apply_defaults(&mut self) {
        self.termination_grace_period_seconds.get_or_insert(30);
        self.scheduler_name.get_or_insert_with(|| Symbol::from("default-scheduler"));
        for container in self.containers.iter_mut().chain(&mut self.init_containers) {
            container.apply_defaults();
        }
        self.overhead.round_up_to_milli();
        if let Some(resources) = &mut self.resources {
            resources.apply_defaults();
        }
    }

    /// Fills in what the API server does in pods, but not in the templates they are made from: requests that follow from
    /// limits, and ports of the node for pods in its network. To be called after [`PodSpec::apply_defaults`]; doing it
    /// twice changes nothing.
    ///
    /// # Source
    ///
    /// API server, defaults of pods.
    pub fn apply_pod_defaults(&mut self) {
        let host_network = self.host_network;
        for container in self.containers.iter_mut().chain(&mut self.init_containers) {
            let ResourceRequirements { requests, limits } = &mut container.resources;
            for (name, limit) in limits.iter() {
                if !requests.contains(name) {
                    requests.insert(name, *limit);
                }
            }
            for port in container.ports.iter_mut().filter(|port| host_network && port.host_port == 0) {
                port.host_port = port.container_port;
            }
        }
        if let Some(mut resources) = self.resources.take() {
            self.default_pod_level_resources(&mut resources);
            self.resources = Some(resources);
        }
    }

    /// Limits of huge pages follow from the containers' limits; then, if there is any limit, requests follow from the
    /// containers' requests, and what is still open from the limits.
    fn default_pod_level_resources(&self, resources: &mut ResourceRequirements) {
        let ResourceRequirements { requests, limits } = resources;
        let of_containers = aggregate(self, |container| {
            let mut amounts = Amounts::default();
            amounts.add(&container.resources.limits);
            amounts
        });
        if !(requests.is_empty() && limits.is_empty()) {
            for (name, limit) in of_containers.iter().filter(|(name, _)| name.as_str().starts_with("hugepages-")) {
                if !requests.contains(name) && !limits.contains(name) {
                    limits.insert(name, *limit);
                }
            }
        }
        if limits.is_empty() {
            return;
        }
        let of_containers = container_requests(self, &[]);
        for (name, request) in of_containers.iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory")) {
            if !requests.contains(name) {
                requests.insert(name, *request);
            }
        }
        for (name, limit) in limits.iter().filter(|(name, _)| is_pod_level_resource(name.as_str())) {
            if !requests.contains(name) {
                requests.insert(name, *limit);
            }
        }
    }
}

impl Container {
    fn apply_defaults(&mut self) {
        self.resources.apply_defaults();
        let image = self.image.as_str();
        self.image_pull_policy.get_or_insert_with(|| {
            if image_tag(image).is_none_or(|tag| tag == "latest") {
                PullPolicy::Always
            } else {
                PullPolicy::IfNotPresent
            }
        });
        for probe in [&mut self.readiness_probe, &mut self.liveness_probe, &mut self.startup_probe] {
            if let Some(probe) = probe {
                probe.apply_defaults();
            }
        }
    }
}

impl Probe {
    /// Fills in the timing that the API server would.
    pub fn apply_defaults(&mut self) {
        let positive = |value: Option<i32>, default| Some(value.filter(|value| *value != 0).unwrap_or(default));
        self.timeout_seconds = positive(self.timeout_seconds, 1);
        self.period_seconds = positive(self.period_seconds, 10);
        self.success_threshold = positive(self.success_threshold, 1);
        self.failure_threshold = positive(self.failure_threshold, 3);
    }
}

impl Pod {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        self.spec.apply_defaults();
        self.spec.apply_pod_defaults();
    }
}

/// The tag of an image, or `None` if it has neither tag nor digest; a digest counts as a tag of its own.
#[must_use]
pub fn image_tag(image: &str) -> Option<&str> {
    if let Some((_, digest)) = image.split_once('@') {
        return Some(digest);
    }
    let name_start = image.rfind('/').map_or(0, |slash| slash + 1);
    image[name_start..].split_once(':').map(|(_, tag)| tag)
}

fn merge_label_keys(selector: &mut LabelSelector, keys: &[Symbol], operator: LabelSelectorOperator, labels: &Labels) {
    for key in keys {
        if let Some(value) = labels.get(*key) {
            let requirement = LabelSelectorRequirement { key: *key, operator, values: vec![value] };
            if !selector.match_expressions.contains(&requirement) {
                selector.match_expressions.push(requirement);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(json: &str) -> PodSpec {
        serde_json::from_str(json).unwrap()
    }

    /// A container with these requests, given as `"cpu":"1"`.
    fn container(requests: &str) -> String {
        format!(r#"{{"resources":{{"requests":{{{requests}}}}}}}"#)
    }

    fn sidecar(requests: &str) -> String {
        format!(r#"{{"restartPolicy":"Always","resources":{{"requests":{{{requests}}}}}}}"#)
    }

    #[test]
    fn requests_are_the_larger_of_the_sum_and_the_largest_moment_of_initialisation() {
        #[track_caller]
        fn check(init: &[String], containers: &[String], more: &str, expected: [i64; 2]) {
            let json =
                format!(r#"{{"initContainers":[{}],"containers":[{}]{more}}}"#, init.join(","), containers.join(","));
            let requests = requests(&spec(&json));
            assert_eq!([requests.cpu_milli, requests.memory], expected, "{json}");
        }
        let cpu = |amount: &str| container(&format!(r#""cpu":"{amount}""#));
        let cpu_sidecar = |amount: &str| sidecar(&format!(r#""cpu":"{amount}""#));
        check(&[], &[], "", [0, 0]);
        check(&[], &[cpu("100m"), container(r#""cpu":1,"memory":"1Ki""#)], "", [1100, 1024]);
        check(&[cpu("2")], &[cpu("1"), cpu("500m")], "", [2000, 0]);
        check(&[cpu("1"), cpu("1")], &[cpu("1"), cpu("500m")], "", [1500, 0]);
        check(&[cpu_sidecar("1"), cpu("2")], &[cpu("1")], "", [3000, 0]);
        check(&[cpu("2"), cpu_sidecar("1")], &[cpu("1")], "", [2000, 0]);
        check(&[cpu_sidecar("1"), cpu_sidecar("1"), cpu("1")], &[cpu("1")], "", [3000, 0]);
        check(&[], &[cpu("1")], r#","overhead":{"cpu":"250m","memory":"1Mi"}"#, [1250, 1 << 20]);
        check(&[], &[cpu("1")], r#","resources":{"requests":{"cpu":"4"}},"overhead":{"cpu":"1"}"#, [5000, 0]);
        check(&[], &[cpu("100u"), cpu("100u"), cpu("800u")], "", [1, 0]);
        check(&[], &[cpu("1100u"), cpu("1100u")], "", [3, 0]);
    }

    #[test]
    fn only_resources_the_scheduler_knows_are_counted() {
        let json = container(
            r#""nvidia.com/gpu":"2","hugepages-2Mi":"4Mi","pods":"3","storage":"1Gi","ephemeral-storage":"1k","requests.x/y":1"#,
        );
        let counted = requests(&spec(&format!(r#"{{"containers":[{json}]}}"#)));
        let scalars: Vec<_> = counted.scalars.iter().map(|scalar| (scalar.0.as_str(), scalar.1)).collect();
        assert_eq!(scalars, [("hugepages-2Mi", 4 << 20), ("nvidia.com/gpu", 2)]);
        assert_eq!(counted.ephemeral_storage, 1000);
        assert!(requests(&spec(r#"{"containers":[{}]}"#)).requests_nothing());
    }

    #[test]
    fn unnamed_cpu_and_memory_count_when_scoring() {
        #[track_caller]
        fn check(json: &str, expected: [i64; 2], expected_without_pod_level: [i64; 2]) {
            let of = |resources: Resources| [resources.cpu_milli, resources.memory];
            let spec = spec(json);
            assert_eq!(of(non_zero_requests(&spec)), expected, "{json}");
            assert_eq!(of(non_zero_container_requests(&spec)), expected_without_pod_level, "{json}");
        }
        const DEFAULT: [i64; 2] = [100, 209_715_200];
        check(r#"{"containers":[{}]}"#, DEFAULT, DEFAULT);
        check(r#"{"containers":[{},{}]}"#, [200, 419_430_400], [200, 419_430_400]);
        let named = container(r#""cpu":"0","memory":"1Mi""#);
        check(&format!(r#"{{"containers":[{named}]}}"#), [0, 1 << 20], [0, 1 << 20]);
        let init = r#"{"containers":[{}],"initContainers":[{}]}"#;
        check(init, DEFAULT, DEFAULT);
        check(r#"{"containers":[{}],"resources":{"requests":{"cpu":"1"}}}"#, [1000, 209_715_200], DEFAULT);
    }

    #[test]
    fn quality_of_service_follows_requests_and_limits() {
        #[track_caller]
        fn check(json: &str, expected: QosClass) {
            assert_eq!(qos(&spec(json)), expected, "{json}");
        }
        let full = r#"{"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1000m","memory":"1Gi"}}}"#;
        check(r#"{"containers":[{}]}"#, QosClass::BestEffort);
        check(r#"{"containers":[{"resources":{"requests":{"cpu":"0"}}}]}"#, QosClass::BestEffort);
        check(r#"{"containers":[{"resources":{"requests":{"nvidia.com/gpu":"1"}}}]}"#, QosClass::BestEffort);
        check(&format!(r#"{{"containers":[{full}]}}"#), QosClass::Guaranteed);
        check(&format!(r#"{{"containers":[{full},{{}}]}}"#), QosClass::Burstable);
        check(&format!(r#"{{"containers":[{full}],"initContainers":[{{}}]}}"#), QosClass::Burstable);
        check(r#"{"containers":[{"resources":{"limits":{"memory":"1Gi"}}}]}"#, QosClass::Burstable);
        check(&format!(r#"{{"containers":[{full}],"resources":{{"requests":{{"cpu":"1"}}}}}}"#), QosClass::Burstable);
    }

    #[test]
    fn host_ports_conflict_by_address_protocol_and_number() {
        #[track_caller]
        fn check(wanted: &str, taken: &str, expected: bool) {
            let port = |json: &str| host_ports(&spec(&format!(r#"{{"containers":[{{"ports":[{json}]}}]}}"#)))[0];
            assert_eq!(port(wanted).conflicts(&port(taken)), expected, "{wanted} {taken}");
        }
        check(r#"{"hostPort":80}"#, r#"{"hostPort":80,"protocol":"TCP","hostIP":"0.0.0.0"}"#, true);
        check(r#"{"hostPort":80}"#, r#"{"hostPort":81}"#, false);
        check(r#"{"hostPort":80}"#, r#"{"hostPort":80,"protocol":"UDP"}"#, false);
        check(r#"{"hostPort":80,"hostIP":"10.0.0.1"}"#, r#"{"hostPort":80}"#, true);
        check(r#"{"hostPort":80,"hostIP":"10.0.0.1"}"#, r#"{"hostPort":80,"hostIP":"10.0.0.2"}"#, false);
    }

    #[test]
    fn defaults_fill_only_what_is_absent() {
        let mut pod = Pod {
            spec: spec(
                r#"{"hostNetwork":true,"terminationGracePeriodSeconds":0,"containers":[
                  {"image":"web","resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}},
                   "ports":[{"containerPort":80}],"readinessProbe":{"periodSeconds":5}},
                  {"image":"registry:5000/web:1.2"},{"image":"web@sha256:ab"},{"image":"web:latest"}]}"#,
            ),
            ..Pod::default()
        };
        pod.apply_defaults();
        let once = pod.clone();
        pod.apply_defaults();
        assert_eq!(pod, once);

        let policies: Vec<_> =
            pod.spec.containers.iter().map(|container| container.image_pull_policy.unwrap()).collect();
        let pulled = PullPolicy::Always;
        let kept = PullPolicy::IfNotPresent;
        assert_eq!(policies, [pulled, kept, kept, pulled]);
        let first = &pod.spec.containers[0];
        let probe = first.readiness_probe.as_ref().unwrap();
        assert_eq!((probe.period_seconds, probe.failure_threshold), (Some(5), Some(3)));
        assert_eq!(first.ports[0].host_port, 80);
        assert_eq!(pod.spec.termination_grace_period_seconds, Some(0));
        let counted = requests(&pod.spec);
        assert_eq!((counted.cpu_milli, counted.memory), (1000, 1 << 30));
    }

    #[test]
    fn requests_of_the_pod_follow_from_containers_and_limits_once_there_is_a_limit() {
        #[track_caller]
        fn check(resources: &str, containers: &str, expected: &str) {
            let mut spec = spec(&format!(r#"{{"resources":{resources},"containers":[{containers}]}}"#));
            spec.apply_defaults();
            spec.apply_pod_defaults();
            assert_eq!(serde_json::to_string(&spec.resources.unwrap().requests).unwrap(), expected);
        }
        let one = container(r#""cpu":"1""#);
        check(r#"{"limits":{"cpu":"4"}}"#, &one, r#"{"cpu":"1"}"#);
        check(r#"{"limits":{"memory":"4Gi"}}"#, &one, r#"{"cpu":"1","memory":"4Gi"}"#);
        check(r#"{"limits":{"cpu":"4"},"requests":{"cpu":"3"}}"#, &one, r#"{"cpu":"3"}"#);
        check(r#"{"requests":{"memory":"1Gi"}}"#, &one, r#"{"memory":"1Gi"}"#);
        let pages = r#"{"resources":{"limits":{"hugepages-2Mi":"4Mi"}}}"#;
        check(r#"{"limits":{"cpu":"4"}}"#, pages, r#"{"cpu":"4","hugepages-2Mi":"4Mi"}"#);
    }

    #[test]
    fn amounts_finer_than_a_thousandth_are_rounded_up_on_the_way_in() {
        let tiny = container(r#""cpu":"100u""#);
        let mut spec = spec(&format!(r#"{{"containers":[{tiny},{tiny}]}}"#));
        assert_eq!(requests(&spec).cpu_milli, 1);
        spec.apply_defaults();
        assert_eq!(requests(&spec).cpu_milli, 2);
    }

    #[test]
    fn null_empty_and_absent_fields_are_the_same() {
        let written = spec(
            r#"{"containers":null,"nodeName":"","tolerations":[{"key":null,"effect":"","operator":""}],"restartPolicy":"",
                "nodeSelector":null,"affinity":null,"priority":null,"hostNetwork":null}"#,
        );
        assert_eq!(written, PodSpec { tolerations: vec![Toleration::default()], ..PodSpec::default() });
        assert_eq!(serde_json::to_string(&PodSpec::default()).unwrap(), "{}");
    }

    #[test]
    fn fields_that_decide_nothing_still_make_two_specs_different() {
        let one = spec(r#"{"containers":[{"env":[{"name":"A","value":"1"}]}]}"#);
        let other = spec(r#"{"containers":[{"env":[{"name":"A","value":"2"}]}]}"#);
        assert_ne!(one, other);
        let again: PodSpec = serde_json::from_value(serde_json::to_value(&one).unwrap()).unwrap();
        assert_eq!(again, one);
    }
}
