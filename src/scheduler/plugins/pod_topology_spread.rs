//! PodTopologySpread: pods of a kind are spread evenly over zones, hosts, racks.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use smallvec::SmallVec;

use crate::arena::{Symbol, sym};
use crate::model::api_type::{empty_is_none, null_is_default};
use crate::model::config::KubernetesVersion;
use crate::model::{
    LabelSelector, Labels, NodeInclusionPolicy, TopologySpreadConstraint, UnsatisfiableConstraintAction,
    is_qualified_name,
};
use crate::scheduler::arguments::{PluginArguments, Problems};
use crate::scheduler::cache::Cache;
use crate::scheduler::counts::{Alike, Counted, Inclusion, Reach, ViewId, ViewRef};
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{
    AnyPlugin, Incoming, Plugin, Point, PreFilter, Prepared, Register, WidePlugin, quotient,
};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::rejection::{Rejection, Remedy};
use crate::scheduler::term::Term;
use crate::state::{NodeDelta, NodeId, Owner, Pod, Store};

pub(in crate::scheduler) struct PodTopologySpread {
    defaults: Vec<TopologySpreadConstraint>,
    /// The defaults are those of the system, not a list of the user's.
    is_system: bool,
}

/// `PodTopologySpreadArgs`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::scheduler) struct PodTopologySpreadArgs {
    #[serde(deserialize_with = "null_is_default")]
    default_constraints: Vec<DefaultConstraint>,
    defaulting_type: Option<DefaultingType>,
}

/// A constraint of pods that have none of their own. A pod's constraints have the same fields, but here nothing is filled in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct DefaultConstraint {
    max_skew: i32,
    topology_key: Symbol,
    #[serde(deserialize_with = "empty_is_none")]
    when_unsatisfiable: Option<UnsatisfiableConstraintAction>,
    label_selector: Option<LabelSelector>,
    min_domains: Option<i32>,
    #[serde(deserialize_with = "empty_is_none")]
    node_affinity_policy: Option<NodeInclusionPolicy>,
    #[serde(deserialize_with = "empty_is_none")]
    node_taints_policy: Option<NodeInclusionPolicy>,
    #[serde(deserialize_with = "null_is_default")]
    match_label_keys: Vec<Symbol>,
}

impl From<DefaultConstraint> for TopologySpreadConstraint {
    fn from(constraint: DefaultConstraint) -> Self {
        let DefaultConstraint {
            max_skew,
            topology_key,
            when_unsatisfiable,
            label_selector,
            min_domains,
            node_affinity_policy,
            node_taints_policy,
            match_label_keys,
        } = constraint;
        Self {
            max_skew,
            topology_key,
            when_unsatisfiable: when_unsatisfiable.unwrap_or_default(),
            label_selector,
            min_domains,
            node_affinity_policy,
            node_taints_policy,
            match_label_keys,
        }
    }
}

impl PluginArguments for PodTopologySpreadArgs {
    fn check(&self, problems: &mut Problems) {
        let is_list = self.defaulting_type == Some(DefaultingType::List);
        let rule = "be `List` where there are `defaultConstraints`";
        problems.unless(is_list || self.default_constraints.is_empty(), "defaultingType", rule);
        for (index, constraint) in self.default_constraints.iter().enumerate() {
            let path = format!("defaultConstraints[{index}]");
            problems.unless_within(constraint.max_skew, 1..=i64::MAX, format_args!("{path}.maxSkew"));
            let key = constraint.topology_key;
            let is_key = is_qualified_name(key.as_str());
            problems.unless(is_key, format_args!("{path}.topologyKey"), "be the key of a label");
            let (action, rule) = (constraint.when_unsatisfiable, "be `DoNotSchedule` or `ScheduleAnyway`");
            problems.unless(action.is_some(), format_args!("{path}.whenUnsatisfiable"), rule);
            let rule = "be left out: which pods count follows from each pod";
            problems.unless(constraint.label_selector.is_none(), format_args!("{path}.labelSelector"), rule);
            let is_same = |other: &DefaultConstraint| (other.topology_key, other.when_unsatisfiable) == (key, action);
            if let Some(first) = self.default_constraints[..index].iter().position(is_same) {
                let rule = format_args!("differ from `defaultConstraints[{first}]` in its key or in what happens");
                problems.unless(false, path, rule);
            }
        }
    }
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
    is_hostname: bool,
    min_domains: usize,
    /// The pod is one of those it counts.
    matches_itself: bool,
    /// Only nodes that the pod's affinity allows count.
    honors_affinity: bool,
    view: ViewId,
}

