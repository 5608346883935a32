//! `pods.csv`: one row a pod.

use std::sync::Arc;

use super::cause::{is_disruption, is_eviction, is_loss};
use super::mounts::{Mounts, users};
use super::observer::Keeps;
use super::place::{Place, Places};
use super::table::{Column, Row, Table};
use super::waiting::Waiting;
use super::workload::WorkloadKey;
use crate::arena::{self, Symbol, sym};
use crate::component::{Record, controller_name};
use crate::model::QosClass;
use crate::state::{
    CauseId, Change, Changed, DeletionCause, DisruptionReason, MachineChange, NodeId, ObjectDelta, Owner, Pod,
    PodDelta, PodId, PodPhase, Power, ReplicaSetId, Store, WorkloadId,
};
use crate::units::{SimDuration, SimTime};

/// A row of `pods.csv`.
#[derive(Clone, Debug)]
pub struct PodRow {
    /// Namespace.
    pub namespace: Symbol,
    /// Name.
    pub name: Arc<str>,
    /// Kind of the controlling owner.
    pub owner_kind: Symbol,
    /// Name of the controlling owner.
    pub owner_name: Symbol,
    /// Present at t=0.
    pub initial: bool,
    /// `spec.priority`.
    pub priority: i32,
    /// Quality of service class.
    pub qos: QosClass,
    /// The node it was bound to.
    pub node: Symbol,
    /// Zone of that node when it was bound to it.
    pub zone: Symbol,
    /// Node pool of that node then.
    pub pool: Symbol,
    /// Created.
    pub created_at: SimTime,
    /// Bound.
    pub scheduled_at: Option<SimTime>,
    /// Its containers ran.
    pub started_at: Option<SimTime>,
    /// First Ready.
    pub ready_at: Option<SimTime>,
    /// Its deletion was asked for.
    pub deletion_at: Option<SimTime>,
    /// Why, as the API shows it: whoever marks it for disruption later takes the place of who asked first.
    pub deletion_cause: Option<DeletionCause>,
    /// What ended it first: whoever asked first for its deletion, or its kubelet if that ended it before.
    pub ended_by: Option<DeletionCause>,
    /// Succeeded or Failed.
    pub finished_at: Option<SimTime>,
    /// The object left the API.
    pub gone_at: Option<SimTime>,
    /// Last phase.
    pub phase: PodPhase,
    /// Last `status.reason`.
    pub reason: Symbol,
    /// Container restarts.
    pub restarts: u32,
    /// How long it was wanted (neither finished nor being deleted) and not Ready.
    pub unready_for: SimDuration,
    /// Since when it is wanted and not Ready.
    unready_since: Option<SimTime>,
    /// The workload a user would name: the owner, or that owner's Deployment; the pod itself if it has none.
    pub workload: WorkloadKey,
    /// What it counted for before, each until when.
    pub former_workloads: Vec<(SimTime, WorkloadKey)>,
    /// Whether nothing that is modelled makes it anew when it is gone: it has no controller, or one that is not in the cluster.
    pub is_loose: bool,
    /// The scheduler that `spec.schedulerName` names; the default one if none.
    pub scheduler: Option<Symbol>,
    /// What its containers wait for, if they wait for more than their turn.
    pub waiting: Option<Waiting>,
    /// Why it is not bound at the end of the run: the message of its condition PodScheduled.
    pub not_scheduled: Option<Arc<str>>,
    /// Since when it does not serve though it had been Ready: it is not Ready, or its machine is down.
    pub(super) stopped_at: Option<SimTime>,
    /// Since when it is not Ready though it had been.
    pub(super) noticed_at: Option<SimTime>,
    /// When its machine was up for it to start: when it was bound, or later; none if the machine is down.
    pub(super) machine_up_at: Option<SimTime>,
    /// When its volumes were there for it to start.
    pub(super) mounts: Mounts,
    /// Whether it had ended by itself before its deletion was asked for: what deletes it then takes nothing away.
    pub had_ended: bool,
}

