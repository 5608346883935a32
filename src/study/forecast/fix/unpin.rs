//! No selector pins the pods to few nodes.

use std::collections::BTreeSet;

use super::objects::{change_templates, pod_spec, replicas_of};
use super::{Change, Circumstances};
use crate::arena::Symbol;
use crate::model::{Labels, NodeSelectorTerm, Object, PodSpec, is_control_plane_role};
use crate::scenario::ResolvedScenario;

/// What kind of machine the images need: to run elsewhere does not help who cannot.
fn is_general(key: &str) -> bool {
    const KEYS: [&str; 5] = [
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "node.kubernetes.io/windows-build",
    ];
    KEYS.contains(&key)
}

/// Keys of labels by which the pods choose their nodes.
fn keys(spec: &PodSpec) -> Vec<Symbol> {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let terms = required.into_iter().flat_map(|required| &required.node_selector_terms);
    let of_terms = terms.flat_map(|term| term.match_expressions.iter().chain(&term.match_fields)).map(|of| of.key);
    spec.node_selector.iter().map(|(key, _)| key).chain(of_terms).collect()
}

/// Whether its pods may run on some nodes only, by what is theirs to say.
fn is_pinned(spec: &PodSpec) -> bool {
    let keys = keys(spec);
    keys.iter().any(|key| !is_general(key.as_str())) && !keys.iter().any(|key| is_control_plane_role(key.as_str()))
}

fn unpin(spec: &mut PodSpec) {
    let general = spec.node_selector.iter().filter(|(key, _)| is_general(key.as_str()));
    spec.node_selector = general.fold(Labels::default(), |labels, (key, value)| labels.with(key, value));
    let Some(affinity) = spec.affinity.as_mut().and_then(|affinity| affinity.node_affinity.as_mut()) else { return };
    let required = &mut affinity.required_during_scheduling_ignored_during_execution;
    let Some(selector) = required else { return };
    for term in &mut selector.node_selector_terms {
        term.match_expressions.retain(|of| is_general(of.key.as_str()));
        term.match_fields.clear();
    }
    // A term that asks for nothing matches no node; of terms, one has to match: if one is fine with every node, all are.
    let asks = |term: &NodeSelectorTerm| !term.match_expressions.is_empty();
    if !selector.node_selector_terms.iter().all(asks) {
        *required = None;
    }
}

/// No selector pins the pods to few nodes.
pub(super) struct Unpin;

impl Change for Unpin {
    fn file(&self) -> &'static str {
        "unpin"
    }

    fn words(&self) -> &'static str {
        "take the node selector away"
    }

    fn cause(&self) -> [&'static str; 2] {
        ["is pinned to few nodes by a selector", "are pinned to few nodes by selectors"]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, _around: &Circumstances<'_>) -> bool {
        replicas_of(object).is_some() && pod_spec(object).is_some_and(is_pinned)
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        change_templates(&mut scenario.objects, workloads, |template, _| unpin(&mut template.spec));
    }
}
