//! NodePorts: host ports are taken once per node.

use crate::arena::sym;
use crate::model::host_ports;
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{Cycle, Plugin, Rejection};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::obstacles::Remedy;
use crate::state::{Pod, Store};

pub(in crate::scheduler) struct NodePorts;

impl Plugin for NodePorts {
    fn name(&self) -> &'static str {
        "NodePorts"
    }

    fn is_local(&self) -> bool {
        true
    }

    fn filter(&self, cycle: &Cycle<'_>, _cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        if node.ports.is_empty() {
            return None;
        }
        let wanted = host_ports(cycle.spec);
        if !wanted.iter().any(|port| node.ports.iter().any(|taken| port.conflicts(taken))) {
            return None;
        }
        Some(Rejection::unschedulable(self.name(), sym!("node(s) didn't have free ports for the requested pod ports")))
    }

    fn remedies(&self, _cycle: &Cycle<'_>, _node: &NodeInfo, _rejection: &Rejection) -> Vec<Remedy> {
        vec![Remedy::FreePorts]
    }

    fn events(&self) -> Events {
        Events::NODE_ADDED | Events::POD_REMOVED
    }

    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, _cache: &Cache, _store: &Store) -> bool {
        match event {
            ClusterEvent::NodeAdded(_) => true,
            ClusterEvent::PodRemoved { pod: gone, .. } => {
                let freed = host_ports(&gone.spec);
                host_ports(&pod.spec).iter().any(|wanted| freed.iter().any(|port| wanted.conflicts(port)))
            }
            _ => false,
        }
    }
}
