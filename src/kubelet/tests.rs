//! Kubelets and chaos together with an API server, without any controller.

#[cfg(test)]
pub(super) mod bench;
#[cfg(test)]
mod critical;
#[cfg(test)]
mod deletions;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod force;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod init;
#[cfg(test)]
mod mirrors;
#[cfg(test)]
mod pressure;
#[cfg(test)]
mod probes;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod pulls;
#[cfg(test)]
mod replacement;
mod runs;
#[cfg(test)]
mod stand_ins;

use bench::Bench;

use crate::chaos::{FaultKind, FaultSpec, SlowHeartbeats};
use crate::engine::Distribution;
use crate::state::{NodeConditionKind, PodPhase, Status};
use crate::units::{SimDuration, SimTime};

fn crash(bench: &mut Bench, at_s: u64, for_s: u64) {
    bench.fault(at_s, FaultKind::Crash, Some(for_s));
}

/// A pod on node `n`, with more lines of its spec and annotations.
fn bound(annotations: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: default, annotations: {{{annotations}}}}}, \
         spec: {{nodeName: n, {spec}}}}}"
    )
}

const ONE: &str = "containers: [{name: c, image: i}]";

/// The pod's containers have stopped at that second; it is gone when it has been cleaned up.
#[track_caller]
fn check_stopped(bench: &Bench, pod: &str, stopped_s: f64) {
    assert_eq!(bench.finished_at(pod), Some(stopped_s));
    let gone_s = bench.gone_at(pod).expect("the pod is gone") - stopped_s;
    assert!((0.1..1.32).contains(&gone_s), "{gone_s} s after its containers");
}

/// A restarted kubelet looks at its pods a little over a second later; the pod's containers run again this long after.
#[track_caller]
fn check_rebooted(bench: &Bench, before: &[(f64, bool)], boot_s: f64, takes_s: f64) {
    let changes = bench.ready_changes("p");
    let (first, after) = changes.split_at(before.len());
    assert_eq!(first, before);
    let [(down_s, false), (up_s, true)] = after else { panic!("{changes:?}") };
    assert!((1.1..1.45).contains(&(down_s - boot_s)), "{changes:?}");
    assert!((up_s - down_s - takes_s).abs() < 1e-6, "{changes:?}");
}

#[test]
fn a_bound_pod_is_ready_after_the_start_latency() {
    let mut bench = Bench::new();
    bench.create(1.0, &bound("", ONE));
    bench.run_until(10.0);
    assert_eq!(bench.ready_changes("p"), [(3.01, true)]);
    assert_eq!(bench.pod("p").phase, PodPhase::Running);
}

#[test]
fn untolerated_no_execute_taints_fail_a_pod_and_no_schedule_taints_do_not() {
    for (effect, expected) in [("NoExecute", PodPhase::Failed), ("NoSchedule", PodPhase::Running)] {
        let mut bench = Bench::new();
        bench.taint("k", effect);
        bench.create(1.0, &bound("", ONE));
        bench.run_until(10.0);
        let pod = bench.pod("p");
        assert_eq!(pod.phase, expected, "{effect}");
        assert_eq!(pod.reason.as_str(), if effect == "NoExecute" { "TaintToleration" } else { "" });
    }
}

#[test]
fn only_the_first_lacking_resource_is_reported() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, resources: {requests: {cpu: '100', memory: 1Ti}}}]";
    bench.create(1.0, &bound("", spec));
    bench.run_until(10.0);
    assert_eq!(bench.pod("p").reason.as_str(), "OutOfcpu");
}

#[test]
fn crash_loops_start_again_after_10_20_40_80_160_300_seconds() {
    let mut bench = Bench::new();
    bench.config_mut().latency.pod_start = Distribution::Constant(SimDuration::ZERO);
    bench.create(0.0, &bound("kubesquall.sim/run-for: 0s, kubesquall.sim/exit-code: '1'", ONE));
    bench.run_until(1000.0);
    let starts = bench.events("Started");
    let waits: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits[0] < 1.1);
    // The sync that finds a back-off over comes after up to half of what was left of it when it was last looked at, which
    // is every minute.
    for (wait, back_off) in waits[1..].iter().zip([10.0_f64, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]) {
        assert!((back_off..=back_off + back_off.min(60.0) / 2.0 + 1.1).contains(wait), "{waits:?}");
    }
    assert!(waits.len() >= 7);
    assert_eq!(bench.pod("p").phase, PodPhase::Running);
}

