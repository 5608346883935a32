//! InterPodAffinity: pods that want to be near others, or far from them.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::arena::Symbol;
use crate::model::{Labels, PodAffinity, PodAffinityTerm};
use crate::scheduler::cache::{NodeInfo, Placed};
use crate::scheduler::framework::{ClusterEvent, Cycle, Plugin, Rejection};
use crate::state::{NodeDelta, NodeId, Pod, Store};

pub(in crate::scheduler) struct InterPodAffinity {
    arguments: InterPodAffinityArgs,
}

/// `InterPodAffinityArgs`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::scheduler) struct InterPodAffinityArgs {
    hard_pod_affinity_weight: i64,
    ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for InterPodAffinityArgs {
    fn default() -> Self {
        Self { hard_pod_affinity_weight: 1, ignore_preferred_terms_of_existing_pods: false }
    }
}

/// A label of nodes and its value: a place.
type Place = (Symbol, Symbol);

/// What filtering works out once for a pod.
#[derive(Debug, Default)]
pub(in crate::scheduler) struct FilterState {
    /// Required anti-affinity terms of existing pods that match the incoming one, by place.
    existing_anti: FxHashMap<Place, i64>,
    /// Existing pods that match all its required affinity terms.
    affinity: FxHashMap<Place, i64>,
    /// Existing pods that match one of its required anti-affinity terms.
    anti_affinity: FxHashMap<Place, i64>,
}

/// What scoring works out once for a pod.
#[derive(Debug, Default)]
pub(in crate::scheduler) struct ScoreState {
    by_place: FxHashMap<Place, i64>,
}

/// The pod that a term belongs to.
#[derive(Clone, Copy)]
struct Bearer<'a> {
    namespace: Symbol,
    labels: &'a Labels,
}

fn required(affinity: Option<&PodAffinity>) -> &[PodAffinityTerm] {
    affinity.map_or(&[], |affinity| &affinity.required_during_scheduling_ignored_during_execution)
}

fn preferred(affinity: Option<&PodAffinity>) -> impl Iterator<Item = (i64, &PodAffinityTerm)> {
    let terms =
        affinity.into_iter().flat_map(|affinity| &affinity.preferred_during_scheduling_ignored_during_execution);
    terms.map(|term| (i64::from(term.weight), &term.pod_affinity_term))
}

/// The labels of a namespace.
fn namespace_labels(store: &Store, name: Symbol) -> Labels {
    let found = store.namespaces.iter().find(|(_, namespace)| namespace.name == name);
    found.map_or_else(Labels::new, |(_, namespace)| namespace.labels.clone())
}

/// Whether a term speaks of a pod. Its `matchLabelKeys` have been merged into the selector by the API server, or are here:
/// doing it twice changes nothing.
fn speaks_of(
    term: &PodAffinityTerm,
    bearer: Bearer<'_>,
    other: Bearer<'_>,
    is_own_of_cycle: Option<bool>,
    store: &Store,
) -> bool {
    let in_namespace = if term.namespaces.is_empty() && term.namespace_selector.is_none() {
        other.namespace == bearer.namespace
    } else {
        term.namespaces.contains(&other.namespace)
            || term.namespace_selector.as_ref().is_some_and(|selector| {
                // Since 1.34 the selector of an incoming pod's own term is also held against no labels at all.
                selector.matches(&namespace_labels(store, other.namespace))
                    || (is_own_of_cycle == Some(true) && selector.matches(&Labels::new()))
            })
    };
    let has = |key: Symbol| bearer.labels.get(key);
    in_namespace
        && term.label_selector.as_ref().is_some_and(|selector| selector.matches(other.labels))
        && term.match_label_keys.iter().all(|&key| has(key).is_none_or(|value| other.labels.get(key) == Some(value)))
        && term.mismatch_label_keys.iter().all(|&key| has(key).is_none_or(|value| other.labels.get(key) != Some(value)))
}

fn of_placed(placed: &Placed) -> Bearer<'_> {
    Bearer { namespace: placed.namespace, labels: &placed.labels }
}

fn of_pod(pod: &Pod) -> Bearer<'_> {
    Bearer { namespace: pod.namespace, labels: &pod.labels }
}

