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

impl Node {
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
    /// A condition by name.
    #[must_use]
    pub fn condition(&self, condition_type: NodeConditionType) -> Option<&NodeCondition> {
        self.conditions.iter().find(|condition| condition.condition_type == condition_type)
    }

    /// How many pods the node takes.
    #[must_use]
    pub fn allocatable_pods(&self) -> i64 {
        self.allocatable.get(Symbol::from("pods")).map_or(0, |pods| pods.value())
    }
}
