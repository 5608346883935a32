//! The DaemonSet controller with a whole API server and nobody else: what its own tests and its rules say.

use std::sync::Arc;

use super::daemon_set::DaemonSets;
use super::tests::{Cluster, TEMPLATE, cluster, text};
use crate::arena::Symbol;
use crate::component::{DeleteOptions, NodeRegistration, PodStatusPatch, Reply, Request};
use crate::model::{self, Object, TaintEffect};
use crate::state::{
    DaemonSetId, DeletionCause, DisruptionReason, NodeId, Owner, PodId, PodPhase, Status, TaintOnNode, WorkloadId,
};
use crate::units::SimDuration;

/// A set, its controller, and nodes `n0`, `n1`, ….
struct Daemons {
    cluster: Cluster<DaemonSets>,
    id: DaemonSetId,
    /// Creations and deletions counted so far.
    seen: (usize, usize),
}

const SELECTOR: &str = "selector: {matchLabels: {a: b}}";

impl Daemons {
    /// A set without nodes whose revision is known; nodes and pods come next, then [`Self::start`].
    fn new(spec: &str) -> Self {
        let mut cluster = cluster::<DaemonSets>();
        let spec = if spec.is_empty() { String::new() } else { format!("{spec}, ") };
        let set: model::DaemonSet =
            serde_saphyr::from_str(&text("agent", &format!("{spec}{SELECTOR}, {TEMPLATE}"))).expect("a set");
        let Reply::Workload(WorkloadId::DaemonSet(id)) = cluster.create(Object::DaemonSet(Box::new(set))) else {
            panic!("no set")
        };
        cluster.start();
        cluster.run_for(1.0);
        Self { cluster, id, seen: (0, 0) }
    }

    fn with_nodes(spec: &str, count: usize) -> Self {
        let mut daemons = Self::new(spec);
        for index in 0..count {
            daemons.node(index, &[]);
        }
        daemons
    }

    fn node(&mut self, index: usize, labels: &[(&str, &str)]) -> NodeId {
        let name = Symbol::new(&format!("n{index}"));
        let mut node = model::Node::default();
        node.metadata.name = name;
        node.metadata.labels = labels.iter().map(|(key, value)| (Symbol::new(key), Symbol::new(value))).collect();
        let id = self.cluster.store_mut().node_slot(name);
        let registration = Box::new(NodeRegistration::from(&node));
        self.cluster.ask(Request::CreateNode { node: id, registration }).expect("a node");
        self.untaint(index, "node.kubernetes.io/not-ready", TaintEffect::NoSchedule);
        id
    }

    fn node_id(&self, index: usize) -> NodeId {
        self.cluster.store().find_node(Symbol::new(&format!("n{index}"))).expect("a node")
    }

    fn taint(&mut self, index: usize, key: &str, effect: TaintEffect) {
        let taint = TaintOnNode { key: Symbol::new(key), value: Symbol::empty(), effect, added_at: None };
        let request = Request::PatchNodeTaints {
            node: self.node_id(index),
            add: [taint].into_iter().collect(),
            remove: [].into_iter().collect(),
        };
        self.cluster.ask(request).expect("a taint");
    }

    fn untaint(&mut self, index: usize, key: &str, effect: TaintEffect) {
        let request = Request::PatchNodeTaints {
            node: self.node_id(index),
            add: [].into_iter().collect(),
            remove: [(Symbol::new(key), effect)].into_iter().collect(),
        };
        self.cluster.ask(request).expect("no taint");
    }

