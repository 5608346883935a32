//! Which workload a pod counts for, and what it is called.

use crate::arena::{Symbol, sym};
use crate::state::{Owner, Pod, Store, WorkloadId};

/// A workload by its name: it stays the same if it is deleted and created again.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkloadKey {
    /// Namespace.
    pub namespace: Symbol,
    /// Kind. `Pod` for pods without a controller, and for static pods.
    pub kind: Symbol,
    /// Name.
    pub name: Symbol,
}

impl WorkloadKey {
    /// The name of a workload that exists.
    pub(super) fn of(id: WorkloadId, store: &Store) -> Option<Self> {
        let meta = store.workload_meta(id)?;
        Some(Self { namespace: meta.namespace, kind: store.workload_kind(id).symbol(), name: meta.name })
    }

    /// The workload that a user would name: a pod's owner, or that owner's Deployment; the pod itself if it has none.
    #[must_use]
    pub fn of_pod(pod: &Pod, store: &Store) -> Self {
        let of_owner = root_of(pod, store).and_then(|root| Self::of(root, store));
        of_owner.unwrap_or_else(|| Self::of_loose_pod(pod))
    }

    /// The same of a pod whose owner, if it has one, is not modelled.
    pub(super) fn of_loose_pod(pod: &Pod) -> Self {
        match pod.owner {
            Some(Owner::Foreign { kind, name, .. }) => Self { namespace: pod.namespace, kind, name },
            _ => Self { namespace: pod.namespace, kind: sym!("Pod"), name: Symbol::new(&pod.name) },
        }
    }
}

impl std::fmt::Display for WorkloadKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}/{}", self.kind.as_str().to_ascii_lowercase(), self.namespace, self.name)
    }
}

/// The workload a user would name: a pod's owner, or that owner's Deployment. None for pods without an owner that is modelled.
pub(super) fn root_of(pod: &Pod, store: &Store) -> Option<WorkloadId> {
    let owner = WorkloadId::from_owner(pod.owner?)?;
    if let WorkloadId::ReplicaSet(id) = owner
        && let Some(Owner::Deployment(deployment)) = store.replica_sets.get(id)?.meta.owner
    {
        return Some(WorkloadId::Deployment(deployment));
    }
    Some(owner)
}