/// The constraints of pods that are alike.
#[derive(Debug)]
struct Constraints {
    hard: SmallVec<[Constraint; 1]>,
    soft: SmallVec<[Constraint; 2]>,
    /// Nodes without a key are left out of scoring; not so with the system's defaults.
    needs_all_keys: bool,
}

/// What the pod's Services and its controller select; none if they select nothing in particular.
///
/// # Source
/// kube-scheduler, `helper.DefaultSelector`.
fn deduced(pod: &Pod, store: &Store) -> Vec<LabelSelector> {
    let mut selectors = Vec::new();
    for (_, service) in store.services.iter().filter(|(_, service)| service.meta.namespace == pod.namespace) {
        let wanted = &service.spec.selector;
        let pairs = wanted.as_slice();
        if !pairs.is_empty() && pairs.iter().all(|(key, value)| pod.labels.get(*key) == Some(*value)) {
            selectors.push(LabelSelector::from_labels(wanted));
        }
    }
    let of_owner = match pod.owner {
        Some(Owner::ReplicaSet(id)) => store.replica_sets.get(id).and_then(|set| set.spec.selector.clone()),
        Some(Owner::StatefulSet(id)) => store.stateful_sets.get(id).and_then(|set| set.spec.selector.clone()),
        _ => None,
    };
    selectors.extend(of_owner);
    selectors.retain(|selector| !selector.is_empty());
    selectors
}

/// What a constraint of the pod's own selects; none if it selects nothing.
fn selected(constraint: &TopologySpreadConstraint, pod: &Pod) -> Option<Vec<LabelSelector>> {
    let mut selectors = vec![constraint.label_selector.clone()?];
    let keys = constraint.match_label_keys.iter();
    let pairs: Labels = keys.filter_map(|&key| Some((key, pod.labels.get(key)?))).collect();
    selectors.push(LabelSelector::from_labels(&pairs));
    selectors.retain(|selector| !selector.is_empty());
    Some(selectors)
}

/// A constraint and what it selects; none if it selects nothing.
type Selecting<'a> = (&'a TopologySpreadConstraint, Option<Vec<LabelSelector>>);

fn is_hard(constraint: &TopologySpreadConstraint) -> bool {
    constraint.when_unsatisfiable == UnsatisfiableConstraintAction::DoNotSchedule
}

impl PodTopologySpread {
    fn new(arguments: PodTopologySpreadArgs) -> Self {
        if arguments.defaulting_type == Some(DefaultingType::List) {
            let defaults = arguments.default_constraints.into_iter().map(TopologySpreadConstraint::from).collect();
            return Self { defaults, is_system: false };
        }
        let soft = |max_skew, topology_key| TopologySpreadConstraint {
            max_skew,
            topology_key,
            when_unsatisfiable: UnsatisfiableConstraintAction::ScheduleAnyway,
            ..TopologySpreadConstraint::default()
        };
        let defaults = vec![soft(3, sym!("kubernetes.io/hostname")), soft(5, sym!("topology.kubernetes.io/zone"))];
        Self { defaults, is_system: true }
    }

    /// The pod's own constraints, or else the defaults with what its Services and its controller select, if anything.
    fn constraints<'a>(
        &'a self,
        pod: &'a Pod,
        store: &Store,
    ) -> (&'a [TopologySpreadConstraint], Option<Vec<LabelSelector>>) {
        let own = &pod.spec.topology_spread_constraints;
        if !own.is_empty() {
            return (own, None);
        }
        let deduced = deduced(pod, store);
        if deduced.is_empty() { (&[], None) } else { (&self.defaults, Some(deduced)) }
    }
}

