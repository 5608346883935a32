//! What the end of a kubelet's process leaves behind, and what the next one makes of it.

use super::bench::Bench;
use super::{ONE, bound};
use crate::chaos::{FaultKind, FaultSpec, SlowNetwork};
use crate::engine::Distribution;
use crate::state::{MachineChange, NodeConditionKind, PodPhase};
use crate::units::SimDuration;

const NEVER: &str = "restartPolicy: Never, containers: [{name: c, image: i}]";

/// Whether there is such an event within a second of each of these, and no other.
#[track_caller]
fn check_events(bench: &Bench, reason: &str, expected_s: &[f64]) {
    let events = bench.events(reason);
    let is_near = |(at, expected): (&f64, &f64)| (0.0..1.0).contains(&(at - expected));
    let are_near = events.len() == expected_s.len() && events.iter().zip(expected_s).all(is_near);
    assert!(are_near, "{reason}: {events:?}, expected about {expected_s:?}");
}

/// A partition, and within it a restart of the kubelet.
fn restarts_cut_off(bench: &mut Bench, from_s: u64, until_s: u64) {
    bench.fault(from_s, FaultKind::Partition, Some(until_s - from_s));
    bench.fault(from_s + 15, FaultKind::KubeletStop, Some(5));
}

#[test]
fn an_end_that_could_not_be_posted_is_posted_by_the_next_process() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/run-for: 30s", NEVER));
    restarts_cut_off(&mut bench, 20, 60);
    bench.run_until(59.0);
    assert_eq!(bench.pod("p").phase, PodPhase::Running);
    bench.run_until(70.0);
    assert_eq!(bench.pod("p").phase, PodPhase::Succeeded);
    assert_eq!(bench.events("Started").len(), 1);
}

#[test]
fn a_restart_that_could_not_be_posted_is_posted_by_the_next_process() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/run-for: 20s, kubesquall.sim/exit-code: '1'", ONE));
    bench.fault(20, FaultKind::Partition, Some(19));
    bench.fault(30, FaultKind::KubeletStop, Some(5));
    bench.run_until(42.0);
    assert_eq!((bench.pod("p").restarts_max(), bench.pod("p").is_ready()), (1, true));
}

#[test]
fn a_pod_that_has_ended_unheard_is_stopped_no_more() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/run-for: 30s, kubesquall.sim/stop: 9s", NEVER));
    bench.fault(20, FaultKind::Partition, Some(80));
    bench.delete(50.0, "p", None);
    bench.run_until(120.0);
    assert!(bench.events("Killing").is_empty());
    assert_eq!(bench.last_phase("p"), Some(PodPhase::Succeeded));
    assert!(bench.gone_at("p").is_some_and(|at| (100.0..101.5).contains(&at)), "{:?}", bench.gone_at("p"));
}

#[test]
fn a_pod_that_has_ended_unheard_is_not_evicted() {
    let mut bench = Bench::new();
    let annotations = "kubesquall.sim/run-for: 30s, kubesquall.sim/usage: '{memory: 6Gi}'";
    bench.create(0.0, &bound(annotations, NEVER));
    bench.fault(20, FaultKind::Partition, Some(80));
    bench.fault(40, FaultKind::MemoryPressure, Some(30));
    bench.run_until(120.0);
    assert_eq!((bench.pod("p").phase, bench.pod("p").reason.as_str()), (PodPhase::Succeeded, ""));
}

#[test]
fn a_pod_that_ended_unseen_is_stopped_no_more() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/run-for: 30s, kubesquall.sim/stop: 9s", NEVER));
    bench.fault(20, FaultKind::KubeletStop, Some(40));
    bench.delete(50.0, "p", None);
    bench.run_until(100.0);
    assert!(bench.events("Killing").is_empty());
    assert!(bench.gone_at("p").is_some_and(|at| (61.0..63.5).contains(&at)), "{:?}", bench.gone_at("p"));
}

