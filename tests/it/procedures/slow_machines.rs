//! Machines that are slow.

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
