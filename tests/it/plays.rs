//! Plays of whole scenarios, with every row that there is.

use kubesquall::observe::{Detail, Observed, Observers};
use kubesquall::scenario::{self, Overrides, ResolvedScenario};
use kubesquall::simulation::{Prepared, Simulation};
use kubesquall::state::Store;
use kubesquall::units::{SimDuration, SimTime};
use serde_json::{Value, json};

/// Lays fields over others: maps are joined, anything else is replaced.
pub(crate) fn lay_over(below: &mut Value, above: &Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            above.iter().for_each(|(key, value)| lay_over(below.entry(key).or_insert(Value::Null), value));
        }
        (below, above) => *below = above.clone(),
    }
}

/// A scenario on a cluster of these objects: eight minutes, pods start within 1 s and stop within 10 s, but for what `spec` says.
pub(crate) fn scenario_with(items: &Value, spec: &Value) -> ResolvedScenario {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    std::fs::write(directory.path().join("state.json"), list.to_string()).expect("a state");
    let mut whole = json!({
        "duration": "8m",
        "latency": {"podStop": {"constant": "10s"}, "podStart": {"constant": "1s"}},
        "cluster": {"manifests": ["state.json"], "allowPartial": true},
    });
    lay_over(&mut whole, spec);
    let metadata = json!({"name": "scenario"});
    let document =
        json!({"apiVersion": "kubesquall.sim/v1alpha1", "kind": "Scenario", "metadata": metadata, "spec": whole});
    scenario::load_text("test", &document.to_string(), directory.path(), &Overrides::none())
        .unwrap_or_else(|invalid| panic!("{invalid}"))
}

/// What it brings.
pub(crate) fn play_with(items: &Value, spec: &Value) -> Observed {
    whole(&scenario_with(items, spec)).0
}

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
