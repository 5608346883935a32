//! Workload controllers, one at a time, with a whole API server and nobody else.

use std::sync::Arc;

use super::deployment::Deployments;
use super::job::Jobs;
use super::replica_set::ReplicaSets;
use super::stateful_set::StatefulSets;
use crate::apiserver::link_owners;
use crate::arena::Symbol;
use crate::component::{
    Controller, DeleteOptions, ErrorReason, PodDraft, PodName, PodStatusPatch, Reconcile, Reply, Request, StatusUpdate,
};
use crate::engine::Streams;
use crate::model::config::FeatureGates;
use crate::model::{self, Object, ObjectKind};
use crate::state::{
    DeletionCause, DeploymentCondition, DeploymentId, JobConditionType, JobId, Owner, Pod, PodId, PodPhase,
    ReplicaSetId, ReplicaSetStatus, StatefulSetId, Status, WorkloadId,
};
use crate::testing::{Lab, Member, config};
use crate::units::{SimDuration, SimTime};

/// A cluster with one workload controller, whose client knows no limit.
pub(super) type Cluster<R> = Lab<Controller<R>>;

/// An empty cluster after a million seconds, as nothing is younger than it says.
pub(super) fn cluster<R: Reconcile>() -> Cluster<R>
where
    Controller<R>: Member,
{
    let mut config = config();
    config.kube_controller_manager.kube_api_qps = f64::INFINITY;
    let mut cluster = Lab::new(config, 3);
    cluster.set_now(SimTime::from_secs(1_000_000));
    cluster
}

const WAY: SimDuration = SimDuration::from_millis(5);

impl<R: Reconcile> Cluster<R>
where
    Controller<R>: Member,
{
    /// The API server creates so many more pods.
    pub(super) fn room(&mut self, mut room: usize) {
        self.refuse(move |request, _| {
            let is_full = matches!(request, Request::CreatePod(_)) && room == 0;
            room -= usize::from(matches!(request, Request::CreatePod(_)) && !is_full);
            is_full.then_some(ErrorReason::Forbidden)
        });
    }

    /// The API server is away for some requests.
    pub(super) fn lose(&mut self, is_lost: fn(&Request) -> bool) {
        self.refuse(move |request, _| is_lost(request).then_some(ErrorReason::Unavailable));
    }

    /// A pod of the owner, as the kubelet would leave it.
    #[track_caller]
    fn owned_pod(&mut self, name: &str, owner: Owner, node: Option<&str>, phase: PodPhase, is_ready: bool) -> PodId {
        self.labeled_pod(name, owner, node, phase, is_ready, &[])
    }

    #[track_caller]
    pub(super) fn labeled_pod(
        &mut self,
        name: &str,
        owner: Owner,
        node: Option<&str>,
        phase: PodPhase,
        is_ready: bool,
        labels: &[(&str, &str)],
    ) -> PodId {
        let node = node.map_or(String::new(), |node| format!("nodeName: {node}, "));
        let template =
            format!("{{metadata: {{labels: {{a: b}}}}, spec: {{{node}containers: [{{name: c, image: i}}]}}}}");
        let draft = PodDraft {
            namespace: Symbol::new("default"),
            name: PodName::Exact(name.into()),
            template: Arc::new(serde_saphyr::from_str(&template).expect("a template")),
            extra_labels: labels.iter().map(|(k, v)| (Symbol::new(k), Symbol::new(v))).collect(),
            owner: Some(owner),
            pinned_node: None,
            job_tracking: matches!(owner, Owner::Job(_)),
        };
        let Ok(Reply::Pod(id)) = self.ask(Request::CreatePod(Box::new(draft))) else { panic!("no pod {name}") };
        let ready = (phase != PodPhase::Pending).then_some(if is_ready { Status::True } else { Status::False });
        self.patch(id, PodStatusPatch { phase: Some(phase), ready, ..PodStatusPatch::default() });
        id
    }

    pub(super) fn patch(&mut self, pod: PodId, patch: PodStatusPatch) {
        self.ask(Request::PatchPodStatus { pod, patch: Box::new(patch) }).expect("a patch");
    }

    pub(super) fn delete(&mut self, pod: PodId) {
        let options = DeleteOptions::default();
        self.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }).expect("a deletion");
    }

    pub(super) fn pods(&self) -> Vec<&Pod> {
        self.store().pods().map(|(_, pod)| pod).collect()
    }

    pub(super) fn reasons(&self, wanted: &str) -> usize {
        self.messages(wanted).len()
    }
}

pub(super) const TEMPLATE: &str = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}";

pub(super) fn text(name: &str, spec: &str) -> String {
    format!("{{metadata: {{name: {name}, namespace: default}}, spec: {{{spec}}}}}")
}

// ---- ReplicaSet -------------------------------------------------------------------------------------------------------

