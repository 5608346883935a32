//! Namespaces.

use std::sync::Arc;

use super::strategy::{Key, Strategy};
use crate::apiserver::finalizers;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::{Session, Standing, not_found};
use crate::arena::Symbol;
use crate::component::{Answer, ApiError, ErrorReason, Reply};
use crate::model::{self, Labels, Object, ObjectKind};
use crate::state::{Changed, Namespace, NamespaceId, Store};

/// Those that admission keeps.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

impl Strategy for model::Namespace {
    type Id = NamespaceId;
    const RESOURCE: &'static str = "namespaces";

    fn find(store: &Store, key: &Key) -> Option<NamespaceId> {
        store.namespace(key.name).map(|(id, _)| id)
    }

    fn standing(store: &Store, id: NamespaceId) -> Standing {
        Standing::of(store.namespaces.get(id).and_then(|namespace| namespace.deleting_since))
    }

    fn create(self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        let namespace = Namespace {
            name: self.metadata.name,
            uid: api.uid(s, "Namespace", &self.metadata),
            labels: labels(&self),
            finalizers: finalizers::foreign(&self.metadata.finalizers),
            created_at: api.instant(self.metadata.creation_timestamp, s.now),
            annotations: Arc::new(self.metadata.annotations),
            deleting_since: None,
            is_emptied: false,
        };
        let id = s.store.namespaces.insert(namespace);
        s.changed.push(Changed::NamespaceChanged(id));
        Ok(Reply::Done)
    }

    fn replace(self, api: &mut ApiServer, s: &mut Session<'_>, id: NamespaceId) -> Answer {
        let (labels, metadata) = (labels(&self), self.metadata);
        let held = &mut s.store.namespaces[id];
        if held.deleting_since.is_some() {
            let name = metadata.name.as_str();
            finalizers::refuse_new(ObjectKind::Namespace, name, &metadata.finalizers, &held.finalizers)?;
        }
        let held_by = finalizers::foreign(&metadata.finalizers);
        if held.labels == labels && *held.annotations == metadata.annotations && held.finalizers == held_by {
            return Ok(Reply::Unchanged);
        }
        held.finalizers = held_by;
        if held.is_emptied && held.finalizers.is_empty() {
            return finalize(s, metadata.name);
        }
        held.labels = labels;
        held.annotations = Arc::new(metadata.annotations);
        api.admission.clear();
        s.changed.push(Changed::NamespaceChanged(id));
        Ok(Reply::Done)
    }

    /// # Source
    /// Admission plugin NamespaceLifecycle.
    fn admit_deletion(key: &Key) -> Result<(), ApiError> {
        if !IMMORTAL.contains(&key.name.as_str()) {
            return Ok(());
        }
        let message = format!("namespaces \"{}\" is forbidden: this namespace may not be deleted", key.name);
        Err(ApiError::new(ErrorReason::Forbidden, message))
    }

    /// It stays until its controller has emptied it.
    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, id: NamespaceId) -> Answer {
        s.store.namespaces[id].deleting_since.get_or_insert(s.now);
        s.changed.push(Changed::NamespaceChanged(id));
        Ok(Reply::Done)
    }

    fn present(_store: &Store, _id: NamespaceId) -> Option<Object> {
        Some(Object::from(Self::default()))
    }
}

fn labels(namespace: &model::Namespace) -> Labels {
    namespace.metadata.labels.with(Symbol::new("kubernetes.io/metadata.name"), namespace.metadata.name)
}

/// Takes away an emptied namespace, with what decides nothing in it; finalizers of others keep it.
pub(in crate::apiserver) fn finalize(s: &mut Session<'_>, name: Symbol) -> Answer {
    let id = s.store.namespace(name).map(|(id, _)| id).ok_or_else(|| not_found("namespaces", name.as_str()))?;
    let namespace = &mut s.store.namespaces[id];
    if !namespace.finalizers.is_empty() {
        namespace.is_emptied = true;
        return Ok(Reply::Done);
    }
    s.store.namespaces.remove(id);
    if s.store.stored.keys().any(|(_, namespace, _)| *namespace == name) {
        Arc::make_mut(&mut s.store.stored).retain(|(_, namespace, _), _| *namespace != name);
    }
    s.store.limit_ranges.retain(|(namespace, _), _| *namespace != name);
    s.store.quotas.retain(|(namespace, _), _| *namespace != name);
    let autoscalers: Vec<_> = s.store.autoscalers.keys().filter(|key| key.0 == name).copied().collect();
    for key in autoscalers {
        s.store.autoscalers.remove(&key);
        s.changed.push(Changed::AutoscalerRemoved(key));
    }
    s.changed.push(Changed::NamespaceRemoved(id));
    Ok(Reply::Done)
}
