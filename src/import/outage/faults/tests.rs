//! Each rule with built evidence.

use super::super::bench::{Bench, at, pod, sym};
use super::{Confidence, Detection, Entry, Extra, Fault, Found, Nodes, find, group};
use crate::evidence::{Bounds, DeletedBy, EndedBy, Notice, RecordKind, Reporter, What};
use crate::model::ConditionStatus::{self, False, True, Unknown};
use crate::units::SimDuration;

fn ready(node: &str, status: ConditionStatus, by: Reporter) -> What {
    What::NodeReady { node: sym(node), status, by }
}

fn lost(node: &str) -> What {
    ready(node, Unknown, Reporter::Controller)
}

fn back(node: &str) -> What {
    ready(node, True, Reporter::Kubelet)
}

fn found(bench: &mut Bench) -> Found {
    bench.with(|timeline, _| find(timeline, Detection { grace: SimDuration::from_secs(50) }))
}

fn faults(bench: &mut Bench) -> Vec<Fault> {
    found(bench).faults
}

fn entries(bench: &mut Bench) -> Vec<Entry> {
    bench.with(|timeline, _| {
        let found = find(timeline, Detection { grace: SimDuration::from_secs(50) });
        group(found.faults, timeline.inventory)
    })
}

fn only(bench: &mut Bench) -> Fault {
    let mut faults = faults(bench);
    assert_eq!(faults.len(), 1, "{faults:#?}");
    faults.remove(0)
}

/// Seconds since noon.
fn seconds(bounds: Bounds) -> (f64, f64) {
    let of = |at: crate::evidence::Instant| (at.nanos_since(super::super::bench::noon()) as f64 / 1e8).round() / 10.0;
    (of(bounds.earliest), of(bounds.latest))
}

#[test]
fn a_silence_began_a_grace_before_it_was_found_out() {
    let fault = only(Bench::new().see(100.0, lost("w-1")));
    assert_eq!((fault.kind, fault.confidence), ("Crash", Confidence::Guess));
    // 50 s of grace and up to two passes before; a renewal up to 10.4 s before the fault; half a second for calls.
    assert_eq!(seconds(fault.begin), (39.5, 61.9));
    assert_eq!(fault.end, None);
    assert!(fault.alternatives.contains(&"Partition"));
}

#[test]
fn heartbeats_narrow_the_begin() {
    let mut bench = Bench::of(RecordKind::Audit);
    for renewal in [20.0, 30.1, 40.3, 50.5] {
        bench.see_at(renewal, What::Heartbeat { node: sym("w-1") });
    }
    let fault = only(bench.see_at(102.0, lost("w-1")));
    assert_eq!(seconds(fault.begin), (50.5, 61.4));
    // A single one may have been followed by others that nobody recorded.
    let mut bench = Bench::of(RecordKind::Audit);
    bench.see_at(50.5, What::Heartbeat { node: sym("w-1") });
    let fault = only(bench.see_at(102.0, lost("w-1")));
    assert_eq!(seconds(fault.begin), (50.5, 62.9));
}

