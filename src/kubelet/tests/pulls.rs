//! Pulls that fail, and pull policies.

use super::bench::Bench;
use super::{ONE, bound};
use crate::chaos::FaultKind;
use crate::engine::Distribution;
use crate::state::{ContainerState, PodPhase};
use crate::units::SimDuration;

#[test]
fn a_failed_pull_is_tried_again_after_the_back_off_at_the_next_sync() {
    let mut bench = Bench::new();
    bench.lacks_image(1, 300, "i");
    bench.create(10.0, &bound("", ONE));
    bench.run_until(11.5);
    assert_eq!(
        (bench.pod("p").phase, bench.pod("p").containers[0].state),
        (PodPhase::Pending, ContainerState::ErrImagePull)
    );
    bench.run_until(12.5);
    assert_eq!(bench.pod("p").containers[0].state, ContainerState::ImagePullBackOff);
    bench.run_until(400.0);
    // The first sync comes within a second; then 10 s, 20 s, 40 s, 80 s, 160 s are over at a sync that is 10 to 15 s apart.
    let pulls = bench.events("Pulling");
    let waits: Vec<f64> = pulls.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (wait, back_off) in waits.iter().zip([10.0, 20.0, 40.0, 80.0, 160.0]) {
        assert!((back_off..=back_off + 17.0).contains(wait), "{waits:?}");
    }
    let failures = bench.messages("Failed");
    assert_eq!(failures[0].1, "Failed to pull image \"i\": the registry does not answer");
    assert_eq!(failures[1].1, "Error: ErrImagePull");
    assert_eq!(failures[2].1, "Error: ImagePullBackOff");
    assert_eq!(bench.messages("BackOff")[0].1, "Back-off pulling image \"i\"");
    assert!(bench.pod("p").is_ready());
}

#[test]
fn each_sync_within_a_back_off_tells_of_it_as_long_as_the_recorder_lets_it_pass() {
    let mut bench = Bench::new();
    bench.lacks_image(1, 10_000, "i");
    bench.create(10.0, &bound("", ONE));
    bench.run_until(250.0);
    let told = bench.events("BackOff");
    let (pulls, waits) = (bench.events("Pulling"), told.windows(2).map(|pair| pair[1] - pair[0]));
    // A sync every 10 to 15 s, of which some are the next try.
    assert!(waits.into_iter().all(|wait| wait <= 30.1), "{told:?}");
    assert!((16..=24).contains(&(told.len() + pulls.len())), "{told:?} {pulls:?}");
    bench.run_until(3610.0);
    // After that one with each back-off of five minutes.
    assert!(bench.events("BackOff").len() < 40, "{}", bench.events("BackOff").len());
}

#[test]
fn a_failing_registry_does_not_matter_to_images_that_are_there_unless_the_policy_is_always() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", "containers: [{name: c, image: 'i:1'}]"));
    bench.create(0.0, &bound("", "containers: [{name: c, image: 'i:latest'}]").replace("name: p,", "name: first,"));
    bench.lacks_image(10, 300, "*");
    for (pod, image, policy) in
        [("present", "i:1", "IfNotPresent"), ("always", "i:latest", "Always"), ("never", "i:1", "Never")]
    {
        let spec = format!("containers: [{{name: c, image: '{image}', imagePullPolicy: {policy}}}]");
        bench.create(20.0, &bound("", &spec).replace("name: p,", &format!("name: {pod},")));
    }
    bench.run_until(60.0);
    assert!(bench.pod("present").is_ready() && bench.pod("never").is_ready());
    assert_eq!(bench.pod("always").containers[0].state, ContainerState::ImagePullBackOff);
}

#[test]
fn a_container_whose_policy_is_always_does_not_even_restart_while_its_registry_fails() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/run-for: 20s", "containers: [{name: c, image: 'i:latest'}]"));
    bench.lacks_image(10, 100, "i:latest");
    bench.run_until(60.0);
    assert!(!bench.pod("p").is_ready());
    assert_eq!((bench.pod("p").phase, bench.pod("p").restarts_max()), (PodPhase::Running, 0));
    bench.run_until(160.0);
    assert!(bench.pod("p").restarts_max() >= 1);
}

