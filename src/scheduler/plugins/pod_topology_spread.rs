//! PodTopologySpread: pods of a kind are spread evenly over zones, hosts, racks.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use crate::arena::{Symbol, sym};
use crate::model::{
    Labels, NodeInclusionPolicy, Taint, TaintEffect, TopologySpreadConstraint, UnsatisfiableConstraintAction,
};
use crate::scheduler::cache::{Cache, NodeInfo};
use crate::scheduler::framework::{ClusterEvent, Cycle, Plugin, Rejection};
use crate::scheduler::selection::Selection;
use crate::state::{Node, NodeDelta, NodeId, Owner, Pod, Store};

pub(in crate::scheduler) struct PodTopologySpread {
    /// `defaultConstraints`, or none for those of the system.
    defaults: Option<Vec<TopologySpreadConstraint>>,
}

/// `PodTopologySpreadArgs`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::scheduler) struct PodTopologySpreadArgs {
    default_constraints: Vec<TopologySpreadConstraint>,
    defaulting_type: Option<DefaultingType>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum DefaultingType {
    System,
    List,
}

/// A constraint with everything that decides filled in.
#[derive(Clone, Debug)]
struct Constraint {
    max_skew: i64,
    key: Symbol,
    is_hard: bool,
    selection: Selection,
    /// Where the cache counts the selection's pods.
    counter: Option<usize>,
    min_domains: usize,
    honors_affinity: bool,
    honors_taints: bool,
}

/// What filtering works out once for a pod: counts per domain of each hard constraint.
#[derive(Debug, Default)]
pub(in crate::scheduler) struct FilterState {
    constraints: Vec<Constraint>,
    counts: Vec<FxHashMap<Symbol, i64>>,
    /// The least count of each.
    least: Vec<i64>,
}

/// What scoring works out once for a pod.
#[derive(Debug, Default)]
pub(in crate::scheduler) struct ScoreState {
    constraints: Vec<Constraint>,
    counts: Vec<FxHashMap<Symbol, i64>>,
    weights: Vec<f64>,
    /// Nodes without a key are left out, but not with the system's defaults.
    needs_all_keys: bool,
    ignored: FxHashSet<NodeId>,
}

fn system_defaults() -> Vec<TopologySpreadConstraint> {
    let soft = |max_skew, key: &str| TopologySpreadConstraint {
        max_skew,
        topology_key: Symbol::new(key),
        when_unsatisfiable: UnsatisfiableConstraintAction::ScheduleAnyway,
        ..TopologySpreadConstraint::default()
    };
    vec![soft(3, "kubernetes.io/hostname"), soft(5, "topology.kubernetes.io/zone")]
}

/// The pods that the pod's Services and its controller select.
///
/// # Source
/// kube-scheduler, `helper.DefaultSelector`.
fn deduced(pod: &Pod, store: &Store) -> Selection {
    let mut selection = Selection::default();
    for (_, service) in store.services.iter().filter(|(_, service)| service.meta.namespace == pod.namespace) {
        let wanted = &service.spec.selector;
        let pairs = wanted.as_slice();
        if !pairs.is_empty() && pairs.iter().all(|(key, value)| pod.labels.get(*key) == Some(*value)) {
            selection.labels.push(wanted.clone());
        }
    }
    let of_owner = match pod.owner {
        Some(Owner::ReplicaSet(id)) => store.replica_sets.get(id).and_then(|set| set.spec.selector.clone()),
        Some(Owner::StatefulSet(id)) => store.stateful_sets.get(id).and_then(|set| set.spec.selector.clone()),
        _ => None,
    };
    selection.selectors.extend(of_owner);
    selection
}

impl PodTopologySpread {
    pub(in crate::scheduler) fn new(arguments: PodTopologySpreadArgs) -> Self {
        let is_list = arguments.defaulting_type == Some(DefaultingType::List);
        Self { defaults: is_list.then_some(arguments.default_constraints) }
    }