impl Constraint {
    /// `selectors`: all of these; none selects no pod, while an empty list counts no pod but takes in the pod itself.
    fn new(
        given: &TopologySpreadConstraint,
        selectors: Option<Vec<LabelSelector>>,
        keys: &[Symbol],
        is_system: bool,
        pod: &Pod,
        cache: &mut Cache,
    ) -> Self {
        let matches_itself =
            selectors.as_ref().is_some_and(|all| all.iter().all(|selector| selector.matches(&pod.labels)));
        let mut terms: SmallVec<[Term; 1]> = SmallVec::new();
        for selector in selectors.unwrap_or_default() {
            terms.push(Term::in_namespace(pod.namespace, Some(selector)));
        }
        if terms.is_empty() {
            terms.push(Term::in_namespace(pod.namespace, None));
        }
        let is_bound = !pod.spec.node_selector.is_empty() || pod.spec.required_node_affinity().is_some();
        let honors_affinity = given.node_affinity_policy != Some(NodeInclusionPolicy::Ignore);
        let honors_taints = given.node_taints_policy == Some(NodeInclusionPolicy::Honor);
        let inclusion = Inclusion {
            keys: keys.iter().copied().collect(),
            affinity: (is_bound && honors_affinity).then(|| Arc::clone(&pod.spec)),
            taints: honors_taints.then(|| Arc::clone(&pod.spec)),
            is_missing_a_domain: is_system,
        };
        let counted = Counted::Matching { terms, with_terminating: false };
        Self {
            max_skew: given.max_skew.into(),
            is_hostname: given.topology_key == sym!("kubernetes.io/hostname"),
            min_domains: given.min_domains.unwrap_or(1).max(1) as usize,
            matches_itself,
            honors_affinity,
            view: cache.view(counted, given.topology_key, &inclusion),
        }
    }
}

impl Register for PodTopologySpread {
    const NAME: &'static str = "PodTopologySpread";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter, Point::PreScore, Point::Score];
    const WEIGHT: i64 = 2;
    const SUMMARY: &'static str =
        "own constraints, the system's defaults or a list of defaults; `minDomains`, policies, `matchLabelKeys`";
    type Arguments = PodTopologySpreadArgs;

    fn make(arguments: PodTopologySpreadArgs, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::wide(Self::new(arguments))
    }
}

impl WidePlugin for PodTopologySpread {
    fn prepare(&self, pod: &Pod, store: &Store, cache: &mut Cache) -> Box<dyn Prepared> {
        let (constraints, deduced) = self.constraints(pod, store);
        let is_system = deduced.is_some() && self.is_system;
        let mut of_kind = |wants_hard: bool| -> Vec<Constraint> {
            let all = || constraints.iter().filter(|constraint| is_hard(constraint) == wants_hard);
            // With the system's defaults a node without a key stays.
            let keys: Vec<Symbol> =
                if is_system { Vec::new() } else { all().map(|constraint| constraint.topology_key).collect() };
            let selectors = |given| deduced.clone().or_else(|| selected(given, pod));
            all().map(|given| Constraint::new(given, selectors(given), &keys, is_system, pod, cache)).collect()
        };
        let (hard, soft) = (of_kind(true).into(), of_kind(false).into());
        Box::new(Constraints { hard, soft, needs_all_keys: !is_system })
    }
}

impl Constraint {
    fn reach(&self) -> Reach {
        if self.is_hostname { Reach::Node } else { Reach::Domain }
    }

    /// By how much the pods that are there already count: the more domains there are among so many nodes, of which these are in all
    /// domains, the more.
    fn weight(&self, view: ViewRef<'_>, count: usize, nodes: &[NodeId]) -> f64 {
        let size = if self.is_hostname { count } else { view.domains_among(nodes) };
        libm::log(size as f64 + 2.0)
    }

