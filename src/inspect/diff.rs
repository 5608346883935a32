//! What changed from one run to another.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::InspectError;

/// What differs between two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// Metrics of the whole run, by name.
    pub metrics: Vec<Difference>,
    /// Workloads whose outcome differs, those that changed most first.
    pub workloads: Vec<WorkloadDifference>,
}

/// A number in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Of what.
    pub metric: String,
    /// In the first run; none if it does not have it.
    pub before: Option<f64>,
    /// In the second run.
    pub after: Option<f64>,
}

/// A workload in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadDifference {
    /// `deployment/NS/NAME`.
    pub workload: String,
    /// The numbers that differ.
    pub numbers: Vec<Difference>,
}

/// Compares the summaries of two runs.
///
/// # Errors
///
/// If one of the directories is no run's.
pub fn diff(before: &Path, after: &Path) -> Result<Diff, InspectError> {
    let (before, after) = (super::summary_of_run(before)?, super::summary_of_run(after)?);
    let metrics = differences(&numbers(&before["metrics"]), &numbers(&after["metrics"]));
    let (before, after) = (workloads(&before), workloads(&after));
    let empty = BTreeMap::new();
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut changed: Vec<WorkloadDifference> = Vec::new();
    for name in names {
        let numbers = differences(before.get(name).unwrap_or(&empty), after.get(name).unwrap_or(&empty));
        if !numbers.is_empty() {
            changed.push(WorkloadDifference { workload: name.clone(), numbers });
        }
    }
    let size = |workload: &WorkloadDifference| {
        let unready = workload.numbers.iter().find(|number| number.metric == "unready_replica_s");
        unready.map_or(0.0, |number| (number.after.unwrap_or(0.0) - number.before.unwrap_or(0.0)).abs())
    };
    changed.sort_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| a.workload.cmp(&b.workload)));
    Ok(Diff { metrics, workloads: changed })
}

/// The members of an object that are numbers or truth values.
fn numbers(object: &Value) -> BTreeMap<String, f64> {
    let members = object.as_object().into_iter().flatten();
    let number = |value: &Value| value.as_f64().or_else(|| value.as_bool().map(|is| f64::from(u8::from(is))));
    members.filter_map(|(name, value)| Some((name.clone(), number(value)?))).collect()
}

fn workloads(summary: &Value) -> BTreeMap<String, BTreeMap<String, f64>> {
    let all = summary["workloads"].as_array().into_iter().flatten();
    all.map(|workload| {
        let text = |field: &str| workload[field].as_str().unwrap_or_default().to_owned();
        let name = format!("{}/{}/{}", text("kind").to_ascii_lowercase(), text("namespace"), text("name"));
        (name, numbers(workload))
    })
    .collect()
}

fn differences(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) -> Vec<Difference> {
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let pairs = names.into_iter().map(|name| (name, before.get(name).copied(), after.get(name).copied()));
    pairs
        .filter(|(_, before, after)| before != after)
        .map(|(name, before, after)| Difference { metric: name.clone(), before, after })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn run(summary: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("summary.json"), summary).expect("a file");
        dir
    }

    #[test]
    fn equal_numbers_are_left_out() {
        let workload = |unready: f64, met: bool| {
            format!(
                r#"{{"metrics":{{"evictions":3,"events":{unready}}},"workloads":[{{"kind":"Deployment","namespace":"a","name":"w",
                   "desired":3,"unready_replica_s":{unready},"objective_met":{met}}}]}}"#
            )
        };
        let found = diff(run(&workload(10.0, true)).path(), run(&workload(70.0, false)).path()).expect("two runs");
        assert_eq!(found.metrics.len(), 1);
        assert_eq!(found.workloads[0].workload, "deployment/a/w");
        let of = |metric: &str, before, after| Difference { metric: metric.to_owned(), before, after };
        let expected = [of("objective_met", Some(1.0), Some(0.0)), of("unready_replica_s", Some(10.0), Some(70.0))];
        assert_eq!(found.workloads[0].numbers, expected);
    }

    #[test]
    fn a_study_is_no_run() {
        let study = run(r#"{"study": {"study": "tolerations"}, "variants": []}"#);
        let ours = run(r#"{"metrics": {}, "workloads": []}"#);
        let compared = diff(ours.path(), study.path());
        assert!(matches!(compared, Err(InspectError::OtherResults { found: "a study", .. })), "{compared:?}");
    }

    #[test]
    fn a_directory_without_a_summary_is_no_run() {
        let empty = tempfile::tempdir().expect("a temporary directory");
        assert!(matches!(diff(empty.path(), empty.path()), Err(InspectError::NoRun(_))));
    }
}
