//! Init containers that fail, sidecars, and startup probes.

use super::bench::Bench;
use super::{ONE, bound};
use crate::chaos::FaultKind;
use crate::engine::Distribution;
use crate::state::{ContainerState, PodPhase};
use crate::units::SimDuration;

fn with_init(annotations: &str, more: &str) -> String {
    bound(annotations, &format!("initContainers: [{{name: a, image: i}}], {more}, {ONE}"))
}

#[test]
fn a_failing_init_container_backs_off_until_it_succeeds() {
    let mut bench = Bench::new();
    bench.create(0.0, &with_init("kubesquall.sim/init-exit-code: '1'", "restartPolicy: Always"));
    bench.run_until(5.0);
    let pod = bench.pod("p");
    let code = pod.init_containers[0].state.ending().map(|ending| ending.exit_code);
    assert_eq!((pod.phase, code, pod.init_containers[0].restarts), (PodPhase::Pending, Some(1), 1));
    bench.run_until(100.0);
    // At once, then 10 s, 20 s and 40 s from the end on, each noticed at a sync that is up to half of that late; each end is seen at a listing.
    let failures = bench.events("BackOff");
    let waits: Vec<f64> = failures.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (wait, back_off) in waits.iter().zip([10.0, 20.0, 40.0]) {
        assert!((back_off - 1.0..=back_off * 1.5 + 1.1).contains(wait), "{waits:?}");
    }
    let text = bench.messages("BackOff")[0].1;
    assert!(text.starts_with("Back-off restarting failed container a in pod p_default("), "{text}");
    bench.annotate("p", "kubesquall.sim/init-exit-code", "0");
    bench.run_until(300.0);
    assert!(bench.pod("p").is_ready());
    assert!(bench.pod("p").init_containers[0].restarts >= 4 && bench.pod("p").restarts_max() == 0);
}

#[test]
fn a_failing_init_container_fails_a_pod_that_never_restarts() {
    let mut bench = Bench::new();
    bench.create(
        0.0,
        &with_init("kubesquall.sim/init: 10s, kubesquall.sim/init-exit-code: '3'", "restartPolicy: Never"),
    );
    bench.run_until(60.0);
    assert_eq!(bench.pod("p").phase, PodPhase::Failed);
    assert!(bench.finished_at("p").is_some_and(|at| (13.0..14.1).contains(&at)), "{:?}", bench.finished_at("p"));
    assert!(matches!(
        bench.pod("p").init_containers[0].state,
        ContainerState::Terminated(crate::state::Ending { exit_code: 3, .. })
    ));
}

#[test]
fn what_follows_a_sidecar_waits_for_its_startup_probe() {
    let mut bench = Bench::new();
    let sidecar = "{name: s, image: i, restartPolicy: Always, startupProbe: {httpGet: {port: 80}, periodSeconds: 5, initialDelaySeconds: 7}}";
    let spec = format!("initContainers: [{sidecar}, {{name: a, image: i}}], {ONE}");
    bench.create(0.0, &bound("kubesquall.sim/init: 3s", &spec));
    bench.run_until(60.0);
    // Its probe runs at 0, 5 and 10 s and may from 7 s on; then comes the init container, then the start.
    assert_eq!(bench.ready_changes("p")[0].0.round() as i64, 16);
    assert!(matches!(bench.pod("p").init_containers[0].state, ContainerState::Running { .. }));
    assert!(matches!(
        bench.pod("p").init_containers[1].state,
        ContainerState::Terminated(crate::state::Ending { exit_code: 0, .. })
    ));
}

#[test]
fn what_init_containers_do_is_told_when_they_do_it() {
    let mut bench = Bench::new();
    let spec = format!("initContainers: [{{name: a, image: i}}, {{name: b, image: i}}], {ONE}");
    bench.create(0.0, &bound("kubesquall.sim/init: 10s", &spec));
    let states = |bench: &Bench| -> Vec<&'static str> {
        let word = |state: ContainerState| match state {
            ContainerState::Running { .. } => "runs",
            ContainerState::Terminated(ending) if ending.exit_code == 0 => "done",
            ContainerState::Waiting => "waits",
            _ => "else",
        };
        bench.pod("p").init_containers.iter().map(|status| word(status.state)).collect()
    };
    for (at, expected) in [(5.0, ["runs", "waits"]), (15.0, ["done", "runs"]), (22.5, ["done", "done"])] {
        bench.run_until(at);
        assert_eq!(states(&bench), expected, "{at}");
        assert_eq!(bench.pod("p").phase, PodPhase::Pending);
    }
    bench.run_until(60.0);
    let ends = bench.pod("p").init_containers.iter().filter_map(|status| status.state.ending());
    let ends: Vec<u64> = ends.map(|ending| ending.finished_at.as_nanos().unsigned_abs() / 1_000_000_000).collect();
    assert_eq!(ends, [10, 20]);
}

