//! `inventory.csv`: the nodes that there were, where they stood and what they offered.

use super::Detail;
use super::observer::{Keeps, Observer, Seen, Setup};
use super::place::Place;
use super::table::{Column, Row, Table};
use crate::arena::{Symbol, sym};
use crate::model;
use crate::state::{Change, Changed, Node, NodeDelta, NodeId};
use crate::units::SimTime;

/// A row of `inventory.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InventoryRow {
    /// The node's name.
    pub node: Symbol,
    /// When its object was created; of one that was there, t=0.
    pub joined_at: SimTime,
    /// When its object was deleted.
    pub left_at: Option<SimTime>,
    /// Region.
    pub region: Symbol,
    /// Zone.
    pub zone: Symbol,
    /// Node pool.
    pub pool: Symbol,
    /// Type of the machine.
    pub instance_type: Symbol,
    /// Whether it is said to bear the control plane.
    pub is_control_plane: bool,
    /// CPU that it offers, thousandths of a core.
    pub cpu_milli: i64,
    /// Memory that it offers, bytes.
    pub memory: i64,
    /// Pods that it takes.
    pub pods: i64,
}

impl Row for InventoryRow {
    const TABLE: Table<Self> = Table {
        file: "inventory.csv",
        holds: "a row for each node that there was, once more each time that it was deleted and created again",
        columns: &[
            Column::text("node", "the node's name", |row| row.node.as_str()),
            Column::time("joined_s", "when it was created; 0.000 if it was there", |row| row.joined_at),
            Column::maybe_time("left_s", "when it was deleted", |row| row.left_at),
            Column::text("region", "its region, by its labels", |row| row.region.as_str()),
            Column::text("zone", "its zone, by its labels", |row| row.zone.as_str()),
            Column::text(
                "pool",
                "its node pool: by the label of a cloud or of Karpenter, else its name without the number at the end",
                |row| row.pool.as_str(),
            ),
            Column::text("instance_type", "`node.kubernetes.io/instance-type`", |row| row.instance_type.as_str()),
            Column::truth("control_plane", "whether its labels say that it bears the control plane", |row| {
                row.is_control_plane
            }),
            Column::number("allocatable_cpu_milli", "cores / 1000", "CPU that it offers", |row| row.cpu_milli),
            Column::number("allocatable_memory_bytes", "bytes", "memory that it offers", |row| row.memory),
            Column::number("allocatable_pods", "pods", "pods that it takes", |row| row.pods),
        ],
    };
}

/// Follows which nodes there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Inventory {
    rows: Vec<InventoryRow>,
    /// The row of each node that is there.
    present: rustc_hash::FxHashMap<NodeId, usize>,
}

impl Inventory {
    /// The nodes that there have been so far.
    pub(super) fn rows(&self) -> &[InventoryRow] {
        &self.rows
    }

    fn joined(&mut self, id: NodeId, seen: &Seen<'_>) {
        let Some(node) = seen.store.node(id) else { return };
        self.present.insert(id, self.rows.len());
        self.rows.push(row(seen.store.node_name(id), node, seen.now));
    }
}

fn row(name: Symbol, node: &Node, joined_at: SimTime) -> InventoryRow {
    let label = |key| node.labels.get(key).unwrap_or_default();
    let Place { zone, pool } = Place::of(name, &node.labels);
    InventoryRow {
        node: name,
        joined_at,
        left_at: None,
        region: model::region_of(&node.labels).unwrap_or_default(),
        zone,
        pool,
        instance_type: label(sym!("node.kubernetes.io/instance-type")),
        is_control_plane: model::has_control_plane_role(&node.labels),
        cpu_milli: node.allocatable.cpu_milli,
        memory: node.allocatable.memory,
        pods: node.allocatable_pods,
    }
}

impl Observer for Inventory {
    const NEEDED_FOR: Detail = Detail::Files;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        for (id, _) in seen.store.nodes() {
            self.joined(id, seen);
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        match &change.what {
            Changed::NodeAdded(node) => self.joined(*node, seen),
            Changed::NodeUpdated { node, delta, .. }
                if delta.touches(NodeDelta::LABELS | NodeDelta::ALLOCATABLE)
                    && let Some(index) = self.present.get(node)
                    && let Some(object) = seen.store.node(*node) =>
            {
                let before = &self.rows[*index];
                self.rows[*index] = row(before.node, object, before.joined_at);
            }
            Changed::NodeRemoved { node, .. } => {
                if let Some(index) = self.present.remove(node) {
                    self.rows[index].left_at = Some(seen.now);
                }
            }
            _ => {}
        }
    }
}

impl Keeps<InventoryRow> for Inventory {
    fn take_rows(&mut self) -> Vec<InventoryRow> {
        std::mem::take(&mut self.rows)
    }
}
