//! Nodes.

use super::api_type::{api_open_enums, api_structs};
use super::meta::Labels;
use super::meta::{ObjectMeta, Opaque};
use super::pod::ConditionStatus;
use super::resources::ResourceList;
use super::taint::Taint;
use crate::arena::{Symbol, sym};

api_structs! {
    /// A node.
    pub struct Node {
        pub metadata: ObjectMeta,
        pub spec: NodeSpec,
        pub status: NodeStatus,
    }

    /// What is wanted of a node.
    pub struct NodeSpec {
        pub unschedulable: bool,
        pub taints: Vec<Taint>,
        #[serde(rename = "podCIDR")]
        pub pod_cidr: Option<Symbol>,
        #[serde(rename = "podCIDRs")]
        pub pod_cidrs: Opaque,
        #[serde(rename = "providerID")]
        pub provider_id: Option<Symbol>,
    }

    /// What the kubelet reports.
    pub struct NodeStatus {
        pub capacity: ResourceList,
        pub allocatable: ResourceList,
        pub conditions: Vec<NodeCondition>,
        pub images: Vec<ContainerImage>,
        pub node_info: Option<NodeSystemInfo>,
        pub addresses: Opaque,
    }

    /// What the kubelet says of itself and of the machine. Only its version tells whose work the node's status is.
    #[derive(Eq)]
    pub struct NodeSystemInfo {
        pub kubelet_version: Symbol,
        pub os_image: Symbol,
        pub container_runtime_version: Symbol,
        pub kernel_version: Symbol,
        pub operating_system: Symbol,
        pub architecture: Symbol,
        #[serde(rename = "machineID")]
        pub machine_id: Symbol,
        #[serde(rename = "systemUUID")]
        pub system_uuid: Symbol,
        #[serde(rename = "bootID")]
        pub boot_id: Symbol,
        pub kube_proxy_version: Symbol,
    }

    /// One condition of a node.
    #[derive(Eq)]
    pub struct NodeCondition {
        #[serde(rename = "type")]
        pub condition_type: NodeConditionType,
        pub status: ConditionStatus,
        pub reason: Symbol,
        pub message: Symbol,
        pub last_heartbeat_time: Option<Symbol>,
        pub last_transition_time: Option<Symbol>,
    }

    /// An image that is on the node.
    #[derive(Eq)]
    pub struct ContainerImage {
        pub names: Vec<Symbol>,
        pub size_bytes: i64,
    }
}

api_open_enums! {
    /// Names of node conditions.
    pub enum NodeConditionType {
        MemoryPressure = "MemoryPressure",
        DiskPressure = "DiskPressure",
        PidPressure = "PIDPressure",
        Ready = "Ready",
        NetworkUnavailable = "NetworkUnavailable",
    }
}

impl Node {
    /// Whether something other than Kubernetes' kubelet posts the node's status: one that gives no version, or one of
    /// another kind (`kwok-v0.7.0`, `fake`).
    #[must_use]
    pub fn has_stand_in_kubelet(&self) -> bool {
        let is_kubelets = |info: &NodeSystemInfo| {
            let digits = info.kubelet_version.as_str().strip_prefix('v');
            digits.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
        };
        self.status.node_info.as_ref().is_some_and(|info| !is_kubelets(info))
    }

    /// Fills in what the API server would: what a node has is what it can give, if nothing else is said. Doing it twice
    /// changes nothing.
    pub fn apply_defaults(&mut self) {
        self.status.capacity.round_up_to_milli();
        self.status.allocatable.round_up_to_milli();
        if self.status.allocatable.is_empty() {
            self.status.allocatable = self.status.capacity.clone();
        }
    }
}

impl NodeStatus {
    /// What the node can give to pods: `allocatable`, or all that it has where that is not said.
    #[must_use]
    pub fn given(&self) -> &ResourceList {
        if self.allocatable.is_empty() { &self.capacity } else { &self.allocatable }
    }

    /// A condition by name.
    #[must_use]
    pub fn condition(&self, condition_type: NodeConditionType) -> Option<&NodeCondition> {
        self.conditions.iter().find(|condition| condition.condition_type == condition_type)
    }

    /// Whether it says that the node is not Ready.
    #[must_use]
    pub fn is_not_ready(&self) -> bool {
        let ready = self.condition(NodeConditionType::Ready);
        ready.is_some_and(|condition| condition.status != ConditionStatus::True)
    }

    /// How many pods the node takes.
    #[must_use]
    pub fn allocatable_pods(&self) -> i64 {
        self.allocatable.get(Symbol::from("pods")).map_or(0, |pods| pods.value())
    }
}

/// The label that says in which zone a node is.
pub const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// The zone of a node with these labels: how the control plane groups nodes, and what faults, charts and plans call a zone.
///
/// # Source
/// component-helpers, `GetZoneKey`: the beta label wins over the stable one; if it is empty, so is the zone.
#[must_use]
pub fn zone_of(labels: &Labels) -> Option<Symbol> {
    let zone = labels.get(sym!("failure-domain.beta.kubernetes.io/zone"));
    zone.or_else(|| labels.get(sym!("topology.kubernetes.io/zone"))).filter(|zone| !zone.is_empty())
}

/// The region of a node with these labels, by the same rule.
#[must_use]
pub fn region_of(labels: &Labels) -> Option<Symbol> {
    let region = labels.get(sym!("failure-domain.beta.kubernetes.io/region"));
    region.or_else(|| labels.get(sym!("topology.kubernetes.io/region"))).filter(|region| !region.is_empty())
}

/// Keys of nodes that bear the control plane, the present one first.
const CONTROL_PLANE_ROLES: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// Whether the node is said to bear the control plane.
///
/// # Source
/// kubeadm and k3s, which give this label, before 1.20 under its former name.
#[must_use]
pub fn has_control_plane_role(labels: &Labels) -> bool {
    CONTROL_PLANE_ROLES.iter().any(|role| labels.contains(Symbol::new(role)))
}

/// Whether a key, of a label or of a taint, is that of nodes which bear the control plane.
#[must_use]
pub fn is_control_plane_role(key: &str) -> bool {
    CONTROL_PLANE_ROLES.contains(&key)
}

/// The value of a label by which machines fail together; either label of zones means the zone.
#[must_use]
pub fn domain_of(labels: &Labels, label: &str) -> Option<Symbol> {
    match label {
        ZONE_LABEL | "failure-domain.beta.kubernetes.io/zone" => zone_of(labels),
        "topology.kubernetes.io/region" | "failure-domain.beta.kubernetes.io/region" => region_of(labels),
        _ => labels.get(Symbol::new(label)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_without_a_kubelets_version_is_a_stand_ins() {
        #[track_caller]
        fn check(status: &str, expected: bool) {
            let node: Node = serde_json::from_str(&format!(r#"{{"status":{status}}}"#)).unwrap();
            assert_eq!(node.has_stand_in_kubelet(), expected, "{status}");
        }
        check("{}", false);
        check(r#"{"conditions":[{"type":"Ready","status":"True"}]}"#, false);
        check(r#"{"nodeInfo":{"kubeletVersion":"v1.36.2"}}"#, false);
        check(r#"{"nodeInfo":{"kubeletVersion":"v1.34.1-eks-113cf36"}}"#, false);
        check(r#"{"nodeInfo":{"kubeletVersion":""}}"#, true);
        check(r#"{"nodeInfo":{"kubeletVersion":"kwok-v0.7.0"}}"#, true);
        check(r#"{"nodeInfo":{"kubeletVersion":"fake"}}"#, true);
    }
}