impl Row for PodRow {
    const TABLE: Table<Self> = Table {
        file: "pods.csv",
        holds: "a row a pod; what a pod that is there at t=0 had by then is `0.000`",
        columns: &[
            Column::text("namespace", "its namespace", |row| row.namespace.as_str()),
            Column::text("name", "its name", |row| &row.name),
            Column::text("owner_kind", "kind of its controller", |row| row.owner_kind.as_str()),
            Column::text("owner_name", "name of its controller", |row| row.owner_name.as_str()),
            Column::truth("initial", "whether it is there at t=0", |row| row.initial),
            Column::number("priority", "", "`spec.priority`", |row| i64::from(row.priority)),
            Column::text("qos", "quality of service class", |row| row.qos.as_str()),
            Column::text("node", "the node that it was bound to", |row| row.node.as_str()),
            Column::time("created_s", "when it was created", |row| row.created_at),
            Column::maybe_time("scheduled_s", "when it was bound", |row| row.scheduled_at),
            Column::maybe_time("started_s", "when its containers ran", |row| row.started_at),
            Column::maybe_time("ready_s", "when it was first Ready", |row| row.ready_at),
            Column::maybe_time("deletion_s", "when its deletion was asked for", |row| row.deletion_at),
            Column::text(
                "deletion_cause",
                "why it was deleted, as the API shows last, or ended by its kubelet (below)",
                |row| row.deletion_cause.map_or("", |cause| cause.column()),
            ),
            Column::maybe_time("finished_s", "when it Succeeded or Failed", |row| row.finished_at),
            Column::maybe_time("gone_s", "when the object left the API", |row| row.gone_at),
            Column::text("phase", "its last phase", |row| row.phase.as_str()),
            Column::text("reason", "its last `status.reason`", |row| row.reason.as_str()),
            Column::number("restarts", "restarts", "of its containers", |row| i64::from(row.restarts)),
            Column::duration("unready_s", "for how long it was wanted and not Ready", |row| row.unready_for),
            Column::text("workload_kind", "kind of its workload, which joins it to `workloads.csv`", |row| {
                row.workload.kind.as_str()
            }),
            Column::text("workload_name", "name of its workload", |row| row.workload.name.as_str()),
            Column::truth("taken_away", "whether it was taken away", |row| row.taken_away().is_some()),
            Column::text("zone", "zone of its node, by that one's labels when it was bound", |row| row.zone.as_str()),
            Column::text("pool", "node pool of its node then, as in `inventory.csv`", |row| row.pool.as_str()),
        ],
    };
}

#[derive(Clone, Debug, Default)]
pub(super) struct Pods {
    rows: Vec<PodRow>,
    /// Index of each live pod's row.
    row_of: arena::Column<Pod, usize>,
    places: Places,
}

impl Pods {
    pub(super) fn begin(&mut self, store: &Store) {
        // Those that come in the place of others besides: a table that grows is copied. Room that nobody takes costs nothing.
        self.rows.reserve(store.pod_count() + store.pod_count() / 4);
        for (id, pod) in store.pods() {
            *self.row_of.get_mut(id) = self.rows.len();
            let place = self.place_of(pod, store);
            self.rows.push(row(pod, place, store, SimTime::ZERO, true));
        }
    }

    /// Where the node stands that a pod is bound to.
    fn place_of(&mut self, pod: &Pod, store: &Store) -> Place {
        pod.node.map(|node| self.places.of(node, store)).unwrap_or_default()
    }

    /// Takes a change in; says what took a pod away, if that is known by it.
    pub(super) fn changed(&mut self, change: &Change, store: &Store) -> Option<DeletionCause> {
        self.places.changed(change);
        match &change.what {
            Changed::PodAdded(id) => {
                let pod = store.pod(*id)?;
                *self.row_of.get_mut(*id) = self.rows.len();
                let place = self.place_of(pod, store);
                self.rows.push(row(pod, place, store, change.at, false));
                None
            }
            Changed::PodUpdated { pod, delta, .. } => {
                let object = store.pod(*pod)?;
                let place = delta.touches(PodDelta::NODE).then(|| self.place_of(object, store));
                let row = &mut self.rows[*self.row_of.get(*pod)];
                if let Some(place) = place {
                    (row.zone, row.pool) = (place.zone, place.pool);
                }
                let was_taken = row.taken_away().is_some();
                update(row, object, *delta, change.at, store);
                if delta.touches(PodDelta::CONTAINERS) {
                    row.waiting = Waiting::of(object, change.cause);
                }
                row.taken_away().filter(|_| !was_taken)
            }
            Changed::PodRemoved { pod, last } => {
                let row = &mut self.rows[*self.row_of.get(*pod)];
                let was_taken = row.taken_away().is_some();
                update(row, last, PodDelta::PHASE | PodDelta::CONTAINERS | PodDelta::DELETION, change.at, store);
                row.gone_at = Some(change.at);
                row.close(change.at);
                row.taken_away().filter(|_| !was_taken)
            }
            Changed::AttachmentChanged { volume, node } => {
                for (id, pod) in users(*volume, *node, store) {
                    self.rows[*self.row_of.get(id)].mounts.attached(pod, change.at, store);
                }
                None
            }
            // Its Deployment may have changed.
            Changed::WorkloadUpdated(WorkloadId::ReplicaSet(id), delta) if delta.touches(ObjectDelta::METADATA) => {
                self.replica_set_changed(change.at, *id, store);
                None
            }
            _ => None,
        }
    }

