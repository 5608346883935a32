//! Volumes: where they let a pod go, and how long an outage lasts for them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kubesquall::observe::{Observed, Phase};
use kubesquall::scenario::{self, Overrides, ResolvedScenario};
use kubesquall::scheduler::Scheduler;
use kubesquall::simulation::Prepared;
use kubesquall::units::SimTime;

use super::verified::play;

fn seconds(at: SimTime) -> f64 {
    (at.as_nanos() as f64 / 1e6).round() / 1e3
}

/// A scenario with its manifests behind it.
fn load(spec: &str, objects: &[&str]) -> ResolvedScenario {
    let mut text =
        format!("apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: volumes}}\nspec: {{{spec}}}\n");
    for object in objects {
        write!(text, "---\n{object}\n").expect("text");
    }
    scenario::load_text("volumes.yaml", &text, Path::new("absent"), &Overrides::none())
        .unwrap_or_else(|invalid| panic!("{invalid:?}\n{text}"))
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// When events of a reason about something of that name came.
fn times(observed: &Observed, reason: &str, name: &str) -> Vec<f64> {
    let events = observed.events.iter().filter(|event| event.reason == reason && &*event.name == name);
    events.map(|event| seconds(event.at)).collect()
}

fn first(observed: &Observed, reason: &str, name: &str) -> f64 {
    *times(observed, reason, name).first().unwrap_or_else(|| panic!("no {reason} of {name}"))
}

#[track_caller]
fn near(what: &str, found: f64, measured: f64) {
    assert!((found - measured).abs() <= 30.0, "{what}: {found:.1} s, measured {measured} s");
}

#[track_caller]
fn within(what: &str, found: f64, from: f64, to: f64) {
    assert!((from - 0.001..=to + 0.001).contains(&found), "{what}: {found:.3} s is not within {from} to {to} s");
}

/// The parts of an outage that were measured, in seconds.
struct Measured {
    /// From the node's NotReady to its removal.
    node_removed: (f64, f64),
    /// From there to the new pod on a node.
    scheduled: f64,
    /// From there to the attached disk.
    attached: f64,
    /// From the loss of service to its return.
    gap: f64,
}

fn check_aks(name: &str, lost_at: f64, measured: &Measured) -> Observed {
    let path = repository().join("scenarios").join(format!("{name}.yaml"));
    let scenario = scenario::load(&path, &Overrides::none()).unwrap_or_else(|invalid| panic!("{invalid:?}"));
    let observed = play(&scenario);
    let not_ready = first(&observed, "NodeNotReady", "aks-0");
    let removed = first(&observed, "RemovingNode", "aks-0");
    let scheduled = first(&observed, "Scheduled", "nginx-0");
    let attached = first(&observed, "SuccessfulAttachVolume", "nginx-0");
    let denied = first(&observed, "FailedAttachVolume", "nginx-0");
    let ready = observed.readiness.iter().filter(|row| row.ready && &*row.name == "nginx-0").map(|row| seconds(row.at));
    let back = ready.fold(f64::NAN, f64::max);
    within("the node is not ready after the loss", not_ready - lost_at, 0.0, 60.0);
    within("from not ready to removed", removed - not_ready, measured.node_removed.0, measured.node_removed.1);
    near("from removed to scheduled", scheduled - removed, measured.scheduled);
    // The scheduler tells of the binding when it has its answer, which may take a while.
    within("the disk is refused at once", denied - scheduled, -0.5, 1.0);
    near("from scheduled to attached", attached - scheduled, measured.attached);
    // The kubelet looks up attachment ever more seldom, and just missed it: about two minutes, then 5 s and 2 s.
    near("from attached to service", back - attached, 120.0 + 7.0);
    near("the whole gap", back - lost_at, measured.gap);
    // Where the time went says so, too: containers start in seven seconds.
    let row = observed.disruptions.iter().find(|row| &*row.name == "nginx-0").expect("the pod was lost");
    let phase = |phase: Phase| row.phases[phase as usize].as_secs_f64();
    near("attaching", phase(Phase::Attach), measured.attached);
    near("noticing", phase(Phase::Mount), 120.0);
    near("starting", phase(Phase::Start), 7.0);
    assert!(phase(Phase::Start) < 8.0, "{row:?}");
    observed
}

#[test]
fn the_disk_failover_measured_on_aks_with_a_node_that_is_deleted_late() {
    let measured =
        Measured { node_removed: (5.8 * 60.0, 6.8 * 60.0 + 2.0), scheduled: 39.0, attached: 372.0, gap: 954.0 };
    let observed = check_aks("aks-disk-failover", 300.0, &measured);
    let evicted = first(&observed, "TaintManagerEviction", "nginx-0") - first(&observed, "NodeNotReady", "aks-0");
    near("from not ready to the eviction", evicted, 300.0);
    let deleting = first(&observed, "DeletingNode", "aks-0") - first(&observed, "TaintManagerEviction", "nginx-0");
    within("from the eviction to the node's deletion", deleting, 48.0, 108.0);
}

#[test]
fn the_disk_failover_measured_on_aks_with_a_node_that_is_deleted_at_once() {
    let measured = Measured { node_removed: (0.0, 60.0), scheduled: 60.0, attached: 377.0, gap: 603.0 };
    let observed = check_aks("aks-disk-failover-node-deleted", 300.0, &measured);
    let is_mark = |message: &str| message.starts_with("Marking for deletion");
    assert!(!observed.events.iter().any(|event| event.reason == "TaintManagerEviction" && is_mark(&event.message)));
}

#[test]
fn a_kubelet_that_asks_just_after_the_disk_came_spares_two_minutes() {
    let path = repository().join("scenarios/aks-disk-failover-node-deleted.yaml");
    let mut scenario = scenario::load(&path, &Overrides::none()).unwrap_or_else(|invalid| panic!("{invalid:?}"));
    let mut waits: Vec<f64> = (0..12)
        .map(|seed| {
            scenario.seed = seed;
            let observed = play(&scenario);
            first(&observed, "Pulling", "nginx-0") - first(&observed, "SuccessfulAttachVolume", "nginx-0")
        })
        .collect();
    waits.sort_by(f64::total_cmp);
    // The look-up lies up to ten seconds behind the earliest, and the next one 122 s after it.
    for wait in &waits {
        assert!((-0.1..11.0).contains(wait) || (110.0..123.0).contains(wait), "{waits:?}");
    }
    assert!(waits[0] < 11.0 && waits[11] > 110.0, "{waits:?}");
}

const CLASS: &str = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disk}, provisioner: disk.csi.azure.com, \
                     volumeBindingMode: WaitForFirstConsumer}";