    /// The hash of the present template.
    fn hash(&self) -> &'static str {
        let revisions = self.cluster.store().revisions_of(WorkloadId::DaemonSet(self.id)).iter();
        let newest = revisions.map(|&id| &self.cluster.store().controller_revisions[id]).max_by_key(|r| r.revision);
        newest.expect("a revision").hash.as_str()
    }

    fn pod(&mut self, name: &str, index: usize, hash: &str, phase: PodPhase, is_ready: bool) -> PodId {
        let labels = [("controller-revision-hash", hash)];
        let node = format!("n{index}");
        self.cluster.pass(SimDuration::from_secs(1));
        self.cluster.labeled_pod(name, Owner::DaemonSet(self.id), Some(&node), phase, is_ready, &labels)
    }

    /// A running pod of an earlier template.
    fn old(&mut self, index: usize, is_ready: bool) -> PodId {
        self.pod(&format!("old-{index}"), index, "old", PodPhase::Running, is_ready)
    }

    /// A running pod of the present template.
    fn new_pod(&mut self, index: usize, is_ready: bool) -> PodId {
        self.pod(&format!("new-{index}"), index, self.hash(), PodPhase::Running, is_ready)
    }

    fn start(&mut self) {
        self.cluster.start();
    }

    /// Plays for three seconds; how many pods were created and deleted.
    fn step(&mut self) -> (usize, usize) {
        self.cluster.run_for(3.0);
        let now = (self.cluster.creates.len(), self.cluster.deletes.len());
        let before = std::mem::replace(&mut self.seen, now);
        (now.0 - before.0, now.1 - before.1)
    }

    /// Pods that were created run now, ready or not.
    fn up(&mut self, is_ready: bool) {
        let pending = |pod: &crate::state::Pod| pod.phase == PodPhase::Pending && pod.deletion.is_none();
        let pods: Vec<(PodId, Option<NodeId>, bool)> = self
            .cluster
            .store()
            .pods()
            .filter(|(_, pod)| pending(pod))
            .map(|(id, pod)| (id, pod.pinned_node, pod.node.is_some()))
            .collect();
        for (pod, node, is_bound) in pods {
            if let (Some(node), false) = (node, is_bound) {
                self.cluster.ask(Request::BindPod { pod, node }).expect("a binding");
            }
            let ready = Some(if is_ready { Status::True } else { Status::False });
            self.cluster
                .patch(pod, PodStatusPatch { phase: Some(PodPhase::Running), ready, ..PodStatusPatch::default() });
        }
    }

    /// Pods that were marked are gone now.
    fn gone(&mut self) {
        let marked: Vec<PodId> =
            self.cluster.store().pods().filter(|(_, pod)| pod.deletion.is_some()).map(|(id, _)| id).collect();
        for pod in marked {
            self.remove(pod);
        }
    }

    fn remove(&mut self, pod: PodId) {
        let options = DeleteOptions { grace_s: Some(0), uid: None };
        self.cluster.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }).expect("a deletion");
    }

    /// The pod of that name is gone.
    fn remove_named(&mut self, name: &str) {
        let found = self.cluster.store().pods().find(|(_, pod)| &*pod.name == name).map(|(id, _)| id);
        self.remove(found.expect("a pod"));
    }

    /// Deletions since the start, sorted.
    fn deleted(&self) -> Vec<String> {
        let mut names = self.cluster.deletes.clone();
        names.sort();
        names
    }

    fn status(&self) -> crate::state::DaemonSetStatus {
        self.cluster.store().daemon_sets[self.id].status
    }

    /// The nodes for which pods were created.
    fn aims(&self) -> Vec<&'static str> {
        let aims = self.cluster.pods().into_iter().filter_map(|pod| pod.pinned_node);
        let mut aims: Vec<&'static str> = aims.map(|node| self.cluster.store().node_name(node).as_str()).collect();
        aims.sort_unstable();
        aims
    }
}

fn rolling(limits: &str) -> String {
    format!("updateStrategy: {{rollingUpdate: {{{limits}}}}}")
}

// ---- which nodes ------------------------------------------------------------------------------------------------------

#[test]
fn each_plain_node_gets_one_unbound_pod_that_aims_at_it() {
    let mut daemons = Daemons::with_nodes("", 5);
    daemons.start();
    assert_eq!(daemons.step(), (5, 0));
    assert_eq!(daemons.aims(), ["n0", "n1", "n2", "n3", "n4"]);
    assert!(daemons.cluster.pods().iter().all(|pod| pod.node.is_none()));
    assert_eq!(daemons.step(), (0, 0));
}

