//! The scheduler's picture of the cluster: nodes, what is on them, and what was decided and not yet bound.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::counts::{Counted, Counts, Inclusion, Placed, ViewId};
use super::images::ImageStates;
use super::node_info::NodeInfo;
use super::node_tree::NodeTree;
use super::volumes::{AssumedVolumes, Bindings};
use crate::arena::{Column, Symbol};
use crate::engine::Stream;
use crate::model::config::KubernetesVersion;
use crate::model::{Labels, Resources};
use crate::state::{AdmittedSpec, Node, NodeId, NodeSlot, Pod, PodId, Store};
use crate::units::SimTime;

/// Nodes in the scheduler's order, and the pods on them.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    pub(super) version: KubernetesVersion,
    nodes: Column<NodeSlot, NodeInfo>,
    /// Another number for another state of a node; 0 for no state. Beside the nodes, as every search reads those of many.
    generations: Column<NodeSlot, u32>,
    pods: FxHashMap<PodId, Placed>,
    pub(super) images: ImageStates,
    pub(super) counts: Counts,
    /// What was decided about claims.
    pub(super) volumes: AssumedVolumes,
    tree: NodeTree,
    /// Where the next search begins.
    pub(super) next_start: usize,
}

impl Cache {
    pub(super) fn new(version: KubernetesVersion) -> Self {
        Self {
            version,
            nodes: Column::new(),
            generations: Column::new(),
            pods: FxHashMap::default(),
            images: ImageStates::default(),
            counts: Counts::default(),
            volumes: AssumedVolumes::default(),
            tree: NodeTree::default(),
            next_start: 0,
        }
    }

    /// Takes in everything the store has; nodes arrive in the order of their names, as an API list gives them, or by chance.
    pub(super) fn list(&mut self, store: &Store, chance: Option<&mut Stream>) {
        for (_, namespace) in store.namespaces.iter() {
            self.counts.set_namespace(namespace.name, &namespace.labels, &self.pods);
        }
        let mut nodes: Vec<NodeId> = store.nodes().map(|(id, _)| id).collect();
        nodes.sort_by_key(|&id| store.node_name(id));
        if let Some(chance) = chance {
            chance.shuffle(&mut nodes);
        }
        for id in nodes {
            self.set_node(id, store);
        }
        // A list comes in the order of the keys.
        let mut pods = bound_pods(store);
        pods.sort_by_key(|(_, pod)| (pod.namespace, &pod.name));
        pods.into_iter().for_each(|(id, pod)| self.add(id, pod));
    }

    /// Brings the pods of each node into the order that they have for a scheduler that saw them come: as they were bound, and
    /// then as each was last written. A dump does not tell in which order those of one second were bound: chance does, if there is any.
    pub(super) fn replay(&mut self, store: &Store, chance: Option<Stream>) {
        let mut pods = bound_pods(store);
        pods.sort_by_key(|(id, pod)| (pod.scheduled_at.map(SimTime::floor_to_second), pod.resource_version, *id));
        if let Some(mut chance) = chance {
            chance.shuffle(&mut pods);
            pods.sort_by_key(|(_, pod)| pod.scheduled_at);
        }
        pods.iter().for_each(|(id, _)| self.unlist(*id));
        pods.iter().for_each(|(id, _)| self.relist(*id));
        pods.sort_by_key(|(id, pod)| (pod.resource_version, *id));
        // The numbers of one cluster are all different; where they are not, they tell nothing.
        if pods.windows(2).all(|pair| pair[0].1.resource_version < pair[1].1.resource_version) {
            pods.iter().filter_map(|(id, pod)| Some((*id, pod.node?))).for_each(|(id, node)| self.touch(id, node));
        }
    }

    fn unlist(&mut self, id: PodId) {
        if let Some(placed) = self.pods.get(&id) {
            self.nodes.get_mut(placed.node).unlist(id);
        }
    }

    fn relist(&mut self, id: PodId) {
        if let Some(placed) = self.pods.get(&id) {
            self.nodes.get_mut(placed.node).pods.push(id);
        }
    }

    pub(super) fn node(&self, id: NodeId) -> &NodeInfo {
        self.nodes.get(id)
    }

    /// Another number for another state of a node.
    pub(super) fn generation(&self, id: NodeId) -> u32 {
        *self.generations.get(id)
    }

    /// Adds what a pod with this spec takes on a node (1), or takes it away (-1).
    fn change(&mut self, id: NodeId, spec: &AdmittedSpec, sign: i64) -> &mut NodeInfo {
        *self.generations.get_mut(id) += 1;
        let info = self.nodes.get_mut(id);
        info.change(spec, sign);
        info
    }

