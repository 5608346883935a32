//! How many pods of a kind there are in each topology domain, kept up to date as pods come and go.
//!
//! A [`Counter`] counts the pods of a selection by node; its [`View`]s sum that over the domains of a topology key. Pods
//! that no counter can tell apart form a [`Group`], so that a pod's coming touches the counters of its group alone and a
//! new counter is held against groups, not against pods.

mod alike;
mod counter;
mod view;

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::node_info::NodeInfo;
use super::term::{Term, TermKind, affinity_terms};
use crate::arena::{Column, Symbol};
use crate::model::Labels;
use crate::state::{AdmittedSpec, Node, NodeId, NodeSlot, Pod, PodId};
use counter::{Counter, Group, GroupId, GroupKey, group_key};
use view::{Topology, View};

pub(super) use alike::{Alike, Reach};
pub(super) use counter::{Counted, Placed};
pub(super) use view::{Inclusion, ViewRef};

/// Names a view of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ViewId {
    counter: u32,
    view: u32,
}

/// All counts that some pod has asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    topologies: Vec<Topology>,
    counters: IndexMap<Counted, Counter, FxBuildHasher>,
    view_count: usize,
    /// Counters of the terms of pods.
    term_counters: Vec<u32>,
    groups: Vec<Group>,
    free_groups: Vec<GroupId>,
    group_ids: FxHashMap<GroupKey, GroupId>,
    /// Labels of namespaces, for terms that select them.
    namespaces: FxHashMap<Symbol, Labels>,
    /// Rises when a template must be prepared anew.
    epoch: u64,
}

/// What counters and views may take together: a few numbers for each node and one of them.
const CELLS_MAX: usize = 1 << 26;
const COUNTERS_MIN: usize = 1024;

impl Counts {
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What templates were made of no longer holds.
    pub(super) fn invalidate(&mut self) {
        self.epoch += 1;
    }

    /// Forgets counters if they have become too many: those still in use are soon made again.
    pub(super) fn limit(&mut self, nodes: usize, pods: &FxHashMap<PodId, Placed>) {
        if self.counters.len() + self.view_count > (CELLS_MAX / nodes.max(1)).max(COUNTERS_MIN) {
            self.forget_counters();
            self.count_all_terms(pods);
        }
    }

    fn forget_counters(&mut self) {
        self.counters.clear();
        self.view_count = 0;
        self.term_counters.clear();
        self.groups.iter_mut().for_each(|group| group.counters.clear());
        self.epoch += 1;
    }

    /// The labels of a namespace are these.
    pub(super) fn set_namespace(&mut self, name: Symbol, labels: &Labels, pods: &FxHashMap<PodId, Placed>) {
        if self.namespaces.get(&name) == Some(labels) {
            return;
        }
        self.namespaces.insert(name, labels.clone());
        if self.counters.keys().any(Counted::selects_namespaces) {
            self.forget_counters();
            self.count_all_terms(pods);
        }
    }

    /// Makes the counters of all terms of pods.
    fn count_all_terms(&mut self, pods: &FxHashMap<PodId, Placed>) {
        let all: Vec<(Term, TermKind)> = self.groups.iter().flat_map(|group| group.terms.iter().cloned()).collect();
        for (term, kind) in all {
            self.counter(Counted::WithTerm { term, kind }, pods);
        }
    }

    /// Makes the counters of the terms of pods with this spec in this namespace.
    pub(super) fn count_terms_of(
        &mut self,
        spec: &AdmittedSpec,
        namespace: Symbol,
        pods: &FxHashMap<PodId, Placed>,
    ) -> Vec<(Term, TermKind)> {
        let terms = affinity_terms(spec, namespace);
        for (term, kind) in &terms {
            self.counter(Counted::WithTerm { term: term.clone(), kind: *kind }, pods);
        }
        terms
    }

