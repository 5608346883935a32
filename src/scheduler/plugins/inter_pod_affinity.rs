//! InterPodAffinity: pods that want to be near others, or far from them.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use smallvec::SmallVec;

use crate::arena::sym;
use crate::model::api_type::null_is_default;
use crate::model::config::KubernetesVersion;
use crate::model::{PodAffinity, PodAffinityTerm};
use crate::scheduler::arguments::{PluginArguments, Problems};
use crate::scheduler::cache::Cache;
use crate::scheduler::counts::{Counted, Inclusion, ViewId, ViewRef};
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{AnyPlugin, Incoming, Plugin, Point, PreFilter, Prepared, Register, WidePlugin};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::rejection::{Rejection, Remedy};
use crate::scheduler::term::{Term, TermKind, preferred, required};
use crate::state::{NodeDelta, NodeId, Pod, Store};

pub(in crate::scheduler) struct InterPodAffinity {
    arguments: InterPodAffinityArgs,
}

/// `InterPodAffinityArgs`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::scheduler) struct InterPodAffinityArgs {
    hard_pod_affinity_weight: Option<i32>,
    #[serde(deserialize_with = "null_is_default")]
    ignore_preferred_terms_of_existing_pods: bool,
}

impl InterPodAffinityArgs {
    fn hard_weight(&self) -> i64 {
        self.hard_pod_affinity_weight.unwrap_or(1).into()
    }
}

impl PluginArguments for InterPodAffinityArgs {
    fn check(&self, problems: &mut Problems) {
        problems.unless_within(self.hard_weight(), 0..=100, "hardPodAffinityWeight");
    }
}

/// What pods that are alike need to know of others.
#[derive(Debug, Default)]
struct AffinityCounts {
    /// Pods that match all required affinity terms, around each term's topology.
    affinity: SmallVec<[ViewId; 1]>,
    /// The pod is one of those it must be near.
    matches_itself: bool,
    /// Pods that match a required anti-affinity term, term by term.
    anti_affinity: SmallVec<[ViewId; 1]>,
    /// Pods whose required anti-affinity matches this one.
    existing_anti_affinity: SmallVec<[ViewId; 1]>,
    /// Pods that raise or lower a node's score, each by so much.
    preferred: SmallVec<[(ViewId, i64); 1]>,
}

impl InterPodAffinity {
    /// By how much a pod with a term that matches the incoming one changes scores in the term's topology.
    fn weight(&self, kind: TermKind) -> i64 {
        match kind {
            TermKind::Required => self.arguments.hard_weight(),
            TermKind::Preferred(weight) => weight,
            TermKind::RequiredAnti => 0,
        }
    }
}

fn counted(terms: impl IntoIterator<Item = Term>) -> Counted {
    Counted::Matching { terms: terms.into_iter().collect(), with_terminating: true }
}

/// What a pod must be near, and what it must keep away from.
fn required_terms(pod: &Pod) -> (Vec<Term>, Vec<Term>) {
    let affinity = pod.spec.affinity.as_ref();
    let terms =
        |affinity: Option<&PodAffinity>| required(affinity).iter().map(|t| Term::new(t, pod.namespace)).collect();
    (
        terms(affinity.and_then(|affinity| affinity.pod_affinity.as_ref())),
        terms(affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref())),
    )
}

/// Whether there are terms and all match a pod, as hints see it: namespaces that a selector would give are not looked up.
fn all_match(terms: &[Term], pod: &Pod) -> bool {
    let unresolved = FxHashMap::default();
    !terms.is_empty() && terms.iter().all(|term| term.matches(pod.namespace, &pod.labels, &unresolved))
}

impl Register for InterPodAffinity {
    const NAME: &'static str = "InterPodAffinity";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter, Point::PreScore, Point::Score];
    const WEIGHT: i64 = 2;
    const SUMMARY: &'static str = "all four kinds, both ways, namespaces and their selector, `matchLabelKeys`";
    type Arguments = InterPodAffinityArgs;

    fn make(arguments: InterPodAffinityArgs, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::wide(Self { arguments })
    }
}

impl WidePlugin for InterPodAffinity {
    fn prepare(&self, pod: &Pod, _store: &Store, cache: &mut Cache) -> Box<dyn Prepared> {
        let is_selector_kept = cache.version.at_least(34);
        let own = |term: &PodAffinityTerm| Term::of_incoming(term, pod.namespace, is_selector_kept);
        let affinity = pod.spec.affinity.as_ref();
        let (near, far) = (
            affinity.and_then(|affinity| affinity.pod_affinity.as_ref()),
            affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref()),
        );
        let mut counts = AffinityCounts::default();
        let mut around = |terms: Vec<Term>, key| cache.view(counted(terms), key, &Inclusion::with_key(key));
        let required_near: Vec<Term> = required(near).iter().map(own).collect();
        for term in &required_near {
            counts.affinity.push(around(required_near.clone(), term.topology_key));
        }
        for term in required(far).iter().map(own) {
            let key = term.topology_key;
            counts.anti_affinity.push(around(vec![term], key));
        }
        let signed = preferred(near).chain(preferred(far).map(|(weight, term)| (-weight, term)));
        for (weight, term) in signed {
            let term = own(term);
            let key = term.topology_key;
            counts.preferred.push((around(vec![term], key), weight));
        }
        counts.matches_itself = required_near.iter().all(|term| cache.counts.matches(term, pod));
        // What others prefer is ignored only where the incoming pod prefers nothing: the real plugin then skips scoring, and
        // otherwise counts everything.
        let has_preferences = !counts.preferred.is_empty();
        for (key, kind, counter) in cache.counts.terms_matching(pod) {
            let view = cache.view_of(counter, key, &Inclusion::with_key(key));
            let weight = self.weight(kind);
            if kind == TermKind::RequiredAnti {
                counts.existing_anti_affinity.push(view);
            } else if weight != 0 && (has_preferences || !self.arguments.ignore_preferred_terms_of_existing_pods) {
                counts.preferred.push((view, weight));
            }
        }
        Box::new(counts)
    }
}

