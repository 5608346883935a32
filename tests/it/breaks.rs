//! Scenarios that broke something once: each of `tests/breaks` plays to its end under a verifier, comes to rest, gives figures that can be
//! counted anew, and plays the same from its lock file. So do the scenarios that come with the program.

use std::path::{Path, PathBuf};

use kubesquall::observe::Observers;
use kubesquall::scenario::{self, Overrides, ResolvedScenario};
use kubesquall::simulation::Prepared;
use kubesquall::units::{SimDuration, SimTime};
use rayon::prelude::*;

use super::verified;

/// Those whose workload makes pods without end: the settling says so, and goes on.
const STORMS: [&str; 5] = [
    "claim-for-one-pod.yaml",
    "no-node-affinity.yaml",
    "no-resources-fit-statefulset.yaml",
    "no-resources-fit.yaml",
    "no-taint-toleration.yaml",
];

/// A storm is the same after some minutes.
const STORM_FOR: SimDuration = SimDuration::from_secs(180);

/// Of the scenarios that come with the program, so much is played.
const SHIPPED_FOR: SimDuration = SimDuration::from_secs(3600);

/// The lock file can be read, plays the same and gives itself.
fn locked(scenario: &ResolvedScenario, digest: u64) -> Result<(), String> {
    let lock = scenario::lock_file(scenario);
    let again = scenario::load_text("scenario.lock.yaml", &lock, Path::new(""), &Overrides::none());
    let again = again.map_err(|invalid| format!("the lock file cannot be read:\n{invalid}"))?;
    let mut run = Prepared::new(&again).start(again.seed, Observers::none());
    run.run_until(SimTime::ZERO + again.duration);
    if run.digest() != digest {
        return Err("a run from the lock file differs".to_owned());
    }
    if scenario::lock_file(&again) == lock { Ok(()) } else { Err("the lock file of the lock file differs".to_owned()) }
}

/// What is wrong with the play of a file, if something is; at most so much of it is played.
fn wrong(path: &Path, length_max: SimDuration) -> Option<String> {
    let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
    let played = || -> Result<(), String> {
        let mut scenario = scenario::load(path, &Overrides::none()).map_err(|invalid| invalid.to_string())?;
        let is_storm = STORMS.contains(&name);
        let storms = Prepared::new(&scenario).storms().to_vec();
        if storms.is_empty() == is_storm {
            return Err(format!("storms {storms:?}"));
        }
        scenario.duration = scenario.duration.min(if is_storm { STORM_FOR } else { length_max });
        let digest = verified::checked(&scenario, !is_storm)?;
        locked(&scenario, digest)
    };
    played().err().map(|what| format!("{name}: {what}"))
}

/// The scenarios of a directory, by name.
fn scenarios(directory: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(directory).expect("the scenarios").map(|file| file.expect("a file").path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).collect();
    files.sort();
    files
}

#[test]
fn what_broke_something_once_plays_and_comes_to_rest() {
    let files = scenarios("tests/breaks");
    assert!(files.len() > 30, "the scenarios are there");
    let wrong: Vec<String> = files.par_iter().filter_map(|file| wrong(file, SimDuration::MAX)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_comes_with_the_program_plays_and_comes_to_rest() {
    let files = scenarios("scenarios");
    assert!(files.len() > 10, "the scenarios are there");
    let wrong: Vec<String> = files.par_iter().filter_map(|file| wrong(file, SHIPPED_FOR)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
