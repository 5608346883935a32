//! From which node on candidates for preemption are looked for.

use std::sync::Arc;

use super::algorithm::ScheduleAlgorithm;
use super::cache::Cache;
use super::cache_tests;
use super::decision::Nomination;
use super::framework::Incoming;
use super::preemption::sort_by_importance;
use super::profile::Profiles;
use crate::arena::Symbol;
use crate::model::config::{KubeSchedulerConfiguration, KubernetesVersion};
use crate::state::{AdmittedSpec, Node, Pod, PodId, PodPhase, Store};
use crate::units::SimTime;

/// The node that a pod of priority 10 preempts on, on nodes of one pod each that have these priorities, if the search for
/// candidates begins at that place and two of them are enough.
fn preempted(priorities: [i32; 5], first: u32) -> String {
    let json = r#"{"profiles":[{"pluginConfig":[{"name":"DefaultPreemption",
        "args":{"minCandidateNodesPercentage":40,"minCandidateNodesAbsolute":1}}]}]}"#;
    let configuration: KubeSchedulerConfiguration = serde_json::from_str(json).expect("a configuration");
    let profiles = Profiles::new(&configuration, KubernetesVersion::NEWEST);
    let [spec, _] = cache_tests::specs();
    let of_priority = |priority| Arc::new(AdmittedSpec { priority, ..(*spec).clone() });
    let mut store = Store::default();
    for (place, priority) in priorities.into_iter().enumerate() {
        let node = store.node_slot(Symbol::new(&format!("node{}", place + 1)));
        store.insert_node(node, Node { allocatable_pods: 1, ..cache_tests::node(0) });
        let name: Arc<str> = Arc::from(format!("p{place}"));
        store.insert_pod(Pod { name, node: Some(node), ..cache_tests::pod(0, &of_priority(priority), false) });
    }
    let incoming = Pod { phase: PodPhase::Pending, ..cache_tests::pod(1, &of_priority(10), false) };
    let id = store.insert_pod(incoming);
    let mut algorithm = ScheduleAlgorithm::new(Cache::new(KubernetesVersion::NEWEST));
    algorithm.list(&store, None);
    let mut draw = |below: u32| if below == 5 { first } else { 0 };
    let pod = store.pod(id).expect("the pod");
    let incoming = Incoming { id, pod, store: &store, now: SimTime::ZERO };
    match algorithm.schedule(profiles.at(0), incoming, false, &mut draw).nomination {
        Nomination::To(node) => store.node_name(node).to_string(),
        Nomination::Kept | Nomination::Cleared => String::new(),
    }
}

#[test]
fn the_search_for_candidates_begins_anywhere_and_goes_round() {
    // Node 5, then node 1: the cheaper ones are not looked at.
    assert_eq!(preempted([3, 0, 0, 0, 5], 4), "node1");
    assert_eq!(preempted([5, 0, 0, 0, 3], 4), "node5");
    // Node 5 is of no use, nor is node 2: nodes 1 and 3.
    assert_eq!(preempted([5, 20, 3, 0, 20], 4), "node3");
    assert_eq!(preempted([5, 3, 0, 0, 0], 0), "node2");
}

#[test]
fn who_has_not_started_is_spared_in_the_opposite_order() {
    #[track_caller]
    fn check(pods: &[(i32, Option<i64>)], expected: &[usize]) {
        let [spec, _] = cache_tests::specs();
        let mut store = Store::default();
        let insert = |(place, &(priority, started)): (usize, &(i32, Option<i64>))| {
            let spec = Arc::new(AdmittedSpec { priority, ..(*spec).clone() });
            let name = Arc::from(format!("p{place}"));
            let started_at = started.map(SimTime::from_secs);
            store.insert_pod(Pod { name, started_at, ..cache_tests::pod(0, &spec, false) })
        };
        let ids: Vec<PodId> = pods.iter().enumerate().map(insert).collect();
        let mut sorted = ids.clone();
        sort_by_importance(&mut sorted, &store);
        let places: Vec<usize> = sorted.iter().map(|id| ids.iter().position(|of| of == id).unwrap()).collect();
        assert_eq!(places, expected, "{pods:?}");
    }
    check(&[(0, Some(2)), (0, Some(1)), (0, Some(2))], &[1, 0, 2]);
    check(&[(0, None), (0, None), (0, None)], &[2, 1, 0]);
    check(&[(0, None), (0, Some(7)), (0, None)], &[1, 2, 0]);
    check(&[(0, None), (9, None), (0, None), (9, None)], &[3, 1, 2, 0]);
}