fn replica_set(cluster: &mut Cluster<ReplicaSets>, replicas: usize) -> ReplicaSetId {
    let text = text("web", &format!("replicas: {replicas}, selector: {{matchLabels: {{a: b}}}}, {TEMPLATE}"));
    let set: model::ReplicaSet = serde_saphyr::from_str(&text).expect("a set");
    match cluster.create(Object::ReplicaSet(Box::new(set))) {
        Reply::Workload(WorkloadId::ReplicaSet(id)) => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn creations_start_slowly_and_stop_at_the_first_refusal() {
    let check = |room: usize, tried: usize, batches: usize| {
        let mut cluster = cluster::<ReplicaSets>();
        replica_set(&mut cluster, 10);
        cluster.room(room);
        cluster.start();
        // The first retry comes 5 ms after the end of the pass.
        let pass = match room {
            0 => 0.012,
            5 => 0.032,
            _ => 0.05,
        };
        cluster.run_for(pass);
        assert_eq!(cluster.creates.len(), tried, "room for {room}");
        let mut times = cluster.creates.clone();
        times.dedup();
        assert_eq!(times.len(), batches);
    };
    check(0, 1, 1);
    check(5, 7, 3);
    check(10, 10, 4);
}

#[test]
fn at_most_500_are_created_before_all_of_them_were_seen() {
    let mut cluster = cluster::<ReplicaSets>();
    replica_set(&mut cluster, 1200);
    cluster.start();
    cluster.run_for(30.0);
    assert_eq!(cluster.pods().len(), 1200);
    let batches = cluster.creates.chunk_by(|a, b| a == b).map(<[SimTime]>::len).collect::<Vec<_>>();
    assert_eq!(batches[..9].iter().sum::<usize>(), 500, "{batches:?}");
    assert_eq!(batches[9], 1, "the next five hundred begin anew");
}

#[test]
fn a_refused_creation_is_tried_again_and_shown_as_a_condition() {
    let mut cluster = cluster::<ReplicaSets>();
    let id = replica_set(&mut cluster, 2);
    cluster.room(1);
    cluster.start();
    cluster.run_for(1.0);
    assert_eq!(cluster.pods().len(), 1);
    assert_eq!(cluster.store().replica_sets[id].status.failure.map(|failure| failure.reason), Some("FailedCreate"));
    assert!(cluster.reasons("FailedCreate") >= 2);
    cluster.room(10);
    cluster.run_for(60.0);
    assert_eq!(cluster.pods().len(), 2);
    assert_eq!(cluster.store().replica_sets[id].status.failure, None);
}

#[test]
fn the_pods_that_do_least_are_deleted() {
    let mut cluster = cluster::<ReplicaSets>();
    let id = replica_set(&mut cluster, 2);
    let owner = Owner::ReplicaSet(id);
    cluster.owned_pod("ready-1", owner, Some("n1"), PodPhase::Running, true);
    cluster.owned_pod("ready-2", owner, Some("n2"), PodPhase::Running, true);
    cluster.owned_pod("not-ready", owner, Some("n1"), PodPhase::Running, false);
    cluster.owned_pod("pending", owner, Some("n2"), PodPhase::Pending, false);
    cluster.owned_pod("unscheduled", owner, None, PodPhase::Pending, false);
    cluster.owned_pod("failed", owner, Some("n1"), PodPhase::Failed, false);
    cluster.start();
    cluster.run_for(1.0);
    cluster.deletes.sort();
    assert_eq!(cluster.deletes, ["not-ready", "pending", "unscheduled"]);
}

#[test]
fn a_pod_marked_for_deletion_is_replaced_at_once_and_stays() {
    let mut cluster = cluster::<ReplicaSets>();
    let id = replica_set(&mut cluster, 2);
    let lost = cluster.owned_pod("lost", Owner::ReplicaSet(id), Some("n1"), PodPhase::Running, true);
    cluster.owned_pod("kept", Owner::ReplicaSet(id), Some("n2"), PodPhase::Running, true);
    cluster.start();
    cluster.run_for(1.0);
    assert!(cluster.creates.is_empty());
    let at = cluster.now();
    cluster.delete(lost);
    cluster.run_for(10.0);
    assert_eq!(cluster.creates, [at + WAY * 2]);
    assert!(cluster.store().pod(lost).is_some());
    assert_eq!(cluster.store().replica_sets[id].status.replicas, 2);
}

#[test]
fn a_status_that_meets_a_scaling_is_written_once_more_to_the_set_as_it_is() {
    let mut cluster = cluster::<ReplicaSets>();
    let set = replica_set(&mut cluster, 1);
    cluster.owned_pod("a", Owner::ReplicaSet(set), Some("n"), PodPhase::Running, true);
    cluster.start();
    // The status is on its way, made from the set as it was.
    let scaled = Request::UpdateReplicaSet { replica_set: set, base: None, replicas: Some(2), annotations: None };
    cluster.ask(scaled).expect("an update");
    cluster.run_for(0.022);
    let status = &cluster.store().replica_sets[set].status;
    assert_eq!((cluster.reads.len(), status.ready), (1, 0), "it was refused, and the set was read");
    cluster.run_for(0.01);
    let status = &cluster.store().replica_sets[set].status;
    assert_eq!((status.ready, status.observed_generation), (1, 1), "which says nothing of the new size");
    cluster.run_for(1.0);
    let status = &cluster.store().replica_sets[set].status;
    assert_eq!((cluster.reads.len(), status.replicas, status.observed_generation), (1, 2, 2));
}

#[test]
fn orphans_that_match_are_adopted_and_count() {
    let mut cluster = cluster::<ReplicaSets>();
    let id = replica_set(&mut cluster, 3);
    for name in ["a", "b"] {
        let pod = cluster.owned_pod(name, Owner::ReplicaSet(id), Some("n1"), PodPhase::Running, true);
        cluster.ask(Request::SetPodOwner { pod, owner: None }).expect("an orphan");
    }
    cluster.start();
    cluster.run_for(5.0);
    assert_eq!((cluster.creates.len(), cluster.deletes.len(), cluster.pods().len()), (1, 0, 3));
    assert!(cluster.pods().iter().all(|pod| pod.owner == Some(Owner::ReplicaSet(id))));
}

/// # Source
/// replicaset-controller, `syncReplicaSet`: pods are claimed and, with what comes of it, managed in one pass.
#[test]
fn the_pass_that_adopts_a_pod_deletes_the_one_too_many() {
    let mut cluster = cluster::<ReplicaSets>();
    let id = replica_set(&mut cluster, 1);
    cluster.owned_pod("a", Owner::ReplicaSet(id), Some("n1"), PodPhase::Running, true);
    cluster.start();
    cluster.run_for(1.0);
    for name in ["b", "c", "d", "e"] {
        let pod = cluster.owned_pod(name, Owner::ReplicaSet(id), None, PodPhase::Pending, false);
        cluster.ask(Request::SetPodOwner { pod, owner: None }).expect("an orphan");
        cluster.run_for(0.015);
    }
    assert!(!cluster.deletes.is_empty(), "nobody waits until no pod is left to adopt");
    cluster.run_for(5.0);
    assert_eq!((cluster.creates.len(), cluster.pods().len()), (0, 1));
}

#[test]
fn a_set_that_is_being_deleted_neither_creates_nor_adopts() {
    let mut cluster = cluster::<ReplicaSets>();
    let id = replica_set(&mut cluster, 3);
    let workload = WorkloadId::ReplicaSet(id);
    let propagation = crate::state::Propagation::Foreground;
    cluster.ask(Request::DeleteWorkload { workload, propagation }).expect("a deletion");
    cluster.start();
    cluster.run_for(5.0);
    assert!(cluster.creates.is_empty());
}

// ---- Deployment -------------------------------------------------------------------------------------------------------

/// ReplicaSets of a Deployment: size, available pods, oldest first. The last one has the Deployment's template if `+` stands
/// before it.
struct Rollout<'a> {
    spec: &'a str,
    sets: &'a [(i32, i32)],
    has_new: bool,
    /// The size they were made for and with surge; none: as the spec says.
    made_for: Option<(i32, i32)>,
}

impl Rollout<'_> {
    #[track_caller]
    fn check(&self, expected: &[i32]) {
        assert_eq!(self.sizes_after(), expected, "{} {:?}", self.spec, self.sets);
    }

    /// The sizes after one pass.
    fn sizes_after(&self) -> Vec<i32> {
        let mut cluster = cluster::<Deployments>();
        let text = text("web", &format!("{}, selector: {{matchLabels: {{a: b}}}}, {TEMPLATE}", self.spec));
        let deployment: model::Deployment = serde_saphyr::from_str(&text).expect("a deployment");
        let Reply::Workload(WorkloadId::Deployment(id)) = cluster.create(Object::Deployment(Box::new(deployment)))
        else {
            panic!("no deployment")
        };
        let ids = self.make_sets(&mut cluster, id);
        // Only the first sizes that ReplicaSets are given count.
        let mut scaled_at = None;
        cluster.intercept(move |request, store, now| match request {
            Request::UpdateReplicaSet { replica_set, replicas: Some(size), .. } => {
                let is_new = *size != store.replica_sets[*replica_set].replicas;
                (is_new && *scaled_at.get_or_insert(now) != now).then_some(Ok(Reply::Unchanged))
            }
            _ => None,
        });
        cluster.start();
        cluster.run_for(0.1);
        ids.iter().map(|&set| cluster.store().replica_sets[set].replicas).collect()
    }

    fn make_sets(&self, cluster: &mut Cluster<Deployments>, id: DeploymentId) -> Vec<ReplicaSetId> {
        let spec = Arc::clone(&cluster.store().deployments[id].spec);
        let replicas = spec.replicas.unwrap_or(1);
        let mut ids = Vec::new();
        for (index, &(size, available)) in self.sets.iter().enumerate() {
            let is_new = self.has_new && index + 1 == self.sets.len();
            let image = if is_new { "i".to_owned() } else { format!("old{index}") };
            let (desired, max) = self.made_for.unwrap_or((replicas, replicas));
            let text = format!(
                "{{metadata: {{name: web-{index}, namespace: default, labels: {{a: b, pod-template-hash: h{index}}}, \
                 annotations: {{deployment.kubernetes.io/revision: '{index}', \
                 deployment.kubernetes.io/desired-replicas: '{desired}', deployment.kubernetes.io/max-replicas: '{max}'}}}}, \
                 spec: {{replicas: {size}, selector: {{matchLabels: {{a: b, pod-template-hash: h{index}}}}}, template: {{metadata: \
                 {{labels: {{a: b, pod-template-hash: h{index}}}}}, spec: {{containers: [{{name: c, image: {image}}}]}}}}}}}}"
            );
            let set: model::ReplicaSet = serde_saphyr::from_str(&text).expect("a set");
            cluster.pass(SimDuration::from_secs(1));
            let Reply::Workload(workload) = cluster.create(Object::ReplicaSet(Box::new(set))) else { panic!("no set") };
            let WorkloadId::ReplicaSet(set) = workload else { panic!("no set") };
            cluster.ask(Request::SetWorkloadOwner { workload, owner: Some(Owner::Deployment(id)) }).expect("an owner");
            let status =
                ReplicaSetStatus { replicas: size, ready: available, available, ..ReplicaSetStatus::default() };
            cluster.ask(Request::UpdateStatus(StatusUpdate::ReplicaSet(set, None, status))).expect("a status");
            ids.push(set);
        }
        ids
    }
}

