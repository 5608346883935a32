//! Random scenarios, checked after every event. A failure names the seed and leaves the scenario in a file.

use std::fs;
use std::ops::Range;
use std::panic;
use std::path::{Path, PathBuf};

use kubesquall::scenario::{self, Overrides};
use rayon::prelude::*;

use super::{plays, random_scenario, verified};

/// As many as take some seconds; `.ci/nightly` plays more, as does `RANDOM_SEEDS=0..20000`.
const SEEDS_BY_DEFAULT: u64 = 60;

/// Plays the scenario of a seed; says what is wrong.
fn play(text: &str) -> Result<(), String> {
    let resolved = scenario::load_text("scenario.yaml", text, Path::new(""), &Overrides::none());
    let resolved = resolved.map_err(|invalid| format!("the generator made an invalid scenario:\n{invalid}"))?;
    verified::checked(&resolved, true).map(|_| ())
}

/// Plays a seed; a failure is kept as a file for `kubesquall run`.
fn failure(seed: u64) -> Option<String> {
    let text = random_scenario::scenario(seed);
    // Before it is played: one that never ends is found among those that are left.
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("random-{seed}.yaml"));
    fs::write(&file, &text).expect("a place for the scenario");
    let result = panic::catch_unwind(|| play(&text)).unwrap_or_else(|payload| {
        let message = payload.downcast_ref::<String>().map(String::as_str);
        Err(message.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned())
    });
    let Err(what) = result else {
        fs::remove_file(&file).expect("the scenario");
        return None;
    };
    Some(format!("seed {seed}: {what}\n  kubesquall run {} --verify", file.display()))
}

/// The seeds to play: those of the environment variable, as `FROM..TO`, else those given; whether they were asked for.
pub(crate) fn seeds(variable: &str, otherwise: Range<u64>) -> (Range<u64>, bool) {
    #[expect(clippy::disallowed_methods, reason = "how more seeds are asked for, or a single one")]
    let asked = std::env::var(variable).ok();
    let asked = asked.and_then(|text| {
        let (from, to) = text.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    (asked.clone().unwrap_or(otherwise), asked.is_some())
}

#[test]
fn no_random_scenario_breaks_an_invariant() {
    let (seeds, asked) = seeds("RANDOM_SEEDS", 0..SEEDS_BY_DEFAULT);
    let failures: Vec<String> = seeds.into_par_iter().filter_map(failure).collect();
    let shown =
        failures.iter().take(if asked { usize::MAX } else { 20 }).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{} seeds fail, among them:\n{shown}", failures.len());
}

/// Everything that the files of a seed's run hold.
fn rows(seed: u64) -> String {
    let text = random_scenario::scenario(seed);
    let resolved = scenario::load_text("scenario.yaml", &text, Path::new(""), &Overrides::none()).expect("a scenario");
    format!("{:?}", plays::whole(&resolved).0)
}

#[test]
fn a_seed_gives_the_same_rows_twice() {
    let (seeds, _) = seeds("RANDOM_SEEDS", 0..8);
    let differing: Vec<u64> = seeds.into_par_iter().filter(|&seed| rows(seed) != rows(seed)).collect();
    assert_eq!(differing, Vec::<u64>::new());
}