    fn replica_set_changed(&mut self, at: SimTime, id: ReplicaSetId, store: &Store) {
        let pods = store.pods_of(WorkloadId::ReplicaSet(id)).iter();
        let pods: Vec<(PodId, WorkloadKey)> =
            pods.filter_map(|&id| Some((id, WorkloadKey::of_pod(store.pod(id)?, store)))).collect();
        for (id, workload) in pods {
            self.rows[*self.row_of.get(id)].count_for(at, workload);
        }
    }

    /// A component recorded a fact.
    pub(super) fn recorded(&mut self, now: SimTime, record: &Record) {
        if let Record::VolumesMounted(pod) = record {
            self.rows[*self.row_of.get(*pod)].mounts.mounted(now);
        }
    }

    /// Pods stop to serve with their machine, long before anybody notices, and start when it is up.
    pub(super) fn machine_changed(&mut self, now: SimTime, change: &MachineChange, store: &Store) {
        let (node, is_up) = match change {
            MachineChange::PowerOff(node) | MachineChange::InstanceGone(node) => (*node, false),
            MachineChange::Booted(node) => (*node, true),
            _ => return,
        };
        for id in store.pods_on(node).iter() {
            let Some(pod) = store.pod(*id).filter(|pod| pod.is_active()) else { continue };
            let row = &mut self.rows[*self.row_of.get(*id)];
            if is_up {
                row.machine_up_at.get_or_insert(now);
                continue;
            }
            if row.started_at.is_none() {
                row.machine_up_at = None;
                row.mounts.machine_is_down();
            }
            if pod.is_ready() {
                row.stopped_at.get_or_insert(now);
            }
        }
    }

    /// The run ends.
    pub(super) fn end(&mut self, end: SimTime, store: &Store) {
        for row in &mut self.rows {
            row.close(end);
        }
        for (id, pod) in store.pods().filter(|(_, pod)| pod.node.is_none()) {
            let why = pod.not_scheduled.as_ref().map(|why| Arc::clone(&why.message));
            self.rows[*self.row_of.get(id)].not_scheduled = why;
        }
    }

    pub(super) fn rows(&self) -> &[PodRow] {
        &self.rows
    }
}

impl Keeps<PodRow> for Pods {
    fn take_rows(&mut self) -> Vec<PodRow> {
        std::mem::take(&mut self.rows)
    }
}

