//! `taints.csv`: each taint that is put on a node or taken off.

use super::Detail;
use super::observer::{Keeps, Observer, Seen, Setup};
use super::table::{Column, Row, Table};
use crate::arena::Symbol;
use crate::model::TaintEffect;
use crate::state::{Change, Changed, NodeDelta, NodeId, TaintOnNode};
use crate::units::SimTime;

/// A row of `taints.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintRow {
    /// When.
    pub at: SimTime,
    /// The node's name.
    pub node: Symbol,
    /// The taint's key.
    pub key: Symbol,
    /// Its value from then on; of one that is removed, the last.
    pub value: Symbol,
    /// Its effect.
    pub effect: TaintEffect,
    /// What becomes of it.
    pub change: TaintChange,
    /// The component that did it; empty at t=0.
    pub by: &'static str,
}

/// What becomes of a taint. Key and effect say which it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TaintChange {
    /// It is there at t=0.
    Present,
    /// It is put on, or its node is created with it.
    Added,
    /// It has another value.
    Modified,
    /// It is taken off, or its node is deleted with it.
    Removed,
}

impl TaintChange {
    /// The word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Removed => "removed",
        }
    }
}

impl Row for TaintRow {
    const TABLE: Table<Self> = Table {
        file: "taints.csv",
        holds: "a row for each taint that is put on a node or taken off, and for those that are there at t=0",
        columns: &[
            Column::time("time_s", "when", |row| row.at),
            Column::text("node", "the node's name", |row| row.node.as_str()),
            Column::text("key", "the taint's key", |row| row.key.as_str()),
            Column::text("value", "its value from then on; the last of one that is removed", |row| row.value.as_str()),
            Column::text("effect", "its effect", |row| row.effect.as_str()),
            Column::text(
                "change",
                "`present` at t=0; `added`, also with its node; `modified`, if it has another value; `removed`, also with its node",
                |row| row.change.as_str(),
            ),
            Column::text("by", "the component whose call it was; empty at t=0", |row| row.by),
        ],
    };
}

/// Follows the taints of nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Taints {
    rows: Vec<TaintRow>,
}

impl Taints {
    fn push(&mut self, seen: &Seen<'_>, by: &'static str, node: NodeId, taint: &TaintOnNode, change: TaintChange) {
        let TaintOnNode { key, value, effect, .. } = *taint;
        self.rows.push(TaintRow { at: seen.now, node: seen.store.node_name(node), key, value, effect, change, by });
    }

    /// What differs between the taints of a node before and after a change.
    fn compare(
        &mut self,
        seen: &Seen<'_>,
        by: &'static str,
        node: NodeId,
        (before, after): (&[TaintOnNode], &[TaintOnNode]),
    ) {
        let find = |taints: &[TaintOnNode], of: &TaintOnNode| {
            taints.iter().find(|taint| (taint.key, taint.effect) == (of.key, of.effect)).map(|taint| taint.value)
        };
        for taint in before.iter().filter(|taint| find(after, taint).is_none()) {
            self.push(seen, by, node, taint, TaintChange::Removed);
        }
        for taint in after {
            match find(before, taint) {
                None => self.push(seen, by, node, taint, TaintChange::Added),
                Some(value) if value != taint.value => self.push(seen, by, node, taint, TaintChange::Modified),
                Some(_) => {}
            }
        }
    }
}

impl Observer for Taints {
    const NEEDED_FOR: Detail = Detail::Files;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        for (id, node) in seen.store.nodes() {
            for taint in &node.taints {
                self.push(seen, "", id, taint, TaintChange::Present);
            }
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        let now = |node: NodeId| seen.store.node(node).map_or(&[][..], |node| &node.taints);
        match &change.what {
            Changed::NodeAdded(node) => self.compare(seen, change.by, *node, (&[], now(*node))),
            Changed::NodeUpdated { node, delta, before } if delta.touches(NodeDelta::TAINTS) => {
                self.compare(seen, change.by, *node, (&before.taints, now(*node)));
            }
            Changed::NodeRemoved { node, last } => self.compare(seen, change.by, *node, (&last.taints, &[])),
            _ => {}
        }
    }
}

impl Keeps<TaintRow> for Taints {
    fn take_rows(&mut self) -> Vec<TaintRow> {
        std::mem::take(&mut self.rows)
    }
}
