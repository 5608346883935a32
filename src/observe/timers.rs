//! `timers.csv`: waits with a deadline, from when they are set to what becomes of them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Detail;
use super::observer::{Keeps, Observer, Seen, Setup};
use super::table::{Column, Row, Table};
use crate::arena::Symbol;
use crate::component::{Record, Timer, TimerPhase};
use crate::model::{self, TaintEffect, Toleration, TolerationOperator};
use crate::state::{
    Change, Changed, ControlPlaneProcess, NodeDelta, NodeId, Owner, Pod, PodDelta, PodId, Status, Store,
};
use crate::units::{SimDuration, SimTime};

/// A row of `timers.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerRow {
    /// When it was set, or from when it counts.
    pub set_at: SimTime,
    /// What it is.
    pub kind: TimerKind,
    /// Namespace of the pod; empty for a node.
    pub namespace: Symbol,
    /// The pod or node.
    pub name: Arc<str>,
    /// The pod's node, or the node.
    pub node: Symbol,
    /// How long it is.
    pub length: SimDuration,
    /// When its time is over.
    pub due_at: SimTime,
    /// When it was over, and what became of it; none if it was not by the end of the run.
    pub end: Option<(SimTime, TimerEnd)>,
    /// The taint that a pod tolerates for so long, as `key:Effect`.
    pub taint: String,
    /// Who says how long it is.
    pub by: &'static str,
}

/// What a wait is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum TimerKind {
    /// A node's silence until the node lifecycle controller holds it against the node.
    NodeMonitorGrace,
    /// A pod's stay on a node with NoExecute taints that it tolerates for a time.
    Toleration,
    /// What a pod that is being deleted has to end by itself.
    TerminationGrace,
}

impl TimerKind {
    /// The word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NodeMonitorGrace => "node-monitor-grace",
            Self::Toleration => "toleration",
            Self::TerminationGrace => "termination-grace",
        }
    }
}

/// What became of a wait.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TimerEnd {
    /// Its time was over.
    Fired,
    /// It was taken back, or what it waited for came before.
    Cancelled,
    /// The process that kept it stopped.
    Lost,
}

impl TimerEnd {
    /// The word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fired => "fired",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }
}

impl Row for TimerRow {
    const TABLE: Table<Self> = Table {
        file: "timers.csv",
        holds: "a row for each wait with a deadline, in the order of `set_s`: `node-monitor-grace`, a silence that was held against a node; `toleration`, a pod's stay on a node \
                with NoExecute taints; `termination-grace`, what a pod that is being deleted has to end",
        columns: &[
            Column::time(
                "set_s",
                "from when it counts; of a node's silence, its last sign of life; 0.000 if that was before the run",
                |row| row.set_at.max(SimTime::ZERO),
            ),
            Column::text("timer", "which of the three", |row| row.kind.as_str()),
            Column::text("namespace", "namespace of the pod; empty for a node", |row| row.namespace.as_str()),
            Column::text("name", "name of the pod or node", |row| &row.name),
            Column::text("node", "the node, or that of the pod", |row| row.node.as_str()),
            Column::duration("length_s", "how long it is, as flag or spec says", |row| row.length),
            Column::time(
                "due_s",
                "when its time is over; of a node's silence, so long after the pass of the monitor that saw the last sign of life",
                |row| row.due_at,
            ),
            Column::maybe_time(
                "ended_s",
                "when it fired or was taken back; `termination-grace` when its pod had ended, which is later than `due_s` if no kubelet \
                 was there to end it; empty if the run ended before",
                |row| row.end.map(|(at, _)| at),
            ),
            Column::text(
                "end",
                "`fired`: its time was over; `cancelled`: it was taken back, or what it waited for came before; `lost`: the process that kept it \
                 had stopped, and started again then",
                |row| row.end.map_or("", |(_, end)| end.as_str()),
            ),
            Column::text("taint", "the taint that a pod tolerates for so long, as `key:Effect`", |row| &row.taint),
            Column::text(
                "by",
                "who says how long it is: a flag, an admission plugin, `spec`, the pod's own, or `request`, what deleted it",
                |row| row.by,
            ),
        ],
    };
}

/// A pod's namespace and name.
type PodName = (Symbol, Arc<str>);

/// Follows the timers that are set.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    rows: Vec<TimerRow>,
    /// Rows of those that have not ended.
    tolerations: FxHashMap<PodName, usize>,
    terminations: FxHashMap<PodId, usize>,
    silence: FxHashMap<NodeId, usize>,
    /// Since when nodes are Unknown: a silence that is noticed ends with that write, not with its answer.
    unknown: FxHashMap<NodeId, SimTime>,
    /// What the admission plugin gives to pods that do not say how long they stay.
    default_seconds: [i64; 2],
}

