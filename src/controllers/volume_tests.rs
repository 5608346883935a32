//! The volume binder and the attach/detach controller, one rule at a time.

use std::sync::Arc;

use super::attach_detach::AttachDetach;
use super::persistent_volume::PersistentVolumes;
use super::tests::{Cluster, cluster};
use crate::arena::{Symbol, stable_hash};
use crate::component::{DeleteOptions, ErrorReason, Reply, Request, export_volume};
use crate::engine::Distribution;
use crate::model::{self, Object, ObjectKind, TaintEffect};
use crate::state::{
    Attachment, AttachmentPhase, Changed, DeletionCause, NodeConditionKind, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeId, Status,
};
use crate::testing::{Lab, bare_pod, config, meta, within};
use crate::units::SimDuration;

// ---- the binder --------------------------------------------------------------------------------------------------------

type Binder = Cluster<PersistentVolumes>;

fn binder() -> Binder {
    let mut binder = cluster::<PersistentVolumes>();
    for (name, provisioner, mode) in [
        ("now", "disk.example.com", "Immediate"),
        ("later", "disk.example.com", "WaitForFirstConsumer"),
        ("none", "kubernetes.io/no-provisioner", "Immediate"),
    ] {
        let class = format!("{{metadata: {{name: {name}}}, provisioner: {provisioner}, volumeBindingMode: {mode}}}");
        let class: model::StorageClass = serde_saphyr::from_str(&class).expect("a class");
        binder.create(Object::StorageClass(Box::new(class)));
    }
    binder.start();
    binder
}

fn add_claim(binder: &mut Binder, name: &str, class: &str) {
    write_claim(binder, &format!("name: {name}, namespace: default"), class, "5Gi", "");
}

fn write_claim(binder: &mut Binder, metadata: &str, class: &str, size: &str, more: &str) {
    let claim = format!(
        "{{metadata: {{{metadata}}}, spec: {{accessModes: [ReadWriteOnce], storageClassName: {class}, {more} \
         resources: {{requests: {{storage: {size}}}}}}}}}"
    );
    let claim: model::PersistentVolumeClaim = serde_saphyr::from_str(&claim).expect("a claim");
    binder.create(Object::PersistentVolumeClaim(Box::new(claim)));
}

fn add_volume(binder: &mut Binder, name: &str, size: &str, class: &str, more: &str) {
    let volume = format!(
        "{{metadata: {{name: {name}}}, spec: {{accessModes: [ReadWriteOnce], storageClassName: {class}, {more} \
         hostPath: {{path: /tmp/d}}, capacity: {{storage: {size}}}}}}}"
    );
    let volume: model::PersistentVolume = serde_saphyr::from_str(&volume).expect("a volume");
    binder.create(Object::PersistentVolume(Box::new(volume)));
}

/// The volume of a claim; none if it has none.
fn bound(binder: &Binder, claim: &str) -> Option<&'static str> {
    let volumes = &binder.store().volumes;
    let claim = volumes.find_claim(Symbol::new("default"), Symbol::new(claim))?;
    volumes.claim(claim)?.bound_to().map(Symbol::as_str)
}

