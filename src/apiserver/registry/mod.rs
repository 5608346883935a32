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
mod job;
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
mod volume;
mod workload;

use std::sync::Arc;

pub(super) use autoscaler::update_status as update_autoscaler_status;
pub(super) use budget::update_status as update_budget_status;
pub(super) use claim::delete as delete_claim;
pub(super) use namespace::finalize as finalize_namespace;
pub(super) use quota::update_status as update_quota_status;
pub(super) use service::put_endpoint_slice;

use super::{ApiServer, Session, already_exists, finalizers, not_found};
use crate::arena::Symbol;
use crate::component::{Answer, ApiError};
use crate::model::{AnyKind, ConditionStatus, Object, ObjectKind, ObjectMeta, StoredKind, with_kind, with_object};
use crate::state::{Meta, ObjectDelta, Owner, Status, Store, Uid};

/// What identifies an object among those of its type.
#[derive(Copy, Clone, Debug)]
pub(super) struct Key {
    /// Namespace; empty for what lives in none.
    pub(super) namespace: Symbol,
    /// Name.
    pub(super) name: Symbol,
    /// The kind, of an object that decides nothing: all such kinds are one type.
    pub(super) stored: Option<StoredKind>,
}

impl Key {
    pub(super) fn of(object: &Object) -> Self {
        let metadata = object.metadata();
        Self { namespace: metadata.namespace, name: metadata.name, stored: object.stored_kind() }
    }
}

/// What the server does with objects of a kind.
pub(super) trait Strategy: Sized {
    /// How the store names an object.
    type Id: Copy;

    /// Resource and group, as messages name them.
    const RESOURCE: &'static str;

    /// A PUT is validated by [`Strategy::replace`], once admission has put back what it adds.
    const VALIDATES_UPDATES: bool = false;

    /// The same, of kinds that share a type.
    fn resource(_key: &Key) -> &'static str {
        Self::RESOURCE
    }

    /// The object that is there.
    fn find(store: &Store, key: &Key) -> Option<Self::Id>;

    /// POST of an object that is not there.
    fn create(self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer;

    /// PUT in the place of one that is: new spec, labels and annotations; the status stays.
    fn replace(self, api: &mut ApiServer, s: &mut Session<'_>, id: Self::Id) -> Answer;

    /// What admission refuses to delete, there or not.
    ///
    /// # Errors
    /// 403.
    fn admit_deletion(_key: &Key) -> Result<(), ApiError> {
        Ok(())
    }

    /// DELETE without options.
    fn delete(api: &mut ApiServer, s: &mut Session<'_>, id: Self::Id) -> Answer;

    /// The object as far as a change is held against it; none where a PUT is validated like a POST.
    fn present(_store: &Store, _id: Self::Id) -> Option<Object> {
        None
    }

    /// Takes over what a file does not say of an object that is there. Workloads come merged already.
    fn inherit(&mut self, _present: &Object) {}
}

/// What happens to an object that exists already.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Existing {
    Refuse,
    Replace,
}

impl ApiServer {
    /// POST: 409 if the object exists.
    pub(super) fn create(&mut self, s: &mut Session<'_>, object: Object) -> Answer {
        let key = Key::of(&object);
        with_object!(object, object => self.put(s, &key, *object, Existing::Refuse))
    }

    /// PUT or POST: an object that exists gets the new spec, labels and annotations and keeps its status.
    pub(super) fn apply(&mut self, s: &mut Session<'_>, object: Object) -> Answer {
        let key = Key::of(&object);
        with_object!(object, object => self.put(s, &key, *object, Existing::Replace))
    }

    fn put<T: Strategy>(&mut self, s: &mut Session<'_>, key: &Key, object: T, existing: Existing) -> Answer {
        match (T::find(s.store, key), existing) {
            (None, _) => object.create(self, s),
            (Some(_), Existing::Refuse) => Err(already_exists(T::resource(key), key.name.as_str())),
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

    fn meta(&mut self, s: &Session<'_>, kind: &str, metadata: &ObjectMeta) -> Meta {
        Meta {
            namespace: metadata.namespace,
            name: metadata.name,
            uid: self.uid(s, kind, metadata),
            labels: metadata.labels.clone(),
            annotations: Arc::new(metadata.annotations.clone()),
            created_at: self.instant(metadata.creation_timestamp, s.now),
            generation: metadata.generation.max(1),
            version: 1,
            deleting: metadata.deletion_timestamp.filter(|_| !metadata.finalizers.is_empty()).map(|_| {
                let since = self.instant(metadata.deletion_timestamp, s.now);
                (since, finalizers::propagation(&metadata.finalizers))
            }),
            finalizers: finalizers::foreign(&metadata.finalizers),
            owner: owner_by_name(metadata),
        }
    }

    fn uid(&mut self, s: &Session<'_>, kind: &str, metadata: &ObjectMeta) -> Uid {
        match metadata.uid {
            Some(uid) if !uid.as_str().is_empty() => Uid::from_text(uid.as_str()),
            _ => self.new_uid(s, kind, metadata.namespace, metadata.name.as_str()),
        }
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

/// Replaces labels, annotations and spec; the generation rises with the spec.
fn replace<T: PartialEq>(meta: &mut Meta, metadata: &ObjectMeta, old: &mut Arc<T>, new: T) -> ObjectDelta {
    let mut delta = ObjectDelta::NONE;
    if meta.labels != metadata.labels || *meta.annotations != metadata.annotations {
        meta.labels = metadata.labels.clone();
        meta.annotations = Arc::new(metadata.annotations.clone());
        delta = delta | ObjectDelta::METADATA;
    }
    let finalizers = finalizers::foreign(&metadata.finalizers);
    if meta.finalizers != finalizers {
        meta.finalizers = finalizers;
        delta = delta | ObjectDelta::METADATA;
    }
    if **old != new {
        *old = Arc::new(new);
        meta.generation += 1;
        delta = delta | ObjectDelta::SPEC;
    }
    delta
}

/// The controlling owner as the metadata names it; [`super::link_owners`] finds it later.
fn owner_by_name(metadata: &ObjectMeta) -> Option<Owner> {
    let reference = metadata.controller()?;
    let uid = Uid::from_text(reference.uid.as_str());
    Some(Owner::Foreign { kind: reference.kind, name: reference.name, uid })
}

fn status(status: ConditionStatus) -> Status {
    match status {
        ConditionStatus::True => Status::True,
        ConditionStatus::False => Status::False,
        ConditionStatus::Unknown => Status::Unknown,
    }
}