    /// The constraints that hold for a pod, and whether they are the system's defaults.
    fn constraints(&self, pod: &Pod, store: &Store) -> (Vec<Constraint>, bool) {
        let own = &pod.spec.topology_spread_constraints;
        if !own.is_empty() {
            let made = own.iter().map(|constraint| {
                let mut selection = Selection::default();
                match &constraint.label_selector {
                    Some(selector) => selection.selectors.push(selector.clone()),
                    None => selection.matches_nothing = true,
                }
                let keys = constraint.match_label_keys.iter();
                let pairs = keys.filter_map(|&key| Some((key, pod.labels.get(key)?)));
                let pairs: Labels = pairs.collect();
                if !pairs.as_slice().is_empty() {
                    selection.labels.push(pairs);
                }
                Constraint::new(constraint, selection)
            });
            return (made.collect(), false);
        }
        let selection = deduced(pod, store);
        if selection.is_empty() {
            return (Vec::new(), false);
        }
        let system;
        let defaults = match &self.defaults {
            Some(defaults) => defaults,
            None => {
                system = system_defaults();
                &system
            }
        };
        let made = defaults.iter().map(|constraint| Constraint::new(constraint, selection.clone()));
        (made.collect(), self.defaults.is_none())
    }

    /// The hard or the soft ones of a cycle, with the places of their counts.
    fn constraints_of(&self, cycle: &Cycle<'_>, is_hard: bool) -> (Vec<Constraint>, bool) {
        let (mut constraints, is_system) = self.constraints(cycle.pod, cycle.store);
        constraints.retain(|constraint| constraint.is_hard == is_hard);
        for constraint in &mut constraints {
            constraint.counter = cycle.cache.counter(cycle.pod.namespace, &constraint.selection);
        }
        (constraints, is_system)
    }

    fn filter_state(&self, cycle: &Cycle<'_>) -> FilterState {
        let (constraints, _) = self.constraints_of(cycle, true);
        let mut state =
            FilterState { counts: vec![FxHashMap::default(); constraints.len()], constraints, least: Vec::new() };
        if state.constraints.is_empty() {
            return state;
        }
        for (_, info) in cycle.cache.nodes() {
            let Some(object) = &info.object else { continue };
            if state.constraints.iter().any(|constraint| object.labels.get(constraint.key).is_none()) {
                continue;
            }
            for (constraint, counts) in state.constraints.iter().zip(&mut state.counts) {
                let Some(value) = object.labels.get(constraint.key) else { continue };
                if constraint.includes(cycle, info, object) {
                    *counts.entry(value).or_insert(0) += cycle.cache.count(constraint.counter, info);
                }
            }
        }
        let least = state.constraints.iter().zip(&state.counts).map(|(constraint, counts)| {
            if counts.len() < constraint.min_domains { 0 } else { counts.values().copied().min().unwrap_or(0) }
        });
        state.least = least.collect();
        state
    }

    fn score_state(&self, cycle: &Cycle<'_>, feasible: &[NodeId]) -> ScoreState {
        let (constraints, is_system) = self.constraints_of(cycle, false);
        let mut state = ScoreState { needs_all_keys: !is_system, ..ScoreState::default() };
        if constraints.is_empty() {
            return state;
        }
        let hostname = sym!("kubernetes.io/hostname");
        let labels = |info: &NodeInfo, key| info.object.as_ref().and_then(|object| object.labels.get(key));
        let has_all = |info: &NodeInfo| constraints.iter().all(|constraint| labels(info, constraint.key).is_some());
        let mut counts: Vec<FxHashMap<Symbol, i64>> = vec![FxHashMap::default(); constraints.len()];
        for &node in feasible {
            let info = cycle.cache.node(node);
            if state.needs_all_keys && !has_all(info) {
                state.ignored.insert(node);
                continue;
            }
            for (constraint, counts) in constraints.iter().zip(&mut counts) {
                if constraint.key != hostname {
                    counts.entry(labels(info, constraint.key).unwrap_or_default()).or_insert(0);
                }
            }
        }
        let considered = feasible.len() - state.ignored.len();
        let sizes = constraints
            .iter()
            .zip(&counts)
            .map(|(constraint, counts)| if constraint.key == hostname { considered } else { counts.len() });
        state.weights = sizes.map(|size| libm::log(size as f64 + 2.0)).collect();
        for (_, info) in cycle.cache.nodes() {
            let Some(object) = &info.object else { continue };
            if state.needs_all_keys && !has_all(info) {
                continue;
            }
            // Pods on a host are counted when it is scored.
            let wide = constraints.iter().zip(&mut counts).filter(|(constraint, _)| constraint.key != hostname);
            for (constraint, counts) in wide {
                let value = object.labels.get(constraint.key).unwrap_or_default();
                let Some(count) = counts.get_mut(&value) else { continue };
                if constraint.includes(cycle, info, object) {
                    *count += cycle.cache.count(constraint.counter, info);
                }
            }
        }
        state.counts = counts;
        state.constraints = constraints;
        state
    }
}

