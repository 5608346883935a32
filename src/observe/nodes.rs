//! `nodes.csv`: what `kubectl get nodes` would have shown, at each change.

use super::observer::{Keeps, Observer, Seen, Setup};
use super::place::{Place, Places};
use super::table::{Column, Row, Table};
use super::{Detail, Room};
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
    /// Zone.
    pub zone: Symbol,
    /// Node pool.
    pub pool: Symbol,
    /// What unfinished pods bound to it request, and how many they are.
    pub requested: Room,
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
            Column::number("pods", "pods", "unfinished pods bound to it", |row| row.requested.pods),
            Column::text("zone", "its zone, by its labels", |row| row.zone.as_str()),
            Column::text("pool", "its node pool, as in `inventory.csv`", |row| row.pool.as_str()),
            Column::number("requested_cpu_milli", "cores / 1000", "CPU that these pods request", |row| {
                row.requested.cpu_milli
            }),
            Column::number("requested_memory_bytes", "bytes", "memory that they request", |row| row.requested.memory),
        ],
    };
}

#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    rows: Vec<NodeRow>,
    /// Index of each node's last row, plus one.
    last: arena::Column<NodeSlot, usize>,
    /// What unfinished pods take of each node.
    requested: arena::Column<NodeSlot, Room>,
    /// What each pod takes of its node.
    taken: arena::Column<Pod, Room>,
    places: Places,
}

impl Nodes {
    /// Adds a row if anything differs from the node's last; a later state of the same instant replaces it.
    fn push(&mut self, at: SimTime, id: NodeId, store: &Store) {
        let name = store.node_name(id);
        let requested = *self.requested.get(id);
        let Place { zone, pool } = self.places.of(id, store);
        let before = self.last.get(id).checked_sub(1).map(|index| &self.rows[index]);
        let row = match store.node(id) {
            // Pods name a node that there never was.
            None if before.is_none() => return,
            // As a watching client sees a deletion: with the object as it was last.
            None => {
                let (unschedulable, taints) =
                    before.map(|row| (row.unschedulable, row.taints.clone())).unwrap_or_default();
                NodeRow { at, node: name, ready: "Absent", unschedulable, taints, zone, pool, requested }
            }
            Some(node) => {
                let mut taints: Vec<String> =
                    node.taints.iter().map(|t| format!("{}={}:{}", t.key, t.value, t.effect)).collect();
                taints.sort_unstable();
                let ready = node.conditions.ready().unwrap_or(Status::Unknown).as_str();
                let (unschedulable, taints) = (node.unschedulable, taints.join(";"));
                NodeRow { at, node: name, ready, unschedulable, taints, zone, pool, requested }
            }
        };
        let last = self.last.get_mut(id);
        if let Some(previous) = last.checked_sub(1).map(|index| &mut self.rows[index]) {
            let same = NodeRow { at, ..previous.clone() } == row;
            if same {
                return;
            }
            let only_pods = NodeRow { requested, ..previous.clone() } == NodeRow { at: previous.at, ..row.clone() };
            if previous.at == at && only_pods {
                *previous = row;
                return;
            }
        }
        *last = self.rows.len() + 1;
        self.rows.push(row);
    }

    fn pod_changed(&mut self, at: SimTime, id: PodId, store: &Store) {
        if let Some(pod) = store.pod(id)
            && let Some(node) = pod.node
        {
            self.takes(at, (id, Room::taken_by(pod)), node, store);
        }
    }

    /// A pod takes so much of its node from now on.
    fn takes(&mut self, at: SimTime, (pod, room): (PodId, Room), node: NodeId, store: &Store) {
        let before = std::mem::replace(self.taken.get_mut(pod), room);
        if before != room {
            let requested = self.requested.get_mut(node);
            requested.add(before, -1);
            requested.add(room, 1);
            self.push(at, node, store);
        }
    }
}

impl Observer for Nodes {
    const NEEDED_FOR: Detail = Detail::Files;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        let store = seen.store;
        for (id, pod) in store.pods() {
            if let Some(node) = pod.node {
                let room = Room::taken_by(pod);
                self.requested.get_mut(node).add(room, 1);
                *self.taken.get_mut(id) = room;
            }
        }
        let ids: Vec<NodeId> = store.nodes().map(|(id, _)| id).collect();
        for id in ids {
            self.push(SimTime::ZERO, id, store);
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        let store = seen.store;
        self.places.changed(change);
        match &change.what {
            Changed::NodeAdded(node) | Changed::NodeRemoved { node, .. } => self.push(change.at, *node, store),
            Changed::NodeUpdated { node, delta, .. }
                if delta.touches(
                    NodeDelta::CONDITIONS | NodeDelta::TAINTS | NodeDelta::UNSCHEDULABLE | NodeDelta::LABELS,
                ) =>
            {
                self.push(change.at, *node, store);
            }
            Changed::PodAdded(pod) => self.pod_changed(change.at, *pod, store),
            Changed::PodUpdated { pod, delta, .. }
                if delta.touches(PodDelta::NODE | PodDelta::PHASE | PodDelta::SPEC) =>
            {
                self.pod_changed(change.at, *pod, store);
            }
            Changed::PodRemoved { pod, last } => {
                if let Some(node) = last.node {
                    self.takes(change.at, (*pod, Room::default()), node, store);
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