/// A StatefulSet of one pod with a disk.
fn set(mode: &str) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: web, namespace: default}}, spec: {{replicas: 1, serviceName: web, \
         selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{\
         terminationGracePeriodSeconds: 1, containers: [{{name: c, image: i}}]}}}}, volumeClaimTemplates: [{{metadata: {{name: data}}, \
         spec: {{accessModes: [{mode}], storageClassName: disk, resources: {{requests: {{storage: 1Gi}}}}}}}}]}}}}"
    )
}

/// Two nodes, a set with a disk, fixed durations, and what happens.
fn two_nodes(timeline: &str, more: &str, mode: &str) -> Observed {
    two_nodes_with(&set(mode), timeline, more)
}

fn two_nodes_with(set: &str, timeline: &str, more: &str) -> Observed {
    let spec = format!(
        "duration: 30m, seed: 3, {more} cluster: {{nodePools: [{{name: n, count: 2, zones: [a], template: {{status: \
         {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}, latency: {{podStart: {{constant: 1s}}, volumeAttach: \
         {{constant: 4s}}, volumeDetach: {{constant: 2s}}}}, timeline: [{timeline}]"
    );
    play(&load(&spec, &[CLASS, set]))
}

/// Takes the set's pod off its node at 60 s, and lets it start on the other.
const MOVE: &str = "{at: 59s, kubectl: cordon n-0}, {at: 60s, kubectl: delete pod web-0}";