fn rolling(surge: &str, unavailable: &str, replicas: i32) -> String {
    format!("replicas: {replicas}, strategy: {{rollingUpdate: {{maxSurge: {surge}, maxUnavailable: {unavailable}}}}}")
}

#[test]
fn the_new_set_grows_as_far_as_the_surge_allows() {
    let check = |surge: &str, old: i32, new: i32, expected: i32| {
        let spec = rolling(surge, "0", 10);
        let rollout = Rollout { spec: &spec, sets: &[(old, old), (new, new)], has_new: true, made_for: None };
        rollout.check(&[old, expected]);
    };
    check("2", 10, 0, 2);
    check("2", 5, 0, 7);
    check("2", 5, 1, 7);
}

#[test]
fn a_new_set_that_is_too_large_shrinks_to_the_wanted_size() {
    let spec = rolling("0", "2", 10);
    Rollout { spec: &spec, sets: &[(11, 11)], has_new: true, made_for: None }.check(&[10]);
}

#[test]
fn old_sets_shrink_unhealthy_pods_first_and_no_further_than_must_be_available() {
    let check = |unavailable: &str, old: (i32, i32), new: (i32, i32), expected: i32| {
        let spec = rolling("1", unavailable, 10);
        // The surge is used up, so the new set cannot grow.
        let new = (new.0.max(11 - old.0), new.1);
        let rollout = Rollout { spec: &spec, sets: &[old, new], has_new: true, made_for: None };
        rollout.check(&[expected, new.0]);
    };
    check("0", (10, 10), (1, 1), 9);
    check("2", (10, 10), (1, 0), 8);
    check("2", (10, 8), (1, 0), 8);
    check("2", (10, 9), (1, 0), 8);
    check("0", (10, 10), (1, 0), 10);
    check("2", (8, 8), (3, 0), 8);
    // It has just been shrunk and its status does not show that yet: those that were made up for are not counted twice.
    check("2", (8, 10), (5, 5), 8);
}

#[test]
fn a_set_that_gives_up_unhealthy_pods_and_others_is_scaled_twice() {
    let spec = rolling("3", "2", 10);
    // Thirteen are wanted and eight must be available: two that are not go, then one that is, as nine are.
    let mut cluster = cluster::<Deployments>();
    let text = text("web", &format!("{spec}, selector: {{matchLabels: {{a: b}}}}, {TEMPLATE}"));
    let deployment: model::Deployment = serde_saphyr::from_str(&text).expect("a deployment");
    let made = cluster.create(Object::Deployment(Box::new(deployment)));
    let Reply::Workload(WorkloadId::Deployment(id)) = made else { panic!("no deployment") };
    let sets = [(8, 6), (5, 3)];
    Rollout { spec: &spec, sets: &sets, has_new: true, made_for: None }.make_sets(&mut cluster, id);
    cluster.start();
    cluster.run_for(0.1);
    let said: Vec<&str> = cluster.messages("ScalingReplicaSet");
    assert_eq!(said[..2], ["Scaled down replica set web-0 from 8 to 6", "Scaled down replica set web-0 from 6 to 5"]);
}

#[test]
fn a_new_set_without_an_available_pod_leaves_the_old_alone() {
    let spec = rolling("0", "2", 10);
    Rollout { spec: &spec, sets: &[(8, 8), (2, 0)], has_new: true, made_for: None }.check(&[8, 2]);
}

#[test]
fn unhealthy_pods_of_the_oldest_set_go_first() {
    let spec = rolling("0", "4", 10);
    Rollout { spec: &spec, sets: &[(4, 2), (4, 3), (2, 2)], has_new: true, made_for: None }.check(&[1, 3, 2]);
}

#[test]
fn scaling_in_the_middle_of_a_roll_out_is_shared_in_proportion() {
    let check = |from: i32, to: i32, sets: &[i32], expected: &[i32]| {
        let spec = rolling("0", "1", to);
        let sets: Vec<(i32, i32)> = sets.iter().map(|&size| (size, size)).collect();
        Rollout { spec: &spec, sets: &sets, has_new: true, made_for: Some((from, from)) }.check(expected);
    };
    // Oldest first; the last one is the new set.
    check(5, 10, &[3, 2], &[6, 4]);
    check(5, 3, &[3, 2], &[2, 1]);
    check(9, 4, &[1, 8], &[0, 4]);
    check(7, 10, &[2, 3, 2], &[3, 4, 3]);
    check(13, 8, &[3, 8, 2], &[2, 5, 1]);
    check(3, 4, &[1, 1, 1], &[1, 1, 2]);
    check(3, 2, &[1, 1, 1], &[0, 1, 1]);
    check(12, 0, &[6, 6], &[0, 0]);
    check(0, 6, &[0, 0, 0], &[0, 0, 6]);
    // Without a set of the present template the newer one gets what is added.
    let spec = rolling("0", "1", 5);
    Rollout { spec: &spec, sets: &[(2, 2), (2, 2)], has_new: false, made_for: Some((4, 4)) }.check(&[2, 3]);
}

#[test]
fn the_surge_counts_when_a_roll_out_is_scaled() {
    let check = |surge: &str, to: i32, made_for: (i32, i32), sets: &[(i32, i32)], expected: &[i32]| {
        let spec = rolling(surge, "1", to);
        Rollout { spec: &spec, sets, has_new: true, made_for: Some(made_for) }.check(expected);
    };
    check("2", 20, (10, 12), &[(6, 6), (6, 6)], &[11, 11]);
    check("6", 50, (10, 13), &[(8, 8), (5, 5)], &[34, 22]);
}

