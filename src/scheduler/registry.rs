//! The plugins there are, in the order of the default profile.

use std::sync::Arc;

use serde_json::Value;

use super::arguments;
use super::framework::Plugin;
use super::plugins::{
    default_preemption::DefaultPreemption, dynamic_resources::DynamicResources, image_locality::ImageLocality,
    inter_pod_affinity::InterPodAffinity, node_affinity::NodeAffinity, node_name::NodeName, node_ports::NodePorts,
    node_resources_balanced_allocation::NodeResourcesBalancedAllocation, node_resources_fit::NodeResourcesFit,
    node_unschedulable::NodeUnschedulable, node_volume_limits::NodeVolumeLimits,
    pod_topology_spread::PodTopologySpread, priority_sort::PrioritySort, scheduling_gates::SchedulingGates,
    taint_toleration::TaintToleration, volume_binding::VolumeBinding, volume_restrictions::VolumeRestrictions,
    volume_zone::VolumeZone,
};

/// Where a plugin takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    PreEnqueue,
    QueueSort,
    Filter,
    PostFilter,
    Score,
}

/// A plugin that can be part of a profile.
pub(super) struct Entry {
    pub(super) name: &'static str,
    points: &'static [Point],
    /// Its weight by default, if it scores.
    pub(super) weight: i64,
    /// Makes it from its arguments, null if there are none.
    make: fn(&Value) -> Arc<dyn Plugin>,
}

impl Entry {
    pub(super) fn has(&self, point: Point) -> bool {
        self.points.contains(&point)
    }
}

const FILTER: &[Point] = &[Point::Filter];
const SCORE: &[Point] = &[Point::Score];
const FILTER_AND_SCORE: &[Point] = &[Point::Filter, Point::Score];

pub(super) static ALL: [Entry; 18] = [
    Entry { name: "SchedulingGates", points: &[Point::PreEnqueue], weight: 0, make: |_| Arc::new(SchedulingGates) },
    Entry { name: "PrioritySort", points: &[Point::QueueSort], weight: 0, make: |_| Arc::new(PrioritySort) },
    Entry { name: "NodeUnschedulable", points: FILTER, weight: 0, make: |_| Arc::new(NodeUnschedulable) },
    Entry { name: "NodeName", points: FILTER, weight: 0, make: |_| Arc::new(NodeName) },
    Entry { name: "TaintToleration", points: FILTER_AND_SCORE, weight: 3, make: |_| Arc::new(TaintToleration) },
    Entry {
        name: "NodeAffinity",
        points: FILTER_AND_SCORE,
        weight: 2,
        make: |arguments| Arc::new(NodeAffinity::new(read(arguments))),
    },
    Entry { name: "NodePorts", points: FILTER, weight: 0, make: |_| Arc::new(NodePorts) },
    Entry {
        name: "NodeResourcesFit",
        points: FILTER_AND_SCORE,
        weight: 1,
        make: |arguments| Arc::new(NodeResourcesFit::new(read(arguments))),
    },
    Entry { name: "VolumeRestrictions", points: FILTER, weight: 0, make: |_| Arc::new(VolumeRestrictions) },
    Entry { name: "NodeVolumeLimits", points: FILTER, weight: 0, make: |_| Arc::new(NodeVolumeLimits) },
    Entry {
        name: "VolumeBinding",
        points: FILTER_AND_SCORE,
        weight: 1,
        make: |arguments| Arc::new(VolumeBinding::new(read(arguments))),
    },
    Entry { name: "VolumeZone", points: FILTER, weight: 0, make: |_| Arc::new(VolumeZone) },
    Entry {
        name: "PodTopologySpread",
        points: FILTER_AND_SCORE,
        weight: 2,
        make: |arguments| Arc::new(PodTopologySpread::new(read(arguments))),
    },
    Entry {
        name: "InterPodAffinity",
        points: FILTER_AND_SCORE,
        weight: 2,
        make: |arguments| Arc::new(InterPodAffinity::new(read(arguments))),
    },
    Entry {
        name: "DynamicResources",
        points: &[Point::PostFilter, Point::Score],
        weight: 2,
        make: |_| Arc::new(DynamicResources),
    },
    Entry {
        name: "DefaultPreemption",
        points: &[Point::PostFilter],
        weight: 0,
        make: |arguments| Arc::new(DefaultPreemption::new(read(arguments))),
    },
    Entry {
        name: "NodeResourcesBalancedAllocation",
        points: SCORE,
        weight: 1,
        make: |arguments| Arc::new(NodeResourcesBalancedAllocation::new(read(arguments))),
    },
    Entry { name: "ImageLocality", points: SCORE, weight: 1, make: |_| Arc::new(ImageLocality) },
];

fn read<T: serde::de::DeserializeOwned + Default>(arguments: &Value) -> T {
    arguments::from_value(arguments).expect("arguments that have been checked")
}

/// The plugin of that name.
pub(super) fn entry(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}

/// Makes the plugin of that name.
///
/// # Panics
///
/// If its arguments cannot be read, see [`arguments::argument_problems`].
pub(super) fn make(name: &str, arguments: &Value) -> Option<Arc<dyn Plugin>> {
    entry(name).map(|entry| (entry.make)(arguments))
}
