//! The plugins, one file each.

pub(super) mod default_preemption;
pub(super) mod dynamic_resources;
pub(super) mod image_locality;
pub(super) mod inter_pod_affinity;
pub(super) mod node_affinity;
pub(super) mod node_name;
pub(super) mod node_ports;
pub(super) mod node_resources_balanced_allocation;
pub(super) mod node_resources_fit;
pub(super) mod node_unschedulable;
pub(super) mod node_volume_limits;
pub(super) mod pod_topology_spread;
pub(super) mod priority_sort;
pub(super) mod scheduling_gates;
pub(super) mod scoring_strategy;
pub(super) mod taint_toleration;
pub(super) mod volume_binding;
pub(super) mod volume_restrictions;
pub(super) mod volume_zone;