#[test]
fn a_sidecar_that_has_stopped_unseen_is_told_once() {
    let mut bench = Bench::new();
    let spec = format!("initContainers: [{{name: s, image: i, restartPolicy: Always}}], {NEVER}");
    bench.create(0.0, &bound("kubesquall.sim/run-for: 20s, kubesquall.sim/stop: 10s", &spec));
    // Told at 22 s, it has stopped at 32 s.
    bench.fault(25, FaultKind::KubeletStop, Some(30));
    bench.run_until(80.0);
    check_events(&bench, "Killing", &[22.0]);
    assert_eq!(bench.pod("p").phase, PodPhase::Succeeded);
    assert!(bench.finished_at("p").is_some_and(|at| at < 57.0));
}

#[test]
fn init_containers_run_on_without_their_kubelet_and_are_not_run_again() {
    let spec = format!("initContainers: [{{name: a, image: i}}, {{name: b, image: i}}], {ONE}");
    // The first ends at 20 s, the second at 40 s; what nobody is there to start begins when somebody is.
    for (stop_s, for_s, ready_s) in [(5, 5, 42.0), (15, 10, 48.0), (30, 5, 42.0), (30, 20, 53.0), (41, 4, 48.0)] {
        for (boots, from_s) in [(false, 0), (true, 102)] {
            let mut bench = Bench::new();
            bench.create(0.0, &bound("kubesquall.sim/init: 20s", &spec));
            if boots {
                super::crash(&mut bench, 90, 11);
            }
            bench.fault(from_s + stop_s, FaultKind::KubeletStop, Some(for_s));
            bench.run_until(200.0);
            let starts: Vec<f64> = bench.events("Started").into_iter().filter(|at| *at > from_s as f64).collect();
            let [at] = starts[..] else { panic!("{starts:?}") };
            let after = at - from_s as f64;
            assert!((ready_s..ready_s + 3.6).contains(&after), "stopped at {stop_s} for {for_s}, {boots}: {after}");
            let inits = &bench.pod("p").init_containers;
            assert!(inits.iter().all(|init| init.state.ending().is_some()), "{inits:?}");
            assert!(bench.pod("p").is_ready());
        }
    }
}

#[test]
fn an_init_container_that_fails_unseen_is_restarted_by_the_next_process() {
    let mut bench = Bench::new();
    let spec = format!("initContainers: [{{name: a, image: i}}], {ONE}");
    bench.create(0.0, &bound("kubesquall.sim/init: 20s, kubesquall.sim/init-exit-code: '3'", &spec));
    bench.fault(15, FaultKind::KubeletStop, Some(15));
    // It fails at 22 s.
    bench.run_until(33.0);
    let status = bench.pod("p").init_containers[0];
    assert!(status.restarts == 1 && status.state.running_since().is_some(), "{status:?}");
    bench.run_until(53.0);
    let ending = bench.pod("p").init_containers[0].state.ending();
    assert_eq!(ending.map(|ending| ending.exit_code), Some(3));
}

#[test]
fn containers_behind_a_hook_go_on_without_a_second_start() {
    let mut bench = Bench::new();
    let hook = "lifecycle: {postStart: {sleep: {seconds: 30}}}";
    bench.create(0.0, &bound("", &format!("containers: [{{name: c, image: i, {hook}}}, {{name: d, image: i}}]")));
    bench.fault(15, FaultKind::KubeletStop, Some(3));
    bench.run_until(60.0);
    check_events(&bench, "Started", &[2.0, 19.0]);
    assert_eq!((bench.pod("p").restarts_max(), bench.pod("p").is_ready()), (0, true));
}

#[test]
fn a_kill_under_way_takes_effect_without_its_kubelet() {
    let mut bench = Bench::new();
    let annotations = "kubesquall.sim/healthy-for: 20s, kubesquall.sim/stop: 8s";
    let probe = "livenessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 1}";
    bench.create(0.0, &bound(annotations, &format!("containers: [{{name: c, image: i, {probe}}}]")));
    // Told at 24 s.
    bench.fault(25, FaultKind::KubeletStop, Some(30));
    bench.run_until(56.0);
    check_events(&bench, "Killing", &[24.0]);
    bench.run_until(60.0);
    let status = bench.pod("p").containers[0];
    let ended = status.last.expect("it ran before");
    assert_eq!((status.restarts, ended.exit_code), (1, 0));
    assert_eq!(ended.finished_at.as_nanos() / 1_000_000_000, 32);
}