#[test]
fn what_a_node_shows_when_it_is_back_tells_the_kind() {
    let kind = |more: &[(f64, What)]| {
        let mut bench = Bench::new();
        bench.see(100.0, lost("w-1")).see(400.0, back("w-1"));
        for (seconds, what) in more {
            bench.see(*seconds, what.clone());
        }
        let fault = only(&mut bench);
        (fault.kind, fault.confidence)
    };
    let started = What::ContainerStarted { pod: pod("db-0"), container: sym("c") };
    let kubelet = What::KubeletStarted { node: sym("w-1") };
    assert_eq!(kind(&[]), ("Partition", Confidence::Likely));
    assert_eq!(kind(&[(398.0, kubelet.clone())]), ("KubeletStop", Confidence::Likely));
    assert_eq!(kind(&[(398.0, kubelet.clone()), (403.0, started.clone())]), ("Crash", Confidence::Likely));
    let rebooted = (398.0, What::Rebooted { node: sym("w-1") });
    assert_eq!(kind(&[(398.0, kubelet.clone()), rebooted]), ("Crash", Confidence::Certain));
    let deleted = What::PodDeletion { pod: pod("db-0"), by: DeletedBy::TaintManager, node: Some(sym("w-1")) };
    let failed = |is_success| What::PodFinished { pod: pod("db-0"), is_success, reason: sym("") };
    let after = |ended| kind(&[(398.0, kubelet.clone()), (300.0, deleted.clone()), (401.0, failed(ended))]);
    assert_eq!(after(false), ("Crash", Confidence::Likely));
    assert_eq!(after(true), ("KubeletStop", Confidence::Likely));
    let ended = What::PodFinished { pod: pod("db-0"), is_success: false, reason: sym("Terminated") };
    assert_eq!(kind(&[(20.0, ended)]), ("GracefulShutdown", Confidence::Likely));
}

#[test]
fn a_machine_that_the_cloud_misses_is_gone() {
    let fault = only(Bench::new().see(100.0, lost("w-1")).see(103.0, What::InstanceGone { node: sym("w-1") }));
    assert_eq!((fault.kind, fault.confidence, fault.end), ("InstanceGone", Confidence::Certain, None));
    let fault = only(Bench::new().see(103.0, What::InstanceGone { node: sym("w-1") }));
    assert_eq!((fault.kind, fault.confidence), ("InstanceGone", Confidence::Likely));
}

#[test]
fn the_cloud_says_when_a_machine_was_off_and_on() {
    let notice = |notice| What::CloudNotice { machine: sym("i-1"), notice, deadline: None };
    let fault = only(
        Bench::new()
            .see(100.0, lost("w-1"))
            .see(400.0, ready("w-1", True, Reporter::Unknown))
            .record(RecordKind::Cloud, "cloud.json")
            .see(55.0, notice(Notice::Stopped))
            .see(340.0, notice(Notice::Running)),
    );
    assert_eq!((fault.kind, seconds(fault.begin)), ("Crash", (55.0, 56.0)));
    assert_eq!(fault.end.map(seconds), Some((340.0, 341.0)));
    assert_eq!(fault.extra, Extra::Boot(SimDuration::from_secs(60)));
}

#[test]
fn a_spot_interruption_is_one_if_the_node_went() {
    let warning =
        What::CloudNotice { machine: sym("i-2"), notice: Notice::SpotInterruption, deadline: Some(at(120.0)) };
    let mut bench = Bench::of(RecordKind::Cloud);
    bench
        .see_at(0.0, warning.clone())
        .see_at(170.0, lost("w-2"))
        .see_at(5.0, What::NodeSchedulable { node: sym("w-2"), is_schedulable: false });
    let fault = only(&mut bench);
    assert_eq!(fault.kind, "SpotInterruption");
    assert_eq!(fault.extra, Extra::Notice { notice: SimDuration::from_secs(120), drain: true });
    let found = found(Bench::of(RecordKind::Cloud).see_at(0.0, warning));
    assert!(found.faults.is_empty());
    assert!(found.remarks[0].contains("nothing came of it"), "{:?}", found.remarks);
}

#[test]
fn a_kubelets_own_word_is_without_delay() {
    let fault = only(Bench::new().see(100.0, ready("w-1", False, Reporter::Kubelet)).see(160.0, back("w-1")));
    assert_eq!((fault.kind, fault.confidence, seconds(fault.begin)), ("NotReady", Confidence::Certain, (89.5, 101.0)));
    assert_eq!(fault.end.map(seconds), Some((149.5, 161.0)));
    // A machine that boots is not Ready at first.
    let booting = faults(
        Bench::new().see(100.0, lost("w-1")).see(300.0, ready("w-1", False, Reporter::Kubelet)).see(320.0, back("w-1")),
    );
    assert_eq!(booting.iter().map(|fault| fault.kind).collect::<Vec<_>>(), ["Partition"]);
}

