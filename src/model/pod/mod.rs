//! Pods: what is written, what a pod takes of its node, and what the API server adds.

mod behavior;
mod defaults;
mod requests;
mod template_hash;
mod words;

use super::api_type::{api_enums, api_open_enums, api_structs};
use super::meta::{Labels, ObjectMeta, Opaque};
use super::priority_class::SYSTEM_CRITICAL_PRIORITY;
use super::resources::{ResourceList, ResourceRequirements};
use super::selector::{LabelSelector, NodeSelector, NodeSelectorTerm};
use super::taint::Toleration;
use super::volume::PersistentVolumeClaimSpec;
use crate::arena::Symbol;
use crate::units::Quantity;

pub use behavior::{
    BEHAVIOR_PREFIX, Behavior, EXIT_CODE, GateTime, INIT, INIT_EXIT_CODE, Objection, PodAnnotations, READY, RUN_FOR,
    StatedUsage,
};
pub use defaults::image_tag;
pub(super) use requests::container_requests;
pub use requests::{limited, non_zero_container_requests, non_zero_requests, qos, requested, requests};
pub use template_hash::{pod_template_hash, revision_patch_hash};

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
        /// The old word for `serviceAccountName`, which takes it over with the defaults.
        pub service_account: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        /// What the class adds, admission adds; a dump's pods have it.
        pub runtime_class_name: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub hostname: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub subdomain: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub share_process_namespace: Option<bool>,
        pub enable_service_links: Option<bool>,
        pub automount_service_account_token: Option<bool>,
        pub resource_claims: Opaque,
        pub security_context: Opaque,
        pub host_users: Opaque,
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
        pub image: Option<Box<ImageVolume>>,
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

    /// The files of an image.
    #[derive(Eq)]
    pub struct ImageVolume {
        pub reference: Symbol,
        pub pull_policy: Option<PullPolicy> = "crate::model::api_type::empty_is_none",
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

/// Whether a container of this name is a program of the control plane, as static pods have them.
#[must_use]
pub fn is_control_plane_program(container: Symbol) -> bool {
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"].contains(&container.as_str())
}

/// Whether the pod is a static one with a program of the control plane.
#[must_use]
pub fn runs_control_plane(pod: &Pod) -> bool {
    let is_static = is_mirror(&pod.metadata) || pod.metadata.controller().is_some_and(|owner| owner.kind == "Node");
    is_static && pod.spec.containers.iter().any(|container| is_control_plane_program(container.name))
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

    /// Whether a container that ended with this code is started again: its own policy counts before the pod's.
    ///
    /// # Source
    /// kubelet, `ContainerShouldRestart`; older versions know no policies of single containers, and their API servers take none.
    #[must_use]
    pub fn restarts(&self, container: &Container, code: i32) -> bool {
        match container.restart_policy {
            Some(ContainerRestartPolicy::Always) => true,
            Some(ContainerRestartPolicy::OnFailure) => code != 0,
            Some(ContainerRestartPolicy::Never) => false,
            None => match self.restart_policy {
                RestartPolicy::Always => true,
                RestartPolicy::OnFailure => code != 0,
                RestartPolicy::Never => false,
            },
        }
    }

    /// The scheduler that the pod is left to.
    #[must_use]
    pub fn scheduler(&self) -> Symbol {
        self.scheduler_name.filter(|name| !name.is_empty()).unwrap_or_else(|| Symbol::new("default-scheduler"))
    }

    /// Whether a node is named.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.node_name.is_some_and(|node| !node.is_empty())
    }

    /// Whether `nodeSelector` and required node affinity allow a node.
    #[must_use]
    pub fn allows_node(&self, labels: &Labels, node_name: Symbol) -> bool {
        self.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.required_node_affinity().is_none_or(|selector| selector.matches(labels, node_name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(json: &str) -> PodSpec {
        serde_json::from_str(json).unwrap()
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
    fn null_empty_and_absent_fields_are_the_same() {
        let written = spec(
            r#"{"containers":null,"nodeName":"","tolerations":[{"key":null,"effect":"","operator":""}],"restartPolicy":"",
                "nodeSelector":null,"affinity":null,"priority":null,"hostNetwork":null}"#,
        );
        assert_eq!(written, PodSpec { tolerations: vec![Toleration::default()], ..PodSpec::default() });
        assert_eq!(serde_json::to_string(&PodSpec::default()).unwrap(), "{}");
        let whole = crate::model::api_type::whole(|| serde_json::to_string(&PodSpec::default()).unwrap());
        assert_eq!(whole, r#"{"restartPolicy":"Always"}"#);
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