#[test]
fn each_sync_within_a_crash_loop_tells_of_it_as_long_as_the_recorder_lets_it_pass() {
    let mut long = [0, 0];
    for (index, (version, shortest, longest)) in [("1.34", 10.0, 15.1), ("1.36", 10.0, 90.1)].into_iter().enumerate() {
        let mut bench = Bench::new();
        bench.config_mut().version = version.parse().expect("a version");
        bench.create(0.0, &bound("kubesquall.sim/run-for: 1s, kubesquall.sim/exit-code: '1'", ONE));
        // Six ends, of which five are followed by back-offs of 10 to 160 s.
        bench.run_until(300.0);
        let told = bench.events("BackOff");
        let mut all: Vec<f64> = told.iter().chain(&bench.events("Started")).copied().collect();
        all.sort_by(f64::total_cmp);
        let gaps: Vec<f64> = all.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| *gap <= longest + 2.0), "{version}: {all:?}");
        let between = told.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(between.into_iter().all(|gap| gap >= shortest), "{version}: {told:?}");
        bench.run_until(4000.0);
        long[index] = bench.events("BackOff").len();
    }
    assert!(long[0] > long[1] && long[0] < 45, "{long:?}");
}

#[test]
fn a_new_kubelet_process_tells_of_its_node_whatever_was_said_before() {
    let expected =
        ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID", "NodeAllocatableEnforced"];
    for kind in [FaultKind::KubeletStop, FaultKind::Crash] {
        let mut bench = Bench::new();
        bench.fault(20, kind, Some(6));
        bench.run_until(60.0);
        for reason in expected {
            let times: Vec<f64> = bench.events(reason).into_iter().filter(|at| *at > 15.0).collect();
            assert_eq!(times.first(), Some(&26.0), "{kind:?} {reason}");
        }
    }
}

#[test]
fn a_container_that_a_new_kubelet_starts_backs_off_when_it_ends_again() {
    for kind in [FaultKind::KubeletStop, FaultKind::Crash] {
        let mut bench = Bench::new();
        let annotations = "kubesquall.sim/run-for: 1s, kubesquall.sim/exit-code: '1'";
        bench.create(0.0, &bound(annotations, ONE));
        // It is in its back-off of 20 s.
        bench.fault(24, kind, Some(6));
        bench.run_until(60.0);
        let starts: Vec<f64> = bench.events("Started").into_iter().filter(|at| *at > 30.0).collect();
        let [first, second, ..] = starts[..] else { panic!("{kind:?}: {starts:?}") };
        assert!(first < 35.0, "{kind:?}: {starts:?}");
        let mut distances = starts.windows(2).map(|pair| pair[1] - pair[0]);
        // After a crash the runtime has forgotten the container, so that the next end is the first: a second of running, two of starting.
        if kind == FaultKind::Crash {
            assert!((3.0..4.1).contains(&(second - first)), "{kind:?}: {starts:?}");
            distances.next();
        }
        // One second of running, ten to fifteen of back-off, two of starting.
        assert!(distances.next().is_some_and(|distance| (13.0..18.1).contains(&distance)), "{kind:?}: {starts:?}");
    }
}

#[test]
fn containers_that_end_give_the_phase_of_their_restart_policy() {
    for (policy, code, expected) in [
        ("Always", 1, PodPhase::Running),
        ("Never", 1, PodPhase::Failed),
        ("Never", 0, PodPhase::Succeeded),
        ("OnFailure", 1, PodPhase::Running),
        ("OnFailure", 0, PodPhase::Succeeded),
    ] {
        let mut bench = Bench::new();
        let annotations = format!("kubesquall.sim/run-for: 5s, kubesquall.sim/exit-code: '{code}'");
        bench.create(0.0, &bound(&annotations, &format!("restartPolicy: {policy}, {ONE}")));
        bench.run_until(9.1);
        assert_eq!(bench.pod("p").phase, expected, "{policy} {code}");
    }
}

#[test]
fn init_containers_run_one_after_the_other_and_again_after_a_reboot() {
    let mut bench = Bench::new();
    let spec = format!("initContainers: [{{name: a, image: i}}, {{name: b, image: i}}], {ONE}");
    bench.create(0.0, &bound("kubesquall.sim/init: 10s", &spec));
    crash(&mut bench, 50, 10);
    bench.run_until(120.0);
    // The end of each is seen up to a second later.
    let [(first, true), (down, false), (again, true)] = bench.ready_changes("p")[..] else {
        panic!("{:?}", bench.ready_changes("p"))
    };
    assert!((22.0..24.1).contains(&first) && (61.1..61.5).contains(&down), "{first} {down}");
    assert!((22.0..24.1).contains(&(again - down)), "{down} {again}");
}

