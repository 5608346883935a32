//! Counts that follow every change must be those that a recount from scratch gives.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use smallvec::smallvec;

use super::cache::Cache;
use super::counts::{Counted, Inclusion, ViewId};
use super::term::{Term, TermKind};
use crate::arena::Symbol;
use crate::engine::Streams;
use crate::model::config::KubernetesVersion;
use crate::model::{LabelSelector, Labels, PodSpec};
use crate::state::{
    AdmittedSpec, Deletion, DeletionCause, Node, NodeConditions, NodeId, Pod, PodId, PodPhase, Store, Uid,
};
use crate::units::{SimDuration, SimTime};

fn labels(key: &str, value: u8) -> Labels {
    [(Symbol::new(key), Symbol::new(&value.to_string()))].into_iter().collect()
}

pub(super) fn spec(json: &str) -> Arc<AdmittedSpec> {
    let spec: PodSpec = serde_json::from_str(json).expect("a spec");
    Arc::new(AdmittedSpec {
        requests: crate::model::requests(&spec),
        non_zero_requests: crate::model::non_zero_requests(&spec),
        non_zero_container_requests: crate::model::non_zero_container_requests(&spec),
        qos: crate::model::qos(&spec),
        priority: 0,
        finalizers: Box::default(),
        annotations: Arc::default(),
        spec,
    })
}