    /// Decides what the claims of a pod that goes to a node get; says what is to be done.
    pub(super) fn reserve_volumes(&mut self, id: PodId, pod: &Pod, node: NodeId, store: &Store) -> Bindings {
        self.volumes.reserve(id, pod, self.nodes.get(node), store)
    }

    /// Brings the node list of a cycle up to date.
    pub(super) fn refresh_order(&mut self) {
        self.tree.refresh();
    }

    /// The node list of a cycle.
    pub(super) fn order(&self) -> &[NodeId] {
        self.tree.list()
    }

    pub(super) fn set_node(&mut self, id: NodeId, store: &Store) {
        if let Some(object) = store.node(id) {
            self.put_node(id, store.node_name(id), object);
        }
    }

    /// A node is new or looks like this now.
    pub(super) fn put_node(&mut self, id: NodeId, name: Symbol, object: &Arc<Node>) {
        let info = self.nodes.get_mut(id);
        info.id = Some(id);
        info.name = name;
        let before = info.object.replace(Arc::clone(object));
        self.node_changed(id, name, before.as_deref(), Some(object));
    }

    pub(super) fn remove_node(&mut self, id: NodeId) {
        if let Some(before) = self.nodes.get_mut(id).object.take() {
            self.node_changed(id, Symbol::empty(), Some(&before), None);
        }
    }

    fn node_changed(&mut self, id: NodeId, name: Symbol, before: Option<&Node>, after: Option<&Node>) {
        *self.generations.get_mut(id) += 1;
        self.counts.set_node(id, name, before, after);
        self.images.set_node(before, after);
        self.tree.set_node(id, before, after);
    }

    /// Takes what pods like these ask for off a node that might be; nobody counts them.
    pub(super) fn occupy(&mut self, id: NodeId, pods: &[Arc<AdmittedSpec>]) {
        for spec in pods {
            self.change(id, spec, 1);
        }
    }

    pub(super) fn has(&self, pod: PodId) -> bool {
        self.pods.contains_key(&pod)
    }

    /// Counts a pod on the node that was chosen for it.
    pub(super) fn assume(&mut self, id: PodId, pod: &Pod, node: NodeId) {
        self.change(node, &pod.spec, 1).pods.push(id);
        let group = self.counts.join(id, pod, &self.pods);
        let placed = Placed { node, spec: Arc::clone(&pod.spec), group, is_terminating: pod.deletion.is_some() };
        self.counts.change(&placed, 1, false);
        self.pods.insert(id, placed);
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

    /// A counted pod changed its labels or spec, or began to terminate.
    pub(super) fn update(&mut self, id: PodId, pod: &Pod) {
        let Some(before) = self.pods.remove(&id) else { return };
        if !Arc::ptr_eq(&before.spec, &pod.spec) {
            self.change(before.node, &before.spec, -1);
            self.change(before.node, &pod.spec, 1);
        }
        self.counts.change(&before, -1, false);
        self.counts.leave(id, &before);
        let group = self.counts.join(id, pod, &self.pods);
        let spec = Arc::clone(&pod.spec);
        let after = Placed { group, spec, is_terminating: pod.deletion.is_some(), ..before };
        self.counts.change(&after, 1, false);
        self.pods.insert(id, after);
    }

    /// Takes a pod away; false if it was not counted.
    pub(super) fn forget(&mut self, id: PodId) -> bool {
        let Some(placed) = self.pods.remove(&id) else { return false };
        self.counts.change(&placed, -1, false);
        self.counts.leave(id, &placed);
        self.change(placed.node, &placed.spec, -1).unlist(id);
        true
    }

    /// A pod that is bound to the node was written, whatever of it.
    ///
    /// # Source
    /// kube-scheduler, `updatePod`: the pod is removed from its node and added again.
    pub(super) fn touch(&mut self, id: PodId, node: NodeId) {
        self.nodes.get_mut(node).move_to_end(id);
    }

    /// The affinity terms of this pod are held against others from now on, wherever it is.
    pub(super) fn count_terms_of(&mut self, pod: &Pod) {
        self.counts.count_terms_of(&pod.spec, pod.namespace, &self.pods);
    }

    /// The labels of a namespace are these.
    pub(super) fn set_namespace(&mut self, name: Symbol, labels: &Labels) {
        self.counts.set_namespace(name, labels, &self.pods);
    }

    /// Keeps the memory of counts within bounds.
    pub(super) fn limit_counts(&mut self) {
        self.counts.limit(self.tree.list().len(), &self.pods);
    }

    /// Counts these pods by the domains of a key from now on.
    pub(super) fn view(&mut self, counted: Counted, key: Symbol, inclusion: &Inclusion) -> ViewId {
        let counter = self.counts.counter(counted, &self.pods);
        self.view_of(counter, key, inclusion)
    }

    /// The same for a counter that there is.
    pub(super) fn view_of(&mut self, counter: u32, key: Symbol, inclusion: &Inclusion) -> ViewId {
        self.counts.view(counter, key, inclusion, &self.nodes)
    }

    /// Takes a pod off a copy of its node, to see what would be without it; off the counts too if anybody looks at them.
    ///
    /// # Source
    /// kube-scheduler, PodTopologySpread: a terminating pod is taken off its count although it was not part of it.
    pub(super) fn remove_from(&mut self, id: PodId, from: &mut NodeInfo, is_counted: bool) {
        let Some(placed) = self.pods.get(&id) else { return };
        from.change(&placed.spec, -1);
        from.unlist(id);
        if is_counted {
            self.counts.change(placed, -1, true);
        }
    }

    /// Puts a pod back that was taken off.
    pub(super) fn add_to(&mut self, id: PodId, to: &mut NodeInfo, is_counted: bool) {
        let Some(placed) = self.pods.get(&id) else { return };
        to.change(&placed.spec, 1);
        to.pods.push(id);
        if is_counted {
            self.counts.change(placed, 1, true);
        }
    }

    /// What `ask` says of a node if these pods were on it too; they are counted if anybody looks at counts.
    pub(super) fn with_more<T>(
        &mut self,
        node: &NodeInfo,
        pods: &[(PodId, &Pod)],
        is_counted: bool,
        ask: impl FnOnce(&Self, &NodeInfo) -> T,
    ) -> T {
        let mut fuller = node.clone();
        let mut guests: SmallVec<[(PodId, Placed); 2]> = SmallVec::new();
        for &(id, pod) in pods {
            fuller.change(&pod.spec, 1);
            fuller.pods.push(id);
            if let Some(node) = node.id.filter(|_| is_counted) {
                let group = self.counts.join(id, pod, &self.pods);
                let placed = Placed { node, spec: Arc::clone(&pod.spec), group, is_terminating: false };
                self.counts.change(&placed, 1, true);
                guests.push((id, placed));
            }
        }
        let answer = ask(self, &fuller);
        for (id, placed) in guests {
            self.counts.change(&placed, -1, true);
            self.counts.leave(id, &placed);
        }
        answer
    }
}

/// For those who count again.
impl Cache {
    pub(super) fn pod_ids(&self) -> impl Iterator<Item = PodId> {
        self.pods.keys().copied()
    }

