//! Random processes of failure and repair.

use super::super::figures;
use super::{play, pool};

#[test]
fn machines_have_been_running_when_a_scenario_begins() {
    // In 10 of 100 days each of 300 machines fails 0.1 times on average, with a variance of 0.23: 30 ± 4 times 8.2. Machines
    // that were all new would fail some 230 times, as with this shape most failures come early.
    let process = "faults: [{name: crashes, kind: Partition, timeToFailure: {weibull: {shape: 0.4, mean: 100d}}, \
                   timeToRepair: {constant: 1s}}]";
    let spec = format!("duration: 240h, {}, {process}, timeline: []", pool(300));
    let failures = play(&spec, &[], &mut |_| {}).events("FaultBegan").len();
    assert!((1..=63).contains(&failures), "{failures}");
}

#[test]
fn a_machine_that_is_gone_for_good_neither_fails_again_nor_comes_back() {
    let process = "faults: [{name: gone, kind: InstanceGone, timeToFailure: {exponential: {mean: 5m}}}]";
    let spec = format!("duration: 240h, {}, {process}, timeline: []", pool(3));
    let played = play(&spec, &[], &mut |_| {});
    let began = played.events("FaultBegan");
    assert_eq!(began.len(), 3, "{began:?}");
    // Over in the instant in which it happens.
    let ended: Vec<_> = played.events("FaultEnded").iter().map(|event| event.at).collect();
    assert_eq!(ended, began.iter().map(|event| event.at).collect::<Vec<_>>());
}

#[test]
fn what_is_over_at_once_needs_no_time_to_repair_and_fails_again() {
    for kind in ["Reboot", "PodKill"] {
        let process =
            format!("faults: [{{name: again, kind: {kind}, timeToFailure: {{constant: 1h}}{}}}]", pods_of(kind));
        let spec = format!("duration: 9h30m, {}, {process}, timeline: []", pool(1));
        let played = play(&spec, &[&figures::web(1)], &mut |_| {});
        assert_eq!(played.events("FaultBegan").len(), 9, "{kind}");
    }
}

/// A process that hits pods says which.
fn pods_of(kind: &str) -> &'static str {
    if kind == "PodKill" { ", pods: {}" } else { "" }
}

#[test]
fn a_count_of_nodes_draws_those_that_fail() {
    let process = "faults: [{name: some, kind: Reboot, nodes: {count: 2}, timeToFailure: {constant: 1h}}]";
    let spec = format!("duration: 4h30m, {}, {process}, timeline: []", pool(5));
    let played = play(&spec, &[], &mut |_| {});
    let hit: std::collections::BTreeSet<String> =
        played.events("FaultBegan").iter().map(|event| event.name.to_string()).collect();
    assert_eq!((hit.len(), played.events("FaultBegan").len()), (2, 8));
}
