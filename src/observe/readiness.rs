//! `readiness.csv`: every change of a pod's Ready condition.

use std::sync::Arc;

use super::Detail;
use super::observer::{Keeps, Observer, Seen, Setup};
use super::table::{Column, Row, Table};
use crate::arena::{self, Symbol};
use crate::state::{Change, Changed, Pod, PodDelta};
use crate::units::SimTime;

/// A row of `readiness.csv`.
#[derive(Clone, Debug)]
pub struct ReadinessRow {
    /// When.
    pub at: SimTime,
    /// Namespace.
    pub namespace: Symbol,
    /// Pod.
    pub name: Arc<str>,
    /// The condition from then on.
    pub ready: bool,
}

impl Row for ReadinessRow {
    const TABLE: Table<Self> = Table {
        file: "readiness.csv",
        holds: "a row at each change of a pod's Ready condition; pods that are Ready at t=0 have one then",
        columns: &[
            Column::time("time_s", "when", |row| row.at),
            Column::text("namespace", "the pod's namespace", |row| row.namespace.as_str()),
            Column::text("name", "the pod's name", |row| &row.name),
            Column::text("ready", "the condition from then on: True or False", |row| {
                if row.ready { "True" } else { "False" }
            }),
        ],
    };
}

#[derive(Clone, Debug, Default)]
pub(super) struct Readiness {
    rows: Vec<ReadinessRow>,
    ready: arena::Column<Pod, bool>,
}

impl Readiness {
    fn push(&mut self, at: SimTime, pod: &Pod, ready: bool) {
        self.rows.push(ReadinessRow { at, namespace: pod.namespace, name: Arc::clone(&pod.name), ready });
    }
}

impl Observer for Readiness {
    const NEEDED_FOR: Detail = Detail::Files;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        for (id, pod) in seen.store.pods() {
            if pod.is_ready() {
                *self.ready.get_mut(id) = true;
                self.push(SimTime::ZERO, pod, true);
            }
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        let store = seen.store;
        match &change.what {
            Changed::PodAdded(id) => {
                let ready = store.pod(*id).is_some_and(Pod::is_ready);
                *self.ready.get_mut(*id) = ready;
                if let (true, Some(pod)) = (ready, store.pod(*id)) {
                    self.push(change.at, pod, true);
                }
            }
            Changed::PodUpdated { pod, delta, .. } if delta.touches(PodDelta::READY) => {
                let Some(object) = store.pod(*pod) else { return };
                let ready = object.is_ready();
                if std::mem::replace(self.ready.get_mut(*pod), ready) != ready {
                    self.push(change.at, object, ready);
                }
            }
            _ => {}
        }
    }
}

impl Keeps<ReadinessRow> for Readiness {
    fn take_rows(&mut self) -> Vec<ReadinessRow> {
        std::mem::take(&mut self.rows)
    }
}
