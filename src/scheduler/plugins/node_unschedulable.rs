//! NodeUnschedulable: cordoned nodes take only pods that tolerate it.

use crate::arena::{Symbol, sym};
use crate::model::config::KubernetesVersion;
use crate::model::{PodSpec, Taint, TaintEffect};
use crate::scheduler::arguments::NoArguments;
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{AnyPlugin, Incoming, LocalPlugin, Plugin, Point, Register, Spec};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::rejection::{Rejection, Remedy};

pub(in crate::scheduler) struct NodeUnschedulable;

/// Whether pods with this spec may be put on cordoned nodes.
fn tolerates_cordons(spec: &PodSpec) -> bool {
    let taint = Taint::new(sym!("node.kubernetes.io/unschedulable"), Symbol::empty(), TaintEffect::NoSchedule);
    spec.tolerations.iter().any(|toleration| toleration.tolerates(&taint))
}

impl Register for NodeUnschedulable {
    const NAME: &'static str = "NodeUnschedulable";
    const POINTS: &'static [Point] = &[Point::Filter];
    const SUMMARY: &'static str = "cordons, unless tolerated";
    type Arguments = NoArguments;

    fn make(_: NoArguments, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::local(Self)
    }
}

impl LocalPlugin for NodeUnschedulable {
    fn filter(&self, spec: Spec<'_>, node: &NodeInfo) -> Option<Rejection> {
        if !node.object.as_ref().is_some_and(|n| n.unschedulable) {
            return None;
        }
        if tolerates_cordons(&spec) {
            return None;
        }
        Some(Rejection::unresolvable(Self::NAME, sym!("node(s) were unschedulable")))
    }

    fn remedies(&self, _spec: Spec<'_>, _node: &NodeInfo, _rejection: &Rejection) -> Vec<Remedy> {
        vec![Remedy::Else("the node were uncordoned".into())]
    }
}

impl Plugin for NodeUnschedulable {
    fn events(&self) -> Events {
        Events::NODE_ADDED | Events::NODE_TAINTS | Events::ITSELF
    }

    fn hint(&self, Incoming { pod, .. }: Incoming<'_>, event: &ClusterEvent<'_>, cache: &Cache) -> bool {
        let is_open = || event.node(cache).is_some_and(|(_, node, _)| !node.unschedulable);
        match event {
            ClusterEvent::NodeAdded(_) => is_open(),
            ClusterEvent::NodeUpdated { before, .. } => before.unschedulable && is_open(),
            ClusterEvent::Itself { .. } => event.gives_tolerations(pod) && tolerates_cordons(&pod.spec),
            ClusterEvent::PodAdded(_)
            | ClusterEvent::PodRemoved { .. }
            | ClusterEvent::PodUpdated { .. }
            | ClusterEvent::NodeRemoved(_)
            | ClusterEvent::Storage(_)
            | ClusterEvent::UnschedulableTimeout(_) => false,
        }
    }
}