#[test]
fn a_crash_does_not_run_init_containers_again() {
    let mut bench = Bench::new();
    let spec = format!("initContainers: [{{name: a, image: i}}], {ONE}");
    bench.create(0.0, &bound("kubesquall.sim/init: 10s, kubesquall.sim/run-for: 20s", &spec));
    bench.run_until(40.0);
    let [first, again] = bench.events("Started")[..] else { panic!("{:?}", bench.events("Started")) };
    assert!((12.0..13.1).contains(&first) && (22.0..23.1).contains(&(again - first)), "{first} {again}");
}

#[test]
fn two_pods_that_need_one_image_wait_for_one_pull() {
    let mut bench = Bench::new();
    bench.config_mut().latency.image_pull = Distribution::Constant(SimDuration::from_secs(10));
    bench.create(0.0, &bound("", ONE));
    bench.create(1.0, &bound("", ONE).replace("name: p", "name: q"));
    bench.create(1.0, &bound("", "containers: [{name: c, image: other}]").replace("name: p", "name: r"));
    bench.run_until(60.0);
    let up = |bench: &Bench, pod: &str| bench.ready_changes(pod)[0].0 as u64;
    assert_eq!(["p", "q", "r"].map(|pod| up(&bench, pod)), [12, 12, 22]);
}

#[test]
fn a_deleted_pod_is_gone_when_its_containers_have_stopped() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.delete(10.0, "p", None);
    bench.run_until(20.0);
    check_stopped(&bench, "p", 11.01);
    assert_eq!(bench.readiness("p"), [(0.01, false), (2.01, true), (11.01, false)]);
}

#[test]
fn a_pod_that_had_to_be_killed_or_was_lost_has_failed_and_one_that_stops_in_time_has_not() {
    for (stop, crashes, expected) in
        [("1s", false, PodPhase::Succeeded), ("1h", false, PodPhase::Failed), ("1s", true, PodPhase::Failed)]
    {
        let mut bench = Bench::new();
        bench.create(0.0, &bound(&format!("kubesquall.sim/stop: {stop}"), ONE));
        if crashes {
            crash(&mut bench, 5, 20);
        }
        bench.delete(10.0, "p", Some(5));
        bench.run_until(60.0);
        assert_eq!(bench.last_phase("p"), Some(expected), "{stop}, {crashes}");
    }
}

#[test]
fn a_pod_that_has_stopped_when_its_machine_goes_down_is_removed_after_the_boot() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.delete(10.0, "p", None);
    crash(&mut bench, 11, 30);
    bench.run_until(40.0);
    assert!(bench.pod_exists("p"));
    bench.run_until(45.0);
    assert!(bench.gone_at("p").is_some_and(|at| (42.1..43.5).contains(&at)), "{:?}", bench.gone_at("p"));
}

#[test]
fn an_application_that_has_its_signal_ends_without_its_kubelet() {
    // It has it when the hook is over; one that would have to be killed is stopped anew.
    for (stop, hook_s, gone_s, kills) in [("20s", 0, 46.1, 1), ("20s", 10, 76.1, 2), ("1000s", 0, 76.1, 2)] {
        let mut bench = Bench::new();
        let spec =
            format!("containers: [{{name: c, image: i, lifecycle: {{preStop: {{sleep: {{seconds: {hook_s}}}}}}}}}]");
        let spec = if hook_s == 0 { ONE.to_owned() } else { spec };
        bench.create(0.0, &bound(&format!("kubesquall.sim/stop: {stop}"), &spec));
        bench.delete(10.0, "p", None);
        bench.fault(15, FaultKind::KubeletStop, Some(30));
        bench.run_until(120.0);
        let at = bench.gone_at("p").expect("it is gone");
        assert!((gone_s..gone_s + 1.7).contains(&at), "{stop} {hook_s}: {at}");
        assert_eq!(bench.events("Killing").len(), kills, "{stop} {hook_s}");
    }
}

#[test]
fn a_short_crash_restarts_the_same_pod_in_place() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    crash(&mut bench, 10, 30);
    bench.run_until(60.0);
    check_rebooted(&bench, &[(2.01, true)], 40.0, 2.0);
    assert_eq!(bench.pod("p").restarts_max(), 1);
    assert_eq!(bench.events("Rebooted").len(), 1);
    assert!(bench.heard());
}

