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
    // 4 s and 1 s; three times that; 7.5 times that; three times that again. The pull that had begun before went on as it was, and its
    // container's start began on the slow disk.
    assert_eq!(took, [7.0, 15.0, 37.5, 15.0, 5.0]);
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

/// How long each of two pods took from one to the other event, in seconds.
#[track_caller]
fn between(played: &Played, pod: &str, first: &str, second: &str) -> f64 {
    let at = |reason: &str| {
        let events = played.events(reason);
        events.iter().find(|event| &*event.name == pod).map(|event| seconds(event.at))
    };
    at(second).unwrap_or_else(|| panic!("no {second} of {pod}"))
        - at(first).unwrap_or_else(|| panic!("no {first} of {pod}"))
}

#[test]
fn a_fault_ends_what_it_began_and_nothing_of_the_machine_that_came_in_its_place() {
    let played = |fault: &str| {
        let timeline = [
            format!("{{at: 60s, fault: {{{fault}, nodes: {{names: [w-0]}}, for: 600s}}}}"),
            "{at: 100s, rollingUpgrade: {pool: w, maxSurge: 0, maxUnavailable: 1}}".to_owned(),
            run_pod(400, "between"),
            format!("{{at: 500s, fault: {{{fault}, nodes: {{names: [w-0]}}, for: 600s}}}}"),
            run_pod(600, "within"),
            run_pod(800, "still"),
            run_pod(1150, "after"),
        ];
        play(&spec(&timeline.join(", "), "30m"), &[], &mut |_| {})
    };
    let slow = played("kind: SlowDisk, factor: 3");
    assert!((100.0..400.0).contains(&slow.first("NodeUpgraded")));
    assert_eq!(["between", "within", "still", "after"].map(|pod| start_of(&slow, pod)), [5.0, 15.0, 15.0, 5.0]);
    let failing = played("kind: ImagePullFailure");
    assert_eq!(start_of(&failing, "between"), 5.0);
    let failed: Vec<&str> = failing.events("BackOff").iter().map(|event| &*event.name).collect();
    assert!(failed.contains(&"within") && failed.contains(&"still") && !failed.contains(&"after"), "{failed:?}");
    let cut_off = played("kind: Partition");
    let ready_at = |pod: &str| {
        cut_off.observed.pods.iter().find(|row| &*row.name == pod).and_then(|row| row.ready_at).map(seconds)
    };
    assert!(ready_at("between") < Some(410.0) && ready_at("still") > Some(1100.0), "{:?}", ready_at("still"));
}

/// The same with pulls of a minute, one at a time.
fn slow_pulls(timeline: &[String]) -> String {
    spec(&timeline.join(", "), "30m").replace("imagePull: 4s", "imagePull: 60s")
}

#[test]
fn a_pull_looks_at_the_disk_when_its_turn_comes() {
    let queue = [run_pod(40, "a"), run_pod(41, "b"), run_pod(42, "c")];
    let fault = |extent: &str| format!("{{{extent}, fault: {{kind: SlowDisk, nodes: {{}}, factor: 3, for: 30s}}}}");
    let took = |timeline: &[String]| {
        let played = play(&slow_pulls(timeline), &[], &mut |_| {});
        ["a", "b", "c"].map(|pod| between(&played, pod, "Pulling", "Started").round())
    };
    assert_eq!(took(&queue), [61.0, 120.0, 179.0]);
    // The first is under way and goes on as it began; the second begins on the slow disk, and the third after it.
    assert_eq!(took(&[&queue[..], &[fault("at: 80s")]].concat()), [63.0, 240.0, 299.0]);
    // The first alone begins on it.
    assert_eq!(took(&[&queue[..], &[fault("at: 30s")]].concat()), [181.0, 240.0, 299.0]);
    // Its start does.
    assert_eq!(took(&[&queue[..], &[fault("at: 90s")]].concat()), [63.0, 240.0, 299.0]);
}

#[test]
fn a_pull_fails_if_its_registry_does_when_its_turn_comes() {
    let queue = [run_pod(40, "a"), run_pod(41, "b"), run_pod(42, "c")];
    let played = |at: u64, length: u64| {
        let fault = format!("{{at: {at}s, fault: {{kind: ImagePullFailure, for: {length}s}}}}");
        play(&slow_pulls(&[&queue[..], &[fault]].concat()), &[], &mut |_| {})
    };
    let failed = |played: &Played| {
        let mut names: Vec<String> = played.events("BackOff").iter().map(|event| event.name.to_string()).collect();
        names.sort();
        names.dedup();
        names
    };
    // The pull that is under way goes on; the others fail a second after their turns have come, one after the other.
    let late = played(80, 60);
    assert_eq!(failed(&late), ["b", "c"]);
    assert_eq!(between(&late, "a", "Pulling", "Started").round(), 61.0);
    assert_eq!(between(&late, "b", "Pulling", "Failed").round(), 60.0);
    // It works again before the second's turn.
    assert_eq!(failed(&played(80, 10)), [""; 0]);
}