#[test]
fn conditions_are_faults_and_so_are_their_taints_alone() {
    let condition = |status| What::NodeCondition { node: sym("w-1"), condition: sym("MemoryPressure"), status };
    let fault = only(Bench::new().see(100.0, condition(True)).see(460.0, condition(False)));
    assert_eq!((fault.kind, fault.end.map(seconds)), ("MemoryPressure", Some((449.5, 461.0))));
    // That the controller knows it no more is no change of it.
    assert!(faults(Bench::new().see(100.0, condition(Unknown)).see(460.0, condition(False))).is_empty());
    let taint = |is_present| What::NodeTaint {
        node: sym("w-1"),
        key: sym("node.kubernetes.io/disk-pressure"),
        effect: sym("NoSchedule"),
        is_present,
    };
    let fault = only(Bench::of(RecordKind::Metrics).see(100.0, taint(true)).see(160.0, taint(false)));
    assert_eq!(fault.kind, "DiskPressure");
}

#[test]
fn taints_tell_a_silence_where_no_condition_was_recorded() {
    let taint = |is_present, effect: &str| What::NodeTaint {
        node: sym("w-1"),
        key: sym("node.kubernetes.io/unreachable"),
        effect: sym(effect),
        is_present,
    };
    let mut bench = Bench::of(RecordKind::Metrics);
    bench.see(100.0, taint(true, "NoSchedule")).see(105.0, taint(true, "NoExecute"));
    bench.see(400.0, taint(false, "NoSchedule")).see(405.0, taint(false, "NoExecute"));
    let fault = only(&mut bench);
    assert_eq!((seconds(fault.begin), fault.end.map(seconds).map(|end| end.1)), ((39.5, 61.9), Some(406.0)));
}

#[test]
fn a_boot_that_nobody_missed_is_a_reboot() {
    let node = sym("w-1");
    let fault = only(Bench::new().see(100.0, What::KubeletStarted { node }).see(100.0, What::Rebooted { node }));
    assert_eq!((fault.kind, fault.confidence), ("Reboot", Confidence::Certain));
    let fault = only(Bench::new().see(100.0, What::KubeletStarted { node }));
    assert_eq!((fault.kind, fault.confidence), ("KubeletStop", Confidence::Likely));
}

#[test]
fn a_node_that_comes_and_goes_has_late_heartbeats() {
    let mut bench = Bench::new();
    for begin in [100.0, 200.0, 300.0, 400.0] {
        bench.see(begin, lost("w-1")).see(begin + 12.0, ready("w-1", True, Reporter::Unknown));
    }
    let fault = only(&mut bench);
    assert_eq!((fault.kind, fault.confidence), ("SlowHeartbeats", Confidence::Guess));
    let Extra::Late(late) = &fault.extra else { panic!("{:?}", fault.extra) };
    let late: Vec<(f64, u64)> =
        late.iter().map(|renewal| (seconds(Bounds::at(renewal.after)).0, renewal.by.as_secs())).collect();
    // From half a period after the one that got through to when it was heard again.
    assert_eq!(late, [(50.7, 56), (150.7, 56), (250.7, 56), (350.7, 56)]);
    let twice = faults(
        Bench::new().see(100.0, lost("w-1")).see(112.0, ready("w-1", True, Reporter::Unknown)).see(200.0, lost("w-1")),
    );
    assert_eq!(twice.len(), 2);
}

#[test]
fn a_whole_zone_is_called_by_its_name_and_shares_its_cause() {
    let mut bench = Bench::new();
    bench.see(100.0, lost("w-1")).see(106.0, lost("w-4"));
    let mut entries = entries(&mut bench);
    assert_eq!(entries.len(), 1);
    let entry = entries.remove(0);
    assert_eq!((entry.nodes, entry.shared_cause), (Nodes::Zone(sym("b")), true));
    assert_eq!(seconds(entry.begin), (45.5, 61.9));
}

