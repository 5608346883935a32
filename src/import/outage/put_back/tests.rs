//! Clusters that were saved after an outage, as they were before it.

use super::super::bench::{Bench, at, cluster, noon, pod, sym};
use super::*;
use crate::evidence::{DeletedBy, RecordKind, Reporter};
use crate::model::PodCondition;

/// The cluster of the bench, changed as an outage leaves it, and put back.
fn put(bench: &mut Bench, change: impl FnOnce(&mut Vec<ManifestObject>)) -> PutBack {
    let mut objects = cluster();
    change(&mut objects);
    let inventory = super::super::inventory::Inventory::of(&objects);
    let merged = super::super::sources::merge(&mut bench.evidence, &inventory);
    let timeline = Timeline::new(&merged.seen, &bench.evidence.records, &inventory);
    put_back(&objects, &timeline, noon())
}

fn node<'o>(objects: &'o mut [ManifestObject], name: &str) -> &'o mut Node {
    let found = objects.iter_mut().find_map(|object| match &mut object.object {
        Object::Node(node) if node.metadata.name.as_str() == name => Some(node),
        _ => None,
    });
    found.expect("the node")
}

fn the_pod<'o>(objects: &'o mut [ManifestObject], name: &str) -> Option<&'o mut Pod> {
    objects.iter_mut().find_map(|object| match &mut object.object {
        Object::Pod(pod) if pod.metadata.name.as_str() == name => Some(&mut **pod),
        _ => None,
    })
}

fn stamp(seconds: f64) -> Option<Symbol> {
    Some(Symbol::from(at(seconds).to_string()))
}

fn taint(key: &str, effect: TaintEffect) -> Taint {
    Taint::new(sym(key), Symbol::empty(), effect)
}

#[test]
fn a_node_that_fell_silent_later_is_ready_and_has_no_taints_of_it() {
    let mut back = put(&mut Bench::new(), |objects| {
        let node = node(objects, "w-1");
        let condition = &mut node.status.conditions[0];
        condition.status = ConditionStatus::Unknown;
        condition.last_transition_time = stamp(300.0);
        node.spec.taints.push(taint("node.kubernetes.io/unreachable", TaintEffect::NoSchedule));
        node.spec.taints.push(taint("dedicated", TaintEffect::NoSchedule));
    });
    let node = node(&mut back.objects, "w-1");
    assert_eq!(node.status.conditions[0].status, ConditionStatus::True);
    assert_eq!(node.spec.taints.iter().map(Taint::to_string).collect::<Vec<_>>(), ["dedicated:NoSchedule"]);
    assert_eq!(back.done.len(), 2, "{:?}", back.done);
}

#[test]
fn a_node_that_was_silent_before_stays_so() {
    let mut back = put(&mut Bench::new(), |objects| {
        let node = node(objects, "w-1");
        node.status.conditions[0].status = ConditionStatus::Unknown;
        node.status.conditions[0].last_transition_time = stamp(-3600.0);
        node.spec.taints.push(taint("node.kubernetes.io/unreachable", TaintEffect::NoSchedule));
    });
    let node = node(&mut back.objects, "w-1");
    assert_eq!((node.status.conditions[0].status, node.spec.taints.len()), (ConditionStatus::Unknown, 1));
}

#[test]
fn cordons_and_taints_of_operators_follow_what_was_seen_of_them() {
    let seen = |is_schedulable| What::NodeSchedulable { node: sym("w-1"), is_schedulable };
    let mut back = put(Bench::new().see(100.0, seen(false)), |objects| node(objects, "w-1").spec.unschedulable = true);
    assert!(!node(&mut back.objects, "w-1").spec.unschedulable);
    let mut back = put(Bench::new().see(100.0, seen(true)), |_| {});
    assert!(node(&mut back.objects, "w-1").spec.unschedulable);
    let set = What::NodeTaint { node: sym("w-1"), key: sym("maint"), effect: sym("NoExecute"), is_present: true };
    let mut back = put(Bench::new().see(100.0, set), |objects| {
        node(objects, "w-1").spec.taints.push(taint("maint", TaintEffect::NoExecute))
    });
    assert!(node(&mut back.objects, "w-1").spec.taints.is_empty());
    let lifted = What::NodeTaint { node: sym("w-1"), key: sym("maint"), effect: sym("NoExecute"), is_present: false };
    let mut back = put(Bench::new().see(100.0, lifted), |_| {});
    assert_eq!(node(&mut back.objects, "w-1").spec.taints[0].to_string(), "maint:NoExecute");
}

