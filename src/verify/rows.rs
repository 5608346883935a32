//! The files of a run against the cluster that it left behind, and their rows against each other.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::model::{Resources, TaintEffect, zone_of};
use crate::observe::{FaultRow, Observed, PodRow, TaintChange, TaintRow};
use crate::state::{Status, Store};
use crate::units::SimTime;

/// Reads the rows of pods, readiness, nodes and taints to their end and compares what they add up to with the store; of taints and
/// faults, whether each row can follow those before it.
///
/// # Errors
///
/// If they differ: where.
pub fn compare(observed: &Observed, store: &Store) -> Result<(), String> {
    pods(observed, store)?;
    readiness(observed, store)?;
    nodes(observed, store)?;
    taints(&observed.taints, store)?;
    faults(&observed.faults, &observed.pods, store)
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
        let unfinished: Vec<_> = pods.filter(|pod| !pod.phase.is_terminal()).map(|pod| &pod.spec.requests).collect();
        let requested = |amount: fn(&Resources) -> i64| unfinished.iter().map(|requests| amount(requests)).sum::<i64>();
        let ready = node.conditions.ready().unwrap_or(Status::Unknown).as_str();
        let differs = [
            ("pods", usize::try_from(row.requested.pods) != Ok(unfinished.len())),
            ("requested CPU", row.requested.cpu_milli != requested(|requests| requests.cpu_milli)),
            ("requested memory", row.requested.memory != requested(|requests| requests.memory)),
            ("readiness", row.ready != ready),
            ("unschedulable", row.unschedulable != node.unschedulable),
            ("zone", row.zone != zone_of(&node.labels).unwrap_or_default()),
            ("taints", row.taints.split(';').filter(|t| !t.is_empty()).count() != node.taints.len()),
        ];
        if let Some((column, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            return Err(format!("nodes.csv and the cluster differ in the {column} of node {name}"));
        }
    }
    Ok(())
}

/// A taint is put on a node that has none of its key and effect, changed and taken off one that has it, and there at the end.
fn taints(rows: &[TaintRow], store: &Store) -> Result<(), String> {
    let mut on: FxHashMap<(Symbol, Symbol, TaintEffect), Symbol> = FxHashMap::default();
    let mut last = SimTime::ZERO;
    for row in rows {
        let which = (row.node, row.key, row.effect);
        let before = match row.change {
            TaintChange::Removed => on.remove(&which),
            TaintChange::Present | TaintChange::Added | TaintChange::Modified => on.insert(which, row.value),
        };
        let is_in_turn = match (row.change, before) {
            (TaintChange::Present, before) => before.is_none() && row.at == SimTime::ZERO && row.by.is_empty(),
            (TaintChange::Added, before) => before.is_none(),
            (TaintChange::Modified, before) => before.is_some_and(|value| value != row.value),
            (TaintChange::Removed, before) => before == Some(row.value),
        };
        if !is_in_turn || row.at < last {
            let TaintRow { at, node, key, effect, change, .. } = row;
            let (effect, change) = (effect.as_str(), change.as_str());
            return Err(format!("taints.csv: {key}:{effect} of node {node} cannot be {change} at {at}"));
        }
        last = row.at;
    }
    for (id, node) in store.nodes() {
        let name = store.node_name(id);
        for taint in &node.taints {
            if on.remove(&(name, taint.key, taint.effect)) != Some(taint.value) {
                return Err(format!("taints.csv and the cluster differ in {} of node {name}", taint.key));
            }
        }
    }
    match on.keys().min() {
        Some((node, key, _)) => Err(format!("taints.csv leaves {key} on node {node}, which does not have it")),
        None => Ok(()),
    }
}

/// When the pods of each namespace and name were there.
type Lives<'a> = FxHashMap<(Symbol, &'a str), Vec<(SimTime, Option<SimTime>)>>;

