//! The files of a run against the cluster that it left behind.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::observe::Observed;
use crate::state::{Status, Store};
use crate::units::SimTime;

/// Reads the rows of pods, readiness and nodes to their end and compares what they add up to with the store.
///
/// # Errors
///
/// If they differ: where.
pub fn compare(observed: &Observed, store: &Store) -> Result<(), String> {
    pods(observed, store)?;
    readiness(observed, store)?;
    nodes(observed, store)
}

fn pods(observed: &Observed, store: &Store) -> Result<(), String> {
    let mut alive = 0;
    for row in observed.pods.iter().filter(|row| row.gone_at.is_none()) {
        let name = format_args!("{}/{}", row.namespace, row.name);
        let Some(pod) = store.find_pod(row.namespace, &row.name).and_then(|id| store.pod(id)) else {
            return Err(format!("pods.csv has pod {name}, which is gone"));
        };
        alive += 1;
        let node = pod.node.map(|node| store.node_name(node)).unwrap_or_default();
        let differs = [
            ("node", row.node != node),
            ("phase", row.phase != pod.phase),
            ("reason", row.reason != pod.reason),
            ("restarts", row.restarts != pod.restarts_total()),
            ("deletion", row.deletion_at.is_some() != pod.deletion.is_some()),
            ("scheduled", row.scheduled_at.is_some() != pod.node.is_some()),
            ("finished", row.finished_at.is_some() != pod.phase.is_terminal()),
        ];
        if let Some((column, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            return Err(format!("pods.csv and the cluster differ in the {column} of pod {name}"));
        }
    }
    if alive != store.pod_count() {
        return Err(format!("pods.csv has {alive} pods that are not gone; there are {}", store.pod_count()));
    }
    Ok(())
}

fn readiness(observed: &Observed, store: &Store) -> Result<(), String> {
    let mut last: FxHashMap<(Symbol, &Arc<str>), (SimTime, bool)> = FxHashMap::default();
    for row in &observed.readiness {
        last.insert((row.namespace, &row.name), (row.at, row.ready));
    }
    let wrong = store.pods().find(|(_, pod)| {
        // Rows before it are of another pod, whose name it took over.
        let shown = last.get(&(pod.namespace, &pod.name)).is_some_and(|(at, ready)| *ready && *at >= pod.created_at);
        shown != pod.is_ready()
    });
    wrong.map_or(Ok(()), |(_, pod)| {
        Err(format!("readiness.csv and the cluster differ in pod {}/{}", pod.namespace, pod.name))
    })
}

fn nodes(observed: &Observed, store: &Store) -> Result<(), String> {
    let mut last = FxHashMap::default();
    for row in &observed.nodes {
        last.insert(row.node, row);
    }
    for (id, node) in store.nodes() {
        let name = store.node_name(id);
        let Some(row) = last.get(&name) else { return Err(format!("nodes.csv lacks node {name}")) };
        let pods = store.pods_on(id).iter().filter_map(|pod| store.pod(*pod));
        let unfinished = pods.filter(|pod| !pod.phase.is_terminal()).count();
        let ready = node.conditions.ready().unwrap_or(Status::Unknown).as_str();
        let differs = [
            ("pods", usize::try_from(row.pods) != Ok(unfinished)),
            ("readiness", row.ready != ready),
            ("unschedulable", row.unschedulable != node.unschedulable),
            ("taints", row.taints.split(';').filter(|t| !t.is_empty()).count() != node.taints.len()),
        ];
        if let Some((column, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            return Err(format!("nodes.csv and the cluster differ in the {column} of node {name}"));
        }
    }
    Ok(())
}
