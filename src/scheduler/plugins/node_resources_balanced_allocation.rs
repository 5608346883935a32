//! NodeResourcesBalancedAllocation: prefers nodes whose CPU and memory are used alike.

use crate::scheduler::cache::NodeInfo;
use crate::scheduler::framework::{ClusterEvent, Cycle, Plugin};
use crate::state::Pod;

pub(in crate::scheduler) struct NodeResourcesBalancedAllocation;

/// How alike two fractions are, 0 to 100. The order of the float operations is the real one's; it shows.
fn balance(parts: [(i64, i64); 2]) -> i64 {
    let fractions: Vec<f64> = parts
        .iter()
        .filter(|(allocatable, _)| *allocatable > 0)
        .map(|&(allocatable, requested)| (requested as f64 / allocatable as f64).min(1.0))
        .collect();
    let deviation = match fractions.as_slice() {
        [a, b] => ((a - b) / 2.0).abs(),
        _ => 0.0,
    };
    ((1.0 - deviation) * 100.0) as i64
}

impl Plugin for NodeResourcesBalancedAllocation {
    fn name(&self) -> &'static str {
        "NodeResourcesBalancedAllocation"
    }

    fn weight(&self) -> Option<i64> {
        Some(1)
    }

    fn scores(&self, cycle: &Cycle<'_>) -> bool {
        cycle.spec.requests.cpu_milli > 0 || cycle.spec.requests.memory > 0
    }

    fn score(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
        let Some(object) = &node.object else { return 0 };
        let all = &object.allocatable;
        let asked = &cycle.spec.requests;
        let with = balance([
            (all.cpu_milli, node.requested.cpu_milli + asked.cpu_milli),
            (all.memory, node.requested.memory + asked.memory),
        ]);
        if !cycle.version.at_least(36) {
            return with;
        }
        let without = balance([(all.cpu_milli, node.requested.cpu_milli), (all.memory, node.requested.memory)]);
        50 + (50 + with - without) / 2
    }

    fn hint(&self, _pod: &Pod, _event: &ClusterEvent<'_>, _node: Option<&NodeInfo>) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncation_shows_in_the_last_place() {
        assert_eq!(balance([(100, 6), (100, 90)]), 57);
        assert_eq!(balance([(10000, 3000 + 3000), (20000, 5000)]), 82);
    }
}