#[test]
fn nodes_without_a_pod_get_one_doubles_go_and_pods_with_other_labels_are_released() {
    let mut daemons = Daemons::with_nodes("", 5);
    let hash = daemons.hash();
    for (index, count) in [(1, 1), (2, 2), (3, 5)] {
        for number in 0..count {
            daemons.pod(&format!("p{index}-{number}"), index, hash, PodPhase::Running, true);
        }
    }
    let owner = Owner::DaemonSet(daemons.id);
    for name in ["other-0", "other-1"] {
        daemons.cluster.labeled_pod(name, owner, Some("n4"), PodPhase::Running, true, &[("a", "other")]);
    }
    daemons.start();
    assert_eq!(daemons.step(), (2, 5));
    assert_eq!(daemons.aims(), ["n0", "n4"]);
    let gone: Vec<String> = ["p2-1", "p3-1", "p3-2", "p3-3", "p3-4"].map(str::to_owned).to_vec();
    assert_eq!(daemons.deleted(), gone, "the oldest of each node stays");
    let released = daemons.cluster.pods().into_iter().filter(|pod| pod.owner.is_none()).count();
    assert_eq!(released, 2);
}

#[test]
fn taints_of_a_lost_node_keep_its_pod_and_make_no_new_one() {
    let not_ready = "node.kubernetes.io/not-ready";
    let mut daemons = Daemons::with_nodes("", 2);
    daemons.taint(0, not_ready, TaintEffect::NoExecute);
    for kind in ["disk-pressure", "memory-pressure", "pid-pressure"] {
        daemons.taint(1, &format!("node.kubernetes.io/{kind}"), TaintEffect::NoSchedule);
    }
    daemons.start();
    assert_eq!(daemons.step(), (2, 0));
    daemons.up(true);
    daemons.step();
    assert_eq!((daemons.status().desired, daemons.status().misscheduled), (2, 0));
    daemons.taint(0, not_ready, TaintEffect::NoSchedule);
    assert_eq!(daemons.step(), (0, 0));
    // The taint alone wakes nobody; the pod that is marked not ready with it does.
    let marked = *daemons.cluster.store().pods_on(daemons.node_id(0)).first().expect("its pod");
    daemons.cluster.patch(marked, PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() });
    assert_eq!(daemons.step(), (0, 0));
    assert_eq!((daemons.status().desired, daemons.status().misscheduled), (1, 1));
    assert_eq!((daemons.status().current, daemons.status().ready), (1, 1));
}

#[test]
fn a_taint_that_falls_between_a_status_and_its_arrival_shows_in_the_next() {
    let mut daemons = Daemons::with_nodes("", 3);
    let pods: Vec<PodId> = (0..3).map(|index| daemons.new_pod(index, true)).collect();
    daemons.start();
    daemons.step();
    assert_eq!((daemons.status().desired, daemons.status().ready), (3, 3));
    // The pod of a lost node is marked; its taint comes while the status is on its way.
    daemons.cluster.patch(pods[0], PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() });
    daemons.cluster.run_for(0.007);
    daemons.taint(0, "node.kubernetes.io/unreachable", TaintEffect::NoSchedule);
    assert_eq!(daemons.status().desired, 3);
    daemons.step();
    let status = daemons.status();
    assert_eq!((status.desired, status.ready, status.misscheduled), (2, 2, 1));
}

/// A pod is made of which the watch tells so late: how many statuses are written until all has been told?
#[track_caller]
fn check_statuses_of_a_creation(watch_ms: u64, writes: usize) {
    let mut daemons = Daemons::with_nodes("", 1);
    daemons.cluster.watch_latency(SimDuration::from_millis(watch_ms));
    let before = daemons.cluster.times(|request| matches!(request, Request::UpdateStatus(_))).len();
    daemons.start();
    daemons.step();
    assert_eq!((daemons.status().desired, daemons.status().current), (1, 1));
    assert_eq!(
        daemons.cluster.times(|request| matches!(request, Request::UpdateStatus(_))).len() - before,
        writes,
        "a watch of {watch_ms} ms"
    );
}

#[test]
fn a_pod_that_a_pass_makes_counts_in_its_status_if_the_watch_is_faster_than_the_answer() {
    check_statuses_of_a_creation(1, 1);
    check_statuses_of_a_creation(9, 2);
}

