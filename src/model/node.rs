//! Nodes.

use super::api_type::{api_open_enums, api_structs};
use super::meta::{ObjectMeta, Opaque};
use super::pod::ConditionStatus;
use super::resources::ResourceList;
use super::taint::Taint;
use crate::arena::Symbol;

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
