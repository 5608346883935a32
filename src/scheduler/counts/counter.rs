//! Which pods are counted together, and how many of them are on each node.

use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::view::{Topology, View};
use crate::arena::{Column, Symbol};
use crate::model::Labels;
use crate::scheduler::term::{Term, TermKind};
use crate::state::{AdmittedSpec, NodeId, NodeSlot, PodId};

/// Which pods a counter counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::scheduler) enum Counted {
    /// Pods that all of these terms match; terminating ones too, if so said.
    Matching { terms: SmallVec<[Term; 1]>, with_terminating: bool },
    /// Pods that have this affinity term, as often as they have it.
    WithTerm { term: Term, kind: TermKind },
}

/// Counts of a selection's pods by node: pods that are alike share them.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    pub(super) by_node: Column<NodeSlot, i32>,
    pub(super) views: SmallVec<[View; 1]>,
}

impl Counted {
    /// How often a pod of the group counts.
    pub(super) fn times(&self, group: &Group, namespaces: &FxHashMap<Symbol, Labels>) -> usize {
        match self {
            Self::Matching { terms, .. } => {
                usize::from(terms.iter().all(|term| term.matches(group.namespace, &group.labels, namespaces)))
            }
            Self::WithTerm { term, kind } => {
                group.terms.iter().filter(|(other, other_kind)| other_kind == kind && other == term).count()
            }
        }
    }

    pub(super) fn selects_namespaces(&self) -> bool {
        match self {
            Self::Matching { terms, .. } => terms.iter().any(Term::selects_namespaces),
            Self::WithTerm { term, .. } => term.selects_namespaces(),
        }
    }

    pub(super) fn counts_terminating(&self) -> bool {
        !matches!(self, Self::Matching { with_terminating: false, .. })
    }
}

impl Counter {
    pub(super) fn change(&mut self, topologies: &[Topology], node: NodeId, by: i64) {
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
pub(super) struct Group {
    pub(super) namespace: Symbol,
    pub(super) labels: Labels,
    pub(super) terms: Vec<(Term, TermKind)>,
    /// Counters in which its pods count, once for each time.
    pub(super) counters: SmallVec<[u32; 4]>,
    pub(super) pods: IndexSet<PodId, FxBuildHasher>,
}

/// Where a group is found: the address of the spec matters for pods with terms of their own, and is kept alive by them.
pub(super) type GroupKey = (Symbol, Labels, usize);

pub(super) fn group_key(namespace: Symbol, labels: Labels, spec: &Arc<AdmittedSpec>) -> GroupKey {
    let affinity = spec.affinity.as_ref();
    let has_terms = affinity.is_some_and(|a| a.pod_affinity.is_some() || a.pod_anti_affinity.is_some());
    (namespace, labels, if has_terms { Arc::as_ptr(spec) as usize } else { 0 })
}

/// A pod that is counted on a node.
#[derive(Clone, Debug)]
pub(in crate::scheduler) struct Placed {
    pub(in crate::scheduler) node: NodeId,
    pub(in crate::scheduler) spec: Arc<AdmittedSpec>,
    pub(in crate::scheduler) group: GroupId,
    pub(in crate::scheduler) is_terminating: bool,
}

/// Names a group.
pub(in crate::scheduler) type GroupId = u32;
