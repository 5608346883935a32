//! What plugins are given.

use super::algorithm::ScheduleAlgorithm;
use super::cache::Cache;
use super::cache_tests;
use super::framework::{Incoming, Plugin, Prepared, WidePlugin};
use super::node_info::NodeInfo;
use super::profile::Profile;
use super::rejection::Rejection;
use crate::arena::{Symbol, sym};
use crate::model::config::KubernetesVersion;
use crate::state::{Node, NodeId, Pod, Store};
use crate::units::{SimDuration, SimTime};

/// Nodes younger than a minute take no pods; the older a node, the better.
#[derive(Debug)]
struct NodeAge;

impl Plugin for NodeAge {}

impl WidePlugin for NodeAge {
    fn prepare(&self, _pod: &Pod, _store: &Store, _cache: &mut Cache) -> Box<dyn Prepared> {
        Box::new(Self)
    }
}

fn age_s(node: &NodeInfo, now: SimTime) -> i64 {
    let age = node.object.as_ref().map_or(SimDuration::ZERO, |node| now.saturating_since(node.created_at));
    (age.as_nanos() / 1_000_000_000) as i64
}

impl Prepared for NodeAge {
    fn filter(&self, incoming: Incoming<'_>, _cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        let is_young = age_s(node, incoming.now) < 60;
        is_young.then(|| Rejection::unresolvable("NodeAge", sym!("node(s) were too young")))
    }

    fn score(&self, incoming: Incoming<'_>, cache: &Cache, feasible: &[NodeId], scores: &mut Vec<i64>) -> bool {
        scores.extend(feasible.iter().map(|&node| age_s(cache.node(node), incoming.now).min(100)));
        true
    }
}

#[test]
fn a_wide_plugin_is_asked_anew_as_time_goes_by() {
    let mut store = Store::default();
    let second = |at: u64| SimTime::ZERO + SimDuration::from_secs(at);
    for (name, at) in [("a", 30), ("b", 0)] {
        let id = store.node_slot(Symbol::new(name));
        store.insert_node(id, Node { created_at: second(at), ..cache_tests::node(0) });
    }
    let [spec, _] = cache_tests::specs();
    let id = store.insert_pod(cache_tests::pod(0, &spec, false));
    let mut algorithm = ScheduleAlgorithm::new(Cache::new(KubernetesVersion::NEWEST));
    algorithm.list(&store);
    let profile = Profile::of_wide("NodeAge", NodeAge);
    let mut at = |now: SimTime| {
        let incoming = Incoming { id, pod: store.pod(id).expect("the pod"), store: &store, now };
        let decision = algorithm.schedule(&profile, incoming, true, &mut |_| 0);
        let scores: Vec<i64> = decision.scores.iter().map(|score| score.total).collect();
        let name = decision.node.map(|node| store.node_name(node).as_str());
        (name, decision.filtered.len(), scores)
    };
    assert_eq!(at(second(59)), (None, 2, vec![]));
    assert_eq!(at(second(60)), (Some("b"), 1, vec![]));
    assert_eq!(at(second(95)), (Some("b"), 0, vec![65, 95]));
}