#[test]
fn an_init_container_that_runs_is_stopped_with_its_grace() {
    for (stop, code, gone_s) in [("3s", 143, 18.0), ("60s", 137, 45.0)] {
        let mut bench = Bench::new();
        let spec = format!("initContainers: [{{name: a, image: i}}, {{name: b, image: i}}], {ONE}");
        bench.create(0.0, &bound(&format!("kubesquall.sim/init: 10s, kubesquall.sim/stop: {stop}"), &spec));
        bench.delete(15.0, "p", None);
        bench.run_until(gone_s - 0.1);
        assert_eq!(bench.messages("Killing"), [("p", "Stopping container b")]);
        bench.run_until(gone_s + 1.5);
        assert!(bench.gone_at("p").is_some_and(|at| (gone_s..gone_s + 1.4).contains(&at)), "{:?}", bench.gone_at("p"));
        let mut bench = Bench::new();
        let annotations = format!("kubesquall.sim/init: 10s, kubesquall.sim/stop: {stop}");
        bench.create(0.0, &bound(&annotations, &format!("activeDeadlineSeconds: 14, {spec}")));
        bench.run_until(60.0);
        let ended = bench.pod("p").init_containers[1].state.ending();
        assert_eq!(ended.map(|ending| ending.exit_code), Some(code));
        assert!(bench.pod("p").containers[0].state.is_waiting());
    }
}

#[test]
fn a_startup_probe_runs_on_the_beat_of_its_worker() {
    let mut bench = Bench::new();
    let spec =
        "containers: [{name: c, image: i, startupProbe: {httpGet: {port: 80}}, readinessProbe: {httpGet: {port: 80}}}]";
    bench.create(0.0, &bound("", spec));
    bench.run_until(60.0);
    // The container runs at 2 s; its probe's worker runs at 0 and 10 s.
    let ready = bench.ready_changes("p").into_iter().find(|(_, ready)| *ready);
    assert_eq!(ready.map(|(at, _)| at.round()), Some(10.0));
}

#[test]
fn a_pod_is_ready_when_its_sidecars_are() {
    let mut bench = Bench::new();
    let probe = "readinessProbe: {httpGet: {port: 80}, initialDelaySeconds: 100}";
    let spec = format!("initContainers: [{{name: s, image: i, restartPolicy: Always, {probe}}}], {ONE}");
    bench.create(0.0, &bound("", &spec));
    bench.run_until(100.0);
    let pod = bench.pod("p");
    let ready = pod.containers.iter().chain(&pod.init_containers).filter(|status| status.ready).count();
    assert_eq!((pod.phase, pod.is_ready(), ready), (PodPhase::Running, false, 1));
    bench.run_until(110.0);
    assert_eq!(bench.ready_changes("p")[0].0.round() as i64, 102);
}

/// How often each init container of the pod was restarted.
fn counts(bench: &Bench) -> Vec<u32> {
    bench.pod("p").init_containers.iter().map(|status| status.restarts).collect()
}

#[test]
fn a_failing_init_container_leaves_the_sidecars_before_it_alone() {
    let mut bench = Bench::new();
    let probe = "startupProbe: {httpGet: {port: 80}, initialDelaySeconds: 10, periodSeconds: 1}";
    let spec = format!(
        "initContainers: [{{name: s, image: i, restartPolicy: Always, {probe}}}, {{name: a, image: i}}], {ONE}"
    );
    bench.create(0.0, &bound("kubesquall.sim/init: 6s, kubesquall.sim/init-exit-code: '1'", &spec));
    // The sidecar runs at 2 s and has started at 12 s; the other fails about 18 s, is run again at once, and backs off for 10 s and then for 20 s.
    bench.run_until(28.0);
    let since = bench.pod("p").init_containers[0].state.running_since().expect("it runs");
    assert_eq!(since.as_nanos() / 1_000_000_000, 2);
    for (at, expected) in [(28.0, 1), (50.0, 2), (90.0, 3)] {
        bench.run_until(at);
        let [sidecar, failing] = bench.pod("p").init_containers[..] else { panic!("two") };
        assert_eq!((sidecar.state.running_since(), sidecar.restarts, sidecar.ready), (Some(since), 0, true), "{at}");
        assert_eq!((failing.restarts, failing.last.map(|end| end.exit_code)), (expected, Some(1)), "{at}");
    }
    bench.annotate("p", "kubesquall.sim/init-exit-code", "0");
    bench.run_until(200.0);
    assert!(bench.pod("p").is_ready());
    assert_eq!(bench.pod("p").init_containers[0].state.running_since(), Some(since));
}

#[test]
fn an_init_container_that_a_new_process_starts_counts_on_and_what_was_before_it_goes_on() {
    let mut bench = Bench::new();
    let spec = format!("initContainers: [{{name: s, image: i, restartPolicy: Always}}, {{name: a, image: i}}], {ONE}");
    bench.create(0.0, &bound("kubesquall.sim/init: 6s, kubesquall.sim/init-exit-code: '1'", &spec));
    // The back-off of 20 s is under way.
    bench.fault(41, FaultKind::KubeletStop, Some(2));
    bench.run_until(40.0);
    assert_eq!(counts(&bench), [0, 2]);
    let since = bench.pod("p").init_containers[0].state.running_since();
    bench.run_until(46.0);
    let [sidecar, failing] = bench.pod("p").init_containers[..] else { panic!("two") };
    assert_eq!((sidecar.state.running_since(), sidecar.restarts), (since, 0));
    assert!(failing.state.running_since().is_some(), "{failing:?}");
    assert_eq!((failing.restarts, failing.last.map(|end| end.exit_code)), (3, Some(1)));
}

