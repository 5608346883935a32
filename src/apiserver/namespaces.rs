//! What a namespace that is being deleted still takes.

use crate::arena::Symbol;
use crate::component::{ApiError, ErrorReason, PodName, Request};
use crate::model::Object;
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
        Request::Apply(object) if !exists(object, store) => of_object(object)?,
        _ => return None,
    })
}

fn of_pod(pod: PodId, store: &Store) -> Option<Content<'_>> {
    store.pod(pod).map(|pod| (pod.namespace, "pods", &*pod.name))
}

fn of_object(object: &Object) -> Option<Content<'_>> {
    let resource = match object {
        Object::Pod(_) => "pods",
        Object::Deployment(_) => "deployments.apps",
        Object::ReplicaSet(_) => "replicasets.apps",
        Object::ReplicationController(_) => "replicationcontrollers",
        Object::DaemonSet(_) => "daemonsets.apps",
        Object::StatefulSet(_) => "statefulsets.apps",
        Object::Job(_) => "jobs.batch",
        Object::CronJob(_) => "cronjobs.batch",
        Object::PodDisruptionBudget(_) => "poddisruptionbudgets.policy",
        Object::Service(_) => "services",
        Object::PersistentVolumeClaim(_) => "persistentvolumeclaims",
        Object::ControllerRevision(_) => "controllerrevisions.apps",
        Object::HorizontalPodAutoscaler(_) => "horizontalpodautoscalers.autoscaling",
        Object::LimitRange(_) => "limitranges",
        Object::ResourceQuota(_) => "resourcequotas",
        Object::Stored(object) if object.stored_kind().is_namespaced => object.stored_kind().resource().as_str(),
        Object::Namespace(_)
        | Object::Node(_)
        | Object::PriorityClass(_)
        | Object::RuntimeClass(_)
        | Object::PersistentVolume(_)
        | Object::StorageClass(_)
        | Object::CSIDriver(_)
        | Object::CSINode(_)
        | Object::Stored(_) => return None,
    };
    let metadata = object.metadata();
    let name = if metadata.name.is_empty() { metadata.generate_name } else { metadata.name };
    Some((metadata.namespace, resource, name.as_str()))
}

/// Whether there is an object of that kind and name.
fn exists(object: &Object, store: &Store) -> bool {
    let metadata = object.metadata();
    let (namespace, name) = (metadata.namespace, metadata.name);
    match object {
        Object::Pod(_) => store.find_pod(namespace, &name.as_str().into()).is_some(),
        Object::PodDisruptionBudget(_) => {
            store.budgets.iter().any(|(_, of)| of.meta.namespace == namespace && of.meta.name == name)
        }
        Object::Service(_) => {
            store.services.iter().any(|(_, of)| of.meta.namespace == namespace && of.meta.name == name)
        }
        Object::PersistentVolumeClaim(_) => store.volumes.find_claim(namespace, name).is_some(),
        Object::Stored(object) => store.stored.contains_key(&(object.stored_kind().printed(), namespace, name)),
        Object::HorizontalPodAutoscaler(_) => store.autoscalers.contains_key(&(namespace, name)),
        Object::LimitRange(_) => store.limit_ranges.contains_key(&(namespace, name)),
        Object::ResourceQuota(_) => store.quotas.contains_key(&(namespace, name)),
        _ => store.find_workload(object.kind().as_str(), namespace, name).is_some(),
    }
}
