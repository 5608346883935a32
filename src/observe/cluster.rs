//! `cluster.csv` and `zones.csv`: the cluster in numbers, over time.

use super::Detail;
use super::cause::is_eviction;
use super::observer::{Keeps, Observer, Seen, Setup};
use super::table::{Column, Row, Table};
use crate::arena::{self, Symbol};
use crate::state::{Change, Changed, DeletionCause, Node, NodeId, NodeSlot, Pod, PodId, PodPhase, Status, Store};
use crate::units::{SimDuration, SimTime};

/// A row of `cluster.csv`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ClusterRow {
    /// When.
    pub at: SimTime,
    /// Nodes with Ready True, False, Unknown or none.
    pub nodes_ready: i64,
    /// Ready=False.
    pub nodes_not_ready: i64,
    /// Ready=Unknown or never posted.
    pub nodes_unknown: i64,
    /// Cordoned.
    pub nodes_unschedulable: i64,
    /// Pods not bound to a node, unfinished.
    pub pods_unscheduled: i64,
    /// Phase Pending, not being deleted.
    pub pods_pending: i64,
    /// Phase Running, not being deleted.
    pub pods_running: i64,
    /// Running and Ready, not being deleted.
    pub pods_ready: i64,
    /// Phase Succeeded.
    pub pods_succeeded: i64,
    /// Phase Failed.
    pub pods_failed: i64,
    /// Being deleted, unfinished.
    pub pods_terminating: i64,
    /// What bound unfinished pods request.
    pub requested: Room,
    /// What nodes with Ready=True offer.
    pub allocatable: Room,
    /// Pods evicted so far: by taints, the eviction API, pod GC and kubelets. Each counts once.
    pub evictions: i64,
    /// Pods preempted so far.
    pub preemptions: i64,
    /// Evictions that the API server refused for a budget's sake so far.
    pub refusals: i64,
}

impl Row for ClusterRow {
    const TABLE: Table<Self> = Table {
        file: "cluster.csv",
        holds: "a row at each change of the cluster; `--sample 1m` thins it",
        columns: &[
            Column::time("time_s", "when", |row| row.at),
            Column::number("nodes_ready", "nodes", "those whose condition Ready is True", |row| row.nodes_ready),
            Column::number("nodes_not_ready", "nodes", "those whose condition Ready is False", |row| {
                row.nodes_not_ready
            }),
            Column::number(
                "nodes_unknown",
                "nodes",
                "those whose condition Ready is Unknown or was never posted",
                |row| row.nodes_unknown,
            ),
            Column::number("nodes_unschedulable", "nodes", "those that are cordoned", |row| row.nodes_unschedulable),
            Column::number(
                "pods_unscheduled",
                "pods",
                "those that are not bound to a node, unfinished and not being deleted",
                |row| row.pods_unscheduled,
            ),
            Column::number("pods_pending", "pods", "those in phase Pending that are not being deleted", |row| {
                row.pods_pending
            }),
            Column::number("pods_running", "pods", "those in phase Running that are not being deleted", |row| {
                row.pods_running
            }),
            Column::number("pods_ready", "pods", "those that are ready", |row| row.pods_ready),
            Column::number("pods_succeeded", "pods", "those in phase Succeeded that are not being deleted", |row| {
                row.pods_succeeded
            }),
            Column::number("pods_failed", "pods", "those in phase Failed that are not being deleted", |row| {
                row.pods_failed
            }),
            Column::number("pods_terminating", "pods", "those that are being deleted", |row| row.pods_terminating),
            Column::number("requested_cpu_milli", "cores / 1000", "CPU that bound, unfinished pods request", |row| {
                row.requested.cpu_milli
            }),
            Column::number("requested_memory_bytes", "bytes", "memory that they request", |row| row.requested.memory),
            Column::number("requested_pods", "pods", "how many they are", |row| row.requested.pods),
            Column::number("allocatable_cpu_milli", "cores / 1000", "CPU that Ready nodes offer", |row| {
                row.allocatable.cpu_milli
            }),
            Column::number("allocatable_memory_bytes", "bytes", "memory that they offer", |row| row.allocatable.memory),
            Column::number("allocatable_pods", "pods", "pods that they take", |row| row.allocatable.pods),
            Column::number("evictions", "pods", "evicted so far", |row| row.evictions),
            Column::number("preemptions", "pods", "preempted so far", |row| row.preemptions),
            Column::number("refusals", "tries", "evictions refused so far", |row| row.refusals),
        ],
    };
}