    /// Where a pod is counted.
    pub(super) fn node_of(&self, pod: PodId) -> Option<NodeId> {
        self.pods.get(&pod).map(|placed| placed.node)
    }

    /// Whether it has the node as the store has it.
    pub(super) fn knows_node(&self, node: NodeId, store: &Store) -> bool {
        match (&self.node(node).object, store.node(node)) {
            (Some(known), Some(now)) => {
                (&known.labels, &known.taints, known.unschedulable, known.allocatable_pods)
                    == (&now.labels, &now.taints, now.unschedulable, now.allocatable_pods)
                    && known.allocatable == now.allocatable
            }
            (known, now) => known.is_none() == now.is_none(),
        }
    }

    /// Adds up what the pods of each node ask for, and compares.
    pub(super) fn audit_sums(&self) -> Result<(), String> {
        let mut counted = 0;
        for info in self.nodes.values() {
            let mut again = NodeInfo::default();
            for id in &info.pods {
                let Some(placed) = self.pods.get(id).filter(|placed| Some(placed.node) == info.id || info.id.is_none())
                else {
                    return Err(format!("the scheduler's list of node {} has {id:?}, counted elsewhere", info.name));
                };
                again.change(&placed.spec, 1);
            }
            counted += info.pods.len();
            let numbers = |info: &NodeInfo| (info.pod_count, info.non_zero_cpu, info.non_zero_memory, info.ports.len());
            if numbers(info) != numbers(&again) || !has_same_amounts(&info.requested, &again.requested) {
                return Err(format!("the scheduler has counted the pods of node {} wrongly", info.name));
            }
        }
        if counted == self.pods.len() {
            return Ok(());
        }
        Err(format!("the scheduler's nodes list {counted} of {} pods", self.pods.len()))
    }
}

fn bound_pods(store: &Store) -> Vec<(PodId, &Pod)> {
    store.pods().filter(|(_, pod)| pod.node.is_some() && !pod.phase.is_terminal()).collect()
}

/// Whether two amounts are the same, however they were come by.
fn has_same_amounts(a: &Resources, b: &Resources) -> bool {
    let names = || a.scalars.iter().chain(&b.scalars).map(|(name, _)| *name);
    (a.cpu_milli, a.memory, a.ephemeral_storage) == (b.cpu_milli, b.memory, b.ephemeral_storage)
        && names().all(|name| a.scalar(name) == b.scalar(name))
}
