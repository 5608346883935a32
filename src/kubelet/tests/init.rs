//! Init containers that fail, sidecars, and startup probes.

use super::bench::Bench;
use super::{ONE, bound};
use crate::state::{ContainerState, PodPhase};

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
