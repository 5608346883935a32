//! The plugins of the default profile, in the order in which they filter.

use super::framework::Plugin;
use super::plugins::{
    image_locality, node_affinity, node_name, node_ports, node_resources_balanced_allocation, node_resources_fit,
    node_unschedulable, taint_toleration,
};

/// Filters in order; the first that rejects gives the reason.
pub(super) static FILTERS: [&dyn Plugin; 6] = [
    &node_unschedulable::NodeUnschedulable,
    &node_name::NodeName,
    &taint_toleration::TaintToleration,
    &node_affinity::NodeAffinity,
    &node_ports::NodePorts,
    &node_resources_fit::NodeResourcesFit,
];

/// Scorers in order.
pub(super) static SCORERS: [&dyn Plugin; 5] = [
    &taint_toleration::TaintToleration,
    &node_affinity::NodeAffinity,
    &node_resources_fit::NodeResourcesFit,
    &node_resources_balanced_allocation::NodeResourcesBalancedAllocation,
    &image_locality::ImageLocality,
];

/// The plugin of that name.
pub(super) fn find(name: &str) -> Option<&'static dyn Plugin> {
    FILTERS.iter().chain(&SCORERS).copied().find(|plugin| plugin.name() == name)
}
