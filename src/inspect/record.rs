//! The tables of a run as stories need them: typed rows, by object.

use std::collections::BTreeMap;
use std::path::Path;

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::InspectError;
use super::causes::Causes;
use crate::report::{Row, RunTables, TableError, is_true, text, time, whole};
use crate::units::{SimDuration, SimTime};

/// A finished run.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) summary: Value,
    pub(super) causes: Causes,
    pub(super) pods: Vec<Pod>,
    /// Positions of the pods of that name, in order of their creation.
    pub(super) pods_by_name: FxHashMap<String, Vec<usize>>,
    /// The changes of each node, by name.
    pub(super) nodes: BTreeMap<String, Vec<NodeChange>>,
    pub(super) taints: Vec<TaintChange>,
    timers: FxHashMap<String, Vec<Timer>>,
    /// What came of the places of pods that were lost, by the position of the pod.
    pub(super) disruptions: BTreeMap<usize, Disruption>,
    pub(super) faults: Vec<Fault>,
    /// What each trap decided about.
    pub(super) trapped: BTreeMap<String, Vec<String>>,
    /// The changes of each workload, by `deployment/NS/NAME`.
    pub(super) workloads: BTreeMap<String, Vec<Counts>>,
    /// The changes of each service, by `service/NS/NAME`.
    pub(super) services: BTreeMap<String, Vec<Targets>>,
    /// Events about objects, by `pod/NS/NAME`, `node/NAME` and the like.
    pub(super) events: FxHashMap<String, Vec<Event>>,
    /// When the run ends.
    pub(super) end: SimTime,
}

/// A row of `pods.csv`.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) workload: String,
    pub(super) owner: String,
    pub(super) initial: bool,
    pub(super) node: Option<String>,
    pub(super) created: SimTime,
    pub(super) scheduled: Option<SimTime>,
    pub(super) started: Option<SimTime>,
    pub(super) ready: Option<SimTime>,
    pub(super) deletion: Option<SimTime>,
    pub(super) cause: String,
    pub(super) finished: Option<SimTime>,
    pub(super) gone: Option<SimTime>,
    pub(super) phase: String,
    pub(super) restarts: u64,
    pub(super) taken_away: bool,
}

impl Pod {
    /// When it was over for its owner: one that its kubelet ended is replaced before anybody deletes it.
    pub(super) fn ended(&self) -> Option<SimTime> {
        let finished = if self.is_ended_by_kubelet() { self.finished } else { None };
        self.deletion.into_iter().chain(finished).min().or(self.gone)
    }

    fn is_ended_by_kubelet(&self) -> bool {
        matches!(self.cause.as_str(), "NodePressure" | "TerminationByKubelet")
    }

    /// The node that it was bound to, as an object.
    pub(super) fn node_object(&self) -> Option<String> {
        self.node.as_ref().map(|node| format!("node/{node}"))
    }
}

/// A row of `nodes.csv`.
#[derive(Clone, Debug)]
pub(super) struct NodeChange {
    pub(super) at: SimTime,
    /// `True`, `False`, `Unknown` or `Absent`.
    pub(super) ready: String,
    pub(super) unschedulable: bool,
}

/// A row of `taints.csv`.
#[derive(Clone, Debug)]
pub(super) struct TaintChange {
    pub(super) at: SimTime,
    pub(super) node: String,
    pub(super) key: String,
    pub(super) effect: String,
    pub(super) change: String,
    pub(super) by: String,
}

/// A row of `timers.csv`.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    pub(super) set: SimTime,
    pub(super) timer: String,
    pub(super) length: SimDuration,
    pub(super) due: SimTime,
    pub(super) ended: Option<SimTime>,
    pub(super) end: String,
    pub(super) taint: String,
    pub(super) by: String,
}

/// A row of `disruptions.csv`.
#[derive(Clone, Debug)]
pub(super) struct Disruption {
    /// When its owner lost it.
    pub(super) lost: SimTime,
    pub(super) outcome: String,
    /// The position of the pod that came in its place.
    pub(super) replacement: Option<usize>,
    /// When it stopped to serve.
    pub(super) stopped: Option<SimTime>,
    /// How long nobody noticed that, as its machine was down.
    pub(super) detect: SimDuration,
    /// What held up the other pod once it was bound: that its machine was down, and that its volumes were elsewhere.
    pub(super) dead_node: SimDuration,
    pub(super) attach: SimDuration,
    /// How long its kubelet did not notice that they were there.
    pub(super) mount: SimDuration,
}

/// A row of `faults.csv`.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) kind: String,
    /// What became of what it hit, in words.
    pub(super) effect: String,
    pub(super) object: String,
    pub(super) began: SimTime,
    pub(super) ended: Option<SimTime>,
}