#[test]
fn an_image_that_may_not_be_pulled_is_never_there() {
    let mut bench = Bench::new();
    bench.disk(1 << 40, &[("other", 1)]);
    bench.create(0.0, &bound("", "containers: [{name: c, image: i, imagePullPolicy: Never}]"));
    bench.run_until(60.0);
    assert_eq!(bench.pod("p").containers[0].state, ContainerState::ErrImageNeverPull);
    let text = "Container image \"i\" is not present with pull policy of Never";
    assert_eq!(bench.messages("ErrImageNeverPull")[0].1, text);
    let tries = bench.events("ErrImageNeverPull");
    assert!(tries.windows(2).all(|pair| (10.0..=15.1).contains(&(pair[1] - pair[0]))), "{tries:?}");
}

#[test]
fn an_image_that_a_pod_of_the_node_has_run_is_not_pulled_again() {
    let mut bench = Bench::new();
    bench.config_mut().latency.image_pull = Distribution::Constant(SimDuration::from_secs(10));
    bench.create(0.0, &bound("", ONE));
    bench.delete(30.0, "p", None);
    bench.create(40.0, &bound("", ONE).replace("name: p,", "name: q,"));
    bench.run_until(60.0);
    assert_eq!(bench.ready_changes("q")[0].0.round() as i64, 42);
}

#[test]
fn failures_of_one_image_leave_the_others_alone() {
    let mut bench = Bench::new();
    bench.lacks_image(1, 300, "registry.example.com/*");
    bench.create(10.0, &bound("", ONE));
    bench.create(
        10.0,
        &bound("", "containers: [{name: c, image: registry.example.com/i}]").replace("name: p,", "name: q,"),
    );
    bench.run_until(60.0);
    assert!(bench.pod("p").is_ready() && !bench.pod("q").is_ready());
}

