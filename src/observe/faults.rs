//! `faults.csv`: what each fault hit, and for how long.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Detail;
use super::observer::{Keeps, Observer, Seen, Setup};
use super::table::{Column, Row, Table};
use crate::arena::Symbol;
use crate::component::{FaultNature, FaultPhase, FaultTarget, Record, Stops, node_name, pod_name};
use crate::state::{Change, Changed, MachineChange, NodeDelta, NodeId, Power, Status, Store};
use crate::units::{SimDuration, SimTime};

/// A row of `faults.csv`.
#[derive(Clone, Debug)]
pub struct FaultRow {
    /// The fault as `events.csv` names it.
    pub name: Arc<str>,
    /// Its kind.
    pub kind: &'static str,
    /// What became of what it hit: the end of a sentence that begins with how many they are.
    pub effect: &'static str,
    /// What does nothing while it lasts.
    pub stops: Stops,
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
    /// When it was over, of a reboot the machine up again, or the machine was gone; none if nothing of that was by the end of the run.
    pub ended_at: Option<SimTime>,
    /// When a node that it hit first went from Ready to not Ready, or was deleted.
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
            Column::text("effect", "what became of what it hit, in words", |row| row.effect),
            Column::text(
                "stops",
                "what does nothing meanwhile: `machine`, `kubelet` or `link`, where containers go on, or `process`; empty if all goes on, if in another way",
                |row| row.stops.as_str(),
            ),
            Column::text("object", "what it hits: `node/NAME`, `pod/NAMESPACE/NAME` or `process/NAME`", |row| {
                &row.object
            }),
            Column::text("node", "the node that it hits, or the node of the pod; empty for a process", |row| {
                row.node.as_str()
            }),
            Column::text("zone", "that node's zone; empty if it has none, or never joined", |row| row.zone.as_str()),
            Column::maybe_number("pods", "pods", "unfinished ones on a node that it hits, when it begins", |row| {
                row.pods
            }),
            Column::time(
                "began_s",
                "when it began; for a node that joined while a fault of all nodes lasted, when it joined",
                |row| row.began_at,
            ),
            Column::maybe_time(
                "ended_s",
                "when it was over: the object is not whole at once; of a reboot when the machine was up again, or off once more; when the \
                 machine that it hits was gone, if that was before; empty if it lasts to the end of the run",
                |row| row.ended_at,
            ),
            Column::maybe_time(
                "not_ready_s",
                "when a node that it hits first went from Ready to not Ready or was deleted: while the fault lasts, or \
                 before the machine was up again for `--node-monitor-grace-period`; empty if nobody noticed, if the node \
                 was not Ready before, and for kinds that leave a node Ready",
                |row| row.not_ready_at,
            ),
            Column::maybe_time("ready_s", "when that node was Ready again after that; empty if it was not", |row| {
                row.ready_at
            }),
        ],
    };
}

/// A node that a fault has hit.
#[derive(Copy, Clone, Debug)]
struct Watched {
    /// The fault's row.
    row: usize,
    /// Since when the fault is over and the machine is up, whatever comes later; never for a fault that ends machines, which
    /// may be over before the machine is off.
    up_at: Option<SimTime>,
    /// Whether the fault ends machines for good.
    ends_machines: bool,
    /// Whether the fault has turned the machine off at one instant, and lasts until it is up by itself.
    is_away: bool,
    /// Whether the node was Ready at the last look.
    was_ready: bool,
}

/// A fault that goes on.
#[derive(Clone, Debug)]
struct Open {
    nature: FaultNature,
    /// What it has hit, and the row of that.
    hit: Vec<(usize, FaultTarget)>,
}

/// Follows faults, and the nodes that they hit.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    rows: Vec<FaultRow>,
    /// Those that go on.
    open: FxHashMap<Arc<str>, Open>,
    /// Those of them that hit nodes that join, in the order in which they began.
    everywhere: Vec<Arc<str>>,
    /// Those whose node has not been Ready again.
    watched: FxHashMap<NodeId, Vec<Watched>>,
    /// Zones of nodes whose Node object has been deleted.
    former_zones: FxHashMap<NodeId, Symbol>,
    /// Rows of machines that were hit before their node first joined.
    zoneless: FxHashMap<NodeId, Vec<usize>>,
    /// A machine that has been up for so long has been heard.
    grace: SimDuration,
}

impl Faults {
    /// What has been hit so far.
    pub(super) fn rows(&self) -> &[FaultRow] {
        &self.rows
    }

    fn hit(&mut self, name: &Arc<str>, nature: FaultNature, targets: &[FaultTarget], seen: &Seen<'_>) {
        let first = self.rows.len();
        for &target in targets {
            if let FaultTarget::Node(node) = target
                && nature.makes_nodes_not_ready
            {
                let was_ready = is_ready(node, seen.store);
                let ends_machines = nature.ends_machines;
                let watched = Watched { row: self.rows.len(), up_at: None, ends_machines, is_away: false, was_ready };
                self.watched.entry(node).or_default().push(watched);
            }
            let row = self.row(name, nature, target, seen);
            if let FaultTarget::Node(node) = target
                && row.zone.is_empty()
            {
                self.zoneless.entry(node).or_default().push(self.rows.len());
            }
            self.rows.push(row);
        }
        self.open.insert(Arc::clone(name), Open { nature, hit: (first..).zip(targets.iter().copied()).collect() });
    }