/// Of random roll-outs: whatever a pass does, pods that serve stay as many as must, as each ReplicaSet gives up those first
/// that do not; and no more are wanted than the surge allows.
#[test]
fn no_pass_of_a_roll_out_takes_what_must_be_available() {
    let mut stream = Streams::new(1).stream("roll-outs", "random");
    for case in 0..300 {
        let mut below = |n: i32| i32::try_from(stream.below(n.unsigned_abs().max(1))).expect("small");
        let (replicas, surge, unavailable) = (1 + below(20), below(6), below(6));
        let count = 1 + below(4) as usize;
        let sets: Vec<(i32, i32)> = (0..count)
            .map(|_| {
                let size = below(replicas + 3);
                (size, if below(3) == 0 { below(size + 1) } else { size })
            })
            .collect();
        let spec = rolling(&surge.to_string(), &unavailable.to_string(), replicas);
        let rollout = Rollout { spec: &spec, sets: &sets, has_new: true, made_for: None };
        let after = rollout.sizes_after();
        let limit = if surge == 0 && unavailable == 0 { 1 } else { unavailable.min(replicas) };
        let available = |sizes: &[i32]| -> i32 { sets.iter().zip(sizes).map(|((_, a), size)| a.min(size)).sum() };
        let before: Vec<i32> = sets.iter().map(|(size, _)| *size).collect();
        let must = (replicas - limit).min(available(&before));
        // A new set that is too large shrinks to the wanted size, whoever serves.
        let is_too_large = before[count - 1] > replicas;
        let seen = format!("case {case}: {spec} {sets:?} became {after:?}");
        assert!(is_too_large || available(&after) >= must, "{seen}");
        let (old_total, new_total): (i32, i32) = (before.iter().sum(), after.iter().sum());
        assert!(new_total <= old_total.max(replicas + surge), "{seen}");
        assert!(after.iter().zip(&before).take(count - 1).all(|(after, before)| after <= before), "{seen}");
    }
}

/// Of random roll-outs that are scaled in the middle: the sizes add up to what is wanted with the surge, each ReplicaSet
/// stays within one pod of its share, and none goes the other way.
#[test]
fn shares_of_a_scaled_roll_out_add_up() {
    let mut stream = Streams::new(2).stream("roll-outs", "scaled");
    for case in 0..300 {
        let mut below = |n: i32| i32::try_from(stream.below(n.unsigned_abs().max(1))).expect("small");
        let (surge, to) = (1 + below(5), 1 + below(60));
        let count = 2 + below(3) as usize;
        let sets: Vec<(i32, i32)> = (0..count).map(|_| 1 + below(15)).map(|size| (size, size)).collect();
        let before: i32 = sets.iter().map(|(size, _)| size).sum();
        let from = before - surge;
        // Only a size that differs is a scaling.
        if from <= 0 || from == to {
            continue;
        }
        let spec = rolling(&surge.to_string(), "1", to);
        let rollout = Rollout { spec: &spec, sets: &sets, has_new: true, made_for: Some((from, before)) };
        let after = rollout.sizes_after();
        let seen = format!("case {case}: from {from} to {to} and {surge}: {sets:?} became {after:?}");
        assert_eq!(after.iter().sum::<i32>(), to + surge, "{seen}");
        for (&(size, _), &now) in sets.iter().zip(&after) {
            let share = f64::from(size) * f64::from(to + surge) / f64::from(before);
            assert!((f64::from(now) - share).abs() < count as f64, "{seen}");
            assert!((now - size) * (to + surge - before) >= 0, "{seen}");
        }
    }
}

#[test]
fn recreate_empties_the_old_set_before_anything_else() {
    let spec = "replicas: 3, strategy: {type: Recreate}";
    Rollout { spec, sets: &[(3, 3), (0, 0)], has_new: true, made_for: None }.check(&[0, 0]);
    Rollout { spec, sets: &[(0, 0), (0, 0)], has_new: true, made_for: None }.check(&[0, 3]);
}

#[test]
fn recreate_waits_for_every_old_pod_that_has_not_ended() {
    for (phase, is_marked, grows) in [
        (PodPhase::Running, false, false),
        (PodPhase::Running, true, false),
        (PodPhase::Pending, false, false),
        (PodPhase::Failed, false, true),
        (PodPhase::Succeeded, false, true),
    ] {
        let mut cluster = cluster::<Deployments>();
        let spec = "replicas: 3, strategy: {type: Recreate}";
        let text = text("web", &format!("{spec}, selector: {{matchLabels: {{a: b}}}}, {TEMPLATE}"));
        let deployment: model::Deployment = serde_saphyr::from_str(&text).expect("a deployment");
        let Reply::Workload(WorkloadId::Deployment(id)) = cluster.create(Object::Deployment(Box::new(deployment)))
        else {
            panic!("no deployment")
        };
        let rollout = Rollout { spec, sets: &[(0, 0), (0, 0)], has_new: true, made_for: None };
        let sets = rollout.make_sets(&mut cluster, id);
        let last = cluster.owned_pod("last", Owner::ReplicaSet(sets[0]), Some("n"), phase, false);
        if is_marked {
            cluster.delete(last);
        }
        cluster.start();
        cluster.run_for(1.0);
        let size = |cluster: &Cluster<Deployments>| cluster.store().replica_sets[sets[1]].replicas;
        assert_eq!(size(&cluster), if grows { 3 } else { 0 }, "{phase:?} marked {is_marked}");
        // Its object gone, the roll-out goes on by itself.
        if !grows {
            let options = DeleteOptions { grace_s: Some(0), uid: None };
            cluster.ask(Request::DeletePod { pod: last, options, cause: DeletionCause::Kubectl }).expect("a deletion");
            cluster.run_for(1.0);
            assert_eq!(size(&cluster), 3);
        }
    }
}

#[test]
fn a_replica_set_whose_name_is_taken_gets_another_hash() {
    let mut cluster = cluster::<Deployments>();
    let text = text("web", &format!("replicas: 2, selector: {{matchLabels: {{a: b}}}}, {TEMPLATE}"));
    let deployment: model::Deployment = serde_saphyr::from_str(&text).expect("a deployment");
    let made = cluster.create(Object::Deployment(Box::new(deployment)));
    let Reply::Workload(WorkloadId::Deployment(id)) = made else { panic!("no deployment") };
    cluster.start();
    cluster.run_for(1.0);
    let sets = |cluster: &Cluster<Deployments>| cluster.store().replica_sets_of(id).to_vec();
    let first = sets(&cluster)[0];
    // One that is let go comes back as long as it matches.
    cluster.ask(Request::SetWorkloadOwner { workload: WorkloadId::ReplicaSet(first), owner: None }).expect("an orphan");
    cluster.run_for(1.0);
    assert_eq!((sets(&cluster), cluster.store().deployments[id].status.collision_count), (vec![first], 0));
    let labels = cluster.store().replica_sets[first].meta.labels.with(Symbol::new("a"), Symbol::new("z"));
    cluster.store_mut().replica_sets[first].meta.labels = labels;
    let annotations = Arc::default();
    let workload = WorkloadId::ReplicaSet(first);
    cluster.ask(Request::SetWorkloadAnnotations { workload, annotations }).expect("annotations");
    cluster.run_for(1.0);
    assert_eq!(cluster.store().deployments[id].status.collision_count, 1);
    let after = sets(&cluster);
    assert_eq!(after.len(), 1);
    assert_ne!(cluster.store().replica_sets[after[0]].meta.name, cluster.store().replica_sets[first].meta.name);
}

#[test]
fn that_a_roll_out_has_begun_is_written_with_its_revision() {
    let mut cluster = cluster::<Deployments>();
    let of = |image: &str| {
        let template = TEMPLATE.replace("image: i", &format!("image: {image}"));
        let text = text("web", &format!("replicas: 1, selector: {{matchLabels: {{a: b}}}}, {template}"));
        let mut deployment: model::Deployment = serde_saphyr::from_str(&text).expect("a deployment");
        deployment.spec.progress_deadline_seconds = Some(600);
        Box::new(Object::Deployment(Box::new(deployment)))
    };
    let Reply::Workload(WorkloadId::Deployment(id)) = cluster.create(*of("i")) else { panic!("no deployment") };
    cluster.start();
    cluster.run_for(1.0);
    let progressing = cluster.store().deployments[id].status.progressing.expect("an estimate");
    cluster.store_mut().deployments[id].status.progressing =
        Some(DeploymentCondition { reason: "NewReplicaSetAvailable".into(), ..progressing });
    cluster.ask(Request::Apply(of("j"))).expect("a new template");
    cluster.run_for(0.03);
    let deployment = &cluster.store().deployments[id];
    let revision = Symbol::new("deployment.kubernetes.io/revision");
    assert_eq!(deployment.meta.annotations.get(&revision).map(|text| text.as_str()), Some("2"));
    assert_eq!(deployment.status.progressing.map(|condition| condition.reason.as_str()), Some("NewReplicaSetCreated"));
}

