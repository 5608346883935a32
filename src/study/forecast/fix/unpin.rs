//! No selector pins the pods to few nodes.

use std::collections::BTreeSet;

use super::objects::{change_templates, pod_spec, replicas_of};
use super::{Change, Circumstances};
use crate::model::{Labels, Object, PodSpec};
use crate::scenario::ResolvedScenario;

/// Whether its pods may run on some nodes only, by what is theirs.
fn is_pinned(spec: &PodSpec) -> bool {
    let is_general = |key: &str| matches!(key, "kubernetes.io/os" | "kubernetes.io/arch" | "beta.kubernetes.io/os");
    let by_selector = spec.node_selector.iter().any(|(key, _)| !is_general(key.as_str()));
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    by_selector
        || affinity.is_some_and(|affinity| affinity.required_during_scheduling_ignored_during_execution.is_some())
}

fn unpin(spec: &mut PodSpec) {
    spec.node_selector = Labels::default();
    if let Some(affinity) = spec.affinity.as_mut().and_then(|affinity| affinity.node_affinity.as_mut()) {
        affinity.required_during_scheduling_ignored_during_execution = None;
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