#[test]
fn a_disk_is_detached_when_the_kubelet_says_it_is_unmounted_then_attached_elsewhere() {
    let observed = two_nodes(MOVE, "", "ReadWriteOnce");
    let scheduled = first(&observed, "Scheduled", "web-0");
    within("the pod is made again", scheduled, 60.0, 65.0);
    assert_eq!(times(&observed, "FailedAttachVolume", "web-0").len(), 1);
    let attached = first(&observed, "SuccessfulAttachVolume", "web-0") - scheduled;
    // Up to ten seconds until the node's next status, two to detach, four to attach.
    within("attached", attached, 6.0, 17.0);
    let started = first(&observed, "Started", "web-0") - scheduled;
    // The Event comes after the answer of the call that says it.
    assert!(started >= attached + 0.8, "started {started} s, attached {attached} s after scheduling");
}

#[test]
fn a_volume_for_many_nodes_does_not_wait_to_be_detached() {
    let observed = two_nodes(MOVE, "", "ReadWriteMany");
    assert_eq!(times(&observed, "FailedAttachVolume", "web-0").len(), 0);
    let attached = first(&observed, "SuccessfulAttachVolume", "web-0") - first(&observed, "Scheduled", "web-0");
    within("attached", attached, 4.0, 4.5);
}

#[test]
fn a_crashed_node_loses_the_disk_six_minutes_after_the_pod_is_gone_by_force() {
    let timeline = "{at: 60s, fault: {kind: Crash, nodes: {names: [n-0]}}}, \
                    {at: 180s, kubectl: delete pod web-0 --force --grace-period=0}";
    let observed = two_nodes(timeline, "", "ReadWriteOnce");
    let attached = first(&observed, "SuccessfulAttachVolume", "web-0") - 180.0;
    within("attached after the force", attached, 366.0, 368.0);
    let says = "Multi-Attach error for volume \"pvc-";
    let why = "\" Volume is already exclusively attached to one node and can't be attached to another";
    let event = observed.events.iter().find(|event| event.reason == "FailedAttachVolume").expect("an event");
    assert!(event.message.starts_with(says) && event.message.ends_with(why), "{}", event.message);
    assert_eq!((event.component, event.event_type), ("attachdetach-controller", "Warning"));
    assert!(!times(&observed, "FailedMount", "web-0").is_empty());
}

#[test]
fn a_node_that_comes_back_lets_go_of_the_disk_at_its_first_status() {
    let timeline = "{at: 60s, fault: {kind: Crash, nodes: {names: [n-0]}, for: 180s}}, {at: 179s, kubectl: cordon n-0}, \
                    {at: 180s, kubectl: delete pod web-0 --force --grace-period=0}";
    let observed = two_nodes(timeline, "", "ReadWriteOnce");
    let attached = first(&observed, "SuccessfulAttachVolume", "web-0");
    // It boots for 90 s from 240 s on.
    within("attached", attached, 336.0, 350.0);
}

#[test]
fn a_node_out_of_service_loses_the_disk_at_once() {
    let timeline = "{at: 60s, fault: {kind: Crash, nodes: {names: [n-0]}}}, {at: 180s, kubectl: \
                    'taint node n-0 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute'}";
    let observed = two_nodes(timeline, "", "ReadWriteOnce");
    let attached = first(&observed, "SuccessfulAttachVolume", "web-0") - 180.0;
    // Pod garbage collection comes by within twenty seconds.
    within("attached after the taint", attached, 6.0, 27.0);
}

#[test]
fn without_forced_detach_the_disk_stays_on_the_crashed_node() {
    let timeline = "{at: 60s, fault: {kind: Crash, nodes: {names: [n-0]}}}, \
                    {at: 180s, kubectl: delete pod web-0 --force --grace-period=0}";
    let flag = "controlPlane: {kubeControllerManager: {disable-force-detach-on-timeout: true}},";
    let observed = two_nodes(timeline, flag, "ReadWriteOnce");
    assert_eq!(times(&observed, "SuccessfulAttachVolume", "web-0"), [0.0; 0]);
}

#[test]
fn claims_about_whose_storage_nothing_is_said_are_met_everywhere_at_once() {
    let spec = format!(
        "duration: 5m, cluster: {{nodePools: [{{name: n, count: 2, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, \
         pods: '20'}}}}}}}}]}}, latency: {{podStart: {{constant: 1s}}}}, timeline: [{MOVE}]"
    );
    let set = set("ReadWriteOnce");
    let observed = play(&load(&spec, &[&set]));
    let started = first(&observed, "Started", "web-0");
    within("started", started, 61.0, 64.0);
    assert_eq!(times(&observed, "SuccessfulAttachVolume", "web-0"), [0.0; 0]);
}