// ---- StatefulSet ------------------------------------------------------------------------------------------------------

fn stateful_set(cluster: &mut Cluster<StatefulSets>, spec: &str) -> StatefulSetId {
    let text = text("db", &format!("{spec}, selector: {{matchLabels: {{a: b}}}}, {TEMPLATE}"));
    let set: model::StatefulSet = serde_saphyr::from_str(&text).expect("a set");
    match cluster.create(Object::StatefulSet(Box::new(set))) {
        Reply::Workload(WorkloadId::StatefulSet(id)) => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_template_is_one_revision_and_an_earlier_one_gets_a_new_number() {
    let mut cluster = cluster::<StatefulSets>();
    let id = stateful_set(&mut cluster, "replicas: 0");
    let revisions = |cluster: &Cluster<StatefulSets>| {
        let mut numbers: Vec<i64> = cluster
            .store()
            .revisions_of(WorkloadId::StatefulSet(id))
            .iter()
            .map(|&r| cluster.store().controller_revisions[r].revision)
            .collect();
        numbers.sort_unstable();
        numbers
    };
    let set_image = |cluster: &mut Cluster<StatefulSets>, image: &str| {
        let spec = format!("replicas: 0, selector: {{matchLabels: {{a: b}}}}, {}", TEMPLATE.replace("image: i", image));
        let set: model::StatefulSet = serde_saphyr::from_str(&text("db", &spec)).expect("a set");
        cluster.ask(Request::Apply(Box::new(Object::StatefulSet(Box::new(set))))).expect("an update");
        cluster.run_for(5.0);
    };
    cluster.start();
    cluster.run_for(5.0);
    assert_eq!(revisions(&cluster), [1]);
    set_image(&mut cluster, "image: j");
    assert_eq!(revisions(&cluster), [1, 2]);
    set_image(&mut cluster, "image: i");
    assert_eq!(revisions(&cluster), [2, 3]);
}

#[test]
fn a_pod_that_is_deleted_for_an_update_is_current_no_longer_in_the_same_pass() {
    let mut cluster = cluster::<StatefulSets>();
    let id = stateful_set(&mut cluster, "replicas: 2");
    cluster.start();
    cluster.run_for(1.0);
    up(&mut cluster, None);
    cluster.run_for(1.0);
    up(&mut cluster, None);
    cluster.run_for(1.0);
    assert_eq!(cluster.store().stateful_sets[id].status.current, 2);
    let template = TEMPLATE.replace("image: i", "image: j");
    let spec = format!("replicas: 2, selector: {{matchLabels: {{a: b}}}}, {template}");
    let set: model::StatefulSet = serde_saphyr::from_str(&text("db", &spec)).expect("a set");
    let version = cluster.store().stateful_sets[id].meta.version;
    cluster.ask(Request::Apply(Box::new(Object::StatefulSet(Box::new(set))))).expect("an update");
    while cluster.store().stateful_sets[id].meta.version < version + 2 {
        cluster.run_for(0.001);
    }
    let status = &cluster.store().stateful_sets[id].status;
    assert_eq!(
        (cluster.deletes.len(), status.observed_generation, status.current),
        (1, 2, 1),
        "the first status says so"
    );
}

/// # Source
/// statefulset-controller, `newVersionedStatefulSetPod`: defaults write a partition only where no type is given.
#[test]
fn a_lost_pod_of_a_roll_out_that_names_its_type_alone_comes_back_as_it_was() {
    for (strategy, expected) in [("", "new"), ("updateStrategy: {type: RollingUpdate}, ", "old")] {
        let mut cluster = cluster::<StatefulSets>();
        let spec = format!("{strategy}replicas: 3, selector: {{matchLabels: {{a: b}}}}");
        let id = stateful_set(&mut cluster, &format!("{strategy}replicas: 3"));
        cluster.start();
        for _ in 0..3 {
            cluster.run_for(1.0);
            up(&mut cluster, None);
        }
        cluster.run_for(1.0);
        let text = text("db", &format!("{spec}, {}", TEMPLATE.replace("image: i", "image: j")));
        let set: model::StatefulSet = serde_saphyr::from_str(&text).expect("a set");
        cluster.ask(Request::Apply(Box::new(Object::StatefulSet(Box::new(set))))).expect("an update");
        cluster.run_for(1.0);
        // While the last one is replaced the first is lost.
        let first = cluster.store().pods().find(|(_, pod)| &*pod.name == "db-0").map(|(pod, _)| pod).expect("db-0");
        cluster.delete(first);
        sweep(&mut cluster);
        cluster.run_for(1.0);
        let status = &cluster.store().stateful_sets[id].status;
        let pod = cluster.pods().into_iter().find(|pod| &*pod.name == "db-0").expect("db-0 again");
        let revision = pod.labels.get(Symbol::new("controller-revision-hash"));
        let is_new = revision == Some(status.update_revision);
        assert_eq!(if is_new { "new" } else { "old" }, expected, "{strategy}");
    }
}

#[test]
fn revisions_beyond_the_history_limit_go_but_for_those_in_use() {
    let check = |limit: i32, pods: &[&str], expected: &[i64]| {
        let mut cluster = cluster::<StatefulSets>();
        let spec = format!("replicas: 2, revisionHistoryLimit: {limit}, updateStrategy: {{type: OnDelete}}");
        let id = stateful_set(&mut cluster, &spec);
        cluster.start();
        cluster.run_for(1.0);
        let hashes = |cluster: &Cluster<StatefulSets>| -> Vec<(i64, &'static str)> {
            let ids = cluster.store().revisions_of(WorkloadId::StatefulSet(id)).iter();
            let revisions = ids.map(|&r| &cluster.store().controller_revisions[r]);
            let mut found: Vec<_> = revisions.map(|r| (r.revision, r.meta.name.as_str())).collect();
            found.sort_unstable();
            found
        };
        // The pods of the first template stay: nobody deletes them.
        let first = hashes(&cluster)[0].1;
        for name in pods {
            let label = [("controller-revision-hash", first)];
            cluster.labeled_pod(name, Owner::StatefulSet(id), Some("n"), PodPhase::Running, true, &label);
        }
        for image in ["image: j", "image: k", "image: l", "image: m"] {
            let full = format!("{spec}, selector: {{matchLabels: {{a: b}}}}, {}", TEMPLATE.replace("image: i", image));
            let set: model::StatefulSet = serde_saphyr::from_str(&text("db", &full)).expect("a set");
            cluster.ask(Request::Apply(Box::new(Object::StatefulSet(Box::new(set))))).expect("an update");
            cluster.run_for(5.0);
        }
        let numbers: Vec<i64> = hashes(&cluster).into_iter().map(|(number, _)| number).collect();
        assert_eq!(numbers, expected, "limit {limit}");
    };
    // The first is the pods' and the status' current one, the last is wanted.
    check(0, &["db-1"], &[1, 5]);
    check(1, &["db-1"], &[1, 4, 5]);
    check(10, &["db-1"], &[1, 2, 3, 4, 5]);
}

#[test]
fn parallel_pods_are_made_in_batches_of_500_at_most() {
    let mut cluster = cluster::<StatefulSets>();
    stateful_set(&mut cluster, "replicas: 1200, podManagementPolicy: Parallel");
    cluster.start();
    cluster.run_for(30.0);
    assert_eq!(cluster.pods().len(), 1200);
    let largest = cluster.creates.chunk_by(|a, b| a == b).map(<[SimTime]>::len).max();
    assert!(largest.is_some_and(|n| n <= 500), "{largest:?}");
}

#[test]
fn a_pod_stuck_on_a_dead_node_holds_up_its_ordered_set() {
    for (policy, expected) in [("OrderedReady", vec!["db-0", "db-1"]), ("Parallel", vec!["db-0", "db-1", "db-2"])] {
        let mut cluster = cluster::<StatefulSets>();
        let id = stateful_set(&mut cluster, &format!("replicas: 3, podManagementPolicy: {policy}"));
        let owner = Owner::StatefulSet(id);
        cluster.owned_pod("db-0", owner, Some("n"), PodPhase::Running, true);
        let stuck = cluster.owned_pod("db-1", owner, Some("dead"), PodPhase::Running, false);
        cluster.delete(stuck);
        cluster.start();
        cluster.run_for(600.0);
        let mut names: Vec<&str> = cluster.pods().into_iter().map(|pod| &*pod.name).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{policy}");
    }
}

/// The pods that the controller has made run now, and are ready.
fn up(cluster: &mut Cluster<StatefulSets>, only: Option<&str>) {
    let is_meant = |pod: &Pod| pod.phase == PodPhase::Pending && only.is_none_or(|name| name == &*pod.name);
    let pods: Vec<PodId> = cluster.store().pods().filter(|(_, pod)| is_meant(pod)).map(|(id, _)| id).collect();
    for pod in pods {
        let ready = Some(Status::True);
        cluster.patch(pod, PodStatusPatch { phase: Some(PodPhase::Running), ready, ..PodStatusPatch::default() });
    }
}

fn names(cluster: &Cluster<StatefulSets>) -> Vec<&str> {
    let mut names: Vec<&str> = cluster.pods().into_iter().map(|pod| &*pod.name).collect();
    names.sort_unstable();
    names
}

/// Pods that were marked are gone now.
fn sweep(cluster: &mut Cluster<StatefulSets>) {
    let marked: Vec<PodId> =
        cluster.store().pods().filter(|(_, pod)| pod.deletion.is_some()).map(|(id, _)| id).collect();
    for pod in marked {
        let options = DeleteOptions { grace_s: Some(0), uid: None };
        cluster.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }).expect("a deletion");
    }
}