#[test]
fn containers_that_never_restart_have_failed_after_a_crash() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", &format!("restartPolicy: Never, {ONE}")));
    crash(&mut bench, 10, 30);
    bench.run_until(60.0);
    assert_eq!(bench.pod("p").phase, PodPhase::Failed);
}

#[test]
fn a_pod_deleted_behind_a_partition_dies_when_the_link_is_back() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.fault(10, FaultKind::Partition, Some(100));
    bench.delete(50.0, "p", None);
    bench.run_until(109.0);
    assert!(bench.pod_exists("p"));
    bench.run_until(200.0);
    check_stopped(&bench, "p", 111.005);
}

#[test]
fn after_a_partition_overwritten_conditions_wait_for_the_loops_that_compare_them() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.create(0.0, &bound("", ONE).replace("name: p", "name: q"));
    bench.fault(10, FaultKind::Partition, Some(100));
    bench.taken_for_lost(60.0);
    bench.unready(60.0, "p");
    bench.unready(60.0, "q");
    bench.delete(70.0, "q", None);
    bench.run_until(110.1);
    // A pod with something to do is posted at once, and so is nothing else.
    assert_eq!(bench.ready_changes("q").last(), Some(&(110.005, true)));
    assert_eq!((bench.node_ready(), bench.pod("p").is_ready()), (Some(Status::Unknown), false));
    bench.run_until(120.1);
    check_stopped(&bench, "q", 111.005);
    assert_eq!((bench.node_ready(), bench.pod("p").is_ready()), (Some(Status::True), true));
}

#[test]
fn a_pod_that_was_not_ready_before_a_partition_is_not_ready_after_it() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, readinessProbe: {httpGet: {port: 80}}}]";
    bench.create(0.0, &bound("kubesquall.sim/ready: 1h", spec));
    bench.fault(10, FaultKind::Partition, Some(100));
    bench.run_until(200.0);
    assert!(!bench.pod("p").is_ready());
}

#[test]
fn a_kubelet_registers_before_it_is_ready() {
    let mut bench = Bench::new();
    bench.delete_node(10.0);
    bench.fault(20, FaultKind::KubeletStop, Some(10));
    bench.run_until(30.1);
    assert_eq!(bench.node_ready(), Some(Status::False));
    assert_eq!(bench.taints(), ["node.kubernetes.io/not-ready:NoSchedule"]);
    bench.run_until(30.5);
    assert_eq!(bench.node_ready(), Some(Status::True));
}

#[test]
fn a_stopped_kubelet_starts_nothing_and_kills_nothing() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.fault(10, FaultKind::KubeletStop, Some(100));
    bench.delete(50.0, "p", None);
    bench.run_until(109.0);
    assert!(bench.pod_exists("p") && bench.pod("p").is_ready() && !bench.heard());
    bench.run_until(120.0);
    assert!(!bench.pod_exists("p") && bench.heard());
}

#[test]
fn a_kubelet_restart_leaves_ready_pods_ready() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, readinessProbe: {httpGet: {port: 80}, periodSeconds: 30}}]";
    bench.create(0.0, &bound("", spec));
    bench.fault(10, FaultKind::KubeletStop, Some(5));
    bench.run_until(100.0);
    assert!(!bench.ready_changes("p").iter().any(|(at, _)| *at > 10.0));
}

#[test]
fn before_1_35_a_kubelet_restart_unreadies_probed_pods_for_up_to_a_period() {
    let mut bench = Bench::new();
    bench.config_mut().version = "1.34".parse().expect("a version");
    let spec = "containers: [{name: c, image: i, readinessProbe: {httpGet: {port: 80}, periodSeconds: 30}}]";
    bench.create(0.0, &bound("", spec));
    bench.fault(10, FaultKind::KubeletStop, Some(5));
    bench.run_until(100.0);
    let after: Vec<(f64, bool)> = bench.ready_changes("p").into_iter().filter(|(at, _)| *at > 10.0).collect();
    assert_eq!(after.iter().map(|(_, ready)| *ready).collect::<Vec<_>>(), [false, true]);
    assert!(after[1].0 - after[0].0 <= 30.0);
}

#[test]
fn a_deleted_node_comes_back_only_with_a_new_kubelet_process() {
    let mut bench = Bench::new();
    bench.delete_node(10.0);
    bench.fault(20, FaultKind::Partition, Some(10));
    bench.fault(100, FaultKind::KubeletStop, Some(10));
    bench.run_until(99.0);
    assert!(!bench.node_exists());
    bench.run_until(120.0);
    assert!(bench.node_exists());
    assert_eq!(bench.node_ready(), Some(Status::True));
}