#[test]
fn what_an_eviction_has_told_to_end_does_so_with_its_own_code() {
    let mut bench = Bench::new();
    bench.configure(
        r#"{"evictionSoft": {"memory.available": "14Gi"}, "evictionSoftGracePeriod": {"memory.available": "1s"},
            "evictionMaxPodGracePeriod": 60}"#,
    );
    bench.create(0.0, &bound("kubesquall.sim/usage: '{memory: 6Gi}', kubesquall.sim/stop: 30s", ONE));
    bench.fault(30, FaultKind::KubeletStop, Some(60));
    bench.run_until(29.0);
    let told = *bench.events("Evicted").first().expect("an eviction");
    bench.run_until(94.0);
    // Nobody knows of the eviction any more, but the container has ended.
    let last = bench.pod("p").containers[0].last.map(|end| (end.exit_code, end.finished_at.as_nanos() / 1_000_000_000));
    assert_eq!((bench.pod("p").phase, last), (PodPhase::Running, Some((0, told as i64 + 30))));
}

#[test]
fn a_process_that_started_cut_off_knows_no_pods() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/run-for: 50s, kubesquall.sim/exit-code: '1'", ONE));
    restarts_cut_off(&mut bench, 20, 200);
    bench.run_until(210.0);
    check_events(&bench, "Started", &[2.0, 203.0]);
    assert_eq!(bench.pod("p").restarts_max(), 1);
}

#[test]
fn the_start_of_a_process_is_told_once_whoever_was_cut_off_when() {
    for cut_s in [30, 31] {
        let mut bench = Bench::new();
        bench.boots_for(10);
        bench.create(0.0, &bound("", ONE));
        bench.fault(20, FaultKind::Reboot, None);
        bench.fault(cut_s, FaultKind::Partition, Some(60));
        bench.run_until(120.0);
        let told = if cut_s == 31 { 30.0 } else { 90.0 };
        check_events(&bench, "Rebooted", &[told]);
        check_events(&bench, "Starting", &[told]);
        assert_eq!((bench.pod("p").restarts_max(), bench.pod("p").is_ready()), (1, true), "{cut_s}");
    }
    let mut bench = Bench::new();
    restarts_cut_off(&mut bench, 20, 60);
    bench.run_until(100.0);
    check_events(&bench, "Starting", &[60.0]);
}

#[test]
fn a_shutdown_that_nobody_holds_up_goes_on() {
    let mut bench = Bench::new();
    bench.shutdown_grace(60, 10);
    bench.create(
        0.0,
        &bound("kubesquall.sim/stop: 40s", "terminationGracePeriodSeconds: 100, containers: [{name: c, image: i}]"),
    );
    bench.fault(20, FaultKind::GracefulShutdown, Some(100));
    bench.fault(30, FaultKind::KubeletStop, Some(60));
    bench.run_until(31.0);
    assert!(!bench.is_on());
    bench.run_until(150.0);
    assert!(bench.pod("p").is_ready() && bench.is_on());
}

#[test]
fn a_shutdown_of_before_a_crash_does_not_end_the_next() {
    let mut bench = Bench::new();
    bench.shutdown_grace(60, 10);
    bench.create(0.0, &bound("kubesquall.sim/stop: 40s", ONE));
    bench.fault(20, FaultKind::GracefulShutdown, Some(5));
    super::crash(&mut bench, 21, 7);
    bench.fault(35, FaultKind::GracefulShutdown, Some(60));
    bench.run_until(62.0);
    assert!(bench.is_on());
    bench.run_until(80.0);
    assert_eq!((bench.pod("p").phase, bench.is_on()), (PodPhase::Failed, false));
    assert!(!bench.condition(NodeConditionKind::Ready));
}