#[test]
fn a_pod_whose_claim_the_input_leaves_out_runs_if_it_leaves_out_all_storage() {
    let spec = "duration: 1m, cluster: {nodePools: [{name: n, count: 1, template: {status: {allocatable: {cpu: '4', memory: 8Gi, \
                pods: '20'}}}}]}";
    let phase = |objects: &[&str]| play(&load(spec, objects)).pods[0].phase.as_str();
    let pod = pod("p", "", CLAIMED);
    assert_eq!(phase(&[&pod]), "Running");
    assert_eq!(phase(&[&pod, CLASS]), "Pending");
    assert_eq!(phase(&[&pod, &claim("data", "volumeName: lost")]), "Running");
    assert_eq!(phase(&[&pod, &claim("other", "")]), "Pending");
}

#[test]
fn a_disk_made_in_a_zone_keeps_its_pod_there() {
    let spec = "duration: 20m, cluster: {nodePools: [{name: n, count: 2, zones: [a, b], template: {status: {allocatable: {cpu: '4', \
                memory: 8Gi, pods: '20'}}}}]}, timeline: [{at: 59s, kubectl: cordon n-0}, {at: 60s, kubectl: delete pod web-0}, {at: \
                300s, kubectl: uncordon n-0}]";
    let set = set("ReadWriteOnce");
    let observed = play(&load(spec, &[CLASS, &set]));
    let failed = observed.events.iter().find(|event| event.reason == "FailedScheduling").expect("an event");
    let says = "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) were unschedulable.";
    assert!(failed.message.starts_with(says), "{}", failed.message);
    within("scheduled when its node is open again", first(&observed, "Scheduled", "web-0"), 300.0, 301.0);
}

fn node(name: &str, zone: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {{topology.kubernetes.io/zone: {zone}, kubernetes.io/hostname: \
         {name}}}}}, status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}"
    )
}

fn pod(name: &str, node: &str, volumes: &str) -> String {
    let on = if node.is_empty() { String::new() } else { format!("nodeName: {node}, ") };
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default}}, spec: {{{on}containers: [{{name: c, image: i}}], \
         volumes: [{volumes}]}}}}"
    )
}

const CLAIMED: &str = "{name: v, persistentVolumeClaim: {claimName: data}}";

/// A claim; one that names its volume has it.
fn claim(name: &str, spec: &str) -> String {
    let status = if spec.contains("volumeName: ") { ", status: {phase: Bound}" } else { "" };
    format!("{}{status}}}", asking(name, spec).trim_end_matches('}').to_owned() + "}")
}

/// A claim, whose binding has not been done.
fn asking(name: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: {name}, namespace: default}}, spec: {{accessModes: [ReadWriteOnce], resources: {{requests: \
         {{storage: 1Gi}}}}, {spec}}}}}"
    )
}

fn volume(name: &str, labels: &str, spec: &str) -> String {
    let source = if spec.contains("csi: ") { "" } else { "hostPath: {path: /data}, " };
    format!(
        "{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: {name}, labels: {{{labels}}}}}, spec: {{capacity: {{storage: 5Gi}}, \
         accessModes: [ReadWriteOnce], {source}{spec}}}}}"
    )
}

/// Where a pod `p` that uses `volumes` goes in a cluster of `n1` in zone a and `n2` in zone b: a node, or what is said.
#[track_caller]
fn check_with(volumes: &str, objects: &[String], expected: &str) {
    let mut all = vec![node("n1", "a"), node("n2", "b"), pod("p", "", volumes)];
    all.extend(objects.iter().cloned());
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let scenario = load("duration: 1s, cluster: {}", &all);
    let prepared = Prepared::unsettled(&scenario);
    let pods = Scheduler::queue_order(prepared.store());
    let mut decisions = Scheduler::decide(prepared.snapshot(), &pods);
    let decision = decisions.next().flatten().expect("a decision");
    let found = match decision.node {
        Some(node) => prepared.store().node_name(node).to_string(),
        None => decision.message.unwrap_or_default(),
    };
    let found = found.strip_prefix("0/2 nodes are available: ").unwrap_or(&found);
    assert!(found.starts_with(expected), "found    {found}\nexpected {expected}");
}

