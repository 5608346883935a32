//! The facts of a play, out of its tables.

use std::collections::{BTreeMap, BTreeSet};

use crate::arena::Symbol;
use crate::evidence::FactKind;
use crate::report::{Row, RunTables, Table, TableError, is_true, text, whole};

/// The tables that facts are taken from.
pub(crate) const TABLES: [&str; 3] = ["nodes.csv", "pods.csv", "readiness.csv"];

const NODES: [&str; 5] = ["time_s", "node", "ready", "unschedulable", "taints"];
const PODS: [&str; 14] = [
    "namespace",
    "name",
    "owner_kind",
    "owner_name",
    "initial",
    "node",
    "created_s",
    "scheduled_s",
    "deletion_s",
    "deletion_cause",
    "finished_s",
    "gone_s",
    "phase",
    "workload_kind",
];
const READINESS: [&str; 4] = ["time_s", "namespace", "name", "ready"];

/// Causes of an end by the kubelet: the pod fails then, and may be deleted later.
pub(super) const BY_KUBELET: [&str; 2] = ["NodePressure", "TerminationByKubelet"];

/// A fact of a node or pod that is known from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlayedFact {
    /// Milliseconds since t=0.
    pub(super) at: i64,
    pub(super) kind: FactKind,
    pub(super) value: Symbol,
    /// The pod's node then; of a node nothing.
    pub(super) node: Symbol,
    /// Whether it comes and goes with its object, so that some records tell it and others do not.
    pub(super) is_implied: bool,
}

/// All pods of one name of a play, which are one after the other.
#[derive(Clone, Debug)]
pub(super) struct PlayedPod {
    pub(super) namespace: Symbol,
    pub(super) name: Symbol,
    pub(super) owner_kind: Symbol,
    pub(super) owner_name: Symbol,
    /// Whether a Deployment owns the owner.
    pub(super) is_of_deployment: bool,
    /// Whether one is there at t=0.
    pub(super) is_initial: bool,
    /// The node of the first one.
    pub(super) node: Symbol,
    /// In the order of time.
    pub(super) facts: Vec<PlayedFact>,
}

/// What a play has.
#[derive(Clone, Debug, Default)]
pub(super) struct Played {
    /// The facts of every node, in the order of time.
    pub(super) nodes: BTreeMap<Symbol, Vec<PlayedFact>>,
    /// Every name, in the order in which it first came.
    pub(super) pods: Vec<PlayedPod>,
    /// The place of each name among these.
    pub(super) by_name: BTreeMap<(Symbol, Symbol), usize>,
}

impl Played {
    /// What the tables of a run tell.
    ///
    /// # Errors
    ///
    /// If one is missing or damaged.
    pub(super) fn of(run: &RunTables) -> Result<Self, TableError> {
        let mut played = Self::default();
        played.add_nodes(run.read("nodes.csv", &NODES)?);
        played.add_pods(run.read("pods.csv", &PODS)?);
        played.add_readiness(run.read("readiness.csv", &READINESS)?);
        let all = played.nodes.values_mut().chain(played.pods.iter_mut().map(|pod| &mut pod.facts));
        all.for_each(|facts| facts.sort_by_key(|fact| (fact.at, fact.kind)));
        Ok(played)
    }

    fn add_nodes(&mut self, table: &Table) {
        let columns = NODES.map(|name| table.column(name));
        let mut last: BTreeMap<Symbol, NodeState> = BTreeMap::new();
        for row in table.rows() {
            let now = NodeState::of(row, columns);
            let node = Symbol::new(text(row, columns[1]));
            let facts = self.nodes.entry(node).or_default();
            let at = whole(row, columns[0]).unwrap_or_default();
            match last.get(&node) {
                None if at == 0 => {}
                None => NodeState::default().changes(&now, at, facts),
                Some(before) => before.changes(&now, at, facts),
            }
            last.insert(node, now);
        }
    }

    fn add_pods(&mut self, table: &Table) {
        let columns = PODS.map(|name| table.column(name));
        let [namespace, name, owner_kind, owner_name, initial, node, .., workload_kind] = columns;
        for row in table.rows() {
            let symbol = |column: usize| Symbol::new(text(row, column));
            let key = (symbol(namespace), symbol(name));
            let place = *self.by_name.entry(key).or_insert(self.pods.len());
            if place == self.pods.len() {
                self.pods.push(PlayedPod {
                    namespace: key.0,
                    name: key.1,
                    owner_kind: symbol(owner_kind),
                    owner_name: symbol(owner_name),
                    is_of_deployment: text(row, workload_kind) == "Deployment",
                    is_initial: false,
                    node: symbol(node),
                    facts: Vec::new(),
                });
            }
            let pod = &mut self.pods[place];
            pod.is_initial |= is_true(row, initial);
            add_life(row, columns, &mut pod.facts);
        }
    }

