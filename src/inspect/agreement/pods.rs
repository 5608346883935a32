//! Which pod of a play stands for which that was seen.
//!
//! Names that chance ends are others in each play. Pods that were made meanwhile are paired by their owner, in the order of time; so are
//! those at t=0 whose names the play does not have, as where it makes them itself.

use std::collections::{BTreeMap, BTreeSet};

use super::played::{BY_KUBELET, Played, PlayedFact, PlayedPod};
use super::seen::{Seen, SeenPod, Window};
use super::sequence::{Cost, in_order};
use crate::arena::Symbol;
use crate::evidence::{FactKind, ObservedFact};

/// What it costs to pair pods of which the same was never seen, in milliseconds.
const NOTHING_ALIKE: u64 = 1 << 44;

/// An owner: namespace, kind, name.
type Owner = (Symbol, Symbol, Symbol);

/// By what pods are told apart that may stand for each other.
type Key = (Owner, Option<bool>, Symbol);

/// The owners of the pods of a play, and how those that were seen are called there.
#[derive(Debug)]
pub(super) struct Owners {
    played: BTreeSet<Owner>,
    /// Deployments by their ReplicaSets' pods: namespace and name.
    deployments: BTreeSet<(Symbol, Symbol)>,
    /// Those of the play that were seen under their own names.
    seen: BTreeSet<Owner>,
}

impl Owners {
    pub(super) fn of(seen: &Seen, played: &Played) -> Self {
        let pods = || played.pods.iter().filter(|pod| !pod.owner_name.is_empty());
        let of_deployments = pods().filter(|pod| pod.is_of_deployment);
        let deployments = of_deployments.map(|pod| (pod.namespace, stem(pod.owner_name)));
        let all: BTreeSet<Owner> = pods().map(|pod| (pod.namespace, pod.owner_kind, pod.owner_name)).collect();
        let mut owners = Self { deployments: deployments.collect(), played: all, seen: BTreeSet::new() };
        owners.seen = seen.pods.iter().filter_map(|pod| owners.own(pod)).collect();
        owners
    }

    /// The owner of a pod that was seen, if the play has it under that name.
    fn own(&self, pod: &SeenPod) -> Option<Owner> {
        let own = (pod.namespace, pod.owner_kind, pod.owner_name);
        if !pod.owner_name.is_empty() {
            return self.played.contains(&own).then_some(own);
        }
        // What nobody says of the owner, the name does.
        let name = stem(pod.name);
        self.played.iter().find(|owner| owner.0 == pod.namespace && owner.2 == name).copied()
    }

    /// The owner by which a pod that was seen is looked for; none if the play does not know it.
    pub(super) fn of_seen(&self, pod: &SeenPod) -> Option<Owner> {
        self.own(pod).or_else(|| {
            let replica_set = if pod.owner_name.is_empty() { stem(pod.name) } else { pod.owner_name };
            let deployment = (pod.namespace, stem(replica_set));
            let is_known = self.deployments.contains(&deployment);
            is_known.then(|| (deployment.0, Symbol::new("Deployment"), deployment.1))
        })
    }

    /// The owner by which a pod of the play is looked for: a ReplicaSet that nobody saw by its Deployment, as rollouts have other hashes.
    fn of_played(&self, pod: &PlayedPod) -> Option<Owner> {
        let own = (pod.namespace, pod.owner_kind, pod.owner_name);
        if pod.owner_name.is_empty() {
            return None;
        }
        let is_other = pod.is_of_deployment && !self.seen.contains(&own);
        Some(if is_other { (pod.namespace, Symbol::new("Deployment"), stem(pod.owner_name)) } else { own })
    }
}

/// A name without what is behind its last dash.
fn stem(name: Symbol) -> Symbol {
    name.as_str().rsplit_once('-').map_or(name, |(stem, _)| Symbol::new(stem))
}