#[test]
fn a_node_selector_says_where_pods_are_made_and_where_they_go() {
    let mut daemons = Daemons::new("");
    let template = TEMPLATE.replace("spec: {containers", "spec: {nodeSelector: {disk: fast}, containers");
    let set: model::DaemonSet =
        serde_saphyr::from_str(&text("agent", &format!("{SELECTOR}, {template}"))).expect("a set");
    daemons.cluster.ask(Request::Apply(Box::new(Object::DaemonSet(Box::new(set))))).expect("an update");
    daemons.cluster.run_for(1.0);
    let hash = daemons.hash();
    for index in 0..5 {
        daemons.node(index, &[]);
    }
    for index in 5..10 {
        daemons.node(index, &[("disk", "fast")]);
    }
    for (index, count) in [(0, 1), (1, 3), (2, 4), (6, 13), (9, 1)] {
        for number in 0..count {
            daemons.pod(&format!("p{index}-{number}"), index, hash, PodPhase::Running, true);
        }
    }
    daemons.start();
    // Nodes 5, 7 and 8 lack one; eight are where none should be, and twelve are doubles.
    assert_eq!(daemons.step(), (3, 20));
    assert_eq!(daemons.aims(), ["n5", "n7", "n8"]);
}

#[test]
fn untolerated_taints_decide_by_their_effect() {
    let key = "example.com/reserved";
    // (effect, with a pod) -> creations and deletions
    let check = |effect: TaintEffect, has_pod: bool, expected: (usize, usize)| {
        let mut daemons = Daemons::with_nodes("", 1);
        daemons.taint(0, key, effect);
        if has_pod {
            daemons.new_pod(0, true);
        }
        daemons.start();
        assert_eq!(daemons.step(), expected, "{effect} with a pod: {has_pod}");
    };
    check(TaintEffect::NoSchedule, true, (0, 0));
    check(TaintEffect::NoSchedule, false, (0, 0));
    check(TaintEffect::NoExecute, true, (0, 1));
    check(TaintEffect::PreferNoSchedule, false, (1, 0));
}

#[test]
fn unbound_pods_that_aim_at_a_missing_node_go_and_bound_ones_are_left_alone() {
    let mut daemons = Daemons::with_nodes("", 2);
    daemons.new_pod(1, true);
    daemons.start();
    assert_eq!(daemons.step(), (1, 0));
    for index in [0, 1] {
        let node = daemons.node_id(index);
        daemons.cluster.ask(Request::DeleteNode { node }).expect("a deletion");
    }
    // The deletion of a node wakes nobody; the next sync does it.
    assert_eq!(daemons.step(), (0, 0));
    daemons.start();
    assert_eq!(daemons.step().1, 1);
    assert_eq!(daemons.cluster.pods().iter().map(|pod| &*pod.name).collect::<Vec<_>>(), ["new-1"]);
}

#[test]
fn an_empty_selector_selects_too_much() {
    let mut cluster = cluster::<DaemonSets>();
    let set: model::DaemonSet =
        serde_saphyr::from_str(&text("agent", &format!("selector: {{}}, {TEMPLATE}"))).expect("a set");
    cluster.create(Object::DaemonSet(Box::new(set)));
    cluster.start();
    cluster.run_for(3.0);
    assert_eq!((cluster.creates.len(), cluster.reasons("SelectingAll")), (0, 1));
}

#[test]
fn changes_of_a_node_matter_by_its_labels_and_taints() {
    let template = TEMPLATE.replace("spec: {containers", "spec: {nodeSelector: {disk: fast}, containers");
    let mut daemons = Daemons::new("");
    let set: model::DaemonSet =
        serde_saphyr::from_str(&text("agent", &format!("{SELECTOR}, {template}"))).expect("a set");
    daemons.cluster.ask(Request::Apply(Box::new(Object::DaemonSet(Box::new(set))))).expect("an update");
    daemons.node(0, &[]);
    daemons.node(1, &[("disk", "fast")]);
    daemons.taint(1, "example.com/reserved", TaintEffect::NoSchedule);
    daemons.start();
    assert_eq!(daemons.step(), (0, 0));
    daemons.untaint(1, "example.com/reserved", TaintEffect::NoSchedule);
    assert_eq!(daemons.step(), (1, 0));
    let labels = [("disk", "fast")].iter().map(|(k, v)| (Symbol::new(k), Symbol::new(v))).collect();
    let node = daemons.node_id(0);
    daemons.cluster.ask(Request::SetNodeLabels { node, labels }).expect("labels");
    assert_eq!(daemons.step(), (1, 0));
    daemons.up(true);
    daemons.step();
    let labels = [("disk", "slow")].iter().map(|(k, v)| (Symbol::new(k), Symbol::new(v))).collect();
    daemons.cluster.ask(Request::SetNodeLabels { node, labels }).expect("labels");
    assert_eq!(daemons.step(), (0, 1));
}