    fn add_readiness(&mut self, table: &Table) {
        let [at, namespace, name, ready] = READINESS.map(|name| table.column(name));
        for row in table.rows() {
            let symbol = |column: usize| Symbol::new(text(row, column));
            let at = whole(row, at).unwrap_or_default();
            let Some(place) = self.by_name.get(&(symbol(namespace), symbol(name))) else { continue };
            let pod = &mut self.pods[*place];
            // What holds at t=0 has not changed then.
            if at == 0 && pod.is_initial {
                continue;
            }
            let before = pod.facts.iter().filter(|fact| fact.at <= at && !fact.node.is_empty());
            let node = before.max_by_key(|fact| fact.at).map_or(pod.node, |fact| fact.node);
            pod.facts.push(PlayedFact { at, kind: FactKind::PodReady, value: symbol(ready), node, is_implied: false });
        }
    }
}

/// What of a row of `nodes.csv` is facts.
#[derive(Clone, Debug, Default)]
struct NodeState {
    /// Empty of a node that is not there yet.
    ready: Symbol,
    is_unschedulable: bool,
    taints: BTreeSet<Symbol>,
}

impl NodeState {
    fn of(row: Row<'_>, [_, _, ready, unschedulable, taints]: [usize; 5]) -> Self {
        let taints = text(row, taints).split(';').filter(|taint| !taint.is_empty()).map(without_value);
        Self {
            ready: Symbol::new(text(row, ready)),
            is_unschedulable: is_true(row, unschedulable),
            taints: taints.collect(),
        }
    }

    fn is_there(&self) -> bool {
        !self.ready.is_empty() && self.ready != "Absent"
    }

    /// What became of a node. Its taints come and go with its object, and when that comes it is not ready.
    fn changes(&self, after: &Self, at: i64, facts: &mut Vec<PlayedFact>) {
        let mut add = |kind, value, is_implied| {
            facts.push(PlayedFact { at, kind, value, node: Symbol::empty(), is_implied });
        };
        let has_come = !self.is_there();
        if self.ready != after.ready {
            add(FactKind::NodeReady, after.ready, has_come && matches!(after.ready.as_str(), "False" | "Unknown"));
        }
        let none = Self::default();
        let is_gone = !after.is_there();
        let [before, after] = [self, after].map(|state| if state.is_there() { state } else { &none });
        if before.is_unschedulable != after.is_unschedulable {
            let value = Symbol::new(if after.is_unschedulable { "true" } else { "false" });
            add(FactKind::NodeUnschedulable, value, is_gone);
        }
        for taint in before.taints.difference(&after.taints) {
            add(FactKind::NodeTaint, Symbol::new(&format!("{taint}-")), is_gone);
        }
        for taint in after.taints.difference(&before.taints) {
            add(FactKind::NodeTaint, *taint, has_come);
        }
    }
}

/// `key:Effect` of `key=value:Effect`.
fn without_value(taint: &str) -> Symbol {
    let (key, rest) = taint.split_once('=').unwrap_or((taint, ""));
    let effect = rest.rsplit(':').next().unwrap_or_default();
    Symbol::new(&format!("{key}:{effect}"))
}

/// What a row of `pods.csv` tells of a pod's life.
fn add_life(row: Row<'_>, columns: [usize; 14], facts: &mut Vec<PlayedFact>) {
    let [_, _, _, _, initial, node, created, scheduled, deletion, cause, finished, gone, phase, _] = columns;
    let node = Symbol::new(text(row, node));
    let is_initial = is_true(row, initial);
    // What a pod had at t=0 has not come about then.
    let time = |column: usize| whole(row, column).filter(|at| *at > 0 || !is_initial);
    let mut push = |at: Option<i64>, kind, value: &str| {
        facts.extend(at.map(|at| PlayedFact { at, kind, value: Symbol::new(value), node, is_implied: false }));
    };
    if !is_initial {
        push(time(created), FactKind::PodCreated, "");
    }
    push(time(scheduled), FactKind::PodScheduled, "");
    let cause = text(row, cause);
    let ended = if BY_KUBELET.contains(&cause) { time(finished) } else { None };
    // What is deleted without grace is gone at once.
    let at_once = if cause.is_empty() { None } else { time(gone) };
    push(ended.or(time(deletion)).or(at_once), FactKind::PodDeletion, cause);
    push(time(finished), FactKind::PodFinished, text(row, phase));
    push(time(gone), FactKind::PodGone, "");
    if !is_initial && let Some(at) = time(created) {
        let value = Symbol::new("False");
        facts.push(PlayedFact { at, kind: FactKind::PodReady, value, node, is_implied: true });
    }
}
