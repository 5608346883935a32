//! Workloads: all kinds are put in the same way.

use super::strategy::{Key, Strategy, replace};
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::{Session, Standing};
use crate::apiserver::{finalizers, workloads};
use crate::component::{Answer, Reply, export_workload};
use crate::model::{Object, ObjectKind, ObjectMeta};
use crate::state::{Changed, ObjectDelta, Propagation, Store, Workload, WorkloadId};

/// An object of a kind of workload as a manifest brings it.
pub(super) trait WorkloadObject: Sized {
    /// What the store makes of it.
    type Held: Workload;

    /// Its kind.
    const KIND: ObjectKind;

    /// Resource and group, as messages name them.
    const RESOURCE: &'static str;

    /// Sets the API's defaults.
    fn apply_defaults(&mut self);

    /// The object as the store holds it, with the status that it came with.
    fn hold(self, api: &mut ApiServer, s: &Session<'_>) -> Self::Held;

    /// Metadata and spec.
    fn into_parts(self) -> (ObjectMeta, <Self::Held as Workload>::Spec);

    /// Replaces metadata and spec, and says what differs.
    fn write(self, held: &mut Self::Held) -> ObjectDelta {
        let ((meta, old), (metadata, spec)) = (held.parts_mut(), self.into_parts());
        replace(meta, &metadata, old, spec)
    }

    /// Adds what decides whether a spec may change.
    fn add_status(_present: &mut Object, _held: &Self::Held) {}
}

impl<T: WorkloadObject> Strategy for T {
    type Id = WorkloadId;
    const RESOURCE: &'static str = T::RESOURCE;

    fn find(store: &Store, key: &Key) -> Option<WorkloadId> {
        store.find_workload(T::KIND, key.namespace, key.name)
    }

    fn standing(store: &Store, id: WorkloadId) -> Standing {
        Standing::of(store.workload_meta(id).and_then(|meta| meta.deleting))
    }

    fn create(mut self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        self.apply_defaults();
        let held = self.hold(api, s);
        let id = s.store.insert_workload(held);
        s.changed.push(Changed::WorkloadAdded(id));
        Ok(Reply::Workload(id))
    }

    fn replace(mut self, _api: &mut ApiServer, s: &mut Session<'_>, id: WorkloadId) -> Answer {
        self.apply_defaults();
        let held = T::Held::of_kind(id).and_then(|id| T::Held::table_mut(s.store).get_mut(id));
        let delta = held.map_or(ObjectDelta::NONE, |held| self.write(held));
        if delta.is_none() {
            return Ok(Reply::Unchanged);
        }
        if s.store.workload_meta(id).is_some_and(finalizers::is_let_go) {
            return workloads::remove(s, id);
        }
        s.changed.push(Changed::WorkloadUpdated(id, delta));
        Ok(Reply::Workload(id))
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, id: WorkloadId) -> Answer {
        workloads::delete(s, id, Propagation::default())
    }

    fn present(store: &Store, id: WorkloadId) -> Option<Object> {
        let mut object = export_workload(store, id)?;
        T::add_status(&mut object, T::Held::table(store).get(T::Held::of_kind(id)?)?);
        Some(object)
    }
}