/// When a wait was set, how long it is, and when it is due.
type Times = (SimTime, SimDuration, SimTime);

impl TimerRow {
    fn of_node(node: Symbol, by: &'static str, (set_at, length, due_at): Times) -> Self {
        let (kind, namespace, name) = (TimerKind::NodeMonitorGrace, Symbol::empty(), node.as_str().into());
        Self { set_at, kind, namespace, name, node, length, due_at, end: None, taint: String::new(), by }
    }

    fn of_pod(kind: TimerKind, (namespace, name): PodName, node: Symbol, (set_at, length, due_at): Times) -> Self {
        Self { set_at, kind, namespace, name, node, length, due_at, end: None, taint: String::new(), by: "" }
    }

    /// It ends on its own: whoever waited for its time to be over waits no longer.
    fn over(&mut self, now: SimTime) {
        let end = if now < self.due_at { TimerEnd::Cancelled } else { TimerEnd::Fired };
        self.end = Some((now, end));
    }
}

impl Timers {
    fn end_row(&mut self, index: Option<usize>, now: SimTime, end: TimerEnd) {
        if let Some(index) = index {
            self.rows[index].end = Some((now, end));
        }
    }

    fn set(&mut self, timer: &Timer, times: Times, seen: &Seen<'_>) {
        let store = seen.store;
        let index = self.rows.len();
        let row = match timer {
            Timer::NodeMonitorGrace(node) => {
                self.silence.insert(*node, index);
                TimerRow::of_node(store.node_name(*node), "--node-monitor-grace-period", times)
            }
            Timer::NodeStartupGrace(node) => {
                self.silence.insert(*node, index);
                TimerRow::of_node(store.node_name(*node), "--node-startup-grace-period", times)
            }
            Timer::Toleration(namespace, name) => {
                self.tolerations.insert((*namespace, Arc::clone(name)), index);
                let pod = store.find_pod(*namespace, name).and_then(|pod| store.pod(pod));
                let (taint, by) =
                    pod.and_then(|pod| bound(pod, times.1, self.default_seconds, store)).unwrap_or_default();
                let name = (*namespace, Arc::clone(name));
                TimerRow { taint, by, ..TimerRow::of_pod(TimerKind::Toleration, name, node_of(pod, store), times) }
            }
        };
        self.rows.push(row);
    }

    /// A pod's deletion was asked for, or its grace was made shorter.
    fn deleting(&mut self, id: PodId, seen: &Seen<'_>) {
        let Some(pod) = seen.store.pod(id) else { return };
        let Some(deletion) = &pod.deletion else { return };
        self.terminated(id, seen.now);
        if deletion.grace == SimDuration::ZERO || pod.phase.is_terminal() {
            return;
        }
        let own = u64::try_from(pod.spec.spec.termination_grace_period_seconds.unwrap_or(30)).unwrap_or(0);
        let is_own = deletion.grace == SimDuration::from_secs(own);
        self.terminations.insert(id, self.rows.len());
        let name = (pod.namespace, Arc::clone(&pod.name));
        let times = (deletion.deadline - deletion.grace, deletion.grace, deletion.deadline);
        let row = TimerRow::of_pod(TimerKind::TerminationGrace, name, node_of(Some(pod), seen.store), times);
        self.rows.push(TimerRow { by: if is_own { "spec" } else { "request" }, ..row });
    }

    /// A pod that was being deleted has ended or is gone, or has another time to end.
    fn terminated(&mut self, id: PodId, now: SimTime) {
        if let Some(index) = self.terminations.remove(&id) {
            self.rows[index].over(now);
        }
    }
}

fn node_of(pod: Option<&Pod>, store: &Store) -> Symbol {
    pod.and_then(|pod| pod.node).map(|node| store.node_name(node)).unwrap_or_default()
}

/// The taint that bounds a pod's stay to so long, and who says so.
fn bound(pod: &Pod, length: SimDuration, default_seconds: [i64; 2], store: &Store) -> Option<(String, &'static str)> {
    let node = store.node(pod.node?)?;
    let seconds = |toleration: &Toleration| {
        toleration.toleration_seconds.map(|seconds| SimDuration::from_secs(u64::try_from(seconds).unwrap_or(0)))
    };
    node.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute).find_map(|taint| {
        let as_written = model::Taint::new(taint.key, taint.value, taint.effect);
        let toleration = pod.spec.spec.tolerations.iter().find(|toleration| toleration.tolerates(&as_written))?;
        (seconds(toleration) == Some(length)).then(|| {
            // Without a template only the look of it tells.
            let is_own = own_tolerations(pod, store)
                .map_or_else(|| !is_default(toleration, default_seconds), |own| own.contains(toleration));
            let by = if is_own { "spec" } else { "DefaultTolerationSeconds" };
            (format!("{}:{}", taint.key, taint.effect.as_str()), by)
        })
    })
}