fn place_of(node: &NodeInfo, key: Symbol) -> Option<Place> {
    Some((key, node.object.as_ref()?.labels.get(key)?))
}

impl InterPodAffinity {
    pub(in crate::scheduler) fn new(arguments: InterPodAffinityArgs) -> Self {
        Self { arguments }
    }

    fn filter_state(cycle: &Cycle<'_>) -> FilterState {
        let mut state = FilterState::default();
        let me = of_pod(cycle.pod);
        let is_recent = Some(cycle.version.at_least(34));
        let affinity = cycle.spec.affinity.as_ref();
        let wanted = required(affinity.and_then(|affinity| affinity.pod_affinity.as_ref()));
        let shunned = required(affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref()));
        for (node, placed) in cycle.cache.pods_with_required_anti_affinity() {
            let terms =
                required(placed.spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref()));
            for term in terms.iter().filter(|term| speaks_of(term, of_placed(placed), me, None, cycle.store)) {
                if let Some(place) = place_of(node, term.topology_key) {
                    *state.existing_anti.entry(place).or_insert(0) += 1;
                }
            }
        }
        if wanted.is_empty() && shunned.is_empty() {
            return state;
        }
        for (node, placed) in cycle.cache.placed_pods() {
            let other = of_placed(placed);
            let is_meant = |term: &PodAffinityTerm| speaks_of(term, me, other, is_recent, cycle.store);
            if !wanted.is_empty() && wanted.iter().all(is_meant) {
                for place in wanted.iter().filter_map(|term| place_of(node, term.topology_key)) {
                    *state.affinity.entry(place).or_insert(0) += 1;
                }
            }
            for term in shunned.iter().filter(|term| is_meant(term)) {
                if let Some(place) = place_of(node, term.topology_key) {
                    *state.anti_affinity.entry(place).or_insert(0) += 1;
                }
            }
        }
        state
    }

    fn score_state(&self, cycle: &Cycle<'_>) -> ScoreState {
        let mut state = ScoreState::default();
        let me = of_pod(cycle.pod);
        let is_recent = Some(cycle.version.at_least(34));
        let own = cycle.spec.affinity.as_ref();
        let near: Vec<(i64, &PodAffinityTerm)> = preferred(own.and_then(|a| a.pod_affinity.as_ref())).collect();
        let far: Vec<(i64, &PodAffinityTerm)> = preferred(own.and_then(|a| a.pod_anti_affinity.as_ref())).collect();
        let has_wishes = !near.is_empty() || !far.is_empty();
        if self.arguments.ignore_preferred_terms_of_existing_pods && !has_wishes {
            return state;
        }
        let mut add = |node: &NodeInfo, term: &PodAffinityTerm, weight: i64| {
            if let Some(place) = place_of(node, term.topology_key) {
                *state.by_place.entry(place).or_insert(0) += weight;
            }
        };
        let mut consider = |node: &NodeInfo, placed: &Placed| {
            let other = of_placed(placed);
            for (weight, term) in near.iter().filter(|(_, term)| speaks_of(term, me, other, is_recent, cycle.store)) {
                add(node, term, *weight);
            }
            for (weight, term) in far.iter().filter(|(_, term)| speaks_of(term, me, other, is_recent, cycle.store)) {
                add(node, term, -weight);
            }
            let Some(theirs) = &placed.spec.affinity else { return };
            let concerns_me = |term: &PodAffinityTerm| speaks_of(term, other, me, None, cycle.store);
            let hard = self.arguments.hard_pod_affinity_weight;
            if hard > 0 {
                for term in required(theirs.pod_affinity.as_ref()).iter().filter(|term| concerns_me(term)) {
                    add(node, term, hard);
                }
            }
            if self.arguments.ignore_preferred_terms_of_existing_pods {
                return;
            }
            for (weight, term) in preferred(theirs.pod_affinity.as_ref()).filter(|(_, term)| concerns_me(term)) {
                add(node, term, weight);
            }
            for (weight, term) in preferred(theirs.pod_anti_affinity.as_ref()).filter(|(_, term)| concerns_me(term)) {
                add(node, term, -weight);
            }
        };
        if has_wishes {
            cycle.cache.placed_pods().for_each(|(node, placed)| consider(node, placed));
        } else {
            cycle.cache.pods_with_affinity().for_each(|(node, placed)| consider(node, placed));
        }
        state
    }

    fn reject(&self, reason: &str, is_unresolvable: bool) -> Option<Rejection> {
        Some(Rejection { plugin: self.name(), reasons: vec![reason.to_owned()], is_unresolvable })
    }
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> &'static str {
        "InterPodAffinity"
    }

    fn filter(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
        let state = cycle.affinity_filter.get_or_init(|| Self::filter_state(cycle));
        let affinity = cycle.spec.affinity.as_ref();
        let wanted = required(affinity.and_then(|affinity| affinity.pod_affinity.as_ref()));
        let shunned = required(affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref()));
        let count = |counts: &FxHashMap<Place, i64>, place: Place| counts.get(&place).copied().unwrap_or(0);
        let mut has_keys = true;
        let mut has_company = true;
        for term in wanted {
            match place_of(node, term.topology_key) {
                Some(place) => has_company &= count(&state.affinity, place) > 0,
                None => has_keys = false,
            }
        }
        if !wanted.is_empty() {
            let me = of_pod(cycle.pod);
            let is_recent = Some(cycle.version.at_least(34));
            // The first of pods that want each other has to be let in.
            let is_first = || {
                state.affinity.is_empty() && wanted.iter().all(|term| speaks_of(term, me, me, is_recent, cycle.store))
            };
            if !has_keys || !(has_company || is_first()) {
                return self.reject("node(s) didn't match pod affinity rules", true);
            }
        }
        let places = shunned.iter().filter_map(|term| place_of(node, term.topology_key));
        if places.into_iter().any(|place| count(&state.anti_affinity, place) > 0) {
            return self.reject("node(s) didn't match pod anti-affinity rules", false);
        }
        let labels = node.object.as_ref().map(|object| object.labels.as_slice()).unwrap_or_default();
        if !state.existing_anti.is_empty() && labels.iter().any(|&place| count(&state.existing_anti, place) > 0) {
            return self.reject("node(s) didn't satisfy existing pods anti-affinity rules", false);
        }
        None
    }

    fn scores(&self, cycle: &Cycle<'_>, _feasible: &[NodeId]) -> bool {
        !cycle.affinity_score.get_or_init(|| self.score_state(cycle)).by_place.is_empty()
    }

    fn score(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
        let state = cycle.affinity_score.get_or_init(|| self.score_state(cycle));
        let labels = node.object.as_ref().map(|object| object.labels.as_slice()).unwrap_or_default();
        labels.iter().filter_map(|place| state.by_place.get(place)).sum()
    }

    /// The order of the float operations is the real one's; it shows: 29 of 50 give 57.
    fn normalize(&self, _cycle: &Cycle<'_>, _feasible: &[NodeId], scores: &mut [i64]) {
        let (min, max) = (scores.iter().copied().min().unwrap_or(0), scores.iter().copied().max().unwrap_or(0));
        for score in scores {
            let share = if max == min { 0.0 } else { (*score - min) as f64 / (max - min) as f64 };
            *score = (100.0 * share) as i64;
        }
    }

    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, node: Option<&NodeInfo>) -> bool {
        let affinity = pod.spec.affinity.as_ref();
        let wanted = required(affinity.and_then(|affinity| affinity.pod_affinity.as_ref()));
        let shunned = required(affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref()));
        match event {
            ClusterEvent::PodAdded => !wanted.is_empty(),
            ClusterEvent::PodRemoved => true,
            ClusterEvent::NodeAdded(_) => {
                let has_key = |term: &PodAffinityTerm| node.is_some_and(|n| place_of(n, term.topology_key).is_some());
                !shunned.is_empty() || wanted.iter().any(has_key)
            }
            // Any taint change retries what a plugin that watches added nodes, but not taints, has rejected.
            ClusterEvent::NodeUpdated { delta, .. } => {
                delta.touches(NodeDelta::TAINTS | NodeDelta::UNSCHEDULABLE | NodeDelta::LABELS)
            }
        }
    }
}
