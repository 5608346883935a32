//! Deletion of what is neither a pod nor a node nor a workload.

use std::sync::Arc;

use super::{Session, not_found, volumes};
use crate::arena::Symbol;
use crate::component::{Answer, ApiError, ErrorReason, Reply};
use crate::state::{Changed, Meta};

pub(super) fn delete_other(s: &mut Session<'_>, kind: &'static str, namespace: Symbol, name: Symbol) -> Answer {
    let of_name = |meta: &Meta| meta.namespace == namespace && meta.name == name;
    match kind {
        "PodDisruptionBudget" => {
            let found = s.store.budgets.iter().find(|(_, b)| of_name(&b.meta)).map(|(id, _)| id);
            let id = found.ok_or_else(|| not_found("poddisruptionbudgets.policy", name.as_str()))?;
            s.store.budgets.remove(id);
            s.changed.push(Changed::BudgetRemoved(id));
        }
        "Service" => {
            let found = s.store.services.iter().find(|(_, x)| of_name(&x.meta)).map(|(id, _)| id);
            let id = found.ok_or_else(|| not_found("services", name.as_str()))?;
            s.store.services.remove(id);
            s.changed.push(Changed::ServiceRemoved(id));
        }
        "PriorityClass" => {
            if crate::model::SYSTEM_PRIORITY_CLASSES.iter().any(|(system, _)| name == *system) {
                let why = "this is a system priority class and cannot be deleted";
                let message = format!("priorityclasses.scheduling.k8s.io \"{name}\" is forbidden: {why}");
                return Err(ApiError::new(ErrorReason::Forbidden, message));
            }
            let found = s.store.priority_classes.iter().find(|(_, c)| c.name == name).map(|(id, _)| id);
            let id = found.ok_or_else(|| not_found("priorityclasses.scheduling.k8s.io", name.as_str()))?;
            s.store.priority_classes.remove(id);
        }
        "PersistentVolumeClaim" => volumes::delete_claim(s, namespace, name)?,
        "PersistentVolume" => volumes::delete_volume(s, name)?,
        "Namespace" => {
            if ["default", "kube-system", "kube-public"].contains(&name.as_str()) {
                let message = format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted");
                return Err(ApiError::new(ErrorReason::Forbidden, message));
            }
            let found = s.store.namespace(name).map(|(id, _)| id);
            let id = found.ok_or_else(|| not_found("namespaces", name.as_str()))?;
            let now = s.now;
            s.store.namespaces[id].deleting_since.get_or_insert(now);
            s.changed.push(Changed::NamespaceChanged(id));
        }
        other if volumes::delete_storage(s, other, name) => {}
        other => {
            let key = (Symbol::new(other), namespace, name);
            if Arc::make_mut(&mut s.store.stored).remove(&key).is_none() {
                return Err(not_found(other, name.as_str()));
            }
            if other.starts_with("horizontalpodautoscaler") {
                s.store.autoscalers.remove(&(namespace, name));
                s.changed.push(Changed::AutoscalerRemoved((namespace, name)));
            }
            match other {
                "limitrange" => drop(s.store.limit_ranges.remove(&(namespace, name))),
                "resourcequota" => drop(s.store.quotas.remove(&(namespace, name))),
                _ => {}
            }
            if other.starts_with("runtimeclass") {
                s.store.runtime_classes.remove(&name);
            }
        }
    }
    Ok(Reply::Done)
}

pub(super) fn finalize_namespace(s: &mut Session<'_>, name: Symbol) -> Answer {
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