#[test]
fn an_init_container_that_a_boot_has_cut_short_counts_as_restarted() {
    let mut bench = Bench::new();
    let spec = format!("initContainers: [{{name: a, image: i}}, {{name: b, image: i}}], {ONE}");
    bench.create(0.0, &bound("kubesquall.sim/init: 60s", &spec));
    super::crash(&mut bench, 20, 10);
    bench.run_until(50.0);
    let status = bench.pod("p").init_containers[0];
    let reason = status.last.map(|end| (end.exit_code, end.reason.as_str()));
    assert_eq!((status.restarts, reason), (1, Some((137, "ContainerStatusUnknown"))));
    bench.run_until(200.0);
    assert_eq!((counts(&bench), bench.pod("p").is_ready()), (vec![1, 0], true));
}

#[test]
fn before_1_36_only_the_first_init_container_counts_on_after_a_boot() {
    for (minor, expected) in [(35, [1, 0, 0]), (36, [1, 1, 1])] {
        let mut bench = Bench::new();
        bench.config_mut().version = format!("1.{minor}").parse().expect("a version");
        let sidecar = "{name: s, image: i, restartPolicy: Always}";
        let spec = format!("initContainers: [{{name: a, image: i}}, {{name: b, image: i}}, {sidecar}], {ONE}");
        bench.create(0.0, &bound("", &spec));
        super::crash(&mut bench, 30, 10);
        bench.run_until(20.0);
        assert_eq!((counts(&bench), bench.pod("p").is_ready()), (vec![0; 3], true));
        bench.run_until(60.0);
        assert_eq!((counts(&bench), bench.pod("p").is_ready()), (expected.to_vec(), true), "1.{minor}");
        assert_eq!(bench.pod("p").restarts_max(), 1);
    }
}

#[test]
fn what_begins_later_does_not_move_an_init_container_that_runs() {
    let mut bench = Bench::new();
    let annotations = "kubesquall.sim/start: 10s, kubesquall.sim/init: 30s, kubesquall.sim/init-exit-code: '1', \
                       kubesquall.sim/stop: 8s";
    bench.create(0.0, &bound(annotations, &format!("initContainers: [{{name: a, image: i}}], {ONE}")));
    // It runs at 10 s, when the sandbox is there.
    bench.fault_spec(12, serde_saphyr::from_str("{kind: SlowDisk, factor: 10, for: 100s}").expect("a fault"));
    bench.delete(25.0, "p", None);
    bench.run_until(60.0);
    assert_eq!(bench.events("Killing"), [25.005]);
}

#[test]
fn a_pod_that_is_deleted_while_a_sidecars_image_is_pulled_starts_that_one_and_nothing_behind_it() {
    let hook = "lifecycle: {postStart: {sleep: {seconds: 20}}}";
    for (more, killed_s) in [("", 30), (hook, 50)] {
        let mut bench = Bench::new();
        bench.config_mut().latency.image_pull = Distribution::Constant(SimDuration::from_secs(30));
        let sidecar = format!("{{name: s, image: s, restartPolicy: Always, {more}}}");
        let spec = format!("initContainers: [{sidecar}, {{name: a, image: i}}], {ONE}");
        bench.create(0.0, &bound("", &spec));
        bench.delete(10.0, "p", None);
        bench.run_until(100.0);
        let killed: Vec<i64> = bench.events("Killing").into_iter().map(|at| at.round() as i64).collect();
        assert_eq!((killed, bench.messages("Killing")[0].1), (vec![killed_s], "Stopping container s"));
        assert_eq!(bench.messages("Pulling").len(), 1);
        assert!(!bench.pod_exists("p"));
    }
}

#[test]
fn a_new_process_does_not_hold_ends_of_init_containers_against_the_others() {
    let mut bench = Bench::new();
    let annotations = "kubesquall.sim/init: 6s, kubesquall.sim/init-exit-code: '1', kubesquall.sim/run-for: 100s";
    bench.create(0.0, &bound(annotations, &format!("initContainers: [{{name: a, image: i}}], {ONE}")));
    bench.fault(41, FaultKind::KubeletStop, Some(2));
    bench.run_until(48.0);
    bench.annotate("p", "kubesquall.sim/run-for", "100s");
    bench.run_until(170.0);
    let first = bench.events("Started")[0];
    bench.run_until(first + 110.0);
    // Their first end is followed by a start at once.
    assert_eq!((bench.events("Started").len(), bench.pod("p").restarts_max()), (2, 1));
}