// ---- pods that have ended, or go ---------------------------------------------------------------------------------------

#[test]
fn a_failed_pod_is_deleted_with_an_event_and_the_oldest_of_the_others_stays() {
    let check = |failed: usize, normal: usize, expected: (usize, usize), events: usize| {
        let mut daemons = Daemons::with_nodes("", 1);
        let hash = daemons.hash();
        for number in 0..failed {
            daemons.pod(&format!("failed-{number}"), 0, hash, PodPhase::Failed, false);
        }
        for number in 0..normal {
            daemons.pod(&format!("normal-{number}"), 0, hash, PodPhase::Running, true);
        }
        daemons.start();
        daemons.cluster.run_for(0.011);
        let found = (daemons.cluster.creates.len(), daemons.cluster.deletes.len());
        assert_eq!(found, expected, "{failed} failed, {normal} normal");
        assert_eq!(daemons.cluster.reasons("FailedDaemonPod"), events);
    };
    check(1, 0, (0, 1), 1);
    check(1, 3, (0, 3), 1);
    check(0, 1, (0, 0), 0);
    check(0, 0, (1, 0), 0);
}

#[test]
fn a_pod_that_succeeded_is_deleted_without_a_pause() {
    let mut daemons = Daemons::with_nodes("", 1);
    let hash = daemons.hash();
    daemons.pod("done", 0, hash, PodPhase::Succeeded, false);
    daemons.start();
    assert_eq!(daemons.step(), (1, 1));
    assert_eq!(daemons.cluster.reasons("SucceededDaemonPod"), 1);
}

#[test]
fn pods_that_fail_again_and_again_are_replaced_ever_more_seldom() {
    let mut daemons = Daemons::with_nodes("", 1);
    daemons.start();
    let mut deleted_at = Vec::new();
    let mut seen = 0;
    for _ in 0..6000 {
        daemons.cluster.run_for(0.01);
        // Whatever is made fails at once.
        let alive = |pod: &crate::state::Pod| !pod.phase.is_terminal();
        let pods: Vec<PodId> = daemons.cluster.store().pods().filter(|(_, pod)| alive(pod)).map(|(id, _)| id).collect();
        for pod in pods {
            daemons.cluster.patch(pod, PodStatusPatch { phase: Some(PodPhase::Failed), ..PodStatusPatch::default() });
        }
        if daemons.cluster.deletes.len() > seen {
            seen = daemons.cluster.deletes.len();
            deleted_at.push(daemons.cluster.now());
        }
    }
    // The first at once, then after 1, 2, 4, 8, 16 seconds.
    let pauses: Vec<f64> = deleted_at.windows(2).map(|pair| pair[1].saturating_since(pair[0]).as_secs_f64()).collect();
    for (pause, expected) in pauses.iter().zip([1.0, 2.0, 4.0, 8.0, 16.0]) {
        assert!((expected..expected + 0.1).contains(pause), "{pauses:?}");
    }
    assert_eq!(pauses.len(), 5, "{pauses:?}");
}

#[test]
fn a_terminating_pod_keeps_its_node_until_it_is_gone() {
    let mut daemons = Daemons::with_nodes("", 1);
    let pod = daemons.new_pod(0, true);
    daemons.cluster.delete(pod);
    daemons.start();
    assert_eq!(daemons.step(), (0, 0));
    daemons.remove(pod);
    assert_eq!(daemons.step(), (1, 0));
}