#[track_caller]
fn check(objects: &[String], expected: &str) {
    check_with(CLAIMED, objects, expected);
}

#[test]
fn claims_that_rule_a_pod_out_everywhere() {
    check(&[], "persistentvolumeclaim \"data\" not found. not found");
    check(&[claim("data", "")], "pod has unbound immediate PersistentVolumeClaims. not found");
    check(&[claim("data", "storageClassName: absent")], "pod has unbound immediate PersistentVolumeClaims.");
    let lost = claim("data", "volumeName: gone").replace("phase: Bound", "phase: Lost");
    check(&[lost], "persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"gone\".");
    check(&[claim("data", "volumeName: gone")], "persistentvolume \"gone\" not found.");
    let ephemeral = "{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}";
    let text = "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-v\".";
    check_with(ephemeral, &[], text);
    check_with("{name: v, emptyDir: {}}", &[], "n1");
}

#[test]
fn a_claim_that_asks_for_a_volume_by_name_waits_for_the_binder_whatever_its_class() {
    let unbound = "pod has unbound immediate PersistentVolumeClaims. not found";
    let asks = asking("data", "storageClassName: disk, volumeName: pv");
    let pv = |more: &str| volume("pv", "", &format!("storageClassName: disk{more}"));
    check(&[CLASS.to_owned(), asks.clone()], unbound);
    check(&[CLASS.to_owned(), asks.clone(), pv("")], unbound);
    check(&[CLASS.to_owned(), asks.clone(), pv(", claimRef: {namespace: default, name: other, uid: u}")], unbound);
    // A volume that names it back has been bound to it, whatever else was taken out of a dump.
    let of = |uid: &str| pv(&format!(", claimRef: {{namespace: default, name: data, uid: {uid}}}"));
    check(&[CLASS.to_owned(), asks.clone(), of("u")], "n1");
    let named = |uid: &str| asks.replace("name: data", &format!("name: data, uid: {uid}"));
    check(&[CLASS.to_owned(), named("u"), of("u")], "n1");
    check(&[CLASS.to_owned(), named("other"), of("u")], unbound);
    let marked = asks.replace("name: data", "name: data, annotations: {pv.kubernetes.io/bind-completed: 'yes'}");
    check(&[CLASS.to_owned(), marked, pv("")], "n1");
}

#[test]
fn a_bound_volume_decides_about_nodes_by_affinity_and_zone() {
    let affinity = |zone: &str| {
        format!(
            "nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: topology.kubernetes.io/zone, operator: In, \
             values: [{zone}]}}]}}]}}}}"
        )
    };
    let bound = claim("data", "volumeName: pv");
    check(&[bound.clone(), volume("pv", "", &affinity("b"))], "n2");
    check(
        &[bound.clone(), volume("pv", "", &affinity("c"))],
        "2 node(s) didn't match PersistentVolume's node affinity.",
    );
    check(&[bound.clone(), volume("pv", "topology.kubernetes.io/zone: b", "")], "n2");
    check(
        &[bound.clone(), volume("pv", "topology.kubernetes.io/zone: c", "")],
        "2 node(s) had no available volume zone.",
    );
    check(&[bound, volume("pv", "topology.kubernetes.io/zone: b__c", "")], "n2");
}