#[test]
fn a_graceful_shutdown_fails_its_pods_and_keeps_them() {
    let mut bench = Bench::new();
    bench.shutdown_grace(30, 10);
    bench.create(0.0, &bound("", ONE));
    bench.fault(10, FaultKind::GracefulShutdown, Some(100));
    bench.run_until(20.0);
    let pod = bench.pod("p");
    assert_eq!((pod.phase, pod.reason.as_str(), pod.deletion), (PodPhase::Failed, "Terminated", None));
    assert!(!bench.is_on() && bench.node_ready() == Some(Status::False));
    bench.run_until(120.0);
    assert!(bench.is_on() && bench.node_ready() == Some(Status::True));
}

#[test]
fn a_shutdown_whose_fault_is_over_early_ends_in_a_boot() {
    let mut bench = Bench::new();
    bench.shutdown_grace(30, 10);
    bench.create(0.0, &bound("kubesquall.sim/stop: 1000s", ONE));
    bench.fault(10, FaultKind::GracefulShutdown, Some(5));
    bench.run_until(29.0);
    assert!(bench.is_on());
    bench.run_until(31.0);
    assert!(bench.is_on() && bench.boots() == 1);
}

#[test]
fn overlapping_crashes_end_with_the_last_of_them() {
    let mut bench = Bench::new();
    crash(&mut bench, 10, 30);
    crash(&mut bench, 20, 60);
    bench.fault(50, FaultKind::Reboot, None);
    bench.run_until(79.0);
    assert!(!bench.is_on());
    bench.run_until(81.0);
    assert!(bench.is_on() && bench.boots() == 1);
}

#[test]
fn a_kubelet_that_is_stopped_does_not_start_with_the_machine() {
    let mut bench = Bench::new();
    bench.fault(5, FaultKind::KubeletStop, Some(95));
    crash(&mut bench, 10, 30);
    bench.run_until(99.0);
    assert!(bench.is_on() && !bench.heard());
    bench.run_until(101.0);
    assert!(bench.heard());
}

#[test]
fn a_machine_that_boots_behind_a_partition_reports_when_the_link_is_back() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.fault(5, FaultKind::Partition, Some(95));
    crash(&mut bench, 10, 30);
    bench.run_until(99.0);
    assert!(bench.pod("p").is_ready());
    bench.run_until(110.0);
    assert_eq!(bench.pod("p").restarts_max(), 1);
    assert!(bench.heard() && bench.pod("p").is_ready());
}

#[test]
fn what_cuts_a_machine_off_while_it_boots_does_not_end_the_boot() {
    // Power is on at 40 and the kubelet runs at 130, unless it is held, or cannot be heard.
    for kind in [FaultKind::Partition, FaultKind::KubeletStop] {
        for (begin_s, length_s, heard_s) in [(50, 20, 130), (120, 10, 130), (100, 60, 160), (40, 90, 130)] {
            let mut bench = Bench::new();
            bench.boots_for(90);
            bench.create(0.0, &bound("", ONE));
            crash(&mut bench, 10, 30);
            bench.fault(begin_s, kind, Some(length_s));
            bench.run_until(heard_s as f64 - 1.0);
            assert!(!bench.heard(), "{kind:?} at {begin_s}");
            bench.run_until(heard_s as f64 + 20.0);
            assert!(bench.is_on() && bench.heard() && bench.boots() == 1, "{kind:?} at {begin_s}");
            assert!(bench.node_ready() == Some(Status::True) && bench.pod("p").is_ready(), "{kind:?} at {begin_s}");
        }
    }
}

#[test]
fn an_api_server_outage_silences_every_kubelet_and_loses_no_status() {
    let mut bench = Bench::new();
    bench.create(9.0, &bound("", ONE));
    bench.fault(10, FaultKind::ControlPlaneOutage, Some(60));
    bench.run_until(69.0);
    assert!(!bench.heard() && bench.pod("p").phase == PodPhase::Pending);
    bench.run_until(80.0);
    assert!(bench.heard() && bench.pod("p").is_ready());
}

