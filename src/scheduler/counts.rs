//! How many pods of a kind there are in each topology domain, kept up to date as pods come and go.
//!
//! A [`Counter`] counts the pods of a selection by node; its [`View`]s sum that over the domains of a topology key. Pods
//! that no counter can tell apart form a [`Group`], so that a pod's coming touches the counters of its group alone and a
//! new counter is held against groups, not against pods.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::node_info::NodeInfo;
use super::term::{Bond, Term, bonds};
use crate::arena::{BitSet, Column, Symbol};
use crate::model::{Labels, PodSpec};
use crate::state::{AdmittedSpec, Node, NodeId, NodeSlot, Pod, PodId};

/// Which pods a counter counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Counted {
    /// Pods that all of these terms speak of; terminating ones too, if so said.
    Matching { terms: SmallVec<[Term; 1]>, with_terminating: bool },
    /// Pods that bear this term, as often as they bear it.
    Bearing { term: Term, bond: Bond },
}

/// A value of a topology key; 0 stands for nodes without the key.
type Domain = u32;

/// The domains of a topology key.
#[derive(Clone, Debug)]
struct Topology {
    key: Symbol,
    of_node: Column<NodeSlot, Domain>,
    values: FxHashMap<Symbol, Domain>,
}

impl Topology {
    fn domain(&mut self, value: Symbol) -> Domain {
        let next = self.values.len() as Domain + 1;
        *self.values.entry(value).or_insert(next)
    }
}

/// Which nodes a view takes in.
#[derive(Clone, Debug, Default)]
pub(super) struct Inclusion {
    /// Nodes that have all of these keys.
    pub(super) keys: SmallVec<[Symbol; 2]>,
    /// Nodes that this pod's selector and required affinity allow.
    pub(super) affinity: Option<Arc<AdmittedSpec>>,
    /// Nodes whose taints this pod tolerates.
    pub(super) taints: Option<Arc<AdmittedSpec>>,
    /// Nodes without the view's own key count as a domain with the empty value.
    pub(super) is_missing_a_domain: bool,
}

impl PartialEq for Inclusion {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |a: &Arc<AdmittedSpec>, b: &Arc<AdmittedSpec>, has_same: fn(&PodSpec, &PodSpec) -> bool| {
            Arc::ptr_eq(a, b) || has_same(a, b)
        };
        let selects_same = |a: &PodSpec, b: &PodSpec| {
            a.node_selector == b.node_selector && a.required_node_affinity() == b.required_node_affinity()
        };
        let has_same_affinity = match (&self.affinity, &other.affinity) {
            (Some(a), Some(b)) => is_same(a, b, selects_same),
            (a, b) => a.is_none() && b.is_none(),
        };
        let has_same_tolerations = match (&self.taints, &other.taints) {
            (Some(a), Some(b)) => is_same(a, b, |a, b| a.tolerations == b.tolerations),
            (a, b) => a.is_none() && b.is_none(),
        };
        let has_same_keys = self.keys == other.keys && self.is_missing_a_domain == other.is_missing_a_domain;
        has_same_keys && has_same_affinity && has_same_tolerations
    }
}

impl Inclusion {
    /// Nodes that have the key.
    pub(super) fn with_key(key: Symbol) -> Self {
        Self { keys: SmallVec::from_slice(&[key]), ..Self::default() }
    }

    fn takes(&self, name: Symbol, node: &Node) -> bool {
        self.keys.iter().all(|&key| node.labels.get(key).is_some())
            && self.affinity.as_ref().is_none_or(|spec| spec.allows_node(&node.labels, name))
            && self.taints.as_ref().is_none_or(|spec| node.barring_taints(&spec.tolerations).next().is_none())
    }
}

/// Counts by domain.
#[derive(Clone, Debug)]
struct View {
    topology: usize,
    inclusion: Inclusion,
    /// The domain that nodes without the key count to; 0 if they do not count.
    missing: Domain,
    included: BitSet,
    /// By domain.
    counts: Vec<i64>,
    /// Included nodes by domain; a domain without any does not exist.
    nodes: Vec<u32>,
    total: i64,
    domain_count: usize,
    /// The least count of an existing domain, and how many domains have it.
    least: i64,
    least_count: usize,
    /// Nodes have come or gone since the least count was worked out.
    is_stale: bool,
}

impl View {
    fn domain(&self, topologies: &[Topology], node: NodeId) -> Domain {
        match *topologies[self.topology].of_node.get(node) {
            0 => self.missing,
            domain => domain,
        }
    }