#[test]
fn a_claim_that_waits_for_its_pod_gets_a_volume_that_is_there_or_a_new_one() {
    let local = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, \
                 volumeBindingMode: WaitForFirstConsumer}";
    let unbound = claim("data", "accessModes: [ReadWriteOnce], storageClassName: local");
    let on = |name: &str, node: &str, more: &str| {
        let spec = format!(
            "storageClassName: local, {more} nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: \
             kubernetes.io/hostname, operator: In, values: [{node}]}}]}}]}}}}"
        );
        volume(name, "", &spec)
    };
    let none = "2 node(s) didn't find available persistent volumes to bind.";
    check(&[local.to_owned(), unbound.clone()], none);
    check(&[local.to_owned(), unbound.clone(), on("pv", "n2", "")], "n2");
    let taken = "claimRef: {namespace: default, name: other},";
    check(&[local.to_owned(), unbound.clone(), on("pv", "n2", taken)], none);
    let reserved = "claimRef: {namespace: default, name: data},";
    check(&[local.to_owned(), unbound, on("pv", "n2", reserved)], "n2");
    let wanted = claim("data", "accessModes: [ReadWriteMany], storageClassName: local");
    check(&[local.to_owned(), wanted, on("pv", "n2", "")], none);
    let disk = claim("data", "accessModes: [ReadWriteOnce], storageClassName: disk");
    check(&[CLASS.to_owned(), disk.clone()], "n1");
    let allowed = |zone: &str| {
        CLASS.replace(
            "provisioner:",
            &format!(
                "allowedTopologies: [{{matchLabelExpressions: [{{key: topology.kubernetes.io/zone, values: [{zone}]}}]}}], provisioner:"
            ),
        )
    };
    check(&[allowed("b"), disk.clone()], "n2");
    check(&[allowed("c"), disk.clone()], none);
    let selected = disk
        .replace("namespace: default}", "namespace: default, annotations: {volume.kubernetes.io/selected-node: n2}}");
    check(&[CLASS.to_owned(), selected.clone()], "n2");
    // The node that was selected counts only as long as the class allows it.
    check(&[allowed("b"), selected.clone()], "n2");
    check(&[allowed("a"), selected], none);
}

#[test]
fn a_claim_for_one_pod_is_refused_to_the_next() {
    let only = claim("data", "accessModes: [ReadWriteOncePod], volumeName: pv");
    let objects = [only, volume("pv", "", "")];
    check(&objects, "n1");
    let mut used = objects.to_vec();
    used.push(pod("first", "n2", CLAIMED));
    let text = "2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.";
    check(&used, text);
}

#[test]
fn disks_that_pods_name_themselves_are_not_given_twice_on_a_node() {
    let disk = "{name: v, gcePersistentDisk: {pdName: d}}";
    check_with(disk, &[pod("first", "n1", disk)], "n2");
    check_with(disk, &[pod("first", "n1", disk), pod("second", "n2", disk)], "2 node(s) had no available disk.");
}

#[test]
fn a_node_takes_as_many_volumes_of_a_driver_as_its_csinode_says() {
    let csi_node = |name: &str, count: u32| {
        format!(
            "{{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {{name: {name}}}, spec: {{drivers: [{{name: disk.csi.azure.com, \
             nodeID: {name}, allocatable: {{count: {count}}}}}]}}}}"
        )
    };
    let used = |name: &str| {
        let csi = format!("csi: {{driver: disk.csi.azure.com, volumeHandle: {name}}}");
        [claim(name, &format!("volumeName: pv-{name}")), volume(&format!("pv-{name}"), "", &csi)]
    };
    let other = |node: &str, claim: &str| {
        pod(&format!("on-{node}"), node, &format!("{{name: v, persistentVolumeClaim: {{claimName: {claim}}}}}"))
    };
    let mut objects = [used("data"), used("a"), used("b")].concat();
    objects.extend([csi_node("n1", 1), csi_node("n2", 2), other("n1", "a"), other("n2", "b")]);
    check(&objects, "n2");
    objects.retain(|object| !object.contains("count: 2"));
    objects.push(csi_node("n2", 1));
    check(&objects, "2 node(s) exceed max volume count.");
    // The same volume counts once.
    let shared: Vec<String> =
        objects.iter().map(|object| object.replace("claimName: a}", "claimName: data}")).collect();
    check(&shared, "n1");
    // A disk that a pod names itself is the driver's, too.
    let disk = |name: &str| format!("{{name: v, azureDisk: {{diskName: {name}, diskURI: {name}}}}}");
    let there = [csi_node("n1", 1), csi_node("n2", 1), pod("on-n1", "n1", &disk("d"))];
    check_with(&disk("e"), &there, "n2");
    let full = [there.as_slice(), &[pod("on-n2", "n2", &disk("f"))]].concat();
    check_with(&disk("e"), &full, "2 node(s) exceed max volume count.");
    check_with(&disk("d"), &full, "n1");
    let claimed = [full.as_slice(), &used("data")].concat();
    check(&claimed, "2 node(s) exceed max volume count.");
}

