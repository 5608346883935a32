//! What no placement can beat, and what would do if pods were packed anew: how far an answer is from what pods ask for.

use rustc_hash::FxHashMap;

use super::amount::Amount;
use super::capacity::counted_pods;
use super::case::Takes;
use super::definition::Plan;
use super::judge::Judge;
use super::packing::{Pods, is_packed, is_too_little};
use crate::arena::Symbol;
use crate::model::zone_of;
use crate::state::{NodeId, Owner, Pod, Store};

/// More sets of lost nodes than this are not looked at: then nothing is said of packing, and the lower bound looks at fewer.
const SETS_MAX: usize = 2_000;

/// Counts with their price.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Nodes of each pool.
    pub counts: Vec<u32>,
    /// What they cost, in millionths.
    pub price_micros: i64,
}

/// Bounds of the answer, by what pods ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The first of all mixes that is not too little, by necessary conditions alone: none before it can do, whatever decides where
    /// pods stand.
    pub lower: Option<Bound>,
    /// The first of which a packing of all pods is found on what is left in every case: it would do if pods were packed anew.
    pub repacked: Option<Bound>,
    /// Cases that neither looks at.
    pub without: Vec<String>,
}

/// Nodes that are alike in what they give, who may stand on them, and where they are.
struct Kind {
    /// The searched pool, by position.
    pool: Option<usize>,
    zone: Option<Symbol>,
    /// Numbers of its nodes in their pool, or of each the number 0.
    numbers: Vec<u32>,
}

/// What makes nodes alike: the pool, the zone, what they give, what is left of it, and which pods may stand there.
type Looks = (Option<usize>, Option<Symbol>, Vec<i64>, Vec<i64>, Vec<bool>);

/// The cluster with the most nodes, as packing looks at it.
struct Cluster {
    kinds: Vec<Kind>,
    /// What a node of each kind gives.
    gives: Vec<Vec<i64>>,
    /// The same without what its DaemonSets and its own pods take.
    left: Vec<Vec<i64>>,
    /// Pods that are sure to need a place in every case.
    sure: Vec<Pods>,
    /// All pods that count and are not of their node.
    all: Vec<Pods>,
}

/// Works out both bounds. Mixes behind `answer`, if there is one, are not looked at: a bound is no more than what was found.
pub(super) fn bounds(plan: &Plan, settled: &Store, judge: Judge, mixes: &[Vec<u32>], answer: Option<&[u32]>) -> Bounds {
    let cluster = Cluster::of(plan, settled, judge);
    let known = answer.and_then(|answer| mixes.iter().position(|mix| mix == answer));
    let tried = &mixes[..known.map_or(mixes.len(), |at| at + 1)];
    let bound = |mix: &Vec<u32>| Bound { counts: mix.clone(), price_micros: plan.price(mix) };
    let is_open =
        |mix: &&Vec<u32>| cluster.stands(plan, mix, &|nodes| !is_too_little(&cluster.sure, &cluster.gives, nodes));
    let lower = tried.iter().position(|mix| is_open(&mix));
    let is_packed = |mix: &&Vec<u32>| {
        let is_looked_at = cluster.losses(plan, mix).iter().all(Option::is_some);
        is_looked_at && cluster.stands(plan, mix, &|nodes| is_packed(&cluster.all, &cluster.left, nodes))
    };
    let repacked = lower.and_then(|lower| tried[lower..].iter().find(|mix| is_packed(mix)));
    let is_left_out = |case: &&super::Case| matches!(case.kind.takes(), Takes::Unknown);
    Bounds {
        lower: lower.map(|lower| bound(&tried[lower])),
        repacked: repacked.map(bound),
        without: plan.cases.iter().filter(is_left_out).map(|case| case.label.clone()).collect(),
    }
}