#[test]
fn refused_creations_stop_the_batches() {
    let mut daemons = Daemons::with_nodes("", 100);
    daemons.cluster.room(10);
    daemons.start();
    // One pass: batches of 1, 2, 4 and 8.
    daemons.cluster.run_for(0.042);
    assert!(daemons.cluster.creates.len() <= 15, "{}", daemons.cluster.creates.len());
    assert_eq!(daemons.cluster.pods().len(), 10);
    daemons.cluster.run_for(1.0);
    assert_eq!((daemons.status().desired, daemons.status().current), (100, 10));
}

#[test]
fn a_set_made_again_under_its_name_does_not_wait_for_the_pods_of_the_first() {
    let mut daemons = Daemons::with_nodes("", 1);
    daemons.start();
    // The creation is on its way, and nobody has seen it.
    daemons.cluster.run_for(0.006);
    let (workload, propagation) = (WorkloadId::DaemonSet(daemons.id), crate::state::Propagation::Orphan);
    daemons.cluster.ask(Request::DeleteWorkload { workload, propagation }).expect("a deletion");
    if daemons.cluster.store().daemon_sets.get(daemons.id).is_some() {
        daemons.cluster.ask(Request::FinalizeWorkload { workload }).expect("the end");
    }
    let pods: Vec<PodId> = daemons.cluster.store().pods().map(|(id, _)| id).collect();
    for pod in pods {
        daemons.remove(pod);
    }
    let set: model::DaemonSet =
        serde_saphyr::from_str(&text("agent", &format!("{SELECTOR}, {TEMPLATE}"))).expect("a set");
    daemons.cluster.create(Object::DaemonSet(Box::new(set)));
    let before = daemons.cluster.creates.len();
    daemons.cluster.run_for(2.0);
    assert_eq!(daemons.cluster.creates.len() - before, 1);
}

// ---- rolling updates ---------------------------------------------------------------------------------------------------

#[test]
fn an_update_goes_on_as_far_as_pods_may_be_unavailable() {
    let mut daemons = Daemons::with_nodes(&rolling("maxUnavailable: 2"), 5);
    for index in 0..5 {
        daemons.old(index, true);
    }
    daemons.start();
    for (deleted, created) in [(2, 2), (2, 2), (1, 1)] {
        assert_eq!(daemons.step(), (0, deleted));
        daemons.gone();
        assert_eq!(daemons.step(), (created, 0));
        assert_eq!(daemons.step(), (0, 0), "new pods are not ready yet");
        daemons.up(true);
    }
    assert_eq!(daemons.step(), (0, 0));
    assert_eq!(daemons.status().updated, 5);
}

#[test]
fn an_update_stops_at_new_pods_that_never_get_ready() {
    let mut daemons = Daemons::with_nodes(&rolling("maxUnavailable: 3"), 5);
    for index in 0..5 {
        daemons.old(index, true);
    }
    daemons.start();
    assert_eq!(daemons.step(), (0, 3));
    daemons.gone();
    assert_eq!(daemons.step(), (3, 0));
    daemons.up(false);
    assert_eq!(daemons.step(), (0, 0));
}

#[test]
fn old_pods_that_are_not_available_go_whatever_the_limit() {
    let mut daemons = Daemons::with_nodes(&rolling("maxUnavailable: 3"), 5);
    for index in 0..5 {
        daemons.old(index, false);
    }
    daemons.start();
    assert_eq!(daemons.step(), (0, 5));
}

#[test]
fn ready_pods_stay_as_long_as_others_use_up_the_limit() {
    let check = |limit: i32, expected: usize| {
        let mut daemons = Daemons::with_nodes(&rolling(&format!("maxUnavailable: {limit}")), 20);
        for index in 0..20 {
            daemons.old(index, index < 10);
        }
        daemons.start();
        assert_eq!(daemons.step(), (0, expected), "maxUnavailable {limit}");
        let spared = (0..10).filter(|index| !daemons.deleted().contains(&format!("old-{index}"))).count();
        assert_eq!(spared, 20 - expected);
    };
    check(1, 10);
    check(9, 10);
    check(11, 11);
}

#[test]
fn new_pods_that_are_not_available_use_up_the_limit() {
    let mut daemons = Daemons::with_nodes(&rolling("maxUnavailable: 10"), 100);
    for index in 0..12 {
        daemons.old(index, index < 10);
    }
    for index in 12..100 {
        daemons.new_pod(index, false);
    }
    daemons.start();
    assert_eq!(daemons.step(), (0, 2));
    assert_eq!(daemons.deleted(), ["old-10", "old-11"]);
}

