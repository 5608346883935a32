//! `faults.csv`: what each fault hit, and for how long.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Detail;
use super::observer::{Keeps, Observer, Seen, Setup};
use super::table::{Column, Row, Table};
use crate::arena::Symbol;
use crate::component::{FaultPhase, FaultTarget, Record, node_name, pod_name};
use crate::state::{Change, Changed, MachineChange, NodeDelta, NodeId, Power, Status, Store};
use crate::units::{SimDuration, SimTime};

/// A row of `faults.csv`.
#[derive(Clone, Debug)]
pub struct FaultRow {
    /// The fault as `events.csv` names it.
    pub name: Arc<str>,
    /// Its kind.
    pub kind: &'static str,
    /// What it hit: `node/NAME`, `pod/NS/NAME` or `process/NAME`.
    pub object: String,
    /// The node that it hit, or the node of the pod; empty for a process.
    pub node: Symbol,
    /// That node's zone.
    pub zone: Symbol,
    /// Unfinished pods on a node that it hit, when it began; none for other objects.
    pub pods: Option<i64>,
    /// When it began.
    pub began_at: SimTime,
    /// When it was over; none if it was not by the end of the run.
    pub ended_at: Option<SimTime>,
    /// When a node that it hit was first not Ready from then on.
    pub not_ready_at: Option<SimTime>,
    /// When that node was Ready again.
    pub ready_at: Option<SimTime>,
}

impl Row for FaultRow {
    const TABLE: Table<Self> = Table {
        file: "faults.csv",
        holds: "a row for each fault, of the timeline and by chance, and each node, pod or process of the control plane that it hits",
        columns: &[
            Column::text("name", "the fault as `events.csv` names it", |row| &row.name),
            Column::text("kind", "its kind", |row| row.kind),
            Column::text("object", "what it hits: `node/NAME`, `pod/NAMESPACE/NAME` or `process/NAME`", |row| {
                &row.object
            }),
            Column::text("node", "the node that it hits, or the node of the pod; empty for a process", |row| {
                row.node.as_str()
            }),
            Column::text("zone", "that node's zone", |row| row.zone.as_str()),
            Column::maybe_number("pods", "pods", "unfinished ones on a node that it hits, when it begins", |row| {
                row.pods
            }),
            Column::time("began_s", "when it began", |row| row.began_at),
            Column::maybe_time(
                "ended_s",
                "when it was over: the object is not whole at once; empty if it lasts to the end of the run",
                |row| row.ended_at,
            ),
            Column::maybe_time(
                "not_ready_s",
                "when a node that it hits was first not Ready: while it lasts, or before the machine was up again for \
                 `--node-monitor-grace-period`; empty if nobody noticed",
                |row| row.not_ready_at,
            ),
            Column::maybe_time("ready_s", "when that node was Ready again; empty if it was not", |row| row.ready_at),
        ],
    };
}

/// A node that a fault has hit.
#[derive(Copy, Clone, Debug)]
struct Watched {
    /// The fault's row.
    row: usize,
    /// Since when the fault is over and the machine is up, whatever comes later.
    up_at: Option<SimTime>,
}

/// Follows faults, and the nodes that they hit.
#[derive(Debug, Default)]
pub(super) struct Faults {
    rows: Vec<FaultRow>,
    /// Those that last: the first of their rows, and what they hit, a row each.
    open: FxHashMap<Arc<str>, (usize, Vec<FaultTarget>)>,
    /// Those whose node has not been Ready again.
    watched: FxHashMap<NodeId, Vec<Watched>>,
    /// A machine that has been up for so long has been heard.
    grace: SimDuration,
}

impl Faults {
    fn hit(&mut self, name: &Arc<str>, kind: &'static str, targets: &[FaultTarget], seen: &Seen<'_>) {
        let first = self.rows.len();
        for &target in targets {
            let row = row(name, kind, target, seen);
            if let FaultTarget::Node(node) = target {
                self.watched.entry(node).or_default().push(Watched { row: self.rows.len(), up_at: None });
            }
            self.rows.push(row);
        }
        self.open.insert(Arc::clone(name), (first, targets.to_vec()));
    }

