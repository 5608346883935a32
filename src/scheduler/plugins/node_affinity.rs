//! NodeAffinity: nodeSelector and node affinity.

use serde::Deserialize;

use crate::arena::Symbol;
use crate::model::{Labels, NodeAffinity as Affinity, PreferredSchedulingTerm};
use crate::scheduler::cache::NodeInfo;
use crate::scheduler::framework::{self, ClusterEvent, Cycle, Plugin, Rejection};
use crate::state::{NodeDelta, NodeId, Pod};

pub(in crate::scheduler) struct NodeAffinity {
    added: Option<Affinity>,
}

/// `NodeAffinityArgs`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::scheduler) struct NodeAffinityArgs {
    added_affinity: Option<Affinity>,
}

impl NodeAffinity {
    pub(in crate::scheduler) fn new(arguments: NodeAffinityArgs) -> Self {
        Self { added: arguments.added_affinity }
    }

    /// Whether the configuration lets the node take pods of this profile.
    fn is_let(&self, labels: &Labels, name: Symbol) -> bool {
        let required = self.added.as_ref().and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
        required.is_none_or(|selector| selector.matches(labels, name))
    }

    /// What is preferred, by the pod and by the configuration.
    fn preferred<'a>(&'a self, cycle: &'a Cycle<'_>) -> impl Iterator<Item = &'a PreferredSchedulingTerm> {
        let own = cycle.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        own.into_iter().chain(&self.added).flat_map(|a| &a.preferred_during_scheduling_ignored_during_execution)
    }
}

impl Plugin for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }

    fn filter(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
        let object = node.object.as_ref()?;
        if !self.is_let(&object.labels, node.name) {
            let reasons = vec!["node(s) didn't match scheduler-enforced node affinity".to_owned()];
            return Some(Rejection { plugin: self.name(), reasons, is_unresolvable: true });
        }
        if cycle.spec.allows_node(&object.labels, node.name) {
            return None;
        }
        let reasons = vec!["node(s) didn't match Pod's node affinity/selector".to_owned()];
        Some(Rejection { plugin: self.name(), reasons, is_unresolvable: true })
    }

    fn scores(&self, cycle: &Cycle<'_>, _feasible: &[NodeId]) -> bool {
        self.preferred(cycle).next().is_some()
    }

    fn score(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
        let Some(object) = &node.object else { return 0 };
        let matching = self.preferred(cycle).filter(|t| {
            let is_empty = t.preference.match_expressions.is_empty() && t.preference.match_fields.is_empty();
            !is_empty && t.preference.holds(&object.labels, node.name)
        });
        matching.map(|t| i64::from(t.weight)).sum()
    }

    fn normalize(&self, _cycle: &Cycle<'_>, _feasible: &[NodeId], scores: &mut [i64]) {
        framework::normalize(scores, false);
    }

    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, node: Option<&NodeInfo>) -> bool {
        let allows =
            |labels: &Labels| node.is_some_and(|n| self.is_let(labels, n.name) && pod.spec.allows_node(labels, n.name));
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