#[test]
fn pods_that_vanished_are_made_again_one_after_the_other() {
    let mut cluster = cluster::<StatefulSets>();
    let id = stateful_set(&mut cluster, "replicas: 5");
    for name in ["db-1", "db-3"] {
        cluster.owned_pod(name, Owner::StatefulSet(id), Some("n"), PodPhase::Running, true);
    }
    cluster.start();
    for expected in [&["db-0", "db-1", "db-3"][..], &["db-0", "db-1", "db-2", "db-3"]] {
        cluster.run_for(60.0);
        assert_eq!(names(&cluster), expected, "the next one waits until it is ready");
        up(&mut cluster, None);
    }
    cluster.run_for(60.0);
    assert_eq!(names(&cluster), ["db-0", "db-1", "db-2", "db-3", "db-4"]);
}

#[test]
fn with_the_gate_an_update_takes_as_many_at_a_time_as_may_be_unavailable() {
    // What is there after the first two have gone, after one of them is ready again, and after both are.
    let check = |policy: &str, expected: [&[&str]; 3]| {
        let mut cluster = cluster::<StatefulSets>();
        let gates = &mut cluster.config_mut().kube_controller_manager.feature_gates;
        *gates = FeatureGates::of("MaxUnavailableStatefulSet=true").expect("gates");
        let update = "updateStrategy: {rollingUpdate: {partition: 3, maxUnavailable: 2}}";
        let spec = format!("replicas: 6, podManagementPolicy: {policy}, {update}");
        let id = stateful_set(&mut cluster, &spec);
        let label = [("controller-revision-hash", "before")];
        for ordinal in 0..6 {
            let owner = Owner::StatefulSet(id);
            cluster.labeled_pod(&format!("db-{ordinal}"), owner, Some("n"), PodPhase::Running, true, &label);
        }
        cluster.pass(SimDuration::from_secs(60));
        cluster.start();
        cluster.run_for(5.0);
        assert_eq!(cluster.deletes, ["db-5", "db-4"], "{policy}");
        sweep(&mut cluster);
        cluster.run_for(5.0);
        assert_eq!(names(&cluster), expected[0], "{policy}: gone");
        up(&mut cluster, Some("db-4"));
        cluster.run_for(5.0);
        sweep(&mut cluster);
        cluster.run_for(5.0);
        assert_eq!(names(&cluster), expected[1], "{policy}: the fourth is ready");
        up(&mut cluster, None);
        cluster.run_for(5.0);
        sweep(&mut cluster);
        cluster.run_for(5.0);
        assert_eq!(names(&cluster), expected[2], "{policy}: all are ready");
        assert!(cluster.deletes.iter().all(|name| !["db-0", "db-1", "db-2"].contains(&name.as_str())));
    };
    let all = ["db-0", "db-1", "db-2", "db-3", "db-4", "db-5"];
    // Both come back together; the third goes as soon as one of them is ready, and is back at once.
    check("Parallel", [&all, &all, &all]);
    // One after the other: the fifth waits for the fourth. Only with both back goes the third.
    check("OrderedReady", [&all[..5], &all, &all]);
}

fn with_claims(replicas: i32, policy: &str) -> String {
    format!(
        "replicas: {replicas}, podManagementPolicy: Parallel, volumeClaimTemplates: [{{metadata: {{name: data}}, \
         spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}}}], \
         persistentVolumeClaimRetentionPolicy: {{{policy}}}"
    )
}

fn scale(cluster: &mut Cluster<StatefulSets>, spec: &str) {
    let full = format!("{spec}, selector: {{matchLabels: {{a: b}}}}, {TEMPLATE}");
    let set: model::StatefulSet = serde_saphyr::from_str(&text("db", &full)).expect("a set");
    cluster.ask(Request::Apply(Box::new(Object::StatefulSet(Box::new(set))))).expect("an update");
    cluster.run_for(5.0);
}

fn bind_all(cluster: &mut Cluster<StatefulSets>) {
    let node = cluster.store_mut().node_slot(Symbol::new("n"));
    let pods: Vec<PodId> = cluster.store().pods().filter(|(_, pod)| pod.node.is_none()).map(|(id, _)| id).collect();
    for pod in pods {
        cluster.ask(Request::BindPod { pod, node }).expect("a binding");
    }
}

/// What the garbage collector does with claims whose pods are gone.
fn collect_claims(cluster: &mut Cluster<StatefulSets>) {
    let store = cluster.store();
    let left = store.volumes.claims().filter(|(_, c)| c.owner_pod.is_some_and(|pod| store.pod(pod).is_none()));
    let names: Vec<(Symbol, Symbol)> = left.map(|(_, claim)| (claim.meta.namespace, claim.meta.name)).collect();
    for (namespace, name) in names {
        let request = Request::DeleteOther { kind: ObjectKind::PersistentVolumeClaim.into(), namespace, name };
        cluster.ask(request).expect("a deletion");
    }
}

