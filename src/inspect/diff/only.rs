//! What only one of two runs has.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::figures;
use crate::report::{RunTables, TableError, text, time};

/// Things of a kind that only one run has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnlyInOne {
    /// `fault`, `kubectl`, `node`, `workload` or `service`.
    pub kind: &'static str,
    /// Names that only the first run has.
    pub before: Vec<String>,
    /// Names that only the second run has.
    pub after: Vec<String>,
}

/// What only one of two runs has, by kinds of which there is any.
///
/// # Errors
///
/// If a table is missing or damaged.
pub(super) fn find(runs: [&RunTables; 2]) -> Result<Vec<OnlyInOne>, TableError> {
    let both = |of: fn(&RunTables) -> Result<BTreeSet<String>, TableError>| Ok([of(runs[0])?, of(runs[1])?]);
    let named = |list: &str| runs.map(|run| figures::names(&run.summary()[list]));
    let all = [
        ("fault", both(faults)?),
        ("kubectl", both(commands)?),
        ("node", both(nodes)?),
        ("workload", named("workloads")),
        ("service", named("services")),
    ];
    let found = all.into_iter().map(|(kind, [before, after])| OnlyInOne {
        kind,
        before: before.difference(&after).cloned().collect(),
        after: after.difference(&before).cloned().collect(),
    });
    Ok(found.filter(|found| !found.before.is_empty() || !found.after.is_empty()).collect())
}

/// Faults, with all that they hit.
fn faults(run: &RunTables) -> Result<BTreeSet<String>, TableError> {
    let table = run.read_columns("faults.csv", &["name", "object"])?;
    let places = ["name", "object"].map(|name| table.column(name));
    let mut hit: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for row in table.rows() {
        let [name, object] = places.map(|place| text(row, place));
        hit.entry(name.to_owned()).or_default().push(object);
    }
    Ok(hit.into_iter().map(|(name, objects)| format!("{name} of {}", objects.join(", "))).collect())
}

/// Lines of kubectl, with the times in seconds at which they began.
fn commands(run: &RunTables) -> Result<BTreeSet<String>, TableError> {
    let columns = ["time_s", "component", "reason", "message"];
    let table = run.read_columns("events.csv", &columns)?;
    let [at, component, reason, message] = columns.map(|name| table.column(name));
    let typed = table.rows().filter(|row| text(*row, component) == "scenario" && text(*row, reason) == "Kubectl");
    let told = |row| format!("{} at {} s", text(row, message), time(row, at).unwrap_or_default().seconds_text());
    Ok(typed.map(told).collect())
}

fn nodes(run: &RunTables) -> Result<BTreeSet<String>, TableError> {
    let table = run.read_columns("nodes.csv", &["node"])?;
    let node = table.column("node");
    Ok(table.rows().map(|row| text(row, node).to_owned()).collect())
}