#[test]
fn what_changes_once_the_api_server_is_back_comes_by_watches_that_back_off() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.create(0.0, &bound("", ONE).replace("name: p", "name: early"));
    bench.delete(9.999, "early", Some(5));
    bench.fault(10, FaultKind::ControlPlaneOutage, Some(60));
    // The lease is renewed within seven seconds; the watches' last pause began while nobody answered, and one more follows.
    bench.taken_for_lost(71.0);
    bench.delete(71.0, "p", Some(5));
    bench.run_until(79.0);
    assert!(bench.heard() && bench.node_ready() == Some(Status::Unknown));
    bench.run_until(200.0);
    assert_eq!(bench.node_ready(), Some(Status::True));
    let (early, late) = (bench.gone_at("early").expect("gone"), bench.gone_at("p").expect("gone"));
    assert!((70.0..80.1).contains(&early), "{early}");
    assert!((80.0..160.0).contains(&late), "{late}");
}

#[test]
fn slow_heartbeats_are_silent_for_interval_and_delay() {
    let mut bench = Bench::new();
    let delay = Distribution::Constant(SimDuration::from_secs(60));
    let fault = FaultSpec { length: Some(SimDuration::from_secs(300)), ..FaultSpec::new(SlowHeartbeats { delay }) };
    bench.fault_spec(10, fault);
    bench.run_until(600.0);
    let gaps: Vec<u64> = bench.renewals().windows(2).map(|pair| (pair[1] - pair[0]).round() as u64).collect();
    assert_eq!(gaps, [70, 70, 70, 70]);
    assert!(bench.heard());
}

#[test]
fn an_overwritten_readiness_is_put_right_within_ten_seconds() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.unready(20.0, "p");
    bench.run_until(60.0);
    let changes = bench.ready_changes("p");
    assert_eq!(changes.len(), 3, "{changes:?}");
    assert!(changes[2].1 && changes[2].0 - changes[1].0 <= 10.1);
}

#[test]
fn under_memory_pressure_the_pod_over_its_request_goes() {
    let mut bench = Bench::new();
    let request = "containers: [{name: c, image: i, resources: {requests: {memory: 100Mi}}}]";
    bench.create(0.0, &bound("kubesquall.sim/usage: '{memory: 900Mi}'", request));
    bench.create(0.0, &bound("kubesquall.sim/usage: '{memory: 90Mi}'", request).replace("name: p", "name: within"));
    bench.fault(10, FaultKind::MemoryPressure, Some(100));
    bench.run_until(50.0);
    assert_eq!((bench.pod("p").phase, bench.pod("p").reason.as_str()), (PodPhase::Failed, "Evicted"));
    assert_eq!(bench.pod("within").phase, PodPhase::Running);
}

#[test]
fn a_pod_that_stops_at_once_is_evicted_for_pressure_once() {
    let mut bench = Bench::new();
    bench.config_mut().latency.pod_stop = Distribution::Constant(SimDuration::ZERO);
    let request = "containers: [{name: c, image: i, resources: {requests: {memory: 100Mi}}}]";
    bench.create(0.0, &bound("kubesquall.sim/usage: '{memory: 900Mi}', kubesquall.sim/stop: 0s", request));
    bench.fault(10, FaultKind::MemoryPressure, Some(100));
    bench.run_until(200.0);
    assert_eq!(bench.pod("p").reason.as_str(), "Evicted");
    assert_eq!(bench.events("Evicted").len(), 1);
}

#[test]
fn an_unchanged_status_is_reported_five_minutes_after_it_was_posted_give_or_take_half() {
    let mut bench = Bench::new();
    // Something changes at 20 s; from then on nothing does.
    bench.fault(20, FaultKind::DiskPressure, Some(10));
    bench.run_until(1900.0);
    let reports: Vec<f64> = bench.reports().into_iter().filter(|at| *at > 29.0).collect();
    let pauses: Vec<f64> = reports.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.len() >= 4, "{reports:?}");
    assert!((150.0..470.0).contains(&pauses[0]), "{reports:?}");
    assert!(pauses[1..].iter().all(|pause| (300.0..325.0).contains(pause)), "{reports:?}");
}

#[test]
fn a_condition_that_changes_is_posted_at_the_next_look_and_moves_no_other() {
    let mut bench = Bench::new();
    // The first post brings all conditions.
    bench.fault(20, FaultKind::MemoryPressure, Some(10));
    bench.fault(600, FaultKind::DiskPressure, Some(600));
    bench.run_until(599.0);
    let kinds = [NodeConditionKind::Ready, NodeConditionKind::MemoryPressure, NodeConditionKind::PidPressure];
    let before = kinds.map(|kind| bench.since(kind));
    assert!(!bench.condition(NodeConditionKind::DiskPressure));
    bench.run_until(621.0);
    assert!(bench.condition(NodeConditionKind::DiskPressure));
    assert_eq!(kinds.map(|kind| bench.since(kind)), before);
    let last = bench.reports().last().copied();
    assert!(last.is_some_and(|at| (600.0..621.0).contains(&at)), "{last:?}");
}