    /// A node joins, and meets the faults that are everywhere.
    fn joined(&mut self, node: NodeId, seen: &Seen<'_>) {
        let target = FaultTarget::Node(node);
        for name in std::mem::take(&mut self.everywhere) {
            let Some(open) = self.open.get(&name) else { continue };
            // One whose Node object was deleted, and that registers anew, has been hit before; a new machine of its name has not.
            if !open.hit.iter().any(|(row, hit)| *hit == target && self.rows[*row].ended_at.is_none()) {
                let row = self.row(&name, open.nature, target, seen);
                self.open.entry(Arc::clone(&name)).and_modify(|open| open.hit.push((self.rows.len(), target)));
                self.rows.push(row);
            }
            self.everywhere.push(name);
        }
    }

    fn over(&mut self, name: &str, seen: &Seen<'_>) {
        let Some(open) = self.open.remove(name) else { return };
        for (index, target) in open.hit {
            self.rows[index].ended_at.get_or_insert(seen.now);
            if let FaultTarget::Node(node) = target
                && is_up(node, seen.store)
                && let Some(watched) = self.watched.get_mut(&node)
            {
                let of_row = watched.iter_mut().filter(|watched| watched.row == index && !watched.ends_machines);
                of_row.for_each(|watched| watched.up_at = Some(seen.now));
            }
        }
    }

    /// The machine is gone, and with it what had befallen it: another one of its name has nothing of that.
    fn machine_gone(&mut self, node: NodeId, now: SimTime) {
        let hit = self.open.values().flat_map(|open| &open.hit);
        for (row, _) in hit.filter(|(_, target)| *target == FaultTarget::Node(node)) {
            self.rows[*row].ended_at.get_or_insert(now);
        }
    }

    /// The node's condition may have changed.
    fn look(&mut self, node: NodeId, seen: &Seen<'_>) {
        let Some(watched) = self.watched.get_mut(&node) else { return };
        let (rows, grace, is_ready) = (&mut self.rows, self.grace, is_ready(node, seen.store));
        watched.retain_mut(|watched| {
            let row = &mut rows[watched.row];
            let is_over = watched.up_at.is_some_and(|up_at| up_at + grace < seen.now);
            match (row.not_ready_at, is_ready) {
                (None, _) if is_over => return false,
                (None, false) if watched.was_ready => row.not_ready_at = Some(seen.now),
                (Some(_), true) => {
                    row.ready_at = Some(seen.now);
                    return false;
                }
                (None, _) | (Some(_), false) => {}
            }
            watched.was_ready = is_ready;
            true
        });
    }

    /// The row of an object that a fault hits now.
    fn row(&self, name: &Arc<str>, nature: FaultNature, target: FaultTarget, seen: &Seen<'_>) -> FaultRow {
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
            kind: nature.kind,
            effect: nature.effect,
            stops: nature.stops,
            object,
            node: node.map(|node| store.node_name(node)).unwrap_or_default(),
            zone: node.map(|node| self.zone(node, store)).unwrap_or_default(),
            pods: node.filter(|_| is_node).map(unfinished),
            began_at: seen.now,
            ended_at: None,
            not_ready_at: None,
            ready_at: None,
        }
    }

    /// The zone of a node, or the last one if its Node object has been deleted.
    fn zone(&self, node: NodeId, store: &Store) -> Symbol {
        let now = store.node(node).map(|node| super::zone_of(&node.labels));
        now.or_else(|| self.former_zones.get(&node).copied()).unwrap_or_default()
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
            Changed::NodeAdded(node) => {
                let zone = self.zone(*node, seen.store);
                for row in self.zoneless.remove(node).into_iter().flatten() {
                    self.rows[row].zone = zone;
                }
                self.joined(*node, seen);
                self.look(*node, seen);
            }
            Changed::NodeRemoved { node, last } => {
                self.former_zones.insert(*node, super::zone_of(&last.labels));
                self.look(*node, seen);
            }
            Changed::NodeUpdated { node, delta, .. } if delta.touches(NodeDelta::CONDITIONS) => self.look(*node, seen),
            _ => {}
        }
    }

    fn recorded(&mut self, record: &Record, seen: &Seen<'_>) {
        let Record::Fault { name, phase } = record else { return };
        match phase {
            FaultPhase::Began { nature, is_everywhere, targets } => {
                self.hit(name, *nature, targets, seen);
                if *is_everywhere {
                    self.everywhere.push(Arc::clone(name));
                }
            }
            FaultPhase::Ended => self.over(name, seen),
            FaultPhase::Missed(_) => {}
        }
    }

    fn machine_changed(&mut self, change: &MachineChange, seen: &Seen<'_>) {
        let (MachineChange::Booted(node) | MachineChange::PowerOff(node) | MachineChange::InstanceGone(node)) = change
        else {
            return;
        };
        if let MachineChange::InstanceGone(node) = change {
            self.machine_gone(*node, seen.now);
        }
        for watched in self.watched.get_mut(node).into_iter().flatten() {
            let row = &mut self.rows[watched.row];
            match change {
                MachineChange::Booted(_) if !watched.ends_machines => {
                    if std::mem::take(&mut watched.is_away) {
                        row.ended_at.get_or_insert(seen.now);
                    }
                    if row.ended_at.is_some() {
                        watched.up_at = Some(seen.now);
                    }
                }
                MachineChange::Booted(_) => {}
                // A reboot is over for who did it before its machine is off.
                _ if watched.up_at == Some(seen.now) => {
                    watched.up_at = None;
                    if matches!(change, MachineChange::PowerOff(_))
                        && row.began_at == seen.now
                        && row.stops == Stops::Machine
                    {
                        watched.is_away = true;
                        row.ended_at = None;
                    }
                }
                // It is gone while it boots, or is turned off once more, by which another fault begins.
                _ if watched.is_away => {
                    watched.is_away = false;
                    row.ended_at.get_or_insert(seen.now);
                }
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
