//! The scheduler's picture of the cluster: nodes, what is on them, and what was decided and not yet bound.

use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::selection::{Counter, Selection};
use crate::arena::{Column, Symbol};
use crate::model::config::KubernetesVersion;
use crate::model::{HostPort, Labels, Resources, host_ports};
use crate::state::{AdmittedSpec, Node, NodeId, NodeSlot, Pod, PodId, Store};

/// A node as plugins see it.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeInfo {
    /// None until the node is known.
    pub(super) id: Option<NodeId>,
    pub(super) name: Symbol,
    /// Pods counted on it, in the order in which they came.
    pub(super) pods: Vec<PodId>,
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

/// A pod that is counted on a node.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    node: NodeId,
    pub(super) spec: Arc<AdmittedSpec>,
    pub(super) namespace: Symbol,
    pub(super) labels: Labels,
    pub(super) is_terminating: bool,
}

impl Placed {
    fn has_affinity(&self) -> bool {
        let affinity = self.spec.affinity.as_ref();
        affinity.is_some_and(|a| a.pod_affinity.is_some() || a.pod_anti_affinity.is_some())
    }

    fn has_required_anti_affinity(&self) -> bool {
        let anti = self.spec.affinity.as_ref().and_then(|a| a.pod_anti_affinity.as_ref());
        anti.is_some_and(|anti| !anti.required_during_scheduling_ignored_during_execution.is_empty())
    }
}