impl PodRow {
    /// Whether it is there and neither finished nor being deleted.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.gone_at.is_none() && self.deletion_at.is_none() && self.finished_at.is_none()
    }

    /// The scheduler that it waits for until it is bound.
    #[must_use]
    pub fn scheduler(&self) -> Symbol {
        self.scheduler.filter(|name| !name.is_empty()).unwrap_or_else(|| sym!("default-scheduler"))
    }

    /// What took it away, if anything did: what ended it first, if that was neither its owner's wish nor an operator's, and it had
    /// not ended by itself before.
    #[must_use]
    pub fn taken_away(&self) -> Option<DeletionCause> {
        self.ended_by.filter(|cause| is_disruption(*cause) && !self.had_ended)
    }

    /// Whether it had finished, or its deletion had been asked for, before t=0.
    fn ended_before(&self) -> bool {
        self.initial && [self.deletion_at, self.finished_at].contains(&Some(SimTime::ZERO))
    }

    /// Whether it succeeded before anybody deleted it. What its containers say when they are stopped tells nothing.
    fn is_done(&self) -> bool {
        let is_stopped = self.deletion_at.is_some_and(|deleted| self.finished_at.is_none_or(|ended| deleted <= ended));
        self.phase == PodPhase::Succeeded && !is_stopped
    }

    /// Whether it ended in this run without having done its work, not on purpose, and nothing makes it anew. Not asked of static
    /// pods, which are part of their machine.
    pub(super) fn is_lost(&self) -> bool {
        let has_ended = self.deletion_at.is_some() || self.finished_at.is_some() || self.gone_at.is_some();
        self.is_loose
            && has_ended
            && !self.ended_before()
            && !self.is_done()
            && self.ended_by.is_none_or(|cause| is_loss(cause, self.phase))
    }

    fn count_for(&mut self, at: SimTime, workload: WorkloadKey) {
        if self.workload != workload {
            self.former_workloads.push((at, std::mem::replace(&mut self.workload, workload)));
        }
    }

    /// Takes in whether it is Ready. What its machine says counts as long as that is down.
    fn serves(&mut self, is_ready: bool, at: SimTime, node: Option<NodeId>, store: &Store) {
        if !is_ready && self.ready_at.is_some() {
            self.stopped_at.get_or_insert(at);
            self.noticed_at.get_or_insert(at);
        } else if self.stopped_at.is_some() && node.is_none_or(|node| is_on(node, store)) {
            (self.stopped_at, self.noticed_at) = (None, None);
        }
    }

    fn close(&mut self, at: SimTime) {
        if let Some(since) = self.unready_since.take() {
            self.unready_for += at.saturating_since(since);
        }
    }
}

fn row(pod: &Pod, place: Place, store: &Store, at: SimTime, initial: bool) -> PodRow {
    let (owner_kind, owner_name) = controller_name(store, pod.owner);
    let reached = |held: bool| held.then_some(at);
    PodRow {
        workload: WorkloadKey::of_pod(pod, store),
        former_workloads: Vec::new(),
        is_loose: is_loose(pod),
        scheduler: pod.spec.scheduler_name,
        waiting: Waiting::of(pod, CauseId::NONE),
        stopped_at: None,
        noticed_at: None,
        machine_up_at: pod.node.filter(|node| is_on(*node, store)).map(|_| at),
        mounts: Mounts::of(pod, at, store),
        not_scheduled: None,
        had_ended: pod.phase.is_terminal() && pod.deletion.is_none(),
        namespace: pod.namespace,
        name: Arc::clone(&pod.name),
        owner_kind,
        owner_name,
        initial,
        priority: pod.spec.priority,
        qos: pod.spec.qos,
        node: pod.node.map(|id| store.node_name(id)).unwrap_or_default(),
        zone: place.zone,
        pool: place.pool,
        created_at: at,
        scheduled_at: reached(pod.node.is_some()),
        started_at: reached(pod.phase == PodPhase::Running),
        ready_at: reached(pod.is_ready()),
        deletion_at: reached(pod.deletion.is_some()),
        deletion_cause: pod.deletion.map(|d| d.cause),
        ended_by: pod.deletion.map(|d| d.cause),
        finished_at: reached(pod.phase.is_terminal()),
        gone_at: None,
        phase: pod.phase,
        reason: pod.reason,
        restarts: pod.restarts_total(),
        unready_for: SimDuration::ZERO,
        unready_since: reached(pod.is_active() && !pod.is_ready()),
    }
}

fn is_on(node: NodeId, store: &Store) -> bool {
    let machine = store.machine(node);
    machine.exists && machine.power == Power::On
}

/// Whether nothing that is modelled makes the pod anew.
fn is_loose(pod: &Pod) -> bool {
    matches!(pod.owner, None | Some(Owner::Foreign { .. }))
}

/// Why the kubelet itself ended a pod that had been taken: it has failed and stays, with no deletion.
///
/// # Source
/// kubelet: `status.reason` is `Evicted` for node pressure and limits of local storage, `Terminated` in a shutdown, `Preempting`
/// for a critical pod. A pod that is refused at admission may say `Evicted`, too, but has never started.
pub(super) fn ended_by_kubelet(pod: &Pod) -> Option<DeletionCause> {
    let is_disrupted = pod
        .disruption_target
        .is_some_and(|target| target.status && target.reason == DisruptionReason::TerminationByKubelet);
    if pod.phase != PodPhase::Failed || pod.deletion.is_some() {
        return None;
    }
    match pod.reason.as_str() {
        "Evicted" if is_disrupted || pod.started_at.is_some() => Some(DeletionCause::NodePressure),
        _ if is_disrupted => Some(DeletionCause::TerminationByKubelet),
        _ => None,
    }
}

