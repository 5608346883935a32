//! What plugins are given.

use super::algorithm::ScheduleAlgorithm;
use super::cache::Cache;
use super::cache_tests;
use super::framework::{Incoming, Plugin, Prepared, WidePlugin, quotient};
use super::node_info::NodeInfo;
use super::profile::{Profile, Profiles};
use super::rejection::Rejection;
use crate::arena::{Symbol, sym};
use crate::model::config::{KubeSchedulerConfiguration, KubernetesVersion};
use crate::model::{Resources, TaintEffect};
use crate::state::{Node, NodeId, Pod, Store, TaintOnNode};
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
    algorithm.list(&store, None);
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

#[test]
fn scores_that_are_added_up_choose_as_scores_by_plugin_do() {
    const PLAIN: &str =
        r#""containers":[{"name":"c","image":"app","resources":{"requests":{"cpu":"300m","memory":"200Mi"}}}]"#;
    let picky = format!(
        r#"{{{PLAIN},"affinity":{{"nodeAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":7,"preference":
        {{"matchExpressions":[{{"key":"zone","operator":"In","values":["1"]}}]}}}}]}}}},
        "topologySpreadConstraints":[{{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway",
        "labelSelector":{{"matchLabels":{{"app":"0"}}}}}}]}}"#
    );
    let specs = [cache_tests::spec(&format!("{{{PLAIN}}}")), cache_tests::spec(&picky)];
    let mut store = Store::default();
    for number in 0..12_u8 {
        let id = store.node_slot(Symbol::new(&format!("node-{number:02}")));
        let (cpu_milli, memory) = (2_000 + 500 * i64::from(number % 4), (4 + i64::from(number % 3)) << 30);
        let mut node = cache_tests::node(number % 3);
        node.allocatable = std::sync::Arc::new(Resources { cpu_milli, memory, ..Resources::default() });
        if number % 5 == 0 {
            let (key, effect) = (sym!("old"), TaintEffect::PreferNoSchedule);
            let old = TaintOnNode { key, value: Symbol::empty(), effect, added_at: None };
            node.taints.push(old);
        }
        store.insert_node(id, node);
    }
    let profiles = Profiles::new(&KubeSchedulerConfiguration::default(), KubernetesVersion::NEWEST);
    let mut algorithm = ScheduleAlgorithm::new(Cache::new(KubernetesVersion::NEWEST));
    algorithm.list(&store, None);
    let mut several = 0;
    for number in 0..60_u8 {
        let pod = cache_tests::pod(number % 3, &specs[usize::from(number % 2)], false);
        let id = store.insert_pod(Pod { name: format!("pod-{number}").into(), ..pod });
        let incoming = Incoming { id, pod: store.pod(id).expect("the pod"), store: &store, now: SimTime::ZERO };
        let explained = algorithm.clone().schedule(profiles.at(0), incoming, true, &mut |_| 0);
        let plain = algorithm.schedule(profiles.at(0), incoming, false, &mut |_| 0);
        assert_eq!((plain.node, &plain.ties, &plain.feasible), (explained.node, &explained.ties, &explained.feasible));
        let best = explained.scores.iter().map(|of| of.total).max();
        let of_chosen = explained.feasible.iter().zip(&explained.scores).find(|(node, _)| Some(**node) == plain.node);
        assert_eq!(of_chosen.map(|(_, of)| of.total), best, "pod {number}");
        several += usize::from(plain.ties.len() < plain.feasible.len());
        let node = plain.node.expect("there is room");
        algorithm.assume(profiles.at(0), incoming, node);
    }
    assert!(several > 40, "nodes differ, but for {several} of 60 pods");
}

#[test]
fn a_quotient_is_that_of_integers() {
    let large = [1 << 31, (1 << 52) - 1, 1 << 52, (1 << 53) + 1, i64::MAX / 3];
    let numbers: Vec<i64> = (-3..200).chain(large.iter().flat_map(|of| of - 2..of + 3)).collect();
    for &divisor in numbers.iter().filter(|of| **of != 0) {
        let dividends = numbers.iter().copied().chain((1..40).filter_map(|times| divisor.checked_mul(times)));
        for dividend in dividends.flat_map(|of| [of - 1, of, of + 1]) {
            assert_eq!(quotient(dividend, divisor), dividend / divisor, "{dividend} / {divisor}");
        }
    }
}
