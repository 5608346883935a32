//! Plays of whole scenarios, with every row that there is.

use kubesquall::observe::{Detail, Observed, Observers};
use kubesquall::scenario::ResolvedScenario;
use kubesquall::simulation::{Prepared, Simulation};
use kubesquall::state::Store;
use kubesquall::units::{SimDuration, SimTime};

/// What a scenario's own seed brings, and the cluster that it leaves.
pub(crate) fn whole(scenario: &ResolvedScenario) -> (Observed, Store) {
    for_long(scenario, scenario.duration)
}

/// The same, of the beginning alone.
pub(crate) fn for_long(scenario: &ResolvedScenario, length: SimDuration) -> (Observed, Store) {
    ended(begun(&Prepared::new(scenario), scenario, scenario.seed), SimTime::ZERO + length)
}

/// A play of that seed that has only begun.
pub(crate) fn begun(prepared: &Prepared, scenario: &ResolvedScenario, seed: u64) -> Simulation {
    prepared.start(seed, Observers::new(Detail::Files, scenario.objectives.clone(), SimDuration::ZERO))
}

/// What a play has brought at its end.
pub(crate) fn ended(mut run: Simulation, end: SimTime) -> (Observed, Store) {
    run.run_until(end);
    let finished = run.finish();
    (finished.observers.finish(end, &finished.store, finished.events), finished.store)
}