#[test]
fn a_controller_manager_that_restarts_counts_the_six_minutes_anew() {
    let timeline = "{at: 60s, fault: {kind: Crash, nodes: {names: [n-0]}}}, \
                    {at: 180s, kubectl: delete pod web-0 --force --grace-period=0}, \
                    {at: 300s, fault: {kind: ControlPlaneOutage, components: [kube-controller-manager], for: 10s}}";
    let observed = two_nodes(timeline, "", "ReadWriteOnce");
    let attached = first(&observed, "SuccessfulAttachVolume", "web-0");
    within("attached", attached, 676.0, 700.0);
}

#[test]
fn claims_that_wait_for_nobody_and_claims_of_a_pod_are_met() {
    let phase = |objects: &[&str]| {
        let spec = "duration: 1m, cluster: {nodePools: [{name: n, count: 2, zones: [a, b], template: {status: {allocatable: {cpu: '4', \
                    memory: 8Gi, pods: '20'}}}}]}";
        play(&load(spec, objects)).pods[0].phase.as_str()
    };
    let immediate = CLASS.replace("WaitForFirstConsumer", "Immediate");
    let disk = claim("data", "accessModes: [ReadWriteOnce], storageClassName: disk");
    assert_eq!(phase(&[&immediate, &disk, &pod("p", "", CLAIMED)]), "Running");
    let there = volume("pv", "", "storageClassName: manual");
    let wanted = claim("data", "accessModes: [ReadWriteOnce], storageClassName: manual");
    assert_eq!(phase(&[&there, &wanted, &pod("p", "", CLAIMED)]), "Running");
    let small = there.replace("5Gi", "500Mi");
    assert_eq!(phase(&[&small, &wanted, &pod("p", "", CLAIMED)]), "Pending");
    let ephemeral = "{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], storageClassName: disk, \
                     resources: {requests: {storage: 1Gi}}}}}}";
    assert_eq!(phase(&[CLASS, &pod("p", "", ephemeral)]), "Running");
}

#[test]
fn a_pod_whose_volume_is_not_made_in_time_is_scheduled_again() {
    let spec = "duration: 5m, cluster: {bootstrap: cold, nodePools: [{name: n, count: 1, template: {status: {allocatable: \
                {cpu: '4', memory: 8Gi, pods: '20'}}}}]}, latency: {volumeProvision: {constant: 95s}, volumeAttach: {constant: 1s}}, \
                controlPlane: {kubeScheduler: {profiles: [{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 20}}]}]}}";
    let disk = claim("data", "accessModes: [ReadWriteOnce], storageClassName: disk");
    let observed = play(&load(spec, &[CLASS, &disk, &pod("p", "", CLAIMED)]));
    // Four times twenty seconds in vain, with back-offs of 1, 2, 4 and 8 s up to the next whole second but one; the last
    // attempt finds the claim bound.
    within("bound", first(&observed, "Scheduled", "p"), 98.0, 100.0);
    let provisioned = first(&observed, "ProvisioningSucceeded", "data");
    within("provisioned", provisioned, 95.0, 96.0);
    // Each failure is said as an event, and once as the pod's condition.
    let why = "running PreBind plugin \"VolumeBinding\": binding volumes: context deadline exceeded";
    let failures = observed.events.iter().filter(|event| event.reason == "FailedScheduling" && &*event.message == why);
    assert_eq!(failures.count(), 4);
    let condition = format!("pod/default/p PodScheduled=False (SchedulerError): {why}");
    assert_eq!(observed.causes.iter().filter(|cause| cause.what == condition).count(), 1);
}

/// One CPU, and a claim that takes twenty seconds and a bit to be met once a pod is to have it.
const SLOW_DISKS: &str = "duration: 2m, cluster: {bootstrap: cold, nodePools: [{name: n, count: 1, template: {status: {allocatable: \
                          {cpu: '1', memory: 8Gi, pods: '20'}}}}]}, latency: {apiCall: {constant: 10ms}, watch: {constant: 5ms}, \
                          volumeProvision: {constant: 20300ms}, podStart: {constant: 1s}}";

const HIGH_CLASS: &str = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}";
/// It needs the whole node once it is scaled up.
const HIGH: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: high, namespace: default}, spec: {replicas: 0, selector: \
                    {matchLabels: {app: high}}, template: {metadata: {labels: {app: high}}, spec: {priorityClassName: high, containers: \
                    [{name: c, image: i, resources: {requests: {cpu: '1'}}}]}}}}";

