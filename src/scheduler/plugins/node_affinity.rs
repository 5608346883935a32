//! NodeAffinity: nodeSelector and node affinity.

use crate::scheduler::cache::NodeInfo;
use crate::scheduler::framework::{self, ClusterEvent, Cycle, Plugin, Rejection};
use crate::state::{NodeDelta, Pod};

pub(in crate::scheduler) struct NodeAffinity;

impl Plugin for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }

    fn filter(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
        let object = node.object.as_ref()?;
        if cycle.spec.allows_node(&object.labels, node.name) {
            return None;
        }
        let reasons = vec!["node(s) didn't match Pod's node affinity/selector".to_owned()];
        Some(Rejection { plugin: self.name(), reasons, is_unresolvable: true })
    }

    fn weight(&self) -> Option<i64> {
        Some(2)
    }

    fn scores(&self, cycle: &Cycle<'_>) -> bool {
        let affinity = cycle.spec.affinity.as_ref().and_then(|a| a.node_affinity.as_ref());
        affinity.is_some_and(|a| !a.preferred_during_scheduling_ignored_during_execution.is_empty())
    }

    fn score(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
        let Some(object) = &node.object else { return 0 };
        let affinity = cycle.spec.affinity.as_ref().and_then(|a| a.node_affinity.as_ref());
        let terms = affinity.map_or(&[][..], |a| &a.preferred_during_scheduling_ignored_during_execution);
        let matching = terms.iter().filter(|t| {
            let is_empty = t.preference.match_expressions.is_empty() && t.preference.match_fields.is_empty();
            !is_empty && t.preference.holds(&object.labels, node.name)
        });
        matching.map(|t| i64::from(t.weight)).sum()
    }

    fn normalize(&self, scores: &mut [i64]) {
        framework::normalize(scores, false);
    }

    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, node: Option<&NodeInfo>) -> bool {
        let allows = |labels: &crate::model::Labels| node.is_some_and(|n| pod.spec.allows_node(labels, n.name));
        let allows_now = node.and_then(|n| n.object.as_ref()).is_some_and(|n| allows(&n.labels));
        match event {
            ClusterEvent::NodeAdded(_) => allows_now,
            // Any taint change retries what a plugin that watches added nodes, but not taints, has rejected.
            ClusterEvent::NodeUpdated { delta, before, .. } => {
                delta.touches(NodeDelta::TAINTS | NodeDelta::UNSCHEDULABLE)
                    || (delta.touches(NodeDelta::LABELS) && allows_now && !allows(&before.labels))
            }
            ClusterEvent::PodAdded | ClusterEvent::PodRemoved => false,
        }
    }
}
