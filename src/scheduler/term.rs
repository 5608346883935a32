//! Pod affinity terms, resolved: which pods a term matches.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::arena::Symbol;
use crate::model::{LabelSelector, Labels, PodAffinity, PodAffinityTerm, PodSpec};

/// What kind of wish a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TermKind {
    /// Must be near.
    Required,
    /// Must be far.
    RequiredAnti,
    /// Had better be near, or far if negative.
    Preferred(i64),
}

/// Pods by namespace and labels, and the topology in which they matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Term {
    namespaces: SmallVec<[Symbol; 1]>,
    namespace_selector: Option<LabelSelector>,
    /// None matches no pod.
    selector: Option<LabelSelector>,
    pub(super) topology_key: Symbol,
}

impl Term {
    /// Pods of one namespace.
    pub(super) fn in_namespace(namespace: Symbol, selector: Option<LabelSelector>) -> Self {
        Self {
            namespaces: SmallVec::from_slice(&[namespace]),
            namespace_selector: None,
            selector,
            topology_key: Symbol::empty(),
        }
    }

    /// A term of a pod in this namespace. Its `matchLabelKeys` are part of the selector since the pod's creation.
    pub(super) fn new(term: &PodAffinityTerm, namespace: Symbol) -> Self {
        let mut namespaces: SmallVec<[Symbol; 1]> = term.namespaces.iter().copied().collect();
        if namespaces.is_empty() && term.namespace_selector.is_none() {
            namespaces.push(namespace);
        }
        Self {
            namespaces,
            namespace_selector: term.namespace_selector.clone(),
            selector: term.label_selector.clone(),
            topology_key: term.topology_key,
        }
    }

    /// The same as kube-scheduler takes it for a term of the pod it is about to place.
    ///
    /// # Source
    /// kube-scheduler 1.34+: a namespace selector is resolved to names but kept, and later held against no labels at all;
    /// one that only says what must not be there then selects every namespace.
    pub(super) fn of_incoming(term: &PodAffinityTerm, namespace: Symbol, is_selector_kept: bool) -> Self {
        let mut term = Self::new(term, namespace);
        if let Some(selector) = &mut term.namespace_selector
            && is_selector_kept
            && selector.matches(&Labels::new())
        {
            *selector = LabelSelector::default();
        }
        term
    }

    pub(super) fn selects_namespaces(&self) -> bool {
        self.namespace_selector.is_some()
    }

    /// Whether it matches a pod.
    pub(super) fn matches(&self, namespace: Symbol, labels: &Labels, namespaces: &FxHashMap<Symbol, Labels>) -> bool {
        let none = Labels::new();
        let is_selected = |selector: &LabelSelector| selector.matches(namespaces.get(&namespace).unwrap_or(&none));
        (self.namespaces.contains(&namespace) || self.namespace_selector.as_ref().is_some_and(is_selected))
            && self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }
}

/// The required terms of an affinity.
pub(super) fn required(affinity: Option<&PodAffinity>) -> &[PodAffinityTerm] {
    affinity.map_or(&[], |affinity| &affinity.required_during_scheduling_ignored_during_execution)
}

/// The preferred terms of an affinity with their weights.
pub(super) fn preferred(affinity: Option<&PodAffinity>) -> impl Iterator<Item = (i64, &PodAffinityTerm)> {
    let terms =
        affinity.into_iter().flat_map(|affinity| &affinity.preferred_during_scheduling_ignored_during_execution);
    terms.map(|term| (i64::from(term.weight), &term.pod_affinity_term))
}

/// All affinity terms of pods with this spec in this namespace.
pub(super) fn affinity_terms(spec: &PodSpec, namespace: Symbol) -> Vec<(Term, TermKind)> {
    let Some(affinity) = &spec.affinity else { return Vec::new() };
    let (near, far) = (affinity.pod_affinity.as_ref(), affinity.pod_anti_affinity.as_ref());
    let plain = required(near).iter().map(|term| (term, TermKind::Required));
    let plain = plain.chain(required(far).iter().map(|term| (term, TermKind::RequiredAnti)));
    let weighed = preferred(near).map(|(weight, term)| (term, TermKind::Preferred(weight)));
    let weighed = weighed.chain(preferred(far).map(|(weight, term)| (term, TermKind::Preferred(-weight))));
    plain.chain(weighed).map(|(term, kind)| (Term::new(term, namespace), kind)).collect()
}
