//! Hooks at the start of containers.

use super::bench::Bench;
use super::bound;
use crate::chaos::FaultKind;
use crate::state::{ContainerState, PodPhase};

fn sleeping(name: &str, seconds: u64) -> String {
    format!("{{name: {name}, image: i, lifecycle: {{postStart: {{sleep: {{seconds: {seconds}}}}}}}}}")
}

#[test]
fn a_pod_waits_for_the_hooks_of_its_containers_one_after_the_other() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", &format!("containers: [{}, {}]", sleeping("a", 30), sleeping("b", 20))));
    bench.run_until(51.0);
    let pod = bench.pod("p");
    assert_eq!(
        (pod.phase, pod.is_ready(), pod.containers[0].state),
        (PodPhase::Pending, false, ContainerState::Waiting)
    );
    bench.run_until(60.0);
    assert_eq!(bench.ready_changes("p"), [(52.01, true)]);
    assert_eq!(bench.events("Started").iter().map(|at| at.round() as i64).collect::<Vec<_>>(), [2, 32]);
    let since = bench.pod("p").containers.iter().map(|status| status.state.running_since());
    let since: Vec<i64> = since.map(|at| at.map_or(0, |at| at.as_nanos() / 1_000_000_000)).collect();
    assert_eq!(since, [2, 32]);
}

#[test]
fn a_container_that_ends_during_its_hook_is_seen_to_after_it() {
    let mut bench = Bench::new();
    let spec = format!("restartPolicy: Never, containers: [{}]", sleeping("a", 30));
    bench.create(0.0, &bound("kubesquall.sim/run-for: 10s, kubesquall.sim/exit-code: '0'", &spec));
    bench.run_until(31.0);
    assert_eq!(bench.pod("p").phase, PodPhase::Pending);
    bench.run_until(40.0);
    assert_eq!(bench.pod("p").phase, PodPhase::Succeeded);
    assert!(matches!(bench.pod("p").containers[0].state, ContainerState::Terminated(_)));
}

#[test]
fn a_pod_that_is_deleted_during_a_hook_is_stopped_when_all_of_it_has_begun() {
    let mut bench = Bench::new();
    let spec = format!("containers: [{}, {{name: b, image: i}}]", sleeping("a", 30));
    bench.create(0.0, &bound("kubesquall.sim/stop: 5s", &spec));
    bench.delete(10.0, "p", None);
    bench.run_until(60.0);
    assert_eq!(bench.events("Started").len(), 2);
    assert_eq!(bench.messages("Killing"), [("p", "Stopping container a"), ("p", "Stopping container b")]);
    assert_eq!(bench.events("Killing")[0].round() as i64, 32);
    assert!(bench.gone_at("p").is_some_and(|at| (37.0..39.0).contains(&at)), "{:?}", bench.gone_at("p"));
}

#[test]
fn containers_behind_a_hook_that_nobody_waited_for_are_not_stopped() {
    let mut bench = Bench::new();
    let spec = format!("containers: [{}, {{name: b, image: i}}]", sleeping("a", 30));
    bench.create(0.0, &bound("kubesquall.sim/stop: 5s", &spec));
    bench.fault(10, FaultKind::KubeletStop, Some(5));
    bench.delete(12.0, "p", None);
    bench.run_until(60.0);
    assert_eq!(bench.messages("Killing"), [("p", "Stopping container a")]);
}