#[test]
fn nodes_and_pods_that_came_later_are_not_there() {
    let mut back = put(&mut Bench::new(), |objects| {
        node(objects, "w-5").metadata.creation_timestamp = stamp(60.0);
        the_pod(objects, "db-1").expect("a pod").metadata.creation_timestamp = stamp(60.0);
    });
    assert!(the_pod(&mut back.objects, "db-1").is_none());
    assert!(!back.objects.iter().any(|object| object.object.metadata().name.as_str() == "w-5"));
    assert!(the_pod(&mut back.objects, "db-0").is_some());
}

#[test]
fn a_node_that_was_removed_and_registered_again_was_there() {
    let lost = What::NodeReady { node: sym("w-5"), status: ConditionStatus::Unknown, by: Reporter::Controller };
    let mut back =
        put(Bench::new().see(30.0, lost), |objects| node(objects, "w-5").metadata.creation_timestamp = stamp(60.0));
    assert_eq!(node(&mut back.objects, "w-5").metadata.creation_timestamp, stamp(0.0));
}

#[test]
fn pods_that_were_deleted_ended_or_turned_unready_later_run() {
    let mut back = put(&mut Bench::new(), |objects| {
        let deleted = the_pod(objects, "db-0").expect("a pod");
        deleted.metadata.deletion_timestamp = stamp(400.0);
        deleted.metadata.deletion_grace_period_seconds = Some(30);
        deleted
            .status
            .conditions
            .push(PodCondition { condition_type: PodConditionType::DisruptionTarget, ..PodCondition::default() });
        let unready = the_pod(objects, "db-1").expect("a pod");
        unready.status.conditions[0].status = ConditionStatus::False;
        unready.status.conditions[0].last_transition_time = stamp(100.0);
    });
    let deleted = the_pod(&mut back.objects, "db-0").expect("a pod");
    assert_eq!((deleted.metadata.deletion_timestamp, deleted.status.conditions.len()), (None, 1));
    let unready = the_pod(&mut back.objects, "db-1").expect("a pod");
    assert_eq!(unready.status.conditions[0].status, ConditionStatus::True);
    assert!(unready.status.conditions[0].last_transition_time <= stamp(0.0));
}

#[test]
fn a_pod_that_was_already_going_stays_so() {
    let mut back = put(&mut Bench::new(), |objects| {
        let deleted = the_pod(objects, "db-0").expect("a pod");
        deleted.metadata.deletion_timestamp = stamp(20.0);
        deleted.metadata.deletion_grace_period_seconds = Some(30);
    });
    assert!(the_pod(&mut back.objects, "db-0").expect("a pod").metadata.deletion_timestamp.is_some());
}

#[test]
fn pods_that_went_later_are_there_again_on_their_nodes() {
    let mut bench = Bench::new();
    bench
        .see(350.0, What::PodDeletion { pod: pod("web-1-ddddd"), by: DeletedBy::TaintManager, node: Some(sym("w-4")) });
    bench.see(350.0, What::PodDeletion { pod: pod("cache-7"), by: DeletedBy::TaintManager, node: Some(sym("w-4")) });
    // One that came and went meanwhile was not there.
    bench.see(360.0, What::PodCreated { pod: pod("web-1-eeeee"), owner: None });
    bench.see(380.0, What::PodGone { pod: pod("web-1-eeeee") });
    let mut back = put(&mut bench, |_| {});
    let restored = the_pod(&mut back.objects, "web-1-ddddd").expect("it is there again");
    assert_eq!(restored.spec.node_name, Some(sym("w-4")));
    assert!(the_pod(&mut back.objects, "web-1-eeeee").is_none() && the_pod(&mut back.objects, "cache-7").is_none());
    assert!(back.not_done[0].contains("shop/cache-7"), "{:?}", back.not_done);
}

