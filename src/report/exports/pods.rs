//! Pods and nodes as tables have them, for exports of what was seen of them.

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::identity::About;
use crate::report::table::{Table, is_true, text, whole};

/// The columns of pods.csv that exports read.
pub(super) const PODS: &[&str] = &[
    "namespace",
    "name",
    "owner_kind",
    "owner_name",
    "initial",
    "node",
    "created_s",
    "scheduled_s",
    "started_s",
    "deletion_s",
    "deletion_cause",
    "finished_s",
    "gone_s",
    "phase",
    "reason",
];
/// Those of readiness.csv.
pub(super) const READINESS: &[&str] = &["time_s", "namespace", "name", "ready"];
/// Those of nodes.csv.
pub(super) const NODES: &[&str] = &["time_s", "node", "ready", "unschedulable"];

/// Namespace and name of a pod, and of those that have had it one after the other.
pub(super) type Name<'a> = (&'a str, &'a str);

/// A row of pods.csv; times in milliseconds since t=0.
pub(super) struct Pod<'a> {
    pub(super) about: About<'a>,
    pub(super) uid: String,
    /// Kind and name of its controller.
    pub(super) owner: (&'a str, &'a str),
    pub(super) is_initial: bool,
    pub(super) node: &'a str,
    pub(super) created: i64,
    pub(super) scheduled: Option<i64>,
    pub(super) started: Option<i64>,
    pub(super) deletion: Option<i64>,
    pub(super) deletion_cause: &'a str,
    pub(super) finished: Option<i64>,
    pub(super) gone: Option<i64>,
    pub(super) phase: &'a str,
    pub(super) reason: &'a str,
}

impl<'a> Pod<'a> {
    /// Those of pods.csv.
    pub(super) fn all(table: &'a Table) -> Vec<Self> {
        let column = |name| table.column(name);
        let (namespace, name, node) = (column("namespace"), column("name"), column("node"));
        let (owner_kind, owner_name) = (column("owner_kind"), column("owner_name"));
        let (initial, phase, reason) = (column("initial"), column("phase"), column("reason"));
        let [created, scheduled, started, deletion, finished, gone] =
            ["created_s", "scheduled_s", "started_s", "deletion_s", "finished_s", "gone_s"].map(column);
        let cause = column("deletion_cause");
        let rows = table.rows().map(|row| {
            let created_ms = whole(row, created).unwrap_or_default();
            let about = About { kind: "Pod", namespace: text(row, namespace), name: text(row, name), created_ms };
            Self {
                about,
                uid: about.uid(),
                owner: (text(row, owner_kind), text(row, owner_name)),
                is_initial: is_true(row, initial),
                node: text(row, node),
                created: created_ms,
                scheduled: whole(row, scheduled),
                started: whole(row, started),
                deletion: whole(row, deletion),
                deletion_cause: text(row, cause),
                finished: whole(row, finished),
                gone: whole(row, gone),
                phase: text(row, phase),
                reason: text(row, reason),
            }
        });
        rows.collect()
    }

    pub(super) fn name(&self) -> Name<'a> {
        (self.about.namespace, self.about.name)
    }

    /// Whether something at that time was about this pod and not about one that has had its name before or after.
    pub(super) fn lives_at(&self, at_ms: i64) -> bool {
        self.created <= at_ms && self.gone.is_none_or(|gone| at_ms <= gone)
    }
}

/// When conditions Ready changed, by name of the pod.
pub(super) struct Readiness<'a>(FxHashMap<Name<'a>, Vec<(i64, bool)>>);

impl<'a> Readiness<'a> {
    /// The changes of readiness.csv.
    pub(super) fn new(table: &'a Table) -> Self {
        let [time, namespace, name, ready] = ["time_s", "namespace", "name", "ready"].map(|name| table.column(name));
        let mut changes: FxHashMap<Name<'_>, Vec<(i64, bool)>> = FxHashMap::default();
        for row in table.rows() {
            let change = (whole(row, time).unwrap_or_default(), text(row, ready) == "True");
            changes.entry((text(row, namespace), text(row, name))).or_default().push(change);
        }
        Self(changes)
    }

    /// Those of a pod.
    pub(super) fn of(&self, pod: &Pod<'_>) -> Vec<(i64, bool)> {
        let changes = self.0.get(&pod.name()).into_iter().flatten();
        changes.filter(|(at_ms, _)| pod.lives_at(*at_ms)).copied().collect()
    }
}

/// A node from a time on.
#[derive(Clone, Copy)]
pub(super) struct NodeState<'a> {
    pub(super) at_ms: i64,
    /// Its condition; none if there is no such node.
    pub(super) ready: Option<&'a str>,
    pub(super) is_unschedulable: bool,
}

/// What becomes of each node.
pub(super) type NodeHistories<'a> = IndexMap<&'a str, Vec<NodeState<'a>>>;

/// The histories of nodes.csv, without the rows that differ from those before in other things.
pub(super) fn node_histories(table: &Table) -> NodeHistories<'_> {
    let [time, node, ready, unschedulable] =
        ["time_s", "node", "ready", "unschedulable"].map(|name| table.column(name));
    let mut nodes = NodeHistories::default();
    for row in table.rows() {
        let ready = Some(text(row, ready)).filter(|ready| *ready != "Absent");
        let at_ms = whole(row, time).unwrap_or_default();
        let state = NodeState { at_ms, ready, is_unschedulable: is_true(row, unschedulable) };
        let history = nodes.entry(text(row, node)).or_default();
        let is_news =
            |last: &NodeState<'_>| last.ready != state.ready || last.is_unschedulable != state.is_unschedulable;
        if history.last().is_none_or(is_news) {
            history.push(state);
        }
    }
    nodes
}