/// How close two pods have to be: passes from what leaves no doubt to what leaves most.
const PASSES: [Pass; 3] = [
    Pass { asks_node: true, asks_age: true },
    Pass { asks_node: false, asks_age: true },
    Pass { asks_node: false, asks_age: false },
];

#[derive(Clone, Copy, Debug)]
struct Pass {
    /// Only pods that are bound to their node by what they are, or were there at t=0.
    asks_node: bool,
    asks_age: bool,
}

impl Pass {
    fn key(self, owner: Owner, is_made: bool, node: Symbol) -> Option<Key> {
        if !self.asks_node {
            return Some((owner, self.asks_age.then_some(is_made), Symbol::empty()));
        }
        let is_bound = owner.1 == "DaemonSet" || !is_made;
        (is_bound && !node.is_empty()).then_some((owner, Some(is_made), node))
    }
}

/// Pairs pods: for each that was seen, the place of the one of the play.
pub(super) fn pair(observed: &[ObservedFact], seen: &Seen, played: &Played, owners: &Owners) -> Vec<Option<usize>> {
    let by_name = |pod: &SeenPod| played.by_name.get(&(pod.namespace, pod.name)).copied();
    let mut pairs: Vec<Option<usize>> = seen.pods.iter().map(by_name).collect();
    let mut is_taken = vec![false; played.pods.len()];
    pairs.iter().flatten().for_each(|place| is_taken[*place] = true);
    for pass in PASSES {
        let mut groups: BTreeMap<Key, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for (place, pod) in seen.pods.iter().enumerate().filter(|(place, _)| pairs[*place].is_none()) {
            let key = owners.of_seen(pod).and_then(|owner| pass.key(owner, was_made(observed, pod), pod.node));
            if let Some(key) = key {
                groups.entry(key).or_default().0.push(place);
            }
        }
        for (place, pod) in played.pods.iter().enumerate() {
            if is_taken[place] || pod.facts.is_empty() {
                continue;
            }
            let key = owners.of_played(pod).and_then(|owner| pass.key(owner, !pod.is_initial, pod.node));
            if let Some((_, of_play)) = key.and_then(|key| groups.get_mut(&key)) {
                of_play.push(place);
            }
        }
        for (mut of_evidence, mut of_play) in groups.into_values() {
            of_evidence.sort_by_key(|place| (observed[seen.pods[*place].facts[0]].at, *place));
            of_play.sort_by_key(|place| (played.pods[*place].facts[0].at, *place));
            let of_evidence_pods: Vec<&SeenPod> = of_evidence.iter().map(|place| &seen.pods[*place]).collect();
            let of_play_pods: Vec<&PlayedPod> = of_play.iter().map(|place| &played.pods[*place]).collect();
            for (i, j) in group(observed, &of_evidence_pods, &of_play_pods) {
                pairs[of_evidence[i]] = Some(of_play[j]);
                is_taken[of_play[j]] = true;
            }
        }
    }
    pairs
}

/// How far in their order pods are exchanged for the sake of what came later.
const REACH: usize = 32;
/// How often all of them are looked at for that.
const ROUNDS: usize = 8;

/// Pairs pods that may stand for each other, which are in the order in which they came: by what came first of each, as records tell whole
/// seconds or samples, and then, as it does not matter which is which, so that what came later agrees.
fn group(observed: &[ObservedFact], seen: &[&SeenPod], played: &[&PlayedPod]) -> Vec<(usize, usize)> {
    let pairs = in_order((seen.len(), played.len()), |i, j| apart(observed, seen[i], played[j]));
    let is_turned = seen.len() < played.len();
    let mut partners: Vec<Option<usize>> = vec![None; seen.len().max(played.len())];
    for (i, j) in pairs {
        let (long, short) = if is_turned { (j, i) } else { (i, j) };
        partners[long] = Some(short);
    }
    let cost = |long: usize, short: Option<usize>| match (is_turned, short) {
        (true, Some(short)) => disagreement(observed, seen[short], played[long]),
        (false, Some(short)) => disagreement(observed, seen[long], played[short]),
        (true, None) => cost(played[long].facts.len() as u64, 0),
        (false, None) => cost(seen[long].facts.len() as u64, 0),
    };
    exchange(&mut partners, cost);
    let pairs = partners.into_iter().enumerate().filter_map(|(long, short)| Some((long, short?)));
    pairs.map(|(long, short)| if is_turned { (short, long) } else { (long, short) }).collect()
}

