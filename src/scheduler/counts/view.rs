//! Sums over the domains of a topology key.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::arena::{BitSet, Column, Symbol};
use crate::model::PodSpec;
use crate::state::{AdmittedSpec, Node, NodeId, NodeSlot};

/// A value of a topology key; 0 stands for nodes without the key.
pub(super) type Domain = u32;

/// The domains of a topology key.
#[derive(Clone, Debug)]
pub(super) struct Topology {
    pub(super) key: Symbol,
    pub(super) of_node: Column<NodeSlot, Domain>,
    pub(super) values: FxHashMap<Symbol, Domain>,
}

impl Topology {
    pub(super) fn domain(&mut self, value: Symbol) -> Domain {
        let next = self.values.len() as Domain + 1;
        *self.values.entry(value).or_insert(next)
    }
}

/// Which nodes a view takes in.
#[derive(Clone, Debug, Default)]
pub(in crate::scheduler) struct Inclusion {
    /// Nodes that have all of these keys.
    pub(in crate::scheduler) keys: SmallVec<[Symbol; 2]>,
    /// Nodes that this pod's selector and required affinity allow.
    pub(in crate::scheduler) affinity: Option<Arc<AdmittedSpec>>,
    /// Nodes whose taints this pod tolerates.
    pub(in crate::scheduler) taints: Option<Arc<AdmittedSpec>>,
    /// Nodes without the view's own key count as a domain with the empty value.
    pub(in crate::scheduler) is_missing_a_domain: bool,
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
    pub(in crate::scheduler) fn with_key(key: Symbol) -> Self {
        Self { keys: SmallVec::from_slice(&[key]), ..Self::default() }
    }

    pub(super) fn takes(&self, name: Symbol, node: &Node) -> bool {
        self.keys.iter().all(|&key| node.labels.get(key).is_some())
            && self.affinity.as_ref().is_none_or(|spec| spec.allows_node(&node.labels, name))
            && self.taints.as_ref().is_none_or(|spec| node.barring_taints(&spec.tolerations).next().is_none())
    }
}

/// Counts by domain.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) topology: usize,
    pub(super) inclusion: Inclusion,
    /// The domain that nodes without the key count to; 0 if they do not count.
    pub(super) missing: Domain,
    pub(super) included: BitSet,
    /// By domain.
    pub(super) counts: Vec<i64>,
    /// Included nodes by domain; a domain without any does not exist.
    pub(super) nodes: Vec<u32>,
    pub(super) total: i64,
    pub(super) domain_count: usize,
    /// The least count of an existing domain, and how many domains have it.
    pub(super) least: i64,
    pub(super) least_count: usize,
    /// Nodes have come or gone since the least count was worked out.
    pub(super) is_stale: bool,
}

impl View {
    /// A view that takes no node in yet, over so many domains.
    pub(super) fn new(topology: usize, inclusion: Inclusion, missing: Domain, domains: usize) -> Self {
        Self {
            topology,
            inclusion,
            missing,
            included: BitSet::new(),
            counts: vec![0; domains],
            nodes: vec![0; domains],
            total: 0,
            domain_count: 0,
            least: 0,
            least_count: 0,
            is_stale: true,
        }
    }

    pub(super) fn domain(&self, topologies: &[Topology], node: NodeId) -> Domain {
        self.domain_in(&topologies[self.topology], node)
    }

    fn domain_in(&self, topology: &Topology, node: NodeId) -> Domain {
        match *topology.of_node.get(node) {
            0 => self.missing,
            domain => domain,
        }
    }

    pub(super) fn change(&mut self, domain: Domain, by: i64) {
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

    pub(super) fn find_least(&mut self) {
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
    pub(super) fn include(&mut self, topologies: &[Topology], node: NodeId, pods: i64) {
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

    pub(super) fn exclude(&mut self, topologies: &[Topology], node: NodeId, pods: i64) {
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

/// What a view has counted, to be read node after node.
#[derive(Clone, Copy)]
pub(in crate::scheduler) struct ViewRef<'c> {
    pub(super) by_node: &'c Column<NodeSlot, i32>,
    pub(super) view: &'c View,
    pub(super) topology: &'c Topology,
}

impl ViewRef<'_> {
    /// The domain of a node that has the view's key, or counts without it.
    pub(in crate::scheduler) fn domain(self, node: NodeId) -> Option<usize> {
        let domain = self.view.domain_in(self.topology, node);
        (domain > 0).then_some(domain as usize)
    }

    /// How many domains these nodes are in.
    pub(in crate::scheduler) fn domains_among(self, nodes: &[NodeId]) -> usize {
        let domains = nodes.iter().filter_map(|node| self.domain(*node));
        // Zones are few, and then one word holds them.
        if self.topology.values.len() < u64::BITS as usize {
            return domains.fold(0_u64, |seen, domain| seen | 1 << domain).count_ones() as usize;
        }
        domains.collect::<BitSet>().len()
    }

    /// Whether the view takes a node in.
    pub(in crate::scheduler) fn includes(self, node: NodeId) -> bool {
        self.view.included.contains(node)
    }

    /// Whether a node has the view's key.
    pub(in crate::scheduler) fn has_key(self, node: NodeId) -> bool {
        *self.topology.of_node.get(node) > 0
    }

    /// Pods in the domain of a node, on the nodes that the view takes in; none if it has none.
    pub(in crate::scheduler) fn around(self, node: NodeId) -> Option<i64> {
        self.domain(node).map(|domain| self.view.counts.get(domain).copied().unwrap_or(0))
    }

    /// Pods on a node, whether the view takes it in or not.
    pub(in crate::scheduler) fn on_node(self, node: NodeId) -> i64 {
        i64::from(*self.by_node.get(node))
    }

    /// Pods on all nodes that the view takes in.
    pub(in crate::scheduler) fn total(self) -> i64 {
        self.view.total
    }

    /// How many domains there are, and the least count among them.
    pub(in crate::scheduler) fn least(self) -> (usize, i64) {
        let View { domain_count, least, .. } = *self.view;
        (domain_count, if domain_count == 0 { 0 } else { least })
    }
}