#[test]
fn labels_that_somebody_put_on_a_node_go_with_its_object() {
    let mut bench = Bench::new();
    let key = crate::arena::Symbol::new("mine");
    bench.at(5.0, move |lab| {
        let node = lab.node_id("n");
        let labels = lab.store().node(node).map(|node| node.labels.with(key, "yes".into())).expect("a node");
        lab.ask(crate::component::Request::SetNodeLabels { node, labels }).expect("labels");
    });
    bench.delete_node(10.0);
    bench.fault(20, FaultKind::KubeletStop, Some(5));
    bench.run_until(40.0);
    let node = bench.store().node(bench.node_id("n")).expect("a node");
    assert!(node.labels.get(key).is_none() && node.labels.get("topology.kubernetes.io/zone".into()).is_some());
}

#[test]
fn with_what_could_not_be_posted_all_else_is_put_right_at_once() {
    for (annotations, delay_s) in [("kubesquall.sim/run-for: 30s", 0.0..0.1), ("", 0.0..10.1)] {
        let mut bench = Bench::new();
        bench.create(0.0, &bound(annotations, NEVER));
        bench.create(0.0, &bound("", ONE).replace("name: p,", "name: q,"));
        bench.fault(20, FaultKind::Partition, Some(40));
        bench.unready(50.0, "q");
        bench.run_until(80.0);
        let [.., (at, true)] = bench.ready_changes("q")[..] else { panic!("{:?}", bench.ready_changes("q")) };
        let news = if annotations.is_empty() { 60.0 } else { bench.finished_at("p").expect("it has finished") };
        assert!(delay_s.contains(&(at - news)), "{annotations}: {at}, {news}");
    }
}

#[test]
fn a_new_process_takes_the_containers_of_a_rejected_pod_for_lost() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, resources: {requests: {cpu: '100'}}}]";
    bench.create(1.0, &bound("", spec));
    bench.fault(20, FaultKind::KubeletStop, Some(5));
    bench.run_until(19.0);
    assert!(bench.pod("p").containers.is_empty());
    bench.run_until(30.0);
    let pod = bench.pod("p");
    assert_eq!((pod.phase, pod.reason.as_str()), (PodPhase::Failed, "OutOfcpu"));
    let ending = pod.containers[0].state.ending().expect("an end");
    assert_eq!((ending.exit_code, ending.reason.as_str()), (137, "ContainerStatusUnknown"));
}

#[test]
fn a_process_that_has_started_behind_a_partition_registers_when_the_link_is_back() {
    let mut bench = Bench::new();
    bench.config_mut().latency.kubelet_reconnect = Distribution::Constant(SimDuration::from_secs(50));
    bench.fault(60, FaultKind::KubeletStop, Some(20));
    bench.fault(70, FaultKind::Partition, Some(60));
    bench.run_until(135.0);
    assert!(bench.heard() && bench.events("Starting").len() == 1, "{:?}", bench.events("Starting"));
}

#[test]
fn a_partition_shifts_no_later_boot() {
    let booted = |is_cut_off: bool| {
        let mut bench = Bench::new();
        let (min, max) = (SimDuration::from_secs(20), SimDuration::from_secs(200));
        bench.config_mut().latency.node_boot = Distribution::Uniform { min, max };
        if is_cut_off {
            bench.fault(20, FaultKind::Partition, Some(2));
        }
        bench.fault(60, FaultKind::Reboot, None);
        bench.run_until(300.0);
        bench.machine_changes.iter().find_map(|(at, change)| matches!(change, MachineChange::Booted(_)).then_some(*at))
    };
    assert!(booted(false).is_some());
    assert_eq!(booted(false), booted(true));
}

