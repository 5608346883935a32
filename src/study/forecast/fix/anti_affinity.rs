//! Replicas rather keep apart than that they have to.

use std::collections::BTreeSet;

use super::objects::{change_templates, pod_spec, replicas_of};
use super::{Change, Circumstances};
use crate::model::{Object, WeightedPodAffinityTerm};
use crate::scenario::ResolvedScenario;
use crate::study::edit::path_of;

/// Replicas rather keep apart than that they have to.
pub(super) struct AntiAffinity;

impl Change for AntiAffinity {
    fn file(&self) -> &'static str {
        "anti-affinity"
    }

    fn words(&self) -> &'static str {
        "prefer that the replicas keep apart, rather than require it (podAntiAffinity)"
    }

    fn cause(&self) -> [&'static str; 2] {
        [
            "may not run two pods on a node: with no node to spare, roll-outs and drains get stuck",
            "may not run two pods on a node: with no node to spare, roll-outs and drains get stuck",
        ]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool {
        let anti = pod_spec(object).and_then(|spec| spec.affinity.as_ref()?.pod_anti_affinity.as_ref());
        let is_required = anti.is_some_and(|anti| !anti.required_during_scheduling_ignored_during_execution.is_empty());
        let is_in_need = around.lacks_room || around.stuck.contains(&path_of(object));
        is_required && is_in_need && replicas_of(object).is_some()
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        change_templates(&mut scenario.objects, workloads, |template, _| {
            let affinity = template.spec.affinity.as_mut();
            let Some(anti) = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_mut()) else { return };
            let terms = std::mem::take(&mut anti.required_during_scheduling_ignored_during_execution);
            let preferred =
                terms.into_iter().map(|term| WeightedPodAffinityTerm { weight: 100, pod_affinity_term: term });
            anti.preferred_during_scheduling_ignored_during_execution.extend(preferred);
        });
    }
}