#[test]
fn a_surge_makes_the_new_pod_first() {
    let mut daemons = Daemons::with_nodes(&rolling("maxSurge: 2, maxUnavailable: 0"), 5);
    for index in 0..5 {
        daemons.old(index, true);
    }
    daemons.start();
    assert_eq!(daemons.step(), (2, 0));
    for expected in [(2, 2), (1, 2), (0, 1)] {
        daemons.up(true);
        assert_eq!(daemons.step(), expected);
        daemons.gone();
        assert_eq!(daemons.step(), (0, 0));
    }
}

#[test]
fn a_surge_replaces_pods_that_are_not_available_whatever_its_size() {
    let mut daemons = Daemons::with_nodes(&rolling("maxSurge: 3, maxUnavailable: 0"), 5);
    for index in 0..5 {
        daemons.old(index, false);
    }
    daemons.start();
    // Each old one goes when its successor is there, as neither serves anybody.
    assert_eq!(daemons.step(), (5, 5));
    let live = daemons.cluster.pods().into_iter().filter(|pod| pod.deletion.is_none());
    assert!(live.into_iter().all(|pod| pod.name.starts_with("agent-")));
}

#[test]
fn a_surge_waits_until_the_new_pod_has_been_ready_long_enough() {
    let spec = format!("minReadySeconds: 15, {}", rolling("maxSurge: 1, maxUnavailable: 0"));
    let mut daemons = Daemons::with_nodes(&spec, 1);
    daemons.old(0, true);
    daemons.cluster.pass(SimDuration::from_secs(60));
    let new = daemons.new_pod(0, false);
    daemons.start();
    daemons.step();
    daemons.cluster.patch(new, PodStatusPatch { ready: Some(Status::True), ..PodStatusPatch::default() });
    daemons.cluster.run_for(10.0);
    assert!(daemons.deleted().is_empty());
    daemons.cluster.run_for(10.0);
    assert_eq!(daemons.deleted(), ["old-0"]);
}

#[test]
fn of_several_old_pods_beside_a_surge_the_oldest_stays() {
    let mut daemons = Daemons::with_nodes(&rolling("maxSurge: 1, maxUnavailable: 0"), 1);
    daemons.old(0, true);
    daemons.pod("old-later", 0, "old", PodPhase::Running, true);
    daemons.new_pod(0, false);
    daemons.start();
    assert_eq!(daemons.step(), (0, 1));
    assert_eq!(daemons.deleted(), ["old-later"]);
}

#[test]
fn a_surge_at_its_limit_still_fills_a_node_whose_pod_goes() {
    let mut daemons = Daemons::with_nodes(&rolling("maxSurge: 1, maxUnavailable: 0"), 3);
    for index in 0..3 {
        let pod = daemons.old(index, true);
        if index == 1 {
            daemons.cluster.delete(pod);
        }
    }
    daemons.new_pod(0, false);
    daemons.start();
    assert_eq!(daemons.step(), (1, 0));
    assert_eq!(daemons.aims(), ["n1"]);
}

#[test]
fn a_surge_takes_the_pod_off_a_node_that_should_have_none_when_others_make_up_for_it() {
    let mut daemons = Daemons::with_nodes(&rolling("maxSurge: 1, maxUnavailable: 0"), 5);
    for index in 0..5 {
        daemons.old(index, true);
    }
    daemons.taint(4, "example.com/reserved", TaintEffect::NoSchedule);
    daemons.start();
    assert_eq!(daemons.step(), (1, 1));
    assert_eq!(daemons.deleted(), ["old-4"]);
}

