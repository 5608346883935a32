//! What kube-state-metrics says of workloads.

use std::io;
use std::sync::Arc;

use indexmap::IndexMap;

use super::{Change, Samples};
use crate::report::run_tables::RunTables;
use crate::report::table::{Table, text, whole};
use crate::report::tables::TableError;

const COLUMNS: &[&str] =
    &["time_s", "namespace", "kind", "name", "desired", "current", "ready", "available", "updated", "misscheduled"];

/// What is counted, in the order of the columns.
struct Counts {
    desired: f64,
    current: f64,
    ready: f64,
    available: f64,
    updated: f64,
    misscheduled: f64,
}

/// A metric, and what it counts.
type Metric = (&'static str, fn(&Counts) -> f64);

const DEPLOYMENT: &[Metric] = &[
    ("kube_deployment_spec_replicas", |of| of.desired),
    ("kube_deployment_status_replicas", |of| of.current),
    ("kube_deployment_status_replicas_ready", |of| of.ready),
    ("kube_deployment_status_replicas_available", |of| of.available),
    ("kube_deployment_status_replicas_unavailable", |of| (of.desired.max(of.current) - of.available).max(0.0)),
    ("kube_deployment_status_replicas_updated", |of| of.updated),
];
const STATEFUL_SET: &[Metric] = &[
    ("kube_statefulset_replicas", |of| of.desired),
    ("kube_statefulset_status_replicas", |of| of.current),
    ("kube_statefulset_status_replicas_ready", |of| of.ready),
    ("kube_statefulset_status_replicas_available", |of| of.available),
    ("kube_statefulset_status_replicas_updated", |of| of.updated),
];
const DAEMON_SET: &[Metric] = &[
    ("kube_daemonset_status_desired_number_scheduled", |of| of.desired),
    ("kube_daemonset_status_current_number_scheduled", |of| of.current),
    ("kube_daemonset_status_number_ready", |of| of.ready),
    ("kube_daemonset_status_number_available", |of| of.available),
    ("kube_daemonset_status_number_unavailable", |of| (of.desired - of.available).max(0.0)),
    ("kube_daemonset_status_number_misscheduled", |of| of.misscheduled),
    ("kube_daemonset_status_updated_number_scheduled", |of| of.updated),
];
const REPLICA_SET: &[Metric] = &[
    ("kube_replicaset_spec_replicas", |of| of.desired),
    ("kube_replicaset_status_replicas", |of| of.current),
    ("kube_replicaset_status_ready_replicas", |of| of.ready),
];

/// Kinds of workloads, the label that has their name, and their metrics.
const KINDS: [(&str, &str, &[Metric]); 4] = [
    ("Deployment", "deployment", DEPLOYMENT),
    ("StatefulSet", "statefulset", STATEFUL_SET),
    ("DaemonSet", "daemonset", DAEMON_SET),
    ("ReplicaSet", "replicaset", REPLICA_SET),
];

pub(super) fn read(run: &RunTables) -> Result<Arc<Table>, TableError> {
    run.read("workloads.csv", COLUMNS).map(Arc::clone)
}

pub(super) fn write(table: &Table, answer: &mut dyn Samples) -> io::Result<()> {
    let histories = histories(table);
    for (of, label, metrics) in KINDS {
        for (name, count) in metrics {
            for ((_, namespace, workload), history) in histories.iter().filter(|((kind, ..), _)| *kind == of) {
                let changes: Vec<Change> =
                    history.iter().map(|(at_ms, counts)| (*at_ms, Some(count(counts)))).collect();
                answer.series(name, &[("namespace", namespace), (label, workload)], &changes)?;
            }
        }
    }
    Ok(())
}

/// What becomes of each workload, by kind, namespace and name: counts and since when, in milliseconds.
type Histories<'a> = IndexMap<(&'a str, &'a str, &'a str), Vec<(i64, Counts)>>;

fn histories(table: &Table) -> Histories<'_> {
    let column = |name| table.column(name);
    let (time, namespace, kind, name) = (column("time_s"), column("namespace"), column("kind"), column("name"));
    let counted = ["desired", "current", "ready", "available", "updated", "misscheduled"].map(column);
    let mut histories = Histories::new();
    for row in table.rows() {
        let [desired, current, ready, available, updated, misscheduled] =
            counted.map(|column| whole(row, column).unwrap_or_default() as f64);
        let counts = Counts { desired, current, ready, available, updated, misscheduled };
        let key = (text(row, kind), text(row, namespace), text(row, name));
        histories.entry(key).or_default().push((whole(row, time).unwrap_or_default(), counts));
    }
    histories
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{answer, samples};

    #[test]
    fn replicas_are_counted_at_each_scrape() {
        let rows = "0.000,shop,Deployment,web,3,3,3,3,3,0\n45.000,shop,Deployment,web,3,3,2,2,3,0\n\
                    50.000,shop,Deployment,web,3,3,3,3,3,0\n115.000,shop,Deployment,web,4,4,3,3,4,0\n";
        let found = answer(60, &[("workloads.csv", rows)]);
        let of = |name: &str| samples(&found, json!({"__name__": name, "namespace": "shop", "deployment": "web"}));
        assert_eq!(of("kube_deployment_status_replicas_available"), "60=3 120=3 180=3 240=3");
        assert_eq!(of("kube_deployment_spec_replicas"), "60=3 120=3 180=4 240=4");
        assert_eq!(of("kube_deployment_status_replicas_unavailable"), "60=0 120=0 180=1 240=1");
    }
}
