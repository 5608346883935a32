//! `pods.csv`: one row a pod.

use std::sync::Arc;

use super::slo::root_of;
use crate::arena::{Column, Symbol};
use crate::component::controller_name;
use crate::model::QosClass;
use crate::state::{Change, Changed, DeletionCause, DisruptionReason, Pod, PodDelta, PodPhase, Store};
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
    /// By whom.
    pub deletion_cause: Option<DeletionCause>,
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
    /// Kind and name of the workload a user would name: the owner, or that owner's Deployment.
    pub(super) workload: (&'static str, Symbol),
}

#[derive(Debug, Default)]
pub(super) struct Pods {
    rows: Vec<PodRow>,
    /// Index of each live pod's row.
    row_of: Column<Pod, usize>,
}

impl Pods {
    pub(super) fn begin(&mut self, store: &Store) {
        for (id, pod) in store.pods() {
            *self.row_of.get_mut(id) = self.rows.len();
            self.rows.push(row(pod, store, SimTime::ZERO, true));
        }
    }

    pub(super) fn changed(&mut self, change: &Change, store: &Store) {
        match &change.what {
            Changed::PodAdded(id) => {
                let Some(pod) = store.pod(*id) else { return };
                *self.row_of.get_mut(*id) = self.rows.len();
                self.rows.push(row(pod, store, change.at, false));
            }
            Changed::PodUpdated { pod, delta, .. } => {
                let Some(object) = store.pod(*pod) else { return };
                let row = &mut self.rows[*self.row_of.get(*pod)];
                update(row, object, *delta, change.at, store);
            }
            Changed::PodRemoved { pod, last } => {
                let row = &mut self.rows[*self.row_of.get(*pod)];
                update(row, last, PodDelta::PHASE | PodDelta::CONTAINERS | PodDelta::DELETION, change.at, store);
                row.gone_at = Some(change.at);
                row.close(change.at);
            }
            _ => {}
        }
    }

    pub(super) fn finish(mut self, end: SimTime, _store: &Store) -> Vec<PodRow> {
        for row in &mut self.rows {
            row.close(end);
        }
        self.rows
    }
}

impl PodRow {
    fn close(&mut self, at: SimTime) {
        if let Some(since) = self.unready_since.take() {
            self.unready_for += at.saturating_since(since);
        }
    }
}

fn row(pod: &Pod, store: &Store, at: SimTime, initial: bool) -> PodRow {
    let (owner_kind, owner_name) = controller_name(store, pod.owner);
    let reached = |held: bool| held.then_some(at);
    let workload = root_of(pod, store)
        .and_then(|root| Some((store.workload_kind(root), store.workload_meta(root)?.name)))
        .unwrap_or_default();
    PodRow {
        workload,
        namespace: pod.namespace,
        name: Arc::clone(&pod.name),
        owner_kind: Symbol::new(owner_kind),
        owner_name: Symbol::new(owner_name),
        initial,
        priority: pod.spec.priority,
        qos: pod.spec.qos,
        node: pod.node.map(|id| store.node_name(id)).unwrap_or_default(),
        created_at: at,
        scheduled_at: reached(pod.node.is_some()),
        started_at: reached(pod.phase == PodPhase::Running),
        ready_at: reached(pod.is_ready()),
        deletion_at: reached(pod.deletion.is_some()),
        deletion_cause: pod.deletion.map(|d| d.cause),
        finished_at: reached(pod.phase.is_terminal()),
        gone_at: None,
        phase: pod.phase,
        reason: pod.reason,
        restarts: pod.restarts_total(),
        unready_for: SimDuration::ZERO,
        unready_since: reached(pod.is_active() && !pod.is_ready()),
    }
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

/// The cause that the API shows of a pod being deleted for a reason it shows nowhere: its DisruptionTarget condition, which
/// an eviction also writes on pods that somebody else deleted before.
fn disruption_of_deleted(pod: &Pod) -> Option<DeletionCause> {
    match pod.deletion?.cause {
        DeletionCause::ScaleDown
        | DeletionCause::RollingUpdate
        | DeletionCause::DaemonSetController
        | DeletionCause::OwnerDeleted
        | DeletionCause::Kubectl
        | DeletionCause::Completed => {}
        DeletionCause::TaintManagerEviction
        | DeletionCause::EvictionByEvictionApi
        | DeletionCause::DeletionByPodGc
        | DeletionCause::PreemptionByScheduler
        | DeletionCause::TerminationByKubelet
        | DeletionCause::NodePressure => return None,
    }
    let target = pod.disruption_target.filter(|target| target.status)?;
    Some(match target.reason {
        DisruptionReason::PreemptionByScheduler => DeletionCause::PreemptionByScheduler,
        DisruptionReason::DeletionByTaintManager => DeletionCause::TaintManagerEviction,
        DisruptionReason::EvictionByEvictionApi => DeletionCause::EvictionByEvictionApi,
        DisruptionReason::DeletionByPodGc => DeletionCause::DeletionByPodGc,
        DisruptionReason::TerminationByKubelet => DeletionCause::TerminationByKubelet,
    })
}

fn update(row: &mut PodRow, pod: &Pod, delta: PodDelta, at: SimTime, store: &Store) {
    if delta.touches(PodDelta::NODE)
        && let Some(node) = pod.node
    {
        row.node = store.node_name(node);
        row.scheduled_at.get_or_insert(at);
    }
    if delta.touches(PodDelta::OWNER) {
        let (kind, name) = controller_name(store, pod.owner);
        (row.owner_kind, row.owner_name) = (Symbol::new(kind), Symbol::new(name));
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
        }
    }
    if delta.touches(PodDelta::DELETION)
        && let Some(deletion) = pod.deletion
    {
        row.deletion_at.get_or_insert(at);
        row.deletion_cause.get_or_insert(deletion.cause);
    }
    let is_evicted = row.deletion_cause == Some(DeletionCause::NodePressure);
    if let Some(cause) = disruption_of_deleted(pod).filter(|_| !is_evicted) {
        row.deletion_cause = Some(cause);
    }
    if delta.touches(PodDelta::CONTAINERS) {
        row.restarts = pod.restarts_total();
    }
    if pod.is_ready() {
        row.ready_at.get_or_insert(at);
    }
    if pod.is_active() && !pod.is_ready() {
        row.unready_since.get_or_insert(at);
    } else {
        row.close(at);
    }
}