    fn change(&mut self, domain: Domain, by: i64) {
        let count = &mut self.counts[domain as usize];
        let before = *count;
        *count += by;
        let after = *count;
        self.total += by;
        if self.is_stale {
            return;
        }
        if after < self.least {
            (self.least, self.least_count) = (after, 1);
        } else if after == self.least {
            self.least_count += 1;
        } else if before == self.least {
            self.least_count -= 1;
            if self.least_count == 0 {
                self.find_least();
            }
        }
    }

    fn find_least(&mut self) {
        self.is_stale = false;
        (self.least, self.least_count) = (i64::MAX, 0);
        for (&count, _) in self.counts.iter().zip(&self.nodes).filter(|(_, nodes)| **nodes > 0) {
            if count < self.least {
                (self.least, self.least_count) = (count, 0);
            }
            self.least_count += usize::from(count == self.least);
        }
    }

    /// A node comes in, with the pods on it.
    fn include(&mut self, topologies: &[Topology], node: NodeId, pods: i64) {
        let domain = self.domain(topologies, node) as usize;
        if self.counts.len() <= domain {
            self.counts.resize(domain + 1, 0);
            self.nodes.resize(domain + 1, 0);
        }
        self.included.insert(node);
        self.nodes[domain] += 1;
        self.domain_count += usize::from(self.nodes[domain] == 1);
        self.counts[domain] += pods;
        self.total += pods;
        self.is_stale = true;
    }

    fn exclude(&mut self, topologies: &[Topology], node: NodeId, pods: i64) {
        if !self.included.remove(node) {
            return;
        }
        let domain = self.domain(topologies, node) as usize;
        self.nodes[domain] -= 1;
        self.domain_count -= usize::from(self.nodes[domain] == 0);
        self.counts[domain] -= pods;
        self.total -= pods;
        self.is_stale = true;
    }
}

/// Counts of a selection's pods by node: pods that are alike share them.
#[derive(Clone, Debug)]
struct Counter {
    by_node: Column<NodeSlot, i32>,
    views: SmallVec<[View; 1]>,
}

impl Counted {
    /// How often a pod of the group counts.
    fn times(&self, group: &Group, namespaces: &FxHashMap<Symbol, Labels>) -> usize {
        match self {
            Self::Matching { terms, .. } => {
                usize::from(terms.iter().all(|term| term.matches(group.namespace, &group.labels, namespaces)))
            }
            Self::Bearing { term, bond } => {
                group.bonds.iter().filter(|(theirs, kind)| kind == bond && theirs == term).count()
            }
        }
    }

    fn selects_namespaces(&self) -> bool {
        match self {
            Self::Matching { terms, .. } => terms.iter().any(Term::selects_namespaces),
            Self::Bearing { term, .. } => term.selects_namespaces(),
        }
    }

    fn counts_terminating(&self) -> bool {
        !matches!(self, Self::Matching { with_terminating: false, .. })
    }
}

impl Counter {
    fn change(&mut self, topologies: &[Topology], node: NodeId, by: i64) {
        *self.by_node.get_mut(node) += by as i32;
        for view in &mut self.views {
            if view.included.contains(node) {
                let domain = view.domain(topologies, node);
                view.change(domain, by);
            }
        }
    }
}

/// A group of pods that count alike.
#[derive(Clone, Debug, Default)]
struct Group {
    namespace: Symbol,
    labels: Labels,
    bonds: Vec<(Term, Bond)>,
    /// Counters in which its pods count, once for each time.
    counters: SmallVec<[u32; 4]>,
    pods: IndexSet<PodId, FxBuildHasher>,
}

/// Where a group is found: the address of the spec matters for pods with terms of their own, and is kept alive by them.
type GroupKey = (Symbol, Labels, usize);

fn group_key(namespace: Symbol, labels: Labels, spec: &Arc<AdmittedSpec>) -> GroupKey {
    let affinity = spec.affinity.as_ref();
    let has_terms = affinity.is_some_and(|a| a.pod_affinity.is_some() || a.pod_anti_affinity.is_some());
    (namespace, labels, if has_terms { Arc::as_ptr(spec) as usize } else { 0 })
}

/// A pod that is counted on a node.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) node: NodeId,
    pub(super) spec: Arc<AdmittedSpec>,
    pub(super) group: GroupId,
    pub(super) is_terminating: bool,
}