/// How many pods a workload should have from an instant on, how many it has, and how many it misses, as the glossary counts: its status comes
/// later, and that of a StatefulSet counts a pod that is being deleted until its containers have ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) at: SimTime,
    pub(super) desired: i64,
    pub(super) ready: i64,
    pub(super) missing: i64,
}

/// A row of `services.csv`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Targets {
    pub(super) at: SimTime,
    pub(super) ready: i64,
    pub(super) targets: i64,
    pub(super) dead: i64,
}

/// A row of `events.csv`.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) at: SimTime,
    pub(super) reason: String,
    pub(super) message: String,
}

/// Rows of a table, made from the cells of these columns.
fn rows<const N: usize, R>(
    run: &RunTables,
    file: &str,
    columns: [&'static str; N],
    mut row_of: impl FnMut(Row<'_>, [usize; N]) -> R,
) -> Result<Vec<R>, TableError> {
    let table = run.read_columns(file, &columns)?;
    let places = columns.map(|name| table.column(name));
    Ok(table.rows().map(|row| row_of(row, places)).collect())
}

fn count(row: Row<'_>, column: usize) -> i64 {
    whole(row, column).unwrap_or_default()
}

/// `kind/NS/NAME` with the kind in lower case; a node, which has no namespace, as `node/NAME`.
pub(super) fn object_name(kind: &str, namespace: &str, name: &str) -> String {
    let kind = kind.to_ascii_lowercase();
    if namespace.is_empty() || kind == "node" { format!("{kind}/{name}") } else { format!("{kind}/{namespace}/{name}") }
}

fn by_name<R>(rows: Vec<(String, R)>) -> BTreeMap<String, Vec<R>> {
    let mut found: BTreeMap<String, Vec<R>> = BTreeMap::new();
    for (name, row) in rows {
        found.entry(name).or_default().push(row);
    }
    found
}

impl Record {
    /// Reads the directory of a run.
    ///
    /// # Errors
    ///
    /// If it is no run's, or a table is missing or damaged.
    pub(super) fn read(dir: &Path) -> Result<Self, InspectError> {
        let run = &super::open(dir)?;
        let summary = run.summary().clone();
        let mut causes = Causes::read(run)?;
        let mut pods = pods(run)?;
        for pod in &mut pods {
            if let Some(cause) = deleted_by(&causes, pod) {
                pod.cause = cause;
            }
        }
        let unready = pods.iter().filter(|pod| pod.initial && pod.ready != Some(SimTime::ZERO));
        causes.unready_at_start = unready.map(|pod| pod.name.clone()).collect();
        let mut in_order: Vec<usize> = (0..pods.len()).collect();
        in_order.sort_by_key(|index| pods[*index].created);
        let mut pods_by_name: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for index in in_order {
            pods_by_name.entry(pods[index].name.clone()).or_default().push(index);
        }
        let end = SimTime::from_millis((summary["duration_s"].as_f64().unwrap_or(0.0) * 1000.0).round() as i64);
        let disruptions = disruptions(run, &pods, &pods_by_name)?;
        let workloads = workloads(run)?;
        Ok(Self {
            causes,
            disruptions,
            pods,
            pods_by_name,
            nodes: nodes(run)?,
            taints: taints(run)?,
            timers: by_name(timers(run)?).into_iter().collect(),
            faults: faults(run)?,
            trapped: trapped(run)?,
            workloads,
            services: services(run)?,
            events: by_name(events(run)?).into_iter().collect(),
            summary,
            end,
        })
    }

    /// The waits of a pod or node, in the order of the table.
    pub(super) fn timers_of(&self, object: &str) -> &[Timer] {
        self.timers.get(object).map_or(&[], Vec::as_slice)
    }

    /// What the API server was told of an object.
    pub(super) fn events_about(&self, object: &str) -> &[Event] {
        self.events.get(object).map_or(&[], Vec::as_slice)
    }

    /// Every name that can be asked for, by its lower-case form.
    pub(super) fn names(&self) -> BTreeMap<String, String> {
        let pods = self.pods.iter().map(|pod| pod.name.clone());
        let nodes = self.nodes.keys().map(|node| format!("node/{node}"));
        let all = pods.chain(nodes).chain(self.services.keys().cloned()).chain(self.workloads.keys().cloned());
        all.map(|name| (name.to_ascii_lowercase(), name)).collect()
    }

    /// Budgets for whose sake evictions were refused.
    pub(super) fn refusing_budgets(&self) -> impl Iterator<Item = &str> {
        let refusals = self.causes.effects.iter().filter(|effect| effect.what.contains(" eviction refused "));
        refusals.filter_map(|effect| effect.what.rsplit_once(" by ").map(|(_, budget)| budget))
    }

    /// Budgets that traps name: they have a story, although nothing may have happened to them.
    pub(super) fn trapped_budgets(&self) -> impl Iterator<Item = &str> {
        let traps = self.summary["traps"].as_array().into_iter().flatten();
        let objects = traps.flat_map(|trap| trap["objects"].as_array().into_iter().flatten());
        objects.filter_map(Value::as_str).filter(|object| object.starts_with("poddisruptionbudget/"))
    }
}

fn pods(run: &RunTables) -> Result<Vec<Pod>, TableError> {
    const COLUMNS: [&str; 20] = [
        "namespace",
        "name",
        "owner_kind",
        "owner_name",
        "initial",
        "node",
        "created_s",
        "scheduled_s",
        "started_s",
        "ready_s",
        "deletion_s",
        "deletion_cause",
        "finished_s",
        "gone_s",
        "phase",
        "reason",
        "restarts",
        "workload_kind",
        "workload_name",
        "taken_away",
    ];
    rows(run, "pods.csv", COLUMNS, |row, at| {
        let cell = |index: usize| text(row, at[index]);
        let namespace = cell(0);
        Pod {
            name: object_name("pod", namespace, cell(1)),
            owner: object_name(cell(2), namespace, cell(3)),
            initial: is_true(row, at[4]),
            node: Some(cell(5).to_owned()).filter(|node| !node.is_empty()),
            created: time(row, at[6]).unwrap_or_default(),
            scheduled: time(row, at[7]),
            started: time(row, at[8]),
            ready: time(row, at[9]),
            deletion: time(row, at[10]),
            cause: cell(11).to_owned(),
            finished: time(row, at[12]),
            gone: time(row, at[13]),
            phase: cell(14).to_owned(),
            restarts: count(row, at[16]).cast_unsigned(),
            workload: object_name(cell(17), namespace, cell(18)),
            taken_away: is_true(row, at[19]),
        }
    })
}

/// Who deleted a pod, as causes.csv says. The cause in pods.csv is that of the condition `DisruptionTarget`, which who comes too late to
/// delete it writes, too.
fn deleted_by(causes: &Causes, pod: &Pod) -> Option<String> {
    let at = pod.deletion.filter(|_| !pod.is_ended_by_kubelet())?;
    let rows = causes.about(&pod.name).iter().map(|row| &causes.effects[*row]).filter(|effect| effect.at == at);
    let mut marked = rows.filter_map(|effect| effect.what.split_once(" marked for deletion (")?.1.strip_suffix(')'));
    marked.next().filter(|cause| !cause.is_empty()).map(ToOwned::to_owned)
}

fn nodes(run: &RunTables) -> Result<BTreeMap<String, Vec<NodeChange>>, TableError> {
    let columns = ["time_s", "node", "ready", "unschedulable"];
    let changes = rows(run, "nodes.csv", columns, |row, [at, node, ready, unschedulable]| {
        let (at, ready) = (time(row, at).unwrap_or_default(), text(row, ready).to_owned());
        (text(row, node).to_owned(), NodeChange { at, ready, unschedulable: is_true(row, unschedulable) })
    })?;
    Ok(by_name(changes))
}

fn taints(run: &RunTables) -> Result<Vec<TaintChange>, TableError> {
    let columns = ["time_s", "node", "key", "effect", "change", "by"];
    rows(run, "taints.csv", columns, |row, [at, node, key, effect, change, by]| {
        let cell = |column: usize| text(row, column).to_owned();
        let at = time(row, at).unwrap_or_default();
        TaintChange { at, node: cell(node), key: cell(key), effect: cell(effect), change: cell(change), by: cell(by) }
    })
}

fn timers(run: &RunTables) -> Result<Vec<(String, Timer)>, TableError> {
    let columns = ["set_s", "timer", "namespace", "name", "length_s", "due_s", "ended_s", "end", "taint", "by"];
    rows(run, "timers.csv", columns, |row, [set, timer, namespace, name, length, due, ended, end, taint, by]| {
        let cell = |column: usize| text(row, column).to_owned();
        let kind = if text(row, namespace).is_empty() { "node" } else { "pod" };
        let length = time(row, length).unwrap_or_default().saturating_since(SimTime::ZERO);
        let (set, due) = (time(row, set).unwrap_or_default(), time(row, due).unwrap_or_default());
        let (ended, end, taint, by) = (time(row, ended), cell(end), cell(taint), cell(by));
        let timer = Timer { set, timer: cell(timer), length, due, ended, end, taint, by };
        (object_name(kind, text(row, namespace), text(row, name)), timer)
    })
}

fn disruptions(
    run: &RunTables,
    pods: &[Pod],
    by_name: &FxHashMap<String, Vec<usize>>,
) -> Result<BTreeMap<usize, Disruption>, TableError> {
    const COLUMNS: [&str; 12] = [
        "namespace",
        "name",
        "created_s",
        "lost_s",
        "outcome",
        "replacement",
        "replacement_created_s",
        "stopped_s",
        "detect_s",
        "dead_node_s",
        "attach_s",
        "mount_s",
    ];
    let pod = |namespace: &str, name: &str, created: Option<SimTime>| {
        let of_name = by_name.get(&object_name("pod", namespace, name))?;
        of_name.iter().copied().find(|pod| Some(pods[*pod].created) == created)
    };
    let found = rows(run, "disruptions.csv", COLUMNS, |row, at| {
        let namespace = text(row, at[0]);
        let length = |column: usize| time(row, at[column]).unwrap_or_default().saturating_since(SimTime::ZERO);
        let of = Disruption {
            lost: time(row, at[3])?,
            outcome: text(row, at[4]).to_owned(),
            replacement: pod(namespace, text(row, at[5]), time(row, at[6])),
            stopped: time(row, at[7]),
            detect: length(8),
            dead_node: length(9),
            attach: length(10),
            mount: length(11),
        };
        Some((pod(namespace, text(row, at[1]), time(row, at[2]))?, of))
    })?;
    Ok(found.into_iter().flatten().collect())
}

fn faults(run: &RunTables) -> Result<Vec<Fault>, TableError> {
    let columns = ["kind", "effect", "object", "began_s", "ended_s"];
    rows(run, "faults.csv", columns, |row, [kind, effect, object, began, ended]| {
        let cell = |column: usize| text(row, column).to_owned();
        let (began, ended) = (time(row, began).unwrap_or_default(), time(row, ended));
        Fault { kind: cell(kind), effect: cell(effect), object: cell(object), began, ended }
    })
}

/// What each trap decided about; nothing, if a version that had no such table has played the run.
fn trapped(run: &RunTables) -> Result<BTreeMap<String, Vec<String>>, TableError> {
    if !run.has_written("traps.csv") {
        return Ok(BTreeMap::new());
    }
    let found = rows(run, "traps.csv", ["trap", "object"], |row, [trap, object]| {
        (text(row, trap).to_owned(), text(row, object).to_owned())
    })?;
    Ok(by_name(found))
}

fn workloads(run: &RunTables) -> Result<BTreeMap<String, Vec<Counts>>, TableError> {
    let columns = ["time_s", "namespace", "kind", "name", "desired", "ready", "missing"];
    let changes = rows(run, "workloads.csv", columns, |row, [at, namespace, kind, name, desired, ready, missing]| {
        let name = object_name(text(row, kind), text(row, namespace), text(row, name));
        let (at, desired, missing) = (time(row, at).unwrap_or_default(), count(row, desired), count(row, missing));
        // The status may not tell yet, or any more.
        let ready = if missing > 0 { desired.saturating_sub(missing) } else { count(row, ready).max(desired) };
        (name, Counts { at, desired, ready, missing })
    })?;
    let mut found = by_name(changes);
    // What is so at the end of an instant counts.
    for rows in found.values_mut() {
        rows.reverse();
        rows.dedup_by_key(|row| row.at);
        rows.reverse();
    }
    Ok(found)
}

fn services(run: &RunTables) -> Result<BTreeMap<String, Vec<Targets>>, TableError> {
    let columns = ["time_s", "namespace", "name", "ready", "targets", "dead_targets"];
    let changes = rows(run, "services.csv", columns, |row, [at, namespace, name, ready, targets, dead]| {
        let at = time(row, at).unwrap_or_default();
        let targets = Targets { at, ready: count(row, ready), targets: count(row, targets), dead: count(row, dead) };
        (object_name("service", text(row, namespace), text(row, name)), targets)
    })?;
    Ok(by_name(changes))
}

fn events(run: &RunTables) -> Result<Vec<(String, Event)>, TableError> {
    let columns = ["time_s", "reason", "kind", "namespace", "name", "message"];
    rows(run, "events.csv", columns, |row, [at, reason, kind, namespace, name, message]| {
        let cell = |column: usize| text(row, column).to_owned();
        let at = time(row, at).unwrap_or_default();
        let event = Event { at, reason: cell(reason), message: cell(message) };
        (object_name(text(row, kind), text(row, namespace), text(row, name)), event)
    })
}