#[test]
fn a_kubelet_that_registers_brings_its_taints_and_one_that_returns_leaves_those_there_are() {
    let mut bench = Bench::new();
    bench.config_mut().kubelet.register_with_taints =
        vec![serde_saphyr::from_str("{key: dedicated, effect: NoSchedule}").expect("a taint")];
    bench.taint("by-hand", "NoSchedule");
    bench.fault(10, FaultKind::Crash, Some(30));
    bench.delete_node(210.0);
    bench.fault(220, FaultKind::KubeletStop, Some(10));
    bench.run_until(200.0);
    assert_eq!(bench.taints(), ["by-hand:NoSchedule"], "a Node that exists keeps its taints");
    bench.run_until(300.0);
    assert_eq!(bench.taints(), ["dedicated:NoSchedule", "node.kubernetes.io/not-ready:NoSchedule"]);
}

#[test]
fn a_port_of_the_node_is_taken_once() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 80}]}]";
    bench.create(0.0, &bound("", spec));
    bench.create(0.0, &bound("", spec).replace("name: p", "name: q"));
    bench.run_until(10.0);
    assert!(bench.pod("p").is_ready());
    assert_eq!((bench.pod("q").phase, bench.pod("q").reason.as_str()), (PodPhase::Failed, "NodePorts"));
    let text = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
    assert_eq!(bench.messages("NodePorts"), [("q", text)]);
}

#[test]
fn extended_resources_that_the_node_names_are_counted_and_others_are_not() {
    let mut bench = Bench::new();
    bench.extended("nvidia.com/gpu", 1);
    let gpus = |name: &str, resource: &str, count: u32| {
        let spec = format!("containers: [{{name: c, image: i, resources: {{limits: {{{resource}: {count}}}}}}}]");
        bound("", &spec).replace("name: p", &format!("name: {name}"))
    };
    bench.create(0.0, &gpus("two", "nvidia.com/gpu", 2));
    bench.create(1.0, &gpus("one", "nvidia.com/gpu", 1));
    bench.create(2.0, &gpus("other", "example.com/thing", 2));
    bench.run_until(10.0);
    assert_eq!((bench.pod("two").phase, bench.pod("two").reason.as_str()), (PodPhase::Failed, "OutOfnvidia.com/gpu"));
    let text = "Node didn't have enough resource: nvidia.com/gpu, requested: 2, used: 0, capacity: 1";
    assert_eq!(bench.messages("OutOfnvidia.com/gpu"), [("two", text)]);
    assert!(bench.pod("one").is_ready() && bench.pod("other").is_ready());
}

#[test]
fn a_pod_that_has_been_active_too_long_has_failed() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", &format!("activeDeadlineSeconds: 20, {ONE}")));
    bench.run_until(60.0);
    let pod = bench.pod("p");
    assert_eq!((pod.phase, pod.reason.as_str(), pod.deletion), (PodPhase::Failed, "DeadlineExceeded", None));
    assert!(bench.finished_at("p").is_some_and(|at| (21.0..22.1).contains(&at)), "{:?}", bench.finished_at("p"));
    assert_eq!(bench.events("DeadlineExceeded").len(), 1);
}

#[test]
fn a_deadline_that_passes_while_the_kubelet_is_down_counts_when_it_is_back() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", &format!("activeDeadlineSeconds: 20, {ONE}")));
    bench.fault(10, FaultKind::KubeletStop, Some(30));
    bench.run_until(60.0);
    assert!(bench.finished_at("p").is_some_and(|at| (42.0..43.6).contains(&at)), "{:?}", bench.finished_at("p"));
}

#[test]
fn a_readiness_gate_holds_a_pod_back_until_its_condition_is_said_to_be_true_and_stays_met() {
    let mut bench = Bench::new();
    let spec = format!("readinessGates: [{{conditionType: lb.example.com/registered}}], {ONE}");
    bench.create(0.0, &bound("kubesquall.sim/gate-registered: 30s", &spec));
    bench.create(0.0, &bound("kubesquall.sim/gate-registered: never", &spec).replace("name: p", "name: q"));
    bench.create(0.0, &bound("", &spec).replace("name: p", "name: r"));
    crash(&mut bench, 60, 20);
    bench.run_until(50.0);
    assert_eq!(bench.ready_changes("p"), [(32.01, true)]);
    assert!(bench.ready_changes("q").is_empty() && bench.pod("q").containers[0].ready);
    assert_eq!(bench.ready_changes("r"), [(2.01, true)]);
    bench.run_until(100.0);
    check_rebooted(&bench, &[(32.01, true)], 80.0, 2.0);
}

