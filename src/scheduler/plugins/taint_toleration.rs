//! TaintToleration: taints keep pods out (NoSchedule, NoExecute) or discourage them (PreferNoSchedule).

use crate::arena::{Symbol, sym};
use crate::model::{PodSpec, Taint, TaintEffect};
use crate::scheduler::cache::{Cache, NodeInfo};
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{self, Cycle, Plugin, Rejection};
use crate::scheduler::obstacles::Remedy;
use crate::state::{Node, NodeDelta, NodeId, Pod, Store, TaintOnNode};

pub(in crate::scheduler) struct TaintToleration;

fn plain(taint: &TaintOnNode) -> Taint {
    Taint::new(taint.key, taint.value, taint.effect)
}

/// The taints that keep pods with this spec out.
fn untolerated(spec: &PodSpec, node: &Node) -> impl Iterator<Item = Taint> {
    let bars = |t: &&TaintOnNode| matches!(t.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
    let taints = node.taints.iter().filter(bars).map(plain);
    taints.filter(|taint| !spec.tolerations.iter().any(|t| t.tolerates(taint)))
}

/// Whether pods with this spec are let in.
pub(in crate::scheduler) fn is_tolerated(spec: &PodSpec, node: &Node) -> bool {
    untolerated(spec, node).next().is_none()
}

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn is_local(&self) -> bool {
        true
    }

    fn filter(&self, cycle: &Cycle<'_>, _cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        let taint = untolerated(cycle.spec, node.object.as_ref()?).next()?;
        let reason = if cycle.version.at_least(34) {
            sym!("node(s) had untolerated taint(s)")
        } else {
            Symbol::new(&format!("node(s) had untolerated taint {{{}: {}}}", taint.key, taint.value))
        };
        Some(Rejection::unresolvable(self.name(), reason))
    }

    fn remedies(&self, cycle: &Cycle<'_>, node: &NodeInfo, _rejection: &Rejection) -> Vec<Remedy> {
        let taints = node.object.iter().flat_map(|object| untolerated(cycle.spec, object)).collect();
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
        let discouraging = object.taints.iter().filter(|t| t.effect == TaintEffect::PreferNoSchedule).map(plain);
        discouraging.filter(|taint| !tolerates(taint)).count() as i64
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
            is_tolerated(&pod.spec, node) && before.is_none_or(|before| !is_tolerated(&pod.spec, before))
        })
    }
}