    fn topology(&mut self, key: Symbol, nodes: &Column<NodeSlot, NodeInfo>) -> usize {
        if let Some(at) = self.topologies.iter().position(|topology| topology.key == key) {
            return at;
        }
        let mut topology = Topology { key, of_node: Column::new(), values: FxHashMap::default() };
        for (id, object) in nodes.values().filter_map(|info| Some((info.id?, info.object.as_ref()?))) {
            if let Some(value) = object.labels.get(key) {
                let domain = topology.domain(value);
                *topology.of_node.get_mut(id) = domain;
            }
        }
        self.topologies.push(topology);
        self.topologies.len() - 1
    }

    /// The counter of these pods; made if there is none.
    pub(super) fn counter(&mut self, counted: Counted, pods: &FxHashMap<PodId, Placed>) -> u32 {
        if let Some(at) = self.counters.get_index_of(&counted) {
            return at as u32;
        }
        let at = self.counters.len() as u32;
        let mut counter = Counter { by_node: Column::new(), views: SmallVec::new() };
        for group in &mut self.groups {
            let times = counted.times(group, &self.namespaces);
            for _ in 0..times {
                group.counters.push(at);
                for placed in group.pods.iter().filter_map(|pod| pods.get(pod)) {
                    if counted.counts_terminating() || !placed.is_terminating {
                        *counter.by_node.get_mut(placed.node) += 1;
                    }
                }
            }
        }
        if matches!(counted, Counted::WithTerm { .. }) {
            self.term_counters.push(at);
            self.epoch += 1;
        }
        self.counters.insert(counted, counter);
        at
    }

    /// The view of a counter by a topology key over some nodes; made if there is none.
    pub(super) fn view(
        &mut self,
        counter: u32,
        key: Symbol,
        inclusion: &Inclusion,
        nodes: &Column<NodeSlot, NodeInfo>,
    ) -> ViewId {
        let topology = self.topology(key, nodes);
        let views = &mut self.counters[counter as usize].views;
        if let Some(at) = views.iter().position(|view| view.topology == topology && view.inclusion == *inclusion) {
            return ViewId { counter, view: at as u32 };
        }
        let missing = if inclusion.is_missing_a_domain { self.topologies[topology].domain(Symbol::empty()) } else { 0 };
        let domains = self.topologies[topology].values.len() + 1;
        let mut view = View::new(topology, inclusion.clone(), missing, domains);
        let counter_of = &mut self.counters[counter as usize];
        for (id, info) in nodes.values().filter_map(|info| Some((info.id?, info))) {
            if info.object.as_ref().is_some_and(|object| inclusion.takes(info.name, object)) {
                view.include(&self.topologies, id, i64::from(*counter_of.by_node.get(id)));
            }
        }
        view.find_least();
        self.view_count += 1;
        counter_of.views.push(view);
        ViewId { counter, view: counter_of.views.len() as u32 - 1 }
    }