/// The fewest and the most of everything at any instant, and how it stood at the beginning and at the end. Of all instants, whatever rows are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Extremes {
    pub(super) begin: ClusterRow,
    pub(super) max: ClusterRow,
    pub(super) min: ClusterRow,
    pub(super) end: ClusterRow,
    /// Node objects times how long there were so many.
    pub(super) node_ns: u128,
}

impl Extremes {
    fn see(&mut self, row: &ClusterRow, is_first: bool) {
        if is_first {
            (self.begin, self.max, self.min) = (row.clone(), row.clone(), row.clone());
        }
        let (max, min) = (&mut self.max, &mut self.min);
        max.pods_pending = max.pods_pending.max(row.pods_pending);
        max.pods_unscheduled = max.pods_unscheduled.max(row.pods_unscheduled);
        max.pods_terminating = max.pods_terminating.max(row.pods_terminating);
        min.pods_ready = min.pods_ready.min(row.pods_ready);
        min.nodes_ready = min.nodes_ready.min(row.nodes_ready);
    }
}

/// A row of `zones.csv`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ZoneRow {
    /// When.
    pub at: SimTime,
    /// Zone; empty for nodes without one.
    pub zone: Symbol,
    /// Nodes with Ready=True.
    pub nodes_ready: i64,
    /// All nodes.
    pub nodes: i64,
    /// What bound unfinished pods on its nodes request.
    pub requested: Room,
    /// What its nodes with Ready=True offer.
    pub allocatable: Room,
}

impl Row for ZoneRow {
    const TABLE: Table<Self> = Table {
        file: "zones.csv",
        holds: "a row for each zone that a change of the cluster touches; requests and room of its Ready nodes",
        columns: &[
            Column::time("time_s", "when", |row| row.at),
            Column::text("zone", "the zone; empty for nodes without one", |row| row.zone.as_str()),
            Column::number("nodes", "nodes", "all of the zone", |row| row.nodes),
            Column::number("nodes_ready", "nodes", "those whose condition Ready is True", |row| row.nodes_ready),
            Column::number(
                "requested_cpu_milli",
                "cores / 1000",
                "CPU that bound, unfinished pods on its Ready nodes request",
                |row| row.requested.cpu_milli,
            ),
            Column::number("requested_memory_bytes", "bytes", "memory that they request", |row| row.requested.memory),
            Column::number("requested_pods", "pods", "how many they are", |row| row.requested.pods),
            Column::number("allocatable_cpu_milli", "cores / 1000", "CPU that its Ready nodes offer", |row| {
                row.allocatable.cpu_milli
            }),
            Column::number("allocatable_memory_bytes", "bytes", "memory that they offer", |row| row.allocatable.memory),
            Column::number("allocatable_pods", "pods", "pods that they take", |row| row.allocatable.pods),
        ],
    };
}

/// An amount of the resources that every pod takes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Room {
    /// CPU in thousandths of a core.
    pub cpu_milli: i64,
    /// Memory in bytes.
    pub memory: i64,
    /// Pods.
    pub pods: i64,
}

impl Room {
    /// What a pod takes of its node: nothing before it is bound and after it has ended.
    pub(super) fn taken_by(pod: &Pod) -> Self {
        if pod.phase.is_terminal() || pod.node.is_none() {
            return Self::default();
        }
        Self { cpu_milli: pod.spec.requests.cpu_milli, memory: pod.spec.requests.memory, pods: 1 }
    }

    pub(super) fn add(&mut self, other: Self, sign: i64) {
        self.cpu_milli += sign * other.cpu_milli;
        self.memory += sign * other.memory;
        self.pods += sign * other.pods;
    }
}

/// What one pod contributes to the counts.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
struct PodPart {
    unscheduled: bool,
    pending: bool,
    running: bool,
    ready: bool,
    succeeded: bool,
    failed: bool,
    terminating: bool,
    node: Option<NodeId>,
    room: Room,
}

