//! `workloads.csv`: what the workloads' status fields showed, at each change.

use rustc_hash::FxHashMap;

use super::Detail;
use super::observer::{Keeps, Observer, Seen, Setup};
use super::table::{Column, Row, Table};
use super::workload::WorkloadKey;
use crate::arena::Symbol;
use crate::state::{Change, Changed, Owner, Store, Tally, WorkloadId};
use crate::units::SimTime;

/// A row of `workloads.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadRow {
    /// When.
    pub at: SimTime,
    /// Namespace.
    pub namespace: Symbol,
    /// Kind.
    pub kind: &'static str,
    /// Name.
    pub name: Symbol,
    /// Wanted pods: replicas, or for a DaemonSet the nodes that should run it.
    pub desired: i32,
    /// Existing ones.
    pub current: i32,
    /// Ready ones.
    pub ready: i32,
    /// Ready for minReadySeconds.
    pub available: i32,
    /// Of the newest template.
    pub updated: i32,
    /// Not yet bound.
    pub pending: i32,
    /// Being deleted.
    pub terminating: i32,
    /// Daemon pods on nodes that should not run them.
    pub misscheduled: i32,
    /// Wanted ones that are not ready, whatever the status says so far.
    pub missing: i32,
}

impl Row for WorkloadRow {
    const TABLE: Table<Self> = Table {
        file: "workloads.csv",
        holds: "a row at each change of a workload (or Job; a pod without a controller is one of kind `Pod`)",
        columns: &[
            Column::time("time_s", "when", |row| row.at),
            Column::text("namespace", "its namespace", |row| row.namespace.as_str()),
            Column::text("kind", "its kind", |row| row.kind),
            Column::text("name", "its name", |row| row.name.as_str()),
            Column::number(
                "desired",
                "pods",
                "wanted: replicas, or for a DaemonSet the nodes that should run it",
                |row| i64::from(row.desired),
            ),
            Column::number("current", "pods", "those that exist", |row| i64::from(row.current)),
            Column::number("ready", "pods", "those that are ready", |row| i64::from(row.ready)),
            Column::number("available", "pods", "those that have been ready for `minReadySeconds`", |row| {
                i64::from(row.available)
            }),
            Column::number("updated", "pods", "those of the newest template", |row| i64::from(row.updated)),
            Column::number("pending", "pods", "those that are not bound to a node", |row| i64::from(row.pending)),
            Column::number("terminating", "pods", "those that are being deleted", |row| i64::from(row.terminating)),
            Column::number("misscheduled", "pods", "daemon pods on nodes that should not run them", |row| {
                i64::from(row.misscheduled)
            }),
            Column::number(
                "missing",
                "pods",
                "those wanted less those that are Ready, and neither finished nor being deleted: what `short` goes by, whatever the status says so far; 0 of Jobs",
                |row| i64::from(row.missing),
            ),
        ],
    };
}

#[derive(Clone, Debug, Default)]
pub(super) struct Workloads {
    rows: Vec<WorkloadRow>,
    last: FxHashMap<WorkloadId, WorkloadRow>,
    ids: FxHashMap<WorkloadKey, WorkloadId>,
    last_loose: FxHashMap<WorkloadKey, WorkloadRow>,
}

impl Workloads {
    fn push(&mut self, at: SimTime, id: WorkloadId, seen: &Seen<'_>) {
        let Some((row, key)) = row(at, id, seen.store).zip(WorkloadKey::of(id, seen.store)) else {
            // A Deployment has adopted it and speaks for it from now on.
            self.end(at, id);
            return;
        };
        self.ids.insert(key, id);
        self.push_new(id, WorkloadRow { missing: seen.slo.missing(key), ..row });
    }

    /// Its pods have changed, its status may not have yet.
    fn push_missing(&mut self, at: SimTime, key: WorkloadKey, missing: i32) {
        let Some(id) = self.ids.get(&key).copied() else { return };
        let Some(last) = self.last.get(&id) else { return };
        self.push_new(id, WorkloadRow { at, missing, ..last.clone() });
    }

    fn push_new(&mut self, id: WorkloadId, row: WorkloadRow) {
        let at = row.at;
        if self.last.get(&id).is_some_and(|last| WorkloadRow { at, ..last.clone() } == row) {
            return;
        }
        self.last.insert(id, row.clone());
        self.rows.push(row);
    }

    fn end(&mut self, at: SimTime, id: WorkloadId) {
        let Some(last) = self.last.remove(&id) else { return };
        self.rows.push(WorkloadRow {
            at,
            desired: 0,
            current: 0,
            ready: 0,
            available: 0,
            updated: 0,
            pending: 0,
            terminating: 0,
            misscheduled: 0,
            missing: 0,
            ..last
        });
    }

