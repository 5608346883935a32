//! Scenarios that broke something once: each of `tests/breaks` plays to its end under a verifier, and comes to rest.

use std::path::Path;

use kubesquall::observe::Observers;
use kubesquall::scenario::{self, Overrides};
use kubesquall::simulation::Prepared;
use kubesquall::units::SimTime;

/// Those whose workload makes pods without end: the settling says so, and goes on.
const STORMS: [&str; 5] = [
    "claim-for-one-pod.yaml",
    "no-node-affinity.yaml",
    "no-resources-fit-statefulset.yaml",
    "no-resources-fit.yaml",
    "no-taint-toleration.yaml",
];

/// What is wrong with the play of a file, if something is.
fn wrong(path: &Path) -> Option<String> {
    let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
    let scenario = match scenario::load(path, &Overrides::none()) {
        Ok(scenario) => scenario,
        Err(invalid) => return Some(format!("{name}: {invalid}")),
    };
    let prepared = match Prepared::verified(&scenario) {
        Ok(prepared) => prepared,
        Err(violation) => return Some(format!("{name}, before t=0: {violation}")),
    };
    let is_storm = STORMS.contains(&name);
    if prepared.storms().is_empty() == is_storm {
        return Some(format!("{name}: storms {:?}", prepared.storms()));
    }
    let mut run = prepared.start(scenario.seed, Observers::none());
    run.verify();
    // A storm is the same after some minutes.
    let end = if is_storm { SimTime::from_secs(180) } else { SimTime::ZERO + scenario.duration };
    run.run_until(end);
    let violation = if is_storm { run.violation().cloned() } else { run.come_to_rest() };
    violation.map(|violation| format!("{name}: {violation}"))
}

#[test]
fn what_broke_something_once_plays_and_comes_to_rest() {
    let files = std::fs::read_dir("tests/breaks").expect("the scenarios");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    assert!(files.len() > 20, "the scenarios are there");
    let wrong: Vec<String> = files.iter().filter_map(|file| wrong(file)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
