//! `timers.csv`: waits with a deadline, from when they are set to what becomes of them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Detail;
use super::observer::{Keeps, Observer, Seen, Setup};
use super::table::{Column, Row, Table};
use crate::arena::Symbol;
use crate::component::{Record, Timer, TimerPhase};
use crate::model::{self, TaintEffect, Toleration};
use crate::state::{Change, Changed, ControlPlaneProcess, NodeId, Owner, Pod, PodDelta, PodId, Store};
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
    /// When it fired or was taken back.
    pub ended_at: Option<SimTime>,
    /// Which of these.
    pub end: TimerEnd,
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
    /// Nothing by the end of the run.
    None,
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
            Self::None => "",
            Self::Fired => "fired",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }
}

impl Row for TimerRow {
    const TABLE: Table<Self> = Table {
        file: "timers.csv",
        holds: "a row for each wait with a deadline: `node-monitor-grace`, a silence that was held against a node; `toleration`, a pod's stay on a node \
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
            Column::time("length_s", "how long it is, as flag or spec says", |row| SimTime::ZERO + row.length),
            Column::time(
                "due_s",
                "when its time is over; of a node's silence, so long after the pass of the monitor that saw the last sign of life",
                |row| row.due_at,
            ),
            Column::maybe_time("ended_s", "when it fired or was taken back; empty if the run ended before", |row| {
                row.ended_at
            }),
            Column::text(
                "end",
                "`fired`: its time was over; `cancelled`: it was taken back, or what it waited for came before; `lost`: the process that kept it \
                 had stopped, and started again then",
                |row| row.end.as_str(),
            ),
            Column::text("taint", "the taint that a pod tolerates for so long, as `key:Effect`", |row| &row.taint),
            Column::text(
                "by",
                "who says how long it is: a flag, an admission plugin, or `spec`, the pod's own",
                |row| row.by,
            ),
        ],
    };
}

/// Follows the timers that are set.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    rows: Vec<TimerRow>,
    /// Rows of those that have not ended.
    tolerations: FxHashMap<(Symbol, Arc<str>), usize>,
    terminations: FxHashMap<PodId, usize>,
    silence: FxHashMap<NodeId, usize>,
}

impl Timers {
    fn end_row(&mut self, index: Option<usize>, now: SimTime, end: TimerEnd) {
        if let Some(index) = index {
            self.rows[index].ended_at = Some(now);
            self.rows[index].end = end;
        }
    }

    fn set(&mut self, timer: &Timer, (from, length, due): (SimTime, SimDuration, SimTime), seen: &Seen<'_>) {
        let store = seen.store;
        let index = self.rows.len();
        let row = match timer {
            Timer::NodeMonitorGrace(node) => {
                self.silence.insert(*node, index);
                let name = store.node_name(*node);
                TimerRow {
                    set_at: from,
                    kind: TimerKind::NodeMonitorGrace,
                    namespace: Symbol::empty(),
                    name: name.as_str().into(),
                    node: name,
                    length,
                    due_at: due,
                    ended_at: None,
                    end: TimerEnd::None,
                    taint: String::new(),
                    by: "--node-monitor-grace-period",
                }
            }
            Timer::Toleration(namespace, name) => {
                self.tolerations.insert((*namespace, Arc::clone(name)), index);
                let pod = store.find_pod(*namespace, name).and_then(|pod| store.pod(pod));
                let (taint, by) = pod.and_then(|pod| bound(pod, length, store)).unwrap_or_default();
                TimerRow {
                    set_at: from,
                    kind: TimerKind::Toleration,
                    namespace: *namespace,
                    name: Arc::clone(name),
                    node: node_of(pod, store),
                    length,
                    due_at: due,
                    ended_at: None,
                    end: TimerEnd::None,
                    taint,
                    by,
                }
            }
        };
        self.rows.push(row);
    }

    /// A pod's deletion was asked for, or its grace was made shorter.
    fn deleting(&mut self, id: PodId, seen: &Seen<'_>) {
        let Some(pod) = seen.store.pod(id) else { return };
        let Some(deletion) = &pod.deletion else { return };
        let before = self.terminations.remove(&id);
        self.end_row(before, seen.now, TimerEnd::Cancelled);
        if deletion.grace == SimDuration::ZERO || pod.phase.is_terminal() {
            return;
        }
        self.terminations.insert(id, self.rows.len());
        self.rows.push(TimerRow {
            set_at: deletion.deadline - deletion.grace,
            kind: TimerKind::TerminationGrace,
            namespace: pod.namespace,
            name: Arc::clone(&pod.name),
            node: node_of(Some(pod), seen.store),
            length: deletion.grace,
            due_at: deletion.deadline,
            ended_at: None,
            end: TimerEnd::None,
            taint: String::new(),
            by: "spec",
        });
    }

    /// A pod that was being deleted has ended or is gone.
    fn terminated(&mut self, id: PodId, now: SimTime) {
        if let Some(index) = self.terminations.remove(&id) {
            let end = if now < self.rows[index].due_at { TimerEnd::Cancelled } else { TimerEnd::Fired };
            self.end_row(Some(index), now, end);
        }
    }
}

fn node_of(pod: Option<&Pod>, store: &Store) -> Symbol {
    pod.and_then(|pod| pod.node).map(|node| store.node_name(node)).unwrap_or_default()
}

/// The taint that bounds a pod's stay to so long, and who says so.
fn bound(pod: &Pod, length: SimDuration, store: &Store) -> Option<(String, &'static str)> {
    let node = store.node(pod.node?)?;
    let seconds = |toleration: &Toleration| {
        toleration.toleration_seconds.map(|seconds| SimDuration::from_secs(u64::try_from(seconds).unwrap_or(0)))
    };
    node.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute).find_map(|taint| {
        let as_written = model::Taint::new(taint.key, taint.value, taint.effect);
        let toleration = pod.spec.spec.tolerations.iter().find(|toleration| toleration.tolerates(&as_written))?;
        (seconds(toleration) == Some(length)).then(|| {
            let is_own = own_tolerations(pod, store).is_none_or(|own| own.contains(toleration));
            let by = if is_own { "spec" } else { "DefaultTolerationSeconds" };
            (format!("{}:{}", taint.key, taint.effect.as_str()), by)
        })
    })
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

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
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
        let index = match timer {
            Timer::NodeMonitorGrace(node) => self.silence.remove(node),
            Timer::Toleration(namespace, name) => self.tolerations.remove(&(*namespace, Arc::clone(name))),
        };
        self.end_row(index, seen.now, end);
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
        std::mem::take(&mut self.rows)
    }
}