#[test]
fn claims_are_kept_or_given_up_as_the_retention_policy_says() {
    let check = |policy: &str, after_scaling: &[&str], after_deletion: &[&str]| {
        let mut cluster = cluster::<StatefulSets>();
        let id = stateful_set(&mut cluster, &with_claims(2, policy));
        cluster.start();
        cluster.run_for(5.0);
        let claims = |cluster: &Cluster<StatefulSets>| -> Vec<&'static str> {
            cluster.store().volumes.claims().map(|(_, claim)| claim.meta.name.as_str()).collect()
        };
        assert_eq!(claims(&cluster), ["data-db-0", "data-db-1"]);
        scale(&mut cluster, &with_claims(1, policy));
        collect_claims(&mut cluster);
        assert_eq!(claims(&cluster), after_scaling, "{policy}");
        let (workload, propagation) = (WorkloadId::StatefulSet(id), crate::state::Propagation::Background);
        cluster.ask(Request::DeleteWorkload { workload, propagation }).expect("a deletion");
        cluster.run_for(5.0);
        // What the garbage collector does; a claim stays as long as a pod uses it.
        let pods: Vec<PodId> = cluster.store().pods().map(|(pod, _)| pod).collect();
        for pod in pods {
            let options = DeleteOptions { grace_s: Some(0), uid: None };
            cluster.ask(Request::DeletePod { pod, options, cause: DeletionCause::OwnerDeleted }).expect("a deletion");
        }
        assert_eq!(claims(&cluster), after_deletion, "{policy}");
    };
    let (both, first) = (["data-db-0", "data-db-1"], ["data-db-0"]);
    check("whenDeleted: Retain, whenScaled: Retain", &both, &both);
    check("whenDeleted: Retain, whenScaled: Delete", &first, &first);
    check("whenDeleted: Delete, whenScaled: Retain", &both, &[]);
    check("whenDeleted: Delete, whenScaled: Delete", &first, &[]);
}

#[test]
fn claims_belong_to_pods_that_are_no_longer_wanted_and_to_no_others() {
    let check = |policy: &str, owned: &[&str]| {
        let mut cluster = cluster::<StatefulSets>();
        let id = stateful_set(&mut cluster, &with_claims(3, policy));
        cluster.start();
        cluster.run_for(5.0);
        bind_all(&mut cluster);
        up(&mut cluster, None);
        cluster.run_for(5.0);
        let owned_claims = |cluster: &Cluster<StatefulSets>| -> Vec<&'static str> {
            let claims = cluster.store().volumes.claims().filter(|(_, claim)| claim.owner_pod.is_some());
            claims.map(|(_, claim)| claim.meta.name.as_str()).collect()
        };
        assert!(owned_claims(&cluster).is_empty(), "{policy}");
        scale(&mut cluster, &with_claims(1, policy));
        assert_eq!(owned_claims(&cluster), owned, "{policy}");
        assert_eq!(cluster.store().stateful_sets[id].status.replicas, 3, "they are going, not gone");
    };
    check("whenScaled: Retain", &[]);
    check("whenScaled: Delete", &["data-db-1", "data-db-2"]);
}

#[test]
fn a_pod_whose_claim_still_belongs_to_its_predecessor_waits() {
    let check = |management: &str, policy: &str, waits: bool| {
        let spec = |replicas: i32| with_claims(replicas, policy).replace("Parallel", management);
        let mut cluster = cluster::<StatefulSets>();
        stateful_set(&mut cluster, &spec(2));
        cluster.start();
        for _ in 0..2 {
            cluster.run_for(5.0);
            bind_all(&mut cluster);
            up(&mut cluster, None);
        }
        cluster.run_for(5.0);
        scale(&mut cluster, &spec(1));
        assert_eq!(cluster.deletes, ["db-1"]);
        // Wanted again while it goes: in order nothing is touched before it is gone.
        scale(&mut cluster, &spec(2));
        sweep(&mut cluster);
        cluster.run_for(5.0);
        let expected = if waits { &["db-0"][..] } else { &["db-0", "db-1"] };
        assert_eq!(names(&cluster), expected, "{management} {policy}");
        collect_claims(&mut cluster);
        // Whatever wakes the set next finds the claim gone.
        cluster.start();
        cluster.run_for(5.0);
        assert_eq!(names(&cluster), ["db-0", "db-1"], "{management} {policy}");
    };
    check("OrderedReady", "whenScaled: Retain", false);
    check("OrderedReady", "whenScaled: Delete", true);
    check("Parallel", "whenScaled: Delete", false);
}

#[test]
fn a_pod_whose_claim_is_being_deleted_cannot_be_made() {
    let mut cluster = cluster::<StatefulSets>();
    stateful_set(&mut cluster, &with_claims(1, "whenScaled: Retain"));
    cluster.start();
    cluster.run_for(5.0);
    let other = "{metadata: {name: other, namespace: default}, spec: {containers: [{name: c, image: i}], volumes: [{name: d, \
                 persistentVolumeClaim: {claimName: data-db-0}}]}}";
    let other: model::Pod = serde_saphyr::from_str(other).expect("a pod");
    let Reply::Pod(other) = cluster.create(Object::Pod(Box::new(other))) else { panic!("no pod") };
    let delete_claim = Request::DeleteOther {
        kind: ObjectKind::PersistentVolumeClaim.into(),
        namespace: Symbol::new("default"),
        name: Symbol::new("data-db-0"),
    };
    cluster.ask(delete_claim).expect("a deletion");
    let (pod, _) = cluster.store().pods().find(|(_, pod)| &*pod.name == "db-0").expect("the pod");
    let options = DeleteOptions { grace_s: Some(0), uid: None };
    cluster.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }).expect("a deletion");
    cluster.run_for(5.0);
    assert_eq!(names(&cluster), ["other"]);
    assert!(cluster.reasons("FailedCreate") > 3, "it is tried again and again");
    let options = DeleteOptions { grace_s: Some(0), uid: None };
    cluster.ask(Request::DeletePod { pod: other, options, cause: DeletionCause::Kubectl }).expect("a deletion");
    cluster.run_for(30.0);
    assert_eq!(names(&cluster), ["db-0"]);
}

// ---- Job --------------------------------------------------------------------------------------------------------------

/// A Job with pods; what one pass wants.
struct JobCase {
    spec: &'static str,
    active: usize,
    succeeded: usize,
    failed: usize,
    terminating: usize,
}

const NO_PODS: JobCase = JobCase { spec: "", active: 0, succeeded: 0, failed: 0, terminating: 0 };

impl JobCase {
    fn play(&self) -> (Cluster<Jobs>, JobId) {
        let mut cluster = cluster::<Jobs>();
        let template = TEMPLATE.replace("spec: {", "spec: {restartPolicy: Never, ");
        let text = text("work", &format!("{}, selector: {{matchLabels: {{a: b}}}}, {template}", self.spec));
        let job: model::Job = serde_saphyr::from_str(&text).expect("a job");
        let Reply::Workload(WorkloadId::Job(id)) = cluster.create(Object::Job(Box::new(job))) else { panic!("no job") };
        let kinds = [
            (self.active, PodPhase::Running),
            (self.succeeded, PodPhase::Succeeded),
            (self.failed, PodPhase::Failed),
            (self.terminating, PodPhase::Running),
        ];
        let indexed = self.spec.contains("Indexed");
        let mut number = 0;
        for (kind, (count, phase)) in kinds.into_iter().enumerate() {
            for _ in 0..count {
                let index = number.to_string();
                let labels = [("batch.kubernetes.io/job-completion-index", index.as_str())];
                let labels = if indexed { &labels[..] } else { &[] };
                let pod =
                    cluster.labeled_pod(&format!("work-{number}"), Owner::Job(id), Some("n"), phase, false, labels);
                if kind == 3 {
                    cluster.delete(pod);
                }
                number += 1;
            }
        }
        link_owners(cluster.store_mut());
        // Failures of long ago put nothing off.
        cluster.pass(SimDuration::from_secs(3600));
        cluster.start();
        cluster.run_for(0.5);
        (cluster, id)
    }

