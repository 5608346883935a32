//! Objects of kinds that decide nothing, and what kinds that do keep beside what decides.

use std::sync::Arc;

use super::strategy::{Key, Strategy};
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::arena::Symbol;
use crate::component::{Answer, Reply};
use crate::model::{Object, ObjectKind, StoredKind, StoredObject};
use crate::state::{Store, Stored};

/// Printed kind, namespace and name.
pub(super) type StoredKey = (Symbol, Symbol, Symbol);

fn key_of(object: &StoredObject) -> StoredKey {
    (object.stored_kind().printed(), object.metadata.namespace, object.metadata.name)
}

impl Strategy for StoredObject {
    type Id = StoredKey;
    const RESOURCE: &'static str = "objects";

    fn resource(key: &Key) -> &'static str {
        key.stored.map_or(Self::RESOURCE, |kind| kind.resource().as_str())
    }

    fn find(store: &Store, key: &Key) -> Option<StoredKey> {
        let key = (key.stored?.printed(), key.namespace, key.name);
        store.stored.contains_key(&key).then_some(key)
    }

    fn create(self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        insert(api, s, &self);
        Ok(Reply::Done)
    }

    fn replace(self, _api: &mut ApiServer, s: &mut Session<'_>, _id: StoredKey) -> Answer {
        Ok(write(s, &self))
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, id: StoredKey) -> Answer {
        let removed = Arc::make_mut(&mut s.store.stored).remove(&id);
        if let Some(definition) = removed.filter(|_| id.0 == DEFINITION) {
            remove_defined(s, &definition);
        }
        Ok(Reply::Done)
    }

    fn present(store: &Store, id: StoredKey) -> Option<Object> {
        let stored = store.stored.get(&id)?;
        Some(Object::from(Self {
            api_version: stored.api_version,
            kind: stored.kind.kind,
            fields: Arc::clone(&stored.fields),
            ..Self::default()
        }))
    }
}

/// What defines kinds of its own.
const DEFINITION: &str = "customresourcedefinition.apiextensions.k8s.io";

/// Objects go with what defines their kind.
///
/// # Source
/// apiextensions, the finalizer `customresourcecleanup`.
///
/// # Differs
/// At once, and before the definition is asked for again.
fn remove_defined(s: &mut Session<'_>, definition: &Stored) {
    if s.store.stored.values().any(|stored| defines(definition, stored)) {
        Arc::make_mut(&mut s.store.stored).retain(|_, stored| !defines(definition, stored));
    }
}

fn defines(definition: &Stored, stored: &Stored) -> bool {
    let spec = definition.fields.get("spec");
    let text = |pointer: &str| spec.and_then(|spec| spec.pointer(pointer)?.as_str()).unwrap_or_default();
    stored.kind.group == text("/group") && stored.kind.plural == text("/names/plural")
}

/// The kinds of which all objects go with an object: those that it defines, if there are any.
pub(in crate::apiserver) fn defined_kinds(store: &Store, key: StoredKey) -> Vec<StoredKind> {
    let Some(definition) = store.stored.get(&key).filter(|_| key.0 == DEFINITION) else { return Vec::new() };
    let mut kinds: Vec<StoredKind> =
        store.stored.values().filter(|stored| defines(definition, stored)).map(|stored| stored.kind).collect();
    kinds.dedup();
    kinds
}

/// Keeps a new object.
pub(super) fn insert(api: &mut ApiServer, s: &mut Session<'_>, object: &StoredObject) {
    let meta = api.meta(s, object.kind.as_str(), &object.metadata);
    let (kind, fields) = (object.stored_kind(), Arc::clone(&object.fields));
    let stored = Stored { kind, api_version: object.api_version, meta, fields };
    Arc::make_mut(&mut s.store.stored).insert(key_of(object), stored);
}

/// Writes an object that is there.
pub(super) fn write(s: &mut Session<'_>, new: &StoredObject) -> Reply {
    let key = key_of(new);
    let Some(old) = s.store.stored.get(&key) else { return Reply::Unchanged };
    let is_other = old.fields != new.fields;
    let is_same =
        !is_other && old.meta.labels == new.metadata.labels && *old.meta.annotations == new.metadata.annotations;
    if is_same {
        return Reply::Unchanged;
    }
    let Some(old) = Arc::make_mut(&mut s.store.stored).get_mut(&key) else { return Reply::Unchanged };
    old.meta.labels = new.metadata.labels.clone();
    old.meta.annotations = Arc::new(new.metadata.annotations.clone());
    old.meta.generation += i64::from(is_other);
    old.meta.version += 1;
    (old.api_version, old.fields) = (new.api_version, Arc::clone(&new.fields));
    Reply::Done
}

/// Drops the object of that kind and name.
pub(super) fn remove(s: &mut Session<'_>, kind: ObjectKind, namespace: Symbol, name: Symbol) {
    if let Some(kind) = StoredKind::parse(&kind.as_str().to_ascii_lowercase()) {
        Arc::make_mut(&mut s.store.stored).remove(&(kind.printed(), namespace, name));
    }
}