/// Writes a label of a volume, which says nothing of its claim.
fn label_volume(binder: &mut Binder, name: &str) {
    let id = binder.store().volumes.find_volume(Symbol::new(name)).expect("the volume");
    let mut volume = export_volume(binder.store(), id).expect("the volume");
    volume.metadata.labels = serde_json::from_str(r#"{"a":"b"}"#).expect("labels");
    binder.ask(Request::Apply(Box::new(Object::PersistentVolume(Box::new(volume))))).expect("an update");
    binder.run_for(10.0);
}

fn delete_claim(binder: &mut Binder, name: &str) {
    let (namespace, name) = (Symbol::new("default"), Symbol::new(name));
    let request = Request::DeleteOther { kind: ObjectKind::PersistentVolumeClaim.into(), namespace, name };
    binder.ask(request).expect("a deletion");
    binder.run_for(5.0);
}

#[test]
fn a_claim_of_an_immediate_class_gets_a_volume_when_it_has_been_made() {
    let mut binder = binder();
    binder.config_mut().latency.volume_provision = Distribution::Constant(SimDuration::from_secs(4));
    add_claim(&mut binder, "data", "now");
    binder.run_for(3.9);
    assert_eq!(bound(&binder, "data"), None);
    binder.run_for(1.0);
    assert!(bound(&binder, "data").is_some_and(|name| name.starts_with("pvc-")));
    assert_eq!(binder.reasons("ProvisioningSucceeded"), 1);
}

#[test]
fn a_claim_that_waits_for_its_pod_gets_nothing_until_a_node_is_chosen() {
    let mut binder = binder();
    add_claim(&mut binder, "data", "later");
    binder.run_for(600.0);
    assert_eq!(bound(&binder, "data"), None);
    let node = binder.store_mut().node_slot(Symbol::new("n"));
    let claim = binder.store().volumes.find_claim(Symbol::new("default"), Symbol::new("data")).expect("the claim");
    binder.ask(Request::SelectNode { claim, node }).expect("a node");
    binder.run_for(10.0);
    assert!(bound(&binder, "data").is_some());
}

#[test]
fn a_class_without_a_provisioner_only_has_what_is_there() {
    let mut binder = binder();
    add_claim(&mut binder, "data", "none");
    binder.run_for(600.0);
    assert_eq!(bound(&binder, "data"), None);
    add_volume(&mut binder, "small", "1Gi", "none", "");
    binder.run_for(10.0);
    assert_eq!(bound(&binder, "data"), None);
    add_volume(&mut binder, "large", "10Gi", "none", "");
    binder.run_for(10.0);
    assert_eq!(bound(&binder, "data"), Some("large"));
}

#[test]
fn a_volume_kept_for_a_claim_is_given_to_nobody_else() {
    let mut binder = binder();
    add_volume(
        &mut binder,
        "kept",
        "10Gi",
        "none",
        "claimRef: {kind: PersistentVolumeClaim, namespace: default, name: mine},",
    );
    add_claim(&mut binder, "other", "none");
    binder.run_for(10.0);
    assert_eq!(bound(&binder, "other"), None);
    add_claim(&mut binder, "mine", "none");
    binder.run_for(10.0);
    assert_eq!(bound(&binder, "mine"), Some("kept"));
}

#[test]
fn what_becomes_of_a_volume_whose_claim_is_gone_is_up_to_its_policy() {
    let check = |policy: &str, stays: bool| {
        let mut binder = binder();
        add_volume(&mut binder, "v", "10Gi", "none", &format!("persistentVolumeReclaimPolicy: {policy},"));
        add_claim(&mut binder, "data", "none");
        binder.run_for(10.0);
        assert_eq!(bound(&binder, "data"), Some("v"));
        delete_claim(&mut binder, "data");
        assert_eq!(binder.store().volumes.find_volume(Symbol::new("v")).is_some(), stays, "{policy}");
        // A claim of the same name is another claim: what was kept is kept for nobody.
        add_claim(&mut binder, "data", "none");
        binder.run_for(10.0);
        assert_eq!(bound(&binder, "data"), None, "{policy}");
        if stays {
            label_volume(&mut binder, "v");
            assert_eq!(bound(&binder, "data"), None, "{policy}");
        }
    };
    check("Delete", false);
    check("Retain", true);
}

#[test]
fn a_volume_that_nobody_can_delete_stays() {
    let mut binder = binder();
    let volume = "{metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], storageClassName: none, capacity: {storage: 10Gi}, \
                  persistentVolumeReclaimPolicy: Delete, hostPath: {path: /data}}}";
    let volume: model::PersistentVolume = serde_saphyr::from_str(volume).expect("a volume");
    binder.create(Object::PersistentVolume(Box::new(volume)));
    add_claim(&mut binder, "data", "none");
    binder.run_for(10.0);
    delete_claim(&mut binder, "data");
    let id = binder.store().volumes.find_volume(Symbol::new("v")).expect("it stays");
    let phase = binder.store().volumes.volume(id).expect("it stays").phase();
    assert_eq!(phase, model::PersistentVolumePhase::Failed);
    assert_eq!(binder.reasons("VolumeFailedDelete"), 1);
}

#[test]
fn a_claim_hears_of_a_new_volume_at_the_next_look_at_all_claims() {
    let mut binder = binder();
    add_claim(&mut binder, "data", "none");
    binder.run_for(1.0);
    add_volume(&mut binder, "v", "10Gi", "none", "");
    let mut waited = 0;
    while bound(&binder, "data").is_none() && waited < 20 {
        binder.run_for(1.0);
        waited += 1;
    }
    assert!((2..=15).contains(&waited), "{waited} s");
}

#[test]
fn a_volume_that_another_claim_of_the_name_had_is_not_bound_again() {
    let check = |uid: &str, expected: Option<&str>| {
        let mut binder = binder();
        let of = format!("claimRef: {{kind: PersistentVolumeClaim, namespace: default, name: data, uid: {uid}}},");
        add_volume(&mut binder, "v", "10Gi", "none", &of);
        write_claim(&mut binder, "name: data, namespace: default, uid: mine", "none", "5Gi", "");
        binder.run_for(10.0);
        assert_eq!(bound(&binder, "data"), expected, "{uid}");
        label_volume(&mut binder, "v");
        assert_eq!(bound(&binder, "data"), expected, "{uid}");
        let id = binder.store().volumes.find_volume(Symbol::new("v")).expect("it stays");
        assert_eq!(binder.store().volumes.volume(id).expect("it stays").is_released, expected.is_none(), "{uid}");
    };
    check("old", None);
    check("mine", Some("v"));
    check("''", Some("v"));
}

#[test]
fn a_claim_that_asks_for_a_volume_by_name_is_bound_if_the_volume_does() {
    let check = |volume: Option<[&str; 3]>, size: &str, expected: Option<&str>| {
        let mut binder = binder();
        write_claim(&mut binder, "name: data, namespace: default", "later", size, "volumeName: v,");
        add_volume(&mut binder, "better", "5Gi", "later", "");
        if let Some([size, class, more]) = volume {
            add_volume(&mut binder, "v", size, class, more);
        }
        binder.run_for(60.0);
        assert_eq!(bound(&binder, "data"), expected, "{volume:?} {size}");
    };
    check(Some(["10Gi", "later", ""]), "5Gi", Some("v"));
    check(None, "5Gi", None);
    check(Some(["2Gi", "later", ""]), "5Gi", None);
    check(Some(["10Gi", "none", ""]), "5Gi", None);
    check(Some(["10Gi", "later", "volumeMode: Block,"]), "5Gi", None);
    check(Some(["10Gi", "later", "claimRef: {namespace: default, name: other},"]), "5Gi", None);
    // What is kept for it is its own, large enough or not.
    check(Some(["2Gi", "later", "claimRef: {namespace: default, name: data},"]), "5Gi", Some("v"));
}

#[test]
fn a_claim_that_only_asked_for_a_volume_leaves_it_to_its_owner_when_it_goes() {
    let mut binder = binder();
    add_volume(&mut binder, "v", "10Gi", "none", "persistentVolumeReclaimPolicy: Delete,");
    add_claim(&mut binder, "data", "none");
    binder.run_for(10.0);
    write_claim(&mut binder, "name: other, namespace: default", "none", "5Gi", "volumeName: v,");
    binder.run_for(10.0);
    delete_claim(&mut binder, "other");
    assert_eq!(bound(&binder, "data"), Some("v"));
    assert!(binder.store().volumes.find_volume(Symbol::new("v")).is_some());
}

#[test]
fn a_pods_own_claim_comes_and_goes_with_it() {
    let mut binder = binder();
    let pod = "{metadata: {name: p, namespace: default}, spec: {nodeName: n, containers: [{name: c, image: i}], volumes: [{name: tmp, \
               ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], storageClassName: now, resources: {requests: \
               {storage: 1Gi}}}}}}]}}";
    let pod: model::Pod = serde_saphyr::from_str(pod).expect("a pod");
    let Reply::Pod(pod) = binder.create(Object::Pod(Box::new(pod))) else { panic!("no pod") };
    binder.run_for(10.0);
    assert!(bound(&binder, "p-tmp").is_some());
    let options = DeleteOptions { grace_s: Some(0), uid: None };
    binder.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }).expect("a deletion");
    binder.run_for(10.0);
    assert_eq!(binder.store().volumes.claims().count(), 0);
    assert_eq!(binder.store().volumes.volumes().count(), 0, "and its volume with it");
}

