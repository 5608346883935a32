//! Whole objects, as kubectl and manifests bring them: what the server does with those of each kind.
//!
//! A kind is a file here: how an object of it is found, made, replaced and deleted.
//!
//! # Source
//! kube-apiserver, `pkg/registry`: one strategy a kind behind a store that is the same for all.

mod autoscaler;
mod budget;
mod claim;
mod cron_job;
mod daemon_set;
mod deployment;
pub(super) mod job;
mod limit_range;
mod namespace;
mod node;
mod pod;
mod priority_class;
mod quota;
mod replica_set;
mod revision;
mod runtime_class;
mod service;
mod stateful_set;
mod storage;
mod stored;
mod strategy;
mod volume;
mod workload;

pub(super) use autoscaler::update_status as update_autoscaler_status;
pub(super) use budget::update_status as update_budget_status;
pub(super) use namespace::finalize as finalize_namespace;
pub(super) use quota::update_status as update_quota_status;
pub(super) use service::put_endpoint_slice;
pub(super) use stored::defined_kinds;
pub(super) use strategy::{Key, Strategy};

use super::owner_references::{self, From};
use super::server::ApiServer;
use super::session::{Session, already_exists, not_found};
use crate::arena::Symbol;
use crate::component::Answer;
use crate::model::{AnyKind, Object, ObjectKind, with_kind, with_object};
use crate::state::Store;

/// What happens to an object that exists already.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Existing {
    Refuse,
    Replace,
}

impl ApiServer {
    /// POST: 409 if the object exists.
    pub(super) fn create(&mut self, s: &mut Session<'_>, object: Object) -> Answer {
        self.put_with_owners(s, object, Existing::Refuse)
    }

    /// PUT or POST: an object that exists gets the new spec, labels and annotations and keeps its status.
    pub(super) fn apply(&mut self, s: &mut Session<'_>, object: Object) -> Answer {
        self.put_with_owners(s, object, Existing::Replace)
    }

    /// # Differs
    /// An object keeps the owners that it was made with: later writes of `metadata.ownerReferences` are not taken over.
    fn put_with_owners(&mut self, s: &mut Session<'_>, object: Object, existing: Existing) -> Answer {
        let key = Key::of(&object);
        let owners = owner_references::written(&object).filter(|_| !exists(&object, s.store));
        let answer = with_object!(object, object => self.put(s, &key, *object, existing))?;
        if let Some((key, dependent)) = owners {
            let from = if self.is_restoring { From::Input } else { From::Request };
            owner_references::keep(s, key, dependent, from);
        }
        Ok(answer)
    }

    fn put<T: Strategy>(&mut self, s: &mut Session<'_>, key: &Key, object: T, existing: Existing) -> Answer {
        match (T::find(s.store, key), existing) {
            (None, _) => object.create(self, s),
            (Some(id), Existing::Refuse) => {
                Err(already_exists(T::resource(key), key.name.as_str(), T::standing(s.store, id)))
            }
            (Some(id), Existing::Replace) => object.replace(self, s, id),
        }
    }

    /// DELETE by kind and name.
    pub(super) fn delete(&mut self, s: &mut Session<'_>, kind: AnyKind, namespace: Symbol, name: Symbol) -> Answer {
        let (kind, stored) = match kind {
            AnyKind::Modelled(kind) => (kind, None),
            AnyKind::Stored(kind) => (ObjectKind::Stored, Some(kind)),
        };
        let key = Key { namespace, name, stored };
        with_kind!(kind, Kind => self.delete_found::<Kind>(s, &key))
    }

    fn delete_found<T: Strategy>(&mut self, s: &mut Session<'_>, key: &Key) -> Answer {
        T::admit_deletion(key)?;
        let id = T::find(s.store, key).ok_or_else(|| not_found(T::resource(key), key.name.as_str()))?;
        T::delete(self, s, id)
    }
}

/// Resource and group of an object, as messages name them.
pub(super) fn resource(object: &Object) -> &'static str {
    fn of<T: Strategy>(_: &T, key: &Key) -> &'static str {
        T::resource(key)
    }
    with_object!(object, of_kind => of(&**of_kind, &Key::of(object)))
}

/// Whether there is an object of that kind and name.
pub(super) fn exists(object: &Object, store: &Store) -> bool {
    fn is_there<T: Strategy>(_: &T, store: &Store, key: &Key) -> bool {
        T::find(store, key).is_some()
    }
    with_object!(object, of_kind => is_there(&**of_kind, store, &Key::of(object)))
}