/// Whether a toleration is just what the admission plugin DefaultTolerationSeconds adds.
fn is_default(toleration: &Toleration, [not_ready, unreachable]: [i64; 2]) -> bool {
    let seconds = match toleration.key.as_str() {
        "node.kubernetes.io/not-ready" => not_ready,
        "node.kubernetes.io/unreachable" => unreachable,
        _ => return false,
    };
    toleration.operator() == TolerationOperator::Exists
        && toleration.effect == Some(TaintEffect::NoExecute)
        && toleration.toleration_seconds == Some(seconds)
}

/// What the template of a pod's owner tolerates: the rest came with admission. None if there is no template to be seen.
fn own_tolerations<'a>(pod: &Pod, store: &'a Store) -> Option<&'a [Toleration]> {
    let template = match pod.owner? {
        Owner::ReplicaSet(id) => &store.replica_sets.get(id)?.spec.template,
        Owner::DaemonSet(id) => &store.daemon_sets.get(id)?.spec.template,
        Owner::StatefulSet(id) => &store.stateful_sets.get(id)?.spec.template,
        Owner::Job(id) => &store.jobs.get(id)?.spec.template,
        Owner::Deployment(_) | Owner::CronJob(_) | Owner::Node(_) | Owner::Foreign { .. } => return None,
    };
    Some(&template.spec.tolerations)
}

impl Observer for Timers {
    const NEEDED_FOR: Detail = Detail::Files;

    fn begin(&mut self, setup: &Setup<'_>, seen: &Seen<'_>) {
        let flags = &setup.config.kube_apiserver;
        self.default_seconds =
            [flags.default_not_ready_toleration_seconds, flags.default_unreachable_toleration_seconds];
        for (id, _) in seen.store.pods() {
            self.deleting(id, seen);
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        match &change.what {
            Changed::PodUpdated { pod, delta, .. } => {
                if delta.touches(PodDelta::DELETION) {
                    self.deleting(*pod, seen);
                }
                if delta.touches(PodDelta::PHASE) && seen.store.pod(*pod).is_some_and(|pod| pod.phase.is_terminal()) {
                    self.terminated(*pod, seen.now);
                }
            }
            Changed::PodRemoved { pod, .. } => self.terminated(*pod, seen.now),
            Changed::NodeUpdated { node, delta, .. } if delta.touches(NodeDelta::CONDITIONS) => {
                let ready = seen.store.node(*node).and_then(|node| node.conditions.ready());
                if ready == Some(Status::Unknown) {
                    self.unknown.entry(*node).or_insert(seen.now);
                } else {
                    self.unknown.remove(node);
                }
            }
            // One that comes under the same name has not been Unknown.
            Changed::NodeRemoved { node, .. } => {
                self.unknown.remove(node);
            }
            _ => {}
        }
    }

    fn recorded(&mut self, record: &Record, seen: &Seen<'_>) {
        let Record::Timer { timer, phase } = record else { return };
        let end = match phase {
            TimerPhase::Set { from, length, due } => return self.set(timer, (*from, *length, *due), seen),
            TimerPhase::Fired => TimerEnd::Fired,
            TimerPhase::Cancelled => TimerEnd::Cancelled,
        };
        let (index, now) = match timer {
            Timer::NodeMonitorGrace(node) | Timer::NodeStartupGrace(node) => {
                (self.silence.remove(node), self.unknown.get(node).copied().unwrap_or(seen.now))
            }
            Timer::Toleration(namespace, name) => (self.tolerations.remove(&(*namespace, Arc::clone(name))), seen.now),
        };
        self.end_row(index, now, end);
    }

    fn restarted(&mut self, process: ControlPlaneProcess, seen: &Seen<'_>) {
        if process == ControlPlaneProcess::KubeControllerManager {
            let mut open: Vec<usize> = std::mem::take(&mut self.tolerations).into_values().collect();
            open.sort_unstable();
            for index in open {
                self.end_row(Some(index), seen.now, TimerEnd::Lost);
            }
        }
    }
}

impl Keeps<TimerRow> for Timers {
    fn take_rows(&mut self) -> Vec<TimerRow> {
        let mut rows = std::mem::take(&mut self.rows);
        // A silence is known only when it is held against the node.
        rows.sort_by_key(|row| row.set_at.max(SimTime::ZERO));
        rows
    }
}
