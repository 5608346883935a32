//! `readiness.csv`: every change of a pod's Ready condition.

use std::sync::Arc;

use crate::arena::{Column, Symbol};
use crate::state::{Change, Changed, Pod, PodDelta, Store};
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

#[derive(Debug, Default)]
pub(super) struct Readiness {
    rows: Vec<ReadinessRow>,
    ready: Column<Pod, bool>,
}

impl Readiness {
    pub(super) fn begin(&mut self, store: &Store) {
        for (id, pod) in store.pods() {
            if pod.is_ready() {
                *self.ready.get_mut(id) = true;
                self.push(SimTime::ZERO, pod, true);
            }
        }
    }

    fn push(&mut self, at: SimTime, pod: &Pod, ready: bool) {
        self.rows.push(ReadinessRow { at, namespace: pod.namespace, name: Arc::clone(&pod.name), ready });
    }

    pub(super) fn changed(&mut self, change: &Change, store: &Store) {
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

    pub(super) fn finish(self) -> Vec<ReadinessRow> {
        self.rows
    }
}