#[test]
fn a_claim_stays_as_long_as_a_pod_uses_it() {
    let mut binder = binder();
    add_claim(&mut binder, "data", "now");
    let pod = "{metadata: {name: p, namespace: default}, spec: {nodeName: n, containers: [{name: c, image: i}], volumes: [{name: d, \
               persistentVolumeClaim: {claimName: data}}]}}";
    let pod: model::Pod = serde_saphyr::from_str(pod).expect("a pod");
    let Reply::Pod(pod) = binder.create(Object::Pod(Box::new(pod))) else { panic!("no pod") };
    binder.run_for(10.0);
    delete_claim(&mut binder, "data");
    assert!(bound(&binder, "data").is_some());
    let options = DeleteOptions { grace_s: Some(0), uid: None };
    binder.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }).expect("a deletion");
    binder.run_for(10.0);
    assert_eq!(bound(&binder, "data"), None);
}

// ---- attach and detach -------------------------------------------------------------------------------------------------

type Attacher = Lab<AttachDetach>;

/// Nodes `n` and `m`, a disk that is attached in 4 and detached in 2 seconds, with its claim.
fn attacher() -> (Attacher, PersistentVolumeId) {
    let mut config = config();
    config.latency.volume_attach = Distribution::Constant(SimDuration::from_secs(4));
    config.latency.volume_detach = Distribution::Constant(SimDuration::from_secs(2));
    let mut bench = Lab::<AttachDetach>::new(config, 1);
    for node in ["n", "m"] {
        bench.add_node(node, "");
    }
    let volumes = &mut bench.store_mut().volumes;
    let driver = Symbol::new("disk.example.com");
    let volume = volumes.insert_volume(PersistentVolume {
        meta: meta("disk", None),
        spec: serde_saphyr::from_str("{accessModes: [ReadWriteOnce]}").map(Arc::new).expect("a spec"),
        claim: Some((Symbol::new("default"), Symbol::new("data"))),
        claim_uid: Some(meta("data", None).uid),
        is_released: false,
        driver: Some(driver),
    });
    volumes.insert_claim(PersistentVolumeClaim {
        meta: meta("data", None),
        spec: Arc::default(),
        volume: Some(Symbol::new("disk")),
        is_bound: true,
        is_lost: false,
        selected_node: None,
        owner: None,
    });
    bench.start();
    (bench, volume)
}