    fn over(&mut self, name: &str, seen: &Seen<'_>) {
        let Some((first, targets)) = self.open.remove(name) else { return };
        for (index, target) in (first..).zip(targets) {
            self.rows[index].ended_at = Some(seen.now);
            if let FaultTarget::Node(node) = target
                && is_up(node, seen.store)
                && let Some(watched) = self.watched.get_mut(&node)
            {
                let of_row = watched.iter_mut().filter(|watched| watched.row == index);
                of_row.for_each(|watched| watched.up_at = Some(seen.now));
            }
        }
    }

    /// The node's condition may have changed.
    fn look(&mut self, node: NodeId, seen: &Seen<'_>) {
        let Some(watched) = self.watched.get_mut(&node) else { return };
        let (rows, grace, is_ready) = (&mut self.rows, self.grace, is_ready(node, seen.store));
        watched.retain(|watched| {
            let row = &mut rows[watched.row];
            let is_over = watched.up_at.is_some_and(|up_at| up_at + grace < seen.now);
            match (row.not_ready_at, is_ready) {
                (None, _) if is_over => return false,
                (None, false) => row.not_ready_at = Some(seen.now),
                (Some(_), true) => {
                    row.ready_at = Some(seen.now);
                    return false;
                }
                (None, true) | (Some(_), false) => {}
            }
            true
        });
    }
}

/// The row of an object that a fault hits now.
fn row(name: &Arc<str>, kind: &'static str, target: FaultTarget, seen: &Seen<'_>) -> FaultRow {
    let store = seen.store;
    let (object, node) = match target {
        FaultTarget::Node(node) => (node_name(store, node), Some(node)),
        FaultTarget::Pod(pod) => (pod_name(store, pod), store.pod(pod).and_then(|pod| pod.node)),
        FaultTarget::Process(process) => (format!("process/{}", process.as_str()), None),
    };
    let is_node = matches!(target, FaultTarget::Node(_));
    let unfinished = |node| store.unfinished_pods_on(node).iter().count() as i64;
    FaultRow {
        name: Arc::clone(name),
        kind,
        object,
        node: node.map(|node| store.node_name(node)).unwrap_or_default(),
        zone: node.and_then(|node| store.node(node)).map(|node| super::zone_of(&node.labels)).unwrap_or_default(),
        pods: node.filter(|_| is_node).map(unfinished),
        began_at: seen.now,
        ended_at: None,
        not_ready_at: node.filter(|node| is_node && !is_ready(*node, store)).map(|_| seen.now),
        ready_at: None,
    }
}

fn is_up(node: NodeId, store: &Store) -> bool {
    let machine = store.machine(node);
    machine.exists && machine.power == Power::On
}

fn is_ready(node: NodeId, store: &Store) -> bool {
    store.node(node).is_some_and(|node| node.conditions.ready() == Some(Status::True))
}

impl Observer for Faults {
    const NEEDED_FOR: Detail = Detail::Files;

    fn begin(&mut self, setup: &Setup<'_>, _seen: &Seen<'_>) {
        self.grace = setup.config.kube_controller_manager.node_monitor_grace_period;
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        match &change.what {
            Changed::NodeAdded(node) | Changed::NodeRemoved { node, .. } => self.look(*node, seen),
            Changed::NodeUpdated { node, delta, .. } if delta.touches(NodeDelta::CONDITIONS) => self.look(*node, seen),
            _ => {}
        }
    }

    fn recorded(&mut self, record: &Record, seen: &Seen<'_>) {
        let Record::Fault { name, phase } = record else { return };
        match phase {
            FaultPhase::Began { kind, targets } => self.hit(name, kind, targets, seen),
            FaultPhase::Ended => self.over(name, seen),
            FaultPhase::Missed(_) => {}
        }
    }

    fn machine_changed(&mut self, change: &MachineChange, seen: &Seen<'_>) {
        let (MachineChange::Booted(node) | MachineChange::PowerOff(node) | MachineChange::InstanceGone(node)) = change
        else {
            return;
        };
        for watched in self.watched.get_mut(node).into_iter().flatten() {
            let is_over = self.rows[watched.row].ended_at.is_some();
            match change {
                MachineChange::Booted(_) if is_over => watched.up_at = Some(seen.now),
                MachineChange::Booted(_) => {}
                // A reboot is over before its machine is off.
                _ if watched.up_at == Some(seen.now) => watched.up_at = None,
                _ => {}
            }
        }
    }
}

impl Keeps<FaultRow> for Faults {
    fn take_rows(&mut self) -> Vec<FaultRow> {
        std::mem::take(&mut self.rows)
    }
}
