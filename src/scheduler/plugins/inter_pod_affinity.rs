//! InterPodAffinity: pods that want to be near others, or far from them.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use smallvec::SmallVec;

use crate::arena::sym;
use crate::model::api_type::null_is_default;
use crate::model::{PodAffinity, PodAffinityTerm};
use crate::scheduler::arguments::{PluginArguments, Problems};
use crate::scheduler::cache::Cache;
use crate::scheduler::counts::{Counted, Inclusion, ViewId};
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{Cycle, Plugin, PreFilter, Rejection, Template};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::obstacles::Remedy;
use crate::scheduler::term::{Bond, Term, preferred, required};
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
#[derive(Clone, Debug, Default)]
pub(in crate::scheduler) struct Prepared {
    /// Pods that all required affinity terms speak of, around each term's topology.
    wanted: SmallVec<[ViewId; 1]>,
    /// The pod is one of those it wants to be near.
    wants_itself: bool,
    /// Pods that a required anti-affinity term speaks of, term by term.
    shunned: SmallVec<[ViewId; 1]>,
    /// Pods whose required anti-affinity speaks of this one.
    shunning: SmallVec<[ViewId; 1]>,
    /// Pods that raise or lower a node's score, each by so much.
    attracting: SmallVec<[(ViewId, i64); 1]>,
}

impl InterPodAffinity {
    pub(in crate::scheduler) fn new(arguments: InterPodAffinityArgs) -> Self {
        Self { arguments }
    }

