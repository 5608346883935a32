//! Deployments.

use super::*;

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
fn min_ready_seconds_that_are_written_reach_the_new_set_alone() {
    let mut cluster = cluster::<Deployments>();
    let spec = rolling("0", "0", 5);
    let text = text("web", &format!("{spec}, minReadySeconds: 7, selector: {{matchLabels: {{a: b}}}}, {TEMPLATE}"));
    let deployment: model::Deployment = serde_saphyr::from_str(&text).expect("a deployment");
    let made = cluster.create(Object::Deployment(Box::new(deployment)));
    let Reply::Workload(WorkloadId::Deployment(id)) = made else { panic!("no deployment") };
    let rollout = Rollout { spec: &spec, sets: &[(2, 2), (3, 3)], has_new: true, made_for: None };
    let sets = rollout.make_sets(&mut cluster, id);
    cluster.start();
    cluster.run_for(0.5);
    let seconds: Vec<i32> = sets.iter().map(|set| cluster.store().replica_sets[*set].spec.min_ready_seconds).collect();
    assert_eq!(seconds, [0, 7]);
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
