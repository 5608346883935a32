//! Machines that are slow.

use kubesquall::simulation::Simulation;

use super::{Played, play, seconds};

/// One node; pulls take 4 s, starts 1 s, the rest next to nothing.
fn spec(timeline: &str, duration: &str) -> String {
    format!(
        "duration: {duration}, cluster: {{nodePools: [{{name: w, count: 1, template: {{status: {{allocatable: {{cpu: \"4\", memory: \
         8Gi, pods: \"110\"}}}}}}}}]}}, latency: {{podStart: 1s, imagePull: 4s, watch: 0s, apiCall: 10ms}}, timeline: [{timeline}]"
    )
}

fn run_pod(at_s: u64, name: &str) -> String {
    format!("{{at: {at_s}s, kubectl: run {name} --image={name}}}")
}

/// How long a pod's container took from the beginning of its pull to its start, in seconds.
#[track_caller]
fn start_of(played: &Played, pod: &str) -> f64 {
    let at = |reason: &str| {
        let events = played.events(reason);
        let event = events.iter().find(|event| &*event.name == pod);
        event.unwrap_or_else(|| panic!("no {reason} of {pod}")).at
    };
    seconds(at("Started")) - seconds(at("Pulling"))
}

#[test]
fn what_begins_on_a_slow_disk_takes_longer_by_all_factors_together() {
    let timeline = [
        run_pod(58, "before"),
        "{at: 60s, fault: {kind: SlowDisk, nodes: {}, factor: 3, for: 200s}}".to_owned(),
        run_pod(100, "within"),
        "{at: 150s, fault: {kind: SlowDisk, nodes: {names: [w-0]}, factor: 2.5, for: 50s}}".to_owned(),
        run_pod(155, "both"),
        run_pod(210, "again"),
        run_pod(300, "after"),
    ];
    let played = play(&spec(&timeline.join(", "), "10m"), &[], &mut |_| {});
    let took = ["before", "within", "both", "again", "after"].map(|pod| start_of(&played, pod));
    // 4 s and 1 s; three times that; 7.5 times that; three times that again. What had begun before went on as it was.
    assert_eq!(took, [5.0, 15.0, 37.5, 15.0, 5.0]);
}

/// When each lease of the node that was seen was renewed, from the second minute on.
fn renewals(seen: &mut Vec<f64>, run: &Simulation) {
    let node = run.store().find_node("w-0".into()).expect("the node");
    let renewed = run.store().heartbeat(node).renewed_at(run.now()).map(seconds).filter(|at| *at > 61.0);
    if let Some(at) = renewed.filter(|at| seen.last() != Some(at)) {
        seen.push(at);
    }
}

#[test]
fn what_a_kubelet_says_through_a_slow_network_is_known_late() {
    let fault = "{at: 60s, fault: {kind: SlowNetwork, nodes: {}, delay: 30s, for: 200s}}";
    let timeline = [fault.to_owned(), run_pod(100, "p")].join(", ");
    let mut ready_at = None;
    let played = play(&spec(&timeline, "10m"), &[], &mut |run| {
        let is_ready = run.store().pods().any(|(_, pod)| &*pod.name == "p" && pod.is_ready());
        ready_at = ready_at.or(is_ready.then(|| run.now()));
    });
    // The container starts when it would, and the control plane hears of it 30 s later, after a request's usual way.
    assert_eq!(start_of(&played, "p"), 5.0);
    let started = seconds(played.events("Started")[0].at);
    let late = seconds(ready_at.expect("the pod is Ready")) - started;
    assert!((30.0..30.1).contains(&late), "{late}");
    // Renewals come every 40 s, which is within the grace of 50 s.
    assert_eq!(played.events("NodeNotReady").len(), 0);
}

#[test]
fn a_node_is_taken_for_lost_whose_renewals_are_later_than_the_grace() {
    let fault = "{at: 60s, fault: {kind: SlowNetwork, nodes: {}, delay: 60s, for: 300s}}";
    let mut seen = Vec::new();
    let played = play(&spec(fault, "15m"), &[], &mut |run: &Simulation| renewals(&mut seen, run));
    // The next try follows an interval of 10 s after the last has got through, and takes 60 s. The last on time was in the ten
    // seconds before the fault; 50 s after it, at the next pass of the monitor, the node is not Ready.
    let within: Vec<f64> = seen.into_iter().filter(|at| *at <= 400.0).collect();
    let gaps: Vec<u64> = within.windows(2).map(|pair| (pair[1] - pair[0]).round() as u64).collect();
    assert_eq!((gaps.as_slice(), (119.0..131.0).contains(&within[0])), (&[70, 70, 70][..], true), "{within:?}");
    let lost = played.first("NodeNotReady");
    assert!((within[0] - 70.0 + 50.0..within[0] - 70.0 + 56.0).contains(&lost), "{lost}");
    // It is well again when the network is.
    assert_eq!(played.nodes(), ["w-0"]);
    let node = played.store.find_node("w-0".into()).expect("the node");
    let ready = played.store.node(node).and_then(|node| node.conditions.ready());
    assert_eq!(ready, Some(kubesquall::state::Status::True));
}

#[test]
fn delays_of_networks_add_up_and_slow_heartbeats_are_late_besides() {
    let faults = "{at: 60s, fault: {kind: SlowNetwork, nodes: {}, delay: 20s, for: 400s}}, {at: 61s, fault: {kind: SlowNetwork, nodes: {}, \
                  delay: 10s, for: 400s}}, {at: 62s, fault: {kind: SlowHeartbeats, nodes: {}, delay: 5s, for: 400s}}";
    let mut seen = Vec::new();
    play(&spec(faults, "5m"), &[], &mut |run: &Simulation| renewals(&mut seen, run));
    let gaps: Vec<u64> = seen.windows(2).map(|pair| (pair[1] - pair[0]).round() as u64).collect();
    assert!(gaps.len() >= 3 && gaps.iter().all(|gap| *gap == 45), "{seen:?}");
}
