//! What was tried, for programs. Its fields are described in `docs/pipelines.md`.

use serde_json::{Value, json};

use super::Report;
use super::snapshot::Kept;
use super::trial::{Judged, Outcome, Played, Trial};

pub(super) fn value(report: &Report) -> Value {
    let tally = report.tally();
    json!({
        "holds": report.holds(),
        "counts": {
            "scenarios": report.trials.len(),
            "played": tally.played,
            "without_expectations": tally.without_expectations,
            "expectations_holding": tally.holding,
            "expectations_broken": tally.broken,
            "snapshots_same": tally.same,
            "snapshots_moved": tally.moved,
            "snapshots_written": tally.written,
            "snapshots_without_scenario": report.orphans.len(),
            "unusable": tally.unusable,
            "bugs": tally.bugs,
        },
        "passed_over": report.passed_over,
        "scenarios": report.trials.iter().map(of_trial).collect::<Vec<_>>(),
        "snapshots_without_scenario":
            report.orphans.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
    })
}

fn of_trial(trial: &Trial) -> Value {
    match &trial.outcome {
        Outcome::Played(played) => of_played(played, &trial.file),
        Outcome::Unusable(unusable) => {
            json!({"file": trial.file, "outcome": "unusable", "problems": unusable.diagnostics})
        }
        Outcome::Bug { what, .. } => json!({"file": trial.file, "outcome": "bug", "message": what}),
    }
}

fn of_played(played: &Played, file: &str) -> Value {
    json!({
        "file": file,
        "outcome": if played.holds() { "holds" } else { "fails" },
        "scenario": played.name,
        "seed": played.seed,
        "duration_s": played.duration.as_secs_f64(),
        "expectations": played.judged.iter().map(of_expectation).collect::<Vec<_>>(),
        "snapshot": of_snapshot(played),
        "remarks": played.remarks,
    })
}

fn of_expectation(Judged { outcome, location }: &Judged) -> Value {
    json!({
        "metric": outcome.metric,
        "op": outcome.op,
        "value": outcome.value,
        "found": outcome.found,
        "holds": outcome.holds,
        "file": location.file,
        "line": location.line,
    })
}

/// Null if no figures are kept.
fn of_snapshot(played: &Played) -> Value {
    let Some(place) = &played.snapshot else { return Value::Null };
    let place = place.to_string_lossy();
    match &played.kept {
        Kept::Nothing => Value::Null,
        Kept::Same => json!({"file": place, "outcome": "same"}),
        Kept::Written => json!({"file": place, "outcome": "written"}),
        Kept::Moved(moved) => json!({"file": place, "outcome": "moved", "moved": moved}),
        Kept::Unusable(unusable) => json!({"file": place, "outcome": "unusable", "problems": unusable.diagnostics}),
    }
}
