//! NodeUnschedulable: cordoned nodes take only pods that tolerate it.

use crate::arena::{Symbol, sym};
use crate::model::{Taint, TaintEffect};
use crate::scheduler::cache::{Cache, NodeInfo};
use crate::scheduler::framework::{ClusterEvent, Cycle, Plugin, Rejection};
use crate::state::{NodeDelta, Pod};

pub(in crate::scheduler) struct NodeUnschedulable;

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
        let key = sym!("node.kubernetes.io/unschedulable");
        let taint = Taint::new(key, Symbol::empty(), TaintEffect::NoSchedule);
        if cycle.spec.tolerations.iter().any(|t| t.tolerates(&taint)) {
            return None;
        }
        Some(Rejection::unresolvable(self.name(), sym!("node(s) were unschedulable")))
    }

    fn hint(&self, _pod: &Pod, event: &ClusterEvent<'_>, node: Option<&NodeInfo>) -> bool {
        let is_open = node.and_then(|n| n.object.as_ref()).is_some_and(|n| !n.unschedulable);
        match event {
            ClusterEvent::NodeAdded(_) => is_open,
            ClusterEvent::NodeUpdated { delta, .. } => is_open && delta.touches(NodeDelta::UNSCHEDULABLE),
            ClusterEvent::PodAdded | ClusterEvent::PodRemoved => false,
        }
    }
}
