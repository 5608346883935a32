//! Random processes of failure and repair.

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
