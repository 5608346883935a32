//! NodeResourcesFit: requests against what is left; the emptier node scores higher.

use crate::scheduler::cache::NodeInfo;
use crate::scheduler::framework::{ClusterEvent, Cycle, Plugin, Rejection};
use crate::state::{Node, NodeDelta, Pod};

pub(in crate::scheduler) struct NodeResourcesFit;

/// Reasons against a node on which `used` is taken, and whether the pod would not fit even an empty one.
fn insufficient(pod: &Pod, node: &Node, info: Option<&NodeInfo>) -> (Vec<String>, bool) {
    let mut reasons = Vec::new();
    let mut is_too_big = false;
    let pods = info.map_or(0, |i| i.pod_count);
    if pods + 1 > node.allocatable_pods {
        reasons.push("Too many pods".to_owned());
    }
    let asked = &pod.spec.requests;
    if asked.requests_nothing() {
        return (reasons, false);
    }
    let mut check = |name: &str, asked: i64, allocatable: i64, used: i64| {
        if asked > 0 && asked > allocatable - used {
            reasons.push(format!("Insufficient {name}"));
            is_too_big |= asked > allocatable;
        }
    };
    let all = &node.allocatable;
    let used = |field: fn(&crate::model::Resources) -> i64| info.map_or(0, |i| field(&i.requested));
    check("cpu", asked.cpu_milli, all.cpu_milli, used(|r| r.cpu_milli));
    check("memory", asked.memory, all.memory, used(|r| r.memory));
    check("ephemeral-storage", asked.ephemeral_storage, all.ephemeral_storage, used(|r| r.ephemeral_storage));
    for &(name, amount) in &asked.scalars {
        check(name.as_str(), amount, all.scalar(name), info.map_or(0, |i| i.requested.scalar(name)));
    }
    (reasons, is_too_big)
}

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }

    fn filter(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
        let (reasons, is_unresolvable) = insufficient(cycle.pod, node.object.as_ref()?, Some(node));
        (!reasons.is_empty()).then_some(Rejection { plugin: self.name(), reasons, is_unresolvable })
    }

    fn weight(&self) -> Option<i64> {
        Some(1)
    }

    /// LeastAllocated over CPU and memory, with defaults for containers that name no request.
    fn score(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
        let Some(object) = &node.object else { return 0 };
        let asked = crate::model::non_zero_container_requests(cycle.spec);
        let parts = [
            (object.allocatable.cpu_milli, node.non_zero_cpu + asked.cpu_milli),
            (object.allocatable.memory, node.non_zero_memory + asked.memory),
        ];
        let (mut sum, mut weights) = (0, 0);
        for (allocatable, requested) in parts {
            if allocatable > 0 {
                weights += 1;
                sum += if requested > allocatable { 0 } else { (allocatable - requested) * 100 / allocatable };
            }
        }
        if weights == 0 { 0 } else { sum / weights }
    }

    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, node: Option<&NodeInfo>) -> bool {
        let fits_empty =
            || node.and_then(|n| n.object.as_ref()).is_some_and(|n| insufficient(pod, n, None).0.is_empty());
        match event {
            ClusterEvent::PodRemoved => true,
            ClusterEvent::PodAdded => false,
            ClusterEvent::NodeAdded(_) => fits_empty(),
            ClusterEvent::NodeUpdated { delta, .. } => {
                delta.touches(NodeDelta::TAINTS | NodeDelta::UNSCHEDULABLE)
                    || (delta.touches(NodeDelta::ALLOCATABLE) && fits_empty())
            }
        }
    }
}