#[test]
fn machines_that_merely_failed_near_each_other_keep_their_own_bounds() {
    let mut bench = Bench::new();
    bench.see(100.0, lost("w-0")).see(106.0, lost("w-1"));
    let entry = entries(&mut bench).remove(0);
    assert_eq!((entry.nodes, entry.shared_cause), (Nodes::Names(vec![sym("w-0"), sym("w-1")]), false));
    assert_eq!(seconds(entry.begin), (39.5, 67.9));
    let middle = seconds(Bounds::at(entry.begin_guess)).0;
    assert!((45.5..=61.9).contains(&middle), "{middle}");
}

#[test]
fn where_every_node_falls_silent_at_once_the_network_is_suspected() {
    let mut bench = Bench::new();
    for node in 0..6 {
        bench.see(100.0 + f64::from(node), lost(&format!("w-{node}")));
    }
    let entry = entries(&mut bench).remove(0);
    assert_eq!((entry.first().kind, entry.nodes.clone()), ("Partition", Nodes::All));
    assert!(entry.first().alternatives.contains(&"ControlPlaneOutage"));
}

#[test]
fn nodes_that_are_registered_again_tell_a_new_controller() {
    let mut bench = Bench::new();
    bench.see(50.0, What::PodCreated { pod: pod("web-1-x"), owner: Some((sym("ReplicaSet"), sym("web-1"))) });
    for node in 0..6 {
        bench.see(100.0, What::NodePresent { node: sym(&format!("w-{node}")), is_present: true });
    }
    let fault = only(&mut bench);
    assert_eq!((fault.kind, seconds(fault.begin)), ("ControlPlaneOutage", (50.0, 101.0)));
    // One that joins is no reason to think so.
    let joined = faults(Bench::new().see(100.0, What::NodePresent { node: sym("w-9"), is_present: true }));
    assert!(joined.is_empty());
}

#[test]
fn a_controller_that_was_away_gives_every_node_a_whole_grace_again() {
    let mut bench = Bench::new();
    bench.see(20.0, What::PodCreated { pod: pod("web-1-x"), owner: Some((sym("ReplicaSet"), sym("web-1"))) });
    for node in 0..6 {
        bench.see(100.0, What::NodePresent { node: sym(&format!("w-{node}")), is_present: true });
    }
    bench.see(152.0, lost("w-3"));
    let all = faults(&mut bench);
    let crash = all.iter().find(|fault| fault.kind == "Crash").expect("a silence");
    assert!(seconds(crash.begin).0 <= -30.0, "{:?}", seconds(crash.begin));
}

#[test]
fn where_no_lease_was_renewed_the_api_server_was_away() {
    let mut bench = Bench::of(RecordKind::Audit);
    for round in (0..6).chain(12..18) {
        for node in 0..6 {
            let at = f64::from(round) * 10.0 + f64::from(node) * 1.5;
            bench.see_at(at, What::Heartbeat { node: sym(&format!("w-{node}")) });
        }
    }
    let fault = only(&mut bench);
    assert_eq!((fault.kind, seconds(fault.begin).0), ("ControlPlaneOutage", 57.5));
    assert_eq!(fault.end.map(seconds).map(|end| end.1), Some(120.0));
}

#[test]
fn nodes_look_silent_right_after_the_api_server_was_away() {
    let mut bench = Bench::new();
    bench.see(30.0, What::PodCreated { pod: pod("web-1-x"), owner: None });
    bench.see(100.0, What::ComponentStarted { component: sym("kube-apiserver") });
    for node in 0..3 {
        let name = format!("w-{node}");
        bench.see(107.0, lost(&name)).see(118.0, ready(&name, True, Reporter::Unknown));
    }
    let fault = only(&mut bench);
    assert_eq!(fault.kind, "ControlPlaneOutage");
    assert_eq!(fault.evidence.len(), 8);
}