/// Exchanges partners as long as that makes them cheaper.
fn exchange(partners: &mut [Option<usize>], cost: impl Fn(usize, Option<usize>) -> Cost) {
    let mut costs: Vec<Cost> = partners.iter().enumerate().map(|(long, short)| cost(long, *short)).collect();
    for _ in 0..ROUNDS {
        let mut is_changed = false;
        for one in 0..partners.len() {
            for other in one + 1..partners.len().min(one + 1 + REACH) {
                if costs[one] + costs[other] == 0 || partners[one] == partners[other] {
                    continue;
                }
                let exchanged = (cost(one, partners[other]), cost(other, partners[one]));
                if exchanged.0 + exchanged.1 < costs[one] + costs[other] {
                    partners.swap(one, other);
                    (costs[one], costs[other]) = exchanged;
                    is_changed = true;
                }
            }
        }
        if !is_changed {
            break;
        }
    }
}

/// How many facts of two pods do not agree, and by how much.
fn disagreement(observed: &[ObservedFact], seen: &SeenPod, played: &PlayedPod) -> Cost {
    let mut is_told = vec![false; played.facts.len()];
    let (mut count, mut outside) = (0, 0_u64);
    for place in &seen.facts {
        let fact = &observed[*place];
        let same = (0..is_told.len()).find(|at| !is_told[*at] && is_same_change(fact, &played.facts[*at]));
        let off = same.map(|at| {
            is_told[at] = true;
            Window::of(fact).off(played.facts[at].at).unsigned_abs()
        });
        count += u64::from(off != Some(0));
        outside = outside.saturating_add(off.unwrap_or_default());
    }
    let extra = played.facts.iter().zip(is_told).filter(|(fact, is_told)| !is_told && !fact.is_implied).count() as u64;
    cost(count + extra, outside)
}

/// Whether what was seen of a pod begins as that of one that was made meanwhile does.
fn was_made(observed: &[ObservedFact], pod: &SeenPod) -> bool {
    let first = observed[pod.facts[0]].fact;
    match first.kind {
        FactKind::PodCreated | FactKind::PodScheduled => true,
        FactKind::PodReady => first.value == "True",
        _ => false,
    }
}

/// How far two pods are apart by the first thing that both have.
fn apart(observed: &[ObservedFact], seen: &SeenPod, played: &PlayedPod) -> Cost {
    let alike = seen.facts.iter().find_map(|place| {
        let fact = &observed[*place];
        let same = played.facts.iter().find(|played| is_same_change(fact, played))?;
        Some((Window::of(fact), same.at))
    });
    alike.map_or_else(|| cost(NOTHING_ALIKE, 0), |(window, at)| cost_at(window, at))
}

/// Whether a fact of a play is of the kind and value that was seen; a value that nobody saw may be any, and few records tell why a kubelet
/// ended a pod.
pub(super) fn is_same_change(seen: &ObservedFact, played: &PlayedFact) -> bool {
    let value = seen.fact.value;
    let is_by_kubelet = |cause: Symbol| BY_KUBELET.contains(&cause.as_str());
    seen.fact.kind == played.kind
        && (value == played.value || value.is_empty() || is_by_kubelet(value) && is_by_kubelet(played.value))
}

/// The cost of an instant: how far from the bounds, and then how far from the best guess.
pub(super) fn cost_at(window: Window, at: i64) -> Cost {
    cost(window.off(at).unsigned_abs(), window.at.abs_diff(at))
}

fn cost(outside: u64, from_guess: u64) -> Cost {
    (Cost::from(outside) << 64) + Cost::from(from_guess)
}