/// From its last write on the scheduler looks once a second.
#[test]
fn a_pod_is_bound_when_the_scheduler_looks_at_its_claims() {
    let disk = claim("data", "accessModes: [ReadWriteOnce], storageClassName: disk");
    let observed = play(&load(SLOW_DISKS, &[CLASS, &disk, &pod("p", "", CLAIMED)]));
    let (provisioned, bound) = (first(&observed, "ProvisioningSucceeded", "data"), first(&observed, "Scheduled", "p"));
    within("provisioned", provisioned, 20.3, 20.4);
    within("bound", bound, 21.0, 21.1);
}

/// Since 1.36 a victim that waits for its volumes goes back to the queue; before it was deleted.
#[test]
fn a_pod_that_waits_for_its_volumes_makes_room_and_stays() {
    let check = |version: &str, is_kept: bool| {
        let low = pod("low", "", CLAIMED).replace("image: i", "image: i, resources: {requests: {cpu: '1'}}");
        let spec = format!(
            "{SLOW_DISKS}, controlPlane: {{kubernetesVersion: '{version}'}}, timeline: [{{at: 5s, kubectl: 'scale deployment high --replicas=1'}}]"
        );
        let disk = claim("data", "accessModes: [ReadWriteOnce], storageClassName: disk");
        let observed = play(&load(&spec, &[CLASS, &disk, &low, HIGH_CLASS, HIGH]));
        let message = |reason: &str| {
            let of_low = observed.events.iter().filter(|event| &*event.name == "low");
            of_low.filter(|event| event.reason == reason).map(|event| event.message.to_string()).next()
        };
        assert!(
            message("Preempted").expect("an event").ends_with("in kube-scheduler memory).") == is_kept,
            "{version}"
        );
        let cancelled = "running PreBind plugin \"VolumeBinding\": preempted by DefaultPreemption";
        assert_eq!(message("FailedScheduling").as_deref() == Some(cancelled), is_kept, "{version}");
        let low = observed.pods.iter().find(|row| &*row.name == "low").expect("a pod");
        assert_eq!(low.gone_at.is_none(), is_kept, "{version}");
        assert_eq!(observed.events.iter().filter(|event| event.reason == "Scheduled").count(), 1, "{version}");
    };
    check("1.36", true);
    check("1.35", false);
}

/// The scheduler tells it of its own copy.
#[test]
fn a_victim_without_grace_is_told_as_well() {
    let low = "{apiVersion: v1, kind: Pod, metadata: {name: low, namespace: default}, spec: {terminationGracePeriodSeconds: 0, containers: \
               [{name: c, image: i, resources: {requests: {cpu: '1'}}}]}}";
    let spec = format!("{SLOW_DISKS}, timeline: [{{at: 5s, kubectl: 'scale deployment high --replicas=1'}}]");
    let observed = play(&load(&spec, &[low, HIGH_CLASS, HIGH]));
    assert_eq!(times(&observed, "Preempted", "low").len(), 1);
}

/// Its kubelet stops what runs, with the grace of the pod's own: the disk is in use until then.
#[test]
fn a_pod_that_is_gone_by_force_keeps_its_disk_until_its_containers_have_stopped() {
    let check = |deletion: &str| {
        let timeline = format!("{{at: 59s, kubectl: cordon n-0}}, {deletion}");
        let set = set("ReadWriteOnce")
            .replace("terminationGracePeriodSeconds: 1", "terminationGracePeriodSeconds: 40")
            .replace("template: {metadata: {", "template: {metadata: {annotations: {kubesquall.sim/stop: 25s}, ");
        let observed = two_nodes_with(&set, &timeline, "");
        assert_eq!(times(&observed, "Killing", "web-0").len(), 1, "{deletion}");
        // Twenty-five seconds to stop, up to ten until the node's next status, two to detach, four to attach.
        within(deletion, first(&observed, "SuccessfulAttachVolume", "web-0"), 91.0, 103.0);
    };
    check("{at: 60s, kubectl: delete pod web-0 --force --grace-period=0}");
    check("{at: 60s, fault: {kind: PodKill, pods: {selector: app=web}}}");
    check(
        "{at: 60s, kubectl: delete pod web-0 --wait=false}, {at: 62s, kubectl: delete pod web-0 --force --grace-period=0}",
    );
}