    /// What a view has counted.
    pub(super) fn read(&self, id: ViewId) -> ViewRef<'_> {
        let counter = &self.counters[id.counter as usize];
        let view = &counter.views[id.view as usize];
        ViewRef { by_node: &counter.by_node, view, topology: &self.topologies[view.topology] }
    }

    /// Works out the least count again after nodes have come and gone.
    pub(super) fn refresh_least(&mut self, id: ViewId) {
        let view = &mut self.counters[id.counter as usize].views[id.view as usize];
        if view.is_stale {
            view.find_least();
        }
    }

    /// The terms of other pods that match a pod, with their counters.
    pub(super) fn terms_matching(&self, pod: &Pod) -> Vec<(Symbol, TermKind, u32)> {
        let matching = |&at: &u32| match self.counters.get_index(at as usize)? {
            (Counted::WithTerm { term, kind }, _) if term.matches(pod.namespace, &pod.labels, &self.namespaces) => {
                Some((term.topology_key, *kind, at))
            }
            _ => None,
        };
        self.term_counters.iter().filter_map(matching).collect()
    }

    /// Whether a term matches a pod.
    pub(super) fn matches(&self, term: &Term, pod: &Pod) -> bool {
        term.matches(pod.namespace, &pod.labels, &self.namespaces)
    }

    /// The group of a pod; the pod is one of it from now on.
    pub(super) fn join(&mut self, id: PodId, pod: &Pod, pods: &FxHashMap<PodId, Placed>) -> GroupId {
        let key = group_key(pod.namespace, pod.labels.clone(), &pod.spec);
        let group = match self.group_ids.get(&key) {
            Some(&group) => group,
            None => self.new_group(key, &pod.spec, pods),
        };
        self.groups[group as usize].pods.insert(id);
        group
    }

    fn new_group(&mut self, key: GroupKey, spec: &AdmittedSpec, pods: &FxHashMap<PodId, Placed>) -> GroupId {
        let terms = self.count_terms_of(spec, key.0, pods);
        let mut group = Group { namespace: key.0, labels: key.1.clone(), terms, ..Group::default() };
        for (at, counted) in self.counters.keys().enumerate() {
            for _ in 0..counted.times(&group, &self.namespaces) {
                group.counters.push(at as u32);
            }
        }
        let id = match self.free_groups.pop() {
            Some(id) => {
                self.groups[id as usize] = group;
                id
            }
            None => {
                self.groups.push(group);
                self.groups.len() as GroupId - 1
            }
        };
        self.group_ids.insert(key, id);
        id
    }

    /// A pod of the group goes.
    pub(super) fn leave(&mut self, id: PodId, placed: &Placed) {
        let group = &mut self.groups[placed.group as usize];
        group.pods.swap_remove(&id);
        if group.pods.is_empty() {
            let Group { namespace, labels, .. } = std::mem::take(group);
            self.group_ids.remove(&group_key(namespace, labels, &placed.spec));
            self.free_groups.push(placed.group);
        }
    }

    /// A pod of the group came to a node (1) or went (-1). Terminating pods are left out of the counts that leave them
    /// out, unless `even_terminating`.
    pub(super) fn change(&mut self, placed: &Placed, by: i64, even_terminating: bool) {
        for at in &self.groups[placed.group as usize].counters {
            let Some((counted, counter)) = self.counters.get_index_mut(*at as usize) else { continue };
            if !placed.is_terminating || even_terminating || counted.counts_terminating() {
                counter.change(&self.topologies, placed.node, by);
            }
        }
    }

    /// A node came, went or changed its labels or taints.
    pub(super) fn set_node(&mut self, id: NodeId, name: Symbol, before: Option<&Node>, after: Option<&Node>) {
        let labels = |node: Option<&Node>| node.map(|node| node.labels.clone());
        let has_other_labels = before.is_some() != after.is_some() || labels(before) != labels(after);
        let has_other_taints = before.map(|node| &node.taints) != after.map(|node| &node.taints);
        if !has_other_labels && !has_other_taints {
            return;
        }
        let concerns = |view: &View| has_other_labels || view.inclusion.taints.is_some();
        for counter in self.counters.values_mut() {
            let pods = i64::from(*counter.by_node.get(id));
            for view in counter.views.iter_mut().filter(|view| concerns(view)) {
                view.exclude(&self.topologies, id, pods);
            }
        }
        if has_other_labels {
            for topology in &mut self.topologies {
                let value = after.and_then(|node| node.labels.get(topology.key));
                let domain = value.map_or(0, |value| topology.domain(value));
                *topology.of_node.get_mut(id) = domain;
            }
        }
        let Some(after) = after else { return };
        for counter in self.counters.values_mut() {
            let pods = i64::from(*counter.by_node.get(id));
            for view in counter.views.iter_mut().filter(|view| concerns(view)) {
                if view.inclusion.takes(name, after) {
                    view.include(&self.topologies, id, pods);
                }
            }
        }
    }
}