impl Prepared for AffinityCounts {
    fn pre_filter(&self, _incoming: Incoming<'_>, cache: &Cache) -> PreFilter {
        let is_avoided = self.existing_anti_affinity.iter().any(|&view| cache.counts.read(view).total() > 0);
        let has_terms = !self.affinity.is_empty() || !self.anti_affinity.is_empty();
        if has_terms || is_avoided { PreFilter::Pass } else { PreFilter::Skip }
    }

    fn filter(&self, _incoming: Incoming<'_>, cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        const NAME: &str = InterPodAffinity::NAME;
        let id = node.id?;
        let has_pods = |view: &ViewId| cache.counts.read(*view).around(id).is_some_and(|pods| pods > 0);
        if !self.affinity.is_empty() {
            let has_keys = self.affinity.iter().all(|&view| cache.counts.read(view).domain(id).is_some());
            let is_matched = || self.affinity.iter().all(has_pods);
            // The first of pods that want each other has to be let in.
            let is_first =
                || self.matches_itself && self.affinity.iter().all(|&view| cache.counts.read(view).total() == 0);
            if !has_keys || !(is_matched() || is_first()) {
                return Some(Rejection::unresolvable(NAME, sym!("node(s) didn't match pod affinity rules")));
            }
        }
        if self.anti_affinity.iter().any(has_pods) {
            return Some(Rejection::unschedulable(NAME, sym!("node(s) didn't match pod anti-affinity rules")));
        }
        if self.existing_anti_affinity.iter().any(has_pods) {
            let reason = sym!("node(s) didn't satisfy existing pods anti-affinity rules");
            return Some(Rejection::unschedulable(NAME, reason));
        }
        None
    }

    fn remedies(&self, _: Incoming<'_>, _: &Cache, _: &NodeInfo, rejection: &Rejection) -> Vec<Remedy> {
        let words = match rejection.is_unresolvable {
            true => "the pods it must be near were there",
            false => "no pod were there that it must keep away from, or that must keep away from it",
        };
        vec![Remedy::Else(words.into())]
    }

    /// The order of the float operations is the real one's; it shows: 29 of 50 give 57.
    fn score(&self, _incoming: Incoming<'_>, cache: &Cache, feasible: &[NodeId], scores: &mut Vec<i64>) -> bool {
        if !self.preferred.iter().any(|(view, _)| cache.counts.read(*view).total() > 0) {
            return false;
        }
        let weighted: SmallVec<[(ViewRef<'_>, i64); 4]> =
            self.preferred.iter().map(|(view, weight)| (cache.counts.read(*view), *weight)).collect();
        let raw =
            |&node: &NodeId| weighted.iter().map(|(view, weight)| weight * view.around(node).unwrap_or(0)).sum::<i64>();
        scores.extend(feasible.iter().map(raw));
        let (min, max) = (scores.iter().copied().min().unwrap_or(0), scores.iter().copied().max().unwrap_or(0));
        for score in scores {
            let share = if max == min { 0.0 } else { (*score - min) as f64 / (max - min) as f64 };
            *score = (100.0 * share) as i64;
        }
        true
    }
}

impl Plugin for InterPodAffinity {
    fn events(&self) -> Events {
        Events::POD_ADDED
            | Events::POD_REMOVED
            | Events::POD_UPDATED
            | Events::ITSELF
            | Events::NODE_ADDED
            | Events::NODE_LABELS
    }

    fn hint(&self, Incoming { pod, .. }: Incoming<'_>, event: &ClusterEvent<'_>, cache: &Cache) -> bool {
        let is_recent = cache.version.at_least(36);
        let (near, far) = required_terms(pod);
        match event {
            ClusterEvent::PodAdded(other) => all_match(&near, other),
            ClusterEvent::PodUpdated { before, after } => {
                (!all_match(&near, before) && all_match(&near, after))
                    || (all_match(&far, before) && !all_match(&far, after))
            }
            ClusterEvent::Itself { before } => is_recent && before.labels != pod.labels,
            ClusterEvent::PodRemoved { pod: gone, was_assigned } => {
                let was_avoiding = || all_match(&required_terms(gone).1, pod);
                (is_recent || *was_assigned) && (all_match(&far, gone) || (is_recent && was_avoiding()))
            }
            ClusterEvent::NodeAdded(_) => event.node(cache).is_some_and(|(_, node, _)| {
                !far.is_empty() || near.iter().any(|term| node.labels.get(term.topology_key).is_some())
            }),
            ClusterEvent::NodeUpdated { delta, before, .. } if delta.touches(NodeDelta::LABELS) => {
                event.node(cache).is_some_and(|(_, now, _)| {
                    let values =
                        |term: &Term| (before.labels.get(term.topology_key), now.labels.get(term.topology_key));
                    near.iter().map(values).any(|(before, now)| now.is_some() && before != now)
                        || far.iter().map(values).any(|(before, now)| before.is_some() && before != now)
                })
            }
            ClusterEvent::NodeRemoved(_)
            | ClusterEvent::NodeUpdated { .. }
            | ClusterEvent::Storage(_)
            | ClusterEvent::UnschedulableTimeout(_) => false,
        }
    }
}
