//! TaintToleration: taints keep pods out (NoSchedule, NoExecute) or discourage them (PreferNoSchedule).

use crate::arena::{Symbol, sym};
use crate::model::{Taint, TaintEffect};
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{self, Cycle, Plugin, Rejection};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::obstacles::Remedy;
use crate::state::{Node, NodeDelta, NodeId, Pod, Store};

pub(in crate::scheduler) struct TaintToleration;

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn is_local(&self) -> bool {
        true
    }

    fn filter(&self, cycle: &Cycle<'_>, _cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        let taint = node.object.as_ref()?.barring_taints(&cycle.spec.tolerations).next()?;
        let reason = if cycle.version.at_least(34) {
            sym!("node(s) had untolerated taint(s)")
        } else {
            Symbol::new(&format!("node(s) had untolerated taint {{{}: {}}}", taint.key, taint.value))
        };
        Some(Rejection::unresolvable(self.name(), reason))
    }

    fn remedies(&self, cycle: &Cycle<'_>, node: &NodeInfo, _rejection: &Rejection) -> Vec<Remedy> {
        let taints = node.object.iter().flat_map(|object| object.barring_taints(&cycle.spec.tolerations)).collect();
        vec![Remedy::Tolerate(taints)]
    }

    fn score(&self, cycle: &Cycle<'_>, _cache: &Cache, node: &NodeInfo) -> i64 {
        let Some(object) = &node.object else { return 0 };
        let tolerates = |taint: &Taint| {
            let tolerations = cycle.spec.tolerations.iter();
            tolerations
                .filter(|t| t.effect.is_none_or(|e| e == TaintEffect::PreferNoSchedule))
                .any(|t| t.tolerates(taint))
        };
        let discouraging = object.taints.iter().filter(|t| t.effect == TaintEffect::PreferNoSchedule);
        discouraging.filter(|taint| !tolerates(&taint.plain())).count() as i64
    }

    fn normalize(&self, _cycle: &Cycle<'_>, _cache: &Cache, _feasible: &[NodeId], scores: &mut [i64]) {
        framework::normalize(scores, true);
    }

    fn events(&self) -> Events {
        Events::NODE_ADDED | Events::NODE_TAINTS | Events::ITSELF
    }

    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, cache: &Cache, _store: &Store) -> bool {
        if !event.is_node(NodeDelta::TAINTS) {
            return event.gives_tolerations(pod);
        }
        event.node(cache).is_some_and(|(_, node, before)| {
            let is_barred = |node: &Node| node.barring_taints(&pod.spec.tolerations).next().is_some();
            !is_barred(node) && before.is_none_or(is_barred)
        })
    }
}