#[test]
fn a_container_that_uses_more_memory_than_its_limit_is_killed_and_restarted() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, resources: {limits: {memory: 1Gi}}}]";
    bench.create(0.0, &bound("kubesquall.sim/usage: '{memory: 512Mi}'", spec));
    bench.run_until(10.0);
    assert!(bench.pod("p").is_ready());
    bench.annotate("p", "kubesquall.sim/usage", "{memory: 2Gi}");
    bench.run_until(60.0);
    assert!(bench.pod("p").restarts_max() >= 2 && !bench.pod("p").is_ready());
    assert!(!bench.events("BackOff").is_empty());
    let last = bench.pod("p").containers[0].last.expect("it was killed before");
    assert_eq!((last.exit_code, last.reason), (137, crate::state::EndReason::OomKilled));
}

#[test]
fn added_machines_go_on_with_the_pools_numbers_and_zones() {
    let mut bench = Bench::new();
    bench.add_nodes(10, "n", 2);
    bench.run_until(30.0);
    let zones: Vec<(String, String)> = bench.nodes_and_zones();
    let expected = [("n-0", "a"), ("n-1", "b")].map(|(n, z)| (n.to_owned(), z.to_owned()));
    assert_eq!(zones[1..], expected);
}

#[test]
fn a_quiet_node_costs_no_events() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.run_until(20.0);
    assert_eq!(bench.pending(), 0);
}

#[test]
fn a_fault_that_matches_nothing_is_a_warning() {
    let mut bench = Bench::new();
    let mut fault = FaultSpec::new(FaultKind::Crash);
    fault.nodes.names = vec!["other".to_owned()];
    bench.fault_spec(10, fault);
    bench.run_until(20.0);
    assert!(bench.is_on());
    assert_eq!(bench.events("NothingToFail"), [10.0]);
}

#[test]
fn a_node_taken_for_lost_reports_again_within_ten_seconds() {
    let mut bench = Bench::new();
    bench.taken_for_lost(20.0);
    bench.run_until(20.004);
    assert_eq!(bench.node_ready(), Some(Status::Unknown));
    bench.run_until(30.1);
    assert_eq!(bench.node_ready(), Some(Status::True));
}

#[test]
fn a_graceful_shutdown_leaves_pods_that_have_ended_as_they_are() {
    let mut bench = Bench::new();
    bench.shutdown_grace(30, 10);
    bench.create(0.0, &bound("kubesquall.sim/run-for: 3s", &format!("restartPolicy: Never, {ONE}")));
    bench.fault(10, FaultKind::GracefulShutdown, Some(100));
    bench.run_until(20.0);
    let pod = bench.pod("p");
    assert_eq!((pod.phase, pod.reason.as_str()), (PodPhase::Succeeded, ""));
}

#[test]
fn pods_start_again_on_a_node_that_boots_without_its_object() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.fault(10, FaultKind::Crash, Some(30));
    bench.delete_node(20.0);
    bench.run_until(39.0);
    assert!(!bench.node_exists());
    bench.run_until(300.0);
    let pod = bench.pod("p");
    assert!(bench.node_exists() && pod.is_ready());
    assert_eq!(pod.restarts_max(), 1);
}

#[test]
fn a_kubelet_that_starts_while_nobody_answers_takes_over_its_pods_later() {
    let mut bench = Bench::new();
    bench.create(9.9, &bound("kubesquall.sim/start: 5s", ONE));
    bench.fault(11, FaultKind::KubeletStop, Some(20));
    bench.fault(20, FaultKind::ControlPlaneOutage, Some(40));
    bench.run_until(150.0);
    assert!(bench.pod("p").is_ready());
}

#[test]
fn a_container_that_ends_before_its_start_has_arrived_keeps_its_count_of_restarts() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/run-for: 1ms", ONE));
    let mut restarts = 0;
    for second in 1..120 {
        bench.run_until(f64::from(second));
        assert!(bench.pod("p").restarts_max() >= restarts);
        restarts = bench.pod("p").restarts_max();
    }
    assert!(restarts >= 3);
}