    /// Adds to the raw scores of nodes, one after the other, what it says of them; nothing of those without its key.
    fn add_raw_scores(&self, view: ViewRef<'_>, weight: f64, nodes: &[NodeId], sums: &mut [f64]) {
        let score = |count: i64| count as f64 * weight + (self.max_skew - 1) as f64;
        let nodes = sums.iter_mut().zip(nodes.iter().copied()).filter(|(_, node)| view.has_key(*node));
        if self.is_hostname {
            // Pods on a host are counted whether its node is taken in or not.
            nodes.for_each(|(sum, node)| *sum += score(view.on_node(node)));
        } else {
            nodes.for_each(|(sum, node)| *sum += score(view.around(node).unwrap_or(0)));
        }
    }
}

/// The nearest whole number of one that is not negative; halves go up.
fn rounded(sum: f64) -> i64 {
    let whole = sum as i64;
    whole + i64::from(sum - whole as f64 >= 0.5)
}

impl Prepared for Constraints {
    fn begin_cycle(&self, cache: &mut Cache) {
        for constraint in &self.hard {
            cache.counts.refresh_least(constraint.view);
        }
    }

    fn pre_filter(&self, _incoming: Incoming<'_>, _cache: &Cache) -> PreFilter {
        if self.hard.is_empty() { PreFilter::Skip } else { PreFilter::Pass }
    }

    fn filter(&self, incoming: Incoming<'_>, cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        let id = node.id?;
        for constraint in &self.hard {
            let view = cache.counts.read(constraint.view);
            let Some(there) = view.around(id) else {
                let reason = sym!("node(s) didn't match pod topology spread constraints (missing required label)");
                return Some(Rejection::unresolvable(PodTopologySpread::NAME, reason));
            };
            let is_pinned = constraint.honors_affinity && incoming.pod.pinned_node.is_some();
            let (there, (domains, least)) = match view.includes(id) {
                _ if !is_pinned => (there, view.least()),
                // The node of a pod that can only be there is the only domain.
                true => {
                    let on_node = view.on_node(id);
                    (on_node, (1, on_node))
                }
                false => (0, (0, 0)),
            };
            let least = if domains < constraint.min_domains { 0 } else { least };
            if there + i64::from(constraint.matches_itself) - least > constraint.max_skew {
                let reason = sym!("node(s) didn't match pod topology spread constraints");
                return Some(Rejection::unschedulable(PodTopologySpread::NAME, reason));
            }
        }
        None
    }

    fn remedies(&self, _: Incoming<'_>, _: &Cache, _: &NodeInfo, rejection: &Rejection) -> Vec<Remedy> {
        let words = match rejection.is_unresolvable {
            true => "the node had the labels its spread constraints name",
            false => "its spread constraints allowed one more there, or there were fewer of its kind",
        };
        vec![Remedy::Else(words.into())]
    }