/// A pod that uses the disk.
fn user(world: &mut Attacher, name: &str, node: &str) {
    let mut pod = bare_pod(name, u128::from(stable_hash(name.as_bytes())));
    let volumes = "[{name: d, persistentVolumeClaim: {claimName: data}}]";
    Arc::make_mut(&mut pod.spec).spec.volumes = serde_saphyr::from_str(volumes).expect("volumes");
    pod.node = Some(world.node_id(node));
    pod.created_at = world.now();
    let id = world.store_mut().insert_pod(pod);
    world.announce(Changed::PodAdded(id));
}

fn in_use(world: &mut Attacher, volume: PersistentVolumeId, node: &str, in_use: bool) {
    let node = world.node_id(node);
    let before = world.store().volumes.attachment(volume, node);
    world.store_mut().volumes.set_attachment(volume, node, Attachment { in_use, ..before });
    world.announce(Changed::AttachmentChanged { volume, node });
}

/// When attachments were written: seconds, node, phase.
fn writes(bench: &Attacher) -> Vec<(f64, &'static str, Option<AttachmentPhase>)> {
    let mut found = Vec::new();
    for (at, request) in &bench.requests {
        if let Request::SetAttachment { node, phase, .. } = request {
            found.push((at.as_secs_f64(), bench.store().node_name(*node).as_str(), *phase));
        }
    }
    found
}

const ATTACHED: Option<AttachmentPhase> = Some(AttachmentPhase::Attached);
const ATTACHING: Option<AttachmentPhase> = Some(AttachmentPhase::Attaching);
const DETACHING: Option<AttachmentPhase> = Some(AttachmentPhase::Detaching);

#[track_caller]
fn check_order(bench: &Attacher, expected: &[(&str, Option<AttachmentPhase>)]) -> Vec<f64> {
    let found = writes(bench);
    let order: Vec<_> = found.iter().map(|(_, node, phase)| (*node, *phase)).collect();
    assert_eq!(order, expected, "{found:?}");
    found.into_iter().map(|(at, ..)| at).collect()
}

#[test]
fn a_bound_pod_gets_its_disk_attached() {
    let (mut bench, _) = attacher();
    bench.at(10.0, |world| user(world, "p", "n"));
    bench.run_until(60.0);
    let at = check_order(&bench, &[("n", ATTACHING), ("n", ATTACHED)]);
    within(at[1], 14.0, 14.1);
    assert_eq!(bench.messages("SuccessfulAttachVolume"), ["AttachVolume.Attach succeeded for volume \"disk\" "]);
}

