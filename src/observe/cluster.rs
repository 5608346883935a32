//! `cluster.csv` and `zones.csv`: the cluster in numbers, over time.

use super::pods::ended_by_kubelet;
use crate::arena::{Column, Symbol};
use crate::state::{
    Change, Changed, DeletionCause, Node, NodeId, NodeSlot, Pod, PodDelta, PodId, PodPhase, Status, Store,
};
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
    /// Deletions by taint eviction, eviction API, pod GC, kubelet and node pressure so far.
    pub evictions: i64,
    /// Deletions by preemption so far.
    pub preemptions: i64,
    /// Evictions that the API server refused for a budget's sake so far.
    pub refusals: i64,
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
    fn add(&mut self, other: Self, sign: i64) {
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

#[derive(Debug)]
pub(super) struct Cluster {
    sample: SimDuration,
    now: ClusterRow,
    zones_now: Vec<ZoneRow>,
    rows: Vec<ClusterRow>,
    zone_rows: Vec<ZoneRow>,
    pods: Column<Pod, PodPart>,
    nodes: Column<NodeSlot, NodePart>,
    dirty_zones: Vec<usize>,
    is_dirty: bool,
    /// When the pending row began; rows of one instant are one.
    pending_at: SimTime,
}

impl Cluster {
    pub(super) fn new(sample: SimDuration) -> Self {
        Self {
            sample,
            now: ClusterRow::default(),
            zones_now: Vec::new(),
            rows: Vec::new(),
            zone_rows: Vec::new(),
            pods: Column::new(),
            nodes: Column::new(),
            dirty_zones: Vec::new(),
            is_dirty: false,
            pending_at: SimTime::ZERO,
        }
    }

    pub(super) fn begin(&mut self, store: &Store) {
        let nodes: Vec<_> = store.nodes().map(|(id, _)| id).collect();
        for id in nodes {
            self.set_node(id, store);
        }
        for (id, pod) in store.pods() {
            self.set_pod(id, part_of(pod));
        }
        self.is_dirty = true;
    }

    /// Takes a change in; if a pod is deleted by it, or ended by its kubelet, says what for.
    pub(super) fn changed(&mut self, change: &Change, store: &Store) -> Option<DeletionCause> {
        self.flush(change.at);
        match &change.what {
            Changed::PodAdded(id) => self.set_pod(*id, store.pod(*id).map(part_of).unwrap_or_default()),
            Changed::PodUpdated { pod, delta, .. } => {
                let object = store.pod(*pod)?;
                let was_terminating = self.pods.get(*pod).terminating;
                self.set_pod(*pod, part_of(object));
                // Grace that is cut short is no second deletion. An eviction writes twice at once: the first write shows both.
                if object.deletion.is_some() && !was_terminating {
                    return self.count_deletion(object.deletion?.cause);
                }
                if delta.touches(PodDelta::PHASE) {
                    return self.count_deletion(ended_by_kubelet(object)?);
                }
            }
            Changed::PodRemoved { pod, last } => {
                let was_terminating = self.pods.get(*pod).terminating;
                self.set_pod(*pod, PodPart::default());
                // Without grace the mark and the end are one change.
                if !was_terminating {
                    return self.count_deletion(last.deletion?.cause);
                }
            }
            Changed::NodeAdded(node) | Changed::NodeRemoved { node, .. } | Changed::NodeUpdated { node, .. } => {
                self.set_node(*node, store);
            }
            _ => {}
        }
        None
    }

    /// An eviction was refused.
    pub(super) fn refused(&mut self, at: SimTime) {
        self.flush(at);
        self.now.refusals += 1;
        self.is_dirty = true;
    }

    fn count_deletion(&mut self, cause: DeletionCause) -> Option<DeletionCause> {
        match cause {
            DeletionCause::TaintManagerEviction
            | DeletionCause::EvictionByEvictionApi
            | DeletionCause::DeletionByPodGc
            | DeletionCause::TerminationByKubelet
            | DeletionCause::NodePressure => self.now.evictions += 1,
            DeletionCause::PreemptionByScheduler => self.now.preemptions += 1,
            _ => return Some(cause),
        }
        self.is_dirty = true;
        Some(cause)
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

    pub(super) fn finish(mut self, end: SimTime, _store: &Store) -> (Vec<ClusterRow>, Vec<ZoneRow>) {
        self.flush(end + SimDuration::from_nanos(1));
        if self.rows.last().is_none_or(|row| row.at < end) {
            self.rows.push(ClusterRow { at: end, ..self.now.clone() });
            self.zone_rows.extend(self.zones_now.iter().map(|zone| ZoneRow { at: end, ..zone.clone() }));
        }
        (self.rows, self.zone_rows)
    }
}

fn part_of(pod: &Pod) -> PodPart {
    let active = pod.is_active();
    let holds = !pod.phase.is_terminal() && pod.node.is_some();
    let room = if holds {
        Room { cpu_milli: pod.spec.requests.cpu_milli, memory: pod.spec.requests.memory, pods: 1 }
    } else {
        Room::default()
    };
    PodPart {
        unscheduled: active && pod.node.is_none(),
        pending: active && pod.phase == PodPhase::Pending,
        running: active && pod.phase == PodPhase::Running,
        ready: active && pod.is_ready(),
        succeeded: pod.deletion.is_none() && pod.phase == PodPhase::Succeeded,
        failed: pod.deletion.is_none() && pod.phase == PodPhase::Failed,
        // Its last status says how it ended; the object is still there.
        terminating: pod.deletion.is_some(),
        node: pod.node.filter(|_| holds),
        room,
    }
}