/// What one node contributes to the counts.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
struct NodePart {
    exists: bool,
    ready: bool,
    not_ready: bool,
    unschedulable: bool,
    zone: usize,
    /// What it offers.
    room: Room,
    /// What the pods bound to it ask for.
    requested: Room,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Cluster {
    sample: SimDuration,
    now: ClusterRow,
    zones_now: Vec<ZoneRow>,
    rows: Vec<ClusterRow>,
    /// None before the first instant is over.
    extremes: Option<Extremes>,
    zone_rows: Vec<ZoneRow>,
    pods: arena::Column<Pod, PodPart>,
    nodes: arena::Column<NodeSlot, NodePart>,
    dirty_zones: Vec<usize>,
    is_dirty: bool,
    /// When the pending row began; rows of one instant are one.
    pending_at: SimTime,
    /// Node objects.
    node_count: u64,
    /// Since when there are so many.
    node_count_since: SimTime,
    /// Node objects times how long there were so many, until then.
    node_ns: u128,
}

impl Cluster {
    /// From now on there are so many Node objects.
    fn count_nodes(&mut self, at: SimTime, count: u64) {
        let passed = at.saturating_since(self.node_count_since);
        self.node_ns += u128::from(passed.as_nanos()) * u128::from(self.node_count);
        (self.node_count, self.node_count_since) = (count, at);
    }

    /// A pod was taken away.
    fn taken_away(&mut self, cause: DeletionCause) {
        self.now.evictions += i64::from(is_eviction(cause));
        self.now.preemptions += i64::from(cause == DeletionCause::PreemptionByScheduler);
        self.is_dirty = true;
    }

    fn set_pod(&mut self, id: PodId, part: PodPart) {
        let old = std::mem::replace(self.pods.get_mut(id), part);
        if old == part {
            return;
        }
        self.is_dirty = true;
        for (part, sign) in [(old, -1), (part, 1)] {
            self.now.pods_unscheduled += sign * i64::from(part.unscheduled);
            self.now.pods_pending += sign * i64::from(part.pending);
            self.now.pods_running += sign * i64::from(part.running);
            self.now.pods_ready += sign * i64::from(part.ready);
            self.now.pods_succeeded += sign * i64::from(part.succeeded);
            self.now.pods_failed += sign * i64::from(part.failed);
            self.now.pods_terminating += sign * i64::from(part.terminating);
            self.now.requested.add(part.room, sign);
            if let Some(node) = part.node {
                let node = self.nodes.get_mut(node);
                node.requested.add(part.room, sign);
                if node.ready {
                    self.zones_now[node.zone].requested.add(part.room, sign);
                    self.dirty_zones.push(node.zone);
                }
            }
        }
    }

    fn set_node(&mut self, id: NodeId, store: &Store) {
        let &NodePart { zone, requested, .. } = self.nodes.get(id);
        let part = match store.node(id) {
            Some(node) => NodePart { requested, ..self.node_part(node) },
            None => NodePart { zone, requested, ..NodePart::default() },
        };
        let old = std::mem::replace(self.nodes.get_mut(id), part);
        if old == part {
            return;
        }
        self.is_dirty = true;
        for (part, sign) in [(old, -1), (part, 1)] {
            if !part.exists {
                continue;
            }
            self.now.nodes_ready += sign * i64::from(part.ready);
            self.now.nodes_not_ready += sign * i64::from(part.not_ready);
            self.now.nodes_unknown += sign * i64::from(!part.ready && !part.not_ready);
            self.now.nodes_unschedulable += sign * i64::from(part.unschedulable);
            let offered = if part.ready { part.room } else { Room::default() };
            self.now.allocatable.add(offered, sign);
            let row = &mut self.zones_now[part.zone];
            row.nodes += sign;
            row.nodes_ready += sign * i64::from(part.ready);
            row.allocatable.add(offered, sign);
            row.requested.add(if part.ready { part.requested } else { Room::default() }, sign);
            self.dirty_zones.push(part.zone);
        }
    }

    fn node_part(&mut self, node: &Node) -> NodePart {
        let name = super::zone_of(&node.labels);
        let zone = self.zones_now.iter().position(|z| z.zone == name).unwrap_or_else(|| {
            self.zones_now.push(ZoneRow { zone: name, ..ZoneRow::default() });
            self.zones_now.len() - 1
        });
        NodePart {
            exists: true,
            ready: node.conditions.ready() == Some(Status::True),
            not_ready: node.conditions.ready() == Some(Status::False),
            unschedulable: node.unschedulable,
            zone,
            room: Room {
                cpu_milli: node.allocatable.cpu_milli,
                memory: node.allocatable.memory,
                pods: node.allocatable_pods,
            },
            requested: Room::default(),
        }
    }

