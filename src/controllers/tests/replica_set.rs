//! ReplicaSets.

use super::*;

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
    let scaled = Request::UpdateReplicaSet {
        replica_set: set,
        base: None,
        replicas: Some(2),
        annotations: None,
        min_ready_seconds: None,
    };
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