/// The cause that the API shows of a pod being deleted: its DisruptionTarget condition. Who evicts writes it, also on pods that somebody
/// else deletes or has evicted before; a pod that is counted as preempted stays so.
fn disruption_of_deleted(pod: &Pod) -> Option<DeletionCause> {
    let counted = pod.deletion?.cause;
    if counted == DeletionCause::PreemptionByScheduler {
        return None;
    }
    let target = pod.disruption_target.filter(|target| target.status)?;
    let cause = match target.reason {
        DisruptionReason::PreemptionByScheduler => DeletionCause::PreemptionByScheduler,
        DisruptionReason::DeletionByTaintManager => DeletionCause::TaintManagerEviction,
        DisruptionReason::EvictionByEvictionApi => DeletionCause::EvictionByEvictionApi,
        DisruptionReason::DeletionByPodGc => DeletionCause::DeletionByPodGc,
        DisruptionReason::TerminationByKubelet => DeletionCause::TerminationByKubelet,
    };
    let is_counted_otherwise = is_eviction(counted) && !is_eviction(cause);
    (!is_counted_otherwise).then_some(cause)
}

/// Whether the pod ended because it was taken away: it was marked before, or in the same write, as pod GC does.
fn is_ended_for_disruption(pod: &Pod, ended_at: SimTime) -> bool {
    pod.disruption_target.is_some_and(|target| target.status && target.since <= ended_at)
}

fn update(row: &mut PodRow, pod: &Pod, delta: PodDelta, at: SimTime, store: &Store) {
    if delta.touches(PodDelta::NODE)
        && let Some(node) = pod.node
    {
        row.node = store.node_name(node);
        row.scheduled_at.get_or_insert(at);
        row.machine_up_at = is_on(node, store).then_some(at);
        row.mounts = Mounts::of(pod, at, store);
    }
    if delta.touches(PodDelta::OWNER) {
        (row.owner_kind, row.owner_name) = controller_name(store, pod.owner);
        row.count_for(at, WorkloadKey::of_pod(pod, store));
        // What ends while it has a controller is that one's to make anew.
        row.is_loose = is_loose(pod) && (row.is_loose || (row.deletion_at.is_none() && row.finished_at.is_none()));
    }
    if delta.touches(PodDelta::PHASE) {
        row.phase = pod.phase;
        row.reason = pod.reason;
        if pod.phase == PodPhase::Running {
            row.started_at.get_or_insert(at);
        }
        if pod.phase.is_terminal() {
            row.finished_at.get_or_insert(at);
        }
        if let Some(cause) = ended_by_kubelet(pod) {
            row.deletion_cause.get_or_insert(cause);
            row.ended_by.get_or_insert(cause);
        }
    }
    if delta.touches(PodDelta::DELETION)
        && let Some(deletion) = pod.deletion
    {
        if row.deletion_at.is_none() {
            let is_taken = row.ended_by.is_some();
            row.had_ended =
                !is_taken && row.finished_at.is_some_and(|ended_at| !is_ended_for_disruption(pod, ended_at));
            row.deletion_at = Some(at);
        }
        row.deletion_cause.get_or_insert(deletion.cause);
        row.ended_by.get_or_insert(deletion.cause);
    }
    // What its kubelet has ended stays that, whoever deletes it then.
    let is_of_kubelet = matches!(row.ended_by, Some(DeletionCause::NodePressure | DeletionCause::TerminationByKubelet));
    if let Some(cause) = disruption_of_deleted(pod).filter(|_| !is_of_kubelet) {
        row.deletion_cause = Some(cause);
    }
    if delta.touches(PodDelta::CONTAINERS) {
        row.restarts = pod.restarts_total();
    }
    if pod.is_ready() {
        row.ready_at.get_or_insert(at);
    }
    if pod.is_active() {
        row.serves(pod.is_ready(), at, pod.node, store);
    }
    if pod.is_active() && !pod.is_ready() {
        row.unready_since.get_or_insert(at);
    } else {
        row.close(at);
    }
}
