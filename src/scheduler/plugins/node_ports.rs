//! NodePorts: host ports are taken once per node.

use crate::arena::sym;
use crate::model::config::KubernetesVersion;
use crate::model::host_ports;
use crate::scheduler::arguments::NoArguments;
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{AnyPlugin, Incoming, LocalPlugin, Plugin, Point, Register, Spec};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::rejection::{Rejection, Remedy};

pub(in crate::scheduler) struct NodePorts;

impl Register for NodePorts {
    const NAME: &'static str = "NodePorts";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter];
    const SUMMARY: &'static str = "host ports";
    type Arguments = NoArguments;

    fn make(_: NoArguments, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::local(Self)
    }
}

impl LocalPlugin for NodePorts {
    fn filter(&self, spec: Spec<'_>, node: &NodeInfo) -> Option<Rejection> {
        if node.ports.is_empty() {
            return None;
        }
        let wanted = host_ports(&spec);
        if !wanted.iter().any(|port| node.ports.iter().any(|taken| port.conflicts(taken))) {
            return None;
        }
        Some(Rejection::unschedulable(Self::NAME, sym!("node(s) didn't have free ports for the requested pod ports")))
    }

    fn remedies(&self, _spec: Spec<'_>, _node: &NodeInfo, _rejection: &Rejection) -> Vec<Remedy> {
        vec![Remedy::Else("its host ports were not taken there".into())]
    }
}

impl Plugin for NodePorts {
    fn events(&self) -> Events {
        Events::NODE_ADDED | Events::POD_REMOVED
    }

    fn hint(&self, Incoming { pod, .. }: Incoming<'_>, event: &ClusterEvent<'_>, _cache: &Cache) -> bool {
        match event {
            ClusterEvent::NodeAdded(_) => true,
            ClusterEvent::PodRemoved { pod: gone, .. } => {
                let freed = host_ports(&gone.spec);
                host_ports(&pod.spec).iter().any(|wanted| freed.iter().any(|port| wanted.conflicts(port)))
            }
            ClusterEvent::PodAdded(_)
            | ClusterEvent::PodUpdated { .. }
            | ClusterEvent::Itself { .. }
            | ClusterEvent::NodeRemoved(_)
            | ClusterEvent::NodeUpdated { .. }
            | ClusterEvent::Storage(_)
            | ClusterEvent::UnschedulableTimeout(_) => false,
        }
    }
}