    fn score(&self, _incoming: Incoming<'_>, cache: &Cache, feasible: &[NodeId], scores: &mut Vec<i64>) -> bool {
        if self.soft.is_empty() {
            return false;
        }
        let views: SmallVec<[ViewRef<'_>; 2]> =
            self.soft.iter().map(|constraint| cache.counts.read(constraint.view)).collect();
        // A node that lacks one of the keys is left out.
        let is_left_out = |node: &NodeId| self.needs_all_keys && views.iter().any(|view| view.domain(*node).is_none());
        let considered = if feasible.iter().any(is_left_out) {
            Cow::Owned(feasible.iter().copied().filter(|node| !is_left_out(node)).collect())
        } else {
            Cow::Borrowed(feasible)
        };
        let reaching: SmallVec<[(ViewRef<'_>, Reach); 2]> =
            views.iter().zip(&self.soft).map(|(&view, constraint)| (view, constraint.reach())).collect();
        let alike = Alike::of(&reaching, &considered);
        let nodes = alike.as_ref().map_or(&*considered, |alike| &alike.nodes);
        let mut sums = vec![0.0; nodes.len()];
        for (constraint, &view) in self.soft.iter().zip(&views) {
            let weight = constraint.weight(view, considered.len(), nodes);
            constraint.add_raw_scores(view, weight, nodes, &mut sums);
        }
        let mut of_nodes: Vec<i64> = sums.into_iter().map(rounded).collect();
        let max = of_nodes.iter().copied().max().unwrap_or(0);
        let min = of_nodes.iter().copied().min().unwrap_or(0);
        for score in &mut of_nodes {
            *score = if max == 0 { 100 } else { quotient(100 * (max + min - *score), max) };
        }
        match &alike {
            Some(alike) => scores.extend(alike.spread(&of_nodes)),
            None => scores.append(&mut of_nodes),
        }
        if considered.len() < feasible.len() {
            let mut of_considered = std::mem::take(scores).into_iter();
            let of_node = |node| if is_left_out(node) { 0 } else { of_considered.next().unwrap_or(0) };
            scores.extend(feasible.iter().map(of_node));
        }
        true
    }
}

impl Plugin for PodTopologySpread {
    fn events(&self) -> Events {
        Events::POD_ADDED
            | Events::POD_REMOVED
            | Events::POD_UPDATED
            | Events::ITSELF
            | Events::NODE_ADDED
            | Events::NODE_REMOVED
            | Events::NODE_LABELS
            | Events::NODE_TAINTS
    }

    fn hint(&self, Incoming { pod, store, .. }: Incoming<'_>, event: &ClusterEvent<'_>, cache: &Cache) -> bool {
        let (constraints, deduced) = self.constraints(pod, store);
        let selectors = |constraint| deduced.clone().or_else(|| selected(constraint, pod));
        let hard = constraints.iter().filter(|constraint| is_hard(constraint));
        let hard: SmallVec<[Selecting<'_>; 1]> = hard.map(|constraint| (constraint, selectors(constraint))).collect();
        let counts = |(_, selectors): &Selecting<'_>, labels: &Labels| {
            selectors.as_ref().is_some_and(|all| all.iter().all(|selector| selector.matches(labels)))
        };
        let flips = |before: &Labels, after: &Labels| hard.iter().any(|c| counts(c, before) != counts(c, after));
        let has_keys = |labels: &Labels| hard.iter().all(|(c, _)| labels.get(c.topology_key).is_some());
        match event {
            ClusterEvent::PodRemoved { was_assigned: false, .. } if !cache.version.at_least(36) => false,
            ClusterEvent::PodAdded(other) | ClusterEvent::PodRemoved { pod: other, .. } => {
                other.namespace == pod.namespace && hard.iter().any(|constraint| counts(constraint, &other.labels))
            }
            ClusterEvent::PodUpdated { before, after } => {
                after.namespace == pod.namespace && flips(&before.labels, &after.labels)
            }
            ClusterEvent::Itself { before } => {
                let honors = |(c, _): &Selecting<'_>| c.node_taints_policy == Some(NodeInclusionPolicy::Honor);
                flips(&before.labels, &pod.labels) || (event.gives_tolerations(pod) && hard.iter().any(honors))
            }
            ClusterEvent::NodeAdded(node) => {
                cache.node(*node).object.as_ref().is_some_and(|node| has_keys(&node.labels))
            }
            ClusterEvent::NodeRemoved(node) => has_keys(&node.labels),
            ClusterEvent::NodeUpdated { before, delta, .. } => event.node(cache).is_some_and(|(_, now, _)| {
                let moves =
                    |(c, _): &Selecting<'_>| before.labels.get(c.topology_key) != now.labels.get(c.topology_key);
                has_keys(&before.labels) != has_keys(&now.labels)
                    || (has_keys(&now.labels) && (hard.iter().any(moves) || delta.touches(NodeDelta::TAINTS)))
            }),
            ClusterEvent::Storage(_) | ClusterEvent::UnschedulableTimeout(_) => false,
        }
    }
}
