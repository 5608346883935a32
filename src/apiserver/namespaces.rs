//! What a namespace that is being deleted still takes.

use super::registry;
use crate::arena::Symbol;
use crate::component::{ApiError, ErrorReason, PodName, Request};
use crate::model::{Object, Scope};
use crate::state::{PodId, Store};

/// Something that a request would make: its namespace, resource and name.
type Content<'a> = (Symbol, &'static str, &'a str);

/// Refuses what would be made in a namespace that is being deleted; updates and deletions pass.
///
/// # Source
/// kube-apiserver, admission plugin NamespaceLifecycle. A binding and an eviction are made as much as a pod is.
///
/// # Errors
/// 403 if it is refused.
pub(super) fn admit(request: &Request, store: &Store) -> Result<(), ApiError> {
    let Some((namespace, resource, name)) = content(request, store) else { return Ok(()) };
    if !store.is_terminating(namespace) {
        return Ok(());
    }
    let message = format!(
        "{resource} \"{name}\" is forbidden: unable to create new content in namespace {namespace} because it is being terminated"
    );
    Err(ApiError::new(ErrorReason::Forbidden, message))
}

pub(super) fn content<'a>(request: &'a Request, store: &'a Store) -> Option<Content<'a>> {
    Some(match request {
        Request::CreatePod(draft) => {
            let name = match &draft.name {
                PodName::Exact(name) => name,
                PodName::Generate(prefix) => prefix.as_str(),
            };
            (draft.namespace, "pods", name)
        }
        Request::BindPod { pod, .. } | Request::EvictPod { pod, .. } => of_pod(*pod, store)?,
        Request::CreateReplicaSet(new) => {
            (store.deployments.get(new.deployment)?.meta.namespace, "replicasets.apps", new.name.as_str())
        }
        // Its name is made of its owner's and a hash; nobody reads the refusal.
        Request::CreateRevision(new) => {
            let owner = store.workload_meta(new.owner)?;
            (owner.namespace, "controllerrevisions.apps", owner.name.as_str())
        }
        Request::CreateJob { cron_job, name, .. } => {
            (store.cron_jobs.get(*cron_job)?.meta.namespace, "jobs.batch", name.as_str())
        }
        Request::Create(object) => of_object(object)?,
        Request::Apply(object) if !registry::exists(object, store) => of_object(object)?,
        _ => return None,
    })
}

fn of_pod(pod: PodId, store: &Store) -> Option<Content<'_>> {
    store.pod(pod).map(|pod| (pod.namespace, "pods", &*pod.name))
}

fn of_object(object: &Object) -> Option<Content<'_>> {
    let is_namespaced = match object {
        Object::Stored(object) => object.stored_kind().is_namespaced,
        modelled => modelled.kind().scope() == Scope::Namespaced,
    };
    let metadata = object.metadata();
    let name = if metadata.name.is_empty() { metadata.generate_name } else { metadata.name };
    is_namespaced.then(|| (metadata.namespace, registry::resource(object), name.as_str()))
}
