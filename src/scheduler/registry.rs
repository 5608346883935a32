//! The plugins there are, in the order of the default profile.

use std::sync::Arc;

use serde_json::Value;

use super::framework::Plugin;
use super::plugins::{
    image_locality::ImageLocality, inter_pod_affinity::InterPodAffinity, node_affinity::NodeAffinity,
    node_name::NodeName, node_ports::NodePorts, node_resources_balanced_allocation::NodeResourcesBalancedAllocation,
    node_resources_fit::NodeResourcesFit, node_unschedulable::NodeUnschedulable,
    pod_topology_spread::PodTopologySpread, taint_toleration::TaintToleration,
};

/// A plugin that can be part of a profile.
pub(super) struct Entry {
    pub(super) name: &'static str,
    /// Whether it filters.
    pub(super) filters: bool,
    /// Its weight by default; none if it does not score.
    pub(super) weight: Option<i64>,
    /// Makes it from its arguments, null if there are none. None if they cannot be read.
    make: fn(&Value) -> Option<Arc<dyn Plugin>>,
}

pub(super) static ALL: [Entry; 10] = [
    Entry { name: "NodeUnschedulable", filters: true, weight: None, make: |_| Some(Arc::new(NodeUnschedulable)) },
    Entry { name: "NodeName", filters: true, weight: None, make: |_| Some(Arc::new(NodeName)) },
    Entry { name: "TaintToleration", filters: true, weight: Some(3), make: |_| Some(Arc::new(TaintToleration)) },
    Entry {
        name: "NodeAffinity",
        filters: true,
        weight: Some(2),
        make: |arguments| Some(Arc::new(NodeAffinity::new(read(arguments)?))),
    },
    Entry { name: "NodePorts", filters: true, weight: None, make: |_| Some(Arc::new(NodePorts)) },
    Entry {
        name: "NodeResourcesFit",
        filters: true,
        weight: Some(1),
        make: |arguments| Some(Arc::new(NodeResourcesFit::new(read(arguments)?))),
    },
    Entry {
        name: "PodTopologySpread",
        filters: true,
        weight: Some(2),
        make: |arguments| Some(Arc::new(PodTopologySpread::new(read(arguments)?))),
    },
    Entry {
        name: "InterPodAffinity",
        filters: true,
        weight: Some(2),
        make: |arguments| Some(Arc::new(InterPodAffinity::new(read(arguments)?))),
    },
    Entry {
        name: "NodeResourcesBalancedAllocation",
        filters: false,
        weight: Some(1),
        make: |arguments| Some(Arc::new(NodeResourcesBalancedAllocation::new(read(arguments)?))),
    },
    Entry { name: "ImageLocality", filters: false, weight: Some(1), make: |_| Some(Arc::new(ImageLocality)) },
];

/// Reads arguments; those of null are the defaults.
fn read<T: serde::de::DeserializeOwned + Default>(arguments: &Value) -> Option<T> {
    if arguments.is_null() { Some(T::default()) } else { serde_json::from_value(arguments.clone()).ok() }
}

/// The plugin of that name.
pub(super) fn entry(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}

/// Makes the plugin of that name; with its defaults if its arguments cannot be read.
pub(super) fn make(name: &str, arguments: &Value) -> Option<Arc<dyn Plugin>> {
    let entry = entry(name)?;
    (entry.make)(arguments).or_else(|| (entry.make)(&Value::Null))
}
