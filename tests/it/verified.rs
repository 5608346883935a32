//! Plays under the eyes of a verifier.

use kubesquall::observe::{Detail, Observed, Observers};
use kubesquall::scenario::ResolvedScenario;
use kubesquall::simulation::Prepared;
use kubesquall::units::{SimDuration, SimTime};
use kubesquall::verify::{compare_figures, compare_rows};

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

/// What `run --verify` looks at, and its digest; the error says what is wrong.
pub(crate) fn checked(scenario: &ResolvedScenario, comes_to_rest: bool) -> Result<u64, String> {
    let end = SimTime::ZERO + scenario.duration;
    let prepared = Prepared::verified(scenario).map_err(|violation| format!("before t=0: {violation}"))?;
    let mut run = prepared.start(scenario.seed, Observers::none());
    run.verify();
    run.run_until(end);
    let digest = run.digest();
    let violation = if comes_to_rest { run.come_to_rest() } else { run.violation().cloned() };
    if let Some(violation) = violation {
        return Err(violation.to_string());
    }
    let observers = Observers::new(Detail::Files, scenario.objectives.clone(), SimDuration::ZERO);
    let mut again = prepared.start(scenario.seed, observers);
    again.run_until(end);
    let finished = again.finish();
    if finished.digest != digest {
        return Err("a second run, with observers, played other events".to_owned());
    }
    let observed = finished.observers.finish(end, &finished.store, finished.events);
    compare_rows(&observed, &finished.store)?;
    compare_figures(&observed)?;
    Ok(digest)
}