#[test]
fn containers_that_end_on_healthy_nodes_are_faults() {
    let ended = |name: &str, by| What::ContainerEnded { pod: pod(name), container: sym("c"), by };
    let kinds = |bench: &mut Bench| faults(bench).iter().map(|fault| fault.kind).collect::<Vec<_>>();
    assert_eq!(kinds(Bench::new().see(10.0, ended("db-0", EndedBy::OutOfMemory))), ["OOMKill"]);
    assert_eq!(kinds(Bench::new().see(10.0, ended("db-0", EndedBy::Crash))), ["ContainerCrash"]);
    assert!(kinds(Bench::new().see(10.0, ended("db-0", EndedBy::Completed))).is_empty());
    // What was lost with the machine is that fault's, and what was asked to go has not crashed.
    let with_node = kinds(Bench::new().see(100.0, lost("w-1")).see(70.0, ended("db-0", EndedBy::Crash)));
    assert_eq!(with_node, ["Crash"]);
    let deletion = What::PodDeletion { pod: pod("db-0"), by: DeletedBy::Operator, node: None };
    assert!(kinds(Bench::new().see(5.0, deletion).see(10.0, ended("db-0", EndedBy::Crash))).is_empty());
    let mut crashes = Bench::new();
    for time in 0..12 {
        crashes.see(f64::from(time) * 60.0, ended("db-0", EndedBy::Crash));
    }
    let found = found(&mut crashes);
    assert!(found.faults.is_empty() && found.remarks[0].contains("12 times"), "{:?}", found.remarks);
}

#[test]
fn images_that_cannot_be_pulled_are_one_fault_until_they_can() {
    let failed = |name: &str| What::ImagePullFailed { pod: pod(name), node: Some(sym("w-1")), image: sym("reg/app:2") };
    let mut bench = Bench::new();
    bench.see(100.0, failed("db-0")).see(130.0, failed("db-0"));
    bench.see(190.0, What::ContainerStarted { pod: pod("db-0"), container: sym("c") });
    let fault = only(&mut bench);
    assert_eq!((fault.kind, fault.end.map(seconds)), ("ImagePullFailure", Some((130.0, 191.0))));
}

#[test]
fn a_pod_that_is_gone_at_once_was_killed() {
    let deletion = What::PodDeletion { pod: pod("db-0"), by: DeletedBy::Unknown, node: None };
    let gone = What::PodGone { pod: pod("db-0") };
    let kinds = |gone_at: f64| {
        let mut bench = Bench::of(RecordKind::Audit);
        bench.see_at(10.0, deletion.clone()).see_at(gone_at, gone.clone());
        faults(&mut bench).iter().map(|fault| fault.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(10.01), ["PodKill"]);
    assert!(kinds(11.2).is_empty());
}

#[test]
fn nodes_that_are_missed_together_and_answer_at_once_had_no_api_server() {
    let mut bench = Bench::new();
    bench.see(20.0, What::PodCreated { pod: pod("web-1-x"), owner: None });
    for (node, missed) in [(0, 100.0), (1, 104.0), (2, 100.0), (3, 109.0)] {
        let name = format!("w-{node}");
        bench.see(missed, lost(&name)).see(missed + 6.0, ready(&name, True, Reporter::Unknown));
    }
    let fault = only(&mut bench);
    assert_eq!((fault.kind, fault.confidence), ("ControlPlaneOutage", Confidence::Guess));
    assert_eq!((seconds(fault.begin), fault.end.map(seconds)), ((20.0, 61.9), Some((20.0, 101.0))));
    // A single one has been cut off for a while.
    let single = only(Bench::new().see(100.0, lost("w-1")).see(106.0, ready("w-1", True, Reporter::Unknown)));
    assert_eq!(single.kind, "Partition");
}