/// Names a group.
pub(super) type GroupId = u32;

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
    /// Counters of the terms that pods bear.
    bearing: Vec<u32>,
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

    /// What templates have been told no longer holds.
    pub(super) fn outdate(&mut self) {
        self.epoch += 1;
    }

    /// Forgets counters if they have become too many: those still in use are soon made again.
    pub(super) fn limit(&mut self, nodes: usize, pods: &FxHashMap<PodId, Placed>) {
        if self.counters.len() + self.view_count > (CELLS_MAX / nodes.max(1)).max(COUNTERS_MIN) {
            self.forget_counters();
            self.count_bonds(pods);
        }
    }

    fn forget_counters(&mut self) {
        self.counters.clear();
        self.view_count = 0;
        self.bearing.clear();
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
            self.count_bonds(pods);
        }
    }

    /// Makes the counters of all terms that pods bear.
    fn count_bonds(&mut self, pods: &FxHashMap<PodId, Placed>) {
        let all: Vec<(Term, Bond)> = self.groups.iter().flat_map(|group| group.bonds.iter().cloned()).collect();
        for (term, bond) in all {
            self.counter(Counted::Bearing { term, bond }, pods);
        }
    }

    /// Makes the counters of the terms that pods of this spec and namespace bear.
    pub(super) fn know_bonds(
        &mut self,
        spec: &AdmittedSpec,
        namespace: Symbol,
        pods: &FxHashMap<PodId, Placed>,
    ) -> Vec<(Term, Bond)> {
        let bonds = bonds(spec, namespace);
        for (term, bond) in &bonds {
            self.counter(Counted::Bearing { term: term.clone(), bond: *bond }, pods);
        }
        bonds
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
        if matches!(counted, Counted::Bearing { .. }) {
            self.bearing.push(at);
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
        let mut view = View {
            topology,
            inclusion: inclusion.clone(),
            missing,
            included: BitSet::new(),
            counts: vec![0; domains],
            nodes: vec![0; domains],
            total: 0,
            domain_count: 0,
            least: 0,
            least_count: 0,
            is_stale: true,
        };
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

    fn at(&self, id: ViewId) -> &View {
        &self.counters[id.counter as usize].views[id.view as usize]
    }

    /// The domain of a node that has the view's key, or counts without it.
    pub(super) fn domain(&self, id: ViewId, node: NodeId) -> Option<usize> {
        let domain = self.at(id).domain(&self.topologies, node);
        (domain > 0).then_some(domain as usize)
    }

    /// Whether the view takes a node in.
    pub(super) fn includes(&self, id: ViewId, node: NodeId) -> bool {
        self.at(id).included.contains(node)
    }

    /// Whether a node has the view's key.
    pub(super) fn has_key(&self, id: ViewId, node: NodeId) -> bool {
        *self.topologies[self.at(id).topology].of_node.get(node) > 0
    }

    /// More than any domain of a view.
    pub(super) fn domain_end(&self, id: ViewId) -> usize {
        self.topologies[self.at(id).topology].values.len() + 1
    }

    /// Pods in a domain, on the nodes that the view takes in.
    pub(super) fn in_domain(&self, id: ViewId, domain: usize) -> i64 {
        self.at(id).counts.get(domain).copied().unwrap_or(0)
    }

    /// Pods in the domain of a node; none if it has none.
    pub(super) fn around(&self, id: ViewId, node: NodeId) -> Option<i64> {
        self.domain(id, node).map(|domain| self.in_domain(id, domain))
    }

    /// Pods on a node, whether the view takes it in or not.
    pub(super) fn on_node(&self, id: ViewId, node: NodeId) -> i64 {
        i64::from(*self.counters[id.counter as usize].by_node.get(node))
    }

    /// Pods on all nodes that the view takes in.
    pub(super) fn total(&self, id: ViewId) -> i64 {
        self.at(id).total
    }

    /// How many domains there are, and the least count among them.
    pub(super) fn least(&self, id: ViewId) -> (usize, i64) {
        let view = self.at(id);
        (view.domain_count, if view.domain_count == 0 { 0 } else { view.least })
    }

    /// Works out the least count again after nodes have come and gone.
    pub(super) fn freshen(&mut self, id: ViewId) {
        let view = &mut self.counters[id.counter as usize].views[id.view as usize];
        if view.is_stale {
            view.find_least();
        }
    }

    /// The terms that pods bear and that speak of a pod, with their counters.
    pub(super) fn bonds_with(&self, pod: &Pod) -> Vec<(Symbol, Bond, u32)> {
        let speaks = |&at: &u32| match self.counters.get_index(at as usize)? {
            (Counted::Bearing { term, bond }, _) if term.matches(pod.namespace, &pod.labels, &self.namespaces) => {
                Some((term.topology_key, *bond, at))
            }
            _ => None,
        };
        self.bearing.iter().filter_map(speaks).collect()
    }

    /// Whether a term speaks of a pod.
    pub(super) fn speaks_of(&self, term: &Term, pod: &Pod) -> bool {
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
        let bonds = self.know_bonds(spec, key.0, pods);
        let mut group = Group { namespace: key.0, labels: key.1.clone(), bonds, ..Group::default() };
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