impl Cluster {
    fn of(plan: &Plan, store: &Store, judge: Judge) -> Self {
        let is_of_node = |pod: &Pod| matches!(pod.owner, Some(Owner::DaemonSet(_) | Owner::Node(_)));
        let counts = |pod: &&Pod| judge.counts(pod) && !is_of_node(pod);
        let sure = groups(counted_pods(store, &plan.base, plan.priority));
        let all = groups(store.pods().map(|(_, pod)| pod).filter(counts).collect());
        let names = resources(sure.iter().chain(&all).map(|(pod, _)| *pod));
        let need = |pod: &Pod| {
            let mut amount = Amount::default();
            amount.add(&pod.spec.requests, 1);
            names.iter().map(|name| amount.part(*name)).collect::<Vec<i64>>()
        };
        let mut cluster =
            Self { kinds: Vec::new(), gives: Vec::new(), left: Vec::new(), sure: Vec::new(), all: Vec::new() };
        let mut first: Vec<NodeId> = Vec::new();
        let mut known: FxHashMap<Looks, usize> = FxHashMap::default();
        for (id, node) in store.nodes() {
            let name = store.node_name(id);
            let allowed: Vec<bool> = sure.iter().chain(&all).map(|(pod, _)| is_allowed(pod, id, store)).collect();
            let given = Amount::of_node(node);
            let gives: Vec<i64> = names.iter().map(|name| given.part(*name)).collect();
            let mut left = gives.clone();
            for pod in store.pods_on(id).iter().filter_map(|pod| store.pod(*pod)).filter(|pod| is_of_node(pod)) {
                left.iter_mut().zip(need(pod)).for_each(|(left, need)| *left -= need);
            }
            let position = plan.pools.iter().zip(0..).find_map(|(pool, at)| {
                let pool = plan.base.pools.iter().find(|other| other.name == pool.name)?;
                Some((at, pool.index_of(name.as_str())?))
            });
            let (pool, number) = position.map_or((None, 0), |(at, number)| (Some(at), number));
            let zone = zone_of(&node.labels);
            let key = (pool, zone, gives.clone(), left.clone(), allowed);
            let at = *known.entry(key).or_insert_with(|| {
                cluster.kinds.push(Kind { pool, zone, numbers: Vec::new() });
                cluster.gives.push(gives);
                cluster.left.push(left);
                first.push(id);
                cluster.kinds.len() - 1
            });
            cluster.kinds[at].numbers.push(number);
        }
        let pods = |found: &[(&Pod, u64)]| {
            let of = |(pod, count): &(&Pod, u64)| Pods {
                need: need(pod),
                count: *count,
                allowed: first.iter().map(|node| is_allowed(pod, *node, store)).collect(),
            };
            found.iter().map(of).collect()
        };
        (cluster.sure, cluster.all) = (pods(&sure), pods(&all));
        cluster
    }

    /// How many nodes of each kind there are with these counts.
    fn nodes(&self, mix: &[u32]) -> Vec<u64> {
        let of = |kind: &Kind| match kind.pool {
            Some(pool) => kind.numbers.iter().filter(|number| **number < mix[pool]).count() as u64,
            None => kind.numbers.len() as u64,
        };
        self.kinds.iter().map(of).collect()
    }