    /// By how much a pod that bears a term that speaks of the incoming one changes scores in the term's topology.
    fn weight(&self, bond: Bond) -> i64 {
        match bond {
            Bond::Required => self.arguments.hard_weight(),
            Bond::Preferred(weight) => weight,
            Bond::RequiredAnti => 0,
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

/// Whether there are terms and all speak of a pod, as hints see it: namespaces that a selector would give are not looked up.
fn all_speak_of(terms: &[Term], pod: &Pod) -> bool {
    let unresolved = FxHashMap::default();
    !terms.is_empty() && terms.iter().all(|term| term.matches(pod.namespace, &pod.labels, &unresolved))
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> &'static str {
        "InterPodAffinity"
    }

    fn prepare(&self, pod: &Pod, _store: &Store, cache: &mut Cache, template: &mut Template) {
        let is_selector_kept = cache.version.at_least(34);
        let own = |term: &PodAffinityTerm| Term::of_incoming(term, pod.namespace, is_selector_kept);
        let affinity = pod.spec.affinity.as_ref();
        let (near, far) = (
            affinity.and_then(|affinity| affinity.pod_affinity.as_ref()),
            affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref()),
        );
        let mut prepared = Prepared::default();
        let mut around = |terms: Vec<Term>, key| cache.view(counted(terms), key, &Inclusion::with_key(key));
        let wanted: Vec<Term> = required(near).iter().map(own).collect();
        for term in &wanted {
            prepared.wanted.push(around(wanted.clone(), term.topology_key));
        }
        for term in required(far).iter().map(own) {
            let key = term.topology_key;
            prepared.shunned.push(around(vec![term], key));
        }
        let signed = preferred(near).chain(preferred(far).map(|(weight, term)| (-weight, term)));
        for (weight, term) in signed {
            let term = own(term);
            let key = term.topology_key;
            prepared.attracting.push((around(vec![term], key), weight));
        }
        prepared.wants_itself = wanted.iter().all(|term| cache.counts.speaks_of(term, pod));
        // What others prefer is ignored only where the incoming pod prefers nothing: the real plugin then skips scoring, and
        // otherwise counts everything.
        let has_wishes = !prepared.attracting.is_empty();
        for (key, bond, counter) in cache.counts.bonds_with(pod) {
            let view = cache.view_of(counter, key, &Inclusion::with_key(key));
            let weight = self.weight(bond);
            if bond == Bond::RequiredAnti {
                prepared.shunning.push(view);
            } else if weight != 0 && (has_wishes || !self.arguments.ignore_preferred_terms_of_existing_pods) {
                prepared.attracting.push((view, weight));
            }
        }
        template.affinity = prepared;
    }

    fn pre_filter(&self, cycle: &Cycle<'_>, cache: &Cache) -> PreFilter {
        let Prepared { wanted, shunned, shunning, .. } = &cycle.template.affinity;
        let is_shunned = shunning.iter().any(|&view| cache.counts.total(view) > 0);
        if wanted.is_empty() && shunned.is_empty() && !is_shunned { PreFilter::Skip } else { PreFilter::Pass }
    }

    fn filter(&self, cycle: &Cycle<'_>, cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        let id = node.id?;
        let Prepared { wanted, wants_itself, shunned, shunning, .. } = &cycle.template.affinity;
        if !wanted.is_empty() {
            let has_keys = wanted.iter().all(|&view| cache.counts.domain(view, id).is_some());
            let has_company = || wanted.iter().all(|&view| cache.counts.around(view, id).is_some_and(|pods| pods > 0));
            // The first of pods that want each other has to be let in.
            let is_first = || *wants_itself && wanted.iter().all(|&view| cache.counts.total(view) == 0);
            if !has_keys || !(has_company() || is_first()) {
                return Some(Rejection::unresolvable(self.name(), sym!("node(s) didn't match pod affinity rules")));
            }
        }
        let has_any = |views: &[ViewId]| views.iter().any(|&view| cache.counts.around(view, id).is_some_and(|n| n > 0));
        if has_any(shunned) {
            return Some(Rejection::unschedulable(self.name(), sym!("node(s) didn't match pod anti-affinity rules")));
        }
        if has_any(shunning) {
            let reason = sym!("node(s) didn't satisfy existing pods anti-affinity rules");
            return Some(Rejection::unschedulable(self.name(), reason));
        }
        None
    }

    fn remedies(&self, _cycle: &Cycle<'_>, _node: &NodeInfo, rejection: &Rejection) -> Vec<Remedy> {
        vec![if rejection.is_unresolvable { Remedy::Neighbors } else { Remedy::Distance }]
    }

    fn pre_score(&self, cycle: &Cycle<'_>, cache: &Cache, _feasible: &[NodeId]) -> Result<bool, String> {
        Ok(cycle.template.affinity.attracting.iter().any(|(view, _)| cache.counts.total(*view) > 0))
    }

    fn score(&self, cycle: &Cycle<'_>, cache: &Cache, node: &NodeInfo) -> i64 {
        let Some(id) = node.id else { return 0 };
        let attracting = cycle.template.affinity.attracting.iter();
        attracting.map(|(view, weight)| weight * cache.counts.around(*view, id).unwrap_or(0)).sum()
    }

    /// The order of the float operations is the real one's; it shows: 29 of 50 give 57.
    fn normalize(&self, _cycle: &Cycle<'_>, _cache: &Cache, _feasible: &[NodeId], scores: &mut [i64]) {
        let (min, max) = (scores.iter().copied().min().unwrap_or(0), scores.iter().copied().max().unwrap_or(0));
        for score in scores {
            let share = if max == min { 0.0 } else { (*score - min) as f64 / (max - min) as f64 };
            *score = (100.0 * share) as i64;
        }
    }

    fn events(&self) -> Events {
        Events::POD_ADDED
            | Events::POD_REMOVED
            | Events::POD_UPDATED
            | Events::ITSELF
            | Events::NODE_ADDED
            | Events::NODE_LABELS
    }

    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, cache: &Cache, _store: &Store) -> bool {
        let is_recent = cache.version.at_least(36);
        let (wanted, shunned) = required_terms(pod);
        match event {
            ClusterEvent::PodAdded(other) => all_speak_of(&wanted, other),
            ClusterEvent::PodUpdated { before, after } => {
                (!all_speak_of(&wanted, before) && all_speak_of(&wanted, after))
                    || (all_speak_of(&shunned, before) && !all_speak_of(&shunned, after))
            }
            ClusterEvent::Itself { before } => is_recent && before.labels != pod.labels,
            ClusterEvent::PodRemoved { pod: gone, was_assigned } => {
                let was_shunning = || all_speak_of(&required_terms(gone).1, pod);
                (is_recent || *was_assigned) && (all_speak_of(&shunned, gone) || (is_recent && was_shunning()))
            }
            ClusterEvent::NodeAdded(_) => event.node(cache).is_some_and(|(_, node, _)| {
                !shunned.is_empty() || wanted.iter().any(|term| node.labels.get(term.topology_key).is_some())
            }),
            ClusterEvent::NodeUpdated { delta, before, .. } if delta.touches(NodeDelta::LABELS) => {
                event.node(cache).is_some_and(|(_, now, _)| {
                    let values =
                        |term: &Term| (before.labels.get(term.topology_key), now.labels.get(term.topology_key));
                    wanted.iter().map(values).any(|(before, now)| now.is_some() && before != now)
                        || shunned.iter().map(values).any(|(before, now)| before.is_some() && before != now)
                })
            }
            _ => false,
        }
    }
}