/// A spec that asks for nothing, and one that keeps away from `app: 0` in its zone.
pub(super) fn specs() -> [Arc<AdmittedSpec>; 2] {
    let far = r#"{"containers":[{"name":"c"}],"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
        [{"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"0"}}}]}}}"#;
    [spec(r#"{"containers":[{"name":"c"}]}"#), spec(far)]
}

pub(super) fn pod(app: u8, spec: &Arc<AdmittedSpec>, is_terminating: bool) -> Pod {
    let deletion = Deletion {
        requested_at: SimTime::ZERO,
        deadline: SimTime::ZERO,
        grace: SimDuration::ZERO,
        cause: DeletionCause::Kubectl,
    };
    Pod {
        namespace: Symbol::new("default"),
        name: Arc::from("p"),
        uid: Uid::default(),
        labels: labels("app", app),
        owner: None,
        spec: Arc::clone(spec),
        own_annotations: None,
        pinned_node: None,
        is_mirror: false,
        node: None,
        nominated_node: None,
        created_at: SimTime::ZERO,
        scheduled_at: None,
        started_at: None,
        deletion: is_terminating.then_some(deletion),
        job_tracking: false,
        phase: PodPhase::Running,
        reason: Symbol::empty(),
        ready: None,
        containers_ready: None,
        not_scheduled: None,
        disruption_target: None,
        containers: smallvec![],
        init_containers: smallvec![],
        resource_version: 1,
    }
}

pub(super) fn node(zone: u8) -> Node {
    Node {
        uid: Uid::default(),
        labels: labels("zone", zone),
        annotations: Arc::default(),
        created_at: SimTime::ZERO,
        unschedulable: false,
        taints: smallvec![],
        allocatable: Arc::default(),
        allocatable_pods: 110,
        capacity: Arc::default(),
        images: Arc::default(),
        kubelet_version: Symbol::default(),
        description: None,
        conditions: NodeConditions::default(),
    }
}

/// Something that happens to the cluster.
#[derive(Clone, Debug)]
enum Op {
    Bind {
        app: u8,
        spec: usize,
        node: usize,
    },
    Delete(usize),
    Relabel {
        pod: usize,
        app: u8,
    },
    Terminate(usize),
    /// A node gets this zone; none takes the node away.
    Node {
        node: usize,
        zone: Option<u8>,
    },
    /// Pods are removed and added again, as preemption does.
    Lift(usize),
    /// Somebody asks for the counts for the first time.
    Ask,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..3u8, 0..2usize, 0..4usize).prop_map(|(app, spec, node)| Op::Bind { app, spec, node }),
        2 => (0..8usize).prop_map(Op::Delete),
        2 => (0..8usize, 0..3u8).prop_map(|(pod, app)| Op::Relabel { pod, app }),
        1 => (0..8usize).prop_map(Op::Terminate),
        3 => (0..4usize, prop::option::of(0..3u8)).prop_map(|(node, zone)| Op::Node { node, zone }),
        1 => (0..8usize).prop_map(Op::Lift),
        1 => Just(Op::Ask),
    ]
}

/// The cluster as it should be.
#[derive(Default)]
struct Model {
    store: Store,
    nodes: Vec<NodeId>,
    pods: Vec<(PodId, Pod)>,
    /// How many pods there ever were.
    bound: usize,
}

impl Model {
    fn set_node(&mut self, cache: &mut Cache, node: NodeId, zone: Option<u8>) {
        self.store.remove_node(node);
        match zone {
            Some(zone) => {
                self.store.insert_node(node, self::node(zone));
                cache.set_node(node, &self.store);
            }
            None => cache.remove_node(node),
        }
    }
}

/// Views as a pod of `app: 0` with every kind of wish would have them.
fn views(cache: &mut Cache) -> Vec<ViewId> {
    let zone = Symbol::new("zone");
    let term = || Term::in_namespace(Symbol::new("default"), Some(LabelSelector::from_labels(&labels("app", 0))));
    let matching = |with_terminating| Counted::Matching { terms: smallvec![term()], with_terminating };
    let mut views = vec![
        cache.view(matching(false), zone, &Inclusion::with_key(zone)),
        cache.view(matching(true), zone, &Inclusion::with_key(zone)),
    ];
    let bearing = cache.counts.terms_matching(&pod(0, &specs()[0], false));
    for (key, kind, counter) in bearing {
        assert_eq!(kind, TermKind::RequiredAnti);
        views.push(cache.view_of(counter, key, &Inclusion::with_key(key)));
    }
    views
}

/// A view's total, its domains with the least count, and the count around each node.
type Reading = (i64, (usize, i64), Vec<Option<i64>>);

/// What can be read from the views about every node.
fn readings(cache: &mut Cache, nodes: &[NodeId]) -> Vec<Reading> {
    let of = |view: ViewId, cache: &mut Cache| {
        cache.counts.refresh_least(view);
        let counts = &cache.counts;
        (
            counts.read(view).total(),
            counts.read(view).least(),
            nodes.iter().map(|&node| counts.read(view).around(node)).collect(),
        )
    };
    let mut all: Vec<_> = views(cache).into_iter().map(|view| of(view, cache)).collect();
    // A term that nobody has any more is known to the cache that has seen it.
    all.truncate(2 + all[2..].iter().filter(|(total, ..)| *total > 0).count());
    all
}

/// A cluster of nodes by name and zone, and what happens to it.
struct Zoned {
    store: Store,
    cache: Cache,
}

impl Zoned {
    fn new() -> Self {
        Self { store: Store::default(), cache: Cache::new(KubernetesVersion::default()) }
    }

    /// A node joins, or changes its zone.
    fn set(&mut self, name: &str, zone: u8) {
        let id = self.store.node_slot(Symbol::new(name));
        self.store.remove_node(id);
        let labels = labels("topology.kubernetes.io/zone", zone);
        self.store.insert_node(id, Node { labels, ..node(0) });
        self.cache.set_node(id, &self.store);
    }

    fn remove(&mut self, name: &str) {
        let id = self.store.node_slot(Symbol::new(name));
        self.store.remove_node(id);
        self.cache.remove_node(id);
    }

    /// The list that a cycle walks.
    fn order(&mut self) -> String {
        self.cache.refresh_order();
        let names: Vec<&str> = self.cache.order().iter().map(|&id| self.store.node_name(id).as_str()).collect();
        names.join("")
    }
}

#[test]
fn new_nodes_stand_in_the_column_of_their_zone() {
    let mut cluster = Zoned::new();
    for (name, zone) in [("4", 4), ("5", 5), ("6", 6), ("7", 6), ("8", 6), ("3", 4)] {
        cluster.set(name, zone);
    }
    assert_eq!(cluster.order(), "456378");
}

#[test]
fn a_zone_that_comes_back_is_the_last() {
    let mut cluster = Zoned::new();
    for (name, zone) in [("a", 1), ("b", 2), ("c", 3)] {
        cluster.set(name, zone);
    }
    cluster.remove("a");
    cluster.set("d", 1);
    assert_eq!(cluster.order(), "bcd");
}

#[test]
fn a_changed_zone_is_seen_when_nodes_come_or_go() {
    let mut cluster = Zoned::new();
    for (name, zone) in [("a", 1), ("b", 1), ("c", 2)] {
        cluster.set(name, zone);
    }
    assert_eq!(cluster.order(), "acb");
    cluster.set("a", 3);
    assert_eq!(cluster.order(), "acb");
    cluster.set("d", 4);
    assert_eq!(cluster.order(), "bcad");
}

proptest! {
    #[test]
    fn counts_that_are_kept_equal_a_recount(ops in prop::collection::vec(op(), 1..60)) {
        let specs = specs();
        let mut cache = Cache::new(KubernetesVersion::default());
        let mut model = Model::default();
        for i in 0..4u8 {
            let node = model.store.node_slot(Symbol::new(&format!("n{i}")));
            model.nodes.push(node);
            model.set_node(&mut cache, node, Some(i % 2));
        }
        for op in ops {
            let count = model.pods.len().max(1);
            match op {
                Op::Bind { app, spec, node } => {
                    model.bound += 1;
                    let pod = Pod { node: Some(model.nodes[node]), ..pod(app, &specs[spec], false) };
                    let id = model.store.insert_pod(Pod { name: Arc::from(format!("p{}", model.bound)), ..pod.clone() });
                    cache.add(id, &pod);
                    model.pods.push((id, pod));
                }
                Op::Delete(at) if at < model.pods.len() => {
                    let (id, _) = model.pods.swap_remove(at);
                    cache.forget(id);
                }
                Op::Relabel { pod: at, app } => {
                    if let Some((id, pod)) = model.pods.get_mut(at % count) {
                        pod.labels = labels("app", app);
                        cache.update(*id, pod);
                    }
                }
                Op::Terminate(at) => {
                    if let Some((id, old)) = model.pods.get_mut(at % count) {
                        old.deletion = pod(0, &specs[0], true).deletion;
                        cache.update(*id, old);
                    }
                }
                Op::Node { node, zone } => {
                    let node = model.nodes[node];
                    model.set_node(&mut cache, node, zone);
                }
                Op::Lift(at) => {
                    if let Some((_, pod)) = model.pods.get(at % count) {
                        let node = pod.node.expect("a node");
                        let mut info = cache.node(node).clone();
                        let pods = info.pods.clone();
                        pods.iter().for_each(|&pod| cache.remove_from(pod, &mut info, true));
                        pods.iter().for_each(|&pod| cache.add_to(pod, &mut info, true));
                    }
                }
                Op::Delete(_) => {}
                Op::Ask => {
                    views(&mut cache);
                }
            }
            let mut fresh = Cache::new(KubernetesVersion::default());
            for &node in &model.nodes {
                fresh.set_node(node, &model.store);
            }
            for (id, pod) in &model.pods {
                fresh.add(*id, pod);
            }
            prop_assert_eq!(readings(&mut cache, &model.nodes), readings(&mut fresh, &model.nodes));
        }
    }
}

#[test]
fn a_pod_that_is_written_goes_to_the_end_and_the_last_takes_its_place() {
    let [spec, _] = specs();
    let mut store = Store::default();
    let node_id = store.node_slot(Symbol::new("n"));
    store.insert_node(node_id, node(0));
    let mut insert = |name: &str, bound_s: i64, version: u64| {
        let (name, scheduled_at) = (Arc::from(name), Some(SimTime::from_secs(bound_s)));
        let new = pod(0, &spec, false);
        store.insert_pod(Pod { name, node: Some(node_id), scheduled_at, resource_version: version, ..new })
    };
    let (a, b, c) = (insert("a", 1, 7), insert("b", 2, 8), insert("c", 3, 9));
    let mut cache = Cache::new(KubernetesVersion::NEWEST);
    cache.list(&store, None);
    assert_eq!(cache.node(node_id).pods, [a, b, c], "a list comes in the order of names");
    cache.touch(a, node_id);
    assert_eq!(cache.node(node_id).pods, [c, b, a]);
    cache.forget(c);
    assert_eq!(cache.node(node_id).pods, [a, b]);
    // Bound in this order, and then written in this order: a goes, c takes its place, and so on.
    let mut seen = Cache::new(KubernetesVersion::NEWEST);
    seen.list(&store, None);
    seen.replay(&store, None);
    assert_eq!(seen.node(node_id).pods, [b, a, c]);
}

#[test]
fn in_which_order_pods_of_one_second_were_bound_is_up_to_chance() {
    let [spec, _] = specs();
    let mut store = Store::default();
    let node_id = store.node_slot(Symbol::new("n"));
    store.insert_node(node_id, node(0));
    for (name, bound_s) in [("a", 1), ("b", 1), ("c", 2)] {
        let (name, scheduled_at) = (Arc::from(name), Some(SimTime::from_secs(bound_s)));
        store.insert_pod(Pod { name, node: Some(node_id), scheduled_at, ..pod(0, &spec, false) });
    }
    let orders = (0..20).map(|seed| {
        let mut cache = Cache::new(KubernetesVersion::NEWEST);
        cache.list(&store, None);
        cache.replay(&store, Some(Streams::new(seed).stream("scheduler-bind-order", "")));
        let names = cache.node(node_id).pods.iter().map(|&id| store.pod(id).expect("a pod").name.to_string());
        names.collect::<String>()
    });
    assert_eq!(orders.collect::<BTreeSet<_>>(), BTreeSet::from(["abc".to_owned(), "bac".to_owned()]));
}
