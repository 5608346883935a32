//! The scheduler's picture of the cluster: nodes, what is on them, and what was decided and not yet bound.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::{Column, Symbol};
use crate::model::config::KubernetesVersion;
use crate::model::{HostPort, Resources, host_ports};
use crate::state::{AdmittedSpec, Node, NodeId, NodeSlot, Pod, PodId, Store};

/// A node as plugins see it.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeInfo {
    pub(super) name: Symbol,
    pub(super) object: Option<Arc<Node>>,
    /// Plain requests of the pods on it.
    pub(super) requested: Resources,
    /// The same with defaults for containers that name none: CPU and memory.
    pub(super) non_zero_cpu: i64,
    pub(super) non_zero_memory: i64,
    pub(super) pod_count: i64,
    pub(super) ports: Vec<HostPort>,
}

impl NodeInfo {
    fn change(&mut self, spec: &AdmittedSpec, sign: i64) {
        if sign > 0 {
            self.requested.add(&spec.requests);
        } else {
            self.requested.sub(&spec.requests);
        }
        self.non_zero_cpu += sign * spec.non_zero_requests.cpu_milli;
        self.non_zero_memory += sign * spec.non_zero_requests.memory;
        self.pod_count += sign;
        let ports = host_ports(spec);
        if sign > 0 {
            self.ports.extend(ports);
        } else {
            for port in ports {
                if let Some(at) = self.ports.iter().position(|p| *p == port) {
                    self.ports.swap_remove(at);
                }
            }
        }
    }
}

/// Nodes in the scheduler's order, and the pods on them.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    pub(super) version: KubernetesVersion,
    nodes: Column<NodeSlot, NodeInfo>,
    pods: FxHashMap<PodId, (NodeId, Arc<AdmittedSpec>)>,
    /// Zones in the order of their appearance, each with its nodes in the order of arrival.
    tree: Vec<(Symbol, Vec<NodeId>)>,
    /// The list that a cycle walks; made anew when the set of nodes has changed.
    order: Vec<NodeId>,
    is_order_stale: bool,
    /// Where the next search begins.
    pub(super) next_start: usize,
}

impl Cache {
    pub(super) fn new(version: KubernetesVersion) -> Self {
        Self {
            version,
            nodes: Column::new(),
            pods: FxHashMap::default(),
            tree: Vec::new(),
            order: Vec::new(),
            is_order_stale: false,
            next_start: 0,
        }
    }

    /// Takes in everything the store has; nodes arrive in the order of their names, as an API list gives them.
    pub(super) fn list(&mut self, store: &Store) {
        let mut nodes: Vec<NodeId> = store.nodes().map(|(id, _)| id).collect();
        nodes.sort_by_key(|&id| store.node_name(id));
        for id in nodes {
            self.set_node(id, store);
        }
        for (id, pod) in store.pods() {
            if pod.node.is_some() && !pod.phase.is_terminal() {
                self.add(id, pod);
            }
        }
    }

    pub(super) fn node(&self, id: NodeId) -> &NodeInfo {
        self.nodes.get(id)
    }

    /// The node list of a cycle.
    ///
    /// # Source
    /// kube-scheduler, node tree: the first node of each zone, then the second of each, and so on.
    pub(super) fn refresh_order(&mut self) {
        if !std::mem::take(&mut self.is_order_stale) {
            return;
        }
        self.order.clear();
        let longest = self.tree.iter().map(|(_, nodes)| nodes.len()).max().unwrap_or(0);
        for rank in 0..longest {
            self.order.extend(self.tree.iter().filter_map(|(_, nodes)| nodes.get(rank)));
        }
    }

    pub(super) fn order(&self) -> &[NodeId] {
        &self.order
    }

    pub(super) fn set_node(&mut self, id: NodeId, store: &Store) {
        let Some(object) = store.node(id) else { return };
        let zone = zone_key(object);
        let info = self.nodes.get_mut(id);
        let old_zone = info.object.as_ref().map(|old| zone_key(old));
        info.name = store.node_name(id);
        info.object = Some(Arc::clone(object));
        if old_zone == Some(zone) {
            return;
        }
        match old_zone {
            Some(old) => self.leave_tree(id, old),
            // A changed zone label moves the node in the tree, but the list is made anew only when nodes come or go.
            None => self.is_order_stale = true,
        }
        match self.tree.iter_mut().find(|(name, _)| *name == zone) {
            Some((_, nodes)) => nodes.push(id),
            None => self.tree.push((zone, vec![id])),
        }
    }

    fn leave_tree(&mut self, id: NodeId, zone: Symbol) {
        if let Some(at) = self.tree.iter().position(|(name, _)| *name == zone) {
            self.tree[at].1.retain(|other| *other != id);
            if self.tree[at].1.is_empty() {
                self.tree.remove(at);
            }
        }
    }

    pub(super) fn remove_node(&mut self, id: NodeId) {
        if let Some(old) = self.nodes.get_mut(id).object.take() {
            self.leave_tree(id, zone_key(&old));
            self.is_order_stale = true;
        }
    }

    pub(super) fn has(&self, pod: PodId) -> bool {
        self.pods.contains_key(&pod)
    }

    /// Counts a pod on the node that was chosen for it.
    pub(super) fn assume(&mut self, id: PodId, pod: &Pod, node: NodeId) {
        self.nodes.get_mut(node).change(&pod.spec, 1);
        self.pods.insert(id, (node, Arc::clone(&pod.spec)));
    }

    /// Counts a bound pod; one that was assumed elsewhere moves.
    pub(super) fn add(&mut self, id: PodId, pod: &Pod) {
        let Some(node) = pod.node else { return };
        if pod.phase.is_terminal() || self.pods.get(&id).is_some_and(|(assumed, _)| *assumed == node) {
            return;
        }
        self.forget(id);
        self.assume(id, pod, node);
    }

    /// Takes a pod away; false if it was not counted.
    pub(super) fn forget(&mut self, id: PodId) -> bool {
        let Some((node, spec)) = self.pods.remove(&id) else { return false };
        self.nodes.get_mut(node).change(&spec, -1);
        true
    }
}

/// Region and zone of a node; the beta labels win.
fn zone_key(node: &Node) -> Symbol {
    let label = |beta: &str, stable: &str| {
        node.labels.get(Symbol::new(beta)).or_else(|| node.labels.get(Symbol::new(stable))).unwrap_or_default()
    };
    let region = label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
    let zone = label("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
    if region.as_str().is_empty() && zone.as_str().is_empty() {
        return Symbol::empty();
    }
    Symbol::new(&format!("{region}:\0:{zone}"))
}