#[test]
fn what_runs_again_is_not_started_once_more_because_the_api_server_has_not_heard_of_it() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    let delay = Distribution::Constant(SimDuration::from_secs(30));
    let slow = FaultSpec { length: Some(SimDuration::from_secs(120)), ..FaultSpec::new(SlowNetwork { delay }) };
    bench.fault_spec(60, slow);
    bench.crashes(70);
    bench.crashes(75);
    bench.fault(109, FaultKind::KubeletStop, Some(2));
    bench.run_until(290.0);
    assert_eq!(bench.pod("p").restarts_max(), 2);
    assert_eq!(bench.events("Started").len(), 3, "{:?}", bench.events("Started"));
}

#[test]
fn a_process_that_starts_while_nobody_answers_looks_at_its_pods_when_its_reflectors_try_again() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.fault(20, FaultKind::ControlPlaneOutage, Some(70));
    bench.fault(30, FaultKind::Reboot, None);
    bench.run_until(300.0);
    assert!(bench.heard() && bench.pod("p").is_ready() && bench.pod("p").restarts_max() == 1);
    let [_, started_s] = bench.events("Started")[..] else { panic!("{:?}", bench.events("Started")) };
    // The machine has booted at 30 s; tries are up to a minute apart.
    assert!((92.0..165.0).contains(&started_s), "{started_s}");
}

#[test]
fn what_could_not_be_put_right_before_an_outage_of_the_api_server_is_put_right_after_it() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.fault(10, FaultKind::Partition, Some(30));
    bench.unready(20.0, "p");
    // The comparison that follows comes within ten seconds.
    bench.fault(40, FaultKind::ControlPlaneOutage, Some(30));
    bench.run_until(69.0);
    assert!(!bench.pod("p").is_ready());
    bench.run_until(100.0);
    assert!(bench.pod("p").is_ready());
}

#[test]
fn a_running_pod_that_a_new_process_rejects_is_given_a_second_and_has_failed_when_that_is_compared() {
    let mut bench = Bench::new();
    bench.label("disk", "ssd");
    bench.create(0.0, &bound("kubesquall.sim/stop: 20s", &format!("nodeSelector: {{disk: ssd}}, {ONE}")));
    bench.fault(20, FaultKind::KubeletStop, Some(5));
    bench.run_until(24.0);
    bench.label("disk", "none");
    bench.run_until(26.6);
    let pod = bench.pod("p");
    assert!(pod.phase == PodPhase::Running && !pod.is_ready() && pod.containers.is_empty() && pod.reason.is_empty());
    assert_eq!(bench.events("NodeAffinity").len(), 1);
    assert_eq!(bench.events("Killing"), Vec::<f64>::new());
    bench.run_until(60.0);
    check_events(&bench, "Killing", &[27.0]);
    let pod = bench.pod("p");
    assert_eq!((pod.phase, pod.reason.as_str(), pod.containers.len()), (PodPhase::Failed, "NodeAffinity", 0));
    // Two seconds later it is dead, and the status manager comes round every ten.
    let finished_at = bench.finished_at("p").expect("it has failed");
    assert!((28.0..39.1).contains(&finished_at), "{finished_at}");
}

#[test]
fn a_pod_that_one_process_rejects_and_the_next_takes_runs_on() {
    let sidecar = "initContainers: [{name: s, image: i, restartPolicy: Always}]";
    let mut bench = Bench::new();
    bench.label("disk", "ssd");
    bench.create(0.0, &bound("", &format!("nodeSelector: {{disk: ssd}}, {sidecar}, {ONE}")));
    let length = Some(SimDuration::from_millis(4400));
    bench.fault_spec(20, FaultSpec { length, ..FaultSpec::new(FaultKind::KubeletStop) });
    bench.fault(26, FaultKind::KubeletStop, Some(5));
    bench.run_until(24.0);
    bench.label("disk", "none");
    bench.run_until(28.0);
    assert!(bench.pod("p").containers.is_empty());
    bench.label("disk", "ssd");
    bench.run_until(60.0);
    let pod = bench.pod("p");
    assert!(pod.is_ready() && pod.restarts_max() == 0 && pod.init_containers[0].ready, "{pod:?}");
    assert_eq!((bench.events("Started").len(), bench.events("Killing").len()), (1, 0));
}