#[test]
fn a_pull_ends_with_the_process_of_its_kubelet() {
    let stop = "{at: 60s, fault: {kind: KubeletStop, nodes: {}, for: 30s}}".to_owned();
    let played = play(&slow_pulls(&[run_pod(40, "a"), stop]), &[], &mut |_| {});
    let pulls: Vec<f64> = played.events("Pulling").iter().map(|event| seconds(event.at)).collect();
    let started = played.first("Started");
    assert!(pulls.len() == 2 && pulls[1] > 90.0, "{pulls:?}");
    assert_eq!((started - pulls[1]).round(), 61.0);
}

/// When the API server knew first that the pod `p` runs, and since when it is Ready as its condition says, in seconds.
fn known_to_run(timeline: &str) -> (f64, f64) {
    let mut known = None;
    // Nobody takes the node for lost.
    let patient = "controlPlane: {kubeControllerManager: {node-monitor-grace-period: 2h}}";
    let played = play(&format!("{}, {patient}", spec(timeline, "40m")), &[], &mut |run: &Simulation| {
        let pod = run.store().pods().find(|(_, pod)| &*pod.name == "p" && pod.is_ready());
        if let Some(ready) = pod.and_then(|(_, pod)| pod.ready) {
            known.get_or_insert((seconds(run.now()), seconds(ready.since)));
        }
    });
    assert_eq!(played.events("Started").len(), 1);
    known.expect("the pod is Ready")
}

#[test]
fn what_is_on_its_way_over_a_slow_network_arrives_when_the_link_or_the_kubelet_is_back() {
    let slow = format!("{{at: 60s, fault: {{kind: SlowNetwork, nodes: {{}}, delay: 5m}}}}, {}", run_pod(100, "p"));
    // Seen by the kubelet at 105 s, known five minutes later; the condition bears the kubelet's time.
    let (known, since) = known_to_run(&slow);
    assert!((405.0..406.0).contains(&known) && (105.0..106.0).contains(&since), "{known} {since}");
    for (fault, sent_again) in [("Partition, nodes: {}", 1400.0), ("KubeletStop, nodes: {}", 1400.0)] {
        let (known, since) = known_to_run(&format!("{slow}, {{at: 200s, fault: {{kind: {fault}, for: 20m}}}}"));
        assert!((sent_again + 300.0..sent_again + 310.0).contains(&known), "{fault}: {known}");
        assert!((105.0..106.0).contains(&since), "{fault}: {since}");
    }
    let outage = "{at: 200s, fault: {kind: ControlPlaneOutage, components: [kube-apiserver], for: 10m}}";
    let (known, _) = known_to_run(&format!("{slow}, {outage}"));
    assert!((1100.0..1110.0).contains(&known), "{known}");
}

/// When the only node became Ready, or ceased to be, in seconds.
fn turns(fault: &str) -> Vec<(f64, bool)> {
    let mut turns = Vec::new();
    play(&spec(fault, "15m"), &[], &mut |run: &Simulation| {
        let ready = Some(kubesquall::state::Status::True);
        let is_ready = run.store().nodes().all(|(_, node)| node.conditions.ready() == ready);
        if turns.last().is_none_or(|(_, was)| *was != is_ready) {
            turns.push((seconds(run.now()), is_ready));
        }
    });
    turns
}

#[test]
fn a_status_that_a_slow_network_makes_late_is_late_once() {
    // The last renewal on time is in the ten seconds before the fault; the node is not Ready 50 s after it. Its kubelet, which hears
    // of that at once, says otherwise within ten seconds, and that takes a minute.
    let turns = turns("{at: 60s, fault: {kind: SlowNetwork, nodes: {}, delay: 60s, for: 100s}}");
    let [_, (lost, false), (back, true), ..] = turns[..] else { panic!("{turns:?}") };
    assert!((60.0..71.0).contains(&(back - lost)), "{turns:?}");
}

#[test]
fn a_status_is_a_sign_of_life_when_it_arrives() {
    // Renewals come every 55 s, which is more than the grace of 50 s: but for the status that came last the node would be lost at once.
    let turns = turns("{at: 60s, fault: {kind: SlowNetwork, nodes: {}, delay: 45s}}");
    let [_, (_, false), (back, true), (lost, false), ..] = turns[..] else { panic!("{turns:?}") };
    assert!(lost - back > 45.0, "{turns:?}");
}

#[test]
fn an_image_is_there_that_a_pod_has_run_which_has_failed() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: old, annotations: {kubesquall.sim/run-for: 5h, kubesquall.sim/exit-code: '1'}}, \
               spec: {restartPolicy: Never, containers: [{name: c, image: 'x:1'}]}}";
    let timeline = "{at: 1h30m, fault: {kind: ImagePullFailure}}, {at: 2h, kubectl: run new --image=x:1}";
    let played = play(&spec(timeline, "3h"), &[pod], &mut |_| {});
    let started = played.observed.pods.iter().find(|pod| &*pod.name == "new").and_then(|pod| pod.started_at);
    assert!(played.store.pods().any(|(_, pod)| &*pod.name == "old" && pod.phase.is_terminal()));
    assert!(started.is_some());
}