    #[track_caller]
    fn check(&self, created: usize, deleted: usize, failed: i32) {
        let (cluster, id) = self.play();
        let found = (cluster.creates.len(), cluster.deletes.len(), cluster.store().jobs[id].status.failed);
        let JobCase { spec, active, succeeded, terminating, .. } = self;
        let seen =
            format!("{spec}: {active} active {succeeded} succeeded {} failed {terminating} terminating", self.failed);
        assert_eq!(found, (created, deleted, failed), "{seen}");
    }
}

#[test]
fn a_job_runs_as_many_pods_as_it_may_and_still_needs() {
    let two_of_five = JobCase { spec: "parallelism: 2, completions: 5, backoffLimit: 6", ..NO_PODS };
    two_of_five.check(2, 0, 0);
    JobCase { active: 1, succeeded: 1, ..two_of_five }.check(1, 0, 0);
    JobCase { active: 3, ..two_of_five }.check(0, 1, 0);
    JobCase { active: 10, ..two_of_five }.check(0, 8, 0);
    JobCase { spec: "parallelism: 3, completions: 4", active: 3, succeeded: 2, ..NO_PODS }.check(0, 1, 0);
}

#[test]
fn a_work_queue_ends_with_its_first_success_and_its_last_pod() {
    let (cluster, id) = JobCase { spec: "parallelism: 2", active: 1, succeeded: 1, ..NO_PODS }.play();
    assert!(cluster.creates.is_empty() && cluster.deletes.is_empty());
    assert!(cluster.store().jobs[id].status.conditions.is_empty());
    let (cluster, id) = JobCase { spec: "parallelism: 2", succeeded: 1, failed: 1, ..NO_PODS }.play();
    assert!(cluster.store().jobs[id].status.condition(JobConditionType::Complete).is_some());
}

#[test]
fn a_terminating_pod_counts_as_failed_unless_only_the_dead_are_replaced() {
    let only_failed = "parallelism: 1, completions: 3, podReplacementPolicy: Failed";
    JobCase { spec: only_failed, active: 1, failed: 1, terminating: 1, ..NO_PODS }.check(0, 0, 1);
    let default = "parallelism: 1, completions: 3";
    JobCase { spec: default, active: 1, failed: 1, terminating: 1, ..NO_PODS }.check(0, 0, 2);
    JobCase { spec: only_failed, active: 2, terminating: 4, ..NO_PODS }.check(0, 1, 0);
    let indexed = "parallelism: 2, completions: 2, completionMode: Indexed, podReplacementPolicy: Failed";
    JobCase { spec: indexed, terminating: 1, ..NO_PODS }.check(1, 0, 0);
    let indexed = "parallelism: 2, completions: 2, completionMode: Indexed";
    JobCase { spec: indexed, terminating: 1, ..NO_PODS }.check(2, 0, 1);
}

#[test]
fn a_job_over_its_backoff_limit_stops_everything() {
    let (cluster, id) = JobCase { spec: "backoffLimit: 1", failed: 1, ..NO_PODS }.play();
    assert_eq!((cluster.creates.len(), cluster.store().jobs[id].status.conditions.len()), (1, 0));
    let conditions = |cluster: &Cluster<Jobs>, id: JobId| -> Vec<(&'static str, &'static str)> {
        cluster.store().jobs[id].status.conditions.iter().map(|c| (c.kind.as_str(), c.reason.as_str())).collect()
    };
    let reason = "BackoffLimitExceeded";
    let (cluster, id) = JobCase { spec: "backoffLimit: 1", failed: 2, ..NO_PODS }.play();
    assert_eq!(conditions(&cluster, id), [("FailureTarget", reason), ("Failed", reason)]);
    assert_eq!(cluster.reasons(reason), 1);
    let (cluster, id) = JobCase { spec: "backoffLimit: 0", active: 1, failed: 1, ..NO_PODS }.play();
    assert_eq!((cluster.deletes.len(), cluster.store().jobs[id].status.failed), (1, 2));
    let (cluster, id) =
        JobCase { spec: "backoffLimit: 0, podReplacementPolicy: Failed", failed: 1, terminating: 1, ..NO_PODS }.play();
    assert_eq!(conditions(&cluster, id), [("FailureTarget", reason)]);
}

#[test]
fn pods_of_which_there_are_too_many_do_not_count_as_failed() {
    let check = |spec: &'static str, active: usize, succeeded: usize, deleted: usize| {
        let (mut cluster, id) = JobCase { spec, active, succeeded, ..NO_PODS }.play();
        cluster.run_for(5.0);
        assert_eq!((cluster.deletes.len(), cluster.store().jobs[id].status.failed), (deleted, 0), "{spec}");
        let kept = cluster.pods().into_iter().filter(|pod| pod.deletion.is_some() && pod.job_tracking).count();
        assert_eq!(kept, 0, "{spec}: nothing keeps them");
    };
    check("suspend: true, parallelism: 3, backoffLimit: 1", 3, 0, 3);
    check("parallelism: 1, completions: 5, backoffLimit: 1", 4, 0, 3);
    check("parallelism: 3, completions: 1, backoffLimit: 1", 2, 1, 2);
    let policy = "parallelism: 3, completions: 3, backoffLimit: 0, completionMode: Indexed, \
                  successPolicy: {rules: [{succeededCount: 1}]}";
    check(policy, 2, 1, 2);
}

#[test]
fn what_is_created_or_deleted_shows_in_the_status_of_the_same_pass() {
    let check = |spec: &'static str, active: usize, expected: (i32, i32)| {
        let (cluster, id) = JobCase { spec, active, ..NO_PODS }.play();
        let status = &cluster.store().jobs[id].status;
        assert_eq!((status.active, status.terminating), expected, "{spec}, {active} active");
    };
    check("parallelism: 2, completions: 5", 0, (2, 0));
    check("parallelism: 2, completions: 5", 1, (2, 0));
    check("parallelism: 2, completions: 5", 5, (2, 3));
    check("parallelism: 2, suspend: true", 2, (0, 2));
}

#[test]
fn a_suspended_job_has_no_pods() {
    let (cluster, id) = JobCase { spec: "suspend: true, parallelism: 3", active: 3, ..NO_PODS }.play();
    assert_eq!((cluster.creates.len(), cluster.deletes.len()), (0, 3));
    assert!(cluster.store().jobs[id].status.condition(JobConditionType::Suspended).is_some());
}

#[test]
fn a_success_policy_ends_an_indexed_job_early() {
    let spec = "parallelism: 3, completions: 3, completionMode: Indexed, \
                successPolicy: {rules: [{succeededCount: 1}]}";
    // Indexes 0 and 1 run, 2 has succeeded.
    let (cluster, id) = JobCase { spec, active: 2, succeeded: 1, ..NO_PODS }.play();
    assert_eq!((cluster.creates.len(), cluster.deletes.len()), (0, 2));
    let found = cluster.store().jobs[id].status.conditions.first().map(|c| (c.kind.as_str(), c.reason.as_str()));
    assert_eq!(found, Some(("SuccessCriteriaMet", "SuccessPolicy")));
}
