//! NodeUnschedulable: cordoned nodes take only pods that tolerate it.

use crate::arena::{Symbol, sym};
use crate::model::{PodSpec, Taint, TaintEffect};
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{Cycle, Plugin, Rejection};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::obstacles::Remedy;
use crate::state::{Pod, Store};

pub(in crate::scheduler) struct NodeUnschedulable;

/// Whether pods with this spec may be put on cordoned nodes.
fn tolerates_cordons(spec: &PodSpec) -> bool {
    let taint = Taint::new(sym!("node.kubernetes.io/unschedulable"), Symbol::empty(), TaintEffect::NoSchedule);
    spec.tolerations.iter().any(|toleration| toleration.tolerates(&taint))
}

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &'static str {
        "NodeUnschedulable"
    }

    fn is_local(&self) -> bool {
        true
    }

    fn filter(&self, cycle: &Cycle<'_>, _cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        if !node.object.as_ref().is_some_and(|n| n.unschedulable) {
            return None;
        }
        if tolerates_cordons(cycle.spec) {
            return None;
        }
        Some(Rejection::unresolvable(self.name(), sym!("node(s) were unschedulable")))
    }

    fn remedies(&self, _cycle: &Cycle<'_>, _node: &NodeInfo, _rejection: &Rejection) -> Vec<Remedy> {
        vec![Remedy::Uncordon]
    }

    fn events(&self) -> Events {
        Events::NODE_ADDED | Events::NODE_TAINTS | Events::ITSELF
    }

    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, cache: &Cache, _store: &Store) -> bool {
        let is_open = || event.node(cache).is_some_and(|(_, node, _)| !node.unschedulable);
        match event {
            ClusterEvent::NodeAdded(_) => is_open(),
            ClusterEvent::NodeUpdated { before, .. } => before.unschedulable && is_open(),
            _ => event.gives_tolerations(pod) && tolerates_cordons(&pod.spec),
        }
    }
}
