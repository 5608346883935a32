//! Runs that are checked while they are played, and compared with others that must be the same.

use std::path::Path;
use std::sync::Arc;

use super::error::{Error, Reason};
use super::outcome::Outcome;
use super::scenario::Scenario;
use super::simulation::PlayOptions;
use crate::observe::Observers;
use crate::scenario::{self, Overrides, ResolvedScenario, lock_file};
use crate::simulation::Prepared;
use crate::units::SimTime;
use crate::verify::{Violation, compare_figures, compare_rows};

impl Scenario {
    /// Plays it with its own seed and checks after every event that nothing impossible has happened; plays everything twice more,
    /// once from the lock file, and compares.
    ///
    /// # Errors
    ///
    /// If the options keep no rows; else what does not hold, with the event and its time: [`ErrorKind::Bug`](crate::ErrorKind::Bug).
    pub fn verify(&self, options: &PlayOptions<'_>) -> Result<Outcome, Error> {
        if !options.keeps_rows() {
            let advice = "verify it without `summary_only`: rows are what is compared";
            return Err(Error::argument("a run that keeps no rows cannot be verified", advice));
        }
        self.guarded(|| self.try_verify(options))?.map_err(|what| Reason::Broken(what).into())
    }

    fn try_verify(&self, options: &PlayOptions<'_>) -> Result<Outcome, String> {
        // First of all, as a run that never ends says nothing.
        let checked = play_checked(self.resolved()).map_err(|violation| violation.to_string())?;
        let (outcome, store) = self.settle().play_to_end(self.seed(), options);
        compare_rows(&outcome.observed, &store)?;
        compare_figures(&outcome.observed)?;
        same("a second run", &outcome, checked)?;
        let lock = self.lock_file();
        let overrides = Overrides::none().within(self.resolved().limits);
        let locked = scenario::load_text("scenario.lock.yaml", &lock, Path::new(""), &overrides);
        let locked = Arc::new(locked.map_err(|invalid| format!("the lock file cannot be read:\n{invalid}"))?);
        let again = self.in_place_of(Arc::clone(&locked)).settle().play_with(locked.seed, options);
        same("a run from the lock file", &outcome, again.digest)?;
        if lock_file(&locked) != lock {
            return Err("the lock file of the lock file differs".to_owned());
        }
        Ok(outcome)
    }
}

fn same(what: &str, outcome: &Outcome, other: u64) -> Result<(), String> {
    if other == outcome.digest {
        return Ok(());
    }
    Err(format!("{what} differs: digest {:016x}, then {other:016x}", outcome.digest))
}

/// Plays under the eyes of a verifier, and on until the cluster is at rest; gives the digest at the scenario's end.
fn play_checked(scenario: &ResolvedScenario) -> Result<u64, Violation> {
    let mut run = Prepared::verified(scenario)?.start(scenario.seed, Observers::none());
    run.verify();
    run.run_until(SimTime::ZERO + scenario.duration);
    let digest = run.digest();
    run.come_to_rest().map_or(Ok(digest), Err)
}