/// What a fault hits is there; it ends after it begins, and begins again after it has ended, but for nodes that join meanwhile; what
/// follows from it comes later.
fn faults(rows: &[FaultRow], pods: &[PodRow], store: &Store) -> Result<(), String> {
    let mut lives = Lives::default();
    for pod in pods {
        lives.entry((pod.namespace, &pod.name)).or_default().push((pod.created_at, pod.gone_at));
    }
    // Of each fault the first row of its last beginning, and all since.
    let mut before: FxHashMap<&str, (&FaultRow, Vec<&FaultRow>)> = FxHashMap::default();
    let mut last = SimTime::ZERO;
    for row in rows {
        let is_earlier = |at: Option<SimTime>, than: SimTime| at.is_some_and(|at| at < than);
        let (first, hit) = before.entry(&row.name).or_insert_with(|| (row, Vec::new()));
        let lasts_beyond = |other: &&FaultRow| other.ended_at.is_none_or(|ended| ended > row.began_at);
        let goes_on = hit.iter().any(lasts_beyond);
        // A node that joins meanwhile meets what is everywhere.
        let has_joined = goes_on && row.pods.is_some();
        if first.began_at != row.began_at && !has_joined {
            if goes_on {
                return Err(format!("faults.csv: {} begins at {} although it is not over", row.name, row.began_at));
            }
            (*first, *hit) = (row, Vec::new());
        }
        let is_hit_twice = hit.iter().any(|other| other.object == row.object && lasts_beyond(other));
        let differs = [
            ("order", row.began_at < last),
            ("object", !is_there(row, &lives, store) || is_hit_twice),
            ("kind", row.kind != first.kind),
            ("end", is_earlier(row.ended_at, row.began_at) || !hit.iter().all(|other| ends_with(row, other))),
            ("not_ready_s", is_earlier(row.not_ready_at, row.began_at)),
            ("ready_s", row.ready_at.is_some() && row.not_ready_at.is_none_or(|lost| is_earlier(row.ready_at, lost))),
        ];
        if let Some((column, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            return Err(format!(
                "faults.csv: the {column} of {} cannot be that of {} at {}",
                row.object, row.name, row.began_at
            ));
        }
        hit.push(row);
        last = row.began_at;
    }
    Ok(())
}

/// Whether two things that a fault hits are rid of it at once, or one of them is a machine that may have been gone before.
fn ends_with(row: &FaultRow, other: &FaultRow) -> bool {
    let end = |row: &FaultRow| row.ended_at.map_or(i64::MAX, SimTime::as_nanos);
    let first_over = if end(row) < end(other) { row } else { other };
    row.ended_at == other.ended_at || first_over.pods.is_some()
}

/// Whether what a fault hits was there when it began, and the cells beside it are those of such an object.
fn is_there(row: &FaultRow, lives: &Lives<'_>, store: &Store) -> bool {
    let mut parts = row.object.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("node"), Some(name), None, None) => {
            row.node == name && store.find_node(row.node).is_some() && row.pods.is_some_and(|pods| pods >= 0)
        }
        (Some("pod"), Some(namespace), Some(name), None) => {
            let lives = lives.get(&(Symbol::new(namespace), name));
            let lived = |life: &&(SimTime, Option<SimTime>)| {
                life.0 <= row.began_at && life.1.is_none_or(|gone| gone >= row.began_at)
            };
            row.pods.is_none() && lives.into_iter().flatten().find(lived).is_some()
        }
        (Some("process"), Some(_), None, None) => row.pods.is_none() && row.node.is_empty() && row.zone.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::Stops;
    use crate::units::SimDuration;

    fn at(seconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(seconds)
    }

    fn taint(seconds: u64, value: &str, change: TaintChange) -> TaintRow {
        let (node, key, value) = (Symbol::new("n"), Symbol::new("k"), Symbol::new(value));
        let by = if change == TaintChange::Present { "" } else { "kubectl" };
        TaintRow { at: at(seconds), node, key, value, effect: TaintEffect::NoSchedule, change, by }
    }

    #[test]
    fn taints_are_put_on_and_taken_off_in_turn() {
        use TaintChange::{Added, Modified, Present, Removed};
        let check = |rows: &[TaintRow], is_well: bool| {
            assert_eq!(taints(rows, &Store::default()).is_ok(), is_well, "{rows:?}");
        };
        check(&[taint(0, "", Present), taint(1, "", Removed), taint(2, "a", Added), taint(3, "a", Removed)], true);
        check(&[taint(1, "a", Added), taint(2, "b", Modified), taint(2, "b", Removed)], true);
        check(&[taint(1, "a", Added), taint(2, "a", Added), taint(3, "a", Removed)], false);
        check(&[taint(1, "a", Removed)], false);
        check(&[taint(1, "a", Added), taint(2, "a", Modified), taint(3, "a", Removed)], false);
        check(&[taint(1, "a", Added), taint(2, "b", Removed)], false);
        check(&[taint(2, "a", Added), taint(1, "a", Removed)], false);
        check(&[taint(1, "a", Present), taint(2, "a", Removed)], false);
        // Nothing says that it went, and no node has it.
        check(&[taint(1, "a", Added)], false);
    }

    fn fault(name: &str, began: u64, ended: Option<u64>) -> FaultRow {
        FaultRow {
            name: name.into(),
            kind: "Crash",
            effect: "lost power",
            stops: Stops::Machine,
            object: "node/n".to_owned(),
            node: Symbol::new("n"),
            zone: Symbol::empty(),
            pods: Some(2),
            began_at: at(began),
            ended_at: ended.map(at),
            not_ready_at: None,
            ready_at: None,
        }
    }

    #[test]
    fn faults_hit_what_is_there_and_end_after_they_begin() {
        let mut store = Store::default();
        store.node_slot(Symbol::new("n"));
        store.node_slot(Symbol::new("k"));
        let check = |rows: &[FaultRow], is_well: bool| {
            let result = faults(rows, &[], &store);
            assert_eq!(result.is_ok(), is_well, "{rows:?}: {result:?}");
        };
        let whole = || fault("a", 1, Some(5));
        check(&[whole(), fault("b", 3, None), fault("a", 5, None)], true);
        let joined =
            |began, ended| FaultRow { object: "node/k".to_owned(), node: Symbol::new("k"), ..fault("a", began, ended) };
        check(&[whole(), joined(3, Some(5))], true);
        // One of the machines was gone before the fault was over.
        check(&[whole(), joined(3, Some(6))], true);
        let process = |began, ended| FaultRow {
            object: "process/kube-scheduler".to_owned(),
            node: Symbol::empty(),
            pods: None,
            ..fault("c", began, ended)
        };
        check(
            &[process(1, Some(5)), FaultRow { object: "process/kube-apiserver".to_owned(), ..process(1, Some(6)) }],
            false,
        );
        check(&[fault("a", 3, Some(2))], false);
        check(&[fault("a", 1, None), fault("a", 3, None)], false);
        check(&[whole(), fault("a", 4, None)], false);
        check(&[fault("b", 3, None), whole()], false);
        check(&[whole(), whole()], false);
        let broken = |change: fn(&mut FaultRow)| {
            let mut row = whole();
            change(&mut row);
            row
        };
        check(&[broken(|row| (row.not_ready_at, row.ready_at) = (Some(at(2)), Some(at(7))))], true);
        check(&[broken(|row| row.ready_at = Some(at(7)))], false);
        check(&[broken(|row| row.not_ready_at = Some(at(0)))], false);
        check(&[broken(|row| (row.not_ready_at, row.ready_at) = (Some(at(4)), Some(at(3))))], false);
        check(&[broken(|row| row.pods = None)], false);
        check(&[broken(|row| row.node = Symbol::new("m"))], false);
        check(&[broken(|row| row.object = "node/m".to_owned())], false);
        check(&[broken(|row| (row.object, row.node) = ("node/m".to_owned(), Symbol::new("m")))], false);
        check(&[broken(|row| (row.object, row.pods) = ("pod/shop/web".to_owned(), None))], false);
        check(&[broken(|row| (row.object, row.pods) = ("process/kube-scheduler".to_owned(), None))], false);
    }
}