/// Nodes in the scheduler's order, and the pods on them.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    pub(super) version: KubernetesVersion,
    nodes: Column<NodeSlot, NodeInfo>,
    pods: FxHashMap<PodId, Placed>,
    /// Counted pods with any pod affinity or anti-affinity, and those among them that require some distance.
    /// Size of each image by name, as the node that had it first says, and how many nodes have it.
    images: FxHashMap<Symbol, (i64, usize)>,
    counters: Vec<Counter>,
    with_affinity: IndexSet<PodId, FxBuildHasher>,
    with_required_anti_affinity: IndexSet<PodId, FxBuildHasher>,
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
            images: FxHashMap::default(),
            counters: Vec::new(),
            with_affinity: IndexSet::default(),
            with_required_anti_affinity: IndexSet::default(),
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
        info.id = Some(id);
        info.name = store.node_name(id);
        let before = info.object.replace(Arc::clone(object));
        let has_new_images = before.as_ref().is_none_or(|old| !Arc::ptr_eq(&old.images, &object.images));
        if has_new_images {
            if let Some(old) = &before {
                self.forget_images(old);
            }
            for (names, size) in object.images.iter() {
                for &name in names {
                    self.images.entry(name).or_insert((*size, 0)).1 += 1;
                }
            }
        }
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

    fn forget_images(&mut self, node: &Node) {
        for name in node.images.iter().flat_map(|(names, _)| names) {
            if let Some((_, count)) = self.images.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.images.remove(name);
                }
            }
        }
    }

    /// Size of an image, and how many nodes have it.
    pub(super) fn image(&self, name: Symbol) -> Option<(i64, usize)> {
        self.images.get(&name).copied()
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
            self.forget_images(&old);
            self.leave_tree(id, zone_key(&old));
            self.is_order_stale = true;
        }
    }

    pub(super) fn has(&self, pod: PodId) -> bool {
        self.pods.contains_key(&pod)
    }

    /// Counts a pod on the node that was chosen for it.
    pub(super) fn assume(&mut self, id: PodId, pod: &Pod, node: NodeId) {
        let info = self.nodes.get_mut(node);
        info.change(&pod.spec, 1);
        info.pods.push(id);
        let placed = Placed {
            node,
            spec: Arc::clone(&pod.spec),
            namespace: pod.namespace,
            labels: pod.labels.clone(),
            is_terminating: pod.deletion.is_some(),
        };
        if placed.has_affinity() {
            self.with_affinity.insert(id);
        }
        if placed.has_required_anti_affinity() {
            self.with_required_anti_affinity.insert(id);
        }
        if !placed.is_terminating {
            self.count_pod(&placed, 1);
        }
        self.pods.insert(id, placed);
    }

    fn count_pod(&mut self, placed: &Placed, by: i64) {
        for counter in &mut self.counters {
            counter.change(placed.node, placed.namespace, &placed.labels, by);
        }
    }

    /// From now on the pods of a selection are counted by node.
    pub(super) fn keep_count(&mut self, namespace: Symbol, selection: Selection) {
        // Templates come and go; the counts of those still in use are soon made again.
        const COUNTERS_MAX: usize = 4096;
        if selection.is_empty() || self.counter(namespace, &selection).is_some() {
            return;
        }
        if self.counters.len() >= COUNTERS_MAX {
            self.counters.clear();
        }
        let mut counter = Counter::new(namespace, selection);
        // The order in which pods are counted changes no count.
        for placed in self.pods.values().filter(|placed| !placed.is_terminating) {
            counter.change(placed.node, placed.namespace, &placed.labels, 1);
        }
        self.counters.push(counter);
    }

    /// Where the count of a selection is kept; none if the selection would take in everything.
    pub(super) fn counter(&self, namespace: Symbol, selection: &Selection) -> Option<usize> {
        let is_it = |counter: &Counter| counter.namespace == namespace && counter.selection == *selection;
        self.counters.iter().position(is_it).filter(|_| !selection.is_empty())
    }

    /// Pods of a selection on a node that are not terminating.
    pub(super) fn count(&self, counter: Option<usize>, node: &NodeInfo) -> i64 {
        counter.zip(node.id).map_or(0, |(counter, node)| *self.counters[counter].by_node.get(node))
    }

    /// Counts a bound pod; one that was assumed elsewhere moves.
    pub(super) fn add(&mut self, id: PodId, pod: &Pod) {
        let Some(node) = pod.node else { return };
        if pod.phase.is_terminal() || self.pods.get(&id).is_some_and(|placed| placed.node == node) {
            return;
        }
        self.forget(id);
        self.assume(id, pod, node);
    }

    /// A counted pod changed its labels or began to terminate.
    pub(super) fn update(&mut self, id: PodId, pod: &Pod) {
        let Some(before) = self.pods.get(&id).cloned() else { return };
        if !before.is_terminating {
            self.count_pod(&before, -1);
        }
        let after = Placed { labels: pod.labels.clone(), is_terminating: pod.deletion.is_some(), ..before };
        if !after.is_terminating {
            self.count_pod(&after, 1);
        }
        self.pods.insert(id, after);
    }

    /// Takes a pod away; false if it was not counted.
    pub(super) fn forget(&mut self, id: PodId) -> bool {
        let Some(placed) = self.pods.remove(&id) else { return false };
        if !placed.is_terminating {
            self.count_pod(&placed, -1);
        }
        self.with_affinity.swap_remove(&id);
        self.with_required_anti_affinity.swap_remove(&id);
        let info = self.nodes.get_mut(placed.node);
        info.change(&placed.spec, -1);
        info.pods.retain(|&other| other != id);
        true
    }

    /// The nodes of a cycle, in its order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (NodeId, &NodeInfo)> {
        self.order.iter().map(|&node| (node, self.node(node)))
    }

    /// Counted pods with their nodes, node by node.
    pub(super) fn placed_pods(&self) -> impl Iterator<Item = (&NodeInfo, &Placed)> {
        self.nodes()
            .flat_map(move |(_, info)| info.pods.iter().filter_map(move |pod| Some((info, self.pods.get(pod)?))))
    }

    fn with_nodes<'a>(
        &'a self,
        pods: &'a IndexSet<PodId, FxBuildHasher>,
    ) -> impl Iterator<Item = (&'a NodeInfo, &'a Placed)> {
        pods.iter().filter_map(|pod| self.pods.get(pod)).map(|placed| (self.node(placed.node), placed))
    }

    /// Counted pods that care for others.
    pub(super) fn pods_with_affinity(&self) -> impl Iterator<Item = (&NodeInfo, &Placed)> {
        self.with_nodes(&self.with_affinity)
    }

    /// Counted pods that require some distance from others.
    pub(super) fn pods_with_required_anti_affinity(&self) -> impl Iterator<Item = (&NodeInfo, &Placed)> {
        self.with_nodes(&self.with_required_anti_affinity)
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