#[test]
fn replicas_and_templates_are_as_before_they_were_changed() {
    let scaled =
        What::Scaled { kind: sym("Deployment"), namespace: sym("shop"), name: sym("web"), from: Some(3), to: 5 };
    let unknown = What::Scaled { kind: sym("StatefulSet"), namespace: sym("shop"), name: sym("db"), from: None, to: 4 };
    let mut bench = Bench::of(RecordKind::Audit);
    bench.see(100.0, scaled).see(110.0, unknown);
    let back = put(&mut bench, |objects| {
        let mut later = None;
        for object in objects.iter_mut() {
            match &mut object.object {
                Object::Deployment(deployment) => {
                    deployment.spec.replicas = Some(5);
                    std::sync::Arc::make_mut(&mut deployment.spec.template).spec.containers[0].image = sym("reg/app:2");
                }
                Object::ReplicaSet(set) => {
                    let mut new = set.clone();
                    new.metadata.name = sym("web-2");
                    new.metadata.creation_timestamp = stamp(200.0);
                    std::sync::Arc::make_mut(&mut new.spec.template).spec.containers[0].image = sym("reg/app:2");
                    later = Some(ManifestObject { object: Object::ReplicaSet(new), ..object.clone() });
                }
                _ => {}
            }
        }
        objects.extend(later);
    });
    let deployment = back.objects.iter().find_map(|object| match &object.object {
        Object::Deployment(deployment) => Some(deployment),
        _ => None,
    });
    let deployment = deployment.expect("a deployment");
    assert_eq!(deployment.spec.replicas, Some(3));
    assert_eq!(deployment.spec.template.spec.containers[0].image, sym("reg/app:1"));
    assert!(!back.objects.iter().any(|object| object.object.metadata().name.as_str() == "web-2"));
    assert!(back.not_done.iter().any(|line| line.contains("shop/db")), "{:?}", back.not_done);
}

#[test]
fn a_cluster_that_was_saved_before_changes_in_nothing_but_heartbeats() {
    let back = put(&mut Bench::new(), |_| {});
    assert!(back.done.is_empty() && back.not_done.is_empty(), "{:?} {:?}", back.done, back.not_done);
    assert_eq!(back.objects.len(), cluster().len());
}

#[test]
fn what_was_bound_after_a_pod_of_that_name_went_is_the_next_one() {
    let name = pod("db-0");
    let db_0 = || {
        cluster().into_iter().find_map(|object| match object.object {
            Object::Pod(found) if found.metadata.name == name.name => found.spec.node_name,
            _ => None,
        })
    };
    let node = db_0().expect("a node");
    let bound = || What::PodScheduled { pod: name, node };
    let gone = || What::PodGone { pod: name };
    let is_there = |bench: &mut Bench, says: Option<f64>| {
        let mut back = put(bench, |objects| {
            let conditions = &mut the_pod(objects, "db-0").expect("a pod").status.conditions;
            conditions.extend(says.map(|says| PodCondition {
                condition_type: PodConditionType::PodScheduled,
                status: ConditionStatus::True,
                last_transition_time: stamp(says),
                ..PodCondition::default()
            }));
        });
        the_pod(&mut back.objects, "db-0").expect("a pod").spec.node_name == Some(node)
    };
    assert!(is_there(Bench::new().see(300.0, gone()).see(310.0, bound()), None));
    assert!(!is_there(Bench::new().see(310.0, bound()).see(320.0, gone()), None));
    // The pod says itself when it was bound.
    assert!(is_there(Bench::new().see(310.0, bound()), Some(-3600.0)));
    assert!(!is_there(Bench::new().see(310.0, bound()), Some(310.0)));
}