    /// Writes the row of the last instant down once time moves on.
    fn flush(&mut self, now: SimTime) {
        if !self.is_dirty || now == self.pending_at {
            self.pending_at = now;
            return;
        }
        let at = self.pending_at;
        self.pending_at = now;
        let is_first = self.extremes.is_none();
        self.extremes.get_or_insert_default().see(&self.now, is_first);
        let is_soon = |last: Option<SimTime>| {
            self.sample > SimDuration::ZERO && last.is_some_and(|last| at.saturating_since(last) < self.sample)
        };
        if is_soon(self.rows.last().map(|r| r.at)) {
            return;
        }
        self.is_dirty = false;
        self.rows.push(ClusterRow { at, ..self.now.clone() });
        let mut zones = std::mem::take(&mut self.dirty_zones);
        zones.sort_unstable();
        zones.dedup();
        for zone in zones {
            self.zone_rows.push(ZoneRow { at, ..self.zones_now[zone].clone() });
        }
    }

    /// Whether rows are left out.
    pub(super) fn is_thinned(&self) -> bool {
        self.sample > SimDuration::ZERO
    }

    /// The fewest, the most and the end of everything, once the run has ended.
    pub(super) fn extremes(&self) -> &Extremes {
        self.extremes.as_ref().expect("the run has ended")
    }
}

impl Observer for Cluster {
    const NEEDED_FOR: Detail = Detail::Summary;

    fn begin(&mut self, setup: &Setup<'_>, seen: &Seen<'_>) {
        let store = seen.store;
        self.sample = setup.sample;
        let nodes: Vec<_> = store.nodes().map(|(id, _)| id).collect();
        self.count_nodes(SimTime::ZERO, nodes.len() as u64);
        for id in nodes {
            self.set_node(id, store);
        }
        for (id, pod) in store.pods() {
            self.set_pod(id, part_of(pod));
        }
        self.is_dirty = true;
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        let store = seen.store;
        self.flush(change.at);
        match &change.what {
            Changed::NodeAdded(_) => self.count_nodes(change.at, self.node_count + 1),
            Changed::NodeRemoved { .. } => self.count_nodes(change.at, self.node_count.saturating_sub(1)),
            _ => {}
        }
        match &change.what {
            Changed::PodAdded(pod) | Changed::PodUpdated { pod, .. } => {
                self.set_pod(*pod, store.pod(*pod).map(part_of).unwrap_or_default());
            }
            Changed::PodRemoved { pod, .. } => self.set_pod(*pod, PodPart::default()),
            Changed::NodeAdded(node) | Changed::NodeRemoved { node, .. } | Changed::NodeUpdated { node, .. } => {
                self.set_node(*node, store);
            }
            _ => {}
        }
        if let Some(cause) = seen.taken_away {
            self.taken_away(cause);
        }
    }

    fn refused(&mut self, _pod: Option<PodId>, seen: &Seen<'_>) {
        self.flush(seen.now);
        self.now.refusals += 1;
        self.is_dirty = true;
    }

    fn end(&mut self, seen: &Seen<'_>) {
        let end = seen.now;
        self.flush(end + SimDuration::from_nanos(1));
        self.count_nodes(end, 0);
        let extremes = self.extremes.get_or_insert_default();
        extremes.end = ClusterRow { at: end, ..self.now.clone() };
        extremes.node_ns = self.node_ns;
        if self.rows.last().is_none_or(|row| row.at < end) {
            self.rows.push(ClusterRow { at: end, ..self.now.clone() });
            self.zone_rows.extend(self.zones_now.iter().map(|zone| ZoneRow { at: end, ..zone.clone() }));
        }
    }
}

impl Keeps<ClusterRow> for Cluster {
    fn take_rows(&mut self) -> Vec<ClusterRow> {
        std::mem::take(&mut self.rows)
    }
}

impl Keeps<ZoneRow> for Cluster {
    fn take_rows(&mut self) -> Vec<ZoneRow> {
        std::mem::take(&mut self.zone_rows)
    }
}

fn part_of(pod: &Pod) -> PodPart {
    let active = pod.is_active();
    let room = Room::taken_by(pod);
    PodPart {
        unscheduled: active && pod.node.is_none(),
        pending: active && pod.phase == PodPhase::Pending,
        running: active && pod.phase == PodPhase::Running,
        ready: active && pod.is_ready(),
        succeeded: pod.deletion.is_none() && pod.phase == PodPhase::Succeeded,
        failed: pod.deletion.is_none() && pod.phase == PodPhase::Failed,
        // Its last status says how it ended; the object is still there.
        terminating: pod.deletion.is_some(),
        node: pod.node.filter(|_| room.pods > 0),
        room,
    }
}