    /// Of each case, what is lost in each of its plays, by kind of nodes; none if that is too many to look at.
    fn losses(&self, plan: &Plan, mix: &[u32]) -> Vec<Option<Vec<Vec<u64>>>> {
        let nodes = self.nodes(mix);
        let of = |case: &super::Case| match case.kind.takes() {
            Takes::Zone => {
                let mut zones: Vec<Symbol> = self.kinds.iter().filter_map(|kind| kind.zone).collect();
                zones.sort_unstable();
                zones.dedup();
                let lost = |zone: &Symbol| -> Vec<u64> {
                    let of = |(kind, count): (&Kind, &u64)| if kind.zone == Some(*zone) { *count } else { 0 };
                    self.kinds.iter().zip(&nodes).map(of).collect()
                };
                Some(zones.iter().map(lost).collect())
            }
            Takes::Nodes(count) => match u64::from(count) {
                // There are not so many: all are lost.
                count if count > nodes.iter().sum() => Some(vec![nodes.clone()]),
                count => sets(&nodes, count, &|_| true),
            },
            Takes::OfPools(spec) => {
                let pools = (0..mix.len()).map(|pool| {
                    let (_, unavailable) = spec.at_a_time(mix[pool] as usize);
                    let lost = (unavailable as u64).min(u64::from(mix[pool]));
                    sets(&nodes, lost, &|kind| self.kinds[kind].pool == Some(pool))
                });
                pools.collect::<Option<Vec<_>>>().map(|sets| sets.concat())
            }
            Takes::Unknown => Some(Vec::new()),
        };
        plan.cases.iter().map(of).collect()
    }

    /// Whether something holds of the whole cluster and of what is left in each play of each case that is looked at.
    fn stands(&self, plan: &Plan, mix: &[u32], holds: &dyn Fn(&[u64]) -> bool) -> bool {
        let nodes = self.nodes(mix);
        let left = |lost: &Vec<u64>| nodes.iter().zip(lost).map(|(all, lost)| all - lost).collect::<Vec<u64>>();
        let losses = self.losses(plan, mix);
        holds(&nodes) && losses.iter().flatten().flatten().all(|lost| holds(&left(lost)))
    }
}

/// Every way of taking so many nodes of some kinds; none if that is more than can be looked at. No way if there are fewer.
fn sets(nodes: &[u64], count: u64, is_taken: &dyn Fn(usize) -> bool) -> Option<Vec<Vec<u64>>> {
    let mut found: Vec<(Vec<u64>, u64)> = vec![(Vec::new(), count)];
    for (kind, &there) in nodes.iter().enumerate() {
        let most = |left: u64| if is_taken(kind) { left.min(there) } else { 0 };
        let with = |taken: &Vec<u64>, of: u64| taken.iter().copied().chain([of]).collect::<Vec<u64>>();
        found = found
            .iter()
            .flat_map(|(taken, left)| (0..=most(*left)).map(move |of| (with(taken, of), left - of)))
            .collect();
        if found.len() > SETS_MAX {
            return None;
        }
    }
    Some(found.into_iter().filter(|(_, left)| *left == 0).map(|(taken, _)| taken).collect())
}

/// Whether a pod may stand on a node, as far as the two alone say.
fn is_allowed(pod: &Pod, id: NodeId, store: &Store) -> bool {
    let Some(node) = store.node(id) else { return false };
    let is_selected = pod.spec.allows_node(&node.labels, store.node_name(id));
    is_selected && node.barring_taints(&pod.spec.tolerations).next().is_none()
}

/// Pods of one spec, together, in the order of the first.
fn groups(pods: Vec<&Pod>) -> Vec<(&Pod, u64)> {
    let mut groups: Vec<(&Pod, u64)> = Vec::new();
    let mut known: FxHashMap<*const crate::state::AdmittedSpec, usize> = FxHashMap::default();
    for pod in pods {
        let at = *known.entry(std::sync::Arc::as_ptr(&pod.spec)).or_insert_with(|| {
            groups.push((pod, 0));
            groups.len() - 1
        });
        groups[at].1 += 1;
    }
    groups
}

/// Names of everything that pods ask for.
fn resources<'a>(pods: impl Iterator<Item = &'a Pod>) -> Vec<Symbol> {
    let mut names: Vec<Symbol> = vec![Symbol::new("pods")];
    for pod in pods {
        let mut amount = Amount::default();
        amount.add(&pod.spec.requests, 1);
        let asked = amount.parts().into_iter().filter(|(_, amount)| *amount > 0).map(|(name, _)| name);
        names.extend(asked.filter(|name| !names.contains(name)).collect::<Vec<_>>());
    }
    names
}