#[test]
fn pulls_beyond_the_registrys_allowance_fail_at_once_and_are_tried_again() {
    let started = |configuration: &str| {
        let mut bench = Bench::new();
        bench.configure(configuration);
        bench.config_mut().latency.image_pull = Distribution::Constant(SimDuration::from_secs(3));
        for number in 0..4 {
            let pod = bound("", &format!("containers: [{{name: c, image: i{number}}}]"));
            bench.create(0.0, &pod.replace("name: p", &format!("name: p{number}")));
        }
        bench.run_until(60.0);
        assert!((0..4).all(|number| bench.pod(&format!("p{number}")).is_ready()));
        bench.messages("Failed").iter().filter(|(_, text)| text.ends_with("pull QPS exceeded")).count()
    };
    assert_eq!(started(r#"{"serializeImagePulls": false, "registryPullQPS": 0.5, "registryBurst": 2}"#), 2);
    assert_eq!(started(r#"{"serializeImagePulls": false}"#), 0);
    // One after the other they are few enough.
    assert_eq!(started(r#"{"registryPullQPS": 0.5, "registryBurst": 2}"#), 0);
}

/// Three pods whose images are pulled one after the other, a minute each.
fn three_pulls(bench: &mut Bench) {
    bench.config_mut().latency.image_pull = Distribution::Constant(SimDuration::from_secs(60));
    for pod in ["a", "b", "c"] {
        let spec = format!("containers: [{{name: c, image: of-{pod}}}]");
        bench.create(0.0, &bound("", &spec).replace("name: p,", &format!("name: {pod},")));
    }
}

#[test]
fn pulls_of_pods_that_are_deleted_go_on() {
    let mut bench = Bench::new();
    three_pulls(&mut bench);
    bench.create(5.0, &bound("", "containers: [{name: c, image: of-a}]"));
    bench.delete(10.0, "a", None);
    bench.delete(10.0, "b", Some(0));
    bench.run_until(300.0);
    let up = |pod: &str| bench.ready_changes(pod)[0].0.round() as i64;
    assert_eq!([up("a"), up("p"), up("c")], [62, 62, 182]);
    // What is pulled is started, and stopped then.
    let killed: Vec<i64> = bench.events("Killing").into_iter().map(|at| at.round() as i64).collect();
    assert_eq!(killed, [62, 122]);
    assert!(bench.gone_at("a").is_some_and(|at| (63.0..65.0).contains(&at)), "{:?}", bench.gone_at("a"));
}

#[test]
fn images_that_were_deleted_for_their_room_are_pulled_again() {
    let mut bench = Bench::new();
    bench.config_mut().latency.image_pull = Distribution::Constant(SimDuration::from_secs(20));
    bench.configure(r#"{"evictionPressureTransitionPeriod": "10s", "evictionHard": {"nodefs.available": "10%"}}"#);
    bench.disk(100 << 30, &[]);
    bench.create(0.0, &bound("kubesquall.sim/run-for: 10s", &format!("restartPolicy: Never, {ONE}")));
    bench.burden(50, 90, FaultKind::DiskPressure, "{ephemeral-storage: 95Gi}");
    bench.create(150.0, &bound("", ONE).replace("name: p,", "name: q,"));
    bench.run_until(200.0);
    assert_eq!(bench.ready_changes("q")[0].0.round() as i64, 172);
}

#[test]
fn a_restart_asks_for_no_image_but_that_of_what_is_started() {
    let mut bench = Bench::new();
    let spec = "initContainers: [{name: a, image: 'i:latest'}], containers: [{name: c, image: 'c:1'}]";
    bench.create(0.0, &bound("kubesquall.sim/run-for: 40s, kubesquall.sim/exit-code: '1'", spec));
    bench.lacks_image(10, 300, "i:latest");
    bench.run_until(60.0);
    let pod = bench.pod("p");
    assert_eq!((pod.is_ready(), pod.restarts_max()), (true, 1));
    let ended = pod.init_containers[0].state.ending();
    assert_eq!((ended.map(|end| end.exit_code), pod.init_containers[0].restarts), (Some(0), 0));
    assert!(bench.events("Failed").is_empty());
}

#[test]
fn a_restart_that_lacks_its_image_leaves_what_is_done_alone_and_tells_how_it_ended() {
    let mut bench = Bench::new();
    let spec = "restartPolicy: Never, containers: [{name: a, image: 'i:1'}, \
                {name: b, image: 'j:latest', restartPolicy: Always}]";
    bench.create(0.0, &bound("kubesquall.sim/run-for: 20s, kubesquall.sim/exit-code: '1'", spec));
    bench.lacks_image(10, 40, "j:latest");
    bench.run_until(30.0);
    let [done, waits] = bench.pod("p").containers[..] else { panic!("two") };
    assert_eq!(done.state.ending().map(|end| end.exit_code), Some(1));
    assert_eq!((waits.state, waits.restarts), (ContainerState::ErrImagePull, 0));
    assert_eq!(waits.last.map(|end| end.exit_code), Some(1));
    bench.run_until(90.0);
    let [done, runs] = bench.pod("p").containers[..] else { panic!("two") };
    assert_eq!((done.state.ending().map(|end| end.exit_code), done.restarts), (Some(1), 0));
    assert_eq!(runs.restarts, 1);
    // No sandbox is made that would cause an early sync.
    let (failed, told) = (bench.events("Failed")[0], bench.events("BackOff").first().copied());
    assert!(told.is_none_or(|told| told - failed >= 10.0), "{failed}, {told:?}");
}

#[test]
fn an_image_is_asked_for_when_its_container_is_to_start() {
    let mut bench = Bench::new();
    let inits = "{name: s, image: 's:1', restartPolicy: Always}, {name: a, image: 'i:1'}, {name: b, image: 'j:1'}";
    let spec = format!("initContainers: [{inits}], containers: [{{name: c, image: app}}]");
    bench.create(5.0, &bound("kubesquall.sim/init: 3s", &spec));
    bench.lacks_image(1, 60, "app");
    bench.lacks_image(1, 20, "j:1");
    let states = |bench: &Bench| -> Vec<ContainerState> {
        let pod = bench.pod("p");
        pod.init_containers.iter().chain(&pod.containers).map(|status| status.state).collect()
    };
    bench.run_until(11.0);
    let [sidecar, a, b, c] = states(&bench)[..] else { panic!("four") };
    assert!(sidecar.running_since().is_some() && a.ending().is_some_and(|end| end.exit_code == 0));
    assert_eq!((b, c), (ContainerState::ErrImagePull, ContainerState::Waiting));
    bench.run_until(50.0);
    let [sidecar_later, a_later, b, c] = states(&bench)[..] else { panic!("four") };
    assert_eq!((sidecar_later, a_later), (sidecar, a));
    assert!(b.ending().is_some_and(|end| end.exit_code == 0));
    assert!(matches!(c, ContainerState::ErrImagePull | ContainerState::ImagePullBackOff), "{c:?}");
    bench.run_until(150.0);
    assert!(bench.pod("p").is_ready());
    assert_eq!(bench.pod("p").restarts_total(), 0);
}
