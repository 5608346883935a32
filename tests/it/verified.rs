//! Plays under the eyes of a verifier.

use kubesquall::observe::{Observed, Observers};
use kubesquall::scenario::ResolvedScenario;
use kubesquall::simulation::Prepared;
use kubesquall::units::SimTime;
use kubesquall::verify::{compare_figures, compare_rows};

use super::plays;

/// What a scenario's own seed brings; nothing impossible may happen.
pub(crate) fn play(scenario: &ResolvedScenario) -> Observed {
    let prepared = Prepared::verified(scenario).unwrap_or_else(|violation| panic!("{violation:?}"));
    let mut run = plays::begun(&prepared, scenario, scenario.seed);
    run.verify();
    let end = SimTime::ZERO + scenario.duration;
    run.run_until(end);
    assert!(run.violation().is_none(), "{:?}", run.violation());
    let (observed, _) = plays::ended(run, end);
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
    let mut again = plays::begun(&prepared, scenario, scenario.seed);
    again.run_until(end);
    if again.digest() != digest {
        return Err("a second run, with observers, played other events".to_owned());
    }
    let (observed, store) = plays::ended(again, end);
    compare_rows(&observed, &store)?;
    compare_figures(&observed)?;
    Ok(digest)
}
