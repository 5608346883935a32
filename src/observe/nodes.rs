//! `nodes.csv`: what `kubectl get nodes` would have shown, at each change.

use super::Detail;
use super::observer::{Keeps, Observer, Seen, Setup};
use super::table::{Column, Row, Table};
use crate::arena::{self, Symbol};
use crate::state::{Change, Changed, NodeDelta, NodeId, NodeSlot, Pod, PodDelta, PodId, Status, Store};
use crate::units::SimTime;

/// A row of `nodes.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// When.
    pub at: SimTime,
    /// Name.
    pub node: Symbol,
    /// True, False, Unknown, or Absent.
    pub ready: &'static str,
    /// Cordoned.
    pub unschedulable: bool,
    /// `key=value:Effect`, joined by `;`, sorted.
    pub taints: String,
    /// Unfinished pods bound to it.
    pub pods: i64,
}

impl Row for NodeRow {
    const TABLE: Table<Self> = Table {
        file: "nodes.csv",
        holds: "a row for every node at t=0 and at each change of it",
        columns: &[
            Column::time("time_s", "when", |row| row.at),
            Column::text("node", "the node's name", |row| row.node.as_str()),
            Column::text(
                "ready",
                "its condition Ready: True, False or Unknown; Absent if there is no such node",
                |row| row.ready,
            ),
            Column::truth("unschedulable", "whether it is cordoned", |row| row.unschedulable),
            Column::text(
                "taints",
                "`key=value:Effect`, joined by `;`, sorted; the last ones of a node that is Absent",
                |row| &row.taints,
            ),
            Column::number("pods", "pods", "unfinished pods bound to it", |row| row.pods),
        ],
    };
}

#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    rows: Vec<NodeRow>,
    /// Index of each node's last row, plus one.
    last: arena::Column<NodeSlot, usize>,
    /// Unfinished pods per node.
    pods: arena::Column<NodeSlot, i64>,
    /// Pods that count there: a pod that has ended may be written again.
    counted: arena::Column<Pod, bool>,
}

impl Nodes {
    /// Adds a row if anything differs from the node's last; a later state of the same instant replaces it.
    fn push(&mut self, at: SimTime, id: NodeId, store: &Store) {
        let name = store.node_name(id);
        let pods = *self.pods.get(id);
        let before = self.last.get(id).checked_sub(1).map(|index| &self.rows[index]);
        let row = match store.node(id) {
            // As a watching client sees a deletion: with the object as it was last.
            None => {
                let (unschedulable, taints) =
                    before.map(|row| (row.unschedulable, row.taints.clone())).unwrap_or_default();
                NodeRow { at, node: name, ready: "Absent", unschedulable, taints, pods }
            }
            Some(node) => {
                let mut taints: Vec<String> =
                    node.taints.iter().map(|t| format!("{}={}:{}", t.key, t.value, t.effect)).collect();
                taints.sort_unstable();
                let ready = node.conditions.ready().unwrap_or(Status::Unknown).as_str();
                NodeRow { at, node: name, ready, unschedulable: node.unschedulable, taints: taints.join(";"), pods }
            }
        };
        let last = self.last.get_mut(id);
        if let Some(previous) = last.checked_sub(1).map(|index| &mut self.rows[index]) {
            let same = NodeRow { at, ..previous.clone() } == row;
            if same {
                return;
            }
            let only_pods = NodeRow { pods, ..previous.clone() } == NodeRow { at: previous.at, ..row.clone() };
            if previous.at == at && only_pods {
                *previous = row;
                return;
            }
        }
        *last = self.rows.len() + 1;
        self.rows.push(row);
    }

    fn pod_changed(&mut self, at: SimTime, id: PodId, pod: Option<&Pod>, store: &Store) {
        let Some(pod) = pod else { return };
        let Some(node) = pod.node else { return };
        let counts = !pod.phase.is_terminal();
        if std::mem::replace(self.counted.get_mut(id), counts) != counts {
            self.count(at, node, if counts { 1 } else { -1 }, store);
        }
    }

    fn count(&mut self, at: SimTime, node: NodeId, by: i64, store: &Store) {
        *self.pods.get_mut(node) += by;
        self.push(at, node, store);
    }
}

impl Observer for Nodes {
    const NEEDED_FOR: Detail = Detail::Files;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        let store = seen.store;
        for (id, pod) in store.pods() {
            if let Some(node) = pod.node
                && !pod.phase.is_terminal()
            {
                *self.pods.get_mut(node) += 1;
                *self.counted.get_mut(id) = true;
            }
        }
        let ids: Vec<NodeId> = store.nodes().map(|(id, _)| id).collect();
        for id in ids {
            self.push(SimTime::ZERO, id, store);
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        let store = seen.store;
        match &change.what {
            Changed::NodeAdded(node) | Changed::NodeRemoved { node, .. } => self.push(change.at, *node, store),
            Changed::NodeUpdated { node, delta, .. }
                if delta.touches(NodeDelta::CONDITIONS | NodeDelta::TAINTS | NodeDelta::UNSCHEDULABLE) =>
            {
                self.push(change.at, *node, store);
            }
            Changed::PodAdded(id) => self.pod_changed(change.at, *id, store.pod(*id), store),
            Changed::PodUpdated { pod, delta, .. } if delta.touches(PodDelta::NODE | PodDelta::PHASE) => {
                self.pod_changed(change.at, *pod, store.pod(*pod), store);
            }
            Changed::PodRemoved { pod, last } => {
                if std::mem::take(self.counted.get_mut(*pod))
                    && let Some(node) = last.node
                {
                    self.count(change.at, node, -1, store);
                }
            }
            _ => {}
        }
    }
}

impl Keeps<NodeRow> for Nodes {
    fn take_rows(&mut self) -> Vec<NodeRow> {
        std::mem::take(&mut self.rows)
    }
}