impl Constraint {
    fn new(given: &TopologySpreadConstraint, selection: Selection) -> Self {
        Self {
            max_skew: given.max_skew.into(),
            key: given.topology_key,
            is_hard: given.when_unsatisfiable == UnsatisfiableConstraintAction::DoNotSchedule,
            selection,
            counter: None,
            min_domains: given.min_domains.unwrap_or(1).max(1) as usize,
            honors_affinity: given.node_affinity_policy != Some(NodeInclusionPolicy::Ignore),
            honors_taints: given.node_taints_policy == Some(NodeInclusionPolicy::Honor),
        }
    }

    /// Whether a node's pods count.
    fn includes(&self, cycle: &Cycle<'_>, info: &NodeInfo, node: &Node) -> bool {
        let bars = |effect| matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
        let is_tolerated = |taint: &Taint| cycle.spec.tolerations.iter().any(|t| t.tolerates(taint));
        (!self.honors_affinity || cycle.spec.allows_node(&node.labels, info.name))
            && (!self.honors_taints
                || node
                    .taints
                    .iter()
                    .filter(|taint| bars(taint.effect))
                    .all(|taint| is_tolerated(&Taint::new(taint.key, taint.value, taint.effect))))
    }
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        "PodTopologySpread"
    }

    fn prepare(&self, pod: &Pod, store: &Store, cache: &mut Cache) {
        for constraint in self.constraints(pod, store).0 {
            cache.keep_count(pod.namespace, constraint.selection);
        }
    }

    fn filter(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
        let state = cycle.spread_filter.get_or_init(|| self.filter_state(cycle));
        let object = node.object.as_ref()?;
        let reject = |reason: &str, is_unresolvable| {
            Some(Rejection { plugin: self.name(), reasons: vec![reason.to_owned()], is_unresolvable })
        };
        for (index, constraint) in state.constraints.iter().enumerate() {
            let Some(value) = object.labels.get(constraint.key) else {
                return reject("node(s) didn't match pod topology spread constraints (missing required label)", true);
            };
            let itself = i64::from(constraint.selection.matches(&cycle.pod.labels));
            let there = state.counts[index].get(&value).copied().unwrap_or(0);
            if there + itself - state.least[index] > constraint.max_skew {
                return reject("node(s) didn't match pod topology spread constraints", false);
            }
        }
        None
    }

    fn scores(&self, cycle: &Cycle<'_>, feasible: &[NodeId]) -> bool {
        !cycle.spread_score.get_or_init(|| self.score_state(cycle, feasible)).constraints.is_empty()
    }

    fn score(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
        let (Some(state), Some(object)) = (cycle.spread_score.get(), &node.object) else { return 0 };
        if node.id.is_none_or(|id| state.ignored.contains(&id)) {
            return 0;
        }
        let hostname = sym!("kubernetes.io/hostname");
        let mut sum = 0.0;
        for (index, constraint) in state.constraints.iter().enumerate() {
            let Some(value) = object.labels.get(constraint.key) else { continue };
            let count = if constraint.key == hostname {
                cycle.cache.count(constraint.counter, node)
            } else {
                state.counts[index].get(&value).copied().unwrap_or(0)
            };
            sum += count as f64 * state.weights[index] + (constraint.max_skew - 1) as f64;
        }
        sum.round() as i64
    }

    fn normalize(&self, cycle: &Cycle<'_>, feasible: &[NodeId], scores: &mut [i64]) {
        let Some(state) = cycle.spread_score.get() else { return };
        let considered = || feasible.iter().zip(scores.iter()).filter(|(node, _)| !state.ignored.contains(node));
        let min = considered().map(|(_, score)| *score).min().unwrap_or(0);
        let max = considered().map(|(_, score)| *score).max().unwrap_or(0).max(0);
        for (node, score) in feasible.iter().zip(scores.iter_mut()) {
            *score = match max {
                _ if state.ignored.contains(node) => 0,
                0 => 100,
                max => 100 * (max + min - *score) / max,
            };
        }
    }

    fn hint(&self, _pod: &Pod, event: &ClusterEvent<'_>, _node: Option<&NodeInfo>) -> bool {
        match event {
            ClusterEvent::PodAdded | ClusterEvent::PodRemoved | ClusterEvent::NodeAdded(_) => true,
            ClusterEvent::NodeUpdated { delta, .. } => delta.touches(NodeDelta::TAINTS | NodeDelta::LABELS),
        }
    }
}
