//! Plays under the eyes of a verifier.

use kubesquall::observe::{Detail, Observed, Observers};
use kubesquall::scenario::ResolvedScenario;
use kubesquall::simulation::Prepared;
use kubesquall::units::{SimDuration, SimTime};
use kubesquall::verify::compare_figures;

/// What a scenario's own seed brings; nothing impossible may happen.
pub(crate) fn play(scenario: &ResolvedScenario) -> Observed {
    let observers = Observers::new(Detail::Files, Vec::new(), SimDuration::ZERO);
    let prepared = Prepared::verified(scenario).unwrap_or_else(|violation| panic!("{violation:?}"));
    let mut run = prepared.start(scenario.seed, observers);
    run.verify();
    let end = SimTime::ZERO + scenario.duration;
    run.run_until(end);
    assert!(run.violation().is_none(), "{:?}", run.violation());
    let finished = run.finish();
    let observed = finished.observers.finish(end, &finished.store, finished.events);
    compare_figures(&observed).unwrap_or_else(|what| panic!("{what}"));
    observed
}