    /// Pods that nothing modelled controls, by what they make up.
    fn push_loose(&mut self, row: &WorkloadRow) {
        let key = WorkloadKey { namespace: row.namespace, kind: Symbol::new(row.kind), name: row.name };
        if self.last_loose.get(&key).is_some_and(|last| WorkloadRow { at: row.at, ..last.clone() } == *row) {
            return;
        }
        self.last_loose.insert(key, row.clone());
        self.rows.push(row.clone());
    }
}

impl Observer for Workloads {
    const NEEDED_FOR: Detail = Detail::Files;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        let store = seen.store;
        let ids = (store.deployments.ids().map(WorkloadId::Deployment))
            .chain(store.replica_sets.ids().map(WorkloadId::ReplicaSet))
            .chain(store.daemon_sets.ids().map(WorkloadId::DaemonSet))
            .chain(store.stateful_sets.ids().map(WorkloadId::StatefulSet))
            .chain(store.jobs.ids().map(WorkloadId::Job));
        for id in ids {
            self.push(SimTime::ZERO, id, seen);
        }
        seen.loose.iter().for_each(|row| self.push_loose(row));
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        match change.what {
            Changed::WorkloadAdded(id) | Changed::WorkloadUpdated(id, _) => self.push(change.at, id, seen),
            Changed::WorkloadRemoved(id) => self.end(change.at, id),
            _ => {}
        }
        for (key, missing) in seen.slo.moved() {
            self.push_missing(change.at, key, missing);
        }
        seen.loose.iter().for_each(|row| self.push_loose(row));
    }
}

impl Keeps<WorkloadRow> for Workloads {
    fn take_rows(&mut self) -> Vec<WorkloadRow> {
        std::mem::take(&mut self.rows)
    }
}

/// The workload's row. Nobody waits for the pods of what is being deleted.
fn row(at: SimTime, id: WorkloadId, store: &Store) -> Option<WorkloadRow> {
    let row = status_row(at, id, store)?;
    let is_deleting = store.workload_meta(id)?.deleting.is_some();
    Some(if is_deleting { WorkloadRow { desired: 0, ..row } } else { row })
}

/// What its spec and status say; none for ReplicaSets of a Deployment, which speaks for them, and for kinds without pods.
fn status_row(at: SimTime, id: WorkloadId, store: &Store) -> Option<WorkloadRow> {
    let meta = store.workload_meta(id)?;
    let tally = store.tally(id);
    let base = WorkloadRow {
        at,
        namespace: meta.namespace,
        kind: store.workload_kind(id).as_str(),
        name: meta.name,
        desired: 0,
        current: 0,
        ready: 0,
        available: 0,
        updated: 0,
        pending: tally.active - tally.bound,
        terminating: tally.terminating,
        misscheduled: 0,
        missing: 0,
    };
    Some(match id {
        WorkloadId::Deployment(id) => {
            let deployment = store.deployments.get(id)?;
            let status = deployment.status;
            let pods = store.replica_sets_of(id).iter().map(|rs| store.tally(WorkloadId::ReplicaSet(*rs)));
            let (pending, terminating) = pods.fold((0, 0), |(pending, terminating), t: Tally| {
                (pending + t.active - t.bound, terminating + t.terminating)
            });
            WorkloadRow {
                desired: deployment.spec.replicas.unwrap_or(1),
                current: status.replicas,
                ready: status.ready,
                available: status.available,
                updated: status.updated,
                pending,
                terminating,
                ..base
            }
        }
        WorkloadId::ReplicaSet(id) => {
            let set = store.replica_sets.get(id)?;
            if matches!(set.meta.owner, Some(Owner::Deployment(_))) {
                return None;
            }
            let status = set.status;
            WorkloadRow {
                desired: set.replicas,
                current: status.replicas,
                ready: status.ready,
                available: status.available,
                updated: status.fully_labeled,
                ..base
            }
        }
        WorkloadId::DaemonSet(id) => {
            let status = store.daemon_sets.get(id)?.status;
            WorkloadRow {
                desired: status.desired,
                current: status.current,
                ready: status.ready,
                available: status.available,
                updated: status.updated,
                misscheduled: status.misscheduled,
                ..base
            }
        }
        WorkloadId::StatefulSet(id) => {
            let set = store.stateful_sets.get(id)?;
            let status = set.status;
            WorkloadRow {
                desired: set.spec.replicas.unwrap_or(1),
                current: status.replicas,
                ready: status.ready,
                available: status.available,
                updated: status.updated,
                ..base
            }
        }
        WorkloadId::Job(id) => {
            let job = store.jobs.get(id)?;
            let status = &job.status;
            WorkloadRow {
                desired: job.spec.completions.or(job.spec.parallelism).unwrap_or(1),
                current: status.active,
                ready: status.ready,
                available: status.succeeded,
                updated: status.failed,
                ..base
            }
        }
        WorkloadId::CronJob(_) => return None,
    })
}
