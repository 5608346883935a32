//! StatefulSets.

use super::*;

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

/// What the garbage collector does with claims whose owners are gone.
fn collect_claims(cluster: &mut Cluster<StatefulSets>) {
    let store = cluster.store();
    let is_left = |owner: ClaimOwner| match owner {
        ClaimOwner::Pod(pod) => store.pod(pod).is_none(),
        ClaimOwner::StatefulSet(set) => store.stateful_sets.get(set).is_none(),
    };
    let left = store.volumes.claims().filter(|(_, claim)| claim.owner.is_some_and(is_left));
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
        // A claim stays as long as a pod uses it.
        collect_claims(&mut cluster);
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
            let claims =
                cluster.store().volumes.claims().filter(|(_, claim)| matches!(claim.owner, Some(ClaimOwner::Pod(_))));
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

/// A pod of nobody's that uses the claim of the set's first pod.
fn other_user(cluster: &mut Cluster<StatefulSets>) -> PodId {
    let other = "{metadata: {name: other, namespace: default}, spec: {nodeName: n, containers: [{name: c, image: i}], volumes: [{name: d, \
                 persistentVolumeClaim: {claimName: data-db-0}}]}}";
    let other: model::Pod = serde_saphyr::from_str(other).expect("a pod");
    let Reply::Pod(other) = cluster.create(Object::Pod(Box::new(other))) else { panic!("no pod") };
    other
}

#[test]
fn a_pod_whose_claim_is_being_deleted_cannot_be_made() {
    let mut cluster = cluster::<StatefulSets>();
    stateful_set(&mut cluster, &with_claims(1, "whenScaled: Retain"));
    cluster.start();
    cluster.run_for(5.0);
    let other = other_user(&mut cluster);
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

#[test]
fn a_pending_pod_gets_another_claim_once_the_one_that_is_being_deleted_is_gone() {
    let mut cluster = cluster::<StatefulSets>();
    stateful_set(&mut cluster, &with_claims(1, "whenScaled: Retain"));
    cluster.start();
    cluster.run_for(5.0);
    let other = other_user(&mut cluster);
    let (namespace, name) = (Symbol::new("default"), Symbol::new("data-db-0"));
    let kind = ObjectKind::PersistentVolumeClaim.into();
    cluster.ask(Request::DeleteOther { kind, namespace, name }).expect("a deletion");
    // Whatever wakes the set.
    cluster.start();
    cluster.run_for(5.0);
    let options = DeleteOptions { grace_s: Some(0), uid: None };
    cluster.ask(Request::DeletePod { pod: other, options, cause: DeletionCause::Kubectl }).expect("a deletion");
    assert_eq!(cluster.store().volumes.claims().count(), 0);
    cluster.run_for(30.0);
    assert!(cluster.store().volumes.find_claim(namespace, name).is_some());
    assert_eq!((names(&cluster), cluster.reasons("FailedCreate")), (vec!["db-0"], 0));
}

#[test]
fn a_pod_of_the_set_that_is_not_named_as_one_is_released() {
    let mut cluster = cluster::<StatefulSets>();
    let id = stateful_set(&mut cluster, "replicas: 0");
    let pod = cluster.owned_pod("db-x", Owner::StatefulSet(id), None, PodPhase::Pending, false);
    cluster.start();
    cluster.run_for(1.0);
    assert_eq!(cluster.store().pod(pod).expect("the pod").owner, None);
}