#[test]
fn a_disk_moves_when_the_kubelet_has_let_go_of_it() {
    let (mut bench, volume) = attacher();
    bench.at(10.0, |world| user(world, "p", "n"));
    bench.at(20.0, move |world| in_use(world, volume, "n", true));
    bench.at(30.0, |world| world.remove_pod("p"));
    bench.at(31.0, |world| user(world, "q", "m"));
    bench.at(50.0, move |world| in_use(world, volume, "n", false));
    bench.run_until(100.0);
    let order = [("n", ATTACHING), ("n", ATTACHED), ("n", DETACHING), ("n", None), ("m", ATTACHING), ("m", ATTACHED)];
    let at = check_order(&bench, &order);
    within(at[2], 50.0, 50.1);
    within(at[5], 56.0, 56.2);
    let says = "Multi-Attach error for volume \"disk\" Volume is already exclusively attached to one node and can't be attached \
                to another";
    assert_eq!(bench.messages("FailedAttachVolume"), [says]);
}

#[test]
fn who_uses_the_disk_is_named_to_the_pod_that_waits() {
    let (mut bench, _) = attacher();
    bench.at(10.0, |world| user(world, "p", "n"));
    bench.at(30.0, |world| user(world, "q", "m"));
    bench.run_until(100.0);
    let says = "Multi-Attach error for volume \"disk\" Volume is already used by pod(s) p";
    assert_eq!(bench.messages("FailedAttachVolume"), [says]);
}

/// When the disk of a pod that is gone at 30 s is detached from node `n`, which still says that it uses it.
fn detached_at(prepare: impl FnOnce(&mut Attacher)) -> Option<f64> {
    let (mut bench, volume) = attacher();
    bench.at(10.0, |world| user(world, "p", "n"));
    bench.at(20.0, move |world| in_use(world, volume, "n", true));
    prepare(&mut bench);
    bench.at(30.0, |world| world.remove_pod("p"));
    bench.run_until(2000.0);
    writes(&bench).iter().find(|(_, _, phase)| *phase == DETACHING).map(|(at, ..)| *at)
}

fn lost(world: &mut Attacher) {
    world.set_condition("n", NodeConditionKind::Ready, Some(Status::Unknown));
}

#[test]
fn a_healthy_node_keeps_a_disk_that_it_uses() {
    assert_eq!(detached_at(|_| {}), None);
}

#[test]
fn a_lost_node_keeps_a_disk_for_six_minutes() {
    let at = detached_at(|bench| bench.at(25.0, lost)).expect("it is detached");
    within(at, 390.0, 390.3);
    // However late the node is lost, as long as it is lost then.
    let at = detached_at(|bench| bench.at(380.0, lost)).expect("it is detached");
    within(at, 390.0, 390.3);
    let at = detached_at(|bench| bench.at(700.0, lost)).expect("it is detached");
    within(at, 700.0, 700.1);
}

#[test]
fn a_node_out_of_service_loses_a_disk_at_once() {
    let key = "node.kubernetes.io/out-of-service";
    let at = detached_at(|bench| bench.at(25.0, move |world| world.taint("n", key, TaintEffect::NoExecute)));
    within(at.expect("it is detached"), 30.0, 30.1);
    let at = detached_at(|bench| bench.at(100.0, move |world| world.taint("n", key, TaintEffect::NoExecute)));
    within(at.expect("it is detached"), 100.0, 100.1);
}

#[test]
fn without_force_a_lost_node_keeps_its_disks() {
    let at = detached_at(|bench| {
        bench.config_mut().kube_controller_manager.disable_force_detach_on_timeout = true;
        bench.at(25.0, lost);
    });
    assert_eq!(at, None);
}

#[test]
fn a_pod_that_comes_back_in_time_keeps_its_disk() {
    let (mut bench, volume) = attacher();
    bench.at(10.0, |world| user(world, "p", "n"));
    bench.at(20.0, move |world| in_use(world, volume, "n", true));
    bench.at(25.0, lost);
    bench.at(30.0, |world| world.remove_pod("p"));
    bench.at(200.0, |world| user(world, "again", "n"));
    bench.run_until(2000.0);
    check_order(&bench, &[("n", ATTACHING), ("n", ATTACHED)]);
}

#[test]
fn a_write_that_fails_is_tried_again_a_second_later() {
    let (mut bench, _) = attacher();
    let mut failures = 2;
    bench.refuse(move |request, _| {
        let fails = matches!(request, Request::SetAttachment { .. }) && failures > 0;
        failures -= i32::from(fails);
        fails.then_some(ErrorReason::InternalError)
    });
    bench.at(10.0, |world| user(world, "p", "n"));
    bench.run_until(60.0);
    let at = check_order(&bench, &[("n", ATTACHING), ("n", ATTACHING), ("n", ATTACHING), ("n", ATTACHED)]);
    within(at[2], 12.0, 12.2);
}