#[test]
fn a_lost_node_holds_up_the_whole_update() {
    let mut daemons = Daemons::with_nodes(&rolling("maxUnavailable: 1"), 10);
    for index in 0..10 {
        // The node lifecycle controller has marked the pod of the lost node.
        daemons.old(index, index != 3);
    }
    for effect in [TaintEffect::NoSchedule, TaintEffect::NoExecute] {
        daemons.taint(3, "node.kubernetes.io/unreachable", effect);
    }
    daemons.start();
    assert_eq!(daemons.step(), (0, 1));
    assert_eq!(daemons.deleted(), ["old-3"]);
    assert_eq!(daemons.step(), (0, 0), "it hangs, and counts");
    daemons.gone();
    assert_eq!(daemons.step(), (0, 1), "the node has no pod and needs none");
}

/// A set with two nodes, both with an old pod that is available, of which one is deleted before the controller looks.
fn with_a_node_gone(limits: &str) -> Daemons {
    let mut daemons = Daemons::with_nodes(&rolling(limits), 2);
    for index in 0..2 {
        daemons.old(index, true);
    }
    let node = daemons.node_id(1);
    daemons.cluster.ask(Request::DeleteNode { node }).expect("a deletion");
    daemons
}

#[test]
fn pods_of_a_node_that_is_gone_are_candidates_and_use_up_the_limit() {
    let mut daemons = with_a_node_gone("maxUnavailable: 1");
    daemons.remove_named("old-0");
    daemons.start();
    assert_eq!(daemons.step(), (1, 0));
    daemons.up(true);
    assert_eq!(daemons.step(), (0, 1));
    assert_eq!(daemons.deleted(), ["old-1"]);
    let mut daemons = with_a_node_gone("maxUnavailable: 2");
    daemons.start();
    assert_eq!(daemons.step(), (0, 2));
    assert_eq!(daemons.deleted(), ["old-0", "old-1"]);
    let mut daemons = Daemons::with_nodes(&rolling("maxUnavailable: 1"), 2);
    daemons.old(0, true);
    let hanging = daemons.old(1, true);
    daemons.cluster.delete(hanging);
    let node = daemons.node_id(1);
    daemons.cluster.ask(Request::DeleteNode { node }).expect("a deletion");
    daemons.start();
    assert_eq!(daemons.step(), (0, 0), "one that goes counts as unavailable");
    daemons.gone();
    assert_eq!(daemons.step(), (0, 1));
}

#[test]
fn a_surge_waits_for_the_old_pod_of_a_node_that_is_gone() {
    let mut daemons = with_a_node_gone("maxSurge: 1, maxUnavailable: 0");
    daemons.start();
    assert_eq!(daemons.step(), (0, 0));
    daemons.remove_named("old-1");
    assert_eq!(daemons.step(), (1, 0));
}

#[test]
fn deletions_on_request_leave_old_pods_alone() {
    let mut daemons = Daemons::with_nodes("updateStrategy: {type: OnDelete}", 2);
    let first = daemons.old(0, true);
    daemons.old(1, false);
    daemons.start();
    assert_eq!(daemons.step(), (0, 0));
    daemons.remove(first);
    assert_eq!(daemons.step(), (1, 0));
}

#[test]
fn at_most_250_are_created_in_one_sync() {
    let mut daemons = Daemons::with_nodes("", 300);
    daemons.start();
    daemons.cluster.run_for(20.0);
    assert_eq!(daemons.cluster.pods().len(), 300);
    let batches: Vec<usize> = daemons.cluster.creates.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
    // 1, 2, 4, … 123 are 250; the next sync begins with one again.
    assert_eq!(batches[..8].iter().sum::<usize>(), 250, "{batches:?}");
    assert_eq!(batches[8], 1, "{batches:?}");
}

#[test]
fn evicted_daemon_pods_count_like_any_that_has_failed() {
    let mut daemons = Daemons::with_nodes("", 1);
    let pod = daemons.new_pod(0, true);
    let disruption = Some((DisruptionReason::TerminationByKubelet, true));
    let patch = PodStatusPatch {
        phase: Some(PodPhase::Failed),
        reason: Some(Symbol::new("Evicted")),
        disruption,
        ..PodStatusPatch::default()
    };
    daemons.cluster.patch(pod, patch);
    daemons.start();
    assert_eq!(daemons.step(), (1, 1));
    let template = Arc::clone(&daemons.cluster.store().daemon_sets[daemons.id].spec.template);
    assert_eq!(template.spec.tolerations.len(), 0, "automatic tolerations are the pods', not the template's");
}
